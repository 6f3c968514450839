# SPDX-License-Identifier: MIT
"""Danger: a plan says something else than what the reload then does, or changes something itself. What a
reload does is observed from outside: listening sockets by their inodes, servers by their numbers, and what -T
prints of both files."""

import json
import os
import random
import re
import subprocess
import tempfile

import pytest

from harness import process
from harness.daemon import BINARY
from harness.pairs import Pairs, effective, key_of
from harness.timing import PATIENCE, wait_until
from test_reload import free_port, last

PAIRS = int(os.environ.get("WEIR_TEST_PAIRS", "12"))
RESTART = {"threads", "driver", "user", "group", "cpu-affinity"}


def plan(daemon, *words, code=None):
    """The exit code and what was printed."""
    got = subprocess.run([BINARY, "plan", *words, "--pid", str(daemon.pid)], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)
    assert code is None or got.returncode == code, (got, daemon.log()[-2000:])
    assert got.returncode in (0, 1, 10), got
    return got


# What a daemon has.

def listening(pid):
    """{address: inodes} of its TCP and Unix listeners."""
    mine = {m[1] for m in map(re.compile(r"socket:\[(\d+)\]").match, process.descriptors(pid)) if m}
    found = {}
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="ascii") as f:
            for row in (line.split() for line in f.readlines()[1:]):
                if row[3] == "0A" and row[9] in mine:
                    found.setdefault(address_of(row[1]), set()).add(row[9])
    with open(f"/proc/{pid}/net/unix", encoding="ascii", errors="replace") as f:
        for row in (line.split() for line in f.readlines()[1:]):
            if row[3] == "00010000" and row[6] in mine and len(row) > 7:
                found[f"unix:{row[7]}"] = {row[6]}
    return found


def address_of(text):
    """An address of /proc/net/tcp as weir writes it."""
    host, port = text.split(":")
    data = bytes.fromhex(host)
    words = [data[i:i + 4][::-1] for i in range(0, len(data), 4)]
    if len(words) == 1:
        return f"{'.'.join(map(str, words[0]))}:{int(port, 16)}"
    short = {bytes(16): "[::]", bytes(15) + b"\1": "[::1]"}
    return f"{short[b''.join(words)]}:{int(port, 16)}"


def bound(name):
    """Where a bind listens that is written like this."""
    return name.replace("*:", "[::]:") if name.startswith("*:") else name


def servers(daemon):
    """{(backend, server): number}."""
    rows = [line.split() for line in daemon.ask("show servers state").splitlines()[2:] if line.strip()]
    return {(row[1], row[3]): row[2] for row in rows}


class Seen:
    """A daemon as it is observed."""

    def __init__(self, daemon):
        self.sockets = listening(daemon.pid)
        self.servers = servers(daemon)
        # The sockets of clients of the admin protocol come and go.
        self.fds = sorted(fd for fd in process.descriptors(daemon.pid) if not fd.startswith("socket:"))
        self.generation = daemon.info()["generation"]

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return str(vars(self))


# What two files say.

class File:
    """What -T prints of a configuration."""

    def __init__(self, text, folder):
        self.globals, self.logs, self.idle = {}, [], set()
        self.frontends, self.backends = {}, {}    # name -> {key: value}
        self.binds = {}     # (frontend, address) -> [(name, words)]
        self.servers = {}   # (backend, name) -> (address, words)
        for s in effective(text, folder):
            if s.kind == "global":
                self.logs = sorted(v for k, v in s.lines if k == "log")
                self.globals = {k: v for k, v in s.lines if k != "log"}
            elif s.kind == "defaults":
                self.idle = {key_of(k) for k, _ in s.lines}
            else:
                self._add(s)
        self._effective_checks()

    def _add(self, s):
        front = s.kind in ("listen", "frontend")
        back = s.kind in ("listen", "backend")
        rest = {}
        for key, value in s.lines:
            word, _, name = key.partition(" ")
            if word == "bind":
                where, _, words = value.partition(" ")
                self.binds.setdefault((s.name, where), []).append((name, words))
            elif word == "server":
                where, _, words = value.partition(" ")
                self.servers[s.name, name] = (where, set(words.split()))
            elif word == "use-backend":
                rest.setdefault(word, []).append(f"{name} {value}")
            else:
                rest.setdefault(word, []).append(value)
        if s.kind == "listen":
            rest["default-backend"] = [s.name]
        if front:
            self.frontends[s.name] = {**{k: v for k, v in rest.items() if k not in BACK_ONLY},
                                      "section": [s.kind]}
        if back:
            self.backends[s.name] = {k: v for k, v in rest.items() if k not in FRONT_ONLY}

    def _effective_checks(self):
        """On a server line, "check=off" is an exception; otherwise its section decides."""
        for (backend, name), (where, words) in self.servers.items():
            checked = self.backends[backend].get("check", ["off"]) != ["off"] and "check=off" not in words
            words -= {"check=off"}
            words.add(f"check={'on' if checked else 'off'}")


