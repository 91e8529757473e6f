# SPDX-License-Identifier: Apache-2.0
"""Concurrent training whose every possible outcome is known: what durability is judged by.

Each worker changes documents of its own, so that the state of an id is what was acknowledged last,
or, if a request was cut off, that or what the request asked for.
"""
import http.client
import json
import threading
from collections import Counter

from book import log_scores
from harness import equal, holds, near, quoted

LABELS = ("ham", "spam", "other")
PROBES = ("w1 w2 w3", "w7 w7 w40 w100", "")


def text_of(rng, size):
    return " ".join(f"w{int(150 * rng.random() ** 2)}" for _ in range(size))


class Worker(threading.Thread):
    """Sends changes until it is told to stop or the daemon no longer answers."""

    def __init__(self, daemon, path, number, rng, states, counter, ids=25):
        super().__init__(daemon=True)
        self.client, self.path, self.number = daemon.new_client(), path, number
        self.rng, self.counter = rng, counter
        self.states = states  # id -> (label, text) or None: certain
        self.asked = {}       # id -> the state that a request without an answer asked for
        self.versions = Counter()
        self.ids = [f"{number}/{i}" for i in range(ids)]
        self.stopping = threading.Event()
        self.fault = None
        self.refusals = Counter()  # status -> how often a change was refused

    def run(self):
        try:
            while not self.stopping.is_set() and self.step():
                pass
        except AssertionError as error:
            self.fault = error
        finally:
            self.client.close()

    def step(self):
        kind = self.rng.random()
        if kind < 0.5:
            return self.train(self.rng.sample(self.ids, 1), "single")
        if kind < 0.65:
            return self.train(self.rng.sample(self.ids, self.rng.randrange(1, 9)), "batch")
        if kind < 0.75:
            return self.train(self.rng.sample(self.ids, self.rng.randrange(1, 20)), "lines")
        return self.untrain(self.rng.choice(self.ids))

    def next_state(self, id):
        """New, relabelled or replaced; always told apart from what is there by its length."""
        old = self.states.get(id)
        if old and self.rng.random() < 0.3:
            return self.rng.choice([v for v in LABELS if v != old[0]]), old[1]
        self.versions[id] += 1
        size = 1 + self.versions[id] % 40
        if old and len(old[1].split()) == size:
            size += 1
        return self.rng.choice(LABELS), text_of(self.rng, size)

    def train(self, ids, how):
        self.asked = {id: self.next_state(id) for id in ids}
        rows = [{"id": id, "label": label, "text": text} for id, (label, text) in self.asked.items()]
        if how == "single":
            return self.send("train", rows[0], "application/json", ids)
        if how == "batch":
            return self.send("train", {"documents": rows}, "application/json", ids)
        return self.send("train", "".join(json.dumps(row) + "\n" for row in rows), "application/x-ndjson", ids)

    def untrain(self, id):
        self.asked = {id: None}
        return self.send("untrain", {"id": id}, "application/json", [id])

    def send(self, verb, body, kind, ids):
        try:
            reply = self.client.once("POST", f"{self.path}/{verb}", body, kind)
        except (OSError, http.client.HTTPException):
            return False  # what was asked for may have happened, or not
        if reply.status == 200:
            results = reply.lines if kind != "application/json" else \
                reply.json.get("results", [reply.json])
            equal(len(results), len(ids), "results")
            for id, result in zip(ids, results):
                self.take(id, result)
        else:
            self.refused(reply.status, verb, ids[0])
        self.asked = {}
        self.counter.add(len(ids))
        return True

    def take(self, id, result):
        if "error" in result:
            self.refused(result["error"]["status"], "train", id)
            return
        equal(result["id"], id)
        old, new = self.states.get(id), self.asked[id]
        want = "forgotten" if new is None else "learned" if old is None else \
            "relabelled" if old[0] != new[0] else "unchanged" if old[1] == new[1] else "updated"
        equal(result["status"], want, f"{id}: from {old} to {new}")
        self.states[id] = new

    def refused(self, status, verb, id):
        """A refusal has changed nothing; 404 is right for an id that is not there."""
        if status == 404:
            holds(verb == "untrain" and self.states.get(id) is None, f"404 for {id}, which is there")
        else:
            equal(status, 503, f"{verb} of {id} was answered {status}")
            self.refusals[status] += 1


class Progress:
    """Counts acknowledged changes, for waiting on them."""

    def __init__(self):
        self.count, self.changed = 0, threading.Condition()

    def add(self, n):
        with self.changed:
            self.count += n
            self.changed.notify_all()

    def wait(self, count, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: self.count >= count, seconds)


class Load:
    """Workers on one model, and the judgement afterwards."""

    def __init__(self, rng, path, workers=4):
        self.rng, self.path, self.states = rng, path, [{} for _ in range(workers)]
        self.workers, self.versions = [], [Counter() for _ in range(workers)]

    def start(self, daemon):
        self.progress, self.workers = Progress(), []
        for number, states in enumerate(self.states):
            worker = Worker(daemon, self.path, number, self.rng.__class__(self.rng.random()), states, self.progress)
            worker.versions = self.versions[number]
            self.workers.append(worker)
        for worker in self.workers:
            worker.start()
        return self

    def stop(self):
        for worker in self.workers:
            worker.stopping.set()
        self.join()

    def join(self, seconds=120):
        for worker in self.workers:
            worker.join(seconds)
            holds(not worker.is_alive(), "a worker still waits for its reply")
            if worker.fault:
                raise worker.fault

    def documents(self):
        """id -> (label, bag) of what must be there."""
        out = {}
        for states in self.states:
            for id, state in states.items():
                if state:
                    out[id] = (state[0], Counter(state[1].split()))
        return out

    def settle(self, client):
        """Every id is in its acknowledged state, or in the one that was asked for last."""
        for worker in self.workers:
            for id in worker.ids:
                seen = self.look(client, id)
                certain = worker.states.get(id)
                if seen == summary(certain):
                    continue
                holds(id in worker.asked, f"{id}: {seen} is there, acknowledged was {summary(certain)}")
                equal(seen, summary(worker.asked[id]), f"{id}: neither {summary(certain)} nor what was asked for")
                worker.states[id] = worker.asked[id]
            worker.asked = {}

    def look(self, client, id):
        reply = client.get(f"{self.path}/documents/{quoted(id)}")
        if reply.status == 404:
            return None
        row = reply.ok().json
        return row["label"], row["tokens"]

    def assert_model(self, client):
        """Counts and scores are those of the living documents, each counted exactly once."""
        documents = self.documents()
        if not documents:
            return
        row = client.get(self.path).ok().json
        labels = {v: (x["documents"], x["tokens"]) for v, x in row["labels"].items() if x["documents"]}
        want, vocabulary = {}, Counter()
        for label, bag in documents.values():
            docs, tokens = want.get(label, (0, 0))
            want[label] = docs + 1, tokens + sum(bag.values())
            vocabulary.update(bag)
        equal(labels, want, "documents and tokens by label")
        equal(row["vocabulary"], len(vocabulary), "vocabulary")
        for text in PROBES:
            got = client.post(self.path + "/classify", {"text": text}).ok().json["log_scores"]
            for label, score in log_scores(documents.values(), Counter(text.split())).items():
                near(got[label], score, f"{label} of {text!r}")


def summary(state):
    return (state[0], len(state[1].split())) if state else None
