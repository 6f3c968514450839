# SPDX-License-Identifier: MIT
"""conf/weir.service: what its sandbox denies, and that weir works inside it.

stage.py plays systemd: the unit's user, capabilities, mounts and system calls, read from the unit itself.
Needs root, python3-seccomp and systemd-analyze; runs the binary named by WEIR_BIN (build/src/weir).
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import unit_file  # noqa: E402

WEIR = os.environ.get("WEIR_BIN", os.path.join(unit_file.ROOT, "build/src/weir"))
STAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stage.py")
EXPOSURE_MAX = 1.5


def missing():
    """Why no sandbox can be created here, or None."""
    if os.geteuid() != 0:
        return "not root: there are no capabilities to drop"
    for program in ("systemd-analyze", "setpriv", "unshare", "ip"):
        if not shutil.which(program):
            return f"no {program}"
    if importlib.util.find_spec("seccomp") is None:
        return "no python3-seccomp"
    probe = subprocess.run(["unshare", "-m", "-n", "-i", "--propagation", "private", "true"],
                           capture_output=True, text=True, check=False)
    return None if probe.returncode == 0 else f"no namespaces: {probe.stderr.strip()}"


def no_ring():
    """Why io_uring is unusable even outside the sandbox, or None."""
    said = subprocess.run([WEIR, "-vv"], capture_output=True, text=True, check=True).stdout
    line = re.search(r"(?m)^io_uring:  (.*)$", said)[1]
    return None if line == "usable" else line


@pytest.fixture(scope="module", params=("epoll", "io_uring"))
def saw(request):
    if missing():
        pytest.skip(missing())
    if request.param == "io_uring" and no_ring():
        pytest.skip(f"io_uring is {no_ring()}")
    done = subprocess.run(["unshare", "-m", "-n", "-i", "--propagation", "private",
                           "/usr/bin/python3", "-B", STAGE, WEIR, request.param],
                          capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "driver": request.param}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_exposure_is_low():
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit_file.UNIT],
                          capture_output=True, text=True, check=False)
    level = re.search(r"Overall exposure level for weir.service: ([\d.]+)", done.stdout)
    assert level, done.stdout + done.stderr
    assert float(level[1]) <= EXPOSURE_MAX


def test_what_a_proxy_needs_is_not_denied():
    assert not {"PrivateUsers", "PrivateNetwork", "IPAddressDeny"} & set(unit_file.read())


def test_stop_has_longer_than_the_daemon_takes():
    assert int(unit_file.read()["TimeoutStopSec"][-1]) > 30  # hard-stop-after


def test_reload_has_longer_than_the_daemon_takes():
    assert int(unit_file.read()["TimeoutStartSec"][-1]) > 60 + 30  # RELOAD_READ_S, RELOAD_RETIRE_S


def test_the_sandbox_denies(saw):
    assert saw["probe"] == {
        "chown": "EPERM", "netlink": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT", "namespace": "EPERM",
        "write+exec": "EPERM", "write /usr": "EROFS", "write /proc/sys": "EROFS"}


def test_daemon_runs_confined_with_one_capability(saw):
    assert "status" in saw, saw["log"]
    assert saw["status"]["Uid"].split() == ["64123"] * 4
    assert {saw["status"][c] for c in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {f"{1 << 10:016x}"}
    assert saw["status"]["Seccomp"] == "2"
    assert saw["status"]["NoNewPrivs"] == "1"


def test_the_driver_is_had_inside(saw):
    if not no_ring():
        assert "\nio_uring:  usable\n" in saw["version"]
    assert re.search(rf" ready: \d+ workers, {saw['driver']}, ", saw["log"]), saw["log"]


def test_bytes_arrive_over_port_80_and_a_unix_socket(saw):
    assert (saw["web"], saw["db"]) == ([True] * 4, True), saw["log"]
    assert sum(saw["served"]) == 5
    assert min(saw["served"]) > 0  # the server on a Unix socket, and the server given by name


def test_programs_run_without_its_capability_and_say_what_is_denied(saw):
    assert saw["checks"]["db"] == ["PROCOK", r"CapPrm:\x090000000000000000"], saw["checks"]
    status, said = saw["checks"]["denied"]
    assert status == "PROCERR" and "Address family not supported" in said, saw["checks"]


def test_sockets_have_their_modes(saw):
    assert saw["modes"] == {"admin.sock": "0o660", "db.sock": "0o666", "denied.sock": "0o600",
                             "admin.sock.lock": "0o600", "db.sock.lock": "0o600", "denied.sock.lock": "0o600",
                             "weir.control": "0o600", "weir.control.lock": "0o600"}


def test_each_worker_stays_on_its_cpu(saw):
    cpus = sorted(os.sched_getaffinity(0))
    assert {str(c) for c in cpus} <= set(saw["cpus"]), saw["log"]


def test_limit_of_pipes_is_read(saw):
    budget = re.search(r"(\d+) MiB for all pipes", saw["log"])
    pages = saw["pipe_pages"]
    if pages:
        assert int(budget[1]) == (pages - pages // 16) * os.sysconf("SC_PAGESIZE") >> 20
    else:
        assert not budget


def test_stops_clean_and_complains_of_nothing(saw):
    assert saw["code"] == 0, saw["log"]
    assert saw["left"] == []
    # The server that a program found down, which may not do what it wants.
    complaints = [line for line in saw["log"].splitlines() if re.search(r"Z (warning|error|alert) ", line) and
                  not re.search(r"server denied/a is DOWN|backend denied has no server left", line)]
    assert not complaints, saw["log"]
