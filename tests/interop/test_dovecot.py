# SPDX-License-Identifier: Apache-2.0
"""Dovecot: what users move into and out of Junk is learned, marked mail is delivered into Junk."""
import os
import re
import shutil
import signal

from dovecot import Dovecot
from harness import equal, holds

ADDRESS = "User@example.net"
USER = ADDRESS.lower()  # as Dovecot has it
MAILBOXES = """
namespace inbox {
  mailbox Junk {
    auto = create
  }
  mailbox Trash {
    auto = create
  }
  mailbox "Deleted Messages" {
    auto = create
    special_use = \\Trash
  }
}
"""


def prepare(host):
    host.dovecot = Dovecot(host)
    install(host)
    # Beside Debian's own configuration, less who may log in and TLS, which needs a certificate.
    host.write("etc/dovecot/conf.d/99-host.conf", host.dovecot.settings + MAILBOXES)
    host.configuration = host.path("etc", "dovecot") + "/dovecot.conf"
    host.run(["sievec", "-c", host.configuration, host.path("etc", "dovecot", "bayesd")], status=0)
    host.dovecot.start(host.configuration)


def install(host):
    """Debian's configuration with our files, installed by the commands of the page."""
    target = os.path.join(host.folder, "etc", "dovecot")
    os.mkdir(os.path.dirname(target))
    shutil.copytree("/etc/dovecot", target, ignore=shutil.ignore_patterns(
        "private", "10-auth.conf", "10-ssl.conf"))
    host.write("etc/dovecot/conf.d/90-bayesd.conf", host.integration(
        "dovecot/90-bayesd.conf", {"/etc/dovecot": target}))
    for name in ("learn-spam.sieve", "learn-ham.sieve", "file-spam.sieve"):
        host.write("etc/dovecot/bayesd/" + name, host.integration("dovecot/bayesd/" + name))
    write_script(host, {})


def write_script(host, replacements):
    name = "dovecot/bayesd/pipe/bayesd-learn"
    host.write("etc/" + name, host.integration(name, {
        "/usr/local/bin/bayesc": host.bayesc, "http://127.0.0.1:8763": host.url, **replacements}), 0o755)


class Mailbox:
    """An IMAP session; mails are named by their Message-ID, since numbers change with every move."""

    def __init__(self, host, user=ADDRESS):
        self.host, self.user = host, user

    def __enter__(self):
        self.imap = self.host.dovecot.log_in(self.user)
        return self

    def __exit__(self, *_):
        self.imap.logout()

    def store(self, folder, mail):
        self.done(self.imap.append(f'"{folder}"', None, None, mail.replace(b"\n", b"\r\n")))

    def numbers(self, folder, mail):
        self.done(self.imap.select(f'"{folder}"'))
        identity = re.search(rb"^Message-ID: (.*)$", mail, re.M).group(1).decode()
        return self.done(self.imap.search(None, "HEADER", "Message-ID", f'"{identity}"'))[0].split()

    def move(self, mail, source, target, command="MOVE"):
        numbers = self.numbers(source, mail)
        equal(len(numbers), 1, f"mails in {source}")
        self.done(self.imap._simple_command(command, numbers[0].decode(), f'"{target}"'))
        equal(len(self.numbers(target, mail)), 1, f"mails in {target} after the move")
        equal(len(self.numbers(source, mail)), 0 if command == "MOVE" else 1, f"mails left in {source}")

    def expunge(self, mail, folder):
        self.imap.store(self.numbers(folder, mail)[0], "+FLAGS", "\\Deleted")
        self.done(self.imap.expunge())
        equal(self.numbers(folder, mail), [], "mails left after EXPUNGE")

    @staticmethod
    def done(reply):
        equal(reply[0], "OK", str(reply[1]))
        return reply[1]


def documents(host, model="mail"):
    """(spam, ham): how many documents the model has of each."""
    labels = host.http.get(f"/v1/models/{model}").ok().json["labels"]
    return tuple(labels.get(name, {"documents": 0})["documents"] for name in ("spam", "ham"))


class Learned:
    """Counts what is learned after it was made."""

    def __init__(self, host):
        self.host, self.before = host, documents(host)

    def equals(self, spam, ham, what):
        now = documents(self.host)
        equal((now[0] - self.before[0], now[1] - self.before[1]), (spam, ham), what)


def test_a_move_into_junk_is_spam_and_out_of_it_ham(host):
    mail, learned = host.mail("spam"), Learned(host)
    with Mailbox(host) as box:
        box.store("INBOX", mail)
        learned.equals(0, 0, "delivered")
        box.move(mail, "INBOX", "Junk")
        learned.equals(1, 0, "into Junk")
        box.move(mail, "Junk", "INBOX")
        learned.equals(0, 1, "out of Junk: the same document")
        box.move(mail, "INBOX", "Junk")
        learned.equals(1, 0, "and into it again")
    holds("Error" not in host.dovecot.log(), host.dovecot.log())


def test_other_ways_into_junk(host):
    mails, learned = [host.mail("spam") for _ in range(2)], Learned(host)
    with Mailbox(host) as box:
        box.store("INBOX", mails[0])
        box.move(mails[0], "INBOX", "Junk", command="COPY")
        learned.equals(1, 0, "a copy")
        box.store("Junk", mails[1])
        learned.equals(2, 0, "an upload")


