# SPDX-License-Identifier: Apache-2.0
"""Every option does what it says: for each a test that fails when the switch is dead."""
import gzip
import itertools
import json
import os
import socket
import sys
import time

import rspamd
import test_backup
import test_cluster
import test_next
import test_quarantine
import test_undo
from events_options import (events_drift, events_look_seconds, events_queue, events_retries, events_retry_seconds,
                            events_retry_seconds_most, events_secret_file, events_suspects, events_timeout, events_tls_ca,
                            events_types, events_unsure_per_minute, events_url)
from harness import equal, holds, patience, problem, refused, slow, wait_for
from nodes_options import (nodes_database, nodes_databases, nodes_digest_seconds, nodes_follow, nodes_keep_seconds, nodes_key_file,
                           nodes_member_seconds, nodes_name, nodes_patience, nodes_peer_token_file, nodes_peers, nodes_queue,
                           nodes_queue_bytes, nodes_queue_entries, nodes_streams, nodes_tls_ca, nodes_tls_certificate,
                           nodes_tls_key, nodes_url)
from prometheus import parse
from test_command_line import printed
from test_tls import tls_certificate, tls_client_ca, tls_client_role, tls_key, tls_listen, tls_only, tls_priorities
from wire import Wire, request

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
T = "a-token-of-this-test"


def with_options(api, group, **how):
    return api.another(config={group: how}).start()


def metric(daemon, name, **labels):
    return parse(daemon.client.get("/metrics").ok().body.decode()).value(name, **labels)


# ---- [server] -----------------------------------------------------------------------------------
def server_listen(api):
    daemon = api.another(config={"server": {"listen": "[::1]:0"}}, listen=None).start()
    holds(daemon.url.startswith("http://[::1]:"), daemon.url)


def server_insecure(api):
    daemon = api.another(config={"server": {"listen": "0.0.0.0:0"}}, listen=None).spawn()
    holds(daemon.wait(20) > 0, "started")
    api.another(config={"server": {"listen": "0.0.0.0:0", "insecure": "yes"}}, listen=None).start()


def over_file(path, data):
    """What comes back over a Unix socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(patience(30))
        connection.connect(path)
        connection.sendall(data)
        reply = b""
        while more := connection.recv(65536):
            reply += more
        return reply


def server_socket(api):
    path = os.path.join(api.new_folder(), "bayesd.sock")
    mail = b"Subject: a\n\nb"
    checks = {b"HTTP/1.1 200": b"POST /learnspam HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(mail) + mail,
              b"HTTP/1.1 200 ": b"GET /healthz HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n",
              b"SPAMD/1.5 0 PONG": b"PING SPAMC/1.5\r\n\r\n",
              b"RSPAMD/1.3 0 EX_OK": b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\n\r\n" % len(mail) + mail}
    daemon = api.another(config={"server": {"socket": path, "socket_users": os.geteuid()}, "tokens": {"admin": T}}).start()
    for want, data in checks.items():
        holds(over_file(path, data).startswith(want), want)
    holds(b" 401 " in over_file(path, b"GET /v1/models HTTP/1.0\r\n\r\n"), "models need a token")
    problem_of = api.another(config={"server": {"socket": path}}).spawn()
    holds(problem_of.wait(20) > 0, "two daemons on one socket")
    holds(over_file(path, checks[b"SPAMD/1.5 0 PONG"]), "the first one lost its socket")
    daemon.kill()
    holds(os.path.exists(path), "a kill leaves it behind")
    daemon = api.another(config={"server": {"socket": path}}).start()
    holds(over_file(path, checks[b"SPAMD/1.5 0 PONG"]), "what was left behind is replaced")
    daemon.stop()
    holds(not os.path.exists(path), "a stop removes it")
    with open(path, "w") as file:
        file.write("no socket")
    holds(api.another(config={"server": {"socket": path}}).spawn().wait(20) > 0, "a file was replaced")
    with open(path) as file:
        equal(file.read(), "no socket")


def server_socket_mode(api):
    for mode, bits in (("owner", 0o600), ("group", 0o660), ("all", 0o666)):
        path = os.path.join(api.new_folder(), "bayesd.sock")
        api.another(config={"server": {"socket": path, "socket_mode": mode}}).start()
        equal(os.stat(path).st_mode & 0o777, bits, mode)


def server_socket_users(api):
    mail = b"Subject: a\n\nb"
    learn = b"POST /learnspam HTTP/1.0\r\n%%sContent-Length: %d\r\n\r\n%s" % (len(mail), mail)
    check = b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\n\r\n%s" % (len(mail), mail)
    me, other = os.geteuid(), 54321
    for users, status in (("", b" 401 "), (other, b" 401 "), (me, b" 200 "), (f"{other}, {me}", b" 200 "), ("*", b" 200 ")):
        path = os.path.join(api.new_folder(), "bayesd.sock")
        daemon = api.another(config={"server": {"socket": path, "socket_users": users},
                                     "tokens": {"admin": T, "trusted": "0.0.0.0/0, ::/0"}}).start()
        holds(status in over_file(path, learn % b"").split(b"\r\n")[0], users)
        equal(over_file(path, check).startswith(b"RSPAMD/1.3 0 EX_OK"), status == b" 200 ", users)
        holds(b" 401 " in over_file(path, learn % b"X-Forwarded-For: 127.0.0.1\r\n"), "through a proxy")
        holds(b" 401 " in over_file(path, b"GET /v1/models HTTP/1.0\r\n\r\n"), "for mail only")
        daemon.stop()
    for users in ("no-such-user", "nobody"):
        daemon = api.another(config={"server": {"socket_users": users}}).spawn()
        holds(daemon.wait(20) > 0 and "socket_users" in daemon.output(), users)


def server_proxies(api):
    """More of it is in test_access."""
    statuses = []
    for proxies in ("", "192.0.2.1", "127.0.0.0/8"):
        daemon = api.another(config={"server": {"proxies": proxies}, "tokens": {"admin": T, "trusted": "203.0.113.5"}}).start()
        statuses.append(daemon.client.post("/checkv2", "Subject: a\n\nb", X_Forwarded_For="203.0.113.5").status)
    equal(statuses, [401, 401, 200])
    daemon = api.another(config={"server": {"proxies": "localhost"}}).spawn()
    holds(daemon.wait(20) > 0 and "[server] proxies" in daemon.output(), daemon.output())


def server_hosts(api):
    named, other = {"Host": "bayes.example.org"}, {"Host": "evil.example:8763"}
    refused(api.call("GET", "/v1/models", **named), 403, "[server] hosts")
    daemon = with_options(api, "server", hosts="mail.example.org, bayes.example.org")
    daemon.client.get("/v1/models", **named).ok()
    refused(daemon.client.get("/v1/models", **other), 403, "Host")
    with_options(api, "server", hosts="*").client.get("/v1/models", **other).ok()


def http_origins(api):
    page = {"Origin": "https://app.example.org", "Authorization": f"Bearer {T}"}
    daemon = api.another(config={"tokens": {"admin": T}}).start()
    refused(daemon.client.get("/v1/models", **page), 403, "[http] origins")
    daemon = api.another(config={"tokens": {"admin": T}, "http": {"origins": page["Origin"]}}).start()
    equal(daemon.client.get("/v1/models", **page).ok().headers["access-control-allow-origin"], page["Origin"])


def server_threads(api):
    counts = [len(os.listdir(f"/proc/{with_options(api, 'server', threads=n).pid}/task")) for n in (1, 6)]
    holds(counts[1] >= counts[0] + 4, counts)


def server_work_threads(api):
    counts = [len(os.listdir(f"/proc/{with_options(api, 'server', work_threads=n).pid}/task")) for n in (1, 6)]
    equal(counts[1] - counts[0], 10, "five more of both pools")


def accepted(daemon, count):
    """How many of `count` connections at the same time are answered."""
    wires = [Wire(daemon) for _ in range(count)]
    answered = sum(wire.try_send(request("GET", "/healthz")) and wire.reply() is not None for wire in wires)
    for wire in wires:
        wire.close()
    return answered


def server_connections(api):
    daemon = with_options(api, "server", connections=4, threads=1)
    wires = [Wire(daemon) for _ in range(4)]
    for wire in wires:
        wire.send(b"GET ")
    with Wire(daemon) as fifth:  # from loopback, so it may be a question for /healthz
        fifth.send(request("GET", "/v1/models"))
        reply = fifth.reply()
        refused(reply, 503, "connections")
        equal(reply.headers["retry-after"], "1")
    for wire in wires:
        wire.close()
    equal(accepted(with_options(api, "server", connections=40, threads=1), 30), 30)


def outer_address():
    """An address of this machine that is not loopback's; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


