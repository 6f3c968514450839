# SPDX-License-Identifier: MIT
"""open_report.py - table, verdict and chart of the open-loop view. Pure functions, but for the files.

    sh bench/open.sh --verdict NAME     name of a run in bench/results, or path to its JSON
    sh bench/open.sh --doc NAME         puts its table into doc/performance.md, and redraws .txt and .svg

A cell of the verdict is a workload, a level and a percentile. The figure is the median of the rounds. weir
is `best` if it is below every peer, `even` up to 5 % above the best of them, and else `worse`. Exit code of
--verdict: 0 if the better of weir's drivers is best or even in each cell, 1 if not, 2 for no such run.
"""

import argparse
import collections
import math
import os
import statistics
import sys
from xml.sax.saxutils import escape

import chart
import report

POINTS = {"p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9"}
FIGURES = ("p50_us", "p90_us", "p99_us", "p999_us", "max_us")
OTHERS = ("offered", "achieved", "load_busy", "proxy_used", "late_p99_us", "sent_p99_us", "bulk_mb")
TITLES = {"open-keep": "1 KiB replies, keep-alive, 64 connections",
          "open-close": "connect, one request, close",
          "open-beside": "128-byte messages beside two downloads"}
NO_PEERS = ("direct", "bare")
EVEN = 1.05
BEST, SAME, WORSE, UNKNOWN = "best", "even", "worse", "not measured"
DOC = os.path.join(chart.ROOT, "doc", "performance.md")
MARKS = ("<!-- table of the open-loop view: begin -->", "<!-- table of the open-loop view: end -->")

# figure: of weir; peer: the best other one; ratio, low, high: weir to that peer, by medians and by rounds.
Verdict = collections.namedtuple("Verdict", "workload level point contender word figure peer peer_figure "
                                            "ratio low high", defaults=(None,) * 6)


def is_ours(name):
    return name.startswith("weir")


def us(value, unit=""):
    """Microseconds in three digits, followed by the unit; as ms from 10 ms on."""
    if value is None:
        return "-"
    return "%s ms" % report.number(value / 1e3) if value >= 10000 else report.number(value) + unit


def line_of(cell):
    """One line about one cell."""
    what = "%-12s %-18s" % (cell["workload"], cell["contender"])
    what += " %3d %%" % cell["level"] if cell["level"] else " closed"
    if not cell["valid"]:
        return "%s INVALID: %s" % (what, cell["error"])
    bulk = ", bulk %s MB/s" % report.number(cell["bulk_mb"]) if "bulk_mb" in cell else ""
    used = ", proxy %.0f %% of its share" % cell["proxy_used"] if "proxy_used" in cell else ""
    if not cell["level"]:
        return "%s %s requests/s%s%s, load %.0f %%" % (what, report.number(cell["achieved"]), used, bulk,
                                                       cell["load_busy"])
    return "%s %s/s: p50 %s, p99 %s, p99.9 %s, worst %s%s%s%s" % (
        what, report.number(cell["offered"]), *(us(cell[key], " us") for key in (*POINTS, "max_us")), used,
        bulk, ", BEHIND" if cell.get("behind") else "")


# ---- summary -----------------------------------------------------------------------------------

def groups(cells):
    """{(workload, level): [contender, ...]} in the order of the workloads, levels and first appearance."""
    found = {}
    for cell in cells:
        names = found.setdefault((cell["workload"], cell["level"]), [])
        if cell["contender"] not in names:
            names.append(cell["contender"])
    order = list(TITLES)
    rank = {name: i for i, name in enumerate(chart.ORDER)}
    for names in found.values():
        names.sort(key=lambda name: rank.get(name, 2))
    return dict(sorted(found.items(), key=lambda item: (
        order.index(item[0][0]) if item[0][0] in order else len(order), item[0])))


def select(cells, workload, level, contender):
    return [c for c in cells if (c["workload"], c["level"], c["contender"]) == (workload, level, contender)]


def by_round(cells, workload, level, contender, key):
    return {c["round"]: c[key] for c in select(cells, workload, level, contender) if c["valid"]}


def median(values):
    values = list(values)
    return statistics.median(values) if values else None


def summary(cells):
    """One row for each workload, level and contender; medians of the rounds."""
    rows = []
    for (workload, level), names in groups(cells).items():
        for name in names:
            mine = select(cells, workload, level, name)
            good = [c for c in mine if c["valid"]]
            row = {"workload": workload, "level": level, "contender": name, "samples": len(good),
                   "invalid": len(mine) - len(good), "behind": sum(c.get("behind", False) for c in good),
                   "load_bound": any(c.get("load_busy", 0) > report.BUSY for c in good)}
            for key in FIGURES + OTHERS:
                row[key] = median(c[key] for c in good if key in c)
            for key in FIGURES:
                row[key + "_each"] = [c[key] for c in good]
            rows.append(row)
    return rows


