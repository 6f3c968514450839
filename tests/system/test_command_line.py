# SPDX-License-Identifier: MIT
"""Danger: what an operator reads about a running weir is wrong or hangs, a signal goes to the wrong
process, a terminal is left in a broken state, or an exit code is wrong."""

import contextlib
import csv
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time

import pytest

from harness import driver, peer, process, trace
from harness.daemon import BINARY
from harness.manager import passing
from harness.timing import PATIENCE, SCALE, wait_until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
          "--inh-caps=-all"]
ROOT = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None,
                          reason="not root, or no setpriv: cannot become nobody")


def run(*args, wrapper=(), patience=3 * PATIENCE, env=None, pass_fds=()):
    return subprocess.run([*wrapper, BINARY, *map(str, args)], capture_output=True, text=True,
                          timeout=patience, stdin=subprocess.DEVNULL, pass_fds=pass_fds,
                          env={**os.environ, **(env or {})})


def listen(listener, more=""):
    return f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n{more}"


def stat(daemon, command="show stat"):
    """{(pxname, svname): row} of the CSV."""
    rows = csv.DictReader(daemon.ask(command).lstrip("# ").splitlines())
    return {(row["pxname"], row["svname"]): row for row in rows}


def gone(pid):
    """True if the process has ended, even if its exit code has not been collected yet."""
    try:
        return process.state(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


# What is counted.

@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off"))
def test_bytes_of_a_session_are_counted_once_while_it_lives_and_after(weir, peers, splice):
    listener = peers.listen()
    daemon = weir(listen(listener), f"splice = {splice}")
    client, server = peers.pair(daemon.address("web"), listener)
    hello = int(stat(daemon)["web", "a"]["bin"])
    client.send(300_000)
    server.receive(300_000)
    server.send(70_000)
    client.receive(70_000)

    def counts(row):
        return tuple(int(row[k]) for k in ("bin", "bout", "scur", "smax", "stot"))
    expected = (hello + 300_000, 70_000)
    for name in ("FRONTEND", "a", "BACKEND"):
        assert counts(stat(daemon)["web", name]) == (*expected, 1, 1, 1), name
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()
    wait_until(lambda: stat(daemon)["web", "a"]["scur"] == "0", "the session has ended")
    for name in ("a", "BACKEND", "FRONTEND"):
        assert counts(stat(daemon)["web", name])[:2] == expected, name
        assert counts(stat(daemon)["web", name])[3:] == (1, 1), name


def test_sums_never_fall_while_sessions_come_and_go(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 2")
    last = 0
    for _ in range(60):
        client, server = peers.pair(daemon.address("web"), listener)
        client.send(5000)
        server.receive(5000)
        client.fin()
        server.fin()
        now = int(stat(daemon)["web", "a"]["bin"])
        assert now >= last + 5000
        last = now


def test_who_ended_it_and_what_failed_is_counted(weir, peers, closing):
    listener = peers.listen()
    refusing = socket.socket()  # bound, but not listening
    closing.append(refusing)
    refusing.bind(("127.0.0.1", 0))
    port = refusing.getsockname()[1]
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  f"server z = 127.0.0.1:{port}\n", "threads = 1")
    for ender in ("client", "server"):
        for _ in range(2):
            client, server = peers.pair(daemon.address("web"), listener)
            (client if ender == "client" else server).reset()
            (server if ender == "client" else client).receive_to_end()
    wait_until(lambda: stat(daemon)["web", "FRONTEND"]["scur"] == "0", "all have ended")
    rows = stat(daemon)
    assert (rows["web", "a"]["cli_abrt"], rows["web", "a"]["srv_abrt"]) == ("2", "2")
    failed = int(rows["web", "z"]["econ"])
    assert failed >= 1
    assert (rows["web", "z"]["wretr"], rows["web", "z"]["wredis"]) == (str(failed), str(failed))
    assert rows["web", "BACKEND"]["econ"] == str(failed)
    daemon.expected_alarms = "connect failed"


def test_filters_and_json_of_show_stat(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener))
    assert set(stat(daemon, "show stat 1 4 -1")) == {("web", "a")}
    assert set(stat(daemon, "show stat -1 1 -1")) == {("web", "FRONTEND")}
    rows = json.loads(daemon.ask("show stat json"))
    assert [row["svname"] for row in rows] == ["FRONTEND", "a", "BACKEND"]
    assert rows[1]["addr"] == str(listener.address)
    assert json.loads(daemon.ask("show sess json")) == []
    here, name = os.path.split(daemon.admin)  # a path as a shell completes it
    got = subprocess.run([BINARY, "ctl", "-s", name, "show", "info"], cwd=here, capture_output=True,
                         text=True, timeout=PATIENCE)
    assert (got.returncode, got.stderr) == (0, "")
    got = run("ctl", "-s", daemon.admin, "show", "sess")  # no line for no session, and no error
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    client, _ = peers.pair(daemon.address("web"), listener)
    session, = json.loads(daemon.ask("show sess json"))
    assert (session["frontend"], session["server"], session["state"]) == ("web", "a", "forwarding")
    assert session["client"] == "%s:%d" % client.sock.getsockname()
    assert json.loads(daemon.ask("show info json"))["pid"] == daemon.pid


