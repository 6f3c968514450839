# SPDX-License-Identifier: MIT
"""The queries of the alert rules and of the dashboard, and what they ask for.

Only as much of PromQL is understood as the checks need: the metrics of a query, the labels that it names,
and the function that is applied to a metric.
"""

import collections
import json
import os
import re

import pytest

from metric_names import ROOT, read

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

RULES = "conf/monitoring/weir.rules.yml"
DASHBOARD = "conf/monitoring/weir.dashboard.json"

Query = collections.namedtuple("Query", "where expr")
Alert = collections.namedtuple("Alert", "name expr wait severity texts")

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_METRIC = re.compile(r"(?<![\w:$.])([a-zA-Z_]\w*)\b(?!\s*\()(\s*\{[^}]*\})?(\s*\[[^]]*\])?")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "bool",
          "offset", "atan2", "inf", "nan"}


def alerts():
    found = []
    for group in yaml.safe_load(read(RULES))["groups"]:
        for rule in group["rules"]:
            found.append(Alert(rule["alert"], rule["expr"], rule.get("for", "0s"),
                               rule["labels"]["severity"], rule["annotations"]))
    return found


def dashboard():
    return json.loads(read(DASHBOARD))


def panels(board=None):
    """Every panel that shows data; those of a row that is closed are inside it."""
    for panel in (board or dashboard())["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", ())
        else:
            yield panel


def queries():
    """Every query, with the place it has."""
    found = [Query(f"alert {a.name}", a.expr) for a in alerts()]
    for panel in panels():
        found += [Query(f"panel {panel['title']}", t["expr"]) for t in panel["targets"]]
    for annotation in dashboard()["annotations"]["list"]:
        if "expr" in annotation:
            found.append(Query(f"annotation {annotation['name']}", annotation["expr"]))
    for variable in dashboard()["templating"]["list"]:
        match = re.fullmatch(r"label_values\((.+), (\w+)\)", variable.get("definition", ""))
        if match:
            found.append(Query(f"variable {variable['name']}", f"count by ({match[2]}) ({match[1]})"))
    return found


def chosen(expr, interval):
    """The query with "All" chosen for every variable, as Grafana would send it."""
    expr = expr.replace("$__rate_interval", interval)
    return re.sub(r"\$\{?(\w+)\}?", ".+", expr)


def without_strings(expr):
    return _STRING.sub('""', expr)


def metrics(expr):
    """[(name, labels of its matchers, has a range, function around it or None)] of each selector."""
    bare = without_strings(expr)
    blanked = _GROUPING.sub(lambda m: " " * len(m.group()), bare)
    found = []
    for m in _METRIC.finditer(blanked):
        inside = blanked.count("{", 0, m.start()) > blanked.count("}", 0, m.start())
        if m[1] in _WORDS or inside or blanked.count("[", 0, m.start()) > blanked.count("]", 0, m.start()):
            continue
        labels = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", m[2] or "")
        around = re.search(r"(\w+)\s*\(\s*$", blanked[:m.start()])
        found.append((m[1], labels, bool(m[3]), around[1] if around else None))
    return found


def grouping_labels(expr):
    """The labels in by(), on() and the like."""
    return {label.strip() for m in _GROUPING.finditer(without_strings(expr))
            for label in m[1].split(",") if label.strip()}
