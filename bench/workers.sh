#!/bin/sh
# SPDX-License-Identifier: MIT
#
# workers.sh - two workers against one, and how eight long flows spread over two workers.
#
#   sh bench/workers.sh [--rounds N] [--seconds S] [--cap PERCENT] [--name NAME]
#
# Each worker may use 20 % of its core. NAME: also write bench/results/NAME.json

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages wrk redis-server || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/workers.py" --build "$root/build-bench" "$@"
