# SPDX-License-Identifier: MIT
"""Danger: what one side does reaches the other as something else: a reset as a clean end, an end
too early, bytes cut off by a reset, a stream that stalls at an urgent byte.

Each test is one row of the contract in one splice mode; it runs the row on every pair of families,
in both directions, at the same time. `frozen`: the daemon is stopped by SIGSTOP while the peer acts, so
that everything arrives in one event. `acting` acts, and `other` must see it. A failure names each pair;
to run one pair alone: WEIR_PAIR="tcp4>path to_server".
"""

import os
import select
import socket
import threading
import time

import pytest

from harness.address import FAMILIES
from harness.timing import AT_ONCE, SCALE, NotInTime, wait_until

# What a stopped daemon's kernel takes without help, in the smallest initial window.
FITS = 40_000
MUCH = 200_000
LATE = 1.0


class Case:
    """One row on one pair in one direction."""

    def __init__(self, stage, pair, direction, frozen):
        self.name = f"{pair[0]}>{pair[1]} {direction}"
        client, server = stage.open(*pair)
        self.acting, self.other = (client, server) if direction == "to_server" else (server, client)
        self.direct = stage.sut.name == "direct"
        self.frozen = frozen
        self.much = FITS if frozen else MUCH
        self.acted = 0.0
        # Both ways are open, and weir is past connecting.
        client.send(64)
        server.receive(64)
        server.send(64)
        client.receive(64)

    def expect_reset(self, end):
        """A TCP peer must see RST; towards a Unix peer an abort is close()."""
        wanted = ("reset",) if self.other.tcp else ("reset", "fin")
        assert end in wanted, f"{self.other} saw {end} after {self.other.received} bytes, not RST"

    def expect_at_once(self):
        took = time.monotonic() - self.acted
        assert took < AT_ONCE, f"{self.other} learnt of it after {took:.2f} s"

    def make_resettable(self):
        """A Unix peer resets by leaving something unread."""
        if not self.acting.tcp:
            self.other.send(1)
            assert self.acting.poll(select.POLLIN, 5 * SCALE), f"{self.acting}: a byte is missing"

    def hello_back(self):
        """The other direction works, and a clean end of it is one."""
        self.other.send(5000)
        self.other.fin()
        self.acting.receive(5000)
        end = self.acting.receive_to_end()
        assert end == "fin", f"{self.acting} saw {end} where a clean end was sent"


class Row:
    """prepare and check run in a thread for each case; act for one case after the other."""

    name = ""
    frozen_too = True     # can be played with the daemon stopped
    live_too = True
    blocked = False       # a flow is stuck after prepare: it must cost no CPU

    def prepare(self, case):
        pass

    def act(self, case):
        raise NotImplementedError

    def check(self, case):
        raise NotImplementedError


class FinWithData(Row):
    name = "fin_follows_all_bytes_and_leaves_the_other_direction_open"

    def act(self, case):
        case.acting.send(case.much)
        case.acting.fin()

    def check(self, case):
        end = case.other.receive_to_end()
        assert end == "fin" and case.other.received == 64 + case.much, \
            f"{case.other} saw {end} after {case.other.received} of {64 + case.much} bytes"
        case.hello_back()


class FinAlone(Row):
    name = "fin_alone_is_passed_at_once"

    def act(self, case):
        case.acting.fin()

    def check(self, case):
        end = case.other.receive_to_end()
        assert end == "fin" and case.other.received == 64, f"{case.other} saw {end}"
        case.expect_at_once()
        case.hello_back()


class FinNotBefore(Row):
    name = "open_directions_stay_open"
    frozen_too = False

    def act(self, case):
        case.acting.fin()

    def check(self, case):
        case.other.receive_to_end()
        assert case.acting.quiet(0.3), f"{case.acting}: its own direction ended by its FIN"
        case.hello_back()


class FinBoth(Row):
    name = "fin_of_both_at_once"

    def act(self, case):
        for p in (case.acting, case.other):
            p.send(10_000)
            p.fin()

    def check(self, case):
        for p in (case.acting, case.other):
            end = p.receive_to_end()
            assert end == "fin" and p.received == 10_064, f"{p} saw {end} after {p.received}"


