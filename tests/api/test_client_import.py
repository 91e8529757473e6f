# SPDX-License-Identifier: Apache-2.0
"""bayesc import of what is not our own: the text of bogoutil -d, and files of other filters."""
import json
import os

from harness import equal, holds
from test_client import DATAERR, CANTCREAT, USAGE, Bayesc, counts, write

VALGRIND = True

# As `bogoutil -d` writes it: sorted by bytes, so that some tokens come before .MSG_COUNT.
LIST = b"""$100 4 0 20261119
.ENCODING 2 0 20261120
.MSG_COUNT 12 20 20261120
.ROBX 520000 0 20261120
.WORDLIST_VERSION 20040500 0 20261120
FREE 3 1 20261120
Free 2 1 20261120
Re:nothing 1 0 20261120
always 12 20 20261120
cheap 12 0 20261120
free 9 2 20261120
from:anna 0 20 20261120
garden 0 20 20261120
gr\xc3\xa1tis 6 0 20261120
head:bulk 5 5 20261120
mime:text/html 5 0 20261120
rare 0 1 20261120
rcvd:mail.example.net 11 1 20261120
rtrn:anna 0 19 20261120
subj:Prize 7 0 20261120
to:ben 12 20 20261120
unused 0 0 20261120
url:example.com 3 0 20261120
year-over-year 0 3 20261120
"""
SPAM = (b"Received: from mail.example.net by mx.example.org; Fri, 20 Nov 2026 10:00:00 +0000\n"
        b"From: win@example.net\nTo: ben@example.org\nSubject: Prize\nDate: today\n\ncheap FREE gr\xc3\xa1tis $100\n")
HAM = b"From: anna@example.org\nTo: ben@example.org\nSubject: lunch\nDate: today\n\nalways in the garden\n"


def exported(client, model):
    """{token: {label: documents}} and {id: label} of a model, from its dump; no count is above 1."""
    header, *records = map(json.loads, client.run("export", "-m", model).splitlines())
    texts = [text for r in records if "words" in r for text in r["words"]["texts"]]
    words, ids = {text: {} for text in texts}, {}
    for document in (r["document"] for r in records if "document" in r):
        label = header["labels"][document["label"]]
        ids[document["id"]] = label
        equal(set(document["counts"]) - {1}, set(), document["id"])
        for row in document["rows"]:
            words[texts[row]][label] = words[texts[row]].get(label, 0) + 1
    return words, ids


def words_of(client, model):
    """The words that the list brought: not marks, words of one or two characters, and Received's "by" and "id",
    which every list of bogofilter begins with."""
    words, _ = exported(client, model)
    return {token: row for token, row in words.items() if not is_neutral(token)}


def is_neutral(token):
    word = token.split(":", 1)[-1] if token.startswith(("subject:", "case:", "received:")) else token
    return len(word) < 3 or len(set(word)) == 1


def test_a_list_of_bogofilter(api):
    """Each word is in as many documents as bogofilter counted; what is left out is listed."""
    client, model = Bayesc(api), api.name()
    path = write(api.new_folder(), "words.txt", content=LIST)
    got = client.json("import", "-m", model, path)
    equal(counts(api, model), {"spam": 12, "ham": 20})
    words, ids = exported(client, model)
    want = {"100": {"spam": 4}, "free": {"spam": 12, "ham": 4}, "case:FREE": {"spam": 3, "ham": 1},
            "case:Free": {"spam": 2, "ham": 1}, "always": {"spam": 12, "ham": 20}, "cheap": {"spam": 12},
            "garden": {"ham": 20}, "grátis": {"spam": 6}, "rare": {"ham": 1}, "subject:prize": {"spam": 7},
            "case:Prize": {"spam": 7}, "year": {"ham": 3}, "over": {"ham": 3}, "nothing": {"spam": 1},
            **{f"received:{host}": {"spam": 11, "ham": 1} for host in ("mail.example.net", "example.net", "net")}}
    equal(words_of(client, model), want)
    # A word of the list is never a neutral one, however short.
    equal((words["re"], words["case:Re"]), ({"spam": 1}, {"spam": 1}))
    for token, part in (("!", 0.1), ("subject:?", 0.1), ("--", 0.1), ("...", 0.1), ("a", 0.1), ("7", 0.1),
                        ("to", 0.03), ("subject:of", 0.03), ("42", 0.03), ("case:I", 0.1), ("case:In", 0.03),
                        ("case:OK", 0.03), ("received:by", 1), ("received:id", 1)):
        neutral = {"spam": int(12 * part + 0.5), "ham": int(20 * part + 0.5)}
        equal(words[token], {label: n for label, n in neutral.items() if n}, token)
    equal(ids, {**{f"bogofilter:spam:{i}": "spam" for i in range(1, 13)},
                **{f"bogofilter:ham:{i}": "ham" for i in range(1, 21)}})
    equal(api.get(f"/v1/models/{model}/documents/bogofilter%3Aspam%3A1").ok().json["learned"],
          "2026-11-20T12:00:00.000Z")
    left_out = got["bogofilter"]["left_out"]
    equal({name: row["count"] for name, row in left_out.items() if row["count"]},
          {"unused": 1, "from": 1, "to": 1, "rtrn": 1, "head": 1, "mime": 1, "url": 1})
    equal(left_out["unused"]["first_lines"], [22])
    equal((got["documents"], got["bogofilter"]["tokens"], got["bogofilter"]["features"]), (32, 13, len(words)))
    # For people.
    client.run("import", "-m", model, path, status=CANTCREAT)
    text = client.run("import", "-m", model, "--replace", stdin=LIST).decode()
    for part in ("32 documents", "12  messages of spam", "20  messages of ham", "13  tokens", "line 22"):
        holds(part in text, f"{part} in {text}")


