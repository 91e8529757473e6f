# SPDX-License-Identifier: Apache-2.0
"""A strict reader of the Prometheus text format, version 0.0.4."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)(?: (-?\d+))?$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class Fault(AssertionError):
    pass


def fail_unless(condition, text):
    if not condition:
        raise Fault(text)


class Family:
    def __init__(self, name):
        self.name, self.help, self.type, self.samples = name, None, None, {}


class Page:
    def __init__(self):
        self.families = {}

    def value(self, name, **labels):
        """The value of one sample; 0 if a counter has none of these labels yet."""
        family = self.families.get(family_name(self, name))
        fail_unless(family is not None, f"no metric {name}")
        return family.samples.get((name, tuple(sorted(labels.items()))), 0.0)

    def sum(self, name, **labels):
        """The sum over all samples that have at least these labels."""
        family = self.families[family_name(self, name)]
        return sum(v for (n, pairs), v in family.samples.items()
                   if n == name and set(labels.items()) <= set(pairs))


def family_name(page, sample):
    """Samples of a histogram, and those of a summary, are named after it with a suffix."""
    for suffix, kinds in (("_bucket", ("histogram",)), ("_sum", ("histogram", "summary")), ("_count", ("histogram", "summary"))):
        base = sample[:-len(suffix)]
        if sample.endswith(suffix) and base in page.families and page.families[base].type in kinds:
            return base
    return sample


def parse_labels(text, line):
    labels, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        fail_unless(match, f"bad labels: {line!r}")
        fail_unless(match[1] not in labels, f"label {match[1]} twice: {line!r}")
        labels[match[1]] = match[2].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        at = match.end()
    return tuple(sorted(labels.items()))


def parse_comment(page, line):
    kind, name, rest = line[2:].split(" ", 2)
    fail_unless(kind in ("HELP", "TYPE"), f"unknown comment: {line!r}")
    fail_unless(re.fullmatch(NAME, name), f"bad name: {line!r}")
    family = page.families.setdefault(name, Family(name))
    fail_unless(not family.samples, f"{kind} of {name} after its samples")
    attribute = kind.lower()
    fail_unless(getattr(family, attribute) is None, f"{kind} of {name} twice")
    fail_unless(kind == "HELP" and rest or rest in TYPES, f"bad {kind}: {line!r}")
    setattr(family, attribute, rest)
    return family


def parse(text):
    """The page, all of its rules checked."""
    page, current = Page(), None
    fail_unless(text.endswith("\n"), "the last line has no end")
    for line in text.split("\n")[:-1]:
        if not line:
            continue
        if line.startswith("#"):
            current = parse_comment(page, line)
            continue
        match = SAMPLE.match(line)
        fail_unless(match, f"not a sample: {line!r}")
        family = page.families.get(family_name(page, match[1]))
        fail_unless(family is not None and family.type and family.help, f"no HELP and TYPE before {line!r}")
        fail_unless(family is current, f"samples of {family.name} are not together: {line!r}")
        key = match[1], parse_labels(match[2], line)
        fail_unless(key not in family.samples, f"twice: {line!r}")
        family.samples[key] = float(match[3])
    for family in page.families.values():
        check_family(family)
    return page


def check_family(family):
    fail_unless(family.type and family.help, f"{family.name} lacks HELP or TYPE")
    for (name, _), value in family.samples.items():
        fail_unless(value == value and abs(value) != float("inf"), f"{name} is {value}")
        fail_unless(family.type == "gauge" or value >= 0, f"{name} is below 0")
    if family.type == "counter":
        fail_unless(family.name.endswith("_total"), f"counter {family.name} does not end in _total")
    if family.type == "histogram":
        check_histogram(family)


def check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        rest = tuple(pair for pair in labels if pair[0] != "le")
        entry = series.setdefault(rest, {"buckets": [], "sum": None, "count": None})
        if name.endswith("_bucket"):
            entry["buckets"].append((float(dict(labels)["le"]), value))
        else:
            entry[name.rsplit("_", 1)[1]] = value
    for labels, entry in series.items():
        where = f"{family.name}{dict(labels)}"
        bounds, counts = zip(*entry["buckets"])
        fail_unless(list(bounds) == sorted(set(bounds)), f"{where}: bounds {bounds}")
        fail_unless(list(counts) == sorted(counts), f"{where}: buckets are not cumulative: {counts}")
        fail_unless(bounds[-1] == float("inf"), f"{where}: no bucket +Inf")
        fail_unless(counts[-1] == entry["count"], f"{where}: +Inf is not the count")
        fail_unless(entry["sum"] is not None, f"{where}: no sum")
