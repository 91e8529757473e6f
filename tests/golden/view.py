#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds stacked scores of documents with words and fields to 1e-9 against a slow computation: of one model, and of a model
with its parents (core/stack/blend.h, core/stack/blend_attributes.h).

    view.py DRIVER [SEED]

DRIVER is the built view_driver. Numbers are read by Gaussians, and in one model in bins or by the better of both, too.
"""
import math
import os
import random
import sys
from collections import Counter

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
import attributes  # noqa: E402
import book  # noqa: E402
from fields import KINDS, NUMBERS  # noqa: E402
from golden import NGRAM, Driver, Stack, agree, bag_text, field_of, random_bag  # noqa: E402

OF = ["set", "category", "number", "number", "text"]
NUMBER_FIELDS = [f for f, kind in enumerate(OF) if kind == "number"]


def is_number(item):
    return isinstance(item, str)


def group_of(item):
    return ("attribute", int(item.split("#")[0])) if is_number(item) else field_of(item)


def number(item):
    return float(item.split("#")[1])


def moments(numbers):
    """How much [(weight, number)] weigh, their mean and their variance."""
    weight = math.fsum(w for w, _ in numbers)
    mean = math.fsum(w * x for w, x in numbers) / weight if weight else 0.0
    return weight, mean, math.fsum(w * (x - mean) ** 2 for w, x in numbers) / weight if weight else 0.0


def log_density(own, everything, added, x):
    """Of a Gaussian of [(weight, number)]; of one number the variance is that of all, of none the mean, too."""
    variance = moments(own if len(own) > 1 else everything)[2] + added
    return -math.log(2 * math.pi * variance) / 2 - (x - moments(own or everything)[1]) ** 2 / (2 * variance)


class Side:
    def __init__(self):
        self.living, self.stack = [], Stack()


class View:
    """The sides' documents as one, from the model up; a document of the model may be left out."""

    def __init__(self, sides, strengths, out=None, how="gaussian"):
        self.sides, self.how = sides, how
        self.living = [[d for d in side.living if d is not out] for side in sides]
        self.weigh(strengths)
        self.labels = sorted({v for living in self.living for v, _ in living})
        self.bank = Stack.TWO if len(self.labels) <= 2 else Stack.MANY
        self.d = {v: Counter() for v in self.labels}
        for scale, living in zip(self.scale, self.living):
            for v, bag in living:
                self.d[v].update(dict.fromkeys(bag, scale))
        self.bins = {f: self.cut(f) for f in NUMBER_FIELDS} if how != "gaussian" else {}
        self.cache = {}

    def weigh(self, strengths):
        """s, K and l from the last side on."""
        scales, shares, behind, self.k = [], [], 0.0, 1.0
        for i in reversed(range(len(self.sides))):
            documents, is_last = len(self.living[i]), i + 1 == len(self.sides)
            s = 1.0 if is_last else min(1.0, strengths[i] / behind) if behind else 1.0
            own = 1.0 if is_last else documents / (documents + strengths[i])
            if not is_last:
                self.k = s * self.k + (1 - s * self.k) * own**2
            behind = documents + (0 if is_last else s * behind)
            scales.insert(0, s)
            shares.insert(0, own)
        self.scale = [math.prod(scales[:i]) for i in range(len(scales))]
        self.share = [math.prod(1 - l for l in shares[:i]) * own for i, own in enumerate(shares)]

    # ---- counts ----

    def family(self, group):
        return {w for d in self.d.values() for w in d if group_of(w) == group}

    def vocabulary(self, group):
        return max(len({w for _, bag in living for w in bag if group_of(w) == group}) for living in self.living)

    def offset(self, a, v, group):
        if (a, v, group) not in self.cache:
            family = self.family(group)
            size = Stack.share(a, group) * a * self.k * (self.vocabulary(group) + 1)
            own = math.fsum(self.d[v][w] for w in family)
            other = math.fsum(self.d[u][w] for u in self.labels if u != v for w in family)
            self.cache[a, v, group] = math.log(own + size) - math.log(other + size)
        return self.cache[a, v, group]

    def says(self, item):
        if not is_number(item):
            return any(self.d[v][item] for v in self.labels)
        f = group_of(item)[1]
        if self.bins.get(f):
            return any(attributes.bin_of(self.bins[f], attributes.numbers_of([[item.split("#")[1]]])[0]) == at
                       for at in self.bins_of(f, None))
        return moments(self.numbers(f, self.labels))[2] > 0

    def reading(self, a, v, item):
        """r_v."""
        if is_number(item):
            f = group_of(item)[1]
            r = self.of_bins(a, v, item) if self.bins.get(f) else self.of_gaussians(a, v, item)
            return r
        own, other = self.d[v][item], math.fsum(self.d[u][item] for u in self.labels if u != v)
        return math.log(own + a * self.k) - math.log(other + a * self.k) - self.offset(a, v, group_of(item))

    # ---- numbers ----

    def numbers(self, f, labels):
        return [(scale, number(w)) for scale, living in zip(self.scale, self.living) for v, bag in living if v in labels
                for w in bag if is_number(w) and group_of(w)[1] == f]

    def of_gaussians(self, a, v, item):
        f = group_of(item)[1]
        everything, logs = self.numbers(f, self.labels), []
        for labels in ({v}, set(self.labels) - {v}):
            own = self.numbers(f, labels)
            share = self.k * a / math.fsum(w for w, _ in own) if own else a
            logs.append(log_density(own, everything, moments(everything)[2] * (share + 1e-9), number(item)))
        return min(max(logs[0] - logs[1], -8.0), 8.0)

    def learned(self, f, living):
        return [(v, Counter([w.split("#")[1]])) for v, bag in living for w in bag if is_number(w) and group_of(w)[1] == f]

    def cut(self, f):
        """The bins of all documents of a model, also of that which is left out; None: Gaussians are taken."""
        side, = self.sides
        learned = self.learned(f, side.living)
        if not learned:
            return None
        if self.how == "bins":
            return attributes.cut(attributes.by_label(learned))
        added = 1e-9 * max(float(attributes.moments(attributes.numbers_of(b for _, b in of))[1]) if of else 0.0
                           for of in (self.learned(g, side.living) for g in NUMBER_FIELDS))
        by = book.Estimate("mean", 1.0)
        better = added and attributes.bins_are_better(learned, "multinomial", by, added)
        return attributes.cut(attributes.by_label(learned)) if better else None

    def bins_of(self, f, label):
        """The bins of the numbers of a label's documents; None: of all."""
        return [attributes.bin_of(self.bins[f], attributes.numbers_of([b])[0]) for v, b in self.learned(f, self.living[0])
                if label in (None, v)]

    def of_bins(self, a, v, item):
        f = group_of(item)[1]
        at = attributes.bin_of(self.bins[f], attributes.numbers_of([[item.split("#")[1]]])[0])
        own, everything = self.bins_of(f, v), self.bins_of(f, None)
        size = a * (len(set(everything)) + 1)
        mine, all_ = own.count(at), everything.count(at)
        return (math.log(mine + a) - math.log(all_ - mine + a)
                - math.log(len(own) + size) + math.log(len(everything) - len(own) + size))

    # ---- inputs ----

    def sizes(self, bag):
        sizes = Counter(group_of(w) for w in bag)
        total = sum(n for g, n in sizes.items() if g != NGRAM and not isinstance(g, tuple))
        return {**sizes, **({"total": total} if total else {})}

    def groups(self, item):
        g = group_of(item)
        return [g] if g == NGRAM or isinstance(g, tuple) else [g, "total"]

    def inputs(self, bag, bank=None):
        """For each label x by (expert, group)."""
        sizes, x = self.sizes(bag), {v: Counter() for v in self.labels}
        for expert in bank or self.bank:
            for w in bag if len(self.labels) > 1 else ():
                if self.says(w):
                    for v in self.labels:
                        r = self.reading(expert[0], v, w)
                        for group in self.groups(w):
                            x[v][expert, group] += 0.4 * math.copysign(abs(r) ** expert[1], r) / sizes[group] ** 0.8
        return x

    def terms(self, bag, bank=None):
        """For each word that says anything, but numbers, its slot, its x and r by label."""
        sizes = Counter(group_of(w) for w in bag)
        a = (bank or self.bank)[-1][0]
        return [((w + 1) * 0xD6E8FEB86659FD93 % 4096, 1 / math.sqrt(sizes[group_of(w)] * len(sizes)),
                 {v: self.reading(a, v, w) for v in self.labels})
                for w in bag if not is_number(w) and len(self.labels) > 1 and self.says(w)]

    # ---- weights ----

    def mean(self, of, label=None):
        """Of what each side's stack has; with a label, of the sides that have documents of it."""
        return math.fsum(share * of(side.stack) for share, side in zip(self.share, self.sides)
                         if label is None or any(v == label for v, _ in side.living))

    def trust(self, e, bank):
        return self.mean(lambda s: math.exp(-0.5 * s.losses[e]) / math.fsum(math.exp(-0.5 * s.losses[o]) for o in bank))

    def parts(self):
        """What the stack and the twin are worth."""
        def twin(s):
            return s.twin.c / (1 + math.exp(0.5 * (s.twin.losses[1] - s.twin.losses[0])))

        def stack(s):
            return 1 - 1 / (1 + math.exp(0.5 * (s.twin.losses[1] - s.twin.losses[0]))) + twin(s)
        return (self.mean(stack), self.mean(twin)) if len(self.labels) > 1 else (1.0, 0.0)

    def weight(self, e, group):
        return self.mean(lambda s: s.weights[e, group])

    def u(self, slot):
        return self.mean(lambda s: s.twin.u[slot])

    def twin_bias(self, v):
        return 0.0 if len(self.labels) == 2 and v == self.labels[0] else self.mean(lambda s: s.twin.d[v], v)

    def bias(self, place, v):
        return self.mean(lambda s: s.bias[place, v], v)

    # ---- answers ----

    def scores(self, bag):
        x, terms = self.inputs(bag), self.terms(bag)
        half, (of_stack, of_twin) = 0.5 if len(self.labels) == 2 else 1.0, self.parts()
        s = {v: of_stack * math.fsum(
            self.trust(e, self.bank) * (self.bias(place, v) + half * math.fsum(self.weight(*i) * y for i, y in x[v].items()
                                                                               if i[0] == e))
            for place, e in enumerate(self.bank)) for v in self.labels}
        t = {v: of_twin * (self.twin_bias(v) + math.fsum(self.u(slot) * share * r[v] for slot, share, r in terms))
             for v in self.labels}
        if len(s) == 2:
            first, second = self.labels
            t = {first: -t[second] / 2, second: t[second] / 2}
        return {v: s[v] + t[v] for v in s} if len(s) > 1 else s

    def evidence(self, bag, best, second, item):
        if not self.says(item):
            return 0.0
        half, (of_stack, of_twin), sizes = 0.5 if len(self.labels) == 2 else 1.0, self.parts(), self.sizes(bag)
        sum_ = 0.0
        for e in self.bank:
            one, other = (math.copysign(abs(r) ** e[1], r) for r in (self.reading(e[0], v, item) for v in (best, second)))
            worth = math.fsum(self.weight(e, g) * 0.4 / sizes[g] ** 0.8 for g in self.groups(item))
            sum_ += of_stack * self.trust(e, self.bank) * worth * (one - other)
        for slot, share, r in self.terms(bag) if not is_number(item) else ():
            if slot == (item + 1) * 0xD6E8FEB86659FD93 % 4096 and r[best] == self.reading(self.bank[-1][0], best, item):
                return half * (sum_ + of_twin * self.u(slot) * share * (r[best] - r[second]))
        return half * sum_

    def against(self, bag, label, other):
        x, terms = self.inputs(bag, Stack.TWO)[label], self.terms(bag, Stack.TWO)
        of_stack, of_twin = self.parts()
        s = math.fsum(self.trust(e, Stack.TWO) * (self.bias(place, label) - self.bias(place, other) + math.fsum(
            self.weight(*i) * y for i, y in x.items() if i[0] == e)) for place, e in enumerate(Stack.TWO))
        t = self.twin_bias(label) - self.twin_bias(other) + math.fsum(
            self.u(slot) * share * r[label] for slot, share, r in terms)
        return of_stack * s + of_twin * t


