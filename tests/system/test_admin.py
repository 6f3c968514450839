# SPDX-License-Identifier: MIT
"""Danger: a server taken out of service still gets clients, a refused command looks successful, a column is
not where HAProxy's tools expect it, or two machines choose differently and nothing shows it."""

import csv
import json
import os
import re
import shutil
import socket
import subprocess

import pytest

from harness import admin
from harness.daemon import BINARY
from harness.timing import PATIENCE, wait_until

HAPROXY = shutil.which("haproxy")
WHO = f"by uid {os.getuid()} over the admin socket"


def ctl(daemon, *words):
    return subprocess.run([BINARY, "ctl", "-s", daemon.admin, *words], capture_output=True, text=True,
                          timeout=3 * PATIENCE, stdin=subprocess.DEVNULL)


def ctl_as_other(daemon, *words):
    """As another user; by descriptor, because the folder of the binary may be closed to him."""
    binary = os.open(BINARY, os.O_RDONLY)
    try:
        return subprocess.run(["weir", "ctl", "-s", daemon.admin, *words], pass_fds=[binary], cwd="/",
                              executable=f"/proc/self/fd/{binary}", preexec_fn=lambda: os.setuid(54321),
                              capture_output=True, text=True, timeout=3 * PATIENCE, stdin=subprocess.DEVNULL)
    finally:
        os.close(binary)


def do(daemon, *words):
    """A changing command: done, and nothing said."""
    got = ctl(daemon, *words)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", ""), got


def stat(daemon, proxy, name):
    rows = csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
    return next(row for row in rows if (row["pxname"], row["svname"]) == (proxy, name))


def states(daemon):
    """{(backend, server): {column: value}} of HAProxy's state file."""
    lines = daemon.ask("show servers state").splitlines()
    assert lines[0] == "1" and lines[1].startswith("# "), lines[:2]
    names = lines[1][2:].split(" ")
    rows = [dict(zip(names, line.split(" "), strict=True)) for line in lines[2:]]
    return {(row["be_name"], row["srv_name"]): row for row in rows}


def two_servers(peers, words=""):
    one, two = peers.listen(), peers.listen()
    text = (f"[listen web]\nbind = 127.0.0.1:0\nserver a = {one.address}{words}\n"
            f"server b = {two.address}\n")
    return one, two, text


def served(daemon, peers, count):
    """Opens and ends `count` connections; how many went to each of a and b."""
    before = [int(stat(daemon, "web", s)["stot"]) for s in "ab"]
    for _ in range(count):
        peers.connect(daemon.address("web")).fin()

    def after():
        return [int(stat(daemon, "web", s)["stot"]) - n for s, n in zip("ab", before)]
    wait_until(lambda: sum(after()) == count, lambda: f"{count} are connected, {after()} now")
    return after()


# States.

@pytest.mark.smoke
@pytest.mark.parametrize("how", ("drain", "maint"))
def test_a_server_that_rests_gets_no_new_clients_and_keeps_its_old_ones(weir, peers, how):
    one, two, text = two_servers(peers)
    daemon = weir(text, "threads = 1")  # with one worker two clients are one for each server
    old = [peers.connect(daemon.address("web")) for _ in range(2)]
    server, _ = peers.accept(one), peers.accept(two)    # both are counted from here on
    client = next(c for c in old if c.conn == server.conn)
    do(daemon, "set", "server", "web/a", "state", how)
    assert stat(daemon, "web", "a")["status"] == how.upper()
    assert served(daemon, peers, 20) == [0, 20]
    client.send(100_000)
    server.receive(100_000)
    server.send(5000)
    client.receive(5000)
    do(daemon, "set", "server", "web/a", "state", "ready")
    a, b = served(daemon, peers, 20)
    assert a >= 8 and b >= 8, (a, b)


def test_a_server_disabled_at_the_start_can_be_enabled(weir, peers):
    _, _, text = two_servers(peers, " disabled")
    daemon = weir(text)
    assert stat(daemon, "web", "a")["status"] == "MAINT"
    assert served(daemon, peers, 6) == [0, 6]
    do(daemon, "enable", "server", "web/a")
    assert served(daemon, peers, 20)[0] >= 8
    do(daemon, "disable", "server", "web/a")
    assert served(daemon, peers, 6) == [0, 6]


