#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - real programs through weir: curl, wrk, iperf3, redis-benchmark, rsync.
#
#   sh tests/traffic/run.sh [--size=MIB] [SECONDS [WORKERS...]]
#
# Each program runs for SECONDS (default 10), with each number of WORKERS (default 1 and 4); files have
# MIB (default 1024) MiB. Needs the programs and a built build/src/weir (or WEIR_BIN): tests/run.sh
# installs and builds both. The kernel chooses every port; every process that is started here is
# ended here; no system setting is changed. Files are in build/traffic.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"

missing=
for program in curl wrk iperf3 redis-server redis-benchmark rsync; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $program"
done
if [ -n "$missing" ]; then
    echo "These programs are missing:$missing. sh tests/run.sh installs them."
    echo "0 passed, 1 failed"
    exit 1
fi

exec "$PYTHON" "$root/tests/traffic/traffic.py" --binary "${WEIR_BIN:-$root/build/src/weir}" \
    --folder "$root/build/traffic" "$@"
