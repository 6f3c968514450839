# SPDX-License-Identifier: MIT
"""lookups.py - nanoseconds per lookup in weir's lists (bench/lists.c) and in HAProxy's maps and stick tables.

Called by bench/lookups.sh. HAProxy cannot be asked for one lookup, so a frontend makes many per connection:
its rules compute a random key and look it up, and another frontend's rules compute the key alone. The
difference of the CPU times per connection, by the number of lookups, is that of a lookup; half of the keys
(of clients, all) are in the list, as in lists.c. Both frontends take connections in turn, in several rounds.
"""

import argparse
import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile

import machine
import process
from process import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BASE = 10 << 24         # the first network is 10.0.0.0/24, and every other one is in the list
START_S = 60
NAME = "shop%d.eu-west-%d.example.com"


class Kind:
    """One list of HAProxy: the rules of a key, and what looks it up."""

    def __init__(self, name, key, lookup, lookups, connections, before=()):
        self.name, self.key, self.lookup = name, key, lookup
        self.lookups, self.connections = lookups, connections   # lookups per connection
        self.before = before    # rules for each lookup, before the one of the key

    def rules(self, looks):
        """The rules of a frontend: with the lookups, or with their keys alone."""
        tail = "," + self.lookup if looks else ""
        lines = list(self.before) + ["tcp-request connection set-var(sess.a) %s%s" % (self.key, tail)]
        return lines * self.lookups


def kinds(entries, folder):
    n = ("tcp-request connection set-var(sess.n) rand(%d)" % (2 * entries),
         "tcp-request connection set-var(sess.m) var(sess.n),mod(9)")
    name = "str(%sshop),concat(,sess.n,.eu-west-),concat(,sess.m,.example.com)"
    file = folder + "/%s.map"
    return [
        Kind("ipv4", "rand(%d),add(%d)" % (2 * entries * 256, BASE), "map_ip(%s)" % (file % "networks"),
             500, 400),
        Kind("names", name % "", "map_str(%s)" % (file % "names"), 500, 400, n),
        Kind("suffixes", name % "www.", "map_dom(%s)" % (file % "names"), 2, 60, n),
        Kind("sources", "rand(%d),add(%d)" % (entries, BASE), "table_conn_cnt(clients)", 500, 400),
    ]


def write_lists(entries, folder):
    with open(folder + "/networks.map", "w", encoding="ascii") as stream:
        for i in range(entries):
            address = socket.inet_ntoa((BASE + 2 * i * 256).to_bytes(4, "big"))
            stream.write("%s/24 1\n" % address)
    with open(folder + "/names.map", "w", encoding="ascii") as stream:
        for i in range(entries):
            stream.write(NAME % (2 * i, 2 * i % 9) + " 1\n")


def write_config(entries, rows, ports, folder):
    text = ("global\nnbthread 1\nmaxconn 1000\nstats socket %s/admin.sock level admin\n"
            "defaults\nmode tcp\ntimeout client 10s\ntimeout server 10s\ntimeout connect 10s\n"
            "backend clients\nstick-table type ip size %d expire 1h store conn_cnt\n"
            % (folder, 2 * entries))
    for i, row in enumerate(rows):
        for looks in (False, True):
            text += "frontend %s%d\nbind 127.0.0.1:%d\n" % (row.name, looks, ports[2 * i + looks])
            text += "\n".join(row.rules(looks)) + "\ntcp-request connection reject\n"
    with open(folder + "/haproxy.cfg", "w", encoding="ascii") as stream:
        stream.write(text)
    return folder + "/haproxy.cfg"


def tell(folder, commands):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(START_S)
        sock.connect(folder + "/admin.sock")
        sock.sendall((commands + "\n").encode())
        said = b""
        while True:
            part = sock.recv(65536)
            if not part:
                return said.decode("utf-8", "replace").strip()
            said += part


def fill_table(entries, folder):
    for first in range(0, entries, 200):
        tell(folder, ";".join("set table clients key %s data.conn_cnt 1"
                              % socket.inet_ntoa((BASE + i).to_bytes(4, "big"))
                              for i in range(first, min(first + 200, entries))))
    said = tell(folder, "show table")
    if "used:%d" % entries not in said:
        raise Failed("HAProxy's table has not %d entries: %s" % (entries, said))


def connect(port):
    """One connection, which HAProxy's rules refuse: with a reset, perhaps before connect() has returned."""
    with contextlib.suppress(ConnectionResetError), \
            socket.create_connection(("127.0.0.1", port), START_S) as sock:
        while sock.recv(4096):
            pass


