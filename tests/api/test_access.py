# SPDX-License-Identifier: Apache-2.0
"""Tokens and their roles, by every protocol; and who needs none."""
import hashlib
import json

from harness import equal, holds, problem, refused
from wire import Wire

READ, TEACH, ALL = "reads-only-0123456789", "teaches-too-0123456789", "does-everything-0123456789"
MAIL = "From: a@example.org\r\nSubject: hello\r\nMessage-ID: <1@example.org>\r\n\r\ncheap pills\r\n"


def guarded(api, **more):
    """A daemon that asks for tokens, and trusts nobody unless told so."""
    tokens = {"classify": READ, "train": "sha256:" + hashlib.sha256(TEACH.encode()).hexdigest(),
              "admin": ALL, "trusted": ""}
    return api.another(config={"tokens": tokens | more}).start()


def bearer(token):
    return {"Authorization": "Bearer " + token} if token else {}


def text(daemon, path, token, **headers):
    return daemon.client.call("POST", path, "cheap pills", "text/plain", **bearer(token), **headers)


def test_each_role_reaches_as_far_as_it_says(api):
    daemon = guarded(api)
    call = daemon.client.call
    for token, status in ((None, 401), ("nobody-has-this-one", 401), (READ, 403), (TEACH, 200), (ALL, 200)):
        reply = text(daemon, "/v1/models/m/train?label=spam", token)
        equal(reply.status, status, token)
        if status != 200:
            refused(reply, status, "token")
    for token, status in ((None, 401), (READ, 200), (TEACH, 200), (ALL, 200)):
        for method, path in (("POST", "/v1/models/m/classify"), ("POST", "/v1/models/m/tokenize")):
            equal(text(daemon, path, token).status, status, (token, path))
        for path in ("/v1/models", "/v1/models/m", "/metrics", "/readyz", "/openapi.json", "/", "/stat"):
            equal(call("GET", path, **bearer(token)).status, status, (token, path))
    for token, status in ((None, 401), (READ, 403), (TEACH, 403), (ALL, 201)):
        equal(call("PUT", "/v1/models/made", {}, **bearer(token)).status, status, token)
        equal(call("GET", "/v1/models/m/export", **bearer(token)).status, 200 if token == ALL else status, token)
    equal(call("DELETE", "/v1/models/made", **bearer(TEACH)).status, 403)
    equal(call("DELETE", "/v1/models/made", **bearer(ALL)).status, 204)


def test_a_refusal_says_how_to_ask_and_changes_nothing(api):
    daemon = guarded(api)
    reply = text(daemon, "/v1/models/m/train?label=spam", None)
    equal(reply.headers.get("www-authenticate"), 'Bearer realm="bayesd"')
    problem(refused(reply, 401), 401, "Authorization: Bearer")
    equal(daemon.client.call("GET", "/v1/models", **bearer(READ)).ok().json, {"models": []})
    for value in ("Basic " + READ, "Bearer", "Bearer " + READ + "x", "Bearer sha256:" + "0" * 64, READ):
        equal(daemon.client.call("GET", "/v1/models", Authorization=value).status, 401, value)


def test_health_needs_no_token(api):
    daemon = guarded(api)
    daemon.client.get("/healthz").ok()
    equal(daemon.client.get("/ping").ok().body, b"pong\r\n")


def test_rspamd_clients_show_it_as_their_password(api):
    daemon = guarded(api)
    call = daemon.client.call
    for path, token, status in (("/checkv2", None, 401), ("/checkv2", READ, 200), ("/learnspam", READ, 403),
                                ("/learnspam", TEACH, 200), ("/learnham", ALL, 200), ("/auth", None, 401)):
        method, headers = "GET" if path == "/auth" else "POST", {"Password": token} if token else {}
        reply = call(method, path, None if path == "/auth" else MAIL, **headers)
        equal(reply.status, status, (path, token))
        if status != 200:
            holds(reply.json["error"], reply.json)
            equal(reply.json.get("action"), "soft reject")  # no mail passes for want of a token
    equal(call("POST", "/checkv2?password=" + READ, MAIL).status, 401)  # addresses end up in logs
    equal(call("GET", "/v1/models", Password=READ).status, 401)  # of rspamd's paths only


def spoken(daemon, data):
    with Wire(daemon) as wire:
        wire.send(data)
        return wire.body({})


def check(protocol):
    return f"CHECK {protocol}\r\nContent-length: {len(MAIL)}\r\n\r\n{MAIL}".encode()


def test_line_protocols_cannot_show_one(api):
    daemon = guarded(api)
    reply = spoken(daemon, check("SPAMC/1.5"))
    holds(reply.startswith(b"SPAMD/1.0 77 EX_NOPERM") or b" 77 " in reply.split(b"\r\n")[0], reply)
    reply = spoken(daemon, check("RSPAMC/1.3"))
    holds(not reply.startswith(b"RSPAMD/1.3 0 "), reply)
    holds(b"PONG" in spoken(daemon, b"PING SPAMC/1.5\r\n\r\n"), "PING")


def test_trusted_networks_need_none_for_mail(api):
    daemon = guarded(api, trusted="192.0.2.0/24, 127.0.0.0/8")
    daemon.client.post("/checkv2", MAIL).ok()
    daemon.client.post("/learnspam", MAIL).ok()
    holds(spoken(daemon, check("SPAMC/1.5")).startswith(b"SPAMD/1.1 0 EX_OK"), "SPAMC")
    holds(spoken(daemon, check("RSPAMC/1.3")).startswith(b"RSPAMD/1.3 0 EX_OK"), "RSPAMC")
    tell = f"TELL SPAMC/1.5\r\nMessage-class: ham\r\nSet: local\r\nContent-length: {len(MAIL)}\r\n\r\n{MAIL}"
    holds(b"DidSet: local" in spoken(daemon, tell.encode()), "TELL")
    equal(daemon.client.get("/v1/models").status, 401)  # for mail only
    equal(text(daemon, "/v1/models/mail/train?label=spam", None).status, 401)
    other = guarded(api, trusted="192.0.2.0/24")
    equal(other.client.post("/checkv2", MAIL).status, 401)


def test_tokens_open_other_addresses(api):
    daemon = api.another(config={"server": {"listen": "0.0.0.0:0"}, "tokens": {"admin": ALL}}, listen=None).start()
    equal(daemon.client.get("/v1/models").status, 401)
    daemon.client.call("GET", "/v1/models", **bearer(ALL)).ok()


def test_without_tokens_nobody_is_asked(api):
    api.get("/v1/models").ok()
    api.call("GET", "/v1/models", **bearer("what-nobody-knows")).ok()


def test_a_refused_body_is_not_waited_for(api):
    with Wire(guarded(api)) as wire:
        wire.send(b"POST /v1/models/m/train?label=x HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Type: text/plain\r\nContent-Length: 50000000\r\n\r\n")
        reply = wire.reply()
        equal(reply.status, 401)
        equal(json.loads(reply.body)["status"], 401)
