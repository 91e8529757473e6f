# SPDX-License-Identifier: Apache-2.0
"""How good the verdicts were, by the daemon and by this test; and what is decided by them.

Every document is classified before it is trained, and the test keeps the reply. Each figure is then
computed here from its definition, slowly: areas by comparing all pairs, rates by counting. The daemon
sums a document that it learns in another order than one that it classifies, so that the last bits
may differ: what is that near counts as equal here.
"""
import json
import math
from collections import Counter

from book import HAM, SPAM, Model
from harness import equal, holds, near, refused
from prometheus import parse

VALGRIND = True
WORDS = {"ham": "meeting report garden lunch chapter draft family monday train music".split(),
         "spam": "win prize money cheap pills offer click free credit lottery".split(),
         "news": "election minister parliament economy score league match coach final goal".split()}
COMMON = "the a of and to it please today here now".split()
TINY = 5e-324
NEAR = 1e-9


class Seen:
    """A model, and what it said of each document before it learned it."""

    def __init__(self, model, labels=("ham", "spam")):
        self.model, self.labels, self.rows = model, labels, []

    def learn(self, label, text, id=None):
        reply = self.model.post("classify", {"text": text})
        row = {"id": id or f"{len(self.rows)}", "label": label, "text": text, "p": None}
        if reply.status != 409:  # nothing learned: every label is as likely
            said = reply.ok().json
            row["p"], row["scores"] = said["probabilities"], said["log_scores"]
            row["calibrated"] = "calibrated" in said
        self.model.post("train", {"text": text, "label": label, "id": row["id"]}).ok()
        self.rows.append(row)

    def fill(self, random, size):
        for _ in range(size):
            label = random.choice(self.labels)
            own = label if random.random() < 0.8 else random.choice(self.labels)
            words = random.choices(WORDS[own] + COMMON, k=random.randint(1, 9))
            self.learn(label, " ".join(words))
        return self

    def p(self, row, label):
        if row["p"] is None:
            return 1 / len(self.labels)
        # A stacked model that knows one label alone leaves the other some room, and does not name it.
        rest = 1 - sum(row["p"].values()) if len(self.labels) == 2 and len(row["p"]) == 1 else 0.0
        return row["p"].get(label, rest)

    def log_odds(self, row, positive):
        """What orders documents: finer than the probability where that rounds to 0 or 1."""
        if len(self.labels) != 2:
            return self.p(row, positive)
        if row["p"] is None:
            return 0.0
        other = next(v for v in self.labels if v != positive)
        if not row["calibrated"] and len(row["scores"]) == 2:
            return row["scores"][positive] - row["scores"][other]
        return math.log(max(self.p(row, positive), TINY)) - math.log(max(self.p(row, other), TINY))

    def evaluation(self, query=""):
        return self.model.api.get(f"{self.model.path}/evaluation{query}").ok().json


# ---- the definitions ----------------------------------------------------------------------------
def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def rate(rows, condition):
    return mean(1.0 if condition(row) else 0.0 for row in rows)


def area_missing(good, bad):
    """The share of pairs that stand the wrong way round, in percent."""
    if not good or not bad:
        return None
    return 100 * mean(0.5 if abs(g - b) <= NEAR * max(1, abs(g)) else float(g < b)
                      for g in good for b in bad)


def logit(error, n):
    error = max(error, 0.5 / n)
    return math.log(error / (1 - min(error, 1 - 0.5 / n)))


def same(got, want, what):
    if got is None or want is None:
        equal(got, want, what)
    else:
        near(got, want, what, 1e-9)


