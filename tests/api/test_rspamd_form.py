# SPDX-License-Identifier: Apache-2.0
"""rspamd 4's /checkv3: the mail and its envelope in a form (multipart/form-data). What a form means is what the same
request to /checkv2 means, with header fields."""
import json

import rspamd
from harness import equal, holds
from rspamd import ask, check, error, ham, spam, verdict_of
from test_documents import zstd


# ---- helpers ------------------------------------------------------------------------------------
def part(name, content, *fields):
    header = "\r\n".join((f'Content-Disposition: form-data; name="{name}"', *fields))
    return header.encode() + b"\r\n\r\n" + content


def body_of(*parts, boundary="part", front=b"", behind=b""):
    mark = b"--" + boundary.encode()
    return front + b"".join((mark + b"\r\n" + one + b"\r\n") for one in parts) + mark + b"--\r\n" + behind


def form(mail, metadata, **how):
    return body_of(part("metadata", json.dumps(metadata).encode(), "Content-Type: application/json"), part("message", mail), **how)


def send(daemon, body, *fields, kind="multipart/form-data; boundary=part"):
    return ask(daemon, "/checkv3", body, [("Content-Type", kind), *fields])


def result(reply):
    """The report in the part `result`."""
    equal(reply.ok().headers["content-type"].split(";")[0], "multipart/mixed")
    boundary = reply.headers["content-type"].split("boundary=")[1]
    front, found, end = reply.body.split(b"--" + boundary.encode())
    equal((front, end), (b"", b"--\r\n"))
    header, _, content = found.partition(b"\r\n\r\n")
    holds(b'name="result"' in header and b"Content-Type: application/json" in header, header)
    report = json.loads(content)
    rspamd.check_types(report)
    return report


def taught(api, **config):
    daemon = api.another(config={"filter": config} if config else None).start()
    rspamd.teach(daemon)
    return daemon


# ---- what a form means --------------------------------------------------------------------------
def test_as_a_plain_request(api):
    daemon = taught(api)
    for mail in (spam(), ham("form"), b"", b"Subject: of no line"):
        want = verdict_of(check(daemon, mail, [("From", "<a@example.net>"), ("IP", "192.0.2.7"), ("Helo", "mx.example.net"), ("Rcpt", "b@example.org")]))
        metadata = {"from": "<a@example.net>", "ip": "192.0.2.7", "helo": "mx.example.net", "rcpt": ["b@example.org"], "queue_id": "4F", "settings": {"a": [1]}}
        equal(verdict_of(result(send(daemon, form(mail, metadata)))), want)
        flat = send(daemon, form(mail, metadata), ("Accept", "application/json"))
        equal(flat.ok().headers["content-type"].split(";")[0], "application/json")
        equal(verdict_of(flat.json), want)
        equal(verdict_of(result(send(daemon, form(mail, {**metadata, "from": [], "headers": {"FROM": "<a@example.net>"}})))), want)
        equal(verdict_of(result(send(daemon, form(mail, {}), ("From", "<a@example.net>"), ("IP", "192.0.2.7"), ("Helo", "mx.example.net"), ("Rcpt", "b@example.org")))), want)


def test_a_mail_with_parts_of_its_own(api):
    daemon = taught(api)
    mail = (b"Subject: parts\r\nContent-Type: multipart/alternative; boundary=own\r\n\r\n--own\r\nContent-Type: text/plain\r\n\r\n"
            b"cheap pills --part\r\n--own\r\nContent-Type: text/html\r\n\r\n<b>cheap</b>\r\n-- part\r\n--own--\r\n")
    want = verdict_of(check(daemon, mail))
    equal(verdict_of(result(send(daemon, form(mail, {})))), want)
    for boundary in ("own-not", "x" * 70, "a'()+_,-./:=?b"):
        kind = f'multipart/form-data; charset=utf-8; boundary="{boundary}"'
        equal(verdict_of(result(send(daemon, form(mail, {}, boundary=boundary, front=b"in front\r\n", behind=b"behind"), kind=kind))), want, boundary)


