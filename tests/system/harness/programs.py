# SPDX-License-Identifier: MIT
"""Foreign servers: programs that are told at which ports to listen."""

import contextlib
import os
import shutil
import socket
import subprocess

import pytest

from harness import process
from harness.timing import PATIENCE, wait_until


def needs(name, folders=()):
    """The path of a program; skips the test without it."""
    where = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", *folders]
    path = shutil.which(name, path=":".join(where))
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def free_ports(count):
    """For programs that cannot report which port the kernel gave them. Another process may get one of these a
    moment later; then the program ends, and is started again with others."""
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in socks:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in socks]


def listens(pid, ports):
    """Does this process itself listen on all of them? A connection could reach another process, or itself."""
    try:
        return process.listening_ports(pid).issuperset(ports)
    except OSError:
        return False  # it has just ended


class Programs:
    """Those that run; all of them end with close()."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def start(self, argv, count=1, log="program.log"):
        """A server that listens at so many ports: the child and its ports. argv(port, ...) makes its command
        line."""
        for _ in range(5):
            ports = free_ports(count)
            child = self.run(argv(*ports), log)
            wait_until(lambda c=child, p=ports: c.poll() is not None or listens(c.pid, p),
                       f"{child.args[0]} listens")
            if child.poll() is None:
                return child, *ports
        raise AssertionError(f"{child.args[0]} ended five times, at last with {child.poll()}: see {log}")

    def start_listening(self, argv, ports, log="program.log"):
        """The same for a program whose ports are in its configuration: argv() chooses them, and leaves them
        in the list `ports`."""
        for _ in range(5):
            child = self.run(argv(), log)
            wait_until(lambda c=child: c.poll() is not None or listens(c.pid, ports),
                       lambda c=child: f"{c.args[0]} listens at {ports}")
            if child.poll() is None:
                return child
        raise AssertionError(f"{child.args[0]} ended five times, at last with {child.poll()}: "
                             f"{self.last_words(log)}")

    def last_words(self, log):
        with open(os.path.join(self.folder, log), encoding="utf-8", errors="replace") as f:
            return f.read()[-2000:]

    def run(self, words, log="program.log"):
        """A process whose output goes to this file of the folder."""
        with open(os.path.join(self.folder, log), "ab") as out:
            child = subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.running.append(child)
        return child

    def close(self):
        for child in self.running:
            child.terminate()
        for child in self.running:
            child.wait(PATIENCE)
