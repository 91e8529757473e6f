# SPDX-License-Identifier: Apache-2.0
"""rspamd's HTTP protocol: every way in which its clients were seen to write a request, and every
way in which one may fail."""
import gzip
import itertools
import os
import signal
import threading

import rspamd
from faults import Faults
from harness import equal, holds, wait_for
from rspamd import CHECKS, ENVELOPE, LEARNS, ask, check, error, exchange, ham, head, receive, spam, verdict_of
from test_documents import zstd
from wire import Wire, chunk

VALGRIND = True
SIZES = (1, 2, 7, 64, 100000)


def daemon_of(api):
    """The module's daemon, its model of mail taught once."""
    if api.get(rspamd.MAIL).status == 404:
        rspamd.teach(api.daemon)
    return api.daemon


def same(daemon, reply):
    """Whether a reply is the verdict on spam() that a plain request gets."""
    equal(verdict_of(reply.ok().json), verdict_of(check(daemon, spam())))


# ---- requests as recorded -----------------------------------------------------------------------
def test_rspamc(api):
    daemon = daemon_of(api)
    fields = [("Connection", "close"), ("Content-Type", "text/plain"), ("User", "bob"), ("Deliver-To", "bob@example.net"),
              ("Filename", "msg/spam.eml"), ("User-Agent", "rspamc"), ("Flags", "pass_all,body_block"), *ENVELOPE]
    with Wire(daemon) as wire:
        wire.send(head("POST", "/checkv2", [("Content-Length", len(spam())), *fields], "1.0") + spam())
        same(daemon, receive(wire, "POST", "/checkv2"))
        holds(wire.closed(), "the connection stays open")
    for path in ("/stat", "/auth", "/ping"):
        ask(daemon, path, method="GET", version="1.0").ok()


def test_filter_rspamd(api):
    """Keeps its connection."""
    daemon = daemon_of(api)
    fields = [("User-Agent", "Go-http-client/1.1"), ("Content-Length", len(spam())), ("Mta-Name", "mx"), ("Pass", "All"),
              *ENVELOPE, ("Accept-Encoding", "gzip")]
    with Wire(daemon) as wire:
        for _ in range(3):
            wire.send(head("POST", "/checkv2", fields) + spam())
            same(daemon, receive(wire, "POST", "/checkv2"))


def test_rspamd_proxy(api):
    """GET with a body, on loopback; and learning with it, as rspamc -E does."""
    daemon = daemon_of(api)
    fields = [("Connection", "close"), ("Flags", "milter,body_block"), ("MTA-Name", "mx"), ("Mailer", "virtual"), *ENVELOPE]
    same(daemon, ask(daemon, "/checkv2", spam(), fields, "GET"))
    same(daemon, ask(daemon, "/checkv2", spam(), fields, "GET", "1.0"))
    mail = ham("by-get")
    equal(ask(daemon, "/learnham", mail, method="GET").ok().json, {"success": True})
    equal(ask(daemon, "/learnham", mail, method="GET").status, 208)


def test_haraka(api):
    """Chunked, a chunk for each line."""
    daemon = daemon_of(api)
    for end in (b"\n", b"\r\n"):
        mail = spam().replace(b"\n", end)
        lines = mail.split(end)
        body = b"".join(chunk(line + end) for line in lines[:-1]) + b"0\r\n\r\n"
        start = head("POST", "/checkv2", [*ENVELOPE, ("Connection", "keep-alive"), ("Transfer-Encoding", "chunked")])
        same(daemon, exchange(daemon, start + body))


def test_a_mail_without_a_header_is_a_body(api):
    """Behind a mail server a mail that begins with an empty line is read as it is: what follows is the
    body. In a file it is a mail that was saved badly (tokenizer/mail_file.h)."""
    daemon = daemon_of(api)
    for before in (b"\n", b"+OK 9 octets\n", b" "):
        of_file = daemon.client.post(f"{rspamd.MAIL}/classify", before + spam(), "message/rfc822").ok().json
        equal(of_file["probabilities"], daemon.client.post(f"{rspamd.MAIL}/classify", spam(), "message/rfc822").json["probabilities"])
        holds(verdict_of(check(daemon, before + spam())) != verdict_of(check(daemon, spam())), before)


