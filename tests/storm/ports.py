#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ports.py - a range of ports with a server that has the client's: what it costs, and whether each client
reaches its own port.

    python3 tests/storm/ports.py --build build --json bench/results/ports.json
    options: --ports N  --reloads N  --clients N  --driver epoll|io_uring  --no-times

1. start: how long until weir answers; descriptors and memory beside a weir without the range, and what
   `weir -c` says of them. The kernel's memory is that of its sockets, from /proc/slabinfo (root only).
2. reload: with nothing changed, with one port more and one less; times are those of the log, from reading the
   file to the new generation.
3. accept storm: each round, clients connect to all ports at once, and each must be answered by the server at
   the port that it connected to.

Prints the figures as JSON, and one line per bar; the last line is `N passed, N failed`. Exit code 1 if a bar
is not met, 2 if it could not be measured. --no-times: where other programs share the machine, times are no
bar.
"""

import argparse
import json
import os
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import cost
from storm import Failed, fds, memory_kb, save, tell, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from harness.port_service import PortService, free_run  # noqa: E402  pylint: disable=wrong-import-position

SERVER = "127.0.0.2"
PORTS = 2768
FILES = 20000
RELOAD_MS = 100
START_S = 30
SLABS = ("TCP", "sock_inode_cache", "filp", "bfilp", "eventpoll_epi")


class Taken(Exception):
    """Somebody has got one of the ports since they were found free."""


def kernel_kb():
    """Of the sockets of this machine; None if it does not say. Their directory entries are not counted, as
    every program has some."""
    try:
        with open("/proc/slabinfo", encoding="ascii") as stream:
            rows = [line.split() for line in stream.readlines()[2:]]
    except OSError:
        return None
    return sum(int(row[2]) * int(row[3]) for row in rows if row[0] in SLABS) // 1024


class Weir(cost.Weir):
    def configure(self, *binds):
        self.write(["[listen ports]"] + ["bind = " + bind for bind in binds] +
                   ["timeout-idle = 60s", "server a = %s:*" % SERVER])

    def write(self, sections):
        head = ["[global]", "threads = 2", "driver = %s" % self.args.driver,
                "admin-socket = unix:%s" % self.path("admin"), "log = file:%s level=debug" % self.path("log")]
        with open(self.path("new"), "w", encoding="utf-8") as stream:
            stream.write("\n".join(head + sections) + "\n")
        os.rename(self.path("new"), self.path("weir.ini"))

    def is_ready(self):
        return os.path.exists(self.path("log")) and " ready: " in self.log()

    def begin(self):
        """Seconds until it is ready."""
        at = time.monotonic()
        with open(self.path("out"), "wb") as out:
            self.process = subprocess.Popen(
                [self.args.build + "/src/weir", self.path("weir.ini")], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out)
        wait_for("weir is ready", lambda: self.is_ready() or self.process.poll() is not None, START_S)
        if not self.is_ready():
            with open(self.path("out"), encoding="utf-8") as out:
                said = out.read() + (self.log() if os.path.exists(self.path("log")) else "")
            raise Taken(said) if "already in use" in said else Failed("weir did not start: " + said)
        return time.monotonic() - at

    def said(self):
        """What -c says of the range: descriptors, MiB of weir, MiB of the kernel."""
        done = subprocess.run([self.args.build + "/src/weir", "-c", self.path("weir.ini")],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S,
                              check=False)
        found = re.search(r"takes (\d+) descriptors and about \d+ MiB of memory: (\d+) of weir, (\d+) of the "
                          r"kernel", done.stdout)
        if not found:
            raise Failed("weir -c: %s%s" % (done.stdout, done.stderr))
        return [int(word) for word in found.groups()]

    def size(self):
        return fds(self.process.pid), memory_kb([self.process.pid])


def measure_start(args, folder, first):
    plain, ranged = Weir(args, folder, "plain"), Weir(args, folder, "ranged")
    plain.configure("127.0.0.1:%d" % (first - 1))
    ranged.configure("127.0.0.1:%d" % (first - 1), "127.0.0.1:%d-%d" % (first, first + args.ports - 1))
    try:
        kernel = [kernel_kb()]
        plain.begin()
        kernel.append(kernel_kb())
        before = plain.size()
    finally:
        plain.stop()
    kernel = [kernel_kb()]
    took = ranged.begin()
    kernel.append(kernel_kb())
    after = ranged.size()
    said = ranged.said()
    return ranged, {
        "start_s": round(took, 3),
        "descriptors": after[0] - before[0], "descriptors_said": said[0],
        "weir_kb": after[1] - before[1], "weir_kb_said": said[1] * 1024,
        "kernel_kb": None if kernel[0] is None else kernel[1] - kernel[0], "kernel_kb_said": said[2] * 1024,
    }


def measure_reloads(args, weir, first):
    figures = {}
    last = first + args.ports - 1
    for name, there, back in (("nothing", last, last), ("one port less and more", last - 1, last)):
        for i in range(args.reloads):
            weir.configure("127.0.0.1:%d" % (first - 1),
                           "127.0.0.1:%d-%d" % (first, there if i % 2 == 0 else back))
            weir.reload()
        figures[name] = cost.summary(weir.logged_ms(args.reloads))
    return figures


class Round:
    """Clients that connect to all ports at once; each sends its port, ends, and waits for the answer."""

    def __init__(self, ports):
        self.poll = select.epoll()
        self.waiting, self.wrong, self.answered = {}, [], 0
        for port in ports:
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
            self.waiting[sock.fileno()] = [sock, port, False, b""]
            self.poll.register(sock, select.EPOLLOUT)

    def step(self, fd):
        client = self.waiting[fd]
        sock, port, has_sent, _ = client
        if not has_sent:
            sock.sendall(b"%d" % port)
            sock.shutdown(socket.SHUT_WR)
            client[2] = True
            self.poll.modify(sock, select.EPOLLIN)
            return
        data = sock.recv(4096)
        client[3] += data
        if data:
            return
        self.answered += 1
        if client[3] != b"%d %d" % (port, port):
            self.wrong.append((port, client[3]))
        self.drop(fd)

    def drop(self, fd):
        self.poll.unregister(fd)
        self.waiting.pop(fd)[0].close()

    def run(self):
        end = time.monotonic() + START_S
        while self.waiting and time.monotonic() < end:
            for fd, _ in self.poll.poll(1):
                try:
                    self.step(fd)
                except OSError as e:
                    self.wrong.append((self.waiting[fd][1], str(e)))
                    self.drop(fd)
        self.wrong += [(client[1], "late") for client in self.waiting.values()]
        for fd in list(self.waiting):
            self.drop(fd)
        self.poll.close()


def measure_storm(args, weir, first):
    answered, wrong, begin = 0, [], time.monotonic()
    for _ in range(args.clients):
        one = Round(range(first, first + args.ports))
        one.run()
        answered += one.answered
        wrong += one.wrong
    return {"clients": args.clients * args.ports, "answered": answered, "wrong": wrong[:10],
            "seconds": round(time.monotonic() - begin, 2), "accepted": weir.info("accepted")}


def bars_of(args, figures):
    start, reloads, storm = figures["start"], figures["reload_ms"], figures["storm"]
    yield (start["descriptors"] == start["descriptors_said"],
           "%(descriptors)d descriptors, as -c said (%(descriptors_said)d)" % start)
    yield (start["weir_kb"] <= start["weir_kb_said"],
           "%(weir_kb)d KiB of weir, at most the %(weir_kb_said)d that -c said" % start)
    if start["kernel_kb"] is not None:
        yield (args.no_times or start["kernel_kb"] <= start["kernel_kb_said"],
               "%(kernel_kb)d KiB of the kernel, at most the %(kernel_kb_said)d that -c said" % start)
    yield (args.no_times or reloads["nothing"]["most"] < RELOAD_MS,
           "reload with nothing changed: median %(median)s ms, most %(most)s" % reloads["nothing"] +
           ", under %d ms" % RELOAD_MS)
    yield (storm["answered"] == storm["clients"] and not storm["wrong"],
           "%(answered)d of %(clients)d clients were answered at their own port" % storm)
    yield (figures["descriptors_after"] == 0,
           "descriptors after all: %(descriptors_after)d more than at the start" % figures)


def measure(args, folder, tries=5):
    place = os.path.join(folder, str(tries))
    os.mkdir(place)
    try:
        return measure_once(args, place)
    except Taken as e:
        if tries == 1:
            raise Failed("no ports: %s" % e) from None
        return measure(args, folder, tries - 1)


def measure_once(args, folder):
    first = free_run(args.ports + 1) + 1
    service = PortService(range(first, first + args.ports), SERVER)
    weir = None
    try:
        weir, start = measure_start(args, folder, first)
        figures = {"driver": args.driver, "ports": args.ports, "start": start,
                   "reload_ms": measure_reloads(args, weir, first)}
        before = weir.size()[0]
        figures["storm"] = measure_storm(args, weir, first)
        wait_for("sessions have ended", lambda: weir.info("sessions") == 0, START_S)
        wait_for("descriptors are closed", lambda: weir.size()[0] <= before, START_S)
        figures["descriptors_after"] = weir.size()[0] - before
    finally:
        if weir:
            weir.stop()
        service.close()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="epoll", choices=("epoll", "io_uring"))
    parser.add_argument("--ports", type=int, default=PORTS)
    parser.add_argument("--reloads", type=int, default=10)
    parser.add_argument("--clients", type=int, default=4, metavar="ROUNDS")
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    folder = tempfile.mkdtemp(prefix="ports-")
    try:
        figures = measure(args, folder)
    except (Failed, OSError, subprocess.SubprocessError) as e:
        print("ports.py: %s" % e, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures, indent=1))
    save(figures, args.json)
    return 1 if tell(bars_of(args, figures)) else 0


if __name__ == "__main__":
    sys.exit(main())
