# SPDX-License-Identifier: MIT
"""Danger: a frontend that an administrator takes out of service still accepts, or does not come back; a limit
that was set does not hold; a reload undoes either, or keeps it against the file."""

import csv
import errno
import os
import socket
import time

import pytest

from harness import process
from harness.address import of_socket
from harness.manager import passing
from harness.timing import SCALE, stays, wait_until
from test_reload import free_port

OTHER = "[listen other]\nbind = 127.0.0.1:0\nserver x = 127.0.0.1:1\n"


def knock(where):
    """0, or the error of a connect. One to an address that is being left gets no answer for a second."""
    with where.socket() as s:
        s.settimeout(5)
        return s.connect_ex(where.sockaddr)


def refuses(where):
    return knock(where) in (errno.ECONNREFUSED, errno.ENOENT)


def listens(where):
    return knock(where) == 0


def status(daemon, proxy="web", column="status"):
    rows = csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
    return next(row for row in rows if (row["pxname"], row["svname"]) == (proxy, "FRONTEND"))[column]


def talk(peers, listener, where):
    """One session; questions whether somebody listens are sessions without a byte."""
    client = peers.connect(where)
    client.send(1000)
    server = peers.accept(listener, skip_silent=True)
    assert server.conn == client.conn
    server.receive(1000)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()


class World:
    """A daemon whose frontend has a TCP address and a Unix path. While the former is left, no other process
    gets its port from the kernel."""

    def __init__(self, weir, peers, folder, frontend="", **kw):
        self.listener = peers.listen()
        self.daemon = weir(f"[frontend web]\nbind = 127.0.0.1:{free_port()}\n"
                           f"bind = unix:{folder}/web.sock\n{frontend}"
                           f"default-backend = app\n[backend app]\nserver a = {self.listener.address}\n",
                           **kw)
        self.both = [where for name, _, where in self.daemon.addresses() if name == "web"]

    def do(self, command, answer=""):
        assert self.daemon.ask(command, voice="").strip("\n") == answer

    def reload(self, *changes):
        return self.daemon.reload(*changes, words=())

    def wait_left(self):
        wait_until(lambda: all(refuses(a) for a in self.both), "both addresses refuse")

    def end(self, peers):
        peers.close()
        self.daemon.reloaded = True  # the same addresses, but other sockets


@pytest.fixture
def world(weir, peers, folder):
    return lambda **kw: World(weir, peers, folder, **kw)


# ---- out of service, and back -------------------------------------------------------------------

@pytest.mark.smoke
def test_a_disabled_frontend_refuses_and_its_sessions_go_on(world, peers):
    w = world()
    for _ in range(2):
        client, server = peers.pair(w.both[0], w.listener, skip_silent=True)
        w.do("disable frontend web")
        assert status(w.daemon) == "PAUSED"
        w.wait_left()
        client.send(10_000)
        server.receive(10_000)
        w.do("enable frontend web")
        assert status(w.daemon) == "OPEN"
        assert all(listens(a) for a in w.both)
        client.close()
        server.close()
        for where in w.both:
            talk(peers, w.listener, where)
    wait_until(lambda: [w.daemon.log().count(f"frontend web: {what} by uid")
                        for what in ("disabled", "enabled")] == [2, 2], w.daemon.log)
    w.end(peers)


def test_haproxy_s_answers(world, peers):
    """As the haproxy of Debian 12 gives them."""
    w = world()
    for command, answer in (
            ("disable frontend", "A frontend name is expected."),
            ("enable frontend", "A frontend name is expected."),
            ("shutdown frontend", "A frontend name is expected."),
            ("disable frontend x", "No such frontend."),
            ("enable frontend app", "No such frontend."),
            ("shutdown frontend x", "No such frontend."),
            ("enable frontend web", "All sockets are already enabled."),
            ("disable frontend web", ""),
            ("disable frontend web", "All sockets are already disabled."),
            ("enable frontend #1", ""),
            ("set maxconn frontend", "A frontend name is expected."),
            ("set maxconn frontend x 3", "No such frontend."),
            ("set maxconn frontend web", "Integer value expected."),
            ("set maxconn frontend web -1", "Value out of range."),
            ("set maxconn frontend web 7x", ""),
            ("set maxconn global", "Expects an integer value."),
            ("set maxconn global 1000000000", "Value out of range."),
            ("set maxconn global -3", ""),
            ("set rate-limit connections global", "Expects an integer value."),
            ("set rate-limit connections global -1", "Value out of range."),
            ("set rate-limit connections global x", ""),
            ("shutdown frontend web", ""),
            ("shutdown frontend web", "Frontend was already shut down."),
            ("disable frontend web", "Frontend was previously shut down, cannot disable."),
            ("enable frontend web", "Frontend was previously shut down, cannot enable.")):
        assert (command, w.daemon.ask(command, voice="").strip("\n")) == (command, answer)
    for command in ("set rate-limit", "set rate-limit connections x 1", "set rate-limit x global 1"):
        answer = w.daemon.ask(command, voice="")
        assert answer.startswith("'set rate-limit' only supports :\n   - 'connections global' to set ")
    assert status(w.daemon) == "STOP"
    assert status(w.daemon, column="slim") == "7"
    w.daemon.reload("default-backend = app\n", "default-backend = app\nmaxconn = 8\n", words=())
    w.end(peers)


