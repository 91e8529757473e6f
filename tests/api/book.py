# SPDX-License-Identifier: Apache-2.0
"""Naive Bayes by the book, slowly: what the daemon's numbers are held against.

Nothing is incremental here: every expectation is counted anew from the living documents.
Formulas: Mitchell 1997, table 6.2 (multinomial); McCallum and Nigam 1998 (Bernoulli); Rennie et al.
2003 (complement).
"""
import math
from collections import Counter

from harness import equal, holds, near, quoted

HAM = ["Minutes of the garden club: we met at six, and Ann brought the seeds.",
       "Could you send me the second draft of chapter two by Friday?",
       "The train leaves at 9.15; I will be at the station by nine.",
       "Thanks for the photos! The children laughed about the dog."]
SPAM = ["WIN a prize today!!! Click the link, win, win, win",
        "Cheap watches and cheap pills: order today, no questions",
        "Your account is locked. Click the link to send your password today!"]
# Known words, unknown words, none, one word many times, marks only, both sides at once.
PROBES = ["win the garden prize", "Click at nine by the station, Ann", "unheard vocables only", "",
          "win " * 300, "!!! ... ???", "cheap seeds; order the draft today!"]


class Counts:
    """n[label][token] occurrences, d[label][token] documents, docs[label]."""

    def __init__(self, documents):
        self.n, self.d, self.docs = {}, {}, Counter()
        for label, bag in documents:
            self.docs[label] += 1
            self.n.setdefault(label, Counter()).update(bag)
            self.d.setdefault(label, Counter()).update(bag.keys())
        self.labels = sorted(self.docs, key=lambda label: label.encode())
        self.total = Counter()
        for label in self.labels:
            self.total.update(self.n[label])

    def used(self, min_count=0, skip_top=0):
        """The vocabulary that is left: rare words and the most frequent ones go."""
        ranked = self.total.most_common()
        if 0 < skip_top < len(ranked):
            holds(ranked[skip_top - 1][1] > ranked[skip_top][1], "the test's words tie at skip_top")
        return {w for w, c in ranked[skip_top:] if c >= max(1, min_count)}


def log_prior(counts, prior, estimate="mean"):
    """`prior`: as the setting, but {"dirichlet": {label: a, "": a of the others}}."""
    labels = counts.labels
    if prior == "empirical":
        weights = {v: counts.docs[v] for v in labels}
    elif prior == "uniform":
        weights = {v: 1.0 for v in labels}
    elif isinstance(prior.get("dirichlet"), dict):
        a, less = prior["dirichlet"], 1 if estimate == "map" else 0
        weights = {v: counts.docs[v] + a.get(v, a[""]) - less for v in labels}
    else:
        mean = sum(prior.values()) / len(prior)
        weights = {v: prior.get(v, mean) for v in labels}
    total = sum(weights.values())
    return {v: math.log(weights[v] / total) for v in labels}


class Estimate:
    """P of one of so many kinds that has n of size counts, under a Dirichlet prior of a for each."""

    def __init__(self, kind, a):
        self.added = {"mean": a, "map": a - 1, "mle": 0}[kind]

    def log(self, n, size, kinds):
        above = n + self.added
        return math.log(above / (size + self.added * kinds)) if above > 0 else -math.inf


def multinomial(counts, v, bag, used, estimate):
    n_v = sum(counts.n[v][w] for w in used)
    return sum(c * estimate.log(counts.n[v][w], n_v, len(used)) for w, c in bag.items())


def binary(counts, v, bag, used, estimate):
    n_v = sum(counts.d[v][w] for w in used)
    return sum(estimate.log(counts.d[v][w], n_v, len(used)) for w in bag)


def bernoulli(counts, v, bag, used, estimate):
    docs = counts.docs[v]
    return sum(estimate.log(counts.d[v][w] if w in bag else docs - counts.d[v][w], docs, 2) for w in used)


def complement(counts, v, bag, used, estimate):
    rest = Counter()
    for other in counts.labels:
        if other != v:
            rest.update(counts.n[other])
    n_rest = sum(rest[w] for w in used)
    return -sum(c * estimate.log(rest[w], n_rest, len(used)) for w, c in bag.items())


EVENTS = {"multinomial": multinomial, "binary": binary, "bernoulli": bernoulli,
          "complement": complement}


