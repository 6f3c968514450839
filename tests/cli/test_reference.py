# SPDX-License-Identifier: MIT
"""The documents agree with the options table."""

import glob
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEIR = os.environ.get("WEIR_BIN", os.path.join(ROOT, "build", "src", "weir"))
PAGES = {"man": "doc/man/weir.ini.5", "markdown": "doc/reference.md", "figures": "doc/figures.md",
         "migrating": "doc/migrating.md"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as page:
        return page.read()


def reference(style):
    return subprocess.run([WEIR, "help", f"--reference={style}"], capture_output=True, text=True,
                          check=True, timeout=60).stdout


@pytest.mark.parametrize("style", PAGES)
def test_a_page_has_the_table_between_its_marks(style):
    page = read(PAGES[style])
    between = re.search(r"(?s)BEGIN KEYS[^\n]*\n(.*)^[^\n]*END KEYS", page, re.M).group(1)
    assert between == reference(style), "run: sh doc/update.sh"


def test_every_key_of_the_table_is_on_the_page():
    table = "".join(read("include/weir/config/" + name)
                    for name in ("options.tbl.h", "backend_options.tbl.h"))
    keys = re.findall(r'^(?:OPTION|LATER)\("([^"]+)"', table, re.M)
    page = reference("markdown")
    assert len(keys) > 60
    assert [k for k in keys if f"`{k}" not in page] == []


def rows_of(table, pattern):
    path, = glob.glob(os.path.join(ROOT, "include/weir/*", table))
    return re.findall(pattern, read(path), re.M)


def test_every_row_of_what_is_counted_is_on_the_page():
    rows = rows_of("counters.tbl.h", r"^COUNTER\((\w+),")
    rows += [c for c in rows_of("tallies.tbl.h", r"^TALLY\(\w+, \w+, [^,]+, \w+, (\w+),") if c != "none"]
    rows += [name.lower() for name in rows_of("close_reasons.tbl.h", r"^REASON\((\w+),")]
    page = reference("figures")
    assert len(rows) > 70
    assert [row for row in rows if f"\n| `{row}` |" not in page] == []


def test_every_field_of_a_log_format_is_in_the_manual():
    words = rows_of("log_names.tbl.h", r'^LOG_NAME\(\w+, "([^"]+)"')
    manual = re.search(r"(?s)\.SH LOG LINES\n(.*?)^\.SH ", read(PAGES["man"]), re.M).group(1)
    assert len(words) > 40
    assert [word for word in words if not re.search(rf"^\.BR? .*{word}( |$|\")", manual, re.M)] == []


def test_another_style_is_refused():
    got = subprocess.run([WEIR, "help", "--reference=html"], capture_output=True, text=True, timeout=60)
    assert got.returncode == 2
    assert "man, markdown, figures or migrating" in got.stderr


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
@pytest.mark.parametrize("page", ["weir.8", "weir.ini.5", "weir-ctl.1"])
def test_a_man_page_has_no_mistake(page):
    got = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(ROOT, "doc/man", page)],
                         capture_output=True, text=True, timeout=60)
    assert got.stdout == ""


def test_the_manual_names_every_verb():
    verbs = re.findall(r'^VERB\("(\w+)", CLI_', read("src/cli/verbs.tbl.h"), re.M)
    manual = read("doc/man/weir.8").replace("\\", "")
    assert len(verbs) >= 9
    assert [v for v in verbs if v not in manual] == []
