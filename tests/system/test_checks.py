# SPDX-License-Identifier: MIT
"""Danger: a dead server gets clients, a live one gets none, or a health check harms its server."""

import os
import socket
import time

import pytest

from harness import checked, service
from harness.programs import needs
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE, SCALE, quickest, stays, wait_until

# The interval is what a server has to answer, and to end its side before the next check resets it.
ENOUGH = "1s"


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        return checked.lasting(weir(*args, **kw))

    return start


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def exchange(where):
    """One client: its bytes come back, otherwise it raises an exception."""
    with socket.create_connection(where.sockaddr, PATIENCE) as s:
        s.sendall(b"hello")
        assert s.recv(5, socket.MSG_WAITALL) == b"hello"


# ---- down and up ----

def die_until_out(daemon, a):
    """Seconds for which the server was in for sure after its death; clients are served all the time."""
    a.die()
    died = seen_up = time.monotonic()
    served = 0
    while True:
        looked = time.monotonic()
        if not stat(daemon, "a")["status"].startswith("UP"):
            break
        seen_up = looked  # so long it was in for sure, however slow we are
        exchange(daemon.address("l"))
        served += 1
        assert seen_up - died < PATIENCE, "it is not out"
    assert served > 0
    return seen_up - died


@pytest.mark.smoke
def test_a_dead_server_is_out_within_fall_intervals_and_no_client_sees_it(services, weir):
    a, b = services(service.echo), services(service.echo)
    interval, fall = 0.3 * SCALE, 3
    daemon = weir(listen([f"a = {a.address}", f"b = {b.address}"], "check = tcp", "retries = 3",
                         f"check-interval = {interval * 1000:.0f}ms"))
    wait_stat(daemon, "a", check_status="L4OK")
    wait_stat(daemon, "b", check_status="L4OK")
    deaths = []

    def die():
        if deaths:
            a.start()
            wait_stat(daemon, "a", status="^UP", check_health="4")
        deaths.append(die_until_out(daemon, a))
        return deaths[-1]
    most = fall * interval + 0.2 * SCALE
    assert quickest(die, most) < most, f"still in after {deaths} s"
    row = stat(daemon, "a")
    assert (row["check_status"], row["last_chk"]) == ("L4CON", "connection refused")
    assert (row["chkdown"], row["chkfail"]) == (str(len(deaths)), str(fall * len(deaths)))
    # Now no client tries it: no connect fails any more.
    failures = row["econ"]
    for _ in range(20):
        exchange(daemon.address("l"))
    assert stat(daemon, "a")["econ"] == failures
    a.start()
    wait_stat(daemon, "a", status="^UP", check_status="L4OK")
    history = daemon.ask("show servers history l/a")
    assert "L4CON: connection refused" in history and "L4OK" in history, history


def test_nothing_is_asked_of_a_server_without_check(services, weir):
    a, b = services(), services()
    daemon = weir(listen([f"a = {a.address}", f"b = {b.address} check=off"], "check = tcp",
                         "check-interval = 50ms"))
    wait_until(lambda: len(a.ends) > 3, "checks of the other")
    assert not b.ends
    assert stat(daemon, "b")["check_status"] == ""


def test_every_check_ends_with_fin_even_when_the_server_greets(services, weir):
    """The interval is what a server has to end its side before the next check."""
    all_of_them = [services(lambda sock: sock.sendall(b"220 mail.example.com ESMTP\r\n"),
                            farewell=b"221 bye\r\n") for _ in range(7)]
    weir(listen([f"a{a.port} = {a.address}" for a in all_of_them], "check = tcp", "check-interval = 2s"))
    wait_until(lambda: all(len(a.ends) >= 3 for a in all_of_them), "three checks each", 2 * PATIENCE)
    assert all(set(a.ends) == {"fin"} for a in all_of_them), [a.ends for a in all_of_them]


def test_check_port_is_asked_and_the_other_is_not(services, weir):
    a, probe = services(), services()
    daemon = weir(listen([f"a = {a.address} check-port={probe.port}"], "check = tcp",
                         "check-interval = 50ms"))
    wait_stat(daemon, "a", check_status="L4OK")
    assert not a.ends
    daemon.expected_alarms = NO_SERVER
    probe.die()
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")


