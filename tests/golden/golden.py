#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the model's scores to 1e-9 against a slow computation of the formulas in core/FORMULAS.md.

    golden.py DRIVER [SEED]

DRIVER is the built model_driver. Documents are kept here as they came; every score is computed from them
anew, in the words of the books and not in those of the program.
"""
import math
import random
import struct
import subprocess
import sys
from collections import Counter

EVENTS = ["multinomial", "binary", "bernoulli", "complement"]
PRIORS = ["empirical", "uniform", "given", "dirichlet"]
ESTIMATES = ["mean", "map", "mle"]
SHARES = ["uniform", "vocabulary", "parent"]
PREDICTIONS = ["estimate", "integrate"]
FORMS = ["one", "labels", "beta", "m uniform", "m vocabulary", "m parent"]
# What goes together; each is compared under each of three sets of labels.
PLAN = [(event, estimate, form, "estimate") for event in EVENTS for estimate in ESTIMATES for form in FORMS
        if (estimate == "mean" or form in ("one", "labels", "beta")) and (form != "beta" or event == "bernoulli")
        and (estimate != "mle" or form == "one" and event != "complement") and (form != "m parent" or event != "bernoulli")]
PLAN += [("multinomial", "mean", form, "integrate") for form in FORMS if form not in ("beta", "m parent")]


class Driver:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")

    def ask(self, line):
        self.tell(line)
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


PAIR, NGRAM = 9, 10


def field_of(word):
    if word >= 1000:
        return "attribute", (word - 1000) // 100
    return PAIR if word % 11 == 10 else NGRAM if word % 9 == 8 else word % 3


def is_token(word):
    return field_of(word) < 8


def place_of(word):
    """By which skip_top orders words of the same frequency: the 18 lowest bits of the id, then the others. The id: the field, then 59
    bits of hash."""
    id = field_of(word) << 59 | (word + 1) * 0xD6E8FEB86659FD93 % 2**59
    return id % 2**18, id >> 18


def log(x):
    return math.log(x) if x > 0 else -math.inf


def log_of_part(x):
    """An estimate that is 0 counts as 1."""
    return math.log(x) if x > 0 else 0.0


class Book:
    """LEARN_NAIVE_BAYES_TEXT over all living documents, each time afresh. beside: documents that have labels by shares, and
    what each weighs; how often a word occurs is counted in whole documents."""

    def __init__(self, living, settings, parent=(), beside=((), 0)):
        self.s, self.parent = settings, [bag for _, bag in parent]
        self.docs = Counter(label for label, _ in living)
        self.labels = sorted(self.docs)
        self.n = {v: Counter() for v in self.labels}
        self.d = {v: Counter() for v in self.labels}
        for label, bag in living:
            for w, c in bag.items():
                if is_token(w):
                    self.n[label][w] += c
                    self.d[label][w] += 1
        total = Counter()
        for v in self.labels:
            total.update(self.n[v])
        for shares, bag in beside[0]:
            total.update({w: c for w, c in bag.items() if is_token(w)})
            for v in self.labels:
                self.add_share(v, shares.get(v, 0) * beside[1], bag)
        by_rank = sorted(total, key=lambda w: (-total[w], place_of(w)))
        self.used = {w for w in by_rank[settings["skip_top"]:] if total[w] >= settings["min_count"]}

    def add_share(self, v, share, bag):
        self.docs[v] += share
        for w, c in bag.items():
            if is_token(w):
                self.n[v][w] += share * c
                self.d[v][w] += share

    def prior(self, v):
        kind, weights = self.s["prior"], self.s["weights"]
        if kind == "empirical":
            return math.log(self.docs[v] / sum(self.docs.values()))
        if kind == "uniform":
            return math.log(1 / len(self.labels))
        if kind == "dirichlet":
            less = self.s["estimate"] == "map"
            counts = {u: self.docs[u] + weights.get(u, weights[""]) - less for u in self.labels}
            return math.log(counts[v] / sum(counts.values()))
        mean = sum(weights.values()) / len(weights)
        return math.log(weights.get(v, mean) / sum(weights.get(u, mean) for u in self.labels))

    def estimate(self, n, size, a, others):
        """P of a kind that has n of size counts: posterior mean, posterior mode or relative frequency. a: the Dirichlet
        prior's parameter for the kind; others: the sum of the parameters of all other kinds, and how many these are."""
        total, count = others
        if self.s["estimate"] == "mean":
            return (n + a) / (size + a + total)
        if self.s["estimate"] == "map" and a + total > count + 1:
            return (n + a - 1) / (size + a - 1 + total - count)
        return n / size if size else 0.0

    def share(self, w):
        """p of the m-estimate."""
        event = self.s["event"]
        if self.s["smoothing"][2] == "parent":
            return self.share_by_parent(w)
        if self.s["smoothing"][2] == "uniform":
            return 1 / 2 if event == "bernoulli" else 1 / len(self.used)
        if event == "bernoulli":
            return sum(self.d[v][w] for v in self.labels) / sum(self.docs.values())
        counts = self.d if event == "binary" else self.n
        return sum(counts[v][w] for v in self.labels) / sum(counts[v][u] for v in self.labels for u in self.used)

    def share_by_parent(self, w):
        """Laplace's estimate from all documents of the parent, with one word more for those that it does not know."""
        counts = Counter()
        for bag in self.parent:
            counts.update({u: 1 if self.s["event"] == "binary" else c for u, c in bag.items() if is_token(u)})
        return (counts[w] + 1) / (sum(counts.values()) + len(counts) + 1)

    def prior_of(self, v, w):
        """The Dirichlet prior's parameter for a word, and those of all other words: their sum, and how many."""
        s, V = self.s["smoothing"], len(self.used)
        if isinstance(s, tuple) and s[0] == "m":
            p = self.share(w)
            return s[1] * p, (s[1] * (1 - p), V - 1)
        if isinstance(s, tuple):
            return s[1], (s[2], 1)
        a = s.get(v, sum(s.values()) / len(s)) if isinstance(s, dict) else s
        return a, (a, 1) if self.s["event"] == "bernoulli" else (a * (V - 1), V - 1)

    def word(self, v, w, c, log=log):
        """What c occurrences of the used word w add to the score of v; c = 0 with Bernoulli only."""
        event = self.s["event"]
        a, others = self.prior_of(v, w)
        if event == "bernoulli":
            if c:
                return log(self.estimate(self.d[v][w], self.docs[v], a, (others[0], 1)))
            return log(self.estimate(self.docs[v] - self.d[v][w], self.docs[v], others[0], (a, 1)))
        if event == "binary":
            return log(self.estimate(self.d[v][w], sum(self.d[v][u] for u in self.used), a, others))
        if event == "multinomial":
            return c * log(self.estimate(self.n[v][w], sum(self.n[v][u] for u in self.used), a, others))
        rest = [u for u in self.labels if u != v]
        count = sum(self.n[u][w] for u in rest)
        size = sum(self.n[u][x] for u in rest for x in self.used)
        return -c * log(self.estimate(count, size, a, others))

    def score(self, v, bag):
        if self.s["predict"] == "integrate":
            return self.prior(v) + self.urn(v, bag)
        words = self.used if self.s["event"] == "bernoulli" else [w for w in bag if w in self.used]
        terms = [self.word(v, w, bag.get(w, 0)) for w in words]
        return self.prior(v) + (-math.inf if -math.inf in terms else math.fsum(terms))

    def urn(self, v, bag):
        """The known positions one after the other, each learned before the next: the urn of Polya."""
        n, size, terms = Counter(self.n[v]), sum(self.n[v][u] for u in self.used), []
        for w, c in bag.items():
            for _ in range(c if w in self.used else 0):
                a, (others, _) = self.prior_of(v, w)
                terms.append(math.log((n[w] + a) / (size + a + others)))
                n[w] += 1
                size += 1
        return math.fsum(terms)

    def urn_evidence(self, v, w, c, bag):
        """The word's own part, and of what all positions are divided by as many parts as it has positions."""
        a, (others, _) = self.prior_of(v, w)
        known = sum(x for u, x in bag.items() if u in self.used)
        size = sum(self.n[v][u] for u in self.used) + a + others
        return math.fsum(math.log(self.n[v][w] + a + i) for i in range(c)) - c / known * math.fsum(
            math.log(size + i) for i in range(known))

    def evidence(self, best, second, w, c, bag):
        if w not in self.used:
            return 0.0
        if self.s["predict"] == "integrate":
            return self.urn_evidence(best, w, c, bag) - self.urn_evidence(second, w, c, bag)
        impossible = [math.isinf(self.word(v, w, c)) for v in (best, second)]
        if any(impossible):
            return 0.0 if all(impossible) else -math.inf if impossible[0] else math.inf
        evidence = self.word(best, w, c, log_of_part) - self.word(second, w, c, log_of_part)
        if self.s["event"] == "bernoulli":  # over the document without the word
            evidence -= self.word(best, w, 0, log_of_part) - self.word(second, w, 0, log_of_part)
        return evidence


