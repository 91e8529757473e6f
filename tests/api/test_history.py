# SPDX-License-Identifier: Apache-2.0
"""The history: verdicts that are kept with what the model saw, so that a document gets its label
later by its id alone."""
import itertools
import json
import os
import threading
import time

import rspamd
from acknowledged import rebuilt, verified
from harness import equal, holds, near, quoted, refused, wait_for
from lmdb_pages import places_of
from prometheus import parse
from test_lines import ask as ask_line, whole
from test_tokens import bearer, new_token

M = "/v1/models/m"
SETTINGS = {"preset": "book", "history": 100}
TEXTS = {"spam": "buy cheap pills now", "ham": "meeting at noon about the report"}


def filled(client, path=M, **settings):
    client.put(path, {**SETTINGS, **settings}).ok(201)
    for label, text in TEXTS.items():
        client.post(path + "/train", {"label": label, "text": text, "id": label}).ok()
    return client


def started(api, **how):
    daemon = api.another(**how).start()
    filled(daemon.client)
    return daemon


def remember(client, text, path=M, **members):
    return client.post(path + "/classify?remember=1", {"text": text, **members}).ok().json


def rows(client, query="", path=M):
    return client.get(f"{path}/history{query}").ok().json["history"]


def ids(client, query="", path=M):
    return [row["id"] for row in rows(client, query, path)]


def label(client, id, label, path=M):
    return client.post(f"{path}/documents/{quoted(id)}/label", {"label": label})


def figures(client, path=M):
    found = client.get(path).ok().json
    return {k: found.get(k) for k in ("documents", "unlabelled", "vocabulary", "labels")}


# ---- keeping and reading ------------------------------------------------------------------------
def test_kept_and_listed_newest_first(api):
    client = started(api).client
    before = figures(client)
    first = remember(client, "cheap cheap meeting unseen", id="one")
    equal((first["id"], first["remembered"]), ("one", True))
    second = remember(client, "the report of the meeting", source="desk")
    plain = client.post(M + "/classify", {"text": "the report of the meeting"}).ok().json
    equal({k: v for k, v in second.items() if k not in ("id", "remembered")}, plain, "beside what is kept")
    listed = rows(client)
    equal([row["id"] for row in listed], [second["id"], "one"])
    row = listed[1]
    equal({k: row[k] for k in ("verdict", "source", "tokens", "label")},
          {"verdict": first["label"], "source": "http", "tokens": 4, "label": None})
    near(row["probability"], first["probability"], "the probability", 1e-5)
    equal(listed[0]["source"], "desk")
    holds("subject" not in row and "message_id" not in row, row)
    equal(figures(client), before, "the model")
    # The same document again: its newest verdict counts.
    remember(client, "the report", id="one")
    equal(ids(client), ["one", second["id"]])
    equal(rows(client)[0]["tokens"], 2)


def test_a_document_without_words(api):
    """It is kept, listed, explained and learned as any other, also where no word's text is kept."""
    for keep_words in ("yes", "no"):
        daemon = started(api, config={"store": {"keep_words": keep_words}})
        client = daemon.client
        filled(client, "/v1/models/n")
        for id, text in (("empty", ""), ("dots", " ... ")):
            equal(remember(client, text, id=id)["remembered"], True)
        equal(ids(client), ["dots", "empty"])
        equal(client.get(M + "/history/empty?explain=3").ok().json["id"], "empty")
        daemon.stop()
        client = daemon.start().client
        equal(ids(client), ["dots", "empty"])
        receipt = label(client, "empty", "spam").ok().json
        sent = client.post("/v1/models/n/train", {"id": "empty", "label": "spam", "text": ""}).ok().json
        equal({**receipt, "model": None}, {**sent, "model": None})
        equal(figures(client), figures(client, "/v1/models/n"))
        daemon.stop()
        verified(api, daemon.data)


