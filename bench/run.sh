#!/bin/sh
# The benchmark: run.sh BUILD. Inputs, outputs and figures lie in BUILD/bench; the figures in BUILD/bench.json too.
#
#   SCALE=1        size of the inputs: 1 as docs/PERFORMANCE.md has them (8 GB of disk), 0.02 for a run of a minute
#   ROUNDS=7       paired rounds; ROUNDS_SLOW for peers that take long
#   ONLY="W N"     some of W X N M H E curves diff
#   PYTHON=python3 with onnx, or nothing to leave it out
set -eu
build=$1 here=$(cd "$(dirname "$0")" && pwd)
scale=${SCALE:-1} rounds=${ROUNDS:-7} slow=${ROUNDS_SLOW:-3} only=${ONLY:-W X N M H E curves diff} python=${PYTHON-python3}
case $build in /*) ;; *) build=$PWD/$build ;; esac
dir=$build/bench sactag=$build/sactag json=$build/bench/lines.json
mkdir -p "$dir"
: >"$json"
[ -z "$python" ] || $python -c 'import onnx' 2>/dev/null || python=
tab=$(printf '\t')

# scaled N: N scaled, at least 1.
scaled()
{
    awk -v n="$1" -v s="$scale" 'BEGIN { v = int(n * s + 0.5); print v < 1 ? 1 : v }'
}

# input NAME KIND:COUNT: makes the input when it is not there.
input()
{
    [ "$(cat "$dir/$1.kind" 2>/dev/null)" = "$2" ] || {
        "$build/bench/gen" "$2" "$dir/$1.onnx"
        echo "$2" >"$dir/$1.kind"
    }
    cat "$dir/$1.onnx" >/dev/null # the page cache is warm
}

# compare ROUNDS NAME: commands from standard input.
compare()
{
    OUT=$dir/out/out.onnx "$build/bench/measure" "$1" "$2" "$json"
    echo
}

# point NAME SIZE ARGUMENTS: what sactag takes, as one line.
point()
{
    echo "$1${tab}$sactag $3" | "$build/bench/measure" "$slow" "$1:$2" "$json" | tail -n 1 |
        awk -v k="$1" -v n="$2" '{ printf "%-8s %10d %9.3f s %9.1f MB\n", k, n, $3, $NF }'
}

wants()
{
    case " $only " in *" $1 "*) ;; *) return 1 ;; esac
}

# Commands that each input has: NAME [more options of tag].
ours()
{
    echo "cp${tab}cp $dir/$1.onnx \$OUT"
    echo "cp + sync${tab}cp $dir/$1.onnx \$OUT && sync \$OUT"
    echo "plan${tab}$sactag plan -q $dir/$1.onnx $tagging"
    echo "tag --no-sync${tab}$sactag tag -q --no-sync $dir/$1.onnx -o \$OUT $tagging ${2-}"
    echo "tag${tab}$sactag tag -q $dir/$1.onnx -o \$OUT $tagging ${2-}"
}

peers()
{
    echo "cp${tab}cp $dir/$1.onnx \$OUT"
    echo "tag --no-sync${tab}$sactag tag -q --no-sync $dir/$1.onnx -o \$OUT $tagging"
    echo "protobuf-c${tab}$build/bench/peer_c $dir/$1.onnx \$OUT"
    [ ! -x "$build/bench/peer_cpp" ] || echo "C++ protobuf${tab}$build/bench/peer_cpp $dir/$1.onnx \$OUT"
    [ -z "$python" ] || echo "Python onnx${tab}$python $here/peer.py $dir/$1.onnx \$OUT"
}

mkdir -p "$dir/out"
echo "scale $scale, $rounds rounds, $(nproc) cores, $(uname -sm)"
echo

tagging=
if wants W; then
    input W "llama:$(scaled 12)"
    ours W | compare "$rounds" W
    peers W | compare "$slow" "W, peers"
    rm -f "$dir/out/"*
fi
if wants X; then
    input X "llama-external:$(scaled 12)"
    for how in hardlink copy; do
        {
            echo "cp of the graph${tab}cp $dir/X.onnx \$OUT"
            echo "cp of graph and data${tab}cp $dir/X.onnx \$OUT && cp $dir/X.onnx.data $dir/out/"
            echo "tag, $how${tab}$sactag tag -q --no-sync $dir/X.onnx -o \$OUT --external-data $how"
            echo "plan${tab}$sactag plan -q $dir/X.onnx"
        } | CLEAN=$dir/out/X.onnx.data compare "$rounds" X
        rm -f "$dir/out/"*
    done
fi
tagging='--fqn moe.router.gate'
if wants N; then
    input N "moe:$(scaled 1000)"
    ours N | compare "$rounds" N
    peers N | compare "$slow" "N, peers"
fi
if wants M; then
    input M "moe:$(scaled 3333)"
    ours M | compare "$slow" M
fi
tagging=
if wants H; then # larger than 4 GiB at any scale: it takes no room on disk
    [ -e "$dir/H.onnx" ] || "$build/bench/gen" sparse:12 "$dir/H.onnx"
    {
        echo "plan${tab}$sactag plan -q $dir/H.onnx"
        echo "tag to a pipe${tab}$sactag tag -q $dir/H.onnx -o - | cat"
    } | compare 1 H
fi
if wants E; then
    n=$(scaled 500)
    mkdir -p "$dir/E" "$dir/E.out"
    "$build/bench/gen" moe:1 "$dir/E/1.onnx"
    i=1
    while [ "$i" -lt "$n" ]; do
        i=$((i + 1))
        [ -e "$dir/E/$i.onnx" ] || cp "$dir/E/1.onnx" "$dir/E/$i.onnx"
    done
    {
        echo "true, $n times${tab}i=0; while [ \$i -lt $n ]; do i=\$((i + 1)); /bin/true; done"
        echo "sactag, $n times${tab}i=0; while [ \$i -lt $n ]; do i=\$((i + 1)); $sactag tag -q --no-sync $dir/E/\$i.onnx -o $dir/E.out/\$i.onnx; done"
        echo "sactag once${tab}$sactag tag -q --no-sync $dir/E/*.onnx -o $dir/E.out/"
    } | compare "$slow" E
    rm -rf "$dir/E.out"
fi
if wants curves; then
    echo "scaling: seconds (cpu) and peak anonymous memory of plan by size; each twice the one before"
    for kind in moe:125 fan:25000 chain:25000 names:25000 attr:25000000 depth:8; do
        base=$(scaled "${kind#*:}")
        [ "${kind%:*}" != depth ] || base=8 # 64 is the limit
        for factor in 1 2 4 8; do
            "$build/bench/gen" "${kind%:*}:$((base * factor))" "$dir/curve.onnx"
            cat "$dir/curve.onnx" >/dev/null
            point "${kind%:*}" "$((base * factor))" "plan -q $dir/curve.onnx"
        done
    done
fi
if wants diff; then
    echo
    echo "diff of N against itself as another exporter would name it: seconds (cpu) and peak anonymous memory by layers"
    base=$(scaled 250)
    for factor in 1 2 4; do
        "$build/bench/gen" "moe:$((base * factor))" "$dir/curve.onnx"
        "$build/bench/gen" "moe:$((base * factor))" "$dir/renamed.onnx" other_
        cat "$dir/curve.onnx" "$dir/renamed.onnx" >/dev/null
        point diff "$((base * factor))" "diff -q $dir/curve.onnx $dir/renamed.onnx"
    done
    rm -f "$dir/renamed.onnx"
fi
rm -rf "$dir/out"

# One JSON document; a plot of the curves where gnuplot is.
awk 'BEGIN { print "[" } { if (NR > 1) print ","; printf "%s", $0 } END { print "\n]" }' "$json" >"$build/bench.json"
if command -v gnuplot >/dev/null && wants curves; then
    for kind in moe fan chain names; do
        sed -n "s/.*\"input\": \"$kind:\([0-9]*\)\".*\"cpu\": \([0-9.]*\).*/\1 \2/p" "$json" >"$dir/$kind.dat"
    done
    gnuplot -e "set terminal svg; set output '$build/bench.svg'; set logscale xy; set key left top;
        set xlabel 'layers, nodes or names'; set ylabel 'seconds to decide';
        plot for [k in 'moe fan chain names'] '$dir/'.k.'.dat' with linespoints title k"
    echo "plot: $build/bench.svg"
fi
echo "figures: $build/bench.json"
