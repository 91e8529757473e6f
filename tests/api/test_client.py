# SPDX-License-Identifier: Apache-2.0
"""bayesc, the real client, against the real daemon: every command, every source of documents, what
comes out, and the exit status."""
import contextlib
import csv
import hashlib
import http.server
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
import xml.dom.minidom

from harness import FAULTS, clean_environment, equal, holds, near, patience, wait_for
from ports import free_port

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SAMPLE = os.path.join(TOP, "scripts", "sample")
VALGRIND = True
USAGE, DATAERR, NOINPUT, UNAVAILABLE, CANTCREAT, IOERR, TEMPFAIL, NOPERM = 64, 65, 66, 69, 73, 74, 75, 77
COMMANDS = ("train", "classify", "explain", "filter", "untrain", "suspects", "models", "stats", "evaluate",
            "export", "import", "undo", "backup", "quarantine", "refit", "sample", "network",
            "rename-label", "delete-label", "derive", "cluster", "create", "set", "show", "delete", "bench", "restore", "em", "watch", "nodes", "status", "challenger")
HAM = b"From: anna@example.org\nTo: ben@example.org\nSubject: garden %d\nDate: today\n\nlunch in the garden %d\n"
SPAM = b"From: win@example.net\nTo: ben@example.org\nSubject: prize %d\nDate: today\n\ncheap pills, win a prize %d\n"


class Bayesc:
    """Runs the client that was built beside the daemon."""

    def __init__(self, api, url=None):
        self.path = os.path.join(os.path.dirname(api.binary), "bayesc")
        holds(os.access(self.path, os.X_OK), f"{self.path} is not there: build it first")
        self.url = url or f"http://{api.daemon.host}:{api.daemon.port}"

    def environment(self, **extra):
        kept = {k: v for k, v in clean_environment().items() if not k.startswith("BAYESC_")}
        return {**kept, "BAYESC_URL": self.url, **extra}

    def run(self, *arguments, stdin=b"", status=0, environment=None):
        """Its output as bytes, after its exit status was checked."""
        done = subprocess.run([self.path, *arguments], input=stdin, capture_output=True,
                              env=self.environment(**(environment or {})), timeout=patience(60),
                              check=False)
        self.said = done.stderr.decode("utf-8", "replace")
        for fault in FAULTS:
            holds(fault not in self.said, self.said)
        equal(done.returncode, status, f"bayesc {' '.join(arguments)}: {self.said}{done.stdout[:500]!r}")
        return done.stdout

    def json(self, *arguments, **how):
        return json.loads(self.run(*arguments, "--json", **how))


def counts(api, model):
    labels = api.get(f"/v1/models/{model}").ok().json["labels"]
    return {name: row["documents"] for name, row in labels.items()}


def write(*parts, content):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def mbox(mails):
    return b"".join(b"From x Thu Jan  1 00:00:00 1970\n" + re.sub(rb"(?m)^(>*From )", rb">\1", m) + b"\n"
                    for m in mails)


def trained(api, number=12):
    """A client, and a model of so many spam and ham mails."""
    client, model = Bayesc(api), api.name()
    folder = api.new_folder()
    for i in range(number):
        write(folder, "spam", f"{i}", content=SPAM % (i, i))
        write(folder, "ham", f"{i}", content=HAM % (i, i))
    client.run("train", "-m", model, "--by-folder", folder)
    equal(counts(api, model), {"spam": number, "ham": number})
    return client, model, folder


# ---- training -----------------------------------------------------------------------------------
def test_training_again_changes_nothing(api):
    client, model, folder = trained(api)
    got = client.json("train", "-m", model, "--by-folder", folder)
    equal((got["learned"], got["unchanged"], got["failed"]), (0, 24, 0))
    holds(b"0 learned, 24 unchanged" in client.run("train", "-m", model, "--by-folder", folder), "summary")


def test_sources_bring_the_same_documents(api):
    """A mail is the same document, with the same id, by whichever way it comes."""
    client, folder = Bayesc(api), api.new_folder()
    mails = [SPAM % (i, i) + b"\nFrom here on\n>From quoted\n\xff\xfe not UTF-8\n" for i in range(7)]
    for i, content in enumerate(mails):
        write(folder, "folder", "deep", f"{i}.eml", content=content)
        write(folder, "maildir", "cur" if i % 2 else "new", f"{i}.host:2,S", content=content)
    os.makedirs(os.path.join(folder, "maildir", "tmp"), exist_ok=True)
    write(folder, "maildir", "cur", "9.host:2,ST", content=HAM % (1, 1))  # marked as trash
    write(folder, "mbox", content=mbox(mails))
    write(folder, "index", content=b"".join(b"spam folder/deep/%d.eml\n" % i for i in range(7)))
    for name in ("folder", "maildir", "mbox", "stdin", "index"):
        model = api.name()
        options = ["--label", "spam"] if name != "index" else ["--format", "index"]
        path = [os.path.join(folder, name)] if name != "stdin" else []
        got = client.json("train", "-m", model, *options, *path,
                          stdin=mbox(mails) if name == "stdin" else b"")
        equal((got["learned"], got["failed"], got["unread"]), (7, 0, 0), name)
        # The same by HTTP, as raw mails: nothing is new.
        for content in mails:
            reply = api.post(f"/v1/models/{model}/train?label=spam", content, "message/rfc822").ok()
            equal(reply.json["status"], "unchanged", name)


def test_mails_of_files_begin_with_their_header(api):
    """As files have them that somebody saved or copied: the same document, in an mbox too."""
    client, folder = Bayesc(api), api.new_folder()
    mails = [(SPAM % (i, i)).replace(b"\r\n", b"\n") for i in range(4)]
    model = api.name()
    for mail in mails:
        api.post(f"/v1/models/{model}/train?label=spam", mail, "message/rfc822").ok()
    befores = (b"\n", b"  \n", b" ", b"\xef\xbb\xbf", b"+OK 9 octets\r\n", b"MAIL FROM:<a@b.example>\n")
    files = [before + mails[0] for before in befores]
    files += [mails[1].replace(b"\n", b"\r"), mails[2].decode().encode("utf-16")]
    for i, content in enumerate(files):
        write(folder, "single", f"{i}.eml", content=content)
    for i, content in enumerate((b"\xef\xbb\xbf" + mbox(mails), b"\n\n" + mbox(mails), mbox(mails).replace(b"\n", b"\r"),
                                 mbox(mails).decode().encode("utf-16"))):
        write(folder, "mbox", f"{i}", content=content)
    for name, number in (("single", len(files)), ("mbox", 16)):
        got = client.json("train", "-m", model, "--label", "spam", os.path.join(folder, name))
        equal((got["learned"], got["unchanged"], got["failed"], got["unread"]), (0, number, 0, 0), name)


def test_training_goes_on_after_an_interruption(api):
    """It says how far it came, and that is what the daemon has; the same command does the rest."""
    client, folder = Bayesc(api), api.new_folder()
    lines = (b'{"text": "a text, number %d", "label": "%s"}\n' % (i, b"spam" if i % 2 else b"ham") for i in range(40000))
    path = write(folder, "many.ndjson", content=b"".join(lines))
    for options in ([], ["--in-order"]):
        model = api.name()
        command = ["train", "-m", model, "-c", "2", *options, path]
        with subprocess.Popen([client.path, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=client.environment()) as process:
            wait_for(lambda: api.get(f"/v1/models/{model}").status == 200, "it begins to learn")
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=patience(60))
        equal((process.returncode, out), (130, b""), said)
        found = re.search(rb"stopped after ([0-9,]+)( of 40,000)? documents; run the same command again", said)
        holds(found and (found[2] is not None) == (not options), said)
        done = int(found[1].replace(b",", b""))
        holds(0 < done < 40000, done)
        equal(sum(counts(api, model).values()), done)
        got = client.json(*command)
        equal((got["learned"], got["unchanged"]), (40000 - done, done))
        equal(counts(api, model), {"ham": 20000, "spam": 20000})


def test_maildir_folders(api):
    client, folder = Bayesc(api), api.new_folder()
    for i, name in enumerate(("", ".Junk", ".Lists", ".Trash", ".Work.2026")):
        for part in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(folder, name, part))
        write(folder, name, "cur", f"{i}:2,", content=HAM % (i, i))
    cases = [(["--label", "ham"], {"ham": 1}),
             (["--label", "ham", "--folder", "Junk=spam"], {"ham": 1, "spam": 1}),
             (["--folder", "Junk=spam"], {"spam": 1}),
             (["--label", "ham", "-r"], {"ham": 4}),
             (["--label", "ham", "-r", "--folder", "Junk=spam", "--folder", "Lists"], {"ham": 2, "spam": 1})]
    for options, want in cases:
        model = api.name()
        client.run("train", "-m", model, *options, folder)
        equal(counts(api, model), want, str(options))


def test_tables(api):
    client, folder = Bayesc(api), api.new_folder()
    cases = [("a.csv", b'id,label,text\n1,spam,"a ""free"" prize,\nwin"\n2,ham,lunch\n', [], ("1", 'a "free" prize,\nwin')),
             ("b.tsv", b"spam\tfree \"prize\nham\tlunch, today\n", [], (None, 'free "prize')),
             ("c.csv", b"x,lunch,ham\ny,prize,spam\r\n", ["--columns", "id,text,label"], ("y", "prize")),
             ("d.ndjson", b'{"text": "pr\\u00e9mio \\"gr\\u00e1tis\\"", "label": "spam", "id": "7"}\n\n'
                          b'{"text": "lunch", "label": "ham"}\n', [], ("7", 'prémio "grátis"'))]
    for name, content, options, (id, text) in cases:
        model, path = api.name(), write(folder, name, content=content)
        got = client.json("train", "-m", model, *options, path)
        equal((got["learned"], got["unread"]), (2, 0), name)
        equal(counts(api, model), {"ham": 1, "spam": 1}, name)
        # Sent anew as it ought to have been read, it is the same document.
        document = {"text": text, "label": "spam", "id": id or hashlib.blake2b(content, digest_size=16).hexdigest() + ":1"}
        equal(api.post(f"/v1/models/{model}/train", document).ok().json["status"], "unchanged", name)


def test_a_header_is_never_learned(api):
    client, folder = Bayesc(api), api.new_folder()
    rows = b"".join(b"%s,text number %d\n" % ((b"ham", b"spam")[i % 2], i) for i in range(6))
    for i, (header, note) in enumerate(((b"Category,Message", False), (b"v1,v2", False), (b"Sorte,Nachricht", True))):
        path, model = write(folder, f"{i}.csv", content=b"\xef\xbb\xbf" + header + b"\n" + rows), api.name()
        for options in ([], ["--in-order"]):
            client.run("train", "-m", model, *options, path)
            equal("taken for a header" in client.said, note, client.said)
            equal(counts(api, model), {"ham": 3, "spam": 3}, header)
    path = write(folder, "tickets.csv", content=b"no,what,kind\n1,a b,c\n")
    client.run("train", "-m", api.name(), path, status=DATAERR)
    holds("--columns text=COLUMN,label=COLUMN (there are: no, what, kind)" in client.said, client.said)


def test_columns_that_are_passed_over_are_said(api):
    """Names that are usual are understood, but a title that nobody learns must not go unnoticed."""
    client, folder = Bayesc(api), api.new_folder()
    for i, (header, note) in enumerate(((b"ticket,title,body,category", "the text is the column body; not used: ticket, title (with --columns text=A+B,label=C you say otherwise)"),
                                        (b"no,more,mail,label", "the text is the column mail; not used: no, more"), (b"-,id,text,label", "not used: -"))):
        path = write(folder, f"{i}.csv", content=header + b"\n1,Refund,my money please,billing\n")
        for options in ([], ["--in-order"]):
            client.run("train", "-m", api.name(), *options, path)
            equal(client.said.count(note), 1, client.said)
    client.run("train", "-m", api.name(), "--columns", "text=title+body,label=category", os.path.join(folder, "0.csv"))
    holds("not used" not in client.said, client.said)
    client.run("train", "-m", api.name(), write(folder, "all.csv", content=b"text,label\na,b\n"))
    holds("not used" not in client.said, client.said)


def test_a_table_from_standard_input(api):
    """With --columns, as there is no name that would say so."""
    client = Bayesc(api)
    for separator in (b",", b";", b"\t"):
        model = api.name()
        table = b"".join(separator.join(row) + b"\n" for row in ((b"title", b"queue"), (b"a refund", b"billing"), (b"no line", b"network")))
        client.run("train", "-m", model, "--columns", "text=title,label=queue", stdin=table)
        equal(counts(api, model), {"billing": 1, "network": 1}, separator)
        client.run("train", "-m", model, "--columns", "text=title,label=queue", "-", stdin=table)
        equal(counts(api, model), {"billing": 1, "network": 1}, "the same again")


