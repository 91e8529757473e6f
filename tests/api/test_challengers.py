# SPDX-License-Identifier: Apache-2.0
"""Challengers: a model with other settings learns the same documents in the same order, whatever happens to the model: each number
of the comparison is recomputed; it survives kills, restarts, undos, renamed labels and imports; one call promotes it, one drops it."""
import json
import math
import random

from harness import equal, holds, near, refused, wait_for
from nodes_options import Postgres, joined, node
from test_client import Bayesc

M, C = "/v1/models/m", "/v1/models/m/challenger"
OTHER = "/v1/models/m.challenger"
NDJSON = "application/x-ndjson"
LABELS = ("ham", "news", "spam")


def documents(count, seed=1, labels=LABELS):
    """Texts whose words tell the label often, but not always."""
    rng, made = random.Random(seed), []
    for i in range(count):
        label = rng.choice(labels)
        words = [f"{label}{rng.randrange(12)}" if rng.random() < 0.2 else f"w{rng.randrange(60)}" for _ in range(rng.randrange(3, 14))]
        made.append({"id": f"d{i}", "label": label, "text": " ".join(words), "source": f"s{i % 3}"})
    return made


def train(client, made, path=M, each=False):
    if each:
        for document in made:
            client.post(path + "/train", document).ok()
    else:
        client.post(path + "/train", "".join(json.dumps(d) + "\n" for d in made), NDJSON).ok()


def challenge(client, **settings):
    return client.post(C, {"settings": settings}).ok(201).json


def follow(client, path=M):
    """Waits until the challenger has learned all; returns the comparison."""
    def caught_up():
        got = client.get(path + "/evaluation").ok().json["challenger"]
        holds("reason" not in got, got)
        return got["state"] == "following" and got["behind"] == 0 and got
    got = wait_for(caught_up, "the challenger follows")
    return wait_for(lambda: counts(client, path) == counts(client, path + ".challenger") and caught_up(), lambda: f"the same documents: {got}")


def counts(client, path):
    got = client.get(path).ok().json
    return got["documents"], got.get("unlabelled", 0), {name: one for name, one in got["labels"].items()}


def content(client, path):
    """{id: (label, source, features with their counts)} of a dump."""
    lines = client.get(path + "/export").ok().lines
    names, words, found = lines[0]["labels"], {}, {}
    for line in lines[1:]:
        if "words" in line:
            words.update(enumerate(line["words"]["texts"], line["words"]["first_row"]))
        elif "document" in line:
            d = line["document"]
            label = None if d["label"] is None else names[d["label"]]
            found[d["id"]] = (label, d.get("source"), sorted((words[row], n) for row, n in zip(d["rows"], d["counts"])))
    holds(found, "documents")
    return found


def windows(client, path):
    return client.get(path + "/evaluation").ok().json["windows"]


def mcnemar(a, b):
    n = a + b
    return 1 if n == 0 else min(1, 2 * sum(math.comb(n, k) for k in range(min(a, b) + 1)) / 2 ** n)


