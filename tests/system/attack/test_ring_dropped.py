# SPDX-License-Identifier: MIT
"""Danger: when memory is short, the kernel drops completions of a worker's io_uring, and the daemon ends, or
continues without knowing what was in them."""

import pytest

from harness import driver, exchange, process, trace
from harness.daemon import BINARY
from harness.inject import Inject
from harness.timing import wait_until


@pytest.fixture
def start(weir, peers):
    """start(threads): a daemon with io_uring, and its server."""
    for missing in (trace.missing(), driver.unusable(BINARY)):
        if missing:
            pytest.skip(missing)

    def begin(threads):
        listener = peers.listen()
        daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                      f"driver = io_uring\nthreads = {threads}")
        return daemon, listener

    return begin


def streams(peers, daemon, listener, count=4, size=300_000):
    exchange.crossed([peers.pair(daemon.address("l"), listener) for _ in range(count)], size)


def inject(daemon, worker, *faults):
    """The next wait of that worker's ring fails."""
    thread = process.worker_thread(daemon.pid, worker)
    fault = Inject(thread, "io_uring_enter:error=EBADR:when=1", *faults, follow=False)
    daemon.sessions()  # wakes every worker, if strace has not interrupted its wait already
    return fault


def test_a_worker_whose_ring_lost_completions_goes_on_with_another_one(start, peers):
    daemon, listener = start(1)
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(8)]
    fault = inject(daemon, 0)
    # Its sessions are reset on both sides, never ended by a FIN that would hide missing bytes.
    for client, server in pairs:
        assert client.receive_to_end() == "reset"
        assert server.receive_to_end() == "reset"
    line = daemon.wait_session_line(count=8, reason_text="the kernel dropped completions of io_uring")
    assert line["ts_code"] == "RD", line
    fault.close()
    told = [text for text in daemon.log().splitlines() if "dropped io_uring completions" in text]
    assert len(told) == 1, told
    streams(peers, daemon, listener)
    wait_until(lambda: daemon.info()["accepted"] >= 12, daemon.info)


def test_the_other_workers_notice_nothing(start, peers):
    daemon, listener = start(2)
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(8)]
    fault = inject(daemon, 1)
    line = daemon.wait_session_line(count=4, reason_text="the kernel dropped completions of io_uring")
    fault.close()
    gone = {int(each["client"].rpartition(":")[2]) for each in daemon.session_lines()}
    left = [pair for pair in pairs if pair[0].sock.getsockname()[1] not in gone]
    assert len(left) == 4, f"{len(left)} of 8 are left; {line}"
    for client, server in left:
        client.send(5000)
        server.receive(5000)
        server.send(5000)
        client.receive(5000)
    streams(peers, daemon, listener)


def test_what_was_moving_is_cut_by_a_reset_and_never_ended_by_a_fin(start, peers):
    daemon, listener = start(1)
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(4)]
    fault = Inject(process.worker_thread(daemon.pid, 0), "io_uring_enter:error=EBADR:when=40", follow=False)
    for number in range(200):
        client, server = pairs[number % 4]
        try:
            client.send(1000)
        except ConnectionError:
            break
        if not server.recv_some():  # checks each byte
            break
    else:
        raise AssertionError("the fault was never met")
    fault.close()
    for _, server in pairs:
        assert server.receive_to_end() == "reset"
    streams(peers, daemon, listener)


@pytest.mark.parametrize("error", ("ENOMEM", "EMFILE"))
def test_without_a_new_ring_the_worker_waits_for_one(start, peers, error):
    daemon, listener = start(1)
    client, _ = peers.pair(daemon.address("l"), listener)
    fault = inject(daemon, 0, f"io_uring_setup:error={error}:when=1..5")
    assert client.receive_to_end() == "reset"
    streams(peers, daemon, listener)
    fault.close()
    wait_until(lambda: daemon.info()["sessions"] <= 1, daemon.info)
