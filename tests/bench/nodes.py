#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What several nodes over a PostgreSQL give, and cost.

    nodes.py BUILD [--quick] [--corpus FOLDER] [--changes N] [--only LETTERS]

A PostgreSQL, which syncs each commit, and one to three bayesds, all on this machine: they share its cores, so that figures of more nodes are higher where each has a machine of its own. Parts:

    a  trainings/s of single documents and of batches, with one node alone and with 1, 2 and 3 nodes
    s  trainings/s of 3 nodes in many models, which one stream has, or 4, or 16
    b  verdicts/s with 1, 2 and 3 nodes, and processor time for a verdict
    c  how long it takes until an acknowledged training is in force on all nodes, when nothing else is learned and when much is
    d  how long an empty node takes to catch up: with the mails of the corpus, and with N small changes; each from the tables,
       and with the store of another node (--join)
    e  the corpus fed to three nodes in turns, judged on the next: as by one node, to the last digit
"""
import argparse
import base64
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "nodes"), os.path.join(os.path.dirname(HERE), "api")]
sys.dont_write_bytecode = True

import measure  # noqa: E402  (needs the paths above)
from acknowledged import path_of  # noqa: E402
from corpus_mails import read_mails  # noqa: E402
from harness import wait_for  # noqa: E402
from measure import PASSING, TEXT_BYTES, Bench, framed_file  # noqa: E402
from processes import Site  # noqa: E402

PATH = path_of("text")


def cpu(pid):
    return time.clock_gettime(~pid << 3 | 2)


class Measured:
    """A site that is closed at the end; `nodes` 0: one daemon without [nodes]."""

    def __init__(self, bench, nodes, **settings):
        self.folder = tempfile.mkdtemp(dir=PASSING)
        self.site = Site(self.folder, os.path.join(bench.build, "bayesd"), nodes or 1, nodes > 0, linked=False,
                         settings={"nodes": settings} if settings else None, databases=1)

    def __enter__(self):
        self.site.start()
        return self.site

    def __exit__(self, *_):
        self.site.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def named(nodes):
    return "a node alone, without [nodes]" if nodes == 0 else "1 node" if nodes == 1 else f"{nodes} nodes"


def by_the_book(site, path=PATH):
    site.nodes[0].client.put(path, {"preset": "book"}).ok(201)
    for node in site.nodes:
        wait_for(lambda node=node: node.client.get(path).status == 200, "the model is on all nodes")


def loaded(bench, site, bodies, paths, kind="text/plain", seconds=5.0, connections=16):
    """All nodes at once, each with bodies of its own: (replies/s, microseconds of the nodes' and of the database's
    processors for each, the highest 99 % of milliseconds, microseconds of the busiest thread of a node and its name)."""
    threads = threads_of(site)
    before = spent_by(site)
    commands = [[bench.tool("load"), "--port", str(node.port), "--type", kind, "--connections", str(connections),
                 "--seconds", str(seconds), *[word for path in paths for word in ("--path", path)], "--once", body]
                for node, body in zip(site.nodes, bodies)]
    programs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    results = [json.loads(program.communicate(timeout=seconds + 300)[0].splitlines()[-1]) for program in programs]
    requests = sum(result["requests"] for result in results)
    spent = [now - was for now, was in zip(spent_by(site), before)]
    busiest, name = max((1e6 * (now - threads.get(thread, 0)) / requests, thread[1]) for thread, now in threads_of(site).items())
    return (sum(result["requests"] / result["seconds"] for result in results), *(1e6 * s / requests for s in spent),
            max(result["p99_us"] for result in results) / 1e3, busiest, name)


def spent_by(site):
    """Seconds of processors: of the nodes, and of the database with its processes, as long as these live."""
    return (sum(cpu(node.daemon.process.pid) for node in site.nodes),
            sum(cpu(pid) for database in site.databases for pid in database.pids()))


def threads_of(site):
    """{(thread, its name): seconds of a processor} of all nodes; the system counts them in hundredths."""
    found = {}
    for node in site.nodes:
        folder = f"/proc/{node.daemon.pid}/task"
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/stat", encoding="ascii") as file:
                name, fields = file.read().split("(", 1)[1].rsplit(")", 1)
            fields = fields.split()
            found[thread, name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


# ---- the parts ----------------------------------------------------------------------------------
# What is asked at once: (name, type, documents of a request, clients of each node).
ASKED = (("single", "text/plain", 1, 16), ("batches of 500", "application/json", 500, 2))


def bodies_of(bench, count):
    """Of three nodes, for each of ASKED."""
    return ([bench.generated("text", count, TEXT_BYTES, seed) for seed in (3, 4, 5)],
            [bench.generated("batch", count, TEXT_BYTES, seed, 500) for seed in (6, 7, 8)])


def taught(bench, site, letter, models, bodies, seconds, title):
    for (what, kind, size, clients), bodies_of_it in zip(ASKED, bodies):
        labels = ("?label=ham", "?label=spam") if size == 1 else ("",)
        paths = [f"{path}/train{label}" for label in labels for path in models]
        rate, node_us, database_us, p99, busiest, name = loaded(bench, site, bodies_of_it, paths, kind, seconds, clients)
        what = f"train, {what}, {title}"
        bench.figures.add(letter, what, rate * size, "documents/s")
        bench.figures.add(letter, what + ", of all nodes", node_us / size, "us/document")
        if site.databases:
            bench.figures.add(letter, what + ", of the database", database_us / size, "us/document")
        bench.figures.add(letter, f"{what}, of the busiest thread of a node ({name})", busiest / size, "us/document")
        bench.figures.add(letter, what + ", 99 % within", p99, "ms")


def part_a(bench):
    count, seconds = (4000, 3.0) if bench.quick else (20000, 8.0)
    bodies = bodies_of(bench, count)
    for nodes in (0, 1, 2, 3):
        with Measured(bench, nodes) as site:
            by_the_book(site)
            taught(bench, site, "a", [PATH], bodies, seconds, named(nodes))


def part_s(bench):
    count, seconds = (4000, 3.0) if bench.quick else (20000, 8.0)
    bodies, models = bodies_of(bench, count), [path_of(f"user-{number}") for number in range(32)]
    for streams in (1, 4, 16):
        with Measured(bench, 3, streams=streams) as site:
            for path in models:
                by_the_book(site, path)
            taught(bench, site, "s", models, bodies, seconds, "1 stream" if streams == 1 else f"{streams} streams")


def part_b(bench):
    count, seconds = (5000, 3.0) if bench.quick else (20000, 8.0)
    texts = bench.generated("text", count, TEXT_BYTES, 2)
    training = framed_file(bench.generated("ndjson", 2000, TEXT_BYTES, 1))
    with open(training, "rb") as file:
        lines = file.read(int(file.readline()))
    for nodes in (0, 1, 2, 3):
        with Measured(bench, nodes) as site:
            by_the_book(site)
            site.nodes[0].client.post(PATH + "/train", lines, "application/x-ndjson").ok()
            wait_for(lambda: all(n.client.get(PATH).ok().json["documents"] == 2000 for n in site.nodes), "all have it", 60)
            rate, node_us, _, p99, *_ = loaded(bench, site, [texts] * 3, (PATH + "/classify",), seconds=seconds)
            bench.figures.add("b", f"classify, {named(nodes)}", rate, "requests/s")
            bench.figures.add("b", f"classify, {named(nodes)}, processor time", node_us, "us/request")
            bench.figures.add("b", f"classify, {named(nodes)}, 99 % within", p99, "ms")


def part_c(bench):
    """From sending, and from the receipt, until the last node has it: by a verdict that waits for the number."""
    turns = 200 if bench.quick else 1000
    texts = [bench.generated("text", 4000, TEXT_BYTES, seed) for seed in (3, 4, 5)]
    with Measured(bench, 3) as site:
        by_the_book(site)
        tell_times(bench, "one training at a time", one_by_one(site, turns, "alone"))
        commands = [[bench.tool("load"), "--port", str(node.port), "--type", "text/plain", "--connections", "4", "--seconds", "3600",
                     "--path", PATH + "/train?label=ham", "--path", PATH + "/train?label=spam", body]
                    for node, body in zip(site.nodes, texts)]
        programs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
        try:
            time.sleep(1)
            tell_times(bench, "one training beside 12 other clients", one_by_one(site, turns, "loaded"))
        finally:
            for program in programs:
                program.kill()
                program.wait()


def one_by_one(site, turns, name):
    """{what: seconds of each}."""
    times = {"acknowledged": [], "in force on all three nodes": [], "in force on all three after the receipt": []}
    acknowledged, everywhere, after = times.values()
    for turn in range(turns):
        node, others = site.nodes[turn % 3], [site.nodes[(turn + i) % 3] for i in (1, 2)]
        begin = time.monotonic()
        number = node.client.post(PATH + "/train", {"id": f"{name}{turn}", "label": "ab"[turn % 2],
                                                    "text": f"w{turn} w{turn % 7} w1"}).ok().json["number"]
        acknowledged.append(time.monotonic() - begin)
        for other in others:
            other.client.post(f"{PATH}/classify?after={number}", {"text": "w1"}).ok()
        everywhere.append(time.monotonic() - begin)
        after.append(everywhere[-1] - acknowledged[-1])
    return times


def tell_times(bench, what, times):
    for which, seconds in times.items():
        cuts = statistics.quantiles(seconds, n=100)
        for share, at in ((50, 49), (99, 98)):
            bench.figures.add("c", f"{what}, {which}, {share} % within", cuts[at] * 1e3, "ms")


def caught_up(bench, site, what, count):
    """The third node loses its disk and comes back: from the tables, and with the store of another node."""
    for joins in (False, True):
        node, number = site.nodes[2], site.nodes[0].applied()
        node.kill()
        node.empty()
        begin = time.monotonic()
        if joins:
            join(node, site.nodes[0])
        node.daemon.spawn().wait_ready(3600)
        wait_for(lambda node=node, number=number: node.applied() >= number, "it has caught up", 3600, 0.05)
        seconds = time.monotonic() - begin
        how = f"an empty node catches up with {what}" + (", by --join" if joins else "")
        bench.figures.add("d", how, seconds, "s")
        bench.figures.add("d", how, count / seconds, "changes/s")
        if len({one.digest()["digest"] for one in (site.nodes[0], node)}) != 1:
            raise RuntimeError("the digests differ")


def join(node, peer):
    config = node.daemon.command[node.daemon.command.index("--config") + 1]
    subprocess.run([node.daemon.command[0], "--config", config, "--data", node.daemon.data, "--join", f"http://127.0.0.1:{peer.port}"],
                   check=True, stdout=subprocess.DEVNULL)


def batch_of(mails, first):
    return {"documents": [{"mail_base64": base64.b64encode(mail).decode(), "label": label, "id": str(first + i)}
                          for i, (label, mail) in enumerate(mails)]}


def part_d(bench):
    mails = read_mails(bench)[:6000]
    with Measured(bench, 3) as site:
        for first in range(0, len(mails), 200):
            site.nodes[first // 200 % 3].client.post(path_of("mail") + "/train", batch_of(mails[first:first + 200], first)).ok()
        caught_up(bench, site, f"{len(mails):,} mails", len(mails))
    with Measured(bench, 3) as site:
        by_the_book(site)
        begin, size = time.monotonic(), 1000
        for first in range(0, bench.changes, size):
            rows = [{"id": str(i), "label": "ab"[i % 2], "text": f"w{i % 1000} w{i % 77}"} for i in range(first, first + size)]
            reply = site.nodes[first // size % 3].client.post(PATH + "/train", {"documents": rows}).ok()
            if any("error" in result for result in reply.json["results"]):
                raise RuntimeError(reply.body[:500])
        bench.figures.add("d", f"{bench.changes:,} small changes are made, by one client",
                          bench.changes / (time.monotonic() - begin), "changes/s")
        caught_up(bench, site, f"{bench.changes:,} small changes", bench.changes)


def part_e(bench):
    mails = read_mails(bench)[:2000 if bench.quick else None]
    found = {nodes: judged(bench, mails, nodes) for nodes in (0, 1, 3)}
    for nodes, verdicts in found.items():
        wrong = sum(label != said for (label, _), (said, _) in zip(mails, verdicts))
        bench.figures.add("e", f"wrong of {len(mails):,} mails, each judged before it is learned, {named(nodes)}", wrong, "mails")
    # Stores without [nodes] have keys of their own, so that two of them differ as well; and weights are fitted anew at other
    # moments there.
    for one, most in ((0, None), (1, 1e-9)):
        apart = max(abs(a[1] - b[1]) for a, b in zip(found[one], found[3]))
        what = f"3 nodes beside {named(one)}"
        bench.figures.add("e", f"{what}, the highest difference of a probability", apart, "", at_most=most)
        bench.figures.add("e", f"{what}, other labels", sum(a[0] != b[0] for a, b in zip(found[one], found[3])), "mails")


def judged(bench, mails, nodes):
    """[(label, P(spam))] of each mail before it is learned; by the next node than that which learns it."""
    verdicts, path, number = [], path_of("mail"), 0
    with Measured(bench, nodes) as site:
        site.nodes[0].client.put(path, {"preset": "mail"}).ok(201)
        for at, (label, mail) in enumerate(mails):
            judge, teacher = (site.nodes[(at + i) % len(site.nodes)] for i in (1, 0))
            reply = judge.client.post(path + "/classify" + (f"?after={number}" if number else ""), mail, "message/rfc822")
            verdicts.append((reply.json.get("label"), reply.json.get("probabilities", {}).get("spam", 0.5)))
            receipt = teacher.client.post(f"{path}/train?label={label}&id={at}", mail, "message/rfc822").ok().json
            number = receipt.get("number", 0)
    return verdicts


PARTS = {"a": part_a, "s": part_s, "b": part_b, "c": part_c, "d": part_d, "e": part_e}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", help="folder of a release build")
    parser.add_argument("--quick", action="store_true", help="short runs")
    parser.add_argument("--corpus", metavar="FOLDER", help="raw mails for parts d and e, as for `make bench`")
    parser.add_argument("--changes", type=int, default=None, help="small changes of part d (1,000,000; quick 20,000)")
    parser.add_argument("--only", default="".join(PARTS), help="parts to run: letters of " + "".join(PARTS))
    options = parser.parse_args()
    bench = Bench(options.build, options.quick, options.corpus)
    bench.changes = options.changes or (20000 if options.quick else 1000000)
    shutil.rmtree(PASSING, ignore_errors=True)
    os.makedirs(PASSING)
    try:
        for letter, part in PARTS.items():
            if letter in options.only:
                part(bench)
        with open(os.path.join(measure.WORK, "nodes.json"), "w", encoding="utf-8") as file:
            json.dump(bench.figures.rows, file, indent=1)
    finally:
        shutil.rmtree(PASSING, ignore_errors=True)


if __name__ == "__main__":
    main()
