# SPDX-License-Identifier: MIT
"""`weir convert`: use_backend lines of HAProxy whose backend has the name that the client asks for.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import time

import pytest

from test_convert import TIMES, Got
from test_convert_haproxy import weir_takes

TEXT = ("defaults\n" + TIMES + "frontend f\nbind :443\ntcp-request inspect-delay 5s\n{}\n"
        "default_backend other\nbackend other\nserver s 10.0.0.1:443\n{}")


def backends(*names):
    return "".join(f"backend {name}\nserver s 10.0.0.2:443\n" for name in names)


def routes(got):
    return [f"{key[12:]} {value[0]}" for key, value in got.sections["frontend f"].items()
            if key.startswith("use-backend ")]


@pytest.mark.parametrize("name, names, ours", [
    ("%[req.ssl_sni,lower]", ["www.a.com", "b.com"], ["other sni=other", "www.a.com sni=www.a.com",
                                                      "b.com sni=b.com"]),
    ("%[req_ssl_sni,lower]", ["a.com"], ["other sni=other", "a.com sni=a.com"]),
    ("tls_%[req.ssl_sni,lower]", ["tls_a.com", "tls_b", "a.com", "tls_"], ["tls_a.com sni=a.com",
                                                                            "tls_b sni=b"]),
    ("%[req.ssl_sni,lower]_443", ["a.com_443", "a.com_80"], ["a.com_443 sni=a.com"]),
    ("tls-%[req.ssl_sni,lower]-be", ["tls-a.com-be", "tls-be"], ["tls-a.com-be sni=a.com"]),
    ("x_%[req.ssl_sni,lower]", ["x_a_b.com", "x_.a.com", "x_a..com", "x_B.com", "x_c"], ["x_c sni=c"]),
])
def test_a_backend_with_the_name_of_its_clients_has_a_line(haproxy, tmp_path, name, names, ours):
    got = haproxy(TEXT.format(f"use_backend {name}", backends(*names)))
    assert routes(got) == ours
    assert got.value("frontend f", "default-backend") == "other"
    assert got.value("frontend f", "sniff") == "tls timeout=5s"
    assert got.state("use_backend")[0] == "carried" and got.code == 0 and weir_takes(got, tmp_path)


def test_it_may_ask_for_a_name_first(haproxy):
    got = haproxy(TEXT.format("use_backend %[req.ssl_sni,lower] if { req.ssl_sni -m found }",
                              backends("a.com")))
    assert "a.com sni=a.com" in routes(got) and got.state("use_backend")[0] == "carried" and got.code == 0


def test_a_name_without_a_backend_goes_to_the_default_in_haproxy(haproxy):
    got = haproxy(TEXT.format("use_backend x_%[req.ssl_sni,lower] if { req.ssl_sni -m found }\n"
                              "use_backend other if { req.ssl_sni -i b.com }", backends("x_a.com")))
    assert routes(got) == ["x_a.com sni=a.com", "other sni=b.com"]
    state, why = got.state("use_backend x_")
    assert state == "different" and "default_backend" in why and got.code == 0


@pytest.mark.parametrize("name, more", [
    ("x_%[req.ssl_sni,lower]", backends("a.com")), ("%[req.ssl_sni,lower,field(1,.)]", backends("a.com")),
    ("%[src]", backends("a.com")), ("%[req.ssl_sni]%[src]", backends("a.com")),
    ("%[req.ssl_sni,lower] if { src 10.0.0.0/8 }", backends("a.com")),
])
def test_a_name_that_is_none_of_a_server_is_lost(haproxy, name, more):
    got = haproxy(TEXT.format(f"use_backend {name}", more))
    assert routes(got) == [] and got.state("use_backend")[0] == "lost" and got.code == 10


def test_what_has_no_line_is_said(haproxy):
    got = haproxy(TEXT.format("use_backend x_%[req.ssl_sni]",
                              backends("x_a.com", "x_B.com") + "backend x_c.com\nmode http\n" +
                              "server s 10.0.0.3:80\n"))
    assert routes(got) == ["x_a.com sni=a.com"]
    state, why = got.state("use_backend")
    assert state == "different" and "'B.com'" in why and "'c.com'" in why and got.code == 0


def test_many_rules_and_backends_take_little_time(tmp_path):
    fronts = "".join(f"frontend f{i}\nbind :{i + 1000}\nuse_backend %[req.ssl_sni,lower]\n"
                     for i in range(1000))
    begun = time.monotonic()
    got = Got(tmp_path, "defaults\n" + TIMES + fronts + backends(*(f"a{i}.com" for i in range(1000))))
    assert got.code == 10 and time.monotonic() - begun < 60
