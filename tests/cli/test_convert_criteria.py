# SPDX-License-Identifier: MIT
"""`weir convert` and the flags, operators and values of HAProxy's criteria: each means what it means there.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert_rules import ROUTED


@pytest.fixture(name="route")
def _route(haproxy):
    """What a route becomes: its state, the reason, and the words of its line or None."""
    def convert(condition):
        got = haproxy(ROUTED % f"use_backend x if {{ {condition} }}")
        words = got.sections["frontend f"].get("use-backend x", [None])
        return *got.state("use_backend x"), " ".join(words) if words != [None] else None
    return convert


@pytest.mark.parametrize("condition, ours", [
    ("req.ssl_sni -i -- a.example", "sni=a.example"),
    ("req.ssl_sni -m end -i -- .example", "sni=*.example"),
    ("src -n -- 10.0.0.0/8", "src=10.0.0.0/8"),
])
def test_flags_come_before_the_values(route, condition, ours):
    state, _, words = route(condition)
    assert (state, words) == ("carried", ours)


@pytest.mark.parametrize("condition, ours", [
    ("req.ssl_sni -i -- -m end .example", "sni=end"), ("req.ssl_sni a.example -m end", "sni=a.example,end"),
    ("req.ssl_sni a.example -i", "sni=a.example"),
])
def test_a_flag_among_the_values_is_one(route, condition, ours):
    state, _, words = route(condition)
    assert (state, words) == ("different", ours)


@pytest.mark.parametrize("condition, ours", [
    ("dst_port gt 1024 lt 80", "dst-port=1025-65535,1-79"), ("dst_port lt 100 200", "dst-port=1-99,1-199"),
    ("dst_port ge 8000 8443", "dst-port=8000-65535,8443-65535"),
    ("dst_port 80 gt 443", "dst-port=80,444-65535"),
    ("dst_port gt 443 eq 80", "dst-port=444-65535,80"), ("dst_port lt 1 gt 443", "dst-port=444-65535"),
    ("dst_port 80 443 8000:8100", "dst-port=80,443,8000-8100"), ("dst_port le 80", "dst-port=1-80"),
    ("dst_port :1023 8000:", "dst-port=1-1023,8000-65535"), ("dst_port 0:1023 0", "dst-port=1-1023"),
])
def test_an_operator_is_for_the_ports_behind_it(route, condition, ours):
    state, _, words = route(condition)
    assert (state, words) == ("carried", ours)


@pytest.mark.parametrize("condition", ["dst_port lt 1", "dst_port 0", "dst_port gt 65535",
                                       "dst_port lt 0 gt 70000"])
def test_a_port_that_there_is_not_never_holds(route, condition):
    assert route(condition) == ("no-effect", "there is no such port", None)


@pytest.mark.parametrize("condition, ours", [
    ("req.ssl_alpn h2 http/1.1", "alpn=h2,http/1.1"), ("req.ssl_alpn -m str h2", "alpn=h2"),
    ("req.ssl_alpn -i H2", "alpn=h2"),
])
def test_a_protocol_is_compared_as_a_whole(route, condition, ours):
    state, _, words = route(condition)
    assert (state, words) == ("carried", ours)


@pytest.mark.parametrize("condition", [
    "req.ssl_alpn -m sub h", "req.ssl_alpn -m beg h", "req.ssl_alpn -m end 1.1", "req.ssl_alpn -m reg h2",
    "req.ssl_alpn -m len 2", "req.ssl_alpn -m found", "req.ssl_alpn h2,http/1.1", "req.ssl_alpn -f protocols",
])
def test_a_protocol_that_is_compared_in_part_is_lost(route, condition):
    state, _, words = route(condition)
    assert (state, words) == ("lost", None)


@pytest.mark.parametrize("numbers", ["gt 20 gt 30", "gt 20 30", "gt 20:30"])
def test_a_limit_with_more_than_one_number_is_lost(haproxy, numbers):
    rule = f"tcp-request connection reject if {{ sc0_conn_cur {numbers} }}"
    got = haproxy(ROUTED % ("stick-table type ip size 1k store conn_cur\n"
                            "tcp-request connection track-sc0 src\n" + rule))
    assert got.state(rule)[0] == "lost" and "maxconn-per-source" not in got.sections["frontend f"]


# ---- files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry, said", [
    ("10.1.2.3/16", "write 10.1.0.0/16"), ("10.0.0.0/255.0.0.0", "write a number from 0 to 32"),
    ("lb.example.com", "address"), ("10.0.0.0-10.0.0.9", "address"),
])
def test_a_file_with_a_network_that_weir_refuses_is_lost(route, tmp_path, entry, said):
    path = tmp_path / "lan.lst"
    path.write_text(f"# offices\n192.0.2.7\n\n  {entry} \n", encoding="ascii")
    state, why, words = route(f"src -f {path}")
    assert (state, words) == ("lost", None) and f"{path}:4: weir does not take '{entry}'" in why
    assert said in why


def test_a_file_of_networks_is_read_by_weir(route, tmp_path):
    path = tmp_path / "lan.lst"
    path.write_text("# offices\n192.0.2.7\r\n\n10.0.0.0/8\n2001:db8::/32\n", encoding="ascii")
    state, _, words = route(f"src -f {path}")
    assert (state, words) == ("carried", f"src=@{path}")


@pytest.mark.parametrize("rule", ["tcp-request connection reject if {{ {} }}", "use_backend x if {{ {} }}"])
def test_what_is_beside_a_file_is_judged(haproxy, rule):
    rule = rule.format("src -f /etc/haproxy/lan.lst 10.0.0.1 lb.example.com")
    got = haproxy(ROUTED % rule)
    state, why = got.state(rule)
    assert state == "lost" and "'lb.example.com' is not a valid network" in why and got.code == 10


# ---- upper case ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition, state, ours", [
    ("req.ssl_sni,lower a.example B.example", "different", "sni=a.example"),
    ("req.ssl_sni,lower -m end .a.example .B.example", "different", "sni=*.a.example"),
    ("req.ssl_sni,lower B.example", "no-effect", None),
    ("req.ssl_sni,lower -i B.example", "carried", "sni=B.example"),
    ("req.ssl_sni -i B.example", "carried", "sni=B.example"),
])
def test_a_name_in_lower_case_has_no_upper_case(route, condition, state, ours):
    found, why, words = route(condition)
    assert (found, words) == (state, ours) and ("upper-case" in (why or "")) == (state != "carried")


def test_a_map_of_names_in_lower_case_has_no_upper_case(haproxy, tmp_path):
    path = tmp_path / "names.map"
    path.write_text("A.example x\na.example d\nb.example x\n", encoding="ascii")
    route = f"use_backend %[req.ssl_sni,lower,map({path})]"
    got = haproxy(ROUTED % route)
    assert got.sections["frontend f"]["use-backend x"] == ["sni=b.example"]
    assert got.sections["frontend f"]["use-backend d"] == ["sni=a.example"]
    state, why = got.state(route)
    assert state == "different" and "'A.example'" in why
