# SPDX-License-Identifier: Apache-2.0
"""One entry of a store is damaged: found, told, contained; never a crash, never a silent difference.

A store is made once, with models of every kind and an import that was cut off. Each trial flips one bit
or byte of a copy at a random used place, or some in a row, or overwrites a whole key or a sector.
DAMAGED_STORES=N sets how many; DAMAGE_KEEP=FOLDER keeps the copies in which a fault was found.
"""
import http.client
import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter

from acknowledged import models_of
from harness import READY, equal, holds, patience, quoted, refused, shown, thread_sanitized
from lmdb_pages import places_of
from test_crash import begin_import, dump_of

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(HERE, "..", "..", "scripts", "sample", "train.ndjson")
NDJSON = "application/x-ndjson"
CONFIG = {"store": {"replay_features": 3000,  # rows are in the store, and an end that is not yet
                    "journal": 0},  # and all the rest of it
          "models": {"quarantine": "nobody"}}
PROBES = ("w1 w2 w3", "w5 w5 w40 w60 never", "")
# What holds for the whole store: a start may be refused, in words.
STORE_WIDE = ("meta",)


def trials_wanted(api):
    """Few under the thread sanitizer: a trial takes seconds there, and has nothing to do with threads."""
    usual = 500 if api.long else 10 if thread_sanitized() else 40
    return int(os.environ.get("DAMAGED_STORES", usual))


# ---- the store ----------------------------------------------------------------------------------
def lines_of(rng, documents, labels, words=12):
    return [{"id": f"doc/{i}", "label": labels[i % len(labels)],
             "text": " ".join(f"w{int(80 * rng.random() ** 2)}" for _ in range(words))} for i in range(documents)]


def fill(client, name, settings, rows, labels):
    path = f"/v1/models/{name}"
    if settings is not None:
        client.put(path, settings).ok(201)
    for start in range(0, len(rows), 20):
        client.post(path + "/train", {"documents": rows[start:start + 20]}).ok()
    for row in rows[3:9]:
        client.post(path + "/train", {**row, "label": labels[0]}).ok()
    for row in rows[10:14]:
        client.post(path + "/untrain", {"id": row["id"]}).ok()


def make_store(api):
    """The data folder of a daemon that was killed while a client imported."""
    rng = random.Random(1763)
    daemon = api.another(config=CONFIG).start()
    twelve = [f"label {i}" for i in range(12)]
    for name, settings, labels, size in (
            ("two-book", {"decision": "bayes"}, ["ham", "spam"], 90),
            ("two-stacked", {"decision": "stacked"}, ["ham", "spam"], 90),
            ("twelve-book", {"decision": "bayes"}, twelve, 120),
            ("twelve-stacked", {"decision": "stacked"}, twelve, 120), ("tiny", None, ["only"], 15)):
        fill(daemon.client, name, settings, lines_of(rng, size, labels), labels)
    with open(SAMPLE, encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if "mail" in row][:40]
    fill(daemon.client, "mails", None, [{**row, "id": f"mail/{i}"} for i, row in enumerate(rows)], ["ham"])
    for name in ("two-stacked", "tiny"):
        daemon.client.post(f"/v1/models/{name}/train", {"documents": [
            {**row, "id": f"waiting/{i}", "source": "nobody"} for i, row in enumerate(lines_of(rng, 12, ["ham", "only"]))]}).ok()
    wire = begin_import(daemon, "unfinished", dump_of(api, 700, 500)[0], 0.999)
    daemon.kill()
    wire.close()
    return daemon.data


# ---- all that a store serves --------------------------------------------------------------------
def questions(client):
    """(model, method, path, body) of everything that is compared."""
    for name, row in models_of(client).items():
        path = f"/v1/models/{name}"
        yield name, "GET", path, None
        yield name, "GET", path + "/export", None
        for label in sorted(row["labels"])[:3]:
            yield name, "GET", f"{path}/vocabulary?label={quoted(label)}&limit=3000", None
        for probe in PROBES:
            yield name, "POST", path + "/classify?explain=200", json.dumps({"text": probe})
        yield name, "GET", path + "/evaluation", None
        yield name, "GET", path + "/quarantine", None
        for id in ("doc/1", "doc/4", "doc/10", "mail/2", "mail/11"):
            yield name, "GET", f"{path}/documents/{quoted(id)}", None


