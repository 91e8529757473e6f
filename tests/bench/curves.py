#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learning curves: how good verdicts and their probabilities are after few documents of each label.

    curves.py BAYESD [--settings JSON]... [--sizes 2,5,10,20,50,100] [--draws N] [--test N] [--sorted] CORPUS...

A CORPUS is a file of lines 'label<TAB>text' (line feeds and tabs in a text as \\n and \\t), two of these as
TRAIN,TEST, or an index of lines 'label<TAB>path[<TAB>train|test]'. Where nothing says what the tests are, they
are a half. From each draw a model learns so many documents of each label, mixed (or sorted by label), goes on to
the next size, and is asked about --test documents (0: all). Printed are means over the draws: right answers,
how far apart the best and the worst draw are, log-loss (natural, of the right label's probability, at least 10^-6), calibration error of the winner's
probability (ECE, 15 bins), and how many answers were above .99 and how many of these were right.
"""
import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Server  # noqa: E402  (needs the path above)

NDJSON = "application/x-ndjson"


# ---- documents ----------------------------------------------------------------------------------
def rows_of(name):
    """[(label, text, part or None)]"""
    with open(name, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file if "\t" in line]
    base = os.path.dirname(name)
    if not os.path.exists(os.path.join(base, rows[0][1].split("\t")[0])):
        return [(label, text.replace("\\n", "\n").replace("\\t", "\t"), None) for label, text in rows]
    made = []
    for label, rest in rows:
        path, _, part = rest.partition("\t")
        with open(os.path.join(base, path), encoding="latin-1", newline="") as file:
            made.append((label, file.read(), part or None))
    return made


def corpus(name):
    """(documents to draw from by label, documents to test)."""
    files = name.split(",")
    rows = rows_of(files[0])
    if len(files) > 1:
        train, test = rows, rows_of(files[1])
    elif any(part for _, _, part in rows):
        train, test = [r for r in rows if r[2] != "test"], [r for r in rows if r[2] == "test"]
    else:
        random.Random(1).shuffle(rows)
        train, test = rows[:len(rows) // 2], rows[len(rows) // 2:]
    labels = {}
    for label, text, _ in train:
        labels.setdefault(label, []).append(text)
    return labels, [(label, text) for label, text, _ in test]


# ---- one draw -----------------------------------------------------------------------------------
def settle(server):
    """Waits until refits that the documents gave reason for are done."""
    while server.metric("bayesd_refits_waiting") > 0:
        time.sleep(0.01)


def learn(server, path, rows):
    lines = "".join(json.dumps({"label": label, "text": text, "id": id}) + "\n" for label, text, id in rows)
    said = server.request("POST", path + "/train", lines.encode(), NDJSON)
    if said.count(b'"learned"') != len(rows):
        raise RuntimeError(said[:300])


def verdicts(server, path, test):
    found = []
    for start in range(0, len(test), 500):
        part = test[start:start + 500]
        lines = "".join(json.dumps({"text": text}) + "\n" for _, text in part)
        said = server.request("POST", path + "/classify", lines.encode(), NDJSON).decode().splitlines()
        found += [(label, json.loads(line)) for (label, _), line in zip(part, said)]
    return found


def figures(found):
    """(right, log-loss, calibration error, above .99, of these right)."""
    bins = [[0, 0.0, 0] for _ in range(15)]
    loss = sure = sure_right = right = 0
    for label, verdict in found:
        p, hit = verdict["probability"], verdict["label"] == label
        own = bins[min(int(p * 15), 14)]
        own[0], own[1], own[2] = own[0] + 1, own[1] + p, own[2] + hit
        right += hit
        sure += p > 0.99
        sure_right += hit and p > 0.99
        loss -= math.log(max(verdict["probabilities"].get(label, 0), 1e-6))
    ece = sum(abs(p - hits) for _, p, hits in bins) / len(found)
    return right / len(found), loss / len(found), ece, sure / len(found), sure_right / max(sure, 1)


def draw(server, path, documents, options, number):
    """{size: figures} of a model that grows from size to size."""
    labels, test = documents
    rng = random.Random(f"draw {number}")
    order = {label: rng.sample(texts, len(texts)) for label, texts in sorted(labels.items())}
    asked = rng.sample(test, min(options.test or len(test), len(test)))
    curve, before = {}, 0
    for size in options.sizes:
        rows = [(label, text, f"{label} {before + i}") for label, texts in order.items()
                for i, text in enumerate(texts[before:size])]
        if not options.sorted:
            rng.shuffle(rows)
        learn(server, path, rows)
        settle(server)
        curve[size], before = figures(verdicts(server, path, asked)), size
    return curve


def measure(server, name, settings, documents, options):
    curves = []
    for number in range(options.draws):
        path = f"/v1/models/curve-{number}"
        server.request("PUT", path, settings.encode())
        curves.append(draw(server, path, documents, options, number))
        server.request("DELETE", path)
    for size in options.sizes:
        right, loss, ece, sure, sure_right = (sum(c[size][i] for c in curves) / len(curves) for i in range(5))
        spread = max(c[size][0] for c in curves) - min(c[size][0] for c in curves)
        print(f"{os.path.basename(name):<24.24} {settings:<30.30} {size:>4} {100 * right:6.2f} {100 * spread:6.2f} "
              f"{loss:7.4f} {ece:6.4f} {100 * sure:6.2f} {100 * sure_right:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="BAYESD")
    parser.add_argument("corpora", metavar="CORPUS", nargs="+")
    parser.add_argument("--settings", action="append", metavar="JSON")
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=[2, 5, 10, 20, 50, 100])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--sorted", action="store_true", help="each size is learned label by label")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bayesd-curves-")
    print(f"{'corpus':<24} {'settings':<30} {'each':>4} {'right%':>6} {'spread':>6} {'loss':>7} {'ECE':>6} {'>.99%':>6} "
          f"{'right%':>6}")
    try:
        with Server(options.binary, "--data", folder, "--listen", "127.0.0.1:0") as server:
            for name in options.corpora:
                documents = corpus(name)
                for settings in options.settings or ["{}", '{"preset": "book"}']:
                    measure(server, name, settings, documents, options)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
