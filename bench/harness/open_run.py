# SPDX-License-Identifier: MIT
"""open_run.py - the open-loop view: latency at fixed arrival rates; called by bench/open.sh.

First finds the capacity of each contender for each workload: the highest rate of arrivals at which it is not
behind and p99 is at most 10 ms. The search begins at what it does in a closed loop, which is more for whoever
gains from batches: 64 clients who wait for one another's answers bring them. The median of a few interleaved
passes counts. Then, round after round, offers each contender 50 % and 80 % of its own capacity and measures
each latency from the time at which its request was to start (bench/open_load.c).

Load and backends run on the first CPU, the generator and the small messages' backend at a real-time
priority, so that they are on time. The proxy runs on the last CPU, of which bench/slow_core leaves it 40 %:
otherwise load and backend, which do the same work as the proxy, would be as busy as it is.

Exit code: 0 if every cell has a result, 1 if one does not, 2 for a wrong command line, 3 if the environment
does not allow the run.
"""

import argparse
import collections
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import contenders as field
import machine
import main
import open_report
import process
import workloads
from main import say
from process import Failed

CONTENDERS = "weir-epoll,weir-io_uring,haproxy,nginx,go"
WARM_S = 0.5            # WARM_NS of bench/open_load.c
CLOSED_S = 1.0
START_S, CELL_S = 0.5, 0.2      # starting and stopping a contender, and a generator: for the estimate
BEHIND = 0.98           # replies in time, of the requests that were due in the same time
SEARCH_S, SEARCH_STEPS = 0.7, 6 # duration and number of the steps that find a capacity
SEARCH_FROM = 0.4       # of what it does in a closed loop; the search ends within 1 % of that
KEEPS_UP_US = 10000     # p99 at a rate that a contender sustains
SAME_OF = ("weir-epoll", "weir-io_uring", "haproxy", "nginx")

# mode: of bench/open_load; closed, places: connections in the closed loop, and at most in the open one;
# streams: downloads next to it.
Work = collections.namedtuple("Work", "name mode closed places streams")
WORKLOADS = [
    Work("open-keep", "keep", 64, 64, 0),
    Work("open-close", "close", 64, 1024, 0),
    Work("open-beside", "echo", 16, 16, 2),
]


class NoCap:
    """The core is slow for everyone, so no contender needs a limit of its own."""
    path = None