def test_chunks_of_any_size(api):
    daemon = daemon_of(api)
    for path, method in (("/checkv2", "POST"), ("/checkv2", "GET")):
        for size in SIZES:
            chunks = b"".join(chunk(spam()[i:i + size]) for i in range(0, len(spam()), size))
            start = head(method, path, [("Transfer-Encoding", "chunked")])
            same(daemon, exchange(daemon, start + chunks + b"0\r\n\r\n", method, path))
    for size in SIZES:
        mail = ham(f"in chunks of {size}")
        chunks = b"".join(chunk(mail[i:i + size]) for i in range(0, len(mail), size))
        start = head("POST", "/learnham", [("Transfer-Encoding", "chunked")])
        exchange(daemon, start + chunks + b"0\r\n\r\n", "POST", "/learnham").ok()
        equal(ask(daemon, "/learnham", mail).status, 208, f"chunks of {size}")


def test_requests_one_behind_the_other(api):
    """Sent without waiting for replies, which come in order."""
    daemon = daemon_of(api)
    mail = ham("behind the other")
    requests = [("/learnham", mail, 200), ("/checkv2", mail, 200), ("/learnham", mail, 208), ("/learnspam", mail, 200),
                ("/learnspam", b"", 400), ("/learnham", mail, 200)]
    with Wire(daemon) as wire:
        wire.send(b"".join(head("POST", path, [("Content-Length", len(body))]) + body for path, body, _ in requests))
        equal([receive(wire, "POST", path).status for path, _, _ in requests], [status for _, _, status in requests])


