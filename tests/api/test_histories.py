# SPDX-License-Identifier: Apache-2.0
"""Random histories of every kind of change: what is served is the same live, after kill -9 at any commit,
after a clean stop, after `--rebuild` and after export and import.

HISTORIES=N sets how many a run has; HISTORY=N goes through the one of that number alone.
"""
import json
import os
import random
import shutil

from acknowledged import Acknowledged, NDJSON, documents_of, exported, fitted, has_rebuild, models_of, path_of, verified
from harness import equal, holds, near, quoted, refused

LABELS = ("ham", "spam", "other", "fourth")
WAITS = "somebody"  # a source without trust
PROBES = ("w1 w2 w3", "w3 w3 w40 never", "")
SETTINGS = ({"decision": "bayes"}, {"decision": "stacked"}, {"decision": "bayes", "smoothing": 0.5},
            {"decision": "stacked", "ready_documents": 2}, {"decision": "bayes", "event_model": "bernoulli"},
            {"decision": "bayes", "estimate": "mle"}, {"decision": "bayes", "predict": "integrate"})


def histories_wanted(api):
    """The numbers of the histories: HISTORY=N is that one alone."""
    if "HISTORY" in os.environ:
        return [int(os.environ["HISTORY"])]
    return range(int(os.environ.get("HISTORIES", 200 if api.long else 5)))


def config_of(rng):
    """What decides when rows are written and entries are dropped."""
    return {"store": {"replay_features": rng.choice((1000, 5000, 10**6)), "group_documents": rng.choice((1, 7, 1024)),
                      "memory": rng.choice(("0", "64K")), "keep_words": rng.choice(("yes", "yes", "no"))},
            "models": {"quarantine": WAITS}}


# ---- histories ----------------------------------------------------------------------------------
class History:
    """Makes changes one after the other; `known` is what must come of them."""

    def __init__(self, daemon, rng, can_rename):
        self.daemon, self.rng, self.can_rename = daemon, rng, can_rename
        self.known, self.steps = Acknowledged(), []
        self.parents = {}  # {model: its parent}
        # {model: {id: ((label, text), or None if it is to be forgotten; what the model counted then)}}
        self.waiting = {}

    def name(self):
        return f"m{self.rng.randrange(3)}"

    def text(self):
        return " ".join(f"w{int(70 * self.rng.random() ** 2)}" for _ in range(self.rng.randrange(1, 25)))

    def label(self):
        """None: the document is stored without one."""
        return self.rng.choice(LABELS) if self.rng.randrange(5) else None

    def train(self, client):
        count = self.rng.choice((1, 1, 3, 12))
        ids = self.rng.sample(range(30), count)
        name = self.name()
        self.known.train(client, name, [(f"d{i}", self.label(), self.text()) for i in ids])
        self.settle(name, [f"d{i}" for i in ids])

    def relabel(self, client):
        name = self.name()
        state = self.known.models.get(name)
        if state:
            id = self.rng.choice(sorted(state))
            if self.rng.randrange(2):
                self.known.label(client, name, id, self.label())
            else:
                self.known.train(client, name, [(id, self.label(), state[id][1])])
            self.settle(name, [id])

    def untrain(self, client):
        name = self.name()
        if name in self.known.models:
            id = f"d{self.rng.randrange(30)}"
            if id in self.known.models[name]:
                self.settle(name, [id])
            self.known.untrain(client, name, id)

    def settings(self, client):
        """Sometimes with a parent, old or new, or without the one that it had."""
        name, parent = self.name(), self.rng.choice((None, *sorted(self.known.models)))
        settings = self.rng.choice(SETTINGS[:4] if parent else SETTINGS)  # some cannot have a parent
        reply = client.put(path_of(name), {**settings, "parent": parent,
                                           "parent_strength": self.rng.choice((1, 10, 100))})
        if reply.status in (400, 409, 422):
            return self.refused(reply, name, parent)
        holds(reply.status in (200, 201), reply.body)
        self.known.models.setdefault(name, {})
        return self.has_parent(name, parent)

    def refused(self, reply, name, parent):
        """Who has no parent, and is none, can have any settings."""
        is_alone = parent is None and name not in self.parents and name not in self.parents.values()
        holds(not is_alone and (b"parent" in reply.body or b"child" in reply.body), reply.body)

    def has_parent(self, name, parent):
        self.parents.pop(name, None)
        if parent is not None:
            holds(parent in self.known.models and parent != name and self.parents.get(parent) != name, self.parents)
            self.parents[name] = parent

    def delete(self, client):
        name = self.name()
        if name in self.parents.values():
            refused(client.delete(path_of(name)), 409, "parent")
            return
        self.known.delete(client, name)
        self.waiting.pop(name, None)
        self.parents.pop(name, None)

    def copy(self, client):
        """An import of another model's export, or of its own."""
        source, name = self.name(), self.name()
        if source not in self.known.models:
            return
        state, parent = dict(self.known.models[source]), self.parents.get(source)
        reply = client.put(path_of(name) + "/import", exported(client, source), NDJSON)
        if reply.status in (400, 409, 422):
            self.refused(reply, name, parent)
            return
        reply.ok(200 if name in self.known.models else 201)
        self.known.models[name] = state
        self.has_parent(name, parent)

    def rename(self, client):
        name, old, new = self.name(), *self.rng.sample(LABELS, 2)
        state = self.known.models.get(name)
        if not self.can_rename or not state:
            return
        reply = client.call("PATCH", f"{path_of(name)}/labels/{old}", {"name": new})
        holds(reply.status in (200, 404, 409), reply.body)
        if reply.status == 200:
            self.known.models[name] = {id: (new if label == old else label, text) for id, (label, text) in state.items()}

    # -- the quarantine
    def wait(self, client):
        name, id = self.name(), f"d{self.rng.randrange(30)}"
        change = self.rng.choice((None, (self.label(), self.text())))
        document = {"id": id, "source": WAITS}
        if change:
            document.update(label=change[0], text=change[1])
        reply = client.post(f"{path_of(name)}/{'train' if change else 'untrain'}", document)
        equal(reply.status, 202 if name in self.known.models else 404, reply.body)
        if reply.status == 202:
            self.waiting.setdefault(name, {})[id] = change, self.counted(client, name)

    def counted(self, client, name):
        """The fields of texts that the model counts: a waiting text was taken apart by them."""
        return client.get(path_of(name)).ok().json["settings"]["tokenizer"]["fields"]

    def apply(self, client):
        name = self.name()
        if name in self.known.models:
            counted = self.counted(client, name)
            reply = client.post(path_of(name) + "/quarantine/apply", {"all": True}).ok().json
            for id, (change, then) in self.waiting.pop(name, {}).items():
                if change and counted == then:
                    self.known.models[name][id] = change
                elif change or self.known.models[name].pop(id, None) is None:  # refused: it goes on waiting
                    self.waiting.setdefault(name, {})[id] = change, then
            equal(reply["refused"], len(self.waiting.get(name, ())), reply)

    def drop(self, client):
        name = self.name()
        if name in self.known.models:
            gone = client.post(path_of(name) + "/quarantine/drop", {"all": True}).ok().json["dropped"]
            equal(gone, len(self.waiting.pop(name, {})), "changes that were dropped")

    def settle(self, name, ids):
        """What others change does not wait any more."""
        for id in ids:
            self.waiting.get(name, {}).pop(id, None)

    def go(self, steps):
        changes = (self.train, self.relabel, self.untrain, self.settings, self.delete, self.copy, self.rename,
                   self.wait, self.apply, self.drop)
        for _ in range(steps):
            change = self.rng.choices(changes, (50, 20, 20, 8, 3, 3, 4, 20, 2, 2))[0]
            self.steps.append(change.__name__)
            change(self.daemon.client)


