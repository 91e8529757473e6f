# SPDX-License-Identifier: Apache-2.0
"""Exim, which speaks two protocols to spam filters: config/integrations/exim-rspamd, exim-spamd."""
from exim import Exim
from harness import TAG_ONLY, equal, holds, intact
from mails import GTUBE, awkward, build

FORGED = "X-Bayes-Status: spam, score=99"
# The file's score for refusing, 20.9, is that of the probability 0.9999 with the defaults. The spam of
# these tests is far above it when spam begins at a lower probability, and below it with a higher one.
SPAMD_DEFAULT, SPAMD_REFUSE = {"reject": 0.9999}, {"add_header": 0.6}
SPAMD_MARK = {"add_header": 0.997, **TAG_ONLY}


def prepare(host):
    """An Exim for each protocol, and two set up as the pages say for letting no mail pass unchecked."""
    host.exims = {}
    strict = {"  warn\n    set acl_m_bayes": "  require\n    set acl_m_bayes", "/defer_ok\n": "\n"}
    for kind in ("rspamd", "spamd"):
        for name, changes in ((kind, {}), ("strict-" + kind, strict)):
            acl = host.write(f"{name}-acl.conf", host.integration(f"exim-{kind}/acl.conf", changes))
            # Exim counts in whole seconds of the clock: of one second, nothing may be left when bayesd replies.
            main = host.integration(f"exim-{kind}/main.conf", {
                "127.0.0.1 8763": f"127.0.0.1 {host.port}", "tmo=10s": "tmo=3s",
                "/etc/exim4/bayesd_acl.conf": acl})
            host.exims[name] = Exim(host, "exim-" + name, main)


def taken(host, kind, mail):
    return host.taken(host.exims[kind].port, host.exims[kind].box, mail)


def refused(host, kind, mail, code, word):
    host.refused(host.exims[kind].port, host.exims[kind].box, mail, code, word)


def status(copy):
    equal(len(copy.get_all("X-Bayes-Status") or []), 1, "status headers")
    return copy["X-Bayes-Status"]


def marked(host, kind):
    mail = host.mail("spam", [FORGED])
    copy = taken(host, kind, mail)
    holds(status(copy).startswith("spam, score="), status(copy))
    intact(copy, mail, ["X-Bayes-Status"])


def ham(host, kind):
    mail = host.mail("ham", [FORGED])
    copy = taken(host, kind, mail)
    holds(status(copy).startswith("ham, score=-"), status(copy))
    intact(copy, mail, ["X-Bayes-Status"])


def awkward_mails(host, kind):
    for size in (0, 3_000_000):
        intact(taken(host, kind, mail := awkward(size)), mail)


def away(host, kind):
    host.stop_bayesd()
    unchecked(host, kind)


def hangs(host, kind):
    with host.hanging_bayesd():
        unchecked(host, kind)


def unchecked(host, kind):
    mail = host.mail("spam", [FORGED])
    copy = taken(host, kind, mail)
    equal(status(copy), "none, bayesd is away", "status header")
    intact(copy, mail, ["X-Bayes-Status"])


def away_and_strict(host, kind):
    host.stop_bayesd()
    mail = host.mail("ham")
    refused(host, "strict-" + kind, mail, 451, "")
    host.start_bayesd()
    copy = taken(host, "strict-" + kind, mail)
    holds(status(copy).startswith("ham, score=-"), status(copy))
    intact(copy, mail)


def test_rspamd_spam_is_refused(host):
    refused(host, "rspamd", host.mail("spam"), 550, "Spam message rejected")


def test_rspamd_gtube_is_refused(host):
    refused(host, "rspamd", build("gtube", "Test Sender", "a test", [GTUBE]), 550, "Spam message rejected")


def test_rspamd_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    marked(host, "rspamd")


def test_rspamd_ham_is_delivered(host):
    ham(host, "rspamd")


def test_rspamd_awkward_mails_arrive_as_they_were(host):
    awkward_mails(host, "rspamd")


def test_rspamd_bayesd_hangs(host):
    hangs(host, "rspamd")


def test_rspamd_bayesd_is_away(host):
    away(host, "rspamd")


def test_rspamd_bayesd_is_away_and_no_mail_passes_unchecked(host):
    away_and_strict(host, "rspamd")


def test_spamd_spam_is_refused(host):
    host.start_bayesd(**SPAMD_REFUSE)
    refused(host, "spamd", host.mail("spam"), 550, "Spam message rejected")


def test_spamd_gtube_is_refused(host):
    host.start_bayesd(**SPAMD_DEFAULT)
    refused(host, "spamd", build("gtube", "Test Sender", "a test", [GTUBE]), 550, "Spam message rejected")


def test_spamd_spam_below_reject_is_marked(host):
    host.start_bayesd(**SPAMD_MARK)
    marked(host, "spamd")


def test_spamd_ham_is_delivered(host):
    ham(host, "spamd")


def test_spamd_awkward_mails_arrive_as_they_were(host):
    awkward_mails(host, "spamd")


def test_spamd_bayesd_hangs(host):
    hangs(host, "spamd")


def test_spamd_bayesd_is_away(host):
    away(host, "spamd")


def test_spamd_bayesd_is_away_and_no_mail_passes_unchecked(host):
    away_and_strict(host, "spamd")
