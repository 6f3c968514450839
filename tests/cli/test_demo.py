# SPDX-License-Identifier: MIT
"""`weir demo`: it succeeds when everything works, fails when something is broken, and leaves nothing behind.

Runs the binary named by WEIR_BIN (build/src/weir). The demo chooses its ports itself, on loopback.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIR = os.path.abspath(os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir")))
WAIT_S = 3 * float(os.environ.get("WEIR_TEST_WAIT", "20"))
NOBODY = 65534
CLONE_NEWNET = 0x40000000


def run(*args, **kwargs):
    return subprocess.run([WEIR, "demo", *map(str, args)], capture_output=True, text=True, timeout=WAIT_S,
                          stdin=subprocess.DEVNULL, **kwargs)


class Demo:
    """A demo that runs, its output line by line."""

    def __init__(self, *args, **kwargs):
        self.text = ""
        self.proc = subprocess.Popen([WEIR, "demo", *map(str, args)], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)

    def until(self, word):
        """Reads up to the line that has `word`."""
        for line in self.proc.stdout:
            self.text += line
            if word in line:
                return line
        pytest.fail(f"no '{word}' in:\n{self.text}")

    def children(self):
        """In the order of their start: the daemon, b1, b2, b3, later b4."""
        pid = self.proc.pid
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def finish(self):
        try:
            rest, _ = self.proc.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise
        self.text += rest
        return self.proc.returncode


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_all_gone(pids):
    end = time.monotonic() + WAIT_S
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, f"still there: {[p for p in pids if is_alive(p)]}"
        time.sleep(0.01)


def errors_of(text, side):
    return int(re.search(side + r" errors ([\d ]*\d)", text).group(1).replace(" ", ""))


def check_good(got, seconds):
    assert (got.returncode, got.stderr) == (0, ""), got
    assert got.stdout.count("\n") == 1
    r = json.loads(got.stdout)
    assert r["ok"] is True and r["why"] == ""
    assert (r["client_errors"], r["daemon_exit"], r["sessions_left"]) == (0, 0, 0)
    assert r["seconds"] >= seconds
    assert r["connections"] > 0 and r["requests"] > 0
    assert 0 < r["bytes_spliced"] <= r["bytes"]
    assert r["spliced_share"] == pytest.approx(r["bytes_spliced"] / r["bytes"], abs=0.001)
    assert r["retries"] > 0  # b2 was away
    assert (r["reloads"], r["reloads_refused"], r["rollbacks"]) == (1, 1, 1)
    assert [s["name"] for s in r["servers"]] == ["b1", "b2", "b3", "b4"]
    for s in r["servers"]:
        assert s["errors"] == 0 and s["connections"] == sum(s["starts"])
        assert all(n > 0 for n in s["starts"])
    assert [len(s["starts"]) for s in r["servers"]] == [1, 2, 1, 1]  # b2 served before and after
    return r


def test_a_demo_is_well_and_says_so_in_one_object(tmp_path):
    """And what is on trial is kept nowhere, least of all among the state of a service."""
    check_good(run("--seconds", 3, "--json", env={**os.environ, "STATE_DIRECTORY": str(tmp_path)}), 3)
    assert list(tmp_path.iterdir()) == []


def small_machine():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


def test_a_small_machine_and_a_user_without_rights_are_enough():
    if os.getuid() != 0:
        check_good(run("--seconds=2", "--json", preexec_fn=small_machine), 2)
        return
    # By descriptor, because the folder of the binary may be closed to this user.
    code = ("import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY); os.set_inheritable(fd, True);"
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); os.chdir('/');"
            "os.execve(fd, ['weir', 'demo', '--seconds=2', '--json'], dict(os.environ))")
    got = subprocess.run([sys.executable, "-c", code, WEIR], capture_output=True, text=True,
                         timeout=WAIT_S, stdin=subprocess.DEVNULL, preexec_fn=small_machine)
    check_good(got, 2)


def without_rights():
    small_machine()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def port_of(pid):
    """Where a server of the demo listens."""
    mine = {os.readlink(f) for f in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return next(int(r[1].split(":")[1], 16) for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in mine)


def connects_at_all(port):
    with socket.socket() as s:
        s.settimeout(0.02)
        return s.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_that_leaves_takes_nobody_new_and_resets_nobody_who_has_begun():
    """Without rights, too. TCP_QUICKACK 0: the handshake is half-open until its client speaks."""
    binary = os.open(WEIR, os.O_RDONLY)  # the folder of the binary may be closed to this user
    demo = Demo("--seconds", 600, executable=f"/proc/self/fd/{binary}", pass_fds=[binary], cwd="/",
                preexec_fn=without_rights)
    os.close(binary)
    demo.until("clients begin")
    b2 = demo.children()[2]
    port = port_of(b2)
    with socket.socket() as late:
        late.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        late.settimeout(WAIT_S)
        late.connect(("127.0.0.1", port))
        os.kill(b2, signal.SIGTERM)
        end = time.monotonic() + WAIT_S
        while connects_at_all(port):
            assert time.monotonic() < end, "it takes new ones"
        late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"".join(iter(lambda: late.recv(4096), b"")).startswith(b"HTTP/1.1 200 OK\r\n")
    wait_all_gone([b2])
    demo.until("b2 ended unexpectedly (exit code 0)")
    demo.proc.send_signal(signal.SIGTERM)
    assert demo.finish() == 4  # the demo had not told b2 to leave
    assert " client errors 0 " in demo.text


def test_print_config_is_a_file_that_loads(tmp_path):
    got = run("--print-config")
    assert (got.returncode, got.stderr) == (0, "")
    assert re.search(r"(?m)^bind +=.127\.0\.0\.1:\d+$", got.stdout)
    path = tmp_path / "demo.ini"
    path.write_text(got.stdout)
    checked = subprocess.run([WEIR, "-c", path, "-o", "global.user=root"], capture_output=True,
                             text=True, timeout=WAIT_S)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "ok (1 frontend, 1 backend, 3 servers, 0 includes, 0 warnings)" in checked.stdout


@pytest.mark.parametrize("args", [
    ["--seconds", "1"], ["--seconds", "3601"], ["--seconds", "5s"], ["--seconds="], ["--seconds", "-3"],
    ["--seconds", "99999999999999999999"], ["--seconds"], ["10"], ["--sceonds", "4"]])
def test_a_wrong_command_line_ends_with_2(args):
    got = run(*args)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("weir: ")


@contextlib.contextmanager
def own_network():
    """For this thread and what it starts; only root gets one."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as before:
        alone = libc.unshare(CLONE_NEWNET) == 0
        try:
            if alone:
                subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            assert not alone or libc.setns(before.fileno(), CLONE_NEWNET) == 0


