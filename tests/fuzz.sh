#!/bin/sh
# Runs every file of the fuzz corpora through its target: fuzz.sh PROGRAMS. Prints what failed; the last line is
# "N passed, M failed". A file on which a target ends the process is one failure, and the rest still run.
set -u
programs=$1 passed=0 failed=0
corpora=$(dirname "$0")/fuzz/corpus
export UBSAN_OPTIONS=print_stacktrace=1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

for corpus in "$corpora"/*; do
    target=$(basename "$corpus") want=$(ls "$corpus" | wc -l)
    timeout 300 "$programs/replay_$target" "$corpus" >"$tmp/out" 2>"$tmp/err"
    code=$?
    if [ $code -eq 0 ] && [ "$(cat "$tmp/out")" = "$want" ] && [ "$want" -gt 0 ]; then
        passed=$((passed + want))
        continue
    fi
    for file in "$corpus"/*; do # which of them
        if timeout 60 "$programs/replay_$target" "$file" >/dev/null 2>"$tmp/err"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL fuzz $target: exit $? on $file"
            sed 's/^/    /;30q' "$tmp/err"
        fi
    done
done
for source in "$(dirname "$0")"/fuzz/*.dict; do
    target=$(basename "$source" .dict)
    [ -d "$corpora/$target" ] || { echo "FAIL fuzz $target: has no corpus"; failed=$((failed + 1)); }
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