def test_by_the_book_each_number_is_recomputed(api):
    client = api.another().start().client
    made = documents(300)
    client.put(M, {"preset": "book"}).ok(201)
    client.put("/v1/models/fresh", {"preset": "book", "smoothing": 0.001}).ok(201)
    rows = []
    for i, document in enumerate(made):
        if i == 150:
            challenge(client, smoothing=0.001)
        if i > 0:
            verdicts = [client.post(path + "/classify", {"text": document["text"]}).ok().json for path in (M, "/v1/models/fresh")]
            rows.append([(v["label"], v["probabilities"].get(document["label"], 0)) for v in verdicts])
        train(client, [document], each=True)
        train(client, [document], "/v1/models/fresh", each=True)
    got = follow(client)
    equal(windows(client, OTHER), windows(client, "/v1/models/fresh"), "the challenger is as a model of its own")
    whole = got["windows"][-1]
    # The first document had no verdict.
    equal(whole["documents"], len(rows), "documents")
    right = [[label == document["label"] for label, _ in row] for row, document in zip(rows, made[1:])]
    a, b = sum(x and not y for x, y in right), sum(y and not x for x, y in right)
    equal((whole["only_champion_right"], whole["only_challenger_right"]), (a, b))
    holds(a + b > 5, "they differ")
    near(whole["mcnemar_p"], mcnemar(a, b), "McNemar")
    losses = [[-math.log(min(max(p, 1e-6), 1 - 1e-6)) for _, p in row] for row in rows]
    for name, k in (("champion", 0), ("challenger", 1)):
        near(whole[name]["accuracy"], sum(row[k] for row in right) / len(right), name)
        near(whole[name]["log_loss"], math.fsum(row[k] for row in losses) / len(losses), name, 1e-6)
    differences = [y - x for x, y in losses]
    mean = math.fsum(differences) / len(differences)
    error = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (len(differences) - 1) / len(differences))
    near(whole["log_loss_difference"], mean, "the difference", 1e-6)
    near(whole["standard_error"], error, "its error", 1e-6)
    near(whole["log_loss_p"], math.erfc(abs(mean) / error / math.sqrt(2)), "its probability", 1e-6)
    equal(sum(p["documents"] for p in got["progress"]), len(rows))
    for name, k in (("champion_errors", 0), ("challenger_errors", 1)):
        equal(sum(p[name] for p in got["progress"]), sum(not row[k] for row in right), name)


def test_the_same_settings_give_the_same_scores(api):
    """Also where weights are learned in the order of the documents, and documents came before the challenger and after."""
    client = api.another().start().client
    for preset in ("text", "book"):
        client.put(M, {"preset": preset}).ok(201)
        train(client, documents(400))
        challenge(client)
        train(client, documents(500)[400:], each=True)
        got = follow(client)
        equal(windows(client, M), windows(client, OTHER), preset)
        for one in got["windows"]:
            equal((one["only_champion_right"], one["only_challenger_right"], one["mcnemar_p"], one["log_loss_difference"]), (0, 0, 1, 0))
        for document in documents(30, seed=9):
            verdicts = [client.post(path + "/classify", {"text": document["text"]}).ok().json for path in (M, OTHER)]
            equal(verdicts[0]["probabilities"], verdicts[1]["probabilities"])
        client.delete(M).ok(204)


def test_it_follows_whatever_happens(api):
    daemon = api.another(config={"models": {"quarantine": "stranger"}}).start()
    client = daemon.client
    client.put(M, {"preset": "text"}).ok(201)
    made = documents(120)
    train(client, made)
    challenge(client, decision="bayes")
    follow(client)

    def same(what):
        follow(client)
        equal(content(client, OTHER), content(client, M), what)
    same("as it began")
    train(client, [{**d, "label": "news"} for d in made[:10]])
    same("other labels")
    train(client, [{**d, "text": d["text"] + " changed"} for d in made[10:20]])
    same("other contents")
    for d in made[20:25]:
        client.post(M + "/untrain", {"id": d["id"]}).ok()
    client.delete(M + "/documents/d26").ok()
    same("forgotten")
    client.post(M + "/documents/d30/label", {"label": "ham"}).ok()
    client.post(M + "/train", {"id": "u", "text": "without a label", "label": None}).ok()
    same("labels by id")
    client.post(M + "/undo", {"source": "s1"}).ok()
    same("an undo")
    client.call("PATCH", M + "/labels/news", {"name": "press"}).ok()
    same("a label renamed")
    client.call("PATCH", M + "/labels/press", {"name": "ham", "merge": True}).ok()
    same("a label merged")
    client.post(M + "/train?source=stranger", {"id": "q", "text": "waits", "label": "spam"}).ok(202)
    same("a quarantine")
    client.post(M + "/quarantine/apply", {"all": True}).ok()
    same("applied")
    holds("q" in content(client, OTHER), "it is learned")
    dump = client.get(M + "/export").ok().body
    train(client, documents(30, seed=7))
    same("more")
    client.put(M + "/import", dump, NDJSON).ok()
    same("an import over it")
    train(client, documents(20, seed=8))
    same("and more")
    daemon.stop()
    for action in ("--verify", "--rebuild"):
        status, out, err = api.tool("--data", daemon.data, action)
        equal(status, 0, out + err)
    client = daemon.start().client
    same("rebuilt")
    train(client, documents(10, seed=10))
    same("and on")


