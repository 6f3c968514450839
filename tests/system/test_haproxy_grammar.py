# SPDX-License-Identifier: MIT
"""Danger: a tool that drives HAProxy by its socket drives weir to another state, or reads another answer.

Both get the same commands, right and wrong ones, and their answers are compared line by line. Where they
must differ, the table in doc/migrating.md says how and why; a row of it that is not needed fails, too.
"""

import fnmatch
import os
import re
import shutil
import socket
import subprocess

import pytest

from harness import admin, storm
from harness.daemon import REPOSITORY
from harness.timing import PATIENCE, wait_until

HAPROXY = shutil.which("haproxy")
pytestmark = pytest.mark.skipif(HAPROXY is None, reason="no haproxy to compare with: apt install haproxy")

# Nobody connects to these, and the check of `d` comes once and fails.
SERVERS = (("a", "127.0.0.1:9", ""), ("b", "127.0.0.1:9", "weight 10"), ("c", "127.0.0.2:9", "disabled"),
           ("d", "127.0.0.1:9", "check inter 1h"), ("e", "127.0.0.1:9", "backup maxconn 5"),
           ("u", "unix@/nowhere", ""))

THEIRS = """global
 stats socket {path} level admin
defaults
 mode tcp
 timeout connect 1s
 timeout client 1s
 timeout server 1s
frontend f
 bind {folder}/f.sock
 default_backend app
backend app
{servers}
backend other
 server a 127.0.0.1:9
backend empty
"""

OURS = """[frontend f]
bind = 127.0.0.1:0
default-backend = app
[backend app]
check = tcp
check-interval = 1h
{servers}
[backend other]
server a = 127.0.0.1:9
[backend empty]
"""

# ---- the commands ----

NO_SERVER = ("", "app", "app/", "/a", "/", "app/nobody", "nobody/a", "nobody/", "app/a/b", "app//a", "APP/a",
             "app/A", "app/#99", "#99/a")

STATES = ("ready", "drain", "maint", "READY", "up", "", "ready more", "maint", "ready")
WEIGHTS = ("0", "1", "256", "257", "-1", "0%", "100%", "50%", "5%", "1000%", "-5%", "%", "x", "1x", "12%x",
           "+7", "007", "", "1 2", "99999999999999999999", "100%")
LIMITS = ("0", "1", "100", "x", "1x", "", "+5", "100 200", "0")
HEALTHS = ("up", "down", "stopping", "UP", "", "x", "down", "up")
ADDRESSES = ("127.0.0.3", "127.0.0.3", "127.0.0.1", "::1", "127.0.0.1", "x", "", "/tmp/x", "127.0.0.1:80",
             "127.0.0.4 port 81", "127.0.0.4 port 81", "127.0.0.4 port 82", "127.0.0.4 port x",
             "127.0.0.4 port", "127.0.0.4 port +1", "127.0.0.4 port -1", "127.0.0.4 82", "127.0.0.1 port 9",
             "127.0.0.1 PORT 10")
CHECKS = ("check-addr", "check-addr 127.0.0.5", "check-addr x", "check-addr 127.0.0.5 port 80",
          "check-addr 127.0.0.5 port x", "check-addr 127.0.0.5 port 99999", "check-addr 127.0.0.5 80",
          "check-port", "check-port 80", "check-port 0", "check-port x", "check-port 65536", "check-port -1",
          "check-port 80x")
ABSENT = ("agent up", "agent down", "agent", "agent x", "agent-addr", "agent-addr 127.0.0.1",
          "agent-addr 127.0.0.1 port 5", "agent-port", "agent-port 5", "agent-send", "agent-send x", "fqdn",
          "fqdn www.example.com", "ssl", "ssl on", "ssl off")
