# SPDX-License-Identifier: Apache-2.0
"""?top=N: of a model with many labels a verdict tells the most probable ones, and the rest is as without it."""
from harness import equal, holds, refused

LABELS = 300
LISTS = ("probabilities", "log_scores", "documents")


def many_labels(api, **settings):
    model = "/v1/models/" + api.name()
    api.put(model, {"preset": "book", **settings}).ok(201)
    documents = [{"text": f"word{i} word{i % 7} all", "label": f"topic-{i:03}"} for i in range(LABELS)]
    api.post(model + "/train", {"documents": documents}).ok()
    return model


def best(verdict, number):
    """By probability, then by name; the winner first."""
    all_of_them = verdict["probabilities"]
    return sorted(all_of_them, key=lambda v: (v != verdict["label"], -all_of_them[v], v))[:number]


def check(got, whole, number):
    names = best(whole, number)
    for member in LISTS:
        if member in whole:
            equal(got[member], {v: whole[member][v] for v in whole[member] if v in names}, member)
    equal({**got, **dict.fromkeys(LISTS)}, {**whole, **dict.fromkeys(LISTS)})


def test_the_most_probable_labels(api):
    model = many_labels(api)
    for text in ("word3 word12", "all", "unheard"):
        whole = api.post(model + "/classify?documents=1", {"text": text}).ok().json
        equal(len(whole["probabilities"]), LABELS)
        for number in (1, 2, 3, 17, LABELS - 1):
            got = api.post(f"{model}/classify?documents=1&top={number}", {"text": text}).ok().json
            equal(len(got["probabilities"]), number)
            check(got, whole, number)
        for number in (0, LABELS, 10000):
            equal(api.post(f"{model}/classify?documents=1&top={number}", {"text": text}).ok().json, whole)
    long, short = (len(api.post(model + "/classify" + q, {"text": "all"}).ok().body) for q in ("", "?top=3"))
    holds(short < 1000 < 20 * short < long * 1.5, (short, long))


def test_by_every_way(api):
    """Batches, lines, raw texts, several models, a level, and the history."""
    model = many_labels(api, history=10)
    whole = api.post(model + "/classify", {"text": "word5"}).ok().json
    batch = api.post(model + "/classify?top=2", {"documents": [{"text": "word5"}] * 3}).ok().json["results"]
    lines = api.post(model + "/classify?top=2", b'{"text": "word5"}\n' * 3, "application/x-ndjson").ok()
    text = api.post(model + "/classify?top=2", "word5", "text/plain").ok().json
    for got in [*batch, *lines.lines, text]:
        check(got, whole, 2)
    name = model.rsplit("/", maxsplit=1)[1]
    several = api.post("/v1/classify?top=2", {"models": [name, name + "x"], "text": "word5"}).ok().json
    check(several["results"][0], whole, 2)
    level = api.post(model + "/classify?top=2&level=1&explain=0", {"text": "word5"}).ok().json
    equal(len(level["probabilities"]), 2)
    explained = api.post(model + "/classify?top=1&explain=3", {"text": "word5"}).ok().json
    equal(explained["explanation"], api.post(model + "/classify?explain=3", {"text": "word5"}).ok().json["explanation"])
    kept = api.post(model + "/classify?remember=1&top=1", {"text": "word5", "id": "kept"}).ok().json
    equal((kept["id"], len(kept["probabilities"])), ("kept", 1))
    now = api.get(model + "/history/kept").ok().json["now"]
    equal(len(now["probabilities"]), LABELS)
    check(api.get(model + "/history/kept?top=4").ok().json["now"], now, 4)


def test_what_is_no_number(api):
    model = many_labels(api)
    for wrong in ("-1", "x", "", "1.5", "10001", "3&top=3"):
        refused(api.post(f"{model}/classify?top={wrong}", {"text": "all"}), 400, "top")
        refused(api.post(f"/v1/classify?top={wrong}", {"models": ["a"], "text": "all"}), 400, "top")
        refused(api.get(f"{model}/history/x?top={wrong}"), 400, "top")
    refused(api.post(model + "/train?top=3", {"text": "all", "label": "x"}), 400, "top")


def test_a_label_without_documents(api):
    """A stacked model that has learned ham only leaves room for another label, and does not invent its name."""
    model = "/v1/models/" + api.name()
    api.put(model, {"preset": "mail"}).ok(201)
    for i in range(3):
        api.post(model + "/train", {"text": f"garden {i}", "label": "ham"}).ok()
    whole = api.post(model + "/classify", {"text": "garden"}).ok().json
    equal(list(whole["probabilities"]), ["ham"])
    holds(whole["probabilities"]["ham"] < 1, whole)
    equal(list(api.post(model + "/classify?top=1", {"text": "garden"}).ok().json["probabilities"]), ["ham"])
    equal(api.post(model + "/classify?top=2", {"text": "garden"}).ok().json, whole)
