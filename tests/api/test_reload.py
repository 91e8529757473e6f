# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: the configuration is read again. What is live holds at once, for the requests that come from then on;
what needs a restart says so; a mistake changes nothing; a request sees one configuration from its begin to its end."""
import gzip
import os
import re
import signal
import ssl
import threading
import time

import test_backup
import test_cluster
import test_undo
import tls
from harness import config_text, equal, holds, refused, wait_for
from test_configuration import (OUTSIDE, long_body, long_reply, mails_unread, outer_address, over_file, second_body,
                                spooled_by, statuses_outside, trickled)
from wire import Wire, request

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
T, U = "a-token-of-this-test", "another-token-of-it"
MAIL = "Subject: a\n\nb"
AGAIN, REFUSED, RESTART = "configuration read again", "configuration not read again", "restart needed"


def write(daemon, settings):
    """The file as a whole, as an editor or a configuration manager puts it there."""
    path = os.path.join(daemon.folder, "bayesd.conf")
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(settings if isinstance(settings, str) else config_text(settings))
    os.replace(path + ".new", path)


def said_since(daemon, before, *words):
    return [line for line in daemon.lines[before:] if any(word in line for word in words)]


def said(daemon, *words):
    return said_since(daemon, 0, *words)


def reload(daemon, settings):
    """Writes the file and has it read. Returns the lines that the daemon logs of it."""
    write(daemon, settings)
    before = len(said(daemon, AGAIN, REFUSED))
    told = len(daemon.lines)
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: len(said(daemon, AGAIN, REFUSED)) > before, "the configuration is read", 20)
    if AGAIN in said(daemon, AGAIN, REFUSED)[-1]:
        daemon.client.get("/healthz").ok()
    return daemon.lines[told:]


def started(api, **settings):
    return api.another(config={"log": {"level": "info"}} | settings).start()


def test_nothing_ends_and_nothing_is_lost(api):
    daemon = started(api)
    pid = daemon.pid
    daemon.client.post(M + "/train?label=a", "x y", "text/plain").ok()
    for _ in range(3):
        lines = reload(daemon, {"log": {"level": "info"}})
        holds(any("nothing to change" in line for line in lines), lines)
    holds(daemon.running() and daemon.pid == pid, "it has ended")
    equal(daemon.client.get(M).ok().json["documents"], 1)


# ---- what is live -------------------------------------------------------------------------------
def bearer(token):
    return {"Authorization": "Bearer " + token}


def hosts(daemon):
    return daemon.client.get("/v1/models", Host="bayes.example.org").status


def train_bytes(size):
    return lambda daemon: daemon.client.post(M + "/train?label=a", "x" * size, "text/plain").status


def line_bytes(daemon):
    rows = b'{"label": "a", "text": "%s"}\n' % (b"x" * 1500)
    return "error" in daemon.client.post(M + "/train", rows, NDJSON).ok().lines[0]


def unpacks(daemon):
    lines = gzip.compress(b'{"label": "a", "text": "x"}\n' + b"\n" * (20 << 20))
    return daemon.client.post(M + "/train", lines, NDJSON, Content_Encoding="gzip").status


def batch(daemon):
    return daemon.client.post(M + "/classify", {"documents": [{"text": "x"}] * 3}).status


def models_of_one_call(daemon):
    return daemon.client.post("/v1/classify", {"text": "x", "models": ["a", "b", "c"]}).status


NETWORK = "/v1/networks/n"
TWO = {"nodes": [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]},
                 {"name": "b", "states": ["x", "y"], "parents": ["a"], "table": [[0.5, 0.5]] * 2}]}


def puts_network(daemon):
    return daemon.client.put("/v1/networks/again", TWO).status


def asks_network(question):
    def ask(daemon):
        daemon.client.put(NETWORK, TWO)
        return daemon.client.post(NETWORK + "/query", question).status
    return ask


def learns_network(daemon):
    return daemon.client.post("/v1/networks/learned/learn", "a,b,c\nx,y,z\nu,v,w\nx,v,z\nu,y,z\n", "text/csv").status


def learned(daemon):
    daemon.client.post(M + "/train", {"documents": [{"text": "one two", "label": "a"}, {"text": "six ten", "label": "b"}]})


def rows(daemon):
    learned(daemon)
    return daemon.client.post(M + "/classify?explain=6", {"text": "one"}).status


def cells(daemon):
    learned(daemon)
    return len(daemon.client.get(M + "/vocabulary?label=a&limit=10").ok().json["tokens"])


def spools(daemon):
    learned(daemon)
    return spooled_by(daemon, daemon.data)


def unread(daemon):
    return mails_unread(daemon, 3)[2]


def report(daemon):
    return daemon.client.post("/checkv2", MAIL).ok().json


GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def trained(daemon):
    """A mail that the model calls spam with about 0.99."""
    client = daemon.client
    if client.get("/v1/models/mail").status == 404:
        for i in range(12):
            client.post("/learnspam", f"Subject: pills {i}\n\ncheap pills number {i}").ok()
            client.post("/learnham", f"Subject: garden {i}\n\nthe garden club meets {i}").ok()
    return client.post("/checkv2", "Subject: pills\n\ncheap pills").ok().json


def symbols(daemon):
    return sorted(name for name in trained(daemon)["symbols"])


def ham(daemon):
    trained(daemon)
    found = daemon.client.post("/checkv2", "Subject: garden\n\nthe garden club").ok().json["symbols"]
    return next(name for name in found if name in ("BAYES_UNSURE", "BAYES_HAM", "BAYES_SPAM"))


def action(daemon):
    return trained(daemon)["action"]


def rewritten(daemon):
    """The action of a mail with the test text that asks for a marked mail."""
    return daemon.client.post("/checkv2", f"Subject: a\n\nY{GTUBE[1:]}\n").ok().json["action"]


def spamd(daemon):
    mail = f"Subject: a\n\n{GTUBE}\n".encode()
    with Wire(daemon) as wire:
        wire.send(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(mail) + mail)
        return re.search(rb"/ ([0-9.]+)", wire.until(b"\r\n\r\n")).group(1)


def models(daemon):
    daemon.client.post("/learnspam", MAIL)
    return sorted(row["name"] for row in daemon.client.get("/v1/models").ok().json["models"])


def of_users(daemon):
    daemon.client.post("/learnspam", MAIL, **{"Deliver-To": "ann@example.org"})
    return "mail-ann@example.org" in models(daemon)


def parent_of_user(daemon):
    daemon.client.delete("/v1/models/mail-ann@example.org")
    daemon.client.post("/learnspam", MAIL, **{"Deliver-To": "ann@example.org"}).ok()
    return daemon.client.get("/v1/models/mail-ann@example.org").ok().json["settings"]["parent"]


def fields_of_users(daemon):
    reply = daemon.client.post("/checkv2", MAIL, **{"Deliver-To": "ann@example.org"}).ok().json
    return len(reply["milter"]["add_headers"])


def labels(daemon):
    daemon.client.post("/learnspam", MAIL)
    daemon.client.post("/learnham", "Subject: c\n\nd")
    return sorted(daemon.client.get("/v1/models/mail").ok().json["labels"])


def lines_of(daemon, method, path, body=None):
    """What is logged of a request: it is written before the next one of the connection begins."""
    before = len(daemon.heard())
    daemon.client.call(method, path, body).ok()
    daemon.client.get("/healthz").ok()
    return daemon.heard()[before:]


def logs_requests(daemon):
    return any("route=/v1/models" in line for line in lines_of(daemon, "GET", "/v1/models"))


def verdict_lines(daemon):
    return [line for line in lines_of(daemon, "POST", "/checkv2", MAIL) if "verdict" in line]


def first_of_line(daemon):
    before = len(daemon.heard())
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: len(daemon.lines) > before, "a line comes", 10)
    return daemon.lines[before][0]


def may(token):
    return lambda daemon: [daemon.client.call(method, M, body, **bearer(token)).status
                           for method, body in (("GET", None), ("PUT", {}))]


# group, key, the value before, the value after, what shows it, and what that shows before and after
def second_backup(api):
    def shows(daemon):
        big_once(api, daemon)
        with test_backup.slow_backup(daemon):
            status = daemon.client.post("/v1/backup").status
        wait_for(lambda: daemon.client.post("/v1/backup").status == 200, "the backup has ended")
        return status
    return shows


def backup_is_cut(api):
    def shows(daemon):
        big_once(api, daemon)
        with test_backup.slow_backup(daemon) as sock:
            return b"took too long" in test_backup.after_a_second(daemon, sock)
    return shows


def big_once(api, daemon):
    if daemon.client.get(test_backup.PATH).status == 404:
        test_backup.filled_to_be_big(api, daemon)


def clusters(daemon):
    test_cluster.wide(daemon.client, 300, 60)  # 6,000 words
    return daemon.client.post(test_cluster.M + "/cluster", {"clusters": 20, "restarts": 1}).status


def judged(daemon):
    model = "/v1/models/next"
    daemon.client.put(model, {"preset": "book"})
    for i, label in enumerate(("a", "b", None, None, None)):
        daemon.client.post(model + "/train", {"text": f"one two {label}", "label": label, "id": f"d{i}"})
    return daemon.client.get(model + "/next").ok().json["looked_at"]


def busy(path, token=None):
    """Whether the third of three requests is one too many."""
    headers = bearer(token) if token else {}
    return lambda d: [d.client.post(path, "a", "text/plain", **headers).status for _ in range(3)][-1] == 429


LIVE = (
    ("server", "rate_classify", "0", "2/hour", busy(M + "/tokenize"), False, True),
    ("server", "rate_train", "2/hour", "0", busy(M + "/train?label=a"), True, False),
    ("server", "hosts", "", "bayes.example.org", hosts, 403, 200),
    ("server", "body_bytes", "2K", "4K", train_bytes(3000), 413, 200),
    ("server", "line_bytes", "1K", "4K", line_bytes, True, False),
    ("server", "unpack_ratio", 2, 10000, unpacks, 413, 200),
    ("server", "batch_documents", 2, 3, batch, 413, 404),
    ("server", "classify_models", 2, 3, models_of_one_call, 413, 200),
    ("server", "listing_rows", 5, 6, rows, 400, 200),
    ("server", "listing_cells", 2, 1000, cells, 1, 4),
    ("server", "spool_memory", "4K", "512M", spools, 1, 0),
    ("server", "body_memory", "65M", "80M", lambda d: second_body(d, 62 << 20), 503, 200),
    ("server", "reply_memory", "16M", "32M", unread, False, True),
    ("server", "spool_bytes", "2M", "64M", lambda d: long_reply(d).status, 503, 200),
    ("tokens", "classify", f"{U}, {T}", U, may(T), [404, 403], [401, 401]),
    ("tokens", "admin", U, f"{U}, {T}", may(T), [401, 401], [404, 201]),
    ("networks", "table_cells", 5, 6, puts_network, 413, 201),
    ("networks", "factor_cells", 5, 100, asks_network({"of": ["b"]}), 413, 200),
    ("networks", "learn_values", 4, 6, asks_network({"samples": 3}), 413, 200),
    ("networks", "tests", 2, 3, learns_network, 413, 201),
    ("models", "cluster_memory", "1M", "64M", clusters, 413, 200),
    ("models", "next_documents", "1", "3", judged, 1, 3),
    ("models", "quarantine", "", "rspamd, http", lambda d: waits(d), 200, 202),
    ("filter", "model", "mail", "post", models, ["mail"], ["mail", "post"]),
    ("filter", "user_model", "", "mail-%u", of_users, False, True),
    ("filter", "user_parent", "", "post", parent_of_user, None, "post", {"user_model": "mail-%u"}),
    ("filter", "several_users", "mildest", "each", fields_of_users, 1, 2, {"user_model": "mail-%u"}),
    ("filter", "spam_labels", "spam", "junk", labels, ["ham", "spam"], ["ham", "junk"]),
    ("filter", "label_actions", "", "spam=reject", action, "add header", "reject"),
    ("filter", "ham_label", "ham", "good", labels, ["ham", "spam"], ["good", "spam"]),
    ("filter", "add_header", 1, 0.51, action, "no action", "add header"),
    ("filter", "rewrite_subject", 1, 0.5, action, "add header", "rewrite subject"),
    ("filter", "reject", 1, 0.51, action, "add header", "reject"),
    ("filter", "unsure", 0, 0.9, ham, "BAYES_UNSURE", "BAYES_HAM"),
    ("filter", "required_score", 15, 20, lambda d: report(d)["required_score"], 15, 20),
    ("filter", "spamd_required_score", 5, 8, spamd, b"5.0", b"8.0"),
    ("filter", "test_patterns", "no", "yes", rewritten, "no action", "add header"),
    ("filter", "evidence", 0, 3, lambda d: len(symbols(d)) > 1, False, True),
    ("log", "verdicts", "no", "yes", lambda d: len(verdict_lines(d)), 0, 1),
    ("log", "format", "text", "json", first_of_line, "b", "{"),
    ("log", "level", "info", "debug", logs_requests, False, True),
    ("log", "level", "debug", "info", logs_requests, True, False),
)


def one_option(api, row):
    group, key, old, new, shows, before, after, *beside = row  # what else the group has, if anything
    beside = beside[0] if beside else {}
    daemon = started(api, **{group: {key: old, **beside}})
    equal(shows(daemon), before, f"[{group}] {key} = {old}")
    lines = reload(daemon, {"log": {"level": "info"}} | {group: {key: new, **beside}})
    if (group, key, new) == ("log", "level", "debug"):
        holds(any('changed="[log] level"' in line for line in lines), lines)
    equal(shows(daemon), after, f"[{group}] {key} = {new}")
    daemon.stop()


def waits(daemon):
    daemon.client.put(M, {})
    return daemon.client.post(M + "/train", {"text": "x", "label": "a"}).status


BACKUPS = (
    ("store", "backups", 1, 2, second_backup, 503, 200),
    ("store", "backup_seconds", 1, 3600, backup_is_cut, True, False),
)


def restored(daemon):
    """Whether an undo finds the label that a document had, after all that is superfluous is dropped."""
    test_undo.relabelled(daemon)
    return test_undo.is_kept(daemon)


STATES = (
    ("store", "superseded_seconds", 0, 600, restored, False, True),
    ("store", "superseded_seconds", 600, 0, restored, True, False),
)


def test_live_options_of_undo(api):
    for row in STATES:
        one_option(api, row)


def test_live_options(api):
    for row in LIVE:
        one_option(api, row)


def test_live_options_of_backups(api):
    for group, key, old, new, shows, before, after in BACKUPS:
        one_option(api, (group, key, old, new, shows(api), before, after))


def table(api):
    """{(group, key): "reload" or "restart"}, from the manual, which is written from the option table."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "config", "README.md"), encoding="utf-8") as file:
        text = file.read()
    out, group = {}, None
    for line in text.splitlines():
        if line.startswith("### ["):
            group = line[5:-1]
        elif line.startswith("| `") and group:
            cells_ = [cell.strip() for cell in line.split(" | ")]
            out[group, cells_[0].strip("| `")] = cells_[3]
    holds(len(out) > 40, out)
    return out


