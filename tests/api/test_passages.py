# SPDX-License-Identifier: Apache-2.0
"""Innocent text that is added to spam does not hide it: passages are judged one by one (core/stack/passages.h)."""
import math
import random

from book import Model
from harness import equal, holds, near, wait_for

NDJSON = "application/x-ndjson"
GOOD = """meeting report draft budget plant schedule contract deal volume nomination meter pipeline invoice legal review team office
calendar lunch question attached spreadsheet forecast pricing storage transport month desk trading agreement counterparty""".split()
BAD = """prize winner casino pills cheap viagra replica watches discount loan mortgage refinance credit debt click offer free bonus
unsubscribe guarantee weight enlargement pharmacy prescription lottery million transfer dollars urgent beneficiary""".split()
COMMON = "the of and to a in is you that it for on with as are this be at have from or by not we your all can more will".split()


def words(rnd, own, count):
    return " ".join(rnd.choice(own) if rnd.random() < 0.6 else rnd.choice(COMMON) for _ in range(count))


def text_of(rnd, label, count=120):
    return f"Subject: {words(rnd, COMMON, 4)}\n{words(rnd, BAD if label == 'spam' else GOOD, count)}\n"


def mail_of(rnd, label, body=None):
    body = body or words(rnd, BAD if label == "spam" else GOOD, 120)
    return (f"From: a{rnd.randrange(40)}@example.org\r\nTo: me@example.net\r\nSubject: {words(rnd, COMMON, 4)}\r\n"
            f"Message-ID: <{rnd.random()}@example.org>\r\n\r\n{body}\r\n")


def teach(client, path, make, count=400, labels=("ham", "spam")):
    rnd = random.Random(3)
    documents = []
    for _ in range(count):
        label = rnd.choice(labels)
        documents.append({**make(rnd, label), "label": label})
    for at in range(0, count, 50):
        client.post(path + "/train", {"documents": documents[at:at + 50]}).ok()
    wait_for(lambda: b"\nbayesd_refits_waiting 0\n" in client.get("/metrics").ok().body, "refits end", 30)


def as_text(rnd, label):
    return {"text": text_of(rnd, label)}


def as_mail(rnd, label):
    return {"mail": mail_of(rnd, label)}


def padded(rnd):
    """A spam with a multiple of innocent text behind it."""
    return words(rnd, BAD, 90) + "\n" + "\n".join(words(rnd, GOOD, 200) for _ in range(3))


def spam(client, path, document):
    return client.post(path + "/classify", document).ok().json["probabilities"]["spam"]


def attacks(seed=7):
    rnd = random.Random(seed)
    return [padded(rnd) for _ in range(20)]


def check_explanation(api, path, document, body):
    """The evidence is the decisive passage's, and sums to the log-odds that are told; the passage is shown. Returns the
    probability by the whole."""
    reply = api.post(path + "/classify?explain=10000", document).ok().json
    passage, rows = reply["passage"], reply["explanation"]
    equal((reply["label"], passage["label"]), ("spam", "spam"))
    second = max(p for label, p in reply["probabilities"].items() if label != "spam")
    near(sum(row["evidence"] for row in rows), math.log(reply["probability"] / second), "evidence", 1e-6)
    equal(rows[-1]["token"], None)
    holds(passage["whole"] < 0.5 < reply["probability"], passage)
    holds(passage["text"] in document.get("text", body), passage)
    holds(passage["to"] - passage["from"] in (64, 128, 256), passage)
    said = {row["token"] for row in rows if row["token"]}
    shown = set(passage["text"].split()[1:-1])
    holds(len(said & shown) > 5, (said, shown))
    holds(not {word for word in said & set(GOOD)} - shown - set(passage["text"].split()), "no word of another passage is named")
    return passage["whole"]