# ---- HTTP and steps ----

def test_http_checks_follow_the_status(services, weir):
    said = {"now": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}
    requests = []
    a = services(service.http(lambda: said["now"], requests))
    daemon = weir(listen([f"a = {a.address}"], "check = http GET /up host=app.example.com",
                         f"check-interval = {ENOUGH}"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L7OK", check_code="200")
    assert requests[0] == b"GET /up HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n"
    said["now"] = b"HTTP/1.1 503 Busy\r\n\r\n"
    wait_stat(daemon, "a", status="^DOWN", check_status="L7STS", check_code="503")
    assert set(a.ends) == {"fin"}, a.ends
    said["now"] = [b"HTTP/1.1 20", b"4 x\r", b"\n\r\n"]
    wait_stat(daemon, "a", status="^UP", check_status="L7OK", check_code="204")
    # The status is known before the last piece has come: what comes then meets a closed socket.
    assert set(a.ends) <= {"fin", "reset"}, a.ends


def test_the_server_itself_can_be_asked(services, weir):
    requests = []
    a = services(service.http(lambda: b"HTTP/1.1 200 OK\r\n\r\n", requests))
    daemon = weir(listen([f"a = {a.address}"], "check = http OPTIONS *", "check-interval = 50ms"))
    wait_stat(daemon, "a", check_status="L7OK", check_code="200")
    assert requests[0].startswith(b"OPTIONS * HTTP/1.0\r\nHost: "), requests[0]


def test_http_checks_find_a_string(services, weir):
    said = {"now": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"3\r\nall\r\n5\r\n well\r\n0\r\n\r\n"}
    a = services(service.http(lambda: said["now"]))
    daemon = weir(listen([f"a = {a.address}"], 'check = http /up expect="all well"',
                         "check-interval = 50ms"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L7OK")
    said["now"] = b"HTTP/1.1 200 OK\r\n\r\nnot at all"
    row = wait_stat(daemon, "a", status="^DOWN", check_status="L7RSP")
    assert row["last_chk"] == "expected 'all well' not found"


def test_steps_are_sent_and_expected_in_turn(services, weir):
    heard = []

    def talk(sock):
        sock.sendall(b"\x01hello\x00")
        heard.append(sock.recv(3, socket.MSG_WAITALL))
        for byte in b"+PONG":
            sock.sendall(bytes([byte]))
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], r'check = send "\x02\x00\xff" expect="+PONG"',
                         f"check-interval = {ENOUGH}"))
    wait_stat(daemon, "a", check_status="L7OK")
    assert heard[0] == b"\x02\x00\xff"
    wait_until(lambda: len(a.ends) > 3, "more checks")
    assert set(a.ends) == {"fin"}, a.ends


def test_a_server_that_speaks_first_is_checked_as_the_synopsis_says(services, weir):
    heard = []
    greeting = {"now": b"220 ready\r\n"}

    def talk(sock):
        sock.sendall(greeting["now"])
        heard.append(sock.recv(100))
        sock.sendall(b"221 bye\r\n")
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], r'check = expect=220 send "QUIT\r\n" expect=221',
                         "check-interval = 50ms", "check-timeout = 300ms"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L7OK")
    # The first check may have come to its timeout before the service had its turn.
    assert b"QUIT\r\n" in heard and set(heard) <= {b"QUIT\r\n", b""}, heard
    greeting["now"] = b"421 busy\r\n"
    wait_stat(daemon, "a", status="^DOWN", check_status="L7(RSP|TOUT)")
    greeting["now"] = b"220 ready\r\n"
    wait_stat(daemon, "a", status="^UP")


def test_a_server_that_accepts_and_says_nothing_times_out(services, weir):
    a = services()
    daemon = weir(listen([f"a = {a.address}"], "check = http /", "check-interval = 300ms",
                         "check-timeout = 100ms"))
    daemon.expected_alarms = NO_SERVER
    row = wait_stat(daemon, "a", status="^DOWN", check_status="L7TOUT")
    assert int(row["check_duration"]) >= 99
    wait_until(lambda: int(stat(daemon, "a")["check_duration"]) < 100 + 100 * SCALE, "one ends in time")
    assert daemon.terminate() == 0  # with a check under way, most likely


