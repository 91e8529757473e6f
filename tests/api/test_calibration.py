# SPDX-License-Identifier: Apache-2.0
"""Calibration by the book: sigmoid and rising function, fitted on leave-one-out scores, against slow computations."""
import math
import os
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from book import Model, log_scores, soft_max
from harness import equal, holds, near, refused, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import calibration  # noqa: E402

METHODS = ("platt", "isotonic")


def texts(seed, count, labels):
    """Documents of words that tell something and of words that repeat each other, as in real text."""
    rnd = random.Random(seed)
    for n in range(count):
        label = labels[n % len(labels)]
        told = [label if rnd.random() < 0.4 else rnd.choice(labels) for _ in range(rnd.randint(1, 5))]
        words = [f"{v}{rnd.randrange(6)}" for v in told]
        yield " ".join(words * 4 + [f"word{rnd.randrange(30)}" for _ in range(4)]), label, str(n)


def filled(api, labels=("a", "b"), count=60, **settings):
    model = Model(api, **settings)
    for text, label, id in texts(len(labels), count, labels):
        model.train(text, label, id=id)
    return model


def wait_calibrated(model, text="word1", what="calibrated"):
    wait_for(lambda: model.classify(text)["calibrated"], what)


# ---- slow computations ---------------------------------------------------------------------------
def slow_map(method, scored):
    """From [(label, {label: log score})] a function of log scores to probabilities."""
    labels = sorted(scored[0][1])
    say = calibration.fitted(method, len(labels), [(labels.index(v), [s[u] for u in labels]) for v, s in scored])
    return lambda scores: dict(zip(labels, map(float, say([scores[v] for v in labels]))))


def left_out(model, **settings):
    documents = list(model.documents.values())
    return [(label, log_scores(documents[:i] + documents[i + 1:], bag, **settings))
            for i, (label, bag) in enumerate(documents)]


def divided(scored):
    """Every second document of each label is of the second half."""
    met = Counter()
    for label, _ in scored:
        yield met[label] % 2
        met[label] += 1


def ece(judged):
    """[(truth, probabilities)]: of two labels the second's probability, else the winner's, in 15 bins."""
    bins = [[] for _ in range(15)]
    for truth, p in judged:
        labels = sorted(p)
        label = labels[1] if len(labels) == 2 else max(labels, key=lambda v: (p[v], v != truth))
        if len(labels) > 2:
            label = next(v for v in labels if p[v] == max(p.values()))
        bins[min(int(p[label] * 15), 14)].append((p[label], truth == label))
    return sum(abs(sum(p for p, _ in b) - sum(right for _, right in b)) for b in bins) / len(judged)


# ---- number for number ---------------------------------------------------------------------------
def check(api, labels, method, **settings):
    with filled(api, labels, **settings) as model:
        plain = {text: model.classify(text) for text, _, _ in texts(99, 12, labels)}
        holds(all("calibrated" not in got for got in plain.values()), "by the book")
        model.put(preset="book", calibration=method, **settings)
        wait_calibrated(model)
        scored = left_out(model, **settings)
        say = slow_map(method, scored)
        for text, got in plain.items():
            said = model.classify(text, "?explain=3")
            want = say({v: -math.inf if s is None else s for v, s in got["log_scores"].items()})
            equal(said["log_scores"], got["log_scores"], "log scores stay by the book")
            for v in want:
                near(said["probabilities"][v], want[v], f"{method} of {v!r}: {text}", 1e-6)
            best = max(want.values())
            near(want[said["label"]], best, "the winner is that of the map", 1e-6)
            near(said["probability"], said["probabilities"][said["label"]], "probability")
        return model, scored


def test_two_labels(api):
    for method in METHODS:
        check(api, ("a", "b"), method)


def test_three_labels(api):
    for method in METHODS:
        check(api, ("a", "b", "c"), method)


def test_every_event_model(api):
    for event in ("binary", "bernoulli", "complement"):
        check(api, ("a", "b"), "platt", event_model=event)
    check(api, ("a", "b", "c"), "isotonic", event_model="bernoulli", prior="uniform")


