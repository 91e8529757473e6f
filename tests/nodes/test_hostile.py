# SPDX-License-Identifier: Apache-2.0
"""What somebody can do who may write the tables and is no node, and what not."""
import re
import time

from acknowledged import path_of
from clients import number_of
from harness import equal, holds, refused, wait_for
from test_nodes import assert_same, members_of, trained
from test_store import XXH

PATH = path_of("shared")


def put(site, rows, stream=0):
    """Adds (id, checksum, hexadecimal body) as a node would."""
    for id, checksum, body in rows:
        site.primary.sql(
            f"WITH moved AS (UPDATE bayesd.stream SET last = last + 1 WHERE number = {stream} RETURNING last)"
            " INSERT INTO bayesd.change (stream, position, id, checksum, body)"
            f" SELECT {stream}, last, '{id}', {checksum}, '\\x{body}' FROM moved")


def checksum_of(id, body):
    """As nb_trace_checksum, and as the column has it: with a sign."""
    parts = b"".join(hashed(part).to_bytes(8, "little") for part in (id.encode(), body))
    return int.from_bytes(hashed(parts).to_bytes(8, "little"), "little", signed=True)


def hashed(value):
    return XXH.XXH3_64bits_withSeed(value, len(value), 0)


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


# ---- changes of other programs ------------------------------------------------------------------
FORMAT, KIND = 2, 3  # where a change has them (core/nodes/operation.h)
STREAMS_OF_OTHERS = 6


def of_another(body, at, value):
    return body[:at] + bytes([value]) + body[at + 1:]


def changes_of_others(body):
    """(what a node must say, the bytes) of changes as other programs write them: `body` is one of this program."""
    yield f"a change of format {body[FORMAT] + 1} and kind 0", of_another(body, FORMAT, body[FORMAT] + 1)
    yield "a change of format 255 and kind 7", body[:FORMAT] + b"\xff\7"  # and nothing that this program knows
    yield f"a change of format {body[FORMAT] - 1} and kind 0", of_another(body, FORMAT, body[FORMAT] - 1)
    yield f"a change of format {body[FORMAT]} and kind 200", of_another(body, KIND, 200)
    yield f"a change of format {body[FORMAT]} and kind 255", of_another(body, KIND, 255)[:KIND + 1]


def model_of_stream(site, stream):
    for turn in range(256):
        path = path_of(f"m{turn}")
        if number_of(trained(site.nodes[0], path, "one").ok()) % site.streams == stream:
            return path
    raise AssertionError(f"no model is of stream {stream}")


def lanes(node):
    """Whether it follows each stream."""
    return [one["connected"] for one in node.client.get("/v1/nodes").ok().json["nodes"]["streams"]]


def test_changes_of_other_versions(nodes):
    """One that this program cannot make stops its stream on all nodes, which say why; other streams go on, and nothing dies.
    When it is gone, and a node has started again, the stream goes on."""
    site = nodes.site(nodes=2, databases=1, settings={"nodes": {"streams": STREAMS_OF_OTHERS}}).start()
    goes_on = STREAMS_OF_OTHERS - 1
    path, stopped = model_of_stream(site, goes_on), model_of_stream(site, 0)
    assert_same(site)
    digests = [site.nodes[0].digest(stream) for stream in range(goes_on)]
    body = bytes.fromhex(site.primary.sql(f"SELECT encode(body, 'hex') FROM bayesd.change WHERE stream = {goes_on} LIMIT 1"))
    others = [(f"of stream {stream}: the stream has {words}", other) for stream, (words, other) in enumerate(changes_of_others(body))]
    equal(len(others), goes_on, "a stream for each")
    for stream, (_, other) in enumerate(others):
        put(site, [(f"other{stream}", checksum_of(f"other{stream}", other), other.hex())], stream)
    hold = [False] * goes_on + [True]
    for turn in range(2):
        for node in site.nodes:
            wait_for(lambda node=node: lanes(node) == hold, lambda node=node: f"these streams stop: {node.ready()}", 30, 0.1)
            for words, _ in others:
                wait_for(lambda words=words, node=node: words in node.daemon.output(), f"{node.name} says {words}", 30, 0.1)
            status, said = node.ready()
            holds(status == 503 and any(words in said["detail"] for words, _ in others), said)
            equal(node.client.post(stopped + "/classify", {"text": "some words"}).status, 200)
            refused(node.client.post(stopped + "/train", {"id": "no", "label": "a", "text": "a"}), 503, "readyz")
            trained(node, path, f"{node.name} {turn}").ok()
            if turn == 0:
                node.kill()
                node.start()
    for node in site.nodes:
        equal([node.digest(stream) for stream in range(goes_on)], digests, "nothing was learned of them")
    for stream in range(goes_on):
        at = f"(SELECT position FROM bayesd.change WHERE stream = {stream} AND id = 'other{stream}')"
        site.primary.sql(f"UPDATE bayesd.stream SET last = {at} - 1 WHERE number = {stream}",
                         f"DELETE FROM bayesd.change WHERE stream = {stream} AND position >= {at}")
    for node in site.nodes:
        node.kill()
        node.start()
    for node in site.nodes:
        node.wait_joined()
    trained(site.nodes[1], stopped, "two").ok()
    assert_same(site)


