# SPDX-License-Identifier: MIT
"""A process as shown by /proc."""

import contextlib
import os

from harness.sock_diag import ports_by_inode
from harness.timing import wait_until

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    """The open descriptors, as a list of link texts. Excludes /dev/null, the daemon's placeholders: there is
    one more of them after a connection of control has closed. Also excludes what the C library opens briefly
    to look up a name: its libraries, and files in /etc."""
    links = []
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            link = os.readlink(f"{folder}/{name}")
            if link != "/dev/null" and not link.startswith(("/usr/lib/", "/lib/", "/etc/")):
                links.append(link)
        except FileNotFoundError:
            pass
    return links


def sockets(links):
    """Those of these descriptors that are sockets."""
    return {link for link in links if link.startswith("socket:")}


def passing_sockets(pid):
    """Sockets that may close by themselves: admin connections, health checks, queries to name servers."""
    return sockets(descriptors(pid)) - listening(pid)


def wait_for_admin(pid):
    """Waits until the admin connections of a daemon without sessions are closed: it does that a moment after
    its answer."""
    wait_until(lambda: not passing_sockets(pid), lambda: f"sockets are left: {passing_sockets(pid)}")


def _is_here(pid):
    """Is it in our network namespace?"""
    return os.path.samefile(f"/proc/{pid}/ns/net", "/proc/self/ns/net")


def _tcp_ports(pid):
    """{link text: port} of the TCP sockets that listen in its network namespace."""
    ports = ports_by_inode() if _is_here(pid) else None
    if ports is not None:
        return {f"socket:[{inode}]": port for inode, port in ports.items()}
    found = {}
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError), \
                open(f"/proc/{pid}/net/{name}", encoding="ascii", errors="replace") as f:
            for row in (line.split() for line in f.readlines()[1:]):
                if len(row) > 9 and row[3] == "0A":    # TCP_LISTEN
                    found[f"socket:[{row[9]}]"] = int(row[1].rpartition(":")[2], 16)
    return found


def listening_ports(pid):
    """The TCP ports at which it listens."""
    ports = _tcp_ports(pid)
    return {ports[link] for link in ports.keys() & set(descriptors(pid))}


def listening(pid):
    """Its listening sockets, as link texts."""
    found = set(_tcp_ports(pid))
    with open(f"/proc/{pid}/net/unix", encoding="ascii", errors="replace") as f:
        for row in (line.split() for line in f.readlines()[1:]):
            if len(row) > 6 and int(row[3], 16) & 0x10000:    # __SO_ACCEPTCON
                found.add(f"socket:[{row[6]}]")
    return found.intersection(descriptors(pid))


def kinds(links):
    """The number of descriptors of each kind, for messages."""
    count = {}
    for link in links:
        kind = link.split(":")[0]
        count[kind] = count.get(kind, 0) + 1
    return count


def _stat(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rpartition(")")[2].split()


def cpu_ticks(pid):
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12])


def state(pid):
    return _stat(pid)[0]


def rss_anon(pid):
    """Private memory in bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"no RssAnon of {pid}")


def threads(pid):
    return [int(t) for t in os.listdir(f"/proc/{pid}/task")]


def named_threads(pid, name):
    """IDs of the threads with this name."""
    found = []
    for tid in threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            if f.read() == f"{name}\n":
                found.append(tid)
    return found


def worker_thread(pid, index):
    """The ID of a worker's thread."""
    tid, = named_threads(pid, f"worker {index}")
    return tid


def is_log_written(pid):
    """Have the threads that write log files nothing left to do? Then they sleep."""
    for tid in threads(pid):
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii", errors="replace") as f:
                name, _, rest = f.read().partition("(")[2].rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if name == "weir-log" and rest.split()[0] != "S":
            return False
    return True
