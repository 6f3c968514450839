#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""structure.py - how the sources depend on each other, in figures: where a reader must know much at once.

    python3 tests/tidy/structure.py [ROOT] [--references] [--json] [--bars]

Prints tables for the tree at ROOT: files and lines per room, circles of calls between files, long
functions, assertions per function, and words that mean several things; then one line per bar, `ok` or
`not met`. A room is a folder under src/ with its headers under include/weir/.

A file calls another when one of its functions names a function that the other defines, with a `(` after
it. A call through an inline function or a macro of a header counts for the file that uses it; check()
does not. --references also counts a function that is passed by name. Exits 0, with --bars 1 when a bar is
not met. tests/tidy/test_structure.py proves that each measure finds what it should.
"""

import argparse
import collections
import json
import os
import re
import sys
import textwrap

import tidy

CIRCLE_FILES_MAX = 6
ROOM_LINES_MAX = 7500
CONTROL_LINES_MAX = 2000
ASSERTIONS_MIN = 1.0
ASSERTIONS_ROOMS = ("engine", "io")

LONG_LINES = 40
TRIVIAL_STATEMENTS = 3
CONFUSING_DEFINITIONS = 3
ASSERTIONS = ("check", "static_assert", "_Static_assert")
WORDS = ("check", "drain", "rest", "last")
COLUMNS = 110

Function = collections.namedtuple("Function", "name path room first lines static body")
Bar = collections.namedtuple("Bar", "met text")


# ---- reading -------------------------------------------------------------------------------------

def functions_of(f):
    """Each function that the file defines. A body is the text from its first brace on."""
    lines = tidy.without_directives(f.code).split("\n")
    for name, first, last in tidy.functions(f.code):
        head, brace, body = "\n".join(lines[first - 1:last]).partition("{")
        yield Function(name, f.path, tidy.room_of_path(f.path), first, last - first + 1,
                       bool(re.search(r"(?<!\[)\bstatic\b", head)), brace + body)


def macros_of(f):
    """(name, replacement) of each macro with parameters."""
    pattern = re.compile(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\([^)]*\)((?:\\\n|[^\n])*)")
    return [(m.group(1), m.group(2)) for m in pattern.finditer(f.code)]


def called(code):
    return {name for _, name in tidy.calls(code, (r"\w+",))}


def named(code):
    """Identifiers, except those of members and types."""
    code = re.sub(r"\b(?:struct|union|enum)\s+\w+", " ", code)
    return set(re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", code))


def statements(body):
    """Number of statements and declarations in a body; a condition belongs to its `if` or loop."""
    before = None
    while body != before:
        before, body = body, re.sub(r"\([^()]*\)", " ", body)
    branches = re.findall(r"\b(?:if|for|while|switch)\b", body)
    return body.count(";") + len(branches) - len(re.findall(r"\bdo\b", body))


class Tree:
    """The sources of the product, read once."""

    def __init__(self, files):
        self.files = [f for f in tidy.c_files(files, ("src", "include")) if tidy.room_of_path(f.path)]
        seen = {tidy.room_of_path(f.path) for f in self.files}
        listed = tidy.rooms_of(files)
        self.rooms = [r for r in listed if r != "main" or r in seen] + sorted(seen - set(listed))
        self.functions = [function for f in self.files for function in functions_of(f)]
        self.of_path = collections.defaultdict(list)
        for function in self.functions:
            self.of_path[function.path].append(function)

    def of_room(self, room):
        return [f for f in self.files if tidy.room_of_path(f.path) == room]


# ---- measures ------------------------------------------------------------------------------------

def measure_rooms(tree):
    """Files and lines of each room; a private header is next to its sources."""
    rows = []
    for room in tree.rooms:
        files = tree.of_room(room)
        sources = [f for f in files if f.path.endswith(".c")]
        private = [f for f in files if tidy.is_private(f.path)]
        rows.append({"room": room, "sources": len(sources), "private_headers": len(private),
                     "public_headers": len(files) - len(sources) - len(private), "files": len(files),
                     "source_lines": sum(f.text.count("\n") for f in sources),
                     "lines": sum(f.text.count("\n") for f in files)})
    return rows


def indirect_calls(tree):
    """The calls of each inline function and macro in headers, by its name. Assertions are left out: they
    belong everywhere, and none leads a reader elsewhere."""
    table = collections.defaultdict(set)
    for f in tree.files:
        if f.path.endswith(".h"):
            for function in tree.of_path[f.path]:
                table[function.name] |= called(function.body)
            for name, body in macros_of(f):
                table[name] |= called(body)
    for name in ASSERTIONS:
        table.pop(name, None)
    return table


def followed(names, table):
    """`names`, and the names that those in `table` lead to."""
    found, left = set(), set(names)
    while left:
        name = left.pop()
        found.add(name)
        left |= table.get(name, set()) - found
    return found


def call_graph(tree, references):
    """{file: {file that it calls: names}}, of the sources."""
    homes = collections.defaultdict(set)
    for function in tree.functions:
        if not function.static and function.path.endswith(".c"):
            homes[function.name].add(function.path)
    table = indirect_calls(tree)
    graph = {}
    for f in tree.files:
        if not f.path.endswith(".c"):
            continue
        parts = [function.body for function in tree.of_path[f.path]] + [body for _, body in macros_of(f)]
        names = followed(set().union(*map(called, parts)) if parts else set(), table)
        if references:
            names |= named(tidy.without_directives(f.code))
        own = {function.name for function in tree.of_path[f.path]}
        edges = graph[f.path] = collections.defaultdict(set)
        for name in names - own:
            for home in homes.get(name, ()):
                edges[home].add(name)
    return graph


def circles_of(graph, members):
    """The sets of two or more of `members` that all reach one another within the set, largest first."""
    reach = {}
    for start in members:
        seen, left = set(), [start]
        while left:
            for there in graph[left.pop()]:
                if there in members and there not in seen:
                    seen.add(there)
                    left.append(there)
        reach[start] = seen
    found = {frozenset(b for b in reach[a] if a in reach[b]) for a in members if a in reach[a]}
    return sorted((sorted(c) for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def measure_circles(tree, references=False):
    """Circles of the whole tree and of each room, with the calls that make them."""
    graph = call_graph(tree, references)

    def described(members):
        rows = []
        for circle in circles_of(graph, members):
            calls = [{"from": a, "to": b, "names": sorted(graph[a][b])}
                     for a in circle for b in circle if a != b and b in graph[a]]
            rows.append({"files": len(circle), "members": circle, "calls": calls})
        return rows

    rooms = {room: described({p for p in graph if tidy.room_of_path(p) == room}) for room in tree.rooms}
    return {"references": references, "tree": described(set(graph)), "rooms": rooms}


def measure_long(tree):
    """Functions that do not fit on a screen of 40 lines."""
    rows = [{"name": f.name, "file": f.path, "line": f.first, "lines": f.lines}
            for f in tree.functions if f.lines > LONG_LINES]
    rows.sort(key=lambda r: (-r["lines"], r["file"], r["name"]))
    return {"functions": len(tree.functions), "long": rows}


def measure_assertions(tree):
    """Assertions per function of more than 3 statements: all of a room's, divided by these functions."""
    rows = []
    for room in tree.rooms:
        weighty = [f for f in tree.functions if f.room == room and statements(f.body) > TRIVIAL_STATEMENTS]
        code = [tidy.without_directives(f.code) for f in tree.of_room(room)]
        uses = sum(len(list(tidy.calls(text, ASSERTIONS))) for text in code)
        inside = sum(len(list(tidy.calls(f.body, ASSERTIONS))) for f in weighty)
        rows.append({"room": room, "functions": len([f for f in tree.functions if f.room == room]),
                     "non_trivial": len(weighty), "assertions": uses, "inside": inside,
                     "average": round(uses / len(weighty), 2) if weighty else None})
    return rows


