# SPDX-License-Identifier: Apache-2.0
"""SECURITY.md: each claim names tests that exist. The units: what systemd says of their rights."""
import os
import re
import subprocess

from harness import equal, holds

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXPOSURE = 1.5


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def is_there(name):
    """`module.test_x` of tests/api, `tests/unit/.../test_x.c:case`, `tests/nodes/test_x.py:test_y`, or `tests/fuzz/fuzz_x.c`."""
    path, _, case = name.partition(":")
    if name.startswith("tests/"):
        if not os.path.exists(os.path.join(ROOT, path)):
            return False
        if path.endswith(".py"):
            return bool(case) and f"\ndef {case}(" in read(path)
        return f"START_TEST({case})" in read(path) if case else path.startswith("tests/fuzz/")
    module, _, function = name.partition(".")
    file = os.path.join("tests", "api", module + ".py")
    return os.path.exists(os.path.join(ROOT, file)) and re.search(rf"^def {function}\(\w+\):", read(file), re.M) is not None


def claims():
    """[(claim, names of tests)] of the table that says what holds."""
    text = read("SECURITY.md").split("## What holds", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").rsplit("|", 1) for line in text.splitlines() if line.startswith("| ")]
    return [(claim.strip(), re.findall(r"`([^`]+)`", tests)) for claim, tests in rows[1:]]


def test_each_claim_has_tests_that_exist(_api):
    rows = claims()
    holds(len(rows) > 15, f"{len(rows)} claims are read")
    for claim, tests in rows:
        holds(tests, f"no test holds: {claim}")
        for name in tests:
            holds(is_there(name), f"{name}, which shall hold '{claim}', is not there")


def test_the_check_finds_what_is_missing(_api):
    for name in ("test_access.test_nothing_of_the_kind", "test_nothing.test_x", "tests/fuzz/fuzz_nothing.c",
                 "tests/unit/server/http/test_peer.c:nothing", "tests/unit/nothing.c:nothing", "tests/nodes/test_samples.py:test_nothing",
                 "tests/nodes/test_samples.py", "scripts/check-layers"):
        equal(is_there(name), False, name)


def exposure(unit):
    """By `systemd-analyze security`: 0 is the least, 10 the most."""
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", os.path.join(ROOT, "config", unit)],
                          capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+ ([0-9.]+)", done.stdout)
    holds(found, done.stdout[-500:] + done.stderr)
    return float(found.group(1))


def test_the_units_are_locked_down(_api):
    for unit in ("bayesd.service", "bayesd-milter.service"):
        holds(exposure(unit) < EXPOSURE, f"{unit}: {exposure(unit)}")


def test_the_units_reload(_api):
    holds("ExecReload=/bin/kill -HUP $MAINPID\n" in read("config", "bayesd.service"), "no ExecReload")
