# SPDX-License-Identifier: Apache-2.0
"""Certificates for the tests, and connections with TLS."""
import os
import re
import socket
import ssl
import subprocess

from harness import holds, slow, wait_for
from wire import Wire


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """Signs certificates; all its files lie in a folder."""

    def __init__(self, folder, name="authority"):
        self.folder, self.name = folder, name
        self.certificate, self.key = self.path(".pem"), self.path(".key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=" + name, "-addext", "keyUsage=critical,keyCertSign", "-keyout", self.key, "-out",
                self.certificate)

    def path(self, tail):
        return os.path.join(self.folder, self.name + tail)

    def sign(self, name, purpose="serverAuth", days="2"):
        """A certificate and its key: two paths. The name stands for this machine, too."""
        key, request, out, extensions = (self.path(f"-{name}.{tail}") for tail in ("key", "csr", "pem", "ext"))
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={purpose}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
                "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-days", days, "-extfile", extensions, "-out", out)
        return out, key


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
        raw = socket.create_connection(("127.0.0.1", port_of(daemon)), timeout * slow())
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


def begin(api, folder=None, authority=None, options=None, **more):
    """A daemon with TLS and its authority."""
    folder = folder or api.new_folder()
    authority = authority or Authority(folder)
    certificate, key = authority.sign("first")
    tls = {"listen": "127.0.0.1:0", "certificate": certificate, "key": key, **(options or {})}
    daemon = api.another(config={"tls": tls, **more}).start()
    holds(daemon.running(), daemon.output())
    return daemon, authority
