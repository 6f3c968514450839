# SPDX-License-Identifier: MIT
"""`weir reload`: how it finds the running weir, what it asks, and what becomes of the answer.

Runs the binary named by WEIR_BIN (build/src/weir) against small servers that answer as a daemon would.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))
WAIT_S = float(os.environ.get("WEIR_TEST_WAIT", "20"))
GOOD = "[listen web]\nbind = 127.0.0.1:0\nserver a = 10.0.0.1:80\n"
FINE = b"reloaded: generation 2, 1 server added\n"
SERVICE = Path("/run/weir/weir.control")
NOBODY, SOMEBODY = 65534, 65533

# Another process with a control socket: ADDRESS ANSWER NAME MORE...; reports that it listens, and ends with
# its stdin.
OTHER = """
import ctypes, os, socket, sys, threading
ctypes.CDLL(None).prctl(15, sys.argv[3].encode())
place = sys.argv[1].replace("PID", str(os.getpid()))
if place:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\\0" + place[1:] if place[0] == "@" else place)
    if place[0] != "@":
        os.chmod(place, int(os.environ.get("MODE", "600"), 8))
    server.listen(4)
    def serve():
        while True:
            conn, _ = server.accept()
            if conn.recv(100):
                conn.sendall(sys.argv[2].encode())
            conn.close()
    threading.Thread(target=serve, daemon=True).start()
