# SPDX-License-Identifier: MIT
"""A pair: HAProxy or nginx with a configuration, and weir with what `weir convert` makes of the same text.

The text names its addresses in angle brackets: <f> in a bind or listen line, <a> in a server line. Each side
has ports and servers of its own, so that neither sees what the other does, and both run a scenario at the
same time.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.address import Address
from harness.daemon import BINARY
from harness.checked import lasting
from harness.labelled import Client, Server, greet
from harness.port_service import free_run
from harness.programs import needs
from harness.timing import PATIENCE, SCALE

STREAM = "ngx_stream_module.so"
MODULES = "/usr/lib/nginx/modules"


def haproxy(folder, config):
    return [needs("haproxy"), "-db", "-f", config]


def nginx(folder, config):
    """Debian loads the module by a file of its own, which the configuration here does not include."""
    program = needs("nginx")
    if not os.path.exists(os.path.join(MODULES, STREAM)):
        pytest.skip("nginx's module for stream (libnginx-mod-stream) is not installed")
    return [program, "-p", folder, "-e", "nginx.err", "-c", config, "-g",
            f"load_module {MODULES}/{STREAM}; daemon off; pid nginx.pid; user root;"]


class Side:
    """One of the two programs, with its addresses and its servers."""

    def __init__(self, name, style, servers, binds, more):
        self.name, self.style = name, style
        self.ours = name == "weir"
        self.servers = {label: talk(label) if isinstance(talk, type) else Server(label, talk)
                        for label, talk in servers.items()}
        self.binds = dict.fromkeys(binds)
        self.more = more(self) if more else {}
        self.clients = []
        self.daemon = None

    def __getitem__(self, label):
        return self.servers[label]

    def render(self, text):
        """The text with the addresses of this side, ports of binds chosen anew."""
        first = free_run(len(self.binds), ("0.0.0.0",))
        for at, name in enumerate(self.binds):
            self.binds[name] = Address("tcp4", host="127.0.0.1", port=first + at)
        words = {label: server.where for label, server in self.servers.items()}
        words = {label: f"{'unix@' if self.style == 'haproxy' else 'unix:'}{w.name}" if w.family == "path"
                 else str(w) for label, w in words.items()}
        words |= {name: str(where) for name, where in self.binds.items()} | self.more

        def word(m):
            name, _, part = m[1].partition(".")
            return {"": words[name], "port": words[name].rpartition(":")[2]}[part]
        return re.sub(r"<([\w.]+)>", word, text)

    # Clients.

    def connect(self, bind="f", source=None, data=b""):
        where = bind if isinstance(bind, Address) else self.binds[bind]
        self.clients.append(Client(where, source, data))
        return self.clients[-1]

    def label(self, bind="f", source=None, data=b""):
        """Who answers a client; or how it ends."""
        client = self.connect(bind, source, data)
        label = client.label()
        client.close()
        return label

    def labels(self, count, bind="f", source=None, data=b""):
        return [self.label(bind, source, data) for _ in range(count)]

    def close_clients(self):
        for client in self.clients:
            client.close()
        self.clients.clear()

    def close_servers(self):
        for server in self.servers.values():
            server.close()


def near(a, b):
    """Seconds: within 10 %, and what a busy machine adds."""
    return abs(a - b) <= 0.1 * max(a, b) + 0.1 * SCALE


def same(a, b, resets=None):
    """Is `b` like `a`? In `resets`, a reset instead of a FIN is collected."""
    if isinstance(a, float) and isinstance(b, float):
        return near(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all([same(a[k], b[k], resets) for k in a])
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all([same(x, y, resets) for x, y in zip(a, b)])
    if resets is not None and (a, b) == ("fin", "reset"):
        resets.append(b)
        return True
    return a == b


def without_global(text):
    """The sections but [global], and the lines of that: the harness has one of its own."""
    options = re.search(r"(?ms)^\[global\]\n(.*?)(?=^\[|\Z)", text)
    return (text.replace(options[0], ""), options[1]) if options else (text, "")


class Pair:
    """`servers` is {label: how a server serves}, or a text of labels; `more(side)` gives further words of the
    text. `alarms` is a pattern of alarming lines that are expected in weir's log."""

    def __init__(self, style, folder, keep, servers="a b", binds="f", more=None, alarms=None):
        if isinstance(servers, str):
            servers = dict.fromkeys(servers.split(), greet)
        self.folder, self.style, self.alarms = folder, style, alarms
        self.theirs = Side(style, style, servers, binds.split(), more)
        self.ours = Side("weir", style, servers, binds.split(), more)
        self.sides = (self.theirs, self.ours)
        keep.extend(self.sides)
        self.report = self.config = None

    def start(self, text, programs, weir):
        self._start_original(text, programs)
        self._start_weir(text, weir)
        return self

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def _start_original(self, text, programs):
        ports = []

        def argv():
            config = self._write("original.cfg", self.theirs.render(text))
            ports[:] = [w.port for w in self.theirs.binds.values()]
            return {"haproxy": haproxy, "nginx": nginx}[self.style](self.folder, config)
        programs.start_listening(argv, ports, "original.log")

    def _start_weir(self, text, weir):
        old = self._write("converted.cfg", self.ours.render(text))
        report = os.path.join(self.folder, "report.json")
        got = subprocess.run([BINARY, "convert", "--json", "--report", report, old], capture_output=True,
                             text=True, stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)
        assert got.returncode in (0, 10), got.stderr
        with open(report, encoding="utf-8") as f:
            self.report = json.load(f)
        self.config = got.stdout
        rest, options = without_global(got.stdout)
        self.ours.daemon = weir(rest, options)
        self.ours.daemon.expected_alarms = self.alarms
        if "check" in self.config:
            lasting(self.ours.daemon)

    # Observing.

    def both(self, scenario, fits=None):
        """What the scenario returns for the original, and for weir. It is run again where
        `fits(theirs, ours)` is not true, twice at most: a busy machine adds to times now and then, and what a
        program adds comes each time."""
        for _ in range(3 if fits else 1):
            with ThreadPoolExecutor(2) as pool:
                theirs, ours = list(pool.map(scenario, self.sides))
            print("original:", theirs)
            print("weir:    ", ours)
            if fits and fits(theirs, ours):
                break
        return theirs, ours

    def same(self, scenario, resets=False, fits=None):
        """Both do the same; what that is. With `resets`, weir resets where the original ends with FIN, and
        the report says so. With `fits`, it is run again as both() does."""
        theirs, ours = self.both(scenario, fits and (
            lambda theirs, ours: same(theirs, ours, [] if resets else None) and fits(theirs)))
        found = [] if resets else None
        assert same(theirs, ours, found), f"{self.theirs.name}: {theirs}\nweir: {ours}\n{self.config}"
        if resets:
            assert found, "they end alike"
            self.named("weir resets")
        return theirs

    def named(self, words, line=None):
        """The report names a difference: in the remark of a line that is different or lost, or in a note."""
        remarks = [(x["text"], x["why"] or "") for x in self.report["lines"]
                   if x["state"] in ("different", "lost")]
        remarks += [(None, note) for note in self.report["notes"]]
        assert any(words in why and (line is None or line in (text or "")) for text, why in remarks), \
            f"nothing about {words!r} in {remarks}"

    def close(self):
        for side in self.sides:
            side.close_clients()
