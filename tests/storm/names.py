#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names.py - changes the addresses of a name, and counts what the clients of its set of servers notice.

    python3 tests/storm/names.py --build build                      10 minutes, another set every second
    options: --seconds N  --every SECONDS  --dead SECONDS  --rate N  --streams N  --driver epoll|io_uring
             --seed N  --out FILE

A name server of the tests' own answers with 3 to 8 of 12 addresses of this machine, each time others, two of
which stay for the whole run. Now and then one answer is empty, or the name does not exist. In the last --dead
seconds (default: a tenth of the run) nobody answers: nothing may change then, and weir must say so.

Clients begin --rate connections a second (default 1,000) and keep --streams long ones (default 200) with
whichever servers they got (tests/storm/storm_load.c); each byte is keyed and compared. A server whose address
stays must keep its name, its number, its sessions so far and the weight that an administrator set. A sampler
reads `show info` and `show stat` all the time: no total may ever fall.

Prints what was counted as JSON and one line per bar; the last line is `N passed, N failed`. Exit code 1 if a
bar is not met, 2 if the storm could not be run.
"""

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import churn
import storm
from churn import Sampler, ask
from storm import Clients, Failed, GROWTH_KB, REST_S, START_S
from storm import answers, family, fds, free_ports, memory_kb, save, tell, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from harness.name_server import NameServer  # noqa: E402  pylint: disable=wrong-import-position

NAME = "app.test"
HOSTS = ["127.0.0.%d" % n for n in range(21, 33)]
STAY = 2                # addresses that are never left out
LEAST, MOST = 3, 8
FOLLOW_S = 3            # how long a new answer may take until it is in effect
ERRORS_MAX = 20
WEIGHT = 77             # that the administrator gives the servers that stay
DEAD_FOR_LOG = 30       # seconds after which weir has given up waiting for an answer
SECONDS_FOR_MEMORY = 100    # a shorter run says nothing about growth


class Weir(storm.Weir):
    def configure(self, resolvers):
        self.write("weir.ini", "\n".join([
            "[global]", "threads = 2", "driver = %s" % self.args.driver, resolvers,
            "admin-socket = unix:%s" % self.path("admin"), "log = file:%s level=notice" % self.path("log"),
            "[listen app]", "bind = 127.0.0.1:%d" % self.port, "timeout-idle = 60s",
            "hold-nx = 100ms", "hold-timeout = 100ms",
            "servers pod = dns://%s:%d max=%d weight=100" % (NAME, self.servers[0], len(HOSTS))]) + "\n")


class Totals(Sampler):
    """Whatever may only rise; servers that come and go are none of it."""

    def say(self, command):
        lines = super().say(command).splitlines()
        return "\n".join(line for line in lines if not line.startswith("app,pod"))


def table(path, command, name_column):
    """{name: row} of a listing in HAProxy's form."""
    text = ask(path, command)
    if command.startswith("show stat"):
        return {row[name_column]: row for row in csv.DictReader(text.lstrip("# ").splitlines())}
    lines = text.splitlines()
    columns = lines[1].lstrip("# ").split()
    rows = [dict(zip(columns, line.split())) for line in lines[2:] if line.strip()]
    return {row[name_column]: row for row in rows}


class Zone:
    """What the name server says, as of the next question."""

    def __init__(self, hosts):
        self.server = NameServer()
        self.line = "resolver = dns\nresolvers = %s" % self.server.address
        self.hosts(hosts)

    def hosts(self, hosts):
        self.server.set(NAME, *hosts, ttl=0)
        self.server.silent = False

    def fail(self, how):
        if how == "empty":
            self.server.set(NAME, ttl=0)
        elif how == "nx":
            self.server.names.pop(NAME, None)
        self.server.silent = how == "silent"

    def close(self):
        self.server.close()


