# SPDX-License-Identifier: Apache-2.0
"""Every way to send documents: JSON, batches, NDJSON, text, mail, mbox, compressed."""
import base64
import gzip
import json
import subprocess
import urllib.parse
import zlib

from book import PROBES, Model
from harness import equal, holds, problem, refused

VALGRIND = True
NDJSON = "application/x-ndjson"
MAIL = (b"From: =?utf-8?q?Ren=C3=A9e?= <renee@example.org>\r\n"
        b"Subject: =?utf-8?b?RMOpasOgIHZ1?= again\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        + base64.encodebytes("<p>Le d<i>în</i>er est &agrave; huit heures &amp; demie</p>"
                             "<script>var hidden</script>".encode()))


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "--no-check"], input=data, capture_output=True,
                          check=True).stdout


def ndjson(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tokens_of(reply):
    return {row["token"]: row["count"] for row in reply.ok().json["tokens"]}


# ---- batches ------------------------------------------------------------------------------------
def test_batch_of_every_status(api):
    with Model(api) as model:
        model.train("old one", "a", id="same")
        model.train("old two", "a", id="label")
        model.train("old three", "a", id="content")
        reply = model.post("train", {"documents": [
            {"text": "new", "label": "a", "id": "new"}, {"text": "old one", "label": "a", "id": "same"},
            {"text": "old two", "label": "b", "id": "label"}, {"text": "changed", "label": "a", "id": "content"},
            {"text": "no label"}, {"text": 7, "label": "a"}, {"label": "a"}, {"text": "x", "label": ""}]}).ok().json
        equal({k: reply[k] for k in ("learned", "unchanged", "relabelled", "updated", "failed")},
              {"learned": 1, "unchanged": 1, "relabelled": 1, "updated": 1, "failed": 4})
        statuses = [row.get("status") for row in reply["results"]]
        equal(statuses, ["learned", "unchanged", "relabelled", "updated", None, None, None, None])
        for row, status, member in zip(reply["results"][4:], (400, 400, 400, 422), ("label", "text", "text", "label")):
            problem(row["error"], status, member)
        model.documents = {"new": ("a", model.bag("new")), "same": ("a", model.bag("old one")),
                           "label": ("b", model.bag("old two")), "content": ("a", model.bag("changed"))}
        model.assert_exact(("old one two", "changed new"))


def test_one_id_twice_in_a_batch(api):
    """In order: the second is judged against what the first left."""
    with Model(api) as model:
        reply = model.post("train", {"documents": [
            {"text": "one", "label": "a", "id": "x"}, {"text": "one", "label": "a", "id": "x"},
            {"text": "two", "label": "a", "id": "x"}, {"text": "two", "label": "b", "id": "x"},
            {"text": "three three", "label": "b", "id": "x"}]}).ok().json
        equal([row["status"] for row in reply["results"]],
              ["learned", "unchanged", "updated", "relabelled", "updated"])
        model.documents = {"x": ("b", model.bag("three three"))}
        model.assert_exact(("one two three",))


def test_untrain_in_batches(api):
    with Model(api) as model:
        for i in range(4):
            model.train(f"word{i} shared", "ab"[i % 2], id=str(i))
        reply = model.post("untrain", {"documents": [{"id": "0"}, {"id": "none"}, {"id": "0"}, {"id": "3"}]}).ok().json
        equal([row.get("status") for row in reply["results"]], ["forgotten", None, None, "forgotten"])
        for i in (1, 2):
            problem(reply["results"][i]["error"], 404)
        equal(reply["failed"], 2)
        reply = model.post("untrain", '{"id": "1"}\n{"id": "1"}\n', NDJSON).ok()
        equal(reply.lines[0]["status"], "forgotten")
        problem(reply.lines[1]["error"], 404)
        for id in ("0", "1", "3"):
            del model.documents[id]
        model.assert_exact(("word2 word1 shared",))


def test_classify_and_tokenize_batches(api):
    with Model(api) as model:
        model.filled()
        documents = [{"text": t} for t in PROBES] + [{"text": 1}]
        reply = model.post("classify", {"documents": documents}).ok().json["results"]
        equal(reply[:-1], [model.classify(t) for t in PROBES])
        problem(reply[-1]["error"], 400, "text")
        reply = model.post("tokenize", {"documents": [{"text": "a b"}, {"text": ""}]}).ok().json["results"]
        equal([len(row["tokens"]) for row in reply], [2, 0])


def test_empty_batch(api):
    with Model(api) as model:
        reply = model.post("train", {"documents": []}).ok().json
        equal((reply["results"], reply["learned"], reply["failed"]), ([], 0, 0))
        equal(model.row()["documents"], 0)


def test_batch_at_and_over_the_limit(api):
    with Model(api) as model:
        documents = [{"text": f"w{i % 50}", "label": "a", "id": str(i)} for i in range(10001)]
        refused(model.post("train", {"documents": documents}), 413, "10000")
        equal(model.row()["documents"], 0)
        reply = model.post("train", {"documents": documents[:-1]}).ok().json
        equal((reply["learned"], len(reply["results"])), (10000, 10000))
        equal(model.row()["documents"], 10000)


def test_documents_beside_other_members(api):
    with Model(api) as model:
        refused(model.post("train", {"documents": [], "text": "x", "label": "a"}), 400)
        refused(model.post("train", {"documents": {}}), 400, "documents")
        refused(model.post("train", {"documents": None}), 400, "documents")
        reply = model.post("train", {"documents": [5, "x", None, []]}).ok().json
        equal(reply["failed"], 4)


# ---- NDJSON -------------------------------------------------------------------------------------
def test_ndjson_in_order_with_errors_in_place(api):
    with Model(api) as model:
        rows = [json.dumps({"text": f"word{i} fruit", "label": "ab"[i % 2], "id": f"n{i}"}) for i in range(600)]
        bad = {10: ("{broken", 400), 300: ('{"text": "x"}', 400), 301: ('{"text": "x", "label": ""}', 422),
               302: ("[]", 400), 599: ('{"txet": "x", "label": "a"}', 400), 400: ('{"text": "\\ud800", "label": "a"}', 400)}
        for i, (line, _) in bad.items():
            rows[i] = line
        reply = model.post("train", "\n".join(rows) + "\n", NDJSON).ok()
        holds(reply.headers["content-type"].startswith(NDJSON), reply.headers)
        equal(len(reply.lines), 600)
        for i, row in enumerate(reply.lines):
            if i in bad:
                problem(row["error"], bad[i][1])
            else:
                equal((row["id"], row["status"]), (f"n{i}", "learned"))
        holds("11" in reply.lines[10]["error"]["detail"] or "line" in reply.lines[10]["error"]["detail"],
              f"names no line: {reply.lines[10]}")
        equal(model.row()["documents"], 594)


def test_ndjson_line_ends(api):
    with Model(api) as model:
        model.filled()
        for body in (b'{"text":"win"}\n{"text":"garden"}', b'{"text":"win"}\r\n{"text":"garden"}\r\n',
                     b' {"text":"win"} \n\t{"text":"garden"}\n'):
            equal([row["label"] for row in model.post("classify", body, NDJSON).ok().lines], ["spam", "ham"], body)
        equal(model.post("classify", b"", NDJSON).ok().body, b"")


def test_ndjson_with_names_in_the_query(api):
    """They would be ignored; also behind an empty line, where the first document is not line 1."""
    with Model(api) as model:
        for query in ("label=ham", "id=a", "unlabelled=1"):
            for before in (b"", b"\n", b" \r\n"):
                reply = model.post("train?" + query, before + b'{"text": "win", "label": "spam"}\n', NDJSON)
                refused(reply, 400, query.split("=")[0])


def test_ndjson_of_bad_bytes(api):
    with Model(api) as model:
        model.filled()
        body = b'{"text":"\xff\xfe"}\n\x00\n{"text":"win"}\n' + b"[" * 100000 + b'\n{"text":"garden"}\n'
        rows = model.post("classify", body, NDJSON).ok().lines
        equal([row.get("label") for row in rows], ["ham", None, "spam", None, "ham"])


def test_ndjson_says_what_single_requests_say(api):
    with Model(api) as model:
        model.filled()
        reply = model.post("classify", ndjson({"text": t} for t in PROBES), NDJSON)
        equal(reply.ok().lines, [model.classify(t) for t in PROBES])


# ---- text ---------------------------------------------------------------------------------------
def test_text_plain_in_charsets(api):
    text = "Grüße aus Köln: «déjà vu», naïve café"
    with Model(api) as model:
        want = tokens_of(model.post("tokenize", {"text": text}))
        for charset in ("utf-8", "UTF-8", '"utf-8"', "iso-8859-1", "windows-1252", "utf-16", "utf-16le",
                        "UTF-16BE", "utf-32"):
            body = text.encode(charset.strip('"'))
            equal(tokens_of(model.post("tokenize", body, f"text/plain; charset={charset}")), want, charset)
        equal(tokens_of(model.post("tokenize", text, "text/plain")), want)
        equal(tokens_of(model.post("tokenize", text, "Text/Plain;format=flowed; Charset=UTF-8")), want)
        for charset, other in (("koi8-r", "Привет, мир"), ("shift_jis", "無料でお金"), ("gb18030", "免费大奖"),
                               ("euc-kr", "무료 상품"), ("iso-8859-15", "5 €"), ("windows-1251", "Деньги")):
            equal(tokens_of(model.post("tokenize", other.encode(charset), f"text/plain; charset={charset}")),
                  tokens_of(model.post("tokenize", {"text": other})), charset)
        refused(model.post("tokenize", "x", "text/plain; charset=no-such-charset"), 415, "no-such-charset")


def test_text_plain_with_label_and_id(api):
    with Model(api) as model:
        receipt = model.post("train?label=a%20b&id=%C3%A9", "some words", "text/plain").ok().json
        equal((receipt["label"], receipt["id"], receipt["tokens"]), ("a b", "é", 2))
        equal(model.train("some words", "a b", id="é")["status"], "unchanged")
        no_id = model.post("train?label=c", "other words", "text/plain").ok().json
        equal(model.train("other words", "c")["id"], no_id["id"])
        refused(model.post("train", "some words", "text/plain"), 400, "label")
        refused(model.post("train?label=", "some words", "text/plain"), 422, "label")
        refused(model.post("train?label=a&id=" + "x" * 257, "words", "text/plain"), 422, "id")
        refused(model.post("train?label=a&label=b", "words", "text/plain"), 400, "label")
        refused(model.post("train?label=%FF", "words", "text/plain").ok(422), 422, "label")


def test_text_that_is_not_utf8(api):
    """Bytes that are no UTF-8 stop no document; in JSON they are an error."""
    with Model(api) as model:
        seen = tokens_of(model.post("tokenize", b"caf\xe9 \x80 \xff\xfe", "text/plain"))
        holds("café" in seen, seen)
        refused(model.post("tokenize", b'{"text": "caf\xe9"}', "application/json"), 400)


# ---- mail ---------------------------------------------------------------------------------------
def test_raw_mail(api):
    with Model(api) as model:
        receipt = model.post("train?label=fr", MAIL, "message/rfc822").ok().json
        equal(receipt["status"], "learned")
        equal(model.post("train", {"mail": MAIL.decode(), "label": "fr"}).ok().json["status"], "unchanged")
        coded = base64.b64encode(MAIL).decode()
        equal(model.post("train", {"mail_base64": coded, "label": "fr"}).ok().json["status"], "unchanged")
        seen = tokens_of(model.post("tokenize", MAIL, "message/rfc822"))
        holds({"le", "dîner", "est", "à", "huit", "heures", "&", "demie"} <= set(seen), seen)
        holds(not {"p", "i", "amp", "agrave", "script", "var", "hidden"} & set(seen), seen)
        holds(any(token.endswith("déjà") for token in seen), f"no Subject in {seen}")
        equal(model.post("untrain", MAIL, "message/rfc822").ok().json["label"], "fr")


def test_mail_and_text_of_the_same_bytes(api):
    with Model(api) as model:
        raw = "Subject: one\n\nbody\n"
        a = model.post("train", {"text": raw, "label": "a"}).ok().json["id"]
        b = model.post("train", {"mail": raw, "label": "a"}).ok().json["id"]
        holds(a != b, "a text and a mail are two documents")
        equal(model.row()["documents"], 2)


def test_a_mail_is_one_document_however_it_travelled(api):
    """What an mbox, a Maildir and IMAP hand over is one mail: trained again it changes nothing, moved
    to Junk it is relabelled, not counted twice."""
    lf = MAIL.replace(b"\r\n", b"\n")
    crlf = lf.replace(b"\n", b"\r\n")
    from_line = b"From anna@example.org Thu Jan  1 00:00:00 1970\n"
    shapes = {"LF": lf, "CRLF": crlf, "mbox": from_line + lf + b"\n", "mbox, CRLF": from_line + crlf,
              "no last line end": lf.rstrip(b"\n")}
    with Model(api) as model:
        first = model.post("train?label=ham", lf, "message/rfc822").ok().json
        for name, mail in shapes.items():
            again = model.post("train?label=ham", mail, "message/rfc822").ok().json
            equal((again["status"], again["id"]), ("unchanged", first["id"]), name)
        moved = model.post("train?label=spam", crlf, "message/rfc822").ok().json
        equal((moved["status"], moved["previous_label"]), ("relabelled", "ham"))
        equal(model.row()["documents"], 1)
        equal(model.post("untrain", from_line + lf, "message/rfc822").ok().json["id"], first["id"])
        other = model.post("train?label=ham", lf + b"more", "message/rfc822").ok().json
        holds(other["id"] != first["id"], "another mail is another document")
        # A text is its bytes.
        one, two = (model.post("train?label=ham", text, "text/plain").ok().json["id"] for text in (lf, crlf))
        holds(one != two, "two texts")


def in_files(mail):
    """A mail as files have it that somebody saved or copied, by what is before its header."""
    talk = (b"220 mx ESMTP\nEHLO me\n250-mx\n250 SIZE 9\nMAIL FROM:<a@b.example>\n250 Ok\n"
            b"RCPT TO:<c@d.example>\n250 Ok\nDATA\n354 go on\n")
    return {"an empty line": b"\r\n" + mail, "a line of blanks": b" " * 250 + b"\n" + mail,
            "a blank": b" " + mail, "a mark of UTF-8": b"\xef\xbb\xbf" + mail, "POP3": b"+OK 812 octets\r\n" + mail,
            "SMTP": talk + mail, "a line of an mbox": b"\nFrom a@b Thu Jan  1 00:00:00 1970\n" + mail,
            "a quoted line of an mbox": b">From a@b Thu Jan  1 00:00:00 1970\n\n" + mail,
            "base64": b"VGhlIGhhcmJvdXIgbGVkZ2VyIGlzIGF0dGFjaGVkLgo=\n" + mail,
            "CR": mail.replace(b"\n", b"\r"), "UTF-16": mail.decode().encode("utf-16"),
            "UTF-16, big endian": b"\xfe\xff" + mail.decode().encode("utf-16-be")}


FILED = (b"From: a@b.example\nSubject: harbour\nDate: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <1@b.example>\n"
         b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=zz\n\n--zz\n"
         b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nbGVkZ2VyCg==\n--zz--\n")


def test_the_mail_of_a_file_begins_with_its_header(api):
    """Of message/rfc822, JSON and an mbox: features and id are those of the mail alone."""
    with Model(api) as model:
        first = model.post("train?label=ham", FILED, "message/rfc822").ok().json
        tokens = tokens_of(model.post("tokenize", FILED, "message/rfc822"))
        holds({"subject:harbour", "ledger"} <= set(tokens) and "zz" not in tokens, tokens)
        for name, file in in_files(FILED).items():
            got = tokens_of(model.post("tokenize", file, "message/rfc822"))
            equal(got, tokens, name)
            json = {"mail_base64": base64.b64encode(file).decode(), "label": "ham"}
            for reply in (model.post("train?label=ham", file, "message/rfc822"), model.post("train", json)):
                equal((reply.ok().json["status"], reply.json["id"]), ("unchanged", first["id"]), name)
        for name, file in in_files(mbox(FILED, FILED)).items():
            if name not in ("a mark of UTF-8", "an empty line", "CR", "UTF-16", "UTF-16, big endian"):
                continue
            reply = model.post("train?label=ham", file, "application/mbox").ok().json
            equal([row["id"] for row in reply["results"]], [first["id"]] * 2, name)
        # What has no header behind it is a body.
        body = b"\nledger: one\n"
        holds("ledger" in tokens_of(model.post("tokenize", body, "message/rfc822")), "a body")


def test_mail_base64_is_strict(api):
    with Model(api) as model:
        for bad in ("%%%", "YQ", "YQ=", "Y===", "YWJj!", "YQ==YQ==", 5, None):
            refused(model.post("tokenize", {"mail_base64": bad}), 400, "mail_base64")
        equal(model.post("tokenize", {"mail_base64": ""}).ok().json["tokens"], [])


def test_mails_of_any_bytes(api):
    with Model(api) as model:
        model.filled()
        mails = [b"", b"\n", b"\r\n\r\n", b"\0" * 1000, bytes(range(256)) * 20, b"Subject:", b":\n\n", b"From \n",
                 b"Content-Type: multipart/mixed; boundary=x\n\n--x\n--x\n--x--", MAIL[:200], MAIL * 3,
                 b"Content-Type: text/plain; charset=no-such\n\nwords", b"Content-Type: " + b"a" * 100000 + b"\n\nx",
                 b"Content-Transfer-Encoding: base64\n\n!!!!win!!!!", b"Subject: =?utf-8?b?////?=\n\nx"]
        for mail in mails:
            model.post("classify", mail, "message/rfc822").ok()
        for _ in range(60):
            mail = bytearray(MAIL)
            for _ in range(api.random.randrange(30)):
                mail[api.random.randrange(len(mail))] = api.random.randrange(256)
            model.post("classify", bytes(mail), "message/rfc822").ok()


def mbox(*mails):
    out = b""
    for mail in mails:
        out += b"From sender@example.org Thu Jan  1 00:00:00 1970\n" + mail + b"\n"
    return out


def test_mbox(api):
    one = b"Subject: one\n\napples here\n"
    two = b"Subject: two\n\nbefore\n>From the start\n>>From deeper\nafter\n"
    with Model(api) as model:
        reply = model.post("train?label=mixed", mbox(one, two, one), "application/mbox").ok().json
        equal((reply["learned"], reply["unchanged"], reply["failed"]), (2, 1, 0))
        equal([row["label"] for row in reply["results"]], ["mixed"] * 3)
        equal(model.post("train", {"mail": one.decode(), "label": "mixed"}).ok().json["status"], "unchanged")
        unquoted = two.replace(b">From the", b"From the").replace(b">>From", b">From").decode()
        equal(model.post("train", {"mail": unquoted, "label": "mixed"}).ok().json["status"], "unchanged")
        results = model.post("classify", mbox(one, two), "application/mbox").ok().json["results"]
        equal([row["label"] for row in results], ["mixed", "mixed"])
        results = model.post("tokenize", mbox(one, two), "application/mbox").ok().json["results"]
        holds("apples" in {row["token"] for row in results[0]["tokens"]}, results)
        equal(model.post("untrain", mbox(one, two), "application/mbox").ok().json["failed"], 0)
        equal(model.row()["documents"], 0)


def test_mbox_odd_ones(api):
    with Model(api) as model:
        model.filled()
        refused(model.post("train?label=a", b"Subject: no From line\n\nx\n", "application/mbox"), 400)
        refused(model.post("train", mbox(b"Subject: x\n\ny\n"), "application/mbox"), 400, "label")
        equal(model.post("classify", b"", "application/mbox").ok().json["results"], [])
        crlf = mbox(b"Subject: one\n\ngarden\n").replace(b"\n", b"\r\n") * 2
        equal(len(model.post("classify", crlf, "application/mbox").ok().json["results"]), 2)
        refused(model.post("train?label=a", mbox(b"Subject: x\n\ny\n") * 10001, "application/mbox"), 413, "10000")
        equal(model.row()["documents"], 7)


TABLE = """\ufefftext,label,id,country,tags[],amount,title\r
hello,a,1,DE,vip; new ;,12.5,"two
lines, and ""quotes\"""\r
,b,2,FR,,,\r

"a, b",a,3,,,,x
"""
TABLE_ROWS = [{"text": "hello", "label": "a", "id": "1", "values": {"country": "DE", "tags": ["vip", "new"], "amount": 12.5,
                                                                     "title": 'two\nlines, and "quotes"'}},
              {"label": "b", "id": "2", "values": {"country": "FR"}},
              {"text": "a, b", "label": "a", "id": "3", "values": {"title": "x"}}]
TABLE_FIELDS = {"country": "category", "tags": "set", "amount": "number", "title": "text"}


def test_csv(api):
    """A row is what the line of NDJSON is that it stands for: the same replies, counts and verdicts."""
    with Model(api, fields=TABLE_FIELDS) as table, Model(api, fields=TABLE_FIELDS) as lines:
        got = table.post("train", TABLE, "text/csv").ok().json
        equal((got["learned"], got["failed"]), (3, 0))
        equal([row["id"] for row in got["results"]], ["1", "2", "3"])
        want = [{**json.loads(row), "model": table.name} for row in lines.post("train", ndjson(TABLE_ROWS), NDJSON).ok().body.splitlines()]
        equal(got["results"], want)
        for key in ("documents", "vocabulary", "labels"):
            equal(table.row()[key], lines.row()[key])
        for verb in ("classify", "tokenize"):
            want = [json.loads(row) for row in lines.post(verb, ndjson(TABLE_ROWS), NDJSON).ok().body.splitlines()]
            equal(table.post(verb, TABLE, "text/csv; charset=utf-8").ok().json["results"], [{**row, "model": table.name} if "model" in row else row
                                                                            for row in want])
        equal(table.post("train", TABLE.encode(), "text/csv").ok().json["unchanged"], 3)
        equal(table.post("untrain", "id\n1\n2\n3\n", "text/csv").ok().json["failed"], 0)
        equal(table.row()["documents"], 0)


def test_csv_odd_ones(api):
    with Model(api, fields={"country": "category"}) as model:
        model.filled()
        got = model.post("train", "text,label,country\nx,a\ny,a,DE,\nz,,DE\nw,a,FR\n", "text/csv").ok().json
        equal((got["learned"], got["failed"]), (1, 3))
        for row, words in zip(got["results"], (("line 2", "2 cells", "3"), ("line 3", "4 cells"), ("line 4", "label"))):
            holds(all(word in row["error"]["detail"] for word in words), row)
        got = model.post("classify", "text,planet\nx,Mars\ny,\n", "text/csv").ok().json["results"]
        holds("planet" in got[0]["error"]["detail"] and "error" not in got[1], got)
        equal(model.post("classify", "text\n", "text/csv").ok().json["results"], [])
        for body, status, words in (("", 400, ("line of names",)), ("text,,label\n", 400, ("column 2",)), ("a,b,a\n", 400, ("'a'", "twice")),
                                    ('text\n"x', 400, ("line 2", "not closed")), ('text\n"x"y\n', 400, ("line 2", "closing quote")),
                                    (b"text\n\x81\n", 400, ("UTF-8", "charset")), (",".join(f"c{n}" for n in range(513)), 413, ("512",)),
                                    ("text\n" + "x\n" * 10001, 413, ("10000", "batch_documents"))):
            refused(model.post("classify", body, "text/csv"), status, *words)
        refused(model.post("train?label=a", "text\nx\n", "text/csv"), 400, "label", "column")
        equal(model.row()["documents"], 8)


def test_a_column_that_is_no_member_is_named(api):
    """A model that is not there has no fields: what is wrong is the name of the column, and not the model's."""
    name = api.name()
    for body, kind in (("body,label\nx,a\n", "text/csv"), ({"values": {"body": "x"}, "label": "a"}, "application/json"),
                       ({"documents": [{"text": "x", "values": {"body": "x"}, "label": "a"}]}, "application/json")):
        refused(api.post(f"/v1/models/{name}/train", body, kind), 404, "'body'", f"no model '{name}' that has fields", "text, label")
    reply = api.post(f"/v1/models/{name}/train", '{"values": {"body": "x"}, "label": "a"}\n', "application/x-ndjson")
    holds(b"'body'" in reply.body, reply.body)
    refused(api.post(f"/v1/models/{name}/untrain", {"values": {"body": "x"}}), 404, f"there is no model '{name}'")
    refused(api.post(f"/v1/models/{name}/classify", {"values": {"body": "x"}}), 404, f"there is no model '{name}'")


def test_a_cut_emoji_is_said(api):
    name = api.name()
    for cut in ('{"text": "a \\ud83d", "label": "a"}', '{"text": "\\ude00 b", "label": "a"}', '{"text": "\\ud83d\\u0041", "label": "a"}'):
        refused(api.post(f"/v1/models/{name}/train", cut, "application/json"), 400, "half of a character", "emoji")
        got = api.post(f"/v1/models/{name}/train", cut + '\n{"text": "b", "label": "a"}\n', "application/x-ndjson").ok().lines
        holds("line 1: not valid JSON" in got[0]["error"]["detail"] and "half of a character" in got[0]["error"]["detail"], got)
        equal("status" in got[1], True)


def test_csv_in_all_charsets_and_forms(api):
    """The same rows, whatever a spreadsheet wrote."""
    table = "text,label,id\nMüll €,Größe,1\nanderes,b,2\n"
    with Model(api) as model:
        first = True
        for body, media in ((table.encode(), ""), (table.encode("cp1252"), ""), (table.encode("utf-8-sig"), ""),
                            (table.encode("utf-16"), ""), (table.encode("utf-16-le"), ""), (table.encode("cp858"), "; charset=cp858"),
                            (table.replace("\n", "\r").encode(), ""), (table.replace(",", ";").encode(), ""),
                            (("sep=;\r\n" + table.replace(",", ";")).encode("cp1252"), ""), (table.replace(",", "\t").encode(), "")):
            got = model.post("train", body, "text/csv" + media).ok().json
            equal((got["learned" if first else "unchanged"], got["failed"]), (2, 0), (body, got))
            first = False
        refused(model.post("train", table.encode() + b"\xfc,b,3\n", "text/csv"), 400, "UTF-8")
        refused(model.post("train", b"\xfc", "text/csv; charset=nonsense"), 415, "nonsense")
        equal(sorted(model.row()["labels"]), ["Größe", "b"])


def test_labels_have_one_form(api):
    """White space around a label and its composition make no other one, at any door."""
    with Model(api) as model:
        for i, label in enumerate(("Müll", " Müll", "Mu\u0308ll\u00a0", "\tMüll\n")):
            model.post("train", {"text": f"a{i}", "label": label}).ok()
            model.post("train?label=" + urllib.parse.quote(label), f"b{i}", "text/plain").ok()
        equal(model.row()["labels"]["Müll"]["documents"], 8)
        for label in ("M\ufffdll", "   ", "\u00a0"):
            refused(model.post("train", {"text": "x", "label": label}), 422, "label")
        model.post("train", {"text": "y", "label": "other"}).ok()
        api.call("PATCH", f"/v1/models/{model.name}/labels/" + urllib.parse.quote(" Mu\u0308ll"), {"name": " Abfall "}).ok()
        equal(sorted(model.row()["labels"]), ["Abfall", "other"])
        api.delete(f"/v1/models/{model.name}/labels/" + urllib.parse.quote("Abfall ")).ok()
        holds("Abfall" not in model.row()["labels"], "a label without documents")
    name = api.name()
    api.put(f"/v1/models/{name}", {"preset": "book", "prior": {" Mu\u0308ll ": 2, "b": 1}}).ok(201)
    equal(api.get(f"/v1/models/{name}").ok().json["settings"]["prior"], {"Müll": 2, "b": 1})


def test_csv_of_one_column(api):
    """Spreadsheets and Python write an empty cell that is alone as "", since a line without anything is no row."""
    with Model(api) as model:
        model.filled()
        for end in ("\n", "\r\n"):
            table = end.join(("text", "win", '""', "", "garden", '""'))
            rows = model.post("classify", table, "text/csv").ok().json["results"]
            equal([row.get("label", row.get("error", {}).get("status")) for row in rows], ["spam", 400, "ham", 400], table)


# ---- compressed bodies --------------------------------------------------------------------------
def test_compressed_bodies(api):
    with Model(api) as model:
        model.filled()
        want = model.classify(PROBES[0])
        bodies = {"application/json": json.dumps({"text": PROBES[0]}).encode(), "text/plain": PROBES[0].encode(),
                  NDJSON: json.dumps({"text": PROBES[0]}).encode() + b"\n"}
        for kind, body in bodies.items():
            for encoding, packed in (("gzip", gzip.compress(body)), ("zstd", zstd(body)), ("GZIP", gzip.compress(body)),
                                     ("gzip", gzip.compress(body[:5]) + gzip.compress(body[5:])),
                                     ("zstd", zstd(body[:5]) + zstd(body[5:]))):
                reply = model.post("classify", packed, kind, Content_Encoding=encoding).ok()
                equal(json.loads(reply.body), want, f"{kind} {encoding}")
        big = ndjson({"text": f"word{i}", "label": "bulk", "id": str(i)} for i in range(3000)).encode()
        for packed, encoding in ((gzip.compress(big), "gzip"), (zstd(big), "zstd")):
            equal(len(model.post("train", packed, NDJSON, Content_Encoding=encoding).ok().lines), 3000)
        equal(model.row()["labels"]["bulk"]["documents"], 3000)


def test_broken_compression(api):
    with Model(api) as model:
        model.filled()
        body = json.dumps({"text": "win " * 1000, "label": "spam"}).encode()
        packed, packed_z = gzip.compress(body), zstd(body)
        flipped = packed[:-6] + bytes([packed[-6] ^ 255]) + packed[-5:]
        for encoding, bad in (("gzip", b"not gzip"), ("gzip", packed[:-9]), ("gzip", packed[:12]), ("gzip", b""),
                              ("gzip", flipped), ("gzip", packed + b"trailing"), ("gzip", zlib.compress(body)),
                              ("gzip", packed_z), ("zstd", b"not zstd"), ("zstd", packed_z[:-3]), ("zstd", packed),
                              ("zstd", packed_z + b"trailing")):
            refused(model.post("train", bad, "application/json", Content_Encoding=encoding), 400)
        for encoding in ("br", "deflate", "x-none", "gzip2"):
            refused(model.post("train", body, "application/json", Content_Encoding=encoding), 415, encoding, "gzip", "zstd")
        equal(model.row()["documents"], 7)


def test_compressed_import(api):
    with Model(api) as model, Model(api) as copy:
        model.filled()
        dump = api.get(model.path + "/export").ok().body
        api.put(copy.path + "/import", zstd(dump), NDJSON, Content_Encoding="zstd").ok()
        copy.documents = dict(model.documents)
        copy.assert_exact()


def test_html_is_a_page(api):
    """Tags are markup; what is hidden is not text; the charset is found as of a text."""
    with Model(api) as model:
        page = "<html><title>Titel</title><body class=zzclass><p>M&uuml;ll <b>Grö</b>ße<span style='display:none'>versteckt</span></body></html>"
        for body, media in ((page.encode(), "text/html"), (page.encode("cp1252"), "text/html"), (page.encode("utf-16"), "text/html"),
                            (page.encode("cp858"), "text/html; charset=cp858")):
            tokens = {row["token"] for row in model.post("tokenize", body, media).ok().json["tokens"]}
            holds({"müll", "grösse"} <= tokens and not {"zzclass", "body", "versteckt"} & tokens, (media, tokens))
        equal(model.post("train?label=spam", page, "text/html").ok().json["status"], "learned")
        equal(model.post("train?label=spam", page, "text/html").ok().json["status"], "unchanged")
        equal(model.post("train?label=spam", page, "text/plain").ok().json["status"], "learned")


def warnings_of(reply):
    return reply.ok().json.get("warnings", [])


def test_warnings_of_labels(api):
    """The first document of a label that is probably a slip for another one is learned, and the reply says so."""
    with Model(api) as model:
        def train(label, **more):
            return warnings_of(model.post("train", {"text": f"x {label}", "label": label, **more}))
        equal([train("spam"), train("spam", id="a"), train("invoice"), train("Größe")], [[]] * 4)
        equal(train("Spam"), ["the label 'Spam' is new and differs from 'spam' only by capitals"])
        equal(train("GRÖSSE"), ["the label 'GRÖSSE' is new and differs from 'Größe' only by capitals"])
        equal(train("in\u200bvoice"), ["the label 'in\u200bvoice' is new and differs from 'invoice' only by characters that are not seen or look the same"])
        equal(train("invocie"), ["the label 'invocie' is new and differs from 'invoice' by one or two letters"])
        equal(train("cluster-1") + train("cluster-2") + train("ham"), [], "names that are counted up, and others")
        equal(model.post("train", {"text": "another", "label": "Spam"}).ok().json.get("warnings"), None, "it is there now")
        got = model.post("train", {"documents": [{"text": "b1", "label": "SPAM"}, {"text": "b2", "label": "SPAM"}, {"text": "b3", "label": "spam"}]}).ok().json
        equal(["warnings" in row for row in got["results"]], [True, False, False], got)
        lines = model.post("train", '{"text": "c1", "label": "invoise"}\n{"text": "c2", "label": "invoise"}\n', NDJSON).ok().body.splitlines()
        equal(["warnings" in json.loads(line) for line in lines], [True, False], lines)
        got = model.post("train", {"id": "a", "label": "spamm"}).ok().json
        equal((got["status"], len(got["warnings"])), ("relabelled", 1), got)
        got = api.post(f"{model.path}/documents/a/label", {"label": "spa m"}).ok().json
        equal((got["status"], len(got["warnings"])), ("relabelled", 1), got)
        holds("spamm" not in got["warnings"][0], "the label without documents is no other one")
        def rename(old, new, **more):
            return warnings_of(api.call("PATCH", f"{model.path}/labels/" + urllib.parse.quote(old), {"name": new, **more}))
        equal(rename("ham", "Invoice"), ["the label 'Invoice' is new and differs from 'invoice' only by capitals"])
        equal(rename("Invoice", "quite another"), [])
        equal(rename(" quite another ", "cluster-1", merge=True), [])


def test_warnings_of_settings(api):
    """Labels and values in settings that no document of the model has are told; a field that is not there is refused."""
    def said(what, name):
        return f"names the {what} '{name}', of which the model has no document"
    def put(settings):
        return "; ".join(warnings_of(api.put(model.path, {"decision": "bayes", "fields": {"land": "category", "price": "number"}, **settings})))
    with Model(api) as model:
        equal(put({"prior": {"nosuch": 2}}), "", "a model that has learned nothing")
        model.post("train", {"text": "a trip", "label": "ham", "values": {"land": "DE", "price": 3}}).ok()
        model.post("train", {"text": "buy now", "label": "spam", "values": {"land": "FR", "price": 9}}).ok()
        equal(put({"prior": {"ham": 2, "spam": 1}}), "")
        got = put({"prior": {"ham": 2, "nosuch": 2, "spma": 1}})
        holds(said("label", "nosuch") in got and said("label", "spma") in got, got)
        holds(said("label", "spma") in put({"prior": {"dirichlet": {"default": 1, "labels": {"spma": 2}}}}), "a Dirichlet prior")
        holds(said("label", "Spam") in put({"smoothing": {"labels": {"Spam": 1, "ham": 2}}}), "smoothing by label")
        equal(put({"smoothing": {"values": {"land": {"DE": 2, "FR": {"ham": 1}}}, "default": 1}}), "")
        got = put({"smoothing": {"values": {"land": {"DE": 2, "Fr": 3, "IT": {"hma": 1}}}, "default": 1}})
        holds(said("value", "land=Fr") in got and said("value", "land=IT") in got and said("label", "hma") in got, got)
        refused(api.put(model.path, {"decision": "bayes", "smoothing": {"values": {"lnad": {"DE": 2}}, "default": 1}}), 422, "lnad")
        many = put({"prior": {f"{'x' * 50}-{i}": 1 for i in range(1000)}})
        holds(many.count("names the label") >= 5 and len(many) < 1024, many)


def test_warnings_of_many_labels(api):
    """Two thousand labels: a new one is compared with some of them, in little time."""
    with Model(api) as model:
        body = "".join(json.dumps({"text": f"word{i}", "label": f"topic of {chr(97 + i % 26) * 5}{i}"}) + "\n" for i in range(2000))
        reply = model.post("train", body, NDJSON).ok()
        holds(not any(b'"error"' in line for line in reply.body.splitlines()), reply.body[:300])
        equal(len(warnings_of(model.post("train", {"text": "y", "label": "Topic of aaaaa0"}))), 1)


def test_warnings_of_charsets(api):
    """A text that is read as windows-1252 because nothing else fits is answered with a word about it, once."""
    with Model(api) as model:
        text = "Müll €"
        for operation in ("train?label=a", "classify", "tokenize"):
            for media in ("text/plain", "text/html"):
                equal(warnings_of(model.post(operation, text.encode(), media)), [])
                equal(warnings_of(model.post(operation, text.encode("cp1252"), media + "; charset=windows-1252")), [])
                told = warnings_of(model.post(operation, text.encode("cp1252"), media))
                holds(len(told) == 1 and "windows-1252" in told[0] and "charset" in told[0], (operation, media, told))
                told = warnings_of(model.post(operation, "Müll, Grüße, Öl ".encode() + b"\xfc", media))
                holds(len(told) == 1 and "some bytes" in told[0], told)
            table = "text,label\nMüll,a\nÖl,a\n" if "train" in operation else "text\nMüll\nÖl\n"
            operation = operation.partition("?")[0]
            equal(warnings_of(model.post(operation, table.encode(), "text/csv")), [])
            got = model.post(operation, table.encode("cp1252"), "text/csv").ok().json
            holds(len(got["warnings"]) == 1 and "windows-1252" in got["warnings"][0] and not any("warnings" in row for row in got["results"]), got)
            line = '{"text": "Müll", "label": "a"}\n'
            rows = [json.loads(row) for row in model.post(operation, line.encode("cp1252") + line.encode(), NDJSON).ok().body.splitlines()]
            equal([len(row.get("warnings", [])) for row in rows], [1, 0], rows)


def test_numbers_are_names(api):
    """A whole number as label or id is its text, in every form of JSON; one with a point is refused."""
    with Model(api) as model:
        got = model.post("train", {"text": "x", "label": 1, "id": 5}).ok().json
        equal((got["label"], got["id"], got["status"]), ("1", "5", "learned"))
        equal(model.post("train", {"text": "x", "label": "1", "id": "5"}).ok().json["status"], "unchanged")
        equal(model.post("train", {"documents": [{"text": "y", "label": 0, "id": -6}, {"values": {}, "text": "x", "label": 1, "id": 5}]}).ok().json["failed"], 0)
        lines = '{"text": "z", "label": 1, "id": 7}\n{"t\\u0065xt": "z", "label": 1, "id": 7}\n{"text": "z", "label": 1.0, "id": 8}\n{"text": "z", "label": 1, "id": 1e3}\n'
        rows = [json.loads(row) for row in model.post("train", lines, NDJSON).ok().body.splitlines()]
        equal([row.get("status") for row in rows], ["learned", "unchanged", None, None], rows)
        holds('"label" must be a string or a whole number' in rows[2]["error"]["detail"] and '"id"' in rows[3]["error"]["detail"], rows)
        equal({label: row["documents"] for label, row in model.row()["labels"].items()}, {"0": 1, "1": 2})
        equal(model.post("train", {"id": 7, "label": 0}).ok().json["status"], "relabelled")
        equal(api.post(f"{model.path}/documents/7/label", {"label": 1}).ok().json["label"], "1")
        equal(api.post(f"{model.path}/documents/7/label", {"label": " 1 "}).ok().json["label"], "1")
        equal(model.post("classify", {"text": "x", "id": 3}).ok().json["label"], "1")
        equal(model.post("untrain", {"id": 7}).ok().json["status"], "forgotten")


def test_html_says_its_charset(api):
    """As in browsers and in mails: a byte order mark, the transport, what the page says; else it is guessed, and said."""
    with Model(api) as model:
        def read(head, media="text/html", charset="cp1251", mark=b""):
            page = mark + (f"<html><head>{head}</head><body>" + "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440</body></html>").encode(charset)
            got = model.post("tokenize", page, media).ok().json
            return {row["token"] for row in got["tokens"]}, got.get("warnings")
        right = ({"\u043f\u0440\u0438\u0432\u0435\u0442", "\u043c\u0438\u0440"}, None)
        meta = "<meta charset=windows-1251>"
        for head in (meta, "<META CharSet='cp1251'>", '<meta content="text/html; charset=windows-1251" http-equiv=Content-Type>'):
            equal(read(head), right, head)
        equal(read(meta, "text/html; charset=us-ascii"), right, "a name that says nothing")
        equal(read(meta, charset="utf-8"), right, "UTF-8 is UTF-8")
        equal(read(meta, charset="utf-8", mark=b"\xef\xbb\xbf"), right)
        equal(read("<meta charset=koi8-r>", "text/html; charset=windows-1251"), right, "the transport comes first")
        equal(read("<meta charset=koi8-r>", charset="koi8-r"), right)
        for charset in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
            equal(read(meta, charset=charset)[0], right[0], charset)
        equal(read(meta, "text/html; charset=windows-1251", "utf-16"), right, "the mark comes before the transport")
        equal(read("<meta charset=shift_jis>", charset="shift_jis")[1], None)
        for head in ("", "<meta charset=nonsense>", "<meta charset=utf-8>"):
            tokens, told = read(head)
            holds(not right[0] & tokens and len(told) == 1 and "windows-1252" in told[0], (head, tokens, told))
        equal(read(meta, "text/plain")[1] is None, False, "in a text it is a word")
