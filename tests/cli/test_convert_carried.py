# SPDX-License-Identifier: MIT
"""`weir convert` and what "carried" promises of HAProxy's lines: the same clients reach the same servers, for
as long, and are refused and logged alike. Where that cannot be, the report says so.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import LISTEN, TIMES, listen

DEFAULTS = "defaults\n" + TIMES + "option redispatch\n"
FRONT = (DEFAULTS + "frontend f\nbind 10.0.0.9:80\ndefault_backend b\n%s\n"
         "backend b\nserver s 10.0.0.1:80\n%s\n")


def notes(got):
    return "\n".join(got.report["notes"])


PROXIED = LISTEN.replace("bind 10.0.0.9:80", "bind 10.0.0.9:80 accept-proxy")
CONNECTION, SESSION = "tcp-request connection ", "tcp-request session "
TABLE = "stick-table type ip size 1k store conn_rate(10s),conn_cur\ntcp-request connection track-sc0 src\n"


@pytest.mark.parametrize("rules", [
    CONNECTION + "reject if !{ src 10.0.0.0/8 }",
    CONNECTION + "accept if { src 10.0.0.0/8 }\n" + CONNECTION + "reject",
])
def test_who_may_send_a_header_is_trusted(haproxy, rules):
    got = haproxy(PROXIED + rules + "\n")
    assert got.value("listen a", "trusted") == "10.0.0.0/8"
    assert got.value("listen a", "allow-from") is None
    assert got.state(CONNECTION + "reject")[0] == "carried" and got.code == 0


def test_a_rule_about_the_address_in_the_header_is_allow_from(haproxy):
    got = haproxy(PROXIED + SESSION + "reject if !{ src 10.0.0.0/8 }\n")
    assert got.value("listen a", "allow-from") == "10.0.0.0/8"
    assert got.value("listen a", "trusted") is None


@pytest.mark.parametrize("rule", ["reject if { src 10.0.0.0/8 }", "reject if { sc0_conn_rate gt 20 }",
                                  "reject if { sc0_conn_cur gt 20 }"])
def test_a_rule_that_refuses_some_senders_of_headers_is_lost(haproxy, rule):
    got = haproxy(PROXIED + TABLE + CONNECTION + rule + "\n")
    state, why = got.state(CONNECTION + rule)
    assert state == "lost" and "sends the PROXY header" in why
    assert not {"deny-from", "rate-limit-per-source", "maxconn-per-source"} & set(got.sections["listen a"])


def test_a_rule_for_clients_with_and_without_a_header_says_whom_weir_judges(haproxy):
    mixed = PROXIED + "bind 10.0.0.9:81\n"
    got = haproxy(mixed + CONNECTION + "reject if { src 10.0.0.0/8 }\n")
    assert got.value("listen a", "deny-from") == "10.0.0.0/8"
    assert got.state(CONNECTION)[0] == "different"
    got = haproxy(mixed + CONNECTION + "reject if !{ src 10.0.0.0/8 }\n")
    assert got.state(CONNECTION)[0] == "lost" and got.value("listen a", "allow-from") is None


# ---- timeout tunnel ---------------------------------------------------------------------------------------


def test_a_tunnel_of_a_backend_is_of_both_sides(haproxy):
    got = haproxy(FRONT % ("", "timeout tunnel 2h"))
    assert got.value("frontend f", "timeout-client") == got.value("backend b", "timeout-server") == "2h"
    assert got.state("timeout tunnel")[0] == "carried"


def test_a_tunnel_of_a_frontend_has_no_effect(haproxy):
    got = haproxy(FRONT % ("timeout tunnel 2h", ""))
    assert got.value("frontend f", "timeout-client") is None  # 10m, as weir's default
    assert got.state("timeout tunnel")[0] == "no-effect" and got.state("timeout client")[0] == "carried"


def test_of_several_tunnels_a_frontend_has_the_longest(haproxy):
    got = haproxy(FRONT % ("use_backend c if { src 10.0.0.0/8 }",
                           "timeout tunnel 2h\nbackend c\nserver s 10.0.0.2:80\ntimeout tunnel 3h"))
    assert got.value("frontend f", "timeout-client") == "3h"
    assert got.state("timeout tunnel 3h")[0] == "different"
    got = haproxy(FRONT % ("use_backend c if { src 10.0.0.0/8 }",
                           "timeout tunnel 2h\nbackend c\nserver s 10.0.0.2:80"))
    assert got.value("frontend f", "timeout-client") == "2h"
    assert got.state("timeout tunnel 2h")[0] == "different"
