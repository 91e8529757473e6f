# SPDX-License-Identifier: Apache-2.0
"""Damaged and newer stores are refused by name, without a crash; one daemon at a time; growth."""
import ctypes
import os
import re
import resource
import shutil
import subprocess

from harness import equal, holds, refused, sanitized, slow
from prometheus import parse

PATH = "/v1/models/stored"
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PREINST = os.path.join(TOP, "debian", "bayesd.preinst")


def filled(api, documents=300):
    daemon = api.another().start()
    daemon.client.post(PATH + "/train", {"documents": [
        {"text": f"word{i} word{i * 7 % 100} common", "label": "ab"[i % 2], "id": str(i)} for i in range(documents)]}).ok()
    daemon.stop()
    return daemon.data


def data_file(data):
    return os.path.join(data, "data.mdb")


def copy_of(api, data):
    return shutil.copytree(data, os.path.join(api.new_folder(), "data"))


def assert_refused(api, data, *words):
    """A start on `data` ends by itself, with a message, without a signal."""
    daemon = api.another(data=data)
    daemon.spawn()
    status = daemon.wait(20)
    holds(status > 0, f"exit status {status}: {daemon.output()}")
    for word in words:
        holds(word in daemon.output(), f"does not say {word!r}: {daemon.output()}")
    code, out, err = api.tool("--verify", "--data", data)
    holds(code > 0, f"--verify: exit status {code}: {out}{err}")