def ask(client, method, path, body):
    """(status, bytes); a reply that breaks off is 599."""
    try:
        reply = client.once(method, path, body, "application/json" if body else None)
    except (http.client.HTTPException, OSError):
        return 599, b""
    if path.endswith("/quarantine"):  # with the time of the question
        return reply.status, re.sub(rb',"time":"[^"]*"}$', b"}", reply.body)
    if reply.status == 200 and path.endswith("/export") and b'{"end"' not in reply.body.rsplit(b"\n", 2)[-2]:
        return 599, reply.body
    return reply.status, reply.body


class Original:
    """The store as it was made, and what a daemon serves of it."""

    def __init__(self, api):
        self.data = make_store(api)
        copy = shutil.copytree(self.data, os.path.join(api.new_folder(), "data"))
        daemon = api.another(data=copy, config=CONFIG).start()
        self.questions = list(questions(daemon.client))
        self.answers = {q: ask(daemon.client, *q[1:]) for q in self.questions}
        self.listing = models_of(daemon.client)
        equal(sorted({status for status, _ in self.answers.values()}), [200, 404], "answers of the original")
        daemon.stop(seconds=30)
        status, out, err = api.tool("--verify", "--data", copy)
        equal(status, 0, f"--verify of the original: {out}{err}")
        self.places = self.by_kind()

    def by_kind(self):
        found = {}
        for place in places_of(os.path.join(self.data, "data.mdb")):
            found.setdefault(place.kind, {}).setdefault(place.table, []).append(place)
        return found

    def choose(self, rng, kind=None):
        """A used place: keys and values of every table alike, and LMDB's own fields."""
        kind = kind or rng.choices(["value", "key", "structure", "free list", "head"], [45, 25, 22, 4, 4])[0]
        tables = self.places[kind]
        return rng.choice(tables[rng.choice(sorted(tables))])

    def export(self, name):
        return self.answers[(name, "GET", f"/v1/models/{name}/export", None)][1]


