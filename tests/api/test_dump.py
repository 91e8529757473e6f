# SPDX-License-Identifier: Apache-2.0
"""Export and import: complete, exact, all or nothing."""
import json

from book import HAM, PROBES, SPAM, Model
from harness import equal, holds, quoted, refused

NDJSON = "application/x-ndjson"
VALGRIND = True


def exported(api, model):
    reply = api.get(model.path + "/export").ok()
    holds(reply.headers["content-type"].startswith(NDJSON), reply.headers)
    return reply.body


def assert_same(api, model, copy_api, path, times=True):
    """The copy is the model: row, documents (with their `times`), verdicts to the last bit."""
    want, got = api.get(model.path).json, copy_api.get(path).ok().json
    equal({k: v for k, v in got.items() if k != "name"}, {k: v for k, v in want.items() if k != "name"})
    for text in PROBES:
        want = api.post(model.path + "/classify?explain=100", {"text": text}).json
        got = copy_api.post(path + "/classify?explain=100", {"text": text}).json
        for member in ("label", "probability", "probabilities", "log_scores", "tokens"):
            equal(got[member], want[member], f"{member} of {text[:40]!r}")
    for id in model.documents:
        at = "/documents/" + quoted(id)
        rows = [client.get(where + at).ok().json for client, where in ((copy_api, path), (api, model.path))]
        equal(*[{k: v for k, v in row.items() if times or k != "learned"} for row in rows], id)


def test_import_into_another_daemon(api):
    other = api.another().start()
    with Model(api, smoothing=0.5, event_model="bernoulli", min_count=1) as model:
        model.filled()
        model.train("relabelled later", "ham", id="odd id/é")
        model.train("relabelled later", "spam", id="odd id/é")
        model.train("to be forgotten, unusual", "ham", id="gone")
        model.untrain(id="gone")
        dump = exported(api, model)
        other.client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
        assert_same(api, model, other.client, "/v1/models/copy")
        # It goes on where the original is: same ids of content, exact relabelling and untraining.
        for client, path in ((api, model.path), (other.client, "/v1/models/copy")):
            post = client.post
            equal(post(path + "/train", {"text": HAM[0], "label": "ham"}).json["status"], "unchanged")
            equal(post(path + "/train", {"text": SPAM[0], "label": "ham"}).json["status"], "relabelled")
            equal(post(path + "/untrain", {"text": HAM[1]}).json["status"], "forgotten")
            equal(post(path + "/untrain", {"id": "odd id/é"}).json["label"], "spam")
            equal(post(path + "/train", {"text": "new words here", "label": "new", "id": "n"}).json["status"], "learned")
        del model.documents["odd id/é"]
        for text in (HAM[1],):
            model.documents = {k: v for k, v in model.documents.items() if v[1] != model.bag(text)}
        assert_same(api, model, other.client, "/v1/models/copy", times=False)
    other.stop()
    other.start()  # what was imported is as durable as what was trained
    equal(other.client.get("/v1/models/copy").ok().json["documents"], 7)
    other.stop()


def test_words_of_equal_frequency_in_another_daemon(api):
    """Which of them skip_top leaves out does not depend on the key of a store."""
    with Model(api, preset="book", skip_top=30) as model:
        words = [f"word{n}" for n in range(60)]
        api.post(model.path + "/train", {"text": " ".join(words[:40]), "label": "spam"}).ok()
        api.post(model.path + "/train", {"text": " ".join(words[20:]), "label": "ham"}).ok()
        dump = api.get(model.path + "/export").ok().body
        other = api.another().start().client
        other.put("/v1/models/there/import", dump, NDJSON).ok(201)
        for word in words:
            want = api.post(model.path + "/classify", {"text": word}).ok().json["log_scores"]
            equal(other.post("/v1/models/there/classify", {"text": word}).ok().json["log_scores"], want, word)


def test_import_replaces(api):
    with Model(api) as model, Model(api) as copy:
        model.filled()
        copy.train("what was there before", "old", id="before")
        api.put(copy.path + "/import", exported(api, model), NDJSON).ok(200)
        assert_same(api, model, api, copy.path)
        refused(api.get(copy.path + "/documents/before"), 404)
        holds("old" not in api.get(copy.path).json["labels"], "a label of the old model")
        equal(api.get(model.path).json["documents"], 7)


def test_import_that_may_not_replace(api):
    """If-None-Match: * makes a model, but leaves one that is there as it is."""
    with Model(api) as model, Model(api) as target:
        model.filled()
        target.train("kept as it was", "kept", id="k")
        dump, fresh = exported(api, model), "/v1/models/" + api.name()
        there = api.put(target.path + "/import", dump, NDJSON, if_none_match="*")
        refused(there, 409, "exists")
        equal(there.json["code"], "already_exists")
        target.assert_exact(("kept", "win"))
        api.put(fresh + "/import", dump, NDJSON, if_none_match="*").ok(201)
        assert_same(api, model, api, fresh)
        refused(api.put(fresh + "/import", dump, NDJSON, if_none_match="*"), 409, "exists")
        api.delete(fresh).ok(204)


def test_dump_of_nothing(api):
    with Model(api, smoothing=2.5) as model, Model(api) as copy:
        api.put(copy.path + "/import", exported(api, model), NDJSON).ok()
        row = api.get(copy.path).ok().json
        equal((row["documents"], row["settings"]["smoothing"]), (0, 2.5))


