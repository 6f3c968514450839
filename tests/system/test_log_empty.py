# SPDX-License-Identifier: MIT
"""Danger: probes fill the log, or `log-empty = off` leaves out what an operator needs to see."""

import contextlib
import socket
import struct

import pytest

from harness import address, service
from harness.timing import PATIENCE, wait_until

V1 = b"PROXY TCP4 192.0.2.1 192.0.2.2 1111 2222\r\n"
V2_LOCAL = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"


def greets(sock):
    sock.sendall(b"220 mail\r\n")


def ends(sock):
    sock.sendall(b"bye")
    sock.shutdown(socket.SHUT_WR)


def resets(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    raise ConnectionResetError


class World:
    def __init__(self, weir, services, closing, folder):
        self.path = f"{folder}/log"
        greeter, ender, resetter = services(greets), services(ends), services(resets)
        self.gone, where = address.hold("tcp4")
        closing.append(self.gone)
        off = "log-empty = off\nretries = 0\n"
        self.daemon = weir(
            f"log = file:{self.path} format=tcplog level=info\n[defaults]\n{off}"
            f"[listen l]\nbind = 127.0.0.1:0\nbind = unix:{folder}/l\nserver a = {greeter.address}\n"
            f"[listen on]\nbind = 127.0.0.1:0\nlog-empty = on\nserver a = {greeter.address}\n"
            f"[listen ender]\nbind = 127.0.0.1:0\nserver a = {ender.address}\n"
            f"[listen resetter]\nbind = 127.0.0.1:0\nserver a = {resetter.address}\n"
            f"[listen gone]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:{where.port}\n"
            f"[listen idle]\nbind = 127.0.0.1:0\ntimeout-client = 50ms\nserver a = {greeter.address}\n"
            f"[listen header]\nbind = 127.0.0.1:0 accept-proxy\nserver a = {greeter.address} send-proxy=v2\n"
            f"[listen hello]\nbind = 127.0.0.1:0\nsniff = tls required\nserver a = {greeter.address}\n")
        self.unix = f"{folder}/l"

    def connect(self, frontend):
        return socket.create_connection(("127.0.0.1", self.daemon.address(frontend).port), timeout=PATIENCE)

    def lines(self):
        with open(self.path, encoding="ascii") as f:
            return [line.split() for line in f if " [" in line]

    def empty(self):
        return self.daemon.info()["empty_sessions"]

    def left_out(self, before):
        """Waits for one more session that is left out; nothing was logged of it, nor is it a failure."""
        wait_until(lambda: self.empty() == before[0] + 1, lambda: f"one more than {before}: {self.empty()}")
        assert len(self.lines()) == before[1], self.lines()
        assert self.daemon.ask("show errors") == before[2]

    def state(self):
        return self.empty(), len(self.lines()), self.daemon.ask("show errors")


@pytest.fixture
def world(weir, services, closing, folder):
    return World(weir, services, closing, folder)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def read_some(sock):
    assert sock.recv(100)


@pytest.mark.smoke
def test_probes_leave_no_line_and_are_no_failure(world):
    def probe(frontend, *steps, sock=None):
        before = world.state()
        sock = sock or world.connect(frontend)
        for step in steps:
            step(sock)
        world.left_out(before)
        sock.close()

    leaves = socket.socket.close
    probe("l", leaves)
    probe("l", reset)
    probe("l", read_some, leaves)
    probe("l", read_some, reset)
    unix = socket.socket(socket.AF_UNIX)
    unix.connect(world.unix)
    probe("l", read_some, leaves, sock=unix)
    # Both sides end, the server first.
    probe("ender", read_some, leaves)
    probe("hello", leaves)
    probe("hello", reset)
    # A header is not a byte of the client, whichever header the server gets.
    probe("header", leaves)
    for header in (V1, V2_LOCAL):
        def say(sock, header=header):
            sock.sendall(header)
        probe("header", say, read_some, leaves)
        probe("header", say, read_some, reset)


def test_what_anyone_else_ended_or_a_client_has_begun_is_logged(world):
    def logged(frontend, letters, *steps):
        before = world.empty(), len(world.lines())

        def written(before=before):
            wait_until(lambda: len(world.lines()) == before[1] + 1, lambda: f"a line: {world.lines()}")
        # It may be reset within the connect.
        with contextlib.suppress(ConnectionResetError), world.connect(frontend) as sock:
            for step in steps:
                step(sock)
            written()
        written()
        assert world.empty() == before[0]
        assert letters in world.lines()[-1], world.lines()[-1]

    def say(data):
        return lambda sock: sock.sendall(data)

    def finish(sock):
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(100):
            pass

    logged("l", "--", say(b"x"), finish)
    logged("l", "CD", read_some, say(b"x"), reset)
    logged("on", "--", finish)
    logged("resetter", "SD")
    logged("gone", "SC")
    logged("idle", "cD")
    logged("hello", "PC", say(b"GET / HTTP/1.1\r\n\r\n"))
    logged("header", "CC", say(V1[:9]), lambda sock: sock.shutdown(socket.SHUT_WR))
    logged("header", "PC", say(b"no header comes here\r\n\r\n"))
    logged("header", "--", say(V1 + b"x"), finish)
    before = world.empty()
    with world.connect("l") as sock:
        read_some(sock)
        world.daemon.ask("shutdown sessions server l/a")
        wait_until(lambda: world.lines()[-1][6][0] == "K", lambda: f"{world.lines()[-1]}")
    assert world.empty() == before


def test_a_sample_of_errors_has_no_reset_of_a_probe(weir, services, folder):
    def talk(sock):
        greets(sock)
        service.echo(sock)
    a = services(talk)
    path = f"{folder}/log"
    daemon = weir(f"log = file:{path} format=json level=info\n[listen l]\nbind = 127.0.0.1:0\n"
                  f"server a = {a.address}\nlog-empty = off\nlog-sample = errors\n")
    for data in (b"", b"x"):
        with socket.create_connection(("127.0.0.1", daemon.address("l").port), timeout=PATIENCE) as sock:
            assert sock.recv(100) == b"220 mail\r\n"
            sock.sendall(data)
            assert sock.recv(len(data)) == data
            reset(sock)
        wait_until(lambda: daemon.info()["closes.client_reset"] == 1 + len(data), "the client has reset it")

    def sessions():
        with open(path, encoding="ascii") as f:
            return [line for line in f if '"event":"session"' in line]
    wait_until(lambda: len(sessions()) == 1, lambda: f"{sessions()}")
    assert '"bytes_in":1,' in sessions()[0]
    assert daemon.info()["empty_sessions"] == 1
    assert "failures since the start: 1;" in daemon.ask("show errors")
