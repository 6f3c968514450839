# SPDX-License-Identifier: MIT
"""Danger: a system call that fails once a year. strace makes it fail now."""

import contextlib

import pytest

from harness import driver, exchange, trace
from harness.daemon import BINARY
from harness.exchange import Leg
from harness.inject import Inject

pytestmark = pytest.mark.release_only


@pytest.fixture
def start(weir, peers):
    """start(splice, ...): a daemon whose calls inject(...) lets fail, its address and its server."""
    if trace.missing():
        pytest.skip(trace.missing())

    def begin(splice, options="", family="tcp4", global_options=""):
        listener = peers.listen(family)
        daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n{options}",
                      f"splice = {splice}\n{global_options}")
        return daemon, listener

    return begin


@pytest.fixture
def inject(start):
    """inject(daemon, fault...): they end with the test, before the daemon does."""
    running = []

    def begin(daemon, *faults):
        running.append(Inject(daemon.pid, *faults))
        return running[-1]

    yield begin
    for fault in running:
        fault.close()


def pair(peers, daemon, listener):
    """A connection through the daemon. Before its server there may come those of earlier clients."""
    client = peers.connect(daemon.address("l"))
    while True:
        with contextlib.suppress(ConnectionError):  # one that is gone again
            server = peers.accept(listener, skip_silent=True)
            if server.conn == client.conn:
                return client, server


def streams(peers, daemon, listener, count=6, size=400_000):
    exchange.crossed([pair(peers, daemon, listener) for _ in range(count)], size)


@pytest.mark.parametrize("error", ("EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EPROTO",
                                   "ECONNABORTED", "EINTR", "EPERM"))
def test_accept_that_fails_for_a_while_serves_everybody_later(start, inject, peers, error):
    daemon, listener = start("auto")
    inject(daemon, f"accept4:error={error}:when=1..4")
    streams(peers, daemon, listener, size=20_000)


@pytest.mark.parametrize("fault", ("pipe2:error=ENFILE:when=1+", "pipe2:error=EMFILE:when=2+2",
                                   "fcntl:error=EPERM:when=1+", "fcntl:error=EBUSY:when=1+2"))
def test_without_a_proper_pipe_flows_go_on(start, inject, peers, fault):
    daemon, listener = start("on")
    inject(daemon, fault)
    streams(peers, daemon, listener)


@pytest.mark.parametrize("error", ("EINVAL", "ENOSYS"))
def test_where_splice_is_not_possible_flows_copy(start, inject, peers, error):
    """R17, from the first call on."""
    daemon, listener = start("on")
    inject(daemon, f"splice:error={error}:when=1+")
    streams(peers, daemon, listener)
    info = daemon.info()
    assert info["bytes_spliced"] == 0 and info["splice_unspliceable"] > 0


def test_what_cannot_be_spliced_to_the_peer_is_copied(start, inject, peers):
    daemon, listener = start("on")
    inject(daemon, "splice:error=EINVAL:when=2+2")
    streams(peers, daemon, listener)
    assert daemon.info()["splice_refused"] > 0


@pytest.mark.parametrize("when", ("2+5", "5..40"))
@pytest.mark.parametrize("error", ("EINTR", "ENOMEM"))
def test_a_splice_that_fails_for_a_moment_loses_nothing(start, inject, peers, error, when):
    daemon, listener = start("on")
    inject(daemon, f"splice:error={error}:when={when}")
    streams(peers, daemon, listener, count=3)


@pytest.mark.parametrize("call", ("recvfrom", "sendto"))
def test_an_interrupted_copy_loses_nothing(start, inject, peers, call):
    daemon, listener = start("off")
    inject(daemon, f"{call}:error=EINTR:when=2+3")
    streams(peers, daemon, listener, count=3)


@pytest.mark.parametrize("fault", ("epoll_wait:error=EINTR:when=1+3",
                                   "epoll_pwait:error=EINTR:when=1+3",
                                   "epoll_pwait2:error=EINTR:when=1+3"))