class Stack:
    """The stacked decision over all living documents, each time afresh; only the weights are kept."""

    TWO = [(0.02, 1.5, 0.05, 0.2, 0.5), (0.5, 1.5, 0.08, 0.35, 0.8)]  # smoothing, power, start of field, n-gram, total
    MANY = [(0.1, 2.0, 0.05, 0.2, 0.6)]

    def __init__(self):
        self.weights, self.bias, self.losses = {}, Counter(), Counter()
        for bank in (self.TWO, self.MANY):
            for expert in bank:
                for group in [*range(11), "total", *(("attribute", n) for n in range(256))]:
                    field, ngram, total = expert[2:]
                    start = total if group == "total" else ngram if group == NGRAM else field
                    self.weights[expert, group] = start + (total if isinstance(group, tuple) else 0)
        self.squares = Counter()
        self.twin = Twin()

    def terms(self, living, bag):
        """For each known word its slot, its x and, for each label, its r: the evidence without a power."""
        labels = sorted({v for v, _ in living})
        d = {v: Counter() for v in labels}
        for v, words in living:
            d[v].update(words.keys())
        sizes = Counter(field_of(w) for w in bag)
        reading = (self.TWO if len(labels) <= 2 else self.MANY)[-1][0], 1.0
        return [((w + 1) * 0xD6E8FEB86659FD93 % 4096, 1 / math.sqrt(sizes[field_of(w)] * len(sizes)),
                 {v: self.evidence(reading, d, v, w) for v in labels})
                for w in bag if len(labels) > 1 and sum(d[v][w] for v in labels)]

    def scores(self, x, terms):
        base = self.base(x)
        return self.twin.scores(base, terms) if len(x) > 1 else base

    def inputs(self, living, bag):
        """For each label x by (expert, group)."""
        labels = sorted({v for v, _ in living})
        d = {v: Counter() for v in labels}
        for v, words in living:
            d[v].update(words.keys())
        bank = self.TWO if len(labels) <= 2 else self.MANY
        x = {v: Counter() for v in labels}
        for expert in bank:
            for v in labels if len(labels) > 1 else []:
                evidence = {w: self.evidence(expert, d, v, w) for w in bag}
                for group in {*map(field_of, bag), "total"}:
                    mine = [w for w in bag if field_of(w) == group or
                            group == "total" and field_of(w) != NGRAM and not isinstance(field_of(w), tuple)]
                    if mine:
                        x[v][expert, group] = 0.4 * math.fsum(evidence[w] for w in mine) / len(mine) ** 0.8
        return x

    @classmethod
    def share(cls, a, field):
        """m of the expert with this smoothing: of words; values have all of a."""
        return 0.3 if a == cls.MANY[0][0] and not isinstance(field, tuple) else 1.0

    def evidence(self, expert, d, v, w):
        a, p = expert[:2]
        rest = [u for u in d if u != v]
        own, other = d[v][w], sum(d[u][w] for u in rest)
        if own + other == 0:
            return 0.0
        family = {u for c in d.values() for u in c if field_of(u) == field_of(w)}
        size = self.share(a, field_of(w)) * a * (len(family) + 1)
        own_all = sum(d[v][u] for u in family)
        other_all = sum(d[u][x] for u in rest for x in family)
        r = math.log((own + a) / (own_all + size)) - math.log((other + a) / (other_all + size))
        return math.copysign(abs(r) ** p, r)

    def against(self, living, bag, label, other):
        """ln(P / (1 - P)) of a label against all others as if they were one, by what was learned of two labels."""
        two = [("label" if v == label else "others", words) for v, words in living]
        x, terms = self.inputs(two, bag)["label"], self.terms(two, bag)
        trust = {e: math.exp(-0.5 * self.losses[e]) for e in self.TWO}
        one = {e: self.bias[place, label] - self.bias[place, other] +
               math.fsum(self.weights[i] * xi for i, xi in x.items() if i[0] == e) for place, e in enumerate(self.TWO)}
        base = math.fsum(trust[e] * one[e] for e in self.TWO) / math.fsum(trust.values())
        names = sorted({v for v, _ in living})
        d = {v: 0.0 if len(names) == 2 and v == names[0] else self.twin.d[v] for v in (label, other)}
        t = d[label] - d[other] + math.fsum(self.twin.u[slot] * share * r["label"] for slot, share, r in terms)
        return self.twin.mixed(base, t)

    def base(self, x):
        bank = self.TWO if len(x) <= 2 else self.MANY
        trust = {e: math.exp(-0.5 * self.losses[e]) for e in bank}
        one = {e: self.expert(x, e) for e in bank}
        return {v: math.fsum(trust[e] * one[e][v] for e in bank) / math.fsum(trust.values()) for v in x}

    def place(self, x, e):
        return (self.TWO if len(x) <= 2 else self.MANY).index(e)

    def expert(self, x, e):
        half = 0.5 if len(x) == 2 else 1.0
        place = self.place(x, e)  # biases are kept from two labels to more
        return {v: self.bias[place, v] + half * math.fsum(self.weights[i] * xi for i, xi in x[v].items() if i[0] == e)
                for v in x}

    def learn(self, x, terms, label, weight):
        if label not in x or len(x) < 2:
            return
        self.twin.learn(self.base(x), terms, label, weight)
        half = 0.5 if len(x) == 2 else 1.0
        for e in self.TWO if len(x) <= 2 else self.MANY:
            s = self.expert(x, e)
            best = max(s.values())
            z = sum(math.exp(s[v] - best) for v in x)
            error = {v: weight * (math.exp(s[v] - best) / z - (v == label)) for v in x}
            loss = min(math.log(z) + best - s[label], 13.8)
            self.losses[e] = self.losses[e] * (1 - weight / 2000) + weight * loss
            for i in {i for v in x for i in x[v] if i[0] == e}:
                self.step(self.weights, i, half * math.fsum(error[v] * x[v][i] for v in x))
            for v in x:
                self.step(self.bias, (self.place(x, e), v), error[v])

    def step(self, parameters, i, gradient):
        self.squares[i] += gradient**2
        parameters[i] -= 0.12 * gradient / (1 + math.sqrt(self.squares[i]))


