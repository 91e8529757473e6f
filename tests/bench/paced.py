# SPDX-License-Identifier: Apache-2.0
"""Healthy clients that ask at a fixed pace, as a program of their own.

    paced.py PORT SECONDS PATH BODY

A client that waits for each reply before it asks again hides a daemon that stands still: it asks nothing
in the meantime. So each request has its time, and its latency counts from then on. Four clients keep their
connection, two open one for each request. The last line on standard output is JSON."""
import http.client
import json
import sys
import threading
import time

PACE = 25  # requests a second of each client
KEEPING, OPENING = 4, 2


class Client(threading.Thread):
    def __init__(self, port, seconds, path, body, keeps, offset):
        super().__init__()
        self.port, self.path, self.body, self.keeps = port, path, body, keeps
        self.start_at, self.count = time.monotonic() + offset, int(seconds * PACE)
        self.latencies, self.refused, self.connection = [], 0, None

    def ask(self):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            self.connection.request("POST", self.path, self.body, {"Content-Type": "text/plain"})
            reply = self.connection.getresponse()
            reply.read()
            self.refused += reply.status != 200
        except (OSError, http.client.HTTPException):
            self.refused += 1
            self.close()
        if not self.keeps:
            self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def run(self):
        for i in range(self.count):
            due = self.start_at + i / PACE
            time.sleep(max(0, due - time.monotonic()))
            self.ask()
            self.latencies.append(time.monotonic() - due)
        self.close()


def main():
    port, seconds, path, body = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
    number = KEEPING + OPENING
    clients = [Client(port, seconds, path, body.encode(), i < KEEPING, i / PACE / number) for i in range(number)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    latencies = sorted(latency for client in clients for latency in client.latencies)
    print(json.dumps({"requests": len(latencies), "refused": sum(client.refused for client in clients),
                      "p50_ms": 1e3 * latencies[len(latencies) // 2], "max_ms": 1e3 * latencies[-1],
                      "p99_ms": 1e3 * latencies[min(len(latencies) - 1, int(0.99 * len(latencies)))]}))


if __name__ == "__main__":
    main()
