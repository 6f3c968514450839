# SPDX-License-Identifier: MIT
"""Danger: a configuration that was converted sends a client elsewhere than HAProxy or nginx did."""

import os
import subprocess

import pytest

from harness.daemon import BINARY
from harness.hello import hello
from harness.timing import PATIENCE
from test_access_routes import goes_to
from test_sniff import goes

HAPROXY = """
defaults
    mode tcp
    timeout connect 5s
    timeout client 1m
    timeout server 1m
frontend f
    bind 127.0.0.1:0
    tcp-request inspect-delay 1s
    acl lan src 127.0.0.2
    use_backend x if {{ req.ssl_sni -i a.example.com }} || lan
    use_backend y if {{ req.ssl_sni -m end .example.com }}
    default_backend z
backend x
    server s {0}
backend y
    server s {1}
    server t {1} backup
backend z
    server s {2}
"""

NGINX = """
events {{ }}
stream {{
    map $ssl_preread_server_name $f {{
        hostnames;
        default        z;
        *.example.com  y;
        a.example.com  x;
    }}
    upstream x {{ server {0}; }}
    upstream y {{ server {1}; }}
    upstream z {{ server {2}; }}
    server {{ listen 127.0.0.1:0; ssl_preread on; preread_timeout 1s; proxy_pass $f; }}
}}
"""


def converted(folder, text):
    path = os.path.join(folder, "old")
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    got = subprocess.run([BINARY, "convert", path], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=10 * PATIENCE, check=False)
    assert got.returncode == 0, got.stderr
    return got.stdout


@pytest.mark.smoke
def test_names_and_networks_of_haproxy_go_where_they_went(weir, peers, folder):
    x, y, z = peers.listen(), peers.listen(), peers.listen()
    config = converted(folder, HAPROXY.format(x.address, y.address, z.address))
    daemon = weir(config)
    for name, to in (("a.example.com", x), ("b.example.com", y), ("c.b.example.com", y), ("example.com", z),
                     ("other.org", z)):
        goes(peers, daemon, to, hello(name))
    goes_to(peers, daemon.address("f"), x, "127.0.0.2")


def test_the_most_specific_name_of_nginx_counts(weir, peers, folder):
    x, y, z = peers.listen(), peers.listen(), peers.listen()
    daemon = weir(converted(folder, NGINX.format(x.address, y.address, z.address)))
    for name, to in (("a.example.com", x), ("b.example.com", y), ("example.com", z), ("other.org", z)):
        goes(peers, daemon, to, hello(name))
    goes(peers, daemon, z, b"not TLS at all")