def measure_names(tree):
    """Names that static functions in several files share."""
    files = collections.defaultdict(set)
    for f in tree.functions:
        if f.static:
            files[f.name].add(f.path)
    rows = [{"name": name, "definitions": len(paths), "files": sorted(paths)}
            for name, paths in files.items() if len(paths) >= CONFUSING_DEFINITIONS]
    return sorted(rows, key=lambda r: (-r["definitions"], r["name"]))


def word_of(identifier):
    """The watched word that is part of the identifier, in any form, or None."""
    for part in identifier.lower().split("_"):
        for word in WORDS:
            if re.fullmatch(word + "(s|ed|er|ers|ing)?", part):
                return word
    return None


def measure_words(tree):
    """Per room and watched word: the identifiers with that word, and how often each is used. The assertion
    check() and include guards are left out."""
    rows = []
    for room in tree.rooms:
        uses = {word: collections.Counter() for word in WORDS}
        for f in tree.of_room(room):
            assertions = {at for at, _ in tidy.calls(f.code, ("check",))}
            for match in re.finditer(r"\b[A-Za-z_]\w*", f.code):
                name = match.group()
                word = word_of(name)
                if word and match.start() not in assertions and not re.fullmatch(r"WEIR_\w+_H", name):
                    uses[word][name] += 1
        rows.append({"room": room, "words": {word: dict(uses[word].most_common()) for word in WORDS}})
    return rows


