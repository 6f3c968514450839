# SPDX-License-Identifier: MIT
"""The driver that every daemon of this run is started with, where a test names none itself.

WEIR_TEST_DRIVER=epoll or io_uring; unset: what each configuration says.
"""

import functools
import os
import re
import subprocess

WANTED = os.environ.get("WEIR_TEST_DRIVER", "")
KNOWN = ("", "epoll", "io_uring")


@functools.cache
def unusable(binary):
    """Why there can be no ring here; None when there can."""
    said = subprocess.run([binary, "-vv"], capture_output=True, text=True, check=True, timeout=60).stdout
    word = re.search(r"(?m)^io_uring:  (.*)$", said)[1]
    return None if word == "usable" else f"io_uring is {word}"


def missing(binary):
    """Why no daemon of this run can have that driver; None when it can."""
    return unusable(binary) if WANTED == "io_uring" else None


def words(config):
    """What the command line of a daemon with this configuration says of it."""
    if not WANTED or re.search(r"(?m)^driver *=", config):
        return []
    return ["-o", f"global.driver={WANTED}"]


def line():
    """The same for [global] of a configuration that a test starts by itself."""
    return f"driver = {WANTED}\n" if WANTED else ""


def uses_uring(daemon):
    """Is it the ring that this daemon works with?"""
    return daemon.info()["driver"] == "io_uring"
