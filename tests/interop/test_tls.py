# SPDX-License-Identifier: Apache-2.0
"""HTTP over TLS: curl, Exim, Haraka and rspamd, with the certificate that they trust and with another one."""
import contextlib
import json
import os
import re

import authority
import mails
from exim import Exim
from harness import UNPACKED, equal, free_port, holds, intact, wait_for

HARAKA = os.path.join(UNPACKED, "haraka", "node_modules", "Haraka", "bin", "haraka")
TOKEN = "a-token-of-mail-software-over-tls"
FORGED = "X-Bayes-Status: ham, probability=1.0000, model=mail"
RSPAMD = {
    "options.inc": 'dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }\n'
                   'ssl_ca_path = "AUTHORITY";',
    "logging.inc": 'type = "console"; level = "info";',
    "worker-controller.inc": "enabled = false;",
    "worker-proxy.inc": 'bind_socket = "127.0.0.1:PROXY"; milter = false; '
                        'upstream "bayesd" { default = yes; hosts = "127.0.0.1:TLS"; }',
    "worker-normal.inc": 'bind_socket = "127.0.0.1:SCANNER"; count = 1;',
}


def prepare(host):
    """bayesd speaks TLS, too, and asks for tokens or for certificates of one authority."""
    folder = host.path("certificates")
    host.authority, host.stranger = authority.Authority(folder), authority.Authority(folder, "stranger")
    clients = authority.Authority(folder, "clients")
    host.client = clients.sign("mx1", "clientAuth")
    # Mail servers that have changed their user read their certificates, too.
    os.chmod(host.client[1], 0o644)
    host.right, host.wrong = host.authority.sign("right"), host.stranger.sign("wrong")
    host.tls = free_port()
    present(host, host.right, {"client_ca": clients.certificate})
    prepare_exim(host)
    prepare_haraka(host)
    prepare_rspamd(host)


def present(host, pair, more):
    """bayesd shows this certificate from now on."""
    host.stop_bayesd()
    host.sections = {"tls": {"listen": f"127.0.0.1:{host.tls}", "certificate": pair[0], "key": pair[1], **more},
                     "tokens": {"classify": TOKEN}}
    host.start_bayesd()


@contextlib.contextmanager
def wrong_certificate(host):
    """Within it bayesd shows a certificate that a stranger has signed."""
    tls = host.sections["tls"]
    more = {"client_ca": tls["client_ca"]}
    present(host, host.wrong, more)
    try:
        yield
    finally:
        present(host, host.right, more)


# ---- curl ---------------------------------------------------------------------------------------
def curl(host, path, mail, *options, status=0):
    """(HTTP status, reply) of a mail that is sent by curl; with another exit status only that is checked."""
    _, out, _ = host.run(["curl", "--silent", "--show-error", "--write-out", "\n%{http_code}", "--data-binary", "@-",
                          "--header", "Content-Type: message/rfc822", *options,
                          f"https://localhost:{host.tls}{path}"], mail, status=status)
    reply, _, code = out.decode().rpartition("\n")
    return int(code), json.loads(reply) if status == 0 else None


def test_curl_with_a_token(host):
    trusts = ("--cacert", host.authority.certificate)
    shows = ("--header", "Authorization: Bearer " + TOKEN)
    for version in ("1.2", "1.3"):
        options = (*trusts, *shows, "--tlsv" + version, "--tls-max", version)
        equal(curl(host, "/checkv2", host.mail("spam"), *options)[1]["action"], "reject", version)
    equal(curl(host, "/v1/models/mail/classify", host.mail("ham"), *trusts, *shows)[1]["label"], "ham")
    equal(curl(host, "/v1/models/mail/classify", host.mail("ham"), *trusts)[0], 401, "without a token")
    curl(host, "/checkv2", host.mail("ham"), *trusts, "--tlsv1.0", "--tls-max", "1.1", status=35)


