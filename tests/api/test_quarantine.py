# SPDX-License-Identifier: Apache-2.0
"""Changes by sources without trust wait: durable, not in the model, seen, applied exactly, or dropped."""
import json
import os
import random
import threading
import time

import rspamd
from acknowledged import verified
from harness import equal, holds, near, refused, slow, wait_for
from mta import Stub, http
from test_backup import backup_of, restore
from test_client import Bayesc
from wire import Wire

M = "/v1/models/m"
Q = M + "/quarantine"
TOKENS = {"train": "users=user-token-0123456, trusted=trusted-token-0123", "admin": "root=admin-token-01234567",
          "classify": "reader=reader-token-01234"}
USER, TRUSTED, ROOT, READER = ("Bearer " + t for t in (
    "user-token-0123456", "trusted-token-0123", "admin-token-01234567", "reader-token-01234"))


def started(api, names="users", tokens=True, **models):
    config = {"models": {"quarantine": names, **models}}
    if tokens:
        config["tokens"] = TOKENS
    return api.another(config=config).start()


def train(daemon, who, text, label, id, **how):
    return daemon.client.post(M + "/train", {"text": text, "label": label, "id": id, **how}, Authorization=who)


def basis(daemon, number=20):
    for i in range(number):
        train(daemon, TRUSTED, f"cheap pills win {i}", "spam", f"s{i}").ok()
        train(daemon, TRUSTED, f"lunch in the garden {i}", "ham", f"h{i}").ok()


def waiting(daemon, **query):
    path = Q + "?" + "&".join(f"{k}={v}" for k, v in query.items())
    return daemon.client.get(path, Authorization=ROOT).ok().json


def ids(daemon):
    return [row["id"] for row in waiting(daemon)["quarantine"]]


def settle(daemon, what, **wish):
    return daemon.client.post(f"{Q}/{what}", wish, Authorization=ROOT).ok().json


def row(daemon):
    return daemon.client.get(M, Authorization=ROOT).ok().json


def lines_of(daemon):
    """The dump without its times, which differ between two models that are trained alike."""
    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("learned", "time", "exported", "key")}
        return [strip(v) for v in value] if isinstance(value, list) else value
    return [strip(line) for line in daemon.client.get(M + "/export", Authorization=ROOT).ok().lines]


# ---- waiting ------------------------------------------------------------------------------------
def test_it_waits_and_is_not_in_the_model(api):
    daemon = started(api)
    basis(daemon)
    before, dump = row(daemon), lines_of(daemon)
    reply = train(daemon, USER, "new words cheap", "ham", "u1").ok(202).json
    equal((reply["status"], reply["id"], reply["label"], reply["labels"]), ("quarantined", "u1", "ham", {}))
    equal(daemon.client.post(M + "/untrain", {"id": "s1"}, Authorization=USER).ok(202).json["status"], "quarantined")
    batch = daemon.client.post(M + "/train", {"documents": [
        {"text": "a b", "label": "spam", "id": "u2"}, {"text": "c", "label": "new label", "id": "u3"}]},
        Authorization=USER).ok().json
    equal((batch["quarantined"], batch["learned"], batch["failed"]), (2, 0, 0))
    equal((row(daemon), lines_of(daemon)), (before, dump), "the model")
    refused(daemon.client.get(M + "/documents/u1", Authorization=ROOT), 404)
    page = waiting(daemon)
    equal([r["id"] for r in page["quarantine"]], ["s1", "u1", "u2", "u3"])
    by_id = {r["id"]: r for r in page["quarantine"]}
    equal(by_id["s1"].get("untrain"), True)
    equal((by_id["u1"]["source"], by_id["u1"]["label"], by_id["u1"]["verdict"]), ("users", "ham", "spam"))
    holds(by_id["u1"]["probability"] < 0.5, by_id["u1"])
    equal(by_id["u3"]["probability"], 0.0, "of a label that the model does not have")
    metrics = daemon.client.get("/metrics", Authorization=ROOT).ok().body.decode()
    holds('quarantined' in metrics, "metrics")


