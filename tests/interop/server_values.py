# SPDX-License-Identifier: Apache-2.0
"""What the mail server knows of a mail, as values of fields (config/MAIL.md, `mail_server`): the verdict has seen the envelope
and the results that the server told, and the copy that it delivers says the same."""
import smtplib

from harness import equal, holds, patience
from mails import RECIPIENT

SERVER = "mx.example.net"
NAMES = ("spf", "dkim", "dmarc", "client", "helo", "sender", "recipient")
RESULTS = {"spf": "softfail", "dkim": "pass", "dmarc": "none"}
# For Postfix: who may say where a mail came from, because a hop on this machine tells nothing.
SETTINGS = {"smtpd_authorized_xclient_hosts": "127.0.0.1", "mynetworks": "203.0.113.0/24"}
ENVELOPE = {"client": "203.0.113.0/24", "helo": "client.example.org", "sender": "example.org", "recipient": RECIPIENT}
FIELDS = [f"Authentication-Results: {SERVER}; spf=softfail smtp.mailfrom=example.org;\n"
          " dkim=pass header.d=example.org; dmarc=none header.from=example.org",
          "Authentication-Results: elsewhere.example.com; spf=pass; dkim=fail; dmarc=fail"]


def tokens_of(values):
    return {f"{name}={value}" for name, value in values.items()}


def seen(host, identity):
    """The values that the verdict on the mail has seen: rows of its explanation; the model knows the ones of this page."""
    rows = host.http.get("/v1/models/mail/history").ok().json["history"]
    row, = [row for row in rows if row["message_id"].strip("<>") == identity.strip("<>")]
    why = host.http.get(f"/v1/models/mail/history/{row['id']}?explain=10000").ok().json
    names = {f"{name}=" for name in NAMES}
    return {e["token"] for e in why["now"]["explanation"] if e["token"] and e["token"].split("=")[0] + "=" in names}


def send(port, mail):
    """Hands a mail over as a client elsewhere would."""
    with smtplib.SMTP("127.0.0.1", port, local_hostname=ENVELOPE["helo"], timeout=patience(60)) as client:
        client.ehlo()
        equal(client.docmd("XCLIENT", "ADDR=203.0.113.7 NAME=[UNAVAILABLE]")[0], 220)
        client.ehlo()  # the session has begun anew
        client.sendmail("sender@example.org", [RECIPIENT], mail)


def check(host, port, box):
    """The server at the port delivers to the box."""
    settings = {"preset": "mail", "mail_server": SERVER, "history": 50, "fields": {name: "category" for name in NAMES}}
    host.http.put("/v1/models/mail", settings).ok(200)
    try:
        for label, values in (("ham", {**RESULTS, **ENVELOPE}), ("spam", {name: "another" for name in NAMES})):
            host.http.post("/v1/models/mail/train", {"values": values, "label": label, "id": "values-" + label}).ok()
        mail = host.mail("ham", FIELDS)
        send(port, mail)
        copy = host.delivered(box, mail)
        equal(seen(host, copy["Message-ID"]), tokens_of({**RESULTS, **ENVELOPE}), "what the verdict saw")
        got = host.http.post("/v1/models/mail/tokenize", copy.as_bytes(), "message/rfc822").ok().json["tokens"]
        stored = {row["token"] for row in got if row["token"].split("=")[0] in NAMES and "=" in row["token"]}
        holds(tokens_of({**RESULTS, **ENVELOPE}) <= stored, f"the copy says {stored}")
    finally:
        for label in ("ham", "spam"):
            host.http.post("/v1/models/mail/untrain", {"id": "values-" + label})
        host.http.put("/v1/models/mail", {"preset": "mail", "mail_server": None, "history": 0})
