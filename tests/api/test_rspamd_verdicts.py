# SPDX-License-Identifier: Apache-2.0
"""What rspamd's clients are told about a mail, and what they teach: thresholds, scores, symbols,
subjects, users' models, receipts."""
import math
import re

import rspamd
from harness import equal, holds
from prometheus import parse
from rspamd import CHECKS, LEARNS, GTUBE, ask, check, documents, error, ham, learn, probability, spam, taught, verdict_of
from wire import Wire

VALGRIND = True
SENTENCE = "<{}> has been already learned as {}, ignore it"


# ---- learning -----------------------------------------------------------------------------------
def test_learning(api):
    daemon = api.another().start()
    for label, mail, id in (("spam", spam(1), "s1@spam.example"), ("ham", ham(1), "h1@club.example")):
        reply = learn(daemon, label, mail).ok()
        equal((reply.json, reply.headers["content-type"]), ({"success": True}, "application/json"))
        reply = learn(daemon, label, mail)
        equal((reply.status, reply.json), (208, {"error": SENTENCE.format(id, label)}))
    equal(documents(daemon), {"spam": 1, "ham": 1})
    learn(daemon, "ham", spam(1)).ok()
    equal(documents(daemon), {"ham": 2}, "learned as ham, after all")
    equal(learn(daemon, "ham", spam(1)).status, 208)
    learn(daemon, "spam", spam(1)).ok()
    equal(documents(daemon), {"spam": 1, "ham": 1})
    daemon.stop()


def test_learning_by_class(api):
    """rspamc learn_class:LABEL: any label, those of learnspam and learnham by rspamd's names."""
    daemon = api.another(config={"filter": {"ham_label": "good", "spam_labels": "junk"}}).start()

    def by_class(label, mail):
        return ask(daemon, "/learnclass", mail, [("Class", label)])
    equal(by_class("newsletter", ham(1)).ok().json, {"success": True})
    by_class("spam", spam(1)).ok()
    by_class("ham", ham(2)).ok()
    equal(documents(daemon), {"newsletter": 1, "junk": 1, "good": 1})
    reply = by_class("newsletter", ham(1))
    equal((reply.status, reply.json), (208, {"error": SENTENCE.format("h1@club.example", "newsletter")}))
    by_class("newsletter", spam(1)).ok()
    equal(documents(daemon), {"newsletter": 2, "good": 1}, "it changes sides")
    for reply, status, word in ((ask(daemon, "/learnclass", ham(3)), 400, "Class"), (by_class("", ham(3)), 422, "label"),
                                (by_class("a" * 65, ham(3)), 422, "64"), (by_class("newsletter", b""), 400, "Empty body")):
        error(reply, status, word)
    equal(documents(daemon), {"newsletter": 2, "good": 1})
    equal(daemon.client.get("/bayes/classifiers").ok().json, ["mail"])
    daemon.stop()


def test_names_of_what_was_learned(api):
    """The mail's Message-ID in rspamd's sentence, on one line and without angle brackets."""
    daemon = api.another().start()
    for field, name in (("", "undef"), ("Message-ID: <a@b>\n", "a@b"), ("MESSAGE-ID:c@d\n", "c@d"), ("Message-ID:\n <e@f>\n", "e@f"),
                        ("Message-ID: <g\n\t@h>\n", "g @h"), ('Message-ID: <"i\\">@j>\n', '"i\\">@j'), ("Message-ID: <>\n", "undef"),
                        ("Message-ID: <" + "k" * 3000 + ">\n", "k" * 998)):
        mail = (field + f"Subject: {name}\n\ntext\n").encode()
        learn(daemon, "spam", mail).ok()
        equal(learn(daemon, "spam", mail).json, {"error": SENTENCE.format(name, "spam")})
    mail = b"Message-ID: <\xff\x01\x7f\xc3\xa4>\n\ntext\n"
    learn(daemon, "ham", mail).ok()
    said = learn(daemon, "ham", mail).json["error"]
    holds(said.isprintable() or "\ufffd" in said, repr(said))
    holds("\u00e4> has been already learned as ham, ignore it" in said, repr(said))
    daemon.stop()


def forms(mail):
    """A mail as one program or another hands it over."""
    crlf = mail.replace(b"\n", b"\r\n")
    pseudo = b"From MAILER-DAEMON Fri Nov 20 20:21:20 2026\nX-Envelope-From: <a@b>\nX-Envelope-To: c@d,\te@f\n"
    return [mail, crlf, b"From a@b Fri Nov 20 20:21:20 2026\n" + mail, b"From a@b Fri Nov 20 20:21:20 2026\r\n" + crlf,
            pseudo + mail, pseudo.replace(b"\n", b"\r\n") + crlf]


