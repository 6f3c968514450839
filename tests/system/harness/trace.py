# SPDX-License-Identifier: MIT
"""Counts system calls of a running daemon, with strace."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter

from harness.timing import wait_until

_CALL = re.compile(r"^(?:\d+\s+)?(\d+\.\d+) (\w+)\(")


def missing():
    if shutil.which("strace") is None:
        return "no strace"
    if os.geteuid() != 0:
        return "not root: strace may not attach"
    return None


def wait_attached(pid, tracer, follow=True):
    """Waits until every thread of `pid` is traced, or, without `follow`, only the thread `pid`."""
    def attached():
        for task in os.listdir(f"/proc/{pid}/task") if follow else [str(pid)]:
            with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
                if f"TracerPid:\t{tracer}\n" not in f.read():
                    return False
        return True
    wait_until(attached, "strace attaches")


class Trace:
    """Counts calls between start and stop."""

    def __init__(self, pid, folder):
        self.path = os.path.join(folder, "strace")
        self.child = subprocess.Popen(
            ["strace", "-f", "-ttt", "-e", "signal=none", "-o", self.path, "-p", str(pid)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_attached(pid, self.child.pid)
        # Attaching interrupts each thread's wait once.
        wait_until(lambda: os.path.exists(self.path) and time.time() - os.path.getmtime(self.path)
                   > 0.3, "the daemon is quiet under strace")
        self.begin = time.time()

    def stop(self):
        """The calls since the start, as {name: count}."""
        end = time.time()
        self.child.send_signal(signal.SIGINT)
        self.child.wait()
        count = Counter()
        with open(self.path, encoding="utf-8", errors="replace") as f:
            for line in f:
                m = _CALL.match(line)
                if m and self.begin <= float(m[1]) <= end:
                    count[m[2]] += 1
        return count
