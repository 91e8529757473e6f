# SPDX-License-Identifier: Apache-2.0
"""Three bayesds over three nats-servers: what one node acknowledged is on every node exactly once, whatever happens."""
import json
import os
import re
import subprocess
import time

import disturb
from account import Account, default_chain, patiently, seen_of
from acknowledged import models_of, path_of, settled
from clients import Asker, Load, dumped, number_of
from harness import clean_environment, equal, holds, near, patience, wait_for
from jetstream import Refused
from links import Frames
from processes import STREAM
from test_samples import PASSWORD, Sample

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BESIDES = ("standing", "barrier", "dumped", *(f"barrier{turn}" for turn in range(64)))
STANDING = path_of(BESIDES[0])
BARRIER = path_of(BESIDES[1])


# ---- what all nodes say -------------------------------------------------------------------------
def trained(node, path, id, label="ham", text="some words", **more):
    return patiently(lambda: node.client.post(path + "/train", {"id": id, "label": label, "text": text, **more}))


def taken(node, path, id, *more):
    """The reply to a change, which may be refused for a while: servers that have just started choose their leader."""
    def made():
        reply = trained(node, path, id, *more)
        holds(reply.status in (200, 503), reply.body)
        return reply.status == 200 and reply
    return wait_for(made, f"{node.name} takes {id}: {node.ready()}", 30, 0.1)


# What a node says that was given something else than the stream has (server/nodes/place.c, core/replica/attest.c).
NEVER = ("another change", "lost some", "made anew")


def holds_it_follows(node):
    """One that says that it has what the stream does not have never follows again by itself: nobody need wait for it."""
    status, said = node.ready()
    holds(status == 200 or not any(words in json.dumps(said) for words in NEVER), f"{node.name}: {said}")


def barrier(site, path=BARRIER):
    """A change by each node, once all of them take changes: the highest number. What was sent before is done then."""
    def is_taken(node):
        holds_it_follows(node)
        reply = node.client.post(path + "/train", {"id": node.name, "label": "a", "text": "a"})
        holds(reply.status in (200, 503), reply.body)
        return reply.status == 200 and number_of(reply)
    return max(wait_for(lambda node=node: is_taken(node), f"{node.name} takes changes: {node.ready()}", 15, 0.1)
               for node in site.nodes)


def barriers(site):
    """The same of each stream."""
    for turn in range(64):
        if len(site.barriers) == site.streams:
            break
        path = BARRIER if site.streams == 1 else f"{BARRIER}{turn}"
        site.barriers.setdefault(barrier(site, path) % site.streams, path)
    equal(len(site.barriers), site.streams, "streams with a model")
    return [barrier(site, path) for path in site.barriers.values()]


def digests_of(site, stream):
    """Of all nodes at one number. They may go on by themselves: weights are fitted anew by changes, too."""
    found = [node.digest(stream) for node in site.nodes]
    return found if len({one["number"] for one in found}) == 1 else None


def assert_same(site):
    """All nodes have the same: by their digests at one number, and by what they show. The number of the last change."""
    def has(node, number):
        holds_it_follows(node)
        return node.has(number)
    for number in barriers(site):
        for node in site.nodes:
            wait_for(lambda node=node, number=number: has(node, number), lambda node=node, number=number:
                     f"{node.name} has {number}: {node.ready()}", 60, 0.02)
    for stream in range(site.streams):
        found = wait_for(lambda stream=stream: digests_of(site, stream), "all nodes are at one number", 60, 0.05)
        equal(len({one["digest"] for one in found}), 1, f"digests {found}")
    wanted = all_seen(site.nodes[0].client)
    for node in site.nodes[1:]:
        equal(all_seen(node.client), wanted, f"{node.name} beside {site.nodes[0].name}")
    return number


def members_of(node):
    return node.client.get("/v1/cluster").ok().json["members"]


def nobody_differs(site):
    """By the digests that nodes compare themselves, now and then. One that was misled, and has begun anew, tells none."""
    return not any(one.get("same") is False for node in site.nodes for one in members_of(node))


def all_seen(client):
    return {name: seen_of(client, name) for name in models_of(client)}


def fit_unlabelled(node, path):
    """Documents without a label are fitted by each node, when they are a fifth more: after a fit of all nodes their verdicts
    are the same. Where there are none any more, this ends what the last fit found."""
    wait_for(lambda: node.client.post(path + "/em").ok().json["state"] not in ("waiting", "running"),
             f"{node.name} has fitted {path}", 60, 0.05)


