# SPDX-License-Identifier: MIT
"""nginx with TLS behind tls-passthrough.ini and sni.ini: each name reaches its servers, with their own
certificates."""

import hashlib
import os
import socket
import ssl

import pytest

import examples
from harness.certificates import Authority
from harness.timing import wait_until
from nginx import Nginx
from servers import ports
from writer import PATIENCE

SIZE = 20 << 20


@pytest.fixture
def authority(folder):
    return Authority(folder)


@pytest.fixture
def start_nginx(servers, authority):
    here = servers("nginx")
    return lambda name, names, words="": Nginx(here, name, words, authority.sign(name, names))


class Client:
    """A connection to a site, which must prove its name, unless it is asked for none."""

    def __init__(self, port, authority, name, source="127.0.0.1"):
        context = ssl.create_default_context(cafile=authority.path)
        if name is None:
            context.check_hostname = False
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))
        self.link = context.wrap_socket(plain, server_hostname=name)

    def ask(self, path="/"):
        self.link.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        with self.link.makefile("rb") as file:
            said = file.read()
        self.link.close()
        return said.partition(b"\r\n\r\n")[2]


def ask(port, authority, name, **how):
    """[server, address in the PROXY header if it gets one, name that it was asked for]"""
    return Client(port, authority, name, **how).ask().decode().rstrip("\n").split(" ")


def test_each_name_reaches_its_servers_and_every_byte_arrives(start_nginx, authority, weir):
    shop = start_nginx("s1", "DNS:shop.example.com,DNS:www.example.com")
    apps = start_nginx("a1", "DNS:*.apps.example.com")
    mail = start_nginx("m1", "DNS:mail.example.com")
    config, options = examples.load(
        "tls-passthrough.ini", "10.1.0.11:443", shop.address, "10.1.0.12:443", shop.address,
        "10.1.0.31:443", apps.address, "10.1.0.32:443", apps.address,
        "10.1.0.21:465", mail.address, "10.1.0.22:465", mail.address,
        "10.1.0.21:993", mail.address, "10.1.0.22:993", mail.address)
    daemon = weir(config, options)
    port = daemon.address("tls").port
    for name, server in (("shop.example.com", "s1"), ("www.example.com", "s1"), ("x.apps.example.com", "a1"),
                         ("a.b.apps.example.com", None), (None, "s1")):
        if server is None:  # a wildcard of weir covers any depth, and that of a certificate one
            with pytest.raises(ssl.SSLCertVerificationError, match="a.b.apps.example.com"):
                ask(port, authority, name)
        else:
            assert ask(port, authority, name) == [server, "", name or ""]
    for proxy in ("submission", "imap"):
        assert ask(daemon.address(proxy).port, authority, "mail.example.com")[0] == "m1"

    body = os.urandom(SIZE)
    with open(os.path.join(apps.folder, "big"), "wb") as f:
        f.write(body)
    apps.servers.give(f.name)
    got = Client(port, authority, "x.apps.example.com").ask("/big")
    assert hashlib.sha256(got).digest() == hashlib.sha256(body).digest()

    with socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
        sock.settimeout(PATIENCE)
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            sock.recv(4096)


def test_sites_on_one_port_and_one_sees_its_clients(start_nginx, authority, weir):
    git = start_nginx("g1", "DNS:git.example.com", "proxy_protocol")
    mail = start_nginx("m1", "DNS:imap.mail.example.com")
    chat = start_nginx("x1", "DNS:example.com")
    web = start_nginx("w1", "DNS:www.example.com")
    (dead,) = ports(1)
    config, options = examples.load(
        "sni.ini", "10.2.0.11:443", git.address, "10.2.0.12:443", git.address,
        "10.2.0.21:443", mail.address, "10.2.0.22:443", mail.address,
        "10.2.0.31:5223", chat.address, "10.2.0.32:5223", chat.address,
        "10.2.0.41:443", f"127.0.0.1:{dead}", "10.2.0.42:443", web.address)
    daemon = weir(config, options)
    port = daemon.address("https").port
    assert ask(port, authority, "git.example.com", source="127.0.0.77") == ["g1", "127.0.0.77",
                                                                            "git.example.com"]
    assert ask(port, authority, "imap.mail.example.com") == ["m1", "", "imap.mail.example.com"]
    # Its first server refuses: it is left out soon, and no client notices.
    wait_until(lambda: ask(port, authority, "www.example.com")[0] != "w1" or
               "server web/w1 is DOWN" in daemon.log(), lambda: daemon.log()[-2000:])
    assert ask(port, authority, "www.example.com")[0] == "w1"
