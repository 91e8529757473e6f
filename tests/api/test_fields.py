# SPDX-License-Identifier: Apache-2.0
"""Documents with values of fields that the settings name, by the book."""
import concurrent.futures
import json
import math

import attributes
from attributes import Attributes
from harness import equal, holds, near, refused

NDJSON = "application/x-ndjson"
NUMBERS = ("gaussian", "bins", "auto")
ALL_KINDS = {"title": "text", "country": "category", "tags": "set", "note": "text", "paid": "category",
             "amount": "number", "size": "number"}
EVENTS = ("multinomial", "binary", "bernoulli", "complement")


def test_play_tennis(api):
    """Mitchell 1997, section 6.9.1, with the relative frequencies of the book, and with Laplace."""
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    with Attributes(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS), estimate="mle") as model:
        model.filled(rows)
        got = model.assert_scores(attributes.NEW_DAY)
        equal(got["label"], "no")
        near(round(math.exp(got["log_scores"]["yes"]), 4), 0.0053)
        near(round(math.exp(got["log_scores"]["no"]), 4), 0.0206)
        near(round(got["probability"], 3), 0.795)
        equal(got["tokens"], {"total": 4, "known": 4, "unknown": 0})
        model.put(preset="book")
        got = model.assert_scores(attributes.NEW_DAY)
        near(math.exp(got["log_scores"]["yes"]), 9 / 14 * 3 / 12 * 4 / 12 * 4 / 11 * 4 / 11)
        near(math.exp(got["log_scores"]["no"]), 5 / 14 * 4 / 8 * 2 / 8 * 5 / 7 * 4 / 7)


def test_play_tennis_under_every_smoothing(api):
    """One for each label, and the m-estimate with both of its p, by hand; alpha and beta are of sets."""
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    with Attributes(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS)) as model:
        model.filled(rows)
        for smoothing, yes, no in (
                ({"labels": {"yes": 1, "no": 2}}, 9 / 14 * 3 / 12 * 4 / 12 * 4 / 11 * 4 / 11,
                 5 / 14 * 5 / 11 * 3 / 11 * 6 / 9 * 5 / 9),
                ({"m": 3, "p": "uniform"}, 9 / 14 * 3 / 12 * 4 / 12 * 4.5 / 12 * 4.5 / 12,
                 5 / 14 * 4 / 8 * 2 / 8 * 5.5 / 8 * 4.5 / 8),
                ({"m": 7, "p": "vocabulary"}, 9 / 14 * 4.5 / 16 * 5 / 16 * 6.5 / 16 * 6 / 16,
                 5 / 14 * 5.5 / 12 * 3 / 12 * 7.5 / 12 * 6 / 12)):
            model.put(preset="book", smoothing=smoothing)
            got = model.classify(attributes.NEW_DAY, "?explain=9")
            near(math.exp(got["log_scores"]["yes"]), yes, smoothing)
            near(math.exp(got["log_scores"]["no"]), no, smoothing)
            near(sum(row["evidence"] for row in got["explanation"]), abs(math.log(yes / no)), smoothing)
        refused(api.put(model.path, {"preset": "book", "smoothing": {"alpha": 1, "beta": 2}}), 422, "bernoulli")


def test_sets_under_every_smoothing(api):
    with Attributes(api, {"tags": "set"}, event_model="bernoulli") as model:
        for tags, label in ((["x", "y"], "a"), (["x"], "a"), ([], "a"), (["y"], "b")):
            model.train({"tags": tags}, label)
        model.train({}, "b")  # has no set: says nothing of it
        for smoothing, a, b in (
                ({"labels": {"a": 1, "b": 2}}, 3 / 5 * 3 / 5 * 3 / 5, 2 / 5 * 2 / 5 * 2 / 5),
                ({"alpha": 1, "beta": 3}, 3 / 5 * 3 / 7 * 5 / 7, 2 / 5 * 1 / 5 * 3 / 5),
                ({"m": 4, "p": "uniform"}, 3 / 5 * 4 / 7 * 4 / 7, 2 / 5 * 2 / 5 * 2 / 5),
                ({"m": 4, "p": "vocabulary"}, 3 / 5 * 4 / 7 * 4 / 7, 2 / 5 * 2 / 5 * 2 / 5)):
            model.put(preset="book", event_model="bernoulli", smoothing=smoothing)
            got = model.classify({"tags": ["x"]}, "?explain=9")
            near(math.exp(got["log_scores"]["a"]), a, smoothing)
            near(math.exp(got["log_scores"]["b"]), b, smoothing)
            near(sum(row["evidence"] for row in got["explanation"]), abs(math.log(a / b)), smoothing)