def test_one_mail_in_many_forms(api):
    """Is one document, however it comes; and has one verdict."""
    daemon = taught(api)
    reports = [verdict_of(check(daemon, form)) for form in forms(spam())]
    for report in reports[1:]:
        equal(report, reports[0])
    before = documents(daemon)
    mail = ham("in many forms")
    learn(daemon, "ham", mail).ok()
    for form in forms(mail):
        equal(learn(daemon, "ham", form).status, 208, form[:60])
    equal(documents(daemon), {**before, "ham": before["ham"] + 1})
    # What was learned through the daemon's own interface is known here, and the other way round.
    equal(learn(daemon, "spam", spam(1)).status, 208)
    receipt = daemon.client.post(rspamd.MAIL + "/train?label=ham", mail, "message/rfc822").ok().json
    equal(receipt["status"], "unchanged")
    daemon.stop()


def test_without_auto_create(api):
    daemon = api.another(config={"models": {"auto_create": "no"}}).start()
    for path in LEARNS:
        error(ask(daemon, path, spam()), 404, "mail")
    equal(list(check(daemon, spam())["symbols"]), ["BAYES_NOT_READY"])
    daemon.client.put(rspamd.MAIL, {"preset": "mail"}).ok(201)
    learn(daemon, "spam", spam()).ok()
    daemon.stop()


# ---- too little training ------------------------------------------------------------------------
def not_ready(daemon, word, mail=None):
    report = check(daemon, mail or spam())
    equal((report["action"], report["score"], list(report["symbols"])), ("no action", 0, ["BAYES_NOT_READY"]))
    holds(word in report["symbols"]["BAYES_NOT_READY"]["description"], report["symbols"])
    holds("unsure, probability=0.5000, model=mail, " in report["milter"]["add_headers"]["X-Bayes-Status"], report["milter"])


def test_too_little_training(api):
    daemon = api.another().start()
    not_ready(daemon, "nothing")
    for number in range(3):
        learn(daemon, "spam", spam(number)).ok()
        not_ready(daemon, "another label")
    # One document of another label is enough: few documents do not make sure.
    for number in range(3):
        learn(daemon, "ham", ham(number)).ok()
        bad, good = check(daemon, spam(7)), check(daemon, ham(7))
        for report in (bad, good):
            holds("BAYES_NOT_READY" not in report["symbols"], report["symbols"])
        equal(good["action"], "no action")
        holds(bad["action"] == "no action" or (number == 2 and bad["action"] == "add header"), bad)
        holds(bad["score"] > good["score"], (bad, good))
    verdict = daemon.client.post(f"{rspamd.MAIL}/classify", spam(7), "message/rfc822").ok().json
    equal((verdict["ready"], verdict["missing"], verdict["documents"]),
          (False, "label 'ham' has 3 of 10 documents", {"ham": 3, "spam": 3}))
    daemon.stop()


def test_only_ham(api):
    daemon = api.another().start()
    for number in range(12):
        learn(daemon, "ham", ham(number)).ok()
    not_ready(daemon, "spam_labels")
    daemon.stop()


def test_much_spam_and_little_ham(api):
    """The share that was trained is not the share that arrives: what is new is not called spam."""
    daemon = api.another().start()
    for number in range(60):
        learn(daemon, "spam", spam(number)).ok()
    for number in range(3):
        learn(daemon, "ham", ham(number)).ok()
        new = b"Subject: order\nFrom: Carol <carol@shop.example>\n\nYour order of today, number 7: we meet the date.\n"
        for mail in (new, ham(70)):
            report = check(daemon, mail)
            equal(report["action"], "no action", report)
            holds("BAYES_SPAM" not in report["symbols"], report["symbols"])
    daemon.stop()


def mistype(daemon, label, number):
    """One mail with a label that the filter does not know; the model has another label from then on."""
    daemon.client.post(f"{rspamd.MAIL}/train?label={label}", spam(number), "message/rfc822").ok()


def probability_told(daemon):
    """Of spam, of a mail that is spam, as a client is told."""
    said = check(daemon, spam())["milter"]["add_headers"]["X-Bayes-Status"]
    holds(not said.startswith("ham"), said)
    return float(re.search(r"probability=([\d.]+)", said)[1])


def test_other_spam_under_a_mistyped_label(api):
    """Three in a row, of another kind: that spam is spam does not change."""
    daemon = taught(api)
    before = probability_told(daemon)
    rows = [{"mail": phishing(number).decode(), "label": "Spam"} for number in range(3)]
    equal(daemon.client.post(f"{rspamd.MAIL}/train", {"documents": rows}).ok().json["failed"], 0)
    holds(probability_told(daemon) > 0.95 and before > 0.95, (before, probability_told(daemon)))
    daemon.stop()


