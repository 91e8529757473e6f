# SPDX-License-Identifier: Apache-2.0
"""Random histories of every kind of change: what is served is the same live, after kill -9 at any commit,
after a clean stop, after `--rebuild`, after export and import, and from a backup.

HISTORIES=N sets how many a run has; HISTORY=N goes through the one of that number alone.
"""
import os
import random
import shutil

from acknowledged import (Acknowledged, NDJSON, documents_of, exported, fitted, has_rebuild, lines_of, models_of, path_of, summary,
                          verified)
from harness import equal, holds, near, quoted, refused

LABELS = ("ham", "spam", "other", "fourth")
WAITS = "somebody"  # a source without trust
PROBES = ("w1 w2 w3", "w3 w3 w40 never", "")
SETTINGS = ({"decision": "bayes"}, {"decision": "stacked"}, {"decision": "bayes", "smoothing": 0.5},
            {"decision": "stacked", "ready_documents": 2}, {"decision": "bayes", "event_model": "bernoulli"},
            {"decision": "bayes", "estimate": "mle"}, {"decision": "bayes", "predict": "integrate"},
            {"decision": "bayes", "unlabelled_weight": 0.5})
TEACHER = "ann"  # whose changes are undone


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
        self.remembered = {}  # {model: {id: text}} of those that keep a history
        self.taught = {}  # {model: {id: [(source, (label, text))]}}, of each document all since it was learned

    def name(self):
        """Of a model that there is or may be; now and then of one that is the prior of another."""
        priors = sorted(name for name in self.known.models if name.endswith(".prior"))
        return self.rng.choice(priors) if priors and not self.rng.randrange(8) else f"m{self.rng.randrange(3)}"

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
            was_there = id in self.known.models[name]
            self.known.untrain(client, name, id)
            if was_there:
                self.settle(name, [id])

    def settings(self, client):
        """Sometimes with a parent, old or new, or without the one that it had."""
        name, parent = self.name(), self.rng.choice((None, *sorted(self.known.models)))
        settings = self.rng.choice(SETTINGS[:4] if parent else SETTINGS)  # some cannot have a parent
        reply = client.put(path_of(name), {**settings, "parent": parent, "history": 1000,
                                           "parent_strength": self.rng.choice((1, 10, 100))})
        if reply.status in (400, 409, 422):
            return self.refused(reply, name, parent)
        holds(reply.status in (200, 201), reply.body)
        self.known.models.setdefault(name, {})
        self.remembered.setdefault(name, {})
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
        for of in (self.waiting, self.parents, self.remembered, self.taught):
            of.pop(name, None)

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
        self.copied(source, name, state, parent)

    def copied(self, source, name, state, parent):
        """The history stays with the old model; of each document there is its last change alone."""
        self.known.models[name] = state
        self.has_parent(name, parent)
        self.remembered.pop(name, None)
        if source in self.remembered:
            self.remembered[name] = {}
        self.taught[name] = {id: chain[-1:] for id, chain in self.taught.get(source, {}).items()}

    def derive(self, client):
        """A model that begins with what another knows, at full strength or with a frozen copy as its parent."""
        source, name, frozen = self.name(), f"m{self.rng.randrange(3)}", self.rng.randrange(2)
        if source not in self.known.models or name in self.known.models or name + ".prior" in self.known.models:
            return
        reply = client.post(f"{path_of(name)}/from/{source}" + ("?strength=20" if frozen else ""), None)
        if reply.status in (400, 409, 422):
            holds(frozen or source in self.parents, reply.body)
            return
        reply.ok(201)
        self.copied(source, name + ".prior" if frozen else name, dict(self.known.models[source]), self.parents.get(source))
        if frozen:
            self.copied(source, name, {}, name + ".prior")
            self.taught.pop(name, None)

    def rename(self, client):
        name, old, new = self.name(), *self.rng.sample(LABELS, 2)
        state = self.known.models.get(name)
        if not self.can_rename or not state:
            return
        reply = client.call("PATCH", f"{path_of(name)}/labels/{old}", {"name": new})
        holds(reply.status in (200, 404, 409), reply.body)
        if reply.status == 200:
            self.known.models[name] = {id: (new if label == old else label, text) for id, (label, text) in state.items()}
            for chain in self.taught[name].values():
                chain[:] = [(source, (new if label == old else label, text)) for source, (label, text) in chain]

    def merge(self, client):
        name, old, new = self.name(), *self.rng.sample(LABELS, 2)
        state = self.known.models.get(name)
        if not self.can_rename or not state:
            return
        reply = client.call("PATCH", f"{path_of(name)}/labels/{old}", {"name": new, "merge": True})
        holds(reply.status in (200, 404), reply.body)
        holds(reply.status == 200 or not {old, new} <= {label for label, _ in state.values()}, reply.body)
        if reply.status == 200:
            ids = [id for id, (label, _) in state.items() if label == old]
            state.update((id, (new, state[id][1])) for id in ids)
            self.settle(name, ids)

    def delete_label(self, client):
        name, label = self.name(), self.rng.choice(LABELS)
        state = self.known.models.get(name)
        if state:
            reply = client.delete(f"{path_of(name)}/labels/{label}")
            ids = [id for id, (given, _) in state.items() if given == label]
            holds(reply.status in ((200,) if ids else (200, 404)), reply.body)
            for id in ids:  # what waits for them goes on waiting, as after an undo
                del state[id], self.taught[name][id]

    # -- the history of verdicts
    def remember(self, client):
        name, id, text = self.name(), f"d{self.rng.randrange(40)}", self.text()
        if name in self.remembered:
            reply = client.post(path_of(name) + "/classify?remember=1", {"id": id, "text": text})
            holds(reply.status in (200, 409), reply.body)  # 409: nothing was learned
            if reply.status == 200:
                equal((reply.json["id"], reply.json["remembered"]), (id, True), reply.body)
                self.remembered[name][id] = text

    def label_by_id(self, client):
        """Of what is learned, or else of what is remembered. Sometimes the same is asked twice."""
        name, id, label = self.name(), f"d{self.rng.randrange(40)}", self.label()
        state = self.known.models.get(name, {})
        old = state.get(id, (None, self.remembered.get(name, {}).get(id)))
        for _ in range(self.rng.choice((1, 1, 2))):
            reply = client.post(f"{path_of(name)}/documents/{id}/label", {"label": label})
            equal(reply.status, 200 if old[1] is not None else 404, f"label of {id} in {name}: {reply.body}")
            if reply.status == 200:
                state[id] = (label, old[1])
                self.settle(name, [id])

    def forget(self, client):
        name, id = self.name(), f"d{self.rng.randrange(40)}"
        kept = self.remembered.get(name, {}).pop(id, None)
        state = self.known.models.get(name, {})
        reply = client.delete(f"{path_of(name)}/documents/{id}")
        equal(reply.status, 200 if id in state or kept is not None else 404, f"forgetting {id} of {name}: {reply.body}")
        if state.pop(id, None):
            self.settle(name, [id])

    # -- undo
    def teach(self, client):
        name, id, row = self.name(), f"d{self.rng.randrange(30)}", (self.label(), self.text())
        client.post(path_of(name) + "/train", {"id": id, "label": row[0], "text": row[1], "source": TEACHER}).ok()
        self.known.models.setdefault(name, {})[id] = row
        self.settle(name, [id], TEACHER)

    def undo(self, client):
        """The documents that TEACHER changed last are as they were before; one that had other content then may be
        forgotten instead."""
        name = self.name()
        state, chains = self.known.models.get(name, {}), self.taught.get(name, {})
        if not state:
            return
        found = client.post(path_of(name) + "/undo", {"source": TEACHER}).ok().json
        seen = documents_of(exported(client, name))
        ids = [id for id, chain in chains.items() if chain[-1][0] == TEACHER]
        equal(found["documents"], len(ids), f"documents that {TEACHER} changed last in {name}")
        for id in ids:
            chain = chains[id]
            while chain and chain[-1][0] == TEACHER:
                chain.pop()
            before = chain[-1][1] if chain else None
            allowed = (before,) if before is None or before[1] == state[id][1] else (before, None)
            holds(seen.get(id) in [summary(row) for row in allowed], f"{name}, {id}: {seen.get(id)}, not one of {allowed}")
            state.pop(id)
            if id in seen:
                state[id] = before
            else:
                del chains[id]

    # -- documents without a label
    def em(self, client):
        name = self.name()
        if name in self.known.models:
            client.post(path_of(name) + "/em").ok()

    def cluster(self, client):
        name = self.name()
        state = self.known.models.get(name, {})
        ids = [id for id, (label, _) in state.items() if label is None]
        reply = client.post(path_of(name) + "/cluster", {"clusters": 2, "seed": 1, "apply": "labels"})
        if reply.status == 200:
            seen = documents_of(exported(client, name))
            given = [id for id in ids if seen[id][0] is not None]  # a document of which no word is in another gets none
            equal(reply.json["labelled"], len(given), "documents that got the label of their cluster")
            holds(all(seen[id][0].startswith("cluster-") for id in given), seen)
            state.update((id, (seen[id][0], state[id][1])) for id in given)
            self.settle(name, given)
        else:
            holds(reply.status in (404, 409, 422), reply.body)

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
                    continue
                self.settle(name, [id], WAITS)
            equal(reply["refused"], len(self.waiting.get(name, ())), reply)

    def drop(self, client):
        name = self.name()
        if name in self.known.models:
            gone = client.post(path_of(name) + "/quarantine/drop", {"all": True}).ok().json["dropped"]
            equal(gone, len(self.waiting.pop(name, {})), "changes that were dropped")

    def settle(self, name, ids, source="http"):
        """What others change does not wait any more. An undo asks whose change each is."""
        state, chains = self.known.models.get(name, {}), self.taught.setdefault(name, {})
        for id in ids:
            self.waiting.get(name, {}).pop(id, None)
            if id not in state:
                chains.pop(id, None)
            elif not chains.get(id) or chains[id][-1][1] != state[id]:
                chains.setdefault(id, []).append((source, state[id]))

    def go(self, steps):
        changes = (self.train, self.relabel, self.untrain, self.settings, self.delete, self.copy, self.rename,
                   self.wait, self.apply, self.drop, self.derive, self.merge, self.delete_label, self.remember,
                   self.label_by_id, self.forget, self.teach, self.undo, self.em, self.cluster)
        for _ in range(steps):
            change = self.rng.choices(changes, (50, 20, 20, 8, 3, 3, 4, 20, 2, 2, 4, 3, 1, 20, 15, 5, 15, 3, 5, 2))[0]
            self.steps.append(change.__name__)
            change(self.daemon.client)


