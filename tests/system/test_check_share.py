# SPDX-License-Identifier: MIT
"""Danger: shared checks ask too often, or a server takes the answer to another question, or gets none."""

import time

import pytest

from harness.checked import lasting, row_of, wait_row
from harness.service import Service, http
from harness.timing import PATIENCE, stays, wait_until

EVERY = 0.2
INTERVAL = f"check-interval = {int(EVERY * 1000)}ms\n"
CHECKED = r"(\* )?L[47]OK"


@pytest.fixture
def services():
    """services(talk): a service. Name it before `weir`: it ends after the daemon then."""
    running = []

    def start(talk=None):
        running.append(Service(talk))
        return running[-1]

    yield start
    for one in running:
        one.close()


def backend(name, where, *lines, share=True, check="tcp", words=""):
    return (f"[backend {name}]\ncheck = {check}\n{INTERVAL}" + ("check-share = on\n" if share else "") +
            "".join(f"{line}\n" for line in lines) + f"server a = {where}{words}\n")


def front(first):
    return f"[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = {first}\n"


def start(weir, text):
    daemon = lasting(weir(text))
    daemon.expected_alarms = "has no server left"
    return daemon


def checks_within(service, seconds):
    """A measurement: how many checks end in this time, or a little more, and the most that there can be of
    one server in it."""
    before, began = len(service.ends), time.monotonic()
    time.sleep(seconds)
    count = len(service.ends) - before
    return count, most(time.monotonic() - began)


def most(seconds):
    """As many as there can be of one server: a wait is up to a tenth shorter."""
    return int(seconds / (0.9 * EVERY)) + 1


def test_fifty_backends_ask_their_server_once_per_interval(services, weir):
    service = services()
    names = [f"b{i}" for i in range(50)]
    daemon = start(weir, front("b0") + "".join(backend(n, service.address, f"check-fall = {1 + i % 3}")
                                               for i, n in enumerate(names)))
    for name in names:
        wait_row(daemon, "a", proxy=name, check_status=CHECKED)
    before = len(service.ends)
    count, limit = checks_within(service, 1.0)
    assert count <= limit, count
    wait_until(lambda: len(service.ends) >= before + 2, "it is asked all the time")
    assert "shared with 49 more servers" in daemon.ask("why b7")
    # Each counts on its own.
    service.die()
    for i, name in enumerate(names):
        wait_row(daemon, "a", proxy=name, status="DOWN", check_health="0", check_fall=str(1 + i % 3))
    service.start()
    for name in names:
        wait_row(daemon, "a", proxy=name, status="UP")
    assert {row_of(daemon, "a", n)["chkdown"] for n in names} == {"1"}


def test_another_question_is_asked_on_its_own(services, weir):
    requests = []
    service = services(http(b"HTTP/1.0 200 OK\r\n\r\n", requests))
    daemon = start(weir, front("one") +
                   backend("one", service.address, check="http GET /one") +
                   backend("same", service.address, check="http GET /one") +
                   backend("two", service.address, check="http GET /two") +
                   backend("slow", service.address, "check-timeout = 5s", check="http GET /slow") +
                   backend("host", service.address, check="http GET /one host=x") +
                   backend("alone", service.address, check="http GET /one", share=False))
    for name in ("one", "same", "two", "slow", "host", "alone"):
        wait_row(daemon, "a", proxy=name, check_status=CHECKED)
    before, began = len(requests), time.monotonic()
    time.sleep(1.0)

    def seen(upto=None):
        return [r.split()[1] + (b" x" if b"Host: x" in r else b"") for r in requests[before:upto]]
    upto, seconds = len(requests), time.monotonic() - began
    for question, servers in ((b"/one", 2), (b"/two", 1), (b"/slow", 1), (b"/one x", 1)):
        assert seen(upto).count(question) <= servers * most(seconds), (question, seen(upto))
        wait_until(lambda q=question: q in seen(), lambda q=question: f"{q} is asked: {seen()}")
    assert "shared with 1 more server" in daemon.ask("why same")
    for name in ("two", "slow", "host", "alone"):
        assert "shared" not in daemon.ask(f"why {name}"), name


