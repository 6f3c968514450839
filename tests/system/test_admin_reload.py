# SPDX-License-Identifier: MIT
"""Danger: a reload loses the admin socket, leaves its old path or its old permissions behind, or cuts off an
answer that is being given there."""

import os
import socket
import stat

import pytest

from harness import admin, process
from harness.timing import PATIENCE, wait_until


class Moved:
    """A daemon with a control socket, and an admin socket that reloads change."""

    def __init__(self, weir, peers, folder):
        self.folder = str(folder)
        server = peers.listen().address
        self.web = f"[listen web]\nbind = unix:{folder}/web\nserver a = {server}\n"
        self.daemon = weir(self.web, self.line("one"), launch_only=True,
                           environment={"RUNTIME_DIRECTORY": self.folder})
        self.daemon.admin = self.path("weir.control")
        wait_until(lambda: "ready:" in self.daemon.log(), self.daemon.log)
        self.daemon.baseline = self.daemon.snapshot()
        with open(self.daemon.config_path, encoding="utf-8") as f:
            self.text = f.read()

    def descriptors(self):
        return process.kinds(process.descriptors(self.daemon.pid))

    def path(self, name):
        return f"{self.folder}/{name}"

    def line(self, name, words="mode=600"):
        return f"admin-socket = unix:{self.path(name)} {words}"

    def reload(self, line, command="reload"):
        with open(self.daemon.config_path, "w", encoding="utf-8") as f:
            f.write(self.text.replace(self.line("one"), line))
        return self.daemon.ask(command)

    def there(self):
        return sorted(n for n in os.listdir(self.folder) if not n.startswith(("w", "pytest")))

    def mode(self, name):
        return stat.S_IMODE(os.stat(self.path(name)).st_mode)

    def ask(self, name):
        return admin.ask(self.path(name), "get weight web/a")


@pytest.fixture
def moved(weir, peers, tmp_path):
    made = Moved(weir, peers, tmp_path)
    # One of the harness's own connections may still be open.
    wait_until(lambda: not process.passing_sockets(made.daemon.pid), "no connection is left")
    before = made.descriptors()
    yield made
    # As at the start, in kind and number, for the final check.
    assert made.reload(made.line("one")).startswith("reloaded: ")
    wait_until(lambda: made.descriptors() == before, lambda: f"{made.descriptors()}, not {before}")
    made.daemon.baseline = made.daemon.snapshot()


@pytest.mark.smoke
def test_it_moves_goes_and_comes(moved):
    assert moved.reload(moved.line("two")) == "reloaded: generation 2, admin socket changed\n"
    assert moved.there() == ["two", "two.lock"]
    assert moved.ask("two").startswith("1 ")
    assert moved.reload("").startswith("reloaded: generation 3, ")
    assert moved.there() == []
    assert moved.reload(moved.line("one")).startswith("reloaded: generation 4, ")
    assert moved.there() == ["one", "one.lock"]
    assert moved.ask("one").startswith("1 ")


def test_permissions_change_in_place(moved):
    before = os.stat(moved.path("one")).st_ino
    assert moved.reload(moved.line("one", "mode=666")).startswith("reloaded: ")
    assert moved.mode("one") == 0o666
    assert moved.reload(moved.line("one", "mode=640 level=user")).startswith("reloaded: ")
    assert moved.mode("one") == 0o640
    assert os.stat(moved.path("one")).st_ino == before


@pytest.mark.parametrize("where", ("none/two", "weir.control"))
def test_one_that_cannot_be_opened_refuses_the_reload(moved, where):
    got = moved.reload(moved.line(where))
    begin = f"not reloaded: cannot open the admin socket unix:{moved.path(where)}: "
    assert got.startswith(begin), got
    assert moved.there() == ["one", "one.lock"]
    assert moved.ask("one").startswith("1 ")
    assert moved.daemon.info()["reloads_refused"] == 1


def test_clients_of_the_old_socket_get_their_answers(moved):
    """One is at a prompt, one has sent half a command, one asks for the reload that removes its socket."""
    with socket.socket(socket.AF_UNIX) as prompt, socket.socket(socket.AF_UNIX) as half:
        for sock in (prompt, half):
            sock.settimeout(PATIENCE)
            sock.connect(moved.path("one"))
        prompt.sendall(b"prompt\n")
        assert prompt.recv(100) == b"\n> "
        half.sendall(b"get weight")
        old, moved.daemon.admin = moved.daemon.admin, moved.path("one")
        assert moved.reload("", "reload wait").splitlines()[-1] == \
            "retired: nothing of the earlier configuration is left"
        moved.daemon.admin = old
        assert moved.there() == []
        half.sendall(b" web/a\n")
        assert half.recv(100).startswith(b"1 ")
        prompt.sendall(b"get weight web/a\n")
        assert prompt.recv(100).startswith(b"1 ")


def test_many_moves_leave_no_descriptor(moved):
    before = moved.descriptors()
    for i in range(60):
        assert moved.reload(moved.line(("two", "one")[i % 2])).startswith("reloaded: ")
    wait_until(lambda: moved.descriptors() == before, lambda: f"{moved.descriptors()}, not {before}")


def test_a_client_that_leaves_while_it_waits_harms_nobody(moved):
    for _ in range(30):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(moved.path("weir.control"))
            sock.sendall(b"reload wait\n")
    assert moved.reload(moved.line("two")).startswith("reloaded: ")
