# SPDX-License-Identifier: MIT
"""Three machines in a row, as network namespaces: clients, the proxy as their router, servers.

    client 10.71.1.2 -- 10.71.1.1 proxy 10.71.2.1 -- 10.71.2.2 server

Packets for sockets of the proxy that have foreign addresses are delivered to the proxy: those that an
nft rule marks with 1, and all that arrive from the server's side. Needs root.
"""

from harness.netns import Netns

CLIENT, SERVER = "10.71.1.2", "10.71.2.2"
CLIENT6, SERVER6 = "fd71:1::2", "fd71:2::2"


class Routed:
    def __init__(self):
        self.client, self.proxy, self.server = Netns(), Netns(), Netns()
        try:
            self._link(self.client, "1")
            self._link(self.server, "2")
            self.proxy.sysctl("ipv4.ip_forward", 1)
            self.proxy.sysctl("ipv4.conf.all.rp_filter", 0)
            for family, everything in (("-4", "0.0.0.0/0"), ("-6", "::/0")):
                for rule in (("fwmark", "1"), ("iif", "to2")):
                    self.proxy.run("ip", family, "rule", "add", *rule, "lookup", "100")
                self.proxy.run("ip", family, "route", "add", "local", everything, "dev", "lo",
                               "table", "100")
        except BaseException:
            self.close()
            raise

    def _link(self, end, net):
        """A cable between the proxy and one end; the proxy is that end's default gateway."""
        self.proxy.run("ip", "link", "add", f"to{net}", "type", "veth", "peer", "name", "eth",
                       "netns", end.name)
        for space, device, last in ((self.proxy, f"to{net}", 1), (end, "eth", 2)):
            space.run("ip", "address", "add", f"10.71.{net}.{last}/24", "dev", device)
            space.run("ip", "address", "add", f"fd71:{net}::{last}/64", "dev", device, "nodad")
            space.run("ip", "link", "set", device, "up")
        end.run("ip", "route", "add", "default", "via", f"10.71.{net}.1")
        end.run("ip", "-6", "route", "add", "default", "via", f"fd71:{net}::1")

    def close(self):
        for space in (self.client, self.server, self.proxy):
            space.close()
