#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds scores of documents with fields to 1e-9 against the slow computation that tests/api has, too.

    fields.py DRIVER [SEED]

DRIVER is the built model_driver. Texts, categories, sets and numbers (Gaussians, bins, the better of both): each in every
event model under every estimate and every form of smoothing that go together, which is counted; and the tree of categories
and of numbers in bins (structure tan), found anew from the documents.
"""
import itertools
import math
import os
import random
import sys
from collections import Counter

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import attributes  # noqa: E402
import book  # noqa: E402
from golden import ESTIMATES, EVENTS, PRIORS, SHARES, Book, Driver, agree, give_parameters, is_token, smoothing_text  # noqa: E402

KINDS = ["text", "category", "set", "number"]
STRUCTURES = ["naive", "tan"]
NUMBERS = ["gaussian", "bins", "auto"]
FORMS = ["one", "labels", "m uniform", "m vocabulary", "beta"]
# What goes together; with "labels" and "auto" a field would be read by a smoothing of each label and by none.
PLAN = [(event, estimate, form) for event in EVENTS for estimate in ESTIMATES for form in FORMS
        if (event != "complement" or estimate == "mean") and (form == "one" or estimate == "mean")
        and (form != "beta" or event == "bernoulli")]
WORDS = [w for w in range(90) if is_token(w)]


class Fields:
    """The book over all living documents, each time afresh. A document is {field or None: bag}."""

    def __init__(self, kinds, living, settings):
        self.kinds, self.living, self.s = kinds, living, settings
        self.categories = [f for f, kind in enumerate(kinds) if kind == "category"]
        self.of = [[(v, bags[f]) for v, bags in living if f in bags] for f in range(len(kinds))]
        numbers = [attributes.numbers_of(b for _, b in of) for of, kind in zip(self.of, kinds) if kind == "number"]
        self.added = 1e-9 * float(max((attributes.moments(own)[1] for own in numbers if own), default=0))
        self.bins = {f: attributes.cut(attributes.by_label(of)) for f, of in enumerate(self.of) if self.is_cut(f)}
        self.categories = sorted({*self.categories, *self.bins})
        self.parents = self.tree() if settings["structure"] == "tan" else {}

    def is_cut(self, f):
        """Whether a field is a number whose bins speak."""
        if self.kinds[f] != "number" or self.s["number"] == "gaussian" or not self.of[f]:
            return False
        by = book.Estimate(self.s["estimate"], self.s["smoothing"]) if self.s["number"] == "auto" else None
        return by is None or bool(self.added) and attributes.bins_are_better(self.of[f], self.s["event"], by, self.added)

    def one(self, bags, field):
        """The value, or the bin."""
        if field not in bags:
            return None
        if field in self.bins:
            return attributes.bin_of(self.bins[field], attributes.numbers_of([bags[field]])[0])
        return next(iter(bags[field]))

    def information(self, one, other):
        """I(one; other | label) times the documents that have both."""
        return attributes.information([(v, self.one(b, one), self.one(b, other)) for v, b in self.living
                                       if one in b and other in b])

    def tree(self):
        """{category: parent}: the heaviest spanning tree from the first category on. None: two are as heavy."""
        weight = {frozenset(pair): self.information(*pair) for pair in itertools.combinations(self.categories, 2)}
        ordered = sorted(weight.values())
        if any(y - x < 1e-4 for x, y in zip(ordered, ordered[1:])):
            return None
        inside, parents = self.categories[:1], {}
        while len(inside) < len(self.categories):
            _, parent, child = max((weight[frozenset((i, o))], i, o)
                                   for i in inside for o in self.categories if o not in inside)
            inside.append(child)
            parents[child] = parent
        return parents

    def given(self, v, f, value, parent, other, estimate):
        """ln P(value | value of the parent, label)."""
        rows = [self.one(b, f) for u, b in self.living if u == v and f in b and self.one(b, parent) == other]
        return estimate.log(rows.count(value), len(rows), len({self.one({f: b}, f) for _, b in self.of[f]}))

    def known(self, bags, f):
        value = self.one(bags, f)
        if f in self.bins:  # each number is in one
            return value
        return value if any(value in b for _, b in self.of[f]) else None

    def shares(self, counts, of):
        """{value: what is added to it, and to what lacks it} by the m-estimate, or alpha and beta; `of`: how often there is any
        value, or None where a document has each or has it not."""
        form, *numbers = self.s["smoothing"]
        if form == "beta":
            return dict.fromkeys(counts, tuple(numbers))
        m, p = numbers
        share = {w: n / of[1] if p == "vocabulary" else 1 / (2 if of[0] else len(counts)) for w, n in counts.items()}
        return {w: (m * x, m * (1 - x)) for w, x in share.items()}

    def by_presence(self, v, f, bag):
        """Each value that any document has, there or not."""
        documents = [b for u, b in self.of[f] if u == v]
        counts = Counter(w for _, b in self.of[f] for w in b)
        score = 0.0
        for w, (there, lacks) in self.shares(counts, (True, len(self.of[f]))).items():
            having = sum(w in b for b in documents)
            score += math.log((having + there if w in bag else len(documents) - having + lacks) / (len(documents) + there + lacks))
        return score

    def by_draw(self, v, of, bag, once):
        """Each value as often as it is there."""
        event, counts, own = self.s["event"], Counter(), Counter()
        for u, b in of:
            counts.update(dict.fromkeys(b, 1) if once else b)
            if (u != v) == (event == "complement"):
                own.update(dict.fromkeys(b, 1) if once else b)
        added = {w: there for w, (there, _) in self.shares(counts, (False, sum(counts.values()))).items()}
        size = sum(own.values()) + math.fsum(added.values())
        terms = [(1 if once else n) * math.log((own[w] + added[w]) / size) for w, n in bag.items() if w in counts]
        return math.fsum(terms) * (-1 if event == "complement" else 1)

    def by_form(self, v, f, bags):
        """The same as field(), where what is added to counts differs from value to value."""
        event, kind = self.s["event"], self.kinds[f]
        if not self.of[f] or kind == "number" and f not in self.bins:
            return attributes.log_number("gaussian", event, None, self.of[f], v, bags[f], self.added) if kind == "number" else 0.0
        if kind == "number":
            return self.by_draw(v, [(u, {self.one(b, f): 1}) for u, b in self.living if f in b], {self.one(bags, f): 1}, True)
        if kind == "set" or kind == "text" and event == "bernoulli":
            return self.by_presence(v, f, bags[f])
        return self.by_draw(v, self.of[f], bags[f], kind == "category" or event == "binary")

    def words(self, v, bags, a):
        living = [(u, b.get(None, Counter())) for u, b in self.living]
        if isinstance(self.s["smoothing"], tuple):
            return Book(living, {**self.s, "min_count": 0, "skip_top": 0, "predict": "estimate"}).score(v, bags.get(None, {}))
        prior = {"given": self.s["weights"], "dirichlet": {"dirichlet": self.s["weights"]}}.get(self.s["prior"], self.s["prior"])
        return book.log_scores(living, bags.get(None, Counter()), self.s["event"], a, prior, estimate=self.s["estimate"])[v]

    def field(self, v, f, bags, estimate):
        event, kind = self.s["event"], self.kinds[f]
        if estimate is None:
            return self.by_form(v, f, bags)
        parent = self.parents.get(f)
        if parent is not None and self.known(bags, f) is not None and self.known(bags, parent) is not None:
            return self.given(v, f, self.one(bags, f), parent, self.one(bags, parent), estimate)
        if kind == "number":
            return attributes.log_number(self.s["number"], event, estimate, self.of[f], v, bags[f], self.added)
        return attributes.log_likelihood(kind, event, estimate, self.of[f], v, bags[f])

    def scores(self, bags):
        smoothing, scores = self.s["smoothing"], {}
        for v in sorted({u for u, _ in self.living}):
            a = smoothing.get(v, sum(smoothing.values()) / len(smoothing)) if isinstance(smoothing, dict) else smoothing
            score = self.words(v, bags, a)
            estimate = None if isinstance(a, tuple) else book.Estimate(self.s["estimate"], a)
            terms = [self.field(v, f, bags, estimate) for f in bags if f is not None]
            scores[v] = score + (-math.inf if -math.inf in terms else math.fsum(terms))
        return scores


def random_document(rnd, kinds, label):
    """Categories go with the one before them, and with the label; any field may be missing."""
    bags = {None: Counter(rnd.choice(WORDS) for _ in range(rnd.randrange(6)))}
    last = rnd.randrange(3)
    for f, kind in enumerate(kinds):
        last = last if rnd.random() < 0.6 else (label + rnd.randrange(3)) % 4
        if rnd.random() < 0.2:
            continue
        base = 1000 + 100 * f
        if kind == "number":
            whole = rnd.random() < 0.4
            x = round(rnd.gauss(3 * label, 2), 0 if whole else rnd.choice([1, 3, 9]))
            bags[f] = Counter([attributes.number_text(x)])
        elif kind == "category":
            bags[f] = Counter([base + last])
        elif kind == "set":
            bags[f] = Counter(set(base + rnd.randrange(6) for _ in range(rnd.randrange(4))))
        else:
            bags[f] = Counter(base + rnd.randrange(8) for _ in range(rnd.randrange(5)))
    return bags


def bag_text(kinds, bags):
    items = [f"{w}:{c}" for w, c in bags.get(None, {}).items()]
    for f, kind in enumerate(kinds):
        if f in bags:
            items += [f"{f}+:1"] if kind in ("text", "set") else []
            items += [f"{f}#{x}:1" if kind == "number" else f"{x}:{c}" for x, c in bags[f].items()]
    return " ".join(items)


def random_settings(rnd, labels, structure, wanted):
    """Of a row of the plan."""
    event, estimate, form = wanted
    s = {"event": event, "estimate": estimate, "prior": rnd.choice(PRIORS), "structure": structure, "number": rnd.choice(NUMBERS),
         "weights": {}, "smoothing": rnd.choice([1.0, 0.3, 20.0])}
    if s["event"] == "complement" and structure == "tan":
        s["event"] = "multinomial"
    if s["estimate"] == "map":
        s["smoothing"] += 1
    if form != "one" and s["number"] == "auto":
        s["number"] = "bins"
    if form == "labels":
        s["smoothing"] = {v: rnd.choice([0.5, 1.0, 3.0]) for v in labels[:2]}
    if form == "beta":
        s["smoothing"] = ("beta", rnd.choice([1.0, 0.1, 2.0]), rnd.choice([1.0, 0.1, 5.0]))
    if form.startswith("m "):
        s["smoothing"] = ("m", rnd.choice([1.0, 0.01, 50.0]), SHARES[SHARES.index(form[2:])])
    if s["prior"] == "given":
        s["weights"] = {v: rnd.uniform(0.1, 4) for v in labels}
    give_parameters(s, rnd, labels)
    return s


def settings_lines(kinds, s):
    yield " ".join(map(str, ["fields", STRUCTURES.index(s["structure"]), NUMBERS.index(s["number"]), *map(KINDS.index, kinds)]))
    a = smoothing_text(s["smoothing"])
    weights = (f"{v}={w!r}" for v, w in s["weights"].items())
    yield " ".join(["settings", *(str(of.index(s[key])) for of, key in
                                  ((EVENTS, "event"), (PRIORS, "prior"), (ESTIMATES, "estimate"))), "0", a, "0", "0", *weights])


def check(driver, kinds, fields, bags):
    """One document's scores, and what its explanation sums to; how many numbers were compared."""
    want = fields.scores(bags)
    what = f"{bags} of {kinds} with {fields.s}"
    _, best, *scores = driver.ask("score " + bag_text(kinds, bags))
    got = dict(x.split("=") for x in scores)
    if list(got) != list(want):
        sys.exit(f"fields.py: labels {list(got)}, must be {list(want)}")
    for v, score in want.items():
        agree(got[v], score, f"score of {v} for {what}")
    first, second, *evidence = driver.ask("explain " + bag_text(kinds, bags))
    if first != best or want[best] < max(want.values()) - 1e-9:
        sys.exit(f"fields.py: {best} and {first} win, but the scores are {want}")
    if -math.inf in (want[first], want[second]):
        return len(want)
    agree(math.fsum(map(float, evidence)), want[first] - want[second], "sum of the evidence for " + what)
    return len(want) + 1


