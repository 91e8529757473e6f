# SPDX-License-Identifier: Apache-2.0
"""Documents without a label that count: what they give, against EM computed slowly, and that it is never more than that."""
import json
import math
import random
import threading
import time
from collections import Counter

import expectation
from faults import Faults
from harness import equal, holds, near, refused, wait_for
from test_client import Bayesc

M = "/v1/models/m"
BOOK = {"preset": "book", "unlabelled_weight": "auto"}  # by the book they count for nothing if nobody says so
KINDS = ("garden", "harbour", "kitchen")


# ---- documents ----------------------------------------------------------------------------------
def made_up(seed, count):
    rng = random.Random(seed)
    return ["".join(rng.choice("abcdefghijklmnoprstuvw") for _ in range(7)) for _ in range(count)]


OWN = {kind: made_up(kind, 150) for kind in KINDS}
COMMON = made_up("all", 26)


def words_of(kind, rng, count):
    """So many words of the kind, and six that all kinds have."""
    return " ".join([rng.choice(OWN[kind]) for _ in range(count)] + [rng.choice(COMMON) for _ in range(6)])


def documents(seed, count, own=5):
    """[(kind, text)]"""
    rng = random.Random(seed)
    return [(KINDS[i % 3], words_of(KINDS[i % 3], rng, own)) for i in range(count)]


def teach(client, rows, prefix, labelled):
    client.post(M + "/train", {"documents": [{"id": f"{prefix}-{i}", "label": kind if labelled else None, "text": text}
                                             for i, (kind, text) in enumerate(rows)]}).ok()


def filled(client, settings=None, labelled=15, unlabelled=300, own=5):
    client.put(M, BOOK | (settings or {})).ok(201)
    teach(client, documents(1, labelled, own), "with", True)
    teach(client, documents(2, unlabelled, own), "without", False)


def state(client):
    return client.get(M + "/em").ok().json


def ready(client):
    """With all documents that there are: a fit that was under way may have seen fewer."""
    unlabelled = client.get(M).ok().json["unlabelled"]

    def is_done():
        found = client.post(M + "/em").ok().json
        return found["state"] not in ("waiting", "running") and found.get("documents", unlabelled) == unlabelled
    wait_for(is_done, "EM", seconds=60)
    return state(client)


def right(client, rows):
    said = client.post(M + "/classify", {"documents": [{"text": text} for _, text in rows]}).ok().json["results"]
    return sum(verdict["label"] == kind for (kind, _), verdict in zip(rows, said)) / len(rows)


def scores(client, rows):
    """Log scores by label, of each document."""
    said = client.post(M + "/classify", {"documents": [{"text": text} for _, text in rows]}).ok().json["results"]
    return [verdict["log_scores"] for verdict in said]


def without(client, rows):
    """What the model says when they weigh nothing."""
    settings = client.get(M).ok().json["settings"]
    client.put(M, settings | {"unlabelled_weight": 0}).ok()
    found = scores(client, rows)
    client.put(M, settings).ok()
    return found


# ---- what they give -----------------------------------------------------------------------------
def gains(api, settings, own):
    """Documents have so many words of their own."""
    client = api.another().start().client
    tests = documents(3, 300, own)
    filled(client, settings | {"unlabelled_weight": 0}, own=own)
    equal(state(client), {"model": "m", "state": "off"})
    before = right(client, tests)
    client.put(M, BOOK | settings).ok()
    found = ready(client)
    equal((found["state"], found["documents"], found["changed"]), ("ready", 300, 0))
    holds(found["weight"] > 0 and (found["measured"], found["folds"]) == (15, 15), "each left out alone")
    holds(found["log_likelihood"] >= found["log_likelihood_first"] - 1e-12 * abs(found["log_likelihood"]), found)
    holds(found["with"]["log_loss"] <= found["without"]["log_loss"], found)
    holds(found["with"]["accuracy"] >= found["without"]["accuracy"], found)
    after = right(client, tests)
    holds(after > before + 0.05, f"{before} became {after}")
    return client


