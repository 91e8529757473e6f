# SPDX-License-Identifier: Apache-2.0
"""Documents drawn from a model, and the estimates they are drawn from, recomputed from counts."""
import math
import random
from collections import Counter

from attributes import Attributes, moments, numbers_of
from book import Counts, Model
from harness import equal, holds, quoted, refused

DRAWN = 10000


def near(got, want, what, relative):
    holds(math.isclose(got, want, rel_tol=relative), f"{what}: got {got!r}, want {want!r}")


def texts(rng):
    """Words of one label alone, of both, frequent and rare."""
    words = [f"word{i}" for i in range(60)]
    for i in range(40):
        label = ("spam", "ham")[i % 2]
        own = words[:40] if label == "spam" else words[20:]
        yield label, " ".join(rng.choice(own[:rng.randrange(1, len(own))]) for _ in range(rng.randrange(1, 60)))


def filled(api, **settings):
    model, rng = Model(api, **settings), random.Random(api.seed)
    for label, text in texts(rng):
        model.train(text, label)
    return model


def law(model, label):
    """{word: count}, {word: addend} and the sum of the prior's parameters by the definition, from the living documents."""
    s = model.settings
    counts = Counts(model.documents.values())
    used = counts.used(s.get("min_count", 0), s.get("skip_top", 0))
    n = counts.d if s.get("event_model") == "binary" else counts.n
    smoothing = s.get("smoothing", 1.0)
    if not isinstance(smoothing, dict):
        prior = dict.fromkeys(used, smoothing)
    elif "labels" in smoothing:
        prior = dict.fromkeys(used, smoothing["labels"][label])
    elif smoothing["p"] == "uniform":
        prior = dict.fromkeys(used, smoothing["m"] / len(used))
    else:
        all_of = {w: sum(n[v][w] for v in counts.labels) for w in used}
        whole = sum(all_of.values())
        prior = {w: smoothing["m"] * all_of[w] / whole for w in used}
    estimate = s.get("estimate", "mean")
    addends = {w: {"mean": a, "map": a - 1, "mle": 0}[estimate] for w, a in prior.items()}
    if estimate == "mle":
        prior = dict.fromkeys(used, 1)
    return {w: n[label][w] for w in used}, addends, prior


def probabilities(model, label):
    """{word: P(w | label)}."""
    n, addends, _ = law(model, label)
    whole = sum(n.values()) + math.fsum(addends.values())
    return {w: (n[w] + addends[w]) / whole for w in n}


def sample(model, **query):
    query = "&".join(f"{name}={quoted(str(value))}" for name, value in query.items())
    return model.api.get(f"{model.path}/sample?{query}")


def distribution(model, **query):
    query = "&".join(f"{name}={quoted(str(value))}" for name, value in query.items())
    return model.api.get(f"{model.path}/distribution?{query}")


# ---- samples -------------------------------------------------------------------------------------
def assert_follows(tokens, wanted, what):
    """Pearson's test: each probability of `wanted` is the share of its word. The bound is six standard deviations of
    chi-squared above its mean; cells that expect less than 5 are one."""
    got, rest = Counter(tokens), [0, 0.0]
    equal(set(got) - {w for w, p in wanted.items() if p > 0}, set(), what)
    x, cells = 0.0, 0
    for word, p in wanted.items():
        expected = p * len(tokens)
        if expected < 5:
            rest[0] += got[word]
            rest[1] += expected
            continue
        x += (got[word] - expected) ** 2 / expected
        cells += 1
    if rest[1] > 0:
        x += (rest[0] - rest[1]) ** 2 / rest[1]
        cells += 1
    holds(cells > 10, f"{what}: only {cells} cells")
    holds(x < cells + 6 * math.sqrt(2 * cells), f"{what}: chi-squared {x} of {cells} cells")


def test_words_come_as_often_as_the_model_says(api):
    for settings in ({}, {"smoothing": 0.01}, {"smoothing": 5}, {"min_count": 12, "skip_top": 3}, {"event_model": "binary"},
                     {"event_model": "bernoulli"}, {"event_model": "complement"}, {"estimate": "mle"},
                     {"estimate": "map", "smoothing": 1.5}, {"smoothing": {"labels": {"spam": 0.2, "ham": 4}}},
                     {"smoothing": {"m": 200, "p": "vocabulary"}},
                     {"event_model": "bernoulli", "smoothing": {"m": 200, "p": "vocabulary"}},
                     {"event_model": "binary", "smoothing": {"m": 200, "p": "vocabulary"}}):
        with filled(api, **settings) as model:
            for label in ("spam", "ham"):
                tokens = sample(model, label=label, length=DRAWN, seed=api.seed % 1000).ok().json["tokens"]
                equal(len(tokens), DRAWN)
                assert_follows(tokens, probabilities(model, label), f"{settings} {label}")


