# SPDX-License-Identifier: MIT
"""Danger: an operator looks at `status` or `top` on an ordinary terminal and cannot see what is down."""

import json
import re
import subprocess

import pytest

from harness.daemon import BINARY
from harness.manager import Manager
from harness.terminal import Terminal
from harness.timing import PATIENCE, wait_until

LONG = "production-europe-west-web-frontend"


@pytest.fixture
def terminal(closing):
    """terminal(columns, rows, verb, ...): closed at the end."""
    def start(columns, rows, *args):
        closing.append(Terminal(columns, rows, BINARY, *args))
        return closing[-1]
    return start


def rows_of(lines, title):
    """The lines of the list that begins with this title; none while it is out of sight."""
    begin = next((i for i, line in enumerate(lines) if line.startswith(title)), len(lines))
    rows = []
    for line in lines[begin + 1:]:
        if not line or line.startswith(("q quit", "filter: ")):
            break
        rows.append(line)
    return rows


def is_whole(line):
    """A row that is written, not only its beginning: it ends with an address. A page comes in several writes,
    and so does each screen of `top`, whose last line comes last."""
    return re.search(r":\d+$", line) is not None


@pytest.mark.parametrize("verb", ("status", "top"))
def test_80_columns_show_which_server_is_down(weir, peers, terminal, verb):
    listener = peers.listen()
    servers = "".join(f"server node-{n:02} = {listener.address}\n" for n in range(1, 8))
    daemon = weir(f"[listen {LONG}]\nbind = 127.0.0.1:0\n{servers}"
                  f"server node-08 = 255.255.255.255:65535 disabled\n"
                  "server node-09 = nowhere.invalid:80\n")
    lines = terminal(80, 24, verb, "-s", daemon.admin).wait(
        lambda lines: [is_whole(line) for line in lines if "node-0" in line][8:] == [True], "nine servers")
    assert max(map(len, lines)) <= 80
    rows = rows_of(lines, "SERVER")
    assert [row.split()[0][-7:] for row in rows[:3]] == ["node-09", "node-08", "node-01"]
    assert [row.split()[1] for row in rows[:3]] == ["down", "maint", "up"]
    assert rows[1].endswith(" 255.255.255.255:65535")
    assert rows[2].endswith(f" {listener.address}")
    assert rows_of(lines, "FRONTEND")[0].startswith("..")
    assert rows_of(lines, "FRONTEND")[0].endswith(f" {daemon.address(LONG)}")


def test_a_wide_terminal_cuts_nothing(weir, peers, terminal):
    listener = peers.listen()
    daemon = weir(f"[listen {LONG}]\nbind = 127.0.0.1:0\nserver node-01 = {listener.address}\n")
    lines = terminal(132, 24, "status", "-s", daemon.admin).wait(
        lambda lines: any("node-01" in line for line in lines), "the server")
    assert rows_of(lines, "SERVER")[0].startswith(f"{LONG}/node-01 ")
    assert " WGHT " in "\n".join(lines)


def test_several_addresses_of_a_frontend_are_counted(weir, peers, terminal):
    listener = peers.listen()
    daemon = weir("[listen l]\nbind a = 127.0.0.1:0\nbind b = 127.0.0.1:0\nbind c = 127.0.0.1:0\n"
                  f"server node-01 = {listener.address}\n")
    lines = terminal(80, 24, "status", "-s", daemon.admin).wait(
        lambda lines: any("node-01" in line for line in lines), "the server")
    assert rows_of(lines, "FRONTEND")[0].endswith(" +2")


def test_a_backend_without_a_server_is_named_at_the_top(weir, peers, terminal, closing):
    manager = Manager()
    closing.append(manager)
    listener = peers.listen()
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  f"server b = {listener.address}\n"
                  f"[listen db]\nbind = 127.0.0.1:0\nserver c = {listener.address} disabled\n"
                  f"[listen fine]\nbind = 127.0.0.1:0\nserver d = {listener.address}\n",
                  environment=manager.environment)
    daemon.expected_alarms = "backend (web|db) has no server left"
    manager.wait("STATUS", "no server up: db; 3 frontends, 3/4 servers usable, 0 sessions")
    top = terminal(80, 24, "top", "-s", daemon.admin)
    top.wait(lambda lines: lines[1] == "no server up: db", "db is down")
    for server in ("web/a", "web/b"):
        assert daemon.ask(f"disable server {server}").strip() == ""
    top.wait(lambda lines: lines[1] == "no server up: web, db", "both are down")
    page = json.loads(subprocess.run([BINARY, "status", "--json", "-s", daemon.admin], capture_output=True,
                                     check=True, timeout=PATIENCE).stdout)
    assert [(b["name"], b["state"]) for b in page["backends"]] == [
        ("web", "down"), ("db", "down"), ("fine", "up")]
    # The status is looked at when something else has woken control, every five seconds at most.
    wait_until(lambda: daemon.ask("show info") and any(
        m.get("STATUS", "").startswith("no server up: web, db; ") for m in manager.collect()),
        "the service manager hears it")
    for server in ("web/a", "web/b", "db/c"):
        assert daemon.ask(f"enable server {server}").strip() == ""
    top.wait(lambda lines: not any("no server up" in line for line in lines), "all are up")