# ---- verdict -----------------------------------------------------------------------------------

def word_of(ratio):
    if ratio is None:
        return UNKNOWN
    return BEST if ratio < 1 else SAME if ratio <= EVEN else WORSE


def verdict_of(cells, rows, ours, point):
    """Of one of our rows, against the best peer at the same workload and level."""
    plain = Verdict(ours["workload"], ours["level"], point, ours["contender"], UNKNOWN)
    peers = [r for r in rows if (r["workload"], r["level"]) == (ours["workload"], ours["level"]) and
             not is_ours(r["contender"]) and r["contender"] not in NO_PEERS and r[point]]
    if not peers or not ours[point]:
        return plain
    best = min(peers, key=lambda r: r[point])
    ratio = ours[point] / best[point]
    mine, theirs = (by_round(cells, plain.workload, plain.level, name, point)
                    for name in (plain.contender, best["contender"]))
    each = [mine[r] / theirs[r] for r in mine if r in theirs] or [ratio]
    return plain._replace(word=word_of(ratio), figure=ours[point], peer=best["contender"],
                          peer_figure=best[point], ratio=ratio, low=min(each), high=max(each))


def verdicts(cells):
    """[(cell, [verdict of each of our contenders], the better one)]"""
    rows, found = summary(cells), []
    for workload, level in groups(cells):
        ours = [r for r in rows if (r["workload"], r["level"]) == (workload, level) and
                is_ours(r["contender"])]
        for point in POINTS if ours else ():
            each = [verdict_of(cells, rows, row, point) for row in ours]
            better = min(each, key=lambda v: math.inf if v.ratio is None else v.ratio)
            found.append(((workload, level, point), each, better))
    return found


def counts(words):
    count = collections.Counter(words)
    return ", ".join("%d %s" % (count[w], w) for w in (BEST, SAME, WORSE, UNKNOWN)
                     if count[w] or w != UNKNOWN)


def verdict_text(cells):
    """The verdict as lines; the last one counts the cells."""
    found = verdicts(cells)
    names = list(dict.fromkeys(v.contender for _, each, _ in found for v in each))
    lines = ["weir of the best peer, medians of the rounds (in single rounds); lower is better", "",
             "%-25s%s  %s" % ("", "".join("%-27s" % name for name in names), "best peer")]
    for (workload, level, point), each, better in found:
        line = "%-12s %3d %% %-6s" % (workload, level, POINTS[point])
        for verdict in each:
            text = verdict.word if verdict.ratio is None else "%.2f (%.2f - %.2f) %s" % (
                verdict.ratio, verdict.low, verdict.high, verdict.word)
            line += " %-26s" % text
        if better.peer:
            line += "  %s, %s" % (better.peer, us(better.peer_figure, " us"))
        lines.append(line)
    lines.append("")
    for name in names:
        lines.append("%s: %s" % (name, counts(v.word for _, each, _ in found for v in each
                                              if v.contender == name)))
    lines.append("%d cells, the better driver in each: %s" % (
        len(found), counts(better.word for _, _, better in found)))
    return "\n".join(lines) + "\n"


def all_good(cells):
    found = verdicts(cells)
    return bool(found) and all(better.word in (BEST, SAME) for _, _, better in found)


# ---- tables ------------------------------------------------------------------------------------

ROW = "  %-13s %9s %8s %8s %8s %8s %17s %6s %5s %6s"


def table(run):
    """Text for people: each workload and level with all contenders."""
    rows, lines = summary(run["cells"]), []
    for (workload, level), names in groups(run["cells"]).items():
        same = run.get("method", {}).get("same")
        lines += ["%s at %d %% of %s capacity (us; lower is better)" % (
            TITLES.get(workload, workload), level, "the lowest" if same else "each one's"),
            ROW % ("", "offered/s", "p50", "p99", "p99.9", "worst", "p99 min - max", "proxy", "load",
                   "late")]
        for row in [r for r in rows if (r["workload"], r["level"]) == (workload, level)]:
            each = row["p99_us_each"]
            flags = " *" if row["load_bound"] else ""
            flags += " behind %d/%d" % (row["behind"], row["samples"]) if row["behind"] else ""
            flags += " bad %d" % row["invalid"] if row["invalid"] else ""
            used, busy = ("-" if row[key] is None else "%.0f %%" % row[key]
                          for key in ("proxy_used", "load_busy"))
            lines.append(ROW % (
                row["contender"], report.number(row["offered"]),
                *(us(row[key]) for key in (*POINTS, "max_us")),
                "%s - %s" % (us(min(each)), us(max(each))) if each else "-", used, busy,
                us(row["late_p99_us"])) + flags)
        lines.append("")
    lines += ["proxy: CPU it used, of its share.  load: how busy the CPU of load and backends was; *: it was",
              "full in a round.  late: how late the generator itself was (p99).  behind: rounds in which",
              "fewer replies came than requests were due.  bad: cells that are not results.", ""]
    return "\n".join(lines)


