# SPDX-License-Identifier: MIT
"""Faults of system calls in a running daemon, by strace."""

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
