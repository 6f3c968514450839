# SPDX-License-Identifier: MIT
"""lookups.py with figures that can be verified by mental arithmetic.

    python3 bench/harness/test_lookups.py
"""

import os
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import lookups  # noqa: E402

SAID = ("ipv4          100 entries   1001343 of 2000000 found     52.9 ns each\n"
        "ipv4       100000 entries   1001343 of 2000000 found    176.2 ns each\n"
        "names      100000 entries   1001343 of 2000000 found     91.5 ns each\n")


class Lookups(unittest.TestCase):
    def test_lines_of_other_sizes_are_left_out(self):
        self.assertEqual(lookups.parse(SAID, 100000), {"ipv4": 176.2, "names": 91.5})

    def test_a_lookup_costs_the_difference_by_the_number_of_lookups(self):
        row = lookups.Kind("ipv4", "rand(9)", "map_ip(f)", 10, 3)
        cpu = {1: 1000, 2: 6000}
        with mock.patch.object(lookups, "connect"), \
                mock.patch.object(lookups, "cpu_of", lambda pid, port, count: cpu[port]):
            got = lookups.measure(0, row, (1, 2), 2)
        self.assertEqual((got["ns"], got["least"], got["most"], got["how"]), (500, 500, 500, "map_ip"))
        self.assertEqual(got["lookups"], 60)

    def test_the_rules_differ_by_the_lookup_alone(self):
        for row in lookups.kinds(100, "/x"):
            bare, full = row.rules(False), row.rules(True)
            self.assertEqual(len(bare), len(full))
            self.assertEqual([line.replace("," + row.lookup, "") for line in full], bare)
            self.assertEqual(sum(row.lookup in line for line in full), row.lookups)

    def test_a_list_that_haproxy_was_not_asked_for_has_no_figure(self):
        rows = [{"list": "ipv6", "program": "weir", "ns": 10.4},
                {"list": "names", "program": "weir", "ns": 20.0},
                {"list": "names", "program": "haproxy", "ns": 300.0, "how": "map_str"}]
        self.assertEqual(lookups.table(rows)[2:], ["| IPv6 networks | 10 ns | - | - |",
                                                   "| names | 20 ns | 300 ns | `map_str` |"])


if __name__ == "__main__":
    unittest.main()