def test_a_label_of_others_does_not_turn_the_filter_off(api):
    """Spam is judged against all other labels."""
    daemon = taught(api)
    mistype(daemon, "Spam", 99)
    bad, good = check(daemon, spam()), check(daemon, ham())
    equal((bad["action"], good["action"]), ("add header", "no action"))
    for report in (bad, good):
        holds("BAYES_NOT_READY" not in report["symbols"], report["symbols"])
    # A verdict of the model is ready for the same reason.
    probability(daemon, spam())
    # A label that has three spam in a row does not take the rest of them, even if they have the same words.
    for number in (96, 97):
        mistype(daemon, "Spam", number)
    p = probability_told(daemon)
    holds(p > 0.5 > probability(daemon, spam()), p)  # the model thinks it may be Spam
    holds(check(daemon, ham())["milter"]["add_headers"]["X-Bayes-Status"].startswith("ham, "), "ham is spam")
    daemon.stop()
    # Other labels of [filter]: the model is not one of mail filtering, all of its labels count for `ready`, and the filter
    # judges by those that there are.
    daemon = api.another(data=daemon.data, config={"filter": {"spam_labels": "Spam"}}).start()
    holds("BAYES_NOT_READY" not in check(daemon, spam())["symbols"], "three of spam are few")
    verdict = daemon.client.post(f"{rspamd.MAIL}/classify", spam(), "message/rfc822").ok().json
    equal((verdict["ready"], verdict["missing"]), (False, "label 'Spam' has 3 of 10 documents"))
    daemon.stop()
    daemon = api.another(data=daemon.data, config={"filter": {"ham_label": "good"}}).start()
    holds("BAYES_NOT_READY" not in check(daemon, spam())["symbols"], "there is another label than spam's")
    verdict = daemon.client.post(f"{rspamd.MAIL}/classify", spam(), "message/rfc822").ok().json
    equal((verdict["ready"], verdict["missing"]), (False, "label 'Spam' has 3 of 10 documents"))
    daemon.stop()


# ---- several labels of spam ---------------------------------------------------------------------
def phishing(number=0):
    return (f"From: Bank <alert{number}@bank.example>\nTo: bob@example.net\nSubject: your account is locked\n"
            f"Message-ID: <p{number}@bank.example>\n\n"
            f"Sign in and confirm your password within a day, case {number}:\nhttp://bank.example/login\n").encode()


def newsletter(number=0):
    return (f"From: Shop <news{number}@shop.example>\nTo: bob@example.net\nSubject: our spring collection\n"
            f"Message-ID: <n{number}@shop.example>\n\n"
            f"New shoes and coats have arrived, issue {number}; unsubscribe below.\nhttp://shop.example/spring\n").encode()


def of_four(api, number=12):
    """A store whose model has spam, ham, phishing and newsletter."""
    daemon = api.another().start()
    rspamd.teach(daemon)
    for make in (phishing, newsletter):
        for i in range(1, number + 1):
            daemon.client.post(f"{rspamd.MAIL}/train?label={make.__name__}", make(i), "message/rfc822").ok()
    daemon.stop()
    return daemon.data


def told(daemon, mail):
    """(status, probability of spam) in the header field that the mail gets."""
    text = check(daemon, mail)["milter"]["add_headers"]["X-Bayes-Status"]
    status, p = re.match(r"(\w+), probability=([\d.]+)", text).groups()
    return status, 1 - float(p) if status == "ham" else float(p)


def caution(p, bad, others):
    """As server/mail/filter_report.h has it."""
    if bad <= others:
        return p
    odds = math.log(p / (1 - p)) - math.log(bad / others) * 20 / (20 + others)
    if odds > 0:
        odds /= math.sqrt(1 + 1.5 * (1 / others - 1 / bad) * odds * odds)
    return 1 / (1 + math.exp(-odds))


def test_the_labels_of_spam_are_summed(api):
    folder = of_four(api)
    for labels in ("spam", "spam, phishing", "phishing,spam", "newsletter , spam,phishing", "phishing"):
        daemon = api.another(data=folder, config={"filter": {"spam_labels": labels}}).start()
        bad = [label.strip() for label in labels.split(",")]
        for mail in (spam(), ham(), phishing(), newsletter(), spam() + phishing(), ham() + newsletter()):
            verdict = daemon.client.post(f"{rspamd.MAIL}/classify", mail, "message/rfc822").ok().json
            p = caution(sum(verdict["probabilities"][label] for label in bad), 12 * len(bad), 12 * (4 - len(bad)))
            got = told(daemon, mail)
            holds(abs(got[1] - p) < 1e-4, f"{labels}: {got} for {verdict['probabilities']}")
            report = check(daemon, mail)
            equal(report["action"] == "no action", p < 0.9, (labels, verdict["probabilities"]))
            holds(abs(sum(s["score"] for s in report["symbols"].values()) - report["score"]) < 1e-9, report)
            if p >= 0.9 and len(bad) > 1:
                best = max(bad, key=lambda label, v=verdict: v["probabilities"][label])
                equal(report["symbols"]["BAYES_SPAM"].get("options"), [best])
        learn(daemon, "spam", spam(99)).ok()
        first = daemon.client.get(rspamd.MAIL).ok().json["labels"][bad[0]]["documents"]
        equal(first, 13, "spam is learned under the first label")
        stat = daemon.client.get("/stat").ok().json
        spam_row = next(row for row in stat["statfiles"] if "SPAM" in row["symbol"])
        equal(spam_row["revision"], 12 * len(bad) + 1, "documents of all labels of spam")
        daemon.client.post(f"{rspamd.MAIL}/untrain", spam(99), "message/rfc822").ok()
        daemon.stop()


