# SPDX-License-Identifier: Apache-2.0
"""The six processes: three nats-servers with JetStream, three bayesds, and the links between them (links.py).

A process is known to the others by its doors alone. The test itself asks a process at its real ports, so that a node
that is cut off from the others can still be asked.
"""
import os
import shutil
import signal
import subprocess

import ports
from harness import Daemon, PATIENCE, _die_with_parent, clean_environment, config_text, holds, patience, wait_for
from jetstream import Connection, Refused
from links import Network

STREAM = "bayesd"
CLUSTER_KEY = bytes(range(32)).hex()
# Broken links are found in seconds, as a test needs it; a site keeps the defaults.
NATS_CONFIG = """
server_name: {name}
listen: "127.0.0.1:{client}"
client_advertise: "127.0.0.1:{client_door}"
jetstream {{ store_dir: "{data}", max_memory_store: 64M, max_file_store: 8G }}
cluster {{
    name: tests
    listen: "127.0.0.1:{route}"
    advertise: "127.0.0.1:{route_door}"
    no_advertise: true
    routes: [{routes}]
    connect_retries: 1000000
}}
ping_interval: "2s"
ping_max: 2
write_deadline: "4s"
"""


class Member:
    """A process that can be killed, stopped, emptied and started again."""

    def __init__(self, name):
        self.name, self.is_frozen = name, False

    def signalled(self, number):
        os.kill(self.pid(), number)

    def freeze(self):
        self.signalled(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen and self.running():
            self.signalled(signal.SIGCONT)
        self.is_frozen = False


class NatsServer(Member):
    def __init__(self, name, folder, is_linked):
        super().__init__(name)
        self.folder, self.data = folder, os.path.join(folder, "jetstream")
        self.client, self.route = ports.free_port(), ports.free_port()
        self.client_door = ports.free_port() if is_linked else self.client
        self.route_door = ports.free_port() if is_linked else self.route
        self.config = os.path.join(folder, "nats.conf")
        self.log, self.process = os.path.join(folder, "log"), None

    def configure(self, all_of_them):
        routes = ", ".join(f"nats-route://127.0.0.1:{other.route_door}" for other in all_of_them if other is not self)
        with open(self.config, "w", encoding="ascii") as file:
            file.write(NATS_CONFIG.format(name=self.name, client=self.client, client_door=self.client_door, data=self.data,
                                          route=self.route, route_door=self.route_door, routes=routes))

    def pid(self):
        return self.process.pid if self.running() else None

    def running(self):
        return self.process is not None and self.process.poll() is None

    def spawn(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["nats-server", "-c", self.config], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=clean_environment(), preexec_fn=_die_with_parent)
        return self

    def wait_ready(self):
        wait_for(self.answers, f"{self.name} answers:\n{self.said()}", 20, 0.02)
        return self

    def start(self):
        return self.spawn().wait_ready()

    def answers(self):
        holds(self.running(), f"{self.name} is gone:\n{self.said()}")
        try:
            self.connect(1).close()
            return True
        except OSError:
            return False

    def connect(self, seconds=10.0):
        return Connection(self.client, seconds=seconds)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-30:])

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(patience(20))

    def empty(self):
        """The disk is lost. Not while it runs."""
        shutil.rmtree(self.data, ignore_errors=True)


