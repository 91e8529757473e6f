# SPDX-License-Identifier: Apache-2.0
"""Holds the replies that the tests get against what openapi.json says about them."""
import json
import threading
import urllib.parse

import schema

MOST_BYTES = 100_000  # longer replies are checked by what the tests themselves expect


def is_for_mail_filters(item):
    """Whether a path is of rspamd's protocol, which has its own ways."""
    return any("mail filters" in operation.get("tags", ()) for operation in item.values()
               if isinstance(operation, dict))


class Conformance:
    """Any thread may report a reply; the faults are told once, at the end of the run."""

    def __init__(self):
        self.document = None
        self.replies = 0
        self.faults = {}
        self.seen = set()  # (template, method, status)
        self.lock = threading.Lock()

    def learn(self, client):
        """Reads openapi.json from a daemon, once a run."""
        if self.document is not None:
            return
        self.document = {}
        reply = client.request("GET", "/openapi.json", None, {})
        if reply.status == 200:
            self.document = json.loads(reply.body)
        self.templates = sorted(self.document.get("paths", {}), key=lambda t: t.count("{"))

    def template(self, path):
        path = urllib.parse.urlsplit(path).path
        parts = path.split("/")
        for template in self.templates:
            wanted = template.split("/")
            if len(wanted) == len(parts) and all(
                    w == p or (w.startswith("{") and p) for w, p in zip(wanted, parts)):
                return template
        lower = path.lower()  # mail filters write their paths as they like
        return lower if is_for_mail_filters(self.document["paths"].get(lower, {})) else None

    def saw(self, method, path, reply):
        if not self.document:
            return
        fault = self.fault(method, path, reply)
        with self.lock:
            self.replies += 1
            if fault:
                self.faults.setdefault(fault, f"{method} {path} -> {reply.status} {reply.body[:300]!r}")

    def fault(self, method, path, reply):
        template = self.template(path)
        item = self.document["paths"].get(template, {})
        operation = item.get(method.lower())
        if operation is None or method == "HEAD":
            return None  # wrong paths and methods are tests of their own
        place = f"{method} {template} {reply.status}"
        self.seen.add((template, method.lower(), str(reply.status)))
        described = operation["responses"].get(str(reply.status)) or \
            operation["responses"].get("default")
        if described is None:
            return f"{place}: the status is not described"
        described = schema.resolve(self.document, described)
        return self.body_fault(place, described.get("content", {}), reply)

    def body_fault(self, place, content, reply):
        kind = reply.headers.get("content-type", "").split(";")[0].strip()
        if not content:
            return f"{place}: a body that is not described" if reply.body else None
        if kind not in content:
            return f"{place}: type {kind!r} is not one of {sorted(content)}"
        media = schema.resolve(self.document, content[kind])
        if "schema" not in media or len(reply.body) > MOST_BYTES:
            return None
        try:
            for value in self.values(kind, reply.body):
                schema.validate(self.document, media.get("x-each-line", media["schema"]), value)
        except (schema.Mismatch, ValueError) as error:
            return f"{place}: {error}"
        return None

    def values(self, kind, body):
        if kind == "application/json" or kind.endswith("+json"):
            return [json.loads(body)]
        if kind == "application/x-ndjson":
            return [json.loads(line) for line in body.split(b"\n")[:-1]]
        return []  # texts

    def assert_held(self):
        if self.faults:
            raise AssertionError(f"of {self.replies} replies these differ from openapi.json:\n" + "\n".join(
                f"      {fault}\n        e.g. {example}" for fault, example in self.faults.items()))
