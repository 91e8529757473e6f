# SPDX-License-Identifier: Apache-2.0
"""A client of bayesd, the text classifier, in one file: Python 3.9 or newer, no other package.

    from bayesd import Bayesd, Problem

    with Bayesd("http://127.0.0.1:8763", token="...") as daemon:
        daemon.train("mail", "cheap pills", label="spam", id="note-1")
        verdict = daemon.classify("mail", "buy pills", explain=5)
        print(verdict["label"], verdict["probability"], verdict["explanation"])

A document is a string (a text), bytes (a raw mail), or the document object of the HTTP API as a dict:
{"text": ...}, {"mail_base64": ...}, {"values": {...}}, with "label", "id" and "source" if wanted. Documents of a
model with label_set several have "labels", a list, in place of "label".
Replies are the objects of the HTTP API (GET /openapi.json describes them), as dicts.

What the daemon refuses is raised as Problem, which has its status, title and detail. What keeps a
request from being answered (no daemon, a time-out) is raised as OSError.

A client has one connection, which stays open. It belongs to one thread; make one for each. A train or
untrain that is sent twice counts once, so a request is sent again when the daemon had closed the kept
connection before it answered.
"""
import base64
import http.client
import json
import os
import socket
import ssl
import urllib.parse
from types import TracebackType
from typing import (IO, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Type,
                    Union, cast)

__all__ = ["Bayesd", "Problem", "Document", "Json"]

Json = Dict[str, Any]
Document = Union[str, bytes, Mapping[str, Any]]
_Body = Union[None, bytes, Iterable[bytes]]
_Query = Mapping[str, Union[None, str, int, float, bool, Sequence[float]]]

_JSON = "application/json"
_NDJSON = "application/x-ndjson"
_CHUNK = 1 << 16
# What a connection says that the daemon had closed while it was idle.
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class Problem(Exception):
    """What the daemon answers when it refuses a request (problem+json, RFC 9457).

    status: the HTTP status. title: the kind of error. detail: what was wrong, and what would be right.
    retry_after: seconds after which another attempt may succeed (429, 503); None: none is named.
    """

    def __init__(self, status: int, title: str, detail: str, retry_after: Optional[float] = None) -> None:
        super().__init__(f"{status} {title}: {detail}")
        self.status, self.title, self.detail, self.retry_after = status, title, detail, retry_after

    @classmethod
    def of(cls, status: int, body: bytes, retry_after: Optional[str]) -> "Problem":
        """The problem that a reply tells; of a reply of somebody else (a proxy) its status and text."""
        try:
            told = json.loads(body)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            told = {"detail": body[:500].decode("utf-8", "replace")}
        wait = float(retry_after) if retry_after and retry_after.isdigit() else None
        title = told.get("title", http.client.responses.get(status, ""))
        return cls(status, str(title), str(told.get("detail", "")), wait)

    @classmethod
    def in_line(cls, told: Mapping[str, Any]) -> "Problem":
        """The problem of one document of a batch: the member `error` of its result."""
        return cls(int(told["status"]), str(told["title"]), str(told["detail"]))


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


def _quoted(segment: str) -> str:
    return urllib.parse.quote(segment, safe="")


def _query(query: _Query) -> str:
    """None is left out."""
    given = []
    for name, value in query.items():
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value is not None:
            given.append((name, str(value)))
    return "?" + urllib.parse.urlencode(given) if given else ""


def _document(document: Document, **members: Union[None, str, Sequence[str]]) -> Json:
    """The document object of the API, with the members that are not None."""
    if isinstance(document, str):
        made: Json = {"text": document}
    elif isinstance(document, (bytes, bytearray, memoryview)):
        made = {"mail_base64": base64.b64encode(document).decode("ascii")}
    else:
        made = dict(document)
    made.update((name, value) for name, value in members.items() if value is not None)
    return made


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _lines(documents: Iterable[Document]) -> Iterator[bytes]:
    """NDJSON in pieces of about 64 KiB."""
    piece = bytearray()
    for document in documents:
        piece += _encoded(_document(document)) + b"\n"
        if len(piece) >= _CHUNK:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK), b"")


