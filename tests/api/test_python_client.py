# SPDX-License-Identifier: Apache-2.0
"""clients/python/bayesd.py: each of its methods against the daemon, and what it raises."""
import io
import json
import os
import re
import socket
import subprocess
import sys
import threading

from authority import Authority
from harness import clean_environment, equal, holds, near, patience
from test_readme import ADDRESS, TOP, prepare
from tls import begin, context, port_of

FOLDER = os.path.join(TOP, "clients", "python")
sys.path.append(FOLDER)

import bayesd  # noqa: E402  (needs the path above)
from bayesd import Bayesd, Problem  # noqa: E402

TEXTS = [{"text": f"cheap pills {i}", "label": "spam", "id": f"s{i}"} for i in range(20)] + \
    [{"text": f"meeting on Monday {i}", "label": "ham", "id": f"h{i}"} for i in range(20)]
MAIL = b"From: a@example.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nraw \xff bytes\r\n"
TOKEN = "a-token-of-this-test"


def client(api, **how):
    api.get("/healthz").ok()
    return Bayesd(api.daemon.url, timeout=patience(30), **how)


def raised(status, call, *arguments, **named):
    """The Problem that a call raises."""
    try:
        call(*arguments, **named)
    except Problem as problem:
        equal(problem.status, status, problem)
        holds(problem.title and problem.detail, "title and detail")
        return problem
    raise AssertionError(f"{call.__name__}{arguments} raised nothing, want {status}")


def documents(daemon, model):
    return daemon.model(model)["documents"]


def test_training_and_verdicts(api):
    model = api.name()
    with client(api) as daemon:
        daemon.put_model(model, {"preset": "book"})
        receipt = daemon.train(model, "cheap pills", "spam", id="a", source="me")
        equal((receipt["status"], receipt["id"], receipt["label"]), ("learned", "a", "spam"))
        equal(daemon.document(model, "a")["source"], "me")
        equal(daemon.train(model, {"text": "meeting", "label": "ham", "id": "b"})["status"], "learned")
        equal(daemon.train(model, {"text": "meeting", "id": "b"}, "spam")["previous_label"], "ham")
        equal(daemon.untrain(model, id="b")["status"], "forgotten")
        equal(daemon.train_batch(model, TEXTS, source="batch")["learned"], 40)
        equal(daemon.document(model, "s1")["source"], "batch")
        verdict = daemon.classify(model, "cheap pills", explain=3, cost_fp=9, cost_fn=1)
        equal(verdict["label"], "spam")
        near(sum(verdict["probabilities"].values()), 1)
        equal(verdict["decision"], "unsure" if verdict["probability"] <= .9 else "spam")
        equal({row["token"] for row in verdict["explanation"]} - {None}, {"cheap", "pills"})
        equal([v["label"] for v in daemon.classify_batch(model, ["cheap", "Monday"])], ["spam", "ham"])
        equal(daemon.tokenize(model, "free, free"), [{"token": "free", "count": 2}, {"token": ",", "count": 1}])
        raw = api.get(f"/v1/models/{model}").json
        equal(daemon.model(model), raw)
        equal([v["model"] for v in daemon.classify_many([model], "pills")["results"]], [model])


def test_raw_mails_of_any_bytes(api):
    model = api.name()
    with client(api) as daemon:
        receipt = daemon.train(model, MAIL, "ham", id="m")
        equal(receipt["status"], "learned")
        equal(daemon.model(model)["settings"]["tokenizer"] != {}, True, "the preset of mails")
        tokens = {row["token"] for row in daemon.tokenize(model, MAIL)}
        holds("subject:grüsse" in {token.lower() for token in tokens}, tokens)
        equal(daemon.classify(model, bytearray(MAIL))["model"], model)


def test_streams(api):
    model, count = api.name(), 5000
    with client(api) as daemon:
        daemon.put_model(model, {"preset": "book"})
        rows = ({"text": f"word{i % 50} {'pills' if i % 2 else 'tea'}", "label": "ab"[i % 2], "id": str(i)}
                for i in range(count))
        receipts = list(daemon.train_stream(model, rows, source="stream"))
        equal([r["status"] for r in receipts], ["learned"] * count)
        equal([r["id"] for r in receipts], [str(i) for i in range(count)], "in order")
        equal(daemon.document(model, "17")["source"], "stream")
        verdicts = daemon.classify_stream(model, ("pills tea"[:5] for _ in range(100)), explain=1)
        first = next(verdicts)
        equal(daemon.classify(model, "pills")["label"], first["label"], "another request while a stream is open")
        equal(len(list(verdicts)), 99)
        equal(list(daemon.classify_stream(model, [])), [])