def test_a_drained_worker_has_not_lost_its_sums(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 2\nhard-stop-after = 60s")
    pairs = [peers.pair(daemon.address("web"), listener) for _ in range(2)]
    for client, server in pairs:
        client.send(1000)
        server.receive(1000)
    before = int(stat(daemon)["web", "a"]["bin"])
    daemon.signal(signal.SIGTERM)
    wait_until(lambda: daemon.info()["state"] == "draining", "it drains")
    client, server = pairs[0]
    client.fin()
    server.fin()
    wait_until(lambda: daemon.info()["sessions"] == 1, "one session is left")
    row = stat(daemon)
    assert int(row["web", "a"]["bin"]) == before
    assert row["web", "FRONTEND"]["status"] == "STOP"
    daemon.ended = True
    pairs[1][0].reset()
    pairs[1][1].receive_to_end()
    assert daemon.wait_exit() == 0


# status, top, healthcheck.

def test_status_shows_frontends_and_servers(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener) + "[frontend two]\nbind x = 127.0.0.1:0\nbind y = 127.0.0.1:0\n"
                  "default-backend = web\n")
    client, _ = peers.pair(daemon.address("web"), listener)
    got = run("status", "-f", daemon.config_path)
    assert (got.returncode, got.stderr) == (0, "")
    lines = got.stdout.splitlines()
    first = rf"weir \S+  ready  pid {daemon.pid}  up 0m\d\ds  2 workers  {daemon.info()['driver']}$"
    assert re.match(first, lines[0])
    assert lines[1].startswith("connections  1 open of ")
    assert re.search(rf"^web +open +1 +1 +1 +\d\S* .* {daemon.address('web')}$", got.stdout, re.M)
    assert re.search(r"^two +open +0 .* 127.0.0.1:\d+ 127.0.0.1:\d+$", got.stdout, re.M)
    # now, queue, weight, total, failed
    assert re.search(rf"^web/a +up +1 +0 +1 +1 +0 .* {listener.address}$", got.stdout, re.M)
    assert "\x1b" not in got.stdout
    page = json.loads(run("status", "--json", "-s", daemon.admin).stdout)
    assert (page["pid"], page["state"], page["sessions"]) == (daemon.pid, "ready", 1)
    assert page["frontends"][0]["listen"] == [str(daemon.address("web"))]
    assert len(page["frontends"][1]["listen"]) == 2
    assert (page["servers"][0]["backend"], page["servers"][0]["name"]) == ("web", "a")
    assert page["servers"][0]["sessions_max"] == 1
    del client


