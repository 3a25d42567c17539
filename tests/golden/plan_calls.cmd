# A block that is called several times.
sactag plan cases/reuse/model_train.onnx
sactag plan cases/albert/model_train.onnx --merge
