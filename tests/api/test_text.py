# SPDX-License-Identifier: Apache-2.0
"""What counts as a token, seen from outside."""
import unicodedata

from book import Model
from harness import equal, holds

VALGRIND = True


def test_folding(api):
    pairs = [("STRASSE", "straße"), ("ＦＲＥＥ", "free"), ("ﬁnance", "finance"), ("fr\u200bee", "free"),
             ("e\u0301te\u0301", "été"), ("ПРИВЕТ", "привет"), ("so\u00adft", "soft"), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
             ("K\u2060ey", "key"), ("\ufefffree", "free"), ("①", "1"), ("İ", "i̇"), ("Ǆ", "ǆ"), ("don’t", "don't"),
             ("\u202efree\u202c", "free"), ("Å", "å"), ("ß", "ss"), ("fr\U000E0061ee", "free"), ("ｶﾞ", "ガ")]
    with Model(api) as model:
        for one, other in pairs:
            equal(model.bag(one), model.bag(other), f"{one!r} and {other!r}")
            holds(model.bag(one), f"{one!r} has no token")


def test_words_stay_whole(api):
    with Model(api) as model:
        for text in ("don't", "o'clock", "3.14", "1,000", "example.com", "10.0.0.1", "under_score", "abc123", "a1b2"):
            equal(dict(model.bag(text)), {text: 1}, text)
        equal(model.bag("stop, go"), {"stop": 1, ",": 1, "go": 1})
        equal(model.bag("end."), {"end": 1, ".": 1})
        equal(model.bag("one two\tthree\nfour\u00a0five\u3000six").keys(), {"one", "two", "three", "four", "five", "six"})


def test_marks_are_tokens(api):
    with Model(api) as model:
        equal(model.bag("win!!! now?!"), {"win": 1, "!!!": 1, "now": 1, "?": 1, "!": 1})
        equal(model.bag("!!!!!!"), model.bag("!!!"))
        equal(model.bag("\U0001F3B0" * 5), {"\U0001F3B0": 5})
        bag = model.bag("only 5 € or $5 \U0001F4B0\U0001F4B0")
        holds("€" in bag and "$" in bag and any("\U0001F4B0" in token for token in bag), bag)


def test_order_of_first_appearance(api):
    with Model(api) as model:
        rows = model.post("tokenize", {"text": "b a c a b a"}).ok().json["tokens"]
        equal([(row["token"], row["count"]) for row in rows], [("b", 2), ("a", 3), ("c", 1)])


def test_scripts_without_spaces(api):
    with Model(api) as model:
        equal(sorted(model.bag("免费大奖")), sorted(["免费", "费大", "大奖"]))
        for text in ("無料でお金を稼ぐ", "ฟรีเงินรางวัล", "무료상품", "អានរឿង", "ສະບາຍດີ", "မင်္ဂလာပါ"):
            holds(sum(model.bag(text).values()) >= 2, f"{text}: {model.bag(text)}")
        model.train("免费赢取大奖 点击这里", "spam")
        model.train("明天上午开会讨论预算", "ham")
        equal(model.classify("点击赢取免费大奖")["label"], "spam")
        model.assert_exact(("点击赢取免费大奖", "预算 free"))


def test_long_tokens_are_shortened(api):
    with Model(api) as model:
        for text in ("a" * 41, "a" * 1000, "a" * 1000000, "é" * 500):
            (token, count), = model.bag(text).items()
            holds(token.startswith("long:") and len(token) < 40 and count == 1, f"{token!r} {count}")
        equal(model.bag("a" * 40), {"a" * 40: 1})


def test_budget_is_reported(api):
    """More tokens than the limit: the rest is left out, and the reply says so."""
    with Model(api) as model:
        model.filled()
        long = "word " * 100001
        got = model.classify(long)
        equal((got.get("truncated"), got["tokens"]["total"]), (True, 100000))
        holds(model.classify("word " * 100000).get("truncated", False) is False, "at the limit")
        equal(model.post("tokenize", {"text": long}).ok().json.get("truncated"), True)
        receipt = model.post("train", {"text": long, "label": "ham"}).ok().json
        equal((receipt.get("truncated"), receipt["tokens"]), (True, 100000))
        equal(model.post("train", {"text": long, "label": "ham"}).ok().json["status"], "unchanged")


def test_odd_text_is_no_error(api):
    with Model(api) as model:
        model.filled()
        for text in ("\0\1\2", "\U0001F4B0" * 50, "a" * 100000, " \n\t", "\ufeff", "\u202eevil\u202c", "\ufffd" * 100,
                     "e" + "\u0301" * 50000, "\ufdfa" * 5000, "\u1100" * 5000, "\U0010ffff", "'" * 1000, "a'" * 10000,
                     "\u200d" * 10000, "\U0001F1E9" * 1001):
            model.classify(text)


def test_tokens_read_back(api):
    """Any text gives tokens that are valid, folded and the same when asked again."""
    rng = api.random
    alphabet = "aB'é.ß,1_!€中あ한ไ\u0301\u200b\U0001F600 \n\u00adİσΣ-/@"
    with Model(api) as model:
        for _ in range(80):
            text = "".join(rng.choices(alphabet, k=rng.randrange(60)))
            bag = model.bag(text)
            for token in bag:
                holds(token and unicodedata.is_normalized("NFC", token), f"{token!r} of {text!r}")
            model._bags.clear()
            equal(model.bag(text), bag, repr(text))