def test_a_server_that_takes_no_connection_times_out(weir, peers):
    deaf = peers.listen(backlog=0)
    waiting = []
    # The kernel accepts backlog + 1 connections and drops any more.
    for _ in range(2):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(deaf.address.sockaddr)
        waiting.append(s)
        peers.keep(s)
    daemon = weir(listen([f"a = {deaf.address}"], "check = tcp", "check-interval = 200ms"))
    daemon.expected_alarms = NO_SERVER
    row = wait_stat(daemon, "a", status="^DOWN", check_status="L4TOUT")
    assert row["last_chk"] == "no answer to the connect"
    assert daemon.terminate() == 0


def test_want_of_ports_is_no_failure_of_the_server(network, weir, peers):
    listener = peers.listen(socket_maker=network.socket)
    network.sysctl("ipv4.ip_local_port_range", "61000 61000")
    taker = peers.keep(network.socket(listener.address))
    taker.connect(listener.address.sockaddr)
    text = listen([f"a = {listener.address}"], "check = tcp", "check-interval = 50ms")
    # The namespace is its own, and so are all ports beyond the range.
    daemon = weir(text.replace("127.0.0.1:0", "127.0.0.1:7001"), wrapper=network.wrapper)
    daemon.expected_alarms = NO_SERVER  # the listener goes before the daemon
    row = wait_stat(daemon, "a", check_status="SOCKERR")
    assert row["status"].startswith("UP") and row["chkfail"] == "0", row
    wait_until(lambda: "a limit of this machine, not a fault of the server" in daemon.log(), daemon.log)


# ---- real servers ----

