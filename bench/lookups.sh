#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lookups.sh - a lookup in a list of 100,000 networks, names or clients: weir's beside HAProxy's.
#
#   sh bench/lookups.sh [--entries N] [--rounds N] [--name NAME]
#
# Prints a table of nanoseconds; NAME: also write bench/results/NAME.json. Takes less than two minutes.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages haproxy || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/lookups.py" --build "$root/build-bench" "$@"
