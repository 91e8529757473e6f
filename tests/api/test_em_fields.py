# SPDX-License-Identifier: Apache-2.0
"""Documents without a label in models with fields: what their values give, against EM computed slowly; and that it helps or
weighs nothing."""
import math
import random

import attributes
import expectation
from attributes import Attributes
from harness import equal, holds, near, refused, wait_for
from test_fields import ALL_KINDS, random_document

LABELS = ("ham", "other", "spam")


def ready(model):
    """The state of a fit that has read all documents."""
    unlabelled = model.row()["unlabelled"]

    def is_done():
        found = model.post("em", None).ok().json
        return found["state"] not in ("waiting", "running") and found.get("documents", unlabelled) == unlabelled
    wait_for(is_done, "EM", seconds=60)
    return model.api.get(model.path + "/em").ok().json


# ---- the slow computation -----------------------------------------------------------------------
class Weighed:
    """Documents as (weight, label, bags, whether it is one with a label), and the vocabularies of the fields."""

    def __init__(self, fields, labelled, unlabelled, shares, weight):
        self.kinds = {None: "text", **fields}
        self.rows = [(1, v, bags) for v, bags in labelled]
        self.rows += [(weight * r, v, bags) for of, bags in zip(shares, unlabelled) for v, r in of.items()]
        self.values = {name: sorted({m for bags in [b for _, b in labelled] + list(unlabelled) for m in bags.get(name, {})})
                       for name in self.kinds}

    def having(self, name, label=None):
        return [(w, bags[name]) for w, v, bags in self.rows if name in bags and label in (None, v)]

    def gaussian(self, name, label, x, added):
        """Its own mean and variance with two documents; of one the variance, and of none the mean, too, is that of all."""
        own, everything = ([(w, float(attributes.numbers_of([bag])[0])) for w, bag in self.having(name, v)] for v in (label, None))
        mean, _ = moments(own or everything)
        _, variance = moments(own if len(own) > 1 else everything)
        return -(math.log(2 * math.pi * (variance + added)) + (x - mean) ** 2 / (variance + added)) / 2

    def added(self):
        numbers = [[(w, float(attributes.numbers_of([bag])[0])) for w, bag in self.having(name)]
                   for name, kind in self.kinds.items() if kind == "number"]
        return 1e-9 * max((moments(rows)[1] for rows in numbers if rows), default=0)

    def score(self, name, label, bag, event):
        rows, values, kind = self.having(name, label), self.values[name], self.kinds[name]
        if kind == "number":
            added = self.added()
            return self.gaussian(name, label, float(attributes.numbers_of([bag])[0]), added) if self.having(name) and added else 0
        if kind == "set":
            size = math.fsum(w for w, _ in rows)
            having = {m: (math.fsum(w for w, b in rows if m in b) + 1) / (size + 2) for m in values}
            return math.fsum(math.log(p if m in bag else 1 - p) for m, p in having.items())
        binary = event == "binary" and kind == "text"
        if event == "complement":
            rows = [(w, bags[name]) for w, v, bags in self.rows if name in bags and v != label]
        count = {m: math.fsum(w * (1 if binary else b[m]) for w, b in rows if m in b) for m in values}
        size = math.fsum(count.values()) + len(values)
        score = math.fsum((1 if binary else n) * math.log((count[m] + 1) / size) for m, n in bag.items() if m in count)
        return -score if event == "complement" else score


def moments(rows):
    size = math.fsum(w for w, _ in rows)
    mean = math.fsum(w * x for w, x in rows) / size
    return mean, math.fsum(w * (x - mean) ** 2 for w, x in rows) / size


