# SPDX-License-Identifier: MIT
"""main.py - the benchmark: rounds of every contender in turn, and their results; see bench/run.sh.

Changes one setting of the machine, net.ipv4.tcp_congestion_control, and restores it however it ends.
Exit code: 0 if every cell has a result, 1 if one does not, 2 for a wrong command line, 3 if the
environment does not allow the run, 130 if interrupted (results so far are written).
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import chart
import contenders as field
import machine
import process
import report
import workloads
from process import Failed

VIEWS = {"e": "efficiency", "c": "capacity"}
QUICK_CONTENDERS = "haproxy,haproxy-splice,haproxy-forced,nginx,bare,weir-epoll,weir-io_uring"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def say(text):
    print(text, flush=True)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few workloads, one round, under 3 minutes")
    parser.add_argument("--rounds", type=int,
                        help="number of rounds, each with every contender in turn (default 5)")
    parser.add_argument("--seconds", type=float, help="duration of each cell (default 3)")
    parser.add_argument("--only", default="", metavar="WORKLOAD,...",
                        help="workloads to run; bulk* selects all that start with bulk")
    parser.add_argument("--contenders", default="", metavar="A,B,...", help="contenders to run")
    parser.add_argument("--contender", action="append", default=[], metavar="NAME=PATH:ROW",
                        help="add a contender: the program at PATH, run in the same way as ROW")
    parser.add_argument("--name", default="latest",
                        help="name of the files in bench/results (default latest)")
    parser.add_argument("--cap", type=int, default=30,
                        help="percent of a core in the capacity view (default 30)")
    parser.add_argument("--views", default="ec",
                        help="views to measure: e = efficiency, c = capacity (default ec)")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="print the names of workloads and contenders")
    got = parser.parse_args()
    got.rounds = got.rounds or (1 if got.quick else 5)
    got.seconds = got.seconds or (1 if got.quick else 3)
    if "/" in got.name or got.rounds < 1 or got.seconds < 0.1 or not 20 <= got.cap <= 100:
        parser.error("a name without '/', at least one round of 0.1 s, a cap between 20 and 100")
    return got


def choose_contenders(args):
    added = [field.from_argument(text) for text in args.contender]
    names = [n for n in (args.contenders or (QUICK_CONTENDERS if args.quick else "")).split(",") if n]
    rows = [field.by_name(n) for n in names if n not in [c.name for c in added]] or list(field.CONTENDERS)
    return rows + added


def build_go(scratch):
    """Builds the Go relay, if there is a Go toolchain."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if not go:
        return
    source = os.path.join(ROOT, "bench", "contenders", "io_copy.go")
    env = dict(os.environ, GOCACHE=scratch + "/go-cache", GOTOOLCHAIN="local", HOME=scratch,
               CGO_ENABLED="0")
    done = subprocess.run([go, "build", "-o", scratch + "/io_copy", source], env=env, check=False,
                          timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        say("go relay left out: " + done.stdout.decode("utf-8", "replace").strip()[-300:])


class Bench:
    """What all cells share: where they run, against what, and their results."""

    def __init__(self, args, scratch, cap):
        self.args, self.scratch, self.cap = args, scratch, cap
        cpus = sorted(os.sched_getaffinity(0))
        self.load_cpus, self.proxy_cpus = {cpus[0]}, {cpus[-1]}
        self.nofile = machine.raise_nofile()
        self.cells, self.contenders = [], {}
        ports = process.free_ports(6)
        socket_path = scratch + "/backend.sock"
        self.backend = {"tcp": ports[0], "unix": socket_path, "redis": ports[1], "sniff": ports[0]}
        self.ports = {"tcp": ports[2], "unix": ports[3], "redis": ports[4], "sniff": ports[5]}
        self.forwards = {name: (self.ports[name], self.backend[name]) for name in self.ports}

    def target(self, contender):
        return workloads.Target(ports=self.ports if contender.program else self.backend,
                                tools={"load": self.args.build + "/bench/load"}, cpus=self.load_cpus,
                                redis=self.backend["redis"], scratch=self.scratch)

    @contextlib.contextmanager
    def backends(self):
        """Starts bench/backend for everything, and a redis."""
        with contextlib.ExitStack() as stack:
            argv = [self.args.build + "/bench/backend", self.backend["tcp"], self.backend["unix"]]
            ours = stack.enter_context(process.running(argv, cpus=self.load_cpus, stdin=subprocess.PIPE,
                                                       stdout=subprocess.PIPE))
            if ours.stdout.readline().strip() != b"ready":
                raise Failed("the backend did not start")
            os.chmod(self.backend["unix"], 0o666)
            argv = ["redis-server", "--port", self.backend["redis"], "--bind", "127.0.0.1", "--save", "",
                    "--appendonly", "no", "--dir", self.scratch, "--loglevel", "warning"]
            stack.enter_context(process.running(argv, cpus=self.load_cpus, stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL))
            process.wait_until(lambda: process.ask(self.backend["redis"], b"PING\r\n", 7), 5,
                               "redis-server does not answer")
            yield

    def answers(self, contender):
        ports = self.target(contender).ports
        get = b"GET /1k HTTP/1.1\r\n\r\n"
        return process.ask(ports["tcp"], get, 1024) and process.ask(ports["unix"], get, 1024) and \
            process.ask(ports["redis"], b"PING\r\n", 7)

    @contextlib.contextmanager
    def contender(self, contender, env=None):
        """Runs a contender, from its first response on; yields its process, or None without a proxy."""
        if not contender.program:
            yield None
            return
        entry = self.contenders[contender.name]
        group = self.cap.path
        if group:
            self.cap.limit(None)
        with open(self.scratch + "/contender.log", "w", encoding="utf-8") as log, \
                process.running(entry["argv"], cpus=self.proxy_cpus, group=group, stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log, env=env) as proxy:
            try:
                process.wait_until(lambda: proxy.poll() is not None or self.answers(contender), 10,
                                   "it does not respond")
                if proxy.poll() is not None:
                    raise Failed("it ended at once")
            except Failed as error:
                said = machine.read(self.scratch + "/contender.log")[-500:]
                raise Failed("%s: %s. %s" % (contender.name, error, said)) from None
            yield proxy
            if proxy.poll() is not None:
                raise Failed("%s ended with %d" % (contender.name, proxy.returncode))

    def prepare(self, rows):
        """The installed contenders, with version and command line."""
        places = {"BUILD": self.args.build, "SCRATCH": self.scratch}
        present = []
        for row in rows:
            path = field.program_path(row, places) if row.program else ""
            if path is None:
                say("  %-18s left out: no program '%s'" % (row.name, row.program))
                continue
            argv = field.argv_of(row, path, self.forwards, self.scratch, self.nofile) if path else []
            entry = {"argv": argv, "version": machine.first_line([path, row.version]) if row.version else ""}
            self.contenders[row.name] = entry
            try:
                with self.contender(row):
                    pass
            except Failed as error:
                say("  %-18s left out: %s" % (row.name, str(error).split("\n")[0]))
                del self.contenders[row.name]
                continue
            say("  %-18s %s" % (row.name, entry["version"] or path or "no proxy"))
            present.append(row)
        return present

    def measure(self, work, view, contender, proxy):
        """One cell: warm up, then load, with the clocks around it."""
        target = self.target(contender)
        cell = {"workload": work.name, "unit": work.unit, "contender": contender.name, "view": view,
                "valid": False}
        try:
            if self.cap.path:
                self.cap.limit(self.args.cap if view == "c" else None)
            if work.function is not workloads.redis:
                workloads.warm(target, work.arguments[0])
            before, ticks = machine.cpu_ns(proxy.pid) if proxy else 0, machine.cpu_ticks()
            result = work.function(target, self.args.seconds, *work.arguments)
            if result is None:
                return None
            shares = machine.cpu_shares(ticks, machine.cpu_ticks())
            spent = machine.cpu_ns(proxy.pid) - before if proxy else None
            cell.update(result._asdict(), valid=True,
                        load_busy=round(max(shares[c][0] for c in self.load_cpus), 1),
                        proxy_busy=round(max(shares[c][0] for c in self.proxy_cpus), 1),
                        stolen=round(max(s for _, s in shares.values()), 2))
            if spent is not None:
                cell.update(cpu_ns=spent, cpu_ns_per_unit=spent / result.count)
        except Failed as error:
            cell["error"] = str(error)
        return cell

    def visit(self, round_number, work, contender):
        """All views of one workload with one contender, which is started once."""
        if work.idle * contender.descriptors + 1000 > self.nofile:
            say("  %-17s %-18s left out: it needs %d descriptors per connection, of %d" % (
                work.name, contender.name, contender.descriptors, self.nofile))
            return
        may_cap = self.cap.path and contender.program
        views = [v for v in work.views if v in self.args.views and (v == "e" or may_cap)]
        cells = []
        try:
            with self.contender(contender) as proxy, contextlib.ExitStack() as beside:
                if work.idle:
                    front = work.arguments[0]
                    beside.enter_context(workloads.idle(self.target(contender), front, work.idle))
                for view in views:
                    cell = self.measure(work, view, contender, proxy)
                    if cell:
                        cells.append(cell)
                if self.cap.path:
                    self.cap.limit(None)
        except Failed as error:
            # Whatever was measured together with this is not a result either.
            cells = [{"workload": work.name, "unit": work.unit, "contender": contender.name, "view": v,
                      "valid": False, "error": str(error)} for v in views]
        for cell in cells:
            cell["round"] = round_number
            self.cells.append(cell)
            self.show(cell)

    @staticmethod
    def show(cell):
        what = "%-17s %-18s %-10s" % (cell["workload"], cell["contender"], VIEWS[cell["view"]])
        if not cell["valid"]:
            say("  %s INVALID: %s" % (what, cell["error"]))
            return
        spent = ""
        if "cpu_ns_per_unit" in cell:
            spent = ", CPU %s us each" % report.number(cell["cpu_ns_per_unit"] / 1e3)
        if cell["unit"] == "tail":
            spent += ", p99 %s us" % report.number(cell["p99_us"])
        unit = "GB/s" if cell["unit"] == "GB" else "requests/s"
        say("  %s %s %s%s" % (what, report.number(cell["rate"]), unit, spent))

    def rounds(self, works, rows):
        for number in range(self.args.rounds):
            for work in works:
                say("round %d of %d, %s" % (number + 1, self.args.rounds, work.name))
                first = number % len(rows)
                for contender in rows[first:] + rows[:first]:
                    self.visit(number + 1, work, contender)


def tidied(text, bench):
    """Removes the paths of this machine."""
    text = text.replace(ROOT + "/", "").replace(bench.scratch, "SCRATCH")
    return re.sub(r'(["=])/(?:[^"/:\s]+/)+', r"\1", text)


def save(args, facts, bench, complete):
    """Writes the three files; returns the table."""
    folder = os.path.join(ROOT, "bench", "results")
    os.makedirs(folder, exist_ok=True)
    rows = report.summary(bench.cells)
    note = "%d %% of one core, %s" % (args.cap, bench.cap.describe())
    lines = ["kernel %s, %s x %d, congestion control %s, revision %s" % (
        facts["kernel"], facts["cpu"], facts["cpus"], facts["congestion"], facts["revision"][:12])]
    lines += ["%-18s %s" % (name, entry["version"]) for name, entry in bench.contenders.items()
              if entry["version"]]
    lines += ["%d rounds of %g s%s" % (args.rounds, args.seconds, "" if complete else ", INTERRUPTED"), ""]
    text = "\n".join(lines) + "\n" + report.table(rows, note)
    base = os.path.join(folder, args.name)
    whole = {"name": args.name, "complete": complete, "facts": facts, "cap": note,
             "seconds": args.seconds, "rounds": args.rounds, "contenders": bench.contenders,
             "summary": rows, "cells": bench.cells}
    with open(base + ".json", "w", encoding="utf-8") as stream:
        # The path of this checkout does not belong in the results.
        stream.write(tidied(json.dumps(whole, indent=1), bench) + "\n")
    with open(base + ".txt", "w", encoding="utf-8") as stream:
        stream.write(text)
    svg = chart.of_run(whole)
    if os.path.exists(base + ".svg"):
        os.remove(base + ".svg")        # from an earlier run of this name
    if svg:
        with open(base + ".svg", "w", encoding="utf-8") as stream:
            stream.write(svg)
    say("\n" + text)
    say("written: %s.json .txt%s" % (os.path.relpath(base), " .svg" if svg else ""))


def run(args, stack):
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-"))
    os.chmod(scratch, 0o755)
    works = workloads.choose([n for n in args.only.split(",") if n], args.quick)
    rows = choose_contenders(args)
    cap = machine.Cap()
    stack.callback(cap.close)
    if not cap.path:
        say("no CPU cap can be set (%s): measuring efficiency only" % cap.why)
    elif "c" in args.views:
        say("capacity: %d %% of one core by %s" % (args.cap, cap.describe()))
    bench = Bench(args, scratch, cap)
    if bench.load_cpus == bench.proxy_cpus:
        say("only one CPU: load and proxy share it, so these figures mean little")
    facts = machine.facts(ROOT)
    facts["congestion"] = stack.enter_context(machine.cubic(say))
    facts["tools"] = {name: machine.first_line(argv) for name, argv in {
        "wrk": ["wrk", "-v"], "redis-benchmark": ["redis-benchmark", "-v"], "python": [sys.executable, "-V"],
        "redis-server": ["redis-server", "-v"], "cc": ["cc", "--version"]}.items()}
    say("kernel %s, %s x %d, congestion control %s (the machine's own: %s), nofile %d" % (
        facts["kernel"], facts["cpu"], facts["cpus"], facts["congestion"],
        facts["congestion_of_the_machine"], bench.nofile))
    if any(row.name == "go" for row in rows):
        build_go(scratch)
    stack.enter_context(bench.backends())
    say("contenders:")
    rows = bench.prepare(rows)
    if not rows:
        raise Failed("no contender is installed")
    complete, begin = False, time.monotonic()
    try:
        bench.rounds(works, rows)
        complete = True
    finally:
        facts["load_average_after"] = machine.read("/proc/loadavg")
        facts["minutes"] = round((time.monotonic() - begin) / 60, 1)
        if bench.cells:
            save(args, facts, bench, complete)
    bad = [c for c in bench.cells if not c["valid"]]
    if bad:
        say("%d of %d cells are not results" % (len(bad), len(bench.cells)))
    return 1 if bad or not bench.cells else 0


def main():
    args = arguments()
    if args.list:
        say("workloads:  " + " ".join(w.name for w in workloads.WORKLOADS))
        say("contenders: " + " ".join(c.name for c in field.CONTENDERS))
        return 0
    return guarded(lambda stack: run(args, stack), args.build)


def guarded(work, build):
    """Runs work(stack); what it put on the stack is undone on every exit, including signals."""
    os.environ.setdefault("WEIR_BIN", build + "/src/weir")

    def leave(number, _frame):
        # A second signal must not interrupt the cleanup; all of it is bounded in time.
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    try:
        with contextlib.ExitStack() as stack:
            return work(stack)
    except Failed as error:
        say("bench: %s" % error)
        return 3


if __name__ == "__main__":
    sys.exit(main())
