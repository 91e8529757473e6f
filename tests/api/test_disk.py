# SPDX-License-Identifier: Apache-2.0
"""A full disk, a dying one, a directory without permission (503): nothing half done, and on again."""
import os
import random
import resource
import shutil
import signal
import subprocess
import threading

import test_backup
from acknowledged import verified
from faults import Faults
from harness import equal, holds, patience, refused, slow, wait_for
from load import Load

PATH = "/v1/models/disk"
NOBODY = 65534


# ---- a full disk --------------------------------------------------------------------------------
def small_mount(folder, size="16m"):
    """The command before a daemon that gives it so much of a tmpfs there, in a mount namespace of its own; None where
    nothing can be mounted."""
    script = f'mount -t tmpfs -o size={size} bayesd-test "{folder}" && exec "$@"'
    who = ["-m"] if os.geteuid() == 0 else ["-rm"]
    wrapper = ["unshare", *who, "sh", "-c", script, "sh"]
    probe = subprocess.run([*wrapper, "true"], capture_output=True, check=False)
    return wrapper if probe.returncode == 0 else None


class SmallDisk:
    """A disk of 16 MiB that goes away with its daemon."""
    words = "No space left"

    def __init__(self, api):
        self.mount, self.daemon = api.new_folder(), None
        wrapper = small_mount(self.mount)
        if wrapper:
            self.daemon = api.another(data=os.path.join(self.mount, "data"), wrapper=wrapper)

    def filler(self):
        """The daemon's view of the disk, from outside its namespace."""
        return f"/proc/{self.daemon.pid}/root{self.mount}/filler"

    def fill(self):
        with open(self.filler(), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass

    def free(self):
        os.unlink(self.filler())


class SmallFiles:
    """Where nothing can be mounted: files may not grow any further (write fails with EFBIG)."""
    words = "the file is at its limit"

    def __init__(self, api):
        self.daemon = api.another(preexec=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))

    def limit(self, size):
        resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def fill(self):
        self.limit(max(e.stat().st_size for e in os.scandir(self.daemon.data)))

    def free(self):
        self.limit(resource.RLIM_INFINITY)


def small_disk(api):
    disk = SmallDisk(api)
    return disk if disk.daemon else SmallFiles(api)


def new_words(rng, size):
    return " ".join("x%d" % rng.randrange(10**9) for _ in range(size))


def train_until_refused(daemon, rng, learned):
    """Learns ever new words until the disk is full; the refusal."""
    for i in range(100000):
        id = f"fill-{len(learned)}"
        reply = daemon.client.post(PATH + "/train", {"text": new_words(rng, 400), "label": "a", "id": id})
        if reply.status != 200:
            return id, reply
        learned.append(id)
    raise AssertionError("the disk never got full")


def test_a_full_disk(api):
    fill(api, small_disk(api))


def test_files_at_their_limit(api):
    fill(api, SmallFiles(api))


def fill(api, disk):
    """Refusals say which limit was met, and take nothing; what came before is there, and what comes after."""
    daemon = disk.daemon.start()
    client, learned = daemon.client, []
    for i in range(30):
        client.post(PATH + "/train", {"text": f"word{i} common", "label": "ab"[i % 2], "id": str(i)}).ok()
    disk.fill()
    id, reply = train_until_refused(daemon, api.random, learned)
    detail = refused(reply, 503)["detail"].lower()
    holds("space" in detail or "full" in detail, f"does not say that the disk is full: {detail}")
    holds("retry-after" in reply.headers, reply.headers)
    refused(client.get("/readyz"), 503)
    refused(client.get(f"{PATH}/documents/{id}"), 404)
    before = client.get(PATH).ok().json
    equal(before["documents"], 30 + len(learned))
    for verb, body in (("train", {"text": new_words(api.random, 400), "label": "b", "id": "0"}), ("untrain", {"id": "1"})):
        reply = client.post(f"{PATH}/{verb}", body)
        holds(reply.status in (200, 503), reply.status)  # little fits sometimes: then it is done wholly
        if reply.status == 503:
            refused(reply, 503, disk.words)
            equal(client.get(PATH).json, before)
        before = client.get(PATH).json
    client.post(PATH + "/classify", {"text": "word1 common"}).ok()
    holds(client.get("/healthz").status == 200, "healthz")
    disk.free()
    receipt = client.post(PATH + "/train", {"text": new_words(api.random, 400), "label": "a", "id": id}).ok().json
    equal(receipt["status"], "learned")
    client.get("/readyz").ok()
    before = client.get(PATH).json
    assert_same_after_restart(api, disk, before)