def test_temperature(api):
    with filled(api) as model:
        for temperature in (0.5, 0.8, 2, 100):
            p = {w: q ** (1 / temperature) for w, q in probabilities(model, "spam").items()}
            whole = sum(p.values())
            reply = sample(model, label="spam", length=DRAWN, seed=3, temperature=temperature).ok().json
            equal(reply["temperature"], temperature)
            assert_follows(reply["tokens"], {w: q / whole for w, q in p.items()}, f"temperature {temperature}")
        best = max(probabilities(model, "spam").values())
        cold = sample(model, label="spam", length=200, temperature=0.05).ok().json["tokens"]
        holds(all(probabilities(model, "spam")[w] > best / 2 for w in cold), f"{set(cold)}")


def test_a_seed_is_a_document(api):
    with filled(api) as model:
        first = sample(model, label="spam", length=200, seed=7).ok()
        equal(sample(model, label="spam", length=200, seed=7).ok().body, first.body)
        tokens = first.json["tokens"]
        equal(sample(model, label="spam", length=30, seed=7).ok().json["tokens"], tokens[:30])
        equal(sample(model, label="spam", length=0, seed=7).ok().json["tokens"], [])
        holds(sample(model, label="spam", length=200, seed=8).ok().json["tokens"] != tokens, "another seed")
        plain = sample(model, label="spam").ok().json
        equal((plain["seed"], plain["temperature"], len(plain["tokens"])), (0, 1.0, 50))
        equal(plain, sample(model, label="spam", length=50, seed=0, temperature=1).ok().json)
        equal((first.json["model"], first.json["label"], first.json["seed"]), (model.name, "spam", 7))


def test_a_sample_is_of_its_label(api):
    """A document of a label is classified as that label: generation and classification are one model."""
    with filled(api, smoothing=0.1) as model:
        for seed in range(10):
            for label in ("spam", "ham"):
                tokens = sample(model, label=label, length=100, seed=seed).ok().json["tokens"]
                equal(model.classify(" ".join(tokens))["label"], label)


def test_samples_while_documents_come_and_go(api):
    """Words of rows that are dropped and taken again: what is drawn was a word of the model."""
    daemon = api.another().start()
    client, path = daemon.client, "/v1/models/m"
    client.post(path + "/train", {"text": "steady words stay", "label": "a", "id": "stay"}).ok()
    for i in range(30):
        text = " ".join(f"r{i}w{k}" for k in range(50))
        client.post(path + "/train", {"text": text, "label": "a", "id": "come"}).ok()
        tokens = client.get(f"{path}/sample?label=a&length=100&seed={i}").ok().json["tokens"]
        known = set(text.split()) | {"steady", "words", "stay"}
        equal(set(tokens) - known, set(), "a word of a document that was replaced")
        equal(len(tokens), 100)


def test_samples_survive_a_restart(api):
    daemon = api.another().start()
    rng = random.Random(api.seed)
    for label, text in texts(rng):
        daemon.client.post("/v1/models/m/train", {"text": text, "label": label}).ok()
    before = daemon.client.get("/v1/models/m/sample?label=ham&length=100&seed=5").ok().body
    daemon.stop()
    daemon.start()
    equal(daemon.client.get("/v1/models/m/sample?label=ham&length=100&seed=5").ok().body, before)


def test_where_words_are_not_kept(api):
    daemon = api.another(config={"store": {"keep_words": "no"}}).start()
    daemon.client.post("/v1/models/m/train", {"text": "secretword other", "label": "a"}).ok()
    refused(daemon.client.get("/v1/models/m/sample?label=a"), 409, "keep_words")
    tokens = daemon.client.get("/v1/models/m/distribution?label=a").ok().json["tokens"]
    equal([len(t["token"]) for t in tokens], [17, 17])
    holds(all(t["token"].startswith("#") for t in tokens), f"{tokens}")


def test_refusals(api):
    with Model(api) as model:
        receipt = model.train("only one", "a")
        model.train("other", "b")
        for tail in ("sample", "distribution"):
            refused(model.api.get(f"{model.path}/{tail}"), 400, "label")
            refused(model.api.get(f"{model.path}/{tail}?label=c"), 404, "c", model.name)
            refused(model.api.get(f"{model.path}/{tail}?label=a&explain=1"), 400, "explain")
        for name, values in (("length", ("-1", "x", "10001")), ("seed", ("-1", "1.5", "9223372036854775808")),
                             ("temperature", ("0", "0.04", "101", "x", "-1", "nan"))):
            for value in values:
                refused(sample(model, label="a", **{name: value}), 400, name)
        for name, values in (("limit", ("-1", "10001")), ("interval", ("0", "1", "x", "nan"))):
            for value in values:
                refused(distribution(model, label="a", **{name: value}), 400, name)
        model.post("untrain", {"id": receipt["id"]}).ok()
        refused(sample(model, label="a"), 409, "a", "no documents")
        refused(distribution(model, label="a"), 409, "a", "no documents")
    with Model(api) as model:
        model.train("", "a")
        refused(sample(model, label="a"), 409, "no words")
        equal(distribution(model, label="a").ok().json["tokens"], [])


