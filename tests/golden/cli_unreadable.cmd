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
ls
