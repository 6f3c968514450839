#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - installs missing packages, builds, runs the tests and prints one summary.
#
#   sh tests/run.sh            the tests of the release build, of the system tests a third
#   sh tests/run.sh --quick    tidy, unit tests, a short simulation, the smoke tests
#   sh tests/run.sh --unit     the build, unit tests, the op contract of each driver, a short simulation
#   sh tests/run.sh --full     all of them: also attacks, all system tests, -Werror with two compilers, a
#                              build without io_uring, HTTP and TLS, ASan and UBSan, TSan, a million seeds,
#                              the mutants, real programs, a booted systemd, the image, a fresh Debian 13
#
# See also: tests/release.sh 12|13 (README's two commands in a fresh Debian), tests/arm64.sh.
#
# For Debian 12 and 13, as root or with sudo (only for installing). Needs no terminal, starts no service,
# writes nothing outside the build directories, is incremental and safe to repeat. The last line is
# `N passed, N failed` or `N passed, N failed, N skipped`; the exit code is 0 only if nothing failed.

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/lib.sh"
leave_bare_chroot "$0" "$@"

usage() {
    echo "usage: sh tests/run.sh [--quick | --unit | --full]"
}

mode=default
for word; do
    case $word in
        --beside) mode=beside ;; # what --full starts in the background
        --quick) mode=quick ;;
        --unit) mode=unit ;;
        --full) mode=full ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done

logs=$root/build/log
mkdir -p "$logs"
cd "$root" || exit 1

packages="gcc libc6-dev meson ninja-build pkg-config libev-dev libinih-dev libcmocka-dev liburing-dev
    libmicrohttpd-dev libc-ares-dev libssl-dev libcrypt-dev python3"
[ "$mode" = unit ] || packages="$packages python3-pytest python3-pytest-xdist python3-seccomp python3-pyte
    python3-jsonschema strace iproute2 nftables util-linux curl openssl wrk iperf3 redis-server redis-tools
    rsync systemd mandoc dnsmasq-base
    haproxy nginx libnginx-mod-stream"
case $(. /etc/os-release && echo "${VERSION_ID:-}") in
    12) clang=14 ;;
    *) clang=19 ;;
esac
[ "$mode" != full ] ||
    packages="$packages clang libclang-rt-$clang-dev systemd-container debootstrap buildah zsh fish
    prometheus python3-prometheus-client python3-yaml postgresql"
# shellcheck disable=SC2086  # a list of words
[ "$mode" = beside ] || need_packages "$logs/install.log" $packages || { echo "0 passed, 1 failed"; exit 1; }
# Tools that Debian may drop. Their tests are skipped without them.
if [ "$mode" = full ]; then
    need_packages "$logs/install-hatop.log" hatop
    need_packages "$logs/install-exporter.log" prometheus-haproxy-exporter
fi

case $mode in
    quick | unit) seeds=10000 crowd_seeds=5000 ;;
    default) seeds=100000 crowd_seeds=6000 ;;
    *) crowd_seeds=20000 ;;
esac

# Temporary files go to the build directory, unless its path is too long for the Unix sockets in it, or the
# user nobody, which some tests switch to, cannot enter it.
[ "$mode" = beside ] || TMPDIR=$root/build/tmp
mkdir -p "$TMPDIR"
open_to_all() {
    case $(stat -c %A "$1") in
        *x | *t) [ "$1" = / ] || open_to_all "$(dirname "$1")" ;;
        *) return 1 ;;
    esac
}
tmp=
if [ "$mode" != beside ] && { [ "${#TMPDIR}" -gt 40 ] || ! open_to_all "$TMPDIR"; }; then
    TMPDIR=$(mktemp -d /tmp/weir.XXXXXX)
    chmod 755 "$TMPDIR"
    tmp=$TMPDIR
fi
export TMPDIR
if [ "$mode" != beside ]; then
    trap 'stop_beside; [ -z "$tmp" ] || rm -rf "$tmp"' EXIT
    trap 'exit 130' INT TERM HUP
fi

# ---- parts -----------------------------------------------------------------------------------

. "$root/tests/parts.sh"
. "$root/tests/flaky.sh"

# Counts the command as one test.
as_one_test() {
    if "$@"; then
        echo "1 passed, 0 failed"
    else
        echo "0 passed, 1 failed"
        return 1
    fi
}

# The sanitizers of Debian 12 cannot cope with the address space randomisation of newer kernels.
still() {
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        setarch "$(uname -m)" -R "$@"
    else
        "$@"
    fi
}

