# SPDX-License-Identifier: Apache-2.0
"""Paths, methods, presets, and models that come into being with their first document."""
import glob
import json
import math
import os
import re

from book import Model
from harness import equal, holds, near, quoted, refused

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VALGRIND = True
ROUTES = [
    ("/healthz", {"GET"}), ("/readyz", {"GET"}), ("/metrics", {"GET"}), ("/openapi.json", {"GET"}), ("/", {"GET"}),
    ("/v1/classify", {"POST"}), ("/v1/models", {"GET"}), ("{m}", {"GET", "PUT", "DELETE"}), ("{m}/train", {"POST"}), ("{m}/untrain", {"POST"}),
    ("{m}/classify", {"POST"}), ("{m}/tokenize", {"POST"}), ("{m}/vocabulary", {"GET"}),
    ("{m}/sample", {"GET"}), ("{m}/distribution", {"GET"}), ("{m}/documents/x", {"GET", "PATCH", "DELETE"}),
    ("{m}/documents/x/label", {"POST"}), ("{m}/history", {"GET"}), ("{m}/history/x", {"GET"}), ("{m}/next", {"GET"}),
    ("{m}/export", {"GET"}), ("{m}/import", {"PUT"}), ("{m}/labels/x", {"PATCH", "DELETE"}), ("{m}/undo", {"GET", "POST"}), ("{m}/sources", {"GET"}), ("{m}/refit", {"POST"}), ("{m}/challenger", {"GET", "POST", "DELETE"}), ("{m}/challenger/promote", {"POST"}), ("{m}/from/x", {"POST"}),
    ("/v1/backup", {"POST"}), ("{m}/quarantine", {"GET"}), ("{m}/quarantine/effect", {"GET"}),
    ("{m}/quarantine/apply", {"POST"}), ("{m}/quarantine/drop", {"POST"}),
    ("/v1/networks", {"GET"}), ("/v1/networks/x", {"GET", "PUT", "POST", "DELETE"}), ("/v1/networks/x/query", {"POST"}),
    ("/v1/networks/x/learn", {"POST"}),
    ("/v1/nodes", {"GET"}), ("/v1/access", {"GET"}), ("/v1/traffic", {"GET"}), ("{m}/suspects", {"GET"}), ("/v1/state/digest", {"GET"}),
    ("/checkv3", {"POST"}), ("/ping", {"GET"}), ("/stat", {"GET"}), ("/auth", {"GET"}),
    *((path, {"GET", "POST"}) for path in ("/checkv2", "/check", "/symbols", "/scan", "/learnspam", "/learnham")),
]
METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "BREW")


def test_wrong_methods_name_the_right_ones(api):
    with Model(api) as model:
        model.filled()
        for path, right in ROUTES:
            path = path.replace("{m}", model.path)
            for method in METHODS:
                if method in right:
                    continue
                reply = api.call(method, path)
                refused(reply, 405, "Allow")
                named = {name.strip() for name in reply.headers.get("allow", "").split(",")}
                equal(named - {"HEAD"}, right, f"Allow of {method} {path}")
        equal(model.row()["documents"], 7)


def test_pages_of_other_sites_are_refused(api):
    with Model(api) as model:
        model.filled()
        for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://127.0.0.1:1"):
            reply = api.call("POST", model.path + "/train?label=x", "planted", "text/plain", Origin=origin)
            refused(reply, 403, "Origin")
            refused(api.call("DELETE", model.path, Origin=origin), 403)
        host = "localhost:8763"
        api.call("POST", model.path + "/classify", "free", "text/plain", Host=host, Origin="http://" + host).ok()
        host = "bayes.example:8763"  # whose name somebody made to point here
        refused(api.call("POST", model.path + "/train?label=x", "planted", "text/plain", Host=host, Origin="http://" + host), 403, "Host")
        equal(model.row()["documents"], 7, "a refused request changed something")