def test_addresses_stand_with_the_frontend_whose_name_is_meant(weir, peers):
    """Danger: the name of one frontend is the beginning of another's, up to a dot."""
    daemon = weir(listen(peers.listen()) + "[frontend web.tls]\nbind x = 127.0.0.1:0\n"
                  "bind y = 127.0.0.1:0\ndefault-backend = web\n")
    page = json.loads(run("status", "--json", "-s", daemon.admin).stdout)
    assert [(f["name"], len(f["listen"])) for f in page["frontends"]] == [("web", 1), ("web.tls", 2)]


def test_top_without_a_terminal_is_one_page_with_rates(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener))
    for args in ([], ["--once"]):
        got = run("top", "-s", daemon.admin, *args)
        assert (got.returncode, got.stderr) == (0, "")
        assert "0 new a second" in got.stdout
        assert "NEW/S" in got.stdout
        assert "\x1b" not in got.stdout
    top = subprocess.Popen([BINARY, "top", "--json", "-s", daemon.admin], stdout=subprocess.PIPE)
    # More than nothing begins within its second, whenever that is.
    end = time.monotonic() + PATIENCE
    while top.poll() is None and time.monotonic() < end:
        client, server = peers.pair(daemon.address("web"), listener)
        client.send(1000)
        server.receive(1000)
        client.fin()
        server.fin()
    page = json.loads(top.communicate(timeout=PATIENCE)[0])
    assert top.returncode == 0
    assert page["accepted_per_s"] > 0
    assert page["bytes_to_server_per_s"] > 0


