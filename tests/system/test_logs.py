# SPDX-License-Identifier: MIT
"""Danger: a log that is wrong, stalls or grows: lines lost or duplicated at rotation, a stranger's bytes that
forge a line, invalid JSON, or a missing syslog that takes the daemon down with it."""

import collections
import json
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import threading

import pytest

from harness import daemon as daemons
from harness.peer import PREAMBLE
from harness.timing import PATIENCE, SCALE, wait_until

LISTEN = "[listen l]\nbind = 127.0.0.1:0\nserver a = {}\n"


def json_lines(path):
    """The last one may still be being written."""
    with open(path, encoding="ascii") as f:
        return [json.loads(line) for line in f.read().split("\n")[:-1]]


def sessions_in(lines):
    return [line for line in lines if line["event"] == "session"]


def echo_once(peers, daemon, listener):
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(5000)
    server.receive(5000)
    server.send(700)
    client.receive(700)
    return client, server


class Receiver:
    """A syslog daemon: datagrams, or the NUL-ended lines of one stream."""

    def __init__(self, name, family=socket.AF_UNIX, kind=socket.SOCK_DGRAM):
        self.stream = kind == socket.SOCK_STREAM
        self.lines = []
        self.sock = socket.socket(family, kind)
        self.sock.bind(name)
        if family == socket.AF_UNIX:
            os.chmod(name, 0o666)
        if self.stream:
            self.sock.listen(4)
        self.name = self.sock.getsockname()
        self.thread = threading.Thread(target=self._stream if self.stream else self._datagrams)
        self.thread.start()

    def _datagrams(self):
        while True:
            line = self.sock.recv(65536)
            if line == b"end":
                return
            self.lines.append(line.decode("ascii"))

    def _stream(self):
        conn, _ = self.sock.accept()
        rest = b""
        with conn:
            while data := conn.recv(65536):
                *whole, rest = (rest + data).split(b"\0")
                self.lines += [line.decode("ascii") for line in whole]
        assert rest == b""

    def wait(self, pattern):
        return wait_until(lambda: next((x for x in self.lines if re.search(pattern, x)), None),
                          lambda: f"a line like {pattern}; there are\n" + "\n".join(self.lines))

    def close(self):
        if self.sock.fileno() < 0:
            return
        if not self.stream:
            with socket.socket(self.sock.family, socket.SOCK_DGRAM) as s:
                s.sendto(b"end", self.name)
        self.thread.join(PATIENCE)
        self.sock.close()
        if self.sock.family == socket.AF_UNIX and os.path.exists(self.name):
            os.unlink(self.name)


@pytest.mark.smoke
def test_json_sessions_parse_and_agree_with_the_counters(weir, peers, folder):
    path = f"{folder}/log.json"
    listener = peers.listen()
    # Lines before the first section belong to [global]: a target in addition to the harness's stderr.
    daemon = weir(f"log = file:{path} format=json level=info\n"
                  + LISTEN.format(listener.address) + "retries = 0\n"
                  f"[listen gone]\nbind = 127.0.0.1:0\nserver b = unix:{folder}/missing\nretries = 0\n")
    client, server = echo_once(peers, daemon, listener)
    where = "{}:{}".format(*client.sock.getsockname())
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()
    client, server = echo_once(peers, daemon, listener)
    client.reset()
    server.receive_to_end()
    client, server = echo_once(peers, daemon, listener)
    server.reset()
    client.receive_to_end()
    peers.connect(daemon.address("gone")).receive_to_end()
    ended = wait_until(lambda: len(found := sessions_in(json_lines(path))) == 4 and found,
                       lambda: f"4 sessions in {json_lines(path)}")
    counts = collections.Counter((line["reason"], line["ts_code"]) for line in ended)
    assert counts == {("normal", "--"): 1, ("client_reset", "CD"): 1, ("server_reset", "SD"): 1,
                      ("connect_failed", "SC"): 1}
    info = daemon.info()
    assert len(ended) == info["accepted"]
    assert sum(line["bytes_in"] for line in ended) == info["bytes_to_server"]
    assert sum(line["bytes_out"] for line in ended) == info["bytes_to_client"]
    assert sum(line["bytes_spliced"] for line in ended) == info["bytes_spliced"]
    assert sum(line["tries"] for line in ended) == info["connects"]
    normal = next(line for line in ended if line["reason"] == "normal")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", normal["ts"])
    assert normal["client"] == where and normal["server_address"] == str(listener.address)
    assert (normal["frontend"], normal["backend"], normal["server"]) == ("l", "l", "a")
    assert normal["level"] == "info" and normal["reason_text"] == "both sides closed"
    assert 0 <= normal["connect_s"] <= normal["duration_s"] < 60 * SCALE
    assert normal["id"].startswith(f"{normal['worker']}.")
    failed = next(line for line in ended if line["reason"] == "connect_failed")
    assert "connect_s" not in failed and failed["server_address"] == f"unix:{folder}/missing"
    messages = [line for line in json_lines(path) if line["event"] == "message"]
    assert any(line["message"].startswith("ready:") and line["level"] == "notice" for line in messages)
    # The text log next to it has the same sessions.
    assert len(daemon.session_lines()) == 4


