# SPDX-License-Identifier: Apache-2.0
"""What a client knows of a store: every change that was acknowledged, and those without an answer.

A model's state is {id: (label, text)}, or None for a model that does not exist. A request that was
cut off leaves a doubt: the model is as before or as asked for. settle() looks which, and refuses
anything else; check() counts every model anew from the texts and compares all that the daemon says.
"""
import http.client
import json
import os
import shutil
from collections import Counter

from harness import equal, holds, quoted, wait_for

NDJSON = "application/x-ndjson"
LISTED = 10000  # rows that a vocabulary listing may have


def path_of(name):
    return f"/v1/models/{name}"


def summary(document):
    """What the daemon shows of a document; None of one that is not there."""
    return None if document is None else (document[0], len(document[1].split()))


def models_of(client):
    """The rows of all models, by name; pages are followed where there are pages."""
    found, reply = [], client.get("/v1/models").ok().json
    found += reply["models"]
    while reply.get("more") or reply.get("next"):
        reply = client.get("/v1/models?after=" + quoted(found[-1]["name"])).ok().json
        found += reply["models"]
    equal([row["name"] for row in found], sorted(row["name"] for row in found), "order of the listing")
    return {row["name"]: row for row in found}


def settled(client, names=None):
    """Until no weights are to be fitted anew, of these models (None: of all): what is served then stays as it is."""
    for name in models_of(client) if names is None else names:
        client.get(path_of(name)).ok()  # it is loaded
    wait_for(lambda: b"\nbayesd_refits_waiting 0\n" in client.get("/metrics").ok().body, "refits to end", 60)


def fitted(client):
    """Weights are fitted, and then EM of every model with them, and with all its documents without a label."""
    def is_done(name):
        found = client.post(path_of(name) + "/em").ok().json
        unlabelled = client.get(path_of(name)).ok().json.get("unlabelled", 0)
        return found["state"] not in ("waiting", "running") and found.get("documents", unlabelled) == unlabelled
    settled(client)
    for name in models_of(client):
        wait_for(lambda name=name: is_done(name), f"EM of {name}", 60, 0.02)


def exported(client, name):
    """The dump of a model that must be whole: bytes."""
    reply = client.get(path_of(name) + "/export")
    for _ in range(20):  # a store that grows ends what reads it for long
        if reply.status == 503 and "retry-after" in reply.headers and b"grow" in reply.body:
            reply = client.get(path_of(name) + "/export")
    reply.ok()
    lines = reply.body.splitlines()
    holds(lines and b'"end"' in lines[-1], f"the export of {name} has no end line")
    return reply.body


def documents_of(dump):
    """{id: (label, tokens)} of a dump."""
    found, labels = {}, None
    for line in dump.splitlines():
        if labels is not None and line.startswith(b'{"words"'):
            continue  # long, and of no interest here
        record = json.loads(line)
        if labels is None:
            labels = record["labels"]
        if "document" in record:
            row = record["document"]
            holds(row["id"] not in found, f"{row['id']} is twice in the dump")
            label = row["label"]
            found[row["id"]] = (labels[label] if isinstance(label, int) else label, row["tokens"])
    return found


def lines_of(dump):
    """A dump: what its first line says, and its documents with their words instead of the numbers that these have. Words
    that nobody has go when nothing else is to be done, those of what was forgotten last with the next change: the
    others have other numbers then, and where texts are not kept all that are left may have one."""
    lines = [json.loads(line) for line in dump.splitlines()]
    words = {row: pair for w in (line["words"] for line in lines if "words" in line)
             for row, pair in enumerate(zip(w["ids"], w["texts"] or w["ids"]), w["first_row"])}
    documents = [{**line["document"], "rows": [words[row] for row in line["document"]["rows"]]}
                 for line in lines if "document" in line]
    return [*(item for item in lines[0].items() if item[0] != "texts"), *documents, lines[-1]["end"]["documents"]]


def teach_unclear(client, name, old, state, asked):
    """An export shows the label and the length of a document. Where both are those of the acknowledged and
    of the asked one, and the texts are not the same, either may be there: the acknowledged one is taught again."""
    for id, row in (state or {}).items():
        wish = asked.get(id)
        if row == (old or {}).get(id) and wish is not None and wish != row and summary(wish) == summary(row):
            client.post(path_of(name) + "/train", {"id": id, "label": row[0], "text": row[1]}).ok()