def clarity(s):
    p = softmax(s)
    return math.log(0.5 - math.log(max(math.fsum(sorted(p.values())[:-1]), 1e-12)))


def moderated(s, documents, h):
    """Scores s of labels that have so many documents each, as sure as h says, pulled towards the prior odds."""
    if len(s) == 1:
        return s
    if len(s) > 2:
        k = math.exp(h[0] + h[1] * clarity(s))
        s = {v: k * s[v] for v in s}
    best, second, *_ = sorted(s, key=lambda v: (-s[v], v))
    a, p = s[best] - s[second], softmax(s)
    doubt = math.fsum((1 if len(s) == 2 else 2 * p[v]) / documents[v] for v in s)
    prior = min(max(math.log(documents[best] / documents[second]), 0), a)
    pulled = prior + (a - prior) / math.sqrt(1 + 0.1 * doubt * (a - prior) ** 2)
    return {v: s[v] * pulled / a if a else s[v] for v in s}


def rounded(number):
    """To the nearest float of 32 bits."""
    return struct.unpack("f", struct.pack("f", number))[0]


def softmax(s):
    best = max(s.values())
    z = math.fsum(math.exp(s[v] - best) for v in s)
    return {v: math.exp(s[v] - best) / z for v in s}


class Twin:
    """One weight for each feature, learned on what the stack gets wrong. With two labels the column of the second."""

    def __init__(self):
        self.u, self.g = Counter(), Counter()
        self.d, self.d_squares = Counter(), Counter()
        self.c, self.c_squares = 1.0, 0.0
        self.h, self.h_squares = [0.0, 0.0], [0.0, 0.0]
        self.losses = [0.0, 0.0]

    def column(self, base):
        """The stack's scores as the twin has them, and the labels that have a column."""
        first, *others = sorted(base)
        if len(others) > 1:
            return base, sorted(base)
        return {first: 0.0, others[0]: base[others[0]] - base[first]}, others

    def corrections(self, base, terms):
        mine = self.column(base)[1]
        return {v: self.d[v] + math.fsum(self.u[slot] * x * r[v] for slot, x, r in terms) if v in mine else 0.0 for v in base}

    def mixed(self, base, t):
        trust = 1 / (1 + math.exp(0.5 * (self.losses[1] - self.losses[0])))
        return (1 - trust) * base + trust * self.c * (base + t)

    def scores(self, base, terms):
        t = self.corrections(base, terms)
        if len(base) == 2:
            half = sum(t.values()) / 2
            t = {v: t[v] - half for v in t}
        return {v: self.mixed(base[v], t[v]) for v in base}

    def learn_sureness(self, s, label, weight):
        clear = 1.0, clarity(s)
        s = {v: math.exp(self.h[0] + self.h[1] * clear[1]) * s[v] for v in s}
        p, best = softmax(s), min(s, key=lambda v: (-s[v], v))
        others = math.fsum(p[v] for v in s if v != best)
        below = math.fsum(p[v] * (s[best] - s[v]) for v in s) / others
        for i in range(2):
            gradient = weight * (-others if best == label else 1 - others) * below * clear[i]
            self.h_squares[i] += gradient**2
            self.h[i] -= 0.1 * gradient / (1 + math.sqrt(self.h_squares[i]))

    def learn(self, base, terms, label, weight):
        if len(base) > 2:
            self.learn_sureness(self.scores(base, terms), label, weight)
        b, mine = self.column(base)
        t = self.corrections(base, terms)
        sum_ = {v: b[v] + t[v] for v in b}
        sharp = softmax({v: self.c * sum_[v] for v in b})
        for i, p in enumerate((softmax(b)[label], sharp[label])):
            self.losses[i] = (1 - weight / 2000) * self.losses[i] - weight * math.log(0.9 * p + 0.1 / len(b))
        q = weight * math.fsum((sharp[v] - (v == label)) * sum_[v] for v in b)
        self.c_squares += q**2
        self.c = min(max(self.c - 0.03 * q / (1 + math.sqrt(self.c_squares)), 0.2), 3)
        p = softmax(sum_)
        if 1 - p[label] < 0.005:
            return
        share = 0.9 * p[label] / (0.9 * p[label] + 0.1 / len(b))
        e = {v: weight * share * (p[v] - (v == label)) for v in mine}
        for slot, x, r in terms:
            h = x * math.fsum(e[v] * r[v] for v in mine)
            squares = self.g[slot] + h * h
            self.u[slot] = rounded(self.u[slot] - 0.35 * h / (0.01 + math.sqrt(squares)))
            self.g[slot] = rounded(squares)
        for v in mine:
            self.d_squares[v] += e[v] ** 2
            self.d[v] -= 0.05 * e[v] / (1 + math.sqrt(self.d_squares[v]))


