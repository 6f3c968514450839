# SPDX-License-Identifier: MIT
"""Danger: the page is wrong, can be made to run what a name contains, or asks for something elsewhere."""

import re

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
