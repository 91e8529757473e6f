# SPDX-License-Identifier: Apache-2.0
"""The reply to every change says where it stands in the stream, and every path waits for a place that it is given."""
import json
import os
import subprocess
import sys
import time

from acknowledged import path_of
from harness import equal, holds, patience, refused
from test_readme import TOP

sys.path.append(os.path.join(TOP, "clients", "python"))

from bayesd import Bayesd  # noqa: E402  (needs the path above)

PATH = path_of("shared")
NETWORK = {"nodes": [{"name": "a", "states": ["x", "y"], "table": [[0.5, 0.5]]}]}


def number_of(reply):
    """The place in the header field, which the body repeats if there is one."""
    found = int(reply.headers["bayesd-number"])
    if reply.body:
        equal(reply.json["number"], found, f"the body of {reply.body[:200]}")
    return found


def changes():
    """(method, path, body, status) of each kind of change, in an order in which each of them changes something."""
    one = {"id": "one", "label": "spam", "text": "w1 w2"}
    yield "PUT", PATH, {"preset": "book"}, 201
    yield "POST", PATH + "/train", one, 200
    yield "POST", PATH + "/train", one, 200
    yield "POST", PATH + "/train", {"documents": [dict(one, id=f"d{n}", label="ham") for n in range(3)]}, 200
    yield "POST", PATH + "/train?source=x", dict(one, id="two", label="odd"), 200
    yield "PUT", PATH, {"smoothing": 0.5}, 200
    yield "PATCH", PATH + "/labels/odd", {"name": "strange"}, 200
    yield "PATCH", PATH + "/labels/strange", {"name": "spam", "merge": True}, 200
    yield "POST", PATH + "/documents/one/label", {"label": "ham"}, 200
    yield "DELETE", PATH + "/documents/one", None, 200
    yield "POST", PATH + "/untrain", {"id": "d0"}, 200
    yield "POST", PATH + "/undo", {"ids": ["d1"]}, 200
    yield "POST", PATH + "/train?source=unknown", dict(one, id="three"), 202
    yield "POST", PATH + "/quarantine/apply", {"all": True}, 200
    yield "POST", PATH + "/train?source=unknown", dict(one, id="four"), 202
    yield "POST", PATH + "/quarantine/drop", {"ids": ["four"]}, 200
    yield "PUT", "/v1/networks/net", {"nodes": [{"name": "one", "states": ["a", "b"], "table": [[0.5, 0.5]]}]}, 201
    yield "DELETE", "/v1/networks/net", None, 204
    yield "DELETE", PATH + "/labels/ham", None, 200
    yield "POST", PATH + "/from/shared", None, 409
    yield "POST", path_of("copy") + "/from/shared", None, 201
    yield "DELETE", PATH, None, 204
    yield "PUT", "/v1/networks/net", NETWORK, 201
    yield "DELETE", "/v1/networks/net", None, 204


def test_every_change_has_a_number(nodes):
    """Each has one that is higher than that of the change before, whichever node is asked; and it is the place that the
    stream gave it: the node that was asked has applied it."""
    site = nodes.site(settings={"models": {"quarantine": "unknown"}}).start()
    last = 0
    for turn, (method, path, body, status) in enumerate(changes()):
        node = site.nodes[turn % 3]
        joined = "&" if "?" in path else "?"
        reply = node.client.call(method, f"{path}{joined}after={last}", *([] if body is None else [body])).ok(status)
        if status == 409:
            holds("bayesd-number" not in reply.headers, reply.headers)
            continue
        number = number_of(reply)
        holds(number > last, f"{method} {path}: {number} after {last}")
        holds(node.applied() >= number, f"{method} {path}: {node.applied()} of {number}")
        last = number


def test_receipts_of_a_batch_have_theirs(nodes):
    """In a batch and in lines each receipt has the place of its document; the whole has that of the last one."""
    node = nodes.site(nodes=1).start().nodes[0]
    documents = [{"id": f"d{n}", "label": "ham", "text": "w1"} for n in range(4)]
    reply = node.client.post(PATH + "/train", {"documents": documents}).ok()
    numbers = [one["number"] for one in reply.json["results"]]
    equal(numbers, sorted(set(numbers)))
    equal(number_of(reply), numbers[-1])
    lines = "".join(json.dumps(dict(one, label="spam")) + "\n" for one in documents)
    reply = node.client.call("POST", PATH + "/train", lines, "application/x-ndjson").ok()
    numbers = [json.loads(line)["number"] for line in reply.body.splitlines()]
    equal(int(reply.headers["bayesd-number"]), numbers[-1])


