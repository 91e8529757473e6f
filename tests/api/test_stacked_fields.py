# SPDX-License-Identifier: Apache-2.0
"""Documents with values of fields in stacked models: each field is evidence of its own, with a weight that is learned."""
import json
import math
import os
import shutil

from acknowledged import NDJSON, exported, models_of, settled, verified
from harness import equal, holds, near
from test_histories import copies_are_the_same, one

M = "/v1/models/tickets"
FIELDS = {"title": "text", "country": "category", "tags": "set", "amount": "number"}
TOPICS = {"billing": "invoice paid charge refund card amount", "shipping": "parcel courier late address box route",
          "login": "password account browser cookie screen reset"}
COUNTRIES = ("DE", "FR", "US")


def ticket(rnd):
    """Who answers it follows from the topic, which the words say, and the country, which they do not."""
    topic, country = rnd.choice(sorted(TOPICS)), rnd.choice(COUNTRIES)
    own, all_words = TOPICS[topic].split(), " ".join(TOPICS.values()).split()
    words = [rnd.choice(own if rnd.random() < 0.5 else all_words) for _ in range(30)]
    values = {"title": " ".join(rnd.choice(own if rnd.random() < 0.6 else all_words) for _ in range(4)),
              "country": country, "tags": rnd.sample(["new", "vip", "old"], rnd.randrange(3)),
              "amount": round(rnd.gauss(100, 30) + 200 * (topic == "billing"), 2)}
    return f"{topic}-{country}", " ".join(words), {k: v for k, v in values.items() if rnd.random() < 0.95}


def learn(client, rows, path=M, values=True):
    lines = [{"id": f"t{n}", "label": label, "text": text, **({"values": v} if values else {})}
             for n, (label, text, v) in enumerate(rows)]
    for reply in client.post(path + "/train", as_lines(lines), NDJSON).ok().lines:
        equal(reply["status"], "learned", reply)


def as_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def right(client, rows, path=M, values=True):
    got = client.post(path + "/classify", as_lines([{"text": text, **({"values": v} if values else {})}
                                                    for _, text, v in rows]), NDJSON).ok().lines
    return sum(reply["label"] == label for reply, (label, _, _) in zip(got, rows)) / len(rows)


def test_fields_help(api):
    """The words alone cannot tell the country: a third of the tickets would go to the right desk."""
    rows = [ticket(api.random) for _ in range(700)]
    api.put(M, {"fields": FIELDS}).ok(201)
    learn(api, rows[:500])
    api.put(M + "-words", {}).ok(201)
    learn(api, rows[:500], M + "-words", values=False)
    api.put(M + "-book", {"preset": "book", "fields": FIELDS}).ok(201)
    learn(api, rows[:500], M + "-book")
    with_fields, without = right(api, rows[500:]), right(api, rows[500:], M + "-words", values=False)
    book = right(api, rows[500:], M + "-book")
    print(f"with fields {with_fields:.3f}, by the book {book:.3f}, without {without:.3f}")
    holds(with_fields > 0.9 and with_fields > book - 0.03 and without < 0.5, (with_fields, book, without))
    for path in (M, M + "-words", M + "-book"):
        api.delete(path).ok(204)


def adds_up(got):
    a, b = sorted(got["probabilities"].values())[-1:-3:-1]
    if b > 0:
        near(sum(row["evidence"] for row in got["explanation"]), math.log(a / b), got["explanation"], 1e-6)


def test_explanation_adds_up(api):
    """With two labels and with more, also for a number that nobody has seen; the rows name field and value."""
    for labels in (2, 9):
        rows = [row for row in (ticket(api.random) for _ in range(400))
                if labels > 2 or row[0] in ("billing-DE", "billing-FR")]
        api.put(M, {"fields": FIELDS}).ok(201)
        learn(api, rows)
        named = set()
        for _, text, values in [ticket(api.random) for _ in range(25)]:
            got = api.post(M + "/classify?explain=10000", {"text": text, "values": values}).ok().json
            adds_up(got)
            named |= {row["token"].replace(":", "=").split("=")[0] for row in got["explanation"]
                      if row["token"] is not None and ("=" in row["token"] or ":" in row["token"])}
        holds(set(FIELDS) <= named, named)
        got = api.post(M + "/classify?explain=99", {"values": {"country": "DE"}}).ok().json
        adds_up(got)
        rows = {row["token"]: row["evidence"] for row in got["explanation"]}
        holds(got["label"].endswith("DE") and "country=DE" in rows, got)
        holds(sum(p for label, p in got["probabilities"].items() if label.endswith("DE")) > 0.8, got)
        api.delete(M).ok(204)


