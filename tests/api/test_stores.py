# SPDX-License-Identifier: Apache-2.0
"""What earlier versions stored is opened: tests/stores has a store, a backup and dumps of each."""
import json
import lzma
import os
import random
import sys
import time

from harness import equal, holds, near, wait_for

STORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stores")
sys.path.append(STORES)
import stored  # noqa: E402
from test_store import make_older  # noqa: E402


# ---- helpers ------------------------------------------------------------------------------------
def versions():
    return sorted(name for name in os.listdir(STORES) if os.path.exists(os.path.join(STORES, name, "expected.json")))


def expected(version):
    with open(os.path.join(STORES, version, "expected.json"), encoding="utf-8") as file:
        return json.load(file)


def unpacked(version, name, folder):
    path = os.path.join(folder, name)
    with lzma.open(os.path.join(STORES, version, name + ".xz")) as file, open(path, "wb") as out:
        out.write(file.read())
    os.chmod(path, 0o600)
    return path


def same(got, want, what):
    """The scores to 1e-9, all else exactly."""
    for name in want:
        for member, value in want[name].items():
            if member != "scores":
                equal(got[name][member], value, f"{what}: {member} of {name}")
        for text, scores, others in zip(stored.PROBES, got[name]["scores"], want[name]["scores"]):
            equal(sorted(scores), sorted(others), f"{what}: {name}: {text!r}")
            for label, score in others.items():
                near(scores[label], score, f"{what}: {name}: {label} of {text!r}")


def upgraded(daemon):
    """Waits until the models of an older version are computed anew."""
    wait_for(lambda: daemon.client.get("/readyz").status == 200 and "upgrade" not in daemon.client.get("/readyz").json,
             "the models are upgraded")
    return daemon


def assert_same(daemon, version, what):
    """What the version said, before and after an old change is taken back, and after a restart."""
    want = expected(version)
    names = sorted(want["stored"])
    same(stored.pictures(upgraded(daemon).client, names), want["stored"], f"{what} of {version}")
    stored.undo(daemon.client, names)
    same(stored.pictures(daemon.client, names), want["undone"], f"{what} of {version}, undone")
    daemon.stop()
    daemon.start()
    same(stored.pictures(daemon.client, names), want["undone"], f"{what} of {version}, undone and started again")
    daemon.stop()


# ---- the API ------------------------------------------------------------------------------------
def names_of(node, at=""):
    """The names of an API that a program may rely on: paths, methods, statuses, parameters, and members of bodies."""
    found = set()
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        is_named = isinstance(value, dict) and isinstance(key, int) and "name" in value and "in" in value
        here = f"{at}/{value['in']}:{value['name']}" if is_named else f"{at}/{key}"
        is_method = isinstance(value, dict) and "responses" in value
        if is_named or is_method or at.endswith(("/paths", "/properties", "/responses", "/schemas")):
            found.add(here)
        if key not in ("description", "examples", "example", "default"):
            found |= names_of(value, here)
    return found


def test_the_api_is_only_added_to(api):
    whole = api.get("/openapi.json").ok().json
    present = names_of(whole)
    for named in ("/paths//v1/models/{model}/classify/post", "/paths//v1/models/get/parameters/query:after",
                  "/components/schemas/Evaluation/properties/windows"):
        holds(named in present, f"{named} of {len(present)}")
    compared = 0
    for version in versions():
        path = os.path.join(STORES, version, "openapi.json.xz")
        if os.path.exists(path):  # the formats before the first release have none
            with lzma.open(path) as file:
                gone = names_of(json.load(file)) - present
            equal(sorted(gone)[:10], [], f"what {version} had, and this version has not")
            compared += 1
    holds(compared > 0, "a version with its API")


# ---- what is beside the counts -------------------------------------------------------------------
M = "/v1/models/mail"
SETTINGS = {"preset": "mail", "history": 100}


def fill(daemon):
    """A model with all that a store keeps beside counts, and its child, and a challenger, and a network."""
    client, rng = daemon.client, random.Random(3)
    client.put(M, SETTINGS).ok(201)
    rows = []
    for i in range(120):
        own = rng.choice(("ham", "spam"))
        words = rng.choices([f"{own}{n}" for n in range(12)] + [f"w{n}" for n in range(40)], k=12)
        rows.append({"id": str(i), "label": own if i % 9 else None, "text": " ".join(words), "source": f"s{i % 3}"})
    client.post(M + "/train", {"documents": rows}).ok()
    for i in range(5):
        client.post(M + "/train", {"id": f"waits{i}", "label": "spam", "text": f"ham1 ham2 w{i}", "source": "users"}).ok(202)
        client.post(M + "/classify?remember=1", {"id": f"seen{i}", "text": f"spam{i} w1 w2"}).ok()
    client.put(M + "-child", {"preset": "mail", "parent": "mail"}).ok(201)
    client.post(M + "-child/train", {"id": "own", "label": "ham", "text": "spam1 spam2 my own words"}).ok()
    client.post(M + "/challenger", {"settings": {"decision": "bayes"}}).ok(201)
    wait_for(lambda: client.get(M + "/evaluation").ok().json["challenger"]["behind"] == 0, "the challenger follows")
    client.put("/v1/networks/rain", {"nodes": [{"name": "rain", "states": ["yes", "no"], "table": [[0.2, 0.8]]}]}).ok(201)