class ResetAlone(Row):
    name = "reset_with_nothing_on_its_way_arrives_at_once"

    def prepare(self, case):
        case.make_resettable()

    def act(self, case):
        case.acting.reset()

    def check(self, case):
        end = case.other.receive_to_end()
        case.expect_reset(end)
        case.expect_at_once()


class ResetStuck(Row):
    name = "reset_arrives_at_once_while_the_other_flow_is_stuck"
    blocked = True

    def prepare(self, case):
        case.other.fill()

    def act(self, case):
        case.acting.reset()

    def check(self, case):
        end = case.other.receive_to_end()
        case.expect_reset(end)
        case.expect_at_once()


class ResetHalfClosed(Row):
    name = "reset_after_the_others_fin_is_a_reset"

    def prepare(self, case):
        if case.acting.tcp:
            case.other.fin()
            assert case.acting.receive_to_end() == "fin"
        else:
            case.make_resettable()
            case.other.fin()
            wait_until(lambda: case.acting.poll(select.POLLRDHUP, 0) & select.POLLRDHUP,
                       f"{case.acting}: FIN is missing")

    def act(self, case):
        case.acting.reset()

    def check(self, case):
        end = case.other.receive_to_end()
        case.expect_reset(end)
        case.expect_at_once()


class ResetWithData(Row):
    name = "reset_follows_all_bytes_to_an_immediate_reader"

    def prepare(self, case):
        case.make_resettable()
        # Room for the bytes that the daemon's kernel would have taken.
        if case.direct and case.other.tcp:
            widen(case)

    def act(self, case):
        case.acting.send(case.much)
        case.acting.wait_acknowledged()
        case.acting.reset()

    def check(self, case):
        expect_all_then_reset(case, case.much)


class ResetWithDataLateReader(ResetWithData):
    name = "reset_follows_all_bytes_to_a_reader_that_comes_late"

    def check(self, case):
        # The destination reads first when a second has passed: the case itself, not a wait.
        time.sleep(max(0.0, case.acted + LATE - time.monotonic()))
        expect_all_then_reset(case, case.much)


class ResetAtRandom(Row):
    name = "reset_right_behind_bytes_cuts_nothing_that_was_acknowledged"
    frozen_too = False

    def prepare(self, case):
        case.make_resettable()
        if case.direct and case.other.tcp:
            widen(case)

    def act(self, case):
        case.acting.send(MUCH)
        case.least = case.acting.sent - (
            case.acting.unacknowledged() if case.acting.tcp else 0)
        case.acting.reset()

    def check(self, case):
        end = case.other.receive_to_end()
        assert case.other.received >= case.least, \
            f"{case.other} got {case.other.received} bytes, {case.least} were acknowledged ({end})"
        case.expect_reset(end)


class ResetBlocked(Row):
    name = "reset_follows_all_bytes_when_the_destination_was_blocked"
    blocked = True

    def prepare(self, case):
        case.make_resettable()
        case.acting.fill()

    def act(self, case):
        case.least = case.acting.sent - (case.acting.unacknowledged() if case.acting.tcp else 0)
        case.acting.reset()

    def check(self, case):
        time.sleep(max(0.0, case.acted + 0.2 - time.monotonic()))
        end = case.other.receive_to_end()
        assert case.other.received >= case.least, \
            f"{case.other} got {case.other.received} bytes, {case.least} were acknowledged ({end})"
        case.expect_reset(end)


class FinThenReset(Row):
    name = "bytes_and_fin_then_reset_lose_no_byte"

    def prepare(self, case):
        case.make_resettable()

    def act(self, case):
        case.acting.send(10_000)
        case.acting.fin()
        case.acting.wait_acknowledged()
        case.acting.reset()

    def check(self, case):
        # FIN and RST may melt into one: both are ends that the peer has sent.
        case.other.receive_to_end()
        assert case.other.received == 64 + 10_000, \
            f"{case.other} saw {case.other.end} after {case.other.received} of 10064 bytes"


