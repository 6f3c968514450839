# SPDX-License-Identifier: MIT
"""A server at many ports of one address: each connection gets what it sent, and the port where it came in."""

import random
import select
import socket
import threading

from harness.timing import PATIENCE


def free_run(count, hosts=("127.0.0.1", "127.0.0.2")):
    """The first of `count` ports in a row that nobody has at these addresses, and that the kernel gives to no
    client."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        lowest = int(f.read().split()[0])
    while True:
        first = random.randrange(max(1025, lowest - 22000), lowest - count)
        held = []
        try:
            for host in hosts:
                for port in range(first, first + count):
                    held.append(socket.socket())
                    held[-1].bind((host, port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()


class PortService:
    """Answers at each of `ports` of `host` with "PORT " and what came, once the client has ended."""

    def __init__(self, ports, host="127.0.0.2"):
        self.host = host
        self.poll = select.epoll()
        self.socks = {}
        self.count, self.lock = 0, threading.Lock()
        self.stop_read, self.stop_write = socket.socketpair()
        self.poll.register(self.stop_read, select.EPOLLIN)
        for port in ports:
            sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(64)
            self.socks[sock.fileno()] = sock
            self.poll.register(sock, select.EPOLLIN)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while True:
            for fd, _ in self.poll.poll():
                if fd == self.stop_read.fileno():
                    return
                listener = self.socks[fd]
                sock, _ = listener.accept()
                threading.Thread(target=self._serve, args=(sock, listener.getsockname()[1]),
                                 daemon=True).start()

    def _serve(self, sock, port):
        with sock:
            sock.settimeout(10 * PATIENCE)     # a test may hold a connection over several reloads
            try:
                data = b"".join(iter(lambda: sock.recv(65536), b""))
                with self.lock:
                    self.count += 1
                sock.sendall(b"%d " % port + data)
            except OSError:
                pass    # a client that was reset

    def close(self):
        self.stop_write.close()
        self.thread.join(PATIENCE)
        for sock in self.socks.values():
            sock.close()
        self.stop_read.close()
        self.poll.close()


def ask(where, data=b"", patience=PATIENCE):
    """What a client at this address gets back; b"" if it is closed or reset."""
    try:
        with socket.create_connection(where, timeout=patience) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: s.recv(65536), b""))
    except ConnectionError:
        return b""
