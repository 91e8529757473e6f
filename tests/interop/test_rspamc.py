# SPDX-License-Identifier: Apache-2.0
"""rspamc, rspamd's command line client, against bayesd: scanning, learning, figures, failures."""
import json
import re

import mails
from harness import TAG_ONLY, equal, holds

REJECT_SCORE = 15.0  # [filter] required_score


def rspamc(host, *arguments, mail=b"", status=0):
    """What rspamc prints, as text."""
    return host.run(["rspamc", "-h", f"127.0.0.1:{host.port}", *arguments], mail, status=status)[1].decode()


def field(report, name):
    found = re.findall(rf"^{name}: (.*)$", report, re.M)
    equal(len(found), 1, f"lines {name!r} in {report}")
    return found[0]


def symbols(report):
    """{name: score} of the lines 'Symbol: NAME (score)[...]'."""
    return {name: float(score) for name, score in re.findall(r"^Symbol: (\w+) \((-?[0-9.]+)\)", report, re.M)}


def verdict(report):
    """(action, is spam, score)"""
    score, required = field(report, "Score").split(" / ")
    equal(float(required), REJECT_SCORE, "required score")
    return field(report, "Action"), field(report, "Spam"), float(score)


def labels(host, model="mail"):
    found = host.http.get(f"/v1/models/{model}").ok().json["labels"]
    return tuple(found.get(name, {"documents": 0})["documents"] for name in ("spam", "ham"))


def test_spam(host):
    mail = host.mail("spam")
    for options in ((), ("-z",)):  # plain, and compressed with zstd
        report = rspamc(host, *options, mail=mail)
        action, spam, score = verdict(report)
        equal((action, spam), ("reject", "true"), report)
        holds(score >= REJECT_SCORE, f"score {score}")
        holds("BAYES_SPAM" in symbols(report), report)
        holds(abs(sum(symbols(report).values()) - score) < 0.1, f"symbols make up the score: {report}")
        equal(field(report, "Message-ID"), re.search(rb"^Message-ID: <(.*)>", mail, re.M).group(1).decode())


def test_ham(host):
    for options in ((), ("-z",)):
        report = rspamc(host, *options, mail=host.mail("ham"))
        action, spam, score = verdict(report)
        equal((action, spam, score < 0), ("no action", "false", True), report)
        holds("BAYES_HAM" in symbols(report), report)


def test_spam_below_reject_is_marked(host):
    host.start_bayesd(**TAG_ONLY)
    action, spam, score = verdict(rspamc(host, mail=host.mail("spam")))
    equal((action, spam), ("add header", "true"))
    holds(0 < score < REJECT_SCORE, f"score {score}")


def test_rewritten_subject(host):
    host.start_bayesd(reject=1, rewrite_subject=0.95)
    mail = host.mail("spam")
    reply = json.loads(rspamc(host, "--json", mail=mail))
    subject = re.search(rb"^Subject: (.*)$", mail, re.M).group(1).decode()
    equal((reply["action"], reply["subject"]), ("rewrite subject", "***SPAM*** " + subject))


def test_gtube(host):
    report = rspamc(host, mail=mails.build("gtube", "Tester", "Test", [mails.GTUBE]))
    equal(field(report, "Action"), "reject", report)
    holds("GTUBE" in symbols(report), report)


def test_files_and_the_reply_as_json(host):
    paths = [host.write(f"scan/{kind}.eml", host.mail(kind)) for kind in ("spam", "ham")]
    report = rspamc(host, *paths)
    equal(sorted(re.findall(r"^Action: (.*)$", report, re.M)), ["no action", "reject"], report)
    reply = json.loads(rspamc(host, "--json", paths[1]))
    equal(reply["milter"]["remove_headers"], {"X-Bayes-Status": 0}, "what a forger has written goes")
    holds(re.fullmatch(r"ham, probability=[01]\.\d{4}, model=mail",
                       reply["milter"]["add_headers"]["X-Bayes-Status"]), str(reply["milter"]))


