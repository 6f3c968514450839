# SPDX-License-Identifier: MIT
"""Danger: weir's PROXY headers satisfy only its own tests. HAProxy and nginx must accept them too."""

import os
import shutil
import socket
import subprocess

import pytest

from harness.address import Address, of_socket
from harness.timing import PATIENCE, wait_until

HAPROXY = ("global\n maxconn 100\ndefaults\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n")


def need(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


class Program:
    """A child that is ended with the test."""

    def __init__(self, command, log, pass_fds=()):
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          pass_fds=pass_fds)

    def wait_ready(self, condition):
        def ended():
            with open(self.log, encoding="utf-8", errors="replace") as f:
                return f"it ended with {self.child.poll()}: {f.read()}"
        wait_until(lambda: condition() or self.child.poll() is not None, ended)
        assert self.child.poll() is None, ended()

    def close(self):
        self.child.kill()
        self.child.wait()


def answers(path):
    """Does a process listen on this Unix socket?"""
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
        except OSError:
            return False
    return True


def haproxy(peers, folder, text, pass_fds=()):
    path = os.path.join(folder, "haproxy.cfg")
    with open(path, "w", encoding="utf-8") as f:
        f.write(HAPROXY + text)
    return peers.keep(Program([need("haproxy"), "-f", path], os.path.join(folder, "haproxy.log"), pass_fds))


def nginx(peers, folder, where):
    path = os.path.join(folder, "nginx.conf")
    names = " ".join(f"{kind}_temp_path {folder}/{kind};"
                     for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr; events {{}}\n"
                f"http {{ access_log off; {names} server {{ listen unix:{where} proxy_protocol;\n"
                'location / { return 200 "$proxy_protocol_addr:$proxy_protocol_port '
                '$proxy_protocol_server_addr:$proxy_protocol_server_port"; } } }\n')
    return peers.keep(Program([need("nginx"), "-c", path, "-p", folder], os.path.join(folder, "nginx.log")))


def connect(peers, where):
    sock = peers.keep(where.socket())
    sock.settimeout(PATIENCE)
    sock.connect(where.sockaddr)
    return sock


def get(sock):
    """The body of one answer of HTTP."""
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    data = b""
    while part := sock.recv(65536):
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    assert b" 200 " in head.split(b"\r\n")[0], data
    return body.decode()


def two_ends(sock):
    return "%s:%d %s:%d" % (sock.getsockname()[:2] + sock.getpeername()[:2])


BINDS = {"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"}


@pytest.mark.parametrize("family", BINDS)
@pytest.mark.parametrize("words", ("send-proxy=v1", "send-proxy=v2",
                                   "send-proxy=v2 proxy-v2-options=crc32c,unique-id"))
@pytest.mark.parametrize("program", ("haproxy", "nginx"))
def test_others_read_our_header(weir, peers, folder, program, words, family):
    path = f"{folder}/back.sock"
    if program == "nginx":
        child = nginx(peers, folder, path)
    else:
        child = haproxy(peers, folder, f"frontend f\n mode http\n bind unix@{path} accept-proxy\n"
                        " http-request return status 200 content-type text/plain lf-string "
                        '"%[src]:%[src_port] %[dst]:%[dst_port]"\n')
    child.wait_ready(lambda: answers(path))
    daemon = weir(f"[listen l]\nbind = {BINDS[family]}\nserver a = unix:{path} {words}\n")
    client = connect(peers, daemon.address("l"))
    ends = two_ends(client)
    assert get(client) == ends


@pytest.mark.parametrize("family", BINDS)
@pytest.mark.parametrize("words", ("send-proxy", "send-proxy-v2",
                                   "send-proxy-v2 proxy-v2-options crc32c,unique-id"))
def test_we_read_haproxys_header(weir, peers, folder, words, family):
    need("haproxy")
    server = peers.listen()
    daemon = weir(f"[listen l]\nbind = unix:{folder}/front.sock accept-proxy\n"
                  f"server a = {server.address}\n")
    front = peers.keep(Address(family, host="127.0.0.1" if family == "tcp4" else "::1").socket())
    front.bind(("127.0.0.1" if family == "tcp4" else "::1", 0))
    front.listen(16)
    haproxy(peers, folder, f"listen l\n mode tcp\n bind fd@{front.fileno()}\n unique-id-format %ci-%cp\n"
            f" server a unix@{folder}/front.sock {words}\n", (front.fileno(),))
    client = connect(peers, of_socket(front, family))
    client.sendall(b"hello")
    sock = peers.keep(server.accept())
    assert sock.recv(100) == b"hello"
    src = "%s:%d" % client.getsockname()[:2] if family == "tcp4" else "[%s]:%d" % client.getsockname()[:2]
    assert f" client={src} " in daemon.ask("show sess")
    client.close()
    sock.close()
    line = daemon.wait_session_line(client=src)
    if "unique-id" in words:
        assert line["unique_id"] == "%s-%d" % client_name(src)


def client_name(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def test_we_read_haproxys_probe(weir, peers, folder):
    """Its health check speaks for itself: LOCAL, and then nothing."""
    need("haproxy")
    server = peers.listen()
    daemon = weir(f"[listen l]\nbind = unix:{folder}/front.sock accept-proxy\n"
                  f"server a = {server.address}\n")
    haproxy(peers, folder, f"listen b\n mode tcp\n bind unix@{folder}/unused.sock\n option tcp-check\n"
            " tcp-check connect send-proxy\n tcp-check expect string 220\n"
            f" server a unix@{folder}/front.sock check inter 2s send-proxy-v2\n")
    sock = peers.keep(server.accept())
    sock.sendall(b"220 ready\r\n")
    assert sock.recv(100) == b""
    sock.close()
    line = daemon.wait_session_line(bytes_out=11)
    assert line["client"].startswith("unix:"), line
