# SPDX-License-Identifier: Apache-2.0
"""Random histories of models with fields: categories, sets, numbers, texts, trees, calibration and the stack. What is
served is the same live, after kill -9, after a stop, after `--rebuild`, and by the book it is that of a model which
learned the living documents alone, in another order.

HISTORIES=N sets how many a run has.
"""
import random

from acknowledged import NDJSON, exported, fitted, has_rebuild, lines_of, models_of, path_of, settled, verified
from harness import equal, holds, near, quoted
from test_histories import assert_same, config_of, evaluation_of, histories_wanted, rebuilt_is_the_same

LABELS = ("ham", "spam", "other")
FIELDS = {"plan": "category", "country": "category", "tags": "set", "title": "text", "amount": "number",
          "size": "number"}
BOOK = ({}, {"smoothing": 0.5}, {"estimate": "mle"}, {"smoothing": {"m": 3, "p": "uniform"}}, {"number": "bins"},
        {"number": "auto"}, {"structure": "tan"}, {"event_model": "bernoulli"}, {"calibration": "platt"},
        {"predict": "integrate"})
PROBES = ({"text": "w1 w2 w3"}, {"text": "w1", "values": {"plan": "v1", "amount": 3.5, "tags": ["t1", "t9"]}},
          {"values": {"country": "v0", "title": "w2 never", "size": -1e6}}, {"values": {}})


def words(rng, most):
    return " ".join(f"w{int(40 * rng.random() ** 2)}" for _ in range(rng.randrange(1, most)))


def value_of(rng, kind):
    if kind == "number":
        return rng.choice((rng.randrange(10), rng.gauss(3, 2), rng.gauss(0, 1) * 10.0 ** rng.randrange(-9, 9)))
    if kind == "set":
        return rng.sample([f"t{i}" for i in range(6)], rng.randrange(4))
    return words(rng, 4) if kind == "text" else f"v{int(5 * rng.random() ** 2)}"


