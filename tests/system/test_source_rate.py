# SPDX-License-Identifier: MIT
"""Danger: a source opens more connections than rate-limit-per-source allows, by spreading them over workers
or after a reload; one that keeps to it is refused, or pays for others; an exempt one is refused."""

import json
import pathlib
import re
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import proxy
from harness.daemon import BINARY
from harness.timing import PATIENCE, SCALE, wait_until

REASON = "rate-limit-per-source is reached"
ME, OTHER = "127.0.0.1", "127.0.0.2"
# Of another family than the sources of tests: a client that sends it is nobody else's.
HEADER = "PROXY TCP4 {} 192.0.2.99 1111 2222\r\n"


def echo(sock):
    sock.sendall(sock.recv(4))


def section(service, lines, bind="127.0.0.1:0"):
    return f"[listen l]\nbind = {bind}\nserver a = {service.address}\n{lines}\n"


def knock(where, source=ME, header=b"", maker=None):
    """One connection: "served", "reset", or "closed" without an answer."""
    with (maker(where) if maker else where.socket()) as sock:
        sock.settimeout(PATIENCE)
        if source:
            sock.bind((source, 0))
        try:
            sock.connect(where.sockaddr)
            sock.sendall(header + b"ping")
            return "served" if sock.recv(4) == b"ping" else "closed"
        except (ConnectionResetError, BrokenPipeError):
            return "reset"


def knocks(count, *args, daemon=None, **kw):
    """How many of them, one after the other, were served; all others were reset. With a `daemon`, each comes
    when those before it have ended."""
    ends = []
    for _ in range(count):
        if daemon:
            wait_until(lambda: daemon.info()["sessions"] == 0, "no session is left")
        ends.append(knock(*args, **kw))
    assert set(ends) <= {"served", "reset"}, ends
    return ends.count("served")


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_a_source_gets_its_burst_from_all_workers_together(services, weir, threads):
    daemon = weir(section(services(echo), "rate-limit-per-source = 10/1h burst=25"), f"threads = {threads}")
    where = daemon.address("l")
    with ThreadPoolExecutor(16) as pool:
        ends = list(pool.map(lambda n: knock(where, ME if n % 2 else OTHER), range(200)))
    assert set(ends) == {"served", "reset"}
    for mine in (0, 1):
        assert ends[mine::2].count("served") == 25
    info = daemon.info()
    assert (info["connects"], info["source_rate_limited"], info["denied"]) == (50, 150, 0)
    assert info["source_rate_missed"] == 0
    line = daemon.wait_session_line(reason_text=REASON)
    assert (line["ts_code"], line["reason"]) == ("PC", "source_rate"), line
    wait_until(lambda: daemon.info()["sessions"] == 0, "all sessions have ended")


def test_what_is_refused_makes_few_lines(services, weir):
    daemon = weir(section(services(echo), "rate-limit-per-source = 1/1h"), "threads = 1")
    where = daemon.address("l")
    begin = time.monotonic()
    assert knocks(200, where) == 1

    def lines():
        return len([line for line in daemon.session_lines() if line.get("reason_text") == REASON])

    def left_out():
        found = re.findall(r" (\d+) more lines? w\w+ left out: clients over rate-limit-per-source",
                           daemon.log())
        return sum(int(n) for n in found)
    wait_until(lambda: lines() + left_out() == 199, lambda: f"{lines()} lines, {left_out()} left out")
    assert 1 <= lines() <= 8 * (time.monotonic() - begin + 2)
    assert left_out() > 0
    # As admission.c does with every client that is refused by its own address: it never was a session.
    assert daemon.info()["connects"] == 1


