#!/bin/sh
# SPDX-License-Identifier: MIT
#
# open.sh - latency at a fixed arrival rate: each contender at 50 % and 80 % of its own capacity.
#
#   sh bench/open.sh [--rounds N] [--seconds S] [--only WORKLOAD,...] [--contenders A,B,...] [--name NAME]
#   sh bench/open.sh --verdict NAME    is weir best, even or worse in each cell of an earlier run?
#   sh bench/open.sh --doc NAME        puts the table of an earlier run into doc/performance.md
#   sh bench/open.sh --help
#
# Prints beforehand how long it takes: at most 20 minutes, unless --minutes says otherwise. Writes
# bench/results/NAME.json, .txt and .svg. Needs root, to make the proxy's core slow. Sets
# net.ipv4.tcp_congestion_control=cubic while it runs. Exits with 1 if a cell is not a result.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

case ${1:-} in
--verdict | --doc)
    exec "$PYTHON" "$root/bench/harness/open_report.py" "$@"
    ;;
esac
go=golang-go
if command -v go >/dev/null 2>&1 || [ -x /usr/local/go/bin/go ]; then
    go=
fi
# shellcheck disable=SC2086  # a word or none
bench_packages haproxy nginx libnginx-mod-stream $go || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/open_run.py" --build "$root/build-bench" "$@"
