# SPDX-License-Identifier: MIT
"""Danger: what is pending in a worker's ring is lost, leaks, delays the end, or is taken for part of the next
connection. The tests run on either driver; some compare counters that only io_uring has."""

import random
import resource
import signal
import socket
import threading

import pytest

from harness import exchange, final_check
from harness.daemon import sanitized
from harness.exchange import Leg
from harness.timing import AT_ONCE, SCALE, wait_until

# More than a ring has buffers (256), and than its completion queue holds (4096) when both sides speak. Linux
# 6.18 completes what waited some twenty at a time, so that here neither runs out: tests/sim sees to that.
SPEAKERS = 600
CROWD = 3000
TOO_MUCH = bytes(200_000)


def roomy(connections):
    """We hold two descriptors of each connection, and the daemon, which inherits the limit, two others."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = 2 * connections + 1000
    if hard < need:
        pytest.skip(f"RLIMIT_NOFILE is {hard}, {need} are needed")
    if soft < need:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def section(listener, at="127.0.0.1:0"):
    return f"[listen l]\nbind = {at}\nserver a = {listener.address}\n"


def count_on(name, field, least, most=1 << 40):
    """Skips where this machine gives a socket another room than a test counts on: the daemon sets none, and
    its sockets are not ours."""
    with open(f"/proc/sys/net/{name}", encoding="ascii") as f:
        values = f.read().split()
    if not least <= int(values[field]) <= most:
        pytest.skip(f"net/{name} is '{' '.join(values)}', and {values[field]} is not from {least} to {most}")


def takes_little(peers):
    """A listener for servers to which the daemon can send less than 200,000 bytes before they are read:
    the kernel makes room for twice ten segments, which here are small ones, unless it begins with more."""
    count_on("ipv4/tcp_wmem", 1, 0, 65536)
    count_on("ipv4/tcp_wmem", 2, 1 << 20)  # of our clients, that they can say so much at once

    def small(where):
        sock = where.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        return sock
    return peers.listen(socket_maker=small)


def blocked(daemon):
    """So many flows hold bytes that their destination does not take."""
    info = daemon.info()
    return info["bufs_in_use"] + info["pipes_in_use"]


# The end of everything.

@pytest.mark.smoke
@pytest.mark.parametrize("how, threads", (("a short drain", 1), ("a second signal", 2)))
def test_a_stop_with_thousands_of_ops_pending_is_short_and_clean(weir, peers, how, threads):
    """Idle ones, ones whose client has finished sending, and ones with bytes that no peer reads."""
    count = 500 if sanitized() else 2000
    roomy(count)
    listener = takes_little(peers)
    after = "300ms" if how == "a short drain" else "30s"
    daemon = weir(section(listener),
                  f"threads = {threads}\nmaxconn = {count + 100}\nhard-stop-after = {after}")
    where = daemon.address("l")
    for n in range(count):
        client, _ = peers.pair(where, listener)
        if n % 5 == 0:
            client.sock.send(TOO_MUCH, socket.MSG_DONTWAIT)
        if n % 3 == 0:
            client.fin()
    wait_until(lambda: blocked(daemon) > count // 6, lambda: f"blocked flows: {blocked(daemon)}")
    daemon.ended = True
    daemon.signal(signal.SIGTERM if how == "a short drain" else signal.SIGINT)
    if how == "a second signal":
        wait_until(lambda: "no new sessions" in daemon.log(), "two signals at once would be one")
        daemon.signal(signal.SIGINT)
    assert daemon.wait_exit(0.3 + 2 * AT_ONCE) == 0
    final_check.check_log(daemon)
    assert f"stopped: {count} accepted" in daemon.log()


# Numbers that are reused.

LAST_WORDS = ("fin", "reset by the client", "reset by the server", "left unread", "both at once")


def part(client, server, how):
    """Ends a connection in one of the ways of LAST_WORDS."""
    if how == "left unread":
        client.send_some(30_000)
        server.send_some(30_000)
    elif how == "both at once":
        client.send_some(3000)
        client.reset()
        server.reset()
    elif how.startswith("reset"):
        (client if how.endswith("client") else server).reset()
    client.close()
    server.close()


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off"))
def test_descriptor_numbers_that_are_used_at_once_get_their_own_bytes(weir, peers, splice):
    """The limit leaves room for a few more than live at a time, so that each number is used at once."""
    listener = peers.listen()
    daemon = weir(section(listener), f"splice = {splice}\nthreads = 1\nmaxpipes = 8",
                  wrapper=["prlimit", "--nofile=100:100"])
    where = daemon.address("l")
    room = daemon.info()["maxconn"]
    assert 8 <= room < 50, f"maxconn {room} of 100 descriptors"
    luck = random.Random(7)
    alive = []
    for n in range(500 if sanitized() else 2500):
        if len(alive) == room - 1:
            part(*alive.pop(luck.randrange(len(alive))), luck.choice(LAST_WORDS))
        client, server = peers.pair(where, listener)
        client.send(luck.choice((1, 500, 20_000)))
        server.send(luck.choice((1, 500, 20_000)))
        if n % 2:
            server.receive(client.sent)
            client.receive(server.sent)
        alive.append((client, server))
        if n % 50 == 49:
            for client, server in alive:
                server.receive(client.sent - server.received)
                client.receive(server.sent - client.received)
            peers.things = [listener] + [end for pair in alive for end in pair]


# More than the ring has room for.

@pytest.mark.smoke
@pytest.mark.parametrize("splice, size, times", (("off", 20_000, 12), ("auto", 60_000, 4)))
def test_more_speak_at_once_than_there_are_buffers(weir, peers, splice, size, times):
    roomy(SPEAKERS)
    listener = takes_little(peers)
    daemon = weir(section(listener), f"threads = 1\nsplice = {splice}")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(SPEAKERS)]
    for _ in range(times):
        daemon.freeze()
        for client, _ in pairs:
            client.send(size)
        daemon.thaw()
        daemon.info()
    wait_until(lambda: blocked(daemon) > SPEAKERS // 2, lambda: f"blocked flows: {blocked(daemon)}")
    most = final_check.IDLE_TICKS_SANITIZED if sanitized() else 3
    wait_until(lambda: daemon.cpu_over(0.1 * SCALE) <= 1, "it has done what it can")
    ticks = daemon.cpu_over(0.5)
    assert ticks <= most, f"{ticks} ticks of CPU in 0.5 s while all destinations are blocked"
    daemon.freeze()
    for _, server in pairs:
        server.send(2000)
    daemon.thaw()
    exchange.run([Leg(server, receive=size * times, fin=False, pace=16384) for _, server in pairs] +
                 [Leg(client, receive=2000, fin=False) for client, _ in pairs])
    ticks = daemon.cpu_over(0.3)
    assert ticks <= most, f"{ticks} ticks of CPU in 0.3 s with {SPEAKERS} idle connections"


def last_words(n, client):
    """Every third client resets, every third ends, and the others stay."""
    if n % 3 == 1:
        client.fin()
    elif n % 3 == 2:
        client.reset()


@pytest.mark.smoke
@pytest.mark.parametrize("speak", ("clients", "both"))
def test_more_happens_at_once_than_the_queue_of_completions_holds(weir, peers, speak):
    """The daemon is stopped while all of them send and end, and then finds everything at once."""
    crowd = 800 if sanitized() else CROWD
    roomy(crowd)
    listener = peers.listen()
    daemon = weir(section(listener), f"threads = 1\nmaxconn = {crowd + 100}")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(crowd)]
    daemon.freeze()
    for n, (client, server) in enumerate(pairs):
        client.send(1000)
        if speak == "both":
            server.send(500)
        last_words(n, client)
    daemon.thaw()
    for n, (client, server) in enumerate(pairs):
        server.receive(1000)
        if n % 3:
            end = server.receive_to_end()
            assert end == ("fin", "reset")[n % 3 - 1], f"{server}: {end}"
        if n % 3 != 2:
            client.receive(server.sent)
            server.fin()
            if n % 3 == 0:
                client.fin()
            assert client.receive_to_end() == "fin"
        server.close()
    wait_until(lambda: daemon.info()["sessions"] == 0, "all have ended")
    assert daemon.info()["accepted"] == crowd


@pytest.mark.parametrize("splice, threads", (("on", 1), ("off", 2)))
def test_streams_go_on_where_a_daemon_stood_still(weir, peers, splice, threads):
    listener = peers.listen()
    daemon = weir(section(listener), f"splice = {splice}\nthreads = {threads}")
    legs = []
    for n in range(20):
        client, server = peers.pair(daemon.address("l"), listener)
        legs += [Leg(client, send=3_000_000 + n, receive=1_000_000 - n),
                 Leg(server, send=1_000_000 - n, receive=3_000_000 + n)]
    over = threading.Event()

    def stutter():
        while not over.wait(0.05):
            daemon.signal(signal.SIGSTOP)
            over.wait(0.05)
            daemon.signal(signal.SIGCONT)
    other = threading.Thread(target=stutter)
    other.start()
    try:
        exchange.run(legs)
    finally:
        over.set()
        other.join()


# Bytes that wait while their connection ends.

@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off"))
@pytest.mark.parametrize("family, count", (("tcp4", 150_000), ("path", 300_000)))
@pytest.mark.parametrize("side", ("client", "server"))
def test_a_reset_cuts_nothing_of_a_half_written_send(weir, peers, folder, splice, family, count, side):
    """The sender is gone; its bytes wait for a reader, and then the reader gets the reset."""
    # What is acknowledged waits on its way: in the daemon's receive queue, and where its reader has room.
    count_on("ipv4/tcp_rmem", 1, 131072)
    count_on("core/wmem_default", 0, 200_000)
    listener = peers.listen(family if side == "client" else "tcp4")
    at = "127.0.0.1:0" if side == "client" or family == "tcp4" else f"unix:{folder}/front"
    daemon = weir(section(listener, at=at), f"splice = {splice}\nthreads = 1")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(20)]
    owed = []
    for client, server in pairs:
        sender = client if side == "client" else server
        sender.send(count)
        owed.append(sender.acknowledged())
        assert owed[-1] > count / 2, f"{sender}: only {owed[-1]} of {count} bytes are acknowledged"
        sender.reset()
    for (client, server), least in zip(pairs, owed):
        reader = server if side == "client" else client
        end = reader.receive_to_end()
        assert least <= reader.received <= count, f"{reader}: {end} after {reader.received} of {least} bytes"
        assert end == "reset" or not reader.tcp, f"{reader}: {end}"
