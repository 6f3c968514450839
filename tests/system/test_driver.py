# SPDX-License-Identifier: MIT
"""Danger: another driver silently replaces the configured one, or weir cannot start on a machine without
io_uring and does not say what to change."""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess

import pytest

from harness import trace
from harness.daemon import BINARY
from harness.timing import PATIENCE

WORDS = {
    "ENOSYS": "built without it",
    "EPERM": "SystemCallFilter=",
    "EACCES": "a security module",
    "ENOMEM": "no memory for it",
    "EMFILE": "LimitNOFILE=",
    "EINVAL": f"kernel {os.uname().release} lacks what it needs (6.1 or later has it), or a",
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# KiB of locked memory that are enough for a worker, with those of the process before.
ENOUGH = 250
# Becomes a command whose io_uring_setup(2) ends with that error.
FILTER = """
import errno, os, seccomp, sys
rules = seccomp.SyscallFilter(seccomp.ALLOW)
rules.add_rule(seccomp.ERRNO(getattr(errno, sys.argv[1])), "io_uring_setup")
rules.load()
os.execvp(sys.argv[2], sys.argv[2:])
"""


def version():
    return subprocess.run([BINARY, "-vv"], capture_output=True, text=True, check=True,
                          timeout=PATIENCE).stdout


def usable():
    """"usable", or why there can be no ring here."""
    return re.search(r"(?m)^io_uring:  (.*)$", version())[1]


def built():
    return "io_uring" in re.search(r"(?m)^drivers: (.*);", version())[1]


def prefers_uring():
    return "driver = auto is io_uring" in version()


def need_ring():
    if usable() != "usable":
        pytest.skip(f"io_uring is {usable()}")


def refusing(error):
    """A command that takes rings away from another one."""
    if not built():
        pytest.skip("this build is without io_uring: nothing to refuse")
    if "io_uring_disabled" in usable():
        pytest.skip(f"io_uring is {usable()}: no other reason is to be seen")
    if importlib.util.find_spec("seccomp") is None:
        pytest.skip("no python3-seccomp")
    return ["/usr/bin/python3", "-B", "-c", FILTER, error]


def failing_after(count):
    """A command that takes all rings away but the first `count`; the process is the one that was started."""
    need_ring()
    if trace.missing():
        pytest.skip(trace.missing())
    return ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=io_uring_setup", "-e", "signal=none",
            "-e", f"inject=io_uring_setup:error=ENOMEM:when={count + 1}+"]


users = itertools.count(61000 + os.getpid() % 4000)


