# Every node of a block gets a tag, on each carrier; the mms get what they get without.
toy=cases/toy/model_train.onnx
for c in metadata attribute popart; do
    sactag tag $toy -o $c.onnx --fqn moe.router.gate --carrier $c --tag all
    sactag show $c.onnx --format tsv | cut -f 1,3,5-7,11,12
    sactag strip $c.onnx -o - | cmp - $toy
    sactag tag $c.onnx -o - --fqn moe.router.gate --carrier $c --tag all -q | cmp - $c.onnx
    sactag check $c.onnx
    sactag diff $toy $c.onnx --fqn moe.router.gate
done
# mms alone again
sactag tag $toy -o mm.onnx --fqn moe.router.gate -q
sactag tag metadata.onnx -o - --fqn moe.router.gate -q | cmp - mm.onnx
# by a plan file, and what tags say, compared with a plan: only mms count
sactag plan $toy --fqn moe.router.gate -o plan.json
sactag apply $toy plan.json -o - --tag all -q | cmp - metadata.onnx
sactag show metadata.onnx -o tags.json
sactag diff tags.json plan.json
sactag diff plan.json tags.json
# tags that are wrong: a reason that is another's, values that mean nothing, and sac.plan lost
sed 's/rest/topk/g' metadata.onnx > wrong.onnx
sactag check wrong.onnx || echo "exit $?"
sed 's/recompute/recumpote/g' metadata.onnx > wrong.onnx
sactag check wrong.onnx || echo "exit $?"
sed 's/sac.plan/sac.plam/' metadata.onnx > wrong.onnx
sactag check wrong.onnx --fqn moe.router.gate || echo "exit $?"
# attention that was broken up, under both save lists
for p in "" "--profile titan"; do
    sactag tag cases/moe_stacked/model_train.onnx -o moe.onnx --tag all $p
    sactag show moe.onnx --format tsv | cut -f 5,11,12 | grep -v 'odd:\|even:\|rest' | sort | uniq -c
done
