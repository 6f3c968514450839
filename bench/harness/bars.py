# SPDX-License-Identifier: MIT
"""bars.py - the performance bars, and whether the figures of given runs meet them.

    sh bench/run.sh --bars NAME...          names of runs in bench/results, or paths to their JSON

Several runs are combined, including those of the small benchmarks. A workload measured by more than one
run is taken from the last one; a contender that is missing there is compared within an older run, so a
ratio always lies within one round of one run. Each figure is compared as printed, with two decimals.
Exit code: 0 if every bar is met, 1 if a bar is not met, undecided or not measured (a stretch goal never
counts), 2 for a file that is not a run.
"""

import argparse
import collections
import statistics
import sys

import chart
import report

OURS, DEFAULT, BARE, STRETCH_BASE = "weir-epoll", "haproxy", "bare", "haproxy-new"
HAPROXY = tuple(chart.WORDS)
PEERS = HAPROXY + ("nginx", "go")
SHORT = {"haproxy": "copy", "haproxy-splice": "auto", "haproxy-forced": "forced", "haproxy-new": "new",
         "haproxy-new-copy": "new-copy", "haproxy-new-forced": "new-forced"}

# Capacity: the stretch goal is a multiple of the newest HAProxy with splice-auto.
OF_BARE = 0.92
STRETCH = {"http-1k-64": 1.40, "http-1k-512": 1.55, "http-close": 1.60, "http-16k-64": 2.00,
           "http-1m-16": 1.40, "bulk-down-1": 1.80, "bulk-down-8": 1.55}
# CPU per unit of work, as a fraction of what HAProxy takes with its defaults.
EFFICIENCY = {"http-1k-64": 0.80, "http-1k-512": 0.80, "http-close": 0.90, "http-16k-64": 0.60,
              "bulk-down-1": 0.78, "bulk-down-8": 0.78}
# Without a cap: the bulk stream has a fixed pace.
LATENCY = (("http-1k-1", "e", "p50_us"), ("http-1k-1", "e", "p99_us"), ("beside-bulk", "e", "p99_us"))
IDLE_FIRST, IDLE_MORE, IDLE_FLAT = "idle-10", ("idle-1000", "idle-5000", "idle-9000"), 1.10
# The io_uring driver relative to epoll: where it must win, and how much it may lose elsewhere.
RING_WINS = {"http-close": 1.10, "http-1k-512": 1.05}
RING_ELSEWHERE = 0.97
ECHO = tuple("echo-%d-%d" % (n, size) for n in (50, 500, 1000) for size in (128, 1024))
TWO_WORKERS, APART = 1.90, 0.20
POOL_NS, POOL_TIMES, POOL_ALL = 20, 60, 1.20
AUTO_LOSES = 0.95       # of the better of copying and splicing: within noise
IDLE_BYTES, HEAP_CALLS, CALLS = 512, 0, 13

OTHER_RUN = 1000        # added to the rounds of an older run

MET, MISSED, UNDECIDED, UNKNOWN = "met", "NOT MET", "undecided", "not measured"

# figure: None = not measured; sign: how it must compare with `bar`; part: what is missing for a whole figure.
# higher, lower: could the true figure be higher or lower, because the CPU of a load was full?
Bar = collections.namedtuple("Bar", "group what figure sign bar note part stretch higher lower",
                             defaults=("", "", False, False, False))


def holds(figure, sign, bar):
    return {">": figure > bar, ">=": figure >= bar, "<=": figure <= bar}[sign]


def verdict(bar):
    if bar.figure is None:
        return UNKNOWN
    met = holds(round(bar.figure, 2), bar.sign, bar.bar)
    up = bar.sign != "<="
    may_turn = (bar.lower if up else bar.higher) if met else (bar.higher if up else bar.lower)
    if may_turn or (met and bar.part):
        return UNDECIDED
    return MET if met else MISSED


# ---- reading -----------------------------------------------------------------------------------

def over(older, newer):
    """The newer cells of a workload. For contenders missing there, the older cells, with weir's cells of
    that run, in separate rounds, so that each ratio lies within one run."""
    here = {cell["contender"] for cell in newer}
    if all(cell["contender"] in here for cell in older):
        return newer
    return newer + [dict(cell, round=cell["round"] + OTHER_RUN) for cell in older
                    if cell["contender"] not in here or cell["contender"] == OURS]


def load(names):
    """(cells of all runs, {bench: results} of the small benchmarks, headings); later runs win."""
    cells, small, heads = {}, {}, []
    for name in names:
        run = chart.read_run(chart.path_of(name))
        for key, newer in chart.grouped(run).items():
            cells[key] = over(cells.get(key, []), newer)
        if "bench" in run:
            small[run["bench"]] = run.get("results", [run])
        if "cells" not in run and "bench" not in run:
            raise ValueError("%s holds neither cells nor results" % name)
        facts = run.get("facts", {})
        heads.append("%-24s %s, kernel %s, revision %s%s" % (
            name, facts.get("date", "no date"), facts.get("kernel", "?"),
            facts.get("revision", "?")[:12] + ("+" if "changes" in facts.get("revision", "") else ""),
            "" if run.get("complete", True) else ", INTERRUPTED"))
    return [cell for group in cells.values() for cell in group], small, heads


