# SPDX-License-Identifier: MIT
"""Danger: a way back (a rollback, a trial that nobody confirms, the file as it was) takes more with it than
the file, or leaves what the file overrules; a plan or `config diff` says something else about it than what
then happens. One row for each thing that can be set at run time."""

import collections
import os

import pytest

from harness.run_time import CHECKED, ROWS, Turns, World, differing, now, order, stat, state


@pytest.fixture
def start(weir, closing, folder):
    """start(way, ...): a daemon, and the way there and back."""
    def make(way, **kw):
        world = World(weir, closing, **kw)
        world.daemon.expected_alarms = "is DOWN|has no server left"
        return world, Turns(world, way, folder)
    return make


every_way = pytest.mark.parametrize("way", Turns.WAYS)


def rows(things):
    """Each by a rollback, and every fourth by a return, which is the same but for who asks for it."""
    cases = [(thing, "rollback") for thing in things] + [(thing, "return") for thing in things[::4]]
    return pytest.mark.parametrize("thing, way", cases, ids=[f"{thing.name}-{way}" for thing, way in cases])



# What is set, on a daemon with the settings `kw`: as Row, but with (what is there, what replaces it) of the
# file, NULL = the file has no word for it; and what is seen once it holds again.
Thing = collections.namedtuple("Thing", "name kw commands see set change other differs")


def of_server(row):
    """A thing from a row about a server."""
    return Thing(row.name, {"words": row.words, "backend": row.backend}, row.commands, row.see, row.set,
                 lambda w: (w.line, w.line.replace(f"{row.words}\n", f"{row.other}\n")), row.file,
                 [("server", "app", "a", *d) for d in row.differs])


def info(key):
    return lambda d: d.info()[key]


def in_section(words, other):
    return lambda w: (words, other)


WEB = "default-backend = app\n"

THINGS = [
    *map(of_server, ROWS),
    Thing("check-addr", {"backend": CHECKED}, ["set server app/a check-addr 127.0.0.2"],
          lambda d: state(d, "a", "srv_check_addr"), ("127.0.0.2",), None, None,
          [("server", "app", "a", "check-addr", "127.0.0.2", None)]),
    Thing("stopping", {"backend": CHECKED}, ["disable health app/a", "set server app/a health stopping"],
          lambda d: stat(d, "a", "status"), "NOLB",
          lambda w: (w.line, w.line.replace("\n", " check=off\n")), "no check",
          [("server", "app", "a", "checks", "disabled", "enabled"),
           ("server", "app", "a", "health", "stopping", None)]),
    Thing("disabled", {}, ["disable frontend web"],
          lambda d: stat(d, "FRONTEND", "status", "web"), "PAUSED", None, None,
          [("frontend", None, "web", "state", "disabled", "enabled")]),
    Thing("shut down", {}, ["shutdown frontend web"],
          lambda d: stat(d, "FRONTEND", "status", "web"), "STOP",
          in_section(WEB, f"{WEB}rate-limit = 1000\n"), "OPEN",
          [("frontend", None, "web", "state", "shut-down", "enabled")]),
    Thing("frontend", {"frontend": "maxconn = 50\n"}, ["set maxconn frontend web 5"],
          info("frontend.web.maxconn"), 5, in_section("maxconn = 50\n", "maxconn = 60\n"), 60,
          [("frontend", None, "web", "maxconn", "5", "50")]),
    Thing("global", {"global_options": "maxconn = 100"}, ["set maxconn global 70"],
          info("Maxconn"), 70, in_section("maxconn = 100\n", "maxconn = 90\n"), 90,
          [("global", None, None, "maxconn", "70", "100")]),
    Thing("rate-limit", {}, ["set rate-limit connections global 1000"],
          info("ConnRateLimit"), 1000, None, None,
          [("global", None, None, "rate-limit", "1000", None)]),
]


def set_thing(daemon, thing):
    """Returns what `config diff` has of it."""
    before = now()
    for command in thing.commands:
        daemon.ask(command)
    assert thing.see(daemon) == thing.set
    found = differing(daemon)
    items = [found[wanted[:4]] for wanted in thing.differs]
    for item, wanted in zip(items, thing.differs):
        assert (*item.thing, item.now, item.file) == wanted
        assert item.by_uid == os.getuid()
        assert before <= item.since <= now()
    return items


def has(daemon, items):
    return [differing(daemon).get(item.thing) for item in items] == items


@rows(THINGS)
def test_what_is_set_before_stays(start, thing, way):
    w, turns = start(way, **thing.kw)
    assert not differing(w.daemon)
    items = set_thing(w.daemon, thing)
    turns.there()
    assert thing.see(w.daemon) == thing.set and has(w.daemon, items)
    turns.back()
    assert thing.see(w.daemon) == thing.set and has(w.daemon, items)


@rows(THINGS)
def test_what_is_set_under_the_other_text_stays(start, thing, way):
    w, turns = start(way, **thing.kw)
    turns.there()
    items = set_thing(w.daemon, thing)
    turns.back()
    assert thing.see(w.daemon) == thing.set and has(w.daemon, items)


