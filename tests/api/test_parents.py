# SPDX-License-Identifier: Apache-2.0
"""Models with a parent: they begin as it, become their own, say what came from whom, and are kept apart."""
import math
import os
import random
import threading

from harness import equal, holds, near, refused
from lmdb_pages import places_of
from test_client import Bayesc
from test_damage import flip
from test_tokens import bearer, for_users

NDJSON = "application/x-ndjson"
ALL, TENANT, USER = "/v1/models/all", "/v1/models/tenant", "/v1/models/user"
PROBES = ["cheap pills tomorrow", "meeting agenda cheap", "word1 word2 word3 invoice", "unheard of"]


def texts(seed, count=40):
    rnd = random.Random(seed)
    for n in range(count):
        label = "spam" if n % 2 else "ham"
        telling = {"spam": ["cheap", "pills", "offer"], "ham": ["meeting", "agenda", "lunch"]}[label]
        yield " ".join([rnd.choice(telling), *(f"word{rnd.randrange(60)}" for _ in range(9))]), label, f"{seed}-{n}"


def teach(client, path, seed=1, count=40):
    for text, label, id in texts(seed, count):
        client.post(path + "/train", {"text": text, "label": label, "id": id}).ok()


def settle(client, path):
    client.post(path + "/refit").ok()


def fresh(api, **config):
    """A daemon of its own with a model 'all' that knows something."""
    daemon = api.another(keep=True, **config).start()
    daemon.client.put(ALL, {"decision": "stacked"}).ok(201)
    teach(daemon.client, ALL)
    settle(daemon.client, ALL)
    return daemon


def child(client, path=USER, parent="all", status=201, **settings):
    return client.put(path, {"decision": "stacked", "parent": parent, **settings}).ok(status).json


def says(client, path, text, explain=0):
    query = f"?explain={explain}" if explain else ""
    return client.post(path + "/classify" + query, {"text": text}).ok().json


def verdicts(client, path):
    return [says(client, path, text) for text in PROBES]


def same(got, want, what=""):
    """Verdicts of two models, but for their names."""
    for a, b in zip(got, want):
        for member in ("probabilities", "log_scores"):
            equal(a[member].keys(), b[member].keys(), what)
            for label in a[member]:
                near(a[member][label], b[member][label], f"{what}: {member} of {label}", 1e-9)
        equal((a["label"], a["tokens"], a["ready"]), (b["label"], b["tokens"], b["ready"]), what)


# ---- beginning as the parent --------------------------------------------------------------------
def test_begins_as_the_parent(api):
    client = fresh(api).client
    settings = child(client)["settings"]
    equal((settings["parent"], settings["parent_strength"]), ("all", 100))
    same(verdicts(client, USER), verdicts(client, ALL), "without documents")
    got = says(client, USER, PROBES[0], 9)
    for row in got["explanation"]:
        equal(row["shares"], {"all": 1})
    teach(client, ALL, 2)
    same(verdicts(client, USER), verdicts(client, ALL), "the parent's changes are seen")


def test_no_step_with_the_first_document(api):
    """With a parent of great strength one document changes next to nothing."""
    client = fresh(api).client
    client.put(USER, {"decision": "stacked", "parent": "all", "parent_strength": 100000}).ok(201)
    client.post(USER + "/train", {"text": "quite another thing", "label": "ham"}).ok()
    for a, b in zip(verdicts(client, USER), verdicts(client, ALL)):
        holds(abs(a["probabilities"]["spam"] - b["probabilities"]["spam"]) < 0.02, f"{a}\n{b}")


