# SPDX-License-Identifier: Apache-2.0
"""spamc, SpamAssassin's client, against bayesd: every command, alone and in procmail."""
import re

import maildir
import mails
from harness import equal, holds

REQUIRED = 5.0  # [filter] spamd_required_score
SPAM, HAM = 1, 0  # exit statuses of -c and -E
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h


def prepare(host):
    host.options = host.write("spamc.conf", host.integration(
        "spamc/spamc.conf", {"-p 8763": f"-p {host.port}"}))
    host.path("home", "Maildir")
    host.write("home/procmailrc", host.integration("spamc/procmailrc", {
        "$HOME": host.path("home"), "/usr/bin/spamc": "/usr/bin/spamc -F " + host.options}))


def spamc(host, mail, *arguments, status=0):
    """What spamc prints."""
    return host.run(["spamc", "-F", host.options, *arguments], mail, status=status)[1]


def score(line):
    found = re.fullmatch(r"(-?\d+\.\d)/(\d+\.\d)", line)
    holds(found, f"score {line!r}")
    equal(float(found.group(2)), REQUIRED, "required score")
    return float(found.group(1))


def fields(content, name):
    """The values of a header field, unfolded."""
    header = re.sub(r"\n[ \t]+", " ", content.split(b"\n\n", 1)[0].decode())
    return re.findall(rf"^{name}: (.*)$", header, re.M)


def stripped(content):
    """The mail without the header fields of spam filters."""
    header, text = content.split(b"\n\n", 1)
    header = re.sub(rb"^X-(Spam|Bayes)-[^\n]*(\n[ \t][^\n]*)*\n", b"", header + b"\n", flags=re.M)
    return header + b"\n" + text


def labels(host, model="mail"):
    found = host.http.get(f"/v1/models/{model}").ok().json["labels"]
    return tuple(found.get(name, {"documents": 0})["documents"] for name in ("spam", "ham"))


def test_check(host):
    holds(score(spamc(host, host.mail("spam"), "-c", status=SPAM).decode().strip()) >= REQUIRED, "spam")
    holds(score(spamc(host, host.mail("ham"), "-c", status=HAM).decode().strip()) < REQUIRED, "ham")


def marked(content, mail, is_spam):
    """Checks that the mail is unchanged except for the header fields of the verdict."""
    equal(stripped(content), mail, "the mail without its new header fields")
    equal(fields(content, "X-Spam-Flag"), ["YES"] if is_spam else [])
    status = fields(content, "X-Spam-Status")
    equal(len(status), 1, f"X-Spam-Status in {content}")
    found = re.match(r"(Yes|No), score=(-?\d+\.\d) required=5\.0 tests=(.*?) autolearn=no ", status[0])
    holds(found, status[0])
    equal(found.group(1), "Yes" if is_spam else "No")
    equal(float(found.group(2)) >= REQUIRED, is_spam, "score")
    names = found.group(3).replace(" ", "").split(",")
    holds(("BAYES_SPAM" if is_spam else "BAYES_HAM") in names, f"tests in {status[0]}")


def test_filter(host):
    for kind, status in (("spam", SPAM), ("ham", HAM)):
        for options, want in (((), 0), (("-E",), status), (("--headers",), 0)):
            mail = host.mail(kind)
            marked(spamc(host, mail, *options, status=want), mail, kind == "spam")


def test_forged_header_is_taken_out(host):
    forged = ("X-Spam-Status: No, score=-9.9 required=5.0 tests=NONE", "X-Spam-Flag: NO")
    mail = host.mail("spam", forged)
    marked(spamc(host, mail), stripped(mail), True)


def test_names_and_reports(host):
    names = spamc(host, host.mail("spam"), "-y").decode().strip().split(",")
    holds("BAYES_SPAM" in names, str(names))
    report = spamc(host, host.mail("spam"), "-R").decode()
    holds(score(report.splitlines()[0]) >= REQUIRED and "BAYES_SPAM" in report, report)
    holds("BAYES_SPAM" in spamc(host, host.mail("spam"), "-r").decode(), "report of spam")
    equal(spamc(host, host.mail("ham"), "-r"), b"", "no report of ham")


