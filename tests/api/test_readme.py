# SPDX-License-Identifier: Apache-2.0
"""The commands that the README shows do what the README shows.

Every ```console block is a session: lines after "$ " are run by a shell (a line that ends with a
backslash or has an open quote goes on), what stands below them must come out. "…" in the README stands
for anything; where both sides are JSON without "…" they are compared as such, numbers as rounded.
"""
import json
import math
import os
import re
import shlex
import shutil
import subprocess

from harness import equal, holds, patience
from test_client import COMMANDS, Bayesc

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ADDRESS = "127.0.0.1:8763"
CLIENTS = os.path.join("clients", "README.md")
NETWORKS = os.path.join("server", "NETWORKS.md")
TUTORIAL = os.path.join("server", "TUTORIAL.md")
MIGRATING = os.path.join("config", "MIGRATING.md")
TROUBLESHOOTING = os.path.join("config", "TROUBLESHOOTING.md")
OPERATIONS = os.path.join("config", "OPERATIONS.md")
# One story: each goes on where the one before it ends.
STORY = ("README.md", os.path.join("server", "HTTP.md"), os.path.join("server", "MODELS.md"),
         os.path.join("config", "MAIL.md"), OPERATIONS)


def readme(path="README.md"):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def sessions(text):
    """The console blocks as [(command, expected output)]."""
    for indent, block in re.findall(r"^( *)```console\n(.*?)^ *```$", text, re.M | re.S):
        lines = [line.removeprefix(indent) for line in block.split("\n")][:-1]
        yield from session(lines)


def complete(command):
    """Whether a shell would not ask for another line."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


def session(lines):
    command, expected = None, []
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(expected)
            command, expected = line[2:], []
        elif not complete(command):
            command += "\n" + line
        else:
            expected.append(line)
    yield command, "\n".join(expected)


# Where the pages' commands are typed: said once, in the README.
PREPARATION = ("export PATH=$PWD/build:$PATH", "cd scripts/sample")


def prepare(folder):
    """A copy of the folder that the pages' commands are typed in."""
    shutil.copytree(os.path.join(TOP, "scripts", "sample"), folder, dirs_exist_ok=True)


def alike(got, want):
    """Equal, numbers to the four digits that the README shows."""
    if isinstance(want, float):
        return isinstance(got, (int, float)) and math.isclose(got, want, rel_tol=0, abs_tol=6e-5)
    if isinstance(want, dict):
        return (isinstance(got, dict) and got.keys() == want.keys()
                and all(alike(got[key], want[key]) for key in want))
    if isinstance(want, list):
        return (isinstance(got, list) and len(got) == len(want)
                and all(map(alike, got, want)))
    return type(got) is type(want) and got == want


def matches(got, want):
    """Compares an output with what the README shows of it."""
    if "…" not in want:
        try:
            return alike(json.loads(got), json.loads(want))
        except ValueError:
            return got.strip() == want.strip()
    # White space between JSON's signs is a matter of taste; within strings none is expected to differ.
    parts = [re.escape(re.sub(r"\s+", "", part)) for part in want.split("…")]
    return re.fullmatch(".*".join(parts), re.sub(r"\s+", "", got)) is not None


def run_all(api, text):
    """Runs every command of a page against a new daemon; how many there are."""
    folder, daemon = api.new_folder(), api.another().start()
    environment = Bayesc(api, f"http://{daemon.host}:{daemon.port}").environment()
    environment["PATH"] = os.path.dirname(os.path.abspath(api.binary)) + os.pathsep + environment["PATH"]
    prepare(folder)
    holds(shutil.which("curl") and shutil.which("zstd"), "curl and zstd are needed")
    count = 0
    for command, expected in sessions(text):
        if command in PREPARATION:
            continue
        holds(ADDRESS in command or command.startswith(("bayesc ", "bayesd ", "echo ")), f"does not speak to the daemon: {command}")
        command = command.replace(ADDRESS, f"{daemon.host}:{daemon.port}")
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                              timeout=patience(60), check=False)
        holds(done.returncode == 0 and not done.stderr,
              f"{command}\nexit status {done.returncode}: {done.stderr}")
        holds(matches(done.stdout, expected),
              f"{command}\nprints\n{done.stdout}\nbut the README shows\n{expected}")
        count += 1
    return count


def test_every_line_of_the_readme_runs(api):
    """And of the pages that go on with its models."""
    count = run_all(api, "\n".join(map(readme, STORY)))
    holds(count >= 60, f"only {count} commands were found")


def test_every_line_of_the_readme_runs_alone(api):
    count = run_all(api, readme())
    holds(count >= 20, f"only {count} commands were found")