def test_moves_away(api):
    """What the parent calls spam becomes ham for the user, by the strength that is set; the parent stays."""
    client = fresh(api).client
    want = verdicts(client, ALL)
    child(client, parent_strength=10)
    child(client, "/v1/models/firm", parent_strength=1000)
    text = "cheap pills tomorrow"
    was = says(client, USER, text)["probabilities"]["ham"]
    for n in range(3):
        for path in (USER, "/v1/models/firm"):
            client.post(path + "/train", {"text": f"cheap pills hello{n}", "label": "ham", "id": str(n)}).ok()
            client.post(path + "/train", {"text": f"agenda casino{n}", "label": "spam", "id": f"s{n}"}).ok()
    loose, firm = (says(client, path, text)["probabilities"]["ham"] for path in (USER, "/v1/models/firm"))
    holds(loose > firm > was, f"parent {was}, strength 1000 {firm}, strength 10 {loose}")
    for n in range(3, 12):
        client.post(USER + "/train", {"text": f"cheap pills hello{n}", "label": "ham", "id": str(n)}).ok()
    holds(says(client, USER, text)["label"] == "ham", says(client, USER, text))
    same(verdicts(client, ALL), want, "the parent")


def test_forgetting_restores(api):
    client = fresh(api).client
    child(client)
    want = verdicts(client, ALL)
    teach(client, USER, 3)
    dump = client.get(USER + "/export").ok().lines
    client.post(USER + "/train", {"text": "cheap other", "label": "ham", "id": "more"}).ok()
    client.post(USER + "/untrain", {"id": "more"}).ok()
    equal([row for row in client.get(USER + "/export").ok().lines if "id" in row],
          [row for row in dump if "id" in row], "its own documents")
    for _, _, id in texts(3):
        client.post(USER + "/untrain", {"id": id}).ok()
    same(verdicts(client, USER), want, "when all is forgotten")


def test_two_labels_are_ready_at_once(api):
    client = fresh(api).client
    child(client)
    client.post(USER + "/train", {"text": "hello there", "label": "ham"}).ok()
    got = says(client, USER, PROBES[0])
    equal((sorted(got["probabilities"]), got["ready"]), (["ham", "spam"], True))


def test_a_parent_that_knows_nothing(api):
    daemon = api.another().start()
    client = daemon.client
    client.put(ALL, {"decision": "stacked"}).ok(201)
    client.put("/v1/models/alone", {"decision": "stacked"}).ok(201)
    child(client)
    refused(client.post(USER + "/classify", {"text": "a"}), 409)
    for path in (USER, "/v1/models/alone"):
        teach(client, path)
        settle(client, path)
    for a, b in zip(verdicts(client, USER), verdicts(client, "/v1/models/alone")):
        near(a["log_scores"]["spam"], b["log_scores"]["spam"], "as without a parent", 1e-9)


# ---- formulas -----------------------------------------------------------------------------------
def by_the_book(own, parent, strength, document, smoothing=1.0):
    """ln P(v) + sum of ln P(w|v) of documents {label: [words]}: Mitchell's m-estimate (1997, equation 6.22), whose
    prior is the parent's estimate, with the smoothing K of core/stack/blend.h."""
    count = {of: sum(map(len, rows.values())) for of, rows in (("own", own), ("parent", parent))}
    s = min(1, strength / count["parent"])
    share = count["own"] / (count["own"] + strength)
    k = s + (1 - s) * share ** 2
    vocabulary = max(len({w for rows in of.values() for text in rows for w in text}) for of in (own, parent))
    known = {w for of in (own, parent) for rows in of.values() for text in rows for w in text}
    scores = {}
    documents = {v: len(own[v]) + s * len(parent[v]) for v in parent}
    for v in parent:
        n = lambda of, w: sum(text.count(w) for text in of[v])
        total = sum(map(len, own[v])) + s * sum(map(len, parent[v]))
        scores[v] = math.log(documents[v] / sum(documents.values())) + sum(
            math.log((n(own, w) + s * n(parent, w) + k * smoothing) / (total + k * smoothing * vocabulary))
            for w in document if w in known)
    return scores


