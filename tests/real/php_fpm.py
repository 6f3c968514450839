# SPDX-License-Identifier: MIT
"""A pool of php-fpm, and a web server's side of FastCGI."""

import glob
import os
import socket
import struct

from harness.timing import wait_until
from servers import START, ports
from writer import PATIENCE

POOL = """\
[global]
error_log = {folder}/error.log
daemonize = no
[{name}]
listen = {listen}
pm = static
pm.max_children = 2
ping.path = /ping
ping.response = {name}
env[POOL] = {name}
clear_env = yes
catch_workers_output = yes
"""
SCRIPT = """\
<?php
$body = file_get_contents('php://input');
echo getenv('POOL'), ' ', strlen($body), ' ', hash('sha256', $body);
"""
RESPONDER = 1
BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
RECORD_MAX = 65528


class Pool:
    """At a Unix socket, or else at a port."""

    def __init__(self, servers, name, tcp=False):
        self.servers, self.name = servers, name
        self.folder = servers.make_folder(name)
        self.address = f"127.0.0.1:{ports(1)[0]}" if tcp else f"unix:{self.folder}/fpm.sock"
        self.config = servers.write(f"{name}/fpm.conf", POOL.format(
            folder=self.folder, name=name, listen=self.address.removeprefix("unix:")))
        self.script = servers.write(f"{name}/show.php", SCRIPT)
        # Its name has the version of PHP.
        self.program = glob.glob(servers.tree.path("usr/sbin/php-fpm*"))[0]
        self.start()

    def start(self):
        self.child = self.servers.start(self.name, self.program, "--nodaemonize", "--no-php-ini",
                                        "--fpm-config", self.config, "-p", self.folder,
                                        prefix=self.servers.prefix)
        wait_until(self.answers, lambda: f"{self.name} answers: {self.servers.log(self.name)}", START)

    def answers(self):
        assert self.child.poll() is None, f"{self.name} ended: {self.servers.log(self.name)}"
        try:
            return ask(self.address, "/ping") == self.name
        except (OSError, EOFError):
            return False

    def refuses(self):
        try:
            ask(self.address, "/ping")
        except ConnectionRefusedError:
            return True
        except (OSError, EOFError):
            pass    # a child still had the socket
        return False

    def crash(self):
        """Its socket stays, as it does when the machine loses power."""
        self.servers.kill(self.child)
        wait_until(self.refuses, f"{self.name} has left its socket")    # its children end a moment later
        assert not self.address.startswith("unix:") or os.path.exists(self.address[5:])


def pairs(**values):
    said = b""
    for name, value in values.items():
        name, value = name.encode(), value.encode()
        assert len(name) < 128
        size = bytes([len(value)]) if len(value) < 128 else struct.pack("!I", len(value) | 1 << 31)
        said += bytes([len(name)]) + size + name + value
    return said


def record(kind, data=b""):
    return struct.pack("!BBHHBB", 1, kind, 1, len(data), 0, 0) + data


def ask(address, script, body=b""):
    """What a script prints."""
    path = address.removeprefix("unix:")
    sock = socket.socket(socket.AF_UNIX if path != address else socket.AF_INET)
    with sock, sock.makefile("rb") as file:
        sock.settimeout(PATIENCE)
        sock.connect(path if path != address else (path.partition(":")[0], int(path.partition(":")[2])))
        params = pairs(SCRIPT_FILENAME=script, SCRIPT_NAME=script, REQUEST_METHOD="POST" if body else "GET",
                       CONTENT_LENGTH=str(len(body)), SERVER_PROTOCOL="HTTP/1.1",
                       CONTENT_TYPE="application/octet-stream")
        parts = [body[at:at + RECORD_MAX] for at in range(0, len(body), RECORD_MAX)]
        sock.sendall(record(BEGIN, struct.pack("!HB5x", RESPONDER, 0)) + record(PARAMS, params) +
                     record(PARAMS) + b"".join(record(STDIN, part) for part in parts) + record(STDIN))
        said = b""
        while True:
            head = file.read(8)
            if len(head) < 8:
                raise EOFError("closed")
            _, kind, _, size, padding, _ = struct.unpack("!BBHHBB", head)
            data = file.read(size + padding)[:size]
            if kind == STDOUT:
                said += data
            elif kind == END:
                return said.partition(b"\r\n\r\n")[2].decode()
