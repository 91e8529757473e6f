# SPDX-License-Identifier: Apache-2.0
"""Bayes nets: given or learned, asked, drawn, and as durable as models."""
import itertools
import json
import math
import os
import re
import shutil
import xml.etree.ElementTree

import test_backup
from harness import equal, holds, near, quoted, refused
from lmdb_pages import places_of

N = "/v1/networks/"
SPRINKLER = {"nodes": [
    {"name": "season", "states": ["dry", "rainy"], "table": [[0.6, 0.4]]},
    {"name": "rain", "states": ["yes", "no"], "parents": ["season"], "table": [[0.1, 0.9], [0.8, 0.2]]},
    {"name": "sprinkler", "states": ["on", "off"], "parents": ["season"], "table": [[0.6, 0.4], [0.1, 0.9]]},
    {"name": "wet", "states": ["yes", "no"], "parents": ["rain", "sprinkler"],
     "table": [[0.99, 0.01], [0.9, 0.1], [0.85, 0.15], [0.02, 0.98]]},
    {"name": "slippery", "states": ["yes", "no"], "parents": ["wet"], "table": [[0.8, 0.2], [0.05, 0.95]]}]}
NAMES = [node["name"] for node in SPRINKLER["nodes"]]
# Its stored value takes pages of its own.
LARGE = {"nodes": [{"name": f"node {i}", "states": ["yes", "no"], "table": [[0.5, 0.5]]} for i in range(100)]}


def put(api, network, name=None):
    path = N + (name or api.name())
    api.put(path, network).ok(201)
    return path


def probabilities(network, evidence):
    """By the sum over all combinations: {node: {state: P}}, P(evidence)."""
    nodes = network["nodes"]
    at = {node["name"]: node for node in nodes}
    sums, whole = {node["name"]: dict.fromkeys(node["states"], 0.0) for node in nodes}, 0.0
    for states in itertools.product(*(node["states"] for node in nodes)):
        world = dict(zip(at, states))
        if any(world[name] != state for name, state in evidence.items()):
            continue
        p = 1.0
        for node in nodes:
            row = 0
            for parent in node.get("parents", []):
                row = row * len(at[parent]["states"]) + at[parent]["states"].index(world[parent])
            p *= node["table"][row][node["states"].index(world[node["name"]])]
        whole += p
        for name, state in world.items():
            sums[name][state] += p
    return {name: {s: p / whole for s, p in of.items()} for name, of in sums.items()}, whole


# ---- kept and shown ------------------------------------------------------------------------------
def test_put_get_list_delete(api):
    name = api.name()
    path = N + name
    refused(api.get(path), 404, name)
    made = api.put(path + "?source=ann", SPRINKLER).ok(201).json
    equal((made["network"], made["source"]), (name, "ann"))
    equal([n["table"] for n in made["nodes"]], [n["table"] for n in SPRINKLER["nodes"]])
    equal(made["nodes"][0]["parents"], [])
    equal(api.get(path).ok().json, made)
    again = {"nodes": made["nodes"][:1]}
    refused(api.call("PUT", path, again, **{"If-None-Match": "*"}), 409, name)
    refused(api.call("POST", path, again, **{"If-None-Match": "*"}), 409, name)
    equal(len(api.post(path, again).ok(200).json["nodes"]), 1)
    equal(len(api.get(path).json["nodes"]), 1)
    holds({"name": name} in api.get("/v1/networks").ok().json["networks"], "it is listed")
    api.delete(path).ok(204)
    for method, body in (("GET", None), ("DELETE", None)):
        refused(api.call(method, path, body), 404)
    refused(api.post(path + "/query", {}), 404, name)


def test_pages(api):
    daemon = api.another().start()
    small = {"nodes": SPRINKLER["nodes"][:1]}
    for name in ("b", "a", "ab", "c"):
        daemon.client.put(N + name, small).ok(201)
    daemon.client.put("/v1/models/aa", {}).ok(201)
    first = daemon.client.get("/v1/networks?limit=3").ok().json
    equal(first, {"networks": [{"name": "a"}, {"name": "ab"}, {"name": "b"}], "next": "b"})
    equal(daemon.client.get("/v1/networks?after=b").ok().json, {"networks": [{"name": "c"}]})
    refused(daemon.client.get("/v1/networks?limit=0"), 400, "limit")


def test_names(api):
    for name in ("-a", "a b", "a" * 129, "ä", "a/b"):
        refused(api.put(N + quoted(name), SPRINKLER), 422, "name")
        refused(api.get(N + quoted(name)), 404)
        refused(api.delete(N + quoted(name)), 404)


