# SPDX-License-Identifier: Apache-2.0
"""RSPAMC and SPAMC beside HTTP on the one port: every verb and version to the byte, and hostile clients."""
import os
import re
import signal
import socket
import time
import zlib
from pathlib import Path

from harness import equal, holds, patience, slow, wait_for
from test_hostile_connections import PATIENT, allow_files, impatient
from wire import Wire

GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"
CONFIG = {"server": {**PATIENT, "threads": 2}}


def mail(text, subject="hello", end="\r\n", number=1):
    lines = [f"From: a{number}@example.org", f"Message-ID: <{number}@example.org>", f"Subject: {subject}", "", text, ""]
    return end.join(lines).encode()


TEST_MAIL = mail(GTUBE)
# log-odds of the thresholds 0.9999 and 0.9, on spamd's scale
SPAMD_TEST = "Spam: True ; 21.0 / 5.0\r\n"


def head(verb, version="1.5", protocol="SPAMC", end="\r\n", **fields):
    lines = [f"{verb} {protocol}/{version}"] + [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return (end.join(lines) + end + end).encode()


def whole(verb, body, version="1.5", protocol="SPAMC", end="\r\n", **fields):
    return head(verb, version, protocol, end, Content_length=len(body), **fields) + body


def read_all(wire):
    while wire.more():
        pass
    return wire.rest


def ask(daemon, data, half_close=True):
    """All of the reply, up to the close."""
    with Wire(daemon) as wire:
        wire.try_send(data)
        if half_close:
            try:
                wire.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # answered and closed
        return read_all(wire)


def trained(api, **config):
    """A daemon whose model `mail` is ready; and a spam and a ham that it has not seen."""
    daemon = api.another(config=config).start()
    for i in range(12):
        for label, words in (("spam", f"cheap pills buy now offer{i}"), ("ham", f"meeting agenda monday notes{i}")):
            daemon.client.post(f"/v1/models/mail/train?label={label}", mail(words, number=f"{label}{i}"), "message/rfc822").ok()
    return daemon


SPAM, HAM = mail("cheap pills buy now", number="s"), mail("meeting agenda monday", number="h")


def probability(daemon, body):
    reply = daemon.client.post("/v1/models/mail/classify", body, "message/rfc822").ok().json
    return reply["probabilities"]["spam"]


def counts(daemon):
    return {label: row["documents"] for label, row in daemon.client.get("/v1/models/mail").ok().json["labels"].items()}


# ---- RSPAMC -------------------------------------------------------------------------------------
def test_rspamc_of_several_users(api):
    """Every Deliver-To counts, and where there is none every Rcpt: the mildest of their models decides."""
    daemon = trained(api, filter={"user_model": "of-%u"})
    for i in range(12):  # Carol likes pills
        for label, words in (("ham", f"cheap pills buy now offer{i}"), ("spam", f"meeting agenda monday notes{i}")):
            daemon.client.post(f"/v1/models/of-carol/train?label={label}", mail(words, number=i), "message/rfc822").ok()
    body = mail("cheap pills buy now")

    def action(*fields):
        lines = b"".join(line + b"\r\n" for line in fields)
        reply = ask(daemon, b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\n%s\r\n%s" % (len(body), lines, body))
        return re.search(rb"Action: (.*)\r\n", reply)[1]
    equal([action(), action(b"Deliver-To: bob"), action(b"Deliver-To: carol")], [b"add header"] * 2 + [b"no action"])
    for name in (b"Deliver-To", b"Rcpt"):
        equal(action(name + b": bob", name + b": <Carol>"), b"no action", name)
        equal(action(name + b": bob", name + b": dan"), b"add header", name)
    equal(action(b"Deliver-To: bob", b"Rcpt: carol"), b"add header")
    daemon.stop()


def test_rspamc_to_the_byte(api):
    want = ("RSPAMD/1.3 0 EX_OK\r\nMetric: default; True; 15.00 / 15.00 / 0.0\r\nAction: reject\r\n"
            "Symbol: GTUBE(15.00)\r\nMessage-ID: 1@example.org\r\n").encode()
    for verb in ("CHECK", "SYMBOLS"):
        for version in ("1.0", "1.1", "1.2", "1.3"):
            equal(ask(api.daemon, whole(verb, TEST_MAIL, version, "RSPAMC", Queue_Id="1a", From="<a@b>", Rcpt="<c@d>"),
                      half_close=False), want, f"{verb} {version}")
    nothing = (b"RSPAMD/1.3 0 EX_OK\r\nMetric: default; False; 0.00 / 15.00 / 0.0\r\nAction: no action\r\n"
               b"Symbol: BAYES_NOT_READY(0.00)\r\nMessage-ID: 1@example.org\r\n")
    equal(ask(api.daemon, whole("CHECK", mail("a"), "1.3", "RSPAMC")), nothing)
    equal(ask(api.daemon, b"PING RSPAMC/1.3\r\n\r\n"), b"RSPAMD/1.3 0 PONG\r\n")


def test_rspamc_as_exim_sends_it(api):
    """With an mbox line and two pseudo fields in front, which are no part of the mail."""
    daemon = trained(api)
    pseudo = b"From MAILER-DAEMON Fri Nov 20 20:21:20 2026\nX-Envelope-From: <a@b>\nX-Envelope-To: cheap, pills\n"
    plain = ask(daemon, whole("CHECK", SPAM, "1.3", "RSPAMC"))
    equal(ask(daemon, whole("CHECK", pseudo + SPAM, "1.3", "RSPAMC"), half_close=False), plain)
    pattern = r"RSPAMD/1.3 0 EX_OK\r\nMetric: default; (\w+) *; (\S+) / (\S+) / (\S+)\r\nAction: ([a-z ]+)\r\n((?:Symbol: \w+\(-?[\d.]+\)\r\n)+)Message-ID: s@example.org\r\n"
    found = re.fullmatch(pattern, plain.decode())
    holds(found, plain)
    score, required = float(found[2]), float(found[3])
    equal((found[5] == "reject", found[1] == "True"), (score >= required,) * 2, plain)
    holds("Symbol: BAYES_SPAM(" in found[6], plain)
    equal(float(found[6].split("(")[1].split(")")[0]), score, "the verdict has the whole score")
    holds(all(line.startswith("Symbol: BAYES_PART_") and line.endswith("(0.00)") for line in found[6].splitlines()[1:]), found[6])
    ham = ask(daemon, whole("CHECK", HAM, "1.3", "RSPAMC"))
    holds(b"Action: no action\r\n" in ham and b"BAYES_HAM" in ham, ham)
    daemon.stop()


def test_scores_agree_with_actions(api):
    """Just below and just above each threshold: clients compare numbers."""
    daemon = trained(api)
    p = probability(daemon, SPAM)
    holds(0.6 < p < 1, p)
    daemon.stop()
    for name, threshold in (("below", min(p + 1e-7, 0.9999999)), ("above", p - 1e-7)):
        for option, verb, protocol in (("reject", "CHECK", "RSPAMC"), ("add_header", "CHECK", "SPAMC")):
            other = trained(api, filter={option: f"{threshold:.12f}"})
            reply = ask(other, whole(verb, SPAM, "1.3", protocol)).decode()
            score, required = re.search(r"; (-?[\d.]+) / ([\d.]+)", reply).groups()
            equal(float(score) >= float(required), name == "above", reply)
            equal("True" in reply, name == "above", reply)
            other.stop()


# ---- SPAMC --------------------------------------------------------------------------------------
REPORT = ("bayesd: spam; probability=1.0000; model=mail; test mail\n\nContent analysis details:   (21.0 points, 5.0 required)\n\n"
          " pts rule name              description\n---- ---------------------- " + "-" * 50 + "\n"
          "21.0 GTUBE                  BODY: Generic Test for Unsolicited Bulk Email\n")
OK = "SPAMD/1.1 0 EX_OK\r\n"


def test_spamc_to_the_byte(api):
    length = f"Content-length: {len(REPORT)}\r\n"
    if_spam = SPAMD_TEST.replace("True", "Yes")
    for verb, version, want in (
            ("CHECK", "1.5", OK + SPAMD_TEST + "\r\n"), ("CHECK", "1.2", OK + SPAMD_TEST + "\r\n"),
            ("SYMBOLS", "1.5", OK + "Content-length: 5\r\n" + SPAMD_TEST + "\r\nGTUBE"),
            ("SYMBOLS", "1.3", OK + "Content-length: 5\r\n" + SPAMD_TEST + "\r\nGTUBE"),
            ("SYMBOLS", "1.2", OK + SPAMD_TEST + "\r\nGTUBE\r\n"),
            ("REPORT", "1.5", OK + length + SPAMD_TEST + "\r\n" + REPORT),
            ("REPORT", "1.3", OK + length + SPAMD_TEST + "\r\n" + REPORT),
            ("REPORT", "1.2", OK + SPAMD_TEST + "\r\n" + REPORT),
            ("REPORT_IFSPAM", "1.5", OK + length + if_spam + "\r\n" + REPORT),
            ("REPORT_IFSPAM", "1.2", OK + if_spam + "\r\n" + REPORT)):
        for end in ("\r\n", "\n"):
            equal(ask(api.daemon, whole(verb, TEST_MAIL, version, end=end, User="nobody")), want.encode(), f"{verb} {version}")
        equal(ask(api.daemon, whole(verb, TEST_MAIL, version), half_close=False), want.encode(), f"{verb} {version}, kept open")
        equal(ask(api.daemon, head(verb, version) + TEST_MAIL), want.encode(), f"{verb} {version} without length")
    no = "Spam: No ; 0.0 / 5.0\r\n\r\n"
    equal(ask(api.daemon, whole("REPORT_IFSPAM", mail("a"), "1.5")), (OK + "Content-length: 0\r\n" + no).encode())
    equal(ask(api.daemon, whole("CHECK", mail("a"))), (OK + "Spam: False ; 0.0 / 5.0\r\n\r\n").encode())
    equal(ask(api.daemon, whole("SYMBOLS", mail("a"))),
          (OK + "Content-length: 15\r\nSpam: False ; 0.0 / 5.0\r\n\r\nBAYES_NOT_READY").encode())
    for version in ("1.2", "1.5"):
        equal(ask(api.daemon, f"PING SPAMC/{version}\r\n\r\n".encode()), b"SPAMD/1.5 0 PONG\r\n")
        equal(ask(api.daemon, f"PING SPAMC/{version}\r\n".encode(), half_close=False), b"SPAMD/1.5 0 PONG\r\n")
        equal(ask(api.daemon, f"SKIP SPAMC/{version}\r\n\r\n".encode()), b"")


FIELDS = ("X-Spam-Flag: YES\r\nX-Spam-Checker-Version: bayesd VERSION\r\nX-Spam-Level: *********************\r\n"
          "X-Spam-Status: Yes, score=21.0 required=5.0 tests=GTUBE autolearn=no version=VERSION\r\n"
          "X-Bayes-Status: spam, probability=1.0000, model=mail, test mail\r\n")


def without_version(reply):
    return re.sub(rb"(bayesd |version=)\d+\.\d+\.\d+", rb"\1VERSION", reply)


def with_length(text, **more):
    """What comes back has the length of the real version in it."""
    return b"Content-length: %d\r\n" % len(text) + b"".join(more.values()) + b"\r\n" + without_version(text)


def test_a_label_of_others(api):
    """A mistyped label does not turn the filter off."""
    daemon = trained(api)
    daemon.client.post("/v1/models/mail/train?label=Spam", mail("cheap pills", number="t"), "message/rfc822").ok()
    for body, said in ((SPAM, "True"), (HAM, "False")):
        reply = ask(daemon, whole("CHECK", body)).decode()
        holds(f"Spam: {said} ;" in reply and "too little" not in reply, reply)
        reply = ask(daemon, whole("SYMBOLS", body, protocol="RSPAMC", version="1.3")).decode()
        holds("BAYES_NOT_READY" not in reply, reply)
    daemon.stop()


def test_process_and_headers(api):
    def body_of(reply):
        return reply.split(b"\r\n\r\n", 1)[1]
    for end in ("\r\n", "\n"):
        forged = f"X-Spam-Flag: NO{end}X-Spam-Status: No,{end}\tfolded{end}x-bayes-status : ham{end}".encode()
        message = mail(GTUBE, end=end)
        want = FIELDS.replace("\r\n", end).encode() + message
        header = FIELDS.replace("\r\n", end).encode() + message.split(GTUBE.encode())[0]
        for verb, text in (("PROCESS", want), ("HEADERS", header)):
            for length in (len(forged + message), None):
                fields = {} if length is None else {"Content_length": length}
                reply = ask(api.daemon, head(verb, "1.4", **fields) + forged + message)
                equal(reply, OK.encode() + with_length(body_of(reply), spam=SPAMD_TEST.encode()).replace(without_version(body_of(reply)), body_of(reply)), verb)
                equal(without_version(body_of(reply)), text, verb)
            reply = ask(api.daemon, whole(verb, message, "1.2"))
            holds(reply.startswith(OK.encode() + b"Content-length: %d\r\n\r\n" % len(body_of(reply))), reply)
            equal(without_version(body_of(reply)), text, verb)
            reply = ask(api.daemon, whole(verb, message, "1.1"))
            equal(without_version(reply), b"SPAMD/1.0 0 EX_OK\r\n" + text, verb)
            # 1.0 had no head: the mail follows the first line
            reply = ask(api.daemon, f"{verb} SPAMC/1.0\r\n".encode() + message)
            equal(without_version(reply), b"SPAMD/1.0 0 EX_OK\r\n" + text, verb)


def test_a_rewritten_subject(api):
    daemon = trained(api, filter={"rewrite_subject": "0.6", "add_header": "0.55", "unsure": "0.5"})
    reply = ask(daemon, whole("PROCESS", SPAM)).decode()
    equal(reply.count("Subject:"), 1)
    holds("\r\nSubject: ***SPAM*** hello\r\n" in reply, reply)
    holds("X-Spam-Flag: YES\r\n" in reply, reply)
    reply = ask(daemon, whole("PROCESS", HAM)).decode()
    holds("\r\nSubject: hello\r\n" in reply and "X-Spam-Flag" not in reply and "X-Spam-Status: No, " in reply, reply)
    found = re.search(r"Subject: .*", ask(daemon, whole("CHECK", SPAM, "1.3", "RSPAMC")).decode())
    equal(found and found[0].strip(), "Subject: ***SPAM*** hello")
    daemon.stop()


def test_reports_name_the_evidence(api):
    daemon = trained(api)
    report = ask(daemon, whole("REPORT", SPAM, "1.2")).decode()
    rows = report.split("\n---- ")[1].split("\n")[1:-1]
    for row in rows:
        holds(re.fullmatch(r"[- ]?[\d.]+\s+\w+\s+\S.*", row), f"a row that Postal cannot read: {row!r}")
    holds(any("cheap" in row for row in rows), rows)
    # As npm's spamc 0.0.5 takes a report apart: not at all where it finds a list of names.
    body = report.split("\r\n\r\n")[1]
    equal(re.findall(r"[A-Z0-9_]+,", body), [])
    found = re.findall(r"(\s|-)([0-9.]+)\s([A-Z0-9_]+)\s([^:]+):\s([^\n]+)", body)
    equal([(score, name, kind.strip()) for _, score, name, kind, _ in found],
          [(row.split()[0].lstrip("-"), row.split()[1], "BAYES") for row in rows])
    names = ask(daemon, whole("SYMBOLS", SPAM, "1.5")).decode().split("\r\n\r\n")[1].split(",")
    equal([row.split()[1] for row in rows], names)
    daemon.stop()


def test_tell(api):
    daemon = api.another().start()

    def tell(body=SPAM, **fields):
        return ask(daemon, whole("TELL", body, "1.5", **fields))
    set_, removed, nothing = (f"{OK}{line}\r\n\r\n".encode() for line in ("DidSet: local\r\n", "DidRemove: local\r\n", ""))
    equal(tell(Remove="local"), nothing, "nothing to forget, no model")
    equal(tell(Message_class="spam", Set="local"), set_)
    equal(counts(daemon), {"spam": 1})
    equal(tell(Message_class="spam", Set="local"), nothing, "again")
    equal(tell(Message_class="HAM", Set="local, remote"), set_, "the other class")
    equal(counts(daemon), {"ham": 1})
    # As spamc -C report and Perl's report: what the model of all has learned is reported.
    for done in ("local,remote", "remote"):
        equal(tell(Message_class="spam", Set="local,remote"), f"{OK}DidSet: {done}\r\n\r\n\r\n".encode())
        equal(counts(daemon), {"spam": 1})
    for done in (b"DidSet: local\r\nDidRemove: remote\r\n", b""):
        equal(tell(Message_class="ham", Set="local", Remove="remote"), OK.encode() + done + b"\r\n\r\n")
        equal(counts(daemon), {"ham": 1})
    equal(tell(HAM, Remove="local"), nothing, "never learned")
    equal(tell(Remove="local"), removed)
    equal(sum(counts(daemon).values()), 0)
    equal(tell(Remove="local"), nothing, "forgotten already")
    equal(tell(Set="remote", Message_class="spam"), nothing, "nothing is only reported")
    equal(sum(counts(daemon).values()), 0)
    for fields in ({"Set": "local"}, {"Set": "local", "Message_class": "other"},
                   {"Set": "local", "Remove": "local", "Message_class": "spam"}):
        reply = tell(**fields)
        holds(re.fullmatch(rb"SPAMD/1.0 76 Bad header line: .*\r\n", reply), reply)
    equal(sum(counts(daemon).values()), 0)
    daemon.stop()


def test_many_learn_at_once(api):
    daemon = api.another(config={"server": {"threads": 2}}).start()
    wires = [Wire(daemon) for _ in range(60)]
    for i, wire in enumerate(wires):
        wire.send(whole("TELL", mail(f"word{i}", number=i), Message_class="spam", Set="local"))
    for wire in wires:
        equal(read_all(wire), (OK + "DidSet: local\r\n\r\n\r\n").encode())
        wire.close()
    equal(counts(daemon), {"spam": 60})
    daemon.stop()


def test_models_of_users(api):
    daemon = trained(api, filter={"user_model": "mail-%u"})
    for i in range(12):
        for name in ("spam", "ham"):
            words = f"{'tulips' if name == 'spam' else 'bulbs'} garden{i}"
            equal(ask(daemon, whole("TELL", mail(words, number=f"u{name}{i}"), User="Bob@Example.org", Message_class=name, Set="local")),
                  (OK + "DidSet: local\r\n\r\n\r\n").encode())
    reported = ask(daemon, whole("TELL", mail("tulips", number="r"), User="Bob@Example.org", Message_class="spam", Set="local,remote"))
    equal(reported, (OK + "DidSet: local\r\n\r\n\r\n").encode(), "a user's own model is not for all: nothing is reported")
    equal(ask(daemon, whole("TELL", mail("tulips", number="r"), User="Bob@Example.org", Remove="local")),
          (OK + "DidRemove: local\r\n\r\n\r\n").encode())
    own = {"spam": 12, "ham": 12}
    equal({k: v["documents"] for k, v in daemon.client.get("/v1/models/mail-bob@example.org").ok().json["labels"].items()}, own)
    equal(counts(daemon), own)
    reply = ask(daemon, whole("HEADERS", mail("tulips"), User="bob@example.org"))
    holds(b"model=mail-bob@example.org\r\n" in reply, reply)
    reply = ask(daemon, whole("HEADERS", mail("tulips"), User="nobody"))
    holds(b"model=mail\r\n" in reply, reply)
    reply = ask(daemon, whole("CHECK", mail("tulips"), "1.3", "RSPAMC", Deliver_To="<bob@example.org>"))
    holds(reply != ask(daemon, whole("CHECK", mail("tulips"), "1.3", "RSPAMC")), reply)
    daemon.stop()


def test_compressed(api):
    packed = zlib.compress(TEST_MAIL)
    want = (OK + SPAMD_TEST + "\r\n").encode()
    equal(ask(api.daemon, whole("CHECK", packed, Compress="zlib")), want)
    equal(ask(api.daemon, whole("CHECK", packed, Compress="ZLIB"), half_close=False), want)
    for bad in (packed[:-3], b"no zlib", b"", packed + b"x"):
        reply = ask(api.daemon, whole("CHECK", bad, Compress="zlib"))
        holds(re.fullmatch(rb"SPAMD/1.0 76 .*\r\n", reply), reply)
    reply = ask(api.daemon, whole("CHECK", packed, Compress="gzip"))
    holds(re.fullmatch(rb"SPAMD/1.0 76 .*\r\n", reply), reply)
    before = api.daemon.memory()[1]
    bomb = zlib.compress(b"a" * (300 << 20), 9)
    reply = ask(api.daemon, whole("CHECK", bomb, Compress="zlib"))
    holds(re.fullmatch(rb"SPAMD/1.0 65 .*\r\n", reply), reply)
    holds(api.daemon.memory()[1] < before + (200 << 20) * (3 if slow() > 1 else 1), "a bomb went off")


# ---- hostile clients ----------------------------------------------------------------------------
def test_refusals(api):
    def expect(data, code, *, rspamc=False, half_close=True):
        reply = ask(api.daemon, data, half_close)
        pattern = rb"RSPAMD/1.3 %d EX_\w+\r\nError: .+\r\n" if rspamc else rb"SPAMD/1.0 %d [A-Z][A-Za-z ]+: .+\r\n"
        holds(re.fullmatch(pattern % code, reply), f"{data[:60]!r}: {reply!r}")
    for end in (b"", b"\r\n", b"\r\n\r\n"):
        expect(b"CHECK SPAMC/" + end, 76)
    for line in (b"nonsense", b"Content-length: x", b"Content-length: -1", b"Content-length: 99999999999999999999", b"User: a\0b",
                 b"Content-length: 1\r\nContent-length: 2", b"User: \x01", b"\0"):
        expect(b"CHECK SPAMC/1.5\r\n" + line + b"\r\n\r\nmail", 76)
        expect(b"CHECK SPAMC/1.5\r\n" + line + b"\r\n\r\nmail", 76, half_close=False)
        expect(b"CHECK RSPAMC/1.3\r\n" + line + b"\r\n\r\nmail", 76, rspamc=True)
    expect(b"CHECK SPAMC/1.5\r\nUser: a", 76)  # ends in the head
    expect(head("CHECK", Content_length=1 << 40), 65, half_close=False)
    expect(head("CHECK", "1.3", "RSPAMC", Content_length=1 << 40), 65, rspamc=True, half_close=False)
    expect(b"CHECK SPAMC/1.5\r\n" + b"A" * (1 << 20), 65, half_close=False)
    expect(b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * (1 << 18), 65, half_close=False)
    expect(b"CHECK SPAMC/" + b"1" * (1 << 20), 65, half_close=False)
    equal(ask(api.daemon, whole("CHECK", TEST_MAIL)), (OK + SPAMD_TEST + "\r\n").encode())


def test_lengths_that_lie(api):
    want = (OK + SPAMD_TEST + "\r\n").encode()
    # Too long: the client ends before. Too short: what follows is not looked at.
    reply = ask(api.daemon, head("CHECK", Content_length=len(TEST_MAIL) + 1) + TEST_MAIL)
    equal(reply, b"SPAMD/1.0 76 Bad header line: (Content-Length mismatch: Expected %d bytes, got %d bytes)\r\n"
          % (len(TEST_MAIL) + 1, len(TEST_MAIL)))
    equal(ask(api.daemon, whole("CHECK", TEST_MAIL) + b"CHECK SPAMC/1.5\r\n\r\n" * 1000), want)
    equal(ask(api.daemon, whole("CHECK", TEST_MAIL) + b"x" * (1 << 20), half_close=False), want)
    equal(ask(api.daemon, head("CHECK", Content_length=3) + TEST_MAIL), (OK + "Spam: False ; 0.0 / 5.0\r\n\r\n").encode())
    equal(ask(api.daemon, head("CHECK", Content_length=0), half_close=False), (OK + "Spam: False ; 0.0 / 5.0\r\n\r\n").encode())


def test_a_body_over_the_limit(api):
    daemon = api.another(config={"server": {"body_bytes": "64K"}}).start()
    body = mail("x" * 65000)
    for data, code in ((body + b"x" * (65536 - len(body)), b"0"), (body + b"x" * (65537 - len(body)), b"65")):
        for fields in ({}, {"Content_length": len(data)}):
            reply = ask(daemon, head("CHECK", **fields) + data)
            equal(reply.split()[1], code, reply)
    daemon.stop()


def test_a_byte_at_a_time(api):
    for data, want in ((whole("CHECK", TEST_MAIL), (OK + SPAMD_TEST + "\r\n").encode()),
                       (whole("SYMBOLS", TEST_MAIL, "1.3", "RSPAMC", end="\n"), None)):
        with Wire(api.daemon) as wire:
            wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in data:
                wire.send(bytes([byte]))
            reply = read_all(wire)
        holds(reply == want if want else reply.startswith(b"RSPAMD/1.3 0 EX_OK\r\n"), reply)


def test_slow_clients_are_let_go(api):
    """Whatever they have said before they fell silent; nothing is left over."""
    api = impatient(api)
    start = time.monotonic()
    beginnings = (b"", b"C", b"CHECK SPAM", b"CHECK SPAMC/1.5\r\n", head("CHECK", Content_length=100), whole("CHECK", TEST_MAIL)[:-1],
                  head("TELL", Message_class="spam", Set="local") + TEST_MAIL)
    wires = [Wire(api.daemon) for _ in beginnings]
    for wire, data in zip(wires, beginnings):
        wire.send(data)
    for wire, data in zip(wires, beginnings):
        holds(wire.closed(), f"{data[:30]!r}: {wire.rest!r}")
        wire.close()
    holds(time.monotonic() - start < patience(10), "held too long")
    equal(api.daemon.client.get("/v1/models/mail").status, 404, "half a TELL was learned")


def gauge(daemon, name="bayesd_http_connections"):
    page = daemon.client.get("/metrics").ok().body.decode()
    return int(re.search(rf"^{name} (\d+)$", page, re.M)[1])


def test_a_reader_who_never_reads(api):
    api, body = impatient(api), mail("x" * 75 * 1000 * 100)
    with Wire(api.daemon, receive_buffer=4096) as wire:
        wire.send(whole("PROCESS", body))
        wait_for(lambda: gauge(api.daemon) == 1, "the stalled connection is closed", 20)
        for _ in range(3):
            equal(ask(api.daemon, whole("CHECK", TEST_MAIL)), (OK + SPAMD_TEST + "\r\n").encode())


def threads_of(daemon):
    """All but those that compute refits with the writer, which start with the first one and stay."""
    tasks = f"/proc/{daemon.pid}/task"
    names = [Path(tasks, task, "comm").read_text() for task in os.listdir(tasks)]
    return len([name for name in names if name.strip() != "refits"])


def test_silent_clients_hold_no_thread(api):
    allow_files(4000)
    daemon = api.another(config={"server": {**PATIENT, "threads": 1}}).start()
    tasks = threads_of(daemon)
    beginnings = (b"", b"P", b"CHECK SPAMC/1.5\r\n", head("CHECK", Content_length=len(TEST_MAIL)) + TEST_MAIL[:10],
                  head("CHECK", "1.3", "RSPAMC") + TEST_MAIL)
    idle = [Wire(daemon) for _ in range(500)]
    for i, wire in enumerate(idle):
        wire.send(beginnings[i % len(beginnings)])
    for i in range(50):
        daemon.client.post("/v1/models/idle/train", {"text": f"word{i}", "label": "b", "id": str(i)}).ok()
        equal(ask(daemon, whole("CHECK", TEST_MAIL)), (OK + SPAMD_TEST + "\r\n").encode())
    equal(threads_of(daemon), tasks, "threads")
    wait_for(lambda: gauge(daemon) == 501, "those that were answered are counted out, the others not")
    for wire in idle[3::5]:
        wire.send(TEST_MAIL[10:])
    for wire in idle[3::5]:
        equal(read_all(wire), (OK + SPAMD_TEST + "\r\n").encode())
    for wire in idle:
        wire.close()
    wait_for(lambda: gauge(daemon) == 1, "all are counted out")
    daemon.stop()


def test_limits_are_shared_with_http(api):
    daemon = api.another(config={"server": {**PATIENT, "connections": 6}}).start()
    wires = [Wire(daemon) for _ in range(6)]
    for wire in wires:
        wire.send(b"CHECK SPAMC/1.5\r\n")
    with Wire(daemon) as seventh:
        seventh.send(b"PING SPAMC/1.5\r\n\r\n")
        equal(seventh.reply().status, 503, "more than allowed")
    wires.pop().close()

    def served():
        try:
            return ask(daemon, b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"
        except OSError:
            return False
    wait_for(served, "a place that came free is given again")
    for wire in wires:
        wire.close()
    daemon.stop()


def test_without_descriptors(api):
    """Accepting fails for lack of descriptors: it neither spins nor gives up."""
    import resource
    daemon = api.another(config={"server": PATIENT}, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))).start()
    crowd = [Wire(daemon) for _ in range(60)]
    wait_for(lambda: any("cannot accept" in line for line in daemon.lines), "the log tells")

    before, start = daemon.processor_seconds(), time.monotonic()
    wait_for(lambda: time.monotonic() - start > 1, "a second", 5)
    used = daemon.processor_seconds() - before
    holds(used < 0.5 * (time.monotonic() - start) * (1 if slow() == 1 else 1.9), f"{used} s of processor time")
    holds(sum("cannot accept" in line for line in daemon.lines) <= 2, "the log is flooded")
    for wire in crowd:
        wire.close()
    wait_for(lambda: ask(daemon, b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n", "it goes on", 15)
    daemon.stop()


# ---- metrics and stopping -----------------------------------------------------------------------
def test_requests_are_counted(api):
    daemon = api.another(config={"log": {"level": "debug"}}).start()
    ask(daemon, whole("CHECK", TEST_MAIL))
    ask(daemon, whole("CHECK", TEST_MAIL, "1.3", "RSPAMC"))
    ask(daemon, b"CHECK SPAMC/1.5\r\nnonsense\r\n\r\n")
    with Wire(daemon) as wire:
        wire.send(whole("PROCESS", TEST_MAIL)[:-1])
    page = lambda: daemon.client.get("/metrics").ok().body.decode()
    name = "bayesd_http_requests_total"
    wait_for(lambda: f'{name}{{method="PROCESS",route="spamc",status="400"}} 1' in page(), "the broken one is counted")
    for row in ('{method="CHECK",route="spamc",status="200"} 1', '{method="CHECK",route="spamc",status="400"} 1',
                '{method="CHECK",route="rspamc",status="200"} 1'):
        holds(name + row in page(), page())
    daemon.client.get("/nothing")
    holds(f'{name}{{method="",route="other",status="404"}} 1' in page(), page())
    holds(any("method=CHECK route=rspamc" in line and "status=200" in line for line in daemon.lines), daemon.output())
    daemon.stop()


def test_a_stop_answers_and_ends(api):
    """During a stop requests are refused for the time being."""
    daemon = api.another(config={"server": {**PATIENT, "stop_seconds": 3600}}).start()
    early, late, half = Wire(daemon), Wire(daemon), Wire(daemon)
    early.send(b"CHECK SPAMC/1.5\r\n")
    late.send(b"CHECK RS")
    half.send(whole("TELL", SPAM, Message_class="spam", Set="local")[:-1])
    wait_for(lambda: gauge(daemon) == 4, "all are accepted")
    # A request that is being read holds the stop; others come meanwhile.
    ask(daemon, b"PING SPAMC/1.5\r\n\r\n")
    daemon.signal(signal.SIGTERM)

    def refused():
        try:
            Wire(daemon, timeout=2).close()
            return False
        except OSError:
            return True
    wait_for(refused, "new connections are refused")
    early.send(b"\r\n" + TEST_MAIL)
    late.send(b"PAMC/1.3\r\nContent-length: 1\r\n\r\nx")
    equal(read_all(early), b"SPAMD/1.0 69 Service Unavailable: the daemon is stopping\r\n")
    equal(read_all(late), b"RSPAMD/1.3 69 EX_UNAVAILABLE\r\nError: the daemon is stopping\r\n")
    half.close()
    equal(daemon.wait(10), 0)
    daemon.check_output()


def test_a_stop_breaks_off_half_requests_in_time(api):
    daemon = api.another(config={"server": {**PATIENT, "stop_seconds": 1}}).start()
    half = Wire(daemon)
    half.send(whole("TELL", SPAM, Message_class="spam", Set="local")[:-1])
    wait_for(lambda: gauge(daemon) == 2, "it is accepted")
    daemon.signal(signal.SIGTERM)
    equal(read_all(half), b"")
    equal(daemon.wait(10), 0)
    daemon.check_output()
    daemon.start()
    equal(daemon.client.get("/v1/models/mail").status, 404, "half a TELL was learned")
    daemon.stop()


def test_a_stop_under_load(api):
    daemon = api.another(config={"server": {"threads": 2}}).start()
    wires = []
    for i in range(40):
        wire = Wire(daemon)
        wire.send(whole("TELL", mail(f"word{i}", number=i), Message_class="spam", Set="local"))
        wires.append(wire)
    daemon.signal(signal.SIGTERM)
    replies = [read_all(wire) for wire in wires]
    equal(daemon.wait(10), 0)
    daemon.check_output()
    learned = sum(b"DidSet" in reply for reply in replies)
    for reply in replies:
        holds(reply == b"" or b"DidSet: local" in reply or reply.startswith(b"SPAMD/1.0 69 "), reply)
    daemon.start()
    equal(counts(daemon).get("spam", 0) if learned else 0, learned, "acknowledged and kept")
    daemon.stop()
