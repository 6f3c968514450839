# SPDX-License-Identifier: MIT
"""Danger: the operator cannot reach a daemon whose configuration has no admin socket, a stranger can, or a
file of another daemon is removed."""

import os
import stat
import subprocess

import pytest

from harness.daemon import BINARY
from harness.timing import PATIENCE, wait_until

NO_ADMIN = "admin-socket ="
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
NOBODY = 65534
STRANGER = 54321


def ready(weir, text, environment=None, **kw):
    """A daemon without an admin socket. If it has a path, its control socket is what the harness asks."""
    environment = {"RUNTIME_DIRECTORY": "", **(environment or {})}
    daemon = weir(text, launch_only=True, environment=environment, **kw)
    wait_until(lambda: "ready:" in daemon.log(), lambda: f"ready\n{daemon.log()}")
    return daemon


def settle(daemon, path):
    daemon.admin = path
    daemon.baseline = daemon.snapshot()
    return daemon


def ctl(where, *words, uid=None):
    """By descriptor, because the folder of the binary may be closed to another user."""
    binary = os.open(BINARY, os.O_RDONLY)
    try:
        return subprocess.run(["weir", "ctl", "-s", where, *words], pass_fds=[binary], cwd="/",
                              executable=f"/proc/self/fd/{binary}", capture_output=True, text=True,
                              preexec_fn=lambda: uid is not None and os.setuid(uid),
                              timeout=3 * PATIENCE, stdin=subprocess.DEVNULL)
    finally:
        os.close(binary)


def address(got):
    return next(line.split(": ", 1)[1] for line in got.stdout.splitlines()
                if line.startswith("control_socket: "))


def web(peers, options=""):
    return f"[listen web]\nbind = 127.0.0.1:0\nserver a = {peers.listen().address}\n{options}"


def with_pid_file(path):
    return {"wrapper": ["sh", "-c", f'exec "$@" -p {path}', "sh"]}


def open_folders(path):
    """Those of pytest are closed to other users."""
    for folder in (path, *list(path.parents)[:-2]):
        folder.chmod(0o755)


@pytest.mark.smoke
def test_in_the_runtime_directory(weir, peers, tmp_path):
    """First of the list; gone at the end, with its lock."""
    path = f"{tmp_path}/weir.control"
    daemon = settle(ready(weir, web(peers), {"RUNTIME_DIRECTORY": f"{tmp_path}:/elsewhere"},
                          global_options=NO_ADMIN), path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert daemon.info()["control_socket"] == f"unix:{path}"
    assert daemon.ask("set weight web/a 7") == "\n"  # level admin
    assert daemon.ask("get weight web/a").startswith("7 ")
    assert daemon.terminate() == 0
    assert os.listdir(tmp_path) == []


def test_beside_the_pid_file(weir, peers, tmp_path):
    path = f"{tmp_path}/x.pid"
    daemon = settle(ready(weir, web(peers), global_options=NO_ADMIN, **with_pid_file(path)),
                    f"{path}.control")
    assert daemon.info()["control_socket"] == f"unix:{path}.control"
    assert daemon.terminate() == 0
    assert os.listdir(tmp_path) == []


def test_by_the_number_of_the_process(weir, peers):
    daemon = ready(weir, web(peers), global_options=NO_ADMIN)
    got = ctl(f"unix:@weir-{daemon.pid}", "show", "info")
    assert address(got) == f"unix:@weir-{daemon.pid}", got
    daemon.terminate()


def test_a_second_daemon_of_the_same_folder_goes_elsewhere(weir, peers, tmp_path):
    where = {"RUNTIME_DIRECTORY": str(tmp_path)}
    first = settle(ready(weir, web(peers), where, global_options=NO_ADMIN), f"{tmp_path}/weir.control")
    second = ready(weir, web(peers), where, global_options=NO_ADMIN)
    got = ctl(f"unix:@weir-{second.pid}", "show", "info")
    assert f"\npid: {second.pid}\n" in got.stdout, got
    second.terminate()
    assert first.info()["pid"] == first.pid
    assert sorted(os.listdir(tmp_path)) == ["weir.control", "weir.control.lock"]


def test_what_a_killed_daemon_has_left_is_replaced(weir, peers, tmp_path):
    where = {"RUNTIME_DIRECTORY": str(tmp_path)}
    ready(weir, web(peers), where, global_options=NO_ADMIN).kill()
    assert "weir.control" in os.listdir(tmp_path)
    daemon = settle(ready(weir, web(peers), where, global_options=NO_ADMIN), f"{tmp_path}/weir.control")
    assert daemon.info()["pid"] == daemon.pid


def test_a_daemon_that_has_none_warns_and_serves(weir, peers, tmp_path):
    """A folder that does not exist, and a name that another process has."""
    take = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('\\0weir-%d' % os.getpid()); "
            "s.listen(); os.set_inheritable(s.fileno(), True); os.execv(sys.argv[1], sys.argv[1:])")
    daemon = weir(web(peers), environment={"RUNTIME_DIRECTORY": f"{tmp_path}/none"},
                  wrapper=["/usr/bin/python3", "-c", take])
    assert daemon.info()["control_socket"] == "-"
    assert f"cannot open the control socket unix:@weir-{daemon.pid}: Address already in use" in daemon.log()
    assert daemon.log().count("warning") <= 3, daemon.log()


