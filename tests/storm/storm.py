#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""storm.py - reloads a proxy again and again under traffic, and counts what its clients notice.

    python3 tests/storm/storm.py --build build                      1,000 reloads of weir
    python3 tests/storm/storm.py --build build --product haproxy    the same for haproxy -W (SIGUSR2)
    python3 tests/storm/storm.py --build build --product nginx      the same for nginx (nginx -s reload)
    options: --reloads N  --every SECONDS  --rate N  --streams N  --driver epoll|io_uring  --json FILE
             --no-times    where other programs share the machine: times are no bar

The configurations rotate through: nothing changed, weights, a server added and removed, an address added and
removed, a specific address replaced by the wildcard and back, timeouts, health checks, log, admin socket,
algorithm. Clients begin --rate sessions a second (default 2,000) and keep --streams long ones (default 500)
that begin in different generations (tests/storm/storm_load.c); each byte is keyed and compared.

Prints what was counted as a table and, for weir, one line per bar; the last line is `N passed, N failed`.
Exit code 1 if a bar of weir is not met, 2 if the storm could not be run.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LATE_MS = 100           # a connect that takes longer is noticed
LATE_MOVED_MS = 1200    # while an address is left
AFTER_MOVE_MS = 2000    # how long after such a reload its clients may be late
GROWTH_KB = 1024
START_S, RELOAD_S, REST_S = 10, 30, 30
REFUSED_S = 2           # a peer without new workers for so long has refused the configuration

# What each step changes in the state of the configuration, and whether an address is left with it.
STEPS = [
    ("nothing", {}, False),
    ("weights", {"weight": 3}, False),
    ("server added", {"more_server": True}, False),
    ("address added", {"more_address": True}, False),
    ("wildcard", {"wildcard": True}, True),
    ("timeouts", {"timeout": 61}, False),
    ("checks", {"check": True}, False),
    ("log", {"log": "b"}, False),
    ("admin socket", {"admin": "b"}, False),
    ("algorithm", {"algorithm": "leastconn"}, False),
    ("nothing", {}, False),
    ("weights back", {"weight": 1}, False),
    ("server removed", {"more_server": False}, False),
    ("address removed", {"more_address": False}, True),
    ("specific", {"wildcard": False}, True),
    ("timeouts back", {"timeout": 60}, False),
    ("checks back", {"check": False}, False),
    ("log back", {"log": "a"}, False),
    ("admin socket back", {"admin": "a"}, False),
    ("algorithm back", {"algorithm": "roundrobin"}, False),
]
FIRST = {"weight": 1, "more_server": False, "more_address": False, "wildcard": False, "timeout": 60,
         "check": False, "log": "a", "admin": "a", "algorithm": "roundrobin"}


class Refused(Exception):
    """The proxy goes on with the configuration that it had."""