def log_scores(documents, bag, event_model="multinomial", smoothing=1.0, prior="empirical",
               min_count=0, skip_top=0, estimate="mean"):
    """{label: ln P(v) + sum ln P(w|v)} for the labels that have documents; -inf where a P(w|v) is 0."""
    counts = Counts(documents)
    used = counts.used(min_count, skip_top)
    known = Counter({w: c for w, c in bag.items() if w in used})
    priors = log_prior(counts, prior, estimate)
    event = EVENTS[event_model]
    by = Estimate(estimate, smoothing)
    return {v: priors[v] + event(counts, v, known, used, by) for v in counts.labels}


def soft_max(scores):
    best = max(scores.values())
    if best == -math.inf:  # all labels are impossible
        return {v: 1 / len(scores) for v in scores}
    total = math.fsum(math.exp(s - best) for s in scores.values())
    return {v: math.exp(s - best) / total for v, s in scores.items()}


class Model:
    """A model of the daemon and, beside it, what it must have learned. Deleted at the end.

    It is by the book in all, unless the settings say something else.
    """

    def __init__(self, api, **settings):
        settings.setdefault("preset", "book")
        self.api, self.settings, self.documents, self._bags = api, settings, {}, {}
        self.name = api.name()
        self.path = "/v1/models/" + quoted(self.name)
        api.put(self.path, settings).ok(201)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.api.daemon.running():
            self.api.delete(self.path)

    # -- requests
    def post(self, verb, body, kind=None, **headers):
        return self.api.post(f"{self.path}/{verb}", body, kind, **headers)

    def put(self, **settings):
        self.settings = settings
        return self.api.put(self.path, settings).ok(200)

    def bag(self, text):
        """The tokens of a text as the daemon sees them."""
        if text not in self._bags:
            rows = self.post("tokenize", {"text": text}).ok().json["tokens"]
            self._bags[text] = Counter({row["token"]: row["count"] for row in rows})
            equal(len(self._bags[text]), len(rows), "a token is listed twice")
        return self._bags[text]

    def train(self, text, label, id=None):
        document = {"text": text, "label": label}
        if id is not None:
            document["id"] = id
        receipt = self.post("train", document).ok().json
        self.documents[receipt["id"]] = (label, self.bag(text))
        return receipt

    def untrain(self, **document):
        receipt = self.post("untrain", document).ok().json
        del self.documents[receipt["id"]]
        return receipt

    def classify(self, text, query=""):
        return self.post("classify" + query, {"text": text}).ok().json

    def row(self):
        return self.api.get(self.path).ok().json

    def filled(self):
        for text in HAM:
            self.train(text, "ham")
        for text in SPAM:
            self.train(text, "spam")
        return self

    # -- expectations
    def expected(self, text):
        used = {k: v for k, v in self.settings.items() if k not in ("decision", "preset")}
        return log_scores(self.documents.values(), self.bag(text), **used)

    def assert_scores(self, text):
        """The daemon's verdict on `text` is the book's, number for number."""
        got, want = self.classify(text), self.expected(text)
        what = f"{text[:50]!r} under {self.settings}"
        equal(sorted(got["log_scores"]), sorted(want), "labels scored for " + what)
        for v, score in want.items():
            said = got["log_scores"][v]
            near(-math.inf if said is None else said, score, f"log score of {v!r} for {what}")
        best = max(want.values())
        holds(want[got["label"]] >= best - 1e-7, f"{got['label']!r} does not win: {want}, {what}")
        if not got.get("calibrated"):
            for v, p in soft_max(want).items():
                near(got["probabilities"][v], p, f"probability of {v!r} for {what}", 1e-7)
        equal(got["probability"], got["probabilities"][got["label"]], "probability of the winner")
        total = sum(got["probabilities"].values())
        if len(got["probabilities"]) > 1:
            near(total, 1.0, "sum of the probabilities")
        holds(0 < total < 1 + 1e-9, f"{total}: one label alone leaves room for another")
        return got

    def assert_counts(self):
        """The model's row says what the living documents say."""
        counts, row = Counts(self.documents.values()), self.row()
        got = {v: (x["documents"], x["tokens"]) for v, x in row["labels"].items() if x["documents"]}
        want = {v: (counts.docs[v], sum(counts.n[v].values())) for v in counts.labels}
        equal(got, want, "documents and tokens by label")
        for v, x in row["labels"].items():
            holds(x["documents"] or not x["tokens"], f"{v!r} has tokens and no documents")
        equal(row["vocabulary"], sum(1 for c in counts.total.values() if c), "vocabulary")
        equal(row["documents"], len(self.documents), "documents")
        return row

    def assert_exact(self, probes=tuple(PROBES)):
        self.assert_counts()
        for text in probes:
            self.assert_scores(text)
