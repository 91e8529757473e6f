# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT: finish what runs, refuse what comes, commit, exit 0 in time."""
import random
import signal

from harness import equal, holds, patience, slow, wait_for
from load import Load
from wire import Wire, request

PATH = "/v1/models/stopped"


def stop_under_load(api, number):
    daemon = api.another().start()
    load = Load(random.Random(api.random.random()), PATH).start(daemon)
    holds(load.progress.wait(150, patience(60)), "the load does not get on")
    daemon.stop(number, seconds=10)
    load.join()
    daemon.start()
    load.settle(daemon.client)
    load.assert_model(daemon.client)
    daemon.stop()
    status, out, err = api.tool("--verify", "--data", daemon.data)
    equal(status, 0, out + err)


def test_sigterm_under_load(api):
    stop_under_load(api, signal.SIGTERM)


def test_sigint_under_load(api):
    stop_under_load(api, signal.SIGINT)


def test_idle_connections_do_not_hold_it(api):
    patient = {"stop_seconds": 3600, "timeout": 3600, "head_seconds": 3600}
    daemon = api.another(config={"server": patient}).start()
    idle = [Wire(daemon) for _ in range(20)]
    for wire in idle[:10]:
        wire.send(request("GET", "/healthz"))
        wire.reply().ok()
    daemon.stop()
    for wire in idle:
        holds(wire.closed(), "a connection that is still open")


def test_a_stalled_upload_does_not_hold_it(api):
    daemon = api.another(config={"server": {"timeout": 600}}).start()
    daemon.client.post(PATH + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    wire = Wire(daemon)
    wire.send(request("POST", PATH + "/train", {"text": "b", "label": "x", "id": "2"})[:-1])
    lines = Wire(daemon)
    lines.send(request("POST", PATH + "/train", b'{"text": "c", "label": "x", "id": "3"}\n' * 2, "application/x-ndjson")[:-1])
    daemon.client.get("/healthz").ok()
    daemon.stop(seconds=10)
    daemon.start()
    holds(daemon.client.get(PATH + "/documents/2").status == 404, "half a request was taken")
    equal(daemon.client.get(PATH + "/documents/1").status, 200)
    daemon.stop()


def test_a_running_request_is_finished(api):
    """An upload that goes on during the stop gets its reply or a clean refusal, never silence."""
    daemon = api.another().start()
    data = request("POST", PATH + "/train", {"text": "b " * 100, "label": "x", "id": "2"})
    wire = Wire(daemon)
    wire.send(data[:-20])
    daemon.client.get("/healthz").ok()
    daemon.signal(signal.SIGTERM)
    wait_for(lambda: refuses(daemon), "new connections are refused")
    sent = wire.try_send(data[-20:])
    reply = wire.reply() if sent else None
    equal(daemon.wait(10), 0)
    daemon.start()
    known = daemon.client.get(PATH + "/documents/2").status == 200
    if reply is not None:
        holds(reply.status in (200, 503), reply.status)
        equal(known, reply.status == 200, "the reply and the store differ")
        if reply.status == 503:
            holds("retry-after" in reply.headers, reply.headers)
    daemon.stop()


def refuses(daemon):
    """A new connection is refused, closed, or answered 503."""
    try:
        with Wire(daemon, timeout=2) as wire:
            wire.send(request("GET", "/readyz"))
            reply = wire.reply()
            return reply is None or reply.status == 503
    except OSError:
        return True


def test_kept_alive_connections_hear_503(api):
    """While a running request is waited for, others on open connections are told to come back."""
    daemon = api.another(config={"server": {"stop_seconds": 3600, "timeout": 3600}}).start()
    client, slow_one = Wire(daemon), Wire(daemon)
    client.send(request("GET", "/healthz"))
    client.reply().ok()
    slow_one.send(request("POST", PATH + "/train", {"text": "b", "label": "x"})[:-1])
    daemon.client.get("/healthz").ok()
    daemon.signal(signal.SIGTERM)
    wait_for(lambda: refuses(daemon), "new connections are refused", 5)
    if client.try_send(request("POST", PATH + "/train", {"text": "c", "label": "x"})):
        reply = client.reply()
        if reply is not None:
            equal(reply.status, 503, reply.body)
            holds("retry-after" in reply.headers, reply.headers)
    slow_one.close()
    equal(daemon.wait(10), 0)


def test_two_signals(api):
    daemon = api.another().start()
    daemon.client.post(PATH + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    daemon.signal(signal.SIGTERM)
    if daemon.running():
        daemon.signal(signal.SIGINT)
    holds(daemon.wait(10) in (0, -signal.SIGINT), "the exit status")
    daemon.start()
    equal(daemon.client.get(PATH + "/documents/1").status, 200)
    daemon.stop()


def test_sigpipe(api):
    """A reader that goes away does not end the daemon."""
    daemon = api.another().start()
    daemon.signal(signal.SIGPIPE)
    daemon.client.get("/healthz").ok()
    daemon.stop()


def test_a_long_reply_is_finished(api):
    """A client that is reading while the stop comes gets a whole reply, or sees that it is cut."""
    daemon = api.another().start()
    daemon.client.post(PATH + "/train", {"text": "a b", "label": "x"}).ok()
    count = int(5000 / slow())
    wire = Wire(daemon)
    wire.send(request("POST", PATH + "/classify", b'{"text": "a"}\n' * count, "application/x-ndjson"))
    head = wire.until(b"\r\n\r\n")
    daemon.signal(signal.SIGTERM)
    holds(head.startswith(b"HTTP/1.1 200"), head)
    while wire.more():
        pass
    equal(wire.rest.count(b'"label"'), count, "results")
    equal(daemon.wait(10), 0)
