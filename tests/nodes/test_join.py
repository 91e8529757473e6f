# SPDX-License-Identifier: Apache-2.0
"""A node that begins with the store of another one, and one that the tables do not reach any more."""
import os
import subprocess

from account import Account, default_chain
from acknowledged import path_of
from clients import Load, number_of
from harness import clean_environment, equal, holds, patience, wait_for
from test_nodes import BESIDES, assert_same, trained

PATH = path_of(BESIDES[0])
# What fetching waits for is not the machine.
JOIN_SECONDS = 120
MEMBER_SECONDS = 5


def joining(node, peer, data=None, wait=True):
    """bayesd --join, from a node or a URL: the process, or what became of it."""
    url = peer if isinstance(peer, str) else f"http://127.0.0.1:{peer.port}"
    config = node.daemon.command[node.daemon.command.index("--config") + 1]
    command = [node.daemon.command[0], "--config", config, "--data", data or node.daemon.data, "--join", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment())
    if not wait:
        return process
    try:
        said = process.communicate(timeout=patience(JOIN_SECONDS))[0]
    finally:
        process.kill()
    return process.returncode, said


def without_disk(node):
    if node.running():
        node.kill()
    node.empty()


def taught(site, first, count):
    """The number of the last of some changes, made on all nodes that run."""
    there = [node for node in site.nodes if node.running()]
    for turn in range(first, first + count):
        reply = trained(there[turn % len(there)], PATH, f"d{turn}", "spam" if turn % 3 else "ham", f"w{turn} w{turn % 7} w1").ok()
    return number_of(reply)


def with_peers(nodes, **settings):
    """Nodes that cut the tables, and take each other's stores."""
    site = nodes.site(settings={"nodes": {"keep_seconds": 2, "member_seconds": MEMBER_SECONDS, **settings}})
    for node in site.nodes:
        node.set_peers([other for other in site.nodes if other is not node])
    return site.start()


def wait_rejoined(node):
    """It begins anew with the store of another node: for a moment nobody listens."""
    def has_joined():
        try:
            return node.has_joined()
        except OSError:
            return False
    wait_for(has_joined, f"{node.name} has joined", 60, 0.1)


def test_a_node_joins_by_a_snapshot(nodes):
    """While clients go on; the peer is killed, and another one asked."""
    rng, site = nodes.random, nodes.site().start()
    account, default = Account(besides=BESIDES), default_chain(site.nodes[0].client)
    new, first, second = site.nodes
    taught(site, 0, 40)
    without_disk(new)
    site.nodes = [first, second]
    load = Load(site, account, rng, default, clients=4, requests=60).start()
    begun = joining(new, first, wait=False)
    first.kill()  # before, amid or after: the folder has all or nothing
    said = begun.communicate(timeout=patience(JOIN_SECONDS))[0]
    has_all = os.path.exists(os.path.join(new.daemon.data, "data.mdb"))
    equal(begun.returncode == 0, has_all, said)
    first.start()
    if not has_all:
        code, said = joining(new, second)
        equal(code, 0, said)
    site.nodes = [new, first, second]
    new.start()
    new.wait_joined()
    load.join()
    assert_same(site)
    account.settle(new.client)


def test_a_join_that_is_cut_off(nodes):
    """Killed at any moment it leaves the whole store or none, and can be begun again."""
    site = nodes.site(nodes=2).start()
    peer, new = site.nodes
    taught(site, 0, 60)
    assert_same(site)
    for _ in range(nodes.turns(4)):
        without_disk(new)
        begun = joining(new, peer, wait=False)
        try:
            begun.wait(0.12 * nodes.random.random())
        except subprocess.TimeoutExpired:
            pass
        begun.kill()
        begun.communicate()
        if not os.path.exists(os.path.join(new.daemon.data, "data.mdb")):
            code, said = joining(new, peer)
            equal(code, 0, said)
        new.start()
        new.wait_joined()
        assert_same(site)


def fails(node, peer, *words, data=None):
    code, said = joining(node, peer, data)
    holds(code != 0 and all(word in said for word in words), f"exit status {code}, {words} in: {said}")


def test_a_join_says_what_is_wrong(nodes):
    site = nodes.site(nodes=2).start()
    peer, new = site.nodes
    taught(site, 0, 3)
    assert_same(site)
    without_disk(new)
    fails(new, "http://127.0.0.1:1", "http://127.0.0.1:1")  # nobody is there
    fails(peer, peer, "in use")
    with open(new.key, encoding="ascii") as file:
        key = file.read()
    with open(new.key, "w", encoding="ascii") as file:
        file.write("ab" * 32 + "\n")
    fails(new, peer, "key")
    with open(new.key, "w", encoding="ascii") as file:
        file.write(key)
    code, said = joining(new, peer)
    equal(code, 0, said)
    new.start()
    new.wait_joined()
    assert_same(site)


def test_tables_are_cut_to_what_all_have(nodes):
    """What a node that is known lacks stays; who is forgotten takes another store, by itself; nothing is missing."""
    site = with_peers(nodes)
    away = site.nodes[2]
    taught(site, 0, 20)
    assert_same(site)
    wait_for(lambda: site.first() > 10, "the tables are cut", 30, 0.2)
    away.kill()
    last = taught(site, 20, 20)

    def is_forgotten():
        first, silence = map(float, site.primary.sql(
            "SELECT cut + 1, (SELECT extract(epoch FROM now() - min(seen)) FROM bayesd.member) FROM bayesd.stream").split("|"))
        holds(first <= last - 19 or silence >= MEMBER_SECONDS, f"what the one that is away needs stays: {first} of {last}, {silence} s")
        return first > last - 5
    wait_for(is_forgotten, "it is forgotten", 60, 0.2)
    away.start()
    wait_for(lambda: "the store of another node is in force" in away.daemon.output(), "it takes a store by itself", 60, 0.2)
    wait_rejoined(away)
    assert_same(site)


def test_a_node_without_its_disk_and_steady_load(nodes):
    """It joins, however fast the others cut: nothing goes from the moment in which it asks."""
    rng, site = nodes.random, with_peers(nodes, keep_seconds=1)
    account, default = Account(besides=BESIDES), default_chain(site.nodes[0].client)
    new = site.nodes[0]
    taught(site, 0, 20)
    assert_same(site)
    wait_for(lambda: site.first() > 10, "the tables are cut", 30, 0.2)
    without_disk(new)
    there, site.nodes = site.nodes, site.nodes[1:]
    load = Load(site, account, rng, default, clients=4, requests=100).start()
    new.start()
    wait_rejoined(new)
    fetched = new.daemon.output().count("fetching the store of")
    load.join()
    site.nodes = there
    holds(fetched == 1, f"it has fetched {fetched} stores")
    assert_same(site)
    account.settle(new.client)
