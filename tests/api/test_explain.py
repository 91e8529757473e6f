# SPDX-License-Identifier: Apache-2.0
"""Why a verdict fell as it did, and which words tell most."""
import math
import re

from book import HAM, SPAM, Model
from harness import equal, holds, near, quoted, refused


def assert_adds_up(got):
    """The rows sum to ln(P(winner)/P(runner-up)); returns the tokens' rows."""
    scores, rows = got["log_scores"], got["explanation"]
    others = [s for v, s in scores.items() if v != got["label"]]
    near(sum(row["evidence"] for row in rows), scores[got["label"]] - max(others), "sum", 1e-9)
    equal(sum(row["token"] is None for row in rows), 1, f"prior's row in {rows}")
    tokens = [row for row in rows if row["token"] is not None]
    weights = [abs(row["evidence"]) for row in tokens]
    equal(weights, sorted(weights, reverse=True), "strongest first")
    return tokens


def test_evidence_of_few_documents_adds_up(api):
    """The stack is not surer than its documents allow; the rows sum to what it says."""
    with Model(api, preset="text") as model:
        for size in (1, 3, 10):
            for i in range(size):
                model.train(f"cheap pills win prize money {i} now", "spam", id=f"s{size}-{i}")
                model.train(f"garden lunch minutes seeds draft {i} then", "ham", id=f"h{size}-{i}")
            got = model.classify("cheap pills win prize money now " * 20, "?explain=10000")
            equal(got["label"], "spam")
            holds(got["probability"] < {1: 0.92, 3: 0.985, 10: 0.9999}[size], f"{size}: {got['probability']}")
            odds = math.log(got["probabilities"]["spam"] / got["probabilities"]["ham"])
            near(sum(row["evidence"] for row in got["explanation"]), odds, "sum", 1e-9)


def test_evidence_for_the_larger_label_adds_up(api):
    """Few documents of one label: the other is not pulled below its share, and this one is not surer than it may be."""
    with Model(api, preset="text") as model:
        for i in range(60):
            model.train(f"cheap pills win prize money {i} now", "spam", id=f"s{i}")
        for i in range(3):
            model.train(f"garden lunch minutes seeds draft {i} then", "ham", id=f"h{i}")
        limit = math.sqrt(10 / (1 / 60 + 1 / 3))
        for text, label, prior in (("cheap pills win prize money now", "spam", math.log(20)),
                                   ("garden lunch minutes seeds draft then", "ham", 0)):
            got = model.classify((text + " ") * 20, "?explain=10000")
            equal(got["label"], label)
            odds = math.log(got["probability"] / (1 - got["probability"]))
            holds(0 < odds < prior + limit, f"{label}: {odds}")
            near(sum(row["evidence"] for row in got["explanation"]), odds, "sum", 1e-9)


def test_evidence_adds_up(api):
    probes = ["win a prize in the garden today", "win " * 40 + "garden", "unheard", "",
              "the the the draft of cheap chapter seeds!"]
    with Model(api) as model:
        model.filled()
        model.train("third kind of words, garden win", "third")
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            for settings in ({}, {"smoothing": 0.1}, {"prior": "uniform"}, {"min_count": 2}):
                model.put(event_model=event, **settings)
                for text in probes:
                    assert_adds_up(model.classify(text, "?explain=10000"))


def test_rows_by_hand(api):
    with Model(api) as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain", "b", id="2")
        rows = model.classify("sun rain sun", "?explain=10")["explanation"]
        by_token = {row["token"]: row for row in rows}
        near(by_token["sun"]["evidence"], 2 * math.log((3 / 5) / (1 / 3)), "sun")
        equal(by_token["sun"]["count"], 2)
        near(by_token["rain"]["evidence"], math.log((2 / 5) / (2 / 3)), "rain")
        near(by_token[None]["evidence"], 0.0, "prior")


def test_as_many_rows_as_asked_for(api):
    with Model(api) as model:
        model.filled()
        text = "win the cheap garden prize today"
        full = [r for r in model.classify(text, "?explain=10000")["explanation"] if r["token"] is not None]
        holds("explanation" not in model.classify(text), "an explanation that nobody asked for")
        for n in (1, 2, 3):
            rows = [r for r in model.classify(text, f"?explain={n}")["explanation"] if r["token"] is not None]
            equal(rows, full[:n])


def test_explain_in_a_batch(api):
    with Model(api) as model:
        model.filled()
        reply = model.post("classify?explain=5", {"documents": [{"text": "win"}, {"text": "garden"}]}).ok()
        for result in reply.json["results"]:
            assert_adds_up(result)
        reply = model.post("classify?explain=5", '{"text":"win"}\n{"text":"garden"}\n', "application/x-ndjson").ok()
        for result in reply.lines:
            assert_adds_up(result)


