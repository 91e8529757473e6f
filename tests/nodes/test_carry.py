# SPDX-License-Identifier: Apache-2.0
"""What is no change of a document, on three nodes: networks, what waits in a quarantine, copies of models and imports."""
import concurrent.futures
import http.client
import time

from acknowledged import path_of
from harness import equal, holds, refused, wait_for
from test_join import joining
from test_nodes import assert_same, assert_stores, assert_verdicts, trained

NETWORK = "/v1/networks/net"


def network_of(*probabilities):
    return {"nodes": [{"name": f"node {i}", "states": ["yes", "no"], "table": [[p, 1 - p]]}
                      for i, p in enumerate(probabilities)]}


def kept(reply):
    """What a node says that it keeps now; a reply to a change has a number as well."""
    said = reply.json
    holds(said.pop("number") > 0, f"{said}")
    return said


def shown(node):
    reply = node.client.get(NETWORK)
    return reply.json if reply.status == 200 else None


def test_networks(nodes):
    """Kept, replaced and deleted on changing nodes: all have the same, with its time and source, and so has one that
    begins without its disk."""
    site = nodes.site().start()
    a, b, c = site.nodes
    made = kept(a.client.put(NETWORK + "?source=ann", network_of(0.25)).ok(201))
    assert_same(site)
    for node in site.nodes:
        equal(shown(node), made, node.name)
    refused(b.client.call("PUT", NETWORK, network_of(0.5), **{"If-None-Match": "*"}), 409, "net")
    replaced = kept(c.client.put(NETWORK + "?source=bob", network_of(0.5, 0.75)).ok())
    equal(replaced["source"], "bob")
    trained(b, path_of("shared"), "one").ok()
    assert_same(site)
    equal([shown(node) for node in site.nodes], [replaced] * 3, "networks")
    a.kill()
    a.empty()
    a.start().wait_joined()
    assert_same(site)
    equal(shown(a), replaced, "on the one that was empty")
    b.client.delete(NETWORK).ok(204)
    assert_same(site)
    equal([shown(node) for node in site.nodes], [None] * 3, "deleted")
    refused(c.client.delete(NETWORK), 404)
    assert_stores(site)


def test_a_large_network(nodes):
    """Of a megabyte: it is on all nodes."""
    site = nodes.site().start()
    large, rows = network_of(*[0.5] * 15), 2 ** 15
    large["nodes"].append({"name": "all", "states": ["a", "b"], "parents": [node["name"] for node in large["nodes"]],
                           "table": [[(i + 0.5) / rows / 3, 1 - (i + 0.5) / rows / 3] for i in range(rows)]})
    site.nodes[0].client.put(NETWORK, large).ok(201)
    assert_same(site)
    equal(len({repr(shown(node)) for node in site.nodes}), 1, "networks")
    holds(shown(site.nodes[2]), "on another node")


# ---- the quarantine -----------------------------------------------------------------------------
STRANGER = {"models": {"quarantine": "stranger"}}


def waiting(node, path):
    return [row["id"] for row in node.client.get(path + "/quarantine").ok().json["quarantine"]]


def quarantined(node, path, id, **more):
    equal(trained(node, path, id, "spam", f"words of {id}", source="stranger", **more).status, 202)


def test_dropping_from_the_quarantine(nodes):
    """By ids, by source and time, and all: on any node, and it is gone from all of them. What was replaced meanwhile stays."""
    site, path = nodes.site(settings=STRANGER).start(), path_of("shared")
    trained(site.nodes[0], path, "one", "ham").ok()
    for turn in range(12):
        quarantined(site.nodes[turn % 3], path, f"q{turn:02}")
    assert_same(site)
    before = [waiting(node, path) for node in site.nodes]
    equal(before, [[f"q{turn:02}" for turn in range(12)]] * 3, "what waits")
    dropped = site.nodes[1].client.post(path + "/quarantine/drop", {"ids": ["q00", "q05", "unknown"]}).ok().json
    equal((dropped["dropped"], dropped["changed_since"]), (2, 0), dropped)
    applied = site.nodes[2].client.post(path + "/quarantine/apply", {"ids": ["q01"]}).ok().json
    equal(applied["applied"]["learned"], 1, applied)
    assert_same(site)
    equal([waiting(node, path) for node in site.nodes], [[id for id in before[0] if id not in ("q00", "q01", "q05")]] * 3)
    seen = site.nodes[0].client.get(path + "/quarantine").ok().json["time"]
    time.sleep(0.01)  # what comes in the same millisecond goes, too
    quarantined(site.nodes[1], path, "later")
    assert_same(site)
    dropped = site.nodes[0].client.post(path + "/quarantine/drop", {"source": "stranger", "until": seen}).ok().json
    equal(dropped["dropped"], 9, dropped)
    assert_same(site)
    equal([waiting(node, path) for node in site.nodes], [["later"]] * 3)
    equal(site.nodes[2].client.post(path + "/quarantine/drop", {"all": True}).ok().json["dropped"], 1)
    assert_same(site)
    equal([waiting(node, path) for node in site.nodes], [[]] * 3)
    assert_stores(site)


