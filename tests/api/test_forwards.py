# SPDX-License-Identifier: Apache-2.0
"""Mail that users forward: what is learned is attached to it. And how large one mail may be, at each door."""
import base64
import json
import os

from harness import equal, holds
from rspamd import ask
from test_client import DATAERR, Bayesc, write

VALGRIND = True
MOST = 64 << 20


def spam(number, body="cheap watches and a prize"):
    return (f"From: Deals <win{number}@spam.example>\nTo: bob@example.net\nSubject: offer {number}\n"
            f"Message-ID: <f{number}@spam.example>\n\n{body} number {number}\n").encode()


def part(mail):
    return b"Content-Type: message/rfc822\nContent-Disposition: attachment; filename=a.eml\n\n" + mail


def octets(mail):
    return (b"Content-Type: application/octet-stream; name=\"Fwd.eml\"\nContent-Transfer-Encoding: base64\n\n" +
            base64.encodebytes(mail))


def digest(*mails):
    return (b"Content-Type: multipart/digest; boundary=dd\n\n" + b"".join(b"--dd\n\n" + mail + b"\n" for mail in mails) +
            b"--dd--\n")


def forward(*parts):
    return (b"From: Bob Forwarder <forwarder@example.net>\nTo: spam@example.net\nSubject: Fwd: complaint\nMIME-Version: 1.0\n"
            b"Content-Type: multipart/mixed; boundary=zz\n\n--zz\nContent-Type: text/plain\n\nplease block this\n" +
            b"".join(b"--zz\n" + one + b"\n" for one in parts) + b"--zz--\n")


INLINE = b"From: bob@example.net\nTo: spam@example.net\nSubject: Fwd: offer\n\n> From: win@spam.example\n> cheap watches\n"
FORWARDS = ((forward(part(spam(1))), 1), (forward(part(spam(2)), part(spam(3))), 2), (forward(octets(spam(4))), 1),
            (forward(digest(spam(5), spam(6))), 2), (digest(spam(7)), 1), (b"Content-Type: message/rfc822\n\n" + spam(8), 1))


def documents(client, model):
    reply = client.get(f"/v1/models/{model}")
    return {name: label["documents"] for name, label in reply.json["labels"].items()} if reply.status == 200 else {}


def knows(client, model, token):
    """Whether a model has learned a token."""
    reply = client.post(f"/v1/models/{model}/classify?explain=50", {"text": token}).ok().json
    return reply["tokens"]["known"] > 0


def check_learned(api, model):
    """All mails that are attached to FORWARDS, and nothing of the forwards: the same mails alone are known."""
    total = sum(count for _, count in FORWARDS)
    equal(documents(api, model), {"spam": total})
    for number in range(1, total + 1):
        reply = api.post(f"/v1/models/{model}/train?label=spam", spam(number), "message/rfc822").ok().json
        equal(reply["status"], "unchanged", number)
    holds(knows(api, model, "watches") and not knows(api, model, "block"), "the forward was learned")


def test_the_client(api):
    client, folder = Bayesc(api), api.new_folder()
    for number, (mail, count) in enumerate(FORWARDS):
        path = write(folder, f"forward{number}", content=mail)
        reply = client.json("train", "-m", "attached-client", "--label", "spam", "--attached", "--mail", path)
        equal((reply["learned"], reply["failed"]), (count, 0), mail)
    check_learned(api, "attached-client")
    # From standard input, as an alias of Postfix gives it, and mboxes of forwards.
    mail = b"From bob Thu Jan  1 00:00:00 1970\n" + FORWARDS[1][0]
    for options in (("--format", "file", "--mail"), ("--format", "mbox")):
        reply = client.json("train", "-m", "attached-client", "--label", "spam", "--attached", *options, "-", stdin=mail)
        equal((reply["unchanged"], reply["failed"]), (2, 0))
    for mail in (INLINE, forward(), b"no mail at all"):
        reply = client.json("train", "-m", "attached-client", "--label", "spam", "--attached", stdin=mail, status=DATAERR)
        equal((reply["learned"], reply["failed"]), (0, 1))
        holds("attached" in client.said, client.said)
    equal(documents(api, "attached-client"), {"spam": 8})


