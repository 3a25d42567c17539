# Without a command: usage, exit 2. Then everything around commands.
code() { "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
code sactag
code sactag tga in.onnx
code sactag plam
code sactag frobnicate
code sactag -o out.onnx tag in.onnx
code sactag help plna
code sactag help nonsense
code sactag help tag plan
code sactag --version now
code sactag plan
code sactag tag
code sactag plan a.onnx b.onnx
code sactag linears a.onnx b.onnx --format tsv
