# Paths of graphs; a function's rows once per call, its tags once.
sactag plan in.onnx --format tsv --order file
sactag plan in.onnx -q
sactag tag in.onnx -o out.onnx -q
sactag show out.onnx --format tsv
sactag strip out.onnx -o - | cmp - in.onnx
sactag plan in.onnx --dot -q
# names in a comparison tell their graph, as those in a plan do
sactag plan in.onnx -q --format json > plain.json
sactag diff plain.json in.onnx --force-shape 4x4