def test_two_drop_the_same(nodes):
    """More than one step takes, from two nodes at once: each is dropped once."""
    site, path = nodes.site(settings=STRANGER).start(), path_of("shared")
    trained(site.nodes[0], path, "one", "ham").ok()
    documents = [{"id": f"q{n}", "label": "spam", "text": "words", "source": "stranger"} for n in range(1200)]
    site.nodes[0].client.post(path + "/train", {"documents": documents}).ok()
    assert_same(site)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        clients = [node.new_client() for node in site.nodes[:2]]
        asked = [pool.submit(client.post, path + "/quarantine/drop", wish)
                 for client, wish in zip(clients, ({"all": True}, {"source": "stranger"}))]
        dropped = sum(one.result().ok().json["dropped"] for one in asked)
    equal(dropped, 1200, "dropped by both")
    assert_same(site)
    equal([waiting(node, path) for node in site.nodes], [[]] * 3)


# ---- copies of models ---------------------------------------------------------------------------
def counts(node, path):
    info = node.client.get(path).ok().json
    return {name: info[name] for name in ("documents", "vocabulary", "labels")}


def teach(site, path, count):
    """Documents of several sources, relabelled, untrained and without a label; what these give depends on when it was found."""
    site.nodes[0].client.put(path, {"unlabelled_weight": 0}).ok(201)
    for turn in range(count):
        trained(site.nodes[turn % 3], path, f"d{turn % (count * 3 // 4)}", ("ham", "spam", None)[turn % 3],
                f"w{turn} w{turn % 7} w1", source=f"s{turn % 4}").ok()
    site.nodes[0].client.post(path + "/untrain", {"id": "d3"}).ok()


def test_copies_of_models(nodes):
    """Asked of any node: the same model on all of them, which then learns by itself; with `strength` behind a copy."""
    site, path, copy, child = nodes.site().start(), path_of("old"), path_of("new"), path_of("child")
    teach(site, path, 60)
    site.nodes[1].client.post(copy + "/from/old?source=ann").ok(201)
    assert_same(site)
    for node in site.nodes:
        equal(counts(node, copy), counts(node, path), node.name)
        equal(node.client.get(copy + "/documents/d7").ok().json, node.client.get(path + "/documents/d7").ok().json)
    refused(site.nodes[2].client.post(copy + "/from/old"), 409, "new")
    refused(site.nodes[2].client.post(path_of("other") + "/from/unknown"), 404)
    trained(site.nodes[0], copy, "d7", "ham", "other words").ok()
    trained(site.nodes[2], copy, "more", "spam", "even more words").ok()
    site.nodes[0].client.post(copy + "/undo", {"source": "s1"}).ok()
    assert_same(site)
    assert_verdicts(site, (copy, path))
    site.nodes[2].client.post(child + "/from/new?strength=7").ok(201)
    trained(site.nodes[0], child, "first", "ham", "w1 w2").ok()
    assert_same(site)
    assert_verdicts(site, (child,))
    equal(site.nodes[1].client.get(child).ok().json["settings"]["parent"], "child.prior")
    a = site.nodes[0]
    a.kill()
    a.empty()
    a.start().wait_joined()
    assert_same(site)
    assert_stores(site)


def test_documents_with_several_labels(nodes):
    """Learned, changed, renamed and taken back on changing nodes: the same counts and the same verdicts on all."""
    site, path, rng = nodes.site().start(), path_of("tags"), nodes.random
    site.nodes[0].client.put(path, {"label_set": "several"}).ok(201)
    assert_same(site)
    tags = ("a", "b", "c")
    for n in range(60):
        own = rng.sample(tags, rng.randrange(4))
        text = " ".join([f"{tag}{rng.randrange(5)}" for tag in own for _ in range(3)] + [f"w{rng.randrange(40)}" for _ in range(6)])
        site.nodes[n % 3].client.post(path + "/train", {"id": f"d{n}", "text": text, "labels": own}).ok()
    for n in range(10):
        site.nodes[n % 2].client.call("PATCH", f"{path}/documents/d{n}", {"add": ["c"], "remove": ["a"]}).ok()
    site.nodes[2].client.call("PATCH", path + "/labels/b", {"name": "new"}).ok()
    site.nodes[1].client.post(path + "/untrain", {"id": "d20"}).ok()
    assert_same(site)
    seen = []
    for node in site.nodes:
        rows = [node.client.post(path + "/classify", {"text": text}).ok().json for text in ("a1 a2 w1", "c1 c2 new", "w3 w4")]
        seen.append(([row["labels"] for row in rows], [{k: round(v, 5) for k, v in row["probabilities"].items()} for row in rows],
                     node.client.get(path).ok().json["labels"]))
    equal(seen[1:], seen[:1] * 2, "the other nodes")
    equal(sorted(seen[0][2]), ["a", "c", "new"])
    a = site.nodes[0]
    a.kill()
    a.empty()
    a.start().wait_joined()
    assert_same(site)
    assert_stores(site)