OUTSIDE = {"listen": "0.0.0.0:0", "insecure": "yes", "threads": 1}


def statuses_outside(daemon, count):
    """How `count` connections from no loopback address are answered: statuses, in order."""
    local, daemon.host = daemon.host, outer_address()
    wires, statuses = [Wire(daemon) for _ in range(count)], []
    daemon.host = local
    for wire in wires:
        wire.try_send(request("GET", "/healthz"))
        statuses.append(wire.reply().status)
    for wire in wires:
        wire.close()
    return statuses


def from_outside(api, count, **options):
    return statuses_outside(api.another(config={"server": {**OUTSIDE, **options}}, listen=None).start(), count)


def server_connections_per_address(api):
    daemon = with_options(api, "server", connections_per_address=3, threads=1)
    equal(accepted(daemon, 8), 8, "clients on this machine have no limit")
    if outer_address() is None:  # tests/unit/server/http/net holds the rest
        return
    equal(from_outside(api, 8, connections_per_address=3), [200] * 3 + [429] * 5)
    equal(from_outside(api, 8, connections_per_address=0), [200] * 8)
    equal(from_outside(api, 8, connections_per_address=3, proxies=outer_address()), [200] * 8)


def server_connections_reserved(api):
    if outer_address() is None:  # tests/unit/server/http/net holds it
        return
    equal(from_outside(api, 8, connections=10, connections_reserved=4), [200] * 6 + [503] * 2)
    equal(from_outside(api, 8, connections=10, connections_reserved=0), [200] * 8)


def trickled(daemon, beginning, piece, pause, seconds=None):
    """Sends pieces until there is a reply: its status, or None; "nothing" when there is none in time."""
    seconds = patience(20) if seconds is None else seconds * slow()
    with Wire(daemon) as wire:
        wire.send(beginning)
        wire.socket.settimeout(pause)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            wire.try_send(piece)
            try:
                if not wire.more() or b"\r\n\r\n" in wire.rest:
                    wire.socket.settimeout(patience(20))
                    reply = wire.reply()
                    return reply and refused(reply, reply.status) and reply.status
            except TimeoutError:
                pass
        return "nothing"


