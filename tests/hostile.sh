#!/bin/sh
# Hostile files, each against a process of its own: hostile.sh SACTAG. hostile/make.py makes them, hostile/table.txt says
# what must come of each: exit code and messages, to the byte, within 10 seconds of processor time and 256 MB of address space
# (more where the table says so; a sanitizer's build has no such bound). Nothing that drives a terminal may ever be printed, and
# nothing may be left behind. The last line is "N passed, M failed".
set -u
program=$(realpath "$1") here=$(cd "$(dirname "$0")/hostile" && pwd) passed=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/files" "$tmp/TMPDIR"
cd "$tmp/files" && python3 "$here/make.py" && mkdir out || exit 1
export LC_ALL=C TERM=dumb TMPDIR="$tmp/TMPDIR"
unset NO_COLOR
sanitised=
! grep -q __asan_init "$program" || sanitised=1
before=$(find . | LC_ALL=C sort)

# run MB ARGUMENTS...: standard output, error and exit code into files.
run()
{
    mb=$1
    shift
    (
        ulimit -t 10
        [ "$sanitised" ] || ulimit -v $((mb * 1024))
        exec timeout 60 "$program" "$@" </dev/null >"$tmp/got.out" 2>"$tmp/got.err"
    ) 2>/dev/null
    echo $? >"$tmp/got.code"
}

# Compares what ran last with what was said of it.
finish()
{
    [ "$arguments" ] || return 0
    bad=
    # Words of the table are options and names of files: none has white space or a wildcard.
    # shellcheck disable=SC2086
    run "$mb" $arguments
    for part in code err out; do
        [ $part = out ] && [ ! -e "$tmp/want.out" ] && continue
        [ -e "$tmp/want.$part" ] || : >"$tmp/want.$part"
        if [ $part = out ]; then sed -i '/^index\tgraph\t/d' "$tmp/got.out"; fi
        cmp -s "$tmp/want.$part" "$tmp/got.$part" && continue
        [ "$bad" ] || echo "FAIL hostile $arguments"
        bad=1
        diff -u --label "want.$part" --label "now" "$tmp/want.$part" "$tmp/got.$part" | cut -c 1-400 | sed 's/^/    /;30q'
    done
    if cat "$tmp/got.out" "$tmp/got.err" | tr -d '\n\t' | grep -q '[[:cntrl:]]'; then
        echo "FAIL hostile $arguments: control characters are printed"
        bad=1
    fi
    if ! cat "$tmp/got.out" "$tmp/got.err" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1; then
        echo "FAIL hostile $arguments: what is printed is not UTF-8"
        bad=1
    fi
    rm -rf out && mkdir out
    if [ "$(find . | LC_ALL=C sort)" != "$before" ]; then
        echo "FAIL hostile $arguments: something is left behind"
        bad=1
    fi
    if [ -n "$(ls -A "$TMPDIR")" ]; then
        echo "FAIL hostile $arguments: left in TMPDIR: $(ls -A "$TMPDIR")"
        bad=1
    fi
    if [ "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
    rm -f "$tmp"/want.* "$tmp"/got.*
}

arguments='' used=$tmp/used
while IFS= read -r line; do
    case $line in
    '' | '#'*) ;;
    [0-9]*)
        finish
        code=${line%% *} arguments=${line#* } mb=256
        case $arguments in @*) mb=${arguments%% *} mb=${mb#@} arguments=${arguments#* } ;; esac
        echo "$code" >"$tmp/want.code"
        echo "$arguments" | tr ' ' '\n' >>"$used"
        ;;
    '! '*) printf '%s\n' "${line#! }" >>"$tmp/want.err" ;;
    '> '*) printf '%s\n' "${line#> }" >>"$tmp/want.out" ;;
    *)
        echo "FAIL hostile: table.txt: what is '$line'?"
        failed=$((failed + 1))
        ;;
    esac
done <"$here/table.txt"
finish

# Each file is there for a test.
for file in *.* data/*.onnx; do
    grep -qxF "$file" "$used" || { echo "FAIL hostile $file: no test uses it"; failed=$((failed + 1)); }
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
