# SPDX-License-Identifier: MIT
"""Danger: an address in use by another process is shared or stolen, a stale socket prevents the start,
a path is left behind, or an option of the bind line is ignored."""

import os
import socket
import stat

import pytest

from harness.address import Address, fresh
from harness.port_service import free_run
from harness.timing import SCALE, NotInTime, wait_until


def section(bind, listener, name="l"):
    return f"[listen {name}]\nbind = {bind}\nserver a = {listener.address}\n"


def refused_start(weir, config):
    """Starts a daemon that must end with 3; returns its log."""
    daemon = weir(config, launch_only=True)
    daemon.ended = True
    status = daemon.wait_exit()
    assert status == 3, f"exit status {status}, not 3:\n{daemon.log()}"
    assert not os.path.exists(daemon.admin), "the admin socket stays behind"
    return daemon.log()


def works(peers, where, listener):
    client, server = peers.pair(where, listener)
    client.send(1000)
    server.receive(1000)
    server.send(1000)
    client.receive(1000)


@pytest.mark.smoke
@pytest.mark.parametrize("family", ("tcp4", "tcp6", "path", "abstract"))
def test_an_address_in_use_is_refused_by_name(weir, peers, family):
    owner, listener = peers.listen(family), peers.listen()
    log = refused_start(weir, section(owner.address, listener))
    what = str(owner.address.port or owner.address.name)
    assert what in log, f"{what} is not named:\n{log}"
    if family == "path":
        assert os.path.exists(owner.address.name)
    client = peers.connect(owner.address)
    # A Unix socket may have been probed for a listener.
    owned = peers.accept(owner, skip_silent=True)
    assert owned.conn == client.conn, "the owner lost its socket"


def test_a_second_daemon_does_not_share_the_port_of_the_first(weir, peers):
    listener = peers.listen()
    first = weir(section("127.0.0.1:0", listener))
    refused_start(weir, section(first.address("l"), listener))
    works(peers, first.address("l"), listener)


def test_when_one_of_several_addresses_is_taken_nothing_stays_bound(weir, peers, folder):
    owner, listener = peers.listen(), peers.listen()
    path = fresh("path", folder)
    refused_start(weir, section(path, listener) + section(owner.address, listener, "m"))
    assert not os.path.exists(path.name), "a path of a daemon that never started stays behind"


@pytest.mark.smoke
def test_a_stale_socket_is_replaced_and_unlinked_at_exit(weir, peers, folder):
    listener = peers.listen()
    path = fresh("path", folder)
    dead = path.socket()
    dead.bind(path.sockaddr)
    dead.close()
    assert os.path.exists(path.name)
    daemon = weir(section(path, listener))
    works(peers, path, listener)
    peers.close()
    assert daemon.terminate() == 0
    assert not os.path.exists(path.name), "the socket stays behind"


def test_a_socket_with_a_full_backlog_is_alive(weir, peers, folder):
    """connect() says EAGAIN there, which is not ECONNREFUSED."""
    listener, path = peers.listen(), fresh("path", folder)
    owner = peers.listen(where=path, backlog=0)
    for _ in range(3):
        s = peers.keep(path.socket())
        s.setblocking(False)
        try:
            s.connect(path.sockaddr)
        except BlockingIOError:
            break
    refused_start(weir, section(path, listener))
    assert os.path.exists(path.name) and owner


@pytest.mark.parametrize("what", ("file", "folder"))
def test_what_is_no_socket_is_never_removed(weir, peers, folder, what):
    listener, path = peers.listen(), fresh("path", folder)
    if what == "file":
        with open(path.name, "w", encoding="ascii") as f:
            f.write("precious")
    else:
        os.mkdir(path.name)
    log = refused_start(weir, section(path, listener))
    assert path.name in log and os.path.exists(path.name)


@pytest.mark.parametrize("mode", ("600", "660", "666"))
def test_mode_is_applied(weir, peers, folder, mode):
    listener, path = peers.listen(), fresh("path", folder)
    weir(section(f"{path} mode={mode}", listener))
    assert stat.S_IMODE(os.stat(path.name).st_mode) == int(mode, 8)
    works(peers, path, listener)


def test_user_and_group_are_applied(weir, peers, folder):
    if os.geteuid() != 0:
        pytest.skip("not root: cannot give a socket away")
    listener, path = peers.listen(), fresh("path", folder)
    weir(section(f"{path} mode=660 user=nobody group=nogroup", listener))
    found = os.stat(path.name)
    assert (found.st_uid, found.st_gid) == (65534, 65534)