def test_tumours(api):
    rows = attributes.table(attributes.TUMOURS, attributes.TUMOUR_FIELDS)
    with Attributes(api, attributes.categories(attributes.TUMOUR_FIELDS)) as model:
        model.filled(rows)
        got = model.assert_scores(attributes.NEW_TUMOUR)
        near(math.exp(got["log_scores"]["malignant"]), 3 / 5 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5 * 1 / 5)
        near(math.exp(got["log_scores"]["benign"]), 2 / 5 * 2 / 4 * 2 / 4 * 2 / 4 * 1 / 4 * 2 / 4)
        equal(got["label"], "malignant")


def test_weather_with_numbers(api):
    """Witten and Frank 2005, section 4.2: the new day sunny, 66, 90, windy with densities."""
    rows = attributes.table(attributes.WEATHER_NUMERIC, attributes.WEATHER)
    days = [({**day, "temperature": int(day["temperature"]), "humidity": int(day["humidity"])}, v) for day, v in rows]
    with Attributes(api, attributes.WEATHER, estimate="mle") as model:
        model.filled(days)
        day = {"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": "true"}
        equal(model.assert_scores(day)["label"], "no")
        for temperature in (66, 66.0, "66", "6.60e1", "+66.", 66.0001, -40, 1e6):
            for humidity in (90, 0, 86.2, None):
                model.assert_scores({"temperature": temperature, "humidity": humidity})
        model.put(preset="book")
        got = model.assert_scores(day)
        tokens = {row["token"] for row in got["explanation"]}
        equal(tokens, {None, "outlook=sunny", "temperature=66", "humidity=90", "windy=true"})
        equal(got["tokens"], {"total": 4, "known": 4, "unknown": 0})
        telling = {row["token"]: row["evidence"] for row in
                   api.get(model.path + "/vocabulary?label=no&limit=100").ok().json["tokens"]}
        holds(telling["humidity=95"] > 0 > telling["humidity=65"], telling)
        model.assert_counts()


def test_labels_of_few_numbers(api):
    """Of no number a label has the mean and the variance of all; of one the variance; equal numbers say nothing."""
    with Attributes(api, {"x": "number", "y": "number"}) as model:
        model.train({"x": 5}, "a", id="1")
        model.train({}, "b", id="2")
        equal(model.assert_scores({"x": 7})["tokens"], {"total": 1, "known": 0, "unknown": 1})
        model.train({"x": 5}, "a", id="3")
        model.assert_scores({"x": 5, "y": 1})  # nothing varies
        model.train({"x": 9}, "c", id="4")
        model.train({"y": 3}, "c", id="5")
        for x in (5, 6, 9, -100):
            model.assert_scores({"x": x, "y": 3})
        near(model.classify({"y": 3})["probabilities"]["c"], 2 / 5)  # all are the same there
        model.untrain(id="4")
        model.assert_scores({"x": 9})
        model.assert_counts()