def arguments():
    parser = argparse.ArgumentParser(prog="bench/open.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="duration of each cell (default 3)")
    parser.add_argument("--passes", type=int, default=2, help="passes that find the capacity (default 2)")
    parser.add_argument("--levels", default="50,80", help="percent of the capacity (default 50,80)")
    parser.add_argument("--only", default="", metavar="WORKLOAD,...", help="workloads to run")
    parser.add_argument("--contenders", default=CONTENDERS, metavar="A,B,...",
                        help="contenders to run (default %s)" % CONTENDERS)
    parser.add_argument("--contender", action="append", default=[], metavar="NAME=PATH:ROW",
                        help="add a contender, as bench/run.sh does")
    parser.add_argument("--poisson", type=int, default=0, metavar="SEED",
                        help="random arrivals, the same in each run with this SEED (default: evenly spaced)")
    parser.add_argument("--share", type=int, default=40,
                        help="percent of its core that the proxy may use (default 40)")
    parser.add_argument("--slow", choices=("core", "cgroup"), default="core",
                        help="what takes the rest: bench/slow_core, or the cap of bench/run.sh")
    parser.add_argument("--period", type=int, default=500, metavar="US",
                        help="mean period of bench/slow_core in us (default 500)")
    parser.add_argument("--pace", type=int, default=50, metavar="MB",
                        help="MB/s of each of the two downloads of open-beside (default 50)")
    parser.add_argument("--same", metavar="NAME",
                        help="offer all contenders the same rates: percent of the lowest capacity that weir, "
                             "HAProxy and nginx had in the earlier run NAME")
    parser.add_argument("--minutes", type=float, default=20,
                        help="refuse to run for longer, and end before a round that would (default 20)")
    parser.add_argument("--name", default="open-latest",
                        help="name of the files in bench/results (default open-latest)")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    got = parser.parse_args()
    try:
        got.levels = [int(level) for level in got.levels.split(",")]
    except ValueError:
        parser.error("--levels: write numbers, as in 50,80")
    if "/" in got.name or got.rounds < 1 or got.passes < 1 or got.seconds < 0.5 or got.pace < 1 or \
            not 20 <= got.share <= 100 or not all(1 <= level <= 200 for level in got.levels):
        parser.error("a name without '/', at least one round of 0.5 s, a share between 20 and 100")
    known = [work.name for work in WORKLOADS]
    names = [name for name in got.only.split(",") if name]
    if set(names) - set(known):
        parser.error("--only: there are " + " ".join(known))
    got.works = [work for work in WORKLOADS if not names or work.name in names]
    return got


def round_s(args, contenders):
    """Seconds that a round takes."""
    cell = WARM_S + args.seconds + CELL_S
    return len(args.works) * contenders * (START_S + len(args.levels) * cell)


def passes_s(args, contenders):
    """Seconds that finding the capacity takes."""
    search = SEARCH_STEPS * (WARM_S + SEARCH_S + CELL_S)
    return args.passes * len(args.works) * contenders * (START_S + WARM_S + CLOSED_S + CELL_S + search)


def choose(args):
    """The contenders; those that were added on the command line may be named, or come in addition."""
    added = [field.from_argument(text) for text in args.contender]
    names = [name for name in args.contenders.split(",") if name]
    return [field.by_name(n) for n in names if n not in [c.name for c in added]] + added


class OpenBench(main.Bench):
    """The bench, with a second backend for bulk where bench/run.sh has a redis."""

    def __init__(self, args, scratch, cap):
        super().__init__(args, scratch, cap)
        self.prior = False
        self.closed, self.capacity = [], {}

    def answers(self, contender):
        ports = self.target(contender).ports
        get = b"GET /1k HTTP/1.1\r\n\r\n"
        return all(process.ask(ports[name], get, 1024) for name in ("tcp", "unix", "redis"))

    @contextlib.contextmanager
    def backends(self):
        program = self.args.build + "/bench/backend"
        with contextlib.ExitStack() as stack:
            for addresses in ((self.backend["tcp"], self.backend["unix"]), (self.backend["redis"],)):
                one = stack.enter_context(process.running(
                    [program, *addresses], cpus=self.load_cpus, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE))
                if one.stdout.readline().strip() != b"ready":
                    raise Failed("a backend did not start")
                if addresses[0] == self.backend["tcp"]:
                    self.prior = process.first(one.pid)
            os.chmod(self.backend["unix"], 0o666)
            yield

    @contextlib.contextmanager
    def slow(self):
        """Makes the proxy's CPU slow."""
        if self.args.slow != "core" or self.args.share == 100:
            yield
            return
        argv = [self.args.build + "/bench/slow_core", max(self.proxy_cpus), self.args.share, self.args.period]
        with process.running(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) as taker:
            if taker.stdout.readline().strip() != b"ready":
                said = taker.stderr.read().decode("utf-8", "replace").strip()
                raise Failed("slow_core: %s; run it as root, or with --slow cgroup" % said)
            yield
            if taker.poll() is not None:
                raise Failed("slow_core ended, so the cells after that are no results")

    def describe(self):
        if self.args.share == 100:
            return "a whole core"
        if self.args.slow == "core":
            return "%d %% of one core, bench/slow_core, period %d us" % (self.args.share, self.args.period)
        return "%d %% of one core, %s" % (self.args.share, self.cap.describe())

    @contextlib.contextmanager
    def streams(self, target, work, seconds):
        """Downloads next to a cell; yields a list that holds their MB/s at the end."""
        argv = [target.tools["load"], "down", target.ports["redis"], 1, seconds, self.args.pace]
        with contextlib.ExitStack() as stack:
            loads = [stack.enter_context(process.running(
                argv, cpus=target.cpus, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)) for _ in range(work.streams)]
            rates = []
            yield rates
            for load in loads:
                try:
                    out, err = load.communicate(timeout=seconds + 20)
                except subprocess.TimeoutExpired:
                    raise Failed("a download did not end") from None
                if load.returncode != 0:
                    raise Failed("the download next to it: " + err.decode("utf-8", "replace").strip()[-300:])
                got = json.loads(out)
                rates.append(got["bytes"] / got["seconds"] / 1e6)

    def offer(self, target, work, rate, seconds):
        """Runs the generator; rate 0 is the closed loop. Returns what it printed."""
        argv = [self.args.build + "/bench/open_load", work.mode, target.ports["tcp"],
                work.places if rate else work.closed, "%.3f" % rate, seconds]
        if rate and self.args.poisson:
            argv.append(self.args.poisson + self.number)
        with process.running(argv, cpus=target.cpus, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) as generator:
            if self.prior:
                process.first(generator.pid)
            try:
                out, err = generator.communicate(timeout=seconds + 30)
            except subprocess.TimeoutExpired:
                raise Failed("open_load did not end") from None
        if generator.returncode != 0:
            raise Failed(err.decode("utf-8", "replace").strip()[-300:] or "open_load failed")
        return json.loads(out)

    def measure_open(self, work, contender, proxy, rate, seconds):
        """One cell, with the clocks around it."""
        target = self.target(contender)
        if self.cap.path and proxy:
            self.cap.limit(self.args.share)
        before, ticks = machine.cpu_ns(proxy.pid) if proxy else 0, machine.cpu_ticks()
        begin = time.monotonic()
        with self.streams(target, work, seconds + WARM_S) as bulk:
            got = self.offer(target, work, rate, seconds)
            wall_ns = 1e9 * (time.monotonic() - begin)
            shares = machine.cpu_shares(ticks, machine.cpu_ticks())
            spent = machine.cpu_ns(proxy.pid) - before if proxy else 0
        got.pop("mode")
        got.update(load_busy=round(max(shares[c][0] for c in self.load_cpus), 1),
                   stolen=round(max(stolen for _, stolen in shares.values()), 2))
        if proxy:
            got["proxy_used"] = round(100 * spent / wall_ns / (self.args.share / 100), 1)
        if bulk:
            got["bulk_mb"] = round(sum(bulk), 1)
        if rate:
            got["behind"] = got["achieved"] < BEHIND * got["ops"] / got["seconds"]
        return got

    def cell(self, work, contender, level):
        return {"round": self.number, "workload": work.name, "unit": "request", "view": "o",
                "contender": contender.name, "level": level, "valid": False}

    def search(self, work, contender, proxy, closed):
        """The highest rate that it sustains, at most what it did in a closed loop."""
        low, high = SEARCH_FROM * closed, closed
        for _ in range(SEARCH_STEPS):
            rate = (low + high) / 2
            got = self.measure_open(work, contender, proxy, rate, SEARCH_S)
            if got["behind"] or got["p99_us"] > KEEPS_UP_US:
                high = rate
            else:
                low = rate
        return low

    def visit_open(self, work, contender, levels):
        """All levels of one workload with one contender, which is started once; [] finds the capacity."""
        cells = [self.cell(work, contender, level) for level in levels or [0]]
        try:
            with self.contender(contender) as proxy:
                workloads.warm(self.target(contender), "tcp")
                for cell in cells:
                    capacity = self.capacity.get(work.name, {}).get(contender.name)
                    if levels and not capacity:
                        raise Failed("its capacity is not known")
                    if levels:
                        rate = capacity["rate"] * cell["level"] / 100
                        cell.update(self.measure_open(work, contender, proxy, rate, self.args.seconds))
                    else:
                        cell.update(self.measure_open(work, contender, proxy, 0, CLOSED_S))
                        cell["sustained"] = self.search(work, contender, proxy, cell["achieved"])
                    cell["valid"] = True
        except Failed as error:
            # Whatever was measured together with this is not a result either.
            for cell in cells:
                cell.update(valid=False, error=str(error))
        for cell in cells:
            (self.cells if levels else self.closed).append(cell)
            say("  " + open_report.line_of(cell))

    def all_in_turn(self, rows, levels):
        """One pass over all workloads and contenders, beginning with another contender each time."""
        at = self.number % len(rows)
        for work in self.args.works:
            for contender in rows[at:] + rows[:at]:
                self.visit_open(work, contender, levels)

    def find_capacity(self, rows):
        for self.number in range(1, self.args.passes + 1):
            say("capacity, pass %d of %d" % (self.number, self.args.passes))
            self.all_in_turn(rows, [])
        for work in self.args.works:
            mine = self.capacity[work.name] = {}
            for contender in rows:
                cells = [c for c in self.closed if c["valid"] and
                         (c["workload"], c["contender"]) == (work.name, contender.name)]
                if cells:
                    mine[contender.name] = {"rate": statistics.median(c["sustained"] for c in cells),
                                            "closed": statistics.median(c["achieved"] for c in cells),
                                            "load_busy": max(c["load_busy"] for c in cells)}

    def take_same(self, rows):
        """Capacities of an earlier run: for each workload the lowest, for all."""
        path = os.path.join(main.ROOT, "bench", "results", self.args.same + ".json")
        try:
            with open(path, encoding="utf-8") as stream:
                earlier = json.load(stream)["capacity"]
        except (OSError, ValueError, KeyError) as error:
            raise Failed("--same %s: no such run: %s" % (self.args.same, error)) from None
        for work in self.args.works:
            rates = [entry["rate"] for name, entry in earlier.get(work.name, {}).items() if name in SAME_OF]
            if not rates:
                raise Failed("--same %s: it has no capacity for %s" % (self.args.same, work.name))
            self.capacity[work.name] = {row.name: {"rate": min(rates), "load_busy": 0} for row in rows}

    def rounds_open(self, rows, begin):
        """True if all rounds fitted into the time."""
        for self.number in range(1, self.args.rounds + 1):
            passed = time.monotonic() - begin
            if passed + round_s(self.args, len(rows)) > 60 * self.args.minutes:
                say("no time for round %d of %d" % (self.number, self.args.rounds))
                return False
            say("round %d of %d, after %.1f minutes" % (self.number, self.args.rounds, passed / 60))
            self.all_in_turn(rows, self.args.levels)
        return True


def save(bench, facts, complete):
    args = bench.args
    whole = {
        "name": args.name, "complete": complete, "facts": facts, "rounds": args.rounds,
        "seconds": args.seconds, "cap": bench.describe(),
        "method": {"levels": args.levels, "arrivals": "Poisson, seed %d" % args.poisson if args.poisson else
                   "evenly spaced", "closed_seconds": CLOSED_S, "passes": args.passes, "same": args.same,
                   "bulk_mb": args.pace, "streams": {w.name: w.streams for w in args.works},
                   "connections": {w.name: [w.closed, w.places] for w in args.works},
                   "priority": "SCHED_FIFO" if bench.prior else "ordinary"},
        "contenders": bench.contenders, "capacity": bench.capacity, "closed": bench.closed,
        "summary": open_report.summary(bench.cells), "cells": bench.cells}
    base = os.path.join(main.ROOT, "bench", "results", args.name)
    os.makedirs(os.path.dirname(base), exist_ok=True)
    text = json.dumps(whole, indent=1)
    with open(base + ".json", "w", encoding="utf-8") as stream:
        stream.write(main.tidied(text, bench) + "\n")
    open_report.write(whole, base)
    say("\n" + open_report.text(whole))
    say("written: %s.json .txt .svg" % os.path.relpath(base))


def run(args, stack):
    begin = time.monotonic()
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-"))
    os.chmod(scratch, 0o755)
    rows = choose(args)
    cap = machine.Cap() if args.slow == "cgroup" else NoCap()
    if args.slow == "cgroup":
        stack.callback(cap.close)
        if not cap.path:
            raise Failed("no CPU cap can be set: " + cap.why)
    bench = OpenBench(args, scratch, cap)
    if bench.load_cpus == bench.proxy_cpus:
        raise Failed("the load and the proxy need a CPU each")
    facts = machine.facts(main.ROOT)
    facts["congestion"] = stack.enter_context(machine.cubic(say))
    if any(row.name == "go" for row in rows):
        main.build_go(scratch)
    stack.enter_context(bench.backends())
    if not bench.prior:
        say("no real-time priority: the generator may be late, see late_p99_us")
    rows = bench.prepare(rows)
    if not rows:
        raise Failed("no contender is installed")
    if args.same:
        bench.take_same(rows)
        args.passes = 0
    seconds = passes_s(args, len(rows)) + args.rounds * round_s(args, len(rows)) + time.monotonic() - begin
    say("the proxy has %s; %d + %d passes and rounds take about %d minutes" % (
        bench.describe(), args.passes, args.rounds, seconds // 60 + 1))
    if seconds > 60 * args.minutes:
        raise Failed("more than --minutes %g: choose fewer --rounds or --seconds" % args.minutes)
    stack.enter_context(bench.slow())
    complete = False
    try:
        if not args.same:
            bench.find_capacity(rows)
        complete = bench.rounds_open(rows, begin)
    finally:
        facts["load_average_after"] = machine.read("/proc/loadavg")
        facts["minutes"] = round((time.monotonic() - begin) / 60, 1)
        if bench.cells:
            save(bench, facts, complete)
    bad = [c for c in bench.closed + bench.cells if not c["valid"]]
    if bad:
        say("%d of %d cells are not results" % (len(bad), len(bench.closed + bench.cells)))
    return 1 if bad or not complete else 0


if __name__ == "__main__":
    ARGS = arguments()
    sys.exit(main.guarded(lambda stack: run(ARGS, stack), ARGS.build))
