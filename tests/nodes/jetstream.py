# SPDX-License-Identifier: Apache-2.0
"""A small client of NATS and of JetStream, as much of it as the tests need. One thread uses a Connection.

The protocol is lines of text (https://docs.nats.io/reference/reference-protocols/nats-protocol):

    server: INFO {...}                       client: CONNECT {...}, PING
    client: PUB subject [reply] size         HPUB subject [reply] headers-size size     SUB subject number
    server: MSG subject number [reply] size  HMSG subject number [reply] headers-size size

JetStream is requests to subjects below $JS.API, with JSON. Lines and payloads are bounded: what is longer ends the
connection with an error.
"""
import base64
import collections
import itertools
import json
import os
import select
import socket
import ssl
import time

LINE_MOST = 64 * 1024
PAYLOAD_MOST = 16 * 1024 * 1024
WAITING_MOST = 100000  # messages of subscriptions that came while a reply was awaited
RETRIES_MOST, RETRY_SECONDS = 8, 0.25  # of a message that nobody took
HEADER_LINE = b"NATS/1.0"


class Refused(Exception):
    """JetStream's answer to a request: `code` as in HTTP, `error` one of its own numbers."""

    def __init__(self, found):
        super().__init__(found.get("description", str(found)))
        self.code, self.error = found.get("code"), found.get("err_code")


class NobodyAnswers(ConnectionError):
    """The server knows nobody who takes the subject."""


class Message:
    """`number` is the subscription's: a consumer delivers under the subject that was published, not under its own."""

    def __init__(self, subject, number, reply, headers, data):
        self.subject, self.number, self.reply, self.data = subject, number, reply, data
        self.status, self.headers = self._parsed(headers)

    @staticmethod
    def _parsed(text):
        lines = text.decode().split("\r\n")
        status = lines[0][len(HEADER_LINE):].strip()
        pairs = (line.split(":", 1) for line in lines[1:] if line)
        return status, {name.strip(): value.strip() for name, value in pairs}

    @property
    def numbers(self):
        """(number in the stream, number of the delivery, messages that are still to come) of what a consumer delivers."""
        parts = self.reply.split(".")
        return int(parts[5]), int(parts[6]), int(parts[8])


def headers_text(headers):
    return HEADER_LINE + b"\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in headers.items()) + b"\r\n"


