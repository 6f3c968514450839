# SPDX-License-Identifier: MIT
"""A failed test gets more tries by itself, says so when they pass, and counts as failed when they do not."""

import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = r"""
root=$1
. "$root/tests/lib.sh"
. "$root/tests/flaky.sh"
still() { "$@"; }
cd "$2" || exit 1
"""
PYTEST = RUN + r"""
"$PYTHON" -m pytest -p no:cacheprovider -q -ra . >part.pytest 2>&1
again_pytest part.pytest part.failed "$PYTHON" -m pytest -p no:cacheprovider -q && fine=1
count_pytest part.pytest $fine
"""
MESON = RUN + r"""
meson test -C build --logbase part --print-errorlogs
again_meson build part part.failed && fine=1
count_meson build/meson-logs/part.json $fine
"""
# Passes from its second run on.
ONCE = """import os, pytest
def first(name):
    new = not os.path.exists(name)
    open(name, "w").close()
    return new
"""
PASSES = "def test_well():\n    pass\n"
FAILS_ONCE = "@pytest.mark.parametrize('x', ['a b'])\ndef test_once(x):\n    assert not first('once')\n"
FAILS = "def test_bad():\n    assert 1 == 2\n"
ERROR = """@pytest.fixture
def around():
    assert not first('set_up') or {set_up}
    yield
    assert not first('tear_down') or {tear_down}
def test_around(around):
    pass
"""


def run(script, folder):
    done = subprocess.run(["sh", "-c", script, "sh", ROOT, str(folder)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    lines = done.stdout.splitlines()
    return lines[-1], [line for line in lines if line.startswith("FLAKY ")], done.stdout


@pytest.mark.parametrize("texts, count, flaky", [
    ([PASSES, FAILS_ONCE], "2 passed, 0 failed, 0 skipped", "test_x.py::test_once[a b]"),
    ([ERROR.format(set_up=0, tear_down=1)], "1 passed, 0 failed, 0 skipped", "test_x.py::test_around"),
    ([ERROR.format(set_up=1, tear_down=0)], "1 passed, 0 failed, 0 skipped", "test_x.py::test_around"),
    ([PASSES, FAILS], "1 passed, 1 failed, 0 skipped", None),
    ([FAILS_ONCE, FAILS], "0 passed, 2 failed, 0 skipped", None),
    ([FAILS_ONCE.replace("assert", "print('ERROR: AddressSanitizer: x')\n    assert")],
     "0 passed, 1 failed, 0 skipped", None),
    ([FAILS_ONCE.replace("once", f"once{i}") for i in range(4)], "0 passed, 4 failed, 0 skipped", None)],
    ids=["once", "set_up", "tear_down", "always", "one_of_two", "sanitizer", "four"])
def test_of_pytest(tmp_path, texts, count, flaky):
    (tmp_path / "test_x.py").write_text("\n".join([ONCE] + texts), encoding="utf-8")
    last, told, output = run(PYTEST, tmp_path)
    assert last == count, output
    assert [line.partition(": ")[0] for line in told] == ([f"FLAKY {flaky}"] if flaky else []), output


@pytest.mark.parametrize("names, count, flaky", [(["once"], "2 passed, 0 failed, 0 skipped", ["once"]),
                                                 (["once", "bad"], "1 passed, 2 failed, 0 skipped", [])])
def test_of_meson(tmp_path, names, count, flaky):
    (tmp_path / "test.sh").write_text('[ "$1" = well ] || { [ "$1" = once ] && [ -e once ]; } || '
                                      '{ : >once; exit 1; }\n', encoding="utf-8")
    (tmp_path / "meson.build").write_text(
        "project('x')\nsh = find_program('sh')\n" + "".join(
            f"test('{name}', sh, args: [files('test.sh'), '{name}'])\n" for name in ["well"] + names),
        encoding="utf-8")
    subprocess.run(["meson", "setup", "build"], cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    last, told, output = run(MESON, tmp_path)
    assert last == count, output
    assert [line.partition(": ")[0] for line in told] == [f"FLAKY {name}" for name in flaky], output
