# SPDX-License-Identifier: Apache-2.0
"""Tokens that bayesd --new-token makes: their file, their roles, the models that they are for."""
import os
import shutil
import signal
import stat
import threading

import rspamd
from harness import equal, holds, refused, wait_for
from wire import Wire

MAIL = "From: a@example.org\r\nSubject: hello\r\nMessage-ID: <1@example.org>\r\n\r\ncheap pills\r\n"
NDJSON = "application/x-ndjson"


def new_token(api, folder, name, role, *more):
    status, out, err = api.tool("--data", folder, "--new-token", name, "--role", role, *more)
    equal(status, 0, err)
    token = out.strip()
    holds(len(token) >= 43 and "\n" not in token and token not in err, (out, err))
    return token


def bearer(token):
    return {"Authorization": "Bearer " + token}


def reload(daemon):
    """Waits until the daemon has read its configuration again, and returns what it said."""
    before = len(daemon.lines)
    os.kill(daemon.pid, signal.SIGHUP)
    return wait_for(lambda: [line for line in daemon.lines[before:] if "read again" in line], "a reload")[0]


# ---- the command --------------------------------------------------------------------------------
def test_a_new_token_opens_what_its_role_says(api):
    folder = api.new_folder()
    tokens = {role: new_token(api, folder, "the-" + role, role) for role in ("classify", "train", "admin")}
    equal(len(set(tokens.values())), 3)
    daemon = api.another(data=folder).start()
    call = daemon.client.call
    equal(call("GET", "/v1/models").status, 401)
    for role, statuses in (("classify", (200, 403, 403)), ("train", (200, 200, 403)), ("admin", (200, 200, 201))):
        headers = bearer(tokens[role])
        got = (call("GET", "/v1/models", **headers).status,
               call("POST", "/v1/models/m/train?label=x", "a", "text/plain", **headers).status,
               call("PUT", "/v1/models/new", {}, **headers).status)
        equal(got, statuses, role)
    document = call("POST", "/v1/models/m/train?label=x&id=i", "b", "text/plain", **bearer(tokens["train"])).ok()
    equal(document.json["status"], "learned")
    info = call("GET", "/v1/models/m/documents/i", **bearer(tokens["train"])).ok().json
    equal(info["source"], "the-train", "changes have the name of the token as their source")


def test_a_refusal_says_what_the_token_lacks(api):
    """403 names the role of the token, and the one that is needed; 401 tells a missing token from one that is unknown, or unknown
    since it was revoked."""
    folder = api.new_folder()
    tokens = {role: new_token(api, folder, "the-" + role, role) for role in ("classify", "train", "admin")}
    daemon = api.another(data=folder).start()
    call = daemon.client.call
    teach, settings = ("POST", "/v1/models/m/train?label=x", "a", "text/plain"), ("PUT", "/v1/models/m", {})
    for role, request, needed in (("classify", teach, "train or admin"), ("classify", settings, "admin"), ("train", settings, "admin")):
        refusal = refused(call(*request, **bearer(tokens[role])), 403, f"this token's role, {role}, does not reach: the request needs {needed}")
        equal(refusal["code"], "role_insufficient", refusal)
    for headers, code, said in (({}, "token_missing", "brings none"), (bearer("x" * 43), "token_unknown", "is not"),
                                ({"Authorization": "Basic eDp5"}, "token_missing", "brings none")):
        for request in (("GET", "/v1/models"), teach, settings):
            equal(refused(call(*request, **headers), 401, said)["code"], code, request)
    call("GET", "/v1/models", **bearer(tokens["train"])).ok()
    equal(api.tool("--data", folder, "--revoke-token", "the-train")[0], 0)
    reload(daemon)
    equal(refused(call("GET", "/v1/models", **bearer(tokens["train"])), 401, "is not")["code"], "token_unknown")
    # The log tells who was refused, never by which token.
    lines = daemon.heard()
    holds(any(" status=403 code=role_insufficient client=127.0.0.1" in line for line in lines), lines)
    holds(not any(token in line for line in lines for token in (*tokens.values(), "x" * 43)), lines)


def test_the_file_holds_no_token_and_is_the_daemons_alone(api):
    folder = api.new_folder()
    token = new_token(api, folder, "gateway", "train", "--models", "user-*,mail")
    path = os.path.join(folder, "tokens")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    holds(token not in text and token.split("_", 1)[1] not in text, text)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    status, out, err = api.tool("--data", folder, "--list-tokens")
    equal((status, err), (0, ""))
    equal([line.split()[:2] + line.split()[3:] for line in out.splitlines()], [["gateway", "train", "user-*,mail"]])
    holds("sha256" not in out, "hashes are for nobody")


