# SPDX-License-Identifier: Apache-2.0
"""Documents with several labels (label_set several): counts by label stay exact through every change, verdicts are
those of the documents alone, and whatever has no meaning with several labels is refused in words."""
import json
import math
import random

from acknowledged import rebuilt, verified
from harness import equal, holds, near, quoted, refused
from test_client import DATAERR, USAGE, Bayesc, write

LABELS = ("rechnung", "strom", "bank", "reise", "müll & co")


def text_of(rng, labels):
    """A few words of each label among words of none."""
    words = [f"{label[:4]}{rng.randrange(6)}" for label in labels for _ in range(3)]
    words += [f"wort{rng.randrange(60)}" for _ in range(rng.randrange(4, 14))]
    rng.shuffle(words)
    return " ".join(words)


def documents(rng, count, prefix="d"):
    made = []
    for i in range(count):
        labels = rng.sample(LABELS, rng.choice((0, 1, 1, 2, 3)))
        made.append({"id": f"{prefix}{i}", "text": text_of(rng, labels), "labels": labels})
    return made


def model(api, client=None, **settings):
    path = "/v1/models/" + api.name()
    (client or api).put(path, {"label_set": "several", **settings}).ok(201)
    return path


def train(client, path, rows):
    reply = client.post(path + "/train", {"documents": rows}).ok().json
    equal(reply["failed"], 0, reply)
    return reply["results"]


def counts_of(rows):
    counts = {}
    for row in rows:
        for label in set(row["labels"]):
            counts[label] = counts.get(label, 0) + 1
    return counts


def labels_of(client, path):
    return {name: row["documents"] for name, row in client.get(path).ok().json["labels"].items()}


def probabilities(client, path, texts, **query):
    reply = client.post(path + "/classify", {"documents": [{"text": text} for text in texts]}).ok().json
    return [row["probabilities"] for row in reply["results"]]


def same(got, want, what, apart=1e-6):
    for one, other in zip(got, want):
        equal(sorted(one), sorted(other), what)
        for label, value in one.items():
            holds(abs(value - other[label]) <= apart, f"{what}: {label} {value} {other[label]}")


def test_receipts_and_documents(api):
    path = model(api)
    first = api.post(path + "/train", {"id": "1", "text": "tea cup", "labels": ["b", "a", "b"]}).ok().json
    equal((first["status"], first["document_labels"], first["labels"]),
          ("learned", ["a", "b"], {"a": {"documents": 1}, "b": {"documents": 1}}))
    holds("label" not in first, first)
    again = api.post(path + "/train", {"id": "1", "text": "tea cup", "labels": ["a", "b"]}).ok().json
    equal(again["status"], "unchanged")
    moved = api.post(path + "/train", {"id": "1", "text": "tea cup", "labels": ["c", "b"]}).ok().json
    equal((moved["status"], moved["document_labels"], moved["previous_labels"], moved["labels"]),
          ("relabelled", ["b", "c"], ["a", "b"], {"b": {"documents": 1}, "c": {"documents": 1}}))
    none = api.post(path + "/train", {"id": "2", "text": "milk", "labels": []}).ok().json
    equal((none["status"], none["document_labels"], none["labels"]), ("learned", [], {}))
    equal(api.get(path + "/documents/1").ok().json["labels"], ["b", "c"])
    equal(api.get(path + "/documents/2").ok().json["labels"], [])
    info = api.get(path).ok().json
    equal((info["documents"], labels_of(api, path)), (2, {"b": 1, "c": 1}))
    gone = api.post(path + "/untrain", {"id": "1"}).ok().json
    equal((gone["status"], gone["document_labels"]), ("forgotten", ["b", "c"]))
    equal(labels_of(api, path), {})
    refused(api.post(path + "/classify", {"text": "tea"}), 409, "no document with a label")


