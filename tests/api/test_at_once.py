# SPDX-License-Identifier: Apache-2.0
"""Everything that can be asked of a model, by several clients at once and while calls of the system fail: no model is
damaged, no reply is a fault of the daemon, and what is there afterwards is there after kill -9 and `--rebuild`, too."""
import errno
import http.client
import random
import shutil
import threading

from acknowledged import NDJSON, exported, fitted, lines_of, models_of, path_of, verified
from faults import CALLS, Faults
from harness import equal, holds, sanitized, wait_for

CONFIG = {"store": {"memory": "64K", "replay_features": 1000}}
REQUESTS = 250  # of each client
CLIENTS = 6
RECOVERY = 30  # seconds that it may take to serve again


def text(rng):
    return " ".join(f"w{rng.randrange(40)}" for _ in range(9))


def rows(rng, count):
    return [{"id": f"d{rng.randrange(50)}", "text": text(rng), "label": rng.choice(("a", "b", None))} for _ in range(count)]


def settings(rng, names):
    return {"history": rng.choice((0, 10)), "unlabelled_weight": rng.choice(("auto", 1, 0)),
            "decision": rng.choice(("bayes", "stacked")), "parent": rng.choice((None, *names))}


# What is asked of the model `path`: (method, path, body). `names` are all models.
ASKED = {
    "train": lambda rng, path, names: ("POST", path + "/train", {"documents": rows(rng, 5)}),
    "untrain": lambda rng, path, names: ("POST", path + "/untrain", {"id": f"d{rng.randrange(50)}"}),
    "delete": lambda rng, path, names: ("DELETE", path, None),
    "settings": lambda rng, path, names: ("PUT", path, settings(rng, names)),
    "derive": lambda rng, path, names: ("POST", f"{path}/from/{rng.choice(names)}", None),
    "rename": lambda rng, path, names: ("PATCH", f"{path}/labels/{rng.choice('abc')}",
                                        {"name": rng.choice("abc"), "merge": rng.random() < 0.5}),
    "delete label": lambda rng, path, names: ("DELETE", f"{path}/labels/{rng.choice('abc')}", None),
    "em": lambda rng, path, names: ("POST", path + "/em", None),
    "refit": lambda rng, path, names: ("POST", path + "/refit", None),
    "cluster": lambda rng, path, names: ("POST", path + "/cluster", {"clusters": 2, "seed": 1, "apply": "labels"}),
    "undo": lambda rng, path, names: ("POST", path + "/undo", {"source": "http"}),
    "remember": lambda rng, path, names: ("POST", path + "/classify?remember=1", {"text": text(rng), "id": f"d{rng.randrange(60)}"}),
    "label": lambda rng, path, names: ("POST", f"{path}/documents/d{rng.randrange(60)}/label", {"label": rng.choice("ab")}),
    "forget": lambda rng, path, names: ("DELETE", f"{path}/documents/d{rng.randrange(60)}", None),
    "several": lambda rng, path, names: ("POST", "/v1/classify", {"models": list(names), "text": text(rng)}),
    "backup": lambda rng, path, names: ("POST", "/v1/backup", None),
}
READ = ("", "/export", "/evaluation", "/next", "/history", "/vocabulary?label=a", "/distribution?label=a", "/sample?label=a&seed=1",
        "/documents/d1", "/sources", "/undo", "/quarantine", "/em")


def one_of(rng, names):
    path = path_of(rng.choice(names))
    kind = rng.choices((*ASKED, "read"), (40, 5, 5, 8, 5, 5, 5, 5, 5, 5, 5, 10, 10, 5, 5, 1, 40))[0]
    return ("GET", path + rng.choice(READ), None) if kind == "read" else ASKED[kind](rng, path, names)


def assert_sound(reply, what):
    """A store that grows may end what reads it for long."""
    holds(reply.status < 500 or (reply.status == 503 and b"grow" in reply.body), f"{what}: {reply.status} {reply.body[:300]}")


def assert_honest(reply, what):
    """While calls fail a request may be refused, but for no other reason."""
    holds(reply.status < 500 or reply.status == 503, f"{what}: {reply.status} {reply.body[:300]}")
    holds(b"damage" not in reply.body, f"{what}: {reply.body[:300]}")


def served(client):
    """{model: what is in it}, when nothing is left to be done."""
    fitted(client)
    probe = {"text": "w1 w2 w3 never"}
    return {name: (lines_of(exported(client, name)), client.get(path_of(name)).ok().json,
                   client.post(path_of(name) + "/classify", probe).body) for name in models_of(client)}


