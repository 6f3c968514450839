# SPDX-License-Identifier: MIT
"""open_report.py with figures that can be verified by mental arithmetic, and open_run.py without a run.

    python3 bench/harness/test_open_report.py
"""

import json
import os
import sys
import tempfile
import unittest
import xml.dom.minidom
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bars  # noqa: E402
import contenders  # noqa: E402
import open_report  # noqa: E402
import open_run  # noqa: E402
from open_report import BEST, SAME, UNKNOWN, WORSE  # noqa: E402


def cell(contender, p99, round_number=1, valid=True, workload="open-keep", level=50, **more):
    plain = {"round": round_number, "workload": workload, "level": level, "view": "o", "unit": "request",
             "contender": contender, "valid": valid, "offered": 1000.0, "achieved": 1000.0, "p50_us": p99 / 2,
             "p90_us": p99 / 1.5, "p99_us": p99, "p999_us": p99 * 2, "max_us": p99 * 3, "late_p99_us": 50.0,
             "sent_p99_us": p99, "load_busy": 40.0, "proxy_used": 50.0, "behind": False}
    return dict(plain, **more)


def run_of(cells, **more):
    facts = {"kernel": "6.1", "cpu": "c", "cpus": 2, "congestion": "cubic", "revision": "0123456789abcdef"}
    return dict({"name": "n", "facts": facts, "rounds": 5, "seconds": 5, "complete": True,
                 "cap": "60 % of one core, bench/slow_core", "method": {"arrivals": "evenly spaced"},
                 "contenders": {"haproxy": {"version": "HAProxy version 2.6.12"}},
                 "capacity": {"open-keep": {"haproxy": {"rate": 2000.0, "load_busy": 1}}},
                 "cells": cells}, **more)


class Verdict(unittest.TestCase):
    def words(self, cells):
        """{contender: word} at p99, and of the better driver as `better`."""
        for (_, _, point), each, better in open_report.verdicts(cells):
            if point == "p99_us":
                return dict({v.contender: v.word for v in each}, better=better.word)
        return {}

    def of(self, ours, theirs):
        return self.words([cell("weir-epoll", ours), cell("haproxy", theirs)])["better"]

    def test_within_five_percent_is_even(self):
        self.assertEqual([self.of(ours, 100) for ours in (50, 99.9, 100, 105, 105.1, 300)],
                         [BEST, BEST, SAME, SAME, WORSE, WORSE])

    def test_the_best_peer_counts_and_no_yardstick(self):
        cells = [cell("weir-epoll", 100), cell("haproxy", 300), cell("go", 80), cell("direct", 10),
                 cell("bare", 20)]
        found = open_report.verdicts(cells)[1][2]
        self.assertEqual((found.word, found.peer, found.ratio), (WORSE, "go", 1.25))

    def test_each_driver_and_the_better_one_are_judged(self):
        cells = [cell("weir-epoll", 120), cell("weir-io_uring", 90), cell("nginx", 100)]
        self.assertEqual(self.words(cells), {"weir-epoll": WORSE, "weir-io_uring": BEST, "better": BEST})
        self.assertTrue(open_report.all_good(cells))
        self.assertFalse(open_report.all_good([c for c in cells if c["contender"] != "weir-io_uring"]))

    def test_medians_of_the_rounds_are_compared(self):
        cells = [cell("weir-epoll", p99, r) for r, p99 in enumerate((100, 1000, 110))] + \
            [cell("nginx", p99, r) for r, p99 in enumerate((115, 120, 50))]
        found = open_report.verdicts(cells)[1][2]
        self.assertEqual((found.figure, found.peer_figure, found.word), (110, 115, BEST))
        self.assertEqual((found.low, found.high), (100 / 115, 1000 / 120))

    def test_a_cell_that_is_no_result_counts_nowhere(self):
        bad = [cell("weir-epoll", 100), cell("nginx", 50, valid=False), cell("nginx", 200, 2)]
        self.assertEqual(self.words(bad)["better"], BEST)
        self.assertEqual(self.words(bad[:2])["better"], UNKNOWN)
        self.assertFalse(open_report.all_good(bad[:2]))
        self.assertFalse(open_report.all_good([]))

    def test_the_last_line_counts_the_cells(self):
        cells = [cell("weir-epoll", 100), cell("nginx", 200), cell("weir-epoll", 100, level=80),
                 cell("nginx", 50, level=80)]
        last = open_report.verdict_text(cells).strip().split("\n")[-1]
        self.assertEqual(last, "6 cells, the better driver in each: 3 best, 0 even, 3 worse")


