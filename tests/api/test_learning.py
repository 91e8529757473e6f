# SPDX-License-Identifier: Apache-2.0
"""The main job: the arithmetic is the book's, whatever the settings and the history."""
import math

from book import HAM, PROBES, SPAM, Model
from harness import equal, holds, near

VALGRIND = True


def words(rng, size=60):
    """Words of very different frequency, as in texts."""
    return [f"w{int(size * rng.random() ** 3)}" for _ in range(rng.randint(1, 40))]


def fill_random(model, rng, labels, documents):
    for i in range(documents):
        model.train(" ".join(words(rng)), rng.choice(labels), id=f"doc {i}")


def test_naive_bayes_to_the_letter(api):
    with Model(api) as model:
        model.filled().assert_exact()


def test_two_words_by_hand(api):
    """Small enough for the numbers to be written out here: no code of ours computes them."""
    with Model(api) as model:
        model.train("sun sun rain", "a", id="1")
        model.train("rain", "b", id="2")
        got = model.classify("sun rain snow")
        near(got["log_scores"]["a"], math.log(1 / 2 * 3 / 5 * 2 / 5), "a")
        near(got["log_scores"]["b"], math.log(1 / 2 * 1 / 3 * 2 / 3), "b")
        equal(got["label"], "a")
        near(got["probability"], 0.24 / (0.24 + 2 / 9), "probability")
        equal(got["tokens"], {"total": 3, "known": 2, "unknown": 1})
        equal(got["model"], model.name)


def test_every_event_model(api):
    with Model(api) as model:
        model.filled()
        for event in ("binary", "bernoulli", "complement", "multinomial"):
            for smoothing in (1.0, 0.05, 12.5):
                model.put(event_model=event, smoothing=smoothing)
                model.assert_exact()


def test_every_prior(api):
    with Model(api) as model:
        model.filled()
        model.train("rare third thing", "third", id="3")
        for prior in ("uniform", "empirical", {"ham": 0.6, "spam": 0.3, "third": 0.1},
                      {"ham": 6, "spam": 3, "third": 1}, {"ham": 0.9, "spam": 0.2}):
            model.put(prior=prior)
            model.assert_exact()
            equal(model.row()["settings"]["prior"], prior, "prior in the settings")


def test_prior_of_a_label_without_documents(api):
    """Weights go to the labels that have documents; another name in the table changes no odds."""
    with Model(api) as model:
        model.filled()
        model.put(prior={"ham": 0.5, "spam": 0.25, "nobody": 0.25})
        got = model.classify("")
        equal(sorted(got["log_scores"]), ["ham", "spam"])
        near(got["probabilities"]["ham"], 2 / 3, "P(ham)")


def test_settings_that_name_no_label_are_told(api):
    """The reply names a label of the settings that no document has, and a model that has learned nothing is not warned of all."""
    path, client = "/v1/models/warned", api
    reply = client.put(path, {"prior": {"spam": 2}}).ok(201).json
    holds("warnings" not in reply, "a model without documents")
    for label in ("ham", "spam"):
        client.post(path + "/train", {"text": label, "label": label}).ok()
    for settings, warnings in (({"prior": {"ham": 1, "spam": 2}}, None), ({"prior": {"nosuchlabel": 2}}, "prior names the label 'nosuchlabel'"),
                               ({"prior": {"spam": 1, "zz": 2}}, "prior names the label 'zz'"), ({"prior": {"dirichlet": {"default": 2, "labels": {"hma": 3}}}}, "prior names the label 'hma'"),
                               ({"smoothing": {"labels": {"ham": 1, "spamm": 2}}}, "smoothing names the label 'spamm'")):
        reply = client.put(path, {"decision": "bayes", **settings}).ok().json
        told = reply.get("warnings", [])
        equal(len(told), 0 if warnings is None else 1, settings)
        holds(warnings is None or warnings in told[0], told)


def test_rare_and_frequent_words_left_out(api):
    with Model(api) as model:
        for i in range(12):  # word k occurs in documents k..11: no two words equally often
            text = " ".join(f"common{k} " * (i + 1) for k in range(i + 1))
            model.train(f"{text} once{i} {'twice' if i < 2 else ''}", "ab"[i % 2], id=str(i))
        probe = "common0 common3 common7 once1 twice unknown"
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            for settings in ({"min_count": 2}, {"min_count": 3}, {"skip_top": 1}, {"skip_top": 4},
                             {"min_count": 3, "skip_top": 2}):
                model.put(event_model=event, **settings)
                model.assert_scores(probe)
        model.put(min_count=3)
        equal(model.classify("once1 twice common0 unknown")["tokens"],
              {"total": 4, "known": 1, "unknown": 3})


