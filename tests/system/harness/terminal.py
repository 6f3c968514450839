# SPDX-License-Identifier: MIT
"""terminal.py - a program on a terminal, with a screen that can be looked at and keys that can be pressed."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

import pyte

from harness.timing import wait_until


class Terminal:
    """A program on a terminal whose screen can be looked at."""

    def __init__(self, columns, rows, *command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                      start_new_session=True, env={**os.environ, "TERM": "xterm"})
        os.close(slave)

    def lines(self):
        while select.select([self.master], [], [], 0)[0]:
            with contextlib.suppress(OSError):  # EIO: it has ended
                self.stream.feed(os.read(self.master, 65536))
                continue
            break
        return [line.rstrip() for line in self.screen.display]

    def wait(self, condition, what):
        """Waits until condition(lines) and gives the lines."""
        wait_until(lambda: condition(self.lines()), lambda: "\n".join([what, *self.lines()]))
        return self.lines()

    def press(self, keys):
        os.write(self.master, keys)

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.master)
