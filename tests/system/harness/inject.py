# SPDX-License-Identifier: MIT
"""Injects faults into the system calls of a running daemon, with strace."""

import signal
import subprocess

from harness import process, trace


class _Strace:
    """An strace with these arguments, until it is closed."""

    def __init__(self, words):
        self.child = subprocess.Popen(["strace", *words], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)

    def close(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
            self.child.wait()


class Inject(_Strace):
    """Until it is closed, system calls of the daemon fail as `faults` (inject= expressions of strace)
    specify. Without `follow`, only those of the thread `pid`."""

    def __init__(self, pid, *faults, follow=True):
        names = ",".join(sorted({f.partition(":")[0] for f in faults}))
        words = ["-f"] * follow + ["-qq", "-o", "/dev/null", "-p", str(pid)]
        words += ["-e", f"trace={names}", "-e", "signal=none"]
        for fault in faults:
            words += ["-e", f"inject={fault}"]
        super().__init__(words)
        trace.wait_attached(pid, self.child.pid, follow)


def log_threads(pid):
    """The threads that write the daemon's log files; if there are none, the main thread."""
    return process.named_threads(pid, "weir-log") or [pid]


class HungDisk(_Strace):
    """Until it is closed, no write to the file `path` returns: strace delays each by a minute. No other
    call is delayed, and threads of the daemon that are not in `tasks` are not traced."""

    def __init__(self, pid, path, calls="write", tasks=None):
        tasks = tasks or log_threads(pid)
        words = ["-qq", "-o", "/dev/null", "-P", path, "-e", "signal=none", "-e", f"trace={calls}"]
        for call in calls.split(","):
            words += ["-e", f"inject={call}:delay_enter={60_000_000}"]
        for task in tasks:
            words += ["-p", str(task)]
        super().__init__(words)
        for task in tasks:
            trace.wait_attached(task, self.child.pid, follow=False)