def locking(kib):
    """A command that runs another one as a user that may lock `kib` and has not had a ring yet: the kernel
    counts per user, and rings count for a moment after they are closed."""
    need_ring()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("not root, or no setpriv: cannot be a user whose limit counts")
    if os.sysconf("SC_PAGESIZE") != 4096:
        pytest.skip("a ring takes more where pages are larger")

    def wrapper(allowed):
        user = next(users)
        return ["prlimit", f"--memlock={allowed * 1024}:{allowed * 1024}", "setpriv", f"--reuid={user}",
                f"--regid={user}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    if "io_uring:  usable" in said(wrapper(0), "-vv").stdout:
        pytest.skip("this kernel does not count rings as locked memory")
    return wrapper(kib)


def said(wrapper, *args):
    return subprocess.run([*wrapper, BINARY, *args], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)


def uring_file(folder):
    path = os.path.join(folder, "driver.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[global]\nthreads = 2\ndriver = io_uring\nlog = stderr level=notice\n"
                "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\n")
    os.chmod(path, 0o644)
    return path


class Start:
    """A start by a user that may not write where the harness has its admin socket."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if " ready: " in line:
                break
        self.is_ready = " ready: 2 workers, io_uring, " in self.said

    def stop(self):
        """Its exit code."""
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


def section(listener):
    return f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"


def ready(daemon):
    return re.search(r" ready: \d+ workers, (.*), maxconn ", daemon.log())[1]


@pytest.fixture
def refused(folder):
    """refused(driver, wrapper): starts a daemon that must not start; returns its exit code and messages."""
    def start(driver="io_uring", wrapper=()):
        path = os.path.join(folder, "driver.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[global]\nthreads = 2\ndriver = {driver}\nlog = stderr level=notice\n"
                    "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\n")
        os.chmod(path, 0o644)
        got = subprocess.run([*wrapper, BINARY, "-f", path], capture_output=True, text=True,
                             timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
        lines = [line for line in got.stderr.splitlines() if "keeps running as root" not in line]
        assert len(lines) == 1 and " error " in lines[0], got.stderr
        assert "driver = auto" in lines[0] and "driver = epoll" in lines[0]
        return got.returncode, lines[0]
    return start


# What is asked for is had.

@pytest.mark.smoke
@pytest.mark.parametrize("driver", ("epoll", "io_uring"))
def test_a_driver_that_is_written_is_used_and_shown(weir, peers, driver):
    if driver == "io_uring":
        need_ring()
    listener = peers.listen()
    daemon = weir(section(listener), f"driver = {driver}\n")
    assert ready(daemon) == driver
    assert daemon.info()["driver"] == driver and "driver_reason" not in daemon.info()
    status = subprocess.run([BINARY, "status", "-s", f"unix:{daemon.admin}"], capture_output=True, text=True,
                            timeout=PATIENCE, check=True)
    assert status.stdout.splitlines()[0].endswith(f"  {driver}")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(100000)
    server.receive(100000)


def test_auto_takes_what_it_says(weir, peers):
    daemon = weir(section(peers.listen()), "driver = auto\n")
    wanted = "io_uring" if prefers_uring() and usable() == "usable" else "epoll"
    assert ready(daemon).split()[0] == wanted
    assert ("io_uring: " in ready(daemon)) == (prefers_uring() and wanted == "epoll")


# It cannot be had.

@pytest.mark.parametrize("error", WORDS)
def test_io_uring_that_is_refused_ends_the_start_with_3_and_the_reason(refused, error):
    code, line = refused(wrapper=refusing(error))
    assert code == 3
    assert WORDS[error] in line


@pytest.mark.parametrize("error", WORDS)
def test_auto_starts_all_the_same_and_says_why(weir, peers, error):
    listener = peers.listen()
    daemon = weir(section(listener), "driver = auto\n", wrapper=refusing(error))
    info = daemon.info()
    assert info["driver"] == "epoll"
    if prefers_uring():
        assert ready(daemon).startswith("epoll (io_uring: ") and WORDS[error] in ready(daemon)
        assert WORDS[error] in info["driver_reason"]
    else:
        assert ready(daemon) == "epoll" and "driver_reason" not in info
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(100000)
    server.receive(100000)


def test_the_switch_of_the_kernel_is_named(refused, folder):
    need_ring()
    path = os.path.join(folder, "disabled")
    with open(path, "w", encoding="ascii") as f:
        f.write("2\n")
    hide = ["unshare", "--mount", "sh", "-c",
            f'mount --bind {path} /proc/sys/kernel/io_uring_disabled && exec "$@"', "sh"]
    if os.geteuid() != 0 or subprocess.run([*hide, "true"], capture_output=True, check=False).returncode:
        pytest.skip("not root, no unshare, or a kernel without kernel.io_uring_disabled")
    code, line = refused(wrapper=hide)
    assert code == 3 and "kernel.io_uring_disabled is 2" in line


def test_rings_count_as_locked_memory_where_the_kernel_says_so(refused):
    need_ring()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("not root, or no setpriv: cannot be a user whose limit counts")
    code, line = refused(wrapper=locking(0))
    assert code == 3 and "LimitMEMLOCK=" in line


# KiB that the user may lock; does a worker's ring fit next to the small one of a start; do two of them?
@pytest.mark.parametrize("kib, one, both", ((0, False, False), (100, False, False), (150, True, False),
                                            (2 * ENOUGH, True, True)))
def test_who_asks_hears_what_the_start_would(folder, kib, one, both):
    """One small ring fits into 100 KiB, and that of a worker does not."""
    path = uring_file(folder)
    assert ("io_uring:  usable" in said(locking(kib), "-vv").stdout) == one
    doctor = said(locking(kib), "doctor", "-f", path)
    found = re.search(r"(?m)^(\w+) +io_uring +(.*)\n(?: +rings, .*\n +fix: (.*))?", doctor.stdout)
    probe = said(locking(kib), "check", "--probe", path)
    tried = re.search(r"(?m)^driver +global +io_uring +(.*)$", probe.stdout)[1]
    if both:
        assert found[1] == "ok" and tried == "OK"
    else:
        reason = f"more than the {kib} KiB that this user may lock: raise LimitMEMLOCK="
        assert doctor.returncode == 3 and found[1] == "warn" and reason in found[2]
        assert found[3].startswith("LimitMEMLOCK=") and "ulimit -l" in found[3]
        assert tried.startswith("FAILED  2 workers: ") and reason in tried
    start = Start([*locking(kib), BINARY, "-f", path])
    assert start.is_ready == both
    assert start.stop() == (0 if both else 3)
    assert both or "cannot start 2 workers with driver = io_uring: no memory for it" in start.said \
        or "driver = io_uring cannot be used: no memory for it" in start.said


def test_the_room_that_the_manual_asks_for_is_enough_for_a_restart(folder):
    """The kernel holds the old rings when the new ones are made."""
    with open(os.path.join(ROOT, "doc/man/weir.8"), encoding="utf-8") as f:
        assert f"with room for about {ENOUGH} KiB per worker." in f.read()
    user = locking(2 * ENOUGH)
    path = uring_file(folder)
    for _ in range(2):
        start = Start([*user, BINARY, "-f", path])
        assert start.is_ready, start.said
        assert start.stop() == 0


@pytest.mark.parametrize("rings", (1, 2))
def test_a_ring_that_lacks_for_a_worker_ends_the_start(refused, rings):
    """The first ring is the probe's; then that of a worker is refused."""
    code, line = refused(wrapper=failing_after(rings))
    assert code == 3
    assert "cannot start 2 workers with driver = io_uring: no memory for it" in line


@pytest.mark.parametrize("rings", (1, 2))
def test_auto_falls_back_when_a_ring_lacks_for_a_worker(weir, peers, rings):
    if not prefers_uring():
        pytest.skip("auto is epoll, and makes no ring")
    listener = peers.listen()
    daemon = weir(section(listener), "driver = auto\n", wrapper=failing_after(rings))
    assert ready(daemon).startswith("epoll (io_uring: no memory for it")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(100000)
    server.receive(100000)


def test_a_build_without_it_says_so(refused):
    if built():
        pytest.skip("this build has io_uring")
    assert usable() == "not usable: this build is without it: meson setup -Dio_uring=enabled"
    code, line = refused()
    assert code == 3 and "this build is without it" in line


# Who asks before the start.

def test_the_other_commands_know_it_too(folder):
    wrapper = refusing("EPERM")
    path = uring_file(folder)
    assert re.search(r"(?m)^io_uring:  not usable: .*SystemCallFilter=", said(wrapper, "-vv").stdout)
    doctor = said(wrapper, "doctor", "-f", path)
    assert doctor.returncode == 3
    assert re.search(r"(?m)^warn +io_uring +not usable: .*SystemCallFilter=", doctor.stdout), doctor.stdout
    probe = said(wrapper, "check", "--probe", path)
    assert probe.returncode == 3
    assert re.search(r"(?m)^driver +global +io_uring +FAILED .*SystemCallFilter=", probe.stdout), probe.stdout
    assert said(wrapper, "check", path).returncode == 0  # nothing is wrong with the file
