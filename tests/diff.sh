#!/bin/sh
# What must hold of plan files, diff, apply and check on every model: diff.sh SACTAG DIR...
#
# Exports of one model decide the same, whatever names and indices they have, from opset to opset and from ONNX to .pt2; a plan
# file is the model's own; another policy shows up as exactly the rows that it changes; apply writes what tag writes; a policy changed
# by hand is one change. The last line is "N passed, M failed".
set -u
sactag=$(realpath "$1")
shift
passed=0 failed=0 bad=
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tab=$(printf '\t')
export LC_ALL=C

fail()
{
    echo "FAIL diff $what: $1"
    [ ! -s "$tmp/err" ] || sed 's/^/    /;5q' "$tmp/err"
    [ ! -s "$tmp/out" ] || sed 's/^/    /;20q' "$tmp/out"
    bad=1
}

# must EXIT-CODE ARGUMENTS...
must()
{
    want=$1
    shift
    timeout 120 "$sactag" "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
    [ $code -eq "$want" ] || fail "exit $code instead of $want: $(echo "sactag $*" | sed "s|$tmp/||g")"
    [ $code -eq "$want" ]
}

counted()
{
    if [ "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
    bad=
}

# Pairs that really decide differently, or cannot be decided: the strides of layout are in no ONNX file; the loop of scripted is
# unrolled elsewhere, and its trip count is not known with dynamic axes; param's products of rank 3 are of rank 2 in dynamo's export.
known()
{
    case $1 in
    layout/*.pt2 | layout/model_dynamo* | param/model_dynamo* | scripted/*.pt2 | scripted/model_dyn*) ;;
    *) return 1 ;;
    esac
}

compare_exports()
{
    for model in "$dir"/model_folded.onnx "$dir"/model_train.onnx "$dir"/model_paramsin.onnx "$dir"/model_dyn.onnx \
        "$dir"/model_dyntrain.onnx "$dir"/model_fp16.onnx "$dir"/model_bf16.onnx "$dir"/model_autocast.onnx "$dir"/model_op11.onnx \
        "$dir"/model_initin.onnx "$dir"/model_wrapped.onnx "$dir"/model_inferred.onnx "$dir"/model_external.onnx \
        "$dir"/model_functions.onnx "$dir"/model_dynamo.onnx "$dir"/model_dynamoopt.onnx "$dir"/model.pt2 "$dir"/model_nonstrict.pt2; do
        what=$(basename "$dir")/$(basename "$model")
        [ -e "$model" ] && [ "$model" != "$base" ] && ! known "$what" || continue
        for rule in onnx torch; do
            must 0 diff "$base" "$model" --mm-rule $rule
            # ... nor do their plan files, which know no graph.
            must 0 plan "$model" --mm-rule $rule -o "$tmp/b.json" && must 0 diff "$tmp/$rule.json" "$tmp/b.json"
            must 0 plan "$model" --mm-rule $rule -o "$tmp/b.tsv" && must 0 diff "$tmp/b.tsv" "$tmp/$rule.json"
            counted
        done
    done
}

# Rows of two goldens of one model whose policies differ: what any diff must find.
changed_rows()
{
    paste "$1" "$2" | awk -F "$tab" '$11 != $23 { print $3 "\t" $11 "\t" $23 }'
}

compare_policies()
{
    what=$(basename "$base")
    fqns=$("$sactag" linears "$base" --format tsv 2>/dev/null | awk -F "$tab" 'NR > 1 && $5 != "-" && $1 != "-" { print $1 }' | sed -n '1p;3p;5p')
    must 0 plan "$base" --format tsv -o "$tmp/a.tsv"
    for fqn in $fqns; do
        must 0 plan "$base" --fqn "$fqn" --format tsv -o "$tmp/b.tsv"
        changed_rows "$tmp/a.tsv" "$tmp/b.tsv" >"$tmp/want"
        code=0
        [ ! -s "$tmp/want" ] || code=1
        must $code diff "$tmp/onnx.json" "$base" --fqn "$fqn" --mm-rule onnx --format tsv
        awk -F "$tab" 'NR > 1 { print $7 "\t" $10 "\t" $11 }' "$tmp/out" >"$tmp/got"
        cmp -s "$tmp/want" "$tmp/got" || fail "--fqn $fqn shows other rows than it changes"
        counted
    done
}

check_tags()
{
    what=$(basename "$dir")/tags
    "$sactag" tag "$base" -o "$tmp/tagged" -q --external-data keep 2>"$tmp/err" || return
    must 0 check "$tmp/tagged"
    must 0 diff "$tmp/onnx.json" "$tmp/tagged"
    must 0 diff "$tmp/tagged" "$base"
    must 0 show "$tmp/tagged" -o "$tmp/shown.json" && must 0 diff "$tmp/shown.json" "$tmp/tagged"
    must 0 show "$tmp/tagged" -o "$tmp/shown.tsv" && must 0 diff "$tmp/tagged" "$tmp/shown.tsv"
    must 0 apply "$base" "$tmp/onnx.json" -o "$tmp/applied" -q --external-data keep
    cmp -s "$tmp/tagged" "$tmp/applied" || fail "apply does not write what tag writes"
    counted

    # One policy is changed by hand.
    what=$(basename "$dir")/hand
    awk '!done && /"policy": "save"/ { sub("\"policy\": \"save\"", "\"policy\": \"recompute\""); done = 1 } { print }' "$tmp/onnx.json" >"$tmp/hand.json"
    must 1 diff "$tmp/onnx.json" "$tmp/hand.json" --format tsv
    [ "$(sed 1d "$tmp/out" | cut -f 1,10,11,13)" = "changed${tab}save${tab}recompute${tab}manual" ] || fail "not one change by hand"
    must 0 apply "$base" "$tmp/hand.json" -o "$tmp/applied" --external-data keep
    must 0 diff "$tmp/hand.json" "$tmp/applied" --reasons
    must 0 check "$tmp/applied"
    grep -q '1 tag set by hand' "$tmp/err" || fail "check does not tell that a tag was set by hand"
    counted
}

check_rebase()
{
    other=$dir/model_paramsin.onnx what=$(basename "$dir")/rebase
    [ -e "$other" ] && [ "$other" != "$base" ] || return
    must 3 apply "$other" "$tmp/onnx.json" -o "$tmp/applied" -q
    [ -e "$tmp/tagged" ] || return
    must 0 apply "$other" "$tmp/onnx.json" -o "$tmp/applied" -q --rebase
    must 0 diff "$tmp/tagged" "$tmp/applied"
    must 0 check "$tmp/applied"
    counted
}

for dir in $(for d in "$@"; do echo "$d"/*/; done); do
    dir=${dir%/}
    base=$dir/model_train.onnx
    [ -e "$base" ] || base=$dir/model_paramsin.onnx
    [ -e "$base" ] || continue
    rm -rf "$tmp"/*
    what=$(basename "$dir")
    must 0 plan "$base" --mm-rule onnx -o "$tmp/onnx.json" || { counted; continue; }
    must 0 plan "$base" --mm-rule torch -o "$tmp/torch.json" || { counted; continue; }
    must 0 diff "$tmp/onnx.json" "$base"
    must 0 diff "$base" "$tmp/torch.json"
    counted
    compare_exports
    compare_policies
    check_tags
    check_rebase
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