def holds_attack(api, make, wrap, preset):
    with Model(api, preset=preset) as model:
        equal(api.get(model.path).json["settings"]["passages"], True)
        teach(api, model.path, make)
        on = [spam(api, model.path, wrap(body)) for body in attacks()]
        whole = check_explanation(api, model.path, wrap(attacks()[0]), attacks()[0])
        model.put(preset=preset, passages=False)
        off = [spam(api, model.path, wrap(body)) for body in attacks()]
        near(whole, off[0], "by the whole")
        holds("passage" not in api.post(model.path + "/classify?explain=5", wrap(attacks()[0])).ok().json, "no passage decides")
        holds(sum(p > 0.5 for p in off) <= 2, f"without passages the attack works: {off}")
        holds(sum(p > 0.5 for p in on) >= 18, f"with passages it does not: {on}")
        clean = [wrap(words(random.Random(n), GOOD, 700)) for n in range(20)]
        model.put(preset=preset, passages=True)
        holds(all(spam(api, model.path, ham) < 0.5 for ham in clean), "long ham stays ham")
        equal([spam(api, model.path, wrap(body)) for body in attacks()], on)


def test_texts(api):
    holds_attack(api, as_text, lambda body: {"text": f"Subject: about you\n{body}\n"}, "text")


def test_mails(api):
    holds_attack(api, as_mail, lambda body: {"mail": mail_of(random.Random(1), "spam", body)}, "mail")


def test_text_in_front(api):
    """Innocent text before the spam hides less of it, too: its passages have the features that are new there."""
    with Model(api, preset="text") as model:
        teach(api, model.path, as_text)
        rnd = random.Random(11)
        probes = [{"text": f"Subject: about you\n{words(rnd, GOOD, 250)}\n{words(rnd, BAD, 90)}\n{words(rnd, GOOD, 250)}\n"} for _ in range(20)]
        found = [spam(api, model.path, probe) for probe in probes]
        holds(sum(p > 0.5 for p in found) >= 17, f"with passages most are found: {found}")
        model.put(preset="text", passages=False)
        found = [spam(api, model.path, probe) for probe in probes]
        holds(sum(p > 0.5 for p in found) <= 2, f"without them the attack works: {found}")


def test_untrain_takes_the_margin_back(api):
    """A clean document that has a passage like spam raises the margin; without this document it is as before."""
    with Model(api, preset="text") as model:
        teach(api, model.path, as_text)
        probes = [{"text": f"Subject: about you\n{body}\n"} for body in attacks()[:6]]
        before = [spam(api, model.path, probe) for probe in probes]
        unlike = {"text": f"Subject: for you\n{padded(random.Random(23))}\n", "label": "ham"}
        api.post(model.path + "/train", unlike).ok()
        after = [spam(api, model.path, probe) for probe in probes]
        holds(sum(after) < sum(before) - 1, f"the margin rises: {before}, {after}")
        api.post(model.path + "/untrain", unlike).ok()
        equal([spam(api, model.path, probe) for probe in probes], before)


def test_after_a_restart_and_elsewhere(api):
    """The margin is a function of the ledger: the same after a kill, a rebuild, and from a dump."""
    daemon, other = api.another(keep=True).start(), api.another().start()
    path = "/v1/models/m"
    daemon.client.put(path, {"preset": "text"}).ok(201)
    teach(daemon.client, path, as_text)
    probes = [{"text": f"Subject: about you\n{body}\n"} for body in attacks()[:6]]
    want = [spam(daemon.client, path, probe) for probe in probes]
    dump = daemon.client.get(path + "/export").ok().body
    daemon.kill()
    daemon.start()
    equal([spam(daemon.client, path, probe) for probe in probes], want)
    other.client.put("/v1/models/there/import", dump, NDJSON).ok(201)
    for got, there in zip(want, (spam(other.client, "/v1/models/there", probe) for probe in probes)):
        near(there, got, "from a dump", 1e-3)


