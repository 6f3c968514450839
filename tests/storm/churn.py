#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""churn.py - adds and deletes servers of a running proxy again and again, and counts what its clients notice.

    python3 tests/storm/churn.py --build build                      10,000 cycles with weir
    python3 tests/storm/churn.py --build build --product haproxy    the same with haproxy
    options: --cycles N  --rate N  --streams N  --dwell SECONDS  --driver epoll|io_uring  --out FILE

Each cycle takes servers from `add server` to `del server` in HAProxy's grammar, over the admin socket:

- app/churned serves its share of --rate connections a second (default 1,000) beside two servers that stay. In
  maintenance it finishes the sessions that it has. `shutdown sessions server` then finds none, and must not
  end those of other servers.
- held/hN serves two connections that do not end by themselves. `shutdown sessions server` ends them.
- app/refuses, in every tenth cycle, refuses all connections. Other servers must serve its clients, and its
  retries must still be counted after it is deleted.

--streams long connections (default 200) use servers that stay (tests/storm/storm_load.c). Each byte is keyed
and compared. A sampler reads `show info` and `show stat` all the time: no total may ever fall. At the end,
the sessions that the proxy has counted must be exactly those that the clients have begun.

Prints what was counted as a table and one line per bar; the last line is `N passed, N failed`. Exit code 1 if
a bar of weir is not met, 2 if the churn could not be run.
"""

import argparse
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import storm
from storm import Clients, Failed, GROWTH_KB, REST_S, START_S
from storm import answers, family, fds, free_ports, memory_kb, save, tell, wait_for

ANSWER_S = 20           # for an answer of the proxy, and for the end of a session that is shut down
HELD = 2                # connections with each server that is shut down
SAMPLE_S = 0.05
ERRORS_MAX = 20
CYCLES_FOR_MEMORY = 1000    # fewer say nothing about growth
TOTAL = re.compile(r"(Cum|Total)\w*")
COLUMNS = ("stot", "bin", "bout", "econ", "eresp", "wretr", "wredis")
FRONTENDS = {"plain": "app", "held": "held", "streams": "steady"}


def read_answer(sock, prompt):
    got = b""
    while not (prompt and got.endswith(b"\n> ")):
        more = sock.recv(65536)
        if not more:
            if prompt:
                raise Failed("the admin socket was closed after %r" % got[-200:])
            break
        got += more
    return got.decode()[:-3 if prompt else None]


def open_admin(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(ANSWER_S)
    sock.connect(path)
    return sock


def ask(path, command):
    """On a connection of its own, as HAProxy's tools do."""
    with open_admin(path) as sock:
        sock.sendall(command.encode() + b"\n")
        return read_answer(sock, False)


def lines_of(answer):
    return [line.strip() for line in answer.splitlines() if line.strip()]


def totals_of(info, stat):
    """Whatever may only rise, by name. Servers that come and go are none of it."""
    found = {}
    for line in info.splitlines():
        key, _, value = line.partition(": ")
        if TOTAL.fullmatch(key) and value.strip().isdigit():
            found[key] = int(value)
    for row in csv.DictReader(stat.lstrip("# ").splitlines()):
        if row["svname"] and not re.fullmatch(r"churned|refuses|h\d+", row["svname"]):
            for column in COLUMNS:
                if row[column]:
                    found["%s/%s %s" % (row["pxname"], row["svname"], column)] = int(row[column])
    return found


class Weir(storm.Weir):
    """Every verb there is."""
    waits = True

    def configure(self):
        lines = ["[global]", "threads = 2", "driver = %s" % self.args.driver,
                 "admin-socket = unix:%s" % self.path("admin"),
                 "log = file:%s level=error" % self.path("log")]
        for name, backend in FRONTENDS.items():
            lines += ["[frontend %s]" % name, "default-backend = %s" % backend,
                      "bind = 127.0.0.1:%d" % self.ports[name]]
        for backend, suffix in (("app", ""), ("held", " backup"), ("steady", "")):
            lines += ["[backend %s]" % backend]
            lines += ["server s%d = 127.0.0.1:%d weight=100%s" % (i, port, suffix)
                      for i, port in enumerate(self.servers[:2])]
        self.write("weir.ini", "\n".join(lines) + "\n")


