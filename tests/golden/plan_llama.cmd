# Three equal layers: all rows, then merged.
sactag plan cases/llama_gqa/model_train.onnx --fqn attention.wo
sactag plan cases/llama_gqa/model_train.onnx --fqn attention.wo --merge
