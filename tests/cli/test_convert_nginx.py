# SPDX-License-Identifier: MIT
"""`weir convert`: nginx's variables, maps and patterns, and what has no line of ours.

Runs the binary named by WEIR_BIN (build/src/weir). test_convert.py has the defaults and the report.
"""

import pytest

from test_convert import ONE, run, stream


def routes(got):
    """The use-backend lines, and the default-backend, in the order of the file."""
    return [tuple(part.strip() for part in line.removeprefix("use-backend ").split("=", 1))
            for line in got.ini.splitlines() if line.startswith(("use-backend", "default-backend"))]


def preread(passes, maps, *listens):
    """A server that passes to `passes`, behind `maps`, with the upstreams a, b and c."""
    listen = "".join(f"listen {port}; " for port in listens or (443,))
    return stream(maps + "".join(f" upstream {u} {{ server 10.0.0.{i}:1; }}\n" for i, u in enumerate("abc")) +
                  f"server {{ {listen} ssl_preread on; proxy_pass {passes}; }}")


SNI = "map $ssl_preread_server_name $u { "


# ---- patterns of names ----


@pytest.mark.parametrize("pattern, names", [
    (r"~^a\.com$", "a.com"), (r"~*^(www\.)?a\.com$", "www.a.com,a.com"), (r"~\.a\.com$", "*.a.com"),
    (r"~^(www|api)\.a\.com$", "www.a.com,api.a.com"), (r"~^(.+\.)?a\.com$", ".a.com"),
    (r"~(^|\.)a\.com$", ".a.com"), (r"~^.+\.a\.com$", "*.a.com"), (r"~^(?:x|y-1)\.a\.(com|org)$",
                                                                  "x.a.com,x.a.org,y-1.a.com,y-1.a.org"),
    (r"~^(?<name>.+)\.a\.com$", "*.a.com"), (r"~^n[1-3]\.a\.com$", "n1.a.com,n2.a.com,n3.a.com"),
    (r"~^a\.com$|^b\.com$", "a.com,b.com"), (r"~^([^.]+\.)*a\.com$", ".a.com"), ("~.+", "any"),
    (r"~^s\d\.a\.com$", ",".join(f"s{i}.a.com" for i in range(10))),
])
def test_a_pattern_is_the_names_that_it_stands_for(nginx, pattern, names):
    got = nginx(preread("$u", SNI + f'"{pattern}" a; default b; }}'))
    assert routes(got) == [("a", "sni=" + names), ("default-backend", "b")]
    assert got.state("~")[0] == "carried" and got.code == 0


@pytest.mark.parametrize("entry, names, ours", [
    (r"~^(.+)$ $1:443", "any", "sni@443"), ("~^(?<n>.*)$ $n:8443", "any", "sni@8443"),
    (r"~*^(?P<n>.+\.a\.com)$ ${n}:$server_port", "*.a.com", "sni@*"),
    (r"~^((www|api)\.a\.com)$ $1:443", "www.a.com,api.a.com", "sni@443"),
])
def test_a_group_that_is_the_whole_name_is_where_the_client_asks_to_go(nginx, entry, names, ours):
    got = nginx(preread("$u", SNI + f'"{entry.split()[0]}" {entry.split()[1]}; default b; }}'))
    assert routes(got) == [("any", "sni=" + names), ("default-backend", "b")]
    assert got.sections["backend any"]["server any"] == [ours]
    assert got.state("~")[0] == "different" and "allow-to" in got.state("~")[1] and got.code == 0


@pytest.mark.parametrize("entry", [
    r"~^(.+)\.(com)$ $1:443", "~^(?:.+)$ $1:443", "~^(?<n>.+)$ $n.a:443", r"~^(x|(y))$ $2:1", r"~(.+)$ $1:1",
    "~^(?<n>.+)$ ${n}x:443", "~^(.+) $1:1",
])
def test_a_group_that_is_not_the_whole_name_is_lost(nginx, entry):
    got = nginx(preread("$u", SNI + f'"{entry.split()[0]}" {entry.split()[1]}; default b; }}'))
    assert got.state("~")[0] == "lost" and "sni@" not in got.ini


@pytest.mark.parametrize("pattern, names, why", [
    (r"~^a.com$", "a.com", "stands for any byte"), (r"~a\.com$", ".a.com", "that only end so"),
    (r"~^a\.com", "a.com", "go on behind it"), (r"~^[^.]+\.a\.com$", "*.a.com", "any depth"),
    (r"~^.*a\.com$", ".a.com", "that only end so"), (r"~^[a-z0-9-]+\.a\.com$", "*.a.com", "any depth"),
])
def test_a_pattern_for_nearly_the_same_names_is_different(nginx, pattern, names, why):
    got = nginx(preread("$u", SNI + f'"{pattern}" a; default b; }}'))
    assert routes(got)[0] == ("a", "sni=" + names)
    assert got.state("~")[0] == "different" and why in got.state("~")[1]


@pytest.mark.parametrize("pattern", [
    "~google", r"~^api\.", r"~^.+-node\.a\.com$", r"~^(a", r"~^a\.c[", r"~^a{2}\.com$", r"~^(?=a)b\.com$",
    r"~^(a|b|c|d|e)(a|b|c|d|e)(a|b|c|d|e)\.com$", r"~^a\.example", r"~^\bx\.com$", r"~^www\..*\.com$",
    "~^a+b$",
    r"~^" + "(" * 20 + "a" + ")" * 20 + r"\.com$", r"~^a\.com$)", r"~^(?P",
])
def test_a_pattern_that_no_names_stand_for_is_lost(nginx, pattern):
    got = nginx(preread("$u", SNI + f'"{pattern}" a; default b; }}'))
    assert routes(got) == [("default-backend", "b")]
    assert got.state("~")[0] == "lost" and "regular expression" in got.state("~")[1] and got.code == 10


def test_a_protocol_may_have_a_dot_that_is_not_escaped(nginx):
    got = nginx(preread("$u", r"map $ssl_preread_alpn_protocols $u { ~\bhttp/1.1\b a; ~\bh2\b b; h3 c; "
                              r"~^x$ c; ~\b(h2|h3) c; }"))
    assert routes(got) == [("a", "alpn=http/1.1"), ("b", "alpn=h2"), ("c", "alpn=h3,x")]
    assert got.state(r"~\b(h2|h3)")[0] == "lost"


# ---- variables ----


def test_a_variable_may_be_part_of_an_address(nginx):
    got = nginx(preread("127.0.0.1:$p",
                        r"map $ssl_preread_alpn_protocols $p { ~\bacme-tls/1\b 81; default 82; }"))
    assert routes(got) == [("127.0.0.1-81", "alpn=acme-tls/1"), ("default-backend", "127.0.0.1-82")]
    assert got.sections["backend 127.0.0.1-82"]["server s1"] == ["127.0.0.1:82"] and got.code == 0


@pytest.mark.parametrize("maps, passes", [
    ('map "" $u { default be.example:5; }', "$u"), ("map $remote_addr $u { default be.example; }", "${u}:5"),
    ("set $v example; map $ssl_preread_server_name $u { default be.$v; }", "$u:5"),
    ("map x $u { x be.example:5; default y; }", "$u"),
])
def test_a_variable_with_one_value_is_that_value(nginx, maps, passes):
    got = nginx(preread(passes, maps))
    (server,) = [s["server be.example"] for s in got.sections.values() if "server be.example" in s]
    assert server == ["be.example:5"] and "use-backend" not in got.ini
    assert got.report["counts"]["lost"] == 0 and got.state("map")[0] == "carried"


def test_a_variable_of_set_is_that_of_the_block(nginx):
    got = nginx(stream("set $p 1; server { listen 80; set $p 2; set $x 3; proxy_pass 10.0.0.1:$p; }"))
    assert got.sections["listen port-80"]["server s1"] == ["10.0.0.1:2"]
    assert got.state("set $p 1")[0] == "no-effect" and got.state("set $x")[0] == "no-effect" and got.code == 0


def test_a_value_that_is_looked_up_may_be_a_variable(nginx):
    maps = SNI.replace("$u", "$name") + "x.com 1; default 0; }\nmap $name $u { 1 $other; default c; }"
    got = nginx(preread("$u", maps).replace("proxy_pass", "set $other a; proxy_pass"))
    assert routes(got) == [("a", "sni=x.com"), ("default-backend", "c")] and got.code == 0


def test_variables_are_named_without_regard_to_case(nginx):
    maps = SNI.replace("$u", "$Name") + "x.com 1; default 0; }\nmap $NAME $U { 1 $Other; default c; }"
    got = nginx(preread("$u", maps).replace("proxy_pass", "set $oTHER a; proxy_pass"))
    assert routes(got) == [("a", "sni=x.com"), ("default-backend", "c")] and got.code == 0
    got = nginx(preread("$p", "split_clients $remote_addr $P { 50% a; * b; }"))
    assert got.state("split_clients")[0] == "different" and got.code == 0


@pytest.mark.parametrize("value, state", [("$ssl_preread_server_name", "different"), ("$name", "different"),
                                          ("$remote_addr", "carried")])
def test_what_is_set_by_the_hello_is_set_too_early(nginx, value, state):
    maps = SNI.replace("$u", "$name") + "x.com 1; default 0; }\n" \
        "map $x $u { x.com a; 1 a; 10.0.0.1 a; default b; }"
    got = nginx(preread("$u", maps).replace("proxy_pass", f"set $x {value}; proxy_pass"))
    assert got.state("set")[0] == state and got.code == 0


