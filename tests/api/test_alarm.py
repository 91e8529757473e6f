# SPDX-License-Identifier: Apache-2.0
"""The ALARM network, 37 nodes: exact inference, samples, independence and equivalence in a network of a real size."""
import json
import math
import os
import random

import elimination
from harness import equal, holds, patience

ALARM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "networks", "alarm.json")
with open(ALARM, encoding="utf-8") as file:
    NETWORK = json.load(file)
NODES = {node["name"]: node for node in NETWORK["nodes"]}
# What a monitor shows, of which the diagnoses are to follow (Beinlich et al. 1989: findings and diagnoses).
FINDINGS = ("HISTORY", "CVP", "PCWP", "BP", "CO", "HRBP", "HREKG", "HRSAT", "TPR", "PAP", "EXPCO2", "MINVOL", "PRESS", "SAO2", "FIO2")


def same(got, want, what):
    """To 1e-12 of the value."""
    holds(math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-300), f"{what}: got {got!r}, want {want!r}")


def put(api):
    path = "/v1/networks/" + api.name()
    api.put(path, NETWORK).ok(201)
    return path


def ask(api, path, **question):
    return api.post(path + "/query", question).ok().json


def assert_as_computed(api, path, of, evidence):
    got = ask(api, path, of=of, evidence=evidence)
    for name in of:
        right = elimination.joint(NETWORK, name, evidence)
        whole = math.fsum(right.values())
        same(math.exp(got["log_evidence"]), whole, f"evidence {evidence}")
        for state, p in right.items():
            same(got["probabilities"][name][state], p / whole, f"P({name} = {state} | {evidence})")


def test_it_is_the_published_network(api):
    """Figures that the Bayesian Network Repository gives: nodes, arrows, parameters, degrees, Markov blankets."""
    path = put(api)
    nodes = api.get(path).ok().json["nodes"]
    equal([n["table"] for n in nodes], [n["table"] for n in NETWORK["nodes"]])
    parents = {n["name"]: set(n["parents"]) for n in nodes}
    equal((len(nodes), sum(map(len, parents.values())), max(map(len, parents.values()))), (37, 46, 4))
    equal(sum(len(n["table"]) * (len(n["states"]) - 1) for n in nodes), 509)
    blankets = []
    for name in parents:
        children = [child for child, of in parents.items() if name in of]
        blankets.append(len(parents[name].union(children, *(parents[c] for c in children)) - {name}))
    equal((round(2 * 46 / 37, 2), round(sum(blankets) / 37, 2)), (2.49, 3.51))


def test_marginals(api):
    """By hand where a node hangs on one or two others; all of them against the slow computation."""
    path = put(api)
    got = ask(api, path, of=list(NODES))["probabilities"]
    same(got["HISTORY"]["TRUE"], 0.05 * 0.9 + 0.95 * 0.01, "history")
    same(got["TPR"]["LOW"], 0.01 * 0.98 + 0.99 * 0.3, "resistance")
    same(got["PAP"]["HIGH"], 0.01 * 0.8 + 0.99 * 0.05, "pressure")
    same(got["LVEDVOLUME"]["HIGH"], 0.2 * 0.05 * 0.01 + 0.8 * 0.05 * 0.01 + 0.2 * 0.95 * 0.9 + 0.8 * 0.95 * 0.05, "volume")
    assert_as_computed(api, path, list(NODES), {})


def test_diagnoses_from_findings(api):
    path, rng = put(api), random.Random(api.seed)
    for count in (1, 2, 4, 8, 15):
        # Findings of a patient, so that together they are possible.
        row = ask(api, path, samples=1, seed=rng.randrange(1 << 30))
        patient = dict(zip(row["columns"], row["rows"][0]))
        evidence = {name: patient[name] for name in rng.sample(FINDINGS, count)}
        unknown = [name for name in NODES if name not in evidence]
        assert_as_computed(api, path, rng.sample(unknown, 6), evidence)


def test_all_marginals_take_a_moment(api):
    path = put(api)
    evidence = {"BP": "LOW", "HRBP": "HIGH", "EXPCO2": "LOW", "PRESS": "HIGH"}
    before = api.daemon.processor_seconds()
    ask(api, path, of=list(NODES), evidence=evidence)
    took = api.daemon.processor_seconds() - before
    holds(took < patience(2), f"37 marginals took {took} s of the processor")


def test_samples_have_the_marginals(api):
    path = put(api)
    drawn, size = ask(api, path, samples=5000, seed=api.seed), 5000
    right = ask(api, path, of=list(NODES))["probabilities"]
    for i, name in enumerate(drawn["columns"]):
        for state, p in right[name].items():
            share = sum(row[i] == state for row in drawn["rows"]) / size
            holds(abs(share - p) < 6 * math.sqrt(p * (1 - p) / size) + 1 / size, f"{name} = {state}: {share}, not {p}")


def test_independences(api):
    path = put(api)
    for pair, given, wanted in ((["HISTORY", "CVP"], ["LVFAILURE"], True), (["HISTORY", "CVP"], [], False),
                                (["HYPOVOLEMIA", "LVFAILURE"], [], True), (["HYPOVOLEMIA", "LVFAILURE"], ["PCWP"], False),
                                (["ANAPHYLAXIS", "INSUFFANESTH"], [], True), (["ANAPHYLAXIS", "INSUFFANESTH"], ["HREKG"], False),
                                (["MINVOLSET", "BP"], ["CATECHOL"], False), (["MINVOLSET", "BP"], ["CATECHOL", "TPR"], True)):
        equal(ask(api, path, independent=pair, given=given)["independent"], wanted, f"{pair} given {given}")
    # What the graph calls independent is so in numbers.
    alone = ask(api, path, of=["BP"], evidence={"CATECHOL": "HIGH"})["probabilities"]["BP"]
    both = ask(api, path, of=["BP"], evidence={"CATECHOL": "HIGH", "TPR": "LOW", "MINVOLSET": "LOW"})["probabilities"]["BP"]
    less = ask(api, path, of=["BP"], evidence={"CATECHOL": "HIGH", "TPR": "LOW"})["probabilities"]["BP"]
    holds(abs(alone["LOW"] - less["LOW"]) > 0.01, f"{alone} {less}")
    for state, p in less.items():
        same(both[state], p, state)