def test_dump_lines_are_json(api):
    with Model(api) as model:
        model.filled()
        lines = [json.loads(line) for line in exported(api, model).splitlines()]
        holds(len(lines) >= 3, lines)


def damaged(dump, rng):
    """Dumps that must be refused, each with a name."""
    lines = dump.splitlines(keepends=True)
    yield "empty", b""
    yield "no end", b"".join(lines[:-1])
    yield "no header", b"".join(lines[1:])
    yield "cut in a line", dump[:len(dump) * 2 // 3]
    yield "a line missing", b"".join(lines[:-2] + lines[-1:])
    yield "a document twice", b"".join(lines[:-1] + lines[-2:])
    yield "more after the end", dump + lines[1]
    yield "other JSON", b'{"not": "a dump"}\n'
    yield "not JSON", b"hello\n" + dump
    yield "an unknown record", b"".join(lines[:1] + [b'{"surprise": 1}\n'] + lines[1:])
    newer = json.loads(lines[0])
    version = next(k for k, v in newer.items() if isinstance(v, int))
    newer[version] += 1
    yield "newer version", json.dumps(newer).encode() + b"\n" + b"".join(lines[1:])
    for key in sorted(set(newer) - {"stack"}):  # without weights a model learns them from its documents
        less = {k: v for k, v in json.loads(lines[0]).items() if k != key}
        yield f"header without {key}", json.dumps(less).encode() + b"\n" + b"".join(lines[1:])


def test_damaged_dumps_change_nothing(api):
    with Model(api) as model, Model(api) as target:
        model.filled()
        target.train("kept as it was", "kept", id="k")
        before = target.row()
        dump = exported(api, model)
        fresh = "/v1/models/" + api.name()
        for what, bad in damaged(dump, api.random):
            for path in (target.path, fresh):
                reply = api.put(path + "/import", bad, NDJSON)
                holds(reply.status in (400, 422), f"{what}: {reply.status} {reply.body[:300]}")
                refused(reply, reply.status)
        equal(target.row(), before)
        refused(api.get(fresh), 404)
        target.assert_exact(("kept", "win"))


def test_a_bad_line_is_named_by_its_number(api):
    """The number that an editor shows, also behind empty lines."""
    with Model(api) as model:
        model.filled()
        first, rest = exported(api, model).split(b"\n", 1)
        path = "/v1/models/" + api.name() + "/import"
        for dump, number in ((b"{}\n", 1), (b"\n\n{}\n", 3), (first + b"\n\n \n{}\n" + rest, 4),
                             (first + b"\n\n{}", 3)):
            refused(api.put(path, dump, NDJSON), 400, f"line {number}: ")
        refused(api.put(path, first + b"\n\n" + rest.split(b"\n", 1)[0] + b"\n", NDJSON), 400, "after line 3:")


def test_altered_numbers_in_dumps(api):
    """A dump whose numbers were changed is refused or gives a model that still answers."""
    with Model(api) as model:
        model.filled()
        lines = exported(api, model).splitlines(keepends=True)
        name = "/v1/models/" + api.name()
        for _ in range(150):
            changed = list(lines)
            i = api.random.randrange(len(changed))
            line = bytearray(changed[i])
            digits = [k for k, c in enumerate(line) if chr(c).isdigit()]
            for k in api.random.sample(digits, min(len(digits), 2)):
                line[k] = api.random.choice(b"0123456789-")
            changed[i] = bytes(line)
            reply = api.put(name + "/import", b"".join(changed), NDJSON)
            holds(reply.status in (200, 201, 400, 422, 413), reply.body[:300])
            if reply.status < 300:
                holds(api.post(name + "/classify", {"text": "win"}).status in (200, 409), "classify")
        api.delete(name)


def test_ids_follow_from_the_texts(api):
    """A dump whose ids are not those of its texts: the imported model is what its ledger gives."""
    daemon = api.another().start()
    client = daemon.client
    client.put("/v1/models/first", {"decision": "bayes"}).ok(201)
    for label, texts in (("ham", HAM), ("spam", SPAM)):
        client.post("/v1/models/first/train", {"documents": [{"text": text, "label": label} for text in texts]}).ok()
    records = [json.loads(line) for line in client.get("/v1/models/first/export").ok().body.splitlines()]
    words = next(record["words"] for record in records if "words" in record)

    def imported(name):
        return client.put(f"/v1/models/{name}/import", "".join(json.dumps(record) + "\n" for record in records), NDJSON)
    words["ids"][0] = f"{int(words['ids'][0], 16) ^ 1:016x}"
    imported("copy").ok(201)
    for text in PROBES:
        first, copy = (client.post(f"/v1/models/{name}/classify", {"text": text}).ok().json for name in ("first", "copy"))
        equal(copy["probability"], first["probability"], text[:40])
    words["texts"][0] = words["texts"][1]
    reply = imported("twice")
    holds("there twice" in refused(reply, reply.status)["detail"], f"a text that is there twice: {reply.status} {reply.body}")
    daemon.stop()
    status, out, err = api.tool("--verify", "--data", daemon.data)
    equal(status, 0, out + err)


def test_import_refusals(api):
    with Model(api) as model:
        refused(api.put(model.path + "/import", "{}", "application/json"), 415)
        refused(api.get("/v1/models/none-of-this-name/export"), 404)
        refused(api.put("/v1/models/.bad/import", b"{}\n", NDJSON), 422)
        refused(api.post(model.path + "/import", b"{}\n", NDJSON), 405)
