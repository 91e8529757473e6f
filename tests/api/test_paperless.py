# SPDX-License-Identifier: Apache-2.0
"""clients/paperless against a daemon and a server that answers as the REST API of paperless-ngx."""
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse

from harness import clean_environment, equal, holds, patience
from test_readme import TOP

PROGRAM = os.path.join(TOP, "clients", "paperless", "bayesd_paperless.py")
TOKEN = "paperless-token-of-this-test"
CORRESPONDENTS = {3: "City Power", 4: "Büro Müller"}
TYPES = {7: "Invoice", 8: "Letter"}
WORDS = {3: "kilowatt meter reading tariff", 4: "lawyer court file reference"}


class Paperless(http.server.ThreadingHTTPServer):
    """Documents by id, in pages of two; `answers` has other answers to some paths: (status, bytes, headers)."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.documents, self.answers, self.changes, self.seen = {}, {}, [], []
        self.lists = {"correspondents": dict(CORRESPONDENTS), "document_types": dict(TYPES)}
        self.before_change = lambda number: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, number, content, correspondent=None, document_type=None):
        self.documents[number] = {"id": number, "title": f"scan\t{number}\x1b", "content": content, "tags": [1, 2],
                                  "correspondent": correspondent, "document_type": document_type}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, status, body, headers=()):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def is_refused(self, path):
        if path in self.server.answers:
            self.send(*self.server.answers[path])
        elif self.headers["Authorization"] != "Token " + TOKEN:
            self.send(401, {"detail": "Invalid token."})
        else:
            return False
        return True

    def do_GET(self):  # pylint: disable=invalid-name
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query))
        self.server.seen.append(self.path)
        if self.is_refused(path):
            return
        listing, *number = path.split("/")[2:-1]
        if number:
            self.server.before_change(int(number[0]))
            self.send(200, self.server.documents[int(number[0])])
            return
        rows = [{"id": i, "name": name} for i, name in self.server.lists.get(listing, {}).items()]
        if listing == "documents":
            rows = [row for _, row in sorted(self.server.documents.items())]
            for field in ("correspondent", "document_type"):
                if field + "__isnull" in asked:
                    rows = [row for row in rows if (row[field] is None) == (asked[field + "__isnull"] == "true")]
        page = int(asked.pop("page", 1))
        following = None
        if len(rows) > 2 * page:  # as behind a proxy: not the address that was asked
            following = f"http://paperless.invalid{path}?" + urllib.parse.urlencode({**asked, "page": page + 1})
        self.send(200, {"count": len(rows), "next": following, "previous": None, "results": rows[2 * page - 2:2 * page]})

    def do_PATCH(self):  # pylint: disable=invalid-name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.is_refused("PATCH " + self.path):
            return
        number = int(self.path.split("/")[-2])
        self.server.changes.append((number, body))
        self.server.documents[number].update(body)
        self.send(200, self.server.documents[number])


def run(api, paperless, *arguments, status=0, token=TOKEN, url=None, bayesd=None):
    """Standard output and standard error of the program."""
    file = os.path.join(api.new_folder(), "token")
    with open(file, "w", encoding="ascii") as out:
        out.write(token + "\n")
    done = subprocess.run([sys.executable, PROGRAM, *arguments, "--paperless", url or paperless.url, "--paperless-token-file",
                           file, "--bayesd", bayesd or api.daemon.url], capture_output=True, text=True, check=False,
                          timeout=patience(60), env=clean_environment())
    equal(done.returncode, status, done.stdout + done.stderr)
    holds("Traceback" not in done.stderr, done.stderr)
    return done.stdout, done.stderr


def counts(out, model):
    found = re.search(rf"(?m)^{model}: (.*)$", out)
    return {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", found[1]) if count != "0"}


def fresh(api):
    """A daemon of its own: the names of the models are fixed."""
    daemon = api.another().start()
    return daemon, daemon.client


def filled(paperless):
    for i in range(1, 13):
        who = 3 + i % 2
        paperless.add(i, f"{WORDS[who]} number {i}", who, 7 if i % 3 else 8)


def test_learning_follows_corrections(api):
    daemon, client = fresh(api)
    with Paperless() as paperless:
        filled(paperless)
        paperless.add(20, " \n", 3, 7)
        paperless.add(21, "nobody is named", None, None)
        paperless.add(22, "a correspondent that the user may not see", 99, None)
        out, said = run(api, paperless, "learn", bayesd=daemon.url)
        equal((counts(out, "paperless-correspondent"), counts(out, "paperless-type"), said), ({"learned": 12}, {"learned": 12}, ""))
        equal(client.get("/v1/models/paperless-correspondent").json["labels"].keys(), set(CORRESPONDENTS.values()))
        told = client.get("/v1/models/paperless-correspondent/documents/1").json
        equal((told["label"], told["source"]), ("Büro Müller", "paperless"))
        paperless.documents[1]["correspondent"] = 3
        out, _ = run(api, paperless, "learn", bayesd=daemon.url)
        equal(counts(out, "paperless-correspondent"), {"relabelled": 1, "unchanged": 11})
        equal(client.get("/v1/models/paperless-correspondent/documents/1").json["label"], "City Power")
        paperless.lists["correspondents"][4] = "Mu\u0308ller & Co "
        out, _ = run(api, paperless, "learn", bayesd=daemon.url)
        equal(counts(out, "paperless-correspondent"), {"relabelled": 5, "unchanged": 7})
        equal(client.get("/v1/models/paperless-correspondent").json["labels"].keys(), {"City Power", "Müller & Co"})
        equal([path for path in paperless.seen if "page_size=50" not in path], [])
        paperless.lists["document_types"][8] = "x" * 5000
        out, said = run(api, paperless, "learn", bayesd=daemon.url, status=1)
        equal(counts(out, "paperless-type"), {"unchanged": 8, "failed": 4})
        holds("document 3: " in said and "label" in said, said)
    daemon.stop()


def test_suggestions_and_what_is_set(api):
    daemon, client = fresh(api)
    with Paperless() as paperless:
        filled(paperless)
        equal(run(api, paperless, "suggest", bayesd=daemon.url), ("", ""), "there is no document without")
        paperless.add(30, WORDS[3] + " tariff", None, 7)
        out, said = run(api, paperless, "suggest", bayesd=daemon.url)
        equal((out, said), ("", "paperless-correspondent: nothing is learned yet\n"))
        run(api, paperless, "learn", bayesd=daemon.url)
        for number in (31, 33, 34, 35):
            paperless.add(number, WORDS[4 if number == 33 else 3], None, 7)
        paperless.add(32, "zzz qqq", None, 7)
        paperless.add(36, "", None, 7)
        paperless.documents[12]["document_type"] = None
        out, _ = run(api, paperless, "suggest", bayesd=daemon.url)
        rows = [line.split("\t") for line in out.splitlines() if "\tcorrespondent\t" in line]
        equal([row[0] for row in rows], ["30", "31", "33", "34", "35"], "neither unknown words nor an empty text")
        equal((rows[0][1:3], rows[0][4:]), (["correspondent", "City Power"], ["suggested", "scan 30 "]))
        verdict = client.post("/v1/models/paperless-correspondent/classify", {"text": WORDS[3] + " tariff"}).json
        equal(rows[0][3], f"{verdict['probability']:.3f}")
        holds(verdict["probability"] >= .9, verdict)
        equal(paperless.changes, [], "nothing is set")
        equal(run(api, paperless, "suggest", "--least", "1", bayesd=daemon.url)[0], "")

        def somebody(number):
            if number == 31:
                paperless.documents[31]["correspondent"] = 4

        paperless.before_change = somebody
        out, _ = run(api, paperless, "suggest", "--apply", bayesd=daemon.url)
        equal([line.split("\t")[4] for line in out.splitlines() if "\tcorrespondent\t" in line],
              ["set", "set by somebody else", "set", "set", "set"])
        named = [change for change in paperless.changes if "correspondent" in change[1]]
        equal(named, [(30, {"correspondent": 3}), (33, {"correspondent": 4}), (34, {"correspondent": 3}),
                      (35, {"correspondent": 3})], "each page was read before")
        paperless.changes.clear()
        paperless.documents[30]["correspondent"] = None
        paperless.lists["correspondents"][5] = " City Power"
        out, _ = run(api, paperless, "suggest", "--apply", bayesd=daemon.url)
        holds("\tambiguous\t" in out and not [c for c in paperless.changes if "correspondent" in c[1]], out)
    daemon.stop()


def test_one_correspondent_is_suggested_for_nothing(api):
    daemon, _ = fresh(api)
    with Paperless() as paperless:
        for i in range(1, 5):
            paperless.add(i, f"{WORDS[3]} {i}", 3, None)
        paperless.add(9, "kilowatt of somebody else")
        run(api, paperless, "learn", bayesd=daemon.url)
        equal(run(api, paperless, "suggest", bayesd=daemon.url)[0], "")
    daemon.stop()


def test_errors_are_named(api):
    with Paperless() as paperless:
        filled(paperless)

        def fails(*words, answer=None, path="/api/correspondents/", verb="learn", **how):
            paperless.answers = {} if answer is None else {path: answer}
            out, said = run(api, paperless, verb, status=1, **how)
            holds(out == "" and said.startswith("bayesd_paperless: ") and said.count("\n") == 1
                  and all(word in said for word in words), said)

        fails("401", "Invalid token", token="wrong")
        fails("/api/correspondents/", url="http://127.0.0.1:1")
        fails("not an address", url="file:///etc")
        fails("not JSON", answer=(200, b"<html>"))
        fails("not JSON", answer=(200, b"[" * 200000))
        fails("results", answer=(200, []))
        fails("name", answer=(200, {"next": None, "results": [{"id": 1}]}))
        fails("id", answer=(200, {"next": None, "results": [7]}))
        fails("next", answer=(200, {"next": 7, "results": []}))
        fails("500", "no reason", answer=(500, b"\xff"))
        fails("correspondent", path="/api/documents/", answer=(200, {"next": None, "results": [{"id": 1, "content": "x",
                                                                                                 "correspondent": []}]}))
        fails("lead back", answer=(200, {"next": "http://x/api/correspondents/?page=2", "results": []}))
        where = "https://elsewhere.invalid/api/"
        fails(where, answer=(302, b"", (("Location", where),)))
        paperless.answers = {}
        run(api, paperless, "learn")
        paperless.add(40, WORDS[3])
        paperless.answers = {"PATCH /api/documents/40/": (403, {"detail": "You do not have permission."})}
        said = run(api, paperless, "suggest", "--apply", status=1)[1]
        holds("/api/documents/40/: 403" in said and "permission" in said, said)
        paperless.answers = {}
        holds(run(api, paperless, "learn", bayesd="http://127.0.0.1:1", status=1)[1].startswith("bayesd_paperless: "), "away")
        holds("not a probability" in run(api, paperless, "suggest", "--least", "2", status=2)[1], "--least")