def test_what_fails_in_a_batch_has_its_place(api):
    model = api.name()
    with client(api) as daemon:
        rows = [{"text": "a", "label": "x"}, {"text": "b"}, {"text": "c", "label": "y"}]
        for results in (list(daemon.train_stream(model, rows)), daemon.train_batch(model, rows)["results"]):
            equal([("error" in r) for r in results], [False, True, False])
            problem = Problem.in_line(results[1]["error"])
            holds(problem.status in (400, 422) and "label" in problem.detail, problem)


def test_what_is_refused_is_raised(api):
    model = api.name()
    with client(api) as daemon:
        raised(404, daemon.model, model)
        raised(404, daemon.delete_model, model)
        raised(422, daemon.put_model, model, {"smoothing": -1})
        raised(400, daemon.put_model, model, {"smooothing": 1})
        raised(422, daemon.train, model, "text", "")
        daemon.put_model(model, only_new=True)
        holds(model in raised(409, daemon.put_model, model, only_new=True).detail, "the model is named")
        raised(409, daemon.classify, model, "nothing learned")
        raised(404, daemon.untrain, model, id="never")
        holds("smooothing" in str(raised(400, daemon.put_model, model, {"smooothing": 1})), "the text has the detail")
        raised(409, lambda: list(daemon.classify_stream(model, ["x"])))
        raised(422, lambda: list(daemon.train_stream(model, ["x"], source="s" * 65)))


def test_models_in_pages_and_labels(api):
    daemon_ = api.another(config={"server": {"listing_rows": 10000}}).start()
    names = [f"m{i:04}" for i in range(1005)]
    with Bayesd(daemon_.url) as daemon:
        for name in names:
            daemon.put_model(name)
        equal([m["name"] for m in daemon.models()], names, "more than a page")
        daemon.train("m0001", "tea", "häm/1")
        equal(list(daemon.rename_label("m0001", "häm/1", "ham")["labels"]), ["ham"])
        equal(daemon.delete_label("m0001", "ham")["forgotten"], 1)
        daemon.train("m0001", "tea", "ham")
        equal(daemon.vocabulary("m0001", "ham", limit=5)["tokens"][0]["token"], "tea")
        daemon.delete_model("m0002")
        raised(404, daemon.model, "m0002")
    daemon_.stop()


def test_export_import_and_backup(api):
    model, copy = api.name(), api.name()
    with client(api) as daemon:
        daemon.train_batch(model, TEXTS)
        file = io.BytesIO()
        daemon.export_to(model, file)
        file.seek(0)
        equal(daemon.import_model(copy, file)["documents"], 40)
        equal(daemon.import_model(copy, daemon.export(model))["documents"], 40, "an iterator")
        raised(400, daemon.import_model, copy, [file.getvalue()[:-20]])
        for text in ("pills", "Monday"):
            one, two = daemon.classify(model, text), daemon.classify(copy, text)
            equal({**one, "model": 0}, {**two, "model": 0})
        backup = io.BytesIO()
        daemon.backup_to(backup)
    folder = api.new_folder()
    with open(os.path.join(folder, "b"), "wb") as out:
        out.write(backup.getvalue())
    status, _, said = api.tool("--restore", os.path.join(folder, "b"), "--data", os.path.join(folder, "data"))
    equal(status, 0, said)


def test_history(api):
    there = client(api)
    there.put_model("m", {"history": 10})
    there.train("m", "cheap pills", label="spam", id="a")
    there.train("m", "the meeting", label="ham", id="b")
    for i in range(3):
        equal(there.classify("m", {"id": f"d{i}", "text": "cheap meeting"}, remember=1)["remembered"], True)
    equal([row["id"] for row in there.history("m", limit=2)], ["d2", "d1", "d0"])
    equal(there.label("m", "d1", "spam", source="desk")["status"], "learned")
    equal([row["id"] for row in there.history("m", labelled=1)], ["d1"])
    holds(there.history_of("m", "d0", explain=1)["now"]["explanation"], "why")
    equal(len(there.next("m", 1)), 1)
    equal(there.suspects("m", 5), [])
    equal(there.forget("m", "d1")["status"], "forgotten")
    equal(there.label("m", "a", None)["label"], None)
    raised(404, there.document, "m", "d1")
    holds("ham" not in there.merge_label("m", "ham", "spam")["labels"], "gone")


