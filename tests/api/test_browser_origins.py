# SPDX-License-Identifier: Apache-2.0
"""[http] origins: pages of named sites may use the daemon from a browser, with a token; no others, and no page by
what proves who its reader is."""
import signal

import tls
from harness import equal, holds, refused, wait_for
from test_reload import reload, started
from wire import Wire, request

APP, DEV, OTHER = "https://app.example.org", "http://localhost:3000", "https://evil.example"
T, C = "a-token-of-this-test", "another-token-of-the-test"
M = "/v1/models/m"
BEARER = {"Authorization": f"Bearer {T}"}


def cors(reply):
    return {name: value for name, value in reply.headers.items() if name.startswith("access-control") or name == "vary"}


def with_origins(api, origins=f"{APP}, {DEV}", **more):
    return started(api, http={"origins": origins}, tokens={"admin": T, "classify": C}, **more)


def asked(client, path, origin, method="POST", headers="authorization,content-type"):
    return client.call("OPTIONS", path, Origin=origin, **{"Access-Control-Request-Method": method,
                                                          "Access-Control-Request-Headers": headers})


def test_a_named_page_works_with_a_token(api):
    client = with_origins(api).client
    for origin in (APP, DEV):
        reply = asked(client, M + "/train", origin).ok(204)
        told = cors(reply)
        equal(told["access-control-allow-origin"], origin)
        equal(told["access-control-allow-methods"], "POST")
        holds({"Authorization", "Content-Type"} <= set(told["access-control-allow-headers"].split(", ")), told)
        holds(int(told["access-control-max-age"]) > 0 and told["vary"] == "Origin", told)
        equal(reply.body, b"")
        methods = cors(asked(client, M, origin, "DELETE").ok(204))["access-control-allow-methods"]
        equal(set(methods.split(", ")), {"GET", "HEAD", "PUT", "DELETE"})
        body = {"text": "cheap pills", "label": "spam"}
        reply = client.call("POST", M + "/train", body, None, Origin=origin, **BEARER).ok()
        told = cors(reply)
        equal((told["access-control-allow-origin"], told["vary"]), (origin, "Origin"))
        holds("Bayesd-Number" in told["access-control-expose-headers"].split(", "), told)
        holds("access-control-allow-credentials" not in told, told)
        # What is refused can be read by the page, too.
        equal(cors(client.call("GET", "/v1/nothing", Origin=origin, **BEARER))["access-control-allow-origin"], origin)
    equal(client.get(M, **BEARER).ok().json["documents"], 1)


def test_a_token_alone_gives_a_role(api):
    """Neither none, nor another one than those there are, nor an address that mail software is trusted by."""
    daemon = started(api, http={"origins": APP}, tokens={"admin": T, "classify": C, "trusted": "127.0.0.1"})
    client = daemon.client
    for headers in ({}, {"Authorization": "Bearer nobody-knows-this-one"}, {"Authorization": "Basic eDp5"},
                    {"Cookie": f"token={T}"}):
        reply = client.call("POST", M + "/train?label=x", "planted", "text/plain", Origin=APP, **headers)
        refused(reply, 401, "token")
        equal(cors(reply)["access-control-allow-origin"], APP)
    reply = client.call("POST", M + "/train?label=x", "planted", "text/plain", Origin=APP, Authorization=f"Bearer {C}")
    refused(reply, 403, "role")
    holds(client.call("POST", "/learnspam", "From: a@b\r\n\r\nx").status == 200, "trusted without an Origin")
    equal(client.call("POST", "/learnspam", "From: a@b\r\n\r\nx", Origin=APP).status, 401)
    client.call("GET", "/healthz", Origin=APP).ok()


def test_no_certificate_gives_a_page_a_role(api):
    folder = api.new_folder()
    authority = tls.Authority(folder)
    files = dict(zip(("certificate", "key"), authority.sign("first")), listen="127.0.0.1:0",
                 client_ca=authority.certificate, client_role="admin")
    daemon = started(api, http={"origins": "*"}, tokens={"classify": C}, tls=files)
    mine = tls.context(authority, authority.sign("me", "clientAuth"))
    for more, status in (({}, 200), ({"Origin": APP}, 401),
                         ({"Origin": APP, "Authorization": f"Bearer {C}"}, 200)):
        with tls.TlsWire(daemon, mine) as wire:
            wire.send(request("GET", "/v1/models", **more))
            equal(wire.reply("GET").status, status, more)
    with tls.TlsWire(daemon, mine) as wire:  # which is that of the certificate without a page
        wire.send(request("DELETE", M, Origin=APP, Authorization=f"Bearer {C}"))
        equal(wire.reply("DELETE").status, 403)


def test_other_pages_are_refused(api):
    client = with_origins(api).client
    for origin in (OTHER, "null", "http://app.example.org", APP + ":8443", APP + ".evil.example", APP + "/",
                   "https://xapp.example.org", "http://localhost", "http://localhost:30000", "https://app.example.or",
                   f"{APP}, {DEV}", "*", ""):
        for reply in (asked(client, M + "/train", origin),
                      client.call("POST", M + "/train?label=x", "planted", "text/plain", Origin=origin, **BEARER),
                      client.call("GET", "/v1/models", Origin=origin, **BEARER)):
            refused(reply, 403, "Origin")
            equal(cors(reply), {"vary": "Origin"}, origin)
    equal(client.get(M, **BEARER).status, 404)
    holds("access-control-allow-origin" not in client.get("/healthz").headers, "without an Origin")
    reply = client.call("GET", "/v1/models", Origin=APP.upper().replace("HTTPS", "https"), **BEARER)
    equal(reply.status, 200)


