# SPDX-License-Identifier: MIT
"""Addresses of the four families that weir listens on and connects to."""

import itertools
import os
import socket
from dataclasses import dataclass

FAMILIES = ("tcp4", "tcp6", "path", "abstract")
_serial = itertools.count(1)
_HOSTS = {"tcp4": "127.0.0.1", "tcp6": "::1"}


@dataclass(frozen=True)
class Address:
    family: str
    host: str = ""
    port: int = 0
    name: str = ""

    def __str__(self):
        """The address as written in weir's configuration."""
        if self.family == "tcp4":
            return f"{self.host}:{self.port}"
        if self.family == "tcp6":
            return f"[{self.host}]:{self.port}"
        if self.family == "path":
            return f"unix:{self.name}"
        return f"unix:@{self.name}"

    @property
    def tcp(self):
        return self.family in _HOSTS

    @property
    def sockaddr(self):
        if self.tcp:
            return (self.host, self.port)
        return self.name if self.family == "path" else "\0" + self.name

    def socket(self):
        kind = {"tcp4": socket.AF_INET, "tcp6": socket.AF_INET6}.get(self.family, socket.AF_UNIX)
        return socket.socket(kind, socket.SOCK_STREAM)


def fresh(family, folder):
    """An address to bind: port 0, or an unused name."""
    if family in _HOSTS:
        return Address(family, host=_HOSTS[family])
    serial = next(_serial)
    if family == "path":
        return Address(family, name=f"{folder}/s{serial}.sock")
    return Address(family, name=f"weir-test-{os.getpid()}-{serial}")


def hold(family):
    """A TCP port that stays reserved while the returned socket is open. A process that binds it with
    SO_REUSEADDR can listen there, die and come back: until then connections are refused, and no other
    process gets the port."""
    sock = fresh(family, "").socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((_HOSTS[family], 0))
    return sock, of_socket(sock, family)


def of_socket(sock, family):
    name = sock.getsockname()
    if family in _HOSTS:
        return Address(family, host=name[0], port=name[1])
    if family == "path":
        return Address(family, name=name)
    return Address(family, name=name[1:].decode())


def parse(text):
    """Parses an address as weir logs it; a wildcard becomes the loopback address of its family."""
    for prefix in ("unix:@", "abns@", "@"):
        if text.startswith(prefix):
            return Address("abstract", name=text[len(prefix):])
    for prefix in ("unix:", "unix@"):
        if text.startswith(prefix):
            return Address("path", name=text[len(prefix):])
    if text.startswith("/"):
        return Address("path", name=text)
    host, _, port = text.rpartition(":")
    if host.startswith("["):
        host = host.strip("[]")
        return Address("tcp6", host="::1" if host == "::" else host, port=int(port))
    host = "127.0.0.1" if host in ("", "*", "0.0.0.0") else host
    return Address("tcp4", host=host, port=int(port))
