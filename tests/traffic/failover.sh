#!/bin/sh
# SPDX-License-Identifier: MIT
#
# failover.sh - measures how soon clients reach a new Redis master or PostgreSQL primary, against the bar.
#
#   sh tests/traffic/failover.sh [CASE...]
#
# Prints one line per case, with its figure. Needs redis and postgresql, and a built build/src/weir (or
# WEIR_BIN): tests/run.sh --full installs and builds them. The kernel chooses every port; every process that
# is started here is ended here. Files are in build/failover.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"

for program in redis-server redis-cli "$(find /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)"; do
    command -v "$program" >/dev/null 2>&1 && continue
    echo "${program:-postgresql} is missing. sh tests/run.sh --full installs it."
    echo "0 passed, 1 failed"
    exit 1
done

exec "$PYTHON" "$root/tests/traffic/failover.py" --binary "${WEIR_BIN:-$root/build/src/weir}" \
    --folder "$root/build/failover" "$@"
