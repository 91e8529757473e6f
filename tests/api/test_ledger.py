# SPDX-License-Identifier: Apache-2.0
"""A label is a state of a document: receipts, relabelling, replacing, taking back, all exact."""
import datetime

from book import HAM, PROBES, SPAM, Model
from harness import equal, holds, quoted, refused

VALGRIND = True


def test_receipt(api):
    with Model(api) as model:
        receipt = model.train("alpha beta beta", "a", id="first")
        want = {"model": model.name, "id": "first", "label": "a", "status": "learned", "tokens": 3,
                "new_tokens": 2, "labels": {"a": {"documents": 1}}}
        equal({k: receipt.get(k) for k in want}, want)
        holds("previous_label" not in receipt, receipt)
        receipt = model.train("beta gamma", "b", id="second")
        equal((receipt["tokens"], receipt["new_tokens"]), (2, 1))
        equal(receipt["labels"], {"a": {"documents": 1}, "b": {"documents": 1}})


def test_same_document_twice_counts_once(api):
    with Model(api) as model:
        model.filled()
        before = model.row()
        for text, label in [(t, "ham") for t in HAM] + [(t, "spam") for t in SPAM]:
            equal(model.train(text, label)["status"], "unchanged")
        equal(model.row(), before)
        model.train("with an id", "ham", id="x")
        equal(model.train("with an id", "ham", id="x")["status"], "unchanged")
        model.assert_exact()


def test_relabel_moves_the_counts(api):
    with Model(api) as model:
        model.filled()
        receipt = model.train(SPAM[0], "ham")
        equal((receipt["status"], receipt["previous_label"]), ("relabelled", "spam"))
        equal(receipt["labels"], {"ham": {"documents": 5}, "spam": {"documents": 2}})
        model.assert_exact()
        equal(model.train(SPAM[0], "spam")["previous_label"], "ham")
        model.assert_exact()


def test_relabel_with_other_content(api):
    with Model(api) as model:
        model.train("first version", "a", id="x")
        receipt = model.train("second version, longer", "b", id="x")
        equal((receipt["status"], receipt["previous_label"]), ("relabelled", "a"))
        model.assert_exact(("first", "second version"))


def test_same_id_and_label_other_content(api):
    with Model(api) as model:
        model.train("first words here", "a", id="x")
        model.train("anything else", "b", id="y")
        receipt = model.train("second thing", "a", id="x")
        equal((receipt["status"], receipt["tokens"], receipt["new_tokens"]), ("updated", 2, 2))
        model.assert_exact(("first second thing words",))


def test_order_of_words_is_no_change_of_content(api):
    """The bag is what is counted: the same bag under the same id and label counts nothing."""
    with Model(api) as model:
        model.train("one two two", "a", id="x")
        receipt = model.train("two one two", "a", id="x")
        holds(receipt["status"] in ("unchanged", "updated"), receipt)
        model.assert_exact(("one", "two"))


def test_untrain_is_the_inverse(api):
    with Model(api) as model:
        model.filled()
        before, verdicts = model.row(), [model.classify(t) for t in PROBES]
        model.train("brand new words, never seen before: win win", "spam", id="gone")
        holds(model.row()["vocabulary"] > before["vocabulary"], "nothing was learned")
        receipt = model.untrain(id="gone")
        equal((receipt["status"], receipt["label"], receipt["id"], receipt["model"]),
              ("forgotten", "spam", "gone", model.name))
        equal(model.row(), before)
        equal([model.classify(t) for t in PROBES], verdicts, "scores, to the last bit")
        refused(model.post("untrain", {"id": "gone"}), 404, "gone")


def test_untrain_by_content(api):
    with Model(api) as model:
        model.filled()
        equal(model.untrain(text=SPAM[1])["label"], "spam")
        model.assert_exact()
        refused(model.post("untrain", {"text": SPAM[1]}), 404)
        equal(model.train(SPAM[1], "ham")["status"], "learned")
        model.assert_exact()


def test_untrain_to_nothing(api):
    with Model(api) as model:
        model.train("a b", "x", id="1")
        model.train("b c", "y", id="2")
        model.untrain(id="1")
        model.untrain(id="2")
        row = model.assert_counts()
        equal((row["documents"], row["vocabulary"]), (0, 0))
        refused(model.post("classify", {"text": "b"}), 409)
        model.train("b c", "y", id="2")
        model.assert_exact(("b", "c"))


def test_ids_of_content_are_stable_and_differ(api):
    with Model(api) as model, Model(api) as other:
        first = model.train("some text", "a")["id"]
        equal(model.train("some text", "b")["id"], first)
        holds(model.train("some text ", "a")["id"] != first, "other bytes, same id")
        holds(1 <= len(first.encode()) <= 256, first)
        other.train("some text", "a")
        equal(model.row()["documents"], 2)