def test_numbers_are_decimals(api):
    with Attributes(api, {"x": "number", "c": "category"}) as model:
        def shown(value):
            return [row["token"] for row in model.post("tokenize", {"values": {"x": value}}).ok().json["tokens"]]
        for value, text in ((0, "0"), (-0.0, "0"), (1500, "1500"), (0.1, "0.1"), (-12.50, "-12.5"), ("1e3", "1000"),
                            (999999999999900, "999999999999900"), (1 / 3, "0.3333333333333"), ("-.5", "-0.5"),
                            (1e-13, "0.0000000000001"), (1e-20, "0"), (2 / 3 * 1e6, "666666.6666667"),
                            (123456789012345, "123456789012300"), (0.99999999999999, "1")):
            equal(shown(value), ["x=" + text])
        for value in (1e15, -1e15, 10**18, "1e15", 999999999999999.9):
            refused(model.post("train", {"values": {"x": value}, "label": "a"}), 422, "'x'", "10^15")
        for value in ("", "12,5", "NaN", "inf", "0x10", " 1", "1 ", "1e", "-", ".", "1.2.3", True, "9" * 300, "1\0"):
            refused(model.post("train", {"values": {"x": value}, "label": "a"}), 422, "'x'", "number")
        refused(model.post("train", {"values": {"x": [1]}, "label": "a"}), 422, "'x'", "one value")
        refused(model.post("train", {"values": {"x": [1.5]}, "label": "a"}), 400, "\"x\"")
        refused(model.post("train", {"values": {"c": 1.5}, "label": "a"}), 400, "'c'")
        model.train({"x": 1.5, "c": 2}, "a", id="1")
        equal(model.post("train", {"values": {"x": "1.50", "c": "2"}, "label": "a", "id": "1"}).ok().json["status"],
              "unchanged")


def test_numbers_in_bins(api):
    """Of x the labels' numbers are mixed, and a Gaussian cannot tell them apart; of y they are Gaussians."""
    rnd = api.random
    with Attributes(api, {"x": "number", "y": "number"}) as model:
        for n in range(90):
            if n % 3:
                values, label = {"x": rnd.choice([5, 15]), "y": round(rnd.gauss(0, 1), 2)}, "odd"
            else:
                values, label = {"x": rnd.choice([0, 10, 20]), "y": round(rnd.gauss(3, 1), 2)}, "even"
            model.train(values, label, id=str(n))
        model.train({"x": 100}, "other", id="other")
        for number in NUMBERS:
            for settings in ({}, {"estimate": "mle"}, {"event_model": "complement"}, {"event_model": "bernoulli"}):
                model.put(preset="book", number=number, **settings)
                for x in (-100, 0, 2.5, 7, 12.25, 20, 100):
                    model.assert_scores({"x": x, "y": round(rnd.uniform(-2, 5), 1)})
        model.put(preset="book", number="auto")
        scores = dict.fromkeys(NUMBERS)
        for field in ("x", "y"):
            for number in scores:
                model.put(preset="book", number=number)
                scores[number] = model.classify({field: 2.5})["log_scores"]
            equal(scores["auto"], scores["bins" if field == "x" else "gaussian"], field)
        model.put(preset="book", number="bins")
        telling = {row["token"]: row["evidence"] for row in
                   api.get(model.path + "/vocabulary?label=even&limit=1000").ok().json["tokens"]}
        holds(telling["x=10"] > 0 > telling["x=15"], telling)
        refused(api.put(model.path, {"preset": "book", "number": "median"}), 422, "number", "auto")


def test_bins_follow_the_counts(api):
    """Bins are those of the documents that are there, however they came; also of labels that are gone, and of ties."""
    rnd = api.random
    with Attributes(api, {"x": "number", "c": "category"}, number="bins") as model:
        for n in range(70):
            values = {"x": rnd.choice([1, 2, 2.5, 3, rnd.randrange(40)]), "c": rnd.choice("ab")}
            model.train(values, rnd.choice(["one", "two", "three"]), id=str(n % 30))
            if n % 5 == 4:
                model.untrain(id=rnd.choice(sorted(model.documents)))
            if n % 10 == 9:
                model.put(preset="book", number=rnd.choice(["bins", "auto"]), smoothing=rnd.choice([0.1, 1]))
                model.assert_scores({"x": rnd.randrange(40), "c": "a"})
        for label in ("one", "two"):
            for name in [name for name, (v, _) in model.documents.items() if v == label]:
                model.untrain(id=name)
            model.assert_scores({"x": 3})
        for name in sorted(model.documents)[1:]:
            model.untrain(id=name)
        model.assert_scores({"x": 3})


