#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds EM over documents without a label, and the counts that follow, to 1e-9 against a slow computation of the
formulas in core/bayes/em.h, with words in groups and with numbers.

    em.py DRIVER [SEED]

DRIVER is the built em_driver. tests/api holds the daemon's verdicts to the same computation.
"""
import math
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from expectation import Numbers, fit  # noqa: E402  (needs the path above)


def same(got, want, what):
    if not math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9):
        sys.exit(f"em.py: {what}: the program says {got!r}, must be {want!r}")


def drawn(rnd, labels, words):
    """A document of a label, of whose words a half are its own."""
    label, bag = rnd.randrange(labels), {}
    for _ in range(rnd.choice([0, 1, 5, 12])):
        word = label + labels * rnd.randrange(words // labels) if rnd.random() < 0.5 else rnd.randrange(words)
        bag[word] = bag.get(word, 0) + 1
    return label, bag


def numbers_of(rnd, labels, documents):
    """Of a field: those of some labelled documents, and of most others; each label's lie around its own mean."""
    def one(label):
        return round(rnd.gauss(100 * label, 60), 3)
    own = {v: [(1, one(v)) for _ in range(rnd.choice([0, 1, 4]))] for v in range(labels)}
    values = [one(rnd.randrange(labels)) if rnd.random() < 0.8 else None for _ in range(documents)]
    own[0] += [(1, -50.25), (1, 7)]  # some differ
    return Numbers(own, values)


def lines_of(numbers):
    """Of labelled documents mean and variance, and the numbers of the others; both as Numbers has scaled them."""
    lines = []
    for n in numbers:
        for rows in n.labelled.values():
            mean = math.fsum(x for _, x in rows) / max(len(rows), 1)
            lines.append(f"{len(rows)} {mean!r} {math.fsum((x - mean) ** 2 for _, x in rows) / max(len(rows), 1)!r}")
    return lines + [" ".join("nan" if x is None else repr(x) for x in row) for row in zip(*(n.values for n in numbers))]


def case(rnd, driver):
    labels, words, binary = rnd.choice([1, 2, 3, 5]), rnd.choice([10, 40]), rnd.random() < 0.5
    weight, smoothing = rnd.choice([0.01, 0.1, 0.3, 1]), rnd.choice([0.001, 0.01, 0.5])
    prior = {v: rnd.choice([1, 1, 2.5]) for v in range(labels)}
    own = {v: dict.fromkeys(range(words), 0) for v in range(labels)}
    for label, bag in (drawn(rnd, labels, words) for _ in range(rnd.choice([3, 20]))):
        for word, count in bag.items():
            own[label][word] += 1 if binary else count
    bags = [drawn(rnd, labels, words)[1] for _ in range(rnd.choice([1, 7, 40]))]
    groups, fields = rnd.choice([1, 1, 3]), rnd.choice([0, 0, 1, 2])
    group = [rnd.randrange(groups) for _ in range(words)]
    numbers = [numbers_of(rnd, labels, len(bags)) for _ in range(fields)]
    lines = [f"{labels} {words} {len(bags)} {weight} {smoothing} {int(binary)} {groups} {fields}"]
    lines += [" ".join(map(repr, prior.values())), " ".join(map(str, group))]
    lines += [" ".join(str(own[v][w]) for v in range(labels)) for w in range(words)]
    lines += [f"{len(bag)} " + " ".join(f"{w} {n}" for w, n in bag.items()) for bag in bags]
    lines += lines_of(numbers)
    driver.stdin.write("\n".join(lines) + "\n")
    driver.stdin.flush()
    shares, objectives, steps = fit(own, prior, bags, weight, smoothing, binary, lambda w: group[w], numbers)
    if any(after < before - 1e-9 * abs(before) for before, after in zip(objectives, objectives[1:])):
        sys.exit(f"em.py: the slow computation falls: {objectives}")

    def line():
        return [float(x) for x in driver.stdout.readline().split()]
    got = line()
    same(got[0], steps, "steps")
    same(got[1], objectives[0], "what is maximized, at first")
    same(got[2], objectives[-1], "what is maximized, at last")
    for d, of in enumerate(shares):
        for v, share in enumerate(line()):
            same(share, of.get(v, 0), f"share of {v} in {d}")
    for v, documents in enumerate(line()):
        same(documents, math.fsum(of.get(v, 0) for of in shares), f"documents of {v}")
    for w in range(words):
        counts = line()
        for v in range(labels):
            having = [(of.get(v, 0), bag[w]) for of, bag in zip(shares, bags) if w in bag]
            same(counts[2 * v], math.fsum(r * n for r, n in having), f"occurrences of {w} in {v}")
            same(counts[2 * v + 1], math.fsum(r for r, _ in having), f"documents of {v} with {w}")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1763
    rnd = random.Random(seed)
    driver = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(60):
        case(rnd, driver)
    driver.stdin.close()
    if driver.wait() != 0:
        sys.exit("em.py: the driver failed")
    print("em.py: 60 fits")


if __name__ == "__main__":
    main()
