# SPDX-License-Identifier: Apache-2.0
"""Undo: what a source has taught is taken back exactly, in steps that a kill does not hurt."""
import json
import math
import os
import random
import shutil
import subprocess
import threading
import time

from acknowledged import verified
from harness import equal, holds, near, quoted, refused, wait_for
from test_client import Bayesc

WORDS = [f"word{i}" for i in range(300)]


def documents(rng, source, count, labels=("ham", "spam")):
    return [{"text": " ".join(rng.choices(WORDS, k=rng.randint(3, 30))) + f" only{source}{rng.randint(0, 50)}",
             "label": rng.choice(labels), "id": f"{source}-{i}", "source": source} for i in range(count)]


def train(client, path, items):
    for at in range(0, len(items), 500):
        got = client.post(path + "/train", {"documents": items[at:at + 500]}).ok().json
        equal(got["failed"], 0)


def words_of(client, path):
    """{id: (label, {word: count})} of a model's living documents, from its dump."""
    words, rows = {}, {}
    for line in client.get(path + "/export").ok().body.decode().splitlines():
        record = json.loads(line)
        if "words" in record:
            listed = record["words"]
            for i, word in enumerate(listed["texts"]):
                words[listed["first"] + i] = word
        if "document" in record:
            document = record["document"]
            rows[document["id"]] = (document["label"], {words[row]: count for row, count in
                                                        zip(document["rows"], document["counts"])})
    return rows


def picture(client, path, probes):
    """What a model's integers give, to the last bit."""
    row = client.get(path).ok().json
    labels = {name: value for name, value in row["labels"].items() if value["documents"]}
    listings = {label: {token["token"]: token["counts"].get(label) for token in
                        client.get(f"{path}/vocabulary?label={quoted(label)}&limit=10000").ok().json["tokens"]}
                for label in labels}
    scores = [client.post(path + "/classify", {"text": text}).ok().json["log_scores"] for text in probes]
    return {"documents": row["documents"], "vocabulary": row["vocabulary"], "labels": labels,
            "counts": listings, "scores": scores}


def undo(client, path, **wish):
    return client.post(path + "/undo", wish).ok().json


def test_as_if_the_source_had_never_taught(api):
    rng = random.Random(7)
    kept, taken = documents(rng, "good", 150), documents(rng, "bad", 120)
    path, other = "/v1/models/" + api.name(), "/v1/models/" + api.name()
    for model in (path, other):
        api.put(model, {"preset": "book"}).ok(201)
    mixed = kept + taken
    rng.shuffle(mixed)
    # The bad ones are also relabelled and replaced by themselves.
    mixed += [{**document, "label": "spam"} for document in taken[:20]]
    mixed += [{**document, "text": document["text"] + " more"} for document in taken[10:30]]
    train(api, path, mixed)
    train(api, other, kept)
    probes = [document["text"] for document in mixed[:40]]
    before = picture(api, path, probes)
    tried = undo(api, path, source="bad", dry_run=True)
    equal((tried["documents"], tried["forgotten"], tried["restored"], tried["dry_run"]), (120, 120, 0, True))
    equal(picture(api, path, probes), before, "a dry run changes nothing")
    done = undo(api, path, source="bad")
    equal((done["documents"], done["forgotten"], done["changed_since"]), (120, 120, 0))
    equal(done["labels"], tried["labels"])
    equal(sum(row["documents"] for row in done["labels"].values()), 120)
    equal(picture(api, path, probes), picture(api, other, probes))
    equal(undo(api, path, source="bad")["documents"], 0, "nothing is left")
    equal({document["id"] for document in kept}, set(ids_of(api, path)))


def ids_of(client, path):
    lines = client.get(path + "/export").ok().body.decode().splitlines()
    return [json.loads(line)["document"]["id"] for line in lines if line.startswith('{"document"')]


