# SPDX-License-Identifier: Apache-2.0
"""Thresholds that are wished by a precision or by costs: chosen on documents that are left out, told, the same for every door."""
import csv
import io
import random

from acknowledged import NDJSON
from harness import equal, holds, near, refused
from test_client import Bayesc, write

BOOK, LABELS = {"preset": "book"}, ("billing", "legal")


def stream(count, seed):
    """Documents whose words come from their label two times in three."""
    draw = random.Random(seed)
    for i in range(count):
        label = LABELS[i % 2]
        words = [f"{label if draw.random() < .67 else LABELS[1 - i % 2]}{draw.randrange(6)}" for _ in range(3)]
        yield {"id": str(i), "text": " ".join(words), "label": label}


def lowest(verdicts, precision):
    """(threshold, given, right) by trying every number: verdicts are right so often even if one more were wrong."""
    best = None
    for at in sorted({p for p, _ in verdicts}):
        given = [right for p, right in verdicts if p >= at]
        if best is None and sum(given) >= precision * (len(given) + 1):
            best = at, len(given), sum(given)
    return best


def left_out(client, path, documents, settings):
    """What a model of all other documents says about each, as (label, probability, is it right)."""
    said = []
    for left in documents:
        client.put(path, settings).ok(201)
        client.post(path + "/train", {"documents": [d for d in documents if d is not left]}).ok()
        one = client.post(path + "/classify", {"text": left["text"]}).ok().json
        said.append((one["label"], one["probability"], one["label"] == left["label"]))
        client.delete(path).ok(204)
    return said


def told(client, path):
    return client.get(path + "/evaluation").ok().json.get("thresholds")


def decided(client, path, text, query=""):
    return client.post(path + "/classify" + query, {"text": text}).ok().json


def test_a_wished_precision_is_chosen_on_documents_left_out(api):
    client, M = api.daemon.client, "/v1/models/" + api.name()
    documents = list(stream(60, 3))
    verdicts = left_out(client, M, documents, BOOK)
    of_label = [(p, right) for said, p, right in verdicts if said == "billing"]
    threshold, given, right = lowest(of_label, .85)
    holds(given < len(of_label), f"the wish is no matter of course: {of_label}")
    client.put(M, {**BOOK, "thresholds": {"billing": {"precision": .85}, "legal": {"precision": .999}}}).ok(201)
    client.post(M + "/train", {"documents": documents}).ok()
    report = told(client, M)
    near(report["billing"]["threshold"], threshold)
    near(report["billing"]["precision"], right / given)
    equal((report["billing"]["given"], report["billing"]["wished_precision"], report["billing"]["scores"]), (given, .85, "leave-one-out"))
    equal(report["legal"], {"threshold": None, "wished_precision": .999, "precision": None, "given": 0, "scores": "leave-one-out"})
    kinds = set()
    for document in documents:
        one = decided(client, M, document["text"])
        is_sure = one["label"] == "billing" and one["probability"] >= report["billing"]["threshold"]
        equal(one["decision"], "billing" if is_sure else "unsure", one)
        holds(("no threshold is known" in one["decision_reason"]) == (one["label"] == "legal"), one)
        holds(one["label"] == "legal" or "for a precision of 0.85" in one["decision_reason"], one)
        kinds.add((one["label"], one["decision"]))
        equal(decided(client, M, document["text"], "?threshold=0")["decision"], one["label"], "the request goes before")
    equal(kinds, {("billing", "billing"), ("billing", "unsure"), ("legal", "unsure")})


def test_costs_give_the_threshold_at_once(api):
    client, M = api.daemon.client, "/v1/models/" + api.name()
    client.put(M, {**BOOK, "thresholds": {"billing": {"cost_fp": 3, "cost_fn": 1}, "legal": .5}}).ok(201)
    client.post(M + "/train", {"documents": list(stream(60, 3))}).ok()
    equal(told(client, M), {"billing": {"threshold": .75}, "legal": {"threshold": .5}})
    kinds = set()
    for document in stream(60, 3):
        one = decided(client, M, document["text"])
        is_unsure = one["label"] == "billing" and one["probability"] < .75
        equal(one["decision"], "unsure" if is_unsure else one["label"], one)
        holds(one["label"] == "legal" or "from the costs: 3 / (3 + 1)" in one["decision_reason"], one)
        kinds.add(one["decision"])
    equal(kinds, {"billing", "legal", "unsure"})


def test_every_door_decides_the_same(api):
    client, name = api.daemon.client, api.name()
    M, documents = "/v1/models/" + name, list(stream(60, 5))
    client.put(M, {**BOOK, "history": 100, "thresholds": {"billing": {"precision": .85}, "legal": {"cost_fp": 4, "cost_fn": 1}}}).ok(201)
    client.post(M + "/train", {"documents": documents}).ok()
    alone = [decided(client, M, d["text"]) for d in documents]
    equal({one["decision"] for one in alone}, {"billing", "legal", "unsure"})
    together = client.post(M + "/classify", {"documents": [{"text": d["text"]} for d in documents]}).ok().json["results"]
    equal([one["decision"] for one in together], [one["decision"] for one in alone])
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerows([["text"], *[[d["text"]] for d in documents]])
    path = write(api.new_folder(), "desk.csv", content=table.getvalue().encode())
    bayesc = Bayesc(api)
    rows = list(csv.DictReader(io.StringIO(bayesc.run("classify", "--csv", "--min-known", "0", "-m", name, path).decode(), newline="")))
    equal([row["decision"] for row in rows], [one["decision"] for one in alone])
    for document, one in zip(documents[:8], alone):
        equal(bayesc.json("classify", "-m", name, "-", stdin=document["text"].encode())["decision"], one["decision"])
        several = client.post("/v1/classify", {"models": [name], "text": document["text"]}).ok().json["results"][0]
        equal((several["decision"], several["decision_reason"]), (one["decision"], one["decision_reason"]))