def heed_signals():
    """In a child: nohup(1) and a shell's background jobs ignore some of these, and children inherit that."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Screen:
    """`weir top` on a terminal of its own."""

    def __init__(self, daemon, columns, rows, env=None):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.text = b""
        self.child = subprocess.Popen(
            [BINARY, "top", "-s", daemon.admin], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, start_new_session=True, preexec_fn=heed_signals,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **(env or {})})
        os.set_blocking(self.master, False)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            self.text += os.read(self.master, 65536)
        return self.text

    def wait(self, what):
        wait_until(lambda: what in self.read(), lambda: f"{what!r} in {self.text!r}")

    def end(self):
        """Its exit status; the terminal must be as it was."""
        wait_until(lambda: self.read() and self.child.poll() is not None, "top ends")
        self.read()
        assert self.text.endswith(b"\x1b[?25h\x1b[?1049l") or b"\x1b[?1049l" in self.text[-400:]
        assert termios.tcgetattr(self.slave) == self.before
        return self.child.returncode

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
        os.close(self.slave)


def test_top_on_a_terminal_draws_again_and_gives_it_back(weir, peers, closing):
    listener = peers.listen()
    daemon = weir(listen(listener))
    screen = Screen(daemon, 80, 24)
    closing.append(screen)
    screen.wait(b"q quit")
    assert screen.text.startswith(b"\x1b[?1049h\x1b[?25l")
    assert termios.tcgetattr(screen.slave) != screen.before
    screen.wait(b"new a second")  # the second picture
    text = screen.text.replace(b"\x1b[H", b"\r\n")  # a picture begins without a newline
    frame = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", text).decode()
    assert max(map(len, frame.split("\r\n"))) <= 80
    os.write(screen.master, b"q")
    assert screen.end() == 0


@pytest.mark.parametrize("number, status", ((signal.SIGTERM, -15), (signal.SIGHUP, -1),
                                            (signal.SIGINT, 0), (signal.SIGQUIT, -3)))
def test_top_gives_the_terminal_back_on_signals(weir, peers, closing, number, status):
    listener = peers.listen()
    daemon = weir(listen(listener))
    screen = Screen(daemon, 80, 24)
    closing.append(screen)
    screen.wait(b"q quit")
    screen.child.send_signal(number)
    assert screen.end() == status


def test_top_that_is_stopped_gives_the_terminal_to_the_shell(weir, peers, closing):
    listener = peers.listen()
    daemon = weir(listen(listener))
    screen = Screen(daemon, 80, 24)
    closing.append(screen)
    screen.wait(b"q quit")
    screen.child.send_signal(signal.SIGTSTP)
    wait_until(lambda: process.state(screen.child.pid) == "T", "it is stopped")
    screen.wait(b"\x1b[?1049l")
    assert termios.tcgetattr(screen.slave) == screen.before
    screen.child.send_signal(signal.SIGCONT)
    wait_until(lambda: screen.read().count(b"\x1b[?1049h") == 2, "it draws again")
    os.write(screen.master, b"q")
    assert screen.end() == 0


def test_top_ends_with_the_daemon_and_says_so(weir, peers, closing):
    listener = peers.listen()
    daemon = weir(listen(listener))
    screen = Screen(daemon, 80, 24)
    closing.append(screen)
    screen.wait(b"q quit")
    assert daemon.terminate() == 0
    assert screen.end() == 3
    assert b"the daemon no longer answers" in screen.text


@pytest.mark.parametrize("columns, rows", ((40, 24), (80, 6), (200, 50)))
def test_top_fits_its_terminal_and_follows_its_size(weir, peers, closing, columns, rows):
    listener = peers.listen()
    daemon = weir(listen(listener) + "".join(
        f"[listen web-{n}]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n" for n in range(20)))
    screen = Screen(daemon, columns, rows)
    closing.append(screen)
    screen.wait(b"\x1b[J")
    wait_until(lambda: screen.read().count(b"\x1b[J") >= 2, "a whole picture")
    picture = screen.text.split(b"\x1b[H")[-2 if screen.text.count(b"\x1b[H") > 2 else -1]
    lines = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", picture).decode().split("\r\n")
    assert max(map(len, lines)) <= columns
    assert len(lines) <= rows
    if rows < 40:
        assert "  lines 1-" in lines[-1] or columns < 80
    screen.text = b""
    screen.resize(120, 60)
    screen.child.send_signal(signal.SIGWINCH)
    screen.wait(b"web-19/a")
    os.write(screen.master, b"q")
    assert screen.end() == 0


def test_colour_is_for_terminals_that_want_it(weir, peers, closing):
    listener = peers.listen()
    daemon = weir(listen(listener))
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        screen = Screen(daemon, 80, 24, env)
        closing.append(screen)
        screen.wait(b"q quit")
        assert (b"\x1b[1m" in screen.text) == coloured
        os.write(screen.master, b"q")
        assert screen.end() == 0
    dumb = Screen(daemon, 80, 24, {"TERM": "dumb"})
    closing.append(dumb)
    dumb.wait(b"NEW/S")
    wait_until(lambda: dumb.child.poll() == 0, "one page, then the end")
    assert b"\x1b" not in dumb.read()


@pytest.mark.smoke
def test_healthcheck_tells_ready_from_draining_from_gone(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "shutdown-delay = 1h\nhard-stop-after = 60s")
    for args in ([], ["--ready"]):
        got = run("healthcheck", "-f", daemon.config_path, *args)
        assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    client, server = peers.pair(daemon.address("web"), listener)
    for state in "leaving", "draining":
        daemon.signal(signal.SIGTERM)
        wait_until(lambda s=state: daemon.info()["state"] == s, state)
        assert run("healthcheck", "-s", daemon.admin).returncode == 0
        got = run("healthcheck", "-s", daemon.admin, "--ready")
        assert (got.returncode, got.stdout) == (3, "")
        assert f"its state is '{state}'" in got.stderr
    daemon.ended = True
    client.reset()
    server.receive_to_end()
    assert daemon.wait_exit() == 0
    got = run("healthcheck", "-s", daemon.admin)
    assert (got.returncode, got.stdout) == (3, "")
    assert "is weir running?" in got.stderr


def test_a_daemon_that_hangs_does_not_hang_the_healthcheck(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener))
    daemon.freeze()
    begin = time.monotonic()
    got = run("healthcheck", "-s", daemon.admin)
    took = time.monotonic() - begin
    daemon.thaw()
    assert (got.returncode, got.stdout) == (3, "")
    assert "no answer from" in got.stderr
    assert 1.9 <= took <= 2 + 2 * SCALE


# -D, -p, -s.

class Background:
    """Daemons started with -D, which are not children of this process; always ended at the end."""

    def __init__(self, folder):
        self.folder = folder
        self.pids = []

    def config(self, listener, log="file:@/log", more=""):
        path = os.path.join(self.folder, "weir.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[global]\nthreads = 2\nadmin-socket = unix:{self.folder}/admin.sock\n"
                    f"log = {log}\n{driver.line()}{more}".replace("@", self.folder) + "\n" + listen(listener))
        return path

    def start(self, config, *args, wrapper=(), pass_fds=()):
        pid_path = os.path.join(self.folder, "pid")
        got = run("-D", "-p", pid_path, *args, config, wrapper=wrapper, pass_fds=pass_fds)
        if got.returncode == 0:
            with open(pid_path, encoding="ascii") as f:
                self.pids.append(int(f.read()))
        return got

    def close(self):
        for pid in self.pids:
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda pid=pid: gone(pid), "it is gone")


@pytest.fixture
def background(folder, closing):
    daemons = Background(folder)
    closing.append(daemons)
    return daemons


@pytest.fixture
def server(folder, closing):
    listener = peer.Listener("tcp4", folder)
    closing.append(listener)
    return listener


@pytest.mark.smoke
def test_the_parent_returns_when_the_daemon_is_ready(background, server, folder):
    config = background.config(server)
    got = background.start(config)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    pid, = background.pids
    assert run("healthcheck", "--ready", "-f", config).returncode == 0
    with open(os.path.join(folder, "pid"), encoding="ascii") as f:
        assert f.read() == f"{pid}\n"
    assert os.stat(os.path.join(folder, "pid")).st_mode & 0o7777 == 0o644
    assert os.getsid(pid) == pid
    assert [os.readlink(f"/proc/{pid}/fd/{n}") for n in range(3)] == ["/dev/null"] * 3
    assert run("-s", "quit", config).returncode == 0
    wait_until(lambda: gone(pid), "it has ended")
    assert not os.path.exists(os.path.join(folder, "pid"))
    with open(os.path.join(folder, "log"), encoding="utf-8") as f:
        assert "stopped:" in f.read()


def test_a_start_without_standard_descriptors_comes_to_its_end(background, server, folder):
    config = background.config(server)
    pid_path = os.path.join(folder, "pid")
    shell = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BINARY, "-D", "-p", pid_path,
                            config], timeout=3 * PATIENCE)
    assert shell.returncode == 0
    with open(pid_path, encoding="ascii") as f:
        background.pids.append(int(f.read()))
    assert run("-s", "stop", "-p", pid_path).returncode == 0
    wait_until(lambda: gone(background.pids[0]), "it has ended")


def test_sockets_passed_to_the_parent_are_the_childs(background, server, closing):
    """Danger: LISTEN_PID names the process that was started, and -D goes on as another."""
    sock = socket.create_server(("127.0.0.1", 0))
    closing.append(sock)
    config = background.config(server)
    got = background.start(config, "-o", "listen web.bind=fd@web", **passing("web", sock))
    assert (got.returncode, got.stderr) == (0, "")
    page = json.loads(run("status", "--json", "-f", config).stdout)
    assert page["frontends"][0]["listen"][-1] == "127.0.0.1:%d" % sock.getsockname()[1]
    assert run("-s", "quit", config).returncode == 0
    wait_until(lambda: gone(background.pids[0]), "it has ended")


def test_a_log_that_goes_nowhere_is_told_once(background, server):
    config = background.config(server, log="stderr")
    got = background.start(config)
    assert got.returncode == 0
    assert got.stderr.count("with -D a log to stderr goes nowhere") == 1
    assert "'log = file:PATH'" in got.stderr
    assert run("-s", "quit", config).returncode == 0
    wait_until(lambda: gone(background.pids[0]), "it has ended")
    got = background.start(config, "-q")
    assert "goes nowhere" not in got.stderr


def test_a_wrong_file_is_told_alike_in_front_and_behind(background, server):
    config = background.config(server, more="maxconn = ten\n")
    got = background.start(config)
    ahead = run(config)
    assert (got.returncode, got.stdout, got.stderr) == (1, "", ahead.stderr)
    assert ahead.returncode == 1
    assert "1 error, 0 warnings" in got.stderr


def test_the_parent_has_the_exit_code_and_the_words_of_a_daemon_that_failed(background, server):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        config = background.config(server)
        got = background.start(config, "-o", "global.threads=2", "-o", "listen web.maxconn=10")
        assert got.returncode == 0
        assert run("-s", "stop", config).returncode == 0
        wait_until(lambda: gone(background.pids[0]), "it has ended")
        with open(config, "a", encoding="utf-8") as f:
            f.write(f"[listen busy]\nbind = 127.0.0.1:{port}\nserver a = {server.address}\n")
        got = background.start(config)
        assert got.returncode == 3
        assert "address already in use" in got.stderr
        assert not os.path.exists(os.path.join(background.folder, "pid"))


def test_a_second_start_leaves_the_pid_file_of_the_first_alone(background, server, folder):
    config = background.config(server)
    assert background.start(config).returncode == 0
    assert background.start(config).returncode == 3
    with open(os.path.join(folder, "pid"), encoding="ascii") as f:
        assert f.read() == f"{background.pids[0]}\n"


def test_a_pid_file_works_in_the_foreground_and_replaces_a_stale_one(background, server, folder):
    pid_path = os.path.join(folder, "pid")
    with open(pid_path, "w", encoding="ascii") as f:
        f.write("1\nand what not")
    child = subprocess.Popen([BINARY, "-p", pid_path, background.config(server)])
    try:
        wait_until(lambda: open(pid_path, encoding="ascii").read() == f"{child.pid}\n", "its pid")
        wait_until(lambda: run("healthcheck", "-s", f"{folder}/admin.sock").returncode == 0, "ready")
        assert run("-s", "quit", "-p", pid_path).returncode == 0
        assert child.wait(PATIENCE) == 0
        assert not os.path.exists(pid_path)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("path", ("/nowhere/pid", "/dev/null", "@"))
def test_a_pid_file_that_cannot_be_written_ends_with_3(background, server, folder, path):
    got = run("-p", path.replace("@", folder), background.config(server))
    assert got.returncode == 3
    assert "cannot write the pid file" in got.stderr
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")


def test_stop_ends_sessions_at_once_and_quit_does_not(background, server):
    config = background.config(server, more="hard-stop-after = 60s\n")
    for word in ("quit", "stop"):
        assert background.start(config).returncode == 0
        pid = background.pids[-1]
        page = json.loads(run("status", "--json", "-f", config).stdout)
        host, port = page["frontends"][0]["listen"][0].rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as client:
            wait_until(lambda: json.loads(run("status", "--json", "-f", config).stdout)["sessions"] == 1,
                       "a session")
            assert run("-s", word, config).returncode == 0
            if word == "quit":
                wait_until(lambda: "draining" in run("status", "-f", config).stdout, "it drains")
                assert not gone(pid)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.close()  # a reset: the session has no peer left
            wait_until(lambda: gone(pid), f"it has ended after {word}")


def test_reopen_opens_the_log_again(background, server, folder):
    config = background.config(server)
    assert background.start(config).returncode == 0
    log = os.path.join(folder, "log")
    os.rename(log, log + ".1")
    assert run("-s", "reopen", config).returncode == 0
    wait_until(lambda: os.path.exists(log), "a new log")
    assert run("healthcheck", "-f", config).returncode == 0


def test_no_signal_goes_to_a_process_that_is_no_weir(background, server, folder):
    other = subprocess.Popen(["sleep", "1000"])
    pid_path = os.path.join(folder, "pid")
    try:
        with open(pid_path, "w", encoding="ascii") as f:
            f.write(f"{other.pid}\n")
        got = run("-s", "stop", "-p", pid_path)
        assert got.returncode == 3
        assert "is not weir" in got.stderr
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    got = run("-s", "stop", "-p", pid_path)
    assert got.returncode == 3
    assert "has ended" in got.stderr
    got = run("-s", "stop", background.config(server))
    assert got.returncode == 3
    assert "is weir running?" in got.stderr
    # Somebody else's socket at that place.
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"{folder}/admin.sock")
        s.listen()
        got = run("-s", "stop", background.config(server))
    assert got.returncode == 3
    assert "is not weir" in got.stderr


# Exit codes: 0, 1 and 2 are in tests/cli too.

def test_1_a_refused_command_and_an_unknown_user(weir, peers, background, server):
    listener = peers.listen()
    daemon = weir(listen(listener))
    got = run("ctl", "-s", daemon.admin, "shwo", "info")
    assert (got.returncode, got.stdout) == (1, "")
    assert "did you mean 'show info'?" in got.stderr
    got = run(background.config(server, more="user = no-such-user\n"))
    assert got.returncode == 1
    assert "there is no user 'no-such-user'" in got.stderr


@ROOT
def test_3_a_port_that_only_root_may_have(background, server):
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as f:
        first = int(f.read())
    if first <= 1:
        pytest.skip("every user may have every port here")
    os.chmod(background.folder, 0o777)
    config = background.config(server, log="stderr")
    with open(config, "a", encoding="utf-8") as f:
        f.write(f"[listen low]\nbind = 127.0.0.1:{first - 1}\nserver a = {server.address}\n")
    got = run(config, wrapper=NOBODY)
    assert got.returncode == 3
    assert "CAP_NET_BIND_SERVICE" in got.stderr
    got = run("check", "--probe", config, wrapper=NOBODY)
    assert got.returncode == 3
    assert "CAP_NET_BIND_SERVICE" in got.stdout


def test_3_too_few_descriptors(background, server):
    got = run(background.config(server, log="stderr"), wrapper=["prlimit", "--nofile=20:20"])
    assert got.returncode == 3
    assert "descriptors are not enough" in got.stderr


def test_3_another_user_without_the_right(background, server):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("not root, or no setpriv: cannot become nobody")
    os.chmod(background.folder, 0o777)
    got = run(background.config(server, log="stderr", more="user = root\n"), wrapper=NOBODY)
    assert got.returncode == 3
    assert "cannot become user root" in got.stderr


@pytest.mark.release_only
def test_4_a_daemon_that_is_killed_before_it_is_ready(background, server):
    """No action of a peer or the kernel makes a worker end by itself, so the only case of code 4
    that is visible from outside is a daemon that dies during its start."""
    if trace.missing():
        pytest.skip(trace.missing())
    got = background.start(background.config(server), wrapper=[
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=listen", "-e",
        "inject=listen:signal=SIGKILL:when=1"])
    assert got.returncode == 4
    assert "killed by signal 9" in got.stderr


@pytest.mark.release_only
@pytest.mark.parametrize("error", ("ENOSPC", "ENOMEM"))
def test_3_no_room_for_the_watch_that_wakes_control(background, server, error):
    if trace.missing():
        pytest.skip(trace.missing())
    got = run(background.config(server, log="stderr"), wrapper=[
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=epoll_ctl", "-e",
        f"inject=epoll_ctl:error={error}:when=1"])
    assert got.returncode == 3
    assert "cannot start: the event loop cannot watch for wake-ups: " in got.stderr


@pytest.mark.release_only
def test_3_a_standard_descriptor_that_cannot_be_filled(background, server):
    """A library that prints would write to the client whose socket has its number."""
    if trace.missing():
        pytest.skip(trace.missing())
    path = background.config(server, log="stderr")
    got = run(path, wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-P", "/dev/null", "-e",
                             "trace=openat", "-e", "inject=openat:error=ENFILE",
                             "sh", "-c", 'exec "$@" <&-', "sh"])
    assert got.returncode == 3
    assert "/dev/null cannot be opened in its place: Too many open files in system" in got.stderr


# check --probe.

def test_a_probe_that_goes_well(background, server):
    # Set explicitly, so that there is no warning when root runs the tests.
    config = background.config(server, more="user = root\n" if os.geteuid() == 0 else "")
    got = run("check", "--probe", config)
    assert (got.returncode, got.stderr) == (0, "")
    words = [line.split()[0] for line in got.stdout.splitlines()[1:]]
    assert [word for word in words if word != "driver"] == ["bind", "bind", "connect"]
    assert "FAILED" not in got.stdout
    assert not os.path.exists(f"{background.folder}/admin.sock")
    assert run("-q", "-c", "--probe", config).stdout == ""


def test_a_probe_takes_nothing_from_a_running_weir(background, server):
    config = background.config(server)
    assert background.start(config).returncode == 0
    page = json.loads(run("status", "--json", "-f", config).stdout)
    with open(config, "a", encoding="utf-8") as f:
        f.write(f"[listen again]\nbind = {page['frontends'][0]['listen'][0]}\n"
                f"server a = {server.address}\n")
    got = run("check", "--probe", "--json", config)
    assert got.returncode == 3
    found = {line["name"]: line for line in json.loads(got.stdout)["probe"] if line["what"] == "bind"}
    assert found["web"]["ok"]
    for name in ("again", "admin-socket"):
        assert not found[name]["ok"]
        assert f"maybe by the running weir (pid {background.pids[0]})" in found[name]["words"]
    assert run("healthcheck", "--ready", "-f", config).returncode == 0


def test_a_probe_names_what_fails_and_is_bounded(background, server, folder, closing):
    silent = socket.socket()  # a full backlog: connects to it are never answered
    closing.append(silent)
    silent.bind(("127.0.0.1", 0))
    silent.listen(0)
    for _ in range(4):
        filler = socket.socket()
        closing.append(filler)
        filler.setblocking(False)
        filler.connect_ex(silent.getsockname())
    stale = os.path.join(folder, "stale.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(stale)
    config = background.config(server)
    with open(config, "a", encoding="utf-8") as f:
        f.write("".join(f"server s{n} = 127.0.0.1:{silent.getsockname()[1]}\n" for n in range(20)))
        f.write(f"server none = unix:{folder}/none.sock\nserver name = no-such-name.invalid:80\n"
                f"[listen stale]\nbind = unix:{stale}\nserver a = {server.address}\n"
                f"[listen folder]\nbind = unix:{folder}/no/folder.sock\nserver a = {server.address}\n")
    begin = time.monotonic()
    got = run("check", "--probe", config)
    took = time.monotonic() - begin
    assert got.returncode == 3

    def line(*words):
        return re.search("^" + " +".join(words), got.stdout, re.M)
    assert len(re.findall(r"^connect +web/s\d+ .*FAILED +no answer within 2.0 s$", got.stdout, re.M)) == 20
    assert line("connect", "web/none", r"\S+", "FAILED", "No such file or directory")
    assert line("resolve", "web/name", r"\S+", "FAILED")
    assert line("bind", "stale", r"\S+", "OK")
    assert line("bind", "folder", r"\S+", "FAILED", "the folder does not exist")
    assert os.path.exists(stale), "a probe removed somebody's socket"
    assert took < 5 + 2 + 3 * SCALE


def test_a_probe_tells_which_set_needs_dns(background, server):
    config = background.config(server, more="resolver = system\n")
    with open(config, "a", encoding="utf-8") as f:
        f.write("servers x = srv://_a._tcp.example.test\n")
    got = run("check", "--probe", config)
    assert got.returncode == 3
    assert re.search("^resolver +global +FAILED +srv:// of the set 'x' .* need DNS", got.stdout, re.M), got


# hatop and its kind.

def test_a_prompt_serves_command_after_command(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(daemon.admin)

        def ask(line):
            s.sendall(line.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n> "):
                answer += s.recv(65536)
            return answer.decode()
        assert ask("prompt") == "\n> "
        assert ask("set timeout cli 99") == "\n> "
        assert re.search(r"^Name:\s+\S+", ask("show info"), re.M)
        assert ask("show stat").startswith("# pxname,svname,")
        assert ask("show sess") == "\n> "
        s.sendall(b"quit\n")
        assert s.recv(100) == b""