FRONT_ONLY = {"maxconn", "rate-limit", "log-sample", "log-empty", "maxconn-per-source", "allow-from",
              "deny-from", "allow-uid", "trusted", "use-backend", "sniff", "no-server", "unlisten",
              "timeout-client", "timeout-handshake", "default-backend", "client-keepalive",
              "rate-limit-per-source", "limit-exempt", "timeout-half-closed"}
BACK_ONLY = {"balance", "retries", "redispatch", "resolve-interval", "check", "check-interval", "check-agent",
             "check-agent-interval", "check-agent-send", "check-share", "check-fast",
             "check-down", "check-timeout", "check-rise", "check-fall", "observe", "on-marked-down", "drain",
             "allbackups", "panic", "maxqueue", "timeout-queue", "send-proxy", "timeout-connect",
             "timeout-server", "hold-nx", "hold-timeout", "hold-refused", "hold-other", "hold-obsolete",
             "on-empty", "server-keepalive", "resolve-family", "persist",
             "sticky", "allow-sni", "allow-to"}


def differing(a, b, ignored=()):
    return {k for k in a.keys() | b.keys() if a.get(k) != b.get(k) and k not in ignored}


def word_keys(a, b):
    """Keys of the words of which one line has others than the other."""
    return {w.partition("=")[0] for w in a ^ b}


# Expectations.

