# SPDX-License-Identifier: Apache-2.0
"""bayesd-milter, the real program, between a mail server (mta.py, and miltertest of OpenDKIM) and a stub
of bayesd; at the end the real one."""
import grp
import os
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

import mta
from harness import FAULTS, clean_environment, equal, holds, patience, slow, wait_for, _die_with_parent
from mta import Mta, Stub, http, verdict
from ports import free_port
from test_rspamd_verdicts import several

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "X-Bayes-Status"
AWAY = (NAME, "none, bayesd is away")
FIELDS = [("From", "alice@example.org"), ("Subject", "lunch")]
TSAN = "ignore_noninstrumented_modules=1:suppressions=" + os.path.join(HERE, "..", "tsan.supp")
GTUBE = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"


class Milter:
    """The bayesd-milter that was built beside the daemon."""

    def __init__(self, api, url, *options, socket_at=None, environment=None):
        self.path = os.path.join(os.path.dirname(api.binary), "bayesd-milter")
        holds(os.access(self.path, os.X_OK), f"{self.path} is not there: build it first")
        self.at = socket_at or "unix:" + os.path.join(api.new_folder(), "socket")
        self.command = [self.path, "--socket", self.at, "--url", url, *options]
        self.environment = clean_environment(**(environment or {}))
        self.environment["TSAN_OPTIONS"] += ":" + TSAN

    def __enter__(self):
        self.lines, self.ready = [], threading.Event()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=self.environment,
                                        preexec_fn=_die_with_parent)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.ready.wait(patience(20))
        if not any("ready on" in line for line in self.lines):
            self.process.kill()
            self.process.wait()
            raise AssertionError("the milter did not get ready:\n" + self.said())
        return self

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
            if "ready on" in self.lines[-1]:
                self.ready.set()
        self.ready.set()

    def server(self):
        """The number of the second process, which has libmilter."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            number, = file.read().split()
        return int(number)

    def told(self, word, times=1):
        """The line with this word that came last, after so many of them have come."""
        found = wait_for(lambda: (lines := [line for line in self.lines if word in line])[times - 1:] and lines,
                         f"the milter logs {word!r} {times} times")
        equal(len(found), times, self.said())
        return found[-1]

    def said(self):
        return "\n".join(self.lines)

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()

    def stop(self, number=signal.SIGTERM):
        if self.process.returncode is not None:
            return
        self.process.send_signal(number)
        try:
            status = self.process.wait(patience(30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the milter does not stop:\n" + self.said()) from None
        self.reader.join(10)
        self.process.stdout.close()
        equal(status, 0, "exit status; the milter said:\n" + self.said())
        for fault in FAULTS:
            holds(fault not in self.said(), self.said())

    def mail(self, fields=None, body=b"hello\r\n", **how):
        """One mail on a connection of its own."""
        with Mta(self.at) as server:
            return server.mail(FIELDS if fields is None else fields, body, **how)


def status_of(result, fields=None):
    """The one X-Bayes-Status that the recipient sees."""
    found = [value for name, value in result.header(FIELDS if fields is None else fields)
             if name.strip().lower() == NAME.lower()]
    equal(len(found), 1, f"fields {NAME}: {found}")
    return found[0]


# ---- what bayesd is told ------------------------------------------------------------------------
def test_the_question(api):
    with Stub() as stub, Milter(api, stub.url + "/") as milter:
        fields = [("Received", "from a\n\tby b;\n\ttoday"), ("From", "alice@example.org"),
                  ("Subject", "=?utf-8?q?l=C3=BCnch?="), ("X-Odd", ""), ("X-Raw", b"\xff\xfe caf\xe9")]
        body = b"one\r\n\r\n.\r\nbytes \x00\x80\xff\r\n" * 9000  # several pieces
        with Mta(milter.at) as server:
            result = server.mail(fields, body, user="alice", queue_id="4XyZ-1",
                                 recipients=("<bob@example.net>", "<carol@example.net>"))
        holds(result.passes(), result.end)
        question, = stub.questions
        equal(question.line, "POST /checkv2 HTTP/1.1")
        want = {"From": "<alice@example.org>", "IP": "192.0.2.10", "Helo": "client", "User": "alice",
                "Hostname": "client.example.org", "Queue-Id": "4XyZ-1", "MTA-Name": "mx.example.net",
                "Rcpt": ["<bob@example.net>", "<carol@example.net>"], "Deliver-To": None,
                "Authorization": None}
        equal({name: question.one(name) for name in want}, want)
        head = (b"Received: from a\r\n\tby b;\r\n\ttoday\r\nFrom: alice@example.org\r\n"
                b"Subject: =?utf-8?q?l=C3=BCnch?=\r\nX-Odd: \r\nX-Raw: \xff\xfe caf\xe9\r\n\r\n")
        equal(question.body, head + body, "the mail as it is sent")


def test_one_recipient_is_delivered_to(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        milter.mail()
        equal(stub.questions[0].one("Deliver-To"), "<bob@example.net>")
        equal(stub.questions[0].one("Rcpt"), "<bob@example.net>")
        equal(stub.questions[0].one("User"), None)
        milter.mail(sender="<>")
        equal(stub.questions[1].one("From"), "<>")


def test_addresses_of_clients(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        for address, want in ((("6", 25, "2001:db8::17"), "2001:db8::17"), (("U", 0, ""), None)):
            with Mta(milter.at, connect=False) as server:
                server.connect("localhost", address, helo=None)
                holds(server.mail(FIELDS).passes(), address)
            equal(stub.questions[-1].one("IP"), want)
            equal(stub.questions[-1].one("Helo"), None)


def test_every_recipient_counts(api):
    """With bayesd itself: what Bob's model calls spam passes as what it is to Carol, and each may have a field."""
    made = several(api)
    made.stop()
    fields = [("From", "Deals <win@spam.example>"), ("Subject", "cheap watches"), ("Message-ID", "<s@spam.example>"),
              (f"{NAME}-mail-bob", "ham, forged")]
    body = b"Order cheap watches today and win a prize\r\nhttp://spam.example/win\r\n"
    for how, names in (("mildest", set()), ("each", {f"{NAME}-mail-bob", f"{NAME}-mail-carol"})):
        daemon = api.another(data=made.data, config={"filter": {"user_model": "mail-%u", "several_users": how}}).start()
        with Milter(api, daemon.url) as milter:
            def added(*recipients):
                with Mta(milter.at) as server:
                    result = server.mail(fields, body, recipients=recipients)
                holds(result.passes(), result)
                return {name: value for name, value in result.header(fields) if name.startswith(NAME)}
            holds(added("<bob>")[NAME].startswith("spam, "), "Bob alone")
            for recipients in (("<bob>", "<carol>"), ("<carol>", "<bob>", "<dan>")):
                got = added(*recipients)
                holds(got[NAME].startswith("ham, ") and got[NAME].endswith("model=mail-%u"), got)
                if how == "each":
                    holds(names <= set(got) and got[f"{NAME}-mail-bob"].startswith("spam, "), got)
                    holds(got[f"{NAME}-mail-carol"].startswith("ham, "), got)
        daemon.stop()