def test_labels_of_a_document_are_changed(api):
    path = model(api)
    train(api, path, [{"id": "a/b", "text": "tea", "labels": ["x", "y"]}, {"id": "2", "text": "milk", "labels": ["z"]}])
    at = f"{path}/documents/{quoted('a/b')}"
    done = api.call("PATCH", at, {"add": ["z", "x"], "remove": ["y"]}).ok().json
    equal((done["status"], done["document_labels"], done["previous_labels"]), ("relabelled", ["x", "z"], ["x", "y"]))
    equal(labels_of(api, path), {"x": 1, "z": 2})
    equal(api.call("PATCH", at, {"add": ["z"]}).ok().json["status"], "unchanged")
    equal(api.call("PATCH", at, {"labels": []}).ok().json["document_labels"], [])
    equal(api.post(at + "/label", {"labels": [7]}).ok().json["document_labels"], ["7"])
    refused(api.call("PATCH", at, {}), 400, "labels", "add", "remove")
    refused(api.call("PATCH", at, {"labels": ["x"], "add": ["y"]}), 400, "add")
    refused(api.call("PATCH", at, {"label": "x"}), 422, "several labels", "labels")
    refused(api.call("PATCH", at, {"add": [["x"]]}), 400, "add", "labels")
    refused(api.call("PATCH", f"{path}/documents/none", {"add": ["x"]}), 404, "none")
    one = "/v1/models/" + api.name()
    api.post(one + "/train", {"id": "1", "text": "tea", "label": "a"}).ok()
    refused(api.call("PATCH", one + "/documents/1", {"add": ["x"]}), 422, "one label")
    equal(api.call("PATCH", one + "/documents/1", {"label": "b"}).ok().json["previous_label"], "a")


def test_random_histories_leave_the_documents_alone(api):
    """After any changes the model is that of its present documents: counts, verdicts, after a restart, a rebuild and
    an import."""
    rng = random.Random(4)
    daemon = api.another().start()
    client = daemon.client
    path, other = model(api, client), model(api, client)
    living = {}
    for row in documents(rng, 160):
        client.post(path + "/train", row).ok()
        living[row["id"]] = row
    for _ in range(150):
        row = living[rng.choice(sorted(living))]
        labels = rng.sample(LABELS, rng.randrange(4))
        what = rng.randrange(5)
        if what == 0 and len(living) > 100:
            client.post(path + "/untrain", {"id": row["id"]}).ok()
            del living[row["id"]]
        elif what == 1:
            client.call("PATCH", f"{path}/documents/{row['id']}", {"add": labels, "remove": row["labels"][:1]}).ok()
            row["labels"] = sorted((set(row["labels"]) | set(labels)) - set(row["labels"][:1]))
        elif what == 2:
            client.call("PATCH", f"{path}/documents/{row['id']}", {"labels": labels}).ok()
            row["labels"] = labels
        elif what == 3:
            row.update(text=text_of(rng, labels), labels=labels)
            client.post(path + "/train", row).ok()
        else:
            client.post(path + "/train", {"id": row["id"], "labels": labels}).ok()
            row["labels"] = labels
        equal(labels_of(client, path), counts_of(living.values()))
    rows = list(living.values())
    rng.shuffle(rows)
    train(client, other, rows)
    probes = [row["text"] for row in documents(random.Random(5), 30)]
    seen = probabilities(client, path, probes)
    same(seen, probabilities(client, other, probes), "the same documents")
    equal(client.get(path).ok().json["vocabulary"], client.get(other).ok().json["vocabulary"])
    dump = client.get(path + "/export").ok().body
    third = "/v1/models/" + api.name()
    client.put(third + "/import", dump, "application/x-ndjson").ok(201)
    equal(labels_of(client, third), labels_of(client, path))
    same(probabilities(client, third, probes), seen, "an import")
    daemon.stop()
    verified(api, daemon.data)
    rebuilt(api, daemon.data)
    again = api.another(data=daemon.data).start().client
    equal(labels_of(again, path), counts_of(rows))
    same(probabilities(again, path, probes), seen, "a restart")


def test_an_undo_takes_labels_back(api):
    path = model(api)
    rng = random.Random(6)
    rows = documents(rng, 40)
    for row in rows:
        api.post(path + "/train?source=good", row).ok()
    before = (labels_of(api, path), probabilities(api, path, [row["text"] for row in rows[:10]]))
    for row in rows[:15]:
        api.call("PATCH", f"{path}/documents/{row['id']}?source=bad", {"add": ["bank"], "remove": ["strom"]}).ok()
    for row in documents(rng, 10, "bad"):
        api.post(path + "/train?source=bad", row).ok()
    api.post(path + "/undo", {"source": "bad"}).ok()
    equal(labels_of(api, path), before[0])
    same(probabilities(api, path, [row["text"] for row in rows[:10]]), before[1], "after the undo")


