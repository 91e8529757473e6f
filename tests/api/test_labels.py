# SPDX-License-Identifier: Apache-2.0
"""DELETE of a label: what is left is as if its documents had never been learned; and labels that are merged."""
import random
import threading

from harness import equal, holds, near, quoted, refused, wait_for
from test_undo import ids_of, picture, train, undo, verified

LABELS = ("häm & tea", "spam", "news", "b/c")


def documents(rng, count):
    """Words are shared among the labels."""
    return [{"text": " ".join(f"w{rng.randrange(200)}" for _ in range(rng.randrange(3, 30))),
             "label": rng.choice(LABELS), "id": f"d{i}"} for i in range(count)]


def delete(client, path, label, query=""):
    return client.delete(f"{path}/labels/{quoted(label)}{query}").ok().json


def labels_of(client, path):
    return {name: row["documents"] for name, row in client.get(path).ok().json["labels"].items()}


def made(client, path, settings=None):
    client.put(path, settings or {"preset": "book"}).ok(201)
    return path


def test_as_if_the_label_had_never_been_taught(api):
    rng = random.Random(12)
    rows = documents(rng, 3000)
    for settings in ({"preset": "book"}, {"preset": "text", "twin": False}):
        path = made(api, "/v1/models/" + api.name(), settings)
        other = made(api, "/v1/models/" + api.name(), settings)
        train(api, path, rows)
        # Some were taught otherwise before: nothing of that comes back.
        moved = [{**row, "label": "spam"} for row in rows[:300] if row["label"] != "spam"]
        train(api, path, moved)
        final = {row["id"]: row for row in rows + moved}
        left = [row for row in final.values() if row["label"] != "spam"]
        done = delete(api, path, "spam", "?source=ann")
        equal((done["documents"], done["forgotten"], done["restored"]), (len(final) - len(left),) * 2 + (0,))
        equal(done["labels"], {"spam": {"documents": len(final) - len(left)}})
        train(api, other, left)
        probes = [row["text"] for row in rows[:40]]
        equal(picture(api, path, probes), picture(api, other, probes))
        holds("spam" not in labels_of(api, path), "a label without documents")
        equal(set(ids_of(api, path)), {row["id"] for row in left})
        notes = api.get(path + "/undo").ok().json["undone"]
        holds(all((note["by"], note["label"]) == ("ann", "spam") for note in notes), notes)
        equal(sum(note["documents"] for note in notes), done["documents"])
        equal(delete(api, path, "spam")["documents"], 0, "nothing is left")


def test_in_parts(api):
    path = made(api, "/v1/models/" + api.name())
    train(api, path, [{"text": f"tea {i}", "label": "ab"[i % 2], "id": str(i)} for i in range(100)])
    parts, query = [], "?limit=20"
    while query:
        part = delete(api, path, "a", query)
        parts.append(part["forgotten"])
        query = f"?limit=20&next={part['next']}" if "next" in part else ""
    equal((sum(parts), max(parts)), (50, 20))
    equal(labels_of(api, path), {"b": 50})


def test_the_name_can_be_used_again(api):
    path = made(api, "/v1/models/" + api.name())
    train(api, path, [{"text": "tea", "label": "a", "id": "1"}, {"text": "milk", "label": "b", "id": "2"}])
    equal(delete(api, path, "a")["forgotten"], 1)
    equal(api.post(path + "/classify", {"text": "tea"}).ok().json["label"], "b", "it never wins")
    train(api, path, [{"text": "coffee", "label": "a", "id": "1"}])
    equal(labels_of(api, path), {"a": 1, "b": 1})
    equal(api.post(path + "/classify", {"text": "coffee"}).ok().json["label"], "a")
    equal(undo(api, path, ids=["1"])["forgotten"], 1)


def test_what_is_refused(api):
    path = made(api, "/v1/models/" + api.name())
    refused(api.delete(path + "/labels/none"), 404, "none")
    refused(api.delete(path + "x/labels/none"), 404)
    refused(api.delete(path + "/labels/" + "x" * 65), 422, "label")
    refused(api.delete(path + "/labels/none?dry=1"), 400, "dry")
    refused(api.delete(path + "/labels/none?limit=x"), 400, "limit")


