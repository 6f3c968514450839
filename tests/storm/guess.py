#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guess.py - what a flood of wrong passwords at the HTTP endpoint costs everyone else.

    python3 tests/storm/guess.py --build build --json bench/results/guess.json
    options: --driver epoll|io_uring  --seconds N  --rate N  --slack N

For --seconds (default 60), --rate clients a second (default 1,000) guess, each on a connection of its own:
half of them from one address, which soon has to wait, the others from 16,000 addresses, so that the queue of
passwords is full. Hashes have the highest cost that weir accepts. Meanwhile, every 50 ms each: /healthz is
asked, and the admin socket; and a server stops and listens again in turn, for its health checks to notice.
Each bar is multiplied by --slack, for a machine that is busy with something else.

Prints the figures, and one line per bar; the last line is `N passed, N failed`. Exit code 1 if a bar is not
met, 2 if it could not be measured.
"""

import argparse
import asyncio
import base64
import collections
import http.client
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import cost
from cost import summary
from storm import Failed, free_ports, save, tell, wait_for

USERS = "weir:$2y$12$abcdefghijklmnopqrstuuYS6.zrse7z7/rYaBI5UCEGzEfxQI4OO\n"
ADMIN_MS, HEALTHZ_MS = 100, 50
CHECK_S, COUNT = 0.2, 2
# Checks begin up to 5 % later than the interval, and one may just have begun.
DECISION_MS = 1000 * CHECK_S * (COUNT + 1)
PAUSE_S, TURN_S = 0.05, 1.5
END_S = 10  # for the answers to the last guesses
CLIENTS = 40  # guesses under way at a time


async def guess(port, number, answers):
    source = "127.0.0.2" if number % 2 else "127.1.%d.%d" % (random.randrange(64), random.randrange(1, 255))
    pair = base64.b64encode(b"weir:guess%d" % random.randrange(1 << 60)).decode()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        writer.write(("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic %s\r\n\r\n" % pair).encode())
        line = await reader.readline()
        writer.close()
        answers[line[9:12].decode() or "closed"] += 1
    except OSError as error:
        answers[type(error).__name__] += 1


async def guess_on(port, rate, seconds, answers):
    begin, tasks = time.monotonic(), set()
    for i in range(int(rate * seconds)):
        wait = begin + i / rate - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        while len(tasks) >= CLIENTS:
            _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        tasks.add(asyncio.ensure_future(guess(port, i, answers)))
        if time.monotonic() > begin + seconds:
            break
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=END_S)
    for task in late:
        task.cancel()
    answers["unanswered"] += len(late)


def flood(port, rate, seconds, queue):
    answers = collections.Counter()
    asyncio.run(guess_on(port, rate, seconds, answers))
    queue.put(dict(answers))


class Poller:
    """Asks again and again, and notes how long each answer took."""

    def __init__(self, ask):
        self.ask, self.times, self.late, self.failure = ask, [], [0], None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while True:
                begin = time.monotonic()
                if self.over.wait(PAUSE_S):
                    return
                asked = time.monotonic()
                self.late.append(1000 * (asked - begin - PAUSE_S))
                self.ask()
                self.times.append(1000 * (time.monotonic() - asked))
        except (OSError, http.client.HTTPException, Failed) as error:
            self.failure = error

    def end(self):
        self.over.set()
        self.thread.join()
        if self.failure is not None:
            raise Failed("while guesses came: %r" % self.failure)
        return summary(self.times) | {"count": len(self.times), "own_most": round(max(self.late), 2),
                                      "over_50": sum(t > HEALTHZ_MS for t in self.times)}


class Weir(cost.Weir):
    def __init__(self, args, folder, server):
        super().__init__(args, folder, "guess")
        self.port, self.http_port = free_ports(2)
        with open(self.path("users"), "w", encoding="utf-8") as stream:
            stream.write(USERS)
        self.write(["[stats]", "bind = 127.0.0.1:%d" % self.http_port, "auth-file = users", "[listen main]",
                    "bind = 127.0.0.1:%d" % self.port, "check = tcp",
                    "check-interval = %dms" % (1000 * CHECK_S),
                    "check-rise = %d" % COUNT, "check-fall = %d" % COUNT, "server a = 127.0.0.1:%d" % server])
        with open(self.path("out"), "wb") as out:
            self.process = subprocess.Popen([args.build + "/src/weir", self.path("weir.ini")],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def is_ready(self):
        return os.path.exists(self.path("log")) and " ready: " in self.log()

    def healthz(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=30)
        connection.request("GET", "/healthz")
        if connection.getresponse().status != 200:
            raise Failed("/healthz is not 200")
        connection.close()

    def is_up(self):
        return "main,a," in self.ask("show stat") and ",UP," in next(
            line for line in self.ask("show stat").splitlines() if line.startswith("main,a,"))


def listen(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", port))
    s.listen(64)
    return s


def decide_on(weir, port, seconds):
    """Milliseconds from the change of a server until the daemon's decision."""
    took, server = [], listen(port)
    wait_for("UP", weir.is_up, 30)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        up = server is None
        begin = time.monotonic()
        if up:
            server = listen(port)
        else:
            server.close()
            server = None
        wait_for("a decision", lambda: weir.is_up() == up, 30)
        took.append(1000 * (time.monotonic() - begin))
        time.sleep(TURN_S * random.random())
    return summary(took) | {"count": len(took)}


