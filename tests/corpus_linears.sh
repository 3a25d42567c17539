#!/bin/sh
# Compares `sactag linears` with lists that people wrote by reading the graphs: corpus_linears.sh SACTAG [CORPUS].
#
# corpus_linears/NAME.tsv: a comment with the model's path inside CORPUS, a header, and one line for each Linear: fqn,
# weight, in, out. The models are other people's and are not part of this tree; where CORPUS is missing nothing is
# compared, and nothing counts as passed. The last line is "N passed, M failed".
set -u
cd "$(dirname "$0")/.." || exit 1
sactag=$1 corpus=${2-../shared/corpus} passed=0 failed=0
if [ ! -d "$corpus" ]; then
    echo "NOT RUN: no models in $corpus to compare with tests/corpus_linears"
    echo "0 passed, 0 failed"
    exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for list in tests/corpus_linears/*.tsv; do
    name=$(basename "$list" .tsv)
    model=$corpus/$(sed -n '1s/^# //p' "$list")
    sed 1,2d "$list" | LC_ALL=C sort >"$tmp/want"
    "$sactag" linears -q --format tsv "$model" >"$tmp/out" 2>"$tmp/err"
    code=$?
    sed 1d "$tmp/out" | cut -f 1-4 | LC_ALL=C sort >"$tmp/found"
    if [ $code -eq 0 ] && cmp -s "$tmp/want" "$tmp/found"; then
        passed=$((passed + 1))
        continue
    fi
    failed=$((failed + 1))
    echo "FAIL $name: exit code $code, $model"
    sed 's/^/    /' "$tmp/err"
    diff "$tmp/want" "$tmp/found" | sed -n 's/^< /    missing: /p; s/^> /    not expected: /p'
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