def test_from_the_history(api):
    """A kept verdict is explained by the passage that decides, and teaches what the document itself would."""
    for make, wrap, preset in ((as_text, lambda body: {"text": f"Subject: about you\n{body}\n"}, "text"),
                               (as_mail, lambda body: {"mail": mail_of(random.Random(1), "spam", body)}, "mail")):
        with Model(api, preset=preset, history=100) as model, Model(api, preset=preset) as other:
            teach(api, model.path, make)
            teach(api, other.path, make)
            document = {**wrap(attacks()[0]), "id": "kept"}
            said = api.post(model.path + "/classify?remember=1&explain=10000", document).ok().json
            kept = api.get(model.path + "/history/kept?explain=10000").ok().json["now"]
            holds(said["passage"].pop("text") in wrap(attacks()[0]).get("text", attacks()[0]), said["passage"])
            equal({key: kept[key] for key in ("probabilities", "passage", "explanation")},
                  {key: said[key] for key in ("probabilities", "passage", "explanation")})
            probes = [wrap(body) for body in attacks()[1:7]]
            before = [spam(api, model.path, probe) for probe in probes]
            api.post(model.path + "/documents/kept/label", {"label": "ham"}).ok()
            api.post(other.path + "/train", {**document, "label": "ham"}).ok()
            after = [spam(api, model.path, probe) for probe in probes]
            holds(sum(after) < sum(before) - 0.5, f"the margin rises: {before}, {after}")
            equal([spam(api, other.path, probe) for probe in probes], after)


NEWS = """release patch kernel compiler thread archive subscribe digest maintainer branch commit merge version library
python driver module package install upgrade mirror licence forum posting moderator list newsletter issue bug fix""".split()


def mail_of_three(rnd, label):
    return {"mail": mail_of(rnd, label, words(rnd, {"spam": BAD, "ham": GOOD, "lists": NEWS}[label], 120))}


def padded_by(rnd, *pools):
    """A spam with text of other labels behind it."""
    return words(rnd, BAD, 90) + "\n" + "\n".join(words(rnd, pool, 200) for pool in pools)


def test_three_labels(api):
    """Spam is judged by its passages against all other labels together, whichever of them lends the innocent text."""
    rnd = random.Random(12)
    bodies = [padded_by(rnd, *pools) for pools in ((GOOD,) * 3, (NEWS,) * 3, (GOOD, NEWS, GOOD)) for _ in range(8)]
    probes = [{"mail": mail_of(random.Random(1), "spam", body)} for body in bodies]
    clean = [mail_of_three(rnd, ("spam", "ham", "lists")[n % 3]) for n in range(30)]
    daemon, other = api.another(keep=True).start(), api.another().start()
    client, path = daemon.client, "/v1/models/m"
    client.put(path, {"preset": "mail"}).ok(201)
    teach(client, path, mail_of_three, labels=("ham", "lists", "spam"))

    def ask(documents):
        return client.post(path + "/classify", {"documents": documents}).ok().json["results"]
    on, clean_on = ask(probes), ask(clean)
    wholes = [check_explanation(client, path, probes[n], bodies[n]) for n in (0, 8, 16)]
    client.put(path, {"preset": "mail", "passages": False}).ok()
    off, clean_off = ask(probes), ask(clean)
    holds(sum(r["label"] == "spam" for r in off) <= 4, f"without passages the attack works: {[r['label'] for r in off]}")
    holds(sum(r["label"] == "spam" for r in on) >= 22, f"with passages it does not: {[r['label'] for r in on]}")
    for whole, result in zip(wholes, off[::8]):
        near(whole, result["probabilities"]["spam"], "by the whole")
    equal([r["label"] for r in clean_on], [r["label"] for r in clean_off], "clean mails")
    for got, want in zip(clean_on, clean_off):
        holds(abs(got["probabilities"]["spam"] - want["probabilities"]["spam"]) < 0.02, (got, want))
    client.put(path, {"preset": "mail"}).ok()
    dump = client.get(path + "/export").ok().body
    daemon.kill()
    daemon.start()
    client = daemon.client
    equal([r["probabilities"] for r in ask(probes)], [r["probabilities"] for r in on], "after a kill")
    other.client.put("/v1/models/there/import", dump, NDJSON).ok(201)
    for got, want in zip(other.client.post("/v1/models/there/classify", {"documents": probes}).ok().json["results"], on):
        near(got["probabilities"]["spam"], want["probabilities"]["spam"], "from a dump", 1e-3)


