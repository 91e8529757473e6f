# SPDX-License-Identifier: Apache-2.0
"""procmail with `bayesc filter`: the header, the folder, and the mail when bayesd is away."""
import re

import maildir
from harness import equal, holds


def prepare(host):
    host.path("home", "Maildir")
    host.write("home/procmailrc", host.integration("procmail/procmailrc", {
        "$HOME": host.path("home"),
        "/usr/local/bin/bayesc": host.bayesc,
        "http://127.0.0.1:8763": host.url,
    }))


def mail_of(host, kind):
    """A new mail that ends with an empty line; procmail adds one to all other mails."""
    return host.mail(kind) + b"\n"


def deliver(host, mail):
    """Hands the mail to procmail as a mail server does: (folder, bytes) of what it has stored."""
    host.run(["procmail", "-m", host.path("home") + "/procmailrc"], mail, status=0)
    return maildir.the_one(host.path("home", "Maildir"), mail)


def verdict(content, mail):
    """(status, probability) of the header, which is all that is new in the mail."""
    line, rest = content.split(b"\n", 1)
    equal(rest, mail, "the mail behind its first line")
    found = re.fullmatch(rb"X-Bayes-Status: (\w+), probability=([0-9.]+), model=mail", line)
    holds(found, f"the first line is {line!r}")
    return found.group(1).decode(), float(found.group(2))


def test_spam_is_filed(host):
    mail = mail_of(host, "spam")
    folder, content = deliver(host, mail)
    status, probability = verdict(content, mail)
    equal((folder, status, probability >= 0.9), (".Junk", "spam", True), f"probability {probability}")


def test_ham_is_delivered(host):
    mail = mail_of(host, "ham")
    folder, content = deliver(host, mail)
    status, probability = verdict(content, mail)
    equal((folder, status, probability >= 0.7), ("", "ham", True), f"probability {probability}")


def test_a_header_that_a_spammer_has_written_is_taken_out(host):
    forged = b"X-Bayes-Status: ham, probability=1.0000, model=mail\n"
    mail = mail_of(host, "spam")
    folder, content = deliver(host, forged + mail)
    equal((folder, verdict(content, mail)[0]), (".Junk", "spam"))


def test_without_bayesd_a_mail_is_delivered_as_it_was(host):
    host.stop_bayesd()
    for kind in ("spam", "ham"):
        mail = mail_of(host, kind)
        equal(deliver(host, mail), ("", mail), kind)


def test_with_a_filter_that_fails_a_mail_is_delivered_as_it_was(host):
    """procmail itself keeps the mail when bayesc cannot be started or is killed; the page relies on it."""
    host.write("home/broken", host.integration("procmail/procmailrc", {
        "$HOME": host.path("home"), "/usr/local/bin/bayesc": "/nonexistent/bayesc"}))
    mail = mail_of(host, "spam")
    host.run(["procmail", "-m", host.path("home") + "/broken"], mail, status=0)
    equal(maildir.the_one(host.path("home", "Maildir"), mail), ("", mail))
