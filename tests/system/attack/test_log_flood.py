# SPDX-License-Identifier: MIT
"""Danger: a stranger fills the log with one line per connection, or hides among them the lines that the
operator needs."""

import json
import math
import re
import time

import pytest

from harness import proxy
from harness.flood import Flood
from harness.timing import PATIENCE, SCALE, wait_until

LINES_PER_SECOND = 8  # for each frontend, cause and worker
WORKERS = 2
STRANGERS = 3000
SERVED = 30
LEFT_OUT = re.compile(r"(\d+) more lines? (?:was|were) left out: (?:denied )?clients ")

# Options of the bind line, of the section, a stranger's bytes, and the cause of the lines left out.
WAYS = {
    "denied": ("", "deny-from = 127.0.0.2", b"", "denied"),
    "not-allowed": ("", "allow-from = 127.0.0.1", b"", "denied"),
    "untrusted": ("accept-proxy", "trusted = 127.0.0.1", b"", "denied"),
    "denied-by-header": ("accept-proxy", "deny-from = 10.0.0.0/8",
                         b"PROXY TCP4 10.0.0.1 192.0.2.2 1111 2222\r\n", "denied"),
    "over-its-limit": ("", "maxconn-per-source = 2", b"", "source_limit"),
    "over-its-rate": ("", "rate-limit-per-source = 2/1h\nlimit-exempt = 127.0.0.1", b"", "source_rate"),
    "bad-header": ("accept-proxy", "", b"GET / HTTP/1.1\r\n\r\n", "handshake"),
    "bad-checksum": ("accept-proxy", "",
                     proxy.v2("tcp4", bytes(12), proxy.tlv(proxy.CRC32C, b"oops")), "handshake"),
}


def start(weir, peers, way, log="stderr level=info"):
    bind, lines, _, _ = WAYS[way]
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 {bind}\nserver a = {listener.address}\n{lines}\n",
                  f"threads = {WORKERS}\nlog = {log}")
    return daemon, listener, daemon.address("l")


def serve(peers, where, listener, way):
    """One connection by a server, from its beginning to its end."""
    client = peers.connect(where, hello=False)
    client.sock.sendall((b"PROXY UNKNOWN\r\n" if WAYS[way][0] else b"") + b"x")
    server = peers.keep(listener.accept())
    server.settimeout(PATIENCE)
    assert server.recv(1) == b"x"
    client.close()
    assert server.recv(1) == b""
    server.close()


def flood(daemon, peers, listener, way, meanwhile):
    """Strangers come while meanwhile() runs. The seconds that it took."""
    begin = time.monotonic()
    keep = 2 if way.startswith("over-its") else 0
    strangers = peers.keep(Flood(daemon.address("l"), WAYS[way][2], keep))
    kept = [peers.keep(listener.accept()) for _ in range(keep)]
    meanwhile()
    wait_until(lambda: daemon.info()["accepted"] > STRANGERS, "a flood", 60 * SCALE)
    strangers.close()
    for server in kept:
        server.close()
    return time.monotonic() - begin


def wait_all_told(daemon, listener, told, short=0):
    """Until told() is the number of clients, but for `short`. That number is asked for each time: a moment
    without a session is no end of the flood, whose last clients may still be in the accept queue."""
    listener.close()  # ends the sessions of clients that the server never accepted
    last = {}

    def all_told():
        last.update(daemon.info(), told=told())
        return last["sessions"] == 0 and last["accepted"] - short <= last["told"] <= last["accepted"]

    wait_until(all_told, lambda: "{accepted} accepted, {told} in the log, {sessions} sessions".format(**last))
    return last["accepted"]


@pytest.mark.parametrize("way", WAYS)
def test_strangers_have_a_few_lines_and_all_are_counted(weir, peers, way):
    daemon, listener, where = start(weir, peers, way)
    took = flood(daemon, peers, listener, way,
                 lambda: [serve(peers, where, listener, way) for _ in range(SERVED)])

    def told():
        return len(daemon.session_lines()) + sum(int(n) for n in LEFT_OUT.findall(daemon.log()))

    count = wait_all_told(daemon, listener, told)
    lines = daemon.session_lines()
    assert len([line for line in lines if line["reason"] == "normal"]) >= SERVED
    refused = len([line for line in lines if line["reason"] != "normal"])
    print(f"{way}: {count} accepted, {refused} lines of strangers in {took:.1f} s")
    # A second that has begun counts as a whole one: at the begin, at the end, and where the log comes late.
    assert refused <= LINES_PER_SECOND * WORKERS * (math.ceil(took) + 2)


def test_what_is_left_out_has_its_cause_in_json(weir, peers):
    for way in ("denied", "over-its-limit", "bad-header"):
        daemon, listener, _ = start(weir, peers, way, "stderr level=info format=json")
        flood(daemon, peers, listener, way, lambda: None)

        def records(daemon=daemon):
            return [json.loads(line) for line in daemon.log().splitlines() if line.startswith("{")]

        def told(cause=WAYS[way][3], records=records):
            return (sum(r["event"] == "session" for r in records()) +
                    sum(r["count"] for r in records() if r["event"] == "left_out" and r["cause"] == cause))

        # One that the end of the flood cut short may be of another cause.
        wait_all_told(daemon, listener, told, short=80)
        line = next(r for r in records() if r["event"] == "session" and r["reason"] != "normal")
        assert line["client"].startswith("127.0.0.2:") and line["ts_code"] == "PC", line