def test_sums_of_numbers_are_exact(api):
    """Large means and small differences: what was learned and forgotten leaves no trace."""
    with Attributes(api, {"x": "number"}) as model:
        for n in range(20):
            model.train({"x": 1_700_000_000_000 + n * n}, "ab"[n % 2], id=str(n))
        model.assert_scores({"x": 1_700_000_000_100})
        for n in range(20, 40):
            model.train({"x": api.random.choice([9e14, -9e14, 1e-13, 7.25])}, "ab"[n % 2], id=str(n))
        for n in range(20, 40):
            model.untrain(id=str(n))
        for x in (0, 50, 100, 361):
            model.assert_scores({"x": 1_700_000_000_000 + x})
        model.assert_counts()


def test_explanation_names_values(api):
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    with Attributes(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS)) as model:
        model.filled(rows)
        got = {row["token"]: row["evidence"] for row in model.classify(attributes.NEW_DAY, "?explain=9")["explanation"]}
        equal(set(got), {None, "humidity=high", "outlook=sunny", "temperature=cool", "wind=strong"})
        near(got["outlook=sunny"], math.log(4 / 8) - math.log(3 / 12))
        near(got[None], math.log(5 / 9))
        tokens = model.post("tokenize", {"values": {"wind": "strong"}}).ok().json["tokens"]
        equal(tokens, [{"token": "wind=strong", "count": 1}])
        telling = api.get(model.path + "/vocabulary?label=no&limit=100").ok().json
        equal((telling["vocabulary"], len(telling["tokens"])), (10, 10))
        evidence = {row["token"]: row["evidence"] for row in telling["tokens"]}
        near(evidence["outlook=overcast"], math.log(1 / 8) - math.log(5 / 12))


def test_missing_values(api):
    """A document that has no value of a field says nothing of it, learned or asked."""
    with Attributes(api, {"a": "category", "b": "category"}) as model:
        model.train({"a": "x", "b": None}, "one")
        model.train({"a": "y"}, "two")
        model.train({"b": "z"}, "two")
        for values in ({"a": "x"}, {"b": "z"}, {"a": None, "b": "z"}, {"a": "x", "b": "z"}, {"a": "unheard"}):
            model.assert_scores(values)
        near(model.classify({"a": "unheard"})["probabilities"]["two"], 2 / 3)
        equal(model.classify({"a": "unheard"})["tokens"], {"total": 1, "known": 0, "unknown": 1})
        model.assert_counts()
        model.train({}, "one", id="nothing")  # a document all the same
        model.train({"a": None}, "three", id="nothing, too")
        got = model.assert_scores({"a": None})
        equal(got["tokens"]["total"], 0)
        near(got["probabilities"]["three"], 1 / 5)


def random_values(rnd):
    words = ["free", "lunch", "Money", "now", "garden", "seeds"]
    values = {}
    if rnd.random() < 0.8:
        values["title"] = " ".join(rnd.choice(words) for _ in range(rnd.randrange(6)))
    if rnd.random() < 0.5:
        values["note"] = " ".join(rnd.choice(words) for _ in range(3))
    if rnd.random() < 0.8:
        values["country"] = rnd.choice(["DE", "FR", "IT", "de", ""])
    if rnd.random() < 0.8:
        values["tags"] = [rnd.choice("abcdef") for _ in range(rnd.randrange(4))]
    if rnd.random() < 0.8:
        values["paid"] = rnd.choice([True, False, 7, -3])
    if rnd.random() < 0.8:
        values["amount"] = rnd.choice([12.5, 0, -3, 1e-3, round(rnd.gauss(100, 30), 2)])
    if rnd.random() < 0.3:
        values["size"] = rnd.choice([123456789012345, 5e14, -0.0000001, rnd.randrange(-10**6, 10**6)])
    return values


def random_document(rnd):
    values = random_values(rnd)
    return values, rnd.choice(["", "", "free seeds for the garden", "money now"])


