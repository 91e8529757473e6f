# SPDX-License-Identifier: Apache-2.0
"""What each option of [nodes] does, with a PostgreSQL of our own. Several nodes: tests/nodes."""
import atexit
import itertools
import os
import shutil
import sys
import tempfile
import time

import ports
from authority import Authority
from harness import equal, holds, patience, refused, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nodes"))
import databases  # noqa: E402  (needs the path above)

M = "/v1/models/m"
KEY = bytes(range(32)).hex()
_server, _names = [], itertools.count(1)


def server():
    """One for all tests; each has a database of its own there."""
    if not _server:
        folder = tempfile.mkdtemp(prefix="bayesd-postgres-")
        one = databases.Database("db", folder, False)
        os.chmod(folder, 0o755)
        one.init()
        _server.append(one)
        atexit.register(lambda: (one.kill(), shutil.rmtree(folder, ignore_errors=True)))
    return _server[0]


class Postgres:
    """A database with the tables of so many streams."""

    def __init__(self, api, streams=1):
        self.name, self.port = f"of_a_test_{next(_names)}", server().port
        server().sql(f"CREATE DATABASE {self.name}")
        self.url = f"postgresql://{databases.USER}@127.0.0.1:{self.port}/{self.name}"
        status, out, err = api.tool("--config", config_file(api, {"nodes": {"database": self.url, "streams": streams}}), "--nodes-init")
        holds(status == 0 and "GRANT" in out, out + err)

    def sql(self, text):
        return server().run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", databases.USER, "-d", self.name, "-AtXc", text).strip()

    def stop(self):
        """Nobody reaches it any more."""
        server().sql(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false",
                     f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'")


def config_file(api, config):
    path = os.path.join(api.new_folder(), "nodes.conf")
    with open(path, "w", encoding="utf-8") as file:
        for group, options in config.items():
            file.write(f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in options.items()))
    return path


def key_file(api, key=KEY):
    path = os.path.join(api.new_folder(), "nodes.key")
    with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(key + "\n")
    return path


def node(api, database, **options):
    found = {"database": database if isinstance(database, str) else database.url, "key_file": key_file(api), "patience": 5, **options}
    return api.another(config={"nodes": found}).start()


def said(daemon):
    """What /readyz says of the nodes; of one that was refused, only why."""
    return daemon.client.get("/readyz").json.get("nodes", {"connected": False})


def joined(daemon):
    wait_for(lambda: said(daemon)["connected"], lambda: f"it follows: {daemon.client.get('/readyz').body}", 20, 0.05)
    return daemon


def stays_out(daemon):
    """Not connected after the time in which others are; a change is refused."""
    time.sleep(2)
    holds(not said(daemon)["connected"], said(daemon))
    equal(daemon.client.post(M + "/train", {"text": "win", "label": "spam"}).status, 503)


def taught(daemon, model=M):
    return daemon.client.post(model + "/train", {"text": "win cash", "label": "spam"}).ok().json["number"]


def nodes_database(api):
    database = Postgres(api)
    alone = api.another().start()
    holds("nodes" not in alone.client.get("/readyz").json, "a daemon without the section is alone")
    equal(taught(joined(node(api, database))), 1)
    stays_out(node(api, "postgresql://127.0.0.1:1/nowhere"))


def nodes_databases(api):
    """A stream in a database of its own, by a line of the file, or by the list."""
    most, second = Postgres(api, 2), Postgres(api, 2)
    daemon = joined(node(api, most, streams=2, **{"database.1": second.url}))
    for turn in range(12):
        taught(daemon, f"/v1/models/m{turn}")
    found = [[database.sql(f"SELECT last FROM bayesd.stream WHERE number = {i}") != "0" for i in (0, 1)] for database in (most, second)]
    equal(found, [[True, False], [False, True]])
    daemon.stop()
    joined(node(api, most, streams=2, databases=f"1={second.url}"))
    refusal = api.another(config={"nodes": {"database": most.url, "databases": "9=x", "key_file": key_file(api)}}).spawn()
    holds(refusal.wait() != 0 and "[nodes] databases" in refusal.output(), refusal.output())


def nodes_streams(api):
    database = Postgres(api, 3)
    several = joined(node(api, database, streams=3))
    equal([one["stream"] for one in said(several)["streams"]], [0, 1, 2])
    equal(len({taught(several, f"/v1/models/m{i}") % 3 for i in range(20)}), 3, "streams that models of many names are in")
    stays_out(node(api, database, streams=2))


