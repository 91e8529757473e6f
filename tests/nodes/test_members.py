# SPDX-License-Identifier: Apache-2.0
"""Nodes know of each other: names, addresses, how far each has come, and whether all were given the same."""
import base64
import json
import os
import subprocess

from acknowledged import path_of
from harness import clean_environment, equal, holds, patience, refused, wait_for
from test_metrics import metric
from test_nodes import assert_same, trained

PATH = path_of("shared")


def url_of(node):
    return f"http://127.0.0.1:{node.port}"


def told(site):
    """Each node tells its URL."""
    for node in site.nodes:
        node.more["url"] = url_of(node)
        node.more["name"] = node.name
        node.configure()
    return site.start()


def members_of(node):
    return {one["name"]: one for one in node.client.get("/v1/cluster").ok().json["members"]}


def wait_members(site, names, node=None):
    asked = node or site.nodes[0]
    wait_for(lambda: set(members_of(asked)) >= set(names), f"all are known: {members_of(asked)}", 40, 0.1)
    return members_of(asked)


def bayesc(site, *arguments):
    """(status, standard output, standard error)."""
    client = os.path.join(os.path.dirname(site.nodes[0].daemon.command[0]), "bayesc")
    done = subprocess.run([client, "cluster", *arguments], capture_output=True, text=True, env=clean_environment(),
                          timeout=patience(60), check=False)
    return done.returncode, done.stdout, done.stderr


def test_one_node_names_all(nodes):
    """Who asks one node finds the others, and what each says of itself; what is compared is compared on all."""
    site = told(nodes.site())
    node, names = site.nodes[0], [node.name for node in site.nodes]
    number = trained(node, PATH, "one").ok().json["number"]
    assert_same(site)
    found = wait_members(site, names)
    equal({name: one["url"] for name, one in found.items()}, {node.name: url_of(node) for node in site.nodes})
    equal([name for name, one in found.items() if one.get("self")], [node.name])
    equal(len({(one["version"], one["tokenizer"], one["apply"], one["operations"]) for one in found.values()}), 1, found)
    wait_for(lambda: all(one["applied"] >= number and one["behind"] == 0 and one.get("agrees") and one["seconds"] < 30
                         for one in members_of(node).values()), f"all are there: {members_of(node)}", 40, 0.2)
    for one in names:
        holds(metric(node, "member_applied", member=one) >= number, one)
        equal(metric(node, "member_agrees", member=one), 1, one)
        holds(metric(node, "member_silent_seconds", member=one) < 30, one)
    status, shown, said = bayesc(site, "status", "-u", url_of(node))
    equal(status, 0, said)
    rows = [line.split() for line in shown.splitlines()[1:]]
    equal({(row[0], row[1], row[4]) for row in rows}, {(url_of(node), node.name, "yes") for node in site.nodes})
    status, shown, said = bayesc(site, "check", url_of(node))
    equal((status, len({line.split()[2] for line in shown.splitlines()[1:]}), len(shown.splitlines())), (0, 1, 4), shown + said)
    equal([row["member"]["name"] for row in json.loads(bayesc(site, "status", "--json", url_of(node))[1])][0], node.name)


def test_a_member_that_does_not_answer(nodes):
    """It is said, and the others are compared all the same; a member that tells no URL is shown."""
    site = nodes.site()
    for node in site.nodes:
        node.more["name"] = node.name
        if node is not site.nodes[1]:
            node.more["url"] = url_of(node)
        node.configure()
    site.start()
    node, mute, away = site.nodes
    trained(node, PATH, "one").ok()
    assert_same(site)
    wait_members(site, [one.name for one in site.nodes])
    status, shown, said = bayesc(site, "check", url_of(node))
    holds(status == 0 and f"{mute.name}  " in shown and "tells no URL" in shown, shown + said)
    away.kill()
    status, shown, said = bayesc(site, "status", url_of(node))
    holds(status == 69 and url_of(away) in said and len(shown.splitlines()) == 4, f"{status} {shown} {said}")
    status, shown, said = bayesc(site, "check", url_of(node))
    holds(status == 69 and url_of(away) in said, f"{status} {shown} {said}")
    holds(any(line.startswith(url_of(node)) and len(line.split()[2]) == 32 for line in shown.splitlines()), shown)
    begin = members_of(node)[away.name]["seconds"]
    wait_for(lambda: members_of(node)[away.name]["seconds"] > begin, "its silence is counted", 20, 0.2)


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def word(applied, url, version, position, chain):
    """What a node tells of itself (server/nodes/member.c)."""
    return (b"\x01" + varint(applied) + varint(1) * 2 + varint(99) + varint(len(url)) + url + varint(len(version)) + version
            + varint(position) + chain.to_bytes(8, "little"))


