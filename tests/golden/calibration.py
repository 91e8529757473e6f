#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds calibrations to 1e-9 against a slow computation of the definitions in core/bayes/calibration.h.

    calibration.py DRIVER [SEED]

DRIVER is the built calibration_driver. tests/api holds the daemon to the same computation. The sigmoid is found by Newton's method in exact fractions of 60 digits, the
rising function by the formula of means from somewhere before to somewhere after.
"""
import math
import random
import subprocess
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
LIMIT = 10**6
RIDGE = Decimal(10)**-25  # for scores that are all the same


def odds(scores, v):
    """ln P / (1 - P) of a label against all others."""
    if max(scores) == -math.inf:
        return -Decimal(len(scores) - 1).ln()
    rest = sum((Decimal(s).exp() for u, s in enumerate(scores) if u != v and s > -math.inf), Decimal(0))
    if len(scores) == 2 and min(scores) > -math.inf:
        return Decimal(scores[v]) - Decimal(scores[1 - v])
    if scores[v] == -math.inf or rest == 0:
        return Decimal(LIMIT if rest == 0 else -LIMIT)
    return Decimal(scores[v]) - rest.ln()


def sigmoid(z):
    return 1 / (1 + z.exp())


def platt(points):
    positive = sum(y for _, y in points)
    high, low = Decimal(positive + 1) / (positive + 2), Decimal(1) / (len(points) - positive + 2)
    points = [(f, high if y else low) for f, y in points]

    def loss(a, b):
        return sum(-t * sigmoid(a * f + b).ln() - (1 - t) * (1 - sigmoid(a * f + b)).ln() for f, t in points)
    a, b = Decimal(0), (Decimal(len(points) - positive + 1) / (positive + 1)).ln()
    for _ in range(100):
        p = [(f, t, sigmoid(a * f + b)) for f, t in points]
        ga, gb = sum((t - q) * f for f, t, q in p), sum(t - q for f, t, q in p)
        aa, ab, bb = (sum(w * q * (1 - q) for w, q in ((x(f), q) for f, _, q in p))
                      for x in (lambda f: f * f, lambda f: f, lambda f: 1))
        aa, bb = aa + RIDGE, bb + RIDGE
        det = aa * bb - ab * ab
        da, db = -(bb * ga - ab * gb) / det, -(aa * gb - ab * ga) / det
        size, now = Decimal(1), loss(a, b)
        while loss(a + size * da, b + size * db) > now and size > Decimal(10)**-20:
            size /= 2
        a, b = a + size * da, b + size * db
        if abs(da) + abs(db) < Decimal(10)**-18:
            break
    return lambda f: sigmoid(a * f + b)


def isotonic(points):
    xs = sorted({f for f, _ in points})
    sums = {x: [y for f, y in points if f == x] for x in xs}

    def mean(i, j):
        values = [y for x in xs[i:j + 1] for y in sums[x]]
        return Decimal(sum(values)) / len(values)
    ys = [max(min(mean(i, j) for j in range(k, len(xs))) for i in range(k + 1)) for k in range(len(xs))]

    def say(f):
        if f <= xs[0]:
            return ys[0]
        for k in range(1, len(xs)):
            if f <= xs[k]:
                return ys[k - 1] + (f - xs[k - 1]) / (xs[k] - xs[k - 1]) * (ys[k] - ys[k - 1])
        return ys[-1]
    return say


def fitted(method, labels, documents):
    """From [(label's place, log scores)] a function of log scores to probabilities."""
    fit = {"platt": platt, "isotonic": isotonic}[method]
    maps = {v: fit([(odds(s, v), int(truth == v)) for truth, s in documents]) for v in (range(1, 2) if labels == 2 else range(labels))}

    def say(scores):
        p = {v: maps[v](odds(scores, v)) for v in maps}
        if labels == 2:
            return [1 - p[1], p[1]]
        total = sum(p.values())
        return [p[v] / total if total else Decimal(1) / labels for v in range(labels)]
    return say


def random_scores(rnd, labels, truth, spread, ties, impossible):
    scores = [rnd.gauss(0.8 * (v == truth), 1) * spread for v in range(labels)]
    if ties:
        scores = [round(s, 0) for s in scores]
    if impossible and rnd.random() < 0.04:
        scores[rnd.randrange(labels)] = -math.inf
    return scores


def run(path, seed):
    rnd = random.Random(seed)
    driver = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    compared = 0
    for case in range(24):
        method, labels = ("platt", "isotonic")[case % 2], rnd.choice([2, 2, 3, 5])
        spread, ties = rnd.choice([0.1, 1, 5, 200]), rnd.random() < 0.5
        if method == "isotonic" and labels > 2:  # what is a tie of doubles is none of 60 digits
            spread, ties = min(spread, 5), False
        spread = min(spread, 5) if method == "platt" else spread  # so that 60 digits are enough
        how = spread, ties, method == "isotonic"
        documents = [(truth, random_scores(rnd, labels, truth, *how))
                     for truth in (rnd.randrange(labels) for _ in range(rnd.choice([12, 20, 40])))]
        questions = [random_scores(rnd, labels, 0, *how) for _ in range(8)] + [[-math.inf] * labels]
        lines = [f"{method} {labels} {len(documents)} {len(questions)}"]
        lines += [" ".join(map(repr, (truth, *scores))) for truth, scores in documents]
        lines += [" ".join(map(repr, scores)) for scores in questions]
        driver.stdin.write("\n".join(lines) + "\n")
        driver.stdin.flush()
        say = fitted(method, labels, documents)
        for scores in questions:
            want = say(scores)
            got = [float(x) for x in driver.stdout.readline().split()]
            for g, w in zip(got, want, strict=True):
                if not math.isclose(g, w, rel_tol=1e-9, abs_tol=1e-9):
                    sys.exit(f"calibration.py: {method}, {labels} labels, scores {scores}: the program says {got}, must be {want}")
                compared += 1
    driver.stdin.close()
    if driver.wait() != 0:
        sys.exit("calibration.py: the driver failed")
    print(f"calibrations: {compared} numbers agree to 1e-9 (seed {seed})")


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1763)
