# SPDX-License-Identifier: MIT
"""The example files: each is valid, states its purpose, and says how to try it.

Runs the binary named by WEIR_BIN (build/src/weir). Binds no port.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))
EXAMPLES = sorted((ROOT / "conf/examples").glob("*.ini"))


def check(path, *args):
    """With no variable that a file might take its values from."""
    clean = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
    return subprocess.run([WEIR, "-c", str(path), *args], capture_output=True, text=True, timeout=60,
                          env=clean, stdin=subprocess.DEVNULL, check=False)


def test_there_are_examples():
    assert {"postgresql.ini", "redis.ini", "redis-sentinel.ini", "php-fpm.ini", "tls-passthrough.ini",
            "edge.ini", "container.ini", "kubernetes.ini", "rabbitmq.ini",
            "sni.ini", "patroni.ini", "galera.ini", "mail.ini", "mysql.ini", "discovery.ini",
            "load-balancer.ini", "rdp.ini", "egress.ini",
            "one-port.ini"} <= {p.name for p in EXAMPLES}


@pytest.mark.parametrize("path", [*EXAMPLES, ROOT / "conf/weir.ini"], ids=lambda p: p.name)
def test_file_is_valid_without_a_warning(path):
    # The installed file names a user that comes with the package; of others root is told that it stays root.
    got = check(path, "-o", "global.user=root")
    if "which this weir is built without" in got.stderr:
        assert got.stderr.count("error: ") == 1
        pytest.skip("this build lacks what the example needs")
    assert (got.returncode, got.stderr) == (0, "")
    assert re.search(r": ok \(.* 0 warnings(, \d checks? with verify=none)?\)\n$", got.stdout)


@pytest.mark.parametrize("path", [*EXAMPLES, ROOT / "conf/weir.ini"], ids=lambda p: p.name)
def test_the_admin_socket_of_an_example_is_a_path_with_a_mode(path):
    lines = re.findall(r"(?m)^admin-socket +=.*", path.read_text())
    assert all(re.search(r"= unix:[^@ ]\S* mode=660", line) for line in lines), lines


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_says_what_it_is_for_and_how_to_try_it(path):
    text = path.read_text()
    assert text.startswith(f"# {path.name} - ")
    head = text.partition("\n[")[0]
    assert "\n# For " in head
    assert "\n# Try it:  " in head
