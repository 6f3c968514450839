#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compiler_warnings.py BUILD - has the compiler of that build directory look for warnings, and make nothing.

Much cheaper than a build. Warnings that depend on the optimization do not come. Prints what the compiler
says, and how many files it read; exit code 1 if it refused one.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def read_one(entry):
    words, command = shlex.split(entry["command"]), []
    while words:
        word = words.pop(0)
        if word in ("-o", "-MF", "-MQ"):
            words.pop(0)
        elif word != "-MD":
            command.append(word)
    command.append("-fsyntax-only")
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode == 0


def main():
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as stream:
        # Once is enough for a file that goes into several programs.
        entries = list({entry["file"]: entry for entry in json.load(stream)
                        if entry["file"].endswith(".c")}.values())
    made = [entry["file"] for entry in entries
            if not os.path.exists(os.path.join(entry["directory"], entry["file"]))]
    if made:
        subprocess.run(["ninja", "-C", sys.argv[1], *set(made)], stdout=subprocess.DEVNULL, check=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(read_one, entries))
    print("%d files read, %d refused" % (len(good), good.count(False)))
    return 0 if all(good) and good else 1


if __name__ == "__main__":
    sys.exit(main())
