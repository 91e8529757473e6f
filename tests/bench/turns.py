#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says what a mail, or a text, costs two builds or more, when the difference is a few per cent.

    turns.py --corpus FOLDER BUILD BUILD...
    turns.py --what text BUILD BUILD...

Each build learns the mails once. Then several processes of each are asked about the same mails in turns, in an
order that chance draws anew: processes of one build differ by some per cent, by where their memory lies, and
whoever is asked next to itself finds its caches warm. Of each group of mails the least processor time of all
rounds counts. The first build is the one that the others are compared with; stores may differ in format.

Learning takes a new store and process for each turn. Of each batch of 500 mails the median of all turns counts,
because other work on the machine comes and goes within a turn.

Texts are those of part b, 3 KB by the book, which 16 connections ask about. The bare HTTP handler has its turns as
well: "ceiling" is what it took over what the build took, the median of all turns.
"""
import argparse
import os
import random
import shutil
import statistics
import sys

sys.dont_write_bytecode = True

import mails  # noqa: E402
from corpus_mails import read_mails  # noqa: E402
from measure import PASSING, TEXT_BYTES, Bench, Server, first_body, framed_file  # noqa: E402
from parts import by_the_book  # noqa: E402

GROUP, WARMING = 200, 10  # mails that are asked about in one go; those before, which do not count
SECONDS, TURNS = 0.2, 6  # of load on each process in a turn; turns in a round
TEXT_PATH = "/v1/models/text/classify"
PATHS = {"classify": mails.PATH + "/classify", "check": "/checkv2"}


def spent(server, path, documents):
    """Microseconds of processor time."""
    mails.spent(server, (("POST", path, mail, mails.KIND) for _, mail in documents[:WARMING]), 1)
    return mails.spent(server, (("POST", path, mail, mails.KIND) for _, mail in documents), 1)


def of_processes(bench, builds, stores, what, documents, rounds):
    """{build: microseconds a mail}, of one process of each."""
    groups = [documents[start:start + GROUP] for start in range(0, len(documents), GROUP)]
    least = {build: [float("inf")] * len(groups) for build in builds}
    servers = {build: bench.daemon(stores[build], build) for build in builds}
    try:
        for _ in range(rounds):
            for number, group in enumerate(groups):
                for build in random.sample(builds, len(builds)):
                    took = spent(servers[build], PATHS[what], group)
                    least[build][number] = min(least[build][number], took)
    finally:
        for server in servers.values():
            server.stop()
    return {build: sum(took) / len(documents) for build, took in least.items()}


# ---- learning -----------------------------------------------------------------------------------
def learning_turn(bench, build, bodies):
    """Microseconds of processor time for each batch: of all threads, and of the writer's."""
    data, took = os.path.join(PASSING, "store-learn"), []
    shutil.rmtree(data, ignore_errors=True)
    with bench.daemon(data, build) as server:
        for body in bodies:
            before, writer = server.cpu(), server.cpu_of("writer") or 0
            server.request("POST", mails.PATH + "/train", body, "application/json")
            took.append(((server.cpu() - before) * 1e6, ((server.cpu_of("writer") or 0) - writer) * 1e6))
    return took


def median_of(turns, part, documents):
    """Microseconds a mail of one part of the figures: of each batch the median of all turns."""
    return sum(statistics.median(batch[part] for batch in same) for same in zip(*turns)) / documents


def measure_learning(bench, documents, options):
    bodies = list(mails.batches(documents))
    turns = {build: [] for build in options.builds}
    for _ in range(options.processes * options.rounds):
        for build in random.sample(options.builds, len(options.builds)):
            turns[build].append(learning_turn(bench, build, bodies))
    first = median_of(turns[options.builds[0]], 0, len(documents))
    for build in options.builds:
        took, writer = (median_of(turns[build], part, len(documents)) for part in (0, 1))
        of_writer = f"   (the writer's thread {writer:.1f})" if writer else ""  # old builds do not name it
        print(f"{'learn':9}{build:40}{took:8.1f} us  ratio {took / first:.3f}{of_writer}", flush=True)


# ---- texts --------------------------------------------------------------------------------------
def with_tools(builds):
    """The first build that has the load generator and the bare handler."""
    for build in builds:
        if all(os.path.exists(os.path.join(build, "tests", "bench", name)) for name in ("load", "ceiling", "corpus")):
            return build
    return sys.exit("turns: no build has its benchmarks: make tests/bench/{load,ceiling,corpus} in one of them")


