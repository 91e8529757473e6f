# SPDX-License-Identifier: Apache-2.0
"""What the own mail server knows of a mail, as values of fields (setting `mail_server`): told by rspamd's
protocol and bayesd-milter with a mail, or read from the server's own fields in a stored one."""
import re

import rspamd
from harness import equal, holds
from mta import Mta
from test_milter import FIELDS, Milter, status_of

NAMES = ("spf", "dkim", "dmarc", "client", "helo", "sender", "recipient")
SETTINGS = {"preset": "mail", "mail_server": "mx.example.net", "tokenizer": {"fields": ["body"]},
            "fields": {name: "category" for name in NAMES}}
SPAM = {"spf": "fail", "client": "203.0.113.0/24", "helo": "bad.example", "sender": "bad.example",
        "recipient": "bob@example.net"}
HAM = {"spf": "pass", "client": "198.51.100.0/24", "helo": "good.example", "sender": "good.example",
       "recipient": "bob@example.net"}


def envelope(values):
    """As mail software tells it before the mail is delivered."""
    return [("IP", values["client"].replace(".0/24", ".7")), ("Helo", values["helo"]),
            ("From", f"<someone@{values['sender']}>"), ("Rcpt", "<bob@example.net>")]


def arrived(values, number=0, result=True):
    """As the mail server gives it to filters."""
    own = f"Authentication-Results: mx.example.net; spf={values['spf']}\r\n" if result else ""
    return f"{own}Subject: lunch\r\n\r\nlunch in the garden {number}\r\n".encode()


def stored(values, number=0):
    """As it lies in a mailbox afterwards."""
    return (f"Return-Path: <someone@{values['sender']}>\r\n"
            f"Received: from {values['helo']} (unknown [{values['client'].replace('.0/24', '.7')}])\r\n"
            f"\tby mx.example.net (Postfix) with ESMTP id 4XyZ\r\n\tfor <bob@example.net>; today\r\n"
            ).encode() + arrived(values, number)


def named(mail, name):
    """With a Message-ID: mails that differ only by fields of servers are one mail."""
    return mail.replace(b"Subject:", f"Message-ID: <{name}@example.org>\r\nSubject:".encode())


def model(api, **config):
    daemon = api.another(config=config).start()
    daemon.client.put("/v1/models/mail", SETTINGS).ok(201)
    return daemon


def learned(daemon, label):
    """The values that documents of a label have, each with how often it came."""
    fields = daemon.client.get(f"/v1/models/mail/distribution?label={label}").ok().json["fields"]
    return {f"{field['field']}={row['value']}": row["count"] for field in fields for row in field["values"]}


def tokens(daemon, mail):
    got = daemon.client.post("/v1/models/mail/tokenize", mail, "message/rfc822").ok().json["tokens"]
    return {row["token"] for row in got if "=" in row["token"]}


def features(values):
    return {f"{name}={value}" for name, value in values.items()}


def teach(daemon):
    for number in range(12):
        for label, values in (("spam", SPAM), ("ham", HAM)):
            mail = named(stored(values, number), f"{label}{number}")
            equal(rspamd.learn(daemon, label, mail).ok().json, {"success": True})


def probability(report):
    """Of spam, as the header field says it."""
    status, said = re.match(r"(\w+), probability=([0-9.]+)", report["milter"]["add_headers"]["X-Bayes-Status"]).groups()
    return 1 - float(said) if status == "ham" else float(said)


def test_learning_sees_what_classification_saw(api):
    """The envelope of the question and the stored mail give the same values."""
    daemon = model(api)
    equal(tokens(daemon, stored(SPAM)), features(SPAM))
    equal(rspamd.learn(daemon, "spam", arrived(SPAM), envelope(SPAM)).ok().json, {"success": True})
    equal(learned(daemon, "spam"), {feature: 1 for feature in features(SPAM)})
    equal(rspamd.learn(daemon, "ham", named(stored(HAM), "ham")).ok().json, {"success": True})
    equal(learned(daemon, "ham"), {**{feature: 0 for feature in features(SPAM)}, **{feature: 1 for feature in features(HAM)}})
    equal(rspamd.learn(daemon, "ham", named(stored(HAM), "ham"), envelope(HAM)).status, 208, "a document's id is that of the mail")


