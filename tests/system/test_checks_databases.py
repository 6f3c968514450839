# SPDX-License-Identifier: MIT
"""Danger: a check takes a database that cannot serve for one that can, a replica for a master, or fills its
log. Scripted servers give every kind of answer; the real ones show that the scripts are right."""

import re
import socket
import subprocess

import pytest

from harness import checked
from harness.postgres import Postgres
from harness.programs import needs
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE, wait_until

EVERY = "check-interval = 50ms"
# The time that a server has to end its side before the next check.
CALM = "check-interval = 1s"


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        daemon = checked.lasting(weir(*args, **kw))
        daemon.expected_alarms = NO_SERVER
        return daemon

    return start


def read_until(sock, end):
    """What arrives up to `end`; less when the other side ends before."""
    got = b""
    while not got.endswith(end):
        part = sock.recv(4096)
        if not part:
            break
        got += part
    return got


class Scripted:
    """`talk` for a service: waits for `question`, then sends `answer` byte by byte; keeps what it read."""

    def __init__(self, question, answer, closes=False):
        self.question, self.answer, self.closes = question, answer, closes
        self.heard = []

    def __call__(self, sock):
        heard = read_until(sock, self.question)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(len(self.answer)):
            sock.sendall(self.answer[n:n + 1])
        if self.closes:
            sock.shutdown(socket.SHUT_WR)
        while True:
            part = sock.recv(4096)
            if not part:
                break
            heard += part
        self.heard.append(heard)


def wait_result(daemon, code, detail, server="a"):
    """After a first check that came to its timeout, a server is up again after some more."""
    row = wait_stat(daemon, server, check_status=code, last_chk=".*" if detail else "^$",
                    status="^UP" if code == "L7OK" else "^DOWN")
    assert row["last_chk"] == detail, row
    return row


# ---- Redis, scripted ----

PING = b"*1\r\n$4\r\nPING\r\n"
ROLE = b"*1\r\n$4\r\nROLE\r\n"
QUIT = b"*1\r\n$4\r\nQUIT\r\n"


@pytest.mark.parametrize("words, answer, code, detail", [
    ("", b"+PONG\r\n", "L7OK", ""),
    ("", b"-NOAUTH Authentication required.\r\n", "L7OK", "asks for a password"),
    ("", b"-LOADING Redis is loading the dataset in memory\r\n", "L7STS",
     "LOADING Redis is loading the dataset in memory"),
    ("", b"-DENIED Redis is running in protected mode\r\n", "L7STS",
     "DENIED Redis is running in protected mode"),
    ("", b"SSH-2.0-OpenSSH\r\n", "L7RSP", "the answer is not that of a Redis server"),
    (" role=master", b"+PONG\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", "L7OK", "master"),
    (" role=replica", b"+PONG\r\n*5\r\n$5\r\nslave\r\n$1\r\nx\r\n", "L7OK", "replica"),
    (" role=master", b"+PONG\r\n*5\r\n$5\r\nslave\r\n$1\r\nx\r\n", "L7STS", "is a replica, not a master"),
    (" role=master", b"-MASTERDOWN Link with MASTER is down\r\n*5\r\n", "L7STS",
     "MASTERDOWN Link with MASTER is down"),
    (" role=master", b"-NOAUTH a\r\n-NOAUTH a\r\n", "L7STS",
     "role= needs a default user that may run ROLE without a password"),
], ids=lambda v: v.decode("latin-1").strip()[:20] if isinstance(v, bytes) else None)
def test_a_redis_answer_in_single_bytes_is_judged(services, weir, words, answer, code, detail):
    question = PING + (ROLE if words else b"")
    talk = Scripted(question, answer)
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], f"check = redis{words}", CALM))
    wait_result(daemon, code, detail)
    wait_until(lambda: a.ends, "a whole check")
    assert talk.heard[0] == question + (b"" if code == "L7RSP" else QUIT)
    assert a.ends[0] == "fin"


def test_a_redis_server_that_closes_or_keeps_silent_is_down(services, weir):
    closing, silent = services(Scripted(PING, b"+PON", closes=True)), services(Scripted(PING, b"+PONG\r"))
    daemon = weir(listen([f"a = {closing.address}", f"b = {silent.address}"], "check = redis",
                         "check-timeout = 200ms", EVERY))
    wait_result(daemon, "L7RSP", "the answer ends too early")
    wait_result(daemon, "L7TOUT", "expected answer not received in time", server="b")
    assert daemon.terminate() == 0  # a check is always under way