class Failed(Exception):
    """The storm cannot be run, or the proxy did not do what it was told."""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("0.0.0.0", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(what, ready, seconds):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise Failed("%s: not within %g s" % (what, seconds))
        time.sleep(0.005)


def answers(port, host="127.0.0.1"):
    try:
        with socket.create_connection((host, port), timeout=1) as client:
            client.sendall(b"x")
            return client.recv(1) == b"x"
    except OSError:
        return False


def family(pid):
    """The process and all that descend from it."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        try:
            with open("/proc/%d/task/%d/children" % (one, one), encoding="ascii") as stream:
                todo += [int(word) for word in stream.read().split()]
            found.append(one)
        except OSError:
            pass
    return found


def memory_kb(pids):
    """Private memory and the share of what is shared."""
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as stream:
                total += int(re.search(r"(?m)^Pss:\s+(\d+)", stream.read()).group(1))
        except (OSError, AttributeError):
            pass
    return total


def fds(pid):
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except OSError:
        return 0


class Proxy:
    """One product: its configuration, its start, its reload."""
    name = None

    def __init__(self, args, folder, port, servers):
        self.args, self.folder, self.port, self.servers = args, folder, port, servers
        self.process = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name + ".new"), "w", encoding="utf-8") as stream:
            stream.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def used_servers(self, state):
        return self.servers[:4 if state["more_server"] else 3]

    def addresses(self, state):
        first = "0.0.0.0" if state["wildcard"] else "127.0.0.1"
        more = ["127.0.0.2"] if state["more_address"] and not state["wildcard"] else []
        return ["%s:%d" % (host, self.port) for host in [first] + more]

    def pid(self):
        return self.process.pid

    def start(self, argv):
        with open(self.path("out"), "wb") as out:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_for("%s answers" % self.name, lambda: answers(self.port), START_S)

    @staticmethod
    def await_workers(are_there):
        try:
            wait_for("new workers", are_there, REFUSED_S)
        except Failed:
            raise Refused from None

    def stop(self):
        if self.process is None:
            return
        for pid in reversed(family(self.pid())):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.process.wait()


class Weir(Proxy):
    name = "weir"

    def configure(self, state):
        lines = ["[global]", "threads = 2", "driver = %s" % self.args.driver,
                 "admin-socket = unix:%s" % self.path("admin-" + state["admin"]),
                 "log = file:%s level=notice" % self.path("log-" + state["log"]), "",
                 "[frontend main]", "default-backend = all",
                 "timeout-client = %ds" % state["timeout"]]
        lines += ["bind = %s" % address for address in self.addresses(state)]
        lines += ["", "[backend all]", "balance = %s" % state["algorithm"],
                  "timeout-server = %ds" % state["timeout"]]
        if state["check"]:
            lines += ["check = tcp", "check-interval = 500ms"]
        lines += ["server s%d = 127.0.0.1:%d weight=%d" % (i, port, state["weight"] if i == 0 else 1)
                  for i, port in enumerate(self.used_servers(state))]
        self.write("weir.ini", "\n".join(lines) + "\n")

    def begin(self):
        self.start([self.args.build + "/src/weir", self.path("weir.ini")])

    def reload(self):
        done = subprocess.run([self.args.build + "/src/weir", "reload", "--pid", str(self.pid())],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RELOAD_S,
                              check=False)
        if done.returncode != 0:
            raise Failed("weir reload: exit code %d: %s%s" % (done.returncode, done.stdout, done.stderr))


class Haproxy(Proxy):
    name = "haproxy"

    def configure(self, state):
        # The socket through which listeners are handed over must stay.
        lines = ["global", "    nbthread 2", "    stats socket %s mode 600 level admin expose-fd listeners" %
                 self.path("handover"), "    maxconn 8000"]
        if state["admin"] == "b":
            lines += ["    stats socket %s mode 600 level admin" % self.path("admin-b")]
        lines += ["defaults", "    mode tcp", "    timeout connect 5s",
                  "    timeout client %ds" % state["timeout"], "    timeout server %ds" % state["timeout"],
                  "frontend main", "    default_backend all"]
        lines += ["    bind %s" % address for address in self.addresses(state)]
        lines += ["backend all", "    balance %s" % state["algorithm"]]
        check = " check inter 500ms" if state["check"] else ""
        lines += ["    server s%d 127.0.0.1:%d weight %d%s" % (
            i, port, state["weight"] if i == 0 else 1, check)
            for i, port in enumerate(self.used_servers(state))]
        self.write("haproxy.cfg", "\n".join(lines) + "\n")

    def begin(self):
        self.start(["haproxy", "-W", "-db", "-f", self.path("haproxy.cfg"), "-x", self.path("handover")]
                   if os.path.exists(self.path("handover")) else
                   ["haproxy", "-W", "-db", "-f", self.path("haproxy.cfg")])

    def reload(self):
        before = set(family(self.pid()))
        os.kill(self.pid(), signal.SIGUSR2)
        self.await_workers(lambda: set(family(self.pid())) - before)


class Nginx(Proxy):
    name = "nginx"

    def configure(self, state):
        module = next((path for path in ("/usr/lib/nginx/modules/ngx_stream_module.so",)
                       if os.path.exists(path)), None)
        lines = ["load_module %s;" % module] if module else []
        lines += ["worker_processes 2;", "daemon off;", "pid %s;" % self.path("nginx.pid"),
                  "error_log %s notice;" % self.path("log-" + state["log"]),
                  "events { worker_connections 8000; }", "stream {", "  upstream all {"]
        if state["algorithm"] == "leastconn":
            lines += ["    least_conn;"]
        lines += ["    server 127.0.0.1:%d weight=%d;" % (port, state["weight"] if i == 0 else 1)
                  for i, port in enumerate(self.used_servers(state))]
        lines += ["  }", "  server {", "    proxy_pass all;", "    proxy_timeout %ds;" % state["timeout"]]
        lines += ["    listen %s;" % address for address in self.addresses(state)]
        lines += ["  }", "}"]
        self.write("nginx.conf", "\n".join(lines) + "\n")

    def begin(self):
        self.start(["nginx", "-p", self.folder, "-c", self.path("nginx.conf"), "-e", self.path("log-a")])

    def reload(self):
        before = set(family(self.pid()))
        os.kill(self.pid(), signal.SIGHUP)
        self.await_workers(lambda: len(set(family(self.pid())) - before) >= 2)


PRODUCTS = {"weir": Weir, "haproxy": Haproxy, "nginx": Nginx}


class Clients:
    """The load, and what it says."""

    def __init__(self, program, port, rate, streams):
        self.process = subprocess.Popen(
            [program, "clients", str(port), str(rate), str(streams), str(LATE_MS)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.slow, self.failed, self.total = [], [], None
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "slow":
                self.slow.append((int(words[1]), int(words[2])))
            elif words[0] == "failed":
                self.failed.append(line.strip())
            else:
                self.total = json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.reader.join()


def now_ms():
    return int(1000 * time.monotonic())


def storm(args, proxy, clients):
    """Returns what was seen from outside."""
    state, seen = dict(FIRST), {"moves": [], "took_ms": [], "most_processes": 0, "refused": 0}
    pid = proxy.pid()
    for i in range(args.reloads):
        name, change, moves = STEPS[i % len(STEPS)]
        state.update(change)
        proxy.configure(state)
        begin = now_ms()
        try:
            proxy.reload()
        except Refused:
            seen["refused"] += 1
        except (Failed, subprocess.TimeoutExpired) as error:
            raise Failed("reload %d (%s): %s" % (i + 1, name, error)) from None
        end = now_ms()
        seen["took_ms"].append(end - begin)
        if moves:
            seen["moves"].append((begin, end + AFTER_MOVE_MS))
        processes = family(pid)
        seen["most_processes"] = max(seen["most_processes"], len(processes))
        if i + 1 == 100 or (i + 1 == args.reloads and args.reloads < 100):
            seen["early_kb"] = memory_kb(processes)
        if proxy.process.poll() is not None:
            raise Failed("the proxy ended at reload %d (%s), with exit code %d" % (
                i + 1, name, proxy.process.returncode))
        time.sleep(max(0, args.every - (now_ms() - begin) / 1000))
    seen["late_kb"], seen["processes"] = memory_kb(family(pid)), len(family(pid))
    clients.end()
    return seen


def bars_of(args, seen, clients, before, after):
    total = clients.total
    unmoved = [(at, took) for at, took in clients.slow
               if not any(begin <= at + took and at <= end for begin, end in seen["moves"])]
    yield seen["refused"] == 0, "%d configurations refused by the proxy" % seen["refused"]
    yield total["refused"] == 0, "%d refused" % total["refused"]
    yield total["reset"] == 0, "%d reset" % total["reset"]
    yield total["wrong"] == 0, "%d wrong bytes" % total["wrong"]
    others = total["timed_out"] + total["cut_off"] + total["other"] + total["skipped"]
    yield others == 0, "%d sessions that failed in another way" % others
    yield total["done"] == total["sessions"] and total["streams_done"] == total["streams"], \
        "%d of %d sessions and %d of %d streams served in full" % (
            total["done"], total["sessions"], total["streams_done"], total["streams"])
    if args.times:
        yield total["slowest_ms"] <= LATE_MOVED_MS, "slowest connect %d ms" % total["slowest_ms"]
        yield not unmoved, "%d connects over %d ms where no address was left" % (len(unmoved), LATE_MS)
    yield seen["most_processes"] == 1, "%d process%s at most" % (
        seen["most_processes"], "" if seen["most_processes"] == 1 else "es")
    if args.reloads > 100:
        grown = seen["late_kb"] - seen["early_kb"]
        yield grown <= GROWTH_KB, "%d KiB after 100 reloads, %d KiB after %d" % (
            seen["early_kb"], seen["late_kb"], args.reloads)
    yield before == after, "%d descriptors before, %d after" % (before, after)


def summary(proxy, args, seen, clients):
    took = sorted(seen["took_ms"])
    return {"product": proxy.name, "reloads": args.reloads, "rate": args.rate, "streams": args.streams,
            "every_s": args.every, "reload_ms": {"median": took[len(took) // 2], "most": took[-1]},
            "configurations_refused": seen["refused"],
            "processes_most": seen["most_processes"], "processes_end": seen["processes"],
            "kb_early": seen.get("early_kb"), "kb_end": seen["late_kb"], "clients": clients.total,
            "connects_slow": len(clients.slow), "failed_first": clients.failed[:5]}


def save(figures, path):
    """Writes them as JSON, if there is a path."""
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(figures, stream, indent=1)
            stream.write("\n")


def tell(bars):
    """Prints a line per bar, (met, text), and the total. Returns how many are not met."""
    bars = list(bars)
    for good, text in bars:
        print("%-7s %s" % ("ok" if good else "NOT MET", text))
    failed = sum(not good for good, _ in bars)
    print("%d passed, %d failed" % (len(bars) - failed, failed))
    return failed


def run(args, folder):
    port, *servers = free_ports(5)
    program = args.build + "/tests/storm/storm_load"
    proxy = PRODUCTS[args.product](args, folder, port, servers)
    with open(os.path.join(folder, "echo"), "wb") as out:
        echo = subprocess.Popen([program, "echo", *map(str, servers)], stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out)
    try:
        wait_for("the servers", lambda: all(answers(one) for one in servers), START_S)
        proxy.configure(FIRST)
        proxy.begin()
        settled = lambda count: lambda: fds(proxy.pid()) == count   # noqa: E731
        time.sleep(0.2)
        before = fds(proxy.pid())
        clients = Clients(program, port, args.rate, args.streams)
        try:
            seen = storm(args, proxy, clients)
        finally:
            if clients.total is None:
                clients.process.kill()
        try:
            # What left an address is closed a second later.
            wait_for("descriptors", settled(before), REST_S)
        except Failed:
            pass
        after = fds(proxy.pid())
        return proxy, seen, clients, before, after
    except Failed:
        sys.stdout.write(open(os.path.join(folder, "out"), encoding="utf-8", errors="replace").read()[-3000:])
        raise
    finally:
        proxy.stop()
        echo.kill()
        echo.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--product", choices=sorted(PRODUCTS), default="weir")
    parser.add_argument("--driver", default="epoll")
    parser.add_argument("--reloads", type=int, default=1000)
    parser.add_argument("--every", type=float, default=0.1, help="seconds from one reload to the next")
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--no-times", dest="times", action="store_false")
    parser.add_argument("--json", help="file that gets the figures")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    folder = tempfile.mkdtemp(prefix="weir-storm-")
    try:
        proxy, seen, clients, before, after = run(args, folder)
    except Failed as error:
        print(error)
        print("0 passed, 1 failed")
        return 2
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = summary(proxy, args, seen, clients)
    print(json.dumps(figures, indent=1))
    save(figures, args.json)
    failed = tell(bars_of(args, seen, clients, before, after))
    return 1 if failed and args.product == "weir" else 0


if __name__ == "__main__":
    sys.exit(main())