# ---- what is served -----------------------------------------------------------------------------
def served(client):
    """{model: all that can be asked of it}"""
    return {name: one(client, name, row) for name, row in models_of(client).items()}


def lines_of(dump):
    """A dump: what its first line says, and its documents with their words instead of the numbers that these have. Words
    that nobody has go when nothing else is to be done, those of what was forgotten last with the next change: the
    others have other numbers then."""
    lines = [json.loads(line) for line in dump.splitlines()]
    words = {row: pair for w in (line["words"] for line in lines if "words" in line)
             for row, pair in enumerate(zip(w["ids"], w["texts"] or w["ids"]), w["first_row"])}
    documents = [{**line["document"], "rows": [words[row] for row in line["document"]["rows"]]}
                 for line in lines if "document" in line]
    return [*lines[0].items(), *documents, lines[-1]["end"]["documents"]]


def one(client, name, listed):
    path, dump = path_of(name), exported(client, name)
    lines = [line for line in lines_of(dump) if not (isinstance(line, tuple) and line[0] == "key")]
    ids = list(documents_of(dump))
    row = client.get(path).ok().json
    equal({k: row[k] for k in ("documents", "vocabulary", "labels")},
          {k: listed[k] for k in ("documents", "vocabulary", "labels")}, f"{name}: row and listing")
    return {"row": {k: v for k, v in row.items() if k != "name"}, "dump": lines,
            "vocabulary": [client.get(f"{path}/vocabulary?label={quoted(v)}&limit=1000").json for v in sorted(row["labels"])],
            "documents": [client.get(f"{path}/documents/{quoted(id)}").ok().json for id in ids],
            "waiting": waiting_of(client, name),
            "evaluation": evaluation_of(client, path),
            "verdicts": [without_name(client.post(path + "/classify", {"text": text})) for text in PROBES]}