def agree(got, want, what):
    if not math.isclose(float(got), want, rel_tol=1e-9, abs_tol=1e-9):
        sys.exit(f"golden.py: {what}: the program says {got}, the books {want!r}")


def bag_text(bag):
    return " ".join(f"{w}:{c}" for w, c in bag.items())


def random_bag(rnd, words):
    return dict(Counter(min(int(rnd.paretovariate(0.6)), words) - 1 for _ in range(rnd.randint(0, 40))))


def random_values(rnd, label):
    """Some of an attribute with several values and two that have one, in the order of their numbers."""
    sets = rnd.sample(range(1000, 1012), rnd.randint(0, 4)) if rnd.random() < 0.5 else []
    values = sorted(sets) + [1100 + rnd.randrange(4)] * (rnd.random() < 0.5)
    values += [26500 + (label if rnd.random() < 0.7 else rnd.randrange(40))] * (rnd.random() < 0.5)
    return {w: 1 for w in values}


def random_settings(rnd, labels, wanted):
    """Of a row of the plan."""
    event, estimate, form, predict = wanted
    s = {"event": event, "prior": rnd.choice(PRIORS), "weights": {}, "predict": predict,
         "estimate": estimate, "smoothing": rnd.choice([1.0, 0.5, 0.02, 1e-5, 30.0]),
         "min_count": rnd.choice([0, 0, 0, 2, 3, 6]), "skip_top": rnd.choice([0, 0, 0, 1, 5, 10**5])}
    if form == "labels":
        s["smoothing"] = {v: rnd.choice([1.0, 0.3, 2.5]) for v in sorted(rnd.sample(labels, rnd.randint(1, len(labels))))}
    elif form == "beta":
        s["smoothing"] = ("beta", rnd.choice([1.0, 0.1, 2.0]), rnd.choice([1.0, 0.1, 5.0]))
    elif form != "one":
        s["smoothing"] = ("m", rnd.choice([1.0, 0.01, 50.0]), form[2:])
    if form == "m parent":  # none of its words may be left out
        s.update(min_count=0, skip_top=0)
    fit_estimate(s)
    if s["prior"] == "given":
        named = sorted(rnd.sample(labels, rnd.randint(1, len(labels))))
        s["weights"] = {v: rnd.uniform(0.01, 5) for v in named}
    give_parameters(s, rnd, labels)
    return s


