# SPDX-License-Identifier: Apache-2.0
"""The twin of a stacked model: its switch, its explanations, and how it goes from store to store."""
import math
import random

from book import Model
from harness import equal, holds, near

NDJSON = "application/x-ndjson"


def documents(seed, count=150):
    """Texts that the stack gets wrong: what tells is one word of many, and one label in ten is wrong."""
    rnd = random.Random(seed)
    for n in range(count):
        label = rnd.choice(["ham", "spam"])
        telling = ["prize" if label == "spam" else "garden"] if rnd.random() < 0.9 else []
        yield " ".join([*telling, *(f"word{rnd.randrange(300)}" for _ in range(20))]), label, str(n)


def teach(api, path, count=150):
    for text, label, id in documents(8, count):
        api.post(path + "/train", {"text": text, "label": label, "id": id}).ok()


def probability(api, path, text):
    return api.post(path + "/classify", {"text": text}).ok().json["probabilities"]["spam"]


PROBES = ["prize word1 word2", "garden word3 word250 word17", "word4 word5 word6 word77"]


def test_switch(api):
    with Model(api, decision="stacked") as on, Model(api, decision="stacked", twin=False) as off:
        equal(api.get(on.path).json["settings"]["twin"], True)
        equal(api.get(off.path).json["settings"]["twin"], False)
        teach(api, on.path)
        teach(api, off.path)
        for text in PROBES:
            holds(abs(probability(api, on.path, text) - probability(api, off.path, text)) > 1e-6, text)
        # Off afterwards it says what the stack alone says, which has learned the same all along.
        on.put(decision="stacked", twin=False)
        for text in PROBES:
            equal(probability(api, on.path, text), probability(api, off.path, text))


def test_explanation_adds_up(api):
    with Model(api, decision="stacked") as model:
        teach(api, model.path)
        for text in PROBES:
            got = api.post(model.path + "/classify?explain=1000", {"text": text}).ok().json
            first, second = sorted(got["probabilities"].values(), reverse=True)
            near(sum(row["evidence"] for row in got["explanation"]), math.log(first / second), text, 1e-9)


def test_another_store(api):
    """There features have other ids, and so other slots. What the twin knows of them comes along."""
    other = api.another().start()
    with Model(api, decision="stacked", tokenizer={"fields": ["body"]}) as model:
        teach(api, model.path)  # few features, so that hardly two share a slot, here or there
        dump = api.get(model.path + "/export").ok().body
        other.client.put("/v1/models/there/import", dump, NDJSON).ok(201)
        for text in PROBES:
            near(probability(other.client, "/v1/models/there", text), probability(api, model.path, text), text, 0.02)
        # From there and back, and over itself, to the bit: the slots are by the features' ids, and those are the same.
        again = other.client.get("/v1/models/there/export").ok().body
        other.client.put("/v1/models/again/import", again, NDJSON).ok(201)
        for text in PROBES:
            equal(probability(other.client, "/v1/models/again", text), probability(other.client, "/v1/models/there", text))


def test_after_a_kill(api):
    daemon = api.another(keep=True).start()
    path = "/v1/models/m"
    daemon.client.put(path, {"decision": "stacked"}).ok(201)
    for round in range(3):
        for text, label, id in documents(round, 40):
            daemon.client.post(path + "/train", {"text": text, "label": label, "id": f"{round}-{id}"}).ok()
        want = [probability(daemon.client, path, text) for text in PROBES]
        daemon.kill()
        daemon.start()
        equal([probability(daemon.client, path, text) for text in PROBES], want)
