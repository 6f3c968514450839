# SPDX-License-Identifier: MIT
"""Sends one command to an admin socket, given its path."""

import socket
import struct

from harness.timing import PATIENCE


def listens(path):
    """Does somebody listen there? HAProxy's sockets have their names a moment before."""
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            return True
        except OSError:
            return False


def ask(path, command, patience=PATIENCE, voice="@weir "):
    """The whole response, in weir's own words, or in HAProxy's if `voice` is empty. Waits for room in the
    backlog, as a socket with a Python timeout would not."""
    with socket.socket(socket.AF_UNIX) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(patience), 0))
        s.connect(path)
        s.settimeout(patience)
        s.sendall(f"{voice}{command}\n".encode())
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()
