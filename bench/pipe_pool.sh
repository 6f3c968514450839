#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pipe_pool.sh - a get and a put of the pipe pool, alone and all threads at once, against pipe2 + close.
#
#   sh bench/pipe_pool.sh [--name NAME] [ROUNDS]     one line for people, one of JSON
#
# NAME: also write the JSON to bench/results/NAME.json. Exits with 1 if the bar is missed.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

name=
if [ "${1:-}" = --name ] && [ -n "${2:-}" ]; then
    name=$2
    shift 2
fi
bench_packages || exit 3
bench_build || exit 3
said=$("$root/build-bench/bench/bench_pipe_pool" "$@")
code=$?
printf '%s\n' "$said"
if [ -n "$name" ]; then
    printf '%s\n' "$said" | tail -n 1 >"$root/bench/results/$name.json" || exit 3
fi
exit "$code"
