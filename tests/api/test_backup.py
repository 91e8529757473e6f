# SPDX-License-Identifier: Apache-2.0
"""A backup of the whole store while it serves, and its restoration: all of it or nothing."""
import errno
import hashlib
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import time

from faults import Faults
from harness import clean_environment, equal, holds, patience, refused, sanitized, slow, wait_for
from load import Load
from test_client import DATAERR, NOINPUT, USAGE, Bayesc

PATH = "/v1/models/backup"
TOKENS = {"classify": "c" * 16, "train": "t" * 16, "admin": "a" * 16}


# ---- helpers ------------------------------------------------------------------------------------
def filled(api, models=3, documents=40, **how):
    """A daemon with several models, one of them deleted."""
    daemon = api.another(**how).start()
    for m in range(models):
        daemon.client.put(f"/v1/models/m{m}", {"preset": "book"}).ok(201)
        for i in range(documents):
            daemon.client.post(f"/v1/models/m{m}/train", {"text": f"word{i} common{m} " + words(api.random, 60),
                                                          "label": "ab"[i % 2], "id": str(i)}).ok()
    daemon.client.delete("/v1/models/m0").ok(204)
    return daemon


def words(rng, size):
    return " ".join("x%d" % rng.randrange(10**9) for _ in range(size))


def backup_of(api, daemon, name="store.backup"):
    """The file's path, written by bayesc."""
    path = os.path.join(api.new_folder(), name)
    equal(Bayesc(api, f"http://{daemon.host}:{daemon.port}").run("backup", path).decode(), path + "\n")
    return path


def restore(api, path, data, status=0, words_of_it=()):
    done = api.tool("--restore", path, "--data", data)
    equal(done[0], status, done[1] + done[2])
    for word in words_of_it:
        holds(word in done[1] + done[2], f"{word!r} is not in {done[1] + done[2]!r}")
    return done[1]


def state(client, models):
    return [client.get(f"/v1/models/{m}").ok().json for m in models] + [
        client.post(f"/v1/models/{m}/classify", {"text": "word1 word2 common1"}).ok().json for m in models]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def written(api, content_):
    path = os.path.join(api.new_folder(), "file")
    with open(path, "wb") as file:
        file.write(content_)
    return path


def assert_empty(data):
    equal(os.listdir(data) if os.path.exists(data) else [], [], "after a refused restore")


# ---- what it gives back -------------------------------------------------------------------------
def test_bayesc_restores(api):
    """By the daemon's program beside it: the same check of the backup, the same exit status."""
    daemon = filled(api)
    path, client = backup_of(api, daemon), Bayesc(api)
    before = state(daemon.client, ("m1", "m2"))
    daemon.stop()
    data = os.path.join(api.new_folder(), "data")
    holds(b"restored; every count is what the documents say" in client.run("restore", path, data), "said")
    restored = api.another(data=data).start()
    equal(state(restored.client, ("m1", "m2")), before)
    restored.stop()
    client.run("restore", path, data, status=1)
    holds(data in client.said, client.said)
    client.run("restore", path + "-none", data, status=NOINPUT)
    client.run("restore", path, status=USAGE)
    # A copy that stands alone finds bayesd on the PATH, or says that there is none.
    alone = os.path.join(api.new_folder(), "bayesc")
    shutil.copy(client.path, alone)
    client.path = alone
    client.run("restore", path, data + "2", environment={"PATH": "/none"}, status=NOINPUT)
    holds("bayesd is not on this machine" in client.said, client.said)
    client.run("restore", path, data + "2", environment={"PATH": os.path.dirname(api.binary)})


