# SPDX-License-Identifier: Apache-2.0
"""Posterior mean, posterior mode and relative frequency: probabilities of 0 are told as null and stay sound."""
import math
from collections import Counter
from fractions import Fraction

from book import PROBES, Model
from harness import equal, holds, near, refused
from test_client import Bayesc

SETTINGS = [{"estimate": "mean", "smoothing": 0.3}, {"estimate": "map", "smoothing": 1.5}, {"estimate": "map"},
            {"estimate": "mle"}, {"estimate": "mle", "smoothing": 7}]


def may_be_zero(settings):
    return settings["estimate"] == "mle" or settings == {"estimate": "map"}


def window_of(model):
    return model.api.get(model.path + "/evaluation").ok().json["windows"][-1]


def rows_of(got):
    return {row["token"]: row["evidence"] for row in got["explanation"]}


def test_every_event_model(api):
    """Number for number; of what a label has all words of, and of what none has."""
    with Model(api) as model:
        model.filled()
        model.train("rare third thing today", "third", id="3")
        probes = (*PROBES, "Click the link", "thing rare", "today")
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            for settings in SETTINGS:
                if event == "complement" and may_be_zero(settings):
                    continue
                for more in ({}, {"min_count": 2}, {"prior": "uniform"}):
                    model.put(event_model=event, **settings, **more)
                    model.assert_exact(probes)
        equal(model.row()["settings"]["estimate"], "map")


def test_by_hand(api):
    with Model(api, estimate="mle") as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        got = model.classify("sun rain", "?explain=9")
        near(got["log_scores"]["a"], math.log(1 / 2 * 2 / 3 * 1 / 3))
        equal((got["log_scores"]["b"], got["label"], got["probabilities"]), (None, "a", {"a": 1, "b": 0}))
        rows = rows_of(got)
        equal(rows["sun"], None, "it alone makes b impossible")
        near(rows["rain"], math.log((1 / 3) / (1 / 2)))
        near(rows[None], 0)
        equal(got["explanation"][0]["token"], "sun", "strongest first")
        got = model.classify("sun hail", "?explain=9")
        equal((got["log_scores"], got["label"]), ({"a": None, "b": None}, "a"), "a tie")
        equal(got["probabilities"], {"a": 0.5, "b": 0.5})
        equal(rows_of(got), {"sun": None, "hail": None, None: 0.0})
        model.put(estimate="map", smoothing=3)  # 2 is added to each count
        near(model.classify("sun")["log_scores"]["b"], math.log(1 / 2 * 2 / 8))


def test_words_that_all_documents_of_a_label_have(api):
    """Bernoulli: a document without such a word is impossible, one with it is not."""
    with Model(api, estimate="mle", event_model="bernoulli") as model:
        model.train("sun rain", "a", id="1")
        model.train("sun", "a", id="2")
        model.train("hail rain", "b", id="3")
        model.train("rain sun", "b", id="4")
        got = model.classify("sun", "?explain=9")
        near(got["log_scores"]["a"], math.log(1 / 2 * 1 * 1 / 2))
        equal(got["log_scores"]["b"], None, "all of b have rain")
        equal(rows_of(got)[None], None, "no word of the document, but one that it lacks")
        got = model.classify("sun rain", "?explain=9")
        near(got["log_scores"]["a"], math.log(1 / 2 * 1 * 1 / 2))
        near(got["log_scores"]["b"], math.log(1 / 2 * 1 / 2 * 1 * 1 / 2))
        near(sum(rows_of(got).values()), math.log(2), "evidence", 1e-9)
        equal(model.classify("")["log_scores"], {"a": None, "b": None})


def test_explanations_add_up_where_labels_are_possible(api):
    with Model(api) as model:
        model.filled()
        for event in ("multinomial", "binary", "bernoulli"):
            model.put(event_model=event, estimate="mle")
            for text in (*PROBES, "the", "today the", "Click the link today", "send you the"):
                got = model.classify(text, "?explain=1000")
                scores, rows = got["log_scores"], rows_of(got)
                second = next(v for v in scores if v != got["label"])
                if None not in scores.values():
                    near(sum(rows.values()), scores[got["label"]] - scores[second], text, 1e-9)
                elif scores[got["label"]] is not None:
                    holds(None in rows.values(), f"nothing makes {second} impossible: {text}")


