#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - compares weir with HAProxy, nginx and a bare relay on this machine; see doc/performance.md.
#
#   sh bench/run.sh [--quick] [--rounds N] [--only WORKLOAD,...] [--contenders A,B,...] [--name NAME]
#   sh bench/run.sh --bars NAME...          compares earlier runs with the bars
#   sh bench/run.sh --chart NAME [...]      redraws a run; -h explains the choices
#   sh bench/run.sh --list | --help
#
# Installs what is missing, builds a release build into build-bench/, writes bench/results/NAME.json
# (every sample), .txt and .svg. Sets net.ipv4.tcp_congestion_control=cubic while it runs. Exits with 1
# if a cell had a socket error or a wrong byte count, or if a bar is not met.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

case ${1:-} in
--bars | --chart)
    what=${1#--}
    shift
    exec "$PYTHON" "$root/bench/harness/$what.py" "$@"
    ;;
esac
bench_packages haproxy nginx libnginx-mod-stream wrk redis-server redis-tools || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/main.py" --build "$root/build-bench" "$@"