def test_pages(api):
    daemon = started(api)
    basis(daemon, 1)
    for i in range(25):
        train(daemon, USER, f"text {i}", "ham", f"u{i:02}").ok(202)
    seen, after = [], ""
    while True:
        page = waiting(daemon, limit=7, after=after)
        seen += [r["id"] for r in page["quarantine"]]
        if "next" not in page:
            break
        equal(len(page["quarantine"]), 7)
        after = page["next"]
    equal(seen, [f"u{i:02}" for i in range(25)])
    equal("next" in waiting(daemon, limit=25), False)
    refused(daemon.client.get(Q + "?limit=0", Authorization=ROOT), 400, "limit")


def test_who_is_who(api):
    """The token's name counts, whatever source a request gives; and a given source is looked at, too."""
    daemon = started(api, names="users , webmail")
    basis(daemon, 1)
    equal(train(daemon, USER, "x", "ham", "1", source="trusted").ok(202).json["status"], "quarantined")
    equal(train(daemon, TRUSTED, "x", "ham", "2").ok().json["status"], "learned")
    equal(train(daemon, TRUSTED, "x", "ham", "3", source="webmail").ok(202).json["status"], "quarantined")
    equal([(r["id"], r["source"]) for r in waiting(daemon)["quarantine"]], [("1", "users"), ("3", "webmail")])
    refused(daemon.client.post("/v1/models/other/train", {"text": "x", "label": "a"}, Authorization=USER), 404)
    for who, status in ((USER, 403), (TRUSTED, 403), (READER, 403)):
        for method, path in (("GET", Q), ("GET", Q + "/effect"), ("POST", Q + "/apply"), ("POST", Q + "/drop")):
            equal(daemon.client.call(method, path, {"all": True} if method == "POST" else None, Authorization=who).status, status, path)


def test_mail_software(api):
    """Over rspamd's and SpamAssassin's protocols it looks like a success."""
    daemon = api.another(config={"models": {"quarantine": "rspamd, spamc"}}).start()
    daemon.client.put("/v1/models/mail", {"preset": "mail"}).ok(201)
    rspamd.learn(daemon, "spam", rspamd.spam()).ok()
    mail = b"Subject: x\n\nwin a prize\n"
    with Wire(daemon) as wire:
        wire.send(b"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local\r\nContent-length: %d\r\n\r\n" % len(mail) + mail)
        holds(b"DidSet: local" in wire.until(b"\r\n\r\n"), "spamc")
    rows = daemon.client.get("/v1/models/mail/quarantine").ok().json["quarantine"]
    equal(sorted(r["source"] for r in rows), ["rspamd", "spamc"])
    equal(daemon.client.get("/v1/models/mail").ok().json["documents"], 0)


# ---- applying -----------------------------------------------------------------------------------
def test_applied_is_as_if_trained(api):
    """Counts, texts and scores are those of a daemon whose source has trust."""
    daemon, other = started(api), started(api, names="")
    rng = random.Random(1)
    for d in (daemon, other):
        d.client.put(M, {"preset": "book"}, Authorization=ROOT).ok(201)
        basis(d)
    changes = [(" ".join(rng.choice("abcdefghij") + str(rng.randrange(50)) for _ in range(30)), rng.choice(("ham", "spam", "third")),
                f"u{i:03}") for i in range(60)]
    for change in changes:
        train(daemon, USER, *change).ok(202)
        train(other, USER, *change).ok()
    daemon.client.post(M + "/untrain", {"id": "zz"}, Authorization=USER).ok(202)  # nobody has it
    report = settle(daemon, "apply", all=True)
    equal(report["applied"]["learned"], 60)
    equal((report["refused"], "zz" in report["why"]), (1, True))
    equal(ids(daemon), ["zz"])
    equal(row(daemon), row(other))
    probe = {"text": changes[0][0]}
    equal(daemon.client.post(M + "/classify", probe, Authorization=ROOT).ok().json,
          other.client.post(M + "/classify", probe, Authorization=ROOT).ok().json)
    equal(daemon.client.get(M + "/documents/u000", Authorization=ROOT).ok().json["source"], "users")
    equal(settle(daemon, "drop", ids=["zz"])["dropped"], 1)
    daemon.stop()
    equal(api.tool("--verify", "--data", daemon.data)[0], 0)