def changed(**how):
    """The sprinkler with members of its node `rain` changed."""
    network = json.loads(json.dumps(SPRINKLER))
    network["nodes"][1].update(how)
    return network


FAULTS = (
    ({}, 400, ("nodes",)),
    ([], 400, ("network", "object")),
    ({"nodes": []}, 400, ("at least one",)),
    ({"nodes": [1]}, 400, ("node", "object")),
    (changed(parents=["sun"]), 400, ("rain", "sun")),
    (changed(parents=["rain"]), 400, ("rain", "own parent")),
    (changed(parents=["season", "season"]), 400, ("rain", "season", "twice")),
    (changed(parents=["slippery"]), 400, ("ancestor of itself", "cycle")),
    (changed(parents=[1]), 400, ("parent", "string")),
    (changed(name="season"), 400, ("season", "twice")),
    (changed(name=""), 422, ("name of a node", "64")),
    (changed(name="a\u0007"), 422, ("control",)),
    (changed(states=["yes", "yes"]), 400, ("rain", "yes", "twice")),
    (changed(states=[]), 400, ("rain", "states")),
    (changed(states=["yes", None]), 400, ("state", "string", "null")),
    (changed(states=["yes", "x" * 65]), 422, ("state", "64")),
    (changed(states=[str(i) for i in range(256)]), 413, ("rain", "255")),
    (changed(table=[[0.1, 0.9]]), 400, ("rain", "1 rows", "2 combinations")),
    (changed(table=[[0.1, 0.9], [0.8, 0.3]]), 400, ("rain", "row 2", "1.1")),
    (changed(table=[[0.1, 0.9], [0.8]]), 400, ("rain", "row 2", "1 probabilities", "2 states")),
    (changed(table=[[0.1, 0.9], [-0.1, 1.1]]), 400, ("rain", "row 2", "0 to 1")),
    (changed(table=[[0.1, 0.9], [True, False]]), 400, ("rain", "row 2", "true")),
    (changed(table=[0.1, 0.9]), 400, ("rain", "array of rows")),
    (changed(tables=[]), 400, ("tables",)),
    ({"nodes": [{"name": f"n{i}", "states": ["a"], "table": [[1]]} for i in range(257)]}, 413, ("256 nodes",)),
)


def test_faults_are_named(api):
    path = N + api.name()
    for network, status, words in FAULTS:
        refused(api.put(path, network), status, *words)
    refused(api.put(path, "{", "application/json"), 400, "JSON")
    refused(api.put(path, json.dumps(SPRINKLER), "text/csv"), 415, "application/json")
    refused(api.get(path), 404)


def test_pictures(api):
    network = {"nodes": [dict(SPRINKLER["nodes"][0], name='<&"\\>'), dict(SPRINKLER["nodes"][1], parents=['<&"\\>'])]}
    path = put(api, network)
    dot = api.get(path + "?format=dot").ok()
    equal(dot.headers["content-type"].split(";")[0], "text/vnd.graphviz")
    holds(r'"<&\"\\>" -> "rain";' in dot.body.decode(), dot.body)
    svg = api.get(path + "?format=svg").ok()
    equal(svg.headers["content-type"], "image/svg+xml")
    tree = xml.etree.ElementTree.fromstring(svg.body)
    texts = [e.text for e in tree.iter("{http://www.w3.org/2000/svg}text")]
    equal(texts, ['<&"\\>', "rain"])
    refused(api.get(path + "?format=png"), 400, "json, dot or svg")


def test_picture_has_parents_above(api):
    path = put(api, SPRINKLER)
    tree = xml.etree.ElementTree.fromstring(api.get(path + "?format=svg").ok().body)
    boxes = [e for e in tree.iter("{http://www.w3.org/2000/svg}rect")]
    place = {name: tuple(int(box.get(k)) for k in ("x", "y", "width", "height")) for name, box in zip(NAMES, boxes)}
    for node in SPRINKLER["nodes"]:
        for parent in node.get("parents", []):
            holds(place[parent][1] + place[parent][3] < place[node["name"]][1], f"{parent} above {node['name']}")
    holds(place["rain"][0] + place["rain"][2] <= place["sprinkler"][0], "side by side")
    for x, y, width, height in place.values():
        holds(x + width <= int(tree.get("width")) and y + height <= int(tree.get("height")), "inside")
    arrows = [e.get("d") for e in tree.iter("{http://www.w3.org/2000/svg}path")][1:]
    equal(len(arrows), 5)
    for arrow in arrows:
        holds(re.fullmatch(r"M\d+ \d+C\d+ \d+ \d+ \d+ \d+ \d+", arrow), arrow)


