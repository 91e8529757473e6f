# SPDX-License-Identifier: Apache-2.0
"""One document by several models: a verdict of each, as if it had been asked alone, and a common one."""
import base64
import contextlib
import gzip
import json

from book import Model
from harness import equal, holds, refused
from prometheus import parse
from test_tokens import bearer, for_users

VALGRIND = True
PATH = "/v1/classify"
SPAM, HAM = "win cheap prize money pills offer", "meeting lunch garden report draft minutes"
MAIL = "Subject: %s\r\nFrom: a@example.org\r\n\r\n%s\r\n"
TOPICS = {"sci/space": "orbit planet moon", "sci/med": "dose doctor moon", "rec": "ball goal match"}


def mixed(words, i):
    words = words.split()
    return " ".join(words[(i + k) % len(words)] for k in range(3)) + f" n{i}"


def teach(model, skill, number=12):
    """Spam and ham, of which the first `skill` of a dozen have their own words."""
    for i in range(number):
        model.train(mixed(SPAM if i < skill else HAM, i), "spam")
        model.train(mixed(HAM if i < skill else SPAM, i), "ham")
    return model


def teach_topics(model, labels=tuple(TOPICS)):
    for i in range(10):
        for label in labels:
            model.train(mixed(TOPICS[label], i), label)
    return model


@contextlib.contextmanager
def models(api, *settings):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Model(api, **s)) for s in settings]


def ask(api, asked, query="", **document):
    return api.post(PATH + query, {"models": [m.name for m in asked], **document}).ok().json


def test_each_verdict_is_that_of_its_model(api):
    """Whatever their settings are: one has another tokenizer, one counts a word once."""
    with models(api, {}, {"preset": "mail"}, {"preset": "book"}, {"max_term_count": 1}, {}) as asked:
        for i, model in enumerate(asked):
            teach(model, 12 - i)
        for document in ({"text": "win win win the garden"}, {"text": ""}, {"mail": MAIL % ("cheap offer", HAM)},
                         {"mail_base64": base64.b64encode((MAIL % (HAM, SPAM)).encode()).decode()}):
            for query in ("", "?explain=3", "?threshold=0.9", "?cost_fp=9&cost_fn=1", "?level=1",
                          "?threshold=0.2&positive=ham"):
                got = ask(api, asked, query, **document)
                equal(got["results"], [m.post("classify" + query, document).ok().json for m in asked], (document, query))
                equal(got["failed"], 0)


def test_a_model_with_a_key_of_its_own(api):
    """It came from another store: the same text is hashed again for it, and again for the one behind it."""
    elsewhere, name = api.another().start(), api.name()
    for i in range(10):
        for label, words in (("ham", HAM), ("spam", SPAM)):
            elsewhere.client.post("/v1/models/m/train", {"text": mixed(words, i), "label": label}).ok()
    dump = elsewhere.client.get("/v1/models/m/export").ok().body
    elsewhere.stop()
    api.put(f"/v1/models/{name}/import", dump, "application/x-ndjson").ok(201)
    with models(api, {}, {}) as (first, last):
        teach(first, 12)
        teach(last, 11)
        names = [first.name, name, last.name]
        for text in (SPAM, HAM, "win the garden"):
            got = api.post(PATH, {"models": names, "text": text}).ok().json["results"]
            equal(got, [api.post(f"/v1/models/{n}/classify", {"text": text}).ok().json for n in names], text)
            holds(all(r["tokens"]["known"] > 0 for r in got), got)
    api.delete(f"/v1/models/{name}").ok(204)


def action_at(p):
    return "reject" if p >= 0.9999 else "rewrite subject" if p >= 1 else "add header" if p >= 0.9 else "no action"


def test_the_mildest_action(api):
    with models(api, {}, {}, {}) as asked:
        for model, skill in zip(asked, (12, 11, 7)):
            teach(model, skill)
        seen = set()
        for text in (SPAM * 3, SPAM, HAM, "win", "win the garden", "prize meeting", "zyxwv"):
            for some in (asked, asked[:2], asked[:1], asked[::-1]):
                got = ask(api, some, "?threshold=0.5&positive=spam", text=text)
                mildest = min(got["results"], key=lambda r: r["probabilities"]["spam"])
                common = got["common"]
                equal((common["rule"], common["model"], common["label"], common["probability"]),
                      ("mildest", mildest["model"], mildest["label"], mildest["probability"]), text)
                equal(common["action"], action_at(mildest["probabilities"]["spam"]), text)
                equal((common["decision"], common["decision_reason"]),
                      (mildest["decision"], mildest["decision_reason"]), text)
                holds("decision" not in ask(api, some, text=text)["common"], "nobody asked for a decision")
                seen.add((len(some), common["action"]))
        severe = {1: 0, 2: 0, 3: 0}
        for number, action in seen:
            severe[number] = max(severe[number], ("no action", "add header", "rewrite subject", "reject").index(action))
        holds(severe[1] > severe[3], f"one model alone is as mild as three: {seen}")