def test_by_the_book(api):
    """log_scores of parent and own together, recomputed from the documents; so is the explanation of `bayes`."""
    client = api.another().start().client
    own = {"ham": [["lunch", "today"], ["meeting", "lunch", "lunch"]], "spam": [["pills", "today"]]}
    parent = {"ham": [["meeting", "agenda"], ["agenda", "notes", "today"]] * 3, "spam": [["pills", "cheap", "cheap"]] * 5}
    for strength in (1, 4, 500):
        for name, of in (("p", parent), ("c", own)):
            settings = {"preset": "book", "smoothing": 0.5}
            if name == "c":
                settings |= {"parent": "p", "parent_strength": strength}
            client.put(f"/v1/models/{name}", settings)
            for label, rows in of.items():
                for n, words in enumerate(rows):
                    client.post(f"/v1/models/{name}/train", {"text": " ".join(words), "label": label, "id": f"{label}{n}"}).ok()
        document = ["cheap", "lunch", "today", "today", "never"]
        got = says(client, "/v1/models/c", " ".join(document), 20)
        want = by_the_book(own, parent, strength, document, 0.5)
        for label in want:
            near(got["log_scores"][label], want[label], f"strength {strength}, {label}", 1e-9)
        first, second = sorted(want.values(), reverse=True)
        near(sum(row["evidence"] for row in got["explanation"]), first - second, "evidence", 1e-9)
        shares = {row["token"]: row["shares"] for row in got["explanation"]}
        s = min(1, strength / 11)
        near(shares["today"]["p"], s * 3 / (s * 3 + 2), "of 3 documents there and 2 here", 1e-9)
        equal((shares["lunch"], shares["cheap"]), ({"c": 1, "p": 0}, {"c": 0, "p": 1}))
        equal(got["tokens"], {"total": 5, "known": 4, "unknown": 1})


def test_explanations(api):
    """They add up to the verdict, and the shares of each row to 1."""
    client = fresh(api).client
    child(client, TENANT)
    child(client, USER, "tenant", parent_strength=20)
    teach(client, TENANT, 4, 20)
    teach(client, USER, 5, 10)
    for text in PROBES[:3]:
        got = says(client, USER, text, 1000)
        first, second = sorted(got["probabilities"].values(), reverse=True)
        near(sum(row["evidence"] for row in got["explanation"]), math.log(first / second), text, 1e-9)
        for row in got["explanation"]:
            equal(sorted(row["shares"]), ["all", "tenant", "user"])
            near(sum(row["shares"].values()), 1, f"{text}: {row}", 1e-9)
    equal("shares" in says(client, ALL, PROBES[0], 3)["explanation"][0], False)


def test_the_client_tells_them(api):
    daemon = fresh(api)
    child(daemon.client)
    daemon.client.post(USER + "/train", {"text": "cheap lunch", "label": "ham"}).ok()
    client = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    told = client.run("explain", "-m", "user", "-n", "50", "--text", stdin=b"cheap lunch").decode()
    holds("from" in next(line for line in told.splitlines() if line.startswith("token ")).split(), told)
    row = next(line for line in told.splitlines() if line.startswith("cheap "))
    holds("user " in row and "all " in row and row.count("%") == 2, told)
    holds("%" not in client.run("explain", "-m", "all", "-n", "50", "--text", stdin=b"cheap lunch").decode(), "without a parent")


def test_three_levels(api):
    """A middle that has learned nothing is as if it were not there; what it learns comes in."""
    client = fresh(api).client
    child(client, TENANT)
    child(client, USER, "tenant")
    same(verdicts(client, USER), verdicts(client, ALL), "nobody below has documents")
    child(client, "/v1/models/direct", "all")
    for path in (USER, "/v1/models/direct"):
        teach(client, path, 6, 10)
        settle(client, path)
    for a, b in zip(verdicts(client, USER), verdicts(client, "/v1/models/direct")):
        near(a["log_scores"]["spam"], b["log_scores"]["spam"], "past the middle", 1e-9)
    before = says(client, USER, "invoice")["log_scores"]
    client.post(TENANT + "/train", {"text": "invoice", "label": "spam"}).ok()
    holds(says(client, USER, "invoice")["log_scores"] != before, "the middle is not heard")