def test_off_unless_asked_for(api):
    """Without the setting nothing is kept, and without `remember` neither."""
    daemon = api.another().start()
    client = filled(daemon.client, history=0)
    refused(client.post(M + "/classify?remember=1", {"text": "cheap"}), 409, "history")
    refused(client.post(M + "/classify?remember=2", {"text": "cheap"}), 400, "remember")
    equal(rows(client), [])
    filled(client, "/v1/models/n")
    wait_for(lambda: writes_nothing(daemon), "no byte of the store changes", 20)
    equal(rows(client, path="/v1/models/n"), [])


def writes_nothing(daemon):
    """Whether verdicts leave the store as it is: at first the writer may have something to do after training."""
    def bytes_of_the_store():
        return os.path.getsize(os.path.join(daemon.data, "data.mdb")), metric(daemon.client, "bayesd_store_bytes")
    before = bytes_of_the_store()
    for i in range(2000):
        reply = daemon.client.post("/v1/models/n/classify", {"text": f"cheap meeting number {i}"}).ok().json
        holds("remembered" not in reply and "id" not in reply, reply)
    time.sleep(2.5)  # it would write in a quiet moment
    return bytes_of_the_store() == before


def metric(client, name):
    return parse(client.get("/metrics").body.decode()).value(name)


def test_what_is_refused_is_not_kept(api):
    """A decision that cannot be made is an error; then there is no verdict whose label could come later."""
    client = started(api).client
    document, query = {"text": TEXTS["ham"], "id": "one"}, "?remember=1&threshold=0.5&positive=other"
    refused(client.post(M + "/classify" + query, document), 404, "other")
    refused(client.post(M + "/classify" + query, json.dumps(document) + "\n", "application/x-ndjson"), 404, "other")
    several = client.post("/v1/classify" + query, {"models": ["m"], **document}).ok().json
    equal(several["results"][0]["error"]["status"], 404, several)
    equal(ids(client), [])
    client.post(M + "/classify" + query.replace("other", "ham"), document).ok()
    equal(ids(client), ["one"])


def test_filters_and_pages(api):
    client = started(api).client
    for i in range(25):
        remember(client, ["cheap pills", "the meeting"][i % 2], id=f"d{i:02}", source=["a", "b"][i % 2])
    everything = [f"d{i:02}" for i in reversed(range(25))]
    equal(ids(client), everything)
    got, after = [], ""
    while after is not None:
        page = client.get(f"{M}/history?limit=7{after}").ok().json
        got += [row["id"] for row in page["history"]]
        after = f"&after={page['next']}" if "next" in page else None
    equal(got, everything, "in pages")
    page = client.get(f"{M}/history?limit=7&total=1&verdict=spam").ok().json
    equal((len(page["history"]), page["total"], page["total_is_complete"]), (7, 13, True), "counted")
    page = client.get(f"{M}/history?limit=7&total=1&verdict=spam&after={page['next']}").ok().json
    equal((page["history"][0]["id"], page["total"]), ("d10", 6), "from the second page on")
    page = client.get(f"{M}/history?limit=13&total=1&verdict=spam").ok().json
    equal(("next" in page, page["total"]), (False, 13), "no page follows one that has all")
    page = client.get(f"{M}/history?limit=4&total=1&verdict=spam&skip=5").ok().json
    equal(([row["id"] for row in page["history"]], page["total"]), (everything[10:18:2], 13), "from the sixth on")
    equal(ids(client, f"?limit=4&verdict=spam&after={page['next']}"), everything[18::2], "and what follows")
    page = client.get(f"{M}/history?limit=4&total=1&skip=21").ok().json
    equal(([row["id"] for row in page["history"]], "next" in page), (everything[21:], False), "the end")
    equal(ids(client, "?skip=25"), [], "behind the end")
    equal(ids(client, "?verdict=spam"), everything[::2])
    equal(ids(client, "?source=b"), everything[1::2])
    equal(ids(client, "?contains=D2"), ["d24", "d23", "d22", "d21", "d20"])
    probability = rows(client, "?contains=d00")[0]["probability"]
    equal(ids(client, f"?least={probability - 1e-6}&verdict=spam"), everything[::2])
    equal(ids(client, f"?most={probability - 1e-3}&verdict=spam"), [])
    times = {row["id"]: row["time"] for row in rows(client)}
    moment = times["d10"]
    equal(ids(client, f"?from={quoted(moment)}"), [id for id in everything if times[id] >= moment])
    equal(ids(client, f"?to={quoted(moment)}"), [id for id in everything if times[id] <= moment])
    label(client, "d03", "spam").ok()
    equal(ids(client, "?labelled=1"), ["d03"])
    equal(len(ids(client, "?labelled=0")), 24)
    for query, word in (("limit=0", "limit"), ("least=2", "least"), ("labelled=2", "labelled"), ("total=2", "total"), ("from=x", "from"),
                        ("after=x", "after"), ("skip=-1", "skip"), ("newest=1", "newest")):
        refused(client.get(f"{M}/history?{query}"), 400, word)
    refused(client.get("/v1/models/none/history"), 404, "none")


