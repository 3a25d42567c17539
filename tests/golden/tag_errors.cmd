# After a failure the old output is as it was, and nothing else is left.
code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
in=cases/toy/model_train.onnx
echo old > out.onnx
mkdir dir
code tag $in -o out.onnx --fqn moe
code tag $in -o out.onnx --fqn nothing --strict
code tag missing.onnx -o out.onnx
code tag $in -o dir
code tag $in -o no/dir/out.onnx
code tag $in -o /dev/full
sactag tag $in -o - > /dev/full || echo "exit $?"
sactag tag $in -o - >&- || echo "exit $?"
sactag tag - -o out.onnx < /dev/null || echo "exit $?"
cp $in self.onnx
sactag tag self.onnx -o - >> self.onnx || echo "exit $?"
cmp self.onnx $in
cat out.onnx
ls -A