class Haproxy(storm.Haproxy):
    """HAProxy 2.6 has no `wait`: `del server` is tried until it is done."""
    waits = False

    def configure(self):
        lines = ["global", "    nbthread 2", "    maxconn 8000",
                 "    stats socket %s mode 600 level admin" % self.path("admin"),
                 "defaults", "    mode tcp", "    timeout connect 5s", "    timeout client 60s",
                 "    timeout server 60s", "    option redispatch 1"]
        for name, backend in FRONTENDS.items():
            lines += ["frontend %s" % name, "    default_backend %s" % backend,
                      "    bind 127.0.0.1:%d" % self.ports[name]]
        for backend, suffix in (("app", ""), ("held", " backup"), ("steady", "")):
            lines += ["backend %s" % backend, "    balance roundrobin"]
            lines += ["    server s%d 127.0.0.1:%d weight 100%s" % (i, port, suffix)
                      for i, port in enumerate(self.servers[:2])]
        self.write("haproxy.cfg", "\n".join(lines) + "\n")

    def begin(self):
        self.start(["haproxy", "-db", "-f", self.path("haproxy.cfg")])


PRODUCTS = {"weir": Weir, "haproxy": Haproxy}


class Sampler:
    """Looks at the totals all the time, on one connection with a prompt."""

    def __init__(self, path):
        self.sock = open_admin(path)
        self.done = threading.Event()
        self.last, self.falls, self.samples, self.error = {}, [], 0, None
        self.say("prompt")
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def say(self, command):
        self.sock.sendall(command.encode() + b"\n")
        return read_answer(self.sock, True)

    def sample(self):
        now = totals_of(self.say("show info"), self.say("show stat"))
        for key, before in self.last.items():
            if now.get(key, -1) < before:
                self.falls.append("%s fell from %d to %s" % (key, before, now.get(key)))
        self.last = now
        self.samples += 1

    def run(self):
        try:
            while not self.done.wait(SAMPLE_S):
                self.sample()
        except (OSError, Failed, ValueError) as error:
            self.error = str(error)

    def end(self):
        self.done.set()
        self.thread.join()
        self.sock.close()