def test_why(api):
    """The explanation of the kept document is that of the document itself."""
    client = started(api).client
    text = "cheap cheap meeting unseen"
    kept = remember(client, text, id="w")
    found = client.get(M + "/history/w?explain=10").ok().json
    now = client.post(M + "/classify?explain=10", {"text": text}).ok().json
    equal(found["now"], now)
    equal((found["id"], found["verdict"], found["label"]), ("w", kept["label"], None))
    client.post(M + "/train", {"label": "ham", "text": "cheap cheap cheap"}).ok()
    again = client.get(M + "/history/w").ok().json
    equal((again["verdict"], again["probability"]), (found["verdict"], found["probability"]), "as it was")
    holds(again["now"]["probabilities"]["ham"] > now["probabilities"]["ham"], "as it is now")
    refused(client.get(M + "/history/none"), 404, "none")


# ---- labels -------------------------------------------------------------------------------------
def test_label_of_what_is_remembered(api):
    """The model is then the one that has learned the document itself."""
    client = started(api).client
    filled(client, "/v1/models/n")
    text = "cheap tickets for the meeting, unseen words and all"
    remember(client, text, id="d")
    receipt = label(client, "d", "spam").ok().json
    sent = client.post("/v1/models/n/train", {"id": "d", "label": "spam", "text": text}).ok().json
    equal({**receipt, "model": None}, {**sent, "model": None})
    equal(figures(client), figures(client, "/v1/models/n"))
    asked = {"text": "unseen meeting tickets"}
    equal(client.post(M + "/classify?explain=5", asked).ok().json["log_scores"],
          client.post("/v1/models/n/classify?explain=5", asked).ok().json["log_scores"])
    equal(rows(client)[0]["label"], "spam")
    # From then on it is a document like others.
    equal(label(client, "d", "spam").ok().json["status"], "unchanged")
    relabelled = label(client, "d", "ham").ok().json
    equal((relabelled["status"], relabelled["previous_label"]), ("relabelled", "spam"))
    equal(rows(client)[0]["label"], "ham")
    equal(label(client, "d", None).ok().json["label"], None)
    equal(client.get(M + "/documents/d").ok().json["label"], None)
    equal(client.post(M + "/train", {"id": "d", "text": text, "label": "ham"}).ok().json["status"], "learned")