def test_smoothing_by_label(api):
    """Each label has its own; one that is not named has the mean of the named."""
    with Model(api, smoothing={"labels": {"a": 0.5, "b": 2}}) as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        model.train("wind", "c", id="3")
        scores = model.classify("sun", "?explain=5")["log_scores"]
        near(scores["a"], math.log(1 / 3 * 2.5 / (3 + 0.5 * 4)))
        near(scores["b"], math.log(1 / 3 * 2 / (2 + 2 * 4)))
        near(scores["c"], math.log(1 / 3 * 1.25 / (1 + 1.25 * 4)))
        equal(model.row()["settings"]["smoothing"], {"labels": {"a": 0.5, "b": 2}})
        model.put(smoothing={"labels": {"a": 1, "b": 3}}, estimate="map")
        got = model.classify("hail", "?explain=5")
        equal(got["log_scores"]["a"], None)
        near(got["log_scores"]["b"], math.log(1 / 3 * 3 / (2 + 2 * 4)))
        near(got["log_scores"]["c"], math.log(1 / 3 * 1 / (1 + 1 * 4)))
        near(sum(rows_of(got).values()), got["log_scores"]["b"] - got["log_scores"]["c"], "evidence")


def test_beta(api):
    """(d + alpha) / (D + alpha + beta), and what is left for its absence."""
    with Model(api, event_model="bernoulli", smoothing={"alpha": 0.5, "beta": 3}) as model:
        model.train("sun rain", "a", id="1")
        model.train("sun", "a", id="2")
        model.train("hail", "b", id="3")
        scores = model.classify("sun")["log_scores"]
        near(scores["a"], math.log(2 / 3 * 2.5 / 5.5 * (1 - 1.5 / 5.5) * (1 - 0.5 / 5.5)))
        near(scores["b"], math.log(1 / 3 * 0.5 / 4.5 * (1 - 0.5 / 4.5) * (1 - 1.5 / 4.5)))
        equal(model.row()["settings"]["smoothing"], {"alpha": 0.5, "beta": 3})


def test_m_estimate(api):
    with Model(api) as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        model.put(smoothing={"m": 6, "p": "uniform"})
        near(model.classify("sun")["log_scores"]["a"], math.log(1 / 2 * (2 + 6 / 3) / (3 + 6)))
        model.put(smoothing={"m": 6, "p": "vocabulary"})
        got = model.classify("sun", "?explain=5")
        near(got["log_scores"]["a"], math.log(1 / 2 * (2 + 6 * 2 / 5) / (3 + 6)))
        near(got["log_scores"]["b"], math.log(1 / 2 * (0 + 6 * 2 / 5) / (2 + 6)))
        near(sum(rows_of(got).values()), got["log_scores"]["a"] - got["log_scores"]["b"], "evidence")
        model.put(smoothing={"m": 6, "p": "vocabulary"}, event_model="bernoulli")
        equal(model.classify("sun")["log_scores"], {"a": None, "b": None}, "all documents have rain")
        near(model.classify("sun rain")["log_scores"]["b"], math.log(1 / 2 * (0 + 6 / 2) / 7 * 1 * (0 + 6 / 2) / 7))
        equal(model.row()["settings"]["smoothing"], {"m": 6, "p": "vocabulary"})


