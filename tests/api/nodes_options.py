# SPDX-License-Identifier: Apache-2.0
"""What each option of [cluster] does, with a nats-server of our own. Several nodes: tests/nodes."""
import base64
import json
import os
import socket
import subprocess
import threading
import time
import urllib.request

import ports
from authority import Authority
from harness import _die_with_parent, clean_environment, equal, holds, patience, refused, wait_for

M = "/v1/models/m"
KEY = bytes(range(32)).hex()


class Nats:
    """A nats-server with JetStream that is alone."""

    def __init__(self, api, more=""):
        self.folder, self.port = api.new_folder(), ports.free_port()
        path = os.path.join(self.folder, "nats.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.folder}/stream" }}\n{more}\n')
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(["nats-server", "-c", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=clean_environment(), preexec_fn=_die_with_parent)
        wait_for(self.listens, "nats-server listens", 20, 0.05)

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()


def key_file(api, key=KEY):
    path = os.path.join(api.new_folder(), "cluster.key")
    with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(key + "\n")
    return path


def node(api, port, host="127.0.0.1", **options):
    found = {"servers": f"nats://{host}:{port}", "replicas": 1, "cluster_key_file": key_file(api), "patience": 5, **options}
    return api.another(config={"cluster": found}).start()


def said(daemon):
    """What /readyz says of the cluster; of a node that was refused, only why."""
    return daemon.client.get("/readyz").json.get("cluster", {"connected": False})


def joined(daemon):
    wait_for(lambda: said(daemon)["connected"], f"it follows the stream: {said(daemon)}", 20, 0.05)
    return daemon


def stays_out(daemon):
    """Not connected after the time in which others are; a change is refused."""
    time.sleep(2)
    holds(not said(daemon)["connected"], said(daemon))
    equal(daemon.client.post(M + "/train", {"text": "win", "label": "spam"}).status, 503)


def taught(daemon, model=M):
    return daemon.client.post(model + "/train", {"text": "win cash", "label": "spam"}).ok().json["number"]


def cluster_servers(api):
    nats = Nats(api)
    alone = api.another().start()
    holds("cluster" not in alone.client.get("/readyz").json, "a daemon without the section is alone")
    equal(taught(joined(node(api, nats.port))), 1)
    stays_out(node(api, ports.free_port()))
    nats.stop()


def cluster_stream(api):
    nats = Nats(api)
    one, other, same = (joined(node(api, nats.port, stream=name)) for name in ("one", "other", "one"))
    taught(one)
    wait_for(lambda: said(same)["applied"] == 1, "who shares the stream learns", 20, 0.05)
    equal([said(other)["applied"], said(other)["stream"]], [0, "other"])
    nats.stop()


def cluster_streams(api):
    nats = Nats(api)
    several = joined(node(api, nats.port, streams=3))
    equal([one["stream"] for one in said(several)["streams"]], ["bayesd_0", "bayesd_1", "bayesd_2"])
    equal(len({taught(several, f"/v1/models/m{i}") % 3 for i in range(20)}), 3, "streams that models of many names are in")
    stays_out(node(api, nats.port, streams=2))
    nats.stop()


def cluster_replicas(api):
    nats = Nats(api)
    stays_out(node(api, nats.port, replicas=3))  # there is one server
    joined(node(api, nats.port, replicas=1))
    nats.stop()


def cluster_cluster_key_file(api):
    nats = Nats(api)
    taught(joined(node(api, nats.port)))
    stranger = node(api, nats.port, cluster_key_file=key_file(api, KEY[::-1]))
    wait_for(lambda: "another key" in stranger.client.get("/readyz").body.decode(), "it says why it does not join", 20, 0.05)
    stays_out(stranger)
    without = api.another(config={"cluster": {"servers": f"nats://127.0.0.1:{nats.port}", "cluster_key_file": "/nowhere"}}).spawn()
    holds(without.wait(20) > 0, "started without its key")
    nats.stop()


def seed():
    """A user's seed of NATS: two bytes of what it is, 32 of the seed, and a CRC-16 of XMODEM."""
    raw = bytes([0x90 | 0xA0 >> 5, (0xA0 & 31) << 3]) + bytes(range(32))
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return base64.b32encode(raw + crc.to_bytes(2, "little")).decode().rstrip("=")


def cluster_credentials(api):
    """What a server is told by who connects."""
    path = os.path.join(api.new_folder(), "node.creds")
    with open(path, "w", encoding="ascii") as file:
        for what, text in (("NATS USER JWT", "the-token-of-a-node"), ("USER NKEY SEED", seed())):
            file.write(f"-----BEGIN {what}-----\n{text}\n------END {what}------\n\n")
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            info = {"server_id": "S", "version": "2.9.0", "max_payload": 1 << 20, "headers": True, "auth_required": True,
                    "nonce": "a-nonce"}
            while not heard:
                with server.accept()[0] as connection:
                    connection.settimeout(patience(10))
                    connection.sendall(b"INFO " + json.dumps(info).encode() + b"\r\n")
                    line = connection.makefile("rb").readline()
                    if line.startswith(b"CONNECT "):
                        heard.append(json.loads(line[8:]))
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        daemon = node(api, server.getsockname()[1], credentials=path)
        thread.join(patience(20))
        daemon.stop()
    equal(heard[0].get("jwt"), "the-token-of-a-node")


def secured(api):
    """A server that asks for certificates, the files of a client, and those of a stranger."""
    folder = api.new_folder()
    authority, others = Authority(folder), Authority(folder, "others")
    certificate, key = authority.sign("server")
    nats = Nats(api, f'tls {{ cert_file: "{certificate}", key_file: "{key}", ca_file: "{authority.certificate}", verify: true }}')
    return nats, authority, others


def with_tls(api, nats, authority, shown):
    certificate, key = shown
    return node(api, nats.port, host="localhost", tls_ca=authority.certificate, tls_certificate=certificate, tls_key=key)


def cluster_tls_ca(api):
    nats, authority, others = secured(api)
    shown = authority.sign("node", "clientAuth")
    stays_out(with_tls(api, nats, others, shown))
    taught(joined(with_tls(api, nats, authority, shown)))
    nats.stop()


def cluster_tls_certificate(api):
    nats, authority, others = secured(api)
    stays_out(node(api, nats.port, host="localhost", tls_ca=authority.certificate))
    stays_out(with_tls(api, nats, authority, others.sign("stranger", "clientAuth")))
    joined(with_tls(api, nats, authority, authority.sign("node", "clientAuth")))
    nats.stop()


def cluster_tls_key(api):
    nats, authority, _others = secured(api)
    certificate, key = authority.sign("node", "clientAuth")
    stays_out(with_tls(api, nats, authority, (certificate, authority.sign("another", "clientAuth")[1])))
    joined(with_tls(api, nats, authority, (certificate, key)))
    nats.stop()


def hear(nats, name):
    """Until the node of that name has told the others of itself."""
    with socket.create_connection(("127.0.0.1", nats.port), patience(20)) as connection:
        connection.sendall(b"CONNECT {}\r\nSUB bayesd.members.* 1\r\n")
        heard = b""
        while f"MSG bayesd.members.{name} ".encode() not in heard:
            more = connection.recv(65536)
            holds(more and len(heard) < 1000000, f"heard {heard[-200:]}")
            heard += more


def cluster_name(api):
    """What a node tells the others stands under its name."""
    nats = Nats(api)
    joined(node(api, nats.port, name="mail-1"))
    hear(nats, "mail-1")
    nats.stop()


def cluster_url(api):
    """What a node tells the others is where they, and administrators, find it."""
    nats = Nats(api)
    daemon = joined(node(api, nats.port, name="mail-1", url="https://mail1.example.org:8764"))
    wait_for(lambda: [(one["name"], one.get("url")) for one in daemon.client.get("/v1/cluster").ok().json["members"]] ==
             [("mail-1", "https://mail1.example.org:8764")], "it knows itself", 20, 0.1)
    nats.stop()


def cluster_follow(api):
    """A node has the models that match, and says so of others; what is no pattern is refused."""
    nats = Nats(api)
    daemon = joined(node(api, nats.port, name="a", follow="user-a*,m?"))
    for name, status in (("user-a1", 200), ("m1", 200), ("m", 421), ("user-b1", 421)):
        reply = daemon.client.post(f"/v1/models/{name}/train", {"text": "win cash", "label": "spam"})
        equal(reply.status, status, name)
    refused(daemon.client.get(M), 421, "does not follow the model 'm'")
    equal(daemon.client.get("/v1/networks/m").status, 404)
    refusal = api.another(config={"cluster": {"servers": f"nats://127.0.0.1:{nats.port}", "follow": "a b",
                                              "cluster_key_file": key_file(api)}}).spawn()
    holds(refusal.wait() != 0 and "[cluster] follow: patterns" in refusal.output(), refusal.output())
    nats.stop()


class Watched(Nats):
    """A nats-server that says what its streams have."""

    def __init__(self, api):
        self.status = ports.free_port()
        super().__init__(api, f'http: "127.0.0.1:{self.status}"')

    def first(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status}/jsz?streams=1", timeout=patience(10)) as reply:
            streams = json.load(reply)["account_details"][0]["stream_detail"]
        return next(stream["state"]["first_seq"] for stream in streams if stream["name"] == "bayesd")

    def is_cut(self, number):
        """After some seconds, or not at all."""
        try:
            wait_for(lambda: self.first() >= number, "the stream is cut", 10 / patience(1), 0.1)
            return True
        except AssertionError:
            return False


def cut(api, absent=False, **options):
    """Whether the stream loses its beginning, with two nodes that have it, and one that was there."""
    nats, behind = Watched(api), 3
    options = {"peers": "http://127.0.0.1:1", "keep_seconds": 1, **options}
    first, _second = (joined(node(api, nats.port, name=name, **options)) for name in "ab")
    if absent:
        third = joined(node(api, nats.port, name="c", **options))
        taught(first)
        wait_for(lambda: said(third)["applied"] == 1, "the third has learned", 20, 0.05)
        hear(nats, "c")
        behind = said(third)["applied"] + 3  # nodes confirm it to each other by two messages
        third.stop()
    for turn in range(4):
        first.client.post(M + "/train", {"text": f"win cash {turn}", "label": "spam", "id": f"d{turn}"}).ok()
    found = nats.is_cut(behind)
    nats.stop()
    return found


def cluster_peers(api):
    equal([cut(api), cut(api, peers="")], [True, False])


def cluster_keep_seconds(api):
    equal([cut(api, keep_seconds=1), cut(api, keep_seconds=60)], [True, False])


def cluster_member_seconds(api):
    equal([cut(api, absent=True, member_seconds=6), cut(api, absent=True, member_seconds=3600)], [True, False])


def cluster_digest_seconds(api):
    """Two nodes find that they have learned the same; others do not look."""
    pairs = []
    for seconds in (8, 0):
        nats = Nats(api)
        pair = [joined(node(api, nats.port, name=name, digest_seconds=seconds)) for name in "ab"]
        pair[0].client.post(M + "/train", {"text": "win cash", "label": "spam"}).ok()
        pairs.append((nats, pair[0]))
    def same(daemon):
        return {one["name"]: one.get("same") for one in daemon.client.get("/v1/cluster").ok().json["members"]}.get("b")
    wait_for(lambda: same(pairs[0][1]), "they have compared what they know", 60, 0.2)
    equal(same(pairs[1][1]), None)
    for nats, _ in pairs:
        nats.stop()


def cluster_peer_token_file(api):
    """A peer that wants a token gives its store to who has one."""
    nats, token = Nats(api), "a-token-of-the-nodes-of-this-test"
    path = os.path.join(api.new_folder(), "token")
    with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(token + "\n")
    cluster = {"servers": f"nats://127.0.0.1:{nats.port}", "replicas": 1, "cluster_key_file": key_file(api)}
    peer = api.another(config={"cluster": cluster, "tokens": {"admin": token}}).start()
    as_admin = {"Authorization": f"Bearer {token}"}
    wait_for(lambda: peer.client.get("/readyz", **as_admin).json["cluster"]["connected"], "it follows the stream", 20, 0.05)
    for given, code in (({}, 1), ({"peer_token_file": path}, 0)):
        new = api.another(config={"cluster": {**cluster, **given}}, options=("--join", peer.url)).spawn()
        equal(new.wait(20), code, f"with {given}")
        equal(os.path.exists(os.path.join(new.data, "data.mdb")), code == 0)
    nats.stop()


def cluster_patience(api):
    nats = Nats(api)
    waited = []
    for seconds in (1, 3):
        daemon = joined(node(api, nats.port, patience=seconds))
        taught(daemon)
        began = time.monotonic()
        refused(daemon.client.post(M + "/classify?after=999", {"text": "win"}), 503, "999")
        waited.append(time.monotonic() - began)
        daemon.stop()
    holds(waited[0] >= 0.9 and waited[1] >= 2.9, waited)
    nats.stop()


def alone_with(api, nats, **options):
    """A node whose server has gone, after it has made a model."""
    daemon = joined(node(api, nats.port, **options))
    taught(daemon)
    nats.stop()
    wait_for(lambda: not said(daemon)["connected"], "it is alone", 20, 0.05)
    return daemon


def kept(daemon, count):
    """How many of so many texts it keeps."""
    statuses = [daemon.client.post(M + "/train", {"text": f"win {i}", "label": "spam"}).status for i in range(count)]
    holds(set(statuses) <= {202, 503}, statuses)
    equal(sorted(statuses), statuses, "refused once, refused always")
    equal(said(daemon)["queued"], statuses.count(202))
    return statuses.count(202)


def cluster_queue(api):
    equal(kept(alone_with(api, Nats(api), queue="yes"), 3), 3)
    without = alone_with(api, Nats(api))
    refused(without.client.post(M + "/train", {"text": "win", "label": "spam"}), 503)
    holds("queued" not in said(without), said(without))


def cluster_queue_bytes(api):
    few, more = (kept(alone_with(api, Nats(api), queue="yes", queue_bytes=size), 40) for size in ("1K", "2K"))
    holds(0 < few < more < 40, (few, more))


def cluster_queue_entries(api):
    for most in (1, 3):
        equal(kept(alone_with(api, Nats(api), queue="yes", queue_entries=most), 5), most)
