# SPDX-License-Identifier: MIT
"""Danger: a reload says that an option has changed, and the option goes on as before. One row for each kind
of change: it is made, observed from outside, taken back, and made again."""

import os
import socket
import stat as modes
import subprocess

import pytest

from harness.service import Service
from harness.timing import AT_ONCE, PATIENCE, SCALE, stays, wait_until
from test_reload_state import stat


class World:
    """Two servers that take everything and end when the client does; the first is used first."""

    def __init__(self, weir, closing, folder):
        self.services = [Service(talk=self.talk), Service(talk=self.talk)]
        closing += self.services
        self.folder = folder
        self.first_bytes = []
        a, b = (s.address for s in self.services)
        self.daemon = weir("[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n"
                           f"[backend app]\nbalance = roundrobin\nserver a = {a}\nserver b = {b} backup\n"
                           f"[backend other]\nserver c = {b}\n",
                           "maxconn = 100\nmaxpipes = 10\nsplice = auto")
        self.port = self.daemon.address("web").port

    def talk(self, sock):
        """Sends what comes first back. One connection at a time, so that a test ends each before the next."""
        data = sock.recv(65536)
        self.first_bytes.append(data)
        if data:
            sock.sendall(data)

    def client(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def echo(self, data=b"hello", header=b""):
        """What a new client gets back; b"" if it is refused."""
        try:
            with self.client() as sock:
                sock.sendall(header + data)
                sock.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: sock.recv(65536), b""))
        except OSError:
            return b""

    def served(self, name, proxy="app"):
        return int(stat(self.daemon, proxy, name)["stot"])

    def at_rest(self):
        wait_until(lambda: self.daemon.info()["sessions"] == 0, "sessions have ended")


@pytest.fixture
def world(weir, closing, folder):
    return World(weir, closing, folder)


def uses(w, name, proxy="app"):
    before = w.served(name, proxy)
    assert w.echo() == b"hello"
    return w.served(name, proxy) == before + 1


def is_denied(w):
    before = w.daemon.info()["denied"]
    return w.echo() == b"" and w.daemon.info()["denied"] == before + 1


def is_one_per_source(w):
    w.at_rest()
    with w.client() as first:
        first.sendall(b"x")
        assert first.recv(1) == b"x"
        before = w.daemon.info()["source_limited"]
        try:
            second = w.client()
        except ConnectionResetError:    # it was refused before the client was ready
            second = None
        limited = wait_until(lambda: (w.daemon.info()["source_limited"] > before,)
                             if w.daemon.info()["source_limited"] > before or
                             w.daemon.info()["sessions"] == 2 else None, "it is refused or let in")[0]
        if second:
            second.close()
    w.at_rest()
    return limited


def is_rate_limited(w):
    before = w.daemon.info()["rate_pauses"]
    for _ in range(4):
        assert w.echo() == b"hello"
    return w.daemon.info()["rate_pauses"] > before


def sends_proxy(w):
    w.echo()
    return w.first_bytes[-1].startswith(b"PROXY TCP4 127.0.0.1 ")


def takes_proxy(w):
    got = w.echo(b"hello", b"PROXY TCP4 192.0.2.1 192.0.2.2 5 6\r\n")
    return got == b"hello"


def splices(w):
    """Everything, though it is little."""
    before = w.daemon.info()["bytes_spliced"]
    assert w.echo(b"x" * 5000)
    w.at_rest()
    return w.daemon.info()["bytes_spliced"] > before


def has(name, value):
    def effect(w):
        return w.daemon.info()[name] == value
    return effect


def column(server, name, value):
    def effect(w):
        return stat(w.daemon, "app", server)[name] == value
    return effect


def is_checked(w):
    wanted = stat(w.daemon, "app", "a")["status"]
    return wanted.startswith("UP")


def is_silent(w):
    w.at_rest()
    lines = len(w.daemon.session_lines())
    w.echo()
    w.at_rest()
    return stays(lambda: len(w.daemon.session_lines()) == lines, 0.1 * SCALE)  # the line comes a moment later


def admin_mode(mode):
    def effect(w):
        return modes.S_IMODE(os.stat(w.daemon.admin).st_mode) == mode
    return effect


def backlog(size):
    """The limit of the accept queue, which the kernel shows in the place of a byte count."""
    def effect(w):
        out = subprocess.run(["ss", "-Hltn", f"sport = :{w.port}"], capture_output=True, text=True,
                             check=True)
        return out.stdout.split()[2] == str(size)
    return effect