def test_a_section_may_lead_to_the_admin_socket(weir, peers):
    """As what is converted for a 'stats socket' over TCP: whoever gets there has level admin."""
    _, _, text = two_servers(peers)
    daemon = weir(text + "[listen admin]\nbind = 127.0.0.1:0\nserver socket = unix:@ADMIN@\n")
    with socket.create_connection(daemon.address("admin").sockaddr, timeout=PATIENCE) as client:
        client.sendall(b"disable server web/a\n")
        assert client.recv(100) == b"\n"
    wait_until(lambda: stat(daemon, "web", "a")["status"] == "MAINT", "the server is disabled")
    assert served(daemon, peers, 6) == [0, 6]


def test_the_history_tells_who_changed_a_server(weir, peers):
    _, _, text = two_servers(peers)
    daemon = weir(text)
    do(daemon, "set", "server", "web/b", "state", "drain")
    do(daemon, "set", "server", "web/b", "state", "maint")
    do(daemon, "set", "weight", "web/b", "7")
    do(daemon, "set", "weight", "web/b", "7")  # the same again: no change
    do(daemon, "set", "maxconn", "server", "web/b", "1000")
    changes = json.loads(ctl(daemon, "--json", "show", "servers", "history", "web/b").stdout)
    assert [(c["what"], c["from"], c["to"]) for c in changes] == [
        ("state", "UP", "DRAIN"), ("state", "DRAIN", "MAINT"), ("weight", 1, 7), ("maxconn", 0, 1000)]
    assert all(c["cause"] == WHO and c["age_s"] < 60 for c in changes), changes
    lines = ctl(daemon, "show", "servers", "history").stdout.splitlines()
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    told = ('"UP" -> "DRAIN"', '"DRAIN" -> "MAINT"', "weight 1 -> 7", "maxconn 0 -> 1000")
    for line, what in zip(lines, told, strict=True):
        assert re.fullmatch(f"{when} web/b {what}: {WHO}", line), line
    assert sorted(lines) == lines
    for line in ("weight 7, was 1", "maxconn 1000, was 0"):
        wait_until(lambda: f"server web/b: {line}: {WHO}\n" in daemon.log(), f"the log says: {line}")
    assert ctl(daemon, "show", "servers", "history", "web/a").stdout == ""
    for _ in range(20):
        do(daemon, "enable", "server", "web/b")
        do(daemon, "disable", "server", "web/b")
    assert len(ctl(daemon, "show", "servers", "history", "web/b").stdout.splitlines()) == 32


def test_sessions_of_a_server_are_shut_down(weir, peers):
    one, two, text = two_servers(peers)
    daemon = weir(text, "threads = 1")
    clients = [peers.connect(daemon.address("web")) for _ in range(2)]
    pairs = {}
    for listener in (one, two):
        server = peers.accept(listener)
        pairs[listener] = next(c for c in clients if c.conn == server.conn), server
    do(daemon, "shutdown", "sessions", "server", "web/a")
    assert pairs[one][0].receive_to_end() == "reset"
    assert pairs[one][1].receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="ended by the administrator")
    assert (line["server"], line["ts_code"]) == ("a", "K-"), line
    client, server = pairs[two]
    client.send(1000)
    server.receive(1000)


# Weights and limits.

def test_weights_change_the_shares_at_once(weir, peers):
    _, _, text = two_servers(peers)
    daemon = weir(text, "threads = 1")
    assert served(daemon, peers, 20) == [10, 10]
    do(daemon, "set", "server", "web/a", "weight", "3")
    a, b = served(daemon, peers, 40)
    assert abs(a - 30) <= 1, (a, b)
    assert ctl(daemon, "get", "weight", "web/a").stdout == "3 (initial 1)\n"
    do(daemon, "set", "weight", "web/a", "0")
    assert served(daemon, peers, 10) == [0, 10]
    row = stat(daemon, "web", "a")
    assert (row["weight"], row["uweight"]) == ("0", "0")
    do(daemon, "set", "weight", "web/a", "100%")
    assert abs(served(daemon, peers, 20)[0] - 10) <= 1