def test_what_is_thrown_away_stays_spam(host):
    mails, learned = [host.mail("spam") for _ in range(4)], Learned(host)
    with Mailbox(host) as box:
        box.imap.create("Junk.2026")
        for mail in mails:
            box.store("Junk", mail)
        learned.equals(4, 0, "in Junk")
        box.move(mails[0], "Junk", "Trash")
        box.move(mails[1], "Junk", "Deleted Messages")  # \Trash of some mail programs
        box.move(mails[2], "Junk", "Junk.2026")
        box.expunge(mails[3], "Junk")
        learned.equals(4, 0, "in Trash, Deleted Messages, Junk.2026 and nowhere")


def test_moves_between_other_folders_teach_nothing(host):
    mail, learned = host.mail("ham"), Learned(host)
    with Mailbox(host) as box:
        box.imap.create("Friends")
        box.store("INBOX", mail)
        box.move(mail, "INBOX", "Friends")
        box.move(mail, "Friends", "Trash")
        learned.equals(0, 0, "never in Junk")


def test_a_move_corrects_what_was_trained_from_the_maildir(host):
    """The Maildir has LF, Dovecot sends CRLF: both are the same document."""
    mails, learned = {kind: host.mail(kind) for kind in ("spam", "ham")}, Learned(host)
    home = os.path.join(host.dovecot.homes, "fresh@example.net", "Maildir")
    for folder, mail in (("", mails["ham"]), (".Junk", mails["spam"])):
        for part in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(home, folder, part))
        with open(os.path.join(home, folder, "cur", "1.test:2,"), "wb") as file:
            file.write(mail)
    host.run([host.bayesc, "train", "--url", host.url, "--label", "ham", "--folder", "Junk=spam",
              "--recursive", home], status=0)
    learned.equals(1, 1, "trained from the Maildir")
    with Mailbox(host) as box:
        box.store("INBOX", mails["ham"])
        box.move(mails["ham"], "INBOX", "Junk")
        learned.equals(2, 0, "the ham of the Maildir is spam now, and no document more")
        box.store("Junk", mails["spam"])
        learned.equals(2, 0, "the spam is known")
        box.move(mails["spam"], "Junk", "INBOX")
        learned.equals(1, 1, "the spam of the Maildir is ham now")


def test_a_model_for_each_user(host):
    """With the name that user_map gives to Dovecot's login name, and to the addresses that the mail server asks for."""
    learned = Learned(host)
    users = host.write("users", f"{USER} gbob\nsales@example.net gbob\n")
    write_script(host, {"#exec curl": "exec curl"})
    try:
        for options, model in (({}, "mail-" + USER), ({"user_map": users}, "mail-gbob")):
            host.start_bayesd(user_model="mail-%u", **options)
            mail = host.mail("spam")
            with Mailbox(host) as box:
                box.store("INBOX", mail)
                box.move(mail, "INBOX", "Junk")
                equal(documents(host, model), (1, 0), "the user's model")
                box.move(mail, "Junk", "INBOX")
                equal(documents(host, model), (0, 1), "the user's model")
        host.http.post("/learnspam", host.mail("spam"), **{"Deliver-To": "<Sales@example.net>"}).ok()
        equal(documents(host, "mail-gbob"), (1, 1), "what an alias teaches")
        learned.equals(0, 0, "the model of all")
    finally:
        write_script(host, {})


def test_marked_mail_is_delivered_into_junk(host):
    mails = {kind: host.mail(kind) for kind in ("spam", "ham")}
    learned = Learned(host)
    with Mailbox(host) as box:
        for kind, folder in (("spam", "Junk"), ("ham", "INBOX")):
            marked = host.run([host.bayesc, "filter", "--url", host.url], mails[kind], status=0)[1]
            holds(marked.startswith(b"X-Bayes-Status: "), f"the filter's header in {marked}")
            host.run(["/usr/lib/dovecot/dovecot-lda", "-c", host.configuration, "-d", USER], marked, status=0)
            equal(len(box.numbers(folder, mails[kind])), 1, f"{kind} in {folder}")
        learned.equals(0, 0, "a delivery teaches nothing")
        box.move(mails["spam"], "Junk", "INBOX")
        learned.equals(0, 1, "out of Junk")


def test_without_bayesd_the_move_succeeds(host):
    mail, learned = host.mail("spam"), Learned(host)
    host.stop_bayesd()
    with Mailbox(host) as box:
        box.store("INBOX", mail)
        box.move(mail, "INBOX", "Junk")
        box.move(mail, "Junk", "INBOX")
        box.move(mail, "INBOX", "Junk")
    holds(re.search(r"bayesc: .*connect", host.dovecot.log()), "the log does not say why:\n" + host.dovecot.log())
    host.start_bayesd()
    learned.equals(0, 0, "while bayesd was away")
    maildir = os.path.join(host.dovecot.homes, USER, "Maildir")
    host.run([host.bayesc, "train", "--url", host.url, "--label", "ham", "--folder", "Junk=spam",
              "--recursive", maildir], status=0)
    with Mailbox(host) as box:
        missed = Learned(host)
        box.move(mail, "Junk", "INBOX")
        missed.equals(-1, 1, "what was missed has been learned from the Maildir")


def test_a_bayesd_that_hangs_does_not_keep_the_move(host):
    mail = host.mail("spam")
    host.daemon.signal(signal.SIGSTOP)
    try:
        with Mailbox(host) as box:
            box.store("INBOX", mail)
            box.move(mail, "INBOX", "Junk")
    finally:
        host.daemon.signal(signal.SIGCONT)
    holds("non-zero exit code 124" in host.dovecot.log(), "timeout has not ended bayesc:\n" + host.dovecot.log())
