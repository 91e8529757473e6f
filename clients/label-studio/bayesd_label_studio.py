# SPDX-License-Identifier: Apache-2.0
"""A machine-learning backend for Label Studio: bayesd suggests a choice for each text, and learns from each annotation.

README.md beside this file says how it is used. It needs Python 3.9 and bayesd.py, beside it or in ../python.

A project has a Text and a single Choices about it. A document of the model is a task, under the id of the task; its
source names the annotation, so that a deleted annotation is found again without any state here.
"""
import argparse
import http.client
import http.server
import json
import os
import socket
import sys
import threading
import unicodedata
import xml.etree.ElementTree as ElementTree
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from bayesd import Bayesd, Problem  # noqa: E402  (needs the path above)

Json = Dict[str, Any]

BODY_LIMIT = 32 << 20
CONFIG_LIMIT = 256 << 10
REQUESTS_AT_ONCE = 4
SECONDS = 60.0
SHOWN_FAILURES = 10


class Refused(Exception):
    """What is answered to a request that is wrong: its HTTP status, and what is wrong."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class Layout(NamedTuple):
    """What a labelling interface asks: the Choices, the Text that they are about, its field of a task's data, and each
    choice by the label that bayesd makes of it (none: they come with the tasks)."""
    choices: str
    text: str
    field: str
    names: Dict[str, str]


def member(of: Json, name: str, kind: type, where: str) -> Any:
    """The member of an object of a request. Refused: it is missing, or something else."""
    value = of.get(name)
    if not isinstance(value, kind):
        raise Refused(400, f"{where}: \"{name}\" is not {'an object' if kind is dict else 'a list'}")
    return value


def each_object(values: List[Any], where: str) -> List[Json]:
    for value in values:
        if not isinstance(value, dict):
            raise Refused(400, f"{where}: one is not an object")
    return values


def one_or_more(value: Any) -> List[Any]:
    return value if isinstance(value, list) else [value]


def sound(text: str, where: str) -> str:
    """The text itself. Refused: it has half of a pair of surrogates, which UTF-8 cannot say."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(400, f"{where}: not valid Unicode") from None
    return text


def id_of(of: Json, name: str, where: str) -> str:
    value = of.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, str)) or value == "":
        raise Refused(400, f"{where}: \"{name}\" is not an id")
    return sound(str(value), where)


def label_of(choice: str) -> str:
    """The label that bayesd makes of a choice: composed, without spaces around it."""
    return unicodedata.normalize("NFC", choice).strip()


def layout_of(config: Any) -> Layout:
    """Reads a labelling interface. Refused: it is not one for single choices about a text."""
    if not isinstance(config, str) or len(config) > CONFIG_LIMIT:
        raise Refused(400, f"the labelling interface (label_config) is not a text of at most {CONFIG_LIMIT} characters")
    if "<!DOCTYPE" in config or "<!ENTITY" in config:
        raise Refused(400, "the labelling interface declares a document type")
    try:
        tags = list(ElementTree.fromstring(config).iter())
    except (ElementTree.ParseError, ValueError) as error:
        raise Refused(400, f"the labelling interface is not XML: {error}") from None
    texts = {tag.get("name"): tag for tag in tags if tag.tag == "Text"}
    for tag in tags:
        about = tag.get("toName", "")
        if tag.tag != "Choices" or about not in texts or not tag.get("name"):
            continue
        if tag.get("choice") == "multiple":
            raise Refused(400, f"the Choices \"{tag.get('name')}\" takes several choices, bayesd gives one: "
                               "choice=\"single\"")
        value = texts[about].get("value", "")
        if value[:1] != "$" or texts[about].get("valueType") == "url":
            raise Refused(400, f"the Text \"{about}\" is to show a field of the task, as in value=\"$text\"")
        names = [choice.get("alias") or choice.get("value") or "" for choice in tag.iter("Choice")]
        return Layout(tag.get("name", ""), about, value[1:], {label_of(name): name for name in names})
    raise Refused(400, "the labelling interface has no Choices whose toName is the name of a Text")


def text_of(task: Json, layout: Layout) -> str:
    data = member(task, "data", dict, "the task")
    if layout.field not in data:
        raise Refused(400, f"the data of the task has no field \"{layout.field}\", which the Text "
                           f"\"{layout.text}\" shows")
    text = data[layout.field]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise Refused(400, f"the field \"{layout.field}\" of the task is not a text")
    return sound(text, "the task")


def choice_of(annotation: Json, layout: Layout) -> Optional[str]:
    """The choice of an annotation; None: it has none, or the task was skipped."""
    if annotation.get("was_cancelled"):
        return None
    for region in each_object(member(annotation, "result", list, "the annotation"), "the results"):
        if region.get("type") != "choices" or region.get("from_name") != layout.choices:
            continue
        chosen = member(member(region, "value", dict, "the result"), "choices", list, "the result")
        if len(chosen) == 1 and isinstance(chosen[0], str):
            return sound(chosen[0], "the choice")
    return None


