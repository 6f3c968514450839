# SPDX-License-Identifier: MIT
"""The driver of every daemon in this run, unless its test names one.

WEIR_TEST_DRIVER=epoll or io_uring; unset: each configuration decides.
"""

import functools
import os
import re
import subprocess

WANTED = os.environ.get("WEIR_TEST_DRIVER", "")
KNOWN = ("", "epoll", "io_uring")


@functools.cache
def unusable(binary):
    """Why no ring can be created here; None if one can."""
    said = subprocess.run([binary, "-vv"], capture_output=True, text=True, check=True, timeout=60).stdout
    word = re.search(r"(?m)^io_uring:  (.*)$", said)[1]
    return None if word == "usable" else f"io_uring is {word}"


def missing(binary):
    """Why no daemon of this run can use that driver; None if it can."""
    return unusable(binary) if WANTED == "io_uring" else None


def words(config):
    """The words that select the driver on the command line of a daemon with this configuration."""
    if not WANTED or re.search(r"(?m)^driver *=", config):
        return []
    return ["-o", f"global.driver={WANTED}"]


def line():
    """The same as a line for [global], for a configuration that a test starts itself."""
    return f"driver = {WANTED}\n" if WANTED else ""


def uses_uring(daemon):
    """Does this daemon use io_uring?"""
    return daemon.info()["driver"] == "io_uring"