def test_wishes_are_kept_and_chosen_alike(api):
    """In the store, in a dump, and after a kill; the same documents give the same threshold."""
    M, wished = "/v1/models/m", {"a": .25, "billing": {"precision": .75}, "legal": {"cost_fp": 1e6, "cost_fn": .5}}
    daemon, other = api.another(keep=True).start(), api.another().start()
    for number, settings in enumerate((BOOK, {"preset": "text"})):
        M = f"/v1/models/m{number}"
        daemon.client.put(M, {**settings, "thresholds": wished}).ok(201)
        for document in stream(80, 7):
            daemon.client.post(M + "/train", document).ok()
        before, dump = told(daemon.client, M), daemon.client.get(M + "/export").ok().body
        holds(before["billing"]["threshold"] is not None, before)
        daemon.kill()
        daemon.start()
        equal(daemon.client.get(M).ok().json["settings"]["thresholds"], wished)
        equal(told(daemon.client, M), before)
        other.client.put(M + "/import", dump, NDJSON).ok(201)
        equal(other.client.get(M).ok().json["settings"]["thresholds"], wished)
        after = told(other.client, M)
        if settings is BOOK:
            equal(after, before)


def test_a_stacked_model_is_judged_before_it_learns(api):
    """Of what it said about each document before it learned it, so many were right."""
    client, M = api.daemon.client, "/v1/models/" + api.name()
    settings = {"preset": "text", "unlabelled_weight": 0}
    client.put(M, {**settings, "thresholds": {"billing": {"precision": .8}}}).ok(201)
    verdicts = []
    for at, document in enumerate(stream(200, 11)):
        if at > 1:
            one = decided(client, M, document["text"])
            verdicts.append((one["label"], one["probability"], one["label"] == document["label"]))
        client.post(M + "/train", document).ok()
    report = told(client, M)["billing"]
    equal(report["scores"], "before-learning")
    threshold, given, _ = lowest([(p, right) for label, p, right in verdicts if label == "billing"], .8)
    near(report["threshold"], threshold, relative=1e-6)
    equal(report["given"], given)


def test_it_is_chosen_anew_when_documents_or_the_wish_change(api):
    client, M = api.daemon.client, "/v1/models/" + api.name()
    wish = lambda precision: {**BOOK, "thresholds": {"billing": {"precision": precision}}}
    client.put(M, wish(.9)).ok(201)
    equal(client.post(M + "/classify", {"text": "billing1"}).status, 409)
    documents = list(stream(60, 3))
    client.post(M + "/train", {"documents": documents[:6]}).ok()
    said = [decided(client, M, d["text"]) for d in documents[:6]]
    equal({(one["label"], one["decision"]) for one in said}, {("billing", "unsure"), ("legal", "legal")})
    holds(all("too few documents" in one["decision_reason"] for one in said if one["label"] == "billing"), said)
    client.post(M + "/train", {"documents": documents[6:]}).ok()
    equal({decided(client, M, d["text"])["decision"] for d in documents}, {"billing", "legal", "unsure"})
    first = told(client, M)["billing"]["threshold"]
    client.put(M, wish(.6)).ok(200)
    lower = told(client, M)["billing"]["threshold"]
    holds(lower < first, f"{lower}, {first}")
    # Documents that are wrong make it dearer.
    client.post(M + "/train", {"documents": [{"id": f"w{i}", "text": "billing1 billing2 billing3", "label": "legal"} for i in range(20)]}).ok()
    after = told(client, M)["billing"]["threshold"]
    holds(after is None or after > lower, f"{after}, {lower}")


def test_wrong_wishes_are_refused(api):
    M = "/v1/models/" + api.name()
    api.put(M, BOOK).ok(201)
    for wrong, status, word in (({"precision": 1}, 422, "below 1"), ({"precision": 0}, 422, "above 0"), ({"precision": 1.5}, 422, "at most 1"),
                                ({"precision": "x"}, 400, "precision"), ({"recall": .9}, 400, "recall"), ({}, 422, "must be a number"),
                                ({"cost_fp": 1}, 422, "cost_fn"), ({"cost_fn": 1}, 422, "cost_fp"), ({"cost_fp": 0, "cost_fn": 1}, 422, "cost_fp must be above 0"),
                                ({"cost_fp": 1, "cost_fn": 2e6}, 422, "cost_fn must be at most 1000000"),
                                ({"precision": .9, "cost_fp": 1, "cost_fn": 1}, 422, "must be a number"), ([], 400, "a number or an object")):
        said = refused(api.put(M, {**BOOK, "thresholds": {"billing": wrong}}), status, word)
        equal(said["param"], "thresholds", said)
    refused(api.put(M, {"label_set": "several", "thresholds": {"billing": {"precision": .9}}}), 422, "label_set", "optimize")
    refused(api.put(M, {"label_set": "several", "thresholds": {"billing": {"cost_fp": 2, "cost_fn": 1}}}), 422, "label_set", "optimize")
    equal(api.get(M).ok().json["settings"]["thresholds"], {})
