#!/bin/sh
# SPDX-License-Identifier: MIT
#
# release.sh - runs the commands from README in a fresh Debian of a given release.
#
#   sh tests/release.sh 12|13            conf/demo.sh, tests/run.sh, and the path from Debian's HAProxy
#   sh tests/release.sh 12|13 --short    with tests/run.sh --unit, and with warnings of its gcc and its clang
#                                        as errors
#
# Needs root and debootstrap; prints the reason if it cannot run. The tree is created once, in build/trees,
# and each run starts from it; see in_fresh_debian in tests/service/debian.sh.
# The last line is `N passed, N failed, N skipped`: the tests of the suite, plus one for each other step.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/service/debian.sh"
cd "$root" || exit 1

# ---- inside ----------------------------------------------------------------------------------

# step WHAT COMMAND...
step() {
    echo
    echo "== $1"
    shift
    if "$@" </dev/null; then
        echo "== ok"
    else
        echo "== FAILED"
        broken=yes
    fi
}

clang_warnings() {
    apt_quietly install --no-install-recommends clang >build/log/clang-install.log 2>&1 || return 1
    clang --version | head -n 1
    CC=clang build_setup build-clang -Dwerror=true >build/log/clang.log 2>&1 &&
        "$PYTHON" tests/compiler_warnings.py build-clang >>build/log/clang.log 2>&1 && return 0
    tail -n 20 build/log/clang.log
    return 1
}

newcomer() {
    apt_quietly install --no-install-recommends haproxy >build/log/haproxy-install.log 2>&1 || return 1
    PATH=$root/build/src:$PATH "$PYTHON" tests/service/newcomer.py
}

inside() {
    broken=
    [ "$1" != --short ] || export WEIR_WERROR=true
    step "sh conf/demo.sh" sh conf/demo.sh
    if [ "$1" = --short ]; then
        step "sh tests/run.sh --unit, with warnings of gcc as errors" sh tests/run.sh --unit
        step "warnings of clang are errors" clang_warnings
    else
        step "sh tests/run.sh" sh tests/run.sh
    fi
    step "README's path from HAProxy" newcomer
    [ -z "$broken" ]
    exit
}

# ---- outside ---------------------------------------------------------------------------------

[ "${1:-}" != --inside ] || inside "${2:-}"
release=${1:-}
if ! release_name "$release" >/dev/null || [ $# -gt 2 ] || [ "${2:---short}" != --short ]; then
    echo "usage: sh tests/release.sh 12|13 [--short]" >&2
    exit 2
fi
[ "$(id -u)" = 0 ] || cannot_be "not root"
command -v debootstrap >/dev/null || cannot_be "no debootstrap"

start=$(date +%s)
in_fresh_debian "$release" "release$release" tests/release.sh --inside "${2:-}"
code=$?
log=$trees/release$release.out
[ -s "$log" ] || exit $code
cat "$log"
echo
echo "Debian $release: $(($(date +%s) - start)) s"
counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 | tr -cs '0-9\n' ' ')
# The step of the suite provides these counts, unless it did not finish.
steps=$(grep -c '^== ok$' "$log")
failed=$(grep -c '^== FAILED$' "$log")
# shellcheck disable=SC2086  # three numbers
set -- ${counts:-0 0 0}
if [ "${2:-0}" -gt 0 ]; then
    failed=$((failed - 1 + $2))
elif [ -n "$counts" ]; then
    steps=$((steps - 1))
fi
[ "$code" = 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$(($1 + steps)) passed, $failed failed, ${3:-0} skipped"
[ "$failed" = 0 ]
