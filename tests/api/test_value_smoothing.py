# SPDX-License-Identifier: Apache-2.0
"""A Dirichlet prior with a number of each value of a field, against a slow computation from the documents."""
import math
from fractions import Fraction

import attributes
from attributes import Attributes
from harness import equal, near, refused
from test_fields import ALL_KINDS, EVENTS, random_document
from test_tan import FIELDS, WHOLE, Tree, fill

NDJSON = "application/x-ndjson"
PRIORS = {"country": {"DE": 2.5, "FR": 1, "de": 40, "": 1.125, "never seen": 7}, "tags": {"a": 3, "f": 1, "z": 9},
          "paid": {"true": 6, "7": 1.5}}


def by_value(default, values=None):
    return {"values": PRIORS if values is None else values, "default": default}


def filled(api, model, documents=60):
    for n in range(documents):
        values, text = random_document(api.random)
        model.train(values, api.random.choice(["ham", "spam", "other"]), id=str(n % 40), text=text)
        if n % 7 == 3:
            model.untrain(id=api.random.choice(sorted(model.documents)))
    model.assert_counts()
    return model


def test_by_hand(api):
    """The prior of each value above, that of all values seen below; a value that nobody has is none."""
    with Attributes(api, {"sky": "category", "tags": "set"}) as model:
        for n, (sky, label) in enumerate((("sun", "a"), ("sun", "a"), ("rain", "b"), ("hail", "b"))):
            model.train({"sky": sky, "tags": ["x"] if n < 3 else []}, label, id=str(n))
        smoothing = {"values": {"sky": {"sun": 3, "rain": 0.5, "snow": 100}, "tags": {"x": 4}}, "default": 2}
        model.put(preset="book", smoothing=smoothing)
        got = model.classify({"sky": "sun"}, "?explain=3")
        near(got["log_scores"]["a"], math.log(1 / 2 * (2 + 3) / (2 + 3 + 0.5 + 2)))
        near(got["log_scores"]["b"], math.log(1 / 2 * (0 + 3) / (2 + 3 + 0.5 + 2)))
        near(model.classify({"sky": "hail"})["log_scores"]["b"], math.log(1 / 2 * (1 + 2) / 7.5))
        equal(model.classify({"sky": "snow"})["tokens"]["known"], 0)
        near(model.classify({"tags": ["x"]})["log_scores"]["a"], math.log(1 / 2 * (2 + 4) / (2 + 8)))
        near(model.classify({"tags": []})["log_scores"]["b"], math.log(1 / 2 * (1 + 4) / (2 + 8)))
        equal(model.row()["settings"]["smoothing"], smoothing)
        model.train({"sky": "snow"}, "b", id="4")
        near(model.classify({"sky": "sun"})["log_scores"]["a"], math.log(2 / 5 * (2 + 3) / (2 + 3 + 0.5 + 2 + 100)))
        model.untrain(id="2")
        near(model.classify({"sky": "sun"})["log_scores"]["a"], math.log(2 / 4 * (2 + 3) / (2 + 3 + 2 + 100)), "no rain")
        model.put(preset="book", estimate="map", smoothing={"values": {"sky": {"sun": 3}}, "default": 1})
        near(model.classify({"sky": "sun"})["log_scores"]["b"], math.log(2 / 4 * (0 + 2) / (2 + 2)))
        got = model.classify({"sky": "hail"})
        equal(got["log_scores"]["a"], None, "its mode is 0")


def test_every_kind_under_every_event_model(api):
    with Attributes(api, ALL_KINDS) as model:
        filled(api, model)
        for event in EVENTS:
            for settings in ({"smoothing": by_value(1)}, {"smoothing": by_value(0.01), "prior": "uniform"},
                             {"smoothing": by_value(1), "estimate": "map"},
                             {"smoothing": by_value(1.5), "estimate": "map"}):
                if event == "complement" and "estimate" in settings:
                    continue  # it may not be 0
                model.put(preset="book", event_model=event, **settings)
                for _ in range(8):
                    model.assert_scores(*random_document(api.random))


