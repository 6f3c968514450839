# SPDX-License-Identifier: MIT
"""mysql.ini and `check = mysql` in front of stubs that replay packets of MySQL 8.0 and 8.4. MariaDB runs in
test_checks.py."""

import socket

import pytest

import examples
import mysql8
from harness.show_stat import NO_SERVER, listen, stat
from harness.timing import wait_until
from mysql8 import MySql8
from servers import SLOW, wait_server
from writer import PATIENCE

OFTEN = "check-interval = 200ms\ncheck-timeout = 20s"
NO_PASSWORD = mysql8.packet(3, b"")


@pytest.fixture
def mysql():
    """mysql(VERSION, USER=WAY...)"""
    running = []

    def start(*how, **users):
        running.append(MySql8(*how, **users))
        return running[-1]

    yield start
    for one in running:
        one.sock.close()


def check(weir, server, words):
    daemon = weir(listen([f"a = {server.address}"], f"check = {words}", OFTEN))
    daemon.expected_alarms = NO_SERVER
    return daemon


def names_in(login):
    """The user, and the way to authenticate that the check proposes."""
    return login[36:].split(b"\0")[0].decode(), login.split(b"\0")[-2].decode()


def test_the_stub_writes_what_was_recorded():
    assert MySql8("8.0").switch("caching_sha2_password") == mysql8.RECORDED_SWITCH
    assert mysql8.error(2, mysql8.ACCESS_DENIED, "Access denied for user 'root'@'10.232.31.8' "
                        "(using password: YES)", "28000") == mysql8.RECORDED_DENIED
    assert mysql8.error(0, mysql8.TOO_MANY, "Too many connections") == mysql8.RECORDED_TOO_MANY


@pytest.mark.parametrize("version", ["8.0", "8.4"])
@pytest.mark.parametrize("way", ["native", "caching", "fast", "asks-native"])
def test_a_user_without_a_password_gets_in_and_leaves_politely(mysql, weir, version, way):
    server = mysql(version, weir=way)
    daemon = check(weir, server, "mysql user=weir")
    wait_server(daemon, "l", "a", "UP")
    wait_until(lambda: len(server.heard) > 8, "eight checks, and the begin of another", SLOW)
    row = stat(daemon, "a")
    assert (row["check_status"].lstrip("* "), row["chkfail"], server.errors) == ("L7OK", "0", 0), row
    for login, *rest in server.heard[:8]:
        assert names_in(login) == ("weir", "mysql_native_password")
        assert rest == ([] if way == "native" else [NO_PASSWORD]) + [mysql8.QUIT]


@pytest.mark.parametrize("version", ["8.0", "8.4"])
def test_a_server_is_alive_that_refuses_a_stranger_and_is_not_for_a_user(mysql, weir, version):
    server = mysql(version)
    daemon = check(weir, server, "mysql")
    wait_server(daemon, "l", "a", "UP")
    wait_until(lambda: len(server.heard) > 7, "eight checks", SLOW)
    row = stat(daemon, "a")
    assert (row["last_chk"], row["chkfail"], server.errors) == ("does not let 'weir' in", "0", 0), row
    assert server.heard[0][1:] == [NO_PASSWORD]

    daemon = check(weir, server, "mysql user=joe")
    wait_server(daemon, "l", "a", "DOWN")
    assert r"1045: Access denied for user \x27joe\x27@" in stat(daemon, "a")["last_chk"]


def test_a_server_that_is_full_is_down_and_says_so(mysql, weir):
    server = mysql("8.4", weir="caching")
    daemon = check(weir, server, "mysql user=weir")
    wait_server(daemon, "l", "a", "UP")
    server.full = True
    wait_server(daemon, "l", "a", "DOWN")
    assert stat(daemon, "a")["last_chk"] == "1040: Too many connections"
    server.full = False
    wait_server(daemon, "l", "a", "UP")


def test_a_check_by_tcp_gets_its_own_address_blocked(mysql, weir):
    """What load-balancing.md warns about; and `check = mysql` says what happened."""
    server = mysql("8.4", weir="caching")
    daemon = check(weir, server, "tcp")
    wait_until(lambda: server.refused > 0, "a connection is refused", SLOW)
    assert stat(daemon, "a")["status"] == "UP"

    daemon = check(weir, server, "mysql user=weir")
    wait_server(daemon, "l", "a", "DOWN")
    assert stat(daemon, "a")["last_chk"].startswith(r"1129: Host \x27127.0.0.1\x27 is blocked")


def greeting(port):
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.settimeout(PATIENCE)
        said = client.recv(4096)
        client.sendall(mysql8.packet(1, b"\x01\x82\x08\0" + b"\0" * 28 + b"app\0\0mysql_native_password\0"))
        assert client.recv(4096) == mysql8.packet(2, mysql8.OK)
        client.sendall(mysql8.QUIT)
        return said


def test_the_replica_takes_over_and_the_first_server_stays_out_until_it_is_put_back(mysql, weir):
    one, two = mysql("8.0", weir="caching", app="native"), mysql("8.4", weir="caching", app="native")
    config, options = examples.load("mysql.ini")
    daemon = weir(config, options, environment={"DB_1": one.address, "DB_2": two.address})
    port = daemon.address("mysql").port
    for server in ("db1", "db2"):
        wait_server(daemon, "mysql", server, "UP")
    assert greeting(port) == one.greeting
    one.die()
    wait_server(daemon, "mysql", "db1", "DOWN")
    assert greeting(port) == two.greeting

    one.start()
    wait_until(lambda: stat(daemon, "db1", "mysql")["check_status"].lstrip("* ") == "L7OK", "good checks",
               SLOW)
    assert stat(daemon, "db1", "mysql")["status"].startswith("DOWN")
    assert greeting(port) == two.greeting
    daemon.ask("set server mysql/db1 health up")
    wait_server(daemon, "mysql", "db1", "UP")
    assert greeting(port) == one.greeting
