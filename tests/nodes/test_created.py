# SPDX-License-Identifier: Apache-2.0
"""A stream is known by the time at which it was made. Of one that several nodes have made at the same moment nats-server 2.9
says another time once it has started again: it is the same stream, if it has what a node has made last."""
import json
import re

from acknowledged import path_of
from harness import equal, holds, wait_for
from links import Frames
from processes import STREAM
from test_nodes import assert_same, assert_stores, holds_it_follows, taken

STREAMS = 4


class Dated(Frames):
    """The stream says that it was made in another second, and `told` is how often it has said so."""
    CREATED = re.compile(rb'"created":"([0-9-]+T[0-9:]+):\d\d')

    def __init__(self, told):
        super().__init__()
        self.told = told

    def changed(self, frame):
        if b"stream_info_response" not in frame or b'"name":"%s"' % STREAM.encode() not in frame:
            return frame
        self.told[0] += 1
        return self.CREATED.sub(rb'"created":"\1:00', frame)

    def of(self, data):
        out, self.rest = [], self.rest + data
        while found := self.frame():
            out.append(found[0] if found[1] else self.changed(found[0]))
        return b"".join(out)


def goes_on(site, node, told):
    """It has heard the time some times more, follows, and all have what it is taught."""
    until = told[0] + 4
    def has_heard():
        holds_it_follows(node)
        return told[0] >= until
    wait_for(has_heard, "it asks for the stream", 30, 0.02)
    node.wait_joined()
    assert_same(site)


def test_a_stream_says_another_time(nodes):
    """While a node follows it, and when it starts."""
    site = nodes.site().start()
    node, told = site.nodes[0], [0]
    for turn in range(3):
        taken(node, path_of("shared"), f"d{turn}")
    assert_same(site)
    site.network.give(node.name, lambda: Dated(told))
    goes_on(site, node, told)
    node.kill()
    node.start()
    goes_on(site, node, told)
    node.kill()
    site.network.give(node.name, None)  # it has stored the other one
    node.start()
    node.wait_joined()
    assert_same(site)
    assert_stores(site)


def start_together(nodes):
    for node in nodes:
        node.daemon.spawn()
    for node in nodes:
        node.daemon.wait_ready(30)
    for node in nodes:
        node.wait_joined()


def test_nodes_that_make_the_streams_together(nodes):
    """All nodes follow them after each NATS server has started again, and then all."""
    site = nodes.site(settings={"cluster": {"streams": STREAMS}})
    site.start_servers()
    start_together(site.nodes)
    assert_same(site)
    for server in site.servers:
        server.stop()
        server.start()
        for name in site.stream_names:
            site.wait_whole(name)
    assert_same(site)
    for server in site.servers:
        server.stop()
    site.start_servers()
    assert_same(site)
    for node in site.nodes:
        node.kill()
    start_together(site.nodes)
    assert_same(site)
    assert_stores(site)


def made_anew(site, count):
    """Another stream of the same name, with `count` messages."""
    with site.connect() as connection:
        config = connection.api("STREAM.INFO." + STREAM)["config"]
        connection.api("STREAM.DELETE." + STREAM)
        connection.api("STREAM.CREATE." + STREAM, config)
        for number in range(count):
            connection.publish(config["subjects"][0], b"other", id=f"other {number}")


def says_so(node):
    status, said = node.ready()
    return status == 503 and "made anew" in json.dumps(said)


def test_a_stream_that_is_made_anew(nodes):
    """Empty, and when it is longer than what the nodes have: none follows it, also after a start; verdicts go on."""
    site = nodes.site().start()
    path = path_of("shared")
    for turn in range(3):
        taken(site.nodes[turn], path, f"d{turn}")
    number = assert_same(site)
    for count in (0, number + 40):
        made_anew(site, count)
        for node in site.nodes:
            wait_for(lambda node=node: says_so(node), lambda node=node: f"{node.name} says so: {node.ready()}", 30, 0.1)
        site.nodes[0].kill()
        site.nodes[0].start()
        wait_for(lambda: says_so(site.nodes[0]), lambda: f"it says so again: {site.nodes[0].ready()}", 30, 0.1)
        for node in site.nodes:
            holds(says_so(node), node.ready())
            equal(node.client.get(path).ok().json["documents"], 3, node.name)
            equal(node.client.post(path + "/train", {"id": "late", "label": "a", "text": "b"}).status, 503)
            equal(node.client.post(path + "/classify", {"text": "some words"}).status, 200)
            holds(len(node.client.get(path + "/export").ok().body) > 100, "what it has learned can be saved")