def challenger_of(daemon):
    return daemon.client.get(M + "/evaluation").ok().json["challenger"]


def shown(daemon):
    """What is asked of it. The order of what is fitted by itself differs, and with it the stacked verdict: not asked."""
    client = daemon.client
    dumps = [documents_without_times(client, path) for path in (M, M + "-child")]
    waiting = [{k: row[k] for k in ("id", "label", "source", "tokens")} for row in client.get(M + "/quarantine").ok().json["quarantine"]]
    history = [{k: row[k] for k in ("id", "label", "probability")} for row in client.get(M + "/history").ok().json["history"]]
    challenger = {k: v for k, v in client.get(M + "/evaluation").ok().json["challenger"].items() if k not in ("started", "since")}
    book = client.post(M + "/classify?decision=bayes", {"text": "spam1 ham2 w3"}).json
    return {"dumps": dumps, "waiting": waiting, "history": history, "compared": challenger, "book": book.get("log_scores"),
            "network": client.get("/v1/networks/rain").ok().json["nodes"],
            "models": [(row["name"], row["documents"], row["vocabulary"], row["labels"]) for row in client.get("/v1/models").ok().json["models"]]}


def documents_without_times(client, path):
    return [{k: v for k, v in document.items() if k != "time"} for document in stored.documents_of(client, path)]


def test_all_of_a_store_is_there_after_an_upgrade(api):
    config = {"models": {"quarantine": "users"}}
    daemon = api.another(config=config).start()
    fill(daemon)
    want = shown(daemon)
    holds(len(want["waiting"]) == 5 and len(want["history"]) == 5, want)
    daemon.stop()
    make_older(daemon.data)
    for turn in range(2):
        again = upgraded(api.another(data=daemon.data, config=config).start())
        wait_for(lambda: challenger_of(again)["state"] == "following", lambda: f"it goes on: {challenger_of(again)} {again.output()}", 10)
        got = shown(again)
        for member, value in want.items():
            equal(got[member], value, f"{member}, start {turn}")
        again.stop()
    status, said, complaint = api.tool("--verify", "--data", daemon.data)
    equal((status, complaint), (0, ""), said)


def test_verify_passes_over_counts_of_an_older_version(api):
    """They are computed anew by the next start, whatever they are; all else is compared."""
    data = api.new_folder()
    unpacked("format-8", "data.mdb", data)
    unpacked("format-8", "journal", data)
    status, said, complaint = api.tool("--verify", "--data", data)
    equal((status, complaint), (0, ""), said)
    for model in expected("format-8")["stored"]:
        equal(said.count(f"model '{model}': its counts are of an older version"), 1, said)
    holds("every count is what the documents say" in said, said)


# ---- an upgrade that is cut off ------------------------------------------------------------------
def test_upgrades_that_are_killed(api):
    """Wherever an upgrade is cut off, the next start finishes it."""
    version = "format-8"
    want = expected(version)["stored"]
    data = api.new_folder()
    unpacked(version, "data.mdb", data)
    unpacked(version, "journal", data)
    for after in range(0, 40, 2):
        daemon = api.another(data=data, config=stored.CONFIG).start()
        time.sleep(after / 1000)
        daemon.kill()
    daemon = upgraded(api.another(data=data, config=stored.CONFIG).start())
    same(stored.pictures(daemon.client, want), want, "killed and upgraded")
    daemon.stop()
    status, said, complaint = api.tool("--verify", "--data", data)
    equal((status, complaint), (0, ""), said)


# ---- the three ways in --------------------------------------------------------------------------
def test_this_version_has_a_store(api):
    version = api.get("/openapi.json").ok().json["info"]["version"]
    holds(version in versions(), f"{version} is not among {versions()}: tests/stores/make")


def test_stores_are_opened(api):
    for version in versions():
        data = api.new_folder()
        unpacked(version, "data.mdb", data)
        unpacked(version, "journal", data)
        assert_same(api.another(data=data, config=stored.CONFIG).start(), version, "the store")
        status, said, complaint = api.tool("--verify", "--data", data)
        equal((status, complaint), (0, ""), said)


def test_backups_are_restored(api):
    for version in versions():
        folder = api.new_folder()
        data = os.path.join(folder, "data")
        equal(api.tool("--restore", unpacked(version, "store.backup", folder), "--data", data)[0], 0, version)
        assert_same(api.another(data=data, config=stored.CONFIG).start(), version, "the backup")


def test_dumps_are_imported(api):
    for version in versions():
        daemon = api.another().start()
        want = expected(version)["stored"]
        for name in (name for name in stored.MODELS if name in want):  # a parent comes before its children
            with lzma.open(os.path.join(STORES, version, name + ".ndjson.xz")) as file:
                daemon.client.put(f"/v1/models/{name}/import", file.read(), "application/x-ndjson").ok(201)
        same(stored.pictures(daemon.client, want), want, f"the dumps of {version}")
        daemon.stop()
        daemon.start()
        same(stored.pictures(daemon.client, want), want, f"the dumps of {version}, started again")
        daemon.stop()
