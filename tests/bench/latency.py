# SPDX-License-Identifier: Apache-2.0
"""Part p: how long clients wait while others train the same model. See README.md."""
import json
import os
import statistics
import subprocess
import sys

from measure import PASSING, TEXT_BYTES, framed_file
from parts import by_the_book

PACED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "paced.py")
PATH = "/v1/models/text"
BURNER = "while True: pass"


class Beside:
    """Programs that run while it is entered: they are ended when it is left."""

    def __init__(self, *commands):
        self.commands, self.programs = commands, []

    def __enter__(self):
        self.programs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in self.commands]
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
            program.wait()


def burners():
    return Beside(*[[sys.executable, "-c", BURNER]] * (os.cpu_count() or 1))


def trainers(bench, server, bodies, clients):
    return Beside([bench.tool("load"), "--port", str(server.port), "--type", "text/plain", "--seconds", "600",
                   "--connections", str(clients), "--path", PATH + "/train?label=ham",
                   "--path", PATH + "/train?label=spam", bodies])


def paced(server, text, seconds):
    """Milliseconds within which 50 and 99 % of the questions were answered; each has its time."""
    done = subprocess.run([sys.executable, PACED, str(server.port), str(seconds), PATH + "/classify", text],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=seconds + 300)
    said = json.loads(done.stdout)
    if said["refused"]:
        raise RuntimeError(f"{said['refused']} of {said['requests']} questions were refused")
    return said["p50_ms"], said["p99_ms"]


def part_p(bench):
    seconds, rounds = (4, 1) if bench.quick else (10, 3)
    # An odd number: when they come again, each has the other label, so that every change is one.
    documents = bench.generated("text", 12001 if bench.quick else 40001, TEXT_BYTES, 7)
    first = framed_file(bench.generated("ndjson", 2000, TEXT_BYTES, 1))
    with open(documents, "rb") as file:
        text = file.read(int(file.readline())).decode()
    found = {"alone": [], "beside busy processes": [], "while 16 clients train": []}
    with bench.daemon(os.path.join(PASSING, "latency")) as server:
        by_the_book(server, "text")
        bench.load(server, first, PATH + "/train", connections=1, once=True, kind="application/x-ndjson", seconds=60)
        for _ in range(rounds):  # in turns, so that all see the same machine
            found["alone"].append(paced(server, text, seconds))
            with burners():
                found["beside busy processes"].append(paced(server, text, seconds))
            with trainers(bench, server, documents, 16):
                found["while 16 clients train"].append(paced(server, text, seconds))
        many = bench.load(server, documents, PATH + "/train?label=ham", PATH + "/train?label=spam",
                          connections=64, seconds=seconds)
    middle = {what: [statistics.median(column) for column in zip(*runs)] for what, runs in found.items()}
    for what, (half, most) in middle.items():
        bench.figures.add("p", f"classify {what}, 50 % answered within", half, "ms")
        bench.figures.add("p", f"classify {what}, 99 % answered within", most, "ms")
    bench.figures.add("p", "classify, 99 %, while 16 train / beside busy processes",
                      middle["while 16 clients train"][1] / middle["beside busy processes"][1], "times", at_most=2)
    bench.figures.add("p", "train, 64 clients", many["per_second"], "documents/s")
    bench.figures.add("p", "train, 64 clients, 99 % acknowledged within", many["p99_us"] / 1e3, "ms", at_most=50)
