# SPDX-License-Identifier: MIT
"""report.py - from raw cells to medians, paired ratios and a text table. Pure functions."""

import statistics

BASES = ("haproxy", "haproxy-splice", "haproxy-forced", "haproxy-new", "haproxy-new-copy",
         "haproxy-new-forced", "bare")
SHORT = {"haproxy": "/hap", "haproxy-splice": "/spl", "haproxy-forced": "/for", "haproxy-new": "/new",
         "haproxy-new-copy": "/n-cp", "haproxy-new-forced": "/n-fo", "bare": "/bare"}
ROW = "  %-18s %6s %15s %s %6s %6s%s"
BUSY = 97       # percent of a CPU from which it counts as full


def value_of(cell):
    """The figure of a cell: CPU us per unit (or ms per GB), units per second, or a tail's p99 in us."""
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
        return "p99 us"
    if view == "c":
        return unit + ("/s" if unit == "GB" else "s/s")
    return "CPU ms/GB" if unit == "GB" else "CPU us/" + unit


def select(cells, workload, view, contender):
    return [c for c in cells if (c["workload"], c["view"], c["contender"]) == (workload, view, contender)]


def by_round(cells, workload, view, contender, figure=value_of):
    """{round: figure} of the cells that are results."""
    return {c["round"]: figure(c) for c in select(cells, workload, view, contender)
            if c["valid"] and figure(c)}


def median_ratio(ours, theirs):
    """Median of the ratios within each round, from two results of by_round(); None without a common round."""
    common = [ours[r] / theirs[r] for r in ours if r in theirs]
    return statistics.median(common) if common else None


def paired_ratio(cells, workload, view, contender, base, figure=value_of):
    """The same of two contenders at one workload."""
    return median_ratio(by_round(cells, workload, view, contender, figure),
                        by_round(cells, workload, view, base, figure))


def load_bound(cells):
    """Was the load's CPU full in a round? Then its contender could have carried more."""
    return any(c["view"] == "c" and c.get("load_busy", 0) > BUSY for c in cells)


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
            "load_bound": load_bound(mine),
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
    notes = {"e": "efficiency: CPU time of the proxy per unit, no cap; lower is better",
             "c": "capacity: %s; higher is better" % capacity_note}
    bases = [b for b in BASES if any(r["ratios"].get(b) for r in rows)]
    lines = []
    for view, note in notes.items():
        mine = [r for r in rows if r["view"] == view]
        if mine:
            lines += ["", note, "-" * len(note)]
        for workload in dict.fromkeys(r["workload"] for r in mine):
            group = [r for r in mine if r["workload"] == workload]
            unit, with_rate = group[0]["unit"], shows_rate(group[0])
            lines += ["", "%s (%s%s)" % (workload, unit, "; lower is better" if unit == "p99 us" else ""),
                      ROW % ("", "median", "min - max", "".join("%6s" % SHORT[b] for b in bases), "p50 us",
                             "p99 us", "  rate/s" if with_rate else "")]
            for r in group:
                lines += table_rows(r, bases)
    lines += ["", "/x: median of the ratios to contender x within each round.  *: the load's CPU was full",
              "in a round: a lower bound.  bad: cells with an error, which are not results."]
    return "\n".join(lines).lstrip("\n") + "\n"


def shows_rate(row):
    """Empty where the rate is the figure itself."""
    return row["view"] == "e" or row["unit"] == "p99 us"


def table_rows(row, bases):
    """One line, and another one if some cells are not results."""
    span = "%s - %s" % (number(row["min"]), number(row["max"])) if row["samples"] else "-"
    last = "%8s" % number(row["rate"]) if shows_rate(row) else ""
    last += " *" if row["load_bound"] else ""
    lines = [ROW % (row["contender"], number(row["median"]), span,
                    "".join("%6s" % ratio(row["ratios"].get(b)) for b in bases),
                    number(row["p50_us"]), number(row["p99_us"]), last)]
    if row["invalid"]:
        lines.append("    bad %d/%d" % (row["invalid"], row["invalid"] + row["samples"]))
    return lines
