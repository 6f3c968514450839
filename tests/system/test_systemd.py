# SPDX-License-Identifier: MIT
"""Danger: the service manager is told nothing, or something wrong; a passed socket is not used, or is used
for the wrong purpose."""

import os
import signal
import socket
import time

import pytest

from harness import driver, exchange, process, trace
from harness.address import fresh, of_socket
from harness.daemon import sanitized
from harness.exchange import Leg
from harness.inject import Inject
from harness.manager import Manager, passing
from harness.timing import SCALE, stays, wait_until


@pytest.fixture
def manager(closing):
    m = Manager()
    closing.append(m)
    return m


@pytest.fixture
def made(closing, folder):
    """made(family): a listening socket as the manager has it, and its address."""
    def make(family="tcp4", kind=socket.SOCK_STREAM, listen=True):
        where = fresh(family, folder)
        domain = {"tcp4": socket.AF_INET, "tcp6": socket.AF_INET6}.get(family, socket.AF_UNIX)
        sock = socket.socket(domain, kind)
        closing.append(sock)
        sock.bind(where.sockaddr)
        if listen:
            sock.listen(128)
        return sock, of_socket(sock, family)
    return make


def section(bind, listener, more=""):
    return f"[listen l]\nbind = {bind}\nserver a = {listener.address}\n{more}"


def refused(weir, config, status=3, **kw):
    """A daemon that must not start; its log."""
    daemon = weir(config, launch_only=True, **kw)
    daemon.ended = True
    assert daemon.wait_exit() == status, daemon.log()
    return daemon.log()


# ---- sockets ------------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off"))
def test_all_sockets_of_a_name_carry_streams(weir, peers, made, splice):
    listener = peers.listen()
    (tcp, tcp_at), (six, six_at), (path, path_at) = made("tcp4"), made("tcp6"), made("path")
    daemon = weir(section("fd@web", listener), f"splice = {splice}",
                  **passing("web:web:web", tcp, six, path))
    assert [str(a) for _, _, a in daemon.addresses()] == [str(tcp_at), str(six_at), str(path_at)]
    assert [name for _, name, _ in daemon.addresses()] == ["1", "1.2", "1.3"]
    assert daemon.info()["listen.l.1.3"] == str(path_at)
    legs = []
    for where in (tcp_at, six_at, path_at) * 4:
        client, server = peers.pair(where, listener)
        legs += [Leg(client, send=300_000, receive=300_000), Leg(server, send=300_000, receive=300_000)]
    exchange.run(legs)


def test_a_socket_by_its_number_and_an_own_one_beside_it(weir, peers, made):
    listener = peers.listen()
    (one, one_at), (two, two_at) = made(), made("abstract")
    daemon = weir(section("fd@4 backlog=7", listener, "bind = fd@web\nbind own = 127.0.0.1:0\n"),
                  **passing("web:other", one, two))
    assert [str(a) for _, _, a in daemon.addresses()][:2] == [str(two_at), str(one_at)]
    for _, _, where in daemon.addresses():
        peers.pair(where, listener)


def test_a_number_needs_no_protocol(weir, peers, made):
    """As HAProxy inherits: a descriptor that is just there."""
    listener, (sock, where) = peers.listen(), made()
    os.set_inheritable(sock.fileno(), True)
    weir(section(f"fd@{sock.fileno()}", listener), pass_fds=[sock.fileno()])
    peers.pair(where, listener)


def test_options_of_the_section_reach_accepted_connections(weir, peers, made):
    listener, (sock, where) = peers.listen(), made()
    weir(section("fd@web", listener, "tcp-keepalive = 77s interval=7s count=5\n"), **passing("web", sock))
    # The listening socket is shared, so its options are seen here too; accept(2) inherits them.
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 77
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE) == 1
    client, server = peers.pair(where, listener)
    client.send(10)
    client.urgent()
    client.send(10)
    server.receive(21)


