#!/bin/sh
# SPDX-License-Identifier: MIT
#
# inside.sh - the test of the unit, run by systemd in the container that systemd.sh boots.
#
# inside_reload.sh and inside_socket.sh have the tests of reloads and of sockets passed by systemd.
# Writes to the console: `ok  what` or `FAILED  what` for each test, between `== begin` and `== end`.

exec >/dev/console 2>&1
export LC_ALL=C.UTF-8 SYSTEMD_COLORS=0
unit=weir.service
# A command of two words.
inside="/usr/bin/python3 /opt/inside.py"
. /opt/inside_reload.sh
. /opt/inside_socket.sh

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

# web LINE... writes the configuration of [listen web]
web() {
    { echo '[listen web]'; printf '%s\n' "$@"; } >/etc/weir/conf.d/web.ini
}

# figure NAME: a value of the running weir
figure() {
    weir ctl show info | sed -n "s/^$1: //p"
}

# until_figure NAME VALUE waits for that value, up to 20 s
until_figure() {
    for _ in $(seq 200); do
        [ "$(figure "$1")" != "$2" ] || return 0
        sleep 0.1
    done
    echo "$1 is $(figure "$1"), not $2"
    return 1
}

fails() { ! "$@"; }

# Clients that connect again and again, until ends_well. A hundred connections have been made by then.
load_begins() {
    $inside load 80 &
    load=$!
    for _ in $(seq 200); do
        [ "$(figure accepted)" -lt 100 ] || return 0
        sleep 0.1
    done
    return 1
}

# ends_well PID: a client of inside.py that runs until SIGTERM
ends_well() { kill -TERM "$1" && wait "$1"; }

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

ask() { $inside ask "$1"; }
says_status() { [ -n "$(property StatusText)" ]; }
verify() {
    said=$(systemd-analyze verify --man=no /usr/lib/systemd/system/$unit 2>&1)
    [ -z "$said" ] || { echo "$said"; return 1; }
}
as_its_user() { [ "$(stat -c %U "/proc/$(property MainPID)")" = weir ]; }
one_capability() { grep -q '^CapEff:	0000000000000400$' "/proc/$(property MainPID)/status"; }
has_folders() {
    [ "$(stat -c '%U %a' /run/weir /var/lib/weir /var/log/weir | tr '\n' ' ')" = \
        "weir 755 weir 750 weir 750 " ] && [ -S /run/weir/admin.sock ] &&
        [ "$(stat -c '%F %U %a' /run/weir/weir.control)" = "socket weir 600" ]
}

# The daemon notifies the watchdog, so the time of its last notification changes; the drop-in sets 10 s.
feeds_watchdog() {
    first=$(property WatchdogTimestampMonotonic)
    for _ in $(seq 200); do
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

    sed -i 's/^\[global\]/&\nlog = stderr level=notice/' /etc/weir/weir.ini
    web 'bind = :80' 'server a = 127.0.0.1:9000'
    sed -i '/^\[listen web\]/,/^server web2/d' /etc/weir/weir.ini
    mkdir -p /etc/systemd/system/$unit.d
    printf '[Service]\nWatchdogSec=10\n' >/etc/systemd/system/$unit.d/test.conf
    systemctl daemon-reload
    $inside serve 9000 &
    $inside serve 9001 &
    test_that "it says that it is ready" systemctl start "$unit"
    test_that "it is active" until_is ActiveState active
    test_that "it says how it is (StatusText)" says_status
    test_that "it runs as its user" as_its_user
    test_that "it has one capability" one_capability
    test_that "it forwards from port 80" ask 80
    test_that "it feeds the watchdog" feeds_watchdog
    reload_tests
    test_that "killed, it comes back" is_killed_and_comes_back
    test_that "and forwards again" ask 80
    test_that "it can be stopped" systemctl stop "$unit"
    test_that "which is a clean end" stopped_well
    socket_tests
    systemctl stop weir.socket "$unit"

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
