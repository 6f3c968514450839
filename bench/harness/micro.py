# SPDX-License-Identifier: MIT
"""micro.py - the small benchmarks that need a running proxy: alloc, syscalls, idle, relay_sizes.

Called by bench/alloc.sh, syscalls.sh, idle.sh and relay_sizes.sh. Prints one figure per line, and with
--name NAME writes bench/results/NAME.json.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import contenders as field
import machine
import main
import process
import workloads
from process import Failed

REQUEST = b"GET /1k HTTP/1.1\r\n%s\r\n"
CLOSE = b"Connection: close\r\n"
# For example, of a thread's CPU time, which is a system call everywhere. Counted separately.
CLOCKS = ("clock_gettime", "gettimeofday")
WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter", "poll", "futex", "nanosleep")


class NoCap:
    """These benchmarks use the whole core."""
    path = None


def peers(names):
    return [row for row in field.CONTENDERS if row.program and (not names or row.name in names)]


def read_reply(sock, keep_alive):
    """Reads one whole reply of /1k; up to the end of file unless the connection stays open."""
    got, wanted = b"", len(workloads.HEAD % (1024, "" if keep_alive else CLOSE.decode())) + 1024
    while len(got) < wanted or not keep_alive:
        chunk = sock.recv(65536)
        if not chunk:
            break
        got += chunk
    if len(got) != wanted:
        raise Failed("a reply of %d bytes came as %d" % (wanted, len(got)))


def connections(port, count, together=1):
    """Makes `count` connections with one request each; the server closes first."""
    while count > 0:
        socks = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(min(together, count))]
        for sock in socks:
            sock.sendall(REQUEST % CLOSE)
        for sock in socks:
            read_reply(sock, False)
            sock.close()
        count -= len(socks)


def requests(sock, count):
    for _ in range(count):
        sock.sendall(REQUEST % b"")
        read_reply(sock, True)


# ---- alloc -------------------------------------------------------------------------------------

def alloc(bench, row, results):
    """Heap calls after warm-up, for 1000 connections and for 1000 requests on one."""
    counter = bench.scratch + "/alloc"
    open(counter, "wb").close()
    env = {"LD_PRELOAD": bench.args.build + "/bench/liballoc_count.so", "ALLOC_COUNT_FILE": counter}

    def counts():
        with open(counter, "rb") as stream:
            return struct.unpack("4Q", stream.read(32).ljust(32, b"\0"))

    with bench.contender(row, env) as proxy:
        port = bench.ports["tcp"]
        if counts()[0] + counts()[1] == 0:
            raise Failed("%s does not allocate through libc" % row.name)
        connections(port, 2000, 64)
        before = counts()
        connections(port, 1000, 32)
        middle = counts()
        with socket.create_connection(("127.0.0.1", port), 5) as sock:
            requests(sock, 100)
            start = counts()
            requests(sock, 1000)
            end = counts()
        del proxy
    for what, old, new in (("1000 connections", before, middle), ("1000 requests", start, end)):
        parts = dict(zip(("malloc", "calloc", "realloc", "free"), (b - a for a, b in zip(old, new))))
        taken = sum(n for name, n in parts.items() if name != "free")
        results.append({"contender": row.name, "what": what, "taken": taken, **parts})
        print("%-16s %6d heap calls for %s (malloc %d, calloc %d, realloc %d; free %d)" % (
            row.name, taken, what, *parts.values()))


# ---- syscalls ----------------------------------------------------------------------------------

@contextlib.contextmanager
def counting(pid, found):
    """Fills `found` with {system call: count} of a process and its children meanwhile."""
    pids = machine.descendants(pid)
    argv = ["strace", "-f", "-c", "-U", "calls,name"] + [word for one in pids for word in ("-p", str(one))]
    with process.running(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE) as strace:
        tasks = [task for one in pids for task in os.listdir("/proc/%d/task" % one)]
        process.wait_until(lambda: strace.poll() is not None or all(
            "TracerPid:\t%d\n" % strace.pid in machine.read("/proc/%s/status" % task) for task in tasks),
            5, "strace does not attach")
        yield
        strace.send_signal(signal.SIGINT)
        text = strace.communicate(timeout=10)[1].decode("utf-8", "replace")
    for count, name in re.findall(r"(?m)^\s*(\d+)\s+([a-z]\w+)\s*$", text):
        if name != "total":
            found[name] = int(count)
    if not found:
        raise Failed("strace counted nothing: " + text[-300:])


def syscalls(bench, row, results, count=500):
    """System calls per connection that is opened, makes one request and is closed, and per request."""
    port = bench.ports["tcp"]
    with bench.contender(row) as proxy:
        connections(port, 100)
        found = {}
        with counting(proxy.pid, found):
            connections(port, count)
        show_calls(row.name, "connection", found, count, results)
        with socket.create_connection(("127.0.0.1", port), 5) as sock:
            requests(sock, 10)
            found = {}
            with counting(proxy.pid, found):
                requests(sock, count)
        show_calls(row.name, "keep-alive request", found, count, results)
        # This also shows which contenders really splice.
        found = {}
        with counting(proxy.pid, found):
            got = workloads.load(bench.target(row), ["down", port, 1, 0.5], 0.5)
        show_calls(row.name, "MB of a download", found, got["all_bytes"] / 1e6, results)


def show_calls(name, what, found, count, results):
    each = {call: round(n / count, 2) for call, n in found.items() if n >= count / 50}
    waits = sum(n for call, n in each.items() if call in WAITS)
    clocks = sum(n for call, n in each.items() if call in CLOCKS)
    work = sum(each.values()) - waits - clocks
    results.append({"contender": name, "what": what, "calls": round(work, 2), "waits": round(waits, 2),
                    "clocks": round(clocks, 2), "each": each})
    detail = " ".join("%s %g" % pair for pair in sorted(each.items(), key=lambda p: (-p[1], p[0])))
    print("%-16s %5.1f calls, %.1f waits, %.1f clocks per %s: %s" % (
        name, work, waits, clocks, what, detail))


# ---- idle --------------------------------------------------------------------------------------

def user_bytes(pid):
    """Memory that the process and its children have written to and do not share."""
    total = 0
    for one in machine.descendants(pid):
        text = machine.read("/proc/%d/smaps_rollup" % one)
        total += sum(1024 * int(kb) for kb in re.findall(r"(?m)^(?:Private_Dirty|Swap):\s+(\d+) kB", text))
    return total


def idle(bench, row, results):
    """User memory per connection that has made one request and is idle."""
    for count in (1000, 5000, 9000):
        if row.descriptors * count + 1000 > bench.nofile:
            print("%-16s %d connections need more descriptors than %d" % (row.name, count, bench.nofile))
            continue
        with bench.contender(row) as proxy:
            connections(bench.ports["tcp"], 100)
            before = user_bytes(proxy.pid)
            with workloads.idle(bench.target(row), "tcp", count):
                each = (user_bytes(proxy.pid) - before) / count
        results.append({"contender": row.name, "connections": count, "bytes_each": round(each, 1)})
        print("%-16s %7.0f bytes per idle connection, with %d of them" % (row.name, each, count))


# ---- relay sizes -------------------------------------------------------------------------------

def relay_sizes(bench, results, rounds, seconds):
    """splice = off, on and auto side by side, for messages of 1 KiB to 1 MiB."""
    plain = field.by_name("weir-epoll")
    cells = {}
    for number in range(rounds):
        modes = ("off", "on", "auto")
        for mode in modes[number % 3:] + modes[:number % 3]:
            row = plain._replace(name="splice-" + mode)
            bench.contenders[row.name] = dict(bench.contenders[plain.name])
            bench.contenders[row.name]["argv"] = bench.contenders[plain.name]["argv"] + [
                "-o", "global.splice=" + mode]
            with bench.contender(row) as proxy:
                for front in ("unix", "tcp"):
                    for size in [1024 << n for n in range(11)]:
                        before = machine.cpu_ns(proxy.pid)
                        got = workloads.echo(bench.target(row), seconds, front, 8, size)
                        cells.setdefault((front, size, mode), []).append(
                            (got.rate, (machine.cpu_ns(proxy.pid) - before) / got.count))
    print("TCP to each kind of socket, by message: echoes/s and CPU us per echo, splice off, on, auto")
    for front in ("unix", "tcp"):
        for size in [1024 << n for n in range(11)]:
            line = "%-5s %5d KiB " % (front, size // 1024)
            for mode in ("off", "on", "auto"):
                rate = statistics.median(c[0] for c in cells[front, size, mode])
                spent = statistics.median(c[1] for c in cells[front, size, mode]) / 1e3
                line += " %9.0f %8.2f us" % (rate, spent)
                results.append({"front": front, "bytes": size, "splice": mode, "rate": rate, "cpu_us": spent,
                                "samples": cells[front, size, mode]})
            print(line, flush=True)


# ---- all of them -------------------------------------------------------------------------------

def run(args, stack):
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="weir-bench-"))
    os.chmod(scratch, 0o755)
    bench = main.Bench(args, scratch, NoCap())
    rows = peers([n for n in args.contenders.split(",") if n])
    if args.bench == "relay_sizes":
        rows = [field.by_name("weir-epoll")]
    if any(row.name == "go" for row in rows):
        main.build_go(scratch)
    stack.enter_context(machine.cubic(print))
    stack.enter_context(bench.backends())
    rows = bench.prepare(rows)
    if not rows:
        raise Failed("no contender is here")
    results, bad = [], 0
    if args.bench == "relay_sizes":
        relay_sizes(bench, results, args.rounds, args.seconds)
        rows = []
    for row in rows:
        try:
            {"alloc": alloc, "syscalls": syscalls, "idle": idle}[args.bench](bench, row, results)
        except Failed as error:
            print("%-16s no result: %s" % (row.name, error))
            bad += row.name != "go" or args.bench != "alloc"
        sys.stdout.flush()
    if args.name:
        folder = os.path.join(main.ROOT, "bench", "results")
        os.makedirs(folder, exist_ok=True)
        whole = {"bench": args.bench, "facts": machine.facts(main.ROOT), "contenders": bench.contenders,
                 "results": results}
        with open(os.path.join(folder, args.name + ".json"), "w", encoding="utf-8") as stream:
            stream.write(main.tidied(json.dumps(whole, indent=1), bench) + "\n")
    return 1 if bad else 0


def begin():
    parser = argparse.ArgumentParser(description="Run one of the small benchmarks.")
    parser.add_argument("bench", choices=("alloc", "syscalls", "idle", "relay_sizes"))
    parser.add_argument("--contenders", default="", metavar="A,B,...", help="contenders to run")
    parser.add_argument("--name", default="", help="write bench/results/NAME.json")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of relay_sizes (default 3)")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="duration of each cell of relay_sizes (default 0.5)")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    return main.guarded(lambda stack: run(args, stack), args.build)


if __name__ == "__main__":
    sys.exit(begin())
