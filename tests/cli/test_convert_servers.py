# SPDX-License-Identifier: MIT
"""`weir convert` and what HAProxy files say of servers and their health checks.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES, listen


def servers(text):
    """A section with these lines in place of its server line."""
    return listen(server=text)


def names(got):
    return [key for key in got.sections.get("listen a", {}) if key.startswith("server ")]


# ---- default-server -----------------------------------------------------------------------------------


def test_servers_that_a_default_makes_speak_tls_are_left_out(haproxy):
    got = haproxy(servers("default-server ssl verify none\nserver s 10.0.0.1:443\n"
                          "server t 10.0.0.2:80 no-ssl"))
    assert names(got) == ["server t"]
    for line in ("server s", "default-server ssl"):
        state, why = got.state(line)
        assert state == "not-ours" and "TLS" in why
    assert got.state("server t")[0] == "carried"


def test_a_section_whose_default_is_tls_is_left_out(haproxy):
    got = haproxy(servers("default-server ssl verify none\nserver s 10.0.0.1:443"))
    assert "10.0.0.1" not in got.ini and got.state("bind")[0] == "not-ours"
    assert got.state("server s")[0] == got.state("default-server")[0] == "not-ours"


def test_a_default_of_defaults_makes_servers_speak_tls(haproxy):
    got = haproxy("defaults\n" + TIMES + "default-server ssl\nlisten a\nbind :80\nserver s 10.0.0.1:443\n"
                  "listen b\nbind :81\nserver t 10.0.0.1:80 no-ssl\n")
    assert list(got.sections["listen b"])[-1] == "server t" and "10.0.0.1:443" not in got.ini
    assert got.state("server s")[0] == "not-ours"


def test_the_last_word_on_tls_counts(haproxy):
    assert names(haproxy(servers("server s 10.0.0.1:80 ssl no-ssl"))) == ["server s"]
    assert names(haproxy(servers("default-server ssl\ndefault-server no-ssl\nserver s 10.0.0.1:80"))) == [
        "server s"]
    assert names(haproxy(servers("default-server no-ssl\nserver s 10.0.0.1:80 ssl\n"
                                 "server t 10.0.0.1:81"))) == ["server t"]


def test_a_default_holds_for_the_servers_after_it(haproxy):
    got = haproxy(servers("server s 10.0.0.1:80\ndefault-server backup\nserver t 10.0.0.2:80\n"
                          "default-server no-backup maxconn 9\nserver u 10.0.0.3:80"))
    section = got.sections["listen a"]
    assert [section[name] for name in names(got)] == [["10.0.0.1:80"], ["10.0.0.2:80 backup"],
                                                      ["10.0.0.3:80 maxconn=9"]]


def test_a_default_after_the_last_server_has_no_effect(haproxy):
    got = haproxy(servers("server s 10.0.0.1:80\ndefault-server backup"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:80"]
    state, why = got.state("default-server")
    assert state == "no-effect" and "no server" in why


def test_dispatch_takes_nothing_of_a_default(haproxy):
    got = haproxy(servers("default-server ssl check maxconn 9\ndispatch 10.0.0.1:80"))
    assert got.sections["listen a"]["server dispatch"] == ["10.0.0.1:80"]
    assert "check" not in got.sections["listen a"]


def test_an_enabled_server_is_not_disabled_by_a_default(haproxy):
    got = haproxy(servers("default-server disabled\nserver s 10.0.0.1:80 enabled\nserver t 10.0.0.2:80"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:80"]
    assert got.sections["listen a"]["server t"] == ["10.0.0.2:80 disabled"]


# ---- tcp-check ----------------------------------------------------------------------------------------


def checked(rules, kind="option tcp-check"):
    """A section whose server has a check with these rules."""
    return listen(kind + "\n" + "".join(rule + "\n" for rule in rules), "server s 10.0.0.1:80 check")


def check_of(got):
    return got.value("listen a", "check")


def test_a_role_that_a_server_must_not_have_is_not_the_role_it_has(haproxy):
    got = haproxy(checked(["tcp-check send PING\\r\\n", "tcp-check expect string +PONG",
                           "tcp-check send info\\ replication\\r\\n",
                           "tcp-check expect ! string role:master"]))
    assert check_of(got) == ('send "PING\\r\\n" expect="+PONG" send "info replication\\r\\n" '
                             'expect=!"role:master"')
    assert got.code == 0


@pytest.mark.parametrize("rule", ["tcp-check expect ! string -ERR", "tcp-check expect ! string +PONG"])
def test_a_ping_without_its_answer_is_not_a_check_of_redis(haproxy, rule):
    got = haproxy(checked(["tcp-check send PING\\r\\n", rule]))
    assert check_of(got) == 'send "PING\\r\\n" expect=!"%s"' % rule.split()[-1]


def test_a_check_of_redis_asks_no_more_than_weir_does(haproxy):
    rules = ["tcp-check send PING\\r\\n", "tcp-check expect string +PONG"]
    assert check_of(haproxy(checked(rules + ["tcp-check send QUIT\\r\\n",
                                             "tcp-check expect string +OK"]))) == "redis"
    got = haproxy(checked(rules + ["tcp-check send DBSIZE\\r\\n", "tcp-check expect string :1"]))
    assert "DBSIZE" in check_of(got) and got.code == 0


def test_a_check_of_redis_keeps_its_port(haproxy):
    ping = ["tcp-check send PING\\r\\n", "tcp-check expect string +PONG"]
    assert check_of(haproxy(checked(["tcp-check connect port 26379"] + ping))) == "redis port=26379"
    login = 'tcp-check send-lf "AUTH sesame\\r\\n"'
    got = haproxy(checked(["tcp-check connect port 26379", login] + ping))
    assert check_of(got) == "redis port=26379" and got.code == 10


@pytest.mark.parametrize("rules", [
    ["tcp-check connect", "tcp-check connect port 82"],
    ["tcp-check connect port 81", "tcp-check expect string A", "tcp-check connect port 82",
     "tcp-check expect string B"],
    ["tcp-check expect string A", "tcp-check connect port 82", "tcp-check send B"],
])
def test_a_second_connection_of_a_check_is_lost(haproxy, rules):
    got = haproxy(checked(rules))
    at = rules.index("tcp-check connect port 82")
    assert "82" not in check_of(got) and '"B"' not in check_of(got)
    for i, rule in enumerate(rules):
        state, why = [(line["state"], line["why"]) for line in got.report["lines"]
                      if line["text"] == rule][-1]
        assert state == ("lost" if i >= at else "carried")
        assert i < at or "one connection" in why


def test_words_of_a_connect_line_are_not_dropped(haproxy):
    got = haproxy(checked(["tcp-check connect ssl sni x.example alpn h2 comment ssl"]))
    assert check_of(got).startswith("tls sni=x.example alpn=h2 ") and got.code == 0
    for word in ("addr 10.0.0.5", "via-socks4", "proto h2"):
        got = haproxy(checked([f"tcp-check connect {word}"]))
        assert got.state("tcp-check connect")[0] == "lost"


# ---- http-check ---------------------------------------------------------------------------------------

HTTP = "option httpchk GET /a"


@pytest.mark.parametrize("rules, ours", [
    (["http-check expect string OK", "http-check expect status 200"], "http GET /a expect=OK"),
    (["http-check expect status 200", "http-check expect ! string no"], "http GET /a expect=200"),
    (["http-check send uri /b", "http-check send uri /c"], "http GET /b"),
])
def test_a_second_question_or_answer_is_lost(haproxy, rules, ours):
    got = haproxy(checked(rules, HTTP))
    assert check_of(got).replace('"', "") == ours
    assert got.state(rules[0])[0] == "carried"
    state, why = got.state(rules[1])
    assert state == "lost" and "one" in why


def test_a_second_connection_by_http_is_lost(haproxy):
    rules = ["http-check connect port 81", "http-check send uri /a", "http-check expect status 200",
             "http-check connect port 82", "http-check send uri /b", "http-check expect status 204"]
    got = haproxy(checked(rules, "option httpchk"))
    assert check_of(got) == "http OPTIONS /a expect=200 port=81"
    assert [got.state(rule)[0] for rule in rules] == ["carried"] * 3 + ["lost"] * 3


# ---- what is said --------------------------------------------------------------------------------------


def two(first, second):
    return servers(f"server s 10.0.0.1:80 {first}\nserver t 10.0.0.2:80 {second}")


@pytest.mark.parametrize("first, second", [
    ("check", "check check-ssl"), ("tcp-ut 5s", "tcp-ut 6s"),
    ("check check-ssl verify none", "check check-ssl ca-file /a"),
    ("check observe layer4", "check observe layer4 error-limit 6 on-error mark-down"),
])
def test_another_word_of_a_later_server_is_lost(haproxy, first, second):
    state, why = haproxy(two(first, second)).state("server t")
    assert state == "lost" and "server 's' counts" in why


@pytest.mark.parametrize("first, second", [
    ("check check-ssl verify none", "check"), ("observe layer4", ""), ("", "check check-ssl verify none"),
])
def test_a_word_of_the_first_server_holds_for_all(haproxy, first, second):
    got = haproxy(two(first, second))
    states = [got.state(f"server {name}") for name in "st"]
    assert {state for state, _ in states} <= {"carried", "different"}
    assert not any("counts" in (why or "") for _, why in states)


@pytest.mark.parametrize("words, key, value", [
    ("check observe layer4 error-limit 6", "observe", "connect limit=6"),
    ("tcp-ut 6s", "tcp-user-timeout", "6s"),
    ("on-marked-down shutdown-sessions", "on-marked-down", "close-sessions"),
])
def test_a_word_of_one_server_alone_holds_for_all(haproxy, words, key, value):
    got = haproxy(two("", words))
    assert got.value("listen a", key) == value
    state, why = got.state("server t")
    assert state == "different" and "holds for all" in why


@pytest.mark.parametrize("error", ["sudden-death", "fastinter"])
def test_what_an_error_does_is_not_dropped(haproxy, error):
    state, why = haproxy(servers(f"server s 10.0.0.1:80 check observe layer4 on-error {error}")).state(
        "server s")
    assert state == "different" and error in why
    assert haproxy(servers("server s 10.0.0.1:80 check observe layer4 on-error fail-check")).state(
        "server s")[0] == "carried"


@pytest.mark.parametrize("words, hint", [("interface eth0", "source=ADDRESS"),
                                         ("resolve-net 10.0.0.0/8", "addresses")])
def test_the_value_of_a_lost_word_is_not_a_word(haproxy, words, hint):
    state, why = haproxy(servers(f"server s 10.0.0.1:80 {words} weight 3")).state("server s")
    assert state == "lost" and hint in why and words.split()[1] not in why


def test_what_is_lost_without_nolinger_is_said(haproxy):
    state, why = haproxy(listen("option nolinger\n")).state("option nolinger")
    assert state == "lost" and "what is lost" in why


def test_lines_of_a_mistyped_section_are_lost_with_it(haproxy):
    got = haproxy("rontend x\nbind :80\ndefault_backend b\nbackend b\nserver s 10.0.0.1:80\n")
    assert got.state("rontend")[0] == "lost"
    for line in ("bind", "default_backend"):
        assert got.state(line) == ("lost", "its section is lost: 'rontend' in line 1 begins none")


@pytest.mark.parametrize("words, fine", [('agent-send "a ${X} b"', True), ('agent-send "a ${X} b" weight 999',
                                                                           False)])
def test_words_behind_a_quoted_variable_are_judged(haproxy, words, fine):
    got = haproxy(servers(f"server s 10.0.0.1:80 agent-check agent-port 9 {words}"))
    assert (got.state("server s")[0] == "carried") == fine


# ---- connect lines of checks --------------------------------------------------------------------------

@pytest.mark.parametrize("words, state", [
    ("check check-ssl verify none crt /etc/c.pem", "lost"),
    ("check-ssl verify none crt /etc/c.pem", "carried"),
    ("check crt /etc/c.pem", "carried"), ("check check-ssl verify none", "carried"),
])
def test_a_check_that_would_show_a_certificate_is_lost(haproxy, words, state):
    got = haproxy(listen("option httpchk GET /x\n", f"server s 10.0.0.1:80 {words}"))
    assert got.state("server s")[0] == state and got.code == (10 if state == "lost" else 0)
    assert state != "lost" or "'crt'" in got.state("server s")[1]
    assert "pem" not in got.ini


def test_the_name_of_sessions_over_tls_has_no_effect_without_them(haproxy):
    got = haproxy(listen(server="server s 10.0.0.1:443 check sni req.ssl_sni weight 2"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:443 weight=2"]
    assert got.state("server s")[0] == "carried" and got.code == 0


SENDS = "server s 10.0.0.1:80 send-proxy-v2 check check-ssl verify none"


@pytest.mark.parametrize("lines, check", [
    ("option httpchk GET /p\nhttp-check connect", "http GET /p proxy=off"),
    ("option httpchk GET /p\nhttp-check connect send-proxy", "http GET /p proxy=v2"),
    ("option httpchk GET /p\nhttp-check connect ssl", "https GET /p verify=none proxy=off"),
    ("option httpchk GET /p\nhttp-check connect default", "https GET /p verify=none"),
    ("option httpchk GET /p\nhttp-check connect ssl alpn http/1.1 sni x.example",
     "https GET /p sni=x.example verify=none proxy=off"),
    ("option tcp-check\ntcp-check connect", "tcp proxy=off"),
    ("option tcp-check\ntcp-check connect\ntcp-check expect string SSH", 'expect="SSH" proxy=off'),
    ("option tcp-check\ntcp-check connect ssl alpn h2", "tls alpn=h2 verify=none proxy=off"),
    ("option tcp-check", "tls verify=none"),
])
def test_a_connect_line_has_words_of_its_own(haproxy, lines, check):
    got = haproxy(listen(lines + "\n", SENDS))
    assert got.value("listen a", "check") == check and got.code == 0
    if "http/1.1" in lines:
        assert got.state("http-check connect")[0] == "different"


@pytest.mark.parametrize("connect", ["", "tcp-check connect ssl\n", "tcp-check connect default\n"])
def test_texts_over_tls_are_lost(haproxy, connect):
    got = haproxy(listen(f"option tcp-check\n{connect}tcp-check expect string SSH\n", SENDS))
    assert got.value("listen a", "check").startswith("tls verify=none") and got.code == 10
    state, why = got.state("tcp-check expect")
    assert state == "lost" and "without TLS" in why


def test_what_is_sent_at_once_is_one_step(haproxy):
    """The usual question to PostgreSQL: it has more lines than a check of weir has steps."""
    login = ["00000028", "00030000", "7573657200", "686170726f787900", "646174616261736500",
             "706f73746772657300", "00"]
    query = ["51", "00000020", "73656c65637420", "70675f69735f696e5f7265636f7665727928293b", "00"]
    got = haproxy(checked([f"tcp-check send-binary {x}" for x in login] +
                          [f"tcp-check expect binary {x}" for x in ("52", "00000008", "00000000")] +
                          [f"tcp-check send-binary {x}" for x in query] +
                          ["tcp-check expect binary 54", "tcp-check expect binary 66",
                           "tcp-check send X\\r", "tcp-check send-binary 00000004"]))
    assert got.code == 0, got.report
    sent = "".join(f"\\x{text[i:i + 2]}" for text in login for i in range(0, len(text), 2))
    assert check_of(got).startswith(f'send "{sent}" expect="\\x52" expect="\\x00\\x00\\x00\\x08" expect=')
    assert check_of(got).endswith('expect="\\x66" send "X\\r\\x00\\x00\\x00\\x04"')


@pytest.mark.parametrize("pattern, text, state", [
    ("state:up", "state:up", "carried"), (".*state:up.*", "state:up", "carried"),
    ("a\\.b", "a.b", "carried"), ("^.*OK", "OK", "carried"), ("^\\+PONG", "+PONG", "different"),
    ("^220.*", "220", "different"), ("^HTTP/1.1\\ 301", "HTTP/1.1 301", "different"),
    ("^SSH-2.0", "SSH-2.0", "different"),
])
def test_a_pattern_that_stands_for_one_text(haproxy, pattern, text, state):
    got = haproxy(checked([f"tcp-check expect rstring {pattern}"]))
    assert check_of(got) == f'expect="{text}"' and got.code == 0
    assert got.state("tcp-check expect")[0] == state
    got = haproxy(checked([f"http-check expect rstring {pattern}"], "option httpchk GET /"))
    assert check_of(got) == f'http GET / expect="{text}"' and got.code == 0


@pytest.mark.parametrize("pattern", ["^220.*ESMTP", "a|b", "OK$", "ro.le", "1.*2", "1.+2", "1.0?", "ab?",
                                     "\\d", "[ab]", "x{2}", "^", ".*"])
def test_a_pattern_that_stands_for_more_is_lost(haproxy, pattern):
    got = haproxy(checked([f"tcp-check expect rstring {pattern}"]))
    assert check_of(got) == "tcp" and got.code == 10
    assert got.state("tcp-check expect")[0] == "lost"


def test_a_start_that_an_answer_must_not_have_is_lost(haproxy):
    got = haproxy(checked(["tcp-check expect ! rstring ^ERR"]))
    assert check_of(got) == "tcp" and got.state("tcp-check expect")[0] == "lost"


# ---- addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("address, ours", [
    ("0.0.0.0:81", "0.0.0.0:81"), ("*:81", "0.0.0.0:81"), (":81", "0.0.0.0:81"), ("[::]:81", "[::]:81"),
])
def test_a_server_at_no_address_is_this_machine(haproxy, address, ours):
    got = haproxy(servers(f"server s {address}"))
    assert got.sections["listen a"]["server s"] == [ours] and got.code == 0
    state, why = got.state("server s")
    assert state == "different" and "that the client came to" in why and "port 81" in why


@pytest.mark.parametrize("bind, address", [
    ("", "0.0.0.0"), ("", "*"), ("", "0.0.0.0:0"), (" transparent", "*:80"), (" accept-proxy", "0.0.0.0:80"),
])
def test_a_server_where_the_client_wanted_to_go_is_lost(haproxy, bind, address):
    """The client's own address and port would be those of weir itself."""
    got = haproxy("defaults\n" + TIMES + f"listen a\nbind :80{bind}\nserver s {address}\n"
                  "server t 10.0.0.1:80\n")
    assert names(got) == ["server t"] and got.state("server s")[0] == "lost"


