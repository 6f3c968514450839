# SPDX-License-Identifier: MIT
"""Danger: a denied client reaches a server, or a permitted client is refused."""

import os
import socket
import subprocess

import pytest

from harness.address import Address
from harness.daemon import BINARY
from harness.timing import PATIENCE, wait_until

NOBODY = 65534
DENIED = "not allowed from this address"
DENIED_UID = "not allowed for this user"
SOURCE_LIMIT = "maxconn-per-source is reached"


def section(listener, lines, bind="127.0.0.1:0"):
    return f"[listen l]\nbind = {bind}\nserver a = {listener.address}\n{lines}\n"


def bound_to(source, maker=None):
    """Makes sockets that connect from this address."""
    def make(where):
        sock = maker(where) if maker else where.socket()
        sock.bind((source, 0))
        return sock
    return make


def is_served(peers, listener, where, **kw):
    client, server = peers.pair(where, listener, **kw)
    client.send(1000)
    server.receive(1000)
    server.send(1000)
    client.receive(1000)
    return client, server


def is_refused(peers, daemon, where, reason, **kw):
    """It is reset with this reason in the log, and no server was asked."""
    connects = daemon.info()["connects"]
    lines = len([line for line in daemon.session_lines() if line.get("reason_text") == reason])
    client = peers.connect(where, **kw)
    end = client.receive_to_end()
    assert end == "reset" or (end == "fin" and not client.tcp), end
    line = daemon.wait_session_line(count=lines + 1, reason_text=reason)
    assert line["ts_code"] == "PC", line
    assert daemon.info()["connects"] == connects, "a server was asked"


def close_all(*ends):
    for end in ends:
        end.close()


# Networks.

@pytest.mark.smoke
@pytest.mark.parametrize("lines, may, may_not", (
    ("allow-from = 127.0.0.1", "127.0.0.1", "127.0.0.2"),
    ("allow-from = 127.0.0.0/30 10.0.0.0/8\nallow-from = 127.0.1.1", "127.0.1.1", "127.0.0.4"),
    ("deny-from = 127.0.0.0/30", "127.0.0.4", "127.0.0.3"),
    ("deny-from = 127.0.0.2\nallow-from = 127.0.0.0/8", "127.0.0.1", "127.0.0.2"),
))
def test_only_who_may_comes_in(weir, peers, lines, may, may_not):
    listener = peers.listen()
    daemon = weir(section(listener, lines))
    where = daemon.address("l")
    for _ in range(3):
        is_served(peers, listener, where, socket_maker=bound_to(may))
        is_refused(peers, daemon, where, DENIED, socket_maker=bound_to(may_not))
    info = daemon.info()
    assert (info["denied"], info["source_limited"], info["connects"]) == (3, 0, 3)


@pytest.mark.smoke
def test_networks_come_from_a_file_of_ten_thousand(weir, peers, folder):
    listener = peers.listen()
    with open(os.path.join(folder, "blocklist"), "w", encoding="ascii") as f:
        f.write("# who has done harm\n\n")
        for n in range(9998):
            f.write(f"10.{n >> 8}.{n & 255}.128/25\n")
        f.write("127.0.0.2 # and this one\n2001:db8::/32\n")
    daemon = weir(section(listener, f"deny-from = @{folder}/blocklist"))
    where = daemon.address("l")
    is_served(peers, listener, where)
    is_served(peers, listener, where, socket_maker=bound_to("127.0.0.3"))
    is_refused(peers, daemon, where, DENIED, socket_maker=bound_to("127.0.0.2"))


