# Several inputs: a directory as output, names kept, failures do not stop the rest, the largest exit code.
code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
a=cases/toy/model_train.onnx b=cases/mixer/model_train.onnx c=cases/toy/model_dyntrain.onnx
cp $a a.onnx && cp $c c.onnx && echo none > broken.onnx
code tag -q a.onnx broken.onnx missing.onnx c.onnx -o made/ --fqn moe.router.gate
ls made
for f in a c; do
    sactag tag -q $f.onnx -o $f.one --fqn moe.router.gate
    cmp $f.one made/$f.onnx
done
code tag -q a.onnx c.onnx -o made --no-sync
code tag a.onnx -o made
code strip made/a.onnx made/c.onnx -o plain/
cmp plain/a.onnx a.onnx && cmp plain/c.onnx c.onnx
code tag -q --in-place a.onnx c.onnx
cmp a.onnx made/a.onnx && cmp c.onnx made/c.onnx
code tag $a $b -o other/
code tag $a c.onnx -o file.onnx
code tag $a c.onnx
code tag $a c.onnx -o -
code tag c.onnx - -o other/
code tag broken.onnx missing.onnx -o other/
code tag c.onnx -o no/such/
ls
