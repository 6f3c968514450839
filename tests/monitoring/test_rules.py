# SPDX-License-Identifier: MIT
"""promtool finds no mistake in the alert rules, and each alert fires and resolves when it should.

alerts.test.yml has the cases. promtool is in Debian's package `prometheus`; PROMTOOL names another one.
"""

import os
import shutil
import subprocess

import pytest

import queries
from metric_names import ROOT, read
from queries import yaml

PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
CASES = "tests/monitoring/alerts.test.yml"

needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="promtool is not installed (package prometheus)")


def promtool(*words):
    return subprocess.run([PROMTOOL, *words], capture_output=True, text=True, cwd=ROOT, timeout=120,
                          check=False)


def cases():
    """(alert, instant, alerts expected) of each case."""
    for test in yaml.safe_load(read(CASES))["tests"]:
        for case in test["alert_rule_test"]:
            yield case["alertname"], case["eval_time"], case.get("exp_alerts", [])


@needs_promtool
def test_the_rules_are_valid():
    got = promtool("check", "rules", queries.RULES)
    assert got.returncode == 0, got.stdout + got.stderr
    assert f"{len(queries.alerts())} rules found" in got.stdout


@needs_promtool
def test_every_query_is_valid(tmp_path):
    rules = [{"record": f"query:{i}", "expr": queries.chosen(q.expr, "1m")}
             for i, q in enumerate(queries.queries())]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    got = promtool("check", "rules", str(path))
    assert got.returncode == 0, got.stdout + got.stderr


@needs_promtool
def test_each_alert_fires_and_resolves_as_the_cases_say():
    got = promtool("test", "rules", CASES)
    assert got.returncode == 0, got.stdout + got.stderr


@needs_promtool
def test_a_wrong_threshold_is_found(tmp_path):
    rules, tests = read(queries.RULES), yaml.safe_load(read(CASES))
    assert rules.count("> 0.9") == 1
    (tmp_path / "weir.rules.yml").write_text(rules.replace("> 0.9", "> 0.96"))
    tests["rule_files"] = ["weir.rules.yml"]
    tests["tests"] = [t for t in tests["tests"] if t["alert_rule_test"][0]["alertname"] == "WeirWorkerBusy"]
    (tmp_path / "cases.yml").write_text(yaml.safe_dump(tests))
    got = promtool("test", "rules", str(tmp_path / "cases.yml"))
    assert got.returncode == 1
    assert "WeirWorkerBusy" in got.stdout + got.stderr


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not():
    names = {a.name for a in queries.alerts()}
    assert {name for name, _, alerts in cases() if alerts} == names
    assert {name for name, _, alerts in cases() if not alerts} == names
