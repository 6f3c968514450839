# SPDX-License-Identifier: MIT
"""Danger: a reload that undoes what an administrator has set, or keeps it although the file has changed. One
row for each thing about a server that can be set at run time."""

import csv

import pytest

from harness.run_time import ROWS, World, order, stat, state


@pytest.fixture
def world(weir, closing):
    return lambda **kw: World(weir, closing, **kw)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_set_stays_until_the_file_says_something_else(world, row):
    w = world(words=row.words, backend=row.backend)
    w.daemon.expected_alarms = "is DOWN"
    for command in row.commands:
        w.daemon.ask(command)
    assert row.see(w.daemon) == row.set
    w.reload()
    assert row.see(w.daemon) == row.set
    # Other words of the same line.
    changed = w.line.replace("\n", " maxqueue=9\n")
    w.reload(w.line, changed)
    assert row.see(w.daemon) == row.set
    w.reload(changed, w.line.replace(f"{row.words}\n", f"{row.other}\n"))
    assert row.see(w.daemon) == row.file
    # The way back is a change of the file like any other.
    w.reload(w.line.replace(f"{row.words}\n", f"{row.other}\n"), w.line)
    assert row.see(w.daemon) != row.set


def port(address):
    return address.rsplit(":", 1)[1]


def move(daemon, name, to):
    said = daemon.ask(f"set server app/{name} addr 127.0.0.1 port {port(to)}")
    assert "port changed" in said, said


def add(w, name="x", words=""):
    order(w.daemon, f"add server app/{name} {w.third}{words}", "New server registered.")


def delete(daemon, name):
    order(daemon, f"disable server app/{name}")
    assert daemon.ask(f"wait 5s srv-removable app/{name}").strip() == "Done."
    order(daemon, f"del server app/{name}", "Server deleted.")


def names(daemon):
    return {row["svname"] for row in csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
            if row["pxname"] == "app"} - {"BACKEND", "FRONTEND"}


def test_a_moved_server_stays_where_it_is_until_its_address_in_the_file_changes(world):
    w = world()
    first = state(w.daemon, "a", "srv_port")
    move(w.daemon, "a", w.third)
    w.reload()
    assert state(w.daemon, "a", "srv_port") == (port(w.third),)
    changed = w.line.replace("\n", " weight=9\n")
    w.reload(w.line, changed)
    assert state(w.daemon, "a", "srv_port", "srv_uweight") == (port(w.third), "9")
    # Back where the file says; and the file moves it.
    move(w.daemon, "a", f"127.0.0.1:{first[0]}")
    move(w.daemon, "a", w.third)
    w.reload(changed, f"server a = {w.second}\n")
    assert state(w.daemon, "a", "srv_port") == (port(w.second),)
    w.reload(f"server a = {w.second}\n", w.line)
    assert state(w.daemon, "a", "srv_port") == first


def test_an_added_server_stays_until_the_file_names_it(world, peers):
    w = world()
    one = peers.listen()
    w.third = one.address
    add(w, words=" weight 77")
    order(w.daemon, "disable server app/a; disable server app/b; enable server app/x")
    client, server = peers.pair(w.daemon.address("web"), one)
    w.reload()
    assert state(w.daemon, "x", "srv_uweight", "srv_admin_state") == ("77", "0")
    total = stat(w.daemon, "x", "stot")
    # The file's words hold, and what happened to it goes on.
    w.reload(w.line, f"{w.line}server x = {one.address} weight=5\n")
    assert state(w.daemon, "x", "srv_uweight", "srv_iweight") == ("5", "5")
    assert (stat(w.daemon, "x", "stot"), stat(w.daemon, "x", "scur")) == (total, "1")
    client.send(1000)
    server.receive(1000)
    # From here on it is like any other: without a line it goes, and its session goes on.
    order(w.daemon, "enable server app/a; enable server app/b")
    w.reload(f"server x = {one.address} weight=5\n", "")
    assert "x" not in names(w.daemon)
    server.send(1000)
    client.receive(1000)
    client.fin()
    server.fin()


