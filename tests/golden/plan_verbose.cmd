# -v shows what is forced where the format has no room for it.
sactag plan cases/llama_gqa/model_train.onnx --fqn attention.wo --format tsv -v > rows.tsv
wc -l < rows.tsv
sactag tag cases/llama_gqa/model_train.onnx --fqn attention.wo -o out.onnx -v
sactag tag cases/llama_gqa/model_train.onnx --fqn attention.wo -o out.onnx -q