def nodes_key_file(api):
    database = Postgres(api)
    taught(joined(node(api, database)))
    stranger = node(api, database, key_file=key_file(api, KEY[::-1]))
    wait_for(lambda: "another key" in stranger.client.get("/readyz").body.decode(), "it says why it does not join", 20, 0.05)
    stays_out(stranger)
    without = api.another(config={"nodes": {"database": database.url, "key_file": "/nowhere"}}).spawn()
    holds(without.wait(20) > 0, "started without its key")


def named(daemon):
    return [(one["name"], one.get("url")) for one in daemon.client.get("/v1/nodes").ok().json["members"]]


def nodes_name(api):
    """What a node tells the others stands under its name."""
    database = Postgres(api)
    joined(node(api, database, name="mail 1"))
    equal(database.sql("SELECT name FROM bayesd.member"), "mail-1")


def nodes_url(api):
    """What a node tells the others is where they, and administrators, find it."""
    daemon = joined(node(api, Postgres(api), name="mail-1", url="https://mail1.example.org:8764"))
    wait_for(lambda: named(daemon) == [("mail-1", "https://mail1.example.org:8764")], "it knows itself", 20, 0.1)


def nodes_follow(api):
    """A node has the models of its streams, and says so of others, with the URLs of nodes that have them."""
    database = Postgres(api, 3)
    part = joined(node(api, database, streams=3, name="a", follow="0,1-1"))
    joined(node(api, database, streams=3, name="b", follow="2", url="http://b:1"))
    wait_for(lambda: ("b", "http://b:1") in named(part), "it has heard of the other", 20, 0.1)
    replies = [part.client.post(f"/v1/models/m{i}/train", {"text": "win cash", "label": "spam"}) for i in range(20)]
    equal({reply.status for reply in replies}, {200, 421})
    elsewhere = next(reply for reply in replies if reply.status == 421)
    equal(elsewhere.json["urls"], ["http://b:1"])
    equal([one.get("follows", False) for one in said(part)["streams"]], [True, True, False])
    refusal = api.another(config={"nodes": {"database": database.url, "follow": "0,x", "key_file": key_file(api)}}).spawn()
    holds(refusal.wait() != 0 and "[nodes] follow: numbers" in refusal.output(), refusal.output())


def cut(api, absent=False, **options):
    """Whether the stream loses its beginning, with two nodes that have it, and one that was there."""
    database, behind = Postgres(api), 2
    options = {"peers": "http://127.0.0.1:1", "keep_seconds": 1, **options}
    first, _second = (joined(node(api, database, name=name, **options)) for name in "ab")
    if absent:
        third = joined(node(api, database, name="c", **options))
        taught(first)
        wait_for(lambda: said(third)["applied"] == 1, "the third has learned", 20, 0.05)
        wait_for(lambda: database.sql("SELECT applied FROM bayesd.member WHERE name = 'c'") == "1", "it has said so", 20, 0.1)
        behind = 3
        third.stop()
    for turn in range(6):
        first.client.post(M + "/train", {"text": f"win cash {turn}", "label": "spam", "id": f"d{turn}"}).ok()
    def first_of():
        return int(database.sql("SELECT cut + 1 FROM bayesd.stream"))
    try:
        wait_for(lambda: first_of() >= behind, "the stream is cut", 10 / patience(1), 0.1)
        return True
    except AssertionError:
        return False


def nodes_peers(api):
    equal([cut(api), cut(api, peers="")], [True, False])


def nodes_keep_seconds(api):
    equal([cut(api, keep_seconds=1), cut(api, keep_seconds=60)], [True, False])


def nodes_member_seconds(api):
    equal([cut(api, absent=True, member_seconds=3), cut(api, absent=True, member_seconds=3600)], [True, False])


def nodes_digest_seconds(api):
    """Two nodes find that they have learned the same; others do not look."""
    pairs = []
    for seconds in (4, 0):
        database = Postgres(api)
        pair = [joined(node(api, database, name=name, digest_seconds=seconds)) for name in "ab"]
        pair[0].client.post(M + "/train", {"text": "win cash", "label": "spam"}).ok()
        pairs.append(pair[0])
    def same(daemon):
        return {one["name"]: one.get("same") for one in daemon.client.get("/v1/nodes").ok().json["members"]}.get("b")
    wait_for(lambda: same(pairs[0]), "they have compared what they know", 60, 0.2)
    equal(same(pairs[1]), None)


