# SPDX-License-Identifier: MIT
"""Danger: a server has other settings than its file says, because it inherits them; or its checks go
elsewhere."""

import subprocess

import pytest

from harness import checked, service
from harness.daemon import BINARY
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        return checked.lasting(weir(*args, **kw))

    return start


def plan(daemon):
    return subprocess.run([BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                          timeout=PATIENCE, check=False).stdout


def settings(daemon, server):
    row = stat(daemon, server)
    return row["weight"], row["slim"], row["bck"]


def test_a_reload_changes_what_servers_inherit(weir):
    daemon = weir(listen(["a = 127.0.0.1:1", "b = 127.0.0.1:2 weight=9 backup=off"],
                         "server-defaults = weight=3 maxconn=7 backup"))
    assert settings(daemon, "a") == ("3", "7", "1")
    assert settings(daemon, "b") == ("9", "7", "0")
    daemon.rewrite("server-defaults = weight=3 maxconn=7", "server-defaults = weight=4 maxconn=8")
    shown = plan(daemon)
    assert "weight: 3 -> 4" in shown and shown.count("maxconn: 7 -> 8") == 2, shown
    assert "server-defaults" not in shown, shown
    daemon.reload()
    assert settings(daemon, "a") == ("4", "8", "1")
    assert settings(daemon, "b") == ("9", "8", "0")
    # What was set at run time goes on until the value that the file gives this server changes.
    daemon.ask("set server l/a weight 50")
    daemon.reload("maxconn=8", "maxconn=9")
    assert settings(daemon, "a") == ("50", "9", "1")
    daemon.reload("server-defaults = weight=4 maxconn=9 backup", "")
    assert settings(daemon, "a") == ("1", "", "0")
    assert settings(daemon, "b") == ("9", "", "0")


def test_the_times_and_counts_of_a_check_are_those_of_the_server(services, weir):
    a, b = services(), services()
    daemon = weir(listen([f"a = {a.address}", f"b = {b.address} check-fall=1000 check-rise=100000"],
                         "check = tcp", "check-interval = 1h",
                         "server-defaults = check-interval=50ms check-fall=2"))
    wait_stat(daemon, "a", check_status="L4OK", check_health="3")
    wait_stat(daemon, "b", check_status="L4OK", check_health="100999")
    assert (stat(daemon, "b")["check_rise"], stat(daemon, "b")["check_fall"]) == ("100000", "1000")
    a.die()
    b.die()
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")
    assert stat(daemon, "b")["status"].startswith("UP")


def test_checks_go_to_check_addr_and_a_reload_takes_them_elsewhere(services, weir):
    probe = services(service.echo)
    daemon = weir(listen([f"a = 127.0.0.2:{probe.port} check-addr=127.0.0.1"], "check = tcp",
                         "check-interval = 50ms", "check-fall = 1", "check-rise = 1"))
    daemon.expected_alarms = NO_SERVER
    wait_stat(daemon, "a", check_status="L4OK")
    assert "127.0.0.1 " in daemon.ask("show servers state l").splitlines()[-1] + " "
    daemon.reload(" check-addr=127.0.0.1", "")
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")
    daemon.reload("127.0.0.2:", "127.0.0.9:")
    daemon.ask("set server l/a check-addr 127.0.0.1")
    wait_stat(daemon, "a", status="^UP", check_status="L4OK")
    # The file says now where they go, so what was set at run time does not count any more.
    daemon.reload("127.0.0.9:", "127.0.0.1:", f":{probe.port}", f":{probe.port} check-addr=127.0.0.3")
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")
