#!/bin/sh
# SPDX-License-Identifier: MIT
#
# arm64.sh - builds for arm64 with every warning an error, and runs unit and model tests under qemu-user.
#
#   sh tests/arm64.sh
#
# Needs root and debootstrap; prints the reason if it cannot run. The cross compiler and Debian's arm64
# packages go into a fresh Debian 13; see in_fresh_debian in tests/service/debian.sh. Programs that fail under
# qemu-user for a known reason are in the table below. They count as skipped. If a program that should always
# fail passes, that is a failure, so that the table stays correct.
# The last line is `N passed, N failed, N skipped`: the build, and test programs.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/service/debian.sh"
cd "$root" || exit 1

# What qemu-user 10 cannot do: the name of a test program, how often it fails, and why.
cannot() {
    cat <<'TABLE'
base_check always qemu-user adds a line of its own to stderr when a program aborts
base_log_ring sometimes qemu-user on x86 lets a load-acquire pass a store-release, as no arm64 does
io_contract_epoll always qemu-user gives 4 bytes of TCP_INFO
net_sock always qemu-user does not pass on SO_MARK, SO_MAX_PACING_RATE, TCP_CONGESTION and others
net_sock_leave always qemu-user does not pass on IP_MINTTL
TABLE
}

# The reason that a skipped program printed.
why_skipped() {
    "$PYTHON" - "$trees/arm64.logs/testlog.json" "$1" <<'PY'
import json, re, sys
for line in open(sys.argv[1]):
    test = json.loads(line)
    if test["name"].split(" / ")[-1] == sys.argv[2]:
        print(re.search("skipped: (.*)", test.get("stdout") or "skipped: no reason").group(1))
PY
}

inside() {
    mkdir -p build/log
    dpkg --add-architecture arm64
    apt_quietly update >build/log/install.log 2>&1
    apt_quietly install --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross meson \
        ninja-build pkgconf python3 qemu-user \
        libev-dev:arm64 libinih-dev:arm64 liburing-dev:arm64 libmicrohttpd-dev:arm64 \
        libc-ares-dev:arm64 libssl-dev:arm64 libcrypt-dev:arm64 libcmocka-dev:arm64 \
        >>build/log/install.log 2>&1 || { tail -n 5 build/log/install.log; return 1; }
    cat >build/arm64.ini <<'CROSS'
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkg-config = 'pkg-config'
exe_wrapper = 'qemu-aarch64'
[properties]
pkg_config_libdir = '/usr/lib/aarch64-linux-gnu/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
CROSS
    echo "== the build, where warnings are errors"
    meson setup build-arm64 --cross-file build/arm64.ini -Dwerror=true >build/log/build.log 2>&1 &&
        ninja -C build-arm64 >>build/log/build.log 2>&1 || { tail -n 20 build/log/build.log; return 1; }
    echo "== ok"
    meson test -C build-arm64 --no-rebuild --suite unit --suite model --timeout-multiplier 0.5 \
        >build/log/arm64.txt 2>&1
    cp build-arm64/meson-logs/testlog.* build/log
    grep -E '^ *[0-9]+/[0-9]+ ' build/log/arm64.txt
}

if [ "${1:-}" = --inside ]; then
    inside
    exit
fi
[ $# = 0 ] || { echo "usage: sh tests/arm64.sh" >&2; exit 2; }
[ "$(id -u)" = 0 ] || cannot_be "not root"
command -v debootstrap >/dev/null || cannot_be "no debootstrap"

start=$(date +%s)
in_fresh_debian 13 arm64 tests/arm64.sh --inside
code=$?
[ -s "$trees/arm64.out" ] || exit $code
passed=0 failed=0 skipped=0
if grep -q '^== ok$' "$trees/arm64.out"; then
    echo "ok      the build for arm64, where warnings are errors"
    passed=1
else
    cat "$trees/arm64.out"
    echo "FAILED  the build for arm64"
    failed=1
fi
# NUMBER/ALL PROJECT:SUITE / NAME RESULT TIME
grep -E '^ *[0-9]+/[0-9]+ ' "$trees/arm64.out" | sed 's/^[^/]*.[0-9]* //' >"$trees/arm64.results"
while read -r _ _ name result _; do
    why=$(cannot | sed -n "s/^$name //p")
    case "$result $why" in
        'OK ' | 'OK sometimes '*) passed=$((passed + 1)) ;;
        'OK always '*) echo "FAILED  $name passes: take it out of the table"; failed=$((failed + 1)) ;;
        SKIP*) echo "skipped: $name: $(why_skipped "$name")"; skipped=$((skipped + 1)) ;;
        *) if [ -n "$why" ]; then
            echo "skipped: $name: ${why#* }"
            skipped=$((skipped + 1))
        else
            echo "FAILED  $name: $result, see $trees/arm64.logs/testlog.txt"
            failed=$((failed + 1))
        fi ;;
    esac
done <"$trees/arm64.results"
echo "arm64: $(($(date +%s) - start)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