def test_by_the_book_they_help(api):
    client = gains(api, {}, 5)
    teach(client, documents(9, 3), "scored", True)
    equal(client.get(M + "/evaluation").ok().json["unlabelled"]["documents"], 300)


def test_stacked_they_help(api):
    client = gains(api, {"preset": "text"}, 5)
    verdict = client.post(M + "/classify?explain=5", {"text": documents(3, 1)[0][1]}).ok().json
    holds(abs(sum(verdict["probabilities"].values()) - 1) < 1e-9, verdict)
    holds(0 < state(client)["share"] < 1, state(client))


# ---- when they are found ------------------------------------------------------------------------
def slow(client, first, count):
    """A fit of these takes a second or more: of one with a label each, and long, in 60 labels."""
    rng = random.Random(first)
    rows = [(f"kind {i % 60}", words_of(KINDS[i % 3], rng, 300)) for i in range(count)]
    teach(client, rows, f"labelled-{first}", first == 0)


def test_a_fit_follows_the_documents(api):
    """One that began with few of them ends early, and none rests while twice as many wait."""
    client = api.another().start().client
    client.put(M, {"preset": "text"}).ok(201)
    slow(client, 0, 120)
    slow(client, 1, 100)
    wait_for(lambda: state(client)["state"] == "running", "a fit", seconds=20)
    slow(client, 2, 150)
    wait_for(lambda: "documents" in state(client), "the first fit", seconds=60)
    equal(state(client)["documents"], 250, "the fit of 100 ended early")
    wait_for(lambda: state(client)["state"] == "ready", "the fit", seconds=60)
    took = state(client)["seconds"]
    slow(client, 3, 400)
    began = time.monotonic()
    wait_for(lambda: state(client)["state"] == "running", "a fit of all", seconds=60)
    holds(time.monotonic() - began < max(1, took), f"{time.monotonic() - began} s after a fit of {took} s")


def explained(client, texts):
    return [client.post(M + "/classify?explain=1000", {"text": text}).ok().json for text in texts]


def test_a_stacked_model_says_both(api):
    """A pool: of its own verdict no label loses more than the share. Its evidence is that of both, and the whole of it."""
    client = api.another().start().client
    filled(client, {"preset": "text", "unlabelled_weight": 1}, labelled=3)
    found = ready(client)
    equal((found["measured"], found["share"]), (0, 0.5), "nothing was measured")
    tests = [text for _, text in documents(3, 30)]
    with_them = explained(client, tests)
    client.put(M, {"preset": "text", "unlabelled_weight": 0}).ok()
    for own, both in zip(explained(client, tests), with_them):
        p = both["probabilities"]
        first, second = sorted(p, key=p.get, reverse=True)[:2]
        near(sum(row["evidence"] for row in both["explanation"]), math.log(p[first] / p[second]))
        for label in KINDS:
            holds(p[label] >= 0.5 * own["probabilities"][label] * (1 - 1e-9), f"{label}: {own} became {both}")
        holds({row["token"] for row in own["explanation"]} < {row["token"] for row in both["explanation"]}, "and more")


def misleading(rng):
    """Three kinds of documents, which are other ones than the labels: each has words of all three."""
    third = rng.randrange(3) * 50
    return " ".join([rng.choice(OWN[rng.choice(KINDS)][third:third + 50]) for _ in range(12)] +
                    [rng.choice(COMMON) for _ in range(6)])


def figures(client, rows):
    """Right answers, and log-loss."""
    said = client.post(M + "/classify", {"documents": [{"text": text} for _, text in rows]}).ok().json["results"]
    losses = [-math.log(max(verdict["probabilities"][kind], 1e-9)) for (kind, _), verdict in zip(rows, said)]
    return sum(v["label"] == kind for (kind, _), v in zip(rows, said)) / len(rows), math.fsum(losses) / len(rows)