def test_many_labels(api):
    """Labels are the same by name, whatever their numbers; one that only the child has is its own."""
    client = api.another().start().client
    client.put(ALL, {"decision": "stacked"}).ok(201)
    for n in range(12):
        for label in ("art", "maths", "sport"):
            client.post(ALL + "/train", {"text": f"{label}word common{n % 3}", "label": label, "id": f"{label}{n}"}).ok()
    child(client)
    for label in ("sport", "maths", "chess"):
        client.post(USER + "/train", {"text": f"{label}word mine", "label": label}).ok()
    for label in ("art", "maths", "sport", "chess"):
        got = says(client, USER, f"{label}word common1", 100)
        equal((got["label"], sorted(got["probabilities"])), (label, ["art", "chess", "maths", "sport"]))
        first, second = sorted(got["probabilities"].values(), reverse=True)[:2]
        near(sum(row["evidence"] for row in got["explanation"]), math.log(first / second), label, 1e-9)


# ---- refusals -----------------------------------------------------------------------------------
def test_refused_parents(api):
    client = fresh(api).client
    stacked = {"decision": "stacked"}
    refused(client.put(USER, {**stacked, "parent": "nobody"}), 422, "nobody")
    refused(client.put(USER, {**stacked, "parent": "a b"}), 422, "parent")
    refused(client.put(USER, {**stacked, "parent": 7}), 400, "parent")
    refused(client.put(USER, {**stacked, "parent": "user"}), 422, "there is no model")
    refused(client.put(ALL, {**stacked, "parent": "all"}), 422, "itself")
    refused(client.put(USER, {"preset": "mail", "parent": "all"}), 409, "fields")
    refused(client.put(USER, {**stacked, "parent": "all", "max_term_count": 3}), 409, "max_term_count")
    for member, value in (("event_model", "bernoulli"), ("min_count", 3), ("skip_top", 5)):
        refused(client.put(USER, {**stacked, "parent": "all", member: value}), 422, member)
    client.put("/v1/models/else", stacked).ok(201)
    client.put("/v1/models/elses", {**stacked, "parent": "else"}).ok(201)
    for member, value in (("event_model", "bernoulli"), ("predict", "integrate"), ("min_count", 3), ("skip_top", 5)):
        formula = {"decision": "bayes", member: value, "tokenizer": {"fields": ["body"]}}
        client.put("/v1/models/cannot", formula).ok(201)
        client.post("/v1/models/cannot/train", {"text": "a b", "label": "spam"}).ok()
        refused(client.put(USER, {"decision": "bayes", "parent": "cannot"}), 409, member)
        formula["tokenizer"] = client.get("/v1/models/else").ok().json["settings"]["tokenizer"]
        refused(client.put("/v1/models/else", formula), 409, member)
        client.delete("/v1/models/cannot").ok(204)
    for strength in (0, 10 ** 10):
        refused(client.put(USER, {**stacked, "parent": "all", "parent_strength": strength}), 422, "parent_strength")
    refused(client.get(USER), 404)  # nothing of it was made
    child(client, TENANT)
    child(client, USER, "tenant")
    refused(client.put("/v1/models/fourth", {**stacked, "parent": "user"}), 422, "levels")
    client.put("/v1/models/above", stacked).ok(201)
    refused(client.put(ALL, {**stacked, "parent": "above"}), 422, "levels")
    refused(client.put(ALL, {**stacked, "parent": "user"}), 422, "parent")
    refused(client.put(ALL, {**stacked, "parent": "tenant"}), 422, "parent")
    refused(client.put(ALL, {**stacked, "max_term_count": 3}), 409, "max_term_count")
    client.put("/v1/models/other", stacked).ok(201)
    client.post("/v1/models/other/train", {"text": "a", "label": "news"}).ok()
    refused(client.put("/v1/models/other", {**stacked, "parent": "all"}), 409, "news")