def test_the_state_before_is_restored(api):
    daemon = api.another().start()
    path, client = "/v1/models/m", daemon.client
    client.put(path, {"preset": "book"}).ok(201)
    train(client, path, [{"text": "tea with milk", "label": "ham", "id": "a", "source": "good"},
                         {"text": "cheap pills", "label": "spam", "id": "b", "source": "good"}])
    before = picture(client, path, ["tea", "pills"])
    info = client.get(path + "/documents/a").ok().json
    # What the newest entry of the ledger replaces is always kept.
    train(client, path, [{"text": "tea with milk", "label": "spam", "id": "a", "source": "bad"}])
    tried = undo(client, path, source="bad", dry_run=True)
    equal((tried["documents"], tried["restored"], tried["forgotten"]), (1, 1, 0))
    done = undo(client, path, source="bad")
    equal((done["documents"], done["restored"], done["labels"]), (1, 1, {"spam": {"documents": 1}}))
    equal(picture(client, path, ["tea", "pills"]), before)
    equal(client.get(path + "/documents/a").ok().json, info, "with its source and its time")
    equal(undo(client, path, source="good", ids=["a"])["forgotten"], 1, "a later undo finds it as it was")
    daemon.stop()
    verified(api, daemon.data)


def test_what_an_undo_asked_for_does_not_come_back(api):
    """Also where it found no document, because another source has changed them all since."""
    daemon = api.another().start()
    path, client = "/v1/models/m", daemon.client
    client.put(path, {"preset": "book"}).ok(201)
    for source, label in (("good", "ham"), ("first", "spam"), ("second", "other")):
        train(client, path, [{"text": "tea with milk", "label": label, "id": "a", "source": source}])
    equal(undo(client, path, source="first")["documents"], 0)
    equal(undo(client, path, source="second")["restored"], 1)
    equal(client.get(path + "/documents/a").ok().json["source"], "good")
    daemon.stop()
    verified(api, daemon.data)


def kept(daemon):
    """How many superseded states the store of a stopped daemon keeps."""
    out = subprocess.run(["mdb_dump", "-s", "kept", daemon.data], capture_output=True, check=True).stdout
    return out.count(b"\n ") // 2


def tidied(daemon, id):
    """Adds a document, since the newest entry always stays, and stops and starts the daemon: what is superfluous goes."""
    daemon.client.post("/v1/models/m/train", {"text": "other words", "label": "ham", "id": id}).ok()
    daemon.stop()
    daemon.start()


def test_labels_are_restored_long_after(api):
    """The ledger keeps them for a time, over stops, a rebuild and a backup."""
    daemon = api.another().start()
    path, client = "/v1/models/m", daemon.client
    client.put(path, {"preset": "book"}).ok(201)
    train(client, path, [{"text": f"tea with milk {i}", "label": "ham", "id": f"a{i}", "source": "good"} for i in range(20)])
    infos = [client.get(f"{path}/documents/a{i}").ok().json for i in range(20)]
    train(client, path, [{"text": f"tea with milk {i}", "label": "spam", "id": f"a{i}", "source": "bad"} for i in range(20)])
    train(client, path, [{"text": f"tea with milk {i}", "label": "other", "id": f"a{i}", "source": "bad"} for i in range(5)])
    tidied(daemon, "last")
    daemon.stop()
    equal(kept(daemon), 25)
    verified(api, daemon.data)
    copy = shutil.copytree(daemon.data, os.path.join(api.new_folder(), "data"))
    equal(api.tool("--rebuild", "--data", copy)[0], 0)
    for again in (daemon, api.another(data=copy)):
        again.start()
        done = undo(again.client, path, source="bad")
        equal((done["documents"], done["restored"], done["unknown_before"]), (20, 20, 0))
        equal([again.client.get(f"{path}/documents/a{i}").ok().json for i in range(20)], infos)
        again.stop()
        verified(api, again.data)


def relabelled(daemon):
    """Documents with other labels, of which nothing is needed for a start any more when this returns."""
    path, client = "/v1/models/m", daemon.client
    client.delete(path)
    for label in ("ham", "spam"):
        train(client, path, [{"text": "tea with milk", "label": label, "id": "a", "source": label}])
    for text in ("more milk", "more tea"):
        train(client, path, [{"text": text, "label": "ham", "id": "b", "source": text}])
    train(client, path, [{"text": "last", "label": "ham", "id": "c", "source": "last"}])
    # Content that was replaced is dropped in any case, after the label of the document before it.
    wait_for(lambda: undo(client, path, source="more tea", dry_run=True)["unknown_before"] == 1,
             "what is superfluous is dropped", 20)


