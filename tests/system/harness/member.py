# SPDX-License-Identifier: MIT
"""Servers on several addresses of this machine and one port, as the records of one name have them. Each tells
its address to every client, then echoes."""

import socket
import threading

from harness.timing import PATIENCE

HOSTS = tuple(f"127.0.0.{n}" for n in range(11, 17))


class Members:
    """One server per host, all on one port, which is free on all of them."""

    def __init__(self, hosts=HOSTS):
        self.hosts = hosts
        self.listeners = self._listen()
        self.port = self.listeners[0].getsockname()[1]
        self.threads = [threading.Thread(target=self._accept, args=pair, daemon=True)
                        for pair in zip(self.listeners, hosts)]
        for thread in self.threads:
            thread.start()

    def _listen(self):
        for _ in range(100):
            found = [self._bind(self.hosts[0], 0)]
            try:
                for host in self.hosts[1:]:
                    found.append(self._bind(host, found[0].getsockname()[1]))
                return found
            except OSError:  # somebody has the port on that host
                for one in found:
                    one.close()
        raise AssertionError("no port is free on all hosts")

    @staticmethod
    def _bind(host, port):
        sock = socket.socket()
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(1024)
        except OSError:
            sock.close()
            raise
        return sock

    def _accept(self, listener, host):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock, host), daemon=True).start()

    @staticmethod
    def _serve(sock, host):
        with sock:
            sock.settimeout(4 * PATIENCE)
            try:
                sock.sendall(host.encode() + b"\n")
                while data := sock.recv(65536):
                    sock.sendall(data)
            except OSError:
                pass

    def close(self):
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in self.threads:
            thread.join(PATIENCE)


class Client:
    """A client of a set: it knows which member serves it."""

    def __init__(self, where):
        self.sock = socket.create_connection(where.sockaddr, timeout=PATIENCE)
        self.file = self.sock.makefile("rb")
        self.host = self.file.readline().decode().strip()

    def echoes(self, text=b"hello\n"):
        self.sock.sendall(text)
        return self.file.readline() == text

    def end(self):
        """True if the proxy ends the connection."""
        try:
            return self.file.readline() == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.file.close()
        self.sock.close()
