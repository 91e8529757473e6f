# SPDX-License-Identifier: Apache-2.0
"""`queue = yes`: what is trained while the stream is away is kept, and made later, once and in its order."""
import os
import re
import subprocess
import time

from acknowledged import path_of
from clients import number_of
from harness import clean_environment, equal, holds, patience, refused, wait_for
from test_hostile import publish_version
from test_nodes import assert_same, trained

QUEUED = {"cluster": {"queue": "yes"}}
NUMBER = 12  # documents of each node


def away(site):
    """All servers are gone, and the nodes know."""
    for server in site.servers:
        server.kill()
    for node in site.nodes:
        wait_for(lambda node=node: not node.ready()[1]["cluster"]["connected"], f"{node.name} is alone", 30, 0.05)


def wait_published(site):
    for node in site.nodes:
        wait_for(lambda node=node: node.has_joined() and waits(node) == 0, f"{node.name} has published: {node.ready()}", 60, 0.05)


def waits(node):
    return node.ready()[1]["cluster"]["queued"]


def queued(reply):
    equal((reply.status, reply.json["status"]), (202, "queued"), reply.body)
    holds("number" not in reply.json and "new_tokens" not in reply.json, reply.body)
    return reply


def taught(node, path, first=0):
    """Documents that get two labels and another content, one that is forgotten, and one of all nodes: how many changes."""
    for i in range(first, first + NUMBER):
        for label, text in (("spam", "a prize"), ("ham", "a prize"), ("ham", f"lunch {i}")):
            queued(trained(node, path, f"{node.name}-{i}", label, f"{text} of {node.name}"))
    queued(trained(node, path, f"{node.name}-gone", "spam", "gone"))
    queued(node.client.post(path + "/untrain", {"id": f"{node.name}-gone"}))
    queued(trained(node, path, "of-all", "ham", f"from {node.name}"))
    return 3 * NUMBER + 3


def holds_all(site, path, taught_by, count):
    for node in site.nodes:
        found = node.client.get(path).ok().json["labels"]
        equal({label: row["documents"] for label, row in found.items() if row["documents"]}, {"ham": count}, node.name)
        for name in taught_by:
            equal(node.client.get(f"{path}/documents/{name}-0").ok().json["label"], "ham")
            equal(node.client.get(f"{path}/documents/{name}-gone").status, 404)


def test_queued_changes_are_made_once(nodes):
    site = nodes.site(settings=QUEUED).start()
    path = path_of("shared")
    one, other, idle = site.nodes
    trained(one, path, "before").ok()
    away(site)
    count = {node: taught(node, path) for node in (one, other)}
    for node in (one, other):
        equal(waits(node), count[node])
        node.kill()
        node.start()
        equal(waits(node), count[node], f"{node.name} after kill -9")
        count[node] += taught(node, path, NUMBER)
        equal(waits(node), count[node])
    metrics = dict(re.findall(r"(?m)^(bayesd_cluster_queue\w+) (\d+)$", one.client.get("/metrics").ok().body.decode()))
    equal((metrics["bayesd_cluster_queued"], metrics["bayesd_cluster_queue_refused_total"]), (str(count[one]), "0"))
    refused(one.client.put(path_of("another"), {}), 503, "again")
    equal(idle.client.get(path).ok().json["labels"]["ham"]["documents"], 1)
    site.start_servers()
    wait_published(site)
    number = assert_same(site)
    holds_all(site, path, (one.name, other.name), 4 * NUMBER + 2)
    holds(number >= 1 + sum(count.values()), (number, count))
    number_of(trained(one, path, "after").ok(200))


def test_nodes_die_while_they_publish(nodes):
    site = nodes.site(settings=QUEUED).start()
    path = path_of("shared")
    one, other, _ = site.nodes
    trained(one, path, "before").ok()
    away(site)
    for node in (one, other):
        for round_ in range(4):
            taught(node, path, NUMBER * round_)
    site.start_servers()
    for _ in range(3):
        for node in (one, other):
            before = waits(node)
            wait_for(lambda node=node, before=before: waits(node) < before or not waits(node), f"{node.name} publishes", 60, 0.005)
            node.kill()
            node.start()
    wait_published(site)
    assert_same(site)
    holds_all(site, path, (one.name, other.name), 8 * NUMBER + 2)


def test_what_is_refused_later_is_counted(nodes):
    site = nodes.site(settings=QUEUED).start()
    path = path_of("doomed")
    one, other, _ = site.nodes
    number = number_of(trained(one, path, "before").ok())
    for node in site.nodes:
        wait_for(lambda node=node: node.applied() >= number, f"{node.name} has it")
    site.network.cut(one.name)
    wait_for(lambda: not one.ready()[1]["cluster"]["connected"], "it is cut off", 30, 0.05)
    queued(trained(one, path, "late"))
    other.client.delete(path).ok(204)
    site.network.heal()
    wait_for(lambda: waits(one) == 0, f"it has published: {one.ready()}", 60, 0.05)
    wait_for(lambda: b"\nbayesd_cluster_queue_refused_total 1\n" in one.client.get("/metrics").ok().body, "it is counted", 20, 0.05)
    assert_same(site)
    equal(one.client.get(path).status, 404)


