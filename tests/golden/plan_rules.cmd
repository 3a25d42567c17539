# Biased Linears: the two rules differ.
sactag plan cases/biasmix/model_train.onnx --merge
sactag plan cases/biasmix/model_train.onnx --merge --mm-rule torch
sactag plan cases/biasmix/model_train.onnx --merge --profile titan