# Each is added as a server of its own, and deleted.
WORDS = ("127.0.0.1:80", "127.0.0.1:80 weight 5", "127.0.0.1:80 weight 0", "127.0.0.1:80 weight 256",
         "127.0.0.1:80 weight 257", "127.0.0.1:80 weight -1", "127.0.0.1:80 weight 5 weight 7",
         "127.0.0.1:80 backup", "127.0.0.1:80 backup no-backup", "127.0.0.1:80 disabled",
         "127.0.0.1:80 maxconn 10", "127.0.0.1:80 maxconn 10 maxqueue 5", "127.0.0.1:80 maxconn 0",
         "127.0.0.1:80 slowstart 10s", "127.0.0.1:80 slowstart 10", "127.0.0.1:80 slowstart 1500ms",
         "127.0.0.1:80 slowstart x", "127.0.0.1:80 slowstart 30d", "127.0.0.1:80 send-proxy",
         "127.0.0.1:80 send-proxy-v2", "127.0.0.1:80 send-proxy no-send-proxy",
         "127.0.0.1:80 send-proxy-v2 no-send-proxy-v2", "127.0.0.1:80 no-tfo",
         "127.0.0.1:80 send-proxy-v2 proxy-v2-options crc32c",
         "127.0.0.1:80 send-proxy-v2 proxy-v2-options unique-id",
         "127.0.0.1:80 send-proxy-v2 proxy-v2-options crc32c,unique-id",
         "127.0.0.1:80 check", "127.0.0.1:80 check inter 2s", "127.0.0.1:80 check inter 2000",
         "127.0.0.1:80 check inter 2s fastinter 1s downinter 5s rise 3 fall 4", "127.0.0.1:80 check inter 0",
         "127.0.0.1:80 check inter x", "127.0.0.1:80 check inter 5x", "127.0.0.1:80 check inter",
         "127.0.0.1:80 check inter 30d", "127.0.0.1:80 check rise 0", "127.0.0.1:80 check rise x",
         "127.0.0.1:80 check rise", "127.0.0.1:80 check fall 0", "127.0.0.1:80 check fall -1",
         "127.0.0.1:80 check fall", "127.0.0.1:80 check port 81", "127.0.0.1:80 check port",
         "127.0.0.1:80 check addr 127.0.0.9", "127.0.0.1:80 check addr 127.0.0.9 port 81",
         "127.0.0.1:80 check addr ::1", "127.0.0.1:80 check addr", "127.0.0.1:80 check fastinter 0",
         "127.0.0.1:80 check downinter x", "127.0.0.1:80 source 127.0.0.1", "127.0.0.1:80 source 0.0.0.0",
         "127.0.0.1:80 source", "127.0.0.1:80 usesrc clientip", "127.0.0.1:80 observe none",
         "127.0.0.1:80 on-marked-down x", "127.0.0.1:80 on-marked-down", "127.0.0.1:80 nonsense",
         "127.0.0.1:80 xxxxxxxxxxxxxxx", "127.0.0.1:80 wieght 5", "127.0.0.1:80 weight=5",
         "127.0.0.1:80 cookie x", "127.0.0.1:80 resolvers x", "127.0.0.1:80 init-addr none",
         "127.0.0.1:80 redir /x", "127.0.0.1:80 namespace x", "127.0.0.1:80 no-check",
         "127.0.0.1:80 no-agent-check", "127.0.0.1:80 stick", "127.0.0.1:80 non-stick",
         "127.0.0.1:80 socks4 127.0.0.1:1080", "127.0.0.1:80 resolve-prefer ipv4", "127.0.0.1:80 max-reuse 1",
         "[::1]:80", "::1:80", "ipv4@127.0.0.1:80", "ipv6@[::1]:80", "unix@/tmp/nowhere", "/tmp/nowhere",
         "abns@nowhere", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:80x", "127.0.0.1:80-90", "",
         "127.0.0.1:80 check weight 3 maxconn 7 backup slowstart 5s",
         "127.0.0.1:80 enabled", "127.0.0.1:80 ssl verify none", "127.0.0.1:80 tfo",
         "127.0.0.1:80 minconn 5", "127.0.0.1:80 id 77", "127.0.0.1:80 agent-check agent-port 81",
         "127.0.0.1:80 check-send-proxy", "127.0.0.1:80 error-limit 5", "127.0.0.1:80 on-error mark-down",
         "127.0.0.1:80 on-marked-down shutdown-sessions", "127.0.0.1:80 observe layer4",
         "127.0.0.1:80 on-marked-up shutdown-backup-sessions", "127.0.0.1:80 pool-low-conn 1",
         "127.0.0.1:80 track other/a", "127.0.0.1", "127.0.0.1:", "127.0.0.1:+5", "127.0.0.1:0",
         "127.0.0.1:80 weight x", "127.0.0.1:80 maxconn x", "localhost:80", "fd@3", "*:80")


# Not asked of a server that only one of the two has taken.
ADDED = "New server registered."
FOLLOW_UPS = ("get weight", "enable health", "del server")


