# SPDX-License-Identifier: Apache-2.0
"""Every error: its status, its problem object, and the member, parameter or line that it names."""
import json
import re

from book import Model
from harness import equal, holds, quoted, refused
from wire import Wire, request

VALGRIND = True

# verb, body, status, words that the detail must hold
BAD_BODIES = [
    ("classify", "{", 400, ()),
    ("classify", "", 400, ()),
    ("classify", "null", 400, ()),
    ("classify", "5", 400, ()),
    ("classify", "[]", 400, ()),
    ("classify", '"text"', 400, ()),
    ("classify", '{"text": "a"} {"text": "b"}', 400, ()),
    ("classify", '{"text": "a"}x', 400, ()),
    ("classify", "{'text': 'a'}", 400, ()),
    ("classify", '{"text": "a",}', 400, ()),
    ("classify", '{"text": "a", "text": "b"}', 400, ("text",)),
    ("classify", b'{"text": "\xff"}', 400, ()),
    ("classify", b'{"text": "\xed\xa0\x80"}', 400, ()),
    ("classify", '{"text": "\\ud800"}', 400, ()),
    ("classify", '{"text": "a\nb"}', 400, ()),
    ("classify", '{"text": 5}', 400, ("text",)),
    ("classify", '{"text": null}', 400, ("text",)),
    ("classify", '{"text": ["a"]}', 400, ("text",)),
    ("classify", '{"mail": 5}', 400, ("mail",)),
    ("classify", '{"txet": "x"}', 400, ("txet",)),
    ("classify", '{"text": "x", "extra": 1}', 400, ("extra",)),
    ("classify", '{"Text": "x"}', 400, ("Text",)),
    ("classify", '{"text": "x", "mail": "y"}', 400, ("text", "mail")),
    ("classify", '{"mail": "x", "mail_base64": "eA=="}', 400, ("mail", "mail_base64")),
    ("classify", "{}", 400, ("text",)),
    ("classify", '{"id": "x"}', 400, ("text",)),
    ("classify", "[" * 100000, 400, ()),
    ("classify", '{"a":' * 100000, 400, ()),
    ("classify", '{"text": "x", "n": 1e999999}', 400, ()),
    ("classify", '{"text": "x", "n": ' + "9" * 5000 + "}", 400, ()),
    ("train", '{"text": "x"}', 400, ("label",)),
    ("train", '{"text": "x", "label": false}', 400, ("label",)),
    ("train", '{"text": "x", "label": 5.5}', 400, ("label",)),
    ("train", '{"text": "x", "label": ""}', 422, ("label",)),
    ("train", json.dumps({"text": "x", "label": "l" * 65}), 422, ("label", "64")),
    ("train", json.dumps({"text": "x", "label": "é" * 33}), 422, ("label",)),
    ("train", '{"text": "x", "label": "a\\nb"}', 422, ("label",)),
    ("train", '{"text": "x", "label": "a\\u0000b"}', 422, ("label",)),
    ("train", '{"text": "x", "label": "a\\u007fb"}', 422, ("label",)),
    ("train", '{"text": "x", "label": "a\\u0085b"}', 422, ("label",)),
    ("train", '{"text": "x", "label": "a", "id": ""}', 422, ("id",)),
    ("train", json.dumps({"text": "x", "label": "a", "id": "i" * 257}), 422, ("id", "256")),
    ("train", '{"text": "x", "label": "a", "id": 7.5}', 400, ("id",)),
    ("train", '{"label": "a"}', 400, ("text",)),
    ("train", '{"label": "a", "id": "x"}', 404, ("'x'",)),
    ("untrain", "{}", 400, ("id",)),
    ("untrain", '{"id": ""}', 422, ("id",)),
    ("untrain", '{"id": "none"}', 404, ("none",)),
    ("untrain", '{"text": "never trained"}', 404, ()),
]

BAD_QUERIES = [
    ("classify?explian=3", ("explian",)), ("classify?explain=-1", ("explain",)), ("classify?explain=x", ("explain",)),
    ("classify?explain=", ("explain",)), ("classify?explain=1.5", ("explain",)), ("classify?explain=10001", ("explain", "10000")),
    ("classify?explain=1&explain=2", ("explain",)), ("classify?explain=99999999999999999999", ("explain",)),
    ("classify?explain=+1", ("explain",)), ("classify?explain=0x10", ("explain",)),
    ("train?explain=1", ("explain",)), ("tokenize?limit=1", ("limit",)), ("untrain?force=1", ("force",)),
    ("classify?x", ("x",)), ("classify?label", ("label",)),
]

