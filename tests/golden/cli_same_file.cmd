# An output that is one of the files that are read is refused, under whatever name, before anything is written.
code() { "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
cp cases/toy/model_train.onnx m.onnx
cp m.onnx kept.onnx
ln -s m.onnx link.onnx
ln m.onnx hard.onnx
mkdir d
for out in m.onnx ./m.onnx link.onnx hard.onnx d/../m.onnx; do code sactag plan m.onnx -o $out; done
code sactag plan m.onnx -o m.onnx --dot
code sactag plan link.onnx -o m.onnx --format json
code sactag plan - -o m.onnx < m.onnx
code sactag show m.onnx -o m.onnx
code sactag linears m.onnx -o m.onnx
code sactag check m.onnx -o m.onnx
code sactag diff m.onnx kept.onnx -o m.onnx
code sactag diff kept.onnx m.onnx -o m.onnx
code sactag diff -q kept.onnx m.onnx -o m.onnx
sactag plan m.onnx >> m.onnx || echo "exit $?"
cmp m.onnx kept.onnx
# The other files that a command reads.
sactag plan m.onnx -o p.json
cp p.json kept.json
code sactag apply m.onnx p.json -o p.json
sactag apply m.onnx p.json -o - >> p.json || echo "exit $?"
code sactag apply m.onnx - -o p.json < p.json
cmp p.json kept.json
echo strict > conf
code sactag tag m.onnx -o conf --config conf
code sactag plan m.onnx -o conf --config conf
ln -s ../conf d/m.onnx
code sactag tag m.onnx -o d --config conf
cat conf
# Of several inputs, one that is the output of another.
rm d/m.onnx
ln -s b.onnx d/m.onnx
cp m.onnx d/b.onnx
code sactag tag m.onnx d/b.onnx -o d/
cmp m.onnx kept.onnx
# A model may be rewritten.
code sactag tag m.onnx -o m.onnx
code sactag apply m.onnx p.json -o link.onnx
code sactag strip link.onnx -o m.onnx
cmp m.onnx kept.onnx
ls -A . d
# What a command prints never goes over a model's data, under whatever name.
cp cases/toy/model_external.onnx cases/toy/model_external.bin d
ln -s model_external.bin d/link.json
for c in plan show linears check 'diff m.onnx'; do
    code sactag $c d/model_external.onnx -q -o d/model_external.bin
    code sactag $c d/model_external.onnx -q -o d/link.json
done
cmp d/model_external.bin cases/toy/model_external.bin
code sactag plan d/model_external.onnx -q -o d/plan.json
