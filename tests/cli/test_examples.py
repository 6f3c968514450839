# SPDX-License-Identifier: MIT
"""The files that people start from: each is valid, says what it is for, and can be tried.

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
# What a file demands by ${NAME:?...}.
DEMANDED = {"REDIS": "127.0.0.1:6379"}


def check(path, env=None):
    clean = {k: v for k, v in os.environ.items() if k not in DEMANDED}
    return subprocess.run([WEIR, "-c", str(path)], capture_output=True, text=True, timeout=60,
                          env={**clean, **(env or {})}, stdin=subprocess.DEVNULL, check=False)


def test_there_are_examples():
    assert {"postgresql.ini", "redis.ini", "php-fpm.ini", "tls-passthrough.ini", "edge.ini",
            "container.ini"} <= {p.name for p in EXAMPLES}


@pytest.mark.parametrize("path", [*EXAMPLES, ROOT / "conf/weir.ini"], ids=lambda p: p.name)
def test_file_is_valid_without_a_warning(path):
    got = check(path, DEMANDED)
    assert (got.returncode, got.stderr) == (0, "")
    assert re.search(r": ok \(.* 0 warnings\)\n$", got.stdout)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_says_what_it_is_for_and_how_to_try_it(path):
    text = path.read_text()
    assert text.startswith(f"# {path.name} - ")
    head = text.partition("\n[")[0]
    assert "\n# For " in head
    assert "\n# Try it:  " in head


def test_redis_example_asks_for_its_server():
    got = check(ROOT / "conf/examples/redis.ini")
    assert got.returncode == 1
    assert "set REDIS to HOST:PORT" in got.stderr
