# SPDX-License-Identifier: MIT
"""Danger: a server that an operator adds, moves or deletes gets clients too early, too late or for ever, or
takes a client's bytes with it."""

import csv
import socket
import subprocess
import threading
import time

import pytest

from harness.daemon import BINARY
from harness.timing import PATIENCE, wait_until

WORDS = ("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = app\n[backend app]\n{}\nserver a = {}\n"
         "[backend other]\nserver a = 127.0.0.1:9\n")


def ask(daemon, command):
    """As HAProxy's tools do: the harness asks for our own texts."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(3 * PATIENCE)
        s.connect(daemon.admin)
        s.sendall(command.encode() + b"\n")
        with s.makefile(encoding="utf-8") as f:
            return f.read()


def do(daemon, *commands, answer=""):
    for command in commands:
        assert ask(daemon, command).strip() == answer, (command, ask(daemon, "show servers state app"))


def serve(daemon, peers, listener, count):
    """`count` sessions from beginning to end, all with this server."""
    for _ in range(count):
        client, server = peers.pair(daemon.address("f"), listener)
        client.fin()
        server.fin()


def stat(daemon, name, proxy="app"):
    rows = csv.DictReader(ask(daemon, "show stat").lstrip("# ").splitlines())
    return next((row for row in rows if (row["pxname"], row["svname"]) == (proxy, name)), None)


def states(daemon):
    lines = ask(daemon, "show servers state app").splitlines()
    names = lines[1][2:].split(" ")
    rows = [dict(zip(names, line.split(" "), strict=True)) for line in lines[2:] if line]
    return {row["srv_name"]: row for row in rows}


class Talk:
    """One connection to the admin socket with a prompt, as tools keep them."""

    def __init__(self, daemon):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(3 * PATIENCE)
        self.sock.connect(daemon.admin)
        self.say("prompt")

    def say(self, command):
        self.sock.sendall(command.encode() + b"\n")
        got = b""
        while not got.endswith(b"\n> "):
            more = self.sock.recv(65536)
            assert more, got
            got += more
        return got[:-3].decode().strip()

    def close(self):
        self.sock.close()


def test_an_added_server_gets_clients_once_it_is_enabled(weir, peers):
    first, second = peers.listen(), peers.listen()
    daemon = weir(WORDS.format("", first.address))
    do(daemon, f"add server app/b {second.address} weight 10", answer="New server registered.")
    assert stat(daemon, "b")["status"] == "MAINT"
    serve(daemon, peers, first, 3)
    assert stat(daemon, "a")["stot"] == "3", "all went to a"
    assert stat(daemon, "b")["stot"] == "0"
    do(daemon, "enable server app/b", "disable server app/a")
    serve(daemon, peers, second, 3)
    assert stat(daemon, "b")["stot"] == "3", "all went to b"
    do(daemon, "get weight app/b", answer="10 (initial 10)")
    do(daemon, "enable server app/a", "disable server app/b")
    do(daemon, "wait 5s srv-removable app/b", answer="Done.")
    do(daemon, "del server app/b", answer="Server deleted.")
    assert stat(daemon, "b") is None
    assert int(stat(daemon, "BACKEND")["stot"]) == 6, "what a deleted server has served counts on"


def test_sessions_hold_a_server_and_their_bytes_arrive(weir, peers):
    first, second = peers.listen(), peers.listen()
    daemon = weir(WORDS.format("", first.address))
    daemon.expected_alarms = "has no server left"
    do(daemon, f"add server app/b {second.address}", answer="New server registered.")
    do(daemon, "enable server app/b", "disable server app/a")
    client, server = peers.pair(daemon.address("f"), second)
    client.send(1000)
    server.receive(1000)
    do(daemon, "del server app/b", answer="Only servers in maintenance mode can be deleted.")
    do(daemon, "wait 1s srv-removable app/b",
       answer="Failed. Only servers in maintenance mode can be deleted.")
    do(daemon, "disable server app/b")
    do(daemon, "del server app/b", answer="Server still has connections attached to it, cannot remove it.")
    began = time.monotonic()
    do(daemon, "wait 300 srv-removable app/b",
       answer="Wait delay expired. Server still has connections attached to it, cannot remove it.")
    assert time.monotonic() - began >= 0.29
    server.send(1000)
    client.receive(1000)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(ask(daemon, "wait 1m srv-removable app/b")))
    waiting.start()
    assert ask(daemon, "show backend"), "somebody else is answered meanwhile"
    client.fin()
    server.fin()
    waiting.join(3 * PATIENCE)
    assert [answer.strip() for answer in answers] == ["Done."]
    do(daemon, "del server app/b", answer="Server deleted.")
    do(daemon, "enable server app/a")


def test_who_waits_and_goes_is_forgotten(weir, peers):
    daemon = weir(WORDS.format("", peers.listen().address))
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(daemon.admin)
            s.sendall(b"wait 1h\n")
    wait_until(lambda: ask(daemon, "show backend").startswith("# name"), "there is a place for others")
    do(daemon, "wait 1", "wait 1ms", answer="Done.")
    assert ask(daemon, "wait 5; get weight app/a").split("\n")[:3] == ["Done.", "", "1 (initial 1)"]


def test_our_own_verb_says_what_to_do(weir, peers):
    daemon = weir(WORDS.format("", peers.listen().address))

    def ctl(*words):
        got = subprocess.run([BINARY, "ctl", "-s", daemon.admin, *words], capture_output=True, text=True,
                             timeout=3 * PATIENCE, stdin=subprocess.DEVNULL, check=False)
        return got.returncode, (got.stdout + got.stderr).strip()
    assert ctl("add", "server", "app/b", "127.0.0.1:9", "weight=7") == (0, "New server registered.")
    assert ctl("get", "weight", "app/b") == (0, "7 (initial 7)")
    assert ctl("wait", "5", "srv-removable", "app/b") == (0, "Done.")
    assert ctl("del", "server", "app/a") == \
        (1, "error: server 'app/a' is not in maintenance; first: disable server app/a")
    assert ctl("wait", "5", "srv-removable", "app/a") == \
        (1, "error: Failed. Only servers in maintenance mode can be deleted.")
    assert ctl("wait 5; del server app/b; wait 1s srv-removable app/b") == \
        (1, "Done.\n\nServer deleted.\n\nerror: Failed. No such server.")


def test_a_server_moves_to_another_address_and_back(weir, peers):
    first, second = peers.listen(), peers.listen()
    daemon = weir(WORDS.format("", first.address))
    port = [first.address.port, second.address.port]
    do(daemon, f"set server app/a addr 127.0.0.1 port {port[1]}",
       answer=f"no need to change the addr, port changed from '{port[0]}' to '{port[1]}' "
              "by 'stats socket command'")
    client, server = peers.pair(daemon.address("f"), second)
    client.send(10)
    server.receive(10)
    do(daemon, f"set server app/a addr 127.0.0.1 port {port[0]}",
       answer=f"no need to change the addr, port changed from '{port[1]}' to '{port[0]}' "
              "by 'stats socket command'")
    server.send(10)  # the session stays where it is
    client.receive(10)
    serve(daemon, peers, first, 1)
    client.fin()
    server.fin()


def test_checks_of_an_added_server_begin_when_they_are_enabled(weir, peers):
    first = peers.listen()
    dead = peers.listen(listen=False)
    daemon = weir(WORDS.format("check-interval = 50ms\non-marked-down = keep", first.address))
    daemon.expected_alarms = "has no server left"
    do(daemon, f"add server app/b {dead.address} check inter 20 rise 1 fall 2",
       answer="New server registered.")
    do(daemon, "enable server app/b")
    row = states(daemon)["b"]
    assert (row["srv_op_state"], row["srv_check_state"]) == ("2", "2"), row
    assert stat(daemon, "b")["status"] == "no check"
    do(daemon, "enable health app/b")
    wait_until(lambda: stat(daemon, "b")["status"] == "DOWN", "it is found down")
    row = stat(daemon, "b")
    assert (row["check_rise"], row["check_fall"]) == ("1", "2"), row
    port = first.address.port
    do(daemon, f"set server app/b check-port {port}")
    wait_until(lambda: stat(daemon, "b")["status"] == "UP", "its checks go to another port")
    assert states(daemon)["b"]["srv_check_port"] == str(port)
    do(daemon, "disable health app/b", "set server app/b health down")
    assert stat(daemon, "b")["status"] == "DOWN"
    do(daemon, "set server app/b health stopping")
    assert stat(daemon, "b")["status"] == "NOLB"
    assert states(daemon)["b"]["srv_op_state"] == "3"
    do(daemon, "set server app/b health up")
    assert stat(daemon, "b")["status"] == "no check"
    do(daemon, "disable server app/b")
    do(daemon, "del server app/b", answer="Server deleted.")


# As data plane APIs and ingress controllers drive HAProxy.

def test_a_pool_is_scaled_up_and_down_as_a_data_plane_api_does(weir, peers):
    listeners = [peers.listen() for _ in range(4)]
    daemon = weir(WORDS.format("", listeners[0].address))
    talk = Talk(daemon)
    for number, one in enumerate(listeners[1:]):
        assert talk.say(f"add server app/SRV_{number} {one.address} weight 128 maxconn 100 enabled") == \
            "New server registered."
        assert talk.say(f"enable server app/SRV_{number}") == ""
    assert talk.say("add server app/SRV_0 127.0.0.1:1") == \
        "Already exists a server with the same name in backend."
    assert set(states(daemon)) == {"a", "SRV_0", "SRV_1", "SRV_2"}
    for number in range(3):
        assert talk.say(f"set server app/SRV_{number} state maint") == ""
        assert talk.say(f"wait 5s srv-removable app/SRV_{number}") == "Done."
        assert talk.say(f"del server app/SRV_{number}") == "Server deleted."
    assert set(states(daemon)) == {"a"}
    talk.close()


def test_slots_are_filled_as_an_ingress_controller_does(weir, peers):
    """It keeps servers in maintenance, gives one an address and sets it ready, all on one line."""
    first, second = peers.listen(), peers.listen()
    daemon = weir(WORDS.format("server slot = 127.0.0.1:1 disabled", first.address))
    port = second.address.port
    answer = ask(daemon, f"set server app/slot addr 127.0.0.1 port {port}; "
                        "set server app/slot weight 100; set server app/slot state ready")
    assert answer.split("\n")[0] == f"no need to change the addr, port changed from '1' to '{port}' " \
        "by 'stats socket command'"
    do(daemon, "disable server app/a")
    client, server = peers.pair(daemon.address("f"), second)
    client.send(10)
    server.receive(10)
    client.fin()
    server.fin()
    do(daemon, "enable server app/a", "set server app/slot state maint")


def test_what_is_set_on_one_line_takes_effect_together(weir, peers):
    """Between two choices: never does a client meet one change without the other."""
    listeners = [peers.listen() for _ in range(2)]
    daemon = weir(WORDS.format(f"server b = {listeners[1].address} disabled", listeners[0].address))
    before = daemon.log().count("has no server left")
    for _ in range(20):
        ask(daemon, "set server app/a state maint; set server app/b state ready")
        ask(daemon, "set server app/b state maint; set server app/a state ready")
    assert daemon.log().count("has no server left") == before


@pytest.mark.parametrize("cycles", (300,))
def test_cycles_of_add_and_delete_leave_nothing(weir, peers, cycles):
    first = peers.listen()
    daemon = weir(WORDS.format("", first.address))
    talk = Talk(daemon)
    for _ in range(cycles):
        assert talk.say(f"add server app/x {first.address} check") == "New server registered."
        assert (talk.say("enable server app/x"), talk.say("disable server app/x")) == ("", "")
        assert talk.say("del server app/x") == "Server deleted."
    talk.close()
    assert set(states(daemon)) == {"a"}
