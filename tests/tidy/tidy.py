#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tidy.py - checks the parts of the house style that a machine can check; a test like any other.

    python3 tests/tidy/tidy.py [ROOT]

Prints `path:line: rule: what is wrong` for each finding, then one line per rule, and exits with 1
if anything was found. tests/tidy/test_tidy.py proves that each rule can fail.
"""

import bisect
import collections
import os
import re
import sys

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
COLUMNS_MAX = 110
PROSE_COLUMNS_MAX = 100
TAB = 8

TOP_LEVEL = {"src", "include", "tests", "bench", "conf", "doc", "meson.build", "meson_options.txt",
             "Dockerfile", "README.md", "LICENSE"}

C_FOLDERS = ("src", "include", "tests", "bench")
C_NAMES = (".c", ".h")
LINE_NAMES = (".c", ".h", ".py", ".sh", ".ini", ".build", ".txt", ".service")

BANNED = ("strcpy", "strcat", "sprintf", "vsprintf", "strncpy", "atoi", "atol", "atof", "strtok", "gets",
          "alloca", "system", "popen")

# Names of configuration files are relative to the directory in which the process was started.
MOVES = ("chdir", "fchdir", "chroot")

# The calls that src/sys/sys.c wraps: in other files of these rooms, the simulator could not replace them.
DATA_PLANE = ("accept", "accept4", "connect", "recv", "recvfrom", "recvmsg", "send", "sendto", "sendmsg",
              "sendfile", "splice", "tee", "vmsplice", "read", "readv", "write", "writev", "pipe", "pipe2",
              "shutdown", "close", "ioctl", "fcntl", "poll", "ppoll", "select", "pselect", "eventfd",
              "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
              "syscall")
DATA_PLANE_ROOMS = ("net", "io", "entry", "account", "engine")
DATA_PLANE_HOME = "src/sys/sys.c"

# Spelt in halves, so that this file obeys its own rule.
MARKS = ("TO" + "DO", "FIX" + "ME", "XX" + "X")

Finding = collections.namedtuple("Finding", "path line rule text")
File = collections.namedtuple("File", "path text code")


# ---- reading C ---------------------------------------------------------------------------------

def blank(text):
    """The same text with everything except newlines replaced by spaces."""
    return re.sub(r"[^\n]", " ", text)


NOT_CODE = re.compile(r"""
      /\*.*?(?:\*/|\Z)            # a comment
    | //(?:\\\n|[^\n])*           # a comment to the end of the line
    | "(?:\\.|[^"\\\n])*"         # a string
    | '(?:\\.|[^'\\\n])*'         # a character
""", re.DOTALL | re.VERBOSE)


def code_of(text):
    """C without comments, strings and characters; offsets and line numbers are unchanged."""
    return NOT_CODE.sub(lambda m: blank(m.group()), text)


def without_directives(code):
    return re.sub(r"(?m)^[ \t]*#(?:\\\n|[^\n])*", lambda m: blank(m.group()), code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def calls(code, names):
    """(offset, name) of each call of one of `names`; a member with that name is not a call."""
    pattern = re.compile(r"(?<![\w.])(?<!->)(%s)\s*\(" % "|".join(names))
    for match in pattern.finditer(code):
        yield match.start(), match.group(1)


def functions(code):
    """(name, first line, last line) of each function definition."""
    code = without_directives(code)
    starts = [0] + [m.end() for m in re.finditer(r"\n", code)]
    depth, head_from, head = 0, 0, None
    for match in re.finditer(r"[{};]", code):
        sign, at = match.group(), match.start()
        if sign == "{":
            if depth == 0:
                head = code[head_from:at]
            depth += 1
            continue
        if sign == "}":
            depth = max(0, depth - 1)
            if depth == 0 and head is not None:
                name = function_name(head)
                if name:
                    first = head_from + len(head) - len(head.lstrip())
                    yield name, bisect.bisect_right(starts, first), bisect.bisect_right(starts, at)
                head = None
        if depth == 0:
            head_from = match.end()


def function_name(head):
    """The function's name from the text before a `{` on the outermost level, or None."""
    head = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", head).strip()
    if "=" in head or not head.endswith(")"):
        return None
    match = re.search(r"(\w+)\s*\(", head)
    return match.group(1) if match else None


# ---- rules: each takes all files and yields (path, line, text) ------------------------------------

def listed(files, name):
    """The words of the list `name` in src/meson.build, and its line; no words if there is no such list."""
    for f in files:
        if f.path == "src/meson.build":
            match = re.search(r"(?m)^[ \t]*%s\s*=\s*\[([^\]]*)\]" % name, f.text)
            if match:
                return re.findall(r"'([^']+)'", match.group(1)), line_of(f.text, match.start())
    return [], 1


def rooms_of(files):
    """The rooms, lowest first, as listed in src/meson.build."""
    rooms = listed(files, "rooms")[0]
    return rooms + ["main"] if rooms else []


def room_of_path(path):
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "main"
    if parts[:2] == ["include", "weir"] and len(parts) > 3:
        return parts[2]
    return None


