#!/bin/sh
# Runs the unit tests of one build: unit.sh BUILD. Prints what failed; the last line is "N passed, M failed".
#
# A test that did not run, was skipped or asserted nothing has failed: Criterion without /proc runs no test at
# all and reports success, so each binary must report as many tests as its source defines. Sanitizer reports
# (also of leaks, which come after a test has passed) fail the test file.
set -u
build=$1 passed=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export UBSAN_OPTIONS=print_stacktrace=1

fail()
{
    echo "FAIL unit $1: $2"
    failed=$((failed + 1))
}

for src in tests/unit/test_*.c; do
    name=$(basename "$src" .c)
    want=$(grep -c '^Test(' "$src")
    if grep -q '^ParameterizedTest' "$src"; then
        fail "$name" "ParameterizedTest hides how many tests there are: use a table inside one Test"
    fi
    if [ ! -x "$build/tests/unit/$name" ]; then
        fail "$name" "not built"
        continue
    fi
    rm -f "$tmp/json"
    "$build/tests/unit/$name" --json="$tmp/json" --timeout 120 >"$tmp/out" 2>&1
    code=$?
    [ -f "$tmp/json" ] || : >"$tmp/json"
    awk '
        /"name":/       { gsub(/[",]/, ""); name = $2 }
        /"assertions":/ { gsub(/,/, ""); asserts = $2 }
        /"status":/     {
            gsub(/[",]/, "")
            n++
            if ($2 != "PASSED") print "bad", name, tolower($2)
            else if (asserts == 0) print "bad", name, "asserts nothing"
            else ok++
        }
        END { print "sum", n + 0, ok + 0 }' "$tmp/json" >"$tmp/list"
    read -r _ ran ok <<-END
	$(grep '^sum' "$tmp/list")
	END
    before=$failed
    passed=$((passed + ok))
    while read -r kind test why; do
        [ "$kind" = bad ] && fail "$name::$test" "$why"
    done <"$tmp/list"
    [ "$ran" -eq "$want" ] || fail "$name" "$want tests in the source, $ran ran"
    if grep -q 'ERROR: [A-Z][A-Za-z]*Sanitizer\|runtime error:' "$tmp/out"; then
        fail "$name" "sanitizer report"
    elif [ $code -ne 0 ] && [ $failed -eq $before ]; then
        fail "$name" "exit code $code"
    fi
    [ $failed -eq $before ] || sed 's/^/    /' "$tmp/out" | head -n 100
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