# ---- the distribution ----------------------------------------------------------------------------
def tail_above(a, b, x):
    """P(X >= x) of Beta(a, b), whole numbers: a - 1 successes or fewer in a + b - 1 trials (DLMF 8.17.5)."""
    n = a + b - 1
    return math.fsum(math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                              + k * math.log(x) + (n - k) * math.log1p(-x)) for k in range(a))


def quantile(a, b, above):
    """Where P(X >= x) is `above`, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(80):
        x = (low + high) / 2
        low, high = (x, high) if x > 0 and tail_above(a, b, x) > above else (low, x)
    return (low + high) / 2


def test_estimates_and_their_intervals(api):
    for settings in ({}, {"smoothing": 3.0}, {"min_count": 12, "skip_top": 3}, {"event_model": "binary"},
                     {"estimate": "map", "smoothing": 2.0}, {"estimate": "mle", "smoothing": 3.0},
                     {"smoothing": {"labels": {"spam": 2, "ham": 4}}}, {"smoothing": {"m": 180, "p": "uniform"}},
                     {"smoothing": {"m": 180, "p": "vocabulary"}}):
        with filled(api, **settings) as model:
            n, _, prior = law(model, "spam")
            right, whole = probabilities(model, "spam"), sum(n.values())
            got = distribution(model, label="spam", limit=1000).ok().json
            equal((got["occurrences"], got["vocabulary"]), (whole, len(n)))
            near(got["dirichlet"], math.fsum(prior.values()), f"{settings}", 1e-12)
            equal({t["token"]: t["count"] for t in got["tokens"]}, n)
            shown = [t["probability"] for t in got["tokens"]]
            equal(shown, sorted(shown, reverse=True))
            near(math.fsum(shown), 1, "sum", 1e-12)
            by_word = len(set(prior.values())) > 1
            equal("unseen" in got, not by_word)
            unseen = [] if by_word else [{**got["unseen"], "count": 0, "token": min(n, key=n.get)}]
            for t in [*got["tokens"], *unseen]:
                if unseen and t is unseen[0] and n[t["token"]] > 0:
                    continue  # the label has all words
                near(t["probability"], right[t["token"]], t["token"], 1e-12)
                c = t["count"] + prior[t["token"]]
                assert_interval(t, c, round(whole + math.fsum(prior.values()) - c, 9))


def assert_interval(t, a, b):
    if a != int(a) or b != int(b):  # the slow quantile is one of whole numbers
        return
    near(t["interval"][0], quantile(int(a), int(b), 0.975), t["token"], 1e-9)
    near(t["interval"][1], quantile(int(a), int(b), 0.025), t["token"], 1e-9)


def test_the_prior_has_an_interval(api):
    with Model(api) as model:
        for i in range(12):
            model.train(f"text {i}", "spam" if i < 3 else "ham")
        prior = distribution(model, label="spam", limit=0).ok().json["prior"]
        equal((prior["documents"], prior["of"], prior["probability"]), (3, 12, 0.25))
        # Beta(3.5, 9.5): Brown, Cai and DasGupta 2001, Jeffreys' interval for 3 of 12.
        near(prior["interval"][0], 0.0759423, "low", 1e-6)
        near(prior["interval"][1], 0.5291911, "high", 1e-6)
        model.put(prior={"dirichlet": {"default": 2, "labels": {"spam": 3}}})
        got = distribution(model, label="spam", limit=0).ok().json["prior"]
        near(got["probability"], 6 / 17, "the mean of Beta(6, 11)", 1e-12)
        near(got["interval"][0], quantile(6, 11, 0.975), "low", 1e-9)
        near(got["interval"][1], quantile(6, 11, 0.025), "high", 1e-9)
        model.put(prior="empirical")
        narrow = distribution(model, label="spam", limit=0, interval=0.5).ok().json
        equal(narrow["interval"], 0.5)
        holds(prior["interval"][0] < narrow["prior"]["interval"][0] < 0.25 < narrow["prior"]["interval"][1]
              < prior["interval"][1], f"{narrow}")
        model.put(prior="uniform")
        equal(distribution(model, label="spam", limit=0).ok().json["prior"],
              {"documents": 3, "of": 12, "probability": 0.5})
    with Model(api) as model:
        model.train("text", "only")
        got = distribution(model, label="only").ok().json
        equal((got["prior"]["probability"], got["prior"]["interval"][1]), (1.0, 1.0))
        equal((got["tokens"][0]["probability"], got["tokens"][0]["interval"]), (1.0, [1.0, 1.0]))


# ---- fields --------------------------------------------------------------------------------------
KINDS = {"country": "category", "note": "text", "tags": "set", "amount": "number", "same": "number", "never": "category",
         "unmeasured": "number"}


def ticket(rng, label):
    values = {}
    if rng.random() < 0.8:
        values["country"] = rng.choice(["DE", "DE", "FR", "IT", ""] if label == "spam" else ["DE", "=x=", "é"])
    if rng.random() < 0.6:
        values["tags"] = [t for t in ("a", "b", "c", label) if rng.random() < 0.4]
    if rng.random() < 0.7:
        values["note"] = rng.choice(["some words", "", "other words here"])
    if rng.random() < 0.9:
        values["amount"] = round(rng.gauss(100 if label == "spam" else -20, 5), 2)
    if rng.random() < 0.5:
        values["same"] = 7
    return values


def tickets(api, **settings):
    """One label of many documents, one of fewer, one with a number, and one without any value."""
    model, rng = Attributes(api, KINDS, **settings), random.Random(api.seed)
    for i in range(60):
        label = ("spam", "spam", "ham")[i % 3]
        model.train(ticket(rng, label), label, id=str(i), text=rng.choice(["", "a text", "two words"]))
    model.train({"amount": 3.25}, "one")
    for _ in range(2):
        model.train({}, "none", id=f"none {_}")
    for i in range(0, 60, 7):
        model.untrain(id=str(i))
    return model


def smoothing_of(settings, label, of, values, event):
    """What is added to the count of each value for the prior, and to the documents that lack it (of a set)."""
    s = settings.get("smoothing", 1.0)
    if not isinstance(s, dict):
        return dict.fromkeys(values, (s, s))
    if "labels" in s:
        return dict.fromkeys(values, (s["labels"][label],) * 2)
    if "alpha" in s:
        return dict.fromkeys(values, (s["alpha"], s["beta"]))
    kinds = 2 if event == "set" else len(values)
    share = {m: sum(m in bag for _, bag in of) / len(of) if s["p"] == "vocabulary" else 1 / kinds for m in values}
    return {m: (s["m"] * p, s["m"] * (1 - p)) for m, p in share.items()}


def expected_values(model, name, label):
    """{value: (count, probability, a, b of the posterior Beta)} by the definition, from the living documents."""
    of = [(v, bags[name]) for v, bags in model.documents.values() if name in bags]
    own, values = [bag for v, bag in of if v == label], set().union(*(bag for _, bag in of))
    prior, less = smoothing_of(model.settings, label, of, values, model.fields[name]), {"mean": 0, "map": 1, "mle": 0}
    estimate = model.settings.get("estimate", "mean")
    if estimate == "mle":
        added, prior = dict.fromkeys(values, (0, 0)), dict.fromkeys(values, (1, 1))
    else:
        added = {m: tuple(x - less[estimate] for x in pair) for m, pair in prior.items()}
    wanted = {}
    for m in values:
        count = sum(m in bag for bag in own)
        if model.fields[name] == "set":
            whole, rest = len(own) + sum(added[m]), prior[m][1]
        else:
            whole = len(own) + math.fsum(a for a, _ in added.values())
            rest = math.fsum(a for w, (a, _) in prior.items() if w != m)
        probability = (count + added[m][0]) / whole if whole > 0 else 0
        wanted[m] = count, probability, count + prior[m][0], len(own) - count + rest
    return wanted


def assert_field(model, label, row):
    name, kind = row["field"], model.fields[row["field"]]
    own = [bags for v, bags in model.documents.values() if v == label]
    has = sum(name in bags for bags in own)
    equal((row["kind"], row["documents"], row["missing"]), (kind, has, len(own) - has), f"{label} {name}")
    if kind not in ("category", "set"):
        return
    wanted = expected_values(model, name, label)
    equal(row["vocabulary"], len(wanted), name)
    equal({t["value"]: t["count"] for t in row["values"]}, {m: want[0] for m, want in wanted.items()}, name)
    shown = [t["probability"] for t in row["values"]]
    equal(shown, sorted(shown, reverse=True))
    for t in row["values"]:
        _, probability, a, b = wanted[t["value"]]
        near(t["probability"], probability, f"{label} {name}={t['value']}", 1e-12)
        assert_interval({**t, "token": f"{name}={t['value']}"}, round(a, 9), round(b, 9))


def test_values_of_fields(api):
    for settings in ({}, {"smoothing": 3.0}, {"event_model": "binary"}, {"event_model": "bernoulli"},
                     {"event_model": "complement"}, {"estimate": "map", "smoothing": 2.0}, {"estimate": "mle"},
                     {"smoothing": {"labels": {"spam": 2, "ham": 4, "one": 1, "none": 1}}},
                     {"smoothing": {"m": 20, "p": "uniform"}}, {"smoothing": {"m": 20, "p": "vocabulary"}},
                     {"event_model": "bernoulli", "smoothing": {"alpha": 2, "beta": 3}}):
        with tickets(api, **settings) as model:
            for label in ("spam", "ham", "one", "none"):
                got = distribution(model, label=label, limit=1000).ok().json
                equal([row["field"] for row in got["fields"]], list(KINDS), "in the order of the settings")
                for row in got["fields"]:
                    assert_field(model, label, row)


def test_numbers_of_fields(api):
    for number in ("gaussian", "bins"):
        with tickets(api, number=number) as model:
            def gaussian(name, label):
                rows = {row["field"]: row for row in distribution(model, label=label).ok().json["fields"]}
                return rows[name].get("mean"), rows[name].get("deviation")
            of = {v: numbers_of(b["amount"] for w, b in model.documents.values() if w == v and "amount" in b)
                  for v in ("spam", "ham", "one")}
            mean, variance = moments(sum(of.values(), []))
            added = 1e-9 * float(variance)
            for label in ("spam", "ham"):
                near(gaussian("amount", label)[0], float(moments(of[label])[0]), label, 1e-12)
                near(gaussian("amount", label)[1], math.sqrt(float(moments(of[label])[1]) + added), label, 1e-12)
            near(gaussian("amount", "one")[1], math.sqrt(float(variance) + added), "one number", 1e-12)
            equal(gaussian("amount", "one")[0], 3.25)
            near(gaussian("amount", "none")[0], float(mean), "no number", 1e-12)
            near(gaussian("same", "spam")[1], math.sqrt(added), "equal numbers", 1e-12)
            equal(gaussian("unmeasured", "spam"), (None, None))
    with Attributes(api, {"n": "number"}) as model:
        model.train({"n": 4}, "a", id="1")
        model.train({"n": 4}, "b", id="2")
        row = distribution(model, label="a").ok().json["fields"][0]
        equal(row, {"field": "n", "kind": "number", "documents": 1, "missing": 0, "mean": 4, "deviation": 0})


def test_values_under_a_limit(api):
    """The most probable values of all fields together; the fields themselves are always there."""
    with tickets(api) as model:
        def listed(limit):
            fields = distribution(model, label="spam", limit=limit).ok().json["fields"]
            equal([row["field"] for row in fields], list(KINDS))
            return sorted((t["probability"] for row in fields for t in row.get("values", [])), reverse=True)
        whole = listed(1000)
        want = sorted((p for name in ("country", "tags") for _, p, _, _ in expected_values(model, name, "spam").values()),
                      reverse=True)
        equal(len(whole), len(want), "the values that living documents of any label have")
        for got, probability in zip(whole, want):
            near(got, probability, f"{whole}", 1e-9)
        holds(len(whole) > 4, f"{whole}")
        for limit in (0, 1, 4, len(whole) - 1, len(whole)):
            equal(listed(limit), whole[:limit])


def test_models_without_fields_have_none(api):
    with filled(api) as model:
        holds("fields" not in distribution(model, label="spam").ok().json, "no field is named")


def test_values_where_texts_are_not_kept(api):
    client = api.another(config={"store": {"keep_words": "no"}}).start().client
    client.put("/v1/models/m", {"preset": "book", "fields": {"a": "category"}}).ok(201)
    client.post("/v1/models/m/train", {"values": {"a": "secret"}, "label": "x"}).ok()
    value = client.get("/v1/models/m/distribution?label=x").ok().json["fields"][0]["values"][0]
    holds(value["value"].startswith("#") and len(value["value"]) == 17, value)
    refused(client.get("/v1/models/m/sample?label=x"), 409, "keep_words")
    client.put("/v1/models/n", {"preset": "book", "fields": {"a": "text"}}).ok(201)
    client.post("/v1/models/n/train", {"values": {"a": "many secret words " * 9}, "label": "x"}).ok()
    refused(client.get("/v1/models/n/sample?label=x"), 409, "keep_words")


# ---- drawn values --------------------------------------------------------------------------------
def drawn(model, label, count, **query):
    """The values of documents of so many seeds, each in the order of the settings."""
    rows = [sample(model, label=label, length=0, seed=seed, **query).ok().json.get("values", {}) for seed in range(count)]
    for row in rows:
        equal(list(row), [name for name in model.fields if name in row])
    return rows


def with_value(model, label, name):
    """The share of the label's documents that have a value of a field."""
    own = [bags for v, bags in model.documents.values() if v == label]
    return sum(name in bags for bags in own) / len(own)


