# SPDX-License-Identifier: Apache-2.0
"""What happens to the six processes while clients are at work. Each takes its time; Site.heal() ends what lasts."""
import time


def pause(rng, most=2.0):
    """A random moment is what is tested; nothing waits for anything."""
    time.sleep(0.2 + rng.random() * most)


def kill_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    node.kill()
    pause(rng, 1)
    node.start()
    return node


def kill_a_server(site, rng, _):
    server = rng.choice(site.servers)
    server.kill()
    pause(rng)
    server.start()
    return server


def kill_all_servers(site, rng, _):
    """What they had acknowledged is in the kernel's memory, and comes back."""
    for server in site.servers:
        server.kill()
    pause(rng, 1)
    site.start_servers()


def kill_all_nodes(site, rng, _):
    for node in site.nodes:
        node.kill()
    for node in rng.sample(site.nodes, len(site.nodes)):
        node.start()


def stop_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    node.stop()
    pause(rng, 1)
    node.start()
    return node


def stop_a_server(site, rng, _):
    server = rng.choice(site.servers)
    server.stop()
    pause(rng)
    server.start()
    return server


def freeze_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    node.freeze()
    pause(rng)
    node.thaw()
    return node


def freeze_a_server(site, rng, _):
    server = rng.choice(site.servers)
    server.freeze()
    pause(rng, 5)
    server.thaw()
    return server


def freeze_two_servers(site, rng, _):
    """No majority is left."""
    for server in rng.sample(site.servers, 2):
        server.freeze()
    pause(rng, 5)
    site.heal()


def cut_off_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    site.network.cut(node.name)
    pause(rng, 5)
    return node


def cut_off_a_server(site, rng, _):
    server = rng.choice(site.servers)
    site.network.cut(server.name)
    pause(rng, 5)
    return server


def cut_a_link(site, rng, _):
    one, other = rng.sample(site.members, 2)
    site.network.cut_link(one.name, other.name)
    pause(rng, 4)
    return f"{one.name} and {other.name}"


def break_connections(site, rng, _):
    for _ in range(4):
        site.network.break_connections(rng.choice(site.members).name)
        pause(rng, 0.3)


def slow_links(site, rng, _):
    for member in rng.sample(site.members, 3):
        site.network.delay(member.name, rng.random() * 0.2)
    pause(rng, 3)


def another_leader(site, rng, _):
    for _ in range(2):
        with site.connect() as connection:
            try:
                connection.api("STREAM.LEADER.STEPDOWN." + rng.choice(site.stream_names), seconds=5)
            except Exception:  # there is none at this moment; that is well, too
                pass
        pause(rng, 1)


def empty_a_node(site, rng, _):
    """Its disk is lost: it takes all from the others."""
    node = rng.choice(site.nodes)
    node.kill()
    node.empty()
    node.start()
    return node


def empty_a_server(site, rng, load):
    """Its disk is lost. What a majority has promised is on one other server alone where that one was a part of the
    majority; a server without its disk does not remember its promises, so the others must have all before."""
    with load.paused():
        for name in site.stream_names:
            site.wait_whole(name)
        server = rng.choice(site.servers)
        server.kill()
        server.empty()
        server.start()
        for name in site.stream_names:
            site.wait_whole(name)
    return server


ALL = (kill_a_node, kill_a_server, freeze_a_server, cut_off_a_node, empty_a_node, cut_off_a_server, freeze_a_node,
       empty_a_server, break_connections, another_leader, kill_all_servers, slow_links, freeze_two_servers, cut_a_link,
       kill_all_nodes, stop_a_node, stop_a_server)


def plan(rng, rounds):
    """Each of them before one comes again, in an order that is another each time."""
    while rounds > 0:
        for disturbance in rng.sample(ALL, min(rounds, len(ALL))):
            yield disturbance
        rounds -= len(ALL)
