# SPDX-License-Identifier: MIT
"""Danger: if a dead server's port is in the kernel's ephemeral range, a connect reaches its own socket: a
client gets its own bytes back, and a health check finds the dead server up."""

import subprocess
import time

import pytest

from harness.address import Address
from harness.daemon import BINARY
from harness.timing import PATIENCE, wait_until
from test_checks import NO_SERVER, stat

FIRST, LAST = 40000, 40003  # the ports that the kernel chooses from inside the namespace
HITS = 6
MANY_HITS = 40  # more than the log may have lines about
TOLD = "connected to itself: nothing listens"


@pytest.fixture
def narrow(network):
    """A namespace in which about one connect in two chooses the port that it goes to."""
    network.sysctl("ipv4.ip_local_port_range", f"{FIRST} {LAST}")
    return network


def dead(family="tcp4", port=FIRST):
    return Address(family, host={"tcp4": "127.0.0.1", "tcp6": "::1"}[family], port=port)


def start(narrow, weir, folder, *lines):
    """The frontend is a Unix socket, as TCP clients would use up the ports."""
    where = Address("path", name=f"{folder}/front.sock")
    daemon = weir(f"[listen l]\nbind = {where}\n" + "".join(f"{line}\n" for line in lines),
                  wrapper=narrow.wrapper)
    return daemon, where


def hits(daemon):
    return int(daemon.info().get("self_connects", 0))


def call(where):
    """A client that speaks first."""
    client = where.socket()
    client.settimeout(PATIENCE)
    client.connect(where.sockaddr)
    client.sendall(b"secret")
    return client


def what_comes_back(where):
    try:
        with call(where) as client:
            return client.recv(100)
    except (ConnectionResetError, BrokenPipeError):
        return b""


@pytest.mark.parametrize("family", ("tcp4", "tcp6"))
def test_no_client_gets_its_own_bytes_back(narrow, weir, folder, family):
    daemon, where = start(narrow, weir, folder, f"server a = {dead(family)}", "retries = 0")
    begin = time.monotonic()

    def enough():
        assert what_comes_back(where) == b""
        return hits(daemon) >= MANY_HITS
    wait_until(enough, lambda: str(daemon.info()))
    line = daemon.wait_session_line(MANY_HITS, reason="connect_refused", bytes_in=0, bytes_out=0)
    assert line["ts_code"] == "SC"
    assert int(stat(daemon, "a")["econ"]) >= MANY_HITS
    seconds = int(time.monotonic() - begin) + 2
    told = [line for line in daemon.log().splitlines() if TOLD in line]
    assert f"server l/a at {dead(family)}: " in told[0] and "ip_local_reserved_ports" in told[0]
    assert len(told) <= daemon.info()["workers"] * seconds, "one a second and worker"


def test_another_server_takes_the_client_over(narrow, weir, peers, folder):
    listener = peers.listen("path")
    daemon, where = start(narrow, weir, folder, f"server a = {dead()}", f"server b = {listener.address}")

    def enough():
        with call(where) as client, listener.accept() as server:
            assert server.recv(100) == b"secret"
            server.sendall(b"well")
            assert client.recv(100) == b"well"
        return hits(daemon) >= 2
    wait_until(enough, lambda: str(daemon.info()))
    daemon.wait_session_line(2, server="b", tries=2)


@pytest.mark.parametrize("check", ("tcp", "send PING expect=PING"))
def test_a_dead_server_never_comes_up(narrow, weir, folder, check):
    daemon, _ = start(narrow, weir, folder, f"server a = {dead()}", f"check = {check}",
                      "check-interval = 100ms", "check-rise = 1", "check-fall = 1")
    daemon.expected_alarms = NO_SERVER
    wait_until(lambda: hits(daemon) >= HITS or "is UP" in daemon.log(), lambda: str(daemon.info()))
    assert "is UP" not in daemon.log()
    row = stat(daemon, "a")
    assert row["status"].startswith("DOWN") and row["check_status"] in ("L4CON", "* L4CON")
    assert TOLD in daemon.log()


def test_who_listens_there_is_served(narrow, weir, peers, folder):
    listener = peers.listen(where=dead(), socket_maker=narrow.socket)
    daemon, where = start(narrow, weir, folder, f"server a = {listener.address}")
    for _ in range(2):
        peers.pair(where, listener)
    assert hits(daemon) == 0 and TOLD not in daemon.log()


def test_a_port_of_our_own_choice_is_looked_at_too(narrow, weir, folder):
    """Outside of the kernel's range, but written as our own: each connect meets itself."""
    there = dead(port=LAST + 1)
    daemon, where = start(narrow, weir, folder, f"server a = {there} source={there}", "retries = 0")
    for done in range(3):
        assert what_comes_back(where) == b""
        wait_until(lambda: hits(daemon) == done + 1, lambda: str(daemon.info()))


def test_a_probe_of_the_configuration_says_so(narrow, folder):
    config = f"{folder}/weir.ini"
    there = dead(port=LAST + 1)
    with open(config, "w", encoding="utf-8") as f:
        f.write(f"[listen l]\nbind = unix:{folder}/front.sock\nserver a = {there} source={there}\n")
    done = subprocess.run([*narrow.wrapper, BINARY, "check", "--probe", config], capture_output=True,
                          text=True, check=False, timeout=PATIENCE)
    assert "connected to itself" in done.stdout + done.stderr
    assert done.returncode != 0
