# SPDX-License-Identifier: Apache-2.0
"""What somebody can do who may publish into the stream and is no node, and what not (SECURITY.md)."""
import http.server
import os
import random
import subprocess
import threading
import time

import ports
from authority import Authority
from acknowledged import path_of
from harness import clean_environment, equal, holds, patience, wait_for
from test_members import members_of, word
from test_nodes import assert_same, messages_of, trained

PATH = path_of("shared")
HEAD = 6  # bytes before the time: magic, versions, kind
VERSION_OF_APPLYING = 4


def published(site, messages):
    """Publishes (subject, headers, data), each under an id of its own."""
    with site.connect() as connection:
        for number, (subject, headers, data) in enumerate(messages):
            connection.publish(subject, bytes(data), headers={**headers, "Nats-Msg-Id": f"{random.getrandbits(64):016x}-{number:x}"})


def test_who_publishes_teaches(nodes):
    """Without a token: what he publishes is made, by all nodes alike, and shows in the sources."""
    site = nodes.site(settings={"tokens": {"admin": "root=root-token-012345678"}}, nodes=3)
    site.start_servers()
    root = {"Authorization": "Bearer root-token-012345678"}
    for node in site.nodes:
        node.start()
    client = site.nodes[0].client
    wait_for(lambda: client.post(PATH + "/train?source=guest", {"id": "one", "label": "ham", "text": "w1"}, **root).status == 200,
             "a change is taken", 30, 0.2)
    client.post(PATH + "/untrain", {"id": "one"}, **root).ok()
    message = next(found for found in messages_of(site, 1) if b"guest" in found[2])
    published(site, [message])
    for node in site.nodes:
        wait_for(lambda node=node: node.client.get(PATH + "/documents/one", **root).status == 200, f"{node.name} has learned it")
        equal(node.client.get(PATH + "/documents/one", **root).json["source"], "guest")


def test_malformed_operations_are_passed_over_by_all(nodes):
    """With an id, and of the right version: whatever reads is made by all, what does not is passed over by all."""
    rng, site = nodes.random, nodes.site().start()
    for turn in range(6):
        trained(site.nodes[0], PATH, f"d{turn}", "spam" if turn % 2 else "ham", f"w{turn} w1 w2").ok()
    before = assert_same(site)
    found, forged = [message for message in messages_of(site, 1) if len(message[2]) > HEAD + 1], []
    for _ in range(80):
        subject, headers, data = rng.choice(found)
        data = bytearray(data)
        kind = rng.randrange(4)
        if kind == 0:
            data = data[:rng.randrange(len(data))]
        elif kind == 1:
            data[rng.randrange(HEAD, len(data))] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data = data[:HEAD] + rng.randbytes(rng.randrange(300))
        else:
            data[HEAD:HEAD] = b"\xff" * rng.randrange(1, 12)  # lengths and counts that are too large
        forged.append((subject, {name: value for name, value in headers.items() if name != "Chain"}, data))
    published(site, forged)
    holds(assert_same(site) > before + 40, "they went on")
    trained(site.nodes[1], PATH, "after").ok()
    assert_same(site)


def publish_version(site):
    """An operation of another version."""
    assert_same(site)
    subject, headers, data = messages_of(site, 1)[0]
    forged = bytearray(data)
    forged[VERSION_OF_APPLYING] = 99
    published(site, [(subject, {name: value for name, value in headers.items() if name != "Chain"}, forged)])


def test_an_operation_of_another_version_stops_all_alike(nodes):
    """No node makes what it may not understand, so none is silently different: all stop to learn, say why, and judge."""
    site = nodes.site().start()
    trained(site.nodes[0], PATH, "one").ok()
    publish_version(site)
    for node in site.nodes:
        wait_for(lambda node=node: node.ready()[0] == 503 and "version" in node.ready()[1]["detail"], f"{node.name}: {node.ready()}", 30)
        equal(node.client.post(PATH + "/classify", {"text": "some words"}).ok().json["label"], "ham")
        begin = time.monotonic()
        reply = node.client.post(PATH + "/train", {"id": "two", "label": "spam", "text": "w"})
        holds(reply.status == 503 and b"/readyz" in reply.body, reply.body)
        holds(time.monotonic() - begin < patience(2), "it is refused at once, not when it has waited in vain")
        holds(node.running(), "it serves")
    end = time.monotonic() + patience(2)
    while time.monotonic() < end:
        for node in site.nodes:
            equal(node.ready()[0], 503, f"{node.name} does not try again what it has refused")


def test_members_that_are_none(nodes):
    """A flood of words of nodes that are not there: the list is bounded, and the others learn and agree."""
    site = nodes.site().start()
    node = site.nodes[0]
    number = trained(node, PATH, "one").ok().json["number"]
    assert_same(site)
    with site.connect() as connection:
        for count in range(1300):  # a server that is behind drops words: one of 50 waits until it has taken them
            tell = connection.send if count % 50 else connection.publish
            tell(f"bayesd.members.m{count}", word(number, b"http://127.0.0.1:1", b"0.1.0", 0, 0))
        connection.send("bayesd.members.long", word(number, b"https://" + b"x" * 5000, b"v" * 5000, 0, 0))
        connection.publish("bayesd.members." + "y" * 300, word(number, b"", b"", 0, 0))
    wait_for(lambda: len(members_of(node)) > 500, f"{len(members_of(node))} are known", 30, 0.2)
    holds(len(members_of(node)) <= 1000, f"{len(members_of(node))} are known")
    trained(node, PATH, "two").ok()
    assert_same(site)


class Stub(http.server.BaseHTTPRequestHandler):
    """Notes who asks, and with what."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(404)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


def test_tokens_go_to_no_address_of_the_stream(nodes):
    """A node asks the `peers` of its configuration alone; bayesc, of a node by https, no member by http."""
    stub = http.server.HTTPServer(("127.0.0.1", 0), Stub)
    stub.asked = []
    threading.Thread(target=stub.serve_forever, daemon=True).start()
    try:
        folder, port = nodes.new_folder(), ports.free_port()
        authority = Authority(folder, "ca")
        certificate, key = authority.sign("server", "serverAuth,clientAuth")
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("root-token-012345678\n")
        site = nodes.site(nodes=1, settings={"tls": {"listen": f"127.0.0.1:{port}", "certificate": certificate, "key": key},
                                             "tokens": {"admin": "root=root-token-012345678"},
                                             "cluster": {"peer_token_file": token}})
        site.start_servers()
        node = site.nodes[0].start()
        root = {"Authorization": "Bearer root-token-012345678"}
        def known():
            return {one["name"] for one in node.client.get("/v1/cluster", **root).ok().json["members"]}
        wait_for(known, "it has told of itself", 40, 0.2)
        with site.connect() as connection:
            connection.publish("bayesd.members.evil", word(1, f"http://127.0.0.1:{stub.server_port}".encode(), b"0.1.0", 0, 0))
        wait_for(lambda: "evil" in known(), "it is known", 30, 0.2)
        client = os.path.join(os.path.dirname(nodes.binary), "bayesc")
        done = subprocess.run([client, "cluster", "status", "-u", f"https://localhost:{port}", "--ca-file", authority.certificate,
                               "--token-file", token], capture_output=True, text=True, env=clean_environment(),
                              timeout=patience(60), check=False)
        holds(done.returncode == 69 and "is not asked" in done.stderr + done.stdout, done)
        equal(stub.asked, [], "who was asked")
    finally:
        stub.shutdown()
        stub.server_close()