def test_actions_of_single_labels(api):
    folder = of_four(api)
    options = {"spam_labels": "spam, phishing, newsletter", "reject": 1,
               "label_actions": "phishing=reject, newsletter=no action"}
    daemon = api.another(data=folder, config={"filter": options}).start()
    equal([check(daemon, mail)["action"] for mail in (spam(), phishing(), newsletter(), ham())],
          ["add header", "reject", "no action", "no action"])
    equal([told(daemon, mail)[0] for mail in (spam(), phishing(), newsletter(), ham())], ["spam"] * 3 + ["ham"])
    got = daemon.client.post("/v1/classify", {"models": ["mail"], "mail": phishing().decode()}).ok().json
    equal(got["common"]["action"], "reject")
    daemon.stop()


def test_a_young_label_of_spam_does_not_take_over(api):
    """As long as it has few documents, spam and ham are judged as if they were alone; then it counts."""
    made = taught(api)
    for i in range(5):
        made.client.post(f"{rspamd.MAIL}/train?label=phishing", spam(200 + i), "message/rfc822").ok()
    alone, folder = told(made, spam()), made.data
    made.stop()
    daemon = api.another(data=folder, config={"filter": {"spam_labels": "phishing, spam"}}).start()
    equal(told(daemon, spam()), alone)
    holds("BAYES_NOT_READY" not in check(daemon, ham())["symbols"], "the label that is taught makes it ready")
    daemon.stop()


# ---- thresholds ---------------------------------------------------------------------------------
def with_thresholds(api, folder, **options):
    """A daemon on what another one has learned."""
    return api.another(data=folder, config={"filter": options}).start()


def asked(api, folder, mail, **options):
    daemon = with_thresholds(api, folder, **options)
    report = check(daemon, mail)
    old = ask(daemon, "/check", mail).ok().json["default"]
    equal([old[key] for key in ("action", "score", "required_score")], [report[key] for key in ("action", "score", "required_score")])
    equal(old["is_spam"], report["action"] != "no action")
    daemon.stop()
    return report


def verdict_symbol(report):
    return next(iter(report["symbols"]))


def test_actions_at_their_thresholds(api):
    """The probability that classify gives decides: at a threshold it is reached, below it is not."""
    made = taught(api)
    p, folder = probability(made, spam()), made.data
    made.stop()
    holds(0.5 < p < 1 - 1e-12, p)
    above = repr(math.nextafter(p, 2))
    at, off = repr(p), {"unsure": 0, "add_header": 1, "rewrite_subject": 1, "reject": 1}
    for options, action, symbol in (({"add_header": at}, "add header", "BAYES_SPAM"),
                                    ({"add_header": above}, "no action", "BAYES_UNSURE"),
                                    ({"unsure": at}, "no action", "BAYES_UNSURE"),
                                    ({"unsure": above}, "no action", "BAYES_HAM"),
                                    ({"rewrite_subject": at}, "rewrite subject", "BAYES_SPAM"),
                                    ({"rewrite_subject": above, "add_header": at}, "add header", "BAYES_SPAM"),
                                    ({"add_header": at, "rewrite_subject": at, "reject": at}, "reject", "BAYES_SPAM"),
                                    ({"rewrite_subject": at, "reject": above}, "rewrite subject", "BAYES_SPAM")):
        report = asked(api, folder, spam(), **{**off, **options})
        equal((report["action"], verdict_symbol(report)), (action, symbol), options)
    report = asked(api, folder, spam(), **{**off, "reject": at, "required_score": 7.3})
    equal((report["score"], report["required_score"], report["messages"]), (7.3, 7.3, {"smtp_message": "Spam message rejected"}))
    report = asked(api, folder, spam(), **{**off, "reject": above, "required_score": 7.3})
    holds(7.2 < report["score"] <= 7.3, report["score"])
    report = asked(api, folder, spam(), **off)
    equal(report["action"], "no action", "1 means never")


def test_scores_are_linear_in_the_log_odds(api):
    made = taught(api)
    mails = [spam(), ham(), b"Subject: unheard\n\nvocables only\n", spam() + ham()]
    probabilities = [probability(made, mail) for mail in mails]
    folder = made.data
    made.stop()
    for reject, required in ((0.9999, 15), (0.75, 1), (0.51, 1000)):
        daemon = with_thresholds(api, folder, reject=reject, required_score=required)
        for mail, p in zip(mails, probabilities):
            want = required * (math.log(p) - math.log1p(-p)) / (math.log(reject) - math.log1p(-reject))
            got = check(daemon, mail)["score"]
            holds(abs(got - want) < 0.011, f"reject = {reject}: {got} for {want}")
        daemon.stop()