def assert_share(got, of, p, what):
    """Within six standard deviations of a binomial share; those of small ones have a longer tail."""
    holds(abs(got - of * p) <= (6 * math.sqrt(of * p * (1 - p)) + 3 if 0 < p < 1 else 0), f"{what}: {got} of {of}, want {p}")


def tempered(p, rest, temperature):
    return p ** (1 / temperature) / sum(q ** (1 / temperature) for q in [p, *rest])


def test_values_come_as_often_as_the_model_says(api):
    count = 600
    for settings, temperature in (({}, 1), ({}, 3), ({"estimate": "mle", "event_model": "bernoulli"}, 1)):
        with tickets(api, **settings) as model:
            for label in ("spam", "ham"):
                got, what = drawn(model, label, count, temperature=temperature), f"{settings} {temperature} {label}"
                equal(set().union(*got), {"country", "note", "tags", "amount", "same"}, "what some document has")
                for name in ("country", "note", "tags", "amount", "same"):
                    assert_share(sum(name in v for v in got), count, with_value(model, label, name), f"{what}: {name} is there")
                country = {m: want[1] for m, want in expected_values(model, "country", label).items()}
                for m, p in country.items():
                    p = tempered(p, [q for n, q in country.items() if n != m], temperature)
                    has = [v["country"] for v in got if "country" in v]
                    assert_share(has.count(m), len(has), p, f"{what} country={m}")
                for m, (_, p, _, _) in expected_values(model, "tags", label).items():
                    p = tempered(p, [1 - p], temperature)
                    has = [v["tags"] for v in got if "tags" in v]
                    assert_share(sum(m in tags for tags in has), len(has), p, f"{what} tags={m}")
                own = numbers_of(b["amount"] for v, b in model.documents.values() if v == label and "amount" in b)
                mean, deviation = float(moments(own)[0]), math.sqrt(float(moments(own)[1]) * temperature)
                of = [(v["amount"] - mean) / deviation for v in got if "amount" in v]
                holds(abs(math.fsum(of)) < 6 * math.sqrt(len(of)), f"{what}: mean {math.fsum(of) / len(of)}")
                holds(abs(math.fsum(z * z for z in of) - len(of)) < 6 * math.sqrt(2 * len(of)), f"{what}: deviation")
                for bound, p in ((-1, 0.15866), (0, 0.5), (1, 0.84134)):
                    assert_share(sum(z < bound for z in of), len(of), p, f"{what} below {bound}")


