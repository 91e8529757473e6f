# SPDX-License-Identifier: Apache-2.0
"""The twin of a stacked model: its switch, its explanations, and how it goes from store to store."""
import math
import random

from book import Model
from harness import equal, holds, near, wait_for

NDJSON = "application/x-ndjson"


def documents(seed, count=150, words=300):
    """Texts that the stack gets wrong: what tells is one word of many, and one label in ten is wrong."""
    rnd = random.Random(seed)
    for n in range(count):
        label = rnd.choice(["ham", "spam"])
        telling = ["prize" if label == "spam" else "garden"] if rnd.random() < 0.9 else []
        yield " ".join([*telling, *(f"word{rnd.randrange(words)}" for _ in range(20))]), label, str(n)


def teach(api, path, count=150, words=300):
    for text, label, id in documents(8, count, words):
        api.post(path + "/train", {"text": text, "label": label, "id": id}).ok()


def probability(api, path, text):
    return api.post(path + "/classify", {"text": text}).ok().json["probabilities"]["spam"]


def settled(api, path, probes=None):
    """What it says of the probes when no refit is under way any more."""
    wait_for(lambda: b"\nbayesd_refits_waiting 0\n" in api.get("/metrics").ok().body, "refits end", 30)
    return [probability(api, path, text) for text in probes or PROBES]


PROBES = ["prize word1 word2", "garden word3 word250 word17", "word4 word5 word6 word77"]


def alike(some, others):
    return sum(math.isclose(a, b, rel_tol=0.01) for a, b in zip(some, others))


def test_switch(api):
    with Model(api, decision="stacked") as model:
        equal(api.get(model.path).json["settings"]["twin"], True)
        teach(api, model.path)
        on = settled(api, model.path)
        model.put(decision="stacked", twin=False)
        equal(api.get(model.path).json["settings"]["twin"], False)
        off = settled(api, model.path)
        holds(any(abs(a - b) > 1e-6 for a, b in zip(on, off)), f"the same with and without the twin: {on}")
        model.put(decision="stacked", twin=True)  # it knows what it knew
        equal(settled(api, model.path), on)


def test_the_key_changes_no_verdict(api):
    """Each store hashes features under a key of its own; which of them share a weight of the twin does not depend on it."""
    said = []
    for _ in range(2):
        client = api.another().start().client
        client.put("/v1/models/m", {"decision": "stacked"}).ok(201)
        rows = [{"text": text, "label": label, "id": id} for text, label, id in documents(8, 900, 4000)]
        client.post("/v1/models/m/train", {"documents": rows}).ok()
        texts = [text for text, _, _ in documents(9, 50, 4000)]
        said.append(settled(client, "/v1/models/m", texts))
    for one, other in zip(*said):
        near(one, other)


def test_explanation_adds_up(api):
    with Model(api, decision="stacked") as model:
        teach(api, model.path)
        for text in PROBES:
            got = api.post(model.path + "/classify?explain=1000", {"text": text}).ok().json
            first, second = sorted(got["probabilities"].values(), reverse=True)
            near(sum(row["evidence"] for row in got["explanation"]), math.log(first / second), text, 1e-9)


def test_another_store(api):
    """There features have other ids, but their weights lie in the same slots, so each probability is the same to the last bit."""
    other = api.another().start()
    words = 40
    rng = random.Random(5)
    probes = [" ".join(f"word{n}" for n in rng.sample(range(words), 3)) for _ in range(40)]
    with Model(api, decision="stacked", tokenizer={"fields": ["body"]}) as model:
        teach(api, model.path, words=words)
        want = settled(api, model.path, probes)
        model.put(decision="stacked", twin=False)
        without = settled(api, model.path, probes)
        model.put(decision="stacked", twin=True)
        dump = api.get(model.path + "/export").ok().body
        other.client.put("/v1/models/there/import", dump, NDJSON).ok(201)
        there = settled(other.client, "/v1/models/there", probes)
        equal(there, want)
        holds(alike(without, want) < 15, f"{alike(without, want)} of 40 are alike without the twin")
        # From there over itself.
        again = other.client.get("/v1/models/there/export").ok().body
        other.client.put("/v1/models/again/import", again, NDJSON).ok(201)
        equal(settled(other.client, "/v1/models/again", probes), there)


def test_after_a_kill(api):
    daemon = api.another(keep=True).start()
    path = "/v1/models/m"
    daemon.client.put(path, {"decision": "stacked"}).ok(201)
    for round in range(3):
        for text, label, id in documents(round, 40):
            daemon.client.post(path + "/train", {"text": text, "label": label, "id": f"{round}-{id}"}).ok()
        want = settled(daemon.client, path)
        daemon.kill()
        daemon.start()
        equal(settled(daemon.client, path), want)


def topics(seed):
    """Texts of twelve labels, from 300 documents down to 3: a few words tell, four of ten of them of any label."""
    rnd = random.Random(seed)
    sizes = [300, 200, 60, 30, 20, 12, 8, 6, 5, 4, 3, 3]

    def text(label):
        telling = [f"of{label if rnd.random() < 0.6 else rnd.randrange(len(sizes))}-{rnd.randrange(20)}"
                   for _ in range(rnd.randint(1, 4))]
        return " ".join([*telling, *(f"word{min(int(rnd.paretovariate(0.6)), 4000)}" for _ in range(12))])

    def draw(counts):
        return [{"text": text(v), "label": f"l{v}"} for v, count in enumerate(counts) for _ in range(count)]
    train = draw(sizes)
    rnd.shuffle(train)
    return train, draw(sizes)


def test_many_labels_are_as_sure_as_they_are_right(api):
    """At the top neither too sure nor much too unsure, and the rows of an explanation still sum to the difference."""
    answers = []
    for seed in range(3):
        with Model(api, preset="text") as model:
            train, asked = topics(seed)
            model.post("train", {"documents": [{**d, "id": str(i)} for i, d in enumerate(train)]}).ok()
            results = model.post("classify", {"documents": [{"text": d["text"]} for d in asked]}).ok().json["results"]
            answers += [(r["label"] == d["label"], r["probability"]) for d, r in zip(asked, results)]
            said = model.post("classify?explain=5000", {"text": asked[0]["text"]}).ok().json
            first, second = sorted(said["probabilities"].values(), reverse=True)[:2]
            near(sum(row["evidence"] for row in said["explanation"]), math.log(first / second), seed, 1e-9)
    top = [(right, p) for right, p in answers if p > 0.9]
    over = sum(p - right for right, p in top) / len(top)
    holds(len(top) > 500 and abs(over) < 0.02, (len(top), over))