@pytest.mark.smoke
@pytest.mark.parametrize("family", ("tcp4", "path"))
def test_a_stop_leaves_the_socket_to_the_next_daemon(weir, peers, made, family):
    listener, (sock, where) = peers.listen(), made(family)
    first = weir(section("fd@web", listener), **passing("web", sock))
    client, server = peers.pair(where, listener)
    first.signal(signal.SIGTERM)
    wait_until(lambda: "no new sessions" in first.log(), "it drains")
    # A worker that no longer listens has left the socket: new clients wait for the next daemon.
    wait_until(lambda: not any(f"socket:[{os.fstat(sock.fileno()).st_ino}]" in link
                               for link in descriptors(first.pid)), "its copy is closed")
    late = peers.connect(where)
    client.send(1000)
    server.receive(1000)
    client.close()
    server.close()
    first.ended = True
    assert first.wait_exit() == 0
    if family == "path":
        assert os.path.exists(where.name), "the path is the manager's"
    second = weir(section("fd@web", listener), **passing("web", sock))
    served = peers.accept(listener)
    assert served.conn == late.conn
    late.send(1000)
    served.receive(1000)
    peers.close()
    # It had a client before it could be looked at: no final check of its gauges.
    assert second.terminate() == 0


def descriptors(pid):
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except FileNotFoundError:
            pass
    return found


def test_what_nobody_uses_is_closed_and_named_in_one_line(weir, peers, made):
    listener, (sock, _), (extra, _), (other, _) = peers.listen(), made(), made(), made()
    daemon = weir(section("fd@web", listener), **passing("extra:web:other", extra, sock, other))
    lines = [line for line in daemon.log().splitlines() if "that no bind uses" in line]
    assert len(lines) == 1 and "3 ('extra'), 5 ('other')" in lines[0], daemon.log()
    inodes = [os.fstat(s.fileno()).st_ino for s in (extra, other)]
    assert not any(f"socket:[{i}]" in descriptors(daemon.pid) for i in inodes)


@pytest.mark.parametrize("bind, names, words", (
    ("fd@wbe", "web:api", ("only 'web', 'api'", "did you mean 'web'?")),
    ("fd@9", "web:api", ("descriptor 9 is not open",)),
    ("fd@web\nbind = fd@3", "web:api", ("descriptor 3 belongs to another bind",)),
    ("fd@3\nbind = fd@web", "web:api", ("to other binds already",)),
    ("fd@web", "web", ("disagree on the number of names",)),
))
def test_a_wrong_name_or_number_is_refused_in_words(weir, peers, made, bind, names, words):
    listener, (one, _), (two, _) = peers.listen(), made(), made()
    log = refused(weir, section(bind, listener), **passing(names, one, two))
    for word in words:
        assert word in log, log