def test_label_of_learned_and_unknown_documents(api):
    client = started(api).client
    equal(label(client, "spam", "ham").ok().json["status"], "relabelled")
    refused(label(client, "none", "ham"), 404, "none")
    refused(label(client, "spam", ""), 422, "label")
    refused(client.post(M + "/documents/spam/label", {"name": "x"}), 400, "name")
    refused(client.post(M + "/documents/spam/label", {"label": 3.5}), 400, "label")
    refused(client.post("/v1/models/none/documents/a/label", {"label": "x"}), 404, "none")
    # By `train` with an id and a label, too, and in a stream.
    remember(client, "cheap things", id="a")
    remember(client, "noon meeting", id="b")
    equal(client.post(M + "/train", {"id": "a", "label": "spam"}).ok().json["status"], "learned")
    lines = "".join(json.dumps({"id": id, "label": "ham"}) + "\n" for id in "bc")
    got = client.post(M + "/train", lines, kind="application/x-ndjson").ok().lines
    equal((got[0]["status"], got[1]["error"]["status"]), ("learned", 404))


def test_a_label_behind_its_document(api):
    """What is learned in the same batch, or at the same time, keeps its content: the history is for what nobody learned."""
    daemon = started(api)
    client = daemon.client
    filled(client, "/v1/models/n")
    documents = [{"id": "d", "text": "three other words", "label": "ham"}, {"id": "d", "label": "spam"}]
    remember(client, "cheap", id="d")
    for path in (M, "/v1/models/n"):
        got = client.post(path + "/train", {"documents": documents}).ok().json["results"]
        equal([(row["status"], row["tokens"]) for row in got], [("learned", 3), ("relabelled", 3)], path)
    equal(figures(client), figures(client, "/v1/models/n"))
    client.post(M + "/untrain", {"id": "d"}).ok()
    # Somebody learns documents while others give them labels: in whatever order, a document has what was learned.
    for i in range(90):
        remember(client, "cheap", id=f"d{i}")

    def give(client):
        for i in range(90):
            label(client, f"d{i}", "spam").ok()
    giving = threading.Thread(target=give, args=(daemon.new_client(),))
    giving.start()
    for i in range(90):
        client.post(M + "/train", {"id": f"d{i}", "text": "three other words", "label": "ham"}).ok()
    giving.join()
    equal([client.get(f"{M}/documents/d{i}").ok().json["tokens"] for i in range(90)], [3] * 90)


def test_an_id_with_a_slash(api):
    client = started(api).client
    remember(client, "cheap", id="a/b c")
    equal(client.get(M + "/history/" + quoted("a/b c")).ok().json["id"], "a/b c")
    equal(label(client, "a/b c", "spam").ok().json["id"], "a/b c")


# ---- forgetting ---------------------------------------------------------------------------------
def test_forgetting(api):
    """DELETE of a document leaves neither the document nor its verdict; untrain leaves the verdict."""
    client = started(api).client
    before = figures(client)
    for id in "abc":
        remember(client, f"cheap {id}", id=id)
    label(client, "a", "spam").ok()
    label(client, "b", "spam").ok()
    client.post(M + "/untrain", {"id": "a"}).ok()
    equal(ids(client), ["c", "b", "a"])
    equal(rows(client)[2]["label"], None)
    got = client.delete(M + "/documents/b").ok().json
    equal((got["status"], got["label"]), ("forgotten", "spam"))
    got = client.delete(M + "/documents/c").ok().json
    equal((got["status"], got["label"], got["tokens"]), ("forgotten", None, 0))
    refused(client.delete(M + "/documents/c"), 404, "c")
    refused(client.get(M + "/history/c"), 404, "c")
    refused(label(client, "c", "spam"), 404, "c")
    equal(ids(client), ["a"])
    equal(figures(client), before)
    equal(client.delete(M + "/documents/spam").ok().json["label"], "spam")
    remember(client, "meeting", id="d")  # not written yet
    client.delete(M + "/documents/d").ok()
    equal(ids(client), ["a"])


