# SPDX-License-Identifier: Apache-2.0
"""The console: its files, policy and tags (what it does in a browser: tests/console); the page of a model."""
import functools
import html.parser
import os
import re

import test_tokens
from attributes import Attributes
from book import Model
from harness import equal, holds, quoted, refused

HOSTILE = "<script>alert(1)</script>\"'&amp;"
VOID = {"meta", "input", "br"}
WEB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "server", "console", "web")


@functools.cache
def files():
    """{name: bytes} of the console's folder."""
    return {name: open(os.path.join(WEB, name), "rb").read() for name in sorted(os.listdir(WEB))}


class Page(html.parser.HTMLParser):
    """Elements must be closed in order; text by element, links, inputs, table rows."""

    def __init__(self, reply):
        super().__init__()
        equal(reply.ok().headers["content-type"], "text/html; charset=utf-8")
        self.open, self.text, self.links, self.inputs, self.rows = [], {}, {}, {}, []
        self.seen = set()
        self.feed(reply.body.decode())
        self.close()
        equal(self.open, [], "elements that stay open")
        equal(self.seen & {"script", "iframe", "img", "link", "object"}, set(), "what a page must not have")
        policy = reply.headers["content-security-policy"]
        for part in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
            holds(part in policy, policy)
        equal(reply.headers["x-content-type-options"], "nosniff")

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        attrs = dict(attrs)
        holds(not any(name.startswith("on") for name in attrs), f"{tag} has {attrs}")
        if tag == "input":
            self.inputs[attrs["name"]] = attrs["value"]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append((tag, attrs))

    def handle_endtag(self, tag):
        equal(self.open.pop()[0], tag, "closed in order")

    def handle_data(self, data):
        for tag, attrs in self.open:
            self.text[tag] = self.text.get(tag, "") + data
            if tag == "a":
                self.links[data] = attrs["href"]
            if tag in ("td", "th"):
                self.rows[-1][-1] += data


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


def test_a_label_shows_what_the_api_says(api):
    with Model(api) as model:
        model.filled()
        front = Page(api.get("/models/" + model.name))
        equal(front.text["h1"], model.name)
        counts = api.get(model.path).ok().json["labels"]
        equal(front.rows[1:], [[v, str(counts[v]["documents"]), str(counts[v]["tokens"])] for v in sorted(counts)])
        equal(front.inputs, {})
        page = Page(api.get("/models/" + model.name + front.links["spam"]))
        equal(page.inputs, {"label": "spam", "seed": "0", "length": "50", "temperature": "1"})
        drawn = api.get(model.path + "/sample?label=spam").ok().json["tokens"]
        equal(page.text["blockquote"].split(), drawn)
        estimates = api.get(model.path + "/distribution?label=spam&limit=30").ok().json
        rows = page.rows[len(front.rows) + 1:]
        equal([(row[0], int(row[1])) for row in rows], [(t["token"], t["count"]) for t in estimates["tokens"]])
        for row, t in zip(rows, estimates["tokens"]):
            equal(row[2:], ["%.4g" % p for p in (t["probability"], *t["interval"])])
        holds("P(label) = %.4g" % estimates["prior"]["probability"] in page.text["p"], page.text["p"])
        other = Page(api.get(f"/models/{model.name}?label=spam&seed=7&length=5&temperature=0.5"))
        wanted = api.get(model.path + "/sample?label=spam&seed=7&length=5&temperature=0.5").ok().json["tokens"]
        equal(other.text["blockquote"].split(), wanted)
        equal(other.inputs, {"label": "spam", "seed": "7", "length": "5", "temperature": "0.5"})


def estimates_as_rows(field):
    """A row of the field, and one of each value."""
    head = f"{field['missing']} missing"
    if "mean" in field:
        head += "; mean %.4g, standard deviation %.4g" % (field["mean"], field["deviation"])
    return [[field["field"], str(field["documents"]), head],
            *([t["value"], str(t["count"]), *("%.4g" % p for p in (t["probability"], *t["interval"]))]
              for t in field.get("values", []))]


def test_fields_are_shown(api):
    with Attributes(api, {"land": "category", "tags": "set", "n": "number", "<b>": "category"}) as model:
        model.train({"land": HOSTILE, "tags": ["a", HOSTILE], "n": 1.5}, "x", id="1", text="some words")
        model.train({"land": "DE", "tags": ["a"], "n": 4, "<b>": "1"}, "x", id="2")
        page = Page(api.get(f"/models/{model.name}?label=x&seed=3"))
        drawn = api.get(f"{model.path}/sample?label=x&seed=3").ok().json
        values = {**drawn["values"], "tags": ", ".join(drawn["values"]["tags"]), "n": "%.4g" % drawn["values"]["n"]}
        lines = "".join(f"{name} = {value}" for name, value in values.items())
        equal(page.text["blockquote"], " ".join(drawn["tokens"]) + lines)
        fields = api.get(f"{model.path}/distribution?label=x&limit=30").ok().json["fields"]
        rows = [row for field in fields for row in estimates_as_rows(field)]
        equal(len(rows), 4 + 5)
        equal(page.rows[-len(rows):], rows)
        holds("Fields" in page.text["caption"], page.text["caption"])
    with Model(api) as model:
        model.filled()
        holds("Fields" not in Page(api.get(f"/models/{model.name}?label=spam")).text["caption"], "no field is named")


def test_names_are_text(api):
    with Model(api) as model:
        model.train("one two", HOSTILE)
        front = Page(api.get("/models/" + model.name))
        equal(front.rows[1][0], HOSTILE)
        page = Page(api.get("/models/" + model.name + "?label=" + quoted(HOSTILE)))
        equal((page.inputs["label"], page.text["h2"]), (HOSTILE, "A document of " + HOSTILE))
        equal(front.links[HOSTILE], "?label=" + quoted(HOSTILE))


def test_what_cannot_be_shown_is_told(api):
    with Model(api) as model:
        refused(api.get("/models/no-such-model"), 404, "no-such-model")
        refused(api.get("/models/" + model.name + "?label=x"), 404, "x")
        for query in ("seed=x", "length=1001", "temperature=0", "scores=1"):
            refused(api.get("/models/" + model.name + "?" + query), 400, query.split("=")[0])
        model.train("", "empty")
        holds("no words" in Page(api.get("/models/" + model.name + "?label=empty")).text["em"], "an empty label")
    daemon = api.another(config={"store": {"keep_words": "no"}}).start()
    daemon.client.post("/v1/models/m/train", {"text": "one two", "label": "a"}).ok()
    page = Page(daemon.client.get("/models/m?label=a"))
    holds("keep_words" in page.text["em"], page.text)
    equal([row[0][0] for row in page.rows[-2:]], ["#", "#"])


def test_only_the_models_of_the_token(api):
    daemon, tokens, _ = test_tokens.for_users(api)

    def get(token, path):
        return daemon.client.get(path, **test_tokens.bearer(token))
    Page(get(tokens["classify"], "/models/user-ann"))
    refused(get(tokens["classify"], "/models/zoo"), 403, "user-*")
    refused(get("x" * 43, "/models/zoo"), 401)
    equal(daemon.client.get("/").ok().body, files()["index.html"])