def test_what_changes_nothing_has_none(nodes):
    node = nodes.site(nodes=1).start().nodes[0]
    node.client.post(PATH + "/train", {"id": "one", "label": "ham", "text": "w1"}).ok()
    for reply in (node.client.get(PATH).ok(), node.client.post(PATH + "/classify", {"text": "w1"}).ok(),
                  node.client.post(PATH + "/undo", {"source": "nobody"}).ok(),
                  node.client.post(PATH + "/undo", {"ids": ["one"], "dry_run": True}).ok(),
                  node.client.post(PATH + "/untrain", {"id": "none"})):
        holds("bayesd-number" not in reply.headers and "number" not in reply.json, reply.body)


def test_every_path_waits_for_a_number(nodes):
    """A node that has not heard of a change yet waits for it, and then knows it; the lists in pages by the header field."""
    site = nodes.site().start()
    node, behind = site.nodes[0], site.nodes[2]
    node.client.post(PATH + "/train", {"id": "one", "label": "ham", "text": "w1 w2"}).ok()
    reads = [("GET", PATH, None), ("GET", PATH + "/documents/one", None), ("GET", PATH + "/vocabulary?label=ham", None),
             ("GET", PATH + "/export", None), ("POST", PATH + "/classify", {"text": "w1"}),
             ("POST", PATH + "/tokenize", {"text": "w1"}), ("POST", "/v1/classify", {"models": ["shared"], "text": "w1"})]
    site.network.delay(behind.name, 0.4)
    for turn, (method, path, body) in enumerate(reads):
        document = {"id": "one", "label": "ham", "text": f"w1 w{turn}"}
        number = number_of(node.client.post(PATH + "/train", document).ok())
        holds(behind.applied() < number, "it is behind")
        joined = "&" if "?" in path else "?"
        behind.client.call(method, f"{path}{joined}after={number}", *([] if body is None else [body])).ok()
        holds(behind.applied() >= number, f"{method} {path}: {behind.applied()} of {number}")
    number = number_of(node.client.put(path_of("another"), {}).ok(201))
    names = [one["name"] for one in behind.client.get("/v1/models?after=a", Bayesd_After=str(number)).ok().json["models"]]
    equal(names, ["another", "shared"])


def test_numbers_that_never_come(nodes):
    """A place that the stream does not have yet is waited for until `patience` is over; what is no number is refused."""
    site = nodes.site(nodes=1, settings={"nodes": {"patience": 1}}).start()
    client = site.nodes[0].client
    number = number_of(client.post(PATH + "/train", {"id": "one", "label": "ham", "text": "w1"}).ok())
    begin = time.monotonic()
    reply = client.get(f"{PATH}?after={number + 1000}")
    equal(reply.status, 503, reply.body)
    holds(reply.headers.get("retry-after"), reply.headers)
    holds(time.monotonic() - begin < patience(10), "in time")
    for path in (PATH + "?after=-1", PATH + "?after=x", PATH + "?after=", PATH + "?after=1&after=2"):
        refused(client.get(path), 400, "after")
    refused(client.get("/v1/models", Bayesd_After="x"), 400, "Bayesd-After")
    equal(client.get("/readyz").status, 200)


def test_a_bayesd_that_is_alone(nodes):
    """It has no numbers, and says that it is alone."""
    client = nodes.site(nodes=1, shared=False).start().nodes[0].client
    reply = client.post(PATH + "/train", {"id": "one", "label": "ham", "text": "w1"}).ok()
    holds("number" not in reply.json and "bayesd-number" not in reply.headers, reply.headers)
    refused(client.get(PATH + "?after=1"), 409, "[nodes]")


def test_the_client_sends_a_number(nodes):
    """bayesc --after waits as the header field does."""
    site = nodes.site().start()
    site.network.delay(site.nodes[1].name, 0.4)
    number = number_of(site.nodes[0].client.post(PATH + "/train", {"id": "one", "label": "ham", "text": "w1"}).ok())
    client = os.path.join(os.path.dirname(nodes.binary), "bayesc")
    done = subprocess.run([client, "models", "--json", "--after", str(number), "-u", f"http://127.0.0.1:{site.nodes[1].port}"],
                          capture_output=True, text=True, check=True)
    equal([one["name"] for one in json.loads(done.stdout)["models"]], ["shared"])


def test_the_python_client_sends_a_number(nodes):
    """What `after` of bayesd.py is set to goes with every request."""
    site = nodes.site().start()
    site.network.delay(site.nodes[1].name, 0.4)
    here, there = (Bayesd(f"http://127.0.0.1:{node.port}", timeout=patience(30)) for node in site.nodes[:2])
    with here, there:
        there.after = here.train("shared", "w1 w2", "ham", id="one")["number"]
        equal(there.document("shared", "one")["label"], "ham")
        there.after = here.train("shared", "w1 w2", "spam", id="one")["number"]
        holds(b"spam" in b"".join(there.export("shared")), "a reply that is a stream waits, too")
