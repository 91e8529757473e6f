# SPDX-License-Identifier: Apache-2.0
"""near_duplicates: of documents of a label that are nearly the same only so many are learned, exactly."""
import os
import random

from harness import equal, holds, refused
from prometheus import parse
from test_client import Bayesc

M = "/v1/models/m"


def text(seed, changed=0, size=200):
    """A text by its seed, with so many words changed."""
    rng = random.Random(seed)
    words = [f"w{rng.randrange(10**6)}" for _ in range(size)]
    for i in range(changed):
        words[i * size // max(changed, 1)] = f"changed{random.randrange(10**9)}"
    return " ".join(words)


def model(client, path=M, **settings):
    client.put(path, {"preset": "book", **settings})


def train(client, id, content, label="spam", path=M):
    return client.post(path + "/train", {"text": content, "label": label, "id": id}).ok().json


def statuses(client, *documents, **how):
    return [train(client, *document, **how)["status"] for document in documents]


def row(client, path=M):
    found = client.get(path).ok().json
    return {k: v for k, v in found.items() if k not in ("name", "settings")}


def started(api):
    return api.another().start()


def test_off_by_default(api):
    daemon = started(api)
    model(daemon.client)
    equal(statuses(daemon.client, *((str(i), text(1)) for i in range(5))), ["learned"] * 5)


def test_so_many_are_learned(api):
    """The model is to the last count one that never saw the others."""
    client = started(api).client
    model(client, near_duplicates=3)
    model(client, "/v1/models/other")
    for i in range(3):
        content = text(7, 2)
        equal(train(client, f"a{i}", content)["status"], "learned")
        train(client, f"a{i}", content, path="/v1/models/other")
    before = row(client)
    reply = train(client, "late", text(7, 2))
    equal((reply["status"], reply["label"], reply["new_tokens"]), ("near_duplicate", "spam", 0))
    holds(reply["near_duplicate_of"] in ("a0", "a1", "a2") and 0.9 <= reply["similarity"] <= 1, reply)
    equal(row(client), before)
    equal(row(client), row(client, "/v1/models/other"))
    refused(client.get(M + "/documents/late"), 404)
    refused(client.post(M + "/untrain", {"id": "late"}), 404)
    equal(train(client, "another", text(8))["status"], "learned")
    equal(train(client, "other label", text(7, 2), "ham")["status"], "learned")
    # What is learned goes on as ever.
    equal(train(client, "a0", text(7, 2))["status"], "updated")
    equal(train(client, "another", text(8), "ham")["status"], "relabelled")
    client.post(M + "/untrain", {"id": "a1"}).ok()
    equal(statuses(client, ("late", text(7, 2)), ("later", text(7, 2))), ["learned", "near_duplicate"])


def test_relabelled_ones_count_where_they_are(api):
    client = started(api).client
    model(client, near_duplicates=1)
    equal(statuses(client, ("1", text(1)), ("2", text(1, 1))), ["learned", "near_duplicate"])
    train(client, "1", text(1), "ham")
    equal(statuses(client, ("3", text(1, 1)), ("4", text(1, 1))), ["learned", "near_duplicate"])


def test_batches(api):
    client = started(api).client
    model(client, near_duplicates=2)
    reply = client.post(M + "/train", {"documents": [
        {"text": text(1, 1), "label": "spam", "id": str(i)} for i in range(6)]}).ok().json
    equal((reply["learned"], reply["near_duplicate"]), (2, 4))
    equal([r["status"] for r in reply["results"]], ["learned"] * 2 + ["near_duplicate"] * 4)
    holds(b'status="near_duplicate"} 4' in client.get("/metrics").ok().body, "metrics")


def test_after_a_kill_and_a_rebuild(api):
    """The list of what was learned last is made again from the ledger."""
    daemon = started(api)
    model(daemon.client, near_duplicates=2)
    for i in range(40):
        train(daemon.client, f"x{i}", text(100 + i))
    equal(statuses(daemon.client, ("1", text(1, 1)), ("2", text(1, 1)), ("3", text(1, 1))), ["learned", "learned", "near_duplicate"])
    daemon.client.post(M + "/untrain", {"id": "x3"}).ok()
    for stop in (daemon.kill, daemon.stop):
        stop()
        equal(api.tool("--verify", "--data", daemon.data)[0], 0)
        equal(api.tool("--rebuild", "--data", daemon.data)[0], 0)
        daemon.start()
        equal(train(daemon.client, "3", text(1, 1))["status"], "near_duplicate")
        equal(train(daemon.client, "x7 again", text(107))["status"], "learned")  # the second of its kind
        equal(train(daemon.client, "x7 once more", text(107))["status"], "near_duplicate")
        daemon.client.post(M + "/untrain", {"id": "x7 again"}).ok()


def test_an_undo_makes_room(api):
    client = started(api).client
    model(client, near_duplicates=1)
    client.post(M + "/train?source=junk", {"text": text(1), "label": "spam", "id": "1"}).ok()
    equal(train(client, "2", text(1))["status"], "near_duplicate")
    client.post(M + "/undo", {"source": "junk"}).ok()
    equal(train(client, "2", text(1))["status"], "learned")


def test_similarity(api):
    """Documents that share three words in four are nearly the same at 0.5, and not at 0.95."""
    for similarity, want in ((0.5, "near_duplicate"), (0.95, "learned")):
        client = started(api).client
        model(client, near_duplicates=1, near_duplicate_similarity=similarity)
        equal(statuses(client, ("1", text(1, 0, 400)), ("2", text(1, 60, 400)), ("3", text(2, 0, 400))), ["learned", want, "learned"])
    for setting, value in (("near_duplicate_similarity", 0.4), ("near_duplicate_similarity", 1.1), ("near_duplicates", 1001),
                           ("near_duplicate_window", 0), ("near_duplicate_window", 100001)):
        refused(client.put(M, {setting: value}), 422, setting)


def test_window(api):
    """What was learned longer ago than the window is not looked at; a changed window holds at once."""
    client = started(api).client
    model(client, near_duplicates=1, near_duplicate_window=5)
    train(client, "first", text(1))
    for i in range(4):
        train(client, f"x{i}", text(100 + i))
    equal(train(client, "again", text(1))["status"], "near_duplicate")
    train(client, "x4", text(104))
    equal(train(client, "again", text(1))["status"], "learned")
    model(client, near_duplicates=1, near_duplicate_window=6)
    equal(train(client, "x1 again", text(101))["status"], "near_duplicate")
    model(client, near_duplicates=1, near_duplicate_window=2)
    equal(train(client, "x1 again", text(101))["status"], "learned")
    model(client)
    equal(train(client, "x1 once more", text(101))["status"], "learned")


def test_bayesc_counts_them(api):
    daemon = started(api)
    model(daemon.client, near_duplicates=1)
    client, folder = Bayesc(api, f"http://{daemon.host}:{daemon.port}"), api.new_folder()
    for i in range(3):
        with open(os.path.join(folder, str(i)), "w", encoding="ascii") as file:
            file.write(text(1, i))
    equal(client.json("train", "-m", "m", "--text", "--label", "spam", folder)["near_duplicate"], 2)


def test_documents_without_words(api):
    client = started(api).client
    model(client, near_duplicates=1)
    equal(statuses(client, ("1", ""), ("2", ""), ("3", "word"), ("4", "word")), ["learned", "near_duplicate", "learned", "near_duplicate"])


def memory_of(api, **settings):
    """What a model of 3,000 documents takes."""
    client = started(api).client
    model(client, **settings)
    for at in range(0, 3000, 1000):
        documents = [{"text": text(i, size=20), "label": "spam", "id": str(i)} for i in range(at, at + 1000)]
        equal(client.post(M + "/train", {"documents": documents}).ok().json["learned"], 1000)
    return parse(client.get("/metrics").ok().body.decode()).value("bayesd_model_memory_bytes")


def test_the_list_counts_as_memory(api):
    without, with_list = memory_of(api), memory_of(api, near_duplicates=1)
    holds(with_list >= without + 3000 * 80, f"{without} bytes without the list, {with_list} with it")