def heading(run):
    facts = run["facts"]
    lines = ["kernel %s, %s x %d, congestion control %s, revision %s" % (
        facts["kernel"], facts["cpu"], facts["cpus"], facts["congestion"], facts["revision"][:12])]
    lines += ["%-15s %s" % (name, entry["version"]) for name, entry in run["contenders"].items()
              if entry["version"]]
    done = max([c["round"] for c in run["cells"]], default=0)
    lines.append("%d rounds of %g s%s; proxy: %s; arrivals %s" % (
        done, run["seconds"], "" if run["complete"] else ", NOT COMPLETE", run["cap"],
        run["method"]["arrivals"]))
    lines.append("")
    for workload, found in run["capacity"].items():
        lines.append("capacity, %s: %s" % (workload, ", ".join(
            "%s %s/s%s" % (name, report.number(entry["rate"]),
                           " *" if entry["load_busy"] > report.BUSY else "")
            for name, entry in found.items())))
    return "\n".join(lines) + "\n\n"


def text(run):
    return heading(run) + table(run) + "\n" + verdict_text(run["cells"])


def markdown(run):
    """The table for doc/performance.md."""
    rows = summary(run["cells"])
    names = list(dict.fromkeys(name for found in groups(run["cells"]).values() for name in found))
    titles = [chart.label(name, run["contenders"]) for name in names]
    lines = ["| workload | load | %s |" % " | ".join(titles), "|---" * (len(names) + 2) + "|"]
    last = None
    for workload, level in groups(run["cells"]):
        if workload != last:
            last = workload
            rates = [run["capacity"].get(workload, {}).get(name, {}).get("rate") for name in names]
            lines.append("| %s | capacity | %s |" % (TITLES.get(workload, workload), " | ".join(
                "%s/s" % report.number(rate) if rate else "-" for rate in rates)))
        words = ["", "%d %%" % level]
        for name in names:
            row = [r for r in rows if (r["workload"], r["level"], r["contender"]) == (workload, level, name)]
            words.append("%s / %s / %s (%s)" % tuple(us(row[0][key]) for key in (*POINTS, "max_us"))
                         if row and row[0]["samples"] else "-")
        lines.append("| %s |" % " | ".join(words))
    done = max([c["round"] for c in run["cells"]], default=0)
    found = verdicts(run["cells"])
    lines += ["", "p50 / p99 / p99.9 (worst) in us, medians of %d rounds of %g s; kernel %s; raw:" % (
        done, run["seconds"], run["facts"]["kernel"]),
        "[%s](../bench/results/%s.txt)." % (run["name"], run["name"]),
        "Of %d cells, the better of weir's drivers is in: %s." % (
            len(found), counts(better.word for _, _, better in found))]
    return "\n".join(lines) + "\n"


def into(document, table_text):
    """The document with the table between the marks; ValueError if it has no marks."""
    head, begin, rest = document.partition(MARKS[0])
    _, end, tail = rest.partition(MARKS[1])
    if not begin or not end:
        raise ValueError("the document has no place for the table")
    return "%s%s\n\n%s\n%s%s" % (head, begin, table_text, end, tail)


# ---- chart -------------------------------------------------------------------------------------

STYLE = chart.STYLE + """
.span { stroke: #a7b1bc; stroke-width: 3; } .spanours { stroke: #2477d4; stroke-width: 3; }
@media (prefers-color-scheme: dark) { .span { stroke: #59636e; } .spanours { stroke: #4a98f0; } }
"""


def ticks(low, high):
    """Powers of ten from at most `low` to at least `high`, two of them or more."""
    found = [10.0 ** math.floor(math.log10(max(low, 1.0)))]
    while found[-1] < high or len(found) < 2:
        found.append(found[-1] * 10)
    return found


def tick_label(value):
    return "%d us" % value if value < 1000 else "%d ms" % (value / 1000)