def test_a_child(api):
    """A model with documents of its own and a parent: the passages are judged by the parent, in what it says of them."""
    probes = [{"text": f"Subject: about you\n{body}\n"} for body in attacks()]
    rnd = random.Random(23)
    clean = [{"text": f"Subject: about you\n{words(rnd, GOOD, 700)}\n"} for _ in range(20)]
    with Model(api, preset="text") as parent, Model(api, preset="text") as child:
        settings = {"preset": "text", "parent": parent.path.rsplit("/", 1)[1]}
        child.put(**settings)
        teach(api, parent.path, as_text)
        alone = [spam(api, child.path, probe) for probe in probes]
        equal(alone, [spam(api, parent.path, probe) for probe in probes], "a child without documents")
        for n, label in enumerate(("ham", "spam") * 6):
            api.post(child.path + "/train", {"id": f"own {n}", "text": text_of(rnd, label), "label": label}).ok()
        wait_for(lambda: b"\nbayesd_refits_waiting 0\n" in api.get("/metrics").ok().body, "refits end", 30)

        def ask(documents):
            return api.post(child.path + "/classify", {"documents": documents}).ok().json["results"]
        on, clean_on = ask(probes), ask(clean)
        told = api.post(child.path + "/classify?explain=10000", probes[0]).ok().json
        child.put(**settings, passages=False)
        off, clean_off = ask(probes), ask(clean)
        holds(sum(r["label"] == "spam" for r in off) <= 2, f"without passages the attack works: {off}")
        holds(sum(r["label"] == "spam" for r in on) >= 18, f"with passages it does not: {on}")
        for got, want in zip(clean_on, clean_off):
            holds(abs(got["probabilities"]["spam"] - want["probabilities"]["spam"]) < 0.02, (got, want))
        equal((told["label"], told["passage"]["label"]), ("spam", "spam"))
        near(told["passage"]["whole"], off[0]["probabilities"]["spam"], "by the whole")
        near(sum(row["evidence"] for row in told["explanation"]), math.log(told["probability"] / told["probabilities"]["ham"]),
             "evidence", 1e-6)
        # What the child has learned of a text as a whole still holds.
        child.put(**settings)
        for n in range(12):
            api.post(child.path + "/train", {"id": f"right {n}", "label": "ham", **probes[n]}).ok()
        holds(spam(api, child.path, probes[0]) < on[0]["probabilities"]["spam"] - 0.2, "what it was taught lowers the verdict")


def test_other_models(api):
    """Without the label spam, or with more than 32 labels, passages change nothing."""
    for labels in (("a", "b"), ("ham", "lists", "news"), ("spam", *(f"l{n}" for n in range(32)))):
        with Model(api, preset="text") as model:
            rnd = random.Random(5)
            for n in range(33 * 3):
                label = labels[n % len(labels)]
                own = {"ham": GOOD, "a": GOOD, "news": COMMON}.get(label, BAD if label == "spam" or len(labels) < 9 else GOOD)
                api.post(model.path + "/train", {"text": words(rnd, own, 100), "label": label}).ok()
            wait_for(lambda: b"\nbayesd_refits_waiting 0\n" in api.get("/metrics").ok().body, "refits end", 30)
            ask = [api.post(model.path + "/classify", {"text": body}).ok().json["probabilities"] for body in attacks()[:4]]
            model.put(preset="text", passages=False)
            equal([api.post(model.path + "/classify", {"text": body}).ok().json["probabilities"] for body in attacks()[:4]], ask)
