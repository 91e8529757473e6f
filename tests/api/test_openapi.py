# SPDX-License-Identifier: Apache-2.0
"""openapi.json is well formed, describes every route, and the daemon does what it says."""
import json

import schema
from book import Model
from conformance import is_for_mail_filters
from harness import conformance, equal, holds, quoted
from test_routes import ROUTES

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}
MAIL = "Subject: x\n\nwin the prize\n"
FORM = ('--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}\r\n'
        '--b\r\nContent-Disposition: form-data; name="message"\r\n\r\n' + MAIL + "\r\n--b--\r\n")
FORM_TYPE = "multipart/form-data; boundary=b"
KINDS = ("application/json", "application/x-ndjson", "text/plain", "message/rfc822", "application/mbox", "text/html",
         "application/xml", "text/csv")
NETWORK = {"nodes": [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]}]}


def document(api):
    reply = api.get("/openapi.json").ok()
    equal(reply.headers["content-type"].split(";")[0], "application/json")
    return reply.json


def operations(doc):
    for template, item in doc["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield template, method, item, operation


def test_structure(api):
    doc = document(api)
    holds(doc["openapi"].startswith("3.1"), doc["openapi"])
    for member in ("title", "version"):
        holds(doc["info"].get(member), f"info.{member}")
    ids = []
    for template, method, item, operation in operations(doc):
        where = f"{method} {template}"
        holds(template.startswith("/"), where)
        holds(operation.get("summary") or operation.get("description"), f"{where} is not described")
        ids.append(operation.get("operationId"))
        check_parameters(doc, where, template, item, operation)
        check_bodies(doc, where, item, operation)
    holds(None not in ids and len(set(ids)) == len(ids), f"operationIds: {ids}")
    for name, child in doc.get("components", {}).get("schemas", {}).items():
        schema.read_all(doc, child, name)


def check_parameters(doc, where, template, item, operation):
    parameters = [schema.resolve(doc, p) for p in item.get("parameters", []) + operation.get("parameters", [])]
    for p in parameters:
        holds(p["in"] in ("path", "query", "header") and p["name"], f"{where}: {p}")
        schema.read_all(doc, p["schema"], f"{where} {p['name']}")
        holds(p["in"] != "path" or p.get("required") is True, f"{where}: {p['name']} must be required")
    named = {part[1:-1] for part in template.split("/") if part.startswith("{")}
    equal({p["name"] for p in parameters if p["in"] == "path"}, named, where)


def check_bodies(doc, where, item, operation):
    if "requestBody" in operation:
        body = schema.resolve(doc, operation["requestBody"])
        holds(body["content"], f"{where}: a body without a type")
        for kind, media in body["content"].items():
            schema.read_all(doc, media.get("schema", True), f"{where} {kind}")
            schema.read_all(doc, media.get("x-each-line", True), f"{where} {kind}, a line")
    for status, response in operation["responses"].items():
        response = schema.resolve(doc, response)
        holds(response.get("description"), f"{where} {status}: no description")
        for kind, media in response.get("content", {}).items():
            schema.read_all(doc, media.get("schema", True), f"{where} {status} {kind}")
            schema.read_all(doc, media.get("x-each-line", True), f"{where} {status} {kind}, a line")
            holds(kind != "application/x-ndjson" or (media["schema"], "x-each-line" in media) == ({"type": "string"}, True),
                  f"{where} {status}: lines are a string for whoever does not know them")
        if status[0] in "45":
            kind = "application/json" if is_for_mail_filters(item) and status != "405" else "application/problem+json"
            holds(kind in response.get("content", {}), f"{where} {status}: not a {kind}")


def test_every_route_is_described(api):
    paths = document(api)["paths"]
    for path, methods in ROUTES:
        template = path.replace("{m}", "/v1/models/{model}").replace("/documents/x", "/documents/{id}").replace("/history/x", "/history/{id}")
        template = template.replace("/labels/x", "/labels/{label}").replace("/from/x", "/from/{old}").replace("/networks/x", "/networks/{network}")
        holds(template in paths, f"{template} is not described")
        equal({m.upper() for m in paths[template]} & {m.upper() for m in METHODS} - {"HEAD"}, methods, template)


def test_every_operation_answers(api):
    """Each path and method that is described is there, and its success is as described."""
    doc = document(api)
    with Model(api) as model:
        model.filled()
        model.train("a document", "ham", id="known")
        new = api.name()
        dump = api.get(model.path + "/export").ok().body
        api.put("/v1/networks/" + quoted(model.name), NETWORK).ok(201)
        for template, method, item, operation in operations(doc):
            path = template.replace("{model}", quoted(model.name)).replace("{id}", "known").replace("{label}", "ham")
            path = path.replace("{network}", quoted(model.name)).replace("{file}", "main.js")
            if template.endswith(("/vocabulary", "/sample", "/distribution")):
                path += "?label=spam"
            for body, kind in bodies(template, method, item, dump):
                target = path
                if template.endswith("/from/{old}"):
                    target = f"/v1/models/{api.name()}/from/{quoted(model.name)}"
                if "/history/" in template:
                    api.put(model.path, {"history": 10}).ok()
                    api.post(model.path + "/classify?remember=1", {"text": "win", "id": "known"}).ok()
                if method == "delete" and "/documents/" in template:
                    model.train("a document", "ham", id=new)
                    target = path.rsplit("/", 1)[0] + "/" + new
                elif template.endswith("/promote"):
                    api.post(f"{model.path}/challenger", {"settings": {}}).ok(201)
                elif method == "delete" and not template.endswith("/challenger"):
                    target = path.rsplit("/", 1)[0] + "/" + new
                    if "/labels/" in path:
                        model.train("a document", new, id="of a new label")
                    else:
                        api.put(target, NETWORK if "networks" in path else {}).ok(201)
                if kind not in (None, "application/json", "application/x-ndjson", "text/csv") and template.endswith("/train"):
                    target += "?label=ham"
                reply = api.call(method.upper(), target, body, kind, **needed(doc, operation))
                holds(200 <= reply.status < 300, f"{method} {target} {kind}: {reply.status} {reply.body[:300]}")
                equal(conformance.fault(method.upper(), target, reply), None)
                if method == "patch" and "/labels/" in template:
                    api.call("PATCH", model.path + "/labels/a%20new%20name", {"name": "ham"}).ok()


def needed(doc, operation):
    """The header fields that an operation requires."""
    parameters = [schema.resolve(doc, p) for p in operation.get("parameters", [])]
    return {p["name"]: "ham" for p in parameters if p["in"] == "header" and p.get("required")}


def bodies(template, method, item, dump):
    if template == "/checkv3":
        return [(FORM, FORM_TYPE)]
    if is_for_mail_filters(item):
        return [(MAIL, None), (MAIL, "application/xml")] if "post" in item else [(None, None)]
    if method == "patch" and "/documents/" in template:
        return [({"label": "ham"}, "application/json")]
    if method == "patch":
        return [({"name": "a new name"}, "application/json")]
    if method not in ("post", "put"):
        return [(None, None)]
    if template.endswith("/import"):
        return [(dump, "application/x-ndjson")]
    if template == "/v1/models/{model}":
        return [({}, "application/json"), ({"smoothing": 2.0, "decision": "stacked"}, "application/json")]
    if template == "/v1/backup":
        return [(None, None)]
    if template == "/v1/networks/{network}":
        return [(NETWORK, "application/json")]
    if template.endswith("/query"):
        return [({}, "application/json"), ({"samples": 2, "evidence": {"a": "x"}}, "application/json"),
                ({"equivalent": {}}, "application/json")]
    if template.endswith("/learn"):
        return [({"columns": ["a", "b"], "rows": [["x", "y"], ["x", None]]}, "application/json"),
                ('{"a": "x", "b": "y"}\n', "application/x-ndjson"), ("a,b\nx,y\n", "text/csv")]
    if template == "/v1/classify":
        return [({"models": ["nobody-made-it"], "text": "win the prize"}, "application/json")]
    if "/quarantine/" in template:
        return [({"source": "nobody"}, "application/json"), ({"all": True}, "application/json")]
    if template.endswith("/cluster"):
        return [({"clusters": "auto", "documents": "all", "members": True}, "application/json")]
    if template.endswith("/challenger"):
        return [({"settings": {"smoothing": 0.5}}, "application/json")]
    if template.endswith(("/em", "/promote")):
        return [(None, None)]
    if template.endswith("/label"):
        return [({"label": "ham"}, "application/json")]
    if template.endswith("/undo"):
        return [({"source": "nobody"}, "application/json"), ({"ids": ["none"], "dry_run": True}, "application/json")]
    one = {"text": "win the prize", "label": "spam", "id": "sent"}
    return [(one, "application/json"), ({"documents": [one]}, "application/json"), (json.dumps(one) + "\n", "application/x-ndjson"),
            (MAIL, "message/rfc822") if not template.endswith("untrain") else (json.dumps({"id": "none"}), "application/x-ndjson"),
            ("From x\n" + MAIL + "\n", "application/mbox"), ("text,label,id\nwin the prize,spam,sent\n", "text/csv"),
            ("win the prize", "text/plain") if not template.endswith("untrain") else ('{"id": "none"}\n', "application/x-ndjson")]


def test_every_request_type_is_taken(api):
    """The media types that are described for a body are those that the daemon does not refuse."""
    doc = document(api)
    with Model(api) as model:
        model.filled()
        for template, method, _, operation in operations(doc):
            if "requestBody" not in operation:
                continue
            described = set(schema.resolve(doc, operation["requestBody"])["content"])
            path = template.replace("{model}", quoted(model.name))
            if template == "/checkv3":
                equal(described, {"multipart/form-data"})
                continue  # what is no form is refused in rspamd's way: test_rspamd_form
            if is_for_mail_filters(doc["paths"][template]):
                equal(described, {"*/*"}, template)
                described = set(KINDS)
            taken = {kind for kind in KINDS if api.call(method.upper(), path, b"\n", kind).status != 415}
            equal(taken, described, f"{method} {template}")


def test_every_query_parameter_is_taken(api):
    """A described parameter is no unknown one; one that is not described is refused by name."""
    doc = document(api)
    with Model(api) as model:
        model.filled()
        for template, method, item, operation in operations(doc):
            parameters = [schema.resolve(doc, p) for p in item.get("parameters", []) + operation.get("parameters", [])]
            names = {p["name"] for p in parameters if p["in"] == "query"}
            path = template.replace("{model}", quoted(model.name)).replace("{id}", "x")
            kind = "text/plain" if template.rsplit("/", 1)[1] in ("train", "untrain", "classify", "tokenize") else \
                "application/json"
            for name in ("label", "id", "limit", "explain", "after", "surprise"):
                if is_for_mail_filters(item):  # they pass over what they do not know
                    body, kind = bodies(template, method, item, None)[0]
                    reply = api.call(method.upper(), f"{path}?{name}=1", body, kind, **needed(doc, operation))
                    holds(reply.status in (200, 208), f"{method} {template}?{name}: {reply.status}")
                    continue
                if method == "delete" or template.endswith("/import"):
                    continue
                body = None if method == "get" else b"{}"
                reply = api.call(method.upper(), f"{path}?{name}=1", body, kind if body else None)
                unknown = reply.status == 400 and name in reply.json["detail"] and "unknown" in reply.json["detail"]
                equal(unknown, name not in names, f"{method} {template}?{name}: {reply.status} {reply.body[:200]}")


def test_examples_fit_their_schemas(api):
    doc = document(api)

    def walk(node, where):
        if isinstance(node, dict):
            if "schema" in node and "example" in node:
                schema.validate(doc, node["schema"], node["example"], where)
            for name, example in (node.get("examples") or {}).items() if isinstance(node.get("examples"), dict) else ():
                if "schema" in node and isinstance(example, dict) and "value" in example:
                    schema.validate(doc, node["schema"], example["value"], f"{where} {name}")
            for key, child in node.items():
                walk(child, f"{where}/{key}")
        elif isinstance(node, list):
            for i, child in enumerate(node):
                walk(child, f"{where}/{i}")
    walk(doc, "")
