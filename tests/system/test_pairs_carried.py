# SPDX-License-Identifier: MIT
"""Danger: a line that the report calls carried does something else than in HAProxy: it refuses all clients of
a load balancer, ends sessions that HAProxy keeps, or asks servers something that they do not answer."""

from test_pairs_balance import TIMES

HEADER = b"PROXY TCP4 203.0.113.9 198.51.100.1 1000 443\r\n"


def test_who_may_send_a_header_is_judged_by_its_own_address(pair):
    p = pair("haproxy", TIMES + """
frontend behind
    bind <f> accept-proxy
    acl balancer src 127.0.2.0/24
    tcp-request connection reject if !balancer
    default_backend pool
backend pool
    server a <a>
""", servers="a")

    def scenario(side):
        return {host: side.label(source=host, data=HEADER) for host in ("127.0.2.1", "127.0.3.1")}
    assert p.same(scenario) == {"127.0.2.1": "a", "127.0.3.1": "reset"}


def test_a_tunnel_of_a_backend_keeps_a_client_that_is_idle(pair):
    p = pair("haproxy", TIMES.replace("10s", "300ms") + """
frontend front
    bind <f>
    default_backend tunnel
frontend short
    bind <g>
    timeout tunnel 5s
    default_backend pool
backend tunnel
    timeout tunnel 5s
    server a <a>
backend pool
    server b <b>
""", servers="a b", binds="f g")

    def scenario(side):
        kept, ended = side.connect("f"), side.connect("g")
        labels = kept.label(), ended.label()
        quiet = kept.quiet(1)
        return labels, quiet, ended.finish()[:2]
    assert p.same(scenario, resets=True) == (("a", "b"), True, ("fin", b"b\n"))


def speaks(server, sock, seen):
    """Greets, and takes what comes."""
    sock.sendall(b"SSH " + server.label.encode() + b"\n")
    while data := sock.recv(1000):
        seen.data += data


def test_the_steps_of_a_check_are_those_of_the_section(pair):
    p = pair("haproxy", TIMES + """
    option tcp-check
    tcp-check send PING\\r\\n
    tcp-check expect string +PONG
listen ssh
    bind <f>
    tcp-check expect string SSH
    server a <a> check inter 100ms rise 1 fall 1
""", servers={"a": speaks})

    def scenario(side):
        side["a"].ended(4)
        return side.label()
    assert p.same(scenario) == "SSH a"
