# SPDX-License-Identifier: MIT
"""What the binary under test was built with; tests that need more are skipped, with the reason."""

import os
import subprocess

import pytest

from harness.daemon import BINARY

SAID = subprocess.run([BINARY, "-vv"], capture_output=True, text=True, check=False).stdout \
    if os.path.exists(BINARY) else ""


def has(library):
    """`library` as `weir -vv` names it."""
    return library in SAID


def needs(library):
    """A mark for a test or a module."""
    return pytest.mark.skipif(not has(library), reason=f"this weir was built without {library}")