def test_the_ring(api):
    """So many verdicts are kept as the setting says, also when it becomes less."""
    daemon = api.another().start()
    client = filled(daemon.client, history=10)
    for i in range(35):
        remember(client, f"cheap {i}", id=f"{i}")
    equal(ids(client), [f"{i}" for i in range(34, 24, -1)])
    refused(client.get(M + "/history/3"), 404, "3")
    client.put(M, {**SETTINGS, "history": 4}).ok()
    equal(ids(client), ["34", "33", "32", "31"])
    client.put(M, {**SETTINGS, "history": 0}).ok()
    equal(ids(client), [])
    refused(client.get(M + "/history/34"), 404, "34")


def test_switched_off_it_leaves_the_disk(api):
    daemon = started(api)
    client = daemon.client
    for i in range(10):
        remember(client, f"cheap {i}", id=f"{i}")
    equal(len(rows(client)), 10)
    pauses = itertools.count(2)

    def is_empty():  # the writer looks for it in a quiet moment; nothing tells when it has
        client.put(M, {**SETTINGS, "history": 0}).ok()
        time.sleep(next(pauses))
        client.put(M, {**SETTINGS, "history": 100}).ok()
        return ids(client) == []
    wait_for(is_empty, "the verdicts are gone", 20)


# ---- what comes by mail -------------------------------------------------------------------------
MAIL = (b"From: a@example.org\r\nTo: b@example.org\r\nMessage-ID: <one@example.org>\r\n"
        b"Subject: =?utf-8?Q?Caf=C3=A9?= offer\r\n folded\r\n\r\nBuy cheap pills now.\r\n")


def mail_model(client, **settings):
    client.put("/v1/models/mail", {"preset": "mail", "ready_documents": 1, **settings}).ok()


def test_message_id_and_subject(api):
    daemon = api.another().start()
    client = daemon.client
    rspamd.teach(daemon)
    path = "/v1/models/mail"
    mail_model(client, history=50)
    got = client.post(path + "/classify?remember=1", MAIL, kind="message/rfc822").ok().json
    row = rows(client, path=path)[0]
    equal((row["id"], row["message_id"], "subject" in row, "from" in row), (got["id"], "one@example.org", False, False))
    equal(ids(client, "?contains=ONE@example", path), [got["id"]])
    mail_model(client, history=50, history_subject=True)
    client.post(path + "/classify?remember=1", MAIL, kind="message/rfc822").ok()
    row = rows(client, path=path)[0]
    equal((row["subject"], row["from"]), ("Café offer folded", "a@example.org"))
    equal(ids(client, "?contains=A@Example", path), [got["id"]])
    document = client.get(path + "/next?count=1").ok().json["next"][0]
    equal((document["subject"], document["from"]), ("Café offer folded", "a@example.org"))
    equal(ids(client, "?contains=" + quoted("café"), path), [got["id"]])
    raw = MAIL.replace(b"=?utf-8?Q?Caf=C3=A9?=", "Grüße".encode("latin-1")).replace(b"<one@", b"<raw@")
    client.post(path + "/classify?remember=1", raw, kind="message/rfc822").ok()
    equal(rows(client, "?contains=raw@", path)[0]["subject"], "Grüße offer folded", "raw bytes without a charset")
    # The id is that of the mail however it travels, so that a later training of it is the same document.
    label(client, got["id"], "spam", path).ok()
    again = client.post(path + "/train?label=spam", MAIL.replace(b"\r\n", b"\n"), kind="message/rfc822").ok().json
    equal((again["status"], again["id"]), ("unchanged", got["id"]))


def test_doors_of_mail_software(api):
    """rspamd's protocol and SPAMC keep what they judge in a model that has a history, and only there."""
    daemon = api.another().start()
    client, path = daemon.client, "/v1/models/mail"
    rspamd.teach(daemon)
    mail_model(client)
    rspamd.check(daemon, MAIL)
    equal(rows(client, path=path), [])
    mail_model(client, history=50)
    rspamd.check(daemon, MAIL)
    ask_line(daemon, whole("CHECK", MAIL.replace(b"<one@", b"<two@")))
    equal([(row["message_id"], row["source"]) for row in rows(client, path=path)],
          [("two@example.org", "spamc"), ("one@example.org", "rspamd")])
    before = documents(client, path)
    id = ids(client, "?contains=one@", path)[0]
    equal(label(client, id, "ham", path).ok().json["status"], "learned")
    equal(documents(client, path), {**before, "ham": before["ham"] + 1})