def test_symbols(api):
    """The verdict has the whole score, in two digits, and parts of the mail weigh nothing beside it (Postal adds them
    up); each has a description; the shapes agree."""
    daemon = taught(api)
    for mail in (spam(), ham(), b"Subject: unheard\n\nvocables only\n", b"\n\nX" + GTUBE):
        report = check(daemon, mail)
        (verdict, whole), *parts = report["symbols"].items()
        holds(verdict in ("BAYES_SPAM", "BAYES_UNSURE", "BAYES_HAM", "GTUBE"), verdict)
        equal((whole["score"], whole["metric_score"]), (report["score"],) * 2)
        equal(round(report["score"], 2), report["score"], "two digits")
        for name, part in parts:
            holds(name.startswith("BAYES_PART_") and part["score"] == 0 == part["metric_score"], (name, part))
            holds(re.fullmatch(r"[+-]\d+\.\d\d", part["options"][0]) and float(part["options"][0]) != 0, part)
        for path in CHECKS[1:]:
            old = ask(daemon, path, mail).ok().json
            inner = old["default"]
            symbols = {name: row for name, row in inner.items() if isinstance(row, dict)}
            equal(symbols, report["symbols"], path)
            equal(old.get("rmilter"), report["milter"], path)
            equal(old.get("message-id"), report.get("message-id"), path)
            equal(inner["is_skipped"], report["is_skipped"], path)
    holds(len(check(daemon, spam())["symbols"]) > 2, "no reasons")
    holds("watches" in rspamd.text_of(check(daemon, spam())["symbols"]), "no word is named")
    daemon.stop()


def test_status_header(api):
    """What classify says of the same mail; a forged one of the mail's own goes."""
    daemon = taught(api)
    for mail, status in ((spam(), "spam"), (ham(), "ham")):
        p = probability(daemon, mail)
        milter = check(daemon, b"X-Bayes-Status: ham, probability=1\n" + mail)["milter"]
        equal(milter["remove_headers"], {"X-Bayes-Status": 0})
        milter = check(daemon, mail)["milter"]
        shown = f"{p if status == 'spam' else 1 - p:.4f}"
        equal(milter, {"remove_headers": {"X-Bayes-Status": 0},
                       "add_headers": {"X-Bayes-Status": f"{status}, probability={shown}, model=mail"}})
    daemon.stop()


def test_message_ids(api):
    daemon = taught(api)
    equal(check(daemon, spam(7))["message-id"], "s7@spam.example")
    holds("message-id" not in check(daemon, b"Subject: x\n\ny\n"), "of a mail that has none")
    daemon.stop()


# ---- test mails ---------------------------------------------------------------------------------
def test_test_mails(api):
    """Need no training; the score follows the action."""
    for daemon in (api.another(config={"filter": {"test_patterns": "yes"}}).start(), taught(api, test_patterns="yes")):
        for first, action, least in (("X", "reject", 15), ("Y", "add header", None), ("Z", "rewrite subject", None), ("A", "no action", 0)):
            report = check(daemon, b"Subject: test\n\n" + first.encode() + GTUBE + b"\n")
            equal((report["action"], report["is_skipped"], list(report["symbols"])), (action, True, ["GTUBE"]))
            holds(report["score"] == least if least is not None else 0 < report["score"] < 15, report["score"])
            holds(report["milter"]["add_headers"]["X-Bayes-Status"].endswith(", model=mail, test mail"), report["milter"])
            equal(report.get("subject"), "***SPAM*** test" if first == "Z" else None)
        holds("GTUBE" not in check(daemon, b"\n\nQ" + GTUBE)["symbols"], "another letter in front")
        daemon.stop()


# ---- subjects -----------------------------------------------------------------------------------
def test_rewritten_subjects(api):
    daemon = taught(api, rewrite_subject=0)
    for field, subject in ((b"Subject: win\n", "***SPAM*** win"), (b"Subject: win\r\n more\r\n\tand more\r\n", "***SPAM*** win more and more"),
                           (b"Subject: =?UTF-8?B?w6RoZW0=?= x\n", "***SPAM*** =?UTF-8?B?w6RoZW0=?= x"),
                           ("Subject: f\u00fcr\n".encode(), "***SPAM*** f\u00fcr"), (b"Subject: a\x01\x02b\n", "***SPAM*** a  b"),
                           (b"Subject:\n", "***SPAM*** "), (b"From: a\n", "***SPAM*** "), (b"subject:x%s%n\n", "***SPAM*** x%s%n")):
        report = check(daemon, field + b"\nunheard\n")
        equal((report["action"], report["subject"]), ("rewrite subject", subject))
    subject = check(daemon, b"Subject: " + b"x" * 5000 + b"\n\nunheard\n")["subject"]
    holds(re.fullmatch(r"\*\*\*SPAM\*\*\* x{900,}", subject) and len(subject) <= 998, len(subject))
    # Bytes that are no UTF-8 are replaced: JSON has no others.
    holds(check(daemon, b"Subject: caf\xe9\n\nunheard\n")["subject"].startswith("***SPAM*** caf"), "8-bit")
    daemon.stop()


