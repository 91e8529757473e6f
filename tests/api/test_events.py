# SPDX-License-Identifier: Apache-2.0
"""Events: each kind comes once when it begins, signed, without any text; a receiver that fails, hangs or is away gets it later
and holds nobody up; the queue and the rate are bounded; nothing is sent unless it is asked for."""
import json
import random
import threading
import time

import receiver as receivers
import test_drift as drifting
import test_suspects as suspecting
from harness import equal, holds, patience, refused, wait_for
from prometheus import parse
from receiver import Receiver

M = "/v1/models/m"
QUARANTINE = {"models": {"quarantine": "http"}}
UNSURE = "?threshold=0.9999&"


def metric(daemon, name, **labels):
    return parse(daemon.client.get("/metrics").ok().body.decode()).value(name, **labels)


def total(daemon, status, kind="verdict.unsure"):
    return metric(daemon, "bayesd_events_total", type=kind, status=status)


def taught(daemon):
    for label, text in (("spam", "cheap pills win"), ("ham", "lunch in the garden")):
        for i in range(10):
            daemon.client.post(M + "/train", {"label": label, "text": f"{text} {i}", "id": f"{label}{i}"}).ok()
    return daemon.client


def unsure(client, id="doubt", **more):
    reply = client.post(M + "/classify" + UNSURE, {"text": "pills in the garden", "id": id, **more}).ok().json
    equal(reply["decision"], "unsure")
    return reply


def test_an_unsure_verdict(api):
    with Receiver() as receiver:
        daemon = receivers.daemon(api, receiver)
        client = taught(daemon)
        client.post(M + "/classify?threshold=0.5", {"text": "cheap pills win", "id": "sure"}).ok()
        client.post(M + "/classify", {"text": "pills in the garden", "id": "undecided"}).ok()
        reply = unsure(client)
        event, = receiver.wait(1)
        event.check()
        equal((event.type, event.path), ("verdict.unsure", "/hook"))
        equal(event.data, {"model": "m", "id": "doubt", "label": reply["label"], "probability": event.data["probability"],
                           "protocol": "http"})
        holds(abs(event.data["probability"] - reply["probability"]) < 1e-12, event.data)
        mail = "Message-ID: <x7@shop.example>\r\nSubject: pills\r\n\r\nin the garden"
        client.post(M + "/classify" + UNSURE, mail, kind="message/rfc822").ok()
        client.post(M + "/classify" + UNSURE, json.dumps({"text": "pills garden", "id": "line"}) + "\n", kind="application/x-ndjson").ok()
        _, second, third = receiver.wait(3)
        equal(second.data["message_id"], "x7@shop.example")
        equal(third.data["id"], "line")
        holds(b"garden" not in b"".join(e.body for e in receiver.events), "a text is sent")
        equal(len({e.id for e in receiver.events}), 3, "ids")
        equal(wait_for(lambda: total(daemon, "sent"), "it is counted"), 3)
        equal(metric(daemon, "bayesd_events_waiting"), 0)


def test_an_unsure_verdict_that_is_remembered_has_the_id_by_which_it_is_labelled(api):
    with Receiver() as receiver:
        client = taught(receivers.daemon(api, receiver))
        settings = client.get(M).ok().json["settings"]
        client.put(M, {**settings, "history": 100}).ok()
        client.post(M + "/classify" + UNSURE + "remember=1", {"text": "pills in the garden"}).ok()
        event, = receiver.wait(1)
        client.post(f"{M}/documents/{event.data['id']}/label", {"label": "ham"}).ok()


def test_an_unsure_mail_of_a_filter(api):
    with Receiver() as receiver:
        daemon = receivers.daemon(api, receiver, {"filter": {"unsure": 0.0, "add_header": 0.99999, "reject": 0.999999,
                                                             "rewrite_subject": 0.999999, "model": "m"}})
        daemon.client.post("/checkv2", "Subject: before\n\nany").ok()  # nothing learned: that is no verdict
        taught(daemon)
        daemon.client.post("/checkv2", "Message-ID: <m1@x.example>\nSubject: a\n\npills in the garden").ok()
        event, = receiver.wait(1)
        event.check()
        equal({**event.data, "probability": 0}, {"model": "m", "message_id": "m1@x.example", "probability": 0, "protocol": "rspamd"})


