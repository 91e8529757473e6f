# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn classifier whose learning is done by bayesd. Needs scikit-learn and bayesd.py beside this file.

    from bayesd_sklearn import BayesdClassifier

    classifier = BayesdClassifier("http://127.0.0.1:8763", settings={"preset": "book"})
    classifier.fit(texts, labels)
    classifier.predict_proba(["buy pills"])

X is a sequence (list, 1-D array) of documents as bayesd.py has them: texts, raw mails as bytes, or document
objects such as {"values": {"country": "DE"}}. Each row is an example of its own: equal rows count as often
as they are there; sample_weight says so with whole numbers. Matrices (of a vectorizer) are refused. y has one
class for each document, of any kind; in the daemon a class is the label str(class).

With settings={"label_set": "several"} a document has any number of classes: y has a list of them for each, as
MultiLabelBinarizer takes it, predict gives such lists, and predict_proba the probability of each class by itself. The
splits of scikit-learn that look at y refuse lists: cross-validate with cv=KFold(5).
"""
import numbers
import uuid
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

import numpy
from bayesd import Bayesd, Document, Json, Problem, _document
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import]

__all__ = ["BayesdClassifier"]
_WEIGHT_MOST = 10000  # times that one document may be learned


def _delete(daemon: Bayesd, name: str) -> None:
    """Deletes a model that nobody needs any more, if it is there and can be reached."""
    try:
        daemon.delete_model(name)
    except (Problem, OSError):
        pass
    finally:
        daemon.close()


def _good(replies: Iterator[Json]) -> Iterator[Json]:
    for reply in replies:
        if "error" in reply:
            raise Problem.in_line(reply["error"])
        yield reply


# -- what is taken, and what is refused by what it is

def _kind(values: Any) -> str:
    """What something is that is no sequence of single things; "" for what may be one."""
    if isinstance(values, str):
        return "a string, and not a list of them"
    if isinstance(values, (bytes, bytearray)):
        return "bytes, and not a list of them"
    if hasattr(values, "tocsr"):
        return "a sparse matrix"
    if isinstance(values, Mapping):
        return "a dict, and not a list of them"
    if isinstance(values, (set, frozenset)):
        return "a set, which has no order"
    dimensions = getattr(values, "ndim", 1)
    if dimensions != 1:
        shape = " x ".join(str(n) for n in getattr(values, "shape", ()))
        return f"an array of {dimensions} dimensions ({shape})" if shape else "a single value"
    if not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        return f"a {type(values).__name__}, which has no length: list(...) makes a list of it"
    return ""


def _check_documents(X: Any) -> None:
    kind = _kind(X)
    if "matrix" in kind or "dimensions" in kind:
        raise TypeError(f"X is {kind}: BayesdClassifier takes the documents themselves, in a list or a 1-D array, and "
                        "counts their words itself; leave the vectorizer out, or take one column of the table")
    if kind:
        raise TypeError(f"X is {kind}: a list or a 1-D array of documents is needed")
    for n, document in enumerate(X):
        if not isinstance(document, (str, bytes, bytearray, Mapping)):
            raise TypeError(f"X[{n}] is a {type(document).__name__}: a document is a text, bytes (a raw mail) or a dict")


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for them, which equals not even itself."""
    if value is None:
        return True
    try:
        return bool(value != value)  # pylint: disable=comparison-with-itself
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _check_classes(y: Any, name: str = "y") -> None:
    kind = _kind(y)
    if kind:
        raise ValueError(f"{name} is {kind}: a list or a 1-D array with one class for each document is needed")
    strings = None
    for n, value in enumerate(y):
        if isinstance(value, (list, tuple, set, frozenset, Mapping)) or getattr(value, "ndim", 0) > 0:
            raise ValueError(f"{name}[{n}] is a {type(value).__name__}: {name} has two dimensions, and one class for "
                             "each document is needed (several of them need settings={{'label_set': 'several'}})")
        if _is_missing(value):
            raise ValueError(f"{name}[{n}] is {value}: every document needs a class; leave out those without one")
        is_string = isinstance(value, str)
        if strings is not None and is_string != strings:
            raise ValueError(f"{name} mixes strings and other classes ({name}[{n}] is {value!r}): make all of them "
                             "strings")
        strings = is_string