# ---- users' models ------------------------------------------------------------------------------
def test_users_have_a_parent(api):
    """No cliff: from the first mail that a user has learned on, the user's model answers, as its parent does at first."""
    daemon = taught(api, user_model="mail-%u", user_parent="mail-%d")
    bob = [("Deliver-To", "<Bob@Example.NET>")]
    model = "/v1/models/mail-bob@example.net"

    def probability(headers, mail):
        status = check(daemon, mail, headers)["milter"]["add_headers"]["X-Bayes-Status"]
        return float(status.split("probability=")[1].split(",")[0]), status.split("model=")[1]

    was, named = probability(bob, spam(3))
    equal((named, was), ("mail", probability([], spam(3))[0]))
    learn(daemon, "ham", ham(0), bob).ok()
    got, named = probability(bob, spam(3))
    equal(named, "mail-bob@example.net")
    holds(abs(got - was) < 0.05, f"{was} before the first mail, {got} after it")
    # A label of the user's own, of one mail, is no reason to judge spam otherwise.
    daemon.client.post(model + "/train?label=newsletter", b"Subject: weekly\n\nwhat is new\n", "message/rfc822").ok()
    holds(abs(probability(bob, spam(3))[0] - got) < 0.02, f"{got}, with a third label {probability(bob, spam(3))[0]}")
    parents = {name: daemon.client.get("/v1/models/" + name).ok().json["settings"]["parent"]
               for name in ("mail-bob@example.net", "mail-example.net", "mail")}
    equal(parents, {"mail-bob@example.net": "mail-example.net", "mail-example.net": "mail", "mail": None})
    for number in range(30):
        learn(daemon, "ham", spam(number), bob).ok()  # Bob wants what others loathe
        learn(daemon, "spam", ham(number), bob).ok()
    holds(probability(bob, spam(3))[0] < 0.5 < probability([], spam(3))[0], f"{probability(bob, spam(3))}, {was}")
    equal(daemon.client.get(model).json["documents"], 61)
    # A user without a domain.
    learn(daemon, "ham", ham(0), [("Deliver-To", "carol")]).ok()
    equal(daemon.client.get("/v1/models/mail-carol").ok().json["settings"]["parent"], "mail")
    daemon.stop()


def test_a_parent_that_cannot_be(api):
    """Learning goes on, and the log says why there is no parent."""
    daemon = api.another(config={"filter": {"user_model": "mail-%u", "user_parent": "texts"}}).start()
    daemon.client.put("/v1/models/texts", {"preset": "book"}).ok(201)
    learn(daemon, "ham", ham(0), [("Deliver-To", "bob")]).ok()
    equal(daemon.client.get("/v1/models/mail-bob").ok().json["settings"]["parent"], None)
    holds("gets no parent model=mail-bob" in daemon.output(), daemon.output())
    daemon.stop()


def test_nobody_makes_a_model_that_may_not(api):
    """What does not learn makes none; nor does auto_create = no."""
    daemon = api.another(config={"filter": {"user_model": "mail-%u", "user_parent": "mail"}, "models": {"auto_create": "no"}}).start()
    bob = [("Deliver-To", "bob")]
    equal(learn(daemon, "ham", ham(0), bob).status, 404)
    equal(daemon.client.get("/v1/models").json["models"], [])
    daemon.stop()
    daemon = api.another(config={"filter": {"user_model": "mail-%u", "user_parent": "mail"}}).start()
    check(daemon, ham(0), bob)
    equal(daemon.client.get("/v1/models").json["models"], [])
    forget = b"TELL SPAMC/1.5\r\nUser: bob\r\nRemove: local\r\nContent-length: %d\r\n\r\n%b" % (len(ham(0)), ham(0))
    with Wire(daemon) as wire:
        wire.send(forget)
        holds(wire.until(b"EX_OK\r\n\r\n\r\n") is not None, wire.rest)
    equal(daemon.client.get("/v1/models").json["models"], [], "there is nothing to forget")
    daemon.stop()


def test_models_of_users(api):
    daemon = taught(api, user_model="mail-%u")
    bob = [("Deliver-To", "<Bob@Example.NET>")]
    shared = documents(daemon)

    def asked_model(headers):
        header = check(daemon, spam(), headers)["milter"]["add_headers"]["X-Bayes-Status"]
        return header.split("model=")[1]

    equal(asked_model(bob), "mail")
    for number in range(10):
        learn(daemon, "spam", ham(number), bob).ok()  # Bob loathes the garden club
        equal(asked_model(bob), "mail", "with too little training")
        learn(daemon, "ham", spam(number), [("Deliver-To", "bob@example.net")]).ok()
    equal(learn(daemon, "ham", spam(0), bob).status, 208)
    equal(documents(daemon, "mail-bob@example.net"), {"spam": 10, "ham": 10})
    equal(documents(daemon), shared, "the model of all")
    for headers in (bob, [("deliver-to", "bob@example.net")]):
        equal(asked_model(headers), "mail-bob@example.net")
    equal(check(daemon, ham(), bob)["symbols"].keys() & {"BAYES_SPAM"}, {"BAYES_SPAM"})
    equal(check(daemon, ham())["symbols"].keys() & {"BAYES_HAM"}, {"BAYES_HAM"})
    for headers in ([], [("Deliver-To", "")], [("Deliver-To", "carol@example.net")], [("User", "bob@example.net")]):
        equal(asked_model(headers), "mail", headers)
    holds(abs(check(daemon, spam(), bob)["score"] - daemon_score(daemon, "mail-bob@example.net")) < 0.0051, "Bob's own")
    daemon.stop()


def daemon_score(daemon, model):
    p = probability(daemon, spam(), model)
    return 15 * (math.log(p) - math.log1p(-p)) / (math.log(0.9999) - math.log1p(-0.9999))


