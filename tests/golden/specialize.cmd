# Functions whose calls decide differently: refused; with --specialize, copied.
if sactag tag in.onnx -o out.onnx; then exit 1; fi
sactag tag in.onnx -o out.onnx --specialize -q
sactag plan in.onnx --specialize --format tsv -q >plan.tsv
sactag show out.onnx --format tsv
sactag check out.onnx
sactag diff plan.tsv out.onnx
