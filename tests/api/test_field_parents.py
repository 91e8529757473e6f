# SPDX-License-Identifier: Apache-2.0
"""Fields of a model with a parent: both as one view, or the m-estimate whose p is the parent's distribution; recomputed."""
import math
from collections import Counter

import attributes
from attributes import Attributes
from harness import equal, near, refused
from test_fields import ALL_KINDS, random_document

CATEGORIES = attributes.categories(attributes.PLAY_TENNIS_FIELDS)


def of_parent(m):
    return {"m": m, "p": "parent"}


def share(pool, value, vocabulary, event, kind):
    """p of a value, of the parent's bags that have the field."""
    if not pool:
        return 1 / (2 if kind == "set" else vocabulary)
    counts = Counter()
    for bag in pool:
        counts.update({v: 1 if event == "binary" or kind == "set" else n for v, n in bag.items()})
    if kind == "set":
        return (counts[value] + 1) / (len(pool) + 2)
    total = sum(counts.values())
    return (counts[value] + 1) / (total + len(counts) + 1) if total else 1 / vocabulary


def log_field(kind, event, m, learned, pool, label, bag):
    """ln P(value | label): `learned` is [(label, bag)] of the model's documents with the field."""
    event = "multinomial" if kind == "category" and event == "binary" else event
    own = [b for v, b in learned if (v == label) != (event == "complement" and kind != "set")]
    values = set().union(*(b for _, b in learned))

    def count(value):
        return sum(1 if event == "binary" or kind == "set" else b[value] for b in own if value in b)

    def p(value):
        return share(pool, value, len(values), event, kind)
    if kind == "set":
        of = {v: (count(v) + m * p(v)) / (len(own) + m) for v in values}
        return sum(math.log(of[v] if v in bag else 1 - of[v]) for v in values)
    size = sum(count(v) for v in values)
    terms = [(1 if event == "binary" else n) * math.log((count(v) + m * p(v)) / (size + m)) for v, n in bag.items() if v in values]
    return sum(terms) * (-1 if event == "complement" else 1)


def log_number(how, event, m, learned, label, bag, added):
    if how == "gaussian" or not learned:
        return attributes.log_gaussian(learned, label, bag, added) if learned else 0
    numbers = attributes.by_label(learned)
    bins = attributes.cut(numbers)
    at = attributes.bin_of(bins, attributes.numbers_of([bag])[0])
    own = [attributes.bin_of(bins, x) for v, xs in numbers.items() for x in xs if (v == label) != (event == "complement")]
    return math.log((own.count(at) + m / len(bins)) / (len(own) + m)) * (-1 if event == "complement" else 1)


def expected(child, parent, values, text):
    event, m = child.settings.get("event_model", "multinomial"), child.settings["smoothing"]["m"]
    how = child.settings.get("number", "gaussian")
    living, above = list(child.documents.values()), list(parent.documents.values())
    bags = child.bags(values, text)
    documents = Counter(label for label, _ in living)
    numeric = [attributes.numbers_of(b[name] for _, b in living if name in b) for name, k in child.fields.items() if k == "number"]
    added = 1e-9 * float(max((attributes.moments(n)[1] for n in numeric if n), default=0))
    scores = {}
    for label, count in documents.items():
        scores[label] = math.log(count / len(living))
        for name, bag in bags.items():
            learned = [(v, b[name]) for v, b in living if name in b]
            pool = [b[name] for _, b in above if name in b]
            kind = "text" if name is None else child.fields[name]
            if kind == "number":
                scores[label] += log_number(how, event, m, learned, label, bag, added)
            elif learned:
                scores[label] += log_field(kind, event, m, learned, pool, label, bag)
    return scores


def assert_scores(child, parent, values, text=""):
    got = child.classify(values, "?explain=10000", **({"text": text} if text else {}))
    want, what = expected(child, parent, values, text), f"{values} {text!r} under {child.settings}"
    equal(sorted(got["log_scores"]), sorted(want), what)
    for label, score in want.items():
        near(got["log_scores"][label], score, f"{label} of {what}")
    first, second = sorted(want.values(), reverse=True)[:2]
    if abs(first) < 1e5:  # in far tails of Gaussians the difference of the scores has lost what words say
        near(sum(row["evidence"] for row in got["explanation"]), first - second, "evidence of " + what)
    return got


