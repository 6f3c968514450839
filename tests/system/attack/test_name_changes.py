# SPDX-License-Identifier: MIT
"""Danger: a name server that returns another address for each query cuts connections, floods the log, or
makes the daemon grow."""

import os
import socket
import struct
import subprocess
import threading

import pytest

from harness import daemon as daemons
from harness.address import Address
from harness.timing import wait_until

# The shortest time between two lookups: 100 ms by the system's resolver, 500 ms by DNS.
INTERVAL = "100ms"
CHANGES = {"system": 25, "dns": 6}


class HostileNameServer:
    """Answers each question for an IPv4 address with one that it never gave before, of 127.1.0.0/16."""

    def __init__(self, network):
        self.socket = network.call(self._open)
        self.given = 0
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @staticmethod
    def _open():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 53))
        return s

    def _answer(self, question):
        end = question.index(b"\0", 12) + 5
        count, answer = 0, b""
        if question[end - 4:end - 2] == b"\0\1":  # type A
            self.given += 1
            count = 1
            answer = b"\xc0\x0c\0\1\0\1" + struct.pack("!IHBBH", 0, 4, 127, 1, self.given)
        head = question[:2] + b"\x81\x80" + struct.pack("!HHHH", 1, count, 0, 0)
        return head + question[12:end] + answer

    def _serve(self):
        while True:
            question, who = self.socket.recvfrom(512)
            if not question:
                return
            self.socket.sendto(self._answer(question), who)

    def close(self):
        """From any network namespace: a datagram to itself, by its own socket."""
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


@pytest.mark.parametrize("resolver", ["system", "dns"])
def test_an_ever_changing_name_is_followed_and_harms_nobody(network, weir, peers, folder, resolver):
    if resolver == "dns" and "c-ares" not in subprocess.run([daemons.BINARY, "-vv"], capture_output=True,
                                                            text=True, check=False).stdout:
        pytest.skip("this binary was built without c-ares")
    changes = CHANGES[resolver]
    names = peers.keep(HostileNameServer(network))
    conf = os.path.join(folder, "resolv.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write("nameserver 127.0.0.1\n")
    listener = peers.listen(where=Address("tcp4", host="0.0.0.0", port=0), socket_maker=network.socket)
    daemon = weir(f"[global]\nresolver = {resolver}\n[listen l]\nbind = 127.0.0.1:0\n"
                  f"resolve-interval = {INTERVAL}\n"
                  f"server a = ever.example:{listener.address.port}\n",
                  wrapper=network.wrapper + ["unshare", "-m", "sh", "-c",
                                             f'mount --bind {conf} /etc/resolv.conf && exec "$0" "$@"'])
    wait_until(lambda: str(daemon.info()["server.l/a"]).startswith("up"), "the name has an address")
    old_client, old_server = peers.pair(daemon.address("l"), listener, socket_maker=network.socket)
    before = names.given
    wait_until(lambda: names.given >= before + changes, "the name has changed often")
    # Who was connected stays where he is.
    old_client.send(10_000)
    old_server.receive(10_000)
    # Who comes now goes to an address that was given after that.
    client, server = peers.pair(daemon.address("l"), listener, socket_maker=network.socket)
    host = server.sock.getsockname()[0]
    octets = [int(part) for part in host.split(".")]
    assert octets[:2] == [127, 1] and octets[2] * 256 + octets[3] >= before + changes - 2, host
    for peer in (old_client, old_server, client, server):
        peer.close()
    # One line a second, and how many were left out.
    told = [line for line in daemon.log().splitlines() if "'ever.example' is 127.1." in line]
    assert 1 <= len(told) <= changes // 2 + 2, "\n".join(told)
