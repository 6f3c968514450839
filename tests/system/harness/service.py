# SPDX-License-Identifier: MIT
"""A server under health checks: a thread that serves one connection after another, following a script."""

import errno
import socket
import threading

from harness import address
from harness.timing import PATIENCE


class Service:
    """`talk(sock)` serves one connection; the end of each is recorded: "fin", "reset", "late".

    With a `farewell`, it sends these bytes last, which fails on a connection that has been reset.
    It can die at once, after which its reserved port refuses connections, and come back on the same port.
    """

    def __init__(self, talk=None, farewell=b""):
        self.talk = talk or (lambda sock: None)
        self.farewell = farewell
        self.ends = []
        self.failures = []
        self.sock = None
        self.thread = None
        self.holder, where = address.hold("tcp4")
        self.port = where.port
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(("127.0.0.1", self.port))
        self.sock.listen(1024)
        self.thread = threading.Thread(target=self._run, args=(self.sock,), daemon=True)
        self.thread.start()

    def _run(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            with sock:
                sock.settimeout(PATIENCE)
                self.ends.append(self._serve(sock))

    def _serve(self, sock):
        try:
            self.talk(sock)
            while sock.recv(65536):
                pass
            if self.farewell:
                sock.sendall(self.farewell)
            return "fin"
        except ConnectionError:
            return "reset"
        except socket.timeout:
            return "late"
        except Exception as e:  # pylint: disable=broad-except
            self.failures.append(repr(e))
            return "failed"

    def die(self):
        """Stops listening; open connections end by themselves."""
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        self.sock.close()
        self.sock = None

    def close(self):
        if self.sock:
            self.die()
        self.holder.close()
        assert not self.failures, self.failures


def echo(sock):
    """Echoes what arrives until the other side has ended."""
    while True:
        data = sock.recv(65536)
        if not data:
            return
        sock.sendall(data)


def http(answer, requests=None):
    """Answers one request; `answer` is bytes, a list of pieces, or a function that returns either."""
    def talk(sock):
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            part = sock.recv(4096)
            if not part:
                return
            request += part
        if requests is not None:
            requests.append(request)
        said = answer() if callable(answer) else answer
        for piece in [said] if isinstance(said, bytes) else said:
            sock.sendall(piece)
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError as e:
            if e.errno != errno.ENOTCONN:
                raise
            raise ConnectionResetError from e   # it has been reset already
    return talk
