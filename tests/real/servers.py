# SPDX-License-Identifier: MIT
"""Real servers as processes of one test: who they run as, where they write, how they end."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

import trees
from harness.port_service import free_run
from harness.show_stat import stat
from harness.timing import PATIENCE, wait_until

# A busy machine starts several of them at a time.
SLOW = 5 * PATIENCE
# Until a server serves: RabbitMQ took more than 40 s, and usually takes 5, at a load of 18 on two cores.
START = 3 * SLOW


def nobody():
    """The words that start a program without root's rights, and the user and group that it has then."""
    if os.geteuid() != 0:
        return [], os.geteuid(), os.getegid()
    user = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--no-new-privs",
            "--inh-caps=-all"], user.pw_uid, user.pw_gid


class Servers:
    def __init__(self, tree, folder):
        self.tree = tree
        self.folder = folder
        self.prefix, self.user, self.group = nobody()
        self.children = []
        self.marks = {}
        self.temporary = self.give(tempfile.mkdtemp(prefix="tmp", dir=folder))

    def program(self, name):
        try:
            return self.tree.program(name)
        except trees.Failed as e:
            pytest.skip(f"{e}: it could not be fetched")

    def give(self, path):
        """Makes a file or a folder the servers' own."""
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        shutil.chown(path, self.user, self.group)
        return path

    def make_folder(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(path)
        return self.give(path)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return self.give(path)

    def environment(self, **more):
        return {**self.tree.environment, "HOME": self.folder, "TMPDIR": self.temporary, **more}

    def run(self, *words, said="", cwd="/", patience=SLOW, check=True, **environment):
        """A program of the tree that ends by itself; what it prints."""
        got = subprocess.run([*self.prefix, self.program(words[0]), *words[1:]], input=said, text=True,
                             cwd=cwd, capture_output=True, timeout=patience,
                             env=self.environment(**environment), check=False)
        if check:
            assert got.returncode == 0, f"{words[0]} ended with {got.returncode}: {got.stdout}{got.stderr}"
        return got.stdout if check else got

    def start(self, name, *words, prefix=None, **environment):
        """A server in its own session; its output goes to the file NAME.log."""
        program = words[0] if "/" in words[0] else self.program(words[0])
        mark = f"{self.folder}/{name}/{len(self.children)}"
        with open(self.log_path(name), "ab") as out:
            child = subprocess.Popen([*(self.prefix if prefix is None else prefix), program, *words[1:]],
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                     env=self.environment(WEIR_REAL_SERVER=mark, **environment),
                                     start_new_session=True)
        self.children.append(child)
        self.marks[child.pid] = f"WEIR_REAL_SERVER={mark}".encode()
        return child

    def log_path(self, name):
        return os.path.join(self.folder, name + ".log")

    def log(self, name):
        with open(self.log_path(name), encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]

    def kill(self, child):
        """As if the machine had lost power: the process dies with all that it has started. All are stopped
        first, so that they start nothing meanwhile."""
        stopped = set()
        while True:
            found = family(child, self.marks.get(child.pid)) - stopped
            if not found:
                break
            send(signal.SIGSTOP, found)
            stopped |= found
        send(signal.SIGKILL, stopped)
        child.wait(PATIENCE)

    def close(self):
        """Asks nobody: there is nothing to keep."""
        for child in self.children:
            self.kill(child)


def send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def family(child, mark):
    """The process and those with its mark in their environment, because a daemon leaves its parent; and all
    that these have started, because PostgreSQL writes over its environment."""
    below, found = {}, [] if child.poll() is not None else [child.pid]
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as f:
            below.setdefault(int(f.read().rpartition(b")")[2].split()[1]), []).append(pid)
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as f:
            if mark and mark in f.read().split(b"\0"):
                found.append(pid)
    for pid in found:
        found += [one for one in below.get(pid, []) if one not in found]
    return set(found)


def answers(port, host="127.0.0.1"):
    """Does somebody listen there?"""
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex((host, port)) == 0


def wait_for_port(port, servers, name, child=None, host="127.0.0.1"):
    def there():
        assert child is None or child.poll() is None, f"{name} ended: {servers.log(name)}"
        return answers(port, host)
    wait_until(there, lambda: f"{name} listens: {servers.log(name)}", START)


def ports(count):
    """Free at this moment, and none that the kernel gives to a client before a server has it."""
    first = free_run(count, ("127.0.0.1",))
    return list(range(first, first + count))


def wait_server(daemon, proxy, server, status):
    """Waits until weir shows a server with this status."""
    row = {}

    def there():
        row.update(stat(daemon, server, proxy))
        return row["status"].split()[0] == status
    wait_until(there, lambda: f"{proxy}/{server} is {status}, it is {row['status']} by {row['last_chk']}\n"
               f"{daemon.log()[-1500:]}", SLOW)
