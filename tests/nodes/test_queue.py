# SPDX-License-Identifier: Apache-2.0
"""`queue = yes`: what is trained while the database is away is kept, and made later, once and in its order."""
import os
import re
import threading
import time

from acknowledged import path_of
from clients import number_of
from harness import equal, holds, refused, wait_for
from test_nodes import assert_same, trained

QUEUED = {"nodes": {"queue": "yes"}}
NUMBER = 12  # documents of each node
# Of steady load after an outage: the whole 220 s of a site are tested by who asks for it. 0: as the rounds say.
STEADY_SECONDS = int(os.environ.get("STEADY_SECONDS") or 0)


def begun(site, path):
    """A model of one document, which all nodes have before the database goes."""
    number = number_of(trained(site.nodes[0], path, "before").ok())
    for node in site.nodes:
        wait_for(lambda node=node: node.has(number), f"{node.name} has the model", 20, 0.02)


def away(site):
    """The database is gone, and the nodes know."""
    site.primary.kill()
    for node in site.nodes:
        wait_for(lambda node=node: not node.ready()[1]["nodes"]["connected"], f"{node.name} is alone", 30, 0.05)


def wait_published(site):
    for node in site.nodes:
        wait_for(lambda node=node: node.has_joined() and waits(node) == 0, lambda node=node: f"{node.name} has published: {node.ready()}", 60, 0.05)


def waits(node):
    return node.ready()[1]["nodes"]["queued"]


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
    begun(site, path)
    away(site)
    count = {node: taught(node, path) for node in (one, other)}
    for node in (one, other):
        equal(waits(node), count[node])
        node.kill()
        node.start()
        equal(waits(node), count[node], f"{node.name} after kill -9")
        count[node] += taught(node, path, NUMBER)
        equal(waits(node), count[node])
    metrics = dict(re.findall(r"(?m)^(bayesd_nodes_queue\w+) (\d+)$", one.client.get("/metrics").ok().body.decode()))
    equal((metrics["bayesd_nodes_queued"], metrics["bayesd_nodes_queue_refused_total"]), (str(count[one]), "0"))
    refused(one.client.put(path_of("another"), {}), 503, "again")
    equal(idle.client.get(path).ok().json["labels"]["ham"]["documents"], 1)
    site.primary.start()
    wait_published(site)
    number = assert_same(site)
    holds_all(site, path, (one.name, other.name), 4 * NUMBER + 2)
    holds(number >= 1 + sum(count.values()), (number, count))
    number_of(trained(one, path, "after").ok(200))


def test_a_model_that_only_others_know(nodes):
    """A node that is cut off cannot know whether there is a model: a change of what must be there is sent again later, and is not
    answered with 404. Of one that has all changes it is."""
    site = nodes.site(settings=QUEUED).start()
    path, there, away_from_it = path_of("shared"), site.nodes[0], site.nodes[2]
    site.network.cut(away_from_it.name)
    trained(there, path, "one", "ham").ok()
    wait_for(lambda: not away_from_it.ready()[1]["nodes"]["connected"], "it is alone", 60, 0.05)
    queued(trained(away_from_it, path, "two", "ham"))
    changes = (("/untrain", {"id": "one"}), ("/untrain", {"documents": [{"id": "one"}, {"id": "two"}]}), ("/train", {"id": "two", "label": "spam"}),
               ("/undo", {"ids": ["one"]}), ("/train", {"id": "three", "label": "spam", "values": {"size": 1}}))
    for way, body in changes:
        reply = away_from_it.client.post(path + way, body)
        equal(reply.status, 503, f"{way} {body}: {reply.body}")
        holds(reply.headers.get("retry-after", "").isdigit(), reply.headers)
    site.network.heal()
    wait_published(site)
    away_from_it.client.post(path + "/untrain", {"id": "two"}).ok()
    refused(away_from_it.client.post(path_of("never") + "/untrain", {"id": "one"}), 404, "never")
    assert_same(site)


def test_nodes_die_while_they_publish(nodes):
    site = nodes.site(settings=QUEUED).start()
    path = path_of("shared")
    one, other, _ = site.nodes
    begun(site, path)
    away(site)
    for node in (one, other):
        taught(node, path)
    site.primary.start()
    for turn in range(nodes.turns(6)):
        node = (one, other)[turn % 2]
        time.sleep(nodes.random.random())
        node.kill()
        node.start()
    wait_published(site)
    assert_same(site)
    holds_all(site, path, (one.name, other.name), 2 * NUMBER + 2)


def test_a_queue_empties_under_steady_load(nodes):
    """What is queued is published faster than new changes come."""
    site = nodes.site(settings=QUEUED).start()
    path, node, over, statuses = path_of("shared"), site.nodes[0], threading.Event(), []
    begun(site, path)

    def work(number):
        client = node.new_client(40)
        turn = 0
        while not over.is_set():
            begin, turn = time.monotonic(), turn + 1
            statuses.append(client.post(path + "/train", {"id": f"c{number}.{turn}", "label": "ham", "text": f"w{turn} some words"}).status)
            time.sleep(max(0, 0.1 - (time.monotonic() - begin)))
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(8)]
    away(site)
    for thread in threads:
        thread.start()
    time.sleep(10)
    outage = waits(node)
    site.primary.start()
    wait_for(node.has_joined, "the database is back", 30, 0.1)
    begin = time.monotonic()
    wait_for(lambda: waits(node) == 0, lambda: f"the queue of {outage} is empty: {waits(node)}", 10, 0.1)
    print(f"    {outage} changes were published in {time.monotonic() - begin:.1f} s, under steady load", flush=True)
    time.sleep(STEADY_SECONDS or nodes.turns(20))
    equal(waits(node), 0, "and stays so")
    over.set()
    for thread in threads:
        thread.join()
    holds(set(statuses) <= {200, 202}, {status: statuses.count(status) for status in set(statuses)})
    assert_same(site)
    for one in site.nodes:
        equal(one.client.get(path).ok().json["documents"], 1 + len(statuses), one.name)


def test_a_queue_that_is_turned_off(nodes):
    """What waits in it is made nevertheless, before others are."""
    site = nodes.site(settings=QUEUED).start()
    path, node = path_of("shared"), site.nodes[0]
    begun(site, path)
    away(site)
    count = taught(node, path)
    node.kill()
    node.more = {"queue": "no"}
    site.settings = {}
    node.configure()
    node.start()
    equal(waits(node), count)
    refused(node.client.post(path + "/train", {"id": "no", "label": "a", "text": "a"}), 503)
    site.primary.start()
    wait_published(site)
    holds_all(site, path, (node.name,), NUMBER + 2)
