# SPDX-License-Identifier: MIT
"""Danger: deliberately slow clients keep an operator away from the admin socket."""

import os
import re
import socket
import subprocess
import sys
import time

import pytest

from harness.timing import PATIENCE, SCALE, wait_until

STRANGER = 54321
OTHER = 54322
PLACES = 16
BOUND = 2 * SCALE
OWN = os.geteuid()
ROOT = pytest.mark.skipif(OWN != 0, reason="not root: cannot become another user")
SERVERS = "".join(f"server s{i} = 127.0.0.1:{i + 1}\n" for i in range(100))
# An answer that no socket buffer takes whole, so that it is stuck in the daemon.
LONG = "; ".join(["show info"] * 32)
# Connects, behaves as `kind` says, reports, and stays until its stdin ends.
CLIENTS = """
import os, selectors, socket, sys, time
path, uid, count, kind, line = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
if os.getuid() != uid:
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
clients = []
for _ in range(count):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    clients.append(s)
    if kind == "deaf":
        s.sendall(line.encode() + b"\\n")
    if kind == "prompt":
        s.sendall(b"prompt\\n")
        s.recv(100)
print("ready", flush=True)
watch = selectors.DefaultSelector()
watch.register(sys.stdin, selectors.EVENT_READ)
while not watch.select(0.05):
    for s in clients if kind == "trickle" else ():
        try:
            s.send(b"x")
        except OSError:
            pass
left = 0
for s in clients:
    s.setblocking(False)
    try:
        while s.recv(65536):
            pass
    except BlockingIOError:
        left += 1
    except OSError:
        pass
print(left, flush=True)
"""


class Clients:
    """A crowd of them in a process of their own."""

    def __init__(self, daemon, uid, count, kind):
        words = [sys.executable, "-c", CLIENTS, daemon.admin, str(uid), str(count), kind, LONG]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout.readline() == "ready\n"

    def close(self):
        """How many were still connected, and had been told nothing that ends a connection."""
        if self.child.stdin.closed:
            return None
        self.child.stdin.close()
        left = int(self.child.stdout.readline())
        self.child.wait(PATIENCE)
        self.child.stdout.close()
        return left


def start(weir):
    return weir("[listen web]\nbind = 127.0.0.1:0\n" + SERVERS, "admin-socket = unix:@ADMIN@ mode=666")


def answer_within(daemon, seconds, uid=OWN):
    """An operator with this uid sends a command and gets a response in time."""
    if uid != OWN:
        code = ("import socket, sys, time\nbefore = time.monotonic()\ns = socket.socket(socket.AF_UNIX)\n"
                "s.connect(sys.argv[1])\ns.sendall(b'show info\\n')\n"
                "text = b''.join(iter(lambda: s.recv(65536), b'')).decode()\n"
                "print(time.monotonic() - before, text, sep='\\n')\n")
        said = subprocess.run([sys.executable, "-c", code, daemon.admin], user=uid, group=uid, text=True,
                              extra_groups=(), capture_output=True, timeout=3 * PATIENCE,
                              check=True).stdout
        took, text = float(said.partition("\n")[0]), said.partition("\n")[2]
    else:
        before = time.monotonic()
        text = daemon.ask("show info")
        took = time.monotonic() - before
    assert "state: ready\n" in text, text
    assert took < seconds, f"an operator waited for {took:.1f} s"


def bound_for(daemon, count, kind):
    """Seconds: the answers to so many clients may all be made before the operator's turn."""
    before = time.monotonic()
    daemon.ask(LONG if kind == "deaf" else "show info")
    return BOUND + count * (time.monotonic() - before)


WHO = (pytest.param(STRANGER, marks=ROOT, id="stranger"), pytest.param(OWN, id="own"))


@pytest.mark.parametrize("kind", ("deaf", "silent", "trickle"))
@pytest.mark.parametrize("uid", WHO)
@pytest.mark.parametrize("count", (PLACES + 2, 80))
def test_slow_clients_do_not_lock_an_operator_out(weir, closing, uid, count, kind):
    daemon = start(weir)
    bound = bound_for(daemon, count, kind)
    closing.append(Clients(daemon, uid, count, kind))
    for _ in range(3):
        answer_within(daemon, bound)


