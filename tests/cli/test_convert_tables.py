# SPDX-License-Identifier: MIT
"""`weir convert`: tables of HAProxy's that machines share.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES


@pytest.mark.parametrize("lines, more, key", [
    ("stick-table type ip size 1m expire 30m{}\nstick on src\n", "", "sticky"),
    ("stick-table type ip size 1m expire 30s store conn_rate(10s){}\ntcp-request connection track-sc0 src\n"
     "tcp-request connection reject if {{ sc0_conn_rate gt 10 }}\n", "", "rate-limit-per-source"),
    ("tcp-request connection track-sc0 src table t\ntcp-request connection reject if "
     "{{ sc0_conn_rate(t) gt 10 }}\n",
     "backend t\nstick-table type ip size 1m expire 30s store conn_rate(10s){}\n", "rate-limit-per-source"),
])
@pytest.mark.parametrize("peers", [False, True])
def test_a_table_of_peers_is_of_each_machine_alone(haproxy, lines, more, key, peers):
    with_peers = " peers all" if peers else ""
    got = haproxy("peers all\npeer a 10.0.0.3:1024\ndefaults\n" + TIMES + "listen a\nbind :80\n" +
                  lines.format(with_peers) + "server s 10.0.0.1:80\n" + more.format(with_peers))
    state, why = got.state("stick-table")
    assert state == ("different" if peers else "carried") and ("each machine" in (why or "")) == peers
    assert got.value("listen a", key) is not None and got.code == 0
