# SPDX-License-Identifier: MIT
"""Faults of system calls in a running daemon, by strace."""

import os
import signal
import subprocess

from harness import trace


class Inject:
    """While it lives, calls of the daemon fail as `faults` say: strace's inject= expressions. With
    `follow` off, those of the one thread `pid`."""

    def __init__(self, pid, *faults, follow=True):
        names = ",".join(sorted({f.partition(":")[0] for f in faults}))
        words = ["strace"] + ["-f"] * follow + ["-qq", "-o", "/dev/null", "-p", str(pid)]
        words += ["-e", f"trace={names}", "-e", "signal=none"]
        for fault in faults:
            words += ["-e", f"inject={fault}"]
        self.child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trace.wait_attached(pid, self.child.pid, follow)

    def close(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            self.child.wait()


def log_threads(pid):
    """The threads that write the daemon's log files; without one, that is the main thread."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as f:
            if f.read().strip() == "weir-log":
                found.append(int(task))
    return found or [pid]


class HungDisk:
    """Until it is closed, no write to the file `path` returns: its calls begin after a minute. No other
    call is held up, and the daemon's other threads, which are not in `tasks`, are not traced."""

    def __init__(self, pid, path, calls="write", tasks=None):
        tasks = tasks or log_threads(pid)
        words = ["strace", "-qq", "-o", "/dev/null", "-P", path, "-e", "signal=none", "-e", f"trace={calls}"]
        for call in calls.split(","):
            words += ["-e", f"inject={call}:delay_enter={60_000_000}"]
        for task in tasks:
            words += ["-p", str(task)]
        self.child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for task in tasks:
            trace.wait_attached(task, self.child.pid, follow=False)

    def close(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            self.child.wait()