def panel(x, y, title, rows, place, versions):
    """One workload and level: a line from p50 to p99.9 for each contender, with p99 as a dot and a figure."""
    body = ['<text class="panel" x="%d" y="%d">%s</text>' % (x, y + 13, escape(title))]
    bottom = y + chart.PANEL_HEAD + len(rows) * chart.STEP
    for value in place.ticks:
        at = x + place(value)
        body.append('<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>'
                    '<text x="%.1f" y="%d" text-anchor="middle">%s</text>'
                    % (at, y + chart.PANEL_HEAD - 4, at, bottom, at, bottom + 13, tick_label(value)))
    for i, row in enumerate(rows):
        top = y + chart.PANEL_HEAD + i * chart.STEP
        own = is_ours(row["contender"])
        words = ' class="own"' if own else ""
        low, mid, high = (x + place(row[key]) for key in POINTS)
        body.append(
            '<text%s x="%d" y="%d" text-anchor="end">%s</text>'
            '<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>'
            '<circle class="%s" cx="%.1f" cy="%d" r="5"/>'
            '<text%s x="%d" y="%d" text-anchor="end">%s</text>'
            % (words, x + chart.LABEL - 8, top + 11, escape(chart.label(row["contender"], versions)),
               "spanours" if own else "span", low, top + 7, high, top + 7, "ours" if own else "bar", mid,
               top + 7, words, x + chart.COLUMN - 4, top + 11, us(row["p99_us"])))
    return body


class Place:
    """Where a latency is, on a logarithmic scale that all panels share."""

    def __init__(self, low, high):
        self.ticks = ticks(low, high)
        self.width = chart.COLUMN - chart.LABEL - chart.VALUE - 18

    def __call__(self, value):
        floor = self.ticks[0]
        share = math.log(max(value, floor) / floor) / math.log(self.ticks[-1] / floor)
        return chart.LABEL + share * self.width


def svg(run):
    """The SVG, or an empty string when there is nothing to draw."""
    rows = [r for r in summary(run["cells"]) if r["samples"]]
    keys = [key for key in groups(run["cells"])]
    panels = [(key, [r for r in rows if (r["workload"], r["level"]) == key]) for key in keys]
    panels = [(key, mine) for key, mine in panels if mine]
    if not panels:
        return ""
    place = Place(min(r["p50_us"] for r in rows), max(r["p999_us"] for r in rows))
    tall = chart.PANEL_HEAD + max(len(mine) for _, mine in panels) * chart.STEP + chart.PANEL_GAP + 18
    body = []
    for i, ((workload, level), mine) in enumerate(panels):
        body += panel(chart.MARGIN + i % 2 * (chart.COLUMN + chart.GUTTER), chart.TOP + i // 2 * tall,
                      "%s: %d %%" % (TITLES.get(workload, workload), level), mine, place, run["contenders"])
    height = chart.TOP + (len(panels) + 1) // 2 * tall
    title = "Latency at a fixed arrival rate, at a part of each proxy's own capacity"
    note = "From p50 to p99.9; the dot and the figure (us) are p99; further left is better. Proxy: %s" % (
        run["cap"].split(",")[0])
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">'
        % (chart.WIDTH, height, chart.WIDTH, height),
        "<title>%s</title><style>%s</style>" % (escape(title), STYLE),
        '<text class="title" x="%d" y="28">%s</text>' % (chart.MARGIN, escape(title)),
        '<text x="%d" y="50">%s</text>' % (chart.MARGIN, escape(note)), *body, "</svg>", ""])


# ---- files -------------------------------------------------------------------------------------

def write(run, base):
    """BASE.txt and BASE.svg"""
    for suffix, content in ((".txt", text(run)), (".svg", svg(run))):
        with open(base + suffix, "w", encoding="utf-8") as stream:
            stream.write(content)


def main():
    parser = argparse.ArgumentParser(prog="bench/open.sh", description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--verdict", metavar="NAME", help="is weir best, even or worse in each cell?")
    what.add_argument("--doc", metavar="NAME", help="put the table into doc/performance.md")
    args = parser.parse_args()
    path = chart.path_of(args.verdict or args.doc)
    try:
        run = chart.read_run(path)
        if "level" not in run["cells"][0]:
            raise ValueError("no open-loop run")
    except (OSError, ValueError, KeyError, IndexError) as error:
        print("open: %s: %s" % (path, error))
        return 2
    if args.verdict:
        print(verdict_text(run["cells"]), end="")
        return 0 if all_good(run["cells"]) else 1
    with open(DOC, encoding="utf-8") as stream:
        document = stream.read()
    with open(DOC, "w", encoding="utf-8") as stream:
        stream.write(into(document, markdown(run)))
    write(run, path[:-len(".json")])
    print("written: doc/performance.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
