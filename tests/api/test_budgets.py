# SPDX-License-Identifier: Apache-2.0
"""Replies that nobody reads: their memory and their files stay within budgets, everybody else is served, and all of
it comes back when they have gone."""
import http.client
import json
import os
import subprocess

from harness import equal, holds, refused, sanitized, wait_for
from prometheus import parse
from test_configuration import temporary_files
from wire import Wire, request

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
MIB = 1 << 20
MAIL = b"Subject: a\n\n" + b"word and word\n" * 450000  # 6 MB, more than the kernel takes for a connection


def gauge(daemon, name):
    return parse(daemon.client.get("/metrics").ok().body.decode()).value(name)


def learned(api, **options):
    daemon = api.another(config={"server": options}).start()
    daemon.client.put(M, {"preset": "book"}).ok(201)
    daemon.client.post(M + "/train", {"text": "a b c", "label": "a"}).ok()
    return daemon


def process(daemon):
    """A client that gets its mail back and does not read it; its connection and the first line."""
    wire = Wire(daemon, receive_buffer=4096)
    wire.send(b"PROCESS SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(MAIL) + MAIL)
    return wire, wire.until(b"\r\n")


def unharmed(daemon):
    daemon.client.post(M + "/train", {"text": "a b c", "label": "a"}).ok()
    daemon.client.post(M + "/classify", {"text": "a"}).ok()
    daemon.client.post("/checkv2", "Subject: a\n\nb").ok()


def test_mails_that_are_given_back(api):
    """The third does not fit; a mail filter is told to try again. What two hold comes back."""
    daemon = learned(api, reply_memory="16M")
    first, second, third = process(daemon), process(daemon), process(daemon)
    equal([line.split()[1] for _, line in (first, second)], [b"0", b"0"])
    holds(b" 69 Service Unavailable" in third[1] and b"reply_memory" in third[1], third[1])
    holds(2 * len(MAIL) <= gauge(daemon, "bayesd_reply_memory_bytes") <= 16 * MIB, "both are accounted for")
    unharmed(daemon)
    head = first[0].until(b"\r\n\r\n")
    size = int(next(line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")))
    mail = first[0].exactly(size)
    holds(mail.endswith(MAIL[12:]) and b"X-Bayes-Status" in mail[:2000], "the mail came back whole")
    second[0].close()
    wait_for(lambda: gauge(daemon, "bayesd_reply_memory_bytes") == 0, "all memory comes back", 20)
    equal(process(daemon)[1].split()[1], b"0")


def bomb(count):
    lines = b'{"text": "a b c"}\n' * count
    return subprocess.run(["zstd", "-q", "-c", "-19"], input=lines, capture_output=True, check=True).stdout


def test_a_few_bytes_cannot_fill_the_disk(api):
    """Some kilobytes of zstd that ask for hundreds of megabytes of reply."""
    daemon = learned(api, spool_bytes="8M")
    body = bomb(400000)
    holds(len(body) < 4096, len(body))
    for _ in range(2):
        reply = daemon.client.post(M + "/classify?explain=9", body, NDJSON, Content_Encoding="zstd")
        refused(reply, 503, "no space left", "spool_bytes", str(8 * MIB))
        equal(gauge(daemon, "bayesd_spool_bytes"), 0)
        unharmed(daemon)


def slow_reader(daemon, count):
    wire = Wire(daemon, receive_buffer=4096)
    wire.send(request("POST", M + "/classify?explain=9", b'{"text": "a b c"}\n' * count, NDJSON))
    return wire, wire.until(b"\r\n")


def test_replies_share_the_space(api):
    daemon = learned(api, spool_bytes="16M")
    (one, first), (two, second) = slow_reader(daemon, 25000), slow_reader(daemon, 25000)
    equal((first.split()[1], second.split()[1]), (b"200", b"503"))
    holds(9 * MIB < gauge(daemon, "bayesd_spool_bytes") <= 16 * MIB, gauge(daemon, "bayesd_spool_bytes"))
    unharmed(daemon)
    one.close()
    two.close()
    wait_for(lambda: gauge(daemon, "bayesd_spool_bytes") == 0, "the space comes back", 20)
    equal(slow_reader(daemon, 25000)[1].split()[1], b"200")


def test_without_memory_replies_go_to_files(api):
    """A reply of 500 KB stays in memory while there is some, and waits in a file when there is none."""
    daemon = learned(api, reply_memory="16M", spool_memory="8M")
    daemon.client.post(M + "/classify", b'{"text": "a"}\n' * 3000, NDJSON).ok()
    held = [process(daemon) for _ in range(2)]
    (wire, line) = slow_reader(daemon, 20000)
    equal(line.split()[1], b"200")
    equal(len(temporary_files(daemon, os.path.join(daemon.data, "tmp"))), 1)
    for one in [wire] + [mail[0] for mail in held]:
        one.close()


def test_a_reply_of_a_change_that_does_not_fit_is_withheld(api):
    """The documents are learned: a client whose connection ends knows that they may be."""
    daemon = learned(api, spool_bytes="1M", spool_memory="4K")
    body = "".join(json.dumps({"text": f"w{i}", "label": "a", "id": f"{'x' * 200}-{i}"}) + "\n" for i in range(6000))
    with Wire(daemon) as wire:
        wire.send(request("POST", M + "/train", body.encode(), NDJSON))
        equal(wire.until(b"\r\n"), None)
    holds(daemon.client.get(M).ok().json["documents"] > 1000, "nothing was learned")
    unharmed(daemon)


def test_the_folder_of_replies(api):
    folder = api.new_folder()
    data = os.path.join(folder, "data")
    os.makedirs(os.path.join(data, "tmp"))
    for name in (".bayesd-reply-abcdef", "notes"):
        with open(os.path.join(data, "tmp", name), "wb") as file:
            file.write(b"left behind")
    api.another(folder=folder, data=data).start().stop()
    equal(os.listdir(os.path.join(data, "tmp")), ["notes"])


def test_a_folder_that_cannot_be(api):
    daemon = api.another(config={"server": {"spool_directory": "/nonexistent/spool"}}).spawn()
    holds(daemon.wait(20) > 0, "it has started")
    holds(any("spool_directory" in line for line in daemon.lines), daemon.lines)


def large_model(api, **options):
    """A model whose export has some ten megabytes."""
    daemon = api.another(config={"server": {"spool_bytes": "1M", "spool_memory": "4K"}} | options).start()
    daemon.client.put(M, {"preset": "book"}).ok(201)
    for start in range(0, 1500, 500):
        rows = [{"text": " ".join(f"w{i}x{k}" for k in range(400)), "label": "ab"[i % 2], "id": str(i)}
                for i in range(start, start + 500)]
        daemon.client.post(M + "/train", {"documents": rows}).ok()
    return daemon


def test_the_memory_of_a_large_body_is_given_back(api):
    """It waits for the next one, but not for ever: the connection stays open."""
    daemon = api.another().start()
    body = json.dumps({"documents": [{"text": " " * 6 * MIB, "label": 7.5}]}).encode()
    equal(daemon.client.post(M + "/train", body, "application/json").ok().json["failed"], 1)
    full = daemon.memory()[0]
    wait_for(lambda: daemon.memory()[0] < full - 4 * MIB, lambda: (full, daemon.memory()))


def test_an_export_needs_no_space(api):
    """It is sent while it is made: no file, little memory, however slow its reader is."""
    daemon = large_model(api)

    def train(name):
        for i in range(20):
            daemon.client.post(M + "/train", {"text": f"{name} {i}", "label": "a", "id": f"{name}-{i}"}).ok()

    train("earlier")  # what a change needs is there before
    before = daemon.memory()[0]
    with Wire(daemon, receive_buffer=65536, timeout=60) as wire:
        wire.send(request("GET", M + "/export"))
        reply = http.client.HTTPResponse(wire.socket)
        reply.begin()
        equal((reply.status, reply.getheader("Transfer-Encoding")), (200, "chunked"))
        train("later")  # changes do not wait for it, and are not in it
        equal(temporary_files(daemon, daemon.data), [])
        holds(daemon.memory()[0] - before < 8 * MIB * (5 if sanitized() else 1), "memory")
        equal(gauge(daemon, "bayesd_spool_bytes"), 0)
        dump = reply.read()
    lines = dump.splitlines()
    holds(len(dump) > 8 * MIB, len(dump))
    equal(json.loads(lines[-1])["end"]["documents"], 1520)
    daemon.client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    equal(daemon.client.get("/v1/models/copy").ok().json["documents"], 1520)


def test_an_export_that_takes_too_long(api):
    """The data are not kept for ever: it ends before its last line, and the client sees that it is cut off."""
    daemon = large_model(api, store={"backup_seconds": 1})
    with Wire(daemon, receive_buffer=4096, timeout=60) as wire:
        wire.send(request("GET", M + "/export"))
        wire.until(b"\r\n\r\n")

        def is_over():
            daemon.client.post(M + "/train", {"text": "more", "label": "a"}).ok()
            return any("export broken off" in line for line in daemon.lines) or not wire.more()
        wait_for(is_over, "the export ends", 30)
        while wire.more():
            pass
        holds(b'{"end":' not in wire.rest and not wire.rest.endswith(b"0\r\n\r\n"), "it looks whole")
    unharmed(daemon)
