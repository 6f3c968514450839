# SPDX-License-Identifier: MIT
"""Danger: when memory runs out, the daemon aborts or loses its open sessions."""

import contextlib
import os
import resource
import socket
import struct

import pytest

from harness.service import Service
from harness.timing import AT_ONCE, PATIENCE, wait_until

# A sanitizer's shadow is all of the address space.
pytestmark = pytest.mark.release_only
# So many that the numbers of descriptors pass 8192, and that of a table a power of two.
CLIENTS = 4200
SERVERS = 4
MARGINS = (0, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20)


def vm_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmSize:"))


def set_limit(daemon, limit):
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def connect(address):
    sock = socket.socket()
    sock.settimeout(PATIENCE)
    sock.connect((address.host, address.port))
    return sock


def connect_admin(daemon):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    sock.connect(daemon.admin)
    return sock


def tries_to_ask(daemon, command):
    """The answer, or nothing at all: without memory it may be an error."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as s:
        s.settimeout(AT_ONCE)
        s.connect(daemon.admin)
        s.sendall(command.encode() + b"\n")
        return s.recv(65536)
    return b""


def press(daemon, crowd):
    """What control and workers do for others, all of which may fail now; each server that is ready again
    is checked at once."""
    crowd.append(connect(daemon.address("crowd")))
    for state in ("maint", "ready"):
        for i in range(SERVERS):
            tries_to_ask(daemon, f"set server checked/s{i} state {state}")
    for command in ("show info", "show stat", "show sess", "show servers history"):
        tries_to_ask(daemon, command)
    assert daemon.child.poll() is None, f"weir ended with {daemon.child.poll()}:\n{daemon.log()[-2000:]}"


def exchange(one, other):
    one.send(3000)
    other.receive(3000)


def test_without_memory_the_daemon_lives_and_serves_whom_it_has(weir, peers, closing, descriptors):
    descriptors(2 * CLIENTS + 1000)
    service = Service()
    closing.append(service)
    listener, silent = peers.listen(), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  f"[listen crowd]\nbind = 127.0.0.1:0 backlog=4096\nserver a = {silent.address}\n"
                  "[listen checked]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 20s\n"
                  + "".join(f"server s{i} = {service.address}\n" for i in range(SERVERS)),
                  "maxconn = 6000\nsplice = off")
    daemon.expected_alarms = "has no server left"
    client, server = peers.pair(daemon.address("l"), listener)
    # Descriptors have high numbers from here on.
    crowd = [connect(daemon.address("crowd")) for _ in range(CLIENTS)]
    wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) > 2 * CLIENTS, "sessions of the crowd")
    for margin in MARGINS:
        set_limit(daemon, vm_bytes(daemon.pid) + margin)
        waiting = [connect_admin(daemon) for _ in range(10)]
        press(daemon, crowd)
        for sock in waiting:
            sock.close()
        press(daemon, crowd)
        exchange(client, server)
        exchange(server, client)
        set_limit(daemon, resource.RLIM_INFINITY)
    for sock in crowd:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
    wait_until(lambda: daemon.info()["sessions"] == 1, "the others have ended")
    exchange(*peers.pair(daemon.address("l"), listener))
    for i in range(SERVERS):
        daemon.ask(f"set server checked/s{i} state maint; set server checked/s{i} state ready")
    wait_until(lambda: daemon.ask("show stat").count("L4OK") >= SERVERS, "checks go on")


def test_descriptors_of_control_keep_low_numbers_under_a_crowd(weir, peers):
    silent = peers.listen()
    daemon = weir(f"[listen crowd]\nbind = 127.0.0.1:0\nserver a = {silent.address}\n", "splice = off")
    before = os.listdir(f"/proc/{daemon.pid}/fd")
    highest = max(int(n) for n in before)
    crowd = [connect(daemon.address("crowd")) for _ in range(100)]
    wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) >= len(before) + 2 * len(crowd),
               "both sockets of each session of the crowd")
    numbers = set(os.listdir(f"/proc/{daemon.pid}/fd"))

    def new_ones():
        return set(os.listdir(f"/proc/{daemon.pid}/fd")) - numbers
    waiting = [connect_admin(daemon) for _ in range(10)]
    for sock in waiting:
        sock.sendall(b"prompt\n")
        assert sock.recv(100)
    assert not new_ones(), "clients of the admin socket have places of their own"
    inodes = [os.readlink(f"/proc/{daemon.pid}/fd/{n}") for n in numbers if int(n) <= highest]
    assert sum(link.startswith("socket:") for link in inodes) >= 10
    for sock in waiting + crowd:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