class Urgent(Row):
    """The bytes of `script`, a number for plain ones and "u" for an urgent one."""

    script = ()
    with_fin = False

    def script_of(self, case):
        return self.script

    def act(self, case):
        for step in self.script_of(case):
            if step == "u":
                case.acting.urgent()
            else:
                case.acting.send(step)
        if self.with_fin:
            case.acting.fin()

    def check(self, case):
        count = sum(1 if step == "u" else step for step in self.script_of(case))
        if self.with_fin:
            end = case.other.receive_to_end()
            assert end == "fin" and case.other.received == 64 + count, \
                f"{case.other} saw {end} after {case.other.received} of {64 + count} bytes"
        else:
            case.other.receive(count)
            case.acting.send(3000)
            case.other.receive(3000)
            case.acting.fin()
            assert case.other.receive_to_end() == "fin"
        case.hello_back()


class UrgentFirst(Urgent):
    name = "urgent_byte_first"
    script = ("u", 2000)


class UrgentAlone(Urgent):
    name = "urgent_byte_alone"
    script = ("u",)


class UrgentMiddle(Urgent):
    name = "urgent_byte_in_the_middle"
    script = (10_000, "u", 10_000)


class UrgentLast(Urgent):
    name = "urgent_byte_last"
    script = (10_000, "u")


class UrgentFin(Urgent):
    name = "urgent_byte_with_fin"
    script = (10_000, "u")
    with_fin = True


class UrgentBeforeFin(Urgent):
    name = "urgent_byte_with_bytes_and_fin_behind_it"
    script = (100, "u", 100)
    with_fin = True


class UrgentMany(Urgent):
    name = "urgent_bytes_many"
    with_fin = True

    def script_of(self, case):
        # Nobody reads yet, and each small message takes 3 KB of a Unix socket's 208 KB.
        return (50, "u") * (200 if case.acting.tcp else 30) + ("u", "u", 100)


class UrgentBulk(Urgent):
    name = "urgent_bytes_in_a_bulk_stream"
    script = (100_000, "u", 100_000, "u", 100_000)
    with_fin = True
    frozen_too = False

    def act(self, case):
        case.thread = threading.Thread(target=super().act, args=(case,), daemon=True)
        case.thread.start()

    def check(self, case):
        super().check(case)
        case.thread.join()


class UrgentBlocked(Row):
    name = "urgent_bytes_while_the_destination_is_blocked"
    blocked = True

    def prepare(self, case):
        case.acting.fill(urgent_each=50_000)

    def act(self, case):
        # What is in the destination's own kernel is delivered; the daemon notices when it runs.
        case.other.receive(4096)

    def check(self, case):
        case.other.receive(case.acting.sent - case.other.received)
        case.acting.urgent()
        case.acting.fin()
        end = case.other.receive_to_end()
        assert end == "fin" and case.other.received == case.acting.sent, \
            f"{case.other} saw {end} after {case.other.received} of {case.acting.sent} bytes"
        case.hello_back()


def widen(case):
    """Without a proxy its buffers are missing: the receiver gets the room."""

    case.other.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 << 20)
    # The window grows when something is read.
    case.acting.send(30_000)
    case.other.receive(30_000)


def expect_all_then_reset(case, count):
    goal = case.acting.sent
    end = case.other.receive_to_end()
    assert case.other.received == goal, \
        f"{case.other} saw {end} after {case.other.received} of {goal} bytes"
    case.expect_reset(end)


ROWS = [row() for row in (
    FinWithData, FinAlone, FinNotBefore, FinBoth, ResetAlone, ResetStuck, ResetHalfClosed,
    ResetWithData, ResetWithDataLateReader, ResetAtRandom, ResetBlocked, FinThenReset, UrgentFirst,
    UrgentAlone, UrgentMiddle, UrgentLast, UrgentFin, UrgentBeforeFin, UrgentMany, UrgentBulk,
    UrgentBlocked)]

# Unix paths and abstract names differ in nothing but the name; one of each role is enough.
PAIRS = [("tcp4", "tcp4"), ("tcp6", "tcp6"), ("tcp4", "path"), ("abstract", "tcp4"),
         ("path", "tcp6"), ("path", "path"), ("abstract", "abstract")]


def in_threads(cases, work):
    """Runs work(case) for all cases at the same time; returns the failures, by name of the case."""
    failures = {}

    def one(case):
        try:
            work(case)
        except BaseException as e:  # noqa: B902  all of them are reported
            failures[case.name] = f"{type(e).__name__}: {e}".partition("\n")[0]

    workers = [threading.Thread(target=one, args=(case,)) for case in cases]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return failures