# ---- histories ----


def random_values(rnd, place):
    """Of five fields, in the order of their numbers; any may be missing."""
    values = sorted(rnd.sample(range(1000, 1009), rnd.randint(0, 4)))
    values += [1100 + (place if rnd.random() < 0.6 else rnd.randrange(5))] * (rnd.random() < 0.7)
    for f, spread in ((2, 3.0), (3, 0.5)):
        if rnd.random() < 0.7:
            values.append(f"{f}#{attributes.number_text(round(rnd.gauss(4 * place, spread), rnd.choice([0, 2])))}")
    values += sorted(rnd.sample(range(1400, 1460), rnd.randint(0, 6)))
    return dict.fromkeys(values, 1)


def random_document(rnd, labels):
    place = rnd.randrange(len(labels))
    bag = {w: c for w, c in random_bag(rnd, 120).items() if rnd.random() < 0.5}
    return labels[place], {**bag, **random_values(rnd, place)}


def compare(driver, line, want, what):
    got = dict(x.split("=") for x in driver.ask(line))
    if list(got) != sorted(want):
        sys.exit(f"view.py: labels {list(got)}, must be {sorted(want)}")
    for v, score in want.items():
        agree(got[v], score, f"{what} of {v}: {line}")
    return len(want)


def check_view(driver, rnd, sides, strengths, labels):
    bag, count = random_document(rnd, labels)[1], len(sides)
    view = View(sides, strengths)
    want = view.scores(bag)
    compared = compare(driver, f"view {count} {bag_text(bag)}", want, "score")
    if len(want) > 1:
        best, second, *evidence = driver.ask(f"explain {count} {bag_text(bag)}")
        for item, got in zip(bag, evidence):
            agree(got, view.evidence(bag, best, second, item), f"evidence of {item}")
        agree(math.fsum(map(float, evidence)), want[best] - want[second], "sum of the evidence")
        label, other = rnd.sample(sorted(want), 2)
        agree(driver.ask(f"against {count} {label} {other} {bag_text(bag)}")[0], view.against(bag, label, other), "against")
        compared += len(bag) + 2
    document = rnd.choice(sides[0].living) if sides[0].living else None
    if document is not None and (len(sides[0].living) > 1 or count > 1):
        view = View(sides, strengths, document)
        if document[0] in view.labels:
            compared += compare(driver, f"view-without {count} {document[0]} {bag_text(document[1])}", view.scores(document[1]),
                                "score without it")
    return compared