def is_kept(daemon):
    return undo(daemon.client, "/v1/models/m", source="spam", dry_run=True)["restored"] == 1


def a_label_is_kept(api, seconds):
    daemon = api.another(config={"store": {"superseded_seconds": seconds}}).start()
    relabelled(daemon)
    equal(is_kept(daemon), seconds > 0, f"superseded_seconds {seconds}")
    daemon.stop()


def test_nothing_is_kept_of_what_is_forgotten(api):
    """Neither of a document that is untrained, nor of content that it has no more."""
    daemon = api.another().start()
    path, client = "/v1/models/m", daemon.client
    for i, label in enumerate(("ham", "spam", "ham")):
        train(client, path, [{"text": "confidential tea", "label": label, "id": "a", "source": f"s{i}"},
                             {"text": "restricted milk", "label": label, "id": "b", "source": f"s{i}"}])
    tidied(daemon, "first")
    client = daemon.client
    client.post(path + "/untrain", {"id": "a"}).ok()
    train(client, path, [{"text": "public words", "label": "ham", "id": "b"}])
    tidied(daemon, "last")
    wait_for(lambda: not any(word in daemon.client.get(path + "/export").ok().body for word in (b"confidential", b"milk")),
             "the words are gone", 20)
    daemon.stop()
    equal(kept(daemon), 0)
    verified(api, daemon.data)


def test_what_is_not_kept_is_forgotten(api):
    daemon = api.another(config={"store": {"superseded_seconds": 0}}).start()
    path, client = "/v1/models/m", daemon.client
    train(client, path, [{"text": "tea with milk", "label": "ham", "id": "a", "source": "good"}])
    train(client, path, [{"text": "tea with milk", "label": "spam", "id": "a", "source": "bad"}])
    train(client, path, [{"text": "cheap pills", "label": "spam", "id": "b", "source": "good"}])
    wait_for(lambda: undo(client, path, source="bad", dry_run=True)["unknown_before"] == 1,
             "the superseded entry is dropped", 20)
    done = undo(client, path, source="bad")
    equal((done["documents"], done["forgotten"], done["unknown_before"]), (1, 1, 1))
    refused(client.get(path + "/documents/a"), 404)
    equal(client.get(path).ok().json["documents"], 1)
    daemon.stop()
    verified(api, daemon.data)


def test_a_later_change_of_somebody_else_stays(api):
    path = "/v1/models/" + api.name()
    train(api, path, [{"text": "tea", "label": "spam", "id": "a", "source": "bad"},
                      {"text": "tea", "label": "ham", "id": "a", "source": "good"}])
    equal(undo(api, path, source="bad")["documents"], 0)
    equal(api.get(path + "/documents/a").ok().json["label"], "ham")


def test_the_evaluation_without_is_the_one_after(api):
    rng = random.Random(3)
    path = "/v1/models/" + api.name()
    good = documents(rng, "good", 200)
    for document in good:
        document["text"] += " cash prize" if document["label"] == "spam" else " meeting tomorrow"
    poison = [{**document, "id": "bad" + document["id"], "source": "bad", "text": document["text"] + " x",
               "label": "ham" if document["label"] == "spam" else "spam"} for document in good[:60]]
    train(api, path, good[:100] + poison + good[100:])
    tried = undo(api, path, source="bad", dry_run=True)["evaluation"]
    windows = api.get(path + "/evaluation").ok().json["windows"]
    undo(api, path, source="bad")
    after = api.get(path + "/evaluation").ok().json["windows"]
    for figures, window in ((tried["now"], windows[-1]), (tried["without"], after[-1])):
        for name in ("documents", "accuracy", "log_loss", "brier", "one_minus_roca_percent"):
            near(figures[name], window[name], what=name)
    holds(tried["without"]["log_loss"] < tried["now"]["log_loss"], tried)