def test_a_long_list_of_backends_without_a_server_is_cut(weir, peers, terminal):
    listener = peers.listen()
    daemon = weir("".join(f"[listen proxy-number-{n}]\nbind = 127.0.0.1:0\n"
                          f"server a = {listener.address} disabled\n" for n in range(12)))
    daemon.expected_alarms = "has no server left"
    lines = terminal(80, 60, "status", "-s", daemon.admin).wait(
        lambda lines: any(line.startswith("SERVER") for line in lines), "a page")
    assert lines[1] == ("no server up: proxy-number-0, proxy-number-1, proxy-number-2, 9 more")


def test_top_scrolls_and_sorts(weir, peers, terminal):
    listener = peers.listen()
    servers = "".join(f"server s{n:02} = {listener.address}\n" for n in range(60))
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nbalance = roundrobin\n{servers}")
    top = terminal(80, 24, "top", "-s", daemon.admin)
    wanted = "q quit  v view: all  s sort: down first  / filter  lines 1-19 of 65"
    lines = top.wait(lambda lines: lines[-1] == wanted, "the first lines")
    assert "web/s00" in "\n".join(lines)
    for keys, first, last in ((b"\x1b[B", 2, 20), (b"jj", 4, 22), (b"\x1b[6~", 22, 40), (b"\x1b[5~", 4, 22),
                              (b"k", 3, 21), (b"G", 47, 65), (b"\x1b[B", 47, 65), (b"g", 1, 19),
                              (b"\x1b[A", 1, 19), (b"\x1bOF", 47, 65)):
        top.press(keys)
        lines = top.wait(lambda lines, f=first, l=last: lines[-1].endswith(f"lines {f}-{l} of 65"),
                         f"{keys}: lines {first} to {last}")
        assert lines[0].startswith("weir ")
    assert "web/s59" in "\n".join(lines)
    pairs = [peers.pair(daemon.address("web"), listener) for _ in range(3)]
    assert daemon.ask("disable server web/s30").strip() == ""
    top.press(b"g")
    top.wait(lambda lines: "".join(rows_of(lines, "SERVER")[:1]).startswith("web/s30 "),
             "what is down stands first")
    words = ["connections", "new/s", "bytes/s", "name", "down first"]
    for word in words:
        top.press(b"s")
        lines = top.wait(lambda lines, w=word: f"sort: {w}" in lines[-1], f"sorted by {word}")
        names = [row.split()[0] for row in rows_of(lines, "SERVER")]
        if word == "connections":
            assert sorted(names[:3]) == ["web/s00", "web/s01", "web/s02"]
        if word == "name":
            assert names == sorted(names)
        if word == "down first":
            assert names[:2] == ["web/s30", "web/s00"]
    top.press(b"q")
    assert top.child.wait(PATIENCE) == 0
    del pairs


def keys_of(lines):
    """The line below the lists."""
    return ["", *filter(None, lines)][-1]


def test_top_filters(weir, peers, terminal):
    listener = peers.listen()
    servers = "".join(f"server s{n:02} = {listener.address}\n" for n in range(30))
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\n{servers}[listen db]\nbind = 127.0.0.1:0\n"
                  f"server main = {listener.address}\n")
    top = terminal(80, 24, "top", "-s", daemon.admin)
    top.wait(lambda lines: "web/s00" in "\n".join(lines), "the first server")
    top.press(b"/S2sq\x7f\x7f")
    lines = top.wait(lambda lines: keys_of(lines).startswith("filter: S2_ "), "the text of the filter")
    assert [row.split()[0] for row in rows_of(lines, "SERVER")] == [f"web/s{n}" for n in range(20, 30)]
    assert rows_of(lines, "FRONTEND") == []
    top.press(b"\n")
    top.wait(lambda lines: "/ filter: S2" in keys_of(lines), "the filter stays")
    top.press(b"/")
    top.wait(lambda lines: keys_of(lines).startswith("filter: S2_"), "it is typed again")
    top.press(b"\x1b")
    lines = top.wait(lambda lines: "/ filter  lines " in keys_of(lines), "no filter")
    assert len(rows_of(lines, "FRONTEND")) == 2
    top.press(b"q")
    assert top.child.wait(PATIENCE) == 0


