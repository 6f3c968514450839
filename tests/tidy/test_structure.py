# SPDX-License-Identifier: MIT
"""Each measure of structure.py finds what it should, on small made-up trees, and each bar can fail."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import structure  # noqa: E402
import tidy  # noqa: E402

ROOMS = ("src/meson.build", "rooms = ['base', 'io',\n  'engine', 'control']\nside_by_side = ['io']\n")


def files_of(*pairs, build=ROOMS):
    return [tidy.make_file(path, text) for path, text in (build,) + pairs]


def measured(*pairs, build=ROOMS, references=False):
    return structure.measure(files_of(*pairs, build=build), references)


def function(name, *lines, static=False):
    """A function with these lines."""
    return "%svoid %s(void)\n{\n%s}\n" % ("static " if static else "", name,
                                          "".join("\t%s\n" % line for line in lines))


def circles(*pairs, **how):
    return [c["members"] for c in measured(*pairs, **how)["circles"]["tree"]]


class Rooms(unittest.TestCase):
    FILES = (("src/io/a.c", "\n" * 5), ("src/io/a.h", "\n" * 3), ("include/weir/io/b.h", "\n" * 2),
             ("src/main.c", "\n"), ("tests/unit/io/test_a.c", "\n" * 9), ("src/io/meson.build", "\n" * 9))

    def test_files_and_lines_are_counted(self):
        row = structure.row_of(measured(*self.FILES)["rooms"], "io")
        self.assertEqual(row, {"room": "io", "sources": 1, "private_headers": 1, "public_headers": 1,
                               "files": 3, "source_lines": 5, "lines": 10})

    def test_rooms_are_read_in_their_order(self):
        rows = measured(*self.FILES)["rooms"]
        self.assertEqual([r["room"] for r in rows], ["base", "io", "engine", "control", "main"])

    def test_a_room_that_is_not_listed_is_counted_too(self):
        rows = measured(("src/attic/a.c", "\n"))["rooms"]
        self.assertEqual((rows[-1]["room"], rows[-1]["lines"]), ("attic", 1))


class Circles(unittest.TestCase):
    def test_files_that_call_one_another_are_a_circle(self):
        found = circles(("src/io/a.c", function("a", "b();")), ("src/io/b.c", function("b", "c();")),
                        ("src/io/c.c", function("c", "a();")), ("src/io/d.c", function("d", "a();")))
        self.assertEqual(found, [["src/io/a.c", "src/io/b.c", "src/io/c.c"]])

    def test_a_line_is_none(self):
        self.assertEqual(circles(("src/io/a.c", function("a", "b();", "a();")),
                                 ("src/io/b.c", function("b", "c();"))), [])

    def test_the_largest_comes_first_and_each_names_its_calls(self):
        report = measured(("src/io/a.c", function("a", "b();")), ("src/io/b.c", function("b", "a();")),
                          ("src/io/x.c", function("x", "y();")), ("src/io/y.c", function("y", "z();")),
                          ("src/io/z.c", function("z", "x();", "a();")))
        tree = report["circles"]["tree"]
        self.assertEqual([c["files"] for c in tree], [3, 2])
        self.assertEqual(tree[1]["calls"], [{"from": "src/io/a.c", "to": "src/io/b.c", "names": ["b"]},
                                            {"from": "src/io/b.c", "to": "src/io/a.c", "names": ["a"]}])

    def test_a_circle_through_two_rooms_is_in_the_tree_but_in_no_room(self):
        report = measured(("src/io/a.c", function("a", "b();")), ("src/engine/b.c", function("b", "a();")),
                          ("src/io/x.c", function("x", "y();")), ("src/io/y.c", function("y", "x();")))
        self.assertEqual([c["members"] for c in report["circles"]["tree"]],
                         [["src/engine/b.c", "src/io/a.c"], ["src/io/x.c", "src/io/y.c"]])
        self.assertEqual([c["members"] for c in report["circles"]["rooms"]["io"]],
                         [["src/io/x.c", "src/io/y.c"]])
        self.assertEqual(report["circles"]["rooms"]["engine"], [])

    def test_static_functions_members_and_prototypes_are_no_calls_of_another_file(self):
        other = ("src/io/b.c", function("b", "a();"))
        for text in (function("b", static=True) + function("a", "b();"),
                     function("a", "d->b();", "d.b();"), "void b(void);\n" + function("a"),
                     function("a", "/* b(); */", 'g("b()");')):
            self.assertEqual(circles(("src/io/a.c", text), other), [], text)
        hidden = ("src/io/b.c", function("b", static=True) + function("c", "a();"))
        self.assertEqual(circles(("src/io/a.c", function("a", "b();")), hidden), [])

    def test_a_static_parameter_makes_no_static_function(self):
        text = "int b(char buf[static 4])\n{\n\ta();\n}\n"
        self.assertEqual(len(circles(("src/io/a.c", function("a", "b(0);")), ("src/io/b.c", text))), 1)

    def test_headers_hide_no_call(self):
        other = ("src/io/b.c", function("b", "a();"))
        inline = ("include/weir/io/b.h", "static inline void pass(void)\n{\n\tonward();\n}\n"
                  "#define onward(x) \\\n\tb()\n")
        self.assertEqual(len(circles(("src/io/a.c", function("a", "pass();")), inline, other)), 1)
        macro = "#define PASS(x) b()\n" + function("a", "PASS(1);")
        self.assertEqual(len(circles(("src/io/a.c", macro), other)), 1)

    def test_an_assertion_is_no_call(self):
        macro = ("include/weir/base/check.h", "#define check(c) ((c) ? 0 : check_failed())\n")
        home = ("src/base/check.c", function("check_failed", "a();"))
        self.assertEqual(circles(macro, home, ("src/base/a.c", function("a", "check(1);"))), [])

    def test_a_callback_counts_only_when_asked_for(self):
        pairs = (("src/io/a.c", function("a", "listen(b);")), ("src/io/b.c", function("b", "a();")))
        self.assertEqual(circles(*pairs), [])
        self.assertEqual(circles(*pairs, references=True), [["src/io/a.c", "src/io/b.c"]])
        row = (("src/io/a.c", function("a") + "static struct t t = {.on = b};\n"), pairs[1])
        self.assertEqual(len(circles(*row, references=True)), 1)

    def test_members_and_types_of_that_name_are_no_reference(self):
        for text in (function("a", "x = d->b;"), function("a", "struct b *x;"),
                     function("a") + "static struct t t = {.b = 1};\n"):
            found = circles(("src/io/a.c", text), ("src/io/b.c", function("b", "a();")), references=True)
            self.assertEqual(found, [], text)


class Functions(unittest.TestCase):
    def test_those_over_40_lines_are_found_longest_first(self):
        fits = function("fits", *["g();"] * 37)
        text = fits + function("long", *["g();"] * 38) + function("longer", *["g();"] * 50)
        report = measured(("src/io/a.c", text), ("tests/unit/io/a.c", text))["functions"]
        self.assertEqual(report["functions"], 3)
        self.assertEqual(report["long"], [
            {"name": "longer", "file": "src/io/a.c", "line": 82, "lines": 53},
            {"name": "long", "file": "src/io/a.c", "line": 41, "lines": 41}])


class Assertions(unittest.TestCase):
    def row(self, *pairs):
        return structure.row_of(measured(*pairs)["assertions"], "io")

    def test_statements_are_counted(self):
        for count, body in ((0, "{}"), (1, "{ a(); }"), (3, "{ int a; if (b) { c(); } }"),
                            (2, "{ for (int i = 0; i < n; i++) a(); }"),
                            (2, "{ do { a(); } while (b(c(d))); }"),
                            (4, "{ switch (a) { case 1: b(); break; default: c(); } }"),
                            (2, "{ while (a(b)) c(); }"), (3, "{ if (a) b(); else c(); }")):
            self.assertEqual(structure.statements(body), count, body)

    def test_the_average_is_over_functions_of_more_than_three_statements(self):
        heavy = function("heavy", "check(a);", "check(b);", "check(c);", "g();")
        weighty = function("weighty", "g();", "g();", "g();", "g();")
        light = function("light", "g();", "g();", "g();")
        row = self.row(("src/io/a.c", heavy + weighty + light))
        self.assertEqual((row["functions"], row["non_trivial"], row["assertions"]), (3, 2, 3))
        self.assertEqual(row["average"], 1.5)

    def test_facts_at_compile_time_count_and_lookalikes_do_not(self):
        text = "static_assert(1, x);\n_Static_assert(1, x);\n"
        text += "#define check(c) check_failed()\n/* check(a) */\n"
        text += function("a", "check_it();", "d->check(1);", "precheck(1);", "g();")
        row = self.row(("src/io/a.h", text))
        self.assertEqual((row["assertions"], row["inside"], row["average"]), (2, 0, 2.0))

    def test_a_room_without_functions_has_no_average(self):
        self.assertIsNone(self.row(("src/io/a.h", "static_assert(1, x);\n"))["average"])


class Words(unittest.TestCase):
    def test_static_names_in_three_files_are_found(self):
        begin = function("begin", static=True)
        pairs = [("src/io/%s.c" % name, begin + function("two", static=name != "c")) for name in "abc"]
        self.assertEqual(measured(*pairs)["names"], [
            {"name": "begin", "definitions": 3, "files": ["src/io/a.c", "src/io/b.c", "src/io/c.c"]}])
        self.assertEqual(measured(*pairs[:2])["names"], [])

    def test_words_are_parts_of_identifiers_in_all_their_forms(self):
        for word, names in (("check", ("check", "health_checks", "CHECK_MAX", "checker", "is_checked")),
                            ("drain", ("draining", "drain_all")), ("rest", ("rests", "the_rest")),
                            ("last", ("last_text", "LAST"))):
            for name in names:
                self.assertEqual(structure.word_of(name), word, name)
        for name in ("checksum", "restart", "blast", "arrest", "elastic", "drainpipe"):
            self.assertIsNone(structure.word_of(name), name)

    def test_uses_are_counted_per_room(self):
        text = "#ifndef WEIR_IO_LAST_H\n#include \"weir/io/last.h\"\n" + function(
            "drain_all", "check(a);", "p->check(b);", "last_one = last_one + the_last;", "/* rest */")
        rows = measured(("src/io/last.h", text))["words"]
        self.assertEqual(structure.row_of(rows, "io")["words"], {
            "check": {"check": 1}, "drain": {"drain_all": 1}, "rest": {},
            "last": {"last_one": 2, "the_last": 1}})
        self.assertEqual(structure.row_of(rows, "engine")["words"]["last"], {})


class Bars(unittest.TestCase):
    GOOD = tuple(("src/%s/a.c" % room, function(room, "check(a);", "g();", "g();", "g();"))
                 for room in ("io", "engine", "control"))

    def met(self, *pairs):
        return [bar["met"] for bar in measured(*pairs)["bars"]]

    def test_all_are_met_by_a_good_tree(self):
        self.assertEqual(self.met(*self.GOOD), [True] * 5)

    def test_a_circle_of_six_files_is_met_and_one_of_seven_is_not(self):
        for size in (6, 7):
            ring = [("src/base/f%d.c" % i, function("f%d" % i, "f%d();" % ((i + 1) % size)))
                    for i in range(size)]
            self.assertEqual(self.met(*self.GOOD, *ring), [size == 6] + [True] * 4)

    def test_a_room_of_7500_lines_is_met_and_one_of_7501_is_not(self):
        for lines in (7500, 7501):
            self.assertEqual(self.met(*self.GOOD, ("src/base/a.c", "\n" * lines)),
                             [True, lines == 7500, True, True, True])

    def test_control_is_met_under_2000_lines(self):
        have = self.GOOD[2][1].count("\n")
        for lines in (1999, 2000):
            header = ("include/weir/control/a.h", "\n" * (lines - have))
            self.assertEqual(self.met(*self.GOOD, header), [True, True, lines == 1999, True, True])

    def test_assertions_of_engine_and_of_io_are_judged(self):
        bare = function("bare", *["g();"] * 4)
        self.assertEqual(self.met(*self.GOOD, ("src/engine/b.c", bare)), [True, True, True, False, True])
        self.assertEqual(self.met(*self.GOOD, ("src/io/b.c", bare)), [True, True, True, True, False])
        many = function("b", *["g();"] * 4) + "static_assert(1, x);\n"
        self.assertEqual(self.met(*self.GOOD, ("src/io/b.c", many)), [True] * 5)

    def test_an_average_just_below_is_not_rounded_up(self):
        below = "".join(function("f%d" % i, "check(a);", "g();", "g();", "g();") for i in range(299))
        below += function("bare", *["g();"] * 4)
        self.assertEqual(self.met(*self.GOOD, ("src/io/b.c", below)), [True, True, True, True, False])

    def test_a_room_that_does_not_exist_meets_nothing(self):
        bars = structure.measure([tidy.make_file("src/meson.build", "rooms = ['base']\n")])["bars"]
        self.assertEqual([bar["met"] for bar in bars], [True, True, False, False, False])


class Program(unittest.TestCase):
    def run_on(self, *args, pairs=Bars.GOOD):
        """Exit code and output for these files."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in (ROOMS,) + pairs:
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w") as out:
                    out.write(text)
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                code = structure.main(["structure.py", root] + list(args))
            return code, shown.getvalue()

    def test_it_prints_tables_and_a_line_per_bar(self):
        code, shown = self.run_on()
        self.assertEqual(code, 0)
        for title in ("Rooms:", "Circles of calls, over", "Circles of calls, within",
                      "Functions over 40 lines", "Assertions per", "Names that", "Words in", "Bars"):
            self.assertIn("\n" + title, shown)
        self.assertEqual(shown.count("\n  ok       "), 5)

    def test_only_with_bars_does_it_fail(self):
        self.assertEqual(self.run_on("--bars")[0], 0)
        bad = Bars.GOOD[1:]
        code, shown = self.run_on(pairs=bad)
        self.assertEqual(code, 0)
        self.assertIn("\n  not met  io at least", shown)
        self.assertEqual(self.run_on("--bars", pairs=bad)[0], 1)
        self.assertEqual(self.run_on("--bars", "--json", pairs=bad)[0], 1)

    def test_json_holds_every_table(self):
        report = json.loads(self.run_on("--json")[1])
        self.assertEqual(sorted(report), ["assertions", "bars", "circles", "functions", "names", "rooms",
                                          "words"])

    def test_references_are_named_in_the_title(self):
        self.assertIn("Circles of calls and references", self.run_on("--references")[1])

    def test_a_folder_without_sources_is_refused(self):
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit) as end:
                structure.main(["structure.py", root])
        self.assertEqual(end.exception.code, 2)
        self.assertIn("no folder src", said.getvalue())


if __name__ == "__main__":
    unittest.main()
