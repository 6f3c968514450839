# SPDX-License-Identifier: MIT
"""Each rule of tidy.py can fail, and stays silent where it should."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tidy  # noqa: E402

ROOMS = ("src/meson.build", "rooms = ['base', 'io', 'config', 'balance', 'engine', 'control', 'cli']\n")


def head(path):
    return "/* SPDX-License-Identifier: MIT\n *\n * %s - a thing.\n */\n" % os.path.basename(path)


def found(rule, *pairs):
    """Lines and paths of the findings of `rule` in files of these (path, text)."""
    files = [tidy.make_file(path, text) for path, text in (ROOMS,) + pairs]
    return [(f.path, f.line) for f in tidy.findings(files) if f.rule == rule]


def function(lines):
    """A function with that many lines."""
    return "static int f(void)\n{\n" + "\tg();\n" * (lines - 3) + "}\n"


class Include(unittest.TestCase):
    def test_upward_is_found(self):
        text = '#include "weir/engine/engine.h"\n'
        self.assertEqual(found("include", ("src/io/io.c", text)), [("src/io/io.c", 1)])
        self.assertEqual(found("include", ("include/weir/io/io.h", text)), [("include/weir/io/io.h", 1)])

    def test_upward_beside_is_found(self):
        text = '\n#include "../cli/b.h"\n'
        self.assertEqual(found("include", ("src/base/a.c", text)), [("src/base/a.c", 2)])

    def test_main_is_the_roof(self):
        text = '#include "weir/cli/cli.h"\n'
        self.assertEqual(found("include", ("src/main.c", text)), [])
        self.assertEqual(found("include", ("src/control/x.c", text)), [("src/control/x.c", 1)])

    def test_own_room_and_down_are_fine(self):
        text = '#include <ev.h>\n#include "weir/engine/a.h"\n#include "weir/io/b.h"\n#include "flow.h"\n'
        self.assertEqual(found("include", ("src/engine/flow.c", text)), [])

    def test_unknown_room_is_found(self):
        self.assertEqual(found("include", ("src/attic/x.c", "")), [("src/attic/x.c", 1)])
        line = "#include \"../../bench/y.h\"\n"
        self.assertEqual(found("include", ("src/io/x.c", line)), [("src/io/x.c", 1)])

    def test_missing_order_is_found(self):
        files = [tidy.make_file("src/meson.build", "")]
        self.assertEqual([f.rule for f in tidy.findings(files)], ["include"])

    def test_a_folder_that_is_no_room_is_found(self):
        self.assertEqual(found("include", ("src/io/x.c", '#include "attic/y.h"\n')), [("src/io/x.c", 1)])

    def test_detours_are_followed(self):
        for text in ('#include "weir/base/../engine/y.h"\n', '#include "base/../engine/y.h"\n'):
            self.assertEqual(found("include", ("src/io/x.c", text)), [("src/io/x.c", 1)], text)


class Rooms(unittest.TestCase):
    BUILD = """# A comment on rooms = and on those at the side.
rooms = ['base', 'io', 'engine',
  'health', 'names',
  'control']
side_by_side = ['health',
  'names']
