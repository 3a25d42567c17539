#!/bin/sh
# Seeds for the fuzz targets, made of the tests' models: seeds.sh SACTAG FOLDER. What the corpus was begun with; to be
# minimised into tests/fuzz/corpus by fuzz_TARGET -merge=1.
set -eu
sactag=$(realpath "$1") out=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out/wire" "$out/onnx" "$out/pt2" "$out/plan" "$out/names" "$out/match"

# Models without their data, which nobody reads.
for text in "$root"/tests/golden/*.txtpb "$root"/tests/fuzz/seeds/*.txtpb; do
    [ -e "$text" ] || continue
    protoc -I "$root/schema" --encode=onnx.ModelProto onnx.proto <"$text" >"$out/onnx/$(basename "$text" .txtpb)"
done
for model in "$root"/tests/cases/*/*.onnx; do
    name=$(basename "$(dirname "$model")")_$(basename "$model" .onnx)
    protoc -I "$root/schema" --decode=onnx.ModelProto onnx.proto <"$model" |
        sed '/^ *\(raw_data\|float_data\|doc_string\):/d' |
        protoc -I "$root/schema" --encode=onnx.ModelProto onnx.proto >"$out/onnx/$name"
    [ "$(wc -c <"$out/onnx/$name")" -lt 12000 ] || rm "$out/onnx/$name"
done
for model in "$out"/onnx/*; do
    name=$(basename "$model")
    for carrier in metadata attribute; do
        "$sactag" tag "$model" -o "$out/onnx/$name.$carrier" --carrier $carrier --external-data keep -q 2>/dev/null || :
    done
    "$sactag" plan "$model" --format json >"$out/plan/$name.json" 2>/dev/null || rm "$out/plan/$name.json"
    "$sactag" plan "$model" --format tsv >"$out/plan/$name.tsv" 2>/dev/null || rm "$out/plan/$name.tsv"
done
cp "$out"/onnx/* "$out/wire"
for model in "$root"/tests/pt2/*.pt2 "$root"/tests/cases/*/*.pt2; do
    name=$(basename "$(dirname "$model")")_$(basename "$model" .pt2)
    [ "$(wc -c <"$model")" -gt 15000 ] || cp "$model" "$out/pt2/$name"
    python3 - "$model" >"$out/pt2/$name.json" <<'END'
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
program = json.loads(archive.read([n for n in archive.namelist() if n.endswith(".json")][0]))
def shorten(x):
    if isinstance(x, dict):
        x.pop("stack_trace", None), x.pop("torch_fn", None)
        x = x.values()
    if not isinstance(x, str) and hasattr(x, "__iter__"):
        for y in x:
            shorten(y)
shorten(program)
sys.stdout.write(json.dumps(program, separators=(",", ":")))
END
    [ "$(wc -c <"$out/pt2/$name.json")" -lt 20000 ] || rm "$out/pt2/$name.json"
done
python3 "$root/tests/fuzz/seeds.py" "$out/pt2"
(
    mkdir "$out/hostile" && cd "$out/hostile" && python3 "$root/tests/hostile/make.py"
    find . -maxdepth 1 -type f -size -9 -name '*.onnx' -exec cp -t "../onnx" {} +
    find . -maxdepth 1 -type f -size -9 -name '*.pt2' -exec cp -t "../pt2" {} +
    find . -maxdepth 1 -type f -size -9 \( -name '*.json' -o -name '*.tsv' \) -exec cp -t "../plan" {} +
)
rm -r "$out/hostile"
sed 's/"digest": "[0-9a-f]*"/"digest": "f7874a24a80b61ffb864434c825718b7"/' "$out/plan/plan.json" >"$out/plan/digest.json" # plan.c's model
"$sactag" tag "$out/onnx/plan" -o "$out/tagged" -q
python3 - "$out/tagged" >"$out/plan/sac_plan" <<'END'
import sys
text = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(text[text.index(b'{"version"'):text.rindex(b"}") + 1])
END
rm "$out/tagged"

printf '%s\t%s\t%s\t%s\n' /layers.0/attention/wq/MatMul onnx::MatMul_12 '' '' /layers.0/attention/wk/MatMul onnx::MatMul_13 '' '' \
    /layers.1/attention/wq/MatMul_1 onnx::MatMul_14 '' '' /output/MatMul output.weight '' '' >"$out/names/torchscript"
printf '%s\t%s\t%s\t%s\n' node_1 val_1 "['', 'layers.0', 'layers.0.wq', 'linear']" "['M', 'Block', 'Linear', 'aten.linear.default']" \
    node_2 val_2 "['', 'layers.1', 'layers.1.wq', 'linear_1']" "['M', 'Block', 'Linear', 'aten.linear.default']" >"$out/names/dynamo"
printf '%s\t%s\t%s\t%s\t%s\n' MatMul_1 h.0.attn.c_attn.weight '' '' ': M/h.0: Block/h.0.attn: Attention' MatMul_2 h.1.attn.c_attn.weight '' '' \
    ': M/h.1: Block' >"$out/names/namespace"
printf '%s\t%s\n' a/b/layer_0/query/MatMul bert/encoder/layer_0/query/kernel:0 x fc_0.w_0 y layers.0.wn.parametrizations.weight.original1 \
    z layers.0.wn.weight_v 'fused /l.0/a/MatMul/MatMulAddFusion' model.layers.0.q_proj.MatMul.weight >"$out/names/others"
printf 'moe.router.gate\nlayers.0.moe.router.gate\nlayers.0\n_orig_mod.module.layers.0.moe' >"$out/match/exact"
printf '**.w?*\nlayers.0.attention.wq.weight\nlayers.0\nlayers.0.attention.wq' >"$out/match/glob"
printf "layers.0.\nlayers.0\nlayers.0\ngetattr(L['fn'], '1').attn" >"$out/match/source"
printf 'a\t\\x\n\n\n\033[31m\302\200\377\342\200\256' >"$out/match/escapes"
