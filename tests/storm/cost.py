#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cost.py - what a reload costs: how long it takes, and what sessions notice meanwhile.

    python3 tests/storm/cost.py --build build --json bench/results/reload.json
    options: --driver epoll|io_uring  --sessions N  --runs N  --seconds N

1. many: 1,000 servers in 200 backends; how long `weir reload` takes, and how long it takes by the times in
   the log (without the start of that program), when nothing, one weight, or a weight in every backend
   has changed.
2. turns: 9,000 idle sessions; the longest turn of a worker during each kind of reload, in CPU time.
3. echo: a byte there and back a thousand times a second beside these sessions. Each run has a reload in
   every other second; the seconds between are the comparison.

Prints the figures, and one line per bar; the last line is `N passed, N failed`. Exit code 1 if a bar is not
met, 2 if it could not be measured. Run it on a machine that does nothing else.
"""

import argparse
import datetime
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from storm import Failed, START_S, answers, free_ports, save, tell, wait_for

BACKENDS, SERVERS = 200, 5
REPEATS = 10
FILES = 20000
RELOAD_MS, TURN_US, ECHO_US = 100, 2000, 1000
ECHO_RATE = 1000


def time_of(stamp):
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Weir:
    """One daemon with a configuration that is written anew for each reload."""

    def __init__(self, args, folder, name):
        self.args, self.folder = args, os.path.join(folder, name)
        self.process = None
        os.mkdir(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, sections):
        head = ["[global]", "threads = 2", "driver = %s" % self.args.driver, "maxconn = 9500",
                "admin-socket = unix:%s" % self.path("admin"), "log = file:%s level=debug" % self.path("log")]
        with open(self.path("new"), "w", encoding="utf-8") as stream:
            stream.write("\n".join(head + sections) + "\n")
        os.rename(self.path("new"), self.path("weir.ini"))

    def start(self, port):
        with open(self.path("out"), "wb") as out:
            self.process = subprocess.Popen(
                [self.args.build + "/src/weir", self.path("weir.ini")], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out)
        wait_for("weir answers", lambda: answers(port), START_S)

    def reload(self):
        """Milliseconds from outside."""
        begin = time.monotonic()
        done = subprocess.run([self.args.build + "/src/weir", "reload", "--pid", str(self.process.pid)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                              check=False)
        if done.returncode != 0:
            raise Failed("weir reload: exit code %d: %s%s" % (done.returncode, done.stdout, done.stderr))
        return 1000 * (time.monotonic() - begin)

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("admin"))
            s.sendall(command.encode() + b"\n")
            s.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()

    def info(self, key):
        return int(next(line.split(": ")[1] for line in self.ask("show info").splitlines()
                        if line.startswith(key + ": ")))

    def logged_ms(self, count):
        """Milliseconds of each of the last `count` reloads, from the times in the log."""
        begun, took = None, []
        generation = "reloaded: generation %d" % self.info("generation")
        wait_for("the log", lambda: generation in self.log(), START_S)
        for line in self.log().splitlines():
            at, _, text = line.split(" ", 2)
            if text == "reload: idle -> reading":
                begun = at
            elif text.startswith("reloaded: "):
                took.append(1000 * (time_of(at) - time_of(begun)))
        return took[-count:]

    def log(self):
        with open(self.path("log"), encoding="utf-8") as stream:
            return stream.read()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def summary(values):
    values = sorted(values)
    return {"median": round(values[len(values) // 2], 2), "most": round(values[-1], 2)}


# 1. Many servers.

def many_sections(port, servers, weights):
    """`weights`: the backends whose first server has another weight."""
    lines = ["", "[frontend main]", "bind = 127.0.0.1:%d" % port, "default-backend = b0"]
    for b in range(BACKENDS):
        lines += ["", "[backend b%d]" % b]
        lines += ["server s%d = 127.0.0.1:%d weight=%d" % (s, servers[s % len(servers)],
                                                           1 + (s == 0 and b in weights))
                  for s in range(SERVERS)]
    return lines


def measure_many(args, folder, servers):
    port, = free_ports(1)
    weir = Weir(args, folder, "many")
    figures = {}
    try:
        weir.write(many_sections(port, servers, ()))
        weir.start(port)
        for name, changed in (("nothing", ()), ("one weight", (7,)), ("a weight in each", range(BACKENDS))):
            took = []
            for i in range(REPEATS):
                weir.write(many_sections(port, servers, changed if i % 2 == 0 else ()))
                took.append(weir.reload())
            figures[name] = {**summary(took), "logged": summary(weir.logged_ms(REPEATS))}
    finally:
        weir.stop()
    return {"servers": BACKENDS * SERVERS, "backends": BACKENDS, "reload_ms": figures}


# 2. and 3. Idle sessions.

KINDS = [
    ("nothing", {}),
    ("weights", {"weight": 5}),
    ("server added", {"more": True}),
    ("timeouts", {"timeout": 3601}),
    ("algorithm", {"algorithm": "leastconn"}),
    ("server removed", {"more": False}),
    ("all back", {"weight": 1, "timeout": 3600, "algorithm": "roundrobin"}),
]
FIRST = {"weight": 1, "more": False, "timeout": 3600, "algorithm": "roundrobin"}


def idle_sections(port, servers, state):
    return ["", "[frontend main]", "bind = 127.0.0.1:%d" % port, "default-backend = all",
            "timeout-client = %ds" % state["timeout"], "", "[backend all]",
            "timeout-server = %ds" % state["timeout"], "balance = %s" % state["algorithm"]] + [
                "server s%d = 127.0.0.1:%d weight=%d" % (i, one, state["weight"] if i == 0 else 1)
                for i, one in enumerate(servers[:4 if state["more"] else 3])]


class Idle:
    """A daemon with idle sessions, and reloads of each kind in turn."""

    def __init__(self, args, folder, servers):
        self.args, self.servers, self.state, self.next = args, servers, dict(FIRST), 0
        self.port, = free_ports(1)
        self.weir = Weir(args, folder, "idle")
        self.clients = []

    def begin(self):
        self.weir.write(idle_sections(self.port, self.servers, self.state))
        self.weir.start(self.port)
        for _ in range(self.args.sessions):
            client = socket.create_connection(("127.0.0.1", self.port), timeout=START_S)
            client.sendall(b"x")
            self.clients.append(client)
        for client in self.clients:
            if client.recv(1) != b"x":
                raise Failed("an idle session does not answer")

    def write_next(self):
        name, change = KINDS[self.next % len(KINDS)]
        self.next += 1
        self.state.update(change)
        self.weir.write(idle_sections(self.port, self.servers, self.state))
        return name

    def reload(self):
        return self.write_next(), self.weir.reload()

    def end(self):
        for client in self.clients:
            client.close()
        self.weir.stop()


def measure_turns(idle):
    """The longest turn by kind of reload. What has left is freed within the second."""
    longest = {}
    for _ in range(3 * len(KINDS)):
        name, _took = idle.reload()
        time.sleep(1)
        longest[name] = max(longest.get(name, 0), idle.weir.info("longest_turn_us"))
    return {"sessions": idle.args.sessions, "longest_turn_us": longest}


def echo_run(args, idle):
    """A reload in each odd second, 50 ms after it has begun; the even ones are for comparison."""
    argv = [args.build + "/tests/storm/echo_times", str(idle.port), str(ECHO_RATE), str(2 * args.seconds)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as echo:
        try:
            os.sched_setscheduler(echo.pid, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass
        begin = float(echo.stdout.readline())
        for second in range(1, 2 * args.seconds, 2):
            idle.write_next()
            time.sleep(max(0, begin + second + 0.05 - time.monotonic()))
            if "\nreloaded: " not in "\n" + idle.weir.ask("reload"):
                raise Failed("the reload was refused")
        out, err = echo.communicate(timeout=60)
    if echo.returncode != 0:
        raise Failed("echo: " + err)
    got = json.loads(out)
    return {"without": got["even"], "with": got["odd"]}


def measure_echo(args, idle):
    return {"rate": ECHO_RATE, "seconds": args.seconds, "reloads_per_s": 1,
            "runs": [echo_run(args, idle) for _ in range(args.runs)]}


def bars_of(figures):
    for name, took in figures["many"]["reload_ms"].items():
        yield took["most"] < RELOAD_MS, "%d servers, %s: %g ms, at most %g ms (by the log %g and %g)" % (
            figures["many"]["servers"], name, took["median"], took["most"], took["logged"]["median"],
            took["logged"]["most"])
    for name, took in figures["turns"]["longest_turn_us"].items():
        yield took <= TURN_US, "%d idle sessions, %s: longest turn %d us" % (
            figures["turns"]["sessions"], name, took)
    for run in figures["echo"]["runs"]:
        less, more = run["without"]["p99_9_us"], run["with"]["p99_9_us"]
        yield more <= less + ECHO_US, "echo: 99.9 %% within %g us, with reloads %g us" % (less, more)


def measure(args, folder):
    servers = free_ports(4)
    with open(os.path.join(folder, "echo"), "wb") as out:
        echo = subprocess.Popen([args.build + "/tests/storm/storm_load", "echo", *map(str, servers)],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    idle = Idle(args, folder, servers)
    try:
        wait_for("the servers", lambda: all(answers(one) for one in servers), START_S)
        many = measure_many(args, folder, servers)
        idle.begin()
        return {"driver": args.driver, "many": many, "turns": measure_turns(idle),
                "echo": measure_echo(args, idle)}
    finally:
        idle.end()
        echo.kill()
        echo.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="epoll")
    parser.add_argument("--sessions", type=int, default=9000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20, help="of each kind in a run of echoes")
    parser.add_argument("--json", help="file that gets the figures")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    folder = tempfile.mkdtemp(prefix="weir-cost-")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, max(most, FILES)))
        figures = measure(args, folder)
    except (Failed, OSError, ValueError) as error:
        print(error)
        print("0 passed, 1 failed")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures, indent=1))
    save(figures, args.json)
    failed = tell(bars_of(figures))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
