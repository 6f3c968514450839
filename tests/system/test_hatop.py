# SPDX-License-Identifier: MIT
"""Danger: hatop, which operators of HAProxy know, shows nothing of weir or does not take a server out."""

import shutil

import pytest

from harness.run_time import stat
from harness.terminal import Terminal
from harness.timing import PATIENCE

HATOP = shutil.which("hatop")
pytestmark = pytest.mark.skipif(HATOP is None, reason="hatop is not installed")

TITLES = 11     # the line above the rows
NO_CHECK = "-"  # hatop's word for the status "no check"
# What an xterm sends.
DOWN, ESCAPE, F9, F10 = b"\x1bOB", b"\x1b", b"\x1b[20~", b"\x1b[21~"


class Hatop(Terminal):
    def __init__(self, daemon):
        super().__init__(80, 30, HATOP, "-i", "1", "-s", daemon.admin)

    def proxies(self):
        """{proxy: {name: its cells}} on the page of states."""
        found = {}
        for line in self.lines():
            if line.startswith(">>> "):
                found[line[4:]] = {}
            elif found and line and not line.startswith(" "):
                name, *cells = line.split()
                found[list(found)[-1]][name] = cells
        return found

    def status(self, proxy, name):
        return self.proxies().get(proxy, {}).get(name, ["", ""])[1]

    def selected(self):
        """The first word of the row that the cursor is on."""
        lines = self.lines()
        marked = [line.split() for at, line in enumerate(lines[TITLES + 1:], TITLES + 1)
                  if self.screen.buffer[at][0].reverse]
        return [row[0] for row in marked if row]

    def select(self, name):
        for _ in range(12):
            if self.selected() == [name]:
                return
            before = self.selected()
            self.press(DOWN)
            self.wait(lambda _, b=before: self.selected() != b, f"a row below {before}")
        raise AssertionError(f"no row {name}")


@pytest.fixture
def daemon(weir, peers):
    listener = peers.listen()
    return weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                f"server b = {listener.address}\nserver c = {listener.address} disabled\n"
                f"[backend db]\nserver main = {listener.address}\n")


def test_hatop_shows_servers_and_takes_them_out(daemon, closing):
    hatop = Hatop(daemon)
    closing.append(hatop)
    lines = hatop.wait(lambda _: hatop.status("web", "b") == NO_CHECK, "the servers")
    assert f" weir Version: {daemon.ask('show version').split()[-1]} " in lines[2]
    assert f"PID: {daemon.pid} " in lines[2]
    assert {name: cells[1] for name, cells in hatop.proxies()["web"].items()} == {
        "FRONTEND": "OPEN", "a": NO_CHECK, "b": NO_CHECK, "c": "MAINT", "BACKEND": "UP"}
    assert hatop.proxies()["db"].keys() == {"main", "BACKEND"}
    hatop.select("b")
    hatop.press(F10)
    hatop.wait(lambda _: hatop.status("web", "b") == "MAINT", "maintenance")
    assert stat(daemon, "b", "status", "web") == "MAINT"
    hatop.press(F9)
    hatop.wait(lambda _: hatop.status("web", "b") == NO_CHECK, "the end of maintenance")
    hatop.press(b"5")
    hatop.wait(lambda lines: "command line" in lines[TITLES], "the page of commands")
    for key in b"set server web/b state drain\r":
        hatop.press(bytes([key]))
    hatop.press(ESCAPE + b"1")
    hatop.wait(lambda _: hatop.status("web", "b") == "DRAIN", "a server that drains")
    assert stat(daemon, "b", "status", "web") == "DRAIN"
    hatop.press(b"q")
    assert hatop.child.wait(PATIENCE) == 0
