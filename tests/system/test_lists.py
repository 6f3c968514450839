# SPDX-License-Identifier: MIT
"""Danger: a client of a list goes where others go, or a bad line takes a list out of effect."""

import os
import subprocess

import pytest

from harness.daemon import BINARY
from harness.hello import hello
from harness.timing import PATIENCE
from test_access_routes import backends, goes_to
from test_sniff import call, talk


class Lists:
    """Files of the test's folder."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="ascii") as f:
            f.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def lists(folder):
    return Lists(folder)


def run(*args):
    got = subprocess.run([BINARY, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=10 * PATIENCE, check=False)
    return got.returncode, got.stdout + got.stderr


def many_networks(count):
    return (f"{20 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24" for n in range(count))


@pytest.mark.smoke
def test_the_source_is_found_in_files_and_a_reload_takes_them(weir, peers, lists):
    vip, bulk, rest = peers.listen(), peers.listen(), peers.listen()
    lists.write("vip", ["# ours", "127.0.0.2 # one", "", "127.0.1.0/24"])
    lists.write("bulk", [*many_networks(100000), "127.0.0.3"])
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = rest\n"
                  f"use-backend vip = src=127.0.2.0/24,@{lists.path('vip')}\n"
                  f"use-backend bulk = src=@{lists.path('bulk')}\n"
                  + backends(vip=vip, bulk=bulk, rest=rest))
    where = daemon.address("f")
    for source, to in (("127.0.0.2", vip), ("127.0.1.9", vip), ("127.0.2.9", vip), ("127.0.0.3", bulk),
                       ("127.0.0.1", rest)):
        goes_to(peers, where, to, source)
    lists.write("vip", ["127.0.0.1"])
    goes_to(peers, where, rest, "127.0.0.1")
    code, shown = run("plan", "--pid", str(daemon.pid))
    assert code == 10 and f"@{lists.path('vip')} (1 networks, hash " in shown, shown
    assert len(shown) < 5000, "lines of files are not shown"
    daemon.reload(words=())
    goes_to(peers, where, vip, "127.0.0.1")
    goes_to(peers, where, rest, "127.0.0.2")
    goes_to(peers, where, bulk, "127.0.0.3")
    lists.write("vip", ["127.0.0.1", "127.0.0.1/33"])
    assert f"{lists.path('vip')}:2:1: error: '127.0.0.1/33' is not a valid network" in \
        daemon.reload(words=(), refused=True)
    goes_to(peers, where, vip, "127.0.0.1")
    # What was in effect comes back as it was read.
    assert "rolled back" in daemon.ask("rollback")
    goes_to(peers, where, vip, "127.0.0.2")
    goes_to(peers, where, rest, "127.0.0.1")


@pytest.mark.smoke
def test_the_name_is_found_in_a_file_and_a_reload_takes_it(weir, peers, lists):
    shop, rest = peers.listen(), peers.listen()
    lists.write("names", [*(f"shop{n}.example.com" for n in range(100000)), "*.example.net"])
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = rest\nsniff = tls timeout=1m\n"
                  f"use-backend shop = sni=@{lists.path('names')},one.example.org\n"
                  + backends(shop=shop, rest=rest))

    def asks(name, listener):
        client = call(peers, daemon)
        sent = hello(name)
        client.sendall(sent)
        client.sendall(b"more")
        talk(peers, client, listener, sent + b"more")
        client.close()

    for name, to in (("shop0.example.com", shop), ("SHOP99999.example.com", shop), ("a.b.example.net", shop),
                     ("one.example.org", shop), ("shop100000.example.com", rest), ("example.net", rest)):
        asks(name, to)
    lists.write("names", ["example.net"])
    daemon.reload(words=())
    asks("example.net", shop)
    asks("shop0.example.com", rest)
    lists.write("names", ["example.net", "a..b"])
    assert f"{lists.path('names')}:2:1: error: 'a..b' is not a valid server name" in \
        daemon.reload(words=(), refused=True)
    asks("example.net", shop)


def test_effective_configuration_names_files_and_not_their_lines(lists):
    lists.write("many", many_networks(100000))
    lists.write("names", ["a.example.com", "b.example.com"])
    ini = lists.path("t.ini")
    with open(ini, "w", encoding="ascii") as f:
        f.write("[stats]\nbind = 127.0.0.1:1\nallow-from = 127.0.0.1 @many\n"
                "[frontend f]\nbind = 127.0.0.1:2\nsniff = tls\nallow-from = @many ::1\ndeny-from = @many\n"
                "use-backend b = src=@many sni=@names,c.example.com\ndefault-backend = b\n"
                "[backend b]\nserver a = 127.0.0.1:3\n")
    code, shown = run("-T", ini)
    assert code == 0 and len(shown) < 20000, shown[:1000]
    many, names = lists.path("many"), lists.path("names")
    assert shown.count("; 100000 networks, hash ") == 4, shown
    line = next(line for line in shown.splitlines() if line.startswith("use-backend b"))
    assert line.startswith(f"use-backend b = src=@{many} sni=c.example.com,@{names}"), line
    assert "100000 networks, hash " in line and "; 2 names, hash " in line, line
    # It reads back to the same.
    with open(lists.path("again.ini"), "w", encoding="ascii") as f:
        f.write(shown)
    code, again = run("-T", lists.path("again.ini"))
    assert code == 0 and again.count("; 100000 networks, hash ") == 4, again
    assert [line.split("#")[0] for line in again.splitlines() if "@" in line] == \
        [line.split("#")[0] for line in shown.splitlines() if "@" in line]


def test_an_unchanged_list_of_a_million_takes_no_more_memory_with_each_reload(weir, peers, lists):
    rest = peers.listen()
    lists.write("many", (f"{1 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24" for n in range(1000000)))
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = rest\nmaxconn = 99\n"
                  f"use-backend one = src=@{lists.path('many')}\n" + backends(one=rest, rest=rest))

    def resident_mib():
        with open(f"/proc/{daemon.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

    # The texts of ten generations are kept for a rollback: each has the file's 13 MiB.
    daemon.reload("maxconn = 99\n", "maxconn = 100\n")
    before = resident_mib()
    for n in range(4):
        daemon.reload(f"maxconn = {100 + n}\n", f"maxconn = {101 + n}\n")
    assert resident_mib() - before < 4 * 20, "the list itself is not shared"
    goes_to(peers, daemon.address("f"), rest)