def fitted_verdicts(site, path):
    """Of all nodes, with weights first, since documents without a label are fitted with them; or None, if a change has come
    meanwhile: nodes may fit weights anew by changes of their own."""
    for node in site.nodes:
        settled(node.client, [path.rpartition("/")[2]])
    places = [node.applied() for node in site.nodes]
    for node in site.nodes:
        fit_unlabelled(node, path)
    found = [node.client.post(path + "/classify", {"text": "w1 w2 w3 w40"}) for node in site.nodes]
    return found if len({*places, *(node.applied() for node in site.nodes)}) == 1 else None


def assert_verdicts(site, paths):
    """Fitted weights may differ in the last digits, integers may not."""
    for path in paths:
        found = wait_for(lambda path=path: fitted_verdicts(site, path), f"nobody changes {path}", 60, 0.1)
        equal(len({reply.status for reply in found}), 1, f"{path}: {[reply.body for reply in found]}")
        fits = [node.client.get(path + "/em").json for node in site.nodes]
        for node, reply in zip(site.nodes[1:], found[1:]):
            for label, score in found[0].json["log_scores"].items():
                near(reply.json["log_scores"][label], score, f"{node.name}, {path}: log score of {label}; fits: {fits}")


def assert_stores(site):
    """Each store is sound, and what it has is what its ledger says."""
    for node in site.nodes:
        node.stop()
        done = subprocess.run([node.daemon.command[0], "--verify", "--data", node.daemon.data], capture_output=True,
                              text=True, env=clean_environment(), timeout=patience(60), check=False)
        equal(done.returncode, 0, f"--verify of {node.name}: {done.stdout}{done.stderr}")


# ---- one change after the other -----------------------------------------------------------------
def test_a_change_is_on_every_node(nodes):
    """The receipt is that of one node, and a number; a verdict that asks for the number knows the change."""
    site = nodes.site().start()
    alone = nodes.site(nodes=1, clustered=False).start().nodes[0]
    path, last = path_of("shared"), 0
    for turn in range(12):
        node = site.nodes[turn % 3]
        document = {"id": f"d{turn % 5}", "label": "ham" if turn % 2 else "spam", "text": f"w{turn} w{turn % 3} w1"}
        receipt = node.client.post(path + "/train", document).ok().json
        number = receipt.pop("number")
        holds(number > last, f"{number} after {last}")
        equal(receipt, alone.client.post(path + "/train", document).ok().json, f"receipt {turn}")
        last = number
        for other in site.nodes:
            got = other.client.post(f"{path}/classify?after={number}", {"text": "w1 w2 w5"}).ok().json
            want = alone.client.post(path + "/classify", {"text": "w1 w2 w5"}).ok().json
            equal(got["label"], want["label"], f"{other.name} after {turn}")
            equal(got["log_scores"], want["log_scores"], f"{other.name} after {turn}")
            holds(other.applied() >= number, f"{other.name} says {other.applied()}")
    assert_same(site)
    client = os.path.join(os.path.dirname(nodes.binary), "bayesc")
    subprocess.run([client, "cluster", "check", *(f"http://127.0.0.1:{node.port}" for node in site.nodes)], check=True,
                   stdout=subprocess.DEVNULL)
    assert_stores(site)


def test_the_same_change_again(nodes):
    """Back and forth between labels: each time it is another change, though its content was there before."""
    site = nodes.site().start()
    path = path_of("shared")
    for turn in range(8):
        label = "spam" if turn % 2 else "ham"
        receipt = trained(site.nodes[turn % 3], path, "one", label).ok().json
        equal(receipt["status"], "relabelled" if turn else "learned", f"turn {turn}")
        equal(trained(site.nodes[turn % 3], path, "one", label).ok().json["status"], "unchanged")
        for node in site.nodes:
            wait_for(lambda node=node: node.applied() >= receipt["number"], f"{node.name} has {receipt['number']}")
            equal(node.client.get(path + "/documents/one").ok().json["label"], label, f"turn {turn}, {node.name}")
    assert_same(site)


