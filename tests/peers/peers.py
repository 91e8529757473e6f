# SPDX-License-Identifier: Apache-2.0
"""What a comparison needs: the daemon, Weka, and distributions side by side.

A comparison is a function test_*(peers) that raises when something is not equal; `peers` is a Peers.
"""
import json
import math
import os
import subprocess
import sys
from collections import Counter

import arff

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "api"))

import harness  # noqa: E402  (needs the path above)
from attributes import information  # noqa: E402, F401  (for the modules)
from harness import equal, holds, quoted  # noqa: E402

WEKA = "/usr/share/java/weka.jar"
WEKA_DATA = "/usr/share/doc/weka/examples"
NDJSON = "application/x-ndjson"
# What teaches values that are declared and that no document has.
DECLARED = "declared values"


def soft_max(scores):
    """{label: probability}; None is the score of what is impossible."""
    top = max(s for s in scores.values() if s is not None)
    weights = {v: 0.0 if s is None else math.exp(s - top) for v, s in scores.items()}
    total = sum(weights.values())
    return {v: w / total for v, w in weights.items()}


def label_weights(data, added):
    """A `prior` that weighs each label with its rows, and so much more."""
    counts = Counter(label for _, label in data.documents())
    return {label: counts[label] + added for label in data.labels()}


class Model:
    """A model of the daemon with `fields`, by the book unless `settings` say otherwise. Deleted at the end."""

    def __init__(self, api, fields, settings):
        self.api, self.fields, self.settings = api, fields, {"preset": "book", **settings}
        self.path = "/v1/models/" + quoted(api.name())
        api.put(self.path, {**self.settings, "fields": fields}).ok(201)
        self.learned = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.api.daemon.running():
            self.api.delete(self.path)

    def put(self, **settings):
        """Other settings; what is not named is as in the preset."""
        self.settings = {"preset": "book", **settings}
        self.api.put(self.path, self.settings).ok(200)

    def lines(self, verb, documents, query=""):
        body = "".join(json.dumps(document) + "\n" for document in documents)
        got = self.api.post(f"{self.path}/{verb}{query}", body, NDJSON).ok().lines
        holds(not any("error" in line for line in got), [line for line in got if "error" in line][:1])
        return got

    def train(self, documents):
        """[({field: value}, label)], each a document of its own."""
        rows = [{"values": values, "label": label, "id": str(self.learned + n)}
                for n, (values, label) in enumerate(documents)]
        got = self.lines("train", rows)
        equal([line["status"] for line in got], ["learned"] * len(rows))
        self.learned += len(rows)

    def train_as_declared(self, data):
        """All rows; and values that are declared and that no row has, with a label of their own."""
        self.train(data.documents())
        self.train([({name: value}, DECLARED) for name, value in data.declared_only()])

    def verdicts(self, documents, query=""):
        return self.lines("classify", [{"values": values} for values, _ in documents], query)

    def probabilities(self, documents):
        """[{label: probability}], without the label of declared values."""
        return [soft_max({v: s for v, s in got["log_scores"].items() if v != DECLARED})
                for got in self.verdicts(documents)]


class Weka:
    """What Weka's driver has printed: distributions, and the parents of a Bayes net's attributes."""

    def __init__(self, output, labels):
        lines = [line.split() for line in output.splitlines()]
        self.distributions = [dict(zip(labels, map(float, line[1:]))) for line in lines if line[0] == "distribution"]
        self.parents = {int(line[1]): [int(p) for p in line[2:]] for line in lines if line[0] == "parents"}


class Peers:
    """One for each module. `api` is the session of the API tests, with its daemon."""

    def __init__(self, session):
        self.api, self.random = session, None
        self._driver = None

    def model(self, fields, **settings):
        return Model(self.api, fields, settings)

    # -- Weka
    def weka_data(self, name):
        return arff.read(os.path.join(WEKA_DATA, name + ".arff"), name)

    def _compiled(self):
        if self._driver is None:
            self._driver = self.api.new_folder()
            subprocess.run(["javac", "-cp", WEKA, "-d", self._driver, os.path.join(HERE, "WekaDriver.java")],
                           check=True, stdin=subprocess.DEVNULL)
        return self._driver

    def weka(self, classifier, train, test, *options):
        """Trains a class of Weka with one arff.Data, and asks it for the distributions of another one."""
        folder, paths = self.api.new_folder(), []
        for name, data in (("train", train), ("test", test)):
            paths.append(os.path.join(folder, name + ".arff"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(data.text())
        command = ["java", "-Djava.awt.headless=true", "-cp", WEKA + os.pathsep + self._compiled(), "WekaDriver",
                   classifier, str(train.class_index), *paths, *options]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        equal(done.returncode, 0, done.stderr)
        got = Weka(done.stdout, train.labels())
        equal(len(got.distributions), len(test.rows), "rows that Weka judged")
        return got

    # -- side by side
    def equal_distributions(self, ours, theirs, labels, what, tolerance=1e-9):
        """Both are [{label: probability}]."""
        equal((len(ours), len(theirs)), (len(theirs), len(theirs)), what)
        holds(theirs, f"{what}: nothing was judged")
        for n, (a, b) in enumerate(zip(ours, theirs)):
            equal(sorted(a), sorted(labels), f"{what}, row {n}")
            for label in labels:
                holds(abs(a[label] - b[label]) <= tolerance, f"{what}, row {n}, {label}: {a[label]!r}, theirs {b[label]!r}")


def session(build, seed):
    """A session of the API tests' harness."""
    class Options:
        valgrind, long = False, False
    options = Options()
    options.binary, options.seed = os.path.join(build, "bayesd"), seed
    return harness.Session(options, None)