class Names:
    """Changes the name, and looks at what becomes of its servers."""

    def __init__(self, args, proxy, zone):
        self.args, self.admin, self.pid, self.zone = args, proxy.path("admin"), proxy.pid(), zone
        self.random = random.Random(args.seed)
        self.now = HOSTS[:LEAST]
        self.errors, self.changes, self.followed_ms, self.kb = [], 0, [], []
        self.bad_answers = 0

    def wrong(self, what):
        self.errors.append(what)
        if len(self.errors) >= ERRORS_MAX:
            raise Failed("too many errors:\n" + "\n".join(self.errors))

    def servers(self):
        """{host: (name, id, weight, sessions so far)} of those that are in use, and the hosts that drain."""
        stat = table(self.admin, "show stat", "svname")
        used, drains = {}, set()
        for name, row in table(self.admin, "show servers state app", "srv_name").items():
            if name not in stat:
                continue  # it has come or gone in between
            if stat[name]["status"] == "DRAIN":
                drains.add(row["srv_addr"])
            else:
                used[row["srv_addr"]] = (name, row["srv_id"], row["srv_uweight"], int(stat[name]["stot"]))
        return used, drains

    def follow(self, hosts):
        begin = time.monotonic()
        try:
            wait_for("set", lambda: set(self.servers()[0]) == set(hosts), FOLLOW_S)
        except Failed:
            used, drains = self.servers()
            self.wrong("change %d: %s in use, %s drain, %s wanted" % (
                self.changes, sorted(used), sorted(drains), sorted(hosts)))
        self.followed_ms.append(1000 * (time.monotonic() - begin))

    def compare(self, before):
        after = self.servers()[0]
        for host in set(before) & set(after):
            was, now = before[host], after[host]
            if was[:3] != now[:3] or now[3] < was[3]:
                self.wrong("change %d: %s was %s, is %s" % (self.changes, host, was, now))

    def mark(self):
        """The servers that stay get what only an administrator says."""
        used = self.servers()[0]
        for host in HOSTS[:STAY]:
            said = ask(self.admin, "set server app/%s weight %d" % (used[host][0], WEIGHT)).strip()
            if said:
                raise Failed("set weight: %s" % said)

    def change(self):
        before = self.servers()[0]
        self.changes += 1
        if self.changes % 10 == 0:
            self.bad_answers += 1
            self.zone.fail("nx" if self.changes % 20 else "empty")
            return
        count = self.random.randint(LEAST, MOST)
        self.now = HOSTS[:STAY] + self.random.sample(HOSTS[STAY:], count - STAY)
        self.zone.hosts(self.now)
        self.follow(self.now)
        self.compare(before)

    def run(self):
        self.follow(self.now)
        self.mark()
        end = time.monotonic() + self.args.seconds - self.args.dead
        tenth = max(1, int(self.args.seconds / self.args.every) // 10)
        while (begin := time.monotonic()) < end:
            self.change()
            if self.changes % tenth == 0:
                self.kb.append(memory_kb(family(self.pid)))
            time.sleep(max(0, self.args.every - (time.monotonic() - begin)))
        self.dead()

    def dead(self):
        """Nobody answers any more."""
        self.zone.hosts(self.now)
        self.follow(self.now)
        before = self.servers()[0]
        self.zone.fail("silent")
        end = time.monotonic() + self.args.dead
        while time.monotonic() < end:
            used = self.servers()[0]
            if set(used) != set(before):
                self.wrong("nobody answers, and %s became %s" % (sorted(before), sorted(used)))
            time.sleep(0.2)
        self.compare(before)
        for host in HOSTS[:STAY]:
            if self.servers()[0].get(host, (0, 0, 0))[2] != str(WEIGHT):
                self.wrong("the weight of %s is not what was set" % host)


def load_and_change(args, proxy, zone, program):
    names, sampler, loads = Names(args, proxy, zone), Totals(proxy.path("admin")), []
    try:
        loads += [Clients(program, proxy.port, args.rate, 0), Clients(program, proxy.port, 0, args.streams)]
        names.run()
        for load in loads:
            load.end()
        if not all(load.total is not None for load in loads):
            raise Failed("the clients ended without a result")
    finally:
        sampler.end()
        for load in loads:
            if load.total is None:
                load.process.kill()
                load.end()
    return {"names": names, "plain": loads[0], "streams": loads[1], "sampler": sampler}


def run(args, folder):
    port, member_port = free_ports(2)
    program = args.build + "/tests/storm/storm_load"
    zone = Zone(HOSTS[:LEAST])
    proxy = Weir(args, folder, port, [member_port])
    with open(os.path.join(folder, "echo"), "wb") as out:
        echo = subprocess.Popen([program, "echo", *("%s:%d" % (host, member_port) for host in HOSTS)],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        wait_for("the servers", lambda: all(answers(member_port, host) for host in HOSTS), START_S)
        proxy.configure(zone.line)
        proxy.begin()
        time.sleep(0.3)  # the session that saw the proxy answer has left
        before = fds(proxy.pid())
        seen = load_and_change(args, proxy, zone, program)
        try:
            wait_for("descriptors", lambda: fds(proxy.pid()) <= before, REST_S)
        except Failed:
            pass
        seen["fds"] = (before, fds(proxy.pid()))
        with open(proxy.path("log"), encoding="utf-8", errors="replace") as stream:
            seen["said"] = "its servers stay in use" in stream.read()
        proxy.process.terminate()
        seen["exit"] = proxy.process.wait(churn.ANSWER_S)
        return seen
    except (Failed, OSError, subprocess.TimeoutExpired):
        for name in ("out", "log"):
            if os.path.exists(proxy.path(name)):
                with open(proxy.path(name), encoding="utf-8", errors="replace") as stream:
                    sys.stdout.write(stream.read()[-3000:])
        raise
    finally:
        proxy.stop()
        echo.kill()
        echo.wait()
        zone.close()


def bars_of(args, seen):
    names, sampler = seen["names"], seen["sampler"]
    wanted = 0.5 * (args.seconds - args.dead) / (args.every + 1)
    yield names.changes >= wanted, "%d changes, and %d answers without an address" % (
        names.changes, names.bad_answers)
    yield not names.errors, "%d errors%s" % (
        len(names.errors), "".join("\n        " + one for one in names.errors[:5]))
    plain, streams = seen["plain"].total, seen["streams"].total
    for what in ("refused", "reset", "wrong", "timed_out", "cut_off", "other", "skipped"):
        count = plain[what] + streams[what]
        yield count == 0, "%d %s" % (count, "wrong bytes" if what == "wrong" else what.replace("_", " "))
    yield plain["done"] == plain["sessions"] > 0, "%d of %d connections served in full" % (
        plain["done"], plain["sessions"])
    yield streams["streams_done"] == streams["streams"] > 0, "%d of %d streams served in full" % (
        streams["streams_done"], streams["streams"])
    bad = sampler.falls[:5] + [sampler.error] * (sampler.error is not None)
    yield not bad and sampler.samples > 0, "%d totals in %d samples, %d falls%s" % (
        len(sampler.last), sampler.samples, len(sampler.falls), "".join("\n        " + one for one in bad))
    if args.seconds >= SECONDS_FOR_MEMORY:
        yield names.kb[-1] - names.kb[0] <= GROWTH_KB, "%d KiB after a tenth, %d KiB at the end" % (
            names.kb[0], names.kb[-1])
    if args.dead >= DEAD_FOR_LOG:
        yield seen["said"], "the log says that nobody answers"
    yield seen["exit"] == 0, "exit code %s" % seen["exit"]
    yield seen["fds"][0] >= seen["fds"][1], "%d descriptors before, %d after" % seen["fds"]


def summary(args, seen):
    names, took = seen["names"], sorted(seen["names"].followed_ms)
    return {"driver": args.driver, "seconds": args.seconds, "every_s": args.every, "dead_s": args.dead,
            "rate": args.rate, "stream_count": args.streams, "seed": args.seed, "changes": names.changes,
            "followed_ms": {"median": round(took[len(took) // 2], 1), "most": round(took[-1], 1)},
            "errors": len(names.errors), "errors_first": names.errors[:5], "kb_after_each_tenth": names.kb,
            "samples": seen["sampler"].samples, "falls": seen["sampler"].falls[:5],
            "connections": seen["plain"].total, "streams": seen["streams"].total,
            "failed_first": (seen["plain"].failed + seen["streams"].failed)[:5]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", default="epoll")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=1)
    parser.add_argument("--dead", type=float, default=None, help="seconds without a name server at the end")
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", help="file that gets the figures")
    args = parser.parse_args()
    args.dead = args.seconds / 10 if args.dead is None else args.dead
    args.build = os.path.abspath(args.build)
    folder = tempfile.mkdtemp(prefix="weir-names-")
    try:
        seen = run(args, folder)
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print("%s: %s" % (type(error).__name__, error))
        print("0 passed, 1 failed")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = summary(args, seen)
    print(json.dumps(figures, indent=1))
    save(figures, args.out)
    failed = tell(bars_of(args, seen))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