def test_a_sweep_meets_what_was_acknowledged_elsewhere(nodes):
    """A node that has not heard of a document yet is asked to delete all of its label."""
    site = nodes.site().start()
    path, behind = path_of("shared"), site.nodes[2]
    trained(site.nodes[0], path, "seen", "gone").ok()
    trained(site.nodes[0], path, "stays", "ham").ok()
    assert_same(site)
    site.network.delay(behind.name, 0.5)
    trained(site.nodes[0], path, "unseen", "gone", "other words").ok()
    behind.client.delete(path + "/labels/gone").ok()
    site.network.heal()
    assert_same(site)
    equal(behind.client.get(path + "/documents/unseen").status, 404, "a document of a label that was deleted later")
    equal(behind.client.get(path).ok().json["documents"], 1)


def test_changes_of_models_in_one_order(nodes):
    """Made, trained, set, renamed and deleted on changing nodes: all agree after each."""
    site = nodes.site().start()
    path = path_of("shared")
    a, b, c = (node.client for node in site.nodes)
    a.put(path, {"smoothing": 0.5}).ok(201)
    b_number = number_of(trained(site.nodes[1], path, "one", "spam").ok())
    wait_for(lambda: site.nodes[2].applied() >= b_number, "the third has it")
    c.call("PATCH", path + "/labels/spam", {"name": "junk"}).ok()
    assert_same(site)
    equal(a.get(path + "/documents/one").ok().json["label"], "junk")
    equal(a.get(path).ok().json["settings"]["smoothing"], 0.5)
    b.post(path + "/untrain", {"id": "one"}).ok()
    assert_same(site)
    equal(c.get(path + "/documents/one").status, 404)
    c.delete(path).ok(204)
    assert_same(site)
    for client in (a, b, c):
        equal(client.get(path).status, 404)


# ---- disturbed ----------------------------------------------------------------------------------
def test_mixed_load_and_disturbances(nodes):
    """Clients on all nodes while any of the six processes dies, stands still, loses its disk or is cut off."""
    disturb_a_mixed_load(nodes, nodes.site(settings={"cluster": {"digest_seconds": 10}}).start())


def disturb_a_mixed_load(nodes, site):
    rng = nodes.random
    account, default = Account(besides=BESIDES, is_one_order=site.streams == 1), default_chain(site.nodes[0].client)
    dump = dumped(site.nodes[0].client, BESIDES[2])
    number = number_of(trained(site.nodes[0], STANDING, "one").ok())
    for node in site.nodes:
        wait_for(lambda node=node: node.has(number), f"{node.name} has the standing model")
    for turn, disturbance in enumerate(disturb.plan(rng, nodes.rounds)):
        begin = time.monotonic()
        try:
            load, what = one_round(site, account, rng, (default, dump), turn, disturbance)
        except AssertionError as error:
            raise AssertionError(f"round {turn}, {disturbance.__name__}: {error}") from error
        print("    round %3d  %-20s %-16s %4d asked %3d in doubt, slowest %4.1f s; all: %4.1f s" % (
            turn, disturbance.__name__, what, sum(c.made for c in load.clients), sum(c.doubts for c in load.clients),
            max(c.slowest for c in load.clients), time.monotonic() - begin), flush=True)
    for node in site.nodes:
        account.check(node.client)
    assert_stores(site)


def one_round(site, account, rng, known, turn, disturbance):
    load, asker = Load(site, account, rng, known[0], first=100 * turn, dump=known[1]), Asker(site, STANDING)
    # An emptied node has no model until it has caught up; a test of its own says when it is ready.
    if disturbance is not disturb.empty_a_node:
        asker.start()
    load.start()
    try:
        time.sleep(rng.random() / 2)
        met = disturbance(site, rng, load)
    finally:
        site.heal()
        load.join()
        if asker.is_alive():
            asker.stop()
    equal(asker.faults, [], "verdicts while that was so")
    for name in site.stream_names:
        site.wait_whole(name)
    assert_same_or_mended(site)
    wait_for(lambda: nobody_differs(site), lambda: f"nodes compare digests: {[members_of(node) for node in site.nodes]}", 20, 0.2)
    account.settle(rng.choice(site.nodes).client)
    load.check_networks(rng.choice(site.nodes).client)
    if turn % 5 == 4:
        account.check(rng.choice(site.nodes).client, rng)
        assert_verdicts(site, sorted(map(path_of, account.models)))
    return load, getattr(met, "name", met) or ""