def give_parameters(s, rnd, labels):
    """A Dirichlet prior of the labels: "" is the default. With the relative frequency there is none, with the mode each is at
    least 1."""
    if s["prior"] == "dirichlet" and s["estimate"] == "mle":
        s["prior"] = "uniform"
    if s["prior"] == "dirichlet":
        named = ["", *sorted(rnd.sample(labels, rnd.randint(0, len(labels))))]
        s["weights"] = {v: (s["estimate"] == "map") + rnd.choice([rnd.uniform(0.01, 5), 40.0]) for v in named}


def fit_estimate(s):
    """The smoothing is one that goes with the estimate: with the mode at least 1, and above 1 where no estimate may be 0."""
    a, least = s["smoothing"], 1.25 if s["event"] == "complement" else 1.0
    if s["estimate"] == "map" and isinstance(a, dict):
        s["smoothing"] = {v: max(least, x) for v, x in a.items()}
    elif s["estimate"] == "map" and isinstance(a, tuple):
        s["smoothing"] = (a[0], max(least, a[1]), max(least, a[2]))
    elif s["estimate"] == "map" and a <= 1:
        s["smoothing"] = max(least, a + 1 if a < 1 else a)


def smoothing_text(a):
    if isinstance(a, dict):
        return ",".join(f"{v}={x!r}" for v, x in a.items())
    if isinstance(a, tuple):
        return f"{a[0]}:{a[1]!r}:{SHARES.index(a[2]) if a[0] == 'm' else repr(a[2])}"
    return repr(a)


