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
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

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
