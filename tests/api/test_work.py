# SPDX-License-Identifier: Apache-2.0
"""Long work, and models that have to be loaded, hold up no other request: one thread serves here."""
import threading

from faults import Faults
from harness import equal, wait_for

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


def try_put(client, number):
    try:
        client.call("PUT", f"/v1/models/m{number}", {"preset": "book"})
    except (OSError, ConnectionError):
        pass  # broken off by the stop
