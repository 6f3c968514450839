# SPDX-License-Identifier: MIT
"""Files as HAProxy and nginx users write them by habit: every line gets its own useful message.

habits/FILE.txt is what `sluice check --json habits/FILE` must say, one line a message. Write it anew
with `SLUICE_WRITE=1 pytest tests/cli/test_habits.py`, and read the difference.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SLUICE = os.environ.get("SLUICE_BIN", str(HERE.parents[1] / "build/src/sluice"))
FILES = ["haproxy.cfg", "nginx.conf", "mistakes.ini"]


def messages(path):
    got = subprocess.run([SLUICE, "check", "--json", str(path)], capture_output=True, text=True, timeout=20)
    assert (got.returncode, got.stderr) == (1, "")
    return json.loads(got.stdout)["messages"]


@pytest.mark.parametrize("name", FILES)
def test_every_message_is_as_it_was_read_and_approved(name):
    lines = (HERE / "habits" / name).read_text().splitlines()
    said = ""
    for m in messages(HERE / "habits" / name):
        if m["code"] == "not-in-this-version":
            continue  # fewer with each version; the texts below must outlive that
        written = lines[m["line"] - 1].encode()[m["col"] - 1:m["col"] - 1 + m["len"]].decode()
        hint = (m["hint"] or "-").replace("; not in this version", "")
        said += f"{m['line']}:{m['col']} {m['code']}: {written}\n    {m['message']}\n    {hint}\n"
    expected = HERE / "habits" / (name + ".txt")
    if os.environ.get("SLUICE_WRITE"):
        expected.write_text(said)
    assert said == expected.read_text()


@pytest.mark.parametrize("name", FILES)
def test_what_a_hint_says_to_write_is_no_mistake_of_form(name, tmp_path):
    """Each line without '=' becomes what its hint says: no such mistake is left, and no missing unit."""
    lines = (HERE / "habits" / name).read_text().splitlines()
    changed = set()
    for m in messages(HERE / "habits" / name):
        match = re.fullmatch(r"write '([^']*)'", m["hint"] or "")
        if m["code"] == "no-equals" and match:
            lines[m["line"] - 1] = match.group(1).replace("NAME", f"s{m['line']}")
            changed.add(m["line"])
    assert changed
    path = tmp_path / "x.ini"
    path.write_text("\n".join(lines) + "\n")
    left = [m for m in messages(path) if m["line"] in changed
            and m["code"] in ("no-equals", "no-unit", "unknown-word", "unknown-key", "bad-name", "syntax")]
    assert left == []


def test_ten_kinds_are_ten_messages():
    codes = [m["code"] for m in messages(HERE / "habits" / "mistakes.ini")]
    assert len(codes) == len(set(codes)) == 10