def test_the_readme_can_be_pasted_whole(api):
    """All its commands into one shell, on a fresh store, in a tree with nothing but the programs and the sample."""
    folder, daemon = api.new_folder(), api.another().start()
    prepare(os.path.join(folder, "scripts", "sample"))
    os.symlink(os.path.dirname(os.path.abspath(api.binary)), os.path.join(folder, "build"))
    commands = [command for command, _ in sessions(readme())]
    for command in PREPARATION:
        equal(commands.count(command), 1, command)
    pasted = "\n".join(commands).replace(ADDRESS, f"{daemon.host}:{daemon.port}")
    done = subprocess.run(["bash", "-e", "-o", "pipefail"], input=pasted, cwd=folder, capture_output=True, text=True,
                          env=Bayesc(api, f"http://{daemon.host}:{daemon.port}").environment(),
                          timeout=patience(120), check=False)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    holds("./bayesd-" in done.stdout, f"the last command ran: {done.stdout}")


def test_the_readme_is_short(api):
    holds(len(readme().split()) <= 1200, f"{len(readme().split())} words")


def test_every_line_about_networks_runs(api):
    equal(run_all(api, readme(NETWORKS)), 18, "commands")


def test_every_line_of_the_tutorial_runs(api):
    equal(run_all(api, readme(TUTORIAL)), 28, "commands")


def test_every_line_about_clients_runs(api):
    equal(run_all(api, readme(CLIENTS)), 3, "commands")


def test_no_curl_line_escapes_the_test(api):
    for text in map(readme, (*STORY, NETWORKS, TUTORIAL, CLIENTS)):
        run = sum(command.count("curl -") for command, _ in sessions(text))
        equal(run, text.count("curl -"), "curl commands run, curl commands shown")


def test_the_comparison_can_fail(api):
    holds(matches('{"a": 0.83601, "b": [1]}', '{"b": [1],\n "a": 0.8360}'), "rounded")
    holds(not matches('{"a": 0.8371}', '{"a": 0.8360}'), "another number")
    holds(not matches('{"a": 1, "b": 2}', '{"a": 1}'), "another member")
    holds(matches('{"a":1,"b":2}', '{"a": 1, …}'), "cut short")
    holds(not matches('{"a":2,"b":2}', '{"a": 1, …}'), "cut short, other start")


def slug(heading):
    """The anchor that a heading has on the pages of forges."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_figures_agree_between_pages(api):
    """The store's format with the code; the table of the README, and the disk that a mail takes, with the measured figures."""
    code = re.search(r"NB_STORE_FORMAT = (\d+)", readme(os.path.join("core", "store", "store.h")))[1]
    equal(re.findall(r"The store has format (\d+)", readme("CHANGELOG.md")), [code], "the store's format")
    figures = readme(os.path.join("tests", "bench", "FIGURES.md"))
    compared = 0
    for name, area, learn, classify in re.findall(r"(?m)^\| (bayesd|bogofilter)[^|]*\| ([.\d]+) \| ([.\d]+) \| ([.\d]+) \|", readme()):
        compared += 1
        holds(re.search(rf"(?m)^\| {name}[^|]*\| {area} \| {learn} \| {classify} \|", figures), f"README: {name} {area} {learn} {classify}")
    equal(compared, 2, "rows of the README's table")
    least, most = re.search(r"A learned mail takes ([.\d]+) to ([.\d]+) KB on disk", readme(OPERATIONS)).groups()
    equal(re.search(r"take ([.\d]+) KB a mail of 5,000 mails, ([.\d]+) of all", figures).groups(), (most, least), "KB a mail")
    holds(f"mails of the corpus: disk | {least} KB/mail" in figures, f"{least} KB a mail")


def test_links_lead_somewhere(api):
    for page in (*STORY, MIGRATING, TROUBLESHOOTING, os.path.join("tests", "bench", "FIGURES.md"),
                 os.path.join("config", "README.md"), os.path.join("server", "README.md"), "CONTRIBUTING.md"):
        for target, anchor in re.findall(r"\]\(([^)#:]*)(#[^)]*)?\)", readme(page)):
            path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
            holds(os.path.exists(os.path.join(TOP, path)), f"{page} links to {path}")
            if anchor:
                headings = re.findall(r"(?m)^#+ (.*)$", readme(path))
                anchors = [*map(slug, headings), *re.findall(r'<a id="([^"]+)">', readme(path))]
                holds(anchor[1:] in anchors, f"{page} links to {path}{anchor}")


def test_the_page_for_contributors_names_what_there_is(api):
    """Its paths exist, and make knows its goals."""
    spans = readme("CONTRIBUTING.md").split("`")[1::2]
    paths = [span for span in spans if re.fullmatch(r"[a-z]+(?:/[\w.]+)+", span)]
    holds(len(paths) > 20, paths)
    equal([path for path in paths if not os.path.exists(os.path.join(TOP, path))], [], "paths")
    goals = " ".join(re.findall(r"(?m)^ {4}make ((?:[a-z-]+ ?)+)(?:T=|  |$)", readme("CONTRIBUTING.md"))).split()
    holds(len(goals) >= 6, goals)
    makefile = readme("Makefile")
    equal([goal for goal in goals if not re.search(rf"(?m)^(?:\.PHONY:.*|[\w -]*)\b{goal}\b", makefile)], [], "goals")