def test_kills_in_the_middle(api):
    """Each document is there whole or not at all, and the next call does the rest."""
    rng, daemon, path = random.Random(3), api.another().start(), "/v1/models/m"
    rows = documents(rng, 12000)
    made(daemon.client, path)
    train(daemon.client, path, rows)
    total = sum(row["label"] == "spam" for row in rows)
    before = total
    for _ in range(4):
        def ask(client):
            try:
                client.delete(path + "/labels/spam")
            except OSError:
                pass
        asking = threading.Thread(target=ask, args=(daemon.new_client(),))
        asking.start()
        wait_for(lambda: labels_of(daemon.client, path).get("spam", 0) < before, "some are forgotten", 20)
        daemon.kill()
        asking.join()
        verified(api, daemon.data)
        daemon.start()
        there = set(ids_of(daemon.client, path))
        left = [row for row in rows if row["id"] in there]
        now = sum(row["label"] == "spam" for row in left)
        equal(labels_of(daemon.client, path).get("spam", 0), now)
        holds(now < before or now == 0, (now, before))
        equal(len(left) - now, len(rows) - total, "the others are all there")
        before = now
        if now == 0:
            break
    delete(daemon.client, path, "spam")
    daemon.stop()
    verified(api, daemon.data)
    daemon.start()
    other = made(daemon.client, "/v1/models/other")
    train(daemon.client, other, [row for row in rows if row["label"] != "spam"])
    probes = [row["text"] for row in rows[:30]]
    equal(picture(daemon.client, path, probes), picture(daemon.client, other, probes))
    daemon.stop()


def test_others_do_not_wait(api):
    daemon, path = api.another().start(), "/v1/models/m"
    client = daemon.client
    made(client, path)
    train(client, path, documents(random.Random(5), 20000))
    train(client, "/v1/models/other", [{"text": "tea", "label": "ham", "id": "1"}])
    asking = threading.Thread(target=lambda c: delete(c, path, "spam"), args=(daemon.new_client(),))
    asking.start()
    asked = 0
    while asking.is_alive():
        for target, body in (("/v1/models/other/train", {"text": f"tea {asked}", "label": "ham"}),
                             (path + "/classify", {"text": "w1 w2"}), (path + "/train", {"text": "w1", "label": "news"})):
            client.post(target, body).ok()
            asked += 1
    asking.join()
    holds("spam" not in labels_of(client, path), "a label without documents")
    # Had one waited for the end, there would be no second round.
    holds(asked > 3, f"{asked} requests were answered before the label was gone")
    daemon.stop()


# ---- merging ------------------------------------------------------------------------------------
def merge(client, path, label, into, status=200):
    reply = client.call("PATCH", f"{path}/labels/{quoted(label)}", {"name": into, "merge": True})
    return reply.ok().json if status == 200 else reply


def test_as_if_the_documents_had_always_had_the_other_label(api):
    rng = random.Random(5)
    rows = documents(rng, 2000)
    path, other = (made(api, "/v1/models/" + api.name()) for _ in range(2))
    train(api, path, rows)
    got = merge(api, path, "b/c", "spam")
    merged = [{**row, "label": "spam"} if row["label"] == "b/c" else row for row in rows]
    train(api, other, merged)
    probes = [row["text"] for row in rows[:40]]
    equal(picture(api, path, probes), picture(api, other, probes))
    holds("b/c" not in labels_of(api, path), "a label without documents")
    equal({name: row["documents"] for name, row in got["labels"].items()}, labels_of(api, path), "the reply is the model")
    equal(labels_of(api, path)["spam"], sum(row["label"] == "spam" for row in merged))
    equal(merge(api, path, "b/c", "spam")["documents"], len(rows), "nothing is left to merge")
    # What somebody merged is taken back by the source, as all else.
    api.call("PATCH", path + "/labels/news?source=ann", {"name": "spam", "merge": True}).ok()
    holds("news" not in labels_of(api, path), "a label without documents")
    undo(api, path, source="ann")
    equal(picture(api, path, probes), picture(api, other, probes))