class History:
    """`known`: {model: {id: (label, document)}}, `settings`: {model: what was asked for}."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng = daemon, rng
        self.known, self.settings, self.fields, self.steps = {}, {}, {}, []
        self.remembered = {}  # {model: {id: document}}

    def name(self):
        """Of a model that there is or may be; now and then of one that is the prior of another."""
        priors = sorted(name for name in self.known if name.endswith(".prior"))
        return self.rng.choice(priors) if priors and not self.rng.randrange(8) else f"m{self.rng.randrange(2)}"

    def has_relatives(self, name):
        return any("parent" in settings and name in (child, settings["parent"]) for child, settings in self.settings.items())

    def document(self, name):
        values = {field: value_of(self.rng, kind) for field, kind in self.fields[name].items()
                  if self.rng.randrange(3)}
        return {"text": words(self.rng, 12), "values": values} if self.rng.randrange(4) else {"values": values}

    def put(self, client, name):
        wanted = {"preset": "book", "history": 1000,
                  **(self.rng.choice(BOOK) if self.rng.randrange(3) else {"decision": "stacked"})}
        if self.has_relatives(name):
            wanted = {**self.settings[name], "unsure_band": self.rng.choice((0, 0.1))}  # they have to fit each other
        reply = client.put(path_of(name), {**wanted, "fields": self.fields[name]})
        if reply.status == 422 and name not in self.known:  # not with these fields
            wanted = {"preset": "book", "history": 1000}
            client.put(path_of(name), {**wanted, "fields": self.fields[name]}).ok(201)
        elif reply.status != 422:
            reply.ok(200 if name in self.known else 201)
        self.settings[name] = wanted if reply.status != 422 or name not in self.known else self.settings[name]

    def change_settings(self, client):
        name = self.name()
        if name not in self.known:
            kinds = sorted(FIELDS.items())
            self.fields[name] = dict(self.rng.sample(kinds, self.rng.randrange(1, len(kinds) + 1)))
        self.put(client, name)
        self.known.setdefault(name, {})
        self.remembered.setdefault(name, {})

    def train(self, client):
        name = self.name()
        if name in self.known:
            rows = {f"d{i}": (self.rng.choice((*LABELS, None)), self.document(name))
                    for i in self.rng.sample(range(40), self.rng.choice((1, 1, 4, 15)))}
            body = [{"id": id, "label": label, **document} for id, (label, document) in rows.items()]
            reply = client.post(path_of(name) + "/train", {"documents": body}).ok().json
            holds(not any("error" in row for row in reply["results"]), reply)
            self.known[name].update(rows)

    def relabel(self, client):
        name = self.name()
        if self.known.get(name):
            id, label = self.rng.choice(sorted(self.known[name])), self.rng.choice((*LABELS, None))
            client.post(path_of(name) + "/train", {"id": id, "label": label}).ok()
            self.known[name][id] = (label, self.known[name][id][1])

    def untrain(self, client):
        name = self.name()
        if self.known.get(name):
            id = self.rng.choice(sorted(self.known[name]))
            client.post(path_of(name) + "/untrain", {"id": id}).ok()
            del self.known[name][id]

    def delete_label(self, client):
        name, label = self.name(), self.rng.choice(LABELS)
        if name in self.known:
            status = client.delete(f"{path_of(name)}/labels/{label}").status
            holds(status in (200, 204, 404), status)
            self.known[name] = {id: row for id, row in self.known[name].items() if row[0] != label}

    def copy(self, client):
        """An import of another model's export, or of its own."""
        source, name = self.name(), self.name()
        if source in self.known:
            reply = client.put(path_of(name) + "/import", exported(client, source), NDJSON)
            if reply.status in (409, 422):
                holds(self.has_relatives(name) or self.has_relatives(source), reply.body)
                return
            reply.ok(200 if name in self.known else 201)
            self.copied(source, name)

    def copied(self, source, name):
        self.known[name], self.remembered[name] = dict(self.known[source]), {}
        self.settings[name], self.fields[name] = self.settings[source], self.fields[source]

    def derive(self, client):
        """A model that begins with what another knows, at full strength or with a frozen copy as its parent."""
        source, name, frozen = self.name(), f"m{self.rng.randrange(2)}", self.rng.randrange(3)
        if source not in self.known or name in self.known or name + ".prior" in self.known:
            return
        reply = client.post(f"{path_of(name)}/from/{source}" + ("?strength=20" if frozen else ""), None)
        if reply.status in (409, 422) and frozen:
            return  # not with these settings
        reply.ok(201)
        self.copied(source, name + ".prior" if frozen else name)
        if frozen:
            self.copied(source, name)
            self.known[name] = {}
            self.settings[name] = {**self.settings[source], "parent": name + ".prior", "parent_strength": 20}

    def merge(self, client):
        name, (old, new) = self.name(), self.rng.sample(LABELS, 2)
        if name in self.known:
            reply = client.call("PATCH", f"{path_of(name)}/labels/{old}", {"name": new, "merge": True})
            holds(reply.status in (200, 404), reply.body)
            if reply.status == 200:
                self.known[name] = {id: (new if label == old else label, document)
                                    for id, (label, document) in self.known[name].items()}

    def remember(self, client):
        name, id = self.name(), f"d{self.rng.randrange(50)}"
        if name in self.known:
            document = self.document(name)
            reply = client.post(path_of(name) + "/classify?remember=1", {"id": id, **document})
            holds(reply.status in (200, 409), reply.body)  # 409: nothing was learned
            if reply.status == 200:
                equal((reply.json["id"], reply.json["remembered"]), (id, True), reply.body)
                self.remembered[name][id] = document

    def label_by_id(self, client):
        """Of what is learned, or else of what is remembered."""
        name, label = self.name(), self.rng.choice((*LABELS, None))
        state, kept = self.known.get(name, {}), self.remembered.get(name, {})
        id = self.rng.choice(sorted({*state, *kept}) or ["none"])
        document = state[id][1] if id in state else kept.get(id)
        reply = client.post(f"{path_of(name)}/documents/{id}/label", {"label": label})
        equal(reply.status, 404 if document is None else 200, reply.body)
        if document is not None:
            state[id] = (label, document)

    def delete(self, client):
        name = self.name()
        is_parent = any(settings.get("parent") == name for settings in self.settings.values())
        equal(client.delete(path_of(name)).status, 409 if is_parent else 204 if name in self.known else 404)
        for of in () if is_parent else (self.known, self.settings, self.fields, self.remembered):
            of.pop(name, None)

    def go(self, steps):
        changes = (self.train, self.relabel, self.untrain, self.change_settings, self.delete_label, self.copy, self.delete,
                   self.derive, self.merge, self.remember, self.label_by_id)
        for _ in range(steps):
            change = self.rng.choices(changes, (40, 15, 25, 15, 2, 3, 2, 4, 2, 15, 15))[0]
            self.steps.append(change.__name__)
            change(self.daemon.client)


