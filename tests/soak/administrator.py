# SPDX-License-Identifier: MIT
"""The administrator of a soak: runs all commands that show something and changes servers, at random."""

import contextlib
import csv
import io
import os
import signal
import time

from harness import address
from harness.admin import ask
from harness.timing import wait_until

ASKED = ("show info", "show info json", "show stat", "show stat json", "show sess", "show sess json",
         "show pools", "show backend", "show servers state", "show servers history", "show hash", "help",
         "show nothing", "show info; show pools")
# Servers that may be changed, because their clients are promised nothing.
CHANGED = ("queued/a", "queued/b", "flapping/a", "flapping/b", "flapping/spare")
# Values that only grow: columns of `show stat`, and keys of `show info`.
GROWING_COLUMNS = ("stot", "bin", "bout", "econ", "wretr", "wredis", "chkdown", "lbtot")
GROWING_KEYS = ("accepted", "denied", "connects", "connect_failures", "retries", "bytes_to_server",
                "bytes_to_client", "bytes_spliced", "source_limited", "turns")
LOG_BYTES = 20 << 20


def patiently(admin, command):
    """The response, even if hostile clients occupy the socket for a moment."""
    def answer():
        with contextlib.suppress(OSError):
            return ask(admin, command)
        return None
    return wait_until(answer, f"a response to '{command}'")


def listeners(daemon):
    """The address of each frontend."""
    found = {}
    for line in daemon.ask("show info").splitlines():
        if line.startswith("listen."):
            name, _, where = line.partition(": ")
            found[name.split(".")[1]] = address.parse(where)
    return found


def restore(admin):
    for server in CHANGED:
        patiently(admin, f"set server {server} state ready")
        patiently(admin, f"set server {server} weight 100%")


class Administrator:
    def __init__(self, admin, pid, folder):
        self.admin = admin
        self.pid = pid
        self.log = os.path.join(folder, "sessions.log")
        self.last = {}

    def __call__(self, dice):
        time.sleep(dice.uniform(0, 0.2))
        what = dice.choice((self.look, self.look, self.look, self.change, self.change, self.rotate,
                            self.grown))
        return "administrator: " + what(dice)

    def look(self, dice):
        command = dice.choice(ASKED)
        patiently(self.admin, command)
        return "asked"

    def change(self, dice):
        server = dice.choice(CHANGED)
        patiently(self.admin, dice.choice((
            f"set server {server} weight {dice.randrange(257)}", f"set server {server} state drain",
            f"disable server {server}", f"enable server {server}", f"enable server {server}",
            f"set maxconn server {server} {dice.randrange(1, 9)}", f"shutdown sessions server {server}",
            f"set server {server} weight 1000", f"set server nowhere/{dice.randrange(9)} state ready")))
        return "changed"

    def rotate(self, _):
        """Rotates the log as logrotate does, whenever the file has grown."""
        if os.path.exists(self.log) and os.path.getsize(self.log) > LOG_BYTES:
            os.replace(self.log, self.log + ".1")
            os.kill(self.pid, signal.SIGUSR1)
            wait_until(lambda: os.path.exists(self.log), "the log file is reopened")
            return "rotated"
        return "left the log"

    def grown(self, _):
        """Counters never decrease."""
        now = {}
        for line in patiently(self.admin, "show info").splitlines():
            key, _, value = line.partition(": ")
            if key in GROWING_KEYS:
                now[key] = int(value)
        assert set(GROWING_KEYS) <= now.keys(), f"missing: {set(GROWING_KEYS) - now.keys()}"
        table = patiently(self.admin, "show stat").lstrip("# ")
        for row in csv.DictReader(io.StringIO(table)):
            for column in GROWING_COLUMNS:
                if row.get(column):
                    now[row["pxname"], row["svname"], column] = int(row[column])
        fallen = {key: (self.last[key], now[key]) for key in now if now[key] < self.last.get(key, 0)}
        assert not fallen, f"counters decreased: {fallen}"
        self.last = now
        return "compared"
