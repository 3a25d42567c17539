# -o: complete or not at all.
code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
sactag plan cases/toy/model_train.onnx > want
sactag plan cases/toy/model_train.onnx -o plan.txt
cmp plan.txt want
sactag plan cases/toy/model_train.onnx -o - | cmp - want
chmod 600 plan.txt
ln -s plan.txt link
sactag plan cases/toy/model_train.onnx --format tsv -o link
test -h link
stat -c '%a %N' plan.txt link
head -c 12 plan.txt
echo
cp plan.txt before
code plan cases/toy/model_train.onnx -o no/dir
code plan cases/toy/model_train.onnx -o .
code plan cases/toy/model_train.onnx -o /dev/full
code plan examples/llama.onnx -o /dev/full --format json
code plan examples/llama.onnx -o /dev/full --dump-ir
code plan cases/toy/model_train.onnx -o plan.txt --fqn moe
code plan missing.onnx -o plan.txt
cmp plan.txt before
sactag plan cases/toy/model_train.onnx > /dev/full || echo "exit $?"
sactag plan examples/llama.onnx --format json > /dev/full || echo "exit $?"
sactag plan cases/toy/model_train.onnx >&- || echo "exit $?"
ls -A