def test_by_time_ids_and_in_parts(api):
    path = "/v1/models/" + api.name()
    train(api, path, documents(random.Random(1), "a", 30) + documents(random.Random(2), "b", 30))
    time = api.get(path + "/documents/a-0").ok().json["learned"]
    equal(undo(api, path, to=time, dry_run=True)["documents"], 0)
    equal(undo(api, path, **{"from": time}, dry_run=True)["documents"], 60)
    equal(undo(api, path, **{"from": time}, to="2999-01-01", source="b", dry_run=True)["documents"], 30)
    equal(undo(api, path, **{"from": "2999-01-01T00:00:00.5+02:00"}, dry_run=True)["documents"], 0)
    equal(undo(api, path, ids=["a-1", "b-2", "none"], source="a")["documents"], 1)
    refused(api.get(path + "/documents/a-1"), 404)
    api.get(path + "/documents/b-2").ok()
    done, after, parts = 0, {}, 0
    while after is not None:
        part = undo(api, path, source="b", limit=7, **after)
        holds(part["documents"] <= 7, part)
        done, parts = done + part["documents"], parts + 1
        after = {"next": part["next"]} if "next" in part else None
    equal(done, 30)
    holds(parts >= 5, parts)
    equal(api.get(path).ok().json["documents"], 29)


def test_every_undo_leaves_a_note(api):
    daemon = api.another().start()
    path, client = "/v1/models/m", daemon.client
    train(client, path, documents(random.Random(1), "a", 10) + documents(random.Random(2), "b", 10))
    equal(client.get(path + "/undo").ok().json, {"undone": []})
    undo(client, path, source="a")
    client.post(path + "/undo?source=admin", {"ids": ["b-1", "b-2"], "from": "2020-02-29"}).ok()
    undo(client, path, source="nobody")
    for _ in range(2):
        notes = client.get(path + "/undo").ok().json["undone"]
        equal([(note["by"], note["documents"], note.get("source"), note.get("ids"), note.get("from")) for note in notes],
              [("http", 10, "a", None, None), ("admin", 2, None, 2, "2020-02-29T00:00:00.000Z")])
        first = client.get(path + "/undo?limit=1").ok().json
        equal(first["undone"], notes[:1])
        equal(client.get(f"{path}/undo?next={first['next']}").ok().json["undone"], notes[1:])
        daemon.stop()
        verified(api, daemon.data)
        status, out, err = api.tool("--rebuild", "--data", daemon.data)
        equal(status, 0, out + err)
        daemon = api.another(data=daemon.data).start()
        client = daemon.client
    equal(client.get(path).ok().json["documents"], 8)


def sources(client, path, query=""):
    got = client.get(path + "/sources" + query).ok().json
    equal(got["documents"], sum(row["documents"] for row in got["sources"]), "the sum")
    return got


def test_sources(api):
    """Each source with the documents that it left as they are: what an undo of it would take back."""
    rng = random.Random(3)
    client = api.another().start().client
    path = "/v1/models/m"
    client.put(path, {}).ok(201)
    equal(sources(client, path), {"sources": [], "documents": 0})
    train(client, path, documents(rng, "ann", 30) + documents(rng, "bob", 20))
    train(client, path, [{"text": "no label", "label": None, "id": f"u{i}", "source": "bob"} for i in range(3)])
    client.post(path + "/train", {"documents": [{"text": "another", "label": "ham", "id": f"ann-{i}", "source": "carol"} for i in range(4)]}).ok()
    client.post(path + "/untrain", {"id": "ann-29"}).ok()
    got = sources(client, path)
    equal([(row["source"], row["documents"], row["unlabelled"]) for row in got["sources"]], [("ann", 25, 0), ("bob", 23, 3), ("carol", 4, 0)])
    holds(all(row["first"] <= row["last"] for row in got["sources"]) and "next" not in got, got)
    for row in got["sources"]:
        equal(client.post(path + "/undo", {"source": row["source"], "dry_run": True}).ok().json["documents"], row["documents"], row["source"])
    # In pages the numbers of a source add up.
    sums, query = {}, "?limit=7"
    while query:
        page = sources(client, path, query)
        for row in page["sources"]:
            sums[row["source"]] = sums.get(row["source"], 0) + row["documents"]
        holds(page["documents"] == 7 or "next" not in page, page)
        query = f"?limit=7&next={page['next']}" if "next" in page else None
    equal(sums, {"ann": 25, "bob": 23, "carol": 4}, "of all pages")
    for wrong in ("limit=0", "limit=1000001", "next=x", "before=1"):
        refused(client.get(f"{path}/sources?{wrong}"), 400, wrong.partition("=")[0])
    refused(client.get("/v1/models/none/sources"), 404, "none")


