# Only the last format may differ in what it shows; no raw control byte comes out of any.
sactag plan in.onnx --format tsv
sactag plan in.onnx --format json
sactag plan in.onnx
sactag linears in.onnx --format tsv
sactag plan in.onnx --dump-ir
sactag plan in.onnx --dot
{ sactag plan in.onnx --format tsv; sactag plan in.onnx --format json; sactag plan in.onnx; sactag plan in.onnx --dot; } 2>&1 |
    tr -d '\n\t' | LC_ALL=C grep -c "$(printf '[\001-\037\177]')" || true
