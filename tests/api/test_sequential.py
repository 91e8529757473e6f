# SPDX-License-Identifier: Apache-2.0
"""A posterior becomes a prior: a model made from another one, which learns on from there."""
import math
import random

from book import PROBES, Model
from harness import equal, holds, near, refused
from test_tokens import bearer, for_users

NDJSON = "application/x-ndjson"
SETTINGS = [{}, {"event_model": "binary", "smoothing": 0.3}, {"event_model": "bernoulli"}, {"event_model": "complement"},
            {"estimate": "map", "smoothing": 1.5}, {"estimate": "mle"}, {"predict": "integrate"},
            {"smoothing": {"m": 5, "p": "vocabulary"}}, {"min_count": 2, "prior": "uniform"}]


def documents(seed, count=12):
    rnd = random.Random(seed)
    return [{"text": " ".join(rnd.choice(["win", "prize", "garden", "train", f"word{rnd.randrange(25)}"]) for _ in range(8)),
             "label": rnd.choice(["ham", "spam", "third"]), "id": f"{seed}-{n}"} for n in range(count)]


def teach(client, name, seed):
    for document in documents(seed):
        client.post(f"/v1/models/{name}/train", document).ok()


def scores(client, name):
    """As they are written, byte for byte."""
    got = [client.post(f"/v1/models/{name}/classify", {"text": text}).ok().body for text in PROBES]
    return [body[body.index(b'"probability"'):].replace(b'"' + name.encode() + b'"', b"") for body in got]


def derive(client, new, old, query=""):
    return client.post(f"/v1/models/{new}/from/{old}{query}", None).ok(201).json


def same_counts(client, one, other):
    rows = [client.get("/v1/models/" + name).ok().json for name in (one, other)]
    for member in ("documents", "vocabulary", "labels", "settings"):
        equal(rows[0][member], rows[1][member], member)


def test_two_phases_are_one(api):
    client = api.another().start().client
    for n, settings in enumerate(SETTINGS):
        old, new, once = f"old{n}", f"new{n}", f"once{n}"
        for name in (old, once):
            client.put("/v1/models/" + name, {"preset": "book", **settings}).ok(201)
            teach(client, name, 1)
        row = derive(client, new, old)
        equal((row["name"], row["documents"]), (new, 12))
        equal(scores(client, new), scores(client, old), settings)
        for name in (new, once):
            teach(client, name, 2)
        equal(scores(client, new), scores(client, once), settings)
        same_counts(client, new, once)


def test_attributes_too(api):
    client = api.another().start().client
    fields = {"sky": "category", "heat": "number", "tags": "set"}
    rows = [{"values": {"sky": "ab"[n % 2], "heat": n * 1.5, "tags": ["x", "y"][:n % 3]}, "label": "uv"[n % 3 == 0], "id": str(n)}
            for n in range(14)]
    for name in ("old", "once"):
        client.put("/v1/models/" + name, {"preset": "book", "fields": fields, "structure": "tan"}).ok(201)
    for row in rows[:7]:
        client.post("/v1/models/old/train", row).ok()
    derive(client, "new", "old")
    for row in rows[7:]:
        client.post("/v1/models/new/train", row).ok()
    for row in rows:
        client.post("/v1/models/once/train", row).ok()
    for row in rows:
        equal(client.post("/v1/models/new/classify", {"values": row["values"]}).ok().json["log_scores"],
              client.post("/v1/models/once/classify", {"values": row["values"]}).ok().json["log_scores"])


def test_it_is_frozen(api):
    """Nothing of the old model's later life shows, not even its end; a kill, a rebuild and a dump keep it."""
    daemon = api.another(keep=True).start()
    client = daemon.client
    client.put("/v1/models/old", {"preset": "book"}).ok(201)
    teach(client, "old", 1)
    derive(client, "new", "old")
    want = scores(client, "new")
    teach(client, "old", 3)
    client.post("/v1/models/old/untrain", {"id": "1-0"}).ok()
    holds(scores(client, "old") != want, "the old model goes on")
    equal(scores(client, "new"), want)
    client.delete("/v1/models/old").ok(204)
    equal(scores(client, "new"), want, "without the old model")
    daemon.kill()
    client = daemon.start().client
    equal(scores(client, "new"), want, "after a kill")
    dump = client.get("/v1/models/new/export").ok().body
    client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    equal(scores(client, "copy"), want, "of a dump")
    daemon.stop()
    for way in ("--verify", "--rebuild"):
        status, out, err = api.tool(way, "--data", daemon.data)
        equal(status, 0, f"{way}: {out}{err}")
    client = daemon.start().client
    equal(scores(client, "new"), want, "rebuilt")


def test_stacked_models_too(api):
    """With what the stack has learned: verdicts go on where the old model's were."""
    client = api.another().start().client
    client.put("/v1/models/old", {"decision": "stacked"}).ok(201)
    teach(client, "old", 1)
    client.post("/v1/models/old/refit", None).ok()
    derive(client, "new", "old")
    for text in PROBES:
        old, new = (client.post(f"/v1/models/{name}/classify", {"text": text}).ok().json for name in ("old", "new"))
        equal(new["log_scores"], old["log_scores"])
        for label, p in old["probabilities"].items():
            near(new["probabilities"][label], p, label, 1e-9)