@rows([thing for thing in THINGS if thing.change is not None])
def test_what_the_file_changes_is_as_the_file_says_on_both_ways(start, thing, way):
    w, turns = start(way, **thing.kw)
    was = thing.see(w.daemon)
    items = set_thing(w.daemon, thing)
    turns.there(*thing.change(w))
    assert thing.see(w.daemon) == thing.other and not differing(w.daemon)
    turns.back()
    assert thing.see(w.daemon) == was and not differing(w.daemon)
    if thing.name in ("health", "stopping"):
        return  # of a server without checks, it is set until a check finds out something else
    # Set under the other text, and what it was set against is not there any more.
    turns.there(*thing.change(w))
    for command in thing.commands:
        w.daemon.ask(command)
    turns.back()
    assert thing.see(w.daemon) == was
    assert not any(item.thing in differing(w.daemon) for item in items)


# ---- servers that come, go and move ----

def names(daemon):
    found = ((name, state(daemon, name, "srv_port")) for name in ("a", "b", "x"))
    return {name: port[0] for name, port in found if port is not None}


def port(address):
    return address.rsplit(":", 1)[1]


def add(w, name="x", words=""):
    order(w.daemon, f"add server app/{name} {w.third}{words}", "New server registered.")


def delete(daemon, name):
    order(daemon, f"disable server app/{name}")
    assert daemon.ask(f"wait 5s srv-removable app/{name}").strip() == "Done."
    order(daemon, f"del server app/{name}", "Server deleted.")


def differs(daemon, name="x"):
    return {item.what: (item.now, item.file) for item in differing(daemon).values() if item.name == name}


@every_way
def test_an_added_server_is_there_on_both_sides(start, way):
    w, turns = start(way)
    add(w)
    turns.there()
    assert names(w.daemon)["x"] == port(w.third)
    turns.back()
    assert names(w.daemon)["x"] == port(w.third)
    assert differs(w.daemon)["added"] == (None, None)
    turns.there()
    add(w, "y", " weight 7")
    order(w.daemon, "set weight app/y 5")
    turns.back()
    assert state(w.daemon, "y", "srv_port", "srv_uweight") == (port(w.third), "5")
    assert differs(w.daemon, "y")["weight"] == ("5", "7")


@every_way
def test_an_adopted_server_is_of_the_file_and_goes_with_its_line(start, way):
    w, turns = start(way, backend=CHECKED)
    add(w, "x", " weight 7 check")
    order(w.daemon, "set weight app/x 5; enable server app/x")
    order(w.daemon, "enable health app/x")
    order(w.daemon, "disable health app/x")
    turns.there(w.line, f"{w.line}server x = {w.third} weight=9 disabled\n")
    assert state(w.daemon, "x", "srv_uweight", "srv_admin_state", "srv_check_state") == ("9", "0", "2")
    assert differs(w.daemon) == {"state": ("ready", "maint"), "checks": ("disabled", "enabled")}
    turns.back()
    assert "x" not in names(w.daemon) and not differs(w.daemon)


@every_way
def test_a_deleted_server_comes_back_with_another_line_only(start, way):
    w, turns = start(way)
    delete(w.daemon, "a")
    turns.there()
    assert "a" not in names(w.daemon)
    turns.back()
    assert "a" not in names(w.daemon) and differs(w.daemon, "a") == {"deleted": (None, None)}
    turns.there(w.line, w.line.replace("\n", " weight=9\n"))
    assert state(w.daemon, "a", "srv_uweight") == ("9",)
    # Deleted under this line, which the way back changes.
    delete(w.daemon, "a")
    turns.back()
    assert "a" in names(w.daemon) and not differing(w.daemon)
    turns.there()
    delete(w.daemon, "a")
    turns.back()
    assert "a" not in names(w.daemon)
    # A text without its line forgets it.
    turns.there(w.line, "")
    assert "a" not in names(w.daemon) and not differing(w.daemon)
    turns.back()
    assert "a" in names(w.daemon)


@every_way
def test_another_server_of_a_deleted_name_stays_beside_the_same_line(start, way):
    w, turns = start(way)
    delete(w.daemon, "a")
    add(w, "a")
    turns.there()
    assert names(w.daemon)["a"] == port(w.third)
    turns.back()
    assert names(w.daemon)["a"] == port(w.third)
    assert {"deleted", "added"} <= differs(w.daemon, "a").keys()


@every_way
def test_a_moved_server_is_back_with_another_address_only(start, way):
    w, turns = start(way)
    first = names(w.daemon)["a"]
    w.daemon.ask(f"set server app/a addr 127.0.0.1 port {port(w.third)}")
    turns.there(w.line, w.line.replace("\n", " weight=9\n"))
    assert names(w.daemon)["a"] == port(w.third)
    turns.back()
    assert names(w.daemon)["a"] == port(w.third)
    assert differs(w.daemon, "a") == {"address": (w.third, f"127.0.0.1:{first}")}
    turns.there(w.line, f"server a = {w.second}\n")
    assert names(w.daemon)["a"] == port(w.second) and not differing(w.daemon)
    turns.back()
    assert names(w.daemon)["a"] == first and not differing(w.daemon)
    turns.there()
    w.daemon.ask(f"set server app/a addr 127.0.0.1 port {port(w.third)}")
    turns.back()
    assert names(w.daemon)["a"] == port(w.third)
