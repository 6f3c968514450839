# SPDX-License-Identifier: MIT
#
# inside_socket.sh - a socket that systemd passes, across restarts and reloads of the unit.
#
# Sourced by inside.sh, whose functions it uses. The unit is stopped; conf/examples/weir.socket is installed.

# The socket is the same, and systemd's: it has not been closed and bound again.
socket_number() {
    awk '$2 ~ /:0050$/ && $4 == "0A" { print $10 }' /proc/net/tcp6
}

same_socket() { [ "$(socket_number)" = "$number" ]; }

# No client is refused or reset while no weir runs: they wait in the queue of the socket.
restart_tests() {
    test_that "there is load" load_begins
    test_that "it restarts under load" systemctl restart "$unit"
    test_that "and every connection is answered" ends_well "$load"
    test_that "the inherited socket hears a new one" ask 80
    test_that "and is the same" same_socket
}

kept_tests() {
    web 'bind = fd@web' 'server b = 127.0.0.1:9001'
    test_that "there is load" load_begins
    test_that "a reload that keeps the socket works under load" systemctl reload "$unit"
    test_that "and every connection is answered" ends_well "$load"
    test_that "the socket is the same" same_socket
}

# The descriptor that was passed at the start is closed when no frontend uses it.
left_tests() {
    web 'bind = :81' 'server b = 127.0.0.1:9001'
    test_that "a reload can leave the socket" systemctl reload "$unit"
    web 'bind = fd@web' 'server b = 127.0.0.1:9001'
    test_that "but not take it back" fails systemctl reload "$unit"
    test_that "the journal says to restart" told_to_restart
    test_that "systemd keeps the socket" same_socket
    $inside ask 80 &
    asked=$!
    test_that "a restart takes it back" systemctl restart "$unit"
    test_that "with the client that has waited" wait "$asked"
}

told_to_restart() {
    journal | tail -n 12 >/run/last
    grep -qi restart /run/last || { cat /run/last; return 1; }
}

socket_tests() {
    cp /usr/share/doc/weir/examples/weir.socket /etc/systemd/system/
    web 'bind = fd@web' 'server a = 127.0.0.1:9000'
    systemctl daemon-reload
    test_that "systemd opens port 80" systemctl start weir.socket
    number=$(socket_number)
    test_that "and starts weir for the first client" ask 80
    restart_tests
    kept_tests
    left_tests
}