def test_an_endless_error_ends_within_bounds(services, weir):
    def talk(sock):
        sent = 0
        sock.settimeout(0.5)
        try:
            while sent < 1 << 24:
                sent += sock.send(b"-" + b"x" * 65535)
        except OSError:
            pass
        amounts.append(sent)
    amounts = []
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], "check = redis", EVERY))
    wait_result(daemon, "L7RSP", "the answer ends too early")
    # What the kernel's buffers hold comes on top of what weir reads.
    wait_until(lambda: amounts and amounts[0] < 1 << 24, "the rest is not read")


def test_a_reload_to_another_role_begins_anew(services, weir):
    talk = Scripted(PING, b"+PONG\r\n*3\r\n$6\r\nmaster\r\n")
    a = services(talk)
    text = listen([f"a = {a.address}"], "check = redis", EVERY)
    daemon = weir(text)
    wait_result(daemon, "L7OK", "")
    talk.question = PING + ROLE
    daemon.reload("check = redis", "check = redis role=replica")
    wait_result(daemon, "L7STS", "is a master, not a replica")


# ---- PostgreSQL, scripted ----

def message(kind, body=b""):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


def error(code, text):
    return message(b"E", b"SFATAL\0VFATAL\0C" + code + b"\0M" + text + b"\0Fpostmaster.c\0\0")


def row(standby, read_only):
    return message(b"D", b"\0\2\0\0\0\1" + standby + len(read_only).to_bytes(4, "big") + read_only)


ENTERED = message(b"R", b"\0\0\0\0")
MD5 = message(b"R", b"\0\0\0\5abcd")
READY = message(b"S", b"server_version\00015.1\0") + message(b"K", b"\0" * 8) + message(b"Z", b"I")
STARTUP = b"application_name\0weir\0\0"
TERMINATE = b"X\0\0\0\4"
QUERY = message(b"Q", b"SELECT pg_catalog.pg_is_in_recovery(), "
                b"pg_catalog.current_setting('transaction_read_only')\0")


@pytest.mark.parametrize("answer, code, detail", [
    (ENTERED + READY, "L7OK", ""),
    (MD5, "L7OK", "asks for a password"),
    (error(b"57P03", b"the database system is starting up"), "L7STS",
     "57P03: the database system is starting up"),
    (error(b"28000", b'no pg_hba.conf entry for host "::1"'), "L7STS",
     r"28000: no pg_hba.conf entry for host \x22::1\x22"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "L7RSP", "the answer is not that of a PostgreSQL server"),
], ids=["let in", "password", "starting", "no entry", "another protocol"])
def test_a_postgres_answer_in_single_bytes_is_judged(services, weir, answer, code, detail):
    talk = Scripted(STARTUP, answer)
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], 'check = pgsql user="a b"', CALM))
    wait_result(daemon, code, detail)
    wait_until(lambda: a.ends, "a whole check")
    startup = b"\0\0\0\x3a\0\3\0\0user\0a b\0database\0postgres\0" + STARTUP
    assert talk.heard[0] == startup + (TERMINATE if answer.startswith(ENTERED) else b"")
    assert a.ends[0] == "fin"


@pytest.mark.parametrize("role, answer, code, detail", [
    ("primary", row(b"f", b"off"), "L7OK", "primary"),
    ("standby", row(b"t", b"on"), "L7OK", "standby"),
    ("primary", row(b"t", b"on"), "L7STS", "is a standby, not a primary"),
    ("standby", row(b"f", b"off"), "L7STS", "is a primary, not a standby"),
    ("primary", row(b"f", b"on"), "L7STS", "accepts no writes: transaction_read_only is on"),
    ("primary", row(b"x", b"on"), "L7RSP", "unexpected answer to the question for its role"),
    ("primary", message(b"C", b"SELECT 0\0"), "L7RSP", "unexpected answer to the question for its role"),
    ("primary", error(b"42501", b"permission denied"), "L7STS", "42501: permission denied"),
], ids=["primary", "standby", "not primary", "not standby", "read-only", "no boolean", "no row", "error"])
def test_the_role_of_a_postgres_server_is_asked_for(services, weir, role, answer, code, detail):
    heard = []

    def talk(sock):
        startup = read_until(sock, STARTUP)
        sock.sendall(ENTERED)
        sock.sendall(READY)
        query = read_until(sock, b"')\0")
        sock.sendall(message(b"T", b"\0\2") + answer)
        heard.append((startup, query, read_until(sock, b"nothing")))
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], f"check = pgsql user=weir role={role}", CALM))
    wait_result(daemon, code, detail)
    wait_until(lambda: a.ends, "a whole check")
    startup = b"\0\0\0\x3b\0\3\0\0user\0weir\0database\0postgres\0" + STARTUP
    assert heard[0] == (startup, QUERY, TERMINATE)
    assert a.ends[0] == "fin"


