# SPDX-License-Identifier: Apache-2.0
"""rspamd, with Debian's configuration, beside bayesd: its score as a symbol, and shadow traffic."""
import re

from harness import equal, free_port, holds, wait_for

# Instead of Debian's addresses; without DNS, which these tests do not need.
OVERRIDES = {
    "options.inc": 'dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }',
    "logging.inc": 'type = "console"; level = "info";',
    "worker-controller.inc": "enabled = false;",
    "worker-normal.inc": 'bind_socket = "127.0.0.1:SCANNER"; count = 1;',
    "worker-proxy.inc": 'bind_socket = "127.0.0.1:PROXY"; '
                        'upstream "local" { default = yes; hosts = "127.0.0.1:SCANNER"; }',
}
MILTER_CLIENT = """
connection = mt.connect("inet:PROXY@127.0.0.1")
mt.negotiate(connection, nil, nil, nil)
mt.conninfo(connection, "client.example.org", "192.0.2.1")
mt.helo(connection, "client.example.org")
mt.mailfrom(connection, "<sender@example.org>")
mt.rcptto(connection, "<user@example.net>")
mt.header(connection, "From", "sender@example.org")
mt.header(connection, "Message-ID", "<shadow@example.org>")
mt.header(connection, "Subject", "The minutes")
mt.eoh(connection)
mt.bodystring(connection, "The committee agreed to postpone the vote.\\r\\n")
mt.eom(connection)
assert(mt.getreply(connection) == SMFIR_ACCEPT)
mt.disconnect(connection)
"""


def prepare(host):
    host.scanner, host.proxy = free_port(), free_port()
    for name in ("external_services.conf", "worker-proxy.inc"):
        host.write("rspamd/local.d/" + name, host.integration(
            "rspamd/local.d/" + name, {"127.0.0.1:8763": f"127.0.0.1:{host.port}"}))
    host.write("rspamd/local.d/external_services_group.conf",
               host.integration("rspamd/local.d/external_services_group.conf"))
    for name, text in OVERRIDES.items():
        host.write("rspamd/override.d/" + name, with_ports(host, text))
    folders = [f"--var={name}={host.path('rspamd', name.lower())}" for name in ("DBDIR", "RUNDIR", "LOGDIR")]
    host.start("rspamd", ["rspamd", "--insecure", "-f", "-c", "/etc/rspamd/rspamd.conf",
                          "--var=LOCAL_CONFDIR=" + host.path("rspamd"), *folders], host.scanner, seconds=60)
    host.miltertest = host.write("milter.lua", with_ports(host, MILTER_CLIENT))


def with_ports(host, text):
    return text.replace("SCANNER", str(host.scanner)).replace("PROXY", str(host.proxy))


def symbols(host, mail):
    """{name: score} of rspamd's own verdict."""
    report = host.run(["rspamc", "-h", f"127.0.0.1:{host.scanner}"], mail, status=0)[1].decode()
    return {name: float(score) for name, score in re.findall(r"^Symbol: (\w+) \((-?[0-9.]+)\)", report, re.M)}


def own_score(host, mail):
    """bayesd's score on the scale that SpamAssassin's clients get."""
    out = host.run(["spamc", "-d", "127.0.0.1", "-p", str(host.port), "-c"], mail)[1]
    return float(out.decode().split("/")[0])


def test_spam_gets_bayesds_score(host):
    mail = host.mail("spam")
    score = symbols(host, mail).get("BAYESD")
    holds(score is not None and score >= 5.0, f"score {score}")
    equal(score, own_score(host, mail), "the score that bayesd gives")


def test_ham_gets_none(host):
    found = symbols(host, host.mail("ham"))
    holds("BAYESD" not in found and "BAYESD_FAIL" not in found, str(found))


def test_without_bayesd_rspamd_decides_alone(host):
    host.stop_bayesd()
    found = symbols(host, host.mail("spam"))
    holds("BAYESD" not in found, str(found))
    equal(found.get("BAYESD_FAIL"), 0.0, f"the symbol that says so, in {found}")


def mirrored(host):
    """Number of verdicts that bayesd gave over HTTP; the symbol uses the other protocol."""
    text = host.http.get("/metrics").ok().body.decode()
    return sum(int(count) for count in
               re.findall(r'^bayesd_http_requests_total\{.*route="/checkv2".*\} (\d+)$', text, re.M))


def test_shadow_traffic(host):
    before = mirrored(host)
    host.run(["miltertest", "-s", host.miltertest], status=0)
    wait_for(lambda: mirrored(host) == before + 1, "bayesd is shown the mail")


def test_shadow_traffic_without_bayesd(host):
    host.stop_bayesd()
    host.run(["miltertest", "-s", host.miltertest], status=0)