class Held:
    """A connection that ends only when it is shut down."""

    def __init__(self, port, seed):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        self.key = (b"%016x" % (seed * 0x9E3779B97F4A7C15 % (1 << 64))) * 4

    def is_served(self):
        self.sock.sendall(self.key)
        got = b""
        while len(got) < len(self.key):
            more = self.sock.recv(len(self.key) - len(got))
            if not more:
                return False
            got += more
        return got == self.key

    def is_shut_down(self):
        """Without a byte that nobody sent."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.sock.close()


class Churn:
    """The cycles, and what was wrong with them."""

    def __init__(self, args, proxy):
        self.args, self.proxy, self.admin = args, proxy, proxy.path("admin")
        self.errors, self.took_ms, self.held, self.most_processes = [], [], 0, 0
        self.kb = []    # after each tenth of the cycles
        # Bound without listening: nobody else gets the port.
        self.refuser = socket.socket()
        self.refuser.bind(("127.0.0.1", 0))
        self.refusing = self.refuser.getsockname()[1]

    def wrong(self, what):
        self.errors.append(what)
        if len(self.errors) >= ERRORS_MAX:
            raise Failed("too many errors:\n" + "\n".join(self.errors))

    def do(self, command, *expected):
        """Each expected line is a regular expression."""
        got = lines_of(ask(self.admin, command))
        if len(got) != len(expected) or not all(map(re.fullmatch, expected, got)):
            self.wrong("'%s' was answered with %r" % (command, got))

    def hold(self, i):
        """Connections of the server to be shut down."""
        held = []
        for n in range(HELD):
            try:
                held.append(Held(self.proxy.ports["held"], HELD * i + n + 1))
                self.held += 1
                if not held[-1].is_served():
                    self.wrong("cycle %d: a held connection was not served" % i)
            except OSError as error:
                self.wrong("cycle %d: held connection: %s" % (i, error))
        return held

    def check_shut_down(self, i, held):
        for one in held:
            try:
                if not one.is_shut_down():
                    self.wrong("cycle %d: bytes after the shutdown" % i)
            except OSError as error:
                self.wrong("cycle %d: a held connection was not shut down: %s" % (i, error))
            one.close()

    def delete(self, i, names):
        # The second shutdown finds no session: it must not end those of others.
        if self.proxy.waits:
            for name in names:
                self.do("wait %ds srv-removable %s" % (ANSWER_S, name), "Done[.]")
            self.do("shutdown sessions server %s" % names[0])
            self.do("; ".join("del server %s" % name for name in names),
                    *["Server deleted[.]"] * len(names))
            return
        for name in names:
            end = time.monotonic() + ANSWER_S
            while (got := lines_of(ask(self.admin, "del server %s" % name))) != ["Server deleted."]:
                if time.monotonic() > end or "still has connections" not in " ".join(got):
                    self.wrong("cycle %d: 'del server %s' was answered with %r" % (i, name, got))
                    return
                time.sleep(0.002)

    def cycle(self, i):
        app, held, ports = "app/churned", "held/h%d" % i, self.proxy.servers[2:]
        one, other = ports[i % 2], ports[(i + 1) % 2]
        begin, end = (("enable server %s", "disable server %s") if i % 2 else
                      ("set server %s state ready", "set server %s state maint"))
        check = " check inter 20 fall 100" if i % 3 == 0 else ""
        self.do("add server %s 127.0.0.1:%d weight 10%s; add server %s 127.0.0.1:%d maxconn 100" % (
            app, one, check, held, other), *["New server registered[.]"] * 2)
        self.do("set server %s weight 250" % app)
        if check:
            self.do("enable health %s" % app)
        if i % 4 < 2:
            self.do("set server %s addr 127.0.0.1 port %d" % (app, other), ".*port changed from .*")
        names = [app, held]
        if i % 10 == 0:
            names += ["app/refuses"]
            self.do("add server app/refuses 127.0.0.1:%d weight 100" % self.refusing,
                    "New server registered[.]")
        self.do("; ".join(begin % name for name in names))
        connections = self.hold(i)
        time.sleep(self.args.dwell)
        self.do("; ".join(end % name for name in names))
        self.do("shutdown sessions server %s" % held)
        self.check_shut_down(i, connections)
        self.delete(i, names)

    def run(self):
        pid, tenth = self.proxy.pid(), max(1, self.args.cycles // 10)
        for i in range(self.args.cycles):
            begin = time.monotonic()
            self.cycle(i)
            self.took_ms.append(1000 * (time.monotonic() - begin))
            self.most_processes = max(self.most_processes, len(family(pid)))
            if self.proxy.process.poll() is not None:
                raise Failed("the proxy ended in cycle %d, with exit code %d" % (
                    i, self.proxy.process.returncode))
            if (i + 1) % tenth == 0:
                self.kb.append(memory_kb(family(pid)))


def totals_now(path):
    return totals_of(ask(path, "show info"), ask(path, "show stat"))


def load_and_churn(args, proxy, program):
    """The clients, the sampler and the cycles at once. Returns what was seen."""
    churn, first = Churn(args, proxy), totals_now(proxy.path("admin"))
    sampler, loads = Sampler(proxy.path("admin")), []
    try:
        loads += [Clients(program, proxy.ports["plain"], args.rate, 0)]
        loads += [Clients(program, proxy.ports["streams"], 0, args.streams)]
        churn.run()
        for load in loads:
            load.end()
        if not all(load.total is not None for load in loads):
            raise Failed("the clients ended without a result")
    finally:
        sampler.end()
        for load in loads:
            if load.total is None:
                load.process.kill()
                load.end()
    wanted = {"plain": loads[0].total["sessions"], "streams": loads[1].total["streams"], "held": churn.held}

    def counted():
        now = totals_now(proxy.path("admin"))
        keys = {name: "%s/BACKEND stot" % backend for name, backend in FRONTENDS.items()}
        return {name: now[key] - first[key] for name, key in keys.items()}, now
    try:
        wait_for("totals", lambda: counted()[0] == wanted, REST_S / 10)
    except Failed:
        pass
    got, last = counted()
    stayed = sum(last["app/s%d stot" % i] - first["app/s%d stot" % i] for i in range(2))
    retried = last["app/BACKEND wredis"] - first["app/BACKEND wredis"]
    return {"churn": churn, "plain": loads[0], "streams": loads[1], "sampler": sampler, "counted": got,
            "wanted": wanted, "retried": retried, "churned_served": got["plain"] - stayed}


def run(args, folder):
    ports, servers = free_ports(3), free_ports(4)
    program = args.build + "/tests/storm/storm_load"
    proxy = PRODUCTS[args.product](args, folder, ports[0], servers)
    proxy.ports = dict(zip(FRONTENDS, ports))
    with open(os.path.join(folder, "echo"), "wb") as out:
        echo = subprocess.Popen([program, "echo", *map(str, servers)], stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out)
    try:
        wait_for("the servers", lambda: all(answers(one) for one in servers), START_S)
        proxy.configure()
        proxy.begin()
        # The session that saw the proxy answer, and this look at it, have left.
        time.sleep(0.3)
        before = fds(proxy.pid())
        seen = load_and_churn(args, proxy, program)
        try:
            wait_for("descriptors", lambda: fds(proxy.pid()) == before, REST_S)
        except Failed:
            pass
        seen["fds"] = (before, fds(proxy.pid()))
        proxy.process.terminate()
        try:
            seen["exit"] = proxy.process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            seen["exit"] = None
        return seen
    except (Failed, OSError):
        for name in ("out", "log"):
            if os.path.exists(proxy.path(name)):
                with open(proxy.path(name), encoding="utf-8", errors="replace") as stream:
                    sys.stdout.write(stream.read()[-3000:])
        raise
    finally:
        proxy.stop()
        echo.kill()
        echo.wait()


def bars_of(args, seen):
    churn, sampler = seen["churn"], seen["sampler"]
    yield seen["retried"] > 0, "%d connects retried" % seen["retried"]
    yield not churn.errors, "%d errors in %d cycles%s" % (
        len(churn.errors), args.cycles, "".join("\n        " + one for one in churn.errors[:5]))
    plain, streams = seen["plain"].total, seen["streams"].total
    for what in ("refused", "reset", "wrong", "timed_out", "cut_off", "other", "skipped"):
        count = plain[what] + streams[what]
        yield count == 0, "%d %s" % (count, "wrong bytes" if what == "wrong" else what.replace("_", " "))
    yield plain["done"] == plain["sessions"] > 0, "%d of %d connections served in full" % (
        plain["done"], plain["sessions"])
    yield streams["streams_done"] == streams["streams"] > 0, "%d of %d streams served in full" % (
        streams["streams_done"], streams["streams"])
    yield churn.held == HELD * args.cycles, "%d of %d held connections" % (churn.held, HELD * args.cycles)
    yield 2 * seen["churned_served"] >= args.cycles, "%d connections served by servers that came and went" % (
        seen["churned_served"])
    bad = sampler.falls[:5] + [sampler.error] * (sampler.error is not None)
    yield not bad and sampler.samples > 0 and "CumConns" in sampler.last, \
        "%d totals in %d samples, %d falls%s" % (
            len(sampler.last), sampler.samples, len(sampler.falls),
            "".join("\n        " + one for one in bad))
    yield seen["counted"] == seen["wanted"], "counted by the proxy %s, by the clients %s" % (
        seen["counted"], seen["wanted"])
    yield churn.most_processes == 1, "%d process(es) at most" % churn.most_processes
    if args.cycles >= CYCLES_FOR_MEMORY:
        yield churn.kb[-1] - churn.kb[0] <= GROWTH_KB, "%d KiB after %d cycles, %d KiB after %d" % (
            churn.kb[0], args.cycles // 10, churn.kb[-1], args.cycles)
    if args.product == "weir":
        yield seen["exit"] == 0, "exit code %s" % seen["exit"]
    yield seen["fds"][0] == seen["fds"][1], "%d descriptors before, %d after" % seen["fds"]


def summary(args, seen):
    churn, took = seen["churn"], sorted(seen["churn"].took_ms)
    return {"product": args.product, "driver": args.driver if args.product == "weir" else None,
            "cycles": args.cycles, "rate": args.rate, "stream_count": args.streams, "dwell_s": args.dwell,
            "cycle_ms": {"median": round(took[len(took) // 2], 1), "most": round(took[-1], 1)},
            "errors": len(churn.errors), "errors_first": churn.errors[:5],
            "kb_after_each_tenth": churn.kb, "processes_most": churn.most_processes,
            "descriptors_before": seen["fds"][0], "descriptors_after": seen["fds"][1],
            "exit_code": seen["exit"], "samples": seen["sampler"].samples, "falls": seen["sampler"].falls[:5],
            "held": churn.held, "churned_served": seen["churned_served"], "retried": seen["retried"],
            "counted": seen["counted"],
            "connections": seen["plain"].total, "streams": seen["streams"].total,
            "failed_first": (seen["plain"].failed + seen["streams"].failed)[:5]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--product", choices=sorted(PRODUCTS), default="weir")
    parser.add_argument("--driver", default="epoll")
    parser.add_argument("--cycles", type=int, default=10000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--dwell", type=float, default=0.01, help="seconds that a server serves")
    parser.add_argument("--out", help="file that gets the figures")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    folder = tempfile.mkdtemp(prefix="weir-churn-")
    try:
        seen = run(args, folder)
    except (Failed, OSError) as error:
        print("%s: %s" % (type(error).__name__, error))
        print("0 passed, 1 failed")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = summary(args, seen)
    print(json.dumps(figures, indent=1))
    save(figures, args.out)
    failed = tell(bars_of(args, seen))
    return 1 if failed and args.product == "weir" else 0


if __name__ == "__main__":
    sys.exit(main())
