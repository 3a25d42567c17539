#!/bin/sh
# The command line under valgrind: valgrind.sh SACTAG. The last line is "N passed, M failed".
set -u
sactag=$1 passed=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

run()
{
    if valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=all "$sactag" "$@" \
        >"$tmp/out" 2>"$tmp/err"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL valgrind: exit $?: sactag $*"
        sed 's/^/    /;40q' "$tmp/err"
    fi
}

for model in toy/model_external.onnx llama_gqa/model_functions.onnx gpt2_conv1d/model_dynamoopt.onnx reuse/model.pt2; do
    path=tests/cases/$model
    tagged=$tmp/tagged.${model##*.}
    run plan "$path"
    run plan "$path" --format tsv --mm-rule torch --blocks whole
    run linears "$path"
    run tag "$path" -o "$tagged" --external-data keep --specialize
    run show "$tagged"
    run tag "$path" -o "$tagged" --external-data keep --specialize --tag all
    run check "$tagged"
    run strip "$tagged" -o "$tmp/stripped" --external-data keep
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
