#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attacks.py - runs the same four attacks on weir and on HAProxy, for the table in doc/reliability.md.

    python3 bench/attacks.py [--sut weir,haproxy] [--json FILE]

Needs root (a network namespace for the third attack), HAProxy, and an otherwise idle machine. It compares
nothing with a bar: the tests in tests/system/attack do. WEIR_BIN names the binary.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "system"))

# pylint: disable=wrong-import-position
from harness import address, admin, netns   # noqa: E402
from harness.daemon import BINARY           # noqa: E402
from harness.timing import wait_until       # noqa: E402

DENIED = "127.0.0.66"
CLIENTS = 40


class Proxy:
    """A proxy as a process, with one frontend and an admin socket. `about` holds what the attack needs."""

    def __init__(self, kind, folder, about, wrapper=()):
        if wrapper:
            self.front = about["front"]
        else:
            holder, self.front = address.hold("tcp4")
            holder.close()
        self.admin = os.path.join(folder, "admin.sock")
        path = os.path.join(folder, f"{kind}.cfg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(getattr(self, f"_{kind}")(about))
        command = {"weir": [BINARY, "-f", path], "haproxy": ["haproxy", "-q", "-f", path]}[kind]
        with open(os.path.join(folder, "log"), "ab") as log:
            # pylint: disable=consider-using-with
            self.child = subprocess.Popen([*wrapper, *command], stdout=log, stderr=log)
        wait_until(lambda: os.path.exists(self.admin) or self.child.poll() is not None, "it listens")
        assert self.child.poll() is None, open(os.path.join(folder, "log"), encoding="utf-8").read()

    def _weir(self, about):
        limit = f"rate-limit = {about['rate']}\ndeny-from = {DENIED}\n" if "rate" in about else ""
        check = ("[listen checked]\nbind = 127.0.0.1:30001\ncheck = tcp\ncheck-interval = 200ms\n"
                 f"check-rise = 1\nserver a = {about['server']}\n") if "check" in about else ""
        return (f"[global]\nthreads = 2\nlog = off\nadmin-socket = unix:{self.admin} mode=666 level=admin\n"
                f"[listen web]\nbind = {self.front}\nretries = 0\n{limit}"
                f"server a = {about['server']}\n{check}")

    def _haproxy(self, about):
        limit = f" rate-limit sessions {about['rate']}\n" \
                f" tcp-request connection reject if {{ src {DENIED} }}\n" if "rate" in about else ""
        check = ("listen checked\n bind 127.0.0.1:30001\n"
                 f" server a {about['server']} check inter 200ms rise 1\n" if "check" in about else "")
        return (f"global\n nbthread 2\n stats socket {self.admin} mode 666 level admin\n"
                "defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n"
                f"listen web\n bind {self.front}\n retries 0\n{limit} server a {about['server']}\n{check}")

    def ask(self, command, patience=30):
        return admin.ask(self.admin, command, patience)

    def close(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(2)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.wait()


class Server:
    """Serves each connection with `talk(sock)`, in its own thread."""

    def __init__(self, talk):
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        threading.Thread(target=self._run, args=(talk,), daemon=True).start()

    def _run(self, talk):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(talk, sock), daemon=True).start()

    @staticmethod
    def _serve(talk, sock):
        with sock:
            try:
                talk(sock)
            except OSError:
                pass

    def close(self):
        self.sock.close()


def echo(sock):
    while data := sock.recv(65536):
        sock.sendall(data)


def served(front, host, patience):
    """Seconds until a client gets its byte back; None if it does not."""
    begun = time.monotonic()
    with socket.socket() as s:
        s.settimeout(patience)
        try:
            s.bind((host, 0))
            s.connect(front.sockaddr)
            s.sendall(b"x")
            return time.monotonic() - begun if s.recv(1) == b"x" else None
        except OSError:
            return None


def refused_flood(kind, folder):
    """20 threads connect from a denied address; meanwhile 40 permitted clients, one after another; at most 50
    connections per second."""
    server = Server(echo)
    proxy = Proxy(kind, folder, {"server": server.address, "rate": 50})
    stop = threading.Event()

    def flood():
        while not stop.is_set():
            served(proxy.front, DENIED, 1)
    threads = [threading.Thread(target=flood, daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    took = [served(proxy.front, "127.0.0.1", 4) for _ in range(CLIENTS)]
    stop.set()
    for thread in threads:
        thread.join()
    proxy.close()
    server.close()
    good = [t for t in took if t is not None]
    return {"served": len(good), "of": CLIENTS, "slowest_ms": round(1000 * max(good, default=0), 1)}


def cut_streams(kind, folder):
    """Servers reset in the middle of 1 MiB, 400 times: how many clients see FIN, as after a full reply?"""
    dice = random.Random(1)

    def talk(sock):
        sock.recv(1)
        sock.sendall(bytes(dice.randrange(1 << 20)))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server = Server(talk)
    proxy = Proxy(kind, folder, {"server": server.address})
    ends = {"fin": 0, "reset": 0}
    for _ in range(400):
        with socket.create_connection(proxy.front.sockaddr, 10) as s:
            s.sendall(b"x")
            try:
                while s.recv(65536):
                    pass
                ends["fin"] += 1
            except ConnectionError:
                ends["reset"] += 1
    proxy.close()
    server.close()
    return ends


def self_connect(kind, folder):
    """A dead local server at an ephemeral port, for 15 s: how many clients get their own bytes back, and how
    often does a health check, every 200 ms, find it up?"""
    space = netns.Netns()
    try:
        space.sysctl("ipv4.ip_local_port_range", "40000 40030")
        front = address.Address("tcp4", host="127.0.0.1", port=30000)
        about = {"server": "127.0.0.1:40010", "front": front, "check": True}
        proxy = Proxy(kind, folder, about, space.wrapper)
        own, tried, ups, last = 0, 0, 0, None
        end = time.monotonic() + 15
        while time.monotonic() < end:
            sock = space.call(lambda: socket.socket())
            with sock:
                sock.settimeout(0.5)
                try:
                    # From a port outside the range, so that clients do not use it up.
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.bind(("127.0.0.1", 20000 + int(1000 * time.monotonic()) % 9000))
                    sock.connect(front.sockaddr)
                    tried += 1
                    sock.sendall(b"secret")
                    own += sock.recv(6) == b"secret"
                except OSError:
                    pass
            state = re.search(r"(?m)^checked,a,.*?,(UP|DOWN)", proxy.ask("show stat"))
            up = bool(state) and state[1] == "UP"
            ups += last is False and up
            last = up
        proxy.close()
    finally:
        space.close()
    return {"clients": tried, "got_their_own_bytes": own, "came_up": ups}


def slow_readers(kind, folder):
    """Another user opens 16, then 80 connections to the admin socket that request a lot and read nothing.
    Meanwhile root runs `show info`."""
    found = {}
    server = Server(echo)
    proxy = Proxy(kind, folder, {"server": server.address})
    for count in (16, 80):
        slow = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-c", f"""
import os, socket, sys, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
keep = []
for _ in range({count}):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect({proxy.admin!r})
        s.send(b"show stat; show info; help;" * 50 + b"\\n")
    except OSError:
        pass
    keep.append(s)
print("there", flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE, text=True)
        slow.stdout.readline()
        begun = time.monotonic()
        try:
            proxy.ask("show info", 30)
            found[f"{count}_slow_answer_ms"] = round(1000 * (time.monotonic() - begun), 1)
        except OSError:
            found[f"{count}_slow_answer_ms"] = None
        slow.kill()
        slow.wait()
        slow.stdout.close()
        time.sleep(0.5)
    proxy.close()
    server.close()
    return found


ATTACKS = (refused_flood, cut_streams, self_connect, slow_readers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sut", default="weir,haproxy", help="proxies to attack (default weir,haproxy)")
    parser.add_argument("--attack", default=",".join(a.__name__ for a in ATTACKS),
                        help="attacks to run (default all)")
    parser.add_argument("--json", help="file to write the figures to")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("attacks.py needs root: it creates a network namespace and runs clients as another user")
    figures = {}
    for attack in ATTACKS:
        if attack.__name__ not in arguments.attack.split(","):
            continue
        print(f"{attack.__name__}: {' '.join(attack.__doc__.split())}")
        for kind in arguments.sut.split(","):
            with tempfile.TemporaryDirectory(prefix="atk-") as folder:
                os.chmod(folder, 0o755)
                figure = attack(kind, folder)
            figures.setdefault(attack.__name__, {})[kind] = figure
            print(f"  {kind:8} {figure}", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
