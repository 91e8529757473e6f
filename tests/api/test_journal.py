# SPDX-License-Identifier: Apache-2.0
"""The file journal of the data directory: what single requests have changed is there after any crash, also one
that takes the power; it is shorter than what it saves; and what cannot be read is said."""
import os
import re
import shutil
import struct

from acknowledged import verified
from harness import equal, holds, wait_for

PATH = "/v1/models/m"
HEAD = 48  # bytes before the changes of a record


def journal_of(data):
    return os.path.join(data, "journal")


def train(client, number, words=40):
    client.post(PATH + "/train", {"id": f"d{number}", "label": "ab"[number % 2],
                                  "text": " ".join(f"w{(number * 31 + i * 7) % 500}" for i in range(words))}).ok()


def documents(client):
    """How many there are: they are the first ones that were learned, without a gap."""
    reply = client.get(PATH)
    if reply.status == 404:
        return 0
    count = reply.ok().json["documents"]
    for number in range(count + 3):
        equal(client.get(f"{PATH}/documents/d{number}").status, 200 if number < count else 404, f"d{number} of {count}")
    return count


def killed(api, count, config=None):
    """The data directory of a daemon that has learned so many documents, and was killed."""
    daemon = api.another(config=config).start()
    for number in range(count):
        train(daemon.client, number)
    daemon.kill()
    return daemon.data


def ends_of(data):
    """Where the records of the journal end that are in force."""
    with open(journal_of(data), "rb") as file:
        text = file.read()
    at, ends, number = 0, [0], 1
    while at + HEAD <= len(text):
        fields = struct.unpack_from("<6Q", text, at)
        if fields[3] != number or (number > 1 and fields[4] != before):
            break
        before = fields[0]
        at += (HEAD + fields[5] + 7) // 8 * 8
        ends.append(at)
        number += 1
    return ends


def copied(api, data):
    return shutil.copytree(data, os.path.join(api.new_folder(), "data"))


def test_a_kill_leaves_it_and_a_stop_does_not(api):
    data = killed(api, 20)
    holds(os.path.exists(journal_of(data)), os.listdir(data))
    verified(api, copied(api, data))
    daemon = api.another(data=data).start()
    equal(documents(daemon.client), 20)
    train(daemon.client, 20)
    daemon.kill()
    daemon.start()
    equal(documents(daemon.client), 21)
    daemon.stop()
    equal(os.path.exists(journal_of(data)), False, os.listdir(data))
    verified(api, data)


def test_a_journal_that_was_torn_off(api):
    """Each record that is whole is in force, and no other; the store is sound whatever the end looks like."""
    data = killed(api, 24)
    ends = ends_of(data)
    holds(len(ends) > 10, ends)
    cuts = [*ends[1:], *(api.random.randrange(ends[-1]) for _ in range(30 if api.long else 10))]
    seen = []
    for cut in sorted(cuts if api.long else api.random.sample(cuts, 10)):
        torn = copied(api, data)
        with open(journal_of(torn), "r+b") as file:
            file.truncate(cut)
            if api.random.random() < 0.5:  # a file of full length whose last blocks never came
                file.truncate(cut + 8192)
        if api.random.random() < 0.3:
            verified(api, copied(api, torn))
        daemon = api.another(data=torn).start()
        seen.append(documents(daemon.client))
        train(daemon.client, seen[-1])
        daemon.kill()
        daemon.start()
        equal(documents(daemon.client), seen[-1] + 1)
        daemon.stop()
        verified(api, torn)
    equal(seen, sorted(seen), "a longer journal has no less")


def told_of(text):
    """(records, bytes read, bytes of the file, whether an end may be missing) of the sentence about the journal; or None."""
    found = re.search(r"/journal: (\d+) records were read, (\d+) of (\d+) bytes(.*)", text)
    return found and (int(found[1]), int(found[2]), int(found[3]), "may be missing" in found[4])


