# SPDX-License-Identifier: Apache-2.0
"""kill -9, and writes and syncs that fail, in the slices of a refit, and changes of the model meanwhile.

A client's own account (acknowledged.py) says what must be there, and a model that did the same undisturbed which
verdicts. REFIT_ROUNDS=N sets how often a run disturbs a refit.
"""
import errno
import http.client
import math
import os
import random
import shutil
import threading
import time

from acknowledged import Acknowledged, NDJSON, exported, path_of, rebuilt, settled, verified
from faults import Faults
from harness import holds, patience, refused, wait_for

STACKED = {"decision": "stacked"}
RETUNED = {**STACKED, "learning_rate": 0.2}
SLOW_DISK = 20000  # microseconds that each sync takes longer while a refit is under way: it has a dozen slices
LASTS = 0.5        # seconds that it lasts then
HAM, SPAM = 1000, 170  # documents at first
REVISED = 130      # relabelled: more than a tenth, with the last of them
PROBES = 60
APART = 1.0        # of log odds whose mean square is 3 to 10: another order of the documents makes .2 to .7


def rounds_wanted(api, least):
    return int(os.environ.get("REFIT_ROUNDS", 100 if api.long else least))


def words_of(label, number):
    """Forty words; one in six tells the label, and one in twenty any or none."""
    rng = random.Random(f"{label} {number}")
    sides = rng.choices((label, "ham", "spam", "x"), (16, 3, 3, 78), k=40)
    return " ".join(f"{side}{rng.randrange(60)}" for side in sides)


def rows_of(count, labels=("ham", "spam"), prefix="d"):
    """[(id, label, text)]"""
    return [(f"{prefix} {v} {n}", v, words_of(v, f"{prefix}{n}")) for v in labels for n in range(count)]


def verdicts(client, name="m"):
    """ln(P(first label) / P(second)) of documents that were not learned."""
    odds = []
    for number in range(PROBES):
        text = words_of(("ham", "spam")[number % 2], f"probe {number}")
        reply = client.post(path_of(name) + "/classify", {"text": text}).ok().json
        first, second = (p for _, p in sorted(reply["probabilities"].items()))
        odds.append(math.log(max(first, 1e-12) / max(second, 1e-12)))
    return odds


def waiting(client):
    page = client.get("/metrics").ok().body.decode()
    return int(next(line.split()[1] for line in page.splitlines() if line.startswith("bayesd_refits_waiting ")))


def apart(one, other):
    """How far two models' verdicts are apart: the root of the mean square."""
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other)) / len(one))


# ---- a store, its daemon, and what a client knows -----------------------------------------------
class World:
    """A daemon on a copy of `data`, where the model m has learned both labels, and something from 'bad'."""

    def __init__(self, api, rng, data, known):
        self.api, self.rng = api, rng
        self.faults = Faults(api)
        self.daemon = self.faults.daemon
        shutil.copytree(data, self.daemon.data)
        self.daemon.start()
        self.known = Acknowledged()
        self.known.models = {name: dict(state) for name, state in known.models.items()}
        self.thread = self.fault = None

    @property
    def client(self):
        return self.daemon.client

    def meanwhile(self, function):
        """Runs function(world, client) in a thread with a client of its own."""
        def run():
            client = self.daemon.new_client()
            try:
                function(self, client)
            except AssertionError as error:
                self.fault = error
            finally:
                client.close()
        self.thread = threading.Thread(target=run)
        self.thread.start()

    def join(self):
        if self.thread is not None:
            self.thread.join(patience(60))
        self.thread = None
        if self.fault is not None:
            raise self.fault

    def pause(self, most):
        """A random moment is what is tested here; nothing waits for anything."""
        time.sleep(self.rng.random() * most)


def prepared(api):
    """(data, known): what each round begins with."""
    daemon, known = api.another(keep=True).start(), Acknowledged()
    daemon.client.put(path_of("m"), STACKED).ok(201)
    rows = rows_of(HAM, ("ham",)) + rows_of(SPAM, ("spam",))
    random.Random(5).shuffle(rows)
    for k in range(0, len(rows), 100):
        known.train(daemon.client, "m", rows[k:k + 100])
    bad = rows_of(15, prefix="bad")
    daemon.client.post(path_of("m") + "/train", {"documents": [
        {"id": id, "label": label, "text": text, "source": "bad"} for id, label, text in bad]}).ok()
    known.models["m"].update({id: (label, text) for id, label, text in bad})
    settled(daemon.client)
    daemon.stop()
    return daemon.data, known


