# SPDX-License-Identifier: Apache-2.0
"""One line a verdict, on request: what was judged how, for whom; never a word of it, whatever bytes come."""
import json
import os
import re
import subprocess
import sys
import time

from harness import equal, holds, refused, wait_for
from wire import Wire, request

M = "/v1/models/m"
NDJSON = "application/x-ndjson"
WORDS = ("pomegranate", "quicksilver")
MAIL = "From: a@b.example\r\nSubject: pomegranate offer\r\nMessage-ID: <one@b.example>\r\n\r\nquicksilver now\r\n"
HOSTILE = ('<x@y>\x1b[2J" verdict=ham\\', "x\r\n verdict=spam model=other", "caf\u00e9 \u202e", "a" * 900)


def started(api, how="yes", form="text", **groups):
    daemon = api.another(config={"log": {"verdicts": how, "format": form}} | groups).start()
    for i in range(12):
        daemon.client.post("/learnspam", f"Subject: pills {i}\n\ncheap pills {i}").ok()
        daemon.client.post("/learnham", f"Subject: club {i}\n\nthe garden club {i}").ok()
    return daemon


def lines_of(daemon, count, before=0):
    """The lines of verdicts behind the first `before`."""
    wait_for(lambda: len(verdicts(daemon)) >= before + count, f"{count} verdicts are logged", 10)
    return verdicts(daemon)[before:]


def verdicts(daemon):
    return [line for line in daemon.lines if "verdict " in line or '"message":"verdict"' in line]


def over_line(daemon, head):
    mail = MAIL.encode()
    with Wire(daemon) as wire:
        wire.send(head % len(mail) + mail)
        wire.until(b"\r\n\r\n")


def ask_everywhere(daemon):
    """One mail by every door: what each line says of id, protocol and action."""
    daemon.client.post("/checkv2", MAIL).ok()
    over_line(daemon, b"CHECK RSPAMC/1.3\r\nContent-length: %d\r\n\r\n")
    over_line(daemon, b"PROCESS SPAMC/1.5\r\nContent-length: %d\r\n\r\n")
    daemon.client.post("/v1/models/mail/classify", MAIL, "message/rfc822").ok()
    daemon.client.post("/v1/models/mail/classify", {"id": "note 7", "text": " ".join(WORDS)}).ok()
    rows = "".join(json.dumps({"id": f"row-{i}", "text": "pills"}) + "\n" for i in range(3))
    daemon.client.post("/v1/models/mail/classify", rows, NDJSON).ok()


