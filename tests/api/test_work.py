# SPDX-License-Identifier: Apache-2.0
"""Long work, and models that have to be loaded, hold up no other request: one thread serves here. Lines that are
learned come in while those before are brought to the disk."""
import threading
import zlib

from faults import Faults
from harness import equal, refused, slow, wait_for
from wire import Wire, request

MAIL = "Subject: hello\n\nsome words of a mail\n"


def started(api, **config):
    """The faults of a running daemon with one thread for requests."""
    faults = Faults(api, config={"server": {"threads": 1, **config}})
    faults.daemon.start()
    return faults


def meanwhile(faults, method, path, body=None, kind=None):
    """While the request waits for the disk, others are answered. Returns its reply."""
    replies, daemon = [], faults.daemon
    client, before = daemon.new_client(300), faults.count("sync")
    faults.hold()
    thread = threading.Thread(target=lambda: replies.append(client.call(method, path, body, kind)))
    thread.start()
    try:
        wait_for(lambda: faults.count("sync") > before, "it waits for the disk")
        for _ in range(20):
            daemon.client.get("/healthz").ok()
            daemon.client.post("/checkv2", MAIL, "message/rfc822").ok()
            daemon.client.post("/v1/models/mail/classify", MAIL, "message/rfc822").ok()
        equal(replies, [], f"{method} {path} did not wait")
    finally:
        faults.delay(0)
        thread.join()
    return replies[0]


def test_long_work_holds_up_nobody(api):
    faults = started(api)
    daemon = faults.daemon
    for label in ("ham", "spam"):
        daemon.client.post(f"/v1/models/mail/train?label={label}", MAIL + label, "message/rfc822").ok()
    dump = daemon.client.get("/v1/models/mail/export").ok().body
    meanwhile(faults, "PUT", "/v1/models/new", {"preset": "book"}).ok(201)
    meanwhile(faults, "PUT", "/v1/models/copy/import", dump, "application/x-ndjson").ok(201)
    meanwhile(faults, "DELETE", "/v1/models/copy").ok(204)
    equal(daemon.client.get("/v1/models/mail/export").ok().body, dump)


def test_long_work_ends_with_the_daemon(api):
    faults = started(api, stop_seconds=1, work_threads=1)
    daemon, before = faults.daemon, faults.count("sync")
    faults.delay(1000000)
    threads = [threading.Thread(target=lambda n=n: try_put(daemon.new_client(), n)) for n in range(5)]
    for thread in threads:
        thread.start()
    wait_for(lambda: faults.count("sync") > before, "the first waits for the disk")
    daemon.stop(seconds=30)
    for thread in threads:
        thread.join()


def test_a_wait_for_long_work_is_not_the_client_s(api):
    """A request that waits behind other work before its body is read is not told that its body is slow."""
    timeout = 1
    faults = started(api, work_threads=1, timeout=timeout)
    daemon = faults.daemon
    for label in ("ham", "spam"):
        daemon.client.post(f"/v1/models/mail/train?label={label}", MAIL + label, "message/rfc822").ok()
    replies, before = [], faults.count("sync")
    threads = [threading.Thread(target=lambda call=call: replies.append(daemon.new_client(300).call(*call))) for call in (
        ("PUT", "/v1/models/new", {"preset": "book"}),
        ("POST", "/v1/models/mail/classify?target_fpr=0.1", MAIL, "message/rfc822"))]
    faults.hold()
    threads[0].start()
    wait_for(lambda: faults.count("sync") > before, "long work waits for the disk")
    threads[1].start()
    threads[1].join(3 * timeout)
    faults.delay(0)
    for thread in threads:
        thread.join()
    equal(sorted(reply.status for reply in replies), [200, 201], replies[0].body)


def try_put(client, number):
    try:
        client.call("PUT", f"/v1/models/m{number}", {"preset": "book"})
    except (OSError, ConnectionError):
        pass  # broken off by the stop


# ---- lines that are learned ---------------------------------------------------------------------
ROUND = 256  # lines that go to the disk together (server/api/documents_route.c)


def lines(count):
    return b"".join(b'{"text": "word%d", "label": "a", "id": "%d"}\n' % (i, i) for i in range(count))


def learning(api, **config):
    faults = Faults(api, config={"server": config})
    daemon = faults.daemon.start()
    daemon.client.put("/v1/models/m", {"preset": "book"}).ok(201)
    return faults, daemon


def documents(daemon):
    return daemon.client.get("/v1/models/m").ok().json["documents"]


def test_the_next_lines_are_read_while_the_disk_is_busy(api):
    """A packed body that is broken is refused when it is read; the round before stays at the disk as long as the test
    lasts."""
    faults, daemon = learning(api)
    faults.delay(2000000000)
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(lines(ROUND + 1)) + packer.flush(zlib.Z_FULL_FLUSH)
    before = faults.count("sync")
    with Wire(daemon) as wire:
        wire.send(request("POST", "/v1/models/m/train", body + b"\xff" * 100, "application/x-ndjson",
                          Content_Encoding="gzip")[:-100])
        wait_for(lambda: faults.count("sync") > before, "the first round is at the disk")
        wire.send(b"\xff" * 100)
        equal(wire.until(b"\r\n"), b"HTTP/1.1 400 Bad Request")
    daemon.kill()


def test_a_client_that_leaves_its_lines(api):
    """What is on its way to the disk is learned; what is not gathers for nobody."""
    faults, daemon = learning(api)
    faults.delay(int(3e5 * slow()))
    with Wire(daemon) as wire:
        whole = request("POST", "/v1/models/m/train", lines(ROUND + 10) + b"\n", "application/x-ndjson")
        wire.send(whole[:-1])
        wait_for(lambda: faults.count("sync") > 0 and documents(daemon) == ROUND, "the first round is learned")
    wait_for(lambda: daemon.client.get("/healthz").ok() and documents(daemon) == ROUND, "the others are not")
    with Wire(daemon) as wire:
        wire.send(request("POST", "/v1/models/m/train", lines(2 * ROUND) + b"\n", "application/x-ndjson")[:-1])
    wait_for(lambda: documents(daemon) >= ROUND, "the daemon goes on")
    daemon.stop()


def test_lines_behind_a_round_that_fails(api):
    """The request is refused as a whole, and what was read meanwhile is not learned."""
    faults, daemon = learning(api)
    faults.fail("sync")
    refused(daemon.client.post("/v1/models/m/train", lines(ROUND + 10), "application/x-ndjson"), 503)
    faults.clear()
    wait_for(lambda: daemon.client.get("/readyz").status == 200, "the disk is well again", 30)
    equal(documents(daemon), 0)
    equal(len(daemon.client.post("/v1/models/m/train", lines(ROUND + 10), "application/x-ndjson").ok().lines), ROUND + 10)
    equal(documents(daemon), ROUND + 10)
    daemon.stop()
