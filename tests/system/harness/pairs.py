# SPDX-License-Identifier: MIT
"""Random pairs of configurations that a daemon can load one after the other: the files of the fuzzer's
corpus and the examples, in the form that -T prints, with addresses that are free, and mutations of them."""

import functools
import glob
import os
import re
import subprocess
import tempfile

from harness.daemon import BINARY, REPOSITORY
from harness.timing import PATIENCE

CORPUS = (*sorted(glob.glob(os.path.join(REPOSITORY, "tests/fuzz/corpus/config/*"))),
          *sorted(glob.glob(os.path.join(REPOSITORY, "conf/examples/*.ini"))))
_ORIGIN = re.compile(r"\s+# (default|(\[defaults\], )?\S+:\d+)$")
_FIRST = re.compile(r"""^("(?:[^"\\]|\\.)*"|'[^']*'|\S+)(.*)$""")
# What needs a right, a device or a user, or more than this machine has.
_WITHOUT = {"user", "group", "mark", "cpu-affinity", "driver", "admin-socket", "include"}
_WITHOUT_WORDS = re.compile(r" (user|group|source|interface)=\S+| (transparent|mptcp)\b")
_BOUNDED = {"threads": "2", "maxconn": "500", "maxpipes": "40", "pipe-cycle": "100ms", "congestion": "reno"}


class Section:
    """A header, such as "listen web", and its lines: [(key, value)], where a key may have a name in it."""

    def __init__(self, header, lines=()):
        self.header = header
        self.lines = list(lines)

    @property
    def kind(self):
        return self.header.split(" ")[0]

    @property
    def name(self):
        return self.header.partition(" ")[2]

    def text(self):
        return f"[{self.header}]\n" + "".join(f"{key} = {value}\n" for key, value in self.lines)