BAD_SETTINGS = [
    ({"smoothing": 0}, 422, ("smoothing",)), ({"smoothing": -1}, 422, ("smoothing",)),
    ({"smoothing": "1"}, 400, ("smoothing",)), ({"smoothing": None}, 400, ("smoothing",)),
    ({"smoothing": True}, 400, ("smoothing",)), ({"smooothing": 1}, 400, ("smooothing",)),
    ({"event_model": "gaussian"}, 422, ("event_model", "gaussian", "multinomial")),
    ({"event_model": 1}, 400, ("event_model",)), ({"event_model": ""}, 422, ("event_model",)),
    ({"prior": "flat"}, 422, ("prior",)), ({"prior": 0.5}, 400, ("prior",)), ({"prior": []}, 400, ("prior",)),
    ({"prior": {"ham": 1.5, "spam": -0.5}}, 422, ("prior", "spam")), ({"prior": {"ham": 0}}, 422, ("prior", "ham")),
    ({"prior": {"ham": "x"}}, 400, ("prior",)), ({"prior": {"": 1}}, 422, ("label",)), ({"prior": {}}, 422, ("prior",)),
    ({"min_count": -1}, 422, ("min_count",)), ({"min_count": 1.5}, 400, ("min_count",)),
    ({"min_count": "3"}, 400, ("min_count",)), ({"skip_top": -1}, 422, ("skip_top",)),
    ({"skip_top": True}, 400, ("skip_top",)), ({"decision": "guess"}, 422, ("decision",)),
    ({"preset": "fish"}, 422, ("preset",)), ({"preset": 1}, 400, ("preset",)),
    ({"tokenizer": {"fields": ["body", "nose"]}}, 422, ("nose",)), ({"tokenizer": {"feelds": []}}, 400, ("feelds",)),
    ({"tokenizer": "all"}, 400, ("tokenizer",)), ([], 400, ()), ("text", 400, ()),
]


def test_bad_bodies(api):
    with Model(api) as model:
        model.filled()
        before = model.row()
        for verb, body, status, words in BAD_BODIES:
            try:
                refused(model.post(verb, body, "application/json"), status, *words)
            except AssertionError as error:
                raise AssertionError(f"{verb} of {body[:80]!r}: {error}") from None
        equal(model.row(), before, "a refused request changed something")


def test_bad_queries(api):
    with Model(api) as model:
        model.filled()
        for query, words in BAD_QUERIES:
            try:
                refused(model.post(query, {"text": "x", "label": "a"}), 400, *words)
            except AssertionError as error:
                raise AssertionError(f"{query}: {error}") from None
        for path in ("/v1/models?x=1", model.path + "?verbose=1", model.path + "/documents/a?x=1",
                     model.path + "/export?x=1", "/healthz?x=1", "/metrics?x=1", "/openapi.json?x=1", "/readyz?x=1"):
            refused(api.get(path), 400, path.split("?")[1].split("=")[0])
        refused(api.put(model.path + "?x=1", {}), 400, "x")
        refused(api.delete(model.path + "?x=1"), 400, "x")
        equal(model.row()["documents"], 7)


def test_bad_settings(api):
    with Model(api, smoothing=0.5) as model:
        model.filled()
        before, fresh = model.row(), "/v1/models/" + api.name()
        for settings, status, words in BAD_SETTINGS:
            for path in (model.path, fresh):
                try:
                    refused(api.put(path, json.dumps(settings), "application/json"), status, *words)
                except AssertionError as error:
                    raise AssertionError(f"{settings}: {error}") from None
        for text in ('{"smoothing": NaN}', '{"smoothing": Infinity}', '{"smoothing": 1e999}', "{", "",
                     '{"smoothing": 1, "smoothing": 2}'):
            refused(api.put(model.path, text, "application/json"), 400)
        refused(api.put(model.path, "smoothing=1", "text/plain"), 415)
        equal(model.row(), before)
        refused(api.get(fresh), 404)


def test_settings_reach_their_limits(api):
    with Model(api) as model:
        model.filled()
        for settings in ({"smoothing": 1e-9}, {"smoothing": 1e6}, {"smoothing": 2}, {"min_count": 0},
                         {"prior": {"ham": 1e-9, "spam": 1e9}}, {"skip_top": 4}):
            model.put(**settings)
            row = model.row()["settings"]
            equal({k: row[k] for k in settings}, settings)
            model.classify("win the garden prize")


