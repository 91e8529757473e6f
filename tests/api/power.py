# SPDX-License-Identifier: Apache-2.0
"""A daemon whose machine loses its power: what it has not synced may be gone, in any choice (power.c)."""
import mmap
import os
import struct
import subprocess
import time

from harness import equal, sanitized

BYTES, SYNCED, RANGE_SYNCED, CREATED, LINKED, REMOVED, RENAMED, WRITABLE_MAP = range(1, 9)
RECORD = struct.Struct("<5Q")
SECTOR = 512


def records_of(log):
    """(kind, inode, at, size, bytes) of each record; a last one that is cut off was before a call that was not made."""
    at = 0
    while at + RECORD.size <= len(log):
        kind, inode, offset, size, length = RECORD.unpack_from(log, at)
        at += RECORD.size
        if at + length > len(log):
            return
        yield kind, inode, offset, size, log[at:at + length]
        at += length


class Unsynced:
    """What of one file is not durable: the versions of its sectors, oldest first, and its durable length."""

    def __init__(self):
        self.sectors, self.size = {}, None

    def add(self, at, size, old):
        if self.size is None:
            self.size = size
        count = max(1, -(-len(old) // SECTOR))
        for i in range(count):
            self.sectors.setdefault(at // SECTOR + i, []).append(old[i * SECTOR:(i + 1) * SECTOR])

    def synced(self, at, size):
        for sector in range(at // SECTOR, -(-(at + size) // SECTOR)):
            self.sectors.pop(sector, None)
        if self.size is not None:
            self.size = max(self.size, at + size)

    def roll_back(self, path, rng, share):
        """Each sector keeps what was written last with the probability 1 - share, or has an older version, often the durable one."""
        now = os.path.getsize(path)
        with open(path, "r+b") as file:
            if self.size is not None and self.size != now and rng.random() < share:
                file.truncate(self.size)
                now = self.size
            for sector, versions in self.sectors.items():
                at = sector * SECTOR
                if at >= now or rng.random() >= share:
                    continue
                old = versions[0] if rng.random() < 0.7 else rng.choice(versions)
                file.seek(at)
                file.write(old.ljust(SECTOR, b"\0")[:now - at])


class Power:
    """The power of the machine of `daemon`, which is not yet started; each start begins a new account."""

    def __init__(self, api, delay=0, data=None, **how):
        """`delay`: microseconds that each sync takes."""
        self.rng, folder = api.random, api.new_folder()
        self.log, self.kept = os.path.join(folder, "power.log"), os.path.join(folder, "kept")
        os.mkdir(self.kept)
        pending = os.path.join(folder, "pending")
        with open(pending, "wb") as file:
            file.write(bytes(4096))
        with open(pending, "r+b") as file:
            self.pending = mmap.mmap(file.fileno(), 4096)
        self.data = os.path.join(folder, "data") if data is None else data
        self.environment = {"LD_PRELOAD": self.shim(folder), "POWER_LOG": self.log, "POWER_DIR": self.data,
                            "POWER_KEPT": self.kept, "POWER_PENDING": pending, "POWER_DELAY": str(delay)}
        if sanitized():  # the sanitizer wants to be the first library; here it may be the second
            self.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        self.cuts = self.taken = 0
        self.daemon = api.another(data=self.data, environment=self.environment, **how)
        self._kill, self._spawn = self.daemon.kill, self.daemon.spawn
        self.daemon.kill, self.daemon.spawn = self.cut, self.spawn
        self.begin()

    @staticmethod
    def shim(folder):
        library = os.path.join(folder, "power.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "power.c")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    def begin(self):
        """All that is there is durable."""
        with open(self.log, "wb"):
            self.pending[0:8] = bytes(8)
        for name in os.listdir(self.kept):
            os.unlink(os.path.join(self.kept, name))

    def spawn(self):
        self.begin()
        return self._spawn()

    def cut(self):
        """Kills the daemon, and takes away what was not durable, or some of it."""
        if not self.daemon.running():
            self._kill()
            return
        if self.rng.random() < 0.8:
            self.wait_for_a_write()
        self._kill()
        self.roll_back()

    def wait_for_a_write(self):
        """Until something is not durable, if that comes soon."""
        end = time.monotonic() + 0.05
        while self.pending[0] == 0 and time.monotonic() < end:
            time.sleep(0.0002)
        time.sleep(self.rng.random() * 0.006)

    def roll_back(self):
        files, names = self.account()
        share = self.rng.choice((0, 0.1, 0.5, 0.9, 1))
        found = {os.stat(path).st_ino: path for path in self.paths()}
        for inode, unsynced in files.items():
            if inode in found:
                unsynced.roll_back(found[inode], self.rng, share)
                self.taken += share > 0 and bool(unsynced.sectors)
        lost = self.rng.randrange(len(names) + 1) if share < 1 else len(names)
        for kind, first, second, kept in reversed(names[len(names) - lost:]):
            self.undo(kind, first, second, kept)
        self.taken += lost
        self.cuts += 1
        self.begin()

    def paths(self):
        for folder in (self.data, self.kept):
            for place, _, names in os.walk(folder):
                yield from (os.path.join(place, name) for name in names)

    def account(self):
        """What is not durable: {inode: Unsynced}, and changes of names in their order."""
        files, names = {}, []
        with open(self.log, "rb") as file:
            log = file.read()
        for kind, inode, at, size, rest in records_of(log):
            if kind == BYTES:
                files.setdefault(inode, Unsynced()).add(at, size, rest)
            elif kind == RANGE_SYNCED and inode in files:
                files[inode].synced(at, size)
            elif kind == SYNCED:
                files.pop(inode, None)
                names = [row for row in names if row[0] != inode]
            elif kind == WRITABLE_MAP:
                equal(rest.decode(), None, "a file below the data directory is mapped for writing")
            elif kind in (CREATED, LINKED, REMOVED, RENAMED):
                names.append((inode, kind, *rest.decode().split("\0")))
        return files, [row[1:] for row in names]

    @staticmethod
    def undo(kind, first, second, kept):
        """A call of which the log has a record need not have been made."""
        def gone(path):
            if os.path.lexists(path):
                os.unlink(path)
        if kind == CREATED:
            gone(first)
        elif kind == LINKED:
            gone(second)
        elif kind == REMOVED and not os.path.lexists(first):
            if os.path.isdir(os.path.dirname(first)):  # else the folder has gone with what was in it
                os.link(kept, first)
        elif kind == RENAMED and not os.path.lexists(first) and os.path.lexists(second):
            os.rename(second, first)
            if kept:
                os.link(kept, second)
