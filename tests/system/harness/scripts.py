# SPDX-License-Identifier: MIT
"""Programs that weir may run for health checks, in a folder that nobody else can change."""

import os
import shutil
import tempfile

from harness import daemon

# The user of a daemon that root starts; it refuses to run programs as root.
USER = "user = nobody\n" if os.geteuid() == 0 else ""


def _is_safe(path):
    """May neither the folder nor one above it be changed by others, and may everybody enter it?"""
    path = os.path.realpath(path)
    while True:
        found = os.stat(path)
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022 or not found.st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def folder():
    """A new folder, or None if this machine has no place for one."""
    places = (tempfile.gettempdir(), os.path.dirname(daemon.BINARY), "/run", "/var/lib",
              os.path.expanduser("~"))
    for place in places:
        if os.path.isdir(place) and _is_safe(place) and os.access(place, os.W_OK):
            path = tempfile.mkdtemp(prefix="weir-programs-", dir=place)
            os.chmod(path, 0o755)
            return path
    return None


class Scripts:
    """`out` is where they may write."""

    def __init__(self):
        self.folder = folder()
        self.out = tempfile.mkdtemp(prefix="weir-out-")
        os.chmod(self.out, 0o777)

    def write(self, name, text, mode=0o755):
        """A shell script, unless the text begins with another line of this kind. Returns its path."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text if text.startswith("#!") else "#!/bin/sh\n" + text)
        os.chmod(path + ".new", mode)
        os.rename(path + ".new", path)
        return path

    def path(self, name):
        return os.path.join(self.out, name)

    def read(self, name):
        """What one has written; "" if nothing."""
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.out, ignore_errors=True)
