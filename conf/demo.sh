#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh - sluice at work within a minute: real sockets, real load, a server that leaves and returns.
#
#   sh conf/demo.sh [SECONDS]
#
# Installs what is missing (and says what), builds into build/, shows. Exit code 0 means that every byte
# arrived and no client saw an error. Safe to repeat; needs no terminal.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"

log=$root/build/log/demo-build.log
need_packages "$root/build/log/demo-install.log" gcc libc6-dev meson ninja-build pkg-config libev-dev \
    libinih-dev liburing-dev python3 || exit 1

mkdir -p "$root/build/log"
cd "$root" || exit 1
if [ ! -f build/build.ninja ] || ! build_is_here build; then
    echo "building ..."
    build_setup build -Dtests=false -Dbench=false >"$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
fi
ninja -C build src/sluice >"$log" 2>&1 || { tail -n 20 "$log"; echo "The build failed: $log"; exit 1; }

exec "$PYTHON" "$root/conf/demo.py" "$root/build/src/sluice" "$@"