NAMES = ("weir-epoll", "weir-io_uring", "haproxy", "nginx", "go")


class Tables(unittest.TestCase):
    CELLS = [cell(name, 123456.7 * r, r, workload=w, level=level, bulk_mb=100.0)
             for r in (1, 2) for w in open_report.TITLES for level in (50, 80) for name in NAMES]

    def test_the_text_fits_on_the_page_and_names_every_row(self):
        text = open_report.text(run_of(self.CELLS))
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 110)
        for name in NAMES:
            self.assertGreaterEqual(text.count("  %s " % name), 6)

    def test_markdown_has_rows_for_the_capacity_and_each_level(self):
        lines = open_report.markdown(run_of(self.CELLS)).splitlines()
        rows = [line for line in lines if line.startswith("|")]
        self.assertEqual(len(rows), 2 + 3 * (1 + 2))
        self.assertEqual({row.count("|") for row in rows}, {len(NAMES) + 3})
        self.assertIn("HAProxy 2.6 copying", rows[0])
        self.assertLessEqual(max(len(line) for line in lines if not line.startswith("|")), 100)

    def test_flags_are_shown(self):
        cells = [cell("go", 10, 1, behind=True), cell("go", 10, 2, load_busy=99.0),
                 cell("go", 1, 3, valid=False)]
        row = [line for line in open_report.table(run_of(cells)).splitlines() if line.startswith("  go ")][0]
        self.assertTrue(row.endswith(" * behind 1/2 bad 1"), row)

    def test_bad_cells_alone_make_a_table_and_no_chart(self):
        cells = [{"round": 1, "workload": "open-keep", "level": 50, "contender": "go", "valid": False,
                  "view": "o", "unit": "request", "error": "x"}]
        self.assertIn("bad 1", open_report.text(run_of(cells)))
        self.assertEqual(open_report.svg(run_of(cells)), "")
        self.assertIn("INVALID: x", open_report.line_of(cells[0]))

    def test_the_chart_has_a_figure_for_each_row(self):
        svg = xml.dom.minidom.parseString(open_report.svg(run_of(self.CELLS)))
        self.assertEqual(len(svg.getElementsByTagName("circle")), 6 * len(NAMES))
        for circle in svg.getElementsByTagName("circle"):
            self.assertLess(float(circle.getAttribute("cx")), open_report.chart.WIDTH)

    def test_the_scale_is_of_powers_of_ten(self):
        self.assertEqual(open_report.ticks(120, 9000), [100, 1000, 10000])
        self.assertEqual(open_report.ticks(100, 100), [100, 1000])
        place = open_report.Place(100, 10000)
        self.assertEqual(place(1000) - place(100), place(10000) - place(1000))

    def test_the_bars_read_such_a_run_and_make_nothing_of_it(self):
        found = [b for b in bars.all_bars(self.CELLS, {}) if b.group != "errors" and b.figure is not None]
        self.assertEqual(found, [])

    def test_the_document_has_a_place_for_the_table(self):
        with open(open_report.DOC, encoding="utf-8") as stream:
            document = stream.read()
        once = open_report.into(document, "a\n")
        self.assertEqual(once.count(open_report.MARKS[0] + "\n\na\n\n" + open_report.MARKS[1]), 1)
        self.assertTrue(open_report.into(once, "a\n") == once)
        with self.assertRaises(ValueError):
            open_report.into("nothing", "a\n")