def test_a_file_that_is_no_store(api):
    data = filled(api)
    size = os.path.getsize(data_file(data))
    for name, content in (("text", b"hello world\n" * 1000), ("zeros", b"\0" * size), ("noise", api.random.randbytes(size)),
                          ("few bytes", b"x")):
        bad = copy_of(api, data)
        with open(data_file(bad), "wb") as file:
            file.write(content)
        try:
            assert_refused(api, bad, bad)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def test_a_file_that_was_cut(api):
    data = filled(api, 3000)
    size = os.path.getsize(data_file(data))
    for keep in (100, 4096, 8192, size // 4, size // 2, size - 4096 * 3):
        bad = copy_of(api, data)
        os.truncate(data_file(bad), keep)
        try:
            assert_refused(api, bad)
        except AssertionError as error:
            raise AssertionError(f"cut to {keep} of {size}: {error}") from error


def test_damaged_heads(api):
    data = filled(api)
    for at, length in ((0, 8192), (16, 8), (4096 + 16, 8)):
        bad = copy_of(api, data)
        with open(data_file(bad), "r+b") as file:
            file.seek(at)
            file.write(b"\xa5" * length)
        if length == 8:  # one of the two heads: the other may serve, or it is refused
            ends_by_itself_or_serves(api, bad)
        else:
            assert_refused(api, bad)


def ends_by_itself_or_serves(api, data):
    daemon = api.another(data=data)
    daemon.spawn()
    try:
        daemon.wait_ready(20)
    except AssertionError:
        holds(daemon.process.returncode > 0, f"status {daemon.process.returncode}: {daemon.output()}")
        holds(daemon.output(), "no message")
        return False
    for path in ("/v1/models", PATH, PATH + "/documents/7", PATH + "/export", PATH + "/vocabulary?label=a"):
        reply = daemon.client.get(path)
        holds(reply.status in (200, 404, 503), f"{path}: {reply.status}")
    reply = daemon.client.post(PATH + "/classify", {"text": "word1 common"})
    holds(reply.status in (200, 404, 503), reply.status)
    daemon.stop()
    return True


def test_damaged_values_are_noticed(api):
    """Bytes of documents and words are changed: a clear error or 503, never a crash or other words."""
    data = filled(api)
    with open(data_file(data), "rb") as file:
        content = file.read()
    places = [i for i in range(len(content)) if content.startswith(b"word", i)]
    holds(places, "no word's text is in the store")
    for _ in range(10):
        bad = copy_of(api, data)
        with open(data_file(bad), "r+b") as file:
            file.seek(api.random.choice(places))
            file.write(b"WORD")
        ends_by_itself_or_serves(api, bad)
        status, out, err = api.tool("--verify", "--data", bad)
        holds(status >= 0, f"--verify ended by signal {-status}: {out}{err}")


# ---- versions -----------------------------------------------------------------------------------
XXH = ctypes.CDLL("libxxhash.so.0")
XXH.XXH3_64bits_withSeed.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
XXH.XXH3_64bits_withSeed.restype = ctypes.c_uint64


def checksum(table, key, value):
    """As core/store/lmdb_values.c makes it: over the table's name, the key and the value."""
    seed = XXH.XXH3_64bits_withSeed(key, len(key), XXH.XXH3_64bits_withSeed(table, len(table), 0))
    inner = XXH.XXH3_64bits_withSeed(value, len(value), 0).to_bytes(8, "little")
    return XXH.XXH3_64bits_withSeed(inner, 8, seed).to_bytes(8, "little")


def rewrite(data, table, change, seal=checksum):
    """Gives the values of a table of the store others: `change` of the key and the value, as bytes."""
    dump = subprocess.run(["mdb_dump", "-s", table, data], capture_output=True, check=True).stdout.decode()
    lines = dump.splitlines()
    first, end = lines.index("HEADER=END") + 1, lines.index("DATA=END")
    for at in range(first, end, 2):
        key, value = (bytes.fromhex(line.strip()) for line in lines[at:at + 2])
        equal(value[-8:], checksum(table.encode(), key, value[:-8]), "the checksum as this test computes it")
        new = change(key, value[:-8])
        if new != value[:-8]:
            lines[at + 1] = " " + (new + seal(table.encode(), key, new)).hex()
    subprocess.run(["mdb_load", "-s", table, data], input=("\n".join(lines) + "\n").encode(), check=True, capture_output=True)


def with_format(api, data, number, seal=checksum):
    """A copy of the store that says it has format `number`."""
    changed = copy_of(api, data)
    rewrite(changed, "meta", lambda key, value: bytes([number]) if key == b"format" else value, seal)
    return changed


def make_older(data):
    """The store as an older version leaves it: no model's state says which version computed its counts."""
    rewrite(data, "state", lambda key, value: value[:-1])
    rewrite(data, "meta", lambda key, value: bytes([9]) if key == b"format" else value)


def of_value_alone(_table, _key, value):
    """The checksum of format 1."""
    return XXH.XXH3_64bits_withSeed(value, len(value), 0).to_bytes(8, "little")


def test_a_newer_store_is_refused(api):
    data = filled(api)
    assert_refused(api, with_format(api, data, 99), "99", "newer")
    for number in (8, 9, 10):
        holds(ends_by_itself_or_serves(api, with_format(api, data, number)), f"format {number} is read")


def test_an_older_store_is_refused(api):
    data = filled(api)
    assert_refused(api, with_format(api, data, 1, of_value_alone), "format 1", "export every model")
    for number in range(2, 8):
        assert_refused(api, with_format(api, data, number), f"format {number}", "export every model")


def preinst(root):
    """What the package's script says before dpkg replaces the files of an installation in `root`."""
    done = subprocess.run(["sh", PREINST, "upgrade", "0.1.0"], env={**os.environ, "DPKG_ROOT": root}, check=False,
                          capture_output=True, encoding="utf-8", timeout=30)
    return done.returncode, done.stdout + done.stderr


def test_a_package_refuses_what_it_could_not_open(api):
    """Stores of other formats, before the program that reads them is replaced; also where `data` names another folder."""
    data = filled(api)
    root = api.new_folder()
    equal(preinst(root), (0, ""), "no store")
    for folder, configured in (("/var/lib/bayesd", ""), ("/srv/bayes", "[store]\n data = /srv/bayes\n")):
        os.makedirs(root + "/etc/bayesd", exist_ok=True)
        with open(root + "/etc/bayesd/bayesd.conf", "w", encoding="utf-8") as file:
            file.write("#data = /elsewhere\n" + configured)
        for number, is_read in ((7, False), (8, True), (9, True), (10, True), (11, False), (200, False)):
            shutil.rmtree(root + folder, ignore_errors=True)
            shutil.copytree(with_format(api, data, number), root + folder)
            code, said = preinst(root)
            equal((code, said == ""), (0, True) if is_read else (1, False), f"format {number} in {folder}: {said}")
            holds(is_read or f"format {number}" in said, said)
        shutil.rmtree(root + folder)
    with open(PREINST, encoding="utf-8") as file:
        script = file.read()
    with open(os.path.join(TOP, "core", "store", "store.h"), encoding="utf-8") as file:
        header = file.read()
    for name, here in (("NB_STORE_OLDEST_FORMAT", "OLDEST"), ("NB_STORE_FORMAT", "PRESENT")):
        equal(re.search(rf"(?m)^{here}=(\d+)$", script)[1], re.search(rf"{name} = (\d+)", header)[1], here)


def test_an_unsealed_value_is_refused(api):
    """A wrong checksum is damage, whatever the value says. One wrong byte would be put right."""
    data = filled(api)
    changed = copy_of(api, data)
    dump = subprocess.run(["mdb_dump", "-s", "meta", data], capture_output=True, check=True).stdout.decode()
    lines = dump.splitlines()
    at = lines.index(" " + b"format".hex()) + 1
    lines[at] = lines[at][:-4] + "%04x" % (int(lines[at][-4:], 16) ^ 0x0101)
    subprocess.run(["mdb_load", "-s", "meta", changed], input=("\n".join(lines) + "\n").encode(), check=True,
                   capture_output=True)
    assert_refused(api, changed, "damaged")


# ---- one daemon at a time -----------------------------------------------------------------------
def test_a_second_daemon_is_refused(api):
    daemon = api.another().start()
    daemon.client.post(PATH + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    second = api.another(data=daemon.data)
    second.spawn()
    status = second.wait(20)
    equal(status, 1, second.output())
    holds(daemon.data in second.output() and "in use" in second.output(), second.output())
    status, out, err = api.tool("--verify", "--data", daemon.data)
    holds(status > 0 and "in use" in out + err, f"--verify on a running daemon's data: {status} {out}{err}")
    daemon.client.post(PATH + "/train", {"text": "b", "label": "x", "id": "2"}).ok()
    daemon.kill()  # a lock of a daemon that is gone holds nobody up
    second = api.another(data=daemon.data).start()
    equal(second.client.get(PATH).ok().json["documents"], 2)
    second.stop()


def test_a_deleted_lock_file_lets_no_second_daemon_in(api):
    daemon = api.another().start()
    daemon.client.post(PATH + "/train", {"text": "a", "label": "x", "id": "1"}).ok()
    for name in ("lock", "lock.mdb"):
        os.unlink(os.path.join(daemon.data, name))
    second = api.another(data=daemon.data)
    second.spawn()
    equal(second.wait(20), 1, second.output())
    holds("in use" in second.output(), second.output())
    status, out, err = api.tool("--verify", "--data", daemon.data)
    holds(status > 0 and "in use" in out + err, f"--verify on a running daemon's data: {status} {out}{err}")
    daemon.client.post(PATH + "/train", {"text": "b", "label": "x", "id": "2"}).ok()
    daemon.stop()


def test_a_deleted_data_file_is_noticed(api):
    """Nothing is acknowledged that goes to a file which no start will find."""
    daemon = api.another().start()
    train = {"text": "a", "label": "x", "id": "1"}
    daemon.client.post(PATH + "/train", train).ok()
    os.rename(data_file(daemon.data), data_file(daemon.data) + ".away")
    problem = refused(daemon.client.post(PATH + "/train", {**train, "id": "2"}), 503)
    holds("deleted or replaced" in problem["detail"], problem)
    refused(daemon.client.get("/readyz"), 503, "deleted or replaced")
    daemon.client.post(PATH + "/classify", {"text": "a"}).ok()
    os.rename(data_file(daemon.data) + ".away", data_file(daemon.data))
    daemon.client.post(PATH + "/train", {**train, "id": "2"}).ok()
    daemon.client.get("/readyz").ok()
    daemon.stop()


def map_of(daemon):
    return parse(daemon.client.get("/metrics").ok().body.decode()).value("bayesd_store_map_bytes")


def test_the_store_grows_by_itself(api):
    """From a map of 1 MiB to tens: no request notices."""
    daemon = api.another(config={"store": {"map_size": "1M"}}).start()
    before = map_of(daemon)
    holds(before <= 4 << 20, f"the map has {before} bytes")
    rows = int(30000 / min(slow(), 6))
    for start in range(0, rows, 5000):
        body = "".join('{"text":"%s","label":"%s","id":"%d"}\n' % (
            " ".join(f"g{i}x{k}" for k in range(12)), "ab"[i % 2], i) for i in range(start, min(start + 5000, rows)))
        lines = daemon.client.post(PATH + "/train", body, "application/x-ndjson").ok().lines
        holds(all(line.get("status") == "learned" for line in lines), [l for l in lines if "error" in l][:2])
    row = daemon.client.get(PATH).ok().json
    equal((row["documents"], row["vocabulary"]), (rows, rows * 12))
    holds(os.path.getsize(data_file(daemon.data)) > (8 << 20) / min(slow(), 6), "the store is smaller than this test wants")
    after = map_of(daemon)
    holds(after > 2 * before, f"the map has {after} bytes, it had {before}")
    daemon.stop()
    daemon.start()
    equal(daemon.client.get(PATH).ok().json, row)
    daemon.stop()


def address_space(daemon):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmSize"))


def test_address_space_that_is_refused(api):
    """The map cannot grow: changes are refused, /readyz says why, verdicts go on; and on it goes when it can."""
    if sanitized():
        return  # a sanitizer takes more address space than any limit that could be set here
    daemon = api.another(config={"store": {"map_size": "1M"}}).start()
    # So much to write at once that the map has to grow for it.
    text = " ".join(f"word{i}" for i in range(90000))
    many = {"documents": [{"text": text, "label": "x", "id": str(i)} for i in range(12)]}
    daemon.client.put(PATH, {"preset": "book"}).ok(201)
    # The bags of the documents and the model's rows need some, too: these are mapped by blocks of 2 MB.
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (address_space(daemon) + (24 << 20), resource.RLIM_INFINITY))
    for _ in range(3):
        refused(daemon.client.post(PATH + "/train", many), 503, "address space")
        refused(daemon.client.get("/readyz"), 503, "address space")
        equal(daemon.client.get(PATH).ok().json["documents"], 0)
        daemon.client.get("/healthz").ok()
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    daemon.client.post(PATH + "/train", {"text": "a b", "label": "x", "id": "1"}).ok()
    daemon.client.get("/readyz").ok()
    equal(daemon.client.get(PATH).ok().json["documents"], 1)
    daemon.stop()


def test_little_address_space(api):
    """The map takes a quarter of a limited address space, and the rest is enough."""
    if sanitized():
        return  # a sanitizer takes more address space than any limit that could be set here
    limit = 1 << 30
    daemon = api.another(preexec=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))).start()
    equal(map_of(daemon), limit / 4)
    for label, text in (("a", "one two"), ("b", "three four")):
        daemon.client.post(PATH + "/train", {"text": text, "label": label}).ok()
    equal(daemon.client.post(PATH + "/classify", {"text": "three"}).ok().json["label"], "b")
    daemon.client.get("/readyz").ok()
    daemon.stop()


