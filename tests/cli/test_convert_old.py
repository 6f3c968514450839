# SPDX-License-Identifier: MIT
"""`weir convert`: what HAProxy once took, and files still have.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

from test_convert import TIMES, Got
from test_convert_haproxy import weir_takes

MAIN = "frontend main *:{port}\nmode {mode}\ndefault_backend {to}\n"
SERVERS = "backend a\nserver s 10.0.0.1:80\nbackend b\nserver s 10.0.0.2:80\n"


def mains(*modes):
    return ("defaults\n" + TIMES + SERVERS +
            "".join(MAIN.format(port=81 + i, mode=mode, to="ab"[i % 2]) for i, mode in enumerate(modes)))


def test_a_second_frontend_of_one_name_has_a_number(haproxy, tmp_path):
    got = haproxy(mains("tcp", "tcp", "tcp"))
    assert [got.sections[f"frontend {name}"]["bind"] for name in ("main", "main-2", "main-3")] == [
        ["0.0.0.0:81"], ["0.0.0.0:82"], ["0.0.0.0:83"]]
    assert [got.sections[f"frontend {name}"]["default-backend"] for name in ("main", "main-2", "main-3")] == [
        ["a"], ["b"], ["a"]]
    assert got.state("frontend main *:81")[0] == "carried"
    for port in 82, 83:
        state, why = got.state(f"frontend main *:{port}")
        assert state == "different" and f"main-{port - 80}" in why
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_frontend_that_is_not_converted_takes_no_name(haproxy):
    got = haproxy(mains("http", "tcp"))
    assert got.sections["frontend main"]["bind"] == ["0.0.0.0:82"]
    assert got.state("frontend main *:82")[0] == "carried"


def test_the_number_of_a_frontend_yields_to_a_name(haproxy, tmp_path):
    got = haproxy(mains("tcp", "tcp") + "listen main-2\nbind :85\nserver s 10.0.0.1:80\n")
    assert got.sections["listen main-2"]["bind"] == ["0.0.0.0:85"]
    assert [s for s in got.sections if s.startswith("frontend")] == ["frontend main", "frontend main-2-2"]
    assert got.code == 0 and weir_takes(got, tmp_path)


def test_a_backend_may_have_the_name_of_a_frontend(haproxy):
    got = haproxy(mains("tcp") + "backend main\nserver s 10.0.0.1:80\nfrontend x\nbind :90\n"
                  "default_backend main\n")
    assert "backend main" in got.sections and got.state("frontend main")[0] == "carried"


def test_many_frontends_of_one_name_take_no_time(tmp_path):
    got = Got(tmp_path, mains(*["tcp"] * 2000))
    assert got.code == 0 and got.sections["frontend main-2000"]["default-backend"] == ["b"]