# ---- what a refit comes from: True if it was answered -------------------------------------------
def answered(client, method, path, body):
    """The reply; or None: it was cut off, or refused and may be tried again."""
    try:
        reply = client.once(method, path, body)
    except (OSError, http.client.HTTPException):
        return None
    holds(reply.status in (200, 503), f"{method} {path}: {reply.status} {reply.body[:300]}")
    return reply if reply.status == 200 else None


def train(world, client, rows, at_once):
    """Those that are not there yet: a request that was cut off or refused leaves a doubt."""
    state = world.known.models["m"]
    rows = [row for row in rows if state.get(row[0]) != row[1:]]
    for k in range(0, len(rows), at_once):
        part = rows[k:k + at_once]
        body = {"documents": [{"id": id, "label": label, "text": text} for id, label, text in part]}
        world.known.doubts["m"] = ("rows", {id: (label, text) for id, label, text in part})
        reply = answered(client, "POST", path_of("m") + "/train", body)
        if reply is None or any("error" in row for row in reply.json["results"]):
            return False
        del world.known.doubts["m"]
        state.update({id: (label, text) for id, label, text in part})
    return True


def asked(_, client):
    return answered(client, "POST", path_of("m") + "/refit", b"") is not None


def class_by_class(world, client):
    """More than a fifth is not taught."""
    return train(world, client, rows_of(500, ("spam",), "more"), 100)


def switched(_, client):
    return answered(client, "PUT", path_of("m"), RETUNED) is not None


def revised(world, client):
    return train(world, client, [(id, "spam", text) for id, _, text in rows_of(REVISED, ("ham",))], REVISED)


CAUSES = (asked, class_by_class, switched, revised)


def until_answered(world, cause):
    def done():
        holds(world.daemon.running(), f"the daemon is gone:\n{world.daemon.output()}")
        world.known.settle(world.client)
        return cause(world, world.client)
    wait_for(done, f"{cause.__name__} to be answered", 60, 0.05)


# ---- what disturbs it: True if the refit was under way -------------------------------------------
def until_it_began(world):
    wait_for(lambda: waiting(world.client) or not world.thread.is_alive(), "the refit to begin", 20)


def a_kill(world):
    until_it_began(world)
    world.pause(LASTS / 2)
    hit = waiting(world.client) > 0
    world.daemon.kill()
    world.join()
    if world.rng.random() < 0.3:  # in the first moments of the next one, too
        world.daemon.spawn()
        world.pause(0.1)
        world.daemon.kill()
    verified(world.api, world.daemon.data)
    world.faults.delay(0)
    world.daemon.start()
    if world.rng.random() < 0.5:  # the first order after it is another model's
        world.known.train(world.client, "fresh", rows_of(3, prefix="fresh"))
    return hit


def a_fault(world, call):
    until_it_began(world)
    world.faults.fail(call, world.rng.choice((errno.EIO, errno.ENOSPC)), world.rng.randrange(12),
                      world.rng.choice((1, 1, 2, 5)))
    wait_for(lambda: world.faults.fired or not waiting(world.client), f"a {call} to fail", 20)
    hit = world.faults.fired > 0
    world.pause(LASTS / 4)
    world.faults.clear()
    world.join()
    world.faults.delay(0)
    wait_for(lambda: world.client.get("/readyz").status == 200, "it serves again by itself", 30)
    return hit


def a_failing_write(world):
    return a_fault(world, "write")


def a_failing_sync(world):
    return a_fault(world, "sync")


DISTURBANCES = (a_kill, a_failing_write, a_failing_sync)


# ---- judgement ----------------------------------------------------------------------------------
class Undisturbed:
    """The verdicts of a model that did the same and was left alone, and how far those of one are apart that did not."""

    def __init__(self, api):
        self.api = api
        self.data, self.known = prepared(api)
        self.found = {}

    def world(self, rng):
        return World(self.api, rng, self.data, self.known)

    def verdicts(self, *changes):
        """Of a model in which these changes were made, one after the other."""
        if changes not in self.found:
            world = self.world(random.Random(1))
            for change in changes:
                until_answered(world, change)
                settled(world.client)
            self.found[changes] = verdicts(world.client)
            world.daemon.stop()
        return self.found[changes]


def judged(world, want):
    """Everything acknowledged is there; verdicts are as they must be; the ledger says the same as the weights."""
    world.known.settle(world.client)
    settled(world.client)
    world.known.check(world.client, world.rng, 20)
    if "m" in world.known.models:
        far = apart(verdicts(world.client), want)
        holds(far < APART, f"verdicts are {far} apart from those of a model that was left alone")
    world.daemon.stop(seconds=30)
    verified(world.api, world.daemon.data)
    rebuilt(world.api, world.daemon.data)