def test_a_verdict_is_independent_for_each_label(api):
    path = model(api)
    rng = random.Random(8)
    train(api, path, documents(rng, 300))
    both = api.post(path + "/classify", {"text": "rech1 rech2 rech3 stro1 stro2 stro4 wort1"}).ok().json
    equal(both["labels"], ["rechnung", "strom"])
    holds("label" not in both and both["calibrated"] and both["ready"], both)
    holds(both["probabilities"]["rechnung"] > .5 and both["probabilities"]["strom"] > .5, both)
    none = api.post(path + "/classify", {"text": "wort1 wort2 wort3 wort4"}).ok().json
    equal(none["labels"], [])
    # Probabilities are right on average.
    tests = documents(random.Random(9), 300)
    seen = probabilities(api, path, [row["text"] for row in tests])
    for label in LABELS:
        share = sum(label in row["labels"] for row in tests)
        holds(abs(sum(one[label] for one in seen) - share) < 40, f"{label}: {share}")
    top = api.post(path + "/classify?top=1", {"text": "rech1 rech2 rech3"}).ok().json
    equal(list(top["probabilities"]), ["rechnung"])


def test_thresholds(api):
    path = model(api)
    rng = random.Random(10)
    train(api, path, documents(rng, 300))
    text = {"text": "rech1 rech2 wort1 wort2 wort3"}
    found = api.post(path + "/classify", text).ok().json["probabilities"]["rechnung"]
    for threshold, given in ((found * .9, ["rechnung"]), (min(1, found * 1.1), [])):
        api.put(path, {"label_set": "several", "thresholds": {"rechnung": threshold}}).ok(200)
        equal(api.post(path + "/classify", text).ok().json["labels"], given, f"threshold {threshold} of {found}")
    figures = {}
    for settings in ({}, {"optimize": "precision", "precision": .99}, {"optimize": "precision", "precision": .6}):
        api.put(path, {"label_set": "several", **settings}).ok(200)
        figures[settings.get("precision")] = api.get(path + "/evaluation").ok().json["labels"]
    for label in LABELS:
        for bound in (.99, .6):
            row = figures[bound][label]
            holds(row["given"] == 0 or row["precision"] >= bound, row)
        holds(figures[.6][label]["threshold"] <= figures[.99][label]["threshold"], label)


def test_costs(api):
    """A label that is given wrongly costs more, or one that is missed: each threshold follows, and with it what is given."""
    path = model(api)
    train(api, path, documents(random.Random(31), 300))
    figures = []
    for fp, fn in ((1, 50), (1, 1), (50, 1)):
        api.put(path, {"label_set": "several", "optimize": "costs", "cost_fp": fp, "cost_fn": fn}).ok(200)
        figures.append(api.get(path + "/evaluation").ok().json["labels"])
    for label in LABELS:
        thresholds = [row[label]["threshold"] for row in figures]
        equal(sorted(set(thresholds)), thresholds, label)
        near(thresholds[1], .5, label, .6)
        holds(figures[0][label]["recall"] >= figures[2][label]["recall"], label)
        holds(figures[2][label]["precision"] >= figures[0][label]["precision"], label)
    api.put(path, {"label_set": "several", "optimize": "f1", "cost_fp": 50}).ok(200)
    f1 = api.get(path + "/evaluation").ok().json["labels"]
    api.put(path, {"label_set": "several", "optimize": "f1"}).ok(200)
    equal(api.get(path + "/evaluation").ok().json["labels"], f1, "costs hold for costs alone")
    for wrong in ({"cost_fp": 0}, {"cost_fn": -1}, {"cost_fn": 1e9}):
        refused(api.put(path, {"label_set": "several", "optimize": "costs", **wrong}), 422, next(iter(wrong)))