def test_parents_stay(api):
    """A parent cannot go, nor can labels get other names, while there are children."""
    client = fresh(api).client
    child(client)
    refused(client.delete(ALL), 409, "user")
    refused(client.call("PATCH", ALL + "/labels/spam", {"name": "junk"}), 409, "user")
    client.post(USER + "/train", {"text": "a", "label": "spam"}).ok()
    refused(client.call("PATCH", USER + "/labels/spam", {"name": "junk"}), 409, "all")
    equal(client.put(USER, {"decision": "stacked", "parent": None}).ok().json["settings"]["parent"], None)
    client.call("PATCH", USER + "/labels/spam", {"name": "junk"}).ok()
    client.delete(ALL).ok(204)
    equal(list(says(client, USER, "a")["log_scores"]), ["junk"])


# ---- the store ----------------------------------------------------------------------------------
def test_after_a_kill(api):
    """The same verdicts after kill -9, also when the child is asked first; the store is sound, and rebuilt the same."""
    daemon = fresh(api)
    child(daemon.client, TENANT)
    child(daemon.client, USER, "tenant", parent_strength=30)
    teach(daemon.client, TENANT, 7, 16)
    teach(daemon.client, USER, 8, 16)
    for path in (TENANT, USER):
        settle(daemon.client, path)
    want = verdicts(daemon.client, USER)
    for again in ("kill -9", "--rebuild"):
        daemon.kill()
        status, out, err = api.tool("--verify", "--data", daemon.data)
        equal(status, 0, out + err)
        if again == "--rebuild":
            status, out, err = api.tool("--rebuild", "--data", daemon.data)
            equal((status, "differs" in out + err), (0, False), out + err)
        daemon = api.another(data=daemon.data, keep=True).start()
        refused(daemon.client.delete(ALL), 409, "tenant")
        same(verdicts(daemon.client, USER), want, again)
    equal(daemon.client.get("/metrics").body.count(b"bayesd_models_with_parent 2\n"), 1)


def test_a_parent_that_came_without_texts(api):
    """Its features keep the key under which they were hashed; whoever begins as it, or comes with it, has it too."""
    old = fresh(api, config={"store": {"keep_words": "no"}}).client
    child(old)
    daemon = api.another(keep=True).start()
    for path in (ALL, USER):
        daemon.client.put(path + "/import", old.get(path + "/export").ok().body, NDJSON).ok(201)
    child(daemon.client, TENANT)
    teach(daemon.client, TENANT, 7, 16)
    settle(daemon.client, TENANT)
    want = {path: verdicts(daemon.client, path) for path in (ALL, USER, TENANT)}
    same(want[USER], want[ALL], "the one that came")
    for again in ("kill -9", "--rebuild"):
        daemon.kill()
        for check in ("--verify", "--rebuild"):
            status, out, err = api.tool(check, "--data", daemon.data)
            equal((status, "differs" in out + err), (0, False), out + err)
        daemon = api.another(data=daemon.data, keep=True).start()
        for path, verdict in want.items():
            same(verdicts(daemon.client, path), verdict, f"{path} after {again}")
    daemon.client.put("/v1/models/alone", {"decision": "stacked"}).ok(201)
    refused(daemon.client.put("/v1/models/alone", {"decision": "stacked", "parent": "all"}), 409, "keys")