# ---- imports ------------------------------------------------------------------------------------
def dump_of(nodes, documents, words=40):
    """What a bayesd without a cluster exports: ids of its features are made with a key of its own."""
    alone = nodes.site(nodes=1, shared=False).start().nodes[0]
    path, rng = path_of("large"), nodes.random
    for first in range(0, documents, 500):
        alone.client.post(path + "/train", {"documents": [
            {"id": f"d{n}", "label": "spam" if n % 3 else "ham", "source": f"s{n % 5}",
             "text": " ".join(f"w{int(20000 * rng.random() ** 3)}" for _ in range(words))}
            for n in range(first, min(first + 500, documents))]}).ok()
    dump = alone.client.get(path + "/export").ok().body
    found = counts(alone, path)
    alone.stop()
    return dump, found


def put_dump(node, path, dump, **how):
    return node.new_client().once("PUT", path + "/import", dump, "application/x-ndjson", **how)


def test_imports(nodes):
    """A dump makes a model on all nodes, or takes the place of one; what is wrong with it is told, and leaves nothing."""
    site, path = nodes.site().start(), path_of("taken")
    dump, found = dump_of(nodes, 1500)
    holds(len(dump) > 400_000, f"{len(dump)} bytes are several pieces")
    trained(site.nodes[0], path, "before", "ham", "words that go").ok()
    put_dump(site.nodes[1], path, dump).ok(200)
    put_dump(site.nodes[2], path_of("fresh"), dump).ok(201)
    number = assert_same(site)
    for node in site.nodes:
        for name in (path, path_of("fresh")):
            equal(counts(node, name), found, node.name)
    trained(site.nodes[1], path, "d7", "ham", "w1 w2 w3").ok()
    trained(site.nodes[1], path, "after", "ham", "w1 w2 other").ok()
    lines = dump.splitlines(keepends=True)
    refused(put_dump(site.nodes[0], path_of("bad"), b"".join(lines[:-1])), 400, "cut off")
    refused(put_dump(site.nodes[0], path_of("bad"), b"".join([*lines[:-1], lines[-2], lines[-1]])), 400)
    equal(site.nodes[2].client.get(path_of("bad")).status, 404)
    holds(assert_same(site) > number, "it goes on")
    assert_verdicts(site, (path, path_of("fresh")))
    again = site.nodes[2].client.get(path + "/export").ok().body
    put_dump(site.nodes[0], path_of("again"), again).ok(201)
    assert_same(site)
    equal(counts(site.nodes[1], path_of("again")), counts(site.nodes[1], path))
    assert_stores(site)


def slowly(dump, parts, between):
    """The body of a request that is sent in parts."""
    size = len(dump) // parts + 1
    for at in range(0, len(dump), size):
        yield dump[at:at + size]
        between(at // size)


def test_imports_while_nodes_die(nodes):
    """Any node is killed while one imports: it is there in the end, on all of them, or on none."""
    rng, site = nodes.random, nodes.site().start()
    dump, found = dump_of(nodes, 3000)
    for turn in range(nodes.turns(4)):
        asked, victim, path = rng.choice(site.nodes), rng.choice(site.nodes), path_of(f"taken{turn}")
        at = rng.randrange(9)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(imported, asked, path, slowly(dump, 8, lambda part, at=at, victim=victim: part == at and victim.kill()))
            if at == 8:
                time.sleep(0.3 + rng.random())
                victim.kill()
            reply = done.result()
        victim.kill()
        victim.start()
        assert_same(site)
        there = {node.client.get(path).status for node in site.nodes}
        holds(len(there) == 1, f"{there}")
        holds(reply is None or reply.status in (201, 503), reply and reply.body)
        if reply is not None and reply.status == 201:
            equal([counts(node, path) for node in site.nodes], [found] * 3, f"turn {turn}")
        print(f"    turn {turn}: {victim.name} dies at {at}, {asked.name} says {reply and reply.status}: {there}", flush=True)
        trained(asked, path, "one more").ok()
    assert_stores(site)


def imported(node, path, dump):
    try:
        return put_dump(node, path, dump)
    except (OSError, http.client.HTTPException):
        return None


def test_a_node_joins_while_another_imports(nodes):
    """It begins with a store that has the pieces that have come; or it reads them all."""
    site, path = nodes.site().start(), path_of("taken")
    dump, found = dump_of(nodes, 3000)
    new, first, second = site.nodes
    trained(first, path_of("shared"), "one").ok()

    def between(part):
        if part == 4:
            new.kill()
            new.empty()
            equal(joining(new, first)[0], 0)
            second.kill()
            new.start()
            second.start()

    put_dump(first, path, slowly(dump, 8, between)).ok(201)
    assert_same(site)
    equal([counts(node, path) for node in site.nodes], [found] * 3)
    assert_stores(site)
