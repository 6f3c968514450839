# SPDX-License-Identifier: MIT
"""Danger: after a conversion from HAProxy, a client reaches another server, or one that it was kept from."""

import os

from harness.address import Address
from harness.hello import hello
from harness.labelled import silent
from harness.original import near
from harness.port_service import PortService, ask, free_run
from test_pairs_balance import TIMES


NAMES = ("shop.example.com", "SHOP.Example.com", "x.api.example.com", "y.x.API.example.com",
         "api.example.com", "other.org", None)


def test_names_of_tls_go_to_their_backends(pair):
    p = pair("haproxy", TIMES + """
frontend tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    acl is_shop req.ssl_sni -i shop.example.com
    acl is_api req.ssl_sni -m end .api.example.com
    acl is_h2 req.ssl_alpn h2
    use_backend shop if is_shop
    use_backend both if is_api is_h2
    use_backend api if is_api
    default_backend rest
backend shop
    server a <a>
backend api
    server b <b>
backend both
    server c <c>
backend rest
    server d <d>
""", servers="a b c d")

    def scenario(side):
        found = {name: side.label(data=hello(name)) for name in NAMES}
        client = side.connect(data=b"no TLS")
        label = client.label()
        return found, side.label(data=hello("x.api.example.com", ("h2", "http/1.1"))), label
    theirs, ours = p.both(scenario)
    found = dict(zip(NAMES, "aabdddd"))
    assert theirs == (found, "c", "d")
    # The case of a name: the report names it.
    assert ours == (found | {"y.x.API.example.com": "b"}, "c", "d")
    p.named("without -i")


def test_a_client_that_says_nothing_waits_as_long(pair):
    p = pair("haproxy", TIMES + """
frontend lenient
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use_backend x if { req.ssl_sni -i a.example.com }
    default_backend pool
frontend strict
    bind <g>
    tcp-request inspect-delay 500ms
    tcp-request content reject if !{ req.ssl_hello_type 1 }
    default_backend pool
backend pool
    server a <a>
backend x
    server b <b>
""", servers="a b", binds="f g")

    def scenario(side):
        client = side.connect("f")
        label = client.label()
        return {"lenient": (label, client.took), "strict": side.connect("g").finish(),
                "no TLS": side.connect("g", data=b"no TLS at all").finish()[:2],
                "TLS": side.label("g", data=hello("a.example.com"))}
    found = p.same(scenario, True, lambda found:
                   near(found["lenient"][1], 0.5) and near(found["strict"][2], 0.5))
    assert found["lenient"][0] == found["TLS"] == "a" and near(found["lenient"][1], 0.5)
    assert found["strict"][:2] == found["no TLS"] == ("fin", b"") and near(found["strict"][2], 0.5)


def test_addresses_are_let_in_and_kept_out(pair):
    p = pair("haproxy", TIMES + """
frontend early
    bind <f>
    acl office src 127.0.2.0/24 127.0.0.5
    acl stranger src 127.0.2.66
    tcp-request connection reject if stranger
    tcp-request connection accept if office
    tcp-request connection reject
    default_backend pool
frontend late
    bind <g>
    tcp-request content reject if { src 127.0.3.0/24 }
    use_backend two if { src 127.0.4.1 127.0.4.2 }
    default_backend pool
backend pool
    server a <a>
backend two
    server b <b>
""", servers="a b", binds="f g")

    def scenario(side):
        early = {host: side.label("f", source=host)
                 for host in ("127.0.2.1", "127.0.0.5", "127.0.2.66", "127.0.0.1")}
        late = {host: side.label("g", source=host)
                for host in ("127.0.3.9", "127.0.4.1", "127.0.4.2", "127.0.4.3")}
        return early, late
    assert p.same(scenario, resets=True) == (
        {"127.0.2.1": "a", "127.0.0.5": "a", "127.0.2.66": "reset", "127.0.0.1": "reset"},
        {"127.0.3.9": "fin", "127.0.4.1": "b", "127.0.4.2": "b", "127.0.4.3": "a"})


def header(server, sock, seen):
    """Notes what comes, to an x."""
    while not seen.data.endswith(b"x"):
        part = sock.recv(1000)
        if not part:
            return
        seen.data += part
    sock.sendall(server.label.encode() + b"\n")


