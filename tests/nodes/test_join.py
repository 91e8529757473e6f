# SPDX-License-Identifier: Apache-2.0
"""A node that begins with the store of another one, and one that the stream does not reach any more."""
import os
import subprocess
import time

from account import Account, default_chain
from acknowledged import path_of
from clients import Load, number_of
from harness import clean_environment, equal, holds, patience, wait_for
from jetstream import Refused
from processes import STREAM
from test_nodes import BESIDES, assert_same, assert_stores, trained

PATH = path_of(BESIDES[0])
# What fetching waits for is not the machine.
JOIN_SECONDS = 120


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


def fails(node, peer, *words, data=None):
    code, said = joining(node, peer, data)
    equal(code, 1, said)
    for word in words:
        holds(word in said, f"{word!r} in {said!r}")
    holds(not os.path.exists(os.path.join(data or node.daemon.data, "data.mdb")) or data is not None, "nothing is left")


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
    account.check(new.client)
    assert_stores(site)


def test_a_join_that_is_cut_off(nodes):
    """Killed at any moment it leaves the whole store or none, and can be begun again."""
    site = nodes.site(nodes=2).start()
    peer, new = site.nodes
    taught(site, 0, 60)
    assert_same(site)
    for turn in range(6):
        without_disk(new)
        begun = joining(new, peer, wait=False)
        try:
            begun.wait(0.02 * turn)
        except subprocess.TimeoutExpired:
            pass
        begun.kill()
        begun.communicate()
        if not os.path.exists(os.path.join(new.daemon.data, "data.mdb")):
            code, said = joining(new, peer)
            equal(code, 0, said)
        equal([name for name in os.listdir(new.daemon.data) if name not in ("data.mdb", "restore")], [])
        new.start()
        new.wait_joined()
        assert_same(site)


def test_a_join_says_what_is_wrong(nodes):
    site, other = nodes.site(nodes=2).start(), nodes.site(nodes=1, servers=3).start()
    peer, new = site.nodes
    taught(site, 0, 3)
    assert_same(site)
    without_disk(new)
    fails(new, "http://127.0.0.1:1", "http://127.0.0.1:1")  # nobody is there
    fails(new, f"http://127.0.0.1:{site.servers[0].client}")  # no bayesd
    alone = nodes.site(nodes=1, clustered=False).start().nodes[0]
    fails(new, alone, "another key")
    key = os.path.join(nodes.new_folder(), "other.key")
    with open(key, "w", encoding="ascii") as file:
        file.write("ab" * 32 + "\n")
    stranger = nodes.site(nodes=1, servers=0, settings={"cluster": {"cluster_key_file": key, "servers": "nats://127.0.0.1:1"}}).nodes[0]
    fails(stranger, peer, "another key")
    renamed = nodes.site(nodes=1, servers=0, settings={"cluster": {"stream": "other", "servers": "nats://127.0.0.1:1"}}).nodes[0]
    fails(renamed, peer, "'bayesd'", "'other'")
    unjoined = nodes.site(nodes=1, servers=0, settings={"cluster": {"servers": "nats://127.0.0.1:1"}}).nodes[0].start()
    fails(new, unjoined, "belongs to no cluster")
    fails(alone, peer, "[cluster] servers", data=nodes.new_folder())
    fails(other.nodes[0], peer, "empty", data=other.nodes[0].daemon.data)
    equal(joining(new, peer)[0], 0)
    new.start()
    new.wait_joined()
    assert_same(site)


# ---- a stream that is cut -----------------------------------------------------------------------
def cutting(nodes, **cluster):
    """A site whose nodes cut the stream soon, each with the others as peers."""
    site = nodes.site(settings={"cluster": {"keep_seconds": 1, "member_seconds": 86400, **cluster}})
    for node in site.nodes:
        node.set_peers([other for other in site.nodes if other is not node])
    return site.start()


def first_of(site):
    """The number of the first change that the stream still has."""
    info = site.stream(STREAM)
    return info["state"]["first_seq"] if info else 0


def test_a_stream_is_cut_to_what_all_have(nodes):
    """Not while a known node needs it; each keeps the change that it has made last."""
    site = cutting(nodes)
    number = taught(site, 0, 30)
    assert_same(site)
    wait_for(lambda: first_of(site) >= number, f"the stream is cut: {first_of(site)} of {number}", 60, 0.2)
    away = site.nodes[2]
    away.stop()
    held = taught(site, 30, 30)
    time.sleep(5)  # in which it would have been cut twice
    holds(first_of(site) < held, f"{first_of(site)}: {away.name} needs what came up to {held}")
    away.start()
    away.wait_joined()
    number = assert_same(site)
    wait_for(lambda: first_of(site) >= held, f"the stream is cut again: {first_of(site)} of {number}", 60, 0.2)
    for node in site.nodes:
        node.stop()
    for node in site.nodes:
        node.start()
        node.wait_joined()
    assert_same(site)


