# SPDX-License-Identifier: Apache-2.0
"""Clients that begin something at a door and then say nothing: how many beginnings there are, and a TLS handshake in parts."""
import functools
import socket
import ssl

from harness import holds, patience
from tls import context
from wire import request

# Of each protocol of the port: nothing, a byte, half a line, half a head, half a body.
TEXT = request("POST", "/v1/models/m/classify", b"x" * 1000, "text/plain")
CHUNKED = (b"POST /v1/models/m/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
           b"Transfer-Encoding: chunked\r\n\r\n5\r\nwords\r\n4")
RSPAMD = b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nFrom: a"
HTTP = (b"", b"P", b"POST /v1", TEXT[:60], TEXT[:-500], TEXT[:-1], CHUNKED, request("GET", "/healthz") + b"GET /h")
MAIL = (RSPAMD, b"C", b"CHECK SPAMC/1", b"CHECK SPAMC/1.5\r\nContent-le", b"CHECK SPAMC/1.5\r\nContent-length: 100\r\n\r\nFrom: a",
        b"SYMBOLS RSPAMC/1.3\r\n", b"CHECK RSPAMC/1.3\r\nContent-length: 100\r\n\r\nFrom: a")


@functools.lru_cache(None)
def longest():
    """Seconds that one call of a socket may take; a thousand connections ask for it."""
    return patience(30)


def connect(address):
    """`address`: a path of a Unix socket, or a port of this machine."""
    made = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    made.settimeout(longest())
    made.connect(address if isinstance(address, str) else ("127.0.0.1", address))
    return made


def begin(address, beginnings, times):
    """Connections that have sent each of the beginnings so often."""
    made = [(connect(address), data) for data in beginnings for _ in range(times)]
    for raw, data in made:
        raw.sendall(data)
    return [raw for raw, _ in made]


# ---- TLS ----------------------------------------------------------------------------------------
CUTS = {"first byte": 1, "head of a record": 5, "half": 0.5, "all but a byte": -1, "all": None}


def part(data, cut):
    size = CUTS[cut]
    return data[:int(len(data) * size) if isinstance(size, float) else size]


@functools.lru_cache(None)
def how(version):
    return context(version=version)


class Shaking:
    """A client of TLS that makes its handshake over `raw` in flights, each of which can be sent in part."""

    def __init__(self, raw, version):
        self.raw, self.got, self.out = raw, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = how(version).wrap_bio(self.got, self.out, server_hostname="localhost")

    def flight(self):
        """The client's next bytes; b"": the handshake is complete, and the daemon has heard of it."""
        while True:
            try:
                self.tls.do_handshake()
                return self.out.read()
            except ssl.SSLWantReadError:
                data = self.out.read()
                if data:
                    return data
                more = self.raw.recv(65536)
                holds(more, "the daemon ended a handshake")
                self.got.write(more)

    def record(self, data):
        """What is said after the handshake, encrypted."""
        self.tls.write(data)
        return self.out.read()


def shake(port, version, flight, cut):
    """A connection that has sent all flights before this one, and a part of it. Flight 0 is the ClientHello, flight 1 what
    follows on the daemon's answer, flight 2 a record of HTTP."""
    made = Shaking(connect(port), version)
    for _ in range(flight):
        made.raw.sendall(made.flight())
    data = made.flight()
    if flight == 2:
        holds(not data, "the handshake goes on")
        data = made.record(b"GET /healthz HTTP/1.1\r\nHost: local")
    made.raw.sendall(part(data, cut))
    return made.raw


def stages():
    """(name, version, flight, cut) of all places where a handshake, or the first record after it, can stall."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for flight in (0, 1, 2):
            for cut in CUTS:
                yield f"{version.name}, flight {flight}, {cut}", version, flight, cut
