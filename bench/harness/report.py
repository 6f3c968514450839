# SPDX-License-Identifier: MIT
"""report.py - from raw cells to medians, paired ratios, a text table and an SVG chart. Pure functions."""

import statistics
from xml.sax.saxutils import escape

VIEWS = {"e": "efficiency", "c": "capacity"}
BASES = ("haproxy", "haproxy-splice", "haproxy-forced", "haproxy-new", "bare")
SHORT = {"haproxy": "/hapr", "haproxy-splice": "/h-spl", "haproxy-forced": "/h-for",
         "haproxy-new": "/h-new", "bare": "/bare"}
ROW = "  %-15s %7s %15s %s %7s %7s %7s%s"
COLOURS = ("#8a8f98", "#c9852b", "#4f8fd0", "#8c6bc8", "#3a9d6e", "#c2566a", "#2f9aa8", "#d0629f", "#a39a2c")


def value_of(cell):
    """The figure of a cell: CPU us (or ms a GB) for a unit, units a second, or a tail's p99 in us."""
    if not cell["valid"]:
        return None
    if cell["unit"] == "tail":
        return cell["p99_us"]
    if cell["view"] == "c":
        return cell["rate"]
    ns = cell.get("cpu_ns_per_unit")
    if ns is None:
        return None
    return ns / (1e6 if cell["unit"] == "GB" else 1e3)


def unit_of(view, unit):
    if unit == "tail":
        return "requests/s" if view == "c" else "p99 us"
    if view == "c":
        return unit + ("/s" if unit == "GB" else "s/s")
    return "CPU ms/GB" if unit == "GB" else "CPU us/" + unit


def select(cells, workload, view, contender):
    return [c for c in cells if (c["workload"], c["view"], c["contender"]) == (workload, view, contender)]


def paired_ratio(cells, workload, view, contender, base):
    """Median of the ratios within each round; None without a common round."""
    def by_round(name):
        return {c["round"]: value_of(c) for c in select(cells, workload, view, name) if value_of(c)}
    ours, theirs = by_round(contender), by_round(base)
    common = [ours[r] / theirs[r] for r in ours if r in theirs]
    return statistics.median(common) if common else None


def median_of(cells, key):
    have = [c[key] for c in cells if c["valid"] and c.get(key) is not None]
    return statistics.median(have) if have else None


def summary(cells):
    """One row for each workload, view and contender, in the order in which they first appear."""
    rows = []
    for workload, view, contender in dict.fromkeys((c["workload"], c["view"], c["contender"]) for c in cells):
        mine = select(cells, workload, view, contender)
        values = [value_of(c) for c in mine if value_of(c) is not None]
        rows.append({
            "workload": workload, "view": view, "contender": contender,
            "unit": unit_of(view, mine[0]["unit"]), "samples": len(values),
            "invalid": sum(not c["valid"] for c in mine),
            "median": statistics.median(values) if values else None,
            "min": min(values, default=None), "max": max(values, default=None),
            "ratios": {base: paired_ratio(cells, workload, view, contender, base) for base in BASES},
            "p50_us": median_of(mine, "p50_us"), "p99_us": median_of(mine, "p99_us"),
            "rate": median_of(mine, "rate"),
            "load_bound": view == "c" and any(c.get("load_busy", 0) > 97 for c in mine),
        })
    return rows


def number(value, digits=3):
    if value is None:
        return "-"
    if value >= 1000:
        return "%d" % round(value)
    return "%.*g" % (digits, value)


def ratio(value):
    return "-" if value is None else "%.2f" % value