def test_fields_and_imported_keys(api):
    daemon = api.another().start()
    client = daemon.client
    client.put("/v1/models/old", {"preset": "text", "fields": {"colour": "category", "size": "number"}, "new_fields": "learn"}).ok(201)
    rng = random.Random(4)
    rows = [{**d, "values": {"colour": rng.choice(["red", "blue"]), "size": rng.random()}} for d in documents(80)]
    train(client, rows, "/v1/models/old")
    other = api.another().start()  # features of the dump are hashed with the key of its store
    other.client.put(M + "/import", client.get("/v1/models/old/export").ok().body, NDJSON).ok(201)
    client = other.client
    challenge(client, smoothing=0.2)
    follow(client)
    train(client, [{"id": "new", "label": "ham", "text": "w1 w2", "values": {"colour": "green", "size": 3, "shape": "round"}}])
    got = follow(client)
    equal(content(client, OTHER), content(client, M))
    holds(got["windows"][-1]["documents"] >= 1, got)


def test_kills(api):
    daemon = api.another().start()
    daemon.client.put(M, {"preset": "text"}).ok(201)
    train(daemon.client, documents(200))
    challenge(daemon.client, smoothing=0.3)
    for round in range(5):
        train(daemon.client, documents(60, seed=20 + round), each=round % 2 == 0)
        for d in documents(8, seed=50 + round):
            daemon.client.post(M + "/untrain", {"id": d["id"]})
        daemon.kill()
        daemon.start()
    follow(daemon.client)
    equal(content(daemon.client, OTHER), content(daemon.client, M))
    daemon.stop()
    status, out, err = api.tool("--data", daemon.data, "--verify")
    equal(status, 0, out + err)


def test_after_a_stop_when_the_last_change_was_a_forgotten_document(api):
    """The ledger does not keep its entry over a start."""
    daemon = api.another().start()
    daemon.client.put(M, {"preset": "book"}).ok(201)
    train(daemon.client, documents(6))
    challenge(daemon.client, smoothing=0.3)
    follow(daemon.client)
    for id, stop in (("d0", daemon.stop), ("d1", daemon.kill)):
        daemon.client.post(M + "/untrain", {"id": id}).ok()
        follow(daemon.client)
        stop()
        daemon.start()
        follow(daemon.client)


def test_promoted(api):
    client = api.another().start().client
    client.put(M, {"preset": "book", "max_documents": 1000, "history": 5}).ok(201)
    train(client, documents(150))
    challenge(client, smoothing=0.05, event_model="bernoulli")
    follow(client)
    texts = [d["text"] for d in documents(30, seed=5)]
    judge = lambda path: [client.post(path + "/classify", {"text": text}).ok().json["probabilities"] for text in texts]
    before, want = judge(M), judge(OTHER)
    holds(before != want, "they differ")
    reply = client.post(C + "/promote").ok().json
    settings = reply["settings"]
    equal((settings["smoothing"], settings["event_model"], settings["max_documents"], settings["history"]), (0.05, "bernoulli", 1000, 5))
    equal(judge(M), want, "the verdicts are the challenger's")
    refused(client.get(C), 404, "no challenger")
    refused(client.get(OTHER), 404)
    refused(client.post(C + "/promote"), 404, "no challenger")
    holds("challenger" not in client.get(M + "/evaluation").ok().json, "no comparison")


