# SPDX-License-Identifier: Apache-2.0
"""Drift: how far the verdicts of late are from those before them."""
import json
import math
import random

from harness import equal, holds, near
from prometheus import parse

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
WORDS = {"spam": [f"pill{i}" for i in range(30)], "ham": [f"meet{i}" for i in range(30)]}


def started(api, **settings):
    rng, client = random.Random(1), api.another().start().client
    client.put(M, {"preset": "book", "ready_documents": 1, **settings}).ok(201)
    for label in ("spam", "ham", *(["news"] if settings.get("prior") == "uniform" else [])):
        for _ in range(10):
            client.post(M + "/train", {"label": label, "text": " ".join(rng.choices(WORDS.get(label, ["paper"]), k=20))}).ok()
    return client


def judge(client, rng, count, share, query=""):
    """Classifies texts with so much spam; returns the probabilities of spam, or of the winner where there are three labels."""
    lines = "".join(json.dumps({"text": " ".join(rng.choice(WORDS["spam" if rng.random() < share else "ham"])
                                                 for _ in range(rng.randrange(2, 6)))}) + "\n" for _ in range(count))
    rows = client.post(M + "/classify" + query, lines, kind=NDJSON).ok().lines
    return [row["probabilities"]["spam"] if len(row["probabilities"]) == 2 else row["probability"] for row in rows]


def drift(client):
    return client.get(M).ok().json.get("drift")


def distance(recent, before):
    """By the bins, one of log-odds wide."""
    def bins(scores):
        counts = [0] * 32
        for p in scores:
            odds = math.log(p) - math.log1p(-p) if 0 < p < 1 else math.copysign(99, p - 0.5)
            counts[min(31, int(max(-16, min(16, odds)) + 16))] += 1 / len(scores)
        return counts
    a, b, most = bins(recent), bins(before), 0
    for i in range(32):
        most = max(most, abs(sum(a[:i + 1]) - sum(b[:i + 1])))
    return most


def test_the_distance_is_that_of_the_probabilities(api):
    client, rng = started(api), random.Random(2)
    scores = judge(client, rng, 1999, 0.5)
    equal(drift(client), None, "too few")
    scores += judge(client, rng, 1, 0.5)
    got = drift(client)
    equal((got["recent"], got["before"]), (1000, 1000))
    near(got["distance"], distance(scores[1000:], scores[:1000]), "the distance", 1e-4)
    holds(got["p"] > 1e-3, got)
    scores += judge(client, rng, 4600, 0.3)
    got = drift(client)  # of whole blocks of 250 verdicts
    equal((got["recent"], got["before"]), (1000, 4000))
    near(got["distance"], distance(scores[5500:6500], scores[1500:5500]), "the distance", 1e-4)
    near(parse(client.get("/metrics").body.decode()).value("bayesd_model_drift", model="m"), got["distance"], "the metric", 1e-4)


def test_it_sees_a_change_and_forgets_it(api):
    client, rng = started(api), random.Random(3)
    judge(client, rng, 4000, 0.5)
    holds(drift(client)["distance"] < 0.1, drift(client))
    judge(client, rng, 1000, 0.9)
    got = drift(client)
    holds(got["distance"] > 0.25 and got["p"] < 1e-6, got)
    judge(client, rng, 4000, 0.9)
    holds(drift(client)["distance"] < 0.1, drift(client))
    # Other settings give other scores: nothing to compare with.
    client.put(M, {"preset": "book", "ready_documents": 1, "smoothing": 0.1}).ok()
    equal(drift(client), None)


def test_winners_of_many_labels(api):
    client, rng = started(api, prior="uniform"), random.Random(4)
    scores = judge(client, rng, 1000, 0.5) + judge(client, rng, 1000, 0.1)
    near(drift(client)["distance"], distance(scores[1000:], scores[:1000]), "the distance", 1e-4)


def test_what_is_no_verdict_does_not_count(api):
    """Neither what a model says that is not ready, nor what is asked about the history."""
    client, rng = started(api, ready_documents=1000), random.Random(5)
    judge(client, rng, 2500, 0.5)
    equal(drift(client), None)
    client.put(M, {"preset": "book", "ready_documents": 1, "history": 10}).ok()
    client.post(M + "/classify?remember=1", {"text": "pill1", "id": "a"}).ok()
    for _ in range(5):
        client.get(M + "/history/a").ok()
    judge(client, rng, 1998, 0.5)
    equal(drift(client), None)
    judge(client, rng, 1, 0.5)
    holds(drift(client) is not None, "2,000 verdicts")