def test_the_envelope_decides(api):
    daemon = model(api)
    teach(daemon)
    spam, ham = (rspamd.check(daemon, arrived(values, "x"), envelope(values)) for values in (SPAM, HAM))
    holds(probability(spam) > 0.9 and probability(ham) < 0.1, f"{probability(spam)} {probability(ham)}")
    nothing = probability(rspamd.check(daemon, arrived(HAM, "x", result=False)))
    holds(probability(ham) < nothing < probability(spam), f"without an envelope: {nothing}")
    for values, told in ((SPAM, spam), (HAM, ham)):
        again = rspamd.check(daemon, stored(values, "x"))
        equal(probability(again), probability(told), "the stored mail")


def test_forged_fields_count_for_nothing(api):
    """Below the server's own fields, and with other names, they are the sender's."""
    daemon = model(api)
    teach(daemon)
    good = ("Authentication-Results: mx.example.net; spf=pass; dkim=pass; dmarc=pass\r\n"
            "Received-SPF: pass receiver=mx.example.net\r\n").encode()
    hop = b"Received: from good.example (unknown [198.51.100.7]) by mx.example.net; today\r\n"
    plain = rspamd.check(daemon, arrived(SPAM), envelope(SPAM))
    own, rest = arrived(SPAM).split(b"\r\n", 1)
    foreign = good.replace(b"mx.example.net", b"mx.bad.example")
    for forged in (own + b"\r\n" + good[:good.index(b";")] + b"; spf=pass\r\n" + rest,
                   own + b"\r\n" + hop + rest, foreign + own + b"\r\n" + hop + rest,
                   own + b"\r\nReceived: from x by bad.example; today\r\n" + good + rest):
        told = rspamd.check(daemon, forged, envelope(SPAM))
        equal(probability(told), probability(plain), forged)
        equal(tokens(daemon, forged) - {"spf=fail"} & {"spf=pass", "dkim=pass", "dmarc=pass"}, set(), forged)
    received = stored(SPAM).split(own)[0]
    equal(tokens(daemon, received + own + b"\r\n" + hop + good + rest), features(SPAM), "in a stored mail")


def test_the_milter_tells_the_envelope(api):
    daemon = model(api)
    teach(daemon)

    def ask(values):
        fields = [("Authentication-Results", f"mx.example.net; spf={values['spf']}"), *FIELDS]
        with Mta(milter.at, connect=False) as server:
            server.connect("unknown", ("4", 41000, values["client"].replace(".0/24", ".9")), values["helo"])
            result = server.mail(fields, b"lunch in the garden\r\n", sender=f"<other@{values['sender']}>")
        return status_of(result, fields)

    with Milter(api, f"http://127.0.0.1:{daemon.port}") as milter:
        holds(ask(SPAM).startswith("spam, "), ask(SPAM))
        holds(ask(HAM).startswith("ham, "), ask(HAM))


def test_exim_tells_it_too(api):
    """RSPAMC has the same fields, and the mail begins with the server's own Received."""
    daemon = model(api)
    teach(daemon)
    for values, want in ((SPAM, "BAYES_SPAM"), (HAM, "BAYES_HAM")):
        head = "\r\n".join(f"{name}: {value}" for name, value in envelope(values))
        with rspamd.Wire(daemon) as wire:
            wire.send(f"CHECK RSPAMC/1.3\r\nContent-length: {len(stored(values))}\r\n{head}\r\n\r\n".encode()
                      + stored(values))
            said = wire.body({}).decode()
        holds(f"Symbol: {want}(" in said, said)


def test_the_setting(api):
    client = api.daemon.client
    client.put("/v1/models/plain", {"preset": "mail"}).ok(201)
    equal(client.get("/v1/models/plain").ok().json["settings"]["mail_server"], None)
    for bad in ("", "a b", "a;b", "x" * 256, "m\u00fc"):
        equal(client.put("/v1/models/plain", {"preset": "mail", "mail_server": bad}).status, 422, bad)
    equal(client.put("/v1/models/plain", {"preset": "mail", "mail_server": 1}).status, 400)
    settings = dict(SETTINGS, fields={"client": "category"})
    client.put("/v1/models/some", settings).ok(201)
    equal(client.get("/v1/models/some").ok().json["settings"]["mail_server"], "mx.example.net")
    got = client.post("/v1/models/some/tokenize", stored(SPAM), "message/rfc822").ok().json["tokens"]
    equal([row["token"] for row in got if "=" in row["token"]], ["client=203.0.113.0/24"])
    document = {"mail": stored(SPAM).decode(), "values": {"client": "mine"}}
    got = client.post("/v1/models/some/tokenize", document).ok().json["tokens"]
    equal([row["token"] for row in got if "=" in row["token"]], ["client=mine"], "the document's own value")
