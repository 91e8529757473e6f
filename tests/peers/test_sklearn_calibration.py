# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's CalibratedClassifierCV on the log-odds that its MultinomialNB leaves out one document for."""
import warnings

import numpy
from scipy.special import logsumexp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import LeaveOneOut
from sklearn.naive_bayes import MultinomialNB

from harness import holds, wait_for

WORDS = "apple pear plum cherry quince medlar fig grape lemon melon".split()
# The sigmoid is found by BFGS there, which stops at a gradient of 10^-5; the isotonic function is exact.
TOLERANCE = {"platt": ("sigmoid", 2e-4), "isotonic": ("isotonic", 1e-9)}


class Odds(MultinomialNB):
    """Naive Bayes whose decision function is each label's log-odds against all others."""

    def decision_function(self, X):
        scores = self.predict_joint_log_proba(X)
        if scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return numpy.column_stack([scores[:, k] - logsumexp(numpy.delete(scores, k, axis=1), axis=1)
                                   for k in range(scores.shape[1])])


def bags(peers, labels, count):
    """Every word is in documents of every label, so that leaving one out leaves the vocabulary."""
    rnd = peers.random
    for n in range(count):
        label = labels[n % len(labels)]
        favourites = WORDS[labels.index(label)::len(labels)]
        drawn = [rnd.choice(favourites if rnd.random() < 0.35 else WORDS) for _ in range(rnd.randint(2, 6))]
        yield drawn * 3, label  # words that repeat each other


def compare(peers, labels, method):
    name, tolerance = TOLERANCE[method]
    drawn = list(bags(peers, labels, 90))
    inputs = numpy.array([[bag.count(word) for word in WORDS] for bag, _ in drawn])
    documents = [({"text": " ".join(bag)}, label) for bag, label in drawn]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = CalibratedClassifierCV(Odds(), method=name, cv=LeaveOneOut(), ensemble=False).fit(
            inputs, [label for _, label in documents])
    theirs = fitted.predict_proba(inputs)
    with peers.model({"text": "text"}) as model:
        model.train(documents)
        model.put(calibration=method, fields={"text": "text"})
        wait_for(lambda: model.verdicts(documents[:1])[0]["calibrated"], "calibrated")
        for (values, _), got, row in zip(documents, model.verdicts(documents), theirs):
            for label, p in zip(fitted.classes_, row):
                ours = got["probabilities"][label]
                holds(abs(ours - p) <= tolerance, f"{method}: P({label}) of {values} is {ours!r}, there {p!r}")


def test_sigmoid_of_two_labels(peers):
    compare(peers, ["one", "two"], "platt")


def test_sigmoid_of_three_labels(peers):
    compare(peers, ["one", "three", "two"], "platt")


def test_isotonic_of_two_labels(peers):
    compare(peers, ["one", "two"], "isotonic")


def test_isotonic_of_three_labels(peers):
    compare(peers, ["one", "three", "two"], "isotonic")
