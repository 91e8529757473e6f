# SPDX-License-Identifier: Apache-2.0
"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997), against a slow computation from the documents."""
import itertools
import math
import re
from fractions import Fraction

import attributes
from attributes import Attributes
from harness import equal, holds, near, refused

NDJSON = "application/x-ndjson"
FIELDS = {"plan": "category", "country": "category", "tags": "set", "device": "category", "note": "text",
          "browser": "category"}


class Tree(Attributes):
    """A model with the structure "tan", and what it must say."""

    def __init__(self, api, fields, **settings):
        super().__init__(api, fields, **{"structure": "tan", **settings})

    def names(self):
        return [name for name, kind in self.fields.items() if kind == "category"]

    def rows(self):
        """[(label, {category: value})]"""
        return [(label, {name: next(iter(bags[name])) for name in self.names() if name in bags})
                for label, bags in self.documents.values()]

    def information(self, one, other):
        """I(one; other | label) times the documents that have both."""
        return attributes.information([(label, values[one], values[other]) for label, values in self.rows()
                                       if one in values and other in values])

    def largest(self):
        """The weight of the largest spanning tree, by Kruskal's algorithm."""
        group, total = {name: name for name in self.names()}, 0
        pairs = sorted(((self.information(*pair), *pair) for pair in itertools.combinations(self.names(), 2)),
                       reverse=True)
        for weight, one, other in pairs:
            if group[one] != group[other]:
                total += weight
                group = {name: group[one] if g == group[other] else g for name, g in group.items()}
        return total

    def tree(self, values):
        """{name: parent's name}, as explanations tell it of a document that has all values."""
        rows = self.classify(values, "?explain=1000")["explanation"]
        found = (re.fullmatch(r"(.*?)=.* given (.*?)=.*", row["token"] or "") for row in rows)
        parents = {match[1]: match[2] for match in found if match}
        holds(self.names()[0] not in parents, f"the first category is the root: {parents}")
        equal(len(parents), len(self.names()) - 1, parents)
        near(sum(self.information(*edge) for edge in parents.items()), self.largest(), parents, 1e-5)
        return parents

    def assert_tree(self, probes, whole):
        """Every probe's scores, with the tree that `whole`, a document with all values, tells."""
        parents = self.tree(whole)
        rows, alpha = self.rows(), self.settings.get("smoothing", 1.0)
        domain = {name: {values[name] for _, values in rows if name in values} for name in self.names()}
        for values in probes:
            want = self.expected({n: v for n, v in values.items() if n not in self.names()})
            for label in want:
                for name in self.names():
                    if values.get(name) in domain[name]:
                        given = parents.get(name)
                        given = given if given and values.get(given) in domain[given] else None
                        n = [r[name] for v, r in rows if v == label and name in r
                             and (given is None or r.get(given) == values[given])]
                        want[label] += math.log((n.count(values[name]) + alpha) / (len(n) + alpha * len(domain[name])))
            got = self.classify(values, "?explain=1000")
            for label, score in want.items():
                near(got["log_scores"][label], score, f"{label} of {values}")
            others = sorted(want.values())[-2:]
            near(sum(row["evidence"] for row in got["explanation"]), others[1] - others[0], values)


def random_values(rnd):
    """Countries go with plans, browsers with devices."""
    values = {"plan": rnd.choice("ABC"), "device": rnd.choice(["phone", "desk"])}
    values["country"] = values["plan"] + "land" if rnd.random() < 0.7 else rnd.choice(["Aland", "Bland", "Dland"])
    values["browser"] = values["device"] + "fox" if rnd.random() < 0.8 else "other"
    for name in list(values):
        if rnd.random() < 0.15:
            del values[name]
    if rnd.random() < 0.5:
        values["tags"] = [rnd.choice("xyz")]
    if rnd.random() < 0.3:
        values["note"] = rnd.choice(["free money", "lunch"])
    return values


def fill(model, rnd, documents=60):
    for n in range(documents):
        values = random_values(rnd)
        label = "one" if values.get("plan") in ("A", None) or rnd.random() < 0.3 else rnd.choice(["two", "three"])
        model.train(values, label, id=str(n % 45))


WHOLE = {"plan": "A", "country": "Bland", "device": "phone", "browser": "other"}


def test_play_tennis(api):
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    with Tree(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS)) as model:
        model.filled(rows)
        model.assert_tree([values for values, _ in rows] + [attributes.NEW_DAY], attributes.NEW_DAY)
        got = model.classify(attributes.NEW_DAY, "?explain=9")
        holds("temperature=cool given outlook=sunny" in [row["token"] for row in got["explanation"]], got)


