#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a daemon whose clients begin something at a door and then say nothing.

    doors.py BAYESD [--clients 50] [--seconds 5]

Prints for the port, and for each place where a TLS handshake can stall: the daemon's processor seconds for each second, and
verdicts a second over one connection beside the clients. Each place has a daemon of its own."""
import argparse
import os
import sys
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
sys.dont_write_bytecode = True
import stalled  # noqa: E402  (needs the path above)
from harness import Session  # noqa: E402
from tls import begin, port_of  # noqa: E402

SERVER = {"timeout": 3600, "head_seconds": 3600, "request_seconds": 3600, "connections": 4096, "stop_seconds": 1}
TEXT = {"text": "words of a text that is judged"}


def verdicts(daemon, seconds):
    """A second, over one connection."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        daemon.client.post("/v1/models/m/classify", TEXT).ok()
        count += 1
    return count / seconds


def measure(session, options, name, stall):
    daemon, _ = begin(session, server=SERVER)
    daemon.client.post("/v1/models/m/train", {**TEXT, "label": "a"}).ok()
    held = [stall(daemon) for _ in range(options.clients)]
    time.sleep(0.5)
    before = daemon.processor_seconds()
    time.sleep(options.seconds)
    spent = (daemon.processor_seconds() - before) / options.seconds
    print(f"{name:44} {spent:6.3f} s/s {verdicts(daemon, options.seconds):8.0f} verdicts/s", flush=True)
    for one in held:
        one.close()
    daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary", help="the bayesd to measure")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    session = Session(types.SimpleNamespace(binary=options.binary, valgrind=False, long=False, seed=1763), None)
    try:
        measure(session, options, "half a body, without TLS", lambda daemon: stalled.begin(daemon.port, [stalled.TEXT[:-500]], 1)[0])
        for name, version, flight, cut in stalled.stages():
            measure(session, options, name, lambda daemon, v=version, f=flight, c=cut: stalled.shake(port_of(daemon), v, f, c))
    finally:
        session.close()


if __name__ == "__main__":
    main()
