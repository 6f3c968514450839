# SPDX-License-Identifier: MIT
"""A DNS server that follows a script: what each name is, and how badly it answers. UDP and TCP, on a port
that the kernel gives."""

import random
import selectors
import socket
import struct
import threading
import time

A, CNAME, SOA, AAAA, SRV, OPT = 1, 5, 6, 28, 33, 41
TYPES = {A: "A", AAAA: "AAAA", SRV: "SRV"}
OK, SERVFAIL, NX, REFUSED = 0, 2, 3, 5
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")


def _moment(ancillary):
    """When the kernel got a datagram, as time.monotonic(): this thread may have its turn later."""
    now = time.monotonic()
    for _, kind, data in ancillary:
        if kind == _SO_TIMESTAMPNS:
            seconds, ns = _TIMESPEC.unpack(data[:_TIMESPEC.size])
            return now - (time.time() - seconds - ns / 1e9)
    return now


def encode_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def decode_name(message, at):
    labels = []
    while message[at]:
        labels.append(message[at + 1:at + 1 + message[at]].decode())
        at += 1 + message[at]
    return ".".join(labels).lower(), at + 1


def record(name, kind, ttl, data):
    return encode_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def address(name, ttl, text):
    if ":" in text:
        return record(name, AAAA, ttl, socket.inet_pton(socket.AF_INET6, text))
    return record(name, A, ttl, socket.inet_pton(socket.AF_INET, text))


def srv(name, ttl, target, port, weight=1, priority=0):
    return record(name, SRV, ttl, struct.pack("!HHH", priority, weight, port) + encode_name(target))


class Answer:
    """What a question gets. `records` are texts of addresses (of the asked type), or bytes from record()."""

    def __init__(self, records=(), code=OK, ttl=1, extra=(), **tricks):
        self.records, self.code, self.ttl, self.extra = records, code, ttl, extra
        self.tricks = tricks  # silent, delay, truncated, garbage, wrong_id, wrong_question, cut, cname

    def sections(self, name, kind):
        answers, owner = [], name
        if "cname" in self.tricks:
            owner = self.tricks["cname"]
            answers.append(record(name, CNAME, self.ttl, encode_name(owner)))
        for item in self.records:
            if isinstance(item, bytes):
                answers.append(item)
            elif (":" in item) == (kind == AAAA) and kind in (A, AAAA):
                answers.append(address(owner, self.ttl, item))
        return answers, [item if isinstance(item, bytes) else address(*item) for item in self.extra]


class NameServer:
    """`names` maps a name, or (name, type), to an Answer; what is not there does not exist."""

    def __init__(self, network=None, port=0, host="127.0.0.1"):
        self.names = {}
        self.questions = []  # (when it came, name, type, "udp" or "tcp")
        self.silent = False

        def make():
            for _ in range(50):
                tcp = socket.socket()
                tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tcp.bind((host, port))
                udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
                udp.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
                try:
                    udp.bind(tcp.getsockname())
                except OSError:
                    tcp.close()
                    udp.close()
                    continue
                tcp.listen(64)
                return udp, tcp
            raise AssertionError("no port is free for both UDP and TCP")
        self.udp, self.tcp = network.call(make) if network else make()
        self.address = "{}:{}".format(*self.tcp.getsockname())
        self.stop_ends = socket.socketpair()
        self.later = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def count(self, name=None, kind=None, how=None):
        return sum((name is None or q[1] == name) and (kind is None or q[2] == kind) and
                   (how is None or q[3] == how) for q in list(self.questions))

    def set(self, name, *records, **kw):
        """From the next question on. One assignment: a question sees the old answer or the new one."""
        self.names[name] = Answer(records, **kw)

    def close(self):
        self.stop_ends[0].send(b"x")
        self.thread.join()
        for s in (self.udp, self.tcp, *self.stop_ends):
            s.close()

    # The thread.

    def _answer_for(self, name, kind):
        for key in ((name, TYPES.get(kind)), name):
            if key in self.names:
                return self.names[key]
        return Answer(code=NX)

    def _reply(self, question, how, came):
        """The reply and the time until it is sent; None: silence."""
        name, end = decode_name(question, 12)
        kind = struct.unpack("!H", question[end:end + 2])[0]
        self.questions.append((came, name, TYPES.get(kind, kind), how))
        answer = self._answer_for(name, kind)
        tricks = answer.tricks
        if self.silent or tricks.get("silent"):
            return None, 0
        if tricks.get("garbage"):
            return question[:2] + random.randbytes(tricks["garbage"]), 0
        answers, extra = answer.sections(name, kind)
        flags = 0x8180 | answer.code
        if tricks.get("truncated") and how == "udp":
            flags, answers, extra = flags | 0x200, [], []
        asked = question[12:end + 4]
        if tricks.get("wrong_question"):
            asked = encode_name("x" + name) + question[end:end + 4]
        ident = bytes([question[0] ^ 1, question[1]]) if tricks.get("wrong_id") else question[:2]
        head = ident + struct.pack("!HHHHH", flags, 1, len(answers), 0, len(extra))
        message = head + asked + b"".join(answers) + b"".join(extra)
        if how == "udp" and len(message) > 1232:
            message = ident + struct.pack("!HHHHH", flags | 0x200, 1, 0, 0, 0) + asked
        return message[:tricks.get("cut")], tricks.get("delay", 0)

    def _send_later(self, at, send):
        self.later.append((at, send))

    def _udp(self):
        question, more, _, who = self.udp.recvmsg(4096, socket.CMSG_SPACE(_TIMESPEC.size))
        message, delay = self._reply(question, "udp", _moment(more))
        if message is not None:
            self._send_later(time.monotonic() + delay, lambda: self.udp.sendto(message, who))

    def _tcp_question(self, s, chooser):
        head = s.recv(2, socket.MSG_WAITALL)
        if len(head) < 2:
            chooser.unregister(s)
            s.close()
            return
        message, delay = self._reply(s.recv(struct.unpack("!H", head)[0], socket.MSG_WAITALL), "tcp",
                                     time.monotonic())
        if message is not None:
            self._send_later(time.monotonic() + delay,
                             lambda: s.sendall(struct.pack("!H", len(message)) + message))

    def _serve(self):
        chooser = selectors.DefaultSelector()
        for s in (self.udp, self.tcp, self.stop_ends[1]):
            chooser.register(s, selectors.EVENT_READ)
        clients = set()
        while True:
            wait = min((at for at, _ in self.later), default=None)
            wait = None if wait is None else max(0, wait - time.monotonic())
            for key, _ in chooser.select(wait):
                if key.fileobj is self.stop_ends[1]:
                    for s in clients:
                        s.close()
                    chooser.close()
                    return
                if key.fileobj is self.udp:
                    self._udp()
                elif key.fileobj is self.tcp:
                    client = self.tcp.accept()[0]
                    clients.add(client)
                    chooser.register(client, selectors.EVENT_READ)
                else:
                    self._tcp_question(key.fileobj, chooser)
            now = time.monotonic()
            due = [send for at, send in self.later if at <= now]
            self.later = [entry for entry in self.later if entry[0] > now]
            for send in due:
                try:
                    send()
                except OSError:
                    pass  # who asked has gone
