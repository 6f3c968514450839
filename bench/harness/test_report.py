# SPDX-License-Identifier: MIT
"""What report.py computes, on figures that one can check in one's head.

    python3 bench/harness/test_report.py
"""

import os
import sys
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import report  # noqa: E402


def cell(round_number, contender, rate, valid=True, view="c"):
    return {"round": round_number, "workload": "w", "view": view, "contender": contender, "unit": "request",
            "valid": valid, "rate": rate, "cpu_ns_per_unit": 1e9 / rate, "p50_us": 1.0, "p99_us": 2.0}


class Report(unittest.TestCase):
    CELLS = [cell(1, "haproxy", 100), cell(1, "bare", 150), cell(2, "haproxy", 50), cell(2, "bare", 100),
             cell(3, "haproxy", 100), cell(3, "bare", 1e9, valid=False)]

    def row(self, contender):
        return [r for r in report.summary(self.CELLS) if r["contender"] == contender][0]

    def test_a_ratio_is_taken_within_the_round(self):
        self.assertEqual(self.row("bare")["ratios"]["haproxy"], (1.5 + 2.0) / 2)

    def test_a_cell_that_is_no_result_counts_nowhere(self):
        self.assertEqual((self.row("bare")["samples"], self.row("bare")["invalid"]), (2, 1))
        self.assertEqual(self.row("bare")["max"], 150)

    def test_efficiency_is_cpu_time_and_the_chart_turns_it_round(self):
        cells = [cell(1, "haproxy-splice", 100, view="e"), cell(1, "bare", 200, view="e")]
        row = report.summary(cells)[1]
        self.assertEqual(row["median"], 5000)
        self.assertEqual(row["ratios"]["haproxy-splice"], 0.5)
        self.assertEqual(report.chart_value(row, "haproxy-splice"), 2.0)

    def test_a_contender_without_results_has_a_line_and_no_figure(self):
        rows = report.summary([cell(1, "haproxy", 1, valid=False)])
        self.assertIsNone(rows[0]["median"])
        self.assertIn("bad 1/1", report.table(rows, "capped"))
        self.assertEqual(report.chart(rows, "t", "n"), "")

    def test_the_chart_is_well_formed_and_the_table_fits_on_the_page(self):
        rows = report.summary([cell(r, c, 123456.7) for r in (1, 2) for c in report.BASES + ("a<b", )])
        self.assertTrue(xml.dom.minidom.parseString(report.chart(rows, "a & b", "n")))
        self.assertLessEqual(max(len(line) for line in report.table(rows, "capped").splitlines()), 110)


if __name__ == "__main__":
    unittest.main()
