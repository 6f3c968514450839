#!/bin/sh
# SPDX-License-Identifier: MIT
#
# syscalls.sh - system calls per connection and per keep-alive request, for each contender.
#
#   sh bench/syscalls.sh [--contenders A,B,...] [--name NAME]        NAME: also write bench/results/NAME.json

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/bench/lib.sh"

bench_packages haproxy nginx libnginx-mod-stream redis-server strace || exit 3
bench_build || exit 3
exec "$PYTHON" "$root/bench/harness/micro.py" syscalls --build "$root/build-bench" "$@"