def run_check(text, folder, *words):
    """Reads the text as weir does; the completed process."""
    path = os.path.join(folder, "checked.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return subprocess.run([BINARY, *words, path], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)


def parse(printed):
    """What -T prints, without the origins."""
    sections = []
    for line in printed.splitlines():
        line = _ORIGIN.sub("", line)
        if line.startswith("["):
            sections.append(Section(line[1:-1]))
        elif line.strip() and not line.startswith("#"):
            key, _, value = line.partition(" = ")
            sections[-1].lines.append((key, value))
    return sections


def effective(text, folder):
    """The sections in force of a configuration that is valid."""
    got = run_check(text, folder, "-T")
    assert got.returncode == 0, (got, text)
    return parse(got.stdout)


@functools.cache
def _printed(path):
    """What -T prints of a file, without its users; None if it cannot be read here."""
    with open(path, "rb") as f:
        raw = f.read()
    if b"include" in raw or b"${" in raw or b"\0" in raw:
        return None
    raw = re.sub(rb"(?m)^\s*(user|group|cpu-affinity)\s*=.*$", b"", raw)
    raw = re.sub(rb" (user|group)=\S+", b"", raw)
    with tempfile.TemporaryDirectory() as folder:
        got = run_check(raw.decode("utf-8", "ignore"), folder, "-T")
    return got.stdout if got.returncode == 0 else None


def key_of(line_key):
    """"server" of "server a"."""
    return line_key.split(" ")[0]


class Text:
    """One configuration of a pair: options of [global] that replace those of the harness, and sections."""

    HARNESS = {"threads": "2", "admin-socket": "unix:@ADMIN@ mode=666", "pipe-cycle": "100ms",
               "log": "stderr level=info"}

    def __init__(self, options, sections):
        self.options = "".join(f"{k} = {v}\n" for k, v in options.items())
        self.lines = {**self.HARNESS, **options}
        self.body = "".join(s.text() for s in sections)

    def text(self, daemon):
        """The whole, as the harness makes it of the first one."""
        head = "".join(f"{k} = {v}\n" for k, v in self.lines.items())
        return f"[global]\n{head}{self.body}".replace("@ADMIN@", daemon.admin)


class Pairs:
    """Pairs for one folder, which is to be of this test; `rng` decides about everything."""

    def __init__(self, folder, rng, free_port):
        self.folder = folder
        self.rng = rng
        self.free_port = free_port
        self.ports = {}
        self.places = {}
        self.texts = [s for s in map(self._load, CORPUS) if s]
        assert len(self.texts) > 20
        self.pool = {}      # lines for a kind of section
        for sections in self.texts:
            for s in sections:
                self.pool.setdefault(s.kind, []).extend(s.lines)

    # Files of the corpus.

    def _load(self, path):
        printed = _printed(path)
        if printed is None:
            return None
        sections = [self._fit(s) for s in parse(printed) if s.kind != "global"]
        self._bind_once(sections)
        return sections if self.is_valid(sections) else None

    def _fit(self, section):
        """The same with addresses that are free, and without what needs more than the test has."""
        lines = []
        for key, value in section.lines:
            word = key_of(key)
            if word in _WITHOUT:
                continue
            value = _WITHOUT_WORDS.sub("", value) if word in ("bind", "server") else value
            value = _BOUNDED.get(word, value)
            if word in ("bind", "server"):
                address, rest = _FIRST.match(value).groups()
                value = (self._bind_place if word == "bind" else self._server_place)(address) + rest
            lines.append((key, value))
        return Section(section.header, lines)

    def _port(self, port):
        return self.ports.setdefault(port, self.free_port())

    def _bind_place(self, address):
        address = address.strip("\"'")
        if address not in self.places:
            n = len(self.places)
            host, _, port = address.rpartition(":")
            if address.startswith("unix:@"):
                place = f"unix:@weir-pairs-{os.getpid()}-{n}"
            elif address.startswith(("unix:", "/")):
                place = f"unix:{self.folder}/b{n}"
            elif address.startswith("fd@"):
                place = f"127.0.0.1:{self.free_port()}"
            elif host in ("*", "", "0.0.0.0", "[::]", "[::1]"):
                place = f"{host or '*'}:{self._port(port)}"
            else:
                place = f"{'[::1]' if host[:1] == '[' else f'127.0.0.{1 + n % 3}'}:{self._port(port)}"
            self.places[address] = place
        return self.places[address]

    def _server_place(self, address):
        address = address.strip("\"'")
        if address.startswith(("unix:", "/")):
            return f"unix:{self.folder}/s{sum(address.encode()) % 1000}"
        host, _, port = address.rpartition(":")
        return f"127.0.1.{1 + sum(host.encode()) % 250}:{port if port.isdigit() and port != '0' else 1}"

    @staticmethod
    def _bind_once(sections):
        """Each port once, and no wildcard beside another address of its port."""
        seen = set()
        for s in sections:
            lines = []
            for key, value in s.lines:
                if key_of(key) == "bind":
                    where = value.split(" ")[0]
                    where = where if where.startswith("unix:") else where.rpartition(":")[2]
                    if where in seen:
                        continue
                    seen.add(where)
                lines.append((key, value))
            s.lines = lines

    # Texts.

    def is_valid(self, sections):
        text = "".join(s.text() for s in sections)
        return run_check(text, self.folder, "-c").returncode == 0

    def _options(self):
        """Of [global], as a dictionary."""
        rng = self.rng
        some = {"threads": "12", "maxconn": ("100", "200", "auto"), "splice": ("auto", "on", "off"),
                "maxpipes": ("20", "30"), "pipe-size": ("64k", "512k"), "hard-stop-after": ("30s", "10s"),
                "shutdown-delay": ("0", "1s"),
                "on-removed": ("keep", "close")}
        options = {key: rng.choice(values) for key, values in some.items() if rng.random() < 0.5}
        options["admin-socket"] = "unix:@ADMIN@" + rng.choice(("", " mode=600", " mode=666 level=admin"))
        return options

    def _logs(self):
        """Further targets of the log, as a section."""
        logs = [("log", f"file:{self.folder}/log{i} level=notice") for i in range(2)
                if self.rng.random() < 0.2]
        return [Section("global", logs)] if logs else []

    # Mutations, each of which may make nothing of it.

    def _drop_line(self, sections):
        s = self.rng.choice(sections)
        if s.lines:
            del s.lines[self.rng.randrange(len(s.lines))]

    def _drop_section(self, sections):
        del sections[self.rng.randrange(len(sections))]

    def _add_line(self, sections):
        s = self.rng.choice(sections)
        key, value = self.rng.choice(self.pool.get(s.kind) or [("retries", "4")])
        if key_of(key) in ("bind", "use-backend", "default-backend"):
            return
        s.lines = [(k, v) for k, v in s.lines if k != key] + [(key, value)]

    def _add_bind(self, sections):
        s = self.rng.choice(sections)
        if s.kind in ("listen", "frontend"):
            host = self.rng.choice(("127.0.0.1", "127.0.0.2", "*", "[::1]", "0.0.0.0"))
            s.lines.append(("bind", f"{host}:{self.free_port()}"))

    def _add_server(self, sections):
        s = self.rng.choice(sections)
        if s.kind in ("listen", "backend"):
            words = self.rng.choice(("", " weight=3", " backup", " maxconn=9", " disabled"))
            s.lines.append((f"server n{self.rng.randrange(1000)}", f"127.0.1.9:9{words}"))

    def _add_section(self, sections):
        name = f"x{self.rng.randrange(1000)}"
        sections.insert(self.rng.randrange(len(sections) + 1), Section(f"listen {name}", [
            ("bind", f"127.0.0.1:{self.free_port()}"), ("server a", "127.0.1.8:8")]))

    def _each(self, sections, word):
        return [(s, i) for s in sections for i, (key, _) in enumerate(s.lines) if key_of(key) == word]

    def _change_words(self, sections):
        """Other words behind an address."""
        word = self.rng.choice(("bind", "server"))
        found = self._each(sections, word)
        if not found:
            return
        s, i = self.rng.choice(found)
        key, value = s.lines[i]
        more = {"bind": ("", " backlog=9", " backlog=77 v6only", " tfo", " freebind", " defer-accept",
                         " mode=600", " accept-proxy"),
                "server": ("", " weight=7", " maxconn=5 maxqueue=3", " backup", " send-proxy=v2",
                           " slowstart=3s", " check=off", " check-port=99", " disabled")}[word]
        s.lines[i] = (key, value.split(" ")[0] + self.rng.choice(more))

    def _move_server(self, sections):
        found = self._each(sections, "server")
        if found:
            s, i = self.rng.choice(found)
            s.lines[i] = (s.lines[i][0], f"127.0.1.{self.rng.randrange(1, 9)}:7")

    def _widen_bind(self, sections):
        """An address becomes a wildcard, or the other way round."""
        found = self._each(sections, "bind")
        if not found:
            return
        s, i = self.rng.choice(found)
        key, value = s.lines[i]
        host, _, rest = value.rpartition(":")
        if not value.startswith("unix:") and " " not in host:
            s.lines[i] = (key, self.rng.choice(("*", "0.0.0.0", "127.0.0.1", "127.0.0.2")) + f":{rest}")

    def _hand_bind(self, sections):
        """A bind goes to another frontend."""
        found = self._each(sections, "bind")
        others = [s for s in sections if s.kind in ("listen", "frontend")]
        if found:
            s, i = self.rng.choice(found)
            self.rng.choice(others).lines.append(s.lines.pop(i))

    def _swap_lines(self, sections):
        s = self.rng.choice(sections)
        self.rng.shuffle(s.lines)

    def _swap_sections(self, sections):
        self.rng.shuffle(sections)

    def _split_listen(self, sections):
        """A [listen] becomes a frontend with a backend of the same name."""
        found = [i for i, s in enumerate(sections) if s.kind == "listen"]
        if not found:
            return
        i = self.rng.choice(found)
        s = sections[i]
        back = [(k, v) for k, v in s.lines if key_of(k) in ("server", "balance", "check", "retries")]
        front = [(k, v) for k, v in s.lines if key_of(k) in ("bind", "maxconn", "rate-limit")]
        sections[i:i + 1] = [Section(f"frontend {s.name}", front + [("default-backend", s.name)]),
                             Section(f"backend {s.name}", back)]

    def _mutate(self, sections):
        """The same with one change that leaves it valid."""
        ways = (self._drop_line, self._drop_section, self._add_line, self._add_line, self._add_line,
                self._add_bind, self._add_server, self._add_section, self._change_words,
                self._change_words, self._move_server, self._widen_bind, self._hand_bind, self._swap_lines,
                self._swap_sections, self._split_listen)
        for _ in range(50):
            new = [Section(s.header, s.lines) for s in sections]
            self.rng.choice(ways)(new)
            if new and self.is_valid(new):
                return new
        return sections

    def pair(self):
        """Two texts."""
        first = self.rng.choice(self.texts)
        kind = self.rng.random()
        if kind < 0.2:
            second = self.rng.choice(self.texts)
        else:
            second = first
            for _ in range(self.rng.randrange(0 if kind < 0.3 else 1, 7)):
                second = self._mutate(second)
        options, logs = self._options(), self._logs()
        pair = [Text(options, logs + first)]
        if self.rng.random() < 0.5:
            options, logs = self._options(), self._logs()
        return (*pair, Text(options, logs + second))
