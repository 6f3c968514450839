#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inside.sh - the test of the unit, run by systemd in the container that systemd.sh boots.
#
# Writes to the console: `ok  what` or `FAILED  what` for each test, between `== begin` and `== end`.

exec >/dev/console 2>&1
export LC_ALL=C.UTF-8 SYSTEMD_COLORS=0
unit=weir.service

property() {
    systemctl show -p "$1" --value "$unit"
}

# until_is PROPERTY VALUE waits for that value, up to 20 s
until_is() {
    for _ in $(seq 200); do
        [ "$(property "$1")" != "$2" ] || return 0
        sleep 0.1
    done
    echo "$1 is $(property "$1"), not $2"
    return 1
}

journal() {
    journalctl --sync
    journalctl -u "$unit" -o cat --no-pager
}

# test_that WHAT COMMAND...
test_that() {
    what=$1
    shift
    if "$@"; then
        echo "ok  $what"
    else
        echo "FAILED  $what"
        broken=yes
    fi
}

ask() { /usr/bin/python3 /opt/inside.py ask 80; }
says_status() { [ -n "$(property StatusText)" ]; }
verify() {
    said=$(systemd-analyze verify --man=no /usr/lib/systemd/system/$unit 2>&1)
    [ -z "$said" ] || { echo "$said"; return 1; }
}
as_its_user() { [ "$(stat -c %U "/proc/$(property MainPID)")" = weir ]; }
one_capability() { grep -q '^CapEff:	0000000000000400$' "/proc/$(property MainPID)/status"; }
has_folders() {
    [ "$(stat -c '%U %a' /run/weir /var/lib/weir /var/log/weir | tr '\n' ' ')" = \
        "weir 755 weir 750 weir 750 " ] && [ -S /run/weir/admin.sock ]
}

# The daemon notifies the watchdog, so the time of its last notification changes; the drop-in sets 2 s.
feeds_watchdog() {
    first=$(property WatchdogTimestampMonotonic)
    for _ in $(seq 100); do
        [ "$(property WatchdogTimestampMonotonic)" = "$first" ] || return 0
        sleep 0.1
    done
    return 1
}

is_killed_and_comes_back() {
    old=$(property MainPID)
    kill -9 "$old"
    until_is NRestarts 1 && until_is ActiveState active && [ "$(property MainPID)" != "$old" ]
}

# systemd forgets the properties of a unit that has ended cleanly, so this reads the journal, which would
# contain any exit code other than 0 before its final line.
stopped_well() {
    [ "$(property ActiveState)" = inactive ] && [ "$(property Result)" = success ] &&
        journal | tail -n 5 >/run/last && grep -q '^stopped: ' /run/last &&
        grep -qF 'Deactivated successfully' /run/last && ! grep -qF 'Main process exited' /run/last
}

failed_once() {
    [ "$(property ActiveState) $(property NRestarts) $(property ExecMainStatus)" = "failed 0 1" ]
}

told_with_a_caret() {
    journal | grep -qF "timeout-connect = 5000" && journal | grep -qF "^^^^ write 5000ms or 5s"
}

main() {
    test_that "the unit is without a fault" verify
    test_that "the installed configuration is valid" weir -c -q
    test_that "the installed configuration starts" systemctl start "$unit"
    test_that "its folders are there, and its own" has_folders
    systemctl stop "$unit"

    printf '[listen web]\nbind = :80\nserver a = 127.0.0.1:9000\n' >/etc/weir/conf.d/web.ini
    sed -i '/^\[listen web\]/,/^server web2/d' /etc/weir/weir.ini
    mkdir -p /etc/systemd/system/$unit.d
    printf '[Service]\nWatchdogSec=2\n' >/etc/systemd/system/$unit.d/test.conf
    systemctl daemon-reload
    /usr/bin/python3 /opt/inside.py serve 9000 &
    test_that "it says that it is ready" systemctl start "$unit"
    test_that "it is active" until_is ActiveState active
    test_that "it says how it is (StatusText)" says_status
    test_that "it runs as its user" as_its_user
    test_that "it has one capability" one_capability
    test_that "it forwards from port 80" ask
    test_that "it feeds the watchdog" feeds_watchdog
    test_that "killed, it comes back" is_killed_and_comes_back
    test_that "and forwards again" ask
    test_that "it can be stopped" systemctl stop "$unit"
    test_that "which is a clean end" stopped_well

    printf '[listen bad]\nbind = :81\nserver a = 127.0.0.1:9000\ntimeout-connect = 5000\n' \
        >/etc/weir/conf.d/bad.ini
    systemctl start "$unit"
    test_that "a wrong configuration fails, and is not tried again" failed_once
    test_that "the journal has the line and a caret" told_with_a_caret
    [ -z "$broken" ] || journal
}

broken=
echo "== begin"
main
echo "== end"
systemctl poweroff --force