def test_every_door_as_json(api):
    daemon = started(api, form="json")
    ask_everywhere(daemon)
    rows = [json.loads(line) for line in lines_of(daemon, 8)]
    equal([row["protocol"] for row in rows], ["rspamd", "rspamd", "spamc", "http", "http", "http", "http", "http"])
    equal([row.get("message_id") for row in rows], ["one@b.example"] * 4 + [None] * 4)
    equal([row.get("id") for row in rows], [None] * 4 + ["note 7", "row-0", "row-1", "row-2"])
    for row in rows:
        equal((row["level"], row["message"], row["model"], row["client"]), ("info", "verdict", "mail", "127.0.0.1"))
        holds(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"]), row)
        holds(row["verdict"] in ("spam", "ham", "unsure") and 0 <= row["probability"] <= 1 and row["us"] >= 0, row)
        holds(isinstance(row["score"], float), row)
        equal("action" in row, row["protocol"] != "http")
    reply = daemon.client.post("/checkv2", MAIL).ok().json
    row = json.loads(lines_of(daemon, 1, 8)[0])
    holds(abs(row["score"] - reply["score"]) < 0.01 and row["action"] == reply["action"], (row, reply["score"]))
    said = daemon.client.post("/v1/models/mail/classify", {"text": "pills"}).ok().json
    row = json.loads(lines_of(daemon, 1, 9)[0])
    equal((row["verdict"], row["probability"]), (said["label"], said["probability"]))


def test_every_door_as_text(api):
    daemon = started(api)
    ask_everywhere(daemon)
    rows = lines_of(daemon, 8)
    equal([re.search(r" protocol=(\w+)", row).group(1) for row in rows],
          ["rspamd", "rspamd", "spamc", "http", "http", "http", "http", "http"])
    holds("bayesd: info: verdict message_id=one@b.example model=mail verdict=" in rows[0], rows[0])
    holds(re.search(r' id="note 7" model=mail verdict=\w+ probability=\d\.\d{4} score=-?\d+\.\d{4} us=\d+ client=127', rows[4]), rows[4])


def test_only_on_request(api):
    for how in ({"how": "no"}, {"log": {"verdicts": "yes", "level": "warning"}}):
        daemon = started(api, **how)
        ask_everywhere(daemon)
        daemon.stop()
        equal(verdicts(daemon), [])


def test_never_a_word_of_the_mail(api):
    for form in ("text", "json"):
        daemon = started(api, form=form, log={"verdicts": "yes", "format": form, "level": "debug"})
        ask_everywhere(daemon)
        daemon.stop()
        for word in WORDS:
            holds(not any(word in line for line in daemon.lines), word)


def refuse(daemon):
    """Requests with a fault of the client's, and what stands of each in its reply: status, code and request_id."""
    client = daemon.client
    replies = (client.get("/v1/models/none"), client.post("/v1/models/m/train?label=spam", "{", "application/json"), client.get("/nowhere"),
               client.post("/v1/models/m/classify?threshold=2", "x", "text/plain"), client.delete("/v1/models"))
    told = [(reply.status, reply.json["code"], reply.request_id) for reply in replies]
    equal([status for status, *_ in told], [404, 400, 404, 400, 405], told)
    equal(len({request_id for *_, request_id in told} - {None}), 5, told)
    return told


def test_a_refused_request_is_found_by_its_id(api):
    """With the log as it is without any option: what a client has of an error is enough to find its line."""
    daemon = api.another().start()
    told = refuse(daemon)
    daemon.client.get("/v1/models").ok()
    daemon.stop()
    for status, code, request_id in told:
        (line,) = [line for line in daemon.lines if request_id in line]
        holds(line.startswith(f"bayesd: info: request request_id={request_id} "), line)
        holds(f" status={status} code={code} client=127.0.0.1 us=" in line, line)
    equal(len([line for line in daemon.lines if ": request " in line]), len(told), "requests that were not refused have no line")
    holds(any(" route=/v1/models/{model} model=none status=404 code=model_not_found " in line for line in daemon.lines), daemon.lines)


def test_a_refused_request_as_json(api):
    daemon = api.another(config={"log": {"format": "json"}}).start()
    told = refuse(daemon)
    daemon.stop()
    rows = [json.loads(line) for line in daemon.lines if '"message":"request"' in line]
    equal([(row["status"], row["code"], row["request_id"]) for row in rows], told)
    equal({(row["level"], row["client"]) for row in rows}, {("info", "127.0.0.1")})


def test_a_refused_request_has_no_line_at_level_warning(api):
    daemon = api.another(config={"log": {"level": "warning"}}).start()
    told = refuse(daemon)
    daemon.stop()
    equal([line for line in daemon.lines for *_, request_id in told if request_id in line], [])


def test_refused_requests_do_not_fill_the_log(api):
    """100 lines in ten seconds; at level debug each request has one."""
    for level in ("info", "debug"):
        daemon = api.another(config={"log": {"level": level}}).start()
        begin = time.monotonic()
        for _ in range(1000):
            refused(daemon.client.get("/v1/models/none"), 404)
        windows = (time.monotonic() - begin) // 10 + 2
        daemon.stop()
        lines = len([line for line in daemon.lines if " status=404 " in line])
        holds(100 <= lines <= 100 * windows if level == "info" else lines == 1000, f"{level}: {lines} lines")


def hostile_lines(api, form):
    daemon = started(api, form=form)
    for text in HOSTILE:
        daemon.client.post("/checkv2", f"Message-ID: {text}\r\nSubject: x\r\n\r\ny".encode()).ok()
    daemon.client.post("/v1/models/mail/classify", {"id": "a\u202eb \"c\" d=e", "text": "pills"}).ok()
    rows = lines_of(daemon, len(HOSTILE) + 1)
    daemon.stop()
    equal(len(verdicts(daemon)), len(HOSTILE) + 1, "a value has made lines of its own")
    for row in rows:
        holds(row.isascii() and row.isprintable(), repr(row))
        holds(len(row) < 4096, len(row))
    return rows


def test_hostile_bytes_in_text(api):
    rows = hostile_lines(api, "text")
    for row in rows:
        # Outside of quoted values each key stands once.
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', row)
        equal(bare.count(" verdict="), 1, row)
        equal(bare.count(" model="), 1, row)


def test_hostile_bytes_in_json(api):
    rows = [json.loads(row) for row in hostile_lines(api, "json")]
    equal({row["model"] for row in rows}, {"mail"})
    equal(rows[-1]["id"], "a\u202eb \"c\" d=e")
    equal(len(rows[3]["message_id"]), 256)


def test_all_lines_are_json(api):
    daemon = started(api, log={"format": "json", "level": "debug", "verdicts": "yes"})
    with Wire(daemon) as wire:
        wire.send(request("GET", "/v1/models/x%1b%ff%22"))
        wire.reply()
    daemon.stop()
    for line in daemon.lines:
        if not line.startswith("bayesd: ready on"):  # which scripts read, whatever the log's form
            holds(line.startswith("{"), line)
            row = json.loads(line)
            holds(row["level"] in ("info", "debug", "warning", "error") and row["message"], line)


# ---- the journal --------------------------------------------------------------------------------
LISTENER = """
import os, socket, subprocess, sys
out, command = sys.argv[1], sys.argv[2:]
os.makedirs("/run/systemd/journal")
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.bind("/run/systemd/journal/socket")
if os.fork() == 0:
    os.close(1), os.close(2)
    with open(out, "ab", buffering=0) as file:
        while True:
            file.write(sock.recv(65536) + b"\\n--\\n")
sock.close()
stream = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{stream.st_dev}:{stream.st_ino}"
os.execv(command[0], command)
"""


def own_run():
    """The command that gives a program an empty /run of its own; None where nothing can be mounted."""
    who = ["-m"] if os.geteuid() == 0 else ["-rm"]
    wrapper = ["unshare", *who, "--kill-child", "-fp", "sh", "-c", 'mount -t tmpfs bayesd-test /run && exec "$@"', "sh"]
    done = subprocess.run([*wrapper, "true"], capture_output=True, check=False)
    return wrapper if done.returncode == 0 else None


def test_fields_in_the_journal(api):
    wrapper, out = own_run(), os.path.join(api.new_folder(), "entries")
    if wrapper is None:
        return  # the journal's socket has one place only, and nothing can be mounted there
    daemon = api.another(config={"log": {"verdicts": "yes"}}, wrapper=[*wrapper, sys.executable, "-c", LISTENER, out]).start()
    daemon.client.post("/checkv2", MAIL.replace("one@", "two\u00e9@").encode()).ok()

    def entries():
        if not os.path.exists(out):
            return []
        with open(out, "rb") as file:
            return [entry for entry in file.read().split(b"\n--\n") if entry]
    wait_for(entries, "an entry comes", 10)
    entry = entries()[0].decode()
    for field in ("PRIORITY=6", "SYSLOG_IDENTIFIER=bayesd", "BAYESD_EVENT=verdict", "BAYESD_MODEL=mail",
                  "BAYESD_VERDICT=unsure", "BAYESD_PROBABILITY=0.5", "BAYESD_ACTION=no action", "BAYESD_CLIENT=127.0.0.1",
                  "BAYESD_PROTOCOL=rspamd", "BAYESD_MESSAGE_ID=two\u00e9@b.example"):
        holds(field in entry.split("\n"), f"{field} is not in {entry}")
    holds(re.search(r"^BAYESD_US=\d+$", entry, re.M), entry)
    holds('MESSAGE=verdict message_id="two\\xc3\\xa9@b.example" model=mail' in entry, entry)
    holds(any(line.startswith("<6>store opened") for line in daemon.lines), daemon.lines)
    equal(verdicts(daemon), [], "also on standard error")