def table(rows, capacity_note):
    """Text for people. Efficiency: lower is better; capacity: higher is better."""
    notes = {"e": "efficiency: CPU time of the proxy for each unit, no cap; lower is better",
             "c": "capacity: %s; higher is better" % capacity_note}
    bases = [b for b in BASES if any(r["ratios"].get(b) for r in rows)]
    lines = []
    for view, note in notes.items():
        mine = [r for r in rows if r["view"] == view]
        if mine:
            lines += ["", note, "-" * len(note)]
        for workload in dict.fromkeys(r["workload"] for r in mine):
            group = [r for r in mine if r["workload"] == workload]
            lines += ["", "%s (%s)" % (workload, group[0]["unit"]), ROW % (
                "", "median", "min - max", "".join("%7s" % SHORT[b] for b in bases), "p50 us", "p99 us",
                "rate/s", "")]
            for r in group:
                span = "%s - %s" % (number(r["min"]), number(r["max"])) if r["samples"] else "-"
                mark = " *" if r["load_bound"] else ""
                if r["invalid"]:
                    mark += " bad %d/%d" % (r["invalid"], r["invalid"] + r["samples"])
                lines.append(ROW % (
                    r["contender"], number(r["median"]), span,
                    "".join("%7s" % ratio(r["ratios"].get(b)) for b in bases),
                    number(r["p50_us"]), number(r["p99_us"]), number(r["rate"]), mark))
    lines += ["", "/x: median of the ratios to contender x within each round.  *: the load's CPU was full",
              "in a round: a lower bound.  bad: cells with an error, which are no result."]
    return "\n".join(lines).lstrip("\n") + "\n"


# ---- the chart ---------------------------------------------------------------------------------

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 15px; font-weight: 600; } .note { fill: #57606a; }
.axis { stroke: #57606a; stroke-width: 1; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .note { fill: #9aa4af; } .axis { stroke: #9aa4af; }
}
"""
WIDTH, LEFT, BAR, GAP = 860, 150, 13, 14


def chart_value(row, base):
    """Better is longer in both views: efficiency is turned round."""
    value = row["ratios"].get(base)
    if not value:
        return None
    return value if row["view"] == "c" else 1.0 / value


def chart(rows, title, note):
    """Bars as multiples of HAProxy with splice (or what there is of it), one group a workload."""
    view = "c" if any(r["view"] == "c" for r in rows) else "e"
    mine = [r for r in rows if r["view"] == view]
    base = next((b for b in ("haproxy-splice", "haproxy", "bare")
                 if any(r["ratios"].get(b) for r in mine)), None)
    mine = [r for r in mine if base and chart_value(r, base) and r["contender"] != "direct"]
    if not mine:
        return ""
    names = list(dict.fromkeys(r["contender"] for r in mine))
    groups = list(dict.fromkeys(r["workload"] for r in mine))
    longest = max(max(chart_value(r, base) for r in mine), 1.0)
    scale = (WIDTH - LEFT - 60) / longest
    what = "throughput under the same cap on CPU" if view == "c" else "work done for the same CPU time"
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    body, x, y = [], 0, 84
    for name in names:
        body.append('<rect x="%d" y="52" width="11" height="11" fill="%s"/><text x="%d" y="62">%s</text>'
                    % (LEFT + x, colour[name], LEFT + x + 16, escape(name)))
        x += 30 + 8 * len(name)
    top = y - 6
    for group in groups:
        bars = [r for r in mine if r["workload"] == group]
        body.append('<text x="%d" y="%d" text-anchor="end">%s</text>'
                    % (LEFT - 10, y + len(bars) * BAR / 2 + 4, escape(group)))
        for r in bars:
            value = chart_value(r, base)
            body.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>'
                        '<text x="%.1f" y="%d">%.2f</text>'
                        % (LEFT, y, value * scale, BAR - 2, colour[r["contender"]],
                           LEFT + value * scale + 5, y + BAR - 3, value))
            y += BAR
        y += GAP
    at = LEFT + scale
    body.append('<line class="axis" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>' % (at, top, at, y - GAP + 4))
    head = ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">\n'
            '<title>%s</title><style>%s</style>\n'
            '<text class="title" x="10" y="22">%s</text>\n'
            '<text class="note" x="10" y="40">%s; %s = 1.00 - %s</text>'
            % (WIDTH, y, WIDTH, y, escape(title), STYLE, escape(title), escape(what), base, escape(note)))
    return head + "\n" + "\n".join(body) + "\n</svg>\n"