def test_ids_with_odd_characters(api):
    ids = ["plain", "with space", "a/b/c", "../..", ".", "..", "?query=1&x", "#fragment", "100%", "%2F",
           "%", "+plus+", "<m@example.org>", "quote\"'\\", "é", "e\u0301", "日本語", "\U0001F4E7", "tab\there",
           "new\nline", "x" * 256, "é" * 128, " ", "\u200b", "CASE", "case", "a;b,c=d", "\x7f"]
    with Model(api) as model:
        for i, id in enumerate(ids):
            receipt = model.train(f"word{i}", "a", id=id)
            equal((receipt["id"], receipt["status"]), (id, "learned"))
        for id in ids:
            row = api.get(f"{model.path}/documents/{quoted(id)}").ok().json
            equal((row["id"], row["label"], row["tokens"]), (id, "a", 1))
        model.assert_counts()
        for id in ids:
            equal(model.untrain(id=id)["id"], id)
        equal(model.row()["documents"], 0)


def test_ids_in_the_query(api):
    with Model(api) as model:
        id, label = "a/b c&d=é+%", "läbel & co"
        reply = model.post(f"train?label={quoted(label)}&id={quoted(id)}", "some words", "text/plain")
        equal((reply.ok().json["id"], reply.json["label"]), (id, label))
        equal(api.get(f"{model.path}/documents/{quoted(id)}").ok().json["label"], label)
        equal(model.post(f"untrain?id={quoted(id)}", "", "text/plain").status in (200, 404), True)


def test_document_can_be_looked_up(api):
    with Model(api) as model:
        model.train("three little words", "a", id="one")
        row = api.get(f"{model.path}/documents/one").ok().json
        equal((row["id"], row["label"], row["tokens"]), ("one", "a", 3))
        learned = datetime.datetime.fromisoformat(row["learned"].replace("Z", "+00:00"))
        age = datetime.datetime.now(datetime.timezone.utc) - learned
        holds(abs(age.total_seconds()) < 600, f"learned {row['learned']}, {age} ago")
        model.train("two words", "b", id="one")
        row = api.get(f"{model.path}/documents/one").ok().json
        equal((row["label"], row["tokens"]), ("b", 2))
        model.untrain(id="one")
        refused(api.get(f"{model.path}/documents/one"), 404, "one")
        refused(api.get(f"{model.path}/documents/none"), 404, "none")


def test_labels_of_every_allowed_kind(api):
    labels = ["a", "l" * 64, "é" * 32, "two words", "a/b", "日本", "\U0001F600", "quote\"\\", "null", "%41"]
    with Model(api) as model:
        for label in labels:
            model.train(f"words of {label}", label, id=label)
        model.assert_counts()
        equal(sorted(model.classify("words")["log_scores"]), sorted(labels))
        refused(api.post(model.path + "/train", {"text": "words", "label": " "}), 422, "1 to 64 bytes", "not 0")  # blanks around it go


def test_names_of_every_allowed_kind(api):
    for name in ("a", "9", "A.b_c@d+e-f", "x" * 128, "user@example.org", "a..b", "a."):
        path = "/v1/models/" + quoted(name)
        try:
            api.put(path, {}).ok(201)
            equal(api.get(path).ok().json["name"], name)
            equal(api.post(path + "/train", {"text": "x", "label": "y"}).ok().json["model"], name)
        finally:
            api.delete(path).ok(204)


def test_models_do_not_share(api):
    with Model(api) as one, Model(api) as other:
        one.train("word", "a", id="1")
        other.train("word", "b", id="1")
        other.train("other", "c", id="2")
        one.assert_exact(("word", "other"))
        other.assert_exact(("word", "other"))


def test_a_deleted_model_is_gone(api):
    with Model(api) as model:
        model.filled()
        api.delete(model.path).ok(204)
        refused(api.get(model.path), 404, model.name)
        refused(model.post("classify", {"text": "x"}), 404)
        api.put(model.path, {}).ok(201)
        equal(model.row()["documents"], 0)
        model.documents.clear()
        equal(model.train(SPAM[0], "spam")["status"], "learned")
        model.assert_exact()


def test_random_history_equals_fresh_training(api):
    """Any history: the model is the one that was trained afresh on the current labels."""
    rng = api.random
    with Model(api) as model:
        for step in range(250):
            id = f"id{rng.randrange(25)}"
            if id in model.documents and rng.random() < 0.3:
                model.untrain(id=id)
            else:
                text = " ".join(rng.choices(["a", "b", "c", "d", "e", "f", f"s{step % 30}"], k=rng.randrange(12)))
                model.train(text, rng.choice(["x", "y", "z"]), id=id)
            if step % 25 == 24:
                model.assert_counts()
        model.assert_exact(("a b c", "s1 s2 s3 d", ""))
        with Model(api) as fresh:
            export = api.get(model.path + "/export").ok()
            api.put(fresh.path + "/import", export.body, "application/x-ndjson").ok(200)
            fresh.documents = dict(model.documents)
            fresh.assert_exact(("a b c", "s1 s2 s3 d", ""))