def test_m_estimate_of_a_parent(api):
    """p_w is Laplace's estimate from the parent's counts of all labels; labels and vocabulary are the model's own."""
    with Model(api) as parent, Model(api, parent=parent.name, smoothing={"m": 6, "p": "parent"}) as model:
        model.train("sun sun rain", "a", id="1")
        near(model.classify("sun")["log_scores"]["a"], math.log(1 * (2 + 6 / 2) / (3 + 6)), "a parent without documents: uniform")
        for i, (text, label) in enumerate((("sun sun sun hail", "a"), ("sun rain", "b"), ("snow", "other"))):
            parent.train(text, label, id=str(i))
        near(model.classify("sun")["log_scores"]["a"], math.log((2 + 6 * 5 / 12) / 9), "4 of 7 counts, 4 words and one")
        model.train("rain wind", "b", id="2")
        got = model.classify("sun wind snow", "?explain=5")
        equal(sorted(got["log_scores"]), ["a", "b"])
        equal(got["tokens"], {"total": 3, "known": 2, "unknown": 1}, "snow is none of the model's words")
        near(got["log_scores"]["a"], math.log(1 / 2 * (2 + 6 * 5 / 12) / 9 * (0 + 6 * 1 / 12) / 9))
        near(got["log_scores"]["b"], math.log(1 / 2 * (0 + 6 * 5 / 12) / 8 * (1 + 6 * 1 / 12) / 8))
        near(sum(rows_of(got).values()), got["log_scores"]["b"] - got["log_scores"]["a"], "evidence")
        near(rows_of(got)["wind"], math.log(1.5 / 8) - math.log(0.5 / 9))
        model.put(preset="book", parent=parent.name, smoothing={"m": 6, "p": "parent"}, event_model="binary")
        near(model.classify("sun")["log_scores"]["b"], math.log(1 / 2 * (0 + 6 * 3 / 10) / 8), "2 of 5, 4 words and one")
        model.put(preset="book", parent=parent.name, smoothing={"m": 6, "p": "parent"}, event_model="complement")
        near(model.classify("sun")["log_scores"]["b"], math.log(1 / 2) - math.log((2 + 6 * 5 / 12) / 9))
        equal(model.row()["settings"]["smoothing"], {"m": 6, "p": "parent"})
        refused(api.delete(parent.path), 409, model.name)
        for id in ("1", "2"):
            model.untrain(id=id)
        equal(model.classify("snow sun")["log_scores"], parent.classify("snow sun")["log_scores"], "without documents: the parent")


def test_integrated(api):
    """Each word is learned before the next: the same text, word for word, under the mean."""
    with Model(api, predict="integrate", smoothing=0.5) as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        got = model.classify("sun sun unheard sun rain", "?explain=5")
        near(got["log_scores"]["a"], math.log(1 / 2 * 2.5 * 3.5 * 4.5 * 1.5 / (4.5 * 5.5 * 6.5 * 7.5)))
        near(got["log_scores"]["b"], math.log(1 / 2 * 0.5 * 1.5 * 2.5 * 1.5 / (3.5 * 4.5 * 5.5 * 6.5)))
        near(sum(rows_of(got).values()), got["log_scores"]["a"] - got["log_scores"]["b"], "evidence")
        near(model.classify("sun")["log_scores"]["a"], math.log(1 / 2 * 2.5 / 4.5), "one word is the mean")
        near(model.classify("")["log_scores"]["a"], math.log(1 / 2))
        model.put(predict="integrate", smoothing={"m": 6, "p": "vocabulary"})
        near(model.classify("sun sun")["log_scores"]["b"], math.log(1 / 2 * 2.4 * 3.4 / (8 * 9)))
        model.put(predict="integrate", smoothing={"labels": {"a": 2, "b": 1}})
        near(model.classify("sun sun")["log_scores"]["b"], math.log(1 / 2 * 1 * 2 / (5 * 6)))
        equal(model.row()["settings"]["predict"], "integrate")


def test_a_long_document_is_integrated_at_once(api):
    """A word 100,000 times: the logarithm of its rising factorial, as lgamma has it."""
    with Model(api, predict="integrate") as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        scores = model.classify("rain " * 100000)["log_scores"]
        for label, mine, size in (("a", 2, 6), ("b", 2, 5)):
            near(scores[label], math.log(1 / 2) + math.lgamma(mine + 100000) - math.lgamma(mine)
                 - math.lgamma(size + 100000) + math.lgamma(size), label)