def test_a_member_that_was_given_something_else(nodes):
    """It does not agree, in the list and the metrics; and what somebody writes who is no node is not shown."""
    site = told(nodes.site())
    node = site.nodes[0]
    number = trained(node, PATH, "one").ok().json["number"]
    assert_same(site)
    wait_members(site, [one.name for one in site.nodes])
    with site.connect() as connection:
        connection.publish("bayesd.members.other", word(number, b"https://other:1", b"9.9", number, 12345))
        connection.publish("bayesd.members.odd", word(7, b"javascript:alert(1)", b"\x1b[31m", 0, 0))
        connection.publish("bayesd.members.a+b", word(7, b"", b"", 0, 0))
        connection.publish("bayesd.members.broken", b"\x02 what is this")
    found = wait_members(site, ["other", "odd"])
    equal((found["other"]["agrees"], found["other"]["url"], found["other"]["version"]), (False, "https://other:1", "9.9"))
    holds("url" not in found["odd"] and "version" not in found["odd"] and "agrees" not in found["odd"], found["odd"])
    holds("a+b" not in found and "broken" not in found, found)
    equal(metric(node, "member_agrees", member="other"), 0)
    status, _, said = bayesc(site, "status", url_of(node))
    holds(status == 69 and "https://other:1" in said, f"{status} {said}")


def compared(nodes):
    """A site whose nodes have compared what they have learned; and a function that says whether it is the same."""
    site = told(nodes.site(settings={"cluster": {"digest_seconds": 8}}))
    node, names = site.nodes[0], [one.name for one in site.nodes]
    trained(node, PATH, "one").ok()
    assert_same(site)
    def all_same():
        found = members_of(node)
        return all(found.get(name, {}).get("same") for name in names)
    wait_for(all_same, lambda: f"all have learned the same: {members_of(node)}", 60, 0.2)
    return site, all_same


def test_a_member_that_followed_a_part(nodes):
    """One that follows all by now, with another store: until both have a digest of one place nothing is known."""
    site, _ = compared(nodes)
    node = site.nodes[0]
    with site.connect() as connection:
        for follow in (b"user-b*", b""):
            tail = varint(0) + varint(len(follow)) + follow + varint(1) + bytes(8)  # of one stream; a digest at 1
            connection.publish("bayesd.members.moved", word(1, b"", b"9.9", 0, 0) + tail)
            wait_for(lambda follow=follow: members_of(node).get("moved", {"follow": "?"}).get("follow", "") == follow.decode(),
                     lambda: f"it says what it follows: {members_of(node)}", 40, 0.1)
    equal(members_of(node)["moved"].get("same"), None)
    holds("'moved' has learned something else" not in "".join(node.daemon.heard()), "the log")


def test_a_member_that_has_learned_something_else(nodes):
    """Nodes compare what they have learned now and then; one that tells another digest at the same place is named."""
    site, all_same = compared(nodes)
    node, names = site.nodes[0], [one.name for one in site.nodes]
    for name in names:
        equal(metric(node, "member_same", member=name), 1, name)
    def is_named():
        with site.connect() as connection:
            word = connection.api("STREAM.MSG.GET.bayesd_members", {"last_by_subj": f"bayesd.members.{names[1]}"})["message"]["data"]
            word = base64.b64decode(word)  # half of the digest is its end
            connection.publish("bayesd.members.liar", word[:-1] + bytes([word[-1] ^ 1]))
        return members_of(node).get("liar", {}).get("same") is False
    wait_for(is_named, lambda: f"it is named: {members_of(node)}", 60, 0.5)
    equal(metric(node, "member_same", member="liar"), 0)
    holds("'liar' has learned something else" in "".join(node.daemon.heard()), "the log")
    holds(all_same(), members_of(node))


def test_who_may_ask(nodes):
    """It needs a token, as other reading does; and a bayesd that is alone has no members."""
    site = nodes.site(settings={"tokens": {"classify": "reader=reader-token-0123456"}}, nodes=1)
    site.start_servers()
    node = site.nodes[0].start()
    refused(node.client.get("/v1/cluster"), 401)
    node.client.get("/v1/cluster", Authorization="Bearer reader-token-0123456").ok()
    alone = nodes.site(nodes=1, clustered=False).start().nodes[0].client
    equal(alone.get("/v1/cluster").ok().json, {"members": []})