def test_bytes_of_strangers_stay_inside_of_one_line(weir, peers, folder):
    hostile = f"{folder}/a\nb\x1b[2J\"q\\\xff"
    path = f"{folder}/log.json"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/server")
    listener.listen(8)
    daemon = weir(f"log = file:{path} format=json\n"
                  f"[listen l]\nbind = unix:{folder}/front\nserver a = unix:{folder}/server\n")
    client = socket.socket(socket.AF_UNIX)
    client.bind(hostile.encode("latin-1"))
    client.connect(f"{folder}/front")
    server, _ = listener.accept()
    for sock in (client, server, listener):
        sock.close()
    daemon.wait_session_line()
    wait_until(lambda: sessions_in(json_lines(path)), "the session in JSON")
    assert sessions_in(json_lines(path))[0]["client"] == "unix:"
    answer = daemon.ask("show \x1b[2J\x01'\"\\ \xff")
    assert answer.count("\n") <= 2 and all(" " <= c <= "~" for c in answer.strip())
    for line in daemon.log().splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\S+Z (\w+) |weir: ", line), line
        assert all(" " <= c <= "~" for c in line), line


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ("dgram", "stream", "udp4", "udp6"))
def test_syslog_gets_a_message_a_line(weir, peers, folder, kind):
    if kind.startswith("udp"):
        family = socket.AF_INET if kind == "udp4" else socket.AF_INET6
        receiver = Receiver(("127.0.0.1" if kind == "udp4" else "::1", 0), family)
        host, port = receiver.name[:2]
        target = f"[{host}]:{port}" if kind == "udp6" else f"{host}:{port}"
        head = r"<(\d+)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ weir PID - - "
    else:
        type_ = socket.SOCK_DGRAM if kind == "dgram" else socket.SOCK_STREAM
        receiver = Receiver(f"{folder}/dev-log", kind=type_)
        target = f"unix:{receiver.name}" if kind == "stream" else receiver.name
        head = r"<(\d+)>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d weir\[PID\]: "
    try:
        listener = peers.listen()
        style = "text" if kind == "dgram" else "json"
        daemon = weir(f"log = syslog:{target} facility=local0 format={style}\n"
                      + LISTEN.format(listener.address))
        head = re.compile(head.replace("PID", str(daemon.pid)))
        client, server = echo_once(peers, daemon, listener)
        client.reset()
        server.receive_to_end()
        line = receiver.wait("client_reset|client reset")
        assert head.match(line)[1] == str(16 * 8 + 6)
        assert head.match(receiver.wait("ready:"))[1] == str(16 * 8 + 5)
        if kind != "dgram":
            assert json.loads(head.sub("", line))["bytes_in"] == PREAMBLE + 5000
        assert all(head.match(line) and line.isprintable() for line in receiver.lines)
        assert daemon.info()["log_dropped"] == 0
        assert daemon.terminate() == 0
        receiver.wait("stopped: 1 accepted")
    finally:
        receiver.close()


@pytest.mark.parametrize("facility, number", (("authpriv", 10), ("ftp", 11), ("ntp", 12), ("audit", 13),
                                              ("alert", 14), ("cron2", 15)))
