# SPDX-License-Identifier: MIT
"""`weir convert` and the variables of the environment in HAProxy files.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import json

import pytest

from test_convert import TIMES, listen
from test_convert_haproxy import weir_takes

# ---- addresses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("address, ours", [
    ('"0.0.0.0:${P}"', "0.0.0.0:${P}"), ('*:"${P}"', "0.0.0.0:${P}"), (':"${P}"', "0.0.0.0:${P}"),
    ('"127.0.0.1:${P-81}"', "127.0.0.1:${P:-81}"), ('"${H}:81"', "${H}:81"), ('"${H}:${P}"', "${H}:${P}"),
    ('"${ALL}"', "${ALL}"), ('[::1]:"${P}"', "[::1]:${P}"), ('*:"${P}-${Q}"', "0.0.0.0:${P}-${Q}"),
    (':"${P}" interface "${IF}"', "0.0.0.0:${P} interface=${IF}"),
    (':"${P}" accept-proxy', "0.0.0.0:${P} accept-proxy"),
])
def test_an_address_of_a_listener_may_have_variables(haproxy, tmp_path, address, ours):
    got = haproxy("defaults\n" + TIMES + f"listen a\nbind {address}\nserver s 10.0.0.1:80\n")
    assert got.sections["listen a"]["bind"] == [ours]
    assert got.state("bind")[0] == "carried" and got.code == 0, got.report
    assert weir_takes(got, tmp_path, P="8081", Q="8082", H="127.0.0.2", ALL="127.0.0.2:83", IF="lo")


def test_listeners_with_variables_stay_apart(haproxy):
    """Several lines of one text are one address; others may be anything."""
    got = haproxy("defaults\n" + TIMES + "".join(
        f'listen {name}\nbind "*:${{{name}}}"\nbind "[::1]:${{{name}}}"\nserver s 10.0.0.1:80\n'
        for name in "abc"))
    assert got.code == 0 and [got.sections[f"listen {name}"]["bind"] for name in "abc"] == [
        [f"0.0.0.0:${{{name}}}", f"[::1]:${{{name}}}"] for name in "abc"]


def test_the_other_words_of_a_listener_with_variables_are_judged(haproxy):
    got = haproxy(listen('bind "*:${P}" backlog none\n'))
    assert got.state('bind "*:${P}"')[0] == "lost" and got.code == 10
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80"]


@pytest.mark.parametrize("address, ours", [
    ('"10.0.0.2:${P}"', "10.0.0.2:${P}"), ('10.0.0.2:"${P-81}"', "10.0.0.2:${P:-81}"),
    ('"${H}:${P}"', "${H}:${P}"), ('"${H-h}"', "${H:-h}"), ('"[::1]:${P}"', "[::1]:${P}"),
    ('"${H-2001:db8::1}":80', "${H:-2001:db8::1}:80"),
])
def test_an_address_of_a_server_may_have_variables(haproxy, address, ours):
    got = haproxy(listen(server=f"server s {address}"))
    assert got.sections["listen a"]["server s"] == [ours] and got.code == 0


def test_a_port_that_is_a_variable_is_not_counted_from(haproxy):
    got = haproxy("defaults\n" + TIMES + 'listen a\nbind "*:${P-80}"\nserver s 10.0.0.1:+1000\n'
                  "server t 10.0.0.2:80\n")
    assert got.state("server s")[0] == "lost" and "server s" not in got.sections["listen a"]


# ---- names of listeners ----------------------------------------------------------------------------------


def test_the_name_of_a_listener_is_a_variable_for_its_address(haproxy, tmp_path):
    got = haproxy(listen("bind lb.example.com:82,10.0.0.9:83 interface eth0\nbind LB.example.com:84\n"
                         "bind lb-example.com:85\n"))
    assert got.sections["listen a"]["bind"] == [
        "10.0.0.9:80", "${ADDRESS_OF_LB_EXAMPLE_COM}:82 interface=eth0", "10.0.0.9:83 interface=eth0",
        "${ADDRESS_OF_LB_EXAMPLE_COM}:84", "${ADDRESS_OF_LB_EXAMPLE_COM_2}:85"]
    state, why = got.state("bind lb.example.com")
    assert state == "different" and "set ADDRESS_OF_LB_EXAMPLE_COM to it" in why and got.code == 0
    address = {"ADDRESS_OF_LB_EXAMPLE_COM": "127.0.0.2", "ADDRESS_OF_LB_EXAMPLE_COM_2": "[::1]"}
    assert weir_takes(got, tmp_path, **address) and not weir_takes(got, tmp_path)


def test_a_name_behind_an_old_section_is_a_variable_too(haproxy):
    got = haproxy("defaults\n" + TIMES + "listen a lb:82\nserver s 10.0.0.1:80\nlisten b\nbind lb:83\n"
                  "server s 10.0.0.1:80\n")
    assert [got.sections[f"listen {name}"]["bind"] for name in "ab"] == [
        ["${ADDRESS_OF_LB}:82"], ["${ADDRESS_OF_LB}:83"]]
    assert got.state("listen a")[0] == "different" and got.code == 0


def test_a_page_may_listen_at_a_name_and_a_variable(haproxy):
    got = haproxy(listen() + 'listen p\nmode http\nbind lb:"${P}"\nstats enable\n')
    assert got.value("stats", "bind") == "${ADDRESS_OF_LB}:${P}"
    assert got.state("bind lb")[0] == "different" and got.code == 0


@pytest.mark.parametrize("address", ["<VIP>:82", "lb", "lb:", "ipv4@lb:82", "lb:x"])
def test_what_is_no_name_is_lost(haproxy, address):
    assert haproxy(listen(f"bind {address}\n")).state("bind " + address)[0] == "lost"


# ---- variables of the file itself -----------------------------------------------------------------------


def test_the_value_of_setenv_is_written_where_it_is_used(haproxy, tmp_path):
    got = haproxy('global\nsetenv P 81\nsetenv HOST "10.0.0.1"\nsetenv T 4000\nsetenv Q "9${P}"\n' +
                  'defaults\nmode tcp\ntimeout connect "${T}"\ntimeout client 10s\ntimeout server 10s\n'
                  'listen a\nbind ":${P}"\nbind ":${Q}"\nserver s "${HOST}:${P}" maxconn "${P}"\n')
    section = got.sections["listen a"]
    assert section["bind"] == ["0.0.0.0:81", "0.0.0.0:981"] and section["timeout-connect"] == ["4s"]
    assert section["server s"] == ["10.0.0.1:81 maxconn=81"]
    assert got.state("setenv P")[0] == "carried" and got.code == 0 and weir_takes(got, tmp_path, P="5")


@pytest.mark.parametrize("word", ["setenv", "presetenv"])
@pytest.mark.parametrize("name", ["REDIS_PASSWORD", "API_TOKEN", "PW", "DB_KEY"])
def test_a_variable_that_is_a_password_is_written_nowhere(haproxy, word, name):
    got = haproxy(f"global\n{word} {name} sesame\n" + listen(
        f'option httpchk\nhttp-check send meth GET uri / hdr X-Auth "${{{name}}}"\n',
        "server s 10.0.0.1:80 check"))
    assert got.state(word)[0] == "different" and f"set {name} in the environment" in got.state(word)[1]
    assert "sesame" not in got.ini + json.dumps(got.report)


def test_presetenv_yields_to_the_environment_in_an_address(haproxy, tmp_path):
    got = haproxy("global\npresetenv P 81\npresetenv P 82\n" + listen('bind ":${P}"\n', server=(
        'server s "10.0.0.1:${P}"')))
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80", "0.0.0.0:${P:-81}"]
    assert got.sections["listen a"]["server s"] == ["10.0.0.1:${P:-81}"]
    assert got.state("presetenv P 81")[0] == "carried"
    assert got.state("presetenv P 82") == ("no-effect", "'P' is set by a line before it")
    assert got.code == 0 and weir_takes(got, tmp_path) and weir_takes(got, tmp_path, P="83")


def test_presetenv_is_a_value_elsewhere(haproxy):
    got = haproxy("global\npresetenv T 4s\n" + listen('timeout connect "${T}"\n'))
    assert got.value("listen a", "timeout-connect") == "4s"
    assert got.state("presetenv T")[0] == "different" and got.code == 0


def test_a_variable_that_nobody_uses_has_no_effect(haproxy):
    got = haproxy('defaults\nbind "${A}"\nglobal\nsetenv A 1\nsetenv B 2\nsetenv B\n' + listen())
    assert got.state("setenv A 1") == ("no-effect", "no line below uses 'A'")
    assert got.state("setenv B 2")[0] == "no-effect" and got.state("setenv B")[0] != "carried"


def test_setenv_outside_global_sets_nothing(haproxy):
    got = haproxy(listen('setenv P 81\nbind ":${P}"\n'))
    assert "0.0.0.0:${P}" in got.sections["listen a"]["bind"] and got.state("setenv P")[0] == "lost"


def test_a_condition_reads_the_variables_of_the_file(haproxy):
    text = "global\n%s\n.if streq(\"$A\",one)\n" + listen().replace("listen a", "listen b") + ".else\n" + \
        listen() + ".endif\n"
    assert "listen b" in haproxy(text % "setenv A one").sections
    assert "listen b" in haproxy(text % "presetenv A one").sections
    assert "listen a" in haproxy(text % "setenv A two").sections


@pytest.mark.parametrize("lines", [
    "".join(f"setenv V{i} \"${{V{i - 1}}}${{V{i - 1}}}\"\n" for i in range(1, 40)),
    "".join(f"setenv V{i} {i}\n" for i in range(20000)) + 'setenv W "${V0}"\n',
], ids=["longer", "more"])
def test_variables_that_grow_are_refused(haproxy, lines):
    got = haproxy("global\nsetenv V0 12345678\n" + lines + listen())
    assert got.code in (1, 10)


# ---- values -----------------------------------------------------------------------------------------------


def test_durations_may_be_variables_with_a_unit(haproxy, tmp_path):
    got = haproxy('defaults\nmode tcp\ntimeout connect "${A}"\ntimeout client "${B-5000}"\n'
                  'timeout server "${C-5m}"\ntimeout check "${D}"\n'
                  'listen a\nbind :80\nserver s 10.0.0.1:80 check inter "${E}"\n')
    section = got.sections["listen a"]
    keys = ("timeout-connect", "timeout-client", "timeout-server", "check-timeout", "check-interval")
    assert [section[key][0] for key in keys] == ["${A}", "${B:-5s}", "${C:-5m}", "${D}", "${E}"]
    assert got.state("timeout")[0] == got.state("server s")[0] == "different" and got.code == 0
    assert "unit" in got.state("timeout check")[1]
    assert weir_takes(got, tmp_path, A="1s", D="2s", E="3s")


def test_numbers_and_words_may_be_variables(haproxy, tmp_path):
    got = haproxy('global\nmaxconn "${N}"\nnbthread "${N}"\n' + listen(
        'maxconn "${N}"\nretries "${N}"\nbalance "${BALANCE-roundrobin}"\nrate-limit sessions "${N}"\n'))
    section = got.sections["listen a"]
    assert [section[key] for key in ("maxconn", "retries", "rate-limit")] == [["${N}"]] * 3
    assert section["balance"] == ["${BALANCE:-roundrobin}"] and got.state("balance")[0] == "different"
    assert got.sections["global"]["threads"] == ["${N}"] and got.code == 0
    assert weir_takes(got, tmp_path, N="7")


def test_a_mode_that_is_tcp_by_default_is_tcp(haproxy):
    got = haproxy(listen('mode "${MODE-tcp}"\n'))
    assert got.state("mode")[0] == "different" and "listen a" in got.sections and got.code == 0
    assert haproxy(listen('mode "${MODE-http}"\n')).code == 1


def test_a_variable_in_a_check_over_tls_is_not_judged(haproxy, tmp_path):
    got = haproxy(listen('option httpchk\nhttp-check connect port "${P}" ssl\n'
                         "http-check send meth GET uri /primary\n",
                         "server s 10.0.0.1:80 check check-ssl verify none"))
    assert got.value("listen a", "check") == "https GET /primary port=${P} verify=none"
    assert got.code == 0 and weir_takes(got, tmp_path, P="8008")


def test_a_frontend_may_lead_nowhere_but_by_variables(haproxy, tmp_path):
    got = haproxy("defaults\n" + TIMES + "frontend f\nbind :80\n"
                  'use_backend b if { req.ssl_sni -i "${NAME}" }\n' "backend b\nserver s 10.0.0.1:80\n")
    assert got.value("frontend f", "use-backend b") == "sni=${NAME}"
    assert got.code == 0 and weir_takes(got, tmp_path, NAME="a.example")


@pytest.mark.parametrize("line", ["server s 10.0.0.1:80 check addr hc.example port 8008",
                                  "default-server addr hc.example port 8008\nserver s 10.0.0.1:80 check"])
def test_a_name_to_check_is_a_variable(haproxy, tmp_path, line):
    got = haproxy(listen("", line))
    assert got.value("listen a", "server s").endswith(" check-addr=${ADDRESS_OF_HC_EXAMPLE}")
    state, why = got.state("server s")
    assert state == "different" and "ADDRESS_OF_HC_EXAMPLE" in why
    assert got.code == 0 and weir_takes(got, tmp_path, ADDRESS_OF_HC_EXAMPLE="10.0.0.7")
