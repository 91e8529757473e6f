# SPDX-License-Identifier: Apache-2.0
"""Weka's NaiveBayes over nominal attributes, with and without missing values.

Its class prior is (N_c + 1) / (N + labels), so each label's weight is N_c + 1. Its domains are those declared:
values that no document has are taught with a label of their own, whose score is left out. Labels are divided
by the same sum then, whatever that label weighs.
"""
from peers import label_weights

NAIVE_BAYES = "weka.classifiers.bayes.NaiveBayes"


def compare(peers, data, test=None):
    test = test or data
    theirs = peers.weka(NAIVE_BAYES, data, test).distributions
    with peers.model(data.fields(), prior=label_weights(data, 1)) as model:
        model.train_as_declared(data)
        ours = model.probabilities(test.documents())
    peers.equal_distributions(ours, theirs, data.labels(), data)


def halves(peers, data):
    """Learned and asked documents are not the same ones."""
    rows = list(data.rows)
    peers.random.shuffle(rows)
    return data.of_rows(rows[::2]), data.of_rows(rows[1::2])


def test_weather(peers):
    compare(peers, peers.weka_data("weather.nominal"))


def test_contact_lenses(peers):
    compare(peers, peers.weka_data("contact-lenses"))


def test_vote(peers):
    compare(peers, *halves(peers, peers.weka_data("vote")))


def test_soybean(peers):
    """19 labels; most rows lack values."""
    compare(peers, *halves(peers, peers.weka_data("soybean")))


def test_breast_cancer(peers):
    """Some declared values are in no row."""
    compare(peers, *halves(peers, peers.weka_data("breast-cancer")))


def test_supermarket(peers):
    """216 attributes with one value each, which most rows lack."""
    compare(peers, *halves(peers, peers.weka_data("supermarket")))