def test_without_nats(nodes):
    """Verdicts go on; a change is answered with 503 and Retry-After, in time; then it works again by itself."""
    site = nodes.site().start()
    path = path_of("shared")
    trained(site.nodes[0], path, "one", "ham").ok()
    assert_same(site)
    for server in site.servers:
        server.kill()
    for node in site.nodes:
        begin = time.monotonic()
        reply = trained(node, path, "two", "spam")
        equal(reply.status, 503, reply.body)
        holds(reply.headers.get("retry-after", "").isdigit(), f"headers {reply.headers}")
        holds(time.monotonic() - begin < patience(15), "a refusal in time")
        equal(node.client.post(path + "/classify", {"text": "some words"}).ok().json["label"], "ham")
    site.start_servers()
    assert_same(site)
    holds(taken(site.nodes[1], path, "three", "spam").json["status"] in ("learned", "unchanged"), "it is learned")
    assert_same(site)


def test_a_node_without_its_disk(nodes):
    """It takes all from the others, and says that it is not ready until then."""
    site = nodes.site().start()
    path = path_of("shared")
    for turn in range(40):
        trained(site.nodes[turn % 3], path, f"d{turn}", "spam" if turn % 3 else "ham", f"w{turn} w1 w2").ok()
    number = assert_same(site)
    node = site.nodes[0]
    node.kill()
    node.empty()
    node.start()
    equal(node.client.post(f"{path}/classify?after={number}", {"text": "w1 w2"}).ok().status, 200)
    holds(node.applied() >= number, f"{node.applied()} of {number}")
    assert_same(site)


# ---- what comes twice, or late ------------------------------------------------------------------
def again(connection, message, with_id):
    """Publishes a message of the stream once more."""
    subject, headers, data = message
    if not with_id:
        headers = {name: value for name, value in headers.items() if name != "Nats-Msg-Id"}
    return connection.publish(subject, data, headers=headers)


def messages_of(site, first):
    with site.connect() as connection:
        last = connection.last(STREAM)
        found = []
        for number in range(first, last + 1):
            try:
                found.append(connection.message(STREAM, number))
            except Refused:  # not there any more
                pass
        return found


def test_operations_that_are_published_again(nodes):
    """With their message id nats-server knows them; without it they come a second time, and change nothing."""
    rng, site = nodes.random, nodes.site().start()
    account, default = Account(besides=BESIDES), default_chain(site.nodes[0].client)
    for turn in range(3):
        Load(site, account, rng, default, clients=3, requests=25, first=100 * turn).start().join()
        assert_same(site)
        account.settle(site.nodes[0].client)
        found = messages_of(site, 1)
        with site.connect() as connection:
            for message in rng.sample(found, min(len(found), 40)):
                again(connection, message, with_id=True)
            for message in rng.sample(found, min(len(found), 40)):
                again(connection, message, with_id=False)
        assert_same(site)
        account.settle(site.nodes[0].client)
    account.check(site.nodes[1].client)


def test_deliveries_that_come_twice_and_in_another_order(nodes):
    """What consumers of the nodes are sent comes twice, late, or after the next, by the links."""
    rng, site = nodes.random, nodes.site().start()
    account, default = Account(besides=BESIDES), default_chain(site.nodes[0].client)
    site.network.shuffle([node.name for node in site.nodes], rng)
    for turn in range(3):
        Load(site, account, rng, default, clients=4, requests=40, first=100 * turn).start().join()
        assert_same(site)
        account.settle(site.nodes[turn].client)
    account.check(site.nodes[1].client)


def test_bytes_that_are_no_operation(nodes):
    """Who may publish may send anything. All nodes agree on what it is not, and go on."""
    rng, site = nodes.random, nodes.site().start()
    trained(site.nodes[0], path_of("shared"), "one").ok()
    before = assert_same(site)
    found = messages_of(site, 1)
    with site.connect() as connection:
        for _ in range(60):
            subject, headers, data = rng.choice(found)
            data = bytearray(data)
            kind = rng.randrange(4)
            if kind == 0:
                data = data[:rng.randrange(len(data) + 1)]
            elif kind == 1:
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            elif kind == 2:
                data = rng.randbytes(rng.randrange(200))
            else:
                data += rng.randbytes(rng.randrange(1, 50))
            headers.pop("Nats-Msg-Id", None)
            connection.publish(subject, bytes(data), headers=headers)
    holds(assert_same(site) > before, "they went on")


