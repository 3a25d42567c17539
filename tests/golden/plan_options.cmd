# Options that are given are shown; the alias is the same option; a list may hold commas.
sactag plan cases/toy/model_train.onnx --force-recompute-mm-shapes-by-fqns 'attention.wq, output' > a
sactag plan cases/toy/model_train.onnx --fqn attention.wq --fqn=output > b
cmp a b
cat a
sactag plan cases/toy/model_train.onnx --force-shape 32x64 --match glob --fqn 'attention.w*' --blocks 'layers.*' --mm-rule onnx \
    --mm-ops Foo,com.x:Bar --order file --strict --specialize
sactag plan cases/toy/model_train.onnx --blocks auto
sactag plan cases/toy/model_train.onnx --blocks whole
