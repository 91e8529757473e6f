# SPDX-License-Identifier: Apache-2.0
"""bayesc export and import do not trust what they are given: a dump that is cut off, or whose end
line does not agree with the lines before it, is refused by the client itself."""
import contextlib
import http.server
import json
import os
import threading

from harness import equal, holds
from test_client import Bayesc, DATAERR, USAGE, trained

PROTOCOL = 76  # EX_PROTOCOL
VALGRIND = True


class Recorder(http.server.BaseHTTPRequestHandler):
    """Answers as the test says and keeps what came."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = b"" if self.headers.get("Transfer-Encoding") else self.rfile.read(
            int(self.headers.get("Content-Length", 0)))
        whole = not self.headers.get("Transfer-Encoding")
        while not whole:
            size = self.rfile.readline()
            if not size:  # the client went away within the body
                break
            piece = self.rfile.read(int(size, 16) + 2)[:-2]
            whole = piece == b""
            body += piece
        self.server.requests.append((self.command, self.path, body, whole))
        self.close_connection = not whole
        status, reply = self.server.reply(self.command, self.path)
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@contextlib.contextmanager
def recorder(reply):
    """A server on 127.0.0.1 that answers reply(method, path), and its requests."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests, server.reply = [], reply
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def damaged(content):
    """Dumps that each miss something, by what they miss."""
    lines = content.splitlines(keepends=True)
    document = next(i for i, line in enumerate(lines) if line.startswith(b'{"document"'))
    return {
        "the end line": b"".join(lines[:-1]),
        "half of the end line": content[:-10],
        "everything": b"",
        "a document": b"".join(lines[:document] + lines[document + 1:]),
        "half of a document": b"".join(lines[:document]) + lines[document][:40],
        "the right total": b"".join(lines[:-1]) + lines[-1].replace(b'"documents":24', b'"documents":23'),
        "what follows the end": content + lines[document],
    }


def test_export_refuses_a_dump_that_does_not_fit_its_end(api):
    client, model, _ = trained(api)
    content = client.run("export", "-m", model)
    name = os.path.join(api.new_folder(), "dump")
    for what, dump in damaged(content).items():
        holds(dump != content, what)
        with recorder(lambda method, path, dump=dump: (200, dump)) as (_, url):
            other = Bayesc(api, url)
            other.run("export", name, status=DATAERR)
            holds("dump" in other.said, f"{what}: {other.said}")
            holds(not os.path.exists(name) and not os.path.exists(name + ".part"), what)
            other.run("export", status=DATAERR)
    with recorder(lambda method, path: (200, content)) as (_, url):
        Bayesc(api, url).run("export", name)
    with open(name, "rb") as file:
        equal(file.read(), content)


def test_import_refuses_a_dump_that_does_not_fit_its_end(api):
    client, model, _ = trained(api)
    content = client.run("export", "-m", model)
    for what, dump in damaged(content).items():
        with recorder(lambda method, path: (201, b'{"documents": 24}')) as (server, url):
            other = Bayesc(api, url)
            other.run("import", "--replace", stdin=dump, status=DATAERR)
            holds("dump" in other.said, f"{what}: {other.said}")
            holds(not any(whole for _, _, _, whole in server.requests), f"{what}: sent as if it were whole")
    with recorder(lambda method, path: (201, b'{"documents": 24}')) as (server, url):
        Bayesc(api, url).run("import", "--replace", stdin=content)
        equal([body for _, _, body, _ in server.requests], [content])


def test_source_is_sent_with_each_change(api):
    client, model, folder = trained(api)
    content = client.run("export", "-m", model)

    def reply(method, path):
        if method == "PUT":
            return 201, b'{"documents": 24}'
        return 200, b'{"results": [{"status": "learned", "label": "spam"}]}'
    with recorder(reply) as (server, url):
        other = Bayesc(api, url)
        mail = os.path.join(folder, "spam", "1")
        for arguments, stdin in ((["train", "--label", "spam", mail], b""), (["untrain", mail], b""),
                                 (["untrain", "--id", "x"], b""), (["import", "--replace"], content)):
            for options, query in (([], ""), (["--source", "a b/\u00e9&c"], "?source=a%20b%2F%C3%A9%26c"),
                                   (["--source", "x" * 64], "?source=" + "x" * 64)):
                server.requests.clear()
                other.run(*arguments, *options, "-m", "m", stdin=stdin)
                changes = [path for method, path, _, _ in server.requests if method != "GET"]
                operation = "import" if arguments[0] == "import" else arguments[0]
                equal(changes, [f"/v1/models/m/{operation}{query}"], " ".join(arguments + options))
            server.requests.clear()
            for wrong in ("x" * 65, "", "a\nb", "a\u0085b", os.fsdecode(b"\xff")):
                other.run(*arguments, "--source", wrong, "-m", "m", stdin=stdin, status=USAGE)
                holds("--source" in other.said, other.said)
            equal(server.requests, [], "nothing is sent with a source that the daemon would refuse")


def test_models_come_in_pages(api):
    """As many pages as the daemon has; a damaged model is a row of its own."""
    pages = {
        "/v1/models": b'{"models": [{"name": "a b", "documents": 1, "vocabulary": 2, "labels": {}}], "next": "a b"}',
        "/v1/models?after=a%20b": b'{"models": [{"name": "c", "state": "damaged", "reason": "rows"}], "next": "c"}',
        "/v1/models?after=c": b'{"models": []}',
    }
    with recorder(lambda method, path: (200, pages[path])) as (server, url):
        text = Bayesc(api, url).run("models").decode()
        equal([path for _, path, _, _ in server.requests], list(pages))
        equal(text.splitlines()[1:], ["a b            1           2  ", "c              -           -  damaged: rows"])
        equal([model["name"] for model in Bayesc(api, url).json("models")["models"]], ["a b", "c"])
    # A server that always says there is more is not asked for ever.
    with recorder(lambda method, path: (200, b'{"models": [], "next": "x"}')) as (server, url):
        Bayesc(api, url).run("models", status=PROTOCOL)
        equal(len(server.requests), 2)


def test_sources_are_shown_with_documents(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "--label", "spam", "--source", "mailbox of anna", stdin=b"buy pills")
    client.run("train", "-m", model, "--label", "ham", stdin=b"lunch in the garden")
    content = client.run("export", "-m", model).decode()
    holds('"mailbox of anna"' in content, content)
    sources = sorted(json.loads(line)["document"].get("source") for line in content.splitlines()
                     if line.startswith('{"document"'))
    equal(sources, ["http", "mailbox of anna"])