# build FOLDER OPTION...
build() {
    build_setup "$@" && ninja -C "$1"
}

# build_for SUITES FOLDER OPTION...: weir, and of the tests only what these suites (words) need. $threaded is
# an option of select_tests.py.
threaded=
build_for() {
    suites=$1
    shift
    # shellcheck disable=SC2046,SC2086  # words
    build_setup "$@" && ninja -C "$1" src/weir tests/storm/storm_load \
        $("$PYTHON" tests/select_tests.py targets "$1" $threaded $suites)
}

# build_for, but no program that has one thread only: there, TSan has nothing to find
build_threaded() {
    threaded="--threaded build"
    build_for "$@"
    code=$?
    threaded=
    return $code
}

# build_fuzz NAME...: only these fuzzers
build_fuzz() {
    build_setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
        -Dc_args=-g1 || return
    targets=
    for name in "$@"; do
        targets="$targets tests/fuzz/fuzz_$name"
    done
    # shellcheck disable=SC2086  # words
    ninja -C build-fuzz $targets
}

# meson_tests FOLDER NAME CHOICE...: runs `meson test` with CHOICE; NAME is the name of its log
meson_tests() {
    where=$1
    name=$2
    shift 2
    rm -f "$where/meson-logs/$name.json"
    # More than there are CPUs: the longest of them wait for a deadline.
    still meson test -C "$where" --no-rebuild --num-processes $((4 * $(nproc) + 2)) --logbase "$name" \
        --print-errorlogs "$@"
    code=$?
    [ -f "$where/meson-logs/$name.json" ] || return 1
    fine=
    [ $code = 0 ] || ! again_meson "$where" "$name" "$logs/$name.failed" || fine=1 code=0
    count_meson "$where/meson-logs/$name.json" $fine
    return $code
}

# simulate FOLDER DRIVER SEEDS: writes its output and its exit code to files; $world is an option of sim
world=
simulate() {
    # shellcheck disable=SC2086  # words
    still timeout --foreground --kill-after=10 3000 "$root/$1/tests/sim/sim" $world --driver "$2" \
        --seeds "$3" >"$logs/sim-$2.out" 2>&1
    echo $? >"$logs/sim-$2.code"
}

# simulation FOLDER SEEDS [RING SEEDS]: each driver is a test, all of them in parallel; the output of failed
# drivers comes last
simulation() {
    simulate "$1" io_uring "${3:-$2}" &
    ring=$!
    simulate "$1" epoll "$2" &
    epoll=$!
    simulate "$1" fake "$2"
    wait "$ring" "$epoll"
    for driver in epoll fake io_uring; do
        [ "$(cat "$logs/sim-$driver.code")" != 0 ] || cat "$logs/sim-$driver.out"
    done
    bad=0
    skipped=0
    for driver in epoll fake io_uring; do
        ! grep -q "^skipped: driver $driver:" "$logs/sim-$driver.out" || skipped=$((skipped + 1))
        [ "$(cat "$logs/sim-$driver.code")" != 0 ] || continue
        cat "$logs/sim-$driver.out"
        bad=$((bad + 1))
    done
    echo "$((3 - bad - skipped)) passed, $bad failed, $skipped skipped"
    [ "$bad" = 0 ]
}

# The same with several workers of one engine.
crowd() {
    world=--crowd
    simulation "$@"
    code=$?
    world=
    return $code
}

# fuzz NAME...: a minute each, side by side, from the corpus of the repository; each is a test
fuzz() {
    for name in "$@"; do
        rm -rf "$TMPDIR/fuzz-$name"
        mkdir -p "$TMPDIR/fuzz-$name"
        {
            still timeout --foreground --kill-after=10 600 "build-fuzz/tests/fuzz/fuzz_$name" \
                -max_total_time=60 -seed=1 -timeout=300 -rss_limit_mb=2048 -max_len=8192 -entropic=0 \
                -print_final_stats=1 "-dict=tests/fuzz/$name.dict" "-artifact_prefix=$TMPDIR/fuzz-$name/" \
                "$TMPDIR/fuzz-$name" "tests/fuzz/corpus/$name" >"$logs/fuzz-$name.out" 2>&1
            echo $? >"$logs/fuzz-$name.code"
        } &
    done
    wait
    bad=0
    for name in "$@"; do
        tail -n 40 "$logs/fuzz-$name.out"
        [ "$(cat "$logs/fuzz-$name.code")" = 0 ] || bad=$((bad + 1))
    done
    echo "$(($# - bad)) passed, $bad failed"
    [ "$bad" = 0 ]
}

