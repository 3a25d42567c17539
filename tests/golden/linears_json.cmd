sactag linears cases/llama_gqa/model_train.onnx --format json
