toy=cases/toy/model_train.onnx
sactag tag $toy --fqn output -o tagged.onnx -q
sactag check tagged.onnx
sactag check tagged.onnx --fqn output
sactag check tagged.onnx --fqn moe.router.gate || echo "exit $?"
sactag check tagged.onnx --fqn moe.router.gate --format tsv || echo "exit $?"
sactag check tagged.onnx --fqn moe.router.gate --format json || echo "exit $?"
sactag check tagged.onnx --fqn moe.router.gate -q || echo "quietly $?"
sactag check $toy || echo "exit $?"
sactag check tagged.onnx --fqn attention || echo "exit $?"
sactag check < /dev/null || echo "exit $?"
sactag check - < tagged.onnx
# A later tool loses one tag, moves another to a node that is no matmul, and drops the model's entry.
sactag check in.onnx --blocks 'layers.*' || echo "exit $?"
# A node that is called "-" is told from one without a name.
LC_ALL=C sed 's/\x1a\x01a/\x1a\x01-/' in.onnx >dash.onnx
sactag check dash.onnx --blocks 'layers.*' --format tsv 2>/dev/null | cut -f 1-4 | sed -n 3p
# Without its list of regions no reader can use sac.plan.
sed 's/"regions":/"regionz":/' tagged.onnx >regions.onnx
sactag check regions.onnx || echo "exit $?"
sed 's/"region":/"regiom":/' tagged.onnx >regions.onnx
sactag check regions.onnx || echo "exit $?"
sactag strip regions.onnx -o - | cmp - $toy
