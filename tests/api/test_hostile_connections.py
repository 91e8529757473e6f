# SPDX-License-Identifier: Apache-2.0
"""Clients that stall, hurry, trickle, break off, or speak HTTP as few do."""
import json
import os
import re
import resource
import socket
import threading
import time

from book import Model
from harness import equal, holds, patience, refused, slow, wait_for
from wire import Wire, chunk, request

# A test that is not about deadlines misses none, however slow the machine is.
PATIENT = {"timeout": 3600, "head_seconds": 3600, "request_seconds": 3600}
CONFIG = {"server": {**PATIENT, "threads": 2}}
NDJSON = "application/x-ndjson"


def impatient(api):
    """The session with a daemon that lets go of clients who say nothing for two seconds."""
    return api.at(api.another(config={"server": {"timeout": 2, "threads": 2}}).start())


def assert_unharmed(api, model):
    """The daemon answers and has counted exactly what it acknowledged."""
    api.get("/healthz").ok()
    api.get("/readyz").ok()
    model.assert_counts()
    model.assert_scores("win the garden prize")


def stalls(api, data):
    """Sends a beginning and then nothing: how long until the daemon lets go, and its reply."""
    with Wire(api.daemon) as wire:
        start = time.monotonic()
        wire.send(data)
        reply = wire.reply()
        if reply is not None:
            wire.closed()
        return time.monotonic() - start, reply


def test_a_body_that_stops_half_way(api):
    api = impatient(api)
    with Model(api) as model:
        model.filled()
        path = model.path + "/train"
        whole = request("POST", path, {"text": "never counted " * 50, "label": "spam", "id": "half"})
        lines = b"".join(json.dumps({"text": f"never counted {i}", "label": "spam"}).encode() + b"\n" for i in range(3))
        for data in (whole[:-1], whole[:-300], request("POST", path, lines, NDJSON)[:-40],
                     request("POST", path, b"x" * 1000, "text/plain")[:-1]):
            with Wire(api.daemon) as wire:
                wire.send(data)
            seconds, reply = stalls(api, data)
            holds(seconds < patience(10), f"held for {seconds:.0f} s")
            holds(reply is None or reply.status == 408, reply and reply.status)
        # A cut-off NDJSON body may have had its complete lines taken, each wholly.
        row = model.row()
        holds(row["documents"] in range(7, 10), row)
        for line in lines.splitlines():
            reply = model.post("untrain", {"text": json.loads(line)["text"]})
            holds(reply.status in (200, 404), reply.body)
        refused(api.get(model.path + "/documents/half"), 404)
        assert_unharmed(api, model)


