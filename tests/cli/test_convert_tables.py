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


# ---- tables of a peers section, and of another section -------------------------------------------------

PEERS = "peers p\npeer a 10.0.0.3:1024\ntable t type ip size 2k expire 5m store conn_rate(10s)\n"
BACK = "backend {0}\n{1}\nserver s 10.0.0.1:80\nserver t 10.0.0.2:80\n"
KEPT = "src size=2k expire=5m"


def test_a_table_of_a_peers_section_keeps_clients(haproxy):
    got = haproxy(PEERS + "defaults\n" + TIMES + "frontend f\nbind :80\ndefault_backend b\n" +
                  BACK.format("b", "stick on src table p/t"))
    assert got.value("backend b", "sticky") == KEPT and got.code == 0
    assert got.state("stick on")[0] == "carried"
    assert got.state("table t")[0] == "different" and "each machine" in got.state("table t")[1]


def test_a_table_of_another_section_keeps_clients(haproxy):
    got = haproxy("defaults\n" + TIMES + "frontend f\nbind :80\ndefault_backend b\n" +
                  BACK.format("b", "stick on src table t") +
                  "backend t\nstick-table type ip size 2k expire 5m\n")
    assert got.value("backend b", "sticky") == KEPT and got.code == 0
    assert got.state("stick-table")[0] == "carried"


@pytest.mark.parametrize("lines", ["stick on src table p/t", "stick match src table p/t"])
def test_a_table_that_two_sections_keep_clients_in_is_lost(haproxy, lines):
    got = haproxy(PEERS + "defaults\n" + TIMES + "frontend f\nbind :80\ndefault_backend b\n"
                  "use_backend c if { src 10.9.0.0/16 }\n" + BACK.format("b", "stick on src table p/t ") +
                  BACK.format("c", lines))
    assert got.code == 10 and "sticky" not in got.ini


def test_a_table_of_a_peers_section_counts_clients(haproxy):
    got = haproxy(PEERS + "defaults\n" + TIMES + "listen a\nbind :80\n"
                  "tcp-request connection track-sc0 src table p/t\n"
                  "tcp-request connection reject if { sc0_conn_rate(p/t) gt 10 }\nserver s 10.0.0.1:80\n")
    assert got.value("listen a", "rate-limit-per-source") == "10/10s" and got.code == 0
    assert got.state("table t")[0] == "different"


def test_what_one_table_stores_and_another_looks_for_keeps_nobody(haproxy):
    got = haproxy(PEERS + "defaults\n" + TIMES + "frontend f\nbind :80\ndefault_backend b\n" +
                  BACK.format("b", "stick-table type ip size 1k\nstick match src\n"
                                   "stick store-request src table p/t"))
    assert got.state("stick store-request")[0] == got.state("stick match")[0] == "no-effect"
    assert got.code == 0


# ---- several lines: HAProxy stores by the first that it finds something for ----------------------------


@pytest.mark.parametrize("lines, states", [
    (["on src", "on src"], ["carried", "no-effect"]), (["on src", "on dst"], ["carried", "no-effect"]),
    (["on req.rdp_cookie(mstshash)", "on src"], ["different", "carried"]),
    (["on payload_lv(43,1) if { src 10.9.0.0/16 }", "on src", "on src"],
     ["different", "carried", "no-effect"]),
    (["on src", "on req.rdp_cookie(mstshash)"], ["carried", "different"]),
    (["on src if { dst_port 80 }", "on src"], ["lost", "carried"]),
    (["on src", "on src table u"], ["carried", "lost"]),
    (["match src", "match src", "store-request src"], ["carried", "no-effect", "carried"]),
])
def test_the_line_that_keeps_every_client_counts(haproxy, lines, states):
    got = haproxy("defaults\n" + TIMES + "frontend f\nbind :80\ndefault_backend b\n" +
                  BACK.format("b", "stick-table type ip size 2k expire 5m\n" +
                              "\n".join("stick " + line for line in lines)) +
                  "backend u\nstick-table type ip size 1k expire 9m\n")
    assert [line["state"] for line in got.report["lines"] if line["text"].startswith("stick ")] == states
    assert got.value("backend b", "sticky") == KEPT
