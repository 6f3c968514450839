# SPDX-License-Identifier: MIT
"""A service manager: it passes sockets and receives the messages of sd_notify(3)."""

import itertools
import os
import select
import socket
import sys

from harness.timing import PATIENCE, wait_until

_serial = itertools.count(1)
ACTIVATE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "activate.py")


class Manager:
    """The socket behind NOTIFY_SOCKET, and all messages received, each as a dictionary."""

    def __init__(self, folder=None):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        serial = f"notify-{os.getpid()}-{next(_serial)}"
        self.name = f"{folder}/{serial}" if folder else f"@weir-test-{serial}"
        self.sock.bind(self.name if folder else "\0" + self.name[1:])
        self.sock.setblocking(False)
        self.messages = []

    @property
    def environment(self):
        return {"NOTIFY_SOCKET": self.name}

    def collect(self):
        while select.select([self.sock], [], [], 0)[0]:
            lines = self.sock.recv(4096).decode().splitlines()
            self.messages.append(dict(line.split("=", 1) for line in lines))
        return self.messages

    def wait(self, key, value=None, count=1, patience=PATIENCE):
        """Waits for the `count`th message that has this key (and this value)."""
        def matching():
            found = [m for m in self.collect() if key in m and value in (None, m[key])]
            return found if len(found) >= count else None
        return wait_until(matching, lambda: f"{count} x {key}={value}: {self.messages}",
                          patience)[count - 1]

    def close(self):
        self.sock.close()


def passing(names, *socks):
    """Keywords for the `weir` fixture that pass these sockets to the daemon, with LISTEN_FDNAMES `names`."""
    numbers = [s.fileno() for s in socks]
    return {"wrapper": [sys.executable, ACTIVATE, ",".join(map(str, numbers)), names or "-"],
            "pass_fds": numbers}
