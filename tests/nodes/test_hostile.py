# SPDX-License-Identifier: Apache-2.0
"""What somebody can do who may write the tables and is no node, and what not."""
import time

from acknowledged import path_of
from clients import number_of
from harness import equal, holds, wait_for
from test_nodes import assert_same, members_of, trained

PATH = path_of("shared")


def put(site, rows):
    """Adds (id, checksum or None for the right one, hexadecimal body) as a node would; they are those of others otherwise."""
    for id, checksum, body in rows:
        site.primary.sql(
            "WITH moved AS (UPDATE bayesd.stream SET last = last + 1 WHERE number = 0 RETURNING last)"
            " INSERT INTO bayesd.change (stream, position, id, checksum, body)"
            f" SELECT 0, last, '{id}', {checksum}, '\\x{body}' FROM moved")


def test_rows_that_are_no_operation(nodes):
    """A row with a wrong checksum stops all nodes there, until it is gone; nobody learns anything of it."""
    site = nodes.site().start()
    trained(site.nodes[0], PATH, "one").ok()
    number = assert_same(site)
    put(site, [("x", 1, "00ff"), ("x2", 1, "")])
    for node in site.nodes:
        wait_for(lambda node=node: "damaged" in str(node.ready()[1]), lambda node=node: f"it says so: {node.ready()}", 30, 0.1)
        equal(node.client.post(PATH + "/classify", {"text": "some words"}).status, 200)
    site.primary.sql(f"DELETE FROM bayesd.change WHERE position > {number}", f"UPDATE bayesd.stream SET last = {number}")
    for node in site.nodes:
        node.wait_joined()
    trained(site.nodes[1], PATH, "two").ok()
    holds(assert_same(site) > number, "they go on")


# ---- the table of members -----------------------------------------------------------------------
NAMES = ("''", "' '", "'two words'", "E'a\\nb'", "E'\\x1b[31mred'", "'<script>'", "'ä'", "'%s%n'", "'../..'", "repeat('n', 65)",
         "repeat('ä', 1000)", "E'\\u202e'", "$$'; DROP TABLE bayesd.change; --$$")
URLS = ("''", "'javascript:alert(1)'", "'http://a b'", "E'http://a\\r\\nSet-Cookie: x'", "'http://ä'", "repeat('http://', 1000000)",
        "'http://' || repeat('u', 249)", "'ftp://other'")
VERSIONS = ("''", "'x'", "'{'", "'null'", "'1'", "'1 2'", "'1 2 0 x'", "'-1 -1 -1 x'", "'99999999999999999999 1 1 x'", "'1 1 99999999999999999999'",
            "' 4 3 9 x'", "'4;3;9'", "E'4\\n3\\n9 x'", "'0x4 0x3 0x9 x'", "repeat('9', 1000000)", "'%n %n %n %n'", "'ä 3 9 x'")
SEEN = ("'infinity'", "'-infinity'", "'294276-01-01'", "'4713-01-01 BC'", "now() + interval '1 day'", "now() - interval '100 years'")
STREAMS = ("-1", "64", "1 << 20", "3000000000", "9223372036854775807", "-9223372036854775808")
LIMITS = ("-1", "9223372036854775807", "-9223372036854775808")


def put_member(site, name, **columns):
    """A row that would do, but for what is given as SQL."""
    row = {"stream": "0", "name": name, "url": "'http://127.0.0.1:1'", "applied": "0", "compared": "0", "digest": "0",
           "versions": "versions", "seen": "now()", **columns}
    site.primary.sql(f"INSERT INTO bayesd.member ({', '.join(row)}) SELECT {', '.join(row.values())}"
                     " FROM bayesd.member WHERE name NOT LIKE 'x%' AND stream = 0 LIMIT 1 ON CONFLICT DO NOTHING")