def table():
    """The command lines, in their order: each stands on what the ones before have done."""
    yield from ("show backend", "help nonsense", "nonsense", "show nonsense", "set nonsense", "add nonsense",
                "del nonsense", "get nonsense", "enable nonsense", "disable nonsense")
    for command in ("set server {}", "set server {} state ready", "set weight {} 1", "get weight {}",
                    "enable server {}", "disable server {}", "enable health {}", "disable health {}",
                    "enable agent {}", "disable agent {}", "del server {}", "add server {} 127.0.0.1:80",
                    "set maxconn server {} 1", "shutdown sessions server {}"):
        yield from (" ".join(command.format(name).split()) for name in NO_SERVER
                    if not (command.startswith("add") and name in ("app/nobody", "app/A", "app/#99")))
    yield from (f"set server app/a state {word}".strip() for word in STATES)
    for word in WEIGHTS:
        yield from (f"set server app/b weight {word}".strip(), "get weight app/b",
                    f"set weight app/b {word}".strip(), "get weight app/b")
    yield from (f"set maxconn server app/e {word}".strip() for word in LIMITS)
    yield from (f"set server app/a health {word}".strip() for word in HEALTHS)
    yield from (f"set server app/a addr {word}".strip() for word in ADDRESSES)
    yield from (f"set server app/u addr {word}".strip() for word in ADDRESSES[:3])
    yield from (f"set server app/d {word}" for word in CHECKS)
    yield from (f"set server app/a {word}" for word in (*CHECKS, *ABSENT, "", "nonsense", "nonsense x"))
    yield from ("disable health app/d", "set server app/d check-port 80", "enable health app/d",
                "enable health app/a", "disable health app/a", "enable agent app/a", "disable agent app/a",
                "disable server app/a", "disable server app/a", "enable server app/a", "enable server app/a",
                "shutdown sessions server app/a", "del server app/a", "add server app/a 127.0.0.1:80",
                "add server app/x! 127.0.0.1:80", "add server app/x", "add server", "del server",
                "set server app/c addr 127.0.0.1 port x",
                "del server app/c", "del server app/c", "get weight app/c", "add server app/c 127.0.0.2:9",
                "get weight app/c", "enable server app/c", "del server app/c", "disable server app/c",
                "del server app/c", "add server empty/one 127.0.0.1:80", "enable server empty/one",
                "set server empty/one weight 50%", "get weight empty/one", "set server empty/one ssl on",
                "set server empty/one state maint", "del server empty/one more words")
    for number, words in enumerate(WORDS):
        yield f"add server app/n{number} {words}".strip()
        yield from (f"{word} app/n{number}" for word in FOLLOW_UPS)
    yield from ("disable server app/n*", "get weight app/a; get weight app/b", "get weight app/a;",
                ";get weight app/a", "get weight app/a;;get weight app/b",
                "set server app/a weight 5; get weight app/a; set server app/a weight 100%; get weight app/a",
                "  get   weight\tapp/a  ", "get weight app/a more", "get weight app\\/a", "get weight")


# ---- both ----

def lines(answer):
    """Without empty lines: HAProxy leaves out the one behind some answers, such as that of `del server`."""
    return [line.rstrip() for line in answer.split("\n") if line.strip()]


def ask(path, command):
    """In HAProxy's way: the harness asks for our own texts."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(path)
        s.sendall(command.encode() + b"\n")
        with s.makefile(encoding="utf-8") as f:
            return f.read()


@pytest.fixture
def theirs(folder):
    path = os.path.join(folder, "h.sock")
    config = os.path.join(folder, "h.cfg")
    servers = "\n".join(f" server {name} {address} {words}" for name, address, words in SERVERS)
    with open(config, "w", encoding="utf-8") as f:
        f.write(THEIRS.format(path=path, folder=folder, servers=servers))
    child = subprocess.Popen([HAPROXY, "-db", "-f", config], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    try:
        wait_until(lambda: admin.listens(path) or child.poll() is not None, "haproxy runs")
        assert child.poll() is None, "haproxy refuses its configuration"
        yield lambda command: ask(path, command)
    finally:
        child.terminate()
        child.wait(PATIENCE)


def our_words(words):
    """HAProxy's words of a server, as a file of ours has them."""
    words = re.sub(r"\b(weight|maxconn) (\d+)", r"\1=\2", words).replace("check inter 1h", "check")
    return words if "check" in words else words + " check=off"


@pytest.fixture
def ours(weir):
    servers = "\n".join(f"server {name} = {address} {our_words(words)}" for name, address, words in SERVERS)
    daemon = weir(OURS.format(servers=servers))
    daemon.expected_alarms = "has no server left"
    return lambda command: ask(daemon.admin, command)


