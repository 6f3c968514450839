# SPDX-License-Identifier: MIT
"""The dashboard can be imported anywhere, and each panel is readable on its own."""

import re

import pytest

import metric_names
import queries

BOARD = queries.dashboard()
PANELS = list(queries.panels(BOARD))
VARIABLES = {v["name"] for v in BOARD["templating"]["list"]}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
BUILT_IN = {"__rate_interval", "__interval", "__range"}
BYTE_UNITS = {"bytes", "Bps"}


def overlaps(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and
            a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


def ids(panel):
    return f"{panel['id']}-{panel['title']}"


def test_it_belongs_to_no_installation():
    assert "id" not in BOARD and "__inputs" not in BOARD
    assert BOARD["schemaVersion"] >= 36
    for source in re.findall(r'"datasource": (\{[^}]*\})', queries.read(queries.DASHBOARD)):
        assert "${datasource}" in source or "-- Grafana --" in source


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    everything = BOARD["panels"]
    assert len({p["id"] for p in everything}) == len(everything)
    for i, panel in enumerate(everything):
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for other in everything[i + 1:]:
            assert not overlaps(place, other["gridPos"]), (panel["title"], other["title"])


def test_titles_are_unique_within_a_row():
    row, seen = "", set()
    for panel in BOARD["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        assert (row, panel["title"]) not in seen
        seen.add((row, panel["title"]))


@pytest.mark.parametrize("panel", PANELS, ids=ids)
def test_a_panel_says_what_it_shows(panel):
    assert panel["description"].endswith(".")
    assert panel["datasource"] == DATASOURCE
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"]
    for target in panel["targets"]:
        assert target["datasource"] == DATASOURCE
        used = set(re.findall(r"\$\{?(\w+)", target["expr"]))
        assert used <= VARIABLES | BUILT_IN
        assert "instance" in used, "the choice of the instance has no effect"
        names = [name for name, *_ in queries.metrics(target["expr"])]
        if "/" not in target["expr"] and any("_bytes" in name or "bytes_" in name for name in names):
            assert defaults["unit"] in BYTE_UNITS
        if defaults["unit"] == "s":
            assert "_seconds" in names[0]


@pytest.mark.parametrize("panel", [p for p in PANELS if p["type"] == "timeseries"], ids=ids)
def test_a_legend_names_what_the_query_keeps(panel):
    for target in panel["targets"]:
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        kept = re.match(r"(?:sum|max|histogram_quantile\(\S+ sum) by \(([^)]*)\)", target["expr"])
        if kept:
            labels = {name.strip() for name in kept[1].split(",")}
        else:
            labels = metric_names.labels_of(queries.metrics(target["expr"])[0][0])
        assert shown == labels - {"le", "job"}, "two series would have the same name"


def test_every_variable_is_used():
    text = queries.read(queries.DASHBOARD)
    for name in VARIABLES:
        assert re.search(r"\$\{?%s\b" % name, text)
