# SPDX-License-Identifier: MIT
"""A dnsmasq that answers from a file of hosts, which can change, and from SRV records."""

import os
import signal

from harness.timing import wait_until
from servers import START, ports

# One that is asked no more while a test ends.
LONG = 3600


class Dnsmasq:
    def __init__(self, servers, *records):
        """`records` are the values of --srv-host."""
        self.servers, self.records = servers, records
        self.hosts = {}
        (self.port,) = ports(1)
        self.path = servers.write("hosts", "")
        os.chmod(self.path, 0o644)
        self.child = None
        self.start(1)

    def start(self, ttl):
        before = self.said().count("started, version") if self.child else 0
        self.child = self.servers.start(
            "dnsmasq", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
            "--no-hosts", "--local=/test/", f"--addn-hosts={self.path}", f"--port={self.port}",
            f"--local-ttl={ttl}", "--listen-address=127.0.0.1", "--bind-interfaces", "--pid-file=",
            "--user=", "--log-queries", "--log-facility=-",
            *(f"--srv-host={record}" for record in self.records))
        wait_until(lambda: self.said().count("started, version") > before,
                   lambda: "dnsmasq starts: " + self.said()[-3000:], START)

    def said(self):
        with open(self.servers.log_path("dnsmasq"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def set(self, **hosts):
        """{name: addresses}; names without their domain."""
        self.hosts.update(hosts)
        with open(self.path, "w", encoding="ascii") as f:
            f.writelines(f"{address} {name}.test\n" for name, addresses in self.hosts.items()
                         for address in addresses)
        self.child.send_signal(signal.SIGHUP)

    def crash(self):
        self.servers.kill(self.child)
