# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's CategoricalNB, BernoulliNB and MultinomialNB, of categories, sets and texts."""
import numpy
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

WORDS = "apple pear plum cherry quince medlar fig grape lemon melon".split()
# What is added to each count.
SMOOTHING = (1.0, 0.5, 0.01, 2.5)


def compare(peers, method, inputs, documents, fields, **settings):
    """`inputs` of scikit-learn and `documents` of bayesd, [({field: value}, label)], are the same ones."""
    labels = [label for _, label in documents]
    with peers.model(fields) as model:
        model.train(documents)
        for alpha in SMOOTHING:
            model.put(smoothing=alpha, **settings)
            fitted = method(alpha=alpha).fit(inputs, labels)
            theirs = [dict(zip(fitted.classes_, row)) for row in fitted.predict_proba(inputs)]
            peers.equal_distributions(model.probabilities(documents), theirs, sorted(set(labels)), (method, alpha))


def categorical(peers, data):
    data = data.complete()
    codes = [{v: n for n, v in enumerate(sorted({row[i] for row in data.rows}))} for i in data.inputs()]
    inputs = [[code[row[i]] for code, i in zip(codes, data.inputs())] for row in data.rows]
    compare(peers, CategoricalNB, inputs, data.documents(), data.fields())


def test_categories_of_weather(peers):
    categorical(peers, peers.weka_data("weather.nominal"))


def test_categories_of_soybean(peers):
    categorical(peers, peers.weka_data("soybean"))


def test_categories_of_votes(peers):
    categorical(peers, peers.weka_data("vote"))


def random_documents(peers, field, draw):
    """Each word is in at least one document, so that both know the same words."""
    bags = [[word] for word in WORDS] + [draw() for _ in range(90)]
    documents = [({field: bag}, peers.random.choice(["one", "two", "two", "three"])) for bag in bags]
    return [[bag.count(word) for word in WORDS] for bag in bags], documents


def test_sets(peers):
    def draw():
        return peers.random.sample(WORDS, peers.random.randrange(6))
    inputs, documents = random_documents(peers, "fruit", draw)
    compare(peers, BernoulliNB, numpy.array(inputs), documents, {"fruit": "set"})


def test_texts(peers):
    def draw():
        return [peers.random.choice(WORDS) for _ in range(peers.random.randrange(1, 12))]
    inputs, documents = random_documents(peers, "text", draw)
    texts = [({"text": " ".join(values["text"])}, label) for values, label in documents]
    compare(peers, MultinomialNB, numpy.array(inputs), texts, {"text": "text"})
