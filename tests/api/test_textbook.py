# SPDX-License-Identifier: Apache-2.0
"""The tables of the textbooks under every estimate, against fractions: no rounding, nothing incremental."""
import itertools
import math
from fractions import Fraction

import attributes
from attributes import Attributes
from harness import equal, near, quoted, refused

TABLES = {"play tennis": (attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS, attributes.NEW_DAY),
          "tumours": (attributes.TUMOURS, attributes.TUMOUR_FIELDS, attributes.NEW_TUMOUR)}
LESS, MORE = {}, {}
for table, first, second in (("play tennis", "no", "yes"), ("tumours", "benign", "malignant")):
    LESS[table] = {"labels": {first: 0.5, second: 3}}
    MORE[table] = {"labels": {first: 1, second: 2.25}}


def by_some(text, names, column):
    """A value of a column."""
    return attributes.table(text, names)[0][0][names[column]]


def estimates(table):
    """Every `estimate` with every form of `smoothing` that a table of categories can have."""
    for smoothing in (1, 0.25, 40, LESS[table], MORE[table], {"labels": {"another": 2}}):
        yield {"smoothing": smoothing}
    text, names, _ = TABLES[table]
    by_value = {name: {} for name in names}
    for n, (name, value) in enumerate(sorted({item for day, _ in attributes.table(text, names) for item in day.items()})):
        by_value[name][value] = 1 + n / 4  # of every value its own
    some = {names[1]: {"never seen": 30, by_some(text, names, 1): 2.5}, names[0]: {by_some(text, names, 0): 7}}
    for values, default, estimate in itertools.product((by_value, some), (1, 1.25, 9), ("mean", "map")):
        yield {"estimate": estimate, "smoothing": {"values": values, "default": default}}
    yield {"smoothing": {"values": {names[2]: {by_some(text, names, 2): 0.125}}, "default": 0.5}}
    for m, p in itertools.product((0.5, 3, 50), ("uniform", "vocabulary")):
        yield {"smoothing": {"m": m, "p": p}}
    for smoothing in (1, LESS[table], {"values": some, "default": 1}, {"m": 3, "p": "vocabulary"}):
        yield {"predict": "integrate", "smoothing": smoothing}  # of what is drawn once it is the mean
    for smoothing in (1, 1.5, 12, MORE[table]):
        yield {"estimate": "map", "smoothing": smoothing}
    for smoothing in (1, 7):  # which it does not use
        yield {"estimate": "mle", "smoothing": smoothing}


def addend(settings, label, rows, name, value):
    """What the estimate adds to the count of a value."""
    values = {day[name] for day, _ in rows}
    smoothing, estimate = settings["smoothing"], settings.get("estimate", "mean")
    if estimate == "mle":
        return Fraction(0)
    if not isinstance(smoothing, dict):
        alpha = Fraction(smoothing)
    elif "labels" in smoothing:
        of = smoothing["labels"]
        alpha = Fraction(of.get(label, Fraction(sum(map(Fraction, of.values()))) / len(of)))
    elif "values" in smoothing:
        alpha = Fraction(smoothing["values"].get(name, {}).get(value, smoothing["default"]))
    elif smoothing["p"] == "uniform":
        return Fraction(smoothing["m"]) / len(values)
    else:
        return Fraction(smoothing["m"]) * sum(day[name] == value for day, _ in rows) / len(rows)
    return alpha - (estimate == "map")


def exact(rows, query, settings):
    """{label: P(label) times the product of P(value | label)}, as fractions."""
    scores = {}
    for label in {v for _, v in rows}:
        own = [day for day, v in rows if v == label]
        scores[label] = Fraction(len(own), len(rows))
        for name, value in query.items():
            added = {m: addend(settings, label, rows, name, m) for m in {row[name] for row, _ in rows}}
            above = sum(day[name] == value for day in own) + added[value]
            scores[label] *= above / (len(own) + sum(added.values()))
    return scores


def log(fraction):
    return math.log(fraction) if fraction else -math.inf


def assert_exact(model, rows, query, settings):
    want, what = exact(rows, query, settings), f"{query} under {settings}"
    got = model.classify(query, "?explain=9")
    equal(sorted(got["log_scores"]), sorted(want), what)
    total = sum(want.values())
    for label, score in want.items():
        told = got["log_scores"][label]
        near(-math.inf if told is None else told, log(score), f"log score of {label} for {what}", 1e-9)
        p = score / total if total else Fraction(1, len(want))
        near(got["probabilities"][label], float(p), f"probability of {label} for {what}", 1e-9)
    best = max(want.values())
    equal(got["label"], min(v for v in want if want[v] == best), what)
    if 0 not in want.values():
        other = min(want.values())
        near(sum(row["evidence"] for row in got["explanation"]), log(best) - log(other), what, 1e-9)


