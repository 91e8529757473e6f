# SPDX-License-Identifier: Apache-2.0
"""Tenfold cross-validation of models of bayesd on data sets of Weka."""
import random

FOLDS = 10


def folds(data, rnd):
    """[(train, test)], each label spread evenly."""
    by_label = {}
    for row in data.rows:
        by_label.setdefault(row[data.class_index], []).append(row)
    order = []
    for rows in by_label.values():
        rnd.shuffle(rows)
        order += rows
    for k in range(FOLDS):
        test = order[k::FOLDS]
        yield data.of_rows([row for n, row in enumerate(order) if n % FOLDS != k]), data.of_rows(test)


def right(distributions, test):
    labels = [label for _, label in test.documents()]
    return sum(max(sorted(d), key=d.get) == label for d, label in zip(distributions, labels))


def mixed(data):
    """The documents in an order of chance: that of the folds has label after label."""
    documents = list(data.documents())
    random.Random(len(documents)).shuffle(documents)
    return documents


def stacked(peers, train, test, documents, **settings):
    with peers.model(train.fields(), decision="stacked", **settings) as model:
        model.train(documents)
        return right([got["probabilities"] for got in model.verdicts(test.documents())], test)