def identity_of(site):
    return site.primary.sql("SELECT identity FROM bayesd.stream WHERE number = 0").strip()


def name_versions(site, tokenizer, apply):
    """As a node with these versions would have it."""
    old = identity_of(site)
    new = re.sub(r"tokenizer=\d+ apply=\d+", f"tokenizer={tokenizer} apply={apply}", old)
    holds(new != old, old)
    site.primary.sql(f"UPDATE bayesd.stream SET identity = '{new}' WHERE number = 0")


def test_nodes_of_two_versions(nodes):
    """The first node of a newer version takes the stream over. Those of the older one stop learning, go on judging, and
    follow again as the newer version."""
    site = nodes.site(nodes=2, databases=1).start()
    trained(site.nodes[0], PATH, "one").ok()
    assert_same(site)
    own = identity_of(site)
    tokenizer, apply = map(int, re.search(r"tokenizer=(\d+) apply=(\d+)", own).groups())
    for node in site.nodes:
        node.kill()
    name_versions(site, tokenizer, apply - 1)  # all of them were older
    site.nodes[0].start()
    site.nodes[0].wait_joined()
    equal(identity_of(site), own, "the stream is of this version")
    trained(site.nodes[0], PATH, "two").ok()
    site.nodes[1].start()
    site.nodes[1].wait_joined()
    assert_same(site)
    for newer in ((tokenizer, apply + 1), (tokenizer + 1, apply), (tokenizer - 1, apply + 1)):
        name_versions(site, *newer)  # a newer node, or one of both: nobody follows it
        for node in site.nodes:
            wait_for(lambda node=node: "other versions" in str(node.ready()[1]), lambda node=node: f"it stops: {node.ready()}", 30, 0.1)
            equal(node.client.post(PATH + "/classify", {"text": "some words"}).status, 200)
            refused(node.client.post(PATH + "/train", {"id": "no", "label": "a", "text": "a"}), 503, "readyz")
        site.primary.sql(f"UPDATE bayesd.stream SET identity = '{own}' WHERE number = 0")
        for node in site.nodes:
            node.wait_joined()
    trained(site.nodes[1], PATH, "three").ok()
    assert_same(site)


# ---- the table of members -----------------------------------------------------------------------
NAMES = ("''", "' '", "'two words'", "E'a\\nb'", "E'\\x1b[31mred'", "'<script>'", "'ä'", "'%s%n'", "'../..'", "repeat('n', 65)",
         "repeat('ä', 1000)", "E'\\u202e'", "$$'; DROP TABLE bayesd.change; --$$")
URLS = ("''", "'javascript:alert(1)'", "'http://a b'", "E'http://a\\r\\nSet-Cookie: x'", "'http://ä'", "repeat('http://', 1000000)",
        "'http://' || repeat('u', 249)", "'ftp://other'")
VERSIONS = ("''", "' '", "'{'", "'1 2'", "' 1.0'", "E'1.0\\n'", "repeat('9', 32)", "repeat('9', 1000000)", "'%n %n'", "'ä'", "'<b>'")
SEEN = ("'infinity'", "'-infinity'", "'294276-01-01'", "'4713-01-01 BC'", "now() + interval '1 day'", "now() - interval '100 years'")
STREAMS = ("-1", "64", "1 << 20", "3000000000", "9223372036854775807", "-9223372036854775808")
LIMITS = ("-1", "9223372036854775807", "-9223372036854775808")


def put_member(site, name, **columns):
    """A row that would do, but for what is given as SQL."""
    row = {"stream": "0", "name": name, "url": "'http://127.0.0.1:1'", "applied": "0", "compared": "0", "digest": "0",
           "version": "version", "seen": "now()", **columns}
    site.primary.sql(f"INSERT INTO bayesd.member ({', '.join(row)}) SELECT {', '.join(row.values())}"
                     " FROM bayesd.member WHERE name NOT LIKE 'x%' AND stream = 0 LIMIT 1 ON CONFLICT DO NOTHING")


def hostile_members(site):
    """Rows that no node has written. Those that no node would write have a name that begins with x."""
    for turn, name in enumerate(NAMES):
        put_member(site, name, version="'old'", url=f"'http://n{turn}'")
    for turn, version in enumerate(VERSIONS):
        put_member(site, f"'xv{turn}'", version=version)
    for turn, seen in enumerate(SEEN):
        put_member(site, f"'xs{turn}'", version="'old'", seen=seen)
    for turn, stream in enumerate(STREAMS):
        put_member(site, f"'xt{turn}'", version="'old'", stream=stream)
    put_member(site, "'xa'", version="'old'", applied="-1")
    put_member(site, "'xc'", version="'old'", compared="-9223372036854775808")
    # Many more than a node reads, before all others by their streams and names.
    site.primary.sql("INSERT INTO bayesd.member SELECT -2, 'x' || i, '', 0, 0, 0, 'old', now() FROM generate_series(1, 3000) i",
                     "INSERT INTO bayesd.member SELECT 0, '!' || i, '', 0, 0, 0, 'old', now() FROM generate_series(1, 3000) i")


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
