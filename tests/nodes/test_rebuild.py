# SPDX-License-Identifier: Apache-2.0
"""bayesd --rebuild of a node's store: it goes on where it was if its ledger has all, and says what to do if it has not."""
import os
import subprocess

from acknowledged import path_of
from harness import clean_environment, equal, holds, patience, wait_for
from lmdb_pages import places_of
from test_nodes import assert_same, trained

PATH = path_of("shared")
NETWORK = {"nodes": [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]}]}


def rebuilt(node):
    """(status, what it said) of --rebuild."""
    done = subprocess.run([node.daemon.command[0], "--rebuild", "--data", node.daemon.data], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(60), check=False)
    return done.returncode, done.stdout + done.stderr


def taught(site):
    """Changes of many kinds, so that the last of them is no entry of the ledger."""
    one = site.nodes[0]
    for turn in range(30):
        trained(site.nodes[turn % 3], PATH, f"d{turn}", "spam" if turn % 3 else "ham", f"w{turn} w{turn % 7} w1").ok()
    reply = trained(one, PATH, "waits", source="unknown")
    holds(reply.status in (200, 202), reply.body)
    one.client.put(path_of("gone"), {}).ok(201)
    one.client.delete(path_of("gone")).ok(204)
    one.client.post(PATH + "/untrain", {"id": "d3"}).ok()
    one.client.put("/v1/networks/net", NETWORK).ok(201)
    return assert_same(site)


def test_a_rebuilt_node_goes_on(nodes):
    """What was made while it was rebuilt reaches it, and it has what the others have."""
    site = nodes.site(settings={"models": {"quarantine": "unknown"}}).start()
    number, node = taught(site), site.nodes[2]
    node.stop()
    trained(site.nodes[0], PATH, "meanwhile").ok()
    equal(rebuilt(node), (0, f"{node.daemon.data}: rebuilt; nothing differed\n"))
    node.start()
    node.wait_joined()
    holds(node.applied() >= number, f"{node.applied()} of {number}")
    assert_same(site)
    trained(node, PATH, "by itself").ok()
    node.client.post(PATH + "/quarantine/apply", {"all": True}).ok()
    assert_same(site)


def test_a_rebuilt_node_that_has_lost_something(nodes):
    """It does not go on as if it had all: it says that it needs an empty store, and joins with one."""
    site = nodes.site().start()
    taught(site)
    node = site.nodes[2]
    node.stop()
    file = os.path.join(node.daemon.data, "data.mdb")
    places = [place for place in places_of(file) if (place.kind, place.table) == ("value", "ledger")]
    place = places[len(places) // 2]
    with open(file, "r+b") as data:
        data.seek(place.at)
        data.write(bytes(place.length))
    status, said = rebuilt(node)
    holds(status == 1 and "is lost" in said and "joins again" in said, said)
    node.start()
    wait_for(lambda: "empty store" in str(node.ready()), f"it says so: {node.ready()}")
    equal(node.ready()[0], 503)
    node.stop()
    node.empty()
    node.start()
    assert_same(site)
