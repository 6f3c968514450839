#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""check_browser.py - the page in a headless Chromium: updates, sorting, filtering, themes, small windows.

    check_browser.py SAMPLE_PAGES WEIR

Serves the sample pages itself, and starts WEIR with clients and servers. Exits with 77 if there is no
Chromium.
"""

import http.server
import re
import sys
import threading
import time

import browser
import sample_pages
import stage

SKIPPED = 77
ROWS = "[...document.querySelectorAll('main tbody tr[data-key^=\"s:\"]')]"
OPEN = "document.querySelector('main .backends th[data-id=\"sessions\"]')"
SORTED = """[...document.querySelectorAll('main .backends tbody')].every((body) => {
	const rows = [...body.rows], values = rows.slice(1).map((r) => Number(r.cells[2].textContent));
	return rows[0].matches('.backend') && values.every((v, i) => i === 0 || values[i - 1] >= v);
})"""


# Lines are drawn only where they can be seen.
SCROLL = "document.querySelector('main .backends').scrollIntoView()"
PROBLEMS = "[...document.querySelectorAll('main .problems tr')].map((r) => r.innerText.trim())"
# Each party's number in a column of the blame; the last is that of all.
BLAME = """[...document.querySelectorAll('main .blame tbody tr')].map((r) =>
	Number(r.cells[%d].dataset.v))"""
FILLS = """[...document.querySelectorAll('main .fills tr')].map((r) =>
	[r.innerText, Number(r.querySelector('.bar rect').getAttribute('width'))])"""


def check_updates(b, url):
    """Elements stay, numbers move, and lines are drawn."""
    b.open(url + "list")
    assert b.ask("document.title") == "(3) weir on edge1"
    b.ask("window.kept = document.querySelector('tr[data-key=\"s:app0/web1\"]')")
    before = b.ask("document.querySelector('main [data-live=bytes_to_client]').dataset.v")
    b.ask(SCROLL)
    b.wait("document.querySelectorAll('main tbody .spark .line').length > 20")
    b.wait("/B\\/s$/.test(document.querySelector('tr[data-key=\"f:public\"] .per')?.textContent)")
    assert b.ask(STRUCK) == []
    assert b.ask("window.kept.isConnected")
    assert int(b.ask("document.querySelector('main [data-live=bytes_to_client]').dataset.v")) > int(before)
    assert b.ask("document.querySelector('#news').hidden")


STATE = "document.querySelector('header .state')"
LOST = """document.title.startsWith('(!) weir') && %s.matches('.bad') && %s.textContent === 'no answer' &&
	document.querySelector('#news').textContent.includes(': weir does not answer.')""" % (STATE, STATE)


def check_lost(b, url):
    """Without an answer nothing says that all is well; the next answer does."""
    b.open(url + "list")
    b.ask("window.known = fetch; window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); 0")
    b.wait(LOST)
    b.ask("window.fetch = window.known; 0")
    b.wait("document.title === '(3) weir on edge1'")
    assert b.ask("%s.outerHTML" % STATE) == '<b class="state good">ready</b>'
    assert b.ask("document.querySelector('#news').hidden")


def assert_blame_adds_up(b):
    for column in (1, 3):
        *parties, total = b.ask(BLAME % column)
        assert sum(parties) == total > 0, (column, parties, total)


def check_top(b, url):
    """What is wrong, whose doing it is, and what fills up: as text, and still there after an update."""
    b.open(url + "trouble")
    problems = b.ask(PROBLEMS)
    assert len(problems) > 10 and problems[0].startswith("NO SERVER"), problems
    assert b.ask("document.querySelector('.verdict b').textContent") == "Server"
    assert_blame_adds_up(b)
    for text, width in b.ask(FILLS):
        percent = int(re.search(r"(\d+) %", text).group(1))
        assert abs(width - percent) <= 2, (text, width)
    b.ask("window.kept = [...document.querySelectorAll('.problems tr, .blame tr, .fills tr')]")
    before = b.ask(BLAME % 1)
    b.wait("%s[0] > %d" % (BLAME % 1, before[0]))
    assert_blame_adds_up(b)
    assert b.ask("window.kept.every((row) => row.isConnected)"), "an update has replaced a row"
    b.open(url + "calm")
    assert b.ask(PROBLEMS) == ["No problems"]
    assert b.ask("document.title") == "weir on edge1"


# How far the head of the table and the row of the last backend are from where they are to stay.
STAYS = """(() => {
	const table = document.querySelector('main .backends table');
	const top = (element) => element.getBoundingClientRect().top;
	const head = table.tHead.rows[0].cells[0], last = [...table.querySelectorAll('tr.backend')].at(-1);
	const under = top(last.cells[0]) - head.getBoundingClientRect().bottom;
	return [Math.max(0, top(table.parentElement)) - top(head), under];
})()"""


def check_scrolling(b, url):
    """The head of the table and the backend stay in view, with all columns too."""
    for width in (1000, 1440, 1920):
        b.resize(width, 220)
        b.open(url + "list")
        b.wait("document.querySelector('#tools .wide')")
        for columns in ("usual", "all"):
            b.ask("document.querySelector('main .backends tbody:last-child tr:last-child')"
                  ".scrollIntoView({block: 'end'})")
            assert all(-4 <= gap <= 2 for gap in b.ask(STAYS)), (width, columns, b.ask(STAYS))
            wide = b.ask("document.documentElement.scrollWidth")
            assert wide <= width, "with %s columns, %d pixels wide of %d" % (columns, wide, width)
            b.ask("document.querySelector('#tools .wide').click()")
    b.resize(1440, 900)


# Texts of cards that a line runs through.
STRUCK = """[...document.querySelectorAll('main .cards div')].filter((card) => {
	const line = card.querySelector('.spark')?.getBoundingClientRect();
	return line && [...card.querySelectorAll('dt, dd > :not(.spark)')].some((text) =>
		text.getBoundingClientRect().bottom > line.top + 1);
}).map((card) => card.textContent)"""


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
    wanted = ["s:app%d/web%d" % (i, j) for i in range(3) for j in (2, 4, 5)]  # 4 is up, but fails
    b.wait("%s.join() === '%s'" % (shown, ",".join(wanted)))


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
    b.ask(SCROLL)
    b.wait("document.querySelectorAll('main tbody .spark').length > 20")
    assert re.fullmatch(r"\(\d+\) weir on edge1", b.ask("document.title"))
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
    for page in ("list", "trouble"):
        b.open(url + page)
        b.wait("document.querySelector('main .cards .rated') && document.querySelector('main .cards .spark')")
        assert b.ask(STRUCK) == []
        wide = b.ask("document.documentElement.scrollWidth")
        assert wide <= 390, "the page %s is %d pixels wide on a phone" % (page, wide)
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


def has_problem(text):
    return "%s.some((text) => text.includes(%r))" % (PROBLEMS, text)


def check_problems(b, s):
    """They appear when they begin, and vanish when they end."""
    b.open(s.url)
    for text in ("mail/mx2", "chat/room2", "files/disk2"):
        b.wait(has_problem(text))
    assert_blame_adds_up(b)
    s.mend()
    # Sessions that web2 failed when it went down stay a problem for a minute.
    b.wait("%s.every((text) => text === 'No problems' || text.startsWith('FAILURES'))" % PROBLEMS)
    s.break_config()
    b.wait(has_problem("the last reload"))
    s.do(s.end("web3"))
    b.wait(has_problem("shop/web3"))
    b.wait("document.title.startsWith('(')")  # once enough of its checks have failed


# ---- all of it -------------------------------------------------------------------------------

def check(b, function, on):
    b.open("about:blank")  # nothing is asked for any more
    b.requests.clear()
    began = time.monotonic()
    function(b, on)
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
        for function in (check_updates, check_lost, check_top, check_sorting, check_filter, check_details,
                         check_scrolling, check_hostile, check_large, check_themes, check_phone):
            check(b, function, url)
        with stage.Stage(weir) as s:
            s.play()
            check(b, check_daemon, s.url)
            check(b, check_problems, s)
        b.wait(LOST)
        print("a daemon that is gone is reported: passed")
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
