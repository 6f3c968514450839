# SPDX-License-Identifier: MIT
"""PostgreSQL behind postgresql.ini: the primary dies, and an operator promotes a standby."""

import pytest

import examples
from harness.show_stat import NO_SERVER
from postgresql import ByPort, Postgresql, ask
from servers import wait_server
from writer import Writer


@pytest.fixture
def cluster(servers):
    return Postgresql(servers("patroni"))


def wait_roles(daemon, primary, standbys):
    for n in (1, 2, 3):
        wait_server(daemon, "pg-write", f"pg{n}", "UP" if n == primary else "DOWN")
        wait_server(daemon, "pg-read", f"pg{n}", "UP" if n in standbys else "DOWN")


def test_writes_follow_the_primary_and_reads_the_standbys(cluster, weir):
    where = {f"PG_{n}": f"127.0.0.1:{port}" for n, port in enumerate(cluster.ports, 1)}
    config, options = examples.load("postgresql.ini")
    daemon = weir(config, options, environment=where)
    daemon.expected_alarms = NO_SERVER
    wait_roles(daemon, 1, (2, 3))
    port, read_port = daemon.address("pg-write").port, daemon.address("pg-read").port
    assert ask(read_port, "SELECT pg_is_in_recovery()") == ["t"]
    # By weight: twice as often at the third; each worker has its own turn.
    readers = [ask(read_port, "SELECT inet_server_port()")[0] for _ in range(30)]
    assert [readers.count(str(p)) // 9 for p in cluster.ports] == [0, 1, 2], readers

    writer = Writer(lambda: ByPort(port))
    writer.wait_for(str(cluster.ports[0]))
    cluster.crash(1)
    wait_server(daemon, "pg-write", "pg1", "DOWN")
    cluster.promote(2)
    writer.wait_for(str(cluster.ports[1]))
    wait_roles(daemon, 2, (3,))
    writer.stop()
    lost = set(writer.confirmed) - set(map(int, ask(port, "SELECT n FROM written")))
    assert not lost, f"{len(lost)} confirmed writes are lost: the first is {min(lost)}"
    for log in ("pg2", "pg3"):
        assert "weir" not in cluster.servers.log(log), "the checks are in the log of PostgreSQL"