def test_next(api):
    """Stored documents without a label: first the one whose label lies nearest to its threshold."""
    path = model(api)
    rng = random.Random(41)
    train(api, path, documents(rng, 200))
    texts = {row["id"] + "-next": row["text"] for row in documents(rng, 30)}
    for id, text in texts.items():
        api.post(path + "/train", {"id": id, "text": text, "label": None}).ok()
    thresholds = {label: row["threshold"] for label, row in api.get(path + "/evaluation").ok().json["labels"].items()}
    verdicts = {id: api.post(path + "/classify", {"text": text}).ok().json for id, text in texts.items()}

    def margins(id):
        sides = {label: (p - thresholds[label]) / ((1 - thresholds[label]) if p >= thresholds[label] else -thresholds[label])
                 for label, p in verdicts[id]["probabilities"].items()}
        return min((margin, label) for label, margin in sides.items())
    got = api.get(path + "/next?count=30").ok().json
    equal((got["looked_at"], sorted(row["id"] for row in got["next"])), (30, sorted(texts)))
    for row in got["next"]:
        margin, label = margins(row["id"])
        near(row["margin"], margin, row["id"], .01)
        equal((row["verdict"], row["labels"]), (label, verdicts[row["id"]]["labels"]), row["id"])
        near(row["probability"], verdicts[row["id"]]["probabilities"][label], row["id"], 1e-3)
    equal(got["next"][0]["id"], min(texts, key=margins), "the least sure one")
    chosen = got["next"][0]["id"]
    api.post(path + "/train", {"id": chosen, "text": texts[chosen], "labels": ["strom"]}).ok()
    holds(chosen not in [row["id"] for row in api.get(path + "/next?count=30").ok().json["next"]], "it has labels now")


def test_evaluation(api):
    path = model(api)
    rows = documents(random.Random(11), 250)
    train(api, path, rows)
    got = api.get(path + "/evaluation").ok().json
    equal((got["scores"], got["documents"], sorted(got["labels"])), ("leave-one-out", 250, sorted(LABELS)))
    right = given = 0
    for label, row in got["labels"].items():
        equal(row["documents"], counts_of(rows)[label])
        hits = row["recall"] * row["documents"]
        near(hits, round(hits), label, 1e-4)
        near(row["precision"] * row["given"], hits, label, 1e-3)
        near(row["f1"], 2 * hits / (row["documents"] + row["given"]), label, 1e-3)
        right, given = right + hits, given + row["given"]
    near(got["micro_f1"], 2 * right / (given + sum(counts_of(rows).values())), "micro-F1", 1e-3)
    near(got["macro_f1"], sum(row["f1"] for row in got["labels"].values()) / len(LABELS), "macro-F1", 1e-3)
    holds(got["micro_f1"] > .8 and got["mean_average_precision"] > .9 and got["exact"] > .5, got)
    refused(api.get(path + "/evaluation?positive=bank"), 400, "positive", "several labels")


def test_an_explanation_is_of_one_label_and_sums_to_its_log_odds(api):
    for settings in ({}, {"preset": "book"}):
        path = model(api, **settings)
        train(api, path, documents(random.Random(12), 200))
        text = {"text": "rech1 rech2 stro3 wort1 wort5 neu"}
        for label in ("rechnung", "bank"):
            got = api.post(f"{path}/classify?explain=100&explain_label={label}", text).ok().json
            equal(got["explained"], label)
            p = got["probabilities"][label]
            near(sum(row["evidence"] for row in got["explanation"]), math.log(p / (1 - p)), label, 1e-6)
            equal(got["explanation"][-1]["token"], None)
        strongest = api.post(path + "/classify?explain=2", text).ok().json
        holds(strongest["explanation"][0]["token"] in ("rech1", "rech2", "stro3"), strongest)
        refused(api.post(path + "/classify?explain=3&explain_label=none", text), 404, "none")


def log_odds_by_the_book(rows, words, label):
    """Mitchell 1997, table 6.2, for the label against all documents without it."""
    vocabulary = {word for row in rows for word in row["text"].split()}
    def side(has):
        chosen = [row for row in rows if (label in row["labels"]) == has]
        counts, total = {}, 0
        for row in chosen:
            for word in row["text"].split():
                counts[word] = counts.get(word, 0) + 1
                total += 1
        return math.log(len(chosen) / len(rows)) + sum(
            math.log((counts.get(word, 0) + 1) / (total + len(vocabulary))) for word in words if word in vocabulary)
    return side(True) - side(False)