def test_curl_with_a_certificate_of_its_own(host):
    """The certificate is a role: classify, as the default of client_role says."""
    options = ("--cacert", host.authority.certificate, "--cert", host.client[0], "--key", host.client[1])
    equal(curl(host, "/v1/models/mail/classify", host.mail("spam"), *options)[1]["label"], "spam")
    equal(curl(host, "/v1/models/mail/train?label=ham", host.mail("spam"), *options)[0], 403, "to train")


def test_curl_refuses_another_certificate(host):
    shows = ("--header", "Authorization: Bearer " + TOKEN)
    curl(host, "/checkv2", host.mail("ham"), "--cacert", host.stranger.certificate, *shows, status=60)
    curl(host, "/checkv2", host.mail("ham"), *shows, status=60)  # by the authorities of this machine


# ---- Exim ---------------------------------------------------------------------------------------
def prepare_exim(host):
    token = host.write("token", TOKEN + "\n")
    acl = host.integration("exim-tls/acl.conf", {
        "localhost:8764": f"localhost:{host.tls}", "/etc/exim4/bayesd_token": token})
    host.exims = {}
    # As the page says for letting no mail pass unchecked.
    strict = acl.replace("  warn\n    condition = ${if !match", "  defer\n    condition = ${if !match")
    strict = strict.replace("    add_header = X-Bayes-Status: none, bayesd is away\n", "")
    for name, text in (("exim", acl), ("strict", strict)):
        main = host.integration("exim-tls/main.conf", {
            "/etc/exim4/bayesd_acl.conf": host.write(name + "-acl.conf", text)})
        host.exims[name] = Exim(host, name, main)


def by_exim(host, mail, name="exim"):
    """The status of a mail that Exim takes."""
    copy = host.taken(host.exims[name].port, host.exims[name].box, mail)
    intact(copy, mail, ["X-Bayes-Status"])
    equal(len(copy.get_all("X-Bayes-Status")), 1, "status headers")
    return copy["X-Bayes-Status"]


def refused_by_exim(host, mail, code, word, name="exim"):
    host.refused(host.exims[name].port, host.exims[name].box, mail, code, word)


def test_exim(host):
    refused_by_exim(host, host.mail("spam"), 550, "Spam message rejected")
    holds(by_exim(host, host.mail("ham", [FORGED])).startswith("ham, probability="), "the status")
    host.start_bayesd(reject=1)
    holds(by_exim(host, host.mail("spam", [FORGED])).startswith("spam, probability="), "the status")


def test_exim_sends_awkward_mails_whole(host):
    for size in (0, 3_000_000):
        mail = mails.awkward(size)
        sent = by_exim(host, mail)
        holds(re.match(r"(ham|unsure|spam), probability=", sent), sent)


def test_exim_takes_any_certificate(host):
    """It has no way to check one; the page says so."""
    with wrong_certificate(host):
        refused_by_exim(host, host.mail("spam"), 550, "Spam message rejected")


def test_exim_while_bayesd_is_away(host):
    host.stop_bayesd()
    equal(by_exim(host, host.mail("spam", [FORGED])), "none, bayesd is away")
    refused_by_exim(host, mail := host.mail("ham"), 451, "", "strict")
    host.start_bayesd()
    holds(by_exim(host, mail, "strict").startswith("ham, "), "the same mail, sent again")


# ---- Haraka -------------------------------------------------------------------------------------
def prepare_haraka(host):
    folder = os.path.join(host.folder, "haraka")
    host.run(["node", HARAKA, "-i", folder], status=0)
    host.smtp, host.queue = free_port(), host.path("queue")
    tls = host.integration("haraka/rspamd-tls.ini", {
        "host = bayesd.example.net": "host = localhost", "port = 8764": f"port = {host.tls}",
        "/etc/bayesd/authority.pem": host.authority.certificate,
        "/etc/haraka/mx1.pem": host.client[0], "/etc/haraka/mx1.key": host.client[1],
        "private_ip = false": "private_ip = true", "local_ip = false": "local_ip = true"})
    files = {"rspamd.ini": tls, "plugins": "rcpt_to.in_host_list\nrspamd\nqueue/test\n",
             "host_list": "example.net\n", "me": "mx.example.net\n",
             "smtp.ini": f"listen=127.0.0.1:{host.smtp}\nnodes=0\n"}
    for name, text in files.items():
        host.write("haraka/config/" + name, text)
    host.start("haraka", ["node", HARAKA, "-c", folder], host.smtp, environment={"TMPDIR": host.queue})


