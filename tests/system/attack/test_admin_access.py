# SPDX-License-Identifier: MIT
"""Danger: a local user without permission controls the daemon through its admin socket."""

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from harness import daemon as daemons
from harness.timing import PATIENCE, wait_until

STRANGER = 54321
OTHER = 54322
CLUB = 54400
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="not root: cannot become another user")
SERVER = "[listen web]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\nserver b = 127.0.0.1:2\n"
CLIENT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1].replace("@", "\\0", 1) if sys.argv[1][0] == "@" else sys.argv[1])
    s.sendall(b"@weir " + sys.argv[2].encode() + b"\\n")
    sys.stdout.write(b"".join(iter(lambda: s.recv(65536), b"")).decode())
"""


def ask_as(uid, daemon, command, gid=None, groups=()):
    """What a process of this user gets for an answer in our words, up to the end of the stream."""
    name = daemon.admin.replace("\0", "@")
    got = subprocess.run([sys.executable, "-c", CLIENT, name, command], user=uid, group=gid or uid,
                         extra_groups=groups, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert got.returncode == 0, got.stderr
    return got.stdout


def start(weir, words, socket_of="path", more=""):
    """A daemon whose admin socket has these words behind its address."""
    if socket_of == "path":
        return weir(SERVER, f"admin-socket = unix:@ADMIN@ {words}\n{more}")
    name = f"weir-access-{os.getpid()}"
    daemon = weir(SERVER, f"admin-socket = unix:@{name} {words}\n{more}", launch_only=True)
    daemon.admin = f"\0{name}"
    wait_until(lambda: "ready:" in daemon.log() or daemon.child.poll() is not None, daemon.log)
    daemon.baseline = daemon.snapshot()
    return daemon


def is_refused(answer, uid):
    return answer.startswith(f"error: permission denied: uid {uid} may not use this socket; add "
                             "it to allow-uid= or ") and answer.count("\n") == 1


@ROOT
def test_an_abstract_socket_is_for_root_and_for_whom_it_names(weir):
    daemon = start(weir, "", "name")
    for command in ("show info", "disable server web/a", "prompt"):
        assert is_refused(ask_as(STRANGER, daemon, command), STRANGER)
    assert daemon.ask("disable server web/a") == "\n"
    assert daemon.info()["admin_refused"] == 3
    assert re.search(rf"warning the admin socket refused uid {STRANGER} \(pid \d+\); to admit it, "
                     r"add it to allow-uid= or one of its groups to allow-gid= of 'admin-socket' in ",
                     daemon.log()), daemon.log()


@ROOT
@pytest.mark.parametrize("socket_of", ("name", "path"))
def test_users_and_groups_of_the_line_come_in_and_nobody_else(weir, socket_of):
    words = f"allow-uid={STRANGER},nobody allow-gid={CLUB} allow-uid=2"
    daemon = start(weir, words + (" mode=666" if socket_of == "path" else ""), socket_of)
    for who in ({"uid": STRANGER}, {"uid": 65534}, {"uid": 2}, {"uid": OTHER, "gid": CLUB},
                {"uid": OTHER, "groups": (7, CLUB)}, {"uid": OTHER, "groups": (*range(900), CLUB)}):
        assert "state: ready\n" in ask_as(daemon=daemon, command="show info", **who), who
    assert is_refused(ask_as(OTHER, daemon, "show info", groups=(7,)), OTHER)
    assert "state: ready\n" in daemon.ask("show info")


@ROOT
def test_others_are_operators_unless_the_line_says_more(weir):
    daemon = start(weir, "mode=666")
    assert "state: ready\n" in ask_as(STRANGER, daemon, "show info; show sess")
    answer = ask_as(STRANGER, daemon, "disable server web/a")
    assert answer == ("error: uid 54321 may not use 'disable server' on this socket (level 'operator'); "
                      "write level=admin on the 'admin-socket' line in [global], or connect as root\n")
    assert "disable" not in ask_as(STRANGER, daemon, "help")
    assert daemon.ask("disable server web/a") == "\n"
    daemon = start(weir, "mode=666 level=admin")
    assert ask_as(STRANGER, daemon, "disable server web/a") == "\n"
    daemon = start(weir, "mode=666 level=user")
    assert "(level 'user')" in ask_as(STRANGER, daemon, "show sess")
    assert daemon.ask("disable server web/a") == "\n", "root is an administrator at any level"


@ROOT
def test_the_user_that_the_daemon_has_become_is_an_administrator(weir):
    daemon = start(weir, f"mode=666 allow-uid={OTHER} level=user", more="user = nobody\n")
    assert ask_as(65534, daemon, "disable server web/a") == "\n"
    assert "(level 'user')" in ask_as(OTHER, daemon, "disable server web/a")
    assert is_refused(ask_as(STRANGER, daemon, "show info"), STRANGER)
    assert ask_as(STRANGER, daemon, "show info").rstrip().endswith("or connect as root or uid 65534")


@ROOT
def test_the_mode_of_a_path_admits_whom_it_admits(weir):
    daemon = start(weir, f"mode=660 group={CLUB}")
    assert "state: ready\n" in ask_as(STRANGER, daemon, "show info", groups=(CLUB,))
    with pytest.raises(AssertionError, match="PermissionError"):
        ask_as(STRANGER, daemon, "show info")


@ROOT
def test_a_thousand_refusals_are_a_few_lines(weir):
    daemon = start(weir, "", "name")
    code = ("import os, socket, sys; os.setuid(int(sys.argv[2])); name = '\\0' + sys.argv[1]\n"
            "for _ in range(1000):\n"
            "    with socket.socket(socket.AF_UNIX) as s: s.connect(name); s.recv(1000)\n")
    subprocess.run([sys.executable, "-c", code, daemon.admin[1:], str(STRANGER)], timeout=PATIENCE,
                   check=True)
    wait_until(lambda: daemon.info()["admin_refused"] == 1000, "all were seen")
    left_out = "lines were left out: refused or closed connections to the admin socket"
    wait_until(lambda: left_out in daemon.log(), daemon.log)
    assert daemon.log().count("the admin socket refused uid") < 60


@ROOT
def test_a_user_that_our_namespace_does_not_know_is_a_stranger(weir, folder):
    """To a daemon in a user namespace others are uid 65534, the overflow uid."""
    space = ["unshare", "--user", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*space, "true"], check=False).returncode:
        pytest.skip("no user namespace can be made here")
    name = f"weir-space-{os.getpid()}"
    daemon = weir(SERVER, f"admin-socket = unix:@{name}", wrapper=space, launch_only=True)
    daemon.admin = f"\0{name}"
    wait_until(lambda: "ready:" in daemon.log() or daemon.child.poll() is not None, daemon.log)
    daemon.baseline = daemon.snapshot()
    assert is_refused(ask_as(STRANGER, daemon, "show info"), 65534)


def run_as_stranger(*args):
    """The command line as another user; by descriptor, as the folder of the binary may be closed to him."""
    binary = os.open(daemons.BINARY, os.O_RDONLY)
    try:
        return subprocess.run(["weir", *args], executable=f"/proc/self/fd/{binary}", pass_fds=[binary],
                              preexec_fn=lambda: (os.setgroups([]), os.setgid(STRANGER), os.setuid(STRANGER)),
                              capture_output=True, text=True, timeout=PATIENCE, cwd="/", check=False)
    finally:
        os.close(binary)


@ROOT
@pytest.mark.parametrize("words", (("ctl", "show", "info"), ("status",), ("top", "--once"), ("healthcheck",)))
def test_the_command_line_says_why_it_may_not(weir, words):
    daemon = start(weir, "", "name")
    for _ in range(10):
        got = run_as_stranger(words[0], "-s", "unix:@" + daemon.admin[1:], *words[1:])
        assert (got.returncode, got.stdout) == (3 if words[0] == "healthcheck" else 1, ""), got
        assert is_refused(got.stderr, STRANGER), got
    daemon = start(weir, "mode=600")
    got = run_as_stranger(words[0], "-s", daemon.admin, *words[1:])
    assert (got.returncode, got.stdout) == (3, ""), got
    assert f"Permission denied; uid {STRANGER} may not use this socket: see mode=, user= and group= of " \
        in got.stderr, got


@pytest.mark.parametrize("word", ("mode=660", "user=root", "group=root"))
def test_an_abstract_name_with_an_owner_is_an_error_that_names_the_way_out(weir, word):
    daemon = weir(SERVER, f"admin-socket = unix:@weir-x-{os.getpid()} level=user {word}", launch_only=True)
    assert daemon.wait_exit() == 1
    daemon.ended = True
    key = word.partition("=")[0]
    assert re.search(rf"weir.ini:3:\d+: error: '{key}' has no effect on an abstract socket", daemon.log())
    assert "allow-uid=" in daemon.log() and "unix:/run/weir/admin.sock" in daemon.log()
    with socket.socket(socket.AF_UNIX) as s, pytest.raises(ConnectionRefusedError):
        s.connect(f"\0weir-x-{os.getpid()}")
