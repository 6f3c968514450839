# SPDX-License-Identifier: MIT
"""failover.py - how soon clients reach a new master or primary, one function per program; see failover.sh.

A client writes through weir all the time. The time from the end of a promotion until a write has arrived at
the new server must be at most two check intervals, and BUSY_S for the client and a busy machine.
"""

import argparse
import os
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))

from balance import Daemon  # noqa: E402
from harness.postgres import FOLDERS, Postgres  # noqa: E402
from harness.programs import Programs, needs  # noqa: E402
from traffic import PATIENCE, Failed, wait_for  # noqa: E402

INTERVAL_S = 0.5
BUSY_S = 0.5
ROUNDS = 3


class Writer(threading.Thread):
    """Writes again and again; write() returns the port of the server that took it, or None."""

    def __init__(self, write):
        super().__init__(daemon=True)
        self.write = write
        self.arrived = []   # (when, port)
        self.failed = 0
        self.stopped = False
        self.start()

    def run(self):
        while not self.stopped:
            port = self.write()
            if port is None:
                self.failed += 1
                time.sleep(0.02)
            else:
                self.arrived.append((time.monotonic(), port))

    def wait_for(self, port, since):
        """The seconds from `since` until a write arrived there."""
        def found():
            return [when for when, where in self.arrived[:] if where == port and when >= since]
        wait_for(f"a write at port {port}", found)
        return found()[0] - since

    def stop(self):
        self.stopped = True
        self.join(PATIENCE)


def ask(words, said=""):
    """The output of a client that reads `said`; None = it failed."""
    got = subprocess.run(words, capture_output=True, text=True, input=said, timeout=PATIENCE, check=False)
    return got.stdout.strip() if got.returncode == 0 else None


def section(ports, check):
    """Without retries: a client in the pause before one (1 s) would hide how soon the check notices."""
    lines = ["[listen l]", "bind = 127.0.0.1:0", "timeout-connect = 2s", "no-server = queue", "retries = 0",
             "timeout-queue = 10s", f"check = {check}", f"check-interval = {INTERVAL_S * 1000:.0f}ms",
             "on-marked-down = close-sessions", *(f"server s{port} = 127.0.0.1:{port}" for port in ports)]
    return "\n".join(lines) + "\n"


class Cases:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.programs = Programs(folder)
        self.daemon = self.writer = None

    def clean(self):
        if self.writer:
            self.writer.stop()
        if self.daemon and self.daemon.child.poll() is None:
            self.daemon.child.kill()
            self.daemon.child.wait()
        self.programs.close()

    def begin(self, ports, check, write):
        self.daemon = Daemon(self.binary, self.folder, check.split()[0], section(ports, check), 2)
        self.writer = Writer(lambda: write(self.daemon.port))

    def settle(self, port):
        """Waits until weir sends clients to this server alone, and writes arrive there."""
        wait_for(f"only {port} is up", lambda: [name for name, status in self.daemon.stat("status").items()
                                                if status.startswith("UP")] == [f"s{port}"])
        self.writer.wait_for(port, time.monotonic())

    def end(self, took):
        self.writer.stop()
        self.daemon.finish()
        bar = 2 * INTERVAL_S
        shown = ", ".join(f"{seconds:.2f}" for seconds in took)
        if max(took) > bar + BUSY_S:
            raise Failed(f"{shown} s after the promotion; at most {bar:.1f} + {BUSY_S} s")
        return f"{shown} s after the promotion, at most {bar:.1f} + {BUSY_S}; " \
            f"{len(self.writer.arrived)} writes, {self.writer.failed} failed meanwhile"

    def redis(self):
        """A planned change of the master, to and fro."""
        def start():
            return self.programs.start(lambda port: [
                needs("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no", "--dir", self.folder, "--repl-diskless-sync-delay", "0"],
                log="redis.log")[1]

        def command(port, *lines):
            return ask([needs("redis-cli"), "-p", str(port)], "".join(f"{line}\n" for line in lines))

        def write(port):
            # A replica refuses the write, so the second answer names the master that took it.
            answer = (command(port, "set k v", "config get port") or "").split()
            return int(answer[2]) if answer[:2] == ["OK", "port"] else None

        ports = [start(), start()]
        command(ports[1], f"replicaof 127.0.0.1 {ports[0]}")
        self.begin(ports, "redis role=master", write)
        took = []
        for n in range(ROUNDS):
            old, new = ports[n % 2], ports[(n + 1) % 2]
            self.settle(old)
            command(old, f"replicaof 127.0.0.1 {new}")
            command(new, "replicaof no one")
            took.append(self.writer.wait_for(new, time.monotonic()))
        return self.end(took)

    def pgsql(self):
        """The primary is killed, and the standby promoted."""
        where = os.path.join(self.folder, "pg")
        os.mkdir(where)
        os.chmod(where, 0o755)
        a = Postgres(self.programs, where, "a").start()
        a.sql("CREATE ROLE weir LOGIN; CREATE TABLE t (n int)")
        b = Postgres(self.programs, where, "b", a).start()
        psql = needs("psql", FOLDERS)

        def write(port):
            answer = ask([psql, "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-d", "postgres",
                          "-Atqc", "INSERT INTO t VALUES (1) RETURNING inet_server_port()"])
            return int(answer) if answer else None

        self.begin([a.port, b.port], "pgsql user=weir role=primary", write)
        self.settle(a.port)
        a.die()
        b.promote()
        return self.end([self.writer.wait_for(b.port, time.monotonic())])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary")
    parser.add_argument("--folder")
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    shutil.rmtree(args.folder, ignore_errors=True)
    os.makedirs(args.folder)
    names = args.case or ["redis", "pgsql"]
    failed = 0
    for name in names:
        cases = Cases(args.binary, args.folder)
        try:
            print(f"{name}: ok: {getattr(cases, name)()}", flush=True)
        except (Failed, OSError, AssertionError) as e:
            failed += 1
            print(f"{name}: FAILED: {e}", flush=True)
        finally:
            cases.clean()
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
