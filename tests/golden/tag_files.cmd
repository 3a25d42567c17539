# Every way of naming input and output gives the same bytes, and strip gives back the original.
in=cases/toy/model_train.onnx
sactag tag $in -o a.onnx --fqn attention.wq
sactag tag $in -o - --fqn attention.wq > b.onnx
sactag tag - -o c.onnx --fqn attention.wq < $in
cat $in | sactag tag - -o - --fqn attention.wq | cat > d.onnx
cp $in e.onnx; chmod 640 e.onnx
sactag tag --in-place e.onnx --fqn attention.wq
cp $in f.onnx; chmod 644 f.onnx
sactag tag f.onnx -o f.onnx --fqn attention.wq --no-sync
ln -s g.onnx link.onnx
sactag tag $in -o link.onnx --fqn attention.wq -q
for f in b c d e f g; do cmp a.onnx $f.onnx; done
test -h link.onnx
stat -c %a e.onnx f.onnx
sactag tag a.onnx -o again.onnx --fqn attention.wq --carrier popart
sactag tag again.onnx -o again.onnx --fqn attention.wq
cmp a.onnx again.onnx
sactag strip a.onnx -o stripped.onnx
cmp stripped.onnx $in
sactag strip --in-place e.onnx
cmp e.onnx $in
cat a.onnx | sactag strip - -o - | cmp - $in
sactag strip $in -o untagged.onnx
cmp untagged.onnx $in
ls -A