def test_missing_values_are_missing_independently(api):
    with tickets(api) as model:
        got, names = drawn(model, "spam", 600), ("country", "tags", "amount", "same")
        shares = {name: with_value(model, "spam", name) for name in names}
        for one in names:
            for other in names:
                if one < other:
                    both = sum(one in v and other in v for v in got)
                    assert_share(both, len(got), shares[one] * shares[other], f"{one} and {other}")


def test_values_along_the_tree(api):
    """With structure tan a category has the value that goes with its parent's."""
    rng, fields = random.Random(api.seed), {"plan": "category", "seats": "category", "note": "text", "device": "category"}
    goes = {"free": "one", "team": "ten", "firm": "many"}
    with Attributes(api, fields, structure="tan") as model:
        for i in range(120):
            plan = rng.choice(["free", "free", "team", "firm"])
            values = {"plan": plan, "seats": goes[plan] if rng.random() < 0.8 else "one", "device": rng.choice(["phone", "desk"])}
            values.pop("plan" if rng.random() < 0.1 else "nothing", None)
            model.train(values, "ab"[i % 4 == 0], id=str(i))
        own = [bags for v, bags in model.documents.values() if v == "a"]
        rows = [(next(iter(b["plan"])), next(iter(b["seats"]))) for b in own if "plan" in b]
        for temperature in (1, 2):
            got = drawn(model, "a", 900, temperature=temperature)
            for plan in goes:
                seats = [v["seats"] for v in got if v.get("plan") == plan]
                of = [s for p, s in rows if p == plan]
                law = {s: (of.count(s) + 1) / (len(of) + 3) for s in goes.values()}
                assert_follows_law(seats, law, temperature, f"{plan} at {temperature}")
            alone = [v["seats"] for v in got if "plan" not in v]
            law = {s: want[1] for s, want in expected_values(model, "seats", "a").items()}
            assert_follows_law(alone, law, temperature, f"no plan at {temperature}")