def test_a_map_of_the_values_of_others_is_looked_up(nginx):
    got = nginx(preread("$u", "geo $remote_addr $bad { default 0; 10.0.0.0/8 1; }\n"
                              "map $ssl_preread_server_name $ok { a.com 1; b.com 1; default 0; }\n"
                              'map "$ok:$bad" $u { "1:0" a; "0:1" b; "5:5" c; default c; }'))
    assert routes(got) == [("c", "sni=a.com,b.com src=10.0.0.0/8"), ("a", "sni=a.com,b.com"),
                           ("b", "src=10.0.0.0/8"), ("default-backend", "c")]
    assert got.state("5:5")[0] == "no-effect" and got.code == 0
    assert got.value("frontend u", "sniff") == "tls timeout=30s"


def test_a_map_may_choose_between_maps(nginx):
    got = nginx(preread("$u", "map $ssl_preread_server_name $n { a.com a; default b; }\n"
                              'map $ssl_preread_protocol $u { "" c; default $n; }'))
    assert routes(got) == [("c", "proto=http,ssh,other"), ("a", "sni=a.com"), ("default-backend", "b")]
    assert got.value("frontend u", "sniff") == "auto timeout=30s"


def test_a_map_of_name_and_port(nginx):
    got = nginx(preread("$u", 'map "$ssl_preread_server_name:$server_port" $u { "a.com:1" a; "b.com:2" b; '
                              "~x c; default c; }", 1, 2))
    assert routes(got) == [("a", "dst-port=1 sni=a.com"), ("closed", "dst-port=1"),
                           ("b", "dst-port=2 sni=b.com"), ("closed", "dst-port=2")]
    assert got.state("~x")[0] == "lost"


@pytest.mark.parametrize("target, server", [
    ("10.0.0.1:1$server_port", "10.0.0.1:180"), ("$server_port.example:5", "80.example:5"),
    ("10.0.0.1:$server_port", "10.0.0.1:*"),
])
def test_the_port_of_the_listener_in_a_target(nginx, target, server):
    got = nginx(stream(f"server {{ listen 80; proxy_pass {target}; }}"))
    assert f" = {server}\n" in got.ini and got.code == 0
    got = nginx(stream(f"server {{ listen 80-81; proxy_pass {target}; }}"))
    assert got.code == (0 if server.endswith("*") else 1)


def test_a_port_of_udp_is_no_port_of_the_listener(nginx):
    got = nginx(stream("upstream up_53 { server 10.0.0.1:1; }\nserver { listen 53; listen 53 udp; "
                       "listen 54 udp; proxy_pass up_$server_port; }"))
    assert routes(got) == [("default-backend", "up_53")] and got.code == 0
    assert got.state("proxy_pass")[0] == "carried"


def test_a_name_that_has_no_address_is_closed(nginx):
    got = nginx(preread("$u", SNI + 'a.com ""; default b; }'))
    assert routes(got) == [("closed", "sni=a.com"), ("default-backend", "b")]
    assert got.sections["backend closed"]["server none"] == ["127.0.0.1:1 disabled"] and got.code == 0
    got = nginx(preread("$u:5", SNI + 'a.com ""; b.com x; }'))
    assert routes(got) == [("closed", "sni=a.com"), ("x-5", "sni=b.com")] and got.code == 0


def test_a_name_that_some_clients_may_choose(nginx):
    got = nginx(preread("$u", SNI + "a.com $ssl_preread_server_name:8443; default 127.0.0.1:1; }"))
    assert routes(got) == [("any", "sni=a.com"), ("default-backend", "127.0.0.1-1")]
    assert got.sections["backend any"]["server any"] == ["sni@8443"]
    assert got.state("a.com")[0] == "different"