foreach room : rooms
endforeach
"""

    def findings(self, *pairs):
        files = [tidy.make_file(path, text) for path, text in (("src/meson.build", self.BUILD),) + pairs]
        return [f for f in tidy.findings(files) if f.rule == "include"]

    def found(self, *pairs):
        return [(f.path, f.line) for f in self.findings(*pairs)]

    def text(self, *pairs):
        return [f.text for f in self.findings(*pairs)]

    def test_the_list_of_rooms_orders_them(self):
        self.assertEqual(tidy.rooms_of([tidy.make_file("src/meson.build", self.BUILD)]),
                         ["base", "io", "engine", "health", "names", "control", "main"])
        self.assertEqual(self.found(("src/io/x.c", '#include "weir/names/y.h"\n')), [("src/io/x.c", 1)])
        self.assertEqual(self.found(("src/names/x.c", '#include "weir/io/y.h"\n')), [])

    def test_rooms_side_by_side_do_not_include_one_another(self):
        down, up = '#include "weir/health/y.h"\n', '\n#include "weir/names/y.h"\n'
        self.assertEqual(self.found(("src/names/x.c", down)), [("src/names/x.c", 1)])
        self.assertEqual(self.found(("src/health/x.c", up)), [("src/health/x.c", 2)])
        self.assertEqual(self.found(("include/weir/names/x.h", down)), [("include/weir/names/x.h", 1)])
        self.assertIn("side by side", self.text(("src/names/x.c", down))[0])
        self.assertIn("side by side", self.text(("src/health/x.c", up))[0])

    def test_they_include_themselves_and_what_is_below_and_control_includes_them(self):
        own = '#include "weir/names/y.h"\n#include "weir/engine/y.h"\n'
        self.assertEqual(self.found(("src/names/x.c", own)), [])
        both = '#include "weir/names/y.h"\n#include "weir/health/y.h"\n'
        self.assertEqual(self.found(("src/control/x.c", both)), [])

    def test_without_that_list_only_the_order_counts(self):
        build = self.BUILD[:self.BUILD.index("side_by_side")]
        files = [tidy.make_file("src/meson.build", build),
                 tidy.make_file("src/names/x.c", '#include "weir/health/y.h"\n')]
        self.assertEqual([f for f in tidy.findings(files) if f.rule == "include"], [])

    def test_a_stranger_in_that_list_is_found(self):
        build = self.BUILD.replace("side_by_side = ['health',", "side_by_side = ['attic',")
        files = [tidy.make_file("src/meson.build", build)]
        self.assertEqual([(f.path, f.line) for f in tidy.findings(files) if f.rule == "include"],
                         [("src/meson.build", 5)])

    def test_a_private_header_is_for_its_room_and_for_tests(self):
        header = ("src/io/ring.h", head("ring.h"))
        by_room = '#include "io/ring.h"\n'
        for path in ("src/engine/x.c", "include/weir/engine/x.h", "src/main.c", "bench/x.c"):
            self.assertEqual(self.found(header, (path, by_room)), [(path, 1)], path)
            self.assertIn("private", self.text(header, (path, by_room))[0])
        by_path = ("bench/x.c", '#include "../src/io/ring.h"\n')
        self.assertEqual(self.found(header, by_path), [("bench/x.c", 1)])
        for path in ("src/io/x.c", "tests/unit/io/x.c", "tests/sim/x.c"):
            self.assertEqual(self.found(header, (path, by_room)), [], path)
        self.assertEqual(self.found(header, ("src/io/x.c", '#include "ring.h"\n')), [])

    def test_a_name_counts_as_the_room_it_is_found_in(self):
        header = ("src/engine/flow.h", head("flow.h"))
        for text in ('#include "flow.h"\n', '#include "engine/flow.h"\n', '#include "../engine/flow.h"\n'):
            self.assertEqual(self.found(header, ("src/io/x.c", text)), [("src/io/x.c", 1)], text)
            self.assertIn("above", self.text(header, ("src/io/x.c", text))[0])
        beside = ("src/io/flow.h", head("flow.h"))
        self.assertEqual(self.found(header, beside, ("src/io/x.c", '#include "flow.h"\n')), [])
        self.assertEqual(self.found(header, beside, ("include/weir/io/x.h", '#include "flow.h"\n')), [])
        own = (("bench/engine/flow.h", head("flow.h")), ("bench/x.c", '#include "engine/flow.h"\n'))
        self.assertEqual(self.found(header, *own), [])

    def test_bare_names_at_the_side_are_found(self):
        header = ("src/health/probe.h", head("probe.h"))
        for text in ('#include "probe.h"\n', '#include "health/probe.h"\n'):
            self.assertEqual(self.found(header, ("src/names/x.c", text)), [("src/names/x.c", 1)], text)

    def test_public_headers_are_for_all_above(self):
        header = ("include/weir/io/io.h", head("io.h"))
        text = '#include "weir/io/io.h"\n'
        for path in ("src/engine/x.c", "src/main.c", "bench/x.c", "tests/unit/io/x.c"):
            self.assertEqual(self.found(header, (path, text)), [], path)


class Function(unittest.TestCase):
    def test_the_wall_stands_at_70(self):
        for folder in ("src/io", "include/weir/io", "tests/unit/io", "bench"):
            path = folder + "/x.c"
            self.assertEqual(found("function", (path, function(71))), [(path, 1)])
            self.assertEqual(found("function", (path, function(70))), [])

    def test_it_is_found_among_others(self):
        text = "#define A(x) { x\nstruct s {\n\tint a;\n};\n\n" + function(5) + "\n" + function(80)
        self.assertEqual(found("function", ("src/io/x.c", text)), [("src/io/x.c", 12)])

    def test_tables_and_types_are_no_functions(self):
        text = "static const int t[] = {\n" + "\t1,\n" * 100 + "};\n"
        text += "struct s {\n" + "\tint (*f)(int);\n" * 100 + "};\n"
        self.assertEqual(found("function", ("src/io/x.c", text)), [])

    def test_braces_in_strings_and_comments_do_not_count(self):
        text = 'static int f(void)\n{\n\tg("}}{", \'{\'); /* } */ // }\n' + "\tg();\n" * 80 + "}\n"
        self.assertEqual(found("function", ("src/io/x.c", text)), [("src/io/x.c", 1)])


class Call(unittest.TestCase):
    def test_each_banned_call_is_found(self):
        for name in tidy.BANNED:
            text = "int a;\nint f(void)\n{\n\treturn %s(a);\n}\n" % name
            self.assertEqual(found("call", ("src/control/x.c", text)), [("src/control/x.c", 4)], name)
            self.assertEqual(found("call", ("tests/unit/base/x.c", text)), [("tests/unit/base/x.c", 4)], name)

    def test_product_stays_in_its_folder(self):
        for name in tidy.MOVES:
            text = "int f(void)\n{\n\treturn %s(a);\n}\n" % name
            self.assertEqual(found("call", ("src/control/x.c", text)), [("src/control/x.c", 3)], name)
            self.assertEqual(found("call", ("tests/unit/base/x.c", text)), [], name)

    def test_likeness_is_fine(self):
        text = 'int system_x(void);\nint my_strcpy(void);\n/* strcpy(a) */\n'
        text += 'char *s = "gets(x)";\nint b = snprintf(0);\n'
        self.assertEqual(found("call", ("src/io/x.c", text)), [])

    def test_each_raw_system_call_is_found_on_the_data_plane(self):
        for name in tidy.DATA_PLANE:
            text = "int f(void)\n{\n\treturn %s(1);\n}\n" % name
            self.assertEqual(found("call", ("src/io/x.c", text)), [("src/io/x.c", 3)], name)
            self.assertEqual(found("call", ("src/engine/x.c", text)), [("src/engine/x.c", 3)], name)

    def test_their_home_and_other_rooms_may(self):
        text = "int f(void)\n{\n\treturn splice(1);\n}\n"
        for path in ("src/sys/sys.c", "src/control/x.c", "bench/x.c"):
            self.assertEqual(found("call", (path, text)), [])

    def test_members_are_no_system_calls(self):
        text = "int f(struct d *d)\n{\n\treturn d->close(d) + d->x.read(d) + sys_close(1);\n}\n"
        self.assertEqual(found("call", ("src/io/x.c", text)), [])


class Length(unittest.TestCase):
    def test_the_wall_stands_at_500(self):
        for path in ("src/io/x.c", "include/weir/io/x.h"):
            self.assertEqual(found("length", (path, "\n" * 501)), [(path, 501)])
            self.assertEqual(found("length", (path, "\n" * 500)), [])

    def test_tests_may_be_long(self):
        self.assertEqual(found("length", ("tests/unit/io/x.c", "\n" * 501)), [])


class Header(unittest.TestCase):
    def test_missing_is_found(self):
        for path in ("src/io/x.c", "tests/unit/io/x.c"):
            self.assertEqual(found("header", (path, "int a;\n")), [(path, 1)])
            self.assertEqual(found("header", (path, "/* SPDX-License-Identifier: MIT */\n")), [(path, 1)])

    def test_another_name_is_found(self):
        self.assertEqual(found("header", ("src/io/x.c", head("y.c"))), [("src/io/x.c", 3)])

    def test_scripts_too(self):
        self.assertEqual(found("header", ("tests/a.sh", "#!/bin/sh\necho\n")), [("tests/a.sh", 1)])
        text = "# SPDX-License-Identifier: MIT\nx = 1\n"
        self.assertEqual(found("header", ("tests/a.py", text)), [("tests/a.py", 2)])

    def test_present_is_fine(self):
        script = "#!/bin/sh\n# SPDX-License-Identifier: MIT\n#\n# a.sh - a thing.\n"
        module = '# SPDX-License-Identifier: MIT\n"""A thing."""\n'
        for path, text in (("src/io/x.c", head("x.c")), ("tests/a.sh", script), ("tests/a.py", module),
                           ("tests/b.py", "")):
            self.assertEqual(found("header", (path, text)), [])


class Column(unittest.TestCase):
    def test_the_wall_stands_at_110(self):
        self.assertEqual(found("column", ("tests/a.py", "\n" + "x" * 111)), [("tests/a.py", 2)])
        self.assertEqual(found("column", ("tests/a.py", "x" * 110)), [])

    def test_a_tab_has_eight(self):
        self.assertEqual(found("column", ("src/io/x.c", "\t\t" + "x" * 95)), [("src/io/x.c", 1)])

    def test_prose_has_a_rule_of_its_own(self):
        self.assertEqual(found("column", ("doc/a.md", "x " * 100)), [])


class Prose(unittest.TestCase):
    def test_the_wall_stands_at_100(self):
        for path in ("README.md", "doc/a.md", "tests/system/README.md"):
            self.assertEqual(found("prose", (path, "\n" + "a b" + "c" * 98)), [(path, 2)])
            self.assertEqual(found("prose", (path, "a b" + "c" * 97)), [])

    def test_an_item_is_prose(self):
        for marker in ("- ", "  * ", "12. ", "> ", "## "):
            self.assertEqual(found("prose", ("doc/a.md", marker + "word " * 20)), [("doc/a.md", 1)])

    def test_behind_a_code_block_prose_goes_on(self):
        text = "```\n" + "x " * 100 + "\n```\n" + "y " * 100 + "\n"
        self.assertEqual(found("prose", ("doc/a.md", text)), [("doc/a.md", 4)])

    def test_a_table_may_be_wide(self):
        self.assertEqual(found("prose", ("doc/a.md", "| a | " + "word " * 40 + "|")), [])

    def test_what_cannot_be_broken_may_be_wide(self):
        for thing in ("x" * 120, "[some words](%s)" % ("x" * 100), "![some words](%s)," % ("x" * 100),
                      "`%s`" % ("key = value " * 10), "**`%s`**" % ("key = value " * 10)):
            self.assertEqual(found("prose", ("doc/a.md", thing)), [], thing)
            self.assertEqual(found("prose", ("doc/a.md", "- " + thing)), [], thing)
            self.assertEqual(found("prose", ("doc/a.md", "see " + thing)), [("doc/a.md", 1)], thing)

    def test_other_texts_are_not_asked(self):
        self.assertEqual(found("prose", ("bench/results/a.txt", "x " * 100)), [])


class Mark(unittest.TestCase):
    def test_each_is_found_anywhere(self):
        for mark in tidy.MARKS:
            for path in ("src/io/x.c", "doc/a.md", "tests/a.py", "meson.build"):
                self.assertEqual(found("mark", (path, "\n// %s: later\n" % mark)), [(path, 2)])

    def test_templates_are_fine(self):
        self.assertEqual(found("mark", ("tests/a.sh", "mktemp /tmp/a." + "X" * 6)), [])


class Place(unittest.TestCase):
    def test_strangers_are_found(self):
        self.assertEqual(found("place", ("notes.txt", "")), [("notes.txt", 1)])
        self.assertEqual(found("place", ("scripts/x.sh", "")), [("scripts/x.sh", 1)])

    def test_what_belongs_is_fine(self):
        names = ("src/x", "include/x", "tests/x", "bench/x", "conf/x", "doc/x", ".ci/run", ".gitignore",
                 "meson.build", "meson_options.txt", "Dockerfile", "README.md", "LICENSE")
        self.assertEqual(found("place", *((name, "") for name in names)), [])


class Option(unittest.TestCase):
    TABLE = "include/weir/config/options.tbl.h"

    def test_one_without_a_reference_is_found(self):
        table = '/* OPTION(key) */\nOPTION("threads", 1)\nLATER("check", 1)\n'
        bad = found("option", (self.TABLE, table), ("doc/reference.md", "`maxthreads`"))
        self.assertEqual(bad, [(self.TABLE, 2)])
        page = ("doc/reference.md", "**`threads = N`**")
        self.assertEqual(found("option", (self.TABLE, table), page), [])


class Mutant(unittest.TestCase):
    LIST = "tests/sim/mutants_list.py"

    def test_one_whose_text_does_not_occur_once_is_found(self):
        mutants = ("MUTANTS = [\n"
                   "    {'rule': 'R1', \"what\": \"a\", 'edits': [('src/io/x.c', 'one', '')]},\n"
                   "    {'rule': 'R1', \"what\": \"b\", 'edits': [('src/io/x.c', 'two', '')]},\n"
                   "    {'rule': 'R1', \"what\": \"c\", 'edits': [('src/io/x.c', 'none', '')]},\n"
                   "    {'rule': 'R1', \"what\": \"d\", 'edits': [('src/io/y.c', 'one', '')]}]\n")
        bad = found("mutant", (self.LIST, mutants), ("src/io/x.c", "one two two\n"))
        self.assertEqual(bad, [(self.LIST, 3), (self.LIST, 4), (self.LIST, 5)])


class Tree(unittest.TestCase):
    def test_a_tree_is_read_without_what_a_build_leaves(self):
        with tempfile.TemporaryDirectory() as root:
            for path in ("src/io/x.c", "build/y.c", "build-asan/y.c", ".git/z", "tests/__pycache__/a.pyc",
                         ".ci/run"):
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w") as out:
                    out.write("x\n")
            self.assertEqual([f.path for f in tidy.read_tree(root)], [".ci/run", "src/io/x.c"])

    def test_every_rule_has_a_word_for_itself(self):
        for rule in tidy.RULES.values():
            self.assertTrue(rule.__doc__)


if __name__ == "__main__":
    unittest.main()