def test_one_byte_and_then_nothing(api):
    api = impatient(api)
    with Model(api) as model:
        model.filled()
        for data in (b"P", b"POST /v1/models HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b""):
            seconds, reply = stalls(api, data) if data else (0, None)
            holds(seconds < patience(10), f"{data!r} was held for {seconds:.0f} s")
            holds(reply is None or reply.status in (400, 408), reply)
        assert_unharmed(api, model)


def test_a_byte_at_a_time_is_served(api):
    """Slow but going on: each byte is progress."""
    with Model(api) as model:
        model.filled()
        body = json.dumps({"text": "win the prize"}).encode()
        with Wire(api.daemon) as wire:
            for byte in request("POST", model.path + "/classify", body):
                wire.send(bytes([byte]))
            equal(wire.reply().ok().json, model.classify("win the prize"))
        assert_unharmed(api, model)


def test_chunked_in_tiny_pieces(api):
    with Model(api) as model:
        model.filled()
        body = json.dumps({"text": "win the prize"}).encode()
        head = (f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n").encode()
        with Wire(api.daemon) as wire:
            wire.send(head)
            for byte in body:
                wire.send(chunk(bytes([byte])))
            wire.send(b"0\r\n\r\n")
            equal(wire.reply().ok().json, model.classify("win the prize"))
            wire.send(head + chunk(body) + b"0\r\nX-Trailer: 1\r\n\r\n")
            wire.reply().ok()
        lines = b"".join(json.dumps({"text": f"chunked {i}", "label": "ham", "id": f"c{i}"}).encode() + b"\n"
                         for i in range(200))
        with Wire(api.daemon) as wire:
            wire.send(head.replace(b"application/json", NDJSON.encode()).replace(b"/classify", b"/train"))
            for at in range(0, len(lines), 7):
                wire.send(chunk(lines[at:at + 7]))
            wire.send(b"0\r\n\r\n")
            equal([row["id"] for row in wire.reply().ok().lines], [f"c{i}" for i in range(200)])
        for i in range(200):
            model.documents[f"c{i}"] = ("ham", model.bag(f"chunked {i}"))
        assert_unharmed(api, model)


def test_broken_chunks(api):
    api = impatient(api)
    with Model(api) as model:
        model.filled()
        head = (f"POST {model.path}/train HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n").encode()
        body = json.dumps({"text": "win", "label": "spam", "id": "bad"}).encode()
        for bad in (b"zz\r\n", b"-5\r\n" + body, b"ffffffffffffffffff\r\n" + body, b"5\r\n" + body, b"\r\n",
                    b"1" * 10000 + b"\r\n"):
            with Wire(api.daemon) as wire:
                wire.try_send(head + bad)
                reply = wire.reply()
                holds(reply is None or reply.status in (400, 408, 413), f"{bad[:20]!r}: {reply and reply.status}")
        refused(api.get(model.path + "/documents/bad"), 404)
        assert_unharmed(api, model)


def test_pipelined_requests(api):
    with Model(api) as model:
        model.filled()
        texts = ["win the prize", "garden seeds", "", "unheard"] * 25
        want = {text: model.classify(text) for text in texts}
        with Wire(api.daemon) as wire:
            data = b"".join(request("POST", model.path + "/classify", {"text": t}) for t in texts)
            data += request("POST", model.path + "/train", {"text": "pipelined", "label": "ham", "id": "p1"})
            data += request("POST", model.path + "/train", {"text": "pipelined", "label": "spam", "id": "p1"})
            data += request("GET", model.path + "/documents/p1")
            wire.send(data)
            for text in texts:
                equal(wire.reply().ok().json, want[text])
            equal(wire.reply().ok().json["status"], "learned")
            equal(wire.reply().ok().json["status"], "relabelled")
            equal(wire.reply().ok().json["label"], "spam")
        model.documents["p1"] = ("spam", model.bag("pipelined"))
        assert_unharmed(api, model)


def test_errors_in_the_middle_of_a_pipeline(api):
    """An error that needs the body read leaves the connection usable for what follows."""
    with Model(api) as model:
        model.filled()
        with Wire(api.daemon) as wire:
            wire.send(request("POST", model.path + "/classify", b"{") + request("GET", "/nothing")
                      + request("POST", model.path + "/classify", b"<x/>", "application/xml")
                      + request("GET", "/healthz"))
            refused(wire.reply(), 400)
            refused(wire.reply(), 404)
            refused(wire.reply(), 415)
            reply = wire.reply()
            holds(reply is None or reply.status == 200, reply and reply.status)
        assert_unharmed(api, model)


def test_http_1_0(api):
    with Model(api) as model:
        model.filled()
        with Wire(api.daemon) as wire:
            wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            wire.reply().ok()
            holds(wire.closed(), "kept open without keep-alive")
        with Wire(api.daemon) as wire:
            wire.send(request("POST", model.path + "/classify", {"text": "win"}, version="1.0"))
            equal(wire.reply().ok().json, model.classify("win"))
        with Wire(api.daemon) as wire:
            wire.send(b"GET " + model.path.encode() + b"/export HTTP/1.0\r\n\r\n")
            equal(wire.reply().ok().body, api.get(model.path + "/export").body)


def test_expect_100_continue(api):
    with Model(api) as model:
        model.filled()
        data = request("POST", model.path + "/classify", {"text": "win"}, Expect="100-continue")
        head, body = data.split(b"\r\n\r\n", 1)
        with Wire(api.daemon) as wire:
            wire.send(head + b"\r\n\r\n")
            equal(wire.reply().status, 100)
            wire.send(body)
            equal(wire.reply().ok().json, model.classify("win"))
        huge = (f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                f"Content-Length: {1 << 40}\r\nExpect: 100-continue\r\n\r\n").encode()
        with Wire(api.daemon) as wire:
            wire.send(huge)
            refused(wire.reply(), 413)


def test_a_length_is_needed(api):
    with Model(api) as model:
        model.filled()
        with Wire(api.daemon) as wire:
            wire.send(f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n".encode())
            refused(wire.reply(), 411)
        for length in ("-1", "x", "1e3", "18446744073709551616", "0x10", "5, 6"):
            with Wire(api.daemon) as wire:
                wire.send(f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {length}\r\n\r\n".encode())
                refused(wire.reply(), 413 if len(length) > 9 else 400, "length" if len(length) > 9 else "Content-Length")
        assert_unharmed(api, model)


def test_lengths_that_no_body_has(api):
    """Each gets an answer at once, whatever the door and the path; none is taken for another length."""
    largest = 2**64 - 1
    for length, status in ((largest, 413), (f"000{largest}", 413), (largest - 1, 413), (largest + 1, 413), ("9" * 23, 413), (2**63, 413),
                           ("+5", 400), ("-1", 400), ("5, 5", 400), ("5,5", 400), ("", 400), ("5.0", 400), ("5 5", 400), ("\xb2", 400)):
        for path in ("/v1/models/m/classify", "/checkv2", "/learnspam", "/v1/import", "/v1/models", "/nothing"):
            with Wire(api.daemon) as wire:
                wire.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                          f"Content-Length: {length}\r\n\r\nhello".encode("latin-1"))
                start = time.monotonic()
                reply = wire.reply()
                is_there = path in ("/v1/models/m/classify", "/checkv2", "/learnspam") or status == 400
                holds(reply and (reply.status == status or not is_there and reply.status >= 400), (length, path, reply and reply.status))
                holds(time.monotonic() - start < patience(5), f"{length}: {path} waits")
                wire.closed()
        for verb in ("CHECK SPAMC/1.5", "CHECK RSPAMC/1.3"):
            with Wire(api.daemon) as wire:
                wire.send(f"{verb}\r\nContent-length: {length}\r\n\r\nhello".encode("latin-1"))
                wire.until(b"\n")
                wire.closed()
    api.get("/healthz").ok()


def test_one_length_only(api):
    fields = ("Content-Length: 13", "Content-Length: 3", "Transfer-Encoding: chunked")
    with Model(api) as model:
        model.filled()
        for first in fields:
            for second in fields:
                with Wire(api.daemon) as wire:
                    wire.send(f"POST {model.path}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                              f"{first}\r\n{second}\r\n\r\nd\r\n{{\"text\": \"a\"}}\r\n0\r\n\r\n".encode())
                    reply = wire.reply()
                    equal(reply and reply.status, 400, f"{first}, {second}")
                    holds(wire.closed(), f"{first}, {second}: what follows is read as another request")
        assert_unharmed(api, model)


def test_transfer_codings_that_are_not_known(api):
    """A version of the library reads such a body to the end of the connection, without its coding; so it is refused at once."""
    with Model(api) as model:
        model.train("kept", "a", id="1")
        for coding in ("gzip, chunked", "gzip", "identity", "xchunked", "chunked, chunked", ""):
            with Wire(api.daemon, timeout=2) as wire:
                wire.send((f"POST {model.path}/train HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                           f'Transfer-Encoding: {coding}\r\n\r\n22\r\n{{"text": "x y", "label": "smuggled"}}\r\n0\r\n\r\n').encode())
                reply = wire.reply()
                refused(reply, 400, "chunked")
                equal(reply.headers.get("connection"), "close", coding)
                equal(wire.reply(), None, coding)
        equal(list(model.row()["labels"]), ["a"])


def test_escapes_and_bytes_in_paths(api):
    with Model(api) as model:
        model.filled()
        base = model.path.encode()
        paths = [base + b"/documents/" + tail for tail in (b"%", b"%2", b"%zz", b"%00", b"a%00b", b"%ff%fe", b"%c3%28",
                                                          b"\xff\xfe", b"%E2%82", b"%u0041", b"%" * 1000)]
        paths += [b"/v1/models/%00", b"/v1/models/%", b"/%", b"/" + b"a/" * 3000, b"/v1/models/" + b"x" * 5000,
                  base + b"/documents/" + b"%41" * 2000, b"*", b"http://other/v1/models", b"/?" + b"a&" * 3000,
                  base + b"/classify?explain=%", base + b"/classify?explain=%zz", base + b"/classify?%00=1"]
        for path in paths:
            with Wire(api.daemon) as wire:
                wire.try_send(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                reply = wire.reply()
                holds(reply is not None, f"no reply to {path[:60]!r}")
                absolute = path.startswith(b"http:")  # RFC 9112, 3.2.2: a server must take this form
                holds(400 <= reply.status < 500 or absolute and reply.status == 200, f"{path[:60]!r}: {reply.status}")
        for tail in (b"%", b"%zz", b"%00", b"%ff%fe", b"%c3%28"):
            with Wire(api.daemon) as wire:
                wire.send(b"GET " + base + b"/documents/" + tail + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
                reply = wire.reply()
                holds(reply.status in (400, 404, 422), f"{tail}: {reply.status}")
                refused(reply, reply.status)
        assert_unharmed(api, model)


def test_headers_of_any_size(api):
    with Model(api) as model:
        model.filled()
        before = api.daemon.memory()[0]
        for data in (b"X: " + b"a" * (10 << 20), b"A" * (10 << 20), b"".join(b"X%d: y\r\n" % i for i in range(200000)),
                     b"X: \0\x01\xff", b": x", b"NoColon", b" folded", b"X:" + b" \r\n" * 1000):
            with Wire(api.daemon) as wire:
                wire.try_send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + data + b"\r\n\r\n")
                reply = wire.reply()
                holds(reply is None or reply.status in (200, 400, 413, 431), reply and reply.status)
        holds(api.daemon.memory()[0] < before + (64 << 20), "headers are kept in memory")
        assert_unharmed(api, model)


def test_noise(api):
    with Model(api) as model:
        model.filled()
        for _ in range(60):
            with Wire(api.daemon) as wire:
                wire.try_send(api.random.randbytes(api.random.randrange(1, 4000)) + b"\r\n\r\n")
        whole = request("POST", model.path + "/classify", {"text": "win"})
        for _ in range(120):
            data = bytearray(whole)
            for _ in range(api.random.randrange(1, 4)):
                data[api.random.randrange(len(data))] = api.random.randrange(256)
            with Wire(api.daemon) as wire:
                wire.try_send(bytes(data))
        assert_unharmed(api, model)


def test_hanging_up_before_the_reply(api):
    """Requests whose sender is gone: trained wholly or not, and nothing leaks."""
    with Model(api) as model:
        model.filled()
        for i in range(100):
            with Wire(api.daemon) as wire:
                wire.send(request("POST", model.path + "/train", {"text": f"word{i}", "label": "ham", "id": f"h{i}"}))
        for _ in range(100):
            with Wire(api.daemon) as wire:
                wire.send(request("POST", model.path + "/classify", {"text": "win " * 5000}))
        # Everything that was sent is worked off before a later change is acknowledged.
        model.train("the last one", "ham", id="last")
        for i in range(100):
            if api.get(f"{model.path}/documents/h{i}").status == 200:
                model.documents[f"h{i}"] = ("ham", model.bag(f"word{i}"))
        assert_unharmed(api, model)


def test_slow_reader_of_a_long_reply(api):
    """A reply of many megabytes to somebody who does not read: memory bounded, others served."""
    with Model(api) as model:
        model.filled()
        line = json.dumps({"text": "win the garden prize " * 3}).encode() + b"\n"
        body = line * int(60000 / slow())
        wire = Wire(api.daemon, receive_buffer=4096)
        before = api.daemon.memory()[0]
        wire.send(request("POST", model.path + "/classify?explain=10", body, NDJSON))
        first = wire.until(b"\r\n")
        equal(first.split()[1], b"200")
        for _ in range(50):
            model.classify("win")
        holds(api.daemon.memory()[0] < before + (48 << 20) * (3 if slow() > 1 else 1),
              f"memory grew by {api.daemon.memory()[0] - before}")
        wire.close()
        assert_unharmed(api, model)


def test_a_reader_who_never_reads_is_let_go(api):
    api = impatient(api)
    with Model(api) as model:
        model.filled()
        body = (json.dumps({"text": "win the garden prize"}).encode() + b"\n") * int(60000 / slow())
        wire = Wire(api.daemon, receive_buffer=4096)
        wire.send(request("POST", model.path + "/classify?explain=10", body, NDJSON))
        wire.until(b"\r\n")
        wait_for(lambda: connections(api) <= 1, "the stalled connection is closed", 15)
        wire.close()
        assert_unharmed(api, model)


def connections(api):
    """Established connections of the daemon, from the kernel: our own client's is one of them."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    here = f":{api.daemon.port:04X}"
    return sum(row[1].endswith(here) and row[3] == "01" for row in rows)


def allow_files(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    holds(hard == resource.RLIM_INFINITY or hard >= count, f"needs {count} files, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def test_many_idle_connections(api):
    """900 that say nothing, below the limit of 1,000: one more client is served as ever."""
    allow_files(4000)
    daemon = api.another(config={"server": PATIENT}).start()
    path = "/v1/models/idle"
    daemon.client.post(path + "/train", {"text": "word", "label": "a"}).ok()
    idle = [Wire(daemon) for _ in range(900)]
    for wire in idle[::3]:
        wire.send(b"GET /healthz HTTP/1.1\r\n")
    for i in range(100):
        daemon.client.post(path + "/train", {"text": f"word{i}", "label": "b", "id": str(i)}).ok()
        daemon.client.post(path + "/classify", {"text": "word"}).ok()
    for wire in idle[::3]:
        wire.send(b"Host: localhost\r\n\r\n")
    for wire in idle[::3]:
        wire.reply().ok()
    for wire in idle:
        wire.close()
    equal(daemon.client.get(path).ok().json["documents"], 101)
    daemon.stop()


def test_more_connections_than_allowed(api):
    """Over the limit new ones wait or are turned away; when the others go, all is as before."""
    allow_files(4000)
    daemon = api.another(config={"server": {**PATIENT, "connections": 50, "threads": 2}}).start()
    crowd = [Wire(daemon, timeout=5) for _ in range(120)]
    holds(daemon.running(), "gone")
    for wire in crowd:
        wire.close()

    def served():
        try:
            return daemon.new_client(2).get("/healthz").status == 200
        except (OSError, Exception):
            return False
    wait_for(served, "a new client is served", 15)
    daemon.stop()


def test_half_requests_closed_at_once(api):
    """The end of a stream that comes together with its last bytes frees the place at once."""
    daemon = api.another(config={"server": {**PATIENT, "threads": 2}}).start()
    head = b"POST /v1/models/m/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nab"
    for data in (head, head[:20]):
        for _ in range(3000):
            with Wire(daemon) as wire:
                wire.try_send(data)
        wait_for(lambda: served(daemon), "a new client is served", 20)
        wait_for(lambda: open_connections(daemon) <= 2, "all places are free", 20)
    daemon.stop()


def served(daemon):
    try:
        with Wire(daemon, timeout=2) as wire:
            wire.send(request("GET", "/v1/models", Connection="close"))
            reply = wire.reply()
            return reply is not None and reply.status == 200
    except OSError:
        return False


def open_connections(daemon):
    page = daemon.client.get("/metrics").ok().body.decode()
    return int(re.search(r"^bayesd_http_connections (\d+)$", page, re.M)[1])


def test_a_half_closed_client_has_its_reply_and_the_end(api):
    """shutdown() after the request, as nc -N does: the connection ends with the reply, not with the timeout."""
    daemon = api.another(config={"server": PATIENT}).start()
    for data in (request("GET", "/healthz"), request("POST", "/v1/models/m/train", {"text": "a", "label": "b"})):
        with Wire(daemon) as wire:
            wire.send(data)
            wire.socket.shutdown(socket.SHUT_WR)
            wire.reply().ok()
            holds(not wire.more(), "something follows")
    daemon.stop()


def test_bytes_now_and_then_hold_no_place(api):
    """Each is progress, but not enough of it: heads, later heads, bodies, and readers of replies."""
    daemon = api.another(config={"server": {"timeout": 2, "head_seconds": 1, "body_rate": 1000,
                                            "request_seconds": int(4 * slow()), "threads": 1}}).start()
    daemon.client.put("/v1/models/m", {}).ok(201)
    daemon.client.post("/v1/models/m/train", {"text": "win the garden prize", "label": "a"}).ok()
    lines = (json.dumps({"text": "win the garden prize " * 3}).encode() + b"\n") * 20000
    beginnings = [b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", request("GET", "/healthz") + b"G",
                  request("POST", "/v1/models/m/train", b"x" * 100000, "text/plain")[:-90000],
                  b"CHECK SPAMC/1.5\r\nContent-length: 9999\r\n\r\n", b"CHECK SPAMC/1.5\r\n", b"CHECK SP"]
    wires = [Wire(daemon, receive_buffer=4096) for _ in beginnings]
    for wire, data in zip(wires, beginnings):
        wire.send(data)
    reader = Wire(daemon, receive_buffer=4096)
    reader.send(request("POST", "/v1/models/m/classify?explain=10", lines, NDJSON))
    # On a slow machine its time may be over before the daemon has all of the request.
    holds(reader.until(b"\r\n").split()[1] in (b"200", b"408"), "the reply")

    def all_are_gone():
        for wire in wires:
            wire.try_send(b"a")
        try:
            reader.socket.recv(10)
        except OSError:
            pass
        time.sleep(0.2)
        return open_connections(daemon) <= 1
    wait_for(all_are_gone, "their places are free", 30)
    for wire in [*wires, reader]:
        wire.close()
    daemon.stop()


def test_health_is_told_when_all_is_full(api):
    daemon = api.another(config={"server": {**PATIENT, "connections": 20}}).start()
    crowd = [Wire(daemon) for _ in range(20)]
    for wire in crowd:
        wire.send(b"GET ")
    wait_for(lambda: not served(daemon), "all is full")
    for _ in range(50):
        for path in ("/healthz", "/readyz"):
            with Wire(daemon) as wire:
                for byte in request("GET", path, Connection="close"):
                    wire.send(bytes([byte]))
                wire.reply().ok()
        for data in (request("GET", "/metrics"), b"POST /healthz"):
            with Wire(daemon) as wire:
                wire.send(data)
                reply = wire.reply()
                refused(reply, 503, "connections")
                equal(reply.headers["retry-after"], "1")
    for wire in crowd:
        wire.close()
    wait_for(lambda: served(daemon), "the places come free", 20)
    daemon.stop()


def test_connections_come_and_go(api):
    """Descriptors are given back."""

    def files():
        return len(os.listdir(f"/proc/{api.daemon.pid}/fd"))
    api.get("/healthz").ok()
    before = files()
    for _ in range(300):
        with Wire(api.daemon) as wire:
            wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wire.reply().ok()
    wait_for(lambda: files() <= before + 2, f"descriptors go back to {before}", 10)


def test_many_clients_at_once(api):
    """Sixteen threads train, classify and read; every change is counted once."""
    with Model(api) as model:
        model.filled()
        faults = []

        def work(number):
            client = api.daemon.new_client()
            try:
                for i in range(25):
                    client.post(model.path + "/train", {"text": f"t{number} w{i}", "label": "ham", "id": f"{number}-{i}"}).ok()
                    client.post(model.path + "/classify?explain=3", {"text": f"t{number} w{i}"}).ok()
                    client.post(model.path + "/train", {"text": f"t{number} w{i}", "label": "spam", "id": f"{number}-{i}"}).ok()
                    if i % 2:
                        client.post(model.path + "/untrain", {"id": f"{number}-{i}"}).ok()
                    client.get(model.path).ok()
            except Exception as error:
                faults.append(error)
            finally:
                client.close()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(faults, [])
        for number in range(16):
            for i in range(0, 25, 2):
                model.documents[f"{number}-{i}"] = ("spam", model.bag(f"t{number} w{i}"))
        assert_unharmed(api, model)


def test_a_long_name_of_a_unix_client(api):
    """A client may bind itself to a path that is longer than the address that is kept of it."""
    path = os.path.join(api.new_folder(), "bayesd.sock")
    daemon = api.another(config={"server": {"socket": path}}).start()
    name = b"\0" + b"n" * 107  # the longest: sun_path is full
    for data, want in ((request("GET", "/healthz", Connection="close"), b"HTTP/1.1 200"),
                       (b"PING SPAMC/1.5\r\n\r\n", b"SPAMD/1.5 0 PONG")):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(patience(30))
            client.bind(name)
            client.connect(path)
            client.sendall(data)
            holds(client.recv(64).startswith(want), data)
    daemon.stop()