def test_gtube(host):
    spamc(host, mails.build("gtube", "Tester", "Test", [mails.GTUBE]), "-c", status=SPAM)


def test_ping(host):
    holds(spamc(host, b"", "-K").startswith(b"SPAMD/"), "ping")


def test_learning(host):
    mail, (spam, ham) = host.mail("spam"), labels(host)
    done, known = b"Message successfully un/learned", b"Message was already un/learned"
    for kind, said, now in (("spam", done, (spam + 1, ham)), ("spam", known, (spam + 1, ham)),
                            ("ham", done, (spam, ham + 1)),
                            ("forget", done, (spam, ham)), ("forget", known, (spam, ham))):
        holds(said in spamc(host, mail, "-L", kind), f"-L {kind}")
        equal(labels(host), now, f"(spam, ham) after -L {kind}")


def test_reporting(host):
    """What the model of all learns is reported, also to spamc; a mail that is revoked was reported."""
    host.start_bayesd(model="reported")
    mail = host.mail("spam")
    done, none = b"Message successfully reported/revoked", b"Unable to report/revoke message"
    for command, said, now in (("report", done, (1, 0)), ("report", done, (1, 0)), ("revoke", done, (0, 1)), ("revoke", none, (0, 1))):
        holds(said in spamc(host, mail, "-C", command), f"-C {command}")
        equal(labels(host, "reported"), now, f"(spam, ham) after -C {command}")
    host.start_bayesd(user_model="mail-%u")
    holds(none in spamc(host, mail, "-u", "reporter@example.net", "-C", "report"), "a user's own model is the user's alone")
    equal(labels(host, "mail-reporter@example.net"), (1, 0))


def test_a_user_with_a_model_of_his_own(host):
    host.start_bayesd(user_model="mail-%u")
    mail, before = host.mail("spam"), labels(host)
    spamc(host, mail, "-u", "User@Example.NET", "-L", "spam")
    equal(labels(host, "mail-user@example.net"), (1, 0))
    equal(labels(host), before, "the model of all")
    spamc(host, mail, "-u", "user@example.net", "-c", status=SPAM)  # by the common model, until the user's is ready


def test_a_mail_over_the_limit_is_not_sent(host):
    mail = host.mail("spam") + b"free casino pills\n" * 300000
    equal(spamc(host, mail), mail)


def test_too_little_training(host):
    host.start_bayesd(model="fresh")
    mail = host.mail("spam")
    content = spamc(host, mail, "-E", status=HAM)
    equal((stripped(content), fields(content, "X-Spam-Flag")), (mail, []))
    holds("BAYES_NOT_READY" in fields(content, "X-Spam-Status")[0], content)


def filed(host, mail):
    host.run(["procmail", "-m", host.path("home") + "/procmailrc"], mail, status=0)
    return maildir.the_one(host.path("home", "Maildir"), mail)


def test_procmail(host):
    for kind, want in (("spam", ".Junk"), ("ham", "")):
        mail = host.mail(kind) + b"\n"  # procmail adds an empty line to any other mail
        folder, content = filed(host, mail)
        equal(folder, want, kind)
        marked(content, mail, kind == "spam")


def test_without_bayesd(host):
    host.stop_bayesd()
    mail = host.mail("spam") + b"\n"
    for options in ((), ("-E",), ("--headers",)):
        equal(spamc(host, mail, *options), mail, f"the mail as it was with {options}")
    equal(spamc(host, mail, "-c"), b"0/0\n")
    for options in (("-x",), ("-K",), ("-L", "spam")):
        spamc(host, mail, *options, status=UNAVAILABLE)
    equal(filed(host, mail), ("", mail), "procmail")
