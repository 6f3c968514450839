# SPDX-License-Identifier: MIT
"""Danger: the page is wrong, can be made to run what a name contains, or asks for something elsewhere."""

import os
import re
import socket

import pytest

from harness.timing import wait_until
from harness.web import get

CONFIG = """[listen app]
bind = 127.0.0.1:0
server a = {}
server b = {} disabled
server later = 127.0.0.1:9 backup
[stats]
bind = 127.0.0.1:0
"""


def row(page, key):
    """The text of a row, without markup."""
    found = re.search(r'<tr data-key="%s".*?</tr>' % re.escape(key), page)
    assert found, f"no row {key} in {page}"
    return re.sub(r"<[^>]*>", " ", found.group())


@pytest.fixture
def served(weir, peers):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address, peers.listen().address))
    client, server = peers.pair(daemon.address("app"), listener)
    client.sock.sendall(b"x")
    assert server.sock.recv(1) == b"x"
    return daemon


@pytest.mark.smoke
def test_the_page_is_whole_and_on_its_own(served):
    status, headers, page = get(served, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "OPEN" in row(page, "f:app") and str(served.address("app")) in row(page, "f:app")
    assert "2 of 3 servers usable" in row(page, "b:app")
    assert "UP" in row(page, "s:app/a") and "MAINT" in row(page, "s:app/b")
    assert "backup" in row(page, "s:app/later")
    assert row(page, "accepted").split()[:2] == ["accepted", "1"]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert page.count("<script>") == 1
    assert not re.search(r"https?:", page.replace("http://www.w3.org/2000/svg", ""))
    links = set(re.findall(r'href="([^"?]+)"', page)) - {"data:,"}
    assert len(links) == 3
    assert all(get(served, "/" + link)[0] == 200 for link in links)
    status, headers, nothing = get(served, "/", method="HEAD")
    assert status == 200 and int(headers["Content-Length"]) > 10000 and nothing == ""


def test_an_update_and_one_server_show_what_has_changed(served):
    page = get(served, "/?update")[2]
    assert "<script>" not in page and "<style>" not in page and " UP " in row(page, "s:app/a")
    served.ask("set server app/a state drain")
    wait_until(lambda: "DRAIN" in row(get(served, "/?update")[2], "s:app/a"), "the page shows it")
    status, _, page = get(served, "/?backend=app&server=a")
    assert status == 200 and "<h2>app/a</h2>" in page and 'data-key="s:' not in page
    assert re.search(r"UP</b> &rarr; <b[^>]*>DRAIN</b>.*over the admin socket", page)


def test_a_server_that_does_not_exist(served):
    for query in ("backend=app&server=%3Cscript%3E", "backend=x&server=a",
                  "backend=app&server=" + "a" * 2000):
        status, headers, page = get(served, "/?" + query)
        assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "There is no server" in page and page.count("<script>") == 1


def blame(page):
    """The numbers of each party: (last minute, in total)."""
    rows = re.findall(r'<tr data-key="blame:(\w+)".*?</tr>', page)
    cells = [re.findall(r'<td class="[a-z]*" data-v="(\d+)">\d', row)
             for row in re.findall(r'<tr data-key="blame:.*?</tr>', page)]
    return {name: (int(c[0]), int(c[1])) for name, c in zip(rows, cells)}


def test_an_end_is_blamed_on_who_made_it(weir, peers, closing):
    listener, nobody = peers.listen(), socket.socket()
    closing.append(nobody)
    nobody.bind(("127.0.0.1", 0))
    daemon = weir(f"[listen app]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  "[listen dead]\nbind = 127.0.0.1:0\nretries = 0\n"
                  f"server b = 127.0.0.1:{nobody.getsockname()[1]}\n"
                  "[stats]\nbind = 127.0.0.1:0\n")
    assert "No session ended in the last minute" in get(daemon, "/")[2]
    for ending in ("normal", "client", "client", "server"):
        client, server = peers.pair(daemon.address("app"), listener)
        if ending == "normal":
            client.fin()
            server.receive_to_end()
            server.fin()
            client.receive_to_end()
        else:
            (client if ending == "client" else server).reset()
    for _ in range(3):
        peers.connect(daemon.address("dead"))
    wait_until(lambda: blame(get(daemon, "/")[2])["all"] == (7, 7), "all have ended")
    page = get(daemon, "/")[2]
    numbers = blame(page)
    assert numbers == {"0": (1, 1), "1": (2, 2), "2": (4, 4), "all": (7, 7)}  # normal, client, server
    assert "server refused the connection 3; server reset the connection 1</td>" in page
    verdict = re.sub(r"<[^>]*>", "", re.search(r'<p class="verdict".*?</p>', page).group())
    assert verdict.startswith("Last minute: 7 sessions ended, 6 (86 %) by a fault, mainly by Server "
                              "(server refused the connection).")
    metrics = get(daemon, "/metrics?scope=global")[2]
    assert sum(int(n) for n in re.findall(r"weir_process_closes_total\{.*\} (\d+)", metrics)) == 7


def test_problems_come_and_go(weir, peers):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address, peers.listen().address))
    daemon.expected_alarms = "backend app has no server left|reload"

    def problems():
        rows = re.findall(r'<tr data-key="problem:.*?</tr>', get(daemon, "/?update")[2])
        return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows]

    assert len(problems()) == 1 and problems()[0].startswith("MAINT app/b 1 of 3 servers")
    daemon.ask("enable server app/b")
    wait_until(lambda: problems() == ["No problems"], "nothing is wrong")
    for server in ("a", "b", "later"):
        daemon.ask(f"set server app/{server} state maint")
    wait_until(lambda: [p.split(" app")[0] for p in problems()] == ["NO SERVER backend", "MAINT"],
               "no server is left")
    assert "app: a , b , later 3 of 3 servers" in problems()[1] and "over the admin socket" in problems()[1]
    assert "backend app has no usable server" in row(get(daemon, "/?update")[2], "f:app")


@pytest.mark.skipif(os.stat("/proc/self/fd").st_size == 0,
                    reason="before Linux 6.2 the kernel does not count open descriptors")
def test_open_descriptors_are_those_of_the_process(served):
    def figure(name):
        return int(re.search(rf"^weir_process_{name} (\d+)$", get(served, "/metrics?scope=global")[2],
                             re.M)[1])

    # The connection that asks may be closed a moment later.
    wait_until(lambda: 0 <= figure("open_fds") - len(os.listdir(f"/proc/{served.pid}/fd")) <= 1,
               "both are the same")
    assert figure("open_fds") < figure("limit_fds")