def assert_same_after_restart(api, disk, before):
    """A tmpfs goes with its daemon: what is there is judged by --verify before, on a copy."""
    daemon = disk.daemon
    if isinstance(disk, SmallDisk):
        copy = os.path.join(api.new_folder(), "data")
        daemon.signal(signal.SIGSTOP)
        shutil.copytree(f"/proc/{daemon.pid}/root{daemon.data}", copy)
        daemon.signal(signal.SIGCONT)
        daemon.stop()
        daemon = api.another(data=copy)
    else:
        daemon.stop()
    status, out, err = api.tool("--verify", "--data", daemon.data)
    equal(status, 0, out + err)
    daemon.start()
    equal(daemon.client.get(PATH).ok().json, before)
    daemon.stop()


def test_a_disk_that_fills_under_load(api):
    """Filled and freed again while four clients train: no acknowledged change is lost."""
    disk = small_disk(api)
    daemon = disk.daemon.start()
    load = Load(random.Random(api.random.random()), PATH).start(daemon)
    holds(load.progress.wait(100, patience(60)), "the load does not get on")
    for _ in range(3):
        disk.fill()
        fill_rest(daemon, api.random)
        disk.free()
        wait_for(lambda: daemon.client.post("/v1/models/rest/train", {"text": new_words(api.random, 3), "label": "a"}).status == 200,
                 "it goes on when there is space", 15)
        seen = load.progress.count
        holds(load.progress.wait(seen + 100, patience(60)), "the load does not get on")
    load.stop()
    load.settle(daemon.client)
    load.assert_model(daemon.client)
    daemon.client.delete("/v1/models/rest").ok(204)
    assert_same_after_restart(api, disk, daemon.client.get(PATH).json)


def fill_rest(daemon, rng):
    for _ in range(20000):
        if daemon.client.post("/v1/models/rest/train", {"text": new_words(rng, 400), "label": "a"}).status == 503:
            return
    raise AssertionError("the disk never got full")


def test_starting_on_a_full_disk(api):
    disk = SmallDisk(api)
    if disk.daemon is None:
        # Without a disk of our own: no file may be written at all.
        daemon = api.another(preexec=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                              resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))))
    else:
        daemon = disk.daemon
        at = daemon.command.index("-c") + 1
        daemon.command[at] = daemon.command[at].replace(
            " && exec", f' && {{ dd if=/dev/zero of="{disk.mount}/filler" bs=4k 2>/dev/null; true; }} && exec')
    daemon.spawn()
    status = daemon.wait(20)
    holds(status > 0, f"exit status {status}: {daemon.output()}")
    holds("space" in daemon.output().lower() or "large" in daemon.output().lower(), daemon.output())


