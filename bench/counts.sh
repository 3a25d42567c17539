#!/bin/sh
# Instructions that the hot paths take on a graph of 30,000 nodes: counts.sh [--update] BUILD.
#
# bench/counts.budget holds what they took, and with which compiler and libc. With the same two, more than 10 %
# above it is a failure; with others the counts are information. --update writes what they take now.
set -eu
update=
[ "$1" != --update ] || { update=1; shift; }
build=$1 here=$(cd "$(dirname "$0")" && pwd)
dir=$build/bench
budget=$here/counts.budget
with=$(${CC:-gcc} --version | head -n 1)
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo unknown)
command -v valgrind >/dev/null || { echo "valgrind is missing: nothing counted"; exit 0; }
"$dir/gen" moe:100 "$dir/counts.onnx"

count()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : //p'
}

{
    echo "compiler $with"
    echo "libc $libc"
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
    { key = $1; $1 = ""; sub(/^ /, "") }
    NR == FNR { was[key] = $0; next }
    key == "compiler" || key == "libc" { if (was[key] != $0) other = other " (" key ": " $0 ", budget: " was[key] ")"; next }
    {
        ratio = was[key] ? $0 / was[key] : 1
        printf "%-5s %12d instructions, %7.0f a node, %+.1f %% of the budget\n", key, $0, $0 / 30000, (ratio - 1) * 100
        if (ratio > 1.1) over = 1
    }
    END {
        if (other) { print "for information only:" other; exit 0 }
        if (over) print "more than 10 % over bench/counts.budget: find out why, or `bench/counts.sh --update BUILD`"
        exit over
    }' "$budget" "$dir/counts"
