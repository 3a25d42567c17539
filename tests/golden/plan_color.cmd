# Never in a pipe, unless asked for.
sactag plan cases/toy/model_train.onnx --fqn attention.wq | grep -c "$(printf '\033')" || true
NO_COLOR=1 sactag plan cases/toy/model_train.onnx --fqn attention.wq --color always | cat -v
sactag plan cases/toy/model_train.onnx --fqn nothing --color always --format tsv 2>&1 >rows.tsv | cat -v
sactag plan cases/toy/model_train.onnx --color always --format tsv | grep -c "$(printf '\033')" || true
