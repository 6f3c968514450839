# SPDX-License-Identifier: MIT
"""inside.py - servers and clients for inside.sh, which runs in the container.

    python3 inside.py serve PORT    echoes each connection, for ever
    python3 inside.py ask PORT      exit 0 if a megabyte comes back unchanged within 20 s
    python3 inside.py hold PORT     one connection until SIGTERM; exit 0 if its bytes then come back unchanged
    python3 inside.py load PORT     four clients until SIGTERM; exit 0 if every connection was answered
"""

import os
import signal
import socket
import sys
import threading
import time


CLIENTS = 4


def echo(sock):
    with sock:
        data = b"".join(iter(lambda: sock.recv(1 << 16), b""))
        sock.sendall(data)


def serve(port):
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()


def exchange(sock, data):
    sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
    sender.start()
    back = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    sender.join()
    return back == data


def once(port, data, patience=5):
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as sock:
        return exchange(sock, data)


def ask(port):
    data, end = os.urandom(1 << 20), time.monotonic() + 20
    while True:
        try:
            if once(port, data):
                return
        except OSError:
            pass
        if time.monotonic() > end:
            sys.exit("no answer")
        time.sleep(0.05)


def hold(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall(b"before, ")
        signal.sigwait({signal.SIGTERM})
        sock.sendall(b"after")
        sock.shutdown(socket.SHUT_WR)
        if b"".join(iter(lambda: sock.recv(1 << 16), b"")) != b"before, after":
            sys.exit("the held connection has lost bytes")


def load(port):
    ended, counts, errors = threading.Event(), [0] * CLIENTS, []

    def client(i):
        while not ended.is_set() and not errors:
            try:
                if not once(port, os.urandom(1 << 14), 20):
                    errors.append(f"connection {counts[i]} of client {i} lost bytes")
                counts[i] += 1
                time.sleep(0.002)
            except OSError as e:
                errors.append(f"connection {counts[i]} of client {i}: {e}")

    clients = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in clients:
        thread.start()
    signal.sigwait({signal.SIGTERM})
    ended.set()
    for thread in clients:
        thread.join()
    if errors or min(counts) == 0:
        sys.exit(f"connections per client: {counts}; {errors[:1]}")


def main():
    if sys.argv[1] in ("hold", "load"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    {"serve": serve, "ask": ask, "hold": hold, "load": load}[sys.argv[1]](int(sys.argv[2]))


main()