def test_a_restore_that_fills_the_disk(api):
    """Whatever it is that does not fit any more, the first pages of all included, that is said."""
    daemon = api.another().start()
    for i in range(20):
        daemon.client.post(PATH + "/train", {"text": new_words(api.random, 400), "label": "a", "id": str(i)}).ok()
    path = test_backup.backup_of(api, daemon)
    daemon.stop()
    for kilobytes in (*range(4, 128, 4), 16 * 1024):
        for is_disk in (True, False):
            folder = api.new_folder()
            wrapper = small_mount(folder, f"{kilobytes}k") if is_disk else [
                "prlimit", f"--fsize={max(kilobytes, 16) * 1024}", "env", "--ignore-signal=XFSZ"]
            if wrapper is None:
                continue  # nothing can be mounted; that the files may not grow any further is the same to the store
            done = subprocess.run([*wrapper, api.binary, "--restore", path, "--data", os.path.join(folder, "data")],
                                  capture_output=True, text=True, check=False)
            fits = kilobytes == 16 * 1024
            equal(done.returncode, 0 if fits else 1, f"{kilobytes} KB: {done.stderr}")
            words = ["no space"] if is_disk else ["no space", "too large"]
            holds(fits or any(word in done.stderr.lower() for word in words), f"{kilobytes} KB: {done.stderr}")


# ---- a dying disk -------------------------------------------------------------------------------
def test_every_acknowledged_change_was_synced(api):
    """One client, one change at a time: each receipt has an fsync of its own before it."""
    faults = Faults(api)
    daemon = faults.daemon.start()
    for i in range(20):
        before = faults.count("sync")
        daemon.client.post(PATH + "/train", {"text": f"word{i}", "label": "a", "id": str(i)}).ok()
        holds(faults.count("sync") > before, f"document {i} was acknowledged before it was brought to the disk")
    before = faults.count("sync")
    daemon.client.post(PATH + "/untrain", {"id": "3"}).ok()
    holds(faults.count("sync") > before, "untrain")
    for verb, body in (("PUT", {"smoothing": 3.0}), ("DELETE", None)):
        before = faults.count("sync")
        holds(daemon.client.call(verb, PATH, body).status in (200, 204), verb)
        holds(faults.count("sync") > before, verb)
    daemon.stop()


