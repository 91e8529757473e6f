# SPDX-License-Identifier: Apache-2.0
"""Clients of all nodes at once: every kind of change, of the same few models and documents. Each notes what it was told."""
import contextlib
import http.client
import itertools
import random
import threading
import time

from account import COPIES, Event, Row, patiently
from acknowledged import exported, path_of
from harness import holds, patience

LABELS = ("ham", "spam", "other", "fourth")
MODELS = 4
DOCUMENTS = 24
SMOOTHINGS = (0.25, 0.5, 2.0)
PROMISES_NOTHING = (500, 502, 503, 504)
REFUSALS = (404, 409)  # there is no such model, document or label; or there is, and it must not be


def text_of(number, version=0):
    """A document's words: those of an even number never change, so that what is undone is known."""
    rng = random.Random(f"{number} {version if number % 2 else 0}")
    return " ".join(f"w{int(70 * rng.random() ** 2)}" for _ in range(3 + number % 24 + version % 7 * (number % 2)))


class Client(threading.Thread):
    """Goes from node to node; stops when it has made `requests`, or is told to."""

    def __init__(self, site, account, rng, number, default, requests, nodes=None, dump=None):
        super().__init__(daemon=True)
        self.site, self.account, self.rng, self.number, self.default = site, account, rng, number, default
        self.nodes, self.requests, self.serial = nodes or site.nodes, requests, itertools.count(1)
        self.dump = dump  # what it imports (dumped()), or None
        self.connections, self.stopping, self.fault = {}, threading.Event(), None
        self.may_go, self.rests = threading.Event(), threading.Event()
        self.may_go.set()
        self.taught = []     # (model, source) of requests that an undo can take back
        self.kept, self.is_sure = None, True  # the states of its network, None: there is none; and whether that is known
        self.made, self.doubts, self.slowest = 0, 0, 0.0

    def run(self):
        try:
            while self.made < self.requests and not self.stopping.is_set():
                self.rests.set()
                self.may_go.wait()
                self.rests.clear()
                self.made += 1
                self.step()
        except Exception as error:  # the test's thread raises it
            self.fault = error
        finally:
            self.rests.set()
            for connection in self.connections.values():
                connection.close()

    # -- requests
    def source(self):
        return f"c{self.number}.{next(self.serial)}.{self.rng.randrange(10**6)}"

    def ask(self, method, path, body, events, kind=None):
        """The reply, or None if nothing is promised. What was refused has changed nothing."""
        node = self.rng.choice(self.nodes)
        self.account.sent(*events)
        client = self.connections.get(node.name) or self.connections.setdefault(node.name, node.new_client(40))
        begin = time.monotonic()
        try:
            reply = self.request(client, method, path, body, kind)
        except ConnectionRefusedError:  # nobody listens
            time.sleep(0.05)
            return None
        except (OSError, http.client.HTTPException):
            reply = None
        self.slowest = max(self.slowest, time.monotonic() - begin)
        if reply is None or reply.status in PROMISES_NOTHING:
            self.doubts += 1
            self.account.doubted(*events)
            time.sleep(0.05)
            return None
        if reply.status in REFUSALS:
            return None
        holds(200 <= reply.status < 300, f"{method} {path} {body}: {reply.status} {reply.body[:300]}")
        return reply

    @staticmethod
    def request(client, method, path, body, kind):
        return client.once(method, path, body, kind)

    def one(self, method, path, body, event, kind=None):
        reply = self.ask(method, path, body, [event], kind)
        if reply is not None:
            self.account.known(event, number_of(reply), said_by(reply))
        return reply

    # -- changes
    def step(self):
        changes = (self.train, self.batch, self.relabel, self.by_id, self.untrain, self.undo, self.settings, self.delete,
                   self.rename, self.merge, self.delete_label, self.network, self.imported, self.copy)
        change = self.rng.choices(changes, (40, 8, 15, 8, 12, 6, 4, 1, 2, 2, 1, 4, 1, 2))[0]
        name = f"m{self.rng.randrange(MODELS)}"
        if self.account.is_open(name):
            change(name)
        else:
            time.sleep(0.01)

    def label(self):
        return self.rng.choice(LABELS) if self.rng.randrange(8) else None

    def train_event(self, name, number, source):
        text = text_of(number, self.rng.randrange(5))
        return Event(name, "train", source, (f"d{number}",), label=self.label(), text=text, default=self.default)

    def train(self, name, number=None):
        number = self.rng.randrange(DOCUMENTS) if number is None else number
        source = self.source()
        event = self.train_event(name, number, source)
        if self.account.is_open(name, event.ids):
            reply = self.one("POST", path_of(name) + "/train", document_of(event), event)
            if reply is not None and not number % 2:
                self.taught.append((name, source))

    def relabel(self, name):
        self.train(name, 2 * self.rng.randrange(DOCUMENTS // 2))

    def batch(self, name):
        source = self.source()
        events = [self.train_event(name, n, source) for n in self.rng.sample(range(DOCUMENTS), self.rng.randrange(2, 12))]
        events = [event for event in events if self.account.is_open(name, event.ids)]
        if not events:
            return
        reply = self.ask("POST", path_of(name) + "/train", {"documents": [document_of(e) for e in events]}, events)
        for event, result in zip(events, reply.json["results"] if reply is not None else ()):
            if "error" in result:
                if result["error"]["status"] in PROMISES_NOTHING:
                    self.account.doubted(event)
            else:
                self.account.known(event, result.get("number"), result["status"])

    def by_id(self, name):
        id, label = f"d{self.rng.randrange(DOCUMENTS)}", self.label()
        if self.account.is_open(name, (id,)):
            event = Event(name, "label", self.source(), (id,), label=label)
            self.one("POST", f"{path_of(name)}/train", {"id": id, "label": label, "source": event.source}, event)

    def untrain(self, name):
        id = f"d{self.rng.randrange(DOCUMENTS)}"
        if self.account.is_open(name, (id,)):
            event = Event(name, "untrain", self.source(), (id,))
            self.one("POST", path_of(name) + "/untrain", {"id": id, "source": event.source}, event)

    def undo(self, _):
        if self.taught:
            name, of = self.taught.pop(self.rng.randrange(len(self.taught)))
            if self.account.is_open(name):
                event = Event(name, "undo", self.source(), of=of)
                self.one("POST", f"{path_of(name)}/undo?source={event.source}", {"source": of}, event)

    def settings(self, name):
        event = Event(name, "settings", self.source(), smoothing=self.rng.choice(SMOOTHINGS))
        self.one("PUT", f"{path_of(name)}?source={event.source}", {"smoothing": event.what["smoothing"]}, event)

    def delete(self, name):
        event = Event(name, "delete", self.source())
        self.one("DELETE", f"{path_of(name)}?source={event.source}", None, event)

    def rename(self, name):
        old, new = self.rng.sample(LABELS, 2)
        event = Event(name, "rename", self.source(), old=old, new=new)
        self.one("PATCH", f"{path_of(name)}/labels/{old}?source={event.source}", {"name": new}, event)

    def merge(self, name):
        old, new = self.rng.sample(LABELS, 2)
        event = Event(name, "merge", self.source(), old=old, new=new)
        self.one("PATCH", f"{path_of(name)}/labels/{old}?source={event.source}", {"name": new, "merge": True}, event)

    def delete_label(self, name):
        event = Event(name, "delete_label", self.source(), label=self.rng.choice(LABELS))
        self.one("DELETE", f"{path_of(name)}/labels/{event.what['label']}?source={event.source}", None, event)

    def imported(self, name):
        if self.dump:
            body, found = self.dump
            event = Event(name, "import", self.source(), chains=found, default=self.default)
            self.one("PUT", f"{path_of(name)}/import?source={event.source}", body, event, "application/x-ndjson")

    def copy(self, name):
        path = path_of(COPIES + str(self.rng.randrange(MODELS)))
        if self.rng.randrange(2):
            self.ask("DELETE", f"{path}?source={self.source()}", None, [])
        else:
            self.ask("POST", f"{path}/from/{name}?source={self.source()}", None, [])

    # -- networks: each client has one of its own, which is in no account
    def network_path(self):
        return f"/v1/networks/n{self.number}"

    def network(self, _):
        states = None if self.kept and not self.rng.randrange(4) else [f"s{self.rng.randrange(10**6)}", "other"]
        node = {"name": "one", "states": states, "table": [[0.5, 0.5]]}
        method, body = ("PUT", {"nodes": [node]}) if states else ("DELETE", None)
        doubts = self.doubts
        reply = self.ask(method, self.network_path(), body, [])
        self.is_sure = self.is_sure and self.doubts == doubts
        if reply is not None:
            self.kept = states

    def check_network(self, client):
        """What was acknowledged is there, unless something is in doubt."""
        reply = client.get(self.network_path())
        holds(reply.status in (200, 404), reply.body)
        found = reply.json["nodes"][0]["states"] if reply.status == 200 else None
        holds(not self.is_sure or found == self.kept, f"network of client {self.number}: {found}, must be {self.kept}")


def document_of(event):
    return {"id": event.ids[0], "label": event.what["label"], "text": event.what["text"], "source": event.source}


def number_of(reply):
    """The number of a receipt, or None where a reply has none."""
    found = reply.json.get("number") if reply.body else reply.headers.get("bayesd-number")
    return None if found is None else int(found)


def said_by(reply):
    return reply.json.get("status") if reply.body else None


def dumped(client, name):
    """(a dump, {id: chain} of what it makes): of a model of this name that is taught here."""
    found = {f"d{number}": (Row("dumped", LABELS[number % 3], text_of(number)),) for number in range(0, DOCUMENTS, 3)}
    documents = [{"id": id, "label": row.label, "text": row.text, "source": row.source} for id, (row,) in found.items()]
    patiently(lambda: client.post(path_of(name) + "/train", {"documents": documents})).ok()
    return exported(client, name), found


class Load:
    """Clients until each has made its requests. `stop` raises what one of them found."""

    def __init__(self, site, account, rng, default, clients=6, requests=60, first=0, kind=Client, dump=None):
        self.clients = [kind(site, account, random.Random(rng.random()), first + number, default, requests, dump=dump)
                        for number in range(clients)]

    def start(self):
        for client in self.clients:
            client.start()
        return self

    @contextlib.contextmanager
    def paused(self):
        """No request is under way."""
        for client in self.clients:
            client.may_go.clear()
        try:
            for client in self.clients:
                holds(client.rests.wait(patience(20)), "a client rests")
            yield
        finally:
            for client in self.clients:
                client.may_go.set()

    def is_over(self):
        return not any(client.is_alive() for client in self.clients)

    def stop(self):
        for client in self.clients:
            client.stopping.set()
            client.may_go.set()
        return self.join()

    def check_networks(self, node):
        for client in self.clients:
            client.check_network(node)

    def join(self):
        for client in self.clients:
            client.join(patience(60))
            holds(not client.is_alive(), "a client still waits for its reply")
            if client.fault:
                raise client.fault
        return self


class Asker(threading.Thread):
    """Asks every node that runs for verdicts, all the time: these need nobody else, so a node always has one."""

    def __init__(self, site, path):
        super().__init__(daemon=True)
        self.site, self.path, self.over, self.faults, self.verdicts = site, path, threading.Event(), [], 0

    def run(self):
        while not self.over.wait(0.05):
            for node in self.site.nodes:
                if node.running() and not node.is_frozen:
                    self.ask(node)

    def ask(self, node):
        """One that is killed, stopped or starting meanwhile gives none; one that is told to stop says so."""
        pid, client = node.pid(), node.new_client(2)
        try:
            reply = client.once("POST", self.path + "/classify", {"text": "w1 w2"})
            self.verdicts += reply.status == 200
            stops = b"the daemon is stopping" in reply.body and (node.is_stopping or node.pid() != pid)
            if reply.status != 200 and not stops:
                self.faults.append(f"{node.name}: {reply.status} {reply.body[:200]}")
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, TimeoutError) and node.pid() == pid and not node.is_frozen:
                self.faults.append(f"{node.name}: {error!r}")
        finally:
            client.close()

    def stop(self):
        self.over.set()
        self.join(60)
