# SPDX-License-Identifier: MIT
"""chart.py - the SVG of a run: one small panel per workload, capacity as a multiple of HAProxy's.

    sh bench/run.sh --chart NAME [--only WORKLOAD,...] [--contenders A,B,...] [--base CONTENDER] [--out FILE]

Redraws bench/results/NAME.json without a run. 1.00 is the base: a contender, or `best`, which is the best
HAProxy row of each workload (so there is one bar for all its rows). All panels share one scale. Works on
light and dark pages: there is no background.
"""

import argparse
import fnmatch
import json
import os
import re
import statistics
import sys
from xml.sax.saxutils import escape

import report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEST = "best"
# The rows of the table in doc/performance.md; a run with none of them is drawn with its own rows.
WORKLOADS = {
    "http-1k-64": "1 KiB replies, 64 connections", "http-1k-512": "1 KiB replies, 512 connections",
    "http-close": "connect, one request, close", "http-16k-64": "16 KiB replies, 64 connections",
    "http-128k-64": "128 KiB replies, 64 connections",
    "http-1m-16": "1 MiB replies, 16 connections", "bulk-down-1": "bulk, 1 stream",
    "bulk-down-8": "bulk, 8 streams"}
ORDER = ("weir-epoll", "weir-io_uring", BEST, "nginx", "go", "bare")
WORDS = {"haproxy": "copying", "haproxy-splice": "auto", "haproxy-forced": "forced",
         "haproxy-new": "auto", "haproxy-new-copy": "copying", "haproxy-new-forced": "forced"}
PLAIN = {"weir-epoll": "weir", "weir-io_uring": "weir io_uring", "go": "Go io.Copy",
         "bare": "bare relay"}
STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #59636e; }
.title { font-size: 17px; font-weight: 600; } .panel { font-size: 13px; font-weight: 600; }
.title, .panel, .own { fill: #1f2328; } .own { font-weight: 600; }
.axis { stroke: #59636e; stroke-width: 1; stroke-dasharray: 3 3; }
.bar { fill: #a7b1bc; } .ours { fill: #2477d4; } .yard { fill: none; stroke: #a7b1bc; }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4af; } .title, .panel, .own { fill: #f0f6fc; }
  .bar { fill: #59636e; } .ours { fill: #4a98f0; } .yard { stroke: #6e7681; }
}
"""
WIDTH, COLUMN, GUTTER, MARGIN = 880, 416, 28, 10
LABEL, VALUE, STEP, BAR, PANEL_HEAD, PANEL_GAP, TOP = 140, 44, 19, 13, 24, 18, 84


def values(cells, workload, names, base):
    """[(contender, ratio, marked)] of one workload; empty without the base. Capacity alone."""
    haproxy = {n: [c["rate"] for c in report.select(cells, workload, "c", n) if c["valid"]] for n in WORDS}
    best = max((n for n in haproxy if haproxy[n]), key=lambda n: statistics.median(haproxy[n]), default=None)
    base = best if base == BEST else base
    found = []
    for name in names:
        real = best if name == BEST else name
        ratio = report.paired_ratio(cells, workload, "c", real, base) if real and base else None
        if ratio:
            found.append((real, ratio, report.load_bound(report.select(cells, workload, "c", real))))
    return found


def label(name, versions):
    """The name for readers: HAProxy 2.6 copying, nginx 1.22, weir."""
    number = re.search(r"\d+\.\d+", versions.get(name, {}).get("version", ""))
    number = " " + number.group() if number else ""
    if name in WORDS:
        return "HAProxy%s %s" % (number, WORDS[name])
    return PLAIN.get(name, name + number)


def panel(x, y, title, bars, scale, versions):
    """One workload; returns its elements."""
    left, bottom = x + LABEL, y + PANEL_HEAD + len(bars) * STEP
    body = ['<text class="panel" x="%d" y="%d">%s</text>' % (x, y + 13, escape(title)),
            '<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>'
            % (left + scale, y + PANEL_HEAD - 4, left + scale, bottom - 2)]
    for i, (name, ratio, marked) in enumerate(bars):
        top = y + PANEL_HEAD + i * STEP
        own = name.startswith("weir")
        kind = "ours" if own else "yard" if name == "bare" else "bar"
        text = ' class="own"' if own else ""
        # The star is outside the column, so that the figures stay aligned.
        body.append(
            '<text%s x="%d" y="%d" text-anchor="end">%s</text>'
            '<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>'
            '<text%s x="%d" y="%d" text-anchor="end">%.2f</text>%s'
            % (text, left - 8, top + 11, escape(label(name, versions)), kind, left, top,
               max(1.0, ratio * scale), BAR, text, x + COLUMN - 8, top + 11, ratio,
               '<text x="%d" y="%d">*</text>' % (x + COLUMN - 7, top + 11) if marked else ""))
    return body


def legend(x, y, base, rows, names, versions, marked):
    """How to read the chart, in the space that the panels leave free."""
    lines = ["Longer is better; the dashed line is 1.00,"]
    if base == BEST:
        lines += ["what HAProxy carries with the setting that suits it best,",
                  "for each workload by itself; %d settings took part" % rows,
                  "(auto: option splice-auto; forced: splice-request, -response)."]
    else:
        lines.append("what %s carries." % label(base, versions))
    if "bare" in names and base != "bare":
        lines.append("Outlined: a relay that does nothing else, as a yardstick.")
    if marked:
        lines.append("* the load's CPU was full: a lower bound.")
    return ['<text x="%d" y="%d">%s</text>' % (x, y + 13 + 17 * i, escape(line))
            for i, line in enumerate(lines)]


def chart(cells, versions, note, only=(), names=(), base=BEST):
    """The SVG, or an empty string when there is nothing to draw."""
    mine = [c for c in cells if c["view"] == "c" and c["unit"] != "tail"]
    have = list(dict.fromkeys(c["workload"] for c in mine))
    works = [w for w in have if any(fnmatch.fnmatchcase(w, name) for name in only)] if only else \
        [w for w in WORKLOADS if w in have] or have
    there = list(dict.fromkeys(c["contender"] for c in mine))
    if base == BEST and not any(n in WORDS for n in there):
        base = "bare"
    names = names or [n for n in ORDER if n in there or (n == base == BEST)] + \
        [n for n in there if n not in ORDER and (n not in WORDS or base != BEST)]
    panels = [(w, values(mine, w, names, base)) for w in works]
    panels = [p for p in panels if p[1]]
    if not panels:
        return ""
    scale = (COLUMN - LABEL - VALUE) / max(1.0, max(ratio for _, bars in panels for _, ratio, _ in bars))
    tall = PANEL_HEAD + max(len(bars) for _, bars in panels) * STEP + PANEL_GAP
    body = []
    for i, (work, bars) in enumerate(panels):
        body += panel(MARGIN + i % 2 * (COLUMN + GUTTER), TOP + i // 2 * tall, WORKLOADS.get(work, work),
                      bars, scale, versions)
    at = len(panels)
    body += legend(MARGIN + at % 2 * (COLUMN + GUTTER), TOP + at // 2 * tall, base,
                   sum(n in WORDS for n in there), names, versions,
                   any(marked for _, bars in panels for _, _, marked in bars))
    height = TOP + at // 2 * tall + max(tall, 110)
    title = "How much one capped core carries, as a multiple of HAProxy"
    if base == "bare":
        title = "How much one capped core carries, as a multiple of a bare relay"
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">'
        % (WIDTH, height, WIDTH, height),
        "<title>%s</title><style>%s</style>" % (escape(title), STYLE),
        '<text class="title" x="%d" y="28">%s</text>' % (MARGIN, escape(title)),
        '<text x="%d" y="50">%s</text>' % (MARGIN, escape(note)), *body, "</svg>", ""])


def note_of(run):
    """One line about where the figures come from."""
    return "Capacity at %s; kernel %s; medians of at least %d interleaved rounds of %g s" % (
        run["cap"].split(",")[0], run["facts"]["kernel"], run["rounds"], run["seconds"])


def of_run(run, **more):
    return chart(run["cells"], run["contenders"], note_of(run), **more)


def path_of(name):
    """The path of a run, given as a path that ends in .json or as a name in bench/results."""
    return name if name.endswith(".json") else os.path.join(ROOT, "bench", "results", name + ".json")


def read_run(path):
    """The JSON of a run. `names.json` next to it maps earlier names of the program to its name now, so that
    raw figures stay as they were written."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    try:
        with open(os.path.join(os.path.dirname(path), "names.json"), encoding="utf-8") as stream:
            names = json.load(stream)
    except FileNotFoundError:
        names = {}
    for old, new in names.items():
        text = re.sub(r"\b%s\b" % re.escape(old), new, text)
    return json.loads(text)


def grouped(run):
    """{(workload, view): its cells}"""
    groups = {}
    for cell in run.get("cells", []):
        groups.setdefault((cell["workload"], cell["view"]), []).append(cell)
    return groups


def merged(runs):
    """Combines several runs into one: a later run replaces a workload, per view, as a whole."""
    cells = {}
    for run in runs:
        cells.update(grouped(run))
    whole = dict(runs[0], cells=[cell for some in cells.values() for cell in some],
                 rounds=min(run["rounds"] for run in runs))
    whole["contenders"] = {name: entry for run in runs for name, entry in run["contenders"].items()}
    return whole


def main():
    parser = argparse.ArgumentParser(prog="bench/run.sh --chart", description=__doc__.split("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="+",
                        help="run in bench/results, or path to its JSON; later runs replace workloads")
    parser.add_argument("--only", default="", metavar="WORKLOAD,...",
                        help="workloads to draw; bulk* selects all that start with bulk")
    parser.add_argument("--contenders", default="", metavar="A,B,...",
                        help="contenders to draw, in this order; best is the best HAProxy row")
    parser.add_argument("--base", default=BEST, help="contender that is 1.00, or best, as above")
    parser.add_argument("--out", default="", metavar="FILE",
                        help="output file (default NAME.svg next to the JSON)")
    args = parser.parse_args()
    paths, runs = [path_of(name) for name in args.names], []
    for path in paths:
        try:
            runs.append(read_run(path))
        except (OSError, ValueError) as error:
            print("chart: %s: %s" % (path, error))
            return 2
        if "cells" not in runs[-1]:
            print("chart: %s is no run of workloads" % path)
            return 2
    run, path = merged(runs), paths[0]
    svg = of_run(run, only=[n for n in args.only.split(",") if n], base=args.base,
                 names=[n for n in args.contenders.split(",") if n])
    if not svg:
        print("chart: %s holds no capacity of these workloads and contenders beside %s" % (path, args.base))
        return 1
    out = args.out or path[:-len(".json")] + ".svg"
    with open(out, "w", encoding="utf-8") as stream:
        stream.write(svg)
    print("written: " + os.path.relpath(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
