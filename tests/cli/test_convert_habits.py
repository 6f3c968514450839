# SPDX-License-Identifier: MIT
"""`weir convert`: what HAProxy and nginx do without a line that says so, and what the report names of it.

Each of these was found with both programs side by side: tests/system/test_pairs_*.py.
"""

import pytest

from test_convert import listen, stream

CHECKED = "server t 10.0.0.2:80 check\n"

TWO = ("frontend f\nbind :80\ndefault_backend b\n{0}backend b\n{1}server s 10.0.0.1:80\n")
TIMES = "timeout connect 5s\ntimeout client {}\ntimeout server {}\n"


def noted(got, words):
    return any(words in note for note in got.report["notes"])


# ---- HAProxy ----

@pytest.mark.parametrize("servers, ours", [
    ("server a 10.0.0.1:1 id 3\nserver b 10.0.0.2:1 id 1\nserver c 10.0.0.3:1 id 2\n", "bca"),
    # Without an id: the next number that no line has, which is 2, 3 and 4 here.
    ("server a 10.0.0.1:1 id 10\nserver b 10.0.0.2:1\nserver c 10.0.0.3:1 id 1\nserver d 10.0.0.4:1\n",
     "cbda"),
    ("server a 10.0.0.1:1\nserver b 10.0.0.2:1\n", "ab"),
])
def test_the_first_server_is_that_with_the_lowest_id(haproxy, servers, ours):
    got = haproxy(listen("balance first\n", servers))
    assert [key[-1] for key in got.sections["listen a"] if key.startswith("server ")] == list(ours)
    got = haproxy(listen("balance roundrobin\n", servers))
    assert [key[-1] for key in got.sections["listen a"] if key.startswith("server ")] == sorted(ours)


@pytest.mark.parametrize("front, back, value, client_fin, server_fin", [
    ("", "", "5m", None, None),
    ("timeout client-fin 1s\n", "", "5m", "different", None),
    ("timeout client-fin 1s\n", "timeout server-fin 3s\n", "3s", "different",
     "carried"),
    ("timeout client-fin 3s\n", "timeout server-fin 3s\n", "3s", "carried", "carried"),
    ("timeout client-fin 9s\n", "timeout server-fin 3s\n", "9s", "carried",
     "different"),
])
def test_an_answer_after_a_fin_has_the_longer_time(haproxy, front, back, value, client_fin, server_fin):
    got = haproxy("defaults\n" + TIMES.format("1m", "5m") + TWO.format(front, back))
    assert got.value("frontend f", "timeout-half-closed") == value
    for name, state in (("timeout client-fin", client_fin), ("timeout server-fin", server_fin)):
        assert state is None or got.state(name)[0] == state


def test_a_timeout_that_ends_a_half_closed_connection_earlier_is_noted(haproxy):
    assert noted(haproxy("defaults\n" + TIMES.format("1m", "5m") + TWO.format("", "")), "'f': after a FIN")
    assert not noted(haproxy("defaults\n" + TIMES.format("1m", "1m") + TWO.format("", "")), "after a FIN")


def test_a_backend_without_a_limit_keeps_half_closed_connections(haproxy):
    got = haproxy("defaults\ntimeout client 1m\n" + TWO.format("timeout client-fin 1s\n", ""))
    assert got.value("frontend f", "timeout-half-closed") == "0"


def test_a_frontend_whose_backend_is_computed_has_the_time_of_all(haproxy):
    got = haproxy("defaults\n" + TIMES.format("1m", "1m") +
                  TWO.format("use_backend %[req.ssl_sni,lower]\n", "timeout server 9m\n"))
    assert got.value("frontend f", "timeout-half-closed") == "9m"


