# SPDX-License-Identifier: MIT
"""Danger: a configuration of nginx's stream that was converted sends clients elsewhere."""

import os
import stat
import time
from collections import Counter

from harness.address import Address, fresh
from harness.hello import hello
from harness.labelled import Server
from harness.original import near
from harness.port_service import PortService, ask, free_run
from harness.show_stat import NO_SERVER
from harness.timing import SCALE, wait_until
from test_pairs_balance import HOSTS, shares
from test_pairs_routes import header


def stream(text):
    return "worker_processes 1;\nevents { worker_connections 512; }\nstream {\n" + text + "}\n"


def test_upstreams_share_by_weight_or_load(pair):
    p = pair("nginx", stream("""
    upstream turns { server <a> weight=3; server <b>; server <c> down; }
    upstream load { least_conn; server <a>; server <b>; }
    server { listen <f>; proxy_pass turns; }
    server { listen <g>; proxy_pass load; }
"""), servers="a b c", binds="f g")

    def scenario(side):
        held = [side.connect("g") for _ in range(6)]
        first = Counter(client.label() for client in held)
        for client in held:
            if client.label() == "b":
                client.close()
        side["b"].ended(3)
        return shares(side, 16), dict(first), [side.connect("g").label() for _ in range(2)]
    assert p.same(scenario) == ({"a": 12, "b": 4}, {"a": 3, "b": 3}, ["b"] * 2)


def test_a_hashed_client_keeps_its_server(pair):
    p = pair("nginx", stream("""
    upstream pool {
        hash $remote_addr consistent;
        server <a> max_fails=1 fail_timeout=10s;
        server <b> max_fails=1 fail_timeout=10s;
        server <c> max_fails=1 fail_timeout=10s;
    }
    server { listen <f>; proxy_pass pool; }
"""), servers="a b c")

    def scenario(side):
        first = {host: side.label(source=host) for host in HOSTS}
        again = {host: side.label(source=host) for host in HOSTS}
        side["c"].die()
        later = {host: side.label(source=host) for host in HOSTS}
        return {"kept": first == again, "used": sorted(set(first.values())),
                "moved": sorted({first[h] for h in HOSTS if first[h] != later[h]}),
                "then": sorted(set(later.values()))}
    assert p.same(scenario) == {"kept": True, "used": ["a", "b", "c"], "moved": ["c"], "then": ["a", "b"]}


def test_a_server_that_failed_is_left_out_and_tried_again(pair):
    p = pair("nginx", stream("""
    upstream pool {
        server <a> max_fails=2 fail_timeout=1s;
        server <b> max_fails=2 fail_timeout=1s;
    }
    server { listen <f>; proxy_pass pool; proxy_connect_timeout 1s; }
"""))

    def scenario(side):
        before = sorted(side.labels(4))
        died = time.monotonic()
        side["a"].die()
        during = side.labels(8)
        side["a"].start()
        at_once = side.labels(4)
        if time.monotonic() - died > 0.9:
            at_once = during[:4]    # a busy machine has used up the second
        wait_until(lambda: "a" in side.labels(2), "a is back")
        return before, during, at_once, time.monotonic() - died
    theirs, ours = p.both(scenario)
    assert theirs[:3] == ours[:3] == (["a", "a", "b", "b"], ["b"] * 8, ["b"] * 4)
    # nginx counts whole seconds.
    assert all(0.95 < times[3] < 2.2 + SCALE for times in (theirs, ours)), (theirs, ours)


def test_backups_serve_when_the_others_have_failed(pair):
    p = pair("nginx", stream("""
    upstream pool {
        server <a> fail_timeout=1s;
        server <b> backup;
        server <c> backup;
    }
    upstream dead { server <d> fail_timeout=1s; }
    server { listen <f>; proxy_pass pool; }
    server { listen <g>; proxy_pass dead; }
"""), servers="a b c d", binds="f g", alarms=NO_SERVER)

    def scenario(side):
        before = side.labels(4)
        side["a"].die()
        after = shares(side, 4)
        side["a"].start()
        wait_until(lambda: side.label() == "a", "a is back")
        side["d"].die()
        return before, after, side.label("g"), side.label("g")
    assert p.same(scenario, resets=True) == (["a"] * 4, {"b": 2, "c": 2}, "fin", "fin")