def play(stage, row, frozen):
    only = os.environ.get("WEIR_PAIR")
    cases = []
    for pair in PAIRS:
        for direction in ("to_server", "to_client"):
            if stage.has(*pair) and only in (None, f"{pair[0]}>{pair[1]} {direction}"):
                cases.append(Case(stage, pair, direction, frozen))
    count = len(cases)
    failures = in_threads(cases, row.prepare)
    cases = [c for c in cases if c.name not in failures]
    if row.blocked:
        ticks = stage.sut.cpu_over(0.3)
        if ticks > 2:
            failures["all"] = f"{ticks} ticks of CPU in 0.3 s while every flow is blocked"
    if frozen:
        stage.sut.freeze()
    try:
        for case in cases:
            row.act(case)
    finally:
        if frozen:
            stage.sut.thaw()
    now = time.monotonic()
    for case in cases:
        case.acted = now
    failures.update(in_threads(cases, row.check))
    if failures:
        pytest.fail(f"{len(failures)} of {count} cases:\n" + "\n".join(
            f"  {name}: {words}" for name, words in sorted(failures.items())), pytrace=False)


def combinations():
    smoke = {"fin_follows_all_bytes_and_leaves_the_other_direction_open": "on",
             "reset_follows_all_bytes_to_an_immediate_reader": "auto",
             "reset_follows_all_bytes_when_the_destination_was_blocked": "on",
             "reset_arrives_at_once_while_the_other_flow_is_stuck": "off",
             "urgent_bytes_many": "on", "urgent_bytes_while_the_destination_is_blocked": "auto",
             "urgent_byte_with_fin": "off"}
    found = []
    for row in ROWS:
        for splice in ("on", "off", "auto"):
            for frozen in (False, True):
                # What arrives in one event is small, and then auto copies as off does.
                if frozen and splice == "auto":
                    continue
                if row.frozen_too if frozen else row.live_too:
                    marks = [pytest.mark.smoke] if smoke.get(row.name) == splice else []
                    found.append(pytest.param(
                        row, splice, frozen, marks=marks,
                        id=f"{row.name}-splice-{splice}" + ("-frozen" if frozen else "")))
    return found


@pytest.mark.parametrize("row,splice,frozen", combinations())
def test_contract(stages, row, splice, frozen):
    play(stages(splice, 2), row, frozen)


def is_over(stage, accepted):
    """Ends what has come to the servers. Does nobody come any more? On a busy machine a pause does not tell:
    weir must have accepted so many clients, and have no session."""
    for server in stage.servers.values():
        while True:
            try:
                found = server.accept(0.1 * SCALE)
            except NotInTime:
                break
            with found:
                found.settimeout(5)
                try:
                    while found.recv(65536):
                        pass
                except ConnectionError:
                    pass
    if accepted is None:
        return True
    info = stage.sut.info()
    return info["accepted"] == accepted and info["sessions"] == 0


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off", "auto"))
@pytest.mark.parametrize("how", ("fin", "reset"))
def test_what_a_client_sent_before_it_was_accepted(stages, splice, how):
    """Bytes and the end arrive before the daemon has accepted. FIN: the server gets all of it and
    its reply comes back. RST: all of it or nothing, and nothing stays behind."""
    stage = stages(splice, 2)
    pairs = stage.pairs(("tcp4", "path"), ("tcp6", "path") if stage.sut.name != "direct"
                        else FAMILIES)
    accepted = stage.sut.info()["accepted"] + len(pairs) if stage.sut.name == "weir" else None
    stage.sut.freeze()
    clients = []
    try:
        for cf, sf in pairs:
            client = stage.connect(cf, sf)
            client.send(10_000)
            if how == "fin":
                client.fin()
            elif client.tcp:
                client.wait_acknowledged()
                client.reset()
            else:
                client.close()
            clients.append((client, sf))
    finally:
        stage.sut.thaw()
    if how == "reset":
        wait_until(lambda: is_over(stage, accepted), "every client has been accepted, and has left")
        return
    waiting = {client.conn: client for client, _ in clients}
    for _, sf in clients:
        server = stage.accept(sf)
        client = waiting.pop(server.conn)
        assert server.receive_to_end() == "fin" and server.received == 10_000
        server.send(20_000)
        server.fin()
        assert client.receive_to_end() == "fin" and client.received == 20_000
