# SPDX-License-Identifier: Apache-2.0
"""Parts b to h: HTTP, training, tokenizer, scores, start, the stages of a mail. See README.md."""
import json
import os
import re
import shutil
import statistics
import subprocess
import time

from corpus_mails import read_mails
from measure import PASSING, TEXT_BYTES, TOP, WORK, Server, framed, framed_file, first_body, median


def by_the_book(server, model):
    """Makes a model of the preset `book`: the targets of texts are for that."""
    server.request("PUT", f"/v1/models/{model}", b'{"preset": "book"}', "application/json")


# ---- (a) and (b): classify against the ceiling --------------------------------------------------
def sample(name):
    with open(os.path.join(TOP, "scripts", "sample", name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def compare(bench, server, model, bodies, kind, what, target):
    """Loads the ceiling and the daemon in turns, so that both see the same machine."""
    path = f"/v1/models/{model}/classify"
    reply = len(server.request("POST", path, first_body(bodies), kind))
    seconds, rounds = (1.5, 1) if bench.quick else (3.0, 3)
    bare, real = [], []
    for _ in range(rounds):
        with Server(bench.tool("ceiling"), str(reply)) as ceiling:
            bare.append(bench.load(ceiling, bodies, path, seconds=seconds, kind=kind))
        real.append(bench.load(server, bodies, path, seconds=seconds, kind=kind))
    add = bench.figures.add
    ceiling = add("a", f"ceiling, {what}", median(bare, "per_second"), "requests/s")
    least = add("a", f"ceiling, {what}, processor time", median(bare, "cpu_us"), "us/request")
    rate = add("b", f"classify, {what}", median(real, "per_second"), "requests/s")
    spent = add("b", f"classify, {what}, processor time", median(real, "cpu_us"), "us/request")
    add("b", f"classify, {what}, 99 % answered within", median(real, "p99_us"), "us")
    add("b", f"classify, {what}, ratio to the ceiling", rate / ceiling, "", at_least=target)
    # The generator may be what limits the ceiling; processor time does not know it.
    add("b", f"classify, {what}, processor time, ratio", least / spent, "")


def check_mails(bench, server, raw):
    """rspamd's protocol, whose replies tell their reasons, beside classify of the same mails."""
    seconds, rounds = (1.5, 1) if bench.quick else (3.0, 3)
    plain, checked = [], []
    for _ in range(rounds):
        plain.append(bench.load(server, raw, "/v1/models/mail/classify", seconds=seconds, kind="message/rfc822"))
        checked.append(bench.load(server, raw, "/checkv2", seconds=seconds, kind="message/rfc822"))
    rate = bench.figures.add("b", "/checkv2, sample mails", median(checked, "per_second"), "requests/s")
    bench.figures.add("b", "/checkv2, sample mails, 99 % answered within", median(checked, "p99_us"), "us")
    bench.figures.add("b", "/checkv2, sample mails, ratio to classify", rate / median(plain, "per_second"), "")


def classify_lines(bench, server, count):
    """Texts of one client that sends them in one body."""
    lines = framed_file(bench.generated("ndjson", count, TEXT_BYTES, 5))
    rates = []
    for _ in range(1 if bench.quick else 3):
        result = bench.load(server, lines, "/v1/models/text/classify", connections=1, once=True,
                            kind="application/x-ndjson", seconds=60)
        rates.append(count / result["seconds"])
    bench.figures.add("b", "classify, NDJSON, 1 client", statistics.median(rates), "texts/s", at_least=30000)


def part_b(bench):
    texts = bench.generated("text", 2000, TEXT_BYTES, 2)
    training = framed_file(bench.generated("ndjson", 2000, TEXT_BYTES, 1))
    mails = [d for d in sample("train.ndjson") if "mail" in d]
    lines = "".join(json.dumps(d) + "\n" for d in mails)
    raw = framed(os.path.join(PASSING, "sample-mails"), [d["mail"].encode() for d in mails])
    with bench.daemon(os.path.join(PASSING, "classify")) as server:
        by_the_book(server, "text")
        bench.load(server, training, "/v1/models/text/train", connections=1, once=True,
                   kind="application/x-ndjson", seconds=60)
        server.request("POST", "/v1/models/mail/train", lines.encode(), "application/x-ndjson")
        compare(bench, server, "text", texts, "text/plain", "3 KB of text", 0.3)
        classify_lines(bench, server, 5000 if bench.quick else 20000)
        compare(bench, server, "mail", raw, "message/rfc822", "sample mails", None)
        check_mails(bench, server, raw)


# ---- (c): durable training ----------------------------------------------------------------------
def train(bench, server, what, bodies, documents, target, **how):
    """documents: per request. Every run trains a model of its own."""
    train.serial += 1
    path = f"/v1/models/train-{train.serial}/train"
    by_the_book(server, f"train-{train.serial}")
    paths = (path + "?label=ham", path + "?label=spam") if "kind" not in how else (path,)
    result = bench.load(server, bodies, *paths, once=True, **how)
    rate = result["requests"] * documents / result["seconds"]
    bench.figures.add("c", f"train, {what}", rate, "documents/s", at_least=target)
    bench.figures.add("c", f"train, {what}", result["bytes_out"] / result["seconds"] / 1e6, "MB/s")
    if result["requests"] >= 100:
        bench.figures.add("c", f"train, {what}, 99 % acknowledged within",
                          result["p99_us"] / 1e3, "ms")


train.serial = 0


def part_c(bench):
    count, seconds = (12000, 4.0) if bench.quick else (40000, 10.0)
    texts = bench.generated("text", count, TEXT_BYTES, 3)
    batches = bench.generated("batch", count, TEXT_BYTES, 4, 500)
    lines = framed_file(bench.generated("ndjson", count, TEXT_BYTES, 5))
    with bench.daemon(os.path.join(PASSING, "train")) as server:
        for clients, target in ((1, None), (16, 4000)):
            train(bench, server, f"single documents, {clients} client" + "s" * (clients > 1), texts, 1,
                  target, connections=clients, seconds=seconds)
        for clients, target in ((1, None), (4, 10000)):
            train(bench, server, f"batches of 500, {clients} client" + "s" * (clients > 1), batches,
                  500, target, connections=clients, seconds=seconds, kind="application/json")
        train(bench, server, "NDJSON, 1 client", lines, count, 30000, connections=1, seconds=120,
              kind="application/x-ndjson")


# ---- (d), (e), (f): the parts alone -------------------------------------------------------------
def part_d(bench):
    out = subprocess.run([bench.tool("bench_tokenizer")], capture_output=True, text=True, check=True)
    rates = dict(re.findall(r"^tokenizer (\w+) +([\d.]+) MB/s", out.stdout, re.M))
    for name, target in (("ASCII", 200), ("Cyrillic", 60)):
        bench.figures.add("d", f"tokenizer, {name}, one core", float(rates[name]), "MB/s",
                          at_least=target)


def part_w(bench):
    """What a hostile mail can cost at most."""
    for what in ["mails"] + ([] if bench.quick else ["charsets"]):
        out = subprocess.run([bench.tool("bench_hostile"), what], capture_output=True, text=True, check=True)
        found = re.search(r"^worst of (\d+) inputs: ([\d.]+) s/MB$", out.stdout, re.M)
        bench.figures.add("w", f"tokenizer, worst of {found[1]} crafted {what}", float(found[2]), "s/MB", at_most=0.2)


def part_e(bench):
    most = "1e6" if bench.quick else "1e7"
    out = subprocess.run([bench.tool("bench_model"), most], capture_output=True, text=True, check=True)
    rows = [line.split() for line in out.stdout.splitlines() if line.split()[:1][0].isdigit()]
    for row in rows:
        bench.figures.add("e", f"score, {int(row[0]):,} features", float(row[1]), "us/document")
    bench.figures.add("e", f"score, growth from {int(rows[0][0]):,} to {int(rows[-1][0]):,} features",
                      float(rows[-1][1]) / float(rows[0][1]), "times", at_most=3)
    for row in rows[2:]:
        # The larger of what the model says and what the allocator says.
        bench.figures.add("f", f"memory, {int(row[0]):,} features, two labels",
                          max(float(row[3]), float(row[4])), "bytes/feature", at_most=25)


# ---- (g): start ---------------------------------------------------------------------------------
def filled(bench, features):
    """The data folder of a store with that many features, filled through HTTP if it is not there."""
    data = os.path.join(WORK, f"start-{features}")
    mark = os.path.join(data, "filled-by-bench")
    if os.path.exists(mark):
        try:
            with bench.daemon(data) as server:
                model = json.loads(server.request("GET", "/v1/models/start"))
            if model["vocabulary"] >= features:
                return data
        except RuntimeError as error:
            bench.figures.note(f"filling anew: {error}")
    shutil.rmtree(data, ignore_errors=True)
    lines = framed_file(bench.generated("words", features // 1000, 1000, 6))
    with bench.daemon(data) as server:
        by_the_book(server, "start")
        result = bench.load(server, lines, "/v1/models/start/train", connections=1, once=True,
                            kind="application/x-ndjson", seconds=300)
        bench.figures.note(f"filled with {features:,} features in {result['seconds']:.1f} s")
    os.remove(lines)
    with open(mark, "w", encoding="ascii") as file:
        file.write("this store may be deleted; the benchmarks fill it again\n")
    return data


def timed_start(bench, data):
    """Seconds until ready, until the first verdict, resident bytes, processor seconds until ready;
    ends by SIGKILL."""
    begin = time.monotonic()
    server = bench.daemon(data)
    try:
        processor = server.cpu()
        server.request("POST", "/v1/models/start/classify", b"a first document", "text/plain")
        return server.ready, time.monotonic() - begin, server.resident(), processor
    finally:
        server.kill()


def after_kill(bench, data, texts):
    """The same after training and kill -9, with a ledger whose end the rows do not have yet."""
    server = bench.daemon(data)
    try:
        bench.load(server, texts, "/v1/models/start/train?label=ham", once=True, seconds=30)
    finally:
        server.kill()
    return timed_start(bench, data)


def part_g(bench):
    for features in (10**6,) if bench.quick else (10**6, 10**7):
        data = filled(bench, features)
        target = 0.5
        runs = [timed_start(bench, data) for _ in range(1 if bench.quick else 3)]
        what = f"{features:,} features"
        add = bench.figures.add
        add("g", f"start to ready, {what}", statistics.median(r[0] for r in runs), "s", at_most=target)
        add("g", f"start to ready, {what}, processor time", statistics.median(r[3] for r in runs), "s")
        add("g", f"start to first verdict, {what}", statistics.median(r[1] for r in runs), "s",
            at_most=target)
        add("g", f"resident memory, {what}", runs[-1][2] / features, "bytes/feature")
        killed = after_kill(bench, data, bench.generated("text", 2000, TEXT_BYTES, time.time_ns() >> 20))
        add("g", f"start to first verdict after kill -9, {what}", killed[1], "s", at_most=target)


# ---- (h): mails ---------------------------------------------------------------------------------
def per_mail(bench, bodies, data):
    """Figures of bench_mail: {name: number}; leaves a store with the model `mail` in `data`."""
    out = subprocess.run([bench.tool("bench_mail"), bodies, data], capture_output=True, text=True, check=True)
    bench.figures.note(out.stdout.splitlines()[0])
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.]+) (?:us|bytes)$", out.stdout, re.M)}


def part_h(bench):
    add = bench.figures.add
    out = subprocess.run([bench.tool("bench_stack")], capture_output=True, text=True, check=True)
    for name, what, target in (("without", "without 5-grams", 20), ("with", "with 5-grams", 30)):
        found = re.search(rf"^mail {name} n-grams +2 +\d+ +([\d.]+)", out.stdout, re.M)
        add("h", f"stacked mail at 1.7 million features, {what}", float(found[1]), "us/mail", at_most=target)
    for name, what in (("own words", "words of few labels"), ("Zipf", "words of all labels")):
        found = re.search(rf"^1,000 labels, {name} +1000 +\d+ +([\d.]+) +([\d.]+)", out.stdout, re.M)
        add("h", f"1,000 labels, 700 features, {what}, classify", float(found[1]), "us/text", at_most=1500)
        add("h", f"1,000 labels, 700 features, {what}, learn", float(found[2]), "us/text", at_most=1500)
    data = os.path.join(PASSING, "mail")
    mails = read_mails(bench)
    bodies = framed(os.path.join(PASSING, "mails"), (mail for _, mail in mails[:500 if bench.quick else 2000]))
    stages = per_mail(bench, bodies, data)
    with bench.daemon(data) as server:
        http_load = bench.load(server, bodies, "/v1/models/mail/classify", kind="message/rfc822",
                               seconds=1.5 if bench.quick else 5.0)
    inside = sum(stages[name] for name in ("MIME", "HTML", "tokens", "scores"))
    for name in ("MIME", "HTML", "tokens", "scores"):
        add("h", f"classify a raw mail, {name}", stages[name], "us/mail")
    add("h", "classify a raw mail, HTTP", http_load["cpu_us"] - inside, "us/mail")
    add("h", "raw mails classified over HTTP", http_load["per_second"], "mails/s")
    add("h", "raw mails classified over HTTP, per core", 1e6 / http_load["cpu_us"], "mails/s",
        at_least=3000)