def cpu_of(pid, port, connections):
    """CPU nanoseconds of the process per connection."""
    before = machine.cpu_ns(pid)
    for _ in range(connections):
        connect(port)
    return (machine.cpu_ns(pid) - before) / connections


def measure(pid, row, ports, rounds):
    """Nanoseconds per lookup: the median of the rounds, the least and the most."""
    each = []
    connect(ports[1])       # the file was read, the first pages are there
    for _ in range(rounds):
        bare = cpu_of(pid, ports[0], row.connections)
        full = cpu_of(pid, ports[1], row.connections)
        each.append((full - bare) / row.lookups)
    return {"list": row.name, "program": "haproxy", "ns": statistics.median(each), "least": min(each),
            "most": max(each), "lookups": row.lookups * row.connections * rounds,
            "how": row.lookup.partition("(")[0]}


def is_up(port):
    try:
        connect(port)
        return True
    except OSError:
        return False


def of_haproxy(args, folder, cpus):
    rows = kinds(args.entries, folder)
    ports = process.free_ports(2 * len(rows))
    write_lists(args.entries, folder)
    config = write_config(args.entries, rows, ports, folder)
    with open(folder + "/haproxy.log", "wb") as log, \
            process.running(["haproxy", "-db", "-f", config], cpus=cpus, stdout=log, stderr=log) as haproxy:
        def ready():
            if haproxy.poll() is not None:
                with open(folder + "/haproxy.log", encoding="utf-8", errors="replace") as stream:
                    raise Failed("HAProxy ended: " + stream.read()[-500:])
            return is_up(ports[0])
        process.wait_until(ready, START_S, "HAProxy does not accept connections")
        fill_table(args.entries, folder)
        return [measure(haproxy.pid, row, ports[2 * i:2 * i + 2], args.rounds)
                for i, row in enumerate(rows)]


LINE = re.compile(r"^(\w+) +(\d+) entries +\d+ of (\d+) found +([\d.]+) ns each$", re.M)


def parse(text, entries):
    """{list: nanoseconds} of what bench_lists printed for this many entries."""
    return {name: float(ns) for name, count, _, ns in LINE.findall(text) if int(count) == entries}


def of_weir(args, cpus):
    runs = []
    for _ in range(args.rounds):
        code, out, err = process.output([args.build + "/bench/bench_lists", str(args.entries)], START_S,
                                        cpus=cpus)
        if code != 0:
            raise Failed("bench_lists failed: " + err)
        runs.append(parse(out, args.entries))
    return [{"list": name, "program": "weir", "ns": statistics.median(run[name] for run in runs),
             "least": min(run[name] for run in runs), "most": max(run[name] for run in runs)}
            for name in runs[0]]


LISTS = {"ipv4": "IPv4 networks", "ipv6": "IPv6 networks", "names": "names",
         "suffixes": "names below a domain", "sources": "clients that are counted"}


def table(results):
    """Lines of a Markdown table."""
    lines = ["| list | weir | HAProxy | HAProxy's way |", "|---|---|---|---|"]
    by = {(row["program"], row["list"]): row for row in results}
    for name, words in LISTS.items():
        ours, theirs = by.get(("weir", name)), by.get(("haproxy", name))
        if ours:
            lines.append("| %s | %.0f ns | %s | %s |" % (
                words, ours["ns"], "%.0f ns" % theirs["ns"] if theirs else "-",
                "`%s`" % theirs["how"] if theirs else "-"))
    return lines


def version():
    said = subprocess.run(["haproxy", "-v"], capture_output=True, text=True, check=False).stdout
    return said.split("\n")[0]


def run(args):
    cpus = {sorted(os.sched_getaffinity(0))[-1]}
    with tempfile.TemporaryDirectory(prefix="weir-lookups-") as folder:
        results = of_weir(args, cpus) + of_haproxy(args, folder, cpus)
    print("\n".join(table(results)))
    if args.name:
        facts = machine.facts(ROOT)
        facts["command"] = [os.path.basename(word) for word in facts["command"]]
        whole = {"bench": "lookups", "facts": facts, "haproxy": version(), "entries": args.entries,
                 "rounds": args.rounds, "results": results}
        path = os.path.join(ROOT, "bench", "results", args.name + ".json")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(whole, indent=1) + "\n")
    return 0


def begin():
    parser = argparse.ArgumentParser(description="Time lookups in lists, in weir and in HAProxy.")
    parser.add_argument("--entries", type=int, default=100000, help="entries of each list (default 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--name", default="", help="write bench/results/NAME.json")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    try:
        return run(parser.parse_args())
    except Failed as error:
        print("lookups: %s" % error)
        return 1


if __name__ == "__main__":
    sys.exit(begin())