def test_top_shows_trends_of_servers(weir, peers, terminal):
    listener = peers.listen()
    daemon = weir("[listen web]\nbind = 127.0.0.1:0\n"
                  f"server busy = {listener.address}\nserver idle = {listener.address} disabled\n")
    top = terminal(80, 24, "top", "-s", daemon.admin)
    top.press(b"v")
    top.wait(lambda lines: "v view: servers" in keys_of(lines), "the page of servers")
    lines = top.wait(lambda lines: any(line.startswith("lately ") for line in lines), "the trends")
    assert not any(line.startswith("FRONTEND") for line in lines)
    client, server = peers.pair(daemon.address("web"), listener)

    def seen(lines):
        client.send_some(1000)
        return "".join(rows_of(lines, "SERVER")[1:]).endswith(("#", "\u2588"))
    lines = top.wait(seen, "the bytes of a server")
    assert max(map(len, lines)) <= 80
    assert set(rows_of(lines, "SERVER")[0].split()[-1]) <= {"_", "\u2581"}
    top.press(b"q")
    assert top.child.wait(PATIENCE) == 0
    del server


def test_top_shows_sessions(weir, peers, terminal):
    listener = peers.listen()
    daemon = weir(f"[listen {LONG}]\nbind = 127.0.0.1:0\nserver main = {listener.address}\n")
    pairs = [peers.pair(daemon.address(LONG), listener) for _ in range(3)]
    top = terminal(80, 24, "top", "-s", daemon.admin)
    top.press(b"vvv")
    lines = top.wait(lambda lines: len(rows_of(lines, "SESSION")) == 3 and
                     "v view: sessions  s sort: oldest" in keys_of(lines), "three sessions")
    assert max(map(len, lines)) <= 80
    rows = [row.split() for row in rows_of(lines, "SESSION")]
    assert {row[1] for row in rows} == {"%s:%u" % client.sock.getsockname() for client, _ in pairs}
    assert {row[2][-5:] for row in rows} == {"/main"}
    pairs[1][0].send_some(5000)
    top.press(b"s")
    top.wait(lambda lines: rows_of(lines, "SESSION")[0].split()[-2] == "4.9k", "most bytes first")
    top.press(b"q")
    assert top.child.wait(PATIENCE) == 0


def test_top_shows_one_server(weir, peers, terminal):
    listener = peers.listen()
    servers = "".join(f"server s{n:02} = {listener.address}\n" for n in range(30))
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nbalance = roundrobin\n{servers}")
    assert daemon.ask("disable server web/s07").strip() == ""
    top = terminal(80, 24, "top", "-s", daemon.admin)
    top.wait(lambda lines: "".join(rows_of(lines, "SERVER")[:1]).startswith("web/s07 "), "what is down")
    top.press(b"\n")
    lines = top.wait(lambda lines: rows_of(lines, "CHANGES") and "n p next, previous" in keys_of(lines),
                     "one server")
    assert max(map(len, lines)) <= 80
    assert f"SERVER       web/s07  {listener.address}" in lines
    assert [line for line in lines if re.match(r"state +maint for 0m\d\ds: by uid \d+ over the admin", line)]
    assert re.match(r'\S+Z "UP" -> "MAINT": by uid ', rows_of(lines, "CHANGES")[0])
    top.wait(lambda lines: any(re.match("(new|bytes) +[_\u2581]+$", line) for line in lines), "trends")
    for keys, name in ((b"n", "s00"), (b"n", "s01"), (b"p", "s00"), (b"p", "s07")):
        top.press(keys)
        top.wait(lambda lines, n=name: any(line.startswith(f"SERVER       web/{n} ") for line in lines), name)
    top.press(b"/s29\n")
    top.wait(lambda lines: any(line.startswith("SERVER       web/s29 ") for line in lines), "by the filter")
    top.press(b"\x1b")
    top.wait(lambda lines: "v view: servers" in keys_of(lines), "the list")
    top.press(b"q")
    assert top.child.wait(PATIENCE) == 0