def test_what_misleads_does_no_harm(api):
    for preset in ("book", "text"):
        client = api.another().start().client
        tests, rng = documents(53, 300, own=8), random.Random(5)
        client.put(M, {"preset": preset, "unlabelled_weight": 0}).ok(201)
        teach(client, documents(1, 60, own=8), "with", True)
        teach(client, [("", misleading(rng)) for _ in range(300)], "without", False)
        before = figures(client, tests)
        client.put(M, {"preset": preset, "unlabelled_weight": "auto"}).ok()
        found = ready(client)
        equal((found["state"], found["measured"], found["folds"]), ("ready", 60, 10))
        holds(found["with"]["log_loss"] <= found["without"]["log_loss"], found)
        after = figures(client, tests)
        holds(after[0] >= before[0] - 0.01 and after[1] <= before[1] + 0.01, f"{preset}: {before} became {after}, {found}")
        client.put(M, {"preset": preset, "unlabelled_weight": 1}).ok()
        found = ready(client)
        if preset == "book":  # nothing else stands between them and the verdict
            holds(figures(client, tests)[0] < before[0] - 0.2, "they do mislead")
        else:
            equal(found["share"], 0, "a pool finds out that they do")
            near(figures(client, tests)[1], before[1])


def test_what_there_is_too_little_for(api):
    client = api.another().start().client
    filled(client, labelled=3)
    equal(state(client), {"model": "m", "state": "off", "reason": "fewer than 10 documents of labels that have two"})
    client.put(M, {"preset": "book", "unlabelled_weight": 0.5}).ok()
    found = ready(client)
    equal((found["weight"], found["measured"]), (0.5, 0))
    client.put("/v1/models/empty", {}).ok(201)
    equal(client.post("/v1/models/empty/em").ok().json, {"model": "empty", "state": "off"})
    refused(client.get("/v1/models/nobody/em"), 404)
    refused(client.post("/v1/models/nobody/em"), 404)


def test_what_there_is_too_much_for(api):
    """Documents times labels are a table of shares."""
    client = api.another().start().client
    client.put(M, {"preset": "book", "unlabelled_weight": 1}).ok(201)
    for number, rows in ((0, [{"label": f"label {i}", "text": "word"} for i in range(8000)]), (1, [{"label": None, "text": "word"}] * 6400)):
        for start in range(0, len(rows), 1000):
            client.post(M + "/train", {"documents": [row | {"id": f"{number} {start + i}"} for i, row in enumerate(rows[start:start + 1000])]}).ok()
    found = ready(client)
    equal((found["weight"], found["documents"]), (0, 6400))
    equal(found["reason"], "6400 documents without a label and 8000 labels: at most 50331648 together")


# ---- against the slow computation ---------------------------------------------------------------
def used(labelled, unlabelled, settings):
    """The words of a vocabulary: how often they occur counts, with a label or without one."""
    total = Counter(w for _, words in labelled for w in words) + Counter(w for words in unlabelled for w in words)
    left = [w for w, n in total.most_common()[settings.get("skip_top", 0):] if n >= settings.get("min_count", 1)]
    return set(left)


def slow_shares(labelled, bags, vocabulary, weight, smoothing):
    """Shares of the labels in each bag, by EM over the presence of words."""
    kinds = sorted({kind for kind, _ in labelled})
    own = {v: {w: sum(w in bag for kind, bag in labelled if kind == v) for w in sorted(vocabulary)} for v in kinds}
    prior = {v: sum(kind == v for kind, _ in labelled) for v in kinds}
    bags = [dict.fromkeys(sorted(set(bag) & vocabulary), 1) for bag in bags]
    shares, objectives, _ = expectation.fit(own, prior, bags, weight, smoothing)
    return shares, objectives


def log_likelihood(settings, words, vocabulary, documents, n, d):
    """ln P(words | label) of a label with so many documents, in which words occur n[w] times, in d[w] documents."""
    known = [w for w in words if w in vocabulary]
    size = math.fsum(n.values()) + len(vocabulary)
    if settings.get("event_model") == "bernoulli":
        having = {w: (d[w] + 1) / (documents + 2) for w in vocabulary}
        return math.fsum(math.log(p if w in known else 1 - p) for w, p in having.items())
    if settings.get("predict") == "integrate":  # one position after the other, each learned before the next
        return math.fsum(math.log(n[w] + 1 + known[:i].count(w)) - math.log(size + i) for i, w in enumerate(known))
    return math.fsum(math.log(n[w] + 1) - math.log(size) for w in known)