def test_connections_per_address(api):
    if outer_address() is None:  # tests/unit/server/http/net holds what it means
        return
    daemon = api.another(config={"server": {**OUTSIDE, "connections_per_address": 0}}, listen=None).start()
    equal(statuses_outside(daemon, 4), [200] * 4)
    reload(daemon, {"server": {**OUTSIDE, "connections_per_address": 2}})
    wait_for(lambda: statuses_outside(daemon, 4) == [200] * 2 + [429] * 2, "two are allowed")
    reload(daemon, {"server": {**OUTSIDE, "connections_per_address": 0}})
    equal(statuses_outside(daemon, 4), [200] * 4)
    daemon.stop()


def test_deadlines(api):
    patient = {"timeout": 5, "head_seconds": 600, "body_rate": 0, "request_seconds": 600}
    head = b"GET /healthz HTTP/1.1\r\n", b"X: y\r\n", 0.1
    body = long_body(NDJSON), b"\n" * 100, 0.1
    daemon = started(api, server=patient)
    for option, value, what in (("head_seconds", 1, head), ("body_rate", "1M", body), ("request_seconds", 1, body)):
        equal(trickled(daemon, *what, seconds=3), "nothing", option)
        reload(daemon, {"server": {**patient, option: value}})
        equal(trickled(daemon, *what), 408, option)
        reload(daemon, {"server": patient})
    daemon.stop()