def measure(args, folder):
    port, = free_ports(1)
    weir = Weir(args, folder, port)
    answers = multiprocessing.Queue()
    guesses = multiprocessing.Process(target=flood,
                                      args=(weir.http_port, args.rate, args.seconds, answers))
    try:
        wait_for("weir", weir.is_ready, 30)
        weir.healthz()
        guesses.start()
        pollers = Poller(weir.healthz), Poller(lambda: weir.info("sessions"))
        decisions = decide_on(weir, port, args.seconds)
        healthz, admin = (poller.end() for poller in pollers)
        return {"driver": args.driver, "seconds": args.seconds, "rate": args.rate, "slack": args.slack,
                "answers": answers.get(timeout=30), "healthz_ms": healthz, "admin_ms": admin,
                "decision_ms": decisions, "cpu_s": cpu_of(weir.process.pid),
                **{key: weir.info("web_auth_" + key) for key in ("wrong", "throttled", "busy")}}
    finally:
        if guesses.pid is not None:
            guesses.join(30)
        weir.stop()


def cpu_of(pid):
    """Seconds of CPU by thread."""
    found = {}
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, task), encoding="utf-8") as stream:
            name, _, rest = stream.read().partition("(")[2].rpartition(")")
        fields = rest.split()
        found[name] = found.get(name, 0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def bars_of(f):
    total = sum(f["answers"].values())
    got = {key: value for key, value in f["answers"].items() if key in ("401", "429", "503")}
    unanswered = f["answers"].get("unanswered", 0)
    yield sum(got.values()) + unanswered == total, "no guess was let in: %s" % f["answers"]
    yield total >= 0.9 * f["rate"] * f["seconds"] / f["slack"], "%d guesses a second" % (total / f["seconds"])
    for key, bar, what in (("healthz_ms", HEALTHZ_MS, "/healthz"), ("admin_ms", ADMIN_MS, "show info"),
                           ("decision_ms", DECISION_MS, "health decisions")):
        yield f[key]["most"] <= bar * f["slack"], "%s: %g ms, at most %g ms of %d; bar %g ms" % (
            what, f[key]["median"], f[key]["most"], f[key]["count"], bar * f["slack"])


def main():
    parser = argparse.ArgumentParser(description="Measures what guesses of passwords cost everyone else.")
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="epoll", choices=["epoll", "io_uring"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--slack", type=float, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weir-guess-")
    try:
        figures = measure(args, folder)
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print("guess.py: %s" % error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    save(figures, args.json)
    print("this program itself was up to %g ms late; answers over %d ms: %d of /healthz, %d of show info" % (
        max(figures[key]["own_most"] for key in ("healthz_ms", "admin_ms")), HEALTHZ_MS,
        figures["healthz_ms"]["over_50"], figures["admin_ms"]["over_50"]))
    print("CPU seconds by thread: %s" % figures["cpu_s"])
    return 1 if tell(bars_of(figures)) else 0


if __name__ == "__main__":
    sys.exit(main())