def test_a_postgres_server_that_wants_a_password_has_no_known_role(services, weir):
    a = services(Scripted(STARTUP, MD5))
    daemon = weir(listen([f"a = {a.address}"], "check = pgsql user=weir role=primary database=app", EVERY))
    wait_result(daemon, "L7STS", "asks for a password: role= needs a user who may log in without one")
    assert a.talk.heard[0].endswith(b"database\0app\0" + STARTUP)


def test_a_postgres_server_that_closes_or_keeps_silent_is_down(services, weir):
    closing, silent = services(Scripted(STARTUP, b"", closes=True)), services(Scripted(STARTUP, b"R\0\0"))
    daemon = weir(listen([f"a = {closing.address}", f"b = {silent.address}"], "check = pgsql user=x",
                         "check-timeout = 200ms", EVERY))
    wait_result(daemon, "L7RSP", "connection closed without an answer")
    wait_result(daemon, "L7TOUT", "expected answer not received in time", server="b")
    assert daemon.terminate() == 0  # a check is always under way


# ---- a PROXY header alone ----

@pytest.mark.parametrize("words, header", [
    ("proxy", rb"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"),
    ("proxy=v1", rb"PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\n"),
])
def test_a_check_by_proxy_header_alone_sends_it_and_nothing_else(services, weir, words, header):
    talk = Scripted(b"nothing", b"")
    a = services(talk)
    daemon = weir(listen([f"a = {a.address}"], f"check = {words}", CALM))
    wait_stat(daemon, "a", check_status="L4OK", status="^UP")
    wait_until(lambda: a.ends, "a whole check")
    assert re.fullmatch(header, talk.heard[0]), talk.heard
    assert a.ends[0] == "fin"


# ---- real servers ----

def redis(programs, folder, *options):
    path = needs("redis-server")
    child, port = programs.start(lambda port: [
        path, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder,
        "--repl-diskless-sync-delay", "0", *options])
    return child, port


def command(port, *words):
    return subprocess.run([needs("redis-cli"), "-p", str(port), *words], capture_output=True, text=True,
                          timeout=30, check=True).stdout


@pytest.mark.smoke
def test_real_redis_is_followed_from_master_to_master(programs, weir, folder):
    first, a = redis(programs, folder)
    _, b = redis(programs, folder, "--replicaof", "127.0.0.1", str(a))
    servers = f"server a = 127.0.0.1:{a}\nserver b = 127.0.0.1:{b}\n{EVERY}\n"
    daemon = weir("".join(f"[listen {name}]\nbind = 127.0.0.1:0\n{servers}check = redis{words}\n"
                          for name, words in (("l", " role=master"), ("r", " role=replica"), ("any", ""))))
    for section, server, code in (("l", "a", "L7OK"), ("l", "b", "L7STS"), ("r", "a", "L7STS"),
                                  ("r", "b", "L7OK"), ("any", "a", "L7OK"), ("any", "b", "L7OK")):
        wait_until(lambda s=section, n=server, c=code: stat(daemon, n, s)["check_status"].endswith(c),
                   lambda s=section, n=server: stat(daemon, n, s))
    assert command(a, "client", "info").count("\n") == 1
    assert "total_error_replies:0" in command(a, "info", "stats"), "a check made an error"
    first.kill()
    command(b, "replicaof", "no", "one")
    wait_stat(daemon, "b", status="^UP", check_status="L7OK", last_chk="master")
    wait_stat(daemon, "a", status="^DOWN", check_status="L4CON")


