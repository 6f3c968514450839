# SPDX-License-Identifier: MIT
"""traffic.py - starts servers, weir and real clients; see run.sh.

Each case is a function that drives one program through one frontend and returns what it moved, as
text; it raises Failed if the program reports an error or a checksum differs. After the cases of one
daemon, no session or pipe may be in use, and it must exit with 0.
"""

import argparse
import asyncio
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 30
STREAMS = 8


class Failed(Exception):
    """A case that failed."""


# ---- an HTTP server: one file, one small page -----------------------------------------------------

class Http(asyncio.Protocol):
    """GET /small answers 1 KiB from memory and keeps the connection; GET /file sends the file."""

    path = ""
    page = b"x" * 1024

    def connection_made(self, transport):
        self.transport, self.seen = transport, b""

    def data_received(self, data):
        self.seen += data
        while b"\r\n\r\n" in self.seen:
            request, _, self.seen = self.seen.partition(b"\r\n\r\n")
            if request.startswith(b"GET /file"):
                asyncio.get_running_loop().create_task(self.send_file())
            else:
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + self.page)

    async def send_file(self):
        with open(self.path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            await asyncio.get_running_loop().sendfile(self.transport, f)


async def serve_http(path):
    Http.path = path
    server = await asyncio.get_running_loop().create_server(Http, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# ---- processes --------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_for(what, condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {patience} s: {what}")
        time.sleep(0.02)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def run(*words, seconds=0):
    """Runs a client to its end and returns its output; its exit code must be 0."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=seconds + PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[0]} never ended") from None
    if done.returncode != 0:
        raise Failed(f"{words[0]} ended with {done.returncode}: {(done.stderr + done.stdout)[-400:]}")
    return done.stdout + done.stderr


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


class Servers:
    """All servers that the cases need, each on a port chosen by the kernel."""

    def __init__(self, folder, path):
        self.folder, self.children, self.ports = folder, [], {}
        os.makedirs(folder, exist_ok=True)
        http = self.spawn("http", sys.executable, "-B", os.path.abspath(__file__), "--serve-http", path,
                          stdout=subprocess.PIPE)
        self.ports["http"] = int(http.stdout.readline())
        self.start("redis", lambda port: ("redis-server", "--port", str(port), "--bind", "127.0.0.1",
                                          "--save", "", "--appendonly", "no", "--daemonize", "no",
                                          "--dir", folder))
        self.start("rsync", lambda port: ("rsync", "--daemon", "--no-detach", "--address=127.0.0.1",
                                          f"--port={port}", f"--config={self.rsync_config(path)}"))
        for name in ("iperf3", "iperf3back"):
            self.start(name, lambda port: ("iperf3", "-s", "-B", "127.0.0.1", "-p", str(port)))

    def spawn(self, name, *words, stdout=None):
        with open(os.path.join(self.folder, name + ".log"), "wb") as log:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log)
        self.children.append(child)
        return child

    def start(self, name, words):
        """A free port may be taken a moment later; then it tries another one."""
        for _ in range(5):
            port = free_port()
            child = self.spawn(name, *words(port))
            wait_for(f"{name} listens", lambda: child.poll() is not None or listens(child.pid, port))
            if child.poll() is None:
                self.ports[name] = port
                return
        raise Failed(f"{name} does not start, see {self.folder}/{name}.log")

    def rsync_config(self, path):
        config = os.path.join(self.folder, "rsyncd.conf")
        upload = os.path.join(self.folder, "upload")
        os.makedirs(upload, exist_ok=True)
        who = f"uid = {os.getuid()}\ngid = {os.getgid()}\n" if os.getuid() == 0 else ""
        with open(config, "w", encoding="utf-8") as out:
            out.write(f"use chroot = no\nreverse lookup = no\nmax connections = 0\n{who}"
                      f"[files]\npath = {os.path.dirname(path)}\nread only = yes\n"
                      f"[upload]\npath = {upload}\nread only = no\n")
        return config

    def stop(self):
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def listens(pid, port):
    """Does this process listen there, and not another one that got the port? Does not connect to find
    out: a program that serves a single client would serve this connection."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in list(table)[1:]]
    nodes = [f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"]
    return any(link in nodes for link in descriptors(pid))


def descriptors(pid):
    """The open descriptors of a process; none if it has just ended."""
    folder = f"/proc/{pid}/fd"
    links = []
    try:
        for name in os.listdir(folder):
            links.append(os.readlink(f"{folder}/{name}"))
    except OSError:
        pass
    return links


class Weir:
    """The daemon with one frontend for each server."""

    def __init__(self, binary, folder, ports, workers):
        self.admin = os.path.join(folder, "admin")
        self.log = os.path.join(folder, "log")
        path = os.path.join(folder, "traffic.ini")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"[global]\nthreads = {workers}\nadmin-socket = unix:{self.admin}\nlog = stderr\n")
            for name, port in ports.items():
                out.write(f"\n[listen {name}]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:{port}\n")
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([binary, "-f", path], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)
        wait_for("weir is ready", lambda: "ready:" in self.text() or self.child.poll() is not None)
        if self.child.poll() is not None:
            raise Failed("weir did not start:\n" + self.text())
        self.ports = {name: port for port, name in
                      re.findall(r"listening on \S+:(\d+) \(frontend (\w+)", self.text())}

    def ports_of(self, servers):
        return [self.ports[name] for name in ([servers] if isinstance(servers, str) else servers)]

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def info(self):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(self.admin)
            sock.sendall(b"show info\n")
            text = b"".join(iter(lambda: sock.recv(65536), b"")).decode()
        return {name: int(value) for name, value in re.findall(r"(?m)^\s*([\w-]+)\s*:\s*(\d+)", text)}

    def check(self):
        """When idle, the daemon holds nothing."""
        wait_for("no session and no pipe in use", lambda: not any(
            self.info().get(name, 0) for name in ("sessions", "pipes_in_use", "bufs_in_use")))
        alarm = re.search(r"(?m)^.*(alert|check failed|Sanitizer|runtime error).*$", self.text())
        if alarm:
            raise Failed("the log contains an alarm: " + alarm.group())

    def summary(self):
        info = self.info()
        total = info.get("bytes_to_server", 0) + info.get("bytes_to_client", 0)
        share = 100 * info.get("bytes_spliced", 0) / max(total, 1)
        return (f"{info.get('accepted', 0)} connections, {total / (1 << 30):.1f} GiB, "
                f"{share:.1f} % by splice")

    def stop(self):
        if self.child.poll() is not None:
            raise Failed(f"weir had ended with {self.child.poll()}:\n{self.text()[-2000:]}")
        self.child.send_signal(signal.SIGTERM)
        try:
            code = self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            raise Failed("weir did not stop") from None
        if code != 0:
            raise Failed(f"weir ended with {code}:\n{self.text()[-2000:]}")


# ---- cases -------------------------------------------------------------------------------------------

class Case:
    """The state that all cases share."""

    def __init__(self, args, path, digest, folder):
        self.seconds, self.path, self.digest, self.folder = args.seconds, path, digest, folder
        self.size = os.path.getsize(path)

    def same(self, path):
        if sha256(path) != self.digest:
            raise Failed(f"{path} is not the file that was sent")
        os.unlink(path)

    def curl(self, port):
        got = os.path.join(self.folder, "curl.out")
        began = time.monotonic()
        run("curl", "-sS", "--fail", "--noproxy", "*", "-o", got, f"http://127.0.0.1:{port}/file")
        took = time.monotonic() - began
        self.same(got)
        return bits(self.size, took)

    def wrk(self, port, close=False):
        words = ["wrk", "-t2", "-c64", f"-d{self.seconds}s", "--timeout", "10s", "--latency"]
        text = run(*words, *(["-H", "Connection: close"] if close else []), f"http://127.0.0.1:{port}/small",
                   seconds=self.seconds)
        bad = re.search(r"Socket errors.*|Non-2xx.*", text)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
        if bad or not rate or float(rate.group(1)) == 0:
            raise Failed(bad.group() if bad else text)
        slow = re.search(r"99%\s+(\S+)", text)
        return f"{float(rate.group(1)):.0f} requests/s, p99 {slow.group(1)}"

    def iperf3(self, port, *words):
        command = ("iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", str(self.seconds), "-J",
                   *congestion(), *words)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                report = json.loads(run(*command, seconds=self.seconds))
                break
            except Failed as e:
                # Its server may still be finishing the previous run.
                if "the server is busy" not in str(e) or time.monotonic() > end:
                    raise
                time.sleep(0.2)
        if "error" in report:
            raise Failed(report["error"])
        sums = [v for k, v in report["end"].items() if k.startswith("sum_received")]
        if not sums or not all(s["bytes"] for s in sums):
            raise Failed(f"a direction carried nothing: {sums}")
        return " + ".join(f"{s['bits_per_second'] / 1e9:.1f}" for s in sums) + " Gbit/s"

    def both_ways(self, port, back):
        """One run in each direction at the same time, each through its own frontend.

        Not --bidir: its server uses the first of two connections for one direction and the second for the
        other, but connections that pass through several workers, or threads of any proxy, may arrive in
        a different order. Then both ends send on one and read the other: zero bytes in both directions.
        """
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = [pool.submit(self.iperf3, port), pool.submit(self.iperf3, back, "-R")]
            return ", ".join(run.result() for run in runs)

    def redis(self, port, pipeline):
        found, rounds, requests = {}, 0, 20000 * min(pipeline, 10)
        end = time.monotonic() + self.seconds
        while rounds == 0 or time.monotonic() < end:
            text = run("redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-c", "50", "-n", str(requests),
                       "-d", "1000", "-r", "1000", "-P", str(pipeline), "-t", "set,get", "--csv")
            if re.search(r"(?i)error|warning: could not", text):
                raise Failed(text[-300:])
            for name, rate in re.findall(r'"(SET|GET)","([\d.]+)"', text):
                found.setdefault(name, []).append(float(rate))
            rounds += 1
            if len(found) != 2:
                raise Failed(text[-300:])
        return ", ".join(f"{name} {max(rates):.0f}/s" for name, rates in found.items())

    def rsync(self, port, up):
        got = os.path.join(self.folder, "rsync.out")
        name = os.path.basename(self.path)
        began = time.monotonic()
        if up:
            run("rsync", "--whole-file", "--timeout=60", self.path, f"rsync://127.0.0.1:{port}/upload/up.bin")
            got = os.path.join(self.folder, "upload", "up.bin")
        else:
            run("rsync", "--whole-file", "--timeout=60", f"rsync://127.0.0.1:{port}/files/{name}", got)
        took = time.monotonic() - began
        self.same(got)
        return bits(self.size, took)

    def table(self):
        """(name, server or servers, function of their ports) of each case."""
        many = f"{STREAMS} streams"
        return [
            ("curl, one file", "http", self.curl),
            ("wrk, keep-alive", "http", self.wrk),
            ("iperf3, " + many, "iperf3", lambda p: self.iperf3(p, "-P", str(STREAMS))),
            ("iperf3, " + many + ", back", "iperf3", lambda p: self.iperf3(p, "-P", str(STREAMS), "-R")),
            ("iperf3, both ways", ("iperf3", "iperf3back"), self.both_ways),
            ("redis-benchmark", "redis", lambda p: self.redis(p, 1)),
            ("redis-benchmark, pipelined", "redis", lambda p: self.redis(p, 16)),
            ("rsync, download", "rsync", lambda p: self.rsync(p, False)),
            ("rsync, upload", "rsync", lambda p: self.rsync(p, True)),
        ]


def bits(size, took):
    return f"{size / (1 << 20):.0f} MiB at {size * 8 / took / 1e9:.1f} Gbit/s, sha256 equal"


def congestion():
    """The same algorithm on every machine, where the kernel lets the tool choose it."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as f:
        return ("-C", "cubic") if "cubic" in f.read().split() else ()


def make_file(path, mebibytes):
    """A file of bytes that do not repeat, created once."""
    if os.path.exists(path) and os.path.getsize(path) == mebibytes << 20:
        return
    source = random.Random(mebibytes)
    with open(path + ".new", "wb") as out:
        for _ in range(mebibytes):
            out.write(source.randbytes(1 << 20))
    os.rename(path + ".new", path)


# ---- the run -------------------------------------------------------------------------------------------

def try_case(title, workers, function, results):
    try:
        results.append((title, workers, function() or "", True))
    except (Failed, OSError, ValueError, KeyError) as e:
        results.append((title, workers, f"{type(e).__name__}: {e}", False))
    title, workers, text, well = results[-1]
    print(f"{'ok' if well else 'FAILED':7} {title:30} {workers} workers  {text}", flush=True)


def run_workers(args, case, servers, workers, results):
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        try:
            weir = Weir(args.binary, folder, servers.ports, workers)
        except Failed as e:
            results.append(("start", workers, str(e), False))
            print(f"FAILED  weir with {workers} workers: {e}")
            return
        try:
            for title, server, function in case.table():
                try_case(title, workers, lambda: function(*weir.ports_of(server)), results)
                if weir.child.poll() is not None:
                    break
            else:
                try_case("nothing is held afterwards", workers, weir.check, results)
                print(f"        with {workers} workers: {weir.summary()}", flush=True)
            try_case("a clean stop", workers, weir.stop, results)
        finally:
            if weir.child.poll() is None:
                weir.child.kill()
                weir.child.wait()
            shutil.copy(weir.log, os.path.join(args.folder, f"weir-{workers}.log"))


def main():
    parser = argparse.ArgumentParser(prog="traffic/run.sh")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--size", type=int, default=1024, metavar="MIB")
    parser.add_argument("seconds", nargs="?", type=int, default=10)
    parser.add_argument("workers", nargs="*", type=int)
    args = parser.parse_args()
    work = os.path.join(args.folder, "work")
    source = os.path.join(args.folder, "files")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(source, exist_ok=True)
    os.makedirs(work)
    path = os.path.join(source, f"{args.size}.bin")
    make_file(path, args.size)
    results = []
    servers = Servers(work, path)
    try:
        case = Case(args, path, sha256(path), work)
        for workers in args.workers or (1, 4):
            run_workers(args, case, servers, workers, results)
    finally:
        servers.stop()
        shutil.rmtree(os.path.join(work, "upload"), ignore_errors=True)
    bad = sum(not well for *_, well in results)
    print(f"{len(results) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve-http"]:
        try:
            asyncio.run(serve_http(sys.argv[2]))
        except KeyboardInterrupt:
            pass
    else:
        sys.exit(main())