def test_verify(api):
    data = filled(api)
    status, out, err = api.tool("--verify", "--data", data)
    equal(status, 0, out + err)
    none = os.path.join(api.new_folder(), "none")
    for missing in (none, os.path.dirname(none)):
        status, out, err = api.tool("--verify", "--data", missing)
        holds(status > 0 and "no store" in err, f"{missing}: {status}: {out}{err}")
    holds(not os.path.exists(none), "--verify has made a store")


def test_many_models_within_the_memory(api):
    """Cold models leave memory and come back as they were."""
    daemon = api.another(config={"store": {"memory": "1M"}}).start()
    client = daemon.client
    for i in range(60):
        client.post(f"/v1/models/m{i}/train", {"documents": [
            {"text": " ".join(f"w{i}x{k}" for k in range(400)), "label": "a", "id": "1"},
            {"text": f"only{i} common", "label": "b", "id": "2"}]}).ok()
    for i in list(range(60)) + list(range(0, 60, 7)):
        row = client.get(f"/v1/models/m{i}").ok().json
        equal((row["documents"], row["vocabulary"]), (2, 402))
        equal(client.post(f"/v1/models/m{i}/classify", {"text": f"only{i}"}).ok().json["label"], "b")
    equal(len(client.get("/v1/models").ok().json["models"]), 60)
    daemon.stop()