def test_numbers_by_label(api):
    """(n_mv + a_mv) / (n_v + sum of a_v), by fractions; a label or a value that is not named has the default."""
    skies = ["sun", "sun", "sun", "rain", "hail", "sun"]
    labels = ["a", "a", "b", "b", "b", "c"]
    tags = [["x"], [], ["x"], ["x"], [], []]
    by_label = {"sky": {"sun": {"a": 4, "b": 0.5}, "rain": 3, "snow": {"a": 100}}, "tags": {"x": {"c": 6}}}
    with Attributes(api, {"sky": "category", "tags": "set"}) as model:
        for n, (sky, label, tag) in enumerate(zip(skies, labels, tags)):
            model.train({"sky": sky, "tags": tag}, label, id=str(n))
        for less, smoothing in ((0, {"values": by_label}), (0, {"values": by_label, "default": 0.25}),
                                (1, {"values": {**by_label, "sky": {"sun": {"a": 4, "b": 1.5}}}, "default": 2})):
            model.put(preset="book", smoothing=smoothing, estimate="map" if less else "mean")
            kept = {"default": 1, **smoothing}
            equal(model.row()["settings"]["smoothing"], kept)

            def a(field, value, label):
                own = smoothing["values"][field].get(value, kept["default"])
                return Fraction(own.get(label, kept["default"]) if isinstance(own, dict) else own) - less
            for sky in ("sun", "rain", "hail"):
                got = model.classify({"sky": sky})["log_scores"]
                for v in "abc":
                    own = [s for s, label in zip(skies, labels) if label == v]
                    p = (own.count(sky) + a("sky", sky, v)) / (len(own) + sum(a("sky", s, v) for s in ("sun", "rain", "hail")))
                    near(got[v], math.log(Fraction(len(own), 6) * p), f"{sky} {v}")
            for tag in ([], ["x"]):
                got = model.classify({"tags": tag})["log_scores"]
                for v in "abc":
                    own = [t for t, label in zip(tags, labels) if label == v]
                    x = a("tags", "x", v)
                    p = (own.count(["x"]) + x) / (len(own) + 2 * x)
                    near(got[v], math.log(Fraction(len(own), 6) * (p if tag else 1 - p)), f"{tag} {v}")


def test_number_of_all_values_is_the_plain_one(api):
    """With the same number for each value the scores are those of that number, in trees as well."""
    with Tree(api, FIELDS) as model:
        fill(model, api.random)
        want = model.classify(WHOLE, "?explain=100")
        same = {"plan": {"A": 1, "B": 1}, "country": {"Aland": 1}, "device": {"phone": 1, "nobody": 1}}
        model.put(preset="book", structure="tan", smoothing={"values": same, "default": 1})
        got = model.classify(WHOLE, "?explain=100")
        for label, score in want["log_scores"].items():
            near(got["log_scores"][label], score, label, 1e-12)


def test_trees(api):
    """P(m | y, v) = (n_myv + a_m) / (n_yv + sum of a)."""
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    numbers = {"temperature": {"hot": 3, "cool": 0.25}, "wind": {"strong": 9}}
    with Tree(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS)) as model:
        model.filled(rows)
        parents = model.tree(attributes.NEW_DAY)
        model.put(preset="book", structure="tan", smoothing={"values": numbers, "default": 0.5})
        equal(model.tree(attributes.NEW_DAY), parents)
        for day, _ in [*rows, (attributes.NEW_DAY, None)]:
            got = model.classify(day)["log_scores"]
            for label, score in got.items():
                want = math.log(sum(v == label for _, v in rows) / len(rows))
                for name, value in day.items():
                    given = parents.get(name)
                    own = [d[name] for d, v in rows if v == label and (given is None or d[given] == day[given])]
                    a = {m: numbers.get(name, {}).get(m, 0.5) for m in {d[name] for d, _ in rows}}
                    want += math.log((own.count(value) + a[value]) / (len(own) + sum(a.values())))
                near(score, want, f"{label} of {day}")


def test_distribution_has_their_posterior(api):
    with Attributes(api, {"sky": "category", "tags": "set"}) as model:
        for n, (sky, label) in enumerate((("sun", "a"), ("sun", "a"), ("rain", "b"), ("hail", "b"))):
            model.train({"sky": sky, "tags": ["x"]}, label, id=str(n))
        model.put(preset="book", smoothing={"values": {"sky": {"sun": 3}, "tags": {"x": 4}}, "default": 2})
        fields = api.get(model.path + "/distribution?label=a").ok().json["fields"]
        sky = {row["value"]: row["probability"] for row in fields[0]["values"]}
        for value, p in {"sun": 5 / 9, "rain": 2 / 9, "hail": 2 / 9}.items():
            near(sky[value], p, value)
        near(fields[1]["values"][0]["probability"], 6 / 10)


