# SPDX-License-Identifier: Apache-2.0
"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997), against a slow computation from the documents."""
import itertools
import math
import re

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
    put(preset="book", structure="tan", fields={**many, "f64": "set"}).ok(201)
    put(preset="book", structure="tan").ok(201)
