# SPDX-License-Identifier: MIT
"""`weir convert` and the use_backend lines of HAProxy files: what is not, lengths, versions, maps.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES

TEXT = ("defaults\n" + TIMES + "frontend f\nbind :80\ntcp-request inspect-delay 2s\n{0}\n{1}\n"
        "backend a\nserver s 10.0.0.1:80\nbackend b\nserver s 10.0.0.2:80\n"
        "backend c\nserver s 10.0.0.3:80\n")

HELLO = "{ req.ssl_hello_type 1 }"
FOUND = "{ req.ssl_sni -m found }"


@pytest.fixture(name="front")
def _front(haproxy):
    return lambda lines, default="default_backend a": haproxy(TEXT.format(lines, default))


def routes(got):
    """The routes of the frontend in their order."""
    return [f"{key[12:] or 'else'} {value}".replace("else ", "* ") if key.startswith("use-backend ")
            else f"* {value}" for line in got.ini.split("[frontend f]")[1].split("\n[")[0].splitlines()
            for key, _, value in [line.partition(" = ")] for key in [" ".join(key.split())]
            if key.startswith(("use-backend ", "default-backend"))]


# ---- not ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition, ours", [
    (f"!{HELLO}", ["a proto=tls", "* b"]),
    ("!HTTP", ["a proto=http", "* b"]),
    (f"!{FOUND}", ["a sni=any", "* b"]),
    (f"{HELLO} !{FOUND}", ["b sni=none", "* a"]),
    (f"!{FOUND} {HELLO}", ["b sni=none", "* a"]),
    (f"!{HELLO} !{{ req.len 0 }}", ["b proto=http,ssh,other", "* a"]),
    (f"!{HELLO} !HTTP {{ req.len gt 0 }}", ["b proto=ssh,other", "* a"]),
    (f"HTTP !{HELLO}", ["b proto=http", "* a"]),
    (f"{{ src 10.1.0.0/16 }} !{HELLO}", ["a src=10.1.0.0/16 proto=tls", "b src=10.1.0.0/16", "* a"]),
    ("{ req.len 0 }", ["a proto=tls,http,ssh,other", "* b"]),
    ("{ req.len gt 0 }", ["b proto=tls,http,ssh,other", "* a"]),
    ("{ req.len ge 1 } { req.ssl_sni x.com }", ["b sni=x.com", "* a"]),
    ("WAIT_END", ["* b"]), ("{ wait_end }", ["* b"]),
])
def test_what_clients_are_not(front, condition, ours):
    got = front(f"use_backend b if {condition}")
    assert routes(got) == ours and got.code in (0, 10)
    assert got.state("use_backend")[0] == "carried"


@pytest.mark.parametrize("condition", [f"!{HELLO} {HELLO}", f"!{HELLO} {{ req.ssl_sni x.com }}",
                                       f"!{FOUND} {{ req.ssl_sni x.com }}", "HTTP { req.ssl_sni x.com }",
                                       "{ req.len 0 } HTTP"])
def test_what_no_client_is(front, condition):
    got = front(f"use_backend b if {condition}")
    assert routes(got) == ["* a"]
    assert got.state("use_backend") == ("no-effect", "it never holds")


def test_lines_after_a_not_are_for_the_others(front):
    got = front(f"use_backend b if !{HELLO}\nuse_backend c if {{ req.ssl_sni c.com }}\n"
                f"use_backend b if !{FOUND}")
    assert routes(got) == ["c sni=c.com", "b sni=none", "a proto=tls", "* b"]
    for line in ("use_backend b", "use_backend c", "default_backend"):
        assert got.state(line)[0] == "carried"
    assert all(line["state"] == "carried" for line in got.report["lines"])


@pytest.mark.parametrize("condition, ours, words", [
    (f"!{HELLO}", "b proto=http,ssh,other", "sent nothing"), (f"!{FOUND}", "b sni=none", "speak TLS"),
])
def test_a_not_without_a_default_is_different(front, condition, ours, words):
    got = front(f"use_backend b if {condition}", "")
    state, why = got.state("use_backend")
    assert routes(got) == [ours] and state == "different" and words in why


def test_a_not_that_is_not_quite_the_same_is_different(front):
    got = front("use_backend b if !{ req.ssl_sni -m end foo.com }")
    assert routes(got) == ["a sni=.foo.com", "* b"] and got.state("use_backend")[0] == "different"


# ---- clients that send nothing ------------------------------------------------------------------------

SILENT = "use_backend b if !{ req.ssl_hello_type 1 } { req.len 0 }"


@pytest.mark.parametrize("lines, ours", [
    (f"use_backend a if {HELLO}\n{SILENT}\nuse_backend c if !{HELLO} !{{ req.len 0 }}",
     ["a proto=tls", "c proto=http,ssh,other", "* b"]),
    (f"{SILENT}\nuse_backend a if {HELLO}\nuse_backend c if !{HELLO} {{ req.len gt 0 }}",
     ["a proto=tls", "c proto=http,ssh,other", "* b"]),
    (f"{SILENT}\nuse_backend c if !{HELLO} !{{ req.len 0 }}",
     ["c proto=http,ssh,other", "closed proto=tls", "* b"]),
    (f"use_backend b if !HTTP !{FOUND} !{{ req.ssl_sni x.com }} !REQ_CONTENT",
     ["closed proto=tls,http,ssh,other", "* b"]),
    (f"use_backend a if {{ req.ssl_sni a.com }}\n{SILENT}",
     ["a sni=a.com", "closed proto=tls,http,ssh,other", "* b"]),
    ("use_backend b if { src 10.1.0.0/16 } { req.len 0 }\nuse_backend c if HTTP",
     ["c src=10.1.0.0/16 proto=http", "closed src=10.1.0.0/16 proto=tls,http,ssh,other",
      "b src=10.1.0.0/16", "c proto=http"]),
])
def test_the_default_is_for_those_who_send_nothing(front, lines, ours):
    got = front(lines, "")
    assert routes(got) == ours and got.code == 0
    assert {line["state"] for line in got.report["lines"]} <= {"carried", "no-effect"}
    closed = got.sections.get("backend closed")
    assert closed is None or closed["server none"] == ["127.0.0.1:1 disabled"]


def test_a_default_of_its_own_is_for_those_who_speak(front):
    got = front(SILENT)
    assert routes(got) == ["a proto=tls,http,ssh,other", "* b"] and got.state("use_backend")[0] == "carried"


# ---- numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [
    "{ req.len 5 }", "{ req.len gt 10 }", "{ req.len lt 5 }", "{ req.len }", "{ req.ssl_ver 3.0 }",
    "{ req.ssl_ver gt 3.3 }", "{ req.ssl_ver 2:3.1 }", "{ req_ssl_ver lt 3.2 }",
])
def test_a_number_that_weir_does_not_know_is_lost(front, condition):
    got = front(f"use_backend b if {condition}")
    assert routes(got) == ["* a"] and got.state("use_backend")[0] == "lost"


@pytest.mark.parametrize("version", ["gt 2", "ge 3.3", "3.0:3.3", "3.1 3.3"])
def test_a_version_that_clients_have_is_tls(front, version):
    got = front(f"use_backend b if {{ req.ssl_ver {version} }}")
    state, why = got.state("use_backend")
    assert routes(got) == ["b proto=tls", "* a"] and state == "different" and "every version" in why


# ---- maps ---------------------------------------------------------------------------------------------


@pytest.fixture(name="mapped")
def _mapped(front, tmp_path):
    def convert(kind, entries, more="", default="", after=""):
        (tmp_path / "names.map").write_text(entries)
        return front(f"use_backend %[req.ssl_sni,lower,{kind}({tmp_path}/names.map{default})]{more}{after}")
    return convert


@pytest.mark.parametrize("kind, ours", [("map_end", "*"), ("map_dom", "")])
def test_a_map_of_ends_is_taken_in_its_order(mapped, kind, ours):
    got = mapped(kind, ".com b\n.example.com c\n.net b\n.org b\n")
    assert routes(got) == [f"b sni={ours}.com", f"c sni={ours}.example.com", f"b sni={ours}.net,{ours}.org",
                           "* a"]


def test_an_end_without_a_dot_is_different(mapped):
    got = mapped("map_end", "example.com b\n")
    state, why = got.state("use_backend")
    assert routes(got)[0] == "b sni=.example.com" and state == "different" and "'example.com'" in why
    assert mapped("map_end", ".example.com b\n").state("use_backend")[0] == "carried"


def test_the_first_of_two_equal_names_of_a_map_counts(mapped):
    got = mapped("map", "y.com b\nx.com c\nx.com b\n")
    assert routes(got) == ["b sni=y.com", "c sni=x.com", "* a"]


def test_the_default_of_a_map_takes_the_rest(mapped):
    got = mapped("map", "x.com b\n", default=",c", after="\nuse_backend b if { src 10.1.0.0/16 }")
    assert routes(got) == ["b sni=x.com", "* c"]
    assert got.state("use_backend b")[0] == "no-effect"
    got = mapped("map", "x.com b\n", default=",none")
    assert got.state("use_backend")[0] == "lost"


def test_a_map_for_some_clients_is_lost(mapped):
    got = mapped("map", "x.com b\n", more=" if { src 10.1.0.0/16 }")
    assert routes(got) == ["* a"] and got.state("use_backend")[0] == "lost"
    got = mapped("map", "x.com b\n", more=f" if {HELLO} {FOUND}")
    assert routes(got) == ["b sni=x.com", "* a"] and got.state("use_backend")[0] == "carried"


def test_a_name_that_is_computed_is_not_called_a_map(front):
    state, why = front("use_backend %[var(txn.b)] if { src 10.1.0.0/16 }").state("use_backend")
    assert state == "lost" and "computes" in why


# ---- lines without which others do the same -----------------------------------------------------------

PARTS = "backend d\nserver s 10.0.0.1:80\nbackend x\nserver s 10.0.0.2:80\n"


def front(haproxy, lines):
    return haproxy("defaults\n" + TIMES + "option redispatch\nfrontend f\nbind :443\n" + lines + PARTS)


@pytest.mark.parametrize("lines, default, fallback", [
    ("use_backend d if { nbsrv(d) gt 0 }\n", "d", None),
    ("use_backend d if { nbsrv(d) ge 1 }\ndefault_backend x\n", "d", "x"),
    ("acl down nbsrv(d) lt 1\nuse_backend d unless down\ndefault_backend x\n", "d", "x"),
    ("acl down nbsrv(d) eq 0\nuse_backend x if down\nacl up nbsrv(d) gt 0\nuse_backend d if up\n", "d", "x"),
])
def test_a_last_line_that_asks_for_its_own_backend_is_the_default(haproxy, lines, default, fallback):
    got = front(haproxy, lines)
    assert got.value("frontend f", "default-backend") == default
    assert got.sections["backend d"].get("fallback-backend", [None]) == [fallback]
    assert got.code == 0 and {line["state"] for line in got.report["lines"]} == {"carried"}, got.report


def test_another_count_of_servers_is_lost(haproxy):
    for count in ("gt 1", "ge 2", "lt 2"):
        got = front(haproxy, f"use_backend d if {{ nbsrv(d) {count} }}\ndefault_backend x\n")
        assert got.state("use_backend d")[0] == "lost" and got.code == 10


def test_a_line_before_one_that_takes_more_clients_has_no_effect(haproxy):
    got = front(haproxy, "acl new req.ssl_ver gt 3.3\nacl mine req.ssl_sni -i a.example\n"
                "use_backend x if new mine\nuse_backend x if mine\ndefault_backend d\n")
    assert got.state("use_backend x if new")[0] == "no-effect" and got.state("acl new")[0] == "no-effect"
    assert got.sections["frontend f"]["use-backend x"] == ["sni=a.example"] and got.code == 0
    for other in ("use_backend d if mine", "use_backend x if mine old", "use_backend x unless mine"):
        got = front(haproxy, "acl new req.ssl_ver gt 3.3\nacl old src 10.0.0.1\n"
                    "acl mine req.ssl_sni -i a.example\n"
                    f"use_backend x if new mine\n{other}\ndefault_backend d\n")
        assert got.state("use_backend x if new")[0] == "lost", other


def test_what_is_no_name_of_a_server_matches_nobody(haproxy):
    got = front(haproxy, "use_backend x if { req.ssl_sni -m end a.example/path }\ndefault_backend d\n")
    assert got.state("use_backend x")[0] == "no-effect" and got.code == 0 and "sni" not in got.ini
    got = front(haproxy, "use_backend x if { req.ssl_sni -i a.example:443 b.example }\ndefault_backend d\n")
    assert got.sections["frontend f"]["use-backend x"] == ["sni=b.example"]
    assert got.state("use_backend x")[0] == "different" and got.code == 0


def test_a_reject_at_the_end_of_the_delay_comes_at_once(haproxy):
    got = front(haproxy, "tcp-request inspect-delay 5s\n"
                "tcp-request content reject if { src 10.0.0.1 } WAIT_END\ndefault_backend d\n")
    state, why = got.state("tcp-request content reject")
    assert state == "different" and "inspect-delay" in why


# ---- use-server ---------------------------------------------------------------------------------------

SERVERS = ("tcp-request inspect-delay 2s\n{0}\nserver a 10.0.0.1:80{1}\nserver b 10.0.0.2:80{1}\n"
           "server c 10.0.0.3:80{1}\n")
SNI = "{{ req.ssl_sni -i {}.com }}".format


@pytest.fixture(name="pool")
def _pool(haproxy):
    """A backend with rules, behind a frontend with other lines of its own."""
    return lambda rules, words="", front="default_backend p", more="": haproxy(
        "defaults\n" + TIMES + f"{more}\nfrontend f\nbind :80\n{front}\nbackend other\n"
        "server o 10.0.0.9:80\nbackend p\n" + SERVERS.format(rules, words))


def test_a_server_of_a_rule_gets_a_backend_of_its_own(pool):
    got = pool(f"acl is_a req.ssl_sni -i a.com\nuse-server a if is_a\nuse-server b if {SNI('b')}\n"
               "balance leastconn\noption tcp-check\ntimeout queue 3s", " check inter 5s")
    assert routes(got) == ["p-a sni=a.com", "p-b sni=b.com", "* p"]
    assert got.sections["frontend f"]["sniff"] == ["tls timeout=2s"]
    own = got.sections["backend p-a"]
    assert own["server a"] == ["10.0.0.1:80"] and "server b" not in own and "balance" not in own
    assert own["fallback-backend"] == ["p"]
    for key, value in {"check": "tcp", "check-share": "on", "check-interval": "5s", "timeout-queue": "3s",
                       "redispatch": "off"}.items():
        assert got.value("backend p-a", key) == got.value("backend p", key) == value, key
    assert list(got.sections["backend p"])[-3:] == ["server a", "server b", "server c"]
    assert {line["state"] for line in got.report["lines"]} == {"carried"}
    assert any("maintenance" in note for note in got.report["notes"])


def test_the_rules_come_after_the_lines_of_the_frontend(pool):
    got = pool(f"use-server a if {SNI('a')}", front=f"use_backend other if {SNI('x')}\ndefault_backend p")
    assert routes(got) == ["other sni=x.com", "p-a sni=a.com", "* p"]


def test_a_rule_for_those_that_other_rules_leave_out_takes_the_rest(pool):
    got = pool("acl a req.ssl_sni a.com\nacl b req.ssl_sni b.com\nuse-server a if a\nuse-server b if b\n"
               "use-server c if !a !b")
    assert routes(got) == ["p-a sni=a.com", "p-b sni=b.com", "* p-c"]
    assert {line["state"] for line in got.report["lines"]} <= {"carried", "no-effect"}
    assert got.state("default_backend")[0] == got.state("use-server c")[0] == "carried"
    got = pool(f"use-server c unless {SNI('a')}")
    assert routes(got) == ["p sni=a.com", "* p-c"]


def test_a_line_with_a_condition_and_a_rule_must_both_hold(pool):
    front = "use_backend p if { src 10.1.0.0/16 }\ndefault_backend other"
    got = pool(f"use-server a if {SNI('a')}\nuse-server b if {{ src 10.1.0.0/16 }} {SNI('b')}", front=front)
    assert routes(got) == ["p-a src=10.1.0.0/16 sni=a.com", "p-b src=10.1.0.0/16 sni=b.com",
                           "p src=10.1.0.0/16", "* other"]
    got = pool(f"use-server c if !{SNI('a')}", front=front)
    assert routes(got) == ["p src=10.1.0.0/16 sni=a.com", "p-c src=10.1.0.0/16", "* other"]
    assert got.state("use_backend")[0] == "carried"
    got = pool(f"use-server a if {SNI('a')}", front=f"use_backend p if {SNI('b')}\ndefault_backend other")
    assert routes(got) == ["p sni=b.com", "* other"] and "backend p-a" not in got.sections
    assert got.state("use-server") == ("no-effect", "it never holds")


def test_each_frontend_that_leads_there_has_the_rules(pool):
    got = pool(f"use-server a if {SNI('a')}", front="default_backend p\nfrontend g\nbind :81\n"
               "tcp-request inspect-delay 9s\ndefault_backend p")
    assert routes(got) == ["p-a sni=a.com", "* p"]
    other = got.sections["frontend g"]
    assert other["use-backend p-a"] == ["sni=a.com"] and other["sniff"] == ["tls timeout=9s"]
    assert got.state("use-server")[0] == "carried"


@pytest.mark.parametrize("rule, ours", [
    ("use-server a if { req.ssl_sni a.com }", ["p-a sni=a.com", "* p"]),
    ("use-server a if !{ req.ssl_sni a.com }", ["p sni=a.com", "* p-a"]),
])
def test_a_listen_with_rules_becomes_a_frontend_and_a_backend(haproxy, rule, ours):
    got = haproxy("listen p\n" + TIMES + "bind :80\nmaxconn 99\n# even\nbalance source\noption tcpka\n"
                  + SERVERS.format(rule, " check"))
    got.ini = got.ini.replace("[frontend p]", "[frontend f]")
    assert routes(got) == ours
    assert got.sections["frontend p"]["bind"] == ["0.0.0.0:80"]
    assert got.sections["frontend p"]["maxconn"] == ["99"] and "balance" not in got.sections["frontend p"]
    assert got.sections["backend p"]["balance"] == ["source"] and "maxconn" not in got.sections["backend p"]
    assert got.value("frontend p", "tcp-keepalive") == got.value("backend p", "tcp-keepalive") == "on"
    assert "\n# even\nbalance " in got.ini.split("[backend p]")[1]
    assert got.sections["backend p-a"]["fallback-backend"] == ["p"]
    assert list(got.sections)[-3:] == ["frontend p", "backend p", "backend p-a"] and got.code == 0


def test_rank_and_the_lack_of_checks_are_those_of_the_server(haproxy):
    got = haproxy("listen p\n" + TIMES + f"bind :80\nuse-server a if {SNI('a')}\nuse-server b if {SNI('b')}\n"
                  "server a 10.0.0.1:80 weight 0 check\nserver b 10.0.0.2:80 backup send-proxy\n"
                  "server c 10.0.0.3:80 check")
    assert got.sections["backend p"]["server a"] == ["10.0.0.1:80 weight=0"]
    assert got.sections["backend p-a"]["server a"] == ["10.0.0.1:80"]
    assert got.sections["backend p-b"]["server b"] == ["10.0.0.2:80 send-proxy=v1"]
    assert "check" in got.sections["backend p-a"] and "check" not in got.sections["backend p-b"]


def test_a_name_that_is_taken_gets_a_number(pool):
    got = pool(f"use-server a if {SNI('a')}", front="default_backend p\nbackend p-a\nserver x 10.0.0.8:80")
    assert routes(got) == ["p-a-2 sni=a.com", "* p"]


@pytest.mark.parametrize("rules, chain, words", [
    ("use-server a if {0}\nuse-server b if {0}", {"a": "p-b", "b": None}, None),
    ("use-server a if {0}\nuse-server b if {1}\nuse-server c if TRUE", {"a": "p-c", "b": "p-c", "c": "p"},
     None),
    ("use-server a if {0}\nuse-server b if {{ src 10.1.0.0/16 }}", {"a": "p", "b": "p"}, "rules come behind"),
    ("use-server a if {0}\nuse-server b if {1}\nuse-server b if !{0} !{1}", {"a": "p", "b": "p"}, None),
])
def test_a_rule_whose_server_is_down_is_passed_over(pool, rules, chain, words):
    got = pool(rules.format(SNI("a"), SNI("b")), " check")
    for name, to in chain.items():
        assert to is None or got.sections[f"backend p-{name}"]["fallback-backend"] == [to]
    state, why = got.state("use-server a")
    assert (state, words in (why or "")) == ("different", True) if words else state == "carried"


def test_a_server_that_persists_is_not_checked_for_its_rules(pool):
    got = pool(f"option persist\nuse-server a if {SNI('a')}", " check")
    assert not {"check", "fallback-backend"} & set(got.sections["backend p-a"])
    assert "check" in got.sections["backend p"] and got.state("option persist")[0] == "different"


@pytest.mark.parametrize("words, more, line, reason", [
    (" maxconn 9", "", "server a", "maxconn counts in 'p' and in 'p-a'"),
    (" agent-check agent-port 9000", "", "server a", "agent"),
    ("", "option redispatch", "use-server", "no other server of 'p'"),
    ("", "", "stick on", "not kept"),
])
def test_what_two_sections_do_each_alone_is_different(pool, words, more, line, reason):
    stick = "stick-table type ip size 1k expire 5m\nstick on src\n" if line == "stick on" else ""
    got = pool(f"{stick}use-server a if {SNI('a')}", words, more=more)
    state, why = got.state(line)
    assert state == "different" and reason in why


@pytest.mark.parametrize("rule, front, reason", [
    ("use-server a if { srv_is_up(p/b) }", "default_backend p", "decides by"),
    ("use-server x if TRUE", "default_backend p", "server x"),
    ("use-server %[dst_port] if TRUE", "default_backend p", "server %"),
    (f"use-server a if !{SNI('a')}\nuse-server b if {{ srv_is_up(p/b) }}", "default_backend p", "no 'not'"),
    (f"use-server a if {SNI('a')}", "use_backend p if { nbsrv(other) lt 1 }\ndefault_backend other",
     "cannot depend"),
])
def test_a_rule_that_cannot_be_written_is_lost(pool, rule, front, reason):
    got = pool(rule, front=front)
    state, why = got.state("use-server")
    assert state == "lost" and reason in why and "any server of 'p'" in why and "a backend for each" in why
    assert "backend p-a" not in got.sections


def test_rules_behind_a_map_of_names_are_lost(pool, tmp_path):
    (tmp_path / "names.map").write_text("x.com p\n")
    got = pool(f"use-server a if {SNI('a')}",
               front=f"use_backend %[req.ssl_sni,lower,map({tmp_path}/names.map)]\ndefault_backend other")
    assert routes(got) == ["p sni=x.com", "* other"] and got.state("use-server")[0] == "lost"


def test_rules_of_a_backend_that_nobody_reaches_have_no_effect(pool):
    got = pool(f"use-server a if {SNI('a')}", front="default_backend other")
    assert got.state("use-server")[0] == "no-effect" and "backend p-a" not in got.sections


@pytest.mark.parametrize("narrow, wide", [
    ("new ! mine", "mine"), ("new !mine", "mine"), ("new { src 10.0.0.1 10.0.0.2 }", "{ src 10.0.0.1 }"),
    ("{ src 10.0.0.1 10.0.0.2 } new", "{ src 10.0.0.1 }"), ("new || mine", "mine"),
])
def test_a_line_that_takes_other_clients_than_the_next_is_lost(haproxy, narrow, wide):
    got = front(haproxy, "acl new req.ssl_ver gt 3.3\nacl mine req.ssl_sni -i a.example\n"
                f"use_backend x if {narrow}\nuse_backend x if {wide}\ndefault_backend d\n")
    assert got.state(f"use_backend x if {narrow}")[0] == "lost" and got.code == 10


def test_what_is_asked_first_is_left_out_too(haproxy):
    got = front(haproxy, "acl new req.ssl_ver gt 3.3\nuse_backend x if { src 10.0.0.1 } new\n"
                "use_backend x if { src 10.0.0.1 }\ndefault_backend d\n")
    assert got.state("use_backend x if { src 10.0.0.1 } new")[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("last, states, code", [
    ("default_backend b", ["no-effect", "no-effect"], 0), ("default_backend c", ["lost", "lost"], 10),
    ("use_backend c if { src 10.1.0.0/16 }\ndefault_backend b", ["lost", "lost"], 10),
    ("", ["lost", "lost"], 10),
])
def test_a_last_route_that_leads_where_the_default_leads_needs_no_condition(haproxy, last, states, code):
    got = haproxy("defaults\n" + TIMES + "frontend f\nbind 10.0.0.9:443\nacl x hdr(host) y\n"
                  "use_backend c if { src 10.2.0.0/16 }\nuse_backend b if x\n"
                  f"use_backend b if {{ hdr(host) z }}\n{last}\n"
                  "backend b\nserver s 10.0.0.1:80\nbackend c\nserver s 10.0.0.2:80\n")
    assert [got.state("use_backend b if x")[0], got.state("use_backend b if {")[0]] == states
    assert got.code == code and got.state("acl x")[0] == "no-effect"
    assert got.sections["frontend f"]["use-backend c"][0] == "src=10.2.0.0/16"


# ---- files of names: HAProxy 2.6 compares "*.NAME" letter by letter, whatever -m says ------------------


@pytest.mark.parametrize("match, names, ours, state", [
    ("", "a.com\nb.com\n", "sni=@{0}", "carried"),
    ("", "# all\n*.a.com\n.b.com\n  c.com\n", "sni=c.com", "different"),
    ("-m end ", ".a.com\n\n.b.com\r\n", "sni=*.a.com,*.b.com", "carried"),
    ("-m end ", "a.com\n", "sni=.a.com", "different"), ("-m dom ", "a.com\n", "sni=.a.com", "different"),
    ("-m end ", "*.a.com\n.b.com\n", "sni=*.b.com", "different"),
])
def test_a_file_of_names_is_read(front, tmp_path, match, names, ours, state):
    path = tmp_path / "names.lst"
    path.write_text(names)
    got = front(f"use_backend b if {{ req.ssl_sni -i {match}-f {path} }}")
    assert routes(got) == ["b " + ours.format(path), "* a"] and got.code == 0
    assert got.state("use_backend")[0] == state


@pytest.mark.parametrize("names", ["", "*.a.com\n", "# a.com\n"])
def test_a_file_without_names_is_for_nobody(front, tmp_path, names):
    path = tmp_path / "names.lst"
    path.write_text(names)
    got = front(f"use_backend b if {{ req.ssl_sni -m end -f {path} }}")
    assert routes(got) == ["* a"] and got.state("use_backend")[0] == "no-effect"


@pytest.mark.parametrize("match, state", [("", "carried"), ("-m end ", "lost")])
def test_a_file_of_names_that_is_not_here(front, tmp_path, match, state):
    got = front(f"use_backend b if {{ req.ssl_sni {match}-f {tmp_path}/none }}")
    assert got.state("use_backend")[0] == state
