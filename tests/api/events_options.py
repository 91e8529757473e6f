# SPDX-License-Identifier: Apache-2.0
"""What each option of [events] does."""
import random

import receiver as receivers
import test_drift as drifting
import test_events as events
import test_suspects as suspecting
from authority import Authority
from harness import equal, holds, wait_for
from receiver import Receiver

M = "/v1/models/m"


def events_url(api):
    with Receiver() as first, Receiver() as second:
        for receiver, path in ((first, "/hook"), (second, "/a/b/?token=1"), (second, "/a/")):
            receiver.events.clear()
            url = receiver.url.replace("/hook", path)
            events.unsure(events.taught(api.another(config={"events": receivers.options(api, url)}).start()))
            equal(receiver.wait(1)[0].path, path)


def events_secret_file(api):
    with Receiver() as receiver:
        options = receivers.options(api, receiver.url)
        with open(options["secret_file"], "w", encoding="ascii") as file:
            file.write("whsec_" + "QUJD" * 8 + "\n")
        events.unsure(events.taught(api.another(config={"events": options}).start()))
        receiver.wait(1)[0].check(b"ABC" * 8)


def events_types(api):
    with Receiver() as receiver:
        for types, want in (("model.quarantine", ["model.quarantine"]), ("verdict.unsure", ["verdict.unsure"]),
                            ("", []), ("model.quarantine, verdict.unsure", ["model.quarantine", "verdict.unsure"])):
            receiver.events.clear()
            daemon = receivers.daemon(api, receiver, {"models": {"quarantine": "stranger"}}, types=types)
            client = events.taught(daemon)
            client.post(M + "/train?source=stranger", {"text": "a", "label": "spam", "id": "q"}).ok(202)
            events.unsure(client)
            if want:
                receiver.wait(len(want))
            daemon.stop()
            equal(sorted(event.type for event in receiver.events), want, types)


def events_tls_ca(api):
    authority = Authority(api.new_folder())
    with Receiver(authority.sign("receiver")) as receiver:
        trusting = receivers.daemon(api, receiver, tls_ca=authority.certificate)
        events.unsure(events.taught(trusting))
        receiver.wait(1)
        other = receivers.daemon(api, receiver, retries=0)
        events.unsure(events.taught(other))
        wait_for(lambda: events.total(other, "given_up") == 1, "a certificate of an unknown authority is refused")
        equal(len(receiver.events), 1)


def events_timeout(api):
    with Receiver() as receiver:
        receiver.status = lambda event: None
        for seconds, fails in ((30, False), (1, True)):
            daemon = receivers.daemon(api, receiver, timeout=seconds, retries=0)
            events.unsure(events.taught(daemon))
            if fails:
                wait_for(lambda: events.total(daemon, "given_up") == 1, "the attempt is over")
            else:
                receiver.wait(1)
                equal(events.metric(daemon, "bayesd_events_failures_total"), 0)
            daemon.signal(9)
            daemon.wait()


def events_retries(api):
    with Receiver() as receiver:
        receiver.status = lambda event: 503
        for retries in (0, 2):
            receiver.events.clear()
            daemon = receivers.daemon(api, receiver, retries=retries, retry_seconds_most=1)
            events.unsure(events.taught(daemon))
            wait_for(lambda: events.total(daemon, "given_up") == 1, "it is given up")
            equal(len(receiver.events), retries + 1)


def pauses(api, count, **options):
    """Seconds between the attempts."""
    with Receiver() as receiver:
        receiver.status = lambda event: 500
        daemon = receivers.daemon(api, receiver, **options)
        events.unsure(events.taught(daemon))
        times = [event.at for event in receiver.wait(count)]
        receiver.status = lambda event: 200
        return [b - a for a, b in zip(times, times[1:])]


def events_retry_seconds(api):
    first, second = pauses(api, 3, retry_seconds=1, retry_seconds_most=100)
    holds(first > 0.9 and second > 1.9, (first, second))
    holds(pauses(api, 2, retry_seconds=3, retry_seconds_most=100)[0] > 2.9, "the first pause")


def events_retry_seconds_most(api):
    holds(pauses(api, 2, retry_seconds=1000, retry_seconds_most=1)[0] > 0.9, "else it would take a quarter of an hour")


def events_queue(api):
    with Receiver() as receiver:
        receiver.status = lambda event: 500
        for most in (2, 4):
            daemon = receivers.daemon(api, receiver, queue=most, retry_seconds=3600, retry_seconds_most=3600)
            client = events.taught(daemon)
            for i in range(6):
                events.unsure(client, str(i))
            wait_for(lambda: events.total(daemon, "dropped") == 6 - most and events.metric(daemon, "bayesd_events_waiting") == most,
                     "the bound holds")


def events_unsure_per_minute(api):
    with Receiver() as receiver:
        for most in (2, 100):
            receiver.events.clear()
            daemon = receivers.daemon(api, receiver, unsure_per_minute=most)
            client = events.taught(daemon)
            for i in range(10):
                events.unsure(client, str(i))
            daemon.client.get("/healthz").ok()
            sent = wait_for(lambda: (n := events.total(daemon, "sent")) >= min(most, 10) and n, "they are sent")
            # A minute may end in between.
            holds(sent == 10 if most > 10 else sent in (2, 4), sent)
            equal(sent + events.total(daemon, "over_rate"), 10)


def events_drift(api):
    with Receiver() as receiver:
        for bound, count in ((0.99, 0), (0.1, 1)):
            client, rng = events.taught(receivers.daemon(api, receiver, drift=bound, types="model.drift")), random.Random(3)
            client.put(M, {"preset": "book", "ready_documents": 1}).ok()
            for _ in range(10):
                for label, words in drifting.WORDS.items():
                    client.post(M + "/train", {"label": label, "text": " ".join(rng.choices(words, k=20))}).ok()
            drifting.judge(client, rng, 1000, 0.1)
            drifting.judge(client, rng, 1000, 0.6)
            holds(0.1 < client.get(M).ok().json["drift"]["distance"] < 0.99, "it drifts")
            receiver.wait(count)
        equal(receiver.events[0].data["bound"], 0.1)


def events_suspects(api):
    with Receiver() as receiver:
        for bound, count in ((1000, 0), (1, 1)):
            client = receivers.daemon(api, receiver, suspects=bound).client
            suspecting.taught(client, ("spam", "ham"))
            holds(client.get(M + "/suspects").ok().json["likely"] > 1, "suspects")
            receiver.wait(count)
        equal([event.data["bound"] for event in receiver.events], [1])


def events_look_seconds(api):
    with Receiver() as receiver:
        for seconds, count in ((86400, 0), (1, 1)):
            receiver.events.clear()
            daemon = receivers.daemon(api, receiver, {"models": {"quarantine": "http"}}, look_seconds=seconds)
            wait_for(lambda: events.metric(daemon, "bayesd_events_waiting") == 0, "the first look")
            client = daemon.client
            client.put(M, {"preset": "text"}).ok(201)
            client.post(M + "/train", {"text": "a", "label": "spam", "id": "q"}).ok(202)
            receiver.wait(count)
            daemon.stop()
            equal(len(receiver.events), count, seconds)
