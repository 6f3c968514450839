# SPDX-License-Identifier: MIT
"""A flood: processes with many threads each, which connect from 127.0.0.2, send some bytes, wait for the end
of the connection and start again, as fast as they can."""

import subprocess
import sys

PROCESSES = 2
THREADS = 40
ADDRESS = "127.0.0.2"

_SCRIPT = """
import socket, sys, threading
words, keep, address, port, threads = bytes.fromhex(sys.argv[1]), *sys.argv[2:]
def connect():
    sock = socket.socket()
    try:
        sock.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        sock.bind((address, 0))
        sock.connect(("127.0.0.1", int(port)))
        sock.sendall(words)
    except OSError:
        sock.close()
        raise
    return sock
kept = [connect() for _ in range(int(keep))]
print("ready", flush=True)
def flood():
    while True:
        try:
            with connect() as sock:
                sock.recv(1)
        except OSError:
            pass
for _ in range(int(threads)):
    threading.Thread(target=flood, daemon=True).start()
sys.stdin.read()
"""


class Flood:
    """Starts at once. `keep`: number of connections that are opened first and stay open."""

    def __init__(self, where, words=b"", keep=0):
        self.children = []
        for n in range(PROCESSES):
            child = subprocess.Popen(
                [sys.executable, "-c", _SCRIPT, words.hex(), str(0 if n else keep), ADDRESS, str(where.port),
                 str(THREADS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.children.append(child)
            assert child.stdout.readline() == b"ready\n", "no flood"

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        self.children.clear()
