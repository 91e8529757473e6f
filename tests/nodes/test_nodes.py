# SPDX-License-Identifier: Apache-2.0
"""Three bayesds over a PostgreSQL: what one node acknowledged is on every node exactly once, whatever happens."""
import json
import os
import re
import subprocess
import time

import disturb
from account import Account, default_chain, patiently, seen_of
from acknowledged import models_of, path_of, settled
from clients import Asker, Load, dumped, number_of
from harness import clean_environment, equal, holds, near, patience, refused, wait_for

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


# What a node says that was given something else than the stream has (server/nodes/stream.c).
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
    return node.client.get("/v1/nodes").ok().json["members"]


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


def assert_verdicts(site, paths, untaught=()):
    """Fitted weights may differ in the last digits, integers may not. `untaught`: those of `paths` that have no document with
    a label, of which each node must say so."""
    for path in paths:
        found = wait_for(lambda path=path: fitted_verdicts(site, path), f"nobody changes {path}", 60, 0.1)
        if path in untaught:
            for node, reply in zip(site.nodes, found):
                equal(reply.status, 409, f"{node.name}, {path}: {reply.body[:300]}")
                refused(reply, 409, "has not learned a document yet")
            continue
        fits = [node.client.get(path + "/em").json for node in site.nodes]
        for node, reply in zip(site.nodes, found):
            equal(reply.status, 200, f"{node.name}, {path}: {reply.body[:300]}")
            equal(sorted(reply.json["log_scores"]), sorted(found[0].json["log_scores"]), f"{node.name}, {path}: labels")
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
    alone = nodes.site(nodes=1, shared=False).start().nodes[0]
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
    urls = [f"http://127.0.0.1:{node.port}" for node in site.nodes]
    subprocess.run([client, "nodes", "check", *urls], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([client, "nodes", "check", "--json", *urls, "http://127.0.0.1:1"], check=False, capture_output=True)
    rows = json.loads(done.stdout)
    equal([row["url"] for row in rows], [*urls, "http://127.0.0.1:1"], "also the one that is not there")
    equal([len(row) > 1 for row in rows], [True] * len(urls) + [False], rows)
    holds(done.returncode != 0 and b"127.0.0.1:1:" in done.stderr, done.stderr)
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


def test_verdicts_of_a_model_without_labels(nodes):
    """All nodes say that it has learned nothing: when it has been made, when its documents have no label, when its last is gone."""
    site = nodes.site().start()
    path, (a, b, c) = path_of("shared"), site.nodes
    a.client.put(path, {}).ok(201)
    assert_same(site)
    assert_verdicts(site, [path], {path})
    trained(b, path, "one", None).ok()
    assert_same(site)
    assert_verdicts(site, [path], {path})
    trained(c, path, "two", "ham").ok()
    assert_same(site)
    assert_verdicts(site, [path])
    a.client.post(path + "/untrain", {"id": "two"}).ok()
    assert_same(site)
    assert_verdicts(site, [path], {path})


# ---- disturbed ----------------------------------------------------------------------------------
def test_mixed_load_and_disturbances(nodes):
    """Clients on all nodes while any of the processes dies, stands still, loses its disk or is cut off."""
    disturb_a_mixed_load(nodes, nodes.site(settings={"nodes": {"digest_seconds": 10}}).start())


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
    rejoin(site, account)
    assert_same(site)
    wait_for(lambda: nobody_differs(site), lambda: f"nodes compare digests: {[members_of(node) for node in site.nodes]}", 20, 0.2)
    account.settle(rng.choice(site.nodes).client)
    load.check_networks(rng.choice(site.nodes).client)
    if turn % 5 == 4:
        account.check(rng.choice(site.nodes).client, rng)
        assert_verdicts(site, sorted(map(path_of, account.models)), set(map(path_of, account.untaught())))
    return load, getattr(met, "name", met) or ""


def test_without_the_database(nodes):
    """Verdicts go on; a change is answered with 503 and Retry-After, in time; then it works again by itself."""
    site = nodes.site().start()
    path = path_of("shared")
    trained(site.nodes[0], path, "one", "ham").ok()
    assert_same(site)
    site.primary.kill()
    for node in site.nodes:
        begin = time.monotonic()
        reply = node.client.post(path + "/train", {"id": "two", "label": "spam", "text": "some words"})
        equal(reply.status, 503, reply.body)
        holds(reply.headers.get("retry-after", "").isdigit(), f"headers {reply.headers}")
        holds(time.monotonic() - begin < patience(15), "a refusal in time")
        equal(node.client.post(path + "/classify", {"text": "some words"}).ok().json["label"], "ham")
        node.kill()
        node.start()
        equal(node.client.post(path + "/classify", {"text": "some words"}).ok().json["label"], "ham", "after a start")
        equal(node.ready()[0], 200, "it had caught up before")
    site.primary.start()
    assert_same(site)
    holds(taken(site.nodes[1], path, "three", "spam").json["status"] in ("learned", "unchanged"), "it is learned")
    assert_same(site)


def test_a_node_that_has_not_caught_up(nodes):
    """An empty one says so, and changes nothing: no 404 for what others have."""
    site = nodes.site().start()
    path, node = path_of("shared"), site.nodes[0]
    trained(node, path, "one", "ham").ok()
    assert_same(site)
    node.kill()
    node.empty()
    site.network.cut(node.name)
    node.start()
    equal(node.ready()[0], 503)
    for reply in (node.client.post(path + "/untrain", {"id": "one"}), node.client.post(path + "/classify", {"text": "words"}),
                  node.client.post(path + "/train", {"id": "two", "label": "a", "text": "a"}), node.client.get(path)):
        equal(reply.status, 503, reply.body)
    mail = b"Subject: one\r\n\r\nsome words\r\n"
    equal(node.client.post("/checkv2", mail, "message/rfc822").json["action"], "soft reject")
    site.network.heal()
    node.wait_joined()
    equal(node.client.get(path + "/documents/one").status, 200)


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
    node.wait_joined()
    equal(node.client.post(f"{path}/classify?after={number}", {"text": "w1 w2"}).ok().status, 200)
    holds(node.applied() >= number, f"{node.applied()} of {number}")
    assert_same(site)


# ---- the database is not what it was --------------------------------------------------------------
def stopped_of(site):
    """Nodes that say that the stream has something else than they have."""
    return [node for node in site.nodes if "another change" in json.dumps(node.ready()[1])]


def all_know(site):
    return all(node.has_joined() for node in site.nodes if node not in stopped_of(site))


def rejoin(site, account=None):
    """What an administrator does with nodes that have stopped: their own changes are made anew, at other places."""
    wait_for(lambda: all_know(site), lambda: f"all nodes follow, or say why not: {[node.ready() for node in site.nodes]}", 60, 0.1)
    for node in stopped_of(site):
        peer = next(one for one in site.nodes if one not in stopped_of(site))
        print(f"    {node.name} takes the store of {peer.name}: {node.ready()[1]['detail'][:60]}", flush=True)
        node.kill()
        code, said = joining(node, peer)
        equal(code, 0, said)
        node.start()
        if account is not None:
            account.is_reordered = True


def joining(node, peer):
    command = [*node.daemon.command, "--join", f"http://127.0.0.1:{peer.port}"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), timeout=patience(120), check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_database_that_has_lost_its_end(nodes):
    """A fail-over to a standby that was behind: the nodes put back what they have, with the same numbers."""
    site = nodes.site().start()
    path = path_of("shared")
    trained(site.nodes[0], path, "early").ok()
    numbers = []
    def changes():
        for turn in range(30):
            numbers.append(number_of(trained(site.nodes[turn % 3], path, f"late {turn}", "spam", f"w{turn}").ok()))
        for node in site.nodes:
            wait_for(lambda node=node: node.has(numbers[-1]), f"{node.name} has it")
    site.fail_over(changes)
    holds(assert_same(site) > numbers[-1], "new ones come behind")
    for node in site.nodes:
        equal(node.client.get(path).ok().json["documents"], 31, node.name)
    equal(int(site.primary.sql("SELECT count(*) - max(position) FROM bayesd.change")), 0, "positions without gaps")
    holds(sum(node.ready()[1]["nodes"].get("put_back", 0) for node in site.nodes) >= 30, "it is counted")


def test_a_database_that_has_lost_its_end_and_goes_on(nodes):
    """A node that was away has more, and others have put something else there. It stops, and says so; --join makes what it
    alone has anew."""
    site = nodes.site().start()
    path, ahead = path_of("shared"), site.nodes[0]
    trained(ahead, path, "early").ok()
    assert_same(site)
    def changes():
        for node in site.nodes[1:]:
            node.freeze()
        for turn in range(5):
            trained(ahead, path, f"late {turn}", "spam", "other words").ok()
        ahead.kill()
        for node in site.nodes[1:]:
            node.kill()
            node.start()
    for node in site.nodes[1:]:
        site.network.cut(node.name)
    site.fail_over(changes)
    site.network.heal()
    for turn in range(8):
        taken(site.nodes[1 + turn % 2], path, f"instead {turn}", "ham", "words instead")
    ahead.start()
    wait_for(lambda: stopped_of(site) == [ahead], lambda: f"it has found out: {ahead.ready()}", 30, 0.1)
    equal(ahead.ready()[0], 503)
    equal(ahead.client.post(path + "/train", {"id": "no", "label": "a", "text": "a"}).status, 503)
    equal(ahead.client.post(path + "/classify", {"text": "other words"}).status, 200)
    rejoin(site)
    assert_same(site)
    for node in site.nodes:
        equal(node.client.get(path).ok().json["documents"], 14, f"{node.name}: early, 5 late and 8 instead")


def test_tables_that_are_made_anew(nodes):
    """Nobody takes them for those that were there."""
    site = nodes.site(nodes=1).start()
    node, path = site.nodes[0], path_of("shared")
    trained(node, path, "one").ok()
    site.primary.sql("DROP SCHEMA bayesd CASCADE")
    wait_for(lambda: not node.ready()[1].get("nodes", {}).get("connected"), "it sees that", 30, 0.1)
    site.init_tables()
    wait_for(lambda: "made anew" in json.dumps(node.ready()[1]), lambda: f"it says so: {node.ready()}", 30, 0.1)
    equal(node.client.post(path + "/classify", {"text": "some words"}).status, 200)


def test_metrics_of_a_node(nodes):
    """Those that the dashboard and the alerts name, with the values of /readyz. What it says of members comes with their words."""
    site = nodes.site(settings={"nodes": {"queue": "yes"}}).start()
    number = assert_same(site)
    with open(os.path.join(TOP, "config", "monitoring", "dashboard.json"), encoding="utf-8") as board:
        named = set(re.findall(r"bayesd_nodes_\w+", board.read()))
    with open(os.path.join(TOP, "config", "monitoring", "alerts.yml"), encoding="utf-8") as alerts:
        named |= set(re.findall(r"bayesd_nodes_\w+", alerts.read()))
    def shown():
        text = site.nodes[0].client.get("/metrics").ok().body.decode()
        found = dict(re.findall(r"(?m)^(bayesd_nodes_\w+)(?:\{[^}]*\})? ([\d.e+]+)$", text))
        has_all = "bayesd_nodes_member_silent_seconds" in found and float(found["bayesd_nodes_connected"]) == 1
        return found if has_all else None
    metrics = wait_for(shown, "it follows, and has heard of the others", 30, 0.1)
    equal(sorted(named - set(metrics) - {"bayesd_nodes_member_same"}), [], f"of {sorted(metrics)}")
    holds(float(metrics["bayesd_nodes_applied"]) >= number, metrics)
    site.network.cut(site.nodes[0].name)
    wait_for(lambda: b"\nbayesd_nodes_connected 0\n" in site.nodes[0].client.get("/metrics").ok().body, "it is cut off", 60, 0.2)
    equal(site.nodes[0].ready()[1]["nodes"]["connected"], False)


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


def test_a_role_that_may_do_no_more(nodes):
    """What --nodes-init prints is enough for a node."""
    site = nodes.site(nodes=1, databases=1)
    site.start_databases()
    site.primary.sql("CREATE ROLE plain LOGIN")
    site.primary.sql(site.init_tables().replace("TO bayesd", "TO plain"))
    site.conninfo = site.conninfo.replace("bayesd@", "plain@")
    node = site.nodes[0]
    node.more = {"peers": "http://127.0.0.1:1", "keep_seconds": 1}
    node.configure()
    node.start()
    node.wait_joined()
    trained(node, path_of("shared"), "one").ok()
    equal(site.primary.sql("SET ROLE plain", "SELECT has_table_privilege('bayesd.change', 'TRUNCATE')").splitlines()[-1], "f")
