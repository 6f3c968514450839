# SPDX-License-Identifier: MIT
"""Danger: a check of MySQL, LDAP or SMTP blocks its own address, believes a server that cannot serve, or dies
of what a server sends. The answers are those of MariaDB 10.11, OpenLDAP 2.5 and Postfix's smtp-sink 3.7."""

import itertools
import socket
import threading

import pytest

from harness import address, checked
from harness.show_stat import NO_SERVER, stat
from harness.timing import PATIENCE, wait_until

CALM = "check-interval = 1s"  # the server ends its side before the next check


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        daemon = checked.lasting(weir(*args, **kw))
        daemon.expected_alarms = NO_SERVER
        return daemon

    return start


def packet(number, body):
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def login(user):
    return packet(1, b"\x01\x82\x08\0" + b"\0\0\0\0" + b"\x21" + b"\0" * 23 + user + b"\0\0"
                  b"mysql_native_password\0")


GREETING = packet(0, b"\n5.5.5-10.11.19-MariaDB-0+deb12u1\0\6\0\0\0saltsalt\0\xfe\xf7\x08\2\0\xff\x81\x15"
                  b"\0\0\0\0\0\0\x1d\0\0\0saltsaltsalt\0mysql_native_password\0")
DENIED = packet(2, b"\xff\x15\4#28000Access denied for user 'weir'@'10.77.0.1' (using password: NO)")
DENIED_SOCKET = packet(2, b"\xff\xa2\6#28000Access denied for user 'weir'@'lb.example.test'")
LET_IN = packet(2, b"\0\0\0\2\0\0\0")
BLOCKED = packet(0, b"\xff\x69\4Host '10.77.0.1' is blocked because of many connection errors; unblock with "
                 b"'mariadb-admin flush-hosts'")
OTHER_WAY = packet(2, b"\xfecaching_sha2_password\0" + b"s" * 20 + b"\0")
COM_QUIT = packet(0, b"\1")
BIND = bytes.fromhex("300c020101600702010304008000")
UNBIND = bytes.fromhex("30050201024200")
BOUND = bytes.fromhex("300c02010161070a010004000400")
UNBOUND = b"0%\2\1\1a \n\1\x30\4\0\4\x19anonymous bind disallowed"
SINK = b"220 smtp-sink ESMTP\r\n"
SINK_EHLO = b"250-smtp-sink\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-AUTH PLAIN LOGIN\r\n250 \r\n"