def test_who_knows_spam_only_allows_no_action(api):
    with models(api, {}, {}, {}, {}) as (good, young, few, empty):
        teach(good, 12)
        for i in range(12):
            young.train(mixed(SPAM, i), "spam")
        teach(few, 1, 1)
        alone = ask(api, [good], text=SPAM)["common"]
        holds(alone["action"] != "no action", alone)
        got = ask(api, [good, young], text=SPAM)
        equal((got["common"]["rule"], got["common"]["action"]), ("mildest", "no action"))
        equal([result["ready"] for result in got["results"]], [True, False])
        got = ask(api, [good, few], text=SPAM)
        equal((got["common"]["action"], got["common"]["model"]), ("no action", few.name), "one of each makes not sure")
        got = ask(api, [good, empty], text=SPAM)
        equal((got["failed"], got["common"]["action"], got["common"]["label"]), (1, "no action", "spam"))
        equal((got["results"][1]["model"], got["results"][1]["error"]["status"]), (empty.name, 409))
        got = ask(api, [empty], text=SPAM)
        equal((got["failed"], got["common"]), (1, None))


def test_other_labels_are_common_when_all_give_them(api):
    with models(api, {}, {}, {}, {}) as (all_three, two, other, mail):
        teach_topics(all_three)
        teach_topics(two, ("sci/space", "rec"))
        teach_topics(other, ("sci/med", "rec"))
        teach(mail, 12)
        got = ask(api, [all_three, two], "?threshold=0.4", text="orbit planet")
        least = min(got["results"], key=lambda r: r["probability"])
        equal(got["common"], {"rule": "unanimous", "model": least["model"], "label": "sci/space",
                              "probability": least["probability"], "decision": "sci/space",
                              "decision_reason": least["decision_reason"]})
        got = ask(api, [two, other], "?threshold=0.4", text="moon dose orbit")
        equal([r["label"] for r in got["results"]], ["sci/space", "sci/med"])
        equal((got["common"]["label"], got["common"]["decision"]), (None, "unsure"))
        holds("model" not in got["common"] and "probability" not in got["common"], got["common"])
        equal(ask(api, [two, other], "?level=1", text="moon dose orbit")["common"]["label"], "sci")
        got = ask(api, [two, mail], text="orbit")  # one of them is no mail filter's
        equal((got["common"]["rule"], "action" in got["common"]), ("unanimous", False))


def test_verdicts_are_remembered(api):
    """By each model that has a history, under one id; those without one say nothing of it."""
    client = api.another().start().client
    for name, history in (("ann", 10), ("bob", 0), ("cid", 10)):
        client.put(f"/v1/models/{name}", {"history": history}).ok(201)
        for label, text in (("spam", SPAM), ("ham", HAM)):
            client.post(f"/v1/models/{name}/train", {"text": text, "label": label}).ok()
    question = {"models": ["ann", "bob", "cid", "none"], "text": "win money", "id": "asked"}
    holds(not any("remembered" in row for row in client.post(PATH, question).ok().json["results"]), "not asked for")
    got = client.post(PATH + "?remember=1", question).ok().json["results"]
    equal([row.get("remembered") for row in got], [True, None, True, None])
    equal([row.get("id") for row in got], ["asked", None, "asked", None])
    for name in ("ann", "cid"):
        row, = client.get(f"/v1/models/{name}/history").ok().json["history"]
        equal((row["id"], row["verdict"]), ("asked", "spam"), name)
        equal(client.post(f"/v1/models/{name}/documents/asked/label", {"label": "ham"}).ok().json["status"], "learned")
    refused(client.post(PATH + "?remember=2", question), 400, "remember")


def test_models_that_cannot_be_asked(api):
    with models(api, {}) as (good,):
        teach(good, 12)
        got = api.post(PATH, {"models": ["nobody-made-it", good.name], "text": SPAM}).ok().json
        equal((got["results"][0]["error"]["status"], got["results"][0]["model"]), (404, "nobody-made-it"))
        equal(got["results"][1], good.classify(SPAM))
        got = api.post(PATH + "?threshold=0.5&positive=nobody", {"models": [good.name], "text": SPAM}).ok().json
        equal((got["results"][0]["error"]["status"], got["common"]), (404, None))


