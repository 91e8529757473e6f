# SPDX-License-Identifier: Apache-2.0
"""The mail server's side of the milter protocol (libmilter/mfdef.h of Sendmail 8.17), and a stub of
bayesd that answers as a test wants."""
import json
import socket
import struct
import threading

from harness import equal, holds, patience

ADD, CHANGE_BODY, CHANGE, QUARANTINE = 0x01, 0x02, 0x10, 0x20
SKIP = 0x400
ALL_ACTIONS, ALL_STEPS = 0x1FF, 0x1FFFFF


class Result:
    """What the filter made of a mail: `end` is the last reply's letter, `text` an SMTP reply."""

    def __init__(self, end, text, changes):
        self.end, self.text, self.changes = end, text, changes

    def passes(self):
        return self.end in "ca"

    def quarantined(self):
        return any(change[0] == "q" for change in self.changes)

    def header(self, fields):
        """The header afterwards. Postfix counts the fields that are left, Sendmail all that came: the
        outcome must not depend on that."""
        live = applied(list(fields), self.changes)
        marked = applied_marked(list(fields), self.changes)
        equal(live, marked, "header by Postfix's and by Sendmail's count")
        return live


def same(field, name):
    return field is not None and field[0].rstrip(" \t").lower() == name.lower()


def applied(fields, changes):
    for change in changes:
        if change[0] == "h":
            fields.append((change[1], change[2]))
        elif change[0] == "m":
            _, nth, name, value = change
            places = [i for i, field in enumerate(fields) if same(field, name)]
            holds(nth <= len(places), f"{name} number {nth} of {len(places)} is changed")
            if value:
                fields[places[nth - 1]] = (name, value)
            else:
                del fields[places[nth - 1]]
    return fields


def applied_marked(fields, changes):
    names = list(fields)
    for change in changes:
        if change[0] == "h":
            fields.append((change[1], change[2]))
        elif change[0] == "m":
            _, nth, name, value = change
            place = [i for i, field in enumerate(names) if same(field, name)][nth - 1]
            fields[place] = (name, value) if value else None
    return [field for field in fields if field is not None]


class Mta:
    """One connection to a milter."""

    def __init__(self, path, actions=ALL_ACTIONS, steps=ALL_STEPS, connect=True):
        if path.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            address = path[5:]
        else:
            port, host = path[5:].split("@")
            self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            address = (host, int(port))
        self.socket.settimeout(patience(60))
        self.socket.connect(address)
        self.steps = None
        if actions is not None:
            self.send(b"O", struct.pack("!III", 6, actions, steps))
            letter, data = self.receive()
            if letter == "O":
                _, self.actions, self.steps = struct.unpack("!III", data)
        if connect and self.steps is not None:
            self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.send(b"Q")
        except OSError:
            pass  # the milter has gone first
        self.socket.close()

    def send(self, letter, data=b""):
        self.socket.sendall(struct.pack("!I", len(data) + 1) + letter + data)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the milter closed the connection")
            data += piece
        return data

    def receive(self):
        size = struct.unpack("!I", self.exactly(4))[0]
        data = self.exactly(size)
        return chr(data[0]), data[1:]

    def command(self, letter, *texts):
        """Sends NUL-terminated texts and takes the one reply."""
        self.send(letter, b"".join(raw(text) + b"\0" for text in texts))
        return self.receive()

    def macros(self, stage, **values):
        self.send(b"D", stage + b"".join(raw(k) + b"\0" + raw(v) + b"\0" for k, v in values.items()))

    def connect(self, hostname="client.example.org", address=("4", 41000, "192.0.2.10"), helo="client"):
        self.macros(b"C", j="mx.example.net")
        family, port, text = address
        data = raw(hostname) + b"\0" + raw(family)
        if family != "U":
            data += struct.pack("!H", port) + raw(text) + b"\0"
        self.send(b"C", data)
        equal(self.receive()[0], "c", "connect")
        if helo is not None:
            equal(self.command(b"H", helo)[0], "c", "helo")

    def envelope(self, sender="<alice@example.org>", recipients=("<bob@example.net>",), user=None):
        if user:
            self.macros(b"M", **{"{auth_authen}": user})
        equal(self.command(b"M", sender)[0], "c", "sender")
        for recipient in recipients:
            equal(self.command(b"R", recipient)[0], "c", "recipient")
        equal(self.command(b"T")[0], "c", "data")

    def mail(self, fields, body=b"hello\r\n", queue_id="4XyZ", piece=65535, **envelope):
        """A whole mail; its Result. `sent` says how much of the body was wanted."""
        self.envelope(**envelope)
        for name, value in fields:
            equal(self.command(b"L", name, value)[0], "c", "header")
        equal(self.command(b"N")[0], "c", "end of header")
        self.sent = 0
        while self.sent < len(body):
            self.send(b"B", body[self.sent:self.sent + piece])
            self.sent = min(len(body), self.sent + piece)
            letter = self.receive()[0]
            holds(letter in "cs", f"body answered {letter}")
            if letter == "s":
                break
        self.macros(b"E", i=queue_id)
        self.send(b"E")
        return self.outcome()

    def outcome(self):
        changes = []
        while True:
            letter, data = self.receive()
            texts = [t.decode("utf-8", "surrogateescape") for t in data.split(b"\0")]
            if letter == "h":
                changes.append(("h", texts[0], texts[1]))
            elif letter == "m":
                name, value = data[4:].decode("utf-8", "surrogateescape").split("\0")[:2]
                changes.append(("m", struct.unpack("!I", data[:4])[0], name, value))
            elif letter == "q":
                changes.append(("q", texts[0]))
            else:
                return Result(letter, texts[0], changes)