# ---- what is served -----------------------------------------------------------------------------
def served(client):
    """{model: all that can be asked of it}"""
    return {name: one(client, name, row) for name, row in models_of(client).items()}


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
            "history": client.get(path + "/history?limit=1000").ok().json["history"],
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


def remembered_in(client, name):
    return sorted(row["id"] for row in client.get(path_of(name) + "/history?limit=1000").ok().json["history"])


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
    parents, left_out = {name: parts["row"]["settings"]["parent"] for name, parts in want.items()}, set()
    for name in sorted(want, key=lambda name: len(ancestors(name, parents))):
        reply = other.client.put(path_of(name) + "/import", exported(daemon.client, name), NDJSON)
        if b"different keys" in reply.body or parents[name] in left_out:
            left_out.add(name)  # without texts each has features under a key of its own, and cannot have a parent
            refused(reply, reply.status, "parent")
            continue
        reply.ok(201)
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


def restored_is_the_same(api, daemon, config, want, what):
    """A backup of the running daemon, put into an empty directory."""
    folder = api.new_folder()
    path, data = os.path.join(folder, "backup"), os.path.join(folder, "data")
    with open(path, "wb") as file:
        file.write(daemon.client.post("/v1/backup").ok().body)
    status, out, err = api.tool("--restore", path, "--data", data, seconds=60)
    equal(status, 0, f"--restore {what}: {out}{err}")
    other = api.another(data=data, config=config).start()
    fitted(other.client)
    assert_same(served(other.client), want, "after --restore " + what)
    other.stop(seconds=30)


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
            equal({name: remembered_in(daemon.client, name) for name in history.known.models},
                  {name: sorted(history.remembered.get(name, ())) for name in history.known.models}, "what is remembered")
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
    restored_is_the_same(api, daemon, config, want, what)
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
