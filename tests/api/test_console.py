# SPDX-License-Identifier: Apache-2.0
"""The console's files: types, policy, tags and copies. What it does in a browser: tests/console."""
import functools
import os
import re

import test_tokens
from harness import equal, holds, refused

WEB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server", "console", "web")


@functools.cache
def files():
    """{name: bytes} of the console's folder."""
    return {name: open(os.path.join(WEB, name), "rb").read() for name in sorted(os.listdir(WEB))}


def test_the_page_asks_for_files_of_its_own_server(api):
    reply = api.get("/").ok()
    equal(reply.headers["content-type"], "text/html; charset=utf-8")
    equal(reply.body, files()["index.html"])
    asked = re.findall(r'(?:src|href)="([^"#]*)"', reply.body.decode())
    equal(sorted(asked), ["console/icon.svg", "console/main.js", "console/style.css", "openapi.json"])
    holds(not re.search(r"<script[^>]*>[^<]|<style|\son\w+=|style=", reply.body.decode()), "a script or a style in the page")


def test_each_file_is_served_as_it_is(api):
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
    for name, content in files().items():
        reply = api.get("/console/" + name).ok()
        equal(reply.body, content, name)
        equal(reply.headers["content-type"].split(";")[0], kinds[os.path.splitext(name)[1]])
        for needed in re.findall(rb'^(?:import|export) .*from "\./([^"]+)";$', content, re.MULTILINE):
            holds(needed.decode() in files(), f"{name} imports {needed}")
        head = api.call("HEAD", "/console/" + name)
        equal((head.status, head.body), (200, b""), name)
        equal({k: head.headers[k] for k in ("content-length", "etag")},
              {k: reply.headers[k] for k in ("content-length", "etag")})
    for name in ("nothing.js", "..%2Fassets.c", "", "main.js%00", "a/main.js"):
        refused(api.get("/console/" + name), 400 if "%00" in name else 404)
    equal(api.post("/console/main.js", "x", "text/plain").status, 405)
    equal(api.get("/?token=x").status, 400)


def test_the_policy_lets_nothing_in(api):
    for path in ("/", "/console/main.js"):
        headers = api.get(path).ok().headers
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        equal(policy, {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'",
                       "img-src": "'self'", "form-action": "'none'", "base-uri": "'none'", "frame-ancestors": "'none'",
                       "require-trusted-types-for": "'script'", "trusted-types": "'none'"})
        equal(headers["x-content-type-options"], "nosniff")
        equal(headers["referrer-policy"], "no-referrer")
        holds("set-cookie" not in headers, "a cookie")


def test_a_copy_is_kept_until_the_file_changes(api):
    tags = set()
    for path in ["/"] + ["/console/" + name for name in files() if name != "index.html"]:
        first = api.get(path).ok()
        tag = first.headers["etag"]
        tags.add(tag)
        equal(first.headers["cache-control"], "no-cache")
        for known in (tag, "W/" + tag, f'"other", {tag}', "*"):
            again = api.get(path, If_None_Match=known)
            equal((again.status, again.body, again.headers["etag"]), (304, b"", tag), known)
            holds("content-security-policy" in again.headers, "the policy of a copy")
        for other in ('"other"', tag.strip('"'), tag[:-2] + '"'):
            equal(api.get(path, If_None_Match=other).ok().body, first.body, other)
    equal(len(tags), len(files()), "tags")


def test_no_token_is_needed_for_what_tells_nothing(api):
    daemon, tokens, _ = test_tokens.for_users(api)
    for path, name in (("/", "index.html"), ("/console/main.js", "main.js")):
        for headers in ({}, test_tokens.bearer(tokens["classify"]), test_tokens.bearer("x" * 43)):
            equal(daemon.client.get(path, **headers).ok().body, files()[name], path)