def _check_class_lists(y: Any) -> None:
    kind = _kind(y)
    if kind:
        raise ValueError(f"y is {kind}: a list with a list of classes for each document is needed")
    for n, classes in enumerate(y):
        if not isinstance(classes, (set, frozenset)) and _kind(classes):
            raise ValueError(f"y[{n}] is {_kind(classes)}: with several labels every document needs a list of classes; [] "
                             "says that it has none")
        _check_classes(list(classes), f"y[{n}]")
    _check_classes([c for classes in y for c in classes], "y")


def _times(sample_weight: Any, count: int) -> List[int]:
    """How many times each document is learned. The daemon counts documents: half a document there is none."""
    if sample_weight is None:
        return [1] * count
    kind = _kind(sample_weight)
    if kind:
        raise ValueError(f"sample_weight is {kind}: a list or a 1-D array with a number for each document is needed")
    if len(sample_weight) != count:
        raise ValueError(f"sample_weight has {len(sample_weight)} numbers and X has {count} documents")
    for n, weight in enumerate(sample_weight):
        is_number = isinstance(weight, (numbers.Real, numpy.bool_))
        if not is_number or not 0 <= float(weight) <= _WEIGHT_MOST or weight != int(weight):
            raise ValueError(f"sample_weight[{n}] is {weight!r}: a document is learned a whole number of times, from 0 to "
                             f"{_WEIGHT_MOST}; other weights are not supported")
    return [int(weight) for weight in sample_weight]


class BayesdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a model of a daemon.

    url, token, timeout: of the daemon, as for Bayesd.
    model: the model's name; fit replaces it, partial_fit goes on with it (its labels are classes that are strings),
    and it stays. None: fit makes one with
    a name of its own (`model_`), which is deleted when the classifier is garbage or is fitted anew. Only this goes
    with GridSearchCV and whatever else fits copies side by side. A pickled or copied classifier holds the whole
    model, and puts it back into the daemon under a new name.
    settings: of the model, as PUT /v1/models/{model} takes them; {"preset": "mail"} for raw mails.
    """

    def __init__(self, url: str = "http://127.0.0.1:8763", *, token: Optional[str] = None,
                 timeout: Optional[float] = 60.0, model: Optional[str] = None,
                 settings: Optional[Mapping[str, Any]] = None) -> None:
        self.url, self.token, self.timeout = url, token, timeout
        self.model, self.settings = model, settings

    # -- learning

    def fit(self, X: Sequence[Document], y: Sequence[Any],
            sample_weight: Optional[Sequence[int]] = None) -> "BayesdClassifier":
        """Learns these documents and no others, each as often as its weight says, a whole number."""
        times = self._check(X, y, sample_weight)
        self._begin()
        with self._daemon() as daemon:
            if self.model is not None:
                self._drop(daemon)
            daemon.put_model(self.model_, self.settings, only_new=True)
            self.classes_ = numpy.array([])
            return self._learn(daemon, X, y, None, times)

    def partial_fit(self, X: Sequence[Document], y: Sequence[Any],
                    classes: Optional[Sequence[Any]] = None,
                    sample_weight: Optional[Sequence[int]] = None) -> "BayesdClassifier":
        """Learns these documents too. `classes`: all that may come; without them classes_ grows as they come."""
        times = self._check(X, y, sample_weight)
        if classes is not None:
            _check_classes(classes, "classes")
        with self._daemon() as daemon:
            if not self.__sklearn_is_fitted__():
                self._begin()
                if not self._exists(daemon):
                    daemon.put_model(self.model_, self.settings)
                self.classes_ = numpy.array(sorted(daemon.model(self.model_)["labels"]))
            return self._learn(daemon, X, y, classes, times)

    def _is_several(self) -> bool:
        return (self.settings or {}).get("label_set") == "several"

    def _check(self, X: Any, y: Any, sample_weight: Any) -> List[int]:
        """Before anything is changed in the daemon. Returns how often each document is learned."""
        _check_documents(X)
        if self._is_several():
            _check_class_lists(y)
        else:
            _check_classes(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} documents and y has {len(y)} classes")
        return _times(sample_weight, len(X))

    def _begin(self) -> None:
        self.model_ = self.model if self.model is not None else f"sklearn-{uuid.uuid4().hex}"
        self._ids, self._learned = uuid.uuid4().hex, 0
        self._own()

    def _own(self) -> None:
        """Ties a model without a given name to the life of this object; deletes the one before."""
        if getattr(self, "_finalizer", None) is not None:
            self._finalizer()
        self._finalizer: Any = None
        if self.model is None:
            self._finalizer = weakref.finalize(self, _delete, self._daemon(), self.model_)

    def _learn(self, daemon: Bayesd, X: Sequence[Document], y: Sequence[Any],
               classes: Optional[Sequence[Any]], times: Sequence[int]) -> "BayesdClassifier":
        is_several = self._is_several()
        came = [c for some in y for c in some] if is_several else y
        known = [*self.classes_, *came, *([] if classes is None else classes)]
        self.classes_ = numpy.unique(numpy.asarray(known))
        if len({str(c) for c in self.classes_}) < len(self.classes_):
            raise ValueError("two classes have the same str(), which is their label in the daemon")
        kind = self.classes_.dtype  # of a label that is a number: as it is written in classes_
        learned: List[Json] = [{"labels": [str(c) for c in numpy.asarray(list(some), kind)]} for some in y] \
            if is_several else [{"label": str(c)} for c in numpy.asarray(y)]
        repeated = ((document, own) for document, own, often in zip(X, learned, times) for _ in range(often))
        rows = (_document(document, **own, id=f"{self._ids}-{n}")
                for n, (document, own) in enumerate(repeated, self._learned))
        self._learned += sum(times)
        for _ in _good(daemon.train_stream(self.model_, rows)):
            pass
        return self

    # -- asking

    def predict(self, X: Sequence[Document]) -> Any:
        """The class of each document; of several labels a list of lists."""
        columns = self._columns()
        _check_documents(X)
        if self._is_several():
            given = [sorted(columns[label] for label in verdict["labels"]) for verdict in self._verdicts(X)]
            return [self.classes_[some].tolist() for some in given]
        return self.classes_[[columns[verdict["label"]] for verdict in self._verdicts(X)]]

    def predict_proba(self, X: Sequence[Document]) -> Any:
        """The probability of each class, in the order of classes_, a row for each document."""
        columns = self._columns()
        _check_documents(X)
        told = numpy.zeros((len(X), len(columns)))
        for row, verdict in zip(told, self._verdicts(X)):
            for label, probability in verdict["probabilities"].items():
                row[columns[label]] = probability
        return told

    def predict_log_proba(self, X: Sequence[Document]) -> Any:
        """Their natural logarithms; of an impossible class it is -inf."""
        with numpy.errstate(divide="ignore"):
            return numpy.log(self.predict_proba(X))

    def score(self, X: Sequence[Document], y: Sequence[Any], sample_weight: Optional[Sequence[float]] = None) -> float:
        """The share of the documents that are given their class; of several labels: exactly their classes."""
        if not self._is_several():
            return float(super().score(X, y, sample_weight))
        _check_class_lists(y)
        hits = [set(given) == set(some) for given, some in zip(self.predict(X), y)]
        return float(numpy.average(hits, weights=sample_weight))

    def _columns(self) -> Dict[str, int]:
        check_is_fitted(self)
        return {str(c): n for n, c in enumerate(self.classes_)}

    def _verdicts(self, X: Sequence[Document]) -> List[Json]:
        if len(X) == 0:
            return []
        with self._daemon() as daemon:
            return list(_good(daemon.classify_stream(self.model_, X)))

    # -- the model in the daemon

    def _daemon(self) -> Bayesd:
        return Bayesd(self.url, token=self.token, timeout=self.timeout)

    def _exists(self, daemon: Bayesd) -> bool:
        try:
            daemon.model(self.model_)
        except Problem as problem:
            if problem.status != 404:
                raise
            return False
        return True

    def _drop(self, daemon: Bayesd) -> None:
        if self._exists(daemon):
            daemon.delete_model(self.model_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __getstate__(self) -> Dict[str, Any]:
        state: Dict[str, Any] = super().__getstate__()
        state = {name: value for name, value in state.items() if name != "_finalizer"}
        if self.__sklearn_is_fitted__() and self.model is None:
            state["_dump"] = b"".join(self._daemon().export(self.model_))
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        dump = state.pop("_dump", None)
        super().__setstate__(state)
        if dump is not None:
            self.model_ = f"sklearn-{uuid.uuid4().hex}"
            with self._daemon() as daemon:
                daemon.import_model(self.model_, [dump])
            self._own()

    def _more_tags(self) -> Dict[str, Any]:
        return {"X_types": ["string"], "no_validation": True}
