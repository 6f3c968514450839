# SPDX-License-Identifier: MIT
"""Patroni behind patroni.ini: a planned change of the primary, and the death of one, beside HAProxy.

WEIR_REAL_ROUNDS=N repeats both N times and prints the gaps in the writes; doc/performance.md has figures.
"""

import os
import time

import pytest

import examples
from harness.show_stat import NO_SERVER
from harness.timing import SCALE
from patroni import HOSTS, Client, Patroni
from servers import ports, wait_for_port, wait_server
from writer import Writer

ROUNDS = int(os.environ.get("WEIR_REAL_ROUNDS", "1"))
# The check times of patroni.ini; the rest is what Patroni's documentation gives.
HAPROXY = """\
defaults
    mode tcp
    retries 2
    timeout connect 4s
    timeout client 30m
    timeout server 30m
    timeout check 1s
listen write
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
"""


@pytest.fixture
def cluster(servers):
    return Patroni(servers("patroni"))


@pytest.fixture
def haproxy(servers, cluster):
    """The port of HAProxy in front of the same servers."""
    here = servers("haproxy")
    (port,) = ports(1)
    path = here.write("haproxy.cfg", HAPROXY.format(port=port) + "".join(
        f"    server {host} {host}:{cluster.port} check port {cluster.rest}\n" for host in HOSTS))
    child = here.start("haproxy", "haproxy", "-db", "-f", path)
    wait_for_port(port, here, "haproxy", child)
    return port


def start(weir, cluster):
    where = {f"PG_{n}": f"{host}:{cluster.port}" for n, host in enumerate(HOSTS, 1)}
    config, options = examples.load("patroni.ini", "check-port=8008", f"check-port={cluster.rest}")
    daemon = weir(config, options, environment=where)
    daemon.expected_alarms = NO_SERVER
    wait_roles(daemon, cluster)
    return daemon


def wait_roles(daemon, cluster):
    primary = cluster.wait_primary()
    for n, host in enumerate(HOSTS, 1):
        wait_server(daemon, "pg-write", f"pg{n}", "UP" if host == primary else "DOWN")
        wait_server(daemon, "pg-read", f"pg{n}", "DOWN" if host == primary else "UP")


class Pair:
    """A writer through weir and one through HAProxy, at the same time."""

    def __init__(self, daemon, haproxy):
        port = daemon.address("pg-write").port
        self.writers = [Writer(lambda: Client(port)), Writer(lambda: Client(haproxy))]

    def wait_for(self, server):
        for one in self.writers:
            one.wait_for(server)

    def gaps(self, since):
        return [one.gap(since) for one in self.writers]

    def stop(self):
        for one in self.writers:
            one.stop()


def test_writes_reach_the_new_primary_as_soon_as_with_haproxy(cluster, haproxy, weir):
    daemon = start(weir, cluster)
    ask(daemon.address("pg-write").port, "CREATE TABLE written (n int)")
    assert ask(daemon.address("pg-read").port, "SELECT pg_is_in_recovery()") == ["t"]
    pair = Pair(daemon, haproxy)
    pair.wait_for(cluster.wait_primary())
    figures = []
    for _ in range(ROUNDS):
        since = time.monotonic()
        pair.wait_for(cluster.switch_over())
        figures.append(("switchover", *pair.gaps(since)))
        cluster.wait_whole()

        since = time.monotonic()
        expected = cluster.standby()
        old = cluster.crash()
        pair.wait_for(expected)
        figures.append(("kill -9", *pair.gaps(since)))
        cluster.start(old)
        cluster.wait_whole()
    pair.stop()

    for what, ours, theirs in figures:
        print(f"{what}: gap of the writer through weir {ours:.2f} s, through HAProxy {theirs:.2f} s")
        # The phases of the two checks differ by up to one interval.
        assert ours < theirs + 1 + SCALE
    written = set(map(int, ask(daemon.address("pg-write").port, "SELECT n FROM written")))
    lost = set(pair.writers[0].confirmed) - written
    assert not lost, f"{len(lost)} confirmed writes are lost: the first is {min(lost)}"
    wait_roles(daemon, cluster)


def ask(port, text):
    client = Client(port)
    try:
        return client.ask(text)
    finally:
        client.close()