def test_promoted_where_weights_are_learned(api):
    client = api.another().start().client
    client.put(M, {"preset": "book"}).ok(201)
    train(client, documents(300))
    challenge(client, preset="text", tokenizer=client.get(M).ok().json["settings"]["tokenizer"])
    got = follow(client)["windows"][-1]
    holds(got["challenger"]["log_loss"] < got["champion"]["log_loss"], got)
    client.post(C + "/promote").ok()
    equal(client.get(M).ok().json["settings"]["decision"], "stacked")
    wait_for(lambda: client.post(M + "/classify", {"text": "spam1 w2"}).ok().json["calibrated"], "the weights are fitted")


def test_dropped_and_deleted(api):
    daemon = api.another().start()
    client = daemon.client
    client.put(M, {"preset": "text"}).ok(201)
    train(client, documents(50))
    challenge(client, smoothing=0.3)
    client.delete(C).ok(204)
    refused(client.get(C), 404, "no challenger")
    refused(client.delete(C), 404, "no challenger")
    challenge(client, smoothing=0.4)
    follow(client)
    client.delete(M).ok(204)
    equal(client.get("/v1/models").ok().json["models"], [])
    client.put(M, {"preset": "text"}).ok(201)
    refused(client.get(C), 404, "no challenger")


def test_copies_of_a_challenger_are_models_of_their_own(api):
    daemon = api.another().start()
    client = daemon.client
    client.put(M, {"preset": "book"}).ok(201)
    train(client, documents(20))
    challenge(client, smoothing=0.3)
    follow(client)
    client.post("/v1/models/c/from/m.challenger").ok(201)
    client.post("/v1/models/d/from/m.challenger?strength=5").ok(201)
    client.put("/v1/models/e/import", client.get(OTHER + "/export").ok().body, NDJSON).ok(201)
    for _ in range(2):
        equal([row["name"] for row in client.get("/v1/models").ok().json["models"] if row.get("is_challenger")], ["m.challenger"])
        for name in ("c", "d", "e"):
            train(client, documents(9, seed=3), "/v1/models/" + name)
            client.post(f"/v1/models/{name}/challenger", {"settings": {"smoothing": 2}}).ok(201)
            follow(client, "/v1/models/" + name)
            client.delete(f"/v1/models/{name}/challenger").ok(204)
        daemon.kill()
        client = daemon.start().client
    follow(client)


def test_the_cost_is_told_before(api):
    client = api.another().start().client
    client.put(M, {"preset": "text"}).ok(201)
    train(client, documents(100))
    for yes in ("true", "1"):
        plan = client.post(f"{C}?dry_run={yes}", {"settings": {"smoothing": 0.3}}).ok(200).json
        equal((plan["model"], plan["state"], plan["settings"]["smoothing"]), ("m", "planned", 0.3))
        refused(client.get(C), 404)
    cost = plan["cost"]
    equal((cost["documents"], cost["train_cpu"], cost["classify_cpu"]), (100, 2.3, 1))
    holds(cost["memory_bytes"] > 10000 and 5000 < cost["disk_bytes"] < 500000, cost)
    client.post(f"{C}?dry_run=false", {"settings": {"smoothing": 0.3}}).ok(201)
    follow(client)
    refused(client.post(f"{C}?dry_run=maybe", {"settings": {}}), 400, "dry_run")
    equal(client.get(C).ok().json["settings"]["smoothing"], 0.3)
    shown = {m["name"]: m.get("is_challenger", False) for m in client.get("/v1/models").ok().json["models"]}
    equal(shown, {"m": False, "m.challenger": True})