class Connection:
    """`tls`: a context of the module ssl; `connect`: members of CONNECT, as "user" and "pass"."""

    def __init__(self, port, host="127.0.0.1", seconds=10.0, tls=None, **connect):
        self.seconds, self.numbers, self.waiting = seconds, itertools.count(1), collections.deque()
        self.rest, self.at = b"", 0  # what has come, and where it is read
        self.socket = socket.create_connection((host, port), seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.info = json.loads(self._line(time.monotonic() + seconds).split(b" ", 1)[1])
            if tls is not None:  # the server has said INFO, and waits for the handshake
                self.socket = tls.wrap_socket(self.socket, server_hostname=host)
            self.send_all(b"CONNECT " + json.dumps({"verbose": False, "pedantic": False, "headers": True,
                                                    "no_responders": True, "lang": "python", "version": "1",
                                                    "name": "bayesd tests", **connect}).encode() + b"\r\nPING\r\n")
            while self._line(time.monotonic() + seconds) != b"PONG":
                pass
        except BaseException:
            self.socket.close()
            raise
        self.inbox = "_INBOX.t" + os.urandom(8).hex()
        self.replies = self.subscribe(self.inbox + ".*")

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- bytes
    def send_all(self, data):
        self.socket.settimeout(self.seconds)
        self.socket.sendall(data)

    def _is_readable(self, seconds):
        readable = select.poll()
        readable.register(self.socket, select.POLLIN)
        return bool(readable.poll(seconds * 1000))

    def _fill(self, deadline):
        left = deadline - time.monotonic()
        has_some = isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()
        if left <= 0 or not has_some and not self._is_readable(left):
            raise TimeoutError("nothing from nats-server")
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("nats-server closed the connection")
        self.rest, self.at = self.rest[self.at:] + data, 0

    def _line(self, deadline):
        while (end := self.rest.find(b"\r\n", self.at)) < 0:
            if len(self.rest) - self.at > LINE_MOST:
                raise ConnectionError("a line that is too long")
            self._fill(deadline)
        line, self.at = self.rest[self.at:end], end + 2
        if line.startswith(b"-ERR"):
            raise ConnectionError(line.decode())
        return line

    def _payload(self, size, deadline):
        if size > PAYLOAD_MOST:
            raise ConnectionError("a payload that is too long")
        while len(self.rest) - self.at < size + 2:
            self._fill(deadline)
        data = self.rest[self.at:self.at + size]
        self.at += size + 2
        return data

    # -- messages
    def subscribe(self, subject):
        number = next(self.numbers)
        self.send_all(f"SUB {subject} {number}\r\n".encode())
        return number

    def unsubscribe(self, number):
        self.send_all(f"UNSUB {number}\r\n".encode())

    def send(self, subject, data=b"", reply="", headers=None):
        to = f"{subject} {reply} " if reply else subject + " "
        if headers:
            text = headers_text(headers)
            self.send_all(f"HPUB {to}{len(text)} {len(text) + len(data)}\r\n".encode() + text + data + b"\r\n")
        else:
            self.send_all(f"PUB {to}{len(data)}\r\n".encode() + data + b"\r\n")

    def next(self, seconds=None):
        """The next message of any subscription."""
        if self.waiting:
            return self.waiting.popleft()
        return self._read(time.monotonic() + (self.seconds if seconds is None else seconds))

    def _read(self, deadline):
        while True:
            line = self._line(deadline)
            words = line.decode().split(" ")
            if words[0] == "PING":
                self.send_all(b"PONG\r\n")
            elif words[0] == "MSG":
                return Message(words[1], int(words[2]), words[3] if len(words) == 5 else "", b"",
                               self._payload(int(words[-1]), deadline))
            elif words[0] == "HMSG":
                data, size = self._payload(int(words[-1]), deadline), int(words[-2])
                return Message(words[1], int(words[2]), words[3] if len(words) == 6 else "", data[:size], data[size:])

    def request(self, subject, data=b"", headers=None, seconds=None):
        reply = f"{self.inbox}.{next(self.numbers)}"
        self.send(subject, data, reply, headers)
        deadline = time.monotonic() + (self.seconds if seconds is None else seconds)
        while True:
            found = self._read(deadline)
            if found.number != self.replies:
                if len(self.waiting) == WAITING_MOST:
                    raise ConnectionError("too many messages wait")
                self.waiting.append(found)
            elif found.subject == reply:
                if found.status == "503":
                    raise NobodyAnswers(f"nobody answers to {subject}")
                return found

    # -- JetStream
    def api(self, what, body=None, seconds=None):
        found = json.loads(self.request("$JS.API." + what, b"" if body is None else json.dumps(body).encode(),
                                        seconds=seconds).data)
        if "error" in found:
            raise Refused(found["error"])
        return found

    def publish(self, subject, data, id=None, headers=None, seconds=None):
        """Waits for the acknowledgement of a majority: {"stream", "seq"} and "duplicate" where there was one."""
        headers = dict(headers or {})
        if id is not None:
            headers["Nats-Msg-Id"] = id
        for tried in range(RETRIES_MOST + 1):
            try:
                found = json.loads(self.request(subject, data, headers, seconds).data)
                break
            except NobodyAnswers:  # a server that has not heard yet who takes the subject; no message was taken
                if tried == RETRIES_MOST:
                    raise
                time.sleep(RETRY_SECONDS)
        if "error" in found:
            raise Refused(found["error"])
        return found

    def message(self, stream, number):
        """(subject, headers, data) of one message of a stream."""
        found = self.api(f"STREAM.MSG.GET.{stream}", {"seq": number})["message"]
        headers = Message("", 0, "", base64.b64decode(found["hdrs"]), b"").headers if "hdrs" in found else {}
        return found["subject"], headers, base64.b64decode(found.get("data", ""))

    def last(self, stream, seconds=None):
        """The number of the last message, by the replica that leads."""
        return self.api("STREAM.INFO." + stream, seconds=seconds)["state"]["last_seq"]

    def read(self, stream, first=1, last=None, seconds=None):
        """Yields the messages of a stream from number `first` to `last`, in their order, through an ephemeral consumer."""
        last = self.last(stream, seconds) if last is None else last
        deliver = f"{self.inbox}.{next(self.numbers)}.delivered"
        number, at = self.subscribe(deliver), first - 1
        made = self.api(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
            "deliver_subject": deliver, "ack_policy": "none", "replay_policy": "instant", "num_replicas": 1,
            "mem_storage": True, "deliver_policy": "by_start_sequence", "opt_start_seq": first}}, seconds)
        while at < last:
            found = self.next(seconds)
            if found.number == number and not found.status:
                at = found.numbers[0]
                yield found
        self.unsubscribe(number)
        self.api(f"CONSUMER.DELETE.{stream}.{made['name']}", seconds=seconds)