def test_syslog_is_told_the_number_of_the_facility(weir, peers, folder, facility, number):
    receiver = Receiver(f"{folder}/dev-log", kind=socket.SOCK_DGRAM)
    try:
        daemon = weir(f"log = syslog:{receiver.name} facility={facility}\n"
                      + LISTEN.format(peers.listen().address))
        assert receiver.wait("ready:").startswith(f"<{number * 8 + 5}>")
        assert daemon.terminate() == 0
    finally:
        receiver.close()


def end_a_session(peers, daemon, listener):
    client, server = peers.pair(daemon.address("l"), listener)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()


def test_syslog_that_never_comes_costs_lines_not_the_daemon(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(f"log = syslog:{folder}/none\n" + LISTEN.format(listener.address))
    assert f"log = syslog:unix:{folder}/none: no daemon listens there" in daemon.log()
    lost = daemon.info()["log_dropped"]
    end_a_session(peers, daemon, listener)
    wait_until(lambda: daemon.info()["log_dropped"] == lost + 1, "a lost line is counted")


@pytest.mark.parametrize("user", ("", "user = nobody"))
def test_syslog_that_restarts_is_found_again(weir, peers, folder, user):
    """Also by a process that has dropped root's privileges."""
    if user and os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    name = f"{folder}/dev-log"
    listener = peers.listen()
    receiver = Receiver(name)
    try:
        daemon = weir(f"log = syslog:{name}\n" + LISTEN.format(listener.address), global_options=user)
        receiver.wait("ready:")
        for _ in range(2):
            receiver.close()
            lost = daemon.info()["log_dropped"]
            end_a_session(peers, daemon, listener)
            wait_until(lambda: daemon.info()["log_dropped"] > lost, "a lost line is counted")
            receiver = Receiver(name)

            def arrived():
                end_a_session(peers, daemon, listener)
                return any("both sides closed" in line for line in receiver.lines)
            wait_until(arrived, "a session line after the restart")
            receiver.wait("log lines were lost: this target")
        assert daemon.terminate() == 0
        receiver.wait("stopped:")
    finally:
        receiver.close()


@pytest.mark.smoke
def test_rotation_loses_and_doubles_no_line(weir, peers, folder):
    path = f"{folder}/log.json"
    listener = peers.listen()
    daemon = weir(f"log = file:{path} format=json\n" + LISTEN.format(listener.address))
    names = [path]
    for i in range(4):
        for _ in range(10):
            client, server = peers.pair(daemon.address("l"), listener)
            client.reset()
            server.receive_to_end()
        old = f"{path}.{i}"
        os.rename(path, old)
        names.append(old)
        daemon.signal(signal.SIGUSR1)
        wait_until(lambda: os.path.exists(path), "the file is there again")
    wait_until(lambda: sum(len(sessions_in(json_lines(n))) for n in names) >= 40, "all lines")
    ended = [line["client"] for n in names for line in sessions_in(json_lines(n))]
    assert len(ended) == 40
    assert daemon.info()["log_dropped"] == 0
    # The last of these follows the opening that was waited for.
    wait_until(lambda: sum("SIGUSR1" in line.get("message", "") for n in names
                           for line in json_lines(n)) == 4, "a line for each signal")


def test_a_file_that_root_made_is_the_users_and_can_be_rotated(weir, peers, folder):
    if os.geteuid() != 0:
        pytest.skip("not root: the daemon cannot become another user")
    where = os.path.join(folder, "logs")
    os.mkdir(where)
    os.chmod(where, 0o777)
    path = os.path.join(where, "log")
    listener = peers.listen()
    daemon = weir(f"user = nobody\nlog = file:{path} format=json\n" + LISTEN.format(listener.address))
    assert os.stat(path).st_uid == pwd.getpwnam("nobody").pw_uid
    os.rename(path, path + ".1")
    daemon.signal(signal.SIGUSR1)
    wait_until(lambda: os.path.exists(path), "the file is there again")
    client, server = peers.pair(daemon.address("l"), listener)
    client.reset()
    server.receive_to_end()
    wait_until(lambda: len(sessions_in(json_lines(path))) == 1, "the session's line")


def test_each_target_has_its_own_level(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(f"log = file:{folder}/notice format=json level=notice\n"
                  + LISTEN.format(listener.address),
                  # Said, so that no warning of it is among the lines.
                  "user = root" if os.geteuid() == 0 else "")
    client, server = peers.pair(daemon.address("l"), listener)
    client.reset()
    server.receive_to_end()
    daemon.wait_session_line()
    wait_until(lambda: "ready:" in open(f"{folder}/notice", encoding="ascii").read(), "the file")
    assert {line["level"] for line in json_lines(f"{folder}/notice")} == {"notice"}
    assert "listening on" in daemon.log()


def test_full_disk_costs_lines_not_the_daemon(weir, peers):
    """The final check sees to it that it costs no CPU either."""
    listener = peers.listen()
    daemon = weir("log = file:/dev/full\n" + LISTEN.format(listener.address))
    before = daemon.info()["log_dropped"]
    for _ in range(5):
        client, server = peers.pair(daemon.address("l"), listener)
        client.reset()
        server.receive_to_end()
    daemon.wait_session_line(5)
    wait_until(lambda: daemon.info()["log_dropped"] >= before + 5, "lost lines are counted")
    assert daemon.info()["log_dropped"] == before + 5


def test_reader_that_sleeps_costs_lines_that_are_counted_and_told(folder):
    ours, theirs = os.pipe()
    daemon = daemons.Daemon(folder, "[global]\nthreads = 1\nadmin-socket = unix:@ADMIN@\nlog = stderr\n"
                            f"[listen l]\nbind = unix:{folder}/front\n"
                            f"server a = unix:{folder}/missing\nretries = 0\n")
    daemon.child = subprocess.Popen(daemon.command(), stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    text = b""

    def read_until(pattern):
        nonlocal text

        def more():
            nonlocal text
            if select.select([ours], [], [], 0)[0]:
                text += os.read(ours, 65536)
            return re.search(pattern, text)
        return wait_until(more, lambda: f"{pattern} in {text[-2000:]}")

    def session():
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(f"{folder}/front")
            s.recv(1)
    try:
        read_until(rb"ready:")
        sessions = 0
        while daemon.info()["log_dropped"] == 0:
            assert sessions < 20000, "nothing fills the log"
            for _ in range(100):
                session()
            sessions += 100
        wait_until(lambda: daemon.info()["sessions"] == 0, "sessions have ended")
        told = read_until(rb"warning (\d+) log lines were dropped: the log's reader is too slow")
        assert int(told[1]) == daemon.info()["log_dropped"]
        before = text.count(b" session ")
        session()
        wait_until(lambda: read_until(b"") and text.count(b" session ") == before + 1, "the next line")
        assert before < sessions
    finally:
        daemon.kill()
        os.close(ours)


def test_failures_that_a_stranger_causes_are_bounded_and_told(weir, peers, folder):
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = unix:{folder}/missing\nretries = 0\n",
                  global_options="threads = 1")
    for _ in range(200):
        peers.connect(daemon.address("l")).receive_to_end()
    daemon.wait_session_line(200)

    def failures():
        shown = len(re.findall(r"connect failed:", daemon.log()))
        left_out = sum(map(int, re.findall(r" (\d+) more lines? w\w+ left out", daemon.log())))
        return shown + left_out == 200 and shown
    # The last of them is told although no line of its kind follows.
    shown = wait_until(failures, lambda: daemon.log()[-2000:])
    assert shown < 100


def test_the_first_line_of_each_kind_of_failure_is_there(weir, peers, folder):
    """Four servers fail at once: the limit on lines may cost the repetitions of one, never the first line of
    another, and the count says what it counts."""
    path = f"{folder}/log.json"
    refuses = peers.listen(listen=False)
    daemon = weir(f"log = file:{path} format=json\n[listen l]\nbind = 127.0.0.1:0\nretries = 0\n"
                  f"server a = unix:{folder}/missing\nserver b = unix:{folder}/absent\n"
                  f"server c = {refuses.address}\nserver d = unix:{folder}\n", global_options="threads = 1")
    for _ in range(400):
        peers.connect(daemon.address("l")).receive_to_end()

    def failures():
        shown = collections.Counter(re.findall(r"(server l/\w) at \S+: connect failed:", daemon.log()))
        left_out = re.findall(r" (\d+) more lines? w\w+ left out: failed connects to servers", daemon.log())
        return sum(shown.values()) + sum(map(int, left_out)) == 400 and shown
    shown = wait_until(failures, lambda: daemon.log()[-2000:])
    assert len(shown) == 4, shown
    assert sum(shown.values()) < 200, shown

    def counts():
        return [line for line in json_lines(path) if line["event"] == "left_out"]
    wait_until(lambda: sum(line["count"] for line in counts()) == 400 - sum(shown.values()),
               lambda: f"the same in the other log: {counts()}")
    assert {line["cause"] for line in counts()} == {"connect"}, counts()


def test_changes_of_servers_have_fields(weir, folder):
    path = f"{folder}/log.json"
    daemon = weir(f"log = file:{path} format=json\n[listen l]\nbind = 127.0.0.1:0\n"
                  "server a = 127.0.0.1:1\nserver b = 127.0.0.1:2\n")
    daemon.expected_alarms = "alert backend l has no server left"
    who = f"by uid {os.getuid()} over the admin socket"
    for command in ("disable server l/a", "set weight l/b 7", "set maxconn server l/b 9",
                    "disable server l/b", "enable server l/b"):
        assert daemon.ask(command).strip() == ""

    def changes():
        keys = ("event", "backend", "server", "from", "to", "reason")
        return [tuple(line.get(key) for key in keys) for line in json_lines(path)
                if line["event"].startswith(("server_", "backend_"))]
    wait_until(lambda: len(changes()) == 6, lambda: f"6 changes in {json_lines(path)}")
    assert changes() == [
        ("server_state", "l", "a", "UP", "MAINT", who),
        ("server_weight", "l", "b", 1, 7, who),
        ("server_maxconn", "l", "b", 0, 9, who),
        ("server_state", "l", "b", "UP", "MAINT", who),
        ("backend_down", "l", None, None, None, None),
        ("server_state", "l", "b", "MAINT", "UP", who),
    ]
    first = next(line for line in json_lines(path) if line["event"] == "server_state")
    assert (first["usable"], first["servers"], first["sessions"], first["queued"]) == (1, 2, 0, 0)
    assert first["message"].startswith("server l/a is MAINT: by uid "), first


def test_the_journal_gets_priorities(tmp_path):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    config = tmp_path / "weir.ini"
    config.write_text("[global]\nthreads = 1\nlog = auto\n"
                      f"[listen l]\nbind = unix:{tmp_path}/s\nserver a = 127.0.0.1:1\n")
    status = os.fstat(theirs.fileno())
    child = subprocess.Popen([daemons.BINARY, "-f", str(config)], stderr=theirs, stdin=subprocess.DEVNULL,
                             env=dict(os.environ, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}"))
    theirs.close()
    ours.settimeout(PATIENCE)
    text = b""
    try:
        while b"ready:" not in text:
            text += ours.recv(65536)
        child.terminate()
        while data := ours.recv(65536):
            text += data
        assert child.wait(PATIENCE) == 0
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        ours.close()
    lines = text.decode("ascii").splitlines()
    assert all(re.match(r"<[3-7]>\S", line) for line in lines), lines
    assert any(line.startswith("<5>ready:") for line in lines)
    assert any(line.startswith("<5>stopped:") for line in lines)


def test_a_log_file_that_cannot_be_opened_again_stays_in_use(weir, peers, folder):
    path = f"{folder}/log.json"
    listener = peers.listen()
    daemon = weir(f"log = file:{path} format=json\n" + LISTEN.format(listener.address))
    os.rename(path, path + ".1")
    os.mkdir(path)
    daemon.signal(signal.SIGUSR1)
    wait_until(lambda: f"SIGUSR1: cannot open {path} again: Is a directory" in daemon.log(), "the reason")
    client, server = peers.pair(daemon.address("l"), listener)
    client.reset()
    server.receive_to_end()
    wait_until(lambda: len(sessions_in(json_lines(path + ".1"))) == 1, "the old file has the line")
    os.rmdir(path)
    daemon.signal(signal.SIGUSR1)
    wait_until(lambda: "SIGUSR1: log files opened again" in daemon.log(), "it is well again")
