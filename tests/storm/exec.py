#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""exec.py - runs hostile programs as health checks, and counts what they leave behind.

    python3 tests/storm/exec.py --build build --json bench/results/exec.json
    options: --driver epoll|io_uring  --runs N  --at-once N  --idle N  --slack N

Twelve kinds of programs, each for three servers: good and bad ones, some that hang, ignore SIGTERM, fork,
leave their process group, print megabytes, close their output, are killed, hold the pipe in a grandchild, or
cannot be run; two are replaced by others again and again. Ends when --runs of them (default 10,000) have
begun. At most --at-once run at a time (default 24), and --idle idle sessions (default 2,000) are open. The
longest turn of the control loop is measured on the CPU clock of its thread (control_turns.c); that bar is
multiplied by --slack, for a machine that is busy with something else.

As root, weir becomes nobody. Prints the figures, and one line per bar; the last line is `N passed, N failed`.
Exit code 1 if a bar is not met, 2 if it could not be measured.
"""

import argparse
import mmap
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from storm import Failed, fds, free_ports, save, tell, wait_for

TURN_MS = 10
KINDS = {
    "good": "echo fine",
    "bad": "echo broken >&2; exit 1",
    "hang": "exec sleep 1000",
    "deaf": "trap '' TERM HUP INT; while :; do sleep 1000; done",
    "stray": "setsid sleep 0.2 & exit 0",
    "forks": "for n in 1 2 3 4; do sleep 1000 & done; exit 0",
    "loud": "head -c 3000000 /dev/zero",
    "closes": "exec >&- 2>&-; exec sleep 1000",
    "killed": "kill -KILL $$",
    "lost": "#!/no/interpreter\n",
    "junk": "#!\n",
    "holds": "(setsid sleep 0.3; echo late) & exit 2",
}
HANGS = ("hang", "deaf", "closes")
SERVERS = 3


def folder_of_ours():
    """Where nobody else can replace a program."""
    for place in ("/run", "/var/lib", os.path.expanduser("~")):
        if os.access(place, os.W_OK):
            path = tempfile.mkdtemp(prefix="weir-programs-", dir=place)
            os.chmod(path, 0o755)
            return path
    raise Failed("no folder for programs that others cannot change")


def children(pid):
    """{process ID: state} of what weir has started."""
    found = {}
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
        for word in stream.read().split():
            try:
                with open("/proc/%s/stat" % word, encoding="ascii") as one:
                    found[int(word)] = one.read().rpartition(")")[2].split()[0]
            except OSError:
                pass
    return found


class Stage:
    def __init__(self, args):
        self.args = args
        self.programs = folder_of_ours()
        self.out = tempfile.mkdtemp(prefix="weir-exec-")
        os.chmod(self.out, 0o777)
        self.counted = os.path.join(self.out, "counted")
        self.turns = os.path.join(self.out, "turns")
        self.log = os.path.join(self.out, "log")
        self.port = free_ports(1)[0]
        with open(self.turns, "wb") as f:
            f.write(bytes(16))
        self.server = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.idle, self.weir = [], None
        for kind in KINDS:
            self.write(kind)

    def write(self, kind):
        text = KINDS[kind]
        path = os.path.join(self.programs, kind)
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(text if text.startswith("#!") else "#!/bin/sh\necho %s >>%s\n%s\n" %
                    (kind, self.counted, text))
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def start(self):
        where = "127.0.0.1:%d" % self.server.getsockname()[1]
        lines = ["[global]", "threads = 2", "driver = " + self.args.driver,
                 "log = file:%s level=notice" % self.log,
                 "admin-socket = unix:%s/admin mode=666" % self.out, "hard-stop-after = 1s",
                 "exec-checks = %d" % self.args.at_once]
        lines += ["user = nobody"] if os.geteuid() == 0 else []
        lines += ["[listen idle]", "bind = 127.0.0.1:%d" % self.port, "server a = " + where]
        for kind in KINDS:
            lines += ["[backend %s]" % kind, "check = exec %s/%s" % (self.programs, kind),
                      "check-interval = 50ms",
                      "check-timeout = %s" % ("50ms" if kind in HANGS else "5s")]
            lines += ["server s%d = %s" % (n, where) for n in range(SERVERS)]
        config = os.path.join(self.out, "weir.ini")
        with open(config, "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
        preload = os.path.join(self.args.build, "tests", "storm", "control_turns.so")
        if not os.path.exists(preload):
            raise Failed("no %s: build it with -Dtests=true" % preload)
        self.weir = subprocess.Popen(
            [os.path.join(self.args.build, "src", "weir"), "-f", config], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "LD_PRELOAD": os.path.abspath(preload), "WEIR_TURNS": self.turns})
        wait_for("weir is ready", lambda: " ready: " in self.text(self.log), 10)

    def open_idle(self):
        threading.Thread(target=self.accept, daemon=True).start()
        for _ in range(self.args.idle):
            self.idle.append(socket.create_connection(("127.0.0.1", self.port), timeout=10))

    def accept(self):
        held = []
        while True:
            try:
                held.append(self.server.accept()[0])
            except OSError:
                return

    @staticmethod
    def text(path):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def runs(self):
        return self.text(self.counted).count("\n")

    def rest(self):
        """Ends all checks, and waits for what runs."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(self.out + "/admin")
            admin.sendall("; ".join("disable health %s/s%d" % (kind, n) for kind in KINDS
                                    for n in range(SERVERS)).encode() + b"\n")
            while admin.recv(4096):
                pass
        wait_for("its programs end", lambda: not children(self.weir.pid), 10)

    def close(self):
        if self.weir and self.weir.poll() is None:
            self.weir.terminate()
            self.weir.wait(30)
        for one in self.idle:
            one.close()
        self.server.close()
        shutil.rmtree(self.programs, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)