def test_without_a_manager_the_message_says_how_to_get_one(weir, peers):
    log = refused(weir, section("fd@web", peers.listen()))
    assert "no socket was passed" in log and "FileDescriptorName=web" in log
    log = refused(weir, section("fd@web", peers.listen()),
                  environment={"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "web"})
    assert "passed to process 1 (LISTEN_PID)" in log, log


@pytest.mark.parametrize("what, words", (
    ("file", "is not a socket"), ("datagram", "is not a stream socket"), ("deaf", "does not listen"),
    ("connected", "does not listen")))
def test_what_is_no_listener_is_refused_in_words(weir, peers, made, closing, what, words):
    listener = peers.listen()
    if what == "file":
        thing = open("/dev/null", "rb")
    elif what == "connected":
        thing, other = socket.socketpair()
        closing.append(other)
    elif what == "datagram":
        thing, _ = made(kind=socket.SOCK_DGRAM, listen=False)
    else:
        thing, _ = made(listen=False)
    closing.append(thing)
    log = refused(weir, section("fd@web", listener), **passing("web", thing))
    assert "cannot listen on fd@web (" in log and f"descriptor 3 ('web') {words}" in log, log


# ---- messages -----------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.parametrize("at", ("path", "abstract"))
def test_ready_is_said_once_every_worker_listens(weir, peers, closing, folder, at):
    manager = Manager(folder if at == "path" else None)
    closing.append(manager)
    daemon = weir(section("127.0.0.1:0", peers.listen()), environment=manager.environment)
    message = manager.wait("READY", "1")
    assert message == {"READY": "1", "MAINPID": str(daemon.pid),
                       "STATUS": "1 frontend, 1/1 servers usable, 0 sessions"}
    assert "WATCHDOG" not in str(manager.collect())


def test_what_is_told_goes_through_no_standard_descriptor(weir, peers, manager):
    """Danger: with descriptor 2 closed the socket would be it, and -D would put /dev/null there."""
    daemon = weir(section("127.0.0.1:0", peers.listen()), environment=manager.environment,
                  wrapper=["sh", "-c", 'exec "$@" <&- >&-', "sh"])
    manager.wait("READY", "1")
    assert [os.readlink(f"/proc/{daemon.pid}/fd/{n}") for n in (0, 1)] == ["/dev/null"] * 2


def test_ready_is_said_again_when_the_manager_had_no_room(weir, peers, manager):
    """Danger: a busy manager loses the one message that it waits for, and ends the unit."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                other.sendto(b"X=1", "\0" + manager.name[1:])
    weir(section("127.0.0.1:0", peers.listen()), environment=manager.environment)
    manager.wait("READY", "1")


def test_the_status_follows_when_something_else_has_woken_the_daemon(weir, peers, manager):
    listener = peers.listen()
    begin = time.monotonic()
    daemon = weir(section("127.0.0.1:0", listener), environment=manager.environment)
    manager.wait("READY", "1")
    peers.pair(daemon.address("l"), listener)

    def told():
        daemon.info()  # an administrator looks; that wakes it
        return [m for m in manager.collect() if m.get("STATUS", "").endswith(", 1 sessions")]
    wait_until(told, "the status", 20 * SCALE)
    assert time.monotonic() - begin > 4, "not more often than each 5 s"


def test_a_start_that_fails_is_the_status(weir, peers, manager):
    owner = peers.listen()
    refused(weir, section(owner.address, peers.listen()), environment=manager.environment)
    messages = manager.collect()
    assert len(messages) == 1 and "cannot listen on 127.0.0.1" in messages[0]["STATUS"], messages


def test_a_drain_says_how_many_are_left_and_asks_for_patience(weir, peers, manager):
    listener = peers.listen()
    daemon = weir(section("127.0.0.1:0", listener), "shutdown-delay = 1h\nhard-stop-after = 0",
                  environment=manager.environment)
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(2)]
    daemon.signal(signal.SIGTERM)
    before = manager.wait("STOPPING", "1")
    assert before["STATUS"] == "leaving, 2 sessions"
    assert int(before["EXTEND_TIMEOUT_USEC"]) >= 10_000_000
    daemon.signal(signal.SIGTERM)
    first = manager.wait("STATUS", "draining, 2 sessions left")
    assert int(first["EXTEND_TIMEOUT_USEC"]) >= 10_000_000
    for thing in pairs[0]:
        thing.close()
    second = manager.wait("STATUS", "draining, 1 session left", patience=20 * SCALE)
    assert int(second["EXTEND_TIMEOUT_USEC"]) >= 10_000_000
    peers.close()
    daemon.ended = True
    assert daemon.wait_exit() == 0


def test_a_second_signal_says_that_sessions_are_ended(weir, peers, manager):
    listener = peers.listen()
    daemon = weir(section("127.0.0.1:0", listener), environment=manager.environment)
    peers.pair(daemon.address("l"), listener)
    daemon.signal(signal.SIGTERM)
    manager.wait("STATUS", "draining, 1 session left")
    daemon.signal(signal.SIGTERM)
    manager.wait("STATUS", "stopping, open: 1")
    daemon.ended = True
    assert daemon.wait_exit() == 0


def test_a_manager_that_does_not_listen_holds_nothing_up(weir, peers, manager):
    """Its queue is full: messages are lost, and nothing waits."""
    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    filler.setblocking(False)
    try:
        while True:
            filler.sendto(b"x", "\0" + manager.name[1:])
    except BlockingIOError:
        pass
    listener = peers.listen()
    daemon = weir(section("127.0.0.1:0", listener), environment=manager.environment)
    peers.pair(daemon.address("l"), listener)
    filler.close()


def test_nonsense_in_the_environment_is_one_warning(weir, peers):
    daemon = weir(section("127.0.0.1:0", peers.listen()),
                  environment={"NOTIFY_SOCKET": "vsock:2:1", "WATCHDOG_USEC": "1000"})
    assert daemon.log().count("NOTIFY_SOCKET") == 1


def test_a_watchdog_hears_from_the_daemon_until_one_worker_is_stuck(weir, peers, manager):
    if trace.missing():
        pytest.skip(trace.missing())
    interval = 1.0 * SCALE
    begin = time.monotonic()
    daemon = weir(section("127.0.0.1:0", peers.listen()), "threads = 3",
                  environment=manager.environment | {"WATCHDOG_USEC": str(int(interval * 1e6))})
    manager.wait("WATCHDOG", "1", count=5, patience=8 * interval)
    assert time.monotonic() - begin > 1.2 * interval, "one for each half of the interval"
    tid = process.worker_thread(daemon.pid, 1)
    delay = int(8 * interval * 1e6)
    call = "io_uring_enter" if driver.uses_uring(daemon) else "epoll_pwait2"
    stuck = Inject(tid, f"{call}:delay_exit={delay}", follow=False)
    try:
        wait_until(lambda: "watchdog: 1 of 3 workers do not answer (worker 1 is one)" in daemon.log(),
                   daemon.log, 10 * interval)
        count = len([m for m in manager.collect() if "WATCHDOG" in m])
        assert stays(lambda: len([m for m in manager.collect() if "WATCHDOG" in m]) == count, interval)
    finally:
        stuck.close()
    # It turns again, and is heard again.
    manager.wait("WATCHDOG", "1", count=count + 2, patience=12 * interval)


@pytest.mark.release_only
def test_an_idle_daemon_with_a_manager_makes_no_system_call(weir, peers, manager, folder):
    if trace.missing():
        pytest.skip(trace.missing())
    assert not sanitized()
    daemon = weir(section("127.0.0.1:0", peers.listen()), environment=manager.environment)
    manager.wait("READY", "1")
    calls = trace.Trace(daemon.pid, folder)
    time.sleep(6.0)  # a window of measurement, longer than the status has to wait
    count = calls.stop()
    assert not count, f"system calls of an idle daemon within 6 s: {dict(count)}"


def test_a_user_that_we_are_already_is_fine(weir, peers):
    if os.geteuid() != 0:
        pytest.skip("not root: cannot start as another user")
    nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if not os.path.exists(nobody[0]):
        pytest.skip("no setpriv")
    listener = peers.listen()
    daemon = weir(section("127.0.0.1:0", listener), "user = nobody", wrapper=nobody)
    peers.pair(daemon.address("l"), listener)
    log = refused(weir, section("127.0.0.1:0", listener), global_options="user = root", wrapper=nobody)
    assert "runs as uid 65534" in log and "User=" in log, log
    # Another group by the unit (Group=) is as good.
    nobody[2] = "--regid=12345"
    weir(section("127.0.0.1:0", listener), "user = nobody", wrapper=nobody)
    refused(weir, section("127.0.0.1:0", listener), global_options="user = nobody\ngroup = nogroup",
            wrapper=nobody)
