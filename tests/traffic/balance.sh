#!/bin/sh
# SPDX-License-Identifier: MIT
#
# balance.sh - measures balancing, queues and health checks with real programs, against their bars.
#
#   sh tests/traffic/balance.sh [CASE...]
#
# Prints one line per case, with its figure and its bar. Needs redis and a built build/src/weir (or
# WEIR_BIN): tests/run.sh installs and builds both. The kernel chooses every port; every process that
# is started here is ended here. Files are in build/balance.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"

for program in redis-server redis-benchmark; do
    command -v "$program" >/dev/null 2>&1 && continue
    echo "$program is missing. sh tests/run.sh installs it."
    echo "0 passed, 1 failed"
    exit 1
done

exec "$PYTHON" "$root/tests/traffic/balance.py" --binary "${WEIR_BIN:-$root/build/src/weir}" \
    --folder "$root/build/balance" "$@"
