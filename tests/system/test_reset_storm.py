# SPDX-License-Identifier: MIT
"""Danger: a pipe or buffer that still holds bytes of a dead connection is given to another connection."""

import pytest

from harness import exchange
from harness.exchange import Leg

STORM = 200


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off", "auto"))
@pytest.mark.parametrize("who", ("client", "server"))
def test_new_connections_after_resets_in_mid_transfer_are_exact(stages, splice, who):
    """200 connections are reset while their pipes are full; 200 new ones follow at once."""
    stage = stages(splice, 2)
    pairs = stage.pairs(("tcp4", "path"), ("tcp4", "path"))
    doomed = [stage.open(*pairs[n % len(pairs)]) for n in range(STORM)]
    for client, server in doomed:
        sender = server if who == "client" else client
        for _ in range(40):
            if not sender.send_some(65536):
                break
    for client, server in doomed:
        (client if who == "client" else server).reset()
    legs = []
    for n in range(STORM):
        client, server = stage.open(*pairs[n % len(pairs)])
        legs += [Leg(client, send=20_000 + n, receive=50_000 - n),
                 Leg(server, send=50_000 - n, receive=20_000 + n)]
    exchange.run(legs)
    for client, server in doomed:
        survivor = server if who == "client" else client
        assert survivor.receive_to_end() is not None


@pytest.mark.parametrize("splice", ("on", "off"))
def test_both_ends_reset_in_the_same_instant(stages, splice):
    """Both sides die in one event, again and again, on descriptors that are reused at once."""
    stage = stages(splice, 2)
    for _ in range(10):
        pairs = [stage.open("tcp4", "tcp4") for _ in range(20)]
        for client, server in pairs:
            client.send(3000)
            server.send(3000)
        stage.sut.freeze()
        try:
            for client, server in pairs:
                client.reset()
                server.reset()
        finally:
            stage.sut.thaw()
        client, server = stage.open("tcp4", "tcp4")
        exchange.run([Leg(client, send=30_000, receive=30_000),
                      Leg(server, send=30_000, receive=30_000)])