def test_a_client_that_every_server_refuses_gets_a_backup(pair):
    p = pair("nginx", stream("""
    upstream pool { server <a>; server <b>; server <c> backup; }
    upstream patient { server <a> max_fails=2; server <c> backup; }
    upstream stubborn { server <a> max_fails=0; server <c> backup; }
    proxy_connect_timeout 200ms;
    server { listen <f>; proxy_pass pool; }
    server { listen <g>; proxy_pass patient; }
    server { listen <h>; proxy_pass stubborn; }
"""), servers="a b c", binds="f g h")

    def scenario(side):
        side["a"].die()
        side["b"].die()
        return side.labels(3), side.labels(4, "g"), side.labels(2, "h")
    # weir has to leave the others out first, and pauses: the report names it.
    assert p.same(scenario) == (["c"] * 3, ["c"] * 4, ["c"] * 2)
    p.named("weir once they are left out")
    p.named("or no client would get the backup", "max_fails=0")


def test_a_full_server_is_passed_over_and_when_all_are_full_the_client_ends(pair):
    p = pair("nginx", stream("""
    upstream pool { zone pool 64k; server <a> max_conns=1; server <b> max_conns=2; }
    server { listen <f>; proxy_pass pool; proxy_connect_timeout 1s; }
"""))

    def scenario(side):
        labels = sorted(side.connect().label() for _ in range(3))
        end, said, took = min((side.connect().finish() for _ in range(3)), key=lambda end: end[2])
        return labels, end, said, took
    labels, end, said, took = p.same(scenario, resets=True)
    assert (labels, end, said) == (["a", "b", "b"], "fin", b"") and near(took, 0.0)


NAMES = ("www.example.com", "WWW.example.com", "x.example.com", "y.x.example.com", "example.com",
         "example.org", "a.example.org", "other.net", None)


def test_names_of_tls_choose_the_upstream(pair):
    p = pair("nginx", stream("""
    map $ssl_preread_server_name $pool {
        hostnames;
        default          rest;
        www.example.com  one;
        *.example.com    two;
        .example.org     two;
        ""               none;
    }
    upstream one { server <a>; }
    upstream two { server <b>; }
    upstream rest { server <c>; }
    upstream none { server <d>; }
    server { listen <f>; ssl_preread on; preread_timeout 500ms; proxy_pass $pool; }
"""), servers="a b c d")

    def scenario(side):
        found = {name: side.label(data=hello(name)) for name in NAMES}
        quiet = side.connect()
        return found, side.label(data=b"no TLS at all, and long enough to be sure"), quiet.label()
    theirs, ours = p.both(scenario)
    found = dict(zip(NAMES, "aabbcbbcd"))
    assert theirs == (found, "d", "fin")
    # A client that says nothing is passed on: the report names it.
    assert ours == (found, "d", "d")
    p.named("nginx ends a client that sends nothing")


def test_addresses_are_let_in_kept_out_and_led(pair):
    p = pair("nginx", stream("""
    geo $pool { default one; 127.0.2.0/24 two; 127.0.2.9 three; }
    map $remote_addr $other { default one; 127.0.3.1 two; }
    upstream one { server <a>; }
    upstream two { server <b>; }
    upstream three { server <c>; }
    server {
        listen <f>;
        deny 127.0.0.9;
        allow 127.0.0.0/24;
        deny all;
        proxy_pass one;
    }
    server { listen <g>; proxy_pass $pool; }
    server { listen <h>; proxy_pass $other; }
"""), servers="a b c", binds="f g h")

    def scenario(side):
        def labels(bind, *hosts):
            return {host: side.label(bind, source=host) for host in hosts}
        return (labels("f", "127.0.0.9", "127.0.0.3", "127.0.1.1"),
                labels("g", "127.0.0.1", "127.0.2.1", "127.0.2.9"),
                labels("h", "127.0.0.1", "127.0.3.1"))
    assert p.same(scenario, resets=True) == (
        {"127.0.0.9": "fin", "127.0.0.3": "a", "127.0.1.1": "fin"},
        {"127.0.0.1": "a", "127.0.2.1": "b", "127.0.2.9": "c"}, {"127.0.0.1": "a", "127.0.3.1": "b"})