# ---- the stream itself is not what it was -------------------------------------------------------
def test_a_stream_that_has_lost_its_end(nodes):
    """All nats-servers come back with an older state of their disks: what was acknowledged is published again, or a node
    says that it cannot go on. Never is one silently different."""
    site = nodes.site().start()
    path = path_of("shared")
    trained(site.nodes[0], path, "early").ok()
    assert_same(site)
    for server in site.servers:
        server.stop()
        subprocess.run(["cp", "-a", server.data, server.data + ".old"], check=True)
    site.start_servers()
    number = barrier(site)
    late = number_of(taken(site.nodes[1], path, "late", "spam", "other words"))
    holds(late > number, late)
    for node in site.nodes:
        wait_for(lambda node=node: node.applied() >= late, f"{node.name} has it")
    for server in site.servers:
        server.kill()
        server.empty()
        os.rename(server.data + ".old", server.data)
    site.start_servers()
    wait_for(lambda: all(says_what_it_is(node, path) for node in site.nodes), f"{[node.ready() for node in site.nodes]}", 60, 0.2)
    for node in site.nodes:
        equal(node.client.get(path + "/documents/late").status, 200, f"{node.name}: an acknowledged document is gone")
    if all(node.ready()[0] == 200 for node in site.nodes):
        assert_same(site)


def test_a_stream_that_has_lost_its_end_and_goes_on(nodes):
    """As above, while a node is not there that has applied more; the others have put other changes in the place of what was
    lost. When it comes back, the stream is longer than what it has applied, but not the same."""
    site = nodes.site().start()
    path, absent = path_of("shared"), site.nodes[0]
    trained(site.nodes[0], path, "early").ok()
    assert_same(site)
    for server in site.servers:
        server.stop()
        subprocess.run(["cp", "-a", server.data, server.data + ".old"], check=True)
    site.start_servers()
    barrier(site)
    for turn in range(5):
        late = number_of(taken(absent, path, f"late {turn}", "spam", "other words"))
    absent.kill()
    for node in site.nodes[1:]:
        node.kill()
        node.empty()
    for server in site.servers:
        server.kill()
        server.empty()
        os.rename(server.data + ".old", server.data)
    site.start_servers()
    for node in site.nodes[1:]:
        node.start()
    for turn in range(30):
        def is_taken(turn=turn):
            return trained(site.nodes[1 + turn % 2], path, f"instead {turn}", "ham", "words instead").status == 200
        wait_for(is_taken, "the others take changes", 60, 0.1)
    absent.start()
    wait_for(lambda: not absent.ready()[1].get("cluster", {}).get("behind", 1) or absent.ready()[0] == 503, "it looks", 30, 0.1)
    time.sleep(2)
    holds(site.nodes[1].applied() > late, "the stream is longer now")
    if absent.ready()[0] == 200:
        assert_same(site)
    else:
        holds("stream" in json.dumps(absent.ready()[1]), absent.ready())
        equal(absent.client.get(path + "/documents/late%204").status, 200, "an acknowledged document is gone")


class Behind(Frames):
    """The stream says that it has one change less than it has, `left[0]` times."""
    LAST = re.compile(rb'"last_seq":(\d+)')

    def __init__(self, left):
        super().__init__()
        self.left = left

    def changed(self, frame):
        if b"stream_info_response" not in frame or b'"name":"%s"' % STREAM.encode() not in frame or self.left[0] <= 0:
            return frame
        self.left[0] -= 1
        return self.LAST.sub(lambda found: b'"last_seq":%d' % (int(found[1]) - 1), frame)

    def of(self, data):
        out, self.rest = [], self.rest + data
        while found := self.frame():
            out.append(found[0] if found[1] else self.changed(found[0]))
        return b"".join(out)


