# SPDX-License-Identifier: Apache-2.0
"""Small mails, made of the pieces in mail/spam.txt and mail/ham.txt; the same mails in every run."""
import base64
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPIENT = "user@example.net"
# Every spam filter must answer "reject" to this text (https://spamassassin.apache.org/gtube/).
GTUBE = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def _pieces(kind):
    """{"from": [...], "subject": [...], "text": [...]} of a file in mail/."""
    found = {"from": [], "subject": [], "text": []}
    with open(os.path.join(HERE, "mail", kind + ".txt"), encoding="ascii") as file:
        for line in file:
            name, _, value = line.rstrip("\n").partition(": ")
            if name in ("from", "subject"):
                found[name].append(value)
            elif not line.startswith("#"):
                found["text"].append(line.rstrip("\n"))
    return found


def build(name, sender, subject, text, headers=()):
    """A mail with LF line ends, as bytes; `name` is the local part of its Message-ID."""
    address = sender.lower().replace(" ", ".") + "@example.org"
    lines = ["From: %s <%s>" % (sender, address), "To: " + RECIPIENT, "Subject: " + subject,
             "Date: Fri, 20 Nov 2026 10:00:00 +0000", "Message-ID: <%s@example.org>" % name,
             *headers, "MIME-Version: 1.0", "Content-Type: text/plain; charset=us-ascii", "", *text]
    return ("\n".join(lines) + "\n").encode("ascii")


def mails(kind, count, seed, headers=()):
    """`count` different mails of the kind "spam" or "ham"."""
    pieces, dice = _pieces(kind), random.Random(f"{kind} {seed}")
    return [build("%s-%s-%d" % (kind, seed, number), dice.choice(pieces["from"]),
                  dice.choice(pieces["subject"]), dice.sample(pieces["text"], 5), headers)
            for number in range(count)]


def awkward(size=0):
    """A ham mail that is hard to transport: dots at line starts, 8-bit text, a line of full length, no
    Subject, and an attachment of `size` bytes."""
    header, _, text = mails("ham", 1, f"awkward {size}")[0].partition(b"\n\n")
    header = b"\n".join(line for line in header.split(b"\n")
                       if not line.startswith((b"Subject:", b"Content-Type:")))
    attachment = base64.encodebytes(random.Random(size).randbytes(size))
    return (header + b'\nContent-Type: multipart/mixed; boundary="edge"\n\n--edge\n'
            b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
            + text + ".\n..\n.Gr\u00fc\u00dfe aus K\u00f6ln\n".encode() + b"x" * 998 + b"\nFrom here\n"
            b"--edge\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n"
            + attachment + b"--edge--\n")


def mbox(documents):
    """The mails as an mbox (mboxrd)."""
    out = []
    for document in documents:
        lines = [b">" + line if line.lstrip(b">").startswith(b"From ") else line
                 for line in document.split(b"\n")]
        out.append(b"From nobody Fri Nov 20 10:00:00 2026\n" + b"\n".join(lines) + b"\n")
    return b"".join(out)
