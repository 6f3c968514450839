# SPDX-License-Identifier: MIT
"""Patience: every wait of every test is a wait for a condition, with one shared timeout.

WEIR_TEST_TIMEOUT_SCALE stretches it, for sanitizer builds and for busy machines.
"""

import os
import time

SCALE = float(os.environ.get("WEIR_TEST_TIMEOUT_SCALE", "1"))
PATIENCE = 8.0 * SCALE
# "At once", as a peer can tell it on a busy machine.
AT_ONCE = 1.0 * SCALE


class NotInTime(AssertionError):
    """A condition that did not come."""


def wait_until(condition, what, patience=None):
    """Returns the first true value of condition(); `what` is words, or makes them at the end."""
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


def stays(condition, seconds):
    """True when condition() holds for the whole window: a window of measurement, not a wait."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            return False
        time.sleep(0.01)
    return bool(condition())