def test_a_leader_that_is_a_moment_behind(nodes):
    """It has told others what it has not stored itself yet: a node that has that already refuses nothing. It does when the
    stream does not get what the node has, also when it starts; and goes on when the stream has it."""
    site = nodes.site().start()
    path, node = path_of("shared"), site.nodes[0]
    for turn in range(12):  # numbers of two digits, now and one less
        trained(node, path, f"d{turn}").ok()
    assert_same(site)
    left = [4]
    site.network.give(node.name, lambda: Behind(left))
    def is_over():
        status, said = node.ready()
        holds("lost some" not in json.dumps(said), said)
        return left[0] == 0 and status == 200
    wait_for(is_over, "it asks for the stream", 30, 0.01)
    assert_same(site)
    left[0] = 10 ** 6
    wait_for(lambda: "lost some" in json.dumps(node.ready()[1]), lambda: f"it finds out: {node.ready()}", 30, 0.1)
    equal(trained(node, path, "refused").status, 503)
    node.kill()
    node.start()
    wait_for(lambda: "lost some" in json.dumps(node.ready()[1]), lambda: f"it finds out again: {node.ready()}", 30, 0.1)
    site.network.give(node.name, None)
    node.wait_joined()
    assert_same(site)


def says_what_it_is(node, path):
    """It is not ready and says why, or it takes changes again."""
    status, body = node.ready()
    if status == 503:
        return "stream" in json.dumps(body)
    return trained(node, path, "after " + node.name).status == 200


# ---- the copy of one server is not that of the others -----------------------------------------------
def has_stopped(node):
    """It says that it does not follow any more, and why."""
    status, said = node.ready()
    return status == 503 and "stream" in json.dumps(said)


def assert_same_or_mended(site):
    """As assert_same, after a server that led was cut off or stood still."""
    try:
        return assert_same(site)
    except AssertionError as error:
        # Which of them was given something else is found out within seconds.
        wait_for(lambda: any(has_stopped(node) for node in site.nodes), f"a node has stopped, since: {error}", 10, 0.1)
    mend(site)
    return assert_same(site)


def mend(site):
    """A server that was cut off or stood still while it led may have come back with a copy of the stream of its own
    (config/cluster/README.md), and nodes have found that out. What an administrator does then is done."""
    print(f"    {', '.join(node.name for node in stopped_of(site))} found out that a server has another copy", flush=True)
    mend_stream(site)
    for node in stopped_of(site):
        node.kill()
        node.start()
    time.sleep(5)  # one that was given something else says so again
    wait_for(lambda: all_follow(site), "all nodes follow the stream, with empty stores where they had another one", 120, 1)


def is_mended(site):
    """Whether --mend-stream has succeeded: a server may not answer in time, and it says so."""
    try:
        mend_stream(site)
    except AssertionError:
        return False
    return True


def mend_stream(site):
    node = site.nodes[0]
    done = subprocess.run([node.daemon.command[0], "--config", os.path.join(node.daemon.folder, "bayesd.conf"), "--mend-stream"], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(60), check=False)
    equal(done.returncode, 0, f"--mend-stream: {done.stdout}{done.stderr}")


def stopped_of(site):
    return [node for node in site.nodes if has_stopped(node)]


def all_follow(site):
    for node in stopped_of(site):
        node.kill()
        node.empty()
        node.start()
        node.wait_joined()
    return agreeing(site) == site.nodes


def same_or_stopped(site):
    """Nodes that follow, when they have the same at one number, and the others say that they do not: now and in a while."""
    following = agreeing(site)
    if following is not None:
        time.sleep(2)
    return following if following is not None and agreeing(site) == following else None


def agreeing(site):
    following = [node for node in site.nodes if not has_stopped(node)]
    if not all(node.ready()[0] == 200 for node in following):
        return None
    found = [node.digest() for node in following]
    return following if len({(one["number"], one["digest"]) for one in found}) == 1 else None


def copies_of(site):
    """The stream as each server has it, by its name: the one that leads answers, and each leads once."""
    found, last, faults = {}, site.stream(STREAM)["state"]["last_seq"], []
    def led():
        try:
            with site.connect() as connection:
                leader = site.leader(STREAM)
                copy = repr([connection.message(STREAM, number) for number in range(1, last + 1)])
                if site.leader(STREAM) is leader:
                    found[leader.name] = copy
                connection.api("STREAM.LEADER.STEPDOWN." + STREAM)
        except (AssertionError, AttributeError, OSError, Refused) as error:
            faults.append(repr(error))  # nobody leads just now
        return len(found) == 3
    try:
        wait_for(led, "each server has led", 60, 1)
    except AssertionError as error:
        raise AssertionError(f"{error}: {list(found)} of {last} messages, then {faults[-3:]}") from error
    return found