def test_a_list_serves_at_once_and_goes_on_learning(api):
    client, model = Bayesc(api), api.name()
    client.run("import", "-m", model, stdin=LIST)
    for mail, label in ((SPAM, "spam"), (HAM, "ham")):
        got = client.json("classify", "-m", model, stdin=mail)
        equal((got["label"], got["ready"]), (label, True))
        holds(got["probabilities"][label] > 0.9, got)
        equal(api.post(f"/v1/models/{model}/train?label={label}", mail, "message/rfc822").ok().json["status"],
              "learned")
    equal(counts(api, model), {"spam": 13, "ham": 21})
    told = {row["token"] for row in client.json("explain", "-m", model, stdin=SPAM)["explanation"]}
    holds({"cheap", "free", "case:FREE", "grátis", "subject:prize", "received:mail.example.net"} <= told, told)
    # A document of the list is one like any other: it can be taken back, to the last count.
    words, ids = exported(client, model)
    lists = [id for id in ids if id.startswith("bogofilter:")]
    equal(len(lists), 32)
    for id in lists:
        equal(api.post(f"/v1/models/{model}/untrain", {"id": id}).ok().json["status"], "forgotten")
    equal(counts(api, model), {"spam": 1, "ham": 1})
    fresh = api.name()
    settings = api.get(f"/v1/models/{model}").ok().json["settings"]
    api.put(f"/v1/models/{fresh}", {"preset": "mail", "tokenizer": settings["tokenizer"]}).ok(201)
    for mail, label in ((SPAM, "spam"), (HAM, "ham")):
        api.post(f"/v1/models/{fresh}/train?label={label}", mail, "message/rfc822").ok()
    equal(*[api.get(f"/v1/models/{m}").ok().json["vocabulary"] for m in (model, fresh)])


def test_lines_of_all_kinds(api):
    """What is malformed is left out and told by its line; the rest is taken."""
    client = Bayesc(api)
    bad = [b"nul\0byte 1 1 20261120", b"one 1", b"two", b"minus -1 1", b"huge 4294967296 1 20261120",
           b"huger 99999999999999999999999 1", b"text x y z", b"five 1 1 20261120 1", b" 1 1 20261120",
           b"long" * 300 + b" 1 1 20261120", b".MSG_COUNT 5 5 20261120", b"real 1.5 1"]
    good = [b".MSG_COUNT 5 4 0", b"spam\t1\t0", b"caf\xe9 2 1 20261120", b"last 1 1"]
    for end in (b"\n", b"\r\n"):
        model = api.name()
        got = client.json("import", "-m", model, stdin=end.join([*good[:1], *bad, b"", *good[1:]]))
        left_out = got["bogofilter"]["left_out"]
        equal({name: row["count"] for name, row in left_out.items() if row["count"]}, {"malformed": len(bad)})
        equal(left_out["malformed"]["first_lines"], list(range(2, 10)))
        equal(words_of(client, model), {"spam": {"spam": 1}, "café": {"spam": 2, "ham": 1},
                                           "last": {"spam": 1, "ham": 1}})
        equal(counts(api, model), {"spam": 5, "ham": 4})


