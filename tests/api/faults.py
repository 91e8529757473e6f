# SPDX-License-Identifier: Apache-2.0
"""A daemon whose calls of the system fail when a test says so (faults.c)."""
import errno
import mmap
import os
import struct
import subprocess
import time

from harness import sanitized

CALLS = ("write", "sync", "map", "truncate", "memory")
ARMED, ERROR, AFTER, SPAN, UNTIL, DELAY, FIRED, COUNT = range(8)
EVER = 1 << 60


class Faults:
    """Switches the faults of one daemon, which `daemon` is, not yet started."""

    def __init__(self, api, mount=None, **how):
        """`mount`: makes the command that mounts a disk at the data directory, or None (Faults.mount)."""
        folder = api.new_folder()
        self.path = os.path.join(folder, "faults")
        with open(self.path, "wb") as file:
            file.write(bytes(4096))
        self.file = open(self.path, "r+b")  # pylint: disable=consider-using-with
        self.page = mmap.mmap(self.file.fileno(), 4096)
        data = os.path.join(folder, "data")
        self.mount = None
        if mount is not None:
            os.mkdir(data)
            self.mount = mount(data)
            how["wrapper"] = self.mount or ()
        environment = {"LD_PRELOAD": self.shim(folder), "FAULTS": self.path, "FAULTS_DIR": data}
        if sanitized():  # the sanitizer wants to be the first library; here it may be the second
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        self.daemon = api.another(data=data, environment=environment, **how)

    @staticmethod
    def shim(folder):
        library = os.path.join(folder, "faults.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
        options = ["-DNO_MEMORY_FAULTS"] if sanitized() else []
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-shared", "-fPIC", *options, "-o", library,
                        source], check=True)
        return library

    def _put(self, field, value):
        struct.pack_into("<q", self.page, field * 8, value)

    def _get(self, field):
        return struct.unpack_from("<q", self.page, field * 8)[0]

    def fail(self, call, error=errno.EIO, after=0, span=EVER, seconds=None):
        """The calls number after+1 to after+span from now on fail; error 0: they write half. With
        `seconds`, only for so long."""
        self.clear()
        for field, value in ((ERROR, error), (AFTER, after), (SPAN, span), (FIRED, 0),
                             (UNTIL, 0 if seconds is None else time.monotonic_ns() + int(seconds * 1e9))):
            self._put(field, value)
        self._put(ARMED, 1 + CALLS.index(call))

    def clear(self):
        self._put(ARMED, 0)

    def delay(self, microseconds):
        """Every sync takes so much longer, those that wait already, too."""
        self._put(DELAY, microseconds)

    def hold(self):
        """No sync ends before the next delay()."""
        self._put(DELAY, EVER)

    @property
    def fired(self):
        """How many calls have failed since fail()."""
        return self._get(FIRED)

    def count(self, call):
        """How many calls there were (of memory: only while they may fail)."""
        return self._get(COUNT + CALLS.index(call))
