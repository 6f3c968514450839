#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - the example configurations in front of real servers: PostgreSQL, Patroni, MariaDB, RabbitMQ, Redis
# with Sentinel, Postfix, Dovecot, OpenSSH, nginx, php-fpm, dnsmasq. MySQL 8 and kube-apiserver are not in
# Debian: stubs replay what they were recorded to say.
#
#   sh tests/real/run.sh [WORDS OF PYTEST...]      for example: -k redis
#
# Servers that are not installed are fetched from Debian's archive once and unpacked into build/real; nothing
# is installed. They run as nobody. As root, the run has its own network, processes and mounts, all of which
# end with it. Needs a built build/src/weir (or WEIR_BIN), and what sh tests/run.sh installs. The last line is
# `N passed, N failed, N skipped`.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/flaky.sh"
leave_bare_chroot "$0" "$@"

WEIR_REAL=$root/build/real
mkdir -p "$WEIR_REAL/tmp"
export WEIR_REAL
"$PYTHON" "$root/tests/real/trees.py"

# $1: the folder to work in; the others are for pytest.
# shellcheck disable=SC2016  # the inner shell expands it
tests='cd "$0" || exit 1
    WEIR_REAL=$1 TMPDIR=$1/tmp
    export WEIR_REAL TMPDIR
    shift
    exec timeout --foreground --kill-after=10 1200 /usr/bin/python3 -m pytest -p no:cacheprovider -q -ra \
        --dist load -W ignore::pytest.PytestAssertRewriteWarning --durations=0 --durations-min=1 \
        --basetemp="$TMPDIR/pytest" -c tests/real/pytest.ini "$@"'

# The servers run as nobody, who may not be able to enter the build folder under its own name. This shell is
# the init of the run: it stays, and reaps the processes whose parents have ended.
# shellcheck disable=SC2016  # the inner shell expands it
alone='ip link set lo up && mount --make-rprivate / && mount --bind "$WEIR_REAL" "$3" || exit 1
    sh -c "$@"
    exit $?'

# real_tests WORDS OF PYTEST...
real_tests() {
    apart="unshare --net --mount --pid --fork --mount-proc --kill-child"
    if [ "$(id -u)" = 0 ] && $apart true 2>/dev/null; then
        here=$(mktemp -d /tmp/weir.XXXXXX)
        chmod 755 "$here"
        $apart sh -c "$alone" sh "$tests" "$root" "$here" "$@" 2>&1 </dev/null
        code=$?
        rmdir "$here"
    else
        sh -c "$tests" "$root" "$WEIR_REAL" "$@" 2>&1 </dev/null
        code=$?
    fi
    return $code
}

log=$WEIR_REAL/pytest.log
real_tests -n 8 "$@" tests/real >"$log"
code=$?
cat "$log"
[ $code != 5 ] || code=0
fine=
[ $code != 1 ] || ! again_pytest "$log" "$WEIR_REAL/failed" real_tests -n 0 || fine=1 code=0
count_pytest "$log" $fine
exit $code
