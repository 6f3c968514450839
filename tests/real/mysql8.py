# SPDX-License-Identifier: MIT
"""A stub of MySQL 8, which Debian does not have: it replays packets of 8.0 and 8.4.

The greetings, the request for another way to authenticate, "fast" and the OK with a change of session state
are recorded as they are; errors have the recorded form, with the names of the test.
"""

import contextlib
import socket
import struct
import threading

from servers import ports
from writer import PATIENCE

# 8.0.42 and 8.4.11, both with caching_sha2_password.
GREETINGS = {
    "8.0": bytes.fromhex("4a0000000a382e302e343200330000005d2e754d7f1e420f00ffffff0200ffdf150000000000000000"
                         "0000566c16157b481844482f4c050063616368696e675f736861325f70617373776f726400"),
    "8.4": bytes.fromhex("4a0000000a382e342e3131000800000062215a764974044100ffffff0200ffdf150000000000000000"
                         "0000441e1b514b4e6e53084a5c270063616368696e675f736861325f70617373776f726400"),
}
# 8.0.42 asks for caching_sha2_password, with the same 20 bytes as in its greeting.
RECORDED_SWITCH = bytes.fromhex("2c000002fe63616368696e675f736861325f70617373776f7264005d2e754d7f1e420f566c16"
                                "157b481844482f4c0500")
RECORDED_DENIED = bytes.fromhex("4a000002ff15042332383030304163636573732064656e69656420666f72207573657220"
                                "27726f6f7427402731302e3233322e33312e382720287573696e672070617373776f72643a20"
                                "59455329")
RECORDED_TOO_MANY = b"\x17\0\0\0\xff\x10\x04Too many connections"
FAST = bytes.fromhex("020000020103")
OK = bytes.fromhex("00000002000000")
# 8.4 after a login that names a database.
OK_WITH_STATE = bytes.fromhex("00000002400000000701050447616f76")
QUIT = bytes.fromhex("0100000001")
ACCESS_DENIED, TOO_MANY, BLOCKED = 1045, 1040, 1129


def packet(number, body):
    return struct.pack("<I", len(body) | number << 24) + body


def error(number, code, text, state=""):
    """Before a login, the server does not know whether the client wants a state of five letters."""
    return packet(number, struct.pack("<BH", 0xff, code) + (f"#{state}{text}" if state else text).encode())


class MySql8:
    """`users`: how each may log in: "native" at once, "caching" after a request for another way, "fast" after
    that and a word that the password is known, "asks-native" after a request for mysql_native_password.
    Others are refused, as by a server: after the same request as a user who exists."""

    def __init__(self, version="8.4", **users):
        self.greeting = GREETINGS[version]
        self.salt = self.greeting[16:24] + self.greeting[43:55]
        self.users = users
        self.full = False              # max_connections
        self.max_connect_errors = 5    # 100, if nothing else is set
        self.errors = 0                # of clients that left before they had logged in
        self.refused = 0
        self.heard = []                # per connection: the packets of the client
        # None that the kernel gives to a client while the server is dead.
        (self.port,) = ports(1)
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        """The second time at the same port."""
        self.sock = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._run, args=(self.sock,), daemon=True).start()

    def _run(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        sock.settimeout(PATIENCE)
        heard = []
        with sock, sock.makefile("rb") as file, contextlib.suppress(OSError):
            if self._refuse(sock):
                return
            sock.sendall(self.greeting)
            if not self._log_in(sock, file, heard):
                self.errors += 1
            while take(file, heard):
                pass
            self.heard.append(heard)

    def _refuse(self, sock):
        """Instead of a greeting."""
        if self.full:
            sock.sendall(error(0, TOO_MANY, "Too many connections"))
        elif self.errors >= self.max_connect_errors:
            sock.sendall(error(0, BLOCKED, "Host '127.0.0.1' is blocked because of many connection errors; "
                               "unblock with 'mysqladmin flush-hosts'"))
        else:
            return False
        sock.shutdown(socket.SHUT_WR)
        self.refused += 1
        while sock.recv(4096):
            pass
        return True

    def _log_in(self, sock, file, heard):
        """False if the client leaves, or says what no client says."""
        login = take(file, heard)
        if not login or login[3] != 1:
            return False
        user = login[36:].partition(b"\0")[0].decode()
        way = self.users.get(user, "caching")
        number = 2
        if way != "native":
            sock.sendall(self.switch("mysql_native_password" if way == "asks-native" else
                                     "caching_sha2_password"))
            answer = take(file, heard)
            if answer != packet(3, b""):
                return False
            number = 4
        if user not in self.users:
            sock.sendall(error(number, ACCESS_DENIED, f"Access denied for user '{user}'@'127.0.0.1' "
                               "(using password: NO)", "28000"))
            sock.shutdown(socket.SHUT_WR)
            return True
        if way == "fast":
            sock.sendall(packet(number, FAST[4:]) + packet(number + 1, OK_WITH_STATE))
        else:
            sock.sendall(packet(number, OK))
        self.errors = 0
        return True

    def switch(self, way):
        return packet(2, b"\xfe" + way.encode() + b"\0" + self.salt + b"\0")

    def die(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def take(file, heard):
    """A packet of the client, whole; b"" at its end."""
    head = file.read(4)
    if len(head) < 4:
        return b""
    whole = head + file.read(struct.unpack("<I", head)[0] & 0xffffff)
    heard.append(whole)
    return whole