def test_head_is_get_without_a_body(api):
    for path in ("/healthz", "/v1/models", "/metrics", "/openapi.json"):
        reply = api.call("HEAD", path).ok()
        equal(reply.body, b"")
        equal(reply.headers.get("content-type"), api.get(path).headers.get("content-type"), path)
    equal(api.call("HEAD", "/v1/models/" + api.name()).status, 404)


def test_codes_for_programs(api):
    """Each problem has a code, the parameter at fault, and a number of its own; the page lists the codes."""
    path = "/v1/models/codes"
    api.post(path + "/train?label=x", "a", "text/plain").ok()
    seen = set()
    for reply, code, param in ((api.get("/v1/models/nothere"), "model_not_found", None),
                               (api.get(path + "/documents/none"), "document_not_found", "id"),
                               (api.post(path + "/untrain", {"id": "none"}), "document_not_found", "id"),
                               (api.get(path + "/vocabulary?label=none"), "label_not_found", "label"),
                               (api.get(path + "/history?verdict=none"), "label_not_found", "verdict"),
                               (api.get(path + "/history?limit=many"), "invalid_request", "limit"),
                               (api.put(path, {"nosuch": 1}), "invalid_request", "nosuch"),
                               (api.put(path, {"min_count": "many"}), "invalid_request", "min_count"),
                               (api.put(path, {"decision": "bays"}), "unusable_value", "decision"),
                               (api.put(path, {"smoothing": 0}), "unusable_value", "smoothing"),
                               (api.put(path, {"preset": "txet"}), "unusable_value", "preset"),
                               (api.put(path, {}, if_none_match="*"), "already_exists", None),
                               (api.put(path, {"prior": {"x": -1}}), "unusable_value", "prior"),
                               (api.put(path, {"parent": "nothere"}), "unusable_value", "parent"),
                               (api.get(path + "/history?nosuch=1"), "invalid_request", "nosuch"),
                               (api.post(path + "/undo", {"from": "yesterday"}), "invalid_request", "from"),
                               (api.post(path + "/train", {"text": "a"}), "invalid_request", "label"),
                               (api.post(path + "/train", {"text": "a", "label": ""}), "unusable_value", "label"),
                               (api.post(path + "/train", {"text": "a", "label": "x", "id": ""}), "unusable_value", "id"),
                               (api.put("/v1/models/-", {}), "unusable_value", "model"),
                               (api.get("/v1/networks/none"), "network_not_found", None),
                               (api.get("/nowhere"), "not_found", None),
                               (api.call("PATCH", path), "method_not_allowed", None)):
        problem = reply.json
        equal((problem["code"], problem.get("param")), (code, param), problem["detail"])
        seen.add(reply.request_id)
    equal((len(seen), None in seen), (23, False), "each request has an id of its own")
    refused = api.post(path + "/train", {"documents": [{"text": "a", "label": "x", "id": "1"}, {"label": "x"}]}).json["results"][1]["error"]
    equal((refused["code"], "request_id" in refused), ("invalid_request", False), refused)
    with open(os.path.join(TOP, "server", "HTTP.md"), encoding="utf-8") as file:
        page = file.read()
    with open(os.path.join(TOP, "server", "base", "problem.c"), encoding="utf-8") as file:
        codes = set(re.findall(r'\{(?:NB_)?\w+, (?:\d+, )?(?:"[^"]*", )?"([a-z_]+)"\}', file.read())) - {"ok"}
    holds(len(codes) > 20, codes)
    for room in ("core", "server"):  # errors with a code of their own
        for name in glob.glob(os.path.join(TOP, room, "**", "*.c"), recursive=True):
            with open(name, encoding="utf-8") as file:
                codes |= set(re.findall(r'nb_error_about\([^;]*,\s*"([a-z_]+)",\s*(?:NULL|\w+|"\w+")\s*\)', file.read()))
    holds("already_exists" in codes and "label_not_found" in codes and "role_insufficient" in codes, codes)
    equal([code for code in sorted(codes) if f"`{code}`" not in page], [], "codes that HTTP.md does not list")
    listed = api.get("/openapi.json").ok().json["components"]["schemas"]["Problem"]["properties"]["code"]["examples"]
    equal(sorted(codes - set(listed)), [], "codes that openapi.json does not list")


