# SPDX-License-Identifier: MIT
"""`weir convert`: regular expressions over server names, which nginx and HAProxy have alike.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import pytest

from test_convert import TIMES, Got, stream

HAPROXY = ("defaults\n" + TIMES + "frontend f\nbind 10.0.0.9:443\ntcp-request inspect-delay 5s\n"
           "tcp-request content accept if {{ req.ssl_hello_type 1 }}\n"
           "use_backend a if {{ req.ssl_sni -m reg {} }}\n"
           "default_backend b\nbackend a\nserver s 10.0.0.1:80\nbackend b\nserver s 10.0.0.2:80\n")
NGINX = ('map $ssl_preread_server_name $u {{ "~*{}" a; default b; }}\n'
         "upstream a {{ server 10.0.0.1:1; }} upstream b {{ server 10.0.0.2:1; }}\n"
         "server {{ listen 443; ssl_preread on; proxy_pass $u; }}")


@pytest.fixture(name="convert")
def _convert(tmp_path):
    def convert(product, pattern):
        if product == "nginx":
            got = Got(tmp_path, stream(NGINX.format(pattern)), name="nginx.conf")
            return got, got.state("~")
        got = Got(tmp_path, HAPROXY.format(pattern.replace("\\", "\\\\")))
        return got, got.state("use_backend")
    return convert


def names(got):
    return [line.split("sni=")[1] for line in got.ini.splitlines() if "sni=" in line]


PRODUCTS = pytest.mark.parametrize("product", ["nginx", "HAProxy"])


@PRODUCTS
@pytest.mark.parametrize("pattern, ours", [
    (r"^(www)?\.a\.com$", "www.a.com"), (r"^(|x)\.a\.com$", "x.a.com"), (r"^a(\.|)\.com$", "a.com"),
    (r"^(|a\.com)$", "a.com"), (r"^a\.(com|)$", "a.com"), (".*", "any"), ("^.+$", "any"), ("^[^.]+", "any"),
    (r"^(a\.com|.*)$", "any"), (r"^[a-z0-9.-]+\.a\.com$", "*.a.com"), (r"(^|\.)a\.com$", ".a.com"),
    (r"^([^.]+\.)+a\.com$", "*.a.com"), (r"^[a-bA-B]\.a\.com$", "a.a.com,b.a.com"),
    (r"^(^|.*\.)a\.com$", ".a.com"),
])
def test_a_pattern_is_exactly_its_names(convert, product, pattern, ours):
    got, state = convert(product, pattern)
    assert names(got) == [ours] and state[0] == "carried" and got.code == 0


@PRODUCTS
@pytest.mark.parametrize("pattern, ours, why", [
    (r".a\.com$", "*.a.com", "'s '.' stands for any"), (r"^.*.a.com$", "*.a.com", "'s '.' stands for any"),
    (r"^(.+.)?a.com$", ".a.com", "'s '.' stands for any"), (r"^a.com$", "a.com", "'s '.' stands for any"),
    (r"^a\.com|b\.com$", "a.com,.b.com", "go on behind it"),
    (r"^a\.com|b\.com$", "a.com,.b.com", "only end so"),
    (r"^a\.com.*$", "a.com", "go on behind it"), (r"x\.example", ".x.example", "go on behind it"),
    (r"^[0-9.]+\.a\.com$", "*.a.com", "only some of the names below"),
    (r"^\d+\.a\.com$", "*.a.com", "only some of the names below"),
    (r"^\w+\.a\.com$", "*.a.com", "only some of the names below"),
    (r"^.{2,3}\.a\.com$", "*.a.com", "only some of the names below"),
    (r"^(\w+\.)*a\.com$", ".a.com", "only some of the names below"),
])
def test_a_pattern_is_nearly_its_names(convert, product, pattern, ours, why):
    got, state = convert(product, pattern)
    assert names(got) == [ours] and state[0] == "different" and why in state[1]
    if "'s '.'" in why or "only" in why:
        assert product in state[1]
    assert got.code == 0


@PRODUCTS
@pytest.mark.parametrize("pattern", [
    "^[^.]+$", r"^\d+$", r"\d+", "^.{5}$", r"^.a\.org$", r"^a\..com$", r"^a.\.com$", "google$", "^x.",
    r"^[^a]\.b$", r"^\d+a\.com$", r"^[^.]+a\.com$", r"^a\.example", r"^a\.com.+$", r"^.*[a-z]+\.a\.com$",
    r"^[a\]\.com$", r"^(a\.)+b\.com$",
])
def test_a_pattern_without_names_of_ours_is_lost(convert, product, pattern):
    got, state = convert(product, pattern)
    assert not names(got) and state[0] == "lost" and "regular expression" in state[1]


@PRODUCTS
@pytest.mark.parametrize("pattern", ["^$", r"^\.a\.com$", r"^a\.\.com$", "^(|)$"])
def test_a_pattern_that_no_name_fits_has_no_effect(convert, product, pattern):
    got, state = convert(product, pattern)
    assert not names(got) and state[0] == "no-effect" and "no name fits" in state[1] and got.code == 0


@pytest.mark.parametrize("pattern, state", [
    (r"~^A\.com$", "different"), (r"~^[A-Z]\.A\.com$", "different"), (r"~*^A\.com$", "carried"),
    (r"~^[A-Za-z0-9.-]+\.a\.com$", "carried"),
])
def test_capital_letters_of_a_pattern_of_nginx(tmp_path, pattern, state):
    got = Got(tmp_path, stream(NGINX.format("").replace("~*", pattern)), name="nginx.conf")
    assert got.state(pattern)[0] == state and got.code == 0
    assert state != "different" or "regards case" in got.state(pattern)[1]
    noted = any("regards case" in note for note in got.report["notes"])
    assert noted == (pattern.startswith("~^") and state == "carried")
