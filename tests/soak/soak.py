#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""soak.py - runs one daemon with every feature for as long as you like, among hostile clients.

    python3 tests/soak/soak.py                          30 minutes, about 3 of them to warm up
    python3 tests/soak/soak.py --minutes 0.5 --driver io_uring --seed 7

Four kinds of processes use it at random: honest clients, whose bytes are verified at both ends; servers,
some of which die and come back; hostile clients (malformed headers, floods from a denied address, resets,
silence, urgent bytes, unread replies, junk for the admin socket); and an administrator. At the end, all of
them leave. Descriptors, memory, pipes, buffers, timers and pending ops must then be back to what they were
when all processes were idle after the warm-up.

Honest clients of an undisturbed frontend must be served in full. The other honest clients may be cut off, but
must never receive a wrong byte. Counters never decrease. Prints a line every ten seconds, and
`N passed, N failed` at the end. WEIR_BIN names the binary.
"""

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "system"))
sys.path.insert(0, HERE)

# pylint: disable=wrong-import-position
from harness import final_check, process            # noqa: E402
from harness.daemon import Daemon, sanitized        # noqa: E402
from harness.timing import SCALE                   # noqa: E402
import administrator                                # noqa: E402
import honest                                       # noqa: E402
import hostile                                      # noqa: E402
import servers                                      # noqa: E402

# How much memory may differ between two pauses: the allocator's own leftovers.
MEMORY_SLACK = 4 << 20
# Gauges that must be the same as in the pause after the warm-up.
GAUGES = ("sessions", "pipes_in_use", "pipes_resting", "bufs_in_use", "bufs_in_use_bytes", "timers",
          "pending_ops")

CONFIG = """
[global]
threads = 2
driver = {driver}
admin-socket = unix:@ADMIN@ mode=666
pipe-cycle = 500ms
hard-stop-after = 5s
log = stderr level=notice
log = file:{folder}/sessions.log level=info format=json

[defaults]
timeout-connect = 2s
timeout-handshake = 1s
check-interval = 500ms

[listen plain]
bind = 127.0.0.1:0
server a = {steady0}
server b = {steady1}
server c = {steady2} weight=3
check = tcp

[listen path]
bind = unix:{folder}/path.sock mode=666
server a = unix:{unix}
check = tcp

[listen proxied]
bind = 127.0.0.1:0 accept-proxy
trusted = 127.0.0.0/27
server a = {header} send-proxy=v2 proxy-v2-options=crc32c,unique-id

[listen limited]
bind = 127.0.0.1:0 backlog=512
rate-limit = 400
maxconn = 60
maxconn-per-source = 8
deny-from = 127.0.0.66
server a = {steady0}

[listen queued]
bind = 127.0.0.1:0
balance = leastconn
timeout-queue = 5s
maxqueue = 60
server a = {steady1} maxconn=4 slowstart=1s
server b = {steady2} maxconn=4

[listen flapping]
bind = 127.0.0.1:0
balance = source hash=consistent
on-marked-down = close-sessions
check = tcp
check-interval = 200ms
check-rise = 1
check-fall = 1
server a = {flap0}
server b = {flap1}
server spare = {steady0} backup

[listen dead]
bind = 127.0.0.1:0
server a = {nobody}
no-server = reset
check = tcp

[listen named]
bind = 127.0.0.1:0
resolve-interval = 1s
server a = localhost:{steady0_port}

[listen hasty]
bind = 127.0.0.1:0
timeout-idle = 300ms
timeout-half-closed = 200ms
max-lifetime = 2s
server a = {steady2}

[frontend routed]
bind = 127.0.0.1:0
use-backend near = src=127.0.0.16/28
default-backend = far

[backend near]
balance = maglev
server a = {steady0}
server b = {steady1}