def test_root_makes_it_for_the_owner_of_the_folder(api):
    if os.geteuid() != 0:
        return
    folder = api.new_folder()
    os.chown(folder, 12345, 12346)
    path = os.path.join(folder, "tokens")
    new_token(api, folder, "a", "train")
    equal((os.stat(path).st_uid, os.stat(path).st_gid), (12345, 12346))
    for owner in ((12345, 12346), (54321, 54322)):  # of the folder; then of the file
        os.chown(path, *owner)
        new_token(api, folder, f"b{owner[0]}", "train")
        status = os.stat(path)
        equal((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (*owner, 0o600))


def test_names_are_unique_and_revoked(api):
    folder = api.new_folder()
    token = new_token(api, folder, "a", "train")
    status, out, err = api.tool("--data", folder, "--new-token", "a", "--role", "admin")
    holds(status == 1 and not out and "already" in err, (status, out, err))
    new_token(api, folder, "b", "admin")
    equal(api.tool("--data", folder, "--revoke-token", "a")[0], 0)
    status, _, err = api.tool("--data", folder, "--revoke-token", "a")
    holds(status == 1 and "no token a" in err, err)
    equal([line.split()[0] for line in api.tool("--data", folder, "--list-tokens")[1].splitlines()], ["b"])
    daemon = api.another(data=folder).start()
    equal(daemon.client.get("/v1/models", **bearer(token)).status, 401)
    status, _, err = api.tool("--data", folder, "--new-token", "c", "--role", "admin",
                              environment={"BAYESD_TOKENS_TRAIN": "c=a-token-0123456789"})
    holds(status == 1 and "already" in err, err)


def test_bad_wishes(api):
    folder = api.new_folder()
    for arguments, status, word in ((("--new-token", "a"), 2, "--role"), (("--role", "train"), 2, "--new-token"),
                                    (("--new-token", "a b", "--role", "train"), 1, "name"),
                                    (("--new-token", "", "--role", "train"), 1, "name"),
                                    (("--new-token", "a" * 65, "--role", "train"), 1, "name"),
                                    (("--new-token", "a", "--role", "boss"), 1, "classify, train or admin"),
                                    (("--new-token", "a", "--role", "train", "--models", "a/b"), 1, "--models"),
                                    (("--new-token", "a", "--role", "train", "--models", ""), 1, "--models"),
                                    (("--new-token", "a", "--role", "train", "--models", "a" * 300), 1, "--models"),
                                    (("--revoke-token", "x/y"), 1, "name")):
        got, out, err = api.tool("--data", folder, *arguments)
        holds(got == status and word in err and not out, (arguments, got, err))
    equal(os.listdir(folder), [])
    status, _, err = api.tool("--data", folder + "/missing", "--new-token", "a", "--role", "train")
    holds(status == 1 and "missing" in err and "[tokens] file" in err, err)


def test_tokens_that_are_made_at_once_are_all_kept(api):
    folder = api.new_folder()
    threads = [threading.Thread(target=new_token, args=(api, folder, f"t{i}", "train")) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = sorted(line.split()[0] for line in api.tool("--data", folder, "--list-tokens")[1].splitlines())
    equal(listed, sorted(f"t{i}" for i in range(12)))


# ---- reading it again ---------------------------------------------------------------------------
def test_a_reload_takes_up_new_and_revoked_tokens(api):
    folder = api.new_folder()
    daemon = api.another(data=folder).start()
    daemon.client.get("/v1/models").ok()
    token = new_token(api, folder, "a", "admin")
    daemon.client.get("/v1/models").ok()  # until it is told
    reload(daemon)
    equal(daemon.client.get("/v1/models").status, 401)
    daemon.client.get("/v1/models", **bearer(token)).ok()
    other = new_token(api, folder, "b", "classify")
    equal(daemon.client.get("/v1/models", **bearer(other)).status, 401)
    equal(api.tool("--data", folder, "--revoke-token", "a")[0], 0)
    reload(daemon)
    equal(daemon.client.get("/v1/models", **bearer(token)).status, 401)
    daemon.client.get("/v1/models", **bearer(other)).ok()


def test_a_file_in_error_changes_nothing(api):
    folder = api.new_folder()
    path = os.path.join(folder, "tokens")
    token = new_token(api, folder, "a", "admin")
    daemon = api.another(data=folder).start()
    with open(path, encoding="utf-8") as file:
        good = file.read()
    for text in ("nonsense\n", good + "b boss 2026 * sha256:00\n", None):
        os.unlink(path)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        said = reload(daemon)
        holds("not read again" in said and (text is None or path + ":" in said), said)
        daemon.client.get("/v1/models", **bearer(token)).ok()
        equal(daemon.client.get("/v1/models").status, 401, "nobody is let in")
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
    with open(path, "w", encoding="utf-8") as file:
        file.write("nonsense\n")
    daemon.stop()
    again = api.another(data=folder).spawn()
    holds(again.wait(20) > 0 and path + ":1:" in again.output(), again.output())


def test_the_last_token_that_goes_opens_nothing(api):
    folder = api.new_folder()
    new_token(api, folder, "a", "admin")
    daemon = api.another(data=folder).start()
    equal(api.tool("--data", folder, "--revoke-token", "a")[0], 0)
    reload(daemon)
    equal(daemon.client.get("/v1/models").status, 401)
    daemon.stop()
    daemon = api.another(data=folder).start()
    equal(daemon.client.get("/v1/models").status, 401)


def test_a_restored_store_asks_for_the_tokens_that_are_put_beside_it(api):
    """A backup has none: what was protected must not be open for want of the file."""
    folder, other = api.new_folder(), api.new_folder()
    token = new_token(api, folder, "a", "admin")
    daemon = api.another(data=folder).start()
    daemon.client.call("POST", "/v1/models/m/train?label=x", "a", "text/plain", **bearer(token)).ok()
    backup = daemon.client.call("POST", "/v1/backup", **bearer(token)).ok().body
    holds(token.encode() not in backup and b"sha256" not in backup, "a backup holds tokens")
    daemon.stop()
    path = os.path.join(api.new_folder(), "backup")
    with open(path, "wb") as file:
        file.write(backup)
    shutil.copy(os.path.join(folder, "tokens"), other)
    status, out, err = api.tool("--data", other, "--restore", path)
    equal(status, 0, out + err)
    daemon = api.another(data=other).start()
    equal(daemon.client.get("/v1/models").status, 401)
    equal(daemon.client.get("/v1/models/m", **bearer(token)).ok().json["documents"], 1)


# ---- models -------------------------------------------------------------------------------------
def for_users(api, **config):
    """A daemon with the models mail, user-ann, user-bob and zoo, and a token of each role for user-*."""
    folder = api.new_folder()
    tokens = {role: new_token(api, folder, "u-" + role, role, "--models", "user-*") for role in ("classify", "train", "admin")}
    everything = new_token(api, folder, "all", "admin")
    daemon = api.another(data=folder, config={"filter": {"user_model": "user-%u"}} | config).start()
    for model in ("mail", "user-ann", "user-bob", "zoo"):
        daemon.client.call("POST", f"/v1/models/{model}/train?label=spam&id=i", "cheap pills", "text/plain", **bearer(everything)).ok()
    return daemon, tokens, everything


def test_a_mail_to_several_users_needs_a_token_for_all_of_them(api):
    daemon, tokens, everything = for_users(api)
    for names, status in ((["ann", "bob"], 200), (["ann"], 200)):
        fields = [("Deliver-To", name) for name in names]
        token = ("Password", tokens["classify"])
        reply = rspamd.ask(daemon, "/checkv2", b"Subject: a\n\nb\n", [*fields, token])
        equal(reply.status, status, names)
    daemon.stop()
    daemon, tokens, everything = for_users(api, filter={"user_model": "%u"})
    for names, status in ((["user-ann", "user-bob"], 200), (["user-ann", "zoo"], 403)):
        fields = [("Deliver-To", name) for name in names]
        reply = rspamd.ask(daemon, "/checkv2", b"Subject: a\n\nb\n", [*fields, ("Password", tokens["classify"])])
        equal(reply.status, status, names)
    daemon.stop()


def test_a_network_of_a_model_needs_a_token_for_the_model(api):
    daemon, tokens, everything = for_users(api)
    book = {"preset": "book", "fields": {"a": "category", "b": "category"}}
    for model in ("user-x", "other"):
        daemon.client.put("/v1/models/" + model, book, **bearer(everything)).ok(201)
        for n, values in enumerate(({"a": "u", "b": "x"}, {"a": "v", "b": "y"})):
            document = {"values": values, "label": str(n)}
            daemon.client.post(f"/v1/models/{model}/train", document, **bearer(everything)).ok()
    for model, status in (("user-x", 201), ("other", 403)):
        reply = daemon.client.post("/v1/networks/user-net", {"model": model}, **bearer(tokens["admin"]))
        equal(reply.status, status, model)
    daemon.stop()


def test_every_route_that_names_a_model_asks_for_it(api):
    """From the description of the API, so that a route that is added is asked, too."""
    daemon, tokens, everything = for_users(api)
    call = daemon.client.call
    paths = call("GET", "/openapi.json", **bearer(everything)).ok().json["paths"]
    asked = 0
    for path, methods in paths.items():
        if "{model}" not in path:
            continue
        for method in set(methods) & {"get", "put", "post", "delete", "patch"}:
            where = path.replace("{model}", "zoo").replace("{label}", "spam").replace("{id}", "i")
            reply = call(method.upper(), where, "{}" if method != "get" else None,
                         "application/json" if method != "get" else None, **bearer(tokens["admin"]))
            refused(reply, 403, "user-*", "zoo")
            asked += 1
    holds(asked >= 12, f"{asked} routes were found")
    rows = call("GET", "/v1/models", **bearer(everything)).ok().json["models"]
    equal([row["name"] for row in rows], ["mail", "user-ann", "user-bob", "zoo"], "and nothing happened")
    for model, status in (("user-ann", 200), ("user-", 200), ("user", 403), ("User-ann", 403), ("mail", 403), ("xuser-ann", 403)):
        for verb, role in (("train?label=x", "train"), ("tokenize", "classify")):
            equal(call("POST", f"/v1/models/{model}/{verb}", "cheap pills", "text/plain", **bearer(tokens[role])).status, status, (model, verb))
    equal(call("PUT", "/v1/models/user-new", {}, **bearer(tokens["admin"])).status, 201)
    equal(call("PUT", "/v1/models/new", {}, **bearer(tokens["admin"])).status, 403)
    equal(call("POST", "/v1/models/%75ser-ann/tokenize", "a", "text/plain", **bearer(tokens["classify"])).status, 200)
    equal(call("POST", "/v1/models/%7aoo/tokenize", "a", "text/plain", **bearer(tokens["classify"])).status, 403)
    lines = '{"text": "a", "label": "x"}\n' * 3
    equal(call("POST", "/v1/models/zoo/train", lines, NDJSON, **bearer(tokens["train"])).status, 403)


def test_lists_show_the_models_of_the_token(api):
    daemon, tokens, everything = for_users(api)
    for limit in (1, 2, 3, 100):
        names, after = [], ""
        while True:
            page = daemon.client.get(f"/v1/models?limit={limit}{after}", **bearer(tokens["classify"])).ok().json
            holds(len(page["models"]) <= limit, page)
            names += [row["name"] for row in page["models"]]
            if "next" not in page:
                break
            after = "&after=" + page["next"]
        equal(names, ["user-ann", "user-bob"], limit)
    refused(daemon.client.get("/metrics", **bearer(tokens["admin"])), 403, "user-*")
    daemon.client.get("/metrics", **bearer(everything)).ok()
    daemon.client.get("/readyz", **bearer(tokens["classify"])).ok()


def test_a_client_learns_what_it_may_do(api):
    folder = api.new_folder()
    token = new_token(api, folder, "ann", "train", "--models", "user-*,mail")
    daemon = api.another(data=folder).start()
    equal(daemon.client.get("/v1/access", **bearer(token)).ok().json, {"role": "train", "models": "user-*,mail", "token": "ann"})
    equal(daemon.client.get("/v1/access").status, 401)
    equal(api.another().start().client.get("/v1/access").ok().json, {"role": "admin", "models": "*", "token": ""}, "without tokens")


def test_mail_software_is_bound_to_its_models(api):
    daemon, tokens, _ = for_users(api)
    call = daemon.client.call

    def status(path, role, user):
        fields = {"Password": tokens[role]} | ({"Deliver-To": user} if user else {})
        return call("GET" if path == "/stat" else "POST", path, None if path == "/stat" else MAIL, **fields).status

    for user, want in (("ann", 200), ("eve", 200), (None, 403)):
        equal(status("/checkv2", "classify", user), want, user)
        equal(status("/learnham", "train", user), want, user)
        equal(status("/learnham", "classify", user), 403, user)
    equal(status("/stat", "classify", None), 403)
    names = [row["name"] for row in call("GET", "/v1/models", **bearer(tokens["classify"])).ok().json["models"]]
    equal(names, ["user-ann", "user-bob", "user-eve"])
    report = call("POST", "/checkv2", MAIL, Password=tokens["classify"], Deliver_To="eve").ok().json
    equal(list(report["symbols"]), ["BAYES_NOT_READY"], "the model of all is not asked")


def test_line_protocols_show_no_token_and_have_all_models(api):
    folder = api.new_folder()
    new_token(api, folder, "u", "admin", "--models", "user-*")
    daemon = api.another(data=folder, config={"tokens": {"trusted": "127.0.0.1"}}).start()
    with Wire(daemon) as wire:
        wire.send(f"CHECK SPAMC/1.5\r\nContent-length: {len(MAIL)}\r\n\r\n{MAIL}".encode())
        holds(wire.body({}).startswith(b"SPAMD/1.1 0 EX_OK"), "trusted")
