# SPDX-License-Identifier: Apache-2.0
"""Long work, and models that have to be loaded, hold up no other request: one thread serves here."""
import threading

from faults import Faults
from harness import equal, holds, slow

MAIL = "Subject: hello\n\nsome words of a mail\n"


def slow_disk(api, **config):
    """A daemon with one thread for requests, whose disk takes a second for each fsync."""
    faults = Faults(api, config={"server": {"threads": 1, **config}})
    faults.delay(int(1e6 * slow()))
    return faults.daemon.start()


def meanwhile(daemon, method, path, body=None, kind=None):
    """While the request waits for the disk, others are answered. Returns its reply."""
    replies = []
    client = daemon.new_client(300)
    thread = threading.Thread(target=lambda: replies.append(client.call(method, path, body, kind)))
    thread.start()
    answered = 0
    try:
        while thread.is_alive() and answered < 20:
            daemon.client.get("/healthz").ok()
            daemon.client.post("/checkv2", MAIL, "message/rfc822").ok()
            daemon.client.post("/v1/models/mail/classify", MAIL, "message/rfc822").ok()
            answered += not replies
    finally:
        thread.join()
    holds(answered >= 20, f"{method} {path} held up other requests: {answered} were answered")
    return replies[0]


def test_long_work_holds_up_nobody(api):
    daemon = slow_disk(api)
    for label in ("ham", "spam"):
        daemon.client.post(f"/v1/models/mail/train?label={label}", MAIL + label, "message/rfc822").ok()
    dump = daemon.client.get("/v1/models/mail/export").ok().body
    meanwhile(daemon, "PUT", "/v1/models/new", {"preset": "book"}).ok(201)
    meanwhile(daemon, "PUT", "/v1/models/copy/import", dump, "application/x-ndjson").ok(201)
    meanwhile(daemon, "DELETE", "/v1/models/copy").ok(204)
    equal(daemon.client.get("/v1/models/mail/export").ok().body, dump)


def test_long_work_ends_with_the_daemon(api):
    daemon = slow_disk(api, stop_seconds=1, work_threads=1)
    threads = [threading.Thread(target=lambda n=n: try_put(daemon.new_client(), n)) for n in range(5)]
    for thread in threads:
        thread.start()
    daemon.client.get("/healthz").ok()
    daemon.stop(seconds=30)
    for thread in threads:
        thread.join()


def try_put(client, number):
    try:
        client.call("PUT", f"/v1/models/m{number}", {"preset": "book"})
    except (OSError, ConnectionError):
        pass  # broken off by the stop