def test_documents_come_and_go(api):
    """Learned, replaced, relabelled and forgotten, with values missing: always the tree of what is there."""
    rnd = api.random
    with Tree(api, FIELDS) as model:
        fill(model, rnd)
        probes = [random_values(rnd) for _ in range(12)] + [WHOLE, {"plan": "unheard", "country": "Aland"}, {}]
        model.assert_tree(probes, WHOLE)
        for id in rnd.sample(sorted(model.documents), 25):
            model.untrain(id=id)
        model.assert_tree(probes, WHOLE)
        for values, label in (({"plan": "A", "country": "Aland"}, "four"), (WHOLE, "one")):
            model.train(values, label)
        model.assert_tree(probes, WHOLE)
        model.put(preset="book", structure="tan", smoothing=0.25)
        model.assert_tree(probes, WHOLE)


def verdicts(client, path, probes):
    rows = [client.post(path + "/classify?explain=100", {"values": v}).ok().json for v in probes]
    return [{k: v for k, v in row.items() if k != "model"} for row in rows]


def test_switched_on_and_off(api):
    """A model that has documents becomes one with a tree, and back; a field can come later."""
    rnd = api.random
    probes = [random_values(rnd) for _ in range(10)] + [WHOLE]
    with Tree(api, FIELDS, structure="naive") as model:
        fill(model, rnd)
        naive = verdicts(api, model.path, probes)
        model.put(preset="book", structure="tan")
        model.assert_tree(probes, WHOLE)
        fields = {**FIELDS, "city": "category"}
        api.put(model.path, {"preset": "book", "structure": "tan", "fields": fields}).ok(200)
        model.fields = fields
        model.train({"city": "Rome", "plan": "A"}, "one", id="city")
        model.assert_tree(probes, {**WHOLE, "city": "Rome"})
        model.untrain(id="city")
        model.put(preset="book")
        equal(verdicts(api, model.path, probes), naive)


def test_starts_and_imports(api):
    """After a kill, a clean stop, from a dump and from the ledger alone the verdicts are the same to the bit."""
    rnd, daemon = api.random, api.another(keep=True).start()
    probes = [random_values(rnd) for _ in range(10)] + [WHOLE]
    client = daemon.client
    client.put("/v1/models/m", {"preset": "book", "structure": "tan", "fields": FIELDS}).ok(201)
    for n in range(50):
        label = rnd.choice(["one", "two"])
        client.post("/v1/models/m/train", {"values": random_values(rnd), "label": label, "id": str(n % 40)}).ok()
    for n in range(0, 40, 7):
        client.post("/v1/models/m/untrain", {"id": str(n)}).ok()
    want = verdicts(client, "/v1/models/m", probes)
    dump = client.get("/v1/models/m/export").ok().body
    daemon.kill()
    client = daemon.start().client
    equal(verdicts(client, "/v1/models/m", probes), want)
    client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    equal(verdicts(client, "/v1/models/copy", probes), want)
    client.post("/v1/models/copy/train", {"values": WHOLE, "label": "two", "id": "new"}).ok()
    client.post("/v1/models/copy/untrain", {"id": "new"}).ok()
    equal(verdicts(client, "/v1/models/copy", probes), want)
    daemon.stop()
    for option in ("--verify", "--rebuild"):
        status, out, err = api.tool(option, "--data", daemon.data)
        equal(status, 0, out + err)
        holds("model '" not in out + err, out + err)
    client = daemon.start().client
    equal(verdicts(client, "/v1/models/m", probes), want)
    daemon.stop()


NUMBERS = {"heat": "number", "plan": "category", "price": "number", "device": "category"}


def random_numbers(rnd, label):
    """Prices go with plans, heat with prices."""
    plan = rnd.choice("ABC")
    price = round(rnd.gauss("ABC".index(plan) * 10, 4 + label), 1)
    values = {"plan": plan, "price": price, "heat": round(price / 2 + rnd.gauss(0, 2)), "device": rnd.choice(["phone", "desk"])}
    for name in list(values):
        if rnd.random() < 0.1:
            del values[name]
    return values


def in_bins(documents, values):
    """Values with the bins of the documents' numbers in the place of numbers."""
    binned = dict(values)
    for name in {"heat", "price"} & values.keys():
        cut = attributes.cut(attributes.by_label([(label, bags[name]) for label, bags in documents if name in bags]))
        binned[name] = f"bin {attributes.bin_of(cut, Fraction(attributes.number_text(values[name])))}"
    return binned


def trees_of(reply):
    """How many values of an explanation are given another one."""
    return sum(" given " in (row["token"] or "") for row in reply["explanation"])


def same_scores(got, want, what):
    for label, score in want["log_scores"].items():
        equal(got["log_scores"][label] is None, score is None, what)
        near(got["log_scores"][label] or 0, score or 0, what)
    equal(trees_of(got), trees_of(want), what)


