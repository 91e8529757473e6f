# SPDX-License-Identifier: Apache-2.0
"""bayesc as a person meets it: on a terminal, with questions, colours and hints; and what it says where there is none."""
import contextlib
import os
import pty
import re
import signal
import subprocess
import time

from harness import clean_environment, equal, holds, patience
from ports import free_port
from test_client import DATAERR, NOINPUT, NOPERM, UNAVAILABLE, USAGE, Bayesc, counts, trained, write
from test_client_models import answered


def on_terminal(client, *arguments, environment=None):
    """What it prints on a terminal on which nobody types."""
    master, slave = pty.openpty()
    with subprocess.Popen([client.path, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env=client.environment(**(environment or {}))) as process:
        os.close(slave)
        out = b""
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:  # Linux's way to say that the other side is closed
            pass
        os.close(master)
        said = process.stderr.read().decode()
        return process.wait(patience(60)), out.decode().replace("\r\n", "\n"), said


def test_verdicts_have_colours(api):
    client, model, folder = trained(api)
    spam, ham = os.path.join(folder, "spam", "0"), os.path.join(folder, "ham", "0")
    _, out, _ = on_terminal(client, "classify", "-m", model, spam, ham)
    holds(re.search("\033\\[31mspam *\033\\[0m", out) and re.search("\033\\[32mham *\033\\[0m", out), repr(out))
    _, out, _ = on_terminal(client, "explain", "-m", model, spam)
    holds("\033[31mspam\033[0m" in out, repr(out))
    _, out, _ = on_terminal(client, "classify", "-m", model, spam, environment={"NO_COLOR": "1"})
    holds("\033" not in out and "spam" in out, repr(out))
    holds(b"\033" not in client.run("classify", "-m", model, spam), "no terminal")


def test_help_is_as_wide_as_the_terminal(api):
    client = Bayesc(api)
    for columns in (60, 100):
        master, slave = pty.openpty()
        subprocess.run(["stty", "cols", str(columns)], stdin=slave, check=True)
        subprocess.run([client.path, "help", "nodes"], stdin=slave, stdout=slave, env=client.environment(), check=True,
                       timeout=patience(20))
        os.close(slave)
        out = b""
        with contextlib.suppress(OSError):  # Linux's way to say that the other side is closed
            while piece := os.read(master, 65536):
                out += piece
        lines = out.decode().splitlines()
        os.close(master)
        widest = max(len(line) for line in lines[1:])
        holds(columns - 25 < widest <= columns, (columns, widest))


def test_a_summary_follows_many_verdicts(api):
    client, model, folder = trained(api)
    client.run("classify", "-m", model, folder)
    holds("24 documents: " in client.said and "12 ham" in client.said and "12 spam" in client.said, client.said)
    client.run("classify", "-m", model, "--quiet", folder)
    equal(client.said, "")
    client.run("classify", "-m", model, os.path.join(folder, "spam", "0"))
    equal(client.said, "", "one document needs none")
    client.run("classify", "-m", model, "--json", folder)
    equal(client.said, "", "nor do programs")


def test_a_terminal_is_no_place_for_models_and_mails(api):
    client, model, _ = trained(api)
    status, out, said = on_terminal(client, "export", model)
    equal((status, out), (USAGE, ""))
    holds("terminal" in said and f"bayesc export {model} FILE" in said, said)
    status, out, said = on_terminal(client, "backup", "-")
    equal((status, out), (USAGE, ""))
    status, said = answered(client, b"", "filter")
    equal(status, USAGE)
    holds("bayesc filter <MAIL" in said, said)


def test_the_model_comes_first(api):
    client, model, folder = trained(api)
    file = os.path.join(api.new_folder(), "dump.ndjson")
    client.run("export", model, file)
    dump = client.run("export", model)
    equal(len(dump.splitlines()), len(open(file, "rb").read().splitlines()))
    client.run("export", "-m", model, file)
    client.run("export", "no-such-model", status=NOINPUT)
    other = api.name()
    client.run("import", other, file)
    client.run("import", "--replace", "-m", other, file)
    client.run("import", "--replace", other, stdin=dump)
    equal(counts(api, other), counts(api, model))
    holds(b"time" in client.run("quarantine", model), "list")
    holds(b"0 changes" in client.run("quarantine", model, "effect"), "effect")
    client.run("quarantine", "-m", model, "effect")
    client.run("untrain", "-m", model, "--id", "x", status=NOINPUT)
    equal(client.json("undo", model, "--id", "x")["documents"], 0)


def test_undo_asks(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "-l", "spam", "--source", "ann", stdin=b"pills")
    status, said = answered(client, b"n\n", "undo", model, "--source", "ann")
    holds(status == DATAERR and f"Take back 1 document of the model {model}? [y/N]" in said and "nothing was taken back" in said, said)
    equal(counts(api, model), {"spam": 1})
    status, said = answered(client, b"y\n", "undo", model, "--source", "ann")
    holds(status == 0 and f"{model}: 1 document taken back" in said, said)
    equal(api.get(f"/v1/models/{model}").ok().json["documents"], 0)
    status, said = answered(client, b"", "undo", model, "--source", "ann")
    holds(status == 0 and "?" not in said and "0 documents taken back" in said, said)


def test_a_new_model_with_a_near_name_is_asked_about(api):
    client, model = Bayesc(api), "tickets" + api.name()
    client.run("train", "-m", model, "-l", "spam", stdin=b"pills")
    near = model.replace("tick", "tikc")
    file = write(api.new_folder(), "a.txt", content=b"lunch")
    for arguments in (["train", "-m", near, "-l", "ham", file], ["create", near]):
        status, said = answered(client, b"n\n", *arguments)
        holds(status == DATAERR and f"The model '{near}' is new, and there is '{model}' with 1 document." in said, said)
        equal(api.get(f"/v1/models/{near}").status, 404)
    status, said = answered(client, b"y\n", "create", near)
    equal(status, 0, said)
    client.run("train", "-m", near + "x", "-l", "ham", file)
    equal(client.said, "", "nobody can be asked")


def test_ctrl_c_ends_what_is_typed(api):
    client, model = Bayesc(api), api.name()
    for paths in ([], ["-"]):
        pid, master = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts what runs beside it without
            os.execve(client.path, [client.path, "train", "-m", model, "-l", "spam", *paths], client.environment())
        said = b""
        while b"Ctrl-D" not in said:
            said += os.read(master, 4096)
        os.write(master, b"some words\n")
        time.sleep(0.2)
        os.write(master, b"\x03")
        _, status = os.waitpid(pid, 0)
        os.close(master)
        equal(os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
              signal.SIGINT if os.WIFSIGNALED(status) else 130)
    equal(api.get(f"/v1/models/{model}").status, 404)


def test_hints(api):
    gone = Bayesc(api, f"http://127.0.0.1:{free_port()}")
    gone.run("models", status=UNAVAILABLE)
    holds("is bayesd running?" in gone.said, gone.said)
    gone = Bayesc(api, f"unix:{api.new_folder()}/nowhere")
    gone.run("models", status=UNAVAILABLE)
    holds("is bayesd running?" in gone.said and "port" not in gone.said, gone.said)
    token = "a-long-secret-token-of-an-administrator"
    daemon = api.another(config={"tokens": {"admin": token}}).start()
    client = Bayesc(api, daemon.url)
    client.run("models", status=NOPERM)
    holds("--token-file" in client.said, client.said)
    wrong = write(api.new_folder(), "token", content=b"another-long-secret-token\n")
    client.run("models", "--token-file", wrong, status=NOPERM)
    holds("names the file" not in client.said, client.said)
    daemon.stop()
    client, model = Bayesc(api), api.name()
    client.run("create", model)
    client.run("show", model, "smooting", status=NOINPUT)
    holds("did you mean smoothing?" in client.said, client.said)
    client.run("set", model, "smooting=1", status=DATAERR)
    holds('did you mean "smoothing"?' in client.said, client.said)
    client.run("set", model, "frobnicate=1", status=DATAERR)
    listed = client.said.strip().split(" has ")[1].removesuffix(", ...").split(", ")
    names = api.get(f"/v1/models/{model}").ok().json["settings"]
    holds(len(listed) > 5 and all(name in names for name in listed), "whole names: " + client.said)
    client.run("create", api.name(), "--set", "x" * 300 + "=1 " + "word " * 200, status=DATAERR)
    holds(client.said.endswith(" ...\n") or len(client.said) < 300, client.said)


def test_bayesd_says_how_another_directory_is_named(api):
    done = subprocess.run([api.binary, "--data", "/proc/nowhere", "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(20), check=False)
    holds(done.returncode != 0 and "(--data names another directory)" in done.stderr, done.stderr)


def test_bayesd_says_so_of_a_file_in_the_directory(api):
    """As of a folder of somebody else, in which a user may not even look."""
    folder = api.new_folder()
    os.symlink("tokens", os.path.join(folder, "tokens"))
    done = subprocess.run([api.binary, "--data", folder, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(20), check=False)
    holds(done.returncode != 0 and "(--data names another directory)" in done.stderr, done.stderr)


def test_counts_have_plurals_and_thousands(api):
    client, model = Bayesc(api), api.name()
    holds(client.run("train", "-m", model, "-l", "spam", stdin=b"pills").startswith(f"{model}: 1 document, ".encode()), "one")
    lines = b"".join(b"word%d\n" % i for i in range(1500))
    said = client.run("train", "-m", model, "-l", "spam", "--format", "lines", stdin=lines).decode()
    holds(said.startswith(f"{model}: 1,500 documents, 1,500 learned"), said)
    holds(client.run("stats", model).startswith(f"{model}: 1,501 documents, ".encode()), "stats")
    equal(client.run("suspects", model), f"{model}: no label looks wrong, of 0 documents\n".encode())
    said = client.run("untrain", "-m", model, "--format", "lines", stdin=lines + b"new\n" * 3, status=NOINPUT).decode()
    equal(said, f"{model}: 1,503 documents, 1,500 forgotten, 3 not known\nthe model now has: 1 spam\n")