def test_refusals(api):
    with Model(api) as model:
        for settings, words in (({"estimate": "median"}, ("estimate", "mean, map, mle")),
                                ({"estimate": "map", "smoothing": 0.99}, ("estimate", "smoothing", "at least 1")),
                                ({"estimate": "mle", "event_model": "complement"}, ("estimate", "complement")),
                                ({"estimate": "map", "event_model": "complement"}, ("estimate", "above 1")),
                                ({"predict": "guess"}, ("predict", "estimate, integrate")),
                                ({"predict": "integrate", "event_model": "binary"}, ("predict", "multinomial")),
                                ({"predict": "integrate", "estimate": "mle"}, ("predict", "mean")),
                                ({"smoothing": {}}, ("smoothing", "labels", "alpha", "m")),
                                ({"smoothing": {"m": 1}}, ("smoothing", "p")),
                                ({"smoothing": {"m": 1, "p": "uniform", "beta": 1}}, ("smoothing",)),
                                ({"smoothing": {"labels": {"a": 1}, "m": 1, "p": "uniform"}}, ("smoothing",)),
                                ({"smoothing": {"m": 1, "p": "parents"}}, ("p", "uniform, vocabulary")),
                                ({"smoothing": {"m": 0, "p": "uniform"}}, ("smoothing", "above 0")),
                                ({"smoothing": {"m": 1, "p": "parent"}}, ("smoothing", "parent")),
                                ({"smoothing": {"labels": {}}}, ("smoothing", "at least one label")),
                                ({"smoothing": {"labels": {"a": 0}}}, ("smoothing", "a", "above 0")),
                                ({"smoothing": {"labels": {"a": 1e7}}}, ("smoothing", "a", "at most")),
                                ({"smoothing": {"alpha": 1, "beta": 0}}, ("beta", "above 0")),
                                ({"smoothing": {"alpha": 1, "beta": 1}}, ("smoothing", "bernoulli")),
                                ({"smoothing": {"m": 1, "p": "uniform"}, "estimate": "mle"}, ("estimate", "no prior")),
                                ({"smoothing": {"m": 1, "p": "uniform"}, "estimate": "map"}, ("estimate", "mean")),
                                ({"smoothing": {"labels": {"a": 0.5}}, "estimate": "map"}, ("estimate", "at least 1"))):
            refused(api.put(model.path, settings), 422, *words)
        for smoothing, word in (([1], "array"), ({"labels": 1}, "labels"), ({"labels": {"a": "1"}}, "a"),
                                ({"m": "1", "p": "uniform"}, "m"), ({"n": 1, "p": "uniform"}, "n"), ({"m": 1, "p": 2}, "p")):
            refused(api.put(model.path, {"smoothing": smoothing}), 400, word)
        equal(model.row()["settings"]["estimate"], "mean")
        equal(model.row()["settings"]["smoothing"], 1.0)
        with Model(api, parent=model.name) as child:
            refused(api.put(child.path, {"parent": model.name, "smoothing": {"m": 1, "p": "uniform"}}), 422, "smoothing", "parent")
            refused(api.put(child.path, {"parent": model.name, "predict": "integrate"}), 422, "predict", "parent")
            by_parent = {"parent": model.name, "smoothing": {"m": 1, "p": "parent"}}
            refused(api.put(child.path, {**by_parent, "decision": "stacked"}), 422, "smoothing", "bayes")
            refused(api.put(child.path, {**by_parent, "preset": "book", "event_model": "bernoulli"}), 422, "bernoulli")
            refused(api.put(child.path, {**by_parent, "preset": "book", "estimate": "map"}), 422, "mean")
        api.put(model.path, {"estimate": "map", "smoothing": 1.5, "event_model": "complement"}).ok(200)


