# SPDX-License-Identifier: Apache-2.0
"""What somebody can do who may write the tables and is no node, and what not."""
from acknowledged import path_of
from harness import equal, holds, wait_for
from test_nodes import assert_same, trained

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
