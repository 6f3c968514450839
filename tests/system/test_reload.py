# SPDX-License-Identifier: MIT
"""Danger: a reload that applies half of a file, drops a client, or answers with what it did not do."""

import os
import random
import signal
import socket
import subprocess
import threading

import pytest

from harness import process
from harness.daemon import BINARY
from harness.manager import Manager, passing
from harness.service import Service
from harness.timing import PATIENCE, wait_until


def two(peers):
    one, other = peers.listen(), peers.listen()
    text = (f"[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n"
            f"[backend app]\nserver a = {one.address}\n")
    return one, other, text


@pytest.fixture
def served(weir, closing):  # pylint: disable=unused-argument
    """The text of a configuration whose server takes every connection and ends when the client does. Depends
    on `weir` so that the server ends before the daemon does."""
    service = Service()
    closing.append(service)
    return (f"[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n"
            f"[backend app]\nserver a = {service.address}\n")


def free_port():
    """A port that no client gets from the kernel: a connection from it would make a wildcard bind fail."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        lowest = int(f.read().split()[0])
    while True:
        port = random.randrange(max(1025, lowest - 12000), lowest)
        with socket.socket(socket.AF_INET6) as s:
            try:
                s.bind(("::", port))
                return port
            except OSError:
                continue


def connects(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), timeout=PATIENCE).close()
        return True
    except ConnectionRefusedError:
        return False


def last(text):
    return text.strip().splitlines()[-1]


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


# What is answered.

@pytest.mark.smoke
def test_a_reload_of_the_same_file_changes_nothing(weir, peers):
    one, _, text = two(peers)
    daemon = weir(text)
    process.wait_for_admin(daemon.pid)
    client, server = peers.pair(daemon.address("web"), one)
    before = process.descriptors(daemon.pid)
    said = daemon.reload(words=())
    assert "reloaded: generation 2, nothing has changed" in said
    wait_until(lambda: process.descriptors(daemon.pid) == before, "descriptors are the same")
    client.send(1000)
    server.receive(1000)


def test_a_wrong_file_changes_nothing_and_prints_what_check_prints(weir, peers):
    _, other, text = two(peers)
    daemon = weir(text)
    daemon.rewrite("[backend app]\n", f"[backend app]\nserver b = {other.address}\nmaxcon = 7\n")
    checked = subprocess.run([BINARY, "-c", "-f", daemon.config_path], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, check=False)
    assert checked.returncode == 1
    said = daemon.reload(refused=True)
    assert checked.stderr.strip() in said, (checked.stderr, said)
    assert last(said).startswith("not reloaded: ")
    assert "b" not in {line.split(",")[1] for line in daemon.ask("show stat").splitlines()[1:] if line}
    assert daemon.info()["generation"] == 1
    daemon.rewrite("maxcon = 7\n", "")
    assert "reloaded: generation 2" in daemon.reload()


def test_the_log_says_what_a_hang_up_did(weir, peers):
    _, other, text = two(peers)
    daemon = weir(text)
    daemon.rewrite("[backend app]\n", f"[backend app]\nserver b = {other.address}\n")
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: "reloaded: generation 2, server app/b added" in daemon.log(), daemon.log)
    daemon.rewrite("[frontend web]", "[frontend web")
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: "not reloaded: " in daemon.log(), daemon.log)
    daemon.rewrite("[frontend web", "[frontend web]")
    daemon.reload()


def test_what_only_a_restart_changes_is_named_and_the_rest_is_applied(weir, peers):
    _, other, text = two(peers)
    daemon = weir(text, global_options="threads = 2")
    said = daemon.reload("threads = 2", "threads = 3", "[backend app]\n",
                         f"[backend app]\nserver b = {other.address}\n")
    assert "needs a restart: threads" in said and "server app/b added" in said


def test_a_daemon_that_drains_refuses(weir, peers):
    one, _, text = two(peers)
    daemon = weir(text)
    client, server = peers.pair(daemon.address("web"), one)
    daemon.signal(signal.SIGTERM)
    wait_until(lambda: "no new sessions" in daemon.log(), "it drains")
    assert "not reloaded: the daemon is stopping" in daemon.reload(refused=True, words=())
    client.fin()
    server.fin()
    daemon.ended = True
    assert daemon.wait_exit() == 0


def test_a_request_during_a_reload_is_answered_by_a_run_that_began_later(weir, peers):
    """Others ask all the time, so that a run is under way whenever the file changes."""
    _, other, text = two(peers)
    daemon = weir(text)
    stop, answers = threading.Event(), []

    def ask():
        while not stop.is_set():
            answers.append(daemon.ask("reload"))
    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for i in range(20):
            daemon.replace(daemon.config + f"server b{i} = {other.address}\n")
            assert daemon.ask("reload").startswith("reloaded: generation ")
            assert f"app,b{i}," in daemon.ask("show stat"), "the answer came from a reading before the change"
    finally:
        stop.set()
        for asker in askers:
            asker.join()
    assert all(text.startswith("reloaded: generation ") for text in answers), answers
    info = daemon.info()
    assert info["reloads_refused"] == 0 and info["generation"] == info["reloads"] + 1
    assert info["reloads"] <= len(answers) + 20
    daemon.reloaded = True


# Without the admin socket.

def test_the_new_file_may_move_or_remove_the_admin_socket(weir, peers, folder):
    _, _, text = two(peers)
    daemon = weir(text)
    there = os.path.join(folder, "there")
    old = daemon.admin
    daemon.admin = there
    daemon.reload(f"admin-socket = unix:{old} mode=666", f"admin-socket = unix:{there} mode=666")
    assert not os.path.exists(old) and daemon.info()["generation"] == 2
    daemon.reload(f"admin-socket = unix:{there} mode=666\n", "")
    assert not os.path.exists(there)
    daemon.admin = old
    daemon.reload("[global]\n", f"[global]\nadmin-socket = unix:{old} mode=666\n")
    assert daemon.info()["generation"] == 4


def test_an_answer_goes_on_when_its_socket_is_removed(weir, peers, folder):
    _, _, text = two(peers)
    daemon = weir(text)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(daemon.admin)
        client.sendall(b"prompt\n")
        assert client.recv(100)
        old, daemon.admin = daemon.admin, os.path.join(folder, "there")
        daemon.reload(f"admin-socket = unix:{old} mode=666", f"admin-socket = unix:{daemon.admin} mode=666")
        client.sendall(b"show info\n")
        got = b""
        while b"generation" not in got:
            more = client.recv(65536)
            assert more
            got += more
    wait_until(lambda: daemon.info()["generation"] == 2, "the new socket answers")


# Addresses.

def test_addresses_come_and_go(weir, served):
    daemon = weir(served)
    port = free_port()
    daemon.reload("bind = 127.0.0.1:0\n", f"bind = 127.0.0.1:0\nbind = 127.0.0.1:{port}\n")
    assert connects(port)
    daemon.reload(f"bind = 127.0.0.1:{port}\n", "")
    wait_until(lambda: not connects(port), "the address has been left")
    assert connects(daemon.address("web").port)


def test_an_answer_that_waits_comes_when_the_address_has_been_left(weir, served):
    daemon = weir(served)
    port = free_port()
    daemon.reload("bind = 127.0.0.1:0\n", f"bind = 127.0.0.1:0\nbind = 127.0.0.1:{port}\n")
    said = daemon.reload(f"bind = 127.0.0.1:{port}\n", "")
    assert "retired: nothing of the earlier configuration is left" in said
    assert not connects(port)


OVERLAPS = [("0.0.0.0:{}", "127.0.0.1:{}"), ("[::]:{}", "127.0.0.1:{}"), (":{}", "127.0.0.1:{}"),
            ("[::]:{}", "0.0.0.0:{}"), (":{}", "[::1]:{}")]


@pytest.mark.parametrize("back", (False, True), ids=("to specific", "to wildcard"))
@pytest.mark.parametrize("pair", OVERLAPS, ids=lambda pair: "-".join(x.format("P") for x in pair))
def test_an_address_is_replaced_by_an_overlapping_one_without_a_failed_connect(weir, served, pair, back):
    host = "::1" if "::1" in pair[1] else "127.0.0.1"
    port = free_port()
    wide, narrow = (address.format(port) for address in pair)
    first, second = (narrow, wide) if back else (wide, narrow)
    daemon = weir(served.replace("127.0.0.1:0", first))
    failures, stop = [], threading.Event()

    def knock():
        while not stop.is_set():
            try:
                with socket.create_connection((host, port), timeout=PATIENCE) as s:
                    s.sendall(b"\0" * 8)
            except OSError as e:
                failures.append(e)
    knockers = [threading.Thread(target=knock) for _ in range(2)]
    for k in knockers:
        k.start()
    for _ in range(3):
        daemon.reload(f"bind = {first}\n", f"bind = {second}\n", words=())
        daemon.reload(f"bind = {second}\n", f"bind = {first}\n", words=())
    stop.set()
    for k in knockers:
        k.join()
    assert not failures, failures[:3]
    daemon.reload()


def test_an_address_that_is_taken_refuses_the_whole_file(weir, peers):
    _, other, text = two(peers)
    daemon = weir(text)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = daemon.reload("bind = 127.0.0.1:0\n", f"bind = 127.0.0.1:0\nbind = 127.0.0.1:{port}\n",
                             "[backend app]\n", f"[backend app]\nserver b = {other.address}\n", refused=True)
        assert f"127.0.0.1:{port}" in said and "not reloaded: " in last(said), said
    assert "app,b," not in daemon.ask("show stat")
    daemon.reload()
    assert "app,b," in daemon.ask("show stat")


def test_an_address_moves_to_another_frontend_with_its_queue(weir, peers):
    one, other, text = two(peers)
    port = free_port()
    daemon = weir(text.replace("127.0.0.1:0", f"127.0.0.1:{port}") +
                  f"[frontend second]\nbind = 127.0.0.1:0\ndefault-backend = more\n"
                  f"[backend more]\nserver b = {other.address}\n")
    daemon.reload(f"bind = 127.0.0.1:{port}\n", "bind = 127.0.0.1:0\n", "[frontend second]\n",
                  f"[frontend second]\nbind = 127.0.0.1:{port}\n")
    client = peers.connect(daemon.addresses()[0][2])
    server = peers.accept(other)
    assert client.conn == server.conn


def test_an_inherited_socket_stays_and_is_never_made_anew(weir, served):
    with socket.socket() as passed:
        passed.bind(("127.0.0.1", 0))
        passed.listen()
        daemon = weir(served.replace("127.0.0.1:0", "fd@web"), **passing("web", passed))
        daemon.reload("[frontend web]\n", "[frontend web]\ntimeout-client = 77s\n")
        assert connects(passed.getsockname()[1])
        said = daemon.reload("bind = fd@web\n", "bind = fd@web\nbind = fd@other\n", refused=True)
        assert "fd@other" in said
        daemon.rewrite("bind = fd@other\n", "")


# Sessions.

def test_sessions_of_a_removed_server_and_frontend_go_on(weir, peers):
    one, other, text = two(peers)
    daemon = weir(text + f"[listen second]\nbind = 127.0.0.1:0\nserver b = {other.address}\n")
    pairs = [peers.pair(daemon.address("web"), one), peers.pair(daemon.address("second"), other)]
    daemon.reload(f"server a = {one.address}\n", f"server c = {other.address}\n",
                  f"[listen second]\nbind = 127.0.0.1:0\nserver b = {other.address}\n", "", words=())
    for client, server in pairs:
        client.send(100000)
        server.receive(100000)
        server.send(50000)
        client.receive(50000)
        client.fin()
        server.receive_to_end()
        server.fin()
        client.receive_to_end()
    daemon.reload()


def test_a_session_keeps_the_timeout_that_it_began_with(weir, peers):
    one, _, text = two(peers)
    daemon = weir(text.replace("[backend app]\n", "[backend app]\ntimeout-server = 300s\n")
                  .replace("[frontend web]\n", "[frontend web]\ntimeout-client = 300s\n"))
    old, _ = peers.pair(daemon.address("web"), one)
    daemon.reload("timeout-server = 300s", "timeout-server = 100ms", "timeout-client = 300s",
                  "timeout-client = 100ms", words=())
    new, _ = peers.pair(daemon.address("web"), one)
    daemon.wait_session_line()
    assert new.receive_to_end() is not None
    assert old.quiet(0.3)


# Who else is told.

def test_the_service_manager_hears_both_ends(weir, peers, folder):
    manager = Manager(folder)
    try:
        os.chmod(manager.name, 0o666)
        _, _, text = two(peers)
        daemon = weir(text, environment=manager.environment)
        manager.wait("READY", "1")
        daemon.reload(words=())
        told = manager.wait("RELOADING", "1")
        assert told["MONOTONIC_USEC"].isdigit()
        manager.wait("READY", "1", count=2)
        daemon.reload("[backend app]", "[backend app", refused=True)
        manager.wait("RELOADING", "1", count=2)
        manager.wait("READY", "1", count=3)
        daemon.rewrite("[backend app", "[backend app]")
    finally:
        manager.close()


def test_a_log_file_is_replaced(weir, peers, folder):
    one, _, text = two(peers)
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    daemon = weir(text, global_options="log = stderr level=info")
    daemon.reload("log = stderr level=info", f"log = stderr level=info\nlog = file:{first} level=info")
    client, server = peers.pair(daemon.address("web"), one)
    client.fin()
    server.fin()
    wait_until(lambda: " session " in text_of(first), "a line of the session")
    daemon.reload(f"log = file:{first} level=info", f"log = file:{second} level=info")
    client, server = peers.pair(daemon.address("web"), one)
    client.fin()
    server.fin()
    wait_until(lambda: " session " in text_of(second), "a line of the session")
    assert text_of(first).count(" session ") == 1
