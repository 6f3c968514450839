# SPDX-License-Identifier: MIT
"""The alert rules and the dashboard ask for metrics that exist, and use them as what they are.

Needs neither the daemon nor Prometheus: the names come from the tables of the source. That a scrape has
them is shown by tests/system/test_monitoring.py.
"""

import re

import pytest

import metric_names
import queries

KINDS = metric_names.kinds()
QUERIES = queries.queries()
COUNTED = {"rate", "irate", "increase"}  # of a total; anything else would show the time since the start


def each_metric():
    return [(q.where, *m) for q in QUERIES for m in queries.metrics(q.expr)]


def test_the_tables_and_the_files_were_read():
    assert len(KINDS) > 100
    assert len(queries.alerts()) > 15
    assert len(list(queries.panels())) > 25
    assert len(each_metric()) > 60


def test_a_selector_is_taken_apart():
    expr = 'sum by (job) (rate(a_total{job="x{y}",b=~"c"}[5m])) / on (job) (d > 0) + e unless f{g!=""}'
    assert queries.metrics(expr) == [
        ("a_total", ["job", "b"], True, "rate"), ("d", [], False, None),
        ("e", [], False, None), ("f", ["g"], False, None)]
    assert queries.grouping_labels(expr) == {"job"}
    assert queries.metrics("rate(a_total[$__rate_interval])") == [("a_total", [], True, "rate")]


def test_every_metric_is_exported():
    missing = {(where, name) for where, name, *_ in each_metric() if name not in KINDS}
    assert missing == set()


def test_a_renamed_counter_is_noticed():
    table = metric_names.read("include/weir/base/counters.tbl.h")
    assert "COUNTER(pipes_missing, " in table
    names = metric_names.counters(table.replace("COUNTER(pipes_missing, ", "COUNTER(pipes_lacking, "))
    assert "weir_process_pipes_lacking_total" in names
    used = {name for _, name, *_ in each_metric()}
    assert "weir_process_pipes_missing_total" in used - set(names)


def test_a_renamed_tally_is_noticed():
    table = metric_names.read("include/weir/account/tallies.tbl.h")
    assert '"bytes_in_total"' in table
    names = metric_names.tallies(table.replace('"bytes_in_total"', '"received_total"'))
    assert "weir_server_received_total" in names
    used = {name for _, name, *_ in each_metric()}
    assert "weir_frontend_bytes_in_total" in used - set(names)


def test_labels_are_those_of_the_metric():
    wrong = [(where, name, label) for where, name, labels, *_ in each_metric() for label in labels
             if label not in metric_names.labels_of(name)]
    assert wrong == []
    for q in QUERIES:
        known = set().union(*(metric_names.labels_of(name) for name, *_ in queries.metrics(q.expr)))
        assert queries.grouping_labels(q.expr) <= known, q


def test_a_total_is_shown_as_a_rate_and_a_gauge_is_not():
    for where, name, _, ranged, function in each_metric():
        if where.startswith("variable"):
            continue
        if KINDS[name] == "TOTAL":
            assert ranged and function in COUNTED, f"{where}: {name} is a total"
        else:
            assert function not in COUNTED, f"{where}: {name} is a gauge"


@pytest.mark.parametrize("alert", queries.alerts(), ids=lambda a: a.name)
def test_an_alert_says_what_and_what_to_do(alert):
    assert re.fullmatch(r"Weir([A-Z][a-z]+)+", alert.name)
    assert alert.severity in ("critical", "warning")
    assert set(alert.texts) == {"summary", "description"}
    assert alert.texts["summary"].count("\n") == 0 and not alert.texts["summary"].endswith(".")
    assert alert.texts["description"].endswith(".")
    text = " ".join(alert.texts.values())
    used = set(re.findall(r"\$labels\.(\w+)", text))
    assert "instance" in used
    for name, *_ in queries.metrics(alert.expr):
        assert used <= metric_names.labels_of(name)


def test_names_of_alerts_are_unique():
    names = [a.name for a in queries.alerts()]
    assert sorted(set(names)) == sorted(names)


def test_alerts_speak_of_options_and_commands_that_exist():
    options = {option for table in ("options.tbl.h", "backend_options.tbl.h")
               for option in re.findall(r'(?m)^OPTION\("([\w-]+)"',
                                        metric_names.read("include/weir/config/" + table))}
    commands = re.findall(r'(?m)^COMMAND\("([^"]+)"', metric_names.read("src/admin/commands.tbl.h"))
    verbs = set(re.findall(r'(?m)^VERB\("(\w+)"', metric_names.read("src/cli/verbs.tbl.h"))) | {"-c", "ctl"}
    for alert in queries.alerts():
        text = alert.texts["description"]
        for quoted in re.findall(r"`(?:\[\w+\] )?([a-z]+(?:-[a-z]+)*)`", text):
            assert quoted in options, f"{alert.name}: {quoted}"
        for command in re.findall(r"`weir ctl ((?:[a-z]+ ?)+)", text):
            assert command.strip() in commands, f"{alert.name}: {command}"
        for verb in re.findall(r"`weir (\S+?)[ `]", text):
            assert verb in verbs, f"{alert.name}: {verb}"