def settings_line(s):
    numbers = [EVENTS.index(s["event"]), PRIORS.index(s["prior"]), ESTIMATES.index(s["estimate"]), PREDICTIONS.index(s["predict"]), smoothing_text(s["smoothing"]), s["min_count"], s["skip_top"]]
    return " ".join(["settings", *map(str, numbers), *(f"{v}={w!r}" for v, w in s["weights"].items())])


def random_beside(rnd, labels):
    """Documents that are of up to three labels by shares, or all of one, and what each weighs."""
    documents = []
    for _ in range(rnd.randint(1, 12)):
        parts = {v: rnd.choice([0.25, 0.5, 1, rnd.random()]) for v in rnd.sample(labels, rnd.randint(1, min(3, len(labels))))}
        documents.append(({v: x / sum(parts.values()) for v, x in parts.items()}, random_bag(rnd, 300)))
    return documents, rnd.choice([0.01, 0.3, 1])


def tell_beside(driver, beside):
    driver.tell(f"beside-clear {beside[1]!r}")
    for shares, bag in beside[0]:
        driver.tell(f"beside {','.join(f'{v}={x!r}' for v, x in shares.items())} {bag_text(bag)}")


def check(driver, living, settings, bag, parent, beside):
    """One document's scores and explanation; how many numbers were compared."""
    book = Book(living, settings, parent, beside)
    known, best, *scores = driver.ask("score " + bag_text(bag))
    got = dict(x.split("=") for x in scores)
    if sorted(got) != book.labels or list(got) != book.labels:
        sys.exit(f"golden.py: labels {list(got)}, must be {book.labels}")
    want = {v: book.score(v, bag) for v in book.labels}
    for v in book.labels:
        agree(got[v], want[v], f"score of {v} with {settings}")
    agree(known, sum(c for w, c in bag.items() if w in book.used), "known positions")
    if want[best] < max(want.values()) - 1e-9:
        sys.exit(f"golden.py: {best} wins, but the scores are {want}")
    first, second, *evidence = driver.ask("explain " + bag_text(bag))
    for (w, c), e in zip(bag.items(), evidence):
        if settings["event"] == "bernoulli" and beside and any(abs(book.docs[v] - book.d[v][w]) < 1e-9 * book.docs[v] for v in (first, second)):
            continue  # the word is in all documents: of sums of shares what is left is rounding alone
        agree(e, book.evidence(first, second, w, c, bag), f"evidence of {w} with {settings}")
    if math.inf not in (-want[first], -want[second]):
        agree(math.fsum(map(float, evidence)), want[first] - want[second], "sum of the evidence")
    elif want[first] > want[second]:
        if math.inf not in map(float, evidence) or -math.inf in map(float, evidence):
            sys.exit(f"golden.py: nothing makes {second} impossible with {settings}")
    return len(want) + len(evidence) + 2


