# SPDX-License-Identifier: MIT
"""Danger: the daemon keeps privileges that it should have dropped: groups, root, set-uid programs."""

import os
import pwd
import subprocess

import pytest

from harness import driver
from harness.daemon import BINARY
from harness.timing import PATIENCE

CONFIG = "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"
ROOT_WORDS = "keeps running as root"
CHECK_WORDS = "would keep running as root"

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nothing to drop")
GROUPS = ["setpriv", "--groups", "4,27,1000"]


def status(daemon):
    """The lines of /proc/PID/status that all threads must agree on."""
    found = []
    for task in os.listdir(f"/proc/{daemon.pid}/task"):
        with open(f"/proc/{daemon.pid}/task/{task}/status", encoding="ascii", errors="replace") as f:
            lines = dict(line.rstrip("\n").split(":", 1) for line in f if ":" in line)
        found.append({key: lines[key].split() for key in ("Uid", "Gid", "Groups", "NoNewPrivs")})
    assert all(f == found[0] for f in found), found
    return found[0]


def unused_id():
    return next(n for n in range(12345, 60000) if n not in {p.pw_uid for p in pwd.getpwall()})


@root_only
def test_a_number_without_an_entry_is_a_group_too(weir):
    number = str(unused_id())
    found = status(weir(CONFIG, f"user = {number}", wrapper=GROUPS))
    assert (found["Uid"], found["Gid"]) == ([number] * 4, [number] * 4)
    assert found["Groups"] in ([], [number])


@root_only
def test_the_group_that_is_written_wins(weir):
    number = str(unused_id())
    found = status(weir(CONFIG, f"user = {number}\ngroup = 54321", wrapper=GROUPS))
    assert (found["Uid"], found["Gid"]) == ([number] * 4, ["54321"] * 4)
    assert found["Groups"] in ([], ["54321"])


@root_only
@pytest.mark.parametrize("user", ("nobody", "65534"))
def test_a_user_has_the_groups_of_its_entry_alone(weir, user):
    entry = pwd.getpwnam("nobody")
    found = status(weir(CONFIG, f"user = {user}", wrapper=GROUPS))
    assert (found["Uid"], found["Gid"]) == ([str(entry.pw_uid)] * 4, [str(entry.pw_gid)] * 4)
    assert set(found["Groups"]) == {str(g) for g in os.getgrouplist("nobody", entry.pw_gid)}


@root_only
@pytest.mark.parametrize("group", ("", "54321"))
def test_root_keeps_no_groups_of_whoever_started_it(weir, group):
    found = status(weir(CONFIG, f"group = {group}", wrapper=GROUPS))
    assert found["Uid"] == ["0"] * 4
    assert set(found["Groups"]) <= {group}


@pytest.mark.parametrize("user", ("", "nobody"))
def test_no_thread_may_gain_privileges_again(weir, user):
    if user and os.geteuid() != 0:
        pytest.skip("not root: cannot become another user")
    assert status(weir(CONFIG, f"user = {user}"))["NoNewPrivs"] == ["1"]


@root_only
def test_nor_may_one_that_never_was_root(weir):
    daemon = weir(CONFIG, wrapper=["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"])
    found = status(daemon)
    assert (found["Uid"], found["NoNewPrivs"]) == (["12345"] * 4, ["1"])
    assert ROOT_WORDS not in daemon.log()


@root_only
def test_who_stays_root_is_told_once(weir):
    daemon = weir(CONFIG)
    lines = [line for line in daemon.log().splitlines() if ROOT_WORDS in line]
    assert len(lines) == 1 and "'user'" in lines[0] and " warning " in lines[0], daemon.log()
    assert ROOT_WORDS not in weir(CONFIG, "user = nobody").log()


def check(folder, text, *words, **more):
    path = os.path.join(folder, "weir.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[global]\n" + driver.line() + text + CONFIG)
    return subprocess.run([BINARY, *words, path], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, **more)


@root_only
@pytest.mark.parametrize("words", (("check",), ("-c",)))
def test_a_check_by_root_says_so_too(folder, words):
    got = check(folder, "", *words)
    assert got.returncode == 0 and CHECK_WORDS in got.stderr, got
    for text, more in (("user = nobody\n", {}), ("", {"user": 12345, "group": 12345})):
        got = check(folder, text, *words, **more)
        assert got.returncode == 0 and "running as root" not in got.stderr + got.stdout, got
    got = check(folder, "", *words, "-q")
    assert (got.returncode, got.stderr) == (0, ""), got
