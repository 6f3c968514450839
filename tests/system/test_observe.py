# SPDX-License-Identifier: MIT
"""Danger: a dead server without a health check gets client after client, two of them try it at once, it does
not come back, or the last server leaves."""

import contextlib
import os
import socket
import threading
import time

import pytest

from harness import service
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE, SCALE, wait_until

DOWN = 0.4 * SCALE
UP = "no check"  # as HAProxy shows a server that is up
OBSERVE = f"observe = connect down={DOWN * 1000:.0f}ms"


def exchange(where):
    """One client: its bytes come back."""
    with socket.create_connection(where.sockaddr, PATIENCE) as s:
        s.sendall(b"hello")
        assert s.recv(5, socket.MSG_WAITALL) == b"hello"


def connects(daemon, server):
    """Connections that were tried: those that succeeded, and those that failed."""
    row = stat(daemon, server)
    return int(row["stot"]), int(row["econ"])


@pytest.fixture
def pair(services, weir):
    """Two servers that echo, of which the first is dead."""
    def start(*lines, words="", threads=1):
        a, b = services(service.echo), services(service.echo)
        a.die()
        daemon = weir(listen([f"a = {a.address}{words}", f"b = {b.address}"], OBSERVE, *lines),
                      f"threads = {threads}")
        return a, b, daemon

    return start


def trying(daemon):
    """Sessions that are connecting to the first server."""
    return [x for x in daemon.ask("show sess").splitlines() if "srv=a " in x and "state=connecting" in x]


def fail_once(daemon):
    """Clients until one of them has met the dead server; each is served all the same."""
    before = connects(daemon, "a")[1]

    def failed():
        exchange(daemon.address("l"))
        return connects(daemon, "a")[1] > before
    wait_until(failed, "a failed connect")


@pytest.mark.smoke
def test_one_failed_connect_takes_it_out_and_one_trial_brings_it_back(pair):
    a, _, daemon = pair()
    fail_once(daemon)
    row = wait_stat(daemon, "a", status="^DOWN")
    assert row["check_status"] == "" and stat(daemon, "b")["status"] == UP
    out = time.monotonic()
    for _ in range(20):
        exchange(daemon.address("l"))
    tried = connects(daemon, "a")[1]
    assert tried <= 2 + (time.monotonic() - out) / DOWN, "clients go on trying it"
    # A trial fails: it stays out for as long again, and its client is served by the other.
    began = time.monotonic()
    wait_until(lambda: exchange(daemon.address("l")) or connects(daemon, "a")[1] > tried, "a trial")
    assert stat(daemon, "a")["status"].startswith("DOWN")
    a.start()
    wait_until(lambda: exchange(daemon.address("l")) or stat(daemon, "a")["status"] == UP, "it is back")
    assert time.monotonic() - began >= DOWN * 0.9
    history = daemon.ask("show servers history l/a")
    assert "1 failed connect in a row; out for" in history and "a trial connection succeeded" in history
    before = connects(daemon, "a")[0]
    for _ in range(4):
        exchange(daemon.address("l"))
    assert connects(daemon, "a")[0] > before


def test_as_many_failures_as_limit_take_it_out_and_a_success_begins_anew(pair):
    a, _, daemon = pair("balance = first", words=" maxconn=100")
    daemon.reload(OBSERVE, OBSERVE + " limit=3")
    for _ in range(2):
        exchange(daemon.address("l"))
    a.start()
    exchange(daemon.address("l"))
    a.die()
    for _ in range(2):
        exchange(daemon.address("l"))
    assert stat(daemon, "a")["status"] == UP
    exchange(daemon.address("l"))
    wait_stat(daemon, "a", status="^DOWN")
    assert connects(daemon, "a")[1] == 5


def test_the_last_one_never_leaves_and_those_that_left_return_without_it(pair, services):
    _, b, daemon = pair("retries = 1")
    fail_once(daemon)
    wait_stat(daemon, "a", status="^DOWN")
    b.die()
    with socket.create_connection(daemon.address("l").sockaddr, PATIENCE) as s:
        with contextlib.suppress(ConnectionResetError):
            assert s.recv(1) == b""
    assert stat(daemon, "b")["status"] == UP
    # Now an administrator takes the last one out.
    daemon.expected_alarms = NO_SERVER
    daemon.ask("set server l/b state maint")
    wait_stat(daemon, "a", status=UP)
    assert "no other server is up" in daemon.ask("show servers history l/a")