def test_several_labels(api):
    model = api.name()
    with client(api) as daemon:
        daemon.put_model(model, {"label_set": "several"})
        equal(daemon.train(model, "power bill", labels=["power", "invoice"], id="a")["document_labels"],
              ["invoice", "power"])
        equal(daemon.train(model, "choir", labels=[], id="b")["document_labels"], [])
        equal(daemon.train(model, MAIL, labels=["power"], id="m")["document_labels"], ["power"])
        rows = [{"text": f"hotel bill {i}", "labels": ["travel", "invoice"]} for i in range(20)] + \
            [{"text": f"power {i}", "labels": ["power"]} for i in range(20)] + \
            [{"text": f"news of the choir {i}", "labels": []} for i in range(20)]
        equal([r["status"] for r in daemon.train_stream(model, rows)], ["learned"] * 60)
        verdict = daemon.classify(model, "the hotel bill", explain=2, explain_label="power")
        equal((verdict["labels"], verdict["explained"]), (["invoice", "travel"], "power"))
        equal(sorted(verdict["probabilities"]), ["invoice", "power", "travel"])
        equal([v["labels"] for v in daemon.classify_batch(model, ["news of the choir", "power"])], [[], ["power"]])
        equal(daemon.labels(model, "a", add=["travel"], remove=["power"])["document_labels"], ["invoice", "travel"])
        equal(daemon.labels(model, "a", [], source="desk")["document_labels"], [])
        equal((daemon.document(model, "a")["labels"], daemon.document(model, "a")["source"]), ([], "desk"))
        raised(400, daemon.labels, model, "a")
        raised(422, daemon.train, model, "tea", "power")
        equal(sorted(daemon.evaluation(model)["labels"]), ["invoice", "power", "travel"])


def test_undo_refit_and_figures(api):
    model = api.name()
    with client(api) as daemon:
        daemon.train_batch(model, TEXTS)
        daemon.train(model, "bad teacher", "ham", source="bad")
        equal(daemon.undo(model, source="bad", dry_run=True)["documents"], 1)
        equal(documents(daemon, model), 41)
        equal([(row["source"], row["documents"]) for row in daemon.sources(model)], [("http", 40), ("bad", 1)])
        equal(daemon.undo(model, source="bad")["forgotten"], 1)
        equal([row["source"] for row in daemon.undone(model)], ["bad"])
        equal(daemon.undo(model, ids=["s1", "s2"], after="2000-01-01", before="2100-01-01")["documents"], 2)
        equal(daemon.refit(model)["name"], model)
        equal(daemon.em(model), daemon.em(model, anew=True))
        raised(400, daemon.cluster, model, {"topics": "no number"})
        equal(daemon.copy_model(model + "-copy", model)["documents"], documents(daemon, model))
        raised(409, daemon.copy_model, model + "-copy", model)
        clusters = daemon.cluster(model, {"clusters": 2, "documents": "all", "restarts": 1})["clusters"]
        equal(sum(cluster["documents"] for cluster in clusters), documents(daemon, model))
        equal(daemon.evaluation(model, positive="spam")["positive"], "spam")
        equal(daemon.make_challenger(model, {"learning_rate": 0.05}, dry_run=True)["state"], "planned")
        raised(404, daemon.challenger, model)
        equal(daemon.make_challenger(model, {"learning_rate": 0.05})["challenger"], model + ".challenger")
        equal(daemon.challenger(model)["settings"]["learning_rate"], 0.05)
        holds("windows" in daemon.evaluation(model)["challenger"], "the comparison")
        equal(daemon.promote_challenger(model)["settings"]["learning_rate"], 0.05)
        daemon.make_challenger(model, {})
        daemon.drop_challenger(model)
        raised(404, daemon.challenger, model)
        equal(daemon.is_ready(), (True, ""))
        holds("\nbayesd_" in daemon.metrics(), "metrics")


def test_tokens(api):
    daemon = api.another(config={"tokens": {"classify": TOKEN}}).start()
    raised(401, Bayesd(daemon.url).model, "m")
    raised(401, Bayesd(daemon.url, token="wrong").model, "m")
    reader = Bayesd(daemon.url, token=TOKEN)
    equal(list(reader.models()), [])
    raised(403, reader.train, "m", "text", "spam")
    lines = [{"text": "x " * 10000, "label": "a", "id": str(i)} for i in range(2000)]
    raised(403, lambda: list(reader.train_stream("m", lines)))
    raised(403, reader.train_batch, "m", lines[:1000])
    daemon.stop()