def test_users_of_one_name_only(api):
    """A metric tells of users who teach and are not asked for, and of those who only ask."""
    daemon = taught(api, user_model="mail-%u")

    def seen():
        metrics = parse(daemon.client.get("/metrics").ok().body.decode())
        return [metrics.value("bayesd_filter_users", seen=what) for what in ("taught", "asked", "both")]

    equal(seen(), [0, 0, 0])
    learn(daemon, "spam", spam("new")).ok()
    check(daemon, spam(1))
    equal(seen(), [0, 0, 0], "nobody's mail is of the common model")
    for _ in range(2):
        learn(daemon, "spam", spam(2), [("Deliver-To", "gbob")])
    equal(seen(), [1, 0, 0])
    check(daemon, spam(3), [("Rcpt", "gbob@example.org"), ("Rcpt", "ann@example.org")])
    equal(seen(), [1, 2, 0])
    learn(daemon, "ham", ham(4), [("Deliver-To", "Ann@example.org")]).ok()
    equal(seen(), [1, 1, 1])
    check(daemon, spam(5), [("Deliver-To", "GBOB")])
    equal(seen(), [0, 1, 2])
    daemon.stop()


def test_users_by_query(api):
    daemon = taught(api, user_model="mail-%u")
    for query, model in (("deliver-to=bob@example.net", "mail-bob@example.net"), ("Deliver-To=%3cCarol%40example.net%3E", "mail-carol@example.net"),
                         ("&".join(f"a{i}=1" for i in range(20)) + "&DELIVER-TO=dan", "mail-dan"), ("deliver-to=eve&deliver-to=fay", "mail-eve"),
                         ("deliver-to=", "mail")):
        before = documents(daemon, model) if model == "mail" else {}
        ask(daemon, "/learnspam?" + query, spam("by query")).ok()
        equal(documents(daemon, model).get("spam", 0), before.get("spam", 0) + 1, query)
    # The header field comes before the query.
    ask(daemon, "/learnspam?deliver-to=bob@example.net", spam("other"), [("Deliver-To", "gus")]).ok()
    equal(documents(daemon, "mail-gus"), {"spam": 1})
    equal(documents(daemon, "mail-bob@example.net"), {"spam": 1})
    daemon.stop()


def test_users_who_name_no_model(api):
    """Are judged by the model of all; but what they teach has no place."""
    daemon = taught(api, user_model="mail-%u")
    plain = verdict_of(check(daemon, spam()))
    before = daemon.client.get("/v1/models").json
    for user in ("../etc", "a b", "x/y", "a" * 200, "b\xf6b", "%u", "a,b", "<a", "*", "a\tb", "'; drop", "\x7f"):
        headers = [("Deliver-To", user)]
        equal(verdict_of(check(daemon, spam(), headers)), plain, user)
        for label in ("spam", "ham"):
            error(learn(daemon, label, spam("lost"), headers), 422, "user_model")
    equal(daemon.client.get("/v1/models").json, before)
    daemon.stop()


def several(api, **config):
    """A daemon with models of users: what is spam for Bob and Dan is ham for Carol, and the other way round."""
    daemon = api.another(config={"filter": {"user_model": "mail-%u"}, **config}).start()
    for model, labels in (("mail", ("spam", "ham")), ("mail-bob", ("spam", "ham")), ("mail-dan", ("spam", "ham")),
                          ("mail-carol", ("ham", "spam"))):
        rspamd.teach(daemon, model=model, labels=labels, count=11 + len(model) % 4)
    return daemon


def to(*users, field="Deliver-To"):
    return [(field, user) for user in users]


def test_a_mail_to_several_users(api):
    """The mildest of their models decides; the mail is not told whose that is."""
    daemon = several(api)

    def verdict(headers, mail=spam()):
        report = check(daemon, mail, headers)
        return report["action"], report["milter"]["add_headers"]["X-Bayes-Status"]
    alone = {user: verdict(to(user)) for user in ("bob", "dan", "carol", "")}
    equal([alone[user][0] for user in ("bob", "dan", "carol", "")], ["add header"] * 2 + ["no action", "add header"])
    for field in ("Deliver-To", "Rcpt", "deliver-to"):
        for users in (("bob", "carol"), ("carol", "bob"), ("bob", "dan", "<Carol>"), ("eve", "carol", "bob")):
            action, status = verdict(to(*users, field=field))
            equal((action, status), ("no action", alone["carol"][1].replace("mail-carol", "mail-%u")), (field, users))
        for users in (("bob",), ("bob", "BOB"), ("<bob>", "bob", "bob")):
            if field != "Rcpt" or len(set(users)) == 1:
                holds(verdict(to(*users[:1], field=field)) == alone["bob"], (field, users))
        action, status = verdict(to("bob", "dan", field=field))
        mildest = min(alone["bob"], alone["dan"], key=lambda v: float(re.search(r"probability=([\d.]+)", v[1])[1]))
        equal((action, status), ("add header", re.sub("mail-(bob|dan)", "mail-%u", mildest[1])), field)
    # rspamd takes several recipients in one field, too.
    for field in ("bob,carol", "<bob> , <Carol>", "eve, carol,bob"):
        equal(verdict(to(field, field="Rcpt")), ("no action", alone["carol"][1].replace("mail-carol", "mail-%u")), field)
    equal(verdict(to("bob, <bob>", field="Rcpt")), alone["bob"])
    # Who has no model, or names none, is judged by the model of all.
    equal(verdict(to("eve", "../..")), ("add header", alone[""][1].replace("model=mail", "model=mail-%u")))
    # The user that the server delivers to comes before the recipients of the envelope.
    equal(verdict(to("bob") + to("bob", "carol", field="Rcpt")), alone["bob"])
    # The one of all judges a mail with more recipients than a call may name.
    equal(verdict(to(*(f"u{i}" for i in range(100)), "carol", field="Rcpt")), alone[""])
    equal(verdict(to(*(f"u{i}" for i in range(99)), "carol", field="Rcpt"))[0], "no action")
    equal(check(daemon, b"Subject: x\n\n" + rspamd.GTUBE.replace(b"JS*", b"XJS*", 1), to("bob", "carol"))["action"], "reject")
    daemon.stop()
    daemon.start()  # models that are on the disk only
    equal(verdict(to("bob", "carol")), ("no action", alone["carol"][1].replace("mail-carol", "mail-%u")))
    daemon.stop()


