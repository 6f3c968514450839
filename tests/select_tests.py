#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""select_tests.py targets|names FOLDER [--threaded BUILD] SUITE... - tests of a build directory.

Prints what ninja must build for the tests of these suites, or what `meson test` calls them. With --threaded,
only programs that can have a second thread: those that call pthread_create() in BUILD, another directory of
the same sources, without a sanitizer, which would bring calls of its own.
"""

import argparse
import json
import os
import subprocess


def tests_of(folder):
    done = subprocess.run(["meson", "introspect", folder, "--tests"], stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout)


def programs_of(test, folder):
    """Relative to the build directory; a test may be a script, with a program among its arguments."""
    folder = os.path.realpath(folder) + "/"
    return [word.removeprefix(folder) for word in test["cmd"] if word.startswith((folder, "tests/"))]


def has_threads(path):
    done = subprocess.run(["nm", "--undefined-only", path], capture_output=True, text=True, check=True)
    return "pthread_create" in done.stdout


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=("targets", "names"))
    p.add_argument("folder")
    p.add_argument("--threaded", metavar="BUILD")
    p.add_argument("suites", nargs="+")
    args = p.parse_args()
    suites = {f"weir:{suite}" for suite in args.suites}
    chosen = [test for test in tests_of(args.folder) if suites & set(test["suite"])]
    if args.threaded:
        programs = {program for test in chosen for program in programs_of(test, args.folder)}
        threaded = {program for program in programs if has_threads(os.path.join(args.threaded, program))}
        chosen = [test for test in chosen if threaded & set(programs_of(test, args.folder))]
    if args.what == "names":
        print(*sorted(test["name"] for test in chosen))
    else:
        print(*sorted({program for test in chosen for program in programs_of(test, args.folder)}))


if __name__ == "__main__":
    main()