# Each mutant is a test, which passes when the mutant is found.
mutants() {
    timeout --foreground --kill-after=10 3000 "$PYTHON" tests/sim/mutants.py >"$logs/mutants.out" 2>&1
    code=$?
    cat "$logs/mutants.out"
    found=$(grep -cE '\bfound     after' "$logs/mutants.out")
    missed=$(grep -cE '\b(SURVIVED|BROKEN)  ' "$logs/mutants.out")
    echo "$found passed, $missed failed"
    return $code
}

# Tests wait more than they compute, six seconds of seven: eight at a time with two processors, one file per
# job. Under a sanitizer they compute more: four at a time.
jobs=$((4 * $(nproc)))
[ "$jobs" -le 8 ] || jobs=8
all_jobs=$jobs

# pytest_of NAME PATH... [OPTION...]
pytest_of() {
    base=$TMPDIR/$1
    shift
    still timeout --foreground --kill-after=10 3000 "$PYTHON" -m pytest -p no:cacheprovider -q -ra \
        -W ignore::pytest.PytestConfigWarning --basetemp="$base" "$@"
}

# pytests NAME PATH... [OPTION...]: exit code 5 means "no tests collected"
pytests() {
    name=$1
    pytest_of "$@" -n "$jobs" --dist loadfile >"$logs/$name.pytest" 2>&1
    code=$?
    cat "$logs/$name.pytest"
    [ $code != 5 ] || code=0
    fine=
    [ $code != 1 ] || ! again_pytest "$logs/$name.pytest" "$logs/$name.failed" pytest_of "$name" ||
        fine=1 code=0
    count_pytest "$logs/$name.pytest" $fine
    return $code
}

# pairs NAME FILE...: HAProxy and nginx beside what is converted of their files. They compare seconds, so few
# run at a time.
pairs() {
    jobs=$(nproc)
    pytests "$@" --dist load
    code=$?
    jobs=$all_jobs
    return $code
}

# compiled_by COMPILER COMMAND...: takes effect when a build directory is first created
compiled_by() {
    CC=$1
    export CC
    shift
    "$@"
    code=$?
    unset CC
    return $code
}

# with FOLDER COMMAND...: the tests use the daemon of that build
with() {
    WEIR_BIN=$root/$1/src/weir
    WEIR_BUILD=$root/$1
    export WEIR_BIN WEIR_BUILD
    shift
    "$@"
    code=$?
    unset WEIR_BIN WEIR_BUILD
    return $code
}

# on_ring WORKERS COMMAND...: runs the system tests on io_uring with WORKERS workers; 0: as each test says
on_ring() {
    WEIR_TEST_DRIVER=io_uring
    export WEIR_TEST_DRIVER
    [ "$1" = 0 ] || export WEIR_TEST_THREADS="$1"
    shift
    "$@"
    code=$?
    unset WEIR_TEST_DRIVER WEIR_TEST_THREADS
    return $code
}

# soak DRIVER: half a minute; run tests/soak/soak.py for longer
soak() {
    still timeout --foreground --kill-after=10 300 "$PYTHON" tests/soak/soak.py --minutes 0.4 --driver "$1"
}

# ---- what is run -----------------------------------------------------------------------------

case $mode in
    # The first runs on io_uring, below, and the pairs by themselves.
    full) choice="--ignore=tests/system/test_ring.py --ignore-glob=*/test_pairs_*.py" ;;
    *) choice="-m smoke --ignore=tests/system/test_ring.py" ;;
esac
# Errors end the program, so that none goes unnoticed in a log.
sanitizer_options() {
    export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    export WEIR_TEST_TIMEOUT_SCALE=4 WEIR_TEST_WAIT=80
    # On exit with running threads, TSan would sleep for a second to wait for their reports.
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=20
}

# What cannot be fetched is said, and counted, by the parts that need it.
trees_of_debian() {
    { sh tests/service/systemd.sh --prepare; sh tests/service/image.sh --prepare; } | grep -v ' passed, '
}

