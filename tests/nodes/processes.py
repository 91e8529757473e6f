# SPDX-License-Identifier: Apache-2.0
"""The five processes: a PostgreSQL with a streaming standby, three bayesds, and the links between them (links.py).

A process is known to the others by its doors alone. The test itself asks a process at its real ports, so that a node
that is cut off from the others can still be asked.
"""
import os
import shutil
import subprocess

import ports
from databases import USER, Database, Member
from harness import Daemon, PATIENCE, clean_environment, config_text, holds, wait_for
from links import Network

KEY = bytes(range(32)).hex()


class Node(Member):
    """A bayesd. `site` is the Site that it belongs to."""

    def __init__(self, name, binary, folder, site):
        super().__init__(name)
        self.port, self.site, self.peers, self.more = ports.free_port(), site, (), {}
        self.is_stopping = False
        self.key = os.path.join(folder, "nodes.key")
        with open(self.key, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(KEY + "\n")
        self.daemon = Daemon(binary, folder, config=self.settings(), listen=f"127.0.0.1:{self.port}")

    def settings(self):
        """The configuration of a node: the only place that knows the names of its options."""
        found = {key: dict(options) for key, options in self.site.settings.items()}
        if self.site.is_shared:
            nodes = {"database": self.site.conninfo, "key_file": self.key}
            if self.peers:
                nodes["peers"] = ",".join(f"http://127.0.0.1:{peer.port}" for peer in self.peers)
            found["nodes"] = {**nodes, **self.more, **found.get("nodes", {})}
        return found

    def set_peers(self, peers):
        """From the next start on."""
        self.peers = peers
        self.configure()

    def configure(self):
        with open(os.path.join(self.daemon.folder, "bayesd.conf"), "w", encoding="utf-8") as file:
            file.write(config_text(self.settings()))

    def pid(self):
        return self.daemon.process.pid if self.running() else None

    def running(self):
        return self.daemon.running()

    def start(self, seconds=30):
        self.daemon.start(seconds)
        return self

    def kill(self):
        self.thaw()
        self.daemon.kill()

    def stop(self):
        self.is_stopping = True
        try:
            self.daemon.stop(seconds=30)
        finally:
            self.is_stopping = False

    def empty(self):
        shutil.rmtree(self.daemon.data, ignore_errors=True)

    @property
    def client(self):
        return self.daemon.client

    def new_client(self, timeout=30.0):
        return self.daemon.new_client(timeout / PATIENCE)

    def ready(self):
        """What it says of itself: (status, body)."""
        reply = self.client.get("/readyz")
        return reply.status, reply.json

    def wait_joined(self):
        wait_for(self.has_joined, lambda: f"{self.name} follows the stream: {self.ready()}", 30, 0.02)

    def has_joined(self):
        status, said = self.ready()
        return status == 200 and said["nodes"]["connected"] and not said["nodes"]["behind"]

    def applied(self):
        """The number of the last change that is on its disk; -1 while it says that it must not follow."""
        return self.ready()[1].get("nodes", {}).get("applied", -1)

    def has(self, number):
        """Whether it has applied the change of this number, which says in which stream it is."""
        nodes = self.ready()[1].get("nodes", {})
        lanes = nodes.get("streams", [nodes])
        return lanes[number % len(lanes)].get("applied", -1) >= number // len(lanes)

    def digest(self, stream=0):
        """{"number", "digest"} of what it has learned."""
        return self.client.get(f"/v1/state/digest?stream={stream}").ok().json


class Site:
    """All of them. `binary` None: databases alone. Not `shared`: daemons without [nodes]. Not `linked`: they reach each other
    without a network of ours, for who measures. `settings` may name a database of others, when `databases` is 0; with one
    there is no standby."""

    def __init__(self, folder, binary=None, nodes=3, shared=True, linked=True, settings=None, databases=2):
        self.folder, self.is_shared, self.settings, self.binary = folder, shared, settings or {}, binary
        self.streams = self.settings.get("nodes", {}).get("streams", 1)
        self.barriers = {}  # of test_nodes: a model of each stream
        self.network = Network()
        if os.geteuid() == 0:  # others have to reach theirs
            os.chmod(folder, 0o711)
            os.chmod(os.path.dirname(folder), 0o711)
        self.databases = [Database(f"db{i}", self.new_folder(f"db{i}"), linked)
                          for i in range(1, databases + 1)] if shared else []
        for database in self.databases if linked else ():
            self.network.door(database.name, database.door, database.port)
        hosts = ",".join(f"127.0.0.1:{database.door}" for database in self.databases)
        self.conninfo = f"postgresql://{USER}@{hosts}/{USER}" if hosts else ""
        self.nodes = [] if binary is None else [Node(f"node{i}", binary, self.new_folder(f"node{i}"), self)
                                                for i in range(1, nodes + 1)]
        for member in self.members:
            self.network.knows(member.name, member.pid)
        self.network.start()

    def new_folder(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    @property
    def members(self):
        return [*self.databases, *self.nodes]

    @property
    def primary(self):
        return self.databases[0]

    def start(self):
        self.start_databases()
        for node in self.nodes:
            node.start()
        if self.is_shared:
            for node in self.nodes:
                node.wait_joined()
        return self

    def start_databases(self):
        """The first time they are made, with the tables."""
        for turn, database in enumerate(self.databases):
            if os.path.exists(database.data):
                database.start()
            elif turn == 0:
                database.init()
            else:
                database.follow_new(self.primary)
        if not self.databases:
            return
        if self.primary.sql("SELECT to_regclass('bayesd.stream') IS NULL") == "t":
            self.init_tables()
        self.primary.synchronous(len(self.databases) > 1)

    def init_tables(self):
        node = self.nodes[0] if self.nodes else Node("maker", self.binary, self.new_folder("maker"), self)
        done = subprocess.run([*node.daemon.command, "--nodes-init"], capture_output=True, text=True, env=clean_environment(),
                              check=False)
        holds(done.returncode == 0 and "GRANT" in done.stdout, done.stdout + done.stderr)
        return done.stdout

    def fail_over(self, meanwhile=None):
        """The standby takes the place of the primary, which has lost its disk and becomes its standby. It does not have what
        was committed while `meanwhile` was called."""
        primary, standby = self.databases
        if meanwhile:
            primary.synchronous(False)
            standby.stop()
            meanwhile()
        primary.kill()
        if meanwhile:
            standby.start()
        standby.promote()
        standby.synchronous(False)
        primary.empty()
        primary.clone(standby)
        standby.synchronous(True)
        self.databases = [standby, primary]

    def heal(self):
        """Everything is there again and runs; nothing is waited for but that it answers."""
        self.network.heal()
        for member in self.members:
            member.thaw()
        for member in self.members:
            if not member.running():
                member.start()

    def close(self):
        for member in self.members:
            member.thaw()
        for member in reversed(self.members):
            member.kill()
        self.network.stop()

    # -- the stream
    def last(self, stream=0):
        return int(self.primary.sql(f"SELECT last FROM bayesd.stream WHERE number = {stream}"))

    def first(self, stream=0):
        """The first position that is still there."""
        return int(self.primary.sql(f"SELECT cut + 1 FROM bayesd.stream WHERE number = {stream}"))
