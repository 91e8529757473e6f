# SPDX-License-Identifier: Apache-2.0
"""Many models: those that nobody asks for take no memory, those that come and go stay exact."""
import re
import threading
from collections import Counter

from acknowledged import Acknowledged, models_of, path_of
from book import log_scores
from harness import equal, holds, near, refused, wait_for

COUNT = 300
SMALL = {"store": {"memory": "256K"}}


def metric(client, name):
    found = re.search(rf"^{name} ([\d.e+]+)$", client.get("/metrics").ok().body.decode(), re.M)
    holds(found, f"no metric {name}")
    return float(found[1])


def words(rng, count):
    return " ".join(f"w{int(60 * rng.random() ** 2)}" for _ in range(count))


def make_models(client, rng, known, count=COUNT):
    for i in range(count):
        known.train(client, f"user-{i:04}", [(str(k), "ab"[k % 2], words(rng, 20)) for k in range(4)])


# ---- the listing --------------------------------------------------------------------------------
def pages(client, limit):
    """All rows, page by page; each page's names come after those of the page before."""
    rows, after = [], ""
    for _ in range(COUNT + 2):
        reply = client.get(f"/v1/models?limit={limit}" + (f"&after={after}" if after else "")).ok().json
        holds(len(reply["models"]) <= limit, f"{len(reply['models'])} rows, asked for {limit}")
        if not reply["models"]:
            return rows
        names = [row["name"] for row in reply["models"]]
        holds(names == sorted(names) and names[0] > after, f"after {after!r} come {names[:3]}")
        rows, after = rows + reply["models"], names[-1]
    raise AssertionError("the pages never end")


def test_the_listing_has_pages(api):
    known, client = Acknowledged(), api.another().start().client
    make_models(client, api.random, known, 60)
    whole = list(models_of(client).values())
    equal(len(whole), 60)
    for limit in (1, 7, 59, 60, 61, 1000):
        equal(pages(client, limit), whole, f"pages of {limit}")
    equal(client.get("/v1/models?after=user-0058").ok().json["models"], whole[59:])
    equal(client.get("/v1/models?after=user-0005x&limit=1").ok().json["models"], whole[6:7], "after a name that is none")
    for query in ("limit=x", "limit=-1", "after=user-0001&after=user-0002"):
        refused(client.get("/v1/models?" + query), 400)


def test_a_model_that_nobody_asks_for_is_not_loaded(api):
    daemon, known = api.another().start(), Acknowledged()
    make_models(daemon.client, api.random, known)
    want = models_of(daemon.client)
    daemon.stop(seconds=30)
    daemon.start()
    equal(metric(daemon.client, "bayesd_models"), COUNT)
    equal(metric(daemon.client, "bayesd_models_loaded"), 0, "models in memory after a start")
    equal(models_of(daemon.client), want, "the listing after a start")
    equal(metric(daemon.client, "bayesd_models_loaded"), 0, "models in memory after a listing")
    for i in range(5):
        daemon.client.post(path_of(f"user-{i:04}") + "/classify", {"text": "w1"}).ok()
    equal(metric(daemon.client, "bayesd_models_loaded"), 5, "models in memory after five were asked")
    known.check(daemon.client)
    daemon.stop(seconds=30)


def test_models_that_are_saved_after_a_crash_do_not_stay_in_memory(api):
    """The writer loads them one by one, also without a setting `memory`. Who looks at the metrics has the model evaluated
    that is in memory at that moment, and it stays: so there are few looks, and all but some must be gone."""
    daemon, known = api.another().start(), Acknowledged()
    make_models(daemon.client, api.random, known)
    daemon.kill()
    daemon.start()
    wait_for(lambda: metric(daemon.client, "bayesd_replay_features") == 0, "all models are saved", seconds=30, pause=1)
    loaded = metric(daemon.client, "bayesd_models_loaded")
    holds(loaded <= COUNT // 2, f"{loaded:.0f} models of {COUNT} are in memory")
    known.check(daemon.client)


# ---- little memory ------------------------------------------------------------------------------
def test_memory_is_kept_whoever_asks(api):
    daemon, known = api.another(config=SMALL).start(), Acknowledged()
    make_models(daemon.client, api.random, known)
    for round_ in range(2):
        for i in range(COUNT):
            daemon.client.post(path_of(f"user-{i:04}") + "/classify", {"text": "w1 w2"}).ok()
        # Who asks does not wait for the writer, which drops models; on a busy machine it is some models behind.
        wait_for(lambda: metric(daemon.client, "bayesd_model_memory_bytes") <= 256 << 10,
                 f"round {round_}: 256K of models are allowed")
    known.check(daemon.client)
    daemon.stop(seconds=30)


def assert_scores(client, name, state, text):
    got = client.post(path_of(name) + "/classify", {"text": text}).ok().json["log_scores"]
    documents = [(label, Counter(words.split())) for label, words in state.values()]
    want = log_scores(documents, Counter(text.split()))
    equal(sorted(got), sorted(want), "labels")
    for label, score in want.items():
        near(got[label], score, f"{name}: {label} of {text!r}")


def test_a_model_that_comes_back_is_scored_as_it_is(api):
    """One thread serves, so that whatever it keeps of a model is that of the last request."""
    rng, known = api.random, Acknowledged()
    daemon = api.another(config={**SMALL, "server": {"threads": 1}}).start()
    client = daemon.client
    client.put(path_of("a"), {"decision": "bayes"}).ok(201)
    known.models["a"] = {}
    make_models(client, rng, known, 40)
    others = [name for name in known.models if name != "a"]
    for step in range(60):
        for _ in range(rng.randrange(1, 4)):
            known.train(client, "a", [(f"d{rng.randrange(12)}", rng.choice("xyz"), words(rng, rng.randrange(1, 15)))])
        if rng.random() < 0.7:
            assert_scores(client, "a", known.models["a"], words(rng, 6))
        if rng.random() < 0.6:
            for name in rng.sample(others, 30):  # these push the model out
                client.post(path_of(name) + "/classify", {"text": "w1"}).ok()
            if rng.random() < 0.5:
                assert_scores(client, "a", known.models["a"], words(rng, 6))
    known.check(client)
    daemon.stop(seconds=30)


def test_many_clients_within_little_memory(api):
    """Models are dropped and loaded while other threads train and classify them: every count is exact."""
    daemon, known, faults = api.another(config=SMALL).start(), Acknowledged(), []
    names = [f"m{i}" for i in range(24)]

    def work(number):
        rng, client = type(api.random)(f"{api.seed} {number}"), daemon.new_client()
        try:
            for step in range(120):
                name = names[rng.randrange(len(names) // 4) * 4 + number]  # each has models of its own
                known.train(client, name, [(f"{step}/{k}", "ab"[k % 2], words(rng, 150)) for k in range(2)])
                client.post(path_of(rng.choice(names)) + "/classify", {"text": words(rng, 5)})
                if rng.random() < 0.3:
                    known.untrain(client, name, f"{step}/1")
        except Exception as error:
            faults.append(error)
        finally:
            client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    known.check(daemon.client)
    daemon.kill()
    daemon.start()
    known.check(daemon.client)
    daemon.stop(seconds=30)
