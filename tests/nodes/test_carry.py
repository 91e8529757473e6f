# SPDX-License-Identifier: Apache-2.0
"""What is no change of a document, on three nodes: networks, and what waits in a quarantine."""
import concurrent.futures
import time

from acknowledged import path_of
from harness import equal, holds, refused, wait_for
from test_nodes import assert_same, assert_stores, trained

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


def test_a_network_that_is_too_large(nodes):
    """A message of the stream has a limit, which the refusal names; the nodes stay as they are."""
    site = nodes.site().start()
    large, rows = network_of(*[0.5] * 15), 2 ** 15
    large["nodes"].append({"name": "all", "states": ["a", "b"], "parents": [node["name"] for node in large["nodes"]],
                           "table": [[(i + 0.5) / rows / 3, 1 - (i + 0.5) / rows / 3] for i in range(rows)]})
    reply = site.nodes[0].client.put(NETWORK, large)
    refused(reply, 413, "max_payload")
    equal([shown(node) for node in site.nodes], [None] * 3, "networks")
    wait_for(lambda: site.nodes[1].client.put(NETWORK, network_of(0.5)).status == 201, "a small one is kept")
    assert_same(site)
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
    time.sleep(1.1)  # a time is told in seconds
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
