# SPDX-License-Identifier: MIT
"""Danger: a stop that resets clients whose handshake is in flight, or leaves one of them without an
answer. Clients are 100 ms away, so that many handshakes are under way at any moment."""

import errno
import selectors
import signal
import socket
import threading
import time

import pytest

from harness import slow_line
from harness.address import Address
from harness.timing import PATIENCE, SCALE

DELAY = 0.1
EVERY = 0.004     # a new client
BEFORE, AFTER = 0.5, 1.2  # how long clients come before the stop, and after it
QUESTION, ANSWER = b"q" * 100, b"a" * 5000


@pytest.fixture
def line():
    if slow_line.missing():
        pytest.skip(slow_line.missing())
    pair = slow_line.SlowLine(DELAY)
    yield pair
    pair.close()


class Answering:
    """A server that answers one question for each connection and closes."""

    def __init__(self, space):
        self.sock = space.socket(Address("tcp4", host="127.0.0.1"))
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(1000)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self._work, daemon=True).start()

    def _answer(self, conn):
        with conn:
            got = 0
            while got < len(QUESTION):
                data = conn.recv(1000)
                if not data:
                    return
                got += len(data)
            conn.sendall(ANSWER)

    def _work(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(conn,), daemon=True).start()

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Client:
    def __init__(self, sock, to):
        self.sock, self.began = sock, time.monotonic()
        self.end, self.got, self.connected = None, 0, False
        sock.setblocking(False)
        code = sock.connect_ex(to)
        assert code == errno.EINPROGRESS, errno.errorcode[code]

    @property
    def events(self):
        return selectors.EVENT_READ if self.connected else selectors.EVENT_WRITE

    def go_on(self):
        try:
            if not self.connected:
                code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code:
                    self.end = f"no connection: {errno.errorcode[code]}"
                    return
                self.connected = True
                self.sock.send(QUESTION)
                return
            data = self.sock.recv(65536)
            self.got += len(data)
            if not data:
                self.end = "answered" if self.got == len(ANSWER) else f"cut off after {self.got}"
        except OSError as e:
            self.end = f"{errno.errorcode[e.errno]} after {self.got}"


class Clients:
    def __init__(self, space, to):
        self.space, self.to = space, to
        self.all, self.selector = [], selectors.DefaultSelector()

    def begin(self):
        client = Client(self.space.socket(Address("tcp4", host="127.0.0.1")), self.to)
        self.all.append(client)
        self.selector.register(client.sock, client.events, client)

    def go_on(self, seconds):
        for key, _ in self.selector.select(max(0, seconds)):
            client = key.data
            client.go_on()
            self.selector.unregister(client.sock)
            if client.end:
                client.sock.close()
            else:
                self.selector.register(client.sock, client.events, client)

    def come(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.begin()
            until = time.monotonic() + EVERY
            while time.monotonic() < until:
                self.go_on(until - time.monotonic())

    def finish(self):
        end = time.monotonic() + PATIENCE
        while self.selector.get_map() and time.monotonic() < end:
            self.go_on(0.1)

    def close(self):
        for client in self.all:
            client.sock.close()
        self.selector.close()


@pytest.mark.parametrize("bind", (slow_line.NEAR, "0.0.0.0"))
def test_a_stop_resets_no_client_whose_handshake_is_in_flight(line, weir, closing, bind):
    server = Answering(line.near)
    closing.append(server)
    daemon = weir(f"[listen l]\nbind = {bind}:0\nserver a = 127.0.0.1:{server.port}\n",
                  "hard-stop-after = 30s", wrapper=line.near.wrapper)
    clients = Clients(line.far, (slow_line.NEAR, daemon.address("l").port))
    closing.append(clients)
    clients.come(BEFORE)
    stopped = time.monotonic()
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    clients.come(AFTER)
    clients.finish()
    assert daemon.wait_exit() == 0
    ends = {}
    for client in clients.all:
        ends.setdefault(client.end, []).append(round(client.began - stopped, 3))
    refused = ends.pop("no connection: ECONNREFUSED", [])
    answered = ends.pop("answered", [])
    assert not ends, ends
    # A SYN is on its way for DELAY, and the rest of the handshake for twice that.
    in_flight = [began for began in answered if began > -3 * DELAY]
    assert len(in_flight) > 5, f"hardly anybody was in flight: {in_flight}"
    assert len(refused) > 50, "nobody came too late"
