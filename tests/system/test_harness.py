# SPDX-License-Identifier: MIT
"""Danger: a checker that detects nothing. These tests need no daemon, only streams and peers."""

import pytest

from harness.stream import PERIOD, Checker, Stream, StreamError

pytestmark = pytest.mark.harness


def wrong(stream, *parts):
    """What the checker says to these parts."""
    checker = Checker(stream)
    with pytest.raises(StreamError) as caught:
        checker.feed(b"".join(parts))
    return str(caught.value)


@pytest.fixture
def stream():
    return Stream(1_000_001, "to_server")


def test_the_checker_accepts_what_was_sent_in_any_pieces(stream):
    checker = Checker(stream)
    offset = 0
    for size in (1, 7, 4096, PERIOD, 65_537, 2 * PERIOD + 3):
        checker.feed(stream.read(offset, size))
        offset += size
    assert checker.offset == offset


def test_loss_is_named(stream):
    said = wrong(stream, stream.read(0, 5000), stream.read(5100, 5000))
    assert "offset 5000: loss of 100 bytes" in said


def test_loss_of_a_whole_period_is_named(stream):
    said = wrong(stream, stream.read(0, 5000), stream.read(5000 + PERIOD, 5000))
    assert f"loss of {PERIOD} bytes" in said


def test_duplication_is_named(stream):
    said = wrong(stream, stream.read(0, 5000), stream.read(4000, 5000))
    assert "duplication, bytes of offset 4000" in said


def test_reordering_is_named(stream):
    said = wrong(stream, stream.read(0, 5000), stream.read(6000, 1000), stream.read(5000, 1000))
    assert "reordering, bytes of offset 6000" in said


def test_a_leak_is_named_with_its_connection(stream):
    other = Stream(1_000_002, "to_client")
    said = wrong(stream, stream.read(0, 5000), other.read(300, 1000))
    assert "leak from connection 1000002 to_client, its offset 300" in said


def test_corruption_is_named(stream):
    said = wrong(stream, stream.read(0, 5000), bytes(100))
    assert "offset 5000: corruption" in said
