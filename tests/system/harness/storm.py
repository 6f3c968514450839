# SPDX-License-Identifier: MIT
"""The seed of a randomised test. WEIR_TEST_SEED repeats one."""

import os
import random


def draw():
    """A random number generator; its seed is printed, which pytest shows when the test fails."""
    seed = int(os.environ.get("WEIR_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print(f"seed: WEIR_TEST_SEED={seed}")
    return random.Random(seed)


def slices(rng, data, most):
    """`data` in at most `most` pieces, cut anywhere."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(most)))
    pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
    return [piece for piece in pieces if piece]


def mutated(rng, data):
    """`data` with one to four faults: bytes that are changed, missing, doubled or added."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.choice((0, 10, 13, 32, 127, 255, rng.randrange(256)))
        elif kind == 2:
            del data[at:at + rng.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = data[at:at + rng.randrange(1, 40)]
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.randrange(1, 30))
        else:
            del data[at:]
    return bytes(data)


def blow(rng, make, count, at_once):
    """`count` clients, `at_once` at a time; their steps are interleaved at random."""
    for _ in range(0, count, at_once):
        clients = [make() for _ in range(at_once)]
        going = list(clients)
        while going:
            client = rng.choice(going)
            if not client.step():
                going.remove(client)
        for client in clients:
            client.end()