class Acknowledged:
    def __init__(self):
        self.models = {}  # name -> state, of those that exist
        self.doubts = {}  # name -> ("rows", {id: document or None}) or ("whole", [state or None, ...])

    # -- changes: True if there was an answer
    def train(self, client, name, rows):
        """rows: [(id, label, text)]"""
        asked = {id: (label, text) for id, label, text in rows}
        body = {"documents": [{"id": id, "label": label, "text": text} for id, label, text in rows]}
        reply = self.send(client, "POST", path_of(name) + "/train", body)
        if reply is None:
            self.doubts[name] = ("rows", asked)
            return False
        results = reply.ok().json["results"]
        equal(len(results), len(rows), "results")
        state = self.models.setdefault(name, {})
        for (id, label, text), result in zip(rows, results):
            holds("error" not in result, result)
            equal((result["id"], result["label"], result["tokens"]), (id, label, len(text.split())), "receipt")
            old = state.get(id)
            first = "stored" if label is None else "learned"
            want = first if old is None or (old[0] is None and label is not None) else \
                "relabelled" if old[0] != label else "unchanged" if old[1] == text else "updated"
            equal(result["status"], want, f"{name}, {id}: from {summary(old)} to {summary((label, text))}")
            state[id] = (label, text)
        return True

    def label(self, client, name, id, label):
        """A label by the id alone, of a document that is there."""
        old = self.models[name][id]
        reply = self.send(client, "POST", path_of(name) + "/train", {"id": id, "label": label})
        if reply is None:
            self.doubts[name] = ("rows", {id: (label, old[1])})
            return False
        want = "unchanged" if old[0] == label else "learned" if old[0] is None else "relabelled"
        equal((reply.ok().json["status"], reply.json["label"]), (want, label), f"label of {id}, which was {old[0]}")
        self.models[name][id] = (label, old[1])
        return True

    def untrain(self, client, name, id):
        reply = self.send(client, "POST", path_of(name) + "/untrain", {"id": id})
        if reply is None:
            self.doubts[name] = ("rows", {id: None})
            return False
        holds((reply.status == 200) == (id in self.models.get(name, {})), f"untrain of {id}: {reply.status}")
        self.models.get(name, {}).pop(id, None)
        return True

    def replace(self, client, name, dump, state):
        """PUT .../import of a dump that holds `state`."""
        reply = self.send(client, "PUT", path_of(name) + "/import", dump, NDJSON)
        if reply is None:
            self.doubt(name, state)
            return False
        if self.doubts.pop(name, None) is None:
            reply.ok(200 if name in self.models else 201)
        holds(reply.status in (200, 201), f"import into {name}: {reply.status} {reply.body[:300]}")
        self.models[name] = dict(state)
        return True

    def delete(self, client, name):
        reply = self.send(client, "DELETE", path_of(name))
        if reply is None:
            self.doubt(name, None)
            return False
        if self.doubts.pop(name, None) is None:
            equal(reply.status, 204 if name in self.models else 404, f"delete of {name}")
        holds(reply.status in (204, 404), f"delete of {name}: {reply.status} {reply.body[:300]}")
        self.models.pop(name, None)
        return True

    def doubt(self, name, state):
        """A request that would have made `state` of the model was cut off."""
        self.doubts[name] = ("whole", [self.models.get(name), state])

    @staticmethod
    def send(client, method, path, body=None, kind=None):
        try:
            return client.once(method, path, body, kind)
        except (OSError, http.client.HTTPException):
            return None

    # -- judgement
    def settle(self, client):
        """Makes certain what was in doubt; every model must be in a state that is allowed."""
        there = models_of(client)
        for name, (kind, allowed) in self.doubts.items():
            seen = documents_of(exported(client, name)) if name in there else None
            if kind == "whole":
                state = self.settle_whole(name, seen, allowed)
            else:
                state = self.settle_rows(name, seen, allowed)
                teach_unclear(client, name, self.models.get(name), state, allowed)
            self.models.pop(name, None)
            if state is not None:
                self.models[name] = state
        self.doubts = {}

    @staticmethod
    def settle_whole(name, seen, allowed):
        for state in allowed:
            if seen == (None if state is None else {id: summary(d) for id, d in state.items()}):
                return None if state is None else dict(state)
        sizes = [None if state is None else len(state) for state in allowed]
        raise AssertionError(f"{name} has {None if seen is None else len(seen)} documents, "
                             f"allowed was one of {sizes}")

    def settle_rows(self, name, seen, asked):
        old = self.models.get(name)
        if seen is None:
            holds(old is None, f"{name} is gone, with {len(old or ())} acknowledged documents")
            return None
        state = dict(old or {})
        for id in set(state) | set(asked) | set(seen):
            if seen.get(id) == summary(state.get(id)):
                continue
            holds(id in asked, f"{name}, {id}: {seen.get(id)} is there, acknowledged was {summary(state.get(id))}")
            equal(seen.get(id), summary(asked[id]),
                  f"{name}, {id}: neither {summary(state.get(id))} nor what was asked for")
            state.pop(id, None)
            if asked[id] is not None:
                state[id] = asked[id]
        return state

    def check(self, client, rng=None, most=200):
        """Everything acknowledged is there, and nothing else."""
        there = models_of(client)
        equal(sorted(there), sorted(self.models), "the models")
        for name, state in self.models.items():
            try:
                self.check_model(client, name, state, there[name], rng, most)
            except AssertionError as error:
                raise AssertionError(f"model {name}: {error}") from error

    def check_model(self, client, name, state, listed, rng, most):
        counts = {}
        labelled = [d for d in state.values() if d[0] is not None]
        for label, text in labelled:
            docs, words = counts.setdefault(label, [0, Counter()])
            counts[label][0] = docs + 1
            words.update(text.split())
        labels = {label: (docs, words.total()) for label, (docs, words) in counts.items()}
        vocabulary = set().union(*(words for _, words in counts.values()))
        row = client.get(path_of(name)).ok().json
        for what in (row, listed):
            equal({label: (r["documents"], r["tokens"]) for label, r in what["labels"].items() if r["documents"]},
                  labels, "documents and tokens by label")
            equal((what["documents"], what.get("unlabelled", 0), what["vocabulary"]),
                  (len(labelled), len(state) - len(labelled), len(vocabulary)), "documents, vocabulary")
        equal(documents_of(exported(client, name)), {id: summary(d) for id, d in state.items()}, "export")
        if labelled and len(vocabulary) <= LISTED:
            check_words(client, name, counts, len(vocabulary))
        ids = sorted(state)
        for id in ids if len(ids) <= most or rng is None else rng.sample(ids, most):
            seen = client.get(f"{path_of(name)}/documents/{quoted(id)}").ok().json
            equal((seen["label"], seen["tokens"]), summary(state[id]), f"document {id}")
        equal(client.get(path_of(name) + "/documents/was-never-there").status, 404)