def test_by_hand(api):
    with Attributes(api, {"sky": "category", "tags": "set"}) as parent, \
            Attributes(api, parent.fields, parent=parent.name, smoothing=of_parent(6)) as child:
        child.train({"sky": "sun", "tags": ["x"]}, "a", id="1")
        child.train({"sky": "rain", "tags": []}, "b", id="2")
        near(child.classify({"sky": "sun"})["log_scores"]["a"], math.log(1 / 2 * (1 + 6 / 2) / (1 + 6)), "the parent is empty: uniform")
        near(child.classify({"tags": ["x"]})["log_scores"]["b"], math.log(1 / 2 * (0 + 6 / 2) / (1 + 6)))
        for n, (sky, tags) in enumerate((("sun", ["x"]), ("sun", ["x", "y"]), ("hail", []))):
            parent.train({"sky": sky, "tags": tags}, "ab"[n % 2], id=str(n))
        got = child.classify({"sky": "sun"}, "?explain=3")
        near(got["log_scores"]["a"], math.log(1 / 2 * (1 + 6 * 3 / 6) / (1 + 6)), "2 of 3, 2 values and one")
        near(child.classify({"sky": "rain"})["log_scores"]["a"], math.log(1 / 2 * (0 + 6 * 1 / 6) / (1 + 6)))
        equal(child.classify({"sky": "hail"})["tokens"]["known"], 0, "none of the model's values")
        near(child.classify({"tags": ["x"]})["log_scores"]["b"], math.log(1 / 2 * (0 + 6 * 3 / 5) / (1 + 6)))
        near(child.classify({"tags": []})["log_scores"]["b"], math.log(1 / 2 * (1 + 6 * 2 / 5) / (1 + 6)))
        for id in ("1", "2"):
            child.untrain(id=id)
        equal(child.classify({"sky": "sun"})["log_scores"], parent.classify({"sky": "sun"})["log_scores"], "empty: the parent")


def test_a_parent_without_values(api):
    """It has documents, of texts alone: p is uniform, and that of words is the parent's."""
    with Attributes(api, ALL_KINDS) as parent, \
            Attributes(api, ALL_KINDS, parent=parent.name, smoothing=of_parent(4)) as child:
        for n in range(6):
            parent.train({}, "ab"[n % 2], id=str(n), text="free money garden")
            child.train(random_document(api.random)[0], "ab"[n % 2], id=str(n), text="free lunch")
        for _ in range(5):
            assert_scores(child, parent, random_document(api.random)[0], "free garden lunch")


def test_play_tennis(api):
    """Seven days of a place above, the other seven below."""
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    with Attributes(api, CATEGORIES) as parent, \
            Attributes(api, CATEGORIES, parent=parent.name, smoothing=of_parent(3)) as child:
        parent.filled(rows[7:])
        child.filled(rows[:7])
        for values in [attributes.NEW_DAY, *(day for day, _ in rows)]:
            assert_scores(child, parent, values)


def test_every_kind_under_every_event_model(api):
    with Attributes(api, ALL_KINDS) as parent, \
            Attributes(api, ALL_KINDS, parent=parent.name, smoothing=of_parent(3)) as child:
        for model, documents in ((child, 30), (parent, 40)):
            for n in range(documents):
                values, text = random_document(api.random)
                model.train(values, ["ham", "spam", "other"][n % 3], id=str(n), text=text)
        for event in ("multinomial", "binary", "complement"):
            for m, number in ((0.1, "gaussian"), (50, "bins")):
                child.put(preset="book", event_model=event, number=number, parent=parent.name, smoothing=of_parent(m))
                for _ in range(8):
                    assert_scores(child, parent, *random_document(api.random))
        parent.train({"country": "DE", "tags": ["new"]}, "spam", id="now")
        child.untrain(id="3")
        for _ in range(4):
            assert_scores(child, parent, *random_document(api.random))


