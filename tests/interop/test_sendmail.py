# SPDX-License-Identifier: Apache-2.0
"""Sendmail with bayesd-milter: config/integrations/sendmail-milter."""
from harness import TAG_ONLY, equal, free_port, holds, intact, marked, marked_spam
from mails import GTUBE, awkward, build
from sendmail import Sendmail

FORGED = "X-Bayes-Status: spam, probability=0.9876, model=mail"


def prepare(host):
    """Sendmail as the page describes it, and one with each option that the page names."""
    host.filters, host.servers = {}, {}
    for name, options in (("default", []), ("quarantine", ["--on-reject", "quarantine"])):
        port = free_port()
        host.filters[name] = host.start(f"bayesd-milter-{name}", [
            host.milter, "--socket", f"inet:{port}@127.0.0.1", "--url", host.url,
            "--timeout", "5", "--pause", "0", *options], port=port)
        address = {"S=inet:8764@127.0.0.1": f"S=inet:{port}@127.0.0.1"}
        line = host.integration("sendmail-milter/bayesd.mc", address)
        host.servers[name] = Sendmail(host, f"sendmail-{name}", line)
        if name == "default":
            strict = host.integration("sendmail-milter/bayesd.mc", {
                "S=inet:8764@127.0.0.1,": f"S=inet:{port}@127.0.0.1, F=T,"})
            host.servers["strict"] = Sendmail(host, "sendmail-strict", strict)


def taken(host, mail, name="default"):
    return host.taken(host.servers[name].port, host.servers[name].box, mail)


def refused(host, mail, code, word, name="default"):
    host.refused(host.servers[name].port, host.servers[name].box, mail, code, word)


def test_spam_is_refused(host):
    refused(host, host.mail("spam"), 550, "5.7.1")


def test_gtube_is_refused(host):
    refused(host, build("gtube", "Test Sender", "a test", [GTUBE]), 550, "5.7.1")


def test_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    mail = host.mail("spam", [FORGED])
    copy = taken(host, mail)
    marked_spam(copy, mail)


def test_subject_is_rewritten(host):
    host.start_bayesd(**TAG_ONLY, rewrite_subject=0.95)
    mail = host.mail("spam")
    copy = taken(host, mail)
    equal(len(copy.get_all("Subject")), 1, "subjects")
    holds(copy["Subject"].startswith("***SPAM*** "), copy["Subject"])
    intact(copy, mail, ["Subject"])


def test_ham_is_delivered(host):
    mail = host.mail("ham", [FORGED])
    copy = taken(host, mail)
    marked(copy, "ham, probability=", mail)


def test_quarantine_holds_spam_until_it_is_released(host):
    server = host.servers["quarantine"]
    code, text = host.send(server.port, mail := host.mail("spam"))
    equal(code, 250, text)
    equal(len(server.held()), 1, "mails held")
    equal(host.copies(server.box, mail), [], "mail that is held and delivered")
    server.run(host, "-qQ", "-qI" + server.held()[0], "-Q")
    server.run(host, "-q")  # which a queue runner does from time to time
    copy = host.delivered(server.box, mail)
    holds(copy["X-Bayes-Status"].startswith("spam,"), copy["X-Bayes-Status"])
    intact(copy, mail)


def test_awkward_mails_arrive_as_they_were(host):
    for size in (0, 3_000_000):
        intact(taken(host, mail := awkward(size)), mail)


def test_bayesd_is_away(host):
    host.stop_bayesd()
    unchecked(host)


def test_bayesd_hangs(host):
    with host.hanging_bayesd():
        unchecked(host)


def unchecked(host):
    """A mail passes with a header that says it was not checked."""
    mail = host.mail("spam", [FORGED])
    copy = taken(host, mail)
    equal(copy.get_all("X-Bayes-Status"), ["none, bayesd is away"], "status headers")
    intact(copy, mail, ["X-Bayes-Status"])


def test_milter_is_away(host):
    host.filters["default"].kill()
    mail = host.mail("spam")
    copy = taken(host, mail)
    equal(copy["X-Bayes-Status"], None, "status header")
    intact(copy, mail)
    refused(host, host.mail("ham"), 451, "4.3.2", "strict")