def test_tokenizer_is_fixed_with_the_first_document(api):
    with Model(api) as model:
        api.put(model.path, {"tokenizer": {"fields": ["body"]}}).ok(200)
        equal(model.row()["settings"]["tokenizer"], {"fields": ["body"]})
        model.train("some words", "a", id="1")
        refused(api.put(model.path, {"tokenizer": {"fields": ["body", "subject"]}}), 409, "tokenizer")
        equal(model.row()["settings"]["tokenizer"], {"fields": ["body"]})
        api.put(model.path, {"tokenizer": {"fields": ["body"]}, "smoothing": 3.0}).ok(200)


def test_model_names(api):
    for name in ("../etc", ".hidden", "-x", "_x", "a b", "a/b", "x" * 129, "é", "a\0b", "a%", "", "~", "a\n", "a:b"):
        path = "/v1/models/" + quoted(name)
        reply = api.put(path, {})
        holds(reply.status in ((422,) if name and "\0" not in name else (400, 404, 405, 422)), f"{name!r}: {reply.status}")
        refused(reply, reply.status)
        for verb in ("train", "classify"):
            reply = api.post(f"{path}/{verb}", {"text": "x", "label": "a"})
            holds(reply.status in (400, 404, 422), f"{verb} {name!r}: {reply.status}")
            refused(reply, reply.status)
    names = [row["name"] for row in api.get("/v1/models").ok().json["models"]]
    holds(all("etc" not in name for name in names), names)


def test_media_types(api):
    with Model(api) as model:
        model.filled()
        for kind in ("application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
                     "text/css", "application", "json", "application/json5", "text/plain2", "*/*"):
            refused(model.post("classify", "x", kind), 415, "application/json", "text/plain")
        refused(model.post("classify", "x"), 415)
        model.post("classify", '{"text": "x"}', "application/json; charset=utf-8").ok()
        model.post("classify", '{"text": "x"}', "Application/JSON").ok()


def test_states_that_forbid(api):
    with Model(api) as model:
        refused(model.post("classify", {"text": "x"}), 409)
        reply = api.put(model.path, {"smoothing": 3}, If_None_Match="*")
        refused(reply, 409, model.name)
        equal(model.row()["settings"]["smoothing"], 1.0)
        fresh = "/v1/models/" + api.name()
        api.put(fresh, {"smoothing": 3}, If_None_Match="*").ok(201)
        refused(api.put(fresh, {"smoothing": 4}, If_None_Match="*"), 409)
        equal(api.get(fresh).json["settings"]["smoothing"], 3.0)
        api.delete(fresh).ok(204)


