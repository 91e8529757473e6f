# SPDX-License-Identifier: Apache-2.0
"""Ageing: the oldest documents are taken out exactly, by age, by number, and by the disk."""
import datetime
import json
import random

from acknowledged import verified
from harness import equal, holds, refused, wait_for
from test_undo import documents, ids_of, picture, train

DAY = 86400


def settings(client, path, **values):
    return client.put(path, values)


def number_of(client, path):
    return client.get(path).ok().json["documents"]


def metric(client, name):
    for line in client.get("/metrics").ok().body.decode().splitlines():
        if line.startswith("bayesd_" + name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


def aged(client):
    return metric(client, 'changes_total{status="aged"}')


def test_off_by_default(api):
    path = "/v1/models/" + api.name()
    train(api, path, documents(random.Random(1), "a", 5))
    got = api.get(path).ok().json["settings"]
    equal((got["max_age"], got["max_documents"]), (0, 0))
    refused(settings(api, path, max_age=-1), 422, "max_age")
    refused(settings(api, path, max_documents=5_000_000_000), 422, "max_documents")


def test_the_oldest_go_when_there_are_too_many(api):
    daemon = api.another().start()
    client, path, other = daemon.client, "/v1/models/m", "/v1/models/other"
    rng = random.Random(2)
    items = documents(rng, "a", 400)
    for model in (path, other):
        client.put(model, {"preset": "book", **({"max_documents": 100} if model == path else {})}).ok(201)
    train(client, path, items[:300])
    for document in items[300:350]:
        client.post(path + "/train", document).ok()
    # A change makes a document young again.
    items[299] = {**items[299], "label": "ham" if items[299]["label"] == "spam" else "spam"}
    for document in [items[299], *items[350:]]:
        client.post(path + "/train", document).ok()
    wait_for(lambda: number_of(client, path) == 100, "all that is too many has gone", 20)
    left = [items[299]] + items[301:]
    equal(set(ids_of(client, path)), {document["id"] for document in left})
    train(client, other, left)
    probes = [document["text"] for document in items[380:]]
    equal(picture(client, path, probes), picture(client, other, probes), "as if the others had never come")
    equal(aged(client), 300)
    daemon.stop()
    verified(api, daemon.data)
    status, out, err = api.tool("--rebuild", "--data", daemon.data)
    equal(status, 0, out + err)
    daemon = api.another(data=daemon.data).start()
    equal(picture(daemon.client, path, probes), picture(daemon.client, other, probes))


def test_each_commit_takes_some_along(api):
    daemon = api.another().start()
    client, path = daemon.client, "/v1/models/m"
    client.put(path, {"max_documents": 50}).ok(201)
    for i, document in enumerate(documents(random.Random(3), "a", 200)):
        client.post(path + "/train", document).ok()
        holds(number_of(client, path) <= 52, i)


def old_dump(client, path, days):
    """The model's dump, as if each document had been learned so many days ago."""
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    lines = []
    for line in client.get(path + "/export").ok().body.decode().splitlines():
        record = json.loads(line)
        if "document" in record:
            record["document"]["learned"] = int((now - DAY * days[record["document"]["id"]]) * 1000)
        lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


def test_the_old_go(api):
    daemon = api.another().start()
    client = daemon.client
    items = documents(random.Random(4), "a", 90)
    train(client, "/v1/models/first", items)
    # Not in the order of their times: half of the oldest come last.
    days = {document["id"]: (i * 7) % 90 for i, document in enumerate(items)}
    dump = old_dump(client, "/v1/models/first", days)
    for model in ("kept", "aged", "cold"):
        client.put(f"/v1/models/{model}/import", dump, "application/x-ndjson").ok(201)
    before = number_of(client, "/v1/models/kept")
    client.put("/v1/models/aged", {"max_age": 30 * DAY}).ok()
    wait_for(lambda: number_of(client, "/v1/models/aged") == 30, "what is older than 30 days is gone", 20)
    equal(set(ids_of(client, "/v1/models/aged")), {name for name, age in days.items() if age < 30})
    equal((before, number_of(client, "/v1/models/kept")), (90, 90))
    # A model that nobody uses ages, too: after a start it is not loaded.
    client.put("/v1/models/cold", {"max_age": 20 * DAY}).ok()
    daemon.stop()
    daemon = api.another(data=daemon.data).start()
    wait_for(lambda: number_of(daemon.client, "/v1/models/cold") == 20, "older than 20 days", 20)
    daemon.stop()
    verified(api, daemon.data)


def test_the_old_behind_many_young_go(api):
    """The young ones were learned while a clock was ahead; or the old ones came with an import."""
    daemon = api.another().start()
    client = daemon.client
    items = documents(random.Random(8), "a", 3300)
    for i in range(0, len(items), 300):
        train(client, "/v1/models/first", items[i:i + 300])
    for model, young in (("ahead", -400), ("cold", 0)):
        days = {document["id"]: young if i < 3240 else 60 for i, document in enumerate(items)}
        dump = old_dump(client, "/v1/models/first", days)
        client.put(f"/v1/models/{model}/import", dump, "application/x-ndjson").ok(201)
    client.put("/v1/models/ahead", {"max_age": 600}).ok()
    wait_for(lambda: number_of(client, "/v1/models/ahead") == 3240, "what is older than ten minutes is gone", 20)
    equal(set(ids_of(client, "/v1/models/ahead")), {document["id"] for document in items[:3240]})
    client.put("/v1/models/cold", {"max_age": 4000}).ok()
    daemon.stop()
    daemon = api.another(data=daemon.data).start()
    wait_for(lambda: number_of(daemon.client, "/v1/models/cold") == 3240, "older than an hour", 60)
    daemon.stop()
    verified(api, daemon.data)


def test_the_disk_is_for_all_models_together(api):
    most = 3 << 20
    daemon = api.another(config={"store": {"disk": most}}).start()
    client = daemon.client
    for i in range(2):
        client.put(f"/v1/models/m{i}", {"preset": "book"}).ok(201)
    rng = random.Random(5)
    words = [f"word{i}" for i in range(20000)]
    for i in range(240):
        train(client, f"/v1/models/m{i % 2}", [
            {"text": " ".join(rng.choices(words, k=300)), "label": rng.choice(("ham", "spam")), "id": f"{i}x{j}"}
            for j in range(50)])
        if aged(client) > 1000:
            break
    holds(aged(client) > 1000, "documents were taken out")
    wait_for(lambda: metric(client, "store_bytes") - metric(client, "store_free_bytes") <= most,
             "the store uses what it may", 30)
    holds(metric(client, "store_bytes") < 4 * most, metric(client, "store_bytes"))
    numbers = [number_of(client, f"/v1/models/m{i}") for i in range(2)]
    holds(all(number > 400 for number in numbers), numbers)
    kept = [set(ids_of(client, f"/v1/models/m{i}")) for i in range(2)]
    oldest = [min(int(name.split("x")[0]) for name in ids) for ids in kept]
    holds(abs(oldest[0] - oldest[1]) <= 12, ("the oldest of both have gone", oldest))
    daemon.stop()
    verified(api, daemon.data)


def words_in(client, path):
    """The texts that a dump has, and those that its documents use."""
    words, used = [], set()
    for line in client.get(path + "/export").ok().body.decode().splitlines():
        record = json.loads(line)
        if "words" in record:
            words += record["words"]["texts"]
        if "document" in record:
            used |= set(record["document"]["rows"])
    equal(len(set(words)), len(words), "each once")
    return set(words), {words[row] for row in used}


def test_words_that_no_document_has_are_gone(api):
    daemon = api.another().start()
    client, path, other = daemon.client, "/v1/models/m", "/v1/models/other"
    rng = random.Random(6)
    for model in (path, other):
        client.put(model, {"preset": "book"}).ok(201)
    forgotten, kept = documents(rng, "gone", 200), documents(rng, "kept", 50)
    for i, document in enumerate(forgotten):
        document["text"] += f" secret{i} secret{i}x"
    train(client, path, forgotten[:100] + kept[:25] + forgotten[100:] + kept[25:])
    client.post(path + "/untrain", {"documents": [{"id": document["id"]} for document in forgotten]}).ok()
    train(client, other, kept)  # what was untrained last goes with the next change
    wait_for(lambda: words_in(client, path)[0] == words_in(client, path)[1], "no word but those in use", 20)
    holds(metric(client, "features_dropped_total") >= 400, metric(client, "features_dropped_total"))
    holds(not any("secret" in word for word in words_in(client, path)[0]), "a word of a forgotten document")
    probes = [document["text"] for document in kept + forgotten[:5]]
    want = picture(client, other, probes)
    equal(picture(client, path, probes), want)
    # Their rows are taken by new words, and the old ones come back as new ones.
    train(client, path, forgotten[:50])
    train(client, other, forgotten[:50])
    equal(picture(client, path, probes), picture(client, other, probes))
    dump = client.get(path + "/export").ok().body
    client.put("/v1/models/copy/import", dump, "application/x-ndjson").ok(201)
    equal(picture(client, "/v1/models/copy", probes), picture(client, path, probes))
    before = picture(client, path, probes)
    daemon.kill()
    verified(api, daemon.data)
    status, out, err = api.tool("--rebuild", "--data", daemon.data)
    equal((status, out + err), (0, out + err))
    daemon = api.another(data=daemon.data).start()
    equal(picture(daemon.client, path, probes), before)
    equal(words_in(daemon.client, path), words_in(daemon.client, "/v1/models/copy"))
