# SPDX-License-Identifier: MIT
"""`weir convert` and what real HAProxy files have: names, checks that log in, rules, log formats.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import os
import subprocess

import pytest

from test_convert import TIMES, WEIR, listen

FRONT = ("defaults\n" + TIMES + "option redispatch\nfrontend f\nbind 10.0.0.9:443\n%s"
         "backend b\nserver s 10.0.0.1:80\n")


def weir_takes(got, folder, **variables):
    path = folder / "weir.ini"
    path.write_text(got.ini)
    done = subprocess.run([WEIR, "-c", path], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **variables})
    return done.returncode == 0


# ---- names --------------------------------------------------------------------------------------------


def test_two_servers_of_one_name_get_two(haproxy, tmp_path):
    got = haproxy(listen(server="server s 10.0.0.1:80\nserver s 10.0.0.2:80\nserver s 10.0.0.3:80"))
    section = got.sections["listen a"]
    assert [section[f"server {name}"] for name in ("s", "s-2", "s-3")] == [
        ["10.0.0.1:80"], ["10.0.0.2:80"], ["10.0.0.3:80"]]
    assert got.state("server s 10.0.0.1:80")[0] == "carried"
    state, why = got.state("server s 10.0.0.3:80")
    assert state == "different" and "'s-3'" in why
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_set_and_a_server_of_one_name_get_two(haproxy):
    got = haproxy(listen(server="server-template s 3 x.example:80\nserver s 10.0.0.2:80"))
    assert set(got.sections["listen a"]) >= {"servers s", "server s-2"}


def test_a_long_name_is_cut(haproxy, tmp_path):
    name = "n" * 70
    got = haproxy(listen(server=f"server {name}1 10.0.0.1:80\nserver {name}2 10.0.0.2:80"))
    assert [key for key in got.sections["listen a"] if key.startswith("server ")] == [
        "server " + "n" * 59, "server " + "n" * 59 + "-2"]
    assert got.state(f"server {name}2")[0] == "different" and got.code == 0 and weir_takes(got, tmp_path)


def test_a_colon_in_a_name_becomes_a_hyphen(haproxy, tmp_path):
    got = haproxy(FRONT.replace("backend b", "backend b:1").replace("server s", "server s:80") %
                  "use_backend b:1 if { src 10.1.0.0/16 }\ndefault_backend b:1\n")
    assert got.sections["backend b-1"]["server s-80"] == ["10.0.0.1:80"]
    assert got.sections["frontend f"]["use-backend b-1"] == ["src=10.1.0.0/16"]
    assert got.sections["frontend f"]["default-backend"] == ["b-1"]
    assert got.state("server s:80")[0] == "different" and got.code == 0 and weir_takes(got, tmp_path)


# ---- logs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("facility, ours", [("alert", "alert"), ("ntp", "ntp"), ("audit", "audit"),
                                            ("cron2", "cron2"), ("auth2", "authpriv"), ("kern", "kern")])
def test_every_facility_of_haproxy_is_carried(haproxy, tmp_path, facility, ours):
    got = haproxy(f"global\nlog 127.0.0.1 {facility} notice\n" + listen("log global\n"))
    assert got.value("global", "log") == f"syslog:127.0.0.1 facility={ours} level=notice"
    assert got.state("log 127.0.0.1")[0] == "carried" and got.code == 0 and weir_takes(got, tmp_path)


# ---- sections -----------------------------------------------------------------------------------------


def test_a_backend_without_servers_turns_its_clients_away(haproxy, tmp_path):
    got = haproxy((FRONT % "use_backend none if { src 10.1.0.0/16 }\ndefault_backend b\n") +
                  "backend none\ntcp-request content reject\n")
    assert got.sections["frontend f"]["use-backend none"] == ["src=10.1.0.0/16"]
    assert "backend none" in got.sections
    assert got.state("tcp-request content reject")[0] == "carried"
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_backend_that_is_only_a_table_is_left_out(haproxy):
    got = haproxy((FRONT % "default_backend b\n") + "backend t\nstick-table type ip size 1m\n")
    assert "backend t" not in got.sections
    assert got.state("backend t")[0] == "no-effect" and got.code == 0


def test_a_frontend_that_leads_nowhere_is_left_out(haproxy):
    got = haproxy((FRONT % "default_backend b\n") + "frontend g\nbind :81\n")
    assert "frontend g" not in got.sections
    assert got.state("frontend g") == (
        "no-effect", "no backend: HAProxy closes every client, and nothing listens there now")
    assert got.code == 0


def test_a_frontend_of_tcp_with_lines_of_a_page_still_forwards(haproxy, tmp_path):
    got = haproxy(FRONT % "mode tcp\nstats enable\nstats uri /s\ndefault_backend b\n")
    assert got.sections["frontend f"]["default-backend"] == ["b"] and "stats" not in got.sections
    assert got.state("stats enable")[0] == "no-effect" and got.code == 0 and weir_takes(got, tmp_path)


# ---- servers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, ours, state", [
    ("minconn 5", "maxconn=5", "carried"), ("minconn 5 maxconn 5", "maxconn=5", "carried"),
    ("minconn 5 maxconn 50", "maxconn=50", "different"),
    ("send-proxy-v2-ssl-cn", None, "carried"), ("send-proxy-v2-ssl", None, "carried"),
])
def test_words_of_a_server(haproxy, words, ours, state):
    got = haproxy(listen(server="server s 10.0.0.1:80 " + words))
    if ours is None:
        assert got.value("listen a", "send-proxy") == "v2"
    else:
        assert got.sections["listen a"]["server s"] == ["10.0.0.1:80 " + ours]
    assert got.state("server s")[0] == state and got.code == 0


@pytest.mark.parametrize("address, ours", [
    ("10.0.0.1:+1000", "10.0.0.1:1080"), ("10.0.0.1:-80", None), ("10.0.0.1:-79", "10.0.0.1:1"),
    ("10.0.0.1:+0", "10.0.0.1:*"), ("10.0.0.1:+65500", None),
])
def test_a_port_beside_that_of_the_clients(haproxy, address, ours):
    got = haproxy(listen("server t 10.0.0.3:1\n", server="server s " + address))
    assert got.sections["listen a"].get("server s") == ([ours] if ours is not None else None)
    assert got.state("server s")[0] == ("carried" if ours is not None else "lost")


@pytest.mark.parametrize("more, ours", [
    ("", "10.0.0.1:1443"), ("frontend g\nbind :443\ndefault_backend b\n", "10.0.0.1:1443"),
    ("frontend g\nbind :444\ndefault_backend b\n", None),
    ("frontend g\nbind :444\ndefault_backend z\n", "10.0.0.1:1443"),
    ("frontend g\nbind :443-444\nuse_backend b if TRUE\n", None),
])
def test_a_port_beside_that_of_the_clients_of_all_frontends(haproxy, more, ours):
    got = haproxy((FRONT % "default_backend b\n").replace("10.0.0.1:80", "10.0.0.1:+1000") + more +
                  "backend z\nserver s 10.0.0.2:80\n")
    assert got.sections.get("backend b", {}).get("server s") == ([ours] if ours is not None else None)


TRACKED = listen("option redis-check\n",
                 "server m 10.0.0.1:80 check inter 3s fall 7\nserver n x.example:80 check")


def tracking(server, name="b", port=81):
    return (listen(server="server t " + server).replace("listen a", "listen " + name)
            .replace("9:80", f"9:{port}"))


@pytest.mark.parametrize("server, ours", [
    ("10.0.0.1:81 track a/m", "10.0.0.1:81 check-port=80"), ("10.0.0.1:80 track a/m", "10.0.0.1:80"),
    ("10.0.0.2:80 track a/m", "10.0.0.2:80 check-addr=10.0.0.1"),
    ("x.example:9 track a/n", "x.example:9 check-port=80"),
])
def test_a_server_that_tracks_another_has_its_check(haproxy, tmp_path, server, ours):
    got = haproxy(TRACKED + tracking(server))
    assert got.sections["listen b"]["server t"] == [ours]
    assert got.value("listen b", "check") == got.value("listen a", "check") == "redis"
    assert got.value("listen b", "check-share") == got.value("listen a", "check-share") == "on"
    if "a/m" in server:
        assert got.value("listen b", "check-interval") == "3s" and got.value("listen b", "check-fall") == "7"
    state, why = got.state("server t")
    assert state == "different" and "maintenance" in why and got.code == 0 and weir_takes(got, tmp_path)


def test_a_server_tracks_one_that_tracks_one(haproxy):
    got = haproxy(TRACKED + tracking("10.0.0.1:81 track a/m") + tracking("10.0.0.1:82 track b/t", "c", 82))
    assert got.sections["listen c"]["server t"] == ["10.0.0.1:82 check-port=80"]


@pytest.mark.parametrize("server", ["10.0.0.1:81 track a/z", "10.0.0.1:81 track z/m", "10.0.0.1:81 track t",
                                    "10.0.0.2:81 track a/n", "/run/x track a/m"])
def test_a_server_that_cannot_track_is_lost(haproxy, server):
    got = haproxy(TRACKED + tracking(server))
    assert got.state("server t")[0] == "lost" and got.code == 10


# ---- binds --------------------------------------------------------------------------------------------


def test_a_unix_socket_does_without_words_of_tcp(haproxy, tmp_path):
    got = haproxy(listen().replace("bind 10.0.0.9:80", "bind abns@x accept-proxy tfo defer-accept v6only"))
    assert got.sections["listen a"]["bind"] == ["unix:@x accept-proxy"]
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_an_address_that_the_section_has_already_is_not_bound_again(haproxy, tmp_path):
    got = haproxy(listen("bind 10.0.0.9:200-300\nbind 10.0.0.9:250\nbind 10.0.0.9:301\n"))
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80", "10.0.0.9:200-300", "10.0.0.9:301"]
    assert got.state("bind 10.0.0.9:250")[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("bind, ours", [("*:443", "0.0.0.0:443"), ("[::]:443", "[::]:443"),
                                        ("*:400-500", "0.0.0.0:400-500")])
def test_one_address_may_stand_beside_all_of_its_port(haproxy, tmp_path, bind, ours):
    defaults, front = (FRONT % "default_backend b\n").split("frontend f")
    wide = f"frontend g\nbind {bind}\ndefault_backend b\n"
    for text in (f"{defaults}{wide}frontend f{front}", f"{defaults}frontend f{front}{wide}"):
        got = haproxy(text)
        assert got.sections["frontend f"]["bind"] == ["10.0.0.9:443"]
        assert got.sections["frontend g"]["bind"] == [ours]
        assert {got.state(f"bind {x}")[0] for x in (bind, "10.0.0.9:443")} == {"carried"}
        assert got.code == 0 and weir_takes(got, tmp_path)


def test_an_address_of_two_frontends_is_lost(haproxy):
    got = haproxy((FRONT % "default_backend b\n") + "frontend g\nbind 10.0.0.9:400-500\ndefault_backend b\n")
    state, why = got.state("bind 10.0.0.9:400-500")
    assert state == "lost" and "this address is already bound" in why and got.code == 10


def test_the_backlog_of_a_section_is_that_of_its_binds(haproxy):
    got = haproxy(listen("bind 10.0.0.9:81 backlog 9\nbacklog 77\n"))
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80 backlog=77", "10.0.0.9:81 backlog=9"]
    assert got.state("backlog 77")[0] == "carried" and got.code == 0


# ---- rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [
    "tcp-request content accept if HTTP", "tcp-request content accept if { req.payload(0,3) -m found }",
    "tcp-request content accept if WAIT_END", "tcp-request content accept if { hdr(x) y }",
    "tcp-request content capture req.ssl_sni len 9", "tcp-response inspect-delay 5s",
    "tcp-response content accept if { res.ssl_hello_type 2 }"
])
def test_what_refuses_nobody_has_no_effect(haproxy, rule):
    got = haproxy(listen("tcp-request inspect-delay 5s\n" + rule + "\n"))
    assert got.state(rule)[0] == "no-effect" and got.code == 0
    got = haproxy((FRONT % "use_backend b if { src 10.1.0.0/16 }\n") + rule + "\n")
    assert got.state(rule)[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("rules", [
    ["tcp-request content accept if { hdr(x) y }", "tcp-request content reject"],
    ["tcp-response content accept if { res.ssl_hello_type 2 }", "tcp-response content reject"]
])
def test_what_spares_clients_from_a_refusal_is_lost(haproxy, rules):
    got = haproxy(listen("\n".join(rules) + "\n"))
    assert got.state(rules[0])[0] == "lost" and got.code == 10


def test_a_connection_that_is_accepted_is_not_spared_what_looks_at_its_bytes(haproxy):
    got = haproxy(listen("tcp-request connection accept if { src 10.1.0.0/16 }\n"
                         "tcp-request content reject if { src 10.0.0.0/8 }\n"))
    assert got.state("tcp-request connection accept")[0] == "no-effect"
    assert got.sections["listen a"]["deny-from"] == ["10.0.0.0/8"] and got.code == 0


@pytest.mark.parametrize("line, state", [
    ("bind-process 1", "no-effect"), ("option persist", "no-effect"), ("declare capture request len 9",
                                                                       "no-effect"),
    ("filter trace", "no-effect"), ("filter compression", "not-ours"), ("filter spoe engine x", "lost"),
    ("balance uri", "no-effect"), ("balance hdr(host)", "no-effect"), ("option socket-stats", "no-effect"),
])
def test_what_only_looks_like_a_rule(haproxy, line, state):
    got = haproxy(listen(line + "\n"))
    assert got.state(line)[0] == state and got.code == (10 if state == "lost" else 0)


def test_option_persist_keeps_clients_only_where_a_table_does(haproxy):
    got = haproxy(listen("option persist\nstick-table type ip size 1k expire 1m\nstick on src\n"))
    assert got.state("option persist")[0] == "lost"


# ---- routes -------------------------------------------------------------------------------------------


ROUTES = ("defaults\n" + TIMES + "frontend f\nbind 10.0.0.9:443\nacl lan src 10.0.0.0/8\n"
          "acl one req.ssl_sni a.example\nacl two req.ssl_sni b.example\n%s\n" +
          "".join(f"backend {name}\nserver s 10.0.0.1:80\n" for name in "dxy"))


def routes_of(got):
    """The lines of the frontend that choose a backend, in their order."""
    lines = got.ini.split("[frontend f]\n")[1].split("\n\n")[0].splitlines()
    return [" ".join(line.replace("use-backend ", "").split()) for line in lines
            if line.startswith(("use-backend ", "default-backend"))]


@pytest.mark.parametrize("lines, ours", [
    ("use_backend x if !lan\ndefault_backend d", ["d = src=10.0.0.0/8", "default-backend = x"]),
    ("use_backend x unless lan\ndefault_backend d", ["d = src=10.0.0.0/8", "default-backend = x"]),
    ("use_backend x if !lan one\ndefault_backend d",
     ["d = src=10.0.0.0/8 sni=a.example", "x = sni=a.example", "default-backend = d"]),
    ("use_backend x unless lan one\ndefault_backend d",
     ["d = src=10.0.0.0/8 sni=a.example", "x = src=10.0.0.0/8", "default-backend = x"]),
    ("use_backend x if !lan !one\nuse_backend y if { dst_port 444 }\ndefault_backend d",
     ["y = src=10.0.0.0/8 dst-port=444", "d = src=10.0.0.0/8", "y = dst-port=444 sni=a.example",
      "d = sni=a.example", "default-backend = x"]),
    ("use_backend x if !one\nuse_backend y if one lan\ndefault_backend d",
     ["y = src=10.0.0.0/8 sni=a.example", "d = sni=a.example", "default-backend = x"]),
    ("use_backend x if !one\nuse_backend y if two\ndefault_backend d",
     ["d = sni=a.example", "default-backend = x"]),
    ("use_backend x if one !two\ndefault_backend d", ["x = sni=a.example", "default-backend = d"]),
    ("use_backend x if !one\nuse_backend y if !one lan\ndefault_backend d",
     ["d = sni=a.example", "default-backend = x"]),
])
def test_clients_outside_a_list_come_after_those_inside(haproxy, tmp_path, lines, ours):
    got = haproxy(ROUTES % lines)
    assert routes_of(got) == ours
    assert got.code == 0 and weir_takes(got, tmp_path)


@pytest.mark.parametrize("lines", [
    "use_backend x if !lan",
    "use_backend x if !one\nuse_backend y if { req.ssl_sni -m end .example }\ndefault_backend d",
    "use_backend x if !lan\nuse_backend y if { hdr(host) a }\ndefault_backend d",
    "use_backend x if !lan\nuse_backend %[src] if lan\ndefault_backend d",
])
def test_what_cannot_be_said_of_those_inside_is_lost(haproxy, lines):
    got = haproxy(ROUTES % lines)
    assert got.state("use_backend x") == ("lost",
                                          "weir has no 'not': write the other cases, in their order")
    assert got.code in (1, 10)


def test_a_variable_is_the_sample_that_a_rule_puts_there(haproxy):
    rule = "tcp-request content set-var(sess.n) req.ssl_sni"
    got = haproxy("global\nlog /dev/log local0\n" + ROUTES % (
        rule + "\nuse_backend x if { var(sess.n) -m end .a.example }\nacl y var(sess.n),lower c.example\n"
        'use_backend y if y\nlog-format "%ci %[var(sess.n)]"\ndefault_backend d'))
    assert routes_of(got) == ["x = sni=*.a.example", "y = sni=c.example", "default-backend = d"]
    assert got.value("global", "log").endswith('format="{%ci} {sni}"')
    assert got.state(rule)[0] == "no-effect" and got.code == 0, got.report


@pytest.mark.parametrize("rules", [
    "tcp-request content set-var(sess.n) req.ssl_sni if lan",
    "tcp-request content set-var(sess.m) req.ssl_sni",
    "tcp-request content set-var(sess.n) req.ssl_sni\ntcp-request content set-var(sess.n) src",
    "tcp-request content set-var(sess.n) rand(9)",
])
def test_a_variable_that_may_be_something_else_decides_nothing(haproxy, rules):
    got = haproxy(ROUTES % (rules + "\nuse_backend x if { var(sess.n) a.example }\ndefault_backend d"))
    assert got.state("use_backend x")[0] == "lost" and got.code == 10


def test_conditions_on_terminated_tls_are_not_ours(haproxy):
    got = haproxy(ROUTES % ("use_backend x if { ssl_fc_alpn h2 } { hdr(host) a }\n"
                            "use_backend y if !{ ssl_fc } lan\ndefault_backend d"))
    assert got.state("use_backend x")[0] == "not-ours"
    assert routes_of(got) == ["y = src=10.0.0.0/8", "default-backend = d"]
    got = haproxy(ROUTES % "use_backend x if { always_false }\ndefault_backend d")
    assert got.state("use_backend x") == ("no-effect", "it never holds") and got.code == 0


# ---- checks -------------------------------------------------------------------------------------------


REDIS = ("option tcp-check\ntcp-check send AUTH\\ sesame\\r\\n\ntcp-check expect string +OK\n"
         "tcp-check send info\\ replication\\r\\n\ntcp-check expect string role:master\n")


def test_a_check_that_logs_in_has_its_password_in_a_variable(haproxy, tmp_path):
    got = haproxy(listen(REDIS, "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == (
        'send "AUTH ${CHECK_PASSWORD}\\r\\n" expect="+OK" '
        'send "info replication\\r\\n" expect="role:master"')
    state, why = got.state("tcp-check send AUTH")
    assert state == "different" and "CHECK_PASSWORD" in why and "EnvironmentFile=" in why
    assert "sesame" not in got.process.stdout + got.report_path.read_text() and got.code == 0
    assert not weir_takes(got, tmp_path)
    assert weir_takes(got, tmp_path, CHECK_PASSWORD="sesame")


def test_two_passwords_are_two_variables(haproxy):
    both = listen(REDIS, "server s 10.0.0.1:80 check")
    for other, name in (("sesame", "CHECK_PASSWORD}"), ("open", "CHECK_PASSWORD_2}")):
        got = haproxy(both + both.replace("listen a", "listen b").replace("9:80", "9:81")
                      .replace("sesame", other))
        assert name in got.value("listen b", "check"), got.ini


def test_a_variable_of_the_file_stays_the_password(haproxy):
    got = haproxy(listen(REDIS.replace("AUTH\\ sesame\\r\\n", '"AUTH ${PW}\\r\\n"'),
                         "server s 10.0.0.1:80 check"))
    assert '"AUTH ${PW}\\r\\n"' in got.value("listen a", "check")
    assert "CHECK_PASSWORD" not in got.ini


@pytest.mark.parametrize("line, check", [
    ("http-check connect port 9200", "http GET /x port=9200"),
    ("http-check connect default linger", "http GET /x"),
    ("http-check connect ssl sni a.example", "https GET /x sni=a.example verify=system"),
    ("http-check send-state", "http GET /x"), ("http-check comment y", "http GET /x"),
])
def test_a_connect_line_of_an_http_check(haproxy, line, check):
    got = haproxy(listen("option httpchk GET /x\n" + line + "\n", "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == check and got.code == 0


@pytest.mark.parametrize("headers, state", [
    (["Host: a.example"], "carried"), (["Host: a.example", "Connection: close"], "carried"),
    (["User-Agent: x", "Host: a.example"], "different"), (["Host: a.example", "X-Y: z"], "lost"),
    (["Host: a.example", "Authorization: Basic eHg="], "lost"),
])
def test_headers_of_an_http_check(haproxy, headers, state):
    old = "".join("\\r\\n" + header.replace(" ", "\\ ") for header in headers)
    new = "".join(f" hdr {header.replace(': ', ' ', 1).replace('Basic ', 'Basic')}" for header in headers)
    for lines, begin in ((f"option httpchk GET /x HTTP/1.1{old}\n", "option httpchk"),
                         (f"option httpchk\nhttp-check send meth GET uri /x ver HTTP/1.1{new}\n",
                          "http-check send")):
        got = haproxy(listen(lines, "server s 10.0.0.1:80 check"))
        if "Authorization" not in headers[-1]:
            assert got.value("listen a", "check") == "http GET /x host=a.example"
        assert got.state(begin)[0] == state, got.report
        assert "eHg=" not in got.process.stdout + got.report_path.read_text()


def test_a_stray_byte_behind_a_time_is_what_haproxy_ignores(haproxy):
    got = haproxy(listen(server="server s 10.0.0.1:80 check inter 7s["))
    assert got.value("listen a", "check-interval") == "7s" and got.code == 0
    assert haproxy(listen(server="server s 10.0.0.1:80 check inter x7s")).code == 10


@pytest.mark.parametrize("line", ["http-check connect addr 10.0.0.5", "http-check connect via-socks4",
                                  "http-check connect port 80\nhttp-check connect port 81"])
def test_a_check_has_one_connection_to_its_server(haproxy, line):
    got = haproxy(listen("option httpchk GET /x\n" + line + "\n", "server s 10.0.0.1:80 check"))
    assert got.state(line.rsplit("\n", maxsplit=1)[-1])[0] == "lost" and got.code == 10


def test_a_connect_over_tls_alone_is_a_tls_check(haproxy):
    got = haproxy(listen("option tcp-check\ntcp-check connect ssl\n", "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == "tls verify=system" and got.code == 0
    got = haproxy(listen("option tcp-check\ntcp-check connect ssl\ntcp-check expect string +OK\n",
                         "server s 10.0.0.1:80 check"))
    assert got.state("tcp-check connect ssl")[0] == "lost"


def test_a_check_of_this_machine_has_its_address(haproxy):
    got = haproxy(listen(server="server s 10.0.0.1:80 check addr localhost port 9"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:80 check-addr=127.0.0.1 check-port=9"]


def test_a_name_server_may_have_an_ipv6_address(haproxy):
    got = haproxy(listen(server="server s db.example:80 resolvers r") +
                  "resolvers r\nnameserver a [fd00::3]:53\nnameserver b [fd00::4]:54\n")
    assert got.sections["global"]["resolvers"] == ["fd00::3 [fd00::4]:54"] and got.code == 0


# ---- logs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, ours, state", [
    ("%ci:%cp [%t] %ft %b/%s %Tw/%Tc/%Tt %B %ts",
     "{%ci}:{%cp} [{%t}] {%ft} {%b}/{%s} {%Tw}/{%Tc}/{%Tt} {%B} {%ts}", "carried"),
    ("%{+Q}o %f %[req.ssl_sni] %[src] 100%%", " {%ft} {sni} {%ci} 100%", "carried"),
    ("{%ci}", "{{{%ci}}}", "carried"), ("%ci %hr %ST", "{%ci} - -", "different"),
    ("%ci %[rand(9)]", "{%ci} -", "different"),
])
def test_a_log_format_is_carried_over(haproxy, tmp_path, text, ours, state):
    got = haproxy("global\nlog /dev/log local0\n" + listen(f'log global\nlog-format "{text}"\n'))
    assert got.value("global", "log") == f'syslog:/dev/log facility=local0 format="{ours}"'
    assert got.state("log-format")[0] == state and got.code == 0 and weir_takes(got, tmp_path)


@pytest.mark.parametrize("text", ["%hr", "x", "%ci" + "x" * 600])
def test_a_log_format_without_a_field_is_left_out(haproxy, text):
    got = haproxy("global\nlog /dev/log local0\n" + listen(f'log-format "{text}"\n'))
    assert got.value("global", "log") == "syslog:/dev/log facility=local0"
    assert got.state("log-format")[0] == "different" and got.code == 0


def test_there_is_one_log_format(haproxy):
    got = haproxy("global\nlog /dev/log local0\n" + listen('log-format "%ci"\n') +
                  listen('log-format "%cp"\n').replace("listen a", "listen b").replace("9:80", "9:81"))
    assert got.state('log-format "%ci"')[0] == "carried"
    assert got.state('log-format "%cp"')[0] == "different" and "{%ci}" in got.value("global", "log")


@pytest.mark.parametrize("line, state", [
    ("log-tag x", "different"), ("log-send-hostname", "no-effect"), ("log-send-hostname x", "different"),
    ("stats maxconn 9", "no-effect")])
def test_what_log_lines_begin_with(haproxy, line, state):
    got = haproxy("global\n" + line + "\n" + listen())
    assert got.state(line)[0] == state and got.code == 0


def test_braces_of_a_log_format_are_no_template(haproxy):
    assert haproxy(listen('log-format "{%ci"\n')).code == 0
    assert haproxy(listen("{% for x in y %}\n")).code == 1


# ---- names of TLS clients -----------------------------------------------------------------------------


@pytest.mark.parametrize("match, ours, state", [
    (r"-m reg ^a\.example$", "a.example", "carried"),
    (r"-m reg ^(www|api)\.a\.example$", "www.a.example,api.a.example", "carried"),
    (r"-m reg ^(www\.)?a\.example$", "www.a.example,a.example", "carried"),
    (r"-m reg ^s[1-3]\.a\.(com|org)$",
     "s1.a.com,s1.a.org,s2.a.com,s2.a.org,s3.a.com,s3.a.org", "carried"),
    (r"-m reg ^.*\.(a|b)\.example$", "*.a.example,*.b.example", "carried"),
    (r"-m reg \.a\.example$", "*.a.example", "carried"),
    (r"-m reg ^(.*\.)?a\.example$", ".a.example", "carried"),
    (r"-m reg ^[^.]+\.a\.example$", "*.a.example", "different"),
    (r"-m reg a\.example$", ".a.example", "different"), (r"-m reg a\.example", ".a.example", "different"),
    (r"-m reg ^.*a\.example$", ".a.example", "different"),
    ("-m sub a.example", ".a.example", "different"), ("-m dom a.example", ".a.example", "different"),
    ("-m end a.example", ".a.example", "different"), ("-m end .a.example", "*.a.example", "carried"),
])
def test_a_pattern_of_names_is_the_names(haproxy, tmp_path, match, ours, state):
    line = f'use_backend x if {{ req.ssl_sni -i {match} }}'.replace("\\", "\\\\")
    got = haproxy(ROUTES % (line + "\ndefault_backend d"))
    assert routes_of(got) == [f"x = sni={ours}", "default-backend = d"]
    assert got.state("use_backend x")[0] == state and got.code == 0 and weir_takes(got, tmp_path)


@pytest.mark.parametrize("match", ["-m sub legacy", "-m dom www", "-m beg www.", r"-m reg ^a\.example",
                                   "-m reg ^a+$", "-m reg a", r"-m reg ^[^a]\.b$", "-m reg ^(a$",
                                   r"-m reg ^[a-z][a-z]\.b$", "-m reg ^((((((((((a))))))))))$"])
def test_a_pattern_of_too_many_names_is_lost(haproxy, match):
    got = haproxy(ROUTES % (f"use_backend x if {{ req.ssl_sni -i {match} }}".replace("\\", "\\\\") +
                            "\ndefault_backend d"))
    assert got.state("use_backend x")[0] == "lost" and got.code == 10


def test_a_condition_on_quic_is_false(haproxy):
    got = haproxy(".if feature(QUIC)\nglobal\ntune.quic.x 1\n.else\n" + listen() + ".endif\n")
    assert "listen a" in got.sections and got.code == 0
    assert haproxy(".if feature(LUA)\n" + listen() + ".endif\n").code == 1


# ---- global -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["thread-groups 2", "thread-group 1 1-4", "debug", "quiet", "set-dumpable",
                                  "localpeer x", "anonkey 5", "numa-cpu-mapping", "nopoll",
                                  "set-var proc.x int(1)"])
def test_lines_of_global_that_no_client_notices(haproxy, line):
    got = haproxy(f"global\n{line}\n" + listen())
    state, why = got.state(line.split()[0])
    assert state == "no-effect" and why and got.code == 0


def test_a_script_that_nothing_of_tcp_calls_is_left_out(haproxy):
    got = haproxy("global\nlua-load /x.lua\n" + listen() + "frontend g\nmode http\nbind :82\n"
                  "http-request use-service lua.x\n")
    assert got.state("lua-load")[0] == "not-ours" and got.code == 0
    got = haproxy("global\nlua-load /x.lua\n" + listen("tcp-request content lua.x\n"))
    assert got.state("lua-load")[0] == "lost" and got.code == 10


# ---- bind ---------------------------------------------------------------------------------------------


def test_a_listener_of_localhost_is_at_its_ipv4_address(haproxy, tmp_path):
    got = haproxy(listen("bind localhost:82\n"))
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80", "127.0.0.1:82"]
    state, why = got.state("bind localhost")
    assert state == "different" and "::1" in why and got.code == 0 and weir_takes(got, tmp_path)


def test_how_long_bytes_of_clients_stay_unacknowledged(haproxy):
    got = haproxy((FRONT % "default_backend b\n").replace("9:443", "9:443 tcp-ut 30s"))
    assert got.value("frontend f", "tcp-user-timeout") == "30s" and got.state("bind")[0] == "carried"
    got = haproxy(listen("bind :81 tcp-ut 20s\nbind :82 tcp-ut 30s\n"))
    assert got.value("listen a", "tcp-user-timeout") == "20s"
    assert got.state("bind :81")[0] == "different" and got.state("bind :82")[0] == "lost"


# ---- the target machine -------------------------------------------------------------------------------


def test_a_name_server_may_be_a_variable(haproxy):
    got = haproxy(listen(server="server s db.example:80 resolvers r") +
                  'resolvers r\nnameserver a "${DNS}:${DNS_PORT}"\n')
    assert got.sections["global"]["resolvers"] == ["${DNS}:${DNS_PORT}"] and got.code == 0


def test_a_dollar_without_braces_is_no_variable(haproxy):
    got = haproxy(listen("server t $HOST:80\n"))
    assert "server t" not in got.sections["listen a"]
    assert got.state("server t")[0] == "lost"


def test_a_program_needs_its_whole_path(haproxy, tmp_path):
    got = haproxy(listen("option external-check\nexternal-check command x.sh\nexternal-check path /bin\n",
                         "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == "tcp"
    assert got.state("external-check command")[0] == "lost" and weir_takes(got, tmp_path)


# ---- keepalive, state files ---------------------------------------------------------------------------


@pytest.mark.parametrize("lines, key, value", [
    ("option tcpka", "tcp-keepalive", "on"),
    ("option clitcpka\nclitcpka-idle 60\nclitcpka-intvl 1500ms\nclitcpka-cnt 3", "client-keepalive",
     "60s interval=2s count=3"),
    ("option srvtcpka\nsrvtcpka-idle 2m", "server-keepalive", "2m"),
    ("option srvtcpka\nsrvtcpka-cnt 5", "server-keepalive", "on count=5"),
    ("option tcpka\nclitcpka-idle 90s", "client-keepalive", "90s"),
    ("option tcpka\nclitcpka-idle 90s", "server-keepalive", "on"),
])
def test_keepalive(haproxy, tmp_path, lines, key, value):
    got = haproxy(listen(lines + "\n"))
    assert got.value("listen a", key) == value and got.code == 0 and weir_takes(got, tmp_path)
    assert {got.state(line)[0] for line in lines.splitlines()} == {"carried"}


def test_times_of_keepalive_without_the_option_have_no_effect(haproxy):
    got = haproxy(listen("clitcpka-idle 60\nno option tcpka\n"))
    assert "keepalive" not in got.ini and got.state("clitcpka-idle")[0] == "no-effect" and got.code == 0


def test_a_state_file_differs(haproxy):
    got = haproxy("global\nserver-state-base /var/lib/haproxy\nserver-state-file all\n" +
                  listen("load-server-state-from-file global\nserver-state-file-name use-backend-name\n"))
    for line in ("server-state-base", "server-state-file all", "load-server-state", "server-state-file-name"):
        state, why = got.state(line)
        assert state == "different" and "a reload of weir keeps the state" in why
    assert got.code == 0
    got = haproxy(listen("load-server-state-from-file none\n"))
    assert got.state("load-server-state")[0] == "no-effect"


# ---- stick tables of what clients send ----------------------------------------------------------------


@pytest.mark.parametrize("sample", ["payload_lv(43,1) if clienthello", "req.rdp_cookie(mstshash)",
                                    "req.payload(0,0),mqtt_field_value(connect,client_identifier)"])
def test_what_clients_send_becomes_their_address(haproxy, tmp_path, sample):
    got = haproxy(listen("stick-table type binary len 32 size 30k expire 30m\n"
                         "acl clienthello req_ssl_hello_type 1\nacl serverhello rep_ssl_hello_type 2\n"
                         f"stick on {sample}\nstick store-response payload_lv(43,1) if serverhello\n"))
    assert got.value("listen a", "sticky") == "src size=30k expire=30m"
    assert got.state("stick-table")[0] == "carried" and got.state("stick store-response")[0] == "no-effect"
    state, why = got.state("stick on")
    assert state == "different" and "by their address" in why
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_response_is_lost_where_nothing_replaces_it(haproxy):
    got = haproxy(listen("stick-table type binary len 32 size 30k\nstick store-response payload_lv(43,1)\n"))
    assert got.state("stick store-response")[0] == "lost" and got.code == 10


def test_unique_ids_have_a_form_of_their_own(haproxy):
    got = haproxy(listen("unique-id-format %{+X}o\\ %ci:%cp\nunique-id-header X-ID\n"))
    assert got.state("unique-id-format")[0] == "different"
    assert got.state("unique-id-header")[0] == "no-effect" and got.code == 0


def test_a_token_of_rdp_needs_no_table(haproxy, tmp_path):
    got = haproxy(listen("persist rdp-cookie\nstick-table type string len 32 size 10k expire 1d peers all\n"
                         "stick on rdp_cookie(mstshash)\n"))
    assert got.value("listen a", "persist") == "rdp" and "sticky" not in got.ini
    assert [got.state(line)[0] for line in ("persist", "stick-table", "stick on")] == [
        "carried", "no-effect", "different"]
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_time_of_more_than_31_bits_is_24_days(haproxy, tmp_path):
    got = haproxy(listen().replace("timeout connect 5s", "timeout connect 5000000000000ms"))
    assert got.value("listen a", "timeout-connect") == "24d"
    state, why = got.state("timeout connect 5000")
    assert state == "different" and "24 days" in why and got.code == 0 and weir_takes(got, tmp_path)


# ---- logs of sections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("more, own, state", [
    ("", "log 10.0.0.5 local1\n", "different"), ("log global\n", "log 10.0.0.5 local1\n", "different"),
    ("log 10.0.0.5 local1\n", "", "carried"),
])
def test_a_log_of_one_section_gets_the_sessions_of_all(haproxy, more, own, state):
    got = haproxy("global\nlog 10.0.0.4 local0\ndefaults\n" + TIMES + more +
                  "frontend f\nbind 10.0.0.9:80\n" + own + "default_backend b\n" +
                  "frontend g\nbind 10.0.0.9:81\ndefault_backend b\n" +
                  "backend b\nserver s 10.0.0.1:80\n")
    assert got.state("log 10.0.0.5")[0] == state and got.code == 0
    assert state == "carried" or "sessions of all sections" in got.state("log 10.0.0.5")[1]
