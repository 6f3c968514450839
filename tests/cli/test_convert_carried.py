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


# ---- rules about who sends a PROXY header -----------------------------------------------------------------


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


# ---- health checks ----------------------------------------------------------------------------------------


CHECKED = "listen a\nbind 10.0.0.9:80\nserver s 10.0.0.1:80 check\n"


def test_the_steps_of_a_section_replace_those_of_its_defaults(haproxy):
    got = haproxy(DEFAULTS + "option tcp-check\ntcp-check send PING\\r\\n\ntcp-check expect string +PONG\n" +
                  CHECKED + "tcp-check connect\ntcp-check expect string SSH\n")
    assert got.value("listen a", "check") == 'expect="SSH"'
    assert got.state("tcp-check send")[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("own, check", [
    ("option httpchk GET /y\n", "http GET /y"),
    ("option httpchk GET /y\nhttp-check expect status 204\n", "http GET /y expect=204"),
    ("http-check expect status 204\noption httpchk GET /y\n", "http GET /y expect=204"),
    ("", "http GET /x expect=404 soft-stop=404"),
])
def test_option_httpchk_begins_the_steps_anew(haproxy, own, check):
    got = haproxy(DEFAULTS + "option httpchk GET /x\nhttp-check expect status 404\n"
                  "http-check disable-on-404\n" + CHECKED + own)
    assert got.value("listen a", "check") == (check if "soft-stop" in check else check + " soft-stop=404")
    assert got.code == 0


@pytest.mark.parametrize("server, lines, ours, state", [
    ("check", "timeout check 10s\n", None, "carried"),
    ("check inter 9s", "timeout check 10s\n", "5s", "carried"),
    ("check inter 9s", "timeout check 10s\noption httpchk GET /\n", "10s", "different"),
    ("check inter 9s", "timeout check 3s\noption httpchk GET /\n", "3s", "carried"),
    ("check", "timeout check 3s\noption redis-check\n", "3s", "different"),
])
def test_the_time_of_a_check_is_not_that_of_its_connect(haproxy, server, lines, ours, state):
    got = haproxy(listen(lines, "server s 10.0.0.1:80 " + server))
    assert got.value("listen a", "check-timeout") == ours
    assert got.state("timeout check")[0] == state and got.code == 0


def test_the_port_of_a_connect_line_is_before_that_of_a_server(haproxy):
    got = haproxy(listen("option tcp-check\ntcp-check connect port 81\n",
                         "server s 10.0.0.1:80 check port 82"))
    assert got.value("listen a", "check") == "tcp port=81" and "check-port" not in got.ini


def test_a_port_in_what_a_check_sends_is_none_of_its_own(haproxy):
    got = haproxy(listen("option tcp-check\ntcp-check send x\\ port=1\\r\\n\n",
                         "server s 10.0.0.1:80 check port 82"))
    assert " check-port=82" in got.value("listen a", "server s") and got.code == 0


def test_a_check_of_mysql_without_a_user_is_different(haproxy):
    got = haproxy(listen("option mysql-check\n", "server s 10.0.0.1:80 check"))
    assert got.state("option mysql-check")[0] == "different"


def test_a_server_that_is_not_checked_is_not_observed(haproxy):
    got = haproxy(listen("", "server s 10.0.0.1:80 observe layer4 error-limit 1"))
    assert got.value("listen a", "observe") is None and got.code == 0
    got = haproxy(listen("server t 10.0.0.2:80\n",
                         "default-server observe layer4\nserver s 10.0.0.1:80 check"))
    assert got.value("listen a", "observe") == "connect"
    assert "holds for all servers" in got.state("server s")[1]


def test_an_agent_has_an_interval_of_its_own(haproxy):
    got = haproxy(listen("", "server s 10.0.0.1:80 check inter 30s agent-check agent-port 99"))
    assert got.value("listen a", "check-agent-interval") == "2s"
    got = haproxy(listen("", "server s 10.0.0.1:80 check agent-check agent-port 99"))
    assert got.value("listen a", "check-agent-interval") is None


# ---- names ------------------------------------------------------------------------------------------------


RESOLVERS = "resolvers r\nnameserver x 10.0.0.10:53\nnameserver y 10.0.0.1:53\n"
BY_R = "server s db.example:80 resolvers r"


def test_name_servers_are_asked_as_often_as_haproxy_does(haproxy):
    got = haproxy(listen(RESOLVERS, BY_R))
    assert got.sections["global"]["resolvers"] == ["10.0.0.10 10.0.0.1"]
    assert got.value("listen a", "resolve-interval") == "10s"
    got = haproxy(listen(RESOLVERS + "hold valid 5s\n", BY_R))
    assert got.value("listen a", "resolve-interval") == "5s"


def test_name_servers_that_nobody_asks_have_no_effect(haproxy):
    got = haproxy(listen(RESOLVERS, "server s db.example:80"))
    assert "global" not in got.sections and got.state("nameserver")[0] == "no-effect"
    assert "once, at its start" in notes(got) and got.state("server s")[0] == "carried"


def test_a_second_list_of_name_servers_is_lost(haproxy):
    got = haproxy(listen(RESOLVERS + "hold valid 5s\nresolvers consul\nnameserver c 127.0.0.1:8600\n"
                         "nameserver d 10.0.0.1\nhold valid 9s\n",
                         BY_R + "\nserver t db.consul:80 resolvers consul"))
    assert got.sections["global"]["resolvers"] == ["10.0.0.10 10.0.0.1"]
    assert got.state("nameserver c")[0] == "lost" and got.state("nameserver d")[0] == "carried"
    assert got.state("hold valid 9s")[0] == "different"


def test_a_name_that_the_system_looks_up_is_reported_beside_name_servers(haproxy):
    got = haproxy(listen(RESOLVERS, BY_R + "\nserver t other.example:80\nserver u 10.0.0.2:80"))
    assert [got.state(f"server {name}")[0] for name in "stu"] == ["carried", "different", "carried"]


def test_parse_resolv_conf_beside_name_servers_is_different(haproxy):
    assert haproxy(listen(RESOLVERS + "parse-resolv-conf\n", BY_R)).state("parse-")[0] == "different"
    assert haproxy(listen("resolvers r\nparse-resolv-conf\n", BY_R)).state("parse-")[0] == "carried"


def test_servers_of_one_name_are_different(haproxy):
    others = "\nserver t db.example:80 resolvers r\nserver u db.example:81 resolvers r"
    got = haproxy(listen(RESOLVERS, BY_R + others))
    assert [got.state(f"server {name}")[0] for name in "stu"] == ["carried", "different", "carried"]
    assert "dns://db.example:80" in got.state("server t")[1]
    got = haproxy(listen(RESOLVERS, BY_R + "\nserver t db.example:80 resolvers r resolve-opts allow-dup-ip"))
    assert got.state("server t")[0] == "carried"


@pytest.mark.parametrize("count, ours, state", [("3", "3", "carried"), ("1-4", "4", "carried"),
                                                ("5-10", "6", "different")])
def test_a_template_has_as_many_servers(haproxy, count, ours, state):
    got = haproxy(listen(RESOLVERS, f"server-template s {count} db.example:80 resolvers r"))
    assert got.value("listen a", "servers s") == f"dns://db.example:80 max={ours}"
    assert got.state("server-template")[0] == state


# ---- names of TLS -----------------------------------------------------------------------------------------


ROUTED = FRONT % ("use_backend c if { req.ssl_sni %s }", "backend c\nserver s 10.0.0.2:80")


@pytest.mark.parametrize("value", ["-i *.a.example", ".a.example", "-m str *.a.example",
                                   "-m end *.a.example"])
def test_a_pattern_that_haproxy_compares_letter_by_letter_has_no_effect(haproxy, value):
    got = haproxy(ROUTED % value)
    state, why = got.state("use_backend")
    assert state == "no-effect" and "letter by letter" in why
    assert "use-backend c" not in got.sections["frontend f"]


def test_the_names_beside_such_a_pattern_are_carried(haproxy):
    got = haproxy(ROUTED % "-i a.example *.a.example")
    assert got.value("frontend f", "use-backend c") == "sni=a.example"
    assert got.state("use_backend")[0] == "different"
    assert haproxy(ROUTED % "-m end .a.example").value("frontend f", "use-backend c") == "sni=*.a.example"


def test_a_pattern_in_a_map_of_whole_names_is_left_out(haproxy, tmp_path):
    (tmp_path / "m").write_text("a.example b\n*.a.example c\n.x.example c\n")
    got = haproxy((FRONT % ("use_backend %[req.ssl_sni,lower,map(M,b)]",
                            "backend c\nserver s 10.0.0.2:80")).replace("M", str(tmp_path / "m")))
    assert got.value("frontend f", "use-backend b") == "sni=a.example"
    assert "use-backend c" not in got.sections["frontend f"]
    assert got.state("use_backend")[0] == "different"


# ---- sections and servers ---------------------------------------------------------------------------------


def test_tcp6_is_ipv6(haproxy):
    got = haproxy(LISTEN.replace("10.0.0.9:80", "tcp6@:80 v6only"))
    assert got.sections["listen a"]["bind"] == ["[::]:80 v6only"] and got.code == 0


def test_enabled_takes_back_disabled(haproxy):
    got = haproxy("defaults\ndisabled\n" + LISTEN + "enabled\n"
                  "listen b\nbind 10.0.0.9:81\nserver s 10.0.0.1:80\n")
    assert "listen a" in got.sections and "listen b" not in got.sections


def test_a_unix_socket_of_a_server_is_below_the_chroot(haproxy):
    got = haproxy("global\nchroot /var/lib/haproxy\n" + listen("bind /run/a.sock\nserver t abns@t\n",
                                                                 "server s unix@/s.sock"))
    assert got.value("listen a", "server s") == "unix:/var/lib/haproxy/s.sock"
    assert got.value("listen a", "server t") == "unix:@t"
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80", "unix:/run/a.sock"]
    assert haproxy("global\nchroot /\n" + listen("", "server s /s.sock")).value("listen a", "server s") == \
        "unix:/s.sock"


@pytest.mark.parametrize("default, own, ours", [
    ("send-proxy-v2", "send-proxy", "v2"), ("send-proxy", "send-proxy-v2", "v2"),
    ("send-proxy-v2", "no-send-proxy", "v2"), ("send-proxy-v2", "no-send-proxy-v2", None),
    ("send-proxy", "no-send-proxy", None), ("send-proxy", "", "v1"),
])
def test_the_second_version_of_a_header_wins(haproxy, default, own, ours):
    got = haproxy(listen("", f"default-server {default}\nserver s 10.0.0.1:80 {own}"))
    assert got.value("listen a", "send-proxy") == ours


def test_random_has_the_bound_of_its_load(haproxy):
    got = haproxy(listen("balance random(3)\nhash-balance-factor 150\nserver t 10.0.0.2:80\n"))
    assert got.value("listen a", "balance") == "random(3) hash-balance-factor=150"
    assert got.state("hash-balance-factor")[0] == "carried"


def test_another_hash_is_noted(haproxy):
    assert "hash of a client" in notes(haproxy(listen("balance source\nserver t 10.0.0.2:80\n")))
    assert "hash of a client" not in notes(haproxy(listen("server t 10.0.0.2:80\n")))


@pytest.mark.parametrize("lines, state", [("nbproc 4\n", "different"), ("nbproc 1\n", "no-effect")])
def test_limits_of_several_processes_are_different(haproxy, lines, state):
    assert haproxy("global\n" + lines + LISTEN).state("nbproc")[0] == state


@pytest.mark.parametrize("kind", ["program x\ncommand /bin/true", "log-forward x\nbind 10.0.0.9:514"])
def test_what_a_section_of_another_kind_does_is_not_ours(haproxy, kind):
    got = haproxy(LISTEN + kind + "\n")
    assert [got.state(line)[0] for line in kind.splitlines()] == ["not-ours"] * 2


# ---- limits -----------------------------------------------------------------------------------------------


SHARED = (DEFAULTS + "backend t\nstick-table type ip size 1k expire 10s store conn_cur,conn_rate(10s)\n" +
          "".join(f"frontend {name}\nbind 10.0.0.9:{port}\n" + CONNECTION + "track-sc0 src table t\n" +
                  (CONNECTION + "reject if { sc0_conn_cur(t) gt 9 }\n") * limited + "default_backend b\n"
                  for name, port, limited in (("f", 80, True), ("g", 81, False))) +
          "backend b\nserver s 10.0.0.1:80\n")


def test_a_table_of_several_frontends_is_several(haproxy):
    state, why = haproxy(SHARED).state(CONNECTION + "reject")
    assert state == "different" and "alone" in why
    got = haproxy(SHARED.replace("track-sc0 src table t\ndefault", "accept\ndefault"))
    assert got.state(CONNECTION + "reject")[0] == "carried"


@pytest.mark.parametrize("bind, noted", [("[::]:80", True), (":80", False)])
def test_networks_of_ipv6_clients_are_noted(haproxy, bind, noted):
    text = listen("stick-table type ipv6 size 1k expire 5m\nstick on src\n").replace("10.0.0.9:80", bind)
    assert ("/64" in notes(haproxy(text))) == noted


def test_a_limit_that_admits_nobody_is_lost(haproxy):
    got = haproxy(listen(TABLE + CONNECTION + "reject if { sc0_conn_cur gt 0 }\n"))
    assert got.state(CONNECTION + "reject")[0] == "lost"
    assert got.value("listen a", "maxconn-per-source") is None


def test_refused_connections_that_haproxy_counts_are_reported(haproxy):
    rule, table = CONNECTION + "reject if { src_conn_rate gt 20 }\n", TABLE.splitlines(keepends=True)
    state, why = haproxy(listen(TABLE + rule)).state(CONNECTION + "reject")
    assert state == "different" and "keeps trying" in why
    assert haproxy(listen(table[0] + rule + table[1])).state(CONNECTION + "reject")[0] == "carried"


# ---- logs -------------------------------------------------------------------------------------------------


LOGGED = "global\nlog 10.0.0.8 local0\n" + LISTEN


def test_a_sample_of_logs_is_different(haproxy):
    got = haproxy(LOGGED.replace("local0", "sample 1:10 local0"))
    assert "log-sample" in got.state("log ")[1] and got.state("log ")[0] == "different"


def test_a_log_to_a_descriptor_is_lost(haproxy):
    got = haproxy(LOGGED.replace("10.0.0.8", "fd@3"))
    assert got.state("log fd@3")[0] == "lost" and "global" not in got.sections


def test_a_section_without_logs_is_reported(haproxy):
    without = "HAProxy logs no sessions of a section without 'log'"
    assert without in notes(haproxy(LOGGED)) and without not in notes(haproxy(LOGGED + "log global\n"))
    got = haproxy(LOGGED + "log global\nno log\n")
    assert got.state("no log")[0] == "different"
    assert haproxy(LOGGED + "no log\nlog global\n").state("no log")[0] == "no-effect"


@pytest.mark.parametrize("first, second, ours", [("option tcplog", 'log-format "%ci %s"', '"{%ci} {%s}"'),
                                                 ('log-format "%ci %s"', "option tcplog", "tcplog"),
                                                 ('log-format "%ci %s"', "option httplog", "tcplog")])
def test_the_last_format_counts(haproxy, first, second, ours):
    for text in (f"defaults\n{first}\n" + LISTEN + f"{second}\n", LISTEN + f"{first}\n{second}\n"):
        got = haproxy("global\nlog 10.0.0.8 local0\n" + text + "log global\n")
        assert got.sections["global"]["log"][0].endswith("format=" + ours)
        assert got.state(first)[0] == "no-effect" and got.state(second)[0] == "carried"


def test_a_second_format_is_different(haproxy):
    got = haproxy(LOGGED + 'log global\noption tcplog\nlisten b\nbind 10.0.0.9:81\nserver s 10.0.0.1:80\n' +
                  TIMES + 'log global\nlog-format "%ci %s"\n')
    assert got.state("option tcplog")[0] == "different"


@pytest.mark.parametrize("option", ["logasap", "log-separate-errors", "independent-streams"])
def test_an_option_that_weir_lacks_is_different(haproxy, option):
    assert haproxy(listen(f"option {option}\n")).state(f"option {option}")[0] == "different"
    assert haproxy(listen(f"no option {option}\n")).state(f"no option {option}")[0] == "no-effect"


# ---- waiting ----------------------------------------------------------------------------------------------


def test_rules_without_an_inspect_delay_do_not_wait(haproxy):
    text = FRONT % ("tcp-request content accept if { req.ssl_hello_type 1 }\n"
                    "use_backend c if { req.ssl_sni -i a.example }%s", "backend c\nserver s 10.0.0.2:80")
    assert "inspect-delay" in notes(haproxy(text % ""))
    assert "inspect-delay" not in notes(haproxy(text % "\ntcp-request inspect-delay 5s"))


@pytest.mark.parametrize("route, state", [("use_backend stats if { src 10.0.0.1 }", "lost"),
                                          ("use_backend stats if { req.ssl_sni a.b }", "lost"),
                                          ("use_backend %[req.ssl_sni,lower]", "different")])
def test_a_page_that_clients_are_sent_to_has_its_own_address(haproxy, route, state):
    got = haproxy("listen stats\nmode http\nbind :8404\nstats enable\n"
                  "frontend f\nmode tcp\nbind :80\ntcp-request inspect-delay 5s\n"
                  f"tcp-request content accept if {{ req.ssl_hello_type 1 }}\n{route}\ndefault_backend b.c\n"
                  "backend b.c\nmode tcp\nserver s 10.0.0.1:80\n")
    assert got.state("use_backend")[0] == state and "[stats]" in got.ini
    assert got.value("frontend f", "default-backend") == "b.c"
