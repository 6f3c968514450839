# SPDX-License-Identifier: MIT
"""A control group of the test's own with a limit of memory: version 1 or 2, whichever this machine has."""

import os
import tempfile


def _hierarchies():
    """(mount point, file of the limit) of those that have memory."""
    with open("/proc/self/mountinfo", encoding="ascii", errors="replace") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            where, kind, options = left.split()[4], right.split()[0], right.split()[-1]
            if kind == "cgroup" and "memory" in options.split(","):
                yield where, "memory.limit_in_bytes"
            elif kind == "cgroup2":
                yield where, "memory.max"


class Group:
    """Below the top of a hierarchy; the daemon enters it by `wrapper`."""

    def __init__(self, folder, limit_file):
        self.folder = folder
        self.limit_file = limit_file

    @property
    def wrapper(self):
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs && exec "$@"', "sh"]

    def limit(self, count):
        with open(f"{self.folder}/{self.limit_file}", "w", encoding="ascii") as f:
            f.write(str(count))

    def close(self):
        os.rmdir(self.folder)


def make(limit):
    """(group, None), or (None, why there can be none here)."""
    if os.geteuid() != 0:
        return None, "not root: no control group can be made"
    why = "no control group has a controller of memory here"
    for where, limit_file in _hierarchies():
        try:
            group = Group(tempfile.mkdtemp(prefix="weir-test-", dir=where), limit_file)
        except OSError as e:
            why = f"no control group can be made in {where}: {e.strerror}"
            continue
        try:
            group.limit(limit)
            return group, None
        except OSError as e:
            why = f"{where} has no {limit_file}: {e.strerror}"
            group.close()
    return None, why
