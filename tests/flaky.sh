# SPDX-License-Identifier: MIT
#
# flaky.sh - gives a test that failed beside others three more tries, by itself.
#
# A test that passes all three counts as passed, but is reported as FLAKY, with what it said when it failed:
# it shows a defect of the test or of weir that takes a busy machine. No more tries after the report of a
# sanitizer, nor if more than three tests of a part failed.
#
# Sourced by tests/run.sh after tests/lib.sh. POSIX sh. The caller sets `logs` and defines `still`.

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

# again_pytest NAME: did every test that failed in the log of this part pass now?
again_pytest() {
    tests=$logs/$1.failed
    failed_of_pytest "$logs/$1.pytest" >"$tests"
    may_try_again "$logs/$1.pytest" "$tests" || return 1
    again=$1
    set --
    while IFS= read -r test; do
        set -- "$@" "$test"
    done <"$tests"
    try=0
    while [ $try -lt $flaky_tries ]; do
        still timeout --foreground --kill-after=10 1000 "$PYTHON" -m pytest -p no:cacheprovider -q -ra \
            -W ignore::pytest.PytestConfigWarning --basetemp="$TMPDIR/$again" "$@" || return 1
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

# again_meson FOLDER NAME is the same for the tests of `meson test` with that logbase.
again_meson() {
    tests=$logs/$2.failed
    failed_of_meson "$1/meson-logs/$2.json" >"$tests"
    may_try_again "$1/meson-logs/$2.txt" "$tests" || return 1
    # shellcheck disable=SC2046  # their names are words
    still meson test -C "$1" --no-rebuild --num-processes 1 --repeat $flaky_tries --timeout-multiplier 5 \
        --logbase "$2-again" --print-errorlogs $(cat "$tests") && tell_flaky "$tests"
}
