# SPDX-License-Identifier: Apache-2.0
"""Clusters that become labels: named, renamed by a person, taken back, and whole when they are cut off."""
import json
import random
import threading

from acknowledged import verified
from harness import equal, holds, refused, wait_for
from test_client import USAGE, Bayesc
from test_cluster import KINDS, M, cluster, documents, filled
from test_undo import picture, train

PROBES = [*KINDS.values(), "rose and oven", "unheard"]


def labels_of(client, path=M):
    return {name: row["documents"] for name, row in client.get(path).ok().json["labels"].items()}


def given(client):
    """{id: label} of all documents, from the dump."""
    records = [json.loads(line) for line in client.get(M + "/export").ok().body.decode().splitlines()]
    names = next(r["labels"] for r in records if "labels" in r)
    numbers = {r["document"]["id"]: r["document"]["label"] for r in records if "document" in r}
    return {id: None if number is None else names[number] for id, number in numbers.items()}


def apply(client, **asked):
    return cluster(client, **{"clusters": 3, "apply": "labels", **asked})


def kind_of(id):
    return id.split("-")[0]


def relabelled(client, path, rows):
    """A model that has learned the documents with these labels."""
    client.put(path, {"preset": "book"}).ok(201)
    train(client, path, [{"id": id, "label": label, "text": text} for id, label, text in rows])


def test_documents_get_the_label_of_their_cluster(api):
    client = api.another().start().client
    filled(client)
    plain = cluster(client, clusters=3, seed=5, members=True)
    found = apply(client, seed=5, members=True)
    equal(found["labelled"], 90)
    equal([c["label"] for c in found["clusters"]], ["cluster-1", "cluster-2", "cluster-3"])
    for c in found["clusters"]:
        label = c.pop("label")
        for id in c["members"]:
            equal(client.get(f"{M}/documents/{id}").ok().json["label"], label)
    found.pop("labelled")
    equal(found, plain, "the clusters are those that are told without apply")
    row = client.get(M).ok().json
    equal((row["documents"], row.get("unlabelled", 0)), (90, 0))
    equal(labels_of(client), {f"cluster-{i + 1}": c["documents"] for i, c in enumerate(plain["clusters"])})
    # All is as if somebody had trained them so.
    texts = {f"{kind}-{i}": text for i, (kind, text) in enumerate(documents(random.Random(7), 90))}
    relabelled(client, "/v1/models/other", [(id, label, texts[id]) for id, label in given(client).items()])
    equal(picture(client, M, PROBES), picture(client, "/v1/models/other", PROBES))


def test_a_person_renames_them(api):
    client = api.another().start().client
    filled(client)
    names = {}
    for c in apply(client)["clusters"]:
        names[c["label"]] = kind_of(c["nearest"][0])
        client.call("PATCH", f"{M}/labels/{c['label']}", {"name": names[c["label"]]}).ok()
    equal(set(names.values()), set(KINDS))
    equal(set(labels_of(client)), set(KINDS))
    for kind, words in KINDS.items():
        equal(client.post(M + "/classify", {"text": words}).ok().json["label"], kind)


def test_names_that_exist_are_avoided(api):
    """Also of labels without documents; labels that documents have stay."""
    client = api.another().start().client
    client.put(M, {"preset": "book"})
    for id, label in (("a", "cluster-2"), ("b", "cluster-3"), ("c", "cluster-1x")):
        client.post(M + "/train", {"id": id, "label": label, "text": "rose oven ship"}).ok()
    client.post(M + "/untrain", {"id": "b"}).ok()
    filled(client)
    found = apply(client)
    equal([c["label"] for c in found["clusters"]], ["cluster-1", "cluster-4", "cluster-5"])
    equal(found["labelled"], 90)
    equal(client.get(M + "/documents/a").ok().json["label"], "cluster-2")
    refused(client.post(M + "/cluster", {"clusters": 3, "apply": "labels"}), 409, "documents")
    client.post(M + "/train", {"documents": [{"id": f"late{i}", "label": None, "text": text}
                                             for i, (_, text) in enumerate(documents(random.Random(8), 30))]}).ok()
    equal([c["label"] for c in apply(client)["clusters"]], ["cluster-6", "cluster-7", "cluster-8"])


def test_taken_back_by_their_source(api):
    client = api.another().start().client
    filled(client)
    found = cluster(client, clusters=3)
    client.post(M + "/cluster?source=topics", {"clusters": 3, "apply": "labels"}).ok()
    equal(client.get(M + "/documents/garden-0").ok().json["source"], "topics")
    equal(client.post(M + "/undo", {"source": "topics"}).ok().json["documents"], 90)
    row = client.get(M).ok().json
    equal((row["documents"], row["unlabelled"]), (0, 90))
    equal(cluster(client, clusters=3), found)


def test_what_is_refused(api):
    daemon = api.another(config={"models": {"quarantine": "stranger"}}).start()
    client = daemon.client
    filled(client)
    before = client.get(M).ok().json
    refused(client.post(M + "/cluster", {"clusters": 3, "apply": "names"}), 400, "apply", "labels")
    refused(client.post(M + "/cluster", {"clusters": 3, "apply": True}), 400, "apply")
    refused(client.post(M + "/cluster", {"clusters": 3, "apply": "labels", "documents": "all"}), 422, "unlabelled")
    refused(client.post(M + "/cluster?source=stranger", {"clusters": 3, "apply": "labels"}), 422, "quarantine")
    refused(client.post(M + "/cluster?source=" + "x" * 65, {"clusters": 3}), 422, "source")
    equal(client.get(M).ok().json, before)
    client.post(M + "/cluster?source=stranger", {"clusters": 3}).ok()


