# SPDX-License-Identifier: Apache-2.0
"""HTTP over TLS: the same replies and limits as without, certificates of clients, reload."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

from harness import equal, holds, patience, refused, wait_for
from test_client import Bayesc
from test_milter import Milter
from test_refusals import BAD_HEADS
from tls import Authority, TlsWire, begin, context, port_of, refuses
from wire import request

M = "/v1/models/m"
TOKEN = "a-token-of-this-test"


def ask(daemon, how, method, path, body=b"", **headers):
    with TlsWire(daemon, how) as wire:
        wire.send(request(method, path, body, **headers))
        return wire.reply(method)


def test_the_same_as_without(api):
    daemon, authority = begin(api)
    how = context(authority)
    with TlsWire(daemon, how) as wire:
        for i in range(20):
            wire.send(request("POST", M + "/train", {"text": f"word{i} win", "label": "ab"[i % 2], "id": str(i)}))
            equal(wire.reply().ok().json["status"], "learned")
        wire.send(request("GET", M) + request("POST", M + "/classify", {"text": "win"}))
        equal(wire.reply().ok().json["documents"], 20)
        wire.reply().ok()
        wire.send(request("GET", M + "/export"))
        exported = wire.reply().ok().body
    equal(daemon.client.get(M + "/export").ok().body, exported)
    lines = b"".join(json.dumps({"text": f"line{i} " * 50}).encode() + b"\n" for i in range(5000))
    reply = ask(daemon, how, "POST", M + "/classify", lines, kind="application/x-ndjson")
    equal(len(reply.ok().lines), 5000)
    equal(ask(daemon, how, "GET", "/nothing").status, 404)
    mail = b"Subject: a\n\nb"
    equal(ask(daemon, how, "POST", "/checkv2", mail).status, daemon.client.post("/checkv2", mail).status)
    daemon.stop()


def test_versions(api):
    daemon, authority = begin(api)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        equal(ask(daemon, context(authority, version=version), "GET", "/healthz").status, 200)
    old = context(authority, version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    holds(refuses(daemon, old), "TLS 1.1 is spoken")
    daemon.stop()


def test_refusals_are_problems_here_too(api):
    daemon, authority = begin(api)
    how = context(authority)
    for data, status, word in BAD_HEADS:
        if b" " not in data:
            continue  # the library hangs up without a word, and its session has ended then
        with TlsWire(daemon, how) as wire:
            wire.try_send(data)
            refused(wire.reply(), status, word)
            holds(not wire.more() and not wire.rest, f"{data[:40]}: something follows")
    too_long = request("POST", M + "/train", b"x", "text/plain").replace(b"Content-Length: 1", b"Content-Length: 99999999999")
    with TlsWire(daemon, how) as wire:
        wire.try_send(too_long)
        refused(wire.reply(), 413)
    head = f"POST {M}/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    with TlsWire(daemon, how) as wire:  # a body that is refused half way
        wire.send(head.encode())
        for _ in range(90):
            if not wire.try_send(b"%x\r\n%s\r\n" % (1 << 20, b"a" * (1 << 20))):
                break
        reply = wire.reply()
        holds(reply is None or refused(reply, 413), reply)
    daemon.stop()


def test_the_end_is_told(api):
    """close_notify after the last reply: a client knows that nothing was cut off."""
    daemon, authority = begin(api)
    with TlsWire(daemon, context(authority)) as wire:
        wire.socket.suppress_ragged_eofs = False
        wire.send(request("GET", "/healthz", Connection="close"))
        wire.reply().ok()
        equal(wire.socket.recv(1), b"")
    daemon.stop()


def test_clients_that_stall(api):
    """A handshake that never ends, bytes that are no handshake, a body byte by byte: their places come free."""
    daemon, authority = begin(api, server={"head_seconds": 1, "timeout": 2, "body_rate": 10000})
    raws = [socket.create_connection(("127.0.0.1", port_of(daemon))) for _ in range(6)]
    raws[0].sendall(b"\x16\x03\x01")
    raws[1].sendall(request("GET", "/healthz"))
    raws[2].sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    raws[3].sendall(b"\x16\x03\x01")
    raws[3].shutdown(socket.SHUT_WR)
    slow_one = TlsWire(daemon, context(authority))
    slow_one.send(request("POST", M + "/train", b"x" * 100000, "text/plain")[:-90000])

    def gone():
        slow_one.try_send(b"a")
        time.sleep(0.1)
        page = daemon.client.get("/metrics").ok().body.decode()
        return "\nbayesd_http_connections 1\n" in page
    wait_for(gone, "all are counted out", 20)
    for raw in raws:
        raw.close()
    slow_one.close()
    equal(ask(daemon, context(authority), "GET", "/healthz").status, 200)
    daemon.stop()


def test_noise(api):
    daemon, authority = begin(api)
    for _ in range(60):
        with socket.create_connection(("127.0.0.1", port_of(daemon))) as raw:
            raw.sendall(b"\x16\x03" + api.random.randbytes(api.random.randrange(1, 600)))
    equal(ask(daemon, context(authority), "GET", "/healthz").status, 200)
    daemon.stop()


def expired(clients):
    """A certificate of a client that was valid within this second only: openssl makes none of the past."""
    certificate = clients.sign("old", "clientAuth", "0")
    time.sleep(1.1)
    return certificate


def test_certificates_of_clients(api):
    folder = api.new_folder()
    authority, clients = Authority(folder), Authority(folder, "clients")
    stranger = Authority(folder, "stranger")
    document = {"text": "win", "label": "a", "id": "1"}
    for role, train, delete in (("classify", 403, 403), ("train", 200, 403), ("admin", 200, 204)):
        daemon, _ = begin(api, folder, authority, {"client_ca": clients.certificate, "client_role": role},
                          tokens={"train": TOKEN})
        known = context(authority, clients.sign("mx1.example", "clientAuth"))
        equal(ask(daemon, known, "GET", "/v1/models").status, 200)
        reply = ask(daemon, known, "POST", M + "/train", document)
        equal(reply.status, train, (role, reply.body))
        if train == 200:
            equal(ask(daemon, known, "GET", M + "/documents/1").ok().json["source"], "mx1.example")
        equal(ask(daemon, known, "POST", M + "/train", document, Authorization="Bearer " + TOKEN).status, 200)
        equal(ask(daemon, known, "DELETE", M).status, delete)
        for other in (context(authority), context(authority, stranger.sign("mx1.example", "clientAuth")),
                      context(authority, clients.sign("web", "serverAuth")),
                      context(authority, expired(clients))):
            equal(ask(daemon, other, "GET", "/healthz").status, 200)
            refused(ask(daemon, other, "GET", "/v1/models"), 401)
        refused(daemon.new_client().get("/v1/models"), 401)
        daemon.stop()


def own_programs(api):
    """A daemon that asks for a certificate of a client; (its URL, what a client that has all needs, a stranger)."""
    folder = api.new_folder()
    authority, clients, stranger = (Authority(folder, name) for name in ("authority", "clients", "stranger"))
    daemon, _ = begin(api, folder, authority, {"client_ca": clients.certificate, "client_role": "train"},
                      tokens={"admin": TOKEN}, filter={"model": "m"})
    certificate, key = clients.sign("mx1.example", "clientAuth")
    return daemon, f"https://localhost:{port_of(daemon)}", {
        "--ca-file": authority.certificate, "--cert": certificate, "--key": key}, stranger.certificate


def flags(options, **others):
    """As a list of arguments; `others` take the places of some (None: it is left out)."""
    chosen = {**options, **{"--" + name.replace("_", "-"): value for name, value in others.items()}}
    return [word for name, value in chosen.items() if value for word in (name, value)]


def test_bayesc(api):
    """The daemon's certificate is checked, and its own is a role."""
    daemon, url, options, stranger = own_programs(api)
    client = Bayesc(api, url)
    client.run("train", "-m", "m", "--text", "--label", "a", *flags(options), stdin=b"some words")
    equal([row["name"] for row in client.json("models", *flags(options))["models"]], ["m"])
    client.run("models", *flags(options, cert=None, key=None), status=77)  # no role
    for wrong in ({"ca_file": None}, {"ca_file": stranger}, {"ca_file": "/none"}):
        client.run("models", *flags(options, **wrong), status=69)
    client.run("models", "--url", url.replace("localhost", "127.0.0.2"), *flags(options), status=69)  # of another name
    client.run("models", environment={"BAYESC_CA_FILE": options["--ca-file"], "BAYESC_CERT": options["--cert"],
                                      "BAYESC_KEY": options["--key"]})
    daemon.stop()


