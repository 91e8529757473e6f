# SPDX-License-Identifier: Apache-2.0
"""OpenSMTPD with filter-rspamd: what its clients are told and what its users get.

smtpd knows its folders by fixed paths, so it has a root directory of its own in the host's folder.
"""
import os
import re
import shutil

import authority
import maildir
import mails
from harness import TAG_ONLY, UNPACKED, equal, free_port, holds

TREE = os.path.join(UNPACKED, "opensmtpd")
SMTPD = os.path.join(TREE, "usr/sbin/smtpd")
LIBEXEC = os.path.join(TREE, "usr/libexec/opensmtpd")
USERS = """root:x:0:0::/root:/bin/sh
opensmtpd:x:101:101::/var/lib/opensmtpd/empty:/bin/false
opensmtpq:x:102:102::/var/lib/opensmtpd/empty:/bin/false
user:x:1000:1000::/home/user:/bin/sh
"""
GROUPS = "root:x:0:\nopensmtpd:x:101:\nopensmtpq:x:102:\nuser:x:1000:\n"


def prepare(host):
    """Two listeners of one smtpd: the second one's filter asks bayesd over TLS."""
    host.smtp, host.smtp_tls, host.root = free_port(), free_port(), host.path("root")
    install(host)
    host.authority, host.stranger = (authority.Authority(host.path("certificates"), name)
                                     for name in ("authority", "stranger"))
    # What Go's library takes for the authorities of this machine.
    with open(host.authority.certificate, encoding="ascii") as file:
        host.write("root/etc/ssl/certs/ca-certificates.crt", file.read())
    host.tls = free_port()
    present(host, host.authority)
    text = host.integration("opensmtpd/smtpd.conf", {
        "http://127.0.0.1:8763": host.url,
        "listen on 0.0.0.0 port 25": f"listen on 127.0.0.1 port {host.smtp} hostname mx.example.net"})
    over_tls = [line.replace('"bayesd"', '"over-tls"').replace(str(host.smtp), str(host.smtp_tls))
                .replace(host.url, f"https://localhost:{host.tls}")
                for line in text.splitlines() if '"bayesd"' in line and not line.startswith("#")]
    host.write("root/etc/smtpd.conf", "\n".join([*over_tls, text]))
    host.start("smtpd", ["chroot", host.root, "/usr/sbin/smtpd", "-d"], host.smtp)


def present(host, signer):
    """bayesd speaks TLS, too, with a certificate of this authority."""
    certificate, key = signer.sign("bayesd")
    host.stop_bayesd()
    host.sections = {"tls": {"listen": f"127.0.0.1:{host.tls}", "certificate": certificate, "key": key}}
    host.start_bayesd()


def install(host):
    """A root directory with smtpd, what it runs, and what these need."""
    for folder in ("dev", "run", "tmp", "bin", "home", "var/lib/opensmtpd/empty"):
        host.path("root", *folder.split("/"))
    os.symlink("../run", host.path("root", "var") + "/run")
    host.path("root", "var", "spool", "smtpd", mode=0o711)
    os.mkdir(host.root + "/home/user", 0o700)
    os.chown(host.root + "/home/user", 1000, 1000)
    for name, text in {"passwd": USERS, "group": GROUPS, "aliases": "", "mailname": "mx.example.net\n",
                       "hosts": "127.0.0.1 localhost mx.example.net\n"}.items():
        host.write("root/etc/" + name, text)
    host.write("root/dev/null", "", 0o666)  # a file is enough, and containers may not be able to make devices
    programs = {SMTPD: "/usr/sbin/smtpd", "/bin/sh": "/bin/sh"}
    for name in ("filter-rspamd", "mail.maildir"):
        programs[os.path.join(LIBEXEC, name)] = "/usr/libexec/opensmtpd/" + name
    for source, target in programs.items():
        copy(host, source, target)
        for library in libraries(host, source):
            copy(host, library, library)


def libraries(host, program):
    status, out, _ = host.run(["ldd", program])
    return re.findall(r"(/\S+) \(0x", out.decode()) if status == 0 else []  # 1: linked statically


def copy(host, source, target):
    path = host.root + target
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path):
        shutil.copy(source, path)


def home(host):
    return host.root + "/home/user/Maildir"


def received(host, mail, folder, port=None):
    """Sends a mail that passes and returns its header, as it is stored in the folder."""
    equal(host.send(port or host.smtp, mail)[0], 250, "reply to the mail")
    found, content = maildir.the_one(home(host), mail)
    equal(found, folder, "folder")
    header, text = content.split(b"\n\n", 1)
    equal(text, mail.split(b"\n\n", 1)[1], "the text")
    return header.decode()


def status(header):
    found = re.findall(r"^X-Bayes-Status: (\w+), probability=[01]\.\d{4}, model=", header, re.M)
    equal(len(found), 1, f"X-Bayes-Status in {header}")
    return found[0]


def test_spam_is_refused(host):
    mail = host.mail("spam")
    equal(host.send(host.smtp, mail), (550, "Spam message rejected"))
    equal(maildir.stored(home(host), mail), [])


def test_spam_below_reject_is_marked_and_goes_into_junk(host):
    host.start_bayesd(**TAG_ONLY)
    header = received(host, host.mail("spam"), ".Junk")
    equal(status(header), "spam")
    holds("\nX-Spam: yes\n" in header, header)


def test_ham_is_delivered(host):
    mail = host.mail("ham")
    header = received(host, mail, "")
    equal(status(header), "ham")
    holds("X-Spam: yes" not in header, header)
    holds(header.endswith(mail.split(b"\n\n", 1)[0].decode()), f"the mail's own header in {header}")


def test_forged_header_is_taken_out(host):
    host.start_bayesd(**TAG_ONLY)
    forged = "X-Bayes-Status: ham, probability=1.0000, model=mail"
    equal(status(received(host, host.mail("spam", (forged,)), ".Junk")), "spam")


def test_subject_is_rewritten(host):
    host.start_bayesd(reject=1, rewrite_subject=0.95)
    mail = host.mail("spam")
    subject = re.search(rb"^Subject: (.*)$", mail, re.M).group(1).decode()
    equal(host.send(host.smtp, mail)[0], 250)
    _, content = maildir.the_one(home(host), mail)
    equal(re.findall(r"^Subject: (.*)$", content.decode(), re.M), ["***SPAM*** " + subject])


def test_gtube_is_refused(host):
    equal(host.send(host.smtp, mails.build("gtube", "Tester", "Test", [mails.GTUBE]))[0], 550)


def test_too_little_training(host):
    host.start_bayesd(model="fresh")
    equal(status(received(host, host.mail("spam"), "")), "unsure")


def test_without_bayesd_the_sender_tries_again(host):
    host.stop_bayesd()
    for kind in ("spam", "ham"):
        mail = host.mail(kind)
        equal(host.send(host.smtp, mail)[0], 421, kind)
        equal(maildir.stored(home(host), mail), [], kind)
    host.start_bayesd()
    equal(status(received(host, mail, "")), "ham", "the same mail, sent again")


def test_over_tls(host):
    equal(host.send(host.smtp_tls, host.mail("spam")), (550, "Spam message rejected"))
    equal(status(received(host, host.mail("ham"), "", host.smtp_tls)), "ham")


def test_over_tls_with_another_certificate_the_sender_tries_again(host):
    present(host, host.stranger)
    mail = host.mail("ham")
    equal(host.send(host.smtp_tls, mail)[0], 421)
    equal(maildir.stored(home(host), mail), [])
    present(host, host.authority)
    equal(status(received(host, mail, "", host.smtp_tls)), "ham", "the same mail, sent again")
