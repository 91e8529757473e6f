# SPDX-License-Identifier: Apache-2.0
"""Connections with TLS."""
import re
import socket
import ssl

from authority import Authority
from harness import holds, patience, wait_for
from wire import Wire


def context(authority=None, client=None, version=None):
    """What a client trusts and shows."""
    made = ssl.create_default_context(cafile=authority.certificate if authority else None)
    if authority is None:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if client:
        made.load_cert_chain(*client)
    if version:
        made.minimum_version = made.maximum_version = version
    return made


def port_of(daemon):
    """The port that speaks TLS, from the lines of the start."""
    found = wait_for(lambda: re.search(r"https://127\.0\.0\.1:(\d+)", daemon.output()), "the port with TLS is told")
    return int(found[1])


class TlsWire(Wire):
    """A Wire to the port that speaks TLS."""

    def __init__(self, daemon, how=None, timeout=30.0):  # pylint: disable=super-init-not-called
        raw = socket.create_connection(("127.0.0.1", port_of(daemon)), patience(timeout))
        self.socket = (how or context()).wrap_socket(raw, server_hostname="localhost")
        self.rest = b""

    def name(self):
        """The common name in the daemon's certificate."""
        rows = [row for part in self.socket.getpeercert()["subject"] for row in part]
        return dict(rows)["commonName"]

    def try_send(self, data):
        try:
            return super().try_send(data)
        except ssl.SSLError:
            return False

    def more(self):
        try:
            return super().more()
        except ssl.SSLEOFError:
            return False


def refuses(daemon, how):
    """Whether no connection comes about, or it ends before it has an answer."""
    try:
        with TlsWire(daemon, how, 10) as wire:
            wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return wire.reply() is None
    except (ssl.SSLError, OSError):
        return True


def begin(api, folder=None, authority=None, options=None, environment=None, **more):
    """A daemon with TLS and its authority; `more`: groups of its configuration."""
    folder = folder or api.new_folder()
    authority = authority or Authority(folder)
    certificate, key = authority.sign("first")
    tls = {"listen": "127.0.0.1:0", "certificate": certificate, "key": key, **(options or {})}
    daemon = api.another(config={"tls": tls, **more}, environment=environment).start()
    holds(daemon.running(), daemon.output())
    return daemon, authority