def test_tls(api):
    """What the next connections are offered and allowed; certificates themselves: test_tls."""
    folder = api.new_folder()
    authority = tls.Authority(folder)
    files = dict(zip(("certificate", "key"), authority.sign("first")), listen="127.0.0.1:0")
    mine = tls.context(authority, authority.sign("me", "clientAuth"))
    old = tls.context(authority, version=ssl.TLSVersion.TLSv1_2)
    daemon = started(api, tokens={"admin": T}, tls=files)

    def status(path, method="GET"):
        with tls.TlsWire(daemon, mine) as wire:
            wire.send(request(method, path))
            return wire.reply(method).status
    equal((status("/v1/models"), tls.refuses(daemon, old)), (401, False))
    for more, models, deleted, refuses in (
            ({"client_ca": authority.certificate}, 200, 403, False),
            ({"client_ca": authority.certificate, "client_role": "admin"}, 200, 404, False),
            ({"priorities": "SECURE128:-VERS-ALL:+VERS-TLS1.3"}, 401, 401, True), ({}, 401, 401, False)):
        write(daemon, {"log": {"level": "info"}, "tokens": {"admin": T}, "tls": files | more})
        before = len(said(daemon, AGAIN, REFUSED))
        daemon.signal(signal.SIGHUP)
        wait_for(lambda n=before: len(said(daemon, AGAIN, REFUSED)) > n, "the configuration is read", 20)
        equal((status("/v1/models"), status(M, "DELETE"), tls.refuses(daemon, old)), (models, deleted, refuses), more)
    daemon.stop()


