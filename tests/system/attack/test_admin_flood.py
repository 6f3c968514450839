# SPDX-License-Identifier: MIT
"""Danger: a client that sends `show sess` in a loop and does not read uses up memory or stops a worker."""

import fcntl
import json
import re
import socket
import struct
import termios
import threading

import pytest

from harness.timing import wait_until

CLIENTS = 15  # of 16 places: one is left for the harness
SESSIONS = 3000
# A client of the admin socket with a short request may cost 64 KiB (ADMIN_CLIENT_BYTES), and the allocator as
# much again.
MEMORY_MAX = 2 * CLIENTS * 64 * 1024
# INQUIRY_SESSIONS_MAX: a worker looks at no more of them in one turn.
SLICE = 32
ID = re.compile(r"\bid=(\d+\.\d+) ")


class Crowd:
    """Sessions of one daemon with a server that takes connections and never looks at them."""

    def __init__(self, weir, folder, threads=2, servers=1):
        self.listeners = []
        for i in range(servers):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"{folder}/s{i}")
            listener.listen(4096)
            self.listeners.append(listener)
        lines = "".join(f"server s{i} = unix:{folder}/s{i}\n" for i in range(servers))
        self.path = f"{folder}/c"
        self.daemon = weir(f"[listen web]\nbind = unix:{self.path}\ntimeout-half-closed = 50ms\n{lines}",
                           f"threads = {threads}\nlog = stderr level=notice")
        self.clients = []

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        return s

    def grow(self, count):
        self.clients += [self.connect() for _ in range(count)]
        wait_until(lambda: self.forwarding() == len(self.clients), lambda: f"{self.forwarding()} sessions")

    def forwarding(self):
        return int(re.search(r"^server.web/s0: up sessions=(\d+)", self.daemon.ask("show info"), re.M)[1]) \
            if len(self.listeners) == 1 else self.daemon.info()["sessions"]

    def close(self):
        for s in self.clients + self.listeners:
            s.close()


@pytest.fixture
def crowd(weir, folder, closing, descriptors):
    descriptors(2 * SESSIONS + 1000)

    def make(**kw):
        made = Crowd(weir, folder, **kw)
        closing.append(made)
        return made
    return make


def ask(daemon, command):
    s = socket.socket(socket.AF_UNIX)
    s.connect(daemon.admin)
    s.sendall(command.encode() + b"\n")
    return s


def waiting_bytes(s):
    return struct.unpack("i", fcntl.ioctl(s, termios.FIONREAD, b"\0\0\0\0"))[0]


def peak(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))


@pytest.mark.release_only
def test_clients_that_ask_and_do_not_read_take_no_memory(crowd, closing):
    c = crowd()
    c.grow(SESSIONS)
    daemon = c.daemon
    daemon.ask("show stat")
    before = peak(daemon.pid)
    askers = [ask(daemon, command) for command in ("show sess", "show sess json", "show sess; show sess")
              for _ in range(CLIENTS // 3)]
    closing += askers
    # Each has as much of its answer as its socket takes, and no more comes.
    wait_until(lambda: all(waiting_bytes(s) > 50_000 for s in askers), "they are answered")
    assert len(daemon.ask("show info")) > 100  # control goes on meanwhile
    grown = peak(daemon.pid) - before
    assert grown <= MEMORY_MAX, f"{grown // 1024} KiB for {CLIENTS} clients"


def test_a_worker_looks_at_a_few_sessions_in_a_turn(crowd):
    c = crowd(threads=1)
    c.grow(1000)
    for command in ("show sess", "show sess json"):  # the sums of "show stat" may be of a moment ago
        before = c.daemon.info()["turns"]
        assert c.daemon.ask(command)
        turns = c.daemon.info()["turns"] - before
        assert turns >= len(c.clients) // SLICE, f"{command}: {turns} turns for {len(c.clients)} sessions"


def test_an_order_to_end_sessions_is_carried_out_in_slices(crowd):
    c = crowd(threads=1, servers=2)
    c.grow(1000)
    before = c.daemon.info()["turns"]
    c.daemon.ask("shutdown sessions server web/s0")
    wait_until(lambda: c.daemon.info()["sessions"] == 500, lambda: f"{c.daemon.info()['sessions']} are left")
    turns = c.daemon.info()["turns"] - before
    assert turns >= 1000 // SLICE, f"{turns} turns"
    # Who comes now is not meant: it stays.
    late = [c.connect() for _ in range(10)]
    c.clients += late
    wait_until(lambda: c.daemon.info()["sessions"] == 510, "they are there")
    assert c.daemon.ask("show sess").count("server=s0") >= 5


def test_each_session_is_listed_once_while_others_come_and_go(crowd):
    c = crowd(threads=2)
    c.grow(600)
    steady = set(ID.findall(c.daemon.ask("show sess")))
    assert len(steady) == 600
    # Places among them that are used again.
    for s in c.clients[::3]:
        s.close()
    del c.clients[::3]
    wait_until(lambda: c.daemon.info()["sessions"] == 400, "a third has gone")
    steady = set(ID.findall(c.daemon.ask("show sess")))
    over = threading.Event()

    def churn():
        mine = []
        while not over.wait(0.0005):  # whoever reads the lists has a turn, too
            mine.append(c.connect())
            if len(mine) > 150:
                mine.pop(0).close()
        for s in mine:
            s.close()
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(8):
            found = ID.findall(c.daemon.ask("show sess"))
            found_json = [s["id"] for s in json.loads(c.daemon.ask("show sess json"))]
            for ids in (found, [str(i) for i in found_json]):
                assert len(ids) == len(set(ids)), "one is there twice"
                assert steady <= set(ids), f"missing: {steady - set(ids)}"
    finally:
        over.set()
        thread.join()


def test_who_leaves_in_the_middle_leaves_nothing(crowd):
    c = crowd()
    c.grow(1000)
    for command in ("show sess", "show sess json", "show stat", "show sess; show stat; show sess"):
        for wanted in (0, 1, 70_000):
            askers = [ask(c.daemon, command) for _ in range(CLIENTS)]
            for s in askers:
                got = 0
                while got < wanted and (part := s.recv(wanted)):
                    got += len(part)
                s.close()
    assert len(ID.findall(c.daemon.ask("show sess"))) == 1000


def test_a_daemon_that_stops_waits_for_no_reader(crowd, closing):
    c = crowd()
    c.grow(1000)
    askers = [ask(c.daemon, "show sess; show sess") for _ in range(CLIENTS)]
    closing += askers
    wait_until(lambda: all(waiting_bytes(s) > 0 for s in askers), "they are answered")
    c.daemon.ended = True
    c.daemon.signal(15)
    wait_until(lambda: "SIGTERM" in c.daemon.log(), "it drains")
    closing += [ask(c.daemon, "show sess"), ask(c.daemon, "show stat")]
    c.daemon.signal(15)
    assert c.daemon.wait_exit() == 0, c.daemon.log()
