# SPDX-License-Identifier: MIT
"""nginx behind load-balancer.ini: health, a backup, PROXY headers of the load balancer in front."""

import os
import socket

import pytest

import examples
from harness.show_stat import NO_SERVER
from nginx import Nginx
from servers import wait_server
from writer import PATIENCE

CLIENT, DENIED = "203.0.113.7", "192.0.2.66"


@pytest.fixture
def web(servers):
    here = servers("nginx")
    return {name: Nginx(here, name) for name in ("web1", "web2", "sorry")}


def start(weir, web):
    config, options = examples.load("load-balancer.ini")
    daemon = weir(config, options, environment={
        name: web[name.lower()].address for name in ("WEB1", "WEB2", "SORRY")})
    daemon.expected_alarms = NO_SERVER
    for name in ("web1", "web2"):
        wait_server(daemon, "app", name, "UP")
    return daemon


def ask(daemon, client=CLIENT, port=8080):
    """The name of the server that answers to a client of the load balancer in front; "" if nobody does."""
    head = f"PROXY TCP4 {client} 198.51.100.1 1234 {port}\r\n" if client else ""
    with socket.create_connection(("127.0.0.1", daemon.address("web").port), PATIENCE) as sock:
        sock.settimeout(PATIENCE)
        sock.sendall(f"{head}GET / HTTP/1.0\r\n\r\n".encode())
        said = b""
        try:
            while part := sock.recv(4096):
                said += part
        except ConnectionResetError:
            pass
    return said.partition(b"\r\n\r\n")[2].split(b" ")[0].decode()


def asked(daemon, times, **how):
    return {ask(daemon, **how) for _ in range(times)}


def test_clients_reach_servers_that_are_well_and_the_backup_at_last(web, weir):
    daemon = start(weir, web)
    assert asked(daemon, 12) == {"web1", "web2"}
    # Whoever is trusted must say who the client is; and one client is not wanted.
    assert ask(daemon, client=None) == ask(daemon, client=DENIED) == ""

    os.unlink(os.path.join(web["web1"].folder, "health"))
    wait_server(daemon, "app", "web1", "DOWN")
    assert asked(daemon, 6) == {"web2"}
    web["web2"].crash()
    wait_server(daemon, "app", "web2", "DOWN")
    assert asked(daemon, 4) == {"sorry"}
    web["web1"].write("health", "well again\n")
    wait_server(daemon, "app", "web1", "UP")
    assert asked(daemon, 4) == {"web1"}


def test_a_client_of_the_administration_always_reaches_the_same_server(web, weir):
    daemon = start(weir, web)
    for name in ("web1", "web2"):
        wait_server(daemon, "admin", name, "UP")
    found = [asked(daemon, 4, client=f"127.0.1.{n}", port=8443) for n in range(12)]
    assert all(len(servers) == 1 for servers in found), found
    assert set.union(*found) == {"web1", "web2"}
