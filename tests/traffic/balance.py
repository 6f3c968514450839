# SPDX-License-Identifier: MIT
"""balance.py - the bars for balancing, queues and health checks, one function each; see balance.sh.

A case starts its servers and one daemon, drives clients through it, and returns what it measured as
text; it raises Failed if the bar is not met. Afterwards the daemon must be idle and exit with 0.
"""

import argparse
import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from traffic import PATIENCE, Failed, Servers, run, wait_for

SHARES = 60000


# ---- a server that serves one request per connection, after a delay ------------------------------------

class Counter:
    """Number of requests being served, the maximum at any time, and the total."""
    now = most = served = 0


async def serve(name, delay_ms):
    async def one(reader, writer):
        Counter.now += 1
        Counter.most = max(Counter.most, Counter.now)
        try:
            line = await reader.readline()
            if line:
                await asyncio.sleep(delay_ms / 1000)
                Counter.served += 1
                writer.write(b"%s %d %d\n" % (name.encode(), Counter.served, Counter.most))
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            Counter.now -= 1
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Served:
    """The same server, as a process."""

    def __init__(self, name, delay_ms):
        self.name = name
        self.child = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "--serve", name, str(delay_ms)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = int(self.child.stdout.readline())

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()


async def ask(port, word="x", patience=PATIENCE):
    """One client: the words of its server's reply; raises OSError if the connection is cut."""
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), patience)
    try:
        writer.write(word.encode() + b"\n")
        line = await asyncio.wait_for(reader.readline(), patience)
        if not line:
            raise ConnectionError("closed without an answer")
        return line.decode().split()
    finally:
        writer.close()


# ---- the daemon ----------------------------------------------------------------------------------------

class Daemon:
    def __init__(self, binary, folder, name, text, workers=4):
        self.admin = os.path.join(folder, name + ".admin")
        self.log = os.path.join(folder, name + ".log")
        path = os.path.join(folder, name + ".ini")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"[global]\nthreads = {workers}\nadmin-socket = unix:{self.admin}\n"
                      f"log = stderr level=notice\n\n{text}")
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen([binary, "-f", path], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=log)
        wait_for("weir is ready", lambda: self.child.poll() is not None or self.is_ready())
        if self.child.poll() is not None:
            raise Failed("weir did not start:\n" + self.text())
        # At level notice, the log does not show the port.
        self.port = int(re.search(r"listen\.l\.\S*: \S+:(\d+)", self.ask("show info"))[1])

    def is_ready(self):
        return "ready:" in self.text()

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE)
            sock.connect(self.admin)
            sock.sendall(b"@weir " + command.encode() + b"\n")
            return b"".join(iter(lambda: sock.recv(65536), b"")).decode()

    def accepted(self):
        return int(re.search(r"(?m)^\s*accepted\s*:\s*(\d+)", self.ask("show info"))[1])

    def stat(self, column):
        """A column of `show stat` for each server."""
        lines = [line for line in self.ask("show stat").splitlines() if line]
        names = lines[0].lstrip("# ").split(",")
        rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
        return {row["svname"]: row[column] for row in rows if row["type"] == "2"}

    def finish(self):
        def at_rest():
            info = self.ask("show info")
            return all(re.search(rf"(?m)^\s*{name}\s*:\s*0\s*$", info)
                       for name in ("sessions", "pipes_in_use", "bufs_in_use"))
        try:
            wait_for("no session and no pipe in use", at_rest)
            if any(int(v) for v in self.stat("scur").values()):
                raise Failed(f"servers still count sessions that have ended: {self.stat('scur')}")
            alarm = re.search(r"(?m)^.*(check failed|Sanitizer|runtime error).*$", self.text())
            if alarm:
                raise Failed("the log contains an alarm: " + alarm.group())
        finally:
            self.child.send_signal(signal.SIGTERM)
            code = self.child.wait(PATIENCE)
        if code != 0:
            raise Failed(f"weir ended with {code}:\n{self.text()[-2000:]}")


# ---- cases -----------------------------------------------------------------------------------------------

