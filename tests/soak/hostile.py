# SPDX-License-Identifier: MIT
"""Hostile clients of a soak. Whatever happens to them is right, except being served where they are denied."""

import os
import socket
import struct
import time

from harness import proxy
from harness.timing import PATIENCE

DENIED = "127.0.0.66"
STRANGER = "127.0.0.99"


class Hostile:
    def __init__(self, fronts, admin):
        self.fronts = fronts
        self.admin = admin
        self.tcp = [where for where in fronts.values() if where.tcp]

    def __call__(self, dice):
        time.sleep(dice.uniform(0, 0.05))
        act = dice.choice((self.headers, self.silence, self.denied, self.resets, self.urgent, self.unread,
                           self.scan, self.dead, self.admin_junk, self.admin_unread))
        act(dice)
        return f"hostile: {act.__name__}"

    @staticmethod
    def connect(where, host=None):
        sock = where.socket()
        sock.settimeout(PATIENCE)
        try:
            if host:
                sock.bind((host, 0))
            sock.connect(where.sockaddr)
        except OSError:
            sock.close()
            return None
        return sock

    @staticmethod
    def throw(sock, data):
        try:
            sock.sendall(data)
        except OSError:
            pass

    @staticmethod
    def hear(sock, seconds=0.2):
        try:
            sock.settimeout(seconds)
            while sock.recv(65536):
                pass
        except OSError:
            pass

    def headers(self, dice):
        """PROXY headers with bytes changed, cut or duplicated, in pieces; some from untrusted addresses."""
        for _ in range(20):
            sock = self.connect(self.fronts["proxied"], dice.choice((None, None, STRANGER)))
            if not sock:
                continue
            with sock:
                good = dice.choice((b"PROXY TCP4 192.0.2.9 198.51.100.1 1234 443\r\n",
                                    proxy.v2("tcp4", proxy.ip_pair("192.0.2.9", "198.51.100.1", 1, 2),
                                             proxy.tlv(0x20, dice.randbytes(20)), checksum=True)))
                bad = bytearray(good)
                for _ in range(dice.randrange(1, 4)):
                    bad[dice.randrange(len(bad))] = dice.randrange(256)
                bad = bytes(bad[:dice.randrange(len(bad) + 1)]) if dice.random() < 0.3 else bytes(bad)
                cut = dice.randrange(len(bad) + 1)
                self.throw(sock, bad[:cut])
                self.throw(sock, bad[cut:])
                # Further bytes could be taken for a client's introduction, so it leaves without sending any.
                if dice.random() < 0.5:
                    self.reset(sock)

    def silence(self, dice):
        """Clients that must send a header and never do."""
        socks = [self.connect(self.fronts["proxied"]) for _ in range(20)]
        time.sleep(dice.uniform(0, 0.5))
        for sock in socks:
            if sock:
                sock.close()

    def denied(self, _):
        """A flood from a denied address."""
        for _ in range(200):
            sock = self.connect(self.fronts["limited"], DENIED)
            if not sock:
                continue
            with sock:
                try:
                    sock.settimeout(PATIENCE)
                    assert sock.recv(1) == b"", "a denied client got a byte"
                except OSError:
                    pass

    @staticmethod
    def reset(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def resets(self, dice):
        for _ in range(30):
            sock = self.connect(self.fronts[dice.choice(("plain", "routed", "queued", "flapping", "hasty"))])
            if sock:
                with sock:
                    self.reset(sock)

    def urgent(self, dice):
        """Urgent bytes during the introduction, which no server is promised to receive."""
        sock = self.connect(self.fronts["plain"])
        if sock:
            with sock:
                for _ in range(dice.randrange(1, 5)):
                    try:
                        sock.send(b"c", socket.MSG_OOB)
                    except OSError:
                        break

    def unread(self, dice):
        """Requests bytes and reads none of them."""
        socks = [self.connect(self.fronts["plain"]) for _ in range(4)]
        for number, sock in enumerate(socks):
            if sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
                self.throw(sock, f"conn{900_000_000 + os.getpid() * 10 + number:012d}".encode())
        time.sleep(dice.uniform(0, 0.5))
        for sock in socks:
            if sock:
                sock.close()

    def scan(self, _):
        for where in self.tcp:
            sock = self.connect(where)
            if sock:
                sock.close()

    def dead(self, _):
        for _ in range(20):
            sock = self.connect(self.fronts["dead"])
            if sock:
                with sock:
                    self.hear(sock)

    def admin_junk(self, dice):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            try:
                sock.connect(self.admin)
                junk = dice.randbytes(dice.choice((1, 100, 5000, 100_000))).replace(b"\n", b"x")
                sock.sendall(junk + (b"\n" if dice.random() < 0.5 else b""))
                self.hear(sock)
            except OSError:
                pass

    def admin_unread(self, dice):
        """Requests a lot from the admin socket and reads nothing."""
        socks = []
        for _ in range(dice.randrange(1, 10)):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(1)
            try:
                sock.connect(self.admin)
                sock.sendall(b"show sess; show stat; show sess json\n" * 3)
            except OSError:
                sock.close()
                continue
            socks.append(sock)
        time.sleep(dice.uniform(0, 1))
        for sock in socks:
            sock.close()