def test_a_backup_gives_everything_back(api):
    daemon = filled(api)
    before = state(daemon.client, ("m1", "m2"))
    path = backup_of(api, daemon)
    daemon.stop()
    data = os.path.join(api.new_folder(), "new")
    holds("every count" in restore(api, path, data), "it is verified")
    equal(sorted(os.listdir(data)), ["data.mdb"])
    equal(os.stat(data).st_mode & 0o777, 0o700)
    equal(os.stat(os.path.join(data, "data.mdb")).st_mode & 0o777, 0o600)
    again = api.another(data=data).start()
    equal(state(again.client, ("m1", "m2")), before)
    refused(again.client.get("/v1/models/m0"), 404)
    # It goes on: ids are those of the same key, exact untraining and new documents work.
    equal(again.client.post("/v1/models/m1/train", {"text": "y", "label": "a", "id": "1"}).ok().json["status"], "relabelled")
    equal(again.client.post("/v1/models/m1/untrain", {"id": "2"}).ok().json["status"], "forgotten")
    again.stop()
    equal(api.tool("--verify", "--data", data)[0], 0)


def test_an_id_of_content_is_the_same_after_it(api):
    daemon = api.another().start()
    id = daemon.client.post(PATH + "/train", {"text": "some words", "label": "a"}).ok().json["id"]
    path = backup_of(api, daemon)
    data = os.path.join(api.new_folder(), "new")
    restore(api, path, data)
    again = api.another(data=data).start()
    equal(again.client.post(PATH + "/train", {"text": "some words", "label": "a"}).ok().json, {
        **again.client.post(PATH + "/train", {"text": "some words", "label": "a"}).ok().json, "id": id, "status": "unchanged"})


def test_an_empty_store_and_standard_input(api):
    daemon = api.another().start()
    file = Bayesc(api, f"http://{daemon.host}:{daemon.port}").run("backup", "-")
    data = os.path.join(api.new_folder(), "new")
    done = subprocess.run([api.binary, "--restore", "-", "--data", data], input=file, capture_output=True,
                          env=clean_environment(), check=False)
    equal(done.returncode, 0, done.stderr)
    equal(api.another(data=data).start().client.get("/v1/models").ok().json["models"], [])


def test_a_directory_gets_a_name_with_the_date(api):
    daemon, folder = api.another().start(), api.new_folder()
    name = Bayesc(api, f"http://{daemon.host}:{daemon.port}").run("backup", folder).decode().strip()
    holds(os.path.dirname(name) == folder and name.endswith("Z.backup"), name)
    equal(os.listdir(folder), [os.path.basename(name)])


def test_under_load_it_is_a_prefix(api):
    """What was acknowledged before a backup began is in it, whatever is trained meanwhile."""
    daemon = filled(api, models=2, documents=100)
    rng = random.Random(api.random.random())
    load = Load(rng, PATH).start(daemon)
    for round_ in range(3):
        holds(load.progress.wait(load.progress.count + 50, patience(60)), "the load does not get on")
        client = daemon.new_client()
        acknowledged = [client.post("/v1/models/m1/train", {"text": words(rng, 30), "label": "a", "id": f"r{round_}-{i}"}).ok().json["id"]
                        for i in range(20)]
        path = backup_of(api, daemon)
        data = os.path.join(api.new_folder(), "new")
        holds("every count" in restore(api, path, data), "the copy is consistent")
        again = api.another(data=data).start()
        for id in acknowledged:
            again.client.get(f"/v1/models/m1/documents/{id}").ok()
        again.stop()
    load.stop()
    load.settle(daemon.client)


# ---- what is refused ----------------------------------------------------------------------------
def test_damaged_files_are_refused(api):
    daemon = filled(api, models=2)
    whole = content(backup_of(api, daemon))
    exported = daemon.client.get("/v1/models/m1/export").ok().body
    holds(len(whole) > 10000, len(whole))
    rng, cases = api.random, []
    for at in (0, 5, 15, 16, 20, 40, len(whole) // 2, len(whole) - 12, len(whole) - 1):
        cases.append((whole[:at], "cut off" if at >= 16 else "no backup"))
    for at in [0, 14, 17, 30, len(whole) - 1] + [rng.randrange(len(whole)) for _ in range(12)]:
        cases.append((whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:], ""))
    cases += [(whole + b"x", "follows its end"), (whole + whole, "follows its end"), (b"", "too short"),
              (exported, "bayesc import"), (whole.replace(b"backup 1", b"backup 2", 1), "newer")]
    for broken, word in cases:
        data = os.path.join(api.new_folder(), "new")
        restore(api, written(api, broken), data, 1, (word,))
        assert_empty(data)
    restore(api, os.path.join(api.new_folder(), "nothing"), os.path.join(api.new_folder(), "new"), 1, ("No such file",))


