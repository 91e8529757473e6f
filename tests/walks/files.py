#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the four users of the walks have: mail in a Maildir and an mbox, tickets in a CSV, a word list of
bogofilter. The same files in each run.

    tests/walks/files.py FOLDER
"""
import csv
import os
import random
import sys

HAM = "meeting project report monday lunch garden train tickets holiday notes budget review school dinner photos".split()
SPAM = "prize pills cheap winner claim money casino offer discount bonus loan viagra lottery refund urgent".split()
COMMON = "the a of to and you we please for with this that it on your our".split()
QUEUES = {"billing": "invoice payment refund card charge price receipt vat".split(),
          "bugs": "crash error screen button login broken slow update".split(),
          "delivery": "parcel address late courier tracking lost box door".split()}


def words(rng, own, count=12):
    return " ".join(rng.choice(own if rng.random() < 0.5 else COMMON) for _ in range(count))


def mail(rng, kind, number):
    own = SPAM if kind == "spam" else HAM
    return (f"From: {kind}{number % 7}@example.{'net' if kind == 'spam' else 'org'}\nTo: ann@example.org\n"
            f"Subject: {words(rng, own, 3)}\nMessage-ID: <{kind}.{number}@example.org>\n"
            f"Date: Mon, 02 Mar 2026 10:{number % 60:02}:00 +0000\n\n{words(rng, own)}\n")


def write(text, *parts):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def write_mails(rng, folder):
    for place in ("cur", "new", "tmp", ".Junk/cur", ".Junk/new", ".Junk/tmp"):
        os.makedirs(os.path.join(folder, "Maildir", place))
    for i in range(60):
        write(mail(rng, "ham", i), folder, "Maildir", "cur", f"{i}.host:2,S")
        write(mail(rng, "spam", i), folder, "Maildir", ".Junk", "cur", f"{i}.host:2,S")
    write("".join("From x Thu Jan  1 00:00:00 1970\n" + mail(rng, "spam", 100 + i) + "\n" for i in range(40)), folder, "spam.mbox")
    write("".join("From x Thu Jan  1 00:00:00 1970\n" + mail(rng, "ham", 100 + i) + "\n" for i in range(40)), folder, "ham.mbox")
    for kind in ("spam", "ham"):
        write(mail(rng, kind, 200), folder, f"{kind}.eml")


def write_tickets(rng, folder):
    rows = [[str(1000 + 10 * i + k), words(rng, own, 4), words(rng, own), queue]
            for i in range(80) for k, (queue, own) in enumerate(QUEUES.items())]
    rng.shuffle(rows)
    for name, part, columns in (("tickets.csv", rows[:-30], 4), ("new.csv", rows[-30:], 3), ("answers.csv", rows[-30:], 4)):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(["ticket", "title", "body", "category"][:columns])
            out.writerows(row[:columns] for row in part)


def write_word_list(rng, folder):
    """What `bogoutil -d wordlist.db` prints: word, spam, ham, date."""
    lines = [f"{word} {rng.randint(20, 40) if word in SPAM else rng.randint(0, 2)} "
             f"{rng.randint(0, 2) if word in SPAM else rng.randint(20, 40)} 20260301" for word in SPAM + HAM]
    lines += [f"{word} {rng.randint(30, 50)} {rng.randint(30, 50)} 20260301" for word in COMMON if len(word) > 2]
    write("\n".join(sorted(lines) + [".MSG_COUNT 60 60 20260301"]) + "\n", folder, "wordlist.txt")


def main():
    folder, rng = sys.argv[1], random.Random(1763)
    write_mails(rng, folder)
    write_tickets(rng, folder)
    write_word_list(rng, folder)


main()
