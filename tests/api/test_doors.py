# SPDX-License-Identifier: Apache-2.0
"""Clients that stall cost no processor time, at whichever door and however far they have come."""
import os
import ssl
import struct
import time

import stalled
import test_milter
from harness import holds, sanitized, wait_for
from tls import TlsWire, begin, port_of
from waits import Waits
from wire import request

CLIENTS, SECONDS, MOST = 50, 5, 500
# Nobody is given up in that time, and all have room.
PATIENT = {"timeout": 3600, "head_seconds": 3600, "request_seconds": 3600, "connections": 4096, "stop_seconds": 1}


def assert_quiet(waits, door, seconds=SECONDS):
    for _ in range(100):  # until what has come is read, which takes its time on a busy machine
        if waits.during(0.05) <= MOST * 0.05 / SECONDS:
            break
    turns = waits.during(seconds)
    holds(turns <= MOST * seconds / SECONDS, f"{door}: {turns} turns of the loops in {seconds} s")


def close(connections):
    for one in connections:
        one.close()


def test_stalled_handshakes(api):
    """One byte of a handshake, the whole ClientHello, all but the last byte of Finished, ..."""
    waits = Waits(api)
    daemon, _ = begin(api, server=PATIENT, environment=waits.environment)
    port = port_of(daemon)
    everyone = []
    for name, version, flight, cut in stalled.stages():
        held = [stalled.shake(port, version, flight, cut) for _ in range(CLIENTS)]
        assert_quiet(waits, name, 0.3)
        everyone += held
    assert_quiet(waits, "all of them")
    before = daemon.processor_seconds()
    time.sleep(2)
    spent = daemon.processor_seconds() - before
    holds(spent < 0.2 or sanitized(), f"{len(everyone)} stalled clients cost {spent} s in 2 s")
    close(everyone)
    wait_for(lambda: "\nbayesd_http_connections 1\n" in daemon.client.get("/metrics").ok().body.decode(), "all are counted out")
    with TlsWire(daemon) as wire:
        wire.send(request("GET", "/healthz"))
        wire.reply().ok()
    daemon.stop()


def test_handshakes_byte_by_byte(api):
    """A slow client is served, whatever pieces its handshake comes in."""
    daemon, _ = begin(api)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        slow = stalled.Shaking(stalled.connect(port_of(daemon)), version)
        while data := slow.flight():
            for at in range(0, len(data), 7):
                slow.raw.sendall(data[at:at + 7])
                time.sleep(0.002)
        slow.raw.sendall(slow.record(request("GET", "/healthz", Connection="close")))
        got = b""
        while more := slow.raw.recv(65536):
            got += more
        slow.got.write(got)
        holds(slow.tls.read(65536).startswith(b"HTTP/1.1 200"), "no answer")
        slow.raw.close()
    daemon.stop()


def test_a_stop_with_stalled_handshakes(api):
    daemon, _ = begin(api, server=PATIENT)
    held = [stalled.shake(port_of(daemon), version, flight, cut) for _, version, flight, cut in stalled.stages()]
    start = time.monotonic()
    daemon.stop()
    holds(time.monotonic() - start < 8, "the stop waits for them")
    close(held)


def test_stalled_handshakes_are_given_up(api):
    daemon, _ = begin(api, server={"head_seconds": 1, "timeout": 2})
    held = [stalled.shake(port_of(daemon), version, flight, cut) for _, version, flight, cut in stalled.stages()]
    wait_for(lambda: "\nbayesd_http_connections 1\n" in daemon.client.get("/metrics").ok().body.decode(), "all are counted out", 20)
    close(held)
    daemon.stop()


def test_stalled_clients_of_the_port(api):
    """HTTP, rspamd's HTTP, SPAMC and RSPAMC, over the port and over the Unix socket."""
    for door in ("port", "socket"):
        waits = Waits(api)
        path = os.path.join(api.new_folder(), "bayesd.sock")
        daemon = api.another(config={"server": {**PATIENT, "socket": path}, "filter": {"model": "m"}},
                             environment=waits.environment).start()
        held = stalled.begin(path if door == "socket" else daemon.port, stalled.HTTP + stalled.MAIL, CLIENTS)
        assert_quiet(waits, door)
        close(held)
        daemon.client.get("/healthz").ok()
        daemon.stop()


def test_clients_that_do_not_read(api):
    """Replies that find no room, of HTTP with and without TLS."""
    waits = Waits(api)
    daemon, _ = begin(api, server=PATIENT, environment=waits.environment)
    many = request("GET", "/openapi.json") * 200
    held = stalled.begin(daemon.port, [many[:200000]], 10)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for _ in range(10):
            one = stalled.Shaking(stalled.connect(port_of(daemon)), version)
            while data := one.flight():
                one.raw.sendall(data)
            one.raw.sendall(one.record(many[:16000]))
            held.append(one.raw)
    time.sleep(1)
    assert_quiet(waits, "replies that are not read")
    close(held)
    daemon.stop()


def test_stalled_clients_of_the_milter(api):
    waits = Waits(api)
    daemon = api.another(config={"filter": {"model": "m"}}).start()
    options = struct.pack("!IcIII", 13, b"O", 6, 0x1ff, 0x1fffff)
    with test_milter.Milter(api, daemon.url, environment=waits.environment) as milter:
        held = stalled.begin(milter.at.removeprefix("unix:"), (b"", options[:1], options[:-1], options, options + b"\0\0"), CLIENTS)
        assert_quiet(waits, "milter")
        close(held)
    daemon.stop()