# ---- a trial ------------------------------------------------------------------------------------
class Trial:
    def __init__(self, api, original, rng):
        self.api, self.original, self.rng = api, original, rng
        self.data = shutil.copytree(original.data, os.path.join(api.new_folder(), "data"))
        self.replaced = {}  # name of a damaged model -> whether it was imported anew, or only deleted
        self.damage()
        self.untouched = shutil.copytree(self.data, self.data + ".damaged")

    def damage(self):
        self.place = self.original.choose(self.rng)
        self.at = self.place.at + self.rng.randrange(self.place.length)
        self.flip = self.rng.choice([1 << self.rng.randrange(8), self.rng.randrange(1, 256)])
        self.write(self.at, bytes([self.read(self.at, 1)[0] ^ self.flip]))

    def read(self, at, length):
        with open(os.path.join(self.data, "data.mdb"), "rb") as file:
            file.seek(at)
            return file.read(length)

    def write(self, at, content):
        with open(os.path.join(self.data, "data.mdb"), "r+b") as file:
            file.seek(at)
            file.write(content)

    def __str__(self):
        return f"{self.place!r}, byte {self.at} flipped by {self.flip:#x}"

    @property
    def is_content(self):
        """Whether it is damage of one entry, and not of LMDB's own fields."""
        return self.place.kind in ("key", "value")

    def verify(self):
        """On a copy of its own: an opening may put keys right."""
        data = shutil.copytree(self.untouched, self.data + ".verified")
        status, out, err = self.api.tool("--verify", "--data", data, seconds=60)
        holds(status >= 0, f"--verify ended by signal {-status}: {out}{err}")
        holds(status == 0 or (out + err).strip(), "--verify failed without a word")
        holds(status != 0 or not self.is_content, "--verify found nothing")

    def faults(self):
        """What does not hold, of both ways to look at the store."""
        found = []
        for way in (self.verify, self.serve):
            try:
                way()
            except (AssertionError, subprocess.TimeoutExpired) as error:
                found.append(str(error))
        return found

    def serve(self):
        daemon = self.api.another(data=self.data, config=CONFIG)
        try:
            daemon.spawn()
            if self.starts(daemon):
                self.served(daemon)
                self.stops(daemon)
        except (http.client.HTTPException, OSError) as error:
            raise AssertionError(f"no answer ({error!r}); the daemon said: {daemon.output()[-300:]}") from error
        finally:
            daemon.kill()

    def starts(self, daemon):
        """False if it refuses to, in words and for a reason."""
        daemon._news.wait(patience(20))
        if any(READY in line for line in daemon.lines):
            daemon.wait_ready()
            return True
        status = daemon.wait(20)
        holds(status > 0, f"the start ended by signal {-status}: {daemon.output()}")
        told = daemon.output()
        holds(told.strip(), "the start was refused without a word")
        holds(not self.is_content or self.place.table in STORE_WIDE, f"one entry stops the start: {told}")
        return False

    def stops(self, daemon):
        """Cleanly; where LMDB's own fields are damaged, or with an error in words."""
        daemon.signal(15)
        status = daemon.wait(30)
        holds(status >= 0, f"the stop ended by signal {-status}: {daemon.output()[-400:]}")
        holds(status == 0 or not self.is_content, f"exit status {status}: {daemon.output()[-400:]}")
        daemon.check_output()

    def served(self, daemon):
        client = daemon.client
        self.is_logged = "store damage" in daemon.output()
        damaged = self.differences(client)
        holds(daemon.running(), f"the daemon is gone: {daemon.output()}")
        if not self.is_content or not damaged:
            return
        # A damaged key may be counted to another model than its own, which misses it.
        most = 2 if self.place.kind == "key" else 1
        holds(len(damaged) <= most or self.place.table in STORE_WIDE, f"one entry, {len(damaged)} models damaged: {damaged}")
        for name in damaged:
            assert_told(client, name)
        for name in damaged:
            self.mend(client, name)
        holds(not [n for n in self.differences(client) if self.replaced.get(n)], f"{damaged} are damaged after they were replaced")
        listing = client.get("/metrics").ok().body.decode()
        holds("bayesd_models_damaged 0" in listing, "metrics count a damaged model when all were replaced")

    def differences(self, client):
        """Models of which something is answered with an error; anything else must be as it was."""
        gone = {name for name, whole in self.replaced.items() if not whole}
        damaged = set()
        for question in self.original.questions:
            name, want = question[0], self.original.answers[question]
            if name in gone:
                continue
            status, body = ask(client, *question[1:])
            if status == 503 and question[2].endswith("/quarantine") and b"the quarantine is damaged" in body:
                continue  # the model is not
            if status >= 500 or says_damaged(question, body):
                damaged.add(name)
            elif not self.same(question, (status, body), want):
                raise AssertionError(f"{question[1]} {question[2]} {question[3] or ''}: silently another answer: "
                                     f"{status} {shown(body, 300)}, it was {want[0]} {shown(want[1], 300)}")
        return sorted(damaged)

    def same(self, question, got, want):
        if got == want:
            return True
        if question[2].endswith("/quarantine") and (self.place.kind, self.place.table) == ("key", "quarantine"):
            # What waits is counted by --verify only: a change that has lost its key is missed. The log tells.
            rows, wanted = (json.loads(body)["quarantine"] for _, body in (got, want))
            return len(wanted) == len(rows) + 1 and all(row in wanted for row in rows) and self.is_logged
        # A model that was replaced by an import has its documents under new numbers, and nothing that waits.
        return self.replaced.get(question[0], False) and got[0] == want[0] and \
            question[2].endswith(("/export", "/evaluation", "/quarantine"))

    def mend(self, client, name):
        """A damaged model can be deleted, and replaced."""
        path = f"/v1/models/{name}"
        if self.rng.random() < 0.5:
            client.delete(path).ok(204)
            refused(client.get(path), 404)
            holds(name not in models_of(client), f"{name} is listed after its delete")
            self.replaced[name] = False
        if name not in self.replaced or self.rng.random() < 0.5:
            status = client.put(path + "/import", self.original.export(name), NDJSON).status
            holds(status in (200, 201), f"import in place of the damaged {name}: {status}")
            self.replaced[name] = True


