# SPDX-License-Identifier: MIT
"""A control group with a memory limit, for one test: version 1 or 2, whichever this machine has."""

import os
import tempfile


def _hierarchies():
    """[(mount point, name of the limit file)] of the hierarchies that control memory."""
    with open("/proc/self/mountinfo", encoding="ascii", errors="replace") as f:
        for line in f:
            left, _, right = line.partition(" - ")
            where, kind, options = left.split()[4], right.split()[0], right.split()[-1]
            if kind == "cgroup" and "memory" in options.split(","):
                yield where, "memory.limit_in_bytes"
            elif kind == "cgroup2":
                yield where, "memory.max"


class Group:
    """A group below the root of a hierarchy; a daemon started with `wrapper` enters it."""

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
    """(group, None), or (None, the reason why none can be created here)."""
    if os.geteuid() != 0:
        return None, "not root: cannot create a control group"
    why = "no control group here has a memory controller"
    for where, limit_file in _hierarchies():
        try:
            group = Group(tempfile.mkdtemp(prefix="weir-test-", dir=where), limit_file)
        except OSError as e:
            why = f"cannot create a control group in {where}: {e.strerror}"
            continue
        try:
            group.limit(limit)
            return group, None
        except OSError as e:
            why = f"{where} has no {limit_file}: {e.strerror}"
            group.close()
    return None, why
