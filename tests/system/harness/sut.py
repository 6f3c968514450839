# SPDX-License-Identifier: MIT
"""The system under test of a stage: weir, or what the tests are calibrated against.

WEIR_SUT=weir (default), haproxy (a stand-in, `mode tcp`), or direct: no proxy at all, where
every contract case must pass for TCP, because the contract promises to look like a direct connection.
"""

import os
import signal
import subprocess

from harness import address, process
from harness.daemon import Daemon
from harness import final_check
from harness.timing import wait_until

NAME = os.environ.get("WEIR_SUT", "weir")
OPTIONS = """\
timeout-connect = 5s
timeout-idle = 60s
timeout-half-closed = 20s
"""


def make(folder, routes, splice, threads):
    """Starts a system that serves `routes`: {(client family, server family): server address}."""
    return {"weir": Weir, "haproxy": Haproxy, "direct": Direct}[NAME](
        folder, routes, splice, threads)


class Direct:
    """No proxy: clients connect to the servers themselves."""

    name = "direct"

    def __init__(self, folder, routes, splice, threads):
        self.fronts = {pair: where for pair, where in routes.items() if pair[0] == pair[1]}

    def freeze(self):
        pass

    def thaw(self):
        pass

    def cpu_over(self, seconds):
        return 0

    def check(self):
        pass

    def stop(self):
        pass

    kill = stop


class Weir(Daemon):
    """The product."""

    name = "weir"

    def __init__(self, folder, routes, splice, threads):
        text = (f"[global]\nthreads = {threads}\nsplice = {splice}\nadmin-socket = unix:@ADMIN@\n"
                "log = stderr\nlevel = info\npipe-cycle = 100ms\n\n[defaults]\n" + OPTIONS)
        text = text.replace("log = stderr\nlevel = info\n", "log = stderr level=info\n")
        for (cf, sf), where in routes.items():
            text += (f"\n[listen {cf}-{sf}]\nbind = {address.fresh(cf, folder)}\n"
                     f"server a = {where}\n")
        super().__init__(folder, text)
        self.start()
        named = {name: where for name, _, where in self.addresses()}
        self.fronts = {pair: named["-".join(pair)] for pair in routes}

    def check(self):
        final_check.check(self)

    def stop(self):
        final_check.check_exit(self)


class Haproxy:
    """HAProxy in TCP mode; it gets its ports, which the kernel chooses, as bound descriptors."""

    name = "haproxy"

    def __init__(self, folder, routes, splice, threads):
        self.listeners = []
        self.fronts = {}
        how = {"on": "option splice-request\n option splice-response\n",
               "auto": "option splice-auto\n", "off": ""}[splice]
        text = (f"global\n nbthread {threads}\n maxconn 4000\n"
                f"defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n"
                f" timeout server 60s\n timeout client-fin 20s\n timeout server-fin 20s\n {how}")
        for (cf, sf), where in routes.items():
            if "abstract" in (cf, sf):
                continue
            bound = address.fresh(cf, folder)
            sock = bound.socket()
            sock.bind(bound.sockaddr)
            sock.listen(1024)
            self.listeners.append(sock)
            self.fronts[cf, sf] = address.of_socket(sock, cf)
            target = f"unix@{where.name}" if where.family == "path" else str(where)
            text += f"listen {cf}-{sf}\n bind fd@{sock.fileno()}\n server a {target}\n"
        path = os.path.join(folder, "haproxy.cfg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        with open(os.path.join(folder, "log"), "ab") as log:
            self.child = subprocess.Popen(
                ["haproxy", "-f", path], stdout=log, stderr=log,
                pass_fds=[s.fileno() for s in self.listeners])
        self.pid = self.child.pid
        wait_until(lambda: self.child.poll() is not None or
                   len(process.threads(self.pid)) >= threads, "haproxy runs")
        assert self.child.poll() is None
        last = [0]

        def settled():
            before, last[0] = last[0], len(process.descriptors(self.pid))
            return last[0] == before and last[0] > 3 + len(self.listeners)
        wait_until(settled, "haproxy settles")
        self.baseline = len(process.descriptors(self.pid))

    def freeze(self):
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(lambda: process.state(self.pid) == "T", "haproxy is stopped")

    def thaw(self):
        os.kill(self.pid, signal.SIGCONT)

    def cpu_over(self, seconds):
        return Daemon.cpu_over(self, seconds)

    def check(self):
        """Sockets only, because HAProxy keeps its pipes."""
        def sockets():
            return process.kinds(process.descriptors(self.pid)).get("socket", 0)
        self.sockets = getattr(self, "sockets", sockets())
        wait_until(lambda: sockets() <= self.sockets + 4, lambda: f"{sockets()} sockets")

    def stop(self):
        self.child.kill()
        self.child.wait()
        for sock in self.listeners:
            sock.close()

    def kill(self):
        self.stop()