def test_http(api):
    path = "/v1/models/attached-http/train?label=spam&attached=yes"
    for mail, count in FORWARDS:
        reply = api.post(path, mail, "message/rfc822").ok().json
        equal((reply["learned"], len(reply["results"])), (count, count))
    check_learned(api, "attached-http")
    box = b"".join(b"From x Thu Jan  1 00:00:00 1970\n" + mail + b"\n" for mail in (FORWARDS[0][0], INLINE, FORWARDS[1][0]))
    reply = api.post(path, box, "application/mbox").ok().json
    equal((reply["unchanged"], reply["failed"]), (3, 1))
    holds("no attached mail" in reply["results"][1]["error"]["detail"], reply)
    rows = [{"mail": FORWARDS[0][0].decode(), "label": "spam"}, {"mail": INLINE.decode(), "label": "spam"},
            {"text": "cheap", "label": "spam"}, {"mail": FORWARDS[0][0].decode(), "label": "spam", "id": "one"}]
    reply = api.post("/v1/models/attached-http/train?attached=yes", {"documents": rows}).ok().json
    equal((reply["unchanged"], reply["failed"]), (1, 3))
    for query, mail, kind, word in (("label=spam&attached=yes", INLINE, "message/rfc822", "no attached mail"),
                                    ("label=spam&attached=perhaps", INLINE, "message/rfc822", "'yes'"),
                                    ("label=spam&attached=yes&id=a", FORWARDS[0][0], "message/rfc822", "'id'"),
                                    ("label=spam&attached=yes", b"text", "text/plain", "goes with message/rfc822"),
                                    ("attached=yes", b"text,label\na,spam\n", "text/csv", "goes with message/rfc822")):
        reply = api.post(f"/v1/models/attached-http/train?{query}", mail, kind)
        holds(reply.status == 400 and word in reply.json["detail"], (query, reply.status, reply.body))
    equal(api.post("/v1/models/attached-http/train?label=ham&attached=no", INLINE, "message/rfc822").ok().json["status"],
          "learned")


def test_rspamd(api):
    daemon = api.another(config={"filter": {"model": "attached-rspamd"}}).start()
    yes = [("Attached", "yes")]
    for mail, _ in FORWARDS:
        equal(ask(daemon, "/learnspam", mail, yes).ok().json, {"success": True})
        equal(ask(daemon, "/learnspam", mail, yes).status, 208)
    check_learned(daemon.client, "attached-rspamd")
    for fields, mail, word in ((yes, INLINE, "no attached mail"), ([("Attached", "maybe")], INLINE, "Attached is 'yes'")):
        reply = ask(daemon, "/learnspam", mail, fields)
        holds(reply.status == 400 and word in reply.json["error"], (reply.status, reply.body))
    equal(documents(daemon.client, "attached-rspamd"), {"spam": 8})
    equal(ask(daemon, "/learnham", FORWARDS[1][0], yes).ok().json, {"success": True})
    equal(documents(daemon.client, "attached-rspamd"), {"spam": 6, "ham": 2})
    equal(ask(daemon, "/learnham", INLINE, [("Attached", "no")]).ok().json, {"success": True})
    # A model that takes none of them says so; it is not as if they were learned.
    daemon = api.another(config={"filter": {"model": "attached-several"}}).start()
    daemon.client.put("/v1/models/attached-several", {"label_set": "several"}).ok(201)
    for mail, _ in FORWARDS:
        reply = ask(daemon, "/learnspam", mail, yes)
        holds(reply.status == 422 and "several labels" in reply.json["error"], (reply.status, reply.body))
    equal(documents(daemon.client, "attached-several"), {})


def large(size):
    head = (b"From: a@b.example\nTo: b@c.example\nSubject: large\nDate: today\nContent-Type: multipart/mixed; boundary=b\n\n"
            b"--b\n\nharbour ledger\n--b\nContent-Type: application/zip\nContent-Transfer-Encoding: base64\n\n")
    line = b"QUJD" * 19 + b"\n"
    return (head + line * (size // len(line) + 1))[:size]


def test_one_limit_for_one_mail(api):
    """bayesc, HTTP and mail software take what the others take."""
    client, folder = Bayesc(api), api.new_folder()
    path = os.path.join(folder, "large")
    for size, fits in ((MOST, True), (MOST + 1, False)):
        mail = large(size)
        write(folder, "large", content=mail)
        reply = client.json("train", "-m", "large", "--label", "spam", path, status=0 if fits else DATAERR)
        equal((reply["learned"], reply["unread"]), (int(fits), int(not fits)))
        reply = api.post("/v1/models/large/train?label=spam", mail, "message/rfc822")
        equal((reply.status, reply.json.get("status")), (200, "unchanged") if fits else (413, 413))
        equal(ask(api.daemon, "/checkv2", mail).status, 200 if fits else 413)
    out = json.loads(client.run("classify", "-m", "large", "--json", write(folder, "large", content=large(MOST))))
    equal(out["label"], "spam")
