# SPDX-License-Identifier: Apache-2.0
"""Several streams, over which models are spread by their names."""
from acknowledged import path_of
from clients import number_of
from harness import equal, holds, wait_for
from test_nodes import assert_same, disturb_a_mixed_load, trained

FOUR = {"nodes": {"streams": 4, "digest_seconds": 10}}


def test_models_are_spread(nodes):
    site = nodes.site(settings=FOUR).start()
    numbers = [number_of(trained(site.nodes[i % 3], path_of(f"m{i}"), "one").ok()) for i in range(24)]
    equal({number % 4 for number in numbers}, {0, 1, 2, 3})
    assert_same(site)
    equal([one["stream"] for one in site.nodes[0].ready()[1]["nodes"]["streams"]], [0, 1, 2, 3])


def test_a_mixed_load_over_streams(nodes):
    disturb_a_mixed_load(nodes, nodes.site(settings=FOUR).start())


def test_a_node_that_follows_a_part(nodes):
    """It has what its streams have, and the same; others are named for the rest."""
    site = nodes.site(settings={"nodes": {"streams": 4}})
    for turn, node in enumerate(site.nodes):
        node.more = {"url": f"http://127.0.0.1:{node.port}", **({"follow": "0,2-3"} if turn == 1 else {})}
        node.configure()
    site.start()
    whole, part = site.nodes[0], site.nodes[1]
    for i in range(24):
        trained(whole, path_of(f"m{i}"), "one").ok()
    number = number_of(trained(whole, path_of("m0"), "two").ok())
    replies = {i: part.client.post(f"{path_of(f'm{i}')}/classify", {"text": "some words"}) for i in range(24)}
    wait_for(lambda: part.has_joined(), "it has all", 20, 0.1)
    elsewhere = [i for i, reply in replies.items() if reply.status == 421]
    holds(0 < len(elsewhere) < 24, elsewhere)
    for i in elsewhere:
        equal(sorted(replies[i].json["urls"]), sorted(f"http://127.0.0.1:{node.port}" for node in (whole, site.nodes[2])))
        equal(part.client.post(path_of(f"m{i}") + "/train", {"id": "x", "label": "a", "text": "a"}).status, 421)
    for stream in (0, 2, 3):
        wait_for(lambda stream=stream: part.digest(stream) == whole.digest(stream), f"stream {stream} is the same", 20, 0.2)
    holds(number > 0, number)