def test_without_a_terminal_each_event_is_a_plain_line():
    with own_network(), socket.socket() as busy:
        busy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            busy.bind(("127.0.0.1", 8080))
            busy.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        demo = Demo("--seconds", 5, env={**os.environ, "TERM": "xterm"})  # enough for a visitor
        assert "8080 is busy, using " in demo.until("busy")
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", demo.until("proxy")).group(1))
        admin = re.search(r"-s (\S+) show info", demo.until("admin")).group(1)
        assert re.search(r"tail -f /proc/\d+/fd/2", demo.until("log"))
        demo.until("clients begin")
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as visitor:
            visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b"".join(iter(lambda: visitor.recv(4096), b"")).decode()
        assert re.match(r"HTTP/1\.1 200 OK\r\n(.*\r\n)+\r\nhello from b[123] \(pid \d+\)", answer)
        info = subprocess.run([WEIR, "ctl", "-s", admin, "show", "info"], capture_output=True, text=True,
                              timeout=WAIT_S)
        assert "server.demo/b1: up" in info.stdout
        assert demo.finish() == 0, demo.text
    for line in ("stopping b2 on purpose", "b2 has left", "starting b2 again; ", " 0 failed for clients\n",
                 "a wrong file is refused: '127.0.0.1:99999' is not a valid address\n",
                 "adding b4, which is in no file: New server registered.\n",
                 "on trial for 1 s, without b3: generation 2, server demo/b3 removed\n",
                 "nobody confirmed it: weir returned to generation 1, b3 is back\n",
                 "b2 is back in rotation: ", " client errors 0   server errors 0\n", " next      "):
        assert demo.text.count(line) == 1, (line, demo.text)
    assert "\x1b" not in demo.text and "\r" not in demo.text
    assert " notice ready: " not in demo.text


def test_quiet_is_the_summary_alone():
    got = run("-q", "--seconds", 2)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout.startswith("\n summary   ")
    assert "stopping b2" not in got.stdout and "next" not in got.stdout


