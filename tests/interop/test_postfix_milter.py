# SPDX-License-Identifier: Apache-2.0
"""Postfix with bayesd-milter: config/integrations/postfix-milter."""
import postfix
from harness import TAG_ONLY, equal, free_port, holds, intact
from mails import GTUBE, awkward, build

FORGED = "X-Bayes-Status: spam, probability=0.9876, model=mail"


def prepare(host):
    """Three milters as the page describes them, and Postfix with a port for each."""
    host.filters = {name: start_milter(host, name, *options) for name, options in (
        ("default", []), ("tempfail", ["--on-failure", "tempfail"]),
        ("quarantine", ["--on-reject", "quarantine"]))}
    address = {name: f"inet:127.0.0.1:{port}" for name, (_, port) in host.filters.items()}
    host.mta = postfix.Postfix(
        host,
        host.integration("postfix-milter/main.cf", {"inet:127.0.0.1:8764": address["default"]}),
        {"strict": {"milter_default_action": "tempfail"},
         "tempfail": {"smtpd_milters": address["tempfail"]},
         "quarantine": {"smtpd_milters": address["quarantine"]}})


def start_milter(host, name, *options):
    port = free_port()
    return host.start(f"bayesd-milter-{name}", [
        host.milter, "--socket", f"inet:{port}@127.0.0.1", "--url", host.url,
        "--timeout", "1", *options], port=port), port


def delivered(host, mail, listener=""):
    return host.taken(host.mta.ports[listener], host.mta.box, mail)


def refused(host, mail, code, word, listener=""):
    host.refused(host.mta.ports[listener], host.mta.box, mail, code, word)


def test_spam_is_refused(host):
    refused(host, host.mail("spam"), 550, "5.7.1")


def test_gtube_is_refused(host):
    refused(host, build("gtube", "Test Sender", "a test", [GTUBE]), 550, "5.7.1")


def test_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    mail = host.mail("spam", [FORGED])
    copy = delivered(host, mail)
    equal(len(copy.get_all("X-Bayes-Status")), 1, "status headers")
    holds(copy["X-Bayes-Status"].startswith("spam, probability=0.99"), copy["X-Bayes-Status"])
    intact(copy, mail, ["X-Bayes-Status"])


def test_subject_is_rewritten(host):
    host.start_bayesd(**TAG_ONLY, rewrite_subject=0.95)
    mail = host.mail("spam")
    copy = delivered(host, mail)
    equal(len(copy.get_all("Subject")), 1, "subjects")
    holds(copy["Subject"].startswith("***SPAM*** "), copy["Subject"])
    holds(copy["X-Bayes-Status"].startswith("spam,"), copy["X-Bayes-Status"])
    intact(copy, mail, ["Subject"])


def test_ham_is_delivered(host):
    mail = host.mail("ham", [FORGED])
    copy = delivered(host, mail)
    equal(len(copy.get_all("X-Bayes-Status")), 1, "status headers")
    holds(copy["X-Bayes-Status"].startswith("ham, probability="), copy["X-Bayes-Status"])
    intact(copy, mail, ["X-Bayes-Status"])


def test_quarantine_holds_spam(host):
    code, text = host.send(host.mta.ports["quarantine"], mail := host.mail("spam"))
    equal(code, 250, text)
    equal(host.mta.held(), 1, "mails held")
    equal(host.copies(host.mta.box, mail), [], "mail that is held and delivered")


def test_awkward_mails_arrive_as_they_were(host):
    for size in (0, 3_000_000):
        intact(delivered(host, mail := awkward(size)), mail)


def test_bayesd_is_away(host):
    host.stop_bayesd()
    unchecked(host)


def test_bayesd_hangs(host):
    with host.hanging_bayesd():
        unchecked(host)


def unchecked(host):
    """A mail passes, and says that nobody has looked at it."""
    mail = host.mail("spam", [FORGED])
    copy = delivered(host, mail)
    equal(copy.get_all("X-Bayes-Status"), ["none, bayesd is away"], "status headers")
    intact(copy, mail, ["X-Bayes-Status"])


def test_bayesd_is_away_and_no_mail_passes_unchecked(host):
    host.stop_bayesd()
    mail = host.mail("ham")
    refused(host, mail, 451, "4.7.1", "tempfail")
    host.start_bayesd()
    intact(delivered(host, mail, "tempfail"), mail)


def test_milter_is_away(host):
    milter, _ = host.filters["default"]
    milter.kill()
    mail = host.mail("spam")
    copy = delivered(host, mail)
    equal(copy["X-Bayes-Status"], None, "status header")
    intact(copy, mail)
    refused(host, host.mail("ham"), 451, "4.7.1", "strict")