# ---- bars ----------------------------------------------------------------------------------------

def bar_circle(report):
    largest = max((c["files"] for c in report["circles"]["tree"]), default=0)
    return Bar(largest <= CIRCLE_FILES_MAX, "no circle over %d files: the largest has %d" % (
        CIRCLE_FILES_MAX, largest))


def bar_rooms(report):
    over = ["%s %d" % (r["room"], r["lines"]) for r in report["rooms"] if r["lines"] > ROOM_LINES_MAX]
    return Bar(not over, "no room over %d lines: %s" % (ROOM_LINES_MAX, ", ".join(over) or "none is"))


def row_of(rows, room):
    return next((r for r in rows if r["room"] == room), None)


def bar_control(report):
    row = row_of(report["rooms"], "control")
    text = "%d" % row["lines"] if row else "there is no such room"
    return Bar(bool(row) and row["lines"] < CONTROL_LINES_MAX,
               "control under %d lines: %s" % (CONTROL_LINES_MAX, text))


def bar_assertions(report, room):
    row = row_of(report["assertions"], room)
    average = row["average"] if row else None
    text = "no function to judge" if average is None else "%.2f" % average
    return Bar(average is not None and row["assertions"] >= ASSERTIONS_MIN * row["non_trivial"],
               "%s at least %.1f assertions per non-trivial function: %s" % (room, ASSERTIONS_MIN, text))


def bars_of(report):
    return ([bar_circle(report), bar_rooms(report), bar_control(report)] +
            [bar_assertions(report, room) for room in ASSERTIONS_ROOMS])


def measure(files, references=False):
    tree = Tree(files)
    report = {"rooms": measure_rooms(tree), "circles": measure_circles(tree, references),
              "functions": measure_long(tree), "assertions": measure_assertions(tree),
              "names": measure_names(tree), "words": measure_words(tree)}
    report["bars"] = [bar._asdict() for bar in bars_of(report)]
    return report


# ---- tables --------------------------------------------------------------------------------------

