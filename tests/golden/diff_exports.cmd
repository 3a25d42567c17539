# Exports of one model decide the same, whatever their nodes and weights are called.
cd cases/toy
for other in model_train.onnx model_paramsin.onnx model_dyn.onnx model_fp16.onnx model_op11.onnx model.pt2; do
    sactag diff model_folded.onnx $other --mm-rule onnx --stat
done
# A tagged model stands for its tags.
cd ../..
sactag tag cases/toy/model_folded.onnx -o tagged.onnx --fqn output -q
sactag diff tagged.onnx cases/toy/model_train.onnx
sactag diff cases/toy/model_train.onnx tagged.onnx --stat
sactag diff cases/toy/model_train.onnx tagged.onnx --fqn moe.router.gate -U0 || echo "differ: $?"