def check_stack(driver, stack, living, bag, question="stack "):
    want = stack.scores(stack.inputs(living, bag), stack.terms(living, bag))
    less = moderated(want, Counter(v for v, _ in living), stack.twin.h)
    got = {label: scores for label, *scores in (x.split("=") for x in driver.ask(question + bag_text(bag)))}
    if list(got) != sorted(want):
        sys.exit(f"golden.py: stack: labels {list(got)}, must be {sorted(want)}")
    for v in want:
        agree(got[v][0], want[v], f"stacked score of {v}")
        agree(got[v][1], less[v], f"moderated score of {v}")
    return 2 * len(want)


def check_against(driver, stack, living, bag, rnd):
    """One label against all others; there are two at least, but for the first documents."""
    labels = sorted({v for v, _ in living})
    if len(labels) < 2:
        return 0
    label, other = rnd.sample(labels, 2)
    want = stack.against(living, bag, label, other)
    got, = driver.ask(f"stack-against {label} {other} {bag_text(bag)}")
    agree(got, want, f"log-odds of {label} against all others")
    if len(labels) == 2:
        scores = stack.scores(stack.inputs(living, bag), stack.terms(living, bag))
        agree(got, scores[label] - scores[other], f"log-odds of {label} against {other}")
    return 1


def check_without(driver, stack, living, document):
    """A learned document, as if it were not learned; unless it is the only one of its label."""
    label, bag = document
    others = [d for d in living if d is not document]
    if label not in {v for v, _ in others}:
        return 0
    return check_stack(driver, stack, others, bag, f"stack-without {label} ")


