# sac.plan is lost, damaged, or none of sactag's: the tags of nodes stay, with a word.
toy=cases/toy/model_train.onnx
for carrier in metadata attribute popart; do
    sactag tag $toy -o tagged.onnx --carrier $carrier -q
    sed 's/sac.plan/sac.plam/' tagged.onnx >lost.onnx
    sactag strip lost.onnx -o - | cmp - lost.onnx
done
sactag tag $toy -o tagged.onnx --tag all -q
sed 's/"version":1,/"version":1;/' tagged.onnx >damaged.onnx
sactag strip damaged.onnx -o stripped.onnx
sed 's/"carrier":"metadata"/"carrier":"metadatA"/' tagged.onnx >carrier.onnx
sactag strip carrier.onnx -o stripped.onnx
# Nothing is lost: none was there.
sactag strip $toy -o stripped.onnx
cmp $toy stripped.onnx
