# SPDX-License-Identifier: MIT
"""Danger: of a range of ports some do not listen, a reload that changes the range loses a client of a port
that stays, or the range fills lists that are for people."""

import csv
import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from harness import process
from harness.daemon import BINARY
from harness.driver import WANTED
from harness.pairs import run_check
from harness.port_service import PortService, ask, free_run
from harness.timing import PATIENCE, wait_until

SERVER = "127.0.0.2"
COUNT = 24
BUILD = os.environ.get("WEIR_BUILD", "")
STORM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "storm", "ports.py")


@pytest.fixture
def first():
    return free_run(COUNT)


@pytest.fixture
def service(weir, closing, first):   # pylint: disable=unused-argument
    made = PortService(range(first, first + COUNT), SERVER)
    closing.append(made)
    return made


def bind(low, high, words=""):
    return f"bind = 127.0.0.1:{low}-{high}{words}\n"


def config(binds, lines=""):
    return f"[frontend f]\n{binds}{lines}default-backend = app\n[backend app]\nserver a = {SERVER}:*\n"


def answers(port):
    return ask(("127.0.0.1", port), b"x") == b"%d x" % port


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        return True
    except ConnectionRefusedError:
        return False


def rows(daemon, svname):
    lines = daemon.ask("show stat").lstrip("# ").splitlines()
    return [row for row in csv.DictReader(lines) if row["svname"] == svname]


@pytest.mark.smoke
def test_each_port_of_the_range_is_served_and_the_range_is_one_line(weir, first, service):
    last = first + COUNT - 1
    daemon = weir(config(bind(first, last - 1) + f"bind single = 127.0.0.1:{last}\n"))
    for port in range(first, last + 1):
        assert answers(port)
    assert service.count == COUNT
    said = [line for line in daemon.log().splitlines() if "listening on" in line]
    assert len(said) == 2, said
    assert f"listening on 127.0.0.1:{first}-{last - 1} (frontend f, bind 1)" in said[0]
    assert "bind single)" in said[1]
    listed = [line for line in daemon.ask("show info").splitlines() if line.startswith("listen.")]
    assert listed == [f"listen.f.1: 127.0.0.1:{first}-{last - 1}", f"listen.f.single: 127.0.0.1:{last}"]
    assert [row["stot"] for row in rows(daemon, "FRONTEND")] == [str(COUNT)]
    assert [row["addr"] for row in rows(daemon, "a")] == [f"{SERVER}:*"]
    steps = json.loads(daemon.ask(f"explain listener=f client=192.0.2.1 port={first + 3} json"))
    assert f"127.0.0.1:{first + 3}" in json.dumps(steps), steps


def test_a_range_grows_and_shrinks_without_a_client_that_notices(weir, first, service):
    last = first + COUNT - 1
    inner, outer = bind(first + 4, last - 4), bind(first, last)
    daemon = weir(config(inner))
    failures, stop = [], threading.Event()

    def knocking():
        while not stop.is_set():
            for port in (first + 4, first + 9, last - 4):
                try:
                    if not answers(port):
                        failures.append((port, "no answer"))
                except OSError as e:
                    failures.append((port, e))
    knocker = threading.Thread(target=knocking)
    knocker.start()
    try:
        with socket.create_connection(("127.0.0.1", first + 5), timeout=PATIENCE) as held:
            said = daemon.reload(inner, outer)
            assert f"address 127.0.0.1:{first}-{last} changed" in said, said
            assert "removed" not in said and "added" not in said, said
            assert all(answers(port) for port in (first, first + 3, last - 3, last))
            said = daemon.reload(outer, inner)
            assert (f"addresses 127.0.0.1:{first}-{first + 3} and 127.0.0.1:{last - 3}-{last} removed"
                    in said), said
            assert not listens(first) and not listens(first + 3) and not listens(last)
            held.sendall(b"held")
            held.shutdown(socket.SHUT_WR)
            assert held.recv(100) == b"%d held" % (first + 5)
    finally:
        stop.set()
        knocker.join()
    assert not failures, failures[:3]
    assert service.count > 8
    assert "reloaded: generation 4, nothing has changed" in daemon.reload()


