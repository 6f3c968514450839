# SPDX-License-Identifier: MIT
"""Danger: a log file whose disk does not respond stops control: no responses, no health checks, no watchdog
notifications, and finally SIGKILL from the service manager."""

import json
import os
import re
import signal
import socket
import time

import pytest

from harness import process, trace
from harness.inject import HungDisk
from harness.manager import Manager
from harness.service import Service
from harness.timing import AT_ONCE, PATIENCE, wait_until

pytestmark = pytest.mark.release_only
# A session's line is so long that some thousand fill the queue.
LONG = "x" * 60


@pytest.fixture
def hang():
    """hang(daemon, path, calls): from now on, until it is closed."""
    if trace.missing():
        pytest.skip(trace.missing())
    running = []

    def begin(daemon, path, calls="write", tasks=None):
        running.append(HungDisk(daemon.pid, path, calls, tasks))
        return running[-1]

    yield begin
    for disk in running:
        disk.close()


def config(folder, *more):
    return (f"[listen {LONG}]\nbind = unix:{folder}/front\nserver {LONG} = unix:{folder}/none\nretries = 0\n"
            + "\n".join(more) + "\n")


def session(folder):
    """One line in the log: there is no server."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(f"{folder}/front")
        assert s.recv(1) == b""


def json_lines(path):
    """The whole ones: a write under way may show its beginning."""
    with open(path, encoding="ascii") as f:
        text = f.read()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def answers(daemon):
    """`show info`, as soon as a busy machine can."""
    begin = time.monotonic()
    info = daemon.info()
    took = time.monotonic() - begin
    assert took < 3 * AT_ONCE, f"an answer after {took:.1f} s"   # the disk takes a minute
    return info


def wait_hung(daemon):
    return wait_until(lambda: answers(daemon)["log_waiting_ms"] > 100, "a write hangs")


def test_control_goes_on_while_a_log_file_hangs(weir, folder, hang, closing):
    manager, service = Manager(), Service()
    closing += [manager, service]
    path = f"{folder}/log.json"
    daemon = weir(f"log = file:{path} format=json\n"
                  + config(folder, f"[listen checked]\nbind = 127.0.0.1:0\nserver a = {service.address}",
                           "check = tcp", "check-interval = 50ms", "check-fall = 1"),
                  environment=manager.environment | {"WATCHDOG_USEC": "1000000"})
    daemon.expected_alarms = "backend checked has no server left"
    disk = hang(daemon, path)
    session(folder)
    wait_hung(daemon)
    alive = len([m for m in manager.collect() if "WATCHDOG" in m])
    service.die()
    wait_until(lambda: "checked/a is DOWN" in daemon.log(), "the check's verdict in the other target")
    manager.wait("WATCHDOG", "1", count=alive + 3)
    answers(daemon)
    assert answers(daemon)["log_last_dropped_time_s"] == 0
    began = int(time.time())
    # More than the queue, the buffer before it and the batch hold.
    while answers(daemon)["log_dropped_slow"] == 0:
        for _ in range(200):
            session(folder)
    for _ in range(20):
        session(folder)
    ended = answers(daemon)["accepted"]
    wait_until(lambda: len(daemon.session_lines()) == ended, "the other target has every line")
    lost = answers(daemon)["log_dropped"]
    assert lost == daemon.info()["log_dropped_slow"] > 0
    assert began <= daemon.info()["log_last_dropped_time_s"] <= time.time()
    disk.close()
    told = re.compile(r"(\d+) log lines were lost: the log file \S+/log\.json was not written for (\d+) s")

    def line():
        return next((m for x in json_lines(path) if (m := told.match(x.get("message", "")))), None)
    assert int(wait_until(line, "the line about the others")[1]) == lost
    assert int(line()[2]) >= 1
    session(folder)

    def ids_of_all():
        found = [x["id"] for x in json_lines(path) if x["event"] == "session"]
        return found if len(found) + lost >= ended + 1 else None
    ids = wait_until(ids_of_all, "every line that was not lost")
    assert len(set(ids)) == len(ids)
    for worker in "01":
        mine = [int(i.partition(".")[2]) for i in ids if i.startswith(f"{worker}.")]
        assert mine == sorted(mine), "lines in another order"
    assert daemon.info()["log_dropped"] == lost
    wait_until(lambda: daemon.info()["log_waiting_ms"] == 0, "nothing is waited for")


def test_with_one_target_lines_wait_and_what_is_lost_is_told(weir, folder, hang):
    daemon = weir(config(folder))
    disk = hang(daemon, daemon.log_path)
    session(folder)
    wait_hung(daemon)
    wait_until(lambda: answers(daemon)["log_waiting_ms"] >= 1000, "a second of it")
    while answers(daemon)["log_dropped_slow"] == 0:
        for _ in range(200):
            session(folder)
    wait_until(lambda: answers(daemon)["sessions"] == 0, "each session has been logged or dropped")
    lost, ended = answers(daemon)["log_dropped"], answers(daemon)["accepted"]
    disk.close()
    told = wait_until(lambda: re.search(r"warning (\d+) log lines were lost: stderr was not written for "
                                        r"(\d+) s", daemon.log()), "the line about the others")
    assert int(told[1]) == lost and int(told[2]) >= 1
    others = int(told[2]) + 2    # of the lost: once a second, a line says that connects to the server fail
    wait_until(lambda: ended - lost <= len(daemon.session_lines()) <= ended - lost + others,
               lambda: f"{ended - lost} lines, not {len(daemon.session_lines())}")
    assert all(re.match(r"\d{4}-\d\d-\d\dT\S+Z \w+ |weir: ", line) for line in daemon.log().splitlines())


def start_hung(weir, folder, hang):
    """A daemon whose log file hangs, with a session's line in it, the file and its disk."""
    path = f"{folder}/log.json"
    daemon = weir(f"log = file:{path} format=json\n" + config(folder))
    disk = hang(daemon, path)
    session(folder)
    wait_hung(daemon)
    return daemon, path, disk


