# SPDX-License-Identifier: MIT
"""Danger: a backend is down, and its clients are refused although its fallback is up; or they go there
although the backend is only full; or they stay there when it is back; or one that waits is forgotten."""

import json

import pytest

from harness import checked, exchange, proxy
from harness.exchange import Leg
from harness.show_stat import losing_servers, stat
from harness.timing import stays, wait_until
from test_plan import plan
from test_queue import wait_queued


@pytest.fixture
def weir(weir):
    return losing_servers(weir)


def section(kind, name, *lines):
    return "\n".join((f"[{kind} {name}]", *lines, ""))


def config(*sections, front="default-backend = one"):
    return section("frontend", "web", "bind = 127.0.0.1:0", front) + "".join(sections)


def backend(name, listener, *lines, words=""):
    return section("backend", name, f"server a = {listener.address} {words}", *lines)


def set_state(daemon, server, state):
    assert daemon.ask(f"set server {server} state {state}").strip() == ""


def talk(client, server):
    exchange.run([Leg(client, send=3000, receive=3000), Leg(server, send=3000, receive=3000)])


def goes_to(peers, daemon, listener):
    """One client, to its end."""
    client, server = peers.pair(daemon.address("web"), listener)
    talk(client, server)


def total(daemon, name, column="stot"):
    return int(stat(daemon, "BACKEND", name)[column])


def wait_state(daemon, wanted):
    wait_until(lambda: stat(daemon, "a", "one")["status"].startswith(wanted),
               lambda: f"one/a is {wanted}\n{daemon.log()[-1500:]}")


def explain(daemon):
    steps = json.loads(daemon.ask("explain listener=web client=127.0.0.1 json"))
    return [s["text"] for s in steps if s["step"] == "fallback-backend"], steps[-1]


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_clients_go_to_the_fallback_and_return(weir, peers, threads):
    """For each way in which an administrator takes the last server out."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"), backend("two", two)),
                  f"threads = {threads}")
    goes_to(peers, daemon, one)
    for out, back in (("set server one/a state maint", "set server one/a state ready"),
                      ("set server one/a state drain", "set server one/a state ready"),
                      ("disable server one/a", "enable server one/a"),
                      ("set server one/a weight 0", "set server one/a weight 1"),
                      ("set server one/a health down", "set server one/a health up")):
        daemon.ask(out)
        goes_to(peers, daemon, two)
        assert explain(daemon)[1]["text"] == "the client goes to two/a", explain(daemon)
        daemon.ask(back)
        goes_to(peers, daemon, one)
        assert explain(daemon) == ([], explain(daemon)[1])


def test_it_is_a_session_of_the_fallback(weir, peers):
    """Its name in the log, its counters, its PROXY header and its queue; the first backend has none of it."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"),
                         backend("two", two, "timeout-queue = 300ms", words="maxconn=1 send-proxy=v2")))
    set_state(daemon, "one/a", "maint")
    client = peers.connect(daemon.address("web"), hello=False)
    server = peers.keep(two.accept())
    assert proxy.Received(server).version == 2
    late = peers.connect(daemon.address("web"), hello=False)
    assert late.receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="timeout-queue")
    assert line["backend"] == "two", line
    client.close()
    server.close()
    line = daemon.wait_session_line(server="a")
    assert line["backend"] == "two" and line["frontend"] == "web", line
    assert total(daemon, "one") == 0 and total(daemon, "two") == 2


