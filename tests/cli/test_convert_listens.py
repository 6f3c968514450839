# SPDX-License-Identifier: MIT
"""`weir convert`: a HAProxy `listen` with servers whose clients all go to another backend.

HAProxy 2.6 warns of it ("the 'default_backend' rule always has precedence over the servers, which will never
be used"), and weir refuses it. Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES

LISTEN = "listen a\nbind :80\nbalance leastconn\nserver s 10.0.0.1:80 check\n"
BACK = "backend b\nserver t 10.0.0.2:80\n"


@pytest.mark.parametrize("line", ["default_backend b", "use_backend b",
                                  "use_backend c if { src 10.9.0.0/16 }\ndefault_backend b"])
def test_its_servers_are_left_out(haproxy, line):
    got = haproxy("defaults\n" + TIMES + LISTEN + line + "\n" + BACK + "backend c\nserver u 10.0.0.3:80\n")
    assert got.code == 0
    assert got.value("frontend a", "default-backend") == "b"
    assert "[listen a]" not in got.ini and "10.0.0.1" not in got.ini
    assert got.state("server s")[0] == "no-effect" and "never uses" in got.state("server s")[1]
    assert got.state(line.rsplit("\n", 1)[-1])[0] == "carried"


def test_a_default_of_defaults_counts(haproxy):
    got = haproxy("defaults\n" + TIMES + "default_backend b\n" + LISTEN + BACK)
    assert got.code == 0 and got.value("frontend a", "default-backend") == "b"


@pytest.mark.parametrize("line", ["default_backend a", "use_backend a if { src 10.9.0.0/16 }\nuse_backend b"])
def test_other_clients_get_its_servers(haproxy, line):
    got = haproxy("defaults\n" + TIMES + LISTEN + "default_backend b\nfrontend f\nbind :81\n" + line + "\n" +
                  BACK)
    assert got.code == 0
    assert got.value("frontend a", "default-backend") == "b"
    assert got.value("backend a", "server s") == "10.0.0.1:80"
    assert got.value("backend a", "balance") == "leastconn"
    assert got.value("frontend f", "default-backend" if line[0] == "d" else "use-backend a") is not None
    assert all(line["state"] == "carried" for line in got.report["lines"])


def test_a_condition_leaves_it_some_clients(haproxy):
    got = haproxy("defaults\n" + TIMES + LISTEN + "use_backend b if { src 10.9.0.0/16 }\n" + BACK)
    assert got.code == 0
    assert got.value("listen a", "server s") == "10.0.0.1:80"


def test_its_servers_may_speak_tls(haproxy):
    got = haproxy("defaults\n" + TIMES + LISTEN[:-1] + " ssl verify none\ndefault_backend b\n" + BACK)
    assert got.code == 0 and got.value("frontend a", "default-backend") == "b"


@pytest.mark.parametrize("kind, state", [("connection", "carried"), ("content", "lost")])
def test_its_rules_for_contents_hold_for_other_clients(haproxy, kind, state):
    rule = f"tcp-request {kind} reject if {{ src 10.9.0.0/16 }}"
    got = haproxy("defaults\n" + TIMES + LISTEN + rule + "\ndefault_backend b\nfrontend f\nbind :81\n"
                  "use_backend a if { src 10.8.0.0/16 }\ndefault_backend b\n" + BACK)
    assert got.value("frontend a", "deny-from") == "10.9.0.0/16"
    assert got.state("tcp-request")[0] == state