def test_numbers_in_bins(api):
    """The scores are those of a model in which bins are categories, under every smoothing."""
    rnd = api.random
    with Attributes(api, NUMBERS, structure="tan", number="bins") as model:
        documents = {}
        for n in range(70):
            documents[str(n % 50)] = (random_numbers(rnd, n % 2), "uv"[n % 2])
            model.train(*documents[str(n % 50)], id=str(n % 50))
        for id in ("3", "20", "31"):
            model.untrain(id=id)
            del documents[id]
        living = list(model.documents.values())
        probes = [random_numbers(rnd, n % 2) for n in range(12)]
        for settings in ({}, {"smoothing": {"m": 4, "p": "vocabulary"}}, {"smoothing": {"labels": {"u": 0.5, "v": 2}}},
                         {"estimate": "mle"}, {"event_model": "binary", "smoothing": 0.1}):
            model.put(preset="book", structure="tan", number="bins", **settings)
            with Attributes(api, attributes.categories(NUMBERS), structure="tan", **settings) as binned:
                for id, (values, label) in documents.items():
                    binned.train(in_bins(living, values), label, id=id)
                for probe in probes:
                    want = binned.classify(in_bins(living, probe), "?explain=9")
                    same_scores(model.classify(probe, "?explain=9"), want, f"{probe} under {settings}")
        model.put(preset="book", structure="tan")  # Gaussians stay outside of the tree
        equal(trees_of(model.classify({"plan": "A", "device": "desk", "price": 3, "heat": 2}, "?explain=9")), 1)


def test_numbers_after_starts(api):
    rnd, daemon = api.random, api.another(keep=True).start()
    client, probes = daemon.client, [random_numbers(rnd, n % 2) for n in range(10)]
    settings = {"preset": "book", "fields": NUMBERS, "structure": "tan"}
    client.put("/v1/models/m", {**settings, "number": "auto"}).ok(201)
    for n in range(50):
        client.post("/v1/models/m/train", {"values": random_numbers(rnd, n % 2), "label": "uv"[n % 2], "id": str(n % 40)}).ok()
    for number in ("auto", "bins"):
        client.put("/v1/models/m", {**settings, "number": number}).ok(200)
        want = verdicts(client, "/v1/models/m", probes)
        daemon.kill()
        client = daemon.start().client
        equal(verdicts(client, "/v1/models/m", probes), want, "after a kill")
        client.post("/v1/models/m/train", {"values": probes[0], "label": "u", "id": "new"}).ok()
        client.post("/v1/models/m/untrain", {"id": "new"}).ok()
        equal(verdicts(client, "/v1/models/m", probes), want, "learned and forgotten")
    daemon.stop()
    for option in ("--verify", "--rebuild"):
        status, out, err = api.tool(option, "--data", daemon.data)
        equal(status, 0, out + err)
    client = daemon.start().client
    equal(verdicts(client, "/v1/models/m", probes), want, "rebuilt")
    daemon.stop()


def test_documents_without_a_label(api):
    """They are counted nowhere, not by a start either, until they have one."""
    rnd, daemon = api.random, api.another(keep=True).start()
    client = daemon.client
    client.put("/v1/models/m", {"preset": "book", "structure": "tan", "fields": FIELDS}).ok(201)

    def train(**document):
        client.post("/v1/models/m/train", document).ok()
    for n in range(30):
        train(values=random_values(rnd), label=rnd.choice(["one", "two"]), id=str(n))
    probes = [random_values(rnd) for _ in range(10)] + [WHOLE]
    want = verdicts(client, "/v1/models/m", probes)
    train(values=WHOLE, label=None, id="later")
    equal(verdicts(client, "/v1/models/m", probes), want)
    daemon.kill()
    client = daemon.start().client
    equal(verdicts(client, "/v1/models/m", probes), want)
    client.put("/v1/models/m", {"preset": "book"}).ok(200)
    client.put("/v1/models/m", {"preset": "book", "structure": "tan"}).ok(200)
    equal(verdicts(client, "/v1/models/m", probes), want)
    train(label="two", id="later")
    labelled = verdicts(client, "/v1/models/m", probes)
    holds(labelled != want, "a label changes nothing")
    train(values=WHOLE, label="two", id="later")
    equal(verdicts(client, "/v1/models/m", probes), labelled)
    daemon.stop()


def test_refusals(api):
    def put(**settings):
        return api.put("/v1/models/" + api.name(), settings)
    refused(put(structure="tan"), 422, "structure", "bayes")
    refused(put(preset="book", structure="tan", event_model="complement"), 422, "structure", "complement")
    refused(put(preset="book", structure="forest"), 422, "structure", "tan")
    many = {f"f{n}": "category" for n in range(65)}
    refused(put(preset="book", structure="tan", fields=many), 422, "structure", "64")
    several = {f"f{n}": "category" for n in range(64)}
    refused(put(preset="book", structure="tan", fields={**several, "f64": "number"}, number="bins"), 422, "structure", "64")
    put(preset="book", structure="tan", fields={**several, "f64": "number"}).ok(201)
    put(preset="book", structure="tan", fields={**several, "f64": "set"}).ok(201)
    put(preset="book", structure="tan").ok(201)
