# SPDX-License-Identifier: Apache-2.0
"""Suspected wrong labels: documents with changed labels are found, with the right label, the sources and pages; a document
that somebody has looked at is no suspect any more, also after a replay, a rebuild and an import."""
import random

from acknowledged import rebuilt
from harness import equal, holds, quoted, refused
from prometheus import parse
from test_client import Bayesc

M = "/v1/models/m"
WORDS = {"spam": "buy cheap pills offer money winner prize click free casino".split(),
         "ham": "meeting report agenda minutes project budget noon friday review draft".split(),
         "news": "minister election parliament vote summit treaty border storm market court".split()}


def documents(labels, each, wrong, seed=5):
    """`each` documents of each label, `wrong` of each with the next label: ({id: right label}, documents)."""
    rng, right, made = random.Random(seed), {}, []
    for k, label in enumerate(labels):
        for i in range(each):
            text = " ".join(rng.choices(WORDS[label], k=8) + rng.choices("the of and with this that".split(), k=4))
            given = labels[(k + 1) % len(labels)] if i < wrong else label
            right[f"{label}{i}"] = label
            made.append({"text": text, "label": given, "id": f"{label}{i}", "source": "careless" if i < wrong else "careful"})
    rng.shuffle(made)
    return right, made


def taught(client, labels, path=M, each=60, wrong=3, **settings):
    right, made = documents(labels, each, wrong)
    client.put(path, {"preset": "text", **settings}).ok(201)
    equal(client.post(path + "/train", {"documents": made}).ok().json["learned"], len(made))
    return right, {d["id"]: d["label"] for d in made if right[d["id"]] != d["label"]}


def suspects(client, query="", path=M):
    return client.get(f"{path}/suspects{query}").ok().json


def found(client, path=M):
    return {s["id"] for s in suspects(client, path=path)["suspects"]}


def check(client, labels, path=M, **settings):
    right, wrong = taught(client, labels, path, **settings)
    got = suspects(client, path=path)
    first = got["suspects"][:len(wrong)]
    equal({s["id"] for s in first}, set(wrong), "the first ones")
    for s in first:
        equal((s["label"], s["suggested"], s["source"]), (wrong[s["id"]], right[s["id"]], "careless"))
        holds(s["probability"] > s["label_probability"] and s["tokens"] == 12 and s["time"].endswith("Z"), s)
    doubts = [s["label_probability"] for s in got["suspects"]]
    equal(doubts, sorted(doubts), "the order")
    equal((got["looked_at"], got["suspected"]), (len(right), len(got["suspects"])))
    return right, wrong


def test_of_two_labels_of_more_and_by_the_book(api):
    client = api.another().start().client
    check(client, ["spam", "ham"])
    check(client, ["spam", "ham", "news"], "/v1/models/three")
    check(client, ["spam", "ham"], "/v1/models/plain", twin=False)
    check(client, ["spam", "ham", "news"], "/v1/models/book", decision="bayes")


def test_sources_metric_and_pages(api):
    client = api.another().start().client
    _, wrong = taught(client, ["spam", "ham"])
    holds("bayesd_model_suspects{" not in client.get("/metrics").body.decode(), "before it was asked for")
    whole = suspects(client)
    equal(whole["sources"], [{"source": "careless", "documents": whole["likely"]}])
    holds(0 < whole["likely"] <= whole["suspected"], whole)
    equal(parse(client.get("/metrics").body.decode()).value("bayesd_model_suspects", model="m"), whole["likely"])
    pages, query = [], "?limit=2"
    while query:
        page = suspects(client, query)
        holds(0 < len(page["suspects"]) <= 2, page)
        pages += page["suspects"]
        query = "next" in page and f"?limit=2&after={quoted(page['next'])}"
    equal(pages, whole["suspects"], "all pages")


def test_a_document_that_was_looked_at_is_none(api):
    daemon = api.another().start()
    client = daemon.client
    _, wrong = taught(client, ["spam", "ham"])
    kept, corrected, later = sorted(wrong)[:3]
    before = client.get(M).ok().json
    evidence = {"text": "cheap meeting"}
    said = client.post(M + "/classify", evidence).ok().json
    def give(id, label): return client.post(f"{M}/documents/{id}/label", {"label": label}).ok().json["status"]
    equal(give(kept, wrong[kept]), "unchanged")
    equal(give(kept, wrong[kept]), "unchanged", "once more")
    equal(client.post(M + "/classify", evidence).ok().json, said, "nothing is learned")
    equal({k: client.get(M).ok().json[k] for k in ("documents", "labels", "vocabulary")},
          {k: before[k] for k in ("documents", "labels", "vocabulary")})
    equal(found(client), set(wrong) - {kept})
    equal(give(corrected, {"spam": "ham", "ham": "spam"}[wrong[corrected]]), "relabelled")
    equal(found(client), set(wrong) - {kept, corrected})
    # Also when it is taught again as it is; not with other content.
    dump = client.get(M + "/export").ok().body
    equal(sum(b'"reviewed":true' in line for line in dump.splitlines()), 2)
    client.put("/v1/models/copy/import", dump, "application/x-ndjson").ok(201)
    equal(found(client, "/v1/models/copy"), set(wrong) - {kept, corrected}, "an import")
    said = client.post(M + "/classify", evidence).ok().json
    daemon.kill()
    client = daemon.start().client
    equal(found(client), set(wrong) - {kept, corrected}, "after a kill")
    daemon.stop()
    rebuilt(api, daemon.data)
    client = daemon.start().client
    equal(found(client), set(wrong) - {kept, corrected}, "after a rebuild")
    client.post(M + "/train", {"id": kept, "label": wrong[kept], "text": " ".join(WORDS["spam" if wrong[kept] == "ham" else "ham"])}).ok()
    equal(found(client), set(wrong) - {corrected}, "other content")
    # An undo of what the reviewer did.
    client.post(f"{M}/documents/{later}/label?source=reviewer", {"label": wrong[later]}).ok()
    holds(later not in found(client), "kept")
    equal(client.post(M + "/undo", {"source": "reviewer"}).ok().json["restored"], 1)
    holds(later in found(client), "undone")


def test_refusals(api):
    client = api.another().start().client
    refused(client.get("/v1/models/none/suspects"), 404)
    client.put(M, {"preset": "text"}).ok(201)
    equal(suspects(client), {"suspects": [], "looked_at": 0, "suspected": 0, "likely": 0, "sources": []}, "no document")
    for query in ("limit=0", "limit=10001", "after=x", "after=-1", "after=5", "after=5-nan", "after=5-1x", "after=" + "1" * 80, "more=1"):
        refused(client.get(f"{M}/suspects?{query}"), 400)
    client.post(M + "/train", {"text": "one", "label": "a"}).ok()
    equal(suspects(client)["suspects"], [], "one label")


def test_by_the_client(api):
    """Columns, a limit, who has taught them, and JSON."""
    daemon = api.another().start()
    client = daemon.client
    _, wrong = taught(client, ["spam", "ham"])
    bayesc = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    out = bayesc.run("suspects", "m", "--limit", "2").decode()
    lines = out.splitlines()
    equal(lines[0].split(), ["id", "label", "suggested", "probability", "source", "time"])
    holds(all(line.split()[0] in wrong and line.split()[4] == "careless" for line in lines[1:3]), out)
    whole = suspects(client)
    equal(lines[4], f"m: of 120 documents another label wins for {whole['suspected']}, for {whole['likely']} of them with .9 and more")
    equal(lines[-1].split(), ["careless", str(whole["likely"])])
    equal(bayesc.json("suspects", "m"), whole)