def test_scores_of_arrival(api):
    """Those of an empty child are its parent's, sets of which none can lack a value among them."""
    with Attributes(api, {"tags": "set", "sky": "category"}, estimate="mle") as parent, \
            Attributes(api, parent.fields, parent=parent.name, smoothing=of_parent(6)) as child:
        for n in range(8):
            parent.train({"tags": ["x", "y"][:1 + (n % 3 > 0)], "sky": "ab"[n // 4]}, "ab"[n % 2], id=str(n))
        probe = {"tags": ["x", "y"], "sky": "b"}
        want = parent.classify(probe)["probabilities"]["b"]
        near(want, 3 / 5)
        equal(child.classify(probe)["probabilities"]["b"], want)
        for label in "ab":  # whose labels the child has to know
            child.train({}, label, id=label, text=label)
        for label in "ab":
            child.untrain(id=label)
        child.train(probe, "b", id="1")
        window = api.get(child.path + "/evaluation").ok().json["windows"][-1]
        equal(window["documents"], 1)
        near(window["log_loss"], -math.log(want), "log-loss of the first document", 1e-6)


# ---- the view of both, in which the parent's documents weigh less than one each ----


class View:
    """Counts of a child's documents, and its parent's with the weight s, as core/stack/blend.h has them."""

    def __init__(self, child, parent, strength):
        own, above = list(child.documents.values()), list(parent.documents.values())
        self.s = min(1, strength / len(above))
        share = len(own) / (len(own) + strength)
        self.k = self.s + (1 - self.s) * share**2
        self.of = [(1, own), (self.s, above)]
        self.labels = sorted({v for v, _ in own + above})

    def sum(self, count):
        """count(label, bags) over both, weighed."""
        return sum(weight * count(documents) for weight, documents in self.of)

    def with_field(self, name):
        return [(weight, [(v, b[name]) for v, b in documents if name in b]) for weight, documents in self.of]

    def log_value(self, kind, event, a, of, label, bag):
        event = "multinomial" if kind == "category" and event == "binary" else event
        size = max(len(set().union(*(b for _, b in bags))) for _, bags in of)
        a *= self.k

        def count(value):
            return sum(w * (1 if event == "binary" else b[value]) for w, bags in of for v, b in bags
                       if value in b and (v == label) != (event == "complement"))
        total = sum(count(v) for v in set().union(*(b for _, bags in of for _, b in bags)))
        known = [v for v in bag if any(v in b for _, bags in of for _, b in bags)]
        terms = [(1 if event == "binary" else bag[v]) * math.log((count(v) + a) / (total + a * size)) for v in known]
        return sum(terms) * (-1 if event == "complement" else 1)

    def log_set(self, a, of, label, bag):
        a *= self.k
        documents = sum(w for w, bags in of for v, _ in bags if v == label)
        score = 0
        for value in set().union(*(b for _, bags in of for _, b in bags)):
            p = (sum(w for w, bags in of for v, b in bags if v == label and value in b) + a) / (documents + 2 * a)
            score += math.log(p if value in bag else 1 - p)
        return score

    @staticmethod
    def moments(of, labels):
        numbers = [(w, float(x)) for w, bags in of for v, b in bags if v in labels for x in attributes.numbers_of([b])]
        weight = sum(w for w, _ in numbers)
        mean = sum(w * x for w, x in numbers) / weight if weight else 0
        return len(numbers), mean, sum(w * (x - mean)**2 for w, x in numbers) / weight if weight else 0

    def log_number(self, of, label, bag, added):
        everything, own = self.moments(of, self.labels), self.moments(of, {label})
        if not everything[0] or not added:
            return 0
        variance = (own if own[0] > 1 else everything)[2] + added
        far = float(attributes.numbers_of([bag])[0]) - (own if own[0] else everything)[1]
        return -math.log(2 * math.pi * variance) / 2 - far**2 / (2 * variance)

    def scores(self, child, values, text):
        a, event = child.settings.get("smoothing", 1), child.settings.get("event_model", "multinomial")
        added = 1e-9 * max((self.moments(self.with_field(n), self.labels)[2] for n, k in child.fields.items() if k == "number"),
                           default=0)
        documents = {v: self.sum(lambda all, v=v: sum(u == v for u, _ in all)) for v in self.labels}
        scores = {v: math.log(d / sum(documents.values())) for v, d in documents.items()}
        for name, bag in child.bags(values, text).items():
            of, kind = self.with_field(name), "text" if name is None else child.fields[name]
            for v in scores if any(bags for _, bags in of) else ():
                scores[v] += (self.log_number(of, v, bag, added) if kind == "number" else self.log_set(a, of, v, bag)
                              if kind == "set" else self.log_value(kind, event, a, of, v, bag))
        return scores


def assert_view(child, parent, strength, values, text=""):
    got = child.classify(values, "?explain=10000", **({"text": text} if text else {}))
    want, what = View(child, parent, strength).scores(child, values, text), f"{values} {text!r} under {child.settings}"
    equal(sorted(got["log_scores"]), sorted(want), what)
    for label, score in want.items():
        near(got["log_scores"][label], score, f"{label} of {what}")
    first, second = sorted(want.values(), reverse=True)[:2]
    if abs(first) < 1e5:
        near(sum(row["evidence"] for row in got["explanation"]), first - second, "evidence of " + what)


def test_a_view_by_hand(api):
    """Four documents above weigh as two: each as a half; K = 1/2 + 1/2 (2 / (2 + 2))^2."""
    with Attributes(api, {"sky": "category", "t": "number"}) as parent, \
            Attributes(api, parent.fields, parent=parent.name, parent_strength=2) as child:
        child.train({"sky": "sun", "t": 1}, "a", id="1")
        child.train({"sky": "rain"}, "b", id="2")
        for n, sky in enumerate(("sun", "sun", "rain", "rain")):
            parent.train({"sky": sky, "t": 3 * n}, "ab"[n // 3], id=str(n))
        k = 1 / 2 + 1 / 2 / 4
        near(child.classify({"sky": "sun"})["log_scores"]["a"], math.log(2.5 / 4 * (2 + k) / (2.5 + 2 * k)))
        near(child.classify({"sky": "sun"})["log_scores"]["b"], math.log(1.5 / 4 * (0 + k) / (1.5 + 2 * k)))
        numbers = [(1, 1), (0.5, 0), (0.5, 3), (0.5, 6)]
        mean = sum(w * x for w, x in numbers) / 2.5
        variance = sum(w * (x - mean)**2 for w, x in numbers) / 2.5
        near(child.classify({"t": 4})["log_scores"]["a"],
             math.log(2.5 / 4) - math.log(2 * math.pi * variance) / 2 - (4 - mean)**2 / (2 * variance), "a number", 1e-6)
        for id in ("1", "2"):
            child.untrain(id=id)
        equal(child.classify({"sky": "sun", "t": 2})["log_scores"], parent.classify({"sky": "sun", "t": 2})["log_scores"], "empty")


def test_a_view_of_every_kind(api):
    """Under each event model; of documents more and fewer than the strength."""
    with Attributes(api, ALL_KINDS) as parent, \
            Attributes(api, ALL_KINDS, parent=parent.name, parent_strength=10) as child:
        for model, documents in ((child, 20), (parent, 40)):
            for n in range(documents):
                values, text = random_document(api.random)
                model.train(values, ["ham", "spam", "other"][n % (2 if model is child else 3)], id=str(n), text=text)
        for event in ("multinomial", "binary", "complement"):
            for a, strength in ((0.5, 10), (2, 1000)):
                child.put(preset="book", event_model=event, parent=parent.name, parent_strength=strength, smoothing=a)
                for _ in range(8):
                    assert_view(child, parent, strength, *random_document(api.random))
        parent.train({"country": "DE", "tags": ["new"]}, "spam", id="now")
        child.untrain(id="3")
        for _ in range(4):
            assert_view(child, parent, strength, *random_document(api.random))


def test_a_view_without_a_prior(api):
    """With relative frequencies a value that neither has seen with a label makes it impossible, one that the parent has does not."""
    with Attributes(api, {"sky": "category", "tags": "set"}) as parent, \
            Attributes(api, parent.fields, parent=parent.name, parent_strength=1, estimate="mle") as child:
        child.train({"sky": "sun", "tags": ["x"]}, "a", id="1")
        child.train({"sky": "rain", "tags": ["y"]}, "b", id="2")
        for n, tags in enumerate((["x"], ["y"], ["x", "y"])):
            parent.train({"sky": "rain", "tags": tags}, "aba"[n], id=str(n))
        got = child.classify({"sky": "sun"})["log_scores"]
        near(got["a"], math.log((1 + 2 / 3) / 3 * 1 / (1 + 2 / 3)))
        equal(got["b"], None)
        got = child.classify({"tags": ["y"]}, "?explain=9")
        near(got["log_scores"]["b"], math.log((1 + 1 / 3) / 3))
        equal(got["log_scores"]["a"], None, "all of a have x")
        near(child.classify({"tags": ["x", "y"]})["log_scores"]["a"], math.log((1 + 2 / 3) / 3 * (1 / 3) / (1 + 2 / 3)))


def test_copies_of_less_strength(api):
    """What was learned as a prior of some documents: the copy is a parent, and that goes with fields."""
    with Attributes(api, ALL_KINDS) as old:
        for n in range(30):
            values, text = random_document(api.random)
            old.train(values, ["ham", "spam"][n % 2], id=str(n), text=text)
        made = "/v1/models/" + api.name()
        api.post(f"{made}/from/{old.name}?strength=5", None).ok(201)
        values, text = random_document(api.random)
        want = old.classify(values, text=text)["log_scores"]
        equal(api.post(made + "/classify", {"values": values, "text": text}).ok().json["log_scores"], want)


def test_kill_and_rebuild(api):
    own = api.another(keep=True).start()
    probes = [random_document(api.random)[0] for _ in range(8)]
    own.client.put("/v1/models/all", {"preset": "book", "fields": ALL_KINDS}).ok(201)
    own.client.put("/v1/models/user", {"preset": "book", "fields": ALL_KINDS, "parent": "all", "smoothing": of_parent(5)}).ok(201)
    for n in range(40):
        values, text = random_document(api.random)
        own.client.post("/v1/models/" + ("user" if n % 3 == 0 else "all") + "/train",
                        {"values": values, "text": text, "id": str(n), "label": ["ham", "spam"][n % 2]}).ok()

    def scores():
        return [own.client.post("/v1/models/user/classify", {"values": v}).ok().json["log_scores"] for v in probes]
    want = scores()
    own.kill()
    own.start()
    equal(scores(), want, "after a kill")
    own.stop()
    for tool in ("--verify", "--rebuild"):
        status, out, err = api.tool("--data", own.data, tool)
        equal(status, 0, out + err)
    own.start()
    equal(scores(), want, "after --rebuild")
    own.stop()


def test_refusals(api):
    fields = {"a": "category", "b": "set"}
    book = {"preset": "book", "fields": fields}
    with Attributes(api, fields) as parent:
        with Attributes(api, fields, parent=parent.name, smoothing=of_parent(2)) as child:
            below = {**book, "parent": parent.name}
            path = "/v1/models/" + api.name()
            refused(api.put(path, {**below, "structure": "tan"}), 409, "tan", "naive")
            refused(api.put(path, {**below, "smoothing": of_parent(2), "structure": "tan"}), 409, "tan")
            for other in ({"b": "set", "a": "category"}, {"a": "category"}, {**fields, "c": "text"}, {"a": "set", "b": "set"}, {}):
                refused(api.put(path, {**below, "smoothing": of_parent(2), "fields": other}), 409, "fields", "order")
            refused(api.put(parent.path, {**book, "fields": {**fields, "c": "text"}}), 409, "fields")
            refused(api.put(parent.path, {"preset": "book", "structure": "tan"}), 409, "tan")
            refused(api.put(parent.path, {"preset": "text"}), 409, "fields")
            refused(api.put(path, {**below, "fields": {**fields, "n": "number"}}), 409, "fields", "order")
            api.put(child.path, {"preset": "book", "parent": None}).ok(200)
            api.put(parent.path, {**book, "fields": {**fields, "c": "text"}}).ok(200)


def test_refusals_of_numbers_and_stacks(api):
    with Attributes(api, {"n": "number"}) as parent:
        path, below = "/v1/models/" + api.name(), {"preset": "book", "fields": parent.fields, "parent": parent.name}
        for number in ("bins", "auto"):
            refused(api.put(path, {**below, "number": number}), 409, "gaussian", "smoothing")
        api.put(path, below).ok(201)
        refused(api.put(path, {"preset": "book", "parent": parent.name, "number": "bins"}), 409, "gaussian")
        api.put(path, {"preset": "book", "parent": parent.name, "number": "bins", "smoothing": of_parent(2)}).ok(200)
        api.delete(path).ok(204)
        api.put(parent.path, {"preset": "text"}).ok(200)
        refused(api.put(path, below), 409, "other fields")