@pytest.mark.parametrize("key, first, then", (
    ("allow-from", "127.0.0.1\n127.0.0.2\n", "127.0.0.1\n127.0.0.3\n"),
    ("deny-from", "127.0.0.3\n", "# another one\n127.0.0.2\n"),
))
def test_a_reload_takes_a_changed_file_and_a_plan_shows_it(weir, peers, folder, key, first, then):
    """127.0.0.2 may connect at first, and 127.0.0.3 then."""
    listener = peers.listen()
    path = os.path.join(folder, "networks")

    def write(text):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)

    def plan():
        got = subprocess.run([BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)
        return got.returncode, got.stdout

    def only(may, may_not):
        is_served(peers, listener, where, socket_maker=bound_to(may))
        is_refused(peers, daemon, where, DENIED, socket_maker=bound_to(may_not))

    write(first)
    daemon = weir(section(listener, f"{key} = @{path}"))
    where = daemon.address("l")
    client, server = is_served(peers, listener, where, socket_maker=bound_to("127.0.0.2"))
    assert plan()[0] == 0, "there is nothing to do"
    write(then)
    only("127.0.0.2", "127.0.0.3")  # nobody has asked for a reload yet
    code, shown = plan()
    assert code == 10 and key in shown and f"@{path} (" in shown, shown
    assert "127.0.0.3" not in shown, "a file is not shown line by line"
    daemon.reload(words=())
    only("127.0.0.3", "127.0.0.2")
    client.send(1000)  # who is in stays in
    server.receive(1000)
    write("nonsense\n")
    assert f"{path}:1:1: " in daemon.reload(words=(), refused=True)
    only("127.0.0.3", "127.0.0.2")
    # What was in effect comes back as it was read, whatever the file says now.
    write("192.0.2.1\n")
    assert "rolled back" in daemon.ask("rollback")
    only("127.0.0.2", "127.0.0.3")


def test_an_ipv4_client_of_a_listener_for_both_is_ipv4(weir, peers):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    listener = peers.listen()
    daemon = weir(section(listener, "deny-from = 127.0.0.0/8", bind="[::]:0"))
    port = daemon.address("l").port
    is_refused(peers, daemon, Address("tcp4", "127.0.0.1", port), DENIED)
    is_served(peers, listener, Address("tcp6", "::1", port))
    daemon = weir(section(listener, "allow-from = 127.0.0.0/8", bind="[::]:0"))
    port = daemon.address("l").port
    is_served(peers, listener, Address("tcp4", "127.0.0.1", port))
    is_refused(peers, daemon, Address("tcp6", "::1", port), DENIED)


def test_a_unix_client_is_not_asked_for_its_network(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(section(listener, "allow-from = 10.0.0.0/8", bind=f"unix:{folder}/s"))
    is_served(peers, listener, daemon.address("l"))


# Users.

@pytest.mark.smoke
@pytest.mark.parametrize("family", ("path", "abstract"))
def test_only_a_listed_user_comes_in(weir, peers, folder, family):
    listener = peers.listen()
    bind = f"unix:{folder}/s" if family == "path" else f"unix:@weir-uid-{os.getpid()}"
    mine = os.geteuid()
    daemon = weir(section(listener, f"allow-uid = {mine + 7} {mine}", bind=bind))
    close_all(*is_served(peers, listener, daemon.address("l")))
    assert daemon.terminate() == 0
    daemon = weir(section(listener, f"allow-uid = {mine + 7}", bind=bind))
    is_refused(peers, daemon, daemon.address("l"), DENIED_UID)
    assert daemon.info()["denied"] == 1


def test_another_user_is_told_by_the_kernel(weir, peers, folder):
    if os.geteuid() != 0:
        pytest.skip("not root: cannot become another user")
    listener = peers.listen()
    daemon = weir(section(listener, "allow-uid = 0", bind=f"unix:{folder}/s mode=666"))
    where = daemon.address("l")
    is_served(peers, listener, where)
    os.seteuid(NOBODY)
    try:
        sock = where.socket()
        sock.connect(where.sockaddr)
    finally:
        os.seteuid(0)
    peers.keep(sock)
    assert sock.recv(1) == b""
    daemon.wait_session_line(reason_text=DENIED_UID)
    is_served(peers, listener, where)


# How many of one source.

@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_so_many_of_one_source_and_others_as_well(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(section(listener, "maxconn-per-source = 2"), f"threads = {threads}")
    where = daemon.address("l")
    one, two = bound_to("127.0.0.1"), bound_to("127.0.0.2")
    held = [is_served(peers, listener, where, socket_maker=one) for _ in range(2)]
    is_refused(peers, daemon, where, SOURCE_LIMIT, socket_maker=one)
    others = [is_served(peers, listener, where, socket_maker=two) for _ in range(2)]
    is_refused(peers, daemon, where, SOURCE_LIMIT, socket_maker=two)
    for n in range(5):
        close_all(*held.pop(0))
        wait_until(lambda: daemon.info()["sessions"] == 3, "one session less")
        held.append(is_served(peers, listener, where, socket_maker=one))
        is_refused(peers, daemon, where, SOURCE_LIMIT, socket_maker=one)
        assert daemon.info()["source_limited"] == 3 + n
    assert len(others) == 2


def test_the_count_is_exact_when_many_come_at_once(weir, peers):
    listener = peers.listen()
    daemon = weir(section(listener, "maxconn-per-source = 10"), "threads = 4")
    for n in range(1, 4):
        clients = {}
        for _ in range(40):
            client = peers.connect(daemon.address("l"))
            clients[client.conn] = client
        served = []
        for _ in range(10):
            server = peers.accept(listener)
            client = clients.pop(server.conn)
            server.send(100)
            client.receive(100)
            served += [client, server]
        for client in clients.values():
            assert client.receive_to_end() == "reset"
        wait_until(lambda: daemon.info()["sessions"] == 10, "those that were refused have left")
        info = daemon.info()
        assert (info["connects"], info["source_limited"]) == (10 * n, 30 * n)
        close_all(*served)
        wait_until(lambda: daemon.info()["sessions"] == 0, "all sessions have ended")


def test_a_unix_client_is_no_source(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(section(listener, "maxconn-per-source = 1", bind=f"unix:{folder}/s"))
    for _ in range(3):
        is_served(peers, listener, daemon.address("l"))


def test_one_ipv6_network_of_64_bits_is_one_source(network, weir, peers):
    network.add_ipv6("fd00:0:0:1::1", "fd00:0:0:1:ffff::2", "fd00:0:0:2::1")
    listener = peers.listen("path")
    daemon = weir(section(listener, "maxconn-per-source = 1", bind="[::1]:0"), wrapper=network.wrapper)
    where = daemon.address("l")

    def source(ip):
        return bound_to(ip, network.socket)
    held = is_served(peers, listener, where, socket_maker=source("fd00:0:0:1::1"))
    is_refused(peers, daemon, where, SOURCE_LIMIT, socket_maker=source("fd00:0:0:1:ffff::2"))
    is_served(peers, listener, where, socket_maker=source("fd00:0:0:2::1"))
    close_all(*held)
    wait_until(lambda: daemon.info()["sessions"] == 1, "one session less")
    is_served(peers, listener, where, socket_maker=source("fd00:0:0:1:ffff::2"))
