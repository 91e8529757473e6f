# SPDX-License-Identifier: Apache-2.0
"""How much a client may send, and how often it may guess a token: by its address and by its token.

No clock is needed: the rates are so slow that nothing comes back while a test runs."""
import http.client
import json

from harness import equal, holds, problem, refused, sanitized
from prometheus import parse
from test_tokens import bearer, new_token
from wire import Wire

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
MAIL = "Subject: hello\r\nMessage-ID: <1@example.org>\r\n\r\ncheap pills\r\n"
WEAK, OTHER = "a-token-of-this-test", "another-token-of-it"


def limited(api, tokens=None, **server):
    return api.another(config={"server": server, "tokens": tokens or {}}).start()


def refusals(daemon, reason, **headers):
    page = parse(daemon.client.get("/metrics", **headers).ok().body.decode())
    return page.value("bayesd_refused_total", reason=reason)


def ask_from(daemon, address, method, path, body=None, **headers):
    """(status, header fields) of a request from another address of this machine."""
    connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=30, source_address=(address, 0))
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status


def over_its_rate(reply, *words):
    problem_ = refused(reply, 429, "come again in", *words)
    holds(1 <= int(reply.headers["retry-after"]) <= 3601, reply.headers)
    holds(reply.headers["retry-after"] in problem_["detail"], (reply.headers, problem_))


# ---- rates --------------------------------------------------------------------------------------
def test_no_rates_by_default(api):
    daemon = api.another().start()
    daemon.client.post(M + "/train?label=a", "x", "text/plain").ok()
    for _ in range(300):
        daemon.client.post(M + "/tokenize", "a", "text/plain").ok()
    equal(refusals(daemon, "rate_classify"), 0)


def test_each_address_has_its_rate(api):
    daemon = limited(api, rate_classify="3/hour", rate_train="2/hour")
    post = daemon.client.post
    for _ in range(2):
        post(M + "/train?label=a", "x", "text/plain").ok()
    for path in ("/train?label=a", "/untrain"):
        over_its_rate(post(M + path, "y", "text/plain"), "rate_train")
    equal(daemon.client.get(M).ok().json["documents"], 1, "what was refused was not learned")
    for path in ("/classify", "/tokenize", "/classify"):
        post(M + path, "x", "text/plain").ok()
    over_its_rate(post(M + "/classify", "x", "text/plain"), "rate_classify")
    for path in ("/healthz", "/v1/models", "/metrics", "/readyz"):
        daemon.client.get(path).ok()
    equal(ask_from(daemon, "127.0.0.2", "POST", M + "/tokenize", "x", Content_Type="text/plain"), 200)
    equal((refusals(daemon, "rate_train"), refusals(daemon, "rate_classify")), (2, 1))


def test_each_token_has_its_rate(api):
    daemon = limited(api, {"train": f"{WEAK}, {OTHER}"}, rate_train="2/hour")

    def train(address, token):
        return ask_from(daemon, address, "POST", M + "/train?label=a", "x", Content_Type="text/plain", **bearer(token))

    equal([train(f"127.0.0.{i}", WEAK) for i in (2, 3, 4, 5)], [200, 200, 429, 429])
    equal([train("127.0.0.6", OTHER), train("127.0.0.2", OTHER), train("127.0.0.7", OTHER)], [200, 200, 429])
    equal(train("127.0.0.8", "nobody-has-this-token"), 401, "who may not is told so")


def test_a_named_proxy_tells_whose_rate_it_is(api):
    daemon = limited(api, {"train": f"a={WEAK}", "trusted": "203.0.113.0/24"}, rate_classify="1/hour", proxies="127.0.0.1")
    got = [daemon.client.post("/checkv2", MAIL, X_Forwarded_For=chain).status
           for chain in ("203.0.113.5", "203.0.113.6", "9.9.9.9, 203.0.113.5", "203.0.113.6, 203.0.113.7")]
    equal(got, [200, 200, 503, 200])


def test_documents_of_a_batch_may_be_ahead_by_a_minute(api):
    daemon = limited(api, rate_train="60/minute")
    documents = [{"text": f"w{i}", "label": "a", "id": str(i)} for i in range(400)]
    reply = daemon.client.post(M + "/train", {"documents": documents}).ok().json
    learned, failed = reply["learned"], reply["failed"]
    holds(120 <= learned < 300 and learned + failed == 400, (learned, failed))  # 60, and 60 ahead; time goes by
    for result in reply["results"][:learned]:
        equal(result["status"], "learned")
    problem(reply["results"][-1]["error"], 429, "rate_train")
    over_its_rate(daemon.client.post(M + "/train", documents[0]), "rate_train")
    equal(daemon.client.get(M).ok().json["documents"], learned)


