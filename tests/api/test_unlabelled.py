# SPDX-License-Identifier: Apache-2.0
"""Documents without a label: stored, counted nowhere, and labelled later by id alone."""
import json
import os
import tempfile
import time

from acknowledged import NDJSON, exported, rebuilt, verified
from harness import equal, holds, refused, wait_for
from prometheus import parse
from test_client import DATAERR, USAGE, Bayesc

M = "/v1/models/m"
WAITS = "stranger"


def train(client, id, label, text, path=M):
    return client.post(path + "/train", {"id": id, "label": label, "text": text}).ok().json


def label(client, id, label, path=M):
    return client.post(path + "/train", {"id": id, "label": label})


def row(client, path=M):
    found = client.get(path).ok().json
    return {k: found.get(k) for k in ("documents", "unlabelled", "vocabulary", "labels")}


def dropped(client):
    return parse(client.get("/metrics").body.decode()).value("bayesd_features_dropped_total")


def filled(client, path=M):
    client.put(path, {"preset": "book"})
    train(client, "a", "spam", "buy cheap pills", path)
    train(client, "b", "ham", "meeting at noon", path)


def test_stored_and_counted_nowhere(api):
    daemon = api.another().start()
    client = daemon.client
    filled(client)
    before, verdict = row(client), client.post(M + "/classify", {"text": "cheap meeting unseen"}).ok().json
    reply = train(client, "u", None, "unseen words and cheap ones")
    equal({k: reply[k] for k in ("status", "label", "tokens", "new_tokens", "labels")},
          {"status": "stored", "label": None, "tokens": 5, "new_tokens": 0,
           "labels": {"ham": {"documents": 1}, "spam": {"documents": 1}}})
    equal(row(client), {**before, "unlabelled": 1})
    equal(client.post(M + "/classify", {"text": "cheap meeting unseen"}).ok().json, verdict)
    document = client.get(M + "/documents/u").ok().json
    equal((document["label"], document["tokens"]), (None, 5))
    equal(train(client, "u", None, "unseen words and cheap ones")["status"], "unchanged")
    equal(train(client, "u", None, "others")["status"], "updated")
    metrics = parse(client.get("/metrics").body.decode())
    equal(metrics.value("bayesd_unlabelled_documents"), 1)
    equal(metrics.value("bayesd_changes_total", status="stored"), 1)


def test_labelled_by_id_alone(api):
    """What it then is, is what it would be with its label from the beginning."""
    client = api.another().start().client
    for path in (M, "/v1/models/n"):
        filled(client, path)
    train(client, "u", None, "cheap offer of words")
    reply = label(client, "u", "spam").ok().json
    equal((reply["status"], reply["label"], reply["tokens"]), ("learned", "spam", 4))
    train(client, "u", "spam", "cheap offer of words", "/v1/models/n")
    equal(row(client), row(client, "/v1/models/n"))
    for text in ("cheap offer", "noon"):
        got, want = (client.post(path + "/classify", {"text": text}).ok().json for path in (M, "/v1/models/n"))
        equal({**got, "model": 0}, {**want, "model": 0})
    equal(label(client, "u", "spam").json["status"], "unchanged")
    changed = label(client, "u", "ham").json
    equal((changed["status"], changed["previous_label"]), ("relabelled", "spam"))
    taken = label(client, "u", None).json
    equal((taken["status"], taken["previous_label"], taken["label"]), ("relabelled", "ham", None))
    equal(row(client)["unlabelled"], 1)
    refused(label(client, "nobody", "spam"), 404, "nobody")
    equal(client.post(M + "/untrain", {"id": "u"}).ok().json["label"], None)
    equal(row(client)["unlabelled"], None)


def test_what_is_refused(api):
    client = api.another(config={"models": {"quarantine": WAITS}}).start().client
    filled(client)
    refused(client.post(M + "/train", {"text": "no label"}), 400, "label")
    refused(client.post(M + "/train", {"label": "spam"}), 400, "document")
    refused(client.post(M + "/classify", {"text": "x", "label": None}), 400, "label", "null")
    refused(client.post(M + "/train", {"id": "a", "label": ""}), 422)
    # What waits is applied with its content: a label alone has none.
    refused(client.post(M + "/train", {"id": "a", "label": "ham", "source": WAITS}), 422, "quarantine")
    equal(client.post(M + "/train", {"id": "q", "label": None, "text": "x", "source": WAITS}).status, 202)
    client.get(M + "/quarantine").ok()
    client.post(M + "/quarantine/apply", {"all": True}).ok()
    equal(client.get(M + "/documents/q").ok().json["label"], None)


