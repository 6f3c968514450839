# SPDX-License-Identifier: MIT
"""Danger: two daemons take the same Unix socket, or a daemon that ends removes its successor's socket."""

import os
import re
import signal
import socket
import stat

import pytest

from harness.address import Address, fresh
from harness.timing import wait_until

PAIRS = 40


def section(path, server="127.0.0.1:1"):
    return f"[listen l]\nbind = {path}\nserver a = {server}\n"


def leave_stale(path):
    """A socket without a listener, as left behind by a killed daemon."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


def race(weir, path):
    """Starts two at the same time; returns the one that listens, after the other was refused."""
    pair = [weir(section(path), "threads = 1\nadmin-socket =", launch_only=True) for _ in range(2)]
    for daemon in pair:
        daemon.ended = True
    wait_until(lambda: any("ready:" in d.log() for d in pair) and
               any(d.child.poll() is not None for d in pair),
               lambda: "one ready and one gone:\n" + "\n--\n".join(d.log() for d in pair))
    ended = [d for d in pair if d.child.poll() is not None]
    listening = [d for d in pair if "listening on" in d.log()]
    assert len(ended) == 1 and len(listening) == 1 and ended != listening, \
        "\n--\n".join(f"{d.child.poll()}:\n{d.log()}" for d in pair)
    loser, winner = ended[0], listening[0]
    assert loser.child.poll() == 3, loser.log()
    assert re.search(rf"address already in use: process {winner.pid} ", loser.log()), loser.log()
    return winner


@pytest.mark.parametrize("before", ("stale", "nothing"))
def test_of_two_that_start_at_once_one_listens_and_the_other_names_it(weir, folder, before):
    path = fresh("path", folder)
    for _ in range(PAIRS):
        if before == "stale" and not os.path.exists(path.name):
            leave_stale(path.name)
        winner = race(weir, path)
        with path.socket() as s:
            s.connect(path.sockaddr)
        if before == "stale":
            winner.kill()
        else:
            assert winner.terminate() == 0, winner.log()
            assert os.listdir(folder) == [], "a path stays behind"


def test_a_second_daemon_is_told_who_has_the_socket(weir, folder):
    path = fresh("path", folder)
    first = weir(section(path))
    second = weir(section(path), launch_only=True)
    second.ended = True
    assert second.wait_exit() == 3
    assert f"process {first.pid} " in second.log(), second.log()
    with path.socket() as s:
        s.connect(path.sockaddr)


def test_a_second_daemon_is_told_who_has_the_admin_socket(weir, folder):
    spot = os.path.join(folder, "admin")
    config = "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"
    first = weir(config, f"admin-socket = unix:{spot}", launch_only=True)
    wait_until(lambda: "ready:" in first.log(), first.log)
    second = weir(config, f"admin-socket = unix:{spot}", launch_only=True)
    first.ended = second.ended = True
    assert second.wait_exit() == 3
    assert f"process {first.pid} " in second.log(), second.log()
    assert first.terminate() == 0
    assert os.listdir(folder) == []


def test_a_program_without_a_lock_is_named_too(weir, peers):
    owner = peers.listen("path")
    daemon = weir(section(owner.address), launch_only=True)
    daemon.ended = True
    assert daemon.wait_exit() == 3
    assert f"process {os.getpid()} " in daemon.log(), daemon.log()
    assert not os.path.exists(owner.address.name + ".lock")


def test_a_daemon_that_was_killed_hinders_nobody(weir, folder):
    path = fresh("path", folder)
    for _ in range(3):
        daemon = weir(section(path))
        daemon.kill()
        assert os.path.exists(path.name) and os.path.exists(path.name + ".lock")
    daemon = weir(section(path))
    assert stat.S_IMODE(os.stat(path.name + ".lock").st_mode) == 0o600
    assert daemon.terminate() == 0
    assert os.listdir(folder) == []


@pytest.mark.parametrize("where", ("bind", "admin-socket"))
def test_a_folder_that_is_not_ours_is_named_as_the_reason(weir, folder, where):
    """Nothing is there: the address is free, and it is the folder that refuses."""
    if os.geteuid() != 0:
        pytest.skip("not root: cannot become another user")
    path = fresh("path", folder)
    os.chmod(folder, 0o755)
    config, more = (section(path), "") if where == "bind" else \
        (section(Address("tcp4", host="127.0.0.1")), f"admin-socket = {path}")
    daemon = weir(config, more, launch_only=True, wrapper=["setpriv", "--reuid", "12345", "--regid", "12345",
                                                           "--clear-groups"])
    daemon.ended = True
    assert daemon.wait_exit() == 3
    assert "check who may write to the folder" in daemon.log(), daemon.log()
    assert os.listdir(folder) == []


def test_a_lock_that_root_left_behind_does_not_bar_the_user(weir, folder):
    """First started by hand as root and killed, then as the user that owns the folder."""
    if os.geteuid() != 0:
        pytest.skip("not root: cannot become two users")
    path = fresh("path", folder)
    os.chown(folder, 12345, 12345)
    weir(section(f"{path} mode=666")).kill()
    assert os.stat(path.name + ".lock").st_uid == 0
    daemon = weir(section(path), wrapper=["setpriv", "--reuid", "12345", "--regid", "12345",
                                          "--clear-groups"])
    assert os.stat(path.name).st_uid == 12345
    assert daemon.terminate() == 0
    assert os.listdir(folder) == []


def test_a_daemon_that_drains_lets_its_successor_begin(weir, peers, folder):
    listener, path = peers.listen(), fresh("path", folder)
    first = weir(section(path, listener.address))
    client, server = peers.pair(path, listener)
    first.signal(signal.SIGTERM)
    wait_until(lambda: not os.path.exists(path.name), "the socket is gone")
    first.ended = True
    weir(section(path, listener.address))
    client.send(1000)
    server.receive(1000)
    newer, newer_server = peers.pair(path, listener)
    newer.send(1000)
    newer_server.receive(1000)
    client.close()
    server.close()
    assert first.wait_exit() == 0
    assert os.path.exists(path.name), "the successor has lost its socket"


@pytest.mark.parametrize("where", ("bind", "admin-socket"))
def test_a_daemon_that_ends_leaves_the_socket_of_its_successor(weir, folder, where):
    """Somebody has emptied the folder, and another daemon has begun there."""
    path = fresh("path", folder)
    if where == "bind":
        config, more = section(path), ""
    else:
        config, more = section(Address("tcp4", host="127.0.0.1")), f"admin-socket = {path}"
    first = weir(config, more, launch_only=True)
    first.ended = True
    wait_until(lambda: "ready:" in first.log(), first.log)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    second = weir(config, more, launch_only=True)
    second.ended = True
    wait_until(lambda: "ready:" in second.log(), second.log)
    assert first.terminate() == 0, first.log()
    with path.socket() as s:
        s.connect(path.sockaddr)
    assert sorted(os.listdir(folder)) == [os.path.basename(path.name) + end for end in ("", ".lock")]
    assert second.terminate() == 0
    assert os.listdir(folder) == []


def test_a_daemon_that_ends_leaves_the_pid_file_of_its_successor(weir, folder):
    pid = os.path.join(folder, "pid")
    wrapper = ["/bin/sh", "-c", f'exec "$0" -p {pid} "$@"']
    config = "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"
    first = weir(config, wrapper=wrapper)
    second = weir(config, wrapper=wrapper)
    assert first.terminate() == 0
    with open(pid, encoding="ascii") as f:
        assert f.read() == f"{second.pid}\n"
    assert second.terminate() == 0
    assert not os.path.exists(pid)