def test_who_waits_gets_an_answer_although_the_asker_leaves(services, weir):
    """The service is slow, so the others wait for the check of one of them, which then ends."""
    held, slow = [], []

    def hold(sock):
        held.append(sock.recv(100))
        wait_until(lambda: not slow, "it may answer", patience=3 * PATIENCE)
        sock.sendall(b"yes")
    service = services(hold)
    names = [f"b{i}" for i in range(3)]
    daemon = start(weir, front("b0") + "".join(
        backend(n, service.address, "check-timeout = 1m", check="send q expect=yes") for n in names))
    for name in names:
        wait_row(daemon, "a", proxy=name, check_status="L7OK")
    slow.append(True)
    for name in names:
        wait_row(daemon, "a", proxy=name, check_status=r"\* L7OK")
    # One check that was almost over may have gone before.
    wait_until(lambda: stays(lambda before=len(held): len(held) == before, 2 * EVERY), "one question is held")
    # Whichever of them asks: the last one waits for nobody who has left.
    for name in names[:2]:
        daemon.ask(f"set server {name}/a state maint")
    slow.clear()
    wait_row(daemon, "a", proxy="b2", check_status="L7OK")
    for name in names[:2]:
        daemon.ask(f"set server {name}/a state ready")
        wait_row(daemon, "a", proxy=name, check_status=CHECKED, status="UP")


def test_a_reload_joins_and_leaves_and_keeps_states(services, weir):
    service = services()
    base = front("one") + backend("one", service.address) + backend("two", service.address)
    daemon = start(weir, base)
    wait_row(daemon, "a", proxy="two", check_status=CHECKED)
    service.die()
    for name in ("one", "two"):
        wait_row(daemon, "a", proxy=name, status="DOWN")
    before = row_of(daemon, "a", "one")["chkdown"]
    more = backend("three", service.address)
    daemon.reload(daemon.config + more, words=())
    wait_row(daemon, "a", proxy="three", status="DOWN")
    for name in ("one", "two"):
        assert row_of(daemon, "a", name)["status"] == "DOWN"
    assert row_of(daemon, "a", "one")["chkdown"] == before
    service.start()
    for name in ("one", "two", "three"):
        wait_row(daemon, "a", proxy=name, status="UP")
    count, limit = checks_within(service, 1.0)
    assert count <= limit, count
    # One does not share any more.
    daemon.reload(more, more.replace("check-share = on\n", ""), words=())
    assert row_of(daemon, "a", "three")["status"] == "UP"
    wait_until(lambda: "shared with 1 more server" in daemon.ask("why two"), "two share")

    def more_than_one_asks():
        count, limit = checks_within(service, 1.0)
        return count > limit
    wait_until(more_than_one_asks, "more than one asks", 3 * PATIENCE)
    daemon.reload(more.replace("check-share = on\n", ""), "", words=())
    before = len(service.ends)
    wait_until(lambda: len(service.ends) > before + 1, "one goes on; that of the other has ended")
    count, limit = checks_within(service, 1.0)
    assert count <= limit, count


def test_an_address_that_is_set_leaves_and_comes_back(services, weir):
    service, other = services(), services()
    daemon = start(weir, front("one") + backend("one", service.address) + backend("two", service.address))
    for name in ("one", "two"):
        wait_row(daemon, "a", proxy=name, check_status=CHECKED)
    daemon.ask(f"set server two/a addr 127.0.0.1 port {other.port}")
    wait_until(lambda: len(other.ends) >= 3, "the other is checked")
    service.die()
    wait_row(daemon, "a", proxy="one", status="DOWN")
    assert row_of(daemon, "a", "two")["status"] == "UP"
    daemon.ask(f"set server two/a addr 127.0.0.1 port {service.port}")
    wait_row(daemon, "a", proxy="two", status="DOWN")
