# SPDX-License-Identifier: Apache-2.0
"""Stacked models with fields and a parent: values are counted with the parent's, each field with its weights, as words are."""
import math
import random

from acknowledged import settled, verified
from harness import equal, holds, near, refused
from test_stacked_fields import FIELDS, adds_up, learn, right, ticket

ALL, USER, ALONE = "/v1/models/all", "/v1/models/user", "/v1/models/alone"


def made(client, rows, own=0, **settings):
    """A parent of these documents, and a child that has learned the first ones of its own."""
    client.put(ALL, {"fields": FIELDS}).ok(201)
    learn(client, rows, ALL)
    settled(client)
    client.put(USER, {"fields": FIELDS, "parent": "all", **settings}).ok(201)
    learn(client, rows[:own], USER)


def cleared(client, *paths):
    for path in paths:
        client.delete(path).ok(204)


def says(client, path, text, values):
    return client.post(path + "/classify?explain=10000", {"text": text, "values": values}).ok().json


def answers(client, path, rows):
    """Verdicts without the model's name and without what tells whose evidence it is."""
    kept = ("label", "probabilities", "log_scores", "tokens")
    return [{key: value for key, value in says(client, path, text, values).items() if key in kept} for _, text, values in rows]


def test_an_empty_child_is_its_parent(api):
    """To the bit; also after a document came and went, when the view was in use."""
    rows = [ticket(api.random) for _ in range(160)]
    made(api, rows[:120])
    want = answers(api, ALL, rows[120:])
    equal(answers(api, USER, rows[120:]), want)
    learn(api, rows[:1], USER)
    holds(answers(api, USER, rows[120:]) != want, "it has a document")
    api.post(USER + "/untrain", {"id": "t0"}).ok()
    equal(answers(api, USER, rows[120:]), want)
    cleared(api, USER, ALL)


def test_what_the_parent_knows_of_values(api):
    """Words tell the topic, values the country: with a few documents of one's own both are the parent's to know."""
    rnd = random.Random(api.seed)
    rows = [ticket(rnd) for _ in range(800)]
    made(api, rows[:500], parent_strength=50)
    api.put(ALONE, {"fields": FIELDS}).ok(201)
    for path in (USER, ALONE):
        learn(api, rows[500:515], path)
    shares = {path: right(api, rows[515:], path) for path in (USER, ALONE, ALL)}
    print(shares)
    holds(shares[USER] > 0.85 and shares[USER] > shares[ALONE] + 0.05, shares)
    cleared(api, USER, ALL, ALONE)


def test_explanations(api):
    """With two labels and with more they sum to what is said, name fields and values, and say from whom it is."""
    for two in (True, False):
        rows = [row for row in (ticket(api.random) for _ in range(400)) if not two or row[0] in ("billing-DE", "billing-FR")]
        made(api, rows, own=len(rows) // 4)
        named = set()
        for _, text, values in [ticket(api.random) for _ in range(20)]:
            got = says(api, USER, text, values)
            adds_up(got)
            named |= {row["token"].replace(":", "=").split("=")[0] for row in got["explanation"]
                      if row["token"] is not None and ("=" in row["token"] or ":" in row["token"])}
        holds(set(FIELDS) <= named, named)
        row, = [row for row in says(api, USER, "", {"country": "DE"})["explanation"] if row["token"] == "country=DE"]
        holds(set(row["shares"]) == {"user", "all"}, row)
        near(sum(row["shares"].values()), 1, row)
        cleared(api, USER, ALL)


def test_evaluation(api):
    """The leave-one-out scores are of both, with the document's own values taken out: they foretell how others are scored."""
    rows = [ticket(api.random) for _ in range(500)]
    made(api, rows[:200])
    learn(api, rows[200:300], USER)
    settled(api)
    figures = api.get(USER + "/evaluation?scores=leave-one-out").ok().json["windows"][-1]
    of_others = right(api, rows[300:], USER)
    print(figures["accuracy"], of_others)
    equal(figures["documents"], 100)
    holds(figures["accuracy"] > 0.8 and abs(figures["accuracy"] - of_others) < 0.15, (figures["accuracy"], of_others))
    cleared(api, USER, ALL)


def test_kill_and_rebuild(api):
    rows = [ticket(api.random) for _ in range(150)]
    daemon = api.another(keep=True).start()
    made(daemon.client, rows[:120], own=40)
    settled(daemon.client)
    want = answers(daemon.client, USER, rows[120:])
    daemon.kill()
    daemon.start()
    equal(answers(daemon.client, USER, rows[120:]), want, "after a kill")
    daemon.stop()
    verified(api, daemon.data)
    status, out, err = api.tool("--data", daemon.data, "--rebuild")
    equal(status, 0, out + err)
    daemon.start()
    equal(answers(daemon.client, USER, rows[120:]), want, "after --rebuild")
    daemon.stop()


def test_a_copy_of_less_strength(api):
    """What was learned as a prior of some documents: the copy is a parent, of a stacked model with fields, too."""
    rows = [ticket(api.random) for _ in range(120)]
    api.put(ALL, {"fields": FIELDS}).ok(201)
    learn(api, rows[:100], ALL)
    settled(api)
    want = answers(api, ALL, rows[100:])
    api.post("/v1/models/made/from/all?strength=5", None).ok(201)
    settled(api)
    for got, one in zip(answers(api, "/v1/models/made", rows[100:]), want):
        equal(got["log_scores"], one["log_scores"])
        for label, p in one["probabilities"].items():
            holds(math.isclose(got["probabilities"][label], p, rel_tol=1e-9), (got, one))
    cleared(api, "/v1/models/made", "/v1/models/made.prior", ALL)


def test_refusals(api):
    """Bins are of one model's numbers; which fields there are must be the same."""
    api.put(ALL, {"fields": FIELDS}).ok(201)
    below = {"fields": FIELDS, "parent": "all"}
    for number in ("bins", "auto"):
        refused(api.put(USER, {**below, "number": number}), 409, "gaussian", "bins are of one model")
    refused(api.put(USER, {"fields": {"country": "category"}, "parent": "all"}), 409, "same `fields`")
    refused(api.put(USER, {**below, "smoothing": {"m": 5, "p": "parent"}}), 422, "bayes")
    api.put(USER, below).ok(201)
    refused(api.put(ALL, {"number": "bins"}), 409, "gaussian")
    cleared(api, USER, ALL)
