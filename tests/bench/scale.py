# SPDX-License-Identifier: Apache-2.0
"""Parts s and l: a store of very many small models, and models of very many labels."""
import json
import os
import random
import shutil
import statistics
import time

from measure import PASSING, WORK, disk_used, framed

MODELS = 100_000
LOADED = 2000     # models that are asked, for the memory of one in use
CONNECTIONS = 64
TEXT = b"w1 w2 w3 w4 w5"


# ---- (s): many models ---------------------------------------------------------------------------
def small_batch(rng):
    """Four short documents of two labels: what a user's model holds in its first week."""
    return json.dumps({"documents": [
        {"text": " ".join(f"w{int(5000 * rng.random() ** 2)}" for _ in range(25)), "label": "ab"[i % 2],
         "id": str(i)} for i in range(4)]}).encode()


def filled(bench, models, build=None):
    """The data folder of a store with that many models, filled through HTTP if it is not there."""
    version = os.path.basename(os.path.realpath(os.path.join(build or bench.build, "..", "..")))
    data = os.path.join(WORK, f"models-{models}" + (f"-{version}" if build else ""))
    if os.path.exists(os.path.join(data, "filled-by-bench")) and holds_models(bench, data, models, build):
        return data
    shutil.rmtree(data, ignore_errors=True)
    rng, bodies = random.Random(1763), os.path.join(PASSING, "small-batches")
    framed(bodies, (small_batch(rng) for _ in range(models)))
    with bench.daemon(data, build) as server:
        result = bench.load(server, bodies, "/v1/models/user#/train", connections=CONNECTIONS, once=True,
                            seconds=3600, kind="application/json")
        if result["requests"] < models:
            raise RuntimeError(f"{result['requests']:,} of {models:,} models were made in {result['seconds']:.0f} s")
        bench.figures.note(f"{models:,} models made in {result['seconds']:.1f} s, {result['cpu_us']:.0f} us of processor time each, stopped in {server.stop():.2f} s")
    os.remove(bodies)
    with open(os.path.join(data, "filled-by-bench"), "w", encoding="ascii") as file:
        file.write("this store may be deleted; the benchmarks fill it again\n")
    return data


def holds_models(bench, data, models, build):
    try:
        with bench.daemon(data, build) as server:
            return server.metric("bayesd_models") == models
    except RuntimeError as error:
        bench.figures.note(f"filling anew: {error}")
        return False


def classify_many(bench, server, first, count):
    """One verdict of each of `count` models; microseconds of processor time for one."""
    bodies = framed(os.path.join(PASSING, "asked"), (TEXT for _ in range(count)))
    result = bench.load(server, bodies, "/v1/models/user#/classify", first=first, connections=4, once=True, seconds=300)
    return result["cpu_us"]


def train_many(bench, server, first, count):
    bodies = framed(os.path.join(PASSING, "taught"), (b"w1 w2 new%d" % i for i in range(count)))
    bench.load(server, bodies, "/v1/models/user#/train?label=a", first=first, connections=CONNECTIONS, once=True,
               seconds=300)


def first_verdict(bench, data, models, **settings):
    """A daemon, the seconds until it was ready and until its first verdict."""
    begin = time.monotonic()
    server = bench.daemon(data, **settings)
    server.request("POST", f"/v1/models/user{models // 2}/classify", TEXT, "text/plain")
    return server, server.ready, time.monotonic() - begin


def listing(server):
    """(seconds, processor seconds, rows) of one page, or of all where there are no pages."""
    begin, before = time.monotonic(), server.cpu()
    status, body = server.ask("GET", "/v1/models?limit=1000")
    if status != 200:
        body = server.request("GET", "/v1/models")
    return time.monotonic() - begin, server.cpu() - before, len(json.loads(body)["models"])


def starts(bench, data, models):
    """Starts after a clean stop; the last one's daemon is left running."""
    runs = []
    for last in (False, False, True):
        server, ready, verdict = first_verdict(bench, data, models)
        runs.append((ready, verdict))
        if not last:
            server.stop()
    add = bench.figures.add
    add("s", f"{models:,} models: start to ready", statistics.median(r[0] for r in runs), "s", at_most=2)
    add("s", f"{models:,} models: start to first verdict", statistics.median(r[1] for r in runs), "s", at_most=2)
    return server


