# SPDX-License-Identifier: MIT
"""Danger: the daemon ends because of its own bug and leaves nothing to find the bug by: in the background,
its stderr is /dev/null."""

import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess

import pytest

from harness import driver, process
from harness.daemon import BINARY
from harness.timing import wait_until

# A sanitizer has a report of its own.
pytestmark = pytest.mark.release_only

_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)
TRACE = re.compile(r"weir [\d.]+, backtrace: .*\bweir\+0x[0-9a-f]+")


@pytest.fixture(autouse=True)
def no_core_files():
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


class Syslog:
    """A syslog daemon that reads when it is asked."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(path)
        self.sock.setblocking(False)

    def lines(self):
        found = []
        while True:
            try:
                found.append(self.sock.recv(65536).decode("ascii"))
            except BlockingIOError:
                return found

    def close(self):
        self.sock.close()


@pytest.fixture
def everywhere(weir, peers, folder):
    """A daemon with one log of each kind, and their lines after it has ended: {name: lines}."""
    class Logs:
        def __init__(self):
            self.syslog = peers.keep(Syslog(f"{folder}/syslog"))
            self.listener = peers.listen()
            self.daemon = weir(
                f"log = stderr\nlog = file:{folder}/text\nlog = file:{folder}/json format=json\n"
                f"log = syslog:{folder}/syslog level=notice\n"
                f"[listen l]\nbind = 127.0.0.1:0\nserver a = {self.listener.address}\n",
                global_options="log =")
            self.daemon.ended = True  # by the test; the final check leaves it alone
            self.daemon.expected_alarms = "."

        def last(self):
            with open(f"{folder}/text", encoding="ascii") as f:
                text = f.read().splitlines()
            with open(f"{folder}/json", encoding="ascii") as f:
                objects = [json.loads(line) for line in f.read().splitlines()]
            assert all(each["level"] == "alert" for each in objects[-2:]), objects[-2:]
            return {"stderr": self.daemon.log().splitlines(), "text": text,
                    "json": [each["message"] if "message" in each else "" for each in objects],
                    "syslog": self.syslog.lines()}

    return Logs()


def in_worker(daemon, number):
    """A signal to the thread of its first worker."""
    assert _libc.tgkill(daemon.pid, process.worker_thread(daemon.pid, 0), number) == 0


@pytest.mark.parametrize("number", (signal.SIGSEGV, signal.SIGABRT))
@pytest.mark.parametrize("where", ("control", "worker 0"))
def test_a_fatal_signal_is_in_every_log_with_its_place(everywhere, peers, number, where):
    daemon = everywhere.daemon
    for _ in range(3):
        client, server = peers.pair(daemon.address("l"), everywhere.listener)
        client.send(1000)
        server.receive(1000)
    if where == "control":
        daemon.signal(number)
    else:
        in_worker(daemon, number)
    assert daemon.wait_exit() == -number
    for name, lines in everywhere.last().items():
        said = [line for line in lines[-2:] if f"ended by {number.name}" in line]
        assert len(said) == 1, f"{name}: {lines[-3:]}"
        assert f"that process {os.getpid()} sent, in {where}" in said[0], f"{name}: {said}"
        assert TRACE.search(lines[-1]), f"{name}: {lines[-1]}"
        if where == "worker 0":
            assert re.search(r"last session 0\.\d+", said[0]), f"{name}: {said}"


def test_in_the_background_the_log_has_it_all_the_same(folder, peers):
    """Its stderr is /dev/null, and its parent is gone."""
    assert _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    config, pid_file = f"{folder}/weir.ini", f"{folder}/pid"
    syslog = peers.keep(Syslog(f"{folder}/syslog"))
    with open(config, "w", encoding="ascii") as f:
        f.write(f"[global]\nthreads = 1\nlog = file:{folder}/log\nlog = syslog:{folder}/syslog\n"
                f"{driver.line()}[listen l]\nbind = unix:{folder}/in\nserver a = unix:{folder}/out\n")
    try:
        subprocess.run([BINARY, "-D", "-p", pid_file, config], check=True, timeout=60)
        with open(pid_file, encoding="ascii") as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGSEGV)
        status = wait_until(lambda: os.waitpid(pid, os.WNOHANG)[1], "the daemon ends")
    finally:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV, status
    with open(f"{folder}/log", encoding="ascii") as f:
        lines = f.read().splitlines()
    for name, said in (("file", lines), ("syslog", syslog.lines())):
        assert f"ended by SIGSEGV that process {os.getpid()} sent, in control" in said[-2], f"{name}: {said}"
        assert TRACE.search(said[-1]), f"{name}: {said}"
