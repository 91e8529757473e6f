# SPDX-License-Identifier: Apache-2.0
"""clients/python/bayesd_sklearn.py in scikit-learn's own machinery, against MultinomialNB where both say the same."""
import copy
import os
import pickle
import re
import sys

import numpy
from peers import HERE, equal, holds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(HERE)), "clients", "python"))

from bayesd import Bayesd, Problem  # noqa: E402  (needs the path above)
from bayesd_sklearn import BayesdClassifier  # noqa: E402

BOOK = {"preset": "book"}
TOPICS = {"fruit": "apple pear plum cherry quince juice sweet tree", "music": "violin cello flute horn juice sweet hall",
          "trade": "price market tree coin hall sale"}


def classifier(peers, **how):
    peers.api.get("/healthz").ok()
    return BayesdClassifier(peers.api.daemon.url, **{"settings": BOOK, **how})


def examples(peers, count=120):
    """Some are equal: each counts."""
    labels = [peers.random.choice(sorted(TOPICS)) for _ in range(count)]
    texts = [" ".join(peers.random.choice(TOPICS[v].split()) for _ in range(peers.random.randrange(1, 5)))
             for v in labels]
    return texts, labels


def names(peers):
    return {model["name"] for model in Bayesd(peers.api.daemon.url).models()}


def close(got, want, what=""):
    holds(numpy.allclose(got, want, rtol=1e-9, atol=1e-12), (what, got, want))


def test_probabilities_are_those_of_multinomial_nb(peers):
    texts, labels = examples(peers)
    ours = classifier(peers).fit(texts, labels)
    theirs = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, labels)
    equal(list(ours.classes_), list(theirs.classes_))
    close(ours.predict_proba(texts), theirs.predict_proba(texts))
    equal(list(ours.predict(texts)), list(theirs.predict(texts)))
    equal(ours.score(texts, labels), theirs.score(texts, labels))
    equal(ours.predict_proba([]).shape, (0, 3))


def test_partial_fit_is_fit(peers):
    texts, labels = examples(peers)
    whole, parts = classifier(peers).fit(texts, labels), classifier(peers)
    for begin in range(0, len(texts), 7):
        parts.partial_fit(texts[begin:begin + 7], labels[begin:begin + 7], classes=sorted(TOPICS))
    equal(list(parts.classes_), list(whole.classes_))
    close(parts.predict_proba(texts), whole.predict_proba(texts))
    parts.partial_fit(["apple"], ["other"])
    equal(list(parts.classes_), ["fruit", "music", "other", "trade"])
    early = classifier(peers).partial_fit(["apple", "violin"], ["fruit", "music"], classes=["fruit", "music", "trade"])
    equal(list(early.predict_proba(["apple"])[0][2:]), [0.0], "a class without documents")


def test_classes_that_are_numbers(peers):
    texts, labels = examples(peers)
    numbers = numpy.array([sorted(TOPICS).index(v) * 10 for v in labels])
    fitted = classifier(peers).fit(numpy.array(texts, dtype=object), numbers)
    equal(list(fitted.classes_), [0, 10, 20])
    holds(fitted.predict(texts).dtype == numbers.dtype, "the classes are numbers again")
    close(fitted.predict_proba(texts), classifier(peers).fit(texts, labels).predict_proba(texts))


def test_weights_are_numbers_of_times(peers):
    texts, labels = examples(peers)
    weights = [peers.random.randrange(4) for _ in texts]
    theirs = make_pipeline(CountVectorizer(), MultinomialNB())
    theirs.fit(texts, labels, multinomialnb__sample_weight=weights)
    ours = classifier(peers).fit(texts, labels, sample_weight=numpy.array(weights, dtype=float))
    repeated = [(t, v) for t, v, n in zip(texts, labels, weights) for _ in range(n)]
    again = classifier(peers).fit(*zip(*repeated))
    parts = classifier(peers)
    for begin in range(0, len(texts), 50):
        part = slice(begin, begin + 50)
        parts.partial_fit(texts[part], labels[part], sample_weight=weights[part])
    close(ours.predict_proba(texts), again.predict_proba(texts))
    close(parts.predict_proba(texts), again.predict_proba(texts))
    known = [t for t in texts if all(w in " ".join(t for t, _ in repeated).split() for w in t.split())]
    close(ours.predict_proba(known), theirs.predict_proba(known))
    for weight in (0.5, -1, float("nan"), "2", None, 10001, float("inf")):
        refuses(ValueError, "sample_weight[1]", classifier(peers).fit, ["a", "b"], ["x", "y"], sample_weight=[1, weight])
    refuses(ValueError, "3 numbers", classifier(peers).fit, ["a", "b"], ["x", "y"], sample_weight=[1, 1, 1])
    refuses(ValueError, "dimensions", classifier(peers).fit, ["a", "b"], ["x", "y"], sample_weight=numpy.ones((2, 1)))