def documents(client, path):
    return {name: row["documents"] for name, row in client.get(path).ok().json["labels"].items()}


# ---- durability ---------------------------------------------------------------------------------
def test_a_kill_and_a_restart(api):
    """What was written before the kill is there; a clean stop loses nothing."""
    daemon = started(api)
    for i in range(20):
        remember(daemon.client, f"cheap {i}", id=f"{i}")
    before = rows(daemon.client)  # a look writes what was noted
    daemon.kill()
    daemon = api.another(folder=daemon.folder).start()
    equal(rows(daemon.client), before)
    remember(daemon.client, "noon", id="later")
    daemon.stop()
    daemon = api.another(folder=daemon.folder).start()
    equal(rows(daemon.client)[1:], before)
    equal(rows(daemon.client)[0]["id"], "later")
    label(daemon.client, "7", "spam").ok()
    daemon.kill()
    daemon = api.another(folder=daemon.folder).start()
    equal(daemon.client.get(M + "/documents/7").ok().json["label"], "spam")


def test_written_within_seconds(api):
    """Nobody has to ask: what was noted is on disk a little later."""
    daemon = started(api)
    remember(daemon.client, "cheap", id="x")
    wait_for(lambda: metric(daemon.client, "bayesd_history_waiting") == 0, "the history is written")
    daemon.kill()
    equal(ids(api.another(folder=daemon.folder).start().client), ["x"])


def rebuild(api, data):
    status, out, err = api.tool("--rebuild", "--data", data, seconds=120)
    equal(status, 0, out + err)


def test_verify_and_rebuild(api):
    daemon = started(api)
    for i in range(30):
        remember(daemon.client, f"cheap {i}", id=f"{i}")
    label(daemon.client, "3", "spam").ok()
    before = rows(daemon.client)
    daemon.stop()
    verified(api, daemon.data)
    rebuilt(api, daemon.data)
    rebuild(api, daemon.data)
    daemon = api.another(folder=daemon.folder).start()
    equal(rows(daemon.client), before)
    equal(label(daemon.client, "4", "ham").ok().json["status"], "learned")


def test_a_backup_has_it(api):
    daemon = started(api)
    for i in range(5):
        remember(daemon.client, f"cheap {i}", id=f"{i}")
    before = rows(daemon.client)
    path, data = os.path.join(api.new_folder(), "backup"), os.path.join(api.new_folder(), "data")
    with open(path, "wb") as file:
        file.write(daemon.client.post("/v1/backup").ok().body)
    status, out, err = api.tool("--restore", path, "--data", data)
    equal(status, 0, out + err)
    client = api.another(data=data).start().client
    equal(rows(client), before)
    equal(label(client, "2", "spam").ok().json["status"], "learned")


def test_labels_by_sources_without_trust_wait(api):
    """With what the history has of the document: when the label is applied, nobody needs the text."""
    client = filled(api.another(config={"models": {"quarantine": "stranger"}}).start().client)
    remember(client, "cheap tickets", id="x")
    before = figures(client)
    reply = client.post(M + "/documents/x/label?source=stranger", {"label": "spam"})
    equal((reply.status, reply.json["status"]), (202, "quarantined"))
    equal(figures(client), before)
    equal([row["label"] for row in client.get(M + "/quarantine").ok().json["quarantine"]], ["spam"])
    client.delete(M + "/documents/x?source=stranger").ok(202)
    equal(ids(client), ["x"], "nor do they forget")
    client.post(M + "/documents/x/label?source=stranger", {"label": "spam"}).ok(202)
    client.post(M + "/quarantine/apply", {"all": True}).ok()
    equal(client.get(M + "/documents/x").ok().json["label"], "spam")


