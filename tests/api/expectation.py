# SPDX-License-Identifier: Apache-2.0
"""EM over documents without a label, slowly: what the daemon and the library are held against.

Documents are {word: how often}; labelled ones are only seen as counts of words and labels. With fields a word is of a
group (`group(word)`), and documents have numbers as well: Numbers."""
import math

BEGIN, COOLING = 0.02, 1.35  # of beta
TOLERANCE, LEAST = 1e-6, 1e-3


class Numbers:
    """Of one field: those of labelled documents, {label: [(weight, x)]}, and one or None of each document without."""

    def __init__(self, labelled, values):
        rows = [row for of in labelled.values() for row in of] + [(1, x) for x in values if x is not None]
        size = math.fsum(weight for weight, _ in rows)
        centre = math.fsum(weight * x for weight, x in rows) / size
        deviation = math.sqrt(math.fsum(weight * (x - centre) ** 2 for weight, x in rows) / size)
        self.labelled = {v: [(weight, (x - centre) / deviation) for weight, x in of] for v, of in labelled.items()}
        self.values = [None if x is None else (x - centre) / deviation for x in values]
        self.means, self.variances = {}, {}

    def maximize(self, shares, weight, smoothing):
        """Returns the part of the objective of labelled documents and the prior."""
        objective = 0
        for v, own in self.labelled.items():
            rows = own + [(weight * r[v], x) for r, x in zip(shares, self.values) if x is not None]
            size = math.fsum(w for w, _ in rows)
            mean = math.fsum(w * x for w, x in rows) / (size + smoothing)
            prior = 1 + smoothing * mean ** 2
            variance = (prior + math.fsum(w * (x - mean) ** 2 for w, x in rows)) / (1 + size)
            self.means[v], self.variances[v] = mean, variance
            objective += math.fsum(w * self.log_density(v, x) for w, x in own) - (math.log(variance) + prior / variance) / 2
        return objective

    def log_density(self, v, x):
        return -(math.log(2 * math.pi * self.variances[v]) + (x - self.means[v]) ** 2 / self.variances[v]) / 2


def times(bag, word, binary):
    return 1 if binary else bag[word]


def expect(bags, prior, theta, beta, binary, numbers):
    """The shares of the labels in each bag, and the sum of ln P."""
    total, shares = 0, []
    whole = math.fsum(prior.values())
    for d, bag in enumerate(bags):
        found = [n for n in numbers if n.values[d] is not None]
        logs = {v: math.log(p / whole) + beta * math.fsum([times(bag, w, binary) * math.log(theta[v][w]) for w in bag] +
                                                          [n.log_density(v, n.values[d]) for n in found])
                for v, p in prior.items()}
        top = max(logs.values())
        likelihood = math.fsum(math.exp(s - top) for s in logs.values())
        shares.append({v: math.exp(s - top) / likelihood for v, s in logs.items()})
        total += top + math.log(likelihood)
    return shares, total


def maximize(own, bags, shares, weight, smoothing, binary, group):
    theta = {}
    for v, words in own.items():
        counts = {w: n + smoothing for w, n in words.items()}
        for bag, r in zip(bags, shares):
            for w in bag:
                counts[w] += weight * r[v] * times(bag, w, binary)
        whole = {g: math.fsum(n for w, n in counts.items() if group(w) == g) for g in {group(w) for w in counts}}
        theta[v] = {w: n / whole[group(w)] for w, n in counts.items()}
    return theta


def fit(own, prior, bags, weight, smoothing, binary=True, group=lambda word: 0, numbers=()):
    """From {label: {word: count}} and {label: prior}: shares, those below a thousandth left out; what is maximized, in
    each step with beta = 1; and the number of steps."""
    beta, objectives, steps = BEGIN if len(own) > 1 else 1, [], 0
    shares = [dict.fromkeys(own, 0) for _ in bags]
    while True:
        theta = maximize(own, bags, shares, weight, smoothing, binary, group)
        labelled = math.fsum(n.maximize(shares, weight, smoothing) for n in numbers)
        labelled += math.fsum((n + smoothing) * math.log(theta[v][w]) for v, words in own.items() for w, n in words.items())
        shares, likelihood = expect(bags, prior, theta, beta, binary, numbers)
        objective = weight * likelihood + labelled
        steps += 1
        if beta >= 1:
            objectives.append(objective)
        if len(objectives) > 1 and objective - objectives[-2] <= TOLERANCE * (abs(labelled) + abs(weight * likelihood)):
            break
        beta = min(1, beta * COOLING)
    kept = [{v: r for v, r in of.items() if r >= LEAST} for of in shares]
    return [{v: r / math.fsum(of.values()) for v, r in of.items()} for of in kept], objectives, steps
