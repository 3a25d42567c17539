code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
mkdir dir
: > empty.onnx
printf 'hello, this is text\n' > text.onnx
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' > lfs.onnx
printf 'PK\003\004 but no archive' > zip.pt2
ln -s nowhere dangling.onnx
for c in plan show linears; do
    code $c missing.onnx
    code $c dir
    code $c dangling.onnx
    code $c empty.onnx
    code $c text.onnx
    code $c lfs.onnx
    code $c zip.pt2
    code $c - < empty.onnx
done
for c in tag strip; do
    code $c missing.onnx -o out.onnx
    code $c text.onnx -o out.onnx
done
sactag plan cases/toy/model_train.onnx -q -o plan.json
sactag plan cases/toy/model_train.onnx -q --format tsv > plan.tsv
for plan in plan.json plan.tsv; do
    code tag $plan -o out.onnx
    code show $plan
    code strip $plan -o out.onnx
done
code apply cases/toy/model_train.onnx text.onnx -o out.onnx
code diff text.onnx cases/toy/model_train.onnx
sactag plan - <&- && echo "exit 0" || echo "exit $?: standard input is closed"
ls
