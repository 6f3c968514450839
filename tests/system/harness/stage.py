# SPDX-License-Identifier: MIT
"""A stage: one system under test with its servers, used by many tests with the same parameters.

Opens connections one at a time, so that it is always clear which server side belongs to which client.
Keeps track of the running test's peers and closes those that it leaves open.
"""

import itertools
import os
import socket

from harness import peer, sut
from harness.address import FAMILIES

_conns = itertools.count(1)


def next_conn():
    return next(_conns)


class Stage:
    """SUT and servers for all 16 pairs of families."""

    def __init__(self, folder, splice, threads, families=FAMILIES):
        os.makedirs(folder, exist_ok=True)
        self.servers = {f: peer.Listener(f, folder) for f in families}
        routes = {(cf, sf): self.servers[sf].address for cf in families for sf in families}
        try:
            self.sut = sut.make(folder, routes, splice, threads)
        except BaseException:
            for server in self.servers.values():
                server.close()
            raise
        self.peers = []

    def has(self, client_family, server_family):
        return (client_family, server_family) in self.sut.fronts

    def pairs(self, client_families=FAMILIES, server_families=FAMILIES):
        return [(cf, sf) for cf in client_families for sf in server_families if self.has(cf, sf)]

    def connect(self, client_family, server_family, **kw):
        """Only the client; the caller accepts."""
        client = peer.connect(self.sut.fronts[client_family, server_family], next_conn(), **kw)
        self.peers.append(client)
        return client

    def accept(self, server_family):
        server = self.servers[server_family].accept_peer()
        self.peers.append(server)
        return server

    def open(self, client_family, server_family, **kw):
        """A connection through the system: its client and its server."""
        client = self.connect(client_family, server_family, **kw)
        server = self.accept(server_family)
        assert server.conn == client.conn, \
            f"the server expected connection {client.conn} and got {server.conn}"
        if self.sut.name == "direct":
            for end in (client, server):
                # The contract delivers urgent bytes in band; without a proxy, the receiving socket
                # must be told to.
                end.sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        return client, server

    def close_peers(self):
        for p in self.peers:
            p.close()
        self.peers.clear()

    def check(self):
        self.sut.check()

    def stop(self):
        try:
            self.sut.stop()
        finally:
            self._close_servers()

    def kill(self):
        self.sut.kill()
        self._close_servers()

    def _close_servers(self):
        self.close_peers()
        for server in self.servers.values():
            server.close()