def without(ratios):
    """The peers without a figure."""
    missing = [SHORT.get(p, p) for p, ratio in ratios.items() if not ratio]
    return "without " + " ".join(missing) if missing else ""


def bound(cells, workload, contender):
    return report.load_bound(report.select(cells, workload, "c", contender))


# ---- the bars ----------------------------------------------------------------------------------

def above_peers(cells, workload):
    """Compared with the nearest peer; undecided while a peer is missing."""
    ratios = {p: report.paired_ratio(cells, workload, "c", OURS, p) for p in PEERS}
    have = {p: r for p, r in ratios.items() if r}
    if not have:
        return Bar("capacity", workload + ": above every peer", None, ">", 1.0)
    best = min(have, key=have.get)
    return Bar("capacity", workload + ": above every peer", have[best], ">", 1.0, "best: " + best,
               without(ratios), False, bound(cells, workload, OURS),
               any(bound(cells, workload, p) for p in have))


def of_one(cells, workload, base, sign, bar, what, stretch=False):
    return Bar("capacity", "%s: %s" % (workload, what), report.paired_ratio(cells, workload, "c", OURS, base),
               sign, bar, "", "", stretch, bound(cells, workload, OURS), bound(cells, workload, base))


def capacity(cells):
    """Always the rows of the table, whatever else was measured."""
    more = [w for w in dict.fromkeys(c["workload"] for c in cells if c["view"] == "c" and
                                     c["contender"] == OURS and c["unit"] != "tail") if w not in STRETCH]
    for workload in [*STRETCH, *more]:
        yield above_peers(cells, workload)
        yield of_one(cells, workload, BARE, ">=", OF_BARE, "of the bare relay")
    for workload, wanted in STRETCH.items():
        yield of_one(cells, workload, STRETCH_BASE, ">=", wanted, "of " + STRETCH_BASE, True)


def beside(ratios):
    """The figures against HAProxy's other rows, for the note."""
    return ", ".join("%s %.2f" % (SHORT[p], ratios[p]) for p in HAPROXY if p != DEFAULT and ratios[p])


def efficiency(cells):
    for workload, wanted in EFFICIENCY.items():
        ratios = {p: report.paired_ratio(cells, workload, "e", OURS, p) for p in HAPROXY}
        yield Bar("efficiency", workload + ": CPU, of HAProxy's", ratios[DEFAULT], "<=", wanted,
                  beside(ratios))


def latency(cells):
    """No higher than any HAProxy row that was measured."""
    for workload, view, key in LATENCY:
        ratios = {p: report.paired_ratio(cells, workload, view, OURS, p, lambda c: c[key]) for p in HAPROXY}
        what = "%s: %s, of every HAProxy's" % (workload, key[:3])
        have = {p: ratio for p, ratio in ratios.items() if ratio}
        worst = max(have, key=have.get, default=None)
        note = ", ".join("%s %.2f" % (SHORT[p], ratio) for p, ratio in have.items())
        yield Bar("latency", what, have.get(worst), "<=", 1.0, note, without(ratios) if worst else "", False,
                  view == "c" and any(bound(cells, workload, p) for p in have),
                  view == "c" and bound(cells, workload, OURS))


def idle_is_flat(cells):
    first = report.by_round(cells, IDLE_FIRST, "e", OURS)
    for workload in IDLE_MORE:
        figure = report.median_ratio(report.by_round(cells, workload, "e", OURS), first)
        yield Bar("growth", "%s: CPU, of %s" % (workload, IDLE_FIRST), figure, "<=", IDLE_FLAT)


def io_uring(cells):
    measured = dict.fromkeys(c["workload"] for c in cells if c["contender"] == "weir-io_uring" and
                             c["view"] == "c")
    for workload in dict.fromkeys(ECHO + tuple(RING_WINS) + tuple(measured)):
        bar = 1.0 if workload in ECHO else RING_WINS.get(workload, RING_ELSEWHERE)
        ratio = report.paired_ratio(cells, workload, "c", "weir-io_uring", OURS)
        yield Bar("io_uring", workload + ": of the epoll driver", ratio, ">=", bar, "", "", False,
                  bound(cells, workload, "weir-io_uring"), bound(cells, workload, OURS))


def workers(cells):
    for workload in ("workers-1k-64", "workers-close", "workers-bulk-8"):
        ratio = report.paired_ratio(cells, workload, "c", "two", "one")
        yield Bar("workers", workload + ": two, of one", ratio, ">=", TWO_WORKERS, "", "", False,
                  bound(cells, workload, "two"), bound(cells, workload, "one"))
    two = [c for c in report.select(cells, "workers-bulk-8", "c", "two") if c["valid"]]
    for key, what in (("bytes_apart", "bytes of the busier, more than the other's"),
                      ("flows_apart", "flows of the busier, more than the other's")):
        yield Bar("workers", "8 flows: " + what,
                  statistics.median(c[key] for c in two) if two else None, "<=", APART)


