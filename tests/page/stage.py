# SPDX-License-Identifier: MIT
"""stage.py - a real daemon with clients and servers around it, for a page that has something to show.

Some servers answer small requests, some keep sessions open, some send much. One goes down and comes back,
one is down, one is draining, one is in maintenance.
"""

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

START_S = 30
CONFIG = """
[global]
threads = 2
admin-socket = unix:%(folder)s/admin.sock mode=600

[stats]
bind = 127.0.0.1:0

[defaults]
check = tcp
check-interval = 300ms
check-fast = 100ms
check-rise = 2
check-fall = 2

[frontend shop]
bind = 127.0.0.1:0
default-backend = shop
maxconn = 2000

[backend shop]
balance = leastconn
%(shop)s

[frontend chat]
bind = 127.0.0.1:0
default-backend = chat

[backend chat]
%(chat)s

[listen files]
bind = 127.0.0.1:0
%(files)s

[listen mail]
bind = 127.0.0.1:0
%(mail)s
"""
SERVERS = {"shop": ("web1", "web2", "web3", "web4"), "chat": ("room1", "room2", "room3"),
           "files": ("disk1", "disk2"), "mail": ("mx1", "mx2")}
ANSWER = bytes(20000)
BLOCK = bytes(1 << 18)
FILE_BLOCKS = 64


async def serve_shop(reader, writer):
    while await reader.read(1000):
        writer.write(ANSWER[:random.randrange(200, len(ANSWER))])
        await writer.drain()


async def serve_chat(reader, writer):
    while data := await reader.read(1000):
        writer.write(data)
        await writer.drain()


async def serve_files(reader, writer):
    while await reader.read(1000):
        for _ in range(FILE_BLOCKS):
            writer.write(BLOCK)
            await writer.drain()


SERVE = {"shop": serve_shop, "chat": serve_chat, "files": serve_files, "mail": serve_chat}


def quiet(serve):
    async def run(reader, writer):
        with contextlib.suppress(OSError):
            await serve(reader, writer)
        writer.close()
    return run


class Stage:
    """Runs until it is closed; `url` is that of the page."""

    def __init__(self, weir):
        self.folder = tempfile.TemporaryDirectory(prefix="weir-page-")
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.servers, self.ports = {}, {}
        lines = {backend: "\n".join(self.line(backend, name) for name in names)
                 for backend, names in SERVERS.items()}
        self.path = os.path.join(self.folder.name, "weir.ini")
        with open(self.path, "w", encoding="ascii") as f:
            f.write(CONFIG % dict(lines, folder=self.folder.name))
        self.log = os.path.join(self.folder.name, "log")
        with open(self.log, "wb") as log:
            self.daemon = subprocess.Popen([weir, "-f", self.path], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log)
        self.url = "http://127.0.0.1:%s/" % self.find(r"HTTP endpoint is at \S+:(\d+)")
        self.find("(ready:)")

    def do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(START_S)

    def read_log(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def find(self, pattern):
        """Waits for it in the log."""
        until = time.monotonic() + START_S
        while True:
            match = re.search(pattern, self.read_log())
            if match:
                return match.group(1)
            assert self.daemon.poll() is None and time.monotonic() < until, self.read_log()
            time.sleep(0.05)

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(self.folder.name, "admin.sock"))
            s.sendall(b"@weir %s\n" % command.encode())
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()

    # Servers.

    def line(self, backend, name):
        self.ports[name] = self.do(self.begin(backend, name))
        return "server %s = 127.0.0.1:%d check" % (name, self.ports[name])

    async def begin(self, backend, name, port=0):
        server = await asyncio.start_server(quiet(SERVE[backend]), "127.0.0.1", port)
        self.servers[name] = server
        return server.sockets[0].getsockname()[1]

    async def end(self, name):
        self.servers[name].close()

    # Clients.

    async def visit(self, port, request, pause_s, count):
        """One session after the other, each with so many requests."""
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                for _ in range(random.randrange(1, count + 1)):
                    writer.write(request)
                    await writer.drain()
                    await reader.read(1 << 16)
                    await asyncio.sleep(random.uniform(0, 2 * pause_s))
                writer.close()
            await asyncio.sleep(random.uniform(0, pause_s))

    async def fetch(self, port, pause_s):
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"x")
                for _ in range(FILE_BLOCKS):
                    await reader.readexactly(len(BLOCK))
                    await asyncio.sleep(random.uniform(0, pause_s))
                writer.close()

    async def begin_clients(self):
        ports = {name: int(self.find(r"listening on \S+:(\d+) \(frontend %s" % name)) for name in SERVERS}
        self.clients = [self.loop.create_task(task) for task in (
            *(self.visit(ports["shop"], b"GET" * 50, 0.05, 20) for _ in range(40)),
            *(self.visit(ports["chat"], b"hello" * 20, 0.3, 1000) for _ in range(60)),
            *(self.visit(ports["mail"], b"mail" * 200, 0.5, 5) for _ in range(8)),
            *(self.fetch(ports["files"], 0.1) for _ in range(6)))]

    async def end_clients(self):
        for task in self.clients:
            task.cancel()
        await asyncio.gather(*self.clients, return_exceptions=True)

    def play(self):
        """Clients come, and servers change."""
        self.do(self.begin_clients())
        for name in ("web2", "mx2"):
            self.do(self.end(name))
        self.find(r"(shop/web2 is DOWN)")
        self.do(self.begin("shop", "web2", self.ports["web2"]))
        self.ask("set server chat/room2 state drain")
        self.ask("set server files/disk2 state maint")
        self.find(r"(mail/mx2 is DOWN)")
        self.find(r"(shop/web2 is UP)")

    def mend(self):
        """Every server is up again."""
        self.do(self.begin("mail", "mx2", self.ports["mx2"]))
        for name in ("chat/room2", "files/disk2"):
            self.ask("set server %s state ready" % name)

    def break_config(self):
        """A reload is refused."""
        with open(self.path, "a", encoding="ascii") as f:
            f.write("nonsense\n")
        self.ask("reload")

    def close(self):
        if hasattr(self, "clients"):
            self.do(self.end_clients())
        for _ in range(2):  # the second one ends sessions at once
            self.daemon.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        try:
            self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        for name in self.servers:
            self.do(self.end(name))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
