# SPDX-License-Identifier: MIT
"""The daemon: weir as a child process, its log, its admin socket, its signals."""

import functools
import os
import re
import signal
import subprocess
import time

from harness import address, admin, driver, process
from harness.timing import SCALE, stays, wait_until

REPOSITORY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BINARY = os.environ.get("WEIR_BIN", os.path.join(REPOSITORY, "build", "src", "weir"))
ALARM = re.compile(r"alert|emerg|BUG|check failed|[Aa]ssert|Sanitizer|runtime error")
_LISTENING = re.compile(r"listening on (\S+) \(frontend (\S+), bind (\S+)\)")
_FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|(\S*))')


@functools.cache
def sanitized():
    """True for a sanitizer build, whose memory and time are not those of weir."""
    with open(BINARY, "rb") as f:
        data = f.read()
    return b"__asan_init" in data or b"__tsan_init" in data or b"__ubsan_handle" in data


class Daemon:
    """One run of the binary."""

    def __init__(self, folder, config, wrapper=(), environment=None, pass_fds=()):
        self.folder = folder
        self.config_path = os.path.join(folder, "weir.ini")
        self.log_path = os.path.join(folder, "log")
        self.admin = os.path.join(folder, "admin.sock")
        self.wrapper = list(wrapper)
        self.pass_fds = pass_fds
        self.environment = dict(os.environ, **(environment or {}))
        self.expected_alarms = None  # a pattern of alarming lines that the test expects
        self.ended = False           # the test has ended the daemon itself
        self.baseline = None
        self.child = None
        self.config = config.replace("@ADMIN@", self.admin)
        with open(self.config_path, "w", encoding="utf-8") as f:
            f.write(self.config)

    @property
    def pid(self):
        return self.child.pid

    def command(self):
        return [*self.wrapper, BINARY, "-f", self.config_path, *driver.words(self.config)]

    def launch(self):
        """Starts the process, without waiting for it to be ready."""
        with open(self.log_path, "ab") as log:
            self.child = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment, pass_fds=self.pass_fds)
        return self

    def start(self):
        self.launch()
        wait_until(lambda: "ready:" in self.log() or self.child.poll() is not None,
                   lambda: f"ready\n{self.log()}")
        assert self.child.poll() is None, f"weir ended with {self.child.poll()}:\n{self.log()}"
        self.baseline = self.snapshot()
        return self

    # The log.

    def log(self):
        """All lines. Waits for the threads that write them to finish, but not for long: they may hang."""
        end = time.monotonic() + 0.3 * SCALE
        try:
            while self.child and self.child.poll() is None and not process.is_log_written(self.pid) \
                    and time.monotonic() < end:
                time.sleep(0.0005)
        except FileNotFoundError:
            pass  # it has just ended
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def alarms(self):
        lines = [line for line in self.log().splitlines() if ALARM.search(line)]
        if self.expected_alarms:
            lines = [line for line in lines if not re.search(self.expected_alarms, line)]
        return lines

    def session_lines(self):
        """The log line of each ended session, as a dictionary."""
        found = []
        for line in self.log().splitlines():
            if " session " in line and " client=" in line:
                found.append({m[1]: m[2] if m[2] is not None else m[3]
                              for m in _FIELD.finditer(line)})
        return found

    def wait_session_line(self, count=1, **wanted):
        """Waits for `count` session lines with these values; returns the last of them."""
        def matching():
            lines = [line for line in self.session_lines()
                     if all(line.get(k) == str(v) for k, v in wanted.items())]
            return lines if len(lines) >= count else None
        found = wait_until(matching, lambda: f"{count} session lines with {wanted}; there are:\n"
                           + "\n".join(map(str, self.session_lines()[-20:])))
        return found[-1]

    # Addresses.

    def addresses(self):
        """Every bound address: [(frontend, bind, Address)]."""
        return [(m[2], m[3], address.parse(m[1])) for m in _LISTENING.finditer(self.log())]

    def address(self, frontend):
        return next(a for name, _, a in self.addresses() if name == frontend)

    # The admin socket.

    def ask(self, command):
        """Sends one command and returns the response. If the daemon is gone, the error includes its log."""
        try:
            return admin.ask(self.admin, command)
        except (ConnectionError, FileNotFoundError) as e:
            time.sleep(0.1)  # the exit status may be available only a moment after the socket is gone
            raise AssertionError(f"no admin socket ({e}); exit status {self.child.poll()}:\n"
                                 f"{self.log()[-3000:]}") from None

    def _values(self, command):
        values = {}
        for line in self.ask(command).splitlines():
            name, _, value = line.partition(":")
            value = value.strip()
            values[name.strip()] = int(value) if value.lstrip("-").isdigit() else value
        return values

    def info(self):
        return self._values("show info")

    def pools(self):
        return self._values("show pools")

    def sessions(self):
        return [line for line in self.ask("show sess").splitlines() if line.strip()]

    def snapshot(self):
        """The baseline to which the daemon must return: its descriptors and gauges while it is idle."""
        info = self.info()

        # The admin connection itself closes a moment later; so do the files that a name lookup reads.
        def settled():
            have = process.descriptors(self.pid)
            return not any(link.startswith("/etc/") for link in have) and \
                stays(lambda: process.descriptors(self.pid) == have, 0.02 * SCALE)
        wait_until(settled, "descriptors settle")
        return {"fds": process.descriptors(self.pid),
                "passing": process.passing_sockets(self.pid), "timers": info.get("timers"),
                "pending_ops": info.get("pending_ops")}

    # Signals.

    def signal(self, number):
        os.kill(self.pid, number)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        wait_until(lambda: process.state(self.pid) == "T", "the daemon is stopped")

    def thaw(self):
        self.signal(signal.SIGCONT)

    def wait_exit(self, patience=None):
        """The exit status."""
        return wait_until(lambda: (self.child.poll(),) if self.child.poll() is not None else None,
                          lambda: f"exit\n{self.log()[-2000:]}", patience)[0]

    def terminate(self):
        """Sends SIGTERM to a daemon that has nothing left to do, and returns its exit status."""
        self.ended = True
        self.signal(signal.SIGTERM)
        return self.wait_exit()

    def kill(self):
        self.ended = True
        if self.child and self.child.poll() is None:
            self.thaw()
            self.child.kill()
            self.child.wait()

    def cpu_over(self, seconds):
        """CPU ticks that the daemon uses in a window: those of the first if at most one, else the fewest of
        three. A tick is charged to the process that runs at that moment; a spin shows in every window."""
        fewest = None
        for _ in range(3):
            before = process.cpu_ticks(self.pid)
            time.sleep(seconds)
            ticks = process.cpu_ticks(self.pid) - before
            fewest = ticks if fewest is None else min(fewest, ticks)
            if fewest <= 1:
                break
        return fewest