def test_every_kind_under_every_event_model(api):
    rnd = api.random
    with Attributes(api, ALL_KINDS) as model:
        for n in range(60):
            values, text = random_document(rnd)
            model.train(values, rnd.choice(["ham", "spam", "other"]), id=str(n % 40), text=text)
            if n % 7 == 3:
                model.untrain(id=rnd.choice(sorted(model.documents)))
        model.assert_counts()
        for event in EVENTS:
            for settings in ({}, {"smoothing": 0.01}, {"prior": "uniform"}, {"estimate": "mle"},
                             {"estimate": "map", "smoothing": 1}, {"estimate": "map", "smoothing": 1.5}):
                if event == "complement" and "estimate" in settings:
                    continue  # it may not be 0
                model.put(preset="book", event_model=event, **settings)
                for _ in range(6):
                    model.assert_scores(*random_document(rnd))
                for _, bags in list(model.documents.values())[:6]:  # of which none is impossible
                    known = {name: list(bag) for name, bag in bags.items() if name and model.fields[name] == "set"}
                    model.assert_scores(known)


def test_content_is_an_id(api):
    """The same values are the same document, in whatever order they come, and other values another one."""
    with Attributes(api, ALL_KINDS) as model:
        first = model.train({"country": "DE", "tags": ["b", "a"]}, "ham")
        again = model.post("train", {"values": {"tags": ["a", "b"], "country": "DE"}, "label": "ham"}).ok().json
        equal((again["id"], again["status"]), (first["id"], "unchanged"))
        for other in ({"country": "FR", "tags": ["a", "b"]}, {"country": "DE"}, {"country": "DE", "tags": ["a"]}):
            equal(model.train(other, "spam")["status"], "learned")
        relabelled = model.train({"country": "DE", "tags": ["a", "b"]}, "spam")
        equal((relabelled["status"], relabelled["previous_label"]), ("relabelled", "ham"))
        model.assert_counts()
        equal(model.untrain(values={"tags": ["b", "a"], "country": "DE"})["status"], "forgotten")
        model.assert_counts()
        model.assert_scores({"country": "DE", "tags": ["a"]})


def test_batches_and_lines(api):
    with Attributes(api, {"country": "category"}) as model:
        documents = [{"values": {"country": "DE"}, "label": "one", "id": "1"},
                     {"values": {"land": "DE"}, "label": "one", "id": "2"},
                     {"values": {"country": "FR"}, "label": "two", "id": "3"}]
        reply = model.post("train", {"documents": documents}).ok().json
        equal((reply["learned"], reply["failed"]), (2, 1))
        refused_one = reply["results"][1]["error"]
        equal(refused_one["status"], 422)
        holds("'land'" in refused_one["detail"], refused_one)
        lines = model.post("classify", "".join(json.dumps({"values": d["values"]}) + "\n" for d in documents), NDJSON)
        got = lines.ok().lines
        equal([line.get("label") for line in got], ["one", None, "two"])
        lines = model.post("train", "".join(json.dumps({**d, "id": "n" + d["id"]}) + "\n" for d in documents), NDJSON)
        equal([line.get("status") for line in lines.ok().lines], ["learned", None, "learned"])


def test_refusals(api):
    with Attributes(api, ALL_KINDS) as model:
        def train(values):
            return model.post("train", {"values": values, "label": "x"})
        refused(train({"colour": "red"}), 422, "colour", "fields")
        refused(train({"country": ["DE"]}), 422, "country", "set")
        refused(train({"tags": "a"}), 422, "tags", "list")
        refused(train({"title": ["a"]}), 422, "title")
        refused(train({"country": "x" * 257}), 422, "country", "256")
        refused(train({"country": 1.5}), 400, "country", "string")
        refused(train({"tags": ["a", 1.5]}), 400, "tags", "string")
        refused(train({"amount": "12 EUR"}), 422, "amount", "number", "12 EUR")
        refused(train({"country": {"a": 1}}), 400, "country")
        refused(train({"tags": [None]}), 400, "tags")
        refused(train("DE"), 400, "values")
        refused(model.post("classify", {"values": {"colour": "red"}}), 422, "colour")
        refused(model.post("tokenize", {"values": {"colour": "red"}}), 422, "colour")
        equal(model.row()["documents"], 0)
        train({"country": "x" * 256}).ok()
    name = api.name()
    refused(api.post(f"/v1/models/{name}/train", {"values": {"a": "b"}, "label": "x"}), 404, name)
    refused(api.get(f"/v1/models/{name}"), 404)


