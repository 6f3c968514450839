# SPDX-License-Identifier: MIT
"""Danger: one of hundreds of hostile clients on the admin socket, with junk, endless lines, partial commands
and hang-ups, ends the daemon or blocks the responses to others."""

import contextlib
import socket

from harness import process, storm
from harness.daemon import sanitized
from harness.timing import wait_until

CLIENTS = 150 if sanitized() else 600
AT_ONCE = 8
COMMANDS = (b"show info", b"show sess", b"show stat", b"show stat json", b"show pools", b"show servers state",
            b"show servers history", b"show hash", b"help", b"prompt", b"set server l/a state drain",
            b"set server l/a weight 3", b"set timeout cli 5", b"show info; show stat")


def what_is_sent(rng):
    """Bytes, and whether the client reads before it leaves."""
    command = rng.choice(COMMANDS)
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 3000))
    if kind == 1:
        return command[:rng.randrange(len(command))]
    if kind == 2:
        return rng.choice((b"x", b" ", b"show ", b"\0", b"\xff", b";")) * rng.randrange(1, 200_000)
    if kind == 3:
        return storm.mutated(rng, command) + b"\n"
    if kind == 4:
        return (command + b"\n") * rng.randrange(2, 200)
    if kind == 5:
        return command + b" " + rng.randbytes(rng.randrange(1, 300)).replace(b"\n", b"") + b"\n"
    if kind == 6:
        return b"\r\n" * rng.randrange(1, 100) + command + rng.choice((b"\n", b"\r\n", b"\0\n"))
    return command + b"\n"


def connected(path):
    """A connection to the socket, as soon as earlier ones leave room."""
    sock = socket.socket(socket.AF_UNIX)
    sock.setblocking(False)

    def done():
        with contextlib.suppress(BlockingIOError):
            sock.connect(path)
            return True
        return False
    wait_until(done, "the admin socket takes a connection")
    return sock


class Client:
    def __init__(self, rng, path):
        self.sock = connected(path)
        self.pieces = storm.slices(rng, what_is_sent(rng), 4)
        self.reads = rng.random() < 0.4

    def step(self):
        """Sends what there is room for; False if no more can be sent."""
        if not self.pieces:
            return False
        try:
            sent = self.sock.send(self.pieces[0])
        except OSError:  # full, or told to go
            return False
        self.pieces[0] = self.pieces[0][sent:]
        if not self.pieces[0]:
            self.pieces.pop(0)
        return True

    def end(self):
        """Most hang up with an answer unread, which is a reset of a Unix socket."""
        with contextlib.suppress(OSError):
            if self.reads:
                self.sock.recv(4096)
        self.sock.close()


def test_hostile_clients_keep_nobody_from_an_answer(weir, peers):
    rng = storm.draw()
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    daemon.expected_alarms = "has no server left"  # some of them drain it
    descriptors = len(process.descriptors(daemon.pid))
    client, server = peers.pair(daemon.address("l"), listener)
    storm.blow(rng, lambda: Client(rng, daemon.admin), CLIENTS, AT_ONCE)
    info = daemon.info()
    assert info["Pid"] == daemon.pid, info
    wait_until(lambda: len(process.descriptors(daemon.pid)) <= descriptors + 2,
               "the daemon has let go of those who hung up")
    # Nobody has asked for the end of the session, and it has gone on.
    client.send(1000)
    server.receive(1000)