def test_every_live_option_is_tested(api):
    tested = {row[:2] for row in LIVE + BACKUPS + STATES} | {("server", "insecure"), ("server", "stop_seconds"), ("server", "queue_changes"),
                                          ("tokens", "train"), ("tokens", "trusted"), ("filter", "subject"), ("server", "proxies"),
                                          ("server", "socket_users"), ("server", "rate_failures"), ("tokens", "file"), ("filter", "user_map"),
                                          ("server", "connections_per_address"), ("server", "head_seconds"),
                                          ("server", "body_rate"), ("server", "request_seconds"), ("tls", "certificate"),
                                          ("tls", "key"), ("tls", "priorities"), ("tls", "client_ca"), ("tls", "client_role"),
                                          ("http", "origins")}  # test_browser_origins
    equal({option for option, change in table(api).items() if change == "reload"} - tested, set())


def test_the_users(api):
    """A file that changed is read; one with a mistake leaves the old names in force."""
    path = os.path.join(api.new_folder(), "users")

    def write_users(text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    options = {"log": {"level": "info"}, "filter": {"user_model": "mail-%u", "user_map": path}}
    write_users("ann@example.org ann\n")
    daemon = started(api, **options)
    for text, want in ((None, "ann"), ("ann@example.org beth\n", "beth"), ("ann@example.org\n", "beth"), ("", "ann@example.org")):
        if text is not None:
            write_users(text)
            before = len(said(daemon, AGAIN, REFUSED))
            daemon.signal(signal.SIGHUP)
            wait_for(lambda n=before: len(said(daemon, AGAIN, REFUSED)) > n, "the users are read", 20)
        daemon.client.post("/learnspam", f"Subject: {text}\n\na mail\n", **{"Deliver-To": "ann@example.org"})
        learned = {name: daemon.client.get(f"/v1/models/{name}").json["labels"]["spam"]["documents"] for name in models(daemon)}
        holds(f"mail-{want}" in learned, learned)
    equal(learned, {"mail": 1, "mail-ann": 1, "mail-beth": 2, "mail-ann@example.org": 1})
    daemon.stop()


def test_the_rest_of_the_tokens(api):
    daemon = started(api, tokens={"admin": T, "trusted": "127.0.0.1"})
    equal(daemon.client.post("/checkv2", MAIL).status, 200)
    reload(daemon, {"log": {"level": "info"}, "tokens": {"admin": T, "train": U, "trusted": "192.0.2.1"}})
    equal(daemon.client.post("/checkv2", MAIL).status, 401)
    daemon.client.post(M + "/train?label=a", "x", "text/plain", **bearer(U)).ok()


def test_rate_failures(api):
    daemon = started(api, tokens={"admin": T}, server={"rate_failures": 0})
    wrong = busy(M + "/train?label=a", "not-" + T)
    equal(wrong(daemon), False)
    reload(daemon, {"log": {"level": "info"}, "tokens": {"admin": T}, "server": {"rate_failures": "2/hour"}})
    equal(wrong(daemon), True)


def test_proxies(api):
    tokens = {"admin": T, "trusted": "203.0.113.5"}
    daemon = started(api, tokens=tokens)
    for proxies, status in (("", 401), ("127.0.0.1", 200), ("192.0.2.1", 401)):
        reload(daemon, {"log": {"level": "info"}, "tokens": tokens, "server": {"proxies": proxies}})
        equal(daemon.client.post("/checkv2", MAIL, X_Forwarded_For="203.0.113.5").status, status, proxies)


def test_socket_users(api):
    path = os.path.join(api.new_folder(), "bayesd.sock")
    check = b"POST /checkv2 HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(MAIL), MAIL.encode())
    daemon = started(api, server={"socket": path}, tokens={"admin": T})
    for users, status in (("", b" 401 "), (os.geteuid(), b" 200 "), (54321, b" 401 ")):
        reload(daemon, {"log": {"level": "info"}, "server": {"socket": path, "socket_users": users}, "tokens": {"admin": T}})
        holds(status in over_file(path, check).split(b"\r\n")[0], users)


def test_subject(api):
    rewriting = {"rewrite_subject": 0.5}
    daemon = started(api, filter=rewriting | {"subject": "[one] %s"})
    trained(daemon)
    holds("[one] pills" in str(trained(daemon)), trained(daemon))
    reload(daemon, {"log": {"level": "info"}, "filter": rewriting | {"subject": "[two] %s"}})
    holds("[two] pills" in str(trained(daemon)), trained(daemon))


def test_stop_seconds(api):
    patient = {"timeout": 3600, "head_seconds": 3600}
    daemon = started(api, server={"stop_seconds": 3600, **patient})
    reload(daemon, {"log": {"level": "info"}, "server": {"stop_seconds": 0, **patient}})
    with Wire(daemon) as wire:
        wire.send(request("POST", M + "/train", {"text": "b", "label": "x"})[:-1])
        daemon.client.get("/healthz").ok()
        daemon.stop(seconds=20)


def test_queue_changes(api):
    """With room for one change, some of many at once are refused; with the new value none are."""
    daemon = started(api, server={"queue_changes": 1, "threads": 4}, store={"group_documents": 1})

    def refusals():
        wires = [Wire(daemon) for _ in range(24)]
        for i, wire in enumerate(wires):
            wire.send(request("POST", M + "/train", {"text": "a b", "label": "x", "id": f"q{i}{time.monotonic()}"}))
        replies = [wire.reply() for wire in wires]
        for wire in wires:
            wire.close()
        return sum(reply.status == 503 for reply in replies)
    wait_for(refusals, "some changes find the queue full", 20)
    reload(daemon, {"log": {"level": "info"}, "server": {"queue_changes": 1000, "threads": 4},
                    "store": {"group_documents": 1}})
    equal([refusals() for _ in range(5)], [0] * 5)


# ---- what is not --------------------------------------------------------------------------------
def test_what_needs_a_restart_says_so(api):
    daemon = started(api, server={"threads": 2})
    daemon.client.post(M + "/train?label=a", "x", "text/plain").ok()
    before = len(daemon.lines)
    reload(daemon, {"log": {"level": "info"}, "server": {"threads": 6, "timeout": 7, "listing_rows": 5},
                    "tokenizer": {"tokens": 1}})
    line = wait_for(lambda: said_since(daemon, before, RESTART), "it says so")[0]
    for name in ("[server] threads", "[server] timeout", "[tokenizer] tokens"):
        holds(name in line, line)
    holds("listing_rows" not in line, line)
    equal(len(daemon.client.post(M + "/tokenize", {"text": "a b c"}).ok().json["tokens"]), 3)
    refused(daemon.client.post(M + "/classify?explain=6", {"text": "a"}), 400, "explain")
    # It is told again until it is done: the file still differs.
    before = len(daemon.lines)
    reload(daemon, {"log": {"level": "info"}, "server": {"threads": 6}})
    wait_for(lambda: said_since(daemon, before, RESTART), "it says so again")


def test_options_of_the_command_line_stay(api):
    """--listen and --data of the start win over the file again: nothing differs."""
    daemon = started(api)
    elsewhere = {"log": {"level": "info"}, "server": {"listen": "127.0.0.1:1"}, "store": {"data": "/elsewhere"}}
    for _ in range(2):  # what the first had to say comes before the second
        reload(daemon, elsewhere)
    holds(not said(daemon, RESTART), daemon.lines)
    daemon.client.get("/healthz").ok()


# ---- mistakes -----------------------------------------------------------------------------------
MISTAKES = (
    ("[server]\nbody_bytes = 2K\nlisting_rows = none\n", "bayesd.conf:3: [server] listing_rows"),
    ("[server]\nbody_bytes = 2K\nbodies = 3\n", "bayesd.conf:3: [server] has no key"),
    ("[server]\nbody_bytes = 2K\n[tokens]\nadmin = short\n", "[tokens] admin: token 1"),
    ("[server]\nbody_bytes = 2K\n[filter]\nunsure = 0.95\n", "[filter] unsure"),
    ("[server]\nbody_bytes = 2K\n[filter]\nham_label = spam\n", "two labels"),
)


def test_a_mistake_changes_nothing(api):
    daemon = started(api, tokens={"admin": T})
    for text, words in MISTAKES:
        lines = reload(daemon, text)
        holds(any(REFUSED in line and words in line for line in lines), lines)
        holds(not any(T in line or "short" in line for line in daemon.lines), "a token is in the log")
        daemon.client.post(M + "/train?label=a", "x" * 4000, "text/plain", **bearer(T)).ok()
        equal(daemon.client.get(M).status, 401)


def test_a_file_that_is_gone_changes_nothing(api):
    daemon = started(api, tokens={"admin": T})
    os.remove(os.path.join(daemon.folder, "bayesd.conf"))
    daemon.signal(signal.SIGHUP)
    wait_for(lambda: said(daemon, REFUSED), "the log says so", 20)
    equal(daemon.client.get(M).status, 401)


def test_the_last_token_cannot_go_where_strangers_reach(api):
    daemon = api.another(config={"server": {"listen": "0.0.0.0:0"}, "tokens": {"admin": T}}, listen=None).start()
    lines = reload(daemon, {"server": {"listen": "0.0.0.0:0"}})
    holds(any(REFUSED in line and "[tokens]" in line for line in lines), lines)
    equal(daemon.client.get("/v1/models").status, 401)
    lines = reload(daemon, {"server": {"listen": "0.0.0.0:0", "insecure": "yes"}})  # a restart is asked for that, too
    holds(any(REFUSED in line and "restart" in line for line in lines), lines)
    equal(daemon.client.get("/v1/models").status, 401)


def test_a_file_without_tokens_opens_nothing(api):
    """Emptied, cut before or in the middle of its tokens, or without them on purpose: who asked for tokens goes on."""
    settings = {"log": {"level": "info"}, "server": {"body_bytes": "2K"}, "tokens": {"admin": T, "trusted": "127.0.0.1"}}
    daemon = started(api, **settings)
    whole = config_text(settings)
    daemon.client.post(M + "/train?label=a", "x", "text/plain", **bearer(T)).ok()
    for text in ("", "\n", "# tokens follow\n", "[tokens]\n", "[tokens]\nadmin =\n", whole[:whole.index("admin")],
                 whole[:whole.index("[tokens]")], "[server]\ninsecure = yes\n", "[tokens]\ntrusted = 127.0.0.1\n"):
        lines = reload(daemon, text)
        holds(any(REFUSED in line and "token" in line for line in lines), lines)
        equal(daemon.client.delete(M).status, 401)
        equal(train_bytes(3000)(daemon), 401)
        daemon.client.get(M, **bearer(T)).ok()
    reload(daemon, {**settings, "tokens": {"classify": U}})  # fewer rights are no danger
    equal(daemon.client.delete(M, **bearer(T)).status, 401)


def test_options_that_are_set_no_more(api):
    """A warning names them: the file may be half written."""
    daemon = started(api, server={"body_bytes": "2K", "hosts": "a.example", "threads": 2}, filter={"model": "other"})
    lines = reload(daemon, {"log": {"level": "info"}, "server": {"body_bytes": "3K"}})
    warned = [line for line in lines if "set no more" in line]
    equal(len(warned), 1, lines)
    holds("warning" in warned[0], warned)
    for name, is_named in (("[server] hosts", True), ("[server] threads", True), ("[filter] model", True), ("body_bytes", False),
                           ("level", False)):
        equal(name in warned[0], is_named, warned)
    lines = reload(daemon, {"log": {"level": "info"}, "server": {"body_bytes": "3K", "hosts": "a.example"}})
    holds(not any("set no more" in line and "hosts" in line for line in lines), lines)


# ---- requests in flight -------------------------------------------------------------------------
def test_a_request_keeps_the_configuration_it_began_with(api):
    daemon = started(api)
    body = b"x " * 3000
    with Wire(daemon) as old:
        old.send(b"POST %s/train?label=a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (M.encode(), len(body)) + body[:1000])
        daemon.client.get("/healthz").ok()
        wait_for(lambda: begun(daemon), "the request is there", 10)
        reload(daemon, {"log": {"level": "info"}, "server": {"body_bytes": "2K"}})
        equal(train_bytes(3000)(daemon), 413)
        old.send(body[1000:] + b"\r\n0\r\n\r\n")
        equal(old.reply().status, 200)


def begun(daemon):
    """The request's head was read: nothing of it waits in the socket any more."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows_ = [line.split() for line in file][1:]
    waiting = [row[4].split(":")[1] for row in rows_ if int(row[1].split(":")[1], 16) == daemon.port]
    return all(int(count, 16) == 0 for count in waiting)


def test_no_request_sees_two_configurations(api):
    """Two values that change together are seen together, while the configuration changes all the time."""
    both = [{"log": {"level": "info"}, "filter": {"required_score": score, "model": model}}
            for score, model in ((15, "mail"), (77, "post"))]
    daemon = api.another(config=both[0]).start()
    wrong, counts, done = [], [0], threading.Event()

    def ask():
        client = daemon.new_client()
        while not done.is_set():
            got = client.post("/checkv2", MAIL)
            if got.status != 200:
                wrong.append(got.body)
                return
            counts[0] += 1
            score, status = got.json["required_score"], got.json.get("milter", {})
            if (score == 77) != ("model=post" in str(status)):
                wrong.append(got.body)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(60):
        reload(daemon, both[(i + 1) % 2])
    done.set()
    for thread in threads:
        thread.join()
    holds(not wrong, wrong[:1])
    holds(counts[0] > 60, counts)


def test_many_reloads_take_no_memory(api):
    texts = [{"log": {"level": "info"}, "tokens": {"classify": ",".join(f"{T}-{i}-{k}" for i in range(400))}} for k in range(2)]
    daemon = api.another(config=texts[0]).start()
    for i in range(20):
        reload(daemon, texts[i % 2])
    before = daemon.memory()[0]
    for i in range(200):
        reload(daemon, texts[i % 2])
    holds(daemon.memory()[0] - before < 2 << 20, f"{daemon.memory()[0] - before} bytes more")