def test_settings(api):
    with Attributes(api, {"b": "category", "a": "text"}) as model:
        equal(model.row()["settings"]["fields"], {"b": "category", "a": "text"})
        model.train({"a": "word", "b": "DE"}, "one", id="1")
        model.train({"a": "other", "b": "FR"}, "two", id="2")
        model.put(preset="book", smoothing=0.5)  # left out: they stay
        equal(list(model.row()["settings"]["fields"].items()), [("b", "category"), ("a", "text")])
        model.assert_scores({"a": "word", "b": "DE"})
        model.fields = {"c": "set", "a": "text", "b": "category"}
        api.put(model.path, {**model.settings, "fields": model.fields}).ok(200)
        equal(list(model.row()["settings"]["fields"].items()), [("b", "category"), ("a", "text"), ("c", "set")])
        model.train({"c": ["x"]}, "two", id="3")
        model.assert_scores({"a": "word", "b": "DE", "c": ["x", "y"]})
        book = {"preset": "book"}
        refused(api.put(model.path, {**book, "fields": {"a": "text", "b": "category"}}), 409, "fields")
        refused(api.put(model.path, {**book, "fields": {"a": "text", "b": "text", "c": "set"}}), 409, "fields")
        refused(api.put(model.path, {**book, "fields": {}}), 409, "fields")
        refused(api.put(model.path, {**book, "fields": {"d": "number"}}), 409, "name all of them together with the new ones")
        refused(api.put(model.path, {**book, "fields": {"b": "category", "a": "text", "c": "colour"}}), 422, "colour")
        refused(api.put(model.path, {**book, "fields": {"a": 1}}), 400, "fields")
        refused(api.put(model.path, {**book, "fields": ["a"]}), 400, "fields")
        for bad in ("", "x" * 33, "a=b", "a:b", "a\n"):
            refused(api.put("/v1/models/" + api.name(), {**book, "fields": {bad: "text"}}), 422, "fields")
        many = {f"f{n}": "category" for n in range(257)}
        refused(api.put("/v1/models/" + api.name(), {**book, "fields": many}), 422, "256")
        whole = {**book, "fields": {"a": "text"}, "predict": "integrate"}
        refused(api.put("/v1/models/" + api.name(), whole), 422, "predict", "fields", "text")
        refused(api.put("/v1/models/" + api.name(), {**book, "fields": {"a": "text"}, "parent": model.name}), 409, "fields")
        equal(model.row()["documents"], 3)
    plain = "/v1/models/" + api.name()
    equal(api.put(plain, {}).ok(201).json["settings"]["fields"], {})
    api.delete(plain).ok(204)


def filled(api, model, rnd):
    for n in range(40):
        values, text = random_document(rnd)
        model.train(values, rnd.choice(["ham", "spam"]), id=str(n % 25), text=text)
    model.untrain(id="3")
    model.assert_counts()


def verdicts(client, path, probes):
    return [client.post(path + "/classify?explain=100", {"values": v, "text": t}).ok().json for v, t in probes]


def without_model(replies):
    return [{k: v for k, v in reply.items() if k != "model"} for reply in replies]


def test_import_under_another_key(api):
    """Ids of features are others there; the counts, and so the verdicts, are the same."""
    other = api.another().start()
    probes = [random_document(api.random) for _ in range(10)]
    with Attributes(api, ALL_KINDS) as model:
        filled(api, model, api.random)
        dump = api.get(model.path + "/export").ok().body
        want = verdicts(api, model.path, probes)
        for client, path in ((other.client, "/v1/models/copy"), (api, "/v1/models/" + api.name())):
            client.put(path + "/import", dump, NDJSON).ok(201)
            for got, wanted in zip(without_model(verdicts(client, path, probes)), without_model(want)):
                equal(got["log_scores"].keys(), wanted["log_scores"].keys())
                for v in got["log_scores"]:
                    near(got["log_scores"][v], wanted["log_scores"][v], "log score", 1e-12)
            forgotten = client.post(path + "/untrain", {"id": "7"}).ok().json
            equal(forgotten["status"], "forgotten")
    other.stop()


