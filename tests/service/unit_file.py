# SPDX-License-Identifier: MIT
"""conf/weir.service as systemd reads it, and the system calls that its filter permits."""

import os
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
UNIT = os.path.join(ROOT, "conf", "weir.service")


def read(path=UNIT):
    """{key: [value, ...]} of all sections together."""
    values = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if line and line[0] not in "#;[":
                key, _, value = line.partition("=")
                values.setdefault(key, []).append(value)
    return values


def expand(group):
    """The system calls behind `@group`."""
    done = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group],
                          capture_output=True, text=True, check=True)
    names = set()
    for word in (line.strip() for line in done.stdout.splitlines()[1:]):
        if word.startswith("@"):
            names |= expand(word)
        elif word and not word.startswith("#"):
            names.add(word)
    return names


def allowed_calls(values):
    """The calls that the SystemCallFilter= lines permit, applied in order; @default is always included."""
    allowed = expand("@default")
    for line in values["SystemCallFilter"]:
        away = line.startswith("~")
        for word in line.lstrip("~").split():
            names = expand(word) if word.startswith("@") else {word}
            allowed = allowed - names if away else allowed | names
    return allowed
