# SPDX-License-Identifier: MIT
"""Danger: one reload of many that loses a client, changes a byte, or leaves a descriptor behind.

A short run of tests/storm/storm.py; the times that it prints are no part of this test.
"""

import os
import subprocess
import sys

import pytest

from harness import driver
from harness.daemon import BINARY
from harness.timing import PATIENCE

STORM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "storm", "storm.py")
BUILD = os.environ.get("WEIR_BUILD") or os.path.dirname(os.path.dirname(os.path.abspath(BINARY)))
LOAD = os.path.join(BUILD, "tests", "storm", "storm_load")


@pytest.mark.skipif(not os.path.exists(LOAD), reason="no storm_load: set WEIR_BUILD")
@pytest.mark.parametrize("which", (driver.WANTED,) if driver.WANTED else ("epoll", "io_uring"))
def test_forty_reloads_under_traffic_are_noticed_by_nobody(which):
    why = driver.unusable(BINARY) if which == "io_uring" else None
    if why is not None:
        pytest.skip(why)
    done = subprocess.run(
        [sys.executable, STORM, "--build", BUILD, "--driver", which, "--reloads", "40", "--rate", "300",
         "--streams", "50", "--no-times"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith(" passed, 0 failed") and not last.startswith("0 "), done.stdout