def test_restart_verify_rebuild(api):
    """What was learned is in the ledger: a start after a kill, and a new store, have the same counts."""
    own = api.another()
    probes = [random_document(api.random) for _ in range(10)]
    own.start()
    fields, path = ALL_KINDS, "/v1/models/m"
    own.client.put(path, {"preset": "book", "fields": fields, "number": api.random.choice(NUMBERS)}).ok(201)
    for n in range(30):
        values, text = random_document(api.random)
        own.client.post(path + "/train", {"values": values, "text": text, "id": str(n % 20),
                                          "label": api.random.choice(["ham", "spam"])}).ok()
    want = verdicts(own.client, path, probes)
    own.kill()
    own.start()
    equal(verdicts(own.client, path, probes), want, "after a kill")
    own.stop()
    status, out, err = api.tool("--data", own.data, "--verify")
    equal(status, 0, out + err)
    own.start()
    equal(verdicts(own.client, path, probes), want, "after a stop")
    own.stop()
    status, out, err = api.tool("--data", own.data, "--rebuild")
    equal(status, 0, out + err)
    own.start()
    equal(verdicts(own.client, path, probes), want, "after --rebuild")
    own.stop()


def test_dump_with_another_number(api):
    """A store makes a number's id of its text: a dump in which they differ is refused."""
    with Attributes(api, {"x": "number"}) as model:
        model.train({"x": 12.5}, "a", id="1")
        dump = api.get(model.path + "/export").ok().body
        holds(b'"x=12.5"' in dump, dump)
        path = "/v1/models/" + api.name()
        for text in (b'"x=13.5"', b'"x=none"', b'"x"'):
            refused(api.put(path + "/import", dump.replace(b'"x=12.5"', text), NDJSON), 400, "number")
        refused(api.get(path), 404)
        api.put(path + "/import", dump, NDJSON).ok(201)
        api.delete(path).ok(204)


def test_new_fields(api):
    """Fields come with documents, of the kind of their values, and stay, also over a kill and a rebuild."""
    own = api.another()
    own.start()
    path = "/v1/models/m"

    def train(values, label, **more):
        return own.client.post(path + "/train", {"values": values, "label": label, **more})

    def fields():
        return own.client.get(path).ok().json["settings"]["fields"]
    own.client.put(path, {"preset": "book", "new_fields": "learn"}).ok(201)
    train({"country": "DE", "amount": 12.5, "tags": ["a"], "vip": True, "nothing": None}, "one", id="1").ok()
    want = {"amount": "number", "country": "category", "tags": "set", "vip": "category"}
    equal(fields(), want)
    documents = [{"values": {f"f{n}": n, "country": "FR"}, "label": "two", "id": f"f{n}"} for n in range(3)]
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    equal([line["status"] for line in own.client.post(path + "/train", lines, NDJSON).ok().lines], ["learned"] * 3)
    want.update({f"f{n}": "number" for n in range(3)})
    equal(fields(), want)
    for values, status in (({"amount": "12 EUR"}, 422), ({"long": "x" * 257}, 422), ({"a=b": "x"}, 422),
                           ({"new": "x", "country": ["DE"]}, 422), ({"new": {"a": "b"}}, 400)):
        refused(train(values, "one"), status)
    equal(fields(), want, "nothing of a refused document")
    got = own.client.post(path + "/classify?explain=9", {"values": {"country": "DE", "unheard": 3}}).ok().json
    equal((got["label"], {row["token"] for row in got["explanation"]}), ("one", {"country=DE", None}))
    equal(fields(), want, "nothing of one that is classified")
    own.kill()
    own.start()
    equal(list(fields().items()), list(want.items()))
    equal(own.client.post(path + "/classify?explain=9", {"values": {"country": "DE"}}).ok().json["log_scores"],
          got["log_scores"])
    own.stop()
    for tool in ("--verify", "--rebuild"):
        status, out, err = api.tool("--data", own.data, tool)
        equal(status, 0, out + err)
    own.start()
    equal(fields(), want)
    many = {f"m{n}": "x" for n in range(256 - len(want) + 1)}
    refused(train(many, "one"), 422, "256")
    many.popitem()
    train(many, "one").ok()
    equal(len(fields()), 256)
    refused(train({"one more": 1}, "one"), 422, "256")
    own.client.put(path, {"preset": "book"}).ok(200)
    refused(train({"one more": 1}, "one"), 422, "one more", "fields")
    refused(own.client.post(path + "/classify", {"values": {"one more": 1}}), 422, "one more")
    own.stop()