def banded(rnd):
    """The label is that of the band which the number lies in: by two Gaussians both are alike."""
    x = round(rnd.random() * 12, 3)
    return ("even", "odd")[int(x) % 2], "", {"x": x, "country": rnd.choice(COUNTRIES)}


def test_numbers_in_bins(api):
    """A number that is cut tells what no Gaussian tells, also in a stacked model; and `auto` finds it out."""
    rows, shares = [banded(api.random) for _ in range(800)], {}
    for number in ("gaussian", "bins", "auto"):
        api.put(M, {"fields": {"x": "number", "country": "category"}, "number": number}).ok(201)
        learn(api, rows[:600])
        shares[number] = right(api, rows[600:])
        got = api.post(M + "/classify?explain=9", {"values": {"x": 4.5}}).ok().json
        adds_up(got)
        equal(sorted(str(row["token"]) for row in got["explanation"]), ["None", "x=4.5"])
        api.delete(M).ok(204)
    print(shares)
    holds(shares["gaussian"] < 0.75 and min(shares["bins"], shares["auto"]) > 0.8, shares)


def weights(client):
    return json.loads(exported(client, "tickets").splitlines()[0])["stack"]


def test_a_change_of_number(api):
    """The weights are fitted anew where numbers are read in another way, and only there."""
    rows = [banded(api.random) for _ in range(300)]
    for fields in ({"x": "number", "country": "category"}, {"country": "category"}):
        api.put(M, {"fields": fields}).ok(201)
        learn(api, [(label, text, {name: values[name] for name in fields}) for label, text, values in rows])
        settled(api)
        before = weights(api)
        api.put(M, {"fields": fields, "number": "bins"}).ok(200)
        settled(api)
        equal(weights(api) != before, "x" in fields, fields)
        api.delete(M).ok(204)


def test_a_field_alone_changes_nothing(api):
    """That a model has fields is nothing in the verdict of a document without values, to the bit."""
    rows = [ticket(api.random) for _ in range(120)]
    for preset in ("text", "mail"):
        api.put(M, {"preset": preset}).ok(201)
        learn(api, rows, values=False)
        settled(api)
        said = [[api.post(M + "/classify?explain=50", {"text": text}).ok().json for _, text, _ in rows[:20]]]
        for settings in ({}, {"fields": FIELDS}):
            api.put(M, {"preset": preset, **settings}).ok(200)
            said.append([api.post(M + "/classify?explain=50", {"text": text}).ok().json for _, text, _ in rows[:20]])
        equal(said[1], said[0])
        equal(said[2], said[0])
        api.delete(M).ok(204)


def test_weights_stay_with_their_fields(api):
    """Settings that name the fields in another order, or more of them, change no verdict; nor do a kill and a rebuild."""
    rows = [ticket(api.random) for _ in range(150)]
    daemon = api.another(keep=True).start()
    client = daemon.client
    client.put(M, {"fields": FIELDS}).ok(201)
    learn(client, rows)
    settled(client)

    def said():
        return [client.post(M + "/classify?explain=50", {"text": text, "values": v}).ok().json for _, text, v in rows[:20]]
    want = said()
    others = {"first": "number", **dict(reversed(FIELDS.items())), "last": "category"}
    for fields in (dict(reversed(FIELDS.items())), others):
        client.put(M, {"fields": fields}).ok(200)
        equal(said(), want, fields)
    equal(list(client.get(M).ok().json["settings"]["fields"]), [*FIELDS, "first", "last"])
    daemon.kill()
    client = daemon.start().client
    equal(said(), want, "after a kill")
    daemon.stop()
    status, out, err = api.tool("--data", daemon.data, "--rebuild")
    equal(status, 0, out + err)
    client = daemon.start().client
    equal(said(), want, "after --rebuild")
    daemon.stop()


def test_an_order_of_labels(api):
    """The weights of the fields come from leave-one-out inputs, as all others: label by label they are as good."""
    rows = [ticket(api.random) for _ in range(600)]
    shares = []
    for path, learned in ((M, rows[:450]), (M + "-sorted", sorted(rows[:450]))):
        api.put(path, {"fields": FIELDS}).ok(201)
        learn(api, learned, path)
        shares.append(right(api, rows[450:], path))
        api.delete(path).ok(204)
    holds(shares[1] > shares[0] - 0.04, shares)