# ---- questions -----------------------------------------------------------------------------------
def test_probabilities(api):
    path = put(api, SPRINKLER)
    for evidence in ({}, {"slippery": "yes"}, {"wet": "no", "season": "dry"}, {"rain": "yes", "sprinkler": "on", "slippery": "no"}):
        want, whole = probabilities(SPRINKLER, evidence)
        got = api.post(path + "/query", {"evidence": evidence}).ok().json
        near(got["log_evidence"], math.log(whole), evidence, 1e-12)
        equal(set(got["probabilities"]), set(NAMES) - set(evidence), "what is known is not asked")
        for node, of in got["probabilities"].items():
            for state, p in of.items():
                near(p, want[node][state], (evidence, node), 1e-12)
    got = api.post(path + "/query", {"of": ["wet", "rain"], "evidence": {"rain": "no"}}).ok().json["probabilities"]
    equal(set(got), {"wet", "rain"})
    equal(got["rain"], {"yes": 0.0, "no": 1.0})
    impossible = changed(table=[[0, 1], [0, 1]])
    refused(api.post(put(api, impossible) + "/query", {"evidence": {"rain": "yes"}}), 422, "probability 0")


def test_independence(api):
    path = put(api, SPRINKLER)
    for pair, given, want in ((["slippery", "season"], ["wet"], True), (["slippery", "season"], [], False),
                              (["rain", "sprinkler"], ["season"], True), (["rain", "sprinkler"], ["season", "slippery"], False),
                              ([["season"], ["slippery", "wet"]], ["rain", "sprinkler"], True),
                              (["wet", "season"], ["rain"], False)):
        equal(api.post(path + "/query", {"independent": pair, "given": given}).ok().json["independent"], want, (pair, given))


def test_collider_of_admission(api):
    """GPA and personality are independent; among those who were admitted one makes the other less likely."""
    path = put(api, {"nodes": [
        {"name": "gpa", "states": ["high", "low"], "table": [[0.5, 0.5]]},
        {"name": "personality", "states": ["good", "bad"], "table": [[0.5, 0.5]]},
        {"name": "admitted", "states": ["yes", "no"], "parents": ["gpa", "personality"],
         "table": [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]]}]})
    def good(**evidence):
        return api.post(path + "/query", {"of": ["personality"], "evidence": evidence}).ok().json["probabilities"]["personality"]["good"]
    near(good(gpa="high"), good(gpa="low"))
    holds(good(gpa="high", admitted="yes") < good(gpa="low", admitted="yes") - 0.1, "explained away")
    ask = {"independent": ["gpa", "personality"]}
    equal(api.post(path + "/query", ask).ok().json["independent"], True)
    equal(api.post(path + "/query", dict(ask, given=["admitted"])).ok().json["independent"], False)


def test_equivalence(api):
    """Smoking, a gene and cancer: that a gene causes both, and the two chains, cannot be told apart."""
    def node(name, *parents):
        return {"name": name, "states": ["yes", "no"], "parents": list(parents), "table": [[0.5, 0.5]] * 2 ** len(parents)}
    gene = put(api, {"nodes": [node("gene"), node("smoking", "gene"), node("cancer", "gene")]})
    chain, other = api.name(), api.name()
    put(api, {"nodes": [node("cancer", "gene"), node("smoking"), node("gene", "smoking")]}, chain)
    put(api, {"nodes": [node("cancer"), node("smoking")]}, other)
    def ask(graph, status=200):
        return api.post(gene + "/query", {"equivalent": graph}).ok(status).json
    equal(ask({"gene": ["cancer"], "smoking": ["gene"]})["equivalent"], True)
    equal(ask(chain)["equivalent"], True)
    got = ask({"gene": ["cancer", "smoking"]})
    equal((got["equivalent"], got["difference"]),
          (False, {"collider": "gene", "of": ["smoking", "cancer"], "only_in": "other"}))
    got = ask({"cancer": ["gene", "smoking"], "smoking": ["gene"]})
    equal(got["difference"], {"edge": ["smoking", "cancer"], "only_in": "other"})
    equal(ask({"gene": ["smoking"]})["difference"], {"edge": ["gene", "cancer"], "only_in": "this"})
    refused(api.post(gene + "/query", {"equivalent": other}), 422, "2 nodes", "3")
    refused(api.post(gene + "/query", {"equivalent": "nothing"}), 404, "nothing")
    refused(api.post(gene + "/query", {"equivalent": {"gene": ["smoking"], "smoking": ["gene"]}}), 400, "cycle")
    refused(api.post(gene + "/query", {"equivalent": {"gene": ["gene"]}}), 400, "own parent")


