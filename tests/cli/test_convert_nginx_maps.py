# SPDX-License-Identifier: MIT
"""`weir convert`: maps of nginx's over what clients send.

Runs the binary named by WEIR_BIN (build/src/weir). What nginx does was tried with nginx 1.22.
"""

import pytest

from test_convert import stream
from test_convert_nginx import routes

SNI = "map $ssl_preread_server_name $u { "
ALPN = "map $ssl_preread_alpn_protocols $u { "
PROTOCOL = "map $ssl_preread_protocol $u { "


def preread(maps, passes="$u", rules="ssl_preread on;"):
    return stream(maps + "".join(f" upstream {u} {{ server 10.0.0.{i}:1; }}\n" for i, u in enumerate("abc")) +
                  f"server {{ listen 443; {rules} proxy_pass {passes}; }}")


# ---- protocols ----


@pytest.mark.parametrize("key, state", [
    ("h2", "different"), ("~^h2$", "different"), ("~^h2", "different"), ("~h2", "different"),
    (r"~^h2\b", "different"), (r"~\bh2$", "different"), (r"~\bh2\b", "carried"), (r"~*\bh2\b", "carried"),
])
def test_a_key_without_word_boundaries_is_compared_with_the_whole_list(nginx, key, state):
    got = nginx(preread(ALPN + f'"{key}" a; default b; }}'))
    assert routes(got) == [("a", "alpn=h2"), ("default-backend", "b")] and got.code == 0
    assert got.state(key.replace("*", "*"))[0] == state
    assert state == "carried" or "whatever else it offers" in got.state(key)[1]


@pytest.mark.parametrize("value, state", [("b", "carried"), ("c", "lost")])
def test_who_offers_no_protocol_gets_the_default(nginx, value, state):
    got = nginx(preread(ALPN + rf'"" {value}; ~\bh2\b a; default b; }}'))
    assert routes(got) == [("a", "alpn=h2"), ("default-backend", "b")]
    assert (got.code == 0) == (state == "carried")


def test_a_protocol_without_regard_to_case_is_what_clients_write(nginx):
    got = nginx(preread(ALPN + r"~*\bH2\b a; ~\bX\b c; default b; }"))
    assert routes(got) == [("a", "alpn=h2"), ("c", "alpn=X"), ("default-backend", "b")]


@pytest.mark.parametrize("key, state", [
    (r"~^TLSv1\.[23]$", "different"), ("~*^tls", "carried"), ("~.+", "carried"),
    (r"~TLSv1\.\d", "different"), ("~^(", "lost"), ("~^.{7}$", "lost"),
])
def test_versions_of_tls(nginx, key, state):
    got = nginx(preread(PROTOCOL + f'"{key}" a; "" c; default b; }}'))
    tls = [] if state == "lost" else [("a", "proto=tls")]
    assert routes(got) == [("c", "proto=http,ssh,other")] + tls + [("default-backend", "b")] or \
        routes(got) == tls + [("c", "proto=http,ssh,other"), ("default-backend", "b")]
    assert got.state(key)[0] == state


def test_old_versions_of_tls_may_get_what_those_of_today_get(nginx):
    got = nginx(preread(PROTOCOL + 'TLSv1 a; TLSv1.1 a; TLSv1.2 a; TLSv1.3 a; default b; }'))
    assert routes(got) == [("a", "proto=tls"), ("default-backend", "b")] and got.code == 0
    assert got.state("TLSv1 a")[0] == "carried"


