# SPDX-License-Identifier: Apache-2.0
"""config/cluster: the samples of nats-server's configuration are understood, form a cluster, and ask for the password."""
import os
import re
import ssl
import subprocess
import time

import ports
from authority import Authority
from harness import Daemon, _die_with_parent, clean_environment, equal, holds, wait_for
from jetstream import Connection

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config", "cluster")
PASSWORD = "a-password-of-the-nodes"
# What nodes have no need of: other subjects, and what would take away what was acknowledged.
FORBIDDEN = ("elsewhere", "$JS.API.STREAM.DELETE.bayesd", "$JS.API.STREAM.MSG.DELETE.bayesd", "$JS.API.STREAM.RESTORE.bayesd",
             "$JS.API.STREAM.SNAPSHOT.bayesd", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.SERVER.REMOVE")


class Sample:
    """Three servers of a sample, whose paths and addresses are put in the place of the sample's."""

    def __init__(self, nodes, name):
        self.folder, self.processes = nodes.new_folder(), []
        with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
            self.text = file.read()
        self.clients, self.routes = ([ports.free_port() for _ in range(3)] for _ in range(2))
        for purpose, authority in (("server", "ca"), ("route", "routes-ca")):
            made = Authority(self.folder, authority)
            certificate, key = made.sign(purpose, "serverAuth,clientAuth")
            os.rename(certificate, self.path(purpose + ".pem"))
            os.rename(key, self.path(purpose + ".key"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, number):
        text = re.sub(r"server_name: .*", "", self.text)
        text = re.sub(r"nats-route://(?:mail|nats)(\d)(?:\.example\.org)?:6222",
                      lambda found: f"nats-route://localhost:{self.routes[int(found[1]) - 1]}", text)
        for old, new in (("/etc/nats", self.folder), ("/var/lib/nats", self.path(f"data{number}")), ("0.0.0.0:4222",
                         f"127.0.0.1:{self.clients[number]}"), ("0.0.0.0:6222", f"127.0.0.1:{self.routes[number]}"),
                         ('http: "0.0.0.0:8222"', ""), ('http: "127.0.0.1:8222"', "")):
            text = text.replace(old, new)
        path = self.path(f"nats{number}.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"server_name: sample{number}\n" + text)
        with open(self.path(f"log{number}"), "wb") as log:
            self.processes.append(subprocess.Popen(
                ["nats-server", "-c", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=clean_environment(NATS_PASSWORD=PASSWORD), preexec_fn=_die_with_parent))

    def connect(self, number=0, **who):
        tls = ssl.create_default_context(cafile=self.path("ca.pem")) if "server.pem" in self.text else None
        return Connection(self.clients[number], "localhost", tls=tls, **who)

    def forms(self):
        try:
            with self.connect(**{"user": "bayesd", "pass": PASSWORD}) as connection:
                config = {"name": "bayesd", "subjects": ["bayesd.>"], "num_replicas": 3}
                connection.api("STREAM.CREATE.bayesd", config, 5)
                return True
        except Exception:  # not yet
            return False

    def said(self):
        found = []
        for number in range(3):
            with open(self.path(f"log{number}"), encoding="utf-8", errors="replace") as file:
                found += file.readlines()[-10:]
        return "".join(found)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


def works(nodes, name):
    sample = Sample(nodes, name)
    try:
        for number in range(3):
            sample.start(number)
        try:
            wait_for(sample.forms, "the servers form a cluster", 15, 0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{sample.said()}") from error
        with sample.connect(1, **{"user": "bayesd", "pass": PASSWORD}) as connection:
            equal(connection.publish("bayesd.changes", b"a change")["seq"], 1)
            equal([message.data for message in connection.read("bayesd")], [b"a change"])
            for subject in FORBIDDEN:
                connection.send(subject, b"{}")
                holds(refuses(connection.api, "STREAM.INFO.bayesd"), f"{subject} is refused")
        for who in ({}, {"user": "bayesd", "pass": "guessed"}, {"user": "somebody", "pass": PASSWORD}):
            holds(refuses(sample.connect, **who), f"{who} is let in")
    finally:
        sample.stop()


def refuses(function, *arguments, **more):
    try:
        function(*arguments, **more)
        return False
    except ConnectionError as error:
        return "Authorization" in str(error) or "Permissions" in str(error)


def test_the_servers_of_a_site(nodes):
    works(nodes, "nats-server.conf")


def test_the_servers_of_the_compose_file(nodes):
    works(nodes, "nats-server-compose.conf")


def environments(ports_of_servers, ports_of_nodes, key):
    """What compose.yaml gives each node, with the addresses of this machine."""
    with open(os.path.join(SAMPLES, "compose.yaml"), encoding="utf-8") as file:
        text = file.read().replace("${NATS_PASSWORD}", PASSWORD).replace("/run/secrets/cluster_key", key)
    for kind, listed in (("nats", ports_of_servers), ("node", ports_of_nodes)):
        text = re.sub(kind + r"(\d):(?:4222|8763)", lambda found: f"127.0.0.1:{listed[int(found[1]) - 1]}", text)
    common, *each = (dict(re.findall(r'(BAYESD_\w+): "?([^"}\n]*[^"}\n,])', part))
                     for part in re.split(r"environment: {<<: \*environment, ", text))
    return [{**common, **one} for one in each]


def test_the_nodes_of_the_compose_file(nodes):
    """Started together with a key that all may read, as the page says; each names itself and is found by the others."""
    sample, key = Sample(nodes, "nats-server-compose.conf"), os.path.join(nodes.new_folder(), "cluster.key")
    with open(key, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o444)) as file:
        file.write("0f" * 32 + "\n")
    listed = [ports.free_port() for _ in range(3)]
    found = environments(sample.clients, listed, key)
    equal([one["BAYESD_CLUSTER_NAME"] for one in found], ["node1", "node2", "node3"])
    daemons = [Daemon(nodes.binary, nodes.new_folder(), environment=one, listen=f"127.0.0.1:{port}")
               for one, port in zip(found, listed)]
    try:
        for number in range(3):
            sample.start(number)
        for daemon in daemons:
            daemon.spawn()
        for daemon in daemons:
            daemon.wait_ready(30)
        for daemon in daemons:
            wait_for(lambda daemon=daemon: daemon.client.get("/readyz").json["cluster"]["connected"], "it follows", 40, 0.1)
        number = daemons[0].client.post("/v1/models/m/train", {"label": "a", "text": "b"}).ok().json["number"]
        for daemon in daemons:
            equal(daemon.client.get(f"/v1/models/m?after={number}").ok().json["documents"], 1)
        def named():
            members = daemons[0].client.get("/v1/cluster").ok().json["members"]
            return {one["name"]: one["url"] for one in members}
        wanted = {f"node{i + 1}": f"http://127.0.0.1:{port}" for i, port in enumerate(listed)}
        wait_for(lambda: named() == wanted, lambda: f"they know each other: {named()}", 30, 0.2)
    finally:
        for daemon in daemons:
            daemon.kill()
        sample.stop()


def test_without_tls_nobody_is_let_in(nodes):
    sample = Sample(nodes, "nats-server.conf")
    try:
        sample.start(0)
        def asks_for_tls():
            try:
                Connection(sample.clients[0], "localhost", seconds=2, **{"user": "bayesd", "pass": PASSWORD})
                return "let in"
            except ConnectionRefusedError:  # it is not there yet
                return None
            except (OSError, ValueError) as error:
                return repr(error)
        holds(wait_for(asks_for_tls, "it answers", 15, 0.1) != "let in", "without TLS")
    finally:
        sample.stop()


def test_a_server_of_strangers_gets_no_message(nodes):
    """Its certificate is of the authority for clients, not of that for the servers."""
    sample = Sample(nodes, "nats-server.conf")
    certificate, key = Authority(sample.folder, "strangers").sign("route", "serverAuth,clientAuth")
    try:
        sample.start(0)
        sample.start(1)
        os.rename(certificate, sample.path("route.pem"))
        os.rename(key, sample.path("route.key"))
        sample.text = sample.text.replace('subscribe: ["_INBOX.>"]', 'subscribe: [">"]')  # it asks nobody
        sample.start(2)
        with wait_for(lambda: logged_in(sample, 2), "the stranger answers", 15, 0.1) as connection:
            connection.subscribe("bayesd.>")
            with sample.connect(0, **{"user": "bayesd", "pass": PASSWORD}) as inside:
                for _ in range(20):
                    inside.send("bayesd.changes", b"a secret")
                    time.sleep(0.05)
            try:
                raise AssertionError(f"the stranger was sent {connection.next(1).data}")
            except TimeoutError:
                pass
        with open(sample.path("log2"), encoding="utf-8", errors="replace") as file:
            holds("TLS" in file.read(), "the stranger was refused")
    finally:
        sample.stop()


def logged_in(sample, number):
    try:
        return sample.connect(number, **{"user": "bayesd", "pass": PASSWORD})
    except (OSError, ValueError):
        return None
