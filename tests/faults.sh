#!/bin/sh
# What is left when memory, disk or power fail: faults.sh [--all] [--only KIND] BUILD [DEBUG].
#
# Runs commands on small models again and again, each time with one fault (tests/faults/faults.c says which there are and what
# must hold), and some things that are no fault of anybody: outputs that are no files, two processes that write one. Without
# --all only every so many-th fault is tried. Allocations fail in the program of build DEBUG, where the arena asks for each
# on its own (BUILD itself, when none is given). The last line is "N passed, M failed".
set -u
all= only=
[ "$1" = --all ] && all=1 && shift
[ "$1" = --only ] && only=$2 && shift 2
build=$(realpath "$1") sactag=$(realpath "$1/sactag") debug=$(realpath "${2-$1}/sactag") root=$(cd "$(dirname "$0")/.." && pwd) passed=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"; [ -z "${shm-}" ] || rm -rf "$shm"' EXIT
export LC_ALL=C TERM=dumb
unset NO_COLOR
cases=$root/tests/cases err=$tmp/err
: >"$err"

counted()
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# stage FILE [NAME]...: what the next commands find; with "-" as FILE an old output of that NAME.
stage()
{
    rm -rf "$tmp/in" && mkdir -p "$tmp/in/tmp" || exit 1
    while [ $# -ge 2 ]; do
        mkdir -p "$(dirname "$tmp/in/$2")"
        if [ "$1" = - ]; then echo old >"$tmp/in/$2"; else cp "$1" "$tmp/in/$2"; fi
        shift 2
    done
}

# faults KINDS STRIDE NAME ARGUMENTS...: the command with each kind of fault.
faults()
{
    kinds=$1 stride=$2 name=$3
    shift 3
    [ -z "$all" ] || stride=1
    for kind in $kinds; do
        [ -z "$only" ] || [ $kind = "$only" ] || continue
        work=${base-$tmp}/work
        rm -rf "$work" && mkdir "$work" || exit 1
        shim= program=$sactag
        [ $kind != alloc ] || shim="-a $build/tests/faults/alloc_shim.so" program=$debug
        "$build/tests/faults/faults" -s "$stride" $shim ${cut:+-c "$cut"} $kind "$name" "$tmp/in" "$work" -- "$program" "$@" >"$tmp/out" 2>&1
        counted $?
        cat "$tmp/out" >>"$tmp/log"
        grep -v ' faults injected, ' "$tmp/out" | head -n 40
    done
}

bin=$cases/toy/model_external.bin ext=$cases/toy/model_external.onnx plain=$cases/toy/model_paramsin.onnx
"$sactag" tag "$ext" -o "$tmp/tagged.onnx" -q --external-data keep || exit 1
"$sactag" tag "$ext" -o "$tmp/all.onnx" -q --external-data keep --tag all || exit 1
"$sactag" tag "$cases/toy/model.pt2" -o "$tmp/tagged.pt2" -q || exit 1
"$sactag" plan "$cases/toy/model_paramsin.onnx" -o "$tmp/plan.json" -q || exit 1
"$sactag" plan "$cases/toy/model_paramsin.onnx" --fqn moe.router.gate -o "$tmp/other.json" -q || exit 1

stage "$ext" m.onnx "$bin" model_external.bin - out.onnx
faults "alloc errors kill signals" 3 "tag over a file" tag m.onnx -o out.onnx
cut=m.onnx
faults cut 3 "tag over a file" tag m.onnx -o out.onnx
cut=
stage "$ext" m.onnx "$bin" model_external.bin
faults "errors kill" 5 "tag to a new file" tag m.onnx -o out.onnx -v
faults "alloc errors kill signals" 5 "tag in place" tag --in-place m.onnx --carrier popart
stage "$ext" a/m.onnx "$bin" a/model_external.bin - b/m.onnx
faults "alloc errors kill signals" 5 "tag and copy data" tag a/m.onnx -o b/m.onnx --external-data copy
faults "alloc errors kill" 9 "tag and link data" tag a/m.onnx -o b/m.onnx --external-data hardlink
faults "alloc errors kill" 9 "tag and link data by name" tag a/m.onnx -o b/m.onnx --external-data symlink
faults alloc 5 "tag every node" tag a/m.onnx -o a/out.onnx --tag all
stage "$tmp/all.onnx" m.onnx "$bin" model_external.bin
faults alloc 5 "check every node" check m.onnx
stage "$cases/toy/model.pt2" m.pt2 - out.pt2
faults "alloc errors kill signals" 5 "tag pt2" tag m.pt2 -o out.pt2
stage "$tmp/tagged.onnx" m.onnx "$bin" model_external.bin - out.onnx
faults "alloc errors kill signals" 5 "strip" strip m.onnx -o out.onnx
faults alloc 1 "check" check m.onnx --format json
faults alloc 1 "check what differs" check m.onnx --fqn layers.0.output --format json
faults alloc 1 "show" show m.onnx --format json
stage "$tmp/tagged.pt2" m.pt2
faults "alloc errors kill" 5 "strip pt2 in place" strip --in-place m.pt2
stage "$plain" m.onnx "$tmp/plan.json" plan.json "$tmp/other.json" other.json - out.onnx - out.json
faults "alloc errors kill" 5 "apply" apply m.onnx plan.json -o out.onnx
faults "alloc errors kill signals" 5 "plan to a file" plan m.onnx -o out.json
faults "alloc" 1 "plan" plan m.onnx --format json
faults "alloc" 1 "plan as tsv" plan m.onnx --format tsv --fqn moe.router.gate
faults "alloc" 1 "linears" linears m.onnx --format json
faults "alloc errors" 5 "diff" diff plan.json other.json --format json
faults "alloc" 1 "diff with the model" diff m.onnx other.json
stage "$plain" stdin
faults "alloc errors kill signals" 5 "tag from a pipe" tag - -o out.onnx
faults "alloc errors" 5 "tag to a stream" tag - -o -

# ---- memory, on models of all kinds: what is not known for want of memory must not be decided upon

for text in "$root"/tests/golden/*.txtpb; do
    protoc -I "$root/schema" --encode=onnx.ModelProto onnx.proto <"$text" >"$tmp/$(basename "$text" .txtpb).onnx" || exit 1
done
for model in "$tmp"/[!t]*.onnx "$cases"/reuse/model_paramsin.onnx "$cases"/biasmix/model_paramsin.onnx \
    "$cases"/toy/model_dynamo.onnx "$root"/tests/pt2/branches.pt2 "$root"/tests/pt2/repeated.pt2 "$root"/tests/pt2/mapped.pt2; do
    stage "$model" m
    faults alloc 19 "tag all of $(basename "$model")" tag m -o out --tag all --specialize --mm-rule torch
done
stage "$cases/scripted/model_paramsin.onnx" m
faults alloc 19 "plan of a loop" plan m --format json

# ---- input on one file system, output and temporary files on another

if shm=$(mktemp -d /dev/shm/faults.XXXXXX 2>/dev/null); then
    base=$shm
    stage - out.onnx
    faults "errors kill signals" 7 "tag onto another file system" tag "$plain" -o out.onnx
    faults "errors kill" 9 "tag and copy data onto another file system" tag "$ext" -o out.onnx --external-data copy
    base=
else
    echo "NOT RUN onto another file system: /dev/shm cannot be written to"
fi

# ---- outputs that are no plain files

cd "$tmp" && mkdir odd odd/folder odd/locked && cp "$plain" odd/m.onnx && cd odd || exit 1
"$sactag" tag m.onnx -o ../want -q || exit 1

# expect WHAT CODE COMMAND...: its exit code, at most one line on stderr, and no temporary file.
expect()
{
    what=$1 code=$2
    shift 2
    timeout 60 "$@" >"$tmp/out" 2>"$err"
    got=$?
    left=$(find . -name '.sactag-*')
    if [ $got -eq "$code" ] && [ "$(grep -vc '^profiling:' "$err")" -le 1 ] && [ -z "$left" ]; then
        counted 0
    else
        counted 1
        echo "FAIL faults $what: exit $got instead of $code; left: $left"
        sed 's/^/    /;5q' "$err"
    fi
}

# same FILE WANTED WHAT
same()
{
    cmp -s "$1" "$2"
    code=$?
    counted $code
    [ $code -eq 0 ] || echo "FAIL faults $3"
}

echo old >locked/old && chmod 644 locked/old && chmod 555 locked
user=
[ "$(id -u)" != 0 ] || user="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 755 "$tmp" && cp "$sactag" "$tmp/program" # where that user can reach it
expect "output is a folder without a name" 2 "$sactag" tag - -o folder -q
expect "output is a folder that is not there" 5 "$sactag" tag m.onnx -o nowhere/out -q
expect "the folder is read-only" 5 $user "$tmp/program" tag m.onnx -o locked/old -q
expect "the folder is read-only, a new file" 5 $user "$tmp/program" tag m.onnx -o locked/new -q
expect "the folder is read-only, a plan" 5 $user "$tmp/program" plan m.onnx -o locked/new.json -q
[ "$(ls locked; cat locked/old)" = "$(printf 'old\nold')" ]
counted $?
expect "a full disk" 5 "$sactag" tag m.onnx -o /dev/full -q
expect "a full disk, a plan" 5 "$sactag" plan m.onnx --format json -o /dev/full
mkfifo fifo
cat fifo >got &
expect "output is a FIFO" 0 "$sactag" tag m.onnx -o fifo -q
wait
same got ../want "a FIFO gets what a file would"
(exec <fifo) &
expect "a FIFO whose reader has gone" 141 sh -c '"$0" tag "$1" -o fifo -q' "$sactag" "$cases/reuse/model_dynamo.onnx" # more than a pipe holds
wait
echo old >real && ln -s real link
expect "output is a symbolic link" 0 "$sactag" tag m.onnx -o link -q
[ -L link ]
counted $?
same real ../want "what the link names is replaced"
for how in "both -o both" "alias -o both" "both -o alias" "--in-place both"; do
    cp m.onnx both && ln -sf both alias
    expect "output is the input: $how" 0 "$sactag" tag $how -q
    same both ../want "output is the input: $how"
done
[ -L alias ]
counted $?

# ---- two processes that write one file

"$sactag" tag "$cases/toy/model_train.onnx" -o ../want1 -q && "$sactag" tag "$cases/toy/model_train.onnx" -o ../want2 -q --force-shape 64x8 || exit 1
torn=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$sactag" tag "$cases/toy/model_train.onnx" -o one -q &
    "$sactag" tag "$cases/toy/model_train.onnx" -o one -q --force-shape 64x8 || torn=$((torn + 1))
    wait $! || torn=$((torn + 1))
    cmp -s one ../want1 || cmp -s one ../want2 || torn=$((torn + 1))
done
[ $torn -eq 0 ] && [ -z "$(find . -name '.sactag-*')" ] && ! cmp -s ../want1 ../want2
counted $?
[ $torn -eq 0 ] || echo "FAIL faults two processes write one file: $torn of 20 times neither's, or an error"
cd "$root" || exit 1

awk '/ faults injected, / { sub(/.*: /, ""); injected += $1; runs += $4; lost += $6; partial += $10; litter += $13; other += $15; kept += $17 }
    END { printf "faults injected %d, runs %d, old file lost %d, partial file %d, litter %d, anything else wrong %d, whole file under a second name after SIGKILL %d\n",
        injected, runs, lost, partial, litter, other, kept }' "$tmp/log"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