def test_batches_and_lines(api):
    client = api.another().start().client
    filled(client)
    batch = client.post(M + "/train", {"documents": [
        {"id": "u", "label": None, "text": "one"}, {"id": "v", "label": "ham", "text": "two"}]}).ok().json
    equal((batch["learned"], batch["stored"], batch["failed"]), (1, 1, 0))
    lines = [{"id": "u", "label": "spam"}, {"id": "w", "label": None, "text": "three"}, {"id": "x", "label": "spam"}]
    replies = client.post(M + "/train", "\n".join(map(json.dumps, lines)), NDJSON).ok().lines
    equal([r.get("status", "failed") for r in map(dict, replies)][:2], ["learned", "stored"])
    holds("error" in replies[2], replies[2])


def test_ageing_counts_them(api):
    client = api.another().start().client
    client.put(M, {"preset": "book", "max_documents": 3})
    for i in range(6):
        train(client, f"d{i}", None if i % 2 else "ham", f"w{i}")
    wait_for(lambda: [client.get(f"{M}/documents/d{i}").status for i in range(6)] == [404] * 3 + [200] * 3, "ageing")
    equal((row(client)["documents"], row(client)["unlabelled"]), (1, 2))


def test_undo(api):
    client = api.another().start().client
    filled(client)
    train(client, "u", None, "cheap offer")
    want = row(client)
    client.post(M + "/train", {"id": "u", "label": "ham", "source": "mistaken"}).ok()
    client.post(M + "/train", {"id": "a", "label": None, "source": "mistaken"}).ok()
    client.post(M + "/train", {"id": "z", "label": None, "text": "new", "source": "mistaken"}).ok()
    equal(row(client)["documents"], 2)
    done = client.post(M + "/undo", {"source": "mistaken"}).ok().json
    equal((done["documents"], done["restored"], done["forgotten"]), (3, 2, 1))
    equal(row(client), want)
    equal([client.get(f"{M}/documents/{id}").json.get("label", "gone") for id in "aubz"], ["spam", None, "ham", "gone"])


def test_their_words_stay(api):
    """Rows that only documents without a label have are without counts; they are not dropped as unused ones."""
    daemon = api.another(keep=True, config={"store": {"replay_features": 1000}}).start()
    client = daemon.client
    filled(client)
    for i in range(40):
        train(client, f"f{i}", "ham", f"gone{i} away{i} mine{i}")  # brings a word that the next one has, too
        train(client, f"u{i}", None, f"only{i} mine{i} both")
    for i in range(40):
        client.post(M + "/untrain", {"id": f"f{i}"}).ok()
        time.sleep(0.2 if i % 10 == 5 else 0)  # the daemon begins to look for features to drop
    train(client, "other", "ham", "beside", "/v1/models/other")  # what was untrained last goes with the next change
    wait_for(lambda: dropped(client) >= 80, "features of forgotten documents are dropped", 20)
    for i in range(40):  # they take the rows that are free
        train(client, f"n{i}", "ham", f"other{i} word{i}")
    dump = exported(client, "m")
    for i in range(40):
        label(client, f"u{i}", "spam").ok()
    tokens = client.get(f"{M}/vocabulary?label=spam&limit=1000").ok().json["tokens"]
    equal({t["token"] for t in tokens if t["counts"].get("spam")} >=
          {f"{w}{i}" for w in ("only", "mine") for i in range(40)}, True)
    daemon.stop()
    verified(api, daemon.data)
    rebuilt(api, daemon.data)
    daemon = api.another(data=daemon.data).start()
    equal(daemon.client.get(M).ok().json["documents"], 82)
    daemon.client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    equal(row(daemon.client, "/v1/models/copy")["unlabelled"], 40)
    label(daemon.client, "u7", "ham", "/v1/models/copy").ok()