def evaluation_of(client, path):
    """Without what depends on when EM was at work."""
    found = client.get(path + "/evaluation").json
    for member in ("seconds", "changed"):
        found.get("unlabelled", {}).pop(member, None)
    return found


def waiting_of(client, name):
    """The ids of the changes in the quarantine."""
    return [row["id"] for row in client.get(path_of(name) + "/quarantine?limit=1000").ok().json["quarantine"]]


def without_name(reply):
    return {k: v for k, v in reply.json.items() if k not in ("model", "detail")}


def assert_same(got, want, what):
    equal(sorted(got), sorted(want), f"models {what}")
    for name, parts in want.items():
        for part, value in parts.items():
            if isinstance(value, list) and isinstance(got[name][part], list):  # the first that differs
                for n, (one_got, one_want) in enumerate(zip(got[name][part], value)):
                    equal(one_got, one_want, f"{name}, {part} {n} {what}")
            equal(got[name][part], value, f"{name}, {part} {what}")


def weighs(parts):
    """Whether documents without a label count."""
    return parts["evaluation"].get("unlabelled", {}).get("weight", 0) != 0


def assert_like(got, want, what):
    """A copy in another store: numbers of rows and entries may be others, what is learned and said may not. Which words
    share a slot of the twin depends on the store's key (test_twin holds how much that may be), so that of a stacked
    model only the scores by the book are the same."""
    by_the_book = want["row"]["settings"]["decision"] == "bayes"
    for part in ("row", "documents"):
        equal(got[part], want[part], f"{part} {what}")
    if weighs(got) or weighs(want):
        return  # which labelled documents are left out together, to find the weight, is each store's own
    for a, b in zip(got["verdicts"], want["verdicts"]):
        if by_the_book:
            equal(a.get("label"), b.get("label"), f"label {what}")
        for v, score in b.get("log_scores", {}).items():
            if score is None:  # impossible
                equal(a["log_scores"][v], None, f"log score of {v} {what}")
            else:
                near(a["log_scores"][v], score, f"log score of {v} {what}")


def ancestors(name, parents):
    found = [parents[name]]
    while found[-1] is not None:
        found.append(parents[found[-1]])
    return found


# ---- the tests ----------------------------------------------------------------------------------
def copies_are_the_same(api, daemon, want, what):
    other = api.another().start()
    parents = {name: parts["row"]["settings"]["parent"] for name, parts in want.items()}
    for name in sorted(want, key=lambda name: len(ancestors(name, parents))):
        other.client.put(path_of(name) + "/import", exported(daemon.client, name), NDJSON).ok(201)
        fitted(other.client)
        got = one(other.client, name, models_of(other.client)[name])
        assert_like(got, want[name], f"of a copy of {name} {what}")
    other.stop(seconds=30)


def rebuilt_is_the_same(api, data, config, want, what, ask=served):
    copy = shutil.copytree(data, os.path.join(api.new_folder(), "data"))
    status, out, err = api.tool("--rebuild", "--data", copy, seconds=60)
    equal(status, 0, f"--rebuild {what}: {out}{err}")
    verified(api, copy)
    daemon = api.another(data=copy, config=config).start()
    fitted(daemon.client)
    assert_same(ask(daemon.client), want, "after --rebuild " + what)
    daemon.stop(seconds=30)


def one_history(api, rng, rebuild, can_rename):
    config = config_of(rng)
    daemon = api.another(config=config).start()
    history = History(daemon, rng, can_rename)
    for part in range(rng.randrange(2, 5)):
        history.go(rng.randrange(5, 40))
        what = f"{part}, {config}, last {history.steps[-12:]}"
        try:
            history.known.check(daemon.client)
            equal({name: waiting_of(daemon.client, name) for name in history.known.models},
                  {name: sorted(history.waiting.get(name, ())) for name in history.known.models}, "what waits")
        except AssertionError as error:
            if config["store"]["keep_words"] == "yes" or "counts of" not in str(error):
                raise AssertionError(f"{what}: {error}") from error
        fitted(daemon.client)
        want = served(daemon.client)
        how = rng.choice(("kill", "stop"))
        getattr(daemon, how)()
        verified(api, daemon.data)
        if rebuild:
            rebuilt_is_the_same(api, daemon.data, config, want, what)
        daemon.start()
        fitted(daemon.client)
        assert_same(served(daemon.client), want, f"after a {how}, {what}")
    copies_are_the_same(api, daemon, want, what)
    daemon.stop(seconds=30)


def can_rename_labels(api):
    return any("patch" in item for path, item in api.get("/openapi.json").ok().json["paths"].items() if "/labels/" in path)


def test_histories(api):
    rebuild, can_rename = has_rebuild(api), can_rename_labels(api)
    for number in histories_wanted(api):
        seed = f"{api.seed} {number}"
        try:
            one_history(api, random.Random(seed), rebuild, can_rename)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error
