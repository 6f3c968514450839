# SPDX-License-Identifier: MIT
"""Danger: a stranger reads the HTTP endpoint without a password, or makes the daemon slow by guessing; or a
password can be read where it should not be."""

import base64
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from harness import built
from harness.daemon import BINARY, REPOSITORY
from harness.timing import PATIENCE, SCALE, wait_until
from harness.web import get, port_of

# The password of each user is its name with "-secret" behind it. "slow" takes 20 ms.
USERS = """# users of the page
bcrypt:$2y$04$abcdefghijklmnopqrstuukIPMvMTJviSj4tZSaBERVEVDHY8sM3q
slow:$2y$08$abcdefghijklmnopqrstuubInmTKdow07QtvFLF5B0aHUSdwVrRC6
sha256:$5$rounds=1000$saltsalt$JVKBWrOSah/EL0vTRxkdMUBgMZ08hLshGclfNkUNkQB

sha512:$6$saltsalt$W8PuyB4HsjS2e/4CJL.xRgwlPl05mz2snWqIZE8aGa93xCsJ4Vcvw.12sYoWNmV248O8A5XF.0oI9P5zhxNGd0:x
yescrypt:$y$j75$abcdefghijklmnop$C2kmBP2IC2opYdqDAOLdWhWkRtdZkcqkP/5hvNiUI80
"""
NAMES = ("bcrypt", "slow", "sha256", "sha512", "yescrypt")
SLOW = "slow:$2y$08$abcdefghijklmnopqrstuubInmTKdow07QtvFLF5B0aHUSdwVrRC6\n"
# The same password, with four times the cost.
SLOWER = "slow:$2y$10$abcdefghijklmnopqrstuu5YeidoeyDs7i0.6.LigrrtvwrOG00TC\n"
# "slow" with the password "other", which is fast to verify.
OTHER = "slow:$5$rounds=1000$saltsalt$DqtkTIG04cmrnEJ0mkoECt9ibZmoxRHB02bHnTLkpZD\n"
PUBLIC = ("/healthz", "/readyz")
GUARDED = ("/", "/metrics", "/stats;csv", "/;csv", "/api/v1/info", "/api/v1/frontends", "/api/v1/backends",
           "/api/v1/servers", "/api/v1/sessions", "/nothing")
FAILURES = 5
QUEUE = 16


def basic(user, password=None):
    pair = f"{user}:{f'{user}-secret' if password is None else password}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def ask(daemon, path="/metrics", host=1, **headers):
    """(status, headers, body) for a client at 127.0.0.HOST."""
    return get(daemon, path, source=(f"127.0.0.{host}", 0), **headers)


def status(daemon, *credentials, **more):
    return ask(daemon, headers=basic(*credentials), **more)[0]


needs_libcrypt = built.needs("libcrypt")


@pytest.fixture
def guarded(weir, peers, session_folder):
    """Starts a daemon with these users; `users_path` is the file."""
    path = os.path.join(session_folder, "users")

    def start(users=USERS):
        if not built.has("libcrypt"):
            pytest.skip("this weir was built without libcrypt")
        write(path, users)
        daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {peers.listen().address}\n"
                      f"[stats]\nbind = 127.0.0.1:0\nauth-file = {path}\n")
        daemon.users_path = path
        return daemon
    return start


def write(path, users, mode=0o600):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as f:
        f.write(users)
    os.chmod(path, mode)


def figures(daemon):
    info = daemon.info()
    return tuple(info[f"web_auth_{name}"] for name in ("wrong", "throttled", "busy"))


def at_once(calls):
    """The results of functions that run at the same time."""
    results = [None] * len(calls)

    def run(i):
        results[i] = calls[i]()
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


WRONG = (("sha256", "sha256-secre"), ("sha256", "sha256-secrets"), ("sha256", ""), ("", "sha256-secret"),
         ("nobody", "sha256-secret"), ("sha512", "sha256-secret"))


