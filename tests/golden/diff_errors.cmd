try()
{
    code=0
    sactag "$@" > out || code=$?
    echo "sactag $*: exit $code, $(wc -c < out) bytes"
}
toy=cases/toy/model_train.onnx
try diff
try diff $toy
try diff $toy $toy $toy
try diff - -
try diff $toy missing.onnx
try diff missing.json $toy
try diff $toy $toy --format json --merge
try diff $toy $toy --format tsv --stat
try diff $toy $toy --format tsv -U 1
try diff $toy $toy -U x
try diff $toy $toy -U -1
try diff $toy $toy --fqn attention
sactag plan $toy > plan.txt
try diff plan.txt $toy
printf 'index\tgraph\tnode\n' > cut.tsv
try diff cut.tsv $toy
printf '{"sactag": "plan"' > cut.json
try diff cut.json $toy
printf '[{}]' > list.json
try diff list.json $toy
printf '\377\376' > bytes
try diff bytes $toy
