# SPDX-License-Identifier: MIT
"""Danger: one server of many that come and go loses a client, changes a byte, makes a total fall, or leaves a
descriptor behind.

A short run of tests/storm/churn.py.
"""

import os
import subprocess
import sys

import pytest

from harness import driver
from harness.daemon import BINARY
from harness.timing import PATIENCE

CHURN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "storm", "churn.py")
BUILD = os.environ.get("WEIR_BUILD") or os.path.dirname(os.path.dirname(os.path.abspath(BINARY)))
LOAD = os.path.join(BUILD, "tests", "storm", "storm_load")


@pytest.mark.skipif(not os.path.exists(LOAD), reason="no storm_load: set WEIR_BUILD")
@pytest.mark.parametrize("which", (driver.WANTED,) if driver.WANTED else ("epoll", "io_uring"))
def test_servers_that_come_and_go_under_traffic_are_noticed_by_nobody(which):
    why = driver.unusable(BINARY) if which == "io_uring" else None
    if why is not None:
        pytest.skip(why)
    done = subprocess.run(
        [sys.executable, CHURN, "--build", BUILD, "--driver", which, "--cycles", "300", "--rate", "300",
         "--streams", "50"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith(" passed, 0 failed") and not last.startswith("0 "), done.stdout