def server_head_seconds(api):
    daemon = with_options(api, "server", head_seconds=1, timeout=600)
    equal(trickled(daemon, b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n", 0.1), 408)
    equal(metric(daemon, "bayesd_http_requests_total", method="", route="other", status="408"), 1)


def long_body(kind="application/json"):
    return f"POST {M}/train HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n" \
           "Content-Length: 10000000\r\n\r\n".encode()


def server_body_rate(api):
    daemon = with_options(api, "server", timeout=1, body_rate=100000)
    equal(trickled(daemon, long_body(), b" ", 0.1), 408)
    wait_for(lambda: metric(daemon, "bayesd_http_requests_total", method="POST", route="/v1/models/{model}/train",
                            status="408") == 1, "it is counted")
    equal(trickled(daemon, b"CHECK SPAMC/1.5\r\nContent-length: 9999\r\n\r\n", b"a", 0.1), None)
    daemon = with_options(api, "server", timeout=3, body_rate=0)
    with Wire(daemon) as wire:
        body = json.dumps({"text": "win", "label": "a"}).encode()
        for byte in request("POST", M + "/train", body):
            wire.send(bytes([byte]))
            time.sleep(0.03)  # more than three seconds in all
        wire.reply().ok()


def server_request_seconds(api):
    daemon = with_options(api, "server", request_seconds=1, timeout=600)
    equal(trickled(daemon, long_body(NDJSON), b"\n" * 10000, 0.1), 408)


def refused_by_rates(api, path, token=None, **server):
    """The statuses of five requests; more of it is in test_rates."""
    daemon = api.another(config={"server": server, "tokens": {"admin": T} if token else {}}).start()
    headers = {"Authorization": "Bearer " + token} if token else {}
    got = [daemon.client.call("POST", M + path, "a", "text/plain", **headers).status for _ in range(5)]
    daemon.stop()
    return got


def server_rate_classify(api):
    equal([refused_by_rates(api, "/tokenize", rate_classify=rate) for rate in ("2/hour", "0")],
          [[404, 404, 429, 429, 429], [404] * 5])


def server_rate_train(api):
    equal([refused_by_rates(api, "/train?label=x", rate_train=rate) for rate in ("2/hour", "0")],
          [[200, 200, 429, 429, 429], [200] * 5])
    daemon = api.another(config={"server": {"rate_train": "10"}}).spawn()
    holds(daemon.wait(20) > 0 and "[server] rate_train" in daemon.output(), daemon.output())


def server_rate_failures(api):
    equal([refused_by_rates(api, "/tokenize", "wrong-token-0123456789", rate_failures=rate) for rate in ("2/hour", "0")],
          [[401, 401, 429, 429, 429], [401] * 5])


def server_timeout(api):
    held = []
    for seconds, wait in ((1, patience(4)), (600, 4)):
        with Wire(with_options(api, "server", timeout=seconds, head_seconds=600)) as wire:
            wire.send(b"GET /healthz HTTP/1.1\r\n")
            wire.socket.settimeout(wait)
            try:
                wire.more()
                held.append(False)
            except TimeoutError:
                held.append(True)
    equal(held, [False, True], "held with a second and with ten minutes")


def server_body_bytes(api):
    client = with_options(api, "server", body_bytes="2K").client
    client.post(M + "/train?label=a", "x" * 2048, "text/plain").ok()
    refused(client.post(M + "/train?label=a", "x" * 2049, "text/plain"), 413, "2048")


def server_line_bytes(api):
    client = with_options(api, "server", line_bytes="1K").client
    rows = [{"text": "x" * n, "label": "a"} for n in (500, 1500, 500)]
    lines = client.post(M + "/train", "".join(json.dumps(row) + "\n" for row in rows), NDJSON).ok().lines
    equal([line.get("status") for line in lines], ["learned", None, "unchanged"])
    problem(lines[1]["error"], 413, "1024")


def server_unpack_ratio(api):
    lines = gzip.compress(b'{"text": "x", "label": "a"}\n' + b"\n" * 100000)
    client = with_options(api, "server", line_bytes="1K", unpack_ratio=2).client
    refused(client.post(M + "/train", lines, NDJSON, Content_Encoding="gzip"), 413, "2 times")
    client = with_options(api, "server", line_bytes="1K", unpack_ratio=10000).client
    equal([line["status"] for line in client.post(M + "/train", lines, NDJSON, Content_Encoding="gzip").ok().lines],
          ["learned"])


def server_batch_documents(api):
    client = with_options(api, "server", batch_documents=2).client
    client.post(M + "/train", {"documents": [{"text": "x", "label": "a"}] * 2}).ok()
    refused(client.post(M + "/train", {"documents": [{"text": "x", "label": "a"}] * 3}), 413, "2")


def server_listing_cells(api):
    for cells, tokens in ((1, 1), (6, 3), (1000, 4)):
        client = with_options(api, "server", listing_cells=cells).client
        client.post("/v1/models/m/train", {"documents": [
            {"text": "one two", "label": "a"}, {"text": "three four", "label": "b"}]}).ok()
        got = client.get("/v1/models/m/vocabulary?label=a&limit=10").ok().json
        equal(len(got["tokens"]) >= tokens, True, cells)
        holds(cells == 1000 or len(got["tokens"]) <= max(1, cells // 2), got)


def server_classify_models(api):
    client = with_options(api, "server", classify_models=2).client
    client.post(M + "/train", {"text": "a b c", "label": "a"}).ok()
    client.post("/v1/classify", {"text": "a", "models": ["m", "n"]}).ok()
    refused(client.post("/v1/classify", {"text": "a", "models": ["m", "n", "o"]}), 413, "3", "2", "classify_models")


def server_listing_rows(api):
    client = with_options(api, "server", listing_rows=5).client
    client.post(M + "/train", {"text": "a b c", "label": "a"}).ok()
    client.post(M + "/classify?explain=5", {"text": "a"}).ok()
    refused(client.post(M + "/classify?explain=6", {"text": "a"}), 400, "explain", "5")
    refused(client.get(M + "/vocabulary?label=a&limit=6"), 400, "limit", "5")
    for what in ("sample?label=a&length=", "distribution?label=a&limit="):
        client.get(M + "/" + what + "5").ok()
        refused(client.get(M + "/" + what + "6"), 400, what.split("&")[1].rstrip("="), "5")
    equal(len(client.get(M + "/sample?label=a").ok().json["tokens"]), 5)


def temporary_files(daemon, folder):
    """Files without a name that the daemon holds in a folder."""
    out = []
    for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{daemon.pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith(folder + "/") and target.endswith("(deleted)"):
            out.append(target)
    return out


def spooled_by(daemon, folder):
    """How many temporary files there are while a reply of ten megabytes waits for somebody who does not read."""
    with Wire(daemon, receive_buffer=4096) as wire:
        # More than the kernel takes for a connection: else the reply would be gone already.
        wire.send(request("POST", M + "/classify?explain=9", b'{"text": "a b c"}\n' * 30000, NDJSON))
        wire.until(b"\r\n\r\n")
        return len(temporary_files(daemon, folder))


def spooled(api, folder=None, **how):
    daemon = with_options(api, "server", **how)
    daemon.client.post(M + "/train", {"text": "a b c", "label": "a"}).ok()
    return spooled_by(daemon, folder or daemon.data)


def server_spool_memory(api):
    equal((spooled(api, spool_memory="4K"), spooled(api, spool_memory="512M")), (1, 0))


def mails_unread(daemon, count):
    """Which of `count` clients get a mail of 6 MB back, while none of them reads on."""
    mail = b"Subject: a\n\n" + b"word and word\n" * 450000
    wires = [Wire(daemon, receive_buffer=4096) for _ in range(count)]
    for wire in wires:
        wire.send(b"PROCESS SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(mail) + mail)
        wire.first = wire.until(b"\r\n")
    for wire in wires:
        wire.close()
    return [wire.first.split()[1] == b"0" for wire in wires]


def second_body(daemon, held_bytes):
    """The status of a body of 5 MB while another client has sent so much of a mail and says no more."""
    with Wire(daemon) as held, Wire(daemon) as wire:
        held.send(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % (held_bytes + 1) + b"words..\n" * (held_bytes // 8))
        wait_for(lambda: parse(daemon.client.get("/metrics").ok().body.decode()).value("bayesd_body_memory_bytes")
                 >= held_bytes, "the mail is there", 20)
        wire.send(request("POST", M + "/train?label=a", b"x" * (5 << 20), "text/plain"))
        return int(wire.until(b"\r\n").split()[1])


def server_body_memory(api):
    equal([second_body(with_options(api, "server", body_bytes="8M", body_memory=memory), 6 << 20)
           for memory in ("9M", "16M")], [503, 200])
    equal(second_body(with_options(api, "server", body_bytes="16M", body_memory="1M"), 6 << 20), 200, "two small ones")


def server_reply_memory(api):
    for memory, third in (("16M", False), ("32M", True)):
        equal(mails_unread(with_options(api, "server", reply_memory=memory), 3), [True, True, third])


def long_reply(daemon):
    learned = {"text": "a b c", "label": "a", "id": "1"}
    daemon.client.post(M + "/train", learned).ok()
    return daemon.client.post(M + "/classify?explain=9", b'{"text": "a b c"}\n' * 20000, NDJSON)


def server_spool_bytes(api):
    refused(long_reply(with_options(api, "server", spool_bytes="2M")), 503, "no space left", "spool_bytes", "2097152")
    long_reply(with_options(api, "server", spool_bytes="64M")).ok()


def server_spool_directory(api):
    folder = api.new_folder()
    equal(spooled(api, folder, spool_memory="4K", spool_directory=folder), 1)


def server_queue_changes(api):
    """More changes at once than may wait: some are told to come back, none of those is counted."""
    daemon = api.another(config={"server": {"queue_changes": 1, "threads": 4}, "store": {"group_documents": 1}}).start()
    learned, serial = 0, itertools.count()

    def overflow():
        nonlocal learned
        wires = [Wire(daemon) for _ in range(24)]
        for wire in wires:
            wire.send(request("POST", M + "/train", {"text": "a b", "label": "x", "id": f"q{next(serial)}"}))
        replies = [wire.reply() for wire in wires]
        for wire in wires:
            wire.close()
        learned += sum(reply.status == 200 for reply in replies)
        full = [reply for reply in replies if reply.status != 200]
        for reply in full:
            refused(reply, 503)
            holds("retry-after" in reply.headers, reply.headers)
        return full
    wait_for(overflow, "some changes find the queue full", 20)
    equal(daemon.client.get(M).ok().json["documents"], learned)


def seconds_of_a_stop(api, stop_seconds):
    """With a request that is not sent to its end."""
    daemon = api.another(config={"server": {"stop_seconds": stop_seconds, "timeout": 600}}).start()
    head, body = request("POST", M + "/train", {"text": "b", "label": "x"}, Expect="100-continue").split(b"\r\n\r\n")
    with Wire(daemon) as wire:
        wire.send(head + b"\r\n\r\n")
        wire.until(b"100 Continue\r\n\r\n")  # a request that has not begun is not waited for
        wire.send(body[:-1])
        start = time.monotonic()
        daemon.stop()
        return time.monotonic() - start


def server_stop_seconds(api):
    holds(seconds_of_a_stop(api, 4) >= 3, "it has not waited")
    wait_for(lambda: seconds_of_a_stop(api, 0) < 3, "one of some stops is shorter", 5)


# ---- [tokens]: the roles are in test_access ------------------------------------------------------
def reached(api, reach, **how):
    """Who has the token T may do what is reached, and nothing else."""
    daemon, token = with_options(api, "tokens", **how), {"Authorization": "Bearer " + T}
    for what, status in zip((("GET", M), ("POST", M + "/train?label=x"), ("PUT", M)), reach):
        equal(daemon.client.call(*what, {} if what[0] == "PUT" else "a" if what[0] == "POST" else None,
                                 None if what[0] != "POST" else "text/plain", **token).status, status, (what, how))
    equal(daemon.client.get(M).status, 401)


def tokens_classify(api):
    reached(api, (404, 403, 403), classify=T)


def tokens_train(api):
    reached(api, (404, 200, 403), train=T)


def tokens_admin(api):
    reached(api, (404, 200, 200), admin=T)


def tokens_file(api):
    """More of it is in test_tokens."""
    folder = api.new_folder()
    path = os.path.join(folder, "of-mine")
    daemon = api.another(config={"tokens": {"file": path}}).spawn()
    holds(daemon.wait(20) > 0 and path in daemon.output(), "started without the file")
    status, out, err = api.tool("--new-token", "a", "--role", "classify", environment={"BAYESD_TOKENS_FILE": path})
    equal(status, 0, err)
    equal(os.listdir(folder), ["of-mine"])
    daemon = with_options(api, "tokens", file=path)
    equal(daemon.client.get("/v1/models").status, 401)
    daemon.client.get("/v1/models", Authorization="Bearer " + out.strip()).ok()


def tokens_trusted(api):
    equal([with_options(api, "tokens", admin=T, trusted=trusted).client.post("/checkv2", "Subject: a\n\nb").status
           for trusted in ("127.0.0.1", "192.0.2.1", "127.0.0.0/8")], [200, 401, 200])


# ---- [store] ------------------------------------------------------------------------------------
def store_data(api):
    folder = os.path.join(api.new_folder(), "elsewhere")
    api.another(data=False, config={"store": {"data": folder}}).start()
    holds(os.listdir(folder), "nothing was made there")


def test_a_map_larger_than_the_address_space(api):
    """Python is built for the daemon's processor: of 32 bits, or of 64."""
    daemon = api.another(config={"store": {"map_size": "16T"}}).start()
    is_small = sys.maxsize < 2**32
    said = any("map_size is more than the address space" in line for line in daemon.lines)
    equal((metric(daemon, "bayesd_store_map_bytes"), said), (1 << 31 if is_small else 16 << 40, is_small))


def store_map_size(api):
    equal(metric(with_options(api, "store", map_size="300M"), "bayesd_store_map_bytes"), 300 << 20)
    equal(metric(with_options(api, "store", map_size="2G"), "bayesd_store_map_bytes"), 2 << 30)


def filled_with_models(api, **how):
    daemon = with_options(api, "store", **how)
    for i in range(12):
        daemon.client.post(f"/v1/models/m{i}/train", {"documents": [
            {"text": " ".join(f"w{k}" for k in range(3000)), "label": "a", "id": "1"}]}).ok()
    equal(metric(daemon, "bayesd_models"), 12)
    return daemon


def store_memory(api):
    """Without a limit all stay loaded; with one, cold ones go when the writer has time."""
    everything = filled_with_models(api, memory=0)
    total = metric(everything, "bayesd_model_memory_bytes")
    equal(metric(everything, "bayesd_models_loaded"), 12)
    most = int(total / 3)
    some = filled_with_models(api, memory=most)
    wait_for(lambda: metric(some, "bayesd_model_memory_bytes") <= most, f"at most {most} of {total} bytes are used", 10)
    holds(0 < metric(some, "bayesd_models_loaded") < 12, "all or none are loaded")


def test_a_model_that_memory_is_too_small_for_is_told(api):
    """Once in the log, and by /readyz; not of models that have to make room for each other only."""
    words = "[store] memory"
    documents = [{"text": " ".join(f"word{i}x{j}" for j in range(200)), "label": "ab"[i % 2]} for i in range(50)]
    for most in (0, "64M", "16K"):
        daemon = with_options(api, "store", memory=most)
        daemon.client.post(M + "/train", {"documents": documents}).ok()
        if most == "16K":
            wait_for(lambda: metric(daemon, "bayesd_models_loaded") == 0, "the model has gone", 20)
        for _ in range(3):
            daemon.client.post(M + "/classify", {"text": "word1x1"}).ok()
        ready = daemon.client.get("/readyz").ok().json
        told = [line for line in daemon.lines if words in line and "anew" in line]
        if most != "16K":
            equal((told, "warnings" in ready), ([], False))
            continue
        equal(len(told), 1, daemon.lines)
        holds("is 16K" in ready["warnings"][0] and words in ready["warnings"][0], ready)


def store_disk(api):
    """Without a limit nothing is taken out; with one, old documents are when the writer has time."""
    taken = []
    for most in (0, 1 << 20):
        daemon = with_options(api, "store", disk=most)
        for i in range(30):
            daemon.client.post(M + "/train", {"documents": [{"text": " ".join(f"word{i}x{j}x{k}" for k in range(40)), "label": "a"}
                                                     for j in range(100)]}).ok()
        if most:
            wait_for(lambda: metric(daemon, "bayesd_changes_total", status="aged") > 0, "documents are taken out", 20)
        taken.append(metric(daemon, "bayesd_changes_total", status="aged") > 0)
    equal(taken, [False, True])


def store_keep_words(api):
    for value in ("yes", "no"):
        client = with_options(api, "store", keep_words=value).client
        client.post(M + "/train", {"text": "secretword", "label": "a"}).ok()
        token = client.get(M + "/vocabulary?label=a").ok().json["tokens"][0]["token"]
        equal(token == "secretword", value == "yes", token)


BATCHES = 20


def replay_length(api, **how):
    daemon = with_options(api, "store", **how)
    for start in range(BATCHES):
        daemon.client.post(M + "/train", {"documents": [
            {"text": " ".join(f"w{k}x{start}" for k in range(200)), "label": "a", "id": f"{start}-{i}"} for i in range(10)]}).ok()
    return metric(daemon, "bayesd_replay_features")


def store_replay_features(api):
    """What a commit brings is saved by a later one: as much as one batch may be left above the limit."""
    limit = 1000
    short, long = replay_length(api, replay_features=limit), replay_length(api)
    holds(short <= limit + long / BATCHES and long > 100 * limit, f"{short} and {long} features to replay")


def commits_of_a_batch(api, size):
    daemon = with_options(api, "store", group_documents=size)
    daemon.client.post(M + "/train", {"text": "a", "label": "a"}).ok()
    before = metric(daemon, "bayesd_commits_total")
    daemon.client.post(M + "/train", {"documents": [{"text": f"w{i}", "label": "a"} for i in range(20)]}).ok()
    return metric(daemon, "bayesd_commits_total") - before


def store_group_documents(api):
    holds(commits_of_a_batch(api, 1) >= 20, "each document is a group")
    # On a slow machine commits of a quiet moment may be among them.
    fewest = min(commits_of_a_batch(api, 1000) for _ in range(3))
    holds(fewest <= 3, f"{fewest} commits of one group")


def store_superseded_seconds(api):
    test_undo.a_label_is_kept(api, 600)
    test_undo.a_label_is_kept(api, 0)


def store_journal(api):
    for journal, is_there in (("0", False), ("1M", True)):
        daemon = with_options(api, "store", journal=journal)
        daemon.client.post(M + "/train", {"text": "win cash", "label": "spam"}).ok()
        equal(os.path.exists(os.path.join(daemon.data, "journal")), is_there, journal)
        daemon.stop()


def store_backups(api):
    test_backup.at_most_so_many_at_once(api)


def store_backup_seconds(api):
    test_backup.a_slow_reader_loses_its_snapshot(api)


# ---- [models] -----------------------------------------------------------------------------------
def models_auto_create(api):
    client = with_options(api, "models", auto_create="no").client
    refused(client.post(M + "/train", {"text": "x", "label": "a"}), 404, "m")
    lines = client.post(M + "/train", '{"text": "x", "label": "a"}\n', NDJSON)
    holds(lines.status == 404 or "error" in lines.lines[0], lines.body)
    refused(client.get(M), 404)
    client.put(M, {}).ok(201)
    client.post(M + "/train", {"text": "x", "label": "a"}).ok()


def models_labels(api):
    client = with_options(api, "models", labels=2).client
    for label in ("a", "b", "a"):
        client.post(M + "/train", {"text": f"x {label}", "label": label}).ok()
    refused(client.post(M + "/train", {"text": "y", "label": "c"}), 413, "2")
    equal(client.get(M).json["documents"], 2)


def models_models(api):
    client = with_options(api, "models", models=2).client
    client.put("/v1/models/one", {}).ok(201)
    client.post("/v1/models/two/train", {"text": "x", "label": "a"}).ok()
    for reply in (client.put("/v1/models/three", {}), client.post("/v1/models/three/train", {"text": "x", "label": "a"})):
        refused(reply, 413, "2")
    client.delete("/v1/models/one").ok(204)
    client.put("/v1/models/three", {}).ok(201)


def models_quarantine(api):
    daemon = with_options(api, "models", quarantine="http")
    daemon.client.put(M, {}).ok(201)
    daemon.client.post(M + "/train", {"text": "x", "label": "a"}).ok(202)


def models_quarantine_documents(api):
    test_quarantine.quarantine_documents(api)


def models_cluster_memory(api):
    test_cluster.cluster_memory(api)


def models_next_documents(api):
    test_next.next_documents(api)


def models_quarantine_bytes(api):
    test_quarantine.quarantine_bytes(api)


# ---- [tokenizer] --------------------------------------------------------------------------------
def seen(client, mail):
    """(whether the reply says truncated, the tokens)"""
    reply = client.post(M + "/tokenize", mail, "message/rfc822").ok().json
    return reply.get("truncated", False), {row["token"] for row in reply["tokens"]}


def tokenizer_case(api, key, small, mail, lost):
    """With the small value the reply says truncated and `lost` is not seen; by default it is."""
    for value, cut in ((small, True), (None, False)):
        client = with_options(api, "tokenizer", **({key: value} if value else {})).client
        client.put(M, {}).ok(201)
        truncated, tokens = seen(client, mail)
        equal((truncated, lost in tokens), (cut, not cut), f"{key} = {value}: {sorted(tokens)[:20]}")


def tokenizer_tokens(api):
    tokenizer_case(api, "tokens", 5, "\n\n" + " ".join("word%d" % i for i in range(10)), "word9")


def tokenizer_mail_bytes(api):
    tokenizer_case(api, "mail_bytes", "2K", "\n\n" + "start " * 500 + " middle " + "end " * 500, "middle")


def multipart(words, kind="mixed"):
    return (f"Content-Type: multipart/{kind}; boundary=b\n\n"
            + "".join(f"--b\nContent-Type: text/plain\n\n{word}\n" for word in words) + "--b--\n")


def tokenizer_mail_parts(api):
    tokenizer_case(api, "mail_parts", 3, multipart(["one", "two", "three", "four", "five"]), "five")


def tokenizer_mail_depth(api):
    deep = "bottom"
    for i in range(6):
        deep = f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" + (deep if i else f"\n{deep}\n") + f"\n--b{i}--\n"
    tokenizer_case(api, "mail_depth", 3, deep, "bottom")


def tokenizer_header_bytes(api):
    mail = "X-Long: " + "\n ".join(["filler"] * 400) + "\nSubject: late\n\nbody\n"
    tokenizer_case(api, "header_bytes", "1K", mail, "subject:late")


def tokenizer_work(api):
    words = " =?big5?q?=A4=A4?= =?euc-kr?q?=C7=D1?=" * 20  # each opens another charset than the one before
    tokenizer_case(api, "work", 8, f"Subject:{words} =?koi8-r?q?_=D0=D2=C9?=\n\nbody\n", "subject:\u043f\u0440\u0438")


# ---- [filter] -----------------------------------------------------------------------------------
def filter_model(api):
    daemon = with_options(api, "filter", model="inbox")
    rspamd.learn(daemon, "spam", rspamd.spam()).ok()
    equal([row["name"] for row in daemon.client.get("/v1/models").json["models"]], ["inbox"])


def filter_user_model(api):
    daemon = with_options(api, "filter", user_model="of-%u")
    rspamd.learn(daemon, "spam", rspamd.spam(), [("Deliver-To", "Bob")]).ok()
    equal([row["name"] for row in daemon.client.get("/v1/models").json["models"]], ["of-bob"])


def filter_user_map(api):
    """A login name, an address, an alias and an address with an extension are one user, by every door."""
    path = os.path.join(api.new_folder(), "users")
    daemon = api.another(config={"filter": {"user_model": "of-%u", "user_map": path}}).spawn()
    holds(daemon.wait(20) > 0 and path in daemon.output(), "started without the file")
    with open(path, "w") as file:
        file.write("sales@example.org gbob\n@example.org %l\n")
    daemon = with_options(api, "filter", user_model="of-%u", user_map=path)
    names = ("gbob", "gbob@example.org", "<GBob+lists@Example.org>", "sales@example.org")
    for number, name in enumerate(names):
        rspamd.learn(daemon, "spam", rspamd.spam(number), [("Deliver-To", name)]).ok()
        mail = rspamd.ham(number)
        with Wire(daemon) as wire:
            wire.send(b"TELL SPAMC/1.5\r\nUser: %s\r\nMessage-class: ham\r\nSet: local\r\nContent-length: %d\r\n\r\n"
                      % (name.encode(), len(mail)) + mail)
            holds(b"DidSet: local" in wire.body({}), name)
    equal([row["name"] for row in daemon.client.get("/v1/models").json["models"]], ["of-gbob"])
    equal(rspamd.documents(daemon, "of-gbob"), {"spam": 4, "ham": 4})
    for field in ("Deliver-To", "Rcpt"):
        for name in names:
            report = rspamd.check(daemon, rspamd.spam(9), [(field, name)])
            holds(report["milter"]["add_headers"]["X-Bayes-Status"].endswith("model=of-gbob"), (field, name, report))
    # One user by two names is no reason to ask twice, and to name nobody.
    report = rspamd.check(daemon, rspamd.spam(9), [("Rcpt", name) for name in names])
    holds(report["milter"]["add_headers"]["X-Bayes-Status"].endswith("model=of-gbob"), report)
    report = rspamd.check(daemon, rspamd.spam(9), [("Deliver-To", "gbob@other.example")])
    holds("model=mail" in report["milter"]["add_headers"]["X-Bayes-Status"], report)


def filter_user_parent(api):
    for value, parent in (("", None), ("mail", "mail"), ("mail-%d", "mail-example.org")):
        daemon = with_options(api, "filter", user_model="of-%u", **({"user_parent": value} if value else {}))
        rspamd.learn(daemon, "spam", rspamd.spam(), [("Deliver-To", "Bob@Example.org")]).ok()
        equal(daemon.client.get("/v1/models/of-bob@example.org").json["settings"]["parent"], parent)


def filter_several_users(api):
    for value, count in (("mildest", 1), ("each", 2)):
        daemon = with_options(api, "filter", user_model="of-%u", several_users=value)
        report = rspamd.check(daemon, rspamd.spam(), [("Deliver-To", "Bob")])
        equal(len(report["milter"]["add_headers"]), count)


def filter_spam_labels(api):
    daemon = with_options(api, "filter", spam_labels="junk")
    rspamd.learn(daemon, "spam", rspamd.spam()).ok()
    equal(rspamd.documents(daemon), {"junk": 1})
    daemon.client.delete(rspamd.MAIL).ok(204)
    # And it is asked for: a model that knows only "spam" says nothing about junk.
    rspamd.teach(daemon)
    equal(list(rspamd.check(daemon, rspamd.spam())["symbols"]), ["BAYES_NOT_READY"])
    daemon.client.delete(rspamd.MAIL).ok(204)
    rspamd.teach(daemon, labels=("junk", "ham"))
    equal(rspamd.check(daemon, rspamd.spam())["action"], "add header")


def filter_label_actions(api):
    reports = filter_reports(api, rspamd.spam(), ({}, {"label_actions": "spam = reject"}, {"label_actions": "spam=no action"}))
    equal([report["action"] for report in reports], ["add header", "reject", "no action"])


def filter_ham_label(api):
    daemon = with_options(api, "filter", ham_label="good")
    rspamd.learn(daemon, "ham", rspamd.ham()).ok()
    equal(rspamd.documents(daemon), {"good": 1})


def filter_reports(api, mail, options):
    """The report on a mail by each of several settings, by daemons that learned the same."""
    folder = None
    for how in options:
        daemon = api.another(data=folder, config={"filter": how}).start()
        if folder is None:
            rspamd.teach(daemon)
        folder = daemon.data
        report = rspamd.check(daemon, mail)
        daemon.stop()
        yield report


def filter_actions_of(api, mail, options):
    return [report["action"] for report in filter_reports(api, mail, options)]


def filter_actions(api, options):
    return filter_actions_of(api, rspamd.spam(), options)


def filter_unsure(api):
    symbols = [next(iter(report["symbols"])) for report in
               filter_reports(api, rspamd.ham(), [{"unsure": 0.3}, {"unsure": 0}])]
    equal(symbols, ["BAYES_HAM", "BAYES_UNSURE"])


def filter_add_header(api):
    equal(filter_actions(api, [{"add_header": 0.51}, {"add_header": 1}]), ["add header", "no action"])


def filter_rewrite_subject(api):
    equal(filter_actions(api, [{"rewrite_subject": 0.51}, {"rewrite_subject": 1}]), ["rewrite subject", "add header"])


def filter_reject(api):
    equal(filter_actions(api, [{"reject": 0.51}, {"reject": 1}]), ["reject", "add header"])


def filter_required_score(api):
    one, two = filter_reports(api, rspamd.spam(), [{"required_score": 10}, {"required_score": 20}])
    equal((one["required_score"], two["required_score"]), (10, 20))
    holds(one["score"] > 0 and abs(two["score"] - 2 * one["score"]) < 0.0151, (one["score"], two["score"]))


def filter_spamd_required_score(api):
    """By a test mail, which needs no training: its status line ends with the score required."""
    daemon = with_options(api, "filter", spamd_required_score=42)
    with Wire(daemon) as wire:
        wire.send(b"CHECK SPAMC/1.5\r\nContent-length: 71\r\n\r\n\n\nX" + rspamd.GTUBE + b"\n")
        wire.until(b"\r\nSpam: ")
        line = wire.until(b"\r\n")
        holds(line is not None and line.endswith(b"/ 42.0"), line)


def filter_subject(api):
    mail = b"Subject: hello\n\nZ" + rspamd.GTUBE
    subjects = [report["subject"] for report in filter_reports(api, mail, [{"test_patterns": "yes"}, {"test_patterns": "yes", "subject": "%s (junk?)"}])]
    equal(subjects, ["***SPAM*** hello", "hello (junk?)"])


def filter_evidence(api):
    none, one, many = filter_reports(api, rspamd.spam(), [{"evidence": 0}, {"evidence": 1}, {"evidence": 5}])
    equal(list(none["symbols"]), ["BAYES_SPAM"])
    named = [[option for symbol in report["symbols"].values() for option in symbol.get("options", [])] for report in (one, many)]
    holds(named[0] and not any(", " in option for option in named[0]), named[0])
    equal(max(option.count(", ") for option in named[1]), 4)


def filter_test_patterns(api):
    """With it off the text of a variant is text like any other: the mail's own words decide."""
    for first, action in (("A", "no action"), ("Y", "add header"), ("Z", "rewrite subject")):
        mail = rspamd.spam() + b"\n" + first.encode() + rspamd.GTUBE + b"\n"
        options = [{"reject": 0.51}, {"reject": 0.51, "test_patterns": "yes"}]
        equal(filter_actions_of(api, mail, options), ["reject", action])
    equal(filter_actions_of(api, b"Subject: a\n\nX" + rspamd.GTUBE, [{}, {"test_patterns": "yes"}]), ["reject"] * 2)


# ---- [log] --------------------------------------------------------------------------------------
def verdict_line(api, **how):
    daemon = with_options(api, "log", **how)
    daemon.client.post("/checkv2", "Subject: a\n\nb").ok()
    daemon.stop()
    return next((line for line in daemon.lines if "verdict" in line), None)


def log_format(api):
    holds(verdict_line(api, verdicts="yes").startswith("bayesd: info: verdict "), "text by default")
    equal(json.loads(verdict_line(api, verdicts="yes", format="json"))["verdict"], "unsure")


def log_verdicts(api):
    """More of it is in test_logs."""
    equal(verdict_line(api), None)
    holds(verdict_line(api, verdicts="yes"), "none is logged")


def log_level(api):
    counts = []
    for level in ("error", "debug"):
        daemon = with_options(api, "log", level=level)
        daemon.client.post(M + "/train", {"text": "x", "label": "a"}).ok()
        daemon.client.get("/nothing")
        daemon.stop()
        counts.append(len([line for line in daemon.lines if "ready on" not in line]))
    holds(counts[0] == 0 < counts[1], f"lines at error and debug: {counts}")


# ---- [networks] ----------------------------------------------------------------------------------
def networks_table_cells(api):
    client = with_options(api, "networks", table_cells=6).client
    nodes = [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]},
             {"name": "b", "states": ["x", "y"], "parents": ["a"], "table": [[0.5, 0.5]] * 2}]
    client.put("/v1/networks/n", {"nodes": nodes}).ok(201)
    nodes[0] = {"name": "a", "states": ["x", "y", "z"], "table": [[0.5, 0.5, 0]]}
    nodes[1]["table"] = [[0.5, 0.5]] * 3
    refused(client.put("/v1/networks/n", {"nodes": nodes}), 413, "table_cells", "6")


def networks_factor_cells(api):
    nodes = [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]},
             {"name": "b", "states": ["x", "y"], "parents": ["a"], "table": [[0.5, 0.5]] * 2}]
    for cells, status in ((5, 413), (100, 200)):
        client = with_options(api, "networks", factor_cells=cells).client
        client.put("/v1/networks/n", {"nodes": nodes}).ok(201)
        equal(client.post("/v1/networks/n/query", {"of": ["b"]}).status, status, cells)


def networks_learn_values(api):
    client = with_options(api, "networks", learn_values=6).client
    client.post("/v1/networks/n/learn", "a,b\nx,y\nx,y\nx,y\n", "text/csv").ok(201)
    refused(client.post("/v1/networks/n/learn", "a,b\nx,y\nx,y\nx,y\nx,y\n", "text/csv"), 413, "line 5", "learn_values", "6")
    client.post("/v1/networks/n/query", {"samples": 3}).ok()
    refused(client.post("/v1/networks/n/query", {"samples": 4}), 413, "learn_values", "3")


def networks_tests(api):
    for tests, status in ((2, 413), (3, 201)):
        client = with_options(api, "networks", tests=tests).client
        reply = client.post("/v1/networks/n/learn", "a,b,c\nx,y,z\nu,v,w\nx,v,z\nu,y,z\n", "text/csv")
        equal(reply.status, status, tests)
        holds(status == 201 or "tests" in reply.json["detail"], reply.body)


EFFECTS = {tuple(name.split("_", 1)): function for name, function in list(globals().items())
           if name.split("_", 1)[0] in ("server", "tls", "tokens", "store", "http", "networks", "models", "tokenizer", "filter", "nodes", "events", "log") and callable(function)
           and name not in ("tokenizer_case", "filter_reports", "filter_actions", "filter_actions_of")}


def test_every_option_has_a_test(api):
    options = set(printed(api))
    equal(sorted(options - set(EFFECTS)), [], "options without a test")
    equal(sorted(set(EFFECTS) - options), [], "tests without an option")


def _make(key):
    def test(api):
        EFFECTS[key](api)
        for daemon in api._own:
            daemon.stop()
    test.__module__ = __name__
    return test


for _key in EFFECTS:
    globals()["test_%s_%s" % _key] = _make(_key)
