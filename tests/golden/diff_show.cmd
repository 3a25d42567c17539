# What show prints stands for the tags: of mms outside blocks and of nodes that are no mms it need not tell.
for carrier in metadata attribute popart; do
    for tag in mm all; do
        sactag tag examples/llama.onnx -o tagged.onnx --carrier $carrier --tag $tag -q
        sactag show tagged.onnx -o tags.json
        sactag show tagged.onnx -o tags.tsv
        sactag diff tags.json tagged.onnx
        sactag diff tagged.onnx tags.tsv
        sactag diff tags.tsv tags.json
    done
done
sactag diff tags.json examples/llama.onnx --fqn attention.wo --stat || echo "differ: $?"
# Names that tell nothing, and a .pt2.
for model in cases/toy/model_dynamo.onnx cases/toy/model.pt2; do
    sactag tag $model -o tagged -q
    sactag show tagged -o tags.tsv
    sactag diff tags.tsv $model --stat
done
# A tag less is told of.
sed 2d tags.tsv >less.tsv
sactag diff less.tsv tagged || echo "differ: $?"