def test_by_the_book(api):
    path = model(api, preset="book")
    rows = documents(random.Random(13), 120)
    train(api, path, rows)
    for text in ("rech1 rech1 stro2 wort3 neu", "wort1 wort2", "bank1 reis2 reis3"):
        got = api.post(path + "/classify", {"text": text}).ok().json
        for label in LABELS:
            z = log_odds_by_the_book(rows, text.split(), label)
            near(got["probabilities"][label], 1 / (1 + math.exp(-z)), f"{label} of {text!r}")
            equal(label in got["labels"], z >= 0)


def test_tables_and_queries(api):
    path = model(api)
    table = "id,text,labels\r\n1,tea cup,a; b\r\n2,milk,\r\n3,sugar,b\r\n"
    reply = api.post(path + "/train", table, "text/csv").ok().json
    equal([row["document_labels"] for row in reply["results"]], [["a", "b"], [], ["b"]])
    reply = api.post(path + "/train?separator=%7C", "id,text,labels\r\n4,tea,a|c d\r\n", "text/csv").ok().json
    equal(reply["results"][0]["document_labels"], ["a", "c d"])
    refused(api.post(path + "/train?separator=x", table, "text/csv"), 400, "separator")
    got = api.post(path + "/train?labels=c,%20a&separator=,&id=5", "tea time", "text/plain").ok().json
    equal(got["document_labels"], ["a", "c"])
    equal(api.post(path + "/train?labels=&id=6", "tea time", "text/plain").ok().json["document_labels"], [])
    refused(api.post(path + "/train?labels=a&label=b", "tea", "text/plain"), 400, "labels", "label")
    lines = "\n".join(json.dumps({"id": str(i), "text": "tea", "labels": ["n"]}) for i in range(3))
    done = api.post(path + "/train", lines, "application/x-ndjson").ok().lines
    equal([row["document_labels"] for row in done], [["n"]] * 3)
    mail = b"Subject: tea\r\n\r\ntea and cup\r\n"
    equal(api.post(path + "/train?labels=a;n", mail, "message/rfc822").ok().json["document_labels"], ["a", "n"])


def test_labels_are_renamed_merged_and_taken_away(api):
    path = model(api)
    rows = documents(random.Random(14), 90)
    train(api, path, rows)
    def move(old, new):
        for row in rows:
            row["labels"] = sorted({new if label == old else label for label in row["labels"]} - {None})
    equal(api.call("PATCH", path + "/labels/bank", {"name": "geld"}).ok().json["documents"], 90)
    move("bank", "geld")
    equal(labels_of(api, path), counts_of(rows))
    refused(api.call("PATCH", path + "/labels/geld", {"name": "strom"}), 409, "strom", "already")
    refused(api.call("PATCH", path + "/labels/bank", {"name": "x"}), 404, "bank")
    refused(api.call("PATCH", path + "/labels/geld", {"name": "none", "merge": True}), 404, "none")
    api.call("PATCH", path + "/labels/geld", {"name": "strom", "merge": True}).ok()
    move("geld", "strom")
    equal(labels_of(api, path), counts_of(rows))
    api.delete(f"{path}/labels/{quoted('müll & co')}").ok()
    move("müll & co", None)
    equal(labels_of(api, path), counts_of(rows))
    equal(api.get(path).ok().json["documents"], 90)
    for row in rows[:20]:
        equal(api.get(f"{path}/documents/{row['id']}").ok().json["labels"], row["labels"])


def test_what_is_refused(api):
    path = model(api)
    train(api, path, documents(random.Random(15), 30))
    refused(api.post(path + "/train", {"text": "tea", "label": "a"}), 422, "several labels", "`labels`")
    one = "/v1/models/" + api.name()
    api.post(one + "/train", {"text": "tea", "label": "a"}).ok()
    refused(api.post(one + "/train", {"text": "tea", "labels": ["a"]}), 422, "one label each", "label_set")
    refused(api.post(path + "/train", {"text": "tea", "labels": ["a"], "label": "b"}), 400, "both")
    refused(api.post(path + "/train", {"text": "tea", "labels": "a"}), 400, "labels")
    refused(api.post(path + "/train", {"text": "tea", "labels": ["a\u0001"]}), 422, "control")
    refused(api.post(path + "/train", {"text": "tea", "label": "\u001fa"}), 422, "control")
    refused(api.post(path + "/train", {"text": "tea", "labels": [str(i) for i in range(101)]}), 422, "100 labels")
    for query in ("level=1", "positive=bank", "threshold=.5", "min_known=.5"):
        refused(api.post(f"{path}/classify?{query}", {"text": "tea"}), 400, query.split("=")[0])
    refused(api.post(f"{path}/classify?remember=1", {"text": "tea"}), 409, "history")
    refused(api.put(path, {"label_set": "one"}), 409, "label_set")
    refused(api.put(one, {"label_set": "several"}), 409, "label_set")
    equal(api.put(path, {}).ok(200).json["settings"]["label_set"], "several", "it stays if it is not named")
    for name, value in (("event_model", "bernoulli"), ("calibration", "platt"), ("fields", {"a": "category"}),
                        ("history", 10), ("min_known", .1), ("prior", "uniform"), ("parent", one.rsplit("/", 1)[1])):
        refused(api.put("/v1/models/" + api.name(), {"preset": "book", "label_set": "several", name: value}), 422,
                "label_set")


