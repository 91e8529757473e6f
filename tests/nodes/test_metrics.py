# SPDX-License-Identifier: Apache-2.0
"""What nodes tell of themselves to Prometheus and to administrators."""
import time

from acknowledged import path_of
from harness import equal, holds, wait_for
from jetstream import Refused
from links import Frames
from processes import STREAM
from prometheus import parse
from test_nodes import assert_same, is_mended, trained

PATH = path_of("shared")


def metric(node, name, **labels):
    return parse(node.client.get("/metrics").ok().body.decode()).value("bayesd_cluster_" + name, **labels)


class Withheld(Frames):
    """Messages of a consumer do not come."""

    def changed(self, frame):
        return b""


def is_replicated(site, count):
    """What nats stream edit --replicas does. While servers choose who leads, they do not answer in time."""
    try:
        with site.connect() as connection:
            config = connection.api("STREAM.INFO." + STREAM, seconds=2)["config"]
            connection.api("STREAM.UPDATE." + STREAM, {**config, "num_replicas": count}, 5)
        return True
    except (OSError, Refused):
        return False


def test_lag_in_changes_and_seconds(nodes):
    """A node that is not given what the stream has gets older with each second, and is at its end when it has caught up."""
    site = nodes.site().start()
    behind = site.nodes[2]
    trained(site.nodes[0], PATH, "first").ok()
    assert_same(site)
    wait_for(lambda: metric(behind, "lag_seconds") == 0, "nothing waits")
    site.network.give(behind.name, Withheld)
    begin = time.time()
    trained(site.nodes[0], PATH, "second").ok()
    for least in (0.5, 2, 4):
        wait_for(lambda least=least: metric(behind, "lag_seconds") > least, f"it is {least} seconds behind", 30, 0.1)
    holds(metric(behind, "lag_seconds") < time.time() - begin + 1, "not more than it is")
    holds(metric(behind, "behind") >= 1, "it is behind")
    site.network.give(behind.name, None)
    assert_same(site)
    wait_for(lambda: metric(behind, "lag_seconds") == 0 and metric(behind, "behind") == 0, "it has caught up")


def test_how_long_publishing_takes(nodes):
    site = nodes.site(nodes=1).start()
    node = site.nodes[0]
    for turn in range(10):
        trained(node, PATH, f"d{turn}").ok()
    holds(metric(node, "publish_seconds_count") >= 10, "what was published is counted")
    holds(metric(node, "publish_seconds_bucket", le="+Inf") >= 10, "in a histogram")
    holds(0 < metric(node, "publish_seconds_sum") < 60, "and timed")


def test_copies_while_nobody_leads(nodes):
    """Servers that choose a leader name all copies, and none of them twice; without a server a node says what is missing."""
    site = nodes.site().start()
    for _ in range(3):
        site.leader(STREAM).kill()
        for turn in range(180):
            holds(site.nodes[turn % 3].ready()[1].get("cluster", {}).get("copies", 0) <= 3, f"{site.nodes[turn % 3].ready()}")
            time.sleep(0.02)
        for server in site.servers:
            if not server.running():
                server.start()
        site.wait_whole(STREAM)
    for server in site.servers:
        server.kill()
    wait_for(lambda: "no NATS server is reached" in site.nodes[0].ready()[1]["cluster"].get("reason", ""),
             lambda: f"it says what is missing: {site.nodes[0].ready()}", 30, 0.1)


def test_copies_of_the_stream(nodes):
    """A stream that is kept by fewer servers than it should be is told, until it is mended."""
    site = nodes.site().start()
    trained(site.nodes[0], PATH, "first").ok()
    site.wait_whole(STREAM)
    node = site.nodes[0]
    wait_for(lambda: metric(node, "copies") == 3, "three copies")
    equal(metric(node, "copies_wanted"), 3)
    holds("warning" not in node.ready()[1]["cluster"], node.ready())
    server = next(one for one in site.servers if one is not site.leader(STREAM))
    server.kill()
    wait_for(lambda: metric(node, "copies") == 2, "two of them are whole", 60, 0.2)
    holds("warning" not in node.ready()[1]["cluster"], f"it will come back: {node.ready()}")
    server.start()
    wait_for(lambda: metric(node, "copies") == 3, "three again", 60, 0.2)
    wait_for(lambda: is_replicated(site, 1), "the stream is set to one copy", 60, 0.5)
    wait_for(lambda: metric(node, "copies") == 1, "one copy", 60, 0.2)
    status, said = node.ready()
    holds(status == 200 and "--mend-stream" in said["cluster"]["warning"] and said["cluster"]["copies"] == 1, said)
    holds("kept by 1 NATS server," in node.daemon.output(), "the log")
    wait_for(lambda: is_mended(site), "it is mended; a server may not answer in time", 60, 0.5)
    wait_for(lambda: metric(node, "copies") == 3, "three again", 60, 0.2)
    holds("warning" not in node.ready()[1]["cluster"], node.ready())
