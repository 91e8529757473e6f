# SPDX-License-Identifier: Apache-2.0
"""Who asked for a change; labels renamed; models in pages; long lists."""
import json

from harness import equal, holds, refused
from rspamd import MAIL as MAIL_MODEL
from test_client import Bayesc
from wire import Wire

TOKEN = "a-token-of-alice-0123"
TEXT = "some words"


def source_of(client, path, identity):
    return client.get(f"{path}/documents/{identity}").ok().json.get("source")


def test_a_change_has_a_source(api):
    path = "/v1/models/" + api.name()
    api.post(path + "/train", {"text": TEXT, "label": "a", "id": "door"}).ok()
    api.post(path + "/train?source=import%20of%20may", {"text": TEXT, "label": "a", "id": "query"}).ok()
    api.post(path + "/train?source=all", {"documents": [
        {"text": TEXT, "label": "a", "id": "member", "source": "this one"},
        {"text": TEXT, "label": "a", "id": "batch"}]}).ok()
    api.post(path + "/train?source=stream", json.dumps({"text": TEXT, "label": "a", "id": "line"}) + "\n",
             "application/x-ndjson").ok()
    api.post(path + "/train?source=text&label=b&id=plain", TEXT, "text/plain").ok()
    for identity, source in (("door", "http"), ("query", "import of may"), ("member", "this one"),
                             ("batch", "all"), ("line", "stream"), ("plain", "text")):
        equal(source_of(api, path, identity), source, identity)
    api.post(path + "/train?source=corrector", {"text": TEXT, "label": "b", "id": "door"}).ok()
    equal(source_of(api, path, "door"), "corrector", "the one of the last change")
    api.delete(path + "?source=cleaner").ok(204)


def test_sources_that_are_none(api):
    path = "/v1/models/" + api.name()
    for source in ("x" * 65, "a%0Ab", "%FF"):
        refused(api.post(f"{path}/train?source={source}", {"text": TEXT, "label": "a"}), 422, "source")
        refused(api.put(f"{path}?source={source}", {}), 422, "source")
    refused(api.post(path + "/train", {"text": TEXT, "label": "a", "source": "x" * 65}), 422, "source")
    refused(api.post(path + "/train", {"text": TEXT, "label": "a", "source": 1}), 400, "source")
    refused(api.post(path + "/classify?source=x", {"text": TEXT}), 400, "source")
    api.put(f"{path}?source={'x' * 64}", {"preset": "book"}).ok(201)
    api.delete(path).ok(204)


def test_the_tokens_name_is_the_source(api):
    daemon = api.another(config={"tokens": {"train": f"alice={TOKEN}, a-token-without-a-name"}}).start()
    path = "/v1/models/named"
    for identity, token, query, source in (("1", TOKEN, "", "alice"), ("2", TOKEN, "?source=bob", "bob"),
                                           ("3", "a-token-without-a-name", "", "http")):
        bearer = {"Authorization": "Bearer " + token}
        daemon.client.post(path + "/train" + query, {"text": TEXT, "label": "a", "id": identity}, **bearer).ok()
        equal(daemon.client.get(f"{path}/documents/{identity}", **bearer).ok().json["source"], source)
    refused(daemon.client.post(path + "/train", {"text": TEXT, "label": "a"},
                               Authorization=f"Bearer alice={TOKEN}"), 401)


def ids_of(client, path):
    lines = client.get(path + "/export").ok().body.decode().splitlines()
    return [json.loads(line)["document"] for line in lines if line.startswith('{"document"')]


def test_the_door_of_mail_software(api):
    daemon = api.another().start()
    daemon.client.post("/learnspam", "Subject: a\n\nb\n", "message/rfc822").ok()
    wire = Wire(daemon)
    wire.send(b"TELL SPAMC/1.5\r\nMessage-class: ham\r\nSet: local\r\nContent-length: 14\r\n\r\nSubject: c\n\nd\n")
    holds(wire.until(b"DidSet") is not None, "TELL")
    equal(sorted(document["source"] for document in ids_of(daemon.client, MAIL_MODEL)), ["rspamd", "spamc"])


def test_a_label_gets_another_name(api):
    path = "/v1/models/" + api.name()
    for label, text in (("old", "tea and milk"), ("other", "coffee beans")):
        api.post(path + "/train", {"text": text, "label": label, "id": label}).ok()
    row = api.call("PATCH", path + "/labels/old", {"name": "tea & co"}).ok().json
    equal(sorted(row["labels"]), ["other", "tea & co"])
    equal(api.get(path + "/documents/old").ok().json["label"], "tea & co")
    equal(api.post(path + "/classify", {"text": "milk"}).ok().json["label"], "tea & co")
    api.call("PATCH", path + "/labels/tea%20%26%20co", {"name": "old"}).ok()
    refused(api.call("PATCH", path + "/labels/old", {"name": "other"}), 409, "other")
    refused(api.call("PATCH", path + "/labels/none", {"name": "new"}), 404, "none")
    refused(api.call("PATCH", path + "/labels/old", {"name": ""}), 422, "label")
    refused(api.call("PATCH", path + "/labels/old", {"label": "x"}), 400, "label")
    refused(api.call("PATCH", path + "x/labels/old", {"name": "x"}), 404)
    refused(api.call("PUT", path + "/labels/old", {"name": "x"}), 405)
    api.delete(path).ok(204)