def test_the_address_of_the_client_goes_through(pair):
    p = pair("nginx", stream("""
    server { listen <f>; proxy_pass <a>; proxy_protocol on; }
    server { listen <g> proxy_protocol; set_real_ip_from 127.0.0.0/8; proxy_pass <b>; proxy_protocol on; }
    server { listen <h> proxy_protocol; proxy_pass <c>; proxy_protocol on; }
"""), servers=dict.fromkeys("abc", header), binds="f g h")
    came = b"PROXY TCP4 192.0.2.9 198.51.100.1 1000 443\r\n"

    def scenario(side):
        def seen(label, bind, data):
            client = side.connect(bind, source="127.0.0.7", data=data)
            port = client.sock.getsockname()[1]
            if client.label() != label:
                return client.end
            head = bytes(side[label].ended(side[label].count).data)
            return head.replace(b"%d" % port, b"P0").replace(b"%d" % side.binds[bind].port, b"P1")
        return (seen("a", "f", b"x"), seen("b", "g", b"no header at all\r\n"), seen("b", "g", came + b"x"),
                seen("c", "h", came + b"x"))
    theirs, ours = p.both(scenario)
    assert theirs[:2] == ours[:2] == (b"PROXY TCP4 127.0.0.7 127.0.0.1 P0 P1\r\nx", "reset")
    # The address that weir passes on is that of the header it has received: the report names both.
    assert theirs[2:] == (b"PROXY TCP4 192.0.2.9 127.0.0.1 1000 P1\r\nx",
                          b"PROXY TCP4 127.0.0.7 127.0.0.1 P0 P1\r\nx")
    assert ours[2:] == (came + b"x",) * 2
    p.named("sends its own address to the server as the destination")
    p.named("without set_real_ip_from", "listen")


def test_a_header_from_elsewhere_closes_the_client(pair):
    p = pair("nginx", stream("""
    server { listen <f> proxy_protocol; set_real_ip_from 192.0.2.0/24; proxy_pass <a>; }
"""), servers="a", binds="f")

    def scenario(side):
        client = side.connect("f", source="127.0.0.7", data=b"PROXY TCP4 192.0.2.9 198.51.100.1 1 443\r\n")
        return client.label() or client.end
    assert p.both(scenario) == ("a", "reset")
    p.named("weir refuses them (trusted)")


def test_ranges_of_ports_and_sockets_of_unix(pair, folder, closing):
    def more(side):
        side.first = free_run(3)
        closing.append(PortService(range(side.first, side.first + 3)))
        side.servers["u"] = Server("u", where=fresh("path", folder))
        return {"range": f"127.0.0.1:{side.first}-{side.first + 2}", "host": "127.0.0.2"}
    p = pair("nginx", stream("""
    upstream sock { server <u>; }
    proxy_half_close on;
    server { listen <range>; proxy_pass <host>:$server_port; }
    server { listen <f>; proxy_pass sock; }
    server { listen unix:<sock>; proxy_pass <a>; }
"""), servers="a", more=lambda side: more(side) | {"sock": f"{folder}/{side.name}.sock"})

    def scenario(side):
        got = [ask(("127.0.0.1", side.first + n), b"x").split() for n in range(3)]
        sock = Address("path", name=f"{folder}/{side.name}.sock")
        mode = stat.S_IMODE(os.stat(f"{folder}/{side.name}.sock").st_mode)
        return [(int(port) - side.first, data) for port, data in got], side.label(), side.label(sock), mode
    assert p.same(scenario) == ([(0, b"x"), (1, b"x"), (2, b"x")], "u", "a", 0o666)
