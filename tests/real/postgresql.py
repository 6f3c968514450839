# SPDX-License-Identifier: MIT
"""Three PostgreSQL servers without Patroni: a primary, a standby with every confirmed write, and another."""

import os

from harness.timing import wait_until
from patroni import Client
from servers import SLOW, START, ports, wait_for_port

SETTINGS = """\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
shared_buffers = 8MB
max_connections = 40
lc_messages = C
"""
# As the head of postgresql.ini says, for weir.
ACCESS = """\
host all,replication  postgres  127.0.0.1/32  trust
host postgres         weir      127.0.0.1/32  trust
"""


class Postgresql:
    def __init__(self, servers):
        self.servers = servers
        self.ports = ports(3)
        self.children = {}
        first = self.folder(1)
        servers.run("initdb", "-D", first, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
                    "--no-sync")
        servers.write("pg1/data/postgresql.conf", SETTINGS)
        servers.write("pg1/data/pg_hba.conf", ACCESS)
        self.start(1)
        ask(self.ports[0], "CREATE ROLE weir LOGIN")
        ask(self.ports[0], "CREATE TABLE written (n int)")
        for n in (2, 3):
            primary = f"host=127.0.0.1 port={self.ports[0]} user=postgres application_name=pg{n}"
            servers.run("pg_basebackup", "-D", self.folder(n), "-d", primary, "-R", "-X", "stream",
                        "-c", "fast", "--no-sync")
            self.start(n)
        # Only now: nobody would have confirmed what was written above.
        ask(self.ports[0], "ALTER SYSTEM SET synchronous_standby_names = 'pg2'")
        ask(self.ports[0], "SELECT pg_reload_conf()")
        wait_until(lambda: ask(self.ports[0], "SELECT sync_state FROM pg_stat_replication "
                               "WHERE application_name = 'pg2'") == ["sync"], "a synchronous standby", SLOW)

    def folder(self, n):
        self.servers.make_folder(f"pg{n}")
        return self.servers.make_folder(f"pg{n}", "data")

    def start(self, n):
        port = self.ports[n - 1]
        binaries = os.path.dirname(self.servers.program("initdb"))
        self.children[n] = self.servers.start(
            f"pg{n}", os.path.join(binaries, "postgres"), "-D", f"{self.servers.folder}/pg{n}/data", "-p",
            str(port))
        wait_for_port(port, self.servers, f"pg{n}", self.children[n])
        wait_until(lambda: self.answers(port), lambda: f"pg{n} answers: {self.servers.log(f'pg{n}')}", START)

    @staticmethod
    def answers(port):
        try:
            return ask(port, "SELECT 1") == ["1"]
        except (OSError, EOFError, ValueError):
            return False

    def crash(self, n):
        self.servers.kill(self.children[n])

    def promote(self, n):
        assert ask(self.ports[n - 1], "SELECT pg_promote(true, 30)") == ["t"]


class ByPort(Client):
    """The servers differ by their ports."""

    def write(self, number):
        return self.ask(f"INSERT INTO written VALUES ({number}) RETURNING inet_server_port()")[0]


def ask(port, text):
    client = Client(port)
    try:
        return client.ask(text)
    finally:
        client.close()