def port_of(daemon):
    return daemon.address("l").port


def keeps_out(peers, daemon, listener, host, other):
    """Only clients of `host` are served: another process may have that port at the address `other`."""
    port = port_of(daemon)
    before = daemon.info()["accepted"]
    with socket.socket(socket.AF_INET6 if ":" in other else socket.AF_INET) as s:
        s.connect_ex((other, port))
        works(peers, Address("tcp6" if ":" in host else "tcp4", host=host, port=port), listener)
    return daemon.info()["accepted"] == before + 1


@pytest.mark.parametrize("bind", (":0", "*:0", "[::]:0"))
def test_a_wildcard_is_dual_stack(weir, peers, bind):
    listener = peers.listen()
    daemon = weir(section(bind, listener))
    for family, host in (("tcp4", "127.0.0.1"), ("tcp6", "::1")):
        works(peers, Address(family, host=host, port=port_of(daemon)), listener)
    peers.close()
    line = daemon.wait_session_line(count=2, frontend="l")
    assert "::ffff:" not in line["client"], line


def test_v6only_keeps_ipv4_out(weir, peers):
    listener = peers.listen()
    daemon = weir(section("[::]:0 v6only", listener))
    assert keeps_out(peers, daemon, listener, "::1", "127.0.0.1")


def test_the_ipv4_wildcard_keeps_ipv6_out(weir, peers):
    listener = peers.listen()
    daemon = weir(section("0.0.0.0:0", listener))
    assert keeps_out(peers, daemon, listener, "127.0.0.1", "::1")


def test_an_abstract_name_is_free_after_the_end(weir, peers, folder):
    listener, name = peers.listen(), fresh("abstract", folder)
    for _ in range(2):
        daemon = weir(section(name, listener))
        works(peers, name, listener)
        peers_open = list(peers.things)
        for thing in peers_open:
            if thing is not listener:
                thing.close()
        assert daemon.terminate() == 0


def test_a_port_is_free_at_once_after_the_end(weir, peers):
    listener = peers.listen()
    daemon = weir(section(f"127.0.0.1:{free_run(1, ('127.0.0.1',))}", listener))
    where = daemon.address("l")
    # The daemon ends first, so that its side of the connection is the one in TIME_WAIT.
    client, server = peers.pair(where, listener)
    server.fin()
    assert client.receive_to_end() == "fin"
    client.close()
    server.close()
    daemon.wait_session_line(frontend="l")
    assert daemon.terminate() == 0
    again = weir(section(where, listener))
    works(peers, again.address("l"), listener)


def test_several_addresses_of_one_frontend(weir, peers, folder):
    listener, path = peers.listen(), fresh("path", folder)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nbind six = [::1]:0\nbind = {path}\n"
                  f"server a = {listener.address}\n")
    found = daemon.addresses()
    assert len(found) == 3 and [a.family for _, _, a in found] == ["tcp4", "tcp6", "path"], found
    assert found[1][1] == "six", found
    for _, _, where in found:
        works(peers, where, listener)


def test_frontend_and_backend_apart(weir, peers):
    listener = peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = b\n"
                  f"[backend b]\nserver s = {listener.address}\n")
    works(peers, daemon.address("f"), listener)
    peers.close()
    line = daemon.wait_session_line(frontend="f")
    assert (line["backend"], line["server"]) == ("b", "s")
    assert line["server_address"].endswith(str(listener.address.port))


def test_defer_accept_waits_for_the_first_byte(weir, peers):
    listener = peers.listen()
    daemon = weir(section("127.0.0.1:0 defer-accept", listener))
    client = peers.connect(daemon.address("l"), hello=False)
    try:
        peers.keep(listener.accept(0.3 * SCALE))
        raise AssertionError("a silent client was accepted")
    except NotInTime:
        pass
    client.close()
    client = peers.connect(daemon.address("l"))
    server = peers.accept(listener, skip_silent=True)
    assert server.conn == client.conn


def test_mistakes_in_the_file_end_with_1_and_bind_nothing(weir, peers, folder):
    listener, path = peers.listen(), fresh("path", folder)
    daemon = weir(section(path, listener) + "timeout-connect = 5000\n", launch_only=True)
    daemon.ended = True
    assert daemon.wait_exit() == 1
    assert "timeout-connect" in daemon.log() and ":" in daemon.log()
    assert not os.path.exists(path.name)
    wait_until(lambda: not os.path.exists(daemon.admin), "no admin socket")
