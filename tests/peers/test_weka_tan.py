# SPDX-License-Identifier: Apache-2.0
"""Weka's BayesNet with TAN, learned by its likelihood (score ENTROPY), and its SimpleEstimator.

Both take the spanning tree of largest conditional mutual information. Weka puts the mode of an
attribute in the place of its missing values; so does this file, for both. Where Weka's root lies follows from
rounding; bayesd's is the first field, so Weka's root is named first. Estimates are (n + .5) / (N + .5 values) on both
sides, also for the label: `prior` weighs each label N_c + .5. Of declared values that no document has a label of
their own learns, as in test_weka_naive_bayes. Numbers are cut into bins by bayesd; Weka, which cuts elsewhere, is given
the bins as values.
"""
import re
from collections import Counter
from fractions import Fraction

import attributes
from arff import Data
from peers import equal, holds, information, label_weights

TAN = ("weka.classifiers.bayes.BayesNet", "-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN", "--", "-S",
       "ENTROPY", "-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5")


def filled(data):
    """With each attribute's most frequent value, the first declared one of several, where it is missing."""
    modes = []
    for n, (_, values) in enumerate(data.attributes):
        counts = Counter(row[n] for row in data.rows if row[n] is not None)
        modes.append(max(values, key=lambda v: counts[v]))
    return data.of_rows([[modes[n] if v is None else v for n, v in enumerate(row)] for row in data.rows])


def weight(data, parents):
    """What a tree {name: parent's name} tells."""
    index = {name: n for n, (name, _) in enumerate(data.attributes)}
    return sum(information([(row[data.class_index], row[index[child]], row[index[parent]]) for row in data.rows])
               for child, parent in parents.items())


def parents_of_weka(data, weka):
    """{name: parent's name}, and the root's name."""
    names = [name for name, _ in data.attributes]
    trees = {names[n]: [names[p] for p in parents if p != data.class_index]
             for n, parents in weka.parents.items() if n != data.class_index}
    return {n: p[0] for n, p in trees.items() if p}, [n for n, p in trees.items() if not p]


def parents_of(model, values):
    """{name: parent's name}, as the explanation of a document with all values tells."""
    rows = model.verdicts([(values, None)], "?explain=1000")[0]["explanation"]
    found = (re.fullmatch(r"(.*?)=.* given (.*?)=.*", row["token"] or "") for row in rows)
    return {match[1]: match[2] for match in found if match}


def compare(peers, data, has_ties=False):
    data = filled(data)
    weka = peers.weka(TAN[0], data, data, *TAN[1:])
    theirs, roots = parents_of_weka(data, weka)
    equal(len(roots), 1, f"roots of Weka's tree of {data}")
    fields = {roots[0]: "category", **data.fields()}
    with peers.model(fields, structure="tan", smoothing=0.5, prior=label_weights(data, 0.5)) as model:
        model.train_as_declared(data)
        ours = parents_of(model, data.documents()[0][0])
        holds(abs(weight(data, ours) - weight(data, theirs)) < 1e-6, f"{data}: {ours}, theirs {theirs}")
        if has_ties: # the trees tell as much, and differ
            holds(ours != theirs, f"{data}: there are no ties")
            return
        equal(ours, theirs, data)
        peers.equal_distributions(model.probabilities(data.documents()), weka.distributions, data.labels(), data)


def cut(data):
    """The data with bins in the place of numbers (core/bayes/bins.h), each bin a value."""
    declared, columns = list(data.attributes), {}
    for n in data.inputs():
        if data.attributes[n][1] is not None:
            continue
        numbers = {label: [Fraction(row[n]) for row in data.rows if row[data.class_index] == label] for label in data.labels()}
        bins = attributes.cut({label: own for label, own in numbers.items() if own})
        columns[n] = bins
        declared[n] = (data.attributes[n][0], [f"bin {at}" for at in range(len(bins))])
    rows = [[f"bin {attributes.bin_of(columns[n], Fraction(v))}" if n in columns else v for n, v in enumerate(row)] for row in data.rows]
    binned = Data(declared, rows, data.name)
    binned.class_index = data.class_index
    return binned


def compare_numbers(peers, data):
    """bayesd with the numbers, Weka with their bins."""
    data = data.of_rows([row for row in data.rows if None not in row])
    binned = cut(data)
    weka = peers.weka(TAN[0], binned, binned, *TAN[1:])
    theirs, roots = parents_of_weka(binned, weka)
    first, kinds = roots[0], data.fields()
    with peers.model({first: kinds[first], **kinds}, structure="tan", number="bins", smoothing=0.5,
                     prior=label_weights(data, 0.5)) as model:
        model.train(data.documents())
        ours = parents_of(model, data.documents()[0][0])
        holds(abs(weight(binned, ours) - weight(binned, theirs)) < 1e-6, f"{data}: {ours}, theirs {theirs}")
        equal(ours, theirs, data)
        peers.equal_distributions(model.probabilities(data.documents()), weka.distributions, data.labels(), data)


def test_iris_in_bins(peers):
    compare_numbers(peers, peers.weka_data("iris"))


def test_diabetes_in_bins(peers):
    compare_numbers(peers, peers.weka_data("diabetes"))


def test_weather(peers):
    compare(peers, peers.weka_data("weather.nominal"))


def test_contact_lenses(peers):
    compare(peers, peers.weka_data("contact-lenses"))


def test_vote(peers):
    compare(peers, peers.weka_data("vote"))


def test_breast_cancer(peers):
    compare(peers, peers.weka_data("breast-cancer"))


def test_soybean(peers):
    """Three attributes follow from the label: each parent tells as much of them, nothing."""
    data = peers.weka_data("soybean")
    compare(peers, data, True)
    compare(peers, data.without(("leaf-mild", "int-discolor", "sclerotia")))