class Cases:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.servers = binary, folder, []

    def serve(self, name, delay_ms):
        self.servers.append(Served(name, delay_ms))
        return self.servers[-1]

    def daemon(self, name, text, workers=4):
        return Daemon(self.binary, self.folder, name, text, workers)

    def clean(self):
        for server in self.servers:
            server.stop()
        self.servers = []

    def shares(self):
        """Weights 1:2:3, 60,000 connections, 4 workers: each share within 1 %."""
        redis = Servers.__new__(Servers)
        redis.folder, redis.children, redis.ports = self.folder, [], {}
        try:
            for name in "abc":
                redis.start(name, lambda port: ("redis-server", "--port", str(port), "--bind", "127.0.0.1",
                                                "--save", "", "--appendonly", "no", "--dir", self.folder))
            text = "[listen l]\nbind = 127.0.0.1:0\n" + "".join(
                f"server {name} = 127.0.0.1:{redis.ports[name]} weight={i + 1}\n"
                for i, name in enumerate("abc"))
            daemon = self.daemon("shares", text)
            # The first connection reads the server's settings: one connection more than requests.
            run("redis-benchmark", "-h", "127.0.0.1", "-p", str(daemon.port), "-c", "64", "-k", "0",
                "-n", str(SHARES), "-t", "ping_mbulk", "-q", seconds=120)
            got = {name: int(value) for name, value in daemon.stat("stot").items()}
            daemon.finish()
        finally:
            redis.stop()
        total = sum(got.values())
        if total < SHARES:
            raise Failed(f"only {total} connections: {got}")
        worst = max(abs(got[name] / (total * (i + 1) / 6) - 1) for i, name in enumerate("abc"))
        if worst > 0.01:
            raise Failed(f"a share is {worst:.2%} off: {got}")
        return f"{total} connections: {got}, at most {worst:.3%} off its share (bar 1 %)"

    def leastconn(self):
        """Service times 1:2:4: equal occupancy within 10 %."""
        servers = [self.serve(name, delay) for name, delay in (("a", 20), ("b", 40), ("c", 80))]
        text = "[listen l]\nbind = 127.0.0.1:0\nbalance = leastconn\n" + "".join(
            f"server {s.name} = 127.0.0.1:{s.port}\n" for s in servers)
        daemon = self.daemon("leastconn", text)
        sums, samples = {s.name: 0 for s in servers}, 0

        async def client(until):
            while time.monotonic() < until:
                await ask(daemon.port)

        async def drive():
            nonlocal samples
            until = time.monotonic() + 8
            clients = [asyncio.create_task(client(until)) for _ in range(60)]
            await asyncio.sleep(1)
            while time.monotonic() < until - 0.5:
                for name, value in daemon.stat("scur").items():
                    sums[name] += int(value)
                samples += 1
                await asyncio.sleep(0.02)
            await asyncio.gather(*clients)

        asyncio.run(drive())
        served = daemon.stat("stot")
        daemon.finish()
        mean = sum(sums.values()) / len(sums)
        worst = max(abs(v / mean - 1) for v in sums.values())
        held = {name: round(v / samples, 1) for name, v in sums.items()}
        if worst > 0.10:
            raise Failed(f"occupancy {held}: {worst:.1%} off")
        return f"occupancy {held} in {samples} samples, served {served}: at most {worst:.1%} off (bar 10 %)"

    def dead(self):
        """A server killed under load: down within fall x interval, no client sees an error."""
        servers = [self.serve(name, 5) for name in "abc"]
        fall, interval_s = 3, 0.5
        text = ("[listen l]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 500ms\ncheck-fall = 3\n"
                "check-rise = 2\nretries = 3\n") + "".join(
                    f"server {s.name} = 127.0.0.1:{s.port}\n" for s in servers)
        daemon = self.daemon("dead", text)
        lost, done = [], [0]

        async def client(until):
            while time.monotonic() < until:
                began = time.monotonic()
                try:
                    await ask(daemon.port)
                    done[0] += 1
                except (OSError, asyncio.TimeoutError) as e:
                    lost.append((began, e))

        async def drive():
            until = time.monotonic() + 6
            clients = [asyncio.create_task(client(until)) for _ in range(20)]
            # Fully up first: right after the start, one failed check is enough to take it down.
            await asyncio.sleep(2)
            servers[0].child.kill()
            servers[0].child.wait()
            killed = looked = time.monotonic()
            while True:
                # When the last query that showed "up" was sent: until then the server was certainly in.
                seen_up, looked = looked, time.monotonic()
                if not daemon.stat("status")["a"].startswith("UP"):
                    break
                if looked > killed + 10:
                    raise Failed("the dead server is still up")
                await asyncio.sleep(0.01)
            await asyncio.gather(*clients)
            return killed, seen_up - killed

        killed, out = asyncio.run(drive())
        daemon.finish()
        # Earlier clients lost their connection with the server: because of the kill, not the balancer. But
        # no client is left waiting.
        later = [e for began, e in lost if began > killed or isinstance(e, asyncio.TimeoutError)]
        if later:
            raise Failed(f"{len(later)} later clients saw an error: {later[0]!r}")
        if out > fall * interval_s + 0.2:
            raise Failed(f"still up after {out:.2f} s")
        return (f"down after {out:.2f} s (bar {fall * interval_s} s), {done[0]} replies, no errors except "
                f"for the {len(lost)} connections that died with the server")

    def maxconn(self):
        """200 clients on a server with maxconn = 4: never more than 4, in order, none lost.

        In order in the best of three runs: while a busy machine keeps one worker from running, the clients
        that it admitted are overtaken at the server. A wrong order of the queue shows in every run.
        """
        for run_number in range(3):
            most, moved = self.queue_of_200(f"maxconn{run_number}")
            if moved <= 3:
                return (f"200 of 200 answered, at most {most} at a time, none moved by more than {moved} "
                        f"(4 at a time)")
        raise Failed(f"moved by {moved} in the last of three runs")

    def queue_of_200(self, name):
        """The maximum served at a time, and the largest distance of a client from its place."""
        server = self.serve("a", 10)
        daemon = self.daemon(name, "[listen l]\nbind = 127.0.0.1:0\ntimeout-queue = 30s\n"
                             f"server a = 127.0.0.1:{server.port} maxconn=4\n")

        async def drive():
            answers = []

            async def client(number):
                reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
                started.set()
                writer.write(b"x\n")
                said = (await asyncio.wait_for(reader.readline(), PATIENCE)).decode().split()
                writer.close()
                answers.append((number, int(said[1]), int(said[2])))

            clients = []
            for number in range(200):
                started = asyncio.Event()
                clients.append(asyncio.create_task(client(number)))
                await started.wait()
                # The next client connects after this one has been accepted, so that the order is known.
                while daemon.accepted() <= number:
                    await asyncio.sleep(0)
            await asyncio.gather(*clients)
            return answers

        answers = asyncio.run(drive())
        most = max(most for _, _, most in answers)
        daemon.finish()
        order = [number for number, _, _ in sorted(answers, key=lambda a: a[1])]
        # Four are served at a time, and among these four the server may answer in any order.
        moved = max(abs(place - number) for place, number in enumerate(order))
        if len(answers) != 200 or most > 4:
            raise Failed(f"{len(answers)} replies, at most {most} at a time")
        return most, moved

    def hashes(self):
        """Two daemons with the same servers in a different order agree on the table."""
        lines = [f"server s{i} = 10.0.0.{i + 1}:80 weight={1 + i % 3}\n" for i in range(10)]
        sums = []
        for name, order in (("one", lines), ("two", lines[::-1])):
            text = "[listen l]\nbind = 127.0.0.1:0\nbalance = maglev\n" + "".join(order)
            daemon = self.daemon(name, text, 1)
            sums.append(re.search(r"checksum[=: ]+([0-9a-f]{16})", daemon.ask("show hash")).group(1))
            daemon.finish()
        if sums[0] != sums[1]:
            raise Failed(f"they differ: {sums}")
        return f"both have {sums[0]}"

    def placement(self):
        """8 long flows on 2 workers: 4 and 4."""
        server = self.serve("a", 3000)
        text = f"[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:{server.port}\n"
        daemon = self.daemon("placement", text, 2)

        async def drive():
            clients = [asyncio.create_task(ask(daemon.port)) for _ in range(8)]
            found = []
            while len(found) < 8:
                if all(c.done() for c in clients):
                    raise Failed(f"only {len(found)} sessions were seen")
                await asyncio.sleep(0.01)
                found = re.findall(r"\bid=(\d+)\.", daemon.ask("show sess"))
            await asyncio.gather(*clients)
            return [found.count("0"), found.count("1")]

        counts = asyncio.run(drive())
        daemon.finish()
        if counts != [4, 4]:
            raise Failed(f"{counts}")
        return f"{counts[0]} and {counts[1]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary")
    parser.add_argument("--folder")
    parser.add_argument("--serve", nargs=2, metavar=("NAME", "MS"))
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve[0], int(args.serve[1])))
        return 0
    shutil.rmtree(args.folder, ignore_errors=True)
    os.makedirs(args.folder)
    names = args.case or ["shares", "leastconn", "hashes", "dead", "maxconn", "placement"]
    failed = 0
    for name in names:
        cases = Cases(args.binary, args.folder)
        try:
            print(f"{name}: ok: {getattr(cases, name)()}", flush=True)
        except (Failed, OSError, asyncio.TimeoutError) as e:
            failed += 1
            print(f"{name}: FAILED: {e}", flush=True)
        finally:
            cases.clean()
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
