# SPDX-License-Identifier: Apache-2.0
"""What happens to the five processes while clients are at work. Each takes its time; Site.heal() ends what lasts."""
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


def freeze_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    node.freeze()
    pause(rng)
    node.thaw()
    return node


def cut_off_a_node(site, rng, _):
    node = rng.choice(site.nodes)
    site.network.cut(node.name)
    pause(rng, 5)
    return node


def empty_a_node(site, rng, _):
    """Its disk is lost: it takes all from the others."""
    node = rng.choice(site.nodes)
    node.kill()
    node.empty()
    node.start()
    return node


def kill_the_database(site, rng, _):
    site.primary.kill()
    pause(rng)
    site.primary.start()


def stop_the_database(site, rng, _):
    site.primary.stop()
    pause(rng)
    site.primary.start()


def freeze_the_database(site, rng, _):
    site.primary.freeze()
    pause(rng, 5)
    site.primary.thaw()


def cut_off_the_database(site, rng, _):
    site.network.cut(site.primary.name)
    pause(rng, 5)


def kill_the_standby(site, rng, _):
    """Nothing is committed meanwhile."""
    site.databases[1].kill()
    pause(rng, 1)
    site.databases[1].start()


def empty_the_standby(site, rng, _):
    standby = site.databases[1]
    standby.kill()
    standby.empty()
    standby.clone(site.primary)


def cut_a_link(site, rng, _):
    node = rng.choice(site.nodes)
    site.network.cut_link(node.name, site.primary.name)
    pause(rng, 4)
    return node


def break_connections(site, rng, _):
    for _ in range(4):
        site.network.break_connections(rng.choice(site.members).name)
        pause(rng, 0.3)


def slow_links(site, rng, _):
    for member in rng.sample(site.members, 3):
        site.network.delay(member.name, rng.random() * 0.2)
    pause(rng, 3)


def fail_over(site, _rng, _):
    """The standby has all that was committed."""
    site.fail_over()


def fail_over_behind(site, rng, _):
    """The standby does not have the last of it."""
    site.fail_over(lambda: pause(rng, 1))


ALL = (kill_a_node, kill_the_database, fail_over, freeze_the_database, cut_off_a_node, empty_a_node, fail_over_behind,
       cut_off_the_database, freeze_a_node, break_connections, kill_the_standby, slow_links, stop_the_database, cut_a_link,
       kill_all_nodes, stop_a_node, empty_the_standby)


def plan(rng, rounds):
    """Each of them before one comes again, in an order that is another each time."""
    while rounds > 0:
        for disturbance in rng.sample(ALL, min(rounds, len(ALL))):
            yield disturbance
        rounds -= len(ALL)
