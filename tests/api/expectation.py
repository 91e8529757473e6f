# SPDX-License-Identifier: Apache-2.0
"""EM over documents without a label, slowly: what the daemon and the library are held against.

Documents are {word: how often}; labelled ones are only seen as counts of words and labels."""
import math

BEGIN, COOLING = 0.02, 1.35  # of beta
TOLERANCE, LEAST = 1e-6, 1e-3


def times(bag, word, binary):
    return 1 if binary else bag[word]


def expect(bags, prior, theta, beta, binary):
    """The shares of the labels in each bag, and the sum of ln P."""
    total, shares = 0, []
    whole = math.fsum(prior.values())
    for bag in bags:
        logs = {v: math.log(p / whole) + beta * math.fsum(times(bag, w, binary) * math.log(theta[v][w]) for w in bag)
                for v, p in prior.items()}
        top = max(logs.values())
        likelihood = math.fsum(math.exp(s - top) for s in logs.values())
        shares.append({v: math.exp(s - top) / likelihood for v, s in logs.items()})
        total += top + math.log(likelihood)
    return shares, total


def maximize(own, bags, shares, weight, smoothing, binary):
    theta = {}
    for v, words in own.items():
        counts = {w: n + smoothing for w, n in words.items()}
        for bag, r in zip(bags, shares):
            for w in bag:
                counts[w] += weight * r[v] * times(bag, w, binary)
        whole = math.fsum(counts.values())
        theta[v] = {w: n / whole for w, n in counts.items()}
    return theta


def fit(own, prior, bags, weight, smoothing, binary=True):
    """From {label: {word: count}} and {label: prior}: shares, those below a thousandth left out; what is maximized, in
    each step with beta = 1; and the number of steps."""
    beta, objectives, steps = BEGIN if len(own) > 1 else 1, [], 0
    shares = [dict.fromkeys(own, 0) for _ in bags]
    while True:
        theta = maximize(own, bags, shares, weight, smoothing, binary)
        shares, likelihood = expect(bags, prior, theta, beta, binary)
        objective = weight * likelihood + math.fsum((n + smoothing) * math.log(theta[v][w])
                                                    for v, words in own.items() for w, n in words.items())
        steps += 1
        if beta >= 1:
            objectives.append(objective)
        if len(objectives) > 1 and objective - objectives[-2] <= TOLERANCE * abs(objective):
            break
        beta = min(1, beta * COOLING)
    kept = [{v: r for v, r in of.items() if r >= LEAST} for of in shares]
    return [{v: r / math.fsum(of.values()) for v, r in of.items()} for of in kept], objectives, steps
