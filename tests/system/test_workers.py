# SPDX-License-Identifier: MIT
"""Danger: one worker does all the work, runs where it should not, or waits for its own log."""

import ctypes
import os
import re
import struct
import socket
import threading

import pytest

from harness.timing import PATIENCE, wait_until


def worker_affinities(pid):
    """CPU lists of the workers, by their number."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as f:
            name = f.read().strip()
        if name.startswith("worker "):
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as f:
                found[int(name[7:])] = re.search(r"Cpus_allowed_list:\s*(\S+)", f.read())[1]
    return [found[n] for n in sorted(found)]


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (2, 4))
def test_long_flows_share_the_workers_evenly(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"threads = {threads}")
    for _ in range(8):
        peers.pair(daemon.address("l"), listener)
    wait_until(lambda: daemon.info()["sessions"] == 8, "eight sessions")
    workers = [int(m[1]) for m in re.finditer(r"\bid=(\d+)\.", daemon.ask("show sess"))]
    assert sorted(workers) == sorted(list(range(threads)) * (8 // threads)), workers


@pytest.mark.smoke
def test_workers_are_where_the_list_says(weir, peers):
    cpus = sorted(os.sched_getaffinity(0))
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"threads = 3\ncpu-affinity = {cpus[-1]}")
    wait_until(lambda: worker_affinities(daemon.pid) == [str(cpus[-1])] * 3,
               lambda: f"three workers on CPU {cpus[-1]}: {worker_affinities(daemon.pid)}")
    peers.pair(daemon.address("l"), listener)


def test_workers_run_anywhere_without_affinity(weir, peers):
    with open("/proc/self/status", encoding="utf-8") as f:
        ours = re.search(r"Cpus_allowed_list:\s*(\S+)", f.read())[1]
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  "threads = 2\ncpu-affinity = off")
    wait_until(lambda: worker_affinities(daemon.pid) == [ours] * 2,
               lambda: f"two workers on {ours}: {worker_affinities(daemon.pid)}")


def slice_ns(task):
    """sched_getattr(2), by syscall(2): the turn that the scheduler gives to a task; 0 before Linux 6.12."""
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    attr = ctypes.create_string_buffer(48)
    assert ctypes.CDLL(None).syscall(number, task, attr, len(attr), 0) == 0
    return struct.unpack_from("IIQiIQ", attr)[5]


def test_a_worker_that_wakes_up_takes_the_cpu_from_control(weir, peers):
    if not slice_ns(0):
        pytest.skip("this kernel has no time slices of a thread's own")
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", "threads = 2")
    wait_until(lambda: slice_ns(daemon.pid) == 10_000_000, "the time slice of control")
    others = {slice_ns(int(task)) for task in os.listdir(f"/proc/{daemon.pid}/task")
              if int(task) != daemon.pid}
    assert others == {slice_ns(0)}, others


def is_ready(daemon):
    try:
        return daemon.info()["state"] == "ready"
    except AssertionError:  # the socket is not there yet, or does not listen yet
        return False


def test_a_log_that_nobody_reads_stops_no_session(weir, peers, folder):
    """The log goes to a FIFO whose reader sleeps: lines are dropped and counted, nothing waits."""
    name, sessions = "l" * 60, 4500  # long lines fill the log's queue sooner
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    listener = peers.listen()
    daemon = weir(f"[listen {name}]\nbind = 127.0.0.1:0\nserver {name} = {listener.address}\n",
                  f"threads = 1\nlog = file:{fifo} level=info", launch_only=True)
    try:
        wait_until(lambda: is_ready(daemon), "ready")
        port = re.search(r"listen\.l+\.\S*: \S+:(\d+)", daemon.ask("show info"))[1]
        stop = threading.Event()

        def echo():
            while not stop.is_set():
                try:
                    sock = listener.accept(patience=0.2)
                except AssertionError:
                    continue
                sock.sendall(sock.recv(100))
                sock.close()
        server = threading.Thread(target=echo)
        server.start()
        try:
            for n in range(sessions):
                with socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE) as sock:
                    sock.sendall(b"%d" % n)
                    assert sock.recv(100) == b"%d" % n
        finally:
            stop.set()
            server.join()
        info = daemon.info()
        assert info["accepted"] == sessions
        assert info["log_dropped"] > 0, "so many lines are more than a ring, a queue and a pipe hold"
        wait_until(lambda: daemon.info()["sessions"] == 0, "all sessions have ended")
        daemon.ended = True
        daemon.terminate()
    finally:
        os.close(reader)