def test_it_is_beside_the_admin_socket(weir, peers, tmp_path):
    """Each command goes to either, and a configured socket at the very path keeps it."""
    path = f"{tmp_path}/weir.control"
    daemon = weir(web(peers), environment={"RUNTIME_DIRECTORY": str(tmp_path)})
    got = ctl(f"unix:{path}", "set", "weight", "web/a", "7")
    assert (got.returncode, got.stdout) == (0, ""), got
    assert daemon.ask("get weight web/a").startswith("7 ")
    daemon.terminate()
    daemon = ready(weir, web(peers), {"RUNTIME_DIRECTORY": str(tmp_path)},
                   global_options=f"admin-socket = unix:{path}")
    settle(daemon, path)
    assert daemon.info()["control_socket"] == f"unix:@weir-{daemon.pid}"
    assert f"{path}.lock" in [f"{tmp_path}/{name}" for name in os.listdir(tmp_path)]


@ROOT
def test_strangers_are_refused(weir, peers, tmp_path):
    open_folders(tmp_path)
    path = f"{tmp_path}/weir.control"
    daemon = weir(web(peers), environment={"RUNTIME_DIRECTORY": str(tmp_path)})
    got = ctl(f"unix:{path}", "show", "info", uid=STRANGER)
    assert got.returncode != 0 and "permission" in got.stderr.lower(), got
    os.chmod(path, 0o666)  # whatever the file says
    got = ctl(f"unix:{path}", "show", "info", uid=STRANGER)
    assert f"uid {STRANGER} may not use this socket; connect as root" in got.stdout + got.stderr, got
    daemon.terminate()
    daemon = ready(weir, web(peers), global_options=NO_ADMIN)
    got = ctl(f"unix:@weir-{daemon.pid}", "show", "info", uid=STRANGER)
    assert "may not use this socket" in got.stdout + got.stderr, got
    wait_until(lambda: f"the control socket refused uid {STRANGER}" in daemon.log(), daemon.log)
    daemon.terminate()


@ROOT
def test_the_user_of_the_daemon_may_use_it(weir, peers, tmp_path):
    path = f"{tmp_path}/weir.control"
    open_folders(tmp_path)
    daemon = weir(web(peers), global_options=f"user = {NOBODY}\ngroup = {NOBODY}",
                  environment={"RUNTIME_DIRECTORY": str(tmp_path)})
    assert os.stat(path).st_uid == NOBODY
    got = ctl(f"unix:{path}", "set", "weight", "web/a", "7", uid=NOBODY)
    assert (got.returncode, got.stderr) == (0, ""), got
    assert daemon.ask("get weight web/a").startswith("7 ")