def test_a_server_that_keeps_what_the_others_do_not_have(nodes):
    """The server that leads is cut off while changes are on their way to it. When it comes back, its copy of the stream
    may have what is in no other. In the end nodes have the same, or say that they have stopped; none is silently different.
    --mend-stream makes the copies equal, and then all nodes are."""
    site = nodes.site().start()
    path = path_of("shared")
    trained(site.nodes[0], path, "early").ok()
    before = assert_same(site)
    alone = site.leader(STREAM)
    other = next(server for server in site.servers if server is not alone)
    _, headers, data = messages_of(site, before)[0]
    site.network.cut(alone.name)
    with alone.connect() as connection:
        for turn in range(3):
            changed = {**headers, "Nats-Msg-Id": f"under way {turn}"}
            connection.send("bayesd.changes", data.replace(b"node", b"lost"), headers=changed)
    wait_for(lambda: (site.stream(STREAM, other) or {}).get("cluster", {}).get("leader") not in (None, alone.name),
             "one of the others leads", 60, 0.1)
    for turn in range(20):
        wait_for(lambda turn=turn: any(trained(node, path, f"d{turn}", "spam", f"w{turn} words").status == 200
                                       for node in site.nodes), "a change is taken", 60, 0.1)
    site.network.heal()
    site.wait_formed()
    for turn in range(10):
        for node in site.nodes:
            holds(trained(node, path, f"e{turn}", "ham", f"w{turn}").status in (200, 503), "taken or refused")
    following = wait_for(lambda: same_or_stopped(site), f"they agree: {[node.ready() for node in site.nodes]}", 60, 0.2)
    holds(following, "one follows")
    wanted = all_seen(following[0].client)
    for node in following[1:]:
        equal(all_seen(node.client), wanted, f"{node.name} beside {following[0].name}")
    if len(following) < 3:
        print(f"    {3 - len(following)} of 3 nodes found out that they were given something else", flush=True)
    mend_stream(site)
    wait_for(lambda: all_follow(site), f"all nodes follow: {[node.ready() for node in site.nodes]}", 120, 1)
    assert_same(site)
    for node in site.nodes:
        node.stop()  # what comes while another server is to lead could part the copies again
    equal(len(set(copies_of(site).values())), 1, "different copies")


def test_a_node_that_is_given_another_message(nodes):
    """It finds out though nothing comes after it, says so, learns no more, and still says so when it starts again; the
    others go on. With an empty store it follows again."""
    site = nodes.site().start()
    path, misled = path_of("shared"), site.nodes[2]
    trained(site.nodes[0], path, "early").ok()
    assert_same(site)
    site.network.replace(misled.name, b"victim", b"viktim")
    misled.wait_joined()
    number = number_of(trained(site.nodes[0], path, "victim", "spam", "other words").ok())
    wait_for(lambda: has_stopped(misled), f"it finds out: {misled.ready()}", 60, 0.1)
    holds(f" {number} " in json.dumps(misled.ready()[1]), misled.ready())
    holds(b"\nbayesd_cluster_connected 0\n" in misled.client.get("/metrics").ok().body, "its metric")
    equal(trained(misled, path, "refused").status, 503)
    equal(misled.client.post(path + "/classify", {"text": "some words"}).status, 200)
    for node in site.nodes[:2]:
        trained(node, path, "by " + node.name).ok()
    following = wait_for(lambda: same_or_stopped(site), f"the others agree: {[node.ready() for node in site.nodes]}", 60, 0.2)
    equal([node.name for node in following], [node.name for node in site.nodes[:2]])
    misled.kill()
    misled.start()
    wait_for(lambda: has_stopped(misled), f"it finds out again: {misled.ready()}", 60, 0.1)
    misled.kill()
    misled.empty()
    site.network.give(misled.name, None)
    misled.start()
    misled.wait_joined()
    assert_same(site)
    equal(misled.client.get(path + "/documents/victim").status, 200)