def run_fields(path, rnd, labels, structure, plan):
    """`plan`: rows of PLAN, of which each has its turn. Returns how many numbers were compared."""
    of_tree = ["category"] * 3 + [rnd.choice(["category", "number"]) for _ in range(2)] + [rnd.choice(KINDS)]
    kinds = of_tree if structure == "tan" else list(KINDS)
    rnd.shuffle(kinds)
    driver, living, compared = Driver(path), [], 0
    for line in settings_lines(kinds, random_settings(rnd, labels, structure, PLAN[0])):
        driver.tell(line)
    for n in range(60):
        if len(living) > 5 and rnd.random() < 0.25:
            label, bags = living.pop(rnd.randrange(len(living)))
            driver.tell(f"untrain {label} {bag_text(kinds, bags)}")
        else:
            place = rnd.randrange(len(labels))
            living.append((labels[place], random_document(rnd, kinds, place)))
            driver.tell(f"train {living[-1][0]} {bag_text(kinds, living[-1][1])}")
        if n % 6 or len({v for v, _ in living}) < 2:
            continue
        settings = random_settings(rnd, labels, structure, next(plan))
        for line in settings_lines(kinds, settings):
            driver.tell(line)
        fields = Fields(kinds, living, settings)
        if fields.parents is not None:
            compared += sum(check(driver, kinds, fields, random_document(rnd, kinds, rnd.randrange(4))) for _ in range(3))
    if driver.end() != 0:
        sys.exit("fields.py: the driver failed")
    return compared


def counted(rows, taken):
    for row in rows:
        taken[row] += 1
        yield row


def run(path, seed):
    rnd = random.Random(seed)
    compared, trees, taken = 0, 0, Counter()
    plan = counted(itertools.cycle(PLAN), taken)
    of_trees = itertools.cycle([row for row in PLAN if row[2] in ("one", "labels")])
    for _ in range(4):
        for labels in (["ham", "spam"], ["a", "b", "c", "d"]):
            compared += run_fields(path, rnd, labels, "naive", plan)
            trees += run_fields(path, rnd, labels, "tan", of_trees)
    if set(taken) != set(PLAN) or not compared or not trees:
        sys.exit(f"fields.py: nothing was compared of {set(PLAN) - set(taken)}")
    print(f"fields: {compared} numbers agree to 1e-9, {trees} with trees (seed {seed})")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1763)
