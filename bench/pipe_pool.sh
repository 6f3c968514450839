#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pipe_pool.sh - a get and a put of the pipe pool, alone and all threads at once, against pipe2 + close.
#
#   sh bench/pipe_pool.sh [ROUNDS]        one line for people, one of JSON; exits 1 when the bar is missed

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages || exit 3
bench_build || exit 3
exec "$root/build-bench/bench/bench_pipe_pool" "$@"
