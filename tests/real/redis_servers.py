# SPDX-License-Identifier: MIT
"""Three Redis servers, the first of them the master, and a client."""

import socket

from servers import ports, wait_for_port
from writer import PATIENCE


class Client:
    """A connection that speaks Redis, in its inline form."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        self.socket.sendall(" ".join(map(str, words)).encode() + b"\r\n")
        return self.answer()

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("closed")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise ValueError(rest)
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"$" and rest != "-1":
            return self.file.read(int(rest) + 2)[:-2].decode()
        return rest

    def write(self, number):
        """Counts only when a replica has it too: what Sentinel promotes knows it then."""
        self.ask("SADD", "written", number)
        if self.ask("WAIT", 1, 1000) == "0":
            raise ValueError("no replica has the write")
        return int(self.ask("CONFIG", "GET", "port")[1])

    def close(self):
        self.file.close()
        self.socket.close()


class Redis:
    def __init__(self, servers):
        self.servers = servers
        self.ports = ports(3)
        self.children = {port: self.start(port, self.ports[0]) for port in self.ports}

    def start(self, port, master=None):
        name = f"r{port}"
        if master:
            self.servers.make_folder(name)
        words = [] if master in (None, port) else ["--replicaof", f"127.0.0.1 {master}"]
        child = self.servers.start(
            name, "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
            f"{self.servers.folder}/{name}", "--repl-diskless-sync-delay", "0", *words)
        wait_for_port(port, self.servers, name, child)
        return child

    def crash(self, port):
        self.servers.kill(self.children[port])


def role(port):
    client = Client(port)
    try:
        return client.ask("ROLE")[0]
    finally:
        client.close()