def measure(args, stage):
    stage.start()
    stage.open_idle()
    pid = stage.weir.pid
    stage.rest()
    time.sleep(0.2)
    before = fds(pid)
    with socket.socket(socket.AF_UNIX) as admin:
        admin.connect(stage.out + "/admin")
        admin.sendall("; ".join("enable health %s/s%d" % (kind, n) for kind in KINDS
                                for n in range(SERVERS)).encode() + b"\n")
        while admin.recv(4096):
            pass
    begun, begin = stage.runs(), time.monotonic()
    zombies = running = 0
    with open(stage.turns, "r+b") as f, mmap.mmap(f.fileno(), 16) as turns:
        turns[:16] = bytes(16)
        while stage.runs() - begun < args.runs:
            if stage.weir.poll() is not None:
                raise Failed("weir ended with %d" % stage.weir.returncode)
            states = list(children(pid).values())
            zombies, running = max(zombies, states.count("Z")), max(running, len(states))
            stage.write("good")
            stage.write("hang")
            time.sleep(0.05)
        took = time.monotonic() - begin
        longest_ns, count = struct.unpack("qq", turns[:16])
    runs = stage.runs() - begun
    stage.rest()
    time.sleep(0.5)
    return {"runs": runs, "seconds": round(took, 1), "at_once_most": running, "zombies_most": zombies,
            "zombies_left": len(children(pid)), "descriptors_left": fds(pid) - before, "turns": count,
            "longest_turn_ms": round(longest_ns / 1e6, 2), "idle_sessions": len(stage.idle)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--driver", default="epoll", choices=("epoll", "io_uring"))
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--at-once", type=int, default=24)
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--slack", type=float, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    stage = Stage(args)
    try:
        figures = measure(args, stage)
    except (Failed, OSError) as error:
        print("exec.py: %s" % error, file=sys.stderr)
        return 2
    finally:
        stage.close()
    for name, value in figures.items():
        print("%-18s %s" % (name, value))
    save({"driver": args.driver, **figures}, args.json)
    most_ms = TURN_MS * args.slack
    return 1 if tell([
        (figures["zombies_left"] == 0, "no zombie is left: %d" % figures["zombies_left"]),
        (figures["descriptors_left"] <= 0, "no descriptor is left: %d" % figures["descriptors_left"]),
        (figures["at_once_most"] <= args.at_once, "at most %d programs at once" % args.at_once),
        (0 < figures["longest_turn_ms"] <= most_ms,
         "no turn of control over %g ms: %.2f" % (most_ms, figures["longest_turn_ms"])),
    ]) else 0


if __name__ == "__main__":
    sys.exit(main())