def test_many_sources(api):
    """A page has 1,000 sources at most; the next one goes on with the one that did not fit."""
    client = api.another().start().client
    path = "/v1/models/m"
    train(client, path, [{"text": f"text {i}", "label": "a", "id": str(i), "source": f"s{i}"} for i in range(1100)])
    first = sources(client, path)
    second = sources(client, path, f"?next={first['next']}")
    equal((first["documents"], second["documents"], "next" in second), (1000, 100, False))
    equal(len({row["source"] for row in first["sources"] + second["sources"]}), 1100)


def test_bad_requests(api):
    path = "/v1/models/" + api.name()
    train(api, path, documents(random.Random(1), "a", 3))
    for wish, status, word in (({}, 400, "source"), ({"dry_run": True}, 400, "source"),
                               ({"source": 1}, 400, "source"), ({"source": "x" * 65}, 422, "source"),
                               ({"sauce": "a"}, 400, "sauce"), ({"ids": []}, 400, "ids"), ({"ids": [1]}, 400, "ids"),
                               ({"ids": [""]}, 422, "id"), ({"ids": ["x"] * 10001}, 413, "ids"),
                               ({"from": "yesterday"}, 400, "from"), ({"to": "2026-13-01"}, 400, "to"),
                               ({"to": "2026-02-29"}, 400, "to"), ({"from": "2026-01-01T10:00:00"}, 400, "from"),
                               ({"from": "1969-12-31"}, 400, "from"), ({"from": "2026-01-01T24:00:00Z"}, 400, "from"),
                               ({"from": "2026-01-02", "to": "2026-01-01"}, 422, "before"),
                               ({"source": "a", "limit": 0}, 400, "limit"),
                               ({"source": "a", "limit": 1, "dry_run": True}, 400, "dry_run")):
        refused(api.post(path + "/undo", wish), status, word)
    refused(api.post(path + "x/undo", {"source": "a"}), 404)
    refused(api.get(path + "x/undo"), 404)
    refused(api.get(path + "/undo?limit=0"), 400, "limit")
    equal(api.get(path).ok().json["documents"], 3)


def test_it_is_for_admins(api):
    tokens = {"train": "train=a-token-of-a-trainer-01", "admin": "boss=a-token-of-an-admin-01"}
    daemon = api.another(config={"tokens": tokens}).start()
    trainer, boss = ({"Authorization": "Bearer " + token.split("=")[1]} for token in tokens.values())
    path = "/v1/models/m"
    daemon.client.post(path + "/train", {"text": "tea", "label": "ham"}, **trainer).ok()
    refused(daemon.client.post(path + "/undo", {"source": "train"}, **trainer), 403)
    refused(daemon.client.get(path + "/undo", **trainer), 403)
    equal(daemon.client.post(path + "/undo", {"source": "train"}, **boss).ok().json["documents"], 1)
    equal(daemon.client.get(path + "/undo", **boss).ok().json["undone"][0]["by"], "boss")


def test_a_kill_in_the_middle(api):
    count = 3000
    daemon = api.another().start()
    path = "/v1/models/m"
    rng = random.Random(5)
    train(daemon.client, path, documents(rng, "bad", count) + documents(rng, "good", 100))

    def ask():
        try:
            undo(daemon.client, path, source="bad")
        except (OSError, AssertionError):
            pass  # the connection ends with the daemon

    thread = threading.Thread(target=ask)
    other = api.another(data=daemon.data)
    watcher = daemon.new_client()
    thread.start()
    wait_for(lambda: watcher.get(path).ok().json["documents"] < count + 100, "the first step", 20, 0.001)
    daemon.kill()
    thread.join()
    other.start()
    left = other.client.get(path).ok().json["documents"] - 100
    holds(0 <= left < count, left)
    notes = other.client.get(path + "/undo").ok().json["undone"]
    holds(sum(note["documents"] for note in notes) >= count - left, notes)
    other.stop()
    verified(api, other.data)
    other = api.another(data=daemon.data).start()
    equal(undo(other.client, path, source="bad")["documents"], left)
    equal(other.client.get(path).ok().json["documents"], 100)