def slow_shares(fields, labelled, unlabelled, weight, smoothing):
    """EM over the presence of words and values, each field's apart, and Gaussians of numbers."""
    def words(bags):
        return {(name, m): 1 for name, bag in bags.items() if fields.get(name) != "number" for m in bag}
    vocabulary = sorted({w for bags in [b for _, b in labelled] + unlabelled for w in words(bags)}, key=str)
    labels = sorted({v for v, _ in labelled})
    own = {v: {w: sum(w in words(bags) for label, bags in labelled if label == v) for w in vocabulary} for v in labels}
    prior = {v: sum(label == v for label, _ in labelled) for v in labels}
    numbers = []
    for name in (name for name, kind in fields.items() if kind == "number"):
        of = {v: [(1, float(attributes.numbers_of([b[name]])[0])) for label, b in labelled if label == v and name in b] for v in labels}
        values = [float(attributes.numbers_of([b[name]])[0]) if name in b else None for b in unlabelled]
        if len({x for rows in of.values() for _, x in rows} | {x for x in values if x is not None}) > 1:
            numbers.append(expectation.Numbers(of, values))
    return expectation.fit(own, prior, [words(b) for b in unlabelled], weight, smoothing, group=lambda w: w[0], numbers=numbers)


def test_as_computed_slowly(api):
    cases = [({}, 1), ({}, 0.3), ({"event_model": "binary"}, 1), ({"event_model": "complement"}, 0.3), ({"prior": "uniform"}, 0.05)]
    for settings, weight in cases:
        rnd = api.random
        with Attributes(api, ALL_KINDS, unlabelled_weight=weight, **settings) as model:
            for n in range(40):
                values, text = random_document(rnd)
                model.train(values, LABELS[n % 3] if n < 9 else None, id=str(n), text=text)
            gone = rnd.randrange(9, 40)  # what was forgotten leaves nothing
            model.untrain(id=str(gone))
            found = ready(model)
            equal((found["weight"], found["smoothing"], found["documents"]), (weight, 0.001, 30))
            labelled = [(v, bags) for v, bags in model.documents.values() if v is not None]
            unlabelled = [bags for v, bags in model.documents.values() if v is None]
            shares, objectives, _ = slow_shares(ALL_KINDS, labelled, unlabelled, weight, 0.001)
            near(found["log_likelihood_first"], objectives[0], f"what is maximized at first, {settings}")
            near(found["log_likelihood"], objectives[-1], f"what is maximized at last, {settings}")
            holds(all(b >= a - 1e-9 * abs(a) for a, b in zip(objectives, objectives[1:])), f"it falls: {objectives}")
            both = Weighed(ALL_KINDS, labelled, unlabelled, shares, weight)
            for _ in range(8):
                values, text = random_document(rnd)
                said = model.classify(values, "?explain=1000", text=text)
                for v in LABELS:
                    prior = math.fsum(w for w, label, _ in both.rows if label == v) / math.fsum(w for w, _, _ in both.rows)
                    want = math.log(1 / 3 if "prior" in settings else prior)
                    want += math.fsum(both.score(name, v, bag, settings.get("event_model")) for name, bag in model.bags(values, text).items())
                    near(said["log_scores"][v], want, f"{v} of {values} {text!r}, {settings}")
                first, second = sorted(said["log_scores"], key=said["log_scores"].get, reverse=True)[:2]
                near(sum(row["evidence"] for row in said["explanation"]), said["log_scores"][first] - said["log_scores"][second])


# ---- what they give -----------------------------------------------------------------------------
FIELDS = {"colour": "category", "tags": "set", "note": "text", "size": "number"}
KINDS = ("bird", "fish", "snake")


def drawn(kind, rng):
    """Every field says a little of the kind, and more together."""
    own, at = rng.random, KINDS.index(kind)
    pick = (lambda of: of[at] if own() < 0.55 else rng.choice(of))  # noqa: E731
    tags = ["fast", "heavy", "rare"]
    return {"colour": pick(["red", "green", "blue"]), "tags": sorted({pick(tags), rng.choice(tags)}),
            "note": " ".join(pick(["feather sky wing", "water fin deep", "grass scale stone"]).split()[rng.randrange(3)] for _ in range(3)),
            "size": round(rng.gauss(10 * at, 8), 2)}


def documents(seed, count):
    rng = random.Random(seed)
    return [(KINDS[i % 3], drawn(KINDS[i % 3], rng)) for i in range(count)]


def teach(model, rows, prefix, labelled):
    model.post("train", {"documents": [{"id": f"{prefix}-{i}", "label": kind if labelled else None, "values": values}
                                       for i, (kind, values) in enumerate(rows)]}).ok()