def assert_kept(api, daemon):
    """The same is served after a kill, and by a copy that is rebuilt."""
    want = served(daemon.client)
    daemon.kill()
    verified(api, daemon.data)
    copy = shutil.copytree(daemon.data, api.new_folder() + "/data")
    daemon.start()
    equal(served(daemon.client), want, "after kill -9")
    daemon.stop(seconds=60)
    status, out, err = api.tool("--rebuild", "--data", copy, seconds=120)
    equal(status, 0, f"--rebuild: {out}{err}")
    verified(api, copy)
    other = api.another(data=copy, config=CONFIG).start()
    equal(served(other.client), want, "after --rebuild")
    other.stop(seconds=60)


class Clients:
    """Ask for anything, each in a thread of its own."""

    def __init__(self, api, daemon, judge, may_be_cut):
        self.daemon, self.judge, self.may_be_cut = daemon, judge, may_be_cut
        self.names, self.faults = ("r0", "r1", "r2"), []
        self.threads = [threading.Thread(target=self.ask, args=(random.Random(api.random.random()),)) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def ask(self, rng):
        client = self.daemon.new_client(120)
        for _ in range(REQUESTS):
            method, path, body = one_of(rng, self.names)
            try:
                self.judge(client.once(method, path, body), f"{method} {path} {body}")
            except (OSError, http.client.HTTPException) as error:
                if not self.may_be_cut or not self.daemon.running():
                    self.faults.append(error)
                    break
                client.close()
            except AssertionError as error:
                self.faults.append(error)
                break
        client.close()

    def are_there(self):
        return any(thread.is_alive() for thread in self.threads)

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise AssertionError(f"{self.faults[0]!r}; the daemon said:\n{self.daemon.output()}") from self.faults[0]


def test_all_at_once(api):
    daemon = api.another(config=CONFIG).start()
    Clients(api, daemon, assert_sound, may_be_cut=False).join()
    assert_kept(api, daemon)


# ---- while calls fail ---------------------------------------------------------------------------
def failing(rng):
    """A call that fails a while from now, and how."""
    call = rng.choice([name for name in CALLS if name != "truncate" and not (name == "memory" and sanitized())])
    error = {"write": rng.choice((errno.EIO, errno.ENOSPC, 0)), "sync": errno.EIO}.get(call, errno.ENOMEM)
    return call, error, rng.randrange(400 if call == "memory" else 60), rng.choice((1, 1, 3))


def assert_serving(daemon, what):
    client = daemon.new_client()
    wait_for(lambda: client.get("/readyz").status == 200 and
             client.post(path_of("probe") + "/train", {"text": "probe", "label": "a", "id": "probe"}).status == 200,
             f"{what}: it serves again by itself", RECOVERY, 0.05)
    for name, row in models_of(client).items():
        equal(row.get("state"), None, f"{what}: state of {name}")
    client.close()


def test_all_at_once_while_calls_fail(api):
    faults = Faults(api, config={"store": {"map_size": "1M", **CONFIG["store"]}})
    daemon = faults.daemon.start()
    clients = Clients(api, daemon, assert_honest, may_be_cut=True)
    while clients.are_there():
        faults.fail(*failing(api.random))
        threading.Event().wait(0.1 * api.random.random())
        if not api.random.randrange(3):
            faults.clear()
            threading.Event().wait(0.1)
    faults.clear()
    clients.join()
    assert_serving(daemon, "afterwards")
    assert_kept(api, daemon)


def test_calls_that_fail(api):
    """One request at a time, of any kind; the call fails in it or in what the daemon does behind it."""
    faults, rng, names = Faults(api, config={"store": {"map_size": "1M", **CONFIG["store"]}}), api.random, ("a", "b", "child")
    daemon = faults.daemon.start()
    dumps = {}
    for name in names:
        daemon.client.put(path_of(name), {"history": 20, "parent": "a" if name == "child" else None}).ok(201)
        daemon.client.post(path_of(name) + "/train", {"documents": rows(rng, 60)}).ok()
        dumps[name] = exported(daemon.client, name)
    for number in range(150 if api.long else 40):
        method, path, body = one_of(rng, names)
        kind = None
        if not rng.randrange(8):
            name = rng.choice(names)
            method, path, body, kind = "PUT", path_of(name) + "/import", dumps[name], NDJSON
        fault, client = failing(rng), daemon.new_client()
        what = f"request {number}, {fault}, {method} {path}"
        faults.fail(*fault)
        try:
            reply = client.once(method, path, body, kind)
            holds(reply.status in (200, 201, 202, 204, 400, 404, 409, 422, 503), f"{what}: {reply.status} {reply.body[:300]}")
            holds(b"damage" not in reply.body, f"{what}: {reply.body[:300]}")
        except (OSError, http.client.HTTPException) as error:
            # Without memory there is no reply; nor is a failure told of what is partly in force.
            holds(fault[0] == "memory" or method != "GET", f"{what}: {error!r}")
        faults.clear()
        client.close()
        holds(daemon.running(), f"{what}: the daemon is gone:\n{daemon.output()}")
        assert_serving(daemon, what)
    assert_kept(api, daemon)
