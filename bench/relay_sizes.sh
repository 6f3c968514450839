#!/bin/sh
# SPDX-License-Identifier: MIT
#
# relay_sizes.sh - compares splice = off, on and auto, with messages of 1 KiB to 1 MiB, to TCP and Unix.
#
#   sh bench/relay_sizes.sh [--rounds N] [--seconds S] [--name NAME]
#
# NAME: also write bench/results/NAME.json

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages redis-server || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/micro.py" relay_sizes --build "$root/build-bench" "$@"
