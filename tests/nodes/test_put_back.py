# SPDX-License-Identifier: Apache-2.0
"""The database has lost the end of its stream, and two nodes put it back at the same moment."""
import contextlib
import json
import os
import subprocess

from acknowledged import path_of
from databases import USER, program
from harness import clean_environment, equal, holds, wait_for
from test_nodes import assert_same, stopped_of, trained

PATH = path_of("shared")
LOST = 600  # changes: several groups of them (server/nodes/stream.c)
WAITING = ("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
           " AND query LIKE '%INSERT INTO bayesd.change (stream, position, id, checksum%'")
ROWS = "SELECT position, checksum, id, md5(body) FROM bayesd.change WHERE stream = 0 ORDER BY position"


@contextlib.contextmanager
def session(site):
    """A function that has a connection of its own do something, whenever that comes to an end; what is open in the end is undone."""
    with subprocess.Popen([program("psql"), "-h", "127.0.0.1", "-p", str(site.primary.port), "-U", USER, "-d", USER, "-X", "-q"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=clean_environment(), cwd=os.sep) as process:
        def run(*statements):
            process.stdin.write("".join(f"{one};\n" for one in statements).encode())
            process.stdin.flush()
        try:
            yield run
        finally:
            process.stdin.close()
            process.wait()


@contextlib.contextmanager
def lost(site, kept):
    """The stream ends at `kept`, and both nodes wait to put back what is behind: a function that does something before they may."""
    with session(site) as losing, session(site) as holding:
        losing("BEGIN", f"DELETE FROM bayesd.change WHERE stream = 0 AND position > {kept}",
               f"UPDATE bayesd.stream SET last = {kept} WHERE number = 0")
        wait_for(lambda: locks(site) >= 1, "the row of the stream is locked", 10, 0.02)
        holding("BEGIN", "SELECT 1 FROM bayesd.stream WHERE number = 0 FOR UPDATE")
        wait_for(lambda: int(site.primary.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) == 1,
                 "the next one waits for it", 10, 0.02)
        losing("COMMIT")
        wait_for(lambda: int(site.primary.sql(WAITING)) == 2, "both nodes put it back", 10, 0.02)
        yield holding
        holding("COMMIT")
        wait_for(lambda: int(site.primary.sql(WAITING)) == 0, "they go on", 30, 0.02)


def locks(site):
    return int(site.primary.sql("SELECT count(*) FROM pg_locks WHERE relation = 'bayesd.stream'::regclass AND mode = 'RowExclusiveLock'"))


def taught(nodes):
    """Two nodes that have the same, of which the last LOST changes will be gone, and one that is not there meanwhile."""
    site = nodes.site(databases=1).start()
    one, other, idle = site.nodes
    trained(one, PATH, "one").ok()
    kept = assert_same(site)
    idle.stop()
    site.nodes = [one, other]
    documents = [{"id": f"d{turn}", "label": "spam" if turn % 3 else "ham", "text": f"w{turn} w{turn % 7}"} for turn in range(LOST)]
    for node, part in ((one, documents[::2]), (other, documents[1::2])):
        node.client.post(PATH + "/train", {"documents": part}).ok()
    assert_same(site)
    return site, kept, idle


def put_back(site):
    return [node.ready()[1]["nodes"].get("put_back", 0) for node in site.nodes]


def test_two_nodes_put_it_back_at_once(nodes):
    """Each row comes back once, with its position, its id and its content; neither node stops, and one that comes later reads it."""
    site, kept, idle = taught(nodes)
    for turn in range(3):
        assert_same(site)
        rows, before = site.primary.sql(ROWS), sum(put_back(site))
        gone = site.last() - kept
        with lost(site, kept):
            pass
        for node in site.nodes:
            wait_for(node.has_joined, lambda node=node: f"{node.name} follows: {node.ready()}", 30, 0.05)
        equal(site.primary.sql(ROWS), rows, "the rows are those that were there")
        equal(sum(put_back(site)) - before, gone, f"turn {turn}: {put_back(site)}, each once")
    trained(site.nodes[1], PATH, "more").ok()
    site.nodes.append(idle)
    idle.start()
    assert_same(site)
    for node in site.nodes:
        equal(node.client.get(PATH).ok().json["documents"], LOST + 2, node.name)


def test_two_nodes_find_something_else_there(nodes):
    """Somebody was faster with another change: both stop to learn and say so; nothing is put over it, and verdicts go on."""
    site, kept, _ = taught(nodes)
    with lost(site, kept) as first:
        first("INSERT INTO bayesd.change (stream, position, id, checksum, body)"
              f" SELECT 0, {kept} + 1, 'another', checksum, body FROM bayesd.change WHERE stream = 0 AND position = {kept}",
              f"UPDATE bayesd.stream SET last = {kept} + 1 WHERE number = 0")
    wait_for(lambda: stopped_of(site) == site.nodes, lambda: f"both stop: {[node.ready() for node in site.nodes]}", 30, 0.1)
    for node in site.nodes:
        equal(node.ready()[0], 503, json.dumps(node.ready()[1]))
        equal(node.client.post(PATH + "/classify", {"text": "some words"}).status, 200)
        equal(node.client.post(PATH + "/train", {"id": "no", "label": "a", "text": "a"}).status, 503)
    equal(site.last(), kept + 1, "nothing was put there")
    holds("another" in site.primary.sql(ROWS), "and it is what somebody else has put there")