def test_our_answers_say_what_there_is(world, peers):
    w = world()
    assert w.daemon.ask("disable frontend wbe") == "error: no frontend 'wbe'; available: web\n"
    assert w.daemon.ask("set maxconn frontend web seven") == "error: 'seven' is not a number\n"
    assert "error: the most is" in w.daemon.ask("set maxconn global 1000000000")
    w.end(peers)


def test_an_address_that_another_process_took_leaves_all_disabled(world, peers):
    w = world()
    w.daemon.expected_alarms = "cannot be enabled"
    w.do("disable frontend web")
    w.wait_left()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(w.both[0].sockaddr)
        other.listen()
        w.do("enable frontend web",
             "Failed to resume frontend, check logs for precise cause (port conflict?).")
        assert refuses(w.both[1])
        assert status(w.daemon) == "PAUSED"
    told = f"cannot listen on {w.both[0]}: Address already in use; it stays disabled"
    wait_until(lambda: told in w.daemon.log(), w.daemon.log)
    w.do("enable frontend web")
    for where in w.both:
        talk(peers, w.listener, where)
    w.end(peers)


def test_clients_wait_in_a_passed_socket(weir, peers, closing):
    listener, sock = peers.listen(), socket.socket()
    closing.append(sock)
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    where = of_socket(sock, "tcp4")
    daemon = weir(f"[listen web]\nbind = fd@web\nserver a = {listener.address}\n", **passing("web", sock))
    link, ops = f"socket:[{os.fstat(sock.fileno()).st_ino}]", daemon.baseline["pending_ops"]
    for command, back in (("disable", "enable"), ("shutdown", None)):
        assert daemon.ask(f"{command} frontend web").strip() == ""
        assert "listen.web.1" not in daemon.info()
        # A worker that has not left yet takes who comes.
        wait_until(lambda: daemon.info()["pending_ops"] == ops - daemon.info()["workers"], "workers leave")
        client = peers.connect(where)
        client.send(1000)
        assert stays(lambda: daemon.info()["sessions"] == 0, 0.3 * SCALE), "nobody accepts"
        assert link in process.descriptors(daemon.pid), "it stays open"
        if back:
            assert daemon.ask(f"{back} frontend web").strip() == ""
        else:
            daemon.reload("bind = fd@web\n", "bind = fd@web\nmaxconn = 9\n", words=())
        server = peers.accept(listener)
        assert server.conn == client.conn
        server.receive(1000)
        client.close()
        server.close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "it has ended")


def test_a_stop_does_not_wait_for_a_disabled_frontend(world):
    w = world()
    w.do("disable frontend web")
    w.wait_left()
    begin = time.monotonic()
    w.daemon.ended = True
    assert w.daemon.terminate() == 0
    assert time.monotonic() - begin < 5


# ---- limits -------------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.parametrize("limit", ("frontend web", "global"))
def test_a_lower_maxconn_keeps_out_and_a_higher_one_lets_in(world, peers, limit):
    w = world()
    first, server = peers.pair(w.both[0], w.listener)
    w.do(f"set maxconn {limit} 1")
    late = peers.connect(w.both[0])
    late.send(1000)
    assert stays(lambda: w.daemon.info()["sessions"] == 1, 0.3 * SCALE), "the second waits"
    first.send(1000)
    server.receive(1000)
    w.do(f"set maxconn {limit} 2")
    served = peers.accept(w.listener)
    assert served.conn == late.conn
    served.receive(1000)
    info = w.daemon.info()
    assert info["frontend.web.maxconn"] == 2
    assert info["Maxconn"] == (2 if limit == "global" else info["Hard_maxconn"])
    peers.close()


def test_a_maxconn_of_0_lets_nobody_in(world, peers):
    w = world()
    w.do("set maxconn frontend web 0")
    client = peers.connect(w.both[0])
    client.send(1000)
    assert stays(lambda: w.daemon.info()["sessions"] == 0, 0.3 * SCALE), "it waits"
    w.do("set maxconn frontend web 10")
    assert peers.accept(w.listener).conn == client.conn
    peers.close()