def slow_scores(settings, labelled, unlabelled, vocabulary, shares, text):
    weight, found = settings["unlabelled_weight"], {}
    for v in sorted({kind for kind, _ in labelled}):
        rows = [(1, words) for kind, words in labelled if kind == v]
        rows += [(weight * r.get(v, 0), words) for r, words in zip(shares, unlabelled)]
        documents = math.fsum(r for r, _ in rows)
        n = {w: math.fsum(r * words.count(w) for r, words in rows) for w in vocabulary}
        d = {w: math.fsum(r for r, words in rows if w in words) for w in vocabulary}
        found[v] = math.log(documents / (len(labelled) + weight * len(unlabelled)))
        found[v] += log_likelihood(settings, text.split(), vocabulary, documents, n, d)
    return found


def test_as_computed_slowly(api):
    cases = [{}, {}, {}, {"min_count": 3}, {"event_model": "bernoulli"}, {"event_model": "bernoulli", "min_count": 2},
             {"predict": "integrate"}, {"skip_top": 1}]
    for seed, weight, more in zip(range(21, 29), (1, 0.3, 0.05, 1, 0.3, 1, 0.3, 1), cases):
        client = api.another().start().client
        labelled, others, tests = ([(kind, text + " often often often") for kind, text in documents(seed + more_of, count)]
                                   for more_of, count in ((0, 3), (100, 25), (200, 10)))
        settings = {"preset": "book", "unlabelled_weight": weight} | more
        client.put(M, settings).ok(201)
        teach(client, labelled, "with", True)
        teach(client, others, "without", False)
        found = ready(client)
        equal((found["weight"], found["smoothing"], found["documents"]), (weight, 0.001, 25))
        words = [(kind, text.split()) for kind, text in labelled]
        bags = [t.split() for _, t in others]
        vocabulary = used(words, bags, settings)
        shares, objectives = slow_shares(words, bags, vocabulary, weight, 0.001)
        near(found["log_likelihood_first"], objectives[0])
        near(found["log_likelihood"], objectives[-1])
        holds(all(b >= a - 1e-9 * abs(a) for a, b in zip(objectives, objectives[1:])), f"it falls: {objectives}")
        for (_, text), said in zip(tests, scores(client, tests)):
            want = slow_scores(settings, words, bags, vocabulary, shares, text)
            for label, score in want.items():
                near(said[label], score)


# ---- with a parent ------------------------------------------------------------------------------
class View:
    """What a model and its parent have together, beside them documents that have labels by shares: core/stack/blend.h."""

    def __init__(self, own, parent, strength, shared=()):
        self.scale = min(1, strength / len(parent))
        share = len(own) / (len(own) + strength)
        self.smoothing = self.scale + (1 - self.scale) * share ** 2
        self.rows = [(1, kind, words) for kind, words in own] + [(self.scale, kind, words) for kind, words in parent]
        self.rows += [(weight, kind, words) for weight, kind, words in shared]
        self.labels = sorted({kind for _, kind, _ in self.rows})
        beside = {w for _, words in own for w in words} | {w for _, _, words in shared for w in words}
        self.vocabulary = beside | {w for _, words in parent for w in words}
        self.size = max(len(beside), len({w for _, words in parent for w in words}))  # the largest of both

    def documents(self, label):
        return math.fsum(weight for weight, kind, _ in self.rows if kind == label)

    def presence(self, label, word):
        return math.fsum(weight for weight, kind, words in self.rows if kind == label and word in words)

    def scores(self, words):
        whole, found = math.fsum(self.documents(v) for v in self.labels), {}
        for v in self.labels:
            n = {w: math.fsum(r * x.count(w) for r, kind, x in self.rows if kind == v) for w in self.vocabulary}
            end = math.log(math.fsum(n.values()) + self.smoothing * self.size)
            found[v] = math.log(self.documents(v) / whole)
            found[v] += math.fsum(math.log(n[w] + self.smoothing) - end for w in words if w in self.vocabulary)
        return found