class Node(Member):
    """A bayesd. `site` is the Site that it belongs to."""

    def __init__(self, name, binary, folder, site):
        super().__init__(name)
        self.port, self.site, self.peers, self.more = ports.free_port(), site, (), {}
        self.is_stopping = False
        self.key = os.path.join(folder, "cluster.key")
        with open(self.key, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(CLUSTER_KEY + "\n")
        self.daemon = Daemon(binary, folder, config=self.settings(), listen=f"127.0.0.1:{self.port}")

    def settings(self):
        """The configuration of a node: the only place that knows the names of its options."""
        found = {key: dict(options) for key, options in self.site.settings.items()}
        if self.site.is_clustered:
            servers = ",".join(f"nats://127.0.0.1:{server.client_door}" for server in self.site.servers)
            cluster = {"servers": servers, "stream": STREAM, "replicas": 3, "cluster_key_file": self.key}
            if self.peers:
                cluster["peers"] = ",".join(f"http://127.0.0.1:{peer.port}" for peer in self.peers)
            found["cluster"] = {**cluster, **self.more, **found.get("cluster", {})}
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
        return status == 200 and said["cluster"]["connected"] and not said["cluster"]["behind"]

    def applied(self):
        """The number of the last change that is on its disk; -1 while it says that it must not follow."""
        return self.ready()[1].get("cluster", {}).get("applied", -1)

    def has(self, number):
        """Whether it has applied the change of this number, which says in which stream it is."""
        cluster = self.ready()[1].get("cluster", {})
        lanes = cluster.get("streams", [cluster])
        return lanes[number % len(lanes)].get("applied", -1) >= number // len(lanes)

    def digest(self, stream=0):
        """{"number", "digest"} of what it has learned."""
        return self.client.get(f"/v1/state/digest?stream={stream}").ok().json


class Site:
    """All of them. `binary` None: nats-servers alone. Not `clustered`: daemons without a [cluster]. Not `linked`: they reach
    each other without a network of ours, for who measures. `settings` may name servers of others, when `servers` is 0."""

    def __init__(self, folder, binary=None, nodes=3, clustered=True, linked=True, settings=None, servers=3):
        self.folder, self.is_clustered, self.settings = folder, clustered, settings or {}
        self.streams = self.settings.get("cluster", {}).get("streams", 1)
        self.stream_names = [STREAM] if self.streams == 1 else [f"{STREAM}_{which}" for which in range(self.streams)]
        self.barriers = {}  # of test_nodes: a model of each stream
        self.network = Network()
        self.servers = [NatsServer(f"nats{i}", self.new_folder(f"nats{i}"), linked)
                        for i in range(1, servers + 1)] if clustered else []
        for server in self.servers:
            server.configure(self.servers)
            if linked:
                self.network.door(server.name, server.client_door, server.client)
                self.network.door(server.name, server.route_door, server.route)
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
        return [*self.servers, *self.nodes]

    def start(self):
        self.start_servers()
        for node in self.nodes:
            node.start()
        if self.is_clustered:
            for node in self.nodes:
                node.wait_joined()
        return self

    def start_servers(self):
        for server in self.servers:
            server.spawn()
        for server in self.servers:
            server.wait_ready()
        if self.servers:
            self.wait_formed()

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
        for member in self.members:
            member.kill()
        self.network.stop()

    # -- the stream
    def connect(self):
        """To any nats-server that answers."""
        for server in self.servers:
            if server.running() and not server.is_frozen:
                try:
                    return server.connect()
                except OSError:
                    pass
        raise ConnectionError("no nats-server answers")

    def wait_formed(self):
        """All nats-servers have found each other, and one leads what belongs to all of them."""
        def is_formed():
            try:
                with self.connect() as connection:
                    connection.api("INFO", seconds=2)
                    return len(self.servers) <= 1 or self.has_peers(connection)
            except (OSError, Refused):
                return False
        wait_for(is_formed, "the nats-servers form a cluster", 40, 0.1)

    @staticmethod
    def has_peers(connection):
        """A stream with three replicas can be made: there is a leader, and it knows of all."""
        config = {"name": "formed", "subjects": ["formed"], "num_replicas": 3, "storage": "memory"}
        connection.api("STREAM.CREATE.formed", config, 2)
        connection.api("STREAM.DELETE.formed", seconds=2)
        return True

    def stream(self, name, server=None):
        """What JetStream says of a stream, asked at this server or at any, or None while it does not."""
        try:
            with (self.connect() if server is None else server.connect()) as connection:
                return connection.api("STREAM.INFO." + name, seconds=2)
        except (OSError, Refused):
            return None

    def is_whole(self, name):
        """Every replica has all of a stream. Each server is asked: one that was cut off may still take itself for the
        leader, and does not know what the others have."""
        said = [self.stream(name, server) for server in self.servers]
        if not all(info and info["cluster"].get("leader") for info in said):
            return False
        return (len({(info["cluster"]["leader"], info["state"]["last_seq"]) for info in said}) == 1
                and all(self.has_all(info["cluster"].get("replicas", ())) for info in said))

    def has_all(self, replicas):
        return len(replicas) == len(self.servers) - 1 and all(
            one.get("current") and not one.get("offline") and not one.get("lag") for one in replicas)

    def wait_whole(self, name):
        wait_for(lambda: self.is_whole(name), f"each replica has all of {name}: {self.stream(name)}", 60, 0.1)

    def leader(self, name):
        """The nats-server that leads a stream."""
        info = wait_for(lambda: (lambda found: found and found["cluster"].get("leader") and found)(self.stream(name)),
                        f"a leader of {name}", 40, 0.05)
        return next(server for server in self.servers if server.name == info["cluster"]["leader"])