def test_bad_questions(api):
    path = put(api, SPRINKLER) + "/query"
    for question, words in (({"of": ["sun"]}, ("sun",)), ({"evidence": {"sun": "up"}}, ("sun",)),
                            ({"evidence": {"rain": "maybe"}}, ("rain", "maybe")), ({"evidence": {"rain": 1}}, ("string",)),
                            ({"of": [], "samples": 1}, ("one of",)), ({"seed": 1}, ("seed", "samples")),
                            ({"given": ["rain"]}, ("given", "independent")), ({"samples": -1}, ("samples",)),
                            ({"independent": ["rain"]}, ("two elements",)), ({"independent": ["rain", "rain"]}, ("rain", "two")),
                            ({"independent": ["rain", "wet"], "given": ["wet"]}, ("wet", "two")),
                            ({"independent": ["rain", "wet"], "evidence": {}}, ("evidence",)), ({"what": 1}, ("what",))):
        refused(api.post(path, question), 400, *words)


def test_samples(api):
    path = put(api, SPRINKLER)
    ask = {"samples": 2000, "seed": 7}
    got = api.post(path + "/query", ask).ok().json
    equal((got["columns"], len(got["rows"]), got["seed"], "weights" in got), (NAMES, 2000, 7, False))
    equal(api.post(path + "/query", ask).ok().json, got, "the same seed")
    holds(api.post(path + "/query", dict(ask, seed=8)).ok().json["rows"] != got["rows"], "another seed")
    want, whole = probabilities(SPRINKLER, {"slippery": "yes"})
    got = api.post(path + "/query", dict(ask, evidence={"slippery": "yes"})).ok().json
    equal({row[4] for row in got["rows"]}, {"yes"})
    near(sum(got["weights"]) / 2000, whole, "the mean weight is P(evidence)", 0.1)
    rain = sum(w for row, w in zip(got["rows"], got["weights"]) if row[1] == "yes") / sum(got["weights"])
    near(rain, want["rain"]["yes"], "rain", 0.1)
    equal(api.post(path + "/query", {"samples": 0}).ok().json["rows"], [])


# ---- learning ------------------------------------------------------------------------------------
def forms(table):
    """The same rows as JSON, NDJSON and CSV, columns in another order each."""
    columns, rows = table["columns"], table["rows"]
    turned = [dict(reversed(list(zip(columns, row)))) for row in rows]
    yield "application/json", json.dumps(table)
    yield "application/x-ndjson", "\n".join(json.dumps(row) for row in turned) + "\n"
    yield "text/csv", ",".join(columns) + "\r\n" + "".join(",".join(row) + "\r\n" for row in rows)
    yield "text/csv; charset=utf-8", "\ufeff" + ",".join(f'"{c}"' for c in columns) + "\n" + "\n".join(",".join(row) for row in rows)


