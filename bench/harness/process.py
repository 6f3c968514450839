# SPDX-License-Identifier: MIT
"""process.py - starts programs on their CPU, and stops them by their process IDs."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time

from machine import descendants

PR_SET_PDEATHSIG = 1
STOP_S = 3
PRIORITY = 10       # real-time, below that of bench/slow_core
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """Something that is needed did not work; the text describes it."""


def prepare(cpus, group):
    """Runs in the child before it executes the program."""
    def inside():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)     # it does not outlive the harness
        if cpus:
            os.sched_setaffinity(0, cpus)
        if group:
            with open(group + "/cgroup.procs", "w", encoding="ascii") as stream:
                stream.write("0")
    return inside


def start(argv, cpus=None, group=None, env=None, **more):
    return subprocess.Popen([str(word) for word in argv], preexec_fn=prepare(cpus, group),
                            env=dict(os.environ, **(env or {})), **more)


def first(pid):
    """Lets a process run whenever it wants to; False if that is not allowed, or the process has ended."""
    try:
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        return False
    return True


def kill(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def stop(process):
    """Sends SIGTERM, waits, sends SIGKILL; then the same for what it left behind. Bounded in time."""
    below = descendants(process.pid)[1:]
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
    end = time.monotonic() + STOP_S
    while any(alive(pid) for pid in below) and time.monotonic() < end:
        time.sleep(0.01)
    for pid in below:
        if alive(pid):
            kill(pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return False


@contextlib.contextmanager
def running(argv, **more):
    process = start(argv, **more)
    try:
        yield process
    finally:
        stop(process)


def output(argv, timeout, cpus=None):
    """(exit code, stdout, stderr); the program is killed if it takes longer."""
    process = start(argv, cpus=cpus, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return -1, "", "%s did not end within %d s" % (argv[0], timeout)
    finally:
        stop(process)


def free_ports(count):
    """Unused loopback ports, below those that the kernel assigns to clients."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as stream:
        below = int(stream.read().split()[0])
    found, port = [], max(1024, below - 1 - os.getpid() % 10000)
    while len(found) < count and port > 1024:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                found.append(port)
            except OSError:
                pass
        port -= 1
    if len(found) < count:
        raise Failed("no free ports on 127.0.0.1 below %d" % below)
    return found


def ask(address, request, wanted, timeout=1.0):
    """Sends a request; True if the expected number of bytes comes back."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(timeout)
            sock.connect(address if isinstance(address, str) else ("127.0.0.1", address))
            sock.sendall(request)
            got = 0
            while got < wanted:
                chunk = sock.recv(65536)
                if not chunk:
                    return False
                got += len(chunk)
            return True
    except OSError:
        return False


def wait_until(test, seconds, what):
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(0.02)
