# SPDX-License-Identifier: Apache-2.0
"""Postfix with rspamd's proxy as its milter: config/integrations/postfix-rspamd-proxy."""
import postfix
import server_values
from harness import TAG_ONLY, equal, free_port, holds, intact, marked, marked_spam
from mails import GTUBE, awkward, build

FORGED = "X-Bayes-Status: spam, probability=0.9876, model=mail"


def prepare(host):
    port, own = free_port(), host.path("rspamd", owner="_rspamd")
    configuration = host.write("rspamd.conf", host.integration("postfix-rspamd-proxy/rspamd.conf", {
        "127.0.0.1:11332": f"127.0.0.1:{port}", "127.0.0.1:8763": f"127.0.0.1:{host.port}",
        "timeout = 10s": "timeout = 2s", 'type = "syslog"': 'type = "console"',
        'filters = "";': f'filters = ""; hs_cache_dir = "{own}";'}))
    host.start_proxy = lambda: host.start("rspamd", [
        "rspamd", "--no-fork", "--user", "_rspamd", "--group", "_rspamd", "--config", configuration,
        f"--var=DBDIR={own}", f"--var=RUNDIR={own}"], port=port, environment={"TMPDIR": own}, seconds=60)
    host.proxy = host.start_proxy()
    host.mta = postfix.Postfix(
        host,
        host.integration("postfix-rspamd-proxy/main.cf",
                         {"inet:127.0.0.1:11332": f"inet:127.0.0.1:{port}"}),
        {"accepting": {"milter_default_action": "accept"}, "outside": server_values.SETTINGS})


def delivered(host, mail, listener=""):
    return host.taken(host.mta.ports[listener], host.mta.box, mail)


def refused(host, mail, code, word):
    host.refused(host.mta.port, host.mta.box, mail, code, word)


def test_spam_is_refused(host):
    refused(host, host.mail("spam"), 554, "5.7.1")


def test_gtube_is_refused(host):
    refused(host, build("gtube", "Test Sender", "a test", [GTUBE]), 554, "5.7.1")


def test_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    mail = host.mail("spam", [FORGED])
    copy = delivered(host, mail)
    equal(copy["X-Spam"], "Yes", "X-Spam")
    marked_spam(copy, mail)


def test_subject_is_rewritten(host):
    host.start_bayesd(**TAG_ONLY, rewrite_subject=0.95)
    mail = host.mail("spam")
    copy = delivered(host, mail)
    equal(len(copy.get_all("Subject")), 1, "subjects")
    holds(copy["Subject"].startswith("***SPAM*** "), copy["Subject"])
    intact(copy, mail, ["Subject"])


def test_ham_is_delivered(host):
    mail = host.mail("ham", [FORGED])
    copy = delivered(host, mail)
    equal(copy["X-Spam"], None, "X-Spam")
    marked(copy, "ham, probability=", mail)


def test_envelope_and_results_are_values(host):
    server_values.check(host, host.mta.ports["outside"], host.mta.box)


def test_awkward_mails_arrive_as_they_were(host):
    for size in (0, 3_000_000):
        intact(delivered(host, mail := awkward(size)), mail)


def test_bayesd_is_away(host):
    host.stop_bayesd()
    mail = host.mail("ham")
    refused(host, mail, 451, "4.7.1")
    host.start_bayesd()
    intact(delivered(host, mail), mail)


def test_bayesd_hangs(host):
    mail = host.mail("ham")
    with host.hanging_bayesd():
        refused(host, mail, 451, "4.7.1")
    intact(delivered(host, mail), mail)


def test_proxy_is_away(host):
    host.proxy.kill()
    mail = host.mail("ham")
    refused(host, mail, 451, "4.7.1")
    intact(delivered(host, mail, "accepting"), mail)
    host.proxy = host.start_proxy()
