#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scrape.py - what scrapes of the HTTP endpoint cost, and whether their numbers are true.

    python3 tests/storm/scrape.py --build build --json bench/results/scrape.json
    options: --driver epoll|io_uring  --only PART,...  --seconds N  --echo-seconds N  --runs N

1. many: how long a scrape of 1,000 servers takes, each with a walk of its own.
2. walks: 9,000 idle sessions; the longest turn of a worker, in CPU time, while their bytes are added up and
   they are listed again and again. Workers measure their turns for three seconds after a reload.
3. churn: ten scrapes a second for --seconds (default 20), while sessions come and go, streams move bytes,
   and the workers are asked for their sessions without a pause. Two times a second, a burst of clients comes
   in at a worker with many sessions, which passes them to the other one, and that one gets no CPU: its
   mailbox must have been full. No counter may ever fall. At the end, frontends, backends and servers must
   add up to the process, and to the lines of the log.
4. echo: a byte there and back a thousand times a second, beside ten scrapes a second of 1,000 servers in
   every other second, --echo-seconds of each. The seconds between are the comparison.

Prints the figures, and one line per bar; the last line is `N passed, N failed`. Exit code 1 if a bar is not
met, 2 if it could not be measured. Run it as root, on a machine that does nothing else.
"""

import argparse
import collections
import http.client
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import cost
from cost import ECHO_RATE, summary
from storm import Clients, Failed, REST_S, START_S, answers, free_ports, save, tell, wait_for

BACKENDS, SERVERS = 10, 100
REPEATS = 30
SCRAPE_MS, ECHO_US = 50, 100
FRESH_S = 0.12      # an older answer is not given again
RATE_HZ = 10
PIECE_BYTES = 65536  # a copy of megabytes out of the kernel lets nobody else run
CHURN_RATE, CHURN_STREAMS, FLOODS = 1000, 100, 2
HELD, BURST, BURST_EACH_S = 1600, 600, 0.5
BURST_S = 0.2       # at most so long a worker gets no CPU
IDLE, WATCHES, WATCH_S, TURN_US = 9000, 3, 2.5, 1000
FILES = 20000
PARTS = ("many", "walks", "churn", "echo")
FALLS_SHOWN = 5
SESSION = re.compile(r" src=127\.0\.0\.1:(\d+) .* id=(\d+)\.")
SAMPLE = re.compile(r"^(\w+)(\{.*\})? (\S+)$", re.M)
LINE = re.compile(r" session .* bytes_in=(\d+) bytes_out=(\d+) .* reason=(\w+)")


class Weir(cost.Weir):
    """A daemon with an HTTP endpoint, and a log of sessions."""

    def __init__(self, args, folder, name):
        super().__init__(args, folder, name)
        self.http_port, = free_ports(1)

    def write(self, sections):
        head = ["[global]", "threads = 2", "driver = %s" % self.args.driver, "maxconn = 9500",
                "admin-socket = unix:%s" % self.path("admin"), "log = file:%s" % self.path("log"),
                "[stats]", "bind = 127.0.0.1:%d" % self.http_port]
        with open(self.path("weir.ini"), "w", encoding="utf-8") as stream:
            stream.write("\n".join(head + sections) + "\n")


class Scraper:
    """One connection to the endpoint, or the next if that was closed for being idle."""

    def __init__(self, port):
        self.port, self.connection = port, None

    def get(self, path="/metrics"):
        for _ in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
            try:
                self.connection.request("GET", path)
                answer = self.connection.getresponse()
                body = b"".join(iter(lambda: answer.read(PIECE_BYTES), b""))
            except (ConnectionError, http.client.HTTPException):
                self.close()
                continue
            if answer.status != 200:
                raise Failed("%s: %d %r" % (path, answer.status, body[:200]))
            return body.decode()
        raise Failed("%s: no answer" % path)

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def many_sections(port, servers):
    lines = ["[frontend main]", "bind = 127.0.0.1:%d" % port, "default-backend = b0"]
    for b in range(BACKENDS):
        lines += ["[backend b%d]" % b]
        lines += ["server s%d = 127.0.0.1:%d" % (s, servers[s % len(servers)]) for s in range(SERVERS)]
    return lines


def listen_sections(port, servers):
    return ["[listen main]", "bind = 127.0.0.1:%d backlog=4096" % port] + [
        "server s%d = 127.0.0.1:%d" % (i, one) for i, one in enumerate(servers)]


# 1. Many servers.

def measure_many(weir):
    scraper, took = Scraper(weir.http_port), {}
    for path in ("/metrics", "/metrics?names=haproxy", "/;csv", "/api/v1/servers"):
        times = []
        for _ in range(REPEATS):
            time.sleep(FRESH_S)
            begin = time.monotonic()
            size = len(scraper.get(path))
            times.append(1000 * (time.monotonic() - begin))
        took[path] = {**summary(times), "bytes": size}
    scraper.close()
    return {"servers": BACKENDS * SERVERS, "scrape_ms": took}


# 2. Walks.

def walk_on(weir, seconds):
    """How many walks for scrapes, and how many for lists."""
    scraper, end, walks, lists = Scraper(weir.http_port), time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        time.sleep(FRESH_S)
        scraper.get()
        walks += 1
        lists += weir.ask("show sess").count("\n") > IDLE
    scraper.close()
    return walks, lists


def measure_walks(args, folder, servers):
    port, = free_ports(1)
    weir = Weir(args, folder, "idle")
    clients, longest, walks, lists = [], [], 0, 0
    try:
        weir.write(listen_sections(port, servers))
        weir.start(port)
        for _ in range(IDLE):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=START_S))
        wait_for("idle sessions", lambda: weir.info("sessions") == IDLE, START_S)
        for _ in range(WATCHES):
            weir.reload()
            more = walk_on(weir, WATCH_S)
            walks, lists = walks + more[0], lists + more[1]
            longest.append(weir.info("longest_turn_us"))
        return {"sessions": IDLE, "scrapes": walks, "lists": lists, "longest_turn_us": longest}
    finally:
        for client in clients:
            client.close()
        weir.stop()


# 3. Churn.

def counters_of(text):
    """{series: value} of all that must not fall."""
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    found = {}
    for name, labels, value in SAMPLE.findall(text):
        kind = types.get(name) or types.get(re.sub("_(bucket|sum|count)$", "", name))
        if kind in ("counter", "histogram"):
            found[name + labels] = float(value)
    return found


def total(counters, metric):
    """The sum over all series of this metric."""
    return sum(value for series, value in counters.items() if series.split("{")[0] == metric)


class Floods:
    """Ask the workers for all their sessions, again and again."""

    def __init__(self, weir):
        self.weir, self.over, self.asked = weir, threading.Event(), 0
        self.threads = [threading.Thread(target=self.run) for _ in range(FLOODS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.over.is_set():
            try:
                self.weir.ask("show sess")
                self.asked += 1
            except OSError:
                pass

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


class Bursts:
    """Fill the mailbox of a worker, again and again. A mailbox takes 256 connections; the other worker has
    several hundred sessions more, so that it passes on all that it accepts."""

    def __init__(self, weir, port):
        self.weir, self.port, self.over = weir, port, threading.Event()
        self.count = self.full = 0
        self.failure = None
        clients = [socket.create_connection(("127.0.0.1", port), timeout=START_S) for _ in range(HELD)]
        wait_for("idle sessions", lambda: weir.info("sessions") == HELD, START_S)
        by_port = {client.getsockname()[1]: client for client in clients}
        sides = ([], [])
        for source, worker in SESSION.findall(weir.ask("show sess")):
            sides[int(worker)].append(by_port[int(source)])
        empty = 0 if len(sides[0]) < len(sides[1]) else 1
        for client in sides[empty]:
            client.close()
        self.held = sides[1 - empty]
        wait_for("one busy worker", lambda: weir.info("sessions") == len(self.held), START_S)
        self.busy, self.starved = (self.thread_of(worker) for worker in (1 - empty, empty))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def thread_of(self, worker):
        tasks = "/proc/%d/task" % self.weir.process.pid
        for task in os.listdir(tasks):
            with open("%s/%s/comm" % (tasks, task), encoding="utf-8") as stream:
                if stream.read().strip() == "worker %d" % worker:
                    return int(task)
        raise Failed("no thread is called 'worker %d'" % worker)

    def burst(self):
        before, accepted = (self.weir.info(key) for key in ("mailbox_full", "accepted"))
        cpus = os.sched_getaffinity(self.starved)
        os.sched_setaffinity(self.starved, os.sched_getaffinity(self.busy))
        os.sched_setscheduler(self.starved, os.SCHED_IDLE, os.sched_param(0))
        try:
            clients = [socket.socket() for _ in range(BURST)]
            for client in clients:
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", self.port))
            end = time.monotonic() + BURST_S
            while self.weir.info("accepted") < accepted + BURST and time.monotonic() < end:
                pass
        finally:
            os.sched_setscheduler(self.starved, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(self.starved, cpus)
        self.count += 1
        self.full += self.weir.info("mailbox_full") > before
        return clients

    def run(self):
        try:
            while not self.over.is_set():
                clients = self.burst()
                self.over.wait(BURST_EACH_S)
                for client in clients:
                    client.close()
        except (Failed, OSError) as error:
            self.failure = error

    def end(self):
        self.over.set()
        self.thread.join()
        for client in self.held:
            client.close()
        if self.failure is not None:
            raise Failed("bursts: %s" % self.failure)


def scrape_on(weir, seconds):
    """Returns how many scrapes there were, how long they took, and what fell."""
    scraper, times, falls, last = Scraper(weir.http_port), [], [], {}
    begin = time.monotonic()
    for i in range(RATE_HZ * seconds):
        time.sleep(max(0, begin + i / RATE_HZ - time.monotonic()))
        asked = time.monotonic()
        now = counters_of(scraper.get())
        times.append(1000 * (time.monotonic() - asked))
        falls += ["%s: %r after %r" % (s, now[s], v) for s, v in last.items() if now.get(s, 0) < v]
        last = now
    scraper.close()
    return {"scrapes": len(times), "scrape_ms": summary(times), "series": len(last),
            "fell": len(falls), "falls": falls[:FALLS_SHOWN]}


def logged(weir):
    ends, to_server, to_client = collections.Counter(), 0, 0
    for line in weir.log().splitlines():
        match = LINE.search(line)
        if match:
            to_server += int(match[1])
            to_client += int(match[2])
            ends[match[3]] += 1
    return {"sessions": sum(ends.values()), "bytes_in": to_server, "bytes_out": to_client, "ends": dict(ends)}


def sums_of(weir):
    """What each level has counted: {"process": {...}, ...}, when nothing is open any more."""
    counters = counters_of(Scraper(weir.http_port).get())
    sums = {"process": {"bytes_in": int(total(counters, "weir_process_bytes_to_server_total")),
                        "bytes_out": int(total(counters, "weir_process_bytes_to_client_total")),
                        "sessions": int(total(counters, "weir_process_closes_total"))}}
    for level in ("frontend", "backend", "server"):
        sums[level] = {key: int(total(counters, "weir_%s_%s_total" % (level, key)))
                       for key in ("bytes_in", "bytes_out", "sessions")}
    return sums


def measure_churn(args, folder, servers):
    port, = free_ports(1)
    weir = Weir(args, folder, "churn")
    try:
        weir.write(listen_sections(port, servers))
        weir.start(port)
        wait_for("no session", lambda: weir.info("sessions") == 0, START_S)
        bursts = Bursts(weir, port)
        clients = Clients(args.build + "/tests/storm/storm_load", port, CHURN_RATE, CHURN_STREAMS)
        floods = Floods(weir)
        try:
            seen = scrape_on(weir, args.seconds)
        finally:
            floods.end()
            bursts.end()
            clients.end()
        wait_for("the end of all sessions", lambda: weir.info("sessions") == 0, REST_S)
        wait_for("the log", lambda: logged(weir)["sessions"] + weir.info("log_dropped") >=
                 sums_of(weir)["process"]["sessions"], REST_S)
        return {**seen, "floods": floods.asked, "bursts": bursts.count, "bursts_full": bursts.full,
                "mailbox_full": weir.info("mailbox_full"), "clients": clients.total, "sums": sums_of(weir),
                "log": logged(weir), "log_dropped": weir.info("log_dropped")}
    finally:
        weir.stop()


# 4. Echo.

def echo_run(args, weir, port):
    """Scrapes in each odd second; the even ones are for comparison. Whoever scrapes is elsewhere as a rule,
    so here it takes no time from anybody."""
    argv = [args.build + "/tests/storm/echo_times", str(port), str(ECHO_RATE), str(2 * args.echo_seconds)]
    scraper = Scraper(weir.http_port)
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as echo:
        try:
            os.sched_setscheduler(echo.pid, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass
        begin = float(echo.stdout.readline())
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        for second in range(1, 2 * args.echo_seconds, 2):
            for i in range(RATE_HZ):
                time.sleep(max(0, begin + second + i / RATE_HZ - time.monotonic()))
                scraper.get()
        out, err = echo.communicate(timeout=60)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    scraper.close()
    if echo.returncode != 0:
        raise Failed("echo: " + err)
    got = json.loads(out)
    return {"without": got["even"], "with": got["odd"]}


def bars_of_many(many):
    for path, took in many["scrape_ms"].items():
        yield took["most"] < SCRAPE_MS, "%d servers, %s: %g ms, at most %g ms, %d bytes" % (
            many["servers"], path, took["median"], took["most"], took["bytes"])


def bars_of_walks(walks):
    yield max(walks["longest_turn_us"]) < TURN_US, (
        "%d idle sessions, %d scrapes, %d lists: longest turn %d us" % (
            walks["sessions"], walks["scrapes"], walks["lists"], max(walks["longest_turn_us"])))


def bars_of_churn(churn):
    yield churn["fell"] == 0, "%d scrapes of %d counters under churn: %d fell%s" % (
        churn["scrapes"], churn["series"], churn["fell"], "".join("\n    " + one for one in churn["falls"]))
    yield churn["bursts_full"] > 0, "a mailbox was full in %d of %d bursts, for %d connections" % (
        churn["bursts_full"], churn["bursts"], churn["mailbox_full"])
    yield churn["log_dropped"] == 0, "%d log lines dropped" % churn["log_dropped"]
    wanted = {key: churn["log"][key] for key in ("sessions", "bytes_in", "bytes_out")}
    for level, sums in churn["sums"].items():
        yield sums == wanted, "%s: %s; by the log %s" % (level, sums, wanted)


def bars_of_echo(echo):
    for run in echo["runs"]:
        less, more = run["without"]["p99_us"], run["with"]["p99_us"]
        yield more <= less + ECHO_US, "echo: 99 %% within %g us, with scrapes %g us" % (less, more)


def bars_of(figures):
    ways = {"many": bars_of_many, "walks": bars_of_walks, "churn": bars_of_churn, "echo": bars_of_echo}
    for part in PARTS:
        if part in figures:
            yield from ways[part](figures[part])


def measure_with_many(args, folder, servers):
    """Parts 1 and 4."""
    port, = free_ports(1)
    weir = Weir(args, folder, "many")
    figures = {}
    try:
        weir.write(many_sections(port, servers))
        weir.start(port)
        if "many" in args.only:
            figures["many"] = measure_many(weir)
        if "echo" in args.only:
            figures["echo"] = {"rate": ECHO_RATE, "seconds": args.echo_seconds, "scrapes_per_s": RATE_HZ,
                               "runs": [echo_run(args, weir, port) for _ in range(args.runs)]}
        return figures
    finally:
        weir.stop()


def measure(args, folder):
    servers = free_ports(4)
    figures = {"driver": args.driver}
    with open(os.path.join(folder, "echo"), "wb") as out:
        echo = subprocess.Popen([args.build + "/tests/storm/storm_load", "echo", *map(str, servers)],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        wait_for("the servers", lambda: all(answers(one) for one in servers), START_S)
        figures.update(measure_with_many(args, folder, servers))
        if "walks" in args.only:
            figures["walks"] = measure_walks(args, folder, servers)
        if "churn" in args.only:
            figures["churn"] = measure_churn(args, folder, servers)
        return figures
    finally:
        echo.kill()
        echo.wait()


def main():
    parser = argparse.ArgumentParser(description="Measures what scrapes cost, and checks their numbers.")
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="epoll", choices=["epoll", "io_uring"])
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS, metavar="PART,...",
                        help="some of " + ", ".join(PARTS))
    parser.add_argument("--seconds", type=int, default=20, help="of churn")
    parser.add_argument("--echo-seconds", type=int, default=20, help="of each kind in a run of echoes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    if not set(args.only) <= set(PARTS):
        parser.error("--only: some of " + ", ".join(PARTS))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    folder = tempfile.mkdtemp(prefix="weir-scrape-")
    try:
        figures = measure(args, folder)
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print("scrape.py: %s" % error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    save(figures, args.json)
    return 1 if tell(bars_of(figures)) else 0


if __name__ == "__main__":
    sys.exit(main())