def test_the_client(api):
    path = "/v1/models/" + api.name()
    model = path.rsplit("/", 1)[1]
    train(api, path, documents(random.Random(1), "bad", 2100) + documents(random.Random(2), "good", 50))
    client = Bayesc(api)
    said = client.run("undo", "--model", model, "--source", "bad", "--dry-run").decode()
    holds("1 - area under ROC" in said and "one_minus" not in said, f"figures have the names of bayesc evaluate: {said}")
    holds("2,100 documents would be taken back" in said and "accuracy" in said, said)
    equal(client.json("undo", "--model", model, "--source", "bad", "--dry-run")["forgotten"], 2100)
    client.run("undo", model, "--source", "bad", status=64)
    holds("--yes" in client.said, client.said)
    equal(api.get(path).ok().json["documents"], 2150, "nobody was asked")
    got = client.json("undo", model, "--yes", "--source", "bad", "--by", "me")
    equal((got["documents"], got["forgotten"]), (2100, 2100))
    equal(sum(row["documents"] for row in got["labels"].values()), 2100)
    equal({note["by"] for note in api.get(path + "/undo").ok().json["undone"]}, {"me"})
    said = client.run("undo", "--model", model, "--id", "good-1", "--id", "good-2").decode()
    holds("2 documents taken back" in said, said)
    client.run("undo", "--model", model, "--id", "good-3", "--id", "\udcff", status=64)
    client.run("undo", "--model", model, status=65)
    client.run("undo", "--model", model, "--from", "soon", "--yes", status=65)
    equal(api.get(path).ok().json["documents"], 48)


def test_changes_of_one_moment(api):
    """A change that comes again at the same moment is told from one that an undo has restored."""
    def taught(turns):
        path = "/v1/models/" + api.name()
        items = [{"id": str(i), "text": f"word{i}", "label": label, "source": source}
                 for i in range(20) for source, label in turns]
        equal(api.post(path + "/train", {"documents": items}).ok().json["failed"], 0)
        return path

    def done(path, source):
        report = undo(api, path, source=source)
        return report["documents"], report["restored"], report["forgotten"]

    path = taught([("a", "spam"), ("b", "ham"), ("a", "spam")])
    equal(done(path, "a"), (20, 20, 0))
    counts = {name: row["documents"] for name, row in api.get(path).ok().json["labels"].items()}
    equal(counts, {"ham": 20}, "a label without documents is gone")
    path = taught([("a", "spam"), ("b", "ham")])
    equal((done(path, "b"), done(path, "a")), ((20, 20, 0), (20, 0, 20)))


def test_an_id_that_is_given_twice(api):
    path = "/v1/models/" + api.name()
    train(api, path, documents(random.Random(8), "s", 3))
    wish = {"ids": ["s-1", "s-2", "s-1"]}
    equal(undo(api, path, **wish, dry_run=True)["documents"], 2)
    done = undo(api, path, **wish)
    equal((done["documents"], done["changed_since"]), (2, 0))


def test_what_was_undone_stays_so(api):
    """A later undo of another source does not bring back what an earlier one has taken back."""
    path = "/v1/models/" + api.name()

    def teach(source, label, id="d"):
        api.post(f"{path}/train?id={id}&label={label}&source={source}", "some words", "text/plain").ok()

    def has():
        reply = api.get(path + "/documents/d")
        return reply.json["label"] if reply.status == 200 else None

    teach("a", "spam")
    teach("b", "ham")
    teach("a", "spam")
    undo(api, path, source="a")
    equal(has(), "ham")
    undo(api, path, source="b")
    equal(has(), None)
    for source, label in (("a", "spam"), ("b", "ham")):  # also if another change was in force then
        teach(source, label)
    teach("a", "spam", "other")
    undo(api, path, source="a")
    equal(has(), "ham")
    teach("c", "spam")
    undo(api, path, source="c")
    equal(has(), "ham")
    undo(api, path, source="b")
    equal(has(), None)
    teach("a", "spam")  # what is taught after that counts
    teach("b", "ham")
    undo(api, path, source="b")
    equal(has(), "spam")


