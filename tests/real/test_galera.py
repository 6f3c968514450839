# SPDX-License-Identifier: MIT
"""MariaDB with Galera behind galera.ini: the node that takes the writes dies, and comes back.

A thread stands in for clustercheck, which Debian does not have; it asks the node the same question.
"""

import time

import pytest

import examples
from galera import HOSTS, Client, Galera, ask
from harness.show_stat import NO_SERVER
from harness.timing import SCALE
from servers import wait_server
from writer import Writer


@pytest.fixture
def galera(servers):
    one = Galera(servers("mariadb"))
    yield one
    one.close()


def test_writes_go_to_one_node_and_to_the_next_when_it_dies(galera, weir):
    where = {f"DB_{n}": f"{host}:{galera.port}" for n, host in enumerate(HOSTS, 1)}
    config, options = examples.load("galera.ini", "port=9200", f"port={galera.check_port}")
    daemon = weir(config, options, environment=where)
    daemon.expected_alarms = NO_SERVER
    port, read_port = daemon.address("db-write").port, daemon.address("db-read").port
    for n in (1, 2, 3):
        wait_server(daemon, "db-write", f"db{n}", "UP")
        wait_server(daemon, "db-read", f"db{n}", "UP")
    readers = [Client(read_port) for _ in HOSTS]
    assert sorted(r.ask("SELECT @@bind_address")[0][0] for r in readers) == HOSTS
    for reader in readers:
        reader.close()

    writer = Writer(lambda: Client(port))
    writer.wait_for(HOSTS[0])
    since = time.monotonic()
    galera.crash(HOSTS[0])
    writer.wait_for(HOSTS[1])
    # The nodes notice after three seconds, and agree; weir asks every second, twice.
    assert writer.gap(since) < 8 + 4 * SCALE
    wait_server(daemon, "db-write", "db1", "DOWN")

    galera.start(HOSTS[0])
    galera.wait_synced(HOSTS[:1])
    wait_server(daemon, "db-write", "db1", "UP")
    assert ask(port, "SELECT @@bind_address") == [[HOSTS[0]]]
    writer.stop()
    written = {int(n) for (n,) in ask(read_port, "SELECT n FROM test.written")}
    lost = set(writer.confirmed) - written
    assert not lost, f"{len(lost)} confirmed writes are lost: the first is {min(lost)}"