@pytest.mark.smoke
def test_a_bucket_fills_up_again(services, weir):
    daemon = weir(section(services(echo), "rate-limit-per-source = 10/1s burst=5"), "threads = 2")
    where = daemon.address("l")

    def knock_for_two_seconds():
        """How many were served, in how many seconds, and the same before the first that was not."""
        served, begin, first = 0, time.monotonic(), None
        while time.monotonic() < begin + 2:
            if knock(where) == "served":
                served += 1
            elif first is None:
                first = served, time.monotonic() - begin
        return served, time.monotonic() - begin, first
    served, took, first = knock_for_two_seconds()
    # The daemon's clock is read once per turn, so the time between two of its turns is not exact.
    for count, seconds in filter(None, ((served, took), first)):
        assert count <= 5 + 10 * seconds + 1, f"{count} served in {seconds:.2f} s"
    if SCALE == 1:
        assert first is None or first[0] >= 5, first
        runs = [(served, took, first)]

        def are_enough():
            """Of all that came, or at the rate. A bucket that is full while a busy machine does not knock
            gets no more: then once more."""
            if runs[-1][2] is None or runs[-1][0] >= 10 * 2 * 0.7:
                return True
            runs.append(knock_for_two_seconds())
            return False
        wait_until(are_enough, lambda: f"too few were served: {runs}")
    # After a quiet time the whole burst may come at once, and no more.
    wait_until(lambda: "may open one" in explained(daemon), lambda: explained(daemon))
    time.sleep(0.6)
    assert 5 <= knocks(5, where)


def explained(daemon, client=ME):
    return daemon.ask(f"explain listener=l client={client}")


def test_who_may_not_come_in_takes_nothing(services, weir):
    daemon = weir(section(services(echo), f"rate-limit-per-source = 2/1h\ndeny-from = {OTHER}"))
    where = daemon.address("l")
    for _ in range(5):
        assert knock(where, OTHER) == "reset"
    info = daemon.info()
    assert (info["denied"], info["source_rate_limited"]) == (5, 0)
    text = daemon.config.replace(f"deny-from = {OTHER}\n", "")
    daemon.reload(daemon.config, text)
    # It has its whole burst.
    assert knocks(5, where, OTHER) == 2
    info = daemon.info()
    assert (info["denied"], info["source_rate_limited"]) == (5, 3)


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 3))
def test_exempt_sources_have_no_limit_of_their_own_and_all_others(services, weir, folder, threads):
    exempt = pathlib.Path(folder, "x.cidr")
    exempt.write_text("127.0.0.9 # the office\n127.0.1.0/24\n", encoding="utf-8")
    daemon = weir(section(services(echo), "rate-limit-per-source = 2/1h\nmaxconn-per-source = 1\n"
                          f"limit-exempt = {OTHER}, @{exempt}\ndeny-from = 127.0.1.7"),
                  f"threads = {threads}")
    where = daemon.address("l")
    assert knocks(6, where, daemon=daemon) == 2
    for source in (OTHER, "127.0.0.9", "127.0.1.1"):
        assert knocks(6, where, source) == 6
    assert knocks(3, where, "127.0.1.7") == 0
    info = daemon.info()
    assert (info["denied"], info["source_rate_limited"]) == (3, 4)
    # Nor does maxconn-per-source count it.
    with where.socket() as one, where.socket() as two:
        for sock in (one, two):
            sock.settimeout(PATIENCE)
            sock.bind((OTHER, 0))
            sock.connect(where.sockaddr)
        wait_until(lambda: daemon.info()["sessions"] == 2, "both are let in")
    assert daemon.info()["source_limited"] == 0
    assert "limit-exempt" in explained(daemon, OTHER)
    # Another file, another answer: and what was counted before counts.
    exempt.write_text(f"{ME}\n", encoding="utf-8")
    daemon.reload(words=("--wait",))
    assert knocks(3, where) == 3
    assert knocks(6, where, "127.0.0.9", daemon=daemon) == 2