def source_of(annotation: Json) -> str:
    return "label-studio annotation " + id_of(annotation, "id", "the annotation")


def document_of(task: Json, annotation: Json, choice: str, layout: Layout) -> Json:
    return {"text": text_of(task, layout), "label": choice, "id": id_of(task, "id", "the task"),
            "source": source_of(annotation)}


class Backend:
    """What Label Studio asks, answered by a model of a daemon. Any number of threads may use it."""

    def __init__(self, url: str, token: Optional[str], model: str) -> None:
        self._url, self._token, self._model = url, token, model
        self._config: Any = None
        self._daemon().close()

    def _daemon(self) -> Bayesd:
        return Bayesd(self._url, token=self._token, timeout=SECONDS)

    def _version(self, daemon: Bayesd) -> str:
        """Changes with what is learned: Label Studio keeps the suggestions of a version that it knows."""
        try:
            return f"{self._model}-{daemon.model(self._model)['documents']}"
        except Problem as problem:
            if problem.status != 404:
                raise
            return f"{self._model}-0"

    def _layout(self, config: Any) -> Layout:
        """Of the request's labelling interface, or else of the one of the last setup."""
        if config is None:
            config = self._config
        if config is None:
            raise Refused(400, "no labelling interface is known yet: connect the model in the settings of the project")
        return layout_of(config)

    def health(self) -> Json:
        with self._daemon() as daemon:
            is_ready, why = daemon.is_ready()
        if not is_ready:
            raise Refused(503, f"bayesd is not ready: {why}")
        return {"status": "UP", "model_class": "bayesd"}

    def setup(self, asked: Json) -> Json:
        layout_of(asked.get("schema"))
        self._config = asked["schema"]
        with self._daemon() as daemon:
            return {"model_version": self._version(daemon)}

    def predict(self, asked: Json) -> Json:
        tasks = each_object(member(asked, "tasks", list, "the request"), "the tasks")
        layout = self._layout(asked.get("label_config"))
        texts = [text_of(task, layout) for task in tasks]
        with self._daemon() as daemon:
            version = self._version(daemon)
            verdicts = self._verdicts(daemon, texts)
        return {"results": [self._suggestion(verdict, layout, version) for verdict in verdicts], "model_version": version}

    def _verdicts(self, daemon: Bayesd, texts: List[str]) -> Iterable[Json]:
        """One for each text, without probabilities if the model has learned nothing yet."""
        try:
            return list(daemon.classify_stream(self._model, texts))
        except Problem as problem:
            if problem.status not in (404, 409):
                raise
            return [{}] * len(texts)

    @staticmethod
    def _suggestion(verdict: Json, layout: Layout, version: str) -> Json:
        """The most probable of the choices; none for a text of which the model knows no word."""
        known: Dict[str, float] = verdict.get("probabilities", {}) if verdict.get("evidence") != "none" else {}
        fitting = {label: p for label, p in known.items() if not layout.names or label in layout.names}
        if not fitting:
            return {"result": [], "score": 0.0, "model_version": version}
        label = max(fitting, key=fitting.__getitem__)
        chosen = {"from_name": layout.choices, "to_name": layout.text, "type": "choices",
                  "value": {"choices": [layout.names.get(label, label)]}}
        return {"result": [chosen], "score": fitting[label], "model_version": version}

    def train(self, asked: Json) -> Json:
        """Learns annotated tasks: each under its newest annotation."""
        tasks = each_object(member(asked, "annotations", list, "the request"), "the annotated tasks")
        layout = self._layout(asked.get("label_config"))
        documents = list(self._documents(tasks, layout))
        with self._daemon() as daemon:
            receipts = list(daemon.train_stream(self._model, documents)) if documents else []
            version = self._version(daemon)
        failures = [f"task {document['id']}: {receipt['error']['detail']}"
                    for document, receipt in zip(documents, receipts) if "error" in receipt]
        return {"learned": len(documents) - len(failures), "failed": len(failures),
                "errors": failures[:SHOWN_FAILURES], "model_version": version}

    @staticmethod
    def _documents(tasks: List[Json], layout: Layout) -> Iterator[Json]:
        for task in tasks:
            annotations = each_object(member(task, "annotations", list, "the task"), "the annotations")
            for annotation in sorted(annotations, key=lambda one: str(one.get("updated_at", "")), reverse=True):
                choice = choice_of(annotation, layout)
                if choice is not None:
                    yield document_of(task, annotation, choice, layout)
                    break

    def webhook(self, asked: Json) -> Json:
        action = asked.get("action")
        if action in ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"):
            return self._annotated(asked)
        if action in ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED"):
            annotations = each_object(member(asked, "annotations", list, "the event"), "the annotations")
            with self._daemon() as daemon:
                return {"forgotten": sum(self._forget(daemon, source_of(annotation)) for annotation in annotations)}
        if action is None and "annotations" in asked:  # how some versions ask to train
            return self.train(asked)
        if not isinstance(action, str):
            raise Refused(400, "the event has no \"action\"")
        return {"status": "ignored"}

    def _annotated(self, asked: Json) -> Json:
        project = member(asked, "project", dict, "the event")
        layout = self._layout(project.get("label_config"))
        annotations = each_object(one_or_more(asked.get("annotation")), "the annotation")
        tasks = each_object(one_or_more(asked.get("task")), "the task")
        by_id = {id_of(task, "id", "the task"): task for task in tasks}
        done = {"learned": 0, "forgotten": 0}
        with self._daemon() as daemon:
            for annotation in annotations:
                choice, source = choice_of(annotation, layout), source_of(annotation)
                if choice is None:
                    done["forgotten"] += self._forget(daemon, source) if asked["action"] == "ANNOTATION_UPDATED" else 0
                    continue
                task = by_id.get(id_of(annotation, "task", "the annotation"))
                if task is None:
                    raise Refused(400, "the event does not have the task of its annotation")
                daemon.train(self._model, document_of(task, annotation, choice, layout))
                done["learned"] += 1
        return done

    def _forget(self, daemon: Bayesd, source: str) -> int:
        """Takes back what an annotation taught: the task has its label of before, if any. The number of tasks."""
        try:
            undone = daemon.undo(self._model, source=source)
        except Problem as problem:
            if problem.status != 404:
                raise
            return 0
        return int(undone["documents"])


