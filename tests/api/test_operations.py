# SPDX-License-Identifier: Apache-2.0
"""What operators look at: health, readiness, metrics."""
import os
import time

from book import Model
from harness import equal, holds, near, quoted, slow, wait_for
from prometheus import parse

VALGRIND = True


def page(api):
    reply = api.get("/metrics").ok()
    kind = reply.headers["content-type"]
    holds(kind.startswith("text/plain") and "version=0.0.4" in kind, kind)
    return parse(reply.body.decode())


def test_health_and_readiness(api):
    api.get("/healthz").ok()
    api.get("/readyz").ok()


def test_metrics_are_well_formed(api):
    with Model(api) as model:
        model.filled()
        api.get("/nothing")
        api.get("/v1/models/" + quoted('odd"name\\'))
        metrics = page(api)
        for name in ("bayesd_http_requests_total", "bayesd_http_request_seconds", "bayesd_changes_total", "bayesd_models",
                     "bayesd_documents", "bayesd_vocabulary", "bayesd_model_memory_bytes", "bayesd_commits_total",
                     "bayesd_commit_seconds_total", "bayesd_commit_changes_total", "bayesd_queued_changes",
                     "bayesd_store_bytes", "bayesd_disk_bytes", "bayesd_disk_free_bytes", "bayesd_info", "bayesd_filter_mails_total", "bayesd_verdicts_total",
                     "process_start_time_seconds", "process_resident_memory_bytes"):
            holds(name in metrics.families, f"no {name}")