def test_a_daemon_that_dies_makes_the_demo_fail():
    demo = Demo("--seconds", 3)
    demo.until("stopping b2")
    children = demo.children()
    os.kill(children[0], signal.SIGKILL)
    assert demo.finish() == 4
    assert "weir ended unexpectedly (exit code 137)" in demo.text
    assert " notice ready: " in demo.text  # the log is shown to whoever has to find out
    assert errors_of(demo.text, "client") > 0
    wait_all_gone(children)


def test_a_daemon_that_cannot_start_is_the_fault_of_the_environment():
    """In a network of its own, because a demo of somebody else would meet the name that is taken here."""
    with own_network(), socket.socket(socket.AF_UNIX) as taken:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", run("--print-config").stdout).group(1))
        taken.bind(f"\0weir-demo-{port}")
        taken.listen()
        got = run("--seconds", 2)
    assert got.returncode == 3
    assert f"cannot open the admin socket unix:@weir-demo-{port}" in got.stderr


def test_a_server_that_dies_makes_the_demo_fail():
    demo = Demo("--seconds", 3)
    demo.until("stopping b2")
    children = demo.children()
    os.kill(children[1], signal.SIGKILL)
    assert demo.finish() == 4
    assert "b1 ended unexpectedly (exit code 137)" in demo.text
    assert "failed    b1 ended unexpectedly" in demo.text
    assert errors_of(demo.text, "client") > 0
    wait_all_gone(children)


def test_a_reload_that_does_not_go_as_told_makes_the_demo_fail():
    """No thread can be started any more: no file is read, neither the wrong one nor the one on trial."""
    demo = Demo("--seconds", 4)
    demo.until("b2 has left")  # a second before the first reload
    resource.prlimit(demo.children()[0], resource.RLIMIT_AS, (1, 1))
    assert demo.finish() == 4
    assert "a wrong file was not refused with its error: not reloaded: cannot start a thread" in demo.text
    assert "a trial did not begin: not reloaded: cannot start a thread" in demo.text


def test_a_trial_that_does_not_end_with_a_return_makes_the_demo_fail():
    demo = Demo("--seconds", 3)
    admin = re.search(r"-s (\S+) show info", demo.until("admin")).group(1)
    demo.until("on trial for 1 s")
    confirmed = subprocess.run([WEIR, "ctl", "-s", admin, "confirm"], capture_output=True, text=True,
                               timeout=WAIT_S)
    if confirmed.returncode != 0:
        assert "nothing is on trial" in confirmed.stdout + confirmed.stderr, confirmed
        pytest.skip("the machine is too busy: the trial of 1 s is over")
    assert demo.finish() == 4
    assert "generation 2 was on trial, and weir has kept it" in demo.text
    assert " client errors 0 " in demo.text


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(tmp_path, sign):
    env = {**os.environ, "TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    demo = Demo("--seconds", 600, env=env, cwd=tmp_path)
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", demo.until("proxy")).group(1))
    demo.until("clients begin")
    children = demo.children()
    assert len(children) == 4
    demo.proc.send_signal(sign)
    code = demo.finish()
    assert code == (-signal.SIGKILL if sign == signal.SIGKILL else 0), demo.text
    if sign != signal.SIGKILL:
        assert "interrupted: " in demo.text
        assert " client errors 0   server errors 0\n" in demo.text
    wait_all_gone(children)
    assert list(tmp_path.iterdir()) == []
    # The threads of a killed process end one by one: the last one closes.
    end = time.monotonic() + WAIT_S
    while f"@weir-demo-{port}" in Path("/proc/net/unix").read_text():
        assert time.monotonic() < end, "an abstract name is still taken"
        time.sleep(0.01)


def waits_for_signals(pid):
    """Does it block SIGTERM, and read it from a descriptor instead?"""
    blocked = re.search(r"(?m)^SigBlk:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text()).group(1)
    return int(blocked, 16) >> (signal.SIGTERM - 1) & 1


@pytest.mark.parametrize("children", range(5))
def test_a_signal_before_the_first_client_is_no_failure(children):
    """Those that it tells to leave may not have run yet."""
    demo = Demo("--seconds", 600)
    end = time.monotonic() + WAIT_S
    while not waits_for_signals(demo.proc.pid) or len(demo.children()) < children:
        assert time.monotonic() < end, "it starts nobody"
    demo.proc.send_signal(signal.SIGTERM)
    assert demo.finish() == 0, demo.text
    assert " client errors 0   server errors 0\n" in demo.text and "exit code" not in demo.text
