# SPDX-License-Identifier: Apache-2.0
"""clients/label-studio: what Label Studio sends to a machine-learning backend, as its documentation has it."""
import http.client
import json
import os
import re
import socket
import subprocess
import sys

from harness import clean_environment, equal, holds, patience
from test_readme import TOP

PROGRAM = os.path.join(TOP, "clients", "label-studio", "bayesd_label_studio.py")
INTERFACE = """<View><Header value="What is it?"/>
  <Text name="shown" value="$body"/>
  <Choices name="kind" toName="shown" choice="single"><Choice value="spam"/><Choice value="No  spam" alias="ham"/></Choices>
</View>"""
PROJECT = {"id": 3, "title": "mails", "label_config": INTERFACE, "created_at": "2026-01-01T08:00:00Z"}


class Adapter:
    """The program beside a daemon; with the requests that Label Studio makes."""

    def __init__(self, url, *options):
        command = [sys.executable, PROGRAM, "--bayesd", url, "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=clean_environment())
        self.port = int(re.fullmatch(r"ready on http://127\.0\.0\.1:(\d+)\n", self.process.stdout.readline()).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        said = self.process.communicate()[1]
        holds("Traceback" not in said, said)

    def call(self, method, path, body=None, kind="application/json"):
        """Status and object of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(30))
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, {"Content-Type": kind} if raw is not None else {})
        reply = connection.getresponse()
        told = reply.status, json.loads(reply.read())
        connection.close()
        return told

    def ok(self, path, body):
        status, told = self.call("POST", path, body)
        equal(status, 200, told)
        return told

    def refused(self, status, path, body, *words, kind="application/json"):
        got, told = self.call("POST", path, body, kind)
        equal(got, status, told)
        holds(list(told) == ["error"] and all(word in told["error"] for word in words), told)

    def predict(self, *texts, config=INTERFACE):
        tasks = [{"id": i, "data": {"body": text}, "annotations": []} for i, text in enumerate(texts)]
        asked = {"tasks": tasks, "model_version": None, "project": "3.1767254400", "label_config": config,
                 "params": {"login": None, "password": None, "context": None}}
        return self.ok("/predict", asked)


def result(*choices):
    return [{"id": "x1", "from_name": "kind", "to_name": "shown", "type": "choices",
             "value": {"choices": list(choices)}}]


def event(action, task, text, annotation, *choices, **more):
    return {"action": action, "annotation": {"id": annotation, "task": task, "result": result(*choices) if choices else [],
                                             "was_cancelled": False, "completed_by": 1, **more},
            "task": {"id": task, "data": {"body": text}, "project": 3}, "project": PROJECT}


def deleted(*annotations):
    return {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": i} for i in annotations], "project": PROJECT}


def learned(api, model):
    """Label by id of what the model has learned of tasks 1 to 9."""
    replies = {str(i): api.get(f"/v1/models/{model}/documents/{i}") for i in range(1, 10)}
    return {i: reply.json["label"] for i, reply in replies.items() if reply.status == 200}


def test_people_label_and_the_model_suggests(api):
    model = api.name()
    with Adapter(api.daemon.url, "--model", model) as adapter:
        equal(adapter.call("GET", "/health"), (200, {"status": "UP", "model_class": "bayesd"}))
        setup = {"project": "3.1767254400", "schema": INTERFACE, "hostname": "http://localhost:8080", "access_token": "t",
                 "extra_params": None}
        equal(adapter.ok("/setup", setup), {"model_version": model + "-0"})
        nothing = {"result": [], "score": 0.0, "model_version": model + "-0"}
        equal(adapter.predict("cheap pills", ""), {"results": [nothing, nothing], "model_version": model + "-0"})
        equal(adapter.ok("/webhook", event("ANNOTATION_CREATED", 1, "cheap pills", 11, "spam")),
              {"learned": 1, "forgotten": 0})
        adapter.ok("/webhook", event("ANNOTATION_CREATED", 2, "the meeting", 12, "ham"))
        equal(learned(api, model), {"1": "spam", "2": "ham"})
        told = adapter.predict("cheap cheap pills", "the meeting", "unheard")
        equal(told["model_version"], model + "-2", "another version: it has learned")
        first, second, third = told["results"]
        equal(first["result"], [{"from_name": "kind", "to_name": "shown", "type": "choices",
                                 "value": {"choices": ["spam"]}}])
        equal(second["result"][0]["value"], {"choices": ["ham"]}, "the alias is what Label Studio stores")
        verdict = api.post(f"/v1/models/{model}/classify", {"text": "cheap cheap pills"}).ok().json
        equal(first["score"], verdict["probabilities"]["spam"])
        equal(third["result"], [], "no suggestion from nothing")
        equal(adapter.ok("/webhook", {"action": "START_TRAINING", "project": PROJECT}), {"status": "ignored"})
        equal(adapter.predict()["results"], [])


def test_corrections_and_deletions(api):
    model = api.name()
    with Adapter(api.daemon.url, "--model", model) as adapter:
        equal(adapter.ok("/webhook", deleted(11)), {"forgotten": 0}, "there is no model yet")
        adapter.ok("/webhook", event("ANNOTATION_CREATED", 1, "cheap pills", 11, "ham"))
        adapter.ok("/webhook", event("ANNOTATION_UPDATED", 1, "cheap pills", 11, "spam"))
        equal(learned(api, model), {"1": "spam"})
        adapter.ok("/webhook", event("ANNOTATION_CREATED", 1, "cheap pills", 12, "ham"))
        equal(learned(api, model), {"1": "ham"}, "the newest annotation counts")
    with Adapter(api.daemon.url, "--model", model) as adapter:
        equal(adapter.ok("/webhook", deleted(12)), {"forgotten": 1}, "also after another start")
        equal(learned(api, model), {"1": "spam"}, "what the other annotation says")
        equal(adapter.ok("/webhook", deleted(11, 12)), {"forgotten": 1})
        equal(learned(api, model), {}, "not the label that the annotation had first")
        adapter.ok("/webhook", event("ANNOTATION_CREATED", 2, "the meeting", 13, "ham"))
        equal(adapter.ok("/webhook", event("ANNOTATION_UPDATED", 2, "the meeting", 13)), {"learned": 0, "forgotten": 1})
        skipped = event("ANNOTATION_CREATED", 3, "tea", 14, "ham", was_cancelled=True)
        equal(adapter.ok("/webhook", skipped), {"learned": 0, "forgotten": 0})
        equal(learned(api, model), {})
        several = event("ANNOTATIONS_CREATED", 4, "tea", 15, "ham")
        several.update(annotation=[several["annotation"]], task=[several["task"]])
        adapter.ok("/webhook", several)
        equal(learned(api, model), {"4": "ham"})


def test_tasks_that_were_annotated_before(api):
    model = api.name()

    def annotated(task, text, *annotations):
        return {"id": task, "data": {"body": text}, "project": 3, "predictions": [],
                "annotations": [{"id": 100 * task + day, "updated_at": f"2026-01-0{day}T00:00:00Z", "was_cancelled": False,
                                 "result": result(choice) if choice else []} for day, choice in annotations]}

    tasks = [annotated(1, "cheap pills", (2, "spam"), (1, "ham")), annotated(2, "the meeting", (1, "ham"), (2, None)),
             annotated(3, "tea"), annotated(4, "coffee", (1, " "))]
    with Adapter(api.daemon.url, "--model", model) as adapter:
        adapter.refused(400, "/train", tasks, "connect the model")
        told = adapter.ok("/train", {"annotations": tasks, "project": "3.1", "label_config": INTERFACE, "params": {}})
        equal((told["learned"], told["failed"], told["model_version"]), (2, 1, model + "-2"))
        holds(told["errors"][0].startswith("task 4: "), told)
        equal(learned(api, model), {"1": "spam", "2": "ham"})
        adapter.ok("/setup", {"project": "3.1", "schema": INTERFACE})
        equal(adapter.ok("/train", tasks[:2])["learned"], 2, "the list that Label Studio exports, again")
        equal(learned(api, model), {"1": "spam", "2": "ham"})
        equal(adapter.ok("/train", [])["learned"], 0)
        equal(adapter.ok("/webhook", {"annotations": tasks[:1], "label_config": INTERFACE})["learned"], 1)
        adapter.ok("/webhook", deleted(102))
        equal(learned(api, model), {"2": "ham"}, "an annotation of an export is deleted as any other")


def test_only_choices_of_the_interface_are_suggested(api):
    model = api.name()
    for i, label in enumerate(["spam", "news", "häm"]):
        api.post(f"/v1/models/{model}/train", {"text": f"word{i} pills", "label": label}).ok()
    config = INTERFACE.replace("spam\"/>", "ha\u0308m \"/>", 1)
    with Adapter(api.daemon.url, "--model", model) as adapter:
        one, two = (told["result"][0]["value"]["choices"]
                    for told in adapter.predict("word1 pills", "word2 pills", config=config)["results"])
        equal((one, two), (["ha\u0308m "], ["ha\u0308m "]), "as the interface writes it")
        free = re.sub("<Choice .*/>", "", INTERFACE)
        equal(adapter.predict("word1", config=free)["results"][0]["result"][0]["value"], {"choices": ["news"]})


def test_interfaces_that_are_refused(api):
    with Adapter(api.daemon.url, "--model", api.name()) as adapter:
        for config, *words in ((None, "label_config"), (7, "label_config"), ("x" * 300000, "at most"), ("<View>", "not XML"),
                               ("<View/>", "no Choices"), (INTERFACE.replace("single", "multiple"), "kind", "several"),
                               (INTERFACE.replace("$body", "body"), "shown"), ("\ud800", "not XML"),
                               (INTERFACE.replace("toName", "toname"), "no Choices"),
                               (INTERFACE.replace('value="$body"', 'value="$body" valueType="url"'), "shown"),
                               ('<!DOCTYPE a [<!ENTITY b "c">]>' + INTERFACE, "document type"),
                               ("<a>" * 80000, "not XML"), ("<a>" * 30000 + "</a>" * 30000, "no Choices")):
            adapter.refused(400, "/setup", {"project": "3.1", "schema": config}, *words)


def test_input_that_is_refused(api):
    model = api.name()
    task = {"id": 1, "data": {"body": "tea"}}
    with Adapter(api.daemon.url, "--model", model) as adapter:
        for body, *words in ((b"", "not JSON"), (b"{", "not JSON"), (b"\xff", "not JSON"), (b"[" * 200000, "not JSON"),
                             (b"7", "not an object"), (b"null", "not an object"), ({}, "tasks"), ({"tasks": {}}, "tasks"),
                             ({"tasks": [7]}, "not an object"), ({"tasks": [task], "label_config": []}, "label_config"),
                             ({"tasks": [{"data": []}], "label_config": INTERFACE}, "data"),
                             ({"tasks": [{"data": {}}], "label_config": INTERFACE}, "body"),
                             ({"tasks": [{"data": {"body": 7}}], "label_config": INTERFACE}, "not a text"),
                             ({"tasks": [{"data": {"body": "\ud800"}}], "label_config": INTERFACE}, "Unicode")):
            adapter.refused(400, "/predict", body, *words)
        good = event("ANNOTATION_CREATED", 1, "tea", 11, "ham")
        for change, *words in (({"action": 7}, "action"), ({"project": None}, "project"), ({"task": None}, "task"),
                               ({"annotation": None}, "annotation"), ({"task": {"id": 2, "data": {}}}, "task"),
                               ({"annotation": {**good["annotation"], "id": None}}, "id"),
                               ({"annotation": {**good["annotation"], "id": True}}, "id"),
                               ({"annotation": {**good["annotation"], "result": {}}}, "result"),
                               ({"annotation": {**good["annotation"], "result": [7]}}, "result"),
                               ({"annotation": {**good["annotation"], "result": [{**result()[0], "value": 7}]}}, "value")):
            adapter.refused(400, "/webhook", {**good, **change}, *words)
        adapter.refused(422, "/webhook", event("ANNOTATION_CREATED", 1, "tea", 11, "x" * 5000), "bayesd", "label")
        adapter.refused(400, "/webhook", {"action": "ANNOTATIONS_DELETED"}, "annotations")
        adapter.refused(404, "/nowhere", {}, "/predict")
        adapter.refused(415, "/webhook", good, "application/json", kind="text/plain")
        equal(adapter.call("GET", "/predict")[0], 404)
        equal(learned(api, model), {})
        for head, status in ((b"Content-Length: 99999999999", b"413"), (b"Content-Length: x", b"411"), (b"X: y", b"411"),
                             (b"Content-Length: " + b"9" * 5000, b"413"), (b"Content-Length: -1", b"411")):
            with socket.create_connection(("127.0.0.1", adapter.port), patience(30)) as raw:
                raw.sendall(b"POST /predict HTTP/1.1\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n")
                equal(raw.recv(100).split()[1], status, head)


def test_tokens_and_a_daemon_that_is_away(api):
    daemon = api.another(config={"tokens": {"admin": "the-admin-token-of-it", "train": "the-train-token-of-it"}}).start()
    file = os.path.join(api.new_folder(), "token")
    with open(file, "w", encoding="ascii") as out:
        out.write("the-train-token-of-it\n")
    good = event("ANNOTATION_CREATED", 1, "tea", 11, "ham")
    with Adapter(daemon.url) as adapter:
        adapter.refused(401, "/webhook", good, "bayesd")
    with Adapter(daemon.url, "--token-file", file) as adapter:
        equal(adapter.ok("/webhook", good)["learned"], 1)
        equal(adapter.ok("/webhook", event("ANNOTATION_CREATED", 2, "tea", 12)), {"learned": 0, "forgotten": 0})
        adapter.refused(403, "/webhook", deleted(11), "bayesd", "admin")
        daemon.stop()
        adapter.refused(503, "/webhook", good, "bayesd does not answer")
        adapter.refused(503, "/predict", {"tasks": [{"data": {"body": "tea"}}], "label_config": INTERFACE}, "bayesd")
        equal(adapter.call("GET", "/health")[0], 503)
    for options, word in ((("--bayesd", "ftp://x"), "not an address"), (("--token-file", "/none"), "/none"),
                          (("--listen", "9090"), "ADDRESS:PORT"), (("--listen", "192.0.2.1:1"), "")):
        done = subprocess.run([sys.executable, PROGRAM, *options], capture_output=True, text=True, check=False,
                              env=clean_environment())
        holds(done.returncode == 2 and word in done.stderr and "Traceback" not in done.stderr, done.stderr)