def test_ids_with_a_nul(api):
    """They are ids like others: not those of their first bytes."""
    path = made(api, "/v1/models/" + api.name())
    ids = ["a", "a\0", "a\0b", "\0", "\0c"]
    train(api, path, [{"text": "w", "label": "y" if id == "a" else "x", "id": id} for id in ids])
    train(api, path, [{"text": "w", "label": "z", "id": "last"}])
    merge(api, path, "x", "z")
    equal(labels_of(api, path), {"y": 1, "z": 5})
    api.delete(path + "/labels/z").ok()
    equal(labels_of(api, path), {"y": 1})
    train(api, path, [{"text": f"{'rose oven'[n % 2:]} ship", "label": None, "id": f"s\0{n}"} for n in range(40)])
    train(api, path, [{"text": "w", "label": "z", "id": "again"}])
    found = api.get(path + "/next?count=40").ok().json
    equal({row["id"] for row in found["next"]}, {f"s\0{n}" for n in range(40)} & {row["id"] for row in found["next"]})
    found = api.post(path + "/cluster", {"clusters": 1, "members": True, "apply": "labels"}).ok().json
    equal((sorted(found["clusters"][0]["members"]), found["labelled"]), (sorted(f"s\0{n}" for n in range(40)), 40))


def test_a_merge_that_is_refused(api):
    path = made(api, "/v1/models/" + api.name())
    train(api, path, [{"text": "a", "label": "x", "id": "1"}, {"text": "b", "label": "y", "id": "2"}])
    refused(merge(api, path, "x", "none", 404), 404, "none")
    refused(merge(api, path, "none", "x", 404), 404, "none")
    refused(merge(api, path, "x", "x", 422), 422, "itself")
    refused(merge(api, path + "-none", "x", "y", 404), 404)
    refused(api.call("PATCH", path + "/labels/x", {"name": "y", "merge": 1}), 400, "merge")
    refused(api.call("PATCH", path + "/labels/x", {"name": "y", "merge": False}), 409, "y")
    equal(labels_of(api, path), {"x": 1, "y": 1})


def test_a_renamed_label_keeps_its_numbers_of_the_settings(api):
    """They go by names: a label with another name would have others, and other verdicts."""
    values = {"values": {"colour": {"red": {"x": 4, "y": 1}}}, "default": 1}
    for name, settings, same in (
            ("prior", {"prior": {"x": 0.7, "y": 0.3}}, {"prior": {"x": 0.7, "y": 0.3, "z": 0.7}}),
            ("prior", {"prior": {"dirichlet": {"default": 2, "labels": {"x": 9}}}}, {"prior": {"dirichlet": {"default": 2, "labels": {"x": 9, "z": 9}}}}),
            ("smoothing", {"smoothing": {"labels": {"x": 3, "y": 1}}}, {"smoothing": {"labels": {"x": 3, "y": 1, "z": 3}}}),
            ("smoothing", {"smoothing": values}, {"smoothing": {"values": {"colour": {"red": {"x": 4, "y": 1, "z": 4}}}, "default": 1}}),
            ("thresholds", {"thresholds": {"x": 0.9}}, {"thresholds": {"x": 0.9, "z": 0.9}}),
            ("thresholds", {"thresholds": {"x": {"precision": 0.9}, "z": 0.9}}, {"thresholds": {"x": {"precision": 0.9}, "z": {"precision": 0.9}}}),
            ("thresholds", {"thresholds": {"x": 0.9}, "label_set": "several"}, {"thresholds": {"x": 0.9, "z": 0.9}, "label_set": "several"})):
        several = settings.get("label_set") == "several"
        fixed = {"preset": "book", "fields": {} if several else {"colour": "category"}}
        path = made(api, "/v1/models/" + api.name(), {**fixed, **settings})
        for id, label, text in (("1", "x", "a b"), ("2", "y", "b c"), ("3", "x", "a c")):
            api.post(path + "/train", {"text": text, "id": id, **({"labels": [label]} if several else {"label": label, "values": {"colour": "red"}})}).ok()
        verdict = {"text": "a b", **({} if several else {"values": {"colour": "red"}})}
        refused(api.call("PATCH", path + "/labels/x", {"name": "z"}), 409, f"`{name}`", "'z'")
        api.put(path, {**fixed, **same}).ok()
        before = api.post(path + "/classify", verdict).ok().json
        api.call("PATCH", path + "/labels/x", {"name": "z"}).ok()
        after = api.post(path + "/classify", verdict).ok().json
        near(after["probabilities"]["z"], before["probabilities"]["x"])
        equal(after.get("decision"), {"x": "z"}.get(before.get("decision"), before.get("decision")))


