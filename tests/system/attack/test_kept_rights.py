# SPDX-License-Identifier: MIT
"""Danger: a right that control keeps for later binds is more than a bind needs, or reaches another thread."""

import contextlib
import os
import pwd
import re
import socket
import stat

import pytest

from harness import manager, process, trace
from harness.daemon import sanitized
from harness.timing import PATIENCE

NET_BIND_SERVICE, NET_ADMIN = 1 << 10, 1 << 12
SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")
# The name starts the thread that looks names up.
SERVERS = "[backend b]\nserver a = localhost:1\n"
AMBIENT = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups",
           "--inh-caps=-all,+net_bind_service", "--ambient-caps=-all,+net_bind_service"]
CONFIG = "[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nothing to keep")


def capabilities(pid, task):
    with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as f:
        lines = dict(line.rstrip("\n").split(":", 1) for line in f if ":" in line)
    return {name: int(lines[name], 16) for name in SETS}


def threads(daemon):
    """The capabilities of the main thread, and those of all others that weir starts. ThreadSanitizer starts
    one of its own, which has the name of the main thread."""
    pid = daemon.pid
    foreign = process.named_threads(pid, "weir") if sanitized() else []
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):    # it has just ended
            found[int(task)] = capabilities(pid, task)
    main = found.pop(pid)
    found = {task: caps for task, caps in found.items() if task not in map(int, foreign)}
    assert len(found) >= 2, found
    return main, list(found.values())


def only(permitted):
    return {**dict.fromkeys(SETS, 0), "CapPrm": permitted}


def own_rights():
    return capabilities(os.getpid(), os.getpid())["CapPrm"]


@root_only
@pytest.mark.parametrize("binds, options, kept", (
    ("bind = 127.0.0.1:0\n", "", NET_BIND_SERVICE),
    ("bind = 127.0.0.1:0\n", "mark = 7\n", NET_BIND_SERVICE | NET_ADMIN),
    ("bind = 127.0.0.1:0\nbind = 127.0.0.1:0 transparent\n", "", NET_BIND_SERVICE | NET_ADMIN)))
def test_control_alone_keeps_what_its_binds_need(weir, binds, options, kept):
    if own_rights() & kept != kept:
        pytest.skip("root without the capabilities")
    daemon = weir(f"[frontend f]\n{binds}{options}default-backend = b\n{SERVERS}", "user = nobody")
    main, others = threads(daemon)
    assert main == only(kept)
    assert process.named_threads(daemon.pid, "weir-log") and process.named_threads(daemon.pid, "worker 0")
    assert all(caps == only(0) for caps in others), others


@root_only
@pytest.mark.parametrize("user", ("", "root"))
def test_who_stays_root_keeps_what_it_has(weir, user):
    main, others = threads(weir(CONFIG, f"user = {user}"))
    assert main["CapPrm"] == main["CapEff"] == own_rights()
    assert all(caps == main for caps in others), others


@root_only
def test_root_without_the_right_keeps_none(weir):
    without = ["setpriv", "--bounding-set=-net_bind_service"]
    main, others = threads(weir(CONFIG, "user = nobody", wrapper=without))
    assert all(caps == only(0) for caps in [main, *others]), (main, others)


@root_only
def test_ambient_rights_stay_as_they_are(weir):
    main, others = threads(weir(CONFIG, wrapper=AMBIENT))
    assert main == dict.fromkeys(SETS, NET_BIND_SERVICE)
    assert all(caps == main for caps in others), others


def owners(daemon):
    """{inode: (uid, gid)} of the daemon's sockets."""
    found = {}
    for fd in os.listdir(f"/proc/{daemon.pid}/fd"):
        info = os.stat(f"/proc/{daemon.pid}/fd/{fd}")
        if stat.S_ISSOCK(info.st_mode):
            found[info.st_ino] = (info.st_uid, info.st_gid)
    return found


def listening(daemon):
    """{port: inode} of what listens in this network namespace, for the daemon's sockets."""
    found = {}
    mine = owners(daemon)
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{daemon.pid}/net/{name}", encoding="ascii") as f:
            rows = [line.split() for line in f.readlines()[1:]]
        for row in rows:
            if row[3] == "0A" and int(row[9]) in mine:
                found[int(row[1].rpartition(":")[2], 16)] = int(row[9])
    return found


