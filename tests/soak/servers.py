# SPDX-License-Identifier: MIT
"""The servers of a soak: processes that answer a client's keyed bytes with as many of their own.

A byte that is not the client's ends the process, and the soak fails. Two of the servers are killed and
started again on the same port.
"""

import multiprocessing
import os
import signal
import socket
import threading
import traceback

from harness import address
from harness.peer import Peer, read_preamble
from harness.proxy import Received
from harness.timing import NotInTime

WRONG = 3


def _serve(sock, family, header):
    peer = None
    try:
        sock.settimeout(60)
        if header:
            Received(sock)
        conn = read_preamble(sock, may_be_silent=True)
        if conn is None:
            return
        peer = Peer(sock, "server", conn, family)
        sock.settimeout(60)
        while True:
            count = peer.recv_some(65536)
            if not count:
                return
            peer.send(count)
    except OSError:
        pass  # the client left, as it may
    except AssertionError as e:
        # A session that ends during its header or introduction, or stalls, has no wrong byte. The bytes
        # after a forged header need not be an introduction.
        if peer is None and (header or "foreign" not in str(e)) or isinstance(e, NotInTime):
            return
        traceback.print_exc()
        os._exit(WRONG)
    finally:
        sock.close()


def _main(listener, family, header):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.stack_size(256 << 10)
    while True:
        sock, _ = listener.accept()
        try:
            threading.Thread(target=_serve, args=(sock, family, header), daemon=True).start()
        except RuntimeError:
            sock.close()


class Server:
    def __init__(self, family, folder, header=False):
        self.header = header
        self.family = family
        self.holder = None
        if family == "tcp4":
            self.holder, self.address = address.hold(family)
        else:
            self.address = address.fresh(family, folder)
        self.child = None
        self.start()

    def is_wrong(self):
        """Did it end because of a byte that was not its client's?"""
        return self.child is not None and self.child.exitcode == WRONG

    def start(self):
        listener = self.address.socket()
        if self.address.tcp:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(self.address.sockaddr)
        listener.listen(4096)
        work = (listener, self.family, self.header)
        self.child = multiprocessing.Process(target=_main, args=work, daemon=True)
        self.child.start()
        listener.close()

    def kill(self):
        self.child.kill()
        self.child.join()


class Servers:
    def __init__(self, folder):
        self.steady = [Server("tcp4", folder) for _ in range(3)]
        self.header = Server("tcp4", folder, header=True)
        self.unix = Server("path", folder)
        self.flapping = [Server("tcp4", folder) for _ in range(2)]
        self.holder, self.nobody = address.hold("tcp4")

    def addresses(self):
        steady, flapping = self.steady, self.flapping
        return {"steady0": steady[0].address, "steady1": steady[1].address, "steady2": steady[2].address,
                "steady0_port": steady[0].address.port, "header": self.header.address,
                "unix": self.unix.address.name, "flap0": flapping[0].address, "flap1": flapping[1].address,
                "nobody": self.nobody}

    def flap(self, dice):
        """Kills one of the flapping servers, or brings it back."""
        server = dice.choice(self.flapping)
        if server.child.is_alive():
            server.kill()
        elif not server.is_wrong():
            server.start()

    def calm(self):
        """Brings all of them back."""
        for server in self.flapping:
            if not server.child.is_alive() and not server.is_wrong():
                server.start()

    def are_well(self):
        """Has no server received a wrong byte, and none died except those that are killed on purpose?"""
        steady = (*self.steady, self.header, self.unix)
        return all(s.child.is_alive() for s in steady) and not any(s.is_wrong() for s in self.flapping)

    def close(self):
        for server in (*self.steady, self.header, self.unix, *self.flapping):
            server.kill()