def test_a_damaged_parent(api):
    """Its children say so instead of answering as somebody else; they learn, and a new parent makes them whole."""
    daemon = api.another(keep=True).start()
    daemon.client.put(ALL, {"decision": "stacked"}).ok(201)
    teach(daemon.client, ALL)
    child(daemon.client)
    daemon.client.post(USER + "/train", {"text": "cheap lunch", "label": "ham"}).ok()
    settle(daemon.client, ALL)
    want = verdicts(daemon.client, USER)
    dump = daemon.client.get(ALL + "/export").ok().body
    daemon.stop()
    place = next(p for p in places_of(os.path.join(daemon.data, "data.mdb")) if (p.kind, p.table) == ("value", "labels"))
    flip(daemon.data, place)  # that of the model which was made first
    client = api.another(data=daemon.data, keep=True).start().client
    refused(client.post(USER + "/classify", {"text": PROBES[0]}), 503, "parent")
    client.post(USER + "/train", {"text": "more", "label": "ham", "id": "more"}).ok()
    client.post(USER + "/untrain", {"id": "more"}).ok()
    equal("state" in client.get(USER).ok().json, False)
    client.put(ALL + "/import", dump, NDJSON).ok(200)
    same(verdicts(client, USER), want, "with a new parent")


def test_dumps(api):
    """A dump names the parent, and is of the child's own documents alone."""
    client = fresh(api).client
    child(client, parent_strength=7)
    teach(client, USER, 9, 12)
    settle(client, USER)
    want = verdicts(client, USER)
    dump = client.get(USER + "/export").ok().body
    client.put("/v1/models/copy/import", dump, NDJSON).ok(201)
    settings = client.get("/v1/models/copy").ok().json["settings"]
    equal((settings["parent"], settings["parent_strength"]), ("all", 7))
    same(verdicts(client, "/v1/models/copy"), want, "imported")
    other = api.another().start().client
    refused(other.put("/v1/models/copy/import", dump, NDJSON), 422, "all")
    refused(other.get("/v1/models/copy"), 404)
    # A parent that would count other things does not take its place.
    other.put("/v1/models/all", {"preset": "mail"}).ok(201)
    other.post("/v1/models/all/train", {"text": "a", "label": "ham"}).ok()
    refused(client.put(ALL + "/import", other.get(ALL + "/export").ok().body, NDJSON), 409, "fields")
    same(verdicts(client, USER), want, "nothing has changed")


def test_a_label_of_the_childs_own(api):
    """What a child learned after it has its parent does not keep its settings or its dump out."""
    client = fresh(api).client
    child(client)
    teach(client, ALL)
    client.post(USER + "/train", {"text": "monthly letter", "label": "newsletter"}).ok()
    settle(client, USER)
    client.put(USER, {"decision": "stacked", "parent": "all", "parent_strength": 9}).ok(200)
    dump = client.get(USER + "/export").ok().body
    settle(client, USER)
    want = verdicts(client, USER)
    for name, status in (("copy", 201), ("user", 200)):
        client.put(f"/v1/models/{name}/import", dump, NDJSON).ok(status)
        settle(client, f"/v1/models/{name}")
        same(verdicts(client, f"/v1/models/{name}"), want, "imported")
    client.put(USER, {"decision": "stacked"}).ok(200)
    refused(client.put(USER, {"decision": "stacked", "parent": "all"}), 409, "newsletter")


def test_parents_are_loaded_with_their_children(api):
    """A child that is asked first after a start loads its parent; the limit of memory holds for both."""
    daemon = fresh(api)
    for n in range(70):
        child(daemon.client, f"/v1/models/u{n}")
    want = verdicts(daemon.client, ALL)
    daemon.stop()
    daemon = api.another(data=daemon.data, config={"store": {"memory": "1M"}}).start()
    for n in range(70):
        same(verdicts(daemon.client, f"/v1/models/u{n}"), want, f"child {n}")


