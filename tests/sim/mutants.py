#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutants.py - breaks rules of the splice contract on purpose; the simulator must find each break.

Each mutant is one or more exact replacements in a copy of the source tree; the copy is built (the
simulator alone) and run with seeds until one fails. A mutant that does not apply, does not build or
survives fails the run. The first means that the source has changed and the mutant must be adapted.
The unchanged source must pass with each seed up to the last one that found a mutant. A mutant with a
"unit" must be found by that unit test of the room "base" instead. Works in a temporary directory.

  mutants.py [--seeds N] [--only WORD] [--source DIR] [--cc gcc] [--jobs N] [--keep]
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from mutants_list import LEFT_OUT, MUTANTS

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", '-DWEIR_VERSION="mutant"', "-O1", "-w", "-MMD"]
ROOMS = ["base", "sys", "net", "io", "balance", "entry", "account", "engine"]
# Of the room "config", which needs libraries otherwise: what copies and compares settings.
PARTS = ["config/arena.c", "config/bind_range.c", "config/copy.c", "config/names.c", "config/same.c",
         "config/server_check.c", "config/values.c"]
# Of the room "reload", the same as tests/sim/meson.build has.
PARTS += ["reload/" + name for name in (
    "apply.c", "apply_backends.c", "apply_entries.c", "hash_index.c", "plan.c", "plan_backends.c",
    "plan_binds.c", "plan_frontends.c", "plan_servers.c")]
# Compiled as tests/sim/meson.build does it, see points.h.
POINTS = ["balance", "entry", "engine", "reload"]
COPIES = ["src/config/arena.c", "src/config/copy.c", "src/net/source_rates.c"]
DRIVERS = ["epoll", "fake", "io_uring"]
# Of the seeds with one worker, as many run with several.
CROWD_SHARE = 5
ALWAYS = {"R1", "R2", "R3", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12"}


class Broken(Exception):
    """A mutant that proves nothing about the simulator."""


def sources(tree):
    out = [os.path.join(tree, "src", name) for name in PARTS]
    for room in ROOMS:
        folder = os.path.join(tree, "src", room)
        out += [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".c")]
    for name in ("sys/sys.c", "sys/ring.c", "base/clock.c", "io/uring_none.c", "base/backtrace_none.c",
                 "base/password_crypt.c", "net/tls_trust.c"):
        out.remove(os.path.join(tree, "src", name))
    folder = os.path.join(tree, "tests", "sim")
    out += [os.path.join(folder, f) for f in sorted(os.listdir(folder))
            if f.endswith(".c") and not f.startswith(("test_", "contract_"))]
    return out


def compile_one(cc, tree, source, objects):
    obj = os.path.join(objects, os.path.relpath(source, tree).replace("/", "_") + ".o")
    folders = ["-I" + os.path.join(tree, name) for name in ("include", "src")]
    name = os.path.relpath(source, tree)
    if name.split(os.sep)[1] in POINTS or name in COPIES:
        folders += ["-include", os.path.join(tree, "tests", "sim", "points.h")]
    subprocess.run([cc, *FLAGS, *folders, "-c", source, "-o", obj], check=True, capture_output=True,
                   text=True)
    return obj


def link(cc, objects, exe, *libraries):
    subprocess.run([cc, *objects, "-lpthread", *libraries, "-o", exe], check=True, capture_output=True,
                   text=True)


def copy_tree(source, tree, copy=shutil.copy2):
    for part in ("src", "include", os.path.join("tests", "sim"), os.path.join("tests", "unit", "base")):
        shutil.copytree(os.path.join(source, part), os.path.join(tree, part), copy_function=copy)