def test_a_document_taken_back_brings_the_verdicts_back(api):
    """Taught, or relabelled, and taken back: verdicts are the same to the last digit, also after a kill."""
    rng = random.Random(11)
    daemon = api.another().start()
    path, client = "/v1/models/back", daemon.client
    items = documents(rng, "own", 350, ["ham"]) + documents(rng, "other", 250, ["spam"])
    train(client, path, items)
    probes = [item["text"] for item in documents(rng, "new", 20)]

    def verdicts():
        return [client.post(path + "/classify", {"text": text}).ok().json["probabilities"] for text in probes]
    wait_for(lambda: len({json.dumps(verdicts()) for _ in range(3) if not time.sleep(.3)}) == 1, "the end of refits")
    before = verdicts()
    for kills in (False, True):
        taught = client.post(path + "/train", {"text": probes[0], "label": "ham"}).ok().json
        holds(verdicts() != before, "the document teaches")
        if kills:
            daemon.kill()
            daemon.start()
            client = daemon.client
        client.post(path + "/untrain", {"id": taught["id"]}).ok()
        equal(verdicts(), before)
    relabelled = {"documents": [{**items[0], "label": "spam"}]}
    client.post(path + "/train", relabelled).ok()
    holds(verdicts() != before, "the other label teaches")
    client.post(path + "/train", {"documents": [items[0]]}).ok()
    equal(verdicts(), before)
    daemon.stop()
    verified(api, daemon.data)


# ---- wrong labels that are taken back ------------------------------------------------------------
ASKED = 50


def numbered(number):
    """A document of 24 words, half of them of its label."""
    words, side = random.Random(number), number % 2
    text = " ".join(f"{'hs'[side] if words.random() < .5 else 'x'}{words.randrange(90)}" for _ in range(24))
    return {"id": str(number), "text": text, "label": ("ham", "spam")[side]}


def odds(client, path):
    """ln P(spam) / P(ham) of texts that nobody has taught."""
    texts = [{"text": numbered(10**6 + i)["text"]} for i in range(ASKED)]
    got = client.post(path + "/classify", {"documents": texts}).ok().json["results"]
    return [math.log(one["probabilities"]["spam"] / one["probabilities"]["ham"]) for one in got]


def apart(client, one, other):
    return max(abs(a - b) for a, b in zip(odds(client, one), odds(client, other)))


def test_a_wrong_label_taken_back_later_leaves_no_trace(api):
    """Beside a model that never saw the document: neither in the weights nor in the margins of passages, which no refit finds anew."""
    daemon = api.another().start()
    client, never, seen = daemon.client, "/v1/models/never", "/v1/models/seen"
    for path in (never, seen):
        client.put(path, {"preset": "text"}).ok(201)
        train(client, path, [numbered(number) for number in range(1200)])
        client.post(path + "/refit", None).ok()
    most = 0
    for number in range(10001, 10013, 2):
        before = odds(client, seen)
        train(client, seen, [{**numbered(number), "label": "ham"}])
        holds(max(abs(a - b) for a, b in zip(before, odds(client, seen))) > 1e-3, "the document teaches")
        for path in (never, seen):
            train(client, path, [numbered(number + 1000)])
        client.post(seen + "/untrain", {"id": str(number)}).ok()
        most = max(most, apart(client, never, seen))
    print(f"wrong labels taken back after one more document: at most {most:.2g} apart")
    holds(most <= .05, f"{most} apart")
    for path in (never, seen):
        client.post(path + "/refit", None).ok()
    after = apart(client, never, seen)
    holds(after <= 1e-6, f"after a refit {after} apart")
    daemon.stop()
    verified(api, daemon.data)
