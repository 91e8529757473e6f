# SPDX-License-Identifier: Apache-2.0
"""The power goes: any choice of what was written and not synced is lost, sector by sector, with lengths and names of files.

What is cut off and what comes first afterwards are test_crash's, and so is the judge: nothing that was
acknowledged is lost, and the store opens. POWER_ROUNDS=N sets how many rounds a run has, of one to three cuts each.
"""
import os
import random
import subprocess
import time

import test_crash as crash
from acknowledged import Acknowledged, verified
from harness import clean_environment, equal, holds, slow
from power import BYTES, Power, records_of


SLOW_DISK = 12000  # microseconds that each sync takes: there is most often something that is not durable


class World(crash.World):
    """test_crash's, whose kills are cuts of the power."""

    def __init__(self, api):  # pylint: disable=super-init-not-called
        self.api, self.rng = api, random.Random(api.random.random())
        self.power = Power(api, delay=SLOW_DISK, config=crash.CONFIG)
        self.daemon = self.power.daemon
        self.daemon.start()
        self.known, self.serial = Acknowledged(), 0
        self.small, self.large = crash.dump_of(api, *crash.SMALL), crash.dump_of(api, *crash.LARGE)
        self.cut = "m0"


def rounds_wanted(api):
    return int(os.environ.get("POWER_ROUNDS", 300 if api.long else 10))


def test_cuts_of_the_power(api):
    w = World(api)
    w.known.train(w.client, "m1", w.rows(20))
    rounds = rounds_wanted(api)
    for number in range(5 * rounds):
        if number >= rounds and w.power.taken > 0:
            break  # one cut in three takes something away; sixteen in a row that did not have been seen
        cut, hostile = crash.CUT[number % len(crash.CUT)], w.rng.choice(crash.HOSTILE)
        try:
            crash.one_round(w, cut, hostile, number % 8 == 0)
            crash.shrink(w)
        except AssertionError as error:
            raise crash.told(w, number, (cut.__name__, hostile.__name__), error) from error
    w.daemon.stop(seconds=30)
    print(f"{w.power.cuts} cuts of the power, {w.power.taken} files or names were set back", flush=True)
    holds(w.power.taken > 0, "no cut has taken anything away")


def test_the_account_of_what_is_durable(api):
    """The test itself: before an acknowledgement the journal is written and synced, and the log knows of both."""
    power = Power(api, config=crash.CONFIG)
    power.daemon.start()
    power.daemon.client.post("/v1/models/m/train", {"id": "a", "label": "spam", "text": "cheap pills"}).ok()
    files, names = power.account()
    equal(names, [], "names that are not durable behind an acknowledged document")
    journal = os.stat(os.path.join(power.data, "journal")).st_ino
    equal(journal in files, False, "the journal has bytes that are not durable behind an acknowledged document")
    with open(power.log, "rb") as file:
        holds(any(kind == BYTES and inode == journal for kind, inode, *_ in records_of(file.read())),
              "the log has no write to the journal")
    power.cut()


def cut_in(api, world, *arguments):
    """Runs bayesd with these arguments in the world's data, and cuts the power at a random moment."""
    world.power.begin()
    with subprocess.Popen([api.binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=clean_environment(**world.power.environment)) as process:
        time.sleep(world.rng.random() * 0.3 * slow())
        process.kill()
    world.power.roll_back()


def test_cuts_of_a_rebuild(api):
    """The fresh store takes the old one's place, whole, or not at all."""
    w = World(api)
    for _ in range(4):
        w.known.train(w.client, w.fresh(), w.rows(60))
    w.daemon.stop(seconds=30)
    for _ in range(max(4, rounds_wanted(api) // 3)):
        cut_in(api, w, "--rebuild", "--data", w.daemon.data)
        w.daemon.start()
        crash.judged(w)
        w.daemon.stop(seconds=30)
        verified(api, w.daemon.data)
