# SPDX-License-Identifier: Apache-2.0
"""None of these: `known`, `min_known` and the decision none; evidence of any kind; the prior where nothing is known."""
import math
import os

import rspamd
import test_lines
from acknowledged import NDJSON, exported, rebuilt, verified
from harness import equal, holds, near, refused, wait_for
from test_client import Bayesc
from test_milter import Milter, status_of

DESK = {
    "opening": ("when are you open", "opening hours on saturday", "are you open on sunday", "what time do you close"),
    "parcel": ("where is my parcel", "my parcel has not arrived", "track my delivery", "when will my parcel come"),
    "refund": ("i want my money back", "refund for a broken lamp", "how do i get a refund", "please refund my order"),
    "invoice": ("send me the invoice", "the invoice has a wrong address", "invoice for last month", "copy of my invoice"),
    "login": ("i cannot log in", "my password does not work", "reset my password", "login fails with an error"),
    "cancel": ("cancel my order", "i want to cancel the subscription", "stop my order please", "cancel everything"),
    "size": ("which size fits me", "shoes are too small", "size chart for jackets", "do you have a larger size")}
FOREIGN = ("how old are you", "the moon orbits the earth", "penguins swim under ice", "xylophone zebra quartz")


def filled(client, path, settings=None, rounds=3):
    client.put(path, {"preset": "text", **(settings or {})}).ok(201)
    for turn in range(rounds):
        for i in range(4):
            for label, texts in DESK.items():
                client.post(path + "/train", {"text": texts[i] + (f" {'thanks hello now'.split()[turn - 1]}" if turn else ""), "label": label}).ok()


def asked(client, path, text, query=""):
    return client.post(path + "/classify" + query, {"text": text}).ok().json


