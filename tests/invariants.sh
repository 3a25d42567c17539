#!/bin/sh
# What must hold for every model: invariants.sh [--refused LIST] SACTAG DIR...
#
# For each carrier: strip(tag(m)) == m; tag twice == tag once; tag(strip(tag(m))) == tag(m); a carrier replaces another;
# plan(tag(m)) == plan(m); show lists what plan decided; in place is the same. The same with --tag all, whose tags on mms are
# those without. A run that fails leaves its target and no other file. Models that sactag refuses to tag are listed
# with its reason; with --refused they must be exactly those of LIST
# (lines "path<tab>reason"). The last line is "N passed, M failed".
set -u
list=
[ "$1" = --refused ] && list=$(realpath "$2") && shift 2
sactag=$(realpath "$1") root=$(cd "$(dirname "$0")/.." && pwd)
shift
passed=0 failed=0 models=0 refused=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
work=$tmp/work err=$tmp/err TMPDIR=$tmp/spool
mkdir "$work" "$TMPDIR"
export TMPDIR LC_ALL=C

fail()
{
    echo "FAIL invariants $model: $1"
    [ ! -s "$err" ] || sed 's/^/    /;5q' "$err"
    bad=1
}

# must EXIT-CODE COMMAND...
must()
{
    want=$1
    shift
    timeout 120 "$@" 2>"$err"
    code=$?
    [ $code -eq "$want" ] && return 0
    fail "exit $code instead of $want: $(echo "$*" | sed "s|$tmp/||g; s|$sactag|sactag|")"
    return 1
}

same()
{
    cmp -s "$1" "$2" || { : >"$err"; fail "$3"; }
}

tag()
{
    must 0 "$sactag" tag "$1" -o "$2" --carrier "$carrier" --external-data keep -q
}

# Everything but the model's name in the header may depend on the carrier or not at all.
check_carrier()
{
    carrier=$1
    tag "$path" t || return
    must 0 "$sactag" strip t -o s --external-data keep -q && same "$path" s "strip does not restore the bytes ($carrier)"
    tag t tt && same t tt "tagging twice is not tagging once ($carrier)"
    [ ! -e s ] || { tag s ts && same t ts "tagging the stripped model gives other bytes ($carrier)"; }
    cp t i && must 0 "$sactag" strip --in-place i -q && same "$path" i "strip in place differs ($carrier)"
    must 0 "$sactag" tag --in-place i --carrier "$carrier" -q && same t i "tag in place differs ($carrier)"
    tag first x && same t x "tags of carrier metadata are not replaced ($carrier)"
    must 0 "$sactag" plan t --format tsv >p && same plan p "tagging changes the plan ($carrier)"
    must 0 "$sactag" show t --format tsv >w &&
        awk -F'\t' 'NR == 1 || $11 != "none" { print $1 FS $2 FS $3 FS $5 FS $11 }' plan >want &&
        cut -f 1,2,3,5,11 w | sort >got && sort -u want -o want && same want got "show differs from plan ($carrier)"
    check_all
}

# Every node of a block.
check_all()
{
    must 0 "$sactag" tag t -o a --carrier "$carrier" --tag all --external-data keep -q || return
    must 0 "$sactag" strip a -o s --external-data keep -q && same "$path" s "strip does not restore the bytes ($carrier, all)"
    must 0 "$sactag" check a -q
    [ "$carrier" = metadata ] || return 0
    must 0 "$sactag" tag "$path" -o s --tag all --external-data keep -q && same s a "tagged over mms it differs (all)"
    must 0 "$sactag" tag a -o s --tag all --external-data keep -q && same s a "tagging twice is not tagging once (all)"
    must 0 "$sactag" show a --format tsv >w && cut -f 1,2,3,5,11 w | sort >got &&
        { comm -23 want got >missing; [ ! -s missing ] || fail "mms have other tags (all)"; }
}

# Failing writes: a full disk, no such directory, a limit on the size of files.
check_failures()
{
    must 5 "$sactag" tag "$path" -o /dev/full --external-data keep -q
    must 5 "$sactag" tag "$path" -o nowhere/out --external-data keep -q
    echo old >old
    (ulimit -f 0 && exec timeout 120 "$sactag" tag "$path" -o old --external-data keep -q >/dev/null 2>&1)
    code=$?
    [ $code -eq 5 ] || { : >"$err"; fail "exit $code instead of 5 when the output may not grow"; }
    echo old | cmp -s - old || { : >"$err"; fail "a failed write has changed the old file"; }
}

listed()
{
    [ "$list" ] && cut -f 1 "$list" | grep -qxF "$model"
}

check_model()
{
    model=$1 path=$(realpath "$1") bad=
    case $model in
    *.txtpb)
        protoc -I "$root/schema" --encode=onnx.ModelProto onnx.proto <"$model" >"$tmp/model.onnx" || exit 1
        path=$tmp/model.onnx
        ;;
    esac
    models=$((models + 1))
    rm -rf "$work" && mkdir "$work" && cd "$work" || exit 1
    timeout 120 "$sactag" tag "$path" -o first --external-data keep 2>"$err"
    code=$?
    case $code in
    0)
        must 0 "$sactag" plan "$path" --format tsv >plan
        check_carrier metadata
        case $path in
        *.pt2) ;;
        *)
            check_carrier attribute
            check_carrier popart
            ;;
        esac
        check_failures
        rm -f plan p w want got missing a t tt s ts i x first old
        listed && { : >"$err"; fail "listed in $list, but not refused"; }
        ;;
    2 | 3 | 4)
        refused=$((refused + 1))
        echo "refused $model: exit $code: $(grep -m 1 . "$err")"
        [ -s "$err" ] || fail "refused without a message"
        if [ "$list" ] && ! listed; then fail "refused"; fi
        timeout 120 "$sactag" plan "$path" -q >/dev/null 2>&1
        [ $? -eq 0 ] || must $code "$sactag" plan "$path" # plan may show what cannot be written
        ;;
    *) fail "exit $code" ;;
    esac
    left=$(ls -A "$work" "$TMPDIR" | grep -v ':$' | grep .)
    [ -z "$left" ] || { : >"$err"; fail "left behind: $left"; }
    cd "$start" || exit 1
    if [ "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
}

start=$(pwd)
find "$@" -type f \( -name '*.onnx' -o -name '*.pt2' -o -name '*.ort' -o -name '*.txtpb' \) | sort >"$tmp/list"
while read -r file; do
    check_model "$file" </dev/null
done <"$tmp/list"
echo "$models models: $((models - refused)) tagged and stripped, $refused refused"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