def check_words(client, name, counts, vocabulary):
    """The counts of every word, label by label, against those of the texts."""
    label = min(counts)
    reply = client.get(f"{path_of(name)}/vocabulary?label={quoted(label)}&limit={LISTED}").ok().json
    equal((reply["vocabulary"], len(reply["tokens"])), (vocabulary, vocabulary), "vocabulary listing")
    for row in reply["tokens"]:
        got = {v: c for v, c in row["counts"].items() if c}
        want = {v: words[row["token"]] for v, (_, words) in counts.items() if words[row["token"]]}
        equal(got, want, f"counts of {row['token']!r}")


# ---- the store as a whole -----------------------------------------------------------------------
def export_all(client):
    return {name: exported(client, name) for name in models_of(client)}


def verified(api, data):
    """`bayesd --verify` finds nothing."""
    status, out, err = api.tool("--verify", "--data", data, seconds=120)
    equal(status, 0, f"--verify:\n{out}{err}")
    holds("model '" not in out + err, f"--verify reports:\n{out}{err}")


def has_rebuild(api):
    return "--rebuild" in api.tool("--help")[1]


def rebuilt(api, data, config=None):
    """`bayesd --rebuild` of a copy finds nothing that differs, and the copy serves the same."""
    copy = shutil.copytree(data, os.path.join(api.new_folder(), "data"))
    before = exports_of(api, copy, config)
    status, out, err = api.tool("--rebuild", "--data", copy, seconds=120)
    equal(status, 0, f"--rebuild:\n{out}{err}")
    holds("model '" not in out + err, f"--rebuild says that something differed:\n{out}{err}")
    verified(api, copy)
    after = exports_of(api, copy, config)
    equal(sorted(after), sorted(before), "models after --rebuild")
    for name, dump in before.items():
        equal(lines_of(after[name]), lines_of(dump), f"export of {name} after --rebuild")
    shutil.rmtree(copy)


def exports_of(api, data, config=None):
    daemon = api.another(data=data, config=config).start()
    settled(daemon.client)
    dumps = export_all(daemon.client)
    daemon.stop(seconds=30)
    return dumps