def test_traffic_of_the_last_day(api):
    daemon = api.another().start()
    daemon.client.post("/v1/models/m/train", {"documents": [{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]}).ok()
    daemon.client.post("/v1/models/m/classify", {"documents": [{"text": "a"}] * 5}).ok()
    def total():
        found = daemon.client.get("/v1/traffic").ok().json
        equal((len(found["verdicts"]), found["seconds"]), (144, 600), "a day")
        return sum(found["verdicts"])
    equal(total(), 5)
    equal(sum(daemon.client.get("/v1/traffic").ok().json["verdicts"][-2:]), 5, "now")
    daemon.stop()
    daemon.start()
    equal(total(), 5, "after a restart")
    daemon.client.post("/v1/models/m/classify", {"text": "a"}).ok()
    equal(total(), 6)


def test_free_disk(api):
    """What the system says of the file system of the data directory."""
    daemon = api.another().start()
    metrics = parse(daemon.client.get("/metrics").ok().body.decode())
    system = os.statvfs(daemon.data)
    equal(metrics.value("bayesd_disk_bytes"), system.f_blocks * system.f_frsize)
    near(metrics.value("bayesd_disk_free_bytes") / metrics.value("bayesd_disk_bytes"), system.f_bavail / system.f_blocks, "free", 0.05)


def test_routes_not_paths_are_counted(api):
    """However many models and ids are asked for, the page does not grow."""
    def series():
        return sum(len(family.samples) for family in page(api).families.values())
    with Model(api) as model:
        model.filled()
        for round in range(2):
            for i in range(30):
                api.get(f"{model.path}/documents/{round}-{i}")
                api.get(f"/v1/models/none-{round}-{i}")
                api.get(f"/nothing/{round}/{i}")
            api.call(f"METHOD{round}", "/healthz")
            page(api)
            if round == 0:
                before = series()
        equal(series(), before)


def settled(api, name, want, **labels):
    """A request is counted when its reply has been sent, which may be a moment after we read it."""
    wait_for(lambda: page(api).sum(name, **labels) == want, f"{name} {labels} is {want}: "
             f"{page(api).sum(name, **labels)}", 5)


def test_requests_are_counted(api):
    with Model(api) as model:
        model.filled()
        route = "/v1/models/{model}/classify"
        before = page(api)
        for _ in range(5):
            model.classify("win")
        model.post("classify", {"txet": "x"})
        model.post("classify", "x", "application/xml")
        name = "bayesd_http_requests_total"
        for status, count in (("200", 5), ("400", 1), ("415", 1)):
            settled(api, name, before.sum(name, route=route, status=status) + count, route=route, status=status)
        settled(api, "bayesd_http_request_seconds_count", before.sum("bayesd_http_request_seconds_count", route=route) + 7,
                route=route)
        equal(page(api).sum(name, route="/healthz"), before.sum(name, route="/healthz"))


def test_every_status_is_counted_by_its_number(api):
    """Those of openapi.json that not every client gets, too: what waits in quarantine (202), what rspamd's clients
    have taught already (208)."""
    daemon = api.another(config={"models": {"quarantine": "web"}}).start()
    mail, name = "Subject: hello\n\nsome words\n", "bayesd_http_requests_total"
    for status in (200, 208):
        daemon.client.post("/learnham", mail, "message/rfc822").ok(status)
    daemon.client.post("/v1/models/mail/train?label=ham&source=web", "more words", "text/plain").ok(202)
    for status, route in (("208", "/learnham"), ("202", "/v1/models/{model}/train")):
        wait_for(lambda: parse(daemon.client.get("/metrics").ok().body.decode()).sum(name, route=route, status=status) == 1,
                 f"{route} is counted with {status}", 1)
    daemon.stop()


def test_changes_are_counted(api):
    with Model(api) as model:
        model.filled()
        before = page(api)
        model.train("one", "a", id="1")
        model.train("one", "a", id="1")
        model.train("one", "b", id="1")
        model.train("two words", "b", id="1")
        model.post("train", {"documents": [{"text": f"w{i}", "label": "a"} for i in range(10)]}).ok()
        model.untrain(id="1")
        model.post("untrain", {"id": "none"})
        after = page(api)

        def grown(name, **labels):
            return after.value(name, **labels) - before.value(name, **labels)
        for status, count in (("learned", 11), ("unchanged", 1), ("relabelled", 1), ("updated", 1), ("forgotten", 1), ("failed", 1)):
            equal(grown("bayesd_changes_total", status=status), count, status)
        equal(grown("bayesd_documents"), 10)
        equal(grown("bayesd_vocabulary"), 10)
        holds(1 <= grown("bayesd_commits_total") <= 16, grown("bayesd_commits_total"))
        holds(grown("bayesd_commit_changes_total") >= 14, grown("bayesd_commit_changes_total"))
        holds(grown("bayesd_commit_seconds_total") > 0, "commits take no time")
        holds(grown("bayesd_store_bytes") >= 0, "store")
        equal(after.value("bayesd_queued_changes"), 0)


def test_models_are_counted(api):
    before = page(api).value("bayesd_models")
    with Model(api):
        equal(page(api).value("bayesd_models"), before + 1)
    equal(page(api).value("bayesd_models"), before)


def test_process_numbers(api):
    metrics = page(api)
    holds(abs(metrics.value("process_start_time_seconds") - time.time()) < 3600, "start time")
    memory = metrics.value("process_resident_memory_bytes")
    if hasattr(api.daemon, "memory") and slow() == 1:
        holds(0.5 < memory / api.daemon.memory()[0] < 2, memory)
    holds(memory > 1 << 20, memory)


def test_bytes_are_counted(api):
    with Model(api) as model:
        model.filled()
        before = page(api).value("bayesd_http_received_bytes_total")
        model.post("classify", "x" * 100000, "text/plain").ok()
        wait_for(lambda: page(api).value("bayesd_http_received_bytes_total") >= before + 100000, "received bytes", 5)


def test_replies_name_their_type_and_length(api):
    with Model(api) as model:
        model.filled()
        reply = model.post("classify", {"text": "win"})
        holds(reply.headers["content-type"].startswith("application/json"), reply.headers)
        equal(int(reply.headers["content-length"]), len(reply.body))
