# SPDX-License-Identifier: MIT
"""The metrics that weir exports, by name, from the tables that define them.

A row that is renamed or removed is then missing here, and test_queries.py names the alert or the panel that
still asks for it.
"""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTERS = "include/weir/base/counters.tbl.h"
TALLIES = "include/weir/account/tallies.tbl.h"

# What Prometheus adds to each series.
TARGET_LABELS = {"job", "instance"}
LABELS = {"process": set(), "frontend": {"frontend"}, "backend": {"backend"},
          "server": {"backend", "server"}, "worker": {"worker"}}
UNITS = {"_s": "_seconds", "_ms": "_seconds", "_us": "_seconds", "_ns": "_seconds"}

# Labels that only one metric has.
EXTRA_LABELS = {"weir_backend_servers": {"state"}, "weir_build_info": {"version", "driver"},
                "weir_process_closes_total": {"reason"}, "weir_frontend_closes_total": {"reason"},
                "weir_backend_closes_total": {"reason"}}

# What tables call them.
KINDS = {"COUNTER": "TOTAL", "TOTAL": "TOTAL", "GAUGE": "GAUGE", "INFO": "GAUGE"}

# Of Prometheus itself.
OF_PROMETHEUS = {"up": "GAUGE"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def exported(name, kind):
    """The metric's name from that of a row: seconds instead of other units, and `_total` at a total's end."""
    name = name.removesuffix("_total")
    for short, long in UNITS.items():
        if name.endswith(short):
            name = name.removesuffix(short) + long
            break
    return name + ("_total" if kind == "TOTAL" else "")


def counters(table):
    """{name: kind} of the counters of the process, from counters.tbl.h."""
    rows = re.findall(r"^COUNTER\((\w+), (TOTAL|GAUGE),", table, re.M)
    return {"weir_process_" + exported(name, kind): kind for name, kind in rows}


def tallies(table):
    """{name: kind} of what is counted for each frontend, backend and server, from tallies.tbl.h."""
    rows = re.findall(r'^TALLY\(\w+, (\w+), "[^"]*", \w+, \w+, "(\w+)",', table, re.M)
    return {f"weir_{whose}_{metric}": "TOTAL" if kind == "TOTAL" else "GAUGE"
            for kind, metric in rows for whose in ("frontend", "backend", "server")}


def process(table):
    """{name: kind} of what else is known about the process, from process.tbl.h and process_figures.tbl.h."""
    rows = re.findall(r"^PROCESS\((\w+), (\w+),", table, re.M)
    return {"weir_process_" + exported(name, KINDS[kind]): KINDS[kind] for name, kind in rows}


def objects(table):
    """{name: kind} of what else is known about a frontend, backend or server, from objects.tbl.h."""
    rows = re.findall(r"^(FRONTEND|BACKEND|SERVER)\((\w+), (\w+),", table, re.M)
    return {f"weir_{whose.lower()}_{exported(name, KINDS[kind])}": KINDS[kind] for whose, name, kind in rows}


def written(source):
    """{name: kind} of the few families that are no row of a table."""
    found = {}
    for whose, name, kind in re.findall(r'metrics_family\(&?m, (\S+), "(\w+)", METRIC_(\w+),', source):
        prefixes = ["weir_frontend_", "weir_backend_"] if whose == "prefix_of(scope)" else [whose.strip('"')]
        for prefix in prefixes:
            found[prefix + exported(name, KINDS[kind])] = KINDS[kind]
    return found


def workers(table):
    """{name: kind} of what shows how busy a worker is, from pulse.tbl.h."""
    rows = re.findall(r'^PULSE\(\w+, (TOTAL|GAUGE), "[^"]*", "(\w+)",', table, re.M)
    return {f"weir_worker_{metric}": kind for kind, metric in rows}


def histograms(table):
    """{name: TOTAL} of the series of each histogram, from histograms.tbl.h."""
    metrics = re.findall(r'^HISTOGRAM\(\w+, "[^"]*", \d+, "(\w+)",', table, re.M)
    return {f"weir_{whose}_{metric}_{part}": "TOTAL" for metric in metrics
            for whose in ("frontend", "backend", "server") for part in ("bucket", "sum", "count")}


def figures():
    """{name: kind} of what other parts of the daemon publish for `show info`."""
    found = {}
    for path in glob.glob("src/**/*.c", root_dir=ROOT, recursive=True):
        for name, kind in re.findall(r'struct figure \w+ = \{\s*"(\w+)", FIGURE_(\w+)', read(path)):
            kind = "GAUGE" if name == "generation" else kind  # a number, not a count
            found["weir_process_" + exported(name, kind)] = kind
    return found


def kinds():
    """{name: TOTAL or GAUGE} of every metric, as tables and figures have it."""
    found = {**OF_PROMETHEUS, **figures()}
    for path, names in TABLES.items():
        rows = names(read(path))
        assert rows, f"{path} has no row that is understood"
        found.update(rows)
    return found


# Where each is.
TABLES = {
    COUNTERS: counters,
    TALLIES: tallies,
    "src/web/process.tbl.h": process,
    "src/stats/process_figures.tbl.h": process,
    "src/web/objects.tbl.h": objects,
    "src/web/own_metrics.c": written,
    "include/weir/engine/pulse.tbl.h": workers,
    "include/weir/account/histograms.tbl.h": histograms,
}


def labels_of(name):
    whose = re.match(r"(?:weir_)?([a-z]+)", name)[1]
    extra = {"le"} if name.endswith("_bucket") else EXTRA_LABELS.get(name, set())
    return TARGET_LABELS | LABELS.get(whose, set()) | extra
