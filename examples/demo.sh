#!/bin/sh
# What `make demo` runs: demo.sh SACTAG. The main job on a real exported model, a mixture-of-experts transformer.
set -eu
sactag=$1 model=examples/moe.onnx
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run()
{
    printf '\n$ %s\n' "$(echo "$*" | sed "s|$out/||g; s|$sactag|sactag|")"
    "$@"
}

run "$sactag" plan "$model" --fqn moe.router.gate
run "$sactag" tag "$model" -o "$out/tagged.onnx" --fqn moe.router.gate
run "$sactag" show "$out/tagged.onnx"
run "$sactag" strip "$out/tagged.onnx" -o "$out/stripped.onnx"
run cmp "$out/stripped.onnx" "$model"
printf '\nStripping the tags gave back the exact bytes.\n'