def test_pictures_are_there(api):
    """Of every view, light and dark, on a desk and on a phone."""
    for page in ("README.md", os.path.join("server", "console", "README.md")):
        pictures = re.findall(r'(?:src|srcset)="([^"]+)"', readme(page))
        holds(len(pictures) > 1, page)
        gone = [one for one in pictures if not os.path.exists(os.path.join(TOP, os.path.dirname(page), one))]
        equal(gone, [], page)


def taught_by(old):
    """The label that a command of bogofilter, sa-learn or rspamc teaches, or None."""
    command = old.split("`")[1]
    for label, pattern in (("spam", r"--spam\b|learn_spam|bogofilter .*-N?s\b"), ("ham", r"--ham\b|learn_ham|bogofilter .*-S?n\b")):
        if re.search(pattern, command):
            return label
    return None


def test_what_stands_beside_other_programs_commands_runs(api):
    """Each command of the tables of "you typed, you type now", one after the other."""
    folder, daemon = api.new_folder(), api.another().start()
    environment = Bayesc(api, f"http://{daemon.host}:{daemon.port}").environment()
    environment["PATH"] = os.path.dirname(os.path.abspath(api.binary)) + os.pathsep + environment["PATH"]
    prepare(folder)
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in readme(MIGRATING).split("\n") if line.startswith("| ")]
    statuses = {"bayesc filter --bogofilter <message.eml": 1}  # it is ham
    count, labels = 0, []
    for old, new, _ in rows:
        if new.strip() in ("", "you type now"):
            continue
        said = re.fullmatch(r" `(bayesc [^`]+)` ", new)[1]
        command = said.replace("\\|", "|").replace(ADDRESS, f"{daemon.host}:{daemon.port}")
        # Each user's own model is there, also after the row that deletes it.
        daemon.client.post("/v1/models/mail-ann/train?label=ham", "lunch", "text/plain").ok()
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment, timeout=patience(60), check=False)
        equal(done.returncode, statuses.get(said, 0), f"{old}: {command}: {done.stdout}{done.stderr}")
        holds("Usage" not in done.stderr and "is not an option" not in done.stderr, f"{command}: {done.stderr}")
        if taught_by(old):
            labels.append(taught_by(old))
            equal(re.search(r"bayesc train --label (\w+)", command)[1], labels[-1], old)
        count += 1
    holds(len(labels) >= 8 and set(labels) == {"spam", "ham"}, f"labels that are taught: {labels}")
    holds(count >= 30, f"only {count} commands were found")


def test_pages_name_what_there_is(api):
    """Commands and options of bayesc, options of bayesd.conf, and metrics."""
    client, options = Bayesc(api), {}
    section, known = None, set()
    for line in readme(os.path.join("config", "bayesd.conf")).split("\n"):
        section = line[1:-1] if line.startswith("[") else section
        known |= {(section, key) for key in re.findall(r"^#?(\w+) =", line)}
    metrics = api.get("/metrics").ok().body.decode()
    for page in (MIGRATING, TROUBLESHOOTING):
        text = re.sub(r"\s+", " ", readme(page))
        spans = text.split("`")[1::2] + re.findall(r"(?m)^ {4}(.*?)(?: +#.*)?$", readme(page))
        for command, words in re.findall(r"\bbayesc ([a-z][a-z-]*)(.*)", "\n".join(spans)):
            if command not in options:
                options[command] = client.run(command, "--help").decode()
            for option in re.findall(r" (--[a-z-]+)", words):
                holds(f"{option} " in options[command] or f"{option}\n" in options[command], f"{page}: bayesc {command} {option}")
        for place, key in re.findall(r"\[(\w+)\] (\w+)", text):
            holds((place, key) in known, f"{page}: [{place}] {key}")
        for name in re.findall(r"bayesd_\w+", text):
            holds(name in metrics, f"{page}: {name}")


def test_every_command_of_the_client_is_listed(api):
    rows = re.search(r"(?ms)^## The client$(.*?)^## ", readme())[1]
    equal(sorted(re.findall(r"`([a-z-]+)`", "".join(line for line in rows.split("\n") if line.startswith("| ")))),
          sorted(COMMANDS))


def test_first_screen_has_the_two_commands(api):
    first = readme().split("\n")[:20]
    for command in ("make run", "make check"):
        holds(any(line.strip().startswith(command) for line in first), command)


def test_options_named_among_the_limits_exist(api):
    with open(os.path.join(TOP, "config", "bayesd.conf"), encoding="utf-8") as file:
        known = set(re.findall(r"^#?\s*(\w+) =", file.read(), re.M))
    rows = re.findall(r"\| `\[\w+\] (.*?) \|$", readme(OPERATIONS), re.M)
    holds(len(rows) >= 10, "the limits are not found")
    for row in rows:
        for key in re.findall(r"\w+", row):
            holds(key in known, f"{OPERATIONS} names the option {key}")
