#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clusters of labelled texts that the daemon is not told the labels of, beside k-means on tf-idf.

    clusters.py BAYESD [--clusters N] [--restarts N] [--seeds N] [--no-peer] INDEX

INDEX has lines 'label<TAB>path[<TAB>train|test]'; the texts are those of the training part. Printed is the normalized
mutual information of clusters and labels (arithmetic mean of both entropies, as in scikit-learn), for each seed, and
how long the request took. The peer needs scikit-learn: TfidfVectorizer and KMeans with as many restarts.
"""
import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections import Counter

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from curves import NDJSON, rows_of  # noqa: E402  (needs the path above)
from measure import Server  # noqa: E402


def entropy(counts):
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts)


def nmi(pairs):
    """Of [(label, cluster)]."""
    labels, clusters = (entropy(Counter(side).values()) for side in zip(*pairs))
    mutual = labels + clusters - entropy(Counter(pairs).values())
    return mutual / ((labels + clusters) / 2)


def ours(server, rows, args):
    server.request("PUT", "/v1/models/heap", json.dumps({"preset": "book"}).encode())
    for begin in range(0, len(rows), 500):
        lines = "".join(json.dumps({"id": str(begin + i), "label": None, "text": text}) + "\n"
                        for i, (_, text, _) in enumerate(rows[begin:begin + 500]))
        server.request("POST", "/v1/models/heap/train", lines.encode(), NDJSON)
    for seed in range(1, 100 * args.seeds, 100):
        begin = time.monotonic()
        asked = {"clusters": args.clusters, "restarts": args.restarts, "seed": seed, "members": True}
        found = json.loads(server.request("POST", "/v1/models/heap/cluster", json.dumps(asked).encode()))
        pairs = [(rows[int(id)][0], k) for k, c in enumerate(found["clusters"]) for id in c["members"]]
        print(f"bayesd seed {seed}: NMI {nmi(pairs):.3f} of {len(pairs)} documents, {found['words']} words, "
              f"{time.monotonic() - begin:.1f} s", flush=True)
    for c in found["clusters"]:
        print(f"  {c['documents']:5}", " ".join(w["token"] for w in c["words"]))


def peer(rows, args):
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer
    begin = time.monotonic()
    vectors = TfidfVectorizer(min_df=5, max_df=0.5, stop_words="english").fit_transform(text for _, text, _ in rows)
    found = KMeans(args.clusters, n_init=args.restarts, random_state=1).fit_predict(vectors)
    print(f"k-means on tf-idf: NMI {nmi([(row[0], int(k)) for row, k in zip(rows, found)]):.3f}, "
          f"{time.monotonic() - begin:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bayesd")
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("index")
    args = parser.parse_args()
    rows = [row for row in rows_of(args.index) if row[2] != "test"]
    folder = tempfile.mkdtemp()
    try:
        with Server(args.bayesd, "--data", folder, "--listen", "127.0.0.1:0") as server:
            ours(server, rows, args)
    finally:
        shutil.rmtree(folder)
    if not args.no_peer:
        peer(rows, args)


if __name__ == "__main__":
    main()
