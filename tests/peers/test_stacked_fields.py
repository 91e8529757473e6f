# SPDX-License-Identifier: Apache-2.0
"""The stack over fields beside the book, on Weka's data sets: it learns what each field is worth, and loses nothing."""
import random

from folds import folds, mixed, right, stacked
from harness import holds

# Rows of one fold are few, so that a point or two are chance.
DATA = {"iris": 3, "vote": 0, "breast-cancer": 3, "glass": 2, "ionosphere": 0, "soybean": 1}


def test_tenfold_accuracy(peers):
    for name, points in DATA.items():
        data, book, stack = peers.weka_data(name), 0, 0
        for train, test in folds(data, random.Random(7)):
            documents = mixed(train)
            with peers.model(train.fields()) as model:
                model.train(documents)
                book += right(model.probabilities(test.documents()), test)
            stack += stacked(peers, train, test, documents)
        rows = len(data.rows)
        holds(stack >= book - rows * points / 100, f"{name}: {stack} of {rows} right, by the book {book}")
        print(f"{name}: by the book {100 * book / rows:.1f} % right, stacked {100 * stack / rows:.1f}")
