# SPDX-License-Identifier: Apache-2.0
"""bayesc create, set, show and delete: a model and its settings, without HTTP in sight; labels that are mistyped; bench."""
import json
import os
import pty
import re
import signal
import subprocess

from harness import equal, holds, near, patience, wait_for
from test_client import CANTCREAT, DATAERR, NOINPUT, UNAVAILABLE, USAGE, Bayesc

VALGRIND = True


def settings(api, model):
    return api.get(f"/v1/models/{model}").ok().json["settings"]


def answered(client, answer, *arguments):
    """Its exit status and output on a terminal, on which a person types `answer`."""
    master, slave = pty.openpty()
    with subprocess.Popen([client.path, *arguments], stdin=slave, stdout=slave, stderr=slave,
                          env=client.environment()) as process:
        os.close(slave)
        os.write(master, answer)
        out = b""
        try:
            while piece := os.read(master, 65536):
                out += piece
        except OSError:  # Linux's way to say that the other side is closed
            pass
        os.close(master)
        return process.wait(patience(60)), out.decode()


def test_create(api):
    client, model = Bayesc(api), api.name()
    holds(f"{model}: created, with the preset book" in client.run(
        "create", model, "--preset", "book", "--set", "smoothing=0.5", "--set", 'fields={"price": "number"}').decode(), "said")
    got = settings(api, model)
    equal((got["preset"], got["smoothing"], got["fields"]), ("book", 0.5, {"price": "number"}))
    client.run("create", model, status=CANTCREAT)
    holds("already" in client.said and "bayesc set" in client.said, client.said)
    equal(settings(api, model), got, "what is there stays")
    other = api.name()
    equal(client.json("create", "-m", other)["settings"]["preset"], "text")
    for words, said in ((["--preset", "boook"], "one of text, mail, book"), (["--set", "smooting=1"], "smooting"),
                        (["--set", "smoothing=-1"], "smoothing")):
        client.run("create", api.name(), *words, status=DATAERR)
        holds(said in client.said, client.said)
    client.run("create", api.name(), "--set", "smoothing", status=USAGE)
    holds("NAME=VALUE" in client.said, client.said)


def test_set_changes_what_is_named_alone(api):
    client, model = Bayesc(api), api.name()
    client.run("create", model, "--preset", "mail", "--set", "max_age=3600", "--set", "near_duplicates=3")
    before = settings(api, model)
    said = client.run("set", model, "near_duplicates=5", "unsure_band=0.1").decode()
    holds(f"{model}: near_duplicates is 5 now, it was 3\n" in said and "max_age" not in said, said)
    equal(settings(api, model), {**before, "near_duplicates": 5, "unsure_band": 0.1})
    client.run("set", "-m", model, "near_duplicates=", "unsure_band=")
    equal(settings(api, model), {**before, "near_duplicates": 0})
    holds("nothing has changed" in client.run("set", model, "max_age=3600").decode(), "no change")
    # A preset brings its own defaults.
    client.run("set", model, "preset=book", "max_age=60")
    got = settings(api, model)
    equal((got["preset"], got["decision"], got["max_age"]), ("book", "bayes", 60))
    # A parent goes as it came.
    child = api.name()
    client.run("create", child, "--preset", "book", "--set", f"parent={model}")
    client.run("set", child, "parent=")
    equal(settings(api, child)["parent"], None)
    client.run("set", model, "decision=guess", status=DATAERR)
    holds("bayes, stacked" in client.said, client.said)
    client.run("set", api.name(), "decision=bayes", status=NOINPUT)
    client.run("set", model, status=USAGE)
    client.run("set", model, "decision", status=USAGE)


def test_names_that_fit_nothing_are_told(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "-l", "spam", stdin=b"pills")
    client.run("set", model, 'prior={"spma": 2}')
    equal(client.said, "bayesc: warning: prior names the label 'spma', of which the model has no document\n")
    client.run("set", model, 'prior={"spam": 2}')
    equal(client.said, "")