def test_hostile_envelope(api):
    """Nothing that a client says becomes a header line of the request, or a request too long."""
    with Stub() as stub, Milter(api, stub.url) as milter:
        with Mta(milter.at, connect=False) as server:
            server.connect("h" * 5000, helo=b"a\r\nDeliver-To: root\r\n\r\nGET / HTTP/1.1\x01\x7f")
            recipients = [b"<user%d@example.net>" % i for i in range(3000)]
            holds(server.mail(FIELDS, recipients=recipients, sender=b"<%s>" % (b"x" * 1023)).passes(), "mail")
        question, = stub.questions
        equal(question.one("Helo"), "a??Deliver-To: root????GET / HTTP/1.1??")
        for name in ("Hostname", "From", "Deliver-To"):
            equal(question.one(name), None, name)
        equal(question.all("Rcpt"), [], "some of them would decide for all")
        with Mta(milter.at) as server:
            holds(server.mail(FIELDS, recipients=recipients[:250]).passes(), "mail")
        equal(stub.questions[-1].all("Rcpt"), [r.decode() for r in recipients[:250]])


def test_hostile_header(api):
    """A value with line ends in it stays one field; thousands of fields are as good as a few."""
    with Stub() as stub, Milter(api, stub.url) as milter:
        holds(milter.mail([("Subject", "a\r\n\r\nbody\rX: y\n\nFrom: z"), ("X", "\r\n ")]).passes(), "mail")
        equal(stub.questions[0].body, b"Subject: abodyX: yFrom: z\r\nX: \r\n \r\n\r\nhello\r\n")
        fields = [("X-%d" % i, "v" * 100) for i in range(5000)] + [(NAME, "ham")] * 300
        equal(status_of(milter.mail(fields), fields), "ham, probability=0.1")


def test_max_bytes(api):
    with Stub() as stub, Milter(api, stub.url, "--max-bytes", "16K") as milter:
        body = b"x" * 78 + b"\r\n"
        with Mta(milter.at) as server:
            server.mail(FIELDS, body * 10000, piece=8000)
            holds(server.sent <= 24000, f"{server.sent} bytes were taken")
        # A mail server that cannot skip sends all of it, and it goes nowhere.
        with Mta(milter.at, steps=mta.ALL_STEPS & ~mta.SKIP) as server:
            server.mail(FIELDS, body * 1000000, piece=60000)
            equal(server.sent, len(body) * 1000000)
        head = b"From: alice@example.org\r\nSubject: lunch\r\n\r\n"
        for question in stub.questions:
            equal(question.body, (head + body * 1000)[:16384])
        milter.mail([("X", "y" * 30000), (NAME, "ham"), ("Subject", "z")])
        equal(stub.questions[-1].body, b"X: " + b"y" * 16381)
        with open(f"/proc/{milter.server()}/status", encoding="ascii") as file:
            peak = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
        holds(peak < 40000 * slow(), f"{peak} KiB of memory")
        milter.told(" cut ", 3)


def test_token(api):
    path = os.path.join(api.new_folder(), "token")
    with open(path, "w", encoding="ascii") as file:
        file.write("secret-token\n")
    with Stub() as stub, Milter(api, stub.url, "--token-file", path) as milter:
        milter.mail()
        equal(stub.questions[0].one("Authorization"), "Bearer secret-token")


