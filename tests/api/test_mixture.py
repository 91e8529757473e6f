# SPDX-License-Identifier: Apache-2.0
"""Clusters of numbers and categories: EM's two means, and fields together with words, against EM computed slowly."""
import math
import random

from harness import equal, holds, near, refused
from mixture import Mixture
from test_cluster import KINDS, M, cluster

FIELDS = {"body": "text", "colour": "category", "size": "number", "weight": "number"}


def filled(client, documents, fields):
    """documents: [(words, categories, numbers)]"""
    client.put(M, {"preset": "book", "fields": fields}).ok(201)
    rows = []
    for i, (words, categories, numbers) in enumerate(documents):
        values = {**categories, **numbers, **({"body": " ".join(sorted(words))} if words else {})}
        rows.append({"id": str(i), "label": None, "values": values})
    equal(client.post(M + "/train", {"documents": rows}).ok().json["failed"], 0)


def compare(found, slow):
    """All figures of a reply."""
    equal((found["documents"], found["words"], found["iterations"]), (slow.n, len(slow.groups[None]), slow.iterations))
    near(found["log_likelihood"], slow.log_likelihood)
    near(found["bic"], slow.bic)
    for c, (members, share, numbers, theta) in zip(found["clusters"], slow.told(), strict=True):
        equal([int(id) for id in c["members"]], members)
        near(c["share"], share)
        equal(set(c.get("numbers", {})), set(numbers))
        for field, (mean, deviation) in numbers.items():
            near(c["numbers"][field]["mean"], mean)
            near(c["numbers"][field]["deviation"], deviation)
        for row in c["words"]:
            word = row["token"].split(":")[-1]
            near(row["share"], theta[None, word], relative=1e-5)
        for row in c.get("values", []):
            near(row["share"], theta[tuple(row["token"].split("="))], relative=1e-5)


def two_normals(count):
    rng = random.Random(4)
    return [(set(), {}, {"x": round(rng.gauss(rng.choice([2.0, 7.0]), 1.5), 4)}) for _ in range(count)]


def test_two_means(api):
    """Mitchell 1997, section 6.12.1: two normals, equally probable, of one known variance."""
    client = api.another().start().client
    documents = two_normals(80)
    filled(client, documents, {"x": "number"})
    found = cluster(client, clusters=2, restarts=1, members=True, shares="equal", deviations={"x": 1.5})
    compare(found, Mixture(documents, 2, 1, equal=True, deviations={"x": 1.5}))
    # The section's two steps, in its own words: E[z_ij], then mu_j.
    means = [c["numbers"]["x"]["mean"] for c in found["clusters"]]
    values = [numbers["x"] for _, _, numbers in documents]
    for _ in range(300):
        z = []
        for x in values:
            p = [math.exp(-(x - m) ** 2 / (2 * 1.5 ** 2)) for m in means]
            z.append([value / sum(p) for value in p])
        means = [sum(row[j] * x for row, x in zip(z, values)) / sum(row[j] for row in z) for j in range(2)]
    for j, c in enumerate(found["clusters"]):
        near(c["numbers"]["x"]["mean"], means[j], relative=1e-4)
        equal((c["share"], round(c["numbers"]["x"]["deviation"], 12)), (.5, 1.5))
        equal(c["documents"], sum(row[j] > .5 for row in z))
    holds(abs(min(means) - 2) < .4 and abs(max(means) - 7) < .4, means)


def test_means_and_deviations(api):
    """What is not known is estimated; documents without a number are passed over in its sums."""
    client = api.another().start().client
    rng, documents = random.Random(8), []
    for i in range(120):
        big = i % 3 == 0
        numbers = {"size": round(rng.gauss(40 if big else 10, 4 if big else 1), 3),
                   "weight": round(rng.gauss(-1e6 if big else 1e6, 1e5), 1)}
        for field in [f for f in numbers if rng.random() < .15]:
            del numbers[field]
        documents.append((set(), {}, numbers))
    documents = [d for d in documents if d[2]]
    filled(client, documents, FIELDS)
    for k, seed in [(1, 1), (2, 1), (2, 7), (4, 3)]:
        compare(cluster(client, clusters=k, restarts=1, seed=seed, members=True), Mixture(documents, k, seed))
    large, small = cluster(client, clusters=2)["clusters"]
    holds(abs(large["numbers"]["size"]["mean"] - 10) < .5 and abs(small["numbers"]["size"]["deviation"] - 4) < 1.5, large)
    equal(len(cluster(client, clusters="auto")["clusters"]), 2)