CHANGES = {
    "route": ("default-backend = app\n", "default-backend = app\nuse-backend other = src=127.0.0.0/8\n",
              lambda w: uses(w, "c", "other")),
    "default backend": ("default-backend = app\n", "default-backend = other\n",
                        lambda w: uses(w, "c", "other")),
    "disabled": ("{a}\n", "{a} disabled\n", lambda w: uses(w, "b")),
    "server weight": ("{a}\n", "{a} weight=7\n", column("a", "weight", "7")),
    "server maxconn": ("{a}\n", "{a} maxconn=7\n", column("a", "slim", "7")),
    "checks": ("[backend app]\n", "[backend app]\ncheck = tcp\ncheck-interval = 100ms\n", is_checked),
    "access list": ("[frontend web]\n", "[frontend web]\ndeny-from = 127.0.0.0/8\n", is_denied),
    "source table": ("[frontend web]\n", "[frontend web]\nmaxconn-per-source = 1\n", is_one_per_source),
    "rate limit": ("[frontend web]\n", "[frontend web]\nrate-limit = 2\n", is_rate_limited),
    "send PROXY": ("{a}\n", "{a} send-proxy\n", sends_proxy),
    "backlog": ("127.0.0.1:0\n", "127.0.0.1:0 backlog=77\n", backlog(77)),
    "splice": ("splice = auto", "splice = on", splices),
    "maxconn": ("maxconn = 100\n", "maxconn = 50\n", has("maxconn", 50)),
    "maxpipes": ("maxpipes = 10\n", "maxpipes = 5\n", has("maxpipes", 5)),
    "pipe size": ("[global]\n", "[global]\npipe-size = 64k\n", has("pipe_bytes", 65536)),
    "log level": ("level=info", "level=warning", is_silent),
    "admin mode": ("mode=666", "mode=640", admin_mode(0o640)),
    "frontend maxconn": ("[frontend web]\n", "[frontend web]\nmaxconn = 9\n", has("frontend.web.maxconn", 9)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_takes_effect_and_is_taken_back(world, what):
    old, new, effect = CHANGES[what]
    old, new = (text.replace("{a}", world.services[0].address) for text in (old, new))
    plain = world.daemon.config
    assert old in plain
    wait_until(lambda: not effect(world), "the effect is there before the change", AT_ONCE * 3)
    for generation in (2, 4):
        said = world.daemon.reload(plain.replace(old, new, 1))
        assert said.startswith(f"reloaded: generation {generation}, ") and "nothing has" not in said, said
        wait_until(lambda: effect(world), f"{what}: no effect\n{world.daemon.log()[-1000:]}", AT_ONCE * 3)
        said = world.daemon.reload(plain)
        assert said.startswith(f"reloaded: generation {generation + 1}, ") and "nothing has" not in said, said
        wait_until(lambda: not effect(world), f"{what}: the effect stays", AT_ONCE * 3)
    assert world.echo() == b"hello"


def test_the_algorithm_changes(world):
    world.daemon.reload(" backup\n", "\n")
    for word, wanted in (("first", {(4, 0)}), ("roundrobin", {(2, 2)}), ("source", {(4, 0), (0, 4)}),
                         ("maglev", {(4, 0), (0, 4)}), ("leastconn", None), ("random", None),
                         ("first", {(4, 0)})):
        said = world.daemon.reload(world.daemon.config.replace(
            next(line for line in world.daemon.config.splitlines() if line.startswith("balance")),
            f"balance = {word}"))
        before = [world.served(name) for name in "ab"]
        for _ in range(4):
            assert world.echo() == b"hello"
            world.at_rest()
        got = tuple(world.served(name) - was for name, was in zip("ab", before))
        assert sum(got) == 4 and (wanted is None or got in wanted), (word, got, said)


def test_clients_send_headers_from_now_on(world):
    assert not takes_proxy(world)
    world.daemon.reload("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0 accept-proxy\n")
    assert takes_proxy(world)
    world.daemon.wait_session_line(client="192.0.2.1:5")
    world.daemon.reload("bind = 127.0.0.1:0 accept-proxy\n", "bind = 127.0.0.1:0\n")
    assert not takes_proxy(world)


def test_a_stop_goes_by_the_new_limit(weir, peers):
    one = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address}\n", "hard-stop-after = 300s")
    peers.pair(daemon.address("l"), one)
    daemon.reload("hard-stop-after = 300s", "hard-stop-after = 100ms", words=())
    assert daemon.terminate() == 0


def test_a_disk_that_is_full_stops_nobody(weir, peers):
    one = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address}\n")
    daemon.reload("[global]\n", "[global]\nlog = file:/dev/full\n", words=())
    client, server = peers.pair(daemon.address("l"), one)
    client.fin()
    server.fin()
    daemon.wait_session_line()
    daemon.reload("log = file:/dev/full\n", "")