def test_bayesc(api):
    daemon = api.another().start()
    filled(daemon.client)
    bayesc = Bayesc(api, f"http://{daemon.client.host}:{daemon.client.port}")
    rows = bayesc.run("cluster", "m", "-k", "3", "--apply", "--by", "ann & co").decode().splitlines()
    equal(daemon.client.get(M + "/documents/garden-0").ok().json["source"], "ann & co")
    bayesc.run("cluster", "m", "-k", "3", "--by", "x" * 65, status=USAGE)
    equal(rows[0].split()[-1], "label")
    equal([row.split()[-1] for row in rows[1:]], ["cluster-1", "cluster-2", "cluster-3"])
    bayesc.run("rename-label", "-m", "m", "cluster-1", "topic")
    equal(set(labels_of(daemon.client)), {"topic", "cluster-2", "cluster-3"})


def many(client, count):
    client.put(M, {"preset": "book"})
    made = [(f"{kind}-{i}", None, text) for i, (kind, text) in enumerate(documents(random.Random(9), count))]
    train(client, M, [{"id": id, "label": label, "text": text} for id, label, text in made])
    return {id: text for id, _, text in made}


def begin(daemon, **asked):
    """Asks for labels on a thread of its own, and waits until the first are given."""
    replies = []

    def ask(client):
        try:
            replies.append(client.post(M + "/cluster", {"clusters": 3, "restarts": 1, "apply": "labels", **asked}))
        except OSError:
            pass
    asking = threading.Thread(target=ask, args=(daemon.new_client(),))
    before = daemon.client.get(M).ok().json["documents"]
    asking.start()
    wait_for(lambda: daemon.client.get(M).ok().json["documents"] > before or not asking.is_alive(), "the first labels", 60)
    return asking, replies


def test_kills_in_the_middle(api):
    """Each document has its label or none; the next call does the rest, and all is what training makes it."""
    daemon = api.another(config={"store": {"replay_features": 2000}}).start()
    texts, cut_off = many(daemon.client, 30000), 0
    for _ in range(3):
        asking, replies = begin(daemon)
        daemon.kill()
        asking.join()
        verified(api, daemon.data)
        daemon.start()
        row, there = daemon.client.get(M).ok().json, given(daemon.client)
        equal(set(there), set(texts))
        equal(row["documents"] + row.get("unlabelled", 0), len(texts))
        found = [label for label in there.values() if label is not None]
        equal({label: found.count(label) for label in set(found)}, {k: n for k, n in labels_of(daemon.client).items() if n})
        equal(row["documents"] % 500, 0, "a step is made whole or not at all")
        cut_off += 0 < row.get("unlabelled", 0)
        holds(row["documents"] > 0, "labels that were seen are there")
    holds(cut_off > 0, "no call was cut off")
    if daemon.client.get(M).ok().json.get("unlabelled"):
        apply(daemon.client, restarts=1)
    client, there = daemon.client, given(daemon.client)
    equal(client.get(M).ok().json["documents"], len(texts))
    relabelled(client, "/v1/models/other", [(id, label, texts[id]) for id, label in there.items()])
    equal(picture(client, M, PROBES), picture(client, "/v1/models/other", PROBES))


def test_what_changes_meanwhile_stays(api):
    """A label that somebody gives while others are given is not replaced."""
    daemon = api.another().start()
    texts = many(daemon.client, 20000)
    asking, replies = begin(daemon)
    mine = [id for id in reversed(texts)][:300]
    changed = daemon.client.post(M + "/train", {"documents": [
        {"id": id, "label": "mine"} if i % 3 else {"id": id, "label": None, "text": "other words"}
        for i, id in enumerate(mine)]}).ok().json
    daemon.client.post(M + "/untrain", {"id": list(texts)[-301]}).ok()
    asking.join()
    equal(changed["failed"], 0)
    reply = replies[0].ok().json
    row = daemon.client.get(M).ok().json
    equal(labels_of(daemon.client)["mine"], 200)
    if changed["learned"] == 200:  # they came before their step
        equal((reply["labelled"], row["unlabelled"]), (20000 - 301, 100))
        holds(sum(c["documents"] for c in reply["clusters"]) == 20000, reply)


def test_two_at_once(api):
    """They would choose the same names: the later one is refused, and changes nothing."""
    daemon = api.another().start()
    many(daemon.client, 20000)
    asking, replies = begin(daemon)
    second = daemon.client.post(M + "/cluster", {"clusters": 2, "apply": "labels"})
    running = asking.is_alive()
    asking.join()
    if running:
        refused(second, 409, "already")
        equal(set(labels_of(daemon.client)), {"cluster-1", "cluster-2", "cluster-3"})
        equal(replies[0].ok().json["labelled"], 20000)
    refused(daemon.client.post(M + "/cluster", {"clusters": 2, "apply": "labels"}), 409, "too few")
    train(daemon.client, M, [{"id": f"more-{i}", "label": None, "text": text}
                             for i, (_, text) in enumerate(documents(random.Random(1), 60))])
    equal([c["label"] for c in apply(daemon.client, clusters=2)["clusters"]], ["cluster-4", "cluster-5"])
