# SPDX-License-Identifier: Apache-2.0
"""`[cluster] follow`: nodes that have a part of the models, and say who has the others."""
import http.client
import json
from urllib.parse import urlsplit

from acknowledged import path_of
from clients import number_of
from harness import equal, holds, refused, wait_for
from test_members import bayesc, members_of, url_of, wait_members
from test_nodes import assert_stores, trained

PARTS = ("user-a*,shared", "user-b*,shared", None)  # of the three nodes
A, B, SHARED, OTHER = (path_of(name) for name in ("user-a1", "user-b1", "shared", "other"))


def follow(site, parts=PARTS):
    """Each node has its part, and all know of each other."""
    for node, part in zip(site.nodes, parts):
        node.more["url"], node.more["name"] = url_of(node), node.name
        if part:
            node.more["follow"] = part
        node.configure()
    site.start()
    for node in site.nodes:
        wait_members(site, [one.name for one in site.nodes], node)
    return site


def models_of(node):
    return sorted(one["name"] for one in node.client.get("/v1/models").ok().json["models"])


def wait_applied(site, number):
    for node in site.nodes:
        wait_for(lambda node=node: node.has(number), f"{node.name} has {number}: {node.ready()}", 30, 0.02)


def redirected(node, method, path, body=None):
    """The reply of the node that Location names, as curl --location gives it, and that node's port."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    text = None if body is None else json.dumps(body)
    to, hops = urlsplit(f"http://127.0.0.1:{node.port}{path}"), 0
    while True:
        connection = http.client.HTTPConnection(to.hostname, to.port, timeout=30)
        connection.request(method, to.path + (f"?{to.query}" if to.query else ""), text, headers)
        reply = connection.getresponse()
        body_read = reply.read()
        connection.close()
        hops += 1
        if reply.status != 421 or hops > 3:
            return reply.status, json.loads(body_read), to.port
        to = urlsplit(reply.getheader("Location") + (f"?{to.query}" if to.query else ""))


def elsewhere(node, method, path, body, urls):
    """The node does not have the model, and says who does."""
    before = sum(one["applied"] for one in members_of(node).values() if one.get("self"))
    reply = node.client.call(method, path, body)
    equal(reply.status, 421, reply.body)
    said = reply.json
    equal((said["type"], said["title"], said["status"]), ("about:blank", "Misdirected Request", 421))
    holds("does not follow the model" in said["detail"], said)
    equal(sorted(said["urls"]), sorted(urls), said)
    holds(reply.headers["location"] == said["urls"][0] + path.split("?")[0], reply.headers)
    after = sum(one["applied"] for one in members_of(node).values() if one.get("self"))
    return after - before


def test_each_has_its_part(nodes):
    """The rows of a model are the same on all that have it; the others say where it is, and publish nothing."""
    site = follow(nodes.site())
    first, second, whole = site.nodes
    document = {"id": "d", "label": "ham", "text": "some words"}
    for turn in range(10):
        for path, node in ((A, (first, whole)[turn % 2]), (B, (second, whole)[turn % 2]), (SHARED, site.nodes[turn % 3]),
                           (OTHER, whole)):
            number = number_of(trained(node, path, f"d{turn}", ("ham", "spam")[turn % 2], f"word{turn} some").ok())
    wait_applied(site, number)
    equal([models_of(node) for node in site.nodes],
          [["shared", "user-a1"], ["shared", "user-b1"], ["other", "shared", "user-a1", "user-b1"]])
    for path, having in ((A, (first, whole)), (B, (second, whole)), (SHARED, site.nodes)):
        for inner in ("", "/documents/d3", "/vocabulary?label=ham&limit=50", "/evaluation"):
            shown = [node.client.get(path + inner).json for node in having]
            holds(all(one == shown[0] for one in shown), f"{path}{inner}: {shown}")
    stream = site.stream("bayesd")["state"]["last_seq"]
    for method, inner, body in (("POST", "/train", document), ("POST", "/untrain", document), ("POST", "/classify", document),
                                ("GET", "", None), ("PUT", "", {}), ("DELETE", "", None), ("GET", "/export", None),
                                ("GET", "/documents/a%2Fb", None), ("POST", "/from/shared", None),
                                ("POST", "/refit", None), ("GET", "/history", None)):
        elsewhere(first, method, B + inner, body, [url_of(second), url_of(whole)])
    elsewhere(second, "GET", OTHER, None, [url_of(whole)])
    reply = first.client.post("/v1/classify", {"models": ["shared", "user-b1"], "text": "some"})
    equal((reply.status, sorted(reply.json["urls"])), (421, sorted([url_of(second), url_of(whole)])))
    holds(site.stream("bayesd")["state"]["last_seq"] <= stream + 2, "something was published")  # what confirms, at most
    status, said, port = redirected(first, "POST", B + "/train", document)
    equal((status, said["status"]), (200, "learned"), said)
    holds(port in (second.port, whole.port), port)
    status, said, port = redirected(second, "GET", OTHER)
    equal((status, said["documents"], port), (200, 10, whole.port))
    assert_stores(site)


def test_members_say_what_they_have(nodes):
    """GET /v1/cluster shows it; digests are compared among nodes that have the same models."""
    site = follow(nodes.site(), ("user-a*", "user-a*", None))
    wait_applied(site, number_of(trained(site.nodes[2], B, "one").ok()))
    wait_applied(site, number_of(trained(site.nodes[0], A, "one").ok()))
    equal([members_of(site.nodes[2])[node.name].get("follow") for node in site.nodes], ["user-a*", "user-a*", None])
    first, second, whole = (node.digest() for node in site.nodes)
    equal(first["digest"], second["digest"])
    holds(first["digest"] != whole["digest"], "what only one node has is in its digest")
    equal((first["follow"], whole.get("follow")), ("user-a*", None))
    status, shown, said = bayesc(site, "check", url_of(site.nodes[0]))
    equal(status, 0, shown + said)


def test_copies_and_parents(nodes):
    """A copy needs the model that it is of; a parent and its children are followed together."""
    site = follow(nodes.site())
    first, _, whole = site.nodes
    wait_applied(site, number_of(trained(whole, SHARED, "one").ok()))
    wait_applied(site, number_of(trained(whole, OTHER, "one").ok()))
    number = number_of(first.client.post(f"{path_of('user-a2')}/from/shared").ok(201))
    wait_applied(site, number)
    equal([len(models_of(node)) for node in site.nodes], [2, 1, 3])
    equal(first.client.get(path_of("user-a2")).ok().json["documents"], 1)
    equal(first.client.post(f"{path_of('user-a3')}/from/other").status, 421)
    refused(whole.client.post(f"{path_of('user-a3')}/from/other"), 409, "node1", "followed together")
    refused(whole.client.put(A, {"parent": "other"}), 409, "node1", "followed together")
    equal(first.client.put(A, {"parent": "other"}).status, 421)
    wait_applied(site, number_of(whole.client.put(path_of("user-a-family"), {"preset": "mail"}).ok(201)))
    wait_applied(site, number_of(first.client.put(A, {"preset": "mail", "parent": "user-a-family"}).ok(201)))
    equal(models_of(first), ["shared", "user-a-family", "user-a1", "user-a2"])
    assert_stores(site)


def test_another_part_is_refused(nodes):
    """A store that followed less, or more, does not go on silently."""
    site = follow(nodes.site())
    node = site.nodes[0]
    wait_applied(site, number_of(trained(node, A, "one").ok()))
    for part in ("user-*,shared", "user-a*", None):
        node.kill()
        node.more.pop("follow", None)
        if part:
            node.more["follow"] = part
        node.configure()
        node.start()
        wait_for(lambda: "begin with an empty data directory" in str(node.ready()), f"it refuses: {node.ready()}", 20, 0.1)
        equal((node.ready()[0], node.client.get(A).ok().json["documents"]), (503, 1))
        equal(trained(node, A, "two").status, 503)
    node.kill()
    node.empty()
    node.start()
    node.wait_joined()
    number = number_of(trained(node, A, "two").ok())
    wait_applied(site, number)
    equal(node.client.get(A).ok().json["documents"], 2)


def test_nodes_that_are_killed(nodes):
    """What passes by is passed by again, or was stored: nothing is lost, and nothing is made twice."""
    site = follow(nodes.site())
    first, second, whole = site.nodes
    known = 0
    for turn in range(12):
        killed = (first, second)[turn % 2]
        for step in range(15):
            trained(whole, (OTHER, B, A, SHARED)[step % 4], f"d{turn}-{step}").ok()
            if step == turn:
                killed.kill()
        known += 15
        killed.start()
        killed.wait_joined()
    number = number_of(trained(whole, OTHER, "last").ok())
    wait_applied(site, number)
    for path, having in ((A, (first, whole)), (B, (second, whole)), (SHARED, site.nodes)):
        shown = [node.client.get(path).ok().json for node in having]
        holds(all(one["documents"] == shown[0]["documents"] for one in shown), shown)
    equal(sum(whole.client.get(path).ok().json["documents"] for path in (A, B, SHARED, OTHER)), known + 1)
    wait_for(lambda: "agrees" in members_of(whole)["node1"], "it tells of a place that the others remember", 60, 0.2)
    equal(members_of(whole)["node1"]["agrees"], True)
    assert_stores(site)


def test_a_pattern_that_is_none(nodes):
    site = nodes.site(nodes=1, servers=0, settings={"cluster": {"servers": "nats://127.0.0.1:9", "follow": "user a*"}})
    try:
        site.nodes[0].start(5)
    except AssertionError as why:
        holds("[cluster] follow: patterns of names" in str(why) + site.nodes[0].daemon.output(), str(why))
    else:
        raise AssertionError("it starts")
