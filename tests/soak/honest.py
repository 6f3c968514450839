# SPDX-License-Identifier: MIT
"""Honest clients of a soak: keyed bytes in both directions, each compared."""

import errno
import itertools
import time

from harness import exchange, proxy
from harness.peer import Peer, introduce
from harness.timing import PATIENCE, NotInTime

# Undisturbed frontends: their clients must be served in full.
SAFE = ("plain", "path", "proxied", "limited", "named", "routed")
SIZES = (1, 200, 1500, 20_000, 300_000, 2_000_000)
WEIGHTS = (6, 8, 8, 6, 3, 1)


class Cut(Exception):
    """The session ended early."""


class Honest:
    def __init__(self, fronts, number):
        self.fronts = {name: where for name, where in fronts.items() if name != "dead"}
        self.host = f"127.0.0.{10 + number}"
        self.number = number
        self.serial = itertools.count(1)

    def __call__(self, dice):
        name = dice.choice(list(self.fronts))
        talk = dice.choice((self.exchange, self.exchange, self.exchange, self.slow, self.late_end, self.many))
        try:
            talk(name, dice)
        except (Cut, OSError) as e:
            # ENOTCONN: shutdown(2) on a connection that was reset.
            if name in SAFE or not isinstance(e, (Cut, ConnectionError)) and e.errno != errno.ENOTCONN:
                raise AssertionError(f"a client of '{name}' was cut: {e!r}") from e
            return f"honest: cut at {name}"
        return "honest: served"

    def connect(self, name, dice):
        where = self.fronts[name]
        sock = where.socket()
        sock.settimeout(4 * PATIENCE)
        if where.tcp:
            sock.bind((self.host, 0))
        sock.connect(where.sockaddr)
        if name == "proxied":
            sock.sendall(self.header(dice))
        conn = self.number * 10_000_000 + next(self.serial)
        introduce(sock, conn)
        return Peer(sock, "client", conn, where.family)

    def header(self, dice):
        if dice.random() < 0.5:
            return f"PROXY TCP4 192.0.2.{self.number + 1} 198.51.100.1 1234 443\r\n".encode()
        pair = proxy.ip_pair(f"192.0.2.{self.number + 1}", "198.51.100.1", 1234, 443)
        return proxy.v2("tcp4", pair, proxy.tlv(proxy.NOOP, b"x"), checksum=dice.random() < 0.5)

    @staticmethod
    def finish(legs, name):
        try:
            exchange.run(legs, 4 * PATIENCE)
        except NotInTime:
            raise
        except AssertionError as e:
            if name not in SAFE and ("reset" in str(e) or "FIN after" in str(e)):
                raise Cut(str(e)) from e
            raise

    def exchange(self, name, dice):
        """Sends a number of bytes in both directions at the same time, then FIN in both."""
        client = self.connect(name, dice)
        with client.sock:
            size = dice.choices(SIZES, WEIGHTS)[0]
            self.finish([exchange.Leg(client, send=size, receive=size)], name)

    def slow(self, name, dice):
        """Sends, and reads nothing for a while."""
        client = self.connect(name, dice)
        with client.sock:
            size = 200_000
            end = time.monotonic() + dice.uniform(0.1, 1)
            sent = 0
            while time.monotonic() < end and sent < size:
                sent += client.send_some(min(size - sent, 16384))
                time.sleep(0.01)
            self.finish([exchange.Leg(client, send=size - sent, receive=size)], name)

    def late_end(self, name, dice):
        """Pauses between requests."""
        client = self.connect(name, dice)
        with client.sock:
            client.send(1000)
            self.await_bytes(client, 1000, name)
            time.sleep(dice.uniform(0, 0.5))
            self.finish([exchange.Leg(client, send=1000, receive=2000)], name)

    @staticmethod
    def await_bytes(client, count, name):
        try:
            client.receive(count)
        except NotInTime:
            raise
        except AssertionError as e:
            if name not in SAFE and client.end:
                raise Cut(str(e)) from e
            raise

    def many(self, name, dice):
        """Several connections at the same time, but no more than a source may have."""
        clients = [self.connect(name, dice) for _ in range(5)]
        try:
            self.finish([exchange.Leg(client, send=5000, receive=5000) for client in clients], name)
        finally:
            for client in clients:
                client.close()