def test_refusals(api):
    client = api.another().start().client
    refused(client.post(C, {"settings": {}}), 404)
    refused(client.get(C), 404)
    client.put(M, {"preset": "text", "max_age": 100000}).ok(201)
    train(client, documents(5))
    refused(client.post(C, {"smoothing": 1}), 400, "smoothing")
    refused(client.post(C, {"settings": {"smothing": 1}}), 400, "smothing")
    refused(client.post(C, {"settings": {"smoothing": -1}}), 422, "smoothing")
    refused(client.post(C, {"settings": {"tokenizer": {"fields": ["body"]}}}), 409, "tokenizer")
    for name, value in (("max_age", 5), ("max_documents", 7), ("near_duplicates", 3), ("history", 9), ("new_fields", "learn")):
        refused(client.post(C, {"settings": {name: value}}), 422, name)
    refused(client.post(C, {"settings": {"fields": {"colour": "category"}}}), 409, "fields")
    challenge(client, smoothing=0.3)
    refused(client.post(C, {"settings": {}}), 409, "has a challenger already")
    refused(client.post(OTHER + "/challenger", {"settings": {}}), 409, "challenger")
    for reply in (client.put(OTHER, {"preset": "text"}), client.delete(OTHER), client.post(OTHER + "/train", documents(1)[0]),
                  client.post(OTHER + "/untrain", {"id": "d1"}), client.post(OTHER + "/undo", {"source": "s1"}),
                  client.post(OTHER + "/refit")):
        refused(reply, 409, "is the challenger of another model")
    follow(client)
    client.post(OTHER + "/classify", {"text": "w1"}).ok()
    refused(client.put("/v1/models/child", {"preset": "text", "parent": "m.challenger"}), 409, "is a challenger")
    client.put("/v1/models/n", {"preset": "text"}).ok(201)
    client.put("/v1/models/n.challenger", {"preset": "text"}).ok(201)
    refused(client.post("/v1/models/n/challenger", {"settings": {}}), 409, "n.challenger")
    client.delete("/v1/models/n.challenger").ok(204)
    client.put("/v1/models/s", {"preset": "text", "label_set": "several"}).ok(201)
    refused(client.post("/v1/models/s/challenger", {"settings": {}}), 422, "several labels")
    refused(client.post("/v1/models/n/challenger", {"settings": {"label_set": "several"}}), 422, "several labels")
    long = "/v1/models/" + "x" * 120
    client.put(long, {"preset": "text"}).ok(201)
    refused(client.post(long + "/challenger", {"settings": {}}), 422, "too long")


def test_nodes_have_none(api):
    database = Postgres(api)
    client = joined(node(api, database)).client
    client.put(M, {"preset": "text"}).ok(201)
    refused(client.post(C, {"settings": {}}), 409, "several nodes")


def test_by_the_client(api):
    daemon = api.another().start()
    client, bayesc = daemon.client, Bayesc(api, daemon.url)
    client.put(M, {"preset": "book"}).ok(201)
    bayesc.run("challenger", "m", status=66)
    bayesc.run("challenger", "m", "start", status=64)
    holds(b"m: a challenger would learn 0 documents first" in bayesc.run("challenger", "m", "start", "--dry-run", "--set", "smoothing=0.001"), "the plan")
    bayesc.run("challenger", "m", status=66)
    bayesc.run("challenger", "m", "start", "--set", "smoothing=0.001")
    holds(b"m: m.challenger, " in bayesc.run("challenger", "m"), "nothing is scored yet")
    train(client, documents(1200), each=False)
    got = follow(client)
    lines = [line.split() for line in bayesc.run("challenger", "-m", "m").decode().splitlines()]
    equal(" ".join(lines[0]), "m: m.challenger, following, has 1,200 documents")
    one = got["windows"][0]
    equal(lines[2][:3], ["1,000", f"{100 * one['champion']['accuracy']:.2f}", "%"])
    equal([line[0] for line in lines[2:]], ["1,000", "1,199"], "windows that differ")
    equal(bayesc.json("challenger", "m")["comparison"]["windows"], got["windows"])
    equal(bayesc.run("challenger", "m", "promote"), b"m: has the challenger's settings\n")
    equal(client.get(M).ok().json["settings"]["smoothing"], 0.001)
    bayesc.run("challenger", "m", "start", "--set", "smoothing=1")
    equal(bayesc.run("challenger", "m", "drop"), b"m: the challenger is dropped\n")