def test_if_match_is_not_overheard(api):
    """Who sends it relies on it; no model has an entity tag."""
    path = "/v1/models/" + api.name()
    for tag in ('"abc"', "*", 'W/"1"'):
        refused(api.call("PUT", path, {}, **{"If-Match": tag}), 412, "If-None-Match")
    refused(api.get(path), 404)
    api.post(path + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    refused(api.call("POST", path + "/train", {"text": "b", "label": "y", "id": "1"}, **{"If-Match": '"1"'}), 412)
    refused(api.call("DELETE", path, **{"If-Match": '"1"'}), 412)
    equal(api.call("GET", path, **{"If-Match": '"1"'}).ok().json["documents"], 1)


def test_unknown_models(api):
    path = "/v1/models/" + api.name()
    for method, tail, body in (("GET", "", None), ("DELETE", "", None), ("GET", "/vocabulary?label=a", None),
                               ("GET", "/sample?label=a", None), ("GET", "/distribution?label=a", None),
                               ("GET", "/documents/x", None), ("GET", "/export", None),
                               ("POST", "/classify", {"text": "x"}), ("POST", "/tokenize", {"text": "x"}),
                               ("POST", "/untrain", {"id": "x"})):
        refused(api.call(method, path + tail, body), 404)
    refused(api.get(path), 404)


def test_labels_without_documents_count(api):
    client = api.another(config={"models": {"labels": 2}}).start().client
    for label in ("x", "y"):
        client.post("/v1/models/m/train", {"text": "a", "label": label, "id": label}).ok()
    client.delete("/v1/models/m/labels/x").ok()
    refused(client.post("/v1/models/m/train", {"text": "a", "label": "z", "id": "z"}), 413, "2 labels", "without documents count")
    client.post("/v1/models/m/train", {"text": "a", "label": "x", "id": "x"}).ok()


def test_too_large_says_the_limit(api):
    with Model(api) as model:
        model.filled()
        text = "x" * ((64 << 20) + 1)
        refused(model.post("classify", text, "text/plain"), 413, "67108864")
        equal(model.row()["documents"], 7)


POST_HEAD = b"POST /v1/models/m/train HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

# What the HTTP library refuses before a route sees it: bytes, status, a word of the detail.
BAD_HEADS = [
    (b"garbage\r\n\r\n", 400, "head"),
    (b"GET\r\n\r\n", 400, "head"),
    (b"GET / FOO\r\n\r\n", 400, "head"),
    (b"GET / HTTP/1.1\r\nNoColon\r\n\r\n", 400, "head"),
    (b"GET / HTTP/9.9\r\n\r\n", 505, "HTTP/1.1"),
    (b"GET / HTTP/0.9\r\n\r\n", 505, "HTTP/1.1"),
    (b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\n\r\n", 414, "request line"),
    (b"GET / HTTP/1.1\r\nX: " + b"a" * 40000 + b"\r\n\r\n", 431, "32 KiB"),
    (b"GET /?" + b"a&" * 500 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431, "query"),
    (POST_HEAD + b"Content-Length: x\r\n\r\n", 400, "Content-Length"),
    (POST_HEAD + b"Content-Length: -1\r\n\r\n", 400, "Content-Length"),
    (POST_HEAD + b"Content-Length: 5, 6\r\n\r\n", 400, "Content-Length"),
    (POST_HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", 413, "64 bits"),
    (POST_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "chunk"),
    (POST_HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffffff\r\n", 413, "chunk"),
]


def refused_once(wire, data, status, word):
    wire.try_send(data)
    reply = wire.reply()
    holds(reply is not None, "no reply")
    refused(reply, status, word)
    holds(re.fullmatch(r"[a-z_]+", reply.json.get("code", "")), f"the code of {reply.json}")
    equal(reply.headers.get("connection"), "close")
    rest = wire.rest
    while wire.more():
        rest += wire.rest
    equal(rest, b"", "something follows the reply")


def test_bad_heads_are_told_as_problems_once(api):
    """Also when good requests came before on the connection, and on a connection that stays open."""
    with Model(api) as model:
        model.filled()
        good = request("GET", "/healthz")
        for data, status, word in BAD_HEADS:
            for before in (0, 1, 3):
                try:
                    with Wire(api.daemon) as wire:
                        for _ in range(before):
                            wire.send(good)
                            wire.reply().ok()
                        refused_once(wire, data, status, word)
                except AssertionError as error:
                    raise AssertionError(f"{data[:60]!r} after {before}: {error}") from None
        page = api.get("/metrics").ok().body.decode()
        for status in (400, 413, 414, 431, 505):
            holds(re.search(rf'^bayesd_http_requests_total{{.*route="other",status="{status}"}}', page, re.M),
                  f"{status} is not counted")


def test_nothing_follows_the_last_reply(api):
    """However the client asks for the connection to go on or to end, a good request has one reply."""
    for version in ("1.0", "1.1"):
        for fields in ({}, {"Connection": "close"}, {"Connection": "keep-alive"}, {"Connection": "x, close"}):
            with Wire(api.daemon) as wire:
                data = request("GET", "/healthz", version=version, **fields)
                wire.send(data)
                wire.reply().ok()
                if version == "1.1" and "close" not in fields.get("Connection", "") or "keep-alive" in fields.values():
                    wire.send(data)
                    wire.reply().ok()
                    wire.socket.shutdown(1)
                equal(wire.rest, b"", (version, fields))
                holds(not wire.more(), f"{version} {fields}: {wire.rest!r}")


def test_a_broken_chunk_is_the_status_of_its_request(api):
    with Model(api) as model:
        model.filled()
        data = POST_HEAD.replace(b"/m/", f"/{model.name}/".encode()) + b"Transfer-Encoding: chunked\r\n\r\n"
        with Wire(api.daemon) as wire:
            refused_once(wire, data + b"5\r\n{\"tex\r\nzz\r\n", 400, "chunk")
        equal(model.row()["documents"], 7)
