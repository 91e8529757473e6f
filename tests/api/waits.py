# SPDX-License-Identifier: Apache-2.0
"""How often the loops of a program ask the system what is ready (waits.c): a loop that turns without work asks all the time."""
import mmap
import os
import struct
import subprocess
import time

from harness import sanitized


class Waits:
    """`environment` is that of the program, which is not yet started."""

    def __init__(self, api):
        folder = api.new_folder()
        path = os.path.join(folder, "waits")
        with open(path, "wb") as file:
            file.write(bytes(4096))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)
        self.environment = {"LD_PRELOAD": self.shim(folder), "WAITS": path}
        if sanitized():  # the sanitizer wants to be the first library; here it may be the second
            self.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")

    @staticmethod
    def shim(folder):
        library = os.path.join(folder, "waits.so")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "waits.c")
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    @property
    def count(self):
        return struct.unpack_from("<q", self.page)[0]

    def during(self, seconds):
        """How many there are in the time to come."""
        before = self.count
        time.sleep(seconds)
        return self.count - before