def test_a_reload_that_fails_leaves_the_range_as_it_was(weir, first, service):
    last = first + COUNT - 1
    daemon = weir(config(bind(first, last - 4)))
    before = process.listening(daemon.pid)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", last - 1))
        taken.listen()
        said = daemon.reload(bind(first, last - 4), bind(first, last), refused=True)
        assert f"cannot listen on 127.0.0.1:{last - 1} " in said, said
        assert process.listening(daemon.pid) == before
        assert answers(first) and answers(last - 4) and not listens(last)
    said = daemon.reload()
    assert "changed" in said
    assert answers(last) and answers(last - 1)
    assert service.count == 4


def test_a_reload_over_the_limit_on_descriptors_is_refused_with_the_arithmetic(weir, first, service):
    last = first + COUNT - 1
    daemon = weir(config(bind(first, last)), wrapper=("sh", "-c", 'ulimit -n 900; exec "$@"', "sh"))
    before = process.listening(daemon.pid)
    said = daemon.reload(bind(first, last), bind(20000, 20999), refused=True)
    assert "900 descriptors are not enough for" in said and "1000 listeners" in said, said
    assert "127.0.0.1:20000-20999" in said and "takes 1000 of them" in said, said
    assert process.listening(daemon.pid) == before
    assert answers(first) and answers(last)
    assert "nothing has changed" in daemon.reload(bind(20000, 20999), bind(first, last))
    assert service.count == 2


def test_ports_move_between_ranges_and_single_lines_with_their_sockets(weir, first, service):
    last = first + COUNT - 1
    single = f"bind = 127.0.0.1:{first + 7}\n"
    whole, low, high = bind(first, last), bind(first, first + 6), bind(first + 8, last)
    daemon = weir(config(whole) + "[frontend g]\nbind = 127.0.0.1:0\ndefault-backend = app\n")
    sockets = process.listening(daemon.pid)
    daemon.reload(whole, low + single + high)
    assert all(answers(port) for port in range(first, last + 1))
    daemon.reload(low + single + high, low + high, "[frontend g]\n", "[frontend g]\n" + single)
    assert all(answers(port) for port in range(first, last + 1))
    daemon.reload("[frontend g]\n" + single, "[frontend g]\n", low + high, whole)
    assert all(answers(port) for port in range(first, last + 1))
    assert process.listening(daemon.pid) == sockets
    assert service.count == 3 * COUNT
    text = [line for line in daemon.ask("show info").splitlines() if line.startswith("listen.f")]
    assert text == [f"listen.f.1: 127.0.0.1:{first}-{last}"], text


def test_a_wildcard_range_takes_the_place_of_a_specific_one(weir, closing, first):
    last = first + COUNT - 1
    narrow, wide = bind(first, last), f"bind = 0.0.0.0:{first}-{last}\n"
    daemon = weir(config(narrow).replace(SERVER, "[::1]"))
    service = PortService(range(first, last + 1), "::1")
    closing.append(service)
    said = daemon.reload(narrow, wide)
    assert said.count("127.0.0.1:") == 1, said
    assert all(answers(port) for port in range(first, last + 1))
    said = daemon.reload(wide, narrow)
    assert all(answers(port) for port in range(first, last + 1))
    assert service.count == 2 * COUNT


def test_a_plan_says_what_a_range_takes(weir, first, service):   # pylint: disable=unused-argument
    last = first + COUNT - 1
    single = f"bind = 127.0.0.1:{first}\n"
    daemon = weir(config(single))
    daemon.rewrite(single, single + bind(first + 1, last))
    said = daemon.ask("plan")
    line = f"+ frontend f: bind = 127.0.0.1:{first + 1}-{last} ({COUNT - 1} descriptors, about 1 MiB"
    assert line in said and said.count("bind = ") == 1, said
    daemon.reload()
    daemon.rewrite(bind(first + 1, last), "")
    said = daemon.ask("plan")
    assert f"- frontend f: bind = 127.0.0.1:{first + 1}-{last}\n" in said and said.count("bind = ") == 1, said
    daemon.reload()