@pytest.mark.parametrize("more, words", [
    ("", "HAProxy sends a client FIN"),
    ("server t 10.0.0.2:80 check\n", "HAProxy ends a health check with a reset"),
    ("server t 10.0.0.2:80 check\n", "HAProxy counts the interval of checks from the end"),
    ("option httpchk GET /x\nserver t 10.0.0.2:80 check\n", "'a': HAProxy's check by HTTP has no Host"),
    ("server t 10.0.0.2:80 check send-proxy check-send-proxy\n"
     "server u 10.0.0.3:80 check send-proxy-v2 check-send-proxy\n", "has the version of the first server"),
    ("balance source\n", "'a': a redispatch of HAProxy hashes again"),
    ("retries 2\n", "HAProxy tries a server that did not answer"),
    ("acl n req.ssl_sni x.example.com\nuse_backend a if n\n", "without -i, HAProxy compares"),
])
def test_a_habit_is_noted(haproxy, more, words):
    assert noted(haproxy(listen(more)), words)


@pytest.mark.parametrize("more, words", [
    ("", "health check"), ("server t 10.0.0.2:80 check send-proxy check-send-proxy\n", "of the first server"),
    ("", "Host"), ("", "hashes again"), ("", "without -i"),
    ("retries 0\n", "HAProxy tries a server that did not answer"),
    ("option httpchk GET / HTTP/1.1\\r\\nHost:\\ x\nserver t 10.0.0.2:80 check\n", "Host"),
    ("balance source\nno option redispatch\n", "hashes again"),
    ("acl n req.ssl_sni -i x.example.com\nuse_backend a if n\n", "without -i"),
])
def test_a_habit_that_does_not_matter_is_not_noted(haproxy, more, words):
    assert not noted(haproxy(listen(more)), words)


def test_a_ping_that_is_not_of_redis_stays_as_it_is(haproxy):
    more = "option tcp-check\ntcp-check send PING\\n\ntcp-check expect string {}PONG\n" + CHECKED
    assert haproxy(listen(more.format("+"))).value("listen a", "check") == "redis"
    got = haproxy(listen(more.format("")))
    assert got.value("listen a", "check") == 'send "PING\\n" expect="PONG"' and got.code == 0


@pytest.mark.parametrize("expected, ours", [
    ("rstatus ^(2|404)", "200-299,404"), ("rstatus (2|3)[0-9][0-9]", "200-399"), ("rstatus ^200$", "200"),
    ("rstatus ^2\\d\\d", "200-299"), ("rstatus ^(?:20[0-4]|30.)", "200-204,300-309"),
    ("! status 500", "100-499,501-599"), ("! status 400-499,503", "100-399,500-502,504-599"),
    ("! rstatus ^5", "100-499"),
])
def test_a_pattern_of_statuses_takes_the_same(haproxy, expected, ours):
    got = haproxy(listen(f"option httpchk GET /x\nhttp-check expect {expected}\n" + CHECKED))
    assert got.value("listen a", "check") == f"http GET /x expect={ours}" and got.code == 0


@pytest.mark.parametrize("expected", ["rstatus ^[0-9]{3}", "rstatus ^..1", "rstatus (", "rstatus 9",
                                      "! status 99", "! status 100-599", "rstatus " + "2" * 65])
def test_statuses_that_are_no_ranges_are_lost(haproxy, expected):
    got = haproxy(listen(f"option httpchk GET /x\nhttp-check expect {expected}\n" + CHECKED))
    assert got.state("http-check expect")[0] == "lost"


# ---- nginx ----

def upstream(servers, more=""):
    return stream("upstream u { " + servers + " }\nserver { listen 80; proxy_pass u; " + more + "}\n")


def test_nginx_uses_all_backups(nginx):
    got = nginx(upstream("server 10.0.0.1:1; server 10.0.0.2:1 backup;"))
    assert got.value("listen u", "allbackups") is None
    got = nginx(upstream("server 10.0.0.1:1; server 10.0.0.2:1 backup; server 10.0.0.3:1 backup;"))
    assert got.value("listen u", "allbackups") == "on" and got.code == 0


