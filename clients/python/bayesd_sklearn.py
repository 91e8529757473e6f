# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn classifier whose learning is done by bayesd. Needs scikit-learn and bayesd.py beside this file.

    from bayesd_sklearn import BayesdClassifier

    classifier = BayesdClassifier("http://127.0.0.1:8763", settings={"preset": "book"})
    classifier.fit(texts, labels)
    classifier.predict_proba(["buy pills"])

X is a sequence (list, 1-D array) of documents as bayesd.py has them: texts, raw mails as bytes, or document
objects such as {"values": {"country": "DE"}}. Each row is an example of its own: equal rows count as often
as they are there. y has classes of any kind; in the daemon a class is the label str(class).
"""
import uuid
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

import numpy
from bayesd import Bayesd, Document, Json, Problem, _document
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import]

__all__ = ["BayesdClassifier"]


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

    def fit(self, X: Sequence[Document], y: Sequence[Any]) -> "BayesdClassifier":
        """Learns these documents and no others."""
        self._begin()
        with self._daemon() as daemon:
            if self.model is not None:
                self._drop(daemon)
            daemon.put_model(self.model_, self.settings, only_new=True)
            self.classes_ = numpy.array([])
            return self._learn(daemon, X, y, None)

    def partial_fit(self, X: Sequence[Document], y: Sequence[Any],
                    classes: Optional[Sequence[Any]] = None) -> "BayesdClassifier":
        """Learns these documents too. `classes`: all that may come; without them classes_ grows as they come."""
        with self._daemon() as daemon:
            if not self.__sklearn_is_fitted__():
                self._begin()
                if not self._exists(daemon):
                    daemon.put_model(self.model_, self.settings)
                self.classes_ = numpy.array(sorted(daemon.model(self.model_)["labels"]))
            return self._learn(daemon, X, y, classes)

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
               classes: Optional[Sequence[Any]]) -> "BayesdClassifier":
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} documents and y has {len(y)} classes")
        known = [*self.classes_, *y, *([] if classes is None else classes)]
        self.classes_ = numpy.unique(numpy.asarray(known))
        if len({str(c) for c in self.classes_}) < len(self.classes_):
            raise ValueError("two classes have the same str(), which is their label in the daemon")
        rows = (_document(document, label=str(c), id=f"{self._ids}-{n}")
                for n, (document, c) in enumerate(zip(X, numpy.asarray(y)), self._learned))
        self._learned += len(X)
        for _ in _good(daemon.train_stream(self.model_, rows)):
            pass
        return self

    # -- asking

    def predict(self, X: Sequence[Document]) -> Any:
        """The class of each document."""
        columns = self._columns()
        return self.classes_[[columns[verdict["label"]] for verdict in self._verdicts(X)]]

    def predict_proba(self, X: Sequence[Document]) -> Any:
        """The probability of each class, in the order of classes_, a row for each document."""
        columns = self._columns()
        told = numpy.zeros((len(X), len(columns)))
        for row, verdict in zip(told, self._verdicts(X)):
            for label, probability in verdict["probabilities"].items():
                row[columns[label]] = probability
        return told

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
