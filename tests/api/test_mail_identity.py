# SPDX-License-Identifier: Apache-2.0
"""A mail is one document, however it travelled, was read, moved and marked, at whatever door; and a store of before
finds its mails under the ids that they have there."""
import base64
import hashlib
import json

from harness import equal, holds
from rspamd import ask
from test_client import Bayesc, write

MAILS = 3
MARKS = {"new": (b"0000", b""), "read": (b"0001", b""), "junk": (b"0001", b"Junk")}
FORMER = 3  # the last version of the tokenizer whose models have mails under ids of their bytes
ADDED = (b"Return-Path: <p@example.org>", b"Delivered-To: me@example.net", b"Received: from a.example by b.example; Tue, 3 Mar 2026 10:00:09 +0000",
         b"X-Spam-Status: Yes, score=9", b"X-Spam-Flag: YES", b"X-UID: 7", b"X-Keywords: NonJunk", b"X-Gmail-Labels: Spam",
         b"X-Bayes-Status: spam, probability=1.0000, model=mail", b"Status: RO", b"X-Status: A", b"X-Mozilla-Status: 0003",
         b"Authentication-Results: mx; spf=pass", b"DKIM-Signature: v=1; a=rsa-sha256; b=x", b"ARC-Seal: i=1; a=rsa-sha256", b"List-Unsubscribe: <mailto:x@y>")


def mail(number, text=b"The minutes of the meeting, agenda and budget.", more=b""):
    return (more + b"From: p%d@example.org\nSubject: minutes %d\nMessage-ID: <m%d@example.org>\n\n" % (number, number, number)
            + text + b" %d\n" % number)


def as_kept(number, state):
    """A mail as Thunderbird keeps it."""
    status, keys = MARKS[state]
    return mail(number, more=b"X-Mozilla-Status: %s\nX-Mozilla-Keys: %s\nStatus: RO\n" % (status, keys))


def mbox(mails):
    return b"".join(b"From - Tue Mar  3 10:00:0%d 2026\n%s\n" % (i % 10, m) for i, m in enumerate(mails))


def labels_of(api, name):
    rows = api.get(f"/v1/models/{name}").ok().json["labels"]
    return {label: row["documents"] for label, row in rows.items() if row["documents"]}


def train(api, name, label, content, kind="message/rfc822"):
    return api.post(f"/v1/models/{name}/train?label={label}", content, kind).ok().json


STATES = (("new", "ham"), ("read", "ham"), ("junk", "spam"))


def test_one_by_one(api):
    name = api.name()
    for state, label in STATES:
        for number in range(MAILS):
            train(api, name, label, as_kept(number, state))
    equal(labels_of(api, name), {"spam": MAILS})


def test_as_an_mbox(api):
    name = api.name()
    for state, label in STATES:
        train(api, name, label, mbox(as_kept(i, state) for i in range(MAILS)), "application/mbox")
    equal(labels_of(api, name), {"spam": MAILS})


def test_by_the_client(api):
    name, client, folder = api.name(), Bayesc(api), api.new_folder()
    for state, label in STATES:
        path = write(folder, state, content=mbox(as_kept(i, state) for i in range(MAILS)))
        client.run("train", "-m", name, f"{label}={path}")
    equal(labels_of(api, name), {"spam": MAILS})


def test_at_the_door_of_rspamd(api):
    daemon = api.another(config={"filter": {"model": "mail"}}).start()
    for state, label in STATES:
        for number in range(MAILS):
            ask(daemon, f"/learn{label}", as_kept(number, state)).ok(208 if state == "read" else 200)  # 208: already learned
    equal(labels_of(api.at(daemon), "mail"), {"spam": MAILS})
    equal(train(api.at(daemon), "mail", "spam", mail(0))["status"], "updated", "the same mail over HTTP: the fields of its mailbox are gone")


def test_each_field_of_a_hop(api):
    """One field alone, before or behind the others, makes no other document."""
    name = api.name()
    plain = train(api, name, "ham", mail(1))["id"]
    for field in ADDED:
        equal(train(api, name, "ham", mail(1, more=field + b"\r\n"))["id"], plain, field)
        equal(train(api, name, "ham", mail(1).replace(b"\n\n", b"\n" + field + b"\n\n", 1))["id"], plain, field)
    equal(labels_of(api, name), {"ham": 1})


