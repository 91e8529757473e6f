# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks say of themselves: refusals, verdicts, and the table in the README."""
import importlib.machinery
import importlib.util
import io
import os
from contextlib import redirect_stdout

from harness import equal, holds

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def script():
    loader = importlib.machinery.SourceFileLoader("bench", os.path.join(TOP, "scripts", "bench"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
    loader.exec_module(module)
    return module


def refuses(bench, folder):
    try:
        bench.require_release(folder)
    except SystemExit as stop:
        return str(stop)
    return ""


def test_only_release_builds_are_measured(api):
    bench, folder = script(), api.new_folder()
    holds("no build folder" in refuses(bench, folder), "a folder without a build")
    for flags, wanted in (("gcc -std=c11 -g -O2 -pie", False), ("gcc -g -O3", False),
                          ("gcc -O0 -g3", True), ("gcc -O1 -fsanitize=thread", True),
                          ("gcc -O2 -fsanitize=address", True), ("gcc -O2 --coverage", True)):
        with open(os.path.join(folder, "flags"), "w", encoding="ascii") as file:
            file.write(flags + "\n")
        equal(bool(refuses(bench, folder)), wanted, flags)


def test_targets_are_judged_the_right_way_round(api):
    figures = script().Figures()
    with redirect_stdout(io.StringIO()) as out:
        for value, least, most in ((5, 4, None), (3, 4, None), (3, None, 4), (5, None, 4), (5, None, None)):
            figures.add("b", "what", value, "unit", at_least=least, at_most=most)
    equal([row.get("met") for row in figures.rows], [True, False, True, False, None])
    lines = out.getvalue().splitlines()
    equal([line.count("NOT MET") for line in lines], [0, 1, 0, 1, 0])
    holds("at most 4" in lines[3] and "at least 4" in lines[1], lines)


def test_bodies_are_framed_as_the_generator_reads_them(api):
    bench, path = script(), os.path.join(api.new_folder(), "bodies")
    bench.framed(path, [b"first\nline", b""])
    with open(path, "rb") as file:
        equal(file.read(), b"10\nfirst\nline0\n")
    equal(bench.first_body(path), b"first\nline")


def test_mails_of_a_folder_are_read_in_order(api):
    bench, folder = script(), api.new_folder()
    os.makedirs(os.path.join(folder, "b", "cur"))
    for name, content in (("b/cur/1", b"second"), ("a", b"first"), ("b/cur/2", b"third\n")):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    equal(list(bench.files_below(folder)), [b"first", b"second", b"third\n"])