def test_redis_answers_a_ping(program, weir, folder):
    path = needs("redis-server")
    child, port = program(lambda port: [path, "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                        "--appendonly", "no", "--dir", folder])
    daemon = weir(listen([f"a = 127.0.0.1:{port}"],
                         r'check = send "PING\r\n" expect="+PONG" send "INFO\r\n" expect="role:master"',
                         "check-interval = 50ms"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L7OK", check_health="4")
    child.kill()
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")


NGINX = """\
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{ access_log {folder}/access.log; client_body_temp_path {folder}; proxy_temp_path {folder};
 fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
 server {{ listen 127.0.0.1:{port}; server_name app.example.com;
  location /up {{ return 200 "all well"; }} location / {{ return 404; }} }}
 server {{ listen 127.0.0.1:{proxied} proxy_protocol; location / {{ return 204; }} }} }}
"""


def test_nginx_answers_by_http_and_behind_proxy_headers(program, weir, folder):
    path = needs("nginx")

    def argv(port, proxied):
        conf = write(folder, "nginx.conf", NGINX.format(folder=folder, port=port, proxied=proxied))
        return [path, "-c", conf, "-p", folder, "-e", os.path.join(folder, "error.log")]
    _, port, proxied = program(argv, 2)
    text = "".join(
        f"[backend {name}]\nserver a = 127.0.0.1:{where}\ncheck = {check}\ncheck-interval = 50ms\n"
        for name, where, check in (
            ("good", port, 'http GET /up host=app.example.com expect="all well"'),
            ("head", port, "http HEAD /up"), ("wrong", port, "http /none"),
            ("first", proxied, "http / proxy=v1"), ("second", proxied, "http / proxy=v2"),
            ("server", f"{proxied} send-proxy", "http /"), ("bare", proxied, "http /"),
            ("off", f"{proxied} send-proxy", "http / proxy=off")))
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = good\n" + text)
    daemon.expected_alarms = NO_SERVER
    for proxy, code in (("good", "L7OK"), ("head", "L7OK"), ("wrong", "L7STS"), ("first", "L7OK"),
                        ("second", "L7OK"), ("server", "L7OK"), ("bare", "L7"), ("off", "L7")):
        wait_until(lambda: stat(daemon, "a", proxy)["check_status"].removeprefix("* ").startswith(code),
                   lambda: f"{proxy}: {stat(daemon, 'a', proxy)}")
    assert stat(daemon, "a", "wrong")["check_code"] == "404"
    assert stat(daemon, "a", "bare")["status"].startswith("DOWN")
    assert stat(daemon, "a", "off")["status"].startswith("DOWN")


def test_haproxy_takes_the_proxy_headers_of_checks(program, weir, folder):
    path = needs("haproxy")

    def argv(port):
        return [path, "-db", "-f", write(folder, "haproxy.cfg", (
            f"defaults\n mode http\n timeout client 5s\nfrontend f\n bind 127.0.0.1:{port} accept-proxy\n"
            " http-request return status 200\n"))]
    _, port = program(argv)
    text = "".join(f"[backend {v}]\nserver a = 127.0.0.1:{port}\ncheck = http / proxy={v}\n"
                   "check-interval = 50ms\n" for v in ("v1", "v2"))
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = v1\n" + text)
    for proxy in ("v1", "v2"):
        wait_until(lambda: "L7OK" in stat(daemon, "a", proxy)["check_status"],
                   lambda: f"{proxy}: {stat(daemon, 'a', proxy)}")


# ---- what a change does ----

def test_marked_down_sessions_are_closed_when_it_says_so(services, weir, peers):
    listener, probe = peers.listen(), services()
    daemon = weir(listen([f"a = {listener.address} check-port={probe.port}"], "check = tcp",
                         "check-interval = 50ms", "on-marked-down = close-sessions"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(1000)
    server.receive(1000)
    probe.die()
    assert client.receive_to_end() == "reset"
    assert daemon.wait_session_line(reason_text="the server was marked down")["ts_code"]


def full_backlog():
    """A listener with a full backlog, so that every further connect waits, and the sockets that fill it."""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    fillers = []

    def is_full():
        fillers.append(socket.socket())
        fillers[-1].settimeout(0.2 * SCALE)
        try:
            fillers[-1].connect(full.getsockname())
        except TimeoutError:
            return True
        return False
    wait_until(is_full, "the backlog is full")
    return full, fillers


def test_who_still_connects_to_a_server_that_is_marked_down_gets_another(services, weir, peers):
    listener, probe = peers.listen(), services()
    full, fillers = full_backlog()
    host, port = full.getsockname()
    daemon = weir(listen([f"a = {host}:{port} check-port={probe.port}",
                          f"b = {listener.address} check=off"],
                         "balance = first", "check = tcp", "check-interval = 50ms", "timeout-connect = 1h",
                         "on-marked-down = close-sessions"))
    wait_stat(daemon, "a", check_status="L4OK")
    client = peers.connect(daemon.address("l"))
    wait_until(lambda: any("state=connecting" in s for s in daemon.sessions()), "it connects to a")
    probe.die()
    server = peers.accept(listener)
    client.send(1000)
    server.receive(1000)
    assert stat(daemon, "a")["econ"] == "0"  # the outcome of that try is unknown
    assert stat(daemon, "b")["status"] == "no check"
    for sock in (full, *fillers):
        sock.close()


def test_marked_down_sessions_go_on_otherwise(services, weir, peers):
    listener, probe = peers.listen(), services()
    daemon = weir(listen([f"a = {listener.address} check-port={probe.port}"], "check = tcp",
                         "check-interval = 50ms"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK")
    client, server = peers.pair(daemon.address("l"), listener)
    probe.die()
    wait_stat(daemon, "a", status="^DOWN")
    client.send(1000)
    server.receive(1000)
    server.send(1000)
    client.receive(1000)
    assert peers.connect(daemon.address("l")).receive_to_end() in ("fin", "reset")  # no server behind it


def test_in_panic_every_server_is_used(services, weir, peers):
    listener, probe = peers.listen(), services()
    daemon = weir(listen([f"a = {listener.address} check-port={probe.port}"], "check = tcp",
                         "check-interval = 50ms", "panic = on"))
    daemon.expected_alarms = "no server"
    wait_stat(daemon, "a", check_status="L4OK")
    probe.die()
    wait_stat(daemon, "a", status="^DOWN")
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(1000)
    server.receive(1000)


def test_ten_failed_connects_of_clients_count_as_a_failed_check(services, weir, peers):
    dead, probe = services(), services()
    dead.die()
    daemon = weir(listen([f"a = {dead.address} check-port={probe.port}"], "check = tcp", "retries = 0",
                         "check-interval = 1h", "check-fast = 1h", "check-fall = 1",
                         "observe = connect"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK", check_health="2")
    for _ in range(9):
        assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    wait_until(lambda: stat(daemon, "a")["econ"] == "9", "nine failures")
    assert stat(daemon, "a")["status"].startswith("UP")
    assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    row = wait_stat(daemon, "a", status="^DOWN", check_status="HANA")
    assert row["last_chk"] == "10 failed connects in a row"


def test_observed_failures_bring_the_fast_check_and_a_good_one_brings_it_back(services, weir, peers):
    dead, probe = services(), services()
    dead.die()
    daemon = weir(listen([f"a = {dead.address} check-port={probe.port}"], "check = tcp", "retries = 0",
                         "check-interval = 1h", "check-down = 50ms", "check-fast = 50ms", "check-fall = 1",
                         "check-rise = 1", "observe = connect"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK")
    for _ in range(10):
        assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    wait_until(lambda: "HANA" in daemon.log(), "it is marked down")
    wait_stat(daemon, "a", status="^UP", check_status="L4OK")


# ---- what the administrator wants ----

def test_maintenance_is_not_checked_drain_is_and_ready_is_at_once(services, weir):
    a, b = services(), services()
    daemon = weir(listen([f"a = {a.address}", f"b = {b.address}"], "check = tcp",
                         "check-interval = 50ms"))
    wait_stat(daemon, "a", check_health="4")
    daemon.ask("set server l/a state drain")
    seen = len(a.ends)
    wait_until(lambda: len(a.ends) > seen + 3, "it is checked in drain")
    daemon.ask("set server l/a state maint")
    wait_stat(daemon, "a", status="^MAINT")
    wait_until(lambda: stays(lambda before=len(a.ends): len(a.ends) == before, 0.3 * SCALE),
               "no more checks")
    a.die()
    daemon.ask("set server l/a state ready")
    # It is up, and one failure takes it down.
    row = wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")
    assert row["chkfail"] == "1", row


def test_a_soft_stop_ends_the_checks(services, weir, peers):
    listener, probe = peers.listen(), services()
    daemon = weir(listen([f"a = {listener.address} check-port={probe.port}"], "check = tcp",
                         "check-interval = 50ms"))
    wait_stat(daemon, "a", check_status="L4OK")
    client, server = peers.pair(daemon.address("l"), listener)
    daemon.ended = True
    daemon.signal(15)
    wait_until(lambda: stays(lambda before=len(probe.ends): len(probe.ends) == before, 0.3 * SCALE),
               "no more checks")
    client.send(1000)
    server.receive(1000)
    client.close()
    server.close()
    assert daemon.wait_exit() == 0


def test_who_begins_to_wait_in_a_soft_stop_gets_the_server_that_comes_back(weir):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # and does not listen
        daemon = weir(listen([f"a = 127.0.0.1:{server.getsockname()[1]}"], "check = tcp", "check-fall = 1",
                             "check-rise = 1", "check-interval = 50ms", "no-server = queue",
                             "timeout-queue = 60s").replace(":0\n", ":0 accept-proxy\n", 1))
        daemon.expected_alarms = NO_SERVER
        wait_stat(daemon, "a", status="^DOWN")
        with socket.create_connection(daemon.address("l").sockaddr) as client:
            wait_until(daemon.sessions, "a session in its handshake")
            daemon.ended = True
            daemon.signal(15)
            wait_until(lambda: "no new sessions" in daemon.log(), "the soft stop")
            client.sendall(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nhello")
            server.listen()
            server.settimeout(PATIENCE)
            got = b""
            while not got:  # checks come too, and say nothing
                with server.accept()[0] as conn:
                    conn.settimeout(PATIENCE)
                    got = conn.recv(10)
            assert got == b"hello"
        assert daemon.wait_exit() == 0