def expected_beside(own, parent, strength, bags, weight):
    """(weight, label, words) of each bag and label that it may have, by EM from the counts of the view of the words that
    the model has; a label of the parent's alone takes its share and gives it to nobody."""
    view = View(own, parent, strength)
    vocabulary = sorted({w for _, words in own for w in words} | {w for bag in bags for w in bag})
    counts = {v: {w: view.presence(v, w) for w in vocabulary} for v in view.labels}
    prior = {v: view.documents(v) for v in view.labels}
    shares, objectives, _ = expectation.fit(counts, prior, [dict.fromkeys(sorted(set(bag)), 1) for bag in bags], weight, 0.001)
    kinds = {kind for kind, _ in own}
    return [(weight * r, v, bag) for of, bag in zip(shares, bags) for v, r in of.items() if v in kinds], objectives


def test_with_a_parent_as_computed_slowly(api):
    """Of whom the second knows a label more, and more documents than it may weigh."""
    for seed, weight, size, strength in ((31, 1, 9, 100), (32, 0.3, 60, 20)):
        client = api.another().start().client
        client.put("/v1/models/above", {"preset": "book"}).ok(201)
        above = [(kind, text.split()) for kind, text in documents(seed + 300, size)]
        client.post("/v1/models/above/train", {"documents": [{"label": kind, "text": " ".join(words)} for kind, words in above]}).ok()
        own = [(kind, text) for kind, text in documents(seed, 6) if seed == 31 or kind != "kitchen"]
        others, tests = documents(seed + 100, 25), documents(seed + 200, 10)
        client.put(M, {"preset": "book", "parent": "above", "parent_strength": strength, "unlabelled_weight": weight}).ok(201)
        teach(client, own, "with", True)
        teach(client, others, "without", False)
        found = ready(client)
        equal((found["state"], found["weight"], found["documents"]), ("ready", weight, 25))
        learned = [(kind, text.split()) for kind, text in own]
        shared, objectives = expected_beside(learned, above, strength, [t.split() for _, t in others], weight)
        near(found["log_likelihood"], objectives[-1])
        view = View(learned, above, strength, shared)
        for (_, text), said in zip(tests, scores(client, tests)):
            want = view.scores(text.split())
            equal(sorted(said), sorted(want))
            for label, score in want.items():
                near(said[label], score)


def test_a_stacked_model_with_a_parent(api):
    """Its verdicts are pools of what it says with its parent, and beside that with the documents without a label."""
    client = api.another().start().client
    client.put("/v1/models/above", {"preset": "text"}).ok(201)
    client.post("/v1/models/above/train", {"documents": [{"label": kind, "text": text} for kind, text in documents(61, 30)]}).ok()
    filled(client, {"preset": "text", "parent": "above", "unlabelled_weight": 0}, labelled=15)
    tests = [text for _, text in documents(63, 40)]
    alone = explained(client, tests)
    client.put(M, {"preset": "text", "parent": "above", "unlabelled_weight": 1}).ok()
    found = ready(client)
    holds(found["measured"] == 15 and found["folds"] == 15 and "share" in found, found)
    for own, both in zip(alone, explained(client, tests)):
        p = both["probabilities"]
        first, second = sorted(p, key=p.get, reverse=True)[:2]
        near(sum(row["evidence"] for row in both["explanation"]), math.log(p[first] / p[second]))
        for label in KINDS:
            holds(p[label] >= (1 - found["share"]) * own["probabilities"][label] * (1 - 1e-9), f"{label}: {own} became {both}")