def syncs_of_rounds(faults, clients, rounds, name):
    """How many syncs it takes that so many clients train one document after the other."""
    before = faults.count("sync")

    def train(number):
        client = faults.daemon.new_client()
        for i in range(rounds):
            client.post(PATH + "/train", {"text": f"word{i}", "label": "a", "id": f"{name}/{number}/{i}"}).ok()
        client.close()

    threads = [threading.Thread(target=train, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults.count("sync") - before


def test_clients_share_a_slow_sync(api):
    """Clients who wait for each receipt come into step: a commit for all, not one for each half. The daemon waits a
    quarter of a sync for them; on a machine with much else to do they may be later, and it takes another attempt."""
    clients, rounds, attempts = 8, 6, 12
    faults = Faults(api)
    faults.delay(100000)
    daemon = faults.daemon.start()
    daemon.client.post(PATH + "/train", {"text": "a first", "label": "a"}).ok()
    syncs = []
    while len(syncs) < attempts and not (syncs and syncs[-1] < 1.6 * rounds):
        syncs.append(syncs_of_rounds(faults, clients, rounds, len(syncs)))
    equal(client_row(daemon)["documents"], 1 + len(syncs) * clients * rounds)
    holds(syncs[-1] < 1.6 * rounds, f"{syncs} syncs for {rounds} rounds")
    daemon.stop()


def test_words_that_are_not_on_the_disk_yet_are_no_damage(api):
    """The counts are in memory before the disk has the texts: listings wait for the disk, or leave such words out."""
    faults = Faults(api)
    daemon = faults.daemon.start()
    client = daemon.client
    client.post(PATH + "/train", {"text": "first", "label": "a", "id": "0"}).ok()
    for word, question in (("one", "vocabulary?label=a"), ("two", "distribution?label=a"), ("three", "next"),
                           ("four", "sample?label=a&seed=1")):
        faults.delay(int(5e5 * slow()))
        training = threading.Thread(target=lambda word=word: daemon.new_client().post(
            PATH + "/train", {"text": word, "label": "a", "id": word}).ok())
        training.start()
        wait_for(lambda word=word: client.post(PATH + "/classify", {"text": word}).json["tokens"]["known"] == 1, "it is counted")
        client.get(f"{PATH}/{question}").ok()
        training.join()
        faults.delay(0)
        equal(client_row(daemon).get("state"), None, f"state after {question}")
    tokens = {row["token"] for row in client.get(PATH + "/vocabulary?label=a").ok().json["tokens"]}
    equal(tokens, {"first", "one", "two", "three", "four"})
    daemon.stop()


def test_a_change_of_a_whole_model_that_fails(api):
    """What is refused because the disk fails has not happened, also for the totals that later commits store."""
    faults = Faults(api)
    for change in (lambda client: client.delete(PATH), lambda client: client.put(PATH, {"preset": "text", "min_count": 2}),
                   lambda client: client.call("PATCH", PATH + "/labels/a", {"name": "c"}),
                   lambda client: client.delete(PATH + "/labels/a"), lambda client: client.post(PATH + "/undo", {"source": "http"})):
        client = faults.daemon.start().client
        client.post(PATH + "/train", {"text": "first", "label": "a", "id": "0"}).ok()
        faults.fail("sync")
        refused(change(client), 503)
        faults.clear()
        wait_for(lambda: client.get("/readyz").status == 200, "the disk is well again", 30)
        client.post(PATH + "/train", {"text": "one more", "label": "b", "id": "1"}).ok()
        equal({name: row["documents"] for name, row in client_row(faults.daemon)["labels"].items()}, {"a": 1, "b": 1})
        faults.daemon.stop()
        verified(api, faults.daemon.data)


def test_a_write_that_is_cut_short(api):
    """ext4 takes a part of the write that fills it, which LMDB calls an input/output error. Where there is no space, the
    client is told so; where there is, it is what it says."""
    faults = Faults(api, mount=small_mount)
    if faults.mount is None:  # nothing can be mounted here; the disk of the tests has space
        holds(os.statvfs(api.folder).f_bavail > 1000, "the disk of the tests is full")
    daemon = faults.daemon.start()
    disk = SmallDisk.__new__(SmallDisk)
    disk.daemon, disk.mount = daemon, daemon.data
    client = daemon.client
    client.post(PATH + "/train", {"text": "word", "label": "a", "id": "1"}).ok()

    def told(status, words):
        faults.fail("write", 0)
        reply = client.post(PATH + "/train", {"text": new_words(api.random, 4000), "label": "a", "id": "2"})
        faults.clear()
        holds(words in refused(reply, status)["detail"].lower(), reply.body)
        wait_for(lambda: client.get("/readyz").status == 200, "it serves again", 15)
    told(503, "input/output error")
    if faults.mount is not None:
        disk.fill()
        told(503, "no space left")
        disk.free()
    client.post(PATH + "/train", {"text": new_words(api.random, 4000), "label": "a", "id": "2"}).ok()
    equal(client.get(PATH).ok().json["documents"], 2)


def test_a_disk_that_fails(api):
    """What could not be brought to the disk is not acknowledged, not in force, and does not come back."""
    faults = Faults(api)
    daemon = faults.daemon.start()
    client = daemon.client
    for i in range(10):
        client.post(PATH + "/train", {"text": f"word{i} common", "label": "ab"[i % 2], "id": str(i)}).ok()
    before = client.get(PATH).ok().json
    faults.fail("sync")
    for body in ({"text": "never", "label": "a", "id": "never"}, {"text": "word1 common", "label": "a", "id": "1"}):
        reply = client.post(PATH + "/train", body)
        refused(reply, 503)
    refused(client.get("/readyz"), 503)
    equal(client.get(PATH).ok().json, before)
    refused(client.get(PATH + "/documents/never"), 404)
    client.post(PATH + "/classify", {"text": "common"}).ok()
    faults.clear()
    daemon.kill()
    daemon.start()
    equal(client_row(daemon), before)
    refused(daemon.client.get(PATH + "/documents/never"), 404)
    daemon.client.post(PATH + "/train", {"text": "on it goes", "label": "a", "id": "on"}).ok()
    daemon.stop()
    status, out, err = api.tool("--verify", "--data", daemon.data)
    equal(status, 0, out + err)


def client_row(daemon):
    return daemon.client.get(PATH).ok().json


# ---- permissions --------------------------------------------------------------------------------
def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def reachable(api):
    """A copy of the binary and a folder that an ordinary user reaches."""
    os.chmod(api.folder, 0o755)
    folder = api.new_folder()
    os.chmod(folder, 0o755)
    binary = shutil.copy(api.binary, os.path.join(folder, "bayesd"))
    os.chmod(binary, 0o755)
    return folder, binary


def assert_refuses_to_start(daemon, *words):
    daemon.spawn()
    status = daemon.wait(20)
    holds(status > 0, f"exit status {status}; it said: {daemon.output()}")
    for word in words:
        holds(word.lower() in daemon.output().lower(), f"does not say {word!r}: {daemon.output()}")


def unprivileged(api, data, binary):
    daemon = api.another(data=data, preexec=as_nobody if os.geteuid() == 0 else None)
    daemon.command = [binary if part == api.binary else part for part in daemon.command]
    return daemon


def test_a_directory_without_permission(api):
    folder, binary = reachable(api)
    data = os.path.join(folder, "data")
    os.mkdir(data, 0o555)
    assert_refuses_to_start(unprivileged(api, data, binary), data, "permission")
    assert_refuses_to_start(unprivileged(api, os.path.join(data, "below"), binary), data, "permission")


def test_files_without_permission(api):
    folder, binary = reachable(api)
    data = os.path.join(folder, "data")
    made = api.another(data=data).start()
    made.client.post(PATH + "/train", {"text": "a", "label": "x"}).ok()
    made.stop()
    for name in os.listdir(data):
        os.chmod(os.path.join(data, name), 0o444)
    os.chmod(data, 0o555)
    assert_refuses_to_start(unprivileged(api, data, binary), data, "permission")


def assert_files_of(user, data):
    for name in os.listdir(data):
        equal(os.stat(os.path.join(data, name)).st_uid, user, f"owner of {name}")


def served_to_nobody(api, data, binary):
    """By a daemon that is not root: its row of the model. It goes without its locks."""
    daemon = unprivileged(api, data, binary).start()
    row = daemon.client.get(PATH).ok().json
    daemon.client.post(PATH + "/train", {"text": "b", "label": "y", "id": "2"}).ok()
    daemon.client.post(PATH + "/untrain", {"id": "2"}).ok()
    daemon.stop()
    for name in ("lock", "lock.mdb"):
        os.unlink(os.path.join(data, name))
    return row


def test_what_root_repairs_stays_the_daemons(api):
    """--verify, --rebuild and --restore by root: what they make belongs to whom the directory belongs to."""
    folder, binary = reachable(api)
    data, other = os.path.join(folder, "data"), os.path.join(folder, "other")
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    for path in (data, other):
        os.mkdir(path, 0o700)
        os.chown(path, user, user)
    daemon = unprivileged(api, data, binary).start()
    daemon.client.post(PATH + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    backup = test_backup.backup_of(api, daemon)
    daemon.stop()
    before = served_to_nobody(api, data, binary)
    for arguments, place in ((("--verify",), data), (("--rebuild",), data), (("--restore", backup), other)):
        status, out, err = api.tool(*arguments, "--data", place)
        equal(status, 0, out + err)
        assert_files_of(user, place)
        got = served_to_nobody(api, place, binary) if place == data else client_row(unprivileged(api, place, binary).start())
        equal({**got, "labels": {k: v for k, v in got["labels"].items() if v["documents"]}},
              {**before, "labels": {k: v for k, v in before["labels"].items() if v["documents"]}}, arguments)


def test_a_data_path_that_is_no_directory(api):
    folder = api.new_folder()
    path = os.path.join(folder, "file")
    with open(path, "w", encoding="ascii") as file:
        file.write("x")
    assert_refuses_to_start(api.another(data=path), path)
    assert_refuses_to_start(api.another(data=path + "/below"), path)