class Run(unittest.TestCase):
    @staticmethod
    def arguments(*words):
        with mock.patch.object(sys, "argv", ["open.sh", "--build", "b", *words]):
            return open_run.arguments()

    def test_all_of_it_takes_at_most_twenty_minutes(self):
        args = self.arguments()
        rows = open_run.choose(args)
        self.assertEqual([r.name for r in rows], list(NAMES))
        seconds = open_run.passes_s(args, len(rows)) + args.rounds * open_run.round_s(args, len(rows))
        self.assertEqual((args.rounds, args.minutes), (5, 20))
        self.assertLess(seconds, 18 * 60)

    def test_an_added_contender_may_be_the_only_one(self):
        rows = open_run.choose(self.arguments("--contender", "new=/x:haproxy", "--contenders", "new"))
        self.assertEqual([(r.name, r.program) for r in rows], [("new", "/x")])

    def test_workloads_have_titles_and_contenders_exist(self):
        self.assertEqual([w.name for w in open_run.WORKLOADS], list(open_report.TITLES))
        self.assertLessEqual(set(open_run.CONTENDERS.split(",")), {c.name for c in contenders.CONTENDERS})

    def test_the_capacity_is_the_median_of_the_passes_that_are_results(self):
        args = self.arguments("--only", "open-keep")
        bench = open_run.OpenBench.__new__(open_run.OpenBench)
        bench.args, bench.cells, bench.closed, bench.capacity = args, [], [], {}
        bench.all_in_turn = lambda rows, levels: bench.closed.extend(
            cell(row.name, 1, bench.number, valid=row.name != "go", level=0,
                 achieved=[500.0, 300.0][bench.number - 1],
                 sustained=[400.0, 200.0][bench.number - 1]) for row in rows)
        with mock.patch.object(open_run, "say"):
            bench.find_capacity([contenders.by_name("go"), contenders.by_name("nginx")])
        self.assertEqual(bench.capacity, {"open-keep": {"nginx": {
            "rate": 300.0, "closed": 400.0, "load_busy": 40.0}}})

    def test_the_search_ends_below_the_first_rate_that_is_not_sustained(self):
        bench = open_run.OpenBench.__new__(open_run.OpenBench)
        for limit, low, high in ((700, 690, 700), (2000, 990, 1000), (100, 400, 400)):
            bench.measure_open = lambda work, contender, proxy, rate, seconds, limit=limit: {
                "behind": rate > limit, "p99_us": 100}
            self.assertTrue(low <= bench.search(None, None, None, 1000.0) <= high, limit)
        bench.measure_open = lambda work, contender, proxy, rate, seconds: {
            "behind": False, "p99_us": 20 * rate}
        self.assertTrue(490 <= bench.search(None, None, None, 1000.0) <= 500)

    def test_the_same_rates_are_percent_of_the_lowest_capacity(self):
        bench = open_run.OpenBench.__new__(open_run.OpenBench)
        bench.args, bench.capacity = self.arguments("--only", "open-keep", "--same", "x"), {}
        with tempfile.TemporaryDirectory() as root, mock.patch.object(open_run.main, "ROOT", root):
            os.makedirs(root + "/bench/results")
            with open(root + "/bench/results/x.json", "w", encoding="utf-8") as stream:
                json.dump({"capacity": {"open-keep": {"haproxy": {"rate": 20}, "nginx": {"rate": 30},
                                                      "go": {"rate": 10}}}}, stream)
            bench.take_same([contenders.by_name("nginx"), contenders.by_name("haproxy")])
        self.assertEqual({name: one["rate"] for name, one in bench.capacity["open-keep"].items()},
                         {"nginx": 20, "haproxy": 20})


if __name__ == "__main__":
    unittest.main()
