# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks say of themselves: refusals, verdicts, and the table of figures."""
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout

from harness import equal, holds, patience

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def script(name="bench"):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOP, "scripts", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
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


PERF = """\
PERF_RECORD_MMAP2 7/7: [0x5590001000(0x2000) @ 0x1000 08:01 9 0]: r-xp /usr/bin/bayesd
PERF_RECORD_MMAP2 7/7: [0x5590003000(0x2000) @ 0x3000 08:01 9 0]: r--p /usr/bin/bayesd
PERF_RECORD_MMAP2 7/7: [0x7f00001000(0x9000) @ 0 08:01 9 0]: r-xp /lib/libc.so.6
      5590001234 nb_score+0x34 (/usr/bin/bayesd)
      7f00001500 __memcpy_avx+0x10 (/lib/libc.so.6)
ffffffff81000000 [unknown] ([kernel.kallsyms])
"""


def test_samples_of_a_profile_are_places_in_the_program(api):
    profile = script("profile")
    equal(profile.read_samples(PERF, "/usr/bin/bayesd"),
          [(0x1234, "nb_score", None), (None, "__memcpy_avx", "libc.so.6"),
           (None, "[unknown]", "[kernel.kallsyms]")])
    for recorded, wanted in (("/elsewhere/bayesd/./core/base/buffer.c", "core/base/buffer.c"),
                             ("../other/./core/base/buffer.c", "core/base/buffer.c"),
                             ("/usr/include/xxhash.h", "/usr/include/xxhash.h"), ("??", "??")):
        equal(profile.in_tree(recorded), wanted)
    equal([profile.folder_of(name) for name in ("core/base/buffer.c", "/usr/include/xxhash.h", "??")],
          ["core/base", "libraries' headers", "libraries' headers"])


def test_targets_are_judged_the_right_way_round(api):
    figures = script().measure.Figures()
    with redirect_stdout(io.StringIO()) as out:
        for value, least, most in ((5, 4, None), (3, 4, None), (3, None, 4), (5, None, 4), (5, None, None)):
            figures.add("b", "what", value, "unit", at_least=least, at_most=most)
    equal([row.get("met") for row in figures.rows], [True, False, True, False, None])
    lines = out.getvalue().splitlines()
    equal([line.count("NOT MET") for line in lines], [0, 1, 0, 1, 0])
    holds("at most 4" in lines[3] and "at least 4" in lines[1], lines)


def test_bodies_are_framed_as_the_generator_reads_them(api):
    bench, path = script(), os.path.join(api.new_folder(), "bodies")
    bench.parts.framed(path, [b"first\nline", b""])
    with open(path, "rb") as file:
        equal(file.read(), b"10\nfirst\nline0\n")
    equal(bench.parts.first_body(path), b"first\nline")


def written(folder, files):
    for name, content in files:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def test_mails_are_read_with_their_labels(api):
    bench, folder = script(), api.new_folder()
    mbox = b"From a Mon Jan  1 00:00:00 2001\nfirst\n\nFrom here on\n\nFrom b Mon Jan  1 00:00:00 2001\nsecond\n"
    written(folder, (("easy_ham/1", b"one"), ("spam_2/cur/2", b"two"), ("ham/all.mbox", mbox), ("other/3", b"none")))
    equal(sorted(bench.mails_of(folder)),
          [("ham", b"first\n\nFrom here on"), ("ham", b"one"), ("ham", b"second\n"), ("spam", b"two")])


def test_an_index_gives_labels_and_order(api):
    bench, folder = script(), api.new_folder()
    written(folder, (("full/index", b"spam ../data/b\nham ../data/a\n"), ("data/a", b"ham"), ("data/b", b"From x\n\nspam")))
    equal(bench.mails_of(folder), [("spam", b"From x\n\nspam"), ("ham", b"ham")])


def test_hostile_and_healthy_clients(api):
    """Those of `make stress` do what they say: all kinds run, and the healthy ones are counted one by one."""
    folder = os.path.join(TOP, "tests", "bench")
    api.post("/v1/models/healthy/train", {"documents": [{"label": label, "text": label} for label in ("a", "b")]}).ok()

    def run(name, *arguments):
        done = subprocess.run([sys.executable, os.path.join(folder, name), str(api.daemon.port), *arguments],
                              capture_output=True, text=True, timeout=patience(120), check=False)
        equal((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    said = run("hostile.py", "1", "16", "slow_head,slow_body,half_request,unread_reply,many,spamc,half_line")
    holds(len(said) == 7 and all(said.values()), said)
    said = run("paced.py", "1", "/v1/models/healthy/classify", "a")
    equal((said["requests"], said["refused"]), (150, 0))
    holds(0 < said["p50_ms"] <= said["p99_ms"] <= said["max_ms"], said)