def test_client_stores_without_a_label(api):
    """bayesc train --unlabelled: mails, rows of a table and lines whose label is not known."""
    daemon = api.another().start()
    bayesc = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    client = daemon.client
    bayesc.run("create", "m", "--preset", "book")
    with tempfile.TemporaryDirectory() as folder:
        table, lines, mail = (os.path.join(folder, name) for name in ("t.csv", "l.ndjson", "m.eml"))
        for path, text in ((table, "id,text,label\n1,red apple,fruit\n2,green apple,\n3,old car,\n"),
                           (lines, '{"id": "4", "text": "blue car", "label": null}\n{"id": "5", "text": "fast car"}\n'),
                           (mail, "From: a@example.org\nSubject: car\n\na new car\n")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        for arguments, status in (((mail,), USAGE), ((lines,), DATAERR), ((table,), DATAERR), (("--in-order", table), DATAERR)):
            bayesc.run("train", "-m", "m", *arguments, status=status)
            holds("has no label: " in bayesc.said and "--unlabelled" in bayesc.said, bayesc.said)
        equal(client.get("/v1/models/m").ok().json["labels"]["fruit"]["documents"], 1, "the row that has one is learned")
        bayesc.run("train", "-m", "m", "--unlabelled", "--label", "x", table, status=USAGE)
        row = client.get("/v1/models/m").ok().json
        equal(row.get("unlabelled", 0), 0)
        said = bayesc.run("train", "-m", "m", "--unlabelled", table, lines, mail).decode()
        holds("1 unchanged" in said and "5 stored without a label" in said, said)
        row = client.get("/v1/models/m").ok().json
        equal((row["unlabelled"], row["labels"]["fruit"]["documents"], list(row["labels"])), (5, 1, ["fruit"]))
        equal(bayesc.json("train", "-m", "m", "--unlabelled", "--in-order", table)["unchanged"], 3)
        client.post("/v1/models/m/train", {"id": "5", "label": "vehicle"}).ok()
        equal(client.get("/v1/models/m/documents/5").ok().json["label"], "vehicle")
        equal(client.get("/v1/models/m").ok().json["unlabelled"], 4)


def test_bodies_without_a_label(api):
    """?unlabelled=1: texts, mails, an mbox, and rows of a CSV that have no label."""
    client = api.another().start().client
    mail = b"From: a@example.org\nSubject: %s\n\nlunch\n"

    def send(query, body, type):
        return client.post(f"{M}/train?{query}", body, type)
    refused(send("", b"no label", "text/plain"), 400, "unlabelled=1")
    for query in ("unlabelled=1&label=x", "unlabelled=2", "unlabelled=yes"):
        refused(send(query, b"a text", "text/plain"), 400, "unlabelled")
    for type, body in (("application/json", b'{"text": "a", "label": null}'), (NDJSON, b'{"text": "a", "label": null}\n')):
        refused(send("unlabelled=1", body, type), 400, "'unlabelled' goes with")
    refused(client.post(f"{M}/untrain?unlabelled=1", b"a text", "text/plain"), 400, "unlabelled")
    got = send("unlabelled=1&id=t", b"a text", "text/plain").ok().json
    equal((got["id"], got["label"], got["status"]), ("t", None, "stored"))
    equal(send("unlabelled=1", mail % b"one", "message/rfc822").ok().json["status"], "stored")
    box = b"".join(b"From x Mon Jan  1 00:00:00 2024\n" + mail % name + b"\n" for name in (b"two", b"three"))
    equal(send("unlabelled=1", box, "application/mbox").ok().json["stored"], 2)
    table = b"id,text,label\n1,red apple,fruit\n2,green apple,\n"
    got = send("", table, "text/csv").ok().json
    equal((got["learned"], got["failed"]), (1, 1))
    got = send("unlabelled=1", table, "text/csv").ok().json
    equal((got["unchanged"], got["stored"], got["failed"]), (1, 1, 0))
    equal(send("unlabelled=1", b"text\nold car\nnew car\n", "text/csv").ok().json["stored"], 2)
    row = client.get(M).ok().json
    equal((row["unlabelled"], {name: counts["documents"] for name, counts in row["labels"].items()}), (7, {"fruit": 1}))
    label(client, "t", "note").ok()
    equal(client.get(M + "/documents/t").ok().json["label"], "note")