class Hanging:
    """A server at a path, which a connect waits for: its backlog is full until it opens."""

    def __init__(self, path, closing):
        self.path, self.closing = path, closing

    def close_up(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(self.path + ".new")
        self.sock.listen(0)
        self.closing.append(self.sock)
        with contextlib.suppress(BlockingIOError):
            while True:
                s = socket.socket(socket.AF_UNIX)
                self.closing.append(s)
                s.setblocking(False)
                s.connect(self.path + ".new")
        os.rename(self.path + ".new", self.path)

    def open(self):
        self.sock.listen(1024)
        threading.Thread(target=_serve, args=(self.sock,), daemon=True).start()


def _serve(listener):
    """Echoes until the listener is closed."""
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return

        def talk(sock=sock):
            with sock:
                try:
                    service.echo(sock)
                except OSError:
                    pass
        threading.Thread(target=talk, daemon=True).start()


@pytest.fixture
def hanging(weir, services, closing, folder):
    """The first server hangs, and is out already."""
    def start(*lines, threads=1):
        b = services(service.echo)
        a = Hanging(f"{folder}/a", closing)
        daemon = weir(listen([f"a = unix:{a.path}", f"b = {b.address}"], OBSERVE, "timeout-connect = 1h",
                             *lines), f"threads = {threads}")
        fail_once(daemon)
        wait_stat(daemon, "a", status="^DOWN")
        a.close_up()
        return a, daemon

    return start


def test_many_clients_of_many_workers_make_one_trial(hanging):
    a, daemon = hanging(threads=4)
    failed = connects(daemon, "a")[1]
    stop = threading.Event()
    errors, served = [], []

    def clients():
        while not stop.is_set():
            try:
                exchange(daemon.address("l"))
                served.append(1)
            except OSError as e:
                errors.append(repr(e))

    threads = [threading.Thread(target=clients, daemon=True) for _ in range(8)]
    for t in threads:
        t.start()
    try:
        wait_until(lambda: trying(daemon), "a trial")
        end = time.monotonic() + 2 * DOWN
        while time.monotonic() < end:
            assert len(trying(daemon)) == 1
        before = len(served)
        wait_until(lambda: len(served) > before + 100, "others are served meanwhile")
        # The same trial succeeds.
        a.open()
        wait_stat(daemon, "a", status=UP)
    finally:
        stop.set()
    assert connects(daemon, "a")[1] == failed
    for t in threads:
        t.join(PATIENCE)
    assert not errors


def test_a_trial_that_its_client_gives_up_goes_to_the_next_one(hanging):
    a, daemon = hanging()

    def one():
        """A client, if it has got the trial. It sends nothing, so that it may leave."""
        s = socket.create_connection(daemon.address("l").sockaddr, PATIENCE)
        wait_until(lambda: "srv=" in daemon.ask("show sess"), "its session")
        if trying(daemon):
            return s
        s.close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "its end")
        return None
    for _ in range(2):
        s = wait_until(one, "a trial")
        assert stat(daemon, "a")["scur"] == "1"
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        s.close()
        wait_until(lambda: stat(daemon, "a")["scur"] == "0", "it has left")
    assert stat(daemon, "a")["status"].startswith("DOWN")
    # An administrator ends what is on offer, and a server that was never out takes clients as before.
    daemon.ask("set server l/a state maint")
    exchange(daemon.address("l"))
    a.open()
    daemon.ask("set server l/a state ready")
    wait_until(lambda: exchange(daemon.address("l")) or connects(daemon, "a")[0] > 4, "clients of it")


def test_a_reload_keeps_who_is_out_and_maintenance_ends_it(pair):
    a, _, daemon = pair()
    daemon.reload(OBSERVE, "observe = connect down=1h")
    fail_once(daemon)
    wait_stat(daemon, "a", status="^DOWN")
    daemon.reload("down=1h", "down=2h")
    assert stat(daemon, "a")["status"].startswith("DOWN")
    a.start()
    daemon.ask("set server l/a state maint")
    daemon.ask("set server l/a state ready")
    wait_stat(daemon, "a", status=UP)
    a.die()
    fail_once(daemon)
    wait_stat(daemon, "a", status="^DOWN")
    a.start()
    daemon.reload("observe = connect down=2h", "observe = off")
    wait_stat(daemon, "a", status=UP)


def test_mark_down_takes_a_checked_server_out_at_once(services, weir, peers):
    dead, probe = services(), services()
    dead.die()
    daemon = weir(listen([f"a = {dead.address} check-port={probe.port}"], "check = tcp", "retries = 0",
                         "check-interval = 1h", "check-fast = 1h", "check-fall = 5",
                         "observe = connect limit=2 on-error=mark-down"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK")
    assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    assert stat(daemon, "a")["status"].startswith("UP")
    assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    row = wait_stat(daemon, "a", status="^DOWN", check_status="HANA")
    assert row["last_chk"] == "2 failed connects in a row"
