# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments: what was acknowledged is there exactly once, all else wholly or not."""
import json
import random
import time

from acknowledged import settled
from harness import equal, holds, patience, refused, slow
from load import Load
from wire import Wire, request

# Little is kept in memory only, so that slices of the counts are written all the time.
CONFIG = {"store": {"replay_features": 2000, "group_documents": 16, "map_size": "1M"}}
PATH = "/v1/models/killed"


def assert_verified(api, data):
    status, out, err = api.tool("--verify", "--data", data)
    equal(status, 0, f"--verify:\n{out}{err}")
    holds("model '" not in out + err, f"--verify reports:\n{out}{err}")


def pause(rng, most):
    """A random moment is what is tested here; nothing waits for anything."""
    time.sleep(rng.random() * most)


def kill_under_load(daemon, load, rng):
    load.start(daemon)
    holds(load.progress.wait(rng.randrange(1, 120), patience(60)), "the load does not get on")
    pause(rng, 0.02)
    daemon.kill()
    load.join()


def kill_in_the_first_moments(daemon, load, rng):
    """While the store is opened and the tail is replayed."""
    kill_under_load(daemon, load, rng)
    daemon.spawn()
    pause(rng, 0.08 * slow())
    daemon.kill()


def kill_while_stopping(daemon, load, rng):
    """SIGTERM, and kill -9 while what is left is being written."""
    load.start(daemon)
    load.progress.wait(rng.randrange(1, 60), patience(60))
    daemon.signal(15)
    pause(rng, 0.05)
    daemon.kill()
    load.join()


def rounds(api, kills, settings):
    rng = api.random
    daemon = api.another(config=settings).start()
    load = Load(random.Random(rng.random()), PATH)
    for number in range(kills):
        how = rng.choices([kill_under_load, kill_in_the_first_moments, kill_while_stopping], [6, 2, 2])[0]
        try:
            how(daemon, load, rng)
            if number % 3 == 0:
                assert_verified(api, daemon.data)
            daemon.start()
            load.settle(daemon.client)
            load.assert_model(daemon.client)
        except AssertionError as error:
            raise AssertionError(f"kill {number} ({how.__name__}): {error}") from error
    daemon.stop()
    assert_verified(api, daemon.data)
    daemon.start()
    load.assert_model(daemon.client)
    daemon.stop()


def test_kills_under_concurrent_changes(api):
    rounds(api, 200 if api.long else 8, CONFIG)


def test_kills_with_the_usual_settings(api):
    rounds(api, 60 if api.long else 3, None)


def test_kills_while_models_come_and_go(api):
    """Models made, filled by import and deleted: each is wholly there or wholly not."""
    rng, daemon = api.random, api.another(config=CONFIG).start()
    daemon.client.post("/v1/models/source/train", {"documents": [
        {"text": f"w{i} common", "label": "ab"[i % 2], "id": str(i)} for i in range(400)]}).ok()
    dump = daemon.client.get("/v1/models/source/export").ok().body
    for number in range(40 if api.long else 3):
        sure, client = {}, daemon.client
        for i in range(rng.randrange(4)):
            client.put(f"/v1/models/sure{i}/import", dump, "application/x-ndjson").ok(201)
            sure[f"sure{i}"] = 400
        import_cut_off(daemon, rng, dump)
        daemon.kill()
        assert_verified(api, daemon.data)
        daemon.start()
        rows = {row["name"]: row["documents"] for row in daemon.client.get("/v1/models").ok().json["models"]}
        equal(rows.pop("source"), 400)
        equal(rows.pop("cut", 400), 400, f"kill {number}: half an import is visible")
        equal(rows, sure)
        for name in list(sure) + ["cut"]:
            reply = daemon.client.delete(f"/v1/models/{name}")
            holds(reply.status in (204, 404), reply.status)
        equal([row["name"] for row in daemon.client.get("/v1/models").json["models"]], ["source"])
    daemon.stop()
    assert_verified(api, daemon.data)


def import_cut_off(daemon, rng, dump):
    whole = request("PUT", "/v1/models/cut/import", dump, "application/x-ndjson")
    wire = Wire(daemon)
    wire.send(whole[:rng.randrange(len(whole) + 1)])
    pause(rng, 0.03)
    wire.close()


def test_an_acknowledged_delete_stays(api):
    daemon = api.another().start()
    for i in range(5):
        path = f"/v1/models/m{i}"
        daemon.client.post(path + "/train", {"text": "x y", "label": "a", "id": "1"}).ok()
        daemon.client.put(path, {"smoothing": 2.0}).ok()
        if i % 2:
            daemon.client.delete(path).ok(204)
    daemon.kill()
    daemon.start()
    for i in range(5):
        reply = daemon.client.get(f"/v1/models/m{i}")
        if i % 2:
            refused(reply, 404)
        else:
            equal((reply.ok().json["documents"], reply.json["settings"]["smoothing"]), (1, 2.0))
    daemon.stop()


def test_restarts_change_nothing(api):
    """Clean stops and kills without load: the same numbers and scores, to the last bit."""
    daemon = api.another(config=CONFIG).start()
    load = Load(random.Random(api.random.random()), PATH).start(daemon)
    load.progress.wait(500, patience(60))
    load.stop()
    settled(daemon.client)
    # Which log_scores a label has may not depend on how often the daemon was started.
    want = None
    for how in ("stop", "kill", "kill", "stop", "stop"):
        got = [daemon.client.get(PATH).ok().json] + [
            daemon.client.post(PATH + "/classify?explain=50", {"text": t}).ok().json for t in ("w1 w2 w3", "w9")]
        equal(json.dumps(got), json.dumps(want or got), "after a restart")
        want = got
        getattr(daemon, how)()
        daemon.start()
    daemon.stop()