[backend far]
balance = random(2)
server a = {steady1}
server b = {steady2}
"""


class Actor:
    """One process: calls `act(random)` until it is told to leave. An exception fails the soak."""

    def __init__(self, name, make, seed, results):
        self.name = name
        self.stop = multiprocessing.Event()
        self.child = multiprocessing.Process(target=self._run, args=(make, seed, results), daemon=True)
        self.child.start()

    def _run(self, make, seed, results):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        dice = random.Random(f"{seed}/{self.name}")
        counts = {}
        try:
            act = make()
            while not self.stop.is_set():
                what = act(dice)
                counts[what] = counts.get(what, 0) + 1
            leave = getattr(act, "leave", None)
            if leave:
                leave()
            results.put((self.name, counts, None))
        except BaseException:  # pylint: disable=broad-except
            results.put((self.name, counts, traceback.format_exc()))


class Soak:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.results = multiprocessing.Queue()
        self.failures = []
        self.counts = {}
        self.servers = servers.Servers(folder)
        config = CONFIG.format(folder=folder, driver=arguments.driver, **self.servers.addresses())
        self.daemon = Daemon(folder, config)
        # A backend without a server is reported as an alert, which is expected here.
        self.daemon.expected_alarms = r"has no server left"
        self.daemon.start()
        self.fronts = administrator.listeners(self.daemon)

    def phase(self, seconds, seed):
        """All actors work for `seconds`, then leave."""
        fronts, admin, pid = self.fronts, self.daemon.admin, self.daemon.pid
        folder = self.folder
        actors = [Actor(f"honest{i}", lambda i=i: honest.Honest(fronts, i), seed, self.results)
                  for i in range(self.arguments.honest)]
        actors += [Actor(f"hostile{i}", lambda: hostile.Hostile(fronts, admin), seed, self.results)
                   for i in range(self.arguments.hostile)]
        actors.append(Actor("administrator", lambda: administrator.Administrator(admin, pid, folder), seed,
                            self.results))
        dice = random.Random(f"{seed}/servers")
        end = time.monotonic() + seconds
        said = 0
        while time.monotonic() < end and not self.failures:
            time.sleep(dice.uniform(0.2, 2))
            self.servers.flap(dice)
            self.look(actors)
            if time.monotonic() > said + 10:
                said = time.monotonic()
                self.report()
        self.servers.calm()
        for actor in actors:
            actor.stop.set()
        for _ in actors:
            self.take(self.results.get(timeout=60 * SCALE))
        for actor in actors:
            actor.child.join(10)
        self.look([])

    def take(self, result):
        name, counts, failure = result
        if failure:
            self.failures.append(f"{name}:\n{failure}")
        for what, count in counts.items():
            self.counts[what] = self.counts.get(what, 0) + count

    def look(self, actors):
        """An actor that has ended has failed; so has the daemon if it has ended."""
        if self.daemon.child.poll() is not None:
            self.failures.append(f"the daemon ended with {self.daemon.child.poll()}:\n"
                                 f"{self.daemon.log()[-3000:]}")
        ended = [a.name for a in actors if not a.child.is_alive()]
        if ended:
            self.failures.append(f"ended too early: {', '.join(ended)}")
        if not self.servers.are_well():
            self.failures.append("a server received bytes that were not for it, or died")

    def report(self):
        try:
            info = self.daemon.info()
        except AssertionError as e:
            self.failures.append(str(e))
            return
        pid = self.daemon.pid
        print(f"{time.strftime('%H:%M:%S')}  sessions {info['sessions']:5}  accepted {info['accepted']:8}  "
              f"denied {info['denied']:8}  rss {process.rss_anon(pid) >> 10:7} KiB  "
              f"fds {len(process.descriptors(pid)):5}  cpu {process.cpu_ticks(pid):7}", flush=True)

    def rest(self):
        """Waits until the daemon is back to its initial state; returns its memory and gauges."""
        administrator.restore(self.daemon.admin)
        try:
            final_check.check(self.daemon)
        except AssertionError as e:
            self.failures.append(str(e))
        info = self.daemon.info()
        return process.rss_anon(self.daemon.pid), {name: info[name] for name in GAUGES}

    def compare(self, first, last):
        memory, gauges = first
        if last[0] > memory + MEMORY_SLACK * (8 if sanitized() else 1):
            self.failures.append(f"memory while idle grew from {memory >> 10} to {last[0] >> 10} KiB")
        if last[1] != gauges:
            self.failures.append(f"gauges while idle were {gauges}, now {last[1]}")
        print(f"idle after the warm-up: {memory >> 10} KiB; at the end: {last[0] >> 10} KiB; "
              f"{last[1]}")

    def end(self):
        try:
            final_check.check_exit(self.daemon)
        except (AssertionError, OSError) as e:  # OSError: it has already ended
            self.failures.append(str(e))
        finally:
            self.daemon.kill()
            self.servers.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="total duration (default 30)")
    parser.add_argument("--driver", choices=("epoll", "io_uring"), default="epoll")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the random choices")
    parser.add_argument("--honest", type=int, default=4, help="number of honest client processes (default 4)")
    parser.add_argument("--hostile", type=int, default=2,
                        help="number of hostile client processes (default 2)")
    arguments = parser.parse_args()
    print(f"soak: {arguments.minutes:g} minutes, {arguments.driver}, seed {arguments.seed}", flush=True)
    seconds = arguments.minutes * 60
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        os.chmod(folder, 0o755)
        soak = Soak(arguments, folder)
        try:
            soak.phase(seconds * 0.1, f"{arguments.seed}/warm")
            first = soak.rest()
            if not soak.failures:
                soak.phase(seconds * 0.9, arguments.seed)
                soak.compare(first, soak.rest())
        except Exception:  # pylint: disable=broad-except; printed after what may have caused it
            soak.failures.append(traceback.format_exc())
        finally:
            soak.end()
    for what in sorted(soak.counts):
        print(f"{soak.counts[what]:9}  {what}")
    for failure in soak.failures:
        print(f"FAILED: {failure}")
    served = soak.counts.get("honest: served", 0)
    if not served:
        print("FAILED: no client was served")
    failed = len(soak.failures) + (0 if served else 1)
    print(f"{0 if failed else 1} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    sys.exit(main())