def queued(host, mail):
    """What Haraka has queued of the mail."""
    identity = re.search(rb"^Message-ID: .*$", mail, re.M).group()
    found = []
    for name in os.listdir(host.queue):
        with open(os.path.join(host.queue, name), "rb") as file:
            found.append(file.read().replace(b"\r\n", b"\n"))
    return [copy for copy in found if identity in copy]


def test_haraka_with_a_certificate_of_its_own(host):
    spam, ham = host.mail("spam"), host.mail("ham")
    equal(host.send(host.smtp, spam), (550, "Spam message rejected"))
    equal(host.send(host.smtp, ham)[0], 250)
    found = wait_for(lambda: queued(host, ham), "the mail is queued")
    holds(re.search(rb"^X-Bayes-Status: ham, probability=", found[0], re.M), found[0])


def test_haraka_refuses_another_certificate(host):
    """Mail waits with the sender, as while bayesd is away."""
    with wrong_certificate(host):
        mail = host.mail("ham")
        equal(host.send(host.smtp, mail)[0], 450)
        equal(queued(host, mail), [])
    equal(host.send(host.smtp, mail)[0], 250, "the same mail, sent again")


# ---- rspamd -------------------------------------------------------------------------------------
def prepare_rspamd(host):
    host.scanner, host.proxy = free_port(), free_port()
    host.write("rspamd/rspamd.local.lua", host.integration("rspamd/rspamd.local.lua", {
        "bayesd.example.net:8764": f"localhost:{host.tls}",
        "/etc/rspamd/bayesd_token": os.path.join(host.folder, "token")}))
    for name, text in RSPAMD.items():
        for word, value in (("SCANNER", host.scanner), ("PROXY", host.proxy), ("TLS", host.tls),
                            ("AUTHORITY", host.authority.certificate)):
            text = text.replace(word, str(value))
        host.write("rspamd/override.d/" + name, text)
    folders = [f"--var={name}={host.path('rspamd', name.lower())}" for name in ("DBDIR", "RUNDIR", "LOGDIR")]
    host.start("rspamd", ["rspamd", "--insecure", "-f", "-c", "/etc/rspamd/rspamd.conf",
                          "--var=LOCAL_CONFDIR=" + host.path("rspamd"), *folders], host.scanner, seconds=60)


def symbols(host, mail):
    """{name: score} of rspamd's verdict, which it gives in any case."""
    report = host.run(["rspamc", "-h", f"127.0.0.1:{host.scanner}"], mail, status=0)[1].decode()
    holds("Action: " in report, report)
    return {name: float(score) for name, score in re.findall(r"^Symbol: (\w+) \((-?[0-9.]+)\)", report, re.M)}


def test_rspamd_gets_bayesds_score(host):
    found = symbols(host, host.mail("spam"))
    holds(found.get("BAYESD", 0) >= 5.0 * 0.99, str(found))
    found = symbols(host, host.mail("ham"))
    holds("BAYESD" not in found and "BAYESD_FAIL" not in found, str(found))


def test_rspamd_refuses_another_certificate(host):
    """It decides alone, as while bayesd is away."""
    with wrong_certificate(host):
        found = symbols(host, host.mail("spam"))
        holds("BAYESD" not in found and "BAYESD_FAIL" in found, str(found))
    holds("BAYESD" in symbols(host, host.mail("spam")), "again with the right one")


def test_rspamd_while_bayesd_is_away(host):
    host.stop_bayesd()
    found = symbols(host, host.mail("spam"))
    equal(found.get("BAYESD_FAIL"), 0.0, str(found))


def test_rspamds_proxy_has_no_tls(host):
    """What the page says: bayesd closes the connection, and the proxy has no verdict."""
    status, out, _ = host.run(["rspamc", "-h", f"127.0.0.1:{host.proxy}"], host.mail("ham"))
    holds(status != 0 or b"Action:" not in out, out)