def test_restart_rebuild_and_another_key(api):
    """The settings are found again, and values under whatever key the features have."""
    own, other = api.another(), api.another().start()
    own.start()
    probes = [random_document(api.random)[0] for _ in range(10)]

    def scores(client, path="/v1/models/m"):
        return [client.post(path + "/classify", {"values": v}).ok().json["log_scores"] for v in probes]
    numbers = by_value(0.5, {**PRIORS, "tags": {"a": {"spam": 3.0}, "f": 1.0, "z": 9.0}})
    settings = {"preset": "book", "fields": ALL_KINDS, "smoothing": numbers}
    own.client.put("/v1/models/m", settings).ok(201)
    for n in range(30):
        values, text = random_document(api.random)
        own.client.post("/v1/models/m/train", {"values": values, "text": text, "id": str(n % 20),
                                               "label": api.random.choice(["ham", "spam"])}).ok()
    want = scores(own.client)
    dump = own.client.get("/v1/models/m/export").ok().body
    other.client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    for got, wanted in zip(scores(other.client, "/v1/models/copy"), want):
        for label in wanted:
            near(got[label], wanted[label], label, 1e-12)
    other.stop()
    own.kill()
    own.start()
    equal(scores(own.client), want, "after a kill")
    equal(own.client.get("/v1/models/m").ok().json["settings"]["smoothing"], numbers)
    own.stop()
    for tool in ("--verify", "--rebuild"):
        status, out, err = api.tool("--data", own.data, tool)
        equal(status, 0, out + err)
    own.start()
    equal(scores(own.client), want, "after --rebuild")
    own.stop()


def test_refusals(api):
    with Attributes(api, {**ALL_KINDS}) as model:
        for smoothing, status, words in (
                (by_value(1, {}), 422, ("smoothing", "at least one field")),
                (by_value(1, {"country": {}}), 422, ("smoothing", "country", "at least one value")),
                (by_value(0), 422, ("smoothing", "above 0")),
                (by_value(1, {"country": {"DE": 0}}), 422, ("smoothing", "DE", "above 0")),
                (by_value(1, {"country": {"DE": 1e7}}), 422, ("smoothing", "country=DE", "at most")),
                (by_value(1, {"country": {"DE": "1"}}), 400, ("smoothing", "DE", "number")),
                (by_value(1, {"country": 1}), 400, ("smoothing", "country", "object")),
                (by_value(1, {"colour": {"red": 1}}), 422, ("smoothing", "colour", "fields")),
                (by_value(1, {"title": {"free": 2}}), 422, ("smoothing", "title", "text", "category", "set")),
                (by_value(1, {"amount": {"1": 2}}), 422, ("smoothing", "amount", "number", "category", "set")),
                (by_value(1, {"country": {"x" * 257: 1}}), 422, ("smoothing", "256")),
                (by_value(1, {"country": {"DE": {}}}), 422, ("smoothing", "DE", "at least one label")),
                (by_value(1, {"country": {"DE": {"spam": 0}}}), 422, ("smoothing", "spam", "above 0")),
                (by_value(1, {"country": {"DE": {"spam": "1"}}}), 400, ("smoothing", "spam", "number")),
                (by_value(1, {"country": {"DE": {"spam": 1, " spam": 2}}}), 422, ("spam", "twice")),
                ({"default": 1}, 422, ("smoothing", "values")),
                ({**by_value(1), "m": 2}, 422, ("smoothing",))):
            refused(api.put(model.path, {"preset": "book", "smoothing": smoothing}), status, *words)
        by_label = by_value(1, {"country": {"DE": {"spam": 0.5, "ham": 2}}})
        refused(api.put(model.path, {"preset": "book", "smoothing": by_label, "estimate": "map"}), 422, "estimate", "at least 1", "spam")
        for more in ({"estimate": "mle"}, {"estimate": "map", "smoothing": by_value(1, {"country": {"DE": 0.5}})}):
            refused(api.put(model.path, {"preset": "book", "smoothing": by_value(1), **more}), 422, "estimate")
        equal(model.row()["settings"]["smoothing"], 1)
    refused(api.put("/v1/models/" + api.name(), {"preset": "book", "smoothing": by_value(1)}), 422, "country", "fields")