def teach(driver, rnd, at, side, labels, documents, how="gaussian"):
    """Test, then train, as the daemon does; sometimes a document goes again. How many numbers were compared."""
    compared = 0
    for _ in range(documents):
        label, bag = random_document(rnd, labels)
        if side.living:
            view = View([side], [], how=how)
            compared += compare(driver, f"stack {at} {bag_text(bag)}", view.scores(bag), f"{how} score")
            if label in view.labels:
                side.stack.learn(view.inputs(bag), view.terms(bag), label, 1)
                driver.tell(f"learn {at} 1 {label} {bag_text(bag)}")
        side.living.append((label, bag))
        driver.tell(f"train {at} {label} {bag_text(bag)}")
        out = rnd.choice(side.living)
        if sum(v == out[0] for v, _ in side.living) > 1:
            compared += compare(driver, f"stack-without {at} {out[0]} {bag_text(out[1])}",
                                View([side], [], out, how).scores(out[1]), f"{how} score without it")
        if rnd.random() < 0.15:
            label, bag = side.living.pop(rnd.randrange(len(side.living)))
            driver.tell(f"untrain {at} {label} {bag_text(bag)}")
    return compared


def begun(path, how):
    driver = Driver(path)
    driver.tell(" ".join(map(str, ["numbers", NUMBERS.index(how), *map(KINDS.index, OF)])))
    return driver


