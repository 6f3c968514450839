# SPDX-License-Identifier: MIT
"""Danger: a check over TLS takes a stranger for the server, fails a good one, or waits for others to fail."""

import contextlib
import os
import select
import socket
import ssl
import subprocess
import time

import pytest

from harness import built, checked, service
from harness.certificates import Authority
from harness.daemon import BINARY
from harness.programs import needs
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import SCALE, wait_until

EVERY = "check-interval = 50ms"
# A handshake costs CPU time, and the daemon must be idle at the end.
CALM = "check-interval = 500ms"
LONG = f"check-timeout = {5000 * SCALE:.0f}ms"
openssl = built.needs("OpenSSL")


@pytest.fixture
def weir(weir):
    """A daemon whose own descriptors are those that last: a check may be under way when they are counted."""
    def start(*args, **kw):
        daemon = checked.lasting(weir(*args, **kw))
        daemon.expected_alarms = f"{NO_SERVER}|TLS alert"
        return daemon

    return start


@pytest.fixture
def authority(folder):
    return Authority(folder)


def sections(checks):
    """{name: (where, check)}: a backend for each."""
    return f"[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = {next(iter(checks))}\n" + "".join(
        f"[backend {name}]\nserver a = {where}\ncheck = {check}\n{CALM}\n{LONG}\n"
        for name, (where, check) in checks.items())


def wait_result(daemon, proxy, code, detail):
    wait_until(lambda: stat(daemon, "a", proxy)["check_status"].removeprefix("* ") == code and
               detail in stat(daemon, "a", proxy)["last_chk"], lambda: f"{proxy}: {stat(daemon, 'a', proxy)}")
    assert stat(daemon, "a", proxy)["status"].startswith("UP" if code.endswith("OK") else "DOWN")


def tls(path, talk, connections=None):
    """`talk` of a service behind a handshake; a client that refuses it ends the connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{path}.pem", f"{path}.key")

    def serve(sock):
        if connections is not None:
            connections.append(time.monotonic())
        with contextlib.suppress(ssl.SSLError, ConnectionError), \
                context.wrap_socket(sock.dup(), server_side=True) as link:
            talk(link)
    return serve


OK = service.http(b"HTTP/1.0 200 OK\r\n\r\nall well")
NGINX = """\
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log info;
events {{ worker_connections 64; }}
http {{ access_log {folder}/access.log; client_body_temp_path {folder}; proxy_temp_path {folder};
 fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
 server {{ listen 127.0.0.1:{good} ssl; ssl_certificate {folder}/good.pem;
  ssl_certificate_key {folder}/good.key; location /up {{ return 200 "all well"; }}
  location / {{ return 404; }} }}
 server {{ listen 127.0.0.1:{proxied} ssl proxy_protocol; ssl_certificate {folder}/good.pem;
  ssl_certificate_key {folder}/good.key; location / {{ return 204; }} }}
 server {{ listen 127.0.0.1:{late} ssl; ssl_certificate {folder}/late.pem;
  ssl_certificate_key {folder}/late.key; location / {{ return 204; }} }} }}