def test_untrained_as_it_came_back(api):
    name = api.name()
    train(api, name, "ham", mail(1))
    api.post(f"/v1/models/{name}/untrain", as_kept(1, "junk"), "message/rfc822").ok()
    equal(labels_of(api, name), {})


def test_a_forged_message_id(api):
    """Two mails with one Message-ID are two; so are mails with none."""
    name = api.name()
    train(api, name, "ham", mail(1))
    train(api, name, "spam", mail(1, text=b"Cheap pills."))
    equal(labels_of(api, name), {"ham": 1, "spam": 1})
    bare = b"Subject: a\n\nOne.\n"
    equal([train(api, name, "ham", m)["status"] for m in (bare, bare.replace(b"One", b"Two"), bare)], ["learned", "learned", "unchanged"])


def test_a_list_has_added_a_footer(api):
    """It is another text, so another document."""
    name = api.name()
    train(api, name, "ham", mail(1))
    equal(train(api, name, "ham", mail(1) + b"-- \nTo unsubscribe write to x@example.org\n")["status"], "learned")


def test_an_mbox_of_repeated_ids(api):
    """10,000 mails, a hundred Message-IDs: each mail is a document, and the whole once more changes nothing."""
    name, count = api.name(), 10000
    whole = mbox(mail(i % 100, text=b"text %d" % i) for i in range(count))
    for want in ({"learned": count, "unchanged": 0}, {"learned": 0, "unchanged": count}):
        reply = train(api, name, "ham", whole, "application/mbox")
        equal({key: reply[key] for key in want}, want)
    equal(labels_of(api, name), {"ham": count})


# ---- stores of before -----------------------------------------------------------------------------
def former_id(key, content):
    """The id that a mail had: of its bytes, with LF as line ends and one at its end."""
    bytes_ = b"\x01" + content.replace(b"\r\n", b"\n").rstrip(b"\r\n") + b"\n"
    return hashlib.blake2b(bytes_, key=key, digest_size=16).hexdigest()


def model_of_before(api, daemon, name, mails):
    """A model as an older program has left it: its mails have the ids of their bytes."""
    client = daemon.client
    client.put(f"/v1/models/{name}", {"preset": "mail"}).ok(201)
    lines = client.get(f"/v1/models/{name}/export").ok().body.splitlines()
    key = base64.b64decode(json.loads(lines[0])["key"])
    for content in mails:
        client.post(f"/v1/models/{name}/train?label=ham&id={former_id(key, content)}", content, "message/rfc822").ok()
    head, *rest = client.get(f"/v1/models/{name}/export").ok().body.splitlines(keepends=True)
    head = json.loads(head)
    holds(head["tokenizer_version"] > FORMER, head)
    head["tokenizer_version"] = FORMER
    dump = json.dumps(head).encode() + b"\n" + b"".join(rest)
    client.call("PUT", f"/v1/models/{name}/import", dump, "application/x-ndjson").ok()
    return [former_id(key, content) for content in mails]


def test_a_store_of_before(api):
    daemon = api.another().start()
    session, mails = api.at(daemon), [mail(i) for i in range(MAILS)]
    former = model_of_before(api, daemon, "old", mails)
    equal([train(session, "old", "ham", m)["status"] for m in mails], ["unchanged"] * MAILS)
    reply = train(session, "old", "spam", mails[0].replace(b"\n", b"\r\n"))
    equal((reply["id"], reply["status"]), (former[0], "relabelled"))
    session.post("/v1/models/old/untrain", mails[1], "message/rfc822").ok()
    equal(labels_of(session, "old"), {"ham": 1, "spam": 1})
    equal(train(session, "old", "ham", mail(9))["status"], "learned", "a mail that is new")
    equal(train(session, "old", "spam", as_kept(9, "junk"))["status"], "relabelled", "a mail that was new, marked")
    daemon.kill()
    daemon.start()
    equal(labels_of(api.at(daemon), "old"), {"ham": 1, "spam": 2})
