# SPDX-License-Identifier: MIT
"""The driver that every daemon of this run is started with, where a test names none itself.

SLUICE_TEST_DRIVER=epoll or io_uring; unset: what each configuration says.
"""

import functools
import os
import re
import subprocess

WANTED = os.environ.get("SLUICE_TEST_DRIVER", "")
KNOWN = ("", "epoll", "io_uring")


@functools.cache
def missing(binary):
    """Why no daemon of this run can have that driver; None when it can."""
    if WANTED != "io_uring":
        return None
    said = subprocess.run([binary, "-vv"], capture_output=True, text=True, check=True, timeout=60).stdout
    word = re.search(r"(?m)^io_uring:  (.*)$", said)[1]
    return None if word == "usable" else f"SLUICE_TEST_DRIVER=io_uring, which is {word}"


def words(config):
    """What the command line of a daemon with this configuration says of it."""
    if not WANTED or re.search(r"(?m)^driver *=", config):
        return []
    return ["-o", f"global.driver={WANTED}"]


def uses_uring(daemon):
    """Is it the ring that this daemon works with?"""
    return daemon.info()["driver"] == "io_uring"
