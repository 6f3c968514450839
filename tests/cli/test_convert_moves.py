# SPDX-License-Identifier: MIT
"""`weir convert`: HAProxy's rules that change where a client comes from, or where it goes.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES


@pytest.mark.parametrize("rule, server", [
    ("set-dst var(txn.ip)", "0.0.0.0:443"), ("set-dst var(txn.ip)", ":443"),
    ("set-dst-port int(8443)", "10.0.0.1"),
])
@pytest.mark.parametrize("front", [True, False])
def test_a_server_that_a_rule_replaces_is_lost(haproxy, rule, server, front):
    rule = f"tcp-request content {rule}\n"
    got = haproxy("defaults\n" + TIMES + "frontend f\nbind :443\ndefault_backend b\n" + rule * front +
                  "backend b\n" + rule * (not front) + f"server s {server}\n")
    state, why = got.state("server s")
    assert (state, got.code) == ("lost", 10) and "a rule says" in why and "server s" not in got.ini


@pytest.mark.parametrize("first, second, state", [
    ("connection", "connection", "lost"), ("connection", "content", "lost"),
    ("content", "connection", "carried"),
])
def test_a_list_of_addresses_that_a_rule_has_changed_is_lost(haproxy, first, second, state):
    rule = f"tcp-request {second} reject if {{ src 10.1.8.0 }}"
    got = haproxy("defaults\n" + TIMES + "listen a\nbind :80\n"
                  f"tcp-request {first} set-src src,ipmask(21)\n{rule}\nserver s 10.0.0.1:80\n")
    assert got.state(rule)[0] == state and ("deny-from" in got.ini) == (state == "carried")
    assert got.state(f"tcp-request {first} set-src")[0] == "lost"
