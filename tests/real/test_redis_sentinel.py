# SPDX-License-Identifier: MIT
"""Redis with Sentinel behind redis-sentinel.ini: clients reach the master that Sentinel has chosen."""

import time

import pytest

import examples
from harness.show_stat import NO_SERVER
from harness.timing import SCALE, wait_until
from redis_servers import Client, Redis, role
from servers import SLOW, ports, wait_for_port, wait_server
from writer import Writer

SENTINEL = """\
sentinel monitor mymaster 127.0.0.1 {} 2
sentinel down-after-milliseconds mymaster 2000
sentinel failover-timeout mymaster 6000
sentinel parallel-syncs mymaster 2
"""


class Sentinels(Redis):
    """Three servers, the first of them the master, and three Sentinels."""

    def __init__(self, servers):
        super().__init__(servers)
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

    def master(self):
        words = self.sentinel.ask("SENTINEL", "MASTER", "mymaster")
        return dict(zip(words[::2], words[1::2]))

    def known(self):
        have = self.master()
        return (have["num-slaves"], have["num-other-sentinels"], have["flags"]) == ("2", "2", "master")

    def close(self):
        self.sentinel.close()


@pytest.fixture
def redis(servers):
    one = Sentinels(servers("redis"))
    yield one
    one.close()


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
