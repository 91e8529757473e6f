# SPDX-License-Identifier: Apache-2.0
"""Clusters of documents without a label: found, told in words, and the same for the same seed."""
import random
import threading

from harness import equal, holds, refused, wait_for
from prometheus import parse
from test_client import Bayesc

M = "/v1/models/m"
KINDS = {"garden": "rose tulip soil seed rain spade", "kitchen": "oven flour salt butter pan dough",
         "harbour": "ship crane rope anchor dock tide"}


def documents(rng, count):
    """[(kind, text)]: words of the kind, and words that all have."""
    found = []
    for i in range(count):
        kind = sorted(KINDS)[i % len(KINDS)]
        own = [rng.choice(KINDS[kind].split()) for _ in range(6)]
        found.append((kind, " ".join(own + rng.sample("the and with from about many".split(), 3))))
    return found


def filled(client, count=90, label=None):
    client.put(M, {"preset": "book"})
    made = documents(random.Random(7), count)
    client.post(M + "/train", {"documents": [{"id": f"{kind}-{i}", "label": label, "text": text}
                                             for i, (kind, text) in enumerate(made)]}).ok()


def cluster(client, **asked):
    return client.post(M + "/cluster", asked).ok().json


def test_kinds_are_found(api):
    client = api.another().start().client
    filled(client)
    before = client.get(M).ok().json
    found = cluster(client, clusters=3, seed=5)
    equal((found["documents"], len(found["clusters"]), found["seed"]), (90, 3, 5))
    holds(sum(c["documents"] for c in found["clusters"]) == 90, found)
    kinds = set()
    for c in found["clusters"]:
        kind, = {id.split("-")[0] for id in c["nearest"]}
        kinds.add(kind)
        holds({w["token"] for w in c["words"][:4]} <= set(KINDS[kind].split()), c)
        holds(25 <= c["documents"] <= 35, c)
    equal(kinds, set(KINDS))
    equal(cluster(client, clusters=3, seed=5), found)
    full = cluster(client, clusters=3, seed=5, members=True)
    for c in full["clusters"]:
        ids = c.pop("members")
        equal(len(ids), c["documents"])
        holds(set(c["nearest"]) <= set(ids), c)
        kinds_of = [id.split("-")[0] for id in ids]
        holds(max(map(kinds_of.count, KINDS)) >= 0.9 * len(ids), kinds_of)
    equal(full, found)
    equal(client.get(M).ok().json, before, "nothing is changed")


def test_auto_finds_how_many(api):
    client = api.another().start().client
    filled(client, 150)
    found = cluster(client, clusters="auto")
    equal(len(found["clusters"]), 3)
    holds(found["bic"] < cluster(client, clusters=1)["bic"], "BIC")


def test_a_cluster_becomes_a_label(api):
    """By the ids of its documents alone."""
    client = api.another().start().client
    filled(client)
    for c in cluster(client, clusters=3, members=True)["clusters"]:
        name = c["nearest"][0].split("-")[0]
        client.post(M + "/train", {"documents": [{"id": id, "label": name} for id in c["members"]]}).ok()
    equal(client.get(M).ok().json["documents"], 90)
    for kind, words in KINDS.items():
        equal(client.post(M + "/classify", {"text": words}).ok().json["label"], kind)


def test_bayesc(api):
    daemon = api.another().start()
    filled(daemon.client)
    bayesc = Bayesc(api, f"http://{daemon.client.host}:{daemon.client.port}")
    said = bayesc.run("cluster", "m", "-k", "3").decode()
    rows = said.splitlines()
    equal(len(rows), 4, "a head and the clusters")
    for words in KINDS.values():
        holds(any(set(row.split()[2:5]) <= set(words.split()) for row in rows[1:]), said)
    members = [row.split("\t") for row in bayesc.run("cluster", "m", "-k", "3", "--members").decode().splitlines()]
    equal(len(members), 90)
    equal({k for k, _ in members}, {"1", "2", "3"})
    equal(len(bayesc.json("cluster", "m", "--all")["clusters"]), 3, "found by itself")


def test_all_documents(api):
    client = api.another().start().client
    filled(client, label="some")
    refused(client.post(M + "/cluster", {"clusters": 3}), 409, "documents")
    equal(cluster(client, clusters=3, documents="all")["documents"], 90)


def test_what_is_refused(api):
    client = api.another().start().client
    refused(client.post(M + "/cluster", {"clusters": 3}), 404)
    filled(client, 9)
    refused(client.post(M + "/cluster", {"clusters": 0}), 422, "clusters")
    refused(client.post(M + "/cluster", {"clusters": 201}), 422, "clusters")
    refused(client.post(M + "/cluster", {"clusters": "many"}), 400, "auto")
    refused(client.post(M + "/cluster", {"clusters": 2, "restarts": 0}), 422, "restarts")
    refused(client.post(M + "/cluster", {"clusters": 2, "documents": "some"}), 400, "unlabelled")
    refused(client.post(M + "/cluster", {}), 400, "clusters")
    refused(client.post(M + "/cluster", {"clusters": 2, "apply": True}), 400, "apply")
    refused(client.post(M + "/cluster", {"clusters": 50}), 409)


# ---- memory --------------------------------------------------------------------------------------
def held(daemon):
    return parse(daemon.client.get("/metrics").ok().body.decode()).value("bayesd_cluster_memory_bytes")


def wide(client, count, width):
    """Documents of words that three of them have: each cluster has numbers for all words."""
    client.put(M, {"preset": "book"})
    rows = [{"id": str(i), "label": None, "text": " ".join(f"w{(i // 3) * width + j}" for j in range(width))} for i in range(count)]
    equal(client.post(M + "/train", {"documents": rows}).ok().json["failed"], 0)


def cluster_memory(api):
    """What one request takes is bounded, and told; it comes back, also from one that is refused."""
    daemon = api.another(config={"models": {"cluster_memory": "1M"}}).start()
    wide(daemon.client, 300, 60)  # 6,000 words
    refused(daemon.client.post(M + "/cluster", {"clusters": 20}), 413, "cluster_memory")
    equal(held(daemon), 0)
    daemon.client.post(M + "/cluster", {"clusters": 2, "restarts": 1}).ok()
    equal(held(daemon), 0)


def test_cluster_memory(api):
    cluster_memory(api)


def test_clusterings_share_their_memory(api):
    """While one has it, another one that would fit alone is told to come again."""
    daemon = api.another(config={"models": {"cluster_memory": "24M"}}).start()
    wide(daemon.client, 900, 100)  # 30,000 words

    def ask(client):
        try:
            client.post(M + "/cluster", {"clusters": 20, "restarts": 100})
        except OSError:
            pass  # it is cut off
    asking = threading.Thread(target=ask, args=(daemon.new_client(),))
    asking.start()
    wait_for(lambda: held(daemon) > 14 << 20, "it has its tables", 60)
    refused(daemon.client.post(M + "/cluster", {"clusters": 20, "restarts": 100}), 503, "cluster_memory", "later")
    holds(held(daemon) <= 24 << 20, held(daemon))
    daemon.client.post(M + "/cluster", {"clusters": 1, "restarts": 1}).ok()
    daemon.kill()
    asking.join()