def test_the_address_of_the_client_reaches_the_server(pair):
    p = pair("haproxy", TIMES + """
listen one
    bind <f>
    server a <a> send-proxy
listen two
    bind <g>
    server b <b> send-proxy-v2
listen through
    bind <h> accept-proxy
    acl good src 192.0.2.0/24
    tcp-request content reject if !good
    server c <c> send-proxy
""", servers=dict.fromkeys("abc", header), binds="f g h")

    def scenario(side):
        ports = []

        def seen(label, bind, data):
            client = side.connect(bind, source="127.0.0.7")
            ports[:] = [client.sock.getsockname()[1], side.binds[bind].port]
            client.send(data)
            if client.label() != label:
                return client.end
            head = bytes(side[label].ended(side[label].count).data)
            for number, port in enumerate(ports):
                head = head.replace(str(port).encode(), b"P%d" % number)
                head = head.replace(port.to_bytes(2, "big"), b"P%d" % number)
            return head
        return (seen("a", "f", b"x"), seen("b", "g", b"x"),
                seen("c", "h", b"PROXY TCP4 192.0.2.9 198.51.100.1 1000 443\r\nx"),
                seen("c", "h", b"PROXY TCP4 203.0.113.9 198.51.100.1 1000 443\r\nx"),
                seen("c", "h", b"no header at all\r\n"))
    first, second, third, *refused = p.same(scenario, resets=True)
    assert first == b"PROXY TCP4 127.0.0.7 127.0.0.1 P0 P1\r\nx" and second.endswith(b"P0P1x")
    assert third == b"PROXY TCP4 192.0.2.9 198.51.100.1 1000 443\r\nx" and refused == ["fin", "reset"]


def test_a_server_without_a_port_gets_clients_at_their_own(pair, closing):
    def more(side):
        first = free_run(3)
        side.first = first
        side.ports = PortService(range(first, first + 3))
        closing.append(side.ports)
        return {"range": f"127.0.0.1:{first}-{first + 2}", "host": "127.0.0.2"}
    p = pair("haproxy", TIMES + """
listen web
    bind <range>
    server a <host>
listen shifted
    bind <f>
    server a <a>
""", servers="a", more=more)

    def scenario(side):
        got = [ask(("127.0.0.1", side.first + n), b"x").split() for n in range(3)]
        return [(int(port) - side.first, data) for port, data in got]
    assert p.same(scenario) == [(0, b"x"), (1, b"x"), (2, b"x")]


def test_a_map_of_names_leads_to_the_same_backends(pair, folder):
    path = os.path.join(folder, "names.map")
    with open(path, "w", encoding="ascii") as f:
        f.write("# names\nwww.example.com one\nmail.example.com   two\n")
    p = pair("haproxy", TIMES + """
frontend tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use_backend %[req.ssl_sni,lower,map(<path>,rest)]
backend one
    server a <a>
backend two
    server b <b>
backend rest
    server c <c>
""", servers="a b c", more=lambda side: {"path": path})

    def scenario(side):
        return {name: side.label(data=hello(name)) for name in
                ("www.example.com", "MAIL.example.com", "x.www.example.com", "example.com")}
    assert p.same(scenario) == {"www.example.com": "a", "MAIL.example.com": "b", "x.www.example.com": "c",
                                "example.com": "c"}


def test_each_section_has_the_defaults_that_it_names(pair):
    p = pair("haproxy", """
defaults quick
    mode tcp
    timeout connect 300ms
    timeout client 400ms
    timeout server 400ms
    retries 0
defaults slow
    mode tcp
    timeout connect 300ms
    timeout client 900ms
    timeout server 900ms
listen one from quick
    bind <f>
    server a <a>
listen two from slow
    bind <g>
    server b <b>
""", servers={"a": silent, "b": silent}, binds="f g")

    def scenario(side):
        one, two = side.connect("f"), side.connect("g")
        return one.finish()[2], two.finish()[2]
    fast, slow = p.same(scenario, fits=lambda found: near(found[0], 0.4) and near(found[1], 0.9))
    assert near(fast, 0.4) and near(slow, 0.9)


def test_families_of_addresses_are_bound_as_before(pair):
    p = pair("haproxy", TIMES + """
listen four
    bind *:<f.port>
    server a <a>
listen six
    bind [::]:<g.port> v6only
    server b <b>
listen both
    bind [::]:<h.port> v4v6
    server c <c>
""", servers="a b c", binds="f g h")

    def scenario(side):
        found = {}
        for bind in "fgh":
            port = side.binds[bind].port
            found[bind] = (side.label(bind),
                           side.label(Address("tcp6", host="::1", port=port)))
        return found
    assert p.same(scenario) == {"f": ("a", "refused"), "g": ("refused", "b"), "h": ("c", "c")}


def test_limits_per_address_are_as_before(pair):
    p = pair("haproxy", TIMES + """
frontend web
    bind <f>
    stick-table type ip size 10k expire 30s store conn_cur
    tcp-request connection track-sc0 src
    tcp-request connection reject if { sc0_conn_cur gt 2 }
    default_backend pool
frontend rate
    bind <g>
    stick-table type ip size 10k expire 60s store conn_rate(60s)
    tcp-request connection track-sc0 src
    tcp-request connection reject if { sc0_conn_rate gt 3 }
    default_backend pool
backend pool
    server a <a>
""", servers="a", binds="f g")

    def scenario(side):
        labels = [side.connect("f", source="127.0.0.4").label() for _ in range(4)]
        other = side.label("f", source="127.0.0.5")
        return labels, other, side.labels(6, "g", source="127.0.0.6"), side.label("g", source="127.0.0.7")
    assert p.same(scenario) == (["a", "a", "reset", "reset"], "a", ["a"] * 3 + ["reset"] * 3, "a")
