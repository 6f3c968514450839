# SPDX-License-Identifier: MIT
#
# flaky.sh - gives a test that failed beside others three more tries, by itself.
#
# A test that passes all three counts as passed, but is reported as FLAKY, with what it said when it failed:
# it shows a defect of the test or of weir that takes a busy machine. No more tries after the report of a
# sanitizer, nor if more than three tests of a part failed.
#
# Sourced by scripts of tests/ after tests/lib.sh. POSIX sh. For again_meson, the caller defines `still`.

flaky_tries=3
flaky_most=3
sanitizer_report='(ERROR|WARNING): [A-Z][A-Za-z]*Sanitizer|runtime error: |^SUMMARY: [A-Z]'

# may_try_again LOG TESTS: TESTS is a file with a failed test on each line
may_try_again() {
    [ -s "$2" ] && [ "$(wc -l <"$2")" -le $flaky_most ] && ! grep -aqE "$sanitizer_report" "$1"
}

# tell_flaky TESTS prints what tests/parts.sh looks for.
tell_flaky() {
    while IFS= read -r test; do
        echo "FLAKY $test: failed beside others, then passed $flaky_tries of $flaky_tries times by itself"
    done <"$1"
}

# failed_of_pytest LOG prints the names of the tests that failed, whether in the test or around it.
failed_of_pytest() {
    sed -nE 's/^(FAILED|ERROR) ([^ ]+\.py::.*)$/\2/p' "$1" | sed 's/ - .*//' | awk '!seen[$0]++'
}

# again_pytest LOG TESTS COMMAND...: does COMMAND, which is given their names, pass with all the tests that
# failed in this log? TESTS is a file to write them to.
again_pytest() {
    failed_of_pytest "$1" >"$2"
    may_try_again "$1" "$2" || return 1
    tests=$2
    shift 2
    while IFS= read -r test; do
        set -- "$@" "$test"
    done <"$tests"
    try=0
    while [ $try -lt $flaky_tries ]; do
        "$@" || return 1
        try=$((try + 1))
    done
    tell_flaky "$tests"
}

# failed_of_meson JSON prints the names of the tests that failed.
failed_of_meson() {
    "$PYTHON" - "$1" <<'PY'
import json, sys
for line in open(sys.argv[1], errors="replace"):
    test = json.loads(line)
    if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
        print(test["name"].rpartition(" / ")[2].rpartition(":")[2])
PY
}

# again_meson FOLDER NAME TESTS: do the tests that failed in the log of this name pass now?
again_meson() {
    tests=$3
    failed_of_meson "$1/meson-logs/$2.json" >"$tests"
    may_try_again "$1/meson-logs/$2.txt" "$tests" || return 1
    # shellcheck disable=SC2046  # their names are words
    still meson test -C "$1" --no-rebuild --num-processes 1 --repeat $flaky_tries --timeout-multiplier 5 \
        --logbase "$2-again" --print-errorlogs $(cat "$tests") && tell_flaky "$tests"
}
