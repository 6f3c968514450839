# SPDX-License-Identifier: MIT
"""Danger: a byte is lost, duplicated, reordered or delivered to the wrong connection, on any pair of
families, by splice or by copy, on one worker or several; or one direction ends the other."""

import time

import pytest

from harness import exchange
from harness.address import FAMILIES
from harness.exchange import Leg
from harness.timing import SCALE

LONG = 1_500_000
SMALL = (0, 1, 4097, 300_001)


# A wait this long has a cause: a cork or a delayed acknowledgement costs 40 to 200 ms.
DELAY = 0.035 * SCALE


def slow_turns(series, most):
    """How many turns of `series` were slow, in the best of three runs unless the first has at most `most`.
    A busy machine is slow now and then; what waits for a timer is so in each run."""
    fewest = None
    for _ in range(3):
        slow = series()
        fewest = slow if fewest is None else min(fewest, slow)
        if fewest <= most:
            break
    return fewest


def both_ways(client, server, up, down):
    return [Leg(client, send=up, receive=down), Leg(server, send=down, receive=up)]


def combinations():
    for splice in ("on", "off", "auto"):
        for threads in (1, 4):
            for family in FAMILIES:
                # Pairwise: each splice mode, each thread count and each family twice or more.
                smoke = (splice, threads, family) in {
                    ("on", 4, "tcp4"), ("off", 1, "tcp6"), ("auto", 4, "path"),
                    ("on", 1, "abstract"), ("off", 4, "tcp4"), ("auto", 1, "tcp6")}
                marks = [pytest.mark.smoke] if smoke else []
                yield pytest.param(splice, threads, family, marks=marks,
                                   id=f"splice-{splice}-{threads}-{family}")


@pytest.mark.parametrize("splice,threads,family", list(combinations()))
def test_streams_arrive_exact_from_this_family_to_each(stages, splice, threads, family):
    """Several connections to each server family at once, both directions, random chunks; among
    them a client that ends first and then is sent much, and a server that ends first."""
    stage = stages(splice, threads)
    legs = []
    for cf, sf in stage.pairs(client_families=[family]):
        for n in range(2):
            legs += both_ways(*stage.open(cf, sf), LONG + n, LONG - n)
        for n in SMALL:
            legs += both_ways(*stage.open(cf, sf), n, 7 * n)
        client, server = stage.open(cf, sf)
        legs += [Leg(client, send=10_000, receive=LONG),
                 Leg(server, send=LONG, receive=10_000, after_end=True)]
        client, server = stage.open(cf, sf)
        legs += [Leg(server, send=10_000, receive=LONG),
                 Leg(client, send=LONG, receive=10_000, after_end=True)]
    exchange.run(legs)


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off", "auto"))
def test_a_byte_at_a_time_arrives_without_delay(stages, splice):
    """Ping-pong of single bytes: a corked or forgotten one would cost 40 to 200 ms each."""
    stage = stages(splice, 1)
    for cf, sf in stage.pairs():
        def series():
            client, server = stage.open(cf, sf)
            slow = 0
            for _ in range(20):
                begin = time.monotonic()
                client.send(1)
                server.receive(1)
                server.send(1)
                client.receive(1)
                slow += time.monotonic() - begin > DELAY
            return slow
        slow = slow_turns(series, 2)
        assert slow <= 2, f"{cf} to {sf}: {slow} of 20 turns took more than {DELAY * 1000:.0f} ms"


@pytest.mark.parametrize("splice", ("on", "off", "auto"))
def test_exact_multiples_of_a_buffer_are_not_delayed(stages, splice):
    """Replies of 16, 32 and 48 pages: the sizes at which a splice with a wrong length waits."""
    stage = stages(splice, 1)
    for cf, sf in stage.pairs(("tcp4", "path"), ("tcp4", "path")):
        client, server = stage.open(cf, sf)
        for size in (65536, 131072, 196608, 16 * 1448):
            def series():
                slow = 0
                for _ in range(6):
                    begin = time.monotonic()
                    client.send(100)
                    server.receive(100)
                    exchange.run([Leg(server, send=size, receive=server.received, fin=False, pace=size),
                                  Leg(client, receive=client.received + size, fin=False, pace=size)])
                    slow += time.monotonic() - begin > DELAY
                return slow
            slow = slow_turns(series, 1)
            assert slow <= 1, \
                f"{cf} to {sf}: {slow} of 6 replies of {size} took more than {DELAY * 1000:.0f} ms"
