# A policy change, shown; blocks that change alike shown once; and with no context.
sactag plan examples/moe.onnx -o golden.json
sactag diff golden.json examples/moe.onnx; echo "same: $?"
sactag diff golden.json examples/moe.onnx --fqn attention.wk || echo "differ: $?"
sactag diff golden.json examples/moe.onnx --fqn attention.wk --merge -U 1 || echo "differ: $?"
sactag diff golden.json examples/moe.onnx --fqn moe.shared_experts.w1 --merge -U0 || echo "differ: $?"
sactag diff golden.json examples/moe.onnx --fqn attention.wk --merge --stat || echo "differ: $?"
sactag diff golden.json examples/moe.onnx --fqn attention.wk --merge --reasons --stat || echo "differ: $?"
sactag diff golden.json examples/moe.onnx --fqn attention.wk -q || echo "quietly: $?"
sactag diff golden.json examples/moe.onnx --stat
# Rows that are only in one of both, and colours.
sactag plan examples/llama.onnx --format tsv | grep -v 'layers\.1\.feed_forward\.w3' > less.tsv
sactag diff less.tsv examples/llama.onnx || echo "differ: $?"
sactag diff examples/llama.onnx less.tsv --color always | cat -v
