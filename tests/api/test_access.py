# SPDX-License-Identifier: Apache-2.0
"""Tokens and their roles, by every protocol; and who needs none."""
import hashlib
import json

from harness import equal, holds, problem, refused
from tls import TlsWire, begin, context
from wire import Wire

READ, TEACH, ALL = "reads-only-0123456789", "teaches-too-0123456789", "does-everything-0123456789"
MAIL = "From: a@example.org\r\nSubject: hello\r\nMessage-ID: <1@example.org>\r\n\r\ncheap pills\r\n"


def guarded(api, server=None, **more):
    """A daemon that asks for tokens."""
    tokens = {"classify": READ, "train": "sha256:" + hashlib.sha256(TEACH.encode()).hexdigest(), "admin": ALL}
    return api.another(config={"tokens": tokens | more, "server": server or {}}).start()


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
        for path in ("/v1/models", "/v1/models/m", "/metrics", "/readyz", "/openapi.json", "/stat"):
            equal(call("GET", path, **bearer(token)).status, status, (token, path))
        for path in ("/", "/console/main.js"):  # they tell nothing: what they show they ask of the API
            equal(call("GET", path, **bearer(token)).status, 200, (token, path))
    for token, status in ((None, 401), (READ, 403), (TEACH, 403), (ALL, 201)):
        equal(call("PUT", "/v1/models/made", {}, **bearer(token)).status, status, token)
        equal(call("GET", "/v1/models/m/export", **bearer(token)).status, 200 if token == ALL else status, token)
    equal(call("DELETE", "/v1/models/made", **bearer(TEACH)).status, 403)
    equal(call("DELETE", "/v1/models/made", **bearer(ALL)).status, 204)


def test_a_refusal_has_a_code(api):
    """A missing token is told from an unknown one, and a token of a role that does not reach is told its role."""
    daemon = guarded(api)
    for token, code, said in ((None, "token_missing", "brings none"), ("nobody-has-this-one", "token_unknown", "needs a token that is known"),
                              (READ, "role_insufficient", "role, classify, does not reach: the request needs train or admin")):
        refusal = text(daemon, "/v1/models/m/train?label=spam", token).json
        equal((refusal["code"], said in refusal["detail"]), (code, True), refusal)
    refusal = daemon.client.call("PUT", "/v1/models/m", {}, **bearer(TEACH)).json
    holds("role, train, does not reach: the request needs admin" in refusal["detail"], refusal)


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


ALREADY = 208  # learned: as rspamd says it


def check_mail(daemon, trusted, host="localhost", **headers):
    """By each protocol a mail is checked and learned without a token, or it is not. Lines are of no use to pages
    in browsers, and do not know of `host`."""
    for path in ("/checkv2", "/learnspam"):
        status = daemon.client.post(path, MAIL, Host=host, **headers).status
        equal(200 if status == ALREADY else status, trusted, (path, host, headers))
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    for protocol, good in (("SPAMC/1.5", b"SPAMD/1.1 0 EX_OK"), ("RSPAMC/1.3", b"RSPAMD/1.3 0 EX_OK")):
        data = check(protocol).replace(b"Content-length", fields.encode() + b"Content-length")
        equal(spoken(daemon, data).startswith(good), trusted != 401, (protocol, headers))
    tell = (f"TELL SPAMC/1.5\r\n{fields}Message-class: ham\r\nSet: local\r\nContent-length: {len(MAIL)}\r\n\r\n"
            + MAIL).encode()
    equal(spoken(daemon, tell).startswith(b"SPAMD/1.1 0 EX_OK"), trusted != 401, ("TELL", headers))


def test_trusted_networks_need_none_for_mail(api):
    daemon = guarded(api, trusted="192.0.2.0/24, 127.0.0.0/8")
    check_mail(daemon, 200)
    equal(daemon.client.get("/v1/models").status, 401)  # for mail only
    equal(text(daemon, "/v1/models/mail/train?label=spam", None).status, 401)
    other = guarded(api, trusted="192.0.2.0/24")
    equal(other.client.post("/checkv2", MAIL).status, 401)


def test_no_address_is_trusted_by_default(api):
    check_mail(guarded(api), 401)


def test_an_address_behind_a_proxy_proves_nothing(api):
    """A proxy on this machine, for TLS, must not make the internet trusted."""
    daemon = guarded(api, trusted="127.0.0.0/8, 203.0.113.0/24")
    for name, value in (("Forwarded", "for=203.0.113.5"), ("X-Forwarded-For", "203.0.113.5"), ("X-Forwarded-For", ""),
                        ("x-forwarded-for", "127.0.0.1"), ("Via", "1.1 proxy.example.org")):
        check_mail(daemon, 401, **{name: value})
        reply = daemon.client.call("POST", "/checkv2", MAIL, **{name: value})
        holds("proxy" in reply.json["error"], reply.json)
        daemon.client.call("POST", "/checkv2", MAIL, Password=READ, **{name: value}).ok()
    check_mail(daemon, 200)


def test_a_proxy_that_is_named_tells_the_address(api):
    daemon = guarded(api, {"proxies": "127.0.0.1, 192.0.2.8"}, trusted="203.0.113.5")
    for chain, status in (("203.0.113.5", 200), ("203.0.113.6", 401), ("203.0.113.5, 203.0.113.6", 401),
                          ("203.0.113.6, 203.0.113.5", 200), ("203.0.113.5, 192.0.2.8", 200), ("unknown", 401),
                          ("203.0.113.5, 192.0.2.9", 401), ("", 401), ("127.0.0.1", 401)):
        check_mail(daemon, status, X_Forwarded_For=chain)
    check_mail(daemon, 401)  # the proxy itself
    check_mail(daemon, 401, Via="1.1 proxy")
    twice = (b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: %s\r\nX-Forwarded-For: %s\r\n"
             b"Content-Length: 3\r\n\r\na\n\n")
    for first, last, status in ((b"203.0.113.5", b"203.0.113.6", 401), (b"203.0.113.6", b"203.0.113.5", 200)):
        with Wire(daemon) as wire:
            wire.send(twice % (first, last))
            equal(wire.reply().status, status, (first, last))