def test_the_doors_of_mail_refuse(api):
    daemon = api.another(config={"filter": {"model": "mail"}}).start()
    client = daemon.client
    client.put("/v1/models/mail", {"label_set": "several"}).ok(201)
    client.post("/v1/models/mail/train", {"text": "tea", "labels": ["a"]}).ok()
    mail = b"Subject: tea\r\n\r\ntea\r\n"
    reply = client.post("/checkv2", mail)
    holds(reply.status == 503 and b"several labels" in reply.body, reply.body)
    reply = client.post("/learnspam", mail)
    holds(reply.status >= 400 and b"several labels" in reply.body, reply.body)


def test_wrong_labels_are_found(api):
    path = model(api)
    rng = random.Random(19)
    rows = documents(rng, 250)
    wrong = {}
    for row in rng.sample([row for row in rows if row["labels"]], 10):
        label = rng.choice(row["labels"])
        wrong[row["id"]] = (label, "add")
        row["labels"] = [one for one in row["labels"] if one != label]
    for row in rng.sample([row for row in rows if row["id"] not in wrong], 10):
        label = next(one for one in LABELS if one not in row["labels"])
        wrong[row["id"]] = (label, "remove")
        row["labels"] = row["labels"] + [label]
    train(api, path, rows)
    first = api.get(path + "/suspects?limit=15").ok().json
    rest = api.get(f"{path}/suspects?limit=100&after={first['next']}").ok().json
    found = first["suspects"] + rest["suspects"]
    equal(first["looked_at"], 250)
    equal(len({row["id"] for row in found}), len(found))
    holds(sum(wrong.get(row["id"]) == (row["label"], row["suggested"]) for row in found[:20]) >= 17, found[:20])
    for row in found:
        near(row["label_probability"], row["probability"] if row["suggested"] == "add" else 1 - row["probability"], row, 1e-4)
    one = found[0]
    api.call("PATCH", f"{path}/documents/{one['id']}", {one["suggested"]: [one["label"]]}).ok()
    holds(one["id"] not in [row["id"] for row in api.get(path + "/suspects").ok().json["suspects"]], "somebody has looked at it")


def test_what_is_for_one_label_alone(api):
    path = model(api)
    rows = documents(random.Random(17), 40)
    train(api, path, rows)
    for query in ("vocabulary?label=bank", "sample?label=bank", "distribution?label=bank"):
        refused(api.get(f"{path}/{query}"), 422, "several labels")
    refused(api.post(path + "/refit"), 409, "fits itself")
    refused(api.post(path + "/challenger", {"settings": {"optimize": "precision"}}), 422, "several labels")
    refused(api.post("/v1/classify", {"text": "tea", "models": [path.rsplit("/", 1)[1]]}), 422, "several labels")
    refused(api.put("/v1/models/" + api.name(), {"parent": path.rsplit("/", 1)[1]}), 422, "several labels")
    em = api.get(path + "/em").ok().json
    equal((em["state"], "several labels" in em["reason"]), ("off", True), em)
    tried = api.post(path + "/undo", {"source": "http", "dry_run": True}).ok().json
    equal({label: row["documents"] for label, row in tried["labels"].items()}, counts_of(rows))