def test_several_labels(peers):
    several = {"settings": {"label_set": "several"}}
    labels = [peers.random.sample(sorted(TOPICS), peers.random.randrange(3)) for _ in range(150)]
    texts = [" ".join(peers.random.choice(TOPICS[v].split()[:5]) for v in some for _ in range(3)) + " word"
             for some in labels]
    ours = classifier(peers, **several).fit(texts, labels)
    binarizer = MultiLabelBinarizer().fit(labels)
    equal(list(ours.classes_), list(binarizer.classes_))
    given, probabilities = ours.predict(texts), ours.predict_proba(texts)
    equal(binarizer.transform(given).shape, probabilities.shape)
    truth = binarizer.transform(labels)
    holds((binarizer.transform(given) == truth).mean() > .95, "predictions")
    holds(probabilities[truth == 1].mean() > .8 and probabilities[truth == 0].mean() < .2, "columns in order")
    near = sum(set(some) == set(want) for some, want in zip(given, labels)) / len(labels)
    close(ours.score(texts, labels), near)
    holds(cross_val_score(ours, texts, labels, cv=KFold(3)).mean() > .8, "cross-validation")
    parts = classifier(peers, **several)
    for begin in range(0, len(texts), 50):
        parts.partial_fit(texts[begin:begin + 50], [set(some) for some in labels[begin:begin + 50]])
    equal(list(parts.classes_), list(ours.classes_))
    holds((binarizer.transform(parts.predict(texts)) == truth).mean() > .95, "in parts")
    numbered = [[sorted(TOPICS).index(v) * 10 for v in some] for some in labels]
    numbers = classifier(peers, **several).fit(texts, numbered)
    equal(list(numbers.classes_), [0, 10, 20])
    holds((MultiLabelBinarizer(classes=[0, 10, 20]).fit_transform(numbers.predict(texts)) == truth).mean() > .95, "numbers")
    equal(pickle.loads(pickle.dumps(ours)).predict(texts), given)
    for y, words in ((["fruit", "music"], "y[0] is a string"), ([["fruit"], 7], "y[1]"), ([["fruit"], [None]], "y[1][0]"),
                     ([["fruit"], [1]], "mixes"), (numpy.ones((2, 2)), "2 dimensions"), ([["fruit"]], "2 documents")):
        refuses(ValueError, words, classifier(peers, **several).fit, ["apple", "violin"], y)


def test_logarithms(peers):
    fitted = classifier(peers).partial_fit(["apple", "violin"], ["fruit", "music"], classes=["fruit", "music", "trade"])
    with numpy.errstate(divide="raise"):
        told = fitted.predict_log_proba(["apple"])
    close(told[0][:2], numpy.log(fitted.predict_proba(["apple"])[0][:2]))
    equal(told[0][2], -numpy.inf)