# ---- what is served -----------------------------------------------------------------------------
def verdict(client, name, probe, fields):
    document = {**probe, "values": {k: v for k, v in probe.get("values", {}).items() if k in fields}}
    reply = client.post(path_of(name) + "/classify", document)
    holds(reply.status in (200, 409), reply.body)  # 409: it has learned nothing
    return {k: v for k, v in reply.json.items() if k not in ("model", "detail")}


def served(client):
    """{model: all that can be asked of it}"""
    found = {}
    for name in models_of(client):
        path = path_of(name)
        row = client.get(path).ok().json
        dump = exported(client, name)
        found[name] = {"row": row, "dump": lines_of(dump), "evaluation": evaluation_of(client, path),
                       "history": client.get(path + "/history?limit=1000").ok().json["history"],
                       "distributions": [client.get(f"{path}/distribution?label={quoted(v)}").json
                                         for v in sorted(row["labels"])],
                       "verdicts": [verdict(client, name, probe, row["settings"]["fields"]) for probe in PROBES]}
    return found


def assert_learned_alone(history):
    """By the book: a model that learned what is there, and nothing else, in another order, scores the same."""
    for name, state in history.known.items():
        labelled = [(id, *row) for id, row in state.items() if row[0] is not None]
        client, path = history.daemon.client, path_of(name)
        equal((client.get(path).ok().json["documents"]), len(labelled), f"documents of {name}")
        if "decision" in history.settings[name] or not labelled:
            continue
        history.rng.shuffle(labelled)
        other = "/v1/models/alone"
        client.put(other, {**history.settings[name], "fields": history.fields[name]}).ok(201)
        for id, label, document in labelled:
            client.post(other + "/train", {"id": id, "label": label, **document}).ok()
        settled(client)
        for probe in PROBES:
            got, want = (verdict(client, asked, probe, history.fields[name]) for asked in (name, "alone"))
            compare(got, want, f"{name} {history.settings[name]} {probe}")
        client.delete(other).ok(204)


def compare(got, want, what):
    """A label that has no document any more stays known, and has no score."""
    scores = {v: s for v, s in got["log_scores"].items() if v in want["log_scores"]}
    equal(sorted(scores), sorted(want["log_scores"]), what)
    for label, score in want["log_scores"].items():
        if score is None or scores[label] is None:
            equal(scores[label], score, f"{what}: {label}")
        else:
            near(scores[label], score, f"{what}: {label}", 1e-9)


# ---- the test -----------------------------------------------------------------------------------
def one_history(api, rng, rebuild):
    config = config_of(rng)
    daemon = api.another(config=config).start()
    history = History(daemon, rng)
    history.change_settings(daemon.client)
    for part in range(rng.randrange(2, 4)):
        history.go(rng.randrange(10, 50))
        what = f"{part}, {config}, last {history.steps[-12:]}"
        assert_learned_alone(history)
        served(daemon.client)  # a model that is not in memory is fitted anew when it is asked
        fitted(daemon.client)
        want = served(daemon.client)
        how = rng.choice(("kill", "stop"))
        getattr(daemon, how)()
        verified(api, daemon.data)
        if rebuild:
            rebuilt_is_the_same(api, daemon.data, config, want, what, served)
        daemon.start()
        fitted(daemon.client)
        assert_same(served(daemon.client), want, f"after a {how}, {what}")
    daemon.stop(seconds=30)


def test_field_histories(api):
    rebuild = has_rebuild(api)
    for number in histories_wanted(api):
        seed = f"{api.seed} fields {number}"
        try:
            one_history(api, random.Random(seed), rebuild)
        except AssertionError as error:
            raise AssertionError(f"history {seed}: {error}") from error
