# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of imports, new models, deletes, checkpoints, growth and starts.

A client's own account (acknowledged.py) is the judge. After each kill the daemon gets an order that is
hostile to a store which was cut off: it comes first, before anything has been looked at or tidied up.
CRASH_ROUNDS=N sets how many kills a run has; CRASH_KEEP=FOLDER keeps the store of a failure.
"""
import os
import random
import shutil
import threading
import time

from acknowledged import Acknowledged, NDJSON, exported, has_rebuild, path_of, rebuilt, verified
from faults import Faults
from harness import patience, slow, wait_for
from wire import Wire, request

# Little is kept in memory only, so that checkpoints are written all the time; the map grows often.
CONFIG = {"store": {"replay_features": 2000, "group_documents": 16, "map_size": "1M"}}
LABELS = ("ham", "spam", "other")
SLOW_DISK = 4000  # microseconds that each sync takes longer: requests meet in one commit
GROWN = 512 << 10   # bytes by which the store grows when an import has stored its first part
SMALL, LARGE = (300, 6), (700, 500)  # documents of a dump, words of each


def rounds_wanted(api):
    return int(os.environ.get("CRASH_ROUNDS", 300 if api.long else 16))


# ---- dumps --------------------------------------------------------------------------------------
def dump_of(api, documents, words):
    """(dump, state): large ones have words of their own in every document."""
    rows, state = [], {}
    for i in range(documents):
        text = " ".join(f"unusual{i}word{k}" if words > 100 else f"w{(i * 7 + k * k) % 90}" for k in range(words))
        state[f"doc {i}"] = (LABELS[i % 3], text)
        rows.append({"id": f"doc {i}", "label": LABELS[i % 3], "text": text})
    daemon = api.another().start()
    daemon.client.post(path_of("made") + "/train", {"documents": rows}).ok()
    dump = exported(daemon.client, "made")
    daemon.stop()
    return dump, state


def used(daemon):
    """Bytes of the data file that hold something: it grows by whole pages, at its end or in holes."""
    return os.stat(os.path.join(daemon.data, "data.mdb")).st_blocks * 512


def begin_import(daemon, name, dump, share):
    """Sends that share of a dump, waits until the store holds some of it; the connection."""
    whole = request("PUT", path_of(name) + "/import", dump, NDJSON)
    before = used(daemon)
    wire = Wire(daemon)
    wire.send(whole[:int(len(whole) * share)])
    try:
        # A small dump, or one that finds free pages, does not show: it is cut off somewhere as well.
        wait_for(lambda: used(daemon) > before + GROWN, "the import to store its first part", 1 if len(dump) > 1 << 20 else 0.05)
    except AssertionError:
        pass
    return wire


# ---- a store, its daemon, and what a client knows -----------------------------------------------
class World:
    def __init__(self, api):
        self.api, self.rng = api, random.Random(api.random.random())
        faults = Faults(api, config=CONFIG)
        faults.delay(SLOW_DISK)
        self.faults, self.daemon = faults, faults.daemon
        self.daemon.start()
        self.known, self.serial = Acknowledged(), 0
        self.small, self.large = dump_of(api, *SMALL), dump_of(api, *LARGE)
        self.cut = "m0"  # the model that the last kill has hit

    @property
    def client(self):
        return self.daemon.client

    def fresh(self):
        """A name that no model ever had."""
        self.serial += 1
        return f"fresh{self.serial}"

    def any_name(self):
        return f"m{self.rng.randrange(4)}"

    def rows(self, count, labels=LABELS, prefix="d"):
        """Documents of few words, some of which replace earlier ones."""
        return [(f"{prefix}{self.rng.randrange(40)}/{i}", self.rng.choice(labels), " ".join(
            f"w{int(80 * self.rng.random() ** 2)}" for _ in range(self.rng.randrange(1, 30)))) for i in range(count)]

    def new_words(self, count, words):
        return [(f"n{self.rng.randrange(10**9)}", self.rng.choice(LABELS), " ".join(
            f"x{self.rng.randrange(10**9)}" for _ in range(words))) for _ in range(count)]

    def pause(self, most):
        """A random moment is what is tested here; nothing waits for anything."""
        time.sleep(self.rng.random() * most * slow())

    def together(self, *functions):
        """Runs each in a thread with a client of its own, and kills the daemon among them."""
        faults = []

        def run(function):
            client = self.daemon.new_client()
            try:
                function(client)
            except AssertionError as error:
                faults.append(error)
            finally:
                client.close()

        threads = [threading.Thread(target=run, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        self.pause(0.04)
        self.daemon.kill()
        for thread in threads:
            thread.join(patience(60))
        if faults:
            raise faults[0]

    def until_cut(self, name, make_rows):
        """Trains until there is no answer any more."""
        def run(client):
            for _ in range(1000):
                if not self.known.train(client, name, make_rows()):
                    return
        return run


# ---- what is cut off ----------------------------------------------------------------------------
def an_import(w):
    """All but the end was sent: the model may not change."""
    w.cut = w.any_name()
    wire = begin_import(w.daemon, w.cut, w.large[0], w.rng.choice((0.7, 0.9, 0.999)))
    w.daemon.kill()
    wire.close()


def the_end_of_an_import(w):
    w.cut = w.any_name()
    dump, state = w.rng.choice((w.small, w.large))
    w.together(lambda client: w.known.replace(client, w.cut, dump, state))


def new_models(w):
    """Several models that do not exist are made by one commit."""
    names = [w.fresh() for _ in range(3)]
    w.cut = names[0]
    w.together(*(lambda client, name=name: w.known.train(client, name, w.rows(w.rng.randrange(1, 6)))
                 for name in names))


def a_delete(w):
    w.cut = w.any_name()
    w.known.replace(w.client, w.cut, *w.rng.choice((w.small, w.large)))
    w.together(lambda client: w.known.delete(client, w.cut),
               w.until_cut(w.fresh(), lambda: w.rows(3)))


def a_checkpoint(w):
    w.cut = w.fresh()
    w.together(*(w.until_cut(name, lambda: w.rows(12)) for name in (w.cut, w.fresh())))


def a_growth(w):
    w.cut = w.fresh()
    w.together(w.until_cut(w.cut, lambda: w.new_words(4, 1500)), w.until_cut(w.fresh(), lambda: w.rows(2)))


def a_start(w):
    """While the store is opened and read again; twice, for what the first start had begun."""
    w.daemon.kill()
    for _ in range(2):
        w.daemon.spawn()
        w.pause(0.05)
        w.daemon.kill()


def a_stop(w):
    w.known.train(w.client, w.any_name(), w.rows(30))
    w.daemon.signal(15)
    w.pause(0.03)
    w.daemon.kill()


CUT = (an_import, new_models, a_delete, a_checkpoint, a_growth, the_end_of_an_import, a_start, a_stop)


# ---- the first order after it -------------------------------------------------------------------
def a_new_model(w):
    w.known.train(w.client, w.fresh(), w.rows(8))


def the_import_again(w):
    w.known.replace(w.client, w.cut, *w.rng.choice((w.small, w.large)))


def one_label_first(w):
    name = w.fresh()
    w.known.train(w.client, name, w.rows(3, labels=("spam",), prefix="a"))
    w.known.train(w.client, w.fresh(), w.rows(3, labels=("ham",)))
    w.known.train(w.client, name, w.rows(3, labels=("ham", "other"), prefix="b"))


def delete_and_new(w):
    w.known.delete(w.client, w.cut)
    w.known.train(w.client, w.cut, w.rows(5))


HOSTILE = (a_new_model, the_import_again, one_label_first, delete_and_new)


# ---- rounds -------------------------------------------------------------------------------------
def judged(w):
    w.known.settle(w.client)
    w.known.check(w.client, w.rng)


def one_round(w, cut, hostile, rebuild):
    cut(w)
    verified(w.api, w.daemon.data)
    w.daemon.start()
    hostile(w)
    judged(w)
    if w.rng.random() < 0.5:
        w.daemon.kill()
    else:
        w.daemon.stop(seconds=30)
    verified(w.api, w.daemon.data)
    if rebuild:
        rebuilt(w.api, w.daemon.data)
    w.daemon.start()
    judged(w)


def shrink(w):
    """Few models are left for the next round."""
    for name in list(w.known.models):
        if w.rng.random() < 0.7:
            w.known.delete(w.client, name)


def told(w, number, names, error):
    keep = os.environ.get("CRASH_KEEP")
    if keep:
        w.daemon.kill()
        shutil.copytree(w.daemon.data, os.path.join(keep, f"crash-{os.getpid()}-{number}"))
    return AssertionError(f"round {number} ({', then '.join(names)}): {error}")


def test_kills_and_hostile_orders(api):
    w, rebuild = World(api), has_rebuild(api)
    w.known.train(w.client, "m1", w.rows(20))
    for number in range(rounds_wanted(api)):
        cut = CUT[number % len(CUT)]
        hostile = w.rng.choice(HOSTILE)
        try:
            one_round(w, cut, hostile, rebuild)
            shrink(w)
        except AssertionError as error:
            raise told(w, number, (cut.__name__, hostile.__name__), error) from error
    w.daemon.stop(seconds=30)


# ---- the orders that have lost documents, each by itself ----------------------------------------
def cut_off_import_then(api, hostile):
    """An import is cut off by a kill, `hostile` comes first; then a stop and a start."""
    w = World(api)
    w.known.train(w.client, "before", w.rows(20))
    w.cut = "cut"
    begin_import(w.daemon, w.cut, w.large[0], 0.999)
    w.daemon.kill()
    w.daemon.start()
    hostile(w)
    judged(w)
    for _ in range(3):  # what was cut off is tidied up while others train
        w.known.train(w.client, "later", w.rows(10))
        judged(w)
    w.daemon.stop(seconds=30)
    verified(api, w.daemon.data)
    w.daemon.start()
    judged(w)
    w.daemon.stop(seconds=30)


def test_a_new_model_after_an_import_was_cut_off(api):
    cut_off_import_then(api, a_new_model)


def test_the_same_import_after_it_was_cut_off(api):
    cut_off_import_then(api, the_import_again)


def test_one_label_first_after_an_import_was_cut_off(api):
    cut_off_import_then(api, one_label_first)


def test_the_same_name_after_an_import_was_cut_off(api):
    cut_off_import_then(api, delete_and_new)
