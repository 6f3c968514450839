# SPDX-License-Identifier: MIT
"""Danger: two wildcards of one port, one for each family, take each other's clients, or a reload between them
and one wildcard for both loses a client, or cannot bind."""

import itertools
import socket
import threading

import pytest

from harness import process
from harness.pairs import effective, run_check
from harness.service import Service
from harness.timing import PATIENCE
from test_reload import free_port

HOSTS = ("127.0.0.1", "::1")
# What the binds of a port can be: for both families at once, and for each alone.
BOTH = (":{}", "[::]:{}")
PAIRS = ((":{}", "[::]:{}"), ("[::]:{}", "0.0.0.0:{}"), ("[::]:{} v6only", ":{}"))


def binds(port, *addresses):
    return "".join(f"bind = {address.format(port)}\n" for address in addresses)


@pytest.fixture
def back(weir, closing):    # pylint: disable=unused-argument
    service = Service()
    closing.append(service)
    return f"default-backend = app\n[backend app]\nserver a = {service.address}\n"


def knock(host, port):
    with socket.create_connection((host, port), timeout=PATIENCE) as s:
        s.sendall(b"\0" * 8)


@pytest.mark.smoke
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(x.format("P") for x in pair))
def test_each_half_takes_its_own_family(weir, back, pair):
    port = free_port()
    four, six = (pair.index(x) for x in sorted(pair, key=lambda x: "::" in x))
    names = ("one", "two")
    daemon = weir("".join(f"[frontend {name}]\n{binds(port, address)}{back.splitlines()[0]}\n"
                          for name, address in zip(names, pair)) + back[back.index("[backend"):])
    for host, name in zip(HOSTS, (names[four], names[six])):
        before = daemon.session_lines()
        knock(host, port)
        daemon.wait_session_line(count=len(before) + 1)
        line = daemon.session_lines()[-1]
        assert line["frontend"] == name and host in line["client"], line


@pytest.mark.parametrize("both", BOTH, ids=lambda x: x.format("P"))
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(x.format("P") for x in pair))
def test_a_reload_between_one_wildcard_and_two_loses_nobody(weir, back, both, pair):
    port = free_port()
    one, two = binds(port, both), binds(port, *pair)
    daemon = weir(f"[frontend web]\n{one}{back}")
    failures, stop = [], threading.Event()

    def knocking(host):
        while not stop.is_set():
            try:
                knock(host, port)
            except OSError as e:
                failures.append((host, e))
    knockers = [threading.Thread(target=knocking, args=(host,)) for host in HOSTS]
    for k in knockers:
        k.start()
    # At once, while the address of the reload before is still being left; and once it has been.
    for words in ((), ("--wait",)):
        daemon.reload(one, two, words=words)
        daemon.reload(two, one, words=words)
    stop.set()
    for k in knockers:
        k.join()
    assert not failures, failures[:3]
    daemon.reload()


@pytest.mark.parametrize("first", (True, False), ids=("fails before", "fails after"))
@pytest.mark.parametrize("to_pair", (True, False), ids=("to two", "to one"))
def test_a_reload_that_fails_leaves_the_listeners_as_they_were(weir, back, to_pair, first):
    port = free_port()
    before, after = binds(port, ":{}"), binds(port, ":{}", "[::]:{}")
    if not to_pair:
        before, after = after, before
    daemon = weir(f"[frontend web]\n{before}{back}")
    for host in HOSTS:
        knock(host, port)
    sockets = sorted(process.listening(daemon.pid))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bad = binds(taken.getsockname()[1], "127.0.0.1:{}")
        said = daemon.reload(before, bad + after if first else after + bad, refused=True)
        assert "not reloaded: " in said and bad.split()[-1] in said, said
        for _, host in itertools.product(range(50), HOSTS):
            knock(host, port)
        assert sorted(process.listening(daemon.pid)) == sockets
        daemon.rewrite(bad + after if first else after + bad, before)
    daemon.reload()


def test_what_is_effective_reads_back(folder):
    text = "[listen a]\nbind = :80\nbind = [::]:80\nserver s = 127.0.0.1:1\n"
    said = run_check(text, folder, "-c")
    assert said.stdout.splitlines()[1].split(" (")[0] == "  0.0.0.0:80", said
    section = effective(text, folder)[-1]
    assert section.lines[:2] == [("bind", "0.0.0.0:80"), ("bind", "[::]:80 v6only")]
    again = effective(section.text(), folder)[-1]
    assert again.lines == section.lines
