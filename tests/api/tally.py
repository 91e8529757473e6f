# SPDX-License-Identifier: Apache-2.0
"""Finds tests and counts them: shared by tests/api/run and tests/interop/run."""
import importlib
import os
import random
import time
import traceback


def collect(folder, is_wanted, shuffle=None):
    """[(module, [(name, function)])], in the order of their names and of the source; or the tests of each module in
    an order that the number `shuffle` chooses."""
    found = []
    for file in sorted(os.listdir(folder)):
        if not (file.startswith("test_") and file.endswith(".py")):
            continue
        module = importlib.import_module(file[:-3])
        tests = [(name, f) for name, f in vars(module).items()
                 if name.startswith("test_") and callable(f) and f.__module__ == module.__name__
                 and is_wanted(module, name)]
        if shuffle is not None:
            random.Random(f"{shuffle} {module.__name__}").shuffle(tests)
        if tests:
            found.append((module, tests))
    return found


SLOWEST = 20


class Tally:
    def __init__(self, times):
        self.passed = self.failed = 0
        self.times = times
        self.seconds = []  # (seconds, title) of each

    def run(self, title, function, *args):
        start = time.monotonic()
        try:
            function(*args)
            self.passed += 1
        except Exception as error:  # every failure is reported, none stops the others
            self.failed += 1
            print(f"FAILED {title}")
            frames = traceback.extract_tb(error.__traceback__)
            print("".join("    %s:%d %s\n" % (os.path.basename(f.filename), f.lineno, f.line)
                          for f in frames[1:]), end="")
            print(f"    {type(error).__name__}: {error}", flush=True)
        seconds = time.monotonic() - start
        self.seconds.append((seconds, title))
        if self.times:
            print("%8.2f s  %s" % (seconds, title), flush=True)

    def print_slowest(self):
        """With --times: the tests that took longest, once more, and the sum of all."""
        if not self.times:
            return
        print(f"the {SLOWEST} slowest of {sum(seconds for seconds, _ in self.seconds):.0f} s:")
        for seconds, title in sorted(self.seconds, reverse=True)[:SLOWEST]:
            print("%8.2f s  %s" % (seconds, title))