print(flush=True)
sys.stdin.read()
"""


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if k != "RUNTIME_DIRECTORY"}
    return {**clean, **{k: str(v) for k, v in more.items()}}


def run(*args, env=None, **more):
    return subprocess.run([WEIR, *map(str, args)], capture_output=True, text=True, timeout=WAIT_S,
                          env=environment(**(env or {})), stdin=subprocess.DEVNULL, check=False, **more)


class Daemon:
    """Listens in this process, and answers one line after another with `parts`; `go` lets each later part
    of an answer begin."""

    def __init__(self, address, *parts, close_unread=False):
        self.parts, self.seen, self.go = parts, [], threading.Semaphore(0)
        self.close_unread = close_unread
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(address))
        self.server.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                conn, _ = self.server.accept()
            except OSError:
                return
            with conn:
                self.answer(conn)

    def answer(self, conn):
        line = b""
        while not self.close_unread and not line.endswith(b"\n"):
            got = conn.recv(4096)
            if not got:
                return  # it looked who is here
            line += got
        self.seen.append(line)
        for i, part in enumerate(self.parts):
            if i > 0:
                assert self.go.acquire(timeout=WAIT_S)
            conn.sendall(part)

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.thread.join(WAIT_S)
        self.server.close()


@contextlib.contextmanager
def daemon(address, *parts, **more):
    d = Daemon(address, *parts, **more)
    try:
        yield d
    finally:
        d.close()


@contextlib.contextmanager
def other_process(place, *args, answer=FINE, name="weir", env=None, **more):
    proc = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(place), answer.decode(), name, *map(str, args)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(**(env or {})), **more)
    try:
        assert proc.stdout.readline() == b"\n"
        yield proc.pid
    finally:
        proc.stdin.close()
        proc.wait(WAIT_S)
        proc.stdout.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weir.control"


# ---- the answer ----

@pytest.mark.parametrize("args, line", [([], b"@weir reload\n"),
                                        (["--wait"], b"@weir reload wait\n")])
def test_a_reload_prints_its_result_on_stdout(path, args, line):
    answer = FINE + (b"retired: nothing of the earlier configuration is left\n" if args else b"")
    with daemon(path, answer) as d:
        got = run("reload", "-s", path, *args)
    assert (got.returncode, got.stdout, got.stderr) == (0, answer.decode(), "")
    assert d.seen == [line]


def test_what_precedes_the_result_goes_to_stderr(path):
    before = "web.ini:3:1: warning: something\nneeds a restart: threads, user\n"
    with daemon(path, before.encode() + FINE):
        got = run("reload", "-s", path)
    assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), before)


REFUSED = ("web.ini:3:1: error: unknown key 'balnce'\n  3 | balnce = x\n    | ^^^^^^\n"
           "not reloaded: 1 error in web.ini\n")


@pytest.mark.parametrize("args", [["reload"], ["reload", "-q"], ["ctl"]])
def test_a_refusal_goes_to_stderr_and_ends_with_1(path, args):
    with daemon(path, REFUSED.encode()):
        got = run(*args, "-s", path, *(["reload"] if args == ["ctl"] else []))
    assert (got.returncode, got.stdout, got.stderr) == (1, "", REFUSED)


def test_quiet_prints_nothing_of_a_reload(path):
    with daemon(path, b"web.ini:3:1: warning: something\n" + FINE + b"retired: nothing is left\n"):
        got = run("reload", "-q", "--wait", "-s", path)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")


def test_the_result_is_shown_before_the_end_of_the_wait(path):
    with daemon(path, FINE, b"retired: nothing is left\n") as d:
        with subprocess.Popen([WEIR, "reload", "--wait", "-s", path], stdout=subprocess.PIPE) as proc:
            assert proc.stdout.readline() == FINE
            d.go.release()
            assert proc.stdout.read() == b"retired: nothing is left\n"
            assert proc.wait(WAIT_S) == 0


def test_an_answer_may_arrive_byte_by_byte(path):
    answer = b"needs a restart: threads\n" + FINE + b"retired: nothing is left\n"
    with daemon(path, *(answer[i:i + 1] for i in range(len(answer)))) as d:
        for _ in answer:
            d.go.release()
        got = run("reload", "--wait", "-s", path)
    assert (got.returncode, got.stderr) == (0, "needs a restart: threads\n")
    assert got.stdout == answer.decode().partition("\n")[2]


def test_a_long_answer_is_shown_whole(path):
    before = b"".join(b"web.ini:%d:1: error: unknown key 'zzz'\n" % i for i in range(20000))
    with daemon(path, before + b"not reloaded: 20000 errors\n"):
        got = run("reload", "-s", path)
    assert (got.returncode, got.stderr) == (1, before.decode() + "not reloaded: 20000 errors\n")


@pytest.mark.parametrize("answer", [b"", b"web.ini:3:1: error: unknown key 'zzz'\n", b"reloaded: gener",
                                    b"x reloaded: generation 2\n", b"retired: nothing is left\n", b"\0\0"])
def test_an_answer_without_a_result_ends_with_3(path, answer):
    with daemon(path, answer):
        got = run("reload", "-s", path)
    assert (got.returncode, got.stdout) == (3, "")
    lines = got.stderr.splitlines()
    assert lines[-1] == (f"weir: lost the connection to unix:{path} before the result; it is in the log of "
                         "weir")
    assert not answer.strip(b"\0") or lines[:-1] == answer.decode().splitlines()


def test_a_reset_is_a_lost_connection(path):
    with daemon(path, b"needs a restart: threads\n", close_unread=True):
        got = run("reload", "-s", path)
    assert (got.returncode, got.stdout) == (3, "")
    assert f"weir: lost the connection to unix:{path} before the result" in got.stderr


def test_a_command_that_is_not_allowed_ends_with_1(path):
    refusal = b"error: permission denied: 'reload' needs level=admin\n"
    with daemon(path, refusal):
        got = run("reload", "-s", path)
    assert (got.returncode, got.stdout, got.stderr) == (1, "", refusal.decode())


def test_a_wait_that_is_cut_off_says_so(path):
    with daemon(path, FINE):
        got = run("reload", "--wait", "-s", path)
    assert (got.returncode, got.stdout) == (0, FINE.decode())
    assert got.stderr == (f"weir: lost the connection to unix:{path} before the earlier configuration had "
                          "been retired\n")


def test_a_full_disk_is_not_success(path):
    with daemon(path, FINE), open("/dev/full", "w", encoding="ascii") as full:
        got = subprocess.run([WEIR, "reload", "-s", path], stdout=full, stderr=subprocess.PIPE, text=True,
                             timeout=WAIT_S, check=False)
    assert (got.returncode, got.stderr) == (3, "weir: stdout: No space left on device\n")


def test_ctl_shows_a_reload_as_the_verb_does(path):
    with daemon(path, b"needs a restart: threads\n" + FINE + b"retired: nothing is left\n") as d:
        for words in (["reload", "wait"], ["reload wait"]):
            got = run("ctl", "-s", path, *words)
            assert (got.returncode, got.stderr) == (0, "needs a restart: threads\n")
            assert got.stdout == FINE.decode() + "retired: nothing is left\n"
    assert d.seen == [b"@weir reload wait\n"] * 2
    got = run("ctl", "-s", path, "reload")
    assert (got.returncode, got.stdout) == (3, "")
    assert "is weir running?" in got.stderr


# ---- finding it by its process ----

def test_a_process_is_found_in_the_runtime_directory(tmp_path, path):
    with daemon(path, FINE) as d:
        got = run("reload", "--wait", "--pid", os.getpid(), env={"RUNTIME_DIRECTORY": f"{tmp_path}:/run/x"})
        assert (got.returncode, got.stdout) == (0, FINE.decode())
    assert d.seen == [b"@weir reload wait\n"]


def test_a_process_is_found_by_its_own_environment(tmp_path, path):
    with other_process(path, env={"RUNTIME_DIRECTORY": f"{tmp_path}:/run/x"}) as pid:
        got = run("reload", f"--pid={pid}")
    assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")


@pytest.mark.parametrize("args", [["reload"], ["-s", "reload"], ["-q", "-s", "reload"]])
def test_a_process_is_found_by_its_pid_file(tmp_path, args):
    pid_file = tmp_path / "w.pid"
    with other_process(f"{pid_file}.control") as pid:
        pid_file.write_text(f"{pid}\n")
        got = run(*args, "-p", pid_file)
    assert (got.returncode, got.stdout, got.stderr) == (0, "" if "-q" in args else FINE.decode(), "")


@pytest.mark.parametrize("named", ["absolute", "relative"])
def test_a_process_is_found_by_the_pid_file_of_its_command_line(tmp_path, named):
    pid_file = tmp_path / "w.pid"
    with other_process(f"{pid_file}.control", "-p", pid_file if named == "absolute" else "w.pid",
                       cwd=tmp_path) as pid:
        got = run("reload", "--pid", pid)
    assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")


def test_a_process_is_found_by_its_abstract_name():
    with other_process("@weir-PID") as pid:
        got = run("reload", "--pid", pid, env={"RUNTIME_DIRECTORY": "/nonexistent"})
    assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")


def test_a_socket_of_another_process_is_never_asked(tmp_path, path):
    """Neither at a path that belongs to another weir, nor by a name that somebody else took first."""
    with daemon(path, FINE) as d, other_process("@weir-PID") as pid:
        got = run("reload", "--pid", pid, env={"RUNTIME_DIRECTORY": tmp_path})
        assert (got.returncode, got.stdout) == (0, FINE.decode())
    with other_process("") as pid, daemon(f"\0weir-{pid}", FINE) as taken:
        got = run("reload", "--pid", pid, env={"RUNTIME_DIRECTORY": tmp_path})
        assert (got.returncode, got.stdout) == (3, "")
        assert f"the control socket of process {pid} cannot be found" in got.stderr
        assert f"'kill -HUP {pid}' reloads too" in got.stderr
    assert d.seen == taken.seen == []


def test_a_process_that_is_no_weir_or_has_ended_is_named(tmp_path):
    with other_process("", name="sleep") as pid:
        got = run("reload", "--pid", pid)
    assert (got.returncode, got.stdout) == (3, "")
    assert got.stderr == f"weir: process {pid} is not weir; nothing was sent to it\n"
    (tmp_path / "w.pid").write_text(f"{pid}\n")
    for args in (["--pid", pid], ["-p", tmp_path / "w.pid"]):
        got = run("reload", *args)
        assert (got.returncode, got.stdout) == (3, "")
        assert got.stderr == f"weir: there is no process {pid}; is weir running?\n"


@pytest.mark.parametrize("content, words", [(None, "No such file or directory; is weir running?"),
                                            ("x\n", "there is no process ID in")])
def test_a_pid_file_without_a_process_is_named(tmp_path, content, words):
    if content is not None:
        (tmp_path / "w.pid").write_text(content)
    for verb in (["reload"], ["-s", "reload"]):
        got = run(*verb, "-p", tmp_path / "w.pid")
        assert (got.returncode, got.stdout) == (3, "")
        assert words in got.stderr
        assert str(tmp_path / "w.pid") in got.stderr


@pytest.mark.parametrize("pid", ["", "0", "-1", "x", "12x", str(1 << 31), str((1 << 64) + 1)])
def test_a_wrong_process_id_ends_with_2(pid):
    got = run("reload", f"--pid={pid}")
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr == f"weir: --pid must be a process ID, not '{pid}'\n"


@pytest.mark.parametrize("args", [["--pid"], ["web.ini"], ["--json"], ["--wiat"]])
def test_a_wrong_command_line_ends_with_2(args):
    got = run("reload", *args)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("weir: ")


@pytest.fixture
def public():
    """A folder that every user may enter, with a copy of the program."""
    folder = Path(tempfile.mkdtemp(prefix="weir-reload-"))
    folder.chmod(0o755)
    shutil.copy(WEIR, folder / "weir")
    yield folder
    shutil.rmtree(folder)


def as_nobody(public, *args, **env):
    return subprocess.run([public / "weir", *map(str, args)], capture_output=True, text=True, timeout=WAIT_S,
                          env=environment(**env), stdin=subprocess.DEVNULL, check=False, user=NOBODY,
                          group=NOBODY, extra_groups=[])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
@pytest.mark.parametrize("mode", ["600", "666"], ids=("the mode refuses", "the uid differs"))
def test_a_user_who_may_not_reload_is_told_so(public, mode):
    place = public / "weir.control"
    owner = {} if mode == "600" else {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []}
    public.chmod(0o777)
    with other_process(place, env={"MODE": mode}, **owner) as pid:
        got = as_nobody(public, "reload", "--pid", pid, RUNTIME_DIRECTORY=public)
    assert (got.returncode, got.stdout) == (3, "")
    assert got.stderr == (f"weir: uid {NOBODY} may not use unix:{place}: only root and the user that weir "
                          "runs as may; use sudo, or -s SOCKET with an admin socket of level=admin\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")
def test_the_own_user_may_reload(public):
    public.chmod(0o777)
    with other_process(public / "weir.control", user=NOBODY, group=NOBODY, extra_groups=[]) as pid:
        for got in (as_nobody(public, "reload", "--pid", pid, RUNTIME_DIRECTORY=public),
                    run("reload", "--pid", pid, env={"RUNTIME_DIRECTORY": public})):
            assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")


def test_a_daemon_that_accepts_nobody_is_no_endless_wait(tmp_path, path):
    with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as held:
        server.bind(str(path))
        server.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(8):  # until the backlog is full
                client = held.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                client.connect(str(path))
        got = run("reload", "--pid", os.getpid(), env={"RUNTIME_DIRECTORY": tmp_path})
    assert (got.returncode, got.stdout) == (3, "")
    assert got.stderr == f"weir: no answer from unix:{path} within 2 s\n"


# ---- finding it by its sockets ----

def test_the_configuration_names_the_admin_socket(tmp_path):
    conf, admin = tmp_path / "c.ini", tmp_path / "admin.sock"
    conf.write_text(f"[global]\nadmin-socket = unix:{admin}\n" + GOOD)
    with daemon(admin, FINE) as d:
        for args in (["reload", "-f", conf], ["-s", "reload", "-f", conf], ["-s", "reload", conf]):
            got = run(*args)
            assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")
    assert d.seen == [b"@weir reload\n"] * 3
    got = run("reload", "-f", conf)
    assert (got.returncode, got.stdout) == (3, "")
    assert "is weir running?\n" in got.stderr
    assert got.stderr.endswith("name the process: weir reload --pid PID\n")


def test_a_configuration_without_an_admin_socket_is_not_the_end(tmp_path):
    conf = tmp_path / "c.ini"
    conf.write_text(GOOD)
    got = run("reload", "-f", conf)
    assert (got.returncode, got.stdout) == (3, "")
    assert "no 'admin-socket' in [global]; give --pid PID, -p PIDFILE or -s SOCKET\n" in got.stderr
    got = run("-s", "reload", "-f", conf)
    assert "no 'admin-socket' in [global]; give -p PIDFILE\n" in got.stderr
    conf.write_text(GOOD + "balnce = x\n")
    got = run("reload", "-f", conf)
    assert (got.returncode, got.stdout) == (1, "")
    assert "unknown key 'balnce'" in got.stderr
    assert "give --pid PID, -p PIDFILE or -s SOCKET\n" in got.stderr


def test_the_service_is_found_without_a_flag(tmp_path, path):
    with daemon(path, FINE) as d:
        for args in (["reload"], ["-s", "reload"]):
            got = run(*args, env={"RUNTIME_DIRECTORY": tmp_path})
            assert (got.returncode, got.stdout, got.stderr) == (0, FINE.decode(), "")
    assert d.seen == [b"@weir reload\n"] * 2


@pytest.mark.skipif(SERVICE.exists() or os.path.exists("/etc/weir/weir.ini"),
                    reason="this machine has the service")
def test_without_any_weir_the_way_on_is_said(tmp_path):
    got = run("reload", env={"RUNTIME_DIRECTORY": tmp_path})
    assert (got.returncode, got.stdout) == (3, "")
    assert got.stderr == ("weir: cannot find the admin socket without /etc/weir/weir.ini; give -f FILE, or "
                          "--pid PID, -p PIDFILE or -s SOCKET\n")


# ---- trials and the way back ----

def asked(d):
    """Without the word for our texts."""
    return [line.removeprefix(b"@weir ") for line in d.seen]


TRIAL = b"on trial: until 2026-11-23T16:05:00Z; 'weir confirm' keeps generation 2, otherwise\n"


@pytest.mark.parametrize("args, line, answer, code", [
    (["reload", "--confirm", "90s"], b"reload confirm=90s\n", TRIAL + FINE, 0),
    (["reload", "--confirm=1m", "--wait"], b"reload wait confirm=1m\n", TRIAL + FINE + b"retired: x\n", 0),
    (["reload", "--confirm", "1h", "--hold"], b"reload confirm=1h hold\n",
     TRIAL + FINE + b"confirmed: generation 2\n", 0),
    (["reload", "--confirm", "1h", "--hold"], b"reload confirm=1h hold\n",
     TRIAL + FINE + b"returned: generation 3, as generation 1\n", 1),
    (["reload", "--confirm", "1h", "--hold"], b"reload confirm=1h hold\n", b"on trial: nothing\n" + FINE, 0),
    (["reload", "--confirm", "1h", "--hold"], b"reload confirm=1h hold\n", TRIAL + FINE, 3),
    (["confirm"], b"confirm\n", b"confirmed: generation 2\n", 0),
    (["confirm", "--file"], b"confirm file\n", b"not confirmed: nothing is on trial\n", 1),
    (["rollback"], b"rollback\n", b"rolled back: generation 3, as generation 1\n", 0),
    (["rollback", "7"], b"rollback 7\n", b"not rolled back: the text is not kept\n", 1),
    (["rollback", "7"], b"rollback 7\n", b"something\n", 3)])
def test_each_verb_asks_and_shows_its_result(path, args, line, answer, code):
    with daemon(path, answer) as d:
        got = run(*args, "-s", path)
    assert asked(d) == [line]
    assert got.returncode == code
    begin = answer.partition(b"reloaded: ")
    data = b"".join(begin[1:]) if begin[1] else answer
    assert got.stdout == (data.decode() if code == 0 or begin[1] else "")
    for part in begin[0].decode().splitlines():
        assert code == 0 and not begin[1] or part in got.stderr
    assert (code == 3 and bool(begin[1])) == ("during the trial: unless it was confirmed" in got.stderr)


@pytest.mark.parametrize("args, words", [
    (["reload", "--confirm", "60"], "--confirm must be a time from 1s to 24h, such as 60s, not '60'"),
    (["reload", "--confirm", "25h"], "not '25h'"), (["reload", "--confirm", "0"], "not '0'"),
    (["reload", "--confirm", "1s" * 60], "not '1s1s"),
    (["reload", "--hold"], "--hold needs --confirm TIME"),
    (["reload", "--hold", "--wait", "--confirm", "1h"], "--hold and --wait exclude each other"),
    (["rollback", "0"], "rollback takes one generation, such as 3, not '0'"),
    (["rollback", "x"], "not 'x'"), (["rollback", "1", "2"], "not '2'"),
    (["confirm", "file"], "confirm takes -f FILE, not 'file'"), (["confirm", "--wait"], "--wait"),
    (["rollback", "--confirm", "1h"], "--confirm")])
def test_wrong_words_end_with_2(path, args, words):
    with daemon(path, FINE) as d:
        got = run(*args, "-s", path)
    assert (got.returncode, got.stdout) == (2, "")
    assert words in got.stderr
    assert d.seen == []


@pytest.mark.parametrize("command", ["confirm", "rollback 3", "reload confirm=1h"])
def test_ctl_shows_them_as_the_verbs_do(path, command):
    with daemon(path, b"web.ini:3:1: warning: something\nconfirmed: generation 2\n"):
        got = run("ctl", "-s", path, *command.split())
    assert (got.returncode, got.stdout) == (0, "confirmed: generation 2\n")
    assert got.stderr == "web.ini:3:1: warning: something\n"


# ---- the unit ----

def test_the_unit_reloads_by_this_verb():
    unit = (ROOT / "conf/weir.service").read_text()
    assert re.findall(r"(?m)^ExecReload=(.*)$", unit) == ["/usr/bin/weir reload --wait --pid $MAINPID"]
