# SPDX-License-Identifier: Apache-2.0
"""Haraka with haraka-plugin-rspamd: what its clients are told and what goes into its queue."""
import os
import re

import mails
from harness import TAG_ONLY, UNPACKED, equal, free_port, holds, wait_for

HARAKA = os.path.join(UNPACKED, "haraka", "node_modules", "Haraka", "bin", "haraka")
FORGED = ("X-Bayes-Status: ham, probability=1.0000, model=mail",)


def prepare(host):
    folder = os.path.join(host.folder, "haraka")
    host.run(["node", HARAKA, "-i", folder], status=0)  # with all its own defaults
    host.smtp = free_port()
    host.queue = host.path("queue")
    files = {
        "rspamd.ini": host.integration("haraka/rspamd.ini", {
            "port = 8763": f"port = {host.port}",
            # The test is a client of such an address.
            "private_ip = false": "private_ip = true", "local_ip = false": "local_ip = true"}),
        # queue/test writes the mail into a file in $TMPDIR.
        "plugins": "rcpt_to.in_host_list\nrspamd\nqueue/test\n",
        "host_list": "example.net\n",
        "me": "mx.example.net\n",
        "smtp.ini": f"listen=127.0.0.1:{host.smtp}\nnodes=0\n",
    }
    for name, text in files.items():
        host.write("haraka/config/" + name, text)
    host.start("haraka", ["node", HARAKA, "-c", folder], host.smtp,
               environment={"TMPDIR": host.queue})


def queued(host, mail):
    """What Haraka has queued of the mail: its bytes with LF line ends; None if nothing."""
    identity = re.search(rb"^Message-ID: .*$", mail, re.M).group()
    for name in os.listdir(host.queue):
        with open(os.path.join(host.queue, name), "rb") as file:
            content = file.read().replace(b"\r\n", b"\n")
        if identity in content:
            return content
    return None


def received(host, mail, forged=()):
    """Sends a mail that passes: (its X-Bayes-Status, the rest of it)."""
    equal(host.send(host.smtp, mail)[0], 250, "reply to the mail")
    content = wait_for(lambda: queued(host, mail), "the mail is queued")
    found = re.findall(rb"^X-Bayes-Status: (.*)\n", content, re.M)
    equal(len(found), 1, f"X-Bayes-Status in {content}")
    for line in mail.split(b"\n"):
        holds(line in content or line.decode() in forged, f"{line!r} is missing in {content!r}")
    equal(content.split(b"\n\n", 1)[1].rstrip(b"\n"), mail.split(b"\n\n", 1)[1].rstrip(b"\n"), "the text")
    return found[0].decode()


def test_spam_is_refused(host):
    mail = host.mail("spam")
    equal(host.send(host.smtp, mail), (550, "Spam message rejected"))
    equal(queued(host, mail), None)


def test_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    status = received(host, host.mail("spam"))
    holds(re.fullmatch(r"spam, probability=(0\.9\d{3}|1\.0000), model=mail", status), status)


def test_ham_passes(host):
    holds(received(host, host.mail("ham")).startswith("ham, probability="), "status")


def test_forged_header_is_taken_out(host):
    host.start_bayesd(**TAG_ONLY)
    holds(received(host, host.mail("spam", FORGED), FORGED).startswith("spam, "), "status")


def test_subject_is_rewritten(host):
    host.start_bayesd(reject=1, rewrite_subject=0.95)
    mail = host.mail("spam")
    equal(host.send(host.smtp, mail)[0], 250)
    subject = re.search(rb"^Subject: (.*)$", mail, re.M).group(1)
    content = wait_for(lambda: queued(host, mail), "the mail is queued")
    equal(re.findall(rb"^Subject: (.*)$", content, re.M), [b"***SPAM*** " + subject])


def test_gtube_is_refused(host):
    equal(host.send(host.smtp, mails.build("gtube", "Tester", "Test", [mails.GTUBE]))[0], 550)


def test_too_little_training(host):
    host.start_bayesd(model="fresh")
    holds(received(host, host.mail("spam")).startswith("unsure"), "status")


def test_without_bayesd_the_sender_tries_again(host):
    host.stop_bayesd()
    for kind in ("spam", "ham"):
        mail = host.mail(kind)
        equal(host.send(host.smtp, mail)[0], 450, kind)
        equal(queued(host, mail), None, kind)
    host.start_bayesd()
    holds(received(host, mail).startswith("ham, "), "the same mail, sent again")
