# SPDX-License-Identifier: MIT
"""Servers that insist on being root: root of a user namespace, who is an ordinary user outside of it.

Its /usr and /etc are those of the machine with the tree, and for /etc a folder of the test, on top of them.
Needs root, who maps the users.
"""

import os
import subprocess

import pytest

from harness.timing import wait_until

FIRST = 100000   # the user outside who is root inside; the others follow
ENTER = "read go && exec sh -c \"$0\" \"$@\""
INSIDE = """\
mount -t overlay overlay -o lowerdir={tree}/usr:/usr /usr &&
mount -t overlay overlay -o lowerdir={etc}:{tree}/etc:/etc /etc &&
exec setpriv --clear-groups {words}"""


def script(tree, etc, words):
    return INSIDE.format(tree=tree.root, etc=etc, words=" ".join(words))


def launch(tree, etc, words, out):
    """Starts a program, by its path inside, that has root's rights there and nowhere else."""
    enter = ["setpriv", f"--reuid={FIRST}", f"--regid={FIRST}", "--clear-groups",
             "unshare", "--user", "--mount"]
    child = subprocess.Popen([*enter, "sh", "-c", ENTER, script(tree, etc, words)], stdin=subprocess.PIPE,
                             stdout=out, stderr=out, cwd="/", start_new_session=True,
                             env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"})
    ours = os.readlink("/proc/self/ns/user")
    wait_until(lambda: child.poll() is not None or os.readlink(f"/proc/{child.pid}/ns/user") != ours,
               "a user namespace")
    if child.poll() is None:
        for kind in ("uid", "gid"):
            with open(f"/proc/{child.pid}/{kind}_map", "w", encoding="ascii") as f:
                f.write(f"0 {FIRST} 65536\n")
        child.stdin.write(b"go\n")
    child.stdin.close()
    child.stdin = None
    return child


def need_root():
    if os.geteuid() != 0:
        pytest.skip("not root: no user namespace with several users")


def need(tree, etc):
    """Skips the test where there is no such namespace, with the reason."""
    child = launch(tree, etc, ["true"], subprocess.PIPE)
    said, _ = child.communicate()
    if child.returncode != 0:
        pytest.skip(f"no user namespace: {said.decode().strip()}")
