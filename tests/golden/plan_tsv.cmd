sactag plan cases/toy/model_train.onnx --fqn moe.router.gate --format tsv
