# SPDX-License-Identifier: MIT
"""Three nodes of MariaDB with Galera, each on its own loopback address, what stands in for clustercheck, and
a client of MariaDB."""

import os
import socket
import struct
import threading

from harness.timing import wait_until
from servers import START, ports
from writer import PATIENCE

HOSTS = [f"127.0.0.{n}" for n in (21, 22, 23)]
SYNCED = "4"
NODE = """\
[mysqld]
bind-address = {host}
port = {port}
socket = {folder}/socket
datadir = {folder}/data
pid-file = {folder}/pid
basedir = {base}
lc-messages-dir = {base}/share/mysql
plugin-dir = {base}/lib/mysql/plugin
{names}
max_connections = 40
innodb_buffer_pool_size = 16M
innodb_log_file_size = 4M
innodb_flush_log_at_trx_commit = 0
innodb_autoinc_lock_mode = 2
binlog_format = ROW
wsrep_on = ON
wsrep_provider = {provider}
wsrep_cluster_address = gcomm://{hosts}
wsrep_node_address = {host}:{group}
wsrep_sst_receive_address = {host}:{transfer}
wsrep_sst_method = rsync
wsrep_provider_options = "gmcast.listen_addr=tcp://{host}:{group};ist.recv_addr={host}:{increments};\
gcache.size=8M;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT10S;evs.keepalive_period=PT0.5S"
"""


class Client:
    """A connection that speaks MySQL's protocol, as a user without a password."""

    def __init__(self, port, host="127.0.0.1", source=""):
        self.socket = socket.create_connection((host, port), PATIENCE, (source, 0))
        self.file = self.socket.makefile("rb")
        self.packet()
        # PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH; packets up to 16 MiB; utf8.
        self.send(1, struct.pack("<IIB23x", 0x88200, 1 << 24, 33) + b"app\0\0mysql_native_password\0")
        self.packet()

    def send(self, number, body):
        self.socket.sendall(struct.pack("<I", len(body) | number << 24) + body)

    def packet(self):
        head = self.file.read(4)
        if len(head) < 4:
            raise EOFError("closed")
        body = self.file.read(struct.unpack("<I", head)[0] & 0xffffff)
        if body[:1] == b"\xff":
            raise ValueError(body[9:].decode(errors="replace"))
        return body

    def ask(self, text):
        """The rows, as lists of texts; short ones only."""
        self.send(0, b"\x03" + text.encode())
        first = self.packet()
        if first[0] == 0:
            return []
        while self.packet()[0] != 0xfe:
            pass
        rows = []
        while True:
            body = self.packet()
            if body[0] == 0xfe and len(body) < 9:
                return rows
            row, at = [], 0
            while at < len(body):
                row.append(body[at + 1:at + 1 + body[at]].decode())
                at += 1 + body[at]
            rows.append(row)

    def write(self, number):
        self.ask(f"INSERT INTO test.written VALUES ({number})")
        return self.ask("SELECT @@bind_address")[0][0]

    def close(self):
        self.file.close()
        self.socket.close()


class ClusterCheck(threading.Thread):
    """What clustercheck does, which Debian does not have: 200 if the node is synchronised, otherwise 503."""

    def __init__(self, host, port, node_port):
        super().__init__(daemon=True)
        self.host, self.node_port = host, node_port
        self.socket = socket.create_server((host, port))
        self.start()

    def state(self):
        try:
            client = Client(self.node_port, self.host)
            try:
                return client.ask("SHOW STATUS LIKE 'wsrep_local_state'")[0][1]
            finally:
                client.close()
        except (OSError, EOFError, ValueError):
            return None

    def run(self):
        while True:
            try:
                link, _ = self.socket.accept()
            except OSError:
                return
            with link:
                try:
                    link.settimeout(PATIENCE)
                    link.recv(4096)
                    good = self.state() == SYNCED
                    link.sendall(b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" %
                                 (b"200 OK" if good else b"503 Service Unavailable"))
                except OSError:
                    pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def ask(port, text, host="127.0.0.1"):
    client = Client(port, host)
    try:
        return client.ask(text)
    finally:
        client.close()


class Galera:
    def __init__(self, servers, hosts=HOSTS, lookups=None):
        """With one host, MariaDB alone. With `lookups`, an environment in which it finds names of addresses,
        it blocks one after three connections without a login."""
        self.servers, self.lookups = servers, lookups or {}
        self.port, self.check_port, group, increments, transfer = ports(5)
        base = os.path.dirname(os.path.dirname(os.path.realpath(servers.program("mariadbd"))))
        self.children, self.checks = {}, []
        for host in hosts:
            folder = servers.make_folder(self.name(host))
            servers.make_folder(self.name(host), "data")
            servers.write(f"{self.name(host)}.cnf", NODE.format(
                host=host, port=self.port, folder=folder, base=base, group=group, increments=increments,
                transfer=transfer, hosts=",".join(f"{h}:{group}" for h in HOSTS),
                names="max_connect_errors = 3" if lookups else "skip-name-resolve",
                provider=servers.tree.library("libgalera_smm.so")))
        self.set_up(base)
        for host in hosts:
            self.start(host, *(["--wsrep-new-cluster"] if host == HOSTS[0] else []))
            self.checks.append(ClusterCheck(host, self.check_port, self.port))
        self.wait_synced(hosts)

    @staticmethod
    def name(host):
        return f"db{HOSTS.index(host) + 1}"

    def set_up(self, base):
        """The first node's data; the others get them from it."""
        first = self.name(HOSTS[0])
        self.servers.run("mariadb-install-db", "--no-defaults", f"--basedir={base}", "--skip-test-db",
                         f"--datadir={self.servers.folder}/{first}/data",
                         "--auth-root-authentication-method=normal")
        path = self.servers.write(f"{first}.sql", "CREATE DATABASE IF NOT EXISTS test;\n"
                                  "CREATE TABLE IF NOT EXISTS test.written (n INT PRIMARY KEY);\n"
                                  "CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY '';\n"
                                  "GRANT ALL ON *.* TO app@'%';\n")
        with open(f"{self.servers.folder}/{first}.cnf", "a", encoding="ascii") as f:
            f.write(f"init_file = {path}\n")

    def start(self, host, *words):
        name = self.name(host)
        self.children[host] = self.servers.start(
            name, "mariadbd", f"--defaults-file={self.servers.folder}/{name}.cnf", *words, **self.lookups)
        return self.children[host]

    def wait_synced(self, hosts):
        def synced(host):
            assert self.children[host].poll() is None, self.servers.log(self.name(host))
            return self.checks[HOSTS.index(host)].state() == SYNCED

        for host in hosts:
            wait_until(lambda h=host: synced(h),
                       lambda h=host: f"{h} is synchronised: {self.servers.log(self.name(h))}", START)

    def crash(self, host):
        self.servers.kill(self.children[host])

    def close(self):
        for one in self.checks:
            one.close()
