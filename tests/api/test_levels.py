# SPDX-License-Identifier: Apache-2.0
"""Hierarchical labels: a level of the labels is asked for, and is the sum of what lies below it."""
import json
import math

from book import Model
from harness import equal, holds, near, refused

VALGRIND = True
WORDS = {"rec/autos": "engine wheel driver brake road", "rec/sport/hockey": "goal ice puck match road",
         "rec/sport/soccer": "goal grass match ball coach", "sci": "method paper proof theory paper",
         "sci-fi/new": "robot planet laser space ship", "sci/med": "doctor dose patient theory virus",
         "sci/space": "planet orbit space moon theory"}
TEXTS = ["space planet theory", "goal match road engine", "patient paper", "zyxwv", ""]


def trained(model, number=3):
    for label, words in WORDS.items():
        words = words.split()
        for i in range(number):
            model.train(" ".join(words[i % 5:] + words[:i % 4] + [label[0]]), label)


def at_level(label, level):
    return "/".join(label.split("/")[:level])


def summed(verdict, level):
    sums = {}
    for label, p in verdict["probabilities"].items():
        sums[at_level(label, level)] = sums.get(at_level(label, level), 0.0) + p
    return sums


def test_a_level_is_the_sum_of_its_labels(api):
    for settings in ({"decision": "bayes", "smoothing": 10}, {"decision": "stacked"}, {"event_model": "bernoulli"}):
        with Model(api) as model:
            model.put(**settings)
            trained(model)
            for text in TEXTS:
                plain = model.classify(text)
                equal(model.classify(text, "?level=0"), plain, "level 0")
                equal(model.classify(text, "?level=32"), plain, "a level below all labels")
                for level in (1, 2):
                    got, want = model.classify(text, f"?level={level}"), summed(plain, level)
                    equal(list(got["probabilities"]), sorted(want), "labels of the level")
                    for label, p in want.items():
                        near(got["probabilities"][label], p, label)
                        below = [s for v, s in plain["log_scores"].items() if at_level(v, level) == label]
                        top = max(below)
                        near(got["log_scores"][label], top + math.log(sum(math.exp(s - top) for s in below)), label)
                    best = max(sorted(want), key=lambda v, g=got: g["probabilities"][v])
                    equal((got["label"], got["probability"]), (best, got["probabilities"][best]))
                    for member in ("model", "tokens", "calibrated", "evidence"):
                        equal(got.get(member), plain.get(member), member)


def test_the_best_sum_need_not_have_the_best_label(api):
    with Model(api) as model:
        model.put(decision="bayes", smoothing=1000)
        for i in range(4):
            model.train("x", "a/one", id=f"a{i}")
        for i in range(3):
            model.train("x", "b/one", id=f"b{i}")
            model.train("x", "b/two", id=f"c{i}")
        equal((model.classify("x")["label"], model.classify("x", "?level=1")["label"]), ("a/one", "b"))


def test_decisions_and_readiness_of_a_level(api):
    with Model(api) as model:
        model.put(ready_documents=6)
        trained(model)
        plain, got = model.classify("space planet"), model.classify("space planet", "?level=1&threshold=0")
        equal((plain["ready"], got["ready"]), (False, False))
        holds("'rec/autos' has 3 of 6" in plain["missing"] and "'sci-fi' has 3 of 6" in got["missing"], got)
        equal((got["decision"], "'sci'" in got["decision_reason"]), (got["label"], got["label"] == "sci"), got)
        p = got["probabilities"]["sci"]
        equal(model.classify("space planet", f"?level=1&threshold={p!r}&positive=sci")["decision"], "sci")
        refused(model.post("classify?level=1&threshold=0.5&positive=sci/space", {"text": "x"}), 404, "sci/space")
        model.put(ready_documents=3)
        equal(model.classify("space", "?level=1")["ready"], True)
        holds("documents" not in model.classify("space", "?level=1&documents=0"), "not asked for")
        equal(model.classify("space", "?level=1&documents=1")["documents"],
              {label: sum(count for name, count in model.classify("space", "?documents=1")["documents"].items()
                          if name.split("/")[0] == label) for label in got["probabilities"]})
        refused(model.post("classify?documents=2", {"text": "x"}), 400, "documents")


def test_a_level_is_not_taken_for_a_label(api):
    """Where a label is named that is a level of others, or one below the level that was asked for, the message says which."""
    with Model(api) as model:
        trained(model)
        whole = ("'sci-fi'", "is a level of labels", "'sci-fi/new'")
        refused(model.post("classify?threshold=0.5&positive=sci-fi", {"text": "x"}), 404, *whole)
        refused(api.get(f"/v1/models/{model.name}/evaluation?positive=sci-fi"), 404, *whole)
        refused(api.get(f"/v1/models/{model.name}/vocabulary?label=sci-fi"), 404, *whole)
        path = f"/v1/models/{model.name}/labels/sci-fi"
        refused(api.call("PATCH", path, {"name": "x"}), 404, *whole)
        refused(api.call("PATCH", path, {"name": "sci/med", "merge": True}), 404, *whole)
        refused(api.call("DELETE", path), 404, *whole)
        refused(model.post("classify?level=1&threshold=0.5&positive=sci/space", {"text": "x"}), 404, "'sci/space'", "end with 'sci'")
        refused(model.post("classify?level=2&threshold=0.5&positive=rec/sport/hockey", {"text": "x"}), 404, "end with 'rec/sport'")
        reply = refused(model.post("classify?threshold=0.5&positive=nothing", {"text": "x"}), 404, "'nothing'")
        holds("level" not in str(reply), reply)


def test_levels_in_batches_and_lines(api):
    with Model(api) as model:
        trained(model)
        want = [model.classify(text, "?level=1") for text in TEXTS]
        reply = model.post("classify?level=1", {"documents": [{"text": t} for t in TEXTS]}).ok()
        equal(reply.json["results"], want)
        lines = "".join(json.dumps({"text": t}) + "\n" for t in TEXTS)
        equal(model.post("classify?level=1", lines, "application/x-ndjson").ok().lines, want)


def test_levels_refused(api):
    with Model(api) as model:
        refused(model.post("classify?level=1", {"text": "x"}), 409)
        trained(model)
        for query, *words in (("level=33", "level", "32"), ("level=-1", "level"), ("level=x", "level"),
                              ("level=", "level"), ("level=1.5", "level"), ("level=1&level=2", "level"),
                              ("level=1&explain=5", "explain", "level"),
                              ("level=1&target_fpr=0.1", "target_fpr", "level")):
            refused(model.post(f"classify?{query}", {"text": "x"}), 400, *words)
        holds("explanation" in model.classify("space", "?level=0&explain=3"), "level 0 is none")
        refused(model.post("train?level=1", {"text": "x", "label": "y"}), 400, "level")
        refused(model.post("tokenize?level=1", {"text": "x"}), 400, "level")