def learn_texts(bench, build, training, data):
    with bench.daemon(data, build) as server:
        by_the_book(server, "text")
        server.request("POST", "/v1/models/text/train", training, "application/x-ndjson")


def text_turns(bench, builds, stores, texts, rounds):
    """{build: [microseconds a text, in each turn]}, of one process of each; None is the bare handler."""
    servers = {build: bench.daemon(stores[build], build) for build in builds}
    try:
        reply = servers[builds[0]].request("POST", TEXT_PATH, first_body(texts), "text/plain")
        servers[None] = Server(bench.tool("ceiling"), str(len(reply)))
        took = {who: [] for who in servers}
        for _ in range(rounds * TURNS):
            for who in random.sample(list(servers), len(servers)):
                took[who].append(bench.load(servers[who], texts, TEXT_PATH, seconds=SECONDS)["cpu_us"])
    finally:
        for server in servers.values():
            server.stop()
    return took


def measure_texts(options):
    builds = options.builds
    bench = Bench(with_tools(builds), False)
    texts = bench.generated("text", 2000, TEXT_BYTES, 2)
    training = first_body(framed_file(bench.generated("ndjson", 2000, TEXT_BYTES, 1)))
    stores = {build: os.path.join(PASSING, f"store-text-{number}") for number, build in enumerate(builds)}
    for build in builds:
        learn_texts(bench, build, training, stores[build])
    runs = [text_turns(bench, builds, stores, texts, options.rounds) for _ in range(options.processes)]
    first = statistics.mean(min(run[builds[0]]) for run in runs)
    for build in builds:
        least = [min(run[build]) for run in runs]
        ratio = statistics.median(bare / took for run in runs for bare, took in zip(run[None], run[build]))
        mean, each = statistics.mean(least), " ".join(f"{value:.1f}" for value in least)
        print(f"{'text':9}{build:40}{mean:8.1f} us  ratio {mean / first:.3f}   ceiling {ratio:.3f}   ({each})", flush=True)


# ---- all of it ----------------------------------------------------------------------------------
def measure(options):
    whats = options.what.split(",")
    for what in whats:
        if what not in ("learn", "text", *PATHS):
            sys.exit(f"turns: --what {what}: it is learn, {', '.join(PATHS)} or text")
    if "text" in whats:
        measure_texts(options)
    if whats == ["text"]:
        return
    bench = Bench(options.builds[0], False, options.corpus)
    documents = read_mails(bench)
    if "learn" in whats:
        measure_learning(bench, documents, options)
    asked = [what for what in whats if what in PATHS]
    if asked:
        measure_mails(bench, documents, options, asked)


def measure_mails(bench, documents, options, whats):
    stores = {}
    for number, build in enumerate(options.builds):
        stores[build] = os.path.join(PASSING, f"store-{number}")
        mails.learned(bench, build, documents, stores[build])
    for what in whats:
        runs = [of_processes(bench, options.builds, stores, what, documents[::options.every], options.rounds)
                for _ in range(options.processes)]
        first = statistics.mean(run[options.builds[0]] for run in runs)
        for build in options.builds:
            mean = statistics.mean(run[build] for run in runs)
            each = " ".join(f"{run[build]:.1f}" for run in runs)
            print(f"{what:9}{build:40}{mean:8.1f} us  ratio {mean / first:.3f}   ({each})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("builds", nargs="+", metavar="BUILD", help="folders of release builds")
    parser.add_argument("--corpus", metavar="FOLDER", help="raw mails, as for `make bench`")
    parser.add_argument("--what", default="classify,check", help="of mails: learn, classify, check (/checkv2 with reasons); text; "
                        "a list")
    parser.add_argument("--processes", type=int, default=3, help="of each build")
    parser.add_argument("--rounds", type=int, default=4, help="over all mails")
    parser.add_argument("--every", type=int, default=3, help="2: ask about each second mail; 3: each third")
    options = parser.parse_args()
    shutil.rmtree(PASSING, ignore_errors=True)
    os.makedirs(PASSING)
    try:
        measure(options)
    finally:
        shutil.rmtree(PASSING, ignore_errors=True)


if __name__ == "__main__":
    main()