def test_without_tokens_a_proxy_opens_nothing(api):
    """Who reaches loopback may do everything; a proxy's clients do not."""
    daemon = api.another().start()
    for name, value in (("Forwarded", "for=127.0.0.1"), ("X-Forwarded-For", "127.0.0.1"), ("Via", "1.1 a")):
        refused(daemon.client.get("/v1/models", **{name: value}), 403, "[tokens]", "insecure")
        refused(text(daemon, "/v1/models/m/train?label=x", None, **{name: value}), 403)
        equal(daemon.client.post("/learnspam", MAIL, **{name: value}).status, 403)
        daemon.client.get("/healthz", **{name: value}).ok()
    equal(daemon.client.get("/v1/models").ok().json, {"models": []})
    api.another(config={"server": {"insecure": "yes"}}).start().client.get("/v1/models", Via="1.1 a").ok()


def test_a_foreign_host_has_what_a_token_gives_and_nothing_else(api):
    """DNS rebinding: a page in a browser on a trusted machine has its address, but no token."""
    foreign = "rebound.evil.example:8763"
    daemon = guarded(api, trusted="127.0.0.1")
    check_mail(daemon, 403, host=foreign)
    for host in (foreign, "[::1].evil.example", "localhost:1@evil.example"):
        equal(daemon.client.post("/learnspam", MAIL, Host=host).status, 403, host)
        holds(daemon.client.post("/learnspam", MAIL, Host=host, Password=TEACH).status in (200, ALREADY), host)
        text(daemon, "/v1/models/m/train?label=x", TEACH, Host=host).ok()
        daemon.client.get("/healthz", Host=host).ok()
    check_mail(daemon, 200)
    open_to_all = api.another(config={"server": {"listen": "0.0.0.0:0", "insecure": "yes"}}, listen=None).start()
    refused(open_to_all.client.get("/v1/models", Host=foreign), 403, "[server] hosts")
    open_to_all.client.get("/v1/models", Host="192.0.2.7:8763").ok()
    listed = guarded(api, {"hosts": "mail.example.org"}, trusted="127.0.0.1")
    check_mail(listed, 200, host="mail.example.org:8763")


def answers(daemon, path, *fields, method="GET"):
    """The status of a request with these header fields, some of which may come twice."""
    with Wire(daemon) as wire:
        wire.send((f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n").encode())
        return wire.reply().status


def test_what_a_browser_says_of_a_page(api):
    """A page of another site that embeds an address sends no Origin, but Sec-Fetch-Site. With a token it may."""
    open_one, trusting = api.another().start(), guarded(api, trusted="127.0.0.1")
    for site, status in (("cross-site", 403), ("CROSS-SITE", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        equal(open_one.client.get("/v1/models", **{"Sec-Fetch-Site": site}).status, status, site)
        equal(open_one.client.get("/healthz", **{"Sec-Fetch-Site": site}).status, 200)
        equal(open_one.client.get("/", **{"Sec-Fetch-Site": site}).status, 200)  # a link to the console
        equal(trusting.client.post("/learnspam", MAIL, **{"Sec-Fetch-Site": site}).status in (200, ALREADY), status == 200, site)
        trusting.client.call("GET", "/v1/models", **{"Sec-Fetch-Site": site}, **bearer(ALL)).ok()
    refused(open_one.client.get("/v1/models", **{"Sec-Fetch-Site": "cross-site"}), 403, "Sec-Fetch-Site")
    refused(open_one.client.delete("/v1/models/m", **{"Sec-Fetch-Site": "cross-site"}), 403)
    host, foreign = ("Host", "localhost"), ("Sec-Fetch-Site", "cross-site")
    for pair in ((foreign, ("Sec-Fetch-Site", "same-origin")), (("Sec-Fetch-Site", "same-origin"), foreign)):
        equal(answers(open_one, "/v1/models", host, *pair), 403)


def test_one_origin_of_the_same_scheme(api):
    daemon, authority = begin(api)
    host, own = f"127.0.0.1:{daemon.port}", f"http://127.0.0.1:{daemon.port}"
    equal(answers(daemon, "/v1/models", ("Host", host), ("Origin", own)), 200)
    for several in ((own, own), (own, "http://evil.example"), ("http://evil.example", own)):
        equal(answers(daemon, "/v1/models", ("Host", host), *(("Origin", one) for one in several)), 403, several)
    for wrong in ("https://" + host, f"ftp://{host}", f"{own}, {own}", f"{own}/", f"http://a@{host}", "null", ""):
        equal(answers(daemon, "/v1/models", ("Host", host), ("Origin", wrong)), 403, wrong)
    equal(answers(daemon, "/v1/models", ("Host", host), ("Host", "evil.example")), 400)
    with TlsWire(daemon, context(authority)) as wire:
        for scheme, status in (("https", 200), ("http", 403)):
            wire.send(f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: {scheme}://localhost\r\n\r\n".encode())
            equal(wire.reply().status, status, scheme)
    behind = guarded(api)  # a proxy that speaks TLS with the browser
    page = {"Host": "bayes.example", "Origin": "https://bayes.example"}
    equal(behind.client.call("GET", "/v1/models", **page, **bearer(ALL)).status, 403)
    behind.client.call("GET", "/v1/models", **page, **bearer(ALL), **{"X-Forwarded-For": "192.0.2.1"}).ok()
    daemon.stop()


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
