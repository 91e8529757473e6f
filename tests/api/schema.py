# SPDX-License-Identifier: Apache-2.0
"""A JSON Schema validator of as much of draft 2020-12 as an OpenAPI 3.1 document of ours uses.

A keyword that it does not know is an error, so that a schema never passes because it was not read.
"""
import re

ANNOTATIONS = {"title", "description", "default", "example", "examples", "format", "deprecated",
               "contentEncoding", "contentMediaType", "readOnly", "writeOnly", "$comment",
               "$schema", "$id", "$defs", "discriminator"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Mismatch(Exception):
    pass


def resolve(document, node):
    """Follows $ref (local ones only) to what it means."""
    while isinstance(node, dict) and "$ref" in node:
        reference = node["$ref"]
        if not reference.startswith("#/"):
            raise Mismatch(f"reference {reference!r} leaves the document")
        node = document
        for part in reference[2:].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or part not in node:
                raise Mismatch(f"reference {reference!r} leads nowhere")
            node = node[part]
    return node


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool) or \
            isinstance(value, float) and value.is_integer()
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def validate(document, schema, value, where="$"):
    """Raises Mismatch unless `value` is as `schema` (inside `document`) says."""
    if isinstance(schema, bool):
        if not schema:
            raise Mismatch(f"{where}: nothing is allowed here")
        return
    if "$ref" in schema:
        validate(document, resolve(document, schema), value, where)
    for keyword, argument in schema.items():
        if keyword in ANNOTATIONS or keyword.startswith("x-") or keyword == "$ref":
            continue
        if keyword not in KEYWORDS:
            raise Mismatch(f"{where}: the schema's keyword {keyword!r} is not known here")
        KEYWORDS[keyword](document, schema, argument, value, where)


def fail_unless(condition, where, text):
    if not condition:
        raise Mismatch(f"{where}: {text}")


def matches(document, schema, value, where):
    try:
        validate(document, schema, value, where)
        return None
    except Mismatch as mismatch:
        return str(mismatch)


def check_type(document, schema, names, value, where):
    names = [names] if isinstance(names, str) else names
    fail_unless(any(is_type(value, name) for name in names), where,
                f"{value!r:.80} is not of type {'/'.join(names)}")


def check_properties(document, schema, properties, value, where):
    if isinstance(value, dict):
        for name, child in properties.items():
            if name in value:
                validate(document, child, value[name], f"{where}.{name}")


def check_additional(document, schema, child, value, where):
    if not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name in value:
        if name not in known and not any(re.search(p, name) for p in patterns):
            fail_unless(child is not False, where, f"member {name!r} is not described")
            validate(document, child, value[name], f"{where}.{name}")


def check_patterns(document, schema, patterns, value, where):
    if isinstance(value, dict):
        for name in value:
            for pattern, child in patterns.items():
                if re.search(pattern, name):
                    validate(document, child, value[name], f"{where}.{name}")


def check_names(document, schema, child, value, where):
    if isinstance(value, dict):
        for name in value:
            validate(document, child, name, f"{where} (name)")


def check_required(document, schema, names, value, where):
    if isinstance(value, dict):
        for name in names:
            fail_unless(name in value, where, f"member {name!r} is missing")


def check_items(document, schema, child, value, where):
    if isinstance(value, list):
        for i, item in enumerate(value):
            validate(document, child, item, f"{where}[{i}]")


def check_one_of(document, schema, choices, value, where):
    faults = [matches(document, choice, value, where) for choice in choices]
    fits = faults.count(None)
    fail_unless(fits == 1, where, f"fits {fits} of oneOf: {[f for f in faults if f]}")


def check_any_of(document, schema, choices, value, where):
    faults = [matches(document, choice, value, where) for choice in choices]
    fail_unless(None in faults, where, f"fits none of anyOf: {faults}")


def check_all_of(document, schema, choices, value, where):
    for choice in choices:
        validate(document, choice, value, where)


def check_not(document, schema, child, value, where):
    fail_unless(matches(document, child, value, where) is not None, where, "fits what it must not")


def check_dependent(document, schema, needs, value, where):
    if isinstance(value, dict):
        for name, others in needs.items():
            fail_unless(name not in value or all(o in value for o in others), where,
                        f"{name!r} needs {others}")


def check_unique(document, schema, wanted, value, where):
    if wanted and isinstance(value, list):
        fail_unless(len({repr(v) for v in value}) == len(value), where, "items repeat")


def bound(kind, holds):
    """A keyword that compares a number, or the length of a text, list or object, with a limit."""
    def check(document, schema, limit, value, where):
        if kind is float and is_type(value, "number"):
            fail_unless(holds(value, limit), where, f"{value!r} is out of range ({limit!r})")
        elif kind is not float and isinstance(value, kind):
            fail_unless(holds(len(value), limit), where, f"length {len(value)} against {limit}")
    return check


KEYWORDS = {
    "type": check_type, "properties": check_properties, "additionalProperties": check_additional,
    "patternProperties": check_patterns, "propertyNames": check_names, "required": check_required,
    "items": check_items, "oneOf": check_one_of, "anyOf": check_any_of, "allOf": check_all_of,
    "not": check_not, "dependentRequired": check_dependent, "uniqueItems": check_unique,
    "enum": lambda d, s, choices, v, w: fail_unless(v in choices, w, f"{v!r} not in {choices}"),
    "const": lambda d, s, only, v, w: fail_unless(v == only, w, f"{v!r} is not {only!r}"),
    "pattern": lambda d, s, p, v, w: fail_unless(not isinstance(v, str) or re.search(p, v), w,
                                                 f"{v!r:.80} does not match {p!r}"),
    "minimum": bound(float, lambda v, m: v >= m), "maximum": bound(float, lambda v, m: v <= m),
    "exclusiveMinimum": bound(float, lambda v, m: v > m),
    "exclusiveMaximum": bound(float, lambda v, m: v < m),
    "minLength": bound(str, lambda n, m: n >= m), "maxLength": bound(str, lambda n, m: n <= m),
    "minItems": bound(list, lambda n, m: n >= m), "maxItems": bound(list, lambda n, m: n <= m),
    "minProperties": bound(dict, lambda n, m: n >= m),
    "maxProperties": bound(dict, lambda n, m: n <= m),
}


def read_all(document, schema, where="$", seen=None):
    """Walks a schema without a value: every keyword known, every reference leads somewhere."""
    seen = set() if seen is None else seen
    if isinstance(schema, bool) or id(schema) in seen:
        return
    seen.add(id(schema))
    fail_unless(isinstance(schema, dict), where, f"{schema!r:.60} is no schema")
    if "$ref" in schema:
        read_all(document, resolve(document, schema), schema["$ref"], seen)
    for keyword, argument in schema.items():
        known = keyword in KEYWORDS or keyword in ANNOTATIONS or keyword == "$ref"
        fail_unless(known or keyword.startswith("x-"), where, f"keyword {keyword!r} is not known")
        if keyword in ("properties", "patternProperties", "$defs"):
            for name, child in argument.items():
                read_all(document, child, f"{where}.{name}", seen)
        elif keyword in ("oneOf", "anyOf", "allOf"):
            for child in argument:
                read_all(document, child, where, seen)
        elif keyword in ("items", "additionalProperties", "propertyNames", "not"):
            read_all(document, argument, f"{where}.{keyword}", seen)
