# SPDX-License-Identifier: MIT
"""machine.py - what the harness reads from the machine and changes on it: facts, congestion control, a cap.

The context manager that changes something restores it.
"""

import contextlib
import glob
import os
import platform
import re
import resource
import subprocess
import sys
import time

CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"
PERIOD_US = 5000        # short, so that a cap is a steady trickle and not a burst every 100 ms


def read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return default


def write(path, text):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(str(text))


def first_line(argv):
    """The first line of a program's version output, or an empty string."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10, check=False,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip().split("\n")[0]


def raise_nofile():
    """Allows this process and its children as many descriptors as the hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def facts(root):
    """The facts that a reader needs to judge the figures."""
    cpus = re.findall(r"(?m)^model name\s*:\s*(.*)$", read("/proc/cpuinfo"))
    flaws = {os.path.basename(path): read(path)
             for path in sorted(glob.glob("/sys/devices/system/cpu/vulnerabilities/*"))}
    sysctl = {name: read("/proc/sys/net/" + name) for name in
              ("core/somaxconn", "ipv4/tcp_rmem", "ipv4/tcp_wmem", "ipv4/tcp_tw_reuse",
               "ipv4/ip_local_port_range")}
    git = ["git", "-C", root]
    dirty = subprocess.run(git + ["status", "--porcelain", "-uno"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False).stdout
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kernel": platform.release(), "machine": platform.machine(),
        "mitigations_wish": [w for w in read("/proc/cmdline").split() if w.startswith("mitigations=")],
        "cpu": cpus[0] if cpus else "unknown", "cpus": os.cpu_count(),
        "cpus_allowed": sorted(os.sched_getaffinity(0)),
        "hypervisor": " hypervisor" in read("/proc/cpuinfo"),
        "clocksource": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "unknown"),
        "memory": (re.findall(r"MemTotal:\s*(.*)", read("/proc/meminfo")) or ["unknown"])[0],
        "mitigations": flaws, "sysctl": sysctl,
        "congestion": read(CONGESTION), "congestion_of_the_machine": read(CONGESTION),
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "load_average_before": read("/proc/loadavg"),
        "revision": first_line(git + ["rev-parse", "HEAD"]) + (" with changes" if dirty else ""),
        "command": sys.argv,
    }


@contextlib.contextmanager
def cubic(say):
    """cubic for all: bbr paces on loopback too, and divides bulk throughput by three."""
    before = read(CONGESTION)
    changed = False
    try:
        if before != "cubic":
            try:
                write(CONGESTION, "cubic")
                changed = True
            except OSError as error:
                say("congestion control stays %s (%s): bulk figures are not comparable with others'"
                    % (before, error.strerror))
        yield read(CONGESTION)
    finally:
        if changed:
            write(CONGESTION, before)


# ---- the cap -----------------------------------------------------------------------------------

def mounts():
    """(type, mount point, options) of each cgroup file system."""
    for line in read("/proc/self/mounts").splitlines():
        words = line.split()
        if len(words) > 3 and words[2] in ("cgroup", "cgroup2"):
            yield words[2], words[1], words[3].split(",")


class Cap:
    """A group that may use a share of one CPU. `path` is None if no such group can be created."""

    def __init__(self):
        self.path, self.version, self.why = None, 0, "no cgroup file system with a cpu controller is mounted"
        for kind, where, options in mounts():
            try:
                if kind == "cgroup" and "cpu" in options:
                    self.make(where, 1)
                elif kind == "cgroup2" and "cpu" in read(where + "/cgroup.controllers").split():
                    if "cpu" not in read(where + "/cgroup.subtree_control").split():
                        write(where + "/cgroup.subtree_control", "+cpu")
                    self.make(where, 2)
            except OSError as error:
                self.why = "%s: %s" % (where, error.strerror)
            if self.path:
                return

    def make(self, where, version):
        path = "%s/weir-bench-%d" % (where, os.getpid())
        os.mkdir(path)
        self.path, self.version = path, version
        try:
            self.limit(None)
        except OSError:
            self.close()
            raise

    def limit(self, percent):
        """Sets the share of one CPU; None = all of it."""
        quota = None if percent is None else max(1000, PERIOD_US * percent // 100)
        if self.version == 1:
            write(self.path + "/cpu.cfs_period_us", PERIOD_US)
            write(self.path + "/cpu.cfs_quota_us", -1 if quota is None else quota)
        else:
            write(self.path + "/cpu.max", "%s %d" % ("max" if quota is None else quota, PERIOD_US))

    @contextlib.contextmanager
    def of_threads(self, tids, percent):
        """Creates a subgroup, with a share of one CPU, for each of these threads of a process here."""
        parts = [Part(self.path + "/" + str(tid), self.version) for tid in tids]
        try:
            for part in parts:
                part.open()
            if self.version == 2:
                write(self.path + "/cgroup.subtree_control", "+cpu")
            for part, tid in zip(parts, tids):
                part.limit(percent)
                write(part.path + ("/tasks" if self.version == 1 else "/cgroup.threads"), tid)
            yield
        finally:
            for part, tid in zip(parts, tids):
                with contextlib.suppress(OSError):      # it has ended by itself
                    write(self.path + ("/tasks" if self.version == 1 else "/cgroup.threads"), tid)
                part.close()
            if self.version == 2:       # while it is enabled, the group accepts no process
                with contextlib.suppress(OSError):
                    write(self.path + "/cgroup.subtree_control", "-cpu")

    def describe(self):
        if not self.path:
            return "none (%s)" % self.why
        return "cgroup v%d, period %d us" % (self.version, PERIOD_US)

    def close(self):
        """The group is empty, but the kernel may take a moment to notice."""
        path, self.path = self.path, None
        for _ in range(50):
            if not path:
                return
            try:
                os.rmdir(path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)
        print("could not remove %s" % path, file=sys.stderr)


class Part(Cap):
    """A group below a Cap, for threads."""

    def __init__(self, path, version):
        self.path, self.version, self.why = path, version, ""

    def open(self):
        os.mkdir(self.path)
        if self.version == 2:       # otherwise a group holds whole processes
            write(self.path + "/cgroup.type", "threaded")


# ---- time --------------------------------------------------------------------------------------

def descendants(pid):
    """The process and all its descendants."""
    found = [pid]
    for task in glob.glob("/proc/%d/task/*/children" % pid):
        for child in read(task).split():
            found += descendants(int(child))
    return found


def cpu_ns(pid):
    """CPU time of all threads of a process and of its children, in nanoseconds."""
    total = 0
    for one in descendants(pid):
        for path in glob.glob("/proc/%d/task/*/schedstat" % one):
            words = read(path).split()
            total += int(words[0]) if words else 0
    return total


def cpu_ticks():
    """{cpu: (busy, stolen, total)} since boot, in ticks."""
    result = {}
    for line in read("/proc/stat").splitlines():
        match = re.match(r"cpu(\d+) (.*)", line)
        if match:
            ticks = [int(word) for word in match.group(2).split()][:8]
            idle = ticks[3] + ticks[4]
            result[int(match.group(1))] = (sum(ticks) - idle, ticks[7], sum(ticks))
    return result


def cpu_shares(before, after):
    """{cpu: (busy percent, stolen percent)} between two readings."""
    result = {}
    for cpu, (busy, stolen, total) in after.items():
        old = before.get(cpu, (0, 0, 0))
        ticks = max(1, total - old[2])
        result[cpu] = (100.0 * (busy - old[0]) / ticks, 100.0 * (stolen - old[1]) / ticks)
    return result
