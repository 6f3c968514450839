# SPDX-License-Identifier: MIT
"""`weir convert` and HAProxy's rules: a client that HAProxy refuses is not let in without a word.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES, listen

CONNECTION, CONTENT = "tcp-request connection ", "tcp-request content "
TLS = "{ req.ssl_hello_type 1 }"
ROUTED = ("defaults\n" + TIMES + "option redispatch\nfrontend f\nbind 10.0.0.9:443\n%s\ndefault_backend d\n" +
          "".join(f"backend {name}\nserver s 10.0.0.1:80\n" for name in "dx"))


def keys_of(got, section="listen a"):
    """What the result decides by."""
    keys = ("allow-from", "deny-from", "limit-exempt", "rate-limit-per-source", "maxconn-per-source", "sniff")
    return {key: got.sections[section][key] for key in keys if key in got.sections[section]}


# ---- converters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [
    "{ src,ipmask(24) 10.1.2.0 }", "{ src,map_ip(f) -m found }", "{ src_conn_cur,add(5) gt 9 }",
    "{ req.ssl_hello_type,add(1) 2 }", "{ always_true,not }"
])
def test_a_rule_behind_a_converter_is_lost(haproxy, condition):
    rule = CONNECTION + "reject if " + condition
    got = haproxy(listen(rule + "\n"))
    state, why = got.state(rule)
    assert (state, keys_of(got)) == ("lost", {}) and "converter" in why and got.code == 10


@pytest.mark.parametrize("condition", [
    "{ req.ssl_sni,lower,map(f) -m found }", "{ req.ssl_sni,field(1,.) www }", "{ dst_port,sub(8000) 1 }",
    "{ nbsrv(d),add(1) lt 1 }", "{ req.payload(0,4),hex 5353482d }"
])
def test_a_route_behind_a_converter_is_lost(haproxy, condition):
    got = haproxy(ROUTED % ("use_backend x if " + condition))
    state, why = got.state("use_backend x")
    assert state == "lost" and "converter" in why and got.code == 10
    assert "use-backend x" not in got.sections["frontend f"]


@pytest.mark.parametrize("condition", ["{ req.ssl_sni,lower a.example }", "{ req.ssl_sni -i a.example }"])
def test_a_name_in_lower_case_is_the_name(haproxy, condition):
    got = haproxy(ROUTED % ("use_backend x if " + condition))
    assert got.sections["frontend f"]["use-backend x"] == ["sni=a.example"] and got.code == 0


@pytest.mark.parametrize("network, ours", [
    ("10.0.0.0/255.0.0.0", "10.0.0.0/8"), ("10.1.2.3/255.255.255.255", "10.1.2.3/32"),
    ("10.1.2.3/16", "10.1.0.0/16"), ("10.1.2.3/0", "0.0.0.0/0"), ("2001:db8::7:1/64", "2001:db8::/64"),
    ("localhost", "127.0.0.1"), ("10.1.2.0/24 localhost", "10.1.2.0/24 127.0.0.1"),
])
def test_a_network_is_written_as_weir_takes_it(haproxy, network, ours):
    got = haproxy(listen(f"acl n src {network}\n{CONNECTION}reject if n\n"))
    assert keys_of(got) == {"deny-from": [ours]} and got.code == 0


@pytest.mark.parametrize("network", ["10.0.0.0/255.0.255.0", "10.0.0.0/33", "10/8", "10.0.0.0/8x"])
def test_what_is_no_network_is_lost(haproxy, network):
    got = haproxy(listen(f"{CONNECTION}reject if {{ src {network} }}\n"))
    assert keys_of(got) == {} and got.code == 10


@pytest.mark.parametrize("condition", ["{ src -m str 10.1.2.3 }", "{ src -m beg 10. }"])
def test_an_address_that_is_compared_as_text_is_lost(haproxy, condition):
    rule = CONNECTION + "reject if " + condition
    got = haproxy(listen(rule + "\n"))
    assert (got.state(rule)[0], keys_of(got)) == ("lost", {})


@pytest.mark.parametrize("value", ["2", "0", "gt 1"])
def test_what_is_not_a_client_hello_is_lost(haproxy, value):
    got = haproxy(ROUTED % f"use_backend x if {{ req.ssl_hello_type {value} }}")
    assert got.state("use_backend x")[0] == "lost" and got.code == 10


# ---- conjunctions -------------------------------------------------------------------------------------


RATE = "stick-table type ip size 1k store conn_rate(10s),conn_cur\ntcp-request connection track-sc0 src\n"


@pytest.mark.parametrize("rule", [
    CONTENT + "reject if !{ src 10.0.0.0/8 } !" + TLS,
    CONTENT + "reject if { src 10.2.0.0/16 } !" + TLS,
    CONTENT + "reject if { src 10.2.0.0/16 } " + TLS,
    CONTENT + "reject if { src 10.2.0.0/16 } { src 10.2.3.0/24 }",
    CONTENT + "reject if { src 10.2.0.0/16 } !{ src 10.2.3.0/24 }",
    CONTENT + "reject if " + TLS,
    CONNECTION + "reject if { src 10.0.0.0/8 } { sc0_conn_rate gt 20 }",
    CONNECTION + "reject if { src 10.0.0.0/8 } { sc0_conn_cur gt 20 }",
    CONTENT + "reject if !" + TLS + " { sc0_conn_cur gt 20 }",
    CONNECTION + "reject if { sc0_conn_rate gt 20 } { sc0_conn_cur gt 20 }",
    CONNECTION + "reject if { sc0_conn_rate gt 20 } { sc0_conn_rate gt 30 }",
    CONNECTION + "reject when { src 10.0.0.0/8 }",
])
def test_a_rule_that_needs_two_things_at_once_is_lost(haproxy, rule):
    got = haproxy(listen(RATE + rule + "\n"))
    assert (got.state(rule)[0], keys_of(got), got.code) == ("lost", {}, 10)


def test_an_accept_that_needs_two_things_at_once_is_lost(haproxy):
    accept = CONTENT + "accept if { src 10.0.0.0/8 } " + TLS
    got = haproxy(listen(accept + "\n" + CONTENT + "reject\n"))
    assert (got.state(accept)[0], keys_of(got), got.code) == ("lost", {}, 10)


def test_a_limit_spares_who_is_not_in_its_rule(haproxy):
    rule = CONNECTION + "reject if { sc0_conn_rate gt 20 } !{ src 10.0.0.0/8 }"
    got = haproxy(listen(RATE + rule + "\n"))
    assert keys_of(got) == {"rate-limit-per-source": ["20/10s"], "limit-exempt": ["10.0.0.0/8"]}
    assert got.code == 0


@pytest.mark.parametrize("second", [
    "reject if { sc0_conn_cur gt 9 }", "reject if { sc0_conn_cur gt 9 } !{ src 10.9.0.0/16 }",
    "reject if { sc0_conn_rate gt 9 } !{ src 10.0.0.0/8 }"
])
def test_a_second_limit_with_other_exceptions_is_lost(haproxy, second):
    got = haproxy(listen(RATE + CONNECTION + "reject if { sc0_conn_rate gt 20 } !{ src 10.0.0.0/8 }\n" +
                         CONNECTION + second + "\n"))
    assert got.state(CONNECTION + second)[0] == "lost" and got.code == 10
    assert keys_of(got) == {"rate-limit-per-source": ["20/10s"], "limit-exempt": ["10.0.0.0/8"]}


def test_two_limits_with_the_same_exceptions_are_both_carried(haproxy):
    rules = [CONNECTION + f"reject if {{ sc0_conn_{what} }} !{{ src 10.0.0.0/8 }}\n"
             for what in ("rate gt 20", "cur gt 9")]
    got = haproxy(listen(RATE + "".join(rules)))
    assert keys_of(got) == {"rate-limit-per-source": ["20/10s"], "maxconn-per-source": ["9"],
                            "limit-exempt": ["10.0.0.0/8"]}
    assert got.code == 0


@pytest.mark.parametrize("rule, state", [("reject if { src 10.0.0.0/8 } { always_false }", "no-effect"),
                                         ("reject if { always_true } { src 10.0.0.0/8 }", "carried")])
def test_what_never_or_always_holds_decides_nothing(haproxy, rule, state):
    got = haproxy(listen(CONNECTION + rule + "\n"))
    assert got.state(CONNECTION + rule)[0] == state and got.code == 0


# ---- sequences ----------------------------------------------------------------------------------------


def states_of(got, rules):
    return [got.state(rule)[0] for rule in rules]


@pytest.mark.parametrize("rules, states, keys", [
    # Two lists that a client must be in both of.
    ([CONNECTION + "reject unless { src 10.0.0.0/8 }", CONNECTION + "reject unless { src 10.1.0.0/16 }"],
     ["carried", "lost"], {"allow-from": ["10.0.0.0/8"]}),
    ([CONNECTION + "reject if !{ src 10.0.0.0/8 } or !{ src 10.1.0.0/16 }"], ["lost"],
     {"allow-from": ["10.0.0.0/8"]}),
    ([CONNECTION + "accept if { src 10.0.0.0/8 }", CONNECTION + "reject",
      CONTENT + "reject if !{ src 192.168.0.0/16 }"], ["carried", "carried", "lost"],
     {"allow-from": ["10.0.0.0/8"]}),
    # What `required` and deny-from do not spare.
    ([CONTENT + "accept if { src 10.0.0.0/8 }", CONTENT + "reject if !" + TLS], ["lost", "carried"],
     {"sniff": ["tls timeout=5s required"]}),
    ([CONTENT + "accept if " + TLS, CONTENT + "reject if { src 10.0.0.0/8 }"], ["no-effect", "lost"], {}),
    ([CONTENT + "accept if " + TLS, CONTENT + "reject if !{ src 10.0.0.0/8 }"], ["no-effect", "lost"], {}),
    ([CONNECTION + "accept if { src 10.1.0.0/16 }", CONNECTION + "reject if { src 10.0.0.0/8 }"],
     ["different", "different"], {"deny-from": ["10.0.0.0/8"]}),
    # By either of two.
    ([CONTENT + "accept if { src 10.0.0.0/8 }", CONTENT + "accept if " + TLS, CONTENT + "reject"],
     ["no-effect", "no-effect", "lost"], {}),
    # Nothing behind an unconditional accept counts.
    ([CONNECTION + "accept", CONNECTION + "reject if { src 10.0.0.0/8 }"], ["no-effect", "no-effect"], {}),
    ([CONNECTION + "accept", CONTENT + "reject if { src 10.0.0.0/8 }"], ["no-effect", "carried"],
     {"deny-from": ["10.0.0.0/8"]}),
    ([CONTENT + "accept if WAIT_END", CONTENT + "reject if { src 10.0.0.0/8 }"], ["lost", "carried"],
     {"deny-from": ["10.0.0.0/8"]}),
    # What weir can say.
    ([CONNECTION + "accept if { src 10.0.0.0/8 }", CONNECTION + "reject if !{ src 10.9.0.0/16 }"],
     ["carried", "carried"], {"allow-from": ["10.0.0.0/8 10.9.0.0/16"]}),
    ([CONNECTION + "reject if !{ src 10.0.0.0/8 }", CONNECTION + "reject if { src 10.1.0.0/16 }",
      CONTENT + "reject if !" + TLS], ["carried", "carried", "carried"],
     {"allow-from": ["10.0.0.0/8"], "deny-from": ["10.1.0.0/16"], "sniff": ["tls timeout=5s required"]}),
    ([CONTENT + "accept if " + TLS, CONTENT + "reject"], ["carried", "carried"],
     {"sniff": ["tls timeout=5s required"]}),
])
def test_a_sequence(haproxy, rules, states, keys):
    got = haproxy(listen("\n".join(["tcp-request inspect-delay 5s", *rules]) + "\n"))
    assert (states_of(got, rules), keys_of(got)) == (states, keys)
    assert got.code == (10 if "lost" in states else 0)


# ---- rules of a backend -------------------------------------------------------------------------------


BACK = "defaults\n" + TIMES + "option redispatch\nbackend a\nserver s 10.0.0.1:80\n%s\n"
FRONT = "frontend %s\nbind 10.0.0.9:%d\n%s\n"
DENY = CONTENT + "reject if { src 10.9.0.0/16 }"


def test_a_backend_that_one_frontend_reaches_by_a_route_is_judged_nowhere(haproxy):
    got = haproxy(BACK % DENY + FRONT % ("f", 80, "default_backend a") +
                  FRONT % ("g", 81, "use_backend a if { dst_port 81 }\ndefault_backend a"))
    assert got.state(DENY)[0] == "lost" and got.code == 10
    assert keys_of(got, "frontend f") == keys_of(got, "frontend g") == {}


def test_a_backend_is_judged_in_all_frontends_that_lead_there_alone(haproxy):
    got = haproxy(BACK % DENY + FRONT % ("f", 80, "default_backend a") +
                  FRONT % ("g", 81, "default_backend a"))
    assert got.state(DENY)[0] == "carried" and got.code == 0
    assert keys_of(got, "frontend f") == keys_of(got, "frontend g") == {"deny-from": ["10.9.0.0/16"]}


def test_tls_that_a_backend_requires_is_required_by_its_frontend(haproxy):
    rule = CONTENT + "reject if !" + TLS
    got = haproxy(BACK % ("tcp-request inspect-delay 3s\n" + rule) + FRONT % ("f", 80, "default_backend a"))
    assert keys_of(got, "frontend f") == {"sniff": ["tls timeout=3s required"]}
    assert (got.state(rule)[0], got.code) == ("carried", 0)


def test_a_list_of_the_backend_beside_one_of_the_frontend_is_lost(haproxy):
    rule = CONTENT + "reject if !{ src 10.9.0.0/16 }"
    got = haproxy(BACK % rule + FRONT % ("f", 80, CONNECTION + "reject if !{ src 10.0.0.0/8 }\n"
                                         "default_backend a"))
    assert (got.state(rule)[0], keys_of(got, "frontend f")) == ("lost", {"allow-from": ["10.0.0.0/8"]})


# ---- what is counted ----------------------------------------------------------------------------------


def test_a_limit_of_what_is_counted_under_a_condition_is_for_all(haproxy):
    track = CONNECTION + "track-sc0 src if { src 10.0.0.0/8 }"
    limit = CONNECTION + "reject if { sc0_conn_cur gt 9 }"
    table = "stick-table type ip size 1k store conn_cur\n"
    got = haproxy(listen(table + track + "\n" + limit + "\n"))
    assert got.state(track)[0] == "lost" and got.code == 10
    got = haproxy(listen(table + track + "\n"))
    assert got.state(track)[0] == "no-effect" and got.code == 0


# ---- rules of a defaults section ----------------------------------------------------------------------


HANDED_DOWN = ("defaults one\n" + TIMES + "option redispatch\n%s\nfrontend f from one\nbind 10.0.0.9:80\n%s\n"
               "default_backend d\ndefaults two\n" + TIMES + "option redispatch\nbackend d from two\n"
               "server s 10.0.0.1:80\n")


def test_rules_of_a_defaults_section_come_first_and_know_its_acls(haproxy):
    rules = ["acl n src 10.1.0.0/16", CONNECTION + "reject if n",
             CONNECTION + "accept if { src 10.2.0.0/16 }"]
    got = haproxy(HANDED_DOWN % ("\n".join(rules), "acl n src 10.3.0.0/16\n" + CONNECTION + "reject"))
    assert keys_of(got, "frontend f") == {"allow-from": ["10.2.0.0/16"], "deny-from": ["10.1.0.0/16"]}
    assert states_of(got, rules) == ["carried"] * 3 and got.code == 0


def test_rules_of_a_defaults_section_hold_for_the_backends_that_use_it(haproxy):
    rule = CONTENT + "reject if { src 10.1.0.0/16 }"
    got = haproxy((HANDED_DOWN % ("", "")).replace("defaults two\n", "defaults two\n" + rule + "\n"))
    assert keys_of(got, "frontend f") == {"deny-from": ["10.1.0.0/16"]}
    assert got.state(rule)[0] == "carried" and got.code == 0


def test_a_rule_of_a_defaults_section_that_cannot_be_said_is_lost(haproxy):
    rule = CONNECTION + "reject if { src,ipmask(24) 10.1.2.0 }"
    got = haproxy(HANDED_DOWN % (rule, ""))
    assert got.state(rule)[0] == "lost" and got.code == 10


def test_more_rules_in_a_defaults_section_than_others_get_are_lost(haproxy):
    rules = [CONNECTION + f"reject if {{ src 10.1.{i}.0/24 }}" for i in range(65)]
    got = haproxy(HANDED_DOWN % ("\n".join(rules), ""))
    assert len(got.sections["frontend f"]["deny-from"]) == 64
    assert states_of(got, rules) == ["carried"] * 64 + ["lost"] and got.code == 10


# ---- many acl lines of one name -----------------------------------------------------------------------


def test_all_acl_lines_of_a_name_count_in_a_rule(haproxy):
    acls = [f"acl n src 10.{i // 250}.{i % 250}.0/24" for i in range(300)]
    got = haproxy(listen("\n".join(acls) + "\n" + CONNECTION + "reject if n\n"))
    assert " ".join(got.sections["listen a"]["deny-from"]).split() == [acl.split()[-1] for acl in acls]
    assert states_of(got, acls) == ["carried"] * 300 and got.code == 0


def test_all_acl_lines_of_a_name_count_in_a_route(haproxy):
    acls = [f"acl n req.ssl_sni n{i}.example" for i in range(40)]
    got = haproxy(ROUTED % ("\n".join(acls) + "\nuse_backend x if n { src 10.0.0.0/8 }"))
    names = ",".join(acl.split()[-1] for acl in acls)
    assert got.sections["frontend f"]["use-backend x"] == ["src=10.0.0.0/8 sni=" + names]
    assert states_of(got, acls) == ["carried"] * 40 and got.code == 0


def test_clients_in_none_of_many_acl_lines_are_refused(haproxy):
    acls = [f"acl n src 10.1.{i}.0/24" for i in range(40)]
    got = haproxy(listen("\n".join(acls) + "\n" + CONNECTION + "reject if !n\n"))
    assert " ".join(got.sections["listen a"]["allow-from"]).split() == [acl.split()[-1] for acl in acls]
    assert got.code == 0


def test_one_acl_line_that_cannot_be_said_loses_the_rule(haproxy):
    acls = [f"acl n src 10.1.{i}.0/24" for i in range(40)] + ["acl n src,ipmask(24) 10.2.0.0"]
    got = haproxy(listen("\n".join(acls) + "\n" + CONNECTION + "reject if n\n"))
    assert (got.state(CONNECTION + "reject")[0], keys_of(got)) == ("lost", {})


def test_more_acl_lines_of_a_name_than_a_rule_takes_are_lost(haproxy):
    acls = "".join(f"acl n src 10.{i // 250}.{i % 250}.0/24\n" for i in range(5000))
    got = haproxy(listen(acls + CONNECTION + "reject if n\n"))
    state, why = got.state(CONNECTION + "reject")
    assert state == "lost" and "-f FILE" in why and keys_of(got) == {}


# ---- conditions of stick and nbsrv --------------------------------------------------------------------


STICK_TABLE = "stick-table type ip size 1k expire 1m\n"


@pytest.mark.parametrize("line", [
    "stick on src if { src 10.0.0.0/8 }", "stick on src unless { src 10.0.0.0/8 }",
    "stick on src table other", "stick store-request src if { src 10.0.0.0/8 }"
])
def test_clients_that_are_kept_under_a_condition_are_lost(haproxy, line):
    got = haproxy(listen(STICK_TABLE + line + "\n"))
    assert got.state(line)[0] == "lost" and "sticky" not in got.sections["listen a"] and got.code == 10


@pytest.mark.parametrize("line", [
    "stick on dst if { src 10.0.0.0/8 }", "stick on dst table other", "stick on dst_port",
    "stick on dst,ipmask(24)"
])
def test_destinations_that_are_kept_otherwise_are_lost(haproxy, line):
    got = haproxy(listen(STICK_TABLE + line + "\n"))
    assert got.state(line)[0] == "lost" and "sticky" not in got.sections["listen a"] and got.code == 10


@pytest.mark.parametrize(("table", "lines", "words"), [
    ("size 1", "stick on dst", "size=1 expire=365d"),
    ("size 1000", "stick on dst table a", "size=1000 expire=365d"),
    ("size 1 expire 1d", "stick on dst", "size=1 expire=1d"),
    ("size 1 nopurge", "stick match dst\nstick store-request dst", "size=1 expire=365d"),
])
def test_clients_of_one_address_are_kept_at_one_server(haproxy, table, lines, words):
    got = haproxy(listen(f"stick-table type ip {table}\n{lines}\n"))
    assert got.sections["listen a"]["sticky"] == [f"dst {words}"] and got.code == 0
    for line in lines.split("\n"):
        assert got.state(line)[0] == "carried", line


@pytest.mark.parametrize("lines", [
    ("stick store-request dst",), ("stick match src",), ("stick match src", "stick store-request dst")
])
def test_what_only_stores_or_only_matches_keeps_nobody(haproxy, lines):
    got = haproxy(listen(STICK_TABLE + "\n".join(lines) + "\n"))
    assert "sticky" not in got.sections["listen a"]
    for line in lines:
        assert got.state(line)[0] == "no-effect", line


@pytest.mark.parametrize("line", ["stick on src", "stick on src table a"])
def test_clients_of_the_own_table_are_kept(haproxy, line):
    got = haproxy(listen(STICK_TABLE + line + "\n"))
    assert got.sections["listen a"]["sticky"] == ["src size=1k expire=1m"] and got.code == 0


def fallback_of(got):
    return got.sections["backend d"].get("fallback-backend")


@pytest.mark.parametrize("lines", [
    "use_backend x if { nbsrv(e) lt 1 }",
    "use_backend x if { nbsrv(d) lt 1 }\nuse_backend e if { src 10.0.0.0/8 }",
])
def test_a_fallback_of_more_clients_than_those_of_the_backend_is_lost(haproxy, lines):
    got = haproxy(ROUTED % lines + "backend e\nserver s 10.0.0.1:80\n")
    state, why = got.state("use_backend x")
    assert state == "lost" and "fallback-backend" in why and got.code == 10
    assert fallback_of(got) is None and "fallback-backend" not in got.sections["backend e"]


def test_a_fallback_after_the_other_routes_is_carried(haproxy):
    got = haproxy(ROUTED % ("use_backend e if { src 10.0.0.0/8 }\nuse_backend x if { nbsrv(d) lt 1 }") +
                  "backend e\nserver s 10.0.0.1:80\n")
    assert fallback_of(got) == ["x"] and got.state("use_backend x")[0] == "carried" and got.code == 0


OTHER = "frontend g\nbind 10.0.0.9:81\n%s\ndefault_backend d\n"


def test_a_fallback_for_clients_of_other_frontends_is_different(haproxy):
    got = haproxy(ROUTED % "use_backend x if { nbsrv(d) lt 1 }" + OTHER % "")
    assert fallback_of(got) == ["x"] and got.state("use_backend x")[0] == "different"


def test_a_fallback_of_two_frontends_is_written_once(haproxy):
    got = haproxy(ROUTED % "use_backend x if { nbsrv(d) lt 1 }" +
                  OTHER % "use_backend x if { nbsrv(d) eq 0 }")
    states = [line["state"] for line in got.report["lines"] if "nbsrv" in line["text"]]
    assert fallback_of(got) == ["x"] and states == ["different", "different"] and got.code == 0


def test_a_second_fallback_is_lost(haproxy):
    got = haproxy(ROUTED % "use_backend x if { nbsrv(d) lt 1 }" +
                  (OTHER % "use_backend e if { nbsrv(d) eq 0 }") + "backend e\nserver s 10.0.0.1:80\n")
    assert fallback_of(got) == ["x"] and got.state("use_backend e")[0] == "lost" and got.code == 10


@pytest.mark.parametrize("term, rate", [
    ("sc0_conn_rate gt 20", "20/10s"), ("sc1_conn_rate gt 20", "20/1m"), ("sc_conn_rate(1) gt 20", "20/1m"),
    ("sc_conn_rate(0,long) gt 20", "20/1m"), ("src_conn_rate(long) gt 20", "20/1m"),
    ("src_conn_rate gt 20", "20/10s"), ("sc2_conn_rate gt 20", None),
])
def test_a_rate_has_the_period_of_its_own_table(haproxy, term, rate):
    rule = CONNECTION + f"reject if {{ {term} }}"
    got = haproxy(listen("stick-table type ip size 1k store conn_rate(10s)\n" +
                         CONNECTION + "track-sc0 src\n" +
                         CONNECTION + f"track-sc1 src table long\n{rule}\n") +
                  "backend long\nstick-table type ip size 1k store conn_rate(1m)\n")
    assert got.sections["listen a"].get("rate-limit-per-source", [None]) == [rate]
    assert got.state(rule)[0] == ("no-effect" if rate is None else "different")


def test_the_same_list_for_connections_and_contents_is_carried(haproxy):
    rules = [CONNECTION + "reject if !{ src 10.0.0.0/8 }", CONTENT + "reject unless { src 10.0.0.0/8 }"]
    got = haproxy(listen("\n".join(rules) + "\n"))
    assert (states_of(got, rules), keys_of(got)) == (["carried"] * 2, {"allow-from": ["10.0.0.0/8"]})


def test_a_default_backend_that_is_written_is_carried(haproxy):
    got = haproxy(ROUTED % ("acl lan src 10.0.0.0/8\nuse_backend x if { req.ssl_sni b.example } !lan\n"
                            "use_backend e if " + TLS + " lan") + "backend e\nserver s 10.0.0.1:80\n")
    assert got.sections["frontend f"]["default-backend"] == ["d"]
    assert got.state("default_backend d")[0] == "carried" and got.code == 0


# ---- who is counted when a limit is judged ------------------------------------------------------------


TABLE = "stick-table type ip size 1k store conn_rate(10s),conn_cur\n"
RATE_KEY = "rate-limit-per-source"


@pytest.mark.parametrize("rules, key, value", [
    # The counter has the client itself only once it is tracked.
    ("connection reject if { src_conn_cur ge 3 }\nconnection track-sc0 src", "maxconn-per-source", "3"),
    ("connection track-sc0 src\nconnection reject if { src_conn_cur ge 3 }", "maxconn-per-source", "2"),
    ("connection reject if { src_conn_rate gt 9 }\nconnection track-sc0 src", RATE_KEY, "10/10s"),
    ("content track-sc1 src\nconnection reject if { src_conn_rate gt 9 }", RATE_KEY, "10/10s"),
    ("content reject if { src_conn_rate gt 9 }\nconnection track-sc1 src", RATE_KEY, "9/10s"),
    ("content reject if { sc1_conn_rate gt 9 }\nconnection track-sc1 src", RATE_KEY, "9/10s"),
])
def test_a_limit_counts_the_client_that_it_judges_if_haproxy_does(haproxy, rules, key, value):
    got = haproxy(listen(TABLE + "".join(f"tcp-request {rule}\n" for rule in rules.splitlines())))
    assert got.value("listen a", key) == value and got.code == 0


@pytest.mark.parametrize("rules", [
    "connection reject if { src_conn_cur ge 3 }",
    "connection reject if { sc0_conn_cur ge 3 }\nconnection track-sc0 src",
    "connection reject if { sc0_conn_rate gt 3 }\nconnection track-sc1 src",
])
def test_a_limit_of_what_nothing_counts_refuses_nobody(haproxy, rules):
    got = haproxy(listen(TABLE + "".join(f"tcp-request {rule}\n" for rule in rules.splitlines())))
    state, why = got.state("tcp-request connection reject")
    assert state == "no-effect" and "refuses nobody" in why
    assert "per-source" not in got.ini and got.code == 0


@pytest.mark.parametrize("store, term, limits", [
    ("conn_rate(10s)", "sc0_conn_cur gt 3", False), ("gpc0", "src_conn_cur gt 3", False),
    ("sess_rate(10s)", "sc0_conn_rate gt 3", False), ("conn_rate(10s)", "src_sess_rate gt 3", False),
    ("gpc0,conn_cur", "sc0_conn_cur gt 3", True), ("gpc0 store conn_cur", "sc0_conn_cur gt 3", True),
    ("gpc0,sess_rate(10s)", "sc0_sess_rate gt 3", True)
])
def test_a_limit_of_what_the_table_does_not_store_refuses_nobody(haproxy, store, term, limits):
    got = haproxy(listen(f"stick-table type ip size 1k store {store}\n{CONNECTION}track-sc0 src\n"
                         f"{CONNECTION}reject if {{ {term} }}\n"))
    state, why = got.state(CONNECTION + "reject")
    assert ("per-source" in got.ini, state == "no-effect", got.code) == (limits, not limits, 0)
    assert limits or "does not store" in why