def assert_follows_law(got, law, temperature, what):
    for value, p in law.items():
        p = tempered(p, [q for other, q in law.items() if other != value], temperature)
        assert_share(got.count(value), len(got), p, f"{what}: {value}")


# ---- drawn texts ---------------------------------------------------------------------------------
class Series:
    """SplitMix64 (Steele, Lea and Flood 2014) of two numbers, as core/base/random.h has it."""

    def __init__(self, a, b):
        self.state = a
        self.state = self.next() ^ b

    def next(self):
        mask = 2 ** 64 - 1
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return z ^ z >> 31

    def fraction(self):
        return ((self.next() >> 12) + 0.5) / 2 ** 52


def slow_length(u, mean):
    """The least k with P(X <= k) at least u, X Poisson."""
    k, below = 0, math.exp(-mean)
    while mean and below < u:
        k += 1
        below += math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
    return k


def slow_word(series, weights):
    """A reservoir of one word over all of them, in the order in which they were learned."""
    whole, bound, found = 0.0, 0.0, None
    for word, weight in weights:
        whole += weight
        while weight > 0 and bound <= whole:
            found = word
            bound = whole / (((series.next() >> 11) + 1) / 2 ** 53)
            bound = bound if bound > whole else math.nextafter(whole, math.inf)
    return found