def test_parameters_are_named(api):
    """A mistyped parameter names the one that is meant, any other one all that there are; a request may have all of them."""
    with Model(api) as model:
        model.filled()
        path = model.path + "/classify"
        ask = lambda query: api.post(f"{path}?{query}", "free", "text/plain")
        refused(ask("explian=3"), 400, "unknown query parameter 'explian': did you mean 'explain'?")
        detail = refused(ask("frobnicate=1"), 400, "this path takes explain, ")["detail"]
        with open(os.path.join(TOP, "server", "api", "openapi.json"), encoding="utf-8") as file:
            described = json.load(file)
        parameters = [described["components"]["parameters"][one["$ref"].split("/")[-1]] if "$ref" in one else one
                      for one in described["paths"]["/v1/models/{model}/classify"]["post"]["parameters"]]
        missing = [one["name"] for one in parameters if one["in"] == "query" and f' {one["name"]}' not in detail]
        equal(missing, [], detail)
        reply = ask("explain=1&level=1&label=win&id=x&threshold=.5&positive=win&documents=1&remember=1&word_counts=1&top=2&scores=before-learning"
                    "&cost_fp=1&cost_fn=1&target_fpr=.1&min_known=.5")
        holds("twice" not in reply.body.decode(), reply.body)


def test_unknown_paths(api):
    with Model(api) as model:
        for path in ("/v1", "/v1/", "/v2/models", "/v1/nothing", "/v1/models/", "//v1/models", model.path + "/",
                     model.path + "/nothing", model.path + "/train/", model.path + "/documents", "/etc/passwd",
                     model.path + "/documents/a/b", "/%2e%2e/etc/passwd", "/../etc/passwd", "/healthz/", "/HEALTHZ", "/v1/Models"):
            reply = api.get(path)
            holds(reply.status in (404, 422) if path.endswith("/") else reply.status == 404, f"{path}: {reply.status}")
            refused(reply, reply.status)


def test_paths_are_decoded_once(api):
    with Model(api) as model:
        model.train("word", "a", id="a%2Fb")
        model.train("word word", "a", id="a/b")
        equal(api.get(model.path + "/documents/a%252Fb").ok().json["tokens"], 1)
        equal(api.get(model.path + "/documents/a%2Fb").ok().json["tokens"], 2)
        equal(api.get(model.path + "/documents/a%2fb").ok().json["id"], "a/b")
        model.train("one two three", "a", id="a+b")
        equal(api.get(model.path + "/documents/a+b").ok().json["tokens"], 3)
        name = "".join(f"%{ord(c):02x}" for c in model.name)
        equal(api.get("/v1/models/" + name).ok().json["name"], model.name)


def test_list_of_models(api):
    with Model(api) as one, Model(api) as other:
        one.filled()
        rows = {row["name"]: row for row in api.get("/v1/models").ok().json["models"]}
        names = [row["name"] for row in api.get("/v1/models").json["models"]]
        equal(names, sorted(names), "by name")
        row = rows[one.name]
        equal((row["documents"], sorted(row["labels"])), (7, ["ham", "spam"]))
        full = one.row()
        equal({k: full[k] for k in row}, row)
        equal(rows[other.name]["documents"], 0)
        equal(rows[other.name]["labels"], {})


def test_first_document_makes_the_model(api):
    name = api.name()
    path = "/v1/models/" + quoted(name)
    receipt = api.post(path + "/train", {"text": "hello world", "label": "a"}).ok().json
    equal((receipt["status"], receipt["model"]), ("learned", name))
    api.post(path + "/train", {"text": "bye world", "label": "b"}).ok()
    got = api.post(path + "/classify", {"text": "bye"}).ok().json
    equal((got["label"], "calibrated" in got), ("b", True))
    near(got["log_scores"]["b"], math.log(1 / 2 * 2 / 5), "by the book, whatever decides")
    settings = api.get(path).json["settings"]
    equal((settings["preset"], settings["decision"], settings["twin"], settings["event_model"], settings["smoothing"],
           settings["prior"], settings["min_count"], settings["skip_top"]),
          ("text", "stacked", True, "multinomial", 1.0, "empirical", 0, 0))
    api.delete(path).ok(204)


