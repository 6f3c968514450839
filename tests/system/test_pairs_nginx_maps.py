# SPDX-License-Identifier: MIT
"""Danger: maps of nginx's that look up each other send a client elsewhere once they are converted."""

from harness.hello import hello
from test_pairs_nginx import stream

SSH = b"SSH-2.0-test\r\n"


def test_a_map_that_gives_its_own_key_back(pair):
    p = pair("nginx", stream("""
    upstream web { server <a>; }
    upstream ssh { server <b>; }
    map $ssl_preread_protocol $by_protocol { default ssh; "TLSv1.2" web; "TLSv1.3" web; }
    map $ssl_preread_server_name $by_name { one.example.com <c>; default ""; }
    map $by_name $target { "" $by_protocol; default $by_name; }
    map $ssl_preread_server_name $port { one.example.com <c.port>; "" <d.port>; default 1234; }
    map $port $by_port { 1234 <b>; default 127.0.0.1:$port; }
    server { listen <f>; ssl_preread on; proxy_pass $target; }
    server { listen <g>; ssl_preread on; proxy_pass $by_port; }
"""), servers="a b c d", binds="f g", more=ports)

    def scenario(side):
        names = ("one.example.com", "two.example.com", None)
        return ([side.label(data=hello(name)) for name in names] + [side.label(data=SSH)],
                [side.label("g", data=hello(name)) for name in names] + [side.label("g", data=SSH)])
    assert p.same(scenario) == (["c", "a", "a", "b"], ["c", "b", "d", "d"])


def ports(side):
    return {f"{name}.port": str(side.servers[name].where.port) for name in "cd"}


def test_a_name_first_and_else_what_the_client_offers(pair):
    p = pair("nginx", stream(r"""
    map $ssl_preread_server_name $pool {
        ~^(www\.example\.com|www\.example\.org)$ one;
        api.example.com two;
        odd.example.com none;
        default "";
    }
    map $ssl_preread_alpn_protocols $offer { ~\bh2\b two; ~\bhttp/1\.1\b three; default one; }
    map $pool $server { one <a>; two <b>; default ""; }
    map $offer $other { one <a>; two <b>; three <c>; default <d>; }
    map $server $final { "" $other; default $server; }
    server { listen <f>; ssl_preread on; proxy_pass $final; }
"""), servers="a b c d")

    def scenario(side):
        offers = (), ("h2",), ("http/1.1",), ("http/1.1", "h2"), ("h3",)
        return {name: "".join(side.label(data=hello(name, offer)) for offer in offers)
                for name in ("www.example.org", "api.example.com", "odd.example.com", "x.net", None)}
    assert p.same(scenario) == {"www.example.org": "aaaaa", "api.example.com": "bbbbb",
                                "odd.example.com": "abcba", "x.net": "abcba", None: "abcba"}


def test_a_map_behind_another_of_the_same_names(pair):
    p = pair("nginx", stream(r"""
    map $ssl_preread_server_name $inner {
        hostnames; www.x.example <a>; *.x.example <b>; *.example <c>; default <d>;
    }
    map $ssl_preread_server_name $outer {
        hostnames; .x.example $inner; y.example $inner; z.net $inner; default <a>;
    }
    map $ssl_preread_protocol $kind { "" other; default tls; }
    map "$kind:$ssl_preread_server_name" $both {
        ~^other: <b>; "tls:a.example" <c>; ~^tls:(.+\.)?x\.example$ <d>; default <a>;
    }
    server { listen <f>; ssl_preread on; proxy_pass $outer; }
    server { listen <g>; ssl_preread on; proxy_pass $both; }
"""), servers="a b c d", binds="f g")

    def scenario(side):
        names = ("www.x.example", "v.x.example", "x.example", "y.example", "a.example", "z.net", None)
        return ["".join(side.label(bind, data=hello(name)) for name in names) + side.label(bind, data=SSH)
                for bind in "fg"]
    assert p.same(scenario) == ["abccadaa", "dddacaab"]


def test_the_last_line_of_a_geo_that_has_an_address_counts(pair):
    p = pair("nginx", stream("""
    geo $range { ranges; default one; 127.0.0.0-127.0.255.255 two; 127.0.1.0-127.0.1.255 three; }
    geo $again { default one; 127.0.1.0/24 two; 127.0.1.0/24 three; 127.0.2.0/24 two; delete 127.0.2.0/24; }
    map $remote_addr $case { 127.0.1.1 ONE; default two; }
    upstream one { server <a>; }
    upstream two { server <b>; }
    upstream three { server <c>; }
    server { listen <f>; proxy_pass $range; }
    server { listen <g>; proxy_pass $again; }
    server { listen <h>; proxy_pass $case; }
"""), servers="a b c", binds="f g h")

    def scenario(side):
        return [[side.label(bind, source=f"127.0.{n}.1") for n in range(3)] for bind in "fgh"]
    assert p.same(scenario) == [["b", "c", "b"], ["a", "c", "a"], ["b", "a", "b"]]


def test_keys_that_no_client_asks_for_take_no_name_along(pair):
    p = pair("nginx", stream("""
    map $ssl_preread_server_name $u { a.com one; "b.com:443" one; *.c.com one; d.com one; default two; }
    upstream one { server <a>; }
    upstream two { server <b>; }
    server { listen <f>; ssl_preread on; proxy_pass $u; }
"""))

    def scenario(side):
        return [side.label(data=hello(name)) for name in ("a.com", "b.com", "x.c.com", "d.com", None)]
    assert p.same(scenario) == ["a", "b", "b", "a", "b"]