def test_lines_over_the_rate_are_refused_in_their_places(api):
    daemon = limited(api, rate_classify="60/minute")
    daemon.client.post(M + "/train", {"text": "a b", "label": "x"}).ok()
    lines = daemon.client.post(M + "/tokenize", '{"text": "a"}\n' * 400, NDJSON).ok().lines
    equal(len(lines), 400)
    good = sum("tokens" in line for line in lines)
    holds(120 <= good < 300, good)
    problem(lines[-1]["error"], 429, "rate_classify")


def test_mail_software_is_told_to_try_again(api):
    """A status that lets the mail pass unjudged would switch the filter off."""
    daemon = limited(api, rate_classify="1/hour", rate_train="1/hour")
    daemon.client.post("/checkv2", MAIL).ok()
    reply = daemon.client.post("/checkv2", MAIL)
    equal((reply.status, reply.json["action"]), (503, "soft reject"))
    daemon.client.post("/learnspam", MAIL).ok()
    equal(daemon.client.post("/learnspam", MAIL).status, 429)
    for protocol, good in (("SPAMC/1.5", b"SPAMD/1.1 0 EX_OK"), ("RSPAMC/1.3", b"RSPAMD/1.3 0 EX_OK")):
        with Wire(daemon) as wire:
            wire.send(f"CHECK {protocol}\r\nContent-length: {len(MAIL)}\r\n\r\n{MAIL}".encode())
            reply = wire.body({})
            holds(reply and not reply.startswith(good) and b" 69 " in reply.split(b"\r\n")[0], reply)


def test_the_rest_of_a_refused_body_is_not_read(api):
    daemon = limited(api, rate_train="1/hour")
    daemon.client.post(M + "/train?label=a", "x", "text/plain").ok()
    with Wire(daemon) as wire:
        wire.send(f"POST {M}/train?label=a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                  "Content-Length: 50000000\r\n\r\n".encode())
        reply = wire.reply()
        equal((reply.status, json.loads(reply.body)["status"]), (429, 429))


# ---- failures -----------------------------------------------------------------------------------
def test_guessing_is_slowed(api):
    daemon = limited(api, {"train": f"{WEAK}, {OTHER}"}, rate_failures="3/hour")
    get = daemon.client.get
    get("/v1/models", **bearer(WEAK)).ok()
    equal([get("/v1/models", **bearer(f"guess-number-{i}-of-many")).status for i in range(5)], [401] * 3 + [429] * 2)
    over_its_rate(get("/v1/models", **bearer(OTHER)), "unknown tokens")  # or it would show which guess is right
    get("/v1/models", **bearer(WEAK)).ok()  # it was shown from here before
    equal(get("/v1/models").status, 401, "without a token nothing is guessed")
    get("/healthz").ok()
    equal(ask_from(daemon, "127.0.0.2", "GET", "/v1/models", **bearer(OTHER)), 200)
    equal(refusals(daemon, "rate_failures", **bearer(WEAK)), 3)
    equal(refusals(daemon, "unknown_token", **bearer(WEAK)), 4)


def test_tokens_that_cannot_be_guessed_are_not_slowed(api):
    folder = api.new_folder()
    token = new_token(api, folder, "a", "train")
    daemon = api.another(data=folder, config={"server": {"rate_failures": "1/hour"}}).start()
    for i in range(5):
        daemon.client.get("/v1/models", **bearer(f"guess-number-{i}-of-many"))
    equal(daemon.client.get("/v1/models", **bearer("guess-number-9-of-many")).status, 429)
    daemon.client.get("/v1/models", **bearer(token)).ok()


def test_trusted_mail_software_with_a_wrong_password_is_not_slowed(api):
    """Some of it always shows one."""
    daemon = limited(api, {"train": WEAK, "trusted": "127.0.0.1"}, rate_failures="2/hour")
    for _ in range(10):
        daemon.client.post("/checkv2", MAIL, Password="q1").ok()
    equal(refusals(daemon, "rate_failures", **bearer(WEAK)), 0)


def test_many_addresses_take_no_memory(api):
    daemon = limited(api, {"train": WEAK, "admin": OTHER}, rate_failures="2/hour", rate_train="2/hour", proxies="127.0.0.1")

    def guess(first, count):
        for i in range(first, first + count):
            daemon.client.get("/v1/models", X_Forwarded_For=f"2001:db8:{i >> 16:x}:{i & 0xffff:x}::1",
                              **bearer("guess-of-a-token-xx"))
    guess(0, 3000)
    before = daemon.memory()[0]
    guess(3000, 6000)
    # A sanitizer keeps back 8 MB of what was freed (harness.py).
    holds(daemon.memory()[0] < before + ((12 if sanitized() else 4) << 20), (before, daemon.memory()))
