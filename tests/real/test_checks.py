# SPDX-License-Identifier: MIT
"""Checks that speak MySQL's protocol or SMTP, against MariaDB and Postfix."""

import os
import subprocess

import pytest

import trees
from galera import HOSTS, Client, Galera, ask
from harness.daemon import BINARY
from harness.show_stat import NO_SERVER, listen, stat
from harness.timing import wait_until
from mail import Mail
from servers import SLOW, wait_server

# The final check has to find moments without a check.
OFTEN = "check-interval = 100ms\ncheck-timeout = 20s"
CALM = "check-interval = 500ms\ncheck-timeout = 20s"
# Where weir comes from.
STRANGER = "127.0.0.50"


def need_check(folder, words):
    """Skips the test in a build without this kind of check."""
    path = os.path.join(folder, "check.ini")
    with open(path, "w", encoding="ascii") as f:
        f.write(listen(["a = 127.0.0.1:1"], f"check = {words}"))
    got = subprocess.run([BINARY, "-c", path], capture_output=True, text=True, check=False)
    if got.returncode != 0:
        pytest.skip(f"this build has no 'check = {words}'")


@pytest.fixture
def mariadb(folder, servers):
    need_check(folder, "mysql")
    one = Galera(servers("mariadb"), HOSTS[:1])
    yield one
    one.close()


@pytest.fixture
def strict(folder, servers):
    """It counts whoever leaves without a login; not of 127.0.0.1, nor of an address without a name."""
    need_check(folder, "mysql")
    if trees.missing("openssh"):
        pytest.skip(f"libnss-wrapper cannot be fetched: {trees.missing('openssh')}")
    here = servers("mariadb")
    names = here.write("names", f"{STRANGER} lb.example.test\n")
    one = Galera(here, HOSTS[:1], {"LD_PRELOAD": trees.Tree("openssh").library("libnss_wrapper.so"),
                                   "NSS_WRAPPER_HOSTS": names})
    yield one
    one.close()


@pytest.fixture
def mail(folder, servers):
    need_check(folder, "smtp")
    return Mail(servers("mail"))


def status(mariadb, name):
    return int(ask(mariadb.port, f"SHOW GLOBAL STATUS LIKE '{name}'", HOSTS[0])[0][1])


@pytest.mark.parametrize("words", ["mysql", "mysql user=app"])
def test_mariadb_stays_up_and_holds_nothing_against_the_checker(mariadb, weir, words):
    daemon = weir(listen([f"a = {HOSTS[0]}:{mariadb.port}"], f"check = {words}", OFTEN))
    wait_server(daemon, "l", "a", "UP")
    before = status(mariadb, "Connections")
    wait_until(lambda: status(mariadb, "Connections") > before + 100, "forty checks, and what asks for them",
               SLOW)
    row = stat(daemon, "a")
    assert (row["status"], row["check_status"].lstrip("* "), row["chkfail"]) == ("UP", "L7OK", "0"), row
    if "user" in words:
        assert status(mariadb, "Aborted_connects") == 0
    mariadb.crash(HOSTS[0])
    daemon.expected_alarms = NO_SERVER
    wait_server(daemon, "l", "a", "DOWN")


def test_mariadb_is_down_for_a_user_whom_it_refuses(mariadb, weir):
    daemon = weir(listen([f"a = {HOSTS[0]}:{mariadb.port}"], "check = mysql user=stranger", OFTEN))
    daemon.expected_alarms = NO_SERVER
    wait_server(daemon, "l", "a", "DOWN")
    assert "1045" in stat(daemon, "a")["last_chk"]


def is_blocked(mariadb):
    try:
        Client(mariadb.port, HOSTS[0], STRANGER).close()
        return False
    except ValueError as e:
        assert "blocked because of many connection errors" in str(e)
        return True


def test_mariadb_blocks_the_address_of_a_check_by_tcp_and_not_of_one_that_logs_in(strict, weir):
    daemon = weir(listen([f"a = {HOSTS[0]}:{strict.port} source={STRANGER}"], "check = mysql", OFTEN))
    wait_server(daemon, "l", "a", "UP")
    before = status(strict, "Connections")
    wait_until(lambda: status(strict, "Connections") > before + 50, "twenty checks, and what asks for them",
               SLOW)
    assert not is_blocked(strict)
    before = status(strict, "Aborted_connects")
    daemon.reload("check = mysql", "check = tcp")
    # Asked from elsewhere: a login from there would begin the count anew.
    wait_until(lambda: status(strict, "Aborted_connects") > before + 5, "connections without a login", SLOW)
    assert is_blocked(strict)
    assert stat(daemon, "a")["status"] == "UP"
    daemon.reload("check = tcp", "check = mysql")
    daemon.expected_alarms = NO_SERVER
    wait_server(daemon, "l", "a", "DOWN")
    assert "1129" in stat(daemon, "a")["last_chk"]


@pytest.mark.parametrize("words", ["smtp", "smtp EHLO weir.example.test"])
def test_postfix_is_up_and_gets_a_proxy_header(mail, weir, words):
    daemon = weir(listen([f"a = 127.0.0.1:{mail.submission} send-proxy=v2"], f"check = {words}", CALM))
    wait_server(daemon, "l", "a", "UP")
    hello = "ehlo" if "EHLO" in words else "helo"
    mail.wait_for_log("postfix", f"disconnect from unknown[127.0.0.1] {hello}=1 quit=1")
    assert stat(daemon, "a")["check_status"].lstrip("* ") == "L7OK"