def test_a_merge_that_is_killed(api):
    """Each document has one label or the other, and the next call does the rest."""
    rng, daemon, path = random.Random(4), api.another().start(), "/v1/models/m"
    rows = documents(rng, 12000)
    made(daemon.client, path)
    train(daemon.client, path, rows)
    before = labels_of(daemon.client, path)

    def ask(client):
        try:
            merge(client, path, "spam", "news")
        except OSError:
            pass
    asking = threading.Thread(target=ask, args=(daemon.new_client(),))
    asking.start()
    wait_for(lambda: labels_of(daemon.client, path).get("spam", 0) < before["spam"], "some are merged", 20)
    daemon.kill()
    asking.join()
    verified(api, daemon.data)
    daemon.start()
    now = labels_of(daemon.client, path)
    equal(now["spam"] + now["news"], before["spam"] + before["news"])
    merge(daemon.client, path, "spam", "news")
    other = made(daemon.client, "/v1/models/other")
    train(daemon.client, other, [{**row, "label": "news"} if row["label"] == "spam" else row for row in rows])
    probes = [row["text"] for row in rows[:30]]
    equal(picture(daemon.client, path, probes), picture(daemon.client, other, probes))
    daemon.stop()


def test_a_label_without_documents_is_gone(api):
    """Mistyped once and untrained, relabelled, deleted or merged: no listing and no verdict has it; it comes back with a document."""
    path = made(api, "/v1/models/" + api.name(), {"preset": "text"})
    train(api, path, [{"text": f"{label} words {i} {i % 3}", "label": label, "id": f"{label}{i}"}
                      for i in range(4) for label in ("ham", "spam")])

    def of_spma():
        row = {"text": "a new text", "label": "spma", "id": "typo"}
        equal(sorted(api.post(path + "/train", row).ok().json["labels"]), ["ham", "spam", "spma"])
        equal(sorted(labels_of(api, path)), ["ham", "spam", "spma"])

    def untrain():
        equal(sorted(api.post(path + "/untrain", {"id": "typo"}).ok().json["labels"]), ["ham", "spam"])
    for gone in (untrain, lambda: delete(api, path, "spma"),
                 lambda: merge(api, path, "spma", "spam"),
                 lambda: api.post(path + "/train", {"text": "a new text", "label": "spam", "id": "typo"}).ok()):
        of_spma()
        gone()
        equal(sorted(labels_of(api, path)), ["ham", "spam"])
        listed = next(row for row in api.get("/v1/models?limit=1000").ok().json["models"] if path.endswith("/" + row["name"]))
        equal(sorted(listed["labels"]), ["ham", "spam"])
        equal(sorted(api.post(path + "/classify", {"text": "ham words"}).ok().json["probabilities"]), ["ham", "spam"])
        holds("spma" not in api.get(path + "/vocabulary?label=spam").ok().body.decode(), "the vocabulary has no such label")
        api.post(path + "/untrain", {"id": "typo"})


def test_a_model_that_a_document_creates(api):
    """Its first change says so, in both forms of the reply, and no later one."""
    path = "/v1/models/" + api.name()
    equal(api.post(path + "/train", {"text": "a", "label": "x"}).ok().json["created"], True)
    holds("created" not in api.post(path + "/train", {"text": "b", "label": "x"}).ok().json, "it exists")
    path = "/v1/models/" + api.name()
    got = api.post(path + "/train", {"documents": [{"text": "a", "label": "x"}, {"text": "b", "label": "x"}]}).ok().json
    equal((got["created"], [row.get("created") for row in got["results"]]), (True, [True, None]))
    path = made(api, "/v1/models/" + api.name())
    holds("created" not in api.post(path + "/train", {"text": "b", "label": "x"}).ok().json, "it was made before")
