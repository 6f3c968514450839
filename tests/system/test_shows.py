# SPDX-License-Identifier: MIT
"""Danger: a tool for HAProxy reads a wrong value or none, an administrator ends a wrong session or none, or
clearing counters makes a total fall that is watched elsewhere."""

import csv
import json
import os
import re
import socket
import time

import pytest

from harness.timing import PATIENCE, wait_until
from test_admin import HAPROXY, ask_haproxy, ctl, two_servers  # pylint: disable=unused-import

SESSION = re.compile(r"^(0x[0-9a-f]+): proto=(\S+) src=(\S+) fe=(\S+) be=(\S+) srv=(\S+) age=(\S+) id=(\S+) ")


def ask(daemon, command):
    """In HAProxy's words."""
    return daemon.ask(command, voice="")


def lines(text):
    return [line for line in text.splitlines() if line]


def sessions(daemon, command="show sess"):
    return [SESSION.match(line).groups() for line in lines(ask(daemon, command))]


def stat(daemon, proxy, name, voice=""):
    rows = csv.DictReader(daemon.ask("show stat", voice=voice).lstrip("# ").splitlines())
    return next(row for row in rows if (row["pxname"], row["svname"]) == (proxy, name))


# Sessions.

def has_ended(peer):
    """By FIN or reset."""
    peer.sock.settimeout(PATIENCE)
    try:
        return peer.sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 2))