def test_mail_with_headers(host):
    for kind, action in (("spam", "reject"), ("ham", "no action")):
        mail = host.mail(kind)
        out = rspamc(host, "-m", mail=mail).encode()
        header, body = out.split(b"\n\n", 1)
        before, text = mail.split(b"\n\n", 1)
        holds(header.startswith(before), f"the mail's own header: {header!r}")
        equal(body.rstrip(b"\n"), text.rstrip(b"\n"), "the mail's text")
        equal(field(header.decode(), "X-Spam-Action"), action)
        equal(b"\nX-Spam: yes" in header, kind == "spam", kind)


def test_learning(host):
    mail = host.mail("spam")
    spam, ham = labels(host)
    holds("success = true" in rspamc(host, "learn_spam", mail=mail), "learned")
    equal(labels(host), (spam + 1, ham))
    identity = re.search(rb"^Message-ID: (.*)$", mail, re.M).group(1).decode()
    holds(f"{identity} has been already learned as spam, ignore it" in rspamc(host, "learn_spam", mail=mail),
          "learned twice; rspamc then ends with 0")
    equal(labels(host), (spam + 1, ham))
    holds("success = true" in rspamc(host, "-z", "learn_ham", mail=mail), "learned as the other")
    equal(labels(host), (spam, ham + 1), "a document has one label")
    rspamc(host, "-E", "learn_spam", status=1)
    equal(labels(host), (spam, ham + 1), "an empty body")


def test_a_user_with_a_model_of_his_own(host):
    """Until a user's model is ready, the common model judges their mail."""
    host.start_bayesd(user_model="mail-%u")
    before = labels(host)
    for number in range(10):
        rspamc(host, "-d", "User@Example.NET", "learn_ham", mail=host.mail("spam"))
        rspamc(host, "-d", "User@Example.NET", "learn_spam", mail=host.mail("ham"))
        if number == 0:
            equal(field(rspamc(host, "-d", "user@example.net", mail=host.mail("spam")), "Action"), "reject")
    equal(labels(host, "mail-user@example.net"), (10, 10))
    equal(labels(host), before, "the model of all")
    holds("BAYES_HAM" in symbols(rspamc(host, "-d", "user@example.net", mail=host.mail("spam"))),
          "the user's own taste")
    report = rspamc(host, "-d", "other@example.net", mail=host.mail("spam"))
    holds("BAYES_SPAM" in symbols(report), f"another user's: {report}")


def test_too_little_training(host):
    host.start_bayesd(model="fresh")
    report = rspamc(host, mail=host.mail("spam"))
    equal(verdict(report), ("no action", "false", 0.0), report)
    equal(list(symbols(report)), ["BAYES_NOT_READY"], report)


def test_figures(host):
    spam, ham = labels(host)
    rspamc(host, mail=host.mail("spam"))
    report = rspamc(host, "stat")
    equal(int(field(report, "Total learns")), spam + ham, report)
    holds(int(field(report, "Messages scanned")) >= 1, report)
    holds(f"learned: {spam};" in report and f"learned: {ham};" in report, report)
    holds("Uptime" in rspamc(host, "uptime"), "uptime")


def test_without_bayesd(host):
    host.stop_bayesd()
    mail = host.mail("spam")
    for command in ((), ("learn_spam",), ("stat",)):
        holds("Connection refused" in rspamc(host, *command, mail=mail, status=1), f"rspamc {command}")
    out = rspamc(host, "-m", mail=mail, status=1)
    holds(out.startswith(mail.split(b"\n\n")[0].decode()), f"the mail comes out all the same: {out}")
    holds("\nX-Spam-Error: " in out and "\nX-Spam: " not in out, out)


def test_what_is_not_supported_is_refused(host):
    """As the pages say: nothing looks as if it had been done."""
    mail, before = host.mail("spam"), labels(host)
    for command in ("counters", "stat_reset", "fuzzy_add", "fuzzy_del"):
        said = rspamc(host, command, mail=mail, status=1)
        holds("HTTP error: 404" in said, f"{command}: {said}")
    equal(labels(host), before, "nothing is learned")
