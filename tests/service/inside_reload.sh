# SPDX-License-Identifier: MIT
#
# inside_reload.sh - `systemctl reload` of the unit: refused, while clients are held, and under load.
#
# Sourced by inside.sh, whose functions it uses. The unit runs, with [listen web] on port 80.

# runs_as PID GENERATION: the service is active, in that process, with that configuration
runs_as() {
    now="$(property ActiveState) $(property MainPID) $(figure generation)"
    [ "$now" = "active $1 $2" ] || { echo "$now"; return 1; }
}

status_shows_refusal() {
    systemctl status --full --no-pager "$unit" >/run/status
    for line in 'Status: "last reload refused; ' 'active (running)' '^^^^ write 7000ms or 7s' \
        'not reloaded: '; do
        grep -qF "$line" /run/status || { cat /run/status; return 1; }
    done
}

journal_shows_refusal() {
    journal >/run/journal
    grep -qF 'timeout-idle = 7000' /run/journal && grep -qF '^^^^ write 7000ms or 7s' /run/journal &&
        grep -q '^not reloaded: ' /run/journal || { tail -n 20 /run/journal; return 1; }
}

status_is_silent() { case $(property StatusText) in *refused* | '') return 1 ;; esac; }

reloaded_well() {
    [ "$(property Result) $(property ReloadResult)" = "success success" ] ||
        { systemctl show -p Result,ReloadResult "$unit"; return 1; }
}

# A client that stays, with bytes at its server. Those before it have left.
holds_one() {
    until_figure sessions 0 || return 1
    $inside hold 80 &
    held=$!
    until_figure sessions 1
}

as_nobody() {
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}

refused_tests() {
    web 'bind = :80' 'server a = 127.0.0.1:9000' 'timeout-idle = 7000'
    test_that "a reload of a wrong configuration fails" fails systemctl reload "$unit"
    test_that "systemctl status shows the caret, and that weir runs" status_shows_refusal
    test_that "the journal shows the caret" journal_shows_refusal
    web 'bind = :80' 'server a = 127.0.0.1:9000'
    test_that "the process and its configuration are the same" runs_as "$pid" 1
    test_that "and it forwards as before" ask 80
}

# The held client needs the server that the new configuration does not have.
held_tests() {
    test_that "a client is connected" holds_one
    web 'bind = :80' 'bind = :443' 'server b = 127.0.0.1:9001'
    systemctl reload --no-block "$unit"
    test_that "the unit is reloading while a client uses what has left" until_is ActiveState reloading
    test_that "by then weir forwards from a port that was added" ask 443
    test_that "the client keeps its connection" ends_well "$held"
    test_that "then the unit is active" until_is ActiveState active
    test_that "and the reload a success" reloaded_well
    test_that "in the same process" runs_as "$pid" 2
    test_that "its status does not name the refusal any more" status_is_silent
}

load_tests() {
    test_that "there is load" load_begins
    web 'bind = :80' 'server a = 127.0.0.1:9000' 'server b = 127.0.0.1:9001'
    test_that "it reloads under load" systemctl reload "$unit"
    test_that "and every connection is answered" ends_well "$load"
    test_that "in the same process again" runs_as "$pid" 3
}

reload_tests() {
    pid=$(property MainPID)
    refused_tests
    held_tests
    load_tests
    test_that "another user may not reload it" fails as_nobody weir reload --pid "$pid"
    test_that "root may, without its process ID" weir reload
    test_that "which is the next generation" runs_as "$pid" 4
    kill -HUP "$pid"
    test_that "so is SIGHUP" until_figure generation 5
}
