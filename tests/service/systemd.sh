#!/bin/sh
# SPDX-License-Identifier: MIT
#
# systemd.sh - boots a Debian with weir installed and tests the unit with a real systemd, as PID 1.
#
#   sh tests/service/systemd.sh
#   sh tests/service/systemd.sh --prepare    only fetches that Debian
#
# Installs WEIR_BUILD if that is a build for /usr; otherwise its own, build/package.
# Needs root, systemd-nspawn and debootstrap; prints the reason if it cannot run. The container has only
# its own loopback, and its changes are discarded when it ends. inside.sh runs in it.
# The last line is `N passed, N failed` or `N passed, N failed, N skipped`.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/service/debian.sh"
cd "$root" || exit 1

[ "$(id -u)" = 0 ] || cannot_be "not root"
for program in systemd-nspawn debootstrap meson unshare; do
    command -v "$program" >/dev/null || cannot_be "no $program"
done
grep -q 'nodev.*overlay$' /proc/filesystems || cannot_be "no overlay file system"

start=$(date +%s)
release=$(own_release)
case $release in
    12) libev=libev4 http=libmicrohttpd12 dns=libc-ares2 tls=libssl3 ;;
    *) libev=libev4t64 http=libmicrohttpd12t64 dns=libcares2 tls=libssl3t64 ;;
esac
libraries=$libev,libinih1,liburing2,$http,$dns,$tls
debian_tree systemd "$release" "systemd,systemd-sysv,dbus,$libraries,python3-minimal" ||
    cannot_be "Debian $release could not be fetched"
echo "a tree of Debian $release: $(($(date +%s) - start)) s"
[ "${1:-}" != --prepare ] || exit 0

tree=$trees/systemd
for_usr="-Dprefix=/usr -Dsysconfdir=/etc"
package=${WEIR_BUILD:-build/package}
# shellcheck disable=SC2086  # words
[ -f "$package/build.ninja" ] && [ -z "$(build_options_wrong "$package" $for_usr)" ] || package=build/package
install_weir() {
    if [ "$package" = build/package ]; then
        # shellcheck disable=SC2086  # words
        build_setup "$package" $for_usr -Dtests=false -Dbench=false && ninja -C "$package" || return 1
    fi
    rm -rf "$tree/etc/weir" && meson install -C "$package" --no-rebuild --quiet --destdir "$tree"
}
if ! install_weir >"$trees/install.log" 2>&1; then
    tail -n 5 "$trees/install.log"
    echo "weir could not be built and installed"
    echo "0 passed, 1 failed"
    exit 1
fi
mkdir -p "$tree/opt"
cp tests/service/inside*.sh tests/service/inside.py "$tree/opt/"
cat >"$tree/etc/systemd/system/weir-test.service" <<'UNIT'
[Unit]
Description=The test of weir
After=basic.target dbus.socket systemd-journald.service
Requires=basic.target
[Service]
Type=oneshot
ExecStart=/bin/sh /opt/inside.sh
UNIT

# The cgroup version of this machine; a container name that nothing else uses.
start=$(date +%s)
out=$trees/systemd.out
timeout --foreground --kill-after=10 600 systemd-nspawn --quiet --register=no --keep-unit --boot \
    --private-network --volatile=overlay --machine="weir-$$" --directory="$tree" \
    systemd.unit=weir-test.service systemd.show_status=no \
    systemd.default_timeout_start_sec=30s </dev/null 2>&1 | tr -d '\r' >"$out"
echo "in the container: $(($(date +%s) - start)) s"
if ! grep -q '^== begin$' "$out"; then
    tail -n 5 "$out"
    cannot_be "systemd does not boot in a container here"
fi
sed -n '/^== begin$/,/^== end$/p' "$out"
passed=$(grep -c '^ok  ' "$out")
failed=$(grep -c '^FAILED  ' "$out")
if ! grep -q '^== end$' "$out"; then
    echo "it did not finish"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
