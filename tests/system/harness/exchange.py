# SPDX-License-Identifier: MIT
"""An exchange: many peers that send and receive at the same time, driven by one loop."""

import random
import selectors
import time

from harness.timing import PATIENCE, NotInTime

CHUNKS = (1, 7, 100, 1447, 1448, 1449, 4095, 4096, 4097, 16384, 65536, 262144)


class Leg:
    """One peer's part: what it sends, what it must receive, and who ends first."""

    def __init__(self, peer, send=0, receive=0, fin=True, after_end=False, pace=None):
        self.peer = peer
        self.send = send          # bytes still to send
        self.receive = receive    # bytes to receive, followed by FIN
        self.fin = fin            # send FIN after the last byte
        self.after_end = after_end  # send only after the other side's FIN has arrived
        self.random = random.Random(peer.conn * 2 + (peer.side == "server"))
        self.pace = pace          # chunk size; random if unset
        self.finned = False

    def wants_to_send(self):
        return not self.finned and (not self.after_end or self.peer.end is not None)

    def chunk(self):
        return self.pace or self.random.choice(CHUNKS)

    def step_out(self):
        if self.send > 0:
            self.send -= self.peer.send_some(min(self.send, self.chunk()))
        if self.send == 0 and not self.finned:
            self.finned = True
            if self.fin:
                self.peer.fin()

    def step_in(self):
        peer = self.peer
        peer.recv_some(self.chunk())
        if peer.end == "reset":
            raise AssertionError(f"{peer}: reset after {peer.received} of {self.receive} bytes")
        if peer.received > self.receive:
            raise AssertionError(f"{peer}: more than the {self.receive} bytes that were sent")
        if peer.end == "fin" and peer.received < self.receive:
            raise AssertionError(f"{peer}: FIN after {peer.received} of {self.receive} bytes")

    def done(self):
        return self.finned and (self.peer.end == "fin" if self.fin else
                                self.peer.received == self.receive)


def run(legs, patience=None):
    """Runs until every leg is done; any progress restarts the timeout."""
    patience = PATIENCE if patience is None else patience
    selector = selectors.EpollSelector()
    masks = {}

    def arm(leg):
        mask = 0
        if leg.peer.end is None and not (not leg.fin and leg.peer.received == leg.receive):
            mask |= selectors.EVENT_READ
        if leg.wants_to_send():
            mask |= selectors.EVENT_WRITE
        before = masks.get(leg, 0)
        if mask == before:
            return
        masks[leg] = mask
        if not before:
            selector.register(leg.peer.sock, mask, leg)
        elif not mask:
            selector.unregister(leg.peer.sock)
        else:
            selector.modify(leg.peer.sock, mask, leg)

    for leg in legs:
        leg.peer.sock.setblocking(False)
        arm(leg)
    try:
        last = time.monotonic()
        while selector.get_map():
            events = selector.select(0.1)
            for key, mask in events:
                leg = key.data
                if mask & selectors.EVENT_READ:
                    leg.step_in()
                if mask & selectors.EVENT_WRITE and leg.wants_to_send():
                    leg.step_out()
                arm(leg)
            now = time.monotonic()
            if events:
                last = now
            elif now - last > patience:
                rest = [f"{leg.peer}: {leg.peer.sent} sent, {leg.send} to go, "
                        f"{leg.peer.received} of {leg.receive} received, end {leg.peer.end}"
                        for leg in legs if not leg.done()]
                raise NotInTime("stalled: " + "; ".join(rest[:8]))
    finally:
        selector.close()
        for leg in legs:
            if leg.peer.sock.fileno() >= 0:
                leg.peer.sock.settimeout(PATIENCE)
    for leg in legs:
        assert leg.done(), f"{leg.peer}: not done"


def crossed(pairs, size):
    """All pairs of a client and its server at the same time, in both directions, each with its own length."""
    run([leg for n, (client, server) in enumerate(pairs)
         for leg in (Leg(client, send=size + n, receive=size - n),
                     Leg(server, send=size - n, receive=size + n))])