def assert_figures(seen, rows, window, positive):
    labels = sorted(seen.labels)
    winner = {row["id"]: max(labels, key=lambda v, r=row: seen.p(r, v)) for row in rows}
    positives = [r for r in rows if r["label"] == positive]
    others = [r for r in rows if r["label"] != positive]
    fpr = rate(others, lambda r: seen.p(r, positive) > 0.5)
    fnr = rate(positives, lambda r: seen.p(r, positive) <= 0.5)
    equal(window["documents"], len(rows), "documents")
    same(window["accuracy"], rate(rows, lambda r: winner[r["id"]] == r["label"]), "accuracy")
    same(window["false_positive_rate"], fpr, "false-positive rate")
    same(window["false_negative_rate"], fnr, "false-negative rate")
    same(window["one_minus_roca_percent"],
         area_missing([seen.log_odds(r, positive) for r in positives],
                      [seen.log_odds(r, positive) for r in others]), "1-ROCA")
    if positives and others:
        both = (logit(fpr, len(others)) + logit(fnr, len(positives))) / 2
        same(window["lam_percent"], 100 / (1 + math.exp(-both)), "LAM")
    same(window["log_loss"], mean(-math.log(min(max(seen.p(r, r["label"]), 1e-6), 1 - 1e-6))
                                  for r in rows), "log-loss")
    squares = [sum((seen.p(r, v) - (v == r["label"])) ** 2 for v in labels) for r in rows]
    same(window["brier"], mean(squares) / (2 if len(labels) == 2 else 1), "Brier")
    assert_verdicts(rows, window, labels, winner)
    if len(labels) == 2:
        points = [(seen.p(r, positive), r["label"] == positive) for r in rows]
    else:
        points = [(seen.p(r, winner[r["id"]]), winner[r["id"]] == r["label"]) for r in rows]
    assert_calibration(points, window)
    assert_curve(seen, positives, others, window, positive)


def assert_verdicts(rows, window, labels, winner):
    equal(sorted(window["labels"]), labels)
    scores, wrong = [], Counter((r["label"], winner[r["id"]]) for r in rows if winner[r["id"]] != r["label"])
    for v in labels:
        mine = [r for r in rows if r["label"] == v]
        given = [r for r in rows if winner[r["id"]] == v]
        row = window["labels"][v]
        equal((row["documents"], row["predicted"]), (len(mine), len(given)), v)
        same(row["recall"], rate(mine, lambda r, v=v: winner[r["id"]] == v), f"recall of {v}")
        same(row["precision"], rate(given, lambda r, v=v: r["label"] == v), f"precision of {v}")
        right = sum(winner[r["id"]] == v for r in mine)
        scores += [2 * right / (len(mine) + len(given))] if mine or given else []
        same(row["f1"], scores[-1] if mine or given else None, f"F1 of {v}")
        for u in labels:
            count = sum(winner[r["id"]] == u for r in mine)
            equal(window["confusion"][v].get(u, 0 if len(labels) > 32 else None), count, f"{v} given {u}")
    same(window["macro_f1"], mean(scores), "macro-F1")
    worst = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:20]
    equal([((p["label"], p["given"]), p["documents"]) for p in window["worst_pairs"]], worst)


def binned(points, rows):
    """The points of each of 15 bins. One that lies on an edge but for rounding may be counted on either side."""
    bins = [[] for _ in rows]
    for p, t in sorted(points):
        bins[min(14, math.floor(15 * p + 1e-12))].append((p, t))
    for k in range(1, 15):
        while bins[k] and abs(bins[k][0][0] - k / 15) < 1e-12 and len(bins[k - 1]) < rows[k - 1]["documents"]:
            bins[k - 1].append(bins[k].pop(0))
    return bins


def assert_calibration(points, window):
    error = 0.0
    equal(len(window["reliability"]), 15, "bins")
    for k, (got, held) in enumerate(zip(window["reliability"], binned(points, window["reliability"]))):
        low, high = k / 15, (k + 1) / 15
        near(got["from"], low, "from")
        near(got["to"], high, "to")
        equal(got["documents"], len(held), f"documents in bin {k}")
        same(got["confidence"], mean(p for p, _ in held), f"confidence in bin {k}")
        same(got["accuracy"], mean(float(t) for _, t in held), f"accuracy in bin {k}")
        if held:
            error += len(held) / len(points) * abs(got["confidence"] - got["accuracy"])
    same(window["ece"], error, "ECE")