def test_with_less_strength(api):
    """The copy as a parent: what it knew is forgotten the sooner the less it weighs."""
    client = api.another().start().client
    client.put("/v1/models/old", {"preset": "book"}).ok(201)
    for n in range(20):
        client.post("/v1/models/old/train", {"text": "win prize", "label": "spam", "id": f"s{n}"}).ok()
        client.post("/v1/models/old/train", {"text": "garden train", "label": "ham", "id": f"h{n}"}).ok()
    derive(client, "frozen", "old")
    said = []
    for strength in (2, 10, 1000):
        path = f"/v1/models/after{strength}"
        client.put(path, {"preset": "book", "parent": "frozen", "parent_strength": strength}).ok(201)
        for n in range(6):
            client.post(path + "/train", {"text": "win hello", "label": "ham", "id": str(n)}).ok()
        said.append(client.post(path + "/classify", {"text": "win"}).ok().json["probabilities"]["ham"])
    holds(said[0] > said[1] > said[2], said)
    refused(client.delete("/v1/models/frozen"), 409, "after")


def test_strength_is_a_frozen_parent(api):
    """The same as the copy, and a child of it, made by hand; it learns on, and what it was told weighs less."""
    client = api.another().start().client
    for n, settings in enumerate(({"preset": "book"}, {"preset": "book", "event_model": "binary", "smoothing": 0.3},
                                  {"preset": "book", "estimate": "map", "smoothing": 1.5}, {"preset": "text"})):
        old, new, frozen, child = (f"{name}{n}" for name in ("old", "new", "frozen", "child"))
        client.put("/v1/models/" + old, settings).ok(201)
        teach(client, old, 1)
        client.put("/v1/models/" + old, {**settings, "unsure_band": 0.01}).ok(200)
        row = derive(client, new, old, "?strength=7")
        equal((row["documents"], row["settings"]["parent"], row["settings"]["parent_strength"]), (0, new + ".prior", 7))
        equal(row["settings"]["unsure_band"], 0.01)
        derive(client, frozen, old)
        client.put("/v1/models/" + child, {**settings, "unsure_band": 0.01, "parent": frozen, "parent_strength": 7}).ok(201)
        equal(scores(client, new), scores(client, new + ".prior"), "without documents: the prior")
        for model in (new, child):
            teach(client, model, 2)
        for text in PROBES:
            said = [client.post(f"/v1/models/{name}/classify", {"text": text}).ok().json for name in (new, child)]
            equal(said[0]["log_scores"], said[1]["log_scores"], settings)
            if settings["preset"] == "book":  # what a stack has learned depends on the number of its model
                equal(said[0]["probabilities"], said[1]["probabilities"], settings)


def test_strength_by_hand(api):
    """(n + s n' + K a) / (N + s N' + K a V), s = strength / documents, K = s + (1 - s) (D / (D + strength))^2."""
    client = api.another().start().client
    client.put("/v1/models/old", {"preset": "book", "prior": "uniform"}).ok(201)
    for n, (text, label) in enumerate((("sun", "a"), ("rain", "a"), ("rain", "b"), ("hail", "b"))):
        client.post("/v1/models/old/train", {"text": text, "label": label, "id": str(n)}).ok()
    derive(client, "new", "old", "?strength=2")
    client.post("/v1/models/new/train", {"text": "sun", "label": "b", "id": "0"}).ok()
    got = client.post("/v1/models/new/classify", {"text": "sun"}).ok().json["log_scores"]
    s, k = 2 / 4, 2 / 4 + (1 - 2 / 4) * (1 / 3) ** 2
    near(got["a"], math.log(1 / 2 * (0 + s * 1 + k) / (0 + s * 2 + 3 * k)))
    near(got["b"], math.log(1 / 2 * (1 + s * 0 + k) / (1 + s * 2 + 3 * k)))
    derive(client, "whole", "old", "?strength=4")
    derive(client, "all", "old")
    for name in ("whole", "all"):
        client.post(f"/v1/models/{name}/train", {"text": "sun", "label": "b", "id": "new"}).ok()
    want, got = (client.post(f"/v1/models/{name}/classify", {"text": "sun rain"}).ok().json for name in ("all", "whole"))
    for label in "ab":
        near(got["log_scores"][label], want["log_scores"][label], "as many documents as there are: all")


