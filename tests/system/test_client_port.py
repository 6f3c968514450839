# SPDX-License-Identifier: MIT
"""Danger: a server with the client's port (:*) is connected to at another port, or at one where no client
could have come in."""

import csv
import socket

import pytest

from harness.manager import passing
from harness.pairs import run_check
from harness.port_service import PortService, ask, free_run
from harness.timing import wait_until

SERVER = "127.0.0.2"


@pytest.fixture
def first():
    """Of three ports in a row; the third is without a server."""
    return free_run(3)


@pytest.fixture
def service(weir, closing, first):   # pylint: disable=unused-argument
    """Depends on `weir` so that it ends before the daemon does."""
    made = PortService((first, first + 1), SERVER)
    closing.append(made)
    return made


def config(first, server=f"{SERVER}:*", words="", count=2, lines=""):
    binds = "".join(f"bind = 127.0.0.1:{first + i}{words}\n" for i in range(count))
    return f"[frontend f]\n{binds}{lines}default-backend = app\n[backend app]\nserver a = {server}\n"


def proxied(port):
    return f"PROXY TCP4 192.0.2.1 192.0.2.2 1000 {port}\r\n".encode()


def row(daemon, server="a"):
    lines = daemon.ask("show stat").lstrip("# ").splitlines()
    return next(r for r in csv.DictReader(lines) if r["pxname"] == "app" and r["svname"] == server)


@pytest.mark.smoke
def test_each_client_reaches_the_port_that_it_connected_to(weir, first, service):
    daemon = weir(config(first))
    for port in (first, first + 1, first):
        assert ask(("127.0.0.1", port), b"x") == b"%d x" % port
    assert service.count == 3
    daemon.wait_session_line(count=2, server_address=f"{SERVER}:{first}", server="a")
    daemon.wait_session_line(server_address=f"{SERVER}:{first + 1}")
    assert row(daemon)["addr"] == f"{SERVER}:*"
    explained = daemon.ask(f"explain listener=f client=192.0.2.1 port={first + 1}")
    assert f"{SERVER}:*" in explained, explained


def test_a_port_that_refuses_is_named(weir, first, service):   # pylint: disable=unused-argument
    daemon = weir(config(first, count=3, lines="").replace("[backend app]\n", "[backend app]\nretries = 0\n"))
    assert ask(("127.0.0.1", first + 2), b"x") == b""    # one that sends nothing may have left already
    daemon.wait_session_line(server_address=f"{SERVER}:{first + 2}", reason="connect_refused")
    assert f"server app/a at {SERVER}:{first + 2}: connect failed" in daemon.log()
    failures = daemon.ask("show errors")
    assert f"{SERVER}:{first + 2}" in failures, failures
    assert ask(("127.0.0.1", first), b"x") == b"%d x" % first


def test_a_retry_goes_to_another_server_at_its_own_port(weir, first, service):
    text = config(first, count=3).replace(
        "server a", f"balance = roundrobin\nserver b = {SERVER}:{first}\nserver a")
    daemon = weir(text)
    for _ in range(4):
        assert ask(("127.0.0.1", first + 2), b"y") == b"%d y" % first
    assert service.count == 4
    daemon.wait_session_line(count=4, server="b", server_address=f"{SERVER}:{first}")


def test_the_port_in_a_header_counts_if_the_frontend_listens_there(weir, first, service):
    daemon = weir(config(first, words=" accept-proxy", lines="trusted = 127.0.0.1\n"))
    for named, used in ((first + 1, first + 1), (first, first), (first + 2, first), (22, first)):
        assert ask(("127.0.0.1", first), proxied(named) + b"z") == b"%d z" % used, named
    assert service.count == 4
    daemon.wait_session_line(count=1, server_address=f"{SERVER}:{first + 1}")


def test_the_header_for_the_server_has_the_real_port(weir, first, service):
    weir(config(first, f"{SERVER}:* send-proxy"))
    got = ask(("127.0.0.1", first + 1), b"w")
    assert got.startswith(b"%d PROXY TCP4 127.0.0.1 127.0.0.1 " % (first + 1)), got
    assert got.endswith(b" %d\r\nw" % (first + 1)), got
    assert service.count == 1


def test_an_operator_adds_moves_and_reloads_it(weir, first, service):
    daemon = weir(config(first, f"{SERVER}:{first}"))
    port = first + 1
    assert ask(("127.0.0.1", port)) == b"%d " % first
    said = daemon.ask(f"set server app/a addr {SERVER} port +0")
    assert "check-port" in said, said
    assert daemon.ask(f"add server app/b {SERVER}:* enabled").strip() == "New server registered."
    daemon.ask("disable server app/a")
    assert ask(("127.0.0.1", port)) == b"%d " % port
    assert row(daemon, "b")["addr"] == f"{SERVER}:*"
    assert f"{SERVER} 0" not in daemon.ask("show servers conn app")
    said = daemon.ask(f"set server app/b addr {SERVER} port {first}")
    assert f"port changed from '+0' to '{first}'" in said, said
    assert ask(("127.0.0.1", port)) == b"%d " % first
    said = daemon.ask("add server app/c 127.0.0.2:* check")
    assert "port" in said and "registered" not in said, said
    daemon.ask("enable server app/a")
    daemon.ask("disable server app/b")
    wait_until(lambda: "Server deleted." in daemon.ask("del server app/b"), "the end of app/b")
    daemon.reload(f"server a = {SERVER}:{first}\n", f"server a = {SERVER}:*\n")
    assert ask(("127.0.0.1", port)) == b"%d " % port
    daemon.reload(f"server a = {SERVER}:*\n", f"server a = {SERVER}:{first}\n")
    assert ask(("127.0.0.1", port)) == b"%d " % first
    assert service.count == 5


