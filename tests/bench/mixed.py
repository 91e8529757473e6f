# SPDX-License-Identifier: Apache-2.0
"""Mixed load for minutes: what clients of all kinds do to a daemon day by day, all at once."""
import http.client
import json
import random
import socket
import threading
import zlib

WORDS = 20000
MODELS = ("one", "two", "three")


def text(rng, label, words=200):
    """Words by Zipf's law, a quarter of them the label's own."""
    return " ".join(("%s%d" % (label, rng.random() ** 3 * WORDS) if rng.random() < 0.25 else
                     "w%d" % (rng.random() ** 3 * WORDS)) for _ in range(words))


def mail(rng, label, number):
    return (f"From: {label}@example.org\r\nMessage-ID: <{number}@example.org>\r\nSubject: {text(rng, label, 5)}\r\n\r\n"
            f"{text(rng, label)}\r\n").encode()


class Worker(threading.Thread):
    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.rng, self.number, self.count = load, random.Random(number), number, 0
        self.connection = None

    def ask(self, method, path, body=None, kind=None, **fields):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.load.port, timeout=60)
        if kind:
            fields["Content-Type"] = kind
        try:
            self.connection.request(method, path, body, fields)
            reply = self.connection.getresponse()
            content = reply.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise
        self.load.count(reply.status, path, content)

    def step(self):
        rng, label = self.rng, self.rng.choice(("spam", "ham"))
        model, self.count = rng.choice(MODELS), self.count + 1
        base, id = f"/v1/models/{model}", f"{self.number}-{self.count}"
        draw = rng.random()
        if draw < 0.4:
            self.ask("POST", base + "/classify", mail(rng, label, id), "message/rfc822")
        elif draw < 0.6:
            self.ask("POST", f"{base}/train?label={label}", mail(rng, label, id), "message/rfc822")
        elif draw < 0.7:
            rows = [{"id": f"{id}-{i}", "label": label, "text": text(rng, label)} for i in range(20)]
            self.ask("POST", base + "/train", zlib_of(json.dumps({"documents": rows})), "application/json",
                     **{"Content-Encoding": "gzip"})
        elif draw < 0.8:
            old = f"{self.number}-{rng.randrange(1, self.count + 1)}-{rng.randrange(20)}"
            self.ask("POST", base + "/untrain", json.dumps({"id": old}), "application/json")
        elif draw < 0.9:
            self.ask("POST", "/checkv2", mail(rng, label, id))
        elif draw < 0.97:
            self.spamc(mail(rng, label, id))
        elif draw < 0.99:
            self.ask("GET", base)
            self.ask("GET", "/metrics")
        elif draw < 0.995:
            self.ask("GET", base + "/evaluation")
        else:
            self.ask("GET", base + "/export")

    def spamc(self, content):
        with socket.create_connection(("127.0.0.1", self.load.port), timeout=60) as s:
            s.sendall(b"PROCESS SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(content) + content)
            head = s.recv(65536)
            while s.recv(65536):
                pass
        self.load.count(200 if b" EX_OK" in head[:40] or b" 0 " in head[:40] else 500, "PROCESS", head)

    def run(self):
        while not self.load.over.is_set():
            try:
                self.step()
            except (OSError, http.client.HTTPException) as error:
                self.load.count(0, "connection", repr(error).encode())


def zlib_of(content):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(content.encode()) + packer.flush()


class Load:
    """Eight workers while it is entered, on models that keep so many documents each; 0: all."""

    def __init__(self, port, documents, workers=8):
        self.port, self.documents, self.requests, self.refused, self.faults = port, documents, 0, 0, []
        self.lock, self.over = threading.Lock(), threading.Event()
        self.workers = [Worker(self, number) for number in range(workers)]

    def count(self, status, path, content):
        with self.lock:
            self.requests += 1
            # Not known, or nothing learned yet: these are answers.
            if not (200 <= status < 300 or status in (404, 409)):
                self.refused += 1
                if len(self.faults) < 10:
                    self.faults.append(f"{path}: {status} {content[:200]!r}")

    def __enter__(self):
        for model in MODELS:
            self.workers[0].ask("PUT", f"/v1/models/{model}", json.dumps({"preset": "mail", "max_documents": self.documents}),
                                "application/json")
        for worker in self.workers:
            worker.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for worker in self.workers:
            worker.join(120)
