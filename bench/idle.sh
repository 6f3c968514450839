#!/bin/sh
# SPDX-License-Identifier: MIT
#
# idle.sh - bytes of user memory per idle connection, for each contender.
#
#   sh bench/idle.sh [--contenders A,B,...] [--name NAME]        NAME: also write bench/results/NAME.json

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages haproxy nginx libnginx-mod-stream redis-server || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/micro.py" idle --build "$root/build-bench" "$@"