def test_learning_the_sprinkler(api):
    """IC on 100,000 samples: X1 - X2 and X1 - X3 undirected, X2, X3 -> X4 -> X5 directed."""
    path = put(api, SPRINKLER)
    table = api.post(path + "/query", {"samples": 100000, "seed": 1}).ok().json
    table = {k: table[k] for k in ("columns", "rows")}
    learned = None
    for kind, body in forms(table):
        name = api.name()
        got = api.call("POST", N + name + "/learn", body, kind).ok(201).json
        equal(got.pop("network"), name)
        learned = learned or got
        equal(got, learned, kind)
    equal(sorted(map(tuple, learned["directed"])), [("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    equal(sorted(map(tuple, learned["undirected"])), [("rain", "season"), ("season", "sprinkler")])
    by = {tuple(row["pair"]): row["by"] for row in learned["separated"]}
    for pair, separator in ((("rain", "sprinkler"), ["season"]), (("season", "wet"), ["rain", "sprinkler"]),
                            (("season", "slippery"), ["wet"]), (("rain", "slippery"), ["wet"])):
        equal(by.get(pair) or by.get(pair[::-1]), separator, pair)
    equal((learned["conflicts"], learned["untested"], learned["kept"], learned["rows"]), ([], 0, True, 100000))
    equal(api.post(N + name + "/query", {"equivalent": path.removeprefix(N)}).ok().json["equivalent"], True)
    want, _ = probabilities(SPRINKLER, {"slippery": "yes"})
    got = api.post(N + name + "/query", {"evidence": {"slippery": "yes"}}).ok().json["probabilities"]
    for node, of in got.items():
        for state, p in of.items():
            holds(abs(p - want[node][state]) < 0.01, f"{node}: {p}, not {want[node][state]}")


def test_parameters_of_learning(api):
    rows = [["a", "x"]] * 6 + [["b", "y"]] * 4 + [["a", "y"]] * 2
    path = N + api.name() + "/learn"
    body = {"columns": ["one", "two"], "rows": rows}
    got = api.post(path + "?prior=0.5&source=ann", body).ok(201).json
    equal(len(got["undirected"]), 1)
    one, two = got["nodes"]
    root, child = (one, two) if not one["parents"] else (two, one)
    equal(root["states"], ["a", "b"] if root["name"] == "one" else ["x", "y"])
    near(root["table"][0][0], (8.5 if root["name"] == "one" else 6.5) / 13)
    equal(len(child["table"]), 2)
    equal(api.get(path.removesuffix("/learn")).json["source"], "ann")
    got = api.post(path + "?alpha=1e-9", body).ok(200).json
    equal((got["undirected"], got["directed"], got["separated"][0]["by"]), ([], [], []))
    # G^2 of the table 6 2, 0 4, by hand
    g = 2 * (6 * math.log(6 * 12 / (8 * 6)) + 2 * math.log(2 * 12 / (8 * 6)) + 4 * math.log(4 * 12 / (4 * 6)))
    near(got["separated"][0]["p"], math.erfc(math.sqrt(g / 2)))
    refused(api.call("POST", path, body, **{"If-None-Match": "*"}), 409)
    for query, word in (("alpha=2", "alpha"), ("prior=0", "prior"), ("separators=1000", "separators"), ("what=1", "what")):
        refused(api.post(f"{path}?{query}", body), 400, word)


def test_missing_values(api):
    for kind, body in (("application/json", {"columns": ["a", "b"], "rows": [["x", None], ["x", "y"], ["z", "w"]]}),
                       ("application/x-ndjson", '{"a": "x", "b": null}\n\n{"b": "y", "a": "x"}\n{"a": "z", "b": "w"}'),
                       ("text/csv", "a,b\nx,\nx,y\nz,w")):
        got = api.post(N + api.name() + "/learn", body, kind).ok(201).json
        equal({n["name"]: n["table"] for n in got["nodes"]}, {"a": [[3 / 5, 2 / 5]], "b": [[1 / 2, 1 / 2]]}, kind)


# ---- from a model's documents ----------------------------------------------------------------------
def model_of(api, table, label, client=None, name=None):
    """A model whose documents are the rows of a table: one column is the label."""
    client, name = client or api, name or api.name()
    fields = [c for c in table["columns"] if c != label]
    client.put("/v1/models/" + name, {"preset": "book", "fields": {f: "category" for f in reversed(fields)}}).ok(201)
    body = ""
    for n, row in enumerate(table["rows"]):
        values = dict(zip(table["columns"], row))
        body += json.dumps({"label": values.pop(label), "values": values, "id": str(n)}) + "\n"
    lines = client.post(f"/v1/models/{name}/train", body, "application/x-ndjson").ok().lines
    equal({line.get("status") for line in lines}, {"learned"})
    return name


def renamed(table, label):
    return {**table, "columns": ["label" if c == label else c for c in table["columns"]]}


def without_names(reply):
    return {k: v for k, v in reply.items() if k != "network"}


def test_learning_from_a_model(api):
    """As from the same rows; from what is living of them, values missing or not, and from some of the fields."""
    samples = api.post(put(api, SPRINKLER) + "/query", {"samples": 3000, "seed": 2}).ok().json
    table = {k: samples[k] for k in ("columns", "rows")}
    rain = table["columns"].index("rain")
    for row in table["rows"][::11]:
        row[rain] = None
    model = model_of(api, table, "wet")
    for n in range(0, 3000, 100):
        api.post(f"/v1/models/{model}/untrain", {"id": str(n)}).ok()
    table["rows"] = [row for n, row in enumerate(table["rows"]) if n % 100 != 0]
    rows = renamed(table, "wet")
    for query, body in (("", {}), ("?alpha=0.001&prior=0.5&separators=1",
                                  {"alpha": 0.001, "prior": 0.5, "separators": 1})):
        want = api.post(N + api.name() + "/learn" + query, rows).ok(201).json
        got = api.post(N + api.name(), {"model": model, **body}).ok(201).json
        equal(without_names(got), without_names(want))
    equal(got["rows"], 2970)
    kept = [i for i, c in enumerate(rows["columns"]) if c in ("label", "season", "rain")]
    some = {"columns": [rows["columns"][i] for i in kept], "rows": [[row[i] for i in kept] for row in rows["rows"]]}
    want = api.post(N + api.name() + "/learn", some).ok(201).json
    name = api.name()
    got = api.post(N + name + "?source=ann", {"model": model, "fields": ["season", "rain"], "alpha": 0.01}).ok(201).json
    equal(without_names(got), without_names(want))
    equal(api.get(N + name).ok().json["source"], "ann")
    api.post(N + name, {"model": model}).ok(200)
    refused(api.call("POST", N + name, {"model": model}, **{"If-None-Match": "*"}), 409)


def test_documents_without_a_label(api):
    """As rows that miss it."""
    table = {"columns": ["a", "b", "label"], "rows": [["u", "x", "one"], ["v", "y", "two"]] * 10}
    model = model_of(api, table, "label")
    for n, (a, b) in enumerate((("u", "y"), ("v", "y"), ("v", "x"))):
        api.post(f"/v1/models/{model}/train", {"values": {"a": a, "b": b}, "label": None, "id": f"n{n}"}).ok()
        table["rows"].append([a, b, None])
    want = api.post(N + api.name() + "/learn", table).ok(201).json
    equal(without_names(api.post(N + api.name(), {"model": model}).ok(201).json), without_names(want))


def test_models_that_give_no_network(api):
    model = model_of(api, {"columns": ["a", "y"], "rows": [["u", "one"], ["v", "two"]]}, "y")
    path = N + api.name()
    for body, status, words in (
            ({"model": "no-such"}, 404, ("no-such",)),
            ({"model": model, "fields": ["b"]}, 422, ("'b'",)),
            ({"model": model, "fields": ["a", "a"]}, 422, ("'a'", "twice")),
            ({"model": model, "fields": []}, 400, ("fields",)),
            ({"model": model, "fields": [1]}, 400, ("fields", "number")),
            ({"model": model, "alpha": 2}, 400, ("alpha",)),
            ({"model": model, "prior": 0}, 400, ("prior",)),
            ({"model": model, "what": 1}, 400, ("what",)),
            ({"model": 1}, 400, ("model",)),
            ({"model": model, "nodes": []}, 400, ("nodes",))):
        refused(api.post(path, body), status, *words)
    refused(api.put(path, {"model": model}), 400, "model")
    empty = api.name()
    api.put("/v1/models/" + empty, {"preset": "book", "fields": {"a": "category", "t": "text"}}).ok(201)
    refused(api.post(path, {"model": empty}), 400, "no rows")
    refused(api.post(path, {"model": empty, "fields": ["t"]}), 422, "'t'", "category")
    api.post(f"/v1/models/{empty}/train", {"values": {"t": "x"}, "label": "one"}).ok()
    refused(api.post(path, {"model": empty}), 400, "'a'", "no value")
    api.put("/v1/models/" + api.name(), {"preset": "book"}).ok(201)
    labels = api.name()
    api.put("/v1/models/" + labels, {"preset": "book", "fields": {"label": "category"}}).ok(201)
    refused(api.post(path, {"model": labels}), 400, "'label'", "twice")
    plain = api.name()
    api.post(f"/v1/models/{plain}/train", {"text": "a b", "label": "one"}).ok()
    refused(api.post(path, {"model": plain}), 422, "category")
    refused(api.get(path), 404)


def test_values_without_texts(api):
    """A store that keeps no texts of features has no names for states."""
    daemon = api.another(config={"store": {"keep_words": "no"}}).start()
    model = model_of(api, {"columns": ["a", "y"], "rows": [["u", "one"], ["v", "two"]]}, "y", daemon.client, "m")
    refused(daemon.client.post(N + "n", {"model": model}), 409, "keep_words")


BAD_ROWS = (
    ("application/json", '{"columns": ["a"], "rows": [["x"]]}', 400, ("two columns",)),
    ("application/json", '{"columns": ["a", "a"], "rows": [["x", "y"]]}', 400, ("'a'", "twice")),
    ("application/json", '{"columns": ["a", "b"], "rows": []}', 400, ("no rows",)),
    ("application/json", '{"columns": ["a", "b"], "rows": [["x", null]]}', 400, ("'b'", "no value")),
    ("application/json", '{"columns": ["a", "b"], "rows": [["x", "y"], ["x"]]}', 400, ("row 2", "2 values")),
    ("application/json", '{"columns": ["a", "b"], "rows": [["x", 1]]}', 400, ("row 1", "'b'", "number")),
    ("application/json", '{"columns": ["a", "b"], "rows": [["x", "%s"]]}' % ("y" * 65), 422, ("row 1", "64")),
    ("application/json", '{"columns": ["a", 1], "rows": []}', 400, ("columns", "string")),
    ("application/x-ndjson", '{"a": "x", "b": "y"}\n{"c": "x"}', 400, ("line 2", "'c'")),
    ("application/x-ndjson", '{"a": "x", "b": "y"}\n[]', 400, ("line 2", "object")),
    ("application/x-ndjson", '{"a": "x", "b": "y"}\n{"a": ', 400, ("line 2", "JSON")),
    ("application/x-ndjson", "", 400, ("no rows",)),
    ("text/csv", "a,b\nx,y\nx", 400, ("line 3", "1 fields", "2")),
    ("text/csv", 'a,b\nx,"y\n', 400, ("line 2", "not closed")),
    ("text/csv", 'a,b\nx,"y"z\n', 400, ("line 2", "closing quote")),
    ("text/csv", "a,b\n", 400, ("no rows",)),
    ("text/csv", b"a,b\nx,\xff\n", 422, ("line 2", "UTF-8")),
    ("text/csv; charset=latin1", "a,b\nx,y\n", 415, ("UTF-8",)),
    ("text/plain", "a,b\nx,y\n", 415, ("text/csv",)),
    ("text/csv", ",".join(f"c{i}" for i in range(257)) + "\n", 413, ("256",)),
    ("text/csv", "a,b\n" + "".join(f"x{i},y\n" for i in range(256)), 413, ("'a'", "255")),
)


def test_bad_rows(api):
    path = N + api.name()
    for kind, body, status, words in BAD_ROWS:
        refused(api.post(path + "/learn", body, kind), status, *words)
    refused(api.get(path), 404)


def test_quoted_fields(api):
    body = 'a,"b, c"\n"x, ""y""",w\nv,"u"\n'
    got = api.post(N + api.name() + "/learn", body, "text/csv").ok(201).json
    equal({n["name"]: n["states"] for n in got["nodes"]}, {"a": ["v", 'x, "y"'], "b, c": ["u", "w"]})


# ---- as durable as models --------------------------------------------------------------------------
def test_survives(api):
    """A kill, --verify, --rebuild, and a backup that is restored."""
    daemon = api.another().start()
    daemon.client.post("/v1/models/m/train", {"text": "a b", "label": "a"}).ok()
    for name in ("one", "two", "gone"):
        daemon.client.put(N + name + "?source=ann", SPRINKLER).ok(201)
    daemon.client.delete(N + "gone").ok(204)
    want = daemon.client.get(N + "one").ok().json
    backup = test_backup.backup_of(api, daemon)
    daemon.kill()
    for option in ("--verify", "--rebuild", "--verify"):
        done = api.tool(option, "--data", daemon.data)
        equal(done[0], 0, option + done[1] + done[2])
    restored = os.path.join(api.new_folder(), "data")
    test_backup.restore(api, backup, restored)
    for data in (daemon.data, restored):
        again = api.another(data=data).start()
        equal(again.client.get(N + "one").ok().json, want)
        equal(again.client.get("/v1/networks").ok().json, {"networks": [{"name": "one"}, {"name": "two"}]})
        equal(again.client.post(N + "two/query", {"of": ["rain"]}).ok().status, 200)
        equal(again.client.get("/v1/models/m").ok().json["documents"], 1)
        again.stop()


def damaged(api, daemon, damage):
    """A copy of the store in which a byte in the middle of the key or value of a network is wrong."""
    data = shutil.copytree(daemon.data, os.path.join(api.new_folder(), "data"))
    path = os.path.join(data, "data.mdb")
    kind, name = damage
    places = [p for p in places_of(path) if (p.kind, p.table) == (kind, "meta") and p.key == name]
    equal(len(places), 1, f"places of {damage}")
    with open(path, "r+b") as file:
        file.seek(places[0].at + places[0].length // 2)
        found = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([found ^ 0x55]))
    return data


def test_a_damaged_network(api):
    """It says so and can be put again or deleted; the other networks and the models are not concerned; a rebuild names what
    it has lost and keeps the rest."""
    daemon = api.another().start()
    daemon.client.post("/v1/models/m/train", {"text": "a b", "label": "a"}).ok()
    for name, network in (("small", SPRINKLER), ("large", LARGE), ("other", SPRINKLER)):
        daemon.client.put(N + name, network).ok(201)
    wanted = {name: daemon.client.get(N + name).ok().json for name in ("small", "large", "other")}
    daemon.stop()
    for hit in ("small", "large"):
        data = damaged(api, daemon, ("value", b"named/network/" + hit.encode()))
        again = api.another(data=data).start()
        refused(again.client.get(N + hit), 503, hit, "damaged")
        refused(again.client.post(N + hit + "/query", {"of": ["rain"]}), 503, hit, "damaged")
        rows = again.client.get("/v1/networks").ok().json["networks"]
        equal([row["name"] for row in rows], ["large", "other", "small"])
        equal([row["name"] for row in rows if row.get("state") == "damaged"], [hit])
        equal(again.client.get(N + "other").ok().json, wanted["other"])
        again.stop()
        equal(api.tool("--verify", "--data", data)[0] != 0, True, "--verify finds it")
        done = api.tool("--rebuild", "--data", data)
        holds(f"network/{hit} is lost" in done[1] + done[2], f"--rebuild does not name it: {done}")
        equal(api.tool("--verify", "--data", data)[0], 0, "after --rebuild")
        again = api.another(data=data).start()
        refused(again.client.get(N + hit), 404)
        for name in {"small", "large", "other"} - {hit}:
            equal(again.client.get(N + name).ok().json, wanted[name])
        equal(again.client.get("/v1/models/m").ok().json["documents"], 1)
        again.client.put(N + hit, SPRINKLER).ok(201)
        again.stop()


def test_a_damaged_network_is_put_again_or_deleted(api):
    daemon = api.another().start()
    daemon.client.put(N + "large", LARGE).ok(201)
    daemon.stop()
    for mend in ("PUT", "DELETE"):
        again = api.another(data=damaged(api, daemon, ("value", b"named/network/large"))).start()
        refused(again.client.get(N + "large"), 503, "damaged")
        again.client.call(mend, N + "large", LARGE if mend == "PUT" else None).ok(200 if mend == "PUT" else 204)
        equal(again.client.get(N + "large").status, 200 if mend == "PUT" else 404)
        again.stop()


def test_a_network_whose_key_is_damaged(api):
    """Nothing is left to tell that it was one: a rebuild says that something is lost."""
    daemon = api.another().start()
    for name in ("one", "two"):
        daemon.client.put(N + name, SPRINKLER).ok(201)
    daemon.stop()
    data = damaged(api, daemon, ("key", b"named/network/one"))
    done = api.tool("--rebuild", "--data", data)
    holds("is lost" in done[1] + done[2], f"--rebuild is silent: {done}")
    again = api.another(data=data).start()
    equal(again.client.get("/v1/networks").ok().json, {"networks": [{"name": "two"}]})


def test_access(api):
    tokens = {"tokens": {"classify": "c" * 16, "train": "t" * 16, "admin": "a" * 16}}
    daemon = api.another(config=tokens).start()

    def may(role, method, path, body=None):
        return daemon.client.call(method, path, body, Authorization="Bearer " + role[0] * 16).status
    equal(may("train", "PUT", N + "x", SPRINKLER), 403)
    equal(may("train", "POST", N + "x/learn", {"columns": [], "rows": []}), 403)
    equal(may("admin", "PUT", N + "x", SPRINKLER), 201)
    equal(may("classify", "GET", N + "x"), 200)
    equal(may("classify", "POST", N + "x/query", {}), 200)
    equal(may("classify", "DELETE", N + "x"), 403)
    equal(may("nobody", "GET", N + "x"), 401)


def test_large_networks_are_bounded(api):
    """A network whose answers would need 3^40 numbers is kept, and refuses the question; one of its parts answers."""
    daemon = api.another(config={"networks": {"factor_cells": 100000}}).start()
    nodes = [{"name": f"r{i}", "states": ["a", "b", "c"], "table": [[0.2, 0.3, 0.5]]} for i in range(40)]
    for i in range(40):
        for j in range(0, 40, 4):
            if i < j:
                nodes.append({"name": f"s{i}.{j}", "states": ["a", "b"], "parents": [f"r{i}", f"r{j}"], "table": [[0.5, 0.5]] * 9})
    daemon.client.put(N + "x", {"nodes": nodes}).ok(201)
    evidence = {n["name"]: "a" for n in nodes if n["name"][0] == "s"}
    refused(daemon.client.post(N + "x/query", {"evidence": evidence}), 413, "factor_cells", "100000")
    got = daemon.client.post(N + "x/query", {"of": ["r0"], "evidence": {"s0.4": "a"}}).ok().json
    near(got["probabilities"]["r0"]["c"], 0.5)