def test_impossible_labels(api):
    """Infinite log-odds are large ones."""
    for method in METHODS:
        check(api, ("a", "b"), method, estimate="mle")


def test_attributes(api):
    """Left out, by forgetting each document, asking, and learning it again; with a tree between categories, too."""
    rnd = random.Random(5)
    for more in ({}, {"structure": "tan"}):
        fields = {"sky": "category", "wind": "category", "heat": "number"}
        with Model(api, fields=fields, **more) as model:
            rows = [{"values": {"sky": rnd.choice(["clear", label]), "wind": rnd.choice(["weak", "strong", label]),
                                "heat": round(rnd.gauss(18 + 3 * (label == "b"), 4), 1)}, "label": label, "id": str(n)}
                    for n, label in enumerate("ab" * 15)]
            for row in rows:
                model.post("train", row).ok()
            scored = []
            for row in rows:
                model.post("untrain", {"id": row["id"]}).ok()
                scored.append((row["label"], model.post("classify", {"values": row["values"]}).ok().json["log_scores"]))
                model.post("train", row).ok()
            model.put(preset="book", calibration="platt", fields=fields, **more)
            wait_for(lambda: model.post("classify", {"values": {}}).ok().json["calibrated"], "calibrated")
            say = slow_map("platt", scored)
            for row in rows[:5]:
                got = model.post("classify", {"values": row["values"]}).ok().json
                near(got["probabilities"]["b"], say(got["log_scores"])["b"], str(row), 1e-6)


def test_error_before_and_after(api):
    """Of scores by the book, and of maps from the other half of them."""
    for labels in (("a", "b"), ("a", "b", "c")):
        for method in METHODS:
            with filled(api, labels, 150) as model:
                equal("calibration" in api.get(model.path + "/evaluation").ok().json, False)
                model.put(preset="book", calibration=method)
                wait_calibrated(model)
                said = api.get(model.path + "/evaluation").ok().json["calibration"]
                scored = left_out(model)
                halves = list(divided(scored))
                maps = [slow_map(method, [x for x, half in zip(scored, halves) if half == 1 - k]) for k in (0, 1)]
                equal((said["method"], said["scores"]), (method, 150))
                near(said["ece_before"], ece([(v, soft_max(s)) for v, s in scored]), "before", 1e-9)
                near(said["ece_after"], ece([(v, maps[half](s)) for half, (v, s) in zip(halves, scored)]), "after", 1e-6)


# ---- the evaluation of what the model would say without the document ------------------------------
def check_left_out(api, model, judged):
    """`judged`: [(truth, probabilities)] of a slow computation, or of the daemon itself without the document."""
    said = api.get(model.path + "/evaluation?scores=leave-one-out").ok().json
    window = said["windows"][-1]
    equal((said["scores"], window["documents"]), ("leave-one-out", len(judged)))
    near(window["log_loss"], sum(-math.log(min(max(p[v], 1e-6), 1 - 1e-6)) for v, p in judged) / len(judged), "log-loss", 1e-6)
    near(window["accuracy"], sum(p[v] == max(p.values()) for v, p in judged) / len(judged), "accuracy", 1e-9)
    near(window["ece"], ece(judged), "calibration error", 1e-6)


def test_left_out_by_the_book(api):
    """Every formula, and nothing of the counts is other afterwards."""
    for labels in (("a", "b"), ("a", "b", "c")):
        for settings in ({}, {"event_model": "binary"}, {"event_model": "bernoulli"}, {"event_model": "complement"},
                         {"smoothing": 0.2, "prior": "uniform"}):
            with filled(api, labels, **settings) as model:
                check_left_out(api, model, [(v, soft_max(s)) for v, s in left_out(model, **settings)])
                model.assert_exact()


def test_left_out_by_a_map(api):
    """A map that was fitted on the other half of the documents judges each."""
    for labels in (("a", "b"), ("a", "b", "c")):
        for method in METHODS:
            with filled(api, labels, 150) as model:
                model.put(preset="book", calibration=method)
                scored = left_out(model)
                halves = list(divided(scored))
                maps = [slow_map(method, [x for x, half in zip(scored, halves) if half == 1 - k]) for k in (0, 1)]
                check_left_out(api, model, [(v, maps[half](s)) for half, (v, s) in zip(halves, scored)])