def test_scores_of_impossible_labels_are_kept(api):
    """Evaluation, export and import, levels, and the words of a label."""
    with Model(api, estimate="mle", decision="bayes") as model, Model(api) as copy:
        for i in range(6):
            model.train(f"sun word{i % 2}", "a/x" if i % 2 else "a/y", id=f"a{i}")
            model.train(f"rain word{i % 3}", "b", id=f"b{i}")
        equal(window_of(model)["documents"], 12)
        got = model.classify("sun word1", "?level=1")
        near(got["log_scores"]["a"], math.log(1 / 4 * 1 / 2 * 1 / 2))
        equal((got["log_scores"]["b"], got["probabilities"]), (None, {"a": 1, "b": 0}))
        tokens = api.get(model.path + "/vocabulary?label=b&limit=9").ok().json["tokens"]
        equal((tokens[0]["token"], tokens[0]["evidence"], tokens[-1]["evidence"]), ("rain", None, None))
        holds(all(row["evidence"] is not None for row in tokens[2:4]), tokens)
        equal(tokens[-1]["token"], "sun", "b does not have it: last")
        dump = api.get(model.path + "/export").ok().body
        api.put(copy.path + "/import", dump, "application/x-ndjson").ok()
        equal(copy.row()["settings"]["estimate"], "mle")
        equal(window_of(copy), window_of(model))
        for text in ("sun word1", "sun rain", "word0", ""):
            equal(copy.classify(text)["log_scores"], model.classify(text)["log_scores"], text)


DIRICHLETS = ({"default": 2.0}, {"default": 0.5}, {"default": 3.0, "labels": {"ham": 1.0, "nobody": 9.0}})


def test_a_dirichlet_prior_of_the_labels(api):
    """The posterior's mean and mode by fractions, of two labels and three; "dirichlet" is also the name of a label."""
    with Model(api) as model:
        model.filled()
        for third in (False, True):
            if third:
                model.train("rare third thing", "third", id="3")
            for a in DIRICHLETS:
                for estimate, smoothing, predict in (("mean", 1, "estimate"), ("mean", 1, "integrate"), ("map", 1.5, "estimate")):
                    if estimate == "map" and a["default"] < 1:
                        continue
                    model.put(prior={"dirichlet": a}, estimate=estimate, smoothing=smoothing, predict=predict)
                    equal(model.row()["settings"]["prior"], {"dirichlet": a})
                    docs = Counter(label for label, _ in model.documents.values())
                    count = {v: Fraction(n) + Fraction(a.get("labels", {}).get(v, a["default"])) - (estimate == "map") for v, n in docs.items()}
                    got = model.classify("")["probabilities"]
                    for v, n in count.items():
                        near(got[v], float(n / sum(count.values())), f"{v} {a} {estimate} {predict}")
        model.put(prior={"dirichlet": 3, "ham": 1})
        equal(model.row()["settings"]["prior"], {"dirichlet": 3, "ham": 1}, "weights of labels")


def test_a_dirichlet_prior_that_cannot_be(api):
    """A mode counts 1 less: below 1 it would be below 0 for a label without a document."""
    with Model(api) as model:
        def put(a, **more): return api.put(model.path, {"prior": {"dirichlet": a}, **more})
        for a, word in (({"default": 2, "labels": {"spam": 0.5}}, "\"spam\" has 0.5"), ({"default": 0.5}, "\"default\" is 0.5")):
            refused(put(a, estimate="map", smoothing=2), 422, "map", "at least 1", word)
            put(a).ok()
        refused(put({"default": 2}, estimate="mle"), 422, "mle", "no prior")
        put({"default": 1, "labels": {"spam": 1}}, estimate="map", smoothing=2).ok()