def test_a_header_field_for_each_user(api):
    daemon = several(api)
    name = "X-Bayes-Status"
    alone = {user: check(daemon, spam(), to(user))["milter"]["add_headers"][name] for user in ("bob", "carol", "eve")}
    daemon.stop()
    daemon = api.another(data=daemon.data, config={"filter": {"user_model": "mail-%u", "several_users": "each"}}).start()
    for users in (("bob", "<Carol>"), ("bob", "eve", "carol", "../.."), ("bob",), ("eve",), ("",), ("../..",)):
        report = check(daemon, spam(), to(*users))
        names = [user.strip("<>").lower() for user in users if user.strip("./")]
        want = {f"{name}-mail-{user}": alone[user] for user in names}
        fields = report["milter"]["add_headers"]
        equal({key: value for key, value in fields.items() if key != name}, want, users)
        equal(list(fields)[0], name)
        equal(report["milter"]["remove_headers"], dict.fromkeys(fields, 0), "what the mail brings of these names")
        if len(names) > 1:
            equal(fields[name], alone["carol"].replace("mail-carol", "mail-%u"), "the mildest")
    old = ask(daemon, "/check", spam(), to("bob", "carol")).ok().json["rmilter"]["add_headers"]
    equal(set(old), {name, f"{name}-mail-bob", f"{name}-mail-carol"})
    gtube = b"Subject: x\n\n" + rspamd.GTUBE.replace(b"JS*", b"XJS*", 1)
    equal(list(check(daemon, gtube, to("bob", "carol"))["milter"]["add_headers"]), [name])
    daemon.stop()


def test_learning_is_for_the_user_who_clicks(api):
    daemon = several(api)
    before = {model: documents(daemon, model) for model in ("mail", "mail-bob", "mail-carol")}
    learn(daemon, "spam", spam(500), to("bob") + to("bob", "carol", field="Rcpt")).ok()
    equal(documents(daemon, "mail-bob")["spam"], before["mail-bob"]["spam"] + 1)
    learn(daemon, "spam", spam(501), to("bob", "carol", field="Rcpt")).ok()  # nobody clicked: all of them
    equal(documents(daemon, "mail")["spam"], before["mail"]["spam"] + 1)
    equal(documents(daemon, "mail-carol"), before["mail-carol"])
    daemon.stop()


def test_without_models_of_users(api):
    daemon = taught(api)
    learn(daemon, "spam", spam("of Bob"), [("Deliver-To", "bob@example.net")]).ok()
    learn(daemon, "spam", spam("of nobody"), [("Deliver-To", "../..")]).ok()
    equal([row["name"] for row in daemon.client.get("/v1/models").json["models"]], ["mail"])
    equal(documents(daemon), {"spam": 14, "ham": 12})
    daemon.stop()


# ---- any bytes ----------------------------------------------------------------------------------
def test_any_bytes_are_a_mail(api):
    """Whatever comes has a verdict, in JSON that decodes, and no line end gets into a header."""
    daemon = taught(api, rewrite_subject=0)
    rng = api.random
    names = [b"Subject", b"Message-ID", b"From", b"X-Bayes-Status", b"Content-Type", b"", b"Received"]
    for _ in range(300):
        fields = [rng.choice(names) + b": " + rng.randbytes(rng.randrange(60)) + rng.choice([b"\n", b"\r\n", b"\r", b""])
                  for _ in range(rng.randrange(6))]
        mail = b"".join(fields) + rng.choice([b"\n", b"\r\n", b""]) + rng.randbytes(rng.randrange(300)) + rng.choice([b"", b"win watches"])
        if mail:
            report = check(daemon, mail)
            equal(report["action"], "rewrite subject")
            holds("\n" not in report["subject"] and "\r" not in report["subject"] and "\0" not in report["subject"], repr(report))
    daemon.stop()
