# SPDX-License-Identifier: MIT
"""Danger: a daemon that has given up root cannot reload, or keeps more rights than the reload needs."""

import os
import random
import socket
import subprocess

import pytest

from harness.daemon import BINARY
from harness.service import Service
from harness.timing import PATIENCE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nothing to give up")


@pytest.fixture
def text(weir, closing):  # pylint: disable=unused-argument
    service = Service()
    closing.append(service)
    return f"[listen web]\nbind = 127.0.0.1:0\nserver a = {service.address}\n"


def low_port():
    """A port below 1024 that nobody uses at any address, seldom the one that a test beside this gets."""
    while True:
        port = random.randrange(600, 1024)
        with socket.socket(socket.AF_INET6) as s:
            try:
                s.bind(("::", port))
                return port
            except OSError:
                continue


def echo_of(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE):
        return True


def test_a_low_port_is_opened_by_a_reload_and_left_again(weir, text):
    daemon = weir(text, "user = nobody")
    port = low_port()
    for _ in range(2):
        daemon.reload("bind = 127.0.0.1:0\n", f"bind = 127.0.0.1:0\nbind = 127.0.0.1:{port}\n")
        assert echo_of(port)
        daemon.reload(f"bind = 127.0.0.1:{port}\n", "")
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
        assert "CapEff:\t0000000000000000" in f.read()


def test_overlapping_addresses_of_the_user(weir, text):
    """The first socket was made by root, and belongs to the user."""
    daemon = weir(text, "user = nobody")
    port = low_port()
    first, second = f"bind = :{port}\n", f"bind = 127.0.0.1:{port}\n"
    daemon.reload("bind = 127.0.0.1:0\n", first)
    for old, new in ((first, second), (second, first)):
        daemon.reload(old, new)
        assert echo_of(port)


def test_without_the_right_it_is_named(weir, text):
    daemon = weir(text, wrapper=["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"])
    said = daemon.reload("bind = 127.0.0.1:0\n", f"bind = 127.0.0.1:0\nbind = 127.0.0.1:{low_port()}\n",
                         refused=True)
    assert "CAP_NET_BIND_SERVICE" in said and "not reloaded: cannot listen on " in said, said


@pytest.mark.parametrize("line", ("bind = unix:{}/web.sock", "admin", "log"))
def test_what_only_root_may_create_is_refused_in_words(weir, text, folder, line):
    daemon = weir(text, "user = nobody")
    os.chmod(folder, 0o755)
    if line == "admin":
        change = (f"unix:{daemon.admin}", f"unix:{folder}/admin.sock")
    elif line == "log":
        change = ("[global]\n", f"[global]\nlog = file:{folder}/log\n")
    else:
        change = ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\n" + line.format(folder) + "\n")
    said = daemon.reload(*change, refused=True)
    assert folder in said and ("ermission denied" in said or "may not" in said or "write" in said), said
    assert os.listdir(folder) == []
    daemon.rewrite(*reversed(change))
    daemon.reload()


def test_a_file_that_the_user_may_no_longer_read_is_refused(weir, text):
    daemon = weir(text, "user = nobody")
    os.chmod(daemon.config_path, 0o600)
    said = daemon.reload(refused=True)
    assert daemon.config_path in said and "ermission denied" in said, said
    os.chmod(daemon.config_path, 0o644)
    daemon.reload()


def check(folder, text):
    path = os.path.join(folder, "weir.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o600)
    return subprocess.run([BINARY, "check", path], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


def test_a_check_by_root_says_what_the_user_may_not_do(folder):
    things = (f"log = file:{folder}/log\nadmin-socket = unix:{folder}/admin.sock\n"
              f"[listen web]\nbind = unix:{folder}/web.sock\nserver a = 127.0.0.1:1\n")
    got = check(folder, f"[global]\nuser = nobody\n{things}")
    assert got.returncode == 0, got
    lines = got.stderr.splitlines()
    assert len(lines) == 4 and all(x.startswith("weir: warning: user 'nobody' cannot ") for x in lines), got
    assert [name for name in ("weir.ini", "log", "web.sock", "admin.sock")
            if not any(f"{folder}/{name}" in line for line in lines)] == []
    assert check(folder, f"[global]\nuser = root\n{things}").stderr == ""


def test_the_http_endpoint_moves_between_overlapping_low_ports(weir, text):
    port = low_port()
    first, second = f"[stats]\nbind = :{port}\n", f"[stats]\nbind = 127.0.0.1:{port}\n"
    daemon = weir(text + first, "user = nobody")
    for old, new in ((first, second), (second, first)):
        daemon.reload(old, new)
        assert echo_of(port)
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
        assert "CapEff:\t0000000000000000" in f.read()
