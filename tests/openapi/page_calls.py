#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the calls by curl that pages show as calls of openapi-fetch, for a compiler of TypeScript to check.

    page_calls.py openapi.json PAGE.md... >page_calls.ts

Numbers in a query are written as the description says, because an address has no types. Ends with 1 when a path is not
described, and when the pages have no call at all.
"""
import json
import re
import shlex
import sys
import urllib.parse

HEAD = """// Made by page_calls.py.
import createClient from "openapi-fetch";
import type { paths } from "./bayesd.d.ts";

const daemon = createClient<paths>();
const asText = (body: unknown) => String(body);
export const calls = [
"""


def words_of(command):
    """The words of a command, without what follows it in a pipe; None: a quotation goes on in the next line."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    return words[:next((i for i, word in enumerate(words) if set(word) <= set("|<>")), len(words))]


def commands(page):
    """(number of the line, words) of each call by curl."""
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines):
        found = re.match(r" *\$ (curl .*)|    (curl .*)", line)
        if not found:
            continue
        command = found.group(1) or found.group(2)
        at = number
        while command.endswith("\\") or words_of(command) is None:
            at += 1
            command = (command[:-1] if command.endswith("\\") else command + "\n") + lines[at]
        yield number + 1, words_of(command)


def read(words):
    """(method, address, media type, body) of a call."""
    method = address = media = body = None
    at = iter(words[1:])
    for word in at:
        if word in ("-X", "--request"):
            method = next(at)
        elif word in ("-H", "--header"):
            name, _, value = next(at).partition(":")
            media = value.strip() if name.lower() == "content-type" else media
        elif word in ("-d", "--data", "--data-binary"):
            body = next(at)
        elif word in ("-T", "--upload-file"):
            method, body = method or "PUT", "@" + next(at)
        elif word in ("-o", "-w", "-u", "-m", "--unix-socket", "--cacert", "--cert", "--key"):
            next(at)
        elif not word.startswith("-"):
            address = word
    return method or ("GET" if body is None else "POST"), address, media, body


def described(doc, path):
    """The template of a path and the values of its parameters; None: it is not described."""
    for template in sorted(doc["paths"], key=lambda one: one.count("{")):
        found = re.fullmatch(re.sub(r"\{\w+\}", "([^/]+)", template), path)
        if found:
            return template, dict(zip(re.findall(r"\{(\w+)\}", template), map(urllib.parse.unquote, found.groups())))
    return None


def is_number(doc, template, method, name):
    """Whether a parameter of the query is a number, by its description."""
    path = doc["paths"][template]
    for one in path.get("parameters", []) + path.get(method.lower(), {}).get("parameters", []):
        one = doc["components"]["parameters"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        if (one["in"], one["name"]) == ("query", name):
            return one.get("schema", {}).get("type") in ("integer", "number")
    return False


def call(doc, words):
    """The call in TypeScript; a text: why there is none."""
    method, address, media, body = read(words)
    url = urllib.parse.urlsplit(address)
    found = described(doc, url.path)
    if found is None:
        return None, f"{url.path} is not described"
    template, path = found
    query = {name: float(value) if is_number(doc, template, method, name) else value for name, value in urllib.parse.parse_qsl(url.query, True)}
    params = {**({"path": path} if path else {}), **({"query": query} if query else {})}
    parts = [f"params: {json.dumps(params)}"] if params else []
    if body is not None and media == "application/json" and not body.startswith("@"):
        parts.append(f"body: {body}")
    elif body is not None:
        parts.append(f"body: {json.dumps(body)}, bodySerializer: asText")
    return f"  () => daemon.{method}({json.dumps(template)}, {{ {', '.join(parts)} }}),", None


def main(api, *pages):
    with open(api, encoding="utf-8") as file:
        doc = json.load(file)
    count = faults = 0
    sys.stdout.write(HEAD)
    for page in pages:
        for line, words in commands(page):
            text, fault = call(doc, words)
            count += 1
            faults += text is None
            if fault:
                print(f"{page}:{line}: {fault}", file=sys.stderr)
            else:
                print(f"  // {page}:{line}\n{text}")
    print("];")
    print(f"{count} calls", file=sys.stderr)
    return 1 if faults > 0 or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
