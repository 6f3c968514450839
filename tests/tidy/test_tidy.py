# SPDX-License-Identifier: MIT
"""Each rule of tidy.py can fail, and stays silent where it should."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tidy  # noqa: E402

FLOORS = ("src/meson.build", "floors = ['base', 'io', 'config', 'balance', 'engine', 'control', 'cli']\n")


def head(path):
    return "/* SPDX-License-Identifier: MIT\n *\n * %s - a thing.\n */\n" % os.path.basename(path)


def found(rule, *pairs):
    """Lines and paths at which `rule` speaks about files of these (path, text)."""
    files = [tidy.make_file(path, text) for path, text in (FLOORS,) + pairs]
    return [(f.path, f.line) for f in tidy.findings(files) if f.rule == rule]


def function(lines):
    """A function of so many lines."""
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

    def test_own_floor_and_down_are_fine(self):
        text = '#include <ev.h>\n#include "weir/engine/a.h"\n#include "weir/io/b.h"\n#include "flow.h"\n'
        self.assertEqual(found("include", ("src/engine/flow.c", text)), [])

    def test_unknown_floor_is_found(self):
        self.assertEqual(found("include", ("src/attic/x.c", "")), [("src/attic/x.c", 1)])
        line = "#include \"../../bench/y.h\"\n"
        self.assertEqual(found("include", ("src/io/x.c", line)), [("src/io/x.c", 1)])

    def test_missing_order_is_found(self):
        files = [tidy.make_file("src/meson.build", "")]
        self.assertEqual([f.rule for f in tidy.findings(files)], ["include"])


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

    def test_likeness_is_fine(self):
        text = 'int system_x(void);\nint my_strcpy(void);\n/* strcpy(a) */\n'
        text += 'char *s = "gets(x)";\nint b = snprintf(0);\n'
        self.assertEqual(found("call", ("src/io/x.c", text)), [])

    def test_each_raw_system_call_is_found_on_the_data_plane(self):
        for name in tidy.DATA_PLANE:
            text = "int f(void)\n{\n\treturn %s(1);\n}\n" % name
            self.assertEqual(found("call", ("src/io/x.c", text)), [("src/io/x.c", 3)], name)
            self.assertEqual(found("call", ("src/engine/x.c", text)), [("src/engine/x.c", 3)], name)

    def test_their_home_and_other_floors_may(self):
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

    def test_prose_may_be_wide(self):
        self.assertEqual(found("column", ("doc/a.md", "x" * 200)), [])


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
    TABLE = "src/config/options.tbl.h"

    def test_an_untold_one_is_found(self):
        table = '/* OPTION(key) */\nOPTION("threads", 1)\nLATER("check", 1)\n'
        bad = found("option", (self.TABLE, table), ("README.md", "`maxthreads`"))
        self.assertEqual(bad, [(self.TABLE, 2)])
        self.assertEqual(found("option", (self.TABLE, table), ("README.md", "`threads` are")), [])


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