def test_drift(api):
    with Receiver() as receiver:
        client = taught(receivers.daemon(api, receiver))
        client.put(M, {"preset": "book", "ready_documents": 1}).ok()
        rng = random.Random(3)
        for i in range(10):
            for label, words in drifting.WORDS.items():
                client.post(M + "/train", {"label": label, "text": " ".join(rng.choices(words, k=20))}).ok()
        drifting.judge(client, rng, 4000, 0.5)
        time.sleep(2)
        equal(receiver.events, [])
        drifting.judge(client, rng, 1000, 0.9)
        event, = receiver.wait(1)
        event.check()
        found = client.get(M).ok().json["drift"]
        equal(event.type, "model.drift")
        equal(set(event.data), {"model", "distance", "p", "recent", "before", "bound"})
        equal((event.data["model"], event.data["bound"], event.data["recent"]), ("m", 0.25, 1000))
        holds(0.25 < event.data["distance"] <= found["distance"] + 1e-9, event.data)
        time.sleep(2)
        equal(len(receiver.events), 1, "it is told once")
        drifting.judge(client, rng, 4000, 0.9)
        holds(client.get(M).ok().json["drift"]["distance"] < 0.25, "it is over")
        time.sleep(2)
        drifting.judge(client, rng, 1000, 0.1)
        receiver.wait(2, "it begins again")


def test_a_quarantine(api):
    with Receiver() as receiver:
        daemon = receivers.daemon(api, receiver, QUARANTINE)
        client = daemon.client
        client.put(M, {"preset": "text"}).ok(201)
        client.put("/v1/models/other", {"preset": "text"}).ok(201)
        client.post(M + "/train", {"label": "spam", "text": "a secret", "id": "x"}).ok(202)
        event, = receiver.wait(1)
        event.check()
        equal((event.type, event.data), ("model.quarantine", {"model": "m", "documents": 1}))
        client.post(M + "/train", {"label": "spam", "text": "another", "id": "y"}).ok(202)
        time.sleep(2)
        equal(len(receiver.events), 1, "it was not empty before")
        client.post(M + "/quarantine/drop", {"all": True}).ok()
        time.sleep(2)
        client.post(M + "/train", {"label": "spam", "text": "third", "id": "z"}).ok(202)
        equal(receiver.wait(2, "it fills again")[1].data["documents"], 1)
        daemon.stop()
        daemon.start()
        equal(receiver.wait(3, "a restart tells what waits")[2].data, {"model": "m", "documents": 1})


def test_suspects(api):
    with Receiver() as receiver:
        client = receivers.daemon(api, receiver, suspects=3).client
        suspecting.taught(client, ("spam", "ham"))
        time.sleep(2)
        equal(receiver.events, [], "nobody has asked")
        likely = client.get(M + "/suspects").ok().json["likely"]
        holds(likely > 3, likely)
        event, = receiver.wait(1)
        event.check()
        equal((event.type, event.data), ("model.suspects", {"model": "m", "documents": likely, "bound": 3}))


def test_off_by_default(api):
    with Receiver() as receiver:
        daemon = api.another(config=QUARANTINE).start()
        daemon.client.put(M, {"preset": "text"}).ok(201)
        daemon.client.post(M + "/train", {"label": "spam", "text": "a", "id": "x"}).ok(202)
        holds("bayesd_events" not in daemon.client.get("/metrics").ok().body.decode(), "metrics of events")
        equal(receiver.events, [])


def test_it_is_sent_again_after_a_failure(api):
    with Receiver() as receiver:
        answers = iter([500, 429, 302, 200])
        receiver.headers = {"Location": receiver.url + "/elsewhere"}
        receiver.status = lambda event: next(answers)
        daemon = receivers.daemon(api, receiver, retry_seconds_most=1)
        unsure(taught(daemon))
        events = receiver.wait(4, "four attempts")
        for event in events:
            event.check()
            equal((event.id, event.body, event.path), (events[0].id, events[0].body, "/hook"))
        equal(wait_for(lambda: total(daemon, "sent"), "it is sent"), 1)
        equal(metric(daemon, "bayesd_events_failures_total"), 3)
        lines = [line for line in daemon.heard() if "events are" in line]
        holds(len(lines) == 2 and "answers 500" in lines[0] and "delivered again" in lines[1], lines)
        holds(all("/hook" not in line for line in daemon.heard()), "a URL may have a secret")
        time.sleep(1)
        equal(len(receiver.events), 4)