@pytest.mark.parametrize("key", ["TLS", "TLSv*", "TLSv1.0", "tls1.2", "http"])
def test_a_protocol_that_nginx_has_no_such_name_for_has_no_effect(nginx, key):
    got = nginx(preread(PROTOCOL + f'"{key}" a; "TLSv1.3" b; default c; }}'))
    assert routes(got) == [("b", "proto=tls"), ("default-backend", "c")]
    assert got.state(key)[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("key", [r"a\.example\.com", r"^a\.com$", "(www|api).a.com", r"*.a\.com", r".a\.com"])
def test_a_pattern_that_nginx_takes_for_a_name_has_no_effect(nginx, key):
    got = nginx(preread(SNI + f"hostnames; '{key}' a; b.com b; default c; }}"))
    assert routes(got) == [("b", "sni=b.com"), ("default-backend", "c")]
    assert got.state(key)[0] == "no-effect" and got.code == 0


BAD = r'"~^bad\d{9}" c; '


@pytest.mark.parametrize("entries, state", [
    (BAD + "default c;", "carried"), (BAD + "~x c; default c;", "carried"),
    (r"~^b\.com$ b; " + BAD + "default c;", "carried"), (BAD + r"~^b\.com$ b; default c;", "lost"),
    (BAD, "lost"), (BAD + "default b;", "lost"),
])
def test_a_pattern_with_the_value_of_the_default_may_be_any(nginx, entries, state):
    got = nginx(preread(SNI + "a.com a; " + entries + " }"))
    assert routes(got)[0] == ("a", "sni=a.com") and got.state("~^bad")[0] == state
    assert (got.code == 0) == (state == "carried")


def test_a_value_that_is_no_target_closes_its_clients(nginx):
    got = nginx(preread(SNI + "a.com a; b.com drop; default reject; }"))
    assert routes(got) == [("a", "sni=a.com"), ("closed", "sni=b.com")]
    assert got.state("b.com")[0] == got.state("default")[0] == "different" and got.code == 0
    got = nginx(preread("include missing.conf; " + SNI + "a.com a; b.com drop; default c; }"))
    assert got.state("b.com") == ("lost", "there is no upstream 'drop'")
    got = nginx(preread("include missing.d/*.conf; " + SNI + "a.com a; b.com drop; default c; }"))
    assert got.state("b.com")[0] == "lost" and got.state("include")[0] == "no-effect"


@pytest.mark.parametrize("key, state", [
    ("b.com:443", "no-effect"), ("q/r", "no-effect"), ("a..b", "no-effect"), ("w*.a.com", "no-effect"),
    ("b.com.", "no-effect"),
    ("*.x.com", "no-effect"), (".x.com", "no-effect"), ("www.x.*", "no-effect"), (r"\*.x.com", "no-effect"),
    ("any", "lost"), ("none", "lost"), (r"~^b\.\.com$", "no-effect"),
])
def test_a_key_that_no_client_asks_for_leaves_the_others_theirs(nginx, key, state):
    got = nginx(preread(SNI + f"a.com a; '{key}' a; c.com a; default b; }}"))
    assert routes(got) == [("a", "sni=a.com,c.com"), ("default-backend", "b")]
    assert got.state(key)[0] == state and (got.code == 0) == (state == "no-effect")


@pytest.mark.parametrize("source, key", [
    ("$remote_addr", "10.1.*"), ("$remote_addr", "*.1"), ("$ssl_preread_protocol", "TLSv1.*"),
    ("$ssl_preread_alpn_protocols", "http/1.*"), ("$server_port", ".443"),
])
def test_a_wildcard_of_another_thing_than_names_is_lost(nginx, source, key):
    got = nginx(preread(f"map {source} $u {{ hostnames; {key} a; default b; }}"))
    assert got.state(key)[0] == "lost" and got.code == 10
    got = nginx(preread(f"map {source} $u {{ {key} a; hostnames; default b; }}"))
    assert got.state(key)[0] == ("lost" if "/" in key else "no-effect")


def test_wildcards_before_hostnames_are_names_themselves(nginx):
    got = nginx(preread(SNI + "*.x.com b; a.com a; hostnames; *.y.com a; default c; }"))
    assert routes(got) == [("a", "sni=a.com,*.y.com"), ("default-backend", "c")]
    assert got.state("*.x.com")[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("source, key, line, state", [
    ("map $server_port", "https", "dst-port=443,444", "no-effect"),
    ("map $server_port", "~^8", "dst-port=443,444", "lost"),
    ("map $server_port", "80000", "dst-port=443,444", "no-effect"),
    ("geo", "10.0.0.0/40", None, "lost"), ("map $remote_addr", "~10.0.0.x", None, "lost"),
    ("map $remote_addr", "10.0.0.x", None, "no-effect"), ("map $remote_addr", "10.0.0.01", None, "no-effect"),
    ("map $remote_addr", "2001:db8::01", None, "no-effect"), ("map $remote_addr", "unix:", None, "lost"),
])
def test_a_key_that_is_wrong_leaves_the_others_theirs(nginx, source, key, line, state):
    first, last = ("443", "444") if line else ("10.1.0.1", "10.2.0.1")
    got = nginx(stream(f"{source} $u {{ {first} a; {key} a; {last} a; default b; }}\n"
                       "upstream a { server 10.0.0.1:1; }\nupstream b { server 10.0.0.2:1; }\n"
                       "server { listen 443; listen 444; listen 445; proxy_pass $u; }"))
    assert (line or "src=10.1.0.1,10.2.0.1") in [words for _, words in routes(got)]
    assert got.state(key)[0] == state


def test_upstreams_are_named_without_regard_to_case(nginx):
    got = nginx(preread(SNI + "a.com A; b.com a; c.com 10.0.0.9:1; default B; }"))
    assert routes(got) == [("A", "sni=a.com"), ("A", "sni=b.com"), ("10.0.0.9-1", "sni=c.com"),
                           ("default-backend", "B")]
    got = nginx(stream("upstream Pool { server 10.0.0.1:1; server 10.0.0.2:1; }\n"
                       "server { listen 80; proxy_pass pool; }\nserver { listen 81; proxy_pass POOL; }"))
    assert len({got.value(f"frontend port-{port}", "default-backend") for port in (80, 81)}) == 1
    assert got.code == 0 and got.ini.count("10.0.0.1:1") == 1


def test_clients_of_today_get_the_default_of_a_map_of_older_versions(nginx):
    got = nginx(preread(PROTOCOL + '"" a; "TLSv1.2" b; "TLSv1.1" b; default c; }'))
    assert routes(got) == [("a", "proto=http,ssh,other"), ("default-backend", "c")]
    assert got.state("TLSv1.2")[0] == got.state("TLSv1.1")[0] == "different" and got.code == 0
    got = nginx(preread(PROTOCOL + '"TLSv1.2" b; default c; }'))  # without it, the default is for SSH
    assert routes(got) == [("b", "proto=tls"), ("default-backend", "c")]


@pytest.mark.parametrize("key", ["~^$", "~^SSL", "TLSv1.1"])
def test_an_older_version_has_no_backend_of_its_own(nginx, key):
    got = nginx(preread(PROTOCOL + f'"{key}" a; "" c; default b; }}'))
    assert routes(got) == [("c", "proto=http,ssh,other"), ("default-backend", "b")]
    assert got.state(key)[0] == "different"
    got = nginx(preread(PROTOCOL + f'"{key}" a; default b; }}'))
    assert got.state(key)[0] == "lost"


# ---- without ssl_preread ----


@pytest.mark.parametrize("maps, target", [
    (SNI + 'a.com a; "" c; default b; }', "c"), (SNI + "a.com a; ~.* c; *.b.com c; default b; }", "b"),
    (ALPN + r"~\bh2\b a; default c; }", "c"), (PROTOCOL + '"TLSv1.2" a; "" b; }', "b"),
    ('map "$ssl_preread_server_name:$server_port" $u { "a.com:443" a; ":443" b; default c; }', "b"),
    ("map $ssl_preread_server_name $n { a.com 1; default 0; }\n" + 'map "$n" $u { 1 a; 0 c; }', "c"),
])
@pytest.mark.parametrize("rules", ["", "ssl_preread off;"])
def test_a_block_that_reads_no_names_has_the_value_for_none(nginx, maps, target, rules):
    got = nginx(preread(maps, rules=rules))
    assert "use-backend" not in got.ini and "sniff" not in got.ini and f"= {target}\n" in got.ini
    assert any("'ssl_preread on' is missing" in note for note in got.report["notes"])
    assert "'ssl_preread on' is missing" not in str(nginx(preread(maps)).report)
    assert got.report["counts"]["lost"] == 0 and got.code == 0


@pytest.mark.parametrize("kind", ["geo", "map"])
def test_a_block_without_proxy_headers_has_no_address_of_them(nginx, kind):
    maps = kind + " $proxy_protocol_addr $u { 10.0.0.1 a; default b; }"
    got = nginx(preread(maps))
    assert routes(got) == [("default-backend", "b")] and got.state("10.0.0.1")[0] == "no-effect"
    assert any("'proxy_protocol' of 'listen' is missing" in note for note in got.report["notes"])
    got = nginx(preread(maps, rules="listen 444 proxy_protocol;"))
    assert routes(got) == [("a", "src=10.0.0.1"), ("default-backend", "b")]


def test_bytes_of_an_address_are_no_key(nginx):
    got = nginx(preread("map $binary_remote_addr $u { 10.0.0.1 a; default b; }"))
    assert got.state("map")[0] == "different" and "goes by the address" in got.state("map")[1]


def test_an_address_of_ipv4_at_a_socket_of_ipv6_is_another_text(nginx):
    maps = "%s $u { 10.0.0.1 a; default b; }"
    rules = "listen [::]:444 ipv6only=off; proxy_protocol on;"
    got = nginx(preread(maps % "map $remote_addr", rules=rules))
    assert got.state("map")[0] == "different" and "::ffff:" in got.state("map")[1] and got.code == 0
    assert any("TCP6 ::ffff:" in note for note in got.report["notes"])
    assert nginx(preread(maps % "geo", rules=rules)).state("geo")[0] == "carried"
    got = nginx(preread(maps % "map $remote_addr", rules="listen [::]:444; proxy_protocol on;"))
    assert got.state("map")[0] == "carried" and "::ffff:" not in str(got.report)


def test_a_name_that_is_not_read_is_no_address(nginx):
    text = "resolver 10.0.0.9; server { listen 443; %s proxy_pass $ssl_preread_server_name:443; }"
    got = nginx(stream(text % ""))
    assert got.state("proxy_pass")[0] == "different" and "ssl_preread on" in got.state("proxy_pass")[1]
    assert "ssl_preread on" not in str(nginx(stream(text % "ssl_preread on;")).state("proxy_pass")[1])


# ---- values that are looked up ----


def test_entries_of_a_map_that_is_lost_are_lost_with_it(nginx):
    got = nginx(preread("geo $g { default x; 10.0.0.0/8 y; }\n" + r'map "$g" $u { ~\b a; default c; }'))
    assert got.state("map")[0] == "lost"
    assert got.state("default c") == ("lost", "its map is lost") == got.state(r"~\b a")


@pytest.mark.parametrize("entries, lines", [
    ("~.+ $n; default c;", [("a", "sni=x.com"), ("b", "sni=y.com"), ("default-backend", "c")]),
    ("~B c; ~*^B$ a; ~b b; default b;", [("b", "sni=x.com"), ("a", "sni=y.com"), ("default-backend", "b")]),
    ("~a|b c; a b; default a;", [("b", "sni=x.com"), ("c", "sni=y.com"), ("default-backend", "a")]),
    ("*a c; .b c; default a;", [("a", "sni=x.com"), ("a", "sni=y.com"), ("default-backend", "a")]),
    (r"~^(?:a|c)$ b; ~^(?<n>\w)$ c; default a;",
     [("b", "sni=x.com"), ("c", "sni=y.com"), ("default-backend", "a")]),
    (r"~^[^\d\.]\d?$ c; default a;", [("c", "sni=x.com"), ("c", "sni=y.com"), ("default-backend", "a")]),
])
def test_a_text_is_looked_up_among_patterns(nginx, entries, lines):
    got = nginx(preread('map $ssl_preread_server_name $n { x.com a; y.com b; default ""; }\n'
                        "map $n $u { " + entries + " }"))
    assert routes(got) == lines and got.code == 0, got.report


@pytest.mark.parametrize("entries", [
    r"~\b c; default b;", "~(?!a) c; default b;", "~(?i)A c; default b;", r"~[\]a] c; default b;",
    "~[[:alpha:]] c; default b;", '"~a{1}" c; default b;', "hostnames; .a c; default b;"])
def test_a_pattern_that_may_mean_another_thing_is_lost(nginx, entries):
    got = nginx(preread("map $ssl_preread_server_name $n { x.com a; }\nmap $n $u { " + entries + " }"))
    assert got.code == 10 and "which pattern fits 'a'" in str(got.report)


@pytest.mark.parametrize("address, entries, target", [
    ("10.1.1.1", "10.0.0.0/8 a; 10.1.0.0/16 b; default c;", "b"),
    ("10.1.1.1", "10.0.0.0/8 a; default c;", "a"),
    ("10.1.1.1", "ranges; 10.1.0.0-10.1.255.255 a; 10.1.1.1-10.1.1.1 b; default c;", "b"),
    ("10.1.1.1", "0.0.0.0/0 a; default b;", "b"),
    ("2001:db8::1", "10.0.0.0/8 a; 2001:db8::/32 b; default c;", "b"),
    ("nothing", "10.0.0.0/8 a; default b;", "b"), ("nothing", "10.0.0.0/8 a; 255.0.0.0/8 b; default c;", "b"),
])
def test_an_address_that_is_known_is_looked_up_among_networks(nginx, address, entries, target):
    got = nginx(preread(f"geo $x $u {{ {entries} }}", rules=f"set $x {address};"))
    assert routes(got) == [("default-backend", target)] and got.code == 0, got.report


@pytest.mark.parametrize("listen, maps, target", [
    ("10.0.0.9:1", "map $server_addr $u { 10.0.0.9 a; default b; }", "a"),
    ("10.0.0.8:1-5", "map $server_addr $u { 10.0.0.9 a; default b; }", "b"),
    ("10.0.0.9:1; listen 10.0.0.9:2", "geo $server_addr $u { 10.0.0.8/31 a; default b; }", "a"),
    ("10.0.0.9:1; listen 53 udp", r'map "$server_addr-$protocol" $u { ~^10\.0\.0\.\d-TCP$ a; }', "a"),
    ("[2001:DB8:0::1]:1", "map $server_addr $u { 2001:db8::1 a; default b; }", "a"),
    ("1", "map $protocol $u { TCP a; UDP b; }", "a"),
])
def test_what_a_block_has_for_all_clients_is_a_text(nginx, listen, maps, target):
    got = nginx(preread(maps).replace("443", listen))
    assert routes(got) == [("default-backend", target)] and got.code == 0, got.report


@pytest.mark.parametrize("listen", ["1", "*:1", "[::]:1", "0.0.0.0:1", "localhost:1", "unix:/x",
                                    "10.0.0.9:1; listen 10.0.0.8:1"])
def test_an_address_that_depends_on_the_client_is_lost(nginx, listen):
    got = nginx(preread("map $server_addr $u { 10.0.0.9 a; default b; }").replace("443", listen))
    assert got.state("proxy_pass")[0] == "lost" and "$server_addr" in got.state("proxy_pass")[1]


def test_an_address_that_is_known_behind_a_delete_is_lost(nginx):
    maps = "geo $x $u { 10.0.0.0/8 a; delete 10.0.0.0/8; default b; }"
    got = nginx(preread(maps, rules="set $x 10.1.1.1;"))
    assert got.code in (1, 10) and "delete" in got.state("geo")[1]


@pytest.mark.parametrize("rules", ['set $x "$x$x$x$x$x$x$x$x";', 'set $x "${x}"; ', 'set $x "a$x";'])
def test_a_variable_that_names_itself_is_lost(nginx, rules):
    got = nginx(stream(rules + "server { listen 80; proxy_pass $x:5; }"))
    assert got.state("set")[0] == "lost" and "names itself" in got.state("set")[1]
    assert got.state("proxy_pass")[0] == "lost"


def test_variables_that_grow_are_lost(nginx):
    rules = "".join(f"set $x{i} \"{f'$x{i + 1}' * 40}\"; " for i in range(10))
    got = nginx(stream(rules + "server { listen 80; proxy_pass $x0:5; }"))
    assert got.state("proxy_pass")[0] == "lost" and "too many others" in got.state("proxy_pass")[1]


# ---- maps of the same thing ----


@pytest.mark.parametrize("maps, lines", [
    ('map $ssl_preread_server_name $n { x.com a; y.com b; default ""; }\n'
     'map $n $u { "" c; default $n; }', [("a", "sni=x.com"), ("b", "sni=y.com"), ("default-backend", "c")]),
    ('map $ssl_preread_server_name $n { x.com a; default ""; }\n'
     'map $ssl_preread_protocol $p { "" b; default c; }\nmap $n $u { "" $p; default $n; }',
     [("a", "sni=x.com"), ("b", "proto=http,ssh,other"), ("default-backend", "c")]),
    ('map $ssl_preread_server_name $n { x.com 1; "" 2; default 3; }\n'
     'map $n $u { 3 a; default 10.9.9.9:$n; }',
     [("10.9.9.9-1", "sni=x.com"), ("a", "sni=any"), ("default-backend", "10.9.9.9-2")]),
    ('map $ssl_preread_server_name $n { x.com 1; default ""; }\nmap $ssl_preread_alpn_protocols $p '
     r'{ ~\bh2\b 2; default 3; }' '\nmap $n $m { 1 a; default ""; }\nmap $p $q { 2 b; default c; }\n'
     'map $m $u { "" $q; default $m; }', [("a", "sni=x.com"), ("b", "alpn=h2"), ("default-backend", "c")]),
    # A map that some clients of another map of the same thing get.
    ("map $ssl_preread_server_name $n { hostnames; x.com a; *.x.com b; y.com b; default c; }\n" + SNI +
     "hostnames; .x.com $n; z.com $n; default b; }",
     [("a", "sni=x.com"), ("b", "sni=*.x.com"), ("c", "sni=z.com"), ("default-backend", "b")]),
    ("map $ssl_preread_server_name $n { hostnames; *.com a; www.x.com b; *.x.com c; default b; }\n" + SNI +
     'hostnames; *.x.com $n; w.y.com $n; "" c; default b; }',
     [("b", "sni=www.x.com"), ("c", "sni=*.x.com"), ("a", "sni=w.y.com"), ("b", "sni=any"),
      ("default-backend", "c")]),
    ("geo $n { 10.0.0.0/8 a; 10.1.0.0/16 b; default c; }\n"
     "geo $u { 10.1.2.0/24 $n; 10.0.0.0/9 $n; 192.168.0.0/16 $n; 2001:db8::/32 $n; default a; }",
     [("b", "src=10.1.2.0/24,10.1.0.0/16"), ("a", "src=10.0.0.0/9"),
      ("c", "src=2001:db8::/32,192.168.0.0/16"), ("default-backend", "a")]),
    ('map $ssl_preread_protocol $n { "" a; default b; }\n'
     'map $ssl_preread_protocol $u { "" $n; default c; }',
     [("a", "proto=http,ssh,other"), ("default-backend", "c")]),
])
def test_two_maps_of_the_same_thing_become_one(nginx, maps, lines):
    got = nginx(preread(maps))
    assert routes(got) == lines and got.code == 0, got.report
    assert "lost" not in {line["state"] for line in got.report["lines"]}


def test_a_map_behind_the_names_of_a_block(nginx):
    server = "server {{ listen 443; server_name {0}; ssl_preread on; proxy_pass $u; }}\n"
    got = nginx(stream(SNI + "hostnames; x.com 10.0.0.1:1; *.y.com 10.0.0.1:2; default 10.0.0.1:3; }\n" +
                       server.format("z.com") + server.format("x.com y.com") + server.format("*.y.com")))
    assert routes(got) == [("10.0.0.1-1", "sni=x.com"), ("10.0.0.1-3", "sni=y.com"),
                           ("10.0.0.1-2", "sni=*.y.com"), ("10.0.0.1-1", "sni=x.com"),
                           ("10.0.0.1-2", "sni=*.y.com"), ("default-backend", "10.0.0.1-3")] and got.code == 0


def test_clients_whose_server_is_lost_get_no_other(nginx):
    got = nginx(preread(SNI + r"~^(.+)\.x\.com$ $1.internal:5; y.com a; z.com nowhere; default b; }"))
    assert routes(got) == [("a", "sni=y.com"), ("closed", "sni=z.com"), ("closed", "sni=*.x.com"),
                           ("default-backend", "b")]
    assert got.state("~^")[0] == "lost" and got.state("z.com")[0] == "different" and got.code == 10


def test_entries_that_lead_to_what_is_lost_are_lost(nginx):
    alpn = "map $ssl_preread_alpn_protocols "
    got = nginx(preread(alpn + r"$n { ~\bh2\b a; default b; }" + "\n" + alpn +
                        r"$u { ~\bh3\b $n; ~\bh4\b $n; default c; }"))
    assert routes(got) == [("closed", "alpn=h3,h4"), ("default-backend", "c")] and got.code == 10
    assert got.state(r"~\bh3")[0] == got.state(r"~\bh4")[0] == "lost" == got.state(r"~\bh2")[0]
    assert got.state("default c")[0] == "carried"


@pytest.mark.parametrize("key, lines", [
    ("~^ice:", [("a", "proto=http,ssh,other"), ("b", "sni=t.com"), ("default-backend", "c")]),
    ("~*^ICE", [("a", "proto=http,ssh,other"), ("b", "sni=t.com"), ("default-backend", "c")]),
    (r"~^tls:(.+\.)?x\.com$", [("c", "proto=http,ssh,other"), ("b", "sni=t.com"), ("a", "sni=.x.com"),
                              ("default-backend", "c")]),
    ("~^nobody:", [("c", "proto=http,ssh,other"), ("b", "sni=t.com"), ("default-backend", "c")]),
    ("~ice", [("closed", "proto=http,ssh,other"), ("b", "sni=t.com")]),
    ("~^tls:|x", [("closed", "proto=http,ssh,other"), ("b", "sni=t.com")]),
    ("~^tls+:", [("c", "proto=http,ssh,other"), ("b", "sni=t.com")]),
])
def test_a_pattern_over_a_text_and_a_name(nginx, key, lines):
    got = nginx(preread('map $ssl_preread_protocol $k { "" ice; default tls; }\n'
                        'map "$k:$ssl_preread_server_name" $u { "' + key + '" a; "tls:t.com" b; '
                        'default c; }'))
    assert routes(got) == lines
    lost = key in ("~ice", "~^tls:|x", "~^tls+:")
    assert got.code == (10 if lost else 0) and (got.state(key)[0] == "lost") == lost
    assert not lost or "are refused" in got.state(key)[1]


def test_two_large_maps_of_the_same_thing_are_lost_soon(nginx):
    names = "".join(f"n{i}.com {{}}; " for i in range(9000))
    several = "".join(f"n{i}.com x{i}$n; " for i in range(9000))
    text = preread("map $ssl_preread_server_name $n { " + names.replace("{}", "a") + "default b; }\n" + SNI +
                   several + "default c; }", passes="$u:5")
    got = nginx(text)
    assert got.state("map $ssl_preread_server_name $n")[0] == "lost" and got.code == 10
    assert "too many" in got.state("map $ssl_preread_server_name $n")[1]


# ---- many entries ----


def test_more_special_wildcards_come_first(nginx):
    got = nginx(preread(SNI + "hostnames; *.com a; ~x c; *.b.a.com a; b.com b; .a.com b; a.com a; "
                              "default c; }"))
    assert routes(got) == [("b", "sni=b.com"), ("a", "sni=a.com,*.b.a.com"), ("b", "sni=.a.com"),
                           ("a", "sni=*.com"), ("default-backend", "c")]


def test_many_server_blocks(nginx):
    got = nginx(stream("".join(f"upstream u{i} {{ server 10.0.0.1:{i + 1}; }}\n"
                               f"server {{ listen {i + 1}; proxy_pass u{i}; }}\n" for i in range(4000))))
    assert got.ini.count("[listen") == 4000 and got.code == 0


# ---- limits ----


def test_a_zone_of_several_blocks_counts_in_each(nginx):
    zones = ("limit_conn_zone $server_addr zone=srv:1m; limit_conn_zone $binary_remote_addr zone=addr:1m;\n"
             "limit_conn_zone $remote_addr$ssl_preread_server_name zone=name:1m;\n"
             "limit_conn_zone $remote_addr$server_port zone=port:1m;\n")
    server = "server {{ listen {0}; limit_conn {1}; proxy_pass 10.0.0.1:{0}; }}\n"
    got = nginx(stream(zones + server.format(80, "srv 1000") + server.format(81, "addr 5") +
                       server.format(82, "addr 6") + server.format(83, "port 7") +
                       server.format(84, "port 7") + server.format(85, "name 8")))
    assert got.sections["listen port-80"]["maxconn"] == ["1000"]
    assert "maxconn-per-source" not in got.sections["listen port-80"]
    assert [got.sections[f"listen port-{p}"]["maxconn-per-source"] for p in range(81, 86)] == \
        [["5"], ["6"], ["7"], ["7"], ["8"]]
    assert got.state("limit_conn_zone $binary")[0] == "different"
    assert "all server blocks" in got.state("limit_conn_zone $binary")[1]
    assert got.state("limit_conn_zone $server")[0] == "carried"
    assert got.state("limit_conn_zone $remote_addr$server")[0] == "carried"
    assert got.state("limit_conn name")[0] == "different" and got.state("limit_conn port")[0] == "carried"
    assert got.code == 0
