sactag plan in.onnx
sactag plan in.onnx --format tsv
sactag plan in.onnx --format json
sactag linears in.onnx
sactag linears in.onnx --format tsv
sactag show in.onnx
sactag show in.onnx --format tsv
sactag show in.onnx --format json
# written with sac.plan alone, a note, exit 0
sactag tag in.onnx -o out.onnx
sactag show out.onnx
sactag strip out.onnx -o - | cmp - in.onnx
