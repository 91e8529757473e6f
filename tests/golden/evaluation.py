#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the figures of the evaluation to 1e-9 against a slow computation from their definitions.

    evaluation.py DRIVER [SEED]

DRIVER is the built evaluation_driver. Areas are counted pair by pair, rates document by document.
"""
import math
import random
import subprocess
import sys
from collections import Counter


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else math.nan


def logit(error, n):
    error = max(error, 0.5 / n)
    return math.log(error / (1 - min(error, 1 - 0.5 / n)))


class Slow:
    """Documents as (truth, log-odds, {label: probability} or None), oldest first."""

    def __init__(self, labels, positive):
        self.labels, self.positive, self.documents = labels, labels[positive], []

    def p(self, document, label):
        return 1 / len(self.labels) if document[2] is None else document[2].get(label, 0.0)

    def rank(self, document):
        if len(self.labels) != 2:
            return self.p(document, self.positive)
        if document[2] is None:
            return 0.0
        return document[1] if self.positive == self.labels[1] else -document[1]

    def winner(self, document):
        return max(self.labels, key=lambda v: self.p(document, v))

    def calibration(self, documents):
        """The expected calibration error, and of each bin its documents, confidence and accuracy."""
        if len(self.labels) == 2:
            rows = [(self.p(d, self.positive), d[0] == self.positive) for d in documents]
        else:
            rows = [(self.p(d, self.winner(d)), d[0] == self.winner(d)) for d in documents]
        error, bins = 0.0 if rows else math.nan, []
        for k in range(15):
            held = [r for r in rows if k / 15 <= r[0] < (k + 1) / 15 or k == 14 and r[0] == 1]
            bins += [len(held), mean(p for p, _ in held), mean(t for _, t in held)]
            if held:
                error += len(held) / len(rows) * abs(bins[-2] - bins[-1])
        return [error, *bins]

    def of_labels(self, documents):
        """The macro-F1; and of each label its documents, precision, recall and F1."""
        rows, scores = [], []
        for v in self.labels:
            precision = mean(d[0] == v for d in documents if self.winner(d) == v)
            recall = mean(self.winner(d) == v for d in documents if d[0] == v)
            if math.isnan(precision) and math.isnan(recall):
                f1 = math.nan
            elif math.isnan(precision) or math.isnan(recall) or precision + recall == 0:
                f1 = 0.0
            else:
                f1 = 2 * precision * recall / (precision + recall)
            rows += [sum(d[0] == v for d in documents), precision, recall, f1]
            scores += [] if math.isnan(f1) else [f1]
        return mean(scores), rows

    def worst_pairs(self, documents):
        wrong = Counter((self.labels.index(d[0]), self.labels.index(self.winner(d))) for d in documents
                        if self.winner(d) != d[0])
        worst = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:20]
        return [number for (truth, given), count in worst for number in (truth, given, count)]

    def figures(self, window):
        documents = self.documents[-window:] if window else self.documents
        good = [d for d in documents if d[0] == self.positive]
        bad = [d for d in documents if d[0] != self.positive]
        fp = mean(self.p(d, self.positive) > 0.5 for d in bad)
        fn = mean(self.p(d, self.positive) <= 0.5 for d in good)
        area = lam = math.nan
        if good and bad:
            area = 100 * mean(0.5 if self.rank(g) == self.rank(b) else self.rank(g) < self.rank(b)
                              for g in good for b in bad)
            lam = 100 / (1 + math.exp(-(logit(fp, len(bad)) + logit(fn, len(good))) / 2))
        clip = lambda p: min(max(p, 1e-6), 1 - 1e-6)
        brier = mean(math.fsum((self.p(d, v) - (v == d[0])) ** 2 for v in self.labels) for d in documents)
        macro, rows = self.of_labels(documents)
        return [mean(self.winner(d) == d[0] for d in documents), macro, area, lam, fp, fn,
                mean(-math.log(clip(self.p(d, d[0]))) for d in documents),
                brier / 2 if len(self.labels) == 2 else brier, *self.calibration(documents), *rows,
                *self.worst_pairs(documents)]

    def threshold(self, window, rate):
        """Of 0 and the numbers next to each probability, the lowest that holds the rate."""
        documents = self.documents[-window:] if window else self.documents
        bad = [self.p(d, self.positive) for d in documents if d[0] != self.positive]
        for t in sorted({0.0, *(math.nextafter(p, math.inf) for p in bad)}):
            taken = mean(p >= t for p in bad)
            if bad and taken <= rate:
                return t, taken
        return None


def agree(got, want, what):
    if math.isnan(want) != math.isnan(float(got)) or \
            not math.isnan(want) and not math.isclose(float(got), want, rel_tol=1e-9, abs_tol=1e-9):
        sys.exit(f"evaluation.py: {what}: the program says {got}, the definition {want!r}")


def random_document(rnd, labels, grid):
    truth = rnd.choice(labels)
    if rnd.random() < 0.1:
        return truth, 0.0, None
    s = {v: rnd.gauss(2.0 * (v == truth), 3) for v in labels}
    if grid:
        s = {v: float(round(x)) for v, x in s.items()}
    top = max(s.values())
    z = math.fsum(math.exp(x - top) for x in s.values())
    log_odds = s[labels[1]] - s[labels[0]] if len(labels) == 2 else 0.0
    return truth, log_odds, {v: min(1.0, math.exp(x - top) / z) for v, x in s.items()}


def run(driver, seed):
    rnd, compared = random.Random(seed), 0
    process = subprocess.Popen([driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().split()

    for round_number in range(30):
        labels = rnd.sample(range(50), 1 + round_number % 4 if round_number < 24 else rnd.randint(5, 30))
        slow = Slow(labels, rnd.randrange(len(labels)))
        process.stdin.write(f"new {labels.index(slow.positive)} {' '.join(map(str, labels))}\n")
        for _ in range(rnd.randint(0, 200) if round_number < 24 else 300):
            truth, log_odds, p = document = random_document(rnd, labels, round_number % 3 == 0)
            slow.documents.append(document)
            listed = [f"{v}:{x!r}" for v, x in (p or {}).items()]
            process.stdin.write(" ".join([f"add {truth} {log_odds!r}", *listed]) + "\n")
        for window in (0, 1, 50):
            got, want = ask(f"figures {window}"), slow.figures(window)
            for i, (g, w) in enumerate(zip(got, want, strict=True)):
                agree(g, w, f"figure {i} of round {round_number}, window {window}")
            compared += len(want)
            for rate in (0.0, 0.001, 0.1, 0.5, 1.0):
                got, want = ask(f"threshold {window} {rate!r}"), slow.threshold(window, rate)
                if want is None:
                    agree(got[0] != "none", False, "a threshold where there is none")
                else:
                    agree(got[0], want[0], f"threshold for {rate} of round {round_number}")
                    agree(got[1], want[1], f"rate at the threshold for {rate}")
                compared += 2
    process.stdin.close()
    if process.wait() != 0:
        sys.exit("evaluation.py: the driver failed")
    return compared


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1763
    print(f"seed {seed}: {run(sys.argv[1], seed)} numbers agree")
