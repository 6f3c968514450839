#!/bin/sh
# SPDX-License-Identifier: MIT
#
# alloc.sh - heap calls of each contender for 1000 connections and for 1000 requests, after a warm-up.
#
#   sh bench/alloc.sh [--contenders A,B,...] [--name NAME]        NAME: also write bench/results/NAME.json

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages haproxy nginx libnginx-mod-stream redis-server || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/micro.py" alloc --build "$root/build-bench" "$@"
