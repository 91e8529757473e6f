# SPDX-License-Identifier: Apache-2.0
"""rspamd's HTTP protocol as its clients speak it, and mails to teach and to ask with."""
import json

from harness import conformance, equal, holds, shown
from wire import Wire

MAIL = "/v1/models/mail"
GTUBE = b"JS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
CHECKS = ("/checkv2", "/check", "/symbols", "/scan")
LEARNS = ("/learnspam", "/learnham")
# What a client that has no Deliver-To to send says beside the mail.
ENVELOPE = [("Ip", "192.0.2.10:42136"), ("Helo", "mx.example.org"), ("From", "<alice@example.org>"),
            ("Rcpt", "<bob@example.net>"), ("Rcpt", "<carol@example.net>"), ("Queue-Id", "4XyZ")]


# ---- mails --------------------------------------------------------------------------------------
def spam(number=0, subject="cheap watches"):
    return (f"From: Deals <win{number}@spam.example>\nTo: bob@example.net\nSubject: {subject}\n"
            f"Message-ID: <s{number}@spam.example>\n\n"
            f"Order cheap watches today and win a prize, number {number}:\nhttp://spam.example/win\n").encode()


def ham(number=0, subject="garden club"):
    return (f"From: Ann <ann{number}@club.example>\nTo: bob@example.net\nSubject: {subject}\n"
            f"Message-ID: <h{number}@club.example>\n\n"
            f"We meet at six in the garden, and Ann brings seeds for bed {number}.\n").encode()


def teach(daemon, count=12, model="mail", labels=("spam", "ham")):
    """Learns `count` mails of each label."""
    rows = [{"mail": mail(number).decode(), "label": label} for number in range(1, count + 1)
            for mail, label in zip((spam, ham), labels)]
    reply = daemon.client.post(f"/v1/models/{model}/train", {"documents": rows}).ok().json
    equal(reply["failed"], 0)


def taught(api, folder=None, **options):
    """A daemon with a model of mail that is ready; `options` are those of [filter]."""
    daemon = api.another(data=folder, config={"filter": options}).start()
    teach(daemon)
    return daemon


def probability(daemon, mail, model="mail"):
    """Of spam, as the model itself says."""
    verdict = daemon.client.post(f"/v1/models/{model}/classify", mail, "message/rfc822").ok().json
    holds(verdict["ready"] and verdict["calibrated"], verdict)
    return verdict["probabilities"]["spam"]


# ---- requests -----------------------------------------------------------------------------------
def head(method, path, headers, version="1.1"):
    lines = [f"{method} {path} HTTP/{version}"]
    if version == "1.1" and not any(name.lower() == "host" for name, _ in headers):
        lines.append("Host: 127.0.0.1")
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def receive(wire, method, path):
    """A reply as rspamc needs it: one without a reason phrase, or empty, crashes it."""
    first = wire.until(b"\r\n")
    holds(first is not None, f"{method} {path}: no reply")
    wire.rest = first + b"\r\n" + wire.rest
    reply = wire.reply(method)
    _, _, reply.reason = first.decode("latin-1").partition(" ")[2].partition(" ")
    holds(reply.reason.strip(), f"{method} {path}: no reason phrase: {first!r}")
    holds(reply.body, f"{method} {path}: {reply.status} without a body")
    conformance.saw(method, path, reply)
    return reply


def exchange(daemon, data, method="POST", path="/checkv2"):
    """Sends the bytes of one request on a connection of its own."""
    with Wire(daemon) as wire:
        wire.try_send(data)
        return receive(wire, method, path)


def ask(daemon, path, mail=b"", headers=(), method="POST", version="1.1"):
    fields = [("Content-Length", len(mail)), *headers]
    return exchange(daemon, head(method, path, fields, version) + mail, method, path)


def check(daemon, mail, headers=(), path="/checkv2"):
    """The report on a mail, its types checked."""
    report = ask(daemon, path, mail, headers).ok().json
    check_types(report)
    return report


def learn(daemon, label, mail, headers=()):
    return ask(daemon, "/learn" + label, mail, headers)


# ---- replies ------------------------------------------------------------------------------------
def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_symbol(name, symbol):
    equal(symbol["name"], name)
    for member in ("score", "metric_score"):
        holds(is_number(symbol[member]), f"{name}.{member}: {symbol}")
    holds(isinstance(symbol["description"], str) and symbol["description"], f"{name}: no description")
    holds(all(isinstance(option, str) for option in symbol.get("options", [])), symbol)


def check_types(report):
    """The types that decode in every client: one wrong stops a mail or lets it pass."""
    holds(isinstance(report["is_skipped"], bool), report)
    for member in ("score", "required_score", "time_real"):
        holds(is_number(report[member]), f"{member} in {report}")
    holds(isinstance(report["action"], str), report)
    for member in ("symbols", "messages"):
        holds(isinstance(report[member], dict), f"{member} in {report}")
    holds(all(isinstance(text, str) for text in report["messages"].values()), report["messages"])
    for name, symbol in report["symbols"].items():
        check_symbol(name, symbol)
    for name, value in report.get("milter", {}).get("add_headers", {}).items():
        holds(isinstance(value, str) and value.isprintable(), f"{name}: {value!r}")
    for name, value in report.get("milter", {}).get("remove_headers", {}).items():
        holds(isinstance(value, int) and not isinstance(value, bool), f"{name}: {value!r}")
    equal("subject" in report, report["action"] == "rewrite subject", "a subject")
    equal("smtp_message" in report["messages"], report["action"] == "reject", "a text for the sender")


def verdict_of(report):
    """What does not change from one request to the next."""
    return {name: value for name, value in report.items() if name != "time_real"}


def error(reply, status, *words):
    """An error as rspamd tells it: nothing that a client may take for a verdict, but with a status from
    500 on, or one that denies access, an action that makes all of them try again."""
    equal(reply.status, status, shown(reply.body, 600))
    equal(reply.headers["content-type"].split(";")[0], "application/json")
    body = reply.json
    holds(isinstance(body["error"], str) and body["error"], body)
    for word in words:
        holds(word in body["error"], f"does not name {word!r}: {body['error']!r}")
    if status < 500 and status not in (401, 403):
        equal(sorted(body), ["error"])
        return body
    equal(sorted(body), ["action", "error", "messages"])
    equal(body["action"], "soft reject")
    holds(isinstance(body["messages"]["smtp_message"], str), body)
    holds(status < 500 or "retry-after" in reply.headers, reply.headers)
    return body


def documents(daemon, model="mail"):
    """Documents per label."""
    labels = daemon.client.get(f"/v1/models/{model}").ok().json["labels"]
    return {label: row["documents"] for label, row in labels.items() if row["documents"]}


def text_of(report):
    return json.dumps(report)
