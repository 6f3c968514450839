# SPDX-License-Identifier: MIT
"""A server that clients choose by name (sni@): what it needs, what cannot go with it, and -T."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))

FRONT = """[global]
user = root
[frontend in]
bind = :8443
sniff = tls
maxconn-per-source = 10
default-backend = out
"""
BACK = "[backend out]\nserver any = sni@443\nallow-sni = .example.com\n"


def run(tmp_path, text, *args):
    path = tmp_path / "x.ini"
    path.write_text(text)
    return subprocess.run([WEIR, *args, str(path)], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)


def judged(tmp_path, text):
    got = run(tmp_path, text, "-c")
    return got.returncode, got.stderr


def test_what_is_complete_has_no_message(tmp_path):
    assert judged(tmp_path, FRONT + BACK) == (0, "")


REFUSED = {
    "health check": ("sni@443", "sni@443 check", "a health check cannot go with a server sni@"),
    "agent": ("sni@443", "sni@443 check-agent=9000", "check-agent cannot go with a server sni@"),
    "backup": ("sni@443", "sni@443 backup", "'backup' cannot go with a server sni@"),
    "source": ("sni@443", "sni@443 source=client", "source=client cannot go with a server sni@"),
    "header": ("sni@443", "sni@443 send-proxy", "send-proxy cannot go with a server sni@"),
    "slowstart": ("sni@443", "sni@443 slowstart=3s", "slowstart cannot go with a server sni@"),
    "another": ("allow-sni", "server b = 10.0.0.1:443\nallow-sni", "another server cannot go with"),
    "hashing": ("allow-sni", "balance = maglev\nallow-sni", "hashing cannot go with a server sni@"),
    "sticky": ("allow-sni", "sticky = src\nallow-sni", "'sticky' cannot go with a server sni@"),
    "observe": ("allow-sni", "observe = connect\nallow-sni", "'observe' cannot go with a server sni@"),
    "fallback": ("allow-sni", "fallback-backend = b\n[backend b]\nserver b = 10.0.0.1:443\n[backend c]\n"
                 "server c = sni@443\nallow-sni", "'fallback-backend' cannot go with a server sni@"),
    "names": ("allow-sni = .example.com\n", "", "a server sni@ without 'allow-sni'"),
    "name": (".example.com", "a..b", "'a..b' is not a valid server name"),
    "any": (".example.com", "any", "'any' is not a name that clients can be sent to"),
    "file": (".example.com", "@nowhere.txt", "cannot read"),
    "network": ("allow-sni", "allow-to = 10.0.0.1/8\nallow-sni", "is not a valid network"),
    "many names": (".example.com", "x" * 40 + ".example.com" + (" " + "y" * 40 + ".example.com") * 40,
                   "a list of 'allow-sni' has at most 2048 bytes"),
    "many networks": ("allow-sni", "allow-to =" + "".join(f" 10.0.{n}.0/24" for n in range(65)) +
                      "\nallow-sni", "'allow-to' takes at most 64 networks"),
    "sniff": ("sniff = tls\n", "", "add a line to 'in': sniff = tls"),
    "port": ("sni@443", "sni@0", "a server needs a port"),
    "set": ("server any = sni@443", "servers any = dns://sni@443", "is for 'server'"),
    "bind": (":8443", "sni@8443", "sni@ is for 'server'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_go_with_it_is_refused(what, tmp_path):
    old, new, message = REFUSED[what]
    text = FRONT + BACK
    assert old in text
    code, said = judged(tmp_path, text.replace(old, new, 1))
    assert code == 1 and "error: " in said and message in said, said


def test_a_refused_list_of_names_has_no_second_message(tmp_path):
    code, said = judged(tmp_path, (FRONT + BACK).replace(".example.com", "a..b", 1))
    assert code == 1 and said.count("error: ") == 1, said


def test_a_refused_limit_per_source_has_no_second_message(tmp_path):
    code, said = judged(tmp_path, FRONT.replace("per-source = ", "per-source = x") + BACK)
    assert code == 1 and "has no 'maxconn-per-source'" not in said, said


def test_being_a_fallback_is_refused(tmp_path):
    text = FRONT.replace("= out", "= first") + BACK
    code, said = judged(tmp_path, text + "[backend first]\nserver a = 10.0.0.1:443\nfallback-backend = out\n")
    assert code == 1 and "being a fallback cannot go with" in said, said


WARNED = {
    "everything": (".example.com", "*", "weir is an open proxy"),
    "everywhere": ("allow-sni", "allow-to = ::/0\nallow-sni", "'allow-to' has every address"),
    "sources": ("maxconn-per-source = 10\n", "", "has no 'maxconn-per-source'"),
    "unused": ("sni@443", "10.0.0.1:443", "'allow-sni' has no effect"),
}


@pytest.mark.parametrize("what", WARNED)
def test_what_is_dangerous_or_idle_is_a_warning(what, tmp_path):
    old, new, message = WARNED[what]
    code, said = judged(tmp_path, (FRONT + BACK).replace(old, new, 1))
    assert code == 0 and said.count("warning: ") == 1 and message in said, said


@pytest.mark.parametrize("server", ["sni@443", "sni@*", "sni@443 maxconn=20 source=10.0.0.1"])
def test_what_is_printed_reads_back(server, tmp_path):
    (tmp_path / "names.txt").write_text("www.example.org\n")
    text = FRONT + BACK.replace("sni@443", server).replace(
        ".example.com", "a.example.com, *.b.example.com @names.txt") + "allow-to = 10.0.0.0/8 2001:db8::/32\n"
    first = run(tmp_path, text, "-T")
    assert first.returncode == 0, first.stderr
    line = next(one for one in first.stdout.splitlines() if one.startswith("server any = "))
    assert set(server.split()) <= set(line.split()), line
    assert "allow-sni = a.example.com *.b.example.com @" in first.stdout
    assert "allow-to = 10.0.0.0/8 2001:db8::/32" in first.stdout
    again = run(tmp_path, first.stdout, "-T")

    def plain(printed):
        return [line.partition(" # ")[0].rstrip() for line in printed.splitlines()[1:]]
    assert plain(again.stdout) == plain(first.stdout)