run_beside() {
    run_part trees trees_of_debian &
    run_part plain-build build build-plain -Dio_uring=disabled -Dhttp=disabled -Ddns=disabled \
        -Dtls=disabled -Dcrypt=disabled -Dwerror=true -Dtests=false -Dbench=false
    # -g1: the lines, which the reports name, without the variables. Plain char is unsigned on arm64.
    run_part asan-build build_for "unit live sim" build-asan \
        -Db_sanitize=address,undefined -Doptimization=1 "-Dc_args=-funsigned-char -g1"
    # The warnings of clang are errors.
    run_part tsan-build as_one_test compiled_by clang \
        build_threaded "unit live" build-tsan -Db_sanitize=thread -Db_lundef=false -Doptimization=1 \
        -Dwerror=true "-Dc_args=-funsigned-char -g1"
    run_part fuzz-build as_one_test compiled_by clang build_fuzz convert_haproxy convert_nginx
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        run_part fuzz fuzz convert_haproxy convert_nginx &
    run_part model meson_tests build model --suite model
    run_part crowd crowd build "$crowd_seeds"
    sanitizer_options
    if went_well asan-build; then
        run_part asan-sim simulation build-asan 10000
        run_part asan-crowd crowd build-asan 3000
    fi
    run_part mutants mutants
    run_part sim-million simulation build 400000 200000
    wait # for the trees, and for the minute of fuzzing
}

# What the control thread does on its own is the same with each driver.
once="--ignore-glob=*/test_pairs_*.py"
for name in test_doctor test_command_line test_logs test_log_formats test_tcplog test_admin \
    test_admin_control test_admin_reload test_confirm test_confirmed_start test_haproxy_grammar \
    test_haproxy_words test_harness test_plan test_completion test_explain test_hatop \
    test_page test_web test_web_page test_monitoring test_reload test_reload_changes test_reload_refused \
    test_reload_user test_run_time_rollback test_checks test_checks_databases test_resolve \
    test_run_time_reload test_shows test_checks_tls test_checks_talks test_checks_exec test_soft_stop \
    test_auth \
    attack/test_admin_access \
    attack/test_admin_slow attack/test_admin_storm attack/test_log_disk_hung \
    attack/test_name_changes attack/test_privileges attack/test_socket_files attack/test_start_race; do
    once="$once --ignore=tests/system/$name.py"
done
# What is most likely to behave differently on a ring, as far as it takes at most twenty seconds.
ring_choice="tests/system/test_ring.py tests/system/test_stop.py tests/system/test_contract.py
    tests/system/test_streams.py -m smoke --dist load"

if [ "$mode" = beside ]; then
    echo $$ >"$logs/beside.pid"
    run_beside
    exit 0
fi
if [ "$mode" != unit ]; then
    part "tidy" tidy "$PYTHON" tests/tidy/tidy.py
    part "tidy can fail" tidy-self pytests tidy tests/tidy
    part "alert rules and dashboard" monitoring pytests monitoring tests/monitoring
    part "reports of the benchmark" bench-report pytests bench \
        bench/harness/test_report.py bench/harness/test_open_report.py bench/harness/test_lookups.py
fi
werror=${WEIR_WERROR:-false}
[ "$mode" != full ] || werror=true
# For /usr, because it is installed, too.
part "build" build build build -Dtests=true -Dbench=true -Dio_uring=enabled -Dwerror=$werror \
    -Dprefix=/usr -Dsysconfdir=/etc || finish
[ "$mode" != full ] || start_beside
part "unit tests" unit meson_tests build unit --suite unit
if [ "$mode" != full ]; then
    part "kernel model" model meson_tests build model --suite model
    part "simulation, $seeds seeds, half of them on a ring" sim simulation build "$seeds" $((seeds / 2))
    part "simulation of several workers, $crowd_seeds seeds" crowd crowd build "$crowd_seeds"
fi
[ "$mode" != unit ] || finish
part "live objects under traffic" live meson_tests build live --suite live
[ "$mode" != full ] ||
    part "open-loop generator of the benchmark" open-load \
        with build pytests open-load bench/harness/test_open_load.py
part "command line" cli with build pytests cli tests/cli
# shellcheck disable=SC2086  # words
part "system tests" system with build pytests system tests/system $choice
if [ "$mode" = full ]; then
    part "HAProxy and nginx beside what is converted" pairs \
        with build pairs pairs tests/system/test_pairs_*.py
    part "the same, io_uring: ends and routes" pairs-ring on_ring 0 \
        with build pairs pairs-ring tests/system/test_pairs_*ends.py tests/system/test_pairs_routes.py
    # shellcheck disable=SC2086  # words
    part "system tests, io_uring" ring on_ring 0 with build pytests ring tests/system $once