def says_damaged(question, body):
    """A model's row that tells nothing but that it is damaged."""
    return question[1:3] == ("GET", f"/v1/models/{question[0]}") and json.loads(body).get("state") == "damaged"


def assert_told(client, name):
    """A damaged model says so wherever somebody looks; its classify answers 503."""
    reply = client.post(f"/v1/models/{name}/classify", {"text": "w1"})
    holds(reply.status in (200, 409, 503), reply.status)
    if reply.status == 503:
        holds("damaged" in refused(reply, 503)["detail"], reply.body)
    equal(models_of(client)[name].get("state"), "damaged", f"state of {name} in the listing")
    ready = client.get("/readyz")
    holds(b"damaged" in ready.body, f"/readyz: {ready.status} {ready.body}")
    listing = client.get("/metrics").ok().body.decode()
    holds("\nbayesd_models_damaged " in listing and "\nbayesd_models_damaged 0" not in listing, "metrics do not count it")


def flip(data, place):
    """Changes a bit of the byte in the middle."""
    with open(os.path.join(data, "data.mdb"), "r+b") as file:
        file.seek(place.at + place.length // 2)
        found = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([found ^ 1]))


def test_whoever_meets_damage_marks_the_model(api):
    """Tables that a load does not read: the first request that does finds it, and it is told from then on."""
    daemon = api.another(config=CONFIG).start()
    fill(daemon.client, "met", {"decision": "bayes"}, lines_of(api.random, 60, ["ham", "spam"]), ["ham"])
    daemon.stop()
    for table, question in (("scores", "/evaluation"), ("words", "/vocabulary?label=ham&limit=3000")):
        data = shutil.copytree(daemon.data, os.path.join(api.new_folder(), "data"))
        places = [p for p in places_of(os.path.join(data, "data.mdb")) if (p.kind, p.table) == ("value", table)]
        flip(data, places[0])
        other = api.another(data=data, config=CONFIG).start()
        holds(models_of(other.client)["met"].get("state") in (None, "damaged"), f"{table}: before anybody has asked")
        refused(other.client.get("/v1/models/met" + question), 503, "damaged")
        assert_told(other.client, "met")
        other.stop()


def stacks_of(client):
    """What the stack of each model has learned, as an export has it."""
    return {name: json.loads(client.get(f"/v1/models/{name}/export").ok().body.split(b"\n", 1)[0]).get("stack")
            for name in models_of(client)}


def test_a_rebuild_says_when_weights_are_learned_anew(api):
    """Documents that were forgotten have taught weights, and only the old store has these."""
    daemon = api.another(config=CONFIG).start()
    for name, decision in (("plain", "bayes"), ("stack", "stacked")):
        daemon.client.put(f"/v1/models/{name}", {"decision": decision}).ok(201)
        rows = lines_of(api.random, 60, ["ham", "spam"])
        daemon.client.post(f"/v1/models/{name}/train", {"documents": rows}).ok()
        for row in rows[10:13]:  # with one more, weights are fitted anew in a quiet moment
            daemon.client.post(f"/v1/models/{name}/untrain", {"id": row["id"]}).ok()
    stacks = stacks_of(daemon.client)
    daemon.stop()
    # The damaged page of weights is that of one model, and the page of states has those of both.
    for table, models in (("rows", []), ("labels", []), ("weights", ["stack"]), ("state", ["plain", "stack"])):
        data = shutil.copytree(daemon.data, os.path.join(api.new_folder(), "data"))
        place = next(p for p in places_of(os.path.join(data, "data.mdb")) if (p.kind, p.table) == ("structure", table) and p.length > 8)
        flip(data, place)
        holds("rebuild" in api.tool("--verify", "--data", data)[2], f"{table}: the damaged page is no reason to rebuild")
        status, out, err = api.tool("--rebuild", "--data", data)
        equal(status, 1, f"--rebuild with damaged {table}: {out}{err}")
        told = [line for line in out.splitlines() if "learned anew" in line]
        equal(sorted(line.split("'")[1] for line in told), models, f"damaged {table}: {out}{err}")
        other = api.another(data=data, config=CONFIG).start()
        equal(stacks_of(other.client) == stacks, not models, f"the weights are as before after damaged {table}")
        other.stop()