class Handler(http.server.BaseHTTPRequestHandler):
    """Bodies are JSON by name, so that no page in a browser sends one unasked."""
    timeout = SECONDS
    backend: Backend
    turns = threading.BoundedSemaphore(REQUESTS_AT_ONCE)

    def do_GET(self) -> None:  # noqa: N802 (the name that the base class looks for)
        self._send(*self._answer({"/": self.backend.health, "/health": self.backend.health}, lambda: []))

    def do_POST(self) -> None:  # noqa: N802
        calls = {"/setup": self.backend.setup, "/predict": self.backend.predict, "/train": self.backend.train,
                 "/webhook": self.backend.webhook}
        with self.turns:
            answer = self._answer(calls, lambda: [self._object()])
        self._send(*answer)

    def _send(self, status: int, reply: Json) -> None:
        if status != 200:
            self.log_message("%s", reply["error"])
        body = json.dumps(reply).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, calls: Mapping[str, Callable[..., Json]],
                arguments: Callable[[], List[Json]]) -> Tuple[int, Json]:
        try:
            call = calls.get(self.path.partition("?")[0])
            if call is None:
                raise Refused(404, "there is GET /health, and POST /setup, /predict, /train and /webhook")
            given = arguments()
        except Refused as refused:
            return refused.status, {"error": str(refused)}
        try:
            return 200, call(*given)
        except Refused as refused:
            return refused.status, {"error": str(refused)}
        except Problem as problem:
            return problem.status, {"error": f"bayesd: {problem}"}
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 503, {"error": f"bayesd does not answer: {error or type(error).__name__}"}

    def _object(self) -> Json:
        """The object that is the request's body; a list is the tasks of an export."""
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "the body is to be application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refused(411, "the request has no Content-Length")
        if len(length) > 18 or int(length) > BODY_LIMIT:
            raise Refused(413, f"the body has more than {BODY_LIMIT} bytes")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refused(400, "the body is shorter than its Content-Length")
        try:
            told = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from None
        if isinstance(told, list):
            return {"annotations": told}
        if not isinstance(told, dict):
            raise Refused(400, "the body is not an object")
        return told


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, place: Tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        super().__init__(place, Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of this program."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def place_of(listen: str) -> Tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"not ADDRESS:PORT: {listen!r}")
    return host.strip("[]"), int(port)


def main() -> None:
    parser = argparse.ArgumentParser(description="A backend for Label Studio: bayesd suggests and learns.")
    parser.add_argument("--bayesd", metavar="URL", default="http://127.0.0.1:8763",
                        help="the daemon: http://HOST:PORT, https://HOST:PORT or unix:/PATH (%(default)s)")
    parser.add_argument("--model", metavar="NAME", default="label-studio", help="the model (%(default)s)")
    parser.add_argument("--token-file", metavar="FILE", help="its first line is the access token for bayesd")
    parser.add_argument("--listen", metavar="ADDRESS:PORT", type=place_of, default="127.0.0.1:9090",
                        help="serve there; port 0 takes a free one (%(default)s)")
    options = parser.parse_args()
    try:
        token = None
        if options.token_file is not None:
            with open(options.token_file, encoding="utf-8") as file:
                token = file.readline().strip()
        Handler.backend = Backend(options.bayesd, token, options.model)
        server = Server(options.listen)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    host = f"[{options.listen[0]}]" if ":" in options.listen[0] else options.listen[0]
    print(f"ready on http://{host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