def test_checks_go_to_their_own_port(weir, first, service):
    text = config(first, f"{SERVER}:* check-port={first + 2}").replace(
        "[backend app]\n",
        "[backend app]\ncheck = tcp\ncheck-interval = 20ms\ncheck-rise = 1\ncheck-fall = 1\n")
    daemon = weir(text)
    daemon.expected_alarms = "backend app has no server left"
    wait_until(lambda: row(daemon)["status"].startswith("DOWN"), "the check fails")
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((SERVER, first + 2))
        s.listen(4096)  # nobody accepts the checks
        wait_until(lambda: row(daemon)["status"] == "UP", "the check passes")
        assert ask(("127.0.0.1", first + 1)) == b"%d " % (first + 1)
    wait_until(lambda: row(daemon)["status"].startswith("DOWN"), "the check fails again")
    assert service.count == 1


def test_a_name_has_the_clients_port_at_each_of_its_addresses(weir, closing):
    first = free_run(2, ("127.0.0.1", "127.0.0.3"))
    daemon = weir(config(first, "localhost:*").replace("bind = 127.0.0.1", "bind = 127.0.0.3"))
    service = PortService((first, first + 1), "127.0.0.1")
    closing.append(service)
    wait_until(lambda: row(daemon)["addr"] == "127.0.0.1:*", "the name is resolved")
    for port in (first, first + 1):
        assert ask(("127.0.0.3", port), b"n") == b"%d n" % port


def test_clients_of_a_passed_unix_socket_are_closed_and_the_reason_is_logged(weir, folder, first, service):
    path = f"{folder}/passed.sock"
    with socket.socket(socket.AF_UNIX) as passed:
        passed.bind(path)
        passed.listen()
        daemon = weir(config(first).replace("[frontend f]\n", "[frontend f]\nbind = fd@u\n"),
                      **passing("u", passed))
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            assert s.recv(1) == b""
        daemon.wait_session_line(reason="no_socket")
        assert "has the client's port (:*)" in daemon.log()
        assert ask(("127.0.0.1", first)) == b"%d " % first
        assert service.count == 1


@pytest.mark.parametrize("text, words", [
    (config(8000, f"{SERVER}:* check"), ("check-port=PORT", "have no port")),
    (config(8000, f"{SERVER}:*").replace("[frontend f]\n", "[frontend f]\nbind = /run/x.sock\n"),
     ("clients of a Unix socket have no port", "'a' of 'app'")),
    (config(8000, f"{SERVER}:*").replace("[frontend f]\n", "[frontend f]\nbind = /run/x.sock\n").replace(
        "[backend app]\n", "[backend spare]\nserver z = 127.0.0.3:*\n[backend app]\n"
        "fallback-backend = spare\n").replace(f"{SERVER}:*", f"{SERVER}:80"),
     ("clients of a Unix socket have no port", "'z' of 'spare'")),
    (config(8000, f"{SERVER}:+0"), ("write :*",)),
    (config(8000, f"{SERVER}:+1000"), ("adds nothing to the client's port", "write :*")),
    (config(8000, f"{SERVER}:-1000"), ("adds nothing to the client's port",)),
    (config(8000, SERVER), ("ADDRESS:* for the port that the client connected to",)),
    (config(8000, ":*"), ("write 127.0.0.1:* or NAME:*",)),
    (config(8000, f"{SERVER}:0"), ("write :*",)),
    (config(8000, f"{SERVER}:80-90"), ("a server has one port",)),
    ("[listen l]\nbind = 127.0.0.1:*\nserver a = 127.0.0.2:*\n", ("only a server",)),
], ids=lambda x: x[0].replace(" ", "_") if isinstance(x, tuple) else "")
def test_what_cannot_be_is_refused(folder, text, words):
    said = run_check(text, folder, "-c")
    assert said.returncode == 1, said
    for word in words:
        assert word in said.stderr, said.stderr


def test_it_is_printed_as_it_was_written(folder):
    text = config(8000, f"{SERVER}:* check check-port=9").replace(
        "server a", "balance = source hash=consistent\nservers set = dns://name.example:*\nserver a")
    said = run_check(text, folder, "-T")
    assert f"server a = {SERVER}:* " in said.stdout and " check-port=9" in said.stdout, said
    assert "servers set = dns://name.example:* " in said.stdout + " ", said