def test_a_choice(api):
    daemon = started(api, names="users, webmail")
    basis(daemon, 2)
    for i in range(6):
        train(daemon, USER, f"u {i}", "ham", f"u{i}").ok(202)
        train(daemon, TRUSTED, f"w {i}", "ham", f"w{i}", source="webmail").ok(202)
    equal(settle(daemon, "apply", ids=["u0", "w0", "none"])["applied"]["learned"], 2)
    equal(settle(daemon, "apply", ids=["u1", "w1"], source="users")["applied"]["learned"], 1)
    equal(settle(daemon, "drop", source="webmail")["dropped"], 5)
    seen = waiting(daemon)["time"]
    time.sleep(0.01)
    train(daemon, USER, "after the list", "ham", "u3").ok(202)  # takes the place of what was seen
    equal(settle(daemon, "apply", until=seen)["applied"]["learned"], 3)
    equal(ids(daemon), ["u3"])
    equal(settle(daemon, "drop", all=True)["dropped"], 1)
    equal(ids(daemon), [])
    for wish, word in (({}, "all"), ({"all": False}, "all"), ({"all": True, "source": "x"}, "all"), ({"ids": []}, "ids"),
                       ({"ids": [1]}, "ids"), ({"typo": 1}, "typo"), ({"until": "yesterday"}, "until")):
        refused(daemon.client.post(Q + "/apply", wish, Authorization=ROOT), 400, word)
    refused(daemon.client.post("/v1/models/none/quarantine/apply", {"all": True}, Authorization=ROOT), 404)


def test_a_trusted_change_settles_it(api):
    daemon = started(api)
    basis(daemon, 2)
    train(daemon, USER, "words", "ham", "1").ok(202)
    train(daemon, USER, "words", "ham", "s0").ok(202)
    daemon.client.post(M + "/untrain", {"id": "s1"}, Authorization=USER).ok(202)
    equal(train(daemon, TRUSTED, "words", "spam", "1").ok().json["status"], "learned")
    equal(train(daemon, TRUSTED, "cheap pills win 0", "spam", "s0").ok().json["status"], "unchanged")
    daemon.client.post(M + "/untrain", {"id": "s1"}, Authorization=TRUSTED).ok()
    equal(ids(daemon), [])
    train(daemon, USER, "one", "ham", "2").ok(202)
    train(daemon, USER, "two three", "spam", "2").ok(202)
    equal([(r["label"], r["tokens"]) for r in waiting(daemon)["quarantine"]], [("spam", 2)])