def test_left_out_with_values(api):
    rnd = random.Random(6)
    fields = {"sky": "category", "heat": "number"}
    with Model(api, fields=fields, structure="tan") as model:
        rows = [{"values": {"sky": rnd.choice(["clear", label]), "heat": round(rnd.gauss(18 + 3 * (label == "b"), 4), 1)},
                 "label": label, "id": str(n)} for n, label in enumerate("ab" * 15)]
        for row in rows:
            model.post("train", row).ok()
        judged = []
        for row in rows:
            model.post("untrain", {"id": row["id"]}).ok()
            judged.append((row["label"], model.post("classify", {"values": row["values"]}).ok().json["probabilities"]))
            model.post("train", row).ok()
        check_left_out(api, model, judged)


def test_left_out_of_little(api):
    """The only document of a label cannot be judged without it; and of a model with a parent nothing is left out."""
    with Model(api) as model:
        refused(api.get(model.path + "/evaluation?scores=leave-one-out"), 409, "no document")
        model.train("one", "a", id="1")
        refused(api.get(model.path + "/evaluation?scores=leave-one-out"), 409, "no document")
        model.train("two", "a", id="2")
        model.train("three", "b", id="3")
        equal(api.get(model.path + "/evaluation?scores=leave-one-out").ok().json["windows"][-1]["documents"], 2)
        with Model(api) as parent:
            parent.train("four", "a")
            parent.train("five", "b")
            model.put(preset="book", parent=parent.path.rsplit("/", 1)[1])
            refused(api.get(model.path + "/evaluation?scores=leave-one-out"), 409, "parent")
            model.put(preset="book", parent=None)


def test_left_out_while_it_learns(api):
    """Nothing is lost or counted twice, whoever asks and teaches at the same time."""
    with filled(api, ("a", "b"), 200) as model:
        equal(api.get(model.path + "/evaluation?scores=leave-one-out").ok().json["windows"][-1]["documents"], 200)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(lambda: api.daemon.new_client().get(model.path + "/evaluation?scores=leave-one-out").ok()) for _ in range(8)]
            for text, label, id in texts(3, 100, ("a", "b")):
                model.train(text, label, id=f"more-{id}")
            for one in asked:
                holds(one.result().json["windows"][-1]["documents"] >= 200, "all that there were")
        model.assert_exact()


def test_the_error_falls(api):
    """Words that repeat each other make naive Bayes too sure; with many documents that is set right."""
    for method in METHODS:
        with filled(api, ("a", "b"), 600) as model:
            model.put(preset="book", calibration=method)
            wait_calibrated(model)
            said = api.get(model.path + "/evaluation").ok().json["calibration"]
            holds(said["ece_after"] < said["ece_before"] / 2, said)


# ---- when ----------------------------------------------------------------------------------------
def probabilities(model):
    return [model.classify(text)["probabilities"] for text, _, _ in texts(7, 6, ("a", "b"))]


def test_from_twenty_documents_on(api):
    with filled(api, ("a", "b"), 19, calibration="platt") as model:
        model.put(preset="book", calibration="platt", ready_documents=1)
        equal(model.classify("word1")["calibrated"], False)
        model.train("a1 word1", "a", id="more")
        wait_calibrated(model)
        before = probabilities(model)
        for i in range(3):
            model.train("b1 b2 word1", "b", id=f"few{i}")
        fitted = api.get(model.path + "/evaluation").ok().json["calibration"]["scores"]
        equal(fitted, 20, "less than a fifth is new")
        model.train("b1 b2 word1", "b", id="fifth")
        wait_for(lambda: api.get(model.path + "/evaluation").ok().json["calibration"]["scores"] == 24, "a fifth is new")
        holds(probabilities(model) != before, "another map")
        model.train("c1 word1", "c", id="third")
        wait_calibrated(model, what="with three labels")
        equal(sorted(model.classify("word1")["probabilities"]), ["a", "b", "c"])
        model.untrain(id="third")
        wait_calibrated(model, what="with two again")