def test_new_fields_side_by_side(api):
    """Many trainers bring the same fields, and others, at once."""
    path = "/v1/models/" + api.name()
    api.put(path, {"preset": "book", "new_fields": "learn"}).ok(201)

    def trainer(place):
        client = api.daemon.new_client()
        for n in range(12):
            values = {f"f{n}": "x", f"own{place}": n}
            client.post(path + "/train", {"values": values, "label": "one", "id": f"{place} {n}"}).ok()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(trainer, range(6)))
    row = api.get(path).ok().json
    equal(sorted(row["settings"]["fields"]), sorted([f"f{n}" for n in range(12)] + [f"own{n}" for n in range(6)]))
    equal((row["documents"], row["labels"]["one"]["tokens"]), (72, 144))
    api.delete(path).ok(204)


def test_undo(api):
    with Attributes(api, ALL_KINDS) as model:
        filled(api, model, api.random)
        before = dict(model.documents)
        for n in range(100, 105):
            values, text = random_document(api.random)
            document = {"values": values, "text": text, "label": "spam", "id": str(n), "source": "mistaken"}
            model.post("train", document).ok()
        api.post(model.path + "/undo", {"source": "mistaken"}).ok()
        equal(model.documents, before)
        model.assert_counts()
        model.assert_scores(*random_document(api.random))


def test_fields_beside_an_integrated_text(api):
    """Words are integrated, and what is drawn once has its mean: the scores are the sum of both."""
    fields = {"c": "category", "s": "set", "n": "number"}
    rows = [({"c": "x", "s": ["u"], "n": 3}, "sun sun rain", "p"), ({"c": "y", "n": 4}, "rain", "q"),
            ({"c": "y", "s": ["v"], "n": 9}, "rain sun rain", "q")]
    asked, text = {"c": "x", "s": ["u", "v"], "n": 5}, "sun sun rain"
    for number in ("gaussian", "bins"):
        with Attributes(api, fields, number=number, predict="integrate") as model:
            for values, words, label in rows:
                model.train(values, label, text=words)
            whole = model.classify(asked, "?explain=20", text=text)
            of_text = model.classify({}, text=text)["log_scores"]
            of_values = model.classify(asked)["log_scores"]
            # p: sun 2 times, rain once, of 3; q: rain 3 times, sun once, of 4; two words in all.
            integrated = {"p": math.log(1 / 3 * 3 * 4 * 2 / (5 * 6 * 7)), "q": math.log(2 / 3 * 2 * 3 * 4 / (6 * 7 * 8))}
            prior = {"p": math.log(1 / 3), "q": math.log(2 / 3)}
            for label in integrated:
                near(of_text[label], integrated[label])
                near(whole["log_scores"][label], of_text[label] + of_values[label] - prior[label])
            scores = sorted(whole["log_scores"].values())
            near(sum(row["evidence"] for row in whole["explanation"]), scores[1] - scores[0])
            model.put(preset="book", number=number)
            equal(model.classify(asked)["log_scores"], of_values, "values are drawn once: integrated they are their mean")
            holds(model.classify({}, text=text)["log_scores"] != of_text, "words are not")