def test_words_that_are_not_kept(api):
    """With keep_words = no the history has no words either; a label by the id works as long as that holds."""
    config = {"store": {"keep_words": "no"}}
    daemon = api.another(config=config).start()
    client = filled(daemon.client)
    remember(client, "cheap cheap unmistakable", id="x")
    equal(len(rows(client)), 1)
    found = client.get(M + "/history/x?explain=5").ok().json["now"]["explanation"]
    holds(all(row["token"] is None or row["token"].startswith("#") for row in found), found)
    daemon.stop()
    with open(os.path.join(daemon.data, "data.mdb"), "rb") as file:
        holds(b"unmistakable" not in file.read(), "the word is in the store")
    daemon = api.another(data=daemon.data).start()  # words are kept now, and this one was not
    refused(label(daemon.client, "x", "spam"), 409, "words")
    daemon.stop()
    client = api.another(data=daemon.data, config=config).start().client
    equal(label(client, "x", "spam").ok().json["status"], "learned")
    equal(client.post(M + "/classify", {"text": "unmistakable"}).ok().json["label"], "spam")


def test_many_threads_and_labels_at_once(api):
    """Verdicts are remembered, read and labelled by many at once; each ends with one label."""
    daemon = started(api)
    failed = []

    def work(k):
        client = daemon.new_client()
        try:
            for i in range(60):
                remember(client, f"cheap {k} {i}", id=f"{k}-{i}")
                if i % 3 == 0:
                    label(client, f"{k}-{i}", "spam").ok()
                if i % 20 == 0:
                    client.get(M + "/history?limit=20").ok()
                    client.get(M + "/next?count=5").ok()
        except Exception as error:  # told by the test's thread
            failed.append(error)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(failed, [])
    equal(daemon.client.get(M).ok().json["documents"], 2 + 6 * 20)
    equal(len(rows(daemon.client, "?limit=1000")), 100)


def test_exports_and_other_models(api):
    """A dump has documents alone, and a model that is deleted takes its history along."""
    client = started(api).client
    remember(client, "a text that nobody has labelled", id="x")
    dump = client.get(M + "/export").ok().body
    holds(b"nobody" not in dump, "the history is in the dump")
    client.put("/v1/models/n/import", dump, kind="application/x-ndjson").ok(201)
    equal(rows(client, path="/v1/models/n"), [])
    equal(client.get("/v1/models/n").ok().json["settings"]["history"], 100)
    client.put(M + "/import", dump, kind="application/x-ndjson").ok()
    equal(rows(client), [])
    remember(client, "another", id="y")
    client.delete(M).ok(204)
    filled(client)
    equal(rows(client), [])
    refused(label(client, "y", "spam"), 404, "y")


def test_bounded_memory(api):
    """A flood of verdicts is kept as far as there is room; the reply says which are not."""
    client = started(api).client
    line = json.dumps({"text": " ".join(f"word{i}" for i in range(3000))}) + "\n"
    got = client.post(M + "/classify?remember=1", line * 2000, kind="application/x-ndjson").ok().lines
    kept = sum(row["remembered"] for row in got)
    holds(kept >= 100, f"only {kept} of 2,000 were kept")
    equal(metric(client, "bayesd_history_remembered_total"), kept)
    equal(metric(client, "bayesd_history_dropped_total"), 2000 - kept)
    equal(len(ids(client)), 1, "one document")