def test_one_label_in_doubt_is_not_enough(api):
    with filled(api, ("a",), 30, calibration="platt") as model:
        for i in range(4):
            model.train("b1", "b", id=f"b{i}")
        equal(model.classify("word1")["calibrated"], False)
        model.train("b2", "b", id="b5")
        wait_calibrated(model)


def test_renamed_labels_keep_the_map(api):
    with filled(api, calibration="isotonic") as model:
        wait_calibrated(model)
        before = model.classify("a1 word3")["probabilities"]
        api.call("PATCH", model.path + "/labels/a", {"name": "z"}).ok()
        after = model.classify("a1 word3")
        equal((after["probabilities"], after["calibrated"]), ({"b": before["b"], "z": before["a"]}, True))


def test_it_is_kept(api):
    """After a kill, a rebuild and a verification the map is the same, to the bit; a dump is calibrated anew."""
    daemon = api.another(keep=True).start()
    client = daemon.client
    for method in METHODS:
        path = "/v1/models/" + method
        client.put(path, {"preset": "book", "calibration": method}).ok(201)
        for text, label, id in texts(5, 40, ("a", "b")):
            client.post(path + "/train", {"text": text, "label": label, "id": id}).ok()

    def says(client, name):
        return [client.post(f"/v1/models/{name}/classify", {"text": text}).ok().json for text, _, _ in texts(6, 9, ("a", "b"))]

    def settled(client, name):
        wait_for(lambda: says(client, name)[0]["calibrated"], name)
        evaluation = client.get(f"/v1/models/{name}/evaluation").ok().json["calibration"]
        return evaluation["scores"] * 6 > 40 and evaluation
    before = {}
    for method in METHODS:
        wait_for(lambda: settled(client, method), "fitted to what was learned", 20)
        before[method] = says(client, method), client.get(f"/v1/models/{method}/evaluation").ok().json["calibration"]
        dump = client.get(f"/v1/models/{method}/export").ok().body
        client.put(f"/v1/models/copy-{method}/import", dump, "application/x-ndjson").ok(201)
        equal(client.get(f"/v1/models/copy-{method}").ok().json["settings"]["calibration"], method)
        wait_for(lambda: settled(client, "copy-" + method), "the copy")
    daemon.kill()
    client = daemon.start().client
    for method in METHODS:
        equal((says(client, method), client.get(f"/v1/models/{method}/evaluation").ok().json["calibration"]), before[method])
    daemon.stop()
    for way in ("--verify", "--rebuild"):
        status, out, err = api.tool(way, "--data", daemon.data)
        equal(status, 0, f"{way}: {out}{err}")
    client = daemon.start().client
    for method in METHODS:
        equal(says(client, method), before[method][0], "rebuilt")


def test_refusals(api):
    with Model(api) as model, Model(api) as parent:
        for settings, words in (({"calibration": "sigmoid"}, ("calibration", "none, platt, isotonic")),
                                ({"decision": "stacked", "calibration": "platt"}, ("calibration", "bayes")),
                                ({"preset": "book", "calibration": "platt", "parent": parent.name}, ("calibration", "parent", "stacked"))):
            refused(api.put(model.path, settings), 422, *words)


def test_one_that_cannot_be_calibrated(api):
    """Of a sample no label has two documents: the model has no map, and another one gets its own all the same."""
    client = api.another().start().client
    odd = [{"id": str(i), "label": f"label {i}", "text": f"word{i}"} for i in range(4000)]
    odd += [{"id": f"more{i}", "label": f"label {i % 2}", "text": f"word{i % 2}"} for i in range(10)]
    even = [{"id": id, "label": label, "text": text} for text, label, id in texts(2, 60, ("a", "b"))]
    for name, documents in (("a", odd), ("z", even)):
        client.put(f"/v1/models/{name}", {"preset": "book", "calibration": "platt"}).ok(201)
        client.post(f"/v1/models/{name}/train", {"documents": documents}).ok()
    classify = "/v1/models/z/classify"
    wait_for(lambda: client.post(classify, {"text": "word1"}).ok().json["calibrated"], "calibrated")
    equal(client.post("/v1/models/a/classify", {"text": "word1"}).ok().json["calibrated"], False)
