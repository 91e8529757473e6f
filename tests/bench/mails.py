# SPDX-License-Identifier: Apache-2.0
"""Part m: what mails cost, learned and classified over HTTP. Processor time of the daemon alone, so that
neither the client nor other programs count; the ceiling is measured with the same client."""
import base64
import json
import os
import shutil
import statistics

from corpus_mails import read_mails
from measure import PASSING, Server, disk_used

BATCH = 500
ASKED = 2000  # mails that are classified
PATH = "/v1/models/mail"
KIND = "message/rfc822"


def batches(mails):
    """JSON bodies of BATCH mails each."""
    for start in range(0, len(mails), BATCH):
        yield json.dumps({"documents": [
            {"mail_base64": base64.b64encode(mail).decode(), "label": label, "id": str(start + i)}
            for i, (label, mail) in enumerate(mails[start:start + BATCH])]})


def spent(server, requests, documents):
    """Microseconds of the daemon's processor time per document; requests: (method, path, body, kind)."""
    before = server.cpu()
    for request in requests:
        server.request(*request)
    return (server.cpu() - before) * 1e6 / documents


def trained(server, what, requests, documents):
    """Figures of learning: of all threads, of the writer's alone, and what is written."""
    writer, written = server.cpu_of("writer"), server.written()
    figures = {f"train, {what}": spent(server, requests, documents)}
    if writer is not None:  # builds of before the threads had names
        figures[f"train, {what}, the writer's thread"] = (server.cpu_of("writer") - writer) * 1e6 / documents
    figures[f"written, {what}"] = (server.written() - written) / documents / 1024
    return figures


def learned(bench, build, mails, data):
    """Trains all mails by batches into a new store, which is left stopped."""
    bodies = list(batches(mails))
    with bench.daemon(data, build) as server:
        empty = server.resident()
        figures = trained(server, "batches of 500", (("POST", PATH + "/train", body, "application/json")
                                                     for body in bodies), len(mails))
        figures["stop"] = server.stop()
    figures["disk"] = disk_used(data) / len(mails) / 1024
    return figures, empty


def served(bench, build, mails, data, empty):
    """Starts and classifies."""
    some = mails[:ASKED]
    with bench.daemon(data, build) as server:
        figures = {"start to ready": server.ready, "start to ready, processor time": server.cpu()}
        figures["reply"] = len(server.request("POST", PATH + "/classify", mails[0][1], KIND))
        figures["start to first verdict, processor time"] = server.cpu()
        figures["memory"] = (server.resident() - empty) / len(mails) / 1024
        figures["classify"] = spent(server, (("POST", PATH + "/classify", mail, KIND) for _, mail in some), len(some))
    return figures


def one_by_one(bench, build, mails, data):
    """Trains each mail by a request of its own, is killed, and starts again."""
    server = bench.daemon(data, build)
    try:
        figures = trained(server, "single mails", (("POST", f"{PATH}/train?label={label}&id={i}", mail, KIND)
                                                   for i, (label, mail) in enumerate(mails)), len(mails))
    finally:
        server.kill()
    with bench.daemon(data, build) as server:
        figures["start to ready after kill -9, processor time"] = server.cpu()
        server.request("POST", PATH + "/classify", mails[0][1], KIND)
        figures["start to first verdict after kill -9, processor time"] = server.cpu()
    figures["disk, single mails"] = disk_used(data) / len(mails) / 1024
    return figures


def ceiling(bench, mails, reply):
    some = mails[:ASKED]
    with Server(bench.tool("ceiling"), str(reply)) as server:
        return spent(server, (("POST", PATH + "/classify", mail, KIND) for _, mail in some), len(some))


def once(bench, build, mails):
    data, other = os.path.join(PASSING, "batches"), os.path.join(PASSING, "singles")
    figures, empty = learned(bench, build, mails, data)
    figures.update(served(bench, build, mails, data, empty))
    figures.update(one_by_one(bench, build, mails, other))
    shutil.rmtree(data)
    shutil.rmtree(other)
    return figures


UNITS = {"memory": "KB/mail", "stop": "s"}
TARGETS = {"disk": 7, "disk, single mails": 7, "start to ready": 2, "written, single mails": 15}


def unit(name):
    if name.startswith(("disk", "written")):
        return "KB/mail"
    return UNITS.get(name) or ("s" if name.startswith("start") else "us/mail")


def part_m(bench):
    mails, rounds = read_mails(bench), 1 if bench.quick else 3
    what = "mails of the corpus" if bench.corpus else "synthetic mails"
    bench.figures.note(f"{len(mails):,} {what}, {sum(len(mail) for _, mail in mails) // len(mails):,} bytes each")
    runs, others, bare = [], [], []
    for _ in range(rounds):
        runs.append(once(bench, bench.build, mails))
        if bench.against:
            others.append(once(bench, bench.against, mails))
        bare.append(ceiling(bench, mails, runs[-1]["reply"]))
    add = bench.figures.add
    for name in runs[0]:
        if name != "reply":
            value = statistics.median(run[name] for run in runs)
            add("m", f"{what}: {name}", value, unit(name), at_most=TARGETS.get(name) if bench.corpus else None)
            if others and name in others[0]:
                other = statistics.median(run[name] for run in others)
                add("m", f"{what}: {name}, the other build", other, unit(name))
                add("m", f"{what}: {name}, ratio to the other build", value / other if other else 1.0, "")
    add("m", f"{what}: ceiling", statistics.median(bare), "us/mail")
    for name in ("classify", "train, single mails", "train, batches of 500"):
        add("m", f"{what}: {name}, ceilings", statistics.median(run[name] for run in runs) / statistics.median(bare), "")