def test_a_queue_that_is_turned_off(nodes):
    """What waits is made first; nothing more is queued."""
    site = nodes.site(settings=QUEUED).start()
    path, one = path_of("shared"), site.nodes[0]
    trained(one, path, "before").ok()
    away(site)
    queued(trained(one, path, "waits"))
    one.kill()
    site.settings = {}
    one.set_peers(())  # writes the configuration anew
    one.start()
    equal(waits(one), 1)
    refused(one.client.post(path + "/train", {"id": "late", "label": "ham", "text": "late"}), 503, "not made yet")
    site.start_servers()
    wait_published(site)
    equal(one.client.get(path + "/documents/waits").ok().json["label"], "ham")
    number_of(trained(one, path, "after").ok(200))
    assert_same(site)


def test_a_damaged_outbox(nodes):
    """The node says so and does not start; --rebuild keeps what can be read, and that is made."""
    site = nodes.site(settings=QUEUED).start()
    path, one = path_of("shared"), site.nodes[0]
    trained(one, path, "before").ok()
    away(site)
    for name in ("first", "second", "third"):
        queued(trained(one, path, name))
    one.kill()
    outbox = os.path.join(one.daemon.data, "outbox")
    with open(outbox, "r+b") as file:
        at = file.read().index(b"second")
        file.seek(at)
        file.write(b"S")
    command = [one.daemon.command[0], "--data", one.daemon.data, "--config", os.path.join(one.daemon.folder, "bayesd.conf")]
    def run(*more):
        return subprocess.run([*command, *more], capture_output=True, text=True, env=clean_environment(),
                              timeout=patience(30), check=False)
    done = run()
    holds(done.returncode == 1 and "outbox" in done.stderr and "--rebuild" in done.stderr, done)
    done = run("--rebuild")
    holds(done.returncode == 1 and "2 changes are kept" in done.stdout, done)
    one.start()
    equal(waits(one), 2)
    site.start_servers()
    wait_published(site)
    for name, status in (("first", 200), ("second", 404), ("third", 200)):
        equal(one.client.get(f"{path}/documents/{name}").status, status, name)
    assert_same(site)


def test_a_byte_that_the_disk_changes_meanwhile(nodes):
    """The node that runs says so and publishes nothing; when the byte is right again it does."""
    site = nodes.site(settings=QUEUED).start()
    path, one = path_of("shared"), site.nodes[0]
    trained(one, path, "before").ok()
    away(site)
    for name in ("first", "second"):
        queued(trained(one, path, name))

    def put(byte):
        with open(os.path.join(one.daemon.data, "outbox"), "r+b") as file:
            at = file.read().lower().index(b"first")
            file.seek(at)
            file.write(byte)

    put(b"F")
    site.start_servers()
    wait_for(lambda: "damaged at byte 48" in one.ready()[1]["cluster"].get("warning", ""), f"it is said: {one.ready()}", 60, 0.05)
    equal(waits(one), 2)
    equal(one.client.get(path + "/documents/second").status, 404)
    put(b"f")
    wait_published(site)
    wait_for(lambda: "damaged" not in one.ready()[1]["cluster"].get("warning", ""), f"no warning is left: {one.ready()}", 20, 0.05)
    for name in ("first", "second"):
        equal(one.client.get(f"{path}/documents/{name}").status, 200, name)
    assert_same(site)


def test_a_node_that_must_not_follow(nodes):
    """It queues nothing, also when the stream is away then: nobody would publish it."""
    site = nodes.site(settings=QUEUED).start()
    path, one = path_of("shared"), site.nodes[0]
    trained(one, path, "before").ok()
    publish_version(site)
    wait_for(lambda: one.ready()[0] == 503, f"it has stopped: {one.ready()}", 30)
    for server in site.servers:
        server.kill()
    end = time.monotonic() + patience(6)  # it asks for the stream for some seconds before it finds out
    while time.monotonic() < end:
        refused(trained(one, path, "late"), 503, "/readyz")
        time.sleep(0.1)


def test_what_no_message_can_take(nodes):
    """It is refused, as while the stream is there, and not queued only to be dropped; what comes with it is queued."""
    site = nodes.site(settings=QUEUED).start()
    path, one = path_of("shared"), site.nodes[0]
    trained(one, path, "before").ok()
    large = {"id": "large", "label": "spam", "text": " ".join(f"w{i:x}" for i in range(80000))}
    refused(one.client.post(path + "/train", large), 413, "max_payload")
    away(site)
    refused(one.client.post(path + "/train", large), 413, "max_payload")
    equal(waits(one), 0)
    reply = one.client.post(path + "/train", {"documents": [large, {"id": "small", "label": "ham", "text": "lunch"}]})
    first, second = reply.json["results"]
    equal((first["error"]["status"], second["status"]), (413, "queued"), reply.body)
    equal(waits(one), 1)
    site.start_servers()
    wait_published(site)
    equal(one.client.get(path + "/documents/small").ok().json["label"], "ham")
    assert_same(site)