# ---- what becomes of a mail ---------------------------------------------------------------------
def test_header_is_added(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        for action in ("no action", "add header"):
            stub.says(verdict(action, milter={"add_headers": {NAME: "spam, probability=0.95", "X-Two": "a\n\tb"}}))
            result = milter.mail()
            holds(result.passes(), result.end)
            equal(result.header(FIELDS), FIELDS + [(NAME, "spam, probability=0.95"), ("X-Two", "a\n\tb")])
        stub.says({"action": "no action"})  # the least there is
        result = milter.mail()
        holds(result.passes() and not result.changes, result.changes)


def test_forged_fields_go(api):
    fields = [(NAME, "ham, forged")] + FIELDS + [("x-bayes-status", "a"), ("X-BAYES-STATUS ", "b"),
                                                 ("X-Bayes-Status-Not", "stays"), (NAME, "c\n d")]
    kept = FIELDS + [("X-Bayes-Status-Not", "stays")]
    with Stub() as stub, Milter(api, stub.url, "--skip-authenticated", "--on-reject", "tag") as milter:
        for reply, status in ((verdict(), "ham, probability=0.1"),
                              (verdict("reject", milter={"add_headers": {NAME: "spam"}}), "spam"),
                              (b"nonsense", AWAY[1])):
            stub.says(reply)
            equal(milter.mail(fields).header(fields), kept + [(NAME, status)])
        asked = len(stub.questions)
        equal(milter.mail(fields, user="alice").header(fields), kept)
        equal(len(stub.questions), asked, "a user who logged in")


def test_hidden_fields_go(api):
    """Some readers end a line at a bare CR: there too only the filter's own verdict is to be seen."""
    fields = [("Subject", "a"), ("Subject", "b\rX-Bayes-Status : ham\n more\r"), ("X-Two", "\r\r\nx-bayes-STATUS: ham"),
              ("X-Good", "a\rb: c\r\n\td"), ("X-Name", "\rX-Bayes-Status-Not: ham")]
    clean = [fields[0], ("Subject", "b X-Bayes-Status : ham\n more "), ("X-Two", " \r x-bayes-STATUS: ham"), *fields[3:]]
    with Stub() as stub, Milter(api, stub.url) as milter:
        for reply, status in ((verdict(), "ham, probability=0.1"), (b"nonsense", AWAY[1])):
            stub.says(reply)
            equal(milter.mail(fields).header(fields), clean + [(NAME, status)])
        stub.says(verdict())
        hidden = ("X-A", "\rX-Bayes-Status: ham")
        holds(milter.mail([hidden] * 16).passes(), "16 of them")
        equal(milter.mail([hidden] * 17).text[:9], "550 5.6.0")
        holds(milter.mail().passes(), "the next one")


def test_other_fields_are_removed(api):
    fields = [("X-Spam", "1"), ("X-Two", "1"), ("x-spam", "2"), ("X-Two", "2"), ("X-Two", "3")]
    with Stub() as stub, Milter(api, stub.url) as milter:
        stub.says(verdict(milter={"remove_headers": {"X-Spam": 0, "X-Two": 2, "X-None": 0, "X-Many": 7}}))
        equal(milter.mail(fields).header(fields), [("X-Two", "1"), ("X-Two", "3")])


def test_subject_is_rewritten(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        stub.says(verdict("rewrite subject", subject="***SPAM*** lunch"))
        status = (NAME, "ham, probability=0.1")
        equal(milter.mail().header(FIELDS), [FIELDS[0], ("Subject", "***SPAM*** lunch"), status])
        bare = [("From", "alice@example.org")]
        equal(milter.mail(bare).header(bare), bare + [status, ("Subject", "***SPAM*** lunch")])
        stub.says(verdict("no action", subject="not asked for"))
        equal(milter.mail().header(FIELDS), FIELDS + [status])


def test_reject(api):
    said = verdict("reject", messages={"smtp_message": "Spam, 100 % sure\tof it \u20ac"})
    with Stub() as stub, Milter(api, stub.url) as milter:
        stub.says(said)
        result = milter.mail()
        equal((result.end, result.text), ("y", "550 5.7.1 Spam, 100 %% sure of it    "), "reply")
        stub.says(verdict("reject"))
        equal(milter.mail().text, "550 5.7.1 This message is refused as spam")
        stub.says(verdict("reject", messages={"smtp_message": "%" * 5000}))
        result = milter.mail()
        holds(result.end == "y" and len(result.text) < 510, result.text)
    want = {"quarantine": lambda r: r.passes() and r.quarantined() and status_of(r) == "ham, probability=0.1",
            "discard": lambda r: r.end == "d",
            "tag": lambda r: r.passes() and not r.quarantined() and status_of(r) == "ham, probability=0.1"}
    for action, is_right in want.items():
        with Stub() as stub, Milter(api, stub.url, "--on-reject", action) as milter:
            stub.says(said)
            result = milter.mail()
            holds(is_right(result), f"{action}: {vars(result)}")


def test_soft_reject(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        stub.says(verdict("soft reject", messages={"smtp_message": "Come back"}))
        result = milter.mail()
        equal((result.end, result.text), ("y", "451 4.7.1 Come back"))
        stub.says(verdict("soft reject"))
        equal(milter.mail().text, "451 4.7.1 The mail cannot be checked now, try again later")


# ---- bayesd is away -----------------------------------------------------------------------------
def drip(question, connection):
    """A byte now and then: progress, but no end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    held = threading.Event()
    while not held.wait(0.2):
        connection.sendall(b" ")


def silence(question, connection):
    connection.recv(1)  # until the milter has had enough


def endless(question, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


GOOD = http(verdict())
FAILURES = {
    "closed at once": lambda question, connection: None,
    "half a status line": lambda question, connection: connection.sendall(b"HTTP/1."),
    "half a reply": lambda question, connection: connection.sendall(GOOD[:-40]),
    "half a header": lambda question, connection: connection.sendall(GOOD[:60]),
    "no HTTP": b"220 mx.example.net ESMTP\r\n",
    "no JSON": http(b"<html>It works!</html>"),
    "nothing": http(b""),
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "JSON that ends too early": http(b'{"action": "no action"'),
    "an array": http(b'["action"]'),
    "deep JSON": http(b"[" * 100000),
    "no action": http({}),
    "an action of another kind": http(verdict(action=7)),
    "an unknown action": http(verdict("explode")),
    "a subject is missing": http(verdict("rewrite subject")),
    "a subject of two lines": http(verdict("rewrite subject", subject="a\nBcc: all")),
    "a subject with a carriage return": http(verdict("rewrite subject", subject="a\rb")),
    "a subject with a NUL": http(verdict("rewrite subject", subject="a\0b")),
    "a subject that is a number": http(verdict("rewrite subject", subject=1)),
    "a reason of two lines": http(verdict("reject", messages={"smtp_message": "a\n550 b"})),
    "milter is an array": http(verdict(milter=[])),
    "a header of two": http(verdict(milter={"add_headers": {"X": "a\r\nBcc: all"}})),
    "a header of two names": http(verdict(milter={"add_headers": {"X: a\nY": "b"}})),
    "a header without a name": http(verdict(milter={"add_headers": {"": "b"}})),
    "a header that is a number": http(verdict(milter={"add_headers": {"X": 1}})),
    "a header too long": http(verdict(milter={"add_headers": {"X": "a" * 9000}})),
    "too many headers": http(verdict(milter={"add_headers": {"X%d" % i: "a" for i in range(1025)}})),
    "a place below 0": http(verdict(milter={"remove_headers": {"X": -1}})),
    "a place too far": http(verdict(milter={"remove_headers": {"X": 2 ** 40}})),
    "a place that is text": http(verdict(milter={"remove_headers": {"X": "0"}})),
    "busy": http({"error": "stopping", "action": "soft reject"}, "503 Service Unavailable"),
    "an error": http({"error": "out of order"}, "500 Internal Server Error"),
    "a token is wanted": http(verdict(), "401 Unauthorized"),
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "a reply without end": endless,
    "silence": silence,
    "a reply that drips": drip,
}


def test_failures_let_mail_pass(api):
    fields = [(NAME, "ham, forged")] + FIELDS
    with Stub() as stub, Milter(api, stub.url, "--timeout", "1", "--pause", "0") as milter:
        for number, (what, reply) in enumerate(FAILURES.items(), 1):
            stub.says(reply)
            result = milter.mail(fields)
            holds(result.passes(), f"{what}: {vars(result)}")
            equal(result.header(fields), FIELDS + [AWAY], what)
            milter.told("warning: not checked queue_id=4XyZ accepted: ", number)
        stub.says(verdict())
        wait_for(lambda: status_of(milter.mail()) == "ham, probability=0.1", "a verdict after all of them")


def test_failures_put_mail_off(api):
    with Stub() as stub, Milter(api, stub.url, "--timeout", "1", "--pause", "0", "--on-failure", "tempfail") as milter:
        for what, reply in FAILURES.items():
            stub.says(reply)
            result = milter.mail()
            equal((result.end, result.text),
                  ("y", "451 4.7.1 The mail cannot be checked now, try again later"), what)
        stub.says(verdict())
        wait_for(lambda: milter.mail().passes(), "a mail passes after all of them")


def test_a_bayesd_that_hangs_is_not_waited_for(api):
    """One mail waits for the time-out; those behind it do not."""
    with Stub() as stub, Milter(api, stub.url, "--timeout", "1", "--pause", "600") as milter:
        stub.says(silence)
        equal(milter.mail().header(FIELDS), FIELDS + [AWAY])
        milter.told("bayesd hangs")
        for _ in range(10):
            equal(milter.mail().header(FIELDS), FIELDS + [AWAY])
        equal(len(stub.questions), 1, "questions")


def test_a_bayesd_that_hung_is_asked_again(api):
    """After the pause one mail asks whether it goes again, then all do."""
    with Stub() as stub, Milter(api, stub.url, "--timeout", "1", "--pause", "1") as milter:
        stub.says(silence)
        equal(milter.mail().header(FIELDS), FIELDS + [AWAY])
        stub.says(verdict())
        wait_for(lambda: status_of(milter.mail()) != AWAY[1], "a verdict again")
        wait_for(lambda: "bayesd is asked again" in milter.said(), "the log says so")

        def all_ask():
            asked = len(stub.questions)
            told = [status_of(milter.mail()) for _ in range(5)]
            return told == ["ham, probability=0.1"] * 5 and len(stub.questions) == asked + 5
        wait_for(all_ask, "each of five mails is asked about")


def test_a_mail_that_takes_long_is_no_bayesd_that_hangs(api):
    """When others are answered meanwhile."""
    with Stub() as stub, Milter(api, stub.url, "--timeout", "5", "--pause", "600") as milter:
        stub.says(lambda question, connection:
                  silence(question, connection) if question.one("Queue-Id") == "slow" else GOOD)
        slow_one = threading.Thread(target=lambda: milter.mail(queue_id="slow"))
        slow_one.start()
        wait_for(lambda: stub.questions, "the slow mail")
        holds(milter.mail().passes(), "another")
        slow_one.join()
        milter.told("not checked queue_id=slow")
        equal(status_of(milter.mail()), "ham, probability=0.1")


def test_nobody_listens(api):
    url = f"http://127.0.0.1:{free_port()}"
    for action, end in (("accept", "c"), ("tempfail", "y")):
        with Milter(api, url, "--on-failure", action) as milter:
            equal(milter.mail().end, end)
            milter.told("connect")


def test_kept_connection_was_closed(api):
    """bayesd closes idle connections: the next mail must not suffer from that."""
    with Stub() as stub, Milter(api, stub.url) as milter:
        gone = threading.Event()

        def answer(question, connection):
            connection.sendall(GOOD)
            gone.set()  # and closes, without having said so

        stub.says(answer)
        for _ in range(5):
            equal(status_of(milter.mail()), "ham, probability=0.1")
            holds(gone.wait(patience(10)), "an answer")
            gone.clear()


# ---- connections --------------------------------------------------------------------------------
def test_connections_are_kept(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        for _ in range(10):
            milter.mail()
        equal((stub.connections, len(stub.questions)), (1, 10))


def test_several_mails_of_a_connection(api):
    with Stub() as stub, Milter(api, stub.url) as milter, Mta(milter.at) as server:
        server.mail([(NAME, "forged")] + FIELDS, b"first\r\n", user="alice", queue_id="1",
                    recipients=("<a@example.net>", "<b@example.net>"))
        server.envelope("<given-up@example.org>", ("<c@example.net>",))
        equal(server.command(b"L", NAME, "forged")[0], "c")
        server.send(b"A")  # no reply
        result = server.mail(FIELDS, b"second\r\n", queue_id="2")
        equal(result.header(FIELDS), FIELDS + [(NAME, "ham, probability=0.1")])
        first, second = stub.questions
        holds(second.body.endswith(b"\r\n\r\nsecond\r\n") and b"first" not in second.body, second.body)
        equal([second.one(n) for n in ("From", "Rcpt", "Queue-Id", "IP", "Deliver-To")],
              ["<alice@example.org>", "<bob@example.net>", "2", "192.0.2.10", "<bob@example.net>"])
        equal(len(first.all("Rcpt")), 2)


def test_mails_at_the_same_time(api):
    """Each gets its own verdict."""
    def answer(question, connection):
        return http(verdict(milter={"add_headers": {NAME: question.one("Queue-Id")}}))

    with Stub() as stub, Milter(api, stub.url) as milter:
        stub.says(answer)
        wrong = []

        def work(number):
            try:
                for i in range(20):
                    name = f"{number}-{i}"
                    if status_of(milter.mail(queue_id=name)) != name:
                        wrong.append(name)
            except Exception as error:  # told by the main thread
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(wrong, [])
        holds(stub.connections <= 21 * 20, stub.connections)


def test_no_mail_waits_for_another(api):
    """bayesd answers none before it has been asked about all."""
    together = threading.Barrier(8)

    def answer(question, connection):
        together.wait(patience(20))
        return GOOD

    with Stub() as stub, Milter(api, stub.url, "--timeout", "200") as milter:
        stub.says(answer)
        for _ in range(20):  # left alone, libmilter forgets one of them in every other round
            results = []
            threads = [threading.Thread(target=lambda: results.append(status_of(milter.mail())))
                       for _ in range(together.parties)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            equal(results, ["ham, probability=0.1"] * together.parties)


def test_mail_servers_that_break_off(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        silent = threading.Event()
        with Mta(milter.at) as server:
            server.envelope()
            server.command(b"L", "Subject", "never finished")
            server.socket.close()
        for data in (b"", b"\0\0\0\0", b"\xff\xff\xff\xffB", b"\0\0\0\1E", b"\0\0\0\x0dO" + b"\0" * 12,
                     b"GET / HTTP/1.1\r\n\r\n", struct.pack("!I", 70) + b"L" + b"x" * 69):
            with socket.socket(socket.AF_UNIX) as raw:
                raw.connect(milter.at[5:])
                raw.sendall(data)
        # It goes while bayesd is asked.
        stub.says(lambda question, connection: silent.wait(patience(30)) and GOOD)
        with Mta(milter.at) as server:
            server.envelope()
            server.send(b"N")
            server.receive()
            server.send(b"E")
            wait_for(lambda: stub.questions, "a question")
            server.socket.close()
        silent.set()
        stub.says(verdict())
        holds(milter.mail().passes(), "after all of them")
        try:
            with Mta(milter.at, actions=mta.ADD):  # lets nobody change headers
                raise AssertionError("that is agreed to")
        except ConnectionError:
            pass
        milter.told("does not let filters")


def test_packets_may_come_in_any_pieces(api):
    with Stub() as stub, Milter(api, stub.url) as milter, Mta(milter.at) as server:
        packets = b"".join(struct.pack("!I", len(p)) + p for p in (
            b"DM{auth_authen}\0alice\0", b"M<a@example.org>\0", b"DR\0\0", b"R<b@example.net>\0", b"T",
            b"LSubject\0lunch\0", b"N", b"Bhello\r\n", b"DEi\0" b"4XyZ\0", b"E"))
        for i in range(len(packets)):
            server.socket.sendall(packets[i:i + 1])
        for letter in "ccccc":
            equal(server.receive()[0], letter)
        equal(server.receive()[0], "c")
        holds(server.outcome().passes(), "the mail")
        question, = stub.questions
        equal((question.one("User"), question.one("Queue-Id"), question.body),
              ("alice", "4XyZ", b"Subject: lunch\r\n\r\nhello\r\n"))


def test_a_long_field_does_not_get_round_the_filter(api):
    """Postfix sends a field of 100,000 bytes whole, which libmilter, left to its default, answers with a hang-up; by
    milter_default_action the mail would pass unchecked."""
    fields = [("Subject", "x" * 100000), (NAME, "ham, forged"), *FIELDS[:1]]
    with Stub() as stub, Milter(api, stub.url) as milter:
        equal(status_of(milter.mail(fields), fields), "ham, probability=0.1")


def test_max_connections(api):
    with Stub() as stub, Milter(api, stub.url, "--max-connections", "3") as milter:
        servers = [Mta(milter.at) for _ in range(3)]
        try:
            with Mta(milter.at):
                raise AssertionError("a fourth connection is served")
        except ConnectionError:
            pass
        holds("3 connections are open" in milter.told("turned away"), milter.said())
        for server in servers:
            holds(server.mail(FIELDS).passes(), "an open connection")
        servers.pop().close()

        def is_served():
            try:
                return milter.mail().passes()
            except ConnectionError:
                return False
        wait_for(is_served, "room again")
        for server in servers:
            server.close()


def test_miltertest(api):
    """Another program that knows the protocol. It does not tell the codes of an SMTP reply."""
    spam = {"add_headers": {NAME: "spam"}}
    table = [
        ((), verdict(milter=spam), {"end": "pass", "deleted": "true", "added": "true"}),
        ((), verdict("rewrite subject", subject="*** lunch", milter=spam),
         {"end": "pass", "subject": "true", "added": "true"}),
        ((), verdict("reject", milter=spam), {"end": "reply", "added": "true"}),
        ((), verdict("soft reject"), {"end": "reply", "added": "false"}),
        (("--on-reject", "quarantine"), verdict("reject", milter=spam),
         {"end": "pass", "quarantined": "true", "added": "true"}),
        (("--on-reject", "discard"), verdict("reject"), {"end": "discard"}),
        (("--on-reject", "tag"), verdict("reject", milter=spam),
         {"end": "pass", "quarantined": "false", "added": "true", "deleted": "true"}),
        ((), b"", {"end": "pass", "deleted": "true", "added": "true", "subject": "false"}),
        (("--on-failure", "tempfail"), b"", {"end": "reply", "deleted": "true"}),
    ]
    for options, reply, want in table:
        with Stub() as stub, Milter(api, stub.url, *options) as milter:
            stub.says(reply or FAILURES["closed at once"])
            done = subprocess.run(["miltertest", "-s", os.path.join(HERE, "milter.lua"),
                                   "-D", "socket=" + milter.at,
                                   "-D", "status=" + ("spam" if reply else AWAY[1])],
                                  capture_output=True, text=True, timeout=patience(60), check=False)
            equal((done.returncode, done.stderr), (0, ""), done.stdout)
            facts = dict(line.split(" ", 1) for line in done.stdout.splitlines())
            equal({name: facts.get(name) for name in want}, want, f"{options} {reply}")


# ---- the program --------------------------------------------------------------------------------
def test_stop_waits_for_checks(api):
    answer_now = threading.Event()
    pid_file = os.path.join(api.new_folder(), "pid")
    with Stub() as stub:
        stub.says(lambda question, connection: answer_now.wait(patience(30)) and GOOD)
        with Milter(api, stub.url, "--timeout", "100", "--pid-file", pid_file) as milter:
            with open(pid_file, encoding="ascii") as file:
                equal(int(file.read()), milter.process.pid)
            server = Mta(milter.at)
            server.envelope()
            server.send(b"N")
            server.receive()
            server.send(b"E")
            wait_for(lambda: stub.questions, "a question")
            milter.process.send_signal(signal.SIGTERM)
            wait_for(lambda: not os.path.exists(milter.at[5:]), "the socket goes")
            holds(milter.process.poll() is None, "it waits")
            answer_now.set()
            holds(server.outcome().passes(), "the verdict of the mail that was checked")
            server.close()
            equal(milter.process.wait(patience(30)), 0, milter.said())
            holds(not os.path.exists(pid_file), "the pid file goes")


def test_stop_does_not_wait_for_ever(api):
    """For idle connections hardly; for bayesd as long as the time-out."""
    with Stub() as stub:
        stub.says(silence)
        with Milter(api, stub.url, "--timeout", "1", "--on-failure", "tempfail") as milter:
            idle, busy = Mta(milter.at), Mta(milter.at)
            busy.envelope()
            equal(busy.command(b"N")[0], "c")
            busy.send(b"E")
            wait_for(lambda: stub.questions, "a question")
            milter.stop()
            equal(busy.outcome().text[:9], "451 4.7.1")
            idle.close()
            busy.close()


def test_sigint_stops_it(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        milter.mail()
        milter.stop(signal.SIGINT)
        holds(not os.path.exists(milter.at[5:]), "the socket")


def test_a_stop_at_the_start(api):
    """Also before it is ready it ends well."""
    for milliseconds in range(0, 40, 2):
        milter = Milter(api, "http://127.0.0.1:1")
        with subprocess.Popen(milter.command, stderr=subprocess.PIPE, env=milter.environment) as process:
            time.sleep(milliseconds / 1000 * slow())
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                blocked = int(next(line for line in file if line.startswith("SigBlk")).split()[1], 16)
            if not blocked & 1 << signal.SIGTERM - 1:
                process.kill()  # it has hardly begun: the signal would do the same
                continue
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=patience(30))[1].decode()
        equal(process.returncode, 0, said)
        holds("error" not in said and not os.path.exists(milter.at[5:]), said)


def test_the_server_ends_if_the_first_process_is_killed_at_the_start(api):
    """Its signal then comes at any moment, also before libmilter is ready."""
    milters = [Milter(api, "http://127.0.0.1:1") for _ in range(120)]
    servers = []

    def begin_and_kill(milter, milliseconds):
        with subprocess.Popen(milter.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=milter.environment) as process:
            time.sleep(milliseconds / 1000 * slow())
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                servers.extend(file.read().split())
            process.kill()

    def left():
        return [server for server in servers if os.path.exists(f"/proc/{server}")]

    for first in range(0, len(milters), 8):
        threads = [threading.Thread(target=begin_and_kill, args=(milter, (first + i) % 50))
                   for i, milter in enumerate(milters[first:first + 8])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    holds(len(servers) > 20, len(servers))
    try:
        wait_for(lambda: not left(), "the servers end", 20)
    finally:
        for server in left():
            os.kill(int(server), signal.SIGKILL)


def test_sighup_does_not_stop_it(api):
    """libmilter stops on it as well, and must not get it, however many come and whatever goes on."""
    with Stub() as stub, Milter(api, stub.url) as milter:
        milter.process.send_signal(signal.SIGHUP)
        holds("there is no file of options (--config) changed=nothing" in milter.told("token read again"), milter.said())
        done = threading.Event()

        def hang_up():
            while not done.is_set():
                milter.process.send_signal(signal.SIGHUP)
        thread = threading.Thread(target=hang_up)
        thread.start()
        try:
            for _ in range(100):
                holds(milter.mail().passes(), "a mail")
        finally:
            done.set()
            thread.join()
        holds(milter.process.poll() is None and "stopping" not in milter.said(), milter.said())


def test_each_process_ends_with_the_other(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        os.kill(milter.server(), signal.SIGKILL)
        equal(milter.process.wait(patience(30)), 1)
        holds("the process that serves was ended by a signal: Killed" in milter.told("error: "), milter.said())
        milter.process.stdout.close()
    with Stub() as stub, Milter(api, stub.url) as milter:
        server = milter.server()
        with open(f"/proc/{server}/comm", encoding="ascii") as file:
            equal(file.read(), "milter-server\n", "killall -HUP bayesd-milter does not find it")
        milter.process.kill()
        milter.process.wait()
        milter.told("stopping")
        wait_for(lambda: not os.path.exists(milter.at[5:]), "the socket goes")
        milter.process.stdout.close()


def test_options_are_read_again(api):
    folder = api.new_folder()
    path, token = os.path.join(folder, "options"), os.path.join(folder, "token")

    def options(*lines):
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))

    def read_again(times):
        milter.process.send_signal(signal.SIGHUP)
        return milter.told("options and token read again", times)

    with open(token, "w", encoding="ascii") as file:
        file.write("first-token\n")
    options("# a comment", "", f"token-file = {token}", "timeout=100", "  on-reject = reject ", "quiet = no")
    spam = verdict("reject")
    with Stub() as stub, Stub() as other, Milter(api, stub.url, "--config", path, "--max-bytes", "2K") as milter:
        for each in (stub, other):
            each.says(spam)
        equal(milter.mail().text[:9], "550 5.7.1")
        equal(stub.questions[-1].one("Authorization"), "Bearer first-token")
        holds(read_again(1).endswith("changed=nothing"), milter.said())
        # A mail keeps the options that it began with; the next one has the new ones.
        with Mta(milter.at) as server:
            server.envelope()
            with open(token, "w", encoding="ascii") as file:
                file.write("second-token\n")
            options(f"token-file = {token}", "on-reject = tag", "timeout = 7", "pause = 3", "skip-authenticated",
                    "on-failure = tempfail", "max-bytes = 1K", "socket-mode = 600", "socket-group = mail", "max-connections = 5",
                    "socket = unix:/elsewhere", "pid-file = /elsewhere")
            line = read_again(2)
            # The command line wins: it has --url and --max-bytes, and here --socket.
            holds(line.endswith("changed=token,timeout,pause,on-reject,on-failure,skip-authenticated"), line)
            holds(milter.told("need a restart").endswith("options=socket-mode,socket-group,pid-file,max-connections"), milter.said())
            server.command(b"L", "Subject", "x" * 3000)
            server.command(b"N")
            server.send(b"E")
            equal(server.outcome().text[:9], "550 5.7.1", "a mail that had begun")
            equal(stub.questions[-1].one("Authorization"), "Bearer first-token")
            equal(len(stub.questions[-1].body), 2048)
            holds(server.mail(FIELDS).passes(), "the next mail of the connection")
        equal(stub.questions[-1].one("Authorization"), "Bearer second-token")
        asked = len(stub.questions)
        holds(milter.mail(user="alice").passes(), "a user who logged in")
        equal(len(stub.questions), asked)
        stub.says(b"nonsense")
        equal(milter.mail().text[:9], "451 4.7.1")
        # An error changes nothing.
        stub.says(spam)
        for number, (line, what) in enumerate({
                "on-reject = explode": ":1: --on-reject 'explode'", "nonsense = 1": ":1: 'nonsense' is not an option",
                "timeout": ":1: 'timeout' needs a value", "quiet = maybe": ":1: 'maybe': write quiet = yes, or no",
                "config = /x": ":1: 'config' is not", "= 3": ":1: '' is not", "token-file = /none": "/none cannot be",
                }.items(), 1):
            options(line, "on-reject = reject")
            milter.process.send_signal(signal.SIGHUP)
            holds(what in milter.told("error: nothing is changed: ", number), milter.said())
            holds(milter.mail().passes(), "as before")
        os.unlink(path)
        milter.process.send_signal(signal.SIGHUP)
        holds("cannot be opened" in milter.told("nothing is changed", number + 1), milter.said())
        options("quiet")
        read_again(3)
        said = len(milter.lines)
        milter.mail()
        milter.process.send_signal(signal.SIGHUP)
        milter.mail()
        equal(milter.lines[said:], [], "quiet")
    with Stub() as stub, Stub() as other:
        options(f"url = {stub.url}")
        with Milter(api, other.url, "--config", path) as milter:
            milter.command = [word for word in milter.command if not word.startswith("http") and word != "--url"]
            milter.stop()
            with milter:
                milter.mail()
                equal((len(stub.questions), len(other.questions)), (1, 0))
                options(f"url = {other.url}")
                holds(read_again(1).endswith("changed=url"), milter.said())
                milter.mail()
                equal((len(stub.questions), len(other.questions)), (1, 1))


def test_sockets(api):
    port = free_port()
    with Stub() as stub, Milter(api, stub.url, socket_at=f"inet:{port}@127.0.0.1") as milter:
        holds(milter.mail().passes(), "by TCP")
    for spelling in (f"inet:127.0.0.1:{port}", f"inet:localhost:{port}", f"inet6:[::1]:{port}", f"inet6:{port}@::1"):
        with Stub() as stub, Milter(api, stub.url, socket_at=spelling) as milter:
            holds(f"ready on {spelling}" in milter.said(), milter.said())
            milter.at = f"inet:{port}@{'::1' if '6' in spelling[:5] else '127.0.0.1'}"
            holds(milter.mail().passes(), spelling)
    for options, mode in (((), 0o660), (("--socket-mode", "0606"), 0o606)):
        with Stub() as stub, Milter(api, stub.url, *options) as milter:
            equal(stat.S_IMODE(os.stat(milter.at[5:]).st_mode), mode)
            equal(os.stat(milter.at[5:]).st_gid, os.getegid())
            holds(milter.mail().passes(), "by a file")
    # A group by its number or its name: one of those that whoever runs the tests is in.
    group = os.getgroups()[-1] if os.geteuid() != 0 else grp.getgrnam("mail").gr_gid
    for name in (str(group), grp.getgrgid(group).gr_name):
        with Stub() as stub, Milter(api, stub.url, "--socket-group", name) as milter:
            is_like = os.stat(milter.at[5:])
            equal((stat.S_IMODE(is_like.st_mode), is_like.st_gid), (0o660, group))
    # The file of one that was killed does not keep the next from starting.
    path = os.path.join(api.new_folder(), "socket")
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(path)
    with Stub() as stub, Milter(api, stub.url, socket_at="unix:" + path) as milter:
        holds(milter.mail().passes(), "the next")
        # One that serves is not pushed aside.
        done = subprocess.run(milter.command, capture_output=True, text=True, timeout=patience(60), env=milter.environment,
                              check=False)
        equal((done.returncode, done.stdout), (1, ""), done.stderr)
        holds("libmilter cannot listen on" in done.stderr, done.stderr)
        holds(milter.mail().passes(), "as before")


def test_other_machines_are_not_served(api):
    """Whoever connects is trusted as the mail server: libmilter believes what it is sent."""
    path = Milter(api, "").path
    port = free_port()
    for where in (f"inet:{port}@0.0.0.0", f"inet:{port}@192.0.2.1", f"inet:0.0.0.0:{port}", f"inet6:{port}@::",
                  f"inet6:[2001:db8::1]:{port}"):
        done = subprocess.run([path, "--socket", where], capture_output=True, text=True, timeout=patience(60),
                              env=clean_environment(), check=False)
        equal((done.returncode, done.stdout), (2, ""), where)
        holds(f"--socket '{where}' can be reached from other machines" in done.stderr and "inet:PORT@127.0.0.1" in done.stderr,
              done.stderr)


def test_log(api):
    with Stub() as stub, Milter(api, stub.url) as milter:
        milter.mail(queue_id="4X\nyZ")
        line = milter.told(" checked ")
        holds(line.startswith("bayesd-milter: info: checked queue_id=4X?yZ action=no action score=1.50 "), line)
        stub.says(verdict("reject"))
        milter.mail()
        holds("action=reject" in milter.told(" checked ", 2), milter.said())
        holds("example.org" not in milter.said() and "lunch" not in milter.said(), milter.said())
    with Stub() as stub, Milter(api, stub.url, "--quiet") as milter:
        milter.mail()
        stub.says(b"220 no HTTP\r\n")
        milter.mail()
        milter.told("checked")


def test_service_manager_is_told(api):
    path = os.path.join(api.new_folder(), "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(patience(20))
        with Stub() as stub, Milter(api, stub.url, environment={"NOTIFY_SOCKET": path}) as milter:
            equal(manager.recv(100), b"READY=1")
            milter.process.send_signal(signal.SIGHUP)
            equal([manager.recv(100) for _ in range(2)], [b"RELOADING=1", b"READY=1"])
        equal(manager.recv(100), b"STOPPING=1")


def test_command_line(api):
    path = Milter(api, "").path

    def run(*options):
        done = subprocess.run([path, *options], capture_output=True, text=True, timeout=patience(60),
                              env=clean_environment(), check=False)
        return done.returncode, done.stdout, done.stderr

    status, out, err = run("--help")
    equal((status, err), (0, ""))
    with open(os.path.join(HERE, "..", "..", "server", "milter", "bayesd-milter.8"), encoding="utf-8") as file:
        manual = file.read().replace("\\-", "-")
    for option in ("config", "socket", "socket-mode", "socket-group", "url", "token-file", "ca-file", "cert", "key", "timeout", "pause", "max-bytes",
                   "max-connections", "on-reject", "on-failure", "skip-authenticated", "pid-file", "quiet", "version", "help"):
        holds(f"  --{option}" in out and f"--{option}" in manual, f"--{option} is not told of")
    holds(run("--version")[1].startswith("bayesd-milter "), "version")
    for options in (("--nonsense",), ("--url",), ("argument",), ("--socket", "8764"), ("--socket", "inet:8764"),
                    ("--socket", "inet:127.0.0.1"), ("--socket", "inet::8764"), ("--socket", "inet:127.0.0.1:"),
                    ("--socket", "inet:127.0.0.1:0"), ("--socket", "inet:127.0.0.1:65536"), ("--socket", "inet:[]:25"),
                    ("--socket", "inet:0@127.0.0.1"), ("--socket", "inet:99999@127.0.0.1"),
                    ("--socket", "unix:relative"), ("--socket", "inet:8764@mx.example.net"), ("--socket", "tcp:/x"), ("--socket-mode", "888"),
                    ("--socket-mode", "1777"), ("--timeout", "0"), ("--timeout", "241"), ("--timeout", "-1"),
                    ("--timeout", "5s"), ("--max-bytes", "0"), ("--max-bytes", "1T"), ("--max-bytes", "2048M"),
                    ("--max-bytes", "99999999999999999999"), ("--max-connections", "0"), ("--max-connections", "10001"),
                    ("--max-connections", "x"), ("--on-reject", "accept"), ("--on-failure", ""),
                    ("--url", "gopher://127.0.0.1:8763"), ("--url", ""),
                    ("--url", "http://"), ("--url", "http:///")):
        status, out, err = run(*options)
        equal((status, out), (2, ""), options)
        holds("--help" in err and err.count("\n") == 1, err)
    folder = api.new_folder()
    status, out, err = run("--config", f"{folder}/none")
    holds((status, out) == (2, "") and "cannot be opened" in err, err)
    for options in (("--socket", f"unix:{folder}/none/socket"), ("--token-file", f"{folder}/none"), ("--pid-file", f"{folder}/none/pid"),
                    ("--socket-group", "no-such-group")):
        status, out, err = run("--socket", f"unix:{folder}/socket", *options)
        equal((status, out), (1, ""), f"{options}: {err}")
        holds("bayesd-milter: error: " in err, err)
        holds(not os.path.exists(f"{folder}/socket"), f"{options} leaves its socket")


# ---- the real bayesd ----------------------------------------------------------------------------
def test_with_bayesd(api):
    daemon = api.another(config={"filter": {"reject": "1", "rewrite_subject": "0.95"}}).start()
    with Milter(api, f"http://127.0.0.1:{daemon.port}") as milter:
        holds("nothing learned" in status_of(milter.mail()), "before any training")
        for i in range(12):
            for label, text in (("spam", "cheap pills, win a prize"), ("ham", "lunch in the garden")):
                mail = f"From: {label}@example.org\r\nSubject: {text}\r\n\r\n{text} {i}\r\n"
                daemon.client.post(f"/v1/models/mail/train?label={label}", mail, "message/rfc822").ok()
        fields = [("From", "ham@example.org"), ("Subject", "lunch in the garden")]
        result = milter.mail(fields, b"lunch in the garden\r\n")
        holds(result.passes() and status_of(result, fields).startswith("ham, probability="), vars(result))
        fields = [("From", "spam@example.org"), ("Subject", "cheap pills, win a prize")]
        result = milter.mail(fields, b"cheap pills, win a prize\r\n")
        holds(result.passes() and status_of(result, fields).startswith("spam, probability="), vars(result))
        holds(("Subject", "***SPAM*** cheap pills, win a prize") in result.header(fields), vars(result))
        result = milter.mail(body=GTUBE)
        holds(result.text.startswith("550 5.7.1 "), vars(result))
        many = [b"<user%d@example.net>" % i for i in range(3000)]
        result = milter.mail(recipients=many, sender=b"<%s>" % (b"x" * 1000))
        holds(result.passes() and "model=mail" in status_of(result), vars(result))
        daemon.stop()
        equal(milter.mail().header(FIELDS), FIELDS + [AWAY], "bayesd is stopped")


def test_with_tokens(api):
    path = os.path.join(api.new_folder(), "token")
    with open(path, "w", encoding="ascii") as file:
        file.write("the-token-of-the-filter\n")
    config = {"tokens": {"classify": "the-token-of-the-filter", "trusted": "192.0.2.1"}}
    daemon = api.another(config=config).start()
    url = f"http://127.0.0.1:{daemon.port}"
    with Milter(api, url, "--token-file", path) as milter:
        holds("nothing learned" in status_of(milter.mail()), "with a token")
    with Milter(api, url) as milter:
        equal(status_of(milter.mail()), AWAY[1], "without one")
        holds("token" in milter.told("not checked"), milter.said())