def test_columns_are_values_of_fields(api):
    """Rows of a table with a header: each is the document that JSON with these values is."""
    client, model = Bayesc(api), api.name()
    path = f"/v1/models/{model}"
    api.put(path, {"preset": "book", "fields": {"title": "text", "country": "category", "tags": "set",
                                                "amount": "number"}}).ok(201)
    table = write(api.new_folder(), "tickets.csv", content=b"""\
no,queue,summary,details,country,price,tags,note
1,billing,Refund,"my money,
please",DE,12.50,vip; urgent,x
2,network,No line,since noon,FR,,;,x
3,network,Slow,,,-3,,x
""")
    columns = "text=details+summary,title=summary,label=queue,id=no,country=country,amount=price,tags=tags"
    got = client.json("train", "-m", model, "--columns", columns, table)
    equal((got["learned"], got["unread"], got["failed"]), (3, 0, 0))
    documents = [
        {"id": "1", "label": "billing", "text": "my money,\nplease\nRefund",
         "values": {"title": "Refund", "country": "DE", "amount": 12.5, "tags": ["vip", "urgent"]}},
        {"id": "2", "label": "network", "text": "since noon\nNo line",
         "values": {"title": "No line", "country": "FR", "tags": []}},
        {"id": "3", "label": "network", "text": "Slow", "values": {"title": "Slow", "amount": -3}}]
    for document in documents:
        equal(api.post(f"{path}/train", document).ok().json["status"], "unchanged", str(document))
    columns = "title=summary,country=country,amount=price,tags=tags"
    lines = client.run("classify", "-m", model, "--columns", columns, "--json", table).splitlines()
    for line, document in zip(lines, documents, strict=True):
        want = api.post(f"{path}/classify", {"values": document["values"]}).ok().json
        got = json.loads(line)
        equal((got["label"], got["log_scores"]), (want["label"], want["log_scores"]))
    trial = client.json("evaluate", "--split", "0.5", "--in-order", "--set", "preset=book", "--set",
                        'fields={"country":"category","amount":"number","tags":"set"}', "--columns",
                        "label=queue,country=country,amount=price,tags=tags", table)
    equal(trial["windows"][0]["documents"], 1)


def test_rows_can_be_numbered(api):
    """id=#: rows of the same values are as many documents; a column that is called so is that column."""
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    api.put(f"/v1/models/{model}", {"preset": "book", "fields": {"x": "category"}}).ok(201)
    table = write(folder, "t.csv", content=b"x,label\na,p\na,p\na,q\nb,q\n")
    numbered = ("-m", model, "--columns", "x=x,label=label,id=#", table)
    equal(client.json("train", *numbered)["learned"], 4)
    row = api.get(f"/v1/models/{model}").ok().json
    equal({name: counts["documents"] for name, counts in row["labels"].items()}, {"p": 2, "q": 2})
    equal(client.json("train", *numbered)["unchanged"], 4)
    client.run("train", "--in-order", *numbered)
    equal(api.get(f"/v1/models/{model}").ok().json, row, "the same command changes nothing")
    client.run("untrain", *numbered)
    equal(api.get(f"/v1/models/{model}").ok().json["documents"], 0)
    # Without ids, too, each row is a document.
    got = client.json("train", "--in-order", "--connections", "1", "-m", model, "--columns", "x=x,label=label", table)
    equal((got["learned"], got["unchanged"], got["relabelled"]), (4, 0, 0))
    named = write(folder, "n.csv", content=b"#,x,label\n7,a,p\n")
    client.run("train", "-m", model, "--columns", "x=x,label=label,id=#", named)
    equal(api.get(f"/v1/models/{model}/documents/7").ok().json["label"], "p")


def test_json_lines_bring_values(api):
    client, model = Bayesc(api), api.name()
    path = f"/v1/models/{model}"
    api.put(path, {"preset": "book", "fields": {"country": "category", "tags": "set", "amount": "number"}}).ok(201)
    documents = [{"values": {"country": "DE", "amount": 0.1, "tags": ["a", "b"]}, "label": "x"},
                 {"values": {"country": "FR", "amount": None}, "text": "hello", "label": "y", "id": "7"}]
    lines = write(api.new_folder(), "a.ndjson", content="".join(json.dumps(d) + "\n" for d in documents).encode())
    equal(client.json("train", "-m", model, lines)["learned"], 2)
    for document in documents:
        equal(api.post(f"{path}/train", document).ok().json["status"], "unchanged", str(document))