def test_a_disabled_frontend_leaves_all_ports_and_takes_them_again(weir, first, service):
    last = first + COUNT - 1
    daemon = weir(config(bind(first, last)))
    daemon.ask("disable frontend f")
    wait_until(lambda: not any(listens(port) for port in range(first, last + 1)), "the ports have been left")
    daemon.ask("enable frontend f")
    assert all(answers(port) for port in range(first, last + 1))
    assert service.count == COUNT
    daemon.rebase()     # the sockets are others


def test_the_header_of_a_client_names_any_port_of_the_range(weir, first, service):
    last = first + COUNT - 1
    weir(config(bind(first, last, " accept-proxy"), "trusted = 127.0.0.1\n"))
    for named, used in ((last, last), (first + 3, first + 3), (last + 1, first), (22, first)):
        header = f"PROXY TCP4 192.0.2.1 192.0.2.2 1000 {named}\r\n".encode()
        assert ask(("127.0.0.1", first), header + b"z") == b"%d z" % used
    assert service.count == 4


def test_a_range_over_the_limit_is_refused_with_the_arithmetic(folder):
    path = os.path.join(folder, "weir.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[global]\nthreads = 2\n[listen l]\nbind = 127.0.0.1:20000-20999\nserver a = 127.0.0.2:*\n")
    for words, code in (((), 3), (("-c",), 0)):
        done = subprocess.run(["sh", "-c", 'ulimit -n 900; exec "$@"', "sh", BINARY, *words, path],
                              capture_output=True, text=True, timeout=PATIENCE, check=False,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, done
        assert "900 descriptors are not enough for 2 workers, 1000 listeners" in done.stderr, done
        assert f"127.0.0.1:20000-20999 ({path}:4) takes 1000 of them" in done.stderr, done


def test_a_range_that_the_kernel_gives_to_clients_is_a_warning(folder):
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        low, high = (int(word) for word in f.read().split())
    text = "[listen l]\nbind = 127.0.0.1:{}-{}\nserver a = 127.0.0.2:*\n"
    said = run_check(text.format(low - 5, low + 5), folder, "-c")
    assert said.returncode == 0, said
    assert f"ports {low} to {low + 5} to connections of this machine" in said.stderr, said
    assert "ip_local_reserved_ports" in said.stderr and f"outside {low} to {high}" in said.stderr, said
    said = run_check(text.format(low - 5, low - 1), folder, "-c")
    assert "ip_local_reserved_ports" not in said.stderr, said
    assert f"127.0.0.1:{low - 5}-{low - 1} (" in said.stdout and "takes 5 descriptors" in said.stdout, said


@pytest.mark.parametrize("binds, word", [
    ("bind = :80-90\nbind = 0.0.0.0:85\n", "already bound"),
    ("bind = 10.0.0.1:80-90\nbind = 10.0.0.1:90-99\n", "already bound"),
    ("bind = :80-90\nbind = [::]:80-91\n", "already bound"),
    ("bind = :90-80\n", "not below the first"),
    ("bind = :0-80\n", "from 1 to 65535"),
    ("bind = 8080-8089\n", "as in :8080-8089"),
])
def test_what_cannot_be_is_refused(folder, binds, word):
    said = run_check(f"[listen l]\n{binds}server a = 127.0.0.2:1\n", folder, "-c")
    assert said.returncode == 1 and word in said.stderr, said


def test_two_wildcard_ranges_have_a_family_each(folder):
    said = run_check("[listen l]\nbind = :80-90\nbind = [::]:80-90\nserver a = 127.0.0.2:1\n", folder, "-T")
    assert said.returncode == 0, said
    assert "# 0.0.0.0:80-90 (" in said.stdout and "accepts IPv4 only, [::]:80-90 (" in said.stdout, said
    assert said.stdout.count("\nbind = 0.0.0.0:80-90 ") == 1, said
    assert said.stdout.count("\nbind = [::]:80-90 v6only ") == 1, said


@pytest.mark.skipif(not BUILD, reason="set WEIR_BUILD")
def test_a_large_range_costs_what_was_said(weir):   # pylint: disable=unused-argument
    """A short run of tests/storm/ports.py."""
    done = subprocess.run(
        [sys.executable, STORM, "--build", BUILD, "--driver", WANTED or "epoll", "--ports", "500",
         "--reloads", "4", "--clients", "1", "--no-times"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith(" passed, 0 failed") and not last.startswith("0 "), done.stdout