elif [ "$mode" = default ]; then
    # shellcheck disable=SC2086  # words
    part "system tests, io_uring, a selection" ring on_ring 0 with build pytests ring $ring_choice
fi
[ "$mode" = quick ] ||
    part "installed tree, sandbox of the unit" service with build pytests service tests/service
[ "$mode" = full ] || finish

jobs=$((2 * $(nproc)))
[ "$jobs" -le 4 ] || jobs=4
sanitizer_options

if collect "build without io_uring, HTTP and any optional library" plain-build; then
    part "without them: driver, names, passwords, checks over TLS" plain-driver \
        with build-plain pytests plain tests/system/test_driver.py tests/system/test_resolve.py \
        tests/system/test_auth.py \
        tests/system/test_checks_tls.py::test_answers_to_a_hello_in_single_bytes_are_judged \
        tests/system/test_checks_tls.py::test_a_silent_server_times_out \
        tests/system/test_checks_tls.py::test_a_check_that_verifies_nothing_is_in_the_last_line
fi
if collect "build with ASan and UBSan" asan-build; then
    part "ASan, UBSan: unit tests" asan-unit meson_tests build-asan unit --suite unit --timeout-multiplier 5
    part "ASan, UBSan: live objects" asan-live \
        meson_tests build-asan live --suite live --timeout-multiplier 5
    part "ASan, UBSan: smoke tests" asan-smoke with build-asan pytests asan tests/system -m smoke
    # shellcheck disable=SC2086  # words
    part "ASan, UBSan: smoke tests, io_uring, a selection" asan-ring \
        on_ring 0 with build-asan pytests asan-ring $ring_choice
    # Each driver under one of the two sanitizers.
    part "ASan, UBSan: attacks" asan-attack with build-asan pytests asan-attack tests/system/attack
    part "ASan, UBSan: a short soak, io_uring" asan-soak with build-asan soak io_uring
fi
if collect "build with TSan, clang, -Werror, -funsigned-char" tsan-build; then
    # shellcheck disable=SC2046  # words
    part "TSan: unit tests with threads" tsan-unit meson_tests build-tsan unit --timeout-multiplier 5 \
        $("$PYTHON" tests/select_tests.py names build-tsan --threaded build unit)
    part "TSan: live objects" tsan-live \
        meson_tests build-tsan live --suite live --timeout-multiplier 5
    # The simulator has one thread: TSan has nothing to find.
    WEIR_TEST_THREADS=4
    export WEIR_TEST_THREADS
    part "TSan: smoke tests, 4 workers" tsan-smoke with build-tsan pytests tsan tests/system -m smoke
    unset WEIR_TEST_THREADS
    # shellcheck disable=SC2086  # words
    part "TSan: smoke tests, io_uring, 4 workers, a selection" tsan-ring \
        on_ring 4 with build-tsan pytests tsan-ring $ring_choice
    # shellcheck disable=SC2086  # words
    part "TSan: attacks, io_uring" tsan-attack-ring \
        on_ring 4 with build-tsan pytests tsan-attack-ring tests/system/attack $once
fi
# In a browser, if there is one: it is too large to be installed for this.
part "the page in a browser" browser with build meson_tests build browser --suite browser
part "real programs" traffic with build sh tests/traffic/run.sh --size=128 2
part "examples in front of real servers" real with build sh tests/real/run.sh
part "balancing bars" balance with build sh tests/traffic/balance.sh
part "fail-over of databases" failover with build sh tests/traffic/failover.sh
collect "trees of Debian" trees
part "the unit under a booted systemd" systemd with build sh tests/service/systemd.sh
part "the container image" image sh tests/service/image.sh
part "Debian 13: build, unit tests, demo" debian13 sh tests/release.sh 13 --short
collect "kernel model" model
collect "simulation of several workers, $crowd_seeds seeds" crowd
if went_well asan-build; then
    collect "ASan, UBSan: simulation, 10000 seeds" asan-sim
    collect "ASan, UBSan: simulation of several workers, 3000 seeds" asan-crowd
fi
if collect "build of the fuzzers, clang, ASan and UBSan" fuzz-build; then
    collect "a minute of fuzzing of each reader of weir convert" fuzz
fi
collect "the simulator finds every mutant" mutants
collect "simulation, 1000000 seeds: 400000 on epoll, 200000 on a ring" sim-million
finish
