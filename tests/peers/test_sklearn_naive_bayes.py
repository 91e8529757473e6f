# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's CategoricalNB, BernoulliNB, MultinomialNB and GaussianNB, of categories, sets, texts and numbers."""
import numpy
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

WORDS = "apple pear plum cherry quince medlar fig grape lemon melon".split()
# What is added to each count.
SMOOTHING = (1.0, 0.5, 0.01, 2.5)


def judged(method, inputs, labels):
    """[{label: probability}] of the inputs that it was fitted to."""
    fitted = method.fit(inputs, labels)
    return [dict(zip(fitted.classes_, row)) for row in fitted.predict_proba(inputs)]


def compare(peers, method, inputs, documents, fields, **settings):
    """`inputs` of scikit-learn and `documents` of bayesd, [({field: value}, label)], are the same ones."""
    labels = [label for _, label in documents]
    with peers.model(fields) as model:
        model.train(documents)
        for alpha in SMOOTHING:
            model.put(smoothing=alpha, **settings)
            theirs = judged(method(alpha=alpha), inputs, labels)
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


def gaussian(peers, data):
    """The numbers of a data set; learned and asked."""
    numbers = [name for name, values in data.attributes if values is None]
    documents = [({name: values[name] for name in numbers}, v) for values, v in data.complete().documents()]
    inputs = numpy.array([[values[name] for name in numbers] for values, _ in documents])
    labels = [label for _, label in documents]
    theirs = judged(GaussianNB(), inputs, labels)
    with peers.model({name: "number" for name in numbers}) as model:
        model.train(documents)
        peers.equal_distributions(model.probabilities(documents), theirs, sorted(set(labels)), data)


def test_numbers_of_iris(peers):
    gaussian(peers, peers.weka_data("iris"))


def test_numbers_of_diabetes(peers):
    gaussian(peers, peers.weka_data("diabetes"))


def test_numbers_of_glass(peers):
    gaussian(peers, peers.weka_data("glass"))


def test_numbers_of_ionosphere(peers):
    """A field has one number in all rows, and another in all rows of a label: variance is what is added to it."""
    gaussian(peers, peers.weka_data("ionosphere"))


def test_numbers_of_segments(peers):
    gaussian(peers, peers.weka_data("segment-challenge"))


def test_numbers_of_weather(peers):
    gaussian(peers, peers.weka_data("weather.numeric"))


def test_numbers_of_credit(peers):
    gaussian(peers, peers.weka_data("credit-g"))
