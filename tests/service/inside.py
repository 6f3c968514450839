# SPDX-License-Identifier: MIT
"""inside.py - a server and a client for inside.sh, which runs in the container.

    python3 inside.py serve PORT    echoes each connection, for ever
    python3 inside.py ask PORT      exit 0 if a megabyte comes back unchanged within 20 s
"""

import os
import socket
import sys
import threading
import time


def serve(port):
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        with listener.accept()[0] as sock:
            data = b"".join(iter(lambda s=sock: s.recv(1 << 16), b""))
            sock.sendall(data)


def once(port, data):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
            sender.start()
            back = b"".join(iter(lambda: sock.recv(1 << 16), b""))
            sender.join()
            return back == data
    except OSError:
        return False


def main():
    port = int(sys.argv[2])
    if sys.argv[1] == "serve":
        serve(port)
    data, end = os.urandom(1 << 20), time.monotonic() + 20
    while not once(port, data):
        if time.monotonic() > end:
            sys.exit("no answer")
        time.sleep(0.05)


main()
