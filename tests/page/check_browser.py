#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check_browser.py - the page in a headless Chromium: updates, sorting, filtering, themes, small windows.

    check_browser.py SAMPLE_PAGES WEIR

Serves the sample pages itself, and starts WEIR with clients and servers. Exits with 77 if there is no
Chromium.
"""

import http.server
import sys
import threading
import time

import browser
import sample_pages
import stage

SKIPPED = 77
ROWS = "[...document.querySelectorAll('main tbody tr[data-key^=\"s:\"]')]"
OPEN = "document.querySelector('main section:nth-of-type(2) th[data-id=\"sessions\"]')"
SORTED = """[...document.querySelectorAll('main section:nth-of-type(2) tbody')].every((body) => {
	const rows = [...body.rows], values = rows.slice(1).map((r) => Number(r.cells[2].textContent));
	return rows[0].matches('.backend') && values.every((v, i) => i === 0 || values[i - 1] >= v);
})"""


def check_updates(b, url):
    """Elements stay, numbers move, and lines are drawn."""
    b.open(url + "list")
    assert b.ask("document.title") == "weir on edge1"
    b.ask("window.kept = document.querySelector('tr[data-key=\"s:app0/web1\"]')")
    before = b.ask("document.querySelector('main [data-live=bytes_to_client]').dataset.v")
    b.wait("document.querySelectorAll('main tbody .spark .line').length > 20")
    b.wait("/B\\/s$/.test(document.querySelector('tr[data-key=\"f:public\"] .per')?.textContent)")
    assert b.ask("window.kept.isConnected")
    assert int(b.ask("document.querySelector('main [data-live=bytes_to_client]').dataset.v")) > int(before)
    assert b.ask("document.querySelector('#news').hidden")


def check_sorting(b, url):
    b.open(url + "list")
    b.wait("%s?.tabIndex === 0" % OPEN)
    b.ask("%s.click()" % OPEN)
    assert b.ask("%s.getAttribute('aria-sort')" % OPEN) == "descending"
    assert b.ask(SORTED)
    at = b.ask("document.querySelector('time').textContent")
    b.wait("document.querySelector('time').textContent !== '%s'" % at)
    assert b.ask(SORTED), "an update has changed the order"
    b.ask("%s.click()" % OPEN)
    assert b.ask("%s.getAttribute('aria-sort')" % OPEN) == "ascending"


def check_filter(b, url):
    b.open(url + "list")
    b.wait("document.querySelector('#tools input')")
    b.ask("""(() => {
	const search = document.querySelector('#tools input');
	search.value = 'web3';
	search.dispatchEvent(new Event('input'));
})()""")
    shown = "%s.filter((r) => !r.hidden).map((r) => r.dataset.key)" % ROWS
    assert b.ask(shown) == ["s:app0/web3", "s:app1/web3", "s:app2/web3"]
    b.ask("""(() => {
	const search = document.querySelector('#tools input');
	search.value = '';
	search.dispatchEvent(new Event('input'));
	[...document.querySelectorAll('#tools button')].find((x) => x.textContent === 'Not up').click();
})()""")
    assert b.ask(shown) == ["s:app%d/web%d" % (i, j) for i in range(3) for j in (2, 5)]


def check_details(b, url):
    b.open(url + "list")
    b.wait("document.querySelector('#tools input')")
    b.ask("document.querySelector('tr[data-key=\"s:app0/web1\"] a').click()")
    b.wait("document.querySelector('dialog[open] h2')?.textContent === 'app0/web1'")
    assert b.ask("document.querySelectorAll('dialog rect').length") == 4
    b.wait("document.querySelector('dialog .spark, dialog h2')")
    b.ask("document.querySelector('dialog button').click()")
    assert not b.ask("document.querySelector('dialog').open")


def check_hostile(b, url):
    b.open(url + "hostile")
    b.wait("document.querySelectorAll('main tbody .spark').length > 20")
    assert b.ask("document.title") == "weir on edge1"
    assert b.ask("document.querySelectorAll('main script, [onclick]').length") == 0
    assert b.ask("%s[0].cells[0].querySelector('a').textContent.includes('<script>')" % ROWS)


def check_large(b, url):
    b.open(url + "large")
    assert b.ask("%s.length" % ROWS) == 1000
    at = b.ask("document.querySelector('time').textContent")
    b.wait("document.querySelector('time').textContent !== '%s'" % at)
    assert b.ask("%s.length" % ROWS) == 1000


def check_themes(b, url):
    colours = []
    for theme in ("light", "dark"):
        b.prefer(theme)
        b.open(url + "list")
        colours.append(b.ask("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1], colours
    b.wait("document.querySelector('#tools button')")
    b.ask("[...document.querySelectorAll('#tools button')].find((x) => x.textContent === 'Theme').click()")
    assert b.ask("getComputedStyle(document.body).backgroundColor") == colours[0]
    b.ask("localStorage.clear()")
    b.prefer("light")


def check_phone(b, url):
    b.resize(390, 844, mobile=True)
    b.open(url + "list")
    wide = b.ask("document.documentElement.scrollWidth")
    assert wide <= 390, "the page is %d pixels wide on a phone" % wide
    b.resize(1440, 900)


# ---- a real daemon ---------------------------------------------------------------------------

def state_of(b, server):
    return b.ask("document.querySelector('tr[data-key=\"s:%s\"] .state')?.textContent" % server)


def check_daemon(b, url):
    """Each state and its reason, rates, the share that splice moves, and the history of a server."""
    b.open(url)
    b.wait("document.querySelector('tr[data-key=\"s:mail/mx2\"] .bad')")
    states = {"shop/web1": "UP", "chat/room2": "DRAIN", "files/disk2": "MAINT", "mail/mx2": "DOWN"}
    assert {server: state_of(b, server) for server in states} == states
    assert "connection refused" in b.ask("document.querySelector('tr[data-key=\"s:mail/mx2\"]').textContent")
    b.wait("/[KM]iB\\/s$/.test(document.querySelector('tr[data-key=\"s:files/disk1\"] "
           "td[data-h=\"To client\"] .per')?.textContent)")
    assert b.ask("document.querySelector('tr[data-key=\"s:files/disk1\"] "
                 "td[data-h=\"Spliced\"]').dataset.v") > "50"
    b.ask("document.querySelector('tr[data-key=\"s:shop/web2\"] a').click()")
    b.wait("document.querySelectorAll('dialog tbody[data-key=changes] tr').length >= 2")
    assert "connection refused" in b.ask("document.querySelector('dialog').textContent")
    b.wait("document.querySelectorAll('dialog .cards .spark').length === 4")
    assert all(request.startswith(url) or request == "data:," for request in b.requests), b.requests


# ---- all of it -------------------------------------------------------------------------------

def check(b, function, url):
    b.open("about:blank")  # nothing is asked for any more
    b.requests.clear()
    began = time.monotonic()
    function(b, url)
    assert not b.troubles, (function.__name__, b.troubles)
    print("%s: passed, %.1f s" % (function.__name__, time.monotonic() - began), flush=True)


def main():
    if browser.find() is None:
        print("skipped: no Chromium was found; install the package chromium")
        sys.exit(SKIPPED)
    samples, weir = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), sample_pages.handler_of(samples))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d/" % server.server_port
    with browser.Browser() as b:
        b.resize(1440, 900)
        b.hurry(10)
        for function in (check_updates, check_sorting, check_filter, check_details, check_hostile,
                         check_large, check_themes, check_phone):
            check(b, function, url)
        with stage.Stage(weir) as s:
            s.play()
            check(b, check_daemon, s.url)
        b.wait("!document.querySelector('#news').hidden")
        print("a daemon that is gone is reported: passed")
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
