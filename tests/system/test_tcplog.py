# SPDX-License-Identifier: MIT
"""Danger: a parser written for HAProxy's log misreads a line: compared with what HAProxy itself logs about
the same traffic."""

import os
import re
import select
import shutil
import socket
import subprocess
from contextlib import ExitStack

import pytest

from harness import address, admin
from harness.timing import PATIENCE, wait_until

HAPROXY = shutil.which("haproxy")
TRIES = 10
LINE = re.compile(r"(?P<client>127\.0\.0\.1:\d+|unix:\d+) \[(?P<date>[^]]+)\] (?P<name>\S+) (?P<path>\S+) "
                  r"(?P<times>\S+) (?P<rest>.*)")
DATE = re.compile(r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d{3}")
USUAL = {"retries": "0", "timeout connect": "5s", "timeout client": "1m", "timeout server": "1m",
         "timeout queue": "1m"}


def lines_of(path):
    """The whole ones: the last may be under way."""
    with open(path, encoding="ascii") as f:
        return [line for line in f.read().rpartition("\n")[0].splitlines() if LINE.fullmatch(line)]


# ---- stories: each yields when one more session has ended ----


def normal(t):
    client, server = t.pair()
    server.send(700)
    client.receive(700)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()
    yield


def one_of_three(t):
    others = [t.pair(), t.pair()]
    yield from normal(t)
    for client, server in others:
        server.fin()
        client.fin()
        client.receive_to_end()
        server.receive_to_end()
        yield


def client_resets(t):
    client, server = t.pair()
    server.send(300)
    client.receive(300)
    client.reset()
    server.receive_to_end()
    yield


def server_resets(t):
    client, server = t.pair()
    server.send(200)
    client.receive(200)
    server.reset()
    client.receive_to_end()
    yield


def client_is_done(t):
    client, server = t.pair()
    client.fin()
    client.receive_to_end()
    server.receive_to_end()
    yield


def server_is_done(t):
    client, server = t.pair()
    server.fin()
    server.receive_to_end()
    client.receive_to_end()
    yield


def client_is_silent(t):
    client, server = t.pair()
    server.receive_to_end()
    server.close()
    client.receive_to_end()
    yield


def server_is_silent(t):
    client, server = t.pair()
    client.receive_to_end()
    client.close()
    server.receive_to_end()
    yield


def nobody_answers(t):
    t.connect().receive_to_end()
    yield


def full(t, wait):
    """A server that has its one client: the next one waits."""
    first, server = t.pair()
    second = t.connect(hello=False)
    yield from wait(t, second)
    server.fin()
    first.fin()
    first.receive_to_end()
    server.receive_to_end()
    yield


def waits_too_long(t):
    def wait(_, second):
        second.receive_to_end()
        yield
    yield from full(t, wait)


def leaves_the_queue(t):
    def wait(_, second):
        t.wait_sessions(2)
        second.fin()
        second.receive_to_end()
        yield
    yield from full(t, wait)


def queue_of_two(t):
    first, server = t.pair()
    waiting = []
    for n in range(2):
        waiting.append(t.connect())
        t.wait_sessions(2 + n)
    for following in [*waiting, None]:
        server.fin()
        first.fin()
        first.receive_to_end()
        server.receive_to_end()
        yield
        if following:
            first, server = following, t.accept()


def killed(t):
    client, server = t.pair()
    admin.ask(t.admin, f"shutdown sessions server {t.name}/a", voice="")
    client.receive_to_end()
    server.receive_to_end()
    yield


class Case:
    """A section of both configurations. `servers` are lines of HAProxy's, where UP, GONE, FULL and MISSING
    are addresses; `options` HAProxy's, or with '=' weir's. `apart`: by how many milliseconds times may
    differ."""

    def __init__(self, name, story, servers=("a UP",), options=(), unix=False, apart=60):
        self.name = name
        self.story = story
        self.servers = servers
        self.options = options
        self.unix = unix
        self.apart = apart


CASES = (
    Case("normal", normal, apart=0),
    Case("others", one_of_three),
    Case("unix", normal, unix=True),
    Case("client-resets", client_resets),
    Case("server-resets", server_resets),
    Case("killed", killed),
    Case("client-silent", client_is_silent, options=("timeout client 200ms", "timeout-client = 200ms")),
    Case("server-silent", server_is_silent, options=("timeout server 200ms", "timeout-server = 200ms")),
    Case("client-done", client_is_done, options=("timeout server-fin 200ms", "timeout-half-closed = 200ms")),
    Case("server-done", server_is_done, options=("timeout client-fin 200ms", "timeout-half-closed = 200ms")),
    Case("refused", nobody_answers, servers=("a GONE",), apart=1),
    Case("missing", nobody_answers, servers=("a MISSING",)),
    Case("retried", nobody_answers, servers=("a GONE",),
         options=("retries 2", "timeout connect 50ms", "retries = 2", "timeout-connect = 50ms")),
    Case("redispatched", normal, servers=("a GONE weight 200", "b UP weight 1"),
         options=("retries 1", "option redispatch 1", "retries = 1")),
    Case("no-server", nobody_answers, servers=("a UP disabled",)),
    Case("connect-timeout", nobody_answers, servers=("a FULL",),
         options=("timeout connect 200ms", "timeout-connect = 200ms")),
    Case("queue", queue_of_two, servers=("a UP maxconn 1",)),
    Case("queue-timeout", waits_too_long, servers=("a UP maxconn 1",),
         options=("timeout queue 200ms", "timeout-queue = 200ms")),
    Case("queue-left", leaves_the_queue, servers=("a UP maxconn 1",), options=("option abortonclose",)),
)


# ---- the two proxies, with the same sections ----


class Servers:
    """What the servers of a case may be."""

    def __init__(self, peers, folder):
        self.up = peers.listen()
        gone = peers.listen(listen=False)
        full = peers.listen(backlog=0)
        fill(peers, full)
        self.addresses = {"UP": str(self.up.address), "GONE": str(gone.address), "FULL": str(full.address),
                          "MISSING": f"unix:{folder}/missing"}

    def line(self, words):
        return " ".join(self.addresses.get(word, word) for word in words.split())


def fill(peers, listener):
    """Connects until the kernel answers nobody."""
    for _ in range(8):
        sock = peers.keep(listener.address.socket())
        sock.setblocking(False)
        sock.connect_ex(listener.address.sockaddr)
        if not select.select([], [sock], [], 0.1)[1]:
            return
    raise AssertionError("the backlog does not fill")


class Theirs:
    """An HAProxy. It inherits its listening sockets."""

    def __init__(self, folder, servers, kept):
        self.path = f"{folder}/haproxy.log"
        self.admin = f"{folder}/haproxy.sock"
        self.where = {}
        fds = []
        text = f"global\n nbthread 1\n log stdout format raw daemon\n stats socket {self.admin} level admin\n"
        text += "defaults\n mode tcp\n log global\n option tcplog\n"
        text += "".join(f" {key} {value}\n" for key, value in USUAL.items())
        for case in CASES:
            where = address.fresh("path" if case.unix else "tcp4", folder)
            if case.unix:
                bind = f" bind unix@{where.name}.first\n bind unix@{where.name}\n"
            else:
                sock = kept.enter_context(where.socket())
                sock.bind(where.sockaddr)
                sock.listen()
                fds.append(sock.fileno())
                where = address.of_socket(sock, where.family)
                bind = f" bind fd@{sock.fileno()}\n"
            self.where[case.name] = where
            text += f"listen {case.name}\n{bind}"
            text += "".join(f" {line}\n" for line in case.options if " = " not in line)
            for line in case.servers:
                text += f" server {servers.line(line)}\n".replace("unix:", "unix@")
        with open(f"{folder}/haproxy.cfg", "w", encoding="utf-8") as f:
            f.write(text)
        with open(self.path, "wb") as log, open(f"{folder}/haproxy.err", "wb") as err:
            self.child = subprocess.Popen([HAPROXY, "-db", "-f", f"{folder}/haproxy.cfg"],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=err, pass_fds=fds)
        kept.callback(self.close)
        wait_until(lambda: os.path.exists(self.admin), "HAProxy starts")

    def close(self):
        self.child.terminate()
        self.child.wait(PATIENCE)


class Ours:
    def __init__(self, weir, folder, servers):
        self.path = f"{folder}/weir.log"
        text = f"log = file:{self.path} format=tcplog\n[defaults]\n"
        text += "".join(f"{key.replace(' ', '-')} = {value}\n" for key, value in USUAL.items())
        self.where = {}
        for case in CASES:
            text += f"[listen {case.name}]\n"
            if case.unix:
                where = self.where[case.name] = address.fresh("path", folder)
                text += f"bind = unix:{where.name}.first\nbind = unix:{where.name}\n"
            else:
                text += "bind = 127.0.0.1:0\n"
            text += "".join(f"{line}\n" for line in case.options if " = " in line)
            for line in case.servers:
                name, words = servers.line(line).split(" ", 1)
                words = re.sub(r" (weight|maxconn|maxqueue) ", r" \1=", words)
                text += f"server {name} = {words}\n"
        self.daemon = weir(text, global_options="threads = 1")
        self.admin = self.daemon.admin
        for case in CASES:
            if not case.unix:
                self.where[case.name] = self.daemon.address(case.name)


class Traffic:
    """What a story does, through one of the two."""

    def __init__(self, peers, proxy, case, listener):
        self.peers = peers
        self.name = case.name
        self.where = proxy.where[case.name]
        self.admin = proxy.admin
        self.listener = listener

    def connect(self, **kw):
        return self.peers.connect(self.where, **kw)

    def accept(self):
        return self.peers.accept(self.listener)

    def pair(self):
        return self.peers.pair(self.where, self.listener)

    def sessions(self):
        """Those of the frontend, by `show stat`."""
        head, *rows = admin.ask(self.admin, "show stat", voice="").splitlines()
        column = head.lstrip("# ").split(",").index("scur")
        return next(int(row.split(",")[column]) for row in rows if row.startswith(f"{self.name},FRONTEND,"))

    def wait_sessions(self, count):
        wait_until(lambda: self.sessions() == count, lambda: f"{count} sessions")


def told(peers, proxy, case, listener):
    """The lines of a story."""
    before = len(lines_of(proxy.path))
    for count, _ in enumerate(case.story(Traffic(peers, proxy, case, listener)), start=1):
        wait_until(lambda n=before + count: len(lines_of(proxy.path)) >= n,
                   lambda: f"{proxy.path}: one more line for {case.name}")
    return [LINE.fullmatch(line) for line in lines_of(proxy.path)[before:]]


def times_of(line):
    return [int(t) for t in line["times"].split("/")]


def agree(case, theirs, ours):
    """What does not depend on the moment must be the same at once. Returns whether the times are, too: a busy
    machine adds to them."""
    for wanted, found in zip(theirs, ours, strict=True):
        assert DATE.fullmatch(found["date"]), found.string
        for part in "name", "path", "rest":
            assert found[part] == wanted[part], f"{case.name}:\n{found.string}\n{wanted.string}"
        if case.unix:
            assert found["client"] == wanted["client"] == "unix:2", found.string
    pairs = [pair for lines in zip(theirs, ours) for pair in zip(*map(times_of, lines), strict=True)]
    return all((a == -1) == (b == -1) and abs(a - b) <= case.apart for a, b in pairs)


@pytest.mark.skipif(HAPROXY is None, reason="no haproxy to compare with")
def test_tcplog_is_haproxys_line_however_a_session_ends(weir, peers, folder):
    servers = Servers(peers, folder)
    with ExitStack() as kept:
        theirs = Theirs(folder, servers, kept)
        ours = Ours(weir, folder, servers)
        for case in CASES:
            for _ in range(TRIES):
                lines = [told(peers, proxy, case, servers.up) for proxy in (theirs, ours)]
                if agree(case, *lines):
                    break
            else:
                raise AssertionError("\n".join(line.string for told_by in lines for line in told_by))