def test_exempt_sources_still_wait_for_maxconn(services, weir):
    daemon = weir(section(services(echo), f"maxconn = 1\nmaxconn-per-source = 1\nlimit-exempt = {ME}"))
    where = daemon.address("l")
    with where.socket() as first, where.socket() as second:
        for sock in (first, second):
            sock.settimeout(PATIENCE)
            sock.connect(where.sockaddr)
            sock.sendall(b"ping")
        assert first.recv(4) == b"ping"
        assert daemon.info()["sessions"] == 1
        first.close()
        assert second.recv(4) == b"ping"


def test_one_ipv6_network_of_64_bits_is_one_source(network, services, weir, peers):
    network.add_ipv6("fd00:0:0:1::1", "fd00:0:0:1:ffff::2", "fd00:0:0:2::1", "fd00:0:0:3::1")
    listener = peers.listen("path")
    daemon = weir(f"[listen l]\nbind = [::1]:0\nserver a = {listener.address}\n"
                  "rate-limit-per-source = 2/1h\nlimit-exempt = fd00:0:0:3::/64\n", wrapper=network.wrapper)
    where = daemon.address("l")

    def seen():
        info = daemon.info()
        return info["connects"] + info["source_rate_limited"]

    def end(source):
        def make(to):
            sock = network.socket(to)
            sock.bind((source, 0))
            return sock
        before = seen()
        client = peers.connect(where, socket_maker=make)
        wait_until(lambda: seen() > before, "it was judged")
        if daemon.info()["source_rate_limited"] > end.refused:
            end.refused += 1
            return client.receive_to_end()
        server = peers.accept(listener)
        server.send(10)
        client.receive(10)
        client.close()
        server.close()
        return "served"
    end.refused = 0
    assert [end("fd00:0:0:1::1"), end("fd00:0:0:1:ffff::2")] == ["served"] * 2
    assert [end("fd00:0:0:1::1"), end("fd00:0:0:1:ffff::2")] == ["reset"] * 2
    assert end("fd00:0:0:2::1") == "served"
    assert [end("fd00:0:0:3::1") for _ in range(4)] == ["served"] * 4


def header_of(source):
    return HEADER.format(source).encode()


@pytest.mark.smoke
def test_behind_a_header_its_address_is_the_source(services, weir):
    daemon = weir(section(services(echo), f"trusted = {ME}\nrate-limit-per-source = 2/1h\n"
                          "limit-exempt = 198.51.100.0/24\ndeny-from = 203.0.113.0/24",
                          bind="127.0.0.1:0 accept-proxy"), "threads = 3")
    where = daemon.address("l")
    for last in range(1, 4):
        assert knocks(4, where, header=header_of(f"192.0.2.{last}")) == 2
    assert knocks(4, where, header=header_of("198.51.100.1")) == 4
    assert knocks(3, where, header=header_of("203.0.113.1")) == 0
    info = daemon.info()
    assert (info["denied"], info["source_rate_limited"]) == (3, 6)
    v6 = "PROXY TCP6 2001:db8::{} ::1 1 2\r\n"
    assert [knock(where, header=v6.format(n).encode()) for n in ("1", "2", "aaaa:0:0:1")] == \
        ["served", "served", "reset"]
    # A header without an address: the sender's own.
    local = proxy.SIGNATURE + b"\x20\x00" + struct.pack("!H", 0)
    assert knocks(4, where, header=local) == 2


def test_an_optional_header_and_none(services, weir):
    daemon = weir(section(services(echo), f"trusted = {OTHER}\nrate-limit-per-source = 2/1h",
                          bind="127.0.0.1:0 accept-proxy=optional"))
    where = daemon.address("l")
    assert knocks(4, where) == 2
    assert knocks(4, where, OTHER, header=header_of("192.0.2.1")) == 2
    assert knocks(4, where, OTHER, header=header_of(ME)) == 0
    assert knocks(4, where, OTHER, header=header_of("192.0.2.2")) == 2