def refuses(kind, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        holds(words in str(error), (words, error))
        return
    raise AssertionError(f"{words}: nothing was refused")


def test_what_is_no_list_of_documents_or_classes(peers):
    """Refused by what it is, before the daemon is asked for anything; what was learned before stays."""
    texts, labels = ["apple", "violin"], ["fruit", "music"]
    counts = CountVectorizer().fit_transform(texts)
    fitted = classifier(peers).fit(texts, labels)
    held = names(peers)
    for X, words in ((counts, "sparse matrix"), (counts.toarray(), "2 dimensions (2 x 2)"), (numpy.array([["a"], ["b"]]), "2 dimensions"),
                     ("apple", "a string"), (b"apple", "bytes"), ({"text": "apple"}, "a dict"), ({"apple", "pear"}, "a set"),
                     ((t for t in texts), "generator"), (numpy.array(3), "a single value"), (7, "int"), (numpy.array([1.0, 2.0]), "X[0]"),
                     (["apple", None], "X[1]"), (["apple", float("nan")], "X[1]"), (["apple", ["violin"]], "X[1]")):
        for call in (lambda X: classifier(peers).fit(X, labels), lambda X: classifier(peers).partial_fit(X, labels),
                     fitted.predict, fitted.predict_proba, fitted.predict_log_proba):
            refuses(TypeError, words, call, X)
    for y, words in ((numpy.array([["fruit"], ["music"]]), "2 dimensions (2 x 1)"), ([["fruit"], ["music"]], "two dimensions"),
                     ([("fruit", "x"), ("music",)], "two dimensions"), ("fm", "a string"), (counts, "sparse matrix"),
                     (["fruit", float("nan")], "y[1]"), (["fruit", None], "y[1]"), (numpy.array([1.0, numpy.nan]), "y[1]"),
                     (numpy.array(["fruit", numpy.nan], dtype=object), "y[1]"), (["fruit", 1], "mixes"), (None, "NoneType"),
                     (["fruit"], "2 documents"), ({"fruit": 1, "music": 2}, "a dict")):
        for call in (classifier(peers).fit, classifier(peers).partial_fit, fitted.fit, fitted.partial_fit):
            refuses(ValueError, words, call, texts, y)
    refuses(ValueError, "classes", classifier(peers).partial_fit, texts, labels, classes="fruit")
    refuses(ValueError, "classes[1]", classifier(peers).partial_fit, texts, labels, classes=["fruit", None])
    equal(list(fitted.predict(texts)), labels)
    equal(names(peers), held, "models that a refused call has left behind")


def test_documents_with_values(peers):
    rows = [{"values": {"sky": "blue"}}, {"values": {"sky": "grey"}}, {"values": {"sky": "grey"}}]
    fitted = classifier(peers, settings={**BOOK, "fields": {"sky": "category"}}).fit(rows, ["dry", "wet", "wet"])
    equal(list(fitted.predict(rows)), ["dry", "wet", "wet"])


def test_in_a_pipeline_and_a_grid_search(peers):
    texts, labels = examples(peers)
    before = names(peers)
    pipeline = make_pipeline(FunctionTransformer(lambda texts: [t.upper() for t in texts]), classifier(peers))
    grid = {"bayesdclassifier__settings": [{**BOOK, "smoothing": s} for s in (.01, 1.0, 30.0)]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(texts, labels)
    theirs = GridSearchCV(make_pipeline(CountVectorizer(), MultinomialNB()),
                          {"multinomialnb__alpha": [.01, 1.0, 30.0]}, cv=3, scoring="neg_log_loss").fit(texts, labels)
    holds(not numpy.isnan(search.cv_results_["mean_test_score"]).any(), "every fold has a figure")
    close(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    equal(search.best_params_["bayesdclassifier__settings"]["smoothing"],
          theirs.best_params_["multinomialnb__alpha"])
    close(search.predict_proba(texts), theirs.predict_proba(texts))
    equal(len(names(peers) - before), 1, "the models of the folds are deleted")
    del search
    equal(names(peers), before)


def test_cross_validation_in_processes(peers):
    texts, labels = examples(peers)
    theirs = make_pipeline(CountVectorizer(), MultinomialNB())
    equal(list(cross_val_score(classifier(peers), texts, labels, cv=3, n_jobs=2)),
          list(cross_val_score(theirs, texts, labels, cv=3)))
    close(cross_val_predict(classifier(peers), texts, labels, cv=3, method="predict_proba"),
          cross_val_predict(theirs, texts, labels, cv=3, method="predict_proba"))


def test_parameters_clones_and_copies(peers):
    texts, labels = examples(peers)
    fitted = classifier(peers).fit(texts, labels)
    equal(sorted(fitted.get_params()), ["model", "settings", "timeout", "token", "url"])
    equal(fitted.set_params(timeout=20.0).get_params()["timeout"], 20.0)
    try:
        clone(fitted).predict(texts)
        raise AssertionError("a clone is not fitted")
    except NotFittedError:
        pass
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        holds(other.model_ != fitted.model_, "a model of its own")
        close(other.predict_proba(texts), fitted.predict_proba(texts))
        other.partial_fit(texts[:9], labels[:9])
    first = fitted.model_
    fitted.fit(texts, labels)
    holds(first not in names(peers) and fitted.model_ in names(peers), "fit leaves one model")


def test_a_model_with_a_name(peers):
    texts, labels = examples(peers)
    name = peers.api.name()
    close(classifier(peers, model=name).fit(texts, labels).predict_proba(texts[:1]).sum(), 1.0)
    holds(name in names(peers), "it stays")
    again = classifier(peers, model=name).partial_fit(["new words"], ["news"])
    equal(list(again.classes_), ["fruit", "music", "news", "trade"])
    equal(Bayesd(peers.api.daemon.url).model(name)["documents"], len(texts) + 1)
    equal(list(classifier(peers, model=name).fit(texts[:9], ["a"] * 9).classes_), ["a"], "fit begins anew")
    equal(Bayesd(peers.api.daemon.url).model(name)["documents"], 9)


def test_the_code_on_the_page_runs(peers):
    with open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "clients", "README.md"), encoding="utf-8") as file:
        code = re.findall(r"^```python\n(from bayesd_sklearn.*?)^```$", file.read(), re.M | re.S)[0]
    peers.api.get("/healthz").ok()
    texts, labels = examples(peers)
    known = {"texts": texts, "labels": labels}
    exec(code.replace("http://127.0.0.1:8763", peers.api.daemon.url), known)  # pylint: disable=exec-used
    equal(known["search"].predict_proba(["apple"]).shape, (1, 3))


def test_what_cannot_be_learned_is_an_error(peers):
    for X, y, wrong in ((["a"], ["x", "y"], ValueError), (["a", "b"], [1, 1.5], None), (["a"], [""], Problem),
                        ([{"no": "text"}], ["x"], Problem)):
        try:
            classifier(peers).fit(X, y)
            holds(wrong is None, f"{X} {y} is learned")
        except (ValueError, Problem) as error:
            equal(type(error), wrong)