def nodes_peer_token_file(api):
    """A peer that wants a token gives its store to who has one."""
    database, token = Postgres(api), "a-token-of-the-nodes-of-this-test"
    path = os.path.join(api.new_folder(), "token")
    with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(token + "\n")
    nodes = {"database": database.url, "key_file": key_file(api)}
    peer = api.another(config={"nodes": nodes, "tokens": {"admin": token}}).start()
    as_admin = {"Authorization": f"Bearer {token}"}
    wait_for(lambda: peer.client.get("/readyz", **as_admin).json.get("nodes", {}).get("connected"), "it follows", 20, 0.05)
    for given, code in (({}, 1), ({"peer_token_file": path}, 0)):
        new = api.another(config={"nodes": {**nodes, **given}}, options=("--join", peer.url)).spawn()
        equal(new.wait(20), code, f"with {given}: {new.output()}")
        equal(os.path.exists(os.path.join(new.data, "data.mdb")), code == 0)


def joins(api, **shown):
    """Whether a node joins by one that speaks TLS and asks for a certificate of the role admin; `shown` are its settings, by
    an authority that may be another one."""
    database, authority, others = Postgres(api), Authority(api.new_folder()), Authority(api.new_folder(), "others")
    certificate, key = authority.sign("localhost")
    nodes, port = {"database": database.url, "key_file": key_file(api)}, ports.free_port()
    tls = {"listen": f"127.0.0.1:{port}", "certificate": certificate, "key": key, "client_ca": authority.certificate,
           "client_role": "admin"}
    token = "a-token-of-the-nodes-of-this-test"
    peer = api.another(config={"nodes": nodes, "tls": tls, "tokens": {"admin": token}}).start()
    as_admin = {"Authorization": f"Bearer {token}"}
    wait_for(lambda: peer.client.get("/readyz", **as_admin).json.get("nodes", {}).get("connected"), "it follows", 20, 0.05)
    settings = {name: make(authority, others) for name, make in {**GOOD, **shown}.items()}
    pair = authority.sign("node", "clientAuth")
    files = {"tls_certificate": pair[0], "tls_key": pair[1]}
    settings = {name: files[name] if value is True else value for name, value in settings.items()}
    new = api.another(config={"nodes": {**nodes, **settings}}, options=("--join", f"https://localhost:{port}")).spawn()
    return new.wait(30) == 0


GOOD = {"tls_ca": lambda authority, others: authority.certificate, "tls_certificate": lambda *_: True, "tls_key": lambda *_: True}


def nodes_tls_ca(api):
    equal([joins(api), joins(api, tls_ca=lambda _, others: others.certificate)], [True, False])


def nodes_tls_certificate(api):
    equal([joins(api), joins(api, tls_certificate=lambda _, others: others.sign("stranger", "clientAuth")[0])], [True, False])


def nodes_tls_key(api):
    equal([joins(api), joins(api, tls_key=lambda authority, _: authority.sign("another", "clientAuth")[1])], [True, False])


def nodes_patience(api):
    database = Postgres(api)
    waited = []
    for seconds in (1, 3):
        daemon = joined(node(api, database, patience=seconds))
        taught(daemon)
        began = time.monotonic()
        refused(daemon.client.post(M + "/classify?after=999", {"text": "win"}), 503, "999")
        waited.append(time.monotonic() - began)
        daemon.stop()
    holds(waited[0] >= 0.9 and waited[1] >= 2.9, waited)


def alone_with(api, **options):
    """A node whose database has gone, after it has made a model."""
    database = Postgres(api)
    daemon = joined(node(api, database, **options))
    taught(daemon)
    database.stop()
    wait_for(lambda: not said(daemon)["connected"], "it is alone", 20, 0.05)
    return daemon


def kept(daemon, count):
    """How many of so many texts it keeps."""
    statuses = [daemon.client.post(M + "/train", {"text": f"win {i}", "label": "spam"}).status for i in range(count)]
    holds(set(statuses) <= {202, 503}, statuses)
    equal(sorted(statuses), statuses, "refused once, refused always")
    equal(said(daemon)["queued"], statuses.count(202))
    return statuses.count(202)


def nodes_queue(api):
    equal(kept(alone_with(api, queue="yes"), 3), 3)
    without = alone_with(api)
    refused(without.client.post(M + "/train", {"text": "win", "label": "spam"}), 503)
    equal(said(without)["queued"], 0)


def nodes_queue_bytes(api):
    few, more = (kept(alone_with(api, queue="yes", queue_bytes=size), 40) for size in ("1K", "2K"))
    holds(0 < few < more < 40, (few, more))


def nodes_queue_entries(api):
    for most in (1, 3):
        equal(kept(alone_with(api, queue="yes", queue_entries=most), 5), most)
