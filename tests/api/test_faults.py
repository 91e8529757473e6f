# SPDX-License-Identifier: Apache-2.0
"""The n-th write, sync, map or allocation fails while clients train: nothing acknowledged is lost,
nothing refused comes back, /readyz tells the truth, and the daemon serves again by itself.
FAULT_TRIALS=500 for the long run."""
import errno
import gzip
import http.client
import json
import os
import random
import re
import subprocess
import threading

from faults import EVER, Faults
from harness import PATIENCE, equal, holds, patience, refused, sanitized, slow, wait_for
from load import Load
from wire import Wire

PATH = "/v1/models/faulty"
# A small map, so that it has to grow; little in memory only, so that counts are written all the time.
CONFIG_OF_STORE = {"store": {"replay_features": 2000, "group_documents": 16, "map_size": "1M"}}
RECOVERY = 30  # seconds that it may take to serve again


def trials(api, share):
    """How many in this test: its share in a hundred of all."""
    return max(3, int(os.environ.get("FAULT_TRIALS", 500 if api.long else 36)) * share // 100)


def assert_serving(daemon, describe):
    client = daemon.new_client()

    def serves():
        holds(daemon.running(), f"{describe}: the daemon is gone:\n{daemon.output()}")
        reply = client.post("/v1/models/probe/train", {"text": "probe", "label": "a", "id": "probe"})
        return reply.status == 200 and client.get("/readyz").status == 200

    # What is promised, and no longer: without the patience of other tests.
    wait_for(serves, f"{describe}: it serves again by itself", RECOVERY / PATIENCE, 0.05)
    client.close()


class Trial:
    def __init__(self, api):
        self.api, self.rng = api, api.random
        self.faults = Faults(api, config=CONFIG_OF_STORE)
        self.daemon = self.faults.daemon.start()
        self.load = Load(random.Random(self.rng.random()), PATH, workers=3)

    def run(self, describe, inject):
        """One fault under load, and the judgement."""
        load, daemon = self.load, self.daemon
        load.start(daemon)
        holds(load.progress.wait(self.rng.randrange(1, 30), patience(60)), f"{describe}: the load does not get on")
        inject(self)
        self.faults.clear()
        assert_serving(daemon, describe)
        load.stop()
        try:
            load.settle(daemon.client)
            load.assert_model(daemon.client)
        except AssertionError as error:
            raise AssertionError(f"{describe} ({self.faults.fired} calls failed): {error}") from error

    def restart(self, how):
        """What is on the disk is what is in memory."""
        getattr(self.daemon, how)()
        status, out, err = self.api.tool("--verify", "--data", self.daemon.data)
        equal(status, 0, out + err)
        self.daemon.start()
        self.load.assert_model(self.daemon.client)


def short_faults(rng):
    """Some calls in a row fail, a while from now."""
    call = rng.choice(["write", "write", "write", "sync", "sync", "map"])
    error = rng.choice([errno.EIO, errno.EIO, errno.ENOSPC, 0] if call == "write" else
                       [errno.ENOMEM] if call == "map" else [errno.EIO, errno.ENOSPC])
    return call, error, rng.randrange(40), rng.choice([1, 1, 1, 2, 3, 10])


def many(api, count, choose, inject):
    trial = Trial(api)
    for number in range(count):
        what = choose(trial.rng)
        trial.run(f"trial {number}, {what}", lambda t, w=what: inject(t, w))
        if number % 6 == 5:
            trial.restart(trial.rng.choice(["stop", "kill"]))
    trial.restart("stop")
    trial.daemon.stop()


def test_calls_that_fail(api):
    def inject(trial, what):
        call, error, after, span = what
        trial.faults.fail(call, error, after, span)
        seen = trial.load.progress.count
        trial.load.progress.wait(seen + trial.rng.randrange(10, 60), 3 * slow())

    many(api, trials(api, 50), short_faults, inject)


def test_a_disk_that_fails_for_a_while(api):
    """All calls of a kind fail until they no longer do; meanwhile /readyz says so."""
    def choose(rng):
        call = rng.choice(["write", "sync"])
        return call, rng.choice([errno.EIO, errno.ENOSPC]), rng.random() * 1.5

    def inject(trial, what):
        call, error, seconds = what
        trial.faults.fail(call, error)
        client = trial.daemon.new_client()
        reply = client.post(PATH + "/train", {"text": "refused", "label": "a", "id": "refused"})
        detail = refused(reply, 503)["detail"].lower()
        equal("no space left" in detail, what[1] == errno.ENOSPC, f"{what}: a change that cannot be kept: {detail}")
        equal(client.get("/readyz").status, 503, f"{what}: /readyz after a refusal")
        threading.Event().wait(seconds)
        equal(client.get("/readyz").status, 503, f"{what}: /readyz while the disk fails")
        trial.faults.clear()
        assert_serving(trial.daemon, str(what))
        equal(client.get(PATH + "/documents/refused").status, 404, f"{what}: what was refused")
        client.close()

    many(api, trials(api, 15), choose, inject)


def test_maps_that_fail(api):
    """The n-th map of the store's files fails while it starts, and while the map grows."""
    ended = 0
    for after in range(6):
        faults = Faults(api, config=CONFIG_OF_STORE)
        daemon = faults.daemon
        faults.fail("map", errno.ENOMEM, after, 1)
        daemon.spawn()
        try:
            daemon.wait_ready(20)
        except AssertionError:
            holds(daemon.process.returncode > 0 and "memory" in daemon.output(), f"map {after}: {daemon.output()}")
            ended += 1
            continue
        assert_serving(daemon, f"map {after}")
        daemon.stop()
        status, out, err = api.tool("--verify", "--data", daemon.data)
        equal(status, 0, out + err)
    holds(0 < ended < 6, f"{ended} of 6 starts ended")


def test_kills_while_calls_fail(api):
    """kill -9 amid the fault: it starts, with all that was acknowledged and nothing that was refused."""
    trial = Trial(api)
    for number in range(trials(api, 20)):
        call, error, after, span = short_faults(trial.rng)
        describe = f"trial {number}, {call} error {error} after {after}"
        trial.load.start(trial.daemon)
        holds(trial.load.progress.wait(5, patience(60)), f"{describe}: the load does not get on")
        trial.faults.fail(call, error, after, trial.rng.choice([span, EVER]))
        threading.Event().wait(trial.rng.random() * 0.15)
        trial.daemon.kill()
        trial.load.join()
        trial.faults.clear()
        if number % 5 == 0:
            status, out, err = api.tool("--verify", "--data", trial.daemon.data)
            equal(status, 0, out + err)
        trial.daemon.start()
        try:
            trial.load.settle(trial.daemon.client)
            trial.load.assert_model(trial.daemon.client)
        except AssertionError as failure:
            raise AssertionError(f"{describe} ({trial.faults.fired} calls failed): {failure}") from failure
    trial.daemon.stop()


def test_memory_that_is_refused(api):
    if sanitized():
        return  # a sanitizer's allocator cannot be made to fail from outside

    def choose(rng):
        return rng.randrange(400), rng.choice([1, 1, 3, 20])

    def inject(trial, what):
        after, span = what
        trial.faults.fail("memory", errno.ENOMEM, after, span)
        wait_for(lambda: trial.faults.fired >= span or not trial.daemon.running() or
                 not any(worker.is_alive() for worker in trial.load.workers), "the calls have failed", 20)

    many(api, trials(api, 15), choose, inject)


def row_of(number):
    return {"id": f"d{number}", "label": "a", "text": "one two three"}


def has_document(client, number):
    return client.get(f"{PATH}/documents/d{number}").status == 200


def has_setting(client, number):
    return client.get(PATH).ok().json["settings"]["smoothing"] == 2 + number


def has_label(client, number):
    row = client.get(PATH).ok().json
    holds("labels" in row, row)
    return f"l{number + 1}" in row["labels"]


# How to ask for change `number`, and how to see whether it is in force.
CHANGES = {
    "train": (lambda n: ("POST", "/train", row_of(n)), has_document),
    "train a batch": (lambda n: ("POST", "/train", {"documents": [row_of(n)]}), has_document),
    "train a stream": (lambda n: ("POST", "/train", json.dumps(row_of(n)) + "\n", "application/x-ndjson"),
                       has_document),
    "put": (lambda n: ("PUT", "", {"smoothing": 2 + n}), has_setting),
    "rename": (lambda n: ("PATCH", f"/labels/l{n}", {"name": f"l{n + 1}"}), has_label),
}


def assert_each_allocation(api, faults, ask, is_done, describe):
    """The first allocation of a request is refused, then only the second, and so on until it has no
    more of them. Whatever fails: a refusal has changed nothing, and a reply that says that the change
    is made tells the truth."""
    client, asking = faults.daemon.client, faults.daemon.new_client()
    done = unanswered = 0
    for after in range(400):
        method, path, body, *kind = ask(done)
        asking.get("/healthz")  # connected: the allocations counted are those of the request
        faults.fail("memory", errno.ENOMEM, after, 1)
        try:
            reply = asking.once(method, PATH + path, body, *kind)
        except (OSError, http.client.HTTPException):
            reply = None
        failed = faults.fired
        faults.clear()
        there = is_done(client, done)
        if reply is not None:
            succeeded = reply.status in (200, 201)
            # jansson takes a token that it has no memory for as one that is wrong.
            refused = reply.status == 503 or b"not valid JSON" in reply.body
            wanted = (kind or ["application/json"])[0] if succeeded else "application/problem+json"
            equal(reply.headers.get("content-type"), wanted, f"{describe}, allocation {after}: {reply.status}")
            holds(succeeded or refused, f"{describe}, allocation {after}: {reply.status} {reply.body}")
            equal(there, succeeded, f"{describe}, allocation {after}: in force, answered {reply.status} {reply.body}")
        unanswered += reply is None
        done += there
        if not failed:
            break
    else:
        raise AssertionError(f"{describe}: still allocations after 400")
    asking.close()
    return unanswered


def test_a_refusal_changes_nothing_whatever_allocation_fails(api):
    if sanitized():
        return  # a sanitizer's allocator cannot be made to fail from outside
    unanswered = 0
    for describe, (ask, is_done) in CHANGES.items():
        faults = Faults(api)
        client = faults.daemon.start().client
        client.post(PATH + "/train", {"text": "first", "label": "l0", "id": "first"}).ok()
        unanswered += assert_each_allocation(api, faults, ask, is_done, describe)
        faults.daemon.stop()
    holds(unanswered > 0, "no reply was lost: the test no longer reaches what it is for")


# Requests that read, or compute from what is stored: (method, path, body).
READING = {
    "cluster": ("POST", "/cluster", {"clusters": 2, "seed": 1}),
    "cluster of all": ("POST", "/cluster", {"clusters": 2, "seed": 1, "documents": "all"}),
    "em": ("POST", "/em", None),
    "next": ("GET", "/next", None),
    "export": ("GET", "/export", None),
    "explanation": ("POST", "/classify?explain=3", {"text": "w1 w2 w3 w4"}),
    "vocabulary": ("GET", "/vocabulary?label=a", None),
    "distribution": ("GET", "/distribution?label=a", None),
    "sample": ("GET", "/sample?label=a&seed=1", None),
    "document": ("GET", "/documents/d1", None),
    "evaluation": ("GET", "/evaluation", None),
}


def test_no_allocation_that_fails_ends_the_daemon(api):
    """Each of the first allocations of a request that reads is refused, and then some of the later ones."""
    if sanitized():
        return  # a sanitizer's allocator cannot be made to fail from outside
    faults = Faults(api)
    client = faults.daemon.start().client
    documents = [{"id": f"d{n}", "text": f"w{n % 5} w{n % 7} w{n}", "label": ("a", "b", None)[n % 3]} for n in range(30)]
    client.post(PATH + "/train", {"documents": documents}).ok()
    for describe, (method, path, body) in READING.items():
        equal(client.once(method, PATH + path, body).status // 100, 2, describe)
        after, failed, refused = 0, 1, 0
        while failed and after < 2000:
            asking = faults.daemon.new_client()
            asking.get("/healthz")
            faults.fail("memory", errno.ENOMEM, after, 1)
            try:
                reply = asking.once(method, PATH + path, body)
            except (OSError, http.client.HTTPException):
                reply = None  # there is no memory for it
            failed = faults.fired
            faults.clear()
            asking.close()
            holds(faults.daemon.running(), f"{describe}, allocation {after}: the daemon is gone:\n{faults.daemon.output()}")
            # jansson takes a token that it has no memory for as one that is wrong.
            answers = reply is None or reply.status in (200, 202, 503) or b"not valid JSON" in reply.body
            holds(answers, f"{describe}, allocation {after}: {reply and (reply.status, reply.body)}")
            refused += reply is None or reply.status // 100 != 2
            after += 1 if after < 150 else after // 8
        holds(refused > 0, f"{describe}: no allocation was refused")
    faults.daemon.stop()


def open_connections(client):
    page = client.get("/metrics").ok().body.decode()
    return int(re.search(r"^bayesd_http_connections (\d+)$", page, re.M)[1])


def test_a_connection_without_memory_is_not_counted(api):
    """It is closed, and its place is free for the next one."""
    if sanitized():
        return  # a sanitizer's allocator cannot be made to fail from outside
    faults = Faults(api, config={"server": {"threads": 1}})
    client = faults.daemon.start().client
    before = open_connections(client)
    closed = 0
    for after in range(8):
        faults.fail("memory", errno.ENOMEM, after, 1)
        with Wire(faults.daemon, timeout=5) as wire:
            closed += wire.try_send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") and wire.reply() is None
        faults.clear()
    holds(closed > 0, "no connection met the fault")
    wait_for(lambda: open_connections(client) == before, "all connections are counted out", 20)
    faults.daemon.stop()


def test_memory_to_decompress(api):
    """A compressed body that there is no memory for is not the client's fault: 503, and the same body works later."""
    if sanitized():
        return  # a sanitizer's allocator cannot be made to fail from outside
    faults = Faults(api)
    client = faults.daemon.start().client
    client.post(PATH + "/train", row_of(0)).ok()
    text = b"one two three " * 20000
    bodies = {"gzip": gzip.compress(text),
              "zstd": subprocess.run(["zstd", "-q", "-c"], input=text, capture_output=True, check=True).stdout}
    for coding, body in bodies.items():
        asking = faults.daemon.new_client()
        for after in range(100):
            asking.get("/healthz")
            faults.fail("memory", errno.ENOMEM, after, 1)
            try:
                reply = asking.once("POST", PATH + "/classify", body, "text/plain", Content_Encoding=coding)
            except (OSError, http.client.HTTPException):
                continue  # without memory for the reply itself there is none
            finally:
                failed = faults.fired
                faults.clear()
            holds(reply.status in (200, 503), f"{coding}, allocation {after}: {reply.status} {reply.body}")
            if not failed:
                break
        holds(after > 3, f"{coding}: {after} allocations")
        client.post(PATH + "/classify", body, "text/plain", Content_Encoding=coding).ok()