def test_stop_does_not_wait_for_a_log_file_that_hangs(weir, folder, hang):
    daemon, _, disk = start_hung(weir, folder, hang)
    begin = time.monotonic()
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    # strace keeps the dead thread that it holds, and with it the exit status, to itself.
    wait_until(lambda: process.state(daemon.pid) == "Z", "the end")
    assert time.monotonic() - begin < 2 + 3 * AT_ONCE
    disk.close()
    assert daemon.wait_exit() == 0
    assert "stopped: 1 accepted" in daemon.log(), "the other target has the last lines"


def test_stop_does_not_wait_for_a_pid_file_that_hangs(weir, folder, hang):
    path = f"{folder}/pid"
    daemon = weir(config(folder), wrapper=["sh", "-c", 'exec "$0" "$@" -p ' + path])
    disk = hang(daemon, path, "openat", [daemon.pid])
    daemon.ended = True
    begin = time.monotonic()
    daemon.signal(signal.SIGTERM)
    wait_until(lambda: "stopped: 0 accepted" in daemon.log(), "the last line")
    # The first thread is dead then too, but for strace, which holds it.
    wait_until(lambda: len(os.listdir(f"/proc/{daemon.pid}/task")) == 1, "the other threads are gone")
    assert time.monotonic() - begin < 6 + AT_ONCE
    disk.close()
    assert daemon.wait_exit() == 0


def test_rotation_of_a_log_file_that_hangs_is_done_when_it_is_well(weir, folder, hang):
    daemon, path, disk = start_hung(weir, folder, hang)
    os.rename(path, path + ".1")
    daemon.signal(signal.SIGUSR1)
    session(folder)
    answers(daemon)
    assert not os.path.exists(path)
    disk.close()
    wait_until(lambda: "SIGUSR1: log files opened again" in daemon.log(), "the report")
    wait_until(lambda: len([x for name in (path, path + ".1") for x in json_lines(name)
                            if x["event"] == "session"]) == 2, "both lines")


def test_opening_again_that_hangs_holds_up_nobody(weir, folder, hang):
    path = f"{folder}/log.json"
    daemon = weir(f"log = file:{path} format=json\n" + config(folder))
    disk = hang(daemon, folder, "openat")
    daemon.signal(signal.SIGUSR1)
    wait_hung(daemon)
    session(folder)
    daemon.wait_session_line()
    disk.close()
    wait_until(lambda: "SIGUSR1: log files opened again" in daemon.log(), "the report")
    wait_until(lambda: any(x["event"] == "session" for x in json_lines(path)), "its line")
