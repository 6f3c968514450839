# SPDX-License-Identifier: MIT
#
# parts.sh - runs the parts of tests/run.sh, beside one another too, prints a line for each and the sum.
#
# Sourced by tests/run.sh after tests/lib.sh. POSIX sh. The caller sets `root` (the checkout) and `logs`.

total_passed=0 total_failed=0 total_skipped=0
broken= flaky=
beside_start=

# seconds since START (as printed by `date +%s%N`), with one decimal
seconds_since() {
    echo "$1 $(date +%s%N)" | awk '{ printf "%.1f", ($2 - $1) / 1e9 }'
}

# Reads what `times` printed: the processor time of the commands that the shell, and they, have waited for.
cpu_seconds() {
    awk 'NR == 2 { split($1 "m" $2, t, /[ms]+/); printf "%.1f", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$1"
}

# run_part LOG COMMAND... runs one part and leaves in LOG.result: its exit code, the seconds it took, its
# seconds of processor time and its counts. They come from the last line of its output that reads
# `N passed, N failed...`; without such a line, it counts as nothing on success and as one failure otherwise.
run_part() {
    log=$logs/$1.log
    result=$logs/$1.result
    shift
    times >"$result.times" # in this shell: a subshell would tell its own
    before=$(cpu_seconds "$result.times")
    start=$(date +%s%N)
    "$@" >"$log" 2>&1 </dev/null
    code=$?
    took=$(seconds_since "$start")
    times >"$result.times"
    cpu=$(cpu_seconds "$result.times" | awk -v before="$before" '{ printf "%.0f", $1 - before }')
    rm "$result.times"
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1 |
        tr -cs '0-9\n' ' ')
    echo "$code $took $cpu $counts" >"$result.new"
    mv "$result.new" "$result"
    return $code
}

# causes LOG: the lines of its output that say which tests failed, and of what. Whoever has only the end of
# the output of a run finds them there (finish, below).
causes() {
    grep -aE "$cause" "$1" | cut -c 1-200 | awk '!seen[$0]++' | tail -n 30
}
# pytest; cmocka; meson; the sanitizers; the simulator.
cause='^(FAILED|ERROR|E  ) |^\[ +(ERROR|LINE|FAILED) +\] '
cause="$cause"'|^ *[0-9]+/[0-9]+ .*(FAIL|TIMEOUT|ERROR) |^SUMMARY: [A-Z]|runtime error: '
cause="$cause"'|^(Direct|Indirect) leak of |^ +#[0-9]+ 0x[0-9a-f]+ in .* [.][.]/(src|tests)/'
cause="$cause"'|^seed [0-9]+: |^sim: '

# report TITLE LOG prints what came of a part and adds up its counts.
report() {
    log=$logs/$2.log
    passed=0 failed=0 skipped=0
    read -r code seconds cpu counts <"$logs/$2.result"
    # shellcheck disable=SC2086  # numbers
    set -- "$1" ${counts:-0 0 0}
    passed=$2 failed=$3 skipped=${4:-0}
    [ "$code" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    word=ok
    ! grep -aq '^FLAKY ' "$log" || word=flaky
    [ "$failed" = 0 ] || word=FAILED
    printf '%-7s %-44s %7s s %4s cpu' "$word" "$1" "$seconds" "$cpu"
    [ $((passed + failed + skipped)) = 0 ] || printf '  %s passed, %s failed' "$passed" "$failed"
    [ "$skipped" = 0 ] || printf ', %s skipped' "$skipped"
    printf '\n'
    [ "$skipped" = 0 ] || grep -E -m 5 '^(SKIPPED|skipped:) ' "$log" | cut -c 1-150 | sed 's/^/        | /'
    found="
  $1: ${log#"$root"/}
$({ grep -a '^FLAKY ' "$log"; causes "$log"; } | sed 's/^/    | /')"
    [ "$word" != flaky ] || flaky="$flaky$found"
    [ "$failed" != 0 ] || return 0
    broken="$broken$found"
    tail -n 40 "$log" | sed 's/^/        | /'
    return 1
}

# part TITLE LOG COMMAND...
part() {
    title=$1 part=$2
    shift 2
    run_part "$part" "$@"
    report "$title" "$part"
}

# Builds, seeds and mutants only compute, most tests mostly wait: --full runs those beside these, with the
# processor time that is left over, one part after another (run_beside, below).
start_beside() {
    rm -f "$logs"/*.result "$logs/beside.end" "$logs/beside.pid"
    idle="nice -n 19"
    ! chrt --idle 0 true 2>/dev/null || idle="chrt --idle 0"
    # Not a child of this shell, whose `times` would count it as the part that runs when it ends.
    (
        {
            # shellcheck disable=SC2086  # words
            setsid $idle sh "$root/tests/run.sh" --beside >"$logs/beside.log" 2>&1 </dev/null
            : >"$logs/beside.end"
        } &
    )
    beside_start=$(date +%s%N)
}

# Its session is its process group, which has its number.
stop_beside() {
    [ -z "$beside_start" ] || [ -e "$logs/beside.end" ] ||
        kill -s TERM -- "-$(cat "$logs/beside.pid")" 2>/dev/null
}

# went_well LOG: has that part been run, and without a failure?
went_well() {
    read -r code _ <"$logs/$1.result" && [ "$code" = 0 ]
}

# collect TITLE LOG waits for a part that runs beside the others.
collect() {
    until [ -e "$logs/$2.result" ]; do
        if [ -e "$logs/beside.end" ] && [ ! -e "$logs/$2.result" ]; then
            cp "$logs/beside.log" "$logs/$2.log"
            echo "1 $(seconds_since "$beside_start") 0" >"$logs/$2.result"
        fi
        sleep 0.1
    done
    report "$@"
}

# finish: prints the summary and exits
finish() {
    echo
    if [ -n "$flaky" ]; then
        echo "Flaky tests, which passed when they were run again, each of them a defect to be found:$flaky"
        echo
    fi
    if [ -n "$broken" ]; then
        echo "Failed parts, and their full output:$broken"
    else
        echo "Everything passed."
    fi
    if [ "$total_skipped" -gt 0 ]; then
        echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
    else
        echo "$total_passed passed, $total_failed failed"
    fi
    [ "$total_failed" = 0 ]
    exit
}
