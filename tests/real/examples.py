# SPDX-License-Identifier: MIT
"""The files of conf/examples, as a test uses them: the same text, at ports that the kernel chooses."""

import os
import re

import trees


def load(name, *changes, sockets=False):
    """(config, global_options) for the fixture `weir`: the harness has its own admin socket and log, and
    sockets by path are left out, unless `sockets`. `changes` are pairs of what is there and what replaces
    it."""
    with open(os.path.join(trees.REPOSITORY, "conf", "examples", name), encoding="utf-8") as f:
        text = f.read()
    for old, new in zip(changes[::2], changes[1::2]):
        assert old in text, f"{old!r} is not in {name}"
        text = text.replace(old, new)
    head, section, rest = text.partition("[global]\n")
    assert section, f"{name} has no [global]"
    at = re.search(r"(?m)^\[", rest).start()
    own, rest = rest[:at], rest[at:]
    options = [line for line in own.splitlines()
               if re.match(r"[a-z]", line) and not re.match(r"(admin-socket|log)\b", line)]
    rest = re.sub(r"(?m)^(bind\s*=\s*)(?:127\.0\.0\.1|\[::1?\])?:\d+", r"\g<1>127.0.0.1:0", rest)
    if not sockets:
        rest = re.sub(r"(?m)^bind\s*=\s*unix:.*\n", "", rest)
    return rest, "\n".join(re.sub(r"\s+#.*", "", line) for line in options)

