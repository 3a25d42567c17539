code() { sactag plan "$@" --format tsv && echo "exit 0: $*" || echo "exit $?: $*"; }
# no Linear: exit 3
code cases/toy/model_train.onnx --fqn moe
code cases/toy/model_train.onnx --fqn moe.router,attention.wq
code cases/toy/model_train.onnx --blocks 'a..b'
code cases/toy/model_train.onnx --blocks whole --blocks 'layers.*'
code cases/toy/model_train.onnx --blocks 'nothing.*'
code cases/toy/model_train.onnx --blocks 'layers.0,layers.1'
# matches nowhere: a warning with the closest name, or with --strict an error
code cases/toy/model_train.onnx --fqn moe.router.gte
code cases/toy/model_train.onnx --fqn moe.router.gte -q
code cases/toy/model_train.onnx --fqn moe.router.gte --strict
# outside all blocks only
code cases/llama_gqa/model_train.onnx --fqn output
