#!/bin/sh
# SPDX-License-Identifier: MIT
#
# demo.sh - shows weir at work within a minute: real sockets, real load, and changes while it runs.
#
#   sh conf/demo.sh [SECONDS] [FLAG...]
#
# Installs missing packages (and names them), builds into build/, then runs `weir demo` with the flags.
# Exit code 0 means that every byte arrived, no client saw an error, a wrong file was refused, a server was
# added at run time, and weir returned from a trial that nobody confirmed. Safe to repeat; needs no terminal.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"

logs=$root/build/log
log=$logs/demo-build.log
cd "$root" || exit 1
mkdir -p "$logs" || exit 1

# step N NAME TEXT
step() {
    printf '[%s/3] %-10s %s\n' "$1" "$2" "$3"
}

packages="gcc libc6-dev meson ninja-build pkg-config libev-dev libinih-dev liburing-dev libmicrohttpd-dev
    libc-ares-dev libssl-dev libcrypt-dev"
# shellcheck disable=SC2086  # a word list
if ! command -v dpkg-query >/dev/null 2>&1; then
    step 1 packages "not looked up"
    need_packages "$logs/demo-install.log" $packages
else
    missing=$(missing_packages $packages)
    step 1 packages "${missing:+missing:}${missing:-all installed}"
    need_packages "$logs/demo-install.log" $packages || exit 3
fi

build() {
    if [ ! -f build/build.ninja ] || ! build_is_here build; then
        build_setup build -Dtests=false -Dbench=false -Dwerror="${WEIR_WERROR:-false}" || return 1
    fi
    ninja -C build src/weir
}

step 2 build "build/src/weir"
if ! build >"$log" 2>&1; then
    tail -n 20 "$log"
    echo "The build failed; full output: $log"
    exit 1
fi

case ${1:-} in
    '' | *[!0-9]*) ;;
    *)
        seconds=$1
        shift
        set -- --seconds "$seconds" "$@"
        ;;
esac
step 3 demo "weir demo${*:+ $*}"
echo
exec build/src/weir demo "$@"