def test_the_unix_socket_and_the_environment(api):
    path = os.path.join(api.new_folder(), "socket")
    daemon = api.another(config={"server": {"socket": path}, "tokens": {"admin": TOKEN}}).start()
    file = path + ".token"
    with open(file, "w", encoding="ascii") as out:
        out.write(TOKEN + "\n")
    with Bayesd("unix:" + path, token=TOKEN) as over_socket:
        equal(over_socket.train("m", "tea", "ham")["status"], "learned")
        equal(len(list(over_socket.classify_stream("m", ["tea"] * 3))), 3)
    code = "import bayesd; d = bayesd.Bayesd.from_environment(); print([m['name'] for m in d.models()])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=FOLDER,
                          env=clean_environment(BAYESC_URL="unix:" + path, BAYESC_TOKEN_FILE=file))
    equal(done.stdout, "['m']\n")
    try:
        Bayesd("unix:" + path + ".none").is_ready()
        raise AssertionError("a socket that is not there")
    except FileNotFoundError:
        pass
    daemon.stop()


def test_tls(api):
    daemon, authority = begin(api)
    with Bayesd(f"https://localhost:{port_of(daemon)}", tls=context(authority)) as over_tls:
        equal(over_tls.train("m", "tea", "ham")["status"], "learned")
        equal(over_tls.classify("m", "tea")["label"], "ham")
    try:
        Bayesd(f"https://localhost:{port_of(daemon)}", tls=context(Authority(api.new_folder()))).is_ready()
        raise AssertionError("a certificate of somebody else")
    except OSError:
        pass
    daemon.stop()


def test_a_connection_that_was_closed_is_opened_again(api):
    daemon = api.another(config={"server": {"timeout": 1}}).start()
    with Bayesd(daemon.url) as kept:
        kept.train("m", "tea", "ham")
        was = kept._connection.sock  # pylint: disable=protected-access
        was.settimeout(patience(10))
        equal(was.recv(1), b"", "the daemon closes a connection that is idle")
        equal(kept.train("m", "coffee", "spam")["status"], "learned")
        daemon.stop()
        try:
            kept.train("m", "coffee", "spam")
            raise AssertionError("a daemon that is not there")
        except OSError:
            pass
        daemon.start()


class Deaf:
    """Takes connections and says `reply`, or nothing."""

    def __init__(self, reply=b""):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, args=(reply,), daemon=True)
        self.thread.start()

    def serve(self, reply):
        self.taken, _ = self.listener.accept()
        self.taken.recv(65536)
        self.taken.sendall(reply)
        if reply:
            self.taken.close()


def test_time_outs_and_foreign_replies(api):
    silent = Deaf()
    try:
        next(Bayesd(silent.url, timeout=.2).models())
        raise AssertionError("no time-out")
    except TimeoutError:
        pass
    foreign = b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlater"
    problem = raised(503, Bayesd(Deaf(foreign).url).model, "m")
    equal((problem.status, problem.detail, problem.retry_after), (503, "later", 7.0))
    for head in (b"Transfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n", b"Content-Length: 6\r\n\r\n{}\n"):
        for read in (lambda d: list(d.export("m")), lambda d: list(d.classify_stream("m", ["x"]))):
            try:
                read(Bayesd(Deaf(b"HTTP/1.1 200 OK\r\n" + head).url))
                raise AssertionError("a reply that was cut off")
            except ConnectionError:
                pass


def test_addresses_that_are_none(api):
    for url in ("127.0.0.1:8763", "ftp://host", "http://", "unix:"):
        try:
            Bayesd(url)
            raise AssertionError(f"{url} is no address")
        except ValueError:
            pass


def blocks(page, language):
    """The code that a page shows in a language."""
    with open(os.path.join(TOP, page), encoding="utf-8") as file:
        return re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.M | re.S)


def test_the_code_on_the_page_runs(api):
    api.get("/healthz").ok()
    folder, code = api.new_folder(), blocks("clients/README.md", "python")[0]
    prepare(folder)
    holds(ADDRESS in code, "the page asks a daemon")
    code = code.replace(ADDRESS, f"{api.daemon.host}:{api.daemon.port}").replace('"mail",', f'"{api.name()}",')
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder,
                          env=clean_environment(PYTHONPATH=os.path.abspath(FOLDER)))
    equal(done.stderr, "")
    equal([line.split()[0] for line in done.stdout.splitlines()], ["spam", "404"])


def test_every_path_of_models_has_a_method(_):
    """A new path of the API is found here until the client has it, or does without it on purpose."""
    described = described_paths()
    with open(os.path.join(FOLDER, "bayesd.py"), encoding="utf-8") as file:
        text = file.read()
    for path in described:
        last = path.removeprefix("/v1/models/{model}").strip("/").split("/")[0]
        holds(f'"{last}' in text, f"{path}: no method of the client asks for it")


def described_paths():
    left_out = ("quarantine", "sample", "distribution")
    with open(os.path.join(TOP, "server", "api", "openapi.json"), encoding="utf-8") as file:
        paths = json.load(file)["paths"]
    return [p for p in paths if p.startswith("/v1/models/{model}/") and not any(word in p for word in left_out)]