def field_weights(model, name, label):
    """[(word, its count and what is added to it)] of a text, in the order in which words were learned."""
    counts = Counts([(v, bags[name]) for v, bags in model.documents.values() if name in bags])
    n = counts.d if model.settings.get("event_model") == "binary" else counts.n
    order = list(dict.fromkeys(w for _, bags in model.documents.values() for w in bags.get(name, ())))
    smoothing, estimate = model.settings.get("smoothing", 1.0), model.settings.get("estimate", "mean")
    if not isinstance(smoothing, dict):
        a = dict.fromkeys(order, {"mean": smoothing, "map": smoothing - 1, "mle": 0}[estimate])
    elif "labels" in smoothing:
        a = dict.fromkeys(order, smoothing["labels"][label])
    elif "alpha" in smoothing:
        a = dict.fromkeys(order, smoothing["alpha"])
    elif smoothing["p"] == "uniform":
        a = {w: smoothing["m"] * (1 / len(order)) for w in order}
    else:
        whole = sum(n[v][w] for v in counts.labels for w in order)
        a = {w: smoothing["m"] * (sum(n[v][w] for v in counts.labels) / whole) for w in order}
    return [(w, n[label][w] + a[w]) for w in order]


def slow_text(model, name, label, seed, temperature):
    """The words of a text by the definition; None: the document has none."""
    own = [bags for v, bags in model.documents.values() if v == label]
    has = [bags[name] for bags in own if name in bags]
    series = Series(seed, 30 << 59 | list(model.fields).index(name) * 2 << 50)
    if series.fraction() * len(own) >= len(has):
        return None
    length = slow_length(series.fraction(), sum(sum(bag.values()) for bag in has) / len(has))
    weights = [(w, c ** (1 / temperature) if c > 0 else 0) for w, c in field_weights(model, name, label)]
    start = series.next()
    words = [slow_word(Series(start, i), weights) for i in range(length)]
    return " ".join(w for w in words if w is not None)


def titled(api, **settings):
    """Documents with two texts, whose words differ by label and field. The order of the words is that of learning:
    each comes in a document of its own first."""
    model = Attributes(api, {"title": "text", "country": "category", "body": "text"}, **settings)
    rng, words = random.Random(api.seed), [f"w{i}" for i in range(24)]
    for i, word in enumerate(words):
        model.train({"title": word, "body": words[-i]} if i < 16 else {"body": words[-i]}, "ab"[i % 2], id=f"first {i}")
    for i in range(60):
        label, values = "ab"[i % 3 == 0], {"country": rng.choice(["DE", "FR"])}
        of = words[:12] if label == "a" else words[6:16]
        if rng.random() < 0.8:
            values["title"] = " ".join(rng.choice(of[:rng.randrange(1, len(of))]) for _ in range(rng.randrange(0, 9)))
        if rng.random() < 0.9:
            values["body"] = " ".join(rng.choice(words) for _ in range(rng.randrange(0, 40)))
        model.train(values, label, id=str(i), text=rng.choice(["", "other words beside the fields"]))
    model.train({"title": ""}, "empty", id="empty")
    return model


def test_texts_are_those_of_the_slow_computation(api):
    """Word for word, with its length, and where it is missing."""
    for settings, temperature in (({}, 1), ({}, 0.5), ({}, 7), ({"smoothing": 0.01}, 1), ({"event_model": "binary"}, 1),
                                  ({"event_model": "bernoulli"}, 1), ({"event_model": "complement"}, 1),
                                  ({"estimate": "mle"}, 1), ({"estimate": "map", "smoothing": 1.5}, 1),
                                  ({"smoothing": {"labels": {"a": 0.2, "b": 4, "empty": 1}}}, 1),
                                  ({"smoothing": {"m": 20, "p": "uniform"}}, 1),
                                  ({"smoothing": {"m": 20, "p": "vocabulary"}}, 1),
                                  ({"smoothing": {"m": 20, "p": "vocabulary"}, "event_model": "binary"}, 1),
                                  ({"smoothing": {"m": 20, "p": "uniform"}, "event_model": "bernoulli"}, 1),
                                  ({"smoothing": {"m": 20, "p": "vocabulary"}, "event_model": "bernoulli"}, 1),
                                  ({"smoothing": {"alpha": 2, "beta": 3}, "event_model": "bernoulli"}, 1)):
        with titled(api, **settings) as model:
            for label, seeds in (("a", 12), ("b", 12), ("empty", 2)):
                for seed in range(seeds):
                    got = sample(model, label=label, length=0, seed=seed, temperature=temperature).ok().json.get("values", {})
                    for name in ("title", "body"):
                        want = slow_text(model, name, label, seed, temperature)
                        equal(got.get(name), want, f"{settings} {temperature} {label} {seed} {name}")