def test_a_stream_stays_without_peers(nodes):
    site = nodes.site(settings={"cluster": {"keep_seconds": 1}}).start()
    taught(site, 0, 10)
    assert_same(site)
    time.sleep(4)
    equal(first_of(site), 1)


def old_files(node):
    return [name for name in os.listdir(node.daemon.data) if name.endswith(".old") or name == "join"]


def wait_rejoined(node):
    """It begins anew amid: for a moment nobody listens."""
    def has_rejoined():
        try:
            return node.has_joined()
        except OSError:
            return False
    wait_for(has_rejoined, f"{node.name} has the store of another: {node.daemon.lines[-5:]}", 60, 0.1)


def cut_past(site, number):
    wait_for(lambda: first_of(site) > number, f"the stream is cut past {number}: {first_of(site)}", 60, 0.2)


def test_a_node_that_was_away_too_long(nodes):
    """It gives verdicts from its old store until it has that of another node; the peer it asks first is not there."""
    rng, site = nodes.random, cutting(nodes, member_seconds=8)
    account, default = Account(besides=BESIDES), default_chain(site.nodes[0].client)
    taught(site, 0, 20)
    behind = assert_same(site)
    away, there, dead = site.nodes
    away.stop()
    site.nodes = [there, dead]
    Load(site, account, rng, default, clients=3, requests=30).start().join()
    taught(site, 20, 20)
    assert_same(site)
    cut_past(site, behind)
    dead.stop()
    site.nodes = [away, there]
    away.set_peers([dead, there])
    load = Load(site, account, rng, default, clients=3, requests=60, first=100)
    away.start()
    equal(away.client.post(PATH + "/classify", {"text": "w1 w2"}).ok().status, 200)
    wait_rejoined(away)
    wait_for(lambda: not old_files(away), f"the old store is gone: {old_files(away)}", 20, 0.2)
    load.start().join()
    dead.start()
    wait_rejoined(dead)
    site.nodes = [away, there, dead]
    assert_same(site)
    account.settle(away.client)
    account.check(away.client)
    assert_stores(site)


def test_a_node_without_its_disk_and_a_stream_that_is_cut(nodes):
    """Killed while it fetches, it begins again."""
    site = cutting(nodes)
    number = taught(site, 0, 60)
    assert_same(site)
    cut_past(site, number // 2)
    node = site.nodes[0]
    for turn in range(3):
        without_disk(node)
        node.start()
        time.sleep(turn * 0.6)
        node.kill()
        node.start()
        wait_rejoined(node)
        assert_same(site)
    assert_stores(site)


def test_a_node_without_peers_says_what_it_needs(nodes):
    site = cutting(nodes)
    number = taught(site, 0, 20)
    assert_same(site)
    cut_past(site, number // 2)
    node = site.nodes[0]
    without_disk(node)
    node.set_peers(())
    node.start()
    wait_for(lambda: "peers" in str(node.ready()[1]), f"it says what it needs: {node.ready()}", 20, 0.1)
    node.stop()
    node.empty()
    equal(joining(node, site.nodes[1])[0], 0)
    node.start()
    node.wait_joined()
    assert_same(site)


# ---- nodes of different versions ----------------------------------------------------------------
def test_a_kind_of_change_that_one_node_does_not_know(nodes):
    """It waits until all nodes are new; what all know goes on."""
    site = nodes.site(nodes=2, settings={"cluster": {"keep_seconds": 1}}).start()
    taught(site, 0, 2)

    def say(kinds):
        """As a node that knows these kinds: format, place, versions of the tokenizer and of applying, kinds."""
        def is_said():
            try:
                with site.connect() as connection:
                    return connection.publish(f"{STREAM}.members.an-old-one", bytes([1, 1, 1, 1, kinds]), seconds=2)
            except (OSError, Refused):
                return None
        wait_for(is_said, "it is said", 30, 0.1)

    def puts(*statuses):
        wait_for(lambda: node.client.put(path_of("another"), {"smoothing": 0.5}).status in statuses, f"one of {statuses}", 20, 0.1)
    say(1)  # changes of documents, and no errands
    for node in site.nodes:
        puts(503)
        said = node.client.put(path_of("another"), {"smoothing": 0.5})
        holds("an-old-one" in said.json["detail"], said.body)
    taught(site, 2, 4)
    say(200)
    for node in site.nodes:
        puts(200, 201)
    assert_same(site)