def apply(tree, edits):
    """Makes each replacement in exactly one place; returns the changed files."""
    touched = set()
    for name, old, new in edits:
        path = os.path.join(tree, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if text.count(old) != 1:
            raise Broken(f"{name}: {text.count(old)} places look like {old.strip().splitlines()[0]!r}")
        os.unlink(path)  # a link to the unchanged file
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        touched.add(path)
    return touched


def files_of(obj):
    """The files that the object was compiled from."""
    with open(obj[:-2] + ".d", encoding="utf-8") as f:
        return {os.path.normpath(word) for word in f.read().split()}


def run_seeds(exe, driver, seeds, crowd):
    """(number of seeds until one failed, its message), or (None, "")."""
    command = [exe, "--driver", driver, "--seeds", str(seeds), "--start", "1", "--no-cover"]
    if crowd:
        command += ["--crowd"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return None, ""
    found = re.search(r"^seed (\d+): (.*)$", done.stderr, re.M)
    checked = re.search(r"check failed: .*", done.stderr)
    if not found:
        raise Broken("the simulator ended without naming a seed: " + done.stderr.strip()[-200:])
    return int(found.group(1)), checked.group(0) if checked else found.group(2)


def run_unit(exe):
    """What failed first, or None."""
    done = subprocess.run([exe], capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return None
    found = re.search(r"workers: .*|check failed: .*|error: .*", done.stderr + done.stdout)
    return found.group(0) if found else f"ended with {done.returncode}"


class Base:
    """The unchanged source, built once; mutants rebuild the files that read what they change."""

    def __init__(self, args, tmp):
        self.args = args
        self.tmp = tmp
        self.tree = os.path.join(tmp, "base")
        self.objects = os.path.join(tmp, "objects")
        copy_tree(args.source, self.tree)
        os.mkdir(self.objects)
        self.reads = {}
        self.built = self.compile(sources(self.tree))
        self.exe = os.path.join(tmp, "sim")
        link(args.cc, self.built.values(), self.exe)
        # (driver, crowd): the last seed that found a mutant
        self.lock = threading.Lock()
        self.last = {(driver, crowd): 1 for driver in DRIVERS for crowd in (False, True)}

    def compile(self, files):
        """{source: its object}"""
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            built = dict(zip(files, pool.map(
                lambda s: compile_one(self.args.cc, self.tree, s, self.objects), files)))
        self.reads |= {obj: files_of(obj) for obj in built.values()}
        return built

    def build_units(self, names):
        """Builds tests/unit/base/test_NAME.c of the unchanged source, which must pass."""
        files = [s for s in self.built if os.path.basename(os.path.dirname(s)) == "base"]
        # Of the kernel's model, nothing: these two are the real ones.
        self.unit_built = {s: self.built[s] for s in files} | self.compile(
            [os.path.join(self.tree, "src", name) for name in ("base/clock.c", "sys/sys.c")])
        for name in names:
            self.unit_built |= self.compile([self.unit_source(name)])
            if self.unit(name, []) is not None:
                return f"the unchanged source fails test_{name}"
        return None

    def unit_source(self, name):
        return os.path.join(self.tree, "tests", "unit", "base", f"test_{name}.c")

    def mutate(self, tree, edits, built):
        """The objects of `built`, with those compiled again that read what the edits change."""
        copy_tree(self.tree, tree, os.link)
        touched = apply(tree, edits)
        changed = {os.path.join(self.tree, os.path.relpath(path, tree)) for path in touched}
        objects = os.path.join(tree, "objects")
        os.mkdir(objects)

        def again(source):
            mine = os.path.join(tree, os.path.relpath(source, self.tree))
            return compile_one(self.args.cc, tree, mine, objects)
        return [again(source) if self.reads[obj] & changed else obj for source, obj in built.items()]

    def unit(self, name, edits):
        """Builds and runs that unit test; what failed first, or None."""
        others = {self.unit_source(m["unit"]) for m in MUTANTS if "unit" in m} - {self.unit_source(name)}
        built = {s: obj for s, obj in self.unit_built.items() if s not in others}
        with tempfile.TemporaryDirectory(dir=self.tmp) as tmp:
            exe = os.path.join(tmp, "unit")
            link(self.args.cc, self.mutate(os.path.join(tmp, "tree"), edits, built), exe, "-lcmocka")
            return run_unit(exe)

    def judge_unit(self, name, edits):
        why = self.unit(name, edits)
        if why is None:
            return False, f"SURVIVED  test_{name}"
        return True, f"found     after test_{name}: {why[:100]}"

    def judge_seeds(self, mutant):
        crowd = mutant.get("crowd", False)
        seeds = self.args.seeds // (CROWD_SHARE if crowd else 1)
        with tempfile.TemporaryDirectory(dir=self.tmp) as tmp:
            exe = os.path.join(tmp, "sim")
            link(self.args.cc, self.mutate(os.path.join(tmp, "tree"), mutant["edits"], self.built), exe)
            for driver in mutant.get("drivers", DRIVERS):
                seed, why = run_seeds(exe, driver, seeds, crowd)
                if seed is not None:
                    with self.lock:
                        self.last[driver, crowd] = max(self.last[driver, crowd], seed)
                    return True, f"found     after {seed:6} seeds ({driver}): {why[:100]}"
        return False, f"SURVIVED  {seeds} seeds of each driver"

    def judge(self, mutant):
        """(True if found, the text to print)."""
        try:
            if "unit" in mutant:
                return self.judge_unit(mutant["unit"], mutant["edits"])
            return self.judge_seeds(mutant)
        except Broken as e:
            return False, f"BROKEN    {e}"
        except subprocess.CalledProcessError as e:
            return False, "BROKEN    does not build: " + e.stderr.strip()[:300]

    def judge_unchanged(self, world):
        """What is wrong with the unchanged source, or None."""
        driver, crowd = world
        seed, why = run_seeds(self.exe, driver, self.last[world], crowd)
        return f"the unchanged source fails at seed {seed} ({driver}): {why}" if seed is not None else None


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--seeds", type=int, default=100000)
    p.add_argument("--only", default="")
    p.add_argument("--source", default=os.path.dirname(os.path.dirname(HERE)))
    p.add_argument("--cc", default="gcc")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", action="store_true")
    return p.parse_args()


def main():
    args = parse()
    tmp = tempfile.mkdtemp(prefix="weir-mutants-")
    failed = False
    try:
        base = Base(args, tmp)
        chosen = [m for m in MUTANTS if args.only in " ".join(
            [m["rule"], m["what"], "crowd" if m.get("crowd") else ""])]
        wrong = base.build_units({m["unit"] for m in chosen if "unit" in m})
        if wrong:
            print(wrong)
            return 1
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(base.judge, chosen))
            wrong = [text for text in pool.map(base.judge_unchanged, base.last) if text]
        if wrong:
            print("\n".join(wrong))
            return 1
        found_rules = set()
        for mutant, (found, text) in zip(chosen, results):
            print(f"{mutant['rule']:4} {mutant['what'][:64]:64} {text}")
            failed |= not found
            if found:
                found_rules.add(mutant["rule"])
        for rule, reason in LEFT_OUT.items():
            print(f"{rule:4} left out: {reason}")
        if not args.only and not ALWAYS <= found_rules:
            print("rules of which no mutant was found:", ", ".join(sorted(ALWAYS - found_rules)))
            failed = True
        print(f"{sum(f for f, _ in results)} of {len(chosen)} mutants found")
    finally:
        if not args.keep:
            shutil.rmtree(tmp)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
