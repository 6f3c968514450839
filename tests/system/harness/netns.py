# SPDX-License-Identifier: MIT
"""A network namespace for a test: loopback only, packets dropped on demand. Needs root.

A thread that has entered the namespace creates the sockets. A socket stays in the namespace it was
created in, so the test can use it from anywhere.
"""

import ctypes
import itertools
import os
import queue
import subprocess
import threading

_CLONE_NEWNET = 0x40000000
_serial = itertools.count(1)
_libc = ctypes.CDLL(None, use_errno=True)


def missing():
    """Why no namespace can be created here, or None."""
    if os.geteuid() != 0:
        return "not root: no network namespace"
    # The same commands that a test will run: in a bare chroot, `ip netns exec` cannot mount.
    name = f"sl-probe-{os.getpid()}"
    probe = subprocess.run(
        ["sh", "-c", f"ip netns add {name} && ip netns exec {name} sh -c "
         "'ip link set lo up && nft add table inet probe'; code=$?; "
         f"ip netns delete {name}; exit $code"],
        capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no network namespace: {probe.stderr.strip()}"


def output(*words):
    """Runs a command and returns its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


class Netns:
    def __init__(self):
        self.name = f"sl-{os.getpid()}-{next(_serial)}"
        self._run("ip", "netns", "add", self.name)
        self.wrapper = ["ip", "netns", "exec", self.name]
        self.run("ip", "link", "set", "lo", "up")
        self.run("nft", "add table inet t; add chain inet t in "
                 "{ type filter hook input priority 0; }")
        self._jobs = queue.Queue()
        self._answers = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @staticmethod
    def _run(*words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"

    def run(self, *words):
        self._run(*self.wrapper, *words)

    def sysctl(self, name, value):
        """Sets a net.* setting of this namespace, such as ipv4.ip_forward; needs no sysctl(8)."""
        path = "/proc/sys/net/" + name.replace(".", "/")
        self.run("sh", "-c", 'printf %s "$1" >"$0"', path, str(value))

    def add_ipv6(self, *hosts):
        """Gives the loopback device these addresses, for use at once."""
        for host in hosts:
            self.run("ip", "-6", "address", "add", f"{host}/128", "dev", "lo", "nodad")

    def drop(self, port):
        """Drops every packet to or from `port` from now on."""
        self.run("nft", f"add rule inet t in tcp dport {port} drop; "
                 f"add rule inet t in tcp sport {port} drop")

    def drop_address(self, host):
        """Drops every packet to `host` from now on."""
        self.run("nft", f"add rule inet t in ip daddr {host} drop")

    def undrop(self):
        self.run("nft", "flush chain inet t in")

    def _work(self):
        with open(f"/run/netns/{self.name}", encoding="ascii") as f:
            if _libc.setns(f.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        while True:
            job = self._jobs.get()
            if job is None:
                return
            self._answers.put(job())

    def socket(self, where):
        """A socket for an Address, inside the namespace."""
        self._jobs.put(where.socket)
        return self._answers.get(timeout=5)

    def call(self, job):
        """Runs job() in the namespace's thread and returns its value."""
        self._jobs.put(job)
        return self._answers.get(timeout=5)

    def close(self):
        self._jobs.put(None)
        self._thread.join()
        self._run("ip", "netns", "del", self.name)
