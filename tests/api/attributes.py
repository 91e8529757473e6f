# SPDX-License-Identifier: Apache-2.0
"""Naive Bayes over attributes by the book, slowly: CLASSIFY-NEW-INSTANCE (Mitchell 1997, section 6.9).

Nothing is incremental here: every expectation is counted anew from the living documents.
"""
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import book
from harness import equal, holds, near, quoted

PLAY_TENNIS_FIELDS = ("outlook", "temperature", "humidity", "wind")
# Mitchell 1997, table 3.2.
PLAY_TENNIS = """sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no"""
NEW_DAY = dict(zip(PLAY_TENNIS_FIELDS, ("sunny", "cool", "high", "strong")))

# The same days with numbers (Witten and Frank 2005, table 1.3; weather.numeric of Weka).
WEATHER = {"outlook": "category", "temperature": "number", "humidity": "number", "windy": "category"}
WEATHER_NUMERIC = """sunny 85 85 false no
sunny 80 90 true no
overcast 83 86 false yes
rainy 70 96 false yes
rainy 68 80 false yes
rainy 65 70 true no
overcast 64 65 true yes
sunny 72 95 false no
sunny 69 70 false yes
rainy 75 80 false yes
sunny 75 70 true yes
overcast 72 90 true yes
overcast 81 75 false yes
rainy 71 91 true no"""

TUMOUR_FIELDS = ("shape", "size", "colour", "surface", "thickness")
TUMOURS = """circular large light smooth thick malignant
circular large light irregular thick malignant
oval large dark smooth thin benign
oval large light irregular thick malignant
circular small light smooth thick benign"""
NEW_TUMOUR = dict(zip(TUMOUR_FIELDS, ("circular", "small", "light", "irregular", "thin")))


def table(rows, names):
    """[(values, label)]: the last column is the label."""
    split = [row.split() for row in rows.splitlines()]
    return [(dict(zip(names, row)), row[-1]) for row in split]


def categories(names):
    return {name: "category" for name in names}