def memory(bench, server, models, empty):
    """Memory of models that are in use and of those that are not, and what a listing costs."""
    add = bench.figures.add
    add("s", f"{models:,} models: memory of one not in use", (server.resident() - empty) / models / 1024, "KB", at_most=4)
    seconds, processor, rows = listing(server)
    add("s", f"{models:,} models: listing, first page of {rows:,} rows", seconds * 1e3, "ms")
    add("s", f"{models:,} models: listing, processor time of a row", processor * 1e6 / rows, "us")
    before = server.resident()
    add("s", f"{models:,} models: memory after the listing, of one", (before - empty) / models / 1024, "KB", at_most=4)
    loaded = min(LOADED, models // 10)
    first = classify_many(bench, server, 1, loaded)
    after = server.resident()
    add("s", f"{models:,} models: memory of one in use", (after - before) / loaded / 1024, "KB")
    add("s", f"{models:,} models: first verdict of each, processor time", first, "us")
    add("s", f"{models:,} models: second verdict of each, processor time", classify_many(bench, server, 1, loaded), "us")


def trimming(bench, data, models):
    """With `memory` set, models come and go; each that goes must not cost a look at all others."""
    add, count = bench.figures.add, min(20 * LOADED, models // 5)
    with bench.daemon(data, STORE_MEMORY="16M") as server:
        cost = classify_many(bench, server, models // 4, count)
        add("s", f"{models:,} models, memory = 16M: verdict of {count:,}, processor time of one", cost, "us")
        add("s", f"{models:,} models, memory = 16M: memory of loaded models", server.metric("bayesd_model_memory_bytes") / 2**20,
            "MB", at_most=20)
        add("s", f"{models:,} models, memory = 16M: process", server.resident() / 2**20, "MB")


def ends(bench, data, models):
    """A stop and a kill after very many models were taught."""
    add, count = bench.figures.add, models // 10
    server = bench.daemon(data)
    train_many(bench, server, models // 2, count)
    add("s", f"{models:,} models: stop after {count:,} were taught", server.stop(), "s", at_most=10)
    server = bench.daemon(data)
    train_many(bench, server, models // 3, count)
    server.kill()
    server, ready, verdict = first_verdict(bench, data, models)
    add("s", f"{models:,} models: start to ready after kill -9, {count:,} taught", ready, "s", at_most=2)
    add("s", f"{models:,} models: start to first verdict after kill -9", verdict, "s", at_most=2)
    server.stop()


def part_s(bench):
    models = MODELS // 20 if bench.quick else MODELS
    with bench.daemon(os.path.join(PASSING, "empty")) as server:
        empty = server.resident()
    data = filled(bench, models)
    bench.figures.add("s", f"{models:,} models: disk", disk_used(data) / models / 1024, "KB/model")
    server = starts(bench, data, models)
    with server:
        memory(bench, server, models, empty)
    trimming(bench, data, models)
    copy = shutil.copytree(data, os.path.join(PASSING, "many"))
    ends(bench, copy, models)
    shutil.rmtree(copy)


# ---- (l): many labels ---------------------------------------------------------------------------
LABELS = 1000
WORDS = 60  # of a document: two thirds follow Zipf's law, the others are its label's own


def labelled_text(rng, label):
    common = [f"c{int(20000 ** rng.random())}" for _ in range(WORDS * 2 // 3)]
    return " ".join(common + [f"own{label}x{rng.randrange(40)}" for _ in range(WORDS - len(common))])


def labelled(rng, each, first):
    rows = [{"text": labelled_text(rng, label), "label": f"label {label:04}", "id": f"{first + i}/{label}"}
            for i in range(each) for label in range(LABELS)]
    rng.shuffle(rows)
    return rows


def labelled_by_frequency(rng, count):
    """Labels as frequent as Zipf's law makes them: new ones come all the time."""
    labels = [int(LABELS ** rng.random()) for _ in range(count)]
    return [{"text": labelled_text(rng, label), "label": f"label {label:04}", "id": str(i)} for i, label in enumerate(labels)]


def teach(server, model, rows):
    """Microseconds of processor time for one document, by batches of 100."""
    before = server.cpu()
    for start in range(0, len(rows), 100):
        server.request("POST", f"/v1/models/{model}/train", json.dumps({"documents": rows[start:start + 100]}))
    return (server.cpu() - before) * 1e6 / len(rows)


def many_labels(bench, build):
    rng, figures = random.Random(1763), {}
    first, more, probes = labelled(rng, 3, 0), labelled(rng, 1, 3)[:500], labelled(rng, 1, 4)[:300]
    with bench.daemon(os.path.join(PASSING, "labels-" + str(build is None)), build) as server:
        for decision in ("bayes", "stacked"):
            server.request("PUT", f"/v1/models/{decision}", json.dumps({"decision": decision}))
            teach(server, decision, first)
            figures[f"{decision}: learn"] = teach(server, decision, more)
            before = server.cpu()
            for row in probes:
                server.request("POST", f"/v1/models/{decision}/classify", row["text"].encode(), "text/plain")
            figures[f"{decision}: classify"] = (server.cpu() - before) * 1e6 / len(probes)
        server.request("PUT", "/v1/models/frequent", json.dumps({"decision": "stacked"}))
        figures["by frequency, stacked: learn"] = teach(server, "frequent", labelled_by_frequency(rng, 3 * LABELS))
    return figures


def part_l(bench):
    figures = many_labels(bench, None)
    other = many_labels(bench, bench.against) if bench.against else {}
    for name, value in figures.items():
        bench.figures.add("l", f"{LABELS:,} labels, {name}", value, "us/document")
        if other:
            bench.figures.add("l", f"{LABELS:,} labels, {name}, the other build", other[name], "us/document")
            bench.figures.add("l", f"{LABELS:,} labels, {name}, ratio to the other build", value / other[name], "")