"""


@openssl
@pytest.mark.smoke
def test_nginx_answers_over_tls_to_those_who_trust_it(program, weir, folder, authority):
    path = needs("nginx")
    authority.sign("good", "DNS:app.example.com,IP:127.0.0.1")
    authority.sign("late", "DNS:app.example.com,IP:127.0.0.1", days=-1)

    def argv(good, proxied, late):
        with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as f:
            f.write(NGINX.format(folder=folder, good=good, proxied=proxied, late=late))
        return [path, "-c", f.name, "-p", folder, "-e", os.path.join(folder, "error.log")]
    _, good, proxied, late = program(argv, 3)
    a, by = f"127.0.0.1:{good}", f"verify={authority.path}"
    daemon = weir(sections({
        "good": (a, f'https GET /up expect="all well" {by}'),
        "named": (a, f"https GET /up host=app.example.com:8443 {by}"),
        "status": (a, f"https HEAD /none {by}"),
        "system": (a, "https GET /up"),
        "none": (a, "https GET /up verify=none sni=other.example.com"),
        "other": (a, f"https GET /up {by} sni=other.example.com"),
        "late": (f"127.0.0.1:{late}", f"https / {by}"),
        "hello": (a, "tls"),
        "whole": (a, f"tls {by} alpn=http/1.1"),
        "first": (f"127.0.0.1:{proxied}", f"https / {by} proxy=v1"),
        "second": (f"127.0.0.1:{proxied}", f"https / {by} proxy=v2"),
        "after": (f"127.0.0.1:{proxied}", "tls proxy=v2"),
    }))
    for row in (("good", "L7OK", "status 200"), ("named", "L7OK", ""), ("status", "L7STS", "status 404"),
                ("system", "L6RSP", "certificate refused: unable to get local issuer certificate"),
                ("none", "L7OK", ""), ("other", "L6RSP", "certificate refused: hostname mismatch"),
                ("late", "L6RSP", "certificate refused: certificate has expired"),
                ("hello", "L6OK", "TLS 1."), ("whole", "L6OK", "TLS 1."), ("first", "L7OK", "status 204"),
                ("second", "L7OK", ""), ("after", "L6OK", "")):
        wait_result(daemon, *row)
    assert daemon.terminate() == 0  # checks are under way


@openssl
def test_servers_of_openssl_that_are_too_old_or_too_costly_are_down(programs, weir, authority):
    rsa = authority.sign("rsa", "DNS:localhost,IP:127.0.0.1", key=("-newkey", "rsa:2048", "-nodes"))
    path, where = needs("openssl"), {}
    for name, words in (("new", ()), ("dhe", ("-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256")),
                        ("old", ("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"))):
        _, port = programs.start(lambda port, w=words: [
            path, "s_server", "-accept", f"127.0.0.1:{port}", "-cert", f"{rsa}.pem", "-key", f"{rsa}.key",
            "-www", "-quiet", *w], log=f"{name}.log")
        where[name] = f"127.0.0.1:{port}"
    checks = {}
    for name, address in where.items():
        checks[name] = (address, f"https GET / verify={authority.path}")
        checks[f"{name}-hello"] = (address, "tls sni=localhost alpn=h2,http/1.1")
    daemon = weir(sections(checks))
    for row in (("new", "L7OK", "status 200"), ("new-hello", "L6OK", "TLS 1.3"),
                ("dhe", "L6RSP", "TLS alert: handshake failure"),
                ("dhe-hello", "L6RSP", "TLS alert: handshake failure"),
                ("old", "L6RSP", "TLS alert: protocol version"),
                ("old-hello", "L6RSP", "TLS alert: protocol version")):
        wait_result(daemon, *row)


def scripted(answer, closes=False):
    def talk(sock):
        heard = b""
        while len(heard) < 5 or len(heard) < 5 + int.from_bytes(heard[3:5], "big"):
            part = sock.recv(4096)
            if not part:
                return
            heard += part
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(len(answer)):
            sock.sendall(answer[n:n + 1])
        if closes:
            sock.shutdown(socket.SHUT_WR)
    return talk


# A whole ServerHello of TLS 1.2, as a hello alone needs it.
HELLO = b"\x16\3\3\0\x2a\2\0\0\x26\3\3" + bytes(32) + b"\0\xc0\x2f\0"
ANSWERS = [
    ("whole", HELLO, False, "L6OK", "TLS 1.2"),
    ("refuses", b"\x15\3\3\0\2\2\x70", False, "L6RSP", "TLS alert: unrecognized name"),
    ("http", b"HTTP/1.1 400 Bad Request\r\n\r\n", False, "L6RSP", "the answer is not TLS"),
    ("closed", b"", True, "L6RSP", "closed"),
    ("cut", HELLO[:-1], True, "L6RSP", ""),
]


@pytest.mark.smoke
def test_answers_to_a_hello_in_single_bytes_are_judged(services, weir):
    checks = {name: (services(scripted(answer, closes)).address, "tls")
              for name, answer, closes, _, _ in ANSWERS}
    daemon = weir(sections(checks))
    for name, _, _, code, detail in ANSWERS:
        wait_result(daemon, name, code, detail)


@openssl
def test_wrong_answers_fail_a_handshake_too(services, weir):
    checks = {name: (services(scripted(answer, closes)).address, "https verify=none")
              for name, answer, closes, _, _ in ANSWERS[1:]}
    daemon = weir(sections(checks))
    for name, _, _, _, detail in ANSWERS[1:]:
        wait_result(daemon, name, "L6RSP", detail)


def test_a_silent_server_times_out(services, weir):
    silent = services(lambda sock: sock.recv(1 << 16) and sock.recv(1))
    checks = ["tls"] + ["https verify=none", "tls verify=none"] * built.has("OpenSSL")
    daemon = weir("".join(listen([f"a = {silent.address}"], f"check = {c}", "check-timeout = 300ms", EVERY)
                          .replace("[listen l]", f"[listen l{i}]") for i, c in enumerate(checks)))
    for i in range(len(checks)):
        wait_result(daemon, f"l{i}", "L6TOUT", "not complete in time")
    assert daemon.terminate() == 0


@openssl
def test_those_who_wait_for_the_handshakes_of_others_do_not_fail(weir, authority):
    """Six times as many hang as there may be at once; each gives its place up after its timeout. The good
    server closes what is idle for a moment, and that is not held against it either."""
    handshake = tls(authority.sign("good", "IP:127.0.0.1"), OK)
    closed, held = [], []

    def impatient(sock):
        if select.select([sock], [], [], 0.05 * SCALE)[0]:
            handshake(sock)
        else:
            closed.append(sock.fileno())
            sock.shutdown(socket.SHUT_RDWR)
    silent, good = service.Service(), service.Service(impatient)

    def hold(sock):
        held.append(sock.dup())
    silent.talk = hold
    try:
        whole = 1200 * SCALE    # less than six times the others'
        lines = [f"s{i} = {silent.address}" for i in range(96)]
        short = f"check-timeout = {250 * SCALE:.0f}ms"
        daemon = weir(listen(lines, "check = https verify=none", short, EVERY) +
                      sections({"good": (good.address, f"https verify={authority.path}")})
                      .replace(LONG, f"check-timeout = {whole:.0f}ms").replace(CALM, EVERY))
        for i in (0, 40, 95):
            wait_stat(daemon, f"s{i}", check_status="L6TOUT", status="^DOWN")
        before = len(closed)
        wait_until(lambda: len(closed) >= before + 2, "the good one has its turns")
        row = stat(daemon, "a", "good")
        assert row["status"].startswith("UP") and row["chkfail"] == "0", row
        assert int(row["check_duration"]) < whole, row
        assert daemon.terminate() == 0
    finally:
        for sock in held:
            sock.close()
        for one in (silent, good):
            one.close()


@openssl
def test_other_settings_of_tls_are_another_question(services, weir, authority, folder):
    asked = []
    one = services(tls(authority.sign("good", "DNS:a.example,DNS:b.example"), OK, asked))
    other = Authority(folder, "other").path
    checks = {name: (one.address, check) for name, check in (
        ("one", f"https verify={authority.path} sni=a.example"),
        ("same", f"https verify={authority.path} sni=a.example"),
        ("name", f"https verify={authority.path} sni=b.example"),
        ("none", "https verify=none sni=a.example"), ("other", f"https verify={other} sni=a.example"))}
    daemon = weir(sections(checks).replace(CALM, f"{CALM}\ncheck-share = on"))
    for name in ("one", "same", "name", "none"):
        wait_result(daemon, name, "L7OK", "")
    wait_result(daemon, "other", "L6RSP", "unable to get local issuer certificate")
    for name in ("one", "same"):
        wait_until(lambda n=name: "shared with 1 more server" in daemon.ask(f"why {n}"), f"{name} shares")
    for name in ("name", "none", "other"):
        assert "shared" not in daemon.ask(f"why {name}"), name


@openssl
def test_a_reload_takes_the_contents_of_a_file_of_certificates(services, weir, authority, folder):
    one = services(tls(authority.sign("good", "IP:127.0.0.1"), OK))
    trusted = os.path.join(folder, "trusted.pem")

    def trust(path):
        with open(path, encoding="ascii") as f, open(trusted, "w", encoding="ascii") as out:
            out.write(f.read())
    trust(Authority(folder, "other").path)
    daemon = weir(sections({"b": (one.address, f"https verify={trusted}")}))
    wait_result(daemon, "b", "L6RSP", "unable to get local issuer certificate")
    trust(authority.path)
    plan = subprocess.run([BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                          timeout=60, check=False).stdout
    assert f"verify: {trusted} -> other certificates" in plan, plan
    assert "backend b changed" in daemon.reload()
    wait_result(daemon, "b", "L7OK", "status 200")
    with open(trusted, "w", encoding="ascii") as f:
        f.write("nothing\n")
    assert "it has no certificate" in daemon.reload(refused=True)
    wait_result(daemon, "b", "L7OK", "status 200")


@openssl
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can read what nobody cannot")
def test_certificates_are_read_before_privileges_are_dropped(services, weir, authority, folder):
    one = services(tls(authority.sign("good", "IP:127.0.0.1"), OK))
    os.chmod(authority.path, 0o600)
    daemon = weir(sections({"b": (one.address, f"https verify={authority.path}")}), "user = nobody")
    wait_result(daemon, "b", "L7OK", "status 200")
    assert "Permission denied" in daemon.reload(refused=True)
    wait_result(daemon, "b", "L7OK", "status 200")


def validate(folder, check):
    path = os.path.join(folder, "w.ini")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"[listen l]\nbind = :1\nserver a = 127.0.0.1:1\ncheck = {check}\n")
    return subprocess.run([BINARY, "-c", "-f", path], capture_output=True, text=True, timeout=60, check=False)


def test_a_check_that_verifies_nothing_is_in_the_last_line(folder):
    done = validate(folder, "tls")
    assert done.returncode == 0 and "verify" not in done.stdout, done
    done = validate(folder, "https verify=none")
    if built.has("OpenSSL"):
        assert done.stdout.endswith(", 0 warnings, 1 check with verify=none)\n"), done
    else:
        assert done.returncode != 0
        assert "'verify' needs OpenSSL, which this weir is built without" in done.stderr
        assert "'check = https' needs OpenSSL" in validate(folder, "https").stderr
