# Functions whose calls decide differently: refused; with --specialize, copied.
if sactag tag in.onnx -o out.onnx; then exit 1; fi
sactag tag in.onnx -o out.onnx --specialize -q
sactag plan in.onnx --specialize --format tsv -q >plan.tsv
sactag show out.onnx --format tsv
sactag check out.onnx
sactag diff plan.tsv out.onnx
# The copies stay, and that is said; whatever comes between.
sactag tag in.onnx -o noted.onnx --specialize 2>&1 | grep copies
cmp out.onnx noted.onnx
sactag strip out.onnx -o stripped.onnx
sactag strip stripped.onnx -o - | cmp - stripped.onnx
sactag tag out.onnx -o again.onnx --carrier attribute -q
sactag strip again.onnx -o - | cmp - stripped.onnx
sactag tag stripped.onnx -o again.onnx
sactag strip again.onnx -o - | cmp - stripped.onnx
