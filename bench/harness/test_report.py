# SPDX-License-Identifier: MIT
"""report.py, chart.py and bars.py with figures that can be verified by mental arithmetic.

    python3 bench/harness/test_report.py
"""

import json
import os
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bars  # noqa: E402
import chart  # noqa: E402
import contenders  # noqa: E402
import report  # noqa: E402
import workers  # noqa: E402
import workloads  # noqa: E402


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
    CELLS = [cell(1, "haproxy", 100), cell(1, "haproxy-forced", 200), cell(1, "weir-epoll", 300),
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
        svg = chart.chart(self.CELLS, {}, "n", names=["haproxy", "weir-epoll"], base="haproxy")
        self.assertEqual(self.figures(svg), ["1.00", "3.00"])
        self.assertEqual(chart.chart(self.CELLS, {}, "n", only=["x*"]), "")

    def test_without_haproxy_the_bare_relay_is_the_base(self):
        svg = chart.chart([c for c in self.CELLS if "haproxy" not in c["contender"]], {}, "n")
        self.assertEqual(self.figures(svg), ["0.75", "1.00", "0.12"])

    def test_a_full_load_has_a_star(self):
        cells = [dict(c, load_busy=99.0) if c["contender"] == "bare" else c for c in self.CELLS]
        self.assertEqual(chart.chart(cells, {}, "n").count(">*<"), 1)
        self.assertEqual(chart.chart(self.CELLS, {}, "n").count(">*<"), 0)


class Bars(unittest.TestCase):
    def bar(self, cells, what, small=None):
        found = [b for b in bars.all_bars(cells, small or {}) if b.what.startswith(what)]
        self.assertEqual(len(found), 1, what)
        return found[0]

    def said(self, *more, **small):
        return bars.verdict(self.bar(*more, **small))

    @staticmethod
    def peers(rate, workload="bulk-down-1", view="c"):
        return [cell(1, p, rate, workload=workload, view=view) for p in bars.PEERS]

    def test_above_every_peer_means_the_best_of_them(self):
        ours = cell(1, bars.OURS, 110, workload="bulk-down-1")
        what = "bulk-down-1: above every peer"
        self.assertEqual(self.said([ours] + self.peers(100), what), bars.MET)
        best = self.peers(100)[:-1] + [cell(1, "go", 120, workload="bulk-down-1")]
        self.assertEqual(self.bar([ours] + best, what).note, "best: go")
        self.assertEqual(self.said([ours] + best, what), bars.MISSED)
        self.assertEqual(self.said([ours] + self.peers(109.9), what), bars.MISSED)     # 1.00 as printed

    def test_a_peer_that_was_not_measured_leaves_it_undecided(self):
        ours = cell(1, bars.OURS, 110, workload="bulk-down-1")
        bar = self.bar([ours] + self.peers(100)[:-1], "bulk-down-1: above")
        self.assertEqual((bars.verdict(bar), bar.part), (bars.UNDECIDED, "without go"))
        self.assertEqual(self.said([ours] + self.peers(200)[:-1], "bulk-down-1: above"), bars.MISSED)
        self.assertEqual(self.said([], "bulk-down-1: above"), bars.UNKNOWN)

    def test_a_full_load_leaves_undecided_only_what_it_could_turn(self):
        def both(ours, theirs, who):
            cells = [cell(1, bars.OURS, ours, workload="http-close"),
                     cell(1, bars.BARE, theirs, workload="http-close")]
            cells[who]["load_busy"] = 99.0
            return self.said(cells, "http-close: of the bare")
        self.assertEqual(both(100, 100, 0), bars.MET)           # we may be better still
        self.assertEqual(both(50, 100, 0), bars.UNDECIDED)
        self.assertEqual(both(100, 100, 1), bars.UNDECIDED)     # the relay may be
        self.assertEqual(both(50, 100, 1), bars.MISSED)

    def test_less_cpu_is_better(self):
        def at(rate):
            cells = self.peers(100, "http-16k-64", "e") + [cell(1, bars.OURS, rate, workload="http-16k-64",
                                                                view="e")]
            return self.said(cells, "http-16k-64: CPU")
        self.assertEqual((at(200), at(150)), (bars.MET, bars.MISSED))

    def test_latency_is_compared_with_the_best_haproxy(self):
        cells = self.peers(100, "http-1k-1", "e") + [cell(1, bars.OURS, 1, workload="http-1k-1", view="e")]
        self.assertEqual(self.said(cells, "http-1k-1: p99"), bars.MET)
        cells[3]["p99_us"] = 1.5
        self.assertEqual(self.bar(cells, "http-1k-1: p99").figure, 2.0 / 1.5)
        self.assertEqual(self.said(cells, "http-1k-1: p99"), bars.MISSED)

    def test_cost_may_fall_with_connections_but_not_grow(self):
        def at(rate):
            return self.said([cell(1, bars.OURS, 100, workload="idle-10", view="e"),
                              cell(1, bars.OURS, rate, workload="idle-9000", view="e")], "idle-9000")
        self.assertEqual((at(200), at(91), at(89)), (bars.MET, bars.MET, bars.MISSED))

    def test_a_cell_with_an_error_is_seen(self):
        bad = [cell(1, bars.OURS, 1, valid=False), cell(1, "go", 1)]
        self.assertEqual(self.said(bad, "cells with an error: weir"), bars.MISSED)
        self.assertEqual(self.said(bad, "cells with an error: the others"), bars.MET)

    def test_two_workers_and_how_flows_spread(self):
        def cells(two, **more):
            return [cell(1, "one", 100, workload="workers-bulk-8"),
                    cell(1, "two", two, workload="workers-bulk-8", **more)]
        even = {"bytes_apart": workers.apart([100, 115]), "flows_apart": workers.apart([4, 4])}
        self.assertEqual(self.said(cells(190, **even), "workers-bulk-8"), bars.MET)
        self.assertEqual(self.said(cells(180, **even), "workers-bulk-8"), bars.MISSED)
        self.assertEqual(self.said(cells(190, **even), "8 flows: bytes"), bars.MET)
        odd = dict(even, flows_apart=workers.apart([5, 3]))
        self.assertEqual(self.said(cells(190, **odd), "8 flows: flows"), bars.MISSED)
        seen = [{"id": "0.1", "bytes_out": 5, "bytes_in": 1}, {"id": "1.0", "bytes_out": 7, "bytes_in": 1},
                {"id": "1.2", "bytes_out": 1, "bytes_in": 1}]
        self.assertEqual(workers.per_worker(seen, 2), ([1, 2], [6, 10]))

    def test_runs_are_taken_together_and_the_last_one_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(name, what):
                path = os.path.join(folder, name + ".json")
                with open(path, "w", encoding="utf-8") as stream:
                    json.dump(what, stream)
                return path
            old = run("old", {"cells": [cell(1, "bare", 100), cell(1, "bare", 1, workload="v")]})
            new = run("new", {"cells": [cell(1, "bare", 200)]})
            pool = run("pool", {"bench": "pipe_pool", "alone_ns": 2.0, "all_ns": 2.2, "ratio": 99.0})
            other = run("other", {"bench": "idle", "results": [
                {"contender": bars.OURS, "connections": n, "bytes_each": each}
                for n, each in ((1, 2.0), (2, 600.0))]})
            cells, small, heads = bars.load([old, new, pool, other])
            self.assertEqual([(c["workload"], c["rate"]) for c in cells], [("w", 200), ("v", 1)])
            self.assertEqual(len(heads), 4)
            self.assertEqual(self.said([], "pipe pool: times", small), bars.MET)
            self.assertEqual(self.said([], "pipe pool: all", small), bars.MET)
            self.assertEqual(self.said([], "bytes of user memory", small), bars.MISSED)
            with self.assertRaises(ValueError):
                bars.load([run("none", {"x": 1})])

    def test_a_raw_run_is_read_under_todays_names(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, what in (("names", {"old": "new"}),
                               ("a", {"cells": [{"contender": "old-epoll older"}]})):
                with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as stream:
                    json.dump(what, stream)
            run = chart.read_run(os.path.join(folder, "a.json"))
            self.assertEqual(run, {"cells": [{"contender": "new-epoll older"}]})

    def test_who_is_missing_in_the_last_run_is_compared_within_an_older_one(self):
        ours = bars.OURS
        older = [cell(1, ours, 100), cell(1, "nginx", 50), cell(1, "go", 50)]
        cells = bars.over(older, [cell(1, ours, 300), cell(1, "nginx", 100)])
        self.assertEqual(report.paired_ratio(cells, "w", "c", ours, "nginx"), 3.0)
        self.assertEqual(report.paired_ratio(cells, "w", "c", ours, "go"), 2.0)
        self.assertEqual(bars.over(older, older), older)

    def test_splice_auto_is_compared_round_by_round_with_the_better_of_both(self):
        def row(size, mode, *rates):
            return {"front": "tcp", "bytes": size, "splice": mode, "samples": [[r, 1.0] for r in rates]}
        small = {"relay_sizes": [
            row(1024, "off", 100, 50), row(1024, "on", 10, 10), row(1024, "auto", 99, 49.5),
            row(4096, "off", 10, 10), row(4096, "on", 100, 50), row(4096, "auto", 80, 40)]}
        bar = self.bar([], "splice = auto to tcp", small)
        self.assertEqual((bar.figure, bar.note, bars.verdict(bar)), (0.8, "worst at 4 KiB", bars.MISSED))
        self.assertEqual(self.said([], "splice = auto to unix", small), bars.UNKNOWN)

    def test_every_bar_has_a_line_of_its_own(self):
        found = list(bars.all_bars([], {}))
        self.assertEqual(len({b.what for b in found}), len(found))
        text = bars.text(found, [])
        for bar in found:
            self.assertEqual(text.count("  %s " % bar.what), 1, bar.what)
        self.assertIn("%d not measured" % sum(not b.stretch for b in found), text)

    def test_each_workload_of_a_bar_exists(self):
        known = {w.name for w in workloads.WORKLOADS} | {w.name for w in workers.WORKLOADS}
        asked = {*bars.STRETCH, *bars.EFFICIENCY, *[w for w, _, _ in bars.LATENCY], bars.IDLE_FIRST,
                 *bars.IDLE_MORE, *bars.ECHO}
        self.assertLessEqual(asked, known)
        self.assertLessEqual({*bars.PEERS, bars.OURS, bars.BARE}, {c.name for c in contenders.CONTENDERS})


if __name__ == "__main__":
    unittest.main()