class Judge:
    """Compares a plan with two files, and with what was observed before and after the reload."""

    def __init__(self, found, was, now, before, after):
        self.found = found
        self.was, self.now = was, now
        self.before, self.after = before, after
        self.items = {}
        for item in found["items"]:
            key = (item["kind"], item.get("frontend", item.get("backend")), item.get("name"))
            self.items.setdefault(key, []).append(item)
        self.ignored = was.idle | now.idle

    def whats(self, *key):
        return sorted(item["what"] for item in self.items.pop(key, []))

    def options(self, *key):
        return {o["key"] for item in self.items.get(key, []) for o in item.get("options", [])}

    def section(self, kind, was, now):
        for name in was.keys() | now.keys():
            key = (kind, None, name)
            keys = self.options(*key) - self.ignored
            if name not in was:
                assert self.whats(*key) == ["added"], key
            elif name not in now:
                assert self.whats(*key) == ["removed"], key
            else:
                wanted = differing(was[name], now[name], self.ignored)
                assert keys == wanted, (key, keys, wanted)
                what, = self.whats(*key)
                assert what == "changed" if wanted else what in ("kept", "changed"), (key, what, wanted)

    def each_server(self):
        was, now = self.was.servers, self.now.servers
        for key in was.keys() | now.keys():
            item = ("server", *key)
            same = key in was and key in now and was[key][0] == now[key][0]
            keys = self.options(*item)
            what = self.whats(*item)
            assert same == (self.before.servers.get(key) == self.after.servers.get(key)), (item, what)
            if same:
                wanted = word_keys(was[key][1], now[key][1])
                assert keys == wanted, (item, keys, wanted)
                assert what == ["changed" if wanted else "kept"], (item, what)
            else:
                assert what == ["added"] * (key in now) + ["removed"] * (key in was), (item, what)

    def is_covered(self, address):
        """Does a wildcard of the new file take its clients?"""
        port = address.rpartition(":")[2]
        return not address.startswith("unix:") and any(
            where in (f"*:{port}", f"0.0.0.0:{port}", f"[::]:{port}") for _, where in self.now.binds)

    def each_address(self):
        was, now = self.was.binds, self.now.binds
        for key in was.keys() | now.keys():
            item = ("address", *key)
            where = bound(key[1])
            old, new = self.before.sockets.get(where, set()), self.after.sockets.get(where, set())
            anew = any(i.get("bound_anew") for i in self.items.get(item, []))
            what = self.whats(*item)
            if anew:    # the old socket goes on beside it
                assert what == ["changed"] and was[key] != now[key], (item, what)
                assert old < new
            elif key in was and key in now and old == new:
                assert what == ["kept" if was[key] == now[key] else "changed"], (item, what)
            elif key in was and key in now:
                assert what == ["added", "removed"], (item, what)
            elif key in now:
                moved = any(address == key[1] for _, address in was)
                assert what == ["moved" if moved and old == new else "added"], (item, what)
                assert new, item
            else:
                gone = [] if any(address == key[1] for _, address in now) and old == new else ["removed"]
                assert what == gone, (item, what)
                # "*:80" and "[::]:80" are one address for the kernel.
                assert not new or old == new and (not gone or self.is_covered(key[1])) or \
                    any(bound(address) == where for _, address in now), item

    def process(self):
        keys = self.options("global", None, None)
        wanted = {k for k in differing(self.was.globals, self.now.globals) if k not in RESTART}
        what, = self.whats("global", None, None)
        assert what == "changed" if wanted - {"on-removed"} else what in ("kept", "changed"), (what, wanted)
        assert keys == (wanted if what == "changed" else set()), (keys, wanted)
        restarts = {o["key"] for o in self.found["needs_restart"]}
        assert restarts == differing(self.was.globals, self.now.globals) & RESTART
        logs = [item["line"].removeprefix("log = ") for item in self.items.get(("log", None, None), [])
                if item["what"] == "added"]
        assert sorted(logs + [line for line in self.was.logs if line in self.now.logs]) == self.now.logs
        self.items.pop(("log", None, None), None)

    def judge(self):
        self.section("frontend", self.was.frontends, self.now.frontends)
        self.section("backend", self.was.backends, self.now.backends)
        self.each_server()
        self.each_address()
        self.process()
        assert not self.items, f"not in any file: {self.items}"


def judge_pair(daemon, first, second, folder):
    """Plans the second file, reloads, and compares."""
    before = Seen(daemon)
    daemon.rewrite(second)
    got = plan(daemon, "--json")
    found = json.loads(got.stdout)
    assert got.returncode == (10 if found["would_change"] else 0)
    lines = plan(daemon, code=got.returncode).stdout
    assert last(lines) == f"would change: {'yes' if found['would_change'] else 'no'}"
    wait_until(lambda: Seen(daemon) == before, lambda: f"a plan changes nothing: {before}, {Seen(daemon)}")
    said = daemon.reload().splitlines()
    line = next(x for x in said if x.startswith("reloaded: "))
    after = Seen(daemon)
    assert line.partition(", ")[2] == found["summary"]
    assert found["would_change"] == (found["summary"] != "nothing has changed")
    Judge(found, File(first, folder), File(second, folder), before, after).judge()
    again = plan(daemon, "--json", code=0)
    assert json.loads(again.stdout)["summary"] == "nothing has changed"


@pytest.fixture(scope="module")
def pairs(session_folder):
    return Pairs(tempfile.mkdtemp(prefix="p", dir=session_folder), random.Random(0), free_port)


@pytest.mark.parametrize("seed", range(PAIRS))
def test_a_reload_does_what_the_plan_says(weir, folder, pairs, seed):
    pairs.rng = random.Random(seed)
    first, second = pairs.pair()
    daemon = weir(first.body, first.options)
    daemon.expected_alarms = "has no server left"
    judge_pair(daemon, daemon.config, second.text(daemon), folder)
