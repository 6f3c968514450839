# SPDX-License-Identifier: MIT
"""Redis behind redis.ini: an operator makes a replica the master, after the old one has died and before."""

import pytest

import examples
from harness.show_stat import NO_SERVER
from harness.timing import wait_until
from redis_servers import Client, Redis, role
from servers import SLOW, wait_server
from writer import Writer


@pytest.fixture
def redis(servers):
    return Redis(servers("redis"))


def order(port, *words):
    client = Client(port)
    try:
        return client.ask(*words)
    finally:
        client.close()


def replicates(port, master):
    said = order(port, "ROLE")
    return said[:3] == ["slave", "127.0.0.1", str(master)] and said[3] == "connected"


def make_master(new, others):
    order(new, "REPLICAOF", "NO", "ONE")
    for port in others:
        order(port, "REPLICAOF", "127.0.0.1", new)
    for port in others:
        wait_until(lambda p=port: replicates(p, new), "the others follow the new master", SLOW)


def test_clients_follow_the_master_that_an_operator_makes(redis, weir):
    one, two, three = redis.ports
    for port in (two, three):
        wait_until(lambda p=port: replicates(p, one), "the replicas follow the first", SLOW)
    where = {f"REDIS_{n}": f"127.0.0.1:{port}" for n, port in enumerate(redis.ports, 1)}
    config, options = examples.load("redis.ini")
    daemon = weir(config, options, environment=where)
    daemon.expected_alarms = NO_SERVER
    for n, status in enumerate(("UP", "DOWN", "DOWN"), 1):
        wait_server(daemon, "redis", f"redis{n}", status)
    port = daemon.address("redis").port
    writer = Writer(lambda: Client(port))
    writer.wait_for(one)

    redis.crash(one)
    make_master(two, [three])
    writer.wait_for(two)
    # The master is demoted while it serves: its clients are sent away, and their writes are not refused long.
    make_master(three, [two])
    writer.wait_for(three)
    wait_server(daemon, "redis", "redis2", "DOWN")
    assert role(port) == "master"
    writer.stop()
    # Redis confirms before it replicates: a crash or a demotion may lose the last writes, even without weir.
    confirmed, kept = set(map(str, writer.confirmed)), set(order(three, "SMEMBERS", "written"))
    assert str(writer.confirmed[-1]) in kept
    assert 2 * len(kept & confirmed) > len(confirmed), f"{len(confirmed)} confirmed, {len(kept)} kept"
