# Every mistake in an option is one line, exit 2, and nothing is read.
code() { sactag "$@" && echo "exit 0: $*" || echo "exit $?: $*"; }
code plan no.onnx --fnq a
code plan no.onnx --formt tsv
code plan no.onnx --nonsense
code plan no.onnx -Z
code plan no.onnx -qZ
code plan no.onnx --strict -Zq
code plan no.onnx --carrier popart
code plan no.onnx --in-place
code strip no.onnx --fqn a
code linears no.onnx --match exact
code plan no.onnx --strict=yes
code plan no.onnx --fqn
code plan no.onnx -o
code plan no.onnx --form tsv
code plan no.onnx --fo tsv
code plan no.onnx --fqn a,,b
code plan no.onnx --fqn ''
code plan no.onnx --format xml
code plan no.onnx --format jsno
code plan no.onnx --match Exact
code plan no.onnx --match fuzzy
code plan no.onnx --profile titna
code plan no.onnx --mm-rule tf
code plan no.onnx --order random
code plan no.onnx --color sometimes
code plan no.onnx --force-shape 4096
code plan no.onnx --force-shape 4096x
code plan no.onnx --force-shape x64
code plan no.onnx --force-shape 4096x64x2
code plan no.onnx --force-shape 0x64
code plan no.onnx --force-shape=-4x64
code plan no.onnx --force-shape 99999999999999999999x64
code plan no.onnx --force-shape ''
code plan no.onnx --force-shape 4x8,
code plan no.onnx --force-shape '4x8, 8x'
code plan no.onnx --mm-ops :
code plan no.onnx --mm-ops a:b:c
code plan no.onnx --mm-ops MatMulNBits,:Op
code plan no.onnx --mm-ops com.microsoft:
code plan no.onnx --mm-ops ''
code plan no.onnx -o ''
code plan no.onnx --config ''
code plan no.onnx -o a --output b
code plan ''
code diff no.onnx ''
code plan no.onnx --max-memory 1k
code plan no.onnx --max-depth 0
code plan no.onnx --max-depth many
code plan no.onnx --max-nodes -1
code plan no.onnx --max-memory 1T
code plan no.onnx --max-memory 99999999999G
code plan no.onnx --merge --format tsv
code plan no.onnx --merge --dot
code plan no.onnx --dot --format json
code plan no.onnx --dump-ir --format tsv
code plan no.onnx --dump-ir --dot
code show no.onnx --merge --format json
code tag no.onnx -o out.onnx --carrier metdata
code tag no.onnx -o out.onnx --tag some
code tag no.onnx -o out.onnx --external-data move
code tag no.onnx -o out.onnx --set-ir-version 0
code tag no.onnx
code strip no.onnx
code tag no.onnx -o out.onnx --in-place
code tag - --in-place
# what was typed is escaped in messages, too
sactag plan "$(printf 'no\033[31m.onnx')" || true
sactag plan no.onnx --match "$(printf 'a\nb')" || true
sactag plan no.onnx "$(printf -- '--\033]0;title')"
