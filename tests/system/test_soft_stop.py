# SPDX-License-Identifier: MIT
"""Danger: a server that asks by its health check for no new sessions loses those that it has, gets more all
the same, or comes back against the will of an operator."""

import socket

import pytest

from harness import checked, service
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE, wait_until

GOOD, GONE, BUSY = (b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status
                    for status in (b"200 OK", b"404 Not Found", b"503 Busy"))
CHECK = "check = http GET /up expect=200 soft-stop=404"


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        daemon = checked.lasting(weir(*args, **kw))
        daemon.expected_alarms = NO_SERVER
        return daemon

    return start


def named(name):
    """A server that sends its name first, then echoes."""
    def talk(sock):
        sock.sendall(name)
        service.echo(sock)
    return talk


def visit(daemon):
    with socket.create_connection(daemon.address("l").sockaddr, PATIENCE) as s:
        return s.recv(1)


def test_a_server_drains_by_its_check_and_comes_back(services, weir):
    said = {"now": GOOD}
    a, b, probe = services(named(b"a")), services(named(b"b")), services(service.http(lambda: said["now"]))
    daemon = weir(listen([f"a = {a.address} check-port={probe.port}", f"b = {b.address} backup check=off"],
                         CHECK, "check-interval = 50ms"))
    wait_stat(daemon, "a", status="^UP$", check_status="L7OK$", check_code="200")
    with socket.create_connection(daemon.address("l").sockaddr, PATIENCE) as old:
        assert old.recv(1) == b"a"
        said["now"] = GONE
        row = wait_stat(daemon, "a", status="^NOLB$", check_status="L7OKC", check_code="404")
        assert (row["last_chk"], row["check_desc"]) == ("status 404", "Layer7 check conditionally passed")
        assert (row["chkfail"], row["chkdown"]) == ("0", "0")
        wait_until(lambda: "server l/a is NOLB: L7OKC: status 404; 1 of 2 servers left" in daemon.log(),
                   "the line is written")
        assert visit(daemon) == b"b"
        old.sendall(b"still here")
        assert old.recv(10, socket.MSG_WAITALL) == b"still here"
        why = daemon.ask("why l/a")
        assert "NOLB for" in why and "the next check that passes brings it back" in why, why
        assert "UP -> NOLB: L7OKC: status 404" in why, why
        state = next(line for line in daemon.ask("show servers state l", voice="").splitlines()
                     if " a " in line).split()
        assert state[5] == "3", state  # srv_op_state: stopping
    before = daemon.log()
    daemon.reload("check-interval = 50ms", "check-interval = 60ms")
    assert stat(daemon, "a")["status"] == "NOLB"
    daemon.ask("set server l/a state drain")
    assert stat(daemon, "a")["status"] == "DRAIN"
    daemon.ask("set server l/a state ready")
    assert stat(daemon, "a")["status"] == "NOLB"
    daemon.ask("set server l/a state drain")
    said["now"] = GOOD
    wait_stat(daemon, "a", status="^DRAIN$", check_status="L7OK$")
    assert "server l/a is UP" not in daemon.log()[len(before):]
    daemon.ask("set server l/a state ready")
    wait_stat(daemon, "a", status="^UP$", check_status="L7OK$")
    assert visit(daemon) == b"a"


def test_the_status_is_a_failure_of_a_server_that_is_down(services, weir):
    said = {"now": BUSY}
    a = services(service.http(lambda: said["now"]))
    daemon = weir(listen([f"a = {a.address}"], CHECK, "check-interval = 50ms", "check-share = on") +
                  f"[listen m]\nbind = 127.0.0.1:0\nserver a = {a.address}\n{CHECK}\ncheck-interval = 50ms\n"
                  "check-share = on\n")
    wait_stat(daemon, "a", status="^DOWN", check_status="L7STS", check_code="503")
    said["now"] = GONE
    wait_stat(daemon, "a", status="^DOWN$", check_status="L7STS", check_code="404")
    # Each that shares the check judges by its own health.
    wait_until(lambda: "DOWN" in stat(daemon, "a", "m")["status"], "the other one is down, too")
    daemon.ask("set server m/a health up")
    wait_until(lambda: stat(daemon, "a", "m")["status"] == "NOLB", lambda: stat(daemon, "a", "m"))
    assert stat(daemon, "a")["status"] == "DOWN"
    daemon.reload(CHECK, "check = http GET /up")  # of the first section alone
    said["now"] = GOOD
    wait_stat(daemon, "a", status="^UP", check_status="L7OK")
    wait_until(lambda: stat(daemon, "a", "m")["status"].startswith("UP"), lambda: stat(daemon, "a", "m"))


def test_a_server_that_drains_and_then_fails_is_down(services, weir):
    said = {"now": GONE}
    a = services(service.http(lambda: said["now"]))
    daemon = weir(listen([f"a = {a.address}"], CHECK, "check-interval = 50ms"))
    wait_stat(daemon, "a", status="^NOLB$", check_status="L7OKC")
    # Without the word, the same answer is a failure.
    daemon.reload(" soft-stop=404", "")
    wait_stat(daemon, "a", status="^DOWN", check_status="L7STS", check_code="404")