def run_stack(path, rnd, labels):
    """Test, then train, as the daemon does; sometimes a document goes again."""
    driver, stack, living, compared = Driver(path), Stack(), [], 0
    for n in range(60):
        # With many labels each has a document before the first score: rows that few labels have.
        label = labels[n] if len(labels) > 30 and n < len(labels) else rnd.choice(labels[: 2 + n // 8])
        bag = random_bag(rnd, 200)
        bag = {w + labels.index(label) if rnd.random() < 0.4 else w: c for w, c in bag.items()}
        bag.update(random_values(rnd, labels.index(label)))
        if living and (len(labels) <= 30 or n >= 45):
            compared += check_stack(driver, stack, living, bag)
            compared += check_against(driver, stack, living, bag, rnd)
            weight = rnd.choice([1, 1, 0.3, 0.01])
            stack.learn(stack.inputs(living, bag), stack.terms(living, bag), label, weight)
            driver.tell(f"stack-learn {weight} {label} {bag_text(bag)}")
        living.append((label, bag))
        driver.tell(f"train {label} {bag_text(bag)}")
        if len(labels) <= 30 or n >= 45:
            compared += check_without(driver, stack, living, rnd.choice(living))
        if n % 7 == 6:
            label, bag = living.pop(rnd.randrange(len(living)))
            driver.tell(f"untrain {label} {bag_text(bag)}")
    if driver.end() != 0:
        sys.exit("golden.py: the driver failed")
    return compared


def run(path, seed):
    rnd = random.Random(seed)
    stacked = [["ham", "spam"], [f"l{i:02}" for i in range(7)], [f"l{i:02}" for i in range(45)]]
    compared = sum(run_stack(path, rnd, labels) for labels in stacked)
    for labels in (["only"], ["ham", "spam"], [f"l{i:02}" for i in range(12)]):
        driver, living = Driver(path), []
        parent = [(rnd.choice(["spam", "others"]), random_bag(rnd, 350)) for _ in range(9)]
        for label, bag in parent:
            driver.tell(f"parent-train {label} {bag_text(bag)}")
        for wanted in [PLAN[0], *rnd.sample(PLAN, len(PLAN))]:
            for _ in range(rnd.randint(1, 8) if living else 8):
                if len(living) > 1 and rnd.random() < 0.3:
                    label, bag = living.pop(rnd.randrange(len(living)))
                    driver.tell(f"untrain {label} {bag_text(bag)}")
                else:
                    living.append((rnd.choice(labels), random_bag(rnd, 300)))
                    driver.tell("train %s %s" % (living[-1][0], bag_text(living[-1][1])))
            settings = random_settings(rnd, labels, wanted)
            has_pool = isinstance(settings["smoothing"], tuple) and settings["smoothing"][2] == "parent"
            beside = random_beside(rnd, labels) if not has_pool and rnd.random() < 0.5 else ((), 0)
            tell_beside(driver, beside)
            driver.tell(settings_line(settings))
            compared += sum(check(driver, living, settings, random_bag(rnd, 400), parent, beside) for _ in range(3))
        if driver.end() != 0:
            sys.exit("golden.py: the driver failed")
    print(f"golden: {compared} numbers agree to 1e-9 (seed {seed})")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1763)