@pytest.mark.parametrize("servers, retries, observe", [
    ("server 10.0.0.1:1; server 10.0.0.2:1 backup;", "2", "connect"),
    ("server 10.0.0.1:1; server 10.0.0.3:1; server 10.0.0.2:1 backup;", None, "connect"),    # 3, our default
    ("server 10.0.0.1:1 max_fails=4; server 10.0.0.2:1 backup;", "5", "connect limit=4"),
    ("server 10.0.0.1:1 max_fails=0; server 10.0.0.2:1 backup;", "2", "connect"),
])
def test_nginx_a_refused_client_gets_as_far_as_the_backup(nginx, servers, retries, observe):
    got = nginx(upstream(servers))
    assert (got.value("listen u", "retries"), got.value("listen u", "observe")) == (retries, observe)
    assert noted(got, "nginx gives a client")
    state = got.state("server 10.0.0.1:1")[0]
    assert state == ("different" if "max_fails=0" in servers else "carried")
    assert nginx(upstream(servers, "proxy_next_upstream_tries 1;")).value("listen u", "retries") == "0"


def test_nginx_lets_no_client_wait_for_a_place(nginx):
    got = nginx(upstream("server 10.0.0.1:1 max_conns=3;"))
    assert got.value("listen u", "timeout-queue") == "1ms"
    assert nginx(upstream("server 10.0.0.1:1 max_conns=0;")).value("listen u", "timeout-queue") is None


def mapped(entries):
    return stream("map $ssl_preread_server_name $u { hostnames; " + entries + " }\n" +
                  "".join(f"upstream {u} {{ server 10.0.0.1:1; }}\n" for u in "and") +
                  "server { listen 443; ssl_preread on; proxy_pass $u; }")


def routes(got):
    return [" ".join(line.split()[1:]) for line in got.ini.splitlines() if line.startswith("use-backend")]


def test_nginx_what_is_not_tls_has_an_empty_name(nginx):
    got = nginx(mapped('a.com a; "" n; default d;'))
    assert routes(got) == ["a = sni=a.com", "d = sni=any"]
    assert got.value("frontend u", "default-backend") == "n" and got.code == 0
    assert noted(got, "nginx ends a client that sends nothing")
    got = nginx(mapped('a.com a; "~^$" n; default d;'))
    assert routes(got) == ["a = sni=a.com"] and got.value("frontend u", "default-backend") == "d"
    assert got.state("~^$")[0] == "no-effect"
    got = nginx(mapped('a.com a; "" d; default d;'))
    assert routes(got) == ["a = sni=a.com", "d = sni=none"]
    assert got.value("frontend u", "default-backend") == "d"
    got = nginx(mapped('a.com a; "" n;'))
    assert routes(got) == ["a = sni=a.com", "closed = sni=any"]
    assert got.value("frontend u", "default-backend") == "n" and got.code == 0


def test_nginx_half_closed_connections_have_the_time_of_idle_ones(nginx):
    got = nginx(upstream("server 10.0.0.1:1;", "proxy_half_close on; proxy_timeout 5m; "))
    assert got.value("listen u", "timeout-half-closed") == "5m"
    assert got.state("proxy_half_close on")[0] == "carried"
    assert nginx(upstream("server 10.0.0.1:1;")).value("listen u", "timeout-half-closed") is None


def test_nginx_takes_addresses_in_headers_only_from_those_it_trusts(nginx):
    block = "server {{ listen 80 proxy_protocol; {} proxy_pass 10.0.0.1:1; }}"
    got = nginx(stream(block.format("")))
    assert got.state("listen 80")[0] == "different" and "set_real_ip_from" in got.state("listen 80")[1]
    got = nginx(stream(block.format("set_real_ip_from 10.0.0.0/8; proxy_protocol on;")))
    assert got.state("listen 80")[0] == "carried" and noted(got, "as the destination")