def test_an_adopted_server_keeps_its_administrative_state(world):
    w = world()
    add(w)
    line = f"server x = {w.third}\n"
    w.reload(w.line, w.line + line)
    assert stat(w.daemon, "x", "status") == "MAINT"
    w.reload(line, f"server x = {w.third} weight=3\n")
    assert stat(w.daemon, "x", "status") == "MAINT"
    order(w.daemon, "enable server app/x")
    w.reload()
    assert stat(w.daemon, "x", "status") == "no check"
    w.reload(f"server x = {w.third} weight=3\n", f"server x = {w.third} weight=3 disabled\n")
    assert stat(w.daemon, "x", "status") == "MAINT"


def test_a_line_with_another_address_is_another_server(world):
    w = world()
    add(w)
    order(w.daemon, "enable server app/x")
    w.reload(w.line, f"{w.line}server x = 127.0.0.1:7\n")
    assert state(w.daemon, "x", "srv_port", "srv_admin_state") == ("7", "0")
    w.reload("server x = 127.0.0.1:7\n", "")
    assert "x" not in names(w.daemon)


def test_an_added_server_is_adopted_where_it_was_moved_to(world):
    w = world()
    order(w.daemon, "add server app/x 127.0.0.1:7", "New server registered.")
    move(w.daemon, "x", w.third)
    total = state(w.daemon, "x", "srv_id")
    w.reload(w.line, f"{w.line}server x = {w.third}\n")
    assert state(w.daemon, "x", "srv_port", "srv_id") == (port(w.third), *total)
    w.reload()
    assert state(w.daemon, "x", "srv_port") == (port(w.third),)


def test_an_added_server_goes_with_its_backend(world):
    w = world()
    more = f"[listen more]\nbind = 127.0.0.1:0\nserver a = {w.second}\n"
    w.reload("[frontend web]\n", f"{more}[frontend web]\n")
    order(w.daemon, f"add server more/x {w.third}", "New server registered.")
    w.reload(more, "")
    w.reload("[frontend web]\n", f"{more}[frontend web]\n")
    assert state(w.daemon, "x", "srv_port", proxy="more") is None


def test_a_deleted_server_stays_deleted_until_its_line_changes(world):
    w = world()
    delete(w.daemon, "a")
    w.reload()
    assert names(w.daemon) == {"b"}
    changed = w.line.replace("\n", " weight=9\n")
    w.reload(w.line, changed)
    assert state(w.daemon, "a", "srv_uweight", "srv_admin_state") == ("9", "0")
    # The way back changes the line, and nothing remembers the deletion.
    w.reload(changed, w.line)
    assert names(w.daemon) == {"a", "b"}


def test_a_file_without_the_line_forgets_that_a_server_was_deleted(world):
    w = world()
    delete(w.daemon, "a")
    w.reload(w.line, "")
    assert names(w.daemon) == {"b"}
    w.reload("[backend app]\n", f"[backend app]\n{w.line}")
    assert names(w.daemon) == {"a", "b"}


def test_another_server_of_a_deleted_name_stays_until_the_line_changes(world):
    w = world()
    delete(w.daemon, "a")
    add(w, "a", " weight 77")
    w.reload()
    assert state(w.daemon, "a", "srv_port", "srv_uweight") == (port(w.third), "77")
    w.reload(w.line, f"server a = {w.third}\n")
    assert state(w.daemon, "a", "srv_port", "srv_uweight") == (port(w.third), "1")


def test_a_refused_file_changes_nothing_of_what_was_set(world):
    w = world(words=" weight=10")
    add(w)
    delete(w.daemon, "b")
    w.daemon.ask("set weight app/a 5")
    w.daemon.reload(w.line, f"{w.line}server x = {w.third} nonsense\n", refused=True)
    assert names(w.daemon) == {"a", "x"} and state(w.daemon, "a", "srv_uweight") == ("5",)
    w.reload(" nonsense\n", "\n")
    assert names(w.daemon) == {"a", "x"} and state(w.daemon, "a", "srv_uweight") == ("5",)