def raw(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


# ---- a stub of bayesd ---------------------------------------------------------------------------
class Question:
    """A request that the stub was sent."""

    def __init__(self, line, headers, body):
        self.line, self.headers, self.body = line, headers, body

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def one(self, name):
        values = self.all(name)
        return values[0] if len(values) == 1 else values or None


def verdict(action="no action", **more):
    """A reply of /checkv2 as bayesd writes them."""
    reply = {"is_skipped": False, "score": 1.5, "required_score": 15.0, "action": action, "symbols": {},
             "messages": {}, "milter": {"remove_headers": {"X-Bayes-Status": 0},
                                        "add_headers": {"X-Bayes-Status": "ham, probability=0.1"}}}
    reply.update(more)
    return reply


def http(body, status="200 OK", close=False):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            + ("Connection: close\r\n" if close else "") + "\r\n").encode() + body


class Stub:
    """Listens on a port of its own; `answer(question, connection)` writes to the connection, or
    returns what is to be written; None closes it."""

    def __init__(self):
        self.questions, self.connections = [], 0
        self.answer = lambda question, connection: http(verdict())
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock, self.closing = threading.Lock(), threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def says(self, reply):
        """From now on: a verdict, bytes, or a function."""
        if callable(reply):
            self.answer = reply
        else:
            data = reply if isinstance(reply, bytes) else http(reply)
            self.answer = lambda question, connection: data

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            with self.lock:
                self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while question := self._question(connection):
                    with self.lock:
                        self.questions.append(question)
                    data = self.answer(question, connection)
                    if not data:
                        return
                    connection.sendall(data)
            except OSError:
                pass  # the other side has gone: that is its right

    @staticmethod
    def _question(connection):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return None
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        line, *rest = head.decode("utf-8", "surrogateescape").split("\r\n")
        headers = [tuple(part.strip() for part in row.split(":", 1)) for row in rest]
        length = int(dict((k.lower(), v) for k, v in headers).get("content-length", 0))
        while len(body) < length:
            piece = connection.recv(65536)
            if not piece:
                return None
            body += piece
        return Question(line, headers, body)