def run_alone(path, rnd, labels, how):
    driver = begun(path, how)
    compared = teach(driver, rnd, 0, Side(), labels, 35, how)
    if driver.end() != 0:
        sys.exit("view.py: the driver failed")
    return compared


def run_view(path, rnd, labels, levels):
    driver, sides, compared = begun(path, "gaussian"), [Side() for _ in range(levels)], 0
    for at in reversed(range(levels)):
        teach(driver, rnd, at, sides[at], labels if at else labels[:2], (4, 25, 18)[at])
    for _ in range(6):
        strengths = [rnd.choice([1, 8, 1000]) for _ in range(2)]
        driver.tell("strengths {} {}".format(*strengths))
        compared += check_view(driver, rnd, sides, strengths, labels)
        teach(driver, rnd, 0, sides[0], labels[:2], rnd.randint(1, 3))
    if driver.end() != 0:
        sys.exit("view.py: the driver failed")
    return compared


def run(path, seed):
    rnd = random.Random(seed)
    alone, views = Counter(), 0
    for labels in (["ham", "spam"], ["a", "b", "c", "d"]):
        for how in NUMBERS:
            alone[how] += run_alone(path, rnd, labels, how)
        for levels in (1, 2, 3):
            views += run_view(path, rnd, labels, levels)
    if not views or min(alone[how] for how in NUMBERS) < 100:
        sys.exit("view.py: nothing was compared")
    print(f"view: {sum(alone.values())} numbers of one model agree to 1e-9, {views} of models with parents (seed {seed})")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1763)