def test_refused(api):
    name = api.name()
    for body, status, *words in (
            ({"text": "x"}, 400, "models"), ({"models": [], "text": "x"}, 400, "models"),
            ({"models": "m", "text": "x"}, 400, "models"), ({"models": [7], "text": "x"}, 400, "models", "a number"),
            ({"models": ["m", "m"], "text": "x"}, 400, "'m'", "twice"), ({"models": ["m"]}, 400, "text"),
            ({"models": ["m"], "text": "x", "mail": "y"}, 400, "text", "mail"),
            ({"models": ["m"], "documents": []}, 400, "documents"), ([], 400), ("not json", 400),
            ({"models": ["m", "?"], "text": "x"}, 422, "name"), ({"models": [""], "text": "x"}, 422),
            ({"models": ["m\0"], "text": "x"}, 422), ({"models": ["m"], "text": "x", "id": ""}, 422, "id"),
            ({"models": [f"m{i}" for i in range(101)], "text": "x"}, 413, "101", "100")):
        refused(api.post(PATH, body, "application/json"), status, *words)
    for query in ("target_fpr=0.1", "treshold=1", "label=x", "id=x", "threshold=2", "level=1&explain=2"):
        refused(api.post(f"{PATH}?{query}", {"models": [name], "text": "x"}), 400, query.split("=")[0])
    for type in ("text/plain", "message/rfc822", "application/x-ndjson", "application/mbox"):
        refused(api.post(PATH, '{"models": ["m"], "text": "x"}', type), 415, "application/json")
    refused(api.get(PATH), 405)


def test_a_token_must_be_for_each_of_them(api):
    daemon, tokens, everything = for_users(api)

    def status(names, token):
        return daemon.client.call("POST", PATH, {"models": names, "text": "x"}, **bearer(token)).status
    for role in ("classify", "train", "admin"):
        equal(status(["user-ann", "user-bob"], tokens[role]), 200, role)
        equal(status(["user-ann", "nobody", "user-bob"], tokens[role]), 403, "no such model, and not theirs")
        refused(daemon.client.call("POST", PATH, {"models": ["user-ann", "zoo"], "text": "x"}, **bearer(tokens[role])),
                403, "user-*", "zoo")
    equal(status(["user-ann", "zoo"], everything), 200)
    equal(daemon.client.call("POST", PATH, {"models": ["zoo"], "text": "x"}).status, 401)
    daemon.stop()


def test_each_model_counts_for_the_rate(api):
    daemon = api.another(config={"server": {"rate_classify": "5/hour"}}).start()
    for name in "abc":
        daemon.client.post(f"/v1/models/{name}/train", {"text": "x", "label": "l"}).ok()
    got = daemon.client.post(PATH, {"models": ["a", "b", "c"], "text": "x"}).ok().json
    equal(got["failed"], 0)
    daemon.stop()


def test_models_that_are_only_on_the_disk(api):
    """They are loaded while the request waits; a large body loads them where it runs."""
    daemon = api.another().start()
    for i in range(40):
        daemon.client.post(f"/v1/models/m{i:02}/train", {"documents": [
            {"text": "win prize", "label": "spam"}, {"text": "garden lunch", "label": "ham"}]}).ok()
    names = [f"m{i:02}" for i in range(40)]
    before = daemon.client.post(PATH, {"models": names, "text": "win"}).ok().json
    equal((len(before["results"]), before["failed"]), (40, 0))
    for text in ("win", "win " * 50_000):
        daemon.stop()
        daemon.start()
        equal(daemon.client.post(PATH, {"models": names, "text": text}).ok().json["failed"], 0)
        equal(daemon.client.post(PATH, {"models": names, "text": "win"}).ok().json, before)
    page = parse(daemon.client.get("/metrics").ok().body.decode())
    equal(page.value("bayesd_models_loaded"), 40)
    daemon.stop()


def test_long_replies_and_compressed_bodies(api):
    with models(api, *[{} for _ in range(20)]) as asked:
        words = [f"word{i}" for i in range(3000)]
        for model in asked:
            model.train(" ".join(words), "ham")
            model.train(" ".join(words[::2]), "spam")
        body = json.dumps({"models": [m.name for m in asked], "text": " ".join(words)}).encode()
        got = api.post(PATH + "?explain=3000", gzip.compress(body), "application/json", Content_Encoding="gzip").ok()
        holds(len(got.body) > 3_000_000, len(got.body))
        equal(got.json["results"], [m.post("classify?explain=3000", {"text": " ".join(words)}).ok().json for m in asked])
