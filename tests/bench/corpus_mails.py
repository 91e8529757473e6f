# SPDX-License-Identifier: Apache-2.0
"""Mails for the benchmarks: a folder of one's own, or generated ones."""
import os
import random
import re

INDEXES = ("index.tsv", "index", os.path.join("full", "index"))
LABEL = re.compile(r"spam|ham", re.I)
SEPARATOR = re.compile(rb"(?:^|\n\n)From [^\n]*\d{4}[^\n]*\n")
GENERATED = 2500  # bytes of text of a generated mail


def read_mails(bench):
    """[(label, mail)]; the figures say so when the mails are generated."""
    if bench.corpus:
        mails = mails_of(bench.corpus)
        if not mails:
            raise RuntimeError(f"{bench.corpus}: no mails whose folder or index says spam or ham")
        return mails
    bench.figures.note("the mails are SYNTHETIC: real ones cost two to three times as much; "
                       "make bench CORPUS=FOLDER measures yours")
    with open(bench.generated("mail", 500 if bench.quick else 2000, GENERATED, 8), "rb") as file:
        bodies = list(bodies_of(file))
    return [("spam" if i % 2 else "ham", body) for i, body in enumerate(bodies)]


def bodies_of(file):
    """The bodies of a file that is framed as load.c reads it."""
    while line := file.readline():
        yield file.read(int(line))


def mails_of(folder):
    """[(label, mail)] of a folder: in the order of its index (label, path), or of all files below folders
    named after spam and ham, mixed with a fixed seed. A file may be one mail or an mbox."""
    for name in INDEXES:
        if os.path.exists(os.path.join(folder, name)):
            return from_index(folder, name)
    mails = []
    for path in sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names):
        found = LABEL.findall(os.path.relpath(path, folder))
        if found:
            mails += [(found[-1].lower(), mail) for mail in of_file(path)]
    random.Random(1763).shuffle(mails)
    return mails


def from_index(folder, name):
    base, mails = os.path.dirname(os.path.join(folder, name)), []
    with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = re.split(r"\t" if "\t" in line else r"\s+", line.rstrip("\n"))
            if fields[0] in ("spam", "ham"):
                mails += [(fields[0], mail) for mail in of_file(os.path.join(base, fields[1]))]
    return mails


def of_file(path):
    """The mails of a file: one, unless it is named as an mbox."""
    with open(path, "rb") as file:
        content = file.read()
    if not path.lower().endswith((".mbox", ".mbx")):
        return [content]
    starts = [found.end() for found in SEPARATOR.finditer(content)]
    ends = [found.start() for found in SEPARATOR.finditer(content)][1:] + [len(content)]
    return [content[start:end] for start, end in zip(starts, ends)]