@pytest.mark.smoke
def test_everything_but_the_probes_needs_a_password(guarded):
    daemon = guarded()
    for path in GUARDED:
        code, headers, _ = ask(daemon, path)
        assert (code, headers["WWW-Authenticate"]) == (401, 'Basic realm="weir", charset="UTF-8"'), path
        assert ask(daemon, path, headers=basic("sha256"))[0] == (404 if path == "/nothing" else 200), path
    for path in PUBLIC:
        assert ask(daemon, path)[0] == 200
        assert ask(daemon, path, headers=basic("sha256", "wrong"))[0] == 200
    assert [status(daemon, name) for name in NAMES] == [200] * len(NAMES)
    for host, credentials in enumerate(WRONG, start=10):
        assert status(daemon, *credentials, host=host) == 401, credentials
    assert figures(daemon) == (6, 0, 0)
    assert "-secret" not in daemon.log() and "$5$" not in daemon.log()


HEADERS = ("Basic", "Basic ", "Basic !!!!", "Basic c2hhMjU2", "Bearer c2hhMjU2OnNoYTI1Ni1zZWNyZXQ=", "",
           "Basic c2hhMjU2OnNoYTI1Ni1zZWNyZXQA", "Basic " + "QUFB" * 1000, "Basic " + "OjpB" * 100)


def test_headers_of_other_kinds_count_as_wrong(guarded):
    daemon = guarded()
    for host, header in enumerate(HEADERS, start=10):
        assert ask(daemon, host=host, headers={"Authorization": header})[0] == 401, header
    assert figures(daemon) == (len(HEADERS), 0, 0)
    header = basic("sha256")["Authorization"]
    for same in (header.replace("Basic ", "bASIC   "), header.rstrip("=")):
        assert ask(daemon, headers={"Authorization": same})[0] == 200


def test_a_source_that_guesses_has_to_wait(guarded):
    daemon = guarded()
    assert [status(daemon, "sha256", f"guess{i}", host=2) for i in range(FAILURES)] == [401] * FAILURES
    for credentials in (("sha256", "guess"), ("sha256",), ("bcrypt",)):
        code, headers, _ = ask(daemon, host=2, headers=basic(*credentials))
        assert code == 429 and 1 <= int(headers["Retry-After"]) <= 60
    assert ask(daemon, host=2)[0] == 401
    assert [ask(daemon, path, host=2)[0] for path in PUBLIC] == [200, 200]
    assert status(daemon, "sha256", host=3) == 200
    assert status(daemon, "sha256", host=2) == 429, "what another source may do is no secret to this one"
    assert figures(daemon) == (FAILURES, 4, 0)


def test_guesses_at_the_same_time_have_no_advantage(guarded):
    """Each counts before it has been verified."""
    daemon = guarded(SLOW)
    got = at_once([lambda i=i: status(daemon, "slow", f"guess{i}", host=2) for i in range(3 * FAILURES)])
    assert sorted(got) == [401] * FAILURES + [429] * 2 * FAILURES


def test_the_parts_of_a_page_are_one_guess(guarded):
    daemon = guarded(SLOW)
    assert at_once([lambda path=path: ask(daemon, path, headers=basic("slow"))[0]
                    for path in GUARDED[:-1] * 2]) == [200] * 18
    assert figures(daemon) == (0, 0, 0)


