# SPDX-License-Identifier: MIT
"""Danger: a peer that does not read fills memory, burns CPU, or loses bytes that it reads late."""

import pytest

from harness import exchange, process
from harness.daemon import sanitized
from harness.exchange import Leg

CONNECTIONS = 24
BYTES = 6_000_000


@pytest.mark.parametrize("splice", ("on", "off", "auto"))
@pytest.mark.parametrize("families", (("tcp4", "tcp4"), ("path", "tcp6"), ("tcp4", "path")),
                         ids="-".join)
def test_a_sender_is_slowed_memory_is_flat_and_all_arrives(stages, splice, families):
    """Senders push until there is no more room, in both directions; then the readers wake up."""
    stage = stages(splice, 2)
    if not stage.has(*families):
        pytest.skip(f"{stage.sut.name} has no {families}")
    pairs = [stage.open(*families) for _ in range(CONNECTIONS)]
    before = process.rss_anon(stage.sut.pid) if stage.sut.name == "weir" else 0
    for n, (client, server) in enumerate(pairs):
        (client, server)[n % 2].fill(quiet=0.02)
    if before and not sanitized():
        grown = process.rss_anon(stage.sut.pid) - before
        # By splice nothing of it is in user memory; by copy at most one buffer for each flow.
        limit = CONNECTIONS * (1024 if splice == "on" else 68 * 1024) + (512 << 10)
        assert grown <= limit, f"{grown} bytes of memory for {CONNECTIONS} blocked flows"
    ticks = stage.sut.cpu_over(0.5)
    # A spin would be 50. The kernel's own window probes are charged to whoever runs.
    assert ticks <= 3, f"{ticks} ticks of CPU in 0.5 s while all flows are blocked"
    legs = []
    for n, (client, server) in enumerate(pairs):
        sender, reader = (client, server) if n % 2 == 0 else (server, client)
        total = max(BYTES, sender.sent) if n < 4 else sender.sent
        legs += [Leg(sender, send=total - sender.sent, receive=1000),
                 Leg(reader, send=1000, receive=total)]
    exchange.run(legs)


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off", "auto"))
def test_a_tiny_window_gets_every_byte(stages, splice):
    """A reader with the smallest buffer, a byte or a page at a time, then fast."""
    stage = stages(splice, 2)
    for family in ("tcp4", "path"):
        client, server = stage.open("tcp4", family if stage.has("tcp4", family) else "tcp4",
                                    receive_buffer=2048)
        server.fill(quiet=0.05)
        for size in (1, 4096, 17, 1449) * 10:
            client.receive(size, piece=size)
        total = server.sent + 300_000
        exchange.run([Leg(server, send=300_000, receive=0), Leg(client, receive=total)])


@pytest.mark.parametrize("splice", ("on", "off"))
def test_a_blocked_direction_does_not_block_the_other(stages, splice):
    stage = stages(splice, 1)
    client, server = stage.open("tcp4", "tcp4")
    client.fill()
    for _ in range(20):
        server.send(5000)
        client.receive(5000)
    server.receive(client.sent)