def test_nothing_reaches_the_prior(api):
    """The old model learns on, is deleted, and the daemon is killed: the prior stays, and cannot go before its child."""
    daemon = api.another(keep=True).start()
    client = daemon.client
    client.put("/v1/models/old", {"preset": "book"}).ok(201)
    teach(client, "old", 1)
    derive(client, "new", "old", "?strength=5")
    teach(client, "new", 2)
    want = scores(client, "new")
    teach(client, "old", 3)
    client.post("/v1/models/old/untrain", {"id": "1-0"}).ok()
    equal(scores(client, "new"), want)
    client.delete("/v1/models/old").ok(204)
    equal(scores(client, "new"), want, "without the old model")
    refused(client.delete("/v1/models/new.prior"), 409, "new")
    daemon.kill()
    client = daemon.start().client
    equal(scores(client, "new"), want, "after a kill")
    daemon.stop()
    for way in ("--verify", "--rebuild"):
        status, out, err = api.tool(way, "--data", daemon.data)
        equal(status, 0, f"{way}: {out}{err}")
    client = daemon.start().client
    equal(scores(client, "new"), want, "rebuilt")
    client.delete("/v1/models/new").ok(204)
    equal([row["name"] for row in client.get("/v1/models").ok().json["models"]], ["new.prior"], "it is a model like others")
    client.delete("/v1/models/new.prior").ok(204)


def test_refusals_of_strength(api):
    with Model(api) as old, Model(api) as other:
        old.filled()
        ask = f"/v1/models/fresh/from/{old.name}?strength="
        for strength in ("0", "x", "-1", "1.5", "1000000001", ""):
            refused(api.post(ask + strength, None), 400, "strength")
        refused(api.post(f"/v1/models/{other.name}/from/{old.name}?strength=5", None), 409, other.name, "exists")
        refused(api.post("/v1/models/fresh/from/nobody?strength=5", None), 404, "nobody")
        refused(api.post(f"/v1/models/{'x' * 126}/from/{old.name}?strength=5", None), 422, "name", "with `strength`", "x.prior'")
        bad = refused(api.post(f"/v1/models/-bad/from/{old.name}?strength=5", None), 422, "name")
        holds("strength" not in bad["detail"], f"the name itself is bad: {bad['detail']}")
        for settings, words in (({"calibration": "platt"}, ("calibration", "parent")), ({"event_model": "bernoulli"}, ("parent",)),
                                ({"predict": "integrate"}, ("predict", "parent")), ({"min_count": 2}, ("parent", "min_count")),
                                ({"smoothing": {"labels": {"ham": 1}}}, ("smoothing", "parent"))):
            old.put(preset="book", **settings)
            refused(api.post(ask + "5", None), 422, *words, f"with `strength` a copy of '{old.name}'", "'fresh.prior'")
        old.put(preset="book")
        for name in ("fresh", "fresh.prior"):
            equal(api.get("/v1/models/" + name).status, 404, "nothing is left of what was refused")
        api.put("/v1/models/fresh.prior", {}).ok(201)
        refused(api.post(ask + "5", None), 409, "fresh.prior", "exists", f"with `strength` a copy of '{old.name}'")
        equal(api.get("/v1/models/fresh").status, 404)
        api.delete("/v1/models/fresh.prior").ok(204)


def test_strength_on_strength(api):
    """Each time is a level more: the refusal says where the parent comes from that nobody has named."""
    with Model(api) as old:
        old.filled()
        one, two, three = api.name(), api.name(), api.name()
        derive(api, one, old.name, "?strength=5")
        derive(api, two, one, "?strength=5")
        refused(api.post(f"/v1/models/{three}/from/{two}?strength=5", None), 422, "levels",
                f"with `strength` a copy of '{two}', named '{three}.prior'")
        for name in (three, three + ".prior"):
            equal(api.get("/v1/models/" + name).status, 404, "nothing is left of what was refused")
        for name in (two, two + ".prior", one, one + ".prior"):
            api.delete("/v1/models/" + name).ok(204)


def test_refusals(api):
    with Model(api) as old, Model(api) as other:
        refused(api.post(f"/v1/models/{other.name}/from/{old.name}", None), 409, other.name, "exists")
        refused(api.post(f"/v1/models/{old.name}/from/{old.name}", None), 409, "exists")
        refused(api.post("/v1/models/fresh/from/nobody", None), 404, "nobody")
        refused(api.post(f"/v1/models/-bad/from/{old.name}", None), 422, "name")
        equal(api.get("/v1/models/fresh").status, 404)
        equal(api.get(f"/v1/models/{old.name}/from/{other.name}").status, 405)


def test_tokens_of_some_models(api):
    """Neither the source nor the goal may be another's model."""
    daemon, tokens, _ = for_users(api)
    client, mine = daemon.client, bearer(tokens["admin"])
    client.call("POST", "/v1/models/user-new/from/user-ann", None, **mine).ok(201)
    refused(client.call("POST", "/v1/models/user-spy/from/mail", None, **mine), 403)
    refused(client.call("POST", "/v1/models/zoo2/from/user-ann", None, **mine), 403)
    client.call("POST", "/v1/models/user-weak/from/user-ann?strength=5", None, **mine).ok(201)
    refused(client.call("POST", "/v1/models/user-more/from/user-ann", None, **bearer(tokens["train"])), 403)
