#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""demo.py - the show that conf/demo.sh puts on.

    python3 conf/demo.py BINARY [SECONDS]

Two servers, one sluice, 64 clients at once. Each connection has a key of its own, from which both ends
make the bytes that they send and that they expect: a byte that is lost, doubled, changed or brought to
the wrong connection is seen at once. In the middle one server leaves and comes back.
"""

import ctypes
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

CLIENTS = 64
BULK_UP = 6
BULK_DOWN = 6
BULK_BYTES = 48 << 20
EXCHANGES = 20     # requests of a small client before it connects anew
PIECE = 256 << 10
PERIOD = 65521     # a prime: bytes that moved by a block do not fit their place
PATIENCE = 20
HELLO = struct.Struct("!cQQ")  # what is wanted, key, bytes

CONFIG = """\
[global]
admin-socket = unix:{folder}/admin

[listen demo]
bind     = 127.0.0.1:0
server a = 127.0.0.1:{a}
server b = 127.0.0.1:{b}
"""


class Wrong(Exception):
    """A byte was not what it should be."""


# ---- keyed bytes -------------------------------------------------------------------------------

class Stream:
    """The bytes that belong to a key."""

    def __init__(self, key, room=PIECE):
        once = random.Random(key).randbytes(min(PERIOD, room))
        self.period = len(once)
        self.bytes = memoryview(once * (room // self.period + 2))

    def at(self, offset, length):
        start = offset % self.period
        return self.bytes[start:start + length]


def send_stream(sock, key, length):
    stream, sent = Stream(key, min(PIECE, length)), 0
    while sent < length:
        sent += sock.send(stream.at(sent, min(PIECE, length - sent)))


def receive_stream(sock, key, length, into):
    """Takes exactly `length` bytes and looks at each."""
    stream, got = Stream(key, min(PIECE, length)), 0
    while got < length:
        count = sock.recv_into(into, min(len(into), PIECE, length - got))
        if count == 0:
            raise Wrong(f"the end came after {got} of {length} bytes")
        if into[:count] != stream.at(got, count):
            raise Wrong(f"a wrong byte near {got} of {length}")
        got += count


def receive_exactly(sock, length):
    data = b""
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            if data:
                raise Wrong("the end came too early")
            return b""
        data += part
    return data


def expect_end(sock):
    if sock.recv(1):
        raise Wrong("bytes after the end")


# ---- a server, in a process of its own ------------------------------------------------------------

def serve(sock, counts):
    """One connection, until its client has finished."""
    with sock:
        into = memoryview(bytearray(PIECE))
        while True:
            hello = receive_exactly(sock, HELLO.size)
            if not hello:
                break
            what, key, length = HELLO.unpack(hello)
            if what == b"d":
                send_stream(sock, key, length)
            elif what == b"u":
                receive_stream(sock, key, length, into)
                expect_end(sock)
                sock.sendall(HELLO.pack(b"k", key, length))
                break
            else:
                receive_stream(sock, key, length, into)
                send_stream(sock, key + 1, length)
        counts[0] += 1


def deafen(listener):
    """No new connection comes in from now on, and none that came is hurt: a filter that drops all."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # "return 0"
    program = struct.pack("HL", 1, ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER


def server_main(port):
    """Serves until SIGTERM; then takes what waits, finishes it, and goes. Prints its port first,
    what it served and how many errors it saw last."""
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    leaving = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leaving.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    counts, threads, errors = [0], [], []

    def guarded(sock):
        try:
            serve(sock, counts)
        except (OSError, Wrong) as e:
            errors.append(str(e))

    print(listener.getsockname()[1], flush=True)
    deaf = False
    listener.settimeout(0.05)
    while True:
        if leaving.is_set() and not deaf:
            deafen(listener)
            listener.settimeout(0)
            deaf = True
        try:
            sock = listener.accept()[0]
        except (TimeoutError, BlockingIOError):
            if deaf:
                break
            continue
        sock.settimeout(PATIENCE)
        thread = threading.Thread(target=guarded, args=(sock,), daemon=True)
        thread.start()
        threads.append(thread)
    listener.close()
    for thread in threads:
        thread.join(PATIENCE)
    print(counts[0], len(errors), flush=True)
    for error in errors[:3]:
        print(f"server: {error}", file=sys.stderr)


class Server:
    """A server process; `port` stays the same when it comes back."""

    def __init__(self, name):
        self.name, self.port, self.served, self.errors = name, 0, 0, 0
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "--serve", str(self.port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline() or 0)

    def leave(self):
        self.child.send_signal(signal.SIGTERM)

    def wait_gone(self):
        words = self.child.communicate()[0].split()
        self.served += int(words[0]) if len(words) == 2 else 0
        self.errors += int(words[1]) if len(words) == 2 else 1


# ---- clients --------------------------------------------------------------------------------------

class Load:
    """64 threads, each a client after the other until the time is over."""

    def __init__(self, address):
        self.address = address
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.connections = self.transfers = self.exchanges = self.bytes = 0
        self.slowest = 0.0
        self.errors = []
        self.keys = iter(range(1, 1 << 40, 2))
        kinds = [self.up] * BULK_UP + [self.down] * BULK_DOWN
        kinds += [self.small] * (CLIENTS - len(kinds))
        self.threads = [threading.Thread(target=self.client, args=(k,), daemon=True) for k in kinds]

    def start(self):
        for thread in self.threads:
            thread.start()

    def finish(self):
        self.over.set()
        for thread in self.threads:
            thread.join(3 * PATIENCE)
            if thread.is_alive():
                self.errors.append("a client never came to its end")

    def client(self, kind):
        into = memoryview(bytearray(PIECE))
        while not self.over.is_set():
            with self.lock:
                key = next(self.keys)
            try:
                with socket.create_connection(self.address, timeout=PATIENCE) as sock:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    kind(sock, key, into)
                with self.lock:
                    self.connections += 1
            except (OSError, Wrong) as e:
                with self.lock:
                    self.errors.append(f"{kind.__name__}: {e}")

    def up(self, sock, key, into):
        sock.sendall(HELLO.pack(b"u", key, BULK_BYTES))
        send_stream(sock, key, BULK_BYTES)
        sock.shutdown(socket.SHUT_WR)
        if receive_exactly(sock, HELLO.size) != HELLO.pack(b"k", key, BULK_BYTES):
            raise Wrong("the server did not get what was sent")
        expect_end(sock)
        self.count(BULK_BYTES, transfers=1)

    def down(self, sock, key, into):
        sock.sendall(HELLO.pack(b"d", key, BULK_BYTES))
        receive_stream(sock, key, BULK_BYTES, into)
        sock.shutdown(socket.SHUT_WR)
        expect_end(sock)
        self.count(BULK_BYTES, transfers=1)

    def small(self, sock, key, into):
        for i in range(EXCHANGES):
            length = 64 + (key * 31 + i * 97) % 2000
            began = time.monotonic()
            sock.sendall(HELLO.pack(b"r", key + 2 * i, length) + Stream(key + 2 * i, length).at(0, length))
            receive_stream(sock, key + 2 * i + 1, length, into)
            self.count(2 * length, exchanges=1, took=time.monotonic() - began)
        sock.shutdown(socket.SHUT_WR)
        expect_end(sock)

    def count(self, length, transfers=0, exchanges=0, took=0.0):
        with self.lock:
            self.bytes += length
            self.transfers += transfers
            self.exchanges += exchanges
            self.slowest = max(self.slowest, took)


# ---- sluice ---------------------------------------------------------------------------------------

class Sluice:
    """The daemon as a child, its log and its admin socket."""

    def __init__(self, binary, folder, text):
        path = os.path.join(folder, "demo.ini")
        self.admin = os.path.join(folder, "admin")
        self.log = os.path.join(folder, "log")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([binary, "-f", path], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)
        self.address = self.wait_ready()

    def lines(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def wait_ready(self):
        end = time.monotonic() + PATIENCE
        while "ready:" not in self.lines():
            if self.child.poll() is not None or time.monotonic() > end:
                raise SystemExit("sluice did not start:\n" + self.lines())
            time.sleep(0.01)
        host, port = re.search(r"listening on (\S+):(\d+) \(frontend demo", self.lines()).groups()
        return host, int(port)

    def info(self):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(self.admin)
            sock.sendall(b"show info\n")
            text = b"".join(iter(lambda: sock.recv(65536), b"")).decode()
        return dict(re.findall(r"(?m)^\s*([\w-]+)\s*:\s*(.*?)\s*$", text))

    def settle(self):
        """Its counters once every session is over."""
        end = time.monotonic() + PATIENCE
        while (info := self.info()).get("sessions") != "0" and time.monotonic() < end:
            time.sleep(0.05)
        return info

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return None


# ---- the show -------------------------------------------------------------------------------------

def paint(code, text):
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\033[{code}m{text}\033[0m" if wanted else text


def say(text=""):
    print(text, flush=True)


def amount(n):
    return f"{n / (1 << 30):.2f} GiB" if n >= 1 << 30 else f"{n / (1 << 20):.1f} MiB"


def play(sluice, load, b, seconds):
    """The three acts. Says what happens when it happens."""
    began = time.monotonic()

    def moment(text):
        say(f"  {paint('2', f'{time.monotonic() - began:4.1f} s')}  {text}")

    def act(length):
        end = time.monotonic() + length
        while time.monotonic() < end and not load.errors:
            time.sleep(0.05)
        with load.lock:
            moment(f"{load.connections} connections done, {load.exchanges} requests answered, "
                   f"{amount(load.bytes)} looked at")

    load.start()
    moment(f"{CLIENTS} clients begin: {BULK_UP} send much, {BULK_DOWN} fetch much, "
           f"{CLIENTS - BULK_UP - BULK_DOWN} talk in small requests")
    act(seconds / 3)
    b.leave()
    moment(paint("33", "server b leaves: it finishes what it has and takes no more"))
    act(seconds / 3)
    b.wait_gone()
    b.start()
    moment(paint("32", "server b is back"))
    act(seconds / 3)
    load.finish()
    moment("the last clients have finished")


def tell(info, load, servers, code):
    """The summary; True when all is well."""
    def number(name):
        return int(info.get(name, "0").split()[0])

    through = number("bytes_to_server") + number("bytes_to_client")
    share = 100 * number("bytes_spliced") / through if through else 0
    wrong = load.errors + [f"server {s.name} saw {s.errors} errors" for s in servers if s.errors]
    if code != 0:
        wrong.append(f"sluice ended with {code}")
    if number("sessions"):
        wrong.append(f"sluice still had {number('sessions')} sessions")
    say()
    say(f"  connections       {load.connections}, of them " +
        ", ".join(f"{s.served} by {s.name}" for s in servers))
    say(f"  bytes             {amount(through)} through sluice, each one looked at on arrival")
    say(f"  moved by splice   {share:.1f} % of them never left the kernel")
    say(f"  requests          {load.exchanges}, the slowest answered in {load.slowest * 1000:.0f} ms")
    say(f"  second tries      {number('retries')}, at the other server while one was away")
    say(f"  client errors     {len(wrong)}")
    for line in wrong[:5]:
        say(paint("31", f"    {line}"))
    say()
    say(paint("31;1", "Something went wrong; see above.") if wrong else
        paint("32;1", "Not a byte lost. Your turn:  build/src/sluice forward :8080 10.0.0.1:80"))
    return not wrong


def main(argv):
    if len(argv) < 2:
        raise SystemExit(__doc__)
    if argv[1] == "--serve":
        server_main(int(argv[2]))
        return 0
    seconds = float(argv[2]) if len(argv) > 2 else 6.0
    servers = [Server("a"), Server("b")]
    sluice = None
    with tempfile.TemporaryDirectory(prefix="sluice-demo-") as folder:
        try:
            text = CONFIG.format(folder=folder, a=servers[0].port, b=servers[1].port)
            say(paint("1", "This is the whole configuration:"))
            say("\n" + re.sub(r"(?m)^(?=.)", "  ", text))
            sluice = Sluice(argv[1], folder, text)
            load = Load(sluice.address)
            say(f"sluice listens on {sluice.address[0]}:{sluice.address[1]}.")
            play(sluice, load, servers[1], seconds)
            info = sluice.settle()
            code = sluice.stop()
            for server in servers:
                server.leave()
                server.wait_gone()
            well = tell(info, load, servers, code)
            if not well and os.environ.get("SLUICE_DEMO_LOG"):
                say(sluice.lines())
        finally:
            if sluice and sluice.child.poll() is None:
                sluice.child.kill()
                sluice.child.wait()
            for server in servers:
                if server.child.poll() is None:
                    server.child.kill()
                    server.child.wait()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
