# SPDX-License-Identifier: Apache-2.0
"""getmail with `bayesc filter` as its page says: the header, and no mail is lost when bayesd is away."""
import os
import re

from dovecot import PASSWORD, Dovecot
from harness import equal, holds, intact, marked, marked_spam

# The mail is taken from the server once it is delivered: what gets lost would be nowhere.
GETMAILRC = """
[retriever]
type = SimpleIMAPRetriever
server = 127.0.0.1
port = {port}
username = user
password = {password}

[destination]
type = Maildir
path = {box}/

[options]
delete = true
delivered_to = false
received = false
verbose = 1

{filter}
"""


def prepare(host):
    host.dovecot = Dovecot(host)
    host.dovecot.start(host.write("dovecot.conf", "protocols = imap\n" + host.dovecot.settings))
    host.folders = 0


def filter_of_the_page(host, replacements):
    """The section that the page shows. A page is read by people: its block is indented."""
    page = host.integration("procmail/README.md")
    block = re.search(r"^    \[filter-bayesd\]\n(?:    .+\n)+", page, re.M).group()
    text = re.sub("^    ", "", block, flags=re.M).replace("/usr/bin/bayesc", host.bayesc)
    for old, new in replacements.items():
        holds(old in text, f"{old!r} is not in {text}")
        text = text.replace(old, new)
    return text


def mails_of_the_server(host):
    imap = host.dovecot.log_in("user")
    count = int(imap.select("INBOX")[1][0])
    imap.logout()
    return count


def fetch(host, mail, **replacements):
    """Puts a mail on the server and fetches it: (the Maildir, what getmail said)."""
    imap = host.dovecot.log_in("user")
    equal(imap.append("INBOX", None, None, mail.replace(b"\n", b"\r\n"))[0], "OK")
    imap.logout()
    return fetch_again(host, **replacements)


def fetch_again(host, replacements=None):
    host.folders += 1
    folder = host.path(f"getmail-{host.folders}", owner="mail", group="mail")
    box = os.path.join(folder, "Maildir")
    for part in ("", "cur", "new", "tmp"):
        host.path(box, part, owner="mail", group="mail")
    host.write(folder + "/getmailrc", GETMAILRC.format(port=host.dovecot.port, password=PASSWORD, box=box,
                                                       filter=filter_of_the_page(host, replacements or {})))
    # It starts no filter as root.
    _, out, error = host.run(["setpriv", "--reuid", "mail", "--regid", "mail", "--clear-groups", "getmail", "--getmaildir",
                              folder, "--rcfile", "getmailrc"], seconds=60, environment={"BAYESC_URL": host.url})
    return box, (out + error).decode()


def test_spam_is_marked(host):
    mail = host.mail("spam")
    box, said = fetch(host, mail)
    marked_spam(host.delivered(box, mail), mail)
    equal(mails_of_the_server(host), 0, said)


def test_ham_is_marked(host):
    mail = host.mail("ham")
    box, _ = fetch(host, mail)
    marked(host.delivered(box, mail), "ham, probability=", mail)


def test_without_bayesd_a_mail_is_delivered_as_it_was(host):
    host.stop_bayesd()
    mail = host.mail("spam")
    box, said = fetch(host, mail)
    copy = host.delivered(box, mail)
    intact(copy, mail)
    equal((copy["X-Bayes-Status"], mails_of_the_server(host)), (None, 0), said)


def test_a_bayesd_that_does_not_answer_loses_no_mail(host):
    # Without a pause: in its five seconds the filter asks nothing, and mails of the next tests would pass unmarked.
    with host.hanging_bayesd():
        mail = host.mail("ham")
        box, said = fetch(host, mail, replacements={'"--quiet"': '"--quiet", "--timeout", "1", "--pause", "0"'})
        intact(host.delivered(box, mail), mail)
    equal(mails_of_the_server(host), 0, said)


def test_either_of_the_two_is_enough(host):
    host.stop_bayesd()
    for replacements in ({', "--quiet"': ","}, {"ignore_stderr = true": ""}):
        mail = host.mail("ham")
        box, said = fetch(host, mail, replacements=replacements)
        intact(host.delivered(box, mail), mail)
        equal(mails_of_the_server(host), 0, said)


def test_without_both_the_mail_stays_on_the_server(host):
    """What the page warns of: the line on standard error is a failure to getmail."""
    host.stop_bayesd()
    mail = host.mail("ham")
    box, said = fetch(host, mail, replacements={', "--quiet"': ",", "ignore_stderr = true": ""})
    equal((host.copies(box, mail), mails_of_the_server(host)), ([], 1), said)
    host.start_bayesd()
    box, _ = fetch_again(host)
    marked(host.delivered(box, mail), "ham, probability=", mail)
    equal(mails_of_the_server(host), 0)
