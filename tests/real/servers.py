# SPDX-License-Identifier: MIT
"""Real servers as processes of one test: who they run as, where they write, how they end."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess

import pytest

import trees
from harness.programs import free_ports
from harness.show_stat import stat
from harness.timing import PATIENCE, wait_until

# A busy machine starts several of them at a time.
SLOW = 5 * PATIENCE


def nobody():
    """The words that start a program without root's rights, and whose rights it has."""
    if os.geteuid() != 0:
        return [], pwd.getpwuid(os.geteuid())
    user = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--no-new-privs",
            "--inh-caps=-all"], user


class Servers:
    def __init__(self, tree, folder):
        self.tree = tree
        self.folder = folder
        self.prefix, self.user = nobody()
        self.children = []
        with contextlib.suppress(PermissionError):
            os.chmod(folder, 0o755)

    def program(self, name):
        try:
            return self.tree.program(name)
        except trees.Failed as e:
            pytest.skip(f"{e}: it could not be fetched")

    def give(self, path):
        """Makes a file or a folder the servers' own."""
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        shutil.chown(path, self.user.pw_uid, self.user.pw_gid)
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
        return {**self.tree.environment, "HOME": self.folder, **more}

    def run(self, *words, said="", cwd="/", patience=SLOW, check=True, **environment):
        """A program of the tree that ends by itself; what it prints."""
        got = subprocess.run([*self.prefix, self.program(words[0]), *words[1:]], input=said, text=True,
                             cwd=cwd, capture_output=True, timeout=patience,
                             env=self.environment(**environment), check=False)
        if check:
            assert got.returncode == 0, f"{words[0]} ended with {got.returncode}: {got.stdout}{got.stderr}"
        return got.stdout if check else got

    def start(self, name, *words, prefix=None, **environment):
        """A server in its own process group; its output goes to the file NAME.log."""
        program = words[0] if "/" in words[0] else self.program(words[0])
        with open(self.log_path(name), "ab") as out:
            child = subprocess.Popen([*(self.prefix if prefix is None else prefix), program, *words[1:]],
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                     env=self.environment(**environment), start_new_session=True)
        self.children.append(child)
        return child

    def log_path(self, name):
        return os.path.join(self.folder, name + ".log")

    def log(self, name):
        with open(self.log_path(name), encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]

    @staticmethod
    def kill(child):
        """As if the machine had lost power: the process dies with all that it has started. It is stopped
        first, so that it starts nothing meanwhile."""
        if child.poll() is not None:
            return
        family = []
        found = [child.pid]
        while found:
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            family += found
            found = [pid for pid in descendants(child.pid) if pid not in family]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.wait(PATIENCE)

    def close(self):
        """Asks nobody: there is nothing to keep."""
        for child in self.children:
            self.kill(child)


def descendants(pid):
    """The processes that it has started, and those that these have started."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), \
                open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
            parents.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def answers(port):
    """Does somebody listen there?"""
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


def wait_for_port(port, servers, name, child=None):
    def there():
        assert child is None or child.poll() is None, f"{name} ended: {servers.log(name)}"
        return answers(port)
    wait_until(there, lambda: f"{name} listens: {servers.log(name)}", SLOW)


def ports(count):
    """Below the range from which the kernel takes ports for clients, where a namespace is our own."""
    return free_ports(count)


def wait_server(daemon, proxy, server, status):
    """Waits until weir shows a server with this status."""
    row = {}

    def there():
        row.update(stat(daemon, server, proxy))
        return row["status"].split()[0] == status
    wait_until(there, lambda: f"{proxy}/{server} is {status}, it is {row['status']} by {row['last_chk']}\n"
               f"{daemon.log()[-1500:]}", SLOW)
