# SPDX-License-Identifier: MIT
"""Danger: a tool written for HAProxy misreads an answer, waits for one that has no end, or changes something
else than it asked for."""

import os
import random
import re
import shutil
import socket
import subprocess

import pytest

from harness import admin
from harness.timing import PATIENCE, wait_until

HAPROXY = shutil.which("haproxy")
SERVERS = {"app": {"a": 10, "b": 100, "c": 1}, "web": {"a": 256, "b": 0}}
# Answers of HAProxy 2.6 that lack their own newline, so that no empty line follows.
NO_EMPTY_LINE = re.compile(r"^((?:Empty weight string|Trailing garbage|maxconn string).*\n)\n", re.M)


class Theirs:
    """An HAProxy with the same servers, and a client of its socket."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "h.sock")
        config = os.path.join(folder, "h.cfg")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"global\n stats socket {self.path} level admin\n"
                    f" stats socket {self.path}.user level user\n"
                    "defaults\n mode tcp\n timeout connect 1s\n timeout client 1s\n timeout server 1s\n"
                    f"frontend f\n bind {folder}/f.sock\n default_backend app\n")
            for backend, servers in SERVERS.items():
                f.write(f"backend {backend}\n")
                f.write("".join(f" server {name} 127.0.0.1:9 weight {weight}\n"
                                for name, weight in servers.items()))
        self.child = subprocess.Popen([HAPROXY, "-db", "-f", config], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        self.child.terminate()
        self.child.wait(PATIENCE)


@pytest.fixture
def theirs(folder, closing):
    if HAPROXY is None:
        pytest.skip("no haproxy to compare with")
    made = Theirs(folder)
    closing.append(made)
    wait_until(lambda: admin.listens(made.path) or made.child.poll() is not None, "haproxy runs")
    assert made.child.poll() is None, "haproxy refuses its configuration"
    return made


@pytest.fixture
def ours(weir):
    text = "[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = app\n"
    for backend, servers in SERVERS.items():
        text += f"[backend {backend}]\n"
        text += "".join(f"server {name} = 127.0.0.1:9 weight={weight}\n" for name, weight in servers.items())
    return weir(text)


def comparable(answer):
    """Without what is of each program alone: lists of commands, version, date."""
    answer = re.sub(r"(Unknown command).*\n(  .*\n)+", r"\1\n", answer)
    answer = re.sub(r"(The following commands .*\n)(  .*\n)+", r"\1", answer)
    answer = re.sub(r"^\d+\.\d+\.\S+$", "VERSION", answer, flags=re.M)
    return re.sub(r"\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\.\d{3}\]", "[DATE]", answer)


def plain(path, line):
    """The whole response to a client that sends no more, as socat does."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(path)
        s.sendall(line.encode() + b"\n")
        s.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


def assert_same(theirs, ours, line):
    want = comparable(plain(theirs.path, line))
    got = comparable(NO_EMPTY_LINE.sub(r"\1", plain(ours.admin, line)))
    assert got == want, f"{line!r}: {got!r}, HAProxy says {want!r}"


LINES = (
    "get weight", "get weight app", "get weight app/", "get weight app/x", "get weight x/a",
    "get weight app/a b", "set weight", "set weight app", "set weight app/a",
    "set weight app/a x", "set weight app/a 257", "set weight app/a -1", "set weight app/a 5x",
    "set weight app/a 300x", "set weight app/a %", "set weight app/a 5%%", "set weight app/a -5%",
    "set weight app/a 99999999999", "set weight app/a +3", "get weight app/a", "set weight x/a 5",
    "set weight app/x 5", "set server", "set server app", "set server app/", "set server app/a",
    "set server app/a bogus x", "set server app/a state", "set server app/a state foo",
    "set server app/a state ready extra", "set server app/a weight", "set server app/a weight x",
    "set server app/a weight 300", "set server x/a state ready", "set server app/x state ready",
    "set maxconn", "set maxconn foo", "set maxconn server", "set maxconn server app/a",
    "set maxconn server app/a x", "set maxconn server app/a 5x", "set maxconn server app/a 5 7",
    "set maxconn server app/x 5", "enable server", "enable server app", "enable server app/x",
    "enable server app/a x", "enable bogus", "disable server x/x", "disable server app/a",
    "enable server app/a", "shutdown sessions server", "shutdown sessions server app",
    "shutdown sessions server app/x", "shutdown sessions server app/a", "shutdown sessions",
    "show servers state nope", "show servers", "show bogus", "bogus", "", " ", ";", "; get weight app/a",
    "get weight app/a;;get weight app/b", "get weight app/a;", "set timeout", "set timeout cli",
    "set timeout cli x", "set timeout cli 0", "set timeout cli 5", "set timeout cli 5s",
    "set timeout cli 500ms", "set timeout cli 5x", "set timeout cli -5", "set timeout cli 100d",
    "set timeout foo 5", "show version", "show version extra", "show errors", "show errors app",
    "show errors nope", "show errors 3", "show errors app request", "quit", "quit; show version",
    "get weight app/a; quit; get weight app/b", "get weight app\\/a", "get weight ap\\p/a",
    "get\\ weight app/a", "get weight app/a\\;x", "get weight app/a\\\\", "get weight \"app/a\"",
    "get weight app/a #comment", " get   weight\tapp/a \r", "show stat nope -1 -1", "help",
    "help get weight", "prompt", "prompt; get weight app/a", "prompt; get weight app/a; get weight app/b",
    "prompt; prompt; get weight app/a", "prompt\nget weight app/a\nset weight app/a 5\nquit",
    "prompt\nbogus\n\nget weight app/x\nquit foo", "get weight app/a" + 100 * " x", "show backend extra",
    "set server app/a weight 5; set server nope/a weight 7; set server app/b weight 50; get weight app/b")

