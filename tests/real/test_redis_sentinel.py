# SPDX-License-Identifier: MIT
"""Redis with Sentinel behind redis-sentinel.ini: clients reach the master that Sentinel has chosen."""

import socket
import time

import pytest

import examples
from harness.show_stat import NO_SERVER
from harness.timing import SCALE, wait_until
from servers import SLOW, ports, wait_for_port, wait_server
from writer import PATIENCE, Writer

SENTINEL = """\
sentinel monitor mymaster 127.0.0.1 {} 2
sentinel down-after-milliseconds mymaster 600
sentinel failover-timeout mymaster 6000
sentinel parallel-syncs mymaster 2
"""


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
    """Three servers, the first of them the master, and three Sentinels."""

    def __init__(self, servers):
        self.servers = servers
        self.ports = ports(3)
        self.children = {port: self.start(port, self.ports[0]) for port in self.ports}
        sentinels = ports(3)
        for port in sentinels:
            where = servers.make_folder(f"sentinel{port}")
            path = servers.write(f"sentinel{port}/sentinel.conf", SENTINEL.format(self.ports[0]))
            servers.start(f"s{port}", "redis-server", path, "--sentinel", "--port", str(port), "--bind",
                          "127.0.0.1", "--dir", where)
        for port in sentinels:
            wait_for_port(port, servers, f"s{port}")
        self.sentinel = Client(sentinels[0])
        wait_until(self.known, lambda: f"Sentinel knows all: {self.master()}", SLOW)

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

    def master(self):
        words = self.sentinel.ask("SENTINEL", "MASTER", "mymaster")
        return dict(zip(words[::2], words[1::2]))

    def known(self):
        have = self.master()
        return (have["num-slaves"], have["num-other-sentinels"], have["flags"]) == ("2", "2", "master")

    def crash(self, port):
        self.servers.kill(self.children[port])

    def close(self):
        self.sentinel.close()


@pytest.fixture
def redis(servers):
    one = Redis(servers("redis"))
    yield one
    one.close()


def role(port):
    client = Client(port)
    try:
        return client.ask("ROLE")[0]
    finally:
        client.close()


def test_clients_reach_the_master_that_sentinel_chooses(redis, weir):
    where = {f"REDIS_{n}": f"127.0.0.1:{port}" for n, port in enumerate(redis.ports, 1)}
    config, options = examples.load("redis-sentinel.ini")
    daemon = weir(config, options, environment=where)
    daemon.expected_alarms = NO_SERVER
    old = redis.ports[0]
    for n, status in enumerate(("UP", "DOWN", "DOWN"), 1):
        wait_server(daemon, "redis", f"redis{n}", status)
    assert role(daemon.address("redis").port) == "master"
    wait_server(daemon, "redis-read", "redis2", "UP")
    wait_server(daemon, "redis-read", "redis1", "DOWN")
    assert role(daemon.address("redis-read").port) == "slave"

    writer = Writer(lambda: Client(daemon.address("redis").port))
    writer.wait_for(old)
    redis.crash(old)
    new = wait_until(lambda: next((p for p in redis.ports[1:] if role(p) == "master"), None),
                     "Sentinel promotes a replica", SLOW)
    promoted = time.monotonic()
    writer.wait_for(new)
    # Two intervals of one second, and what a busy machine and the replicas need.
    assert time.monotonic() - promoted < 2 + 3 * SCALE
    writer.stop()

    client = Client(new)
    missing = set(map(str, writer.confirmed)) - set(client.ask("SMEMBERS", "written"))
    client.close()
    assert not missing, f"{len(missing)} confirmed writes are lost: the first is {min(missing)}"

    # It comes back as a master, and is one for weir until Sentinel has demoted it.
    redis.start(old)
    wait_server(daemon, "redis-read", "redis1", "UP")
    wait_server(daemon, "redis", "redis1", "DOWN")
    assert role(daemon.address("redis").port) == "master"