def test_full_is_not_down(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two", "timeout-queue = 1m",
                                 words="maxconn=1"), backend("two", two)))
    first = peers.pair(daemon.address("web"), one)
    late = peers.connect(daemon.address("web"))
    wait_queued(daemon, 1)
    assert stays(lambda: total(daemon, "two") == 0, 0.1)
    for side in first:
        side.close()
    server = peers.accept(one)
    talk(late, server)


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_clients_that_wait_follow(weir, peers, threads):
    """When the last server leaves, and neither before nor after that is one forgotten."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(section("backend", "one", f"server a = {one.address} maxconn=1",
                                 f"server b = {one.address} maxconn=1", "timeout-queue = 1m",
                                 "fallback-backend = two"), backend("two", two)), f"threads = {threads}")
    kept = [peers.pair(daemon.address("web"), one) for _ in range(2)]
    clients = {}
    for _ in range(30):
        client = peers.connect(daemon.address("web"))
        clients[client.conn] = client
    wait_queued(daemon, 30)
    set_state(daemon, "one/a", "maint")
    assert stays(lambda: total(daemon, "two") == 0, 0.1)
    set_state(daemon, "one/b", "drain")
    while clients:
        server = peers.accept(two)
        client = clients.pop(server.conn)
        talk(client, server)
    assert total(daemon, "one", "scur") == 2 and total(daemon, "one", "qcur") == 0
    assert total(daemon, "two") == 30
    for client, server in kept:
        talk(client, server)


def test_backups_come_first_and_the_chain_goes_on(weir, peers):
    spare, two, three = peers.listen(), peers.listen(), peers.listen()
    one = peers.listen()
    daemon = weir(config(section("backend", "one", f"server a = {one.address}",
                                 f"server b = {spare.address} backup", "fallback-backend = two"),
                         backend("two", two, "fallback-backend = three"), backend("three", three)))
    set_state(daemon, "one/a", "maint")
    goes_to(peers, daemon, spare)
    set_state(daemon, "one/b", "maint")
    goes_to(peers, daemon, two)
    set_state(daemon, "two/a", "maint")
    goes_to(peers, daemon, three)
    assert [text.split(":")[0] for text in explain(daemon)[0]] == ["one", "two"]
    set_state(daemon, "one/b", "ready")
    goes_to(peers, daemon, spare)


@pytest.mark.parametrize("last, end", (("", "fin"), ("no-server = reset", "reset")))
def test_the_end_of_the_chain_decides(weir, peers, last, end):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"), backend("two", two),
                         front=f"default-backend = one\n{last}"))
    for name in ("one/a", "two/a"):
        set_state(daemon, name, "maint")
    assert peers.connect(daemon.address("web"), hello=False).receive_to_end() == end
    line = daemon.wait_session_line(reason_text="no server is usable")
    assert line["backend"] == "two", line
    assert explain(daemon)[1]["outcome"] == "no_server"


def test_clients_may_wait_at_the_end_of_the_chain(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"),
                         backend("two", two, "timeout-queue = 1m"),
                         front="default-backend = one\nno-server = queue"))
    for name in ("one/a", "two/a"):
        set_state(daemon, name, "maint")
    client = peers.connect(daemon.address("web"))
    wait_queued(daemon, 1)
    assert total(daemon, "two", "qcur") == 1
    set_state(daemon, "two/a", "ready")
    server = peers.accept(two)
    talk(client, server)


def test_panic_waits_for_the_end_of_the_chain(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir("[defaults]\npanic = on\n" +
                  config(backend("one", one, "fallback-backend = two"), backend("two", two)))
    goes_to(peers, daemon, one)
    daemon.ask("set server one/a health down")
    goes_to(peers, daemon, two)
    daemon.ask("set server two/a health down")
    goes_to(peers, daemon, two)


@pytest.mark.smoke
def test_health_checks_lead_there_and_back(weir, peers):
    one, two = peers.listen(hold=True), peers.listen()
    checks = ("check = tcp", "check-interval = 100ms", "check-fall = 1", "check-rise = 1")
    daemon = checked.lasting(weir(config(backend("one", one, "fallback-backend = two", *checks),
                                         backend("two", two))))
    wait_until(lambda: stat(daemon, "a", "one")["check_status"].endswith("L4OK"), "it was checked")
    one.die()
    wait_state(daemon, "DOWN")
    goes_to(peers, daemon, two)
    wait_until(lambda: "one has no server left; new clients go to backend two" in daemon.log(), daemon.log)
    again = peers.listen(where=one.address)
    wait_state(daemon, "UP")
    client = peers.connect(daemon.address("web"))
    assert peers.accept(again, skip_silent=True).conn == client.conn


def test_a_try_that_has_begun_stays(weir, peers):
    """Refused by the only server, which then leaves: the retry finds no server, and goes nowhere else."""
    one, two = peers.listen(listen=False), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two", "retries = 9", "timeout-connect = 1s"),
                         backend("two", two)))
    client = peers.connect(daemon.address("web"), hello=False)
    wait_until(lambda: any("state=waiting" in line for line in daemon.sessions()), "it pauses")
    set_state(daemon, "one/a", "maint")
    assert client.receive_to_end() == "fin"
    line = daemon.wait_session_line(reason_text="no server is usable")
    assert line["backend"] == "one" and int(line["tries"]) <= 9, line
    assert total(daemon, "two") == 0


def test_reloads_add_move_and_remove_it(weir, peers):
    one, two, three = (peers.listen() for _ in range(3))
    plain = config(backend("one", one))
    daemon = weir(plain)
    text = daemon.config
    to_two = text.replace("[backend one]", "[backend one]\nfallback-backend = two") + backend("two", two)
    to_three = to_two.replace("fallback-backend = two", "fallback-backend = three") + backend("three", three)
    set_state(daemon, "one/a", "maint")
    for _ in range(3):
        assert "reloaded: " in daemon.reload(to_two)  # with the backend itself
        goes_to(peers, daemon, two)
        assert "reloaded: " in daemon.reload(to_three.replace(backend("two", two), ""))
        goes_to(peers, daemon, three)
        assert "reloaded: " in daemon.reload(text)
        client = peers.connect(daemon.address("web"), hello=False)
        assert client.receive_to_end() == "fin"
    set_state(daemon, "one/a", "ready")
    goes_to(peers, daemon, one)


def test_a_reload_sends_on_clients_that_wait(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "timeout-queue = 1m"),
                         front="default-backend = one\nno-server = queue"), "threads = 2")
    set_state(daemon, "one/a", "maint")
    clients = {c.conn: c for c in (peers.connect(daemon.address("web")) for _ in range(10))}
    wait_queued(daemon, 10)
    daemon.reload(daemon.config.replace("[backend one]", "[backend one]\nfallback-backend = two") +
                  backend("two", two))
    while clients:
        server = peers.accept(two)
        client = clients.pop(server.conn)
        talk(client, server)


def test_clients_that_wait_at_a_removed_fallback_are_served(weir, peers):
    one, two = peers.listen(), peers.listen()
    plain = config(backend("one", one))
    daemon = weir(plain)
    text = daemon.config
    daemon.reload(text.replace("[backend one]", "[backend one]\nfallback-backend = two") +
                  backend("two", two, "timeout-queue = 1m", words="maxconn=1"))
    set_state(daemon, "one/a", "maint")
    first, server = peers.pair(daemon.address("web"), two)
    clients = {c.conn: c for c in (peers.connect(daemon.address("web")) for _ in range(5))}
    wait_until(lambda: total(daemon, "two", "qcur") == 5, "five clients in the queue")
    assert "reloaded: " in daemon.reload(text)
    talk(first, server)
    while clients:
        server = peers.accept(two)
        talk(clients.pop(server.conn), server)
    wait_until(lambda: daemon.info()["sessions"] == 0, "no session")


def test_a_plan_shows_it_and_a_mistake_is_refused(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one)))
    text = daemon.config
    new = text.replace("[backend one]", "[backend one]\nfallback-backend = two") + backend("two", two)
    daemon.replace(new)
    said = plan(daemon, code=10).stdout
    assert "fallback-backend" in said, said
    for wrong, why in ((new.replace("backend = two", "backend = tow"), "'tow' is not defined"),
                       (new + "fallback-backend = one\n", "in a circle: one -> two -> one")):
        daemon.replace(wrong)
        said = daemon.ask("reload")
        assert why in said, said
    goes_to(peers, daemon, one)


def test_why_says_who_serves_whom(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"), backend("two", two)))

    def why(name):
        return [s["text"] for s in json.loads(daemon.ask(f"why {name} json")) if "server" not in s]
    assert any("two: not taken, as a server is in use" in text for text in why("one")), why("one")
    assert not any("come here" in text for text in why("two"))
    set_state(daemon, "one/a", "maint")
    assert any("taken, as no server is usable; new clients go to two" in t for t in why("one")), why("one")
    assert any("clients of one come here" in text for text in why("two")), why("two")
    texts, last = explain(daemon)
    assert texts == ["one: all its servers are taken out (of 1): the client goes to two"], texts
    assert last["outcome"] == "server"


def test_a_frontend_listens_while_a_fallback_serves(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(config(backend("one", one, "fallback-backend = two"), backend("two", two),
                         front="default-backend = one\nunlisten = no-server"))
    where = daemon.address("web")
    set_state(daemon, "one/a", "maint")
    goes_to(peers, daemon, two)
    set_state(daemon, "two/a", "maint")
    wait_until(lambda: "left until one is" in daemon.log(), "it leaves its address")
    set_state(daemon, "two/a", "ready")
    wait_until(lambda: "taken again" in daemon.log(), "it takes its address again")
    client = peers.connect(where)
    assert peers.accept(two).conn == client.conn