def test_texts_follow_their_own_distributions(api):
    """Of many: each word with its probability, lengths with the mean and the variance of a Poisson distribution."""
    count = 500
    with titled(api) as model:
        for label in ("a", "b"):
            got = drawn(model, label, count)
            for name in ("title", "body"):
                weights, has = dict(field_weights(model, name, label)), [v[name].split() for v in got if name in v]
                assert_share(len(has), count, with_value(model, label, name), f"{label}: {name} is there")
                law = {w: c / math.fsum(weights.values()) for w, c in weights.items()}
                assert_follows([w for words in has for w in words], law, f"{label} {name}")
                own = [bags[name] for v, bags in model.documents.values() if v == label and name in bags]
                mean, n = sum(sum(bag.values()) for bag in own) / len(own), len(has)
                of = [len(words) for words in has]
                holds(abs(sum(of) - n * mean) < 6 * math.sqrt(n * mean), f"{label} {name}: mean {sum(of) / n}, want {mean}")
                squares = math.fsum((k - mean) ** 2 for k in of)
                bound = 6 * math.sqrt(n * (mean + 2 * mean * mean))  # Var (X - mean)^2 of a Poisson X
                holds(abs(squares - n * mean) < bound, f"{label} {name}: variance {squares / n}, want {mean}")


def test_a_text_is_of_its_label(api):
    with titled(api, smoothing=0.1) as model:
        right = [model.classify(values)["label"] == label for label in ("a", "b") for values in drawn(model, label, 40)
                 if values.get("title")]
        holds(sum(right) > 0.9 * len(right) > 30, f"{sum(right)} of {len(right)}")


def test_texts_have_a_bound_together(api):
    client = api.another(config={"server": {"listing_rows": 30}}).start().client
    client.put("/v1/models/m", {"preset": "book", "fields": {"a": "text", "b": "text", "c": "text"}}).ok(201)
    client.post("/v1/models/m/train", {"values": dict.fromkeys("abc", "word " * 14), "label": "x", "id": "1"}).ok()
    lengths = []
    for seed in range(30):
        values = client.get(f"/v1/models/m/sample?label=x&length=0&seed={seed}").ok().json["values"]
        lengths.append([len(values[name].split()) for name in "abc"])
        equal(set(" ".join(values.values()).split()), {"word"})
    holds(all(sum(row) <= 30 for row in lengths), lengths)
    holds(any(sum(row) == 30 and row[2] < 8 for row in lengths), f"none was cut: {lengths}")


def test_a_sample_does_not_depend_on_the_store(api):
    """Two stores have keys of their own; what they learned in the same order, they draw alike."""
    replies = []
    for _ in range(2):
        client, rng = api.another().start().client, random.Random(3)
        client.put("/v1/models/m", {"preset": "book", "fields": {**KINDS, "plan": "category"}, "structure": "tan"}).ok(201)
        for i in range(60):
            document = {"values": {**ticket(rng, "spam"), "plan": rng.choice("abc")}, "text": "free words", "label": "spam"}
            client.post("/v1/models/m/train", {**document, "id": str(i)}).ok()
        replies.append([client.get(f"/v1/models/m/sample?label=spam&length=9&seed={n}").ok().json for n in range(40)])
    equal(replies[0], replies[1])


def test_a_seed_is_a_document_with_values(api):
    with tickets(api) as model:
        first = sample(model, label="spam", length=3, seed=7).ok()
        equal(len(first.json["tokens"]), 3)
        equal(sample(model, label="spam", length=3, seed=7).ok().body, first.body)
        equal(sample(model, label="spam", length=0, seed=7).ok().json["values"], first.json["values"])
        holds(drawn(model, "spam", 2)[0] != drawn(model, "spam", 2)[1], "another seed")
        equal(model.classify(first.json["values"])["label"], "spam")
        country = {m: want[1] for m, want in expected_values(model, "country", "spam").items()}
        for values in drawn(model, "spam", 20, temperature=0.05):
            holds("country" not in values or country[values["country"]] > max(country.values()) / 2, values)


def test_values_of_a_label_without_words(api):
    with Attributes(api, {"a": "category", "s": "set", "n": "number", "b": "category"}) as model:
        model.train({"a": "x", "s": []}, "one", id="1")
        equal(sample(model, label="one").ok().json,
              {"model": model.name, "label": "one", "seed": 0, "temperature": 1, "tokens": [], "values": {"a": "x"}})
        model.untrain(id="1")
        refused(sample(model, label="one"), 409, "no documents")
    with filled(api) as model:
        holds("values" not in sample(model, label="spam").ok().json, "no field is named")
