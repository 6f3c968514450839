# SPDX-License-Identifier: MIT
"""workers.py - two workers against one, each with the same cap; called by bench/workers.sh.

Each worker is pinned to its own CPU and may use a share of it, limited by a control group for its thread:
a shared quota would go to whichever worker runs first. Load and backends run on the other CPUs, or next to
the workers if there are no others; the cap leaves room for them. One worker is measured on each of the two
CPUs, because what runs next to it differs, and two workers are compared with the mean.
Prints one line per cell; with --name NAME writes bench/results/NAME.json, which bars.py reads.
"""

import argparse
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
import process
import report
import workloads
from process import Failed

WORKLOADS = [
    workloads.row("workers-1k-64", "request", "c", workloads.http, "tcp", "1k", 64),
    workloads.row("workers-close", "request", "c", workloads.http, "tcp", "1k", 64, True),
    workloads.row("workers-bulk-8", "GB", "c", workloads.bulk, "tcp", "down", 8),
]


def cpus_of():
    """(the two CPUs of the workers, those of load and backends)"""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        raise Failed("two workers need two CPUs")
    return (mine[0], mine[-1]), set(mine[1:-1] or mine)


def worker_threads(pid):
    """{number of the worker: ID of its thread}"""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        words = machine.read("/proc/%d/task/%s/comm" % (pid, tid)).split()
        if len(words) == 2 and words[0] == "worker":
            found[int(words[1])] = int(tid)
    return found


def thread_ns(pid, tid):
    words = machine.read("/proc/%d/task/%d/schedstat" % (pid, tid)).split()
    return int(words[0]) if words else 0


def apart(numbers):
    """How far the largest is above the smallest."""
    return max(numbers) / min(numbers) - 1 if min(numbers) else float("inf")


def per_worker(sessions, count):
    """([flows], [bytes]) of each of `count` workers, from `show sess json`."""
    flows, size = [0] * count, [0] * count
    for one in sessions:
        worker = int(one["id"].split(".")[0])
        flows[worker] += 1
        size[worker] += one["bytes_out"] + one["bytes_in"]
    return flows, size


class Two:
    """Starts one, loads it and counts."""

    def __init__(self, args, scratch, cap):
        self.pair, load_cpus = cpus_of()
        self.bench = main.Bench(args, scratch, cap)
        self.bench.load_cpus, self.bench.proxy_cpus = load_cpus, set(self.pair)
        self.args, self.cap, self.socket = args, cap, scratch + "/admin.sock"
        self.row = field.by_name("weir-epoll")

    def started(self, cpus):
        """A contender's row for workers on these CPUs."""
        entry = self.bench.contenders[self.row.name]
        name = "workers-on-" + "-".join(str(cpu) for cpu in cpus)
        argv = list(entry["argv"])
        for key, value in (("threads", len(cpus)), ("cpu-affinity", ",".join(map(str, cpus))),
                           ("admin-socket", self.socket)):
            argv += ["-o", "global.%s=%s" % (key, value)]
        self.bench.contenders[name] = dict(entry, argv=argv)
        return self.row._replace(name=name)

    def sessions(self):
        argv = [os.environ["WEIR_BIN"], "ctl", "-s", self.socket, "show", "sess", "json"]
        code, out, err = process.output(argv, 10)
        if code != 0:
            raise Failed("weir ctl: " + (err or out).strip()[-300:])
        return json.loads(out)

    def flows(self, target, work):
        """Runs the download, and returns what each worker did between one third and two thirds of it."""
        _, direction, streams = work.arguments
        argv = [target.tools["load"], direction, target.ports["tcp"], streams, self.args.seconds]
        looks = []
        with process.running(argv, cpus=target.cpus, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) as load:
            for _ in range(2):
                time.sleep(self.args.seconds / 3)
                looks.append(per_worker(self.sessions(), 2))
            out, err = load.communicate(timeout=self.args.seconds + 20)
        if load.returncode != 0:
            raise Failed("load: " + err.decode("utf-8", "replace").strip()[-300:])
        got = json.loads(out)
        if looks[0][0] != looks[1][0] or sum(looks[0][0]) != streams:
            raise Failed("%d flows, and %s and %s were seen" % (streams, looks[0][0], looks[1][0]))
        size = [late - early for early, late in zip(looks[0][1], looks[1][1])]
        return {"rate": got["bytes"] / got["seconds"] / 1e9, "flows": looks[0][0], "bytes": size,
                "flows_apart": apart(looks[0][0]), "bytes_apart": apart(size)}

    def once(self, work, cpus):
        """What workers on these CPUs carry: {rate, load_busy and the figures of each worker}."""
        row = self.started(cpus)
        with self.bench.contender(row) as proxy:
            threads = worker_threads(proxy.pid)
            if sorted(threads) != list(range(len(cpus))):
                raise Failed("workers %s, not %d of them" % (sorted(threads), len(cpus)))
            with self.cap.of_threads(list(threads.values()), self.args.cap):
                target = self.bench.target(row)
                workloads.warm(target, "tcp")
                ticks, begin = machine.cpu_ticks(), time.monotonic()
                spent = {n: thread_ns(proxy.pid, tid) for n, tid in threads.items()}
                if work.function is workloads.bulk and len(cpus) == 2:
                    got = self.flows(target, work)
                else:
                    got = {"rate": work.function(target, self.args.seconds, *work.arguments).rate}
                shares = machine.cpu_shares(ticks, machine.cpu_ticks())
                wall = (time.monotonic() - begin) * 1e9
                # Far below the cap: the worker was not the bottleneck.
                busy = [round(100 * (thread_ns(proxy.pid, threads[n]) - spent[n]) / wall, 1)
                        for n in sorted(threads)]
        return dict(got, worker_busy=busy,
                    load_busy=round(max(shares[c][0] for c in self.bench.load_cpus), 1))

    def cell(self, number, work, who):
        cell = {"round": number, "workload": work.name, "unit": work.unit, "contender": who, "view": "c",
                "valid": False}
        try:
            if who == "two":
                cell.update(self.once(work, self.pair))
            else:
                each = [self.once(work, (cpu,)) for cpu in self.pair]
                rates = [e["rate"] for e in each]
                cell.update(rate=statistics.mean(rates), rates=rates,
                            worker_busy=[e["worker_busy"][0] for e in each],
                            load_busy=max(e["load_busy"] for e in each))
            cell["valid"] = True
        except Failed as error:
            cell["error"] = str(error)
        return cell

    def rounds(self):
        for number in range(1, self.args.rounds + 1):
            for work in WORKLOADS:
                for who in ("one", "two")[::1 if number % 2 else -1]:
                    cell = self.cell(number, work, who)
                    self.bench.cells.append(cell)
                    main.say("  round %d  %-15s %-4s %s" % (number, work.name, who, shown(cell)))