def test_the_milter(api):
    """A daemon with another certificate is asked for no verdict: mail passes, marked unchecked."""
    daemon, url, options, stranger = own_programs(api)
    with Milter(api, url, *flags(options)) as milter:
        for label in ("spam", "ham"):
            Bayesc(api, url).run("train", "-m", "m", "--label", label, *flags(options), stdin=b"Subject: %s\n\n" % label.encode())
        changes = str(milter.mail().changes)
        holds("too little learned" in changes or "unsure" in changes, changes)
    with Milter(api, url, *flags(options, ca_file=stranger)) as milter:
        holds("none, bayesd is away" in str(milter.mail().changes), milter.said())
    daemon.stop()


def test_reload(api):
    """A new certificate is shown to new connections; with a broken one the old stays."""
    daemon, authority = begin(api)
    how = context(authority)
    certificate, key = authority.path("-first.pem"), authority.path("-first.key")
    old = TlsWire(daemon, how)
    equal(old.name(), "first")
    for path, name in zip(authority.sign("second"), (certificate, key)):
        shutil.copy(path, name)
    daemon.signal(signal.SIGHUP)

    def named():
        with TlsWire(daemon, how) as wire:
            return wire.name()
    wait_for(lambda: named() == "second", "the new certificate is in force")
    old.send(request("GET", "/healthz"))
    old.reply().ok()
    old.close()
    for broken in (b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", None):
        if broken is None:
            os.unlink(certificate)
        else:
            with open(certificate, "wb") as file:
                file.write(broken)
        before = daemon.output().count("certificate")
        daemon.signal(signal.SIGHUP)
        wait_for(lambda: daemon.output().count("certificate") > before, "the fault is told")
        equal(named(), "second")
    shutil.copy(authority.sign("third")[0], certificate)  # without its key
    before = daemon.output().count("[tls]")
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: daemon.output().count("[tls]") > before, "the fault is told")
    equal(named(), "second")
    daemon.stop()


