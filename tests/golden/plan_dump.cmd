sactag plan cases/toy/model_folded.onnx --dump-ir
sactag plan cases/toy/model_folded.onnx --dot --fqn attention.wq
sactag plan cases/toy/model_folded.onnx --dot > /dev/full || echo "exit $?"
sactag plan cases/toy/model_folded.onnx --dump-ir -o /dev/full || echo "exit $?"
