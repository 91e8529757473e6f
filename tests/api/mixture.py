# SPDX-License-Identifier: Apache-2.0
"""EM for a mixture of words, categories and numbers, slowly: documents as dictionaries, likelihoods term by term.

Begins with the same random numbers as the daemon, and follows its steps (core/jobs/mixture/mixture.h).
"""
import math

ALPHA, HEAT, COOLING, STEPS, MASK = 0.1, 0.05, 1.35, 200, (1 << 64) - 1


class Random:
    """SplitMix64 (core/base/random.h)."""

    def __init__(self, a, b):
        self.state = a & MASK
        self.state = self.next() ^ b

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def below(self, n):
        return (self.next() >> 32) * n >> 32


def counted(things):
    counts = {}
    for thing in things:
        counts[thing] = counts.get(thing, 0) + 1
    return counts


class Mixture:
    """documents: [(words, {category: value}, {field: number})]; what tells nothing is left out here."""

    def __init__(self, documents, k, seed, equal=False, deviations=None):
        self.k, self.equal, self.n = k, equal, len(documents)
        most = math.ceil(max(0.1, min(1.5 / k, 0.75)) * len(documents))
        known = {w for w, n in counted(w for words, _, _ in documents for w in words).items() if 2 <= n <= most}
        of_categories = counted(pair for _, categories, _ in documents for pair in categories.items())
        values = {pair for pair, n in of_categories.items() if n >= 2}
        self.words = [sorted(known & words) for words, _, _ in documents]
        self.categories = [{f: v for f, v in c.items() if (f, v) in values} for _, c, _ in documents]
        self.groups = {None: sorted(known)}
        for field in sorted({f for f, _ in values}):
            self.groups[field] = sorted(v for f, v in values if f == field)
        self.scales = {}
        for field in sorted({f for _, _, numbers in documents for f in numbers}):
            all_of = [numbers[field] for _, _, numbers in documents if field in numbers]
            mean = math.fsum(all_of) / len(all_of)
            self.scales[field] = (mean, math.sqrt(math.fsum((x - mean) ** 2 for x in all_of) / len(all_of)), len(all_of))
        self.numbers = [{f: (x - self.scales[f][0]) / self.scales[f][1] for f, x in numbers.items()}
                        for _, _, numbers in documents]
        self.known = {f: (d / self.scales[f][1]) ** 2 for f, d in (deviations or {}).items()}
        self.prior = k ** (-2 / len(self.scales)) if self.scales else 0
        self.begin(seed)
        self.run()

    def things(self, d):
        """Of a document all (group, word or value)."""
        return [(None, w) for w in self.words[d]] + list(self.categories[d].items())

    def begin(self, seed):
        drawing = Random(seed, self.k)
        drawn = [[drawing.below(self.n) for _ in range(10)] for _ in range(self.k)]
        everything = counted(thing for d in range(self.n) for thing in self.things(d))
        self.share, self.theta = [1 / self.k] * self.k, []
        for documents in drawn:
            weights = {}
            for d in documents:
                for group, thing in self.things(d):
                    weight = 1 / len(self.words[d]) if group is None else 1
                    weights[group, thing] = weights.get((group, thing), 0) + weight
            theta = {}
            for group, things in self.groups.items():
                own = sum(weights.get((group, t), 0) for t in things)
                total = sum(everything[group, t] for t in things)
                for t in things:
                    half = .5 * weights.get((group, t), 0) / own if own else 0
                    theta[group, t] = half + (.5 if own else 1) * everything[group, t] / total
            self.theta.append(theta)
        if self.scales:
            self.begin_means(Random(~seed, self.k))

    def begin_means(self, drawing):
        nearest, self.gaussians = [float(bool(numbers)) for numbers in self.numbers], []
        for k in range(self.k):
            chosen = drawing.below(self.n)
            left = sum(nearest) * ((drawing.next() >> 11) * 2.0 ** -53)
            if sum(nearest) > 0:
                for d, weight in enumerate(nearest):
                    chosen = d if weight > 0 else chosen
                    left -= weight
                    if left < 0:
                        break
            means = {f: self.numbers[chosen].get(f, 0.0) for f in self.scales}
            self.gaussians.append({f: (m, self.known.get(f, 1.0)) for f, m in means.items()})
            for d, numbers in enumerate(self.numbers):
                distance = sum((x - means[f]) ** 2 for f, x in numbers.items())
                nearest[d] = distance if k == 0 else min(nearest[d], distance)

    def expect(self, beta):
        """[E[z] of each document], and ln of the likelihood."""
        result, likelihood = [], 0
        for d in range(self.n):
            scores = []
            for k in range(self.k):
                terms = [math.log(self.theta[k][t]) for t in self.things(d)]
                for f, x in self.numbers[d].items():
                    mean, variance = self.gaussians[k][f]
                    terms.append(-(x - mean) ** 2 / (2 * variance) - math.log(2 * math.pi * variance) / 2)
                scores.append(beta * math.fsum(terms) + math.log(self.share[k]))
            top = max(scores)
            total = math.fsum(math.exp(s - top) for s in scores)
            result.append([math.exp(s - top) / total for s in scores])
            likelihood += top + math.log(total)
        return result, likelihood

    def maximize(self, z):
        """Returns ln of the priors' density. BIC's parameters are counted on the way."""
        prior, self.moved, self.parameters = 0, 0, 0 if self.equal else self.k - 1
        for k in range(self.k):
            members = math.fsum(row[k] for row in z)
            if not self.equal:
                self.share[k] = (1 + members) / (self.k + self.n)
                prior += math.log(self.share[k])
            counts = {}
            for d, row in enumerate(z):
                for thing in self.things(d):
                    counts[thing] = counts.get(thing, 0) + row[k]
            for group, things in self.groups.items():
                total = math.fsum(ALPHA + counts.get((group, t), 0) for t in things)
                for t in things:
                    theta = (ALPHA + counts.get((group, t), 0)) / total
                    self.moved += counts.get((group, t), 0) * abs(math.log(theta / self.theta[k][group, t]))
                    self.theta[k][group, t] = theta
                    prior += ALPHA * math.log(theta)
                used = sum(counts.get((group, t), 0) >= .5 for t in things)
                self.parameters += used if group is None else used - 1
            for f in self.scales:
                rows = [(row[k], numbers[f]) for row, numbers in zip(z, self.numbers) if f in numbers]
                weight = math.fsum(r for r, _ in rows)
                mean = math.fsum(r * x for r, x in rows) / weight
                if f in self.known:
                    self.gaussians[k][f], self.parameters = (mean, self.known[f]), self.parameters + 1
                    continue
                variance = (self.prior + math.fsum(r * (x - mean) ** 2 for r, x in rows)) / (1 + weight)
                self.gaussians[k][f], self.parameters = (mean, variance), self.parameters + 2
                prior -= (math.log(variance) + self.prior / variance) / 2
        return prior

    def run(self):
        beta = HEAT if self.k > 1 and self.groups[None] else 1
        enough = 1e-6 if self.groups[None] else 1e-9
        is_cold, before, prior, self.moved, moved = False, -math.inf, 0, 0, 0
        # A saddle is left by steps that grow.
        all_counts = sum(len(self.things(d)) for d in range(self.n))
        for self.iterations in range(STEPS):
            self.z, likelihood = self.expect(beta)
            now = likelihood + prior
            leaves = self.moved > moved and self.moved > 1e-10 * all_counts
            if is_cold and now - before <= enough * abs(now) and not leaves or self.iterations + 1 == STEPS:
                break
            moved = self.moved
            before, is_cold = now, beta >= 1 and self.iterations > 0
            beta = min(1, beta * COOLING)
            prior = self.maximize(self.z)
        self.log_likelihood = likelihood - sum(n * math.log(d) for _, d, n in self.scales.values())
        self.bic = self.parameters * math.log(self.n) - 2 * self.log_likelihood

    def told(self):
        """[(documents, share, {field: (mean, deviation)}, {value: share})], the largest first."""
        rows = []
        for k in range(self.k):
            members = [d for d, row in enumerate(self.z) if row.index(max(row)) == k]
            numbers = {f: (m + s * self.gaussians[k][f][0], s * math.sqrt(self.gaussians[k][f][1]))
                       for f, (m, s, _) in self.scales.items()}
            rows.append((members, self.share[k], numbers, self.theta[k]))
        return sorted(rows, key=lambda row: -len(row[0]))
