# SPDX-License-Identifier: Apache-2.0
"""What .ci/run says of the tests and the linters: its last line, and its exit status, which has to agree with it."""
import os
import shutil
import subprocess

from harness import equal, holds, patience

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MAKE = """#!/bin/sh
# make GOAL: what the file GOAL in the folder 'said' holds, and the status in GOAL.status.
goal=said/$1
[ ! -f "$goal" ] || cat "$goal"
[ ! -f "$goal.status" ] || exit "$(cat "$goal.status")"
"""
GOALS = ("check", "check-interop", "check-peers", "check-openapi", "check-console", "check-monitoring", "check-nodes",
         "check-deb")


def write(name, text):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(name, 0o755)


def ran(api, **said):
    """Exit status and last line of .ci/run, where each goal says '2 passed, 0 failed' but for what is given."""
    folder = api.new_folder()
    os.makedirs(os.path.join(folder, ".ci"))
    shutil.copy(os.path.join(TOP, ".ci", "run"), os.path.join(folder, ".ci"))
    write(os.path.join(folder, "scripts", "install-deps"), "#!/bin/sh\n")
    write(os.path.join(folder, "bin", "make"), MAKE)
    for goal in GOALS:
        write(os.path.join(folder, "said", goal), said.get(goal, "2 passed, 0 failed\n"))
    for goal, status in said.get("statuses", {}).items():
        write(os.path.join(folder, "said", goal + ".status"), str(status))
    done = subprocess.run([os.path.join(folder, ".ci", "run")], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"]},
                          timeout=patience(60))
    return done.returncode, done.stdout.splitlines()[-1]


def test_the_status_agrees_with_the_last_line(api):
    # Linters that end before the tests, and after them, are waited for alike.
    equal(ran(api), (0, "17 passed, 0 failed"), "all is well")
    equal(ran(api, statuses={"lint": 2}), (1, "16 passed, 1 failed"), "the linters found something")
    equal(ran(api, **{"check-nodes": "1 passed, 3 failed\n", "statuses": {"check-nodes": 2}}),
          (1, "16 passed, 3 failed"), "tests that failed")


def test_what_ends_without_a_total_failed(api):
    for what, said in (("no output", {"check": ""}), ("nothing passed", {"check": "0 passed, 0 failed\n"}),
                       ("a status", {"statuses": {"check": 2}})):
        status, line = ran(api, **said)
        equal(status, 1, what)
        holds(line.endswith(" passed, 1 failed"), f"{what}: {line}")
