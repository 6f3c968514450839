# SPDX-License-Identifier: MIT
"""Fixtures of the tests with real servers: those of the system tests, and servers from trees.py."""

import importlib.util
import os
import sys

import pytest

import trees
from servers import Servers

SYSTEM = os.path.join(trees.REPOSITORY, "tests", "system", "conftest.py")


# Both files have to be called conftest.py, so the other one is a plugin by another name.
_spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM)
sys.modules["system_conftest"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["system_conftest"])
pytest_plugins = ["system_conftest"]


@pytest.fixture
def servers(folder):
    """servers(NAME): the servers of one tree. Name it before `weir`, so that they end after the daemon."""
    used = []

    def get(name):
        if not os.path.isdir(os.path.join(trees.FOLDER, name)):
            pytest.skip(f"{name} could not be fetched, or not yet: see the output of sh tests/real/run.sh")
        used.append(Servers(trees.Tree(name), folder))
        return used[-1]

    yield get
    for one in used:
        one.close()