class History:
    """Trains, relabels and takes documents with values out, with refits and settings between."""

    def __init__(self, client, rnd, two):
        self.client, self.rnd, self.two, self.labels = client, rnd, two, {}

    def train(self):
        lines = []
        for _ in range(self.rnd.choice((1, 3, 25))):
            label, text, values = ticket(self.rnd)
            lines.append({"id": f"d{self.rnd.randrange(90)}", "text": text, "values": values,
                          "label": label.split("-")[1] if self.two and not label.endswith("US") else label})
        self.client.post(M + "/train", as_lines(lines), NDJSON).ok()
        self.labels.update({line["id"]: line["label"] for line in lines})

    def untrain(self):
        if self.labels:
            id = self.rnd.choice(sorted(self.labels))
            self.client.post(M + "/untrain", {"id": id}).ok()
            del self.labels[id]

    def relabel(self):
        if self.labels:
            a, b = self.rnd.choice(sorted(self.labels)), self.rnd.choice(sorted(self.labels))
            self.client.post(M + "/train", {"id": a, "label": self.labels[b], "text": "parcel refund",
                                            "values": {"country": "DE", "amount": 5}}).ok()
            self.labels[a] = self.labels[b]

    def settings(self):
        self.client.put(M, {"twin": self.rnd.random() < 0.7, "number": self.rnd.choice(("gaussian", "bins", "auto")),
                            "fields": {**FIELDS, "later": "category"}}).ok(200)

    def refit(self):
        if len(set(self.labels.values())) > 1:
            self.client.post(M + "/refit", None).ok()

    def copy(self):
        """The export of the model takes its place: documents, weights and the fields' numbers."""
        self.client.put(M + "/import", exported(self.client, "tickets"), NDJSON).ok(200)

    def go(self, steps):
        for _ in range(steps):
            self.rnd.choices((self.train, self.untrain, self.relabel, self.settings, self.refit, self.copy),
                             (30, 20, 10, 2, 2, 1))[0]()


def test_history(api):
    """What is served, weights and verdicts, is the same after a kill, a stop, `--rebuild` and in another store."""
    for two in (True, False):
        config = {"store": {"replay_features": api.random.choice((1000, 10**6))}}
        daemon = api.another(config=config).start()
        daemon.client.put(M, {"fields": FIELDS}).ok(201)
        history = History(daemon.client, api.random, two)
        for how in ("kill", "stop"):
            history.go(40)
            settled(daemon.client)
            want = served(daemon.client)
            getattr(daemon, how)()
            verified(api, daemon.data)
            equal(of_a_rebuilt(api, daemon.data, config), want, f"after --rebuild and a {how}")
            daemon.start()
            history.client = daemon.client
            equal(served(daemon.client), want, "after a " + how)
        copies_are_the_same(api, daemon, {"tickets": one(daemon.client, "tickets", models_of(daemon.client)["tickets"])},
                            "in another store")
        daemon.stop()


def of_a_rebuilt(api, data, config):
    copy = shutil.copytree(data, os.path.join(api.new_folder(), "data"))
    status, out, err = api.tool("--rebuild", "--data", copy, seconds=60)
    equal(status, 0, out + err)
    verified(api, copy)
    daemon = api.another(data=copy, config=config).start()
    got = served(daemon.client)
    daemon.stop(seconds=30)
    return got


def served(client):
    """Weights, counts and verdicts; not the words that no document has any more, of which a rebuild knows nothing."""
    header = json.loads(exported(client, "tickets").splitlines()[0])
    row = client.get(M).ok().json
    return header, {k: row[k] for k in ("documents", "vocabulary", "labels", "settings")}, verdicts(client)


def verdicts(client):
    return [client.post(M + "/classify?explain=50", {"text": "parcel password", "values": values}).ok().json
            for values in ({"country": "DE"}, {"title": "invoice late", "tags": ["vip"]}, {"amount": 250.25}, {})]


def test_another_key(api):
    """Ids of features are others in another store; the weights of fields and of their values come along."""
    rows = [ticket(api.random) for _ in range(200)]
    api.put(M, {"fields": FIELDS}).ok(201)
    learn(api, rows)
    settled(api)
    other = api.another().start()
    other.client.put(M + "/import", api.get(M + "/export").ok().body, NDJSON).ok(201)
    settled(other.client)
    for _, text, values in rows[:20]:
        got, want = (client.post(M + "/classify", {"text": text, "values": values}).ok().json for client in (other.client, api))
        equal(got["label"], want["label"])
        for label, p in want["probabilities"].items():
            holds(abs(got["probabilities"][label] - p) < 0.02, (label, got["probabilities"], want["probabilities"]))
    other.stop()
    api.delete(M).ok(204)
