# SPDX-License-Identifier: MIT
"""Danger: a limit of the machine takes effect later without a warning; or `doctor` warns without cause."""

import json
import os
import resource
import shutil
import subprocess

import pytest

from harness.daemon import BINARY
from harness.timing import PATIENCE

SETPRIV = shutil.which("setpriv")
SECTION = "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\n"


@pytest.fixture
def written(folder):
    def write(config):
        path = os.path.join(folder, "doctor.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(config)
        os.chmod(path, 0o644)
        return path
    return write


def doctor(*args, wrapper=(), fds=None):
    def limit():
        if fds:
            resource.setrlimit(resource.RLIMIT_NOFILE, (fds, fds))
    return subprocess.run([*wrapper, BINARY, "doctor", *args], capture_output=True, text=True,
                          timeout=PATIENCE, preexec_fn=limit, stdin=subprocess.DEVNULL)


def check_of(report, name):
    return next(c for c in json.loads(report.stdout)["checks"] if c["name"] == name)


def nobody():
    if os.geteuid() != 0 or not SETPRIV:
        pytest.skip("not root, or no setpriv: cannot be another user")
    return [SETPRIV, "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.smoke
def test_without_a_file_and_without_a_daemon_it_answers(written):
    if os.path.exists("/etc/weir/weir.ini"):
        pytest.skip("this machine has a configuration of its own")
    got = doctor()
    assert got.returncode in (0, 3) and got.stderr == ""
    assert got.stdout.startswith("no configuration file, so with the defaults: maxconn ")
    assert "open files" in got.stdout and "net.core.somaxconn" in got.stdout


@pytest.mark.smoke
def test_a_number_that_does_not_fit_ends_with_3_and_the_command(written):
    path = written("[global]\nmaxconn = 5000\n" + SECTION)
    got = doctor("-f", path, fds=1024)
    assert got.returncode == 3, got.stdout
    lines = got.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "open files" in line)
    assert lines[at].startswith("warn ") and "1024 (maxconn 5000)" in lines[at]
    assert lines[at + 2].strip().startswith("fix: LimitNOFILE=10"), lines[at + 2]
    quiet = doctor("-q", "-f", path, fds=1024)
    assert quiet.returncode == 3
    assert not any(line.startswith("ok") for line in quiet.stdout.splitlines()), quiet.stdout


def test_automatic_numbers_are_hints_at_most(written):
    got = doctor("-f", written("[global]\nthreads = 1\n" + SECTION), "--json", fds=1024)
    assert check_of(got, "open files")["verdict"] == "hint"
    assert got.returncode == (3 if json.loads(got.stdout)["warnings"] else 0)


def test_json_holds_every_check_with_its_words(written):
    path = written("[global]\nmaxconn = 5000\n" + SECTION)
    report = json.loads(doctor("-f", path, "--json", fds=1024).stdout)
    assert report["file"] == path and report["maxconn"] == 5000
    assert len(report["checks"]) >= 15
    for check in report["checks"]:
        assert set(check) == {"name", "verdict", "current", "wanted", "fix", "about"}
        assert check["verdict"] in ("ok", "hint", "warn", "unknown")
        assert bool(check["fix"]) == (check["verdict"] in ("hint", "warn")), check
    counted = [sum(c["verdict"] == v for c in report["checks"]) for v in ("warn", "hint", "unknown")]
    assert counted == [report["warnings"], report["hints"], report["unknown"]]


def test_pipes_are_judged_for_the_user_that_the_daemon_becomes(written):
    nobody()
    asked = "[global]\nmaxconn = 4000\nmaxpipes = 3000\n"
    root = check_of(doctor("-f", written(asked + SECTION), "--json"), "fs.pipe-user-pages-soft")
    user = check_of(doctor("-f", written(asked + "user = nobody\n" + SECTION), "--json"),
                    "fs.pipe-user-pages-soft")
    with open("/proc/sys/fs/pipe-user-pages-soft", encoding="ascii") as f:
        pages = int(f.read())
    if pages == 0 or pages > 50000:
        pytest.skip(f"fs.pipe-user-pages-soft is {pages}: no limit to see")
    assert user["verdict"] == "warn" and user["current"] == str(pages), user
    if root["verdict"] != "ok":
        print(f"root has no privilege for pipes here: {root}")


def test_a_low_port_is_for_those_who_may(written):
    path = written("[listen l]\nbind = 127.0.0.1:443\nserver a = 127.0.0.1:9\n")
    name = "net.ipv4.ip_unprivileged_port_start"
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as f:
        start = int(f.read())
    got = check_of(doctor("-f", path, "--json", wrapper=nobody()), name)
    assert got["verdict"] == ("warn" if start > 443 else "ok"), got
    assert check_of(doctor("-f", path, "--json"), name)["verdict"] == "ok"


def test_a_kernel_that_says_nothing_is_unknown_and_no_error(written):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("not root, or no unshare: cannot hide /proc/sys")
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/sys && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount over /proc/sys")
    got = doctor("-f", written(SECTION), "--json", wrapper=hide)
    assert got.returncode == 0, got.stderr
    assert check_of(got, "net.core.somaxconn")["verdict"] == "unknown"
    assert check_of(got, "open files")["verdict"] in ("ok", "hint")


def test_wrong_words_and_wrong_files_are_told_apart(written):
    assert doctor("please").returncode == 2
    assert doctor("-f", written(SECTION + "nonsense = 1\n")).returncode == 1


def test_the_daemon_says_at_its_start_what_will_bite_and_else_nothing(weir, peers):
    listener = peers.listen()
    section = f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
    with open("/proc/sys/net/core/somaxconn", encoding="ascii") as f:
        somaxconn = int(f.read())
    if somaxconn >= 65535:
        pytest.skip(f"net.core.somaxconn is {somaxconn}: no backlog is larger")
    quiet = weir(section, "threads = 1")
    assert "doctor:" not in quiet.log(), quiet.log()
    daemon = weir(section.replace(":0\n", f":0 backlog={somaxconn + 1}\n"), "threads = 1")
    lines = [line for line in daemon.log().splitlines() if "doctor:" in line]
    assert len(lines) == 1 and " warning " in lines[0], daemon.log()
    assert f"sysctl -w net.core.somaxconn={somaxconn + 1}" in lines[0]
