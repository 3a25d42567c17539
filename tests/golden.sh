#!/bin/sh
# Golden tests of the command line: golden.sh [--update] SACTAG [NAME...]. tests/README.md says how to write one.
set -u
update=
[ "${1-}" = --update ] && update=1 && shift
program=$(realpath "$1") root=$(cd "$(dirname "$0")/.." && pwd) passed=0 failed=0
shift
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/models"
ln -s "$program" "$tmp/bin/sactag"
ln -s "$root/tests/pt2" "$tmp/models/pt2"
export PATH="$tmp/bin:$PATH" LC_ALL=C TERM=dumb
unset NO_COLOR MAKEFLAGS

for text in "$root"/tests/golden/*.txtpb; do
    [ -e "$text" ] || continue
    name=$(basename "$text" .txtpb)
    if ! protoc -I "$root/schema" --encode=onnx.ModelProto onnx.proto <"$text" >"$tmp/models/$name.onnx"; then
        echo "FAIL golden $name: $name.txtpb is no model"
        failed=$((failed + 1))
    fi
done

for cmd in "$root"/tests/golden/*.cmd; do
    [ -e "$cmd" ] || continue
    base=${cmd%.cmd} name=$(basename "$cmd" .cmd)
    [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    run=$tmp/$name
    mkdir "$run" "$run.tmp"
    ln -s "$root/tests/cases" "$run/cases"
    ln -s "$root/examples" "$run/examples"
    ln -s "$tmp/models" "$run/models"
    [ ! -e "$tmp/models/$name.onnx" ] || cp "$tmp/models/$name.onnx" "$run/in.onnx"
    (cd "$run" && TMPDIR=$run.tmp timeout 60 sh -e "$cmd" </dev/null >"$run.out" 2>"$run.err")
    echo $? >"$run.code"
    bad=
    for part in out err code; do
        want=$base.$part
        if [ ! -e "$want" ]; then
            want=$tmp/default.$part
            if [ $part = code ]; then echo 0; else :; fi >"$want"
        fi
        cmp -s "$want" "$run.$part" && continue
        if [ "$update" ]; then
            cp "$run.$part" "$base.$part"
            [ -s "$base.$part" ] || rm "$base.$part"
            echo "updated $name.$part"
        else
            [ "$bad" ] || echo "FAIL golden $name: $(tail -n 1 "$cmd")"
            bad=1
            diff -u --label "$name.$part" --label "now" "$want" "$run.$part" | sed 's/^/    /' | head -n 60
        fi
    done
    if [ -n "$(ls -A "$run.tmp")" ]; then
        echo "FAIL golden $name: left in TMPDIR: $(ls -A "$run.tmp")"
        bad=1
    fi
    if [ "$bad" ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
done

# An expected file whose test is gone would never be looked at again.
for file in "$root"/tests/golden/*.out "$root"/tests/golden/*.err "$root"/tests/golden/*.code; do
    if [ -e "$file" ] && [ ! -e "${file%.*}.cmd" ]; then
        echo "FAIL golden $(basename "$file"): has no .cmd"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
