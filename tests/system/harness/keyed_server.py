# SPDX-License-Identifier: MIT
"""A server in its own process, so that it can be killed. It answers each client with its keyed stream.

    python3 -m harness.keyed_server FD NUMBER

Accepts on the descriptor FD. It first sends NUMBER to each client, as one byte. Then it verifies what it
receives and sends as many bytes of its own stream, until the client ends. A wrong byte ends the process.
"""

import os
import socket
import subprocess
import sys
import threading
import traceback

from harness.peer import Peer, read_preamble

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def serve(sock, number):
    peer = None
    try:
        sock.sendall(bytes([number]))
        conn = read_preamble(sock, may_be_silent=True)
        if conn is None:
            return
        peer = Peer(sock, "server", conn, "tcp4")
        while True:
            count = peer.recv_some(65536)
            if not count:
                return
            peer.send(count)
    except (ConnectionError, TimeoutError):
        pass  # the client left, as it may
    except AssertionError:
        if peer is not None and not peer.received:
            return  # the client left during its introduction
        traceback.print_exc()
        os._exit(3)
    finally:
        sock.close()


def main(fd, number):
    listener = socket.socket(fileno=fd)
    listener.setblocking(True)
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock, number), daemon=True).start()


class KeyedServer:
    """The process, and the address that it listens on. Only the process keeps the listener open."""

    def __init__(self, listener, number):
        self.number = number
        self.address = listener.address
        fd = listener.sock.fileno()
        self.child = subprocess.Popen([sys.executable, "-m", "harness.keyed_server", str(fd), str(number)],
                                      cwd=HERE, pass_fds=(fd,), stdin=subprocess.DEVNULL)
        listener.die()

    def kill(self):
        """Like `kill -9`; its sockets are closed when this returns."""
        self.child.kill()
        self.child.wait()

    def close(self):
        assert self.child.poll() in (None, -9), "a server received bytes that were not for it"
        self.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