def test_show(api):
    client, model = Bayesc(api), api.name()
    client.run("create", model, "--set", "max_age=3600")
    lines = client.run("show", model).decode().split("\n")
    equal([line.split()[0] for line in lines[1:-1]], list(settings(api, model)))
    holds(any(line.split() == ["max_age", "3600"] for line in lines), lines)
    text = client.run("show", model, "max_age", "smoothing").decode()
    holds(text.startswith("max_age = 3600\n") and "Laplace" in text, text)
    holds(max(map(len, text.split("\n"))) < 100, text)
    equal(client.json("show", model), api.get(f"/v1/models/{model}").ok().json)
    client.run("show", model, "no-such-setting", status=NOINPUT)
    client.run("show", api.name(), status=NOINPUT)


def test_bench(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    for i in range(8):
        with open(os.path.join(folder, f"{i}.txt"), "w", encoding="utf-8") as file:
            file.write(f"a text about the number {i}\n")
    client.run("train", "-m", model, "--label", "ham", folder)
    before = client.json("show", model)
    got = client.json("bench", "-m", model, "-c", "2", "--seconds", "0.3", folder)
    equal(got["documents"], 8)
    holds(got["requests"] > 0 and got["failed"] == 0 and 0.3 <= got["seconds"] < patience(30), got)
    near(got["requests_per_second"], got["requests"] / got["seconds"], 1e-9)
    times = [got["latency_seconds"][name] for name in ("p50", "p90", "p99", "p999", "max")]
    equal(times, sorted(times))
    holds(0 < times[0] and times[-1] <= got["seconds"], times)
    text = client.run("bench", "-m", model, "-s", "0.1", folder).decode()
    holds(re.search(r"with 8 documents of 0\.0 KB on average\n[0-9,]+ requests/s", text) and "99 % answered within" in text, text)
    equal(client.json("show", model), before, "nothing is changed")
    client.run("bench", "-m", api.name(), "-s", "0.1", folder, status=NOINPUT)
    client.run("bench", "-m", model, api.new_folder(), status=DATAERR)
    holds("no document" in client.said, client.said)


def test_watch(api):
    """Old verdicts first, then each new one once, in their order."""
    client, model = Bayesc(api), api.name()
    client.run("create", model, "--preset", "mail", "--set", "history_subject=true")
    client.run("watch", model, status=DATAERR)
    holds(f"bayesc set {model} history=1000" in client.said, client.said)
    client.run("watch", api.name(), status=NOINPUT)
    client.run("set", model, "history=100")
    for label in ("ham", "spam"):
        client.run("train", "-m", model, "--label", label, stdin=b"Subject: x\n\nwords of " + label.encode())

    def ask(number):
        client.run("filter", "--remember", "-m", model, stdin=b"Message-ID: <%d@x>\nSubject: mail %d\n\nwords of spam\n" % (number, number))

    def kept(number):
        return any(row["subject"] == f"mail {number}" for row in api.get(f"/v1/models/{model}/history").ok().json["history"])
    for i in range(5):
        ask(i)
        wait_for(lambda: kept(i), "the verdict is written")
    client.run("filter", "-m", model, stdin=b"Message-ID: <z@x>\nSubject: mail 9\n\nnot remembered\n")
    with subprocess.Popen([client.path, "watch", "-n", "3", "-i", "0.1", model], stdout=subprocess.PIPE,
                          env=client.environment(), text=True) as process:
        try:
            lines = [process.stdout.readline() for _ in range(3)]
            for i in range(5, 9):
                ask(i)
            lines += [process.stdout.readline() for _ in range(4)]
        finally:
            process.terminate()
        equal(process.stdout.read(), "")
    equal([line.split("  ")[-1] for line in lines[:3]], [f"mail {i}\n" for i in range(2, 5)])
    equal(sorted(line.split("  ")[-1] for line in lines[3:]), [f"mail {i}\n" for i in range(5, 9)])
    for line in lines:
        holds(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  spam +[01]\.\d{6}  \d@x  mail \d\n", line), line)
    with subprocess.Popen([client.path, "watch", "--json", "--contains", "mail 1", model], stdout=subprocess.PIPE,
                          env=client.environment(), text=True) as process:
        row = json.loads(process.stdout.readline())
        process.terminate()
    equal((row["message_id"], row["verdict"], row["label"]), ("1@x", "spam", None))


def test_watch_lets_a_model_keep_verdicts(api):
    """On a terminal the person is asked; nothing is changed without a yes."""
    client, model = Bayesc(api), api.name()
    client.run("create", model, "--set", "unsure_band=0.2")
    before = settings(api, model)
    status, said = answered(client, b"n\n", "watch", model)
    equal((status, settings(api, model)), (DATAERR, before))
    holds("Shall it keep the last 1,000" in said and "nothing was changed" in said, said)
    master, slave = pty.openpty()
    with subprocess.Popen([client.path, "watch", "-i", "0.1", model], stdin=slave, stdout=slave, stderr=slave,
                          env=client.environment()) as process:
        try:
            os.write(master, b"y\n")
            wait_for(lambda: settings(api, model)["history"] == 1000, "the model keeps verdicts")
            equal(settings(api, model), {**before, "history": 1000})
        finally:
            process.terminate()
            os.close(slave)
            os.close(master)


def test_watch_ends_with_its_reader(api):
    """`bayesc watch | head -n 1`: without a word, and without a further verdict."""
    client, model = Bayesc(api), api.name()
    client.run("create", model, "--preset", "mail", "--set", "history=10")
    client.run("train", "-m", model, "--label", "ham", stdin=b"Subject: x\n\nwords")
    client.run("filter", "--remember", "-m", model, stdin=b"Message-ID: <1@x>\n\nwords\n")
    with subprocess.Popen([client.path, "watch", "-i", "0.1", model], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=client.environment(), text=True) as process:
        holds("1@x" in process.stdout.readline(), "the verdict")
        process.stdout.close()
        equal((process.wait(patience(60)), process.stderr.read()), (-signal.SIGPIPE, ""))


def test_status(api):
    """Health, the models, and what needs attention."""
    daemon = api.another().start()
    client = Bayesc(api, daemon.url)
    said = client.run("status").decode()
    equal(said, f"{daemon.url} is ready: 0 models, 0 documents\nnothing needs attention\n")
    client.run("train", "-m", "one", "-l", "spam", stdin=b"pills")
    client.run("create", "two")
    client.run("train", "-m", "few", "-l", "spam", "--format", "lines", stdin=b"".join(b"pills %d\n" % i for i in range(1200)))
    client.run("train", "-m", "few", "-l", "ham", stdin=b"lunch")
    said = client.run("status").decode()
    for want in ("is ready: 3 models, 1,202 documents\n", "needs attention:\n", "  one knows one label only, spam\n",
                 "  two has no documents yet\n", "few: the label ham has 1 document; 10 of each label are a beginning"):
        holds(want in said, (want, said))
    got = client.json("status")
    equal((got["status"], len(got["models"]), len(got["attention"])), ("ready", 3, 3))
    for i in range(30):
        client.run("create", f"user-{i}")
    said = client.run("status").decode()
    holds("13 other models without enough documents\n" in said and "vocabulary" not in said, said)
    daemon.stop()
    client.run("status", status=UNAVAILABLE)


def test_stats_shows_settings_on_request(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "--label", "ham", stdin=b"lunch in the garden")
    text = client.run("stats", model).decode()
    holds(text.startswith(f"{model}: 1 document,") and "event_model" not in text, text)
    holds("event_model" in client.run("stats", "--settings", model).decode(), "with --settings")


def test_a_mistyped_label_is_refused(api):
    client, model = Bayesc(api), api.name()
    texts = {"documents": [{"text": f"text number {i}", "label": ("spam", "newsletter")[i % 2]} for i in range(98)]}
    api.post(f"/v1/models/{model}/train", texts).ok()
    # A small model: nobody is there to ask, and it is learned.
    client.run("train", "-m", model, "--label", "spaam", stdin=b"the ninety-ninth")
    client.run("untrain", "-m", model, stdin=b"the ninety-ninth")
    for i in range(2):
        client.run("train", "-m", model, "--label", "spam", stdin=b"one more %d" % i)
    before = client.json("show", model)
    folder = api.new_folder()
    table = os.path.join(folder, "a.csv")
    with open(table, "w", encoding="utf-8") as file:
        file.write("spam,a b\nspma,c d\n")
    for words in (["spma=" + folder], ["--label", "Spam", folder], ["--label", "newslettter", folder],
                  ["--label", "pam", folder], [table], ["--in-order", "-c", "1", table]):
        client.run("train", "-m", model, *words, status=DATAERR)
        holds("is new, and there is '" in client.said and "--new-label" in client.said, client.said)
        if words[-1] == table:
            holds("a.csv:2: the label 'spma'" in client.said and "'spam' with 51 documents" in client.said, client.said)
    equal(client.json("show", model)["labels"], before["labels"])
    for label in ("ham", "spam", "sp", "newsle", "spam-list"):
        client.run("train", "-m", model, "--label", label, stdin=label.encode() + b" text")
    for label in ("spma", "sparm"):
        client.run("train", "-m", model, "--label", label, "--new-label", stdin=label.encode() + b" text")
    client.run("train", "-m", model, "--label", "spma", stdin=b"it is known now")
    # Put right, it is new again, though it is listed: the next slip is told, too.
    client.run("rename-label", "-m", model, "--merge", "spma", "spam")
    client.run("train", "-m", model, "--label", "spma", stdin=b"the same slip", status=DATAERR)
    holds("the label 'spma' is new" in client.said, client.said)
    client.run("train", "-m", model, "--label", "queue-1", stdin=b"the first")
    client.run("train", "-m", model, "--label", "queue-12", stdin=b"a number is no slip")


def test_a_mistyped_label_is_asked_about(api):
    client, model, folder = Bayesc(api), api.name(), api.new_folder()
    client.run("train", "-m", model, "--label", "spam", stdin=b"cheap pills")
    path = os.path.join(folder, "a.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("more pills")
    status, said = answered(client, b"n\n", "train", "-m", model, f"spma={path}")
    equal(status, DATAERR, said)
    holds("The label 'spma' is new, and there is 'spam' with 1 document. Is it meant? [y/N]" in said, said)
    equal(list(client.json("show", model)["labels"]), ["spam"])
    status, said = answered(client, b"y\n", "train", "-m", model, f"spma={path}")
    equal(status, 0, said)
    equal(list(client.json("show", model)["labels"]), ["spam", "spma"])


def test_a_document_is_typed(api):
    """On a terminal without a PATH the client says what it waits for."""
    client, model = Bayesc(api), api.name()
    status, said = answered(client, b"lunch in the garden\n\x04", "train", "-m", model, "--label", "ham")
    equal(status, 0, said)
    holds("end it with Ctrl-D" in said and "1 learned" in said, said)
    client.run("classify", "-m", model, stdin=b"lunch")
    holds("Ctrl-D" not in client.said, client.said)


def test_delete_label_asks(api):
    client, model = Bayesc(api), api.name()
    api.post(f"/v1/models/{model}/train", {"documents": [{"text": "a", "label": "spam"}, {"text": "b", "label": "ham"}]}).ok()

    def labels():
        return api.get(f"/v1/models/{model}").ok().json["labels"]
    client.run("delete-label", "-m", model, "spam", status=USAGE)
    holds("--yes" in client.said, client.said)
    status, said = answered(client, b"n\n", "delete-label", "-m", model, "spam")
    holds("Forget the 1 document of the label spam" in said and "nothing was forgotten" in said, said)
    equal((status, labels()["spam"]["documents"]), (DATAERR, 1))
    status, said = answered(client, b"y\n", "delete-label", "-m", model, "spam")
    equal((status, "spam" in labels()), (0, False), said)
    status, said = answered(client, b"", "delete-label", "-m", model, "none")
    equal((status, "Forget" in said), (NOINPUT, False), said)


def test_delete_asks(api):
    client, model = Bayesc(api), api.name()
    client.run("train", "-m", model, "--label", "ham", stdin=b"lunch in the garden")
    client.run("delete", model, status=USAGE)
    holds("--yes" in client.said, client.said)
    status, said = answered(client, b"n\n", "delete", model)
    equal(status, DATAERR)
    holds(f"Delete the model {model} with its 1 document for good? [y/N]" in said and "nothing was deleted" in said, said)
    equal(answered(client, b"\n", "delete", model)[0], DATAERR)
    equal(api.get(f"/v1/models/{model}").status, 200)
    status, said = answered(client, b"y\n", "delete", model)
    equal(status, 0, said)
    equal(api.get(f"/v1/models/{model}").status, 404)
    equal(answered(client, b"y\n", "delete", model)[0], NOINPUT)
    client.run("create", model)
    client.run("delete", "--yes", model)
    equal(api.get(f"/v1/models/{model}").status, 404)