def one_round(undisturbed, rng, cause, disturb):
    world = undisturbed.world(rng)
    world.faults.delay(SLOW_DISK)
    world.meanwhile(cause)
    hit = disturb(world)
    until_answered(world, cause)
    judged(world, undisturbed.verdicts(cause))
    return hit


def test_kills_and_faults_in_slices(api):
    undisturbed, hits = Undisturbed(api), 0
    for cause in (class_by_class, revised):
        far = apart(undisturbed.verdicts(), undisturbed.verdicts(cause))
        holds(far > 2 * APART, f"a refit that is lost would not be seen after {cause.__name__}: {far}")
    rounds = rounds_wanted(api, 12)
    for number in range(rounds):
        cause, disturb = CAUSES[number % 4], DISTURBANCES[number // 4 % 3]
        seed = f"{api.seed} {number}"
        try:
            hits += one_round(undisturbed, random.Random(seed), cause, disturb)
        except AssertionError as error:
            raise AssertionError(f"round {seed} ({cause.__name__}, {disturb.__name__}): {error}") from error
    holds(hits >= rounds / 4, f"only {hits} of {rounds} refits were under way: the test no longer reaches what it is for")


# ---- changes while a refit is under way ---------------------------------------------------------
def deleted(world, client):
    client.delete(path_of("m")).ok(204)
    del world.known.models["m"]
    return True


def replaced(world, client):
    """By an import of itself."""
    client.put(path_of("m") + "/import", exported(client, "m"), NDJSON).ok()
    return True


def renamed(world, client):
    client.call("PATCH", path_of("m") + "/labels/ham", {"name": "good"}).ok()
    state = world.known.models["m"]
    state.update({id: ("good" if label == "ham" else label, text) for id, (label, text) in state.items()})
    return True


def undone(world, client):
    client.post(path_of("m") + "/undo", {"source": "bad"}).ok()
    state = world.known.models["m"]
    for id in [id for id in state if id.startswith("bad")]:
        del state[id]
    return True


def forgotten(world, client):
    """All documents of a label, one after the other."""
    for id, _, _ in rows_of(40, ("spam",)):
        holds(world.known.untrain(client, "m", id), "untrain was cut off")
    return True


def another_model(world, client):
    return world.known.train(client, "another", rows_of(5, prefix="another"))


CHANGES = (deleted, switched, replaced, renamed, undone, forgotten, another_model)


def one_change(undisturbed, rng, change, kill):
    world, replies = undisturbed.world(rng), []
    world.faults.delay(SLOW_DISK)

    def ask(_, client):
        try:
            replies.append(client.once("POST", path_of("m") + "/refit", b""))
        except (OSError, http.client.HTTPException):
            pass  # killed

    world.meanwhile(ask)
    until_it_began(world)
    holds(change(world, world.client), "the change was not answered")
    if kill:
        a_kill(world)
    else:
        world.faults.delay(0)
        world.join()
        # An import takes long enough for the refit to end before it.
        if change is deleted or (change is replaced and replies[0].status != 200):
            refused(replies[0], 404, "deleted or replaced")
        else:
            replies[0].ok()
    judged(world, undisturbed.verdicts(asked, change) if "m" in world.known.models else None)


def test_changes_during_a_refit(api):
    undisturbed = Undisturbed(api)
    for number in range(rounds_wanted(api, 14) // 14 or 1):
        for change in CHANGES:
            for kill in (False, True):
                seed = f"{api.seed} {number}"
                try:
                    one_change(undisturbed, random.Random(seed), change, kill)
                except AssertionError as error:
                    raise AssertionError(f"round {seed} ({change.__name__}, killed {kill}): {error}") from error


def test_an_import_and_a_refit_at_once(api):
    """Weights of the import that were never fitted to what came after it; a kill; and it is asked for again."""
    undisturbed = Undisturbed(api)
    for number in range(max(1, rounds_wanted(api, 10) // 10)):
        world = undisturbed.world(random.Random(f"{api.seed} {number}"))
        dump = exported(world.client, "m")
        world.faults.delay(SLOW_DISK)
        world.known.replace(world.client, "copy", dump, world.known.models["m"])
        world.meanwhile(lambda _, client: answered(client, "POST", path_of("copy") + "/refit", b""))
        a_kill(world)
        settled(world.client)
        far = apart(verdicts(world.client, "copy"), undisturbed.verdicts(asked))
        holds(far < APART, f"verdicts are {far} apart from those of a model that was left alone")
        judged(world, undisturbed.verdicts())