def assert_curve(seen, positives, others, window, positive):
    curve = window["roc"]
    if not positives or not others:
        equal(curve, [], "curve of one class")
        return
    holds(2 <= len(curve) <= 101, f"{len(curve)} points")
    corners = [(p["false_positive_rate"], p["true_positive_rate"]) for p in curve]
    equal((corners[0], corners[-1]), ((0, 0), (1, 1)), "ends of the curve")
    top = max(seen.p(r, positive) for r in positives + others)
    near(curve[0]["threshold"], top, "just above all")
    for point in curve[1:]:
        taken = lambda r, at=point["threshold"]: seen.p(r, positive) >= at * (1 - NEAR)
        same(point["false_positive_rate"], rate(others, taken), f"at {point['threshold']}")
        same(point["true_positive_rate"], rate(positives, taken), f"at {point['threshold']}")


def progress_of(seen):
    """Fifty stretches of the documents in their order, cut where i / 50 of them are."""
    labels, rows = sorted(seen.labels), seen.rows
    wrong = [max(labels, key=lambda v, r=row: seen.p(r, v)) != row["label"] for row in rows]
    count = min(50, len(rows))
    cuts = [i * len(rows) // count for i in range(count + 1)]
    return [{"documents": b - a, "errors": sum(wrong[a:b])} for a, b in zip(cuts, cuts[1:])]


# ---- figures ------------------------------------------------------------------------------------
def test_figures_are_their_definitions(api):
    for settings in ({"decision": "bayes"}, {"decision": "stacked"}, {"event_model": "complement"}):
        with Model(api) as model:
            model.put(**settings)
            seen = Seen(model).fill(api.random, 70)
            for positive in ("spam", "ham"):
                got = seen.evaluation(f"?positive={positive}")
                equal((got["model"], got["positive"]), (model.path.rsplit("/", 1)[1], positive))
                equal([w["window"] for w in got["windows"]], [1000, 10000, None])
                for window in got["windows"]:
                    assert_figures(seen, seen.rows, window, positive)
            equal(got["progress"], progress_of(seen))
            equal(seen.evaluation()["positive"], "spam")
            holds("threshold" not in got, "a threshold that nobody asked for")


def test_windows_are_settings(api):
    with Model(api) as model:
        model.put(evaluation_short=7, evaluation_long=31)
        seen = Seen(model).fill(api.random, 40)
        windows = seen.evaluation()["windows"]
        equal([w["window"] for w in windows], [7, 31, None])
        for window, size in zip(windows, (7, 31, 40)):
            assert_figures(seen, seen.rows[-size:], window, "spam")


def test_more_than_two_labels(api):
    with Model(api) as model:
        model.put(decision="stacked", evaluation_short=25, evaluation_long=50)
        seen = Seen(model, ("ham", "news", "spam")).fill(api.random, 60)
        for positive in seen.labels:
            windows = seen.evaluation(f"?positive={positive}")["windows"]
            for window in windows[:2]:
                assert_figures(seen, seen.rows[-window["window"]:], window, positive)


def test_many_labels(api):
    """More labels than the table of confusions lists in full, and more wrong pairs than are told."""
    labels = [f"l{i:02}" for i in range(40)]
    with Model(api) as model:
        model.put(decision="bayes", smoothing=0.1)
        seen = Seen(model, labels)
        for i in range(200):
            own = i % 40 if api.random.random() < 0.7 else api.random.randrange(40)
            seen.learn(labels[i % 40], " ".join([f"w{own}"] * 2 + api.random.choices(COMMON, k=2)))
        window = seen.evaluation()["windows"][2]
        winner = {r["id"]: max(labels, key=lambda v, r=r: seen.p(r, v)) for r in seen.rows}
        assert_verdicts(seen.rows, window, labels, winner)
        equal(len(window["worst_pairs"]), 20)
        equal(window["confusion_left_out"], 0)
        same(window["accuracy"], rate(seen.rows, lambda r: winner[r["id"]] == r["label"]), "accuracy")


def test_confusions_of_many_labels_are_bounded(api):
    """Documents with the words of another label than theirs: of 1,560 wrong pairs the worst 1,000 are told."""
    labels = [f"l{i:02}" for i in range(40)]
    with Model(api) as model:
        model.put(decision="bayes", prior="uniform", smoothing=0.01)
        pairs = [(a, b) for a in labels for b in labels]
        documents = [{"label": a, "text": f"w{a} w{a} w{a} w{a}"} for a in labels * 20]
        documents += [{"label": a, "text": f"w{b}"} for a, b in pairs + pairs[1::3]]
        for k in range(0, len(documents), 1000):
            model.post("train", {"documents": [dict(d, id=str(k + i))
                                               for i, d in enumerate(documents[k:k + 1000])]}).ok()
        window = model.api.get(f"{model.path}/evaluation").ok().json["windows"][2]
        cells = [(a, b, n) for a, row in window["confusion"].items() for b, n in row.items()]
        equal((len(cells), window["confusion_most"]), (1000, 1000))
        holds(window["confusion_left_out"] > 500, f"{window['confusion_left_out']} left out")
        holds(all(a != b for a, b, _ in cells), "a right pair is told")
        worst = [(p["label"], p["given"], p["documents"]) for p in window["worst_pairs"]]
        holds(set(worst) <= set(cells), "a worst pair is not told")
        wrong = sum(round(row["documents"] * (1 - row["recall"])) for row in window["labels"].values())
        told = sum(n for _, _, n in cells)
        holds(told < wrong <= told + window["confusion_left_out"] * min(n for _, _, n in cells),
              f"{told} of {wrong} wrong verdicts")


def test_the_true_label_counts_however_unlikely(api):
    """Of many labels the likeliest are stored: a true one that is not among them keeps its probability."""
    labels = [f"l{i:02}" for i in range(24)]
    with Model(api) as model:
        model.put(decision="bayes", smoothing=2)
        seen = Seen(model, labels)
        for i in range(96):
            label = labels[i % 24]
            words = [f"w{labels.index(label)}"] * 2 if i < 72 else [f"w{(i + 5) % 24}"]
            seen.learn(label, " ".join(words + api.random.choices(COMMON, k=3)))
        window = seen.evaluation()["windows"][2]
        behind = [r for r in seen.rows[72:] if seen.p(r, r["label"]) > 0.001
                  and sum(p > seen.p(r, r["label"]) for p in r["p"].values()) >= 16]
        holds(len(behind) > 3, "hardly a true label is behind sixteen others")
        same(window["log_loss"], mean(-math.log(min(max(seen.p(r, r["label"]), 1e-6), 1 - 1e-6))
                                      for r in seen.rows), "log-loss")


def test_the_last_label_is_positive_without_spam(api):
    with Model(api) as model:
        seen = Seen(model, ("ham", "news")).fill(api.random, 20)
        got = seen.evaluation()
        equal(got["positive"], "news")
        assert_figures(seen, seen.rows, got["windows"][2], "news")
        verdict = model.classify(seen.rows[0]["text"], "?cost_fp=1&cost_fn=1")
        equal(verdict["decision"], "news" if verdict["probabilities"]["news"] >= 0.5 else "ham")
        holds("'news'" in verdict["decision_reason"], verdict["decision_reason"])


def test_untrained_documents_drop_out_and_labels_are_corrected(api):
    with Model(api) as model:
        seen = Seen(model).fill(api.random, 30)
        for id in ("3", "17", "29"):
            model.post("untrain", {"id": id}).ok()
        seen.rows = [r for r in seen.rows if r["id"] not in ("3", "17", "29")]
        assert_figures(seen, seen.rows, seen.evaluation()["windows"][2], "spam")


def test_one_class_only(api):
    with Model(api) as model:
        seen = Seen(model, ("ham",))
        for text in HAM[:4]:
            seen.learn("ham", text)
        window = seen.evaluation()["windows"][0]
        equal((window["one_minus_roca_percent"], window["lam_percent"]), (None, None))
        equal((window["false_positive_rate"], window["roc"]), (None, []))
        equal(window["accuracy"], 1.0)
        refused(api.get(f"{model.path}/evaluation?target_fpr=0.1"), 409, "false-positive rate")


def test_nothing_evaluated(api):
    with Model(api) as model:
        path = model.path + "/evaluation"
        refused(api.get(path), 409)
        refused(api.get(path + "?target_fpr=0.1"), 409)
        model.filled()
        for query, word in (("target_fpr=2", "target_fpr"), ("target_fpr=-1", "target_fpr"),
                            ("target_fpr=", "target_fpr"), ("target_fpr=x", "target_fpr"),
                            ("targetfpr=0.1", "targetfpr")):
            refused(api.get(f"{path}?{query}"), 400, word)
        refused(api.get(path + "?positive=nobody"), 404, "nobody")
        refused(api.get(path + "?positive="), 422, "label")
    refused(api.get("/v1/models/nobody-made-it/evaluation"), 404, "nobody-made-it")


def test_figures_outlive_a_restart(api):
    daemon = api.another().start()
    path = "/v1/models/kept"
    for i, text in enumerate(HAM + SPAM):
        label = "ham" if text in HAM else "spam"
        daemon.client.post(path + "/train", {"text": text, "label": label, "id": str(i)}).ok()
    before = daemon.client.get(path + "/evaluation?target_fpr=0.2").ok().json
    daemon.stop()
    daemon.start()
    equal(daemon.client.get(path + "/evaluation?target_fpr=0.2").ok().json, before)
    daemon.stop()


# ---- thresholds and decisions -------------------------------------------------------------------
def test_thresholds_hold_their_rate(api):
    with Model(api) as model:
        model.put(evaluation_long=50)
        seen = Seen(model).fill(api.random, 60)
        others = [r for r in seen.rows[-50:] if r["label"] != "spam"]
        above = lambda p: rate(others, lambda r: seen.p(r, "spam") > p)
        for target in (0, 0.001, 0.05, 0.1, 0.3, 0.5, 0.9, 1):
            got = seen.evaluation(f"?target_fpr={target}")["threshold"]
            equal(got["target_fpr"], target)
            same(got["achieved_fpr"], above(got["threshold"] * (1 + NEAR)), f"rate for {target}")
            holds(got["achieved_fpr"] <= target, f"{got} for {target}")
            if got["threshold"] > 0:
                lower = got["threshold"] * (1 - NEAR)
                holds(above(lower) > target, f"{lower} would do for {target}")


def decided(model, query, text):
    verdict = model.classify(text, query)
    return verdict["decision"], verdict["decision_reason"]


def test_decisions_at_the_threshold(api):
    text = "win the garden prize"
    for settings in ({"decision": "bayes"}, {"decision": "stacked"}):
        with Model(api) as model:
            model.put(**settings)
            model.filled()
            plain = model.classify(text)
            holds("decision" not in plain and "decision_reason" not in plain, plain)
            p = plain["probabilities"]["spam"]
            holds(0 < p < 1, f"a probability of {p} tests nothing")
            above, q = math.nextafter(p, 1), plain["probabilities"]["ham"]
            equal(decided(model, f"?threshold={p!r}&positive=spam", text)[0], "spam", "at its probability")
            label, why = decided(model, f"?threshold={above!r}&positive=spam", text)
            equal(label, "ham", "just above it")
            holds(repr(above) in why and "'spam'" in why, why)
            equal(decided(model, f"?threshold={q!r}&positive=ham", text)[0], "ham")
            equal(decided(model, f"?threshold={math.nextafter(q, 1)!r}&positive=ham", text)[0],
                  "spam", "the best of the others")
            equal(decided(model, "?threshold=0&positive=spam", text)[0], "spam")
            equal(decided(model, "?threshold=1&positive=spam", text)[0], "ham")


def test_the_winner_at_the_threshold(api):
    """Whichever label wins, and however many there are: nothing less likely is ever decided."""
    text = "win the garden prize"
    for labels in (("ham", "spam"), ("ham", "news", "spam"), ("ham", "news")):
        for settings in ({"decision": "bayes", "smoothing": 20}, {"decision": "stacked"}):
            with Model(api) as model:
                model.put(**settings)
                for i in range(8):
                    for label in labels:
                        model.train(" ".join(WORDS[label][i:i + 2] + COMMON[:2]), label)
                said = model.classify(text)
                label, p = said["label"], said["probability"]
                holds(1 / len(labels) < p < 1, f"a probability of {p} tests nothing")
                for threshold, want in ((0, label), (p / 2, label), (p, label), (math.nextafter(p, 1), "unsure"),
                                        ((1 + p) / 2, "unsure"), (1, "unsure")):
                    got, why = decided(model, f"?threshold={threshold!r}", text)
                    equal(got, want, why)
                    holds(f"'{label}'" in why and "most probable" in why, why)
                    equal("below" in why, want == "unsure", why)


def test_decisions_by_cost(api):
    with Model(api) as model:
        model.put(smoothing=5)
        model.filled()
        text = "win the prize"
        p = model.classify(text)["probabilities"]["spam"]
        for fp, fn in ((1, 1), (100, 1), (1, 100), (3, 2), (0, 1), (1, 0), (1e300, 1e300)):
            label, why = decided(model, f"?cost_fp={fp!r}&cost_fn={fn!r}".replace("+", "%2B"), text)
            threshold = (fp / max(fp, fn)) / (fp / max(fp, fn) + fn / max(fp, fn))
            equal(label, "spam" if p >= threshold else "ham", why)
            holds("cost" in why, why)
        cheap = p / (1 - p)  # of a lost spam at which this one is just worth it
        equal(decided(model, f"?cost_fp={cheap * 0.999!r}&cost_fn=1", text)[0], "spam")
        equal(decided(model, f"?cost_fp={cheap * 1.001!r}&cost_fn=1", text)[0], "ham")


def test_decisions_by_false_positive_rate(api):
    with Model(api) as model:
        seen = Seen(model).fill(api.random, 60)
        texts = [" ".join(api.random.choices(WORDS["ham"] + WORDS["spam"], k=4)) for _ in range(20)]
        for target in (0, 0.1, 0.5, 1):
            threshold = seen.evaluation(f"?target_fpr={target}")["threshold"]["threshold"]
            for text in texts:
                verdict = model.classify(text, f"?target_fpr={target}")
                spam = verdict["probabilities"]["spam"] >= threshold
                equal(verdict["decision"], "spam" if spam else "ham", verdict["decision_reason"])
                holds("false-positive rate" in verdict["decision_reason"], verdict)


def test_unsure_near_the_threshold(api):
    with Model(api) as model:
        model.filled()
        text = "win the garden prize"
        p = model.classify(text)["probabilities"]["spam"]
        for band, threshold, want in ((0, p, "spam"), (0.1, p, "unsure"),
                                      (0.1, p - 0.0999, "unsure"), (0.1, p - 0.1001, "spam"),
                                      (0.1, p + 0.0999, "unsure"), (0.1, p + 0.1001, "ham")):
            if not 0 <= threshold <= 1:
                continue
            model.put(unsure_band=band)
            label, why = decided(model, f"?threshold={threshold!r}&positive=spam", text)
            equal(label, want, why)
            equal("nearer" in why, want == "unsure", why)
            said = model.classify(text, f"?threshold={threshold!r}")
            winner, q = said["label"], said["probability"]
            near = abs(q - threshold) < band
            equal(said["decision"], winner if not near and q >= threshold else "unsure", said)
            equal("nearer" in said["decision_reason"], near, said)
        holds("decision" not in model.classify(text), "a decision that nobody asked for")


def test_decisions_of_many_labels(api):
    with Model(api) as model:
        for label, words in WORDS.items():
            for i in range(6):
                model.train(" ".join(words[i:i + 4] + COMMON[:3]), label)
        text = "win the minister meeting"
        said = model.classify(text)["probabilities"]
        for positive, p in said.items():
            others = {v: x for v, x in said.items() if v != positive}
            best = max(sorted(others), key=others.get)
            equal(decided(model, f"?threshold={p!r}&positive={positive}", text)[0], positive)
            equal(decided(model, f"?threshold={math.nextafter(p, 1)!r}&positive={positive}", text)[0],
                  best)


def test_costs_of_many_labels_are_of_a_label_that_is_named(api):
    with Model(api) as model:
        for label in ("ham", "news", "sports"):
            model.train(" ".join(WORDS.get(label, ["goal", "match", "the"])), label)
        for query in ("cost_fp=1&cost_fn=1", "target_fpr=0.5"):
            refused(model.post(f"classify?{query}", {"text": "goal"}), 409, "positive", "3 labels")
            holds(model.classify("goal", f"?{query}&positive=news")["decision"] in ("ham", "news", "sports"), query)
        model.train("win the prize", "spam")
        holds("'spam'" in decided(model, "?cost_fp=1&cost_fn=1", "goal")[1], "spam is what costs are of")


def test_no_token_is_known(api):
    """What wins then is the prior; no threshold makes a decision of it."""
    for settings in ({"decision": "bayes"}, {"decision": "stacked"}, {"event_model": "binary"}):
        with Model(api) as model:
            model.put(**settings)
            known = Seen(model).fill(api.random, 30).rows[0]["text"].split()[0]
            for text in ("zyxwv utsrq", ""):
                said = model.classify(text)
                equal((said["evidence"], said["tokens"]["known"]), ("none", 0), text)
                holds("decision" not in said, said)
                for query in ("threshold=0", "threshold=0&positive=spam", "threshold=1&positive=ham",
                              "cost_fp=1&cost_fn=1", "target_fpr=1"):
                    label, why = decided(model, f"?{query}", text)
                    equal(label, "unsure", f"{query}: {why}")
                    holds("known" in why, why)
            for text in (known, f"zyxwv {known}"):
                said = model.classify(text, "?threshold=0")
                holds("evidence" not in said and said["decision"] == said["label"], said)


def test_decisions_in_batches_and_lines(api):
    with Model(api) as model:
        model.filled()
        texts = ["win", "garden", "the"]
        want = [decided(model, "?threshold=0.7", text) for text in texts]
        reply = model.post("classify?threshold=0.7", {"documents": [{"text": t} for t in texts]}).ok()
        equal([(r["decision"], r["decision_reason"]) for r in reply.json["results"]], want)
        lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
        reply = model.post("classify?threshold=0.7", lines, "application/x-ndjson").ok()
        equal([(r["decision"], r["decision_reason"]) for r in reply.lines], want)


def test_decisions_refused(api):
    with Model(api) as model:
        refused(model.post("classify?target_fpr=0.1", {"text": "win"}), 409)
        refused(model.post("classify?threshold=0.5", {"text": "win"}), 409)
        model.train("win", "spam", id="1")
        verdict = model.classify("win", "?threshold=0.5")
        equal(verdict["decision"], "unsure", "one label alone")
        refused(model.post("classify?target_fpr=0.1", {"text": "win"}), 409, "false-positive rate")
        model.train("garden", "ham", id="2")
        for query, *words in (
                ("threshold=0.5&target_fpr=0.1", "threshold", "target_fpr"),
                ("threshold=0.5&cost_fp=1&cost_fn=1", "threshold", "cost_fp"),
                ("target_fpr=0.5&cost_fp=1&cost_fn=1", "target_fpr", "cost_fp"),
                ("cost_fp=1", "cost_fn"), ("cost_fn=1", "cost_fp"), ("cost_fp=0&cost_fn=0", "cost_fp"),
                ("positive=spam", "positive"), ("threshold=1.0001", "threshold", "0 to 1"),
                ("threshold=-0.1", "threshold"), ("threshold=nan", "threshold"),
                ("threshold=0x1", "threshold"), ("threshold=", "threshold"), ("threshold=1e", "threshold"),
                ("threshold=.", "threshold"), ("threshold=" + "1" * 60, "threshold"),
                ("target_fpr=inf", "target_fpr"), ("cost_fp=1e999&cost_fn=1", "cost_fp"),
                ("treshold=0.5", "treshold")):
            refused(model.post(f"classify?{query}", {"text": "win"}), 400, *words)
        for query in ("threshold=0.5", "target_fpr=0.5", "cost_fp=1&cost_fn=1"):
            refused(model.post(f"classify?{query}&positive=nobody", {"text": "win"}), 404, "nobody")
        refused(model.post("classify?threshold=0.5&positive=" + "x" * 65, {"text": "win"}), 422)
        refused(model.post("tokenize?threshold=0.5", {"text": "win"}), 400, "threshold")


# ---- metrics ------------------------------------------------------------------------------------
def test_figures_in_the_metrics(api):
    daemon = api.another().start()
    names = {"documents": "documents", "accuracy": "accuracy", "macro_f1": "macro_f1", "log_loss": "log_loss", "brier": "brier", "ece": "ece",
             "one_minus_roca_percent": "one_minus_roca_percent", "lam_percent": "lam_percent"}
    for i, text in enumerate(HAM + SPAM):
        document = {"text": text, "label": "ham" if text in HAM else "spam", "id": str(i)}
        daemon.client.post("/v1/models/good/train", document).ok()
    daemon.client.put("/v1/models/good", {"evaluation_short": 6}).ok()
    daemon.client.post("/v1/models/lonely/train", {"text": "one", "label": "ham"}).ok()
    daemon.client.put("/v1/models/empty", {}).ok(201)
    page = parse(daemon.client.get("/metrics").ok().body.decode())
    window = daemon.client.get("/v1/models/good/evaluation").ok().json["windows"][0]
    equal(window["documents"], 6)
    for name, member in names.items():
        near(page.value(f"bayesd_evaluation_{name}", model="good"), window[member], name)
    rows = {name: {dict(labels)["model"] for _, labels in page.families[f"bayesd_evaluation_{name}"].samples}
            for name in names}
    equal(rows["documents"], {"good", "lonely"}, "models with documents")
    equal(rows["lam_percent"], {"good"}, "models whose figures are defined")
    # Kept for half a minute: what is learned now is not there yet.
    daemon.client.post("/v1/models/lonely/train", {"text": "two", "label": "ham"}).ok()
    page = parse(daemon.client.get("/metrics").ok().body.decode())
    equal(page.value("bayesd_evaluation_documents", model="lonely"), 1)
    daemon.stop()


def test_figures_of_a_model_made_anew(api):
    """Those that were kept are of the one that had its name before."""
    daemon = api.another().start()
    model = "/v1/models/m"

    def evaluated():
        page = parse(daemon.client.get("/metrics").ok().body.decode())
        return page.value("bayesd_evaluation_documents", model="m")

    def learn(*texts):
        for text in texts:
            daemon.client.post(model + "/train", {"text": text, "label": "ham" if text in HAM else "spam"}).ok()

    learn(*HAM, *SPAM)
    dump = daemon.client.get(model + "/export").ok().body
    equal(evaluated(), len(HAM + SPAM))
    daemon.client.delete(model).ok(204)
    learn(SPAM[0], HAM[0])
    equal(evaluated(), 2, "made anew")
    daemon.client.put(model + "/import", dump, "application/x-ndjson").ok(200)
    equal(evaluated(), len(HAM + SPAM), "replaced")
    daemon.stop()


def test_metrics_of_many_models(api):
    daemon = api.another().start()
    for i in range(104):
        document = {"text": "one", "label": "ham", "id": "1"}
        daemon.client.post(f"/v1/models/m{i:03}/train", document).ok()
    page = parse(daemon.client.get("/metrics").ok().body.decode())
    models = sorted(dict(labels)["model"] for _, labels in
                    page.families["bayesd_evaluation_documents"].samples)
    equal(models, [f"m{i:03}" for i in range(len(models))], "the first by name")
    holds(len(models) <= 100, f"{len(models)} models")
    daemon.stop()
