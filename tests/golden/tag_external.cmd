# External data and another directory.
code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
mkdir in same out
cp cases/toy/model_external.* in
code tag in/model_external.onnx -o in/tagged.onnx
code tag in/model_external.onnx -o out/tagged.onnx
ls out
for how in copy hardlink symlink keep; do
    rm -rf out; mkdir out
    code tag in/model_external.onnx -o out/tagged.onnx --external-data $how
    ls out
done
# What is not there cannot be read.
mv in/model_external.bin kept; rm -rf out; mkdir out
code tag in/model_external.onnx -o out/tagged.onnx --external-data copy
# Nothing can be put beside what is no file; a folder that was made for nothing goes again.
code tag cases/toy/model_external.onnx -o fresh/
test ! -e fresh
sactag tag cases/toy/model_external.onnx -o - --external-data copy >none || echo "exit $?: standard output"
sactag tag cases/toy/model_external.onnx -o - --external-data keep >kept.onnx && wc -c <none
code tag cases/toy/model.pt2 -o model.pt2 --set-ir-version 10