def test_a_receiver_that_is_away(api):
    with Receiver() as gone:
        url = gone.url
    daemon = api.another(config={"events": receivers.options(api, url, retries=1)}).start()
    unsure(taught(daemon))
    wait_for(lambda: total(daemon, "given_up") == 1, "it is given up")
    equal(metric(daemon, "bayesd_events_failures_total"), 2)
    holds(any("not delivered: the receiver of [events]:" in line for line in daemon.heard()), daemon.output())


def test_a_receiver_that_hangs_holds_nobody_up_and_the_queue_is_bounded(api):
    with Receiver() as receiver:
        receiver.status = lambda event: None
        daemon = receivers.daemon(api, receiver, queue=5, timeout=30, unsure_per_minute=1000)
        client = taught(daemon)
        unsure(client, "first")
        receiver.wait(1)  # it hangs
        begin = time.monotonic()
        for i in range(20):
            unsure(client, f"x{i}")
        holds(time.monotonic() - begin < patience(2), "verdicts wait for the receiver")
        equal((total(daemon, "dropped"), metric(daemon, "bayesd_events_waiting")), (15, 5))
        daemon.signal(9)
        daemon.wait()


def test_the_oldest_go_first_when_the_queue_is_full(api):
    with Receiver() as receiver:
        receiver.status = lambda event: 500
        daemon = receivers.daemon(api, receiver, queue=3, retry_seconds=2, retry_seconds_most=2)
        client = taught(daemon)
        for i in range(6):
            unsure(client, f"x{i}")
        wait_for(lambda: total(daemon, "dropped") == 3, "three are dropped")
        receiver.status = lambda event: 200
        wait_for(lambda: total(daemon, "sent") == 3, "the others are sent")
        equal({e.data["id"] for e in receiver.events[-3:]}, {"x3", "x4", "x5"})


def test_a_stop_sends_what_waits(api):
    with Receiver() as receiver:
        receiver.status = lambda event: 500
        daemon = receivers.daemon(api, receiver, retry_seconds=3600, retry_seconds_most=3600)
        client = taught(daemon)
        unsure(client, "a")
        unsure(client, "b")
        receiver.wait(2)
        wait_for(lambda: metric(daemon, "bayesd_events_failures_total") == 2, "both have failed")
        receiver.status = lambda event: 200
        daemon.stop()
        equal([e.data["id"] for e in receiver.events[2:]], ["a", "b"])


def test_a_stop_does_not_wait_for_a_receiver_that_fails(api):
    with Receiver() as receiver:
        receiver.status = lambda event: None
        daemon = receivers.daemon(api, receiver, timeout=1, retry_seconds=3600, retry_seconds_most=3600)
        client = taught(daemon)
        for i in range(5):
            unsure(client, str(i))
        receiver.wait(1)
        begin = time.monotonic()
        daemon.stop()
        holds(time.monotonic() - begin < patience(4), "the stop")
        holds(any("events are lost at the stop count=5" in line for line in daemon.lines), daemon.output())


def test_many_threads(api):
    with Receiver() as receiver:
        daemon = receivers.daemon(api, receiver, unsure_per_minute=100000, queue=100000)
        taught(daemon)

        def ask(k):
            client = daemon.new_client()
            for i in range(50):
                unsure(client, f"{k}-{i}")
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal({e.data["id"] for e in receiver.wait(200)}, {f"{k}-{i}" for k in range(4) for i in range(50)})
        for event in receiver.events:
            event.check()
        daemon.stop()


def test_refusals(api):
    good = receivers.options(api, "http://127.0.0.1:9/")
    secret = good["secret_file"] + "2"
    with open(secret, "w", encoding="ascii") as file:
        file.write("whsec_c2hvcnQ=\n")
    for change, words in (({"url": "ftp://x/"}, ["[events] url", "http://"]), ({"secret_file": ""}, ["[events]", "secret_file"]),
                          ({"types": "verdict.unsure, model.gone"}, ["[events] types", "'model.gone'", "model.drift"]),
                          ({"secret_file": "/nowhere"}, ["[events] secret_file", "/nowhere"]),
                          ({"secret_file": secret}, ["[events] secret_file", "whsec_", "24 to 64"])):
        daemon = api.another(config={"events": {**good, **change}}).spawn()
        holds(daemon.wait(20) > 0, change)
        for word in words:
            holds(word in daemon.output(), (word, daemon.output()))
        holds("c2hvcnQ" not in daemon.output(), "the secret is shown")
