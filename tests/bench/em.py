#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What documents without a label give: verdicts after few documents with a label and all others without one.

    em.py BAYESD [--settings JSON]... [--sizes 1,5,10,50] [--draws N] [--test N] [--unlabelled N] [--mail] INDEX

INDEX has lines 'label<TAB>path[<TAB>train|test]'; where nothing says what the tests are, they are a half. From each draw
a model learns so many documents of each label, stores the rest of the training part without a label (at most
--unlabelled of it), and is asked about the tests twice: with unlabelled_weight 0, and "auto" when
/v1/models/{model}/em is ready. Printed are means over the draws: right answers, log-loss (natural, of the right label's
probability, at least 10^-6) and calibration error of the winner's probability (ECE), without and with; then the least
gain of a draw in right answers, and of each draw the weight that was chosen, and how long that took.
"""
import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curves import NDJSON, corpus, figures, settle  # noqa: E402  (needs the path above)
from measure import Server  # noqa: E402


def post(server, path, objects):
    said = []
    for start in range(0, len(objects), 500):
        lines = "".join(json.dumps(row) + "\n" for row in objects[start:start + 500])
        said += server.request("POST", path, lines.encode(), NDJSON).decode().splitlines()
    return [json.loads(line) for line in said]


def put(server, path, settings, weight):
    server.request("PUT", path, json.dumps(settings | {"unlabelled_weight": weight}).encode())


def asked(server, path, tests, kind):
    settle(server)
    said = post(server, path + "/classify", [{kind: text} for _, text in tests])
    return figures(list(zip((label for label, _ in tests), said)))[:3]


def fitted(server, path):
    """Waits until the daemon has done it by itself: a request for it may take longer than a client waits."""
    while True:
        found = json.loads(server.request("GET", path + "/em"))
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.1)


def divide(labels, size, rng, most):
    """Documents with a label, and without."""
    order = {label: rng.sample(texts, len(texts)) for label, texts in sorted(labels.items())}
    with_label = [(label, text) for label, texts in order.items() for text in texts[:size]]
    without = [text for texts in order.values() for text in texts[size:]]
    rng.shuffle(with_label)
    rng.shuffle(without)
    return with_label, without[:most]


def draw(server, documents, settings, size, number, options):
    kind, path = "mail" if options.mail else "text", f"/v1/models/em-{number}"
    rng = random.Random(f"draw {number}")
    with_label, without = divide(documents[0], size, rng, options.unlabelled or None)
    tests = rng.sample(documents[1], min(options.test or len(documents[1]), len(documents[1])))
    put(server, path, settings, 0)
    post(server, path + "/train", [{"label": label, kind: text} for label, text in with_label])
    post(server, path + "/train", [{"label": None, kind: text} for text in without])
    before = asked(server, path, tests, kind)
    put(server, path, settings, options.weight)
    settle(server)
    found = fitted(server, path)
    after = asked(server, path, tests, kind)
    server.request("DELETE", path)
    return before, after, found


def measure(server, settings, documents, size, options):
    draws = [draw(server, documents, settings, size, number, options) for number in range(options.draws)]
    without, with_them = ([sum(d[k][i] for d in draws) / len(draws) for i in range(3)] for k in range(2))
    chosen = " ".join(f"{d[2].get('weight', 0):g}/{d[2].get('smoothing', 0):g}" for d in draws)
    least = min(d[1][0] - d[0][0] for d in draws)
    print(f"{json.dumps(settings):<32.32} {size:>4} " +
          " ".join(f"{100 * f[0]:6.2f} {f[1]:7.4f} {f[2]:6.4f}" for f in (without, with_them)) +
          f" {100 * least:+6.2f}  {chosen}  {max(d[2].get('seconds', 0) for d in draws):.1f} s", flush=True)
    if options.verbose:
        print(*(json.dumps(d[2]) for d in draws), sep="\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="BAYESD")
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("--settings", action="append", type=json.loads, metavar="JSON")
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=[1, 5, 10, 50])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--unlabelled", type=int, default=0)
    parser.add_argument("--weight", type=json.loads, default='"auto"', help="instead of \"auto\"")
    parser.add_argument("--mail", action="store_true", help="documents are mails")
    parser.add_argument("--verbose", action="store_true", help="what the daemon says of each draw")
    options = parser.parse_args()
    documents = corpus(options.index)
    print(f"{'settings':<32} {'each':>4} {'right%':>6} {'loss':>7} {'ECE':>6} {'with%':>6} {'loss':>7} {'ECE':>6} {'least':>6}  weight/s")
    for settings in options.settings or [{"preset": "book"}, {"preset": "mail" if options.mail else "text"}]:
        for size in options.sizes:
            folder = tempfile.mkdtemp(prefix="bayesd-em-")
            try:
                with Server(options.binary, "--data", folder, "--listen", "127.0.0.1:0") as server:
                    measure(server, settings, documents, size, options)
            finally:
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
