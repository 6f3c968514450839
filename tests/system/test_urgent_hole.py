# SPDX-License-Identifier: MIT
"""Danger: an urgent mark behind a hole in the stream, where poll(2) reports something and recv(2) finds
nothing, keeps a worker busy, holds its buffers or occupies kernel threads.

Such a segment bypasses the peer's kernel. It carries the bytes that the peer will send at that place, so the
stream stays the keyed one: when the hole is filled, these bytes have already arrived."""

import resource
import time
from collections import Counter

import pytest

from harness import driver, process, segment
from harness.daemon import BINARY, sanitized
from harness.final_check import IDLE_TICKS_SANITIZED
from harness.timing import AT_ONCE, SCALE, wait_until

# More than a ring has buffers (256).
SESSIONS = 300
HOLE = 1000
BEHIND = 10
URGENT = 5


def need(name):
    if segment.missing():
        pytest.skip(segment.missing())
    if name == "io_uring" and driver.unusable(BINARY):
        pytest.skip(driver.unusable(BINARY))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = 2 * SESSIONS + 500  # ours, and the daemon's, which inherits the limit
    if hard < descriptors:
        pytest.skip(f"RLIMIT_NOFILE is {hard}, {descriptors} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, descriptors), hard))


def talk(client, server):
    """So that the reads of both directions wait for more."""
    server.send(2000)
    client.receive(2000)
    client.send(2000)
    server.receive(2000)


def thread_names(daemon):
    names = []
    for thread in process.threads(daemon.pid):
        try:
            with open(f"/proc/{daemon.pid}/task/{thread}/comm", encoding="ascii") as f:
                names.append(f.read().strip())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return Counter(names)


def check_undisturbed(daemon, threads, what):
    """No thread more than before, and no CPU."""
    most = IDLE_TICKS_SANITIZED if sanitized() else 1
    ticks = daemon.cpu_over(0.3)
    more = Counter(thread_names(daemon)) - threads
    assert not more and ticks <= most, f"{what}: {ticks} ticks of CPU in 0.3 s, threads more {dict(more)}"


def end(n, speaker, listener):
    """Every third session is reset with its hole open. The others fill it, and end in turn."""
    if n % 3 == 0:
        speaker.reset()
        assert listener.receive_to_end() == "reset", f"{listener}: {listener.end}"
        return
    # With the bytes that have come: the peer's own kernel takes no confirmation of what it has not sent, and
    # after its timeout to retransmit it sends nothing else.
    speaker.send(HOLE + BEHIND)
    listener.receive(HOLE + BEHIND)
    speaker.send(3000)
    listener.receive(3000)
    listener.send(3000)
    speaker.receive(3000)
    first, last = (speaker, listener) if n % 3 == 1 else (listener, speaker)
    first.fin()
    assert last.receive_to_end() == "fin", f"{last}: {last.end}"
    last.fin()
    assert first.receive_to_end() == "fin", f"{first}: {first.end}"


@pytest.mark.smoke
@pytest.mark.parametrize("side", ("client", "server"))
@pytest.mark.parametrize("splice", ("off", "auto", "on"))
@pytest.mark.parametrize("name", ("epoll", "io_uring"))
def test_an_urgent_mark_behind_a_hole_disturbs_nobody(weir, peers, name, splice, side):
    need(name)
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"threads = 1\ndriver = {name}\nsplice = {splice}")
    assert daemon.info()["driver"] == name
    where = daemon.address("l")
    pairs = [peers.pair(where, listener) for _ in range(SESSIONS)]
    for client, server in pairs:
        talk(client, server)
    wait_until(lambda: daemon.cpu_over(0.1 * SCALE) <= 1, "all sessions are idle")
    threads = thread_names(daemon)
    with segment.sender() as raw:
        for client, server in pairs:
            segment.send_urgent(raw, client if side == "client" else server, HOLE, BEHIND, URGENT)
    check_undisturbed(daemon, threads, f"{SESSIONS} urgent marks behind holes")
    began = time.monotonic()
    fresh = peers.pair(where, listener)
    talk(*fresh)
    took = time.monotonic() - began
    assert took < AT_ONCE, f"a new session took {took:.2f} s"
    for n, (client, server) in enumerate(pairs):
        end(n, *((client, server) if side == "client" else (server, client)))
    check_undisturbed(daemon, threads, "after the end of these sessions")
    talk(*fresh)