class Turns:
    """`talk` for a service: what to say after which bytes; byte by byte."""

    def __init__(self, *turns):
        self.turns = turns
        self.heard = []

    def __call__(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        heard = b""
        for question, answer in self.turns:
            want = len(heard) + len(question)
            while len(heard) < want:
                part = sock.recv(want - len(heard))
                if not part:
                    break
                heard += part
            for n in range(len(answer)):
                sock.sendall(answer[n:n + 1])
        while True:
            part = sock.recv(4096)
            if not part:
                break
            heard += part
        self.heard.append(heard)


NO_PASSWORD = packet(3, b"")
EHLO, HELO, QUIT = b"EHLO lb.example.com\r\n", b"HELO localhost\r\n", b"QUIT\r\n"


ROWS = [
    ("mysql", [(b"", GREETING), (login(b"weir"), DENIED)], "L7OK", "does not let 'weir' in", b""),
    ("mysql", [(b"", GREETING), (login(b"weir"), DENIED_SOCKET)], "L7OK", "does not let 'weir' in", b""),
    ("mysql", [(b"", GREETING), (login(b"weir"), LET_IN)], "L7OK", "", COM_QUIT),
    ("mysql user=joe", [(b"", GREETING), (login(b"joe"), LET_IN)], "L7OK", "", COM_QUIT),
    ("mysql user=joe", [(b"", GREETING), (login(b"joe"), DENIED_SOCKET)], "L7STS",
     r"1698: Access denied for user \x27weir\x27@\x27lb.example.test\x27", b""),
    ("mysql user=joe", [(b"", GREETING), (login(b"joe"), OTHER_WAY), (NO_PASSWORD, packet(4, LET_IN[4:]))],
     "L7OK", "", COM_QUIT),
    ("mysql", [(b"", BLOCKED)], "L7STS",
     r"1129: Host \x2710.77.0.1\x27 is blocked because of many connection errors; unb", b""),
    ("mysql", [(b"", SINK)], "L7RSP", "the answer is not that of a MySQL server", b""),
    ("ldap", [(BIND, BOUND)], "L7OK", "", UNBIND),
    ("ldap", [(BIND, UNBOUND)], "L7STS", "48 inappropriateAuthentication: anonymous bind disallowed", UNBIND),
    ("ldap", [(BIND, b"HTTP/1.1 400 Bad Request\r\n")], "L7RSP", "the answer is not that of an LDAP server",
     b""),
    ("smtp EHLO lb.example.com", [(b"", SINK), (EHLO, SINK_EHLO)], "L7OK", "", QUIT),
    ("smtp", [(b"", b"220-a\r\n220-b\r\n220 c\r\n"), (HELO, b"250 smtp-sink\r\n")], "L7OK", "", QUIT),
    ("smtp", [(b"", b"554-a\r\n554 5.7.1 not today\r\n")], "L7STS", "554 5.7.1 not today", QUIT),
    ("smtp", [(b"", SINK), (HELO, b"502 5.5.2 Error: command not recognized\r\n")], "L7STS",
     "502 5.5.2 Error: command not recognized", QUIT),
    ("smtp", [(b"", b"SSH-2.0-OpenSSH\r\n")], "L7RSP", "the answer is not that of an SMTP server", b""),
]


def test_answers_in_single_bytes_are_judged_and_the_check_leaves_politely(services, weir):
    talks = [Turns(*turns) for _, turns, _, _, _ in ROWS]
    servers = [services(talk) for talk in talks]
    daemon = weir("".join(f"[listen l{n}]\nbind = 127.0.0.1:0\nserver a = {a.address}\n"
                          f"check = {row[0]}\n{CALM}\n" for n, (a, row) in enumerate(zip(servers, ROWS))))
    for n, (check, turns, code, detail, bye) in enumerate(ROWS):
        wait_until(lambda n=n: servers[n].ends, f"a whole check of {check}")
        row = stat(daemon, "a", f"l{n}")
        assert (row["check_status"].removeprefix("* "), row["last_chk"]) == (code, detail)
        assert row["status"].startswith("UP" if code == "L7OK" else "DOWN"), row
        assert talks[n].heard[0] == b"".join(question for question, _ in turns) + bye
        assert servers[n].ends[0] == "fin"


# ---- hostile servers ----

class Hostile:
    """Each connection gets the answers with the next plan: cut at a byte, with that byte wrong, or from there
    on nothing more, and the connection kept. After the last plan, all answers are good."""

    def __init__(self, turns):
        self.turns = turns
        whole = sum(len(answer) for _, answer in turns)
        self.plans = itertools.product(("cut", "wrong", "slow"), range(whole))
        self.lock = threading.Lock()
        self.good = 0
        self.sock = None
        self.holder, where = address.hold("tcp4")
        self.address = f"127.0.0.1:{where.port}"
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(("127.0.0.1", where.port))
        self.sock.listen(1024)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        with self.lock:
            how, at = next(self.plans, (None, 0))
        sock.settimeout(PATIENCE)
        with sock:
            try:
                self._talk(sock, how, at)
            except OSError:
                pass  # it left first

    def _talk(self, sock, how, at):
        for question, answer in self.turns:
            heard = b""
            while len(heard) < len(question):
                part = sock.recv(len(question) - len(heard))
                if not part:
                    return
                heard += part
            if how and 0 <= at < len(answer):
                if how == "wrong":
                    answer = answer[:at] + bytes([answer[at] ^ 0xff]) + answer[at + 1:]
                else:
                    answer = answer[:at]
            sock.sendall(answer)
            if how == "cut" and len(answer) == at:
                return
            at -= len(answer)
            if how == "slow" and at <= 0:
                break
        if how is None:
            self.good += 1
        while sock.recv(4096):
            pass

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.holder.close()


@pytest.fixture
def hostile():
    running = []

    def start(*turns):
        running.append(Hostile(turns))
        return running[-1]

    yield start
    for one in running:
        one.close()


def test_no_byte_of_a_hostile_server_harms_the_checks(hostile, weir):
    """Some 700 connections in all, from many servers at a time; no more of them per second than the threads
    of this process can serve."""
    servers = {
        "mysql": hostile((b"", GREETING), (login(b"weir"), OTHER_WAY),
                         (NO_PASSWORD, packet(4, LET_IN[4:]))),
        "ldap": hostile((BIND, UNBOUND)),
        "smtp": hostile((b"", SINK), (HELO, b"250-a\r\n250 b\r\n")),
    }
    sections = ""
    for kind, server in servers.items():
        lines = "".join(f"server s{n} = {server.address}\n" for n in range(24))
        sections += (f"[listen {kind}]\nbind = 127.0.0.1:0\n{lines}check = {kind}\ncheck-interval = 300ms\n"
                     "check-timeout = 300ms\n")
    daemon = weir(sections)
    wait_until(lambda: all(s.good > 48 for s in servers.values()),
               lambda: {kind: s.good for kind, s in servers.items()}, 4 * PATIENCE)
    for kind, code in (("mysql", "L7OK"), ("ldap", "L7STS"), ("smtp", "L7OK")):
        wait_until(lambda k=kind, c=code: stat(daemon, "s0", k)["check_status"].endswith(c),
                   lambda k=kind: stat(daemon, "s0", k))
    assert daemon.terminate() == 0  # checks are under way
