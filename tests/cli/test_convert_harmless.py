# SPDX-License-Identifier: MIT
"""`weir convert`: lines of HAProxy's that change nobody's way, and must not make a file look lost.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES, listen
from test_convert_rules import ROUTED


def in_global(line):
    return "global\nmaxconn 99\n" + line + "\n" + listen()


@pytest.mark.parametrize("line, state, said", [
    ("thread-groups 1", "no-effect", "thread"), ("thread-group 1 1-2", "no-effect", "thread"),
    ("numa-cpu-mapping", "no-effect", "cpu-affinity"),
    ("cpu-policy performance", "different", "cpu-affinity"),
    ("nopoll", "no-effect", "epoll"), ("quiet", "no-effect", "-q"), ("debug", "no-effect", "foreground"),
    ("set-dumpable", "no-effect", "LimitCORE"), ("localpeer a", "no-effect", "peers"),
    ("set-var proc.x int(1)", "no-effect", "where it is used"), ("no-quic", "no-effect", "UDP"),
    ("set-var-fmt proc.x y", "no-effect", "where it is used"), ("limited-quic", "no-effect", "UDP"),
    ("setcap cap_net_raw", "no-effect", "capabilities"), ("maxsessrate 5", "lost", "rate-limit"),
])
def test_words_of_the_process_lose_nothing(haproxy, line, state, said):
    got = haproxy(in_global(line))
    assert got.state(line)[0] == state and said in got.state(line)[1]
    assert got.code == (10 if state == "lost" else 0) and list(got.sections["global"]) == ["maxconn"]


HTTP_PAGE = "frontend h\nmode http\nbind 10.0.0.9:81\nhttp-request use-service lua.%s\n"


@pytest.mark.parametrize("line, others, state, code", [
    ("lua-load /etc/a.lua", HTTP_PAGE % "a", "not-ours", 0), ("lua-load /etc/a.lua", "", "not-ours", 0),
    ("lua-load-per-thread /etc/a.lua", HTTP_PAGE % "a", "not-ours", 0),
    ("lua-load /etc/a.lua", HTTP_PAGE % "a" + "frontend t\nbind 10.0.0.9:82\ntcp-request content lua.a\n"
     "default_backend b\nbackend b\nserver s 10.0.0.2:80\n", "lost", 10),
    ("lua-prepend-path /etc/?.lua", "", "no-effect", 0),
])
def test_a_script_that_only_sections_of_http_use_is_not_ours(haproxy, line, others, state, code):
    got = haproxy(in_global(line) + others)
    assert got.state(line)[0] == state and got.code == code


@pytest.mark.parametrize("line", [
    "reqadd X-Forwarded-Proto:\\ https", "reqirep ^a b", "rspadd X-F:\\ y", "rspidel ^Server",
    "block if TRUE", "appsession x len 5 timeout 3h", "dynamic-cookie-key k",
])
def test_http_of_old_versions_is_not_ours_in_mode_tcp(haproxy, line):
    got = haproxy(listen(line + "\n"))
    assert got.state(line.split("\\", maxsplit=1)[0].split(" ", maxsplit=1)[0])[0] == "not-ours"
    assert got.code == 0


@pytest.mark.parametrize("line, state, said", [
    ("email-alert from a@b", "different", "its log"), ("email-alert mailers m", "different", "its log"),
    ("log-tag x", "different", "weir's"), ("log-format-sd \"x\"", "different", "structured"),
    ("monitor-uri /x", "no-effect", "mode http"), ("option independant-streams", "different", "both sides"),
])
def test_what_reaches_no_client_of_mode_tcp_loses_nothing(haproxy, line, state, said):
    got = haproxy(listen(line + "\n"))
    found, why = got.state(line.split(" \"", maxsplit=1)[0])
    assert found == state and said in why and got.code == 0


# ---- addresses ----------------------------------------------------------------------------------------


def bound(line, more=""):
    return "defaults\n" + TIMES + f"listen a\nbind {line}\n{more}server s 10.0.0.1:80\n"


@pytest.mark.parametrize("line, ours", [
    ("10.0.0.9:443 backlog 0", "10.0.0.9:443"), ("10.0.0.9:443 maxconn 0", "10.0.0.9:443"),
    ("10.0.0.9:443 mode 600", "10.0.0.9:443"), ("10.0.0.9:443 user x group y", "10.0.0.9:443"),
    ("10.0.0.9:443 v6only", "10.0.0.9:443"), (":::443 v6only", "[::]:443 v6only"),
    ("/a mode 600 v6only", "unix:/a mode=600"),
    ("10.0.0.9:443 severity-output none expose-fd listeners", "10.0.0.9:443"),
])
def test_words_for_another_kind_of_address_are_left_aside_as_in_haproxy(haproxy, line, ours):
    got = haproxy(bound(line, "maxconn 0\nbacklog 0\n"))
    assert got.sections["listen a"]["bind"] == [ours] and "maxconn" not in got.sections["listen a"]
    assert got.state("bind")[0] == "carried" and got.code == 0


@pytest.mark.parametrize("line, ours", [
    ('"*:${PORT}"', "0.0.0.0:${PORT}"), (':"$PORT" accept-proxy', "0.0.0.0:${PORT} accept-proxy"),
    ('"${HOST}:443"', "${HOST}:443"), ('"${HOST}:${PORT}"', "${HOST}:${PORT}"),
    ('"[::]:${PORT}"', "[::]:${PORT}"), ('"10.0.0.9:${PORT}"', "10.0.0.9:${PORT}"),
])
def test_a_port_may_be_a_variable(haproxy, line, ours):
    got = haproxy(bound(line, 'server t "10.0.0.2:${PORT}"\nserver u "${HOST-a}:${PORT-5}" weight 2\n'
                        'server v 10.0.0.3:"$PORT"\nserver w "${HOST}"\n'
                        'server-template x- 3 "${NAME}":"${PORT}"\n'))
    section = got.sections["listen a"]
    assert section["bind"] == [ours] and got.code == 0
    assert [section[key] for key in ("server t", "server u", "server v", "server w", "servers x-")] == [
        ["10.0.0.2:${PORT}"], ["${HOST:-a}:${PORT:-5} weight=2"], ["10.0.0.3:${PORT}"], ["${HOST}"],
        ["dns://${NAME}:${PORT} max=3"]]


def test_a_limit_of_a_bind_line_holds_without_one_of_the_section(haproxy):
    got = haproxy(bound("10.0.0.9:443 maxconn 7", "maxconn 0\n"))
    assert got.value("listen a", "maxconn") == "7" and got.code == 0


def test_localhost_is_this_machine(haproxy):
    got = haproxy(bound("localhost:443,10.0.0.9:443 accept-proxy"))
    assert got.sections["listen a"]["bind"] == ["127.0.0.1:443 accept-proxy", "10.0.0.9:443 accept-proxy"]
    state, why = got.state("bind")
    assert state == "different" and "::1" in why and got.code == 0


@pytest.mark.parametrize("server, section, ours", [
    ("source 0.0.0.0:1025-65535", "", "10.0.0.1:80"),
    ("source 10.0.0.8:1025-2000", "", "10.0.0.1:80 source=10.0.0.8"),
    ("", "source 10.0.0.8:1025-2000\n", "10.0.0.1:80 source=10.0.0.8"), ("slowstart 0", "", "10.0.0.1:80"),
    ("ssl-min-ver TLSv1.2", "", "10.0.0.1:80"),
])
def test_words_of_servers_that_do_not_say_who_is_reached(haproxy, server, section, ours):
    got = haproxy(listen(section, "server s 10.0.0.1:80 " + server))
    assert got.sections["listen a"]["server s"] == [ours] and got.code == 0
    state, why = got.state("source" if section else "server s")
    assert state == ("different" if ours != "10.0.0.1:80" or "source" in server else state)
    assert state != "different" or "ip_local_port_range" in why


# ---- the page -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first, second, ours, state", [
    ("*:8404", ":::8404", ":8404", "carried"), ("[::]:8404", ":8404", ":8404", "carried"),
    ("*:8404", ":::8405", "0.0.0.0:8404", "lost"), ("10.0.0.9:8404", ":::8404", "10.0.0.9:8404", "lost"),
    (":8404", "10.0.0.9:8404", "0.0.0.0:8404", "lost"),
])
def test_a_page_at_both_families_is_one_line(haproxy, first, second, ours, state):
    got = haproxy(listen() + f"listen stats\nmode http\nbind {first}\nbind {second}\nstats enable\n")
    assert got.value("stats", "bind") == ours and got.state(f"bind {second}")[0] == state
    assert got.code == (0 if state == "carried" else 10)


@pytest.mark.parametrize("mode, shown", [("mode http\n", True), ("mode tcp\n", False), ("", False)])
def test_that_haproxy_shows_no_page_in_mode_tcp_is_told(haproxy, mode, shown):
    got = haproxy(listen() + f"listen stats\n{mode}bind 10.0.0.9:8404\nstats enable\n")
    state, why = got.state("listen stats")
    assert state == "different" and ("shows none in mode tcp" in why) is not shown and got.code == 0


def test_the_port_of_a_page_may_be_a_variable(haproxy):
    got = haproxy(listen() + 'listen stats\nmode http\nbind ":${PORT}"\nstats enable\n')
    assert got.value("stats", "bind") == "0.0.0.0:${PORT}" and got.code == 0


# ---- who waits for what a client sends ----------------------------------------------------------------


WAITING = "tcp-request inspect-delay 1s\ntcp-request content {}\nuse_backend x if {{ req.ssl_sni a.example }}"


@pytest.mark.parametrize("lines, said", [
    ("tcp-request inspect-delay 1s\nuse_backend x if { req.ssl_sni a.example }", True),
    ("tcp-request content accept if { req.ssl_hello_type 1 }\nuse_backend x if { req.ssl_sni a.example }",
     True),
    ("tcp-request inspect-delay 1s\ntcp-request content accept if { req.ssl_hello_type 1 }\n"
     "use_backend x if { req.ssl_sni a.example }", False),
    ("use_backend x if { src 10.1.0.0/16 }", False),
    (WAITING.format("accept if { src 10.0.0.0/8 }"), True), (WAITING.format("accept"), True),
    (WAITING.format("reject if { src 10.0.0.0/8 }"), True), (WAITING.format("track-sc0 src"), True),
    (WAITING.format("accept if FALSE { req.len gt 0 }"), False),
    (WAITING.format("accept if WAIT_END"), False),
    (WAITING.format("set-var(req.x) req.ssl_sni"), False), (WAITING.format("reject if !HTTP"), False),
])
def test_a_note_says_that_haproxy_does_not_wait(haproxy, lines, said):
    got = haproxy(ROUTED % lines)
    assert any("before a client has sent" in note for note in got.report["notes"]) == said


@pytest.mark.parametrize("lines, different", [
    (["accept if { src 10.0.0.0/8 }", "accept if { req.ssl_hello_type 1 }"], [True, False]),
    (["accept if { dst_port 443 }", "accept if { src 10.0.0.0/8 }", "accept if WAIT_END"],
     [True, True, False]),
    (["accept if { req.ssl_hello_type 1 }", "accept if { src 10.0.0.0/8 }"], [False, False]),
    (["accept if FALSE", "accept if { req.ssl_hello_type 1 }"], [False, False]),
])
def test_clients_that_are_accepted_before_others_wait_are_named(haproxy, lines, different):
    rules = ["tcp-request content " + line for line in lines]
    got = haproxy(ROUTED % "\n".join(["tcp-request inspect-delay 1s", *rules,
                                      "use_backend x if { req.ssl_sni a.example }"]))
    assert [got.state(rule)[0] == "different" for rule in rules] == different
    got = haproxy(ROUTED % "\n".join(["tcp-request inspect-delay 1s", *rules]))
    assert [got.state(rule)[0] for rule in rules] == ["no-effect"] * len(rules)


@pytest.mark.parametrize("kind", ["connection", "session"])
@pytest.mark.parametrize("own, said", [("", True), ("tcp-request {} accept if {{ src 10.0.0.9 }}\n", False)])
def test_a_note_says_that_haproxy_skips_rules_of_a_defaults_section(haproxy, kind, own, said):
    rule = f"tcp-request {kind} reject if {{ src 10.0.0.0/8 }}"
    got = haproxy(f"defaults d\n{TIMES}{rule}\ndefaults e\n{TIMES}frontend f from d\nbind 10.0.0.9:80\n" +
                  own.format(kind) + "default_backend b\nbackend b from e\nserver s 10.0.0.1:80\n")
    assert any(f"'tcp-request {kind}' lines of its defaults" in note for note in got.report["notes"]) == said
    assert "10.0.0.0/8" in " ".join(got.sections["frontend f"]["deny-from"])


@pytest.mark.parametrize("lines, said", [
    ("balance random\nserver t 10.0.0.2:80 maxconn 9", True),
    ("balance random(3)\ndefault-server maxconn 9\nserver t 10.0.0.2:80", True),
    ("balance random", False), ("balance random\nserver t 10.0.0.2:80", False),
    ("balance leastconn\nserver t 10.0.0.2:80 maxconn 9", False),
])
def test_a_note_says_that_a_full_server_may_be_drawn(haproxy, lines, said):
    got = haproxy(listen(lines + "\n"))
    assert any("draws a full server" in note for note in got.report["notes"]) == said


@pytest.mark.parametrize("rule", ["reject if !{ req.ssl_hello_type 1 }",
                                  "reject unless { req_ssl_ver gt 3 }"])
def test_bytes_that_haproxy_does_not_wait_for_are_named(haproxy, rule):
    rule = "tcp-request content " + rule
    state, why = haproxy(listen(rule + "\n")).state(rule)
    assert state == "different" and "inspect-delay" in why
    state, why = haproxy(listen("tcp-request inspect-delay 1s\n" + rule + "\n")).state(rule)
    assert "inspect-delay" not in (why or "")


def test_a_rule_about_the_first_bytes_of_tls_is_different(haproxy):
    rule = "tcp-request content reject unless { req.payload(0,3) -m bin 160301 }"
    state, why = haproxy(listen("tcp-request inspect-delay 1s\n" + rule + "\n")).state(rule)
    assert state == "different" and "its first bytes" in why