def test_numbers_may_have_a_decimal_comma(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    path = f"/v1/models/{model}"
    api.put(path, {"preset": "book", "fields": {"amount": "number"}}).ok(201)
    rows = (("12,5", 12.5), ("-0,25", -.25), ("0,125", .125), ("1234,5", 1234.5), ("3", 3), ("2.5", 2.5))
    table = write(folder, "a.csv", content="".join(["amount,label,id\n"] + [f'"{cell}",a,{i}\n' for i, (cell, _) in enumerate(rows)]).encode())
    equal(client.json("train", "-m", model, "--columns", "amount=amount,label=label,id=id", table)["learned"], len(rows))
    for i, (_, value) in enumerate(rows):
        equal(api.post(f"{path}/train", {"id": str(i), "label": "a", "values": {"amount": value}}).ok().json["status"], "unchanged", str(value))
    # Three digits behind it may be thousands, unless the file is of a country that writes so.
    for cell in ("1,234", "-12,345", "1,234,567", "1.234,5", ","):
        table = write(folder, "b.csv", content=f'amount,label\n"{cell}",a\n'.encode())
        client.run("train", "-m", model, "--columns", "amount=amount,label=label", table, status=DATAERR)
        holds(f"'{cell}' is not a number" in client.said, client.said)
        equal("thousands" in client.said, cell in ("1,234", "-12,345"), client.said)
    table = write(folder, "c.csv", content=b"amount;label;id\n1,234;a;x\n")
    equal(client.json("train", "-m", model, "--columns", "amount=amount,label=label,id=id", table)["learned"], 1)
    equal(api.post(f"{path}/train", {"id": "x", "label": "a", "values": {"amount": 1.234}}).ok().json["status"], "unchanged")


def test_wrong_columns_are_said(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    api.put(f"/v1/models/{model}", {"preset": "book", "fields": {"amount": "number"}}).ok(201)
    table = write(folder, "a.csv", content=b'price,kind,who\n"1",a,"b\nc"\n"12,5 EUR",a,b\n')
    got = client.json("train", "-m", model, "--columns", "amount=price,label=kind", table, status=DATAERR)
    equal((got["learned"], got["failed"], got["unread"]), (1, 1, 0))
    holds("a.csv: line 4, column 'price': '12,5 EUR' is not a number" in client.said, client.said)
    client.run("train", "-m", model, "--columns", "amount=cost,label=kind", table, status=DATAERR)
    holds("line 1, the header, has no column 'cost'" in client.said, client.said)
    client.run("train", "-m", model, "--columns", "who=who,label=kind", table, status=DATAERR)
    holds("who" in client.said and "field" in client.said, client.said)
    client.run("train", "-m", model, "--columns", "amount=price+who,label=kind", table, status=USAGE)
    client.run("classify", "-m", api.name(), "--columns", "amount=price", table, status=NOINPUT)


def test_text_that_is_not_utf8_is_learned(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "-l", "spam", stdin=b"caf\xe9 \x00 \xed\xa0\x80 price \x1b \\ \"")
    equal(api.post(f"/v1/models/{model}/train",
                   {"text": "café \x00 í\u00a0\u20ac price \x1b \\ \"", "label": "spam"})
          .ok().json["status"], "unchanged")


def test_many_documents_keep_their_labels(api):
    """Several batches on several connections: each reply belongs to its document."""
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    rows = [(api.random.choice(("ham", "spam", "news")), f"{i}", f"word{i} " * api.random.randint(1, 40))
            for i in range(3000)]
    path = write(folder, "rows.tsv", content=b"label\tid\ttext\n" + "".join(
        f"{a}\t{b}\t{c}\n" for a, b, c in rows).encode())
    got = client.json("train", "-m", model, "-c", "7", path)
    equal((got["learned"], got["failed"]), (3000, 0))
    for label, id, _ in api.random.sample(rows, 30):
        equal(api.get(f"/v1/models/{model}/documents/{id}").ok().json["label"], label)
    for connections in ("1", "5"):  # with one, the ring of batches is gone round twice
        names = [json.loads(line)["document"] for line in
                 client.run("classify", "-m", model, "-c", connections, "--json", path).splitlines()]
        equal(names, [f"{path}:{i + 2}" for i in range(3000)], "the order of the verdicts")


def test_bad_sources_are_said_and_the_rest_is_learned(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    good = write(folder, "good", content=SPAM % (1, 1))
    write(folder, "empty", content=b"")
    write(folder, "picture", content=b"\x89PNG\r\n\x1a\n" + bytes(500))
    write(folder, "wide.txt", content="words of two bytes".encode("utf-16"))
    write(folder, "bad.ndjson", content=b'{"text": "x", "label": "spam"}\n{"tex": 1}\n')
    write(folder, "open.csv", content=b'text,label\n"never closed,spam\n')
    got = client.json("train", "-m", model, "-l", "spam", folder, "/does/not/exist", status=DATAERR)
    equal((got["learned"], got["failed"], got["unread"]), (3, 1, 4))
    for word in ("bad.ndjson: line 2", "open.csv: row 2: a quote", "empty: is empty", "/does/not/exist: No such",
                 "picture: is binary"):
        holds(word in client.said, client.said)
    client.run("train", "-m", model, good, status=USAGE)
    holds("has no label" in client.said, client.said)
    client.run("train", "-m", model, "-l", "x" * 100, good, status=DATAERR)
    holds("64" in client.said, client.said)
    os.symlink(folder, os.path.join(folder, "circle"))
    client.run("train", "-m", model, "-q", "-l", "spam", folder, status=DATAERR)


def words(api, model):
    """The tokens of all labels."""
    labels = api.get(f"/v1/models/{model}").ok().json["labels"]
    return {row["token"] for label in labels
            for row in api.get(f"/v1/models/{model}/vocabulary?label={urllib.parse.quote(label)}").ok().json["tokens"]}


def ticket_table(separator=";", end="\r\n", charset="cp1252", mark=b"", preface=""):
    rows = [["no", "title", "queue"], ["T-1", 'Rechnung "fehlt"', "Buchhaltung"], ["T-2", "Müll;, nicht\nabgeholt", "Entsorgung"],
            ["T-3", "Größe € verspätet", "Versand"], ["T-4", "Container voll", "Entsorgung"]]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator=end).writerows(rows)
    return mark + (preface + out.getvalue()).encode(charset)


FORMS = ({}, {"charset": "utf-8"}, {"charset": "utf-8", "mark": b"\xef\xbb\xbf"}, {"separator": ","}, {"end": "\r"}, {"end": "\n"},
         {"charset": "utf-16-le", "mark": b"\xff\xfe", "separator": "\t"}, {"preface": "sep=;\r\n"},
         {"charset": "utf-16-be", "mark": b"\xfe\xff"}, {"charset": "utf-16-le"}, {"charset": "utf-32-be", "mark": b"\0\0\xfe\xff"})


def test_tables_of_spreadsheets_are_learned_and_come_back(api):
    """Each separator, line end, charset and mark: the same words, the same bytes again, with two columns more."""
    client, folder = Bayesc(api), api.new_folder()
    columns, models = ("--columns", "text=title,label=queue,id=no"), []
    for form in FORMS:
        path, model = write(folder, "t.csv", content=ticket_table(**form)), api.name()
        equal(client.json("train", "-m", model, *columns, path)["learned"], 4, form)
        equal("windows-1252" in client.said, form.get("charset", "cp1252") == "cp1252", client.said)
        models.append(words(api, model))
        equal(models[-1], models[0], form)
        holds(any("müll" in word for word in models[-1]) and "�" not in " ".join(models[-1]), form)
        out = client.run("classify", "-m", model, *columns, "--csv", path)
        holds(out.startswith(form.get("mark", b"")), out)
        text = out[len(form.get("mark", b"")):].decode(form.get("charset", "cp1252"))
        separator, end = form.get("separator", ";"), form.get("end", "\r\n")
        lines = [line for line in ticket_table(**{**form, "mark": b""}).decode(form.get("charset", "cp1252")).split(end)]
        for row, line in zip(text.split(end), lines, strict=True):
            holds(row.startswith(line), (row, line))
        equal(text.split(end)[bool(form.get("preface"))], separator.join(("no", "title", "queue", "predicted", "probability")))
        # More columns are joined and written in the same way.
        out = client.run("classify", "-m", model, *columns, "--csv", "--threshold", "0.5", "--top", "2", "--evidence", "2", path)
        text = out[len(form.get("mark", b"")):].decode(form.get("charset", "cp1252")).removeprefix(form.get("preface", ""))
        more = ["predicted", "probability", "decision", "predicted_2", "probability_2", "evidence"]
        told = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
        equal([list(row) for row in told], [["no", "title", "queue", *more]] * 4, form)
        for row in told:
            holds(row["predicted_2"] != row["predicted"] and re.fullmatch(r"0\.\d{6}", row["probability_2"]), row)
            holds(row["decision"] in ("unsure", row["predicted"]) and re.search(r"\S [+-]\d", row["evidence"]), row)
        if form.get("charset") not in ("utf-16-le", "utf-16-be", "utf-32-be") or "mark" in form:
            with open(path, "rb") as file:  # what comes through a pipe cannot be read twice
                model = api.name()
                equal(client.json("train", "-m", model, *columns, stdin=file.read())["learned"], 4, form)
                equal(words(api, model), models[0], form)


def test_charset_is_said(api):
    client, folder, model = Bayesc(api), api.new_folder(), api.name()
    path = write(folder, "dos.csv", content="label,text\nspam,Müll\n".encode("cp850"))
    client.run("train", "-m", model, path, status=DATAERR)
    holds("--charset cp850" in client.said, client.said)
    client.run("train", "-m", model, "--charset", "cp850", path)
    equal(client.said, "")
    holds("müll" in words(api, model), words(api, model))
    client.run("train", "-m", model, "-l", "ham", "--charset", "iso-8859-2", write(folder, "a.txt", content="řeka".encode("iso-8859-2")))
    holds("řeka" in words(api, model), words(api, model))


def test_bad_lines_are_named_and_the_others_are_learned(api):
    """In tables and JSON lines, in a mixed order and not: a line that is none, one without a label, a label that is a list."""
    client, folder = Bayesc(api), api.new_folder()
    good = [json.dumps({"text": f"word{i}", "label": "spam", "id": i}) for i in range(9)]
    bad = {'{"text": "\\ud83d", "label": "spam"}': "line 6 is not valid JSON: byte ", '{"text": "a \\ud83dbc", "label": "a"}': "half of a character, as of a text that was cut within an emoji", "[1]": "line 6 is not a JSON object",
           '{"text": "x"}': "a.jsonl:6: has no label", '{"text": "x", "label": null}': "a.jsonl:6: has no label",
           '{"text": "x", "label": ["a"]}': 'line 6: the member "label" is a list'}
    for line, said in bad.items():
        path = write(folder, "a.jsonl", content="\n".join([*good[:5], line, *good[5:]]).encode())
        for options in ((), ("--in-order",)):
            got = client.json("train", "-m", api.name(), *options, path, status=DATAERR)
            equal((got["learned"], got["failed"], got["unread"]), (9, 1, 0), line)
            holds(said in client.said, client.said)
    path = write(folder, "b.csv", content=b"text,label\na,spam\nb,\nc,ham\n")
    got = client.json("train", "-m", api.name(), path, status=DATAERR)
    equal((got["learned"], got["failed"]), (2, 1))
    holds("b.csv:3: has no label" in client.said, client.said)
    model = api.name()
    path = write(folder, "c.jsonl", content=b'{"text": "a", "label": 7, "id": 8}\n')
    client.run("train", "-m", model, path)
    equal(api.get(f"/v1/models/{model}/documents/8").ok().json["label"], "7")
    path = write(folder, "d.jsonl", content=b'{"subject": "a", "body": "b", "queue": "q", "no": 3}\n')
    client.run("train", "-m", model, "--columns", "text=subject+body,label=queue,id=no", path)
    equal(api.get(f"/v1/models/{model}/documents/3").ok().json["label"], "q")
    client.run("train", "-m", model, "--columns", "text=nn1,label=queue", path, status=DATAERR)
    holds("line 1 has no member 'nn1' (there are: subject, body, queue, no)" in client.said, client.said)


def test_lines_are_documents(api):
    client, model = Bayesc(api), api.name()
    path = write(api.new_folder(), "a.txt", content="one\r\ntwo\r\n\r\nMüll\r\n".encode("cp1252"))
    equal(client.json("train", "-m", model, "--format", "lines", "-l", "spam", path)["learned"], 3)
    equal(len(client.run("classify", "-m", model, "-f", "lines", "--json", path).splitlines()), 3)


def test_labels_that_look_the_same(api):
    """White space and composition make no label; case and what is not seen are asked about from the first document on."""
    client, folder, model = Bayesc(api), api.new_folder(), api.name()
    table = "label,text\nMüll,a\nMu\u0308ll,b\n Müll,c\n\"Müll\u00a0\",d\n"
    client.run("train", "-m", model, write(folder, "a.csv", content=table.encode()))
    equal(list(api.get(f"/v1/models/{model}").ok().json["labels"]), ["Müll"])
    for other in ("müll", "MÜLL", "Mü\u200bll", "Mü\u00adll"):
        path = write(folder, "b.csv", content=f"label,text\n{other},e\n".encode())
        client.run("train", "-m", model, path, status=DATAERR)
        holds("differs in case or in characters that are not seen" in client.said, client.said)
    client.run("train", "-m", model, "--new-label", path)
    equal(len(api.get(f"/v1/models/{model}").ok().json["labels"]), 2)


def test_untrain(api):
    client, model, folder = trained(api)
    before = api.get(f"/v1/models/{model}").ok().json
    extra = write(folder, "extra", content=SPAM % (99, 99))
    client.run("train", "-m", model, "-q", f"spam={extra}")
    equal(client.json("untrain", "-m", model, extra), {"model": model, "forgotten": 1, "unknown": 0,
                                                       "failed": 0, "unread": 0})
    equal(api.get(f"/v1/models/{model}").ok().json, before)
    equal(client.json("untrain", "-m", model, extra, status=NOINPUT)["unknown"], 1)
    api.post(f"/v1/models/{model}/train", {"text": "x", "label": "ham", "id": "a/b?"}).ok()
    client.run("untrain", "-m", model, "-i", "a/b?", "--id", "unknown", status=NOINPUT)
    equal(api.get(f"/v1/models/{model}").ok().json, before)


# ---- asking -------------------------------------------------------------------------------------
def test_classify_and_explain(api):
    client, model, folder = trained(api)
    lines = client.run("classify", "-m", model, os.path.join(folder, "ham"),
                       os.path.join(folder, "spam")).decode().splitlines()
    equal([line.split()[0] for line in lines], ["ham"] * 12 + ["spam"] * 12)
    mail = SPAM % (50, 50)
    said = json.loads(client.run("classify", "-m", model, "--json", stdin=mail))
    want = api.post(f"/v1/models/{model}/classify", mail, "message/rfc822").ok().json
    equal(said.pop("document"), "standard input")
    near(said["probability"], want["probability"])
    equal({**said, "probability": 0, "probabilities": 0, "log_scores": 0},
          {**want, "probability": 0, "probabilities": 0, "log_scores": 0})
    table = client.run("explain", "-m", model, "-n", "3", stdin=mail).decode()
    holds("standard input: spam" in table and table.count("\n") == 8, table)
    rows = json.loads(client.run("explain", "-m", model, "-n", "3", "--json", stdin=mail))["explanation"]
    for row in rows:
        holds(row["token"] is None or row["token"] in table, f"{row} in {table}")
    holds(b"\x1b[" not in client.run("classify", "-m", model, stdin=b"\x1b[31m evil"), "escape")


def test_classify_gives_a_table_back(api):
    """With the label and its probability in two columns more, and all else as it was."""
    client, model, folder = trained(api)
    rows = [["ticket", "title", "body"], ["7", 'a "prize", won', "win\na prize"], ["8 ", "", "lunch in the garden"],
            ["9", " lunch", ""]]
    path = os.path.join(folder, "new.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    options = ["-m", model, "--columns", "text=title+body,id=ticket", path]
    verdicts = [json.loads(line) for line in client.run("classify", "--json", *options).splitlines()]
    equal([verdict["id"] for verdict in verdicts], ["7", "8 ", "9"])
    out = list(csv.reader(io.StringIO(client.run("classify", "--csv", *options).decode(), newline="")))
    equal([row[:3] for row in out], rows)
    equal(out[0][3:], ["predicted", "probability"])
    for row, verdict in zip(out[1:], verdicts, strict=True):
        equal(row[3], verdict["label"])
        holds(abs(float(row[4]) - verdict["probability"]) < 1e-6, (row, verdict))
    # Two files have one header; what is in no table has its name; what is refused has empty columns.
    equal(client.run("classify", "--csv", *options, path).count(b"predicted"), 1)
    equal(client.run("classify", "--csv", "-m", model, stdin=SPAM % (1, 1))[:19], b"standard input,spam")
    with open(path, "a", encoding="utf-8") as file:
        file.write("x" * 300 + ",an id that is too long,\n")
    out = client.run("classify", "--csv", *options, status=DATAERR).decode()
    holds(out.endswith(',an id that is too long,,,\r\n'), out)


def test_classify_writes_a_table_whose_charset_lacks_the_label(api):
    """The cells of the table come back to the byte; of the new columns a question mark stands for what its charset does not have."""
    client, model, folder = trained(api)
    for i in range(12):
        client.run("train", "-m", model, "-l", "\u0441\u043f\u0430\u043c \u20ac", "--new-label", stdin="\u043f\u0440\u0438\u0432\u0435\u0442 Gr\u00fc\u00dfe {}".format(i).encode())
    rows = "id;text\r\n1;Gr\u00fc\u00dfe \u20ac\r\n2;M\u00fcll\r\n"
    for charset, label in (("cp1252", "???? \u20ac"), ("utf-8", "\u0441\u043f\u0430\u043c \u20ac"), ("cp1251", None)):
        text = rows if charset != "cp1251" else "id;text\r\n1;\u043f\u0440\u0438\u0432\u0435\u0442\r\n"
        path = write(folder, "charset.csv", content=text.encode(charset))
        out = client.run("classify", "-m", model, "--csv", "--top", "3", "--evidence", "3", "--charset", charset, path).decode(charset)
        lines = out.split("\r\n")
        for got, row in zip(lines, text.split("\r\n"), strict=True):
            holds(got.startswith(row), (got, row))
        if label is not None:
            equal(lines[1].split(";")[2], label)
        equal(client.said.count("question mark"), 1 if charset == "cp1252" else 0, client.said)
    name = write(folder, "\u043f.txt", content=b"hello")
    path = write(folder, "charset.csv", content=rows.encode("cp1252"))
    out = client.run("classify", "-m", model, "--csv", path, name)
    holds(b"?.txt;" in out, out)
    other = write(folder, "other.csv", content="id;text\r\n3;\u043f\u0440\u0438\u0432\u0435\u0442\r\n".encode())
    client.run("classify", "-m", model, "--csv", path, other, status=DATAERR)
    holds("windows-1252, as the first table" in client.said, client.said)


def test_classify_tells_more_when_asked(api):
    """A decision, the labels that come next, and the tokens that weigh most: as text, CSV and JSON."""
    client, model, folder = trained(api)
    for i in range(12):
        client.run("train", "-m", model, "-l", "news", "--new-label", stdin=b"election held today, minister says %d" % i)
    path = write(folder, "new.csv", content=b"id,text\n1,lunch in the garden\n2,win a prize\n3,quite unknown\n")
    options = ["-m", model, path]
    tell = ["--threshold", "0.999999", "--top", "3", "--evidence", "2"]
    verdicts = [json.loads(line) for line in client.run("classify", "--json", *tell, *options).splitlines()]
    whole = [json.loads(line) for line in client.run("classify", "--json", *options).splitlines()]
    equal([v["label"] for v in verdicts], [v["label"] for v in whole])
    for verdict in verdicts:
        equal(verdict["decision"], "unsure" if verdict["probability"] < 0.999999 else verdict["label"])
        equal(len([row for row in verdict["explanation"] if row["token"]]) <= 2, True)
        equal(len(verdict["probabilities"]), 3)
    one = json.loads(client.run("classify", "--json", "--top", "1", *options).splitlines()[0])
    equal(list(one["probabilities"]), [one["label"]])
    equal(list(one["log_scores"]), [one["label"]])
    out = list(csv.DictReader(io.StringIO(client.run("classify", "--csv", *tell, *options).decode(), newline="")))
    for row, verdict in zip(out, verdicts, strict=True):
        order = sorted(verdict["probabilities"], key=lambda v: (-verdict["probabilities"][v], v))
        equal([row["predicted"], row["predicted_2"], row["predicted_3"]], order)
        holds(abs(float(row["probability_3"]) - verdict["probabilities"][order[2]]) < 1e-6, row)
        equal(row["decision"], verdict["decision"])
        told = [f'{r["token"]} {r["evidence"]:+.3f}' for r in verdict["explanation"] if r["token"]]
        equal(row["evidence"], "; ".join(told))
    # More columns than there are labels are empty, as those of a row that is refused.
    head, first = client.run("classify", "--csv", "--top", "5", *options).decode().splitlines()[:2]
    equal(head, "id,text,predicted,probability,predicted_2,probability_2,predicted_3,probability_3,"
          "predicted_4,probability_4,predicted_5,probability_5")
    holds(first.endswith(",,,,") and len(first.split(",")) == len(head.split(",")), first)
    with open(path, "a", encoding="utf-8") as file:
        file.write("x" * 300 + ",an id that is too long\n")
    last = client.run("classify", "--csv", *tell, *options, status=DATAERR).decode().splitlines()[-1]
    holds(last.endswith(",an id that is too long,,,,,,,,"), last)
    line = client.run("classify", *tell, "-m", model, stdin=b"lunch \x1b[31m garden").decode()
    holds(re.match(r"(ham|unsure) +0\.\d{6}  standard input  \| ham 0\.\d+, \w+ 0\.\d+, \w+ 0\.\d+  \| \S+ [+-]", line), line)
    holds("\x1b" not in line, line)
    line = client.run("classify", "--threshold", "1", "-m", model, stdin=b"a garden, a prize").decode()
    equal(line.split()[0], "unsure")
    for wrong in (["--threshold", "1.5"], ["--threshold", "nan"], ["--top", "0"], ["--top", "x"],
                  ["--evidence", "0"], ["--evidence", "-1"], ["--top", "1001"], ["--csv", "--json"]):
        client.run("classify", "-m", model, *wrong, stdin=b"x", status=USAGE)
        holds(wrong[0] in client.said, client.said)


def test_models_and_stats(api):
    client, model, _ = trained(api)
    holds(re.search(rf"(?m)^{model} +24 +\d+  ham 12, spam 12$", client.run("models").decode()), "models")
    equal(client.json("models"), api.get("/v1/models").ok().json)
    text = client.run("stats", model, "-n", "2").decode()
    for word in (f"{model}: 24 documents", "most telling for spam", "from:win"):
        holds(word in text, f"{word} in {text}")
    equal(len(client.json("stats", "-m", model, "-n", "2")["telling"]["spam"]["tokens"]), 2)
    client.run("stats", "no-such-model", status=NOINPUT)


def test_refit(api):
    client, model, _ = trained(api)
    ask = "/v1/models/" + model
    before = api.post(ask + "/classify", {"text": "win a free prize"}).ok().json["probabilities"]
    equal(client.run("refit", model).decode(), f"{model}: the weights fit 24 documents\n")
    after = api.post(ask + "/classify", {"text": "win a free prize"}).ok().json["probabilities"]
    holds(after != before, f"the weights are as before: {after}")
    equal(client.json("refit", "-m", model), api.get(ask).ok().json)
    client.run("refit", "no-such-model", status=NOINPUT)
    api.put("/v1/models/book-refit", {"preset": "book"}).ok(201)
    client.run("refit", "book-refit", status=DATAERR)
    holds("stacked" in client.said, client.said)


class Told(http.server.BaseHTTPRequestHandler):
    """Says what a node would say of itself, and of the others."""

    def do_GET(self):
        number, digest, moves = self.server.said
        path, _, query = self.path.partition("?")
        at = query[3:] if query.startswith("at=") else ""
        if moves:
            self.server.said = (number + moves, digest, moves)
        body = {"/v1/nodes": {"nodes": self.server.state, "members": self.server.members},
                "/v1/state/digest": {"number": number, "digest": digest}}[path]
        is_there = at in ("", str(number))
        self.send_response(200 if is_there else 409 if number > int(at) else 503)
        self.send_header("Content-Type", "application/json" if is_there else "application/problem+json")
        self.end_headers()
        self.wfile.write(json.dumps(body if is_there else {"status": 503, "detail": "it is at another number"}).encode())

    def log_message(self, *_):
        pass


def told(stack, number, digest, moves=0, members=(), **state):
    """The URL of one that says so."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Told)
    server.said, server.members = (number, digest, moves), list(members)
    server.state = {"connected": True, "applied": number, "behind": 0, **state}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"


def member(name, **more):
    return {"name": name, "streams": [0], "applied": 7, "behind": 1234, "seconds": 1, "version": "1.0", **more}


def test_nodes_status(api):
    """A table of what one node says of all, and what is wrong as the exit status."""
    client = Bayesc(api)
    client.run("nodes", "status", status=DATAERR)
    holds("no [nodes]" in client.said, client.said)
    both = [member("a", self=True, url="http://a:1"), member("b", same=True)]
    with contextlib.ExitStack() as stack:
        good = told(stack, 7, "abc", members=both, queued=3)
        shown = client.run("nodes", "status", good).decode().splitlines()
        equal([line.split() for line in shown[1:]],
              [["a", "http://a:1", "1", "7", "1,234", "-", "1.0", "yes", "3", "-"], ["b", "-", "1", "7", "1,234", "yes", "1.0", "-", "-", "-"]])
        equal(client.json("nodes", "status", good)["members"], both)
        equal(client.run("--url", good, "nodes", "status").decode().splitlines(), shown)
        for wrong, code, words in (({"connected": False, "reason": "no tables"}, TEMPFAIL, "no tables"),
                                   ({"members": [member("b", same=False)]}, DATAERR, "b: it has not learned the same"),
                                   ({"members": [member("b", seconds=61)]}, UNAVAILABLE, "b: it has not reported for a minute")):
            client.run("nodes", "status", told(stack, 7, "abc", **wrong), status=code)
            holds(words in client.said, client.said)
        client.run("nodes", "status", f"http://127.0.0.1:{free_port()}", status=UNAVAILABLE)
        client.run("nodes", "status", good, good, status=USAGE)
    client.run("nodes", "a-model", status=USAGE)
    client.run("cluster", "a-model", "another", status=USAGE)


def test_nodes_check(api):
    client = Bayesc(api)
    client.run("nodes", "check", status=DATAERR)
    with contextlib.ExitStack() as stack:
        same = [told(stack, 7, "abc") for _ in range(3)]
        shown = client.run("nodes", "check", *same).decode().splitlines()
        equal([line.split() for line in shown[1:]], [[url, "7", "abc"] for url in same])
        equal(client.json("nodes", "check", *same), [{"url": url, "number": 7, "digest": "abc"} for url in same])
        one = told(stack, 7, "abc", members=[member("a", self=True), *(member(f"n{i}", url=url) for i, url in enumerate(same))])
        shown = client.run("nodes", "check", one).decode().splitlines()
        equal([line.split() for line in shown[1:]], [[url, "7", "abc"] for url in (one, *same)])
        client.run("nodes", "check", told(stack, 7, "abc", members=[member("b")]), status=UNAVAILABLE)
        holds("b: it tells no URL" in client.said, client.said)
        client.run("nodes", "check", same[0], same[1], told(stack, 7, "abd"), status=DATAERR)
        holds("have not learned the same" in client.said, client.said)
        client.run("nodes", "check", same[0], told(stack, 8, "abc"), status=TEMPFAIL)
        client.run("nodes", "check", told(stack, 7, "abc", 5), told(stack, 900, "abc", 5), status=TEMPFAIL)
        holds("changes go on" in client.said, client.said)
        client.run("nodes", "check", same[0], f"http://127.0.0.1:{free_port()}", status=UNAVAILABLE)
        client.run("nodes", "check", same[0], f"http://127.0.0.1:{free_port()}", told(stack, 7, "abd"), status=DATAERR)
        client.run("nodes", "check", *same * 30, status=USAGE)


def test_derive(api):
    client, model, _ = trained(api)
    new = api.name()
    equal(client.run("derive", model, new).decode(), f"{new}: begins with 24 documents of {model}\n")
    ask = {"text": "win a free prize"}
    equal(*(api.post(f"/v1/models/{name}/classify", ask).ok().json["log_scores"] for name in (model, new)))
    client.run("derive", model, new, status=DATAERR)
    holds("exists" in client.said, client.said)
    client.run("derive", "no-such-model", "fresh", status=NOINPUT)
    client.run("derive", model, status=USAGE)
    equal(client.json("derive", model, api.name())["documents"], 24)
    weak = api.name()
    equal(client.run("derive", "--strength", "9", model, weak).decode(), f"{weak}: its prior is {weak}.prior, a copy of {model}\n")
    settings = client.json("derive", "-s", "7", model, api.name())["settings"]
    equal(settings["parent_strength"], 7)
    client.run("derive", "-s", "0", model, "fresh", status=USAGE)


def test_export_and_import(api):
    client, model, folder = trained(api)
    dump, copy = os.path.join(api.new_folder(), "dump"), api.name()
    client.run("export", "-m", model, dump)
    with open(dump, "rb") as file:
        content = file.read()
    equal(content, api.get(f"/v1/models/{model}/export").ok().body)
    equal(client.run("export", "-m", model), content)
    holds(b"24 documents" in client.run("import", "-m", copy, dump), "documents")
    client.run("import", "-m", copy, stdin=content, status=CANTCREAT)
    client.run("import", "-m", copy, "--replace", stdin=content)
    for name, tool in (("dump.gz", ["gzip", "-kf"]), ("dump.zst", ["zstd", "-qkf"])):
        subprocess.run([*tool, dump], check=True)
        client.run("import", "-m", copy, "--replace", os.path.join(os.path.dirname(dump), name))
    mail = os.path.join(folder, "spam", "1")
    equal(client.json("classify", "-m", copy, mail)["log_scores"],
          client.json("classify", "-m", model, mail)["log_scores"])
    client.run("import", "-m", copy, "--replace", stdin=content[:-40], status=DATAERR)
    equal(counts(api, copy), {"ham": 12, "spam": 12}, "a dump that is refused changes nothing")
    client.run("export", "-m", "no-such-model", dump, status=NOINPUT)
    holds(not os.path.exists(dump + ".part"), "what is not complete is removed")
    with open(dump, "rb") as file:
        equal(file.read(), content, "the old dump stays")
    client.run("export", "-m", model, "/does/not/exist/dump", status=NOINPUT)


# ---- filter -------------------------------------------------------------------------------------
def test_filter_adds_one_line(api):
    client, model, _ = trained(api)
    for mail, status in ((SPAM % (60, 60), "spam"), (HAM % (60, 60), "ham")):
        verdict = client.json("classify", "-m", model, stdin=mail)
        line = b"X-Bayes-Status: %s, probability=%.4f, model=%s\n" % (
            status.encode(), verdict["probability"], model.encode())
        for changed, want in (
                (mail, line + mail),
                (mail.replace(b"\n", b"\r\n"), (line + mail).replace(b"\n", b"\r\n")),
                (b"From x Thu Jan  1 00:00:00 1970\n" + mail,
                 b"From x Thu Jan  1 00:00:00 1970\n" + line + mail)):
            equal(client.run("filter", "-m", model, stdin=changed), want)
    # Whatever bytes follow come out as they are.
    body = bytes(api.random.randrange(256) for _ in range(300000))
    for mail in (SPAM % (1, 1) + body, b"\n" + body, b"Subject: prize", b"\r\n\r\n\r\n"):
        out = client.run("filter", "-m", model, stdin=mail)
        head, rest = out.split(b"\n", 1)
        holds(head.startswith(b"X-Bayes-Status: ") and rest == mail, out[:200])


def test_filter_is_careful_where_most_is_spam(api):
    """As the doors of mail filters are, also when each label has the documents that make a model ready."""
    client, name = Bayesc(api), api.name()
    rows = [{"id": f"s{i}", "label": "spam", "mail": (SPAM % (i, i)).decode()} for i in range(200)]
    rows += [{"id": f"h{i}", "label": "ham", "mail": (HAM % (i, i)).decode()} for i in range(10)]
    api.put(f"/v1/models/{name}", {"preset": "mail"}).ok(201)
    api.post(f"/v1/models/{name}/train", {"documents": rows}).ok()
    path, new = f"/v1/models/{name}/classify?documents=1", b"Subject: order\n\nYour order of today: prize.\n"
    verdict = api.post(path, new, "message/rfc822").ok().json
    equal((verdict["ready"], verdict["documents"]), (True, {"ham": 10, "spam": 200}))
    told = client.run("filter", "-m", name, "--header", "X-P: %P", stdin=new)
    told = float(re.search(rb"X-P: ([0-9.]+)", told)[1])
    holds(told < verdict["probabilities"]["spam"] - 0.02, (told, verdict))


def test_filter_takes_forged_headers_out(api):
    client, model, _ = trained(api)
    forged = (b"From: a@example.org\nx-bayes-STATUS : ham, probability=1.0000\n and more\n\tof it\n"
              b"X-Bayes-Status-2: stays\nX-Spam-Flag: NO\nX-Bayes-Status:\nSubject: prize\n"
              b"\nX-Bayes-Status: in the body it stays\n")
    clean = (b"From: a@example.org\nX-Bayes-Status-2: stays\nSubject: prize\n"
             b"\nX-Bayes-Status: in the body it stays\n")
    out = client.run("filter", "-m", model, "--header", "X-Spam-Flag: %y", "--header", "X-P: %s %m 100%%",
                     stdin=forged)
    status, rest = out.split(b"\n", 1)
    holds(status.startswith(b"X-Bayes-Status: "), out)
    holds(re.match(rb"X-Spam-Flag: (YES|NO)\nX-P: (spam|ham) %s 100%%\n" % model.encode(), rest), out)
    equal(rest.split(b"\n", 2)[2], clean)
    out = client.run("filter", "-m", model, "--status-header", "X-Other", "--spam-header", "X-Tag: %P",
                     stdin=SPAM % (1, 1))
    holds(re.match(rb"X-Other: spam, .*\nX-Tag: [01]\.\d{4}\nFrom: ", out), out)
    holds(b"X-Tag" not in client.run("filter", "-m", model, "--spam-header", "X-Tag: %P", stdin=HAM % (1, 1)),
          "a spam header on ham")


def test_filter_takes_forged_headers_out_without_a_verdict(api):
    """Whatever the reason: a sender who can keep the daemon busy could forge the verdict."""
    forged = b"From: a@example.org\nX-Bayes-Status: ham, probability=1.0000\n folded\nSubject: prize\n\nbody\n"
    clean = b"From: a@example.org\nSubject: prize\n\nbody\n"
    gone = Bayesc(api, f"http://127.0.0.1:{free_port()}")
    for options, status in (([], 0), (["-e"], 3), (["--token-file", "/does/not/exist"], 0), (["--model", "?/x"], 0),
                            (["--typing-mistake"], TEMPFAIL), (["--header", "no header"], TEMPFAIL)):
        equal(gone.run("filter", *options, stdin=forged, status=status), clean, str(options))
    other = b"X-Other: ham\n" + clean
    equal(gone.run("filter", "--status-header", "X-Other", "--header", "X-Two: %s", stdin=b"x-two: ham\n" + other), clean)
    equal(gone.run("filter", "--status-header", "X-Other", "--token-file", "/none", stdin=other), clean)
    large = b"x" * (65 * 1024 * 1024)
    holds(Bayesc(api).run("filter", stdin=forged + large) == clean + large, "a mail that is too large")


def test_filter_takes_no_header_line_from_the_daemon(api):
    """A label of two lines would be a header of the daemon's choice."""
    mail = HAM % (1, 1)
    for label in ("spam\nX-Evil: yes", "spam\r\n\r\nbody", "sp\u009bam"):
        verdict = json.dumps({"label": label, "probability": 1, "ready": True, "probabilities": {label: 1}}).encode()
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(verdict) + verdict)
            thread = threading.Thread(target=serve)
            thread.start()
            client = Bayesc(api, f"http://127.0.0.1:{server.getsockname()[1]}")
            equal(client.run("filter", "--tempfail", stdin=mail, status=TEMPFAIL), mail, label)
            holds("control characters" in client.said, client.said)
            thread.join()


def test_filter_exit_statuses(api):
    client, model, _ = trained(api)
    spam, ham, odd = SPAM % (70, 70), HAM % (70, 70), b"Subject: zzz\nFrom: q\n\nnothing known\n"
    client.run("filter", "-m", model, "-e", stdin=spam, status=0)
    client.run("filter", "-m", model, "-e", stdin=ham, status=1)
    p = client.json("classify", "-m", model, stdin=odd)["probabilities"]["spam"]
    low, high = f"{max(0.0, p - 0.01):.6f}", f"{min(1.0, p + 0.01):.6f}"
    out = client.run("filter", "-m", model, "-e", "--ham-to", low, "--spam-from", high, stdin=odd, status=2)
    holds(out.startswith(b"X-Bayes-Status: unsure, probability=%.4f, " % p), out)
    client.run("filter", "-m", model, "-e", "--spam-from", low, stdin=odd, status=0)
    out = client.run("filter", "-m", "no-such-model", "-e", stdin=spam, status=2)
    equal(out, b"X-Bayes-Status: unsure, probability=0.5000, model=no-such-model, nothing learned\n" + spam)
    few = trained(api, number=2)[1]
    holds(b"unsure" in client.run("filter", "-m", few, stdin=spam).split(b"\n")[0], "too little learned")


def test_filter_may_be_quiet(api):
    gone = Bayesc(api, f"http://127.0.0.1:{free_port()}")
    mail = SPAM % (1, 1)
    equal(gone.run("filter", stdin=mail), mail)
    holds("no verdict, the mail goes on without one" in gone.said, gone.said)
    for option in ("-q", "--quiet"):
        equal(gone.run("filter", option, stdin=mail), mail)
        equal(gone.said, "")
        gone.run("filter", option, "--tempfail", stdin=mail, status=TEMPFAIL)
        equal(gone.said, "")
    gone.run("filter", "--quiet", "--typo", stdin=mail, status=TEMPFAIL)
    holds("--typo is not an option of filter" in gone.said, "a mistake is said all the same")


def test_documents_without_a_known_token(api):
    client, model, _ = trained(api)
    path = write(api.new_folder(), "odd.txt", content=b"zyxwv utsrq")
    client.run("classify", "-m", model, path)
    holds("no token of 1 document:" in client.said, client.said)
    holds(b"nothing of the document is known" in client.run("explain", "-m", model, path), "explain says it")
    equal(client.json("classify", "-m", model, path)["evidence"], "none")
    client.run("classify", "-m", model, stdin=SPAM % (70, 70))
    holds("no token" not in client.said, client.said)


def test_filter_never_loses_a_mail(api):
    mail = SPAM % (1, 1) + bytes(range(256)) * 2000
    gone = Bayesc(api, f"http://127.0.0.1:{free_port()}")
    for options, status in (([], 0), (["-e"], 3), (["--tempfail"], TEMPFAIL), (["-e", "--tempfail"], TEMPFAIL),
                            (["--typing-mistake"], TEMPFAIL), (["--header", "no header"], TEMPFAIL),
                            (["--spam-from", "0.1", "--ham-to", "0.9"], TEMPFAIL),
                            (["--token-file", "/does/not/exist"], 0), (["--model", "?/illegal"], 0)):
        equal(gone.run("filter", *options, stdin=mail, status=status), mail, str(options))
        holds("the mail goes on without one" in gone.said, gone.said)
    equal(gone.run("filter", stdin=b""), b"")
    large = SPAM % (1, 1) + b"x" * (65 * 1024 * 1024)
    out = Bayesc(api).run("filter", stdin=large)
    holds(out == large, "a mail that is too large comes out as it came in")


def test_filter_outlives_a_daemon_that_misbehaves(api):
    """It says nothing, hangs up, or answers what is no verdict."""
    mail = HAM % (1, 1)
    answers = [None, b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"garbage\r\n\r\n",
               b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
               b"HTTP/1.1 503 Busy\r\nRetry-After: 99\r\nContent-Length: 0\r\n\r\n",
               b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone",
               b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Bayesc(api, f"http://127.0.0.1:{server.getsockname()[1]}")
        for answer in answers:
            kept = []

            def serve():
                connection, _ = server.accept()
                if answer is None:
                    kept.append(connection)
                    return
                connection.recv(65536)
                connection.sendall(answer)
                connection.close()
            thread = threading.Thread(target=serve)
            thread.start()
            equal(client.run("filter", "--timeout", "1", "--pause", "0", "--tempfail", stdin=mail, status=TEMPFAIL), mail,
                  str(answer))
            thread.join()
            for connection in kept:
                connection.close()


class HangingDaemon:
    """Takes requests and answers none, until `verdict` is set."""

    def __init__(self):
        self.listener, self.asked, self.verdict, self.kept = socket.create_server(("127.0.0.1", 0)), 0, False, []
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        body = b'{"label":"ham","probability":1,"ready":true,"probabilities":{"ham":1,"spam":0}}'
        while True:
            try:
                connection, _ = self.listener.accept()
                self.asked += 1
                connection.recv(65536)
                if self.verdict:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                    connection.close()
                else:
                    self.kept.append(connection)
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.kept:
            connection.close()


def age(folder, seconds):
    """Makes the file that remembers a hang older."""
    name, = os.listdir(folder)
    path = os.path.join(folder, name)
    os.utime(path, (os.stat(path).st_mtime - seconds,) * 2)


def test_filter_does_not_wait_for_a_daemon_that_hangs(api):
    """One mail waits for the time-out, the next ones do not, though each is a process of its own."""
    mail, folder = HAM % (1, 1), api.new_folder()
    os.chmod(folder, 0o700)
    with HangingDaemon() as daemon:
        client = Bayesc(api, daemon.url)

        def filtered(*options, where=folder):
            out = client.run("filter", "--timeout", "1", "--pause", "300", *options, stdin=mail,
                             environment={"XDG_RUNTIME_DIR": where})
            return out != mail

        for _ in range(3):
            holds(not filtered(), "a verdict")
        equal(daemon.asked, 1)
        holds("did not answer other mails" in client.said, client.said)
        name, = os.listdir(folder)
        equal(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)
        filtered("--pause", "0")
        equal(daemon.asked, 2, "--pause 0")
        filtered("--url", daemon.url.replace("127.0.0.1", "localhost"))
        equal(daemon.asked, 3, "another daemon is another matter")
        os.unlink(os.path.join(folder, next(n for n in os.listdir(folder) if n != name)))
        # After the pause one asks, while the others still pass by.
        age(folder, 301)
        probe = threading.Thread(target=filtered)
        probe.start()
        wait_for(lambda: daemon.asked == 4, "the probe")
        holds(not filtered(), "a verdict")
        probe.join()
        holds(not filtered(), "a verdict")
        equal(daemon.asked, 4, "the probe was in vain: the next pause")
        age(folder, 301)
        daemon.verdict = True
        patient = "--timeout", "600"
        holds(filtered(*patient) and filtered(*patient), "verdicts again")
        equal(os.listdir(folder), [])
        age_in_future = write(folder, name, content=b"")
        os.utime(age_in_future, (4e9, 4e9))
        holds(filtered(*patient), "a clock that was set back")


def test_filter_trusts_no_folder_of_others(api):
    """Neither a link, nor a file that is none, nor a folder that others may write to."""
    mail, base = HAM % (1, 1), api.new_folder()
    own = f"bayesc-{os.geteuid()}"
    victim = write(base, "victim", content=b"untouched")
    before = os.stat(victim)
    with HangingDaemon() as daemon:
        client = Bayesc(api, daemon.url)

        def run_in(folder):
            # No runtime folder: /run/user/UID may be there, so it is the one that is named.
            client.run("filter", "--timeout", "1", "--pause", "300", stdin=mail,
                       environment={"XDG_RUNTIME_DIR": folder, "TMPDIR": os.path.join(base, "tmp")})
        os.mkdir(os.path.join(base, "tmp"))
        open_to_all = os.path.join(base, "open")
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o777)
        link = os.path.join(base, "link")
        os.symlink(base, link)
        for folder in (open_to_all, link, "relative", base + "/none"):
            run_in(folder)
        holds(not os.listdir(open_to_all), "a file where others may write")
        holds(not any(name.startswith("bayesc-away") for name in os.listdir(base)), os.listdir(base))
        if not os.path.isdir(f"/run/user/{os.geteuid()}"):
            equal(os.stat(os.path.join(base, "tmp", own)).st_mode & 0o777, 0o700)
        # A link in place of the file is not followed.
        good = os.path.join(base, "good")
        os.mkdir(good, 0o700)
        run_in(good)
        name, = os.listdir(good)
        for target in (victim, "/dev/full", os.path.join(base, "made")):
            os.unlink(os.path.join(good, name))
            os.symlink(target, os.path.join(good, name))
            asked = daemon.asked
            run_in(good)
            equal(daemon.asked, asked + 1, target)
        os.unlink(os.path.join(good, name))
        os.mkdir(os.path.join(good, name))
        run_in(good)
    equal(os.stat(victim).st_mtime_ns, before.st_mtime_ns)
    holds(not os.path.exists(os.path.join(base, "made")), "a file was made through a link")


def test_filter_says_when_it_cannot_write(api):
    client, model, _ = trained(api)
    with open("/dev/full", "wb") as full:
        for url in (client.url, f"http://127.0.0.1:{free_port()}"):
            done = subprocess.run([client.path, "filter", "-m", model, "-u", url], input=SPAM % (1, 1),
                                  stdout=full, stderr=subprocess.DEVNULL, env=client.environment(),
                                  timeout=patience(60), check=False)
            equal(done.returncode, IOERR)


# ---- evaluate -----------------------------------------------------------------------------------
def corpus(api, number=60):
    """Labelled texts, some of them misleading, as a TSV without a head line; and its rows."""
    words = {"ham": "meeting report garden lunch".split(), "spam": "win prize money cheap".split()}
    rows = []
    for i in range(number):
        label = api.random.choice(("ham", "spam"))
        own = label if api.random.random() < 0.85 else api.random.choice(("ham", "spam"))
        rows.append((label, " ".join(api.random.choices(words[own] + ["the", "of"], k=4)) + f" n{i}"))
    path = write(api.new_folder(), "rows.tsv", content="".join(f"{a}\t{b}\n" for a, b in rows).encode())
    return path, rows


def test_evaluate_online_is_what_the_daemon_finds(api):
    """Its own test-then-train figures are those of the daemon for the same documents."""
    client, (path, rows) = Bayesc(api), corpus(api)
    model, before = api.name(), client.json("models")
    api.put(f"/v1/models/{model}", {"preset": "book"}).ok(201)
    for label, text in rows:
        api.post(f"/v1/models/{model}/train", {"text": text, "label": label}).ok()
    want = client.json("evaluate", "-m", model)["windows"][-1]
    equal(want, api.get(f"/v1/models/{model}/evaluation").ok().json["windows"][-1])
    for decision in ("bayes", "stacked"):
        got = client.json("evaluate", "--in-order", "--set", f"decision={decision}", path)["windows"][0]
        equal(got["documents"], 60)
        if decision == "bayes":
            for member in ("accuracy", "one_minus_roca_percent", "lam_percent", "log_loss", "brier", "ece"):
                near(got[member], want[member], member, 1e-6)
            for member in ("confusion", "labels", "macro_f1", "worst_pairs"):
                equal(got[member], want[member], member)
    equal([row["name"] for row in client.json("models")["models"]],
          sorted([row["name"] for row in before["models"]] + [model]), "models left behind")


def test_evaluate_measures_the_model_that_is_named(api):
    """On all documents, without a change of it; a model that is not there is an error, not a new one."""
    client, (path, rows) = Bayesc(api), corpus(api, 100)
    model = api.name()
    for settings in ({"preset": "book"}, {"preset": "text"}):
        api.delete(f"/v1/models/{model}")
        api.put(f"/v1/models/{model}", settings).ok(201)
        for label, text in rows[:30]:
            api.post(f"/v1/models/{model}/train", {"text": text, "label": label}).ok()
        before, names = api.get(f"/v1/models/{model}").ok().json, client.json("models")
        got = client.json("evaluate", "--model", model, path)["windows"]
        equal((len(got), got[0]["variant"], got[0]["documents"]), (1, model, 100))
        verdicts = [api.post(f"/v1/models/{model}/classify", {"text": text}).ok().json for _, text in rows]
        near(got[0]["accuracy"], sum(v["label"] == label for v, (label, _) in zip(verdicts, rows, strict=True)) / 100)
        equal((api.get(f"/v1/models/{model}").ok().json, client.json("models")), (before, names), "the model has changed")
    holds(model in client.run("evaluate", "-m", model, path).decode(), "its name is the column's")
    equal(client.run("evaluate", model, path), client.run("evaluate", "-m", model, path), "the model first, as elsewhere")
    equal(client.run("evaluate", model), client.run("evaluate", "-m", model), "alone, too")
    client.run("evaluate", "nosuch.mbox", status=DATAERR)
    holds("nosuch.mbox: No such file" in client.said, client.said)
    client.run("evaluate", "spam=", status=DATAERR)
    holds("spam=: No such file" in client.said, client.said)
    # Labels that no document has, and one that the model has not.
    api.post(f"/v1/models/{model}/train", {"text": "election held today", "label": "news"}).ok()
    more = write(api.new_folder(), "rows.tsv", content=b"ham\tlunch meeting\nnews\telection\nsports\tgoal of the day\n")
    window = client.json("evaluate", "-m", model, more)["windows"][0]
    holds("'sports'" in client.said and window["documents"] == 3 and window["accuracy"] <= 2 / 3 + 1e-9, client.said)
    one = write(api.new_folder(), "rows.tsv", content=b"ham\tlunch meeting\n")
    equal(client.json("evaluate", "-m", model, one)["windows"][0]["documents"], 1)
    client.run("evaluate", "-m", model + "x", path, status=NOINPUT)
    holds(model + "x" in client.said, client.said)
    for how in (["--folds", "3"], ["--split", ".5"], ["--parts"], ["--online"], ["--set", "smoothing=2"], ["--in-order"], ["--seed", "1"]):
        client.run("evaluate", "-m", model, *how, path, status=USAGE)
        holds(how[0] in client.said and "--model" in client.said, client.said)
    equal(client.json("evaluate", path, environment={"BAYESC_MODEL": model + "x"})["windows"][0]["variant"], "online")


def test_temporary_files_name_their_folder(api):
    """Whatever is the matter with it: it is not there, no folder, or cannot be written to."""
    client, (path, _) = Bayesc(api), corpus(api)
    for folder in (os.path.join(api.new_folder(), "none"), path, "/proc/self"):
        for command in (("evaluate", path), ("bench", path), ("train", "-m", api.name(), path)):
            done = subprocess.run([client.path, *command], env=client.environment(TMPDIR=folder), capture_output=True,
                                  timeout=patience(60), check=False)
            said = done.stderr.decode()
            holds(done.returncode != 0 and f"in {folder} " in said and "TMPDIR" in said, (command, folder, said))


def test_evaluate_splits(api):
    client, (path, rows) = Bayesc(api), corpus(api, 100)
    equal(client.json("evaluate", "--split", "0.7", path)["windows"][0]["documents"], 30)
    by_fold = ("evaluate", "--folds", "4", "--set", "preset=book", path)
    folds = client.json(*by_fold)["windows"][0]
    equal(folds["documents"], 100, "each is tested once")
    equal({k: v["documents"] for k, v in folds["labels"].items()},
          {k: sum(label == k for label, _ in rows) for k in ("ham", "spam")})
    equal(folds, client.json(*by_fold)["windows"][0], "the same seed")
    folder = api.new_folder()
    lines = []
    for i, (label, text) in enumerate(rows):
        write(folder, f"{i}", content=text.encode())
        lines.append(f"{label}\t{i}\t{'train' if i < 60 else 'test'}\n")
    index = write(folder, "index", content="".join(lines).encode())
    got = client.json("evaluate", "--parts", "--format", "index", "--in-order", "--set", "preset=book", index)["windows"][0]
    # The same by hand.
    model = api.name()
    api.put(f"/v1/models/{model}", {"preset": "book"}).ok(201)
    for label, text in rows[:60]:
        api.post(f"/v1/models/{model}/train", {"text": text, "label": label}).ok()
    right = sum(api.post(f"/v1/models/{model}/classify", {"text": text}).ok().json["label"] == label
                for label, text in rows[60:])
    near(got["accuracy"], right / 40)


def test_evaluate_of_many_labels_leads_with_accuracy_and_macro_f1(api):
    client, folder = Bayesc(api), api.new_folder()
    rows = [(f"l{i % 12:02}", f"w{i % 12 if i % 3 else (i // 3) % 12} the {i % 5}") for i in range(96)]
    path = write(folder, "rows.tsv", content="".join(f"{a}\t{b}\n" for a, b in rows).encode())
    how = ("evaluate", "--in-order", "--set", "preset=book", path)
    text, window = client.run(*how).decode(), client.json(*how)["windows"][0]
    lines = [line.split() for line in text.splitlines() if line.strip()]
    equal([line[0] for line in lines[1:3]], ["accuracy", "macro-F1"], text)
    equal(lines[2][1], f"{100 * window['macro_f1']:.2f}", text)
    holds("positive label" not in text and "most often taken for another" in text, text)
    holds("positive label: l03" in client.run("evaluate", "--in-order", "--positive", "l03", path).decode(), "named")
    holds(0 < len(window["worst_pairs"]) <= 20, window["worst_pairs"])


def test_evaluate_variants_and_plots(api):
    client, (path, _) = Bayesc(api), corpus(api)
    folder = api.new_folder()
    roc, reliability = os.path.join(folder, "roc.svg"), os.path.join(folder, "reliability.svg")
    text = client.run("evaluate", path, "--variant", "smoothing=1", "--variant", "event_model=binary smoothing=0.5",
                      "--roc", roc, "--reliability", reliability).decode()
    holds("smoothing=1  event_model=binary smoothing=0.5" in text, text)
    for name in (roc, reliability):
        svg = xml.dom.minidom.parse(name)
        holds(len([p for p in svg.getElementsByTagName("path") if p.getAttribute("d").count("L") > 2]) == 2, name)
    holds("best" not in client.run("evaluate", path).decode(), "one evaluation is not the best of several")
    client.run("evaluate", path, "--set", "smooting=1", status=DATAERR)
    holds("smooting" in client.said, client.said)
    for bad in (["--set", "novalue"], ["--split", "2"], ["--split", "0.5", "--folds", "3"], ["--positive", "x"]):
        client.run("evaluate", path, *bad, status=USAGE)
    client.run("evaluate", "-m", "no-such-model", status=NOINPUT)


def test_evaluate_calibrated(api):
    """A calibration changes probabilities. The log scores, which stay, order the documents."""
    client, (path, _) = Bayesc(api), corpus(api, 300)
    said, plain = {}, None
    for method in ("none", "platt", "isotonic"):
        window = client.json("evaluate", "--split", "0.5", "--set", "preset=book", "--set", "event_model=bernoulli",
                             "--set", f"calibration={method}", path)["windows"][0]
        plain = plain or window
        said[method] = window["log_loss"]
        equal(window["one_minus_roca_percent"], plain["one_minus_roca_percent"], method)
    equal(len(set(said.values())), 3, said)
    # Of two that are equally good the one that says it with better probabilities wins, and that is told.
    text = client.run("evaluate", "--split", "0.5", "--set", "preset=book", "--set", "event_model=bernoulli", "--variant", "calibration=none",
                      "--variant", "calibration=platt", path).decode()
    best, other = sorted(("none", "platt"), key=said.get)
    rate = f"{plain['one_minus_roca_percent']:.4f} %"
    holds(f"best by 1 - area under ROC: calibration={best}, {rate} (next: calibration={other}, {rate} with a higher log-loss)\n" in text, text)


def test_evaluate_names_the_best_and_how_to_use_it(api):
    client, (path, _) = Bayesc(api), corpus(api)
    worse, better = "decision=bayes min_count=60", "decision=bayes min_count=0"
    options = ["evaluate", path, "--set", "preset=book", "--variant", worse, "--variant", better]
    figures = client.json(*options)
    equal(figures["best"], better)
    rates = [row["one_minus_roca_percent"] for row in figures["windows"]]
    holds(rates[1] < rates[0], rates)
    model = api.name()
    said = client.run(*options, "-m", model).decode().split("\n")
    holds(f"best by 1 - area under ROC: {better}, {rates[1]:.4f} % (next: {worse}, {rates[0]:.4f} %)" in said, said)
    equal(said[-2], f"to use it: bayesc create {model} --set preset=book --set decision=bayes --set min_count=0")
    client.run(*said[-2].split()[4:])
    # Of a model that is there, settings are changed.
    said = client.run(*options, "--set", 'fields={"a":"set"}', "-m", model).decode().split("\n")
    equal(said[-2], f"to use it: bayesc set {model} preset=book 'fields={{\"a\":\"set\"}}' decision=bayes min_count=0")
    client.run(*shlex.split(said[-2])[4:])
    equal(client.json("show", model)["settings"]["fields"], {"a": "set"})
    said = client.run("evaluate", path, "--variant", better, "--variant", better).decode()
    holds(said.endswith("\nno variant is better than all others\n"), said)


def test_evaluate_removes_its_model_when_broken_off(api):
    client, (path, _) = Bayesc(api), corpus(api, 20000)
    process = subprocess.Popen([client.path, "evaluate", path], env=client.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name = f"bayesc-evaluate-{process.pid}"

    def there():
        return any(row["name"] == name for row in client.json("models")["models"])
    wait_for(there, "the model of the evaluation")
    process.send_signal(signal.SIGINT)
    holds(process.wait(patience(20)) != 0, "broken off")
    holds(not there(), "the model is left behind")


def test_sigterm_ends_a_train_at_once(api):
    """As timeout(1) and mail software send it, also while the daemon hangs."""
    mail = os.path.join(api.new_folder(), "a.eml")
    with open(mail, "w", encoding="ascii") as file:
        file.write("Subject: a\n\nbody\n")
    with HangingDaemon() as daemon:
        process = subprocess.Popen([Bayesc(api).path, "train", "--url", daemon.url, "--label", "a", mail],
                                   env=Bayesc(api).environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: daemon.asked, "it waits for the daemon")
        process.send_signal(signal.SIGTERM)
        equal(process.wait(patience(10)), -signal.SIGTERM)


# ---- labels -------------------------------------------------------------------------------------
def test_labels_are_renamed_and_deleted(api):
    client, model, _ = trained(api)
    before = counts(api, model)
    said = client.run("rename-label", "-m", model, "spam", "junk/mail", "--by", "ann").decode()
    equal(said, f"{model}: the label spam is junk/mail now\n")
    equal(counts(api, model), {"junk/mail": before["spam"], "ham": before["ham"]})
    client.run("rename-label", "-m", model, "spam", "x", status=NOINPUT)
    holds("spam" in client.said, client.said)
    client.run("rename-label", "-m", model, "ham", "junk/mail", status=DATAERR)
    client.run("rename-label", "-m", model, "ham", "\udcff", status=DATAERR)
    equal(client.json("rename-label", "-m", model, "junk/mail", "spam"), api.get(f"/v1/models/{model}").json)
    said = client.run("delete-label", "--yes", "-m", model, "spam", "--by", "ann").decode()
    equal(said, f"{model}: {before['spam']} documents of the label spam are forgotten\n")
    equal(counts(api, model), {"ham": before["ham"]})
    equal(api.get(f"/v1/models/{model}/undo").ok().json["undone"][0]["by"], "ann")
    equal(client.json("delete-label", "-y", "-m", model, "spam"), {"model": model, "label": "spam", "forgotten": 0})
    client.run("rename-label", model, "ham", "good")  # the model may be named first, as for other commands
    equal(client.run("delete-label", "-y", model, "good", "-q"), b"")
    equal(counts(api, model), {})
    client.run("rename-label", model, "good", "ham", "one too many", status=USAGE)
    client.run("delete-label", "-y", model, "good", "one too many", status=USAGE)
    client.run("delete-label", "-y", "-m", model, "none", status=NOINPUT)
    client.run("delete-label", "-m", model, status=USAGE)
    rows = [{"text": f"word{i}", "label": "many", "id": str(i)} for i in range(4321)]
    api.post(f"/v1/models/{model}/train", {"documents": rows}).ok()
    equal(client.json("delete-label", "-y", "-m", model, "many")["forgotten"], 4321, "in parts")


# ---- what a model or a network says of the world -------------------------------------------------
def test_labels_are_merged(api):
    client, model, _ = trained(api, 3)
    client.run("train", "-m", model, "--label", "junk", stdin=SPAM % (99, 99))
    client.run("rename-label", "-m", model, "junk", "spam", status=DATAERR)
    equal(counts(api, model), {"ham": 3, "spam": 3, "junk": 1})
    equal(client.run("rename-label", "-m", model, "--merge", "junk", "spam"),
          f"{model}: what had the label junk is spam now\n".encode())
    equal(counts(api, model), {"ham": 3, "spam": 4})
    client.run("rename-label", "-m", model, "--merge", "spam", "none", status=NOINPUT)
    client.run("delete-label", "-m", model, "--merge", "spam", status=USAGE)


def test_sample(api):
    client, model, _ = trained(api)
    path = "/v1/models/" + model
    wanted = api.get(f"{path}/sample?label=spam&length=12&seed=7&temperature=0.5").ok().json
    flags = ("-l", "spam", "-n", "12", "-s", "7", "-t", "0.5")
    equal(client.run("sample", model, *flags).decode(), " ".join(wanted["tokens"]) + "\n")
    equal(client.json("sample", "-m", model, *flags), wanted)
    equal(client.json("sample", model, "-l", "ham"), api.get(f"{path}/sample?label=ham").ok().json)
    got = client.json("sample", model, "-l", "spam", "-e", "3", "--interval", "0.5")
    equal(got, api.get(f"{path}/distribution?label=spam&limit=3&interval=0.5").ok().json)
    lines = client.run("sample", model, "-l", "spam", "-e", "3", "--interval", "0.5").decode().splitlines()
    equal([line.split()[0] for line in lines[2:5]], [t["token"] for t in got["tokens"]])
    for line, row in zip(lines[2:5], got["tokens"]):
        count, p, low, high = line.split()[1:]
        equal(int(count), row["count"])
        for shown, wanted in zip((p, low, high), (row["probability"], *row["interval"])):
            near(float(shown), wanted, line, 1e-3)
    holds(lines[1].startswith("(the label) ") and lines[5].startswith("(any other word) "), lines)
    api.put(path, {"prior": "uniform"}).ok()
    holds(client.run("sample", model, "-l", "spam", "-e", "1").decode().splitlines()[1].endswith(" -"), "a given prior")
    client.run("sample", model, status=USAGE)
    holds("--label" in client.said, client.said)
    client.run("sample", model, "-l", "spam", "-t", "0", status=USAGE)
    client.run("sample", model, "-l", "no-such-label", status=NOINPUT)
    client.run("sample", "no-such-model", "-l", "spam", status=NOINPUT)


def test_sample_of_fields(api):
    client, model = Bayesc(api), api.name()
    path = "/v1/models/" + model
    api.put(path, {"preset": "book", "fields": {"land": "category", "tags": "set", "n": "number", "note": "text"}}).ok(201)
    for i, values in enumerate(({"land": "DE", "tags": ["a", "b"], "n": 1.5}, {"land": "FR", "n": 4, "note": "of a kind"},
                                {"tags": ["a"]})):
        api.post(path + "/train", {"values": values, "label": "x", "id": str(i), "text": "some words"}).ok()
    whole = 0
    for seed in range(12):
        values = api.get(f"{path}/sample?label=x&seed={seed}").ok().json.get("values", {})
        lines = client.run("sample", model, "-l", "x", "-s", str(seed)).decode().splitlines()[1:]
        shown = {"land": str, "tags": ", ".join, "n": "{:.10g}".format, "note": str}
        equal(lines, [f"{name}={shown[name](value)}" for name, value in values.items()], "what is missing has no line")
        whole += len(values) == 4
    holds(whole > 0, "no document has all values")
    fields = api.get(f"{path}/distribution?label=x&limit=50").ok().json["fields"]
    lines = client.run("sample", model, "-l", "x", "-e", "50").decode().splitlines()
    _, of_fields, of_values = "\n".join(lines).split("\n\n")
    equal([line.split() for line in of_fields.splitlines()[1:]],
          [["land", "2", "1", "-", "-"], ["tags", "2", "1", "-", "-"], ["n", "2", "1", "2.75", "1.25"],
           ["note", "1", "2", "-", "-"]])
    rows = [(f"{row['field']}={t['value']}", t) for row in fields for t in row.get("values", [])]
    equal(len(rows), 4)
    for line, (name, t) in zip(of_values.splitlines()[1:], rows, strict=True):
        numbers = [t["count"], t["probability"], *t["interval"]]
        equal(line.split(), [name, *("%.4g" % x for x in numbers)])


PAVEMENT = {"nodes": [
    {"name": "rain", "states": ["yes", "no"], "table": [[0.3, 0.7]]},
    {"name": "sprinkler", "states": ["on", "off"], "table": [[0.4, 0.6]]},
    {"name": "wet=slippery", "states": ["yes", "no"], "parents": ["rain", "sprinkler"],
     "table": [[0.99, 0.01], [0.9, 0.1], [0.85, 0.15], [0.02, 0.98]]}]}


def test_network_kept_and_drawn(api):
    client, name, folder = Bayesc(api), api.name(), api.new_folder()
    path = "/v1/networks/" + name
    file = write(folder, "pavement.json", content=json.dumps(PAVEMENT).encode())
    equal(client.run("network", "put", name, file, "--source", "ann").decode(), f"{name}: 3 nodes, 2 arrows\n")
    kept = api.get(path).ok().json
    equal((kept["source"], kept["nodes"][2]["table"]), ("ann", PAVEMENT["nodes"][2]["table"]))
    equal(json.loads(client.run("network", "show", name)), kept)
    equal(client.json("network", "put", name, "-", stdin=json.dumps(PAVEMENT).encode())["source"], "http")
    holds(name in client.run("network", "list").decode().splitlines(), "it is listed")
    holds({"name": name} in client.json("network", "list")["networks"], "it is listed in JSON")
    equal(client.run("network", "dot", name), api.get(path + "?format=dot").ok().body)
    picture = os.path.join(folder, "pavement.svg")
    client.run("network", "svg", name, picture)
    with open(picture, "rb") as drawn:
        equal(drawn.read(), api.get(path + "?format=svg").ok().body)
    client.run("network", "svg", "no-such-network", picture, status=NOINPUT)
    holds(os.path.exists(picture), "a failure leaves the file")
    client.run("network", "put", name, write(folder, "bad.json", content=b'{"nodes": []}'), status=DATAERR)
    holds("at least one" in client.said, client.said)
    client.run("network", "put", name, os.path.join(folder, "nothing"), status=NOINPUT)
    client.run("network", "delete", name)
    client.run("network", "delete", name, status=NOINPUT)


def test_network_lists_pages(api):
    daemon = api.another(config={"server": {"listing_rows": 2}}).start()
    client = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    for i in range(5):
        daemon.client.put(f"/v1/networks/n{i}", PAVEMENT).ok(201)
    equal(client.run("network", "list").decode().split(), [f"n{i}" for i in range(5)])


def test_network_asked(api):
    client, name = Bayesc(api), api.name()
    path = "/v1/networks/" + name
    api.put(path, PAVEMENT).ok(201)
    given = ("--given", "wet=slippery=yes", "-g", "sprinkler=on")
    wanted = api.post(path + "/query", {"of": ["rain"], "evidence": {"wet=slippery": "yes", "sprinkler": "on"}}).ok().json
    equal(client.json("network", "query", name, "--of", "rain", *given), wanted)
    rows = [line.split() for line in client.run("network", "query", name, "-o", "rain", *given).decode().splitlines()]
    equal(rows[0], ["node", "state", "probability"])
    equal([row[-2] for row in rows[1:]], ["yes", "no"])
    for row, p in zip(rows[1:], wanted["probabilities"]["rain"].values()):
        near(float(row[-1]), p, "rain", 1e-5)
    equal(len(client.run("network", "query", name).decode().splitlines()), 7)
    equal(client.run("network", "independent", name, "rain", "sprinkler").decode(), "rain and sprinkler are independent\n")
    equal(client.run("network", "independent", name, "rain", "sprinkler", "-g", "wet=slippery").decode(),
          "rain and sprinkler may depend on each other given wet=slippery\n")
    equal(client.json("network", "independent", name, "rain", "sprinkler"), {"network": name, "independent": True})
    client.run("network", "query", name, "-g", "rain=perhaps", status=DATAERR)
    for arguments in (("query", name, "-g", "rain"), ("query", name, "-g", "=yes"), ("independent", name, "rain"),
                      ("draw", name), ("put", name), ("show", name, "-o", "rain"), ("list", "-g", "rain"), (),
                      ("dot", name, "--source", "x"), ("query", name, "--alpha", "0.5")):
        client.run("network", *arguments, status=USAGE)


def test_network_learned(api):
    """Rows in each format give the same network; what contradicts itself is told."""
    client, name, folder = Bayesc(api), api.name(), api.new_folder()
    path = "/v1/networks/" + name
    api.put(path, PAVEMENT).ok(201)
    drawn = api.post(path + "/query", {"samples": 20000, "seed": 1}).ok().json
    columns, rows = drawn["columns"], drawn["rows"]
    files = {"rows.csv": "\n".join(",".join(row) for row in [columns, *rows]),
             "rows.ndjson": "\n".join(json.dumps(dict(zip(columns, row))) for row in rows),
             "rows.json": json.dumps({"columns": columns, "rows": rows})}
    for file, content in files.items():
        said = client.run("network", "learn", name, write(folder, file, content=content.encode())).decode()
        equal(said.splitlines(), [f"{name}: learned from 20,000 rows", "  rain -> wet=slippery", "  sprinkler -> wet=slippery"])
    got = client.json("network", "learn", name, os.path.join(folder, "rows.csv"), "--alpha", "0.001", "--prior", "2",
                      "--separators", "1", "--source", "ann")
    equal((got["kept"], got["rows"]), (True, 20000))
    equal(api.get(path).ok().json["source"], "ann")
    client.run("network", "learn", name, write(folder, "x.csv", content=b"a,a\n1,2\n"), status=DATAERR)


def test_network_learned_from_a_model(api):
    client, name = Bayesc(api), api.name()
    model = "/v1/models/" + name
    fields = {"country": "category", "plan": "category", "city": "category"}
    api.put(model, {"preset": "book", "fields": fields}).ok(201)
    documents = [{"values": {"country": "AB"[n % 2], "city": "ab"[n % 2], "plan": "xy"[n % 3 == 0]}, "label": "one" if n % 3 else "two"}
                 for n in range(60)]
    api.post(model + "/train", {"documents": [{**d, "id": str(n)} for n, d in enumerate(documents)]}).ok()
    said = client.run("network", "from", name, name).decode().splitlines()
    equal(said, [f"{name}: learned from 60 rows", "  city - country", "  label - plan"])
    said = client.run("network", "from", name, name, "plan", "city", "--source", "ann").decode().splitlines()
    equal(said, [f"{name}: learned from 60 rows", "  label - plan"])
    equal(api.get("/v1/networks/" + name).ok().json["source"], "ann")
    got = client.json("network", "from", name, name, "plan", "--alpha", "0.001", "--prior", "2", "--separators", "1")
    want = api.post("/v1/networks/" + name, {"model": name, "fields": ["plan"], "alpha": 0.001, "prior": 2, "separators": 1})
    equal(got, want.ok().json)
    client.run("network", "from", name, name, "colour", status=DATAERR)
    client.run("network", "from", name, "no-such-model", status=NOINPUT)
    client.run("network", "from", name, status=USAGE)
    client.run("network", "show", name, name, status=USAGE)


# ---- rows of tables -----------------------------------------------------------------------------
ROWS = b"label,text\n" + b"".join(b"%s,%s\n" % (kind, text) for kind, text in
                                  ((b"spam", b"win a prize"), (b"ham", b"lunch"), (b"ham", b"win a prize"), (b"spam", b"win a prize")) * 10)


def test_each_row_of_a_table_counts(api):
    """Its id is the source and its number: a table again changes nothing, two tables share no id."""
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    one = write(folder, "one.csv", content=ROWS)
    other = write(folder, "other.csv", content=ROWS.replace(b"lunch", b"dinner"))
    copy = write(folder, "copy.csv", content=ROWS)
    got = client.json("train", "-m", model, one)
    equal((got["learned"], got["unchanged"], "merged" in got), (40, 0, False))
    equal(counts(api, model), {"spam": 20, "ham": 20})
    for again in (["train", "-m", model, copy], ["train", "-m", model, "--in-order", one], ["train", "-m", model, "-f", "csv"]):
        got = client.json(*again, stdin=ROWS)
        equal((got["learned"], got["unchanged"]), (0, 40), again)
    equal(client.json("train", "-m", model, other)["learned"], 40)
    equal(client.json("untrain", "-m", model, "-f", "csv", stdin=ROWS)["forgotten"], 40)
    equal(counts(api, model), {"spam": 20, "ham": 20})
    model = api.name()
    client.run("train", "-m", model, "--source", "tickets", one, other)
    equal(sum(counts(api, model).values()), 80)
    for row, label in ((1, "spam"), (2, "ham"), (80, "spam")):
        equal(api.get(f"/v1/models/{model}/documents/tickets:{row}").ok().json["label"], label)
    equal(client.json("train", "-m", model, "--source", "tickets", one, other)["unchanged"], 80)
    # An id of its own, and that of a mail, stay.
    model = api.name()
    table = b"id,label,text\nown,a,word\n,b,word\n"
    client.run("train", "-m", model, "--source", "s", "-f", "csv", stdin=table)
    equal(api.get(f"/v1/models/{model}/documents/own").ok().json["label"], "a")
    equal(api.get(f"/v1/models/{model}/documents/s:2").ok().json["label"], "b")
    lines = b"".join(b'{"kind": "a", "words": "the same"}\n' for _ in range(5))
    got = client.json("train", "-m", api.name(), "-f", "ndjson", "--columns", "text=words,label=kind", stdin=lines)
    equal(got["learned"], 5, "lines with columns are a table")


def test_merged_texts_are_told(api):
    client, model = Bayesc(api), api.name()
    lines = b"".join(b'{"label": "a", "text": "the same"}\n' for _ in range(5))
    got = client.json("train", "-m", model, "-f", "ndjson", stdin=lines)
    equal((got["learned"], got["unchanged"], got["merged"]), (1, 4, 4))
    said = client.run("train", "-m", api.name(), "-f", "ndjson", stdin=lines).decode()
    holds("4 texts without an id merged" in said, said)
    batch = {"documents": [{"text": "x", "label": "a"}, {"text": "x", "label": "b"}, {"text": "x", "label": "b", "id": "own"}]}
    equal(api.post(f"/v1/models/{api.name()}/train", batch).ok().json["merged"], 1)


# ---- the whole ----------------------------------------------------------------------------------
def test_help_and_mistakes(api):
    client = Bayesc(api)
    text = client.run("--help").decode()
    for command in COMMANDS:
        holds(re.search(rf"(?m)^  {command} ", text), f"{command} in {text}")
        said = client.run(command, "--help").decode()
        short = re.findall(r"^  (-\w),", said, re.M)
        equal(sorted(short), sorted(set(short)), f"{command}: an option of one letter that stands twice means one of both")
        holds(said.startswith(f"Usage: bayesc {command} ") and ("--url URL" in said) == (command != "restore"), said)
    equal(sorted(re.findall(r"(?m)^  ([a-z-]+) ", text)), sorted(COMMANDS))
    holds(re.search(r"(?m)^Teach and correct:\n  train  ", text), text)
    holds(all(len(line) < 80 for line in text.splitlines()), text)
    equal(client.run("help"), client.run("--help"))
    equal(client.run("--url", "http://127.0.0.1:1", "--help"), client.run("--help"), "behind options")
    equal(client.run("help", "train"), client.run("train", "--help"))
    equal(client.run("--url", "http://127.0.0.1:1", "help", "train"), client.run("train", "--help"), "behind options")
    client.run("help", "trian", status=USAGE)
    holds("did you mean train?" in client.said, client.said)
    holds(client.run("--version").startswith(b"bayesc "), "version")
    for arguments in ([], ["typo"], ["train", "--typo"], ["train", "-Z"], ["train", "--label"], ["models", "x"],
                      ["train", "-c", "0"], ["train", "-c", "1.5"], ["models", "--url", "ftp://x"],
                      ["train", "-l", "x", "--format", "zip", "/etc/hostname"]):
        client.run(*arguments, status=USAGE)


def test_slips_are_understood(api):
    client = Bayesc(api)
    for words, said in ((["--url", "http://127.0.0.1:1", "trian"], "'trian' is not a command: did you mean train?"),
                        (["trian", "x"], "'trian' is not a command: did you mean train?"), (["stat"], "did you mean stats?"),
                        (["train", "--lable", "x"], "--lable is not an option of train: did you mean --label?"),
                        (["train", "--conections=3"], "did you mean --connections?"),
                        (["models", "--jsn"], "did you mean --json?")):
        client.run(*words, status=USAGE)
        holds(said in client.said, client.said)
    for words in (["frobnicate"], ["models", "--frobnicate"]):
        client.run(*words, status=USAGE)
        holds("did you mean" not in client.said, client.said)


# What a command has no use of, and words of what is said of it.
UNUSED_OPTIONS = (
    (("models", "-m", "x"), "--model: models has no use of it"), (("backup", "--model=x", "there"), "--model: backup"),
    (("backup", "--json", "there"), "--json: backup"), (("export", "--json", "there"), "--json: export"),
    (("restore", "-m", "x", "a", "b"), "--model: restore"), (("restore", "--after", "1", "a", "b"), "--after: restore"),
    (("--url", "http://127.0.0.1:1", "restore", "a", "b"), "--url: restore"), (("derive", "-m", "x", "a", "b"), "--model: derive"),
    (("nodes", "status", "-m", "x"), "--model: nodes"), (("network", "list", "-m", "x"), "--model: network"),
    *(((command, "-m", "x", "y", *more), "name two models") for command, *more in (
        ("show",), ("stats",), ("refit",), ("delete",), ("create",), ("em",), ("sample",), ("cluster",), ("watch",),
        ("set", "alpha=1"), ("rename-label", "a", "b"), ("delete-label", "a"))),
    *((("classify", "--columns", "text", "--format", form), f"with --format {form} there are no columns") for form in (
        "file", "lines", "mbox", "index")),
    (("train", "-l", "a", "--charset", "cp850", "--mail"), "mails say their charsets"),
    (("evaluate", "--charset", "cp850", "-f", "mbox", "-"), "mails say their charsets"),
    (("explain", "--text", "--mail"), "exclude each other"), (("untrain", "--mail", "-f", "lines"), "--mail does not go with --format lines"),
    (("classify", "--text", "-f", "mbox"), "--text does not go with --format mbox"))


def test_options_that_change_nothing_are_refused(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "-l", "a", stdin=b"word")
    for words, said in UNUSED_OPTIONS:
        client.run(*words, stdin=b"word", status=USAGE)
        holds(said in client.said, (words, client.said))
        if said.startswith("--") and said.split()[0].endswith(":"):
            option, command = said.split()[:2]
            holds(f"  {option[:-1]}" not in client.run(command, "--help").decode(), words)
    client.run("show", "-m", model, model)  # one model, named twice
    client.run("models", environment={"BAYESC_MODEL": "x"})


def test_options_stand_before_or_after_the_command(api):
    client, model, folder = trained(api, 2)
    mail = os.path.join(folder, "spam", "0")
    expected = client.run("classify", mail, "-m", model, "--json")
    for words in (["-m", model, "--json", "classify", mail], ["--json", "classify", "-m", model, mail],
                  [f"--model={model}", "-c", "1", "classify", "--json", mail], ["--json", "classify", mail, "--model", model]):
        equal(client.run(*words), expected, words)
    # The name of a command may be a value, and an argument.
    client.run("-m", "train", "train", "--label", "ham", stdin=b"a text")
    client.run("--model", "train", "stats")
    client.run("typo", "models", status=USAGE)
    holds("'typo' is not a command" in client.said, client.said)
    client.run("--typo", "models", status=USAGE)
    holds("--typo is not an option of models" in client.said, client.said)
    client.run("-m", "mail", status=USAGE)
    holds("no command is given" in client.said, client.said)
    equal(client.run("--typo", "filter", stdin=SPAM % (1, 1), status=TEMPFAIL), SPAM % (1, 1), "a mail is passed on")


def test_a_reader_that_goes_is_no_failure(api):
    """As `bayesc ... | head` does: no message, and the end by SIGPIPE that other programs have. The mail of a filter has
    gone nowhere, so that one says so."""
    client, model, folder = trained(api)
    many = write(folder, "many.ndjson", content=b'{"text": "win a prize"}\n' * 20000)
    for command in (["models"], ["stats", model], ["models", "--json"], ["export", "-m", model],
                    ["classify", "-m", model, many], ["classify", "-m", model, "--json", many]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([client.path, *command], stdout=writing, stderr=subprocess.PIPE,
                              env=client.environment(), timeout=patience(60), check=False)
        os.close(writing)
        equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), command)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([client.path, "models"], stdout=full, stderr=subprocess.PIPE,
                              env=client.environment(), timeout=patience(60), check=False)
    holds(done.returncode == IOERR and b"standard output cannot be written" in done.stderr, done)


def test_man_page_and_completion_know_every_option(api):
    client = Bayesc(api)
    with open(os.path.join(TOP, "server", "client", "bayesc.1"), encoding="utf-8") as file:
        page = file.read().replace("\\-", "-")
    for command in COMMANDS:
        holds(re.search(rf"(?m)^\.SS {command}$", page), f"{command} in the man page")
        for option in re.findall(r"--[a-z-]+", client.run(command, "--help").decode()):
            holds(option in page, f"{option} of {command} in the man page")
    if shutil.which("bash"):
        script = (f"source {TOP}/server/client/bayesc.bash; COMP_WORDS=($1 $2 $3); COMP_CWORD=$4; "
                  "COMP_LINE=\"${COMP_WORDS[*]}\"; COMP_POINT=${#COMP_LINE}; _bayesc; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")

        def complete(*words):
            return subprocess.run(["bash", "-c", script, "x", client.path, *words], capture_output=True,
                                  text=True, check=True, env=client.environment()).stdout.split()
        equal(sorted(complete("e", "", "1")), ["em", "evaluate", "explain", "export"])
        equal(complete("train", "--lab", "2"), ["--label"])
        equal(complete("nodes", "stat", "2"), ["status"])
        equal(complete("network", "lis", "2"), ["list"])


def test_unreachable_refused_and_forbidden(api):
    gone = Bayesc(api, f"http://127.0.0.1:{free_port()}")
    for command in (["models"], ["train", "-l", "x"], ["export"], ["evaluate"], ["classify"]):
        gone.run(*command, stdin=b"text", status=UNAVAILABLE)
        equal(gone.said.count("\n"), 2 if command[0] == "train" and "broken" in gone.said else 1, gone.said)
    tokens = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            connection, _ = server.accept()
            tokens.append(connection.recv(65536))
            body = b'{"status": 403, "detail": "the token does not reach"}'
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            connection.close()
        thread = threading.Thread(target=serve)
        thread.start()
        file = write(api.new_folder(), "token", content=b"secret-1763\nnot this\n")
        client = Bayesc(api, f"http://127.0.0.1:{server.getsockname()[1]}")
        client.run("models", "--token-file", file, status=NOPERM)
        thread.join()
    holds("the token does not reach" in client.said, client.said)
    holds(b"\r\nAuthorization: Bearer secret-1763\r\n" in tokens[0], tokens[0])


def test_unix_socket(api):
    path = os.path.join(api.new_folder(), "bayesd.sock")
    daemon = api.another(config={"server": {"socket": path}}).start()
    client = Bayesc(api, "unix:" + path)
    client.run("train", "--label", "spam", stdin=SPAM % (1, 1))
    equal(daemon.client.get("/v1/models/mail").ok().json["documents"], 1)
    daemon.stop()
    client.run("models", status=UNAVAILABLE)


def test_tokens(api):
    daemon = api.another(config={"tokens": {"train": "this-token-teaches"}}).start()
    file = write(api.new_folder(), "token", content=b"this-token-teaches\n")
    client = Bayesc(api, daemon.url)
    client.run("train", "--label", "spam", stdin=SPAM % (1, 1), status=NOPERM)
    client.run("train", "--label", "spam", "--token-file", file, stdin=SPAM % (1, 1))
    client.run("export", environment={"BAYESC_TOKEN_FILE": file}, status=NOPERM)


@contextlib.contextmanager
def hostile_daemon(kept):
    """Answers every request with everything that bayesc reads, all texts with sequences for the terminal in them."""
    evil = "\x1b]0;title\x07\x1b[2J\r\nforged line\u009b31m"
    counts = {f"{name}{evil}": {"documents": 7, "tokens": 9, "counts": 1} for name in ("spam", "ham")}
    rates = {name: 0.5 for name in counts}
    window = {"documents": 2, "accuracy": 0.5, "labels": {name: {"documents": 1, "predicted": 1} for name in counts},
              "confusion": {name: dict.fromkeys(counts, 1) for name in counts}}
    reply = {"label": "spam" + evil, "probability": 0.5, "probabilities": rates, "missing": evil, "ready": True,
             "explanation": [{"token": evil, "evidence": 1.0, "count": 1}, {"token": None, "evidence": -1.0}],
             "documents": 14, "vocabulary": 3, "labels": counts, "settings": {evil: evil}, "positive": evil,
             "tokens": [{"token": evil, "evidence": 1, "counts": {"spam": 1}}], "windows": {evil: window},
             "models": [{"name": evil, "documents": 1, "vocabulary": 1, "labels": counts},
                        {"name": evil, "state": evil, "reason": evil}],
             "status": evil, "detail": evil, "id": evil, "title": evil, "error": evil}
    reply["results"] = [{name: value for name, value in reply.items() if name != "error"}]
    problem = json.dumps({"type": evil, "title": evil, "status": 400, "detail": evil}).encode()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                data = connection.recv(65536)
                status, body = ("400 Bad", problem) if kept["problem"] else ("200 OK", json.dumps(reply).encode())
                if data:
                    connection.sendall(b"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                                       % (status.encode(), len(body)) + body)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # the thread must not accept on a descriptor that is another socket by then
        thread.join()
        listener.close()


def test_nothing_foreign_controls_the_terminal(api):
    """Neither the daemon, nor a mail, nor the name of a file."""
    folder, kept = api.new_folder(), {"problem": False}
    evil = "\x1b[2J\rforged"
    mail = write(folder, "mail" + evil, content=HAM % (1, 1))
    with hostile_daemon(kept) as port:
        client = Bayesc(api, f"http://127.0.0.1:{port}")
        for kept["problem"] in (False, True):
            for command in (("classify", mail), ("explain", mail), ("stats",), ("models",), ("evaluate",),
                            ("train", "--label", "spam" + evil, mail), ("untrain", mail), ("untrain", "--id", "x"),
                            ("stats", "model" + evil), ("import", mail), ("filter",), ("classify", mail + "-none"),
                            ("train", "-m", "m" + evil, "--label", "x", "--connections", "1", mail)):
                done = subprocess.run([client.path, *command], input=HAM % (1, 1), capture_output=True,
                                      env=client.environment(), timeout=patience(60), check=False)
                for text in (done.stdout.replace(HAM % (1, 1), b""), done.stderr):
                    found = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\nforged", text)
                    holds(not found, f"{command}, {kept}: {text!r}")


def test_colours_and_progress_only_on_a_terminal(api):
    client, model, folder = trained(api)
    holds(b"\x1b" not in client.run("models") and "\x1b" not in client.said, "colours in a pipe")

    def on_terminal(*arguments, **extra):
        master, slave = pty.openpty()
        process = subprocess.Popen([client.path, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                   env=client.environment(TERM="xterm", **extra))
        os.close(slave)
        out = b""
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:  # Linux's way to say that the other side is closed
            pass
        os.close(master)
        equal(process.wait(), 0)
        return out
    holds(b"\x1b[1m" in on_terminal("models"), "no colour on a terminal")
    holds(b"\x1b[1m" not in on_terminal("models", NO_COLOR="1"), "NO_COLOR")
    out = on_terminal("train", "-m", model, "--by-folder", folder)
    holds(b"documents trained" in out and b"24 unchanged" in out, out)
    holds(b"documents trained" not in on_terminal("train", "-q", "-m", model, "--by-folder", folder), "-q")