@root_only
@pytest.mark.parametrize("user", ("nobody", ""))
def test_listening_sockets_of_ours_belong_to_the_user_and_passed_ones_do_not(weir, user):
    entry = pwd.getpwnam("nobody")
    with socket.create_server(("127.0.0.1", 0)) as passed:
        daemon = weir("[listen own]\nbind = 127.0.0.1:0\nbind = :0\nserver a = 127.0.0.1:1\n"
                      "[listen passed]\nbind = fd@web\nserver a = 127.0.0.1:1\n",
                      f"user = {user}", **manager.passing("web", passed))
        own, theirs, owner = listening(daemon), passed.getsockname()[1], owners(daemon)
        assert owner[own.pop(theirs)] == (0, 0)
        assert len(own) == 2
        expected = (entry.pw_uid, entry.pw_gid) if user else (0, 0)
        assert {owner[inode] for inode in own.values()} == {expected}
        assert os.fstat(passed.fileno()).st_uid == 0


# ---- calls that fail ----


def under_strace(folder, *faults, calls="capget,capset,fchown,prctl"):
    """A wrapper under which these calls of the daemon are traced to a file, and fail as `faults` say."""
    if trace.missing():
        pytest.skip(trace.missing())
    words = ["strace", "-D", "-f", "-qq", "-o", os.path.join(folder, "calls"), "-e", f"trace={calls}",
             "-e", "signal=none"]
    for fault in faults:
        words += ["-e", f"inject={fault}"]
    return words


def calls(folder):
    with open(os.path.join(folder, "calls"), encoding="utf-8", errors="replace") as f:
        return f.read().splitlines()


def nth_prctl(weir, folder, word):
    """Which of the main thread's prctl calls has this word?"""
    daemon = weir(CONFIG, "user = nobody", wrapper=under_strace(folder))
    mine = [line for line in calls(folder) if re.match(rf"{daemon.pid}\s+prctl\(", line)]
    return next(n for n, line in enumerate(mine, 1) if word in line)


@root_only
@pytest.mark.release_only
def test_with_ambient_rights_nothing_is_called(weir, folder):
    os.chmod(folder, 0o777)
    weir(CONFIG, wrapper=[*AMBIENT, *under_strace(folder)])
    called = [line for line in calls(folder) if re.search(r" (capget|capset|fchown)\(", line)]
    assert not called, called
    assert not any("PR_SET_KEEPCAPS" in line for line in calls(folder))


@root_only
@pytest.mark.release_only
@pytest.mark.parametrize("call", ("capget", "capset", "prctl"))
def test_a_right_that_cannot_be_kept_is_given_up_and_logged(weir, folder, call):
    when = nth_prctl(weir, folder, "PR_SET_KEEPCAPS") if call == "prctl" else 1
    daemon = weir(CONFIG, "user = nobody", wrapper=under_strace(folder, f"{call}:error=EPERM:when={when}"))
    main, others = threads(daemon)
    assert all(caps == only(0) for caps in [main, *others]), (main, others)
    assert daemon.log().count(" notice cannot keep the right to bind ports below 1024: ") == 1, daemon.log()


@root_only
@pytest.mark.release_only
def test_a_socket_that_cannot_be_given_away_is_logged_once(weir, folder):
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n",
                  "user = nobody", wrapper=under_strace(folder, "fchown:error=EPERM:when=1+"))
    assert set(owners(daemon)[inode] for inode in listening(daemon).values()) == {(0, 0)}
    assert daemon.log().count(" notice cannot give the listening socket ") == 1, daemon.log()
    assert threads(daemon)[0] == only(NET_BIND_SERVICE)


@root_only
@pytest.mark.release_only
def test_a_daemon_with_too_many_rights_does_not_start(weir, folder):
    # The first capset changes nothing, the second gives up what is not kept.
    wrapper = under_strace(folder, "capset:error=EPERM:when=2")
    daemon = weir(CONFIG, "user = nobody", launch_only=True, wrapper=wrapper)
    assert daemon.child.wait(PATIENCE) == 3, daemon.log()
    daemon.ended = True
    daemon.expected_alarms = words = "cannot give up the capabilities of root: Operation not permitted"
    assert words in daemon.log()