def figures(model, rows):
    """Right answers, and log-loss."""
    said = model.post("classify", {"documents": [{"values": values} for _, values in rows]}).ok().json["results"]
    loss = -math.fsum(math.log(max(v["probabilities"][kind], 1e-6)) for (kind, _), v in zip(rows, said)) / len(rows)
    return sum(v["label"] == kind for (kind, _), v in zip(rows, said)) / len(rows), loss


def test_they_help(api):
    for preset, more in (("book", 0.03), ("text", 0)):
        with Attributes(api, FIELDS, preset=preset, unlabelled_weight=0) as model:
            tests = documents(3, 300)
            teach(model, documents(1, 12), "with", True)
            teach(model, documents(2, 400), "without", False)
            before = figures(model, tests)
            model.put(preset=preset, unlabelled_weight="auto")
            found = ready(model)
            equal((found["state"], found["documents"], found["measured"], found["folds"]), ("ready", 400, 12, 12))
            holds(found["with"]["log_loss"] <= found["without"]["log_loss"], found)
            after = figures(model, tests)
            holds(after[0] >= before[0] + more and after[1] <= before[1] + 0.01, f"{preset}: {before} became {after}, {found}")
            model.put(preset=preset, unlabelled_weight=1)
            ready(model)
            holds(preset == "text" or figures(model, tests)[0] > before[0] + 0.05, f"{preset}, with a weight of 1: from {before}")


def test_they_help_a_stacked_model(api):
    """Which has too few with a label to measure it."""
    with Attributes(api, FIELDS, preset="text", unlabelled_weight=0) as model:
        teach(model, documents(1, 9), "with", True)
        teach(model, documents(2, 400), "without", False)
        before = figures(model, documents(3, 300))
        model.put(preset="text", unlabelled_weight=1)
        equal(ready(model)["share"], 0.5)
        after = figures(model, documents(3, 300))
        holds(after[0] > before[0] + 0.05 and after[1] < before[1] - 0.2, f"{before} became {after}")


def test_what_misleads_does_no_harm(api):
    """Kinds of documents that are other ones than the labels."""
    for preset in ("book", "text"):
        with Attributes(api, FIELDS, preset=preset, unlabelled_weight=0) as model:
            rng, tests = random.Random(7), documents(53, 300)
            mixed = [dict(zip(FIELDS, (drawn(KINDS[(i + k) % 3], rng)[name] for k, name in enumerate(FIELDS)))) for i in range(300)]
            teach(model, documents(1, 60), "with", True)
            teach(model, [("", values) for values in mixed], "without", False)
            before = figures(model, tests)
            model.put(preset=preset, unlabelled_weight="auto")
            found, after = ready(model), figures(model, tests)
            holds(after[0] >= before[0] - 0.01 and after[1] <= before[1] + 0.01, f"{preset}: {before} became {after}, {found}")


def test_a_stacked_model_says_both(api):
    """A pool of its own verdict and one with them; its evidence names values, and is the whole of it."""
    with Attributes(api, FIELDS, preset="text", unlabelled_weight=0) as model:
        teach(model, documents(1, 3), "with", True)
        teach(model, documents(2, 60), "without", False)
        tests = [values for _, values in documents(3, 30)] + [{"colour": "green", "size": -4.5}, {"tags": []}, {}]
        alone = [model.classify(values, "?explain=1000") for values in tests]
        model.put(preset="text", unlabelled_weight=1)
        equal(ready(model)["share"], 0.5)
        changed = 0
        for values, own in zip(tests, alone):
            both = model.classify(values, "?explain=1000")
            p = both["probabilities"]
            first, second = sorted(p, key=p.get, reverse=True)[:2]
            near(sum(row["evidence"] for row in both["explanation"]), math.log(p[first] / p[second]))
            for v in KINDS:
                holds(p[v] >= 0.5 * own["probabilities"][v] * (1 - 1e-9), f"{v}: {own} became {both}")
            holds({row["token"] for row in own["explanation"]} <= {row["token"] for row in both["explanation"]}, "and more")
            changed += abs(p[first] - own["probabilities"][first]) > 0.01
        holds(changed > len(tests) / 2, "they are heard")