def test_two_administrators_apply_it_once(api):
    daemon = started(api)
    basis(daemon, 2)
    for i in range(300):
        train(daemon, USER, f"text {i}", "ham", f"u{i}").ok(202)
    reports = []

    def apply():
        reports.append(daemon.new_client().post(Q + "/apply", {"all": True}, Authorization=ROOT).ok().json)
    threads = [threading.Thread(target=apply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(sum(r["applied"]["learned"] for r in reports), 300)
    equal(sum(sum(r["applied"].values()) for r in reports), 300, "nothing is applied twice")
    equal(ids(daemon), [])


def test_features_that_the_model_has_lost(api):
    """What was known when the change came may be gone when it is applied: the texts are kept."""
    daemon = started(api)
    basis(daemon, 2)
    train(daemon, TRUSTED, "rare word", "ham", "gone").ok()
    train(daemon, USER, "rare word", "ham", "u").ok(202)
    daemon.client.post(M + "/untrain", {"id": "gone"}, Authorization=TRUSTED).ok()
    settle(daemon, "apply", all=True)
    tokens = daemon.client.get(M + "/vocabulary?label=ham&limit=100", Authorization=ROOT).ok().json["tokens"]
    holds("rare" in [t["token"] for t in tokens], tokens)


def test_a_verdict_does_not_depend_on_what_is_tidied(api):
    """Words that no document has are dropped some time later: that says nothing about a document that waits."""
    daemon = started(api)
    daemon.client.put(M, {"decision": "stacked"}, Authorization=ROOT)
    basis(daemon)
    train(daemon, TRUSTED, "only these words are gone", "spam", "gone").ok()
    train(daemon, USER, "cheap lunch and only these words are gone", "spam", "u1").ok(202)
    daemon.client.post(M + "/untrain", {"id": "gone"}, Authorization=TRUSTED).ok()
    train(daemon, TRUSTED, "pills", "spam", "last").ok()
    before = waiting(daemon)["quarantine"][0]["probability"]

    def dropped():
        page = daemon.client.get("/metrics", Authorization=ROOT).ok().body.decode()
        return "bayesd_features_dropped_total 0" not in page
    wait_for(dropped, "the words are dropped", 20)
    equal(waiting(daemon)["quarantine"][0]["probability"], before)


def test_another_tokenizer_is_refused(api):
    daemon = started(api)
    daemon.client.put(M, {}, Authorization=ROOT).ok(201)
    train(daemon, USER, "words", "ham", "1").ok(202)
    daemon.client.put(M, {"preset": "mail"}, Authorization=ROOT).ok()
    report = settle(daemon, "apply", all=True)
    equal(report["refused"], 1)
    holds("tokenizer" in report["why"], report)
    equal(ids(daemon), ["1"])


# ---- effect -------------------------------------------------------------------------------------
def test_documents_of_another_kind_are_refused(api):
    """Documents with several labels where those of the model have one by now, and the other way round."""
    for first, then, one, other in (({}, {"label_set": "several"}, {"label": "spam"}, {"labels": ["spam"]}),
                                    ({"label_set": "several"}, {}, {"labels": ["spam"]}, {"label": "spam"})):
        daemon = started(api)
        client = daemon.client
        client.put(M, {"preset": "book", **first}, Authorization=ROOT).ok(201)
        client.post(M + "/train", {"text": "cheap pills", "id": "a", **one}, Authorization=USER).ok(202)
        client.put(M, {"preset": "book", **then}, Authorization=ROOT).ok()
        client.post(M + "/train", {"text": "win a prize", "id": "b", **other}, Authorization=USER).ok(202)
        report = settle(daemon, "apply", all=True)
        equal((report["applied"]["learned"], report["refused"]), (1, 1))
        holds("label" in report["why"], report)
        equal((row(daemon)["documents"], ids(daemon)), (1, ["a"]))
        daemon.stop()
        verified(api, daemon.data)


def test_the_effect_tells_poison_from_help(api):
    daemon = started(api, names="users, webmail")
    basis(daemon)
    for i in range(10):
        train(daemon, USER, f"cheap pills win {i}", "ham", f"poison{i}").ok(202)
        train(daemon, TRUSTED, f"lunch in the garden {i}", "ham", f"help{i}", source="webmail").ok(202)
    effect = daemon.client.get(Q + "/effect", Authorization=ROOT).ok().json
    equal(effect["documents"], 20)
    poison, good = effect["sources"]["users"], effect["sources"]["webmail"]
    equal((poison["documents"], poison["judged"], poison["agreeing"]), (10, 10, 0))
    equal((good["documents"], good["judged"], good["agreeing"]), (10, 10, 10))
    holds(poison["log_loss"] > 1 > good["log_loss"], effect["sources"])
    now, with_ = effect["evaluation"]["now"], effect["evaluation"]["with"]
    evaluation = daemon.client.get(M + "/evaluation", Authorization=ROOT).ok().json
    equal(now["documents"], 40)
    equal(with_["documents"], 60)
    holds(with_["log_loss"] > now["log_loss"], (now, with_))
    rows = waiting(daemon)["quarantine"]
    near(poison["agreeing"] + good["agreeing"], sum(r["verdict"] == r["label"] for r in rows))
    holds(evaluation, "the evaluation is still there")


def test_the_effect_of_nothing(api):
    daemon = started(api)
    daemon.client.put(M, {}, Authorization=ROOT).ok(201)
    equal(daemon.client.get(Q + "/effect", Authorization=ROOT).ok().json,
          {"model": "m", "documents": 0, "bytes": 0, "sources": {}, "evaluation": {"now": None, "with": None}})
    train(daemon, USER, "words", "ham", "1").ok(202)
    effect = daemon.client.get(Q + "/effect", Authorization=ROOT).ok().json
    equal(effect["sources"], {"users": {"documents": 1, "judged": 0, "agreeing": 0, "log_loss": None}})


# ---- bounds and durability -----------------------------------------------------------------------
def full(api, **bound):
    daemon = started(api, **bound)
    daemon.client.put(M, {"preset": "book"}, Authorization=ROOT).ok(201)
    basis(daemon, 1)
    last = 0
    for last in range(1000):
        reply = train(daemon, USER, "some words for it " * 3, "ham", f"u{last:04}")
        if reply.status != 202:
            break
    refused(reply, 413, "full", *bound)
    equal(len(waiting(daemon, limit=1000)["quarantine"]), last)
    train(daemon, USER, "some words for it " * 3, "spam", "u0000").ok(202)  # in the place of the earlier one
    rows = waiting(daemon, limit=1000)["quarantine"]
    equal((len(rows), rows[0]["label"]), (last, "spam"))
    train(daemon, TRUSTED, "trusted ones are learned", "ham", "more").ok()
    settle(daemon, "drop", ids=["u0000"])
    train(daemon, USER, "again", "ham", "again").ok(202)
    daemon.stop()
    return last


def quarantine_documents(api):
    equal(full(api, quarantine_documents=5), 5)


def quarantine_bytes(api):
    holds(3 <= full(api, quarantine_bytes="1K") < 1000, "some fit")


def test_bounds(api):
    quarantine_documents(api)
    quarantine_bytes(api)


def test_it_survives(api):
    """A kill, a backup, a verification, a rebuild; not an export, and not its model's deletion."""
    daemon = started(api)
    basis(daemon)
    for i in range(30):
        train(daemon, USER, f"text {i}", "ham", f"u{i:02}").ok(202)
    before = waiting(daemon)["quarantine"]
    path = backup_of_admin(api, daemon)
    daemon.kill()
    equal(api.tool("--verify", "--data", daemon.data)[0], 0)
    done = api.tool("--rebuild", "--data", daemon.data)
    equal(done[0], 0, done[1] + done[2])
    equal(api.tool("--verify", "--data", daemon.data)[0], 0)
    data = os.path.join(api.new_folder(), "new")
    restore(api, path, data)
    for folder in (daemon.data, data):
        again = api.another(data=folder, config={"tokens": TOKENS}).start()
        equal(waiting(again)["quarantine"], before)
        dump = again.client.get(M + "/export", Authorization=ROOT).ok().body
        holds(b"u00" not in dump, "an export has it")
        equal(settle(again, "apply", all=True)["applied"]["learned"], 30)
        again.client.delete(M, Authorization=ROOT).ok(204)
        again.stop()
        equal(api.tool("--verify", "--data", folder)[0], 0)


def imported(daemon, dump):
    return daemon.client.put(M + "/import", dump, "application/x-ndjson", Authorization=ROOT).ok().json


def test_an_import_keeps_it(api):
    """What waits is judged by the new model and applied to it; a change of the other key cannot be."""
    daemon = started(api)
    basis(daemon)
    for i in range(150):
        train(daemon, USER, f"text {i} pills", "ham", f"u{i:03}").ok(202)
    daemon.client.post(M + "/untrain", {"id": "s1"}, Authorization=USER).ok(202)
    dump = daemon.client.get(M + "/export", Authorization=ROOT).ok().body
    before, found = row(daemon), waiting(daemon, limit=1000)
    holds("quarantine_dropped" not in imported(daemon, dump), "dropped")
    same = [{**change, "verdict": 0, "probability": 0} for change in found["quarantine"]]
    equal([{**change, "verdict": 0, "probability": 0} for change in waiting(daemon, limit=1000)["quarantine"]], same)
    daemon.kill()
    equal(api.tool("--verify", "--data", daemon.data)[0], 0)
    daemon.start()
    equal(row(daemon)["labels"], before["labels"])
    applied = settle(daemon, "apply", all=True)["applied"]
    equal((applied["learned"], applied["forgotten"]), (150, 1))
    equal(row(daemon)["labels"]["ham"]["documents"], before["labels"]["ham"]["documents"] + 150)
    equal(ids(daemon), [])


def test_an_import_with_other_fields_drops_it(api):
    """What waits has its values by the place of their field: it must not become the value of another field."""
    daemon = started(api)
    client = daemon.client

    def put(model, fields):
        client.put(f"/v1/models/{model}", {"preset": "book", "fields": dict.fromkeys(fields, "category")},
                   Authorization=ROOT).ok(201)
        client.post(f"/v1/models/{model}/train", {"id": "1", "label": "ham", "values": dict.fromkeys(fields, "x")},
                    Authorization=ROOT).ok()
        return client.get(f"/v1/models/{model}/export", Authorization=ROOT).ok().body
    put("m", ("plan", "country"))
    swapped, longer = put("swapped", ("country", "plan")), put("longer", ("plan", "country", "size"))

    def wait():
        client.post(M + "/train", {"id": "u", "label": "ham", "values": {"plan": "gold"}}, Authorization=USER).ok(202)
    wait()
    holds("quarantine_dropped" not in imported(daemon, longer), "the fields that there were are where they were")
    equal(ids(daemon), ["u"])
    equal(imported(daemon, swapped)["quarantine_dropped"], 1)
    equal(ids(daemon), [])
    wait()
    equal(settle(daemon, "apply", all=True)["applied"]["learned"], 1)
    found = client.post(M + "/classify?explain=10", {"values": {"plan": "gold"}}, Authorization=ROOT).ok().body
    holds(b"plan=gold" in found, found)


def test_an_import_says_what_it_could_not_keep(api):
    """A dump without words comes with the key of its store: what waits has ids under another one."""
    daemon = started(api)
    basis(daemon, 2)
    other = api.another(config={"store": {"keep_words": "no"}}).start()
    other.client.post(M + "/train", {"text": "a b c", "label": "ham", "id": "1"}).ok()
    dump = other.client.get(M + "/export").ok().body
    store_dump = daemon.client.get(M + "/export", Authorization=ROOT).ok().body
    for i in range(3):
        train(daemon, USER, f"text {i}", "ham", f"u{i}").ok(202)
    equal(imported(daemon, dump)["quarantine_dropped"], 3)
    equal(ids(daemon), [])
    holds("quarantine_dropped" not in imported(daemon, dump), "nothing waits any more")
    imported(daemon, store_dump)
    train(daemon, USER, "text", "ham", "u").ok(202)
    path, token = os.path.join(api.new_folder(), "dump"), os.path.join(api.new_folder(), "token")
    for name, content in ((path, dump), (token, ROOT.split()[1].encode())):
        with open(name, "wb") as file:
            file.write(content)
    client = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    said = client.run("import", "-m", "m", "--replace", "--token-file", token, path).decode()
    holds("1 change that waited in the quarantine could not be kept" in said, said)
    daemon.stop()
    equal(api.tool("--verify", "--data", daemon.data)[0], 0)


def backup_of_admin(api, daemon):
    path = os.path.join(api.new_folder(), "store.backup")
    token = os.path.join(api.new_folder(), "token")
    with open(token, "w", encoding="ascii") as file:
        file.write(ROOT.split()[1] + "\n")
    Bayesc(api, f"http://{daemon.host}:{daemon.port}").run("backup", "--token-file", token, path)
    return path


def test_killed_while_it_is_applied(api):
    """Every change waits or is made, none is lost, none is made twice."""
    daemon = started(api)
    basis(daemon, 2)
    daemon.stop()
    for round_ in range(4):
        daemon.start()
        numbers = range(round_ * 1500, round_ * 1500 + 1500)
        body = "".join(json.dumps({"text": f"text {i} w{i % 97}", "label": "ham", "id": f"u{i:05}"}) + "\n" for i in numbers)
        daemon.client.post(M + "/train", body, "application/x-ndjson", Authorization=USER).ok()
        before = row(daemon)["documents"] + len(waiting(daemon, limit=10000)["quarantine"])

        def apply():
            try:
                daemon.new_client().post(Q + "/apply", {"all": True}, Authorization=ROOT)
            except OSError:
                pass
        thread = threading.Thread(target=apply)
        thread.start()
        time.sleep(api.random.random() * 0.15 * slow())
        daemon.kill()
        thread.join()
        equal(api.tool("--verify", "--data", daemon.data)[0], 0)
        daemon.start()
        equal(row(daemon)["documents"] + len(waiting(daemon, limit=10000)["quarantine"]), before)
        daemon.stop()
    daemon.start()
    settle(daemon, "apply", all=True)
    equal(row(daemon)["documents"], 4 + 4 * 1500)


# ---- the client ----------------------------------------------------------------------------------
def test_bayesc(api):
    daemon = api.another(config={"models": {"quarantine": "webmail"}}).start()
    client = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    for i in range(12):
        for label, text in (("spam", f"cheap pills {i}"), ("ham", f"lunch garden {i}")):
            daemon.client.post(M + "/train", {"text": text, "label": label, "id": f"{label}{i}"}).ok()
    for i in range(3):
        daemon.client.post(M + "/train", {"text": "cheap pills", "label": "ham", "id": f"w{i}", "source": "webmail"}).ok(202)
    listed = client.run("quarantine", "-m", "m").decode()
    holds("w0" in listed and "webmail" in listed and "as of " in listed, listed)
    equal([r["id"] for r in client.json("quarantine", "list", "-m", "m")["quarantine"]], ["w0", "w1", "w2"])
    effect = client.run("quarantine", "effect", "-m", "m").decode()
    holds("webmail" in effect and "with" in effect, effect)
    holds("1 learned" in client.run("quarantine", "apply", "-m", "m", "--id", "w0").decode(), "apply")
    holds("2 changes dropped" in client.run("quarantine", "drop", "-m", "m", "--source", "webmail").decode(), "drop")
    folder = api.new_folder()
    with open(os.path.join(folder, "text"), "w", encoding="ascii") as file:
        file.write("some words")
    trained = ("train", "-m", "m", "--text", "--label", "ham", "--source", "webmail", folder)
    holds("1 wait for an administrator" in client.run(*trained).decode(), "train")
    equal(client.json(*trained)["quarantined"], 1)
    untrained = client.run("untrain", "-m", "m", "--source", "webmail", "--id", "ham0").decode()
    holds("0 forgotten" in untrained and "1 wait for an administrator" in untrained, untrained)
    for arguments in (["apply"], ["drop", "--all", "--id", "x"], ["list", "--all"], ["typo"]):
        client.run("quarantine", "-m", "m", *arguments, status=64)


def test_a_list_in_pages_is_of_its_first(api):
    """What came while it was read is not in it, and must not be applied by the time that it tells."""
    pages = [{"quarantine": [{"id": "a", "source": "x", "time": "2026-05-01T11:00:00Z", "label": "ham", "tokens": 1}],
              "time": "2026-05-01T12:00:00Z", "next": "a"},
             {"quarantine": [], "time": "2026-05-01T12:00:09Z"}]
    with Stub() as stub:
        stub.says(lambda question, connection: http(pages["after=a" in question.line]))
        listed = Bayesc(api, stub.url).run("quarantine", "-m", "m").decode()
    holds("as of 2026-05-01T12:00:00Z\n" in listed, listed)