def test_priors_are_stored(api):
    """In the ledger, in a dump, and after a start."""
    daemon = api.another().start()
    client = daemon.client
    forms = [{"labels": {"a": 0.5, "ü": 2.0}}, {"alpha": 0.25, "beta": 3.0}, {"m": 50.0, "p": "vocabulary"}, {"m": 2.5, "p": "uniform"}]
    said = []
    priors = ["empirical", {"dirichlet": {"default": 0.5}}, {"dirichlet": {"default": 2.0, "labels": {"a": 3.0, "ü": 0.25}}}, {"a": 2.0}]
    for i, smoothing in enumerate(forms):
        client.put(f"/v1/models/m{i}", {"preset": "book", "smoothing": smoothing, "event_model": "bernoulli", "prior": priors[i]}).ok(201)
        for n, (text, label) in enumerate((("sun sun rain", "a"), ("rain hail", "ü"), ("wind", "c"))):
            client.post(f"/v1/models/m{i}/train", {"text": text, "label": label, "id": str(n)}).ok()
        dump = client.get(f"/v1/models/m{i}/export").ok().body
        client.put(f"/v1/models/copy{i}/import", dump, "application/x-ndjson").ok(201)
        said.append(client.post(f"/v1/models/m{i}/classify", {"text": "sun hail"}).ok().json["log_scores"])
    daemon.kill()
    client = daemon.start().client
    for i, smoothing in enumerate(forms):
        for name in (f"m{i}", f"copy{i}"):
            settings = client.get("/v1/models/" + name).ok().json["settings"]
            equal((settings["smoothing"], settings["prior"]), (smoothing, priors[i]))
            equal(client.post(f"/v1/models/{name}/classify", {"text": "sun hail"}).ok().json["log_scores"], said[i], name)


def test_two_labels_are_evaluated(api):
    """The odds of an impossible label are a number in the store."""
    with Model(api, estimate="mle") as model, Model(api) as copy:
        for i in range(8):
            model.train(("sun", "rain")[i % 2] + f" word{i % 3}", "ab"[i % 2], id=str(i))
        equal(window_of(model)["documents"], 8)
        api.put(copy.path + "/import", api.get(model.path + "/export").ok().body, "application/x-ndjson").ok()
        equal(window_of(copy), window_of(model))


def test_with_a_parent(api):
    """Counts of both together; smoothing that is 0 stays 0."""
    with Model(api) as parent, Model(api, parent=parent.name, estimate="mle", parent_strength=2) as model:
        for i, (text, label) in enumerate((("sun sun", "a"), ("sun rain", "a"), ("rain hail", "b"), ("rain", "b"))):
            parent.train(text, label, id=str(i))
        model.train("sun wind", "a", id="own")
        got = model.classify("sun rain", "?explain=9")
        near(got["log_scores"]["a"], math.log((1 + 1) / 3 * (1 + 3 / 2) / 4 * (1 / 2) / 4))
        equal((got["log_scores"]["b"], got["label"], rows_of(got)["sun"]), (None, "a", None))
        got = model.classify("wind hail", "?explain=9")
        equal((got["log_scores"], rows_of(got)["wind"], rows_of(got)["hail"]), ({"a": None, "b": None}, None, None))
        model.put(preset="book", parent=parent.name, parent_strength=2, estimate="map", smoothing=1.5)
        near(model.classify("rain")["log_scores"]["b"], math.log(1 / 3 * (1 + 0.5 * 0.5555555555555556) /
                                                                  (1.5 + 0.5 * 0.5555555555555556 * 3)))


def test_mail_software_gets_numbers(api):
    client = api.another().start().client
    client.put("/v1/models/mail", {"preset": "book", "estimate": "mle", "ready_documents": 1}).ok(201)
    for i, (text, label) in enumerate((("sun sun", "ham"), ("rain rain", "spam"))):
        client.post("/v1/models/mail/train", {"text": text, "label": label, "id": str(i)}).ok()
    for text in ("sun", "rain", "sun rain"):
        reply = client.post("/checkv2", "Subject: x\r\n\r\n" + text, "message/rfc822").ok().json
        scores = [symbol["score"] for symbol in reply["symbols"].values()]
        holds(scores and all(isinstance(s, (int, float)) and abs(s) < 1e6 for s in scores), reply)


def test_the_client_says_infinite(api):
    with Model(api, estimate="mle") as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain hail", "b", id="2")
        client = Bayesc(api, f"http://{api.daemon.host}:{api.daemon.port}")
        table = client.run("explain", "-m", model.name, "--text", stdin=b"sun rain").decode().splitlines()
        row = next(line.split() for line in table if line.startswith("sun "))
        equal(row, ["sun", "1", "+inf", "a", "#" * 12])
        rows = [line.split() for line in client.run("stats", "-m", model.name).decode().splitlines()]
        holds(["sun", "+inf", "2", "0"] in rows and ["sun", "-inf", "0", "2"] in rows, rows)