@pytest.mark.parametrize("source", ["*", ":0", "0.0.0.0:0"])
def test_no_address_to_connect_from(haproxy, source):
    for text in (f"source {source}\nserver s 10.0.0.1:80", f"server s 10.0.0.1:80 source {source}"):
        got = haproxy(servers(text))
        assert got.sections["listen a"]["server s"] == ["10.0.0.1:80"] and got.code == 0


@pytest.mark.parametrize("source, ours", [("*", ""), ("10.0.0.8", " source=10.0.0.8")])
def test_an_interface_to_connect_from_is_lost(haproxy, source, ours):
    got = haproxy(servers(f"source {source} interface eth1\nserver s 10.0.0.1:80\nserver t 10.0.0.2:80"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:80" + ours]
    state, why = got.state("source")
    assert state == "lost" and "interface" in why


@pytest.mark.parametrize("count, ours", [("100000", "100000"), ("100001", "100000"), ("99999999", "100000")])
def test_a_server_that_stays_down_is_kept(haproxy, count, ours):
    got = haproxy(servers(f"server s 10.0.0.1:80 check fall 20 rise {count}\n"
                          "server t 10.0.0.2:80 check backup"))
    assert got.sections["listen a"]["server s"] == [f"10.0.0.1:80 check-fall=20 check-rise={ours}"]
    assert got.code == 0 and got.state("server s")[0] == ("carried" if count == ours else "different")


# HAProxy 2.6 sends no authority without terminated TLS, and an SSL field of zeros.
@pytest.mark.parametrize("options, ours", [
    ("authority", ""), ("ssl,cert-cn,cert-key,cert-sig,ssl-cipher,authority", ""),
    ("crc32c", " proxy-v2-options=crc32c"), ("ssl,unique-id,crc32c", " proxy-v2-options=unique-id,crc32c"),
])
def test_a_header_says_nothing_of_tls_that_is_passed_through(haproxy, options, ours):
    got = haproxy(servers(f"server s 10.0.0.1:80 send-proxy-v2 proxy-v2-options {options}\n"
                          "server t 10.0.0.2:80"))
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:80 send-proxy=v2" + ours]
    assert got.code == 0 and got.state("server s")[0] == "carried"


@pytest.mark.parametrize("bind, rule", [
    ("accept-proxy", ""), ("", "tcp-request connection expect-proxy layer4\n"),
])
def test_a_name_in_the_header_of_a_client_is_passed_on(haproxy, bind, rule):
    got = haproxy("defaults\n" + TIMES + f"frontend f\nbind :80 {bind}\n{rule}default_backend b\nbackend b\n"
                  "server s 10.0.0.1:80 send-proxy-v2 proxy-v2-options authority\nserver t 10.0.0.2:80\n")
    assert got.sections["backend b"]["server s"] == ["10.0.0.1:80 send-proxy=v2 proxy-v2-options=pass"]
    state, why = got.state("server s")
    assert state == "different" and "trusted" in why and got.code == 0


@pytest.mark.parametrize("line, ours", [
    ("server-template s 2 10.0.0.1:80 disabled", {"server s1": "10.0.0.1:80 disabled",
                                                  "server s2": "10.0.0.1:80 disabled"}),
    ("server-template s 7-8 [2001:db8::1]:80", {"server s7": "[2001:db8::1]:80",
                                                "server s8": "[2001:db8::1]:80"}),
])
def test_a_template_with_an_address_is_several_servers(haproxy, line, ours):
    got = haproxy(servers(line))
    assert {key: got.value("listen a", key) for key in names(got)} == ours
    assert got.code == 0 and got.state("server-template")[0] == "carried"
