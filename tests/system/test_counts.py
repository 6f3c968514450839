# SPDX-License-Identifier: MIT
"""Danger: a counter falls, which a monitor takes for a restart, or the parts do not add up to the whole."""

import csv
import socket
import threading

import pytest

from harness.timing import SCALE, wait_until

SECONDS = 3 * SCALE


def listen(listener):
    return f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"


def closes(daemon):
    """How many clients left for each reason that any left for."""
    return {key.removeprefix("closes."): value for key, value in daemon.info().items()
            if key.startswith("closes.") and value > 0}


def bytes_in(daemon):
    """Of each row, by its name."""
    rows = csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
    return {row["svname"]: int(row["bin"]) for row in rows}


@pytest.mark.smoke
def test_each_end_is_counted_by_its_reason(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 2")
    for _ in range(3):
        client, server = peers.pair(daemon.address("l"), listener)
        client.fin()
        server.fin()
    for _ in range(2):
        client, server = peers.pair(daemon.address("l"), listener)
        client.reset()
    wait_until(lambda: closes(daemon) == {"normal": 3, "client_reset": 2}, lambda: closes(daemon))


def test_bytes_move_during_a_session_and_never_fall(weir, peers):
    """Sessions come and go between two workers meanwhile."""
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 2")
    over = threading.Event()

    def churn():
        while not over.is_set():
            client, server = peers.pair(daemon.address("l"), listener)
            client.send(2000)
            server.receive(2000)
            client.fin()
            server.fin()
            client.close()
            server.close()

    long_client, long_server = peers.pair(daemon.address("l"), listener)
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        last, readings = {}, 0
        wait_until(lambda: bytes_in(daemon)["a"] > 10_000, "sessions move bytes")
        end = threading.Timer(SECONDS, over.set)
        end.start()
        while not over.is_set():
            now = bytes_in(daemon)
            whole = daemon.info()["bytes_to_server"]
            assert all(now[name] >= value for name, value in last.items()), (last, now)
            assert max(now.values()) <= whole
            long_client.send(1000)
            long_server.receive(1000)
            last, readings = now, readings + 1
        assert readings > 10
    finally:
        over.set()
        thread.join()

    def whole():    # bytes that have left may not have been counted yet
        return daemon.info()["bytes_to_server"]
    wait_until(lambda: set(bytes_in(daemon).values()) == {whole()}, lambda: (bytes_in(daemon), whole()))


def test_ports_pools_and_workers_are_in_info(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 1")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(5)]
    info = daemon.info()
    assert info["ports_used"] == len(pairs) and info["ports_available"] == info["ports_range"] > 0
    assert info["busy_ns"] > 0
    assert info["bufs_bytes"] >= info["bufs_in_use_bytes"]
    assert info["lookups"] == info["lookups_failed"] == 0


def test_lookups_that_fail_are_counted(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener) + "server b = no-such-host.invalid:80\n")
    wait_until(lambda: daemon.info()["lookups_failed"] > 0, "the failure is counted")
    info = daemon.info()
    assert info["lookups"] >= info["lookups_failed"]


def test_a_walk_over_many_sessions_is_sliced(weir, peers):
    """9,000 sockets: the worker's turns are short while all sessions are added up, again and again."""
    sessions, walks, a_time, slice_max = 4500, 20, 100, 512
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 1\nmaxconn = 5000")
    where, socks = daemon.address("l"), []
    try:
        while len(socks) < 2 * sessions:
            socks += [socket.create_connection(where.sockaddr) for _ in range(a_time)]
            socks += [listener.accept() for _ in range(a_time)]
        before = daemon.info()
        assert before["sessions"] == sessions
        for _ in range(walks):
            daemon.ask("show stat")
        after = daemon.info()
        turns, busy_ns = after["turns"] - before["turns"], after["busy_ns"] - before["busy_ns"]
        assert turns >= walks * sessions / slice_max
        assert busy_ns < turns * 1_000_000 * SCALE, (busy_ns, turns)
    finally:
        for sock in socks:
            sock.close()


def test_urgent_data_in_a_bulk_flow_is_a_fall_back(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 1\nsplice = on")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(1000)
    server.receive(1000)
    assert daemon.info()["splice_urgent"] == 0
    client.urgent()
    server.receive(1)
    assert daemon.info()["splice_urgent"] > 0


def test_a_reset_in_a_bulk_flow_is_a_fall_back_and_an_end_is_none(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener), "threads = 1\nsplice = on")
    for end, errors in ("fin", 0), ("reset", 1):
        client, server = peers.pair(daemon.address("l"), listener)
        client.send(1000)
        server.receive(1000)
        getattr(client, end)()
        server.receive_to_end()
        server.close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "the session has ended")
        info = daemon.info()
        assert info["splice_errors"] == errors
        # An end that comes between the event and the splice that it caused is unclear at first.
        assert info["splice_unclear"] <= 1 + errors


def test_our_headers_are_part_of_all_bytes_and_of_no_session(weir, peers):
    listener = peers.listen()
    daemon = weir(listen(listener) + "[listen h]\nbind = 127.0.0.1:0\n"
                  f"server b = {listener.address} send-proxy\n", "threads = 2")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(1000)
    server.receive(1000)
    assert daemon.info()["header_bytes"] == 0
    behind = peers.connect(daemon.address("h"))
    behind.send(500)
    served = listener.accept()
    header = b""
    while not header.endswith(b"\n"):
        header += served.recv(1)
    assert daemon.info()["header_bytes"] == len(header)

    def parts_agree():  # bytes that have left may not have been counted yet
        info, moved = daemon.info(), bytes_in(daemon)
        payload = info["bytes_to_server"] - info["header_bytes"]
        return payload == moved["a"] + moved["b"] == 1000 + 16 + 500 + 16
    wait_until(parts_agree, "the bytes of the process are those of its servers")
    served.close()