def test_a_server_that_is_behind_is_no_loss(nodes):
    """A server that was cut off takes itself for the leader for a while, and knows less than a node has applied: the
    stream has lost nothing. The node gives verdicts, and goes on when the others can be reached."""
    site = nodes.site().start()
    path, node = path_of("shared"), site.nodes[0]
    trained(node, path, "early").ok()
    assert_same(site)
    stale = site.leader(STREAM)
    others = [server for server in site.servers if server is not stale]
    for server in others:
        site.network.cut_link(stale.name, server.name)
    for other in site.nodes:
        site.network.cut_link(stale.name, other.name)
        site.network.break_connections(other.name)
    reply = wait_for(lambda: (lambda got: got.status == 200 and got)(trained(node, path, "late", "spam", "other words")),
                     "the other two take changes", 40, 0.2)
    node.kill()
    site.network.heal()
    for server in others:
        site.network.cut_link(stale.name, server.name)
        site.network.cut_link(node.name, server.name)
    node.start()
    equal(node.client.post(path + "/classify", {"text": "other words"}).ok().json["label"], "spam")
    time.sleep(3)
    equal(node.client.get(path + "/documents/late").status, 200)
    site.network.heal()
    assert_same_or_mended(site)
    holds(node.applied() >= number_of(reply), node.ready())


def test_metrics_of_a_node(nodes):
    """Those that the dashboard and the alerts name, with the values of /readyz. What it says of members comes with their words."""
    site = nodes.site(settings={"cluster": {"queue": "yes"}}).start()
    number = assert_same(site)
    with open(os.path.join(TOP, "config", "monitoring", "dashboard.json"), encoding="utf-8") as board:
        named = set(re.findall(r"bayesd_cluster_\w+", board.read()))
    with open(os.path.join(TOP, "config", "monitoring", "alerts.yml"), encoding="utf-8") as alerts:
        named |= set(re.findall(r"bayesd_cluster_\w+", alerts.read()))
    def shown():
        text = site.nodes[0].client.get("/metrics").ok().body.decode()
        found = dict(re.findall(r"(?m)^(bayesd_cluster_\w+)(?:\{[^}]*\})? ([\d.e+]+)$", text))
        has_all = "bayesd_cluster_member_agrees" in found and float(found["bayesd_cluster_connected"]) == 1
        return found if has_all else None
    metrics = wait_for(shown, "it follows, and has heard of the others", 30, 0.1)
    equal(sorted(named - set(metrics)), [], f"of {sorted(metrics)}")
    holds(float(metrics["bayesd_cluster_applied"]) >= number, metrics)
    site.network.cut(site.nodes[0].name)
    wait_for(lambda: b"\nbayesd_cluster_connected 0\n" in site.nodes[0].client.get("/metrics").ok().body, "it is cut off", 60, 0.2)
    equal(site.nodes[0].ready()[1]["cluster"]["connected"], False)


def test_another_key_does_not_join(nodes):
    site = nodes.site().start()
    trained(site.nodes[0], path_of("shared"), "one").ok()
    assert_same(site)
    stranger = site.nodes[2]
    stranger.kill()
    with open(stranger.key, "w", encoding="ascii") as file:
        file.write("ab" * 32 + "\n")
    stranger.daemon.spawn()
    wait_for(lambda: "key" in stranger.daemon.output(), "it refuses to join, and says why", 10, 0.05)
    equal(site.nodes[0].client.get(path_of("shared") + "/documents/one").status, 200)



# ---- as the samples have it -----------------------------------------------------------------------
def test_nodes_of_the_samples(nodes):
    """Over TLS, with the password, and with no more rights than config/cluster/nats-server.conf gives."""
    sample = Sample(nodes, "nats-server.conf")
    try:
        for number in range(3):
            sample.start(number)
        servers = ",".join(f"tls://bayesd:{PASSWORD}@localhost:{port}" for port in sample.clients)
        settings = {"cluster": {"servers": servers, "tls_ca": sample.path("ca.pem"), "keep_seconds": 1}}
        site = nodes.site(nodes=2, servers=0, settings=settings)
        for node in site.nodes:
            node.set_peers([other for other in site.nodes if other is not node])
        site.start()
        number = number_of(trained(site.nodes[0], path_of("shared"), "one").ok())
        wait_for(lambda: site.nodes[1].applied() >= number, "the other has it")
        equal(site.nodes[1].client.get(path_of("shared") + "/documents/one").status, 200)
        def first():
            with sample.connect(0, **{"user": "bayesd", "pass": PASSWORD}) as connection:
                return connection.api("STREAM.INFO." + STREAM)["state"]["first_seq"]
        wait_for(lambda: first() >= number, "the stream is cut", 60, 0.2)
        wait_for(lambda: is_mended(site), "the copies are made equal", 60, 0.5)
    finally:
        sample.stop()
