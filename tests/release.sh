#!/bin/sh
# SPDX-License-Identifier: MIT
#
# release.sh - a fresh Debian of a given release, and in it what README tells a user to type.
#
#   sh tests/release.sh 12|13            conf/demo.sh and tests/run.sh
#   sh tests/release.sh 12|13 --short    conf/demo.sh and tests/run.sh --unit; on 13 also -Werror with its
#                                        gcc and clang
#
# Needs root and debootstrap; says why when it cannot be run. The tree is made once, in build/trees. Each
# run starts from it: what is installed or built goes to an overlay that is removed at the end. It shares
# this machine's network and kernel. Downloaded packages are kept for the next run, and the logs of the
# tests lie in build/trees/debian12.logs or debian13.logs.
# The last line is `N passed, N failed` or `N passed, N failed, N skipped`.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/service/debian.sh"
cd "$root" || exit 1

release=${1:-}
if ! release_name "$release" >/dev/null || [ $# -gt 2 ] || [ "${2:---short}" != --short ]; then
    echo "usage: sh tests/release.sh 12|13 [--short]" >&2
    exit 2
fi
[ "$(id -u)" = 0 ] || cannot_be "not root"
command -v debootstrap >/dev/null || cannot_be "no debootstrap"
grep -q 'nodev.*overlay$' /proc/filesystems || cannot_be "no overlay file system"

start=$(date +%s)
debian_tree "debian$release" "$release" || cannot_be "Debian $release could not be fetched"
echo "a tree of Debian $release: $(($(date +%s) - start)) s"

run=$trees/debian$release.run
packages=$trees/debian$release.packages
rm -rf "$run"
mkdir -p "$run/upper" "$run/work" "$run/tree" "$packages/partial"
trap 'rm -rf "$run"' EXIT
trap 'exit 130' INT TERM HUP

# The checkout as it stands, without what was built in it.
mkdir -p "$run/upper/weir"
tar -c --exclude=./.git --exclude='./build*' --exclude=__pycache__ . | tar -x -C "$run/upper/weir"
cp -L /etc/resolv.conf "$run/upper/resolv.conf" 2>/dev/null || : >"$run/upper/resolv.conf"

cat >"$run/upper/both.sh" <<'INSIDE'
cp /resolv.conf /etc/resolv.conf
cd /weir || exit 1
failed=0
begin() { echo; echo "== $*"; }
say() { echo "== ended with $1"; [ "$1" = 0 ] || failed=$((failed + 1)); }
begin "sh conf/demo.sh"
sh conf/demo.sh </dev/null
say $?
if [ "$1" = --short ]; then
    meson configure build -Dwerror=true || failed=$((failed + 1))
    begin "sh tests/run.sh --unit, every warning is an error"
    sh tests/run.sh --unit </dev/null
    say $?
    begin "every warning of clang is an error"
    . tests/lib.sh
    root=/weir
    apt_quietly install --no-install-recommends clang >/tmp/clang.log 2>&1 || tail -n 5 /tmp/clang.log
    CC=clang build_setup build-clang -Dwerror=true >/tmp/build.log 2>&1 &&
        ninja -C build-clang >>/tmp/build.log 2>&1 || { code=$?; tail -n 20 /tmp/build.log; (exit $code); }
    say $?
    clang --version | head -n 1
else
    begin "sh tests/run.sh"
    sh tests/run.sh </dev/null
    say $?
fi
exit $failed
INSIDE

# In namespaces of its own: nothing stays mounted, and no process stays behind.
start=$(date +%s)
log=$trees/debian$release.out
# shellcheck disable=SC2016  # the inner shell expands it
unshare --mount --propagation private --pid --fork --kill-child sh -c '
    run=$1 lower=$2 packages=$3 mode=$4
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$run/upper,workdir=$run/work" "$run/tree" &&
        mount -t proc proc "$run/tree/proc" && mount --rbind /sys "$run/tree/sys" &&
        mount --rbind /dev "$run/tree/dev" && mount -t tmpfs tmpfs "$run/tree/run" &&
        mount --bind "$packages" "$run/tree/var/cache/apt/archives" || exit 77
    exec chroot "$run/tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        sh /both.sh $mode' sh "$run" "$trees/debian$release" "$packages" "${2:-}" >"$log" 2>&1 </dev/null
code=$?
[ "$code" != 77 ] || { tail -n 5 "$log"; cannot_be "the tree cannot be mounted"; }
rm -rf "$trees/debian$release.logs"
cp -R "$run/upper/weir/build/log" "$trees/debian$release.logs" 2>/dev/null
cat "$log"
echo
echo "Debian $release: $(($(date +%s) - start)) s"
# The demo and each compiler count as one test, the suite as its own tests.
counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 | tr -cs '0-9\n' ' ')
ended=$(grep -c '^== ended with 0$' "$log")
# shellcheck disable=SC2086  # three numbers
set -- ${counts:-0 1 0}
[ "$code" = 0 ] || [ "$2" -gt 0 ] || set -- "$1" "$code" "${3:-0}"
echo "$(($1 + ended - ($2 == 0))) passed, $2 failed, ${3:-0} skipped"
[ "$code" = 0 ]