def test_counts_that_cannot_be(api):
    """More messages with a word than there are: left out. Messages without a word, or of one label."""
    client, model = Bayesc(api), api.name()
    got = client.json("import", "-m", model, stdin=b"! 9 9 1\n.MSG_COUNT 3 0 99999999\nhigh 4 0\nhigh 0 1\ngood 3 0\n"
                                                   b"GOOD 2 0\n? 1 0\n")
    left_out = got["bogofilter"]["left_out"]
    equal((left_out["too_high"], left_out["no_word"]),
          ({"count": 3, "first_lines": [1, 3, 4]}, {"count": 1, "first_lines": [7]}))
    equal(counts(api, model)["spam"], 3)
    equal(words_of(client, model), {"good": {"spam": 3}, "case:GOOD": {"spam": 2}})
    empty = api.name()
    client.run("import", "-m", empty, stdin=b".MSG_COUNT 700 300 20261120\n")
    equal(counts(api, empty), {"spam": 700, "ham": 300})


def test_what_is_no_list_is_refused(api):
    client, model = Bayesc(api), api.name()
    cases = [(b"v\t3\tdb_version # this must be the first line!!!\nt\t1\t0\t1\t0a0b0c0d0e\n", "SpamAssassin"),
             (b"1,2,19000,\"term\"\n", "spamprobe"), (b"REDIS0009\xfa\x09redis-ver", "Redis"),
             (b"*2\r\n$6\r\nSELECT\r\n", "Redis"), (b"SQLite format 3\0\x10\0", "bogoutil -d"),
             (b"\0" * 12 + b"\x62\x31\x05\0\x09\0\0\0", "bogoutil -d"), (b"\x1f\x8b\x08\0", "gzip"),
             (b"\x28\xb5\x2f\xfd\0", "zstd"), (b"cheap 1 1 20261120\n", ".MSG_COUNT"), (b"hello\n" * 5, "MSG_COUNT"),
             (b"\xff" * 5000, ".MSG_COUNT"), (b".MSG_COUNT 0 0 20261120\n", "no messages"),
             (b".MSG_COUNT 4000000000 4000000000\n", "8000000000"),
             (b".MSG_COUNT 1000000 1000000 20261120\ncheap 1 1 20261120\n",
              "1000000 messages of ham, but its tokens were in at most 1"),
             (b".MSG_COUNT 2000 5\ncheap 999 5\n", "2000 messages of spam, but its tokens were in at most 999"),
             (b".MSG_COUNT x y\n", ".MSG_COUNT"),
             (b".MSG_COUNT 1 0\n" + b"".join(b"w%d 1 0\n" % i for i in range(500001)), "over 500000 words")]
    for content, word in cases:
        client.run("import", "-m", model, stdin=content, status=DATAERR)
        holds(word in client.said, f"{word} in {client.said} for {content[:40]!r}")
    equal(api.get(f"/v1/models/{model}").status, 404, "nothing was made")


def test_formats(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    odd = b"{brace 1 0 20261120\n.MSG_COUNT 1 1 20261120\n"
    client.run("import", "-m", model, "--format", "bogofilter", stdin=odd)
    equal(words_of(client, model), {"brace": {"spam": 1}})
    client.run("import", "-m", model, "--replace", "--format", "bogofilter", stdin=b"\n \n" + LIST)
    client.run("import", "-m", model, "--replace", stdin=b"\n \n" + LIST)
    dump = client.run("export", "-m", model)
    client.run("import", "-m", model, "--replace", "--format", "bayesd", stdin=dump)
    client.run("import", "-m", model, "--replace", "--format", "auto", stdin=b"\n" + dump)
    equal(client.run("export", "-m", model), dump)
    for content, form in ((LIST, "bayesd"), (dump, "bogofilter"), (odd, "auto"), (b"", "auto"), (b"", "bogofilter")):
        client.run("import", "-m", model, "--replace", "--format", form, stdin=content, status=DATAERR)
    client.run("import", "-m", model, "--format", "sa", stdin=LIST, status=USAGE)
    packed = write(folder, "words.txt.gz", content=b"")
    client.run("import", "-m", model, "--format", "bogofilter", packed, status=USAGE)
    equal(client.run("export", "-m", model), dump, "what is refused changes nothing")
    holds(os.path.exists(packed), "the file stays")