@ROOT
@pytest.mark.parametrize("kind", ("deaf", "silent", "prompt"))
def test_one_user_leaves_places_to_others(weir, closing, kind):
    daemon = start(weir)
    count = 40 if kind != "prompt" else 4
    bound = bound_for(daemon, count, kind)
    closing.append(Clients(daemon, STRANGER, count, kind))
    answer_within(daemon, bound, OTHER)
    answer_within(daemon, bound)


@ROOT
def test_a_stranger_closes_no_connection_of_root(weir, closing):
    daemon = start(weir)
    mine = Clients(daemon, 0, PLACES, "silent")
    closing.append(mine)
    closing.append(Clients(daemon, STRANGER, 20, "silent"))
    wait_until(lambda: "busy" in daemon.log(), daemon.log)
    code = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
            "print(s.recv(200).decode())\n")
    said = subprocess.run([sys.executable, "-c", code, daemon.admin], user=STRANGER, group=STRANGER,
                          extra_groups=(), capture_output=True, text=True, timeout=PATIENCE,
                          check=True).stdout
    assert said.startswith(f"error: busy: all {PLACES} connections are root's or weir's own"), said
    assert mine.close() == PLACES
    answer_within(daemon, BOUND)
    assert daemon.info()["admin_busy"] >= 1


@ROOT
def test_prompts_of_a_stranger_leave_one_to_root(weir, closing):
    daemon = start(weir)
    for uid in (STRANGER, OTHER):
        closing.append(Clients(daemon, uid, 4, "prompt"))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(daemon.admin)
        s.sendall(b"prompt\n")
        assert s.recv(100) == b"\n> "
        s.sendall(b"quit\n")
        assert s.recv(100) == b""


def test_an_idle_prompt_outlives_clients_that_are_stuck(weir, closing):
    daemon = start(weir)
    prompts = Clients(daemon, OWN, 4, "prompt")
    closing.append(prompts)
    closing.append(Clients(daemon, OWN, 30, "deaf"))
    answer_within(daemon, BOUND)
    assert prompts.close() == 4


@pytest.mark.parametrize("uid", WHO)
def test_fifty_at_once_are_all_answered(weir, uid):
    """Clients that behave do not drive each other out."""
    daemon = start(weir)
    code = ("import os, socket, sys\n"
            "if os.getuid() != int(sys.argv[2]): os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))\n"
            "good = 0\n"
            "for _ in range(3):\n"
            "    crowd = [socket.socket(socket.AF_UNIX) for _ in range(50)]\n"
            "    for s in crowd:\n"
            "        s.connect(sys.argv[1])\n"
            "        s.sendall(b'show stat; show info\\n')\n"
            "    for s in crowd:\n"
            "        good += b'state: ready' in b''.join(iter(lambda: s.recv(65536), b''))\n"
            "print(good)\n")
    got = subprocess.run([sys.executable, "-c", code, daemon.admin, str(uid)], capture_output=True, text=True,
                         timeout=PATIENCE, check=False)
    assert got.stdout == "150\n", got
    assert daemon.info()["admin_evicted"] == 0


def test_a_reader_that_takes_its_time_gets_all_of_it(weir):
    daemon = start(weir)
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(daemon.admin)
        s.sendall(LONG.encode() + b"\n")
        got = b""
        while part := s.recv(16384):
            got += part
            time.sleep(0.05)  # so slow it is
    assert got.count(b"state: ready\n") == 32


def test_who_lost_a_place_is_told_and_logged(weir, closing):
    daemon = start(weir)
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(daemon.admin)
        closing.append(Clients(daemon, OWN, PLACES, "silent"))
        assert s.recv(200).startswith(b"error: closed to make room for another client, ")
    assert daemon.info()["admin_evicted"] >= 1
    wait_until(lambda: re.search(rf"warning the admin socket closed a connection of uid {OWN} "
                                 rf"\(pid {os.getpid()}\), idle for ", daemon.log()), daemon.log)
