# SPDX-License-Identifier: Apache-2.0
"""Bodies that are too large, too deep, too many, or grow when unpacked: memory stays bounded."""
import base64
import gzip
import json
import os
import subprocess
import threading

from book import Model
from harness import equal, holds, problem, refused, sanitized, slow
from wire import Wire

CONFIG = {"server": {"timeout": 30}}
NDJSON = "application/x-ndjson"
MIB = 1 << 20


class Bounded:
    """The daemon's resident memory grows by less than `most` bytes in the block."""

    def __init__(self, api, most):
        # The sanitizers' shadow and redzones cost several times the memory itself.
        self.api, self.most = api, most * (5 if sanitized() else 1)

    def __enter__(self):
        self.api.get("/healthz").ok()
        with open(f"/proc/{self.api.daemon.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak starts anew (proc(5))
        self.before = self.api.daemon.memory()[0]

    def __exit__(self, kind, *_):
        if kind is None:
            grown = self.api.daemon.memory()[1] - self.before
            holds(grown < self.most, f"memory grew by {grown / MIB:.0f} MiB, allowed {self.most / MIB:.0f}")


def unharmed(api, model):
    api.get("/readyz").ok()
    model.assert_counts()
    model.assert_scores("win the garden prize")


def test_bodies_over_the_limit(api):
    with Model(api) as model:
        model.filled()
        with Bounded(api, 160 * MIB):
            for kind in ("application/json", "text/plain", "message/rfc822", "application/mbox"):
                refused(model.post("train?label=a" if kind != "application/json" else "train",
                                   b" " * (64 * MIB + 1), kind), 413, "67108864")
                with Wire(api.daemon) as wire:  # refused by its length, before it is sent
                    wire.send((f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                               "Content-Length: 99999999999\r\n\r\n").encode())
                    refused(wire.reply(), 413, "67108864")
        unharmed(api, model)


def test_a_body_at_the_limit(api):
    with Model(api) as model:
        model.filled()
        body = b"win " * (16 * MIB)
        reply = model.post("classify", body, "text/plain").ok().json
        equal((reply["label"], reply["truncated"]), ("spam", True))
        unharmed(api, model)


def test_chunked_body_over_the_limit(api):
    """Without a length the limit falls as the bytes arrive."""
    with Model(api) as model:
        model.filled()
        with Bounded(api, 160 * MIB), Wire(api.daemon) as wire:
            wire.send((f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n").encode())
            piece = b"100000\r\n" + b"a" * MIB + b"\r\n"
            for _ in range(100):
                if not wire.try_send(piece):
                    break
            reply = wire.reply()
            if reply is not None:
                refused(reply, 413)
        unharmed(api, model)


def test_compressed_bombs(api):
    with Model(api) as model:
        model.filled()
        plain = b'{"text": "' + b"a " * (200 * MIB) + b'"}'
        twice = gzip.compress(gzip.compress(plain, 9), 9)
        bombs = [("gzip", gzip.compress(plain, 9)),
                 ("zstd", subprocess.run(["zstd", "-q", "-c", "-9"], input=plain,
                                         capture_output=True, check=True).stdout)]
        wide = subprocess.run(["zstd", "-q", "-c", "--long=30"], input=plain, capture_output=True, check=True).stdout
        del plain
        for encoding, bomb in bombs:
            with Bounded(api, 256 * MIB):
                for kind in ("application/json", "text/plain", "message/rfc822"):
                    path = "classify"
                    refused(model.post(path, bomb, kind, Content_Encoding=encoding), 413, "67108864")
        refused(model.post("classify", twice, "application/json", Content_Encoding="gzip"), 400)
        # A frame that wants a gigabyte to look back into: too large, or not to be read at all.
        with Bounded(api, 128 * MIB):
            holds(model.post("classify", wide, "text/plain", Content_Encoding="zstd").status in (400, 413), "wide")
        unharmed(api, model)


def test_zstd_window_bomb(api):
    """A frame that asks for a window of gigabytes gets none."""
    with Model(api) as model:
        model.filled()
        frame = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"  # no content size, window 2 GiB, empty block
        with Bounded(api, 64 * MIB):
            reply = model.post("classify", frame, "text/plain", Content_Encoding="zstd")
            holds(reply.status in (200, 400, 413), reply.status)
        unharmed(api, model)


def test_ndjson_bomb_of_empty_lines(api):
    """Nothing of it is a document, and no limit of a line or a reply stops it: a thread that serves would work on it
    for seconds."""
    with Model(api) as model:
        model.filled()
        for lines in (b"\n", b" \n"):
            plain = lines * (100 * MIB // len(lines))
            bombs = [("gzip", gzip.compress(plain, 9)),
                     ("zstd", subprocess.run(["zstd", "-q", "-c", "-9"], input=plain, capture_output=True, check=True).stdout)]
            for encoding, bomb in bombs:
                for verb in ("classify", "train"):
                    with Bounded(api, 128 * MIB):
                        reply = model.post(verb, bomb, NDJSON, Content_Encoding=encoding)
                    refused(reply, 413, "200 times its size (unpack_ratio)")
        unharmed(api, model)


def test_a_packed_stream_lets_others_have_the_thread(api):
    """A hundred megabytes of blank lines in 100 KB, and one thread: others are answered in the middle of it, again and
    again."""
    daemon = api.another(config={"server": {"threads": 1, "unpack_ratio": 1000000}}).start()
    train = "".join(json.dumps({"label": label, "text": label}) + "\n" for label in ("a", "b"))
    path = "/v1/models/model/classify"
    daemon.client.post("/v1/models/model/train", train, NDJSON).ok()
    packed = gzip.compress(b" \n" * (50 * MIB) + b'{"text": "a"}\n', 9)
    answered, over, found = [], threading.Event(), []

    def send():
        found.append(daemon.new_client().post(path, packed, NDJSON, Content_Encoding="gzip"))
        over.set()
    sender = threading.Thread(target=send)
    sender.start()
    while not over.is_set():
        answered.append(daemon.client.post(path, "a", "text/plain").status)
    sender.join()
    equal([line["label"] for line in found[0].ok().lines], ["a"])
    holds(len(answered) > 5 and set(answered) == {200}, answered)


def spent(daemon):
    """Processor time of each of its threads, ns."""
    found = {}
    for thread in os.listdir(f"/proc/{daemon.pid}/task"):
        with open(f"/proc/{daemon.pid}/task/{thread}/schedstat", encoding="ascii") as file:
            found[thread] = int(file.read().split()[0])
    return found


def test_a_packed_document_is_unpacked_off_the_thread_that_serves(api):
    """Single documents would wait behind each other's turns: 25 such bodies at once held them up for .2 s."""
    daemon = api.another(config={"server": {"threads": 1}}).start()
    daemon.client.post("/v1/models/model/train?label=a", "a", "text/plain").ok()
    before = spent(daemon)
    for _ in range(200):
        daemon.client.get("/v1/models/model").ok()
    after = spent(daemon)
    serving = max(after, key=lambda thread: after[thread] - before.get(thread, 0))
    bomb = gzip.compress(b"a" * (200 * MIB), 9)
    for path in ("classify", "train?label=a"):
        for _ in range(3):
            refused(daemon.client.post("/v1/models/model/" + path, bomb, "text/plain", Content_Encoding="gzip"),
                    413, "67108864")
        now = spent(daemon)
        there, all_of_it = now[serving] - after[serving], sum(now.values()) - sum(after.values())
        holds(there < all_of_it / 2, f"{path}: {there} of {all_of_it} ns on the thread that serves")
        after = now


def test_ndjson_bomb_in_one_line(api):
    with Model(api) as model:
        model.filled()
        # Digits do not pack well: it is the line that is too long.
        bomb = gzip.compress(b'{"text": "' + os.urandom(10 * MIB).hex().encode() + b'"}\n{"text": "win"}\n', 1)
        with Bounded(api, 128 * MIB):
            reply = model.post("classify", bomb, NDJSON, Content_Encoding="gzip")
        if reply.status == 200:
            problem(reply.lines[0]["error"], 413, "16777216")
            equal(reply.lines[1]["label"], "spam")
        else:
            refused(reply, 413, "16777216")
        unharmed(api, model)


def test_json_nested_deep(api):
    with Model(api) as model:
        model.filled()
        for body in ("[" * 100000, '{"a":' * 100000, "[" * 100000 + "]" * 100000,
                     '{"text": ' + "[" * 100000 + "]" * 100000 + "}",
                     '{"documents": [' + '{"documents": [' * 50000 + "]}" * 50000 + "]}"):
            refused(model.post("train", body, "application/json"), 400)
            refused(api.put(model.path, body, "application/json"), 400)
            error = model.post("train", body + "\n", NDJSON).ok().lines[0]["error"]
            problem(error, 413 if error["status"] == 413 else 400)  # too deep, or too many values
            refused(api.put(model.path + "/import", body + "\n", NDJSON), 400)
        unharmed(api, model)


def test_many_members_and_keys(api):
    with Model(api) as model:
        model.filled()
        many = "{" + ",".join(f'"k{i}": 1' for i in range(300000)) + "}"
        reply = model.post("train", many, "application/json")
        refused(reply, 413 if reply.status == 413 else 400)  # too many, or the first of them unknown
        reply = api.put(model.path, '{"prior": ' + many + "}", "application/json")
        holds(reply.status in (200, 413, 422), reply.status)
        api.put(model.path, {}).ok(200)
        unharmed(api, model)


def many_parts(count):
    part = "--x\r\nContent-Type: text/plain\r\n\r\nword{}\r\n"
    return ("Subject: many\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
            + "".join(part.format(i) for i in range(count)) + "--x--\r\n")


def nested_multiparts(depth):
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{i}\r\n\r\n--b{i}\r\n" for i in range(depth))
    return "Subject: deep\r\n" + head + "Content-Type: text/plain\r\n\r\nbottom\r\n"


def nested_messages(depth):
    return "Subject: outer\r\n" + "Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n" * depth + "\r\nbottom\r\n"


def test_mails_of_many_parts_and_levels(api):
    html = "Content-Type: text/html\r\n\r\n"
    mails = [many_parts(10000), nested_multiparts(1000), nested_messages(1000), many_parts(100000),
             html + "<div>" * 200000 + "x", html + "<" * MIB, html + "<a " * 300000, html + "&amp" * 300000,
             html + "<!--" * 300000, html + '<a href="' + "x" * MIB, "X: " + "\r\n y" * 300000 + "\r\n\r\nz",
             "Subject: " + "=?utf-8?q?x?= " * 100000 + "\r\n\r\nz", "From: " + "(" * MIB + "\r\n\r\nz",
             "To: " + "a@example.org, " * 100000 + "\r\n\r\nz", "Content-Type: multipart/mixed; " + "a=b; " * 100000 + "\r\n\r\nz"]
    with Model(api) as model, Model(api, preset="mail") as full:
        model.filled()
        full.train("word", "ham", id="w")
        with Bounded(api, 256 * MIB):
            for i, mail in enumerate(mails):
                for path in (model.path, full.path):
                    for query in ("classify", f"train?label=bulk&id=m{i}"):
                        reply = api.post(f"{path}/{query}", mail, "message/rfc822")
                        equal(reply.status, 200, f"mail {i}: {reply.body[:300]}")
        for path in (model.path, full.path):
            for i in range(len(mails)):
                api.post(path + "/untrain", {"id": f"m{i}"}).ok()
        model.assert_counts()
        truncated = model.post("classify", mails[0], "message/rfc822").ok().json.get("truncated")
        equal(truncated, True, "10,000 parts are over the limit, and the reply says so")
        unharmed(api, model)


def test_million_lines(api):
    """As many lines as the client likes in constant memory, replies in order."""
    count = 1000000 if slow() == 1 else 100000
    with Model(api) as model:
        model.filled()
        want = {text: json.dumps(model.classify(text)["label"]) for text in ("win", "garden")}

        def lines(start, size):
            return b"".join(b'{"text":"%s"}\n' % (b"win" if i % 3 else b"garden") for i in range(start, start + size))

        with Bounded(api, 64 * MIB), Wire(api.daemon, timeout=300) as wire:
            wire.send((f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: {NDJSON}\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n").encode())
            for start in range(0, count, 10000):
                piece = lines(start, 10000)
                wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            wire.send(b"0\r\n\r\n")
            seen = read_labels(wire)
        equal(len(seen), count)
        labels = {True: json.loads(want["win"]), False: json.loads(want["garden"])}
        for i in range(0, count, 997):
            equal(seen[i], labels[bool(i % 3)], f"line {i}")
        unharmed(api, model)


def read_labels(wire):
    """The labels of a long NDJSON reply, without keeping it."""
    head = wire.until(b"\r\n\r\n").decode()
    equal(head.split()[1], "200")
    chunked = "chunked" in head.lower()
    left = None if chunked else int(next(line.split(":")[1] for line in head.split("\r\n")
                                         if line.lower().startswith("content-length")))
    seen, rest = [], b""
    while left != 0:
        if chunked:
            size = int(wire.until(b"\r\n"), 16)
            if size == 0:
                wire.exactly(2)
                break
            data = wire.exactly(size)
            wire.exactly(2)
        else:
            data = wire.exactly(min(left, 65536))
            left -= len(data)
        *full, rest = (rest + data).split(b"\n")
        seen += [label_of(line) for line in full]
    equal(rest, b"")
    return seen


def label_of(line):
    start = line.index(b'"label"') + 7
    return line[line.index(b'"', start) + 1:line.index(b'"', line.index(b'"', start) + 1)].decode()


def test_training_many_lines(api):
    """The same for training: bounded memory, each line counted once."""
    count = 100000 if slow() == 1 else 10000
    with Model(api) as model:
        with Bounded(api, 96 * MIB), Wire(api.daemon, timeout=300) as wire:
            wire.send((f"POST {model.path}/train HTTP/1.1\r\nHost: localhost\r\nContent-Type: {NDJSON}\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n").encode())
            for start in range(0, count, 5000):
                piece = b"".join(b'{"text":"w%d common w%d","label":"%s","id":"%d"}\n'
                                 % (i % 1000, i % 7, b"ab"[i % 2:i % 2 + 1], i) for i in range(start, start + 5000))
                wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            wire.send(b"0\r\n\r\n")
            equal(len(read_labels(wire)), count)
        row = model.row()
        equal((row["documents"], row["vocabulary"]), (count, 1001))
        equal(row["labels"]["a"], {"documents": count // 2, "tokens": count // 2 * 3})


def test_a_line_over_its_limit(api):
    with Model(api) as model:
        model.filled()
        long = b'{"text": "' + b"a" * (16 * MIB) + b'", "label": "spam", "id": "long"}\n'
        after = b'{"text": "after", "label": "ham", "id": "after"}\n'
        with Bounded(api, 96 * MIB):
            reply = model.post("train", long + after, NDJSON)
        if reply.status == 200:
            problem(reply.lines[0]["error"], 413, "16777216")
            equal(reply.lines[1]["status"], "learned")
            model.documents["after"] = ("ham", model.bag("after"))
        else:
            refused(reply, 413, "16777216")
        refused(api.get(model.path + "/documents/long"), 404)
        unharmed(api, model)


def test_labels_and_names_of_any_bytes(api):
    with Model(api) as model:
        model.filled()
        rng, created = api.random, []
        for _ in range(300):
            raw = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 70)))
            label = "".join(f"%{byte:02X}" for byte in raw)
            reply = model.post(f"train?label={label}&id=any", "some words", "text/plain")
            try:
                good = len(raw) <= 64 and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in raw.decode())
            except UnicodeDecodeError:
                good = False
            holds(reply.status == 200 if good else reply.status in (400, 422), f"{raw!r}: {reply.status}")
            if good:
                equal(reply.json["label"], raw.decode())
                model.documents["any"] = (raw.decode(), model.bag("some words"))
            name_reply = api.put("/v1/models/" + label, {})
            if name_reply.status == 201:
                created.append(label)
            else:
                holds(name_reply.status in (400, 404, 405, 422), f"{raw!r}: {name_reply.status}")
        for name in created:
            api.delete("/v1/models/" + name).ok(204)
        unharmed(api, model)


def test_many_labels_in_one_model(api):
    """The limit of labels holds and says so; what was learned before stays."""
    daemon = api.another(config={"models": {"labels": 20}}).start()
    path = "/v1/models/many"
    results = daemon.client.post(path + "/train", {"documents": [
        {"text": f"w{i}", "label": f"l{i}", "id": str(i)} for i in range(30)]}).ok().json
    equal((results["learned"], results["failed"]), (20, 10))
    problem(results["results"][25]["error"], 413, "20")
    equal(daemon.client.get(path).ok().json["documents"], 20)
    daemon.stop()


def test_base64_of_any_size(api):
    with Model(api) as model:
        model.filled()
        coded = base64.b64encode(b"Subject: x\r\n\r\n" + b"word " * (4 * MIB)).decode()
        model.post("classify", {"mail_base64": coded}).ok()
        refused(model.post("classify", {"mail_base64": coded[:-1] + "!"}), 400, "mail_base64")
        unharmed(api, model)