def test_at_the_same_time(api):
    """Parent, child and settings change while others ask: every answer is a verdict."""
    daemon = fresh(api)
    child(daemon.client)
    teach(daemon.client, USER, 10, 6)
    end, wrong = threading.Event(), []

    def ask(path):
        client = daemon.new_client()
        while not end.is_set():
            reply = client.post(path + "/classify?explain=5", {"text": PROBES[0]})
            if reply.status != 200 or abs(sum(reply.json["probabilities"].values()) - 1) > 1e-9:
                wrong.append(reply.body)

    threads = [threading.Thread(target=ask, args=(path,)) for path in (USER, ALL, USER)]
    for thread in threads:
        thread.start()
    client = daemon.client
    for round in range(6):
        teach(client, ALL, 20 + round, 8)
        teach(client, USER, 40 + round, 8)
        child(client, status=200, parent=None if round % 2 else "all")
    end.set()
    for thread in threads:
        thread.join()
    equal(wrong[:1], [])


def test_families_come_and_go(api):
    """Models leave the memory and are loaded again, and the parent is replaced, while children are asked."""
    daemon = fresh(api, config={"store": {"memory": "300K"}})
    names = [f"/v1/models/u{n}" for n in range(12)]
    for n, path in enumerate(names):
        child(daemon.client, path)
        teach(daemon.client, path, 100 + n, 4)
    dump = daemon.client.get(ALL + "/export").ok().body
    end, wrong, asked = threading.Event(), [], []

    def ask(seed):
        client, rnd = daemon.new_client(), random.Random(seed)
        while not end.is_set():
            reply = client.post(rnd.choice(names) + "/classify", {"text": rnd.choice(PROBES)})
            asked.append(1)
            if reply.status != 200:
                wrong.append(reply.body)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        daemon.client.put(ALL + "/import", dump, NDJSON).ok(200)
        teach(daemon.client, names[0], 200, 4)
    end.set()
    for thread in threads:
        thread.join()
    equal((wrong[:1], len(asked) > 5), ([], True))
    refused(daemon.client.delete(ALL), 409, "u0")


# ---- evaluation ---------------------------------------------------------------------------------
def test_evaluation(api):
    """Scores before learning are those that the user saw, so the first documents count as well."""
    client = fresh(api).client
    child(client)
    for text, label, id in texts(11, 20):
        client.post(USER + "/train", {"text": text, "label": label, "id": id}).ok()
    alone = "/v1/models/alone"
    client.put(alone, {"decision": "stacked"}).ok(201)
    teach(client, alone, 11, 20)
    with_parent, without = (client.get(path + "/evaluation").ok().json["windows"][0] for path in (USER, alone))
    holds(with_parent["log_loss"] < without["log_loss"], f"{with_parent} {without}")


def test_leave_one_out(api):
    """What each document would get from a model without it, and the parent, which stays."""
    client = fresh(api).client
    child(client)
    rows = list(texts(11, 12))
    for text, label, id in rows:
        client.post(USER + "/train", {"text": text, "label": label, "id": id}).ok()
    settle(client, USER)
    got = client.get(USER + "/evaluation?scores=leave-one-out").ok().json["windows"][-1]
    child(client, parent=None, status=200)
    alone = client.get(USER + "/evaluation?scores=leave-one-out").ok().json["windows"][-1]
    equal((got["documents"], alone["documents"]), (12, 12))
    holds(got["log_loss"] < alone["log_loss"], f"{got}\n{alone}")


# ---- access -------------------------------------------------------------------------------------
def test_a_parent_is_one_that_the_client_may_ask(api):
    daemon, tokens, everything = for_users(api)
    client, admin, owner = daemon.client, bearer(tokens["admin"]), bearer(everything)
    refused(client.call("PUT", "/v1/models/user-ann", {"parent": "mail"}, **admin), 403, "mail")
    client.call("PUT", "/v1/models/user-ann", {"parent": "user-bob"}, **admin).ok()
    client.call("PUT", "/v1/models/user-ann", {"parent": "mail"}, **owner).ok()
    dump = client.call("GET", "/v1/models/user-ann/export", **owner).ok().body
    refused(client.call("PUT", "/v1/models/user-ann/import", dump, NDJSON, **admin), 403, "mail")
    client.call("PUT", "/v1/models/user-ann/import", dump, NDJSON, **owner).ok()