# What a message is, as the Data Plane API asks for it with each command.
KINDS = tuple(f"set severity-output {kind}; {line}" for kind in ("number", "string", "none") for line in (
    "get weight app/a", "get weight app/x", "bogus", "help", "set weight app/a 999", "set timeout cli x",
    "set server app/a state x", "show stat nope -1 -1", "show servers state nope", "show errors nope",
    "prompt; get weight app/x")) + ("set severity-output", "set severity-output foo")


def test_answers_and_refusals_are_haproxys(theirs, ours):
    for line in LINES + KINDS:
        if not line.startswith("show backend"):
            assert_same(theirs, ours, line)
    assert plain(ours.admin, "show backend extra") == "# name\napp\nweb\n\n"


def test_what_a_user_may_not_do_is_refused_in_haproxys_words(theirs, weir):
    if os.geteuid() != 0:
        pytest.skip("not root: cannot become another user, and our own is an administrator")
    ours = weir("[listen app]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9 weight=10\n",
                "admin-socket = unix:@ADMIN@ mode=666 level=user")
    code = ("import os, socket, sys\nos.setgid(54321); os.setuid(54321)\n"
            "with socket.socket(socket.AF_UNIX) as s:\n    s.connect(sys.argv[1])\n"
            "    s.sendall(sys.argv[2].encode() + b'\\n')\n"
            "    sys.stdout.write(b''.join(iter(lambda: s.recv(65536), b'')).decode())\n")
    for line in ("show sess", "set weight app/a 5", "set weight", "disable server app/a", "get weight app/a",
                 "show errors", "get weight app/x", "bogus"):
        got = subprocess.run(["/usr/bin/python3", "-c", code, ours.admin, line], capture_output=True,
                             text=True, timeout=PATIENCE, check=True).stdout
        assert comparable(got) == comparable(plain(f"{theirs.path}.user", line)), line


def random_line(dice):
    backend = dice.choice((*SERVERS, *SERVERS, "nope"))
    server = f"{backend}/{dice.choice((*SERVERS.get(backend, 'a'), 'x'))}"
    weight = dice.choice((str(dice.randrange(300)), f"{dice.randrange(400)}%", "x", ""))
    state = dice.choice(("ready", "drain", "maint", "off"))
    return dice.choice((f"get weight {server}", f"get weight {server}", f"set weight {server} {weight}",
                        f"set server {server} weight {weight}", f"set server {server} state {state}",
                        f"set maxconn server {server} {dice.randrange(9)}", f"enable server {server}",
                        f"disable server {server}", f"shutdown sessions server {server}"))


def states(text):
    """What an operator has set, of each server."""
    rows = [line.split() for line in text.splitlines()[2:] if line]
    return [(row[1], row[3], row[5], row[6], row[7], row[8]) for row in rows]


def test_random_sequences_get_the_same_answers_and_have_the_same_effect(theirs, ours):
    ours.expected_alarms = "has no server left"
    dice = random.Random(7)
    for _ in range(200):
        lines = [random_line(dice) for _ in range(dice.randrange(1, 6))]
        assert_same(theirs, ours, dice.choice(("; ", ";")).join(lines))
    for backend, servers in SERVERS.items():
        for name in servers:
            assert_same(theirs, ours, f"get weight {backend}/{name}")
    assert states(plain(ours.admin, "show servers state")) == states(plain(theirs.path, "show servers state"))


def test_a_line_of_400_changes_takes_effect_at_once(ours):
    line = "; ".join(f"set server app/a weight {n % 200}" for n in range(401))
    assert 10_000 < len(line) < 16_384
    assert plain(ours.admin, line) == "\n" * 401
    assert plain(ours.admin, "get weight app/a") == "0 (initial 10)\n\n"
    assert plain(ours.admin, "x" * 16_384).startswith("error: the request is longer than 16384 bytes")