def number_text(value):
    """A number as it is shown, without an exponent."""
    text = format(Decimal(str(value)), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def information(rows):
    """I(X; Y | label) times the rows, which are [(label, x, y)]."""
    three, alone = Counter(rows), Counter(label for label, _, _ in rows)
    first, second = Counter((label, x) for label, x, _ in rows), Counter((label, y) for label, _, y in rows)
    return math.fsum(n * math.log(n * alone[v] / (first[v, x] * second[v, y])) for (v, x, y), n in three.items())


def numbers_of(bags):
    """The numbers of documents that have one each."""
    return [Fraction(text) for bag in bags for text in bag]


def moments(numbers):
    """Mean and variance, exactly."""
    mean = sum(numbers) / len(numbers)
    return mean, sum((x - mean) ** 2 for x in numbers) / len(numbers)


def log_gaussian(learned, label, bag, added):
    """ln of the density at a number under the Gaussian of the label's numbers, as GaussianNB of scikit-learn has it;
    of a label with one number the variance is that of all, and of one without any the mean, too."""
    everything, own = (numbers_of(b for v, b in learned if v in of) for of in ({v for v, _ in learned}, {label}))
    if not everything or not added:
        return 0
    mean = moments(own or everything)[0]
    variance = float(moments(own if len(own) > 1 else everything)[1]) + added
    return -math.log(2 * math.pi * variance) / 2 - float(numbers_of([bag])[0] - mean) ** 2 / (2 * variance)


def share_by_label(numbers):
    """w(x) of all x in order: the mean over the labels of the share of x in the label's numbers."""
    return [(x, sum(Fraction(own.count(x), len(own)) for own in numbers.values()) / len(numbers))
            for x in sorted(set().union(*numbers.values()))]


def cut(numbers):
    """The bins of {label: numbers}, each a list of different numbers in order (core/bayes/bins.h)."""
    most = min(64, max(2, math.isqrt(sum(len(own) for own in numbers.values()))))
    bins, below = {}, Fraction(0)
    for x, weight in share_by_label(numbers):
        at = min(most - 1, math.floor(float(most * (below + weight / 2)) + 1e-9))
        bins.setdefault(at, []).append(x)
        below += weight
    return [bins[at] for at in sorted(bins)]


def bin_of(bins, x):
    return sum(2 * x > low[-1] + high[0] for low, high in zip(bins, bins[1:]))


def by_label(learned):
    numbers = {}
    for label, bag in learned:
        numbers.setdefault(label, []).extend(numbers_of([bag]))
    return numbers


def log_bin(bins, event, estimate, numbers, label, x):
    """A bin is a value of a category."""
    of = [(v, Counter([str(bin_of(bins, y))])) for v, own in numbers.items() for y in own]
    values = {str(n) for n in range(len(bins))}
    event = "complement" if event == "complement" else "multinomial"
    return book.EVENTS[event](Counted(of, label), label, {str(bin_of(bins, x)): 1}, values, estimate)


def mean_loss(learned, log_score):
    """-ln P(label | number) of each number, predicted by all others; log_score(others, label, number). Of more than 512
    different ones the daemon leaves out some (tests/unit/core/bayes/test_number_loss.c)."""
    numbers, total = by_label(learned), 0
    holds(len(set().union(*numbers.values())) <= 512, "so many that all are left out")
    for label, own in numbers.items():
        for at, x in enumerate(own):
            if len(own) < 2:
                continue
            others = {**numbers, label: own[:at] + own[at + 1:]}
            scores = {v: math.log(len(others[v])) + log_score(others, v, x) for v in others}
            most = max(scores.values())
            if scores[label] == -math.inf:
                return math.inf
            total += math.log(sum(math.exp(s - most) for s in scores.values())) + most - scores[label]
    return total


def bins_are_better(learned, event, estimate, added):
    def density(others, label, x):
        flat = [(v, Counter([number_text(float(y))])) for v, own in others.items() for y in own]
        return log_gaussian(flat, label, Counter([number_text(float(x))]), added)
    bins = cut(by_label(learned))
    binned = mean_loss(learned, lambda others, v, x: log_bin(bins, event, estimate, others, v, x))
    return binned < mean_loss(learned, density)


def log_number(how, event, estimate, learned, label, bag, added):
    """What a number adds to a label's score, by the setting `number`."""
    if not learned:
        return 0
    if how == "auto":
        how = "bins" if added and bins_are_better(learned, event, estimate, added) else "gaussian"
    if how == "gaussian":
        return log_gaussian(learned, label, bag, added)
    numbers = by_label(learned)
    return log_bin(cut(numbers), event, estimate, numbers, label, numbers_of([bag])[0])


def texts(kind, value):
    """A value as the items that are counted."""
    plain = {True: "true", False: "false"}
    items = value if isinstance(value, list) else [value]
    return [plain[item] if isinstance(item, bool) else str(item) for item in items]


def log_likelihood(kind, event, estimate, learned, label, bag):
    """ln P(value | label) of one attribute; `learned` is [(label, bag)] of the documents that have one."""
    values = set().union(*(b for _, b in learned)) if learned else set()
    known = {m: n for m, n in bag.items() if m in values}
    if kind == "set":
        event = "bernoulli"
    elif kind == "category" and event != "complement":
        event = "multinomial"
    return book.EVENTS[event](Counted(learned, label), label, known, values, estimate)


class Counted(book.Counts):
    """Counts of one attribute; labels without a value of it are there, with zeros."""

    def __init__(self, learned, label):
        super().__init__(learned)
        for counts in (self.n, self.d):
            counts.setdefault(label, Counter())


class EachValue:
    """P of a value under a Dirichlet prior with a parameter of each; of a set each is Beta(a, a)."""

    def __init__(self, kind, smoothing, name):
        self.kind, self.smoothing, self.name = kind, smoothing, name

    def of(self, value):
        a = self.smoothing["values"].get(self.name, {}).get(value, self.smoothing["default"])
        return book.Estimate(self.kind, a)

    def log_likelihood(self, is_set, event, learned, label, bag):
        values = set().union(*(b for _, b in learned)) if learned else set()
        if is_set:
            counts = Counted(learned, label)
            return sum(book.bernoulli(counts, label, bag, {m}, self.of(m)) for m in values)
        own = [b for v, b in learned if (v != label if event == "complement" else v == label)]
        size = len(own) + sum(self.of(m).added for m in values)
        above = [sum(m in b for b in own) + self.of(m).added for m in bag if m in values]
        if any(n == 0 for n in above):
            return -math.inf
        return sum(math.log(n / size) for n in above) * (-1 if event == "complement" else 1)


class Attributes:
    """A model of the daemon with `fields` and, beside it, what it must have learned. Deleted at the end."""

    def __init__(self, api, fields, **settings):
        settings.setdefault("preset", "book")
        self.api, self.fields, self.settings, self.documents, self._words = api, fields, settings, {}, {}
        self.name = api.name()
        self.path = "/v1/models/" + quoted(self.name)
        api.put(self.path, {**settings, "fields": fields}).ok(201)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.api.daemon.running():
            self.api.delete(self.path)

    def post(self, verb, body, kind=None):
        return self.api.post(f"{self.path}/{verb}", body, kind)

    def put(self, **settings):
        self.settings = settings
        return self.api.put(self.path, settings).ok(200)

    def words(self, text):
        """The words of a text as the daemon sees them, by way of the model's own text."""
        if text not in self._words:
            rows = self.post("tokenize", {"text": text}).ok().json["tokens"]
            self._words[text] = Counter({row["token"]: row["count"] for row in rows})
        return self._words[text]

    def bags(self, values, text=""):
        """{field: bag}; the text's own words under None."""
        bags = {None: self.words(text)}
        for name, value in values.items():
            if value is None:
                continue
            kind = self.fields[name]
            if kind == "number":
                bags[name] = Counter([number_text(value)])
                continue
            bags[name] = self.words(value) if kind == "text" else Counter(set(texts(kind, value)))
        return bags

    def train(self, values, label, id=None, text=None):
        document = {"values": values, "label": label}
        document.update({"id": id} if id is not None else {})
        document.update({"text": text} if text is not None else {})
        receipt = self.post("train", document).ok().json
        self.documents[receipt["id"]] = (label, self.bags(values, text or ""))
        return receipt

    def untrain(self, **document):
        receipt = self.post("untrain", document).ok().json
        del self.documents[receipt["id"]]
        return receipt

    def classify(self, values, query="", **more):
        return self.post("classify" + query, {"values": values, **more}).ok().json

    def filled(self, rows):
        for values, label in rows:
            self.train(values, label, id=str(len(self.documents) + 1))
        return self

    def row(self):
        return self.api.get(self.path).ok().json

    def expected(self, values, text=""):
        event = self.settings.get("event_model", "multinomial")
        smoothing = self.settings.get("smoothing", 1.0)
        default = smoothing["default"] if isinstance(smoothing, dict) else smoothing
        by = [self.settings.get("estimate", "mean"), default]
        living = list(self.documents.values())
        bags = self.bags(values, text)
        scores = book.log_scores([(label, b[None]) for label, b in living], bags.pop(None), event, by[1],
                                 self.settings.get("prior", "empirical"), estimate=by[0])
        of = {name: [(v, b[name]) for v, b in living if name in b] for name in self.fields}
        numeric = [numbers_of(b for _, b in of[name]) for name, kind in self.fields.items() if kind == "number"]
        added = 1e-9 * float(max((moments(numbers)[1] for numbers in numeric if numbers), default=0))
        for label in scores:
            for name, bag in bags.items():
                learned = of[name]
                if self.fields[name] == "number":
                    scores[label] += log_number(self.settings.get("number", "gaussian"), event, book.Estimate(*by),
                                                learned, label, bag, added)
                    continue
                if isinstance(smoothing, dict) and self.fields[name] in ("category", "set"):
                    each = EachValue(by[0], smoothing, name)
                    scores[label] += each.log_likelihood(self.fields[name] == "set", event, learned, label, bag)
                    continue
                scores[label] += log_likelihood(self.fields[name], event, book.Estimate(*by), learned, label, bag)
        return scores

    def assert_scores(self, values, text=""):
        """The daemon's verdict is the book's, number for number, and its explanation adds up to it."""
        got = self.classify(values, "?explain=10000", **({"text": text} if text else {}))
        want, what = self.expected(values, text), f"{values} {text!r} under {self.settings}"
        equal(sorted(got["log_scores"]), sorted(want), "labels scored for " + what)
        for v, score in want.items():
            told = got["log_scores"][v]
            near(-math.inf if told is None else told, score, f"log score of {v!r} for {what}")
        for v, p in book.soft_max(want).items():
            near(got["probabilities"][v], p, f"probability of {v!r} for {what}", 1e-7)
        others = [s for v, s in want.items() if v != got["label"]]
        evidence = [row["evidence"] for row in got["explanation"]]
        if others and max(others) > -math.inf:
            near(sum(evidence), want[got["label"]] - max(others), what)
        elif others and want[got["label"]] > -math.inf:
            holds(None in evidence, "nothing makes the others impossible: " + what)
        return got

    def assert_counts(self):
        """The model's row says what the living documents say."""
        row, documents, tokens, vocabulary = self.row(), Counter(), Counter(), set()
        for label, bags in self.documents.values():
            documents[label] += 1
            tokens[label] += sum(sum(bag.values()) for bag in bags.values())
            vocabulary |= {(name, m) for name, bag in bags.items() for m in bag}
        got = {v: (x["documents"], x["tokens"]) for v, x in row["labels"].items() if x["documents"]}
        equal(got, {v: (documents[v], tokens[v]) for v in documents}, "documents and tokens by label")
        equal(row["vocabulary"], len(vocabulary), "vocabulary")
        holds(row["documents"] == len(self.documents), row)