def test_only_an_empty_directory_is_taken(api):
    daemon = filled(api, models=2, documents=5)
    path = backup_of(api, daemon)
    restore(api, path, daemon.data, 1, ("is not empty", "it has '"))
    daemon.stop()
    before = hashlib.sha256(content(os.path.join(daemon.data, "data.mdb"))).hexdigest()
    restore(api, path, daemon.data, 1, ("is not empty",))
    equal(hashlib.sha256(content(os.path.join(daemon.data, "data.mdb"))).hexdigest(), before)
    data = api.new_folder()  # is there, and empty but for what a restore that was killed has left
    os.makedirs(os.path.join(data, "restore"))
    with open(os.path.join(data, "restore", "data.mdb"), "wb") as file:
        file.write(b"half")
    os.mkdir(os.path.join(data, "lost+found"))
    restore(api, path, data)
    equal(sorted(os.listdir(data)), ["data.mdb", "lost+found"])


def test_a_full_disk_leaves_nothing(api):
    daemon = big(api, 100)
    path = backup_of(api, daemon)
    data = os.path.join(api.new_folder(), "new")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(100000, os.path.getsize(path) // 2), resource.RLIM_INFINITY))
    done = subprocess.run([api.binary, "--restore", path, "--data", data], capture_output=True, text=True,
                          env=clean_environment(), preexec_fn=limit, check=False)
    equal(done.returncode, 1, done.stdout + done.stderr)
    holds("committing to the store" in done.stderr, done.stderr)
    assert_empty(data)
    restore(api, path, data)


def test_killed_in_the_middle(api):
    """A restore that is killed at any moment leaves no store or the whole one, and can be repeated. The longest that
    it is left to itself comes closer to its length with each kill, however fast the machine is now."""
    daemon = filled(api, models=3, documents=150)
    path = backup_of(api, daemon)
    daemon.stop()
    size = os.path.getsize(os.path.join(daemon.data, "data.mdb"))
    begun = time.monotonic()
    restore(api, path, os.path.join(api.new_folder(), "new"))
    took = time.monotonic() - begun
    whole = 0
    for _ in range(12):
        data = os.path.join(api.new_folder(), "new")
        with subprocess.Popen([api.binary, "--restore", path, "--data", data], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=clean_environment()) as process:
            time.sleep(api.random.random() * took)
            process.kill()
            process.wait()
        if os.path.exists(os.path.join(data, "data.mdb")):
            whole += 1
            took *= 0.7
            holds(os.path.getsize(os.path.join(data, "data.mdb")) > size // 10, "half a store")
        else:
            took *= 1.2
            restore(api, path, data)
        equal(api.tool("--verify", "--data", data)[0], 0, "after a kill")
    holds(whole < 12, "no kill came in the middle")


def test_a_daemon_that_is_killed_leaves_no_backup(api):
    daemon, folder = big(api), api.new_folder()
    client = Bayesc(api, f"http://{daemon.host}:{daemon.port}")
    with slow_backup(daemon) as sock:  # not read: it waits in the middle
        daemon.kill()
        rest = b"".join(iter(lambda: sock.recv(65536), b""))
    holds(not rest.endswith(b"0\r\n\r\n"), "a backup that was cut off looks whole")
    client.run("backup", os.path.join(folder, "x"), status=69)
    equal(os.listdir(folder), [])


def big(api, documents=600, **how):
    """A daemon whose backup is larger than what sockets hold."""
    return filled_to_be_big(api, api.another(**how).start(), documents)


def filled_to_be_big(api, daemon, documents=600):
    for i in range(0, max(100, int(documents / min(slow(), 3))), 10):
        daemon.client.post(PATH + "/train", {"documents": [
            {"text": words(api.random, 4000), "label": "ab"[k % 2], "id": f"first-{i + k}"} for k in range(10)]}).ok()
    return daemon


def slow_backup(daemon):
    """A connection that asked for a backup and reads only its head."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(patience(30))
    sock.connect((daemon.host, daemon.port))
    sock.sendall(b"POST /v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    holds(b"200" in sock.recv(64), "it begins")
    return sock


def rest_of(sock):
    """The chunked body's bytes until the end or the cut."""
    pieces = []
    try:
        while piece := sock.recv(65536):
            pieces.append(piece)
            if pieces[-1].endswith(b"0\r\n\r\n"):
                break
    except OSError:
        pass
    return b"".join(pieces)


def a_slow_reader_loses_its_snapshot(api):
    """After backup_seconds the next change ends the backup; the space of old data is used again."""
    daemon = big(api, config={"store": {"backup_seconds": 1}})
    with slow_backup(daemon) as sock:
        rest = after_a_second(daemon, sock)
        wait_for(lambda: used_again(api, daemon), "pages are used again", 30)
    holds(b"it took too long" in rest and not rest.endswith(b"0\r\n\r\n"), "it says why it ends")
    wait_for(lambda: any("took too long" in line for line in daemon.lines), "the log says it")
    daemon.stop()


def after_a_second(daemon, sock):
    """What comes of a backup when a change is made later than a second after its begin."""
    time.sleep(1.2)
    daemon.client.post(PATH + "/train", {"text": "x", "label": "a"}).ok()
    return rest_of(sock)


def used_again(api, daemon):
    """Whether relabelling the same documents again and again has stopped to make the file larger."""
    def size():
        return os.path.getsize(os.path.join(daemon.data, "data.mdb"))
    before = size()
    for i in range(20):
        daemon.client.post(PATH + "/train", {"text": "y", "label": "ab"[api.random.randrange(2)], "id": "again"}).ok()
    return size() == before


def test_a_slow_reader_stops_no_growth(api):
    """The map of the store can grow while a backup waits for its reader: the backup is given up."""
    config = {"store": {"map_size": "1M"}, "server": {"timeout": 3600}}  # only growth may end it
    daemon = big(api, 100, config=config)
    with slow_backup(daemon) as sock:
        for i in range(200):
            daemon.client.post(PATH + "/train", {"text": words(api.random, 3000), "label": "a", "id": f"grow-{i}"}).ok()
        rest = rest_of(sock)
    holds(b"had to grow" in rest or rest.endswith(b"0\r\n\r\n"), "it says why it ends")
    daemon.stop()


def at_most_so_many_at_once(api):
    daemon = big(api, config={"store": {"backups": 1}})
    with slow_backup(daemon):
        refused(daemon.client.post("/v1/backup"), 503, "backups")
    wait_for(lambda: daemon.client.post("/v1/backup").status == 200, "the place is free again")
    daemon.stop()


def assert_told(daemon, before, rest):
    """A backup that is not whole has no last chunk, and the log says why."""
    lines = daemon.heard()[before:]
    if rest.endswith(b"0\r\n\r\n"):
        holds(any("backup sent" in line for line in lines), lines)
        return False
    wait_for(lambda: any("backup broken off" in line for line in daemon.heard()[before:]), "the log says so")
    lines = daemon.heard()[before:]
    holds(not any("backup sent" in line for line in lines), lines)
    holds(any("warning: reply broken off route=/v1/backup" in line and len(line.split(": ", 2)[2]) > 40 for line in lines), lines)
    return True


def test_what_fails_while_it_is_sent(api):
    """The disk is full and the store has to grow; memory runs out at one place after the other."""
    faults = Faults(api, config={"store": {"map_size": "1M"}, "server": {"timeout": 3600}})
    daemon = filled_to_be_big(api, faults.daemon.start(), 200)
    broken = 0
    for call in ("write", "map"):
        before = len(daemon.heard())
        with slow_backup(daemon) as sock:
            faults.fail(call, errno.ENOSPC)
            for i in range(10):
                daemon.client.post(PATH + "/train", {"text": words(api.random, 3000), "label": "a", "id": f"{call}-{i}"})
            broken += assert_told(daemon, before, rest_of(sock))
        faults.clear()
        wait_for(lambda: daemon.client.post(PATH + "/train", {"text": "x", "label": "a"}).status == 200, "it learns again", 30)
    for after in [] if sanitized() else range(0, 60, 1 if api.long else 12):
        before = len(daemon.heard())
        with slow_backup(daemon) as sock:
            faults.fail("memory", errno.ENOMEM, after, 1)
            broken += assert_told(daemon, before, rest_of(sock))
        faults.clear()
    holds(broken or sanitized(), "no backup was broken off")
    daemon.stop()


def test_a_client_that_goes_has_no_backup(api):
    """It has not read the end, which waits for it: the log does not say that the backup was sent."""
    daemon = big(api, 100)
    before = len(daemon.heard())
    with slow_backup(daemon):
        time.sleep(0.5)
    wait_for(lambda: any("backup broken off" in line for line in daemon.heard()[before:]), "the log says so")
    holds(not any("backup sent" in line for line in daemon.lines[before:]), daemon.lines[before:])
    daemon.stop()


def test_classifying_goes_on_and_a_stop_does_not_wait(api):
    daemon = big(api, config={"server": {"stop_seconds": 1}})
    with slow_backup(daemon), slow_backup(daemon):
        for _ in range(20):
            daemon.client.post(PATH + "/classify", {"text": "word"}).ok()
        daemon.stop(seconds=10)


def test_a_slow_reader_may_not_keep_old_data_for_ever(api):
    a_slow_reader_loses_its_snapshot(api)


def test_at_most_so_many_at_once(api):
    at_most_so_many_at_once(api)


# ---- who may, and what the client does -----------------------------------------------------------
def test_it_needs_the_role_admin(api):
    daemon = api.another(config={"tokens": TOKENS}).start()
    for role, status in (("classify", 403), ("train", 403), ("admin", 200)):
        equal(daemon.client.post("/v1/backup", Authorization="Bearer " + TOKENS[role]).status, status, role)
    equal(daemon.client.post("/v1/backup").status, 401)


def test_damage_is_reported_and_makes_no_file(api):
    """A value that does not fit its checksum: the backup fails, and says so."""
    daemon = filled(api, models=3, documents=60)
    daemon.stop()
    path = os.path.join(daemon.data, "data.mdb")
    whole, client, seen = content(path), None, 0
    at = whole.find(b"common1")
    for at in range(len(whole) // 2, len(whole), 40000):
        with open(path, "wb") as file:
            file.write(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1:])
        if api.tool("--verify", "--data", daemon.data)[0] != 1:
            continue
        again = api.another(data=daemon.data).spawn()
        try:
            again.wait_ready()
        except AssertionError:
            continue  # damage of pages: the daemon does not start
        client, folder = Bayesc(api, f"http://{again.host}:{again.port}"), api.new_folder()
        reply = again.client.post("/v1/backup")
        if reply.status == 503:
            client.run("backup", os.path.join(folder, "x"), status=75)
            holds("damaged" in client.said, client.said)
            equal(os.listdir(folder), [])
            seen += 1
        again.kill()
        if seen == 2:
            break
    holds(seen > 0, "no damage was met")