def assert_table(api, table):
    text, names, query = TABLES[table]
    rows = attributes.table(text, names)
    values = [sorted({day[name] for day, _ in rows}) for name in names]
    with Attributes(api, attributes.categories(names)) as model:
        model.filled(rows)
        for settings in estimates(table):
            model.put(preset="book", **settings)
            assert_exact(model, rows, query, settings)
            for combination in itertools.product(*values):
                assert_exact(model, rows, dict(zip(names, combination)), settings)


def test_play_tennis(api):
    assert_table(api, "play tennis")


def test_tumours(api):
    assert_table(api, "tumours")


def test_figures_of_the_textbook(api):
    """Mitchell 1997, section 6.9.1: .0053 and .0206, and so .795 for no."""
    rows = attributes.table(attributes.PLAY_TENNIS, attributes.PLAY_TENNIS_FIELDS)
    scores = exact(rows, attributes.NEW_DAY, {"estimate": "mle", "smoothing": 1})
    equal({v: round(float(score), 4) for v, score in scores.items()}, {"yes": 0.0053, "no": 0.0206})
    with Attributes(api, attributes.categories(attributes.PLAY_TENNIS_FIELDS), estimate="mle") as model:
        got = model.filled(rows).classify(attributes.NEW_DAY)
        equal({v: round(math.exp(s), 4) for v, s in got["log_scores"].items()}, {"yes": 0.0053, "no": 0.0206})
        equal((got["label"], round(got["probabilities"]["no"], 3)), ("no", 0.795))


def test_a_tumour_that_no_label_can_have(api):
    """No malignant one is small and no benign one irregular: relative frequencies say nothing, any prior does."""
    rows = attributes.table(attributes.TUMOURS, attributes.TUMOUR_FIELDS)
    with Attributes(api, attributes.categories(attributes.TUMOUR_FIELDS), estimate="mle") as model:
        got = model.filled(rows).classify(attributes.NEW_TUMOUR)
        equal(got["log_scores"], {"benign": None, "malignant": None})
        equal(got["probabilities"], {"benign": 0.5, "malignant": 0.5})
        model.put(preset="book")
        got = model.classify(attributes.NEW_TUMOUR)
        near(math.exp(got["log_scores"]["malignant"]), 3 / 5 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5 * 1 / 5)
        near(math.exp(got["log_scores"]["benign"]), 2 / 5 * 2 / 4 * 2 / 4 * 2 / 4 * 1 / 4 * 2 / 4)


def test_a_tumour_with_a_prior_of_the_labels(api):
    """Beta(2, 2): (2 + 2) / 9 are benign, by the mode (2 + 1) / 7."""
    rows = attributes.table(attributes.TUMOURS, attributes.TUMOUR_FIELDS)
    with Attributes(api, attributes.categories(attributes.TUMOUR_FIELDS), prior={"dirichlet": {"default": 2}}) as model:
        model.filled(rows)
        for more, benign, malignant in (({}, 4 / 9, 5 / 9), ({"estimate": "map", "smoothing": 2}, 3 / 7, 4 / 7)):
            model.put(prior={"dirichlet": {"default": 2}}, **more)
            got = model.classify(attributes.NEW_TUMOUR)
            equal(got["label"], "benign")
            near(math.exp(got["log_scores"]["malignant"]), malignant * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5 * 1 / 5)
            near(math.exp(got["log_scores"]["benign"]), benign * 2 / 4 * 2 / 4 * 2 / 4 * 1 / 4 * 2 / 4)


def test_refused_with_categories(api):
    """What has no meaning for a category, or would divide by 0; a parent enters by the m-estimate alone."""
    fields = attributes.categories(attributes.TUMOUR_FIELDS)
    with Attributes(api, fields) as model, Attributes(api, fields) as parent:
        of_parent = {"m": 3, "p": "parent"}
        by_value = {"values": {"size": {"large": 0.5}}, "default": 1}
        for settings, words in (({"smoothing": {"alpha": 1, "beta": 2}}, ("bernoulli",)),
                                ({"smoothing": of_parent}, ("smoothing", "parent")),
                                ({"estimate": "map", "smoothing": 0.5}, ("at least 1",)),
                                ({"estimate": "map", "smoothing": LESS["tumours"]}, ("at least 1",)),
                                ({"estimate": "map", "smoothing": {"m": 3, "p": "uniform"}}, ("mean",)),
                                ({"estimate": "mle", "smoothing": {"m": 3, "p": "uniform"}}, ("no prior",)),
                                ({"estimate": "mle", "smoothing": MORE["tumours"]}, ("no prior",)),
                                ({"estimate": "mle", "smoothing": by_value}, ("no prior",)),
                                ({"estimate": "map", "smoothing": by_value}, ("at least 1",))):
            refused(api.put(model.path, {"preset": "book", **settings}), 422, *words)
        asked = {"preset": "book", "parent": parent.name}
        refused(api.put(model.path, {**asked, "structure": "tan"}), 409, "fields", "naive")
        refused(api.put("/v1/models/" + quoted(api.name()), {**asked, "smoothing": of_parent}), 409, "fields")