def test_failed_first_document_makes_no_model(api):
    path = "/v1/models/" + api.name()
    refused(api.post(path + "/train", {"text": "x"}), 400)
    refused(api.post(path + "/train", {"text": "x", "label": ""}), 422)
    equal(api.post(path + "/train", {"documents": [{"text": "x"}]}).ok().json["failed"], 1)
    api.post(path + "/train", "{broken\n", "application/x-ndjson").ok()
    refused(api.post(path + "/untrain", {"id": "x"}), 404)
    refused(api.get(path), 404)


def test_mail_makes_a_model_for_mail(api):
    mail = "From: a@example.org\nSubject: hello\n\nsome words\n"
    for kind, body in (("application/json", {"mail": mail, "label": "ham"}), ("message/rfc822", mail)):
        path = "/v1/models/" + api.name()
        query = "?label=ham" if kind == "message/rfc822" else ""
        api.post(f"{path}/train{query}", body, kind).ok()
        settings = api.get(path).ok().json["settings"]
        equal(settings["decision"], "stacked")
        preset = "/v1/models/" + api.name()
        api.put(preset, {"preset": "mail"}).ok(201)
        equal(api.get(preset).json["settings"], settings, "the preset says the same outright")
        api.delete(path).ok(204)
        api.delete(preset).ok(204)


def test_presets(api):
    own = ("preset", "decision", "tokenizer", "unlabelled_weight")
    path = "/v1/models/" + api.name()
    api.put(path, {}).ok(201)
    text = api.get(path).json["settings"]
    equal(text["tokenizer"]["fields"], ["body", "subject", "structure", "url", "case", "pair", "ngram"])
    for preset, decision, fields in (("text", "stacked", 7), ("book", "bayes", 2), ("mail", "stacked", 11)):
        api.put(path, {"preset": preset}).ok(200)
        settings = api.get(path).json["settings"]
        equal((settings["preset"], settings["decision"], len(settings["tokenizer"]["fields"])), (preset, decision, fields))
        equal(settings["unlabelled_weight"], 0 if preset == "book" else "auto")
        equal({k: v for k, v in settings.items() if k not in own}, {k: v for k, v in text.items() if k not in own})
    api.put(path, {"preset": "mail", "smoothing": 0.5}).ok(200)
    equal(api.get(path).json["settings"]["smoothing"], 0.5)
    api.delete(path).ok(204)


def test_another_preset_with_documents(api):
    """Whoever has counted more than a preset reads can change to it, and back; who has counted less cannot."""
    with Model(api, preset="text") as model:
        model.filled()
        before = model.row()["settings"]
        refused(api.put(model.path, {"preset": "mail"}), 409, "tokenizer")
        model.put(preset="book")
        model.assert_exact(("win the garden prize",))
        holds("calibrated" not in model.classify("win"), "by the book")
        equal(model.row()["settings"]["tokenizer"], before["tokenizer"], "what is counted stays")
        model.put(preset="text")
        equal(model.row()["settings"], before)
    with Model(api, preset="book") as model:
        model.filled()
        refused(api.put(model.path, {"preset": "text"}), 409, "tokenizer")
        model.put(preset="book", decision="stacked")
        holds("calibrated" in model.classify("win"), "stacked")


def test_log_scores_are_the_books_whatever_decides(api):
    """A stacked model's label may differ; its log scores may not."""
    with Model(api, preset="mail") as model:
        model.settings = {"decision": "stacked"}
        model.filled()
        for text in ("win the garden prize", "Click at nine by the station, Ann", "unheard", ""):
            got = model.classify(text)
            want = model.expected(text)
            for label, score in want.items():
                near(got["log_scores"][label], score, text)