def test_a_bound_on_what_a_word_weighs(api):
    """max_term_count: the counts are those of documents that repeat no word more often, and go out again exactly."""
    loud, capped = "win " * 500 + "garden " * 4 + "prize", "win win win garden garden garden prize"
    with Model(api) as plain, Model(api) as model:
        for m in (plain, model):
            m.train("win the prize", "spam", id="1")
            m.train("the garden is green", "ham", id="2")
        before = model.classify(PROBES[0])
        model.put(max_term_count=3)
        receipt = api.post(model.path + "/train", {"documents": [{"text": loud, "label": "spam", "id": "3"}]}).ok().json
        equal(receipt["results"][0]["tokens"], 7, "tokens of the receipt")
        plain.train(capped, "spam", id="3")
        for event in ("multinomial", "complement", "binary"):
            for m in (plain, model):
                m.put(event_model=event)
            model.put(event_model=event, max_term_count=3)
            equal(model.classify(loud)["log_scores"], plain.classify(capped)["log_scores"], event)
        for m in (plain, model):
            m.put()
        # Without the bound the document counts as it is from now on; what was learned stays.
        equal(model.classify(loud)["tokens"]["total"], 505)
        equal(model.classify(capped)["log_scores"], plain.classify(capped)["log_scores"])
        equal(api.post(model.path + "/untrain", {"id": "3"}).ok().json["tokens"], 7, "tokens taken out")
        equal(model.classify(PROBES[0]), before, "exactly as before")
        # Sent again, the same text has other counts under another bound.
        for bound, status in ((0, "learned"), (0, "unchanged"), (2, "updated"), (2, "unchanged")):
            model.put(max_term_count=bound)
            row = api.post(model.path + "/train", {"documents": [{"text": loud, "label": "spam", "id": "4"}]}).ok().json
            equal(row["results"][0]["status"], status, bound)


def test_nothing_left_to_use(api):
    """min_count above every count: the priors decide alone, and no number is infinite."""
    with Model(api) as model:
        model.filled()
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            for settings in ({"min_count": 1000000}, {"skip_top": 1000000}):
                model.put(event_model=event, **settings)
                got = model.classify("win the garden prize")
                near(got["probabilities"]["ham"], 4 / 7, f"{event} {settings}")


def test_random_history_three_labels(api):
    with Model(api) as model:
        fill_random(model, api.random, ["red", "green", "blue"], 60)
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            model.put(event_model=event, smoothing=api.random.choice([0.1, 1, 3]))
            for _ in range(4):
                model.assert_scores(" ".join(words(api.random)) + " unseen")


def test_settings_change_at_once_and_default_when_left_out(api):
    with Model(api, smoothing=5.0) as model:
        model.filled().assert_exact()
        model.put(event_model="bernoulli")
        row = model.assert_counts()
        equal(row["settings"]["smoothing"], 1.0)
        model.put()
        equal(model.row()["settings"]["event_model"], "multinomial")
        model.assert_exact()


def test_many_labels(api):
    with Model(api) as model:
        for i in range(300):
            model.train(f"shared words topic{i % 100} noise{i % 7}", f"label {i % 100:03d} ü", id=str(i))
        for event in ("multinomial", "complement", "bernoulli", "binary"):
            model.put(event_model=event)
            got = model.assert_scores("shared topic42 topic42")
            equal(len(got["log_scores"]), 100)
        model.put()
        equal(model.classify("topic42")["label"], "label 042 ü")


def test_ties_go_to_the_label_that_sorts_first(api):
    with Model(api) as model:
        for label in ("zebra", "Zebra", "äpfel", "apple"):
            model.train("same words", label, id=label)
        got = model.classify("same words")
        equal(got["label"], "Zebra")  # by bytes: upper case before lower case
        near(got["probability"], 0.25, "probability")


def test_one_label_is_enough(api):
    with Model(api) as model:
        model.train("only words", "only")
        for event in ("multinomial", "binary", "bernoulli", "complement"):
            model.put(event_model=event)
            got = model.classify("only something")
            equal((got["label"], got["probability"]), ("only", 1.0), event)


def test_label_without_documents_never_wins(api):
    with Model(api) as model:
        model.train("one two three", "a", id="1")
        model.train("four five six", "b", id="2")
        model.untrain(id="2")
        got = model.assert_scores("four five six")
        equal(list(got["log_scores"]), ["a"])


def test_long_documents_do_not_underflow(api):
    with Model(api) as model:
        model.filled()
        got = model.assert_scores("win the prize " * 20000)
        holds(all(math.isfinite(s) for s in got["log_scores"].values()), got)
        holds(got["log_scores"]["spam"] < -100000, "the text was not read to its end")


def test_empty_documents_count(api):
    with Model(api) as model:
        model.train("", "a", id="nothing")
        model.assert_exact(("", "word"))
        model.train("word", "b", id="something")
        model.assert_exact(("", "word"))


def test_classification_never_writes(api):
    with Model(api) as model:
        model.filled()
        before = model.row()
        for text in PROBES:
            equal(model.classify(text), model.classify(text), "the same text twice")
        equal(model.row(), before)


def test_order_of_training_does_not_matter(api):
    documents = [(t, "ham") for t in HAM] + [(t, "spam") for t in SPAM]
    with Model(api) as one, Model(api) as other:
        for text, label in documents:
            one.train(text, label)
        api.random.shuffle(documents)
        for text, label in documents:
            other.train(text, label)
        for text in PROBES:
            a, b = one.classify(text), other.classify(text)
            for label in ("ham", "spam"):
                near(a["log_scores"][label], b["log_scores"][label], text[:40], 1e-12)
        equal(one.row()["labels"], other.row()["labels"])