def cpu_ms(daemon, call):
    """What the daemon needs for it, of CPU time: it does not depend on what else this machine does."""
    def used():
        with open(f"/proc/{daemon.pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    before = used()
    assert call() in (200, 401)
    return used() - before


def test_an_unknown_user_costs_the_same_and_a_right_password_costs_once(guarded):
    daemon = guarded(SLOWER)
    known = cpu_ms(daemon, lambda: status(daemon, "slow", "wrong", host=2))
    unknown = cpu_ms(daemon, lambda: status(daemon, "nobody", "wrong", host=3))
    assert known > 20 and unknown > known / 2, (unknown, known)
    assert status(daemon, "slow") == 200
    assert cpu_ms(daemon, lambda: status(daemon, "slow")) < known / 2


def test_a_reload_changes_users_at_once(guarded):
    daemon = guarded()
    assert status(daemon, "slow") == 200
    write(daemon.users_path, OTHER)
    plan = subprocess.run([BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False).stdout
    assert "auth-file" in plan and "$5$" not in plan, plan
    assert status(daemon, "slow") == 200
    daemon.reload()
    assert status(daemon, "slow", host=2) == 401
    assert status(daemon, "sha256", host=2) == 401
    assert status(daemon, "slow", "other", host=2) == 200
    write(daemon.users_path, "slow:$1$saltsalt$2vnaRpHa6Jxjz5n83ok8Z0\n")
    refused = daemon.reload(refused=True)
    assert "htpasswd -B" in refused and "$1$" not in refused + daemon.log()
    assert status(daemon, "slow", "other") == 200
    daemon.reload(f"auth-file = {daemon.users_path}\n", "")
    assert ask(daemon)[0] == 200


def test_a_crowd_that_guesses_is_told_to_come_back(guarded):
    """One password is verified at a time and QUEUE wait. The probes and the others that are known go on."""
    daemon = guarded(SLOW)
    assert status(daemon, "slow") == 200
    where = ("127.0.0.1", port_of(daemon))
    with contextlib.ExitStack() as stack:
        # All of them are connected, and only have to send: whatever else this machine does, few of their
        # passwords are verified before the last one is there.
        hosts = {host: stack.enter_context(socket.create_connection(where, PATIENCE, (f"127.0.0.{host}", 0)))
                 for host in range(10, 50)}
        for host, sock in hosts.items():
            word = basic("slow", f"guess{host}")["Authorization"]
            sock.sendall(f"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: {word}\r\n\r\n".encode())
        assert (status(daemon, "slow"), ask(daemon, "/healthz")[0]) == (200, 200)
        answers = [http.client.HTTPResponse(sock) for sock in hosts.values()]
        for answer in answers:
            answer.begin()
            answer.read()
    got = [answer.status for answer in answers]
    assert {a.headers["Retry-After"] for a in answers if a.status == 503} == {"1"}
    assert got.count(503) >= 40 - QUEUE - 10 and got.count(503) + got.count(401) == 40, got
    assert figures(daemon) == (got.count(401), 0, got.count(503))


def test_clients_that_leave_and_a_daemon_that_stops_wait_for_no_password(guarded):
    daemon = guarded(SLOW)
    request = f"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: {basic('slow', 'wrong')['Authorization']}\r\n\r\n"
    for host in range(2, 12):
        with socket.create_connection(("127.0.0.1", port_of(daemon)), PATIENCE, (f"127.0.0.{host}", 0)) as s:
            s.sendall(request.replace("c2xvdzp3", "c2xvdzp" + chr(ord("a") + host)).encode())
    assert ask(daemon, "/healthz")[0] == 200
    wait_until(lambda: ask(daemon, "/healthz")[0] == 200 and status(daemon, "slow") == 200,
               "those that left hold up nobody")


# What -c says.

def check(folder, text, *words):
    path = os.path.join(folder, "c.ini")
    write(path, "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n[stats]\n" + text)
    got = subprocess.run([BINARY, "-f", path, *(words or ("-c",))], capture_output=True, text=True,
                         check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    return got.returncode, got.stdout + got.stderr


BAD = (("slow", "no name of a user"), (":$5$a$b", "no name of a user"), ("slow:", "too weak"),
       ("slow:plain", "too weak"), ("slow:{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE=", "does not verify"),
       ("slow:$1$saltsalt$2vnaRpHa6Jxjz5n83ok8Z0", "does not verify"),
       ("slow:$apr1$saltsalt$2vnaRpHa6Jxjz5n83ok8Z0", "does not verify"),
       (SLOW.replace("$08$", "$13$").strip(), "above 12"), (SLOW.strip()[:-1], "not complete"),
       ("slow:$6$rounds=100001$saltsalt$" + "x" * 86, "100,000"), (SLOW + SLOW.strip(), "already"),
       ("slow:$y$jCT$abcdefghijklmnop$" + "x" * 43, "above 7"), ("# nobody", "names no user"))


def test_the_password_of_a_haproxy_line_is_not_quoted(folder):
    code, text = check(folder, "stats auth admin:geheim  # yes\n")
    assert code == 1 and "auth-file = FILE" in text and "geheim" not in text, text


@needs_libcrypt
@pytest.mark.parametrize("users, message", BAD, ids=[message for _, message in BAD])
def test_a_bad_file_of_users_is_refused_and_not_quoted(folder, users, message):
    write(os.path.join(folder, "users"), users + "\n")
    code, text = check(folder, "bind = 127.0.0.1:0\nauth-file = users\n")
    assert code == 1 and message in text, text
    assert "htpasswd -B" in text or message == "already", text
    assert "$" not in text and "{SHA}" not in text, text


@needs_libcrypt
def test_what_others_can_read_and_what_has_no_effect_is_a_warning(folder):
    write(os.path.join(folder, "users"), SLOW)
    code, text = check(folder, "bind = 127.0.0.1:0\nauth-file = users\n")
    assert (code, "0 warnings" in text) == (0, True), text
    os.chmod(os.path.join(folder, "users"), 0o644)
    _, text = check(folder, "bind = 127.0.0.1:0\nauth-file = users\n")
    assert "every user of this machine can read" in text and "1 warning" in text, text
    os.chmod(os.path.join(folder, "users"), 0o640)
    for bind in (":8404", "192.0.2.1:8404", "[::]:8404"):
        _, text = check(folder, f"bind = {bind}\nauth-file = users\n")
        assert "plain text" in text and "1 warning" in text, text
    for bind in ("[::1]:8404", "unix:/tmp/weir-none.sock"):
        assert "0 warnings" in check(folder, f"bind = {bind}\nauth-file = users\n")[1]
    _, text = check(folder, "auth-file = users\n")
    assert "'auth-file' has no effect: [stats] has no 'bind'" in text and "1 warning" in text, text
    code, text = check(folder, "bind = 127.0.0.1:0\nauth-file = users\n", "-T")
    assert code == 0 and "auth-file = users" in text and "$2y$" not in text, text
    code, text = check(folder, "bind = 127.0.0.1:0\nauth-file = none\n")
    assert code == 1 and "cannot read" in text and "htpasswd" in text


def test_keys_without_an_address_have_no_effect(folder):
    _, text = check(folder, "allow-from = 10.0.0.0/8\nper-server-histograms = on\n")
    assert text.count("has no effect: [stats] has no 'bind'") == 2 and "2 warnings" in text, text
    assert "0 warnings" in check(folder, "per-server-histograms = off\n")[1]


@pytest.mark.skipif(built.has("libcrypt"), reason="this weir was built with libcrypt")
def test_a_build_without_libcrypt_refuses_the_key_by_name(folder):
    write(os.path.join(folder, "users"), SLOW)
    code, text = check(folder, "auth-file = users\n")
    assert code == 1 and "'auth-file' is not available: this weir was built without libcrypt" in text, text


@pytest.mark.release_only
def test_a_flood_of_guesses_costs_nobody_else(guarded):
    """Two seconds of what tests/storm/guess.py measures for a minute; its bars are for an idle machine."""
    guarded()
    script = os.path.join(REPOSITORY, "tests", "storm", "guess.py")
    build = os.path.dirname(os.path.dirname(os.path.abspath(BINARY)))
    words = ["--build", build, "--seconds", "2", "--rate", "500", "--slack", str(10 * SCALE)]
    got = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False,
                         timeout=10 * PATIENCE)
    assert got.returncode == 0, got.stdout + got.stderr
