# SPDX-License-Identifier: MIT
"""Danger: the owner of the directory of a socket or log makes root change a file elsewhere."""

import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from harness import driver, trace
from harness.daemon import BINARY
from harness.timing import PATIENCE

NOBODY = 65534
STARTS = 8
# What the attacker has between bind(2) and the next call: with it each start is as good as hundreds without.
SLOW_BIND = ("strace", "-qq", "-o", "/dev/null", "-e", "trace=bind", "-e", "signal=none",
             "-e", "inject=bind:delay_exit=20000")
# The kernel then does not name the file that a socket made: so it is in most containers.
NO_NET_ADMIN = ("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nothing to win")
with_strace = pytest.mark.skipif(trace.missing() is not None, reason=str(trace.missing()))


@pytest.fixture
def hostile(folder):
    """A folder owned by a user other than root."""
    path = os.path.join(folder, "h")
    os.mkdir(path)
    os.chown(path, NOBODY, NOBODY)
    return path


@pytest.fixture
def precious(folder):
    """A file that only root may read."""
    path = os.path.join(folder, "precious")
    with open(path, "w", encoding="ascii") as f:
        f.write("root's\n")
    os.chmod(path, 0o600)
    yield path
    found = os.stat(path)
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o600, 0, 0), \
        f"root's file is now {found.st_mode:o} of {found.st_uid}:{found.st_gid}"
    with open(path, encoding="ascii") as f:
        assert f.read() == "root's\n", "root's file was written to"


def swap_for_ever(path, aim, swaps):
    """What the owner of the folder does: each socket becomes a link, for a moment. Tells each of it."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    while True:
        try:
            os.rename(path, path + ".gone")
            os.symlink(aim, path)
        except OSError:
            continue
        os.write(swaps, b"x")
        time.sleep(0.04)  # longer than the daemon needs from bind(2) to the next call
        try:
            os.unlink(path)
        except OSError:
            pass


@pytest.fixture
def attacker():
    """attacker(path, aim): a process that swaps sockets at `path` for links to `aim`."""
    children = []

    def begin(path, aim):
        told, swaps = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                swap_for_ever(path, aim, swaps)
            finally:
                os._exit(1)
        os.close(swaps)
        children.append((child, told))

    yield begin
    for child, told in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        swapped = os.read(told, 4096)
        os.close(told)
        assert swapped, "the attacker never met a socket: nothing was tried"


def config(folder, text):
    path = os.path.join(folder, "weir.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[global]\nthreads = 1\n" + driver.line() + text)
    return path


def run(path, *words, wrapper=()):
    return subprocess.run([*wrapper, BINARY, *words, path], capture_output=True, text=True, check=False,
                          timeout=PATIENCE * 2)


@with_strace
@pytest.mark.parametrize("wrapper", ((), NO_NET_ADMIN), ids=("asks-the-kernel", "looks-it-up"))
@pytest.mark.parametrize("umask", (0o022, 0o077))
def test_a_socket_that_becomes_a_link_gives_nothing_away(folder, hostile, precious, attacker, umask, wrapper):
    """Each start ends at a busy port, after the socket was made."""
    path = os.path.join(hostile, "s")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        file = config(folder, f"[listen l]\nbind = unix:{path} mode=666 group=12345\n"
                              f"bind = 127.0.0.1:{busy.getsockname()[1]}\nserver a = 127.0.0.1:1\n")
        attacker(path, precious)
        before = os.umask(umask)
        try:
            for _ in range(STARTS):
                assert run(file, wrapper=SLOW_BIND + wrapper).returncode == 3
        finally:
            os.umask(before)


@with_strace
def test_an_admin_socket_that_becomes_a_link_gives_nothing_away(folder, hostile, precious, attacker):
    """Each start ends at a pid file in a folder that is not there."""
    path = os.path.join(hostile, "s")
    file = config(folder, f"admin-socket = unix:{path} mode=666 group=12345\n"
                          "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n")
    attacker(path, precious)
    for _ in range(STARTS):
        assert run(file, "-p", "/nowhere/pid", wrapper=SLOW_BIND).returncode == 3


def test_a_link_for_the_lock_file_is_refused_by_name(folder, hostile, precious):
    path = os.path.join(hostile, "s")
    os.symlink(precious, path + ".lock")
    got = run(config(folder, f"[listen l]\nbind = unix:{path}\nserver a = 127.0.0.1:1\n"))
    assert got.returncode == 3 and "s.lock" in got.stderr, got.stderr
    assert not os.path.lexists(path)


@pytest.mark.parametrize("kind", ("hard link", "fifo", "socket", "folder"))
def test_a_lock_file_that_is_none_of_ours_is_refused(folder, hostile, precious, kind):
    path = os.path.join(hostile, "s")
    lock = path + ".lock"
    if kind == "hard link":
        os.link(precious, lock)
    elif kind == "fifo":
        os.mkfifo(lock)
    elif kind == "folder":
        os.mkdir(lock)
    else:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(lock)
    got = run(config(folder, f"[listen l]\nbind = unix:{path}\nserver a = 127.0.0.1:1\n"))
    assert got.returncode == 3 and "s.lock" in got.stderr, got.stderr
    assert os.path.lexists(lock) and not os.path.lexists(path)


@pytest.mark.parametrize("link", (os.symlink, os.link))
def test_a_log_that_is_a_link_gives_nothing_away(folder, hostile, precious, link):
    log = os.path.join(hostile, "log")
    link(precious, log)
    got = run(config(folder, f"log = file:{log}\n[listen l]\nbind = 127.0.0.1:0\n"
                             "server a = 127.0.0.1:1\n"), "-p", "/nowhere/pid")
    assert got.returncode == 3 and log in got.stderr, got.stderr


def test_a_pid_file_that_is_a_link_gives_nothing_away(weir, hostile, precious):
    pid = os.path.join(hostile, "pid")
    os.symlink(precious, pid)
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n", wrapper=[
        "/bin/sh", "-c", f'exec "$0" -p {pid} "$@"'])
    with open(pid, encoding="ascii") as f:
        assert f.read() == f"{daemon.pid}\n"
    assert not os.path.islink(pid)


def test_mode_and_owner_are_right_without_the_right_to_ask_the_socket(weir, folder):
    """Without CAP_NET_ADMIN the kernel does not name the file that it made: a container has none."""
    path = os.path.join(folder, "s")
    weir(f"[listen l]\nbind = unix:{path} mode=662 user=12345 group=54321\nserver a = 127.0.0.1:1\n",
         wrapper=NO_NET_ADMIN)
    found = os.stat(path)
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (0o662, 12345, 54321)
