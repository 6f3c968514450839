# SPDX-License-Identifier: MIT
"""The daemon: weir as a child process, its log, its admin socket, its signals."""

import functools
import os
import re
import signal
import subprocess
import time

from harness import address, admin, driver, process
from harness.timing import PATIENCE, SCALE, stays, wait_until

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
        self.reloaded = False        # and the baseline has not followed yet
        self.child = None
        self.config = config.replace("@ADMIN@", self.admin)
        self.first_config = self.config
        self.replace(self.config)

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

    # Reloading.

    def rewrite(self, *changes):
        """Changes the file: pairs of what is there and what replaces it, or a whole text."""
        if len(changes) == 1:
            self.config = changes[0]
        for old, new in zip(changes[::2], changes[1::2]):
            assert old in self.config, f"{old!r} is not in\n{self.config}"
            self.config = self.config.replace(old, new)
        self.replace(self.config)

    def replace(self, text):
        """Replaces the file as a whole, so that no reading sees a part of it."""
        self.config = text
        with open(self.config_path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(self.config_path + ".new", self.config_path)

    def reload(self, *changes, words=("--wait",), refused=False):
        """Rewrites the file and reloads; returns what was printed. The final check then rebases."""
        if changes:
            self.rewrite(*changes)
        got = subprocess.run([BINARY, "reload", *words, "--pid", str(self.pid)], capture_output=True,
                             text=True, stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)
        assert got.returncode == (1 if refused else 0), (got, self.log()[-2000:])
        self.reloaded = True
        return got.stdout + got.stderr

    def rebase(self):
        """After reloads, while the daemon is idle: the baseline becomes that of the configuration in effect.
        What a reload may change is derived from the file and from what the daemon says; all else must be as
        at the start. Waits for addresses that are being left."""
        def closed():
            return len(process.listening(self.pid)) == self._endpoints() + self._admin_sockets()
        wait_until(closed, lambda: f"{self._endpoints()} addresses and {self._admin_sockets()} admin sockets "
                   f"among {len(process.listening(self.pid))} listening sockets\n{self.log()[-2000:]}")
        was = self.baseline

        def strange():
            return [f for f in process.descriptors(self.pid) if f.startswith("/") and f not in was["fds"] and
                    f.removesuffix(".lock") not in self.config]
        # What was confirmed may still be being saved.
        wait_until(lambda: not strange(),
                   lambda: f"open files that the configuration does not name: {strange()}")
        files = [link for link in process.descriptors(self.pid) if link.startswith("/")]
        kept = [link for link in was["fds"] if link not in was["listening"] and not link.startswith("/")]
        # Each log file has a thread with an event descriptor of its own.
        logs = self.config.count("log = file:") - self.first_config.count("log = file:")
        kept += ["anon_inode:[eventfd]"] * logs
        for _ in range(logs, 0):
            kept.remove("anon_inode:[eventfd]")
        listening = process.listening(self.pid)
        endpoints = self._endpoints()
        self.baseline = {**was, "fds": kept + files + sorted(listening), "listening": listening,
                         "endpoints": endpoints, "pending_ops": was["pending_ops"] +
                         self.info()["workers"] * (endpoints - was["endpoints"])}
        self.reloaded = False

    def _endpoints(self):
        """Sockets; a range of ports is one line."""
        count = 0
        for name, where in self.info().items():
            ports = re.search(r":(\d+)-(\d+)$", str(where)) if name.startswith("listen.") else None
            count += int(ports[2]) - int(ports[1]) + 1 if ports else name.startswith("listen.")
        return count

    def _admin_sockets(self):
        """With the private control socket, and the HTTP endpoint."""
        return 1 + ("admin-socket = " in self.config) + ("[stats]" in self.config)

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
        """The log line of each ended session, as a dictionary. The last line may be under way."""
        found = []
        for line in self.log().rpartition("\n")[0].splitlines():
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

    def ask(self, command, voice="@weir "):
        """Sends one command and returns the response. If the daemon is gone, the error includes its log."""
        try:
            return admin.ask(self.admin, command, voice=voice)
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
        info, endpoints = self.info(), self._endpoints()

        # The admin connection itself closes a moment later; so do the files that a name lookup reads, and
        # the state file while it is written.
        def settled():
            have = self._lasting()
            return not any(link.startswith("/etc/") or link.endswith(".new") for link in have) and \
                stays(lambda: self._lasting() == have, 0.02 * SCALE)
        wait_until(settled, "descriptors settle")
        # From one look: a socket that opens or closes after it is not among them, or passes.
        fds, listening = self._lasting(), process.listening(self.pid)
        return {"fds": fds, "listening": listening,
                "endpoints": endpoints,
                "passing": process.sockets(fds) - listening, "timers": info.get("timers"),
                "pending_ops": info.get("pending_ops")}

    def _lasting(self):
        """Its descriptors, without those of programs that run for checks: an idle daemon has no pipe."""
        links = process.descriptors(self.pid)
        if "check = exec" in self.config:
            links = [x for x in links if not x.startswith("pipe:") and x != "anon_inode:[pidfd]"]
        return links

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