def test_explain_with_one_label(api):
    with Model(api) as model:
        model.train("only words", "only")
        holds(isinstance(model.classify("only", "?explain=5").get("explanation"), list), "no list")


def test_telling_words(api):
    with Model(api) as model:
        model.filled()
        counts = {v: {} for v in ("ham", "spam")}
        for label, bag in model.documents.values():
            for token, count in bag.items():
                counts[label][token] = counts[label].get(token, 0) + count
        for label in ("ham", "spam"):
            reply = api.get(f"{model.path}/vocabulary?label={label}&limit=10000").ok().json
            equal(reply["vocabulary"], model.row()["vocabulary"])
            equal(len(reply["tokens"]), reply["vocabulary"], "rows")
            for row in reply["tokens"]:
                want = {v: counts[v].get(row["token"], 0) for v in counts}
                equal({v: row["counts"].get(v, 0) for v in counts}, want, row["token"])
            evidence = [row["evidence"] for row in reply["tokens"]]
            equal(evidence, sorted(evidence, reverse=True), "most telling first")
        top = api.get(f"{model.path}/vocabulary?label=spam&limit=3").ok().json["tokens"]
        equal(len(top), 3)
        holds(all(row["counts"]["spam"] > row["counts"].get("ham", 0) for row in top), top)


def test_vocabulary_of_odd_labels(api):
    with Model(api) as model:
        model.train("one", "a b/é&", id="1")
        model.train("two", "c", id="2")
        row = api.get(f"{model.path}/vocabulary?label={quoted('a b/é&')}&limit=1").ok().json["tokens"][0]
        equal((row["token"], row["counts"].get("a b/é&")), ("one", 1))


def test_vocabulary_refusals(api):
    with Model(api) as model:
        model.filled()
        path = model.path + "/vocabulary"
        refused(api.get(path + "?label=nobody"), 404, "nobody")
        refused(api.get(path + "?label=spam&limit=x"), 400, "limit")
        refused(api.get(path + "?label=spam&limit=-1"), 400, "limit")
        refused(api.get(path + "?label=spam&limit=10001"), 400, "limit", "10000")
        refused(api.get(path + "?label=spam&lmit=3"), 400, "lmit")
        refused(api.get(path), 400, "label")


def occurrences(model, texts, token):
    """How often a word is in these texts; or, of a run of five letters, where it stands in them."""
    if token.startswith("ngram:"):
        return sum(text.lower().count(token[len("ngram:"):]) for text in texts)
    results = model.post("tokenize", {"documents": [{"text": text} for text in texts]}).ok().json["results"]
    return sum(t["count"] for one in results for t in one["tokens"] if t["token"] == token)


def test_tokens_have_their_counts_on_request(api):
    """Of the winner and the runner-up, by the book and stacked; of a token that the model does not know there are none."""
    probe = 'win a prize in the garden "today" unheardof'
    for settings in ({}, {"preset": "text"}):
        with Model(api, **settings) as model:
            model.filled()
            third = "third kind of words, garden win"
            model.train(third, 'a "third" <b>')
            texts = {"ham": HAM, "spam": SPAM, 'a "third" <b>': [third]}
            plain, got = (model.classify(probe, "?explain=10000" + more) for more in ("", "&word_counts=1"))
            holds(not any("counts" in row for row in plain["explanation"]), "counts that nobody asked for")
            first, second = sorted(got["probabilities"], key=got["probabilities"].get, reverse=True)[:2]
            equal(first, got["label"])
            seen = {row["token"]: row["counts"] for row in got["explanation"] if "counts" in row}
            for token in seen:
                if re.fullmatch(r"(ngram:)?[a-z]+", token):
                    equal(seen[token], {v: occurrences(model, texts[v], token) for v in (first, second)}, token)
            holds(any(n[first] > 0 for n in seen.values()) and "unheardof" not in seen, seen)
            holds(set(seen) >= {"win", "garden"}, seen)
            equal([{**row, "counts": None} for row in got["explanation"]],
                  [{**row, "counts": None} for row in plain["explanation"]], "the evidence is the same")
    with Model(api) as model:
        model.train("one two", "alone")
        row = model.classify("one", "?explain=5&word_counts=1")["explanation"][0]
        equal((row["token"], row["counts"]), ("one", {"alone": 1}))
        refused(model.api.post(model.path + "/classify?word_counts=2", "one", "text/plain"), 400, "word_counts")