def mixed(count):
    rng, documents = random.Random(3), []
    for i in range(count):
        kind = sorted(KINDS)[i % 3]
        words = {rng.choice(KINDS[kind].split()) for _ in range(3)} | {rng.choice(["the", "and", "with", "from"])}
        categories = {"colour": rng.choice(["red", "green", "blue", "grey"][i % 3:][:2])}
        numbers = {"size": float(10 * (i % 3) + rng.randrange(-3, 4)), "weight": 5.0}
        documents.append((words if rng.random() < .8 else set(), categories if rng.random() < .8 else {},
                          numbers if rng.random() < .8 else {"weight": 5.0}))
    return documents


def test_words_categories_and_numbers_together(api):
    client = api.another().start().client
    documents = mixed(90)
    filled(client, documents, FIELDS)
    found = cluster(client, clusters=3, restarts=1, seed=2, members=True)
    # A number that is the same everywhere says nothing; documents that have nothing else are left out.
    useful = [(i, (w, c, {f: x for f, x in n.items() if f != "weight"})) for i, (w, c, n) in enumerate(documents)]
    useful = [(i, d) for i, d in useful if any(d)]
    places = {i: place for place, (i, _) in enumerate(useful)}
    for c in found["clusters"]:
        c["members"] = [places[int(id)] for id in c["members"]]
        holds({"token", "share", "lift"} == set(c["values"][0]), c)
    compare(found, Mixture([d for _, d in useful], 3, 2))
    for c in cluster(client, clusters=3, members=True)["clusters"]:
        kinds = [int(id) % 3 for id in c["members"]]
        holds(max(map(kinds.count, range(3))) >= .9 * len(kinds), kinds)


def test_equal_numbers(api):
    """Many documents with one number: the deviation is small and not 0."""
    client = api.another().start().client
    documents = [(set(), {}, {"x": 0.0 if i % 2 else float(i)}) for i in range(60)]
    filled(client, documents, {"x": "number"})
    found = cluster(client, clusters=2, restarts=1, members=True)
    compare(found, Mixture(documents, 2, 1))
    holds(all(c["numbers"]["x"]["deviation"] > 0 for c in found["clusters"]), found)


def test_what_is_refused(api):
    client = api.another().start().client
    filled(client, mixed(30), FIELDS)
    for deviations, status, *words in [({"colour": 1}, 422, "colour"), ({"none": 1}, 422, "none"), ({"size": 0}, 422, "above 0"),
                                       ({"size": "1"}, 422, "above 0"), ({"size": 1e16}, 422, "10^15"),
                                       ({"size": 1e160}, 422, "10^15"), ({"x" * 40: 1}, 422, "field"), (1, 400, "deviations")]:
        refused(client.post(M + "/cluster", {"clusters": 2, "deviations": deviations}), status, *words)
    refused(client.post(M + "/cluster", {"clusters": 2, "shares": "some"}), 400, "learned")
    equal(len(cluster(client, clusters=2, shares="learned", deviations={})["clusters"]), 2)


def test_kinds_that_share_their_words(api):
    """Every word occurs in both kinds, more often in its own: annealing ends at a saddle where all clusters are alike,
    and EM has to leave it."""
    client = api.another().start().client
    rng = random.Random(1)
    own = [[f"{kind}{i}" for i in range(7)] for kind in "pq"]
    documents = [({rng.choice(own[d % 2] if rng.random() < .7 else own[0] + own[1]) for _ in range(12)}, {}, {})
                 for d in range(200)]
    filled(client, documents, {"body": "text"})
    for seed in (1, 2):
        found = cluster(client, clusters=2, restarts=1, seed=seed, members=True)
        compare(found, Mixture(documents, 2, seed))
        for c in found["clusters"]:
            kinds = [int(id) % 2 for id in c["members"]]
            holds(max(kinds.count(0), kinds.count(1)) > .95 * len(kinds), (seed, c["documents"], kinds))
    none = cluster(client, clusters=2, documents="all", restarts=8, seed=3)
    near(none["log_likelihood"], found["log_likelihood"], relative=1e-4)
