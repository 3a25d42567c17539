# Bytes that are not UTF-8: a letter of another encoding, a sequence that is cut, a surrogate.
LC_ALL=C sed 's/latin 1, cut 22, surrogate 333/latin \xe4, cut \xe2\x82, surrogate \xed\xa0\x80/' in.onnx > names.onnx
cmp -s in.onnx names.onnx && exit 1
mv names.onnx in.onnx
# No raw control byte comes out of any format.
sactag plan in.onnx --format tsv
sactag plan in.onnx --format json
sactag plan in.onnx
sactag linears in.onnx --format tsv
sactag plan in.onnx --dump-ir
sactag plan in.onnx --dot
{ sactag plan in.onnx --format tsv; sactag plan in.onnx --format json; sactag plan in.onnx; sactag plan in.onnx --dot; } 2>&1 |
    tr -d '\n\t' | LC_ALL=C grep -c "$(printf '[\001-\037\177]')" || true
# In messages, too; a node without a name is told by its output.
sactag plan in.onnx --blocks whole -o plan.json -q
grep -v '"index": 1,' plan.json > row.json
sactag apply in.onnx row.json -o x.onnx -q || echo "exit $?"
sed 's/nul[\\]*x00inside/other/' plan.json > row.json
sactag apply in.onnx row.json -o x.onnx -q || echo "exit $?"