def shown(cell):
    if not cell["valid"]:
        return "INVALID: " + cell["error"]
    text = "%s %s%s" % (report.number(cell["rate"]), report.unit_of("c", cell["unit"]),
                        " *" if report.load_bound([cell]) else "")
    text += ", workers use %s %% of their CPU" % " and ".join("%.0f" % busy for busy in cell["worker_busy"])
    if "rates" in cell:
        text += ", which gives %s and %s" % tuple(report.number(r) for r in cell["rates"])
    if "flows" in cell:
        text += ", flows %d and %d, bytes %.0f %% apart" % (*cell["flows"], 100 * cell["bytes_apart"])
    return text


def conclude(cells):
    for work in WORKLOADS:
        ratio = report.paired_ratio(cells, work.name, "c", "two", "one")
        main.say("%-15s two workers carry %s times what one does%s" % (
            work.name, report.ratio(ratio), " *" if report.load_bound(
                [c for c in cells if c["workload"] == work.name]) else ""))
    two = [c for c in cells if c["valid"] and "bytes_apart" in c]
    if two:
        main.say("%-15s bytes of the two workers are %.0f %% apart, flows %.0f %% (medians)" % (
            "eight flows", *(100 * statistics.median(c[key] for c in two)
                             for key in ("bytes_apart", "flows_apart"))))
    if report.load_bound(cells):
        main.say("*: a CPU was full, so the load may have been what limits")


def save(args, two, facts):
    whole = {"name": args.name, "facts": facts, "rounds": args.rounds, "seconds": args.seconds,
             "cap": "%d %% of one core for each worker, %s" % (args.cap, two.cap.describe()),
             "contenders": two.bench.contenders, "summary": report.summary(two.bench.cells),
             "cells": two.bench.cells}
    path = os.path.join(main.ROOT, "bench", "results", args.name + ".json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(main.tidied(json.dumps(whole, indent=1), two.bench) + "\n")
    main.say("written: " + os.path.relpath(path))


def run(args, stack):
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-"))
    os.chmod(scratch, 0o755)
    cap = machine.Cap()
    stack.callback(cap.close)
    if not cap.path:
        raise Failed("no CPU cap can be set: " + cap.why)
    two = Two(args, scratch, cap)
    facts = machine.facts(main.ROOT)
    facts["congestion"] = stack.enter_context(machine.cubic(main.say))
    stack.enter_context(two.bench.backends())
    if not two.bench.prepare([two.row]):
        raise Failed("weir does not start")
    main.say("each worker: %d %% of its core by %s" % (args.cap, cap.describe()))
    with contextlib.ExitStack() as last:
        last.callback(lambda: save(args, two, facts) if args.name and two.bench.cells else None)
        two.rounds()
    conclude(two.bench.cells)
    return 0 if all(c["valid"] for c in two.bench.cells) else 1


def begin():
    parser = argparse.ArgumentParser(prog="bench/workers.sh", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="duration of each cell (default 3)")
    parser.add_argument("--cap", type=int, default=20, help="percent of its core per worker (default 20)")
    parser.add_argument("--name", default="", help="write bench/results/NAME.json")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if "/" in args.name or args.rounds < 1 or args.seconds < 1 or not 20 <= args.cap <= 100:
        parser.error("a name without '/', at least one round of 1 s, a cap between 20 and 100")
    return main.guarded(lambda stack: run(args, stack), args.build)


if __name__ == "__main__":
    sys.exit(begin())