def test_known_and_none(api):
    M = "/v1/models/" + api.name()
    client = api.daemon.client
    filled(client, M)
    own = [asked(client, M, t)["known"] for texts in DESK.values() for t in texts]
    foreign = [asked(client, M, t)["known"] for t in FOREIGN]
    holds(all(0 <= k <= 1 for k in own + foreign), (own, foreign))
    holds(sorted(own)[len(own) // 4] > max(foreign), (own, foreign))
    bound = (sorted(own)[len(own) // 4] + max(foreign)) / 2
    for text, known in zip(FOREIGN, foreign):
        said = asked(client, M, text, f"?min_known={bound!r}")
        equal(said["decision"], "none", said)
        holds("any of the labels" in said["decision_reason"] and "below" in said["decision_reason"], said)
        equal(said["known"], known)
        equal(asked(client, M, text, f"?min_known={bound!r}&threshold=0.01")["decision"], "none")
        plain = asked(client, M, text)
        holds("decision" not in plain, plain)
        equal({k: said[k] for k in plain}, plain, "the verdict beside the decision")
    best = max((t for texts in DESK.values() for t in texts), key=lambda t: asked(client, M, t)["known"])
    said = asked(client, M, best, f"?min_known={bound!r}")
    equal(said["decision"], said["label"], said)
    equal(asked(client, M, best, f"?min_known={bound!r}&threshold=1")["decision"], "unsure")
    refused(client.post(M + "/classify?min_known=1.1", {"text": "x"}), 400, "min_known")


def test_setting_thresholds(api):
    """The least probability of a label, said once for all requests: below it the decision is unsure."""
    M, text = "/v1/models/" + api.name(), DESK["parcel"][0]
    filled(api, M)
    best = asked(api, M, text)
    equal(api.get(M).ok().json["settings"]["thresholds"], {})
    holds("decision" not in best, best)
    label, p = best["label"], best["probability"]
    for threshold, decision in ((p - 1e-6, label), (p + 1e-6, "unsure")):
        reply = api.put(M, {"preset": "text", "thresholds": {label: threshold}}).ok().json
        equal(reply["settings"]["thresholds"], {label: threshold})
        holds("warnings" not in reply, reply)
        said = asked(api, M, text)
        equal((said["decision"], said["label"], said["probability"]), (decision, label, p))
        holds("the model's setting thresholds" in said["decision_reason"], said)
    # What the request says goes before; a label without a threshold is decided whenever it wins.
    equal(asked(api, M, text, "?threshold=0.01")["decision"], label)
    equal(asked(api, M, text, "?min_known=1")["decision"], "none")
    api.put(M, {"preset": "text", "thresholds": {"another": 1}, "unsure_band": 0.4}).ok()
    said = asked(api, M, text)
    equal(said["decision"], label)
    holds("thresholds has none" in said["decision_reason"], said)
    holds("'another'" in api.put(M, {"preset": "text", "thresholds": {"another": 1}}).ok().json["warnings"][0], "a label that is not there")
    for wrong, status in (({label: 0}, 422), ({label: 1.01}, 422), ({label: "x"}, 400), (0.9, 400)):
        refused(api.put(M, {"preset": "text", "thresholds": wrong}), status, "thresholds")


def test_thresholds_are_kept(api):
    """They are a part of the model: in the store, in a dump, and after a kill."""
    M = "/v1/models/m"
    daemon, other = api.another(keep=True).start(), api.another().start()
    wanted = {"preset": "text", "thresholds": {"a": 0.25, "b": 0.75}}
    daemon.client.put(M, wanted).ok(201)
    daemon.client.post(M + "/train", {"documents": [{"text": "tea", "label": "a"}, {"text": "milk", "label": "b"}]}).ok()
    dump = daemon.client.get(M + "/export").ok().body
    daemon.kill()
    daemon.start()
    equal(daemon.client.get(M).ok().json["settings"]["thresholds"], wanted["thresholds"])
    other.client.put(M + "/import", dump, NDJSON).ok(201)
    equal(other.client.get(M).ok().json["settings"]["thresholds"], wanted["thresholds"])
    equal(len(other.client.post(M + "/classify", {"documents": [{"text": "tea"}, {"text": "milk"}]}).ok().json["results"]), 2)


def test_setting_min_known(api):
    M = "/v1/models/" + api.name()
    filled(api, M)
    settings = api.get(M).ok().json["settings"]
    equal(settings["min_known"], 0)
    api.put(M, {"preset": "text", "min_known": 1}).ok()
    said = asked(api, M, FOREIGN[0])
    equal(said["decision"], "none", said)
    holds("setting min_known" in said["decision_reason"], said)
    holds(asked(api, M, FOREIGN[0], "?min_known=0")["decision"] != "none", "the request goes before the setting")
    several = api.post("/v1/classify", {"models": [M.rsplit("/", 1)[1]], "text": FOREIGN[0]}).ok().json["results"][0]
    equal(several["decision"], "none", several)
    refused(api.put(M, {"preset": "text", "min_known": 2}), 422, "min_known")


def test_history_keeps_known(api):
    M = "/v1/models/" + api.name()
    filled(api, M, {"min_known": 1, "history": 100})
    said = api.post(M + "/classify?remember=1", {"id": "far", "text": FOREIGN[0]}).ok().json
    row = api.get(M + "/history").ok().json["history"][0]
    equal((row["id"], row["known"]), ("far", said["known"]))
    found = api.get(M + "/history/far").ok().json
    equal((found["known"], found["now"]["decision"]), (said["known"], "none"))
    equal(found["now"]["decision_reason"], said["decision_reason"])
    api.put(M, {"preset": "text", "min_known": 0, "history": 100}).ok()
    holds("decision" not in api.get(M + "/history/far").ok().json["now"], "no bound, no decision")
    few = "/v1/models/" + api.name()
    api.put(few, {"preset": "text", "history": 100}).ok(201)
    api.post(few + "/train", {"text": "cheap pills", "label": "spam"}).ok()
    api.post(few + "/classify?remember=1", {"id": "one", "text": FOREIGN[0]}).ok()
    holds("known" not in api.get(few + "/history").ok().json["history"][0], "a model that cannot say it")


def test_few_documents_say_nothing(api):
    M = "/v1/models/" + api.name()
    api.put(M, {"preset": "text"}).ok(201)
    for i in range(3):
        api.post(M + "/train", {"text": f"cheap pills {i}", "label": "spam"}).ok()
        api.post(M + "/train", {"text": f"meeting at noon {i}", "label": "ham"}).ok()
    said = asked(api, M, "cheap meeting", "?min_known=1")
    holds("known" not in said, said)
    equal(said["decision"], said["label"], said)
    holds("too few" in said["decision_reason"], said)


def test_two_labels(api):
    M = "/v1/models/" + api.name()
    for name, settings in (("two", {"preset": "text"}), ("book", {"preset": "book"})):
        path = M + name
        api.put(path, settings).ok(201)
        for i in range(40):
            api.post(path + "/train", {"text": f"cheap pills buy now offer{i % 7} win{i % 5}", "label": "spam"}).ok()
            api.post(path + "/train", {"text": f"meeting at noon agenda{i % 7} minutes{i % 5}", "label": "ham"}).ok()
        own, foreign = asked(api, path, "cheap pills offer3 win2"), asked(api, path, "penguins swim under blue ice")
        holds(own["known"] > 0.9 > 0.5 > foreign["known"], (name, own["known"], foreign["known"]))


def test_evidence_of_ngrams_alone(api):
    M = "/v1/models/" + api.name()
    api.put(M, {"preset": "text"}).ok(201)
    for i in range(12):
        api.post(M + "/train", {"text": f"Kaskoversicherung Haftpflichtversicherung Police{i}", "label": "insurance"}).ok()
        api.post(M + "/train", {"text": f"Lebensmittelmarkt Wochenmarkt Einkauf{i}", "label": "food"}).ok()
    said = asked(api, M, "Hausratversicherung", "?explain=20&threshold=0.5")
    equal(said["tokens"]["known"], 0, said)
    holds("evidence" not in said and len(said["explanation"]) > 1, said)
    equal((said["label"], said["decision"]), ("insurance", "insurance"), said)
    nothing = asked(api, M, "xyz", "?explain=20&threshold=0.5")
    equal((nothing["evidence"], nothing["decision"], len(nothing["explanation"])), ("none", "unsure", 1), nothing)


def test_prior_where_nothing_is_known(api):
    M = "/v1/models/" + api.name()
    for name, settings, counts, want in (
            ("even", {}, {"a": 20, "b": 20}, {"a": 0.5, "b": 0.5}), ("odd", {}, {"a": 30, "b": 6}, {"a": 5 / 6, "b": 1 / 6}),
            ("rare", {}, {"a": 45, "b": 44, "c": 1}, {"a": 0.5, "b": 44 / 90, "c": 1 / 90}),
            ("uniform", {"prior": "uniform"}, {"a": 30, "b": 6}, {"a": 0.5, "b": 0.5})):
        path = "/v1/models/" + name
        api.put(path, {"preset": "text", **settings}).ok(201)
        for label, size in counts.items():
            for i in range(size):
                api.post(path + "/train", {"text": f"{label * 7} word{i} {label * 9}", "label": label}).ok()
        for text in ("", "qqqq"):
            said = asked(api, path, text, "?explain=9")
            equal(said["evidence"], "none", said)
            for label, p in want.items():
                near(said["probabilities"][label], p, (name, text, said), 1e-9)
            top, second = sorted(said["probabilities"].values(), reverse=True)[:2]
            near(sum(row["evidence"] for row in said["explanation"]), math.log(top / second), said, 1e-9)


def test_label_without_a_document(api):
    M = "/v1/models/" + api.name()
    api.put(M, {"preset": "text"}).ok(201)
    for i in range(4):
        api.post(M + "/train", {"text": f"cheap pills {i}", "label": "spam"}).ok()
    said = asked(api, M, "cheap pills", "?threshold=0.1")
    equal(list(said["probabilities"]), ["spam"], said)
    equal(said["decision"], "unsure", said)
    holds("known" not in said, said)


def test_shares_where_nothing_is_known(api):
    """500 and 500 give a half each, a label with a fiftieth of a tenth that; by the book, too."""
    M = "/v1/models/" + api.name()
    for name, settings in (("stacked", {"preset": "text"}), ("book", {"preset": "book"})):
        for counts in ({"a": 500, "b": 500}, {"a": 500, "b": 499, "c": 2}):
            path = f"{M}-{name}-{len(counts)}"
            api.put(path, settings).ok(201)
            rows = [{"text": f"{label * 5} word{i % 9}", "label": label, "id": f"{label}{i}"} for label, n in counts.items() for i in range(n)]
            for at in range(0, len(rows), 250):
                equal(api.post(path + "/train", {"documents": rows[at:at + 250]}).ok().json["failed"], 0)
            said = asked(api, path, "qqqq")
            equal(said["evidence"], "none")
            for label, n in counts.items():
                near(said["probabilities"][label], n / len(rows), (name, said), 1e-9)


def test_by_the_book(api):
    """A model by the book has it, from the shares of the words alone; its probabilities are those of the book."""
    M = "/v1/models/" + api.name()
    api.put(M, {"preset": "book"}).ok(201)
    equal(api.put(M, {"preset": "book", "min_known": 0.5}).ok().json["settings"]["min_known"], 0.5)
    for turn in range(3):
        for i in range(4):
            for label, texts in DESK.items():
                api.post(M + "/train", {"text": f"{texts[i]} {'please thanks hello'.split()[turn]}", "label": label}).ok()
    for text in FOREIGN[1:]:
        equal(asked(api, M, text)["decision"], "none", text)
    said = asked(api, M, DESK["parcel"][0])
    holds(said["known"] > 0.5 and said["decision"] == said["label"], said)


def test_with_a_parent(api):
    """What both have is known, judged by the regression of the one that has learned more."""
    name = api.name()
    M, parent = f"/v1/models/{name}", f"/v1/models/{name}-parent"
    filled(api, parent)
    alone = {t: asked(api, parent, t)["known"] for t in (DESK["size"][0], FOREIGN[0])}
    api.put(M, {"preset": "text", "parent": name + "-parent"}).ok(201)
    for text, known in alone.items():
        near(asked(api, M, text)["known"], known, "as the parent says", 1e-9)
    for i, text in enumerate(("when does the moon rise", "how far is the moon", "is the moon full")):
        api.post(M + "/train", {"text": text, "label": "opening", "id": str(i)}).ok()
        api.post(M + "/train", {"text": f"my parcel is late {i}", "label": "parcel", "id": f"p{i}"}).ok()
    holds(asked(api, M, "how far is the moon")["known"] > asked(api, parent, "how far is the moon")["known"] + 0.1, "the model's own words are known")
    texts = (*FOREIGN[2:], DESK["parcel"][0])
    known = [asked(api, M, t)["known"] for t in texts]
    holds(known[-1] > max(known[:-1]), known)
    bound = (known[-1] + max(known[:-1])) / 2
    for text in texts[:-1]:
        equal(asked(api, M, text, f"?min_known={bound!r}")["decision"], "none")
    equal(asked(api, M, texts[-1], f"?min_known={bound!r}")["decision"], "parcel")


def test_mail_of_no_label_is_let_through(api):
    """At each door a mail that is none of the labels is no spam, whatever its probability: no action, and no score above 0."""
    daemon = rspamd.taught(api, add_header="0.51", rewrite_subject="0.6", reject="0.7", unsure="0.3")
    daemon.client.put(rspamd.MAIL, {"min_known": 0}).ok()
    equal(rspamd.check(daemon, rspamd.spam())["action"], "reject")
    daemon.client.put(rspamd.MAIL, {"min_known": 1}).ok()
    equal(daemon.client.post(rspamd.MAIL + "/classify", rspamd.spam(), "message/rfc822").ok().json["decision"], "none")
    report = rspamd.check(daemon, rspamd.spam())
    equal((report["action"], next(iter(report["symbols"])), report["score"]), ("no action", "BAYES_UNSURE", 0))
    status = report["milter"]["add_headers"]["X-Bayes-Status"]
    holds(status.startswith("unsure, probability=") and status.endswith(", none of the labels"), status)
    for protocol, version in (("SPAMC", "1.5"), ("RSPAMC", "1.3")):
        reply = test_lines.ask(daemon, test_lines.whole("CHECK", rspamd.spam(), version, protocol)).decode()
        holds("False ; 0.0 /" in reply or "False; 0.00 /" in reply, reply)
    reply = test_lines.ask(daemon, test_lines.whole("PROCESS", rspamd.spam())).decode()
    holds("X-Spam-Flag" not in reply and "X-Spam-Status: No, score=0.0" in reply and "***SPAM***" not in reply, reply)
    with Milter(api, f"http://127.0.0.1:{daemon.port}") as milter:
        head, _, body = rspamd.spam().decode().partition("\n\n")
        fields = [tuple(line.split(": ", 1)) for line in head.split("\n")]
        result = milter.mail(fields, body.encode())
        holds(result.passes() and status_of(result, fields).startswith("unsure, ") and "none of the labels" in status_of(result, fields), vars(result))
    daemon.stop()


def test_state_is_a_function_of_the_ledger(api):
    for settings in ({}, {"preset": "book"}):
        assert_state_is_of_the_ledger(api, settings)


def assert_state_is_of_the_ledger(api, settings):
    M = "/v1/models/" + api.name()
    texts = [t for of in DESK.values() for t in of] + list(FOREIGN)
    daemon = api.another().start()
    client = daemon.client
    filled(client, M, settings)
    client.post(M + "/train", {"text": DESK["size"][1], "label": "refund"}).ok()
    client.post(M + "/untrain", {"text": DESK["size"][0]}).ok()
    before = [asked(client, M, t)["known"] for t in texts]
    client.put("/v1/models/copy/import", exported(client, M.rsplit("/", 1)[1]), NDJSON).ok(201)
    for text, one in zip(texts, before):
        near(asked(client, "/v1/models/copy", text)["known"], one, "after import", 1e-9)
    daemon.stop()
    data = daemon.data
    verified(api, data)
    rebuilt(api, data)
    daemon.start()
    for text, one in zip(texts, before):
        near(asked(daemon.client, M, text)["known"], one, "after a start", 1e-9)
    client = daemon.client
    if settings:  # weights are learned from the documents; what is known stays
        client.put(M, {"decision": "stacked"}).ok()
        wait_for(lambda: asked(client, M, texts[0])["calibrated"], "the weights are fitted")
    else:
        client.post(M + "/refit").ok()
    again = [asked(client, M, t)["known"] for t in texts]
    daemon.stop()
    verified(api, data)
    rebuilt(api, data)
    daemon.start()
    for text, one in zip(texts, again):
        near(asked(daemon.client, M, text)["known"], one, "after a refit and a start", 1e-9)


def test_client_says_none(api):
    M = "/v1/models/" + api.name()
    filled(api, M)
    client = Bayesc(api)
    table = os.path.join(api.new_folder(), "new.csv")
    with open(table, "w", encoding="utf-8") as out:
        out.write("text\n" + "\n".join(FOREIGN) + "\n")
    rows = client.run("classify", "-m", M.rsplit("/", 1)[1], "--csv", "--min-known", "1", table).decode().splitlines()
    holds(rows[0].endswith(",decision,known"), rows)
    holds(all(row.split(",")[-2] == "none" and 0 <= float(row.split(",")[-1]) <= 1 for row in rows[1:]), rows)
    said = client.run("classify", "-m", M.rsplit("/", 1)[1], "--min-known", "1", stdin=FOREIGN[0].encode()).decode()
    holds(said.startswith("none"), said)
    api.put(M, {"preset": "text", "min_known": 1}).ok()
    holds(client.run("classify", "-m", M.rsplit("/", 1)[1], stdin=FOREIGN[0].encode()).decode().startswith("none"), "by the setting")
    holds(b"of any of the labels: 0." in client.run("explain", "-m", M.rsplit("/", 1)[1], stdin=FOREIGN[0].encode()), "explain says it")


def test_a_lesson_is_forgotten_in_the_store_too(api):
    """By the book the regression may be zeros again after a replaced document, and other settings then keep nothing of it."""
    daemon = api.another().start()
    client = daemon.client
    client.put("/v1/models/m", {"preset": "book"}).ok(201)
    for id, label, text in (("a", "x", "b c"), ("b", "x", "c d"), ("c", "y", "d e"), ("d", "x", "e f"), ("d", "z", "f g"), ("e", "u", "b f")):
        client.post("/v1/models/m/train", {"text": text, "id": id, "label": label}).ok()
    client.put("/v1/models/m", {"preset": "book", "smoothing": 0.5}).ok()
    client.post("/v1/models/m/untrain", {"id": "a"}).ok()
    daemon.kill()
    verified(api, daemon.data)