def errors(cells):
    for who, mine in (("weir", [c for c in cells if "weir" in c["contender"] or
                                c["workload"].startswith("workers-")]),
                      ("the others", [c for c in cells if "weir" not in c["contender"] and
                                      not c["workload"].startswith("workers-")])):
        bad = [c for c in mine if not c["valid"]]
        where = " ".join(dict.fromkeys("%s/%s" % (c["contender"], c["workload"]) for c in bad))
        yield Bar("errors", "cells with an error: " + who, float(len(bad)) if mine else None, "<=", 0,
                  where or "of %d" % len(mine))


def pool(small):
    rows = small.get("pipe_pool")
    row = rows[-1] if rows else None
    yield Bar("small", "pipe pool: ns for get + put, alone", row and row["alone_ns"], "<=", POOL_NS)
    yield Bar("small", "pipe pool: times cheaper than pipe2 + close", row and row["ratio"], ">=", POOL_TIMES)
    yield Bar("small", "pipe pool: all threads at once, of alone",
              row and row["all_ns"] / row["alone_ns"], "<=", POOL_ALL)


def splice_auto(small):
    """The worst message size for each kind of socket."""
    for front in ("tcp", "unix"):
        rates = {(r["bytes"], r["splice"]): dict(enumerate(rate for rate, _ in r["samples"]))
                 for r in small.get("relay_sizes", []) if r["front"] == front}
        ratios = {}
        for size in {size for size, _ in rates}:
            better = max(("on", "off"), key=lambda mode: statistics.median(rates[size, mode].values()))
            ratios[size] = report.median_ratio(rates[size, "auto"], rates[size, better])
        worst = min(ratios, key=ratios.get, default=None)
        yield Bar("small", "splice = auto to %s: of the better of on and off" % front, ratios.get(worst),
                  ">=", AUTO_LOSES, "" if worst is None else "worst at %d KiB" % (worst // 1024))


def most(small, bench, key, test):
    """The largest of a small benchmark's figures for weir."""
    return max((float(r[key]) for r in small.get(bench, []) if r.get("contender") == OURS and test(r)),
               default=None)


def small_ones(small):
    yield from pool(small)
    yield from splice_auto(small)
    yield Bar("small", "heap calls after warm-up", most(small, "alloc", "taken", lambda r: True), "<=",
              HEAP_CALLS)
    yield Bar("small", "bytes of user memory, idle connection", most(
        small, "idle", "bytes_each", lambda r: True), "<=", IDLE_BYTES)
    yield Bar("small", "system calls, connect-request-close", most(
        small, "syscalls", "calls", lambda r: r["what"] == "connection"), "<=", CALLS)


def all_bars(cells, small):
    for part in (capacity, efficiency, latency, idle_is_flat, io_uring, workers, errors):
        yield from part(cells)
    yield from small_ones(small)


# ---- printing ----------------------------------------------------------------------------------

def line_of(bar):
    figure = "-" if bar.figure is None else report.number(bar.figure, 4) if bar.figure >= 100 else \
        "%.2f" % bar.figure
    star = "*" if bar.figure is not None and (bar.higher or bar.lower) else " "
    said = verdict(bar)
    if bar.stretch and said in (MET, MISSED):
        said = "reached" if said == MET else "not yet"
    note = "; ".join(part for part in (bar.note, bar.part) if part)
    line = "  %-50s %8s%s %2s %5g  %-12s %s" % (bar.what, figure, star, bar.sign, bar.bar, said, note)
    return line.rstrip()


def text(bars, heads):
    lines = heads[:]
    for group in dict.fromkeys((b.group, b.stretch) for b in bars):
        lines += ["", group[0] + (", the stretch goal" if group[1] else "")]
        lines += [line_of(b) for b in bars if (b.group, b.stretch) == group]
    count = collections.Counter(verdict(b) for b in bars if not b.stretch)
    sums = ", ".join("%d %s" % (count[v], v.lower()) for v in (MET, MISSED, UNDECIDED, UNKNOWN))
    lines += ["", "ratios are medians of the ratios within each round of one run, weir to the other.",
              "*: the CPU of a load was full, so one of the two is a lower bound; where that could turn",
              "the verdict, it is undecided. So it is when a peer of the bar was not measured.", "",
              "bars: " + sums]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="bench/run.sh --bars", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME",
                        help="names of runs in bench/results, or paths to their JSON; runs are combined")
    args = parser.parse_args()
    try:
        cells, small, heads = load(args.names)
    except (OSError, ValueError, KeyError) as error:
        print("bars: %s" % error)
        return 2
    bars = list(all_bars(cells, small))
    print(text(bars, heads))
    return 0 if all(verdict(b) == MET for b in bars if not b.stretch) else 1


if __name__ == "__main__":
    sys.exit(main())