def test_off_by_default(api):
    client = started(api, tokens={"admin": T}).client
    for origin in (APP, "null"):
        refused(asked(client, M, origin), 405, "Allow")
        reply = client.call("GET", "/v1/models", Origin=origin, **BEARER)
        refused(reply, 403, "[http] origins")
        equal(cors(reply), {})


def test_any_page_with_tokens_only(api):
    client = with_origins(api, "*").client
    for origin in (OTHER, APP):
        equal(cors(asked(client, M + "/train", origin).ok(204))["access-control-allow-origin"], origin)
        client.call("GET", "/v1/models", Origin=origin, **BEARER).ok()
        equal(client.call("GET", "/v1/models", Origin=origin).status, 401)
    refused(client.call("GET", "/v1/models", Origin="null", **BEARER), 403, "Origin")
    host = client.host + f":{client.port}"  # the daemon's own page
    client.call("GET", "/v1/models", Origin="http://" + host, **BEARER).ok()


def test_questions_that_are_none(api):
    """OPTIONS without a method to ask for is what it was; a path that is not there is 404."""
    client = with_origins(api).client
    equal(client.call("OPTIONS", M, Origin=APP).status, 405)
    equal(client.call("OPTIONS", M).status, 405)
    reply = asked(client, "/v1/nothing", APP)
    refused(reply, 404)
    equal(cors(reply)["access-control-allow-origin"], APP)
    equal(asked(client, "/v1/models/%", APP).status, 404)


def test_a_refusal_within_a_body_can_be_read(api):
    daemon = with_origins(api, server={"body_bytes": "2K"})
    with Wire(daemon) as wire:
        wire.send(request("POST", M + "/train?label=x", Origin=APP, Authorization=f"Bearer {T}")
                  .replace(b"Content-Length: 0", b"Transfer-Encoding: chunked").replace(b"application/json", b"text/plain")
                  + b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        reply = wire.reply("POST")
    equal((reply.status, cors(reply)["access-control-allow-origin"], reply.headers["connection"]), (413, APP, "close"))


MALFORMED = (
    ("app.example.org", "does not begin"), ("ftp://app.example.org", "does not begin"), ("https:app.example.org", "does not begin"),
    ("https://app.example.org/", "slash"), ("https://app.example.org/page", "path"), ("https://app.example.org?x", "path"),
    ("https://", "host"), ("https://:443", "host"), ("https://.example", "host"), ("https://a..b", "host"), ("https://[::1", "host"),
    ("https://[nonsense]", "host"), ("https://user@app.example.org", "user"), ("https://*.example.org", "alone"),
    ("https://bücher.example", "xn--"), ("null", "any page"), ("https://app.example.org:", "port"),
    ("https://app.example.org:70000", "port"), ("https://app.example.org:x", "port"), ("https://app.example.org:443", "leave out"),
    ("http://app.example.org:80", "leave out"), ("https://good.example https://bad.example/", "bad.example"),
)


def test_malformed_origins_are_refused_with_a_sentence(api):
    for origins, words in MALFORMED:
        daemon = api.another(config={"tokens": {"admin": T}, "http": {"origins": origins}}).spawn()
        holds(daemon.wait(20) > 0, origins)
        holds(any("[http] origins" in line and words in line for line in daemon.lines), (origins, daemon.lines))
    for origins in ("https://[::1]:8443", "http://192.0.2.1:8080", "https://a.b-c.example,http://x_y:1", "https://xn--bcher-kva.example"):
        with_origins(api, origins).stop()


def test_without_tokens_no_page_is_let_in(api):
    for origins in (APP, "*"):
        daemon = api.another(config={"http": {"origins": origins}}).spawn()
        holds(daemon.wait(20) > 0, "started")
        holds(any("[http] origins" in line and "[tokens]" in line for line in daemon.lines), daemon.lines)


def test_reload(api):
    """A change holds at once; a mistake changes nothing."""
    daemon = started(api, tokens={"admin": T})

    def statuses():
        return [daemon.client.call("GET", "/v1/models", Origin=origin, **BEARER).status for origin in (APP, DEV)]

    equal(statuses(), [403, 403])
    for origins, want in ((APP, [200, 403]), (f"{DEV} {APP}", [200, 200]), ("https://bad/", [200, 200]), (DEV, [403, 200]), ("", [403, 403])):
        lines = reload(daemon, {"log": {"level": "info"}, "tokens": {"admin": T}, "http": {"origins": origins}})
        equal(statuses(), want, origins)
        holds(("[http] origins: 'https://bad/'" in "".join(lines)) == ("bad" in origins), lines)
    daemon.signal(signal.SIGTERM)
    wait_for(lambda: not daemon.running(), "it stops")