# ---- settings -----------------------------------------------------------------------------------
def test_the_setting(api):
    client = api.another().start().client
    tests = documents(3, 20)
    filled(client)
    for preset, weight in (("text", "auto"), ("mail", "auto"), ("book", 0)):
        equal(client.put("/v1/models/" + preset, {"preset": preset}).ok(201).json["settings"]["unlabelled_weight"], weight)
    ready(client)
    with_auto = scores(client, tests)
    nothing = without(client, tests)
    holds(with_auto != nothing, "they count")
    client.put(M, {"preset": "book", "unlabelled_weight": 0.01}).ok()
    holds(ready(client)["weight"] == 0.01, "as it is set")
    holds(scores(client, tests) not in (nothing, with_auto), "another weight")
    client.put(M, {"preset": "book", "unlabelled_weight": 0}).ok()
    equal(state(client), {"model": "m", "state": "off"})
    equal(scores(client, tests), nothing, "at once")
    for bad in (-0.1, 1.5, "some"):
        refused(client.put(M, {"unlabelled_weight": bad}), 422, "unlabelled_weight")
    client.put("/v1/models/n", BOOK | {"fields": {"size": "number"}, "number": "bins"}).ok(201)
    equal(client.get("/v1/models/n/em").ok().json, {"model": "n", "state": "off"}, "there are none")
    client.post("/v1/models/n/train", {"label": None, "text": "without a label"}).ok()
    found = client.get("/v1/models/n/em").ok().json
    holds(found["state"] == "off" and "gaussian" in found["reason"], found)