def test_a_renamed_label_has_the_numbers_that_it_had(api):
    """The settings give them by name; a label that they do not name has the mean of the others."""
    for setting in ("prior", "smoothing"):
        def numbers(by_label):
            return {"preset": "book", setting: by_label if setting == "prior" else {"labels": by_label}}
        path = "/v1/models/" + api.name()
        api.put(path, numbers({"spam": 0.9, "ham": 0.1})).ok(201)
        api.post(path + "/train", {"documents": [{"text": "winner prize", "label": "spam"},
                                                 {"text": "meeting agenda", "label": "ham"}]}).ok()

        def says():
            said = api.post(path + "/classify", {"text": "winner agenda"}).ok().json["log_scores"]
            return sorted(said.values())
        before = says()
        refused(api.call("PATCH", path + "/labels/spam", {"name": "junk"}), 409, setting)
        equal(says(), before)
        api.put(path, numbers({"spam": 0.9, "ham": 0.1, "junk": 0.9})).ok()
        api.call("PATCH", path + "/labels/spam", {"name": "junk"}).ok()
        api.put(path, numbers({"junk": 0.9, "ham": 0.1})).ok()
        equal(says(), before)


def pages(client, limit):
    names, after, count = [], "", 0
    while after is not None:
        page = client.get(f"/v1/models?limit={limit}" + (f"&after={after}" if after else "")).ok().json
        holds(len(page["models"]) <= limit, page)
        names += [row["name"] for row in page["models"]]
        after = page.get("next")
        count += 1
    return names, count


def test_models_come_in_pages(api):
    daemon = api.another().start()
    equal(daemon.client.get("/v1/models").ok().json, {"models": []})
    wanted = sorted(f"m{i}" for i in range(25))
    for name in wanted:
        daemon.client.put("/v1/models/" + name, {"preset": "book"}).ok(201)
    for limit, count in ((1, 25), (7, 4), (25, 1), (1000, 1)):
        equal(pages(daemon.client, limit), (wanted, count), limit)
    equal([row["name"] for row in daemon.client.get("/v1/models?after=m23").ok().json["models"]],
          [name for name in wanted if name > "m23"])
    equal(daemon.client.get("/v1/models?after=z").ok().json, {"models": []})
    for query in ("limit=0", "limit=10001", "limit=x", "after=", "after=a%2Fb", "before=a"):
        reply = daemon.client.get("/v1/models?" + query)
        holds(reply.status in (400, 422) or query == "after=", (query, reply.status))


def test_the_client_lists_all_pages(api):
    daemon = api.another(config={"server": {"listing_rows": 3}}).start()
    wanted = [f"m{i}" for i in range(8)]
    for name in wanted:
        daemon.client.put("/v1/models/" + name, {"preset": "book"}).ok(201)
    equal(len(daemon.client.get("/v1/models").ok().json["models"]), 3)
    listed = Bayesc(api, f"http://{daemon.host}:{daemon.port}").json("models")
    equal([row["name"] for row in listed["models"]], wanted)
    holds("next" not in listed, listed)


def test_a_long_vocabulary_is_bounded(api):
    daemon = api.another(config={"server": {"listing_cells": 12, "spool_memory": 4096}}).start()
    path = "/v1/models/many"
    daemon.client.put(path, {"preset": "book"}).ok(201)
    daemon.client.post(path + "/train", {"documents": [
        {"text": " ".join(f"word{i}x{j}" for j in range(20)), "label": f"label{i}"} for i in range(4)]}).ok()
    got = daemon.client.get(path + "/vocabulary?label=label1&limit=50").ok().json
    equal((len(got["tokens"]), got["vocabulary"]), (3, 80), "12 cells of 4 labels")
    holds(all(len(token["counts"]) == 4 for token in got["tokens"]), got)
    daemon.stop()
    daemon = api.another(config={"server": {"spool_memory": 4096}}).start()
    daemon.client.put(path, {"preset": "book"}).ok(201)
    daemon.client.post(path + "/train", {"documents": [
        {"text": " ".join(f"word{i}x{j}" for j in range(200)), "label": f"label{i}"} for i in range(4)]}).ok()
    got = daemon.client.get(path + "/vocabulary?label=label1&limit=500").ok().json
    equal(len(got["tokens"]), 500, "longer than the spool's memory")