class Differences:
    """The table in doc/migrating.md: | command | HAProxy | weir | why |. '*' stands for any text."""

    def __init__(self):
        with open(os.path.join(REPOSITORY, "doc", "migrating.md"), encoding="utf-8") as f:
            text = f.read()
        section = text.split("## Answers that differ", 1)[1].split("\n## ", 1)[0]
        self.rows = []
        for line in section.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 4 and cells[0] != "command" and not set(cells[0]) <= {"-"}:
                self.rows.append([self.plain(cell) for cell in cells])
        assert self.rows, section
        self.used = set()

    @staticmethod
    def plain(cell):
        return cell.replace("`", "").replace("\\|", "|").replace("(nothing)", "").replace("<br>", "\n")

    @staticmethod
    def fits(pattern, text):
        return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))

    def explain(self, command, theirs, ours):
        for number, (pattern, them, us, _) in enumerate(self.rows):
            if self.fits(pattern, command) and self.fits(them, "\n".join(theirs)) and \
                    self.fits(us, "\n".join(ours)):
                self.used.add(number)
                return True
        return False

    def unused(self):
        return [row for number, row in enumerate(self.rows) if number not in self.used]


def test_the_same_commands_get_the_same_answers(theirs, ours):
    commands = list(table())
    assert len(commands) >= 200, len(commands)
    differences = Differences()
    wrong, skipped = [], set()
    for command in commands:
        if command in skipped:
            continue
        them, us = lines(theirs(command)), lines(ours(command))
        if command.startswith("add server") and (ADDED in them) != (ADDED in us):
            skipped |= {f"{word} {command.split()[2]}" for word in FOLLOW_UPS}
            (theirs if ADDED in them else ours)(f"del server {command.split()[2]}")
        if them != us and not differences.explain(command, them, us):
            wrong.append((command, them, us))
    report = "\n".join(f"{command!r}\n  haproxy {them}\n  weir    {us}" for command, them, us in wrong)
    assert not wrong, f"{len(wrong)} of {len(commands)} answers differ:\n{report}"
    assert not differences.unused(), f"rows of doc/migrating.md without a difference: {differences.unused()}"


SEVERE = ("add server app/k 127.0.0.1:80", "add server app/k 127.0.0.1:80",
          "add server app/k2 127.0.0.1:80 x", "del server app/a",
          "set server app/a addr 127.0.0.2", "set server app/a addr x",
          "set server app/a check-port 80", "set server app/d check-port x", "enable health app/a",
          "set server app/a health x", "set server app/a agent up", "set server app/a agent-port 5",
          "get weight app/nobody", "del server app/k", "set server app/a nonsense", "add server",
          "del server")


@pytest.mark.parametrize("how", ("number", "string", "none"))
def test_messages_begin_with_the_same_kind(theirs, ours, how):
    """As the Data Plane API asks: it takes what begins with [3] for an error."""
    for command in SEVERE:
        line = f"set severity-output {how}; {command}"
        assert lines(ours(line)) == lines(theirs(line)), line


# ---- sequences ----

def sequence(rng, name):
    """A tool adds a server, uses it and deletes it; some of its commands are wrong or too early."""
    words = rng.choice(("", " weight 3", " check", " backup weight 7", " maxconn 5", " check inter 3s rise 1",
                        " send-proxy", " slowstart 5s", " nonsense", " weight 999", " check rise 0"))
    steps = [f"add server app/{name} 127.0.0.1:{rng.randrange(1, 65536)}{words}"]
    steps += rng.sample((
        f"set server app/{name} weight {rng.randrange(-5, 300)}", f"set server app/{name} weight 50%",
        f"set weight app/{name} {rng.randrange(300)}%", f"get weight app/{name}", f"enable server app/{name}",
        f"disable server app/{name}", f"set server app/{name} state drain", f"enable health app/{name}",
        f"disable health app/{name}", f"set server app/{name} addr 127.0.0.{rng.randrange(1, 9)}",
        f"set server app/{name} addr 127.0.0.1 port {rng.randrange(1, 65536)}", f"del server app/{name}",
        f"add server app/{name} 127.0.0.1:80", f"set server app/{name} health down",
        f"set server app/{name} health up", f"set maxconn server app/{name} {rng.randrange(100)}",
        f"get weight app/{name}", f"set server app/{name} nonsense"), rng.randrange(2, 9))
    if rng.random() < 0.2:
        steps = ["; ".join(steps)]
    return [*steps, f"disable server app/{name}", f"del server app/{name}", f"get weight app/{name}"]


def test_200_sequences_get_the_same_answers(theirs, ours):
    rng = storm.draw()
    wrong = []
    for number in range(200):
        steps = sequence(rng, f"s{number}")
        got = [(step, lines(theirs(step)), lines(ours(step))) for step in steps]
        if any(them != us for _, them, us in got):
            wrong.append("\n".join(f"{'  ' if them == us else '! '}{step!r}: {them}"
                                   f"{'' if them == us else f', weir: {us}'}" for step, them, us in got))
    assert not wrong, f"{len(wrong)} of 200 sequences differ:\n" + "\n\n".join(wrong[:20])