@pytest.mark.parametrize("word", ["proxy_upload_rate", "proxy_download_rate"])
def test_a_rate_that_a_map_makes_is_lost_wherever_it_is(nginx, word):
    rate = "map $remote_addr $rate { 10.0.0.1 1m; default 0; }\n"
    for text in (f"{word} $rate;\n" + ONE % "", ONE % f"{word} $rate;"):
        got = nginx(stream(rate + text))
        assert got.state(word)[0] == "lost" and "pacing" in got.state(word)[1]
    got = nginx(stream(rate + f"{word} $rate;\n" + ONE % f"{word} 0;"))
    assert got.state(word + " $rate")[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("bind, words", [("10.0.0.5", "source=10.0.0.5"),
                                         ("$remote_addr transparent", "source=client")])
def test_an_address_to_connect_from_to_names_that_clients_choose(nginx, bind, words):
    server = "server { listen %s; ssl_preread on; proxy_pass $ssl_preread_server_name:443; %s }\n"
    got = nginx(stream(server % (443, f"proxy_bind {bind};") + server % (444, "")))
    assert got.sections["backend any"]["server any"] == ["sni@443 " + words]
    assert got.sections["backend any-2"]["server any"] == ["sni@443"]
    assert got.state("proxy_bind")[0] == "carried" and got.code == 0


@pytest.mark.parametrize("maps, passes, line, why", [
    ("", "$nothing:1", "proxy_pass", "no map or geo here makes '$nothing'"),
    ("map $hostname $u { x a; default b; }", "$u", "proxy_pass", "'$hostname'"),
    (SNI + r"~^(.+)\.a\.com$ $1.internal:5; }", "$u", "~^", "parts of names"),
    (r"map $ssl_preread_alpn_protocols $n { ~\bh2\b a; default b; }"
     r"map $ssl_preread_alpn_protocols $u { ~\bh3\b $n; default c; }", "$u",
     "map $ssl_preread_alpn_protocols $n", "once"),
    ('map "$u" $u { x y; default z; }', "$u", "proxy_pass", "too many others"),
    ("geo $g { default x; 10.0.0.0/8 y; }\n" r'map "$g" $u { ~\b a; default b; }', "$u", "map $g",
     "which pattern"),
])
def test_a_variable_that_weir_does_not_know_is_lost(nginx, maps, passes, line, why):
    got = nginx(preread(passes, maps) + "")
    assert got.state(line)[0] == "lost" and why in got.state(line)[1]


def test_maps_that_make_too_many_lines_are_lost(nginx):
    names = "".join(f"n{i} x{i}; " for i in range(200))
    networks = "".join(f"10.0.0.{i} y{i}; " for i in range(200))
    got = nginx(preread("$u$v", "include missing.conf; " + SNI + names + "} geo $v { " + networks + "}"))
    reasons = {line["why"] for line in got.report["lines"] if line["state"] == "lost"}
    assert any("too many others" in (why or "") for why in reasons) and got.report["result"] is False


def test_a_control_character_is_an_error(nginx):
    got = nginx(stream("map $remote_addr $u { default a; }\nserver { listen 80; proxy_pass \1u\2\3; }"))
    assert got.report["error"]["line"] == 4 and "control character" in got.report["error"]["text"]


# ---- networks ----


@pytest.mark.parametrize("maps, lines", [
    ("geo $u { ranges; 10.0.0.0-10.0.0.255 a; 10.0.1.1-10.0.1.4 b; default c; }",
     [("b", "src=10.0.1.1/32,10.0.1.2/31,10.0.1.4/32"), ("a", "src=10.0.0.0/24"), ("default-backend", "c")]),
    (r"map $remote_addr $u { ~^10\.1\. a; ~^10\. b; ~^1\.2\.3\.4$ a; 9.9.9.9 a; default c; }",
     [("a", "src=9.9.9.9,10.1.0.0/16"), ("b", "src=10.0.0.0/8"), ("a", "src=1.2.3.4/32"),
      ("default-backend", "c")]),
    ("geo $u { 0.0.0.0-255.255.255.255 a; }", [("a", "src=0.0.0.0/0")]),
    ("geo $u { 10.1.2.3/8 a; 2001:db8::1/32 b; 10.0.0.0/33 c; }",
     [("b", "src=2001:db8::/32"), ("a", "src=10.0.0.0/8")]),
])
def test_networks_of_a_map(nginx, maps, lines):
    got = nginx(preread("$u", maps))
    assert routes(got) == lines and got.code == (10 if "/33" in maps else 0)


@pytest.mark.parametrize("entries, lines, fates", [
    ("ranges; 10.0.0.0-10.255.255.255 a; 10.1.0.0-10.1.255.255 b; default c;",
     [("b", "src=10.1.0.0/16"), ("a", "src=10.0.0.0/8"), ("default-backend", "c")], {}),
    ("10.0.0.0/8 a; 10.0.0.0/8 b; 10.1.2.3 a; 10.1.2.3/32 b; 2001:DB8::0/32 b; 2001:db8::/32 a; default c;",
     [("b", "src=10.1.2.3/32"), ("a", "src=2001:db8::/32"), ("b", "src=10.0.0.0/8"),
      ("default-backend", "c")],
     {"10.0.0.0/8 a": "no-effect", "10.1.2.3 a": "no-effect", "2001:DB8::0/32": "no-effect"}),
    ("10.0.0.0/8 a; 10.1.0.0/16 b; delete 10.0.0.0/8; delete 11.0.0.0/8; default c;",
     [("b", "src=10.1.0.0/16"), ("default-backend", "c")],
     {"10.0.0.0/8": "no-effect", "delete 10": "carried", "delete 11": "no-effect"}),
    ("ranges; 10.0.0.0-10.0.0.9 a; delete 10.0.0.0-10.0.0.4; default c;",
     [("a", "src=10.0.0.0/29,10.0.0.8/31"), ("default-backend", "c")], {"delete": "lost"}),
    ("ranges; 10.0.0.0-10.0.0.7 a; 10.0.0.2-10.0.0.3 b; delete 10.0.0.2-10.0.0.3; default c;",
     [("b", "src=10.0.0.2/31"), ("a", "src=10.0.0.0/29"), ("default-backend", "c")], {"delete": "lost"}),
    ("ranges; 10.0.0.0-10.0.0.7 a; 10.0.1.0-10.0.1.7 b; delete 10.0.1.0-10.0.1.7; default c;",
     [("a", "src=10.0.0.0/29"), ("default-backend", "c")], {"delete": "carried"}),
    ("default c; 10.0.0.1 b; delete 0.0.0.0/0;", [("b", "src=10.0.0.1"), ("default-backend", "c")],
     {"delete": "lost"}),
    ("0.0.0.0/0 a; 10.0.0.1 b; default c;", [("b", "src=10.0.0.1"), ("default-backend", "c")],
     {"0.0.0.0/0": "no-effect"}),
    ("default c; 0.0.0.0/0 a;", [("a", "src=0.0.0.0/0"), ("default-backend", "c")], {}),
])
def test_the_last_line_of_a_geo_counts(nginx, entries, lines, fates):
    got = nginx(preread("$u", "geo $u { " + entries + " }"))
    assert routes(got) == lines
    assert {line: got.state(line)[0] for line in fates} == fates


@pytest.mark.parametrize("key", [r"~^10", r"~^10\.x", r"~10\.", r"~^300\.", r"~^1\.2\.3\.4\.",
                                 "10.0.0.9-10.0.0.1", "10.0.0.1-x", r"~^1\.2\.3\.4"])
def test_what_is_no_network_is_lost(nginx, key):
    got = nginx(preread("$u", "map $remote_addr $u { " + key + " a; default c; }"))
    assert got.state(key)[0] == "lost" and routes(got) == [("default-backend", "c")]


def test_a_network_in_a_map_is_a_text_for_nginx(nginx):
    got = nginx(preread("$u", "map $remote_addr $u { 10.0.0.0/8 a; default c; }"))
    assert got.state("10.0.0.0/8")[0] == "different"


def test_bits_behind_a_network_are_ignored(nginx):
    rules = "allow 192.168.1.1/24; allow 2001:db8::5/32; deny all; set_real_ip_from 10.1.1.1/8;"
    got = nginx(stream((ONE % rules).replace(":80;", ":80 proxy_protocol;", 1)))
    assert got.value("listen port-80", "allow-from") == "192.168.1.0/24 2001:db8::/32"
    assert got.value("listen port-80", "trusted") == "10.0.0.0/8" and got.code == 0


# ---- lines that hold for several blocks ----


def test_what_no_server_uses_has_no_effect(nginx):
    got = nginx(stream("proxy_timeout 5s; limit_conn_zone $binary_remote_addr zone=a:1m; proxy_protocol on;\n"
                       "server { listen 53 udp; proxy_pass 10.0.0.1:53; }\n"
                       "server { listen 80; proxy_pass 10.0.0.1:80; proxy_timeout 1m; proxy_protocol off; }"))
    assert [got.state(word)[0] for word in ("proxy_timeout 5s", "limit_conn_zone", "proxy_protocol on")] == \
        ["no-effect"] * 3
    assert got.code == 0


def test_name_servers_are_those_of_all_sections(nginx):
    server = "server { listen %s; resolver %s; proxy_pass app.example:80; }\n"
    got = nginx(stream(server % ("80", "10.0.0.53:53 [fd00::1] valid=30s status_zone=z") +
                       server % ("81", "10.0.0.54") + server % ("82", "10.0.0.53 [fd00::1]")))
    assert got.sections["global"]["resolvers"] == ["10.0.0.53 fd00::1"]
    backends = [keys for name, keys in got.sections.items() if name.startswith("backend")]
    assert [keys.get("resolve-interval") for keys in backends] == [["30s"], None]
    assert [got.state("resolver " + text)[0] for text in ("10.0.0.53:53", "10.0.0.54", "10.0.0.53 [")] == \
        ["carried", "different", "carried"]
    assert got.code == 0


def test_how_names_are_resolved_is_said_by_block(nginx):
    server = "server { listen %s; %s proxy_pass %s; }\n"
    pool = "upstream %s { zone z 64k; %s server app.example:1 resolve; }\n"
    got = nginx(stream("resolver 10.0.0.53;\n" + server % (80, "", "a.example:1") +
                       server % (81, "resolver 10.0.0.53 ipv6=off;", "b.example:1") +
                       server % (82, "resolver 10.0.0.53 ipv4=off valid=5s;", "u") + server % (83, "", "v") +
                       pool % ("u", "") + pool % ("v", "resolver 10.0.0.53 ipv6=off;")))
    sections = "listen port-80", "listen port-81", "listen u", "listen v"
    assert [got.value(section, "resolve-family") for section in sections] == [None, "ipv4", "ipv6", "ipv4"]
    assert [got.value(section, "resolve-interval") for section in sections] == [None, None, "5s", None]
    assert got.sections["global"]["resolvers"] == ["10.0.0.53"] and got.code == 0, got.report


@pytest.mark.parametrize("address, noted", [("app.example:80", True), ("10.0.0.1:80", False),
                                            ("unix:/run/a", False), ("[::1]:80", False)])
def test_the_addresses_of_a_name_are_one_server(nginx, address, noted):
    got = nginx(stream((ONE % "").replace("10.0.0.1:80", address)))
    assert any("each address of a server's name" in note for note in got.report["notes"]) == noted


@pytest.mark.parametrize("more, passes, line, state", [
    ("", "$u", "default", "different"), ("resolver 10.0.0.2;", "$u", "default", "carried"),
    ("", "app.example:5", "proxy_pass", "carried"),
    ("", "app.example:$server_port", "proxy_pass", "different"),
    ("", "10.0.0.1:$server_port", "proxy_pass", "carried"),
])
def test_a_name_that_a_variable_makes_needs_a_resolver(nginx, more, passes, line, state):
    got = nginx(preread(passes, more + SNI + "a.com a; c.com unix:/run/c; default app.example:5; }"))
    assert got.state(line)[0] == state and got.state("c.com")[0] in ("carried", "no-effect")
    assert state == "carried" or "without 'resolver'" in got.state(line)[1]


def test_a_name_server_with_a_name_is_that_of_the_machine(nginx):
    got = nginx(stream("resolver kube-dns.kube-system.svc.cluster.local valid=5s;\n" + ONE % ""))
    assert "resolvers" not in got.ini
    assert got.state("resolver")[0] == "different" and "/etc/resolv.conf" in got.state("resolver")[1]


def test_logs_of_a_block_are_those_of_weir(nginx):
    got = nginx(stream(ONE % "error_log /var/log/x.log;"))
    assert got.state("error_log")[0] == "different"
    got = nginx("error_log syslog:server=x:y:z info;\n" + stream(ONE % ""))
    assert got.state("error_log")[0] == "lost" and "log =" not in got.ini


def test_a_log_whose_path_begins_with_that_of_another_is_one_of_its_own(nginx):
    got = nginx("error_log /var/log/a.log warn;\n" +
                stream("error_log /var/log/a;\naccess_log /var/log/a f;\n" + ONE % ""))
    assert got.sections["global"]["log"] == ["file:/var/log/a.log level=warning", "file:/var/log/a"]
    assert got.state("access_log")[0] == "different"


def test_a_log_of_stream_is_in_place_of_that_of_main(nginx):
    got = nginx("error_log /var/log/a warn;\n" + stream("error_log /var/log/b info;\n" + ONE % ""))
    assert got.sections["global"]["log"] == ["file:/var/log/a level=warning", "file:/var/log/b level=info"]
    assert got.state("error_log /var/log/a")[0] == "different" and got.code == 0
    assert got.state("error_log /var/log/b")[0] == "carried"


@pytest.mark.parametrize("folder, args, begin, state", [
    ("x", (), "{}/x", "different"), ("conf", (), "{}", "different"),
    ("conf", ("--prefix", "/opt/n"), "/opt/n", "carried"),
])
def test_a_relative_log_is_below_the_prefix(tmp_path, folder, args, begin, state):
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "nginx.conf"
    path.write_text("error_log logs/e.log;\n" + stream(ONE % ""))
    got = run(path, *args, cwd=tmp_path)
    assert f"= file:{begin.format(tmp_path)}/logs/e.log level=warning\n" in got.stdout
    assert f"conf:1: {state}: error_log" in got.stderr
    assert ("nginx -V" in got.stderr) == (state == "different")


def test_a_log_in_memory_is_lost(nginx):
    got = nginx("error_log memory:32m debug;\n" + stream(ONE % ""))
    assert got.state("error_log")[0] == "lost" and "log =" not in got.ini


@pytest.mark.parametrize("level, ours", [("", "warning"), ("error", "warning"), ("crit", "error"),
                                         ("warn", "warning"), ("info", "info"), ("debug_core", "debug")])
def test_a_log_of_errors_has_no_sessions(nginx, level, ours):
    got = nginx(f"error_log /var/log/e {level};\n" + stream(ONE % ""))
    assert got.sections["global"]["log"] == [f"file:/var/log/e level={ours}"]
    assert got.state("error_log")[0] == "carried"
    assert not any("without access_log" in note for note in got.report["notes"])
    assert any("without access_log" in note for note in nginx(stream(ONE % "")).report["notes"])


def test_a_log_that_access_log_shares_has_sessions(nginx):
    got = nginx("error_log stderr warn;\n" + stream("access_log /dev/stdout f;\n" + ONE % ""))
    assert "log" not in got.sections.get("global", {})  # = auto
    assert got.state("error_log")[0] == got.state("access_log")[0] == "different"
    got = nginx("error_log /var/log/n debug;\n" + stream("access_log /var/log/n f;\n" + ONE % ""))
    assert got.sections["global"]["log"] == ["file:/var/log/n level=debug"]
    assert got.state("error_log")[0] == "carried" and got.state("access_log")[0] == "no-effect"


def test_a_log_of_some_sessions_has_all(nginx):
    got = nginx(stream("access_log /var/log/n f if=$x;\n" + ONE % ""))
    state, why = got.state("access_log")
    assert state == "different" and "weir logs all sessions" in why and "in weir's format" in why


def test_sessions_are_logged_if_only_a_block_logs_them(nginx):
    got = nginx("error_log /var/log/e warn;\n" + stream(ONE % "access_log /var/log/a f;"))
    assert got.sections["global"]["log"] == ["file:/var/log/e level=warning", "file:/var/log/a"]
    assert got.state("access_log")[0] == "different"
    got = nginx("error_log /var/log/e warn;\n" + stream(ONE % "access_log off;"))
    assert got.sections["global"]["log"] == ["file:/var/log/e level=warning"]
    assert "log" not in nginx(stream(ONE % "access_log /var/log/a f;")).sections.get("global", {})


# ---- several servers ----


@pytest.mark.parametrize("parts, weights", [
    ("20% 10.0.0.1; 20% 10.0.0.2; * 10.0.0.3;", [("10.0.0.1:5", 1), ("10.0.0.2:5", 1), ("10.0.0.3:5", 3)]),
    ("0.5% 10.0.0.1; 2.0% 10.0.0.2; * 10.0.0.3;",
     [("10.0.0.1:5", 1), ("10.0.0.2:5", 4), ("10.0.0.3:5", 195)]),
    ("0.01% 10.0.0.1; * 10.0.0.2;", [("10.0.0.1:5", 1), ("10.0.0.2:5", 256)]),
    ("30% 10.0.0.1; 70% 10.0.0.2; * x;", [("10.0.0.1:5", 110), ("10.0.0.2:5", 256)]),
])
def test_parts_of_a_split_are_weights(nginx, parts, weights):
    got = nginx(stream("split_clients $remote_addr$remote_port $s { " + parts + " }\n"
                       "server { listen 80; proxy_pass $s:5; }"))
    section = got.sections["listen port-80"]
    assert [section[f"server s{i}"] for i in range(1, len(weights) + 1)] == \
        [[f"{address} weight={weight}"] for address, weight in weights]
    assert "balance" not in section and got.state("split_clients")[0] == "different" and got.code == 0


def test_a_split_by_address_hashes_and_has_the_servers_of_its_upstreams(nginx):
    text = stream('split_clients "${remote_addr}x" $s { 25% a; * b; }\n'
                  "upstream a { server 10.0.0.1:1; }\nupstream b { server 10.0.0.2:1 weight=2; server "
                  "10.0.0.3:1; }\nserver { listen 80; proxy_pass $s; }\nserver { listen 81; proxy_pass $s; }")
    got = nginx(text)
    section = got.sections["backend -s"]
    assert section["balance"] == ["source"]
    assert [section[f"server s{i}"][0].split("=")[1] for i in (1, 2, 3)] == ["1", "2", "1"]
    assert got.value("frontend port-81", "default-backend") or got.ini.count("default-backend") == 2
    assert got.code == 0
    got = nginx(text.replace("weight=2", "backup"))
    assert got.state("server 10.0.0.2")[0] == "lost"
    got = nginx(text.replace("25% a", "25% $hostname"))
    assert got.state("25%")[0] == "lost" and got.report["result"] is False


@pytest.mark.parametrize("source, parts, why, balance", [
    ("$remote_addr", "10% 10.0.0.1:1; 20.5% 10.0.0.2:1;", "closes the 69.50 %", ["source"]),
    ("$ssl_preread_server_name", "50% 10.0.0.1:1; * 10.0.0.2:1;", "the same '$ssl_preread_server_name'", []),
    ("$msec", "50% 10.0.0.1:1; 50% 10.0.0.2:1;", "", []),
])
def test_what_a_split_does_otherwise(nginx, source, parts, why, balance):
    got = nginx(stream(f"split_clients {source} $s {{ {parts} }}\nserver {{ listen 80; proxy_pass $s; }}"))
    assert got.sections["listen s"].get("balance", []) == balance
    assert why in got.state("split_clients")[1]
    assert ("; " in got.state("split_clients")[1]) == (why != "")


def test_a_split_behind_a_map(nginx):
    got = nginx(preread("$u", 'split_clients $remote_addr $s { 50% 10.0.1.1:1; * 10.0.1.2:1; }\n' + SNI +
                        "a.com $s; default a; }"))
    assert routes(got) == [("-s", "sni=a.com"), ("default-backend", "a")]
    assert got.sections["backend -s"]["server s2"] == ["10.0.1.2:1 weight=1"]


# ---- checks ----

POOL = "upstream u { server 10.0.0.1:1; server 10.0.0.2:1; %s }\nserver { listen 80; proxy_pass u; %s }\n"


@pytest.mark.parametrize("words, more, keys", [
    ("", "", {"check": "tcp", "check-interval": "5s", "check-fall": "1", "check-rise": "1",
              "check-timeout": "5s"}),
    (" interval=10 passes=4 fails=7 port=99", "health_check_timeout 2s;",
     {"check": "tcp port=99", "check-interval": "10s", "check-fall": "7", "check-rise": "4",
      "check-timeout": "2s"}),
    (" match=m", "", {"check": r'send "GET /\r\n\x01" expect="200 OK"'}),
    (" match=n", "", {"check": r'expect="a\\"'}),
])
def test_health_check(nginx, words, more, keys):
    match = r'match m { send "GET /\r\n\x01"; expect ~ "200 OK"; } match n { expect "a\\"; }'
    got = nginx(stream(match +
                       POOL % ("", f"health_check{words}; {more}")))
    assert {key: got.value("listen u", key) for key in keys} == keys
    assert got.state("health_check")[0] == "carried" and got.code == 0, got.report


@pytest.mark.parametrize("words, match, state", [
    (" match=x", "", "lost"), (" match=m", "match m { expect ~ ^a.*b; }", "lost"),
    (" match=m", "match m { expect !a; }", "lost"), (" udp", "", "lost"), (" mandatory", "", "different"),
    (" jitter=2s", "", "different"), (" match=m", "match m { send a; expect ~* ok; }", "carried"),
])
def test_health_check_that_is_not_quite_ours(nginx, words, match, state):
    got = nginx(stream(match + POOL % ("", f"health_check{words};")))
    assert got.state("health_check")[0] == state
    if "~*" in match:
        assert got.state("expect")[0] == "different"


def test_check_of_a_module(nginx):
    got = nginx(stream(POOL % ("check interval=3000 rise=3 fall=6 timeout=900 type=ssl_hello;", "")))
    assert [got.value("listen u", key) for key in ("check", "check-interval", "check-timeout", "check-rise",
                                                   "check-fall")] == ["tls", "3s", "900ms", "3", "6"]
    assert got.state("check interval")[0] == "different"
    got = nginx(stream(POOL % ("check type=tcp default_down=false port=9;", "")))
    assert got.value("listen u", "check") == "tcp port=9" and got.state("check type")[0] == "carried"
    got = nginx(stream(POOL % ("check type=http;", "")))
    assert got.state("check type")[0] == "lost" and "check =" not in got.ini


# ---- the rest of a server ----


def test_rates_are_of_one_side_each(nginx):
    got = nginx(stream(ONE % "proxy_download_rate 100k; proxy_upload_rate 10m;"))
    assert got.sections["frontend port-80"]["pacing"] == ["100k"]
    assert got.sections["backend 10.0.0.1-80"]["pacing"] == ["10m"] and got.code == 0
    got = nginx(stream(ONE % "proxy_download_rate 0; proxy_upload_rate $rate;"))
    assert "pacing" not in got.ini and "listen port-80" in got.sections
    assert got.state("proxy_download_rate")[0] == "no-effect" and got.state("proxy_upload_rate")[0] == "lost"


def test_an_address_to_connect_from_may_be_that_of_the_listener(nginx):
    got = nginx(stream("proxy_bind $server_addr; " + ONE % ""))
    assert got.sections["listen port-80"]["server s1"] == ["10.0.0.1:80 source=10.0.0.9"] and got.code == 0
    assert got.state("proxy_bind")[0] == "carried"


@pytest.mark.parametrize("bind, source", [("[fd00::5]", "fd00::5"), ("[fd00::5]:70", "[fd00::5]:70")])
def test_an_address_of_ipv6_to_connect_from(nginx, bind, source):
    got = nginx(stream(f"server {{ listen 80; proxy_pass [fd00::1]:9; proxy_bind {bind}; }}"))
    assert got.sections["listen port-80"]["server s1"] == [f"[fd00::1]:9 source={source}"] and got.code == 0


@pytest.mark.parametrize("bind, source, state", [
    ("10.0.0.5", "10.0.0.5", "carried"), ("$remote_addr transparent", "client", "carried"),
    ("$remote_addr:$remote_port transparent", "client", "different"), ("$server_name", None, "lost"),
    ("$remote_addr", "client", "different"), ("10.0.0.5 transparent", "10.0.0.5", "different"),
    ("$remote_address", None, "lost"),
    ("$proxy_protocol_addr transparent", None, "lost"), ("off", None, "no-effect"),
])
def test_an_address_to_connect_from(nginx, bind, source, state):
    got = nginx(stream(ONE % f"proxy_bind {bind};"))
    server = got.sections["listen port-80"]["server s1"][0]
    assert server == "10.0.0.1:80" + (f" source={source}" if source else "")
    assert got.state("proxy_bind")[0] == state


@pytest.mark.parametrize("line", ["proxy_protocol off", "proxy_socket_keepalive off", "proxy_bind off",
                                  "proxy_next_upstream_timeout 0", "proxy_session_drop off"])
def test_what_is_off_has_no_effect(nginx, line):
    got = nginx(stream(ONE % (line + ";")))
    assert got.state(line)[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("line, why", [
    ("proxy_responses 1", "UDP"), ("proxy_requests 2", "UDP"), ("proxy_ssl_name a.com", "not on"),
    ("proxy_ssl_server_name on", "not on"), ("proxy_ssl off", "not on"),
    ("proxy_protocol_timeout 5s", "no listen"), ("proxy_next_upstream_timeout 1s", "no other server"),
])
def test_what_a_server_has_no_use_for_has_no_effect(nginx, line, why):
    got = nginx(stream(ONE % (line + ";")))
    assert got.state(line)[0] == "no-effect" and why in got.state(line)[1] and got.code == 0
    if line.startswith("proxy_ssl_"):
        assert nginx(stream(f"{line};\n" + ONE % "")).state(line)[0] == "no-effect"
        assert nginx(stream(f"{line};\n" + ONE % "proxy_ssl on;")).state(line)[0] == "not-ours"


def test_a_limit_on_all_attempts_is_lost_where_there_are_several(nginx):
    text = "upstream u { server %s; server 10.0.0.2:1; }\n" + ONE % "proxy_next_upstream_timeout 1s;"
    got = nginx(stream((text % "10.0.0.1:1").replace("10.0.0.1:80", "u")))
    assert got.state("proxy_next_upstream_timeout")[0] == "different"
    got = nginx(stream((ONE % "proxy_next_upstream_timeout 1s;").replace("10.0.0.1:80", "app.example:80")))
    assert got.state("proxy_next_upstream_timeout")[0] == "different"


def test_scripts_are_lost(nginx):
    got = nginx(stream("js_import x.js;\n" + ONE % "js_access x.allow;"))
    assert got.state("js_import")[0] == got.state("js_access")[0] == "lost" and got.code == 10


def test_a_name_that_goes_on_is_lost(nginx):
    got = nginx(preread("$u", SNI + "hostnames; www.c.* a; default b; }"))
    assert got.state("www.c.*") == ("lost", "weir's names may begin in any way (*.NAME), not end: write them "
                                            "out")


def test_this_machine_by_name(nginx):
    got = nginx(stream((ONE % "").replace("listen 10.0.0.9", "listen localhost")))
    assert got.value("listen port-80", "bind") == "127.0.0.1:80" and got.code == 0
    assert got.state("listen")[0] == "different" and "::1" in got.state("listen")[1]


def test_a_missing_file_of_a_block_that_is_not_ours_is_not_ours(nginx):
    got = nginx(stream("server { listen 443 ssl; include /nowhere/a.inc; }\n" + ONE % ""))
    assert got.state("include")[0] == "not-ours" and got.code == 0
    got = nginx(stream("server { listen 81; include /nowhere/a.inc; }\n" + ONE % ""))
    assert got.state("include")[0] == "lost"


def test_methods_of_the_parts_of_a_split(nginx):
    text = ("split_clients $remote_addr$remote_port $s { 25% a; * b; }\n"
            "upstream a { zone a 64k; %s; server 10.0.0.1:1; }\nupstream b { server 10.0.0.2:1; }\n"
            "server { listen 80; proxy_pass $s; }")
    for method in ("random", "hash $connection consistent"):
        got = nginx(stream(text.replace("%s", method)))
        assert got.state(method)[0] == "different" and got.code == 0, got.report
    assert nginx(stream(text.replace("%s", "least_conn"))).state("least_conn")[0] == "lost"


def test_a_name_of_the_only_server_of_an_address_has_no_effect(nginx):
    got = nginx(stream(ONE % "server_name a.com;"))
    assert got.state("server_name")[0] == "no-effect" and got.code == 0


def test_a_file_that_is_not_here_is_lost(nginx):
    got = nginx("include /nowhere/modules/mod-stream.conf;\n" +
                stream(ONE % "" + "\ninclude /nowhere/x.conf;"))
    assert got.state("include /nowhere/x")[0] == "lost" and "--prefix" in got.state("include /nowhere/x")[1]
    assert got.state("include /nowhere/modules")[0] == "no-effect"
    assert "listen port-80" in got.sections and got.code == 10


@pytest.mark.parametrize("rules, denied, allowed", [
    ("allow 10.0.0.0/8; deny 10.1.0.0/16; deny all;", None, "10.0.0.0/8"),
    ("allow 10.0.0.5; deny 10.0.0.4/30; allow all;", "10.0.0.4 10.0.0.6/31", None),
    ("allow 10.0.0.5; deny 10.0.0.0/24; allow 10.0.0.0/8; deny all;",
     "10.0.0.0/30 10.0.0.4 10.0.0.6/31 10.0.0.8/29 10.0.0.16/28 10.0.0.32/27 10.0.0.64/26 10.0.0.128/25",
     "10.0.0.5 10.0.0.0/8"),
    ("allow 2001:db8::1; deny 2001:db8::/127; deny 10.0.0.1;", "2001:db8:: 10.0.0.1", None),
    ("allow 10.0.0.1; allow 10.0.0.0; deny 10.0.0.0/31; deny 192.0.2.0/24;", "192.0.2.0/24", None),
    ("deny 10.1.0.0/16; allow 10.0.0.0/8; deny all;", "10.1.0.0/16", "10.0.0.0/8"),
    ("allow 0.0.0.0/0; deny 10.0.0.0/8; deny 2001:db8::/32; deny all;", "2001:db8::/32", "0.0.0.0/0"),
])
def test_a_deny_is_without_what_is_allowed_before_it(nginx, rules, denied, allowed):
    got = nginx(stream(ONE % rules))
    assert got.value("listen port-80", "deny-from") == denied
    assert got.value("listen port-80", "allow-from") == allowed
    assert "different" not in [got.state(rule.strip())[0] for rule in rules.split(";")[:-1]]


@pytest.mark.parametrize("networks", ([f"10.0.{i}.0/24" for i in range(65)],
                                      [f"10.{i}.{i}.{i}" for i in range(1, 9)]))
def test_a_deny_of_which_many_parts_are_left_is_different(nginx, networks):
    rules = "".join(f"allow {network}; " for network in networks)
    got = nginx(stream(ONE % (rules + "deny 10.0.0.0/8; deny all;")))
    assert got.state("deny 10.0.0.0/8")[0] == "different"
    assert got.value("listen port-80", "deny-from") == "10.0.0.0/8"


@pytest.mark.parametrize("length", ("4294967296", "x", ""))
def test_a_network_that_nginx_refuses_takes_nothing_from_a_deny(nginx, length):
    got = nginx(stream(ONE % f"allow 10.0.0.0/{length}; deny 10.0.0.0/8;"))
    assert got.value("listen port-80", "deny-from") == "10.0.0.0/8"


def test_deny_all_alone_refuses_everybody(nginx):
    got = nginx(stream(ONE % "deny all;"))
    assert got.sections["listen port-80"]["deny-from"] == ["0.0.0.0/0 ::/0"] and got.code == 0


def test_a_server_that_is_left_out_for_no_time_is_not_observed(nginx):
    got = nginx(stream("upstream u { server 10.0.0.1:1 fail_timeout=0; server 10.0.0.2:1 fail_timeout=0s; }\n"
                       "server { listen 80; proxy_pass u; }"))
    assert "observe" not in got.ini and got.code == 0


@pytest.mark.parametrize("method, balance, state", [
    ("random", "random(1)", "carried"), ("random two", None, "carried"), ("ip_hash", "source", "carried"),
    ("least_time connect", "leastconn", "different"), ("random two least_time=connect", None, "different"),
    ("hash $remote_addr:$server_port consistent", "source hash=consistent", "carried"),
    ('hash "x$binary_remote_addr"', "source", "carried"),
    ("hash $remote_addr$remote_port", "random(1)", "different"),
    ("hash $connection consistent", "random(1)", "different"), ("hash $server_name$x", None, "lost"),
    ("hash $server_port", None, "lost"), ("hash $remote_addr_x", None, "lost"),
    ("hash $proxy_protocol_addr", None, "lost"),
])
def test_methods(nginx, method, balance, state):
    text = stream("upstream u { %s; server 10.0.0.1:1; server 10.0.0.2:1; }\n"
                  "server { listen 80; proxy_pass u; }")
    got = nginx(text % method)
    assert got.value("listen u", "balance") == ("random" if balance is None and "two" in method else balance)
    assert got.state(method.split()[0])[0] == state
    if "proxy_protocol" in method:
        assert nginx((text % method).replace("listen 80", "listen 80 proxy_protocol")).state("hash")[0] == \
            "carried"


@pytest.mark.parametrize("value, ours", [
    ("on", "on"), ("30m::10", "30m count=10"), ("60:5s", "1m interval=5s"), ("off", None),
    ("::3", "on count=3"), (":10s:", "on interval=10s"),
    ("1h:10:3", "1h interval=10s count=3"), ("on so_keepalive=30m::10", "30m count=10"),
    ("30m::10 so_keepalive=on", "30m count=10"), ("30m so_keepalive=off", None),
    ("off so_keepalive=5m", "5m"),
])
def test_keepalive(nginx, value, ours):
    got = nginx(stream((ONE % "").replace(":80;", f":80 so_keepalive={value};", 1)))
    assert got.value("listen port-80", "client-keepalive") == ours
    assert got.code == 0


@pytest.mark.parametrize("main, zone, state", [
    ("worker_processes 4;", "", "different"), ("worker_processes auto;", "", "different"),
    ("worker_processes 1;", "", "carried"), ("worker_processes 4;", "zone z 64k;", "carried"),
    ("", "", "carried"),
])
def test_a_limit_of_connections_by_worker(nginx, main, zone, state):
    got = nginx(main + "\n" + stream("upstream u { " + zone + " server 10.0.0.1:1 max_conns=5; }\n"
                                     "server { listen 80; proxy_pass u; }"))
    assert got.sections["listen u"]["server s1"] == ["10.0.0.1:1 maxconn=5"] and got.code == 0
    assert got.state("server 10")[0] == state
    assert state == "carried" or "each worker process" in got.state("server 10")[1]


@pytest.mark.parametrize("weights, ours, state", [
    ((1000, 500), ("2", "1"), "carried"), ((300, 256), ("75", "64"), "carried"),
    ((256, 1), ("256", None), "carried"), ((1000, 1), ("250", None), "different"),
    ((1000, 3), ("250", "1"), "different"),
])
def test_large_weights_are_smaller_in_the_same_proportion(nginx, weights, ours, state):
    servers = "".join(f"server 10.0.0.{i}:1 weight={w}; " for i, w in enumerate(weights))
    got = nginx(stream("upstream u { " + servers + "}\nserver { listen 80; proxy_pass u; }"))
    found = [got.sections["listen u"][f"server s{i}"][0].partition(" weight=")[2] or None for i in (1, 2)]
    assert tuple(found) == ours and got.state("server 10.0.0.0")[0] == state and got.code == 0


def test_the_last_method_counts(nginx):
    got = nginx(stream("upstream u { least_conn; server 10.0.0.1:1; server 10.0.0.2:1; hash $remote_addr; }\n"
                       "server { listen 80; proxy_pass u; }"))
    assert got.value("listen u", "balance") == "source" and got.code == 0
    assert got.state("least_conn")[0] == "no-effect" and got.state("hash")[0] == "carried"


@pytest.mark.parametrize("method, words, state", [
    ("least_conn", "weight=2", "different"), ("least_conn", "weight=1", "carried"),
    ("least_conn", "weight=2 down", "carried"), ("random two", "weight=9", "different"),
    ("random two least_conn", "weight=9", "different"), ("random two", "", "carried"),
    ("random", "weight=9", "carried"), ("hash $remote_addr", "weight=9", "carried"),
])
def test_servers_with_the_same_load_have_other_shares_by_weight(nginx, method, words, state):
    got = nginx(stream(f"upstream u {{ {method}; server 10.0.0.1:1; server 10.0.0.2:1 {words}; }}\n"
                       "server { listen 80; proxy_pass u; }"))
    assert got.state(method)[0] == state and got.code == 0


def test_a_full_server_leads_to_no_backup(nginx):
    got = nginx(stream("upstream u { zone z 64k; server 10.0.0.1:1 max_conns=5; server 10.0.0.2:1; server "
                       "10.0.0.3:1 backup; }\nserver { listen 80; proxy_pass u; }"))
    assert [got.state(f"server 10.0.0.{i}")[0] for i in (1, 2, 3)] == ["different", "carried", "carried"]
    assert "a backup is for servers that are down" in got.state("server 10.0.0.1")[1]


def test_a_full_server_of_a_hash_leads_to_no_other(nginx):
    got = nginx(stream("upstream u { hash $remote_addr; zone z 64k; server 10.0.0.1:1 max_conns=5; server "
                       "10.0.0.2:1; }\nserver { listen 80; proxy_pass u; }"))
    assert got.state("server 10.0.0.1")[0] == "different" and "another one" in got.state("server 10.0.0.1")[1]
    assert got.state("server 10.0.0.2")[0] == "carried"


def test_a_limit_is_for_each_way_to_use_an_upstream(nginx):
    text = stream("upstream u { zone z 64k; server 10.0.0.1:1 max_conns=5; server 10.0.0.2:1; }\n"
                  "server { listen 80; proxy_pass u; }\nserver { listen 81; proxy_pass u; %s }")
    assert nginx(text % "").state("server 10.0.0.1")[0] == "carried"
    got = nginx(text % "proxy_timeout 1s;")
    state, why = got.state("server 10.0.0.1")
    assert state == "different" and "weir in each" in why
    assert got.state("server 10.0.0.2")[0] == "carried"


@pytest.mark.parametrize("fails, noted", [(1, False), (3, True)])
def test_failures_in_a_row_count(nginx, fails, noted):
    servers = "".join(f"server 10.0.0.{i}:1 max_fails={fails}; " for i in (1, 2))
    got = nginx(stream("upstream u { " + servers + "}\nserver { listen 80; proxy_pass u; }"))
    assert any("those in a row" in note for note in got.report["notes"]) == noted


def test_keepalive_of_one_address_holds_for_the_section(nginx):
    got = nginx(stream("server { listen 80 so_keepalive=5m; listen 81 so_keepalive=on; "
                       "proxy_pass a.b:1; }"))
    assert got.value("listen port-80", "client-keepalive") == "5m"
    assert got.state("listen 81")[0] == "different" and "all addresses" in got.state("listen 81")[1]


@pytest.mark.parametrize("masks, cpus, code", [
    ("0001 0010 1000", "0,1,3", 0), ("auto", None, 0), ("0011 1100", None, 10), ("auto 01", None, 10),
])
def test_cpus_of_workers(nginx, masks, cpus, code):
    got = nginx(f"worker_cpu_affinity {masks};\n" + stream(ONE % ""))
    assert got.sections.get("global", {}).get("cpu-affinity", [None]) == [cpus] and got.code == code


# ---- server_name ----

NAMED = ("ssl_preread on; upstream a { server 10.0.0.1:1; } upstream b { server 10.0.0.2:1; }\n"
         "server { listen 443; listen [::]:443; server_name a.com *.b.com; proxy_pass a; %s }\n"
         "server { listen 443 default_server; listen [::]:443; server_name c.com; proxy_pass b; %s }\n"
         "server { listen [::]:443; listen 443; server_name ~^x\\.b\\.com$ w.com; "
         "proxy_pass 10.0.0.9:1; %s }\n")


def test_blocks_of_one_address_are_told_apart_by_name(nginx):
    got = nginx(stream(NAMED % ("", "", "")))
    assert routes(got) == [("a", "sni=a.com"), ("10.0.0.9-1", "sni=w.com"), ("a", "sni=*.b.com"),
                           ("10.0.0.9-1", "sni=x.b.com"), ("default-backend", "b")]
    assert got.value("frontend port-443", "bind") == ":443"
    assert got.value("frontend port-443", "sniff") == "tls timeout=30s"
    assert got.state("server_name a.com")[0] == "carried" and got.state("server_name c.com")[0] == "no-effect"
    assert got.code == 0, got.report


@pytest.mark.parametrize("line, own", [
    ("allow 10.0.0.0/8", "allow all"), ("deny all", "allow all"), ("tcp_nodelay off", "tcp_nodelay on"),
    ("proxy_half_close on", "proxy_half_close off"),
    ("proxy_next_upstream_timeout 3s", "proxy_next_upstream_timeout 0"),
])
def test_what_each_block_replaces_has_no_effect(nginx, line, own):
    got = nginx(stream(f"{line};\n" + ONE % f"{own};"))
    assert got.state(line)[0] == "no-effect" and got.code == 0
    assert not any(key in got.ini for key in ("allow-from", "deny-from", "nodelay", "half-closed"))


@pytest.mark.parametrize("rules, open_", [
    ("deny all;", False), ("allow 10.0.0.0/8; deny all;", False), ("deny unix:;", False),
    ("allow unix:; deny all;", True), ("deny 10.0.0.0/8;", True), ("allow all; deny all;", True), ("", True),
])
def test_a_socket_whose_clients_nginx_refuses_is_left_out(nginx, rules, open_):
    got = nginx(stream(ONE % (rules + " listen unix:/run/x;")))
    assert ("unix:/run/x mode=666" in got.sections["listen port-80"]["bind"]) == open_ and got.code == 0
    assert got.state("listen unix:")[0] == ("carried" if open_ else "different")


def test_blocks_of_one_address_share_who_may_connect(nginx):
    got = nginx(stream(NAMED % ("proxy_timeout 5s;", "allow 10.0.0.0/8; deny all;", "deny 10.1.1.1;")))
    assert got.value("frontend port-443", "allow-from") == "10.0.0.0/8"
    assert got.sections["backend a"]["timeout-server"] == ["5s"]
    # nginx judges clients before it reads the name.
    assert got.state("deny 10.1.1.1")[0] == "no-effect" and got.state("proxy_timeout")[0] == "different"


def test_blocks_of_one_address_without_names(nginx):
    got = nginx(stream((NAMED % ("", "", "")).replace("ssl_preread on; ", "")))
    assert routes(got) == [("default-backend", "b")]
    assert got.state("server_name a.com")[0] == "no-effect" and got.code == 0
    got = nginx(stream("server { listen 1; proxy_pass 10.0.0.1:1; }\n"
                       "server { listen 1; proxy_pass 10.0.0.2:1; }"))
    assert "10.0.0.1:1" in got.ini and "10.0.0.2" not in got.ini
    assert got.state("proxy_pass 10.0.0.2:1")[0] == "no-effect"


def test_a_block_of_one_address_may_have_a_map(nginx):
    got = nginx(stream(r"map $ssl_preread_alpn_protocols $p { ~\bh2\b 1; default 2; }" + "\n" +
                       (NAMED % ("", "", "")).replace("10.0.0.9:1", "10.0.0.9:$p")))
    assert routes(got)[1:3] == [("10.0.0.9-1", "sni=w.com alpn=h2"), ("10.0.0.9-2", "sni=w.com")]
    assert got.code == 0


def test_a_default_block_that_is_not_ours_takes_the_others_along(nginx):
    got = nginx(stream((NAMED % ("", "proxy_ssl on;", "")) + ONE % ""))
    assert got.state("server_name a.com")[0] == "lost" and "listen port-80" in got.sections


REFUSING = ("ssl_preread on;\nserver { listen 443; server_name a.com; proxy_pass 10.0.0.1:1; %s }\n"
            "server { listen 443 %s; server_name b.com; %s }\n")


@pytest.mark.parametrize("rules, lines, states", [
    ("", [("10.0.0.1-1", "sni=a.com")], {'return': "carried"}),
    ("deny all;", [("10.0.0.1-1", "sni=a.com")], {'deny all': "carried"}),
])
def test_a_default_block_that_refuses_lets_nobody_else_in(nginx, rules, lines, states):
    got = nginx(stream(REFUSING % ("", "default_server", rules + ' return "";')))
    assert routes(got) == lines and got.code == 0, got.report
    assert got.value("frontend port-443", "sniff") == "tls timeout=30s"
    # nginx refuses all clients of the address by the rules of the default block.
    assert got.value("frontend port-443", "deny-from") == ("0.0.0.0/0 ::/0" if rules else None)
    assert {line: got.state(line)[0] for line in states} == states
    assert got.state("server")[0] == "carried"


def test_an_address_is_the_same_however_it_is_written(nginx):
    server = "server { listen %s; server_name %s; proxy_pass 10.0.0.%d:1; }\n"
    got = nginx(stream("ssl_preread on;\n" + server % ("443", "a.com", 1) + server % ("*:443", "b.com", 2) +
                       server % ("0.0.0.0:443", "c.com", 3) + server % ("10.0.0.9:443", "d.com", 4)))
    assert routes(got) == [("10.0.0.2-1", "sni=b.com"), ("10.0.0.3-1", "sni=c.com"),
                           ("default-backend", "10.0.0.1-1")] and got.code == 0


def test_no_client_asks_for_an_empty_name(nginx):
    server = 'server { listen 443; server_name %s; proxy_pass 10.0.0.%d:1; }\n'
    got = nginx(stream("ssl_preread on;\n" + server % ("a.com", 1) + server % ('"" b.com', 2)))
    assert routes(got) == [("10.0.0.2-1", "sni=b.com"), ("default-backend", "10.0.0.1-1")] and got.code == 0


def test_a_block_that_answers_has_its_names_for_itself(nginx):
    got = nginx(stream(REFUSING % ("", "", "deny all; return 403;")))
    assert routes(got) == [("closed", "sni=b.com"), ("default-backend", "10.0.0.1-1")] and got.code == 0
    assert got.value("frontend port-443", "sniff") == "tls timeout=30s"
    assert got.state("deny all")[0] == "no-effect" and "deny-from" not in got.ini
    assert got.state("return")[0] == "different" and "closes it at once" in got.state("return")[1]
    got = nginx(stream(REFUSING % ("", "", "pass 127.0.0.1:8000;")))
    assert routes(got)[0] == ("closed", "sni=b.com")
    assert got.state("pass")[0] == "not-ours" and "are refused" in got.state("pass")[1]
    got = nginx(stream(REFUSING % ("", "", "proxy_ssl on; proxy_pass 10.0.0.2:1;")))
    assert routes(got)[0] == ("closed", "sni=b.com") and got.state("proxy_pass 10.0.0.2")[0] == "lost"


def test_a_wide_name_of_another_block_leaves_the_default_block_its_own(nginx):
    server = "server {{ listen 443; server_name {}; proxy_pass 10.0.0.{}:1; }}\n"
    got = nginx(stream("ssl_preread on;\n" + server.format("a.com *.b.com ~^c c.org", 1) +
                       server.format("*.com", 2) + server.format("d.b.com e.org", 3)))
    assert routes(got) == [("10.0.0.3-1", "sni=d.b.com,e.org"), ("10.0.0.1-1", "sni=a.com,*.b.com"),
                           ("10.0.0.2-1", "sni=*.com"), ("default-backend", "10.0.0.1-1")]
    assert got.state("server_name a.com")[0] == "lost" and got.state("server_name *.com")[0] == "carried"


def test_a_default_block_that_answers_without_reading_names_answers_all(nginx):
    got = nginx(stream((REFUSING % ("", "default_server", "return x;")).replace("ssl_preread on;", "")))
    assert got.report["result"] is False and got.state("return")[0] == "not-ours"
    assert got.state("proxy_pass")[0] == "no-effect"


@pytest.mark.parametrize("text, line", [
    ("upstream u { server ${HOME}:80; server 10.0.0.1:80; } server { listen 80; proxy_pass u; }", "server $"),
    ("server { listen ${HOME}; listen 80; proxy_pass 10.0.0.1:80; }", "listen $"),
])
def test_a_variable_where_nginx_takes_none_is_of_a_template(nginx, text, line):
    got = nginx(stream(text))
    assert got.state(line)[0] == "lost" and "${HOME}" in got.state(line)[1]
    assert "template" in got.state(line)[1] and "${HOME}" not in got.ini and got.code == 10


@pytest.mark.parametrize("line, more, state", [
    ("proxy_timeout 0;", "", "different"), ("proxy_connect_timeout 0s;", "", "different"),
    ("preread_timeout 0;", "", "carried"), ("preread_timeout 0;", "ssl_preread on;", "different"),
    ("proxy_protocol_timeout 0;", "", "no-effect"),
    ("proxy_protocol_timeout 0;", "listen 81 proxy_protocol;", "different"),
])
def test_a_time_of_0_is_over_at_once_for_nginx(nginx, line, more, state):
    got = nginx(stream(ONE % (more + line)))
    assert got.state(line.split()[0])[0] == state
    assert state != "different" or "at once" in got.state(line.split()[0])[1]


@pytest.mark.parametrize("name", ["proxy_timeout", "proxy_connect_timeout", "preread_timeout"])
def test_a_time_that_is_none_is_lost(nginx, name):
    got = nginx(stream(ONE % (name + " ${TIME};")))
    assert got.state(name)[0] == "lost" and "not a time" in got.state(name)[1]


@pytest.mark.parametrize("words, state", [
    ("proxy_connect_timeout 5s; proxy_next_upstream_tries 3; proxy_next_upstream_timeout 15s;", "no-effect"),
    ("proxy_connect_timeout 5s; proxy_next_upstream_tries 3; proxy_next_upstream_timeout 14s;", "different"),
    ("proxy_connect_timeout 5s; proxy_next_upstream_timeout 1h;", "different"),
    ("proxy_next_upstream_timeout $time;", "lost"), ("proxy_next_upstream_timeout 0;", "no-effect"),
    ("proxy_next_upstream_tries 2; proxy_next_upstream_timeout 2m;", "no-effect"),
])
def test_a_time_for_all_attempts(nginx, words, state):
    got = nginx(stream((ONE % words).replace("10.0.0.1:80", "app.example:80")))
    assert got.state("proxy_next_upstream_timeout")[0] == state


def test_a_server_that_is_down_says_nothing_of_failures(nginx):
    got = nginx(stream("upstream u { server 10.0.0.1:1 down; server 10.0.0.2:1 max_fails=3; "
                       "server 10.0.0.3:1 max_fails=3; } server { listen 80; proxy_pass u; }"))
    assert got.sections["listen u"]["observe"] == ["connect limit=3"]
    assert got.state("server 10.0.0.1")[0] == "carried" and got.code == 0


def test_limits_of_connections(nginx):
    zones = ("limit_conn_zone $binary_remote_addr zone=addr:10m; limit_conn_zone $server_name zone=all:1m;\n"
             "limit_conn_zone $hostname zone=x:1m; limit_conn_zone $remote_addr zone=unused:1m;\n")
    got = nginx(stream(zones + ONE % "limit_conn addr 5; limit_conn all 100; limit_conn x 3;"))
    section = got.sections["listen port-80"]
    assert section["maxconn-per-source"] == ["5"] and section["maxconn"] == ["100"]
    assert [got.state("limit_conn " + zone)[0] for zone in ("addr", "all", "x")] == \
        ["carried", "different", "lost"]
    assert got.state("limit_conn_zone $remote_addr")[0] == "no-effect"
    got = nginx(stream(zones + "limit_conn addr 5;" + ONE % "limit_conn all 9;" +
                       (ONE % "").replace(":80", ":81")))
    assert got.sections["listen port-81"]["maxconn-per-source"] == ["5"]
    assert "maxconn-per-source" not in got.sections["listen port-80"] and got.code == 0


@pytest.mark.parametrize("port, state", [("81", "carried"), ("[::]:81", "different")])
def test_a_limit_holds_for_a_network_of_ipv6(nginx, port, state):
    got = nginx(stream("limit_conn_zone $binary_remote_addr zone=a:1m;\n"
                       f"server {{ listen {port}; limit_conn a 3; proxy_pass 10.0.0.1:1; }}"))
    assert got.value("listen port-81", "maxconn-per-source") == "3" and got.code == 0
    assert got.state("limit_conn a")[0] == state
    assert ("/64" in (got.state("limit_conn a")[1] or "")) == (state == "different")


@pytest.mark.parametrize("key, more, state", [
    ("$binary_remote_addr$server_port", "", "carried"),
    ("$binary_remote_addr$server_port", "listen 10.0.0.8:80; listen 53 udp;", "carried"),
    ("$binary_remote_addr$server_port", "listen 81;", "different"),
    ("$binary_remote_addr$server_port", "listen 81-89;", "different"),
    ("$remote_addr$server_addr", "listen 10.0.0.9:81;", "carried"),
    ("$remote_addr$server_addr", "listen 10.0.0.8:80;", "different"),
    ("$remote_addr$server_addr", "listen 81;", "different"),
])
def test_a_limit_for_each_listener_is_for_all_of_them(nginx, key, more, state):
    got = nginx(stream(f"limit_conn_zone {key} zone=a:1m;\n" + ONE % f"limit_conn a 3; {more}"))
    assert got.value("listen port-80", "maxconn-per-source") == "3" and got.code == 0
    assert got.state("limit_conn a")[0] == state


def test_an_upstream_in_two_ways_is_two_backends(nginx):
    text = "upstream u { server 10.0.0.1:1; }\nserver { listen 1; proxy_pass u; }\n" \
        "server { listen 2; proxy_pass u; proxy_timeout %s; }"
    assert any("'u' in several ways" in note for note in nginx(stream(text % "5s")).report["notes"])
    assert not any("in several ways" in note for note in nginx(stream(text % "10m")).report["notes"])


@pytest.mark.parametrize("name", ["proxy_timeout", "proxy_connect_timeout"])
def test_a_time_of_0_ends_sessions_of_nginx_only(nginx, name):
    got = nginx(stream(ONE % f"{name} 0;"))
    assert got.state(name)[0] == "different" and "at once" in got.state(name)[1] and got.code == 0
    got = nginx(stream(f"{name} 0s;\n" + ONE % f"{name} 5s;"))
    assert got.state(f"{name} 5s")[0] == "carried"


@pytest.mark.parametrize("code", [
    'ngx.say("}")', "ngx.say('{')", 'ngx.say("\\"}")', "local a = { b = {} }", "-- a }\n", "--[[ } ]] x()",
    "s = [[ { ]]", "s = [=[ ]] { ]=]", "-- it's\n", "a = b[c[1]]", "--", "--[", "[", "s = 'x\n",
])
def test_lua_ends_where_it_ends_for_nginx(nginx, code):
    http = "http { server { location / { content_by_lua_block { %s\n } } } }\n" % code
    got = nginx(http + stream(ONE % ""))
    assert got.value("listen port-80", "server s1") == "10.0.0.1:80" and got.code == 0, got.report
    assert got.state("content_by_lua_block")[0] == "not-ours"


@pytest.mark.parametrize("code", ["[[ }", "[=[ } ]]", "--[[ }", "{", "--[==[ } ]=]"])
def test_lua_that_does_not_end_is_an_error(nginx, code):
    got = nginx(stream(ONE % "") + "http { content_by_lua_block { %s\n } }\n" % code)
    assert got.code == 1 and "not closed" in got.report["error"]["text"]


@pytest.mark.parametrize("addresses, names", [
    (("web", "web2"), ["web", "s2-"]), (("web2", "web"), ["web2", "s2-"]), (("web", "web"), ["web", "s2-"]),
    (("app1", "app2", "app10"), ["app1", "app2", "s3-"]), (("a.b.c", "a.b"), ["a.b.c", "a.b"]),
])
def test_names_of_sets_do_not_meet(nginx, addresses, names):
    servers = "".join(f"server {address}:8{i} resolve; " for i, address in enumerate(addresses))
    got = nginx(stream(f"upstream u {{ zone u 64k; {servers} }}\nserver {{ listen 80; proxy_pass u; }}"))
    assert [key.split()[1] for key in got.sections["backend u"] if key.startswith("servers ")] == names
    assert got.code == 0, got.report


def test_a_server_is_not_called_as_one_of_a_set(nginx):
    got = nginx(stream("upstream u { server web1:81; server web:82 resolve; server web-3:83; "
                       "server s:84 resolve; server 10.0.0.1:85; }\nserver { listen 80; proxy_pass u; }"))
    assert [key for key in got.sections["listen u"] if key.startswith("server")] == [
        "server web1", "servers s2-", "server web-3", "servers s", "server s-5"] and got.code == 0


@pytest.mark.parametrize("more, retries", [
    ("", None), ("proxy_next_upstream off;", "0"), ("proxy_next_upstream_tries 2;", "1"),
])
def test_the_addresses_of_a_set_are_several_servers(nginx, more, retries):
    got = nginx(stream("upstream u { zone u 64k; server web:80 resolve max_fails=2; }\n"
                       f"server {{ listen 80; proxy_pass u; {more} }}"))
    assert got.value("backend u", "retries") == retries and got.code == 0
    assert got.value("backend u", "observe") == "connect limit=2"
    notes = " ".join(got.report["notes"])
    assert ("each address of a name with 'resolve'" in notes) == (more == "")


def test_a_block_whose_clients_nginx_closes_closes_them(nginx):
    text = (SNI + "a.com 10.0.0.1:1; }\nserver { listen 80; proxy_pass $u; }\n"
            "server { listen 443; ssl_preread on; proxy_pass $u; }")
    got = nginx(stream(text))
    assert got.value("frontend u", "default-backend") == "closed"
    assert got.sections["backend closed"]["server none"] == ["127.0.0.1:1 disabled"]
    assert got.state("proxy_pass")[0] == "carried" and got.code == 0, got.report
    for entry in ("a.com $remote_user:1;", "~^api a;"):
        got = nginx(preread("$u", SNI + entry + " }"))
        assert got.state("proxy_pass")[0] == "lost" and "default-backend" not in got.ini


def test_small_segments_may_wait(nginx):
    got = nginx(stream(ONE % "tcp_nodelay off;"))
    assert got.value("listen port-80", "tcp-nodelay") == "off" and got.state("tcp_nodelay")[0] == "carried"
    got = nginx(stream("tcp_nodelay off;\n" + ONE % "" + (ONE % "").replace(":80;", ":81;", 1)))
    assert got.sections["defaults"]["tcp-nodelay"] == ["off"] and got.state("tcp_nodelay")[0] == "carried"
    assert "tcp-nodelay" not in nginx(stream("tcp_nodelay off;\n" + ONE % "tcp_nodelay on;")).ini


def test_a_backup_gets_clients_without_a_fail_timeout(nginx):
    got = nginx(stream("upstream u { server 10.0.0.1:1 fail_timeout=0; server 10.0.0.2:1 backup; }\n"
                       "server { listen 80; proxy_pass u; }"))
    assert got.value("listen u", "observe") == "connect" and got.code == 0
    assert got.state("server 10.0.0.1")[0] == "different" and "backup" in got.state("server 10.0.0.1")[1]


def test_who_may_send_a_proxy_header(nginx):
    behind = ONE.replace(":80;", ":81 proxy_protocol;", 1) % ""
    got = nginx(stream("set_real_ip_from 10.0.0.0/8;\n" + ONE % "" + behind))
    assert got.sections["frontend port-81"]["trusted"] == ["10.0.0.0/8"]
    assert "trusted" not in got.sections["frontend port-80"]
    assert got.state("set_real_ip_from")[0] == "carried"
    assert any("outside of set_real_ip_from" in note for note in got.report["notes"])


def test_a_name_that_may_send_a_proxy_header_is_a_variable(nginx):
    got = nginx(stream("set_real_ip_from lb.example.com;\nset_real_ip_from 10.0.0.0/8;\n" +
                       ONE.replace(":80;", ":81 proxy_protocol;", 1) % ""))
    assert got.value("listen port-81", "trusted") == "${ADDRESS_OF_LB_EXAMPLE_COM} 10.0.0.0/8"
    assert got.state("set_real_ip_from lb")[0] == "different" and got.code == 0
    assert got.state("set_real_ip_from 10")[0] == "carried"


@pytest.mark.parametrize("rules, keys", [
    ("allow 10.0.0.0/40; allow 10.1.0.0/16; deny all;", {"allow-from": "10.1.0.0/16"}),
    ("allow a.example; deny all;", {"deny-from": "0.0.0.0/0 ::/0"}),
    ("deny 10.0.0.0/33; deny 10.2.0.0/16;", {"deny-from": "10.2.0.0/16"}),
])
def test_what_is_no_network_opens_nothing(nginx, rules, keys):
    got = nginx(stream(ONE % rules))
    assert {key: got.value("listen port-80", key) for key in keys} == keys
    assert got.state(rules.split(";")[0]) == ("lost", "not a network")
    assert got.report["counts"]["lost"] == 1


def test_sessions_of_a_server_that_goes_down(nginx):
    got = nginx("thread_pool p threads=2;\n" + stream(ONE % "proxy_session_drop on;"))
    assert got.value("listen port-80", "on-marked-down") == "close-sessions" and got.code == 0
    assert got.state("thread_pool")[0] == "no-effect"


def test_a_file_for_inside_of_stream_may_have_a_text_to_return(nginx):
    got = nginx(ONE % "" + "\nserver { listen 9; return 'hello'; }\n")
    assert "listen port-80" in got.sections and got.state("return")[0] == "not-ours"
    got = nginx(ONE % "" + "\nserver { listen 9; return 301 https://a.com; }\n")
    assert got.ini == "" and got.state("proxy_pass")[0] == "not-ours"


def test_blocks_that_share_a_backend_both_carry_what_it_says(nginx):
    server = ("server { listen %d; proxy_pass u; proxy_protocol on; proxy_socket_keepalive on; "
              "proxy_next_upstream_tries 1; proxy_upload_rate 1m; }\n")
    got = nginx(stream("upstream u { server 10.0.0.1:1; }\n" + server % 80 + server % 81))
    assert [name for name in got.sections if name.startswith("backend")] == ["backend u"]
    assert got.report["counts"]["lost"] == 0 and got.code == 0, got.report


def test_a_limit_that_is_only_logged_is_none(nginx):
    text = stream("limit_conn_zone $remote_addr zone=a:1m;\nlimit_conn a 5;\n" +
                  ONE % "limit_conn_dry_run %s;")
    got = nginx(text % "on")
    assert "maxconn" not in got.ini and got.code == 0
    assert [got.state(word)[0] for word in ("limit_conn a", "limit_conn_dry_run", "limit_conn_zone")] == \
        ["no-effect", "different", "no-effect"]
    got = nginx(text % "off")
    assert got.value("listen port-80", "maxconn-per-source") == "5"
    assert got.state("limit_conn_dry_run")[0] == "no-effect" and got.code == 0


def test_two_names_of_senders_do_not_share_a_variable(nginx):
    got = nginx("stream { server { listen 1 proxy_protocol; proxy_pass 10.0.0.1:1;\n"
                "set_real_ip_from a-b.example;\nset_real_ip_from a.b.example;\n} }")
    assert got.value("listen port-1", "trusted").split() == ["${ADDRESS_OF_A_B_EXAMPLE}",
                                                             "${ADDRESS_OF_A_B_EXAMPLE_2}"]