# ---- nothing of it is stored --------------------------------------------------------------------
def test_other_settings_beside_questions(api):
    """What documents without a label gave is never read under settings that it was not found for."""
    daemon = api.another().start()
    client, stop, failed = daemon.client, threading.Event(), []
    filled(client, unlabelled=30)

    def ask(client):
        while not stop.is_set():
            try:
                failed.extend(r.body for r in [client.post(M + "/classify", {"text": OWN["garden"][0]})] if r.status != 200)
            except OSError as error:
                failed.append(error)
                return
    threads = [threading.Thread(target=ask, args=(daemon.new_client(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        client.put(M, BOOK | {"unlabelled_weight": 0.5}).ok()
        ready(client)
        client.put(M, {"preset": "book", "event_model": "bernoulli"}).ok()
    stop.set()
    for thread in threads:
        thread.join()
    equal(failed, [])
    daemon.stop()


def test_after_a_kill_it_is_found_again(api):
    daemon = api.another().start()
    tests = documents(3, 20)
    filled(daemon.client)
    found = ready(daemon.client)
    before = scores(daemon.client, tests)
    nothing = without(daemon.client, tests)
    ready(daemon.client)
    daemon.kill()
    daemon.start()
    client = daemon.client
    holds(scores(client, tests) in (nothing, before), "without them, or as before, and nothing between")
    wait_for(lambda: state(client)["state"] == "ready", "the daemon finds it by itself", seconds=60)
    again = state(client)
    equal({k: v for k, v in again.items() if k != "seconds"}, {k: v for k, v in found.items() if k != "seconds"})
    for a, b in zip(scores(client, tests), before):
        for label in KINDS:
            near(a[label], b[label])


def test_rebuild_and_verify(api):
    daemon = api.another().start()
    tests = documents(3, 20)
    filled(daemon.client)
    ready(daemon.client)
    before = scores(daemon.client, tests)
    daemon.stop()
    for option in ("--verify", "--rebuild"):
        holds(api.tool("--data", daemon.data, option)[0] == 0, option)
    daemon.start()
    ready(daemon.client)
    for a, b in zip(scores(daemon.client, tests), before):
        for label in KINDS:
            near(a[label], b[label])


def test_export_and_import(api):
    client = api.another().start().client
    tests = documents(3, 20)
    filled(client, {"unlabelled_weight": 0.3})
    ready(client)
    before = scores(client, tests)
    dump = client.get(M + "/export").ok().body
    other = api.another().start().client
    other.put(M + "/import", dump, "application/x-ndjson").ok(201)
    equal(other.get(M).ok().json["settings"]["unlabelled_weight"], 0.3)
    wait_for(lambda: state(other)["state"] == "ready", "the daemon finds it by itself", seconds=60)
    for a, b in zip(scores(other, tests), before):
        for label in KINDS:
            near(a[label], b[label])


def test_what_they_weigh_depends_on_the_documents(api):
    """In another store the same documents stand in another order, after others that are not there any more."""
    client = api.another().start().client
    client.put(M, BOOK).ok(201)
    teach(client, documents(8, 6), "gone", True)
    teach(client, documents(1, 30), "with", True)
    teach(client, documents(2, 150), "without", False)
    for i in range(6):
        client.post(M + "/untrain", {"id": f"gone-{i}"}).ok()
    for i in (3, 0, 12):  # as they are in the dump, others before them
        kind, text = documents(1, 30)[i]
        client.post(M + "/train", {"id": f"with-{i}", "label": KINDS[KINDS.index(kind) - 1]}).ok()
        client.post(M + "/train", {"id": f"with-{i}", "label": kind, "text": text}).ok()
    client.post(M + "/train", {"id": "without-7", "label": "garden"}).ok()
    client.post(M + "/train", {"id": "without-7", "label": None}).ok()
    found = ready(client)
    other = api.another().start().client
    other.put("/v1/models/first", {}).ok(201)
    other.put(M + "/import", client.get(M + "/export").ok().body, "application/x-ndjson").ok(201)
    again = ready(other)
    equal((again["measured"], again["weight"], again["smoothing"]), (found["measured"], found["weight"], found["smoothing"]))
    for side in ("without", "with"):
        for figure in ("log_loss", "accuracy"):
            near(again[side][figure], found[side][figure])


# ---- what changes -------------------------------------------------------------------------------
def test_a_forgotten_document_leaves(api):
    client = api.another().start().client
    filled(client, {"unlabelled_weight": 1}, unlabelled=30)
    client.post(M + "/train", {"id": "rare", "label": None, "text": "xylophone xylophone " + documents(2, 1)[0][1]}).ok()
    ready(client)

    def known():
        return client.post(M + "/classify", {"text": "xylophone"}).ok().json["tokens"]["known"]
    equal((state(client)["documents"], known()), (31, 1))
    client.post(M + "/untrain", {"id": "rare"}).ok()
    wait_for(lambda: state(client).get("documents") == 30 and state(client)["state"] == "ready", "a new fit", seconds=60)
    equal((state(client)["changed"], known()), (0, 0))


def test_a_label_makes_it_count_once(api):
    """As if it had been learned with the label from the start."""
    def model(relabel):
        client = api.another().start().client
        filled(client, {"unlabelled_weight": 1}, unlabelled=30)
        if relabel:
            ready(client)
        client.post(M + "/train", {"id": "without-0", "label": "garden", "text": documents(2, 1)[0][1]}).ok()
        wait_for(lambda: state(client).get("documents") == 29 and state(client)["state"] == "ready", "a new fit", seconds=60)
        ready(client)
        return scores(client, documents(3, 10))
    for a, b in zip(model(True), model(False)):
        for label in KINDS:
            near(a[label], b[label])


def test_a_label_that_is_not_on_the_disk_yet(api):
    """A fit that begins meanwhile reads the documents without it, and another one follows."""
    faults = Faults(api)
    client = faults.daemon.start().client
    filled(client, {"unlabelled_weight": 1}, unlabelled=30)
    ready(client)
    before = faults.count("sync")
    faults.hold()
    training = threading.Thread(target=lambda: faults.daemon.new_client().post(
        M + "/train", {"id": "without-0", "label": "garden", "text": documents(2, 1)[0][1]}).ok())
    training.start()
    wait_for(lambda: faults.count("sync") > before, "the label is on its way to the disk")
    client.post(M + "/em").ok()
    equal(state(client)["documents"], 30)
    faults.delay(0)
    training.join()
    wait_for(lambda: state(client).get("documents") == 29 and state(client)["state"] == "ready", "a new fit", seconds=5)


def wait_until_it_runs(client, unlabelled):
    """Or has run with all of them: it may begin and end between two looks."""
    def is_under_way():
        found = state(client)
        return found["state"] == "running" or (found["state"], found.get("documents")) == ("ready", unlabelled)
    wait_for(is_under_way, "EM", pause=0)


def test_deleting_the_model_meanwhile(api):
    daemon = api.another().start()
    for labelled in (15, 60, 300):
        filled(daemon.client, {"preset": "text", "unlabelled_weight": 0}, labelled, 900)
        daemon.client.put(M, {"preset": "text"}).ok()
        other = threading.Thread(target=daemon.new_client().post, args=(M + "/em",))
        other.start()
        wait_until_it_runs(daemon.client, 900)
        daemon.client.delete(M).ok(204)
        other.join()
        refused(daemon.client.get(M + "/em"), 404)


def fits(found):
    return found.get("progress", {}).get("fits", 0)


def test_one_model_at_a_time(api):
    """Each takes memory for all its documents. While one has come as far before and after, the other has not begun."""
    daemon = api.another().start()
    client, paths = daemon.client, (M, "/v1/models/other")
    for path in paths:
        client.put(path, {"preset": "book", "unlabelled_weight": 0}).ok(201)
        for prefix, rows, labelled in (("with", documents(1, 45), True), ("without", documents(2, 600), False)):
            client.post(path + "/train", {"documents": [{"id": f"{prefix}-{i}", "label": kind if labelled else None, "text": text}
                                                        for i, (kind, text) in enumerate(rows)]}).ok()
    for path in paths:
        client.put(path, BOOK).ok()
    threads = [threading.Thread(target=daemon.new_client().post, args=(path + "/em",)) for path in paths]
    for thread in threads:
        thread.start()

    def are_done():
        first, second, again = (client.get(path + "/em").ok().json for path in (*paths, M))
        if 0 < fits(again) == fits(first) < first["progress"]["of"]:  # it has not ended, and begun again, meanwhile
            equal(fits(second), 0, "the other waits")
        return first["state"] == second["state"] == "ready"
    wait_for(are_done, "both", seconds=60)
    for thread in threads:
        thread.join()


def test_settings_that_change_meanwhile(api):
    """A fit begins with the settings of a moment ago, by which documents without a label count for nothing."""
    daemon = api.another().start()
    filled(daemon.client, labelled=12, unlabelled=2, own=1)

    def turn(count):
        client = daemon.new_client()
        for n in range(count):
            client.put(M, BOOK | {"unlabelled_weight": (0, "auto", 1)[n % 3]}).ok()

    def fit(count):
        client = daemon.new_client()
        for _ in range(count):
            holds(client.post(M + "/em").status in (200, 409), "it is fitted, or the settings have changed")

    threads = [threading.Thread(target=what, args=(4000,)) for what in (turn, fit, fit)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holds(daemon.running(), daemon.output())
    daemon.client.put(M, BOOK).ok()
    ready(daemon.client)


def test_stopping_meanwhile(api):
    daemon = api.another().start()
    filled(daemon.client, {"preset": "text"}, unlabelled=900)
    wait_until_it_runs(daemon.client, 900)
    progress = state(daemon.client).get("progress", {"fits": 0, "of": 1})
    holds(progress["fits"] <= progress["of"], progress)
    daemon.stop()
    daemon.start()
    holds(json.dumps(state(daemon.client)), "it answers")


def test_bayesc(api):
    daemon = api.another().start()
    filled(daemon.client)
    ready(daemon.client)
    bayesc = Bayesc(api, f"http://{daemon.client.host}:{daemon.client.port}")
    for shown in (bayesc.run("em", "m", "--show"), bayesc.run("em", "m")):
        lines = shown.decode().splitlines()
        equal(lines[0], "m: ready")
        holds("weighs" in lines[1] and "300" in lines[1], lines)
        equal([line.split()[0] for line in lines[-2:]], ["without", "with"])
    equal(json.loads(bayesc.run("em", "m", "--show", "--json"))["state"], "ready")
    daemon.client.put(M, {"preset": "book"}).ok()
    equal(bayesc.run("em", "m").decode(), "m: off\n")
    daemon.client.put(M, BOOK | {"fields": {"country": "category"}, "event_model": "bernoulli"}).ok()
    equal(bayesc.run("em", "m").decode(), 'm: off\nthey do not come in with fields and the event_model "bernoulli" (use "multinomial")\n')