def test_one_session_is_ended_and_no_other(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", f"threads = {threads}")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(6)]
    found = {source: (key, number) for key, _, source, *_, number in sessions(daemon)}
    assert len(found) == 6
    for how, (client, server) in enumerate(pairs[:2]):
        host, port = client.sock.getsockname()
        assert ask(daemon, f"shutdown session {found[f'{host}:{port}'][how]}").strip() == ""
        assert has_ended(client) and has_ended(server)
    wait_until(lambda: len(sessions(daemon)) == 4, "four are left")
    for client, server in pairs[2:]:
        client.send(1000)
        server.receive(1000)
    daemon.wait_session_line(count=2, reason="killed")
    gone = found[":".join(map(str, pairs[0][0].sock.getsockname()))][0]
    assert ask(daemon, f"shutdown session {gone}").rstrip() == "No such session (use 'show sess')."
    assert ask(daemon, "shutdown session").rstrip() == "Session pointer expected (use 'show sess')."
    assert ask(daemon, "shutdown session x").rstrip() == "Session pointer expected (use 'show sess')."
    assert ask(daemon, f"show sess {gone}").rstrip() == "Session not found."
    got = ctl(daemon, "shutdown", "session", gone)
    assert (got.returncode, got.stderr) == (1, "error: no session has this id (see 'show sess')\n")


def test_sessions_are_shown_as_haproxys(weir, peers, folder):
    listener = peers.listen()
    path = os.path.join(folder, "in.sock")
    daemon = weir(f"[frontend f]\nbind = 127.0.0.1:0\nbind = unix:{path}\ndefault-backend = b\n"
                  f"[backend b]\nserver a = {listener.address}\n")
    client, _ = peers.pair(daemon.address("f"), listener)
    host, port = client.sock.getsockname()
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(path)
        wait_until(lambda: len(sessions(daemon)) == 2, "two sessions")
        tcp, unix = sorted(sessions(daemon), key=lambda s: s[1])
        assert tcp[1:6] == ("tcpv4", f"{host}:{port}", "f", "b", "a")
        assert unix[1] == "unix_stream" and re.fullmatch(r"unix:\d+", unix[2])
        assert unix[3:6] == ("f", "b", "a")
        for command in (f"show sess {tcp[0]}", "show sess all"):
            assert f"{tcp[0]}: [" in ask(daemon, command)
            assert f" proto=tcpv4 source={host}:{port}\n" in ask(daemon, command)
        assert f"{unix[0]}: [" not in ask(daemon, f"show sess {tcp[0]}")
        # Its descriptors are those of the process.
        shown = {int(m[1]) for m in re.finditer(r"^ *(\d+) :", ask(daemon, "show fd"), re.M)}
        assert len(shown) == 2 + 2 * 2
        for fd in shown:
            assert os.readlink(f"/proc/{daemon.pid}/fd/{fd}").startswith("socket:")
            assert len(lines(ask(daemon, f"show fd {fd}"))) == 1


def test_old_sessions_are_shown_alone(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    peers.pair(daemon.address("l"), listener)
    wait_until(lambda: "0x" in ask(daemon, "show sess older 1"), "it is a second old")
    begin = time.monotonic()
    client, _ = peers.pair(daemon.address("l"), listener)
    young = next(s for s in sessions(daemon) if s[2].endswith(f":{client.sock.getsockname()[1]}"))
    for age in ("1", "1s", "1000ms", "500ms"):  # rounded up
        assert f"{young[0]}:" not in ask(daemon, f"show sess older {age}") or time.monotonic() - begin >= 1
    assert lines(ask(daemon, "show sess older 1h")) == []
    assert f"{young[0]}: [" in ask(daemon, "show sess older 0")
    assert ask(daemon, "show sess older").strip() == "Expects a minimum age (in seconds by default)."
    assert ask(daemon, "show sess older x").strip() == "Invalid age."
    assert "Unsupported option 'bogus', try 'help' for more info." in ask(daemon, "show sess bogus")
    # A line each in our words.
    assert [SESSION.match(line) is not None for line in lines(daemon.ask("show sess older 0"))] == [True] * 2


# Typed and JSON.

def typed(text):
    """{name of a row: {field: (position, tags, type)}}; `show info` has one row."""
    found = {}
    for line in lines(text):
        place, tags, kind, value = line.split(":", 3)
        parts = re.fullmatch(r"(?:(\w)\.(\d+)\.(\d+)\.)?(\d+)\.(.+)\.(\d+)", place)
        *row, position, name, process = parts.groups()
        assert process == "1"
        assert kind == "str" or re.fullmatch(r"-?\d+", value), line
        found.setdefault(tuple(row), {})[name] = (int(position), tags, kind)
    return found


def fields(text):
    """The same of the JSON form."""
    letters = {"Metric": "M", "Status": "S", "Key": "K", "Config": "C", "Product": "P", "Gauge": "G",
               "Limit": "L", "Max": "M", "Rate": "R", "Counter": "C", "Duration": "D", "Age": "A",
               "Name": "N", "Output": "O", "Avg": "a", "Process": "P", "Service": "S"}
    found = {}
    rows = json.loads(text)
    for field in (f for row in rows for f in (row if isinstance(row, list) else [row])):
        tags = "".join(letters[field["tags"][key]] for key in ("origin", "nature", "scope"))
        row = (field["objType"][0], str(field["proxyId"]), str(field["id"])) if "objType" in field else \
            (None, None, None)
        assert isinstance(field["value"]["value"], str) == (field["value"]["type"] == "str"), field
        found.setdefault(row, {})[field["field"]["name"]] = (field["field"]["pos"], tags,
                                                             field["value"]["type"])
    return found


@pytest.mark.skipif(HAPROXY is None, reason="no haproxy to compare with")
@pytest.mark.parametrize("what", ("info", "stat"))
def test_fields_have_haproxys_positions_tags_and_types(weir, peers, ask_haproxy, what):  # noqa: F811
    _, _, text = two_servers(peers, " backup")
    daemon = weir(text)
    ours, theirs = (typed(a(f"show {what} typed")) for a in (lambda c: ask(daemon, c), ask_haproxy))
    assert fields(ask(daemon, f"show {what} json")) == ours
    assert fields(ask_haproxy(f"show {what} json")) == theirs
    compared = 0
    for kind in {row[0] for row in theirs}:
        us = {k: v for row, f in ours.items() if row[0] == kind for k, v in f.items()}
        them = {k: v for row, f in theirs.items() if row[0] == kind for k, v in f.items()}
        for name in set(us) & set(them):
            assert us[name] == them[name], (kind, name)
            compared += 1
    assert compared > (60 if what == "info" else 100)
    if what == "info":
        assert set(theirs[None, None, None]) <= set(ours[None, None, None])


def test_our_words_have_our_json(weir, peers):
    _, _, text = two_servers(peers)
    daemon = weir(text)
    assert json.loads(daemon.ask("show info json"))["pid"] == daemon.pid
    assert json.loads(daemon.ask("show stat json"))[0]["svname"] == "FRONTEND"
    assert json.loads(ctl(daemon, "--json", "show", "info").stdout)["pid"] == daemon.pid
    got = ctl(daemon, "show", "info", "bogus")
    assert got.returncode == 1 and "usage: 'show info [typed|json]'" in got.stderr


def test_a_selection_hides_servers(weir, peers):
    del peers
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\nserver b = 127.0.0.1:1 disabled\n")

    def shown(words):
        return {row["svname"]: row["status"]
                for row in csv.DictReader(ask(daemon, f"show stat {words}").lstrip("# ").splitlines())}
    assert set(shown("")) == {"FRONTEND", "a", "b", "BACKEND"}
    for words in ("up", "no-maint", "l -1 -1 no-maint", "no-maint up"):
        assert set(shown(words)) == {"FRONTEND", "a", "BACKEND"}, words
        assert shown(words)["BACKEND"] == "UP (1/2)"
    assert shown("")["BACKEND"] == "UP"


# Rates and activity.

@pytest.mark.smoke
def test_rates_and_idle_time_are_in_info(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", "threads = 2")
    for _ in range(20):
        peers.pair(daemon.address("l"), listener)
    info = daemon.info()
    assert info["ConnRate"] == info["SessRate"] and 1 <= info["ConnRate"] <= 20
    assert info["MaxConnRate"] >= info["ConnRate"] and info["CumConns"] == 20
    wait_until(lambda: daemon.info()["ConnRate"] == 0, "nobody comes")
    assert 1 <= daemon.info()["MaxConnRate"] <= 20
    wait_until(lambda: daemon.info()["Idle_pct"] >= 50, lambda: f"it is idle: {daemon.info()['Idle_pct']}")
    assert daemon.info()["Idle_pct"] <= 100
    activity = dict(line.split(": ", 1) for line in lines(ask(daemon, "show activity")))
    assert activity["thread_id"] == "1 (1..2)"
    total, one, other = map(int, re.fullmatch(r"(\d+) \[ (\d+) (\d+) \]", activity["accepted"]).groups())
    assert total == one + other == 20
    assert f"\naccepted: {total}\n" in ask(daemon, "show activity 0")
    assert f"\naccepted: {other}\n" in ask(daemon, "show activity 2")
    assert ask(daemon, "show activity 3").strip() == "Thread ID number must be between -1 and nbthread"


# Clearing.

@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 3))
def test_what_is_cleared_begins_anew_for_haproxys_tools_alone(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"threads = {threads}")
    for _ in range(6):
        client, server = peers.pair(daemon.address("l"), listener)
        client.send(1000)
        server.receive(1000)
    before = {name: stat(daemon, "l", name, "@weir ") for name in ("FRONTEND", "a", "BACKEND")}
    moved = int(before["a"]["bin"])
    assert moved >= 6000  # a client says who it is, too
    info = daemon.info()

    assert ask(daemon, "clear counters").strip() == ""
    for name, row in before.items():
        now = stat(daemon, "l", name)
        assert (now["stot"], now["bin"]) == (row["stot"], row["bin"]), name
        assert now["smax"] == "6", name  # as many are open
    assert ask(daemon, "clear counters all").strip() == ""
    for name in before:
        now = stat(daemon, "l", name)
        assert (now["stot"], now["bin"], now["bout"], now["scur"]) == ("0", "0", "0", "6"), name
    assert stat(daemon, "l", "a")["lbtot"] == stat(daemon, "l", "BACKEND")["connect"] == "0"
    assert stat(daemon, "l", "a")["lastsess"] == "-1"

    # Open sessions go on counting from here, and new ones are counted.
    client.send(500)
    server.receive(500)
    wait_until(lambda: stat(daemon, "l", "a")["bin"] == "500", "what moves is counted")
    peers.pair(daemon.address("l"), listener)
    for name in before:
        assert stat(daemon, "l", name)["stot"] == "1", name
    assert stat(daemon, "l", "a")["lastsess"] != "-1"

    # Nothing of ours has fallen.
    for name, row in before.items():
        now = stat(daemon, "l", name, "@weir ")
        assert int(now["stot"]) == int(row["stot"]) + 1 and int(now["bin"]) >= moved + 500
        assert int(now["smax"]) >= int(row["smax"]) and int(now["rate_max"]) >= int(row["rate_max"])
    after = daemon.info()
    assert after["accepted"] == info["accepted"] + 1 and after["bytes_to_server"] >= info["bytes_to_server"]


def test_maxima_begin_anew(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", "threads = 2")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(8)]
    for client, server in pairs:
        client.fin()
        server.fin()
    wait_until(lambda: stat(daemon, "l", "FRONTEND")["scur"] == "0", "all have left")
    assert stat(daemon, "l", "FRONTEND")["smax"] == stat(daemon, "l", "a")["smax"] == "8"
    wait_until(lambda: stat(daemon, "l", "FRONTEND")["rate"] == "0", "nobody comes")
    ask(daemon, "clear counters")
    for name in ("FRONTEND", "a", "BACKEND"):
        row = stat(daemon, "l", name)
        assert (row["smax"], row["rate_max"], row["stot"]) == ("0", "0", "8"), (name, row)
        assert stat(daemon, "l", name, "@weir ")["smax"] == "8"
    peers.pair(daemon.address("l"), listener)
    for name in ("FRONTEND", "a", "BACKEND"):
        assert stat(daemon, "l", name)["smax"] == "1", name


def test_a_server_that_comes_later_is_not_cleared(weir, peers):
    """It has the number of one that has left, and begins at zero all the same."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address}\n")
    pairs = [peers.pair(daemon.address("l"), one) for _ in range(5)]
    ask(daemon, "clear counters all")
    for client, server in pairs:
        client.fin()
        server.fin()
    daemon.reload(f"server a = {one.address}", f"server b = {two.address}")
    for _ in range(3):
        peers.pair(daemon.address("l"), two)
    assert stat(daemon, "l", "b")["stot"] == "3"
    assert stat(daemon, "l", "BACKEND")["stot"] == stat(daemon, "l", "BACKEND")["connect"] == "3"
    assert stat(daemon, "l", "BACKEND", "@weir ")["stot"] == "8"


def test_a_server_in_maintenance_has_no_health(weir, peers):
    _, _, text = two_servers(peers)
    daemon = weir(text)

    def health():
        text = ask(daemon, "show servers state").splitlines()
        names = text[1][2:].split(" ")
        rows = (dict(zip(names, line.split(" "), strict=True)) for line in text[2:] if line)
        return {row["srv_name"]: row["srv_check_health"] for row in rows}
    assert health() == {"a": "2", "b": "2"}
    ask(daemon, "disable server web/a")
    assert health() == {"a": "0", "b": "2"}