def test_of_a_user(api):
    """deliver_to names whose model it is, and so does the only recipient."""
    daemon = taught(api, user_model="mail-%u")
    rspamd.teach(daemon, 20, "mail-bob@example.net", ("ham", "spam"))  # Bob wants what others loathe
    want = verdict_of(check(daemon, spam(), [("Deliver-To", "bob@example.net")]))
    holds(want != verdict_of(check(daemon, spam())), "bob has a model of his own")
    for metadata in ({"deliver_to": "bob@example.net"}, {"rcpt": "bob@example.net"}, {"rcpt": ["bob@example.net"]}, {"headers": {"Deliver-To": "bob@example.net"}}):
        equal(verdict_of(result(send(daemon, form(spam(), metadata)))), want, metadata)
    daemon.stop()
    daemon.start()  # no model is loaded
    equal(verdict_of(result(send(daemon, form(spam(), {"deliver_to": "bob@example.net"})))), want)


def test_compressed(api):
    daemon = taught(api)
    want = verdict_of(check(daemon, spam()))
    for field in ("Compression", "Content-Encoding"):
        equal(verdict_of(result(send(daemon, zstd(form(spam(), {})), (field, "zstd")))), want)
    plain = body_of(part("metadata", b"{}"), part("message", spam(), "Content-Encoding: Identity"))
    equal(verdict_of(result(send(daemon, plain))), want)
    of_a_part = body_of(part("metadata", b"{}"), part("message", zstd(spam()), "Content-Encoding: zstd"))
    error(send(daemon, of_a_part), 400, "compress")


# ---- what is refused ----------------------------------------------------------------------------
def test_what_is_no_form(api):
    daemon = taught(api)
    message, metadata = part("message", spam()), part("metadata", b"{}")
    for body, word in ((body_of(message), "metadata"), (body_of(metadata), "message"), (body_of(message, message, metadata), "twice"), (spam(), "boundary"),
                       (b"", "boundary"), (body_of(metadata, message)[:-10], "last boundary"), (body_of(b"no header", message), "no end"),
                       (body_of(*[part(f"n{i}", b"") for i in range(17)], message, metadata), "16 parts"),
                       (body_of(part("metadata", b"[]"), message), "JSON object"), (body_of(part("metadata", b"{"), message), "JSON object"),
                       (body_of(part("metadata", b"\x81\xa4from\xa1a"), message), "JSON object"),
                       (form(spam(), {"from": "a\nb"}), "control character"), (form(spam(), {"rcpt": ["a", "b\u0000c"]}), "metadata"),
                       (form(spam(), {"headers": {"X": "\r"}}), "control character"), (form(spam(), {"x": "y" * 300000}), "too long"),
                       (form(spam(), {"file": "/etc/passwd"}), "File"), (form(spam(), {"headers": {"Shm": "/x"}}), "Shm")):
        error(send(daemon, body), 400, word)
    for kind in ("multipart/form-data", "text/plain; boundary=part", 'multipart/form-data; boundary="part', "multipart/form-data; boundary=" + "x" * 71, "multipart/form-data; boundary="):
        error(send(daemon, form(spam(), {}), kind=kind), 400, "form")
    equal(verdict_of(result(send(daemon, form(spam(), {})))), verdict_of(check(daemon, spam())))


def test_altered_forms(api):
    """Bytes changed, cut off or repeated: a report or an error, never anything else."""
    daemon = taught(api)
    whole = form(spam(), {"from": "a@example.net", "rcpt": ["b@example.org"], "headers": {"Helo": "mx"}})
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(api.random.randint(1, 4)):
            at = api.random.randrange(len(changed))
            how = api.random.choice(("flip", "cut", "copy"))
            if how == "flip":
                changed[at] = api.random.randrange(256)
            elif how == "cut" and len(changed) > 10:
                del changed[at:at + api.random.randint(1, 30)]
            else:
                changed[at:at] = changed[max(0, at - 40):at]
        reply = send(daemon, bytes(changed))
        holds(reply.status in (200, 400), reply.body)
        result(reply) if reply.status == 200 else error(reply, 400)
