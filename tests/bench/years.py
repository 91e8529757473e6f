# SPDX-License-Identifier: Apache-2.0
"""Part y: two years of mail in fast motion, in a model that forgets the oldest."""
import itertools
import json
import os
import random
import shutil
import time

from measure import PASSING

MONTHS, DAYS = 24, 28
MAILS = 40         # a day
KEPT_DAYS = 90     # worth of mail in the model
COMMON = 4000      # words that stay
TOPIC = 60         # words that come up on each day and stay for TOPIC_DAYS
TOPIC_DAYS = 40
QUIET_SECONDS = 1.5 # after each week; in life each night is long enough for what is tidied when nothing else waits


class Stream:
    """Days of mail whose words drift: common ones, those of the month, and those of one mail alone."""

    def __init__(self, seed=1763):
        self.random = random.Random(seed)
        self.serial = itertools.count()

    def common(self):
        return f"common{int(COMMON * self.random.random() ** 3)}"

    def topic(self, day, label):
        first = max(0, day - TOPIC_DAYS)
        return f"{label}{self.random.randint(first, day)}x{self.random.randrange(TOPIC)}"

    def mail(self, day):
        label = self.random.choice(("ham", "spam"))
        words = []
        for _ in range(self.random.randint(60, 300)):
            kind = self.random.random()
            words.append(self.common() if kind < 0.6 else self.topic(day, label) if kind < 0.95 else f"once{next(self.serial)}")
        return {"text": " ".join(words), "label": label, "id": f"{day}-{next(self.serial)}"}

    def day(self, day, mails):
        return [self.mail(day) for _ in range(mails)]


def measured(server, model):
    row = json.loads(server.request("GET", "/v1/models/" + model))
    used = server.metric("bayesd_store_bytes") - server.metric("bayesd_store_free_bytes")
    return {"documents": row["documents"], "words": row["vocabulary"], "used": used,
            "file": server.metric("bayesd_store_bytes"), "model": server.metric("bayesd_model_memory_bytes"),
            "resident": server.resident()}


def live_through(bench, settings, mails, months):
    """What is measured at the end of each month."""
    data = os.path.join(PASSING, "years")
    shutil.rmtree(data, ignore_errors=True)
    stream, rows = Stream(), []
    with bench.daemon(data) as server:
        server.request("PUT", "/v1/models/mail", json.dumps(settings).encode())
        for month in range(months):
            for day in range(month * DAYS, (month + 1) * DAYS):
                server.request("POST", "/v1/models/mail/train",
                               json.dumps({"documents": stream.day(day, mails)}).encode())
                time.sleep(QUIET_SECONDS if day % 7 == 6 else 0)
            rows.append(measured(server, "mail"))
    return rows


def part_y(bench):
    mails, months = (10, 12) if bench.quick else (MAILS, MONTHS)
    kept = KEPT_DAYS * mails
    forgets = live_through(bench, {"max_documents": kept}, mails, months)
    keeps = live_through(bench, {}, mails, months)
    note, add = bench.figures.note, bench.figures.add
    note(f"{mails} mails a day; the model keeps {kept:,}, and beside it one that keeps all")
    note("month  mails   words  store MB  file MB  model MB  process MB | all: words  store MB  model MB")
    for month, (a, b) in enumerate(zip(forgets, keeps), 1):
        note(f"{month:5} {a['documents']:6,} {a['words']:7,} {a['used'] / 2**20:9.2f} {a['file'] / 2**20:8.2f} {a['model'] / 2**20:9.2f} "
             f"{a['resident'] / 2**20:11.1f} | {b['words']:10,} {b['used'] / 2**20:9.2f} {b['model'] / 2**20:9.2f}")
    settled, last = forgets[months // 2 - 1], forgets[-1]
    for name, what in (("used", "store"), ("model", "memory of the model"), ("words", "words")):
        add("y", f"{what}, at the end / after {months // 2} months", last[name] / settled[name], "", at_most=1.1)
    # Free pages that are not neighbours cannot hold a range of rows: the file grows until enough are.
    add("y", f"file of the store, at the end / after {months // 2} months", last["file"] / settled["file"], "")
    add("y", "store of a model that keeps all, at the end / forgetting", keeps[-1]["used"] / last["used"], "")
