# SPDX-License-Identifier: MIT
"""Patroni with etcd and three PostgreSQL, each on its own loopback address, and a client of PostgreSQL."""

import http.client
import json
import os
import socket
import struct

from harness.timing import wait_until
from servers import SLOW, START, answers, ports, wait_for_port
from writer import PATIENCE

HOSTS = [f"127.0.0.{n}" for n in (11, 12, 13)]
# The lock is taken over soon, because a test waits for it; real clusters have ttl = 30.
MEMBER = """\
scope: weir
name: {name}
restapi: {{listen: "{host}:{rest}", connect_address: "{host}:{rest}"}}
etcd3: {{hosts: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 5
    loop_wait: 1
    retry_timeout: 3
    master_start_timeout: 0
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {{max_connections: 40, shared_buffers: 8MB, fsync: "off", wal_log_hints: "on"}}
  initdb: [{{encoding: UTF8}}, no-locale, no-sync]
postgresql:
  listen: "{host}:{port}"
  connect_address: "{host}:{port}"
  data_dir: {folder}/data
  bin_dir: {binaries}
  pgpass: {folder}/pgpass
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: postgres}}
  parameters: {{unix_socket_directories: "", lc_messages: C}}
  pg_hba: ["host all,replication all 127.0.0.0/8 trust"]
"""


class Patroni:
    def __init__(self, servers):
        self.servers = servers
        self.etcd, peer, self.port, self.rest = ports(4)
        self.binaries = os.path.dirname(servers.program("initdb"))
        where = servers.make_folder("etcd")
        mine = f"http://127.0.0.1:{self.etcd}"
        peers = f"http://127.0.0.1:{peer}"
        servers.start("etcd", "etcd", "--data-dir", where, "--unsafe-no-fsync", "--listen-client-urls", mine,
                      "--advertise-client-urls", mine, "--listen-peer-urls", peers,
                      "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
                      "--heartbeat-interval", "50", "--election-timeout", "500")
        wait_for_port(self.etcd, servers, "etcd")
        self.members = {}
        for n, host in enumerate(HOSTS, 1):
            folder = servers.make_folder(f"pg{n}")
            servers.write(f"pg{n}.yml", MEMBER.format(
                name=f"pg{n}", host=host, rest=self.rest, etcd=self.etcd, port=self.port, folder=folder,
                binaries=self.binaries))
            self.start(host)
        self.wait_whole()

    def start(self, host):
        name = f"pg{HOSTS.index(host) + 1}"
        self.members[host] = self.servers.start(name, "patroni", f"{self.servers.folder}/{name}.yml",
                                                PYTHONUNBUFFERED="1")

    def ask(self, host, method, path, body=None):
        """(status, answer) of a member's REST API; (0, '') if there is none."""
        line = http.client.HTTPConnection(host, self.rest, timeout=PATIENCE)
        try:
            line.request(method, path, json.dumps(body) if body else None)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            line.close()

    def primary(self):
        return next((host for host in HOSTS if self.ask(host, "OPTIONS", "/primary")[0] == 200), None)

    def wait_primary(self):
        """What its REST API says may be late: between two of its turns, nobody may say so."""
        return wait_until(self.primary, "a primary", SLOW)

    def _whole(self):
        if self.primary() is None:
            return False
        _, text = self.ask(self.primary() or HOSTS[0], "GET", "/cluster")
        members = json.loads(text)["members"] if text else []
        return sorted(m["role"] for m in members if m["state"] in ("running", "streaming")) == \
            ["leader", "replica", "sync_standby"]

    def wait_whole(self):
        """Until there is a primary, a replica, and one that has every confirmed write."""
        wait_until(self._whole, lambda: "the cluster is whole: " + "\n".join(
            self.servers.log(f"pg{n}")[-1500:] for n in (1, 2, 3)), START)

    def standby(self):
        """The one that has every confirmed write; what its REST API says is up to a second old."""
        return wait_until(lambda: next((h for h in HOSTS if self.ask(h, "OPTIONS", "/sync")[0] == 200), None),
                          "a synchronous standby", SLOW)

    def switch_over(self):
        old, new = self.wait_primary(), self.standby()
        names = {host: f"pg{n}" for n, host in enumerate(HOSTS, 1)}
        status, text = self.ask(old, "POST", "/switchover", {"leader": names[old], "candidate": names[new]})
        assert status == 200, text
        return new

    def crash(self):
        """The machine of the primary loses power: Patroni and PostgreSQL die."""
        old = self.wait_primary()
        self.servers.kill(self.members[old])
        wait_until(lambda: not answers(self.port, old), "PostgreSQL is dead")
        return old


class Client:
    """A connection that speaks PostgreSQL, as a user without a password."""

    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), PATIENCE)
        self.file = self.socket.makefile("rb")
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!ii", 8 + len(words), 3 << 16) + words)
        self.rows()

    def rows(self):
        """The first column of each row that comes until the server is ready for more."""
        found, error = [], None
        while True:
            head = self.file.read(5)
            if len(head) < 5:
                raise EOFError("closed")
            body = self.file.read(struct.unpack("!i", head[1:])[0] - 4)
            kind = head[:1]
            if kind == b"D":
                size = struct.unpack("!i", body[2:6])[0]
                found.append(body[6:6 + size].decode())
            elif kind == b"E":
                error = dict((f[:1], f[1:]) for f in body.decode().split("\0") if f)
                if error["S"] == "FATAL":
                    raise ValueError(error["M"])
            elif kind == b"Z":
                if error:
                    raise ValueError(error["M"])
                return found

    def ask(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", 4 + len(body)) + body)
        return self.rows()

    def write(self, number):
        return self.ask(f"INSERT INTO written VALUES ({number}) RETURNING host(inet_server_addr())")[0]

    def close(self):
        self.file.close()
        self.socket.close()