def test_an_interrupted_wait_loses_nothing(start, inject, peers, fault):
    daemon, listener = start("auto")
    inject(daemon, fault)
    streams(peers, daemon, listener, count=3)


def test_an_interrupted_look_loses_no_event_that_is_told_once(start, inject, peers):
    """A ring is told once that its set of spliced sockets has events; nothing else comes after the last."""
    daemon, listener = start("on")
    client, server = pair(peers, daemon, listener)
    inject(daemon, "epoll_pwait2:error=EINTR:when=1+2")
    for _ in range(20):
        exchange.run([Leg(client, send=20_000, receive=0, fin=False, pace=20_000),
                      Leg(server, send=0, receive=20_000, fin=False)])


@pytest.mark.parametrize("error", ("EINTR", "EAGAIN", "EBUSY"))
def test_a_ring_that_cannot_be_entered_for_a_moment_loses_nothing(start, inject, peers, error):
    if driver.unusable(BINARY):
        pytest.skip(driver.unusable(BINARY))
    daemon, listener = start("auto", global_options="driver = io_uring")
    inject(daemon, f"io_uring_enter:error={error}:when=1+3")
    streams(peers, daemon, listener, count=3)


@pytest.mark.parametrize("fault", ("socket:error=EMFILE:when=1..2", "socket:error=ENOBUFS:when=1..2",
                                   "connect:error=EADDRNOTAVAIL:when=1..2",
                                   "connect:error=EAGAIN:when=1..2",
                                   "connect:error=ENETUNREACH:when=1..2",
                                   "connect:error=EHOSTUNREACH:when=1"))
def test_a_connect_that_fails_at_first_is_tried_again(start, inject, peers, fault):
    # A ring connects to Unix sockets alone by a system call.
    daemon, listener = start("auto", "timeout-connect = 200ms\n",
                             "path" if driver.WANTED == "io_uring" else "tcp4")
    inject(daemon, fault)
    streams(peers, daemon, listener, count=4, size=20_000)
    assert str(daemon.info()["server.l/a"]).startswith("up")


@pytest.mark.parametrize("error, advice", (("EACCES", "a sandbox"), ("EPERM", "a sandbox"),
                                           ("EAFNOSUPPORT", "another family"), ("EINVAL", "socket options")))
def test_a_socket_that_this_machine_refuses_is_no_fault_of_the_server(start, inject, peers, error, advice):
    daemon, listener = start("auto", "timeout-connect = 200ms\nretries = 1\nobserve = connect\n")
    fault = inject(daemon, f"socket:error={error}:when=1..3")
    peers.connect(daemon.address("l")).receive_to_end()
    line = daemon.wait_session_line(reason_text="this machine refused a socket to the server")
    assert line["ts_code"] == "RC" and line["tries"] == "2", line
    fault.close()  # it counts for each worker, and the next one may go to another
    streams(peers, daemon, listener, count=1, size=20_000)
    server = str(daemon.info()["server.l/a"])
    assert server.startswith("up") and " failures=0" in server, server
    assert "not a fault of the server: " in daemon.log() and advice in daemon.log()


@pytest.mark.parametrize("fault", ("epoll_ctl:error=ENOSPC:when=1..3",
                                   "epoll_ctl:error=ENOMEM:when=2..4",
                                   "setsockopt:error=ENOBUFS:when=1..6"))
def test_a_session_that_cannot_be_set_up_harms_no_other(start, inject, peers, fault):
    """It may be refused; the daemon lives, and the next ones are served."""
    daemon, listener = start("auto", "timeout-connect = 200ms\n")
    fault = inject(daemon, fault)
    for _ in range(8):
        peers.connect(daemon.address("l"))
    fault.close()
    streams(peers, daemon, listener, count=4, size=20_000)
