sactag plan cases/toy/model_train.onnx -o golden.tsv
sactag diff golden.tsv cases/toy/model_train.onnx --fqn moe.router.gate --format tsv || echo "differ: $?"
sactag diff golden.tsv cases/toy/model_train.onnx --fqn moe.router.gate --format json || echo "differ: $?"
sactag diff golden.tsv cases/toy/model_train.onnx --fqn moe.router.gate -o out.json || echo "differ: $?"
sactag diff golden.tsv cases/toy/model_train.onnx --fqn moe.router.gate --format json | cmp - out.json
sactag diff golden.tsv cases/toy/model_train.onnx --format json
# Either may come through a pipe; absolute names are shown without folders.
sactag diff - cases/toy/model_train.onnx < golden.tsv
cat cases/toy/model_train.onnx | sactag diff golden.tsv -
sactag diff "$PWD/golden.tsv" cases/toy/model_train.onnx --fqn moe.router.gate | sed 2q