def is_private(path):
    """A header in src/ROOM/ is for its own room and for tests."""
    return path.startswith("src/") and path.endswith(".h")


def includes(f, paths, private):
    """(line, path) of each include in quotes. `paths` holds every file, `private` the paths of the private
    headers by their bare name."""
    for match in re.finditer(r'(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', f.text):
        yield line_of(f.text, match.start()), included_path(f.path, match.group(1), paths, private)


def included_path(path, target, paths, private):
    """The file that `target` means in `path`, in the order of the compiler: next to it, then the roots. A
    header that is not in the tree is judged by its name."""
    if target.startswith("weir/"):
        return os.path.normpath("include/" + target)
    beside = os.path.normpath(os.path.join(os.path.dirname(path), target))
    for candidate in (beside, "src/" + target, "include/weir/" + target):
        if candidate in paths:
            return candidate
    if "/" not in target and target in private:
        own = [p for p in private[target] if room_of_path(p) == room_of_path(path)]
        return (own or private[target])[0]
    return beside if "/" not in target or target.startswith(".") else os.path.normpath("src/" + target)


def bad_include(here, path, rooms, side_by_side):
    """Why a file in the room `here`, or in none, may not include `path`; None if it may."""
    there = room_of_path(path)
    if there == here:
        return None
    if here is not None:
        if there not in rooms:
            return "%s is in no room" % path
        if here in side_by_side and there in side_by_side:
            return "'%s' includes from '%s', but rooms side by side do not do that" % (here, there)
        if rooms.index(there) > rooms.index(here):
            return "'%s' includes from '%s', a room above it" % (here, there)
    return "%s is private to '%s'" % (path, there) if is_private(path) else None


def rule_include(files):
    """A file includes from its own room and public headers of rooms below, never from one at its side."""
    rooms = rooms_of(files)
    if not rooms:
        yield "src/meson.build", 1, "no list of rooms"
    side_by_side, line = listed(files, "side_by_side")
    for room in side_by_side:
        if room not in rooms:
            yield "src/meson.build", line, "'%s' stands side by side with others, but is no room" % room
    paths = {f.path for f in files}
    private = collections.defaultdict(list)
    for path in sorted(p for p in paths if is_private(p)):
        private[os.path.basename(path)].append(path)
    for f in c_files(files, ("src", "include", "bench")):
        here = room_of_path(f.path)
        if here not in rooms and not f.path.startswith("bench/"):
            yield f.path, 1, "in a room '%s' that src/meson.build does not list" % here
            continue
        for line, path in includes(f, paths, private):
            bad = bad_include(here, path, rooms, side_by_side)
            if bad:
                yield f.path, line, bad


def rule_function(files):
    """A function fits on a screen."""
    for f in c_files(files, C_FOLDERS):
        for name, first, last in functions(f.code):
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield f.path, first, "%s() has %d lines, more than %d" % (
                    name, last - first + 1, FUNCTION_LINES_MAX)


def rule_call(files):
    """No unsafe call, and none that bypasses src/sys/sys.c."""
    for f in c_files(files, C_FOLDERS):
        for at, name in calls(f.code, BANNED):
            yield f.path, line_of(f.code, at), "%s() is not used here" % name
        if f.path.startswith("src/"):
            for at, name in calls(f.code, MOVES):
                yield f.path, line_of(f.code, at), "%s() changes where relative names start" % name
        if room_of_path(f.path) in DATA_PLANE_ROOMS and f.path != DATA_PLANE_HOME:
            for at, name in calls(f.code, DATA_PLANE):
                yield f.path, line_of(f.code, at), "%s() belongs in %s" % (name, DATA_PLANE_HOME)


def rule_length(files):
    """A file holds one noun."""
    for f in c_files(files, ("src", "include")):
        lines = f.text.count("\n")
        if lines > FILE_LINES_MAX:
            yield f.path, lines, "%d lines, more than %d: two nouns?" % (lines, FILE_LINES_MAX)


def rule_header(files):
    """A file begins with its licence and a description."""
    for f in files:
        if f.path.endswith(C_NAMES):
            top = re.match(r"/\* SPDX-License-Identifier: MIT\n \*\n \* (\S+) - \S", f.text)
            if not top:
                yield f.path, 1, "does not begin with the SPDX line, an empty line and 'NAME - what it is'"
            elif top.group(1) != os.path.basename(f.path):
                yield f.path, 3, "the header speaks of '%s'" % top.group(1)
        elif f.path.endswith((".py", ".sh")) and f.text.strip():
            lines = [line for line in f.text.splitlines()[:8] if line.strip(" #")]
            if lines[0].startswith("#!"):
                lines.pop(0)
            if not lines or lines.pop(0) != "# SPDX-License-Identifier: MIT":
                yield f.path, 1, "does not begin with the SPDX line"
            elif not lines or not lines[0].startswith(("#", '"""', 'r"""')):
                yield f.path, 2, "does not begin with a description"