def test_a_quarantine_shows_labels(api):
    daemon = api.another(config={"models": {"quarantine": "stranger"}}).start()
    client = daemon.client
    client.put("/v1/models/m", {"label_set": "several"}).ok(201)
    waits = client.post("/v1/models/m/train?source=stranger", {"id": "1", "text": "tea", "labels": ["b", "a"]}).ok(202).json
    equal((waits["status"], waits["document_labels"]), ("quarantined", ["a", "b"]))
    equal(client.get("/v1/models/m/quarantine").ok().json["quarantine"][0]["labels"], ["a", "b"])
    client.post("/v1/models/m/quarantine/apply", {"all": True}).ok()
    equal(labels_of(client, "/v1/models/m"), {"a": 1, "b": 1})


def test_a_fit_follows_the_documents(api):
    """Verdicts are by all documents after many came at once, though a fit was made when there were few."""
    path = model(api)
    rng = random.Random(16)
    train(api, path, documents(rng, 5))
    api.post(path + "/classify", {"text": "rech1"}).ok()
    train(api, path, documents(rng, 300, "more"))
    equal(api.post(path + "/classify", {"text": "reis1 reis2 reis3 wort1"}).ok().json["labels"], ["reise"])
    equal(api.get(path + "/evaluation").ok().json["documents"], 305)


def test_a_table_of_tags_becomes_a_classified_table(api):
    """bayesc: make the model, learn a CSV with a column of tags, classify another one, look at the figures."""
    client, name, folder = Bayesc(api), api.name(), api.new_folder()
    rng = random.Random(18)
    rows = documents(rng, 200)
    head = "id,text,tags\n"
    learned = write(folder, "learned.csv", content=(head + "".join(
        f"{row['id']},{row['text']},{' | '.join(row['labels'])}\n" for row in rows)).encode())
    client.run("create", name)
    client.run("set", name, "label_set=several")
    said = client.run("train", "-m", name, "--columns", "id=id,text=text,label=tags", "--separator", "|", learned).decode()
    equal(labels_of(api, "/v1/models/" + name), counts_of(rows))
    holds("200 learned" in said, said)
    asked = write(folder, "asked.csv", content=("text\n" + "".join(
        f"{text}\n" for text in ("rech1 rech2 stro1 stro2 wort1", "wort1 wort2 wort3 wort9"))).encode())
    table = client.run("classify", "-m", name, "--csv", asked).decode().splitlines()
    equal(table[0], "text,predicted,probability")
    first, second = table[1].split(","), table[2].split(",")
    equal((first[1], second[1], second[2]), ("rechnung;strom", "", ""))
    holds(all(float(p) > .2 for p in first[2].split(";")), table)
    lines = client.run("classify", "-m", name, asked).decode().splitlines()
    equal([line.split()[0] for line in lines[:2]], ["rechnung;strom", "-"])
    client.run("rename-label", name, "bank", "geld")
    client.run("delete-label", name, "reise", "--yes")
    holds({"geld"} <= set(labels_of(api, "/v1/models/" + name)) and "reise" not in labels_of(api, "/v1/models/" + name), "")
    client.run("train", "-m", name, "--separator", "x", learned, status=USAGE)
    one = api.name()
    api.post(f"/v1/models/{one}/train", {"text": "tea", "label": "a"}).ok()
    client.run("train", "-m", one, "--separator", ";", learned, status=USAGE)
    holds("label_set=several" in client.said, client.said)
    bad = write(folder, "bad.csv", content=b"text,label\ntea,Strom\n")
    client.run("train", "-m", name, bad, status=DATAERR)
    holds("'Strom' is new, and there is 'strom'" in client.said, client.said)
    client.run("train", "-m", name, "--new-label", bad)
    equal(labels_of(api, "/v1/models/" + name)["Strom"], 1)


def test_the_first_label_of_a_document_that_had_none(api):
    """A verdict before it has found nothing to fit."""
    path = "/v1/models/" + api.name()
    for change in (lambda: api.post(path + "/train", {"id": "a", "text": "tea", "labels": ["x"]}),
                   lambda: api.call("PATCH", path + "/documents/a", {"labels": ["x"]})):
        api.put(path, {"label_set": "several"}).ok(201)
        api.post(path + "/train", {"id": "a", "text": "tea with milk", "labels": []}).ok()
        refused(api.post(path + "/classify", {"text": "tea"}), 409)
        change().ok()
        equal(list(api.post(path + "/classify", {"text": "tea"}).ok().json["probabilities"]), ["x"])
        api.delete(path).ok(204)