def test_options_that_do_not_go_together(api):
    folder = api.new_folder()
    authority = Authority(folder)
    certificate, key = authority.sign("first")
    _, other = authority.sign("other")
    here = {"listen": "127.0.0.1:0"}
    both = {**here, "certificate": certificate, "key": key}
    for tls, word in ((here, "certificate"), ({**here, "certificate": certificate}, "key"), ({"only": "yes"}, "certificate"),
                      ({**both, "only": "yes"}, "only"), ({**both, "key": other}, "key"),
                      ({**both, "key": folder + "/none"}, folder + "/none"), ({**both, "priorities": "NORMAL:+FISH"}, "FISH"),
                      ({**both, "client_ca": key}, "client_ca"), ({"client_ca": authority.certificate}, "client_ca"),
                      ({**both, "listen": "somewhere"}, "somewhere"), ({**both, "listen": "0.0.0.0:0"}, "tokens")):
        daemon = api.another(config={"tls": tls}).spawn()
        holds(daemon.wait(20) > 0, f"{tls}: started")
        holds(word in daemon.output(), f"{tls}: {daemon.output()}")


def test_curl(api):
    """What administrators use: verified, with a client's certificate."""
    folder = api.new_folder()
    authority, clients = Authority(folder), Authority(folder, "clients")
    daemon, _ = begin(api, folder, authority, {"client_ca": clients.certificate})
    certificate, key = clients.sign("admin", "clientAuth")
    url = f"https://localhost:{port_of(daemon)}/v1/models"
    call = ["curl", "-sS", "--fail", "--resolve", f"localhost:{port_of(daemon)}:127.0.0.1", "--cacert",
            authority.certificate, url]
    done = subprocess.run([*call, "--cert", certificate, "--key", key], capture_output=True, check=False)
    equal((done.returncode, done.stdout[:10]), (0, b'{"models":'), done.stderr)
    done = subprocess.run(call, capture_output=True, check=False)
    holds(done.returncode == 22 and b"401" in done.stderr, done.stderr)
    daemon.stop()


# ---- each option, for test_configuration.py -----------------------------------------------------
def tls_listen(api):
    daemon, authority = begin(api)
    equal(ask(daemon, context(authority), "GET", "/healthz").status, 200)


def tls_only(api):
    folder = api.new_folder()
    authority = Authority(folder)
    certificate, key = authority.sign("first")
    daemon = api.another(config={"tls": {"only": "yes", "certificate": certificate, "key": key}}).spawn()
    port = port_of(daemon)
    equal(ask(daemon, context(authority), "GET", "/healthz").status, 200)
    with socket.create_connection(("127.0.0.1", port), patience(20)) as raw:
        raw.sendall(request("GET", "/healthz"))
        holds(b"HTTP" not in raw.recv(100), "HTTP without TLS is answered")


def tls_certificate(api):
    daemon, authority = begin(api)
    with TlsWire(daemon, context(authority)) as wire:
        equal(wire.name(), "first")


def tls_key(api):
    folder = api.new_folder()
    authority = Authority(folder)
    certificate, _ = authority.sign("first")
    _, other = authority.sign("other")
    daemon = api.another(config={"tls": {"listen": "127.0.0.1:0", "certificate": certificate, "key": other}}).spawn()
    holds(daemon.wait(20) > 0, "started with a key that is another certificate's")


def tls_priorities(api):
    daemon, authority = begin(api, options={"priorities": "SECURE128:-VERS-ALL:+VERS-TLS1.3"})
    equal(ask(daemon, context(authority, version=ssl.TLSVersion.TLSv1_3), "GET", "/healthz").status, 200)
    holds(refuses(daemon, context(authority, version=ssl.TLSVersion.TLSv1_2)), "TLS 1.2 is spoken")


def tls_client_ca(api):
    test_certificates_of_clients(api)


def tls_client_role(api):
    test_certificates_of_clients(api)