def table(title, heads, rows, right):
    """A title, heads and rows; the columns in `right` hold numbers. The last column may wrap."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(heads)] + rows) for i in range(len(heads))]
    indent = sum(widths[:-1]) + 2 * len(widths)
    print("\n%s\n" % title)
    for row in [list(heads)] + rows:
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        text = "  " + "  ".join(cells).rstrip()
        print(textwrap.fill(text, COLUMNS, subsequent_indent=" " * indent, break_long_words=False,
                            break_on_hyphens=False, replace_whitespace=False))
    if not rows:
        print("  none")


def print_rooms(report):
    rows = report["rooms"]
    keys = ("sources", "private_headers", "public_headers", "files", "source_lines", "lines")
    lines = [[r["room"]] + [r[key] for key in keys] for r in rows]
    lines.append(["all"] + [sum(r[key] for r in rows) for key in keys])
    table("Rooms: files and lines",
          ("room", ".c", "private .h", "public .h", "files", "lines of .c", "lines"), lines, range(1, 7))


def print_circles(report):
    circles = report["circles"]
    how = "calls and references" if circles["references"] else "calls"
    rows = [(c["files"], " ".join(p.replace("src/", "", 1) for p in c["members"])) for c in circles["tree"]]
    table("Circles of %s, over the whole tree" % how, ("files", "members"), rows, (0,))
    rows = [(room, c["files"], " ".join(os.path.basename(p) for p in c["members"]))
            for room, found in circles["rooms"].items() for c in found]
    rows.sort(key=lambda row: -row[1])
    table("Circles of %s, within a room" % how, ("room", "files", "members"), rows, (1,))


def print_functions(report):
    long = report["functions"]["long"]
    count = report["functions"]["functions"]
    table("Functions over %d lines: %d of %d, %.1f %%" % (
              LONG_LINES, len(long), count, 100.0 * len(long) / count if count else 0.0),
          ("lines", "name", "file"),
          [(r["lines"], r["name"], "%s:%d" % (r["file"], r["line"])) for r in long], (0,))


def print_assertions(report):
    rows = [(r["room"], r["functions"], r["non_trivial"], r["assertions"], r["inside"],
             "-" if r["average"] is None else "%.2f" % r["average"]) for r in report["assertions"]]
    table("Assertions per non-trivial function (more than %d statements)" % TRIVIAL_STATEMENTS,
          ("room", "functions", "non-trivial", "assertions", "of these inside them", "average"),
          rows, range(1, 6))


def print_words(report):
    table("Names that static functions of %d files or more share" % CONFUSING_DEFINITIONS,
          ("name", "count", "files"),
          [(r["name"], r["definitions"], " ".join(
              re.sub("^(src|include/weir)/", "", p) for p in r["files"])) for r in report["names"]], (1,))
    rows = []
    for r in report["words"]:
        rows.append([r["room"]] + ["%d (%d)" % (sum(r["words"][w].values()), len(r["words"][w]))
                                   for w in WORDS])
    table("Words in identifiers: uses (different identifiers); check() itself is not counted",
          ("room",) + WORDS, rows, range(1, 1 + len(WORDS)))


def print_report(report):
    for part in (print_rooms, print_circles, print_functions, print_assertions, print_words):
        part(report)
    print("\nBars\n")
    for bar in report["bars"]:
        print("  %-7s  %s" % ("ok" if bar["met"] else "not met", bar["text"]))


def main(argv):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Print how the sources depend on each other, in figures.")
    parser.add_argument("root", nargs="?", metavar="ROOT", default=os.path.dirname(os.path.dirname(here)),
                        help="the tree to measure (default: this one)")
    parser.add_argument("--references", action="store_true",
                        help="count a function that is passed by name as called")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with all names")
    parser.add_argument("--bars", action="store_true", help="exit with 1 if a bar is not met")
    options = parser.parse_args(argv[1:])
    if not os.path.isdir(os.path.join(options.root, "src")):
        parser.error("'%s' has no folder src: give the root of a source tree" % options.root)
    report = measure(tidy.read_tree(options.root), options.references)
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        print_report(report)
    return 1 if options.bars and not all(bar["met"] for bar in report["bars"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
