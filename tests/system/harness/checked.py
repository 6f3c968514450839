# SPDX-License-Identifier: MIT
"""Daemons that check servers, and agents that answer them."""

import contextlib
import csv
import io
import os
import re
import socket
import subprocess
import time
from collections import Counter

from harness import admin, process, service
from harness.timing import PATIENCE, wait_until


def lasting(daemon):
    """Takes as its own descriptors those that last: a check may be under way when they are counted. Before
    each count the daemon has a turn, which may end a check."""
    found = Counter(daemon.baseline["fds"])
    for _ in range(15):
        time.sleep(0.01)
        daemon.ask("show version")
        found &= Counter(process.descriptors(daemon.pid))
    daemon.baseline["fds"] = list(found.elements())
    return daemon


class Agent(service.Service):
    """Answers each connection with `answer`, after it has heard `hears` bytes, and ends it."""

    def __init__(self, answer=b"\n", hears=0):
        self.answer, self.hears, self.heard = answer, hears, []
        super().__init__(self._answer)

    def _answer(self, sock):
        heard = b""
        while len(heard) < self.hears:
            part = sock.recv(4096)
            if not part:
                return  # it has given up
            heard += part
        self.heard.append(heard)
        sock.sendall(self.answer)
        with contextlib.suppress(OSError):  # HAProxy ends a check with a reset
            sock.shutdown(socket.SHUT_WR)

    @property
    def asked(self):
        return len(self.ends)

    def say(self, answer):
        """Waits until it has been asked, and has said this."""
        self.answer = answer
        before = self.asked
        wait_until(lambda: self.asked >= before + 2, f"the agent says {answer}")


def rows(text, proxy="l"):
    """{server: row} of an answer to `show stat`."""
    return {row["svname"]: row for row in csv.DictReader(io.StringIO(text.lstrip("# ")))
            if row["pxname"] == proxy}


def row_of(daemon, server, proxy="l"):
    return rows(daemon.ask("show stat"), proxy)[server]


def wait_row(daemon, server, proxy="l", **wanted):
    """Waits until the row of `show stat` has these values, which are regular expressions of the whole."""
    row = {}

    def there():
        row.update(row_of(daemon, server, proxy))
        return all(re.fullmatch(v, row[k]) for k, v in wanted.items())
    wait_until(there, lambda: f"{server} with {wanted}: { {k: row[k] for k in wanted} }\n"
               f"{daemon.log()[-1500:]}")
    return row


class Haproxy:
    """HAProxy with these lines of a backend `l`."""

    def __init__(self, folder, lines):
        self.path = os.path.join(folder, "h.sock")
        config = os.path.join(folder, "h.cfg")
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"global\n stats socket {self.path} level admin\ndefaults\n mode tcp\n"
                    " timeout connect 1s\n timeout client 1s\n timeout server 1s\nbackend l\n" +
                    "".join(f" {x}\n" for x in lines))
        with open(os.path.join(folder, "h.log"), "wb") as log:
            self.child = subprocess.Popen(["haproxy", "-db", "-f", config], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)
        wait_until(lambda: admin.listens(self.path) or self.child.poll() is not None, "haproxy runs")
        assert self.child.poll() is None, "haproxy refuses its configuration"

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.path)
            s.sendall(command.encode() + b"\n")
            with s.makefile(encoding="utf-8", errors="replace") as f:
                return f.read()

    def close(self):
        self.child.kill()
        self.child.wait(PATIENCE)