# ---- access -------------------------------------------------------------------------------------
def test_roles(api):
    """Who may only classify remembers, and does not read what others have asked."""
    folder = api.new_folder()
    tokens = {role: new_token(api, folder, "the-" + role, role) for role in ("classify", "train", "admin")}
    daemon = api.another(data=folder).start()

    def call(role, method, path, body=None):
        return daemon.client.call(method, path, body, **bearer(tokens[role]))
    call("admin", "PUT", M, SETTINGS).ok(201)
    call("train", "POST", M + "/train", {"label": "spam", "text": "cheap"}).ok()
    equal(call("classify", "POST", M + "/classify?remember=1", {"text": "cheap", "id": "a"}).ok().json["remembered"], True)
    for method, path, body in (("GET", "/history", None), ("GET", "/next", None), ("GET", "/history/a", None),
                               ("POST", "/documents/a/label", {"label": "spam"}), ("DELETE", "/documents/a", None)):
        equal(call("classify", method, M + path, body).status, 403, path)
        equal(call("train", method, M + path, body).status, 200, path)


def test_a_smaller_history_holds_at_once(api):
    """What the setting leaves out is not listed, found, labelled or proposed, though it is not removed yet."""
    client = started(api).client
    for i in range(6):
        remember(client, "the report", id=f"id{i}")
    equal(len(rows(client)), 6)
    client.put(M, {**SETTINGS, "history": 2}).ok(200)
    equal(ids(client), ["id5", "id4"])
    equal({row["id"] for row in client.get(M + "/next").ok().json["next"]}, {"id5", "id4"})
    for id, status in (("id3", 404), ("id4", 200)):
        equal(client.get(f"{M}/history/{id}").status, status, id)
        equal(label(client, id, "ham").status, status, id)


# ---- damage -------------------------------------------------------------------------------------
def with_damage(api, daemon, table, index):
    """The daemon again, after some bytes of a value of the table were changed while it was stopped."""
    daemon.stop()
    path = os.path.join(daemon.data, "data.mdb")
    place = [p for p in places_of(path) if (p.kind, p.table) == ("value", table)][index]
    with open(path, "r+b") as file:
        file.seek(place.at + place.length // 2)
        found = file.read(3)
        file.seek(-len(found), 1)
        file.write(bytes(byte ^ 0x55 for byte in found))
    return api.another(data=daemon.data).start()


def test_a_damaged_verdict(api):
    """The history goes when the next verdict is kept, wherever the damaged one stands in it."""
    daemon = started(api)
    for id in ("one", "two", "three"):
        remember(daemon.client, "the report", id=id)
    client = with_damage(api, daemon, "history", 1).client
    for path in ("/history", "/next"):
        refused(client.get(M + path), 503, "the history of the model is damaged", "next verdict")
    remember(client, "the report", id="four")
    remember(client, "the report", id="five")
    equal(ids(client), ["five", "four"])
    equal(label(client, "four", "ham").ok().json["status"], "learned")
    equal(client.get("/readyz").status, 200)


def test_a_damaged_number_of_a_verdict(api):
    """A verdict whose record cannot be found keeps no other verdict from being written."""
    daemon = started(api)
    filled(daemon.client, "/v1/models/other")
    for id in ("one", "two", "three"):
        remember(daemon.client, "the report", id=id)
    daemon = with_damage(api, daemon, "history_ids", 0)  # of the id that sorts first
    remember(daemon.client, "the report", id="one")
    remember(daemon.client, "the report", "/v1/models/other", id="one")
    equal(ids(daemon.client), ["one"])
    equal(ids(daemon.client, path="/v1/models/other"), ["one"])
    daemon.stop()
    daemon.start()
    equal(ids(daemon.client, path="/v1/models/other"), ["one"])


def test_a_damaged_document_is_no_damage_of_the_history(api):
    """Damage of what is learned is told as what it is."""
    daemon = started(api)
    for id in ("one", "two"):
        daemon.client.post(M + "/train", {"text": f"the report {id}", "id": id, "label": None}).ok()
    client = with_damage(api, daemon, "ledger", -1).client
    refused(client.get(M + "/next"), 503, "the model 'm' is damaged")