class FewBytes(Trial):
    """Some bytes in a row: no checksum can tell what they were."""

    def damage(self):
        self.place = self.pick()
        length = min(self.place.length, self.rng.randrange(2, 9))
        self.at = self.place.at + self.rng.randrange(self.place.length - length + 1)
        self.flip = self.rng.randbytes(length)
        self.write(self.at, bytes(a ^ b for a, b in zip(self.read(self.at, length), self.flip)))

    def pick(self):
        return self.original.choose(self.rng, self.rng.choice(["value", "value", "key"]))

    def __str__(self):
        return f"{self.place!r}, from byte {self.at} flipped by {self.flip.hex()}"


class Record(FewBytes):
    """Of a model's record: the ledger says which model it is."""

    def pick(self):
        return self.rng.choice(self.original.places[self.rng.choice(["key", "value"])]["models"])


def test_few_bytes(api):
    try_all(api, FewBytes, trials_wanted(api))


def test_records_of_models(api):
    try_all(api, Record, trials_wanted(api) // 5)


class OneOfEach(Trial):
    """A bit of an entry of a given kind, and not of a value so large that it has pages of its own: the log tells of it."""

    def __init__(self, api, original, rng, kind, table):
        self.kind, self.table = kind, table
        super().__init__(api, original, rng)

    def damage(self):
        sizes = {place.key: place.length for place in self.original.places["value"][self.table]}
        places = [p for p in self.original.places[self.kind][self.table] if sizes[p.key] < 1900]
        self.place = self.rng.choice(places)
        flip(self.data, self.place)

    def served(self, daemon):
        super().served(daemon)
        holds(self.is_logged, f"the log does not tell of the damage: {daemon.output()}")

    def __str__(self):
        return f"{self.place!r}, a bit of its middle flipped"


def test_a_wrong_bit_is_told_and_costs_one_model(api):
    """In every table, in keys and in values."""
    original, told = Original(api), []
    for kind in ("key", "value"):
        for table in sorted(original.places[kind]):
            trial = OneOfEach(api, original, api.random, kind, table)
            told += [f"{trial}: {fault[:600]}" for fault in trial.faults()]
    holds(not told, "\n      ".join(told))


def test_damage_of_the_whole_store_is_mended_by_a_rebuild(api):
    """Rows of META: the start is refused and says what to do; that brings everything back."""
    original = Original(api)
    for kind in ("key", "value"):
        for place in original.places[kind]["meta"]:
            data = shutil.copytree(original.data, os.path.join(api.new_folder(), "data"))
            with open(os.path.join(data, "data.mdb"), "r+b") as file:
                file.seek(place.at)
                file.write(api.random.randbytes(place.length))
            status, out, err = api.tool("--verify", "--data", data)
            if (kind, place.key) != ("key", b"greatest_model"):  # which is computed then
                holds(status == 1 and "bayesd --rebuild" in err, f"{kind} of {place.key}: {out}{err}")
            status, out, err = api.tool("--rebuild", "--data", data)
            equal(status, 1, f"--rebuild with a damaged {kind} of {place.key}: {out}{err}")
            daemon = api.another(data=data, config=CONFIG).start()
            for question in original.questions:
                equal(ask(daemon.client, *question[1:]), original.answers[question], f"{kind} of {place.key}: {question}")
            daemon.stop()


class Waiting(FewBytes):
    """What waits in a quarantine: the model is as it was."""

    def pick(self):
        return self.rng.choice(self.original.places[self.rng.choice(["key", "value"])]["quarantine"])


def test_waiting_changes(api):
    try_all(api, Waiting, trials_wanted(api) // 5)


class GarbledKey(Trial):
    """A whole key is overwritten: no checksum can tell what it was."""

    def damage(self):
        self.place = self.original.choose(self.rng, "key")
        self.garbage = self.rng.randbytes(self.place.length)
        self.write(self.place.at, self.garbage)

    def __str__(self):
        return f"{self.place!r} overwritten by {self.garbage.hex()}"


class LostSector(Trial):
    """A sector of the disk is empty, or has what belongs elsewhere: the start may be refused, in words."""
    SECTOR, is_content = 512, False

    def damage(self):
        self.place = self.original.choose(self.rng)
        self.at = self.place.at // self.SECTOR * self.SECTOR
        size = os.path.getsize(os.path.join(self.data, "data.mdb"))
        self.content = self.rng.choice([bytes(self.SECTOR), self.rng.randbytes(self.SECTOR),
                                        self.read(self.rng.randrange(size // self.SECTOR) * self.SECTOR, self.SECTOR)])
        self.write(self.at, self.content)

    def __str__(self):
        return f"{self.place!r}, sector at {self.at} overwritten by {self.content[:8].hex()} ..."


def test_lost_sectors(api):
    try_all(api, LostSector, trials_wanted(api) // 5)


def test_flipped_bytes(api):
    try_all(api, Trial, trials_wanted(api))


def test_garbled_keys(api):
    try_all(api, GarbledKey, trials_wanted(api) // 5)


def try_all(api, kind, wanted):
    original, told = Original(api), []
    bad, kinds = 0, Counter()
    for number in range(wanted):
        trial = kind(api, original, random.Random(f"{api.seed} {number}"))
        faults = trial.faults()
        told += [f"trial {number}: {trial}: {fault[:600]}" for fault in faults]
        bad += bool(faults)
        kinds.update(re.sub(r"/\S+|\d+", "#", fault)[:70] for fault in faults)
        if faults and os.environ.get("DAMAGE_KEEP"):
            shutil.copytree(trial.untouched, os.path.join(os.environ["DAMAGE_KEEP"], f"{kind.__name__}-{api.seed}-{number}"))
        shutil.rmtree(os.path.dirname(trial.data))
    holds(not bad, f"{bad} of {wanted} trials failed:\n      " + "\n      ".join(by_kind(kinds) + told[:60]))


def by_kind(kinds):
    return [f"{count} times: {what}" for what, count in kinds.most_common(20)]


# ---- dumps that were changed --------------------------------------------------------------------
def altered(dump, rng):
    """Dumps whose every line is in order, but that are not what was exported."""
    records = [json.loads(line) for line in dump.splitlines()]
    documents = [i for i, record in enumerate(records) if "document" in record]
    for _ in range(10):
        changed = json.loads(json.dumps(records))
        document = changed[rng.choice(documents)]["document"]
        document["counts"][0] += 1
        document["tokens"] += 1
        yield "a count raised", changed
        changed = json.loads(json.dumps(records))
        del changed[rng.choice(documents)]
        changed[-1]["end"]["documents"] -= 1
        yield "a document left out", changed


def test_an_import_compares_totals(api):
    fill(api, "totals", None, lines_of(api.random, 40, ["a", "b"]), ["a"])
    dump = api.get("/v1/models/totals/export").ok().body
    for what, records in altered(dump, api.random):
        body = "".join(json.dumps(record) + "\n" for record in records)
        reply = api.put("/v1/models/altered/import", body, NDJSON)
        holds(reply.status in (400, 422), f"{what}: {reply.status} {reply.body[:300]}")
        refused(api.get("/v1/models/altered"), 404)
    api.put("/v1/models/altered/import", dump, NDJSON).ok(201)
