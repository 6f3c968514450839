# SPDX-License-Identifier: MIT
"""Fixtures of the tests with real servers: those of the system tests, and servers from trees.py."""

import importlib.util
import os
import sys

import pytest

import trees
from harness import daemon as daemons
from harness.timing import wait_until
from servers import SLOW, Servers

SYSTEM = os.path.join(trees.REPOSITORY, "tests", "system", "conftest.py")


# Both files have to be called conftest.py, so the other one is a plugin by another name.
_spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM)
sys.modules["system_conftest"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["system_conftest"])
pytest_plugins = ["system_conftest"]


class Daemon(daemons.Daemon):
    """The state to which the daemon must return is that without a check in flight. A real server takes its
    time to answer, so there may be one at the start: the baseline is taken again when there is none."""

    def start(self):
        super().start()
        self.baseline = wait_until(self._rest, lambda: f"a moment without a check\n{self.log()[-2000:]}",
                                   SLOW)
        return self

    def _rest(self):
        now = self.snapshot()
        sockets = {link for link in now["fds"] if link.startswith("socket:")}
        return now if sockets <= now["listening"] else None


# What the fixture `weir` of the system tests starts.
daemons.Daemon = Daemon


@pytest.fixture
def servers(folder):
    """servers(NAME): the servers of one tree. Name it before `weir`, so that they end after the daemon."""
    used = []

    def get(name):
        why = trees.missing(name)
        if why:
            pytest.skip(f"{name} cannot be fetched: {why}")
        used.append(Servers(trees.Tree(name), folder))
        return used[-1]

    yield get
    for one in used:
        one.close()
