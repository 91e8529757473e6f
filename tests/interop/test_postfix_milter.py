# SPDX-License-Identifier: Apache-2.0
"""Postfix with bayesd-milter: config/integrations/postfix-milter."""
import os

import postfix
import server_values
from harness import TAG_ONLY, equal, free_port, holds, intact, marked, marked_spam, wait_for
from mails import GTUBE, awkward, build

FORGED = "X-Bayes-Status: spam, probability=0.9876, model=mail"


# The table of the page: options of bayesd-milter, and the settings of Postfix that go with them.
WANTED = {"tempfail": ["--on-failure", "tempfail"], "quarantine": ["--on-reject", "quarantine"],
          "tag": ["--on-reject", "tag"]}


def prepare(host):
    """Milters with the options that the page names, and Postfix with a port for each."""
    port = free_port()
    host.restart = lambda: start_milter(host, "default", f"inet:{port}@127.0.0.1", port)
    host.filter = host.restart()
    listeners = {"strict": {"milter_default_action": "tempfail"}, "outside": server_values.SETTINGS}
    for name, options in WANTED.items():
        own = free_port()
        start_milter(host, name, f"inet:{own}@127.0.0.1", own, *options)
        listeners[name] = {"smtpd_milters": f"inet:127.0.0.1:{own}"}
    socket = "unix:" + os.path.join(host.path("milter"), "socket")
    start_milter(host, "unix", socket, None, "--socket-group", "postfix")
    wait_for(lambda: os.path.exists(socket[5:]), "the milter's unix socket is there")
    listeners["unix"] = {"smtpd_milters": socket}
    unchecked_clients = host.write("milter_maps", "127.0.0.0/8 DISABLE\n")
    listeners["maps"] = {"smtpd_milter_maps": "cidr:" + unchecked_clients}
    host.mta = postfix.Postfix(host, host.integration(
        "postfix-milter/main.cf", {"inet:127.0.0.1:8764": f"inet:127.0.0.1:{port}"}), listeners)


def start_milter(host, name, socket, port, *options):
    return host.start(f"bayesd-milter-{name}", [host.milter, "--socket", socket, "--url", host.url,
                                                "--timeout", "5", "--pause", "0", *options], port=port)


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
    marked_spam(copy, mail)


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
    marked(copy, "ham, probability=", mail)


def test_quarantine_holds_spam_until_it_is_released(host):
    code, text = host.send(host.mta.ports["quarantine"], mail := host.mail("spam"))
    equal(code, 250, text)
    equal(host.mta.held(), 1, "mails held")
    equal(host.copies(host.mta.box, mail), [], "mail that is held and delivered")
    host.mta.run(host, "postsuper", "-H", "ALL")
    copy = host.delivered(host.mta.box, mail)
    holds(copy["X-Bayes-Status"].startswith("spam,"), copy["X-Bayes-Status"])
    intact(copy, mail)


def test_no_spam_is_ever_refused(host):
    copy = delivered(host, host.mail("spam"), "tag")
    holds(copy["X-Bayes-Status"].startswith("spam,"), copy["X-Bayes-Status"])


def test_unix_socket(host):
    refused(host, host.mail("spam"), 550, "5.7.1", "unix")
    copy = delivered(host, host.mail("ham"), "unix")
    holds(copy["X-Bayes-Status"].startswith("ham,"), copy["X-Bayes-Status"])


def test_some_clients_are_not_checked(host):
    equal(delivered(host, host.mail("spam"), "maps")["X-Bayes-Status"], None, "status header")


def test_envelope_and_results_are_values(host):
    server_values.check(host, host.mta.ports["outside"], host.mta.box)


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
    """A mail passes with a header that says it was not checked."""
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
    host.filter.kill()
    mail = host.mail("spam")
    copy = delivered(host, mail)
    equal(copy["X-Bayes-Status"], None, "status header")
    intact(copy, mail)
    refused(host, host.mail("ham"), 451, "4.7.1", "strict")
    host.filter = host.restart()