def test_real_redis_with_a_password_shows_its_role_to_the_default_user(programs, weir, folder):
    _, port = redis(programs, folder, "--user", *"default on nopass resetkeys -@all +ping +role".split(),
                    "--user", *"app on >word ~* +@all".split())
    _, closed = redis(programs, folder, "--requirepass", "word")
    daemon = weir(listen([f"a = 127.0.0.1:{port}", f"b = 127.0.0.1:{closed}"], "check = redis role=master",
                         EVERY) + f"[listen any]\nbind = 127.0.0.1:0\nserver b = 127.0.0.1:{closed}\n"
                  f"check = redis\n{EVERY}\n")
    wait_result(daemon, "L7OK", "master")
    wait_result(daemon, "L7STS", "role= needs a default user that may run ROLE without a password",
                server="b")
    wait_until(lambda: stat(daemon, "b", "any")["last_chk"] == "asks for a password",
               lambda: stat(daemon, "b", "any"))
    assert stat(daemon, "b", "any")["status"].startswith("UP")


def sections(servers, **checks):
    """A section for each check, with all servers."""
    lines = "".join(f"server {name} = 127.0.0.1:{s.port}\n" for name, s in servers.items())
    return "".join(f"[listen {name}]\nbind = 127.0.0.1:0\n{lines}check-interval = 250ms\n"
                   f"check-timeout = {PATIENCE * 1000:.0f}ms\ncheck = {check}\n"
                   for name, check in checks.items())


def wait_rows(daemon, *wanted):
    for section, server, code, detail in wanted:
        wait_until(lambda s=section, n=server, c=code: stat(daemon, n, s)["check_status"].endswith(c),
                   lambda s=section, n=server: stat(daemon, n, s))
        assert re.match(detail, stat(daemon, server, section)["last_chk"]), stat(daemon, server, section)


def test_real_postgres_is_followed_from_primary_to_primary(programs, weir, folder):
    a = Postgres(programs, folder, "a").start()
    a.sql("CREATE ROLE weir LOGIN; CREATE ROLE secret LOGIN PASSWORD 'word'")
    b = Postgres(programs, folder, "b", a).start()
    daemon = weir(sections({"a": a, "b": b}, l="pgsql user=weir role=primary",
                           r="pgsql user=weir role=standby", any="pgsql user=weir",
                           secret="pgsql user=secret", closed="pgsql user=secret role=primary",
                           nobody="pgsql user=nobody", lost="pgsql user=postgres role=primary database=lost"))
    wait_rows(daemon, ("l", "a", "L7OK", "primary"), ("l", "b", "L7STS", "is a standby"),
              ("r", "b", "L7OK", "standby"), ("r", "a", "L7STS", "is a primary"),
              ("any", "a", "L7OK", "$"), ("any", "b", "L7OK", "$"),
              ("secret", "a", "L7OK", "asks for a password"), ("closed", "a", "L7STS", "asks for a password"),
              ("nobody", "a", "L7STS", "28000: no pg_hba.conf entry"),
              ("lost", "a", "L7STS", r"3D000: database \\x22lost\\x22 does not exist"))
    a.sql("ALTER ROLE weir SET default_transaction_read_only = on")
    wait_rows(daemon, ("l", "a", "L7STS", "accepts no writes"))
    a.sql("ALTER ROLE weir RESET default_transaction_read_only")
    wait_rows(daemon, ("l", "a", "L7OK", "primary"))
    wait_until(lambda: b.sql("SELECT count(*) FROM pg_roles WHERE rolname = 'weir' AND EXISTS (SELECT FROM "
                             "pg_db_role_setting)") == "0", "the standby knows")
    a.die()
    b.promote()
    wait_rows(daemon, ("l", "b", "L7OK", "primary"), ("r", "b", "L7STS", "is a primary"),
              ("l", "a", "L4CON", "connection refused"))
    for postgres in (a, b):
        for word in ("unexpected EOF", "startup packet", "frontend", "could not send", "reset by peer"):
            assert word not in postgres.log(), postgres.log()[-3000:]
    assert daemon.terminate() == 0  # checks are under way


def test_a_postgres_server_that_is_starting_is_down_with_its_own_words(programs, weir, folder):
    a = Postgres(programs, folder, "a")
    a.write("standby.signal", "")
    a.start("hot_standby=off", "primary_conninfo=", wait=False)
    daemon = weir(sections({"a": a}, l="pgsql user=weir", r="pgsql user=weir role=standby"))
    wait_rows(daemon, ("l", "a", "L7STS", "57P03: the database system is "),
              ("r", "a", "L7STS", "57P03: the database system is "))
    assert daemon.terminate() == 0
