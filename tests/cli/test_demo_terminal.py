# SPDX-License-Identifier: MIT
"""`weir demo` on a terminal: a table that is drawn in place, and a cursor that comes back.

A file of its own, because each demo takes seconds: they run beside those of test_demo.py.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte
import pytest
from test_demo import WAIT_S, WEIR

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


def on_terminal(args, env, signals_at=(), rows=30, columns=100):
    """What a demo writes to a terminal, and its exit code. A signal is sent once its word was read."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    proc = subprocess.Popen([WEIR, "demo", *args], stdin=slave, stdout=slave, stderr=slave,
                            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **env})
    os.close(slave)
    text, waiting, end = b"", list(signals_at), time.monotonic() + WAIT_S
    while True:
        assert select.select([master], [], [], max(0, end - time.monotonic()))[0], text
        try:
            chunk = os.read(master, 65536)
        except OSError:  # EIO: the other side is closed
            break
        text += chunk
        while waiting and waiting[0][0] in text:
            proc.send_signal(waiting.pop(0)[1])
    os.close(master)
    assert not waiting, text
    return text, proc.wait(WAIT_S)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_terminal_gets_a_table_and_its_cursor_back(sign):
    text, code = on_terminal(["--seconds", "600"], {}, [(b"FRONTEND demo", sign)])
    assert code == 0, text
    assert b"\x1b[32m" in text
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert text.index(HIDE) < text.index(b"FRONTEND demo") < text.index(SHOW) < text.index(b" summary ")
    assert b"\x1b[?" not in text[text.index(SHOW) + len(SHOW):]


def test_a_cursor_is_given_back_after_a_failure_too():
    # Twice is "at once": nobody is waited for.
    text, code = on_terminal(["--seconds", "600"], {}, [(b"FRONTEND demo", signal.SIGINT),
                                                        (b"interrupted: ", signal.SIGINT)])
    assert text.count(HIDE) == text.count(SHOW) == 1
    assert text.index(SHOW) < text.index(b" summary ")
    assert code in (0, 4)  # 0 when all was over before the second one came


class Terminal:
    """A demo on a terminal whose screen can be looked at."""

    def __init__(self, rows, columns, *args):
        self.master, slave = pty.openpty()
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self.stream = pyte.ByteStream(self.screen)
        self.unread = b""
        self.resize(rows, columns)
        self.proc = subprocess.Popen([WEIR, "demo", *args], stdin=slave, stdout=slave, stderr=slave,
                                     env={**os.environ, "TERM": "xterm"})
        os.close(slave)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        """Shows one more line, and returns it; b"" at the end. Whoever is late has several frames to read."""
        while b"\n" not in self.unread:
            assert select.select([self.master], [], [], WAIT_S)[0], "the demo writes nothing any more"
            try:
                self.unread += os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                break
        line, newline, self.unread = self.unread.partition(b"\n")
        self.stream.feed(line + newline)
        return line + newline

    def lines(self):
        """All that was ever on the screen and was not erased, from the top."""
        gone = ["".join(line[x].data for x in range(self.screen.columns)) for line in self.screen.history.top]
        return [line.rstrip() for line in gone + self.screen.display]

    def count(self, word):
        return sum(word in line for line in self.lines())

    def shows(self, pattern, rows):
        return any(re.search(pattern, line) for line in self.screen.display[:rows])

    def until(self, pattern, rows=None):
        """Until the first rows show it. The whole screen is a lot to look at for each line that comes."""
        shown = self.shows(pattern, rows)
        while not shown:
            line = self.read()
            assert line, "\n".join(self.lines())
            shown = re.search(pattern, line.decode()) and self.shows(pattern, rows)

    def finish(self):
        while self.read():
            pass
        os.close(self.master)
        return self.proc.wait(WAIT_S)


@pytest.mark.parametrize("rows, columns", [(24, 80), (30, 100), (43, 132)])
def test_a_table_is_drawn_in_place(rows, columns):
    terminal = Terminal(rows, columns, "--seconds", "4")
    terminal.until("nobody confirmed it")  # before the summary, which scrolls
    shown = list(terminal.screen.display)
    assert shown[0].startswith("weir ") or "is busy, using" in shown[0], "\n".join(shown)
    assert terminal.finish() == 0
    for what in (r"^weir \d", "^ FRONTEND demo ", "^ SERVER ", "^ b1 ", "^ b2 ", "^ b4 ",
                 "stopping b2 on purpose", "the clients finish what", "^ summary "):
        assert len([line for line in terminal.lines() if re.search(what, line)]) == 1, \
            "\n".join([what, *terminal.lines()])


def test_a_table_follows_the_size_of_its_terminal():
    terminal = Terminal(24, 132, "--seconds", "8")
    terminal.until("stopping b2")
    for rows, columns in ((43, 80), (24, 100)):
        terminal.resize(rows, columns)
        terminal.screen.erase_in_display(2)  # what a terminal makes of old lines is its own business
        terminal.until("weir \\d| is busy", 1)  # after the rest of an older frame
        terminal.until("FRONTEND demo")
        terminal.until("SERVER")
        assert terminal.count("FRONTEND demo") == terminal.count("SERVER") == 1, terminal.lines()
    terminal.resize(10, 40)
    assert terminal.finish() == 0  # too small: the events go on as lines
    assert "client errors 0" in "\n".join(terminal.lines())


def test_no_colour_and_no_table_where_they_are_not_wanted():
    text, code = on_terminal(["--seconds", "2"], {"NO_COLOR": "1"})
    assert code == 0 and HIDE in text and not re.search(rb"\x1b\[\d*m", text)
    for env, columns in (({"TERM": "dumb"}, 100), ({"NO_COLOR": "1"}, 60)):
        text, code = on_terminal(["--seconds", "2"], env, columns=columns)
        assert code == 0 and b"\x1b" not in text and b"stopping b2" in text
