# SPDX-License-Identifier: Apache-2.0
"""The nats-servers and the links alone: what the other modules build on holds without a bayesd."""
import random
import re
import time

from harness import equal, holds, wait_for
from jetstream import Refused
from links import Shuffled

CONFIG = {"name": "changes", "subjects": ["changes.>"], "num_replicas": 3, "storage": "file",
          "duplicate_window": 120 * 10**9, "allow_direct": True}


def published(site, first, last, connect=None):
    """Publishes numbers until each is acknowledged; the same id each time, so that each is there once."""
    connect = connect or site.connect
    for number in range(first, last):
        def is_published(number=number):
            try:
                with connect() as connection:
                    connection.publish("changes.one", str(number).encode(), id=str(number), seconds=2)
                    return True
            except (OSError, Refused):
                return False
        wait_for(is_published, f"{number} is published", 60, 0.05)


def consumed(site):
    """What lies in the stream, in its order. A server that has just come back may not be able to say it at once."""
    def read():
        try:
            with site.connect() as connection:
                return [message.data for message in connection.read("changes", seconds=5)]
        except (OSError, Refused):
            return None
    return [int(data) for data in wait_for(read, "the stream can be read", 60, 0.1) if data.isdigit()]


def made(site):
    site.start_servers()
    with site.connect() as connection:
        connection.api("STREAM.CREATE.changes", CONFIG)
    return site


def test_in_order_and_once(nodes):
    site = made(nodes.site(binary=None))
    published(site, 0, 50)
    with site.connect() as connection:
        holds(connection.publish("changes.one", b"7", id="7").get("duplicate"), "7 is known")
        holds(not connection.publish("changes.one", b"50").get("duplicate"), "50 has no id")
        equal(connection.message("changes", 8)[2], b"7")
        equal(connection.message("changes", 8)[1], {"Nats-Msg-Id": "7"})
    equal(consumed(site), list(range(51)))


def test_a_leader_is_killed(nodes):
    site = made(nodes.site(binary=None))
    for turn in range(2):
        published(site, 20 * turn, 20 * turn + 10)
        leader = site.leader("changes")
        leader.kill()
        published(site, 20 * turn + 10, 20 * turn + 20)
        holds(site.leader("changes") is not leader, "another one leads")
        leader.start()
        site.wait_whole("changes")
    equal(consumed(site), list(range(40)))


def test_a_stopped_one_and_one_without_its_disk(nodes):
    site = made(nodes.site(binary=None))
    published(site, 0, 20)
    leader = site.leader("changes")
    leader.freeze()
    others = [server for server in site.servers if server is not leader]
    wait_for(lambda: (site.stream("changes") or {}).get("cluster", {}).get("leader") not in (None, leader.name),
             "another one leads", 60, 0.1)
    published(site, 20, 40)
    leader.thaw()
    site.wait_whole("changes")
    others[0].kill()
    others[0].empty()
    others[0].start()
    published(site, 40, 60)
    site.wait_whole("changes")
    equal(consumed(site), list(range(60)))


def test_one_that_is_cut_off(nodes):
    """The others go on, and nothing that they acknowledged is lost. What is sent to the one that is cut off is another
    matter: nats-server 2.9 may keep it in that server's copy of the stream and nowhere else. So nothing is sent there; and
    test_nodes does it, because a node has to find that out."""
    site = made(nodes.site(binary=None))
    published(site, 0, 10)
    alone = site.leader("changes")
    other = next(server for server in site.servers if server is not alone)
    site.network.cut(alone.name)
    wait_for(lambda: (site.stream("changes", other) or {}).get("cluster", {}).get("leader") not in (None, alone.name),
             "one of the others leads", 60, 0.1)
    published(site, 10, 20, other.connect)
    site.network.heal()
    site.wait_whole("changes")
    equal(consumed(site), list(range(20)))
    with site.connect() as connection:
        equal([connection.message("changes", number)[2] for number in range(1, 21)], [b"%d" % n for n in range(20)])


def test_a_link_that_is_slow(nodes):
    site = made(nodes.site(binary=None))
    slow = site.leader("changes")
    site.network.delay(slow.name, 0.05)
    begin = time.monotonic()
    with slow.connect() as connection:
        connection.publish("changes.one", b"0")
        holds(time.monotonic() - begin > 0.05, "a majority is a delayed message away")
        site.network.break_connections(slow.name)
    published(site, 1, 10)
    equal(consumed(site), list(range(10)))


def test_shuffled_deliveries(_nodes):
    """Every message is there, some twice and some after the next; what is no delivery stays as it is."""
    messages = [b"HMSG changes.one 1 $JS.ACK.s.c.1.%d.%d.1.0 12 17\r\nNATS/1.0\r\n\r\n%05d\r\n" % (i, i, i) for i in range(2000)]
    plain = b"PING\r\nMSG _INBOX.a 1 7\r\nMSG \r\n.\r\n"
    shuffled, out = Shuffled(random.Random(1)), b""
    sent = b"".join(messages + [plain])
    for at in range(0, len(sent), 777):
        out += shuffled.of(sent[at:at + 777])
    holds(plain in out, "what is no delivery")
    found = [int(number) for number in re.findall(rb"\r\n\r\n(\d{5})\r\n", out)]
    equal(len(set(found)) >= 1999, True, f"{len(set(found))} of 2,000")
    holds(len(found) > 2050 and found != sorted(found), f"{len(found)} deliveries")
