for c in metadata attribute popart; do
    sactag tag cases/toy/model_train.onnx -o $c.onnx --fqn moe.router.gate --carrier $c
    sactag show $c.onnx --format tsv
    sactag strip $c.onnx -o - | cmp - cases/toy/model_train.onnx
done
sactag show metadata.onnx
sactag show metadata.onnx --format json
sactag show cases/toy/model_train.onnx
sactag show cases/toy/model_train.onnx --format tsv
