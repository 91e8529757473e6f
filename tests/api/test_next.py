# SPDX-License-Identifier: Apache-2.0
"""Label next: which documents without a label would teach most."""
import random

from harness import equal, holds, near, quoted, refused

M = "/v1/models/m"
WORDS = {"spam": [f"pill{i}" for i in range(40)], "ham": [f"meet{i}" for i in range(40)],
         "news": [f"paper{i}" for i in range(40)]}


def text(rng, share, labels=("spam", "ham"), words=30):
    """So much of the first label's words, the rest of the second's."""
    return " ".join(rng.choice(WORDS[labels[rng.random() >= share]]) for _ in range(words))


def started(api, rng, labels=("spam", "ham"), **settings):
    client = api.another().start().client
    client.put(M, {"preset": "book", "history": 1000, **settings}).ok(201)
    for label in labels:
        for _ in range(5):
            client.post(M + "/train", {"label": label, "text": " ".join(rng.choices(WORDS[label], k=30))}).ok()
    return client


def remember(client, id, text):
    client.post(M + "/classify?remember=1", {"id": id, "text": text}).ok()


def store(client, id, text):
    client.post(M + "/train", {"id": id, "text": text, "label": None}).ok()


def ask(client, count=20):
    return client.get(f"{M}/next?count={count}").ok().json


def margin_of(client, text):
    first, second, *_ = sorted(client.post(M + "/classify", {"text": text}).ok().json["probabilities"].values(), reverse=True)
    return first - second


def test_least_sure_first(api):
    """Of documents that have no word in common the order is that of their margins, whatever has them."""
    rng = random.Random(1)
    client = started(api, rng, labels=("spam", "ham", "news"))
    texts = {}
    for i in range(12):
        own = [f"own{i}w{k}" for k in range(60)]
        texts[f"d{i}"] = " ".join(own + rng.choices(WORDS["spam"] + WORDS["ham"], k=2))
        (remember if i % 2 else store)(client, f"d{i}", texts[f"d{i}"])
    got = ask(client, 4)
    equal(got["looked_at"], 12)
    for row in got["next"]:
        near(row["margin"], margin_of(client, texts[row["id"]]), row["id"], 1e-4)
        equal(row["remembered"], int(row["id"][1:]) % 2 == 1)
        holds(set(row["words"].split()) <= set(texts[row["id"]].split()) and row["words"], row)
    first = min(texts, key=lambda id: margin_of(client, texts[id]))
    near(got["next"][0]["margin"], margin_of(client, texts[first]), "the least sure one", 1e-4)
    # What has a label by now comes no more, and what was remembered and stored comes once.
    label = got["next"][0]["id"]
    client.post(f"{M}/documents/{label}/label", {"label": "spam"}).ok()
    remember(client, "d0", texts["d0"])
    rows = ask(client, 20)["next"]
    equal(sorted(row["id"] for row in rows), sorted(set(texts) - {label}))


def test_spread(api):
    """Of twenty near-duplicates at even odds one is asked for at most, while there are others."""
    rng = random.Random(2)
    client = started(api, rng)
    even = " ".join(WORDS["spam"][:20] + WORDS["ham"][:20])
    for i in range(20):
        remember(client, f"same{i}", f"{even} number{i}")
    for i in range(5):
        remember(client, f"other{i}", " ".join(rng.sample(WORDS["spam"], 6) + rng.sample(WORDS["ham"], 5) + [f"else{i}n{k}" for k in range(20)]))
    got = [row["id"] for row in ask(client, 5)["next"]]
    holds(sum(id.startswith("same") for id in got) <= 1, got)


def test_worth_more_than_random_ones(api):
    """Twenty labels where the model asks for them teach at least as much as twenty drawn ones."""
    wins = 0
    for seed in range(3):
        rng = random.Random(seed)
        pool = {}
        for i in range(300):
            label = rng.choice(("spam", "ham"))
            # Most are of words that are known already, and some of the rest of the language.
            words = WORDS[label][:8] if rng.random() < 0.8 else WORDS[label][8:]
            pool[f"p{i}"] = (label, " ".join(rng.choices(words, k=10) + rng.choices(["the", "of", "and"], k=10)))
        test = [(label, " ".join(rng.choices(WORDS[label][8:], k=4) + ["the", "of"])) for label in ("spam", "ham") * 50]
        right = []
        for is_asked in (True, False):
            client = api.another().start().client
            client.put(M, {"preset": "book", "history": 1000}).ok(201)
            for label in ("spam", "ham"):
                client.post(M + "/train", {"label": label, "text": " ".join(WORDS[label][:8])}).ok()
            for id, (_, content) in pool.items():
                remember(client, id, content)
            for _ in range(4):
                ids = [row["id"] for row in ask(client, 5)["next"]] if is_asked else rng.sample(sorted(pool), 5)
                for id in ids:
                    client.post(f"{M}/documents/{quoted(id)}/label", {"label": pool[id][0]}).ok()
            right.append(sum(client.post(M + "/classify", {"text": t}).ok().json["label"] == label for label, t in test))
        wins += right[0] > right[1]
    holds(wins == 3, f"better than drawn ones in {wins} of 3")


def next_documents(api):
    """Of the verdicts those that were least sure are judged, of stored documents the first, both as many as the setting says."""
    rng = random.Random(5)
    daemon = api.another(config={"models": {"next_documents": "2"}}).start()
    client = daemon.client
    client.put(M, {"preset": "book", "history": 1000}).ok(201)
    for label in ("spam", "ham"):
        for _ in range(5):
            client.post(M + "/train", {"label": label, "text": " ".join(rng.choices(WORDS[label], k=30))}).ok()
    for i, share in enumerate((0.9, 0.5, 0.0, 0.55, 1.0)):
        remember(client, f"r{i}", " ".join(WORDS["spam"][:int(20 * share)] + WORDS["ham"][:20 - int(20 * share)]))
        store(client, f"s{i}", text(rng, 0.5))
    got = ask(client)
    equal((got["looked_at"], sorted(row["id"] for row in got["next"])), (4, ["r1", "r3", "s0", "s1"]))
    return daemon


def test_next_documents(api):
    next_documents(api)


def test_edges(api):
    client = started(api, random.Random(3))
    equal(ask(client), {"next": [], "looked_at": 0})
    for query, word in (("count=0", "count"), ("count=201", "count"), ("limit=1", "limit")):
        refused(client.get(f"{M}/next?{query}"), 400, word)
    refused(client.get("/v1/models/none/next"), 404, "none")
    client.put("/v1/models/n", {"preset": "book"}).ok(201)
    equal(client.get("/v1/models/n/next").ok().json["next"], [])
    client.post("/v1/models/n/train", {"id": "u", "label": None, "text": "a"}).ok()
    refused(client.get("/v1/models/n/next"), 409)
