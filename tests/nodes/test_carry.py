# SPDX-License-Identifier: Apache-2.0
"""What is no change of a document, on three nodes: networks."""
from acknowledged import path_of
from harness import equal, holds, refused, wait_for
from test_nodes import assert_same, assert_stores, trained

NETWORK = "/v1/networks/net"


def network_of(*probabilities):
    return {"nodes": [{"name": f"node {i}", "states": ["yes", "no"], "table": [[p, 1 - p]]}
                      for i, p in enumerate(probabilities)]}


def shown(node):
    reply = node.client.get(NETWORK)
    return reply.json if reply.status == 200 else None


def test_networks(nodes):
    """Kept, replaced and deleted on changing nodes: all have the same, with its time and source, and so has one that
    begins without its disk."""
    site = nodes.site().start()
    a, b, c = site.nodes
    made = a.client.put(NETWORK + "?source=ann", network_of(0.25)).ok(201).json
    assert_same(site)
    for node in site.nodes:
        equal(shown(node), made, node.name)
    refused(b.client.call("PUT", NETWORK, network_of(0.5), **{"If-None-Match": "*"}), 409, "net")
    replaced = c.client.put(NETWORK + "?source=bob", network_of(0.5, 0.75)).ok().json
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