def test_a_unix_client_is_no_source_but_its_header_is(services, weir, folder):
    daemon = weir(section(services(echo), "rate-limit-per-source = 2/1h",
                          bind=f"unix:{folder}/s accept-proxy") +
                  section(services(echo), "rate-limit-per-source = 1/1h",
                          bind=f"unix:{folder}/t").replace("listen l", "listen m"))
    assert knocks(5, daemon.address("m"), None) == 5
    assert daemon.info()["source_rate_limited"] == 0
    where = daemon.address("l")
    ends = [knock(where, None, header=header_of("192.0.2.1")) for _ in range(4)]
    assert ends[:2] == ["served"] * 2
    assert "served" not in ends[2:]
    assert daemon.info()["source_rate_limited"] == 2


def test_a_reload_keeps_what_was_counted(services, weir):
    other = "[listen other]\nbind = 127.0.0.1:0\nserver x = 127.0.0.1:1\n"
    daemon = weir(section(services(echo), "rate-limit-per-source = 3/1h"), "threads = 2")
    where = daemon.address("l")
    assert knocks(2, where) == 2
    daemon.reload(daemon.config, daemon.config + other)
    assert knocks(3, where) == 1
    daemon.reload(other, "")
    assert knocks(2, where) == 0
    # Without the limit nobody is refused, and with it the source still owes what it took.
    daemon.reload("rate-limit-per-source = 3/1h", "rate-limit-per-source = off")
    assert knocks(5, where) == 5
    daemon.reload("rate-limit-per-source = off", "rate-limit-per-source = 3/1h")
    assert knocks(2, where) == 0
    # A larger burst gives it the difference; a faster limit forgets what the slower one counted.
    daemon.reload("rate-limit-per-source = 3/1h", "rate-limit-per-source = 3/1h burst=5")
    assert knocks(4, where) == 2
    daemon.reload("rate-limit-per-source = 3/1h burst=5", "rate-limit-per-source = 100000/1s")
    assert knock(where) == "reset"
    wait_until(lambda: knock(where) == "served", "it may come in again")
    assert knocks(20, where) == 20


def test_what_is_explained_is_what_happens(services, weir):
    daemon = weir(section(services(echo), f"rate-limit-per-source = 2/1h\nlimit-exempt = {OTHER}"))
    where = daemon.address("l")
    for _ in range(2):
        assert "2 connections in 1h, burst 2: the source may open one" in explained(daemon)
        assert knock(where) == "served"
    steps = json.loads(daemon.ask(f"explain listener=l client={ME} json"))
    assert steps[-1]["outcome"] == "denied", steps
    assert "may open the next one after" in steps[-1]["text"]
    assert knock(where) == "reset"
    assert knock(where, OTHER) == "served"


def test_a_plan_shows_it_and_a_bad_one_changes_nothing(services, weir):
    daemon = weir(section(services(echo), "rate-limit-per-source = 2/1h"))
    where = daemon.address("l")
    assert knocks(3, where) == 2
    said = daemon.reload("rate-limit-per-source = 2/1h", "rate-limit-per-source = 2/0s", refused=True)
    assert "'0s' is no time" in said
    assert knock(where) == "reset"
    daemon.rewrite("rate-limit-per-source = 2/0s", "rate-limit-per-source = 2/1h burst=3")
    plan = subprocess.run([BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    assert "rate-limit-per-source: 2/1h -> 2/1h burst=3" in plan.stdout, plan
    daemon.reload()
    assert knocks(3, where) == 1


def test_a_refused_client_is_reset_at_once(services, weir):
    daemon = weir(section(services(echo), "rate-limit-per-source = 1/1h"))
    where = daemon.address("l")
    assert knock(where) == "served"
    with where.socket() as sock:
        sock.settimeout(PATIENCE)
        with pytest.raises(ConnectionResetError):   # at once may be before connect() returns
            sock.connect(where.sockaddr)
            sock.recv(1)