def rule_column(files):
    """A line fits on the page."""
    for f in files:
        if f.path.endswith(LINE_NAMES):
            for number, line in enumerate(f.text.splitlines(), 1):
                columns = len(line.expandtabs(TAB))
                if columns > COLUMNS_MAX:
                    yield f.path, number, "%d columns, more than %d" % (columns, COLUMNS_MAX)


# Parts of Markdown that cannot be broken: code, images, links; and what a line may begin with.
UNBREAKABLE = re.compile(r"!?\[[^\]]*\]\([^)]*\)|`[^`]*`")
LINE_MARKER = re.compile(r"\s*(?:#+\s|[-*>]\s|\d+\.\s)?\s*")


def rule_prose(files):
    """Markdown is wrapped, except for tables, code and parts that cannot be broken."""
    for f in files:
        in_code = False
        for number, line in enumerate(f.text.splitlines() if f.path.endswith(".md") else [], 1):
            if line.lstrip().startswith("```"):
                in_code = not in_code
            elif not in_code and not line.lstrip().startswith("|") and len(line) > PROSE_COLUMNS_MAX:
                words = UNBREAKABLE.sub("x", LINE_MARKER.sub("", line, count=1)).split()
                if len(words) > 1:
                    yield f.path, number, "%d columns of prose, more than %d" % (len(line), PROSE_COLUMNS_MAX)


def rule_mark(files):
    """No comment announces work to be done later."""
    pattern = re.compile(r"\b(%s)\b" % "|".join(MARKS))
    for f in files:
        for match in pattern.finditer(f.text):
            yield f.path, line_of(f.text, match.start()), "'%s'" % match.group()


def rule_place(files):
    """No stray file is at the top level."""
    for f in files:
        top = f.path.split("/")[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            yield f.path, 1, "'%s' does not belong at the top level" % top


def rule_option(files):
    """The reference names every option."""
    reference = "".join(f.text for f in files if f.path == "doc/reference.md")
    for f in files:
        if not re.fullmatch(r"include/weir/config/(backend_)?options\.tbl\.h", f.path):
            continue
        for match in re.finditer(r'(?m)^OPTION\("([^"]+)"', f.text):
            if not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(match.group(1)), reference):
                yield f.path, line_of(f.text, match.start()), (
                    "doc/reference.md does not name '%s'" % match.group(1))


def rule_mutant(files):
    """Each text that a mutant replaces occurs once in its source, so that the mutant can be made."""
    texts = {f.path: f.text for f in files}
    for path, listed in (("tests/sim/mutants_reload.py", "RELOAD_MUTANTS"),
                         ("tests/sim/mutants_sticky.py", "STICKY_MUTANTS"),
                         ("tests/sim/mutants_list.py", "MUTANTS")):
        # Those of other files are looked at by themselves.
        text = re.sub(r"(?m)^from mutants_\w+ import (\w+_MUTANTS)$", r"\1 = []", texts.get(path, ""))
        names = {}
        exec(text, names)  # our own list
        for mutant in names.get(listed, []):
            for name, old, _ in mutant["edits"]:
                count = texts.get(name, "").count(old)
                if count != 1:
                    at = max(0, text.find('"%s"' % mutant["what"]))
                    yield path, line_of(text, at), "%s has %d places like %r" % (name, count, old)


RULES = {
    "include": rule_include,
    "function": rule_function,
    "call": rule_call,
    "length": rule_length,
    "header": rule_header,
    "column": rule_column,
    "prose": rule_prose,
    "mark": rule_mark,
    "place": rule_place,
    "option": rule_option,
    "mutant": rule_mutant,
}


# ---- the tree ------------------------------------------------------------------------------------

def c_files(files, folders):
    return [f for f in files if f.path.endswith(C_NAMES) and f.path.split("/")[0] in folders]


def make_file(path, text):
    return File(path, text, code_of(text) if path.endswith(C_NAMES) else "")


def ours(name, top):
    """False for what a build, git or Python creates."""
    return not (name in (".git", "__pycache__", ".pytest_cache") or (top and name.startswith("build")))


def read_tree(root):
    files = []
    for folder, names, leaves in os.walk(root):
        inside = os.path.relpath(folder, root)
        names[:] = sorted(n for n in names if ours(n, inside == "."))
        for leaf in sorted(leaves):
            path = os.path.normpath(os.path.join(inside, leaf))
            full = os.path.join(folder, leaf)
            if leaf.endswith(".pyc") or os.path.islink(full) or not os.path.isfile(full):
                continue
            with open(full, "rb") as stream:
                files.append(make_file(path, stream.read().decode("utf-8", "replace")))
    return files


def findings(files):
    return [Finding(path, line, name, text)
            for name, rule in RULES.items() for path, line, text in rule(files)]


def main(argv):
    here = os.path.dirname(os.path.abspath(__file__))
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(here))
    files = read_tree(root)
    found = findings(files)
    for f in sorted(found):
        print("%s:%d: %s: %s" % (f.path, f.line, f.rule, f.text))
    broken = {f.rule for f in found}
    print("tidy: %d files, %d findings" % (len(files), len(found)))
    print("%d passed, %d failed" % (len(RULES) - len(broken), len(broken)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
