# SPDX-License-Identifier: Apache-2.0
"""`streams = 4`: each model's changes are in one of four streams, and all nodes have all of them."""
import json
import os
import subprocess
import threading

from acknowledged import path_of
from clients import number_of
from harness import equal, holds, wait_for
from test_join import cutting, without_disk, wait_rejoined
from test_nodes import assert_same, assert_stores, disturb_a_mixed_load, trained

STREAMS = 4
SPREAD = {"cluster": {"streams": STREAMS}}
MODELS = 24


def bayesc(nodes, *words):
    client = os.path.join(os.path.dirname(nodes.binary), "bayesc")
    return subprocess.run([client, *words], capture_output=True, text=True, check=False)


def test_models_are_spread(nodes):
    """Numbers say in which stream a model is; each node waits for them; all know the same, stream by stream."""
    site = nodes.site(settings=SPREAD).start()
    streams = set()
    for turn in range(MODELS):
        path, numbers = path_of(f"user-{turn}"), []
        for i in range(3):
            numbers.append(number_of(trained(site.nodes[(turn + i) % 3], path, f"d{i}", "spam" if i else "ham").ok()))
            got = site.nodes[turn % 3].client.get(f"{path}?after={numbers[-1]}").ok().json
            equal(got["documents"], i + 1, f"{path} after {numbers[-1]}")
        equal(len({number % STREAMS for number in numbers}), 1, f"streams of {path}: {numbers}")
        holds(numbers == sorted(set(numbers)), numbers)
        streams.add(numbers[0] % STREAMS)
    equal(streams, set(range(STREAMS)), "streams with a model")
    assert_same(site)
    cluster = site.nodes[0].ready()[1]["cluster"]
    equal([one["stream"] for one in cluster["streams"]], site.stream_names)
    equal(cluster["applied"], sum(one["applied"] for one in cluster["streams"]))
    urls = [f"http://127.0.0.1:{node.port}" for node in site.nodes]
    done = bayesc(nodes, "cluster", "check", *urls)
    equal((done.returncode, len(done.stdout.splitlines())), (0, 1 + 3 * STREAMS), done.stdout + done.stderr)
    done = bayesc(nodes, "--json", "cluster", "check", *urls)
    equal([one["stream"] for one in json.loads(done.stdout)[0]["digest"]], list(range(STREAMS)), done.stdout)
    equal(site.nodes[0].client.get("/v1/state/digest?stream=4").status, 400)
    assert_stores(site)


def test_a_mixed_load_over_streams(nodes):
    """All kinds of changes of several models, and all that can happen to the six processes."""
    disturb_a_mixed_load(nodes, nodes.site(settings={"cluster": {**SPREAD["cluster"], "digest_seconds": 10}}).start())


class Teacher(threading.Thread):
    """Teaches its own models by one node after the other, and counts what was acknowledged."""

    def __init__(self, site, number):
        super().__init__(daemon=True)
        self.site, self.number, self.stopping, self.known = site, number, threading.Event(), {}

    def run(self):
        turn = 0
        while not self.stopping.is_set():
            turn += 1
            node, model, id = self.site.nodes[turn % 3], f"t{self.number}-{turn % 5}", f"d{turn}"
            client = node.new_client(20)
            try:
                if client.post(path_of(model) + "/train", {"id": id, "label": "ham", "text": f"w{turn}"}).status == 200:
                    self.known.setdefault(model, set()).add(id)
            except OSError:  # it was killed
                pass
            finally:
                client.close()


def test_nodes_that_are_killed(nodes):
    """Each of them again and again, while clients go on: what was acknowledged is there, on all, and stores are sound."""
    site = nodes.site(settings=SPREAD).start()
    teachers = [Teacher(site, number) for number in range(3)]
    for teacher in teachers:
        teacher.start()
    for turn in range(6):
        nodes.random.choice(teachers).stopping.wait(0.3 + nodes.random.random())
        node = site.nodes[turn % 3]
        node.kill()
        node.start()
    for teacher in teachers:
        teacher.stopping.set()
        teacher.join()
    holds(sum(len(ids) for one in teachers for ids in one.known.values()) > 20, "little was acknowledged")
    assert_same(site)
    for teacher in teachers:
        for model, ids in teacher.known.items():
            for id in ids:
                equal(site.nodes[0].client.get(f"{path_of(model)}/documents/{id}").status, 200, f"{model} {id}")
    assert_stores(site)


def test_parents_are_in_the_same_stream(nodes):
    site = nodes.site(nodes=1, settings=SPREAD).start()
    client, found = site.nodes[0].client, {}
    for turn in range(MODELS):
        number = number_of(client.put(path_of(f"m{turn}"), {}).ok(201))
        found.setdefault(number % STREAMS, []).append(f"m{turn}")
    parent, child = found[0][:2]
    client.put(path_of(child), {"parent": parent}).ok(200)
    reply = client.put(path_of(found[1][0]), {"parent": parent})
    equal(reply.status, 409, reply.body)
    holds(b"is in stream 0 of the cluster" in reply.body, reply.body)
    equal(client.put(path_of("new-one"), {"parent": found[2][0]}).status in (201, 409), True)


def test_another_number_of_streams_does_not_join(nodes):
    """Neither with an empty store, nor with one that has followed four."""
    site = nodes.site(nodes=2, settings=SPREAD).start()
    trained(site.nodes[0], path_of("a"), "one").ok()
    node = site.nodes[1]
    for empties in (False, True):
        node.kill()
        if empties:
            node.empty()
        site.settings = {"cluster": {"streams": 5}}
        node.set_peers(())
        node.start()
        wait_for(lambda: "streams=4" in str(node.ready()), "it says that there are four", 20, 0.1)
    trained(site.nodes[0], path_of("a"), "two").ok()


def test_queued_changes_of_several_streams(nodes):
    site = nodes.site(settings={"cluster": {"streams": STREAMS, "queue": "yes"}}).start()
    for server in site.servers:
        server.kill()
    for node in site.nodes:
        wait_for(lambda node=node: not node.ready()[1]["cluster"]["connected"], f"{node.name} is alone", 30, 0.05)
    for turn in range(MODELS):
        for node in site.nodes:
            wait_for(lambda node=node, turn=turn: trained(node, path_of(f"q{turn % 8}"), f"{node.name}-{turn}").status == 202,
                     f"{node.name} queues", 20, 0.1)
    site.nodes[0].kill()
    site.start_servers()
    site.nodes[0].start()
    for node in site.nodes:
        wait_for(lambda node=node: node.has_joined() and not node.ready()[1]["cluster"]["queued"],
                 f"{node.name} has published: {node.ready()}", 60, 0.05)
    assert_same(site)
    equal(sum(site.nodes[1].client.get(path_of(f"q{turn}")).ok().json["documents"] for turn in range(8)), 3 * MODELS)


def test_streams_are_cut_and_a_node_comes_back(nodes):
    """A node that was away takes the store of another one, with its places in all streams."""
    site = cutting(nodes, streams=STREAMS, keep_seconds=1, member_seconds=2)
    away = site.nodes[2]
    for turn in range(MODELS):
        trained(site.nodes[turn % 3], path_of(f"user-{turn}"), "one").ok()
    assert_same(site)
    without_disk(away)
    for turn in range(MODELS):
        trained(site.nodes[turn % 2], path_of(f"user-{turn}"), "two").ok()
    wait_for(lambda: all(site.stream(name)["state"]["first_seq"] > 1 for name in site.stream_names), "all are cut", 40, 0.2)
    away.start()
    wait_rejoined(away)
    assert_same(site)
    assert_stores(site)