def test_a_journal_that_was_cut_is_told(api):
    """--verify and the start say how much they could read, and whether an end may be missing."""
    data = killed(api, 24)
    ends, size = ends_of(data), os.path.getsize(journal_of(data))
    cuts = [(size, len(ends) - 1, False), (0, 0, True), (1, 0, True), (HEAD, 0, True), (size - 1, len(ends) - 1, True),
            (size // 2, None, True), *((ends[n], n, True) for n in (1, 5, len(ends) - 1)), (ends[5] + HEAD + 1, 5, True), (ends[5] + 9, 5, True)]
    for cut, records, is_cut in cuts:
        torn = copied(api, data)
        with open(journal_of(torn), "r+b") as file:
            file.truncate(cut)
        if records is None:
            records = len([end for end in ends if end <= cut]) - 1
        want = (records, ends[records], cut, is_cut)
        status, out, err = api.tool("--verify", "--data", copied(api, torn))
        equal((status, told_of(out)), (0, want), out + err)
        daemon = api.another(data=torn).start()
        line = [line for line in daemon.heard() if told_of(line)][0]
        equal((told_of(line), "warning" in line), (want, is_cut), line)
        if api.random.random() < 0.5:  # what is learned then is not told to be missing
            train(daemon.client, documents(daemon.client))
            daemon.kill()
            equal(told_of(api.tool("--verify", "--data", copied(api, torn))[1])[3], False)
            daemon.start()
        daemon.stop()
        status, out, err = api.tool("--verify", "--data", torn)
        equal((status, told_of(out)), (0, None), out + err)


def test_a_last_record_that_is_not_whole_is_told(api):
    """The file has its length, but the last blocks never came, or came wrong."""
    data = killed(api, 24)
    ends, size = ends_of(data), os.path.getsize(journal_of(data))
    for at, zeros in ((ends[-1] - 20, 20), (ends[-2] + HEAD, ends[-1] - ends[-2] - HEAD), (ends[-2] + 30, 200)):
        torn = copied(api, data)
        with open(journal_of(torn), "r+b") as file:
            file.seek(at)
            file.write(bytes(zeros))
        equal(os.path.getsize(journal_of(torn)), size)
        status, out, err = api.tool("--verify", "--data", torn)
        equal((status, told_of(out)), (0, (len(ends) - 2, ends[-2], size, True)), out + err)


def test_damage_in_its_middle_is_said(api):
    data = killed(api, 24)
    ends = ends_of(data)
    place = api.random.randrange(3, len(ends) - 2)
    with open(journal_of(data), "r+b") as file:
        file.seek(ends[place] + HEAD + 5)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    daemon = api.another(data=data)
    daemon.spawn()
    wait_for(lambda: daemon.process.poll() is not None, "it ends", 20)
    holds(daemon.process.returncode > 0 and f"at byte {ends[place]}" in daemon.output() and "--rebuild" in daemon.output(),
          daemon.output())
    status, out, err = api.tool("--rebuild", "--data", data)
    equal(status, 1, out + err)
    holds("journal" in out + err, out + err)
    daemon = api.another(data=data).start()
    count = documents(daemon.client)
    holds(0 < count < 24, count)
    train(daemon.client, count)
    daemon.kill()
    daemon.start()
    equal(documents(daemon.client), count + 1)
    daemon.stop()


def test_a_rebuild_has_what_is_in_it(api):
    data = killed(api, 15)
    status, out, err = api.tool("--rebuild", "--data", data)
    equal(status, 0, out + err)
    equal(sorted(name for name in os.listdir(data) if "journal" in name), ["journal.old"])
    daemon = api.another(data=data).start()
    equal(documents(daemon.client), 15)
    daemon.stop()


def test_an_older_data_file_is_refused(api):
    """Somebody has put yesterday's data.mdb beside today's journal."""
    daemon = api.another().start()
    train(daemon.client, 0)
    daemon.stop()
    older = copied(api, daemon.data)
    daemon.start()
    for number in range(1, 4):
        train(daemon.client, number)
    daemon.stop()
    daemon.start()
    train(daemon.client, 4)
    daemon.kill()
    shutil.copy(journal_of(daemon.data), older)
    status, out, err = api.tool("--verify", "--data", older)
    equal(status, 1, out + err)
    holds("journal" in err and "data.mdb" in err, err)
    os.remove(journal_of(older))
    verified(api, older)


def test_a_backup_has_what_is_in_it(api):
    daemon = api.another().start()
    for number in range(12):
        train(daemon.client, number)
    holds(os.path.exists(journal_of(daemon.data)), os.listdir(daemon.data))
    path = os.path.join(api.new_folder(), "backup")
    with open(path, "wb") as file:
        file.write(daemon.client.post("/v1/backup").ok().body)
    daemon.stop()
    data = os.path.join(api.new_folder(), "data")
    status, out, err = api.tool("--restore", path, "--data", data)
    equal(status, 0, out + err)
    daemon = api.another(data=data).start()
    equal(documents(daemon.client), 12)
    daemon.stop()


def written(daemon):
    """Bytes that the process has given to the kernel to write."""
    with open(f"/proc/{daemon.process.pid}/io", encoding="ascii") as file:
        return int(re.search(r"^wchar: (\d+)", file.read(), re.M)[1])


def written_by_single_documents(api, config):
    daemon = api.another(config=config).start()
    for number in range(50):
        train(daemon.client, number)
    before = written(daemon)
    for number in range(50, 250):
        train(daemon.client, number)
    made = written(daemon) - before
    equal(os.path.exists(journal_of(daemon.data)), config is None, os.listdir(daemon.data))
    daemon.stop()
    return made


def test_single_documents_write_less(api):
    usual, without = written_by_single_documents(api, None), written_by_single_documents(api, {"store": {"journal": 0}})
    holds(usual * 4 < without, f"{usual} bytes with it, {without} without")


def test_a_small_one_goes_into_the_store_often(api):
    """`journal` bounds the file, within one change and the room that is made for the next."""
    daemon = api.another(config={"store": {"journal": "16K"}}).start()
    for number in range(120):
        train(daemon.client, number, words=200)
    holds(os.path.getsize(journal_of(daemon.data)) <= 64 << 10, os.path.getsize(journal_of(daemon.data)))
    daemon.kill()
    daemon.start()
    equal(documents(daemon.client), 120)
    daemon.stop()
