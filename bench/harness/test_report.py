# SPDX-License-Identifier: MIT
"""What report.py, chart.py and bars.py make of figures that one can check in one's head.

    python3 bench/harness/test_report.py
"""

import os
import sys
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import chart  # noqa: E402
import contenders  # noqa: E402
import report  # noqa: E402


def cell(round_number, contender, rate, valid=True, view="c", workload="w", **more):
    plain = {"round": round_number, "workload": workload, "view": view, "contender": contender,
             "unit": "request", "valid": valid, "rate": rate, "cpu_ns_per_unit": 1e9 / rate, "p50_us": 1.0,
             "p99_us": 2.0}
    return dict(plain, **more)


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

    def test_efficiency_is_cpu_time(self):
        cells = [cell(1, "haproxy-splice", 100, view="e"), cell(1, "bare", 200, view="e")]
        row = report.summary(cells)[1]
        self.assertEqual(row["median"], 5000)
        self.assertEqual(row["ratios"]["haproxy-splice"], 0.5)

    def test_a_contender_without_results_has_a_line_and_no_figure(self):
        cells = [cell(1, "haproxy", 1, valid=False)]
        rows = report.summary(cells)
        self.assertIsNone(rows[0]["median"])
        self.assertIn("bad 1/1", report.table(rows, "capped"))
        self.assertEqual(chart.chart(cells, {}, "n"), "")

    def test_a_tail_is_its_p99_in_both_views(self):
        for view in "ec":
            row = report.summary([cell(1, "bare", 100, view=view, unit="tail")])[0]
            self.assertEqual((row["unit"], row["median"]), ("p99 us", 2.0))
            self.assertIn("(p99 us; lower is better)", report.table([row], "capped"))
        self.assertEqual(chart.chart([cell(1, "bare", 100, unit="tail")], {}, "n"), "")

    def test_the_table_fits_on_the_page(self):
        names = [c.name for c in contenders.CONTENDERS]
        cells = [cell(r, c, 123456.7, view=v, p50_us=123456.0, p99_us=234567.0)
                 for r in (1, 2) for c in names for v in "ec"]
        cells += [cell(3, c, 1, valid=False, view=v) for c in names for v in "ec"]
        lines = report.table(report.summary(cells), "capped").splitlines()
        self.assertLessEqual(max(len(line) for line in lines), 110)

    def test_each_haproxy_is_a_base_and_has_a_name_in_the_chart(self):
        rows = {c.name for c in contenders.CONTENDERS if c.name.startswith("haproxy")}
        self.assertEqual(rows, set(chart.WORDS))
        self.assertEqual(rows | {"bare"}, set(report.BASES))


class Chart(unittest.TestCase):
    CELLS = [cell(1, "haproxy", 100), cell(1, "haproxy-forced", 200), cell(1, "sluice-epoll", 300),
             cell(1, "bare", 400), cell(1, "a<b", 50)]

    @staticmethod
    def figures(svg):
        texts = xml.dom.minidom.parseString(svg).getElementsByTagName("text")
        return [t.firstChild.data for t in texts if t.firstChild.data.replace(".", "").isdigit()]

    def test_one_is_the_best_of_haproxys_rows(self):
        svg = chart.chart(self.CELLS, {"haproxy-forced": {"version": "HAProxy version 2.6.12"}}, "a & b")
        self.assertEqual(self.figures(svg), ["1.50", "1.00", "2.00", "0.25"])
        self.assertIn("HAProxy 2.6 forced", svg)
        self.assertNotIn("HAProxy copying", svg)

    def test_contenders_and_base_can_be_chosen(self):
        svg = chart.chart(self.CELLS, {}, "n", names=["haproxy", "sluice-epoll"], base="haproxy")
        self.assertEqual(self.figures(svg), ["1.00", "3.00"])
        self.assertEqual(chart.chart(self.CELLS, {}, "n", only=["x*"]), "")

    def test_without_haproxy_the_bare_relay_is_the_base(self):
        svg = chart.chart([c for c in self.CELLS if "haproxy" not in c["contender"]], {}, "n")
        self.assertEqual(self.figures(svg), ["0.75", "1.00", "0.12"])

    def test_a_full_load_has_a_star(self):
        cells = [dict(c, load_busy=99.0) if c["contender"] == "bare" else c for c in self.CELLS]
        self.assertEqual(chart.chart(cells, {}, "n").count(">*<"), 1)
        self.assertEqual(chart.chart(self.CELLS, {}, "n").count(">*<"), 0)


if __name__ == "__main__":
    unittest.main()