@pytest.mark.parametrize("threads", ("1", "4"))
def test_a_rate_of_the_process_holds_for_all_frontends(weir, peers, threads):
    listener = peers.listen()
    sections = "".join(f"[listen l{i}]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n" for i in (1, 2))
    daemon = weir(sections, f"threads = {threads}")
    assert daemon.ask("set rate-limit connections global 10").strip() == ""
    assert daemon.info()["ConnRateLimit"] == 10
    begin = time.monotonic()
    for i in range(30):
        peers.connect(daemon.address(f"l{i % 2 + 1}"))
    for _ in range(30):
        peers.accept(listener)
    took = time.monotonic() - begin
    assert took > 1.7, f"30 clients came in {took:.2f} s"
    assert daemon.info()["rate_pauses"] > 0
    daemon.ask("set rate-limit connections global 1")
    for i in range(10):
        peers.connect(daemon.address("l1"))
    assert daemon.ask("set rate-limit connections global 0").strip() == ""
    begin = time.monotonic()
    for _ in range(10):
        peers.accept(listener)
    assert time.monotonic() - begin < 5
    assert daemon.info()["ConnRateLimit"] == 0
    peers.close()


# ---- across a reload ----------------------------------------------------------------------------

def test_disabled_survives_a_reload_of_its_section(world, peers, folder):
    w = world()
    w.do("disable frontend web")
    w.wait_left()
    w.reload(w.daemon.config + OTHER)
    w.reload("default-backend = app\n",
             f"default-backend = app\nmaxconn = 9\nbind = unix:{folder}/more.sock\n")
    assert status(w.daemon) == "PAUSED"
    assert all(refuses(a) for a in w.both)
    assert not os.path.exists(f"{folder}/more.sock")
    w.do("enable frontend web")
    assert os.path.exists(f"{folder}/more.sock")
    for where in w.both:
        talk(peers, w.listener, where)
    w.end(peers)


def test_shut_down_survives_a_reload_until_its_section_changes(world, peers):
    w = world()
    w.do("shutdown frontend web")
    w.wait_left()
    assert "nothing has changed" in w.reload()
    w.reload(w.daemon.config + OTHER)
    assert status(w.daemon) == "STOP"
    assert all(refuses(a) for a in w.both)
    said = w.reload("default-backend = app\n", "default-backend = app\nmaxconn = 9\n")
    assert "frontend web changed" in said
    assert status(w.daemon) == "OPEN"
    for where in w.both:
        talk(peers, w.listener, where)
    w.end(peers)


def test_a_frontend_that_cannot_be_back_refuses_the_reload(world, peers):
    w = world()
    w.do("shutdown frontend web")
    w.wait_left()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(w.both[0].sockaddr)
        other.listen()
        w.daemon.rewrite("default-backend = app\n", "default-backend = app\nmaxconn = 9\n")
        assert "cannot listen on" in w.daemon.reload(words=(), refused=True)
    assert refuses(w.both[1])
    assert status(w.daemon) == "STOP"
    w.reload()
    for where in w.both:
        talk(peers, w.listener, where)
    w.end(peers)


def test_limits_survive_a_reload_until_the_file_changes_them(world, peers):
    w = world(frontend="maxconn = 50\n", global_options="maxconn = 100")
    w.do("set maxconn frontend web 5; set maxconn global 70; set rate-limit connections global 1000")
    w.reload(w.daemon.config + OTHER)
    info = w.daemon.info()
    assert [info[k] for k in ("frontend.web.maxconn", "Maxconn", "ConnRateLimit")] == [5, 70, 1000]
    w.reload("maxconn = 50\n", "maxconn = 60\n")
    info = w.daemon.info()
    assert [info[k] for k in ("frontend.web.maxconn", "Maxconn", "ConnRateLimit")] == [60, 70, 1000]
    w.reload("maxconn = 100\n", "maxconn = 90\n")
    info = w.daemon.info()
    assert [info[k] for k in ("frontend.web.maxconn", "Maxconn", "ConnRateLimit")] == [60, 90, 1000]
    w.end(peers)


# ---- beside unlisten ----------------------------------------------------------------------------

def test_a_server_that_comes_up_does_not_enable_it(world, peers):
    w = world(frontend="unlisten = no-server\n")
    w.daemon.expected_alarms = "no server left"
    w.do("disable frontend web")
    w.do("set server app/a state maint")
    w.wait_left()
    w.do("set server app/a state ready")
    assert stays(lambda: all(refuses(a) for a in w.both), 0.3 * SCALE), "it stays disabled"
    w.do("set server app/a state maint")
    w.do("enable frontend web")
    assert stays(lambda: all(refuses(a) for a in w.both), 0.3 * SCALE), "there is no server"
    w.do("set server app/a state ready")
    for where in w.both:
        wait_until(lambda a=where: listens(a), "it listens again")
        talk(peers, w.listener, where)
    w.end(peers)