def _reply_lines(reply: http.client.HTTPResponse) -> Iterator[bytes]:
    """The lines of a reply as they come. The reply's own iterator ends without a word when it is cut off."""
    parts: List[bytes] = []
    piece = reply.read1(_CHUNK)
    while piece:
        whole, end, rest = piece.rpartition(b"\n")
        if end:
            yield from b"".join([*parts, whole, end]).splitlines(keepends=True)
            parts = []
        parts.append(rest)
        piece = reply.read1(_CHUNK)
    if reply.length:
        raise http.client.IncompleteRead(b"", reply.length)
    if any(parts):
        yield b"".join(parts)


class Bayesd:
    """A daemon. Everything that a method's parameters do not say, the HTTP API decides.

    url: http://HOST:PORT, https://HOST:PORT, or unix:/PATH for the daemon's Unix socket.
    token: the access token, or None. timeout: seconds without progress; None: none.
    tls: what to trust and show with https; None: the authorities of this machine.

    after: of a daemon that is one of several, a place in their stream, which it is to have applied before it answers
    (a Problem 503: it has not in time); None: it answers from what it has. Receipts have such places in `number`.
    """

    def __init__(self, url: str = "http://127.0.0.1:8763", *, token: Optional[str] = None,
                 timeout: Optional[float] = 60.0, tls: Optional[ssl.SSLContext] = None) -> None:
        self._url = urllib.parse.urlsplit(url)
        if not (self._url.scheme in ("http", "https") and self._url.hostname) and \
                not (self._url.scheme == "unix" and self._url.path):
            raise ValueError(f"not an address of a daemon: {url!r}; http://HOST:PORT, https://HOST:PORT or unix:/PATH")
        self._timeout, self._tls = timeout, tls
        self._headers = {} if token is None else {"Authorization": "Bearer " + token}
        self._connection: Optional[http.client.HTTPConnection] = None
        self.after: Optional[int] = None

    @classmethod
    def from_environment(cls, *, timeout: Optional[float] = 60.0) -> "Bayesd":
        """The daemon that bayesc would ask: BAYESC_URL, BAYESC_TOKEN_FILE, BAYESC_CA_FILE, BAYESC_CERT, BAYESC_KEY."""
        known = os.environ
        token = tls = None
        if known.get("BAYESC_TOKEN_FILE"):
            with open(known["BAYESC_TOKEN_FILE"], encoding="utf-8") as file:
                token = file.readline().strip()
        url = known.get("BAYESC_URL") or "http://127.0.0.1:8763"
        if url.startswith("https:"):
            tls = ssl.create_default_context(cafile=known.get("BAYESC_CA_FILE") or None)
            if known.get("BAYESC_CERT"):
                tls.load_cert_chain(known["BAYESC_CERT"], known.get("BAYESC_KEY") or None)
        return cls(url, token=token, timeout=timeout, tls=tls)

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> "Bayesd":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # -- requests

    def _open(self) -> http.client.HTTPConnection:
        url = self._url
        if url.scheme == "unix":
            return _UnixConnection(url.path, self._timeout)
        assert url.hostname is not None
        if url.scheme == "https":
            tls = self._tls or ssl.create_default_context()
            return http.client.HTTPSConnection(url.hostname, url.port or 443, timeout=self._timeout, context=tls)
        return http.client.HTTPConnection(url.hostname, url.port or 80, timeout=self._timeout)

    def _send(self, connection: http.client.HTTPConnection, method: str, path: str, body: _Body,
              kind: Optional[str], headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """The head of the reply; raises Problem."""
        sent = {**self._headers, **headers}
        if self.after is not None:
            sent["Bayesd-After"] = str(self.after)
        if kind is not None:
            sent["Content-Type"] = kind
        is_stream = body is not None and not isinstance(body, bytes)
        if is_stream:
            sent["Transfer-Encoding"] = "chunked"
        path = (self._url.path.rstrip("/") if self._url.scheme != "unix" else "") + path
        if connection.sock is None:
            connection.connect()
        try:
            connection.request(method, path, body, sent, encode_chunked=is_stream)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a daemon that refuses a body does not read on, but it may have answered why
        reply = connection.getresponse()
        if reply.status >= 400:
            raise Problem.of(reply.status, reply.read(), reply.getheader("Retry-After"))
        return reply

    def _exchange(self, method: str, path: str, body: Optional[bytes], kind: Optional[str],
                  headers: Mapping[str, str]) -> bytes:
        if self._connection is None:
            self._connection = self._open()
        try:
            return self._send(self._connection, method, path, body, kind, headers).read()
        except Problem:
            raise
        except BaseException:
            self.close()
            raise

    def request(self, method: str, path: str, body: Optional[bytes] = None, kind: Optional[str] = None,
                **headers: str) -> bytes:
        """Any request of the API; the body of the reply. `kind` is the body's media type."""
        if self._connection is not None:
            try:
                return self._exchange(method, path, body, kind, headers)
            except _STALE:
                pass
        return self._exchange(method, path, body, kind, headers)

    def _call(self, method: str, path: str, value: Any = None, **headers: str) -> Json:
        body, kind = (None, None) if value is None else (_encoded(value), _JSON)
        told = self.request(method, path, body, kind, **headers)
        return cast(Json, json.loads(told)) if told else {}

    def _stream(self, method: str, path: str, body: _Body = None, kind: Optional[str] = None) -> Iterator[bytes]:
        """The lines of a long reply, over a connection of its own. ConnectionError: the reply was cut off."""
        connection = self._open()
        try:
            reply = self._send(connection, method, path, body, kind, {})
            yield from _reply_lines(reply)
        except http.client.IncompleteRead as error:
            raise ConnectionError("the reply was cut off") from error
        finally:
            connection.close()

    # -- documents

    def _verb(self, model: str, verb: str, query: Optional[_Query] = None) -> str:
        return f"/v1/models/{_quoted(model)}/{verb}" + _query(query or {})

    def train(self, model: str, document: Document, label: Optional[str] = None, *,
              labels: Optional[Sequence[str]] = None, id: Optional[str] = None, source: Optional[str] = None) -> Json:
        """Learns a document that has this label, or these labels (label_set several; none of them: []).

        The receipt comes when it is on disk and in force.
        """
        asked = _document(document, label=label, labels=labels, id=id, source=source)
        return self._call("POST", self._verb(model, "train"), asked)

    def train_batch(self, model: str, documents: Iterable[Document], *, source: Optional[str] = None) -> Json:
        """Learns up to 10,000 documents with their own labels; {"results": [...], "learned": n, "failed": n, ...}."""
        return self._batch(model, "train", documents, {"source": source})

    def train_stream(self, model: str, documents: Iterable[Document], *,
                     source: Optional[str] = None) -> Iterator[Json]:
        """Learns any number of documents as they come; yields a receipt, or {"error": problem}, for each, in order.

        Each is learned when it arrives; all are sent before the first receipt is there.
        """
        return self._documents(model, "train", documents, {"source": source})

    def untrain(self, model: str, document: Optional[Document] = None, *, id: Optional[str] = None,
                source: Optional[str] = None) -> Json:
        """Takes a document back, by its id or by itself. Problem 404: it is not learned."""
        asked = _document({} if document is None else document, id=id, source=source)
        return self._call("POST", self._verb(model, "untrain"), asked)

    def untrain_batch(self, model: str, documents: Iterable[Document], *, source: Optional[str] = None) -> Json:
        """Takes documents back, by {"id": ...} or by themselves; as train_batch."""
        return self._batch(model, "untrain", documents, {"source": source})

    def classify(self, model: str, document: Document, *, explain: Optional[int] = None,
                 **query: Union[None, str, int, float, bool, Sequence[float]]) -> Json:
        """The verdict: label, probability, probabilities, log_scores; `explain` tokens that weigh most.

        With label_set several: labels (those that the document is given) and probabilities.
        `query` has the other parameters of the API: threshold, target_fpr, cost_fp, cost_fn, positive, level, scores,
        top (how many labels are told), explain_label (of several).
        """
        return self._call("POST", self._verb(model, "classify", {"explain": explain, **query}), _document(document))

    def classify_batch(self, model: str, documents: Iterable[Document], *, explain: Optional[int] = None,
                       **query: Union[None, str, int, float, bool, Sequence[float]]) -> List[Json]:
        """Verdicts, or {"error": problem}, of up to 10,000 documents, in order."""
        told = self._batch(model, "classify", documents, {"explain": explain, **query})
        return cast(List[Json], told["results"])

    def classify_stream(self, model: str, documents: Iterable[Document], *, explain: Optional[int] = None,
                        **query: Union[None, str, int, float, bool, Sequence[float]]) -> Iterator[Json]:
        """Yields a verdict, or {"error": problem}, for each of any number of documents; as train_stream."""
        return self._documents(model, "classify", documents, {"explain": explain, **query})

    def classify_many(self, models: Sequence[str], document: Document, **query: Union[None, str, int, float]) -> Json:
        """One document by several models, read once; one verdict each."""
        return self._call("POST", "/v1/classify" + _query(query), {**_document(document), "models": list(models)})

    def tokenize(self, model: str, document: Document) -> List[Json]:
        """What the model sees in the document: [{"token": ..., "count": n}], in order of first appearance."""
        return cast(List[Json], self._call("POST", self._verb(model, "tokenize"), _document(document))["tokens"])

    def document(self, model: str, id: str) -> Json:
        """A learned document: id, label, time, source. Problem 404: it is not learned."""
        return self._call("GET", self._verb(model, "documents/" + _quoted(id)))

    def forget(self, model: str, id: str, *, source: Optional[str] = None) -> Json:
        """Takes the document back, and removes what the history has of it."""
        return self._call("DELETE", self._verb(model, "documents/" + _quoted(id), {"source": source}))

    def label(self, model: str, id: str, label: Optional[str], *, source: Optional[str] = None) -> Json:
        """Gives a document that is learned, stored or remembered a label by its id alone; None takes it away."""
        path = self._verb(model, "documents/" + _quoted(id) + "/label", {"source": source})
        return self._call("POST", path, {"label": label})

    def labels(self, model: str, id: str, labels: Optional[Sequence[str]] = None, *,
               add: Optional[Sequence[str]] = None, remove: Optional[Sequence[str]] = None,
               source: Optional[str] = None) -> Json:
        """Gives a document of a model with label_set several these labels, or adds and removes some, by its id alone."""
        path = self._verb(model, "documents/" + _quoted(id), {"source": source})
        return self._call("PATCH", path, _document({}, labels=labels, add=add, remove=remove))

    def history(self, model: str, **query: Union[None, str, int, float]) -> Iterator[Json]:
        """The verdicts that the model keeps, newest first, read page by page.

        `query` chooses: verdict, from, to, least, most, source, contains, labelled; `limit` is the size of a page.
        """
        page: Json = {"next": None}
        while "next" in page:
            page = self._call("GET", self._verb(model, "history", {**query, "after": page["next"]}))
            yield from page["history"]

    def history_of(self, model: str, id: str, *, explain: Optional[int] = None) -> Json:
        """The verdict about a document that the model keeps, and why, by the counts of now."""
        return self._call("GET", self._verb(model, "history/" + _quoted(id), {"explain": explain}))

    def suspects(self, model: str, limit: int = 100) -> List[Json]:
        """The learned documents whose labels are probably wrong, most suspect first."""
        return cast(List[Json], self._call("GET", self._verb(model, "suspects", {"limit": limit}))["suspects"])

    def next(self, model: str, count: int = 20) -> List[Json]:
        """The documents without a label that would teach most, of the history and of those that are stored so."""
        return cast(List[Json], self._call("GET", self._verb(model, "next", {"count": count}))["next"])

    def _batch(self, model: str, verb: str, documents: Iterable[Document], query: _Query) -> Json:
        body = {"documents": [_document(document) for document in documents]}
        return self._call("POST", self._verb(model, verb, query), body)

    def _documents(self, model: str, verb: str, documents: Iterable[Document], query: _Query) -> Iterator[Json]:
        path = self._verb(model, verb, query)
        for line in self._stream("POST", path, _lines(documents), _NDJSON):
            yield cast(Json, json.loads(line))

    # -- models

    def models(self) -> Iterator[Json]:
        """All models by name, read page by page."""
        page: Json = {"next": None}
        while "next" in page:
            page = self._call("GET", "/v1/models" + _query({"after": page["next"]}))
            yield from page["models"]

    def model(self, model: str) -> Json:
        """A model's numbers and its settings. Problem 404: there is none."""
        return self._call("GET", "/v1/models/" + _quoted(model))

    def put_model(self, model: str, settings: Optional[Mapping[str, Any]] = None, *, only_new: bool = False,
                  source: Optional[str] = None) -> Json:
        """Makes a model, or gives it these settings: what is left out gets its default.

        only_new: Problem 409 if there is one of the name.
        """
        headers = {"If-None-Match": "*"} if only_new else {}
        path = "/v1/models/" + _quoted(model) + _query({"source": source})
        return self._call("PUT", path, dict(settings or {}), **headers)

    def delete_model(self, model: str) -> None:
        """Deletes a model and all that it learned."""
        self._call("DELETE", "/v1/models/" + _quoted(model))

    def copy_model(self, model: str, old: str, *, strength: Optional[int] = None, source: Optional[str] = None) -> Json:
        """Makes a model that begins with what `old` has learned, which weighs as `strength` documents (default: as all
        that it has). Problem 409: there is one of the name."""
        query: _Query = {"strength": strength, "source": source}
        return self._call("POST", self._verb(model, "from/" + _quoted(old), query))

    def rename_label(self, model: str, label: str, name: str) -> Json:
        """The label's documents keep their counts. Problem 409: there is a label of the new name."""
        return self._call("PATCH", self._verb(model, "labels/" + _quoted(label)), {"name": name})

    def merge_label(self, model: str, label: str, into: str) -> Json:
        """All documents of the label get the label `into`; what was cut off is finished by another call."""
        return self._call("PATCH", self._verb(model, "labels/" + _quoted(label)), {"name": into, "merge": True})

    def delete_label(self, model: str, label: str) -> Json:
        """Forgets all documents of the label, some at a time; what was cut off is finished by another call."""
        done: Json = {"model": model, "label": label, "forgotten": 0}
        part: Json = {"next": None}
        while "next" in part:
            query = {"limit": 2000, "next": part["next"]}
            part = self._call("DELETE", self._verb(model, "labels/" + _quoted(label), query))
            done["forgotten"] += part["forgotten"]
        return done

    def vocabulary(self, model: str, label: Optional[str] = None, *, limit: Optional[int] = None) -> Json:
        """The tokens most telling for a label, with their counts."""
        return self._call("GET", self._verb(model, "vocabulary", {"label": label, "limit": limit}))

    def evaluation(self, model: str, **query: Union[None, str, float]) -> Json:
        """How good the verdicts were before each document was learned: positive, target_fpr, scores."""
        return self._call("GET", self._verb(model, "evaluation", query))

    def challenger(self, model: str) -> Json:
        """The challenger of a model; an error 404 if it has none. `evaluation` compares both."""
        return self._call("GET", self._verb(model, "challenger"))

    def make_challenger(self, model: str, settings: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        """Lets a model with these settings, and else those of the model, learn the same; dry_run: says what it would cost."""
        return self._call("POST", self._verb(model, "challenger", {"dry_run": "true" if dry_run else None}), {"settings": dict(settings)})

    def promote_challenger(self, model: str) -> Json:
        """Gives the model the settings of its challenger, and drops that."""
        return self._call("POST", self._verb(model, "challenger/promote"))

    def drop_challenger(self, model: str) -> None:
        """Drops the challenger of a model."""
        self._call("DELETE", self._verb(model, "challenger"))

    def cluster(self, model: str, wish: Mapping[str, Any]) -> Json:
        """Topics of the model's documents without their labels; `wish` is the object of the HTTP API."""
        return self._call("POST", self._verb(model, "cluster"), dict(wish))

    def em(self, model: str, *, anew: bool = False) -> Json:
        """What documents without a label give the model; anew: finds it first, unless that is under way."""
        return self._call("POST" if anew else "GET", self._verb(model, "em"))

    def refit(self, model: str) -> Json:
        """Fits the weights of a stacked model anew; returns when that is done."""
        return self._call("POST", self._verb(model, "refit"))

    def undo(self, model: str, *, source: Optional[str] = None, ids: Optional[Sequence[str]] = None,
             after: Optional[str] = None, before: Optional[str] = None, dry_run: bool = False, **more: Any) -> Json:
        """Takes back what a source taught, or in a span of time (RFC 3339), or of some ids; all that is given holds.

        dry_run: says what would be done, with the evaluation before and after.
        """
        wish: Json = {"source": source, "ids": None if ids is None else list(ids), "from": after, "to": before,
                      "dry_run": dry_run or None, **more}
        return self._call("POST", self._verb(model, "undo"), {k: v for k, v in wish.items() if v is not None})

    def undone(self, model: str) -> Iterator[Json]:
        """What was undone, when, and by whom."""
        page: Json = {"next": None}
        while "next" in page:
            page = self._call("GET", self._verb(model, "undo", {"next": page["next"]}))
            yield from page["undone"]

    def sources(self, model: str) -> List[Json]:
        """Who taught the model: rows of source, documents, unlabelled, first and last; most documents first."""
        rows: Dict[str, Json] = {}
        page: Json = {"next": None}
        while "next" in page:
            page = self._call("GET", self._verb(model, "sources", {"next": page["next"]}))
            for row in page["sources"]:
                known = rows.setdefault(row["source"], {**row, "documents": 0, "unlabelled": 0})
                known.update(documents=known["documents"] + row["documents"], unlabelled=known["unlabelled"] + row["unlabelled"],
                             first=min(known["first"], row["first"]), last=max(known["last"], row["last"]))
        return sorted(rows.values(), key=lambda row: (-row["documents"], row["source"]))

    def export(self, model: str) -> Iterator[bytes]:
        """The lines of the whole model, for import_model. ConnectionError: it was cut off."""
        last = b""
        for last in self._stream("GET", self._verb(model, "export")):
            yield last
        if not last.startswith(b'{"end"'):
            raise ConnectionError(f"the export of {model} was cut off")

    def export_to(self, model: str, file: IO[bytes]) -> None:
        """Writes the whole model to a file. The file is of use only if nothing was raised."""
        for line in self.export(model):
            file.write(line)

    def import_model(self, model: str, dump: Union[IO[bytes], Iterable[bytes]]) -> Json:
        """Makes or replaces a model by what export gave: a file that is open for reading bytes, or pieces of one."""
        pieces = _pieces(cast(IO[bytes], dump)) if hasattr(dump, "read") else dump
        return cast(Json, json.loads(b"".join(self._stream("PUT", self._verb(model, "import"), pieces, _NDJSON))))

    # -- the daemon

    def backup_to(self, file: IO[bytes]) -> None:
        """Writes the whole store, for `bayesd --restore`, which checks that it is complete."""
        for piece in self._stream("POST", "/v1/backup"):
            file.write(piece)

    def is_ready(self) -> Tuple[bool, str]:
        """Whether models are loaded and the store accepts changes; if not, why."""
        try:
            self.request("GET", "/readyz")
        except Problem as problem:
            if problem.status != 503:
                raise
            return False, problem.detail
        return True, ""

    def metrics(self) -> str:
        """Prometheus text."""
        return self.request("GET", "/metrics").decode("utf-8")
