# SPDX-License-Identifier: MIT
"""A real PostgreSQL server, and its standbys, in a folder of the test."""

import glob
import os
import pwd
import shutil
import subprocess

from harness.programs import needs
from harness.timing import PATIENCE, wait_until

FOLDERS = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
READY = "database system is ready to accept"
# Nothing is written for good, and everybody whom a test knows may log in as it says.
SETTINGS = """\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
shared_buffers = 1MB
max_connections = 20
log_min_messages = debug1
lc_messages = C
"""
ACCESS = """\
host all,replication postgres 127.0.0.1/32 trust
host postgres        weir     127.0.0.1/32 trust
host all             secret   127.0.0.1/32 scram-sha-256
"""


def own_user():
    """PostgreSQL does not run as root: the words that start it as somebody else, and who that is."""
    if os.geteuid() != 0:
        return [], pwd.getpwuid(os.geteuid())
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres", names.get("nobody"))
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user


class Postgres:
    """A server that is set up, not started. With `primary`, a standby of that one."""

    def __init__(self, programs, folder, name, primary=None):
        needs("initdb", FOLDERS)
        self.programs = programs
        self.folder = os.path.join(folder, name)
        self.log_name = name + ".log"
        self.log_path = os.path.join(programs.folder, self.log_name)
        self.child = self.port = None
        self.prefix, user = own_user()
        os.mkdir(self.folder, 0o700)
        shutil.chown(self.folder, user.pw_uid, user.pw_gid)
        if primary is None:
            self.run("initdb", "-D", self.folder, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                     "--no-locale", "--no-sync", "--no-instructions")
            self.write("postgresql.conf", SETTINGS)
            self.write("pg_hba.conf", ACCESS)
        else:
            self.run("pg_basebackup", "-D", self.folder, "-h", "127.0.0.1", "-p", str(primary.port),
                     "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def run(self, program, *words):
        got = subprocess.run([*self.prefix, needs(program, FOLDERS), *words], cwd="/", text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE * 5, check=False)
        assert got.returncode == 0, f"{program} failed: {got.stderr}"
        return got.stdout

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
            f.write(text)

    def log(self):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def argv(self, port, *settings):
        return [*self.prefix, needs("postgres", FOLDERS), "-D", self.folder, "-p", str(port),
                *(word for setting in settings for word in ("-c", setting))]

    def start(self, *settings, wait=True):
        """At a port of the kernel's choice the first time, and at the same one later."""
        before = self.log().count(READY)
        if self.port is None:
            self.child, self.port = self.programs.start(lambda port: self.argv(port, *settings),
                                                        log=self.log_name)
        else:
            self.child = self.programs.run(self.argv(self.port, *settings), self.log_name)
        if wait:
            wait_until(lambda: self.log().count(READY) > before, lambda: "PostgreSQL is ready: " + self.log())
        return self

    def sql(self, text):
        return self.run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", "postgres",
                        "-Atqc", text).strip()

    def promote(self):
        self.sql("SELECT pg_promote(true, 30)")

    def die(self):
        """As if the machine had lost power."""
        self.child.kill()
        self.child.wait(PATIENCE)