def test_many_at_once(api):
    """Learning and judging on many connections: every receipt is true."""
    daemon = api.another(config={"server": {"threads": 4}}).start()
    rspamd.teach(daemon)
    before, faults = rspamd.documents(daemon), []

    def learner(number):
        for i in range(20):
            label, mail = (("spam", spam), ("ham", ham))[i % 2]
            for status in (200, 208):
                reply = rspamd.learn(daemon, label, mail(f"{number} and {i}"))
                if reply.status != status:
                    faults.append(reply.body)
            if "BAYES_NOT_READY" in check(daemon, spam())["symbols"]:
                faults.append("not ready any more")

    threads = [threading.Thread(target=learner, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(faults, [])
    equal(rspamd.documents(daemon), {"spam": before["spam"] + 60, "ham": before["ham"] + 60})
    daemon.stop()


def test_a_body_byte_by_byte(api):
    """Each byte in a packet of its own, and the header fields too."""
    daemon = daemon_of(api)
    with Wire(daemon) as wire:
        wire.socket.setsockopt(6, 1, 1)  # IPPROTO_TCP, TCP_NODELAY
        data = head("POST", "/checkv2", [("Content-Length", len(spam()))]) + spam()
        for i in range(len(data)):
            wire.send(data[i:i + 1])
        same(daemon, receive(wire, "POST", "/checkv2"))


def test_expectations(api):
    daemon = daemon_of(api)
    with Wire(daemon) as wire:
        wire.send(head("POST", "/checkv2", [("Content-Length", len(spam())), ("Expect", "100-continue")]))
        equal(wire.until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue")
        wire.send(spam())
        same(daemon, receive(wire, "POST", "/checkv2"))
    # Who does not wait for leave is served as well.
    same(daemon, ask(daemon, "/checkv2", spam(), [("Expect", "100-continue")], "POST", "1.0"))


def test_paths_in_any_case(api):
    daemon = daemon_of(api)
    for path in ("/checkV2", "/CHECKV2", "/CheckV2"):
        same(daemon, ask(daemon, path, spam()))
    for path in ("/Check", "/SYMBOLS", "/sCan"):
        holds("default" in ask(daemon, path, spam()).ok().json, path)
    for path in ("/LearnHam", "/LEARNHAM"):
        holds(ask(daemon, path, ham("in-any-case")).status in (200, 208), path)
    for path in ("/PING", "/Stat", "/AUTH"):
        ask(daemon, path, method="GET").ok()
    equal(api.get("/V1/models").status, 404)


def test_fields_that_say_nothing_to_us(api):
    daemon = daemon_of(api)
    for fields in ([("Rcpt", f"<r{i}@example.net>") for i in range(200)], [("User", ""), ("Ip", "")], [("From", "<>")],
                   [("X-Whatever", "x" * 2000)], [("Settings", '{"groups": ["x"]}'), ("Flags", "no_log, skip")],
                   [("Password", "q1"), ("Raw", "yes"), ("Milter", "Yes"), ("Profile", "1"), ("TLS-Version", "1.3")],
                   [("Subject", "=?utf-8?q?=00?=")], [("Message-Length", "1"), ("Classifier", "other"), ("Flag", "11")],
                   [("ip", "not an address"), ("HELO", "\xff\xfe")], [("Accept", "image/png"), ("Accept-Encoding", "br")]):
        same(daemon, ask(daemon, "/checkv2", spam(), fields))


def test_any_type_of_content(api):
    daemon = daemon_of(api)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/octet-stream", "application/x-compressed",
                 "application/x-ndjson", "application/json", "application/mbox", "multipart/form-data; boundary=x",
                 "message/rfc822", "absurd", "", "text/plain; charset=unheard-of", "a/b, c/d"):
        same(daemon, ask(daemon, "/checkv2", spam(), [("Content-Type", kind)]))


def test_query_arguments_that_say_nothing_to_us(api):
    daemon = daemon_of(api)
    many = "&".join(f"argument{i}=x" for i in range(100))
    for query in ("ip=192.0.2.1&helo=a&from=b&rcpt=c&rcpt=d", "explain=5", "label=ham&id=1", "x", "&&", "=", many, "a=%ff", ""):
        same(daemon, ask(daemon, "/checkv2?" + query, spam()))


# ---- compression --------------------------------------------------------------------------------
def test_compressed_mails(api):
    daemon = daemon_of(api)
    for fields, packed in (([("Compression", "zstd")], zstd(spam())), ([("Content-Encoding", "zstd")], zstd(spam())),
                           ([("Compression", "zstd"), ("Content-Encoding", "zstd")], zstd(spam())),
                           ([("compression", "ZSTD"), ("Content-Type", "application/x-compressed")], zstd(spam())),
                           ([("Compression", "zstd"), ("Content-Encoding", "identity")], zstd(spam())),
                           ([("Compression", ""), ("Content-Encoding", "")], spam()),
                           ([("Content-Encoding", "gzip")], gzip.compress(spam()))):
        same(daemon, ask(daemon, "/checkv2", packed, fields))
        same(daemon, ask(daemon, "/checkv2", packed, fields, "GET", "1.0"))
        start = head("POST", "/checkv2", [*fields, ("Transfer-Encoding", "chunked")])
        same(daemon, exchange(daemon, start + b"".join(chunk(packed[i:i + 1]) for i in range(len(packed))) + b"0\r\n\r\n"))
    mail = ham("packed")
    ask(daemon, "/learnham", zstd(mail), [("Compression", "zstd")]).ok()
    equal(ask(daemon, "/learnham", mail).status, 208)


def test_broken_compression(api):
    """A mail that cannot be read cannot be judged: the mail server must try again, not let it pass."""
    daemon = daemon_of(api)
    packed = zstd(spam())
    before = rspamd.documents(daemon)
    for body, coding in ((b"not zstd", "zstd"), (packed[:-3], "zstd"), (packed[:5], "zstd"), (packed + b"trailing", "zstd"),
                         (packed, "gzip"), (spam(), "zstd"), (packed, "lzma"), (packed, "zstd, zstd")):
        for path in CHECKS:
            error(ask(daemon, path, body, [("Compression", coding)]), 503)
        for path in LEARNS:
            error(ask(daemon, path, body, [("Compression", coding)]), 415 if coding in ("lzma", "zstd, zstd") else 400)
    error(ask(daemon, "/checkv2", b"", [("Compression", "zstd")]), 503)
    equal(rspamd.documents(daemon), before)


def test_bodies_over_the_limit(api):
    """Too large is told as such: it would not be smaller the next time."""
    daemon = api.another(config={"server": {"body_bytes": "64K"}}).start()
    mail, limit = ham(), 64 << 10
    fitting = mail + b"x" * (limit - len(mail))
    ask(daemon, "/checkv2", fitting).ok()
    large = fitting + b"x"
    for path in (*CHECKS, *LEARNS):
        error(ask(daemon, path, large), 413, "65536")
        error(ask(daemon, path, zstd(large), [("Compression", "zstd")]), 413, "65536")
        start = head("POST", path, [("Transfer-Encoding", "chunked")])
        chunks = b"".join(chunk(large[i:i + 1000]) for i in range(0, len(large), 1000)) + b"0\r\n\r\n"
        error(exchange(daemon, start + chunks, "POST", path), 413, "65536")
    ask(daemon, "/learnham", fitting).ok()


def test_a_bomb(api):
    daemon = api.another(config={"server": {"body_bytes": "1M"}}).start()
    bomb = zstd(bytes(300 << 20))
    before = daemon.memory()[1]
    for path in ("/checkv2", "/learnspam"):
        for field in ("Compression", "Content-Encoding"):
            error(ask(daemon, path, bomb, [(field, "zstd")]), 413, "1048576")
    holds(daemon.memory()[1] - before < 100 << 20, f"{before} bytes grew to {daemon.memory()[1]}")


# ---- what is refused ----------------------------------------------------------------------------
def test_messages_that_are_not_the_body(api):
    """A client that names a file or shared memory sends no body: an empty mail would pass."""
    daemon = daemon_of(api)
    before = rspamd.documents(daemon)
    many = "&".join(f"argument{i}=x" for i in range(50))
    for name in ("Shm", "File", "Path"):
        for path in (*CHECKS, *LEARNS):
            for written in (name, name.lower(), name.upper()):
                for mail in (b"", spam()):
                    for value in ("/rhm.0123", "/etc/passwd", ""):
                        error(ask(daemon, path, mail, [(written, value), ("Shm-Length", "593")]), 400, "Shm, File and Path")
                error(ask(daemon, f"{path}?{written}=/etc/passwd", spam()), 400, "Shm, File and Path")
        error(ask(daemon, f"/checkv2?{many}&{name}=x", spam()), 400, "Shm, File and Path")
        error(ask(daemon, f"/checkv2?{name}", spam(), method="GET"), 400, "Shm, File and Path")
        start = head("GET", "/checkv2", [(name, "/rhm.0123")], "1.0")
        error(exchange(daemon, start, "GET"), 400, "Shm, File and Path")
    equal(rspamd.documents(daemon), before)
    same(daemon, ask(daemon, "/checkv2", spam(), [("Shm-Offset", "0"), ("Shm-Length", "1"), ("Filename", "/etc/passwd")]))


def test_no_mail(api):
    """No symbols, no action; and nothing to learn from."""
    daemon = daemon_of(api)
    before = rspamd.documents(daemon)
    chunked = [("Transfer-Encoding", "chunked")]
    for path in CHECKS:
        for reply in (ask(daemon, path), ask(daemon, path, method="GET"), exchange(daemon, head("GET", path, []), "GET", path),
                      exchange(daemon, head("POST", path, [], "1.0"), "POST", path), ask(daemon, path, b"From x\n"),
                      exchange(daemon, head("POST", path, chunked) + b"0\r\n\r\n", "POST", path)):
            report = reply.ok().json
            inner = report if path == "/checkv2" else report["default"]
            equal((inner["action"], inner["score"], report["messages"]), ("no action", 0, {}), path)
            holds("BAYES" not in reply.body.decode() and "milter" not in reply.body.decode(), reply.body)
    for path in LEARNS:
        for reply in (ask(daemon, path), ask(daemon, path, b"From x\r\n"), ask(daemon, path, method="GET"),
                      exchange(daemon, head("POST", path, chunked) + b"0\r\n\r\n", "POST", path)):
            equal(error(reply, 400), {"error": "Empty body is not permitted"})
    equal(rspamd.documents(daemon), before)


def test_broken_queries(api):
    daemon = daemon_of(api)
    error(ask(daemon, "/checkv2?a=%zz", spam()), 503, "percent-escape")
    error(ask(daemon, "/learnspam?a=%00", spam()), 400, "percent-escape")
    error(ask(daemon, "/ping?%", method="GET"), 400, "percent-escape")


def test_wrong_methods_and_paths(api):
    daemon = daemon_of(api)
    for path in (*CHECKS, *LEARNS):
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            reply = ask(daemon, path, method=method)
            equal(reply.status, 405, path)
            equal({name.strip() for name in reply.headers["allow"].split(",")}, {"GET", "HEAD", "POST"})
    for path in ("/ping", "/stat", "/auth"):
        equal(ask(daemon, path, spam()).status, 405)
    for path in ("/checkv4", "/checkv", "/checkv2/", "/learn", "/fuzzyadd", "/statreset", "/v1/checkv2", "/check/v2"):
        equal(ask(daemon, path, spam()).status, 404, path)


def test_pages_of_other_sites(api):
    daemon = daemon_of(api)
    before = rspamd.documents(daemon)
    for path in (*CHECKS, *LEARNS):
        for origin in ("http://evil.example", "null"):
            error(ask(daemon, path, ham("planted"), [("Origin", origin)]), 403, "Origin")
        error(ask(daemon, path, ham("planted"), [("Host", "evil.example")]), 403, "Host")
    error(ask(daemon, "/stat", method="GET", headers=[("Origin", "http://evil.example")]), 403, "Origin")
    equal(rspamd.documents(daemon), before)


def test_two_lengths(api):
    """What a proxy in front may read as another request than we do."""
    data = head("POST", "/learnspam", [("Content-Length", len(spam())), ("Transfer-Encoding", "chunked")])
    before = rspamd.documents(daemon_of(api))
    equal(exchange(api.daemon, data + spam(), "POST", "/learnspam").status, 400)
    equal(rspamd.documents(api.daemon), before)


# ---- failures -----------------------------------------------------------------------------------
def test_a_store_that_fails(api):
    """What could not be brought to the disk is not learned, and is said so; mails are judged on."""
    faults = Faults(api)
    daemon = faults.daemon
    daemon.start()
    rspamd.teach(daemon)
    before = rspamd.documents(daemon)
    faults.fail("sync")
    for path in LEARNS:
        error(ask(daemon, path, spam("never")), 503)
    equal(rspamd.documents(daemon), before)
    equal(check(daemon, spam())["action"], "add header")
    faults.clear()
    daemon.kill()
    daemon.start()
    ask(daemon, "/learnspam", spam("at last")).ok()
    daemon.stop()


def test_more_to_learn_than_may_wait(api):
    """Who is told to come back has learned nothing."""
    daemon = api.another(config={"server": {"queue_changes": 1, "threads": 4}, "store": {"group_documents": 1}}).start()
    learned, serial = 0, itertools.count()

    def overflow():
        nonlocal learned
        wires = [Wire(daemon) for _ in range(24)]
        for wire in wires:
            mail = spam(next(serial))
            wire.send(head("POST", "/learnspam", [("Content-Length", len(mail))]) + mail)
        replies = [receive(wire, "POST", "/learnspam") for wire in wires]
        for wire in wires:
            wire.close()
        learned += sum(reply.status == 200 for reply in replies)
        full = [reply for reply in replies if reply.status != 200]
        for reply in full:
            error(reply, 503, "overloaded")
        return full
    wait_for(overflow, "some mails find the queue full", 20)
    equal(rspamd.documents(daemon), {"spam": learned})
    daemon.stop()


def test_a_daemon_that_stops(api):
    """While a running request is waited for, others are told to come again."""
    daemon = api.another(config={"server": {"stop_seconds": 3600, "timeout": 3600}}).start()
    kept = [(path, Wire(daemon)) for path in (*CHECKS, *LEARNS)]
    for _, wire in kept:
        wire.send(head("GET", "/ping", []))
        receive(wire, "GET", "/ping").ok()
    with Wire(daemon) as slow_one:
        slow_one.send(head("POST", "/learnspam", [("Content-Length", len(spam())), ("Expect", "100-continue")]))
        equal(slow_one.until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue")  # only one that has begun is waited for
        slow_one.send(spam()[:-1])
        daemon.signal(signal.SIGTERM)
        wait_for(lambda: stops(daemon), "new connections are refused", 5)
        told = [tell(path, wire) for path, wire in kept]
    equal(daemon.wait(10), 0)
    holds(any(told), "nobody was told anything")


def stops(daemon):
    try:
        with Wire(daemon, timeout=2) as wire:
            wire.send(head("GET", "/ping", []))
            return wire.until(b"\r\n") in (None, b"HTTP/1.1 503 Service Unavailable")
    except OSError:
        return True


def tell(path, wire):
    """Whether the stopping daemon answered on a connection that it had; it may have closed it."""
    sent = wire.try_send(head("POST", path, [("Content-Length", len(spam()))]) + spam())
    is_answered = sent and wire.more()
    if is_answered:
        error(receive(wire, "POST", path), 503)
    wire.close()
    return is_answered


# ---- the controller -----------------------------------------------------------------------------
def test_ping(api):
    reply = ask(api.daemon, "/ping", method="GET").ok()
    equal((reply.body, reply.headers["content-type"].split(";")[0]), (b"pong\r\n", "text/plain"))


def test_auth(api):
    for reply in (ask(api.daemon, "/auth", method="GET"), ask(api.daemon, "/auth", b"", [("Password", "any")], "GET")):
        body = reply.ok().json
        equal((body["auth"], type(body["version"]), type(body["uptime"])), ("ok", str, int))
    holds(body["version"] in api.tool("--version")[1], body)


def test_stat(api):
    daemon = api.another(config={"filter": {"test_patterns": "yes"}}).start()

    def stat():
        return ask(daemon, "/stat", method="GET").ok().json

    body = stat()
    for member in ("scanned", "learned", "spam_count", "ham_count", "uptime", "bytes_allocated", "total_learns"):
        holds(isinstance(body[member], int) and not isinstance(body[member], bool), f"{member}: {body}")
    equal((body["scanned"], body["learned"], body["total_learns"], body["read_only"]), (0, 0, 0, False))
    equal(body["actions"], {"no action": 0, "add header": 0, "rewrite subject": 0, "reject": 0})
    rspamd.teach(daemon)
    ask(daemon, "/learnspam", spam("one more")).ok()
    ask(daemon, "/learnspam", spam("one more"))  # nothing new
    for mail in (spam(), ham(), ham(), b"\n\nX" + rspamd.GTUBE, b"\n\nZ" + rspamd.GTUBE, b""):
        check(daemon, mail)
    body = stat()
    equal(body["actions"], {"no action": 2, "add header": 1, "rewrite subject": 1, "reject": 1})
    equal((body["scanned"], body["spam_count"], body["ham_count"]), (5, 3, 2))
    equal((body["learned"], body["total_learns"]), (25, 25))
    files = {row["symbol"]: row for row in body["statfiles"]}
    labels = daemon.client.get(rspamd.MAIL).json["labels"]
    for symbol, label in (("BAYES_SPAM", "spam"), ("BAYES_HAM", "ham")):
        row = files[symbol]
        equal((row["revision"], row["used"], row["total"]), (labels[label]["documents"], *[labels[label]["tokens"]] * 2))
        equal((row["type"], row["languages"], row["users"]), ("bayesd", 0, 1))
    holds(body["uptime"] < 600 and body["bytes_allocated"] > 0, body)
    wait_for(lambda: stat()["uptime"] > body["uptime"], "time goes by", 5)
