# SPDX-License-Identifier: MIT
"""Timeouts: every wait of every test is a wait for a condition, with one shared timeout.

WEIR_TEST_TIMEOUT_SCALE multiplies it, for sanitizer builds and busy machines.
"""

import os
import time

SCALE = float(os.environ.get("WEIR_TEST_TIMEOUT_SCALE", "1"))
PATIENCE = 8.0 * SCALE
# "At once", as far as a peer can tell on a busy machine.
AT_ONCE = 1.0 * SCALE


class NotInTime(AssertionError):
    """A condition that did not become true in time."""


def wait_until(condition, what, patience=None):
    """The first true value of condition(); `what` is a description, or a function that returns one."""
    patience = PATIENCE if patience is None else patience
    end = time.monotonic() + patience
    pause = 0.0005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            words = what() if callable(what) else what
            raise NotInTime(f"not within {patience:.1f} s: {words}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def quickest(measure, below, tries=3):
    """The shortest time that measure() returns, which a pause of a busy machine only makes longer: of several
    tries, unless one is below this."""
    times = []
    while len(times) < tries and not (times and min(times) < below):
        times.append(measure())
    return min(times)


def stays(condition, seconds):
    """True if condition() holds during the whole window, which is a measurement, not a wait."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            return False
        time.sleep(0.01)
    return bool(condition())