def test_maxconn_of_a_server_is_set_while_it_runs(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    peers.pair(daemon.address("web"), listener)
    do(daemon, "set", "maxconn", "server", "web/a", "2")
    peers.pair(daemon.address("web"), listener)
    waiting = peers.connect(daemon.address("web"))
    wait_until(lambda: stat(daemon, "web", "BACKEND")["qcur"] == "1", "the third waits")
    row = stat(daemon, "web", "a")
    assert (row["scur"], row["slim"]) == ("2", "2")
    page = json.loads(subprocess.run([BINARY, "status", "--json", "-s", daemon.admin], capture_output=True,
                                     timeout=3 * PATIENCE, check=True).stdout)
    assert page["queued"] == 1
    do(daemon, "set", "maxconn", "server", "web/a", "3")  # room for it, and it is let in
    server = peers.accept(listener)
    assert server.conn == waiting.conn
    row = stat(daemon, "web", "BACKEND")
    assert (row["qcur"], row["qmax"]) == ("0", "1")
    waiting.fin()
    server.receive_to_end()
    server.fin()
    waiting.receive_to_end()
    wait_until(lambda: stat(daemon, "web", "a")["scur"] == "2", "it has ended")
    assert int(stat(daemon, "web", "a")["qtime_max"]) > 0


# Refusals.

@pytest.mark.parametrize("words, said", (
    (("set", "server", "web/c", "state", "maint"), "no server 'c' in backend 'web'; available: a, b"),
    (("disable", "server", "app/a"), "no backend 'app'; available: web"),
    (("set", "weight", "web/a", "257"), "from 0 to 256"),
    (("set", "server", "web/a", "state", "off"), "ready, drain or maint"),
    (("set", "maxconn", "server", "web/a"), "usage: 'set maxconn server BACKEND/SERVER N'"),
    (("show", "servers", "state", "app"), "no backend 'app'"),
    (("show stat; disable server web/c",), None)))
def test_a_refused_command_ends_with_1_and_says_what_there_is(weir, peers, words, said):
    _, _, text = two_servers(peers)
    daemon = weir(text)
    got = ctl(daemon, *words)
    assert got.returncode == 1
    if said is not None:
        assert got.stdout == "" and got.stderr.startswith("error: ") and said in got.stderr, got
    assert {row["srv_op_state"] for row in states(daemon).values()} == {"2"}, "nothing was changed"


@pytest.mark.parametrize("level, allowed, refused", (
    ("user", ("show info", "show stat", "help"), ("show sess", "show servers state", "disable server web/a")),
    ("operator", ("show sess", "show servers state", "show hash", "get weight web/a"),
     ("disable server web/a", "set weight web/a 2", "set server web/a state maint",
      "shutdown sessions server web/a", "set maxconn server web/a 1"))))
def test_a_socket_allows_others_what_its_level_says(weir, peers, level, allowed, refused):
    if os.geteuid() != 0:
        pytest.skip("not root: cannot become another user, and our own is an administrator")
    _, _, text = two_servers(peers)
    daemon = weir(text, f"admin-socket = unix:@ADMIN@ mode=666 level={level}")
    for command in allowed:
        assert ctl_as_other(daemon, *command.split()).returncode == 0, command
    for command in refused:
        got = ctl_as_other(daemon, *command.split())
        assert got.returncode == 1, command
        need = "operator" if command.startswith("show") else "admin"
        assert f"(level '{level}'); write level={need} on the 'admin-socket' line" in got.stderr, got
    assert stat(daemon, "web", "a")["status"] == "no check"
    for command in allowed:
        assert ctl(daemon, *command.split()).returncode == 0, command


# What others read.

def test_servers_state_has_haproxys_columns_and_the_truth(weir, peers):
    _, _, text = two_servers(peers, " weight=5")
    daemon = weir(text + "[backend app]\nserver u = unix:/nowhere disabled\n[frontend x]\n"
                  "bind = 127.0.0.1:0\ndefault-backend = app\n")
    do(daemon, "set", "server", "web/b", "state", "drain")
    do(daemon, "set", "weight", "web/a", "2")
    rows = states(daemon)
    a, b, u = rows["web", "a"], rows["web", "b"], rows["app", "u"]
    assert len(a) == 25
    assert (a["srv_op_state"], a["srv_admin_state"]) == ("2", "0")
    assert (a["srv_uweight"], a["srv_iweight"]) == ("2", "5")
    assert (a["srv_addr"], int(a["srv_port"]) > 0) == ("127.0.0.1", True)
    assert (b["srv_op_state"], b["srv_admin_state"]) == ("2", "8")
    assert (u["srv_op_state"], u["srv_admin_state"], u["srv_addr"]) == ("0", "5", "-")
    rows = json.loads(daemon.ask("show servers state web json"))
    assert [(r["srv_name"], r["state"]) for r in rows] == [("a", "UP"), ("b", "DRAIN")]
    assert daemon.ask("show backend").split() == ["#", "name", "web", "app"]


def test_rates_and_times_are_counted(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    assert stat(daemon, "web", "a")["lastsess"] == "-1"
    for _ in range(10):
        client, server = peers.pair(daemon.address("web"), listener)
        client.fin()
        server.receive_to_end()
        server.fin()
        client.receive_to_end()
    for name in ("FRONTEND", "a", "BACKEND"):
        row = stat(daemon, "web", name)
        assert 1 <= int(row["rate_max"]) <= 10, row
        assert row["bin"] != "0"
    wait_until(lambda: stat(daemon, "web", "a")["rate"] == "0", "the rate fades")
    row = stat(daemon, "web", "a")
    assert int(row["rate_max"]) >= 1
    assert int(row["lastsess"]) <= 60
    assert (row["connect"], row["lbtot"]) == ("10", "10")
    assert int(row["ttime_max"]) >= int(row["ttime"]) >= int(row["ctime"]) >= 0


@pytest.fixture
def ask_haproxy(folder):
    """Queries an HAProxy that runs next to weir."""
    if HAPROXY is None:
        pytest.skip("no haproxy to compare with")
    path = os.path.join(folder, "h.sock")
    config = os.path.join(folder, "h.cfg")
    with open(config, "w", encoding="utf-8") as f:
        f.write(f"global\n stats socket {path} level admin\ndefaults\n mode tcp\n timeout connect 1s\n"
                f" timeout client 1s\n timeout server 1s\nfrontend f\n bind {folder}/f.sock\n"
                " default_backend web\nbackend web\n server a 127.0.0.1:9\n server b 127.0.0.1:9 backup\n")
    child = subprocess.Popen([HAPROXY, "-db", "-f", config], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(command):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(path)
            s.sendall(command.encode() + b"\n")
            with s.makefile(encoding="utf-8") as f:
                return f.read()
    try:
        wait_until(lambda: admin.listens(path) or child.poll() is not None, "haproxy runs")
        assert child.poll() is None, "haproxy refuses its configuration"
        yield ask
    finally:
        child.terminate()
        child.wait(PATIENCE)


def test_info_begins_as_haproxys(weir, peers, ask_haproxy):
    """Datadog's reader of the socket does `key, value = line.split(':')` until it has Uptime_sec."""
    _, _, text = two_servers(peers)
    theirs = [line.split(":")[0] for line in ask_haproxy("show info").splitlines() if line]
    daemon = weir(text)
    lines = [line for line in daemon.ask("show info").splitlines() if line]
    ours = dict(line.split(":") for line in lines[:next(
        n for n, line in enumerate(lines) if line.startswith("version:"))])
    assert list(ours)[0] == "Name" and int(ours["Uptime_sec"]) >= 0 and int(ours["Pid"]) == daemon.pid
    # One of HAProxy's keys has had two spellings.
    spelt = {"TotalSplicdedBytesOut", "TotalSplicedBytesOut"}
    assert set(ours) - set(theirs) <= spelt and spelt <= set(ours), set(ours) - set(theirs)
    assert [key for key in ours if key in theirs] == [key for key in theirs if key in ours]
    # The rest are ours alone.
    assert not {line.split(":")[0] for line in lines[len(ours):]} & set(theirs)


def test_columns_are_where_haproxy_has_them(weir, peers, ask_haproxy):
    """HAProxy's own header and some of its rows, against ours. A release's columns are the first ones of a
    newer release, so the shorter list is the beginning of the longer one."""
    _, _, text = two_servers(peers)
    theirs, their_states = ask_haproxy("show stat"), ask_haproxy("show servers state")
    daemon = weir(text)
    ours, our_states = daemon.ask("show stat"), daemon.ask("show servers state")
    head = ours.splitlines()[0].rstrip(",").split(",")
    their_head = theirs.splitlines()[0].split(",")
    fixed = min(head.index("-"), their_head.index("-"))
    assert fixed > 100
    assert head[:fixed] == their_head[:fixed]
    assert our_states.splitlines()[:2] == their_states.splitlines()[:2]
    assert len(our_states.splitlines()[2].split(" ")) == len(their_states.splitlines()[2].split(" "))
    # What HAProxy fills of a server that is not checked, we fill too, and as a number where it has one.
    def row(text, name):
        return next(r for r in csv.DictReader(text.lstrip("# ").splitlines()) if r["svname"] == name)
    for name in ("FRONTEND", "a", "BACKEND"):
        them, us = row(theirs, name), row(ours, name)
        missing = {k for k in their_head[1:fixed] if them[k] and not us[k]}
        assert missing <= NOT_OURS, missing - NOT_OURS
        for key in their_head[1:fixed]:
            if us[key] and re.fullmatch(r"-?\d+", them[key]):
                assert re.fullmatch(r"-?\d+", us[key]), (name, key, them[key], us[key])


# Of HTTP, of reused connections, of caches, of agents; and since when a backend is what it is.
NOT_OURS = {"wrew", "cache_lookups", "cache_hits", "srv_icur", "idle_conn_cur", "safe_conn_cur",
            "need_conn_est", "intercepted", "req_tot", "req_rate", "req_rate_max", "lastchg", "downtime",
            "hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other", "comp_in", "comp_out",
            "comp_byp", "comp_rsp", "agg_server_check_status", "agg_check_status", "h1sess", "h2sess",
            "h3sess", "req_other", "h1req", "h2req", "h3req", "priv_idle_cur"}


def test_two_machines_with_one_file_have_one_checksum(weir):
    servers = [f"server s{i} = 127.0.0.1:{i + 1}\n" for i in range(10)]

    def start(lines, algorithm):
        return weir(f"[listen web]\nbind = 127.0.0.1:0\nbalance = {algorithm}\n" + "".join(lines))

    def checksum(daemon):
        (row,) = json.loads(daemon.ask("show hash web json"))
        assert re.fullmatch("[0-9a-f]{16}", row["checksum"]), row
        return row["checksum"]
    for algorithm in ("maglev", "source hash=consistent", "source"):
        one, other = start(servers, algorithm), start(servers[5:] + servers[:5], algorithm)
        assert checksum(one) == checksum(other), algorithm
        do(one, "disable", "server", "web/s3")
        assert checksum(one) != checksum(other), algorithm
        do(other, "disable", "server", "web/s3")
        assert checksum(one) == checksum(other), algorithm


# Checked servers.

def test_a_checked_server_shows_its_checks_and_why_it_is_down(weir, peers):
    listener = peers.listen()
    address = peers.listen(listen=False).address
    daemon = weir("[listen web]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 100ms\n"
                  f"check-rise = 2\ncheck-fall = 3\nserver a = {listener.address} disabled\n"
                  f"server b = {address} disabled\n")  # no check runs when descriptors are counted
    assert stat(daemon, "web", "b")["check_status"] == ""
    for server in "ab":
        do(daemon, "enable", "server", f"web/{server}")
    wait_until(lambda: stat(daemon, "web", "b")["status"] == "DOWN", "b is down")
    wait_until(lambda: stat(daemon, "web", "a")["status"] == "UP", "a is up, beyond doubt")
    a, b = stat(daemon, "web", "a"), stat(daemon, "web", "b")
    assert a["check_status"].removeprefix("* ") == "L4OK", a
    assert b["check_status"].removeprefix("* ") == "L4CON", b
    assert (a["check_rise"], a["check_fall"], a["check_health"]) == ("2", "3", "4")
    assert (b["check_health"], b["chkdown"]) == ("0", "1")
    assert int(b["chkfail"]) >= 1 and b["last_chk"] and b["check_desc"], b
    backend = stat(daemon, "web", "BACKEND")
    assert (backend["status"], backend["act"], backend["weight"]) == ("UP", "1", "1")
    rows = states(daemon)
    assert [rows["web", s]["srv_op_state"] for s in "ab"] == ["2", "0"]
    assert [rows["web", s]["srv_check_status"] for s in "ab"] == ["6", "8"]
    first, change = json.loads(daemon.ask("show servers history web/b json"))
    assert (first["to"], first["cause"]) == ("UP", WHO), first
    assert (change["from"], change["to"]) == ("UP", "DOWN"), change
    assert change["cause"] not in ("", WHO), change
    page = subprocess.run([BINARY, "status", "-s", daemon.admin], capture_output=True, text=True,
                          timeout=3 * PATIENCE, check=True).stdout
    assert re.search(r"^web/b +down ", page, re.M), page
    do(daemon, "disable", "server", "web/b")
    b = stat(daemon, "web", "b")
    assert (b["status"], b["check_status"]) == ("MAINT", "")
    do(daemon, "enable", "server", "web/b")  # up until its first check, as in HAProxy, and down again by it
    wait_until(lambda: stat(daemon, "web", "b")["chkdown"] == "2", "it was found down again")
    daemon.expected_alarms = "has no server left"
    for server in "ab":
        do(daemon, "disable", "server", f"web/{server}")
