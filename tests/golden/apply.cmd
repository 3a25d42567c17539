# The plan file goes the way of the model: tag and plan + apply write the same.
toy=cases/toy/model_train.onnx
sactag plan $toy --fqn output -o plan.json
sactag tag $toy --fqn output -o tagged.onnx
sactag apply $toy plan.json -o applied.onnx
cmp tagged.onnx applied.onnx
sactag apply $toy - -o - < plan.json | cmp - tagged.onnx
sactag apply - plan.json -o again.onnx --carrier attribute < tagged.onnx
sactag show again.onnx --format tsv | cut -f 3,11
sactag strip again.onnx -o - | cmp - $toy
# One policy is changed by hand.
sed '/layers.0.attention.wq/s/"policy": "recompute"/"policy": "save"/; /layers.0.attention.wq/s/"policy": "save", "reason": "odd:1"/"policy": "recompute", "reason": "odd:1"/' plan.json > hand.json
sactag diff plan.json hand.json || echo "differ: $?"
sactag apply $toy hand.json -o hand.onnx
sactag show hand.onnx --format tsv | cut -f 3,11,12
sactag diff hand.json hand.onnx --reasons
sactag check hand.onnx
# A plan of another graph.
sactag apply cases/toy/model_folded.onnx plan.json -o other.onnx || echo "exit $?"
test ! -e other.onnx
sactag apply cases/toy/model_folded.onnx plan.json -o other.onnx --rebase
sactag diff plan.json other.onnx
sactag apply examples/llama.onnx plan.json -o other.onnx --rebase
# What is no plan file, or cannot be applied.
sactag apply $toy $toy -o x.onnx || echo "exit $?"
sactag plan $toy -o plan.tsv
sactag apply $toy plan.tsv -o x.onnx || echo "exit $?"
sactag show tagged.onnx -o tags.json
sactag apply $toy tags.json -o x.onnx || echo "exit $?"
sactag apply $toy plan.json || echo "exit $?"
sactag apply $toy -o x.onnx || echo "exit $?"
sactag apply - - -o x.onnx || echo "exit $?"
sed 's/"index": 3,/"index": 4,/' plan.json > node.json
sactag apply $toy node.json -o x.onnx || echo "exit $?"
grep -v '"index": 3,' plan.json > row.json
sactag apply $toy row.json -o x.onnx || echo "exit $?"
test ! -e x.onnx
