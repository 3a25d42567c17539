#!/bin/sh
# Instructions that the hot paths take on a graph of 30,000 nodes: counts.sh [--update] BUILD. The last line is
# "N passed, M failed".
#
# bench/counts.budget holds what they took, and with which compiler, flags and libc. With the same three, more than
# 10 % above it is a failure; with others the counts are information. --update writes what they take now.
set -eu
update=
[ "$1" != --update ] || { update=1; shift; }
build=$1 here=$(cd "$(dirname "$0")" && pwd)
dir=$build/bench
budget=$here/counts.budget
command -v valgrind >/dev/null || {
    echo "NOT RUN: valgrind is missing"
    echo "0 passed, 0 failed"
    exit 0
}
"$dir/gen" moe:100 "$dir/counts.onnx"

# libc has its text functions in several versions, for processors of different age: the oldest is always there.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F

count()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

{
    echo "compiler $(${CC:-gcc} --version | head -n 1)"
    echo "flags $(sed 's/ -I[^ ]*//g; s/^[^ ]* //' "$build/.flags")"
    echo "libc $(getconf GNU_LIBC_VERSION 2>/dev/null || echo unknown)"
    echo "plan $(count "$build/sactag" plan -q "$dir/counts.onnx" --fqn moe.router.gate)"
    echo "tag $(count "$build/sactag" tag -q --no-sync "$dir/counts.onnx" -o "$dir/counts.out" --fqn moe.router.gate)"
} >"$dir/counts"
rm -f "$dir/counts.out"
if [ "$update" ]; then
    cp "$dir/counts" "$budget"
    cat "$budget"
    exit 0
fi
awk '
    { key = $1; sub(/^[^ ]* /, "") }
    NR == FNR { was[key] = $0; next }
    key == "compiler" || key == "flags" || key == "libc" { if (was[key] != $0) other = other " " key; next }
    {
        ratio = was[key] ? $0 / was[key] : 1
        printf "instructions of %s: %d, %.0f a node, %+.1f %% of the budget\n", key, $0, $0 / 30000, (ratio - 1) * 100
        ratio > 1.1 ? over++ : within++
    }
    END {
        if (other) {
            print "NOT RUN: the budget is for another" other ": the counts are information"
            print "0 passed, 0 failed"
            exit 0
        }
        if (over) print "more than 10 % over bench/counts.budget: find out why, or `bench/counts.sh --update BUILD`"
        print within + 0 " passed, " over + 0 " failed"
        exit over > 0
    }' "$budget" "$dir/counts"