def hostile_members(site):
    """Rows that no node has written. Those that no node would write have a name that begins with x."""
    for turn, name in enumerate(NAMES):
        put_member(site, name, versions="'1 1 1 old'", url=f"'http://n{turn}'")
    for turn, versions in enumerate(VERSIONS):
        put_member(site, f"'xv{turn}'", versions=versions)
    for turn, seen in enumerate(SEEN):
        put_member(site, f"'xs{turn}'", versions="'1 1 1 old'", seen=seen)
    for turn, stream in enumerate(STREAMS):
        put_member(site, f"'xt{turn}'", versions="'1 1 1 old'", stream=stream)
    put_member(site, "'xa'", versions="'1 1 1 old'", applied="-1")
    put_member(site, "'xc'", versions="'1 1 1 old'", compared="-9223372036854775808")
    # Many more than a node reads, before all others by their streams and names.
    site.primary.sql("INSERT INTO bayesd.member SELECT -2, 'x' || i, '', 0, 0, 0, '1 1 1 old', now() FROM generate_series(1, 3000) i",
                     "INSERT INTO bayesd.member SELECT 0, '!' || i, '', 0, 0, 0, '1 1 1 old', now() FROM generate_series(1, 3000) i")


def test_members_that_are_none(nodes):
    """Rows that no node writes are passed over: no node stops, waits for them, keeps changes for them or names them."""
    site = nodes.site(settings={"nodes": {"member_seconds": 600, "keep_seconds": 1}})
    for node in site.nodes:
        node.more = {"peers": "http://127.0.0.1:1"}
        node.configure()
    site.start()
    trained(site.nodes[0], PATH, "one").ok()
    assert_same(site)
    names = {one["name"] for one in members_of(site.nodes[0])}
    equal(len(names), 3, names)
    pids = [node.pid() for node in site.nodes]
    hostile_members(site)
    time.sleep(1.5)  # each node reads them once a second
    for turn in range(30):
        node = site.nodes[turn % 3]
        last = number_of(trained(node, PATH, f"d{turn}").ok())
        node.client.call("PATCH", PATH + "/labels/ham", {"name": f"other{turn}"}).ok()
        node.client.call("PATCH", PATH + f"/labels/other{turn}", {"name": "ham"}).ok()
    assert_same(site)
    wait_for(lambda: site.first() > last - 60, "the tables are cut, whoever has not applied them", 30, 0.2)
    for node in site.nodes:
        equal({one["name"] for one in members_of(node)}, names, f"members, by {node.name}")
        holds(all(one.get("same") is not False for one in members_of(node)), members_of(node))
    # What looks like a node has its text, or none.
    for turn, url in enumerate(URLS):
        put_member(site, f"'url{turn}'", url=url)
    for turn, limit in enumerate(LIMITS):
        put_member(site, f"'limit{turn}'", digest=limit, applied="9223372036854775807")
    time.sleep(1.5)
    trained(site.nodes[1], PATH, "two").ok()
    assert_same(site)
    for node in site.nodes:
        urls = {one.get("url", "") for one in members_of(node) if one["name"].startswith("url")}
        equal(urls, {""}, f"URLs, by {node.name}")
    equal([node.pid() for node in site.nodes], pids, "nobody has died")


def test_nobody_is_alive_of_whom_rows_tell(nodes):
    """Nothing is cut for members that are none: of whom should a node that comes later take the store?"""
    site = nodes.site(nodes=1, databases=1, settings={"nodes": {"keep_seconds": 1}})
    node = site.nodes[0]
    node.more = {"peers": "http://127.0.0.1:1"}
    node.configure()
    site.start()
    hostile_members(site)
    site.primary.sql("UPDATE bayesd.member SET applied = 1000 WHERE applied = 0 AND (name LIKE 'x%' OR name LIKE '!%')")
    for turn in range(20):
        trained(node, PATH, f"d{turn}").ok()
    time.sleep(3.5)
    equal(site.first(), 1, "the first change is there")