def test_with_a_parent(api):
    """Of fields as of words: the verdict is a pool with what both and the documents without a label say."""
    for preset in ("book", "text"):
        with Attributes(api, FIELDS, preset=preset) as above, Attributes(api, FIELDS, preset=preset, parent=above.name,
                                                                         unlabelled_weight=1) as model:
            teach(above, documents(61, 30), "above", True)
            teach(model, documents(1, 15), "with", True)
            teach(model, documents(2, 150), "without", False)
            found = ready(model)
            equal((found["state"], found["measured"]), ("ready", 15))
            for _, values in documents(63, 20):
                said = model.classify(values, "?explain=1000")
                p = said["probabilities"]
                first, second = sorted(p, key=p.get, reverse=True)[:2]
                near(sum(row["evidence"] for row in said["explanation"]), math.log(p[first] / p[second]), relative=1e-7)


# ---- what there is of it ------------------------------------------------------------------------
def said_of(model, rows):
    said = model.post("classify", {"documents": [{"values": values} for _, values in rows]}).ok().json["results"]
    return [verdict["probabilities"] for verdict in said]


def test_a_value_that_is_forgotten_leaves(api):
    with Attributes(api, FIELDS, unlabelled_weight=1) as model:
        teach(model, documents(1, 12), "with", True)
        teach(model, documents(2, 30), "without", False)
        before = ready(model)
        said = said_of(model, documents(3, 10))
        model.post("train", {"id": "rare", "label": None, "values": {"colour": "violet", "tags": ["odd"], "size": 1e9}}).ok()
        ready(model)
        equal(model.classify({"colour": "violet"})["tokens"]["known"], 1)
        model.post("untrain", {"id": "rare"}).ok()

        def is_left():
            found = model.api.get(model.path + "/em").ok().json
            return found.get("documents") == 30 and found["state"] == "ready"
        wait_for(is_left, "a new fit", seconds=60)
        equal(model.classify({"colour": "violet"})["tokens"]["known"], 0)
        after = ready(model)
        near(after["log_likelihood"], before["log_likelihood"])
        for got, want in zip(said_of(model, documents(3, 10)), said):
            for v in KINDS:
                near(got[v], want[v])


def test_rebuilds_and_dumps(api):
    daemon = api.another().start()
    with Attributes(api.at(daemon), FIELDS, unlabelled_weight=0.3) as model:
        teach(model, documents(1, 12), "with", True)
        teach(model, documents(2, 60), "without", False)
        ready(model)
        said, dump = said_of(model, documents(3, 10)), daemon.client.get(model.path + "/export").ok().body
        daemon.stop()
        for option in ("--verify", "--rebuild"):
            holds(api.tool("--data", daemon.data, option)[0] == 0, option)
        daemon.start()
        ready(model)
        again = said_of(model, documents(3, 10))
        daemon.client.delete(model.path).ok(204)
        daemon.client.put(model.path + "/import", dump, "application/x-ndjson").ok(201)
        ready(model)
        for got, imported, want in zip(again, said_of(model, documents(3, 10)), said):
            for v in KINDS:
                near(got[v], want[v])
                near(imported[v], want[v])


def test_what_they_do_not_go_together_with(api):
    fields, path = {"colour": "category", "size": "number"}, f"/v1/models/{api.name()}"
    for other, why in (({"number": "bins"}, "gaussian"), ({"number": "auto", "preset": "text"}, "gaussian"), ({"event_model": "bernoulli"}, "bernoulli"),
                       ({"structure": "tan"}, "tan"), ({"smoothing": {"m": 2, "p": "uniform"}}, "smoothing"), ({"min_count": 2}, "min_count"),
                       ({"predict": "integrate"}, "integrate")):
        settings = {"preset": "book", "fields": fields} | other
        refused(api.put(path, settings | {"unlabelled_weight": 0.5}), 422, "unlabelled_weight", why)
        api.put(path, settings | {"unlabelled_weight": "auto"}).ok(201)
        api.post(path + "/train", {"label": None, "values": {"colour": "red"}}).ok()
        found = api.get(path + "/em").ok().json
        holds(found["state"] == "off" and why in found["reason"], f"{found}, for {why}")
        api.delete(path).ok(204)
