#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds quantiles of the Beta distribution to 1e-9 against a slow computation with 60 digits.

    beta.py DRIVER [SEED]

DRIVER is the built beta_driver. I_x(a, b) is the power series of DLMF 8.17.8, all of whose terms are
positive; ln Gamma is Stirling's series far out, and the recurrence from there.
"""
import random
import subprocess
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 60
BERNOULLI = [D(1) / 6, D(-1) / 30, D(1) / 42, D(-1) / 30, D(5) / 66, D(-691) / 2730, D(7) / 6, D(-3617) / 510,
             D(43867) / 798, D(-174611) / 330]
LOG_2_PI = D("1.83787706640934548356065947281123527972279494727556682563430309")


def log_gamma(z):
    """Terms from the eleventh on are below 1e-45 where z is above 1,000."""
    product = D(1)
    while z < 1000:
        product *= z
        z += 1
    series = sum(b / (2 * k * (2 * k - 1) * z ** (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1))
    return (z - D("0.5")) * z.ln() - z + LOG_2_PI / 2 + series - product.ln()


def log_power(a, b, x):
    """ln of x^a (1 - x)^b / B(a, b)."""
    return a * x.ln() + b * (1 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b)


def lower(a, b, x):
    """I_x(a, b), in some b x steps."""
    term, total, n = D(1), D(1), 0
    while term > total * D("1e-40"):
        term *= (a + b + n) / (a + 1 + n) * x
        total += term
        n += 1
    return log_power(a, b, x).exp() / a * total


def tail_of(a, b, x, upper):
    is_small = x <= D("0.5")
    of = lower(a, b, x) if is_small else lower(b, a, 1 - x)
    return of if is_small != bool(upper) else 1 - of


def cases(rng):
    """Counts as models have them: few of many words, halves, hardly any, and all."""
    for _ in range(150):
        a = 10 ** rng.uniform(-2, rng.choice((1, 3, 4)))
        b = 10 ** rng.uniform(-2, rng.choice((1, 3, 4)))
        if rng.random() < 0.3:
            a, b = rng.randrange(1000) + 0.5, rng.randrange(1000) + 0.5
        if rng.random() < 0.3:
            a, b = 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(4, 9)
        yield a, b, rng.choice((0.025, 0.005, 0.05, 0.5, 5e-7)), rng.randrange(2)


def fault(a, b, tail, upper, x):
    """How far x is from the quantile, as a part of it: one step of Newton's method, which is exact so near."""
    a, b, tail, x = D(a), D(b), D(tail), D(x)
    slope = log_power(a, b, x).exp() / (1 - x)  # the density times x
    return abs((tail_of(a, b, x, upper) - tail) / slope)


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    asked = list(cases(rng))
    reply = subprocess.run([sys.argv[1]], input="".join("%r %r %r %d\n" % case for case in asked),
                           stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert len(reply) == len(asked), "an answer is missing"
    faults = compared = 0
    for case, text in zip(asked, reply):
        x = float(text)
        if x < 1e-250 or 1 - x < 1e-12:  # the number that is asked for cannot be told from 0 or 1
            at = D("1e-250") if x < 0.5 else D(1) - D("1e-12")
            wrong = (tail_of(D(case[0]), D(case[1]), at, False) < D(case[2] if not case[3] else 1 - case[2])) == (x < 0.5)
        else:
            wrong = fault(*case, x) > D("1e-9")
            compared += 1
        if wrong:
            print("Beta(%r, %r), tail %r, upper %d: %s" % (*case, text))
            faults += 1
    assert compared > 100, "hardly a quantile was compared"
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
