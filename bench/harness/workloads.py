# SPDX-License-Identifier: MIT
"""workloads.py - the workloads that each contender gets, one row each.

A workload's function gets a Target and a number of seconds, and returns a Result or raises Failed. Each
knows what must come back; a single socket error, or a byte too many or too few, fails it.
"""

import collections
import contextlib
import csv
import fnmatch
import io
import json
import os
import re
import socket
import subprocess

import process
from process import Failed

HEAD = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n"
SIZES = {"1k": 1024, "16k": 16384, "128k": 131072, "1m": 1048576}

# rate: units per second; count: total units, which the proxy's CPU time was spent on. Latencies in us.
Result = collections.namedtuple("Result", "rate count p50_us p99_us")

# ports: {"tcp": where to connect, ...}, a number or a path; tools: {"load": path, ...}; cpus: for the tools;
# redis: the port of the server itself; scratch: a folder.
Target = collections.namedtuple("Target", "ports tools cpus redis scratch")

WRK_SCRIPT = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nJSON {"requests":%d,"bytes":%d,"us":%d,"errors":%d,"p50_us":%.1f,"p99_us":%.1f}\\n',
    summary.requests, summary.bytes, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
"""


BESIDE_MB = 400     # MB per second: a third of what a copying proxy can do with a whole CPU


def tool(target, argv, seconds):
    code, out, err = process.output(argv, seconds + 20, target.cpus)
    if code != 0:
        said = (err or out).strip()[-300:] or "exit %d" % code
        raise Failed("%s: %s" % (os.path.basename(str(argv[0])), said))
    return out


def http(target, seconds, front, size, connections, close=False):
    """wrk, one thread, in a closed loop; it reconnects after each reply when `close`."""
    port = target.ports[front]
    if isinstance(port, str):
        return None     # wrk has no Unix sockets, which only `direct` would need here
    script = os.path.join(target.scratch, "wrk.lua")
    with open(script, "w", encoding="ascii") as stream:
        stream.write(WRK_SCRIPT)
    header = ["-H", "Connection: close"] if close else []
    out = tool(target, ["wrk", "-t1", "-c%d" % connections, "-d%ds" % max(1, round(seconds)), "--latency",
                        "-s", script, *header, "http://127.0.0.1:%d/%s" % (port, size)], seconds)
    match = re.search(r"(?m)^JSON (.*)$", out)
    if not match:
        raise Failed("wrk printed no summary: " + out[-300:])
    got = json.loads(match.group(1))
    reply = SIZES[size] + len(HEAD % (SIZES[size], "Connection: close\r\n" if close else ""))
    if got["errors"]:
        raise Failed("wrk counted %d socket errors" % got["errors"])
    if not got["requests"] * reply <= got["bytes"] <= (got["requests"] + connections) * reply:
        raise Failed("%d replies of %d bytes came as %d bytes" % (got["requests"], reply, got["bytes"]))
    if not got["requests"]:
        raise Failed("not one reply came")
    return Result(got["requests"] * 1e6 / got["us"], got["requests"], got["p50_us"], got["p99_us"])


def load(target, argv, seconds):
    return json.loads(tool(target, [target.tools["load"], *argv], seconds))


def echo(target, seconds, front, connections, size):
    got = load(target, ["echo", target.ports[front], connections, size, seconds], seconds)
    if not got["ops"]:
        raise Failed("not one echo came")
    return Result(got["ops"] / got["seconds"], got["all_ops"], got["p50_us"], got["p99_us"])


def hello(target, seconds, front, connections):
    """New connections, each with a TLS hello that says which server it wants."""
    got = load(target, ["hello", target.ports[front], connections, seconds], seconds)
    if not got["ops"]:
        raise Failed("not one answer came")
    return Result(got["ops"] / got["seconds"], got["all_ops"], got["p50_us"], got["p99_us"])


def warm(target, front):
    """Makes a contender open what it opens only once, before the clocks are read; errors count too."""
    load(target, ["echo", target.ports[front], 16, 128, 0.1], 0.1)


def bulk(target, seconds, front, direction, streams):
    """In GB (1e9 bytes)."""
    got = load(target, [direction, target.ports[front], streams, seconds], seconds)
    if not got["bytes"]:
        raise Failed("not one byte came")
    return Result(got["bytes"] / got["seconds"] / 1e9, got["all_bytes"] / 1e9, None, None)


def beside(target, seconds, front):
    """Small echoes while one stream downloads, at a pace that every contender can sustain: at full speed, the
    test would differ between contenders. The rate is that of the echoes."""
    argv = [target.tools["load"], "down", target.ports[front], 1, seconds + 0.5, BESIDE_MB]
    with process.running(argv, cpus=target.cpus, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as stream:
        result = echo(target, seconds, front, 16, 128)
        out, err = stream.communicate(timeout=seconds + 20)
        if stream.returncode != 0 or not json.loads(out)["bytes"]:
            raise Failed("the stream next to it: " + err.decode("utf-8", "replace"))
    return result


def redis_gets(port):
    """Number of GET requests that the server itself received."""
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        sock.sendall(b"INFO commandstats\r\nQUIT\r\n")
        text = b""
        while True:
            chunk = sock.recv(65536)
            if not chunk:
                break
            text += chunk
    match = re.search(rb"cmdstat_get:calls=(\d+)", text)
    return int(match.group(1)) if match else 0


def redis_run(target, requests, pipeline, seconds):
    before = redis_gets(target.redis)
    argv = ["redis-benchmark", "-p", target.ports["redis"], "-c", 64, "-n", requests, "-P", pipeline,
            "-d", 64, "-t", "get", "--csv"]
    out = tool(target, argv, seconds * 10)
    rows = list(csv.DictReader(io.StringIO(out[out.index('"test"'):])))
    asked = redis_gets(target.redis) - before
    if asked != requests:
        raise Failed("redis received %d requests, not %d" % (asked, requests))
    row = rows[0]
    return Result(float(row["rps"]), requests, 1e3 * float(row["p50_latency_ms"]),
                  1e3 * float(row["p99_latency_ms"]))


def redis(target, seconds, pipeline):
    """redis-benchmark runs for a number of requests, not seconds: a short run finds that number."""
    rate = redis_run(target, 64 * 16 * 10, pipeline, seconds).rate
    requests = max(64 * pipeline, int(rate * seconds) // (64 * pipeline) * 64 * pipeline)
    return redis_run(target, requests, pipeline, seconds)


@contextlib.contextmanager
def idle(target, front, connections):
    """Holds idle connections next to the workload; each must still be alive at the end."""
    argv = [target.tools["load"], "idle", target.ports[front], connections]
    with process.running(argv, cpus=target.cpus, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as holder:
        if holder.stdout.readline().strip() != b"ready":
            raise Failed("idle connections: " + holder.stderr.read().decode("utf-8", "replace"))
        yield
        out, err = holder.communicate(timeout=60)
        if holder.returncode != 0:
            raise Failed("idle connections: " + (err + out).decode("utf-8", "replace"))


# unit: request, GB, or tail if the p99 is the figure.
# views: e = efficiency (no cap), c = capacity (capped). quick: part of --quick. idle: number
# of idle connections next to it.
Workload = collections.namedtuple("Workload", "name unit views quick idle function arguments")


def row(name, unit, views, function, *arguments, quick=False, beside_idle=0):
    return Workload(name, unit, views, quick, beside_idle, function, arguments)


WORKLOADS = [
    row("http-1k-1", "request", "e", http, "tcp", "1k", 1),
    row("http-1k-64", "request", "ec", http, "tcp", "1k", 64, quick=True),
    row("http-1k-512", "request", "ec", http, "tcp", "1k", 512),
    row("http-close", "request", "ec", http, "tcp", "1k", 64, True, quick=True),
    row("hello-close", "request", "ec", hello, "sniff", 64),
    row("http-16k-64", "request", "ec", http, "tcp", "16k", 64, quick=True),
    row("http-128k-64", "request", "ec", http, "tcp", "128k", 64),
    row("http-1m-16", "request", "ec", http, "tcp", "1m", 16),
    row("bulk-down-1", "GB", "ec", bulk, "tcp", "down", 1, quick=True),
    row("bulk-up-1", "GB", "ec", bulk, "tcp", "up", 1),
    row("bulk-down-8", "GB", "ec", bulk, "tcp", "down", 8),
    row("bulk-up-8", "GB", "ec", bulk, "tcp", "up", 8),
    row("redis-1", "request", "ec", redis, 1),
    row("redis-16", "request", "ec", redis, 16),
    row("unix-1k-64", "request", "ec", http, "unix", "1k", 64),
    row("unix-close", "request", "ec", http, "unix", "1k", 64, True),
    row("unix-bulk-down-1", "GB", "ec", bulk, "unix", "down", 1),
    row("unix-bulk-up-1", "GB", "ec", bulk, "unix", "up", 1),
    row("beside-bulk", "tail", "e", beside, "tcp", quick=True),
    *[row("idle-%d" % n, "request", "e", echo, "tcp", 64, 128, beside_idle=n)
      for n in (10, 1000, 5000, 9000)],
    *[row("echo-%d-%d" % (n, size), "request", "ec", echo, "tcp", n, size)
      for n in (50, 500, 1000) for size in (128, 1024)],
]


def choose(names, quick):
    """The named workloads; a name may end in * ."""
    if not names:
        return [w for w in WORKLOADS if w.quick or not quick]
    chosen = []
    for name in names:
        found = [w for w in WORKLOADS if fnmatch.fnmatchcase(w.name, name)]
        if not found:
            raise Failed("no workload '%s'; there are: %s" % (name, " ".join(w.name for w in WORKLOADS)))
        chosen += [w for w in found if w not in chosen]
    return chosen
